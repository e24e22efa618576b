//! Expressions back to text: the normal form in which the dictionary keeps them and SHOW CREATE TABLE shows them.
//!
//! The form is MySQL's: every operator in parentheses, names in back quotes, functions in lower case without blanks, texts
//! with their character set. So it means the same in every session, whatever its sql_mode and character set are; reading
//! it under the default mode gives the same expression again (`tests`).
//!
//! Differences from MySQL's text: REGEXP stays an operator, which MariaDB reads, too.

use std::fmt::Write;

use format::collation::Charset;

use super::ast::{BinaryOp, CastType, ColumnName, Expr, IntervalUnit, JsonOtherwise, Literal, TrimSide, UnaryOp};
use crate::error::{Error, Result};

/// The text of an expression. `client`: the character set of its texts that do not name one.
pub fn expression(expr: &Expr, client: Charset) -> Result<String> {
    let mut printer = Printer { out: String::new(), client };
    printer.expr(expr)?;
    Ok(printer.out)
}

struct Printer {
    out: String,
    client: Charset,
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

impl Printer {
    fn word(&mut self, word: &str) {
        self.out.push_str(word);
    }

    fn list(&mut self, exprs: &[Expr]) -> Result<()> {
        for (at, expr) in exprs.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.expr(expr)?;
        }
        Ok(())
    }

