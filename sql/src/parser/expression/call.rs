//! Calls: aggregates, and the functions that have a syntax of their own.

use format::value::GeometryType;

use super::Parser;
use crate::error::{Error, Result};
use crate::parser::ast::*;
use crate::parser::lexer::Kind;
use crate::parser::words;
use crate::types::SqlMode;

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

/// Names that mean these functions only if the parenthesis follows at once, unless sql_mode has IGNORE_SPACE. Otherwise they
/// are names like others.
const JOINED_FUNCTIONS: [&str; 35] = [
    "adddate",
    "bit_and",
    "bit_or",
    "bit_xor",
    "cast",
    "count",
    "curdate",
    "curtime",
    "date_add",
    "date_sub",
    "extract",
    "group_concat",
    "json_arrayagg",
    "json_objectagg",
    "max",
    "mid",
    "min",
    "now",
    "position",
    "session_user",
    "st_collect",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "subdate",
    "substr",
    "substring",
    "sum",
    "sysdate",
    "system_user",
    "trim",
    "var_pop",
    "var_samp",
    "variance",
];

impl Parser<'_> {
    /// Whether a word and a parenthesis follow that can only be a call, also where a name is expected.
    pub(in crate::parser) fn is_joined_function(&self) -> bool {
        let (token, next) = (self.peek(), self.peek_at(1));
        let is_joined = next.start == token.end || self.mode.has(SqlMode::IGNORE_SPACE);
        is_joined
            && token.kind == Kind::Word
            && self.is_symbol_at(1, "(")
            && JOINED_FUNCTIONS.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(self.bytes(token)))
    }

    pub(super) fn call(&mut self) -> Result<Expr> {
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
        let is_apart = self.peek().start > token.end && !self.mode.has(SqlMode::IGNORE_SPACE);
        if is_apart && JOINED_FUNCTIONS.contains(&name.as_str()) {
            return Ok(Expr::StoredFunction { database: String::new(), name, args: self.arguments()? });
        }
        if let Some(function) = aggregate_by_name(&name) {
            return self.aggregate(function);
        }
        if let Some(function) = WindowFunction::by_name(&name) {
            return self.window_function(function);
        }
        if name == "grouping" {
            return Ok(Expr::Grouping(self.parenthesized_list(Self::expr)?));
        }
        self.named_call(name)
    }

    /// A call by its name in lower case: of the functions that are written like no other, or of one with a list of
    /// arguments.
    fn named_call(&mut self, name: String) -> Result<Expr> {
        match name.as_str() {
            "cast" => self.cast(),
            "convert" => self.convert(),
            "extract" => self.in_parentheses(|parser| {
                let unit = parser.interval_unit()?;
                parser.expect_word("FROM")?;
                Ok(Expr::Extract { unit, expr: parser.boxed_expr()? })
            }),
            "mod" => self.in_parentheses(|parser| {
                let (left, right) = parser.pair(Self::boxed_expr)?;
                Ok(Expr::Binary { op: BinaryOp::Modulo, left, right })
            }),
            "trim" => self.in_parentheses(Self::trim),
            "substring" | "substr" | "mid" => self.in_parentheses(Self::substring),
            "position" => self.in_parentheses(|parser| {
                let needle = parser.bits(1)?;
                parser.expect_word("IN")?;
                Ok(Expr::Function { name: "locate".into(), args: vec![needle, parser.expr()?] })
            }),
            "date_add" | "adddate" => self.in_parentheses(|parser| parser.date_add(&name, false)),
            "date_sub" | "subdate" => self.in_parentheses(|parser| parser.date_add(&name, true)),
            "timestampadd" => self.in_parentheses(|parser| {
                let unit = parser.interval_unit()?;
                parser.expect_symbol(",")?;
                let (interval, expr) = parser.pair(Self::boxed_expr)?;
                Ok(Expr::TimestampAdd { unit, interval, expr })
            }),
            "timestampdiff" => self.in_parentheses(|parser| {
                let unit = parser.interval_unit()?;
                parser.expect_symbol(",")?;
                let (from, to) = parser.pair(Self::boxed_expr)?;
                Ok(Expr::TimestampDiff { unit, from, to })
            }),
            "char" => self.in_parentheses(|parser| {
                let args = parser.list(Self::expr)?;
                let charset = if parser.take_word("USING") { Some(parser.name_or_text_or_binary()?) } else { None };
                Ok(Expr::Char { args, charset, keeps_null: false })
            }),
            "values" => self.in_parentheses(|parser| Ok(Expr::ValuesOf(parser.column_name()?))),
            "get_format" => self.in_parentheses(|parser| {
                let kind = parser.upper_word()?;
                parser.expect_symbol(",")?;
                Ok(Expr::Function { name, args: vec![Expr::string(&kind), parser.expr()?] })
            }),
            "json_value" => self.in_parentheses(Self::json_value),
            "weight_string" => self.in_parentheses(Self::weight_string),
            "add_months" | "chr" | "nvl2" => self.mariadb_call(&name),
            "current_timestamp" | "localtime" | "localtimestamp" => {
                Ok(Expr::Function { name: "now".into(), args: self.arguments()? })
            }
            _ => Ok(Expr::Function { name, args: self.arguments()? }),
        }
    }

    /// WEIGHT_STRING(text AS CHAR(n)) is that of the text with so many characters, AS BINARY(n) of so many bytes. With
    /// three numbers behind the text: the bytes of the result, the characters of the text, and how the result is filled up.
    fn weight_string(&mut self) -> Result<Expr> {
        let text = self.expr()?;
        let mut numbers = Vec::new();
        if self.take_word("AS") {
            let is_binary = self.take_word("BINARY");
            if !is_binary {
                self.expect_word("CHAR")?;
            }
            let length = self.in_parentheses(Self::weight_number)?;
            if length == 0 {
                return Err(self.unexpected());
            }
            if is_binary {
                let to = CastType::Binary { bytes: u32::try_from(length).ok() };
                let text = Expr::Cast { expr: Box::new(text), to };
                return Ok(Expr::Function { name: "weight_string".into(), args: vec![text] });
            }
            numbers = vec![0, length, 0];
        } else if self.take_symbol(",") {
            numbers.push(self.weight_number()?);
            for _ in 0..2 {
                self.expect_symbol(",")?;
                numbers.push(self.weight_number()?);
            }
        }
        if self.take_word("LEVEL") {
            return Ok(Expr::Unsupported("WEIGHT_STRING with LEVEL".into()));
        }
        let numbers = numbers.into_iter().map(|number| Expr::Literal(Literal::Integer(number)));
        let args = std::iter::once(text).chain(numbers).collect();
        Ok(Expr::Function { name: "weight_string".into(), args })
    }

    fn weight_number(&mut self) -> Result<u64> {
        match self.expr()? {
            Expr::Literal(Literal::Integer(number)) => Ok(number),
            Expr::Literal(Literal::Hex { bytes, charset: None }) if bytes.len() <= 8 => {
                Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// MariaDB's functions that are others' by another name.
    #[inline(never)]
    fn mariadb_call(&mut self, name: &str) -> Result<Expr> {
        match name {
            "add_months" => self.in_parentheses(|parser| {
                let (expr, interval) = parser.pair(Self::boxed_expr)?;
                Ok(Expr::DateAdd { expr, interval, unit: IntervalUnit::Month, subtract: false })
            }),
            "chr" => self.in_parentheses(|parser| {
                let code = parser.expr()?;
                let charset =
                    if parser.take_word("USING") { parser.name_or_text_or_binary()? } else { "utf8mb4".into() };
                Ok(Expr::Char { args: vec![code], charset: Some(charset), keeps_null: true })
            }),
            _ => self.in_parentheses(|parser| {
                let expr = parser.boxed_expr()?;
                parser.expect_symbol(",")?;
                let (then, otherwise) = parser.pair(Self::expr)?;
                let is_there = Expr::IsNull { expr, negated: true };
                Ok(Expr::Function { name: "if".into(), args: vec![is_there, then, otherwise] })
            }),
        }
    }

    /// Within JSON_VALUE( ... ).
    #[inline(never)]
    fn json_value(&mut self) -> Result<Expr> {
        let (document, path) = self.pair(Self::expr)?;
        let returning = if self.take_word("RETURNING") { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.json_otherwise(false)?;
        Ok(Expr::JsonValue(Box::new(JsonValue { document, path, returning, on_empty, on_error })))
    }

    /// `[NULL | ERROR | DEFAULT value] ON EMPTY`, then the same ON ERROR; in JSON_TABLE in either order.
    pub(in crate::parser) fn json_otherwise(&mut self, any_order: bool) -> Result<(JsonOtherwise, JsonOtherwise)> {
        let (mut on_empty, mut on_error) = (None, None);
        while on_error.is_none() || any_order && on_empty.is_none() {
            let otherwise = match self.take_any_word(&["NULL", "ERROR", "DEFAULT"]) {
                Some("NULL") => JsonOtherwise::Null,
                Some("ERROR") => JsonOtherwise::Error,
                Some(_) => JsonOtherwise::Default(self.expr()?),
                None => break,
            };
            self.expect_word("ON")?;
            match self.take_any_word(&["EMPTY", "ERROR"]) {
                Some("EMPTY") if on_empty.is_none() => on_empty = Some(otherwise),
                Some("ERROR") if on_error.is_none() => on_error = Some(otherwise),
                _ => return Err(self.unexpected()),
            }
        }
        Ok((on_empty.unwrap_or(JsonOtherwise::Null), on_error.unwrap_or(JsonOtherwise::Null)))
    }

    /// `item, item`
    fn pair<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<(T, T)> {
        let first = item(self)?;
        self.expect_symbol(",")?;
        Ok((first, item(self)?))
    }

    fn aggregate(&mut self, function: AggregateFunction) -> Result<Expr> {
        self.expect_symbol("(")?;
        let mut aggregate = Aggregate {
            function,
            distinct: false,
            args: Vec::new(),
            order_by: Vec::new(),
            separator: None,
            limit: None,
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
                    aggregate.separator = Some(self.text_or_bits()?);
                }
                if self.take_word("LIMIT") {
                    let first = self.integer()?;
                    aggregate.limit = Some(match self.take_any_word(&["OFFSET"]) {
                        Some(_) => (self.integer()?, first),
                        None if self.take_symbol(",") => (first, self.integer()?),
                        None => (0, first),
                    });
                }
            }
            self.expect_symbol(")")?;
        }
        let aggregate = Box::new(aggregate);
        if self.take_word("OVER") {
            let (function, over) = (WindowFunction::Aggregate(aggregate), self.over()?);
            return Ok(Expr::Window(Box::new(WindowCall { function, args: Vec::new(), over })));
        }
        Ok(Expr::Aggregate(aggregate))
    }

    fn cast(&mut self) -> Result<Expr> {
        self.expect_symbol("(")?;
        let expr = self.boxed_expr()?;
        if self.take_words(&["AT", "TIME", "ZONE"]) {
            return self.cast_at_utc(*expr);
        }
        self.expect_word("AS")?;
        let to = self.cast_type()?;
        let is_array = self.take_word("ARRAY");
        self.expect_symbol(")")?;
        if is_array {
            return Ok(Expr::CastArray { expr, to });
        }
        Ok(Expr::Cast { expr, to })
    }

    /// CAST(moment AT TIME ZONE [INTERVAL] '+00:00' AS DATETIME): UTC is the only zone that MySQL has here.
    fn cast_at_utc(&mut self, moment: Expr) -> Result<Expr> {
        let is_interval = self.take_word("INTERVAL");
        let zone = self.text()?;
        self.expect_word("AS")?;
        if !self.is_word_at(0, "DATETIME") {
            return Err(self.unexpected());
        }
        let to = self.cast_type()?;
        self.expect_symbol(")")?;
        if zone != "+00:00" && (is_interval || zone != "UTC") {
            return Err(Error::unknown_time_zone(&zone));
        }
        let expr = Box::new(Expr::Function { name: "at time zone".into(), args: vec![moment] });
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
            "CHAR" | "CHARACTER" | "NCHAR" | "VARCHAR" | "NATIONAL" => {
                if word == "NATIONAL" && self.take_any_word(&["CHAR", "CHARACTER"]).is_none() {
                    return Err(self.unexpected());
                }
                let chars = self.optional_length()?;
                // The collation `_bin` of the character set: BINARY stands before its name or behind it.
                let mut binary = self.take_word("BINARY");
                let mut charset = word.starts_with('N').then(|| "utf8mb3".to_string());
                if self.take_words(&["CHARACTER", "SET"])
                    || self.take_word("CHARSET")
                    || self.take_words(&["CHAR", "SET"])
                {
                    charset = Some(self.name_or_text_or_binary()?);
                } else if let Some(word) = self.take_any_word(&["ASCII", "UNICODE"]) {
                    charset = Some(if word == "ASCII" { "latin1".into() } else { "ucs2".into() });
                }
                binary |= charset.as_deref() != Some("binary") && self.take_word("BINARY");
                match charset.as_deref() {
                    Some("binary") => CastType::Binary { bytes: chars },
                    _ => CastType::Char { chars, charset, binary },
                }
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
                    precision = self.length_of_type()?;
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
            name => match GeometryType::by_name(name) {
                None | Some(GeometryType::Geometry) => return Err(self.error_at(token.start as usize)),
                Some(kind) => CastType::Geometry(kind),
            },
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

    /// Within TRIM( ... ).
    fn trim(&mut self) -> Result<Expr> {
        let side = match self.take_any_word(&["BOTH", "LEADING", "TRAILING"]) {
            Some("LEADING") => Some(TrimSide::Leading),
            Some("TRAILING") => Some(TrimSide::Trailing),
            Some(_) => Some(TrimSide::Both),
            None => None,
        };
        // TRIM(BOTH FROM x): nothing before FROM means spaces.
        let first = if side.is_some() && self.is_word("FROM") { None } else { Some(self.boxed_expr()?) };
        if self.take_word("FROM") {
            let expr = self.boxed_expr()?;
            return Ok(Expr::Trim { side: side.unwrap_or(TrimSide::Both), remove: first, expr });
        }
        match (side, first) {
            (None, Some(expr)) => Ok(Expr::Trim { side: TrimSide::Both, remove: None, expr }),
            _ => Err(self.unexpected()),
        }
    }

    /// Within SUBSTRING(a, b, c) and SUBSTRING(a FROM b FOR c).
    fn substring(&mut self) -> Result<Expr> {
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
        Ok(Expr::Function { name: "substring".into(), args })
    }

    /// Within DATE_ADD(d, INTERVAL n unit), and ADDDATE(d, days).
    fn date_add(&mut self, name: &str, subtract: bool) -> Result<Expr> {
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
        Ok(Expr::DateAdd { expr, interval, unit, subtract })
    }
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
        "json_arrayagg" => AggregateFunction::JsonArrayAgg,
        "json_objectagg" => AggregateFunction::JsonObjectAgg,
        "st_collect" => AggregateFunction::Collect,
        _ => return None,
    })
}
