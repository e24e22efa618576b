//! Expressions and literals.

use std::fmt::Write;

use format::collation::{Charset, convert};

use super::{Printer, unknown};
use crate::describe::{escaped, quoted};
use crate::error::{Error, Result};
use crate::parser::ast::*;

/// A text literal in single quotes.
fn text(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(format!("'{}'", escaped(text, "''")))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::from("0x"), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

impl Printer<'_> {
    fn literal(&mut self, literal: &Literal) -> Result<()> {
        let introduced = |charset: &Option<String>| charset.as_ref().map_or(String::new(), |name| format!("_{name} "));
        let printed = match literal {
            Literal::Null => "NULL".into(),
            Literal::Bool(value) => if *value { "true" } else { "false" }.into(),
            Literal::Integer(number) => number.to_string(),
            Literal::Decimal(digits) => digits.clone(),
            Literal::Float(number) => format!("{number:e}"),
            // The text is in UTF-8.
            Literal::String { bytes, charset: None } if self.client != Charset::Utf8mb4 => {
                let mut converted = Vec::new();
                convert(bytes, self.client, Charset::Utf8mb4, &mut converted);
                text(&converted).ok_or_else(|| unknown("a text that is not UTF-8"))?
            }
            Literal::String { bytes, charset } => match (text(bytes), charset) {
                (Some(text), None) => text,
                (Some(text), Some(charset)) => format!("_{charset}{text}"),
                (None, Some(_)) => introduced(charset) + &hex(bytes),
                (None, None) => return Err(unknown("a text that is not UTF-8")),
            },
            Literal::Hex { bytes, charset } if bytes.is_empty() => introduced(charset) + "x''",
            Literal::Hex { bytes, charset } => introduced(charset) + &hex(bytes),
            Literal::Bit { bytes, charset } => {
                let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
                introduced(charset) + &format!("b'{bits}'")
            }
            Literal::Date(bytes) => format!("DATE{}", text(bytes).unwrap_or_default()),
            Literal::Time(bytes) => format!("TIME{}", text(bytes).unwrap_or_default()),
            Literal::Timestamp(bytes) => format!("TIMESTAMP{}", text(bytes).unwrap_or_default()),
        };
        self.put(&printed);
        Ok(())
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Result<()> {
        match expr {
            Expr::Literal(literal) => self.literal(literal)?,
            Expr::Column(column) => self.column(column),
            Expr::Unary { op, expr } => {
                self.put(match op {
                    UnaryOp::Minus => "-(",
                    UnaryOp::Plus => "+(",
                    UnaryOp::Not => "(not(",
                    UnaryOp::BitNot => "~(",
                });
                self.expr(expr)?;
                self.put(if *op == UnaryOp::Not { "))" } else { ")" });
            }
            Expr::Binary { op: BinaryOp::Concat, left, right } => self.call("concat", &[left, right])?,
            Expr::Binary { op: op @ (BinaryOp::JsonExtract | BinaryOp::JsonUnquote), left, right } => {
                self.expr(left)?;
                self.put(op.symbol());
                self.expr(right)?;
            }
            Expr::Binary { op, left, right } => self.between(left, op.symbol(), right)?,
            Expr::IsNull { expr, negated } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " is not null)" } else { " is null)" });
            }
            Expr::IsTruth { expr, truth, negated } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " is not " } else { " is " });
                self.put(match truth {
                    Some(true) => "true)",
                    Some(false) => "false)",
                    None => "unknown)",
                });
            }
            Expr::Between { expr, low, high, negated } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " not between " } else { " between " });
                self.expr(low)?;
                self.put(" and ");
                self.expr(high)?;
                self.put(")");
            }
            Expr::InList { expr, list, negated } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " not in (" } else { " in (" });
                self.exprs(list)?;
                self.put("))");
            }
            Expr::InQuery { expr, query, negated } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " not in (" } else { " in (" });
                self.query(query)?;
                self.put("))");
            }
            Expr::Like { expr, pattern, escape, negated } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *negated { " not like " } else { " like " });
                self.expr(pattern)?;
                if let Some(escape) = escape {
                    self.put(" escape ");
                    self.expr(escape)?;
                }
                self.put(")");
            }
            Expr::Regexp { expr, pattern, negated } => {
                self.between(expr, if *negated { "not regexp" } else { "regexp" }, pattern)?;
            }
            Expr::Case { operand, whens, otherwise } => {
                self.put("(case ");
                if let Some(operand) = operand {
                    self.expr(operand)?;
                    self.put(" ");
                }
                for (when, then) in whens {
                    self.put("when ");
                    self.expr(when)?;
                    self.put(" then ");
                    self.expr(then)?;
                    self.put(" ");
                }
                if let Some(otherwise) = otherwise {
                    self.put("else ");
                    self.expr(otherwise)?;
                    self.put(" ");
                }
                self.put("end)");
            }
            Expr::Function { name, args } if name == "get_format" => match &args[..] {
                [Expr::Literal(Literal::String { bytes, .. }), format] => {
                    let kind = String::from_utf8_lossy(bytes).into_owned();
                    let _ = write!(self.out, "get_format({kind}, ");
                    self.expr(format)?;
                    self.put(")");
                }
                _ => return Err(unknown("GET_FORMAT")),
            },
            Expr::Function { name, args } if name == "member of" => {
                let [value, array] = args.as_slice() else { return Err(unknown("MEMBER OF")) };
                self.put("(");
                self.expr(value)?;
                self.put(" member of (");
                self.expr(array)?;
                self.put("))");
            }
            Expr::Function { name, args } if name == "at time zone" => {
                args.iter().try_for_each(|moment| self.expr(moment))?;
                self.put(" at time zone '+00:00'");
            }
            Expr::Function { name, args } => self.call(name, &args.iter().collect::<Vec<_>>())?,
            Expr::Sequence(call) => {
                self.put(call.function.name());
                self.put("(");
                self.table_name(&call.sequence);
                self.put(&call.function.arguments());
                self.put(")");
            }
            Expr::StoredFunction { database, name, args } => {
                self.name(database);
                self.put(".");
                self.call(&quoted(name), &args.iter().collect::<Vec<_>>())?;
            }
            Expr::Aggregate(aggregate) => self.aggregate(aggregate)?,
            Expr::Window(call) => self.window_call(call)?,
            Expr::Grouping(args) => self.call("grouping", &args.iter().collect::<Vec<_>>())?,
            Expr::Cast { expr, to } => {
                self.put("cast(");
                self.expr(expr)?;
                self.put(" as ");
                self.cast_type(to);
                self.put(")");
            }
            Expr::ConvertUsing { expr, charset } => {
                self.put("convert(");
                self.expr(expr)?;
                let _ = write!(self.out, " using {charset})");
            }
            Expr::Collate { expr, collation } => {
                self.put("(");
                self.expr(expr)?;
                let _ = write!(self.out, " collate {collation})");
            }
            Expr::Binarily(expr) => {
                self.put("(binary ");
                self.expr(expr)?;
                self.put(")");
            }
            Expr::Trim { side, remove, expr } => {
                self.put(match side {
                    TrimSide::Both => "trim(both ",
                    TrimSide::Leading => "trim(leading ",
                    TrimSide::Trailing => "trim(trailing ",
                });
                if let Some(remove) = remove {
                    self.expr(remove)?;
                    self.put(" ");
                }
                self.put("from ");
                self.expr(expr)?;
                self.put(")");
            }
            Expr::Extract { unit, expr } => {
                let _ = write!(self.out, "extract({} from ", unit.name());
                self.expr(expr)?;
                self.put(")");
            }
            Expr::DateAdd { expr, interval, unit, subtract } => {
                self.put("(");
                self.expr(expr)?;
                self.put(if *subtract { " - interval " } else { " + interval " });
                self.expr(interval)?;
                let _ = write!(self.out, " {})", unit.name());
            }
            Expr::TimestampAdd { unit, interval, expr } => {
                let _ = write!(self.out, "timestampadd({},", unit.name());
                self.expr(interval)?;
                self.put(",");
                self.expr(expr)?;
                self.put(")");
            }
            Expr::TimestampDiff { unit, from, to } => {
                let _ = write!(self.out, "timestampdiff({},", unit.name());
                self.expr(from)?;
                self.put(",");
                self.expr(to)?;
                self.put(")");
            }
            Expr::Char { args, charset, keeps_null } => {
                self.put(if *keeps_null { "chr(" } else { "char(" });
                self.exprs(args)?;
                if let Some(charset) = charset {
                    let _ = write!(self.out, " using {charset}");
                }
                self.put(")");
            }
            Expr::Row(exprs) => {
                self.put("(");
                self.exprs(exprs)?;
                self.put(")");
            }
            Expr::Subquery(query) => {
                self.put("(");
                self.query(query)?;
                self.put(")");
            }
            Expr::Exists(query) => {
                self.put("exists(");
                self.query(query)?;
                self.put(")");
            }
            Expr::Quantified { expr, op, all, query } => {
                self.put("(");
                self.expr(expr)?;
                let how = if *all { "all" } else { "any" };
                let _ = write!(self.out, " {} {how} (", op.symbol());
                self.query(query)?;
                self.put("))");
            }
            Expr::DefaultOf(column) => {
                self.put("default(");
                self.column(column);
                self.put(")");
            }
            Expr::Parameter(_) | Expr::UserVariable(_) | Expr::SystemVariable { .. } | Expr::Assign(..) => {
                return Err(Error::view_select_variable());
            }
            Expr::CastArray { .. } => return Err(Error::array_outside_of_index()),
            Expr::Match(search) => {
                self.put("(match ");
                for (at, column) in search.columns.iter().enumerate() {
                    if at > 0 {
                        self.put(",");
                    }
                    self.expr(column)?;
                }
                self.put(" against (");
                self.expr(&search.against)?;
                if search.mode.boolean {
                    self.put(" in boolean mode");
                }
                if search.mode.expansion {
                    self.put(" with query expansion");
                }
                self.put("))");
            }
            Expr::JsonValue(value) => self.json_value(value)?,
            Expr::Unsupported(what) => return Err(Error::unsupported(what.clone())),
            _ => return Err(unknown("this expression")),
        }
        Ok(())
    }

    pub(super) fn aggregate(&mut self, aggregate: &Aggregate) -> Result<()> {
        let Aggregate { function, distinct, args, order_by, separator, limit } = aggregate;
        self.put(function.name());
        self.put(if *distinct { "(distinct " } else { "(" });
        match *function == AggregateFunction::Count && args.is_empty() {
            true => self.put("*"),
            false => self.exprs(args)?,
        }
        self.order(order_by)?;
        if *function == AggregateFunction::GroupConcat {
            let separator = separator.as_deref().unwrap_or(b",");
            let separator = text(separator).ok_or_else(|| unknown("a separator that is not UTF-8"))?;
            let _ = write!(self.out, " separator {separator}");
            if let Some((skipped, taken)) = limit {
                let _ = write!(self.out, " limit {skipped},{taken}");
            }
        }
        self.put(")");
        Ok(())
    }

    pub(super) fn cast_type(&mut self, to: &CastType) {
        let with = |name: &str, length: &Option<u32>| length.map_or(name.to_owned(), |n| format!("{name}({n})"));
        let fsp = |name: &str, fsp: u8| if fsp > 0 { format!("{name}({fsp})") } else { name.to_owned() };
        let printed = match to {
            CastType::Signed => "signed".into(),
            CastType::Unsigned => "unsigned".into(),
            CastType::Binary { bytes } => with("binary", bytes),
            CastType::Char { chars, charset, binary } => {
                let charset = charset.as_ref().map_or(String::new(), |charset| format!(" charset {charset}"));
                with("char", chars) + &charset + if *binary { " binary" } else { "" }
            }
            CastType::Date => "date".into(),
            CastType::Time { fsp: digits } => fsp("time", *digits),
            CastType::DateTime { fsp: digits } => fsp("datetime", *digits),
            CastType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
            CastType::Float => "float".into(),
            CastType::Double => "double".into(),
            CastType::Year => "year".into(),
            CastType::Json => "json".into(),
            CastType::Geometry(kind) => kind.name().into(),
        };
        self.put(&printed);
    }
}