    fn call(&mut self, name: &str, args: &[&Expr]) -> Result<()> {
        self.word(name);
        self.out.push('(');
        for (at, arg) in args.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.expr(arg)?;
        }
        self.out.push(')');
        Ok(())
    }

    /// `(left op right)`
    fn infix(&mut self, left: &Expr, op: &str, right: &Expr) -> Result<()> {
        self.out.push('(');
        self.expr(left)?;
        self.word(op);
        self.expr(right)?;
        self.out.push(')');
        Ok(())
    }

    fn expr(&mut self, expr: &Expr) -> Result<()> {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Column(name) => {
                self.column(name);
                Ok(())
            }
            Expr::Unary { op: UnaryOp::Plus, expr } => self.expr(expr),
            Expr::Unary { op: UnaryOp::Minus, expr } => self.call("-", &[expr]),
            Expr::Unary { op: UnaryOp::BitNot, expr } => self.call("~", &[expr]),
            Expr::Unary { op: UnaryOp::Not, expr } => {
                self.out.push('(');
                self.call("not", &[expr])?;
                self.out.push(')');
                Ok(())
            }
            Expr::Binary { op, left, right } => self.binary(*op, left, right),
            Expr::IsNull { expr, negated } | Expr::IsTruth { expr, truth: None, negated } => {
                self.postfix(expr, if *negated { " is not null" } else { " is null" })
            }
            Expr::IsTruth { expr, truth: Some(truth), negated } => {
                let not = if *negated { "not " } else { "" };
                self.postfix(expr, &format!(" is {not}{truth}"))
            }
            Expr::Between { expr, low, high, negated } => {
                self.out.push('(');
                self.expr(expr)?;
                self.word(if *negated { " not between " } else { " between " });
                self.expr(low)?;
                self.word(" and ");
                self.expr(high)?;
                self.out.push(')');
                Ok(())
            }
            Expr::InList { expr, list, negated } => {
                self.out.push('(');
                self.expr(expr)?;
                self.word(if *negated { " not in (" } else { " in (" });
                self.list(list)?;
                self.word("))");
                Ok(())
            }
            Expr::Like { expr, pattern, escape, negated } => {
                self.word(if *negated { "(not((" } else { "(" });
                self.expr(expr)?;
                self.word(" like ");
                self.expr(pattern)?;
                if let Some(escape) = escape {
                    self.word(" escape ");
                    self.expr(escape)?;
                }
                self.word(if *negated { ")))" } else { ")" });
                Ok(())
            }
            Expr::Regexp { expr, pattern, negated } => {
                self.infix(expr, if *negated { " not regexp " } else { " regexp " }, pattern)
            }
            Expr::Case { operand, whens, otherwise } => {
                self.word("(case");
                if let Some(operand) = operand {
                    self.out.push(' ');
                    self.expr(operand)?;
                }
                for (when, then) in whens {
                    self.word(" when ");
                    self.expr(when)?;
                    self.word(" then ");
                    self.expr(then)?;
                }
                if let Some(otherwise) = otherwise {
                    self.word(" else ");
                    self.expr(otherwise)?;
                }
                self.word(" end)");
                Ok(())
            }
            Expr::Function { name, args } if name == "get_format" => {
                let [Expr::Literal(Literal::String { bytes, .. }), expr] = args.as_slice() else {
                    return Err(Error::wrong_argument_count("GET_FORMAT"));
                };
                let kind = String::from_utf8_lossy(bytes).into_owned();
                let _ = write!(self.out, "get_format({kind},");
                self.expr(expr)?;
                self.out.push(')');
                Ok(())
            }
            Expr::Function { name, args } if name == "member of" => {
                let [value, array] = args.as_slice() else { return Err(Error::wrong_argument_count("member of")) };
                self.infix(value, " member of (", array)?;
                self.out.push(')');
                Ok(())
            }
            Expr::Function { name, args } if name == "at time zone" => {
                args.iter().try_for_each(|moment| self.expr(moment))?;
                self.word(" at time zone '+00:00'");
                Ok(())
            }
            Expr::JsonValue(value) => {
                self.word("json_value(");
                self.expr(&value.document)?;
                self.out.push(',');
                self.expr(&value.path)?;
                if let Some(to) = &value.returning {
                    self.word(" returning ");
                    self.cast_type(to);
                }
                self.otherwise(&value.on_empty, " on empty")?;
                self.otherwise(&value.on_error, " on error")?;
                self.out.push(')');
                Ok(())
            }
            Expr::Function { name, args } => self.call(name, &args.iter().collect::<Vec<_>>()),
            Expr::Sequence(call) => {
                let (name, arguments) = (call.function.name(), call.function.arguments());
                let parts = [call.sequence.database.as_deref(), Some(&call.sequence.name)];
                let parts: Vec<String> = parts.into_iter().flatten().map(quoted).collect();
                let _ = write!(self.out, "{name}({}{arguments})", parts.join("."));
                Ok(())
            }
            Expr::Cast { expr, to } => {
                self.word("cast(");
                self.expr(expr)?;
                self.word(" as ");
                self.cast_type(to);
                self.out.push(')');
                Ok(())
            }
            Expr::Binarily(expr) => {
                self.word("cast(");
                self.expr(expr)?;
                self.word(" as binary)");
                Ok(())
            }
            Expr::ConvertUsing { expr, charset } => {
                self.word("convert(");
                self.expr(expr)?;
                let _ = write!(self.out, " using {charset})");
                Ok(())
            }
            Expr::Collate { expr, collation } => self.postfix(expr, &format!(" collate {collation}")),
            Expr::Trim { side, remove, expr } => {
                self.word("trim(");
                if let Some(remove) = remove {
                    self.word(match side {
                        TrimSide::Both => "both ",
                        TrimSide::Leading => "leading ",
                        TrimSide::Trailing => "trailing ",
                    });
                    self.expr(remove)?;
                    self.word(" from ");
                } else {
                    match side {
                        TrimSide::Both => {}
                        TrimSide::Leading => self.word("leading from "),
                        TrimSide::Trailing => self.word("trailing from "),
                    }
                }
                self.expr(expr)?;
                self.out.push(')');
                Ok(())
            }
            Expr::Extract { unit, expr } => {
                let _ = write!(self.out, "extract({} from ", unit_name(*unit));
                self.expr(expr)?;
                self.out.push(')');
                Ok(())
            }
            Expr::DateAdd { expr, interval, unit, subtract } => {
                self.date_add(expr, interval, *unit, if *subtract { '-' } else { '+' })
            }
            Expr::TimestampAdd { unit, interval, expr } => self.date_add(expr, interval, *unit, '+'),
            Expr::TimestampDiff { unit, from, to } => {
                let _ = write!(self.out, "timestampdiff({},", unit.name());
                self.expr(from)?;
                self.out.push(',');
                self.expr(to)?;
                self.out.push(')');
                Ok(())
            }
            Expr::Char { args, charset, keeps_null } => {
                self.word(if *keeps_null { "chr(" } else { "char(" });
                self.list(args)?;
                if let Some(charset) = charset {
                    let _ = write!(self.out, " using {charset}");
                }
                self.out.push(')');
                Ok(())
            }
            Expr::Row(exprs) => {
                self.out.push('(');
                self.list(exprs)?;
                self.out.push(')');
                Ok(())
            }
            Expr::DefaultOf(name) => {
                self.word("default(");
                self.column(name);
                self.out.push(')');
                Ok(())
            }
            Expr::CastArray { expr, to } => {
                self.word("cast(");
                self.expr(expr)?;
                self.word(" as ");
                match to {
                    // A JSON string has no other character set.
                    CastType::Char { chars: Some(chars), .. } => self.word(&format!("char({chars})")),
                    to => self.cast_type(to),
                }
                self.word(" array)");
                Ok(())
            }
            Expr::Match(_) => Err(Error::unsupported("MATCH ... AGAINST here")),
            Expr::Unsupported(what) => Err(Error::unsupported(what)),
            _ => Err(Error::unsupported("this expression in a definition")),
        }
    }

    fn otherwise(&mut self, otherwise: &JsonOtherwise, when: &str) -> Result<()> {
        match otherwise {
            JsonOtherwise::Null => return Ok(()),
            JsonOtherwise::Error => self.word(" error"),
            JsonOtherwise::Default(expr) => {
                self.word(" default ");
                self.expr(expr)?;
            }
        }
        self.word(when);
        Ok(())
    }

    fn postfix(&mut self, expr: &Expr, what: &str) -> Result<()> {
        self.out.push('(');
        self.expr(expr)?;
        self.word(what);
        self.out.push(')');
        Ok(())
    }

    fn column(&mut self, name: &ColumnName) {
        let parts = [name.database.as_deref(), name.table.as_deref(), Some(name.name.as_str())];
        self.word(&parts.into_iter().flatten().map(quoted).collect::<Vec<_>>().join("."));
    }

    fn date_add(&mut self, expr: &Expr, interval: &Expr, unit: IntervalUnit, sign: char) -> Result<()> {
        self.out.push('(');
        self.expr(expr)?;
        let _ = write!(self.out, " {sign} interval ");
        self.expr(interval)?;
        let _ = write!(self.out, " {})", unit_name(unit));
        Ok(())
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Result<()> {
        let word = match op {
            BinaryOp::And | BinaryOp::Or => {
                self.out.push('(');
                self.chain(op, left)?;
                self.word(if op == BinaryOp::And { " and " } else { " or " });
                self.chain(op, right)?;
                self.out.push(')');
                return Ok(());
            }
            BinaryOp::Concat => return self.call("concat", &[left, right]),
            BinaryOp::JsonExtract => return self.call("json_extract", &[left, right]),
            BinaryOp::JsonUnquote => {
                self.word("json_unquote(");
                self.call("json_extract", &[left, right])?;
                self.out.push(')');
                return Ok(());
            }
            BinaryOp::SoundsLike => {
                self.out.push('(');
                self.call("soundex", &[left])?;
                self.word(" = ");
                self.call("soundex", &[right])?;
                self.out.push(')');
                return Ok(());
            }
            BinaryOp::Xor => " xor ",
            BinaryOp::Equal => " = ",
            BinaryOp::NullSafeEqual => " <=> ",
            BinaryOp::NotEqual => " <> ",
            BinaryOp::Less => " < ",
            BinaryOp::LessEqual => " <= ",
            BinaryOp::Greater => " > ",
            BinaryOp::GreaterEqual => " >= ",
            BinaryOp::BitOr => " | ",
            BinaryOp::BitAnd => " & ",
            BinaryOp::BitXor => " ^ ",
            BinaryOp::ShiftLeft => " << ",
            BinaryOp::ShiftRight => " >> ",
            BinaryOp::Add => " + ",
            BinaryOp::Subtract => " - ",
            BinaryOp::Multiply => " * ",
            BinaryOp::Divide => " / ",
            BinaryOp::IntegerDivide => " DIV ",
            BinaryOp::Modulo => " % ",
        };
        self.infix(left, word, right)
    }

    /// The operands of a chain of ANDs or ORs stand side by side.
    fn chain(&mut self, op: BinaryOp, expr: &Expr) -> Result<()> {
        match expr {
            Expr::Binary { op: inner, left, right } if *inner == op => {
                self.chain(op, left)?;
                self.word(if op == BinaryOp::And { " and " } else { " or " });
                self.chain(op, right)
            }
            expr => self.expr(expr),
        }
    }

    fn literal(&mut self, literal: &Literal) -> Result<()> {
        match literal {
            Literal::Null => self.word("NULL"),
            Literal::Bool(truth) => self.word(if *truth { "true" } else { "false" }),
            Literal::Integer(number) => {
                let _ = write!(self.out, "{number}");
            }
            Literal::Decimal(digits) => self.word(digits),
            Literal::Float(number) => {
                let _ = write!(self.out, "{number:e}");
            }
            Literal::String { bytes, charset: None } => match self.client {
                Charset::Utf8mb4 | Charset::Utf8mb3 => self.text("utf8mb4", bytes),
                Charset::Binary => self.text("binary", bytes),
                other => {
                    let mut converted = Vec::new();
                    format::collation::convert(bytes, other, Charset::Utf8mb4, &mut converted);
                    self.text("utf8mb4", &converted);
                }
            },
            Literal::String { bytes, charset: Some(charset) } => self.text(charset, bytes),
            Literal::Hex { bytes, charset } | Literal::Bit { bytes, charset } => {
                if let Some(charset) = charset {
                    let _ = write!(self.out, "_{charset} ");
                }
                self.hex(bytes);
            }
            Literal::Date(text) => self.moment("DATE", text),
            Literal::Time(text) => self.moment("TIME", text),
            Literal::Timestamp(text) => self.moment("TIMESTAMP", text),
        }
        Ok(())
    }

    fn hex(&mut self, bytes: &[u8]) {
        self.word("0x");
        for byte in bytes {
            let _ = write!(self.out, "{byte:02X}");
        }
        if bytes.is_empty() {
            // `0x` alone is a name.
            self.out.truncate(self.out.len() - 2);
            self.word("x''");
        }
    }

    /// A text with its character set. The dictionary holds UTF-8, so what is not is told in hexadecimal.
    fn text(&mut self, charset: &str, bytes: &[u8]) {
        let is_unicode = matches!(charset.to_ascii_lowercase().as_str(), "utf8" | "utf8mb3" | "utf8mb4");
        match std::str::from_utf8(bytes) {
            Ok(text) if is_unicode || text.is_ascii() => {
                let _ = write!(self.out, "_{charset}");
                self.quoted_text(text);
            }
            _ => {
                let _ = write!(self.out, "_{charset} ");
                self.hex(bytes);
            }
        }
    }

    fn moment(&mut self, kind: &str, text: &[u8]) {
        self.word(kind);
        self.quoted_text(&String::from_utf8_lossy(text));
    }

    fn quoted_text(&mut self, text: &str) {
        self.out.push('\'');
        for c in text.chars() {
            match c {
                '\'' => self.word("\\'"),
                '\\' => self.word("\\\\"),
                '\n' => self.word("\\n"),
                '\r' => self.word("\\r"),
                '\0' => self.word("\\0"),
                other => self.out.push(other),
            }
        }
        self.out.push('\'');
    }

    fn cast_type(&mut self, to: &CastType) {
        let fsp = |fsp: u8| if fsp > 0 { format!("({fsp})") } else { String::new() };
        let length = |length: &Option<u32>| length.map_or(String::new(), |length| format!("({length})"));
        let text = match to {
            CastType::Signed => "signed".to_owned(),
            CastType::Unsigned => "unsigned".to_owned(),
            CastType::Binary { bytes } => format!("binary{}", length(bytes)),
            CastType::Char { chars, charset, binary } => {
                let charset = charset.as_deref().unwrap_or("utf8mb4");
                let binary = if *binary { " binary" } else { "" };
                format!("char{} charset {charset}{binary}", length(chars))
            }
            CastType::Date => "date".to_owned(),
            CastType::Time { fsp: digits } => format!("time{}", fsp(*digits)),
            CastType::DateTime { fsp: digits } => format!("datetime{}", fsp(*digits)),
            CastType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
            CastType::Float => "float".to_owned(),
            CastType::Double => "double".to_owned(),
            CastType::Year => "year".to_owned(),
            CastType::Json => "json".to_owned(),
            CastType::Geometry(kind) => kind.name().to_owned(),
        };
        self.word(&text);
    }
}

