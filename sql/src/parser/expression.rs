//! Expressions: MySQL's precedence, and the functions that have a syntax of
//! their own.
//!
//! From loose to tight, one function per rank of the manual's grammar:
//!
//! ```text
//! expr        OR ||  <  XOR  <  AND &&  <  NOT
//! comparison  = <=> < <= > >= <>, IS [NOT] NULL | TRUE | FALSE | UNKNOWN
//! predicate   [NOT] IN, BETWEEN, LIKE, REGEXP, SOUNDS LIKE
//! bits        |  <  &  <  << >>  <  + -  <  * / DIV % MOD  <  ^
//! simple      - + ~ ! BINARY, COLLATE, literals, names, calls, (...)
//! ```

use super::ast::*;
use super::lexer::{self, Kind};
use super::{DEPTH_MAX, Parser, words};
use crate::error::{Error, Result};
use crate::types::SqlMode;

/// How tightly the logical operators bind.
const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.nested(|parser| parser.logical(OR))
    }

    pub(super) fn boxed_expr(&mut self) -> Result<Box<Expr>> {
        Ok(Box::new(self.expr()?))
    }

    fn logical_op(&self) -> Option<(BinaryOp, u8)> {
        let token = self.peek();
        match (token.kind, self.bytes(token)) {
            (Kind::Symbol, b"||") if !self.mode.has(SqlMode::PIPES_AS_CONCAT) => Some((BinaryOp::Or, OR)),
            (Kind::Symbol, b"&&") => Some((BinaryOp::And, AND)),
            (Kind::Word, word) => match word.len() {
                2 if word.eq_ignore_ascii_case(b"OR") => Some((BinaryOp::Or, OR)),
                3 if word.eq_ignore_ascii_case(b"AND") => Some((BinaryOp::And, AND)),
                3 if word.eq_ignore_ascii_case(b"XOR") => Some((BinaryOp::Xor, XOR)),
                _ => None,
            },
            _ => None,
        }
    }

    /// OR, XOR, AND and NOT, from the given rank on.
    fn logical(&mut self, lowest: u8) -> Result<Expr> {
        let mut left = if self.is_word("NOT") {
            self.advance();
            // NOT binds looser than a comparison and tighter than AND.
            let operand = self.nested(|parser| parser.logical(AND + 1))?;
            Expr::Unary { op: UnaryOp::Not, expr: Box::new(operand) }
        } else {
            self.comparison()?
        };
        while let Some((op, rank)) = self.logical_op().filter(|(_, rank)| *rank >= lowest) {
            let mut operands = vec![left];
            while self.logical_op().is_some_and(|(next, _)| next == op) {
                self.advance();
                operands.push(self.logical(rank + 1)?);
            }
            left = balanced(op, operands);
        }
        Ok(left)
    }

    fn comparison_op(&self) -> Option<BinaryOp> {
        let token = self.peek();
        if token.kind != Kind::Symbol {
            return None;
        }
        Some(match self.bytes(token) {
            b"=" => BinaryOp::Equal,
            b"<=>" => BinaryOp::NullSafeEqual,
            b"<>" | b"!=" => BinaryOp::NotEqual,
            b"<" => BinaryOp::Less,
            b"<=" => BinaryOp::LessEqual,
            b">" => BinaryOp::Greater,
            b">=" => BinaryOp::GreaterEqual,
            _ => return None,
        })
    }

    fn comparison(&mut self) -> Result<Expr> {
        let mut left = self.predicate()?;
        let mut chain = 0;
        loop {
            if let Some(op) = self.comparison_op() {
                self.advance();
                if self.is_any_word(&["ALL", "ANY", "SOME"]) && self.is_symbol_at(1, "(") {
                    let all = self.is_word("ALL");
                    self.advance();
                    let query = Box::new(self.parenthesized_query()?);
                    left = Expr::Quantified { expr: Box::new(left), op, all, query };
                } else {
                    let right = self.predicate()?;
                    left = Expr::Binary { op, left: Box::new(left), right: Box::new(right) };
                }
            } else if self.take_word("IS") {
                let negated = self.take_word("NOT");
                let expr = Box::new(left);
                left = match self.take_any_word(&["NULL", "TRUE", "FALSE", "UNKNOWN"]) {
                    Some("NULL") => Expr::IsNull { expr, negated },
                    Some("TRUE") => Expr::IsTruth { expr, truth: Some(true), negated },
                    Some("FALSE") => Expr::IsTruth { expr, truth: Some(false), negated },
                    Some(_) => Expr::IsTruth { expr, truth: None, negated },
                    None if self.peek().kind == Kind::NullEscape => return Err(self.unexpected()),
                    None => return Err(self.unexpected()),
                };
            } else {
                return Ok(left);
            }
            chain += 1;
            self.check_chain(chain)?;
        }
    }

    /// A chain of operators of one rank makes a tree as deep as it is long.
    fn check_chain(&self, links: usize) -> Result<()> {
        if self.depth + links > DEPTH_MAX { Err(Error::nested_too_deep()) } else { Ok(()) }
    }

    fn predicate(&mut self) -> Result<Expr> {
        let expr = self.bits(1)?;
        if self.peek().kind != Kind::Word {
            return Ok(expr);
        }
        let negated = self.is_word("NOT")
            && ["IN", "BETWEEN", "LIKE", "REGEXP", "RLIKE"].iter().any(|word| self.is_word_at(1, word));
        if negated {
            self.advance();
        }
        let expr = Box::new(expr);
        if self.take_word("IN") {
            return self.in_operand(expr, negated);
        }
        if self.take_word("BETWEEN") {
            let low = Box::new(self.bits(1)?);
            self.expect_word("AND")?;
            let high = Box::new(self.nested(Self::predicate)?);
            return Ok(Expr::Between { expr, low, high, negated });
        }
        if self.take_word("LIKE") {
            let pattern = Box::new(self.simple()?);
            let escape = if self.take_word("ESCAPE") { Some(Box::new(self.simple()?)) } else { None };
            return Ok(Expr::Like { expr, pattern, escape, negated });
        }
        if self.take_word("REGEXP") || self.take_word("RLIKE") {
            let pattern = Box::new(self.bits(1)?);
            return Ok(Expr::Regexp { expr, pattern, negated });
        }
        if self.is_word("SOUNDS") && self.is_word_at(1, "LIKE") {
            self.at += 2;
            let right = Box::new(self.bits(1)?);
            return Ok(Expr::Binary { op: BinaryOp::SoundsLike, left: expr, right });
        }
        if self.is_word("MEMBER") && self.is_word_at(1, "OF") {
            self.at += 2;
            self.expect_symbol("(")?;
            self.skip_parenthesized()?;
            return Ok(Expr::Unsupported("MEMBER OF".into()));
        }
        Ok(*expr)
    }

    fn in_operand(&mut self, expr: Box<Expr>, negated: bool) -> Result<Expr> {
        if self.is_nested_query() {
            let query = Box::new(self.parenthesized_query()?);
            return Ok(Expr::InQuery { expr, query, negated });
        }
        let list = self.parenthesized_list(Self::expr)?;
        Ok(Expr::InList { expr, list, negated })
    }

    fn bit_op(&self) -> Option<(BinaryOp, u8)> {
        let token = self.peek();
        Some(match (token.kind, self.bytes(token)) {
            (Kind::Symbol, symbol) => match symbol {
                b"|" => (BinaryOp::BitOr, 1),
                b"&" => (BinaryOp::BitAnd, 2),
                b"<<" => (BinaryOp::ShiftLeft, 3),
                b">>" => (BinaryOp::ShiftRight, 3),
                b"+" => (BinaryOp::Add, 4),
                b"-" => (BinaryOp::Subtract, 4),
                b"*" => (BinaryOp::Multiply, 5),
                b"/" => (BinaryOp::Divide, 5),
                b"%" => (BinaryOp::Modulo, 5),
                b"^" => (BinaryOp::BitXor, 6),
                b"||" if self.mode.has(SqlMode::PIPES_AS_CONCAT) => (BinaryOp::Concat, 7),
                _ => return None,
            },
            (Kind::Word, word) if word.len() == 3 => match word {
                _ if word.eq_ignore_ascii_case(b"DIV") => (BinaryOp::IntegerDivide, 5),
                _ if word.eq_ignore_ascii_case(b"MOD") => (BinaryOp::Modulo, 5),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The arithmetic and bit operators, from the given rank on.
    fn bits(&mut self, lowest: u8) -> Result<Expr> {
        let mut left = self.simple()?;
        let mut chain = 0;
        while let Some((op, rank)) = self.bit_op().filter(|(_, rank)| *rank >= lowest) {
            self.advance();
            chain += 1;
            self.check_chain(chain)?;
            let is_interval = self.is_word("INTERVAL") && matches!(op, BinaryOp::Add | BinaryOp::Subtract);
            if is_interval && !self.is_interval_function() {
                self.advance();
                let interval = self.boxed_expr()?;
                let unit = self.interval_unit()?;
                left = Expr::DateAdd { expr: Box::new(left), interval, unit, subtract: op == BinaryOp::Subtract };
                continue;
            }
            let right = self.bits(rank + 1)?;
            left = Expr::Binary { op, left: Box::new(left), right: Box::new(right) };
        }
        Ok(left)
    }

    /// INTERVAL(a, b, ...) rather than INTERVAL (a) DAY: there is a comma inside of the parentheses.
    fn is_interval_function(&self) -> bool {
        if !self.is_symbol_at(1, "(") {
            return false;
        }
        let mut open = 0;
        for ahead in 1.. {
            let token = self.peek_at(ahead);
            match (token.kind, self.bytes(token)) {
                (Kind::Symbol, b"(") => open += 1,
                (Kind::Symbol, b")") if open == 1 => return false,
                (Kind::Symbol, b")") => open -= 1,
                (Kind::Symbol, b",") if open == 1 => return true,
                (Kind::End | Kind::Bad, _) | (Kind::Symbol, b";") => return false,
                _ => {}
            }
        }
        false
    }

    /// One of the units, also with the prefix of ODBC's SQL_TSI_.
    fn interval_unit(&mut self) -> Result<IntervalUnit> {
        let token = self.peek();
        if token.kind != Kind::Word {
            return Err(self.unexpected());
        }
        let word = String::from_utf8_lossy(self.bytes(token)).to_ascii_uppercase();
        let word = match word.strip_prefix("SQL_TSI_") {
            Some("FRAC_SECOND") => "MICROSECOND",
            Some(unit) => unit,
            None => &word,
        };
        let unit = IntervalUnit::by_name(word).ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(unit)
    }

    fn simple(&mut self) -> Result<Expr> {
        self.nested(|parser| {
            let mut expr = parser.simple_without_collate()?;
            while parser.take_word("COLLATE") {
                let collation = parser.name_or_text_or_binary()?;
                expr = Expr::Collate { expr: Box::new(expr), collation };
            }
            Ok(expr)
        })
    }

    /// The name of a character set or collation: `binary` is a reserved word.
    pub(super) fn name_or_text_or_binary(&mut self) -> Result<String> {
        if self.take_word("BINARY") {
            return Ok("binary".into());
        }
        self.name_or_text()
    }

    fn simple_without_collate(&mut self) -> Result<Expr> {
        let token = self.peek();
        let bytes = self.bytes(token);
        match token.kind {
            Kind::Integer | Kind::Decimal | Kind::Float => {
                self.advance();
                Ok(Expr::Literal(number(token.kind, bytes)))
            }
            Kind::Text => Ok(Expr::Literal(Literal::String { bytes: self.text_bytes()?, charset: None })),
            Kind::NationalText => {
                self.advance();
                let mut text = Vec::new();
                lexer::unescape(&bytes[1..], self.mode, &mut text);
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
            Kind::Parameter => {
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
            Kind::At | Kind::Bad | Kind::End => Err(self.unexpected()),
        }
    }

    /// A literal token, with nothing that could follow it in an expression.
    pub(super) fn literal_alone(&mut self) -> Result<Expr> {
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

    /// {d '2020-01-01'}, {t ..}, {ts ..}, {fn f()}
    fn odbc_literal(&mut self) -> Result<Expr> {
        self.expect_symbol("{")?;
        let kind = self.upper_word()?;
        let expr = match kind.as_str() {
            "D" => Expr::Literal(Literal::Date(self.text_bytes()?)),
            "T" => Expr::Literal(Literal::Time(self.text_bytes()?)),
            "TS" => Expr::Literal(Literal::Timestamp(self.text_bytes()?)),
            _ => self.expr()?,
        };
        self.expect_symbol("}")?;
        Ok(expr)
    }

    /// `@@[scope.]name`, where a name may have a dot: `@@hot.key_buffer_size`.
    pub(super) fn system_variable(&mut self) -> Result<(Option<VariableScope>, String)> {
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
                self.skip_match()?;
                Ok(Expr::Unsupported("MATCH ... AGAINST".into()))
            }
            b"CURRENT_USER" | b"CURRENT_DATE" | b"UTC_DATE" | b"CURRENT_TIME" | b"UTC_TIME" | b"CURRENT_TIMESTAMP"
            | b"LOCALTIME" | b"LOCALTIMESTAMP" | b"UTC_TIMESTAMP" => self.clock_or_user(&upper),
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

    fn skip_match(&mut self) -> Result<()> {
        if self.take_symbol("(") {
            self.skip_parenthesized()?;
        } else {
            self.list(Self::column_name)?;
        }
        self.expect_word("AGAINST")?;
        self.expect_symbol("(")?;
        self.skip_parenthesized()
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

    /// INTERVAL n unit + date, or the function INTERVAL(n, a, b ..).
    fn interval(&mut self) -> Result<Expr> {
        if self.is_interval_function() {
            return self.call();
        }
        self.advance();
        let interval = self.boxed_expr()?;
        let unit = self.interval_unit()?;
        self.expect_symbol("+")?;
        let expr = Box::new(self.bits(5)?);
        Ok(Expr::DateAdd { expr, interval, unit, subtract: false })
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
        if self.is_symbol("->") || self.is_symbol("->>") {
            let op = if self.is_symbol("->") { BinaryOp::JsonExtract } else { BinaryOp::JsonUnquote };
            self.advance();
            let path = Expr::Literal(Literal::String { bytes: self.text_bytes()?, charset: None });
            return Ok(Expr::Binary { op, left: Box::new(Expr::Column(column)), right: Box::new(path) });
        }
        Ok(Expr::Column(column))
    }

    fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.expect_symbol("(")?;
        if self.take_symbol(")") {
            return Ok(Vec::new());
        }
        let args = self.list(Self::expr)?;
        self.expect_symbol(")")?;
        Ok(args)
    }

    // ---------------------------------------------------------- functions

    fn call(&mut self) -> Result<Expr> {
        let token = self.peek();
        let is_quoted = token.kind == Kind::QuotedName;
        let reserved = !is_quoted && words::is_reserved(self.bytes(token));
        let name = self.any_name()?.to_ascii_lowercase();
        if reserved && !RESERVED_FUNCTIONS.contains(&name.as_str()) {
            return Err(self.error_at(token.start as usize));
        }
        if is_quoted {
            return Ok(Expr::Function { name, args: self.arguments()? });
        }
        if let Some(function) = aggregate_by_name(&name) {
            return self.aggregate(function);
        }
        if WINDOW_FUNCTIONS.contains(&name.as_str()) {
            self.expect_symbol("(")?;
            self.skip_parenthesized()?;
            self.skip_over()?;
            return Ok(Expr::Unsupported(format!("window function {name}")));
        }
        match name.as_str() {
            "cast" => self.cast(),
            "convert" => self.convert(),
            "extract" => {
                self.expect_symbol("(")?;
                let unit = self.interval_unit()?;
                self.expect_word("FROM")?;
                let expr = self.boxed_expr()?;
                self.expect_symbol(")")?;
                Ok(Expr::Extract { unit, expr })
            }
            "mod" => {
                self.expect_symbol("(")?;
                let left = self.boxed_expr()?;
                self.expect_symbol(",")?;
                let right = self.boxed_expr()?;
                self.expect_symbol(")")?;
                Ok(Expr::Binary { op: BinaryOp::Modulo, left, right })
            }
            "trim" => self.trim(),
            "substring" | "substr" | "mid" => self.substring(),
            "position" => {
                self.expect_symbol("(")?;
                let needle = self.bits(1)?;
                self.expect_word("IN")?;
                let text = self.expr()?;
                self.expect_symbol(")")?;
                Ok(Expr::Function { name: "locate".into(), args: vec![needle, text] })
            }
            "date_add" | "adddate" => self.date_add(&name, false),
            "date_sub" | "subdate" => self.date_add(&name, true),
            "timestampadd" => {
                self.expect_symbol("(")?;
                let unit = self.interval_unit()?;
                self.expect_symbol(",")?;
                let interval = self.boxed_expr()?;
                self.expect_symbol(",")?;
                let expr = self.boxed_expr()?;
                self.expect_symbol(")")?;
                Ok(Expr::TimestampAdd { unit, interval, expr })
            }
            "timestampdiff" => {
                self.expect_symbol("(")?;
                let unit = self.interval_unit()?;
                self.expect_symbol(",")?;
                let from = self.boxed_expr()?;
                self.expect_symbol(",")?;
                let to = self.boxed_expr()?;
                self.expect_symbol(")")?;
                Ok(Expr::TimestampDiff { unit, from, to })
            }
            "char" => {
                self.expect_symbol("(")?;
                let args = self.list(Self::expr)?;
                let charset = if self.take_word("USING") { Some(self.name_or_text_or_binary()?) } else { None };
                self.expect_symbol(")")?;
                Ok(Expr::Char { args, charset })
            }
            "values" => {
                self.expect_symbol("(")?;
                let column = self.column_name()?;
                self.expect_symbol(")")?;
                Ok(Expr::ValuesOf(column))
            }
            "get_format" => {
                self.expect_symbol("(")?;
                let kind = self.upper_word()?;
                self.expect_symbol(",")?;
                let style = self.expr()?;
                self.expect_symbol(")")?;
                Ok(Expr::Function { name, args: vec![Expr::string(&kind), style] })
            }
            "weight_string" | "json_table" | "json_value" => {
                self.expect_symbol("(")?;
                self.skip_parenthesized()?;
                Ok(Expr::Unsupported(name.to_ascii_uppercase()))
            }
            _ => {
                let args = self.arguments()?;
                let name = match name.as_str() {
                    "current_timestamp" | "localtime" | "localtimestamp" => "now".into(),
                    _ => name,
                };
                Ok(Expr::Function { name, args })
            }
        }
    }

    fn aggregate(&mut self, function: AggregateFunction) -> Result<Expr> {
        self.expect_symbol("(")?;
        let mut aggregate = Aggregate {
            function,
            distinct: false,
            args: Vec::new(),
            order_by: Vec::new(),
            separator: None,
            window: false,
        };
        if function == AggregateFunction::Count && self.take_symbol("*") {
            self.expect_symbol(")")?;
        } else {
            aggregate.distinct = self.take_word("DISTINCT") || self.take_word("DISTINCTROW");
            if !aggregate.distinct {
                self.take_word("ALL");
            }
            let many = match function {
                AggregateFunction::GroupConcat | AggregateFunction::JsonObjectAgg => true,
                AggregateFunction::Count => aggregate.distinct,
                _ => false,
            };
            aggregate.args = if many { self.list(Self::expr)? } else { vec![self.expr()?] };
            if function == AggregateFunction::GroupConcat {
                if self.is_word("ORDER") {
                    aggregate.order_by = self.order_by()?;
                }
                if self.take_word("SEPARATOR") {
                    aggregate.separator = Some(self.text_bytes()?);
                }
            }
            self.expect_symbol(")")?;
        }
        aggregate.window = self.skip_over()?;
        Ok(Expr::Aggregate(Box::new(aggregate)))
    }

    /// OVER name, OVER (...)
    fn skip_over(&mut self) -> Result<bool> {
        if !self.take_word("OVER") {
            return Ok(false);
        }
        if self.take_symbol("(") {
            self.skip_parenthesized()?;
        } else {
            self.name()?;
        }
        Ok(true)
    }

    fn cast(&mut self) -> Result<Expr> {
        self.expect_symbol("(")?;
        let expr = self.boxed_expr()?;
        self.expect_word("AS")?;
        let to = self.cast_type()?;
        let is_array = self.take_word("ARRAY");
        self.expect_symbol(")")?;
        if is_array {
            return Ok(Expr::Unsupported("CAST ... AS ARRAY".into()));
        }
        Ok(Expr::Cast { expr, to })
    }

    fn convert(&mut self) -> Result<Expr> {
        self.expect_symbol("(")?;
        let expr = self.boxed_expr()?;
        if self.take_word("USING") {
            let charset = self.name_or_text_or_binary()?;
            self.expect_symbol(")")?;
            return Ok(Expr::ConvertUsing { expr, charset });
        }
        self.expect_symbol(",")?;
        let to = self.cast_type()?;
        self.expect_symbol(")")?;
        Ok(Expr::Cast { expr, to })
    }

    fn cast_type(&mut self) -> Result<CastType> {
        let token = self.peek();
        let word = self.upper_word()?;
        Ok(match word.as_str() {
            "SIGNED" => {
                let _ = self.take_word("INTEGER") || self.take_word("INT");
                CastType::Signed
            }
            "UNSIGNED" => {
                let _ = self.take_word("INTEGER") || self.take_word("INT");
                CastType::Unsigned
            }
            "INT" | "INTEGER" | "BIGINT" => CastType::Signed,
            "BINARY" | "VARBINARY" => CastType::Binary { bytes: self.optional_length()? },
            "CHAR" | "CHARACTER" | "NCHAR" | "VARCHAR" => {
                let chars = self.optional_length()?;
                let mut charset = (word == "NCHAR").then(|| "utf8mb3".to_string());
                if self.take_words(&["CHARACTER", "SET"])
                    || self.take_word("CHARSET")
                    || self.take_words(&["CHAR", "SET"])
                {
                    charset = Some(self.name_or_text_or_binary()?);
                } else if let Some(word) = self.take_any_word(&["ASCII", "UNICODE"]) {
                    charset = Some(if word == "ASCII" { "latin1".into() } else { "ucs2".into() });
                } else if self.take_word("BINARY") {
                    // CAST(x AS CHAR BINARY): the _bin collation, which only matters to comparison.
                }
                CastType::Char { chars, charset }
            }
            "DATE" => CastType::Date,
            "TIME" => CastType::Time { fsp: self.optional_fsp("CAST")? },
            "DATETIME" | "TIMESTAMP" => CastType::DateTime { fsp: self.optional_fsp("CAST")? },
            "YEAR" => CastType::Year,
            "JSON" => CastType::Json,
            "REAL" | "DOUBLE" => {
                self.take_word("PRECISION");
                CastType::Double
            }
            "FLOAT" => match self.optional_length()? {
                Some(bits) if bits > 53 => return Err(Error::too_big_precision(bits as u64, "CAST", 53)),
                Some(bits) if bits > 24 => CastType::Double,
                _ => CastType::Float,
            },
            "DECIMAL" | "DEC" | "NUMERIC" => {
                let (mut precision, mut scale) = (10, 0);
                if self.take_symbol("(") {
                    precision = self.integer()?;
                    if self.take_symbol(",") {
                        scale = self.integer()?;
                    }
                    self.expect_symbol(")")?;
                }
                if precision == 0 {
                    precision = 10;
                }
                match (precision, scale) {
                    (66.., _) => return Err(Error::too_big_precision(precision, "CAST", 65)),
                    (_, 31..) => return Err(Error::too_big_scale(scale, "CAST", 30)),
                    _ if scale > precision => return Err(Error::precision_below_scale("")),
                    _ => CastType::Decimal { precision: precision as u8, scale: scale as u8 },
                }
            }
            _ => return Err(self.error_at(token.start as usize)),
        })
    }

    fn optional_length(&mut self) -> Result<Option<u32>> {
        if !self.take_symbol("(") {
            return Ok(None);
        }
        let length = self.integer()?;
        self.expect_symbol(")")?;
        Ok(Some(u32::try_from(length).unwrap_or(u32::MAX)))
    }

    fn trim(&mut self) -> Result<Expr> {
        self.expect_symbol("(")?;
        let side = match self.take_any_word(&["BOTH", "LEADING", "TRAILING"]) {
            Some("LEADING") => Some(TrimSide::Leading),
            Some("TRAILING") => Some(TrimSide::Trailing),
            Some(_) => Some(TrimSide::Both),
            None => None,
        };
        // TRIM(BOTH FROM x): nothing before FROM means spaces.
        let first = if side.is_some() && self.is_word("FROM") { None } else { Some(self.boxed_expr()?) };
        let result = if self.take_word("FROM") {
            let expr = self.boxed_expr()?;
            Expr::Trim { side: side.unwrap_or(TrimSide::Both), remove: first, expr }
        } else {
            match (side, first) {
                (None, Some(expr)) => Expr::Trim { side: TrimSide::Both, remove: None, expr },
                _ => return Err(self.unexpected()),
            }
        };
        self.expect_symbol(")")?;
        Ok(result)
    }

    /// SUBSTRING(a, b, c) and SUBSTRING(a FROM b FOR c).
    fn substring(&mut self) -> Result<Expr> {
        self.expect_symbol("(")?;
        let mut args = vec![self.expr()?];
        if self.take_word("FROM") {
            args.push(self.expr()?);
            if self.take_word("FOR") {
                args.push(self.expr()?);
            }
        } else {
            while self.take_symbol(",") {
                args.push(self.expr()?);
            }
        }
        self.expect_symbol(")")?;
        Ok(Expr::Function { name: "substring".into(), args })
    }

    /// DATE_ADD(d, INTERVAL n unit), and ADDDATE(d, days).
    fn date_add(&mut self, name: &str, subtract: bool) -> Result<Expr> {
        self.expect_symbol("(")?;
        let expr = self.boxed_expr()?;
        self.expect_symbol(",")?;
        let (interval, unit) = if self.is_word("INTERVAL") && !self.is_interval_function() {
            self.advance();
            (self.boxed_expr()?, self.interval_unit()?)
        } else if name.ends_with("date") {
            (self.boxed_expr()?, IntervalUnit::Day)
        } else {
            return Err(self.unexpected());
        };
        self.expect_symbol(")")?;
        Ok(Expr::DateAdd { expr, interval, unit, subtract })
    }
}

/// The word of a scope, as [`Parser::take_any_word`] gives it.
pub(super) fn scope_of(word: &str) -> VariableScope {
    match word {
        "GLOBAL" => VariableScope::Global,
        "PERSIST" => VariableScope::Persist,
        "PERSIST_ONLY" => VariableScope::PersistOnly,
        _ => VariableScope::Session,
    }
}

/// `@name`, @'name', @`name`.
pub(super) fn user_variable_name(token: &[u8]) -> String {
    let bytes = match token.get(1) {
        Some(b'\'' | b'"' | b'`') => lexer::unquote(&token[1..]),
        _ => token[1..].to_vec(),
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number's literal, by the kind of its token.
pub(super) fn number(kind: Kind, token: &[u8]) -> Literal {
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

/// A balanced tree of one associative operator: as deep as the logarithm of its operands.
fn balanced(op: BinaryOp, mut operands: Vec<Expr>) -> Expr {
    if operands.len() == 1 {
        return operands.remove(0);
    }
    let right = operands.split_off(operands.len() / 2);
    Expr::Binary { op, left: Box::new(balanced(op, operands)), right: Box::new(balanced(op, right)) }
}

fn aggregate_by_name(name: &str) -> Option<AggregateFunction> {
    Some(match name {
        "count" => AggregateFunction::Count,
        "sum" => AggregateFunction::Sum,
        "avg" => AggregateFunction::Avg,
        "min" => AggregateFunction::Min,
        "max" => AggregateFunction::Max,
        "group_concat" => AggregateFunction::GroupConcat,
        "bit_and" => AggregateFunction::BitAnd,
        "bit_or" => AggregateFunction::BitOr,
        "bit_xor" => AggregateFunction::BitXor,
        "std" | "stddev" | "stddev_pop" => AggregateFunction::StddevPop,
        "stddev_samp" => AggregateFunction::StddevSamp,
        "variance" | "var_pop" => AggregateFunction::VarPop,
        "var_samp" => AggregateFunction::VarSamp,
        "any_value" => AggregateFunction::AnyValue,
        "json_arrayagg" => AggregateFunction::JsonArrayAgg,
        "json_objectagg" => AggregateFunction::JsonObjectAgg,
        _ => return None,
    })
}

/// Reserved words that are functions when a parenthesis follows.
const RESERVED_FUNCTIONS: [&str; 28] = [
    "char",
    "convert",
    "database",
    "schema",
    "if",
    "insert",
    "interval",
    "left",
    "right",
    "mod",
    "repeat",
    "replace",
    "values",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
    "grouping",
];

const WINDOW_FUNCTIONS: [&str; 11] = [
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];
