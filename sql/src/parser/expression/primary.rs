//! What operators stand between: literals, names, variables, CASE, what is in parentheses.

use format::value::{ParseFlags, parse_datetime, parse_time};

use super::Parser;
use crate::error::{Error, Result};
use crate::parser::ast::*;
use crate::parser::lexer::{self, Kind};
use crate::parser::words;

impl Parser<'_> {
    pub(super) fn simple_without_collate(&mut self) -> Result<Expr> {
        let token = self.peek();
        let bytes = self.bytes(token);
        match token.kind {
            Kind::Integer | Kind::Decimal | Kind::Float => {
                self.advance();
                let literal = number(token.kind, bytes);
                if let Literal::Float(value) = literal
                    && value.is_infinite()
                {
                    let written = String::from_utf8_lossy(bytes);
                    let message = format!("Illegal double '{written}' value found during parsing");
                    return Err(Error::new(1367, b"22007", message));
                }
                Ok(Expr::Literal(literal))
            }
            Kind::Text => Ok(Expr::Literal(Literal::String { bytes: self.text_bytes()?, charset: None })),
            Kind::NationalText => {
                self.advance();
                let mut text = Vec::new();
                lexer::unescape(&bytes[1..], self.mode, &mut text);
                if self.peek().kind == Kind::Text {
                    text.append(&mut self.text_bytes()?);
                }
                Ok(Expr::Literal(Literal::String { bytes: text, charset: Some("utf8mb3".into()) }))
            }
            Kind::Hex => {
                self.advance();
                Ok(Expr::Literal(Literal::Hex { bytes: lexer::hex_bytes(bytes), charset: None }))
            }
            Kind::Bit => {
                self.advance();
                Ok(Expr::Literal(Literal::Bit { bytes: lexer::bit_bytes(bytes), charset: None }))
            }
            Kind::Parameter if self.program.is_none() => {
                self.advance();
                self.parameters += 1;
                Ok(Expr::Parameter(self.parameters - 1))
            }
            Kind::NullEscape => {
                self.advance();
                Ok(Expr::NULL)
            }
            Kind::UserVariable => {
                self.advance();
                let name = user_variable_name(bytes);
                if self.take_symbol(":=") {
                    return Ok(Expr::Assign(name, self.boxed_expr()?));
                }
                Ok(Expr::UserVariable(name))
            }
            Kind::AtAt => {
                let (scope, name) = self.system_variable()?;
                Ok(Expr::SystemVariable { scope, name })
            }
            Kind::Symbol => self.simple_symbol(),
            Kind::QuotedName => self.column_or_call(),
            Kind::Word => self.simple_word(),
            Kind::At | Kind::Parameter | Kind::Bad | Kind::End => Err(self.unexpected()),
        }
    }

    /// A literal or a variable.
    pub(in crate::parser) fn simple_value(&mut self) -> Result<Expr> {
        self.simple_without_collate()
    }

    /// A literal token, with nothing that could follow it in an expression.
    pub(in crate::parser) fn literal_alone(&mut self) -> Result<Expr> {
        if self.is_word("NULL") {
            return self.literal(Literal::Null);
        }
        match self.peek().kind {
            Kind::UserVariable | Kind::AtAt | Kind::Parameter | Kind::QuotedName | Kind::Symbol => {
                Err(self.unexpected())
            }
            _ => self.simple_without_collate(),
        }
    }

    fn simple_symbol(&mut self) -> Result<Expr> {
        let op = match self.bytes(self.peek()) {
            b"-" => UnaryOp::Minus,
            b"+" => UnaryOp::Plus,
            b"~" => UnaryOp::BitNot,
            b"!" => UnaryOp::Not,
            b"(" => return self.parenthesized(),
            b"{" => return self.odbc_literal(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        let expr = Box::new(self.simple()?);
        Ok(Expr::Unary { op, expr })
    }

    fn parenthesized(&mut self) -> Result<Expr> {
        if self.is_nested_query() {
            return Ok(Expr::Subquery(Box::new(self.parenthesized_query()?)));
        }
        let mut list = self.parenthesized_list(Self::expr)?;
        match list.len() {
            1 => Ok(list.remove(0)),
            _ => Ok(Expr::Row(list)),
        }
    }

    /// {d '2020-01-01'}, {t ..}, {ts ..}, {fn f()}. What is no literal of its kind is a text, or any other expression.
    fn odbc_literal(&mut self) -> Result<Expr> {
        self.expect_symbol("{")?;
        let kind = self.upper_word()?;
        let is_whole =
            |flags: ParseFlags| !flags.invalid && (!flags.truncated || flags.zone.is_some()) && !flags.out_of_range;
        let expr = match kind.as_str() {
            "D" | "T" | "TS" if self.peek().kind == Kind::Text => {
                let bytes = self.text_bytes()?;
                let flags = if kind == "T" { parse_time(&bytes).flags } else { parse_datetime(&bytes).flags };
                Expr::Literal(match kind.as_str() {
                    _ if !is_whole(flags) || flags.has_time != (kind == "TS") => {
                        Literal::String { bytes, charset: None }
                    }
                    "D" => Literal::Date(bytes),
                    "T" => Literal::Time(bytes),
                    _ => Literal::Timestamp(bytes),
                })
            }
            _ => self.expr()?,
        };
        self.expect_symbol("}")?;
        Ok(expr)
    }

    /// `@@[scope.]name`, where a name may have a dot: `@@hot.key_buffer_size`.
    pub(in crate::parser) fn system_variable(&mut self) -> Result<(Option<VariableScope>, String)> {
        self.advance(); // @@
        let scope = match self.is_symbol_at(1, ".") {
            true => match self.take_any_word(&["GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"]) {
                Some(word) => {
                    self.advance();
                    Some(scope_of(word))
                }
                None => None,
            },
            false => None,
        };
        let mut name = self.any_name()?;
        if self.take_symbol(".") {
            name = format!("{name}.{}", self.any_name()?);
        }
        Ok((scope, name))
    }

    fn simple_word(&mut self) -> Result<Expr> {
        let token = self.peek();
        let bytes = self.bytes(token);
        if bytes[0] == b'_' && matches!(self.peek_at(1).kind, Kind::Text | Kind::Hex | Kind::Bit) {
            return self.introduced();
        }
        if self.is_symbol_at(1, ".") && !words::is_reserved(bytes) {
            return self.column_or_call();
        }
        let upper = bytes.to_ascii_uppercase();
        let is_call = self.is_symbol_at(1, "(");
        match upper.as_slice() {
            b"NULL" => self.literal(Literal::Null),
            b"TRUE" => self.literal(Literal::Bool(true)),
            b"FALSE" => self.literal(Literal::Bool(false)),
            b"DATE" | b"TIME" | b"TIMESTAMP" if self.peek_at(1).kind == Kind::Text => {
                self.advance();
                let text = self.text_bytes()?;
                Ok(Expr::Literal(match upper.as_slice() {
                    b"DATE" => Literal::Date(text),
                    b"TIME" => Literal::Time(text),
                    _ => Literal::Timestamp(text),
                }))
            }
            b"NOT" => {
                // Only `!` may stand here, but NOT inside of an operand is what people write.
                self.advance();
                let expr = Box::new(self.simple()?);
                Ok(Expr::Unary { op: UnaryOp::Not, expr })
            }
            b"BINARY" if !is_call || self.is_symbol_at(1, "(") => {
                self.advance();
                Ok(Expr::Binarily(Box::new(self.simple()?)))
            }
            b"CASE" => self.case(),
            b"INTERVAL" => self.interval(),
            b"EXISTS" if is_call => {
                self.advance();
                Ok(Expr::Exists(Box::new(self.parenthesized_query()?)))
            }
            b"ROW" if is_call => {
                self.advance();
                let list = self.parenthesized_list(Self::expr)?;
                if list.len() < 2 {
                    return Err(self.unexpected());
                }
                Ok(Expr::Row(list))
            }
            b"DEFAULT" => {
                self.advance();
                if !self.take_symbol("(") {
                    return Ok(Expr::Default);
                }
                let column = self.column_name()?;
                self.expect_symbol(")")?;
                Ok(Expr::DefaultOf(column))
            }
            b"MATCH" => {
                self.advance();
                self.match_against()
            }
            b"CURRENT_USER" | b"CURRENT_DATE" | b"UTC_DATE" | b"CURRENT_TIME" | b"UTC_TIME" | b"CURRENT_TIMESTAMP"
            | b"LOCALTIME" | b"LOCALTIMESTAMP" | b"UTC_TIMESTAMP" => self.clock_or_user(&upper),
            b"NEXT" | b"PREVIOUS" if self.is_word_at(1, "VALUE") && self.is_word_at(2, "FOR") && self.is_name_at(3) => {
                self.at += 3;
                let function = if upper == b"NEXT" { SequenceFunction::Next } else { SequenceFunction::Last };
                let sequence = self.table_name()?;
                Ok(Expr::Sequence(Box::new(SequenceCall { function, sequence })))
            }
            b"NEXTVAL" | b"LASTVAL" | b"SETVAL" if is_call => match self.sequence_call()? {
                Some(call) => Ok(call),
                None => self.call(),
            },
            _ if is_call => self.call(),
            _ => self.column_or_call(),
        }
    }

    fn literal(&mut self, literal: Literal) -> Result<Expr> {
        self.advance();
        Ok(Expr::Literal(literal))
    }

    /// `_latin1'text'`: with an unknown name it is a column with an alias, which MySQL also says.
    fn introduced(&mut self) -> Result<Expr> {
        let name = String::from_utf8_lossy(&self.bytes(self.peek())[1..]).into_owned();
        self.advance();
        let charset = Some(name);
        let token = self.peek();
        let literal = match token.kind {
            Kind::Text => Literal::String { bytes: self.text_bytes()?, charset },
            Kind::Hex => {
                self.advance();
                Literal::Hex { bytes: lexer::hex_bytes(self.bytes(token)), charset }
            }
            _ => {
                self.advance();
                Literal::Bit { bytes: lexer::bit_bytes(self.bytes(token)), charset }
            }
        };
        Ok(Expr::Literal(literal))
    }

    /// What follows MATCH.
    fn match_against(&mut self) -> Result<Expr> {
        let column = |parser: &mut Self| parser.column_name().map(Expr::Column);
        let columns = if self.is_symbol("(") { self.parenthesized_list(column)? } else { self.list(column)? };
        self.expect_word("AGAINST")?;
        self.expect_symbol("(")?;
        let against = self.bits(0)?;
        let natural = self.take_words(&["IN", "NATURAL", "LANGUAGE", "MODE"]);
        let boolean = !natural && self.take_words(&["IN", "BOOLEAN", "MODE"]);
        let expansion = !boolean && self.take_words(&["WITH", "QUERY", "EXPANSION"]);
        self.expect_symbol(")")?;
        Ok(Expr::Match(Box::new(Match { columns, against, mode: MatchMode { boolean, expansion } })))
    }

    /// Functions that may be called without parentheses.
    fn clock_or_user(&mut self, upper: &[u8]) -> Result<Expr> {
        self.advance();
        let name = match upper {
            b"CURRENT_DATE" => "curdate",
            b"CURRENT_TIME" => "curtime",
            b"CURRENT_TIMESTAMP" | b"LOCALTIME" | b"LOCALTIMESTAMP" => "now",
            b"UTC_DATE" => "utc_date",
            b"UTC_TIME" => "utc_time",
            b"UTC_TIMESTAMP" => "utc_timestamp",
            _ => "current_user",
        };
        let mut args = Vec::new();
        if self.take_symbol("(") && !self.take_symbol(")") {
            args.push(self.expr()?);
            self.expect_symbol(")")?;
        }
        Ok(Expr::Function { name: name.into(), args })
    }

    fn case(&mut self) -> Result<Expr> {
        self.advance();
        let operand = if self.is_word("WHEN") { None } else { Some(self.boxed_expr()?) };
        let mut whens = Vec::new();
        while self.take_word("WHEN") {
            let when = self.expr()?;
            self.expect_word("THEN")?;
            whens.push((when, self.expr()?));
        }
        if whens.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.take_word("ELSE") { Some(self.boxed_expr()?) } else { None };
        self.expect_word("END")?;
        Ok(Expr::Case { operand, whens, otherwise })
    }

    /// NEXTVAL(s), LASTVAL(s), SETVAL(s, ...). `None`: what stands in parentheses is no sequence's name, so it is a function of
    /// that name, as people write it where there are no sequences.
    #[inline(never)]
    fn sequence_call(&mut self) -> Result<Option<Expr>> {
        let start = self.at;
        let word = self.upper_word()?;
        self.expect_symbol("(")?;
        if !self.is_name() {
            self.at = start;
            return Ok(None);
        }
        let sequence = self.table_name()?;
        let name = ColumnName { database: None, table: sequence.database.clone(), name: sequence.name.clone() };
        let is_closed = self.is_symbol(if word == "SETVAL" { "," } else { ")" });
        if !is_closed || self.is_program_name(&name) {
            self.at = start;
            return Ok(None);
        }
        self.advance();
        let function = match word.as_str() {
            "NEXTVAL" => SequenceFunction::Next,
            "LASTVAL" => SequenceFunction::Last,
            _ => {
                if self.peek().kind != Kind::Integer && !self.is_symbol("-") && !self.is_symbol("+") {
                    self.at = start;
                    return Ok(None);
                }
                let value = self.sequence_number()?;
                let mut is_used = true;
                let mut cycle = 0;
                if self.take_symbol(",") {
                    is_used = match self.take_any_word(&["TRUE", "FALSE"]) {
                        Some(word) => word == "TRUE",
                        None => self.integer()? != 0,
                    };
                    if self.take_symbol(",") {
                        cycle = self.sequence_number()?;
                    }
                }
                self.expect_symbol(")")?;
                SequenceFunction::Set { value, is_used, cycle }
            }
        };
        Ok(Some(Expr::Sequence(Box::new(SequenceCall { function, sequence }))))
    }

    /// A column, or a stored function `db.f(...)`.
    fn column_or_call(&mut self) -> Result<Expr> {
        if !self.is_name() {
            return Err(self.unexpected());
        }
        // A quoted name followed by a parenthesis is a stored function: there are none.
        if self.is_symbol_at(1, "(") {
            return self.call();
        }
        let column = self.column_name()?;
        if self.is_symbol("(") && column.database.is_none() && column.table.is_some() {
            let args = self.arguments()?;
            let database = column.table.unwrap_or_default();
            return Ok(Expr::StoredFunction { database, name: column.name, args });
        }
        if let Some(variable) = self.program_name(&column)? {
            return Ok(variable);
        }
        if self.is_symbol("->") || self.is_symbol("->>") {
            let op = if self.is_symbol("->") { BinaryOp::JsonExtract } else { BinaryOp::JsonUnquote };
            self.advance();
            let path = Expr::Literal(Literal::String { bytes: self.text_bytes()?, charset: None });
            return Ok(Expr::Binary { op, left: Box::new(Expr::Column(column)), right: Box::new(path) });
        }
        Ok(Expr::Column(column))
    }

    pub(super) fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.expect_symbol("(")?;
        if self.take_symbol(")") {
            return Ok(Vec::new());
        }
        let args = self.list(Self::expr)?;
        self.expect_symbol(")")?;
        Ok(args)
    }
}

/// The word of a scope, as [`Parser::take_any_word`] gives it.
pub(in crate::parser) fn scope_of(word: &str) -> VariableScope {
    match word {
        "GLOBAL" => VariableScope::Global,
        "PERSIST" => VariableScope::Persist,
        "PERSIST_ONLY" => VariableScope::PersistOnly,
        _ => VariableScope::Session,
    }
}

/// `@name`, @'name', @`name`.
pub(in crate::parser) fn user_variable_name(token: &[u8]) -> String {
    let bytes = match token.get(1) {
        Some(b'\'' | b'"' | b'`') => lexer::unquote(&token[1..]),
        _ => token[1..].to_vec(),
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number's literal, by the kind of its token.
pub(in crate::parser) fn number(kind: Kind, token: &[u8]) -> Literal {
    let text = std::str::from_utf8(token).unwrap_or("0");
    match kind {
        Kind::Integer => match text.parse() {
            Ok(value) => Literal::Integer(value),
            Err(_) => Literal::Decimal(text.into()),
        },
        Kind::Decimal => Literal::Decimal(text.into()),
        _ => Literal::Float(text.parse().unwrap_or(f64::INFINITY)),
    }
}