fn unit_name(unit: IntervalUnit) -> String {
    unit.name().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_expression;
    use crate::types::SqlMode;

    fn normal(text: &str) -> String {
        let parsed = parse_expression(text.as_bytes(), SqlMode::DEFAULT).unwrap();
        expression(&parsed, Charset::Utf8mb4).unwrap()
    }

    #[test]
    fn expressions_have_mysqls_form() {
        for (written, printed) in [
            ("a > 0 AND b<10 and c", "((`a` > 0) and (`b` < 10) and `c`)"),
            ("(a or b) or not c", "(`a` or `b` or (not(`c`)))"),
            ("a != 'it''s'", "(`a` <> _utf8mb4'it\\'s')"),
            ("t.a MOD 3 = -1", "((`t`.`a` % 3) = -(1))"),
            ("a NOT LIKE 'x%' ", "(not((`a` like _utf8mb4'x%')))"),
            ("a IS NOT NULL", "(`a` is not null)"),
            ("Concat(a, ' ', b)", "concat(`a`,_utf8mb4' ',`b`)"),
            ("a->'$.b'", "json_extract(`a`,_utf8mb4'$.b')"),
            ("CAST(a AS DECIMAL(10,2))", "cast(`a` as decimal(10,2))"),
            ("DATE_ADD(d, INTERVAL 1 DAY)", "(`d` + interval 1 day)"),
            ("CASE WHEN a THEN 1 ELSE 2 END", "(case when `a` then 1 else 2 end)"),
            ("a IN (1, 2.50, 1e3, x'41')", "(`a` in (1,2.50,1e3,0x41))"),
        ] {
            assert_eq!(normal(written), printed);
        }
    }

    #[test]
    fn what_is_printed_is_read_as_the_same() {
        for text in [
            "_latin1'\\n' = x'' or _latin1 x'e4' = b'101'",
            "extract(year from d) = 1 xor timestampdiff(day, a, b) div 2 << 1",
            "trim(leading 'x' from a) <=> trim(a) collate utf8mb4_bin",
            "if(a between 1 and 2, char(65, 66 using utf8mb4), convert(a using latin1))",
            "(a, b) = (1, 2) and binary a regexp 'b' is true and a like 'b' escape '!'",
            "cast(a as time(3)) > DATE'2020-01-01' - interval '1:1' minute_second",
            "get_format(DATE, 'USA') = date_format(a, '%Y') and mod(a, 2) is unknown",
            "~a & b | c ^ -d and interval(1, 2, 3) and a sounds like b",
            "NULL is null and true and 0.5 > 18446744073709551616",
        ] {
            let once = normal(text);
            assert_eq!(normal(&once), once, "{text}");
        }
    }
}
