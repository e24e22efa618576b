//! One column: its type, its default, its attributes.

use super::Parser;
use crate::error::Result;
use crate::parser::ast::*;
use crate::parser::lexer::Kind;

impl Parser<'_> {
    pub(super) fn column_spec(&mut self) -> Result<ColumnSpec> {
        let name = self.name()?;
        let ty = self.type_spec()?;
        let mut column = ColumnSpec {
            name,
            ty,
            nullable: None,
            default: None,
            on_update_now: None,
            auto_increment: false,
            primary_key: false,
            unique: false,
            comment: None,
            invisible: false,
            checks: Vec::new(),
            references: None,
            generated: None,
            attributes: Vec::new(),
        };
        if column.ty.name == "SERIAL" {
            column.ty.name = "BIGINT".into();
            column.ty.unsigned = true;
            column.nullable = Some(false);
            column.auto_increment = true;
            column.unique = true;
        }
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    /// One attribute; false if none follows.
    fn column_attribute(&mut self, column: &mut ColumnSpec) -> Result<bool> {
        if self.take_words(&["NOT", "NULL"]) {
            column.nullable = Some(false);
        } else if self.take_word("NULL") {
            column.nullable = Some(true);
        } else if self.take_word("DEFAULT") {
            column.default = Some(self.default_value()?);
        } else if self.take_words(&["ON", "UPDATE"]) {
            column.on_update_now = Some(self.now().ok_or_else(|| self.unexpected())??);
        } else if self.take_word("AUTO_INCREMENT") {
            column.auto_increment = true;
        } else if self.take_words(&["SERIAL", "DEFAULT", "VALUE"]) {
            column.nullable = Some(false);
            column.auto_increment = true;
            column.unique = true;
        } else if self.take_word("PRIMARY") {
            self.expect_word("KEY")?;
            column.primary_key = true;
        } else if self.take_word("UNIQUE") {
            self.take_word("KEY");
            column.unique = true;
        } else if self.take_word("KEY") {
            column.primary_key = true;
        } else if self.take_word("SRID") {
            column.ty.srid = Some(self.srid()?);
        } else if self.take_word("REF_SYSTEM_ID") {
            // MariaDB's, which restricts nothing.
            self.expect_symbol("=")?;
            column.attributes.push(("REF_SYSTEM_ID".into(), self.srid()?.to_string()));
        } else if self.take_word("COMMENT") {
            self.take_symbol("=");
            column.comment = Some(self.text()?);
        } else if self.take_word("COLLATE") {
            column.ty.collation = Some(self.name_or_text_or_binary()?);
        } else if self.take_word("INVISIBLE") {
            column.invisible = true;
        } else if self.take_word("VISIBLE") {
            column.invisible = false;
        } else if self.is_any_word(&["COLUMN_FORMAT", "STORAGE"]) {
            let name = self.upper_word()?;
            let value = self.upper_word()?;
            column.attributes.push((name, value));
        } else if self.is_any_word(&["ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"]) {
            let name = self.upper_word()?;
            self.take_symbol("=");
            let value = self.text()?;
            column.attributes.push((name, value));
        } else if self.take_word("COMPRESSED") {
            // MariaDB's column compression: COMPRESSED[=zlib]
            let value = if self.take_symbol("=") { self.any_name()? } else { String::new() };
            column.attributes.push(("COMPRESSED".into(), value));
        } else if self.is_word("CONSTRAINT") || self.is_word("CHECK") {
            let is_named = self.take_word("CONSTRAINT") && !self.is_word("CHECK");
            let name = if is_named { Some(self.name()?) } else { None };
            self.expect_word("CHECK")?;
            let check = self.check(name)?;
            column.checks.push(CheckSpec { column: Some(column.name.clone()), ..check });
        } else if self.is_word("REFERENCES") {
            let mut key = ForeignKeySpec {
                behind: 0,
                name: None,
                columns: vec![column.name.clone()],
                table: TableName::new(""),
                references: Vec::new(),
                on_delete: None,
                on_update: None,
            };
            self.references(&mut key)?;
            column.references = Some(Box::new(key));
        } else if self.is_word("GENERATED") || (self.is_word("AS") && self.is_symbol_at(1, "(")) {
            if self.take_word("GENERATED") {
                self.expect_word("ALWAYS")?;
            }
            self.expect_word("AS")?;
            self.expect_symbol("(")?;
            let expr = self.expr()?;
            self.expect_symbol(")")?;
            let word = self.take_any_word(&["VIRTUAL", "STORED", "PERSISTENT"]);
            column.generated = Some(GeneratedSpec { expr, stored: matches!(word, Some("STORED" | "PERSISTENT")) });
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn srid(&mut self) -> Result<u32> {
        let start = self.at;
        match u32::try_from(self.integer()?) {
            Ok(srid) => Ok(srid),
            Err(_) => {
                self.at = start;
                Err(self.unexpected())
            }
        }
    }

    pub(super) fn default_value(&mut self) -> Result<DefaultSpec> {
        if let Some(fsp) = self.now() {
            return Ok(DefaultSpec::Now { fsp: fsp? });
        }
        if self.take_symbol("(") {
            let expr = self.expr()?;
            self.expect_symbol(")")?;
            return Ok(DefaultSpec::Expr(expr));
        }
        if self.is_any_word(&["NEXT", "PREVIOUS"]) {
            return Ok(DefaultSpec::Expr(self.expr()?));
        }
        // MariaDB's dumps write functions without parentheses around them.
        if self.peek().kind == Kind::Word && self.is_symbol_at(1, "(") {
            return Ok(DefaultSpec::Expr(self.expr()?));
        }
        let is_literal = match self.peek().kind {
            Kind::Symbol => self.is_symbol("-") || self.is_symbol("+"),
            Kind::Word => {
                self.is_any_word(&["NULL", "TRUE", "FALSE", "DATE", "TIME", "TIMESTAMP"])
                    || self.bytes(self.peek())[0] == b'_'
            }
            Kind::QuotedName | Kind::Parameter | Kind::UserVariable | Kind::AtAt => false,
            _ => true,
        };
        if !is_literal {
            return Err(self.unexpected());
        }
        let sign = self.take_symbol("-");
        if !sign {
            self.take_symbol("+");
        }
        let start = self.at;
        let expr = self.default_literal()?;
        let expr = match (sign, expr) {
            (false, literal @ Expr::Literal(_)) => literal,
            (true, literal @ Expr::Literal(Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_))) => {
                Expr::Unary { op: UnaryOp::Minus, expr: Box::new(literal) }
            }
            _ => {
                self.at = start;
                return Err(self.unexpected());
            }
        };
        Ok(DefaultSpec::Literal(expr))
    }

    /// A literal alone: what follows (COLLATE, COMMENT) belongs to the column.
    fn default_literal(&mut self) -> Result<Expr> {
        if self.take_word("TRUE") {
            return Ok(Expr::Literal(Literal::Bool(true)));
        }
        if self.take_word("FALSE") {
            return Ok(Expr::Literal(Literal::Bool(false)));
        }
        self.literal_alone()
    }

    /// CURRENT_TIMESTAMP and its synonyms, with their fsp.
    fn now(&mut self) -> Option<Result<u8>> {
        if self.take_any_word(&["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"]).is_some() {
            return Some(self.optional_fsp("now"));
        }
        if self.is_word("NOW") && self.is_symbol_at(1, "(") {
            self.advance();
            return Some(self.optional_fsp("now"));
        }
        None
    }

    pub(in crate::parser) fn type_spec(&mut self) -> Result<TypeSpec> {
        let token = self.peek();
        let word = self.upper_word()?;
        let mut ty = TypeSpec {
            name: String::new(),
            length: None,
            decimals: None,
            unsigned: false,
            zerofill: false,
            charset: None,
            collation: None,
            national: false,
            made: false,
            binary: false,
            members: Vec::new(),
            srid: None,
        };
        let name = match word.as_str() {
            "TINYINT" | "INT1" => "TINYINT",
            "SMALLINT" | "INT2" => "SMALLINT",
            "MEDIUMINT" | "INT3" | "MIDDLEINT" => "MEDIUMINT",
            "INT" | "INTEGER" | "INT4" => "INT",
            "BIGINT" | "INT8" => "BIGINT",
            "DECIMAL" | "DEC" | "NUMERIC" | "FIXED" => "DECIMAL",
            "FLOAT" | "FLOAT4" => "FLOAT",
            "DOUBLE" => {
                self.take_word("PRECISION");
                "DOUBLE"
            }
            "FLOAT8" => "DOUBLE",
            "REAL" if self.mode.has(crate::types::SqlMode::REAL_AS_FLOAT) => "FLOAT",
            "REAL" => "DOUBLE",
            "BOOL" | "BOOLEAN" => {
                ty.length = Some(1);
                "TINYINT"
            }
            "CHAR" | "CHARACTER" if self.take_word("VARYING") => "VARCHAR",
            "CHAR" | "CHARACTER" => "CHAR",
            "VARCHAR" | "VARCHARACTER" => "VARCHAR",
            "NVARCHAR" => {
                (ty.charset, ty.national) = (Some("utf8mb3".into()), true);
                "VARCHAR"
            }
            "NATIONAL" | "NCHAR" => {
                (ty.charset, ty.national) = (Some("utf8mb3".into()), true);
                if word == "NATIONAL" && self.take_any_word(&["VARCHAR", "VARCHARACTER"]).is_some() {
                    "VARCHAR"
                } else {
                    if word == "NATIONAL" && self.take_any_word(&["CHAR", "CHARACTER"]).is_none() {
                        return Err(self.unexpected());
                    }
                    if self.take_word("VARYING") || self.take_word("VARCHAR") { "VARCHAR" } else { "CHAR" }
                }
            }
            "LONG" => match self.take_any_word(&["VARBINARY", "VARCHAR"]) {
                Some("VARBINARY") => "MEDIUMBLOB",
                _ => "MEDIUMTEXT",
            },
            "BIT" => "BIT",
            "YEAR" => "YEAR",
            "DATE" => "DATE",
            "TIME" => "TIME",
            "DATETIME" => "DATETIME",
            "TIMESTAMP" => "TIMESTAMP",
            "BINARY" => "BINARY",
            "VARBINARY" => "VARBINARY",
            "TINYTEXT" => "TINYTEXT",
            "TEXT" => "TEXT",
            "MEDIUMTEXT" => "MEDIUMTEXT",
            "LONGTEXT" => "LONGTEXT",
            "TINYBLOB" => "TINYBLOB",
            "BLOB" => "BLOB",
            "MEDIUMBLOB" => "MEDIUMBLOB",
            "LONGBLOB" => "LONGBLOB",
            "JSON" => "JSON",
            "ENUM" => "ENUM",
            "SET" => "SET",
            "SERIAL" => "SERIAL",
            "GEOMETRY" | "POINT" | "LINESTRING" | "POLYGON" | "MULTIPOINT" | "MULTILINESTRING" | "MULTIPOLYGON"
            | "GEOMETRYCOLLECTION" | "GEOMCOLLECTION" | "UUID" | "INET6" | "INET4" | "VECTOR" => &word,
            _ => return Err(self.error_at(token.start as usize)),
        };
        ty.name = name.to_string();
        if matches!(name, "ENUM" | "SET") {
            ty.members = self.parenthesized_list(|parser| {
                let as_bits = parser.peek().kind != Kind::Text;
                Ok((parser.text_or_bits()?, as_bits))
            })?;
        } else if ty.length.is_none() && self.take_symbol("(") {
            ty.length = Some(self.length_of_type()?);
            if self.take_symbol(",") {
                ty.decimals = Some(u8::try_from(self.integer()?).unwrap_or(u8::MAX));
            }
            self.expect_symbol(")")?;
        }
        if name == "VARCHAR" && ty.length.is_none() || name == "VARBINARY" && ty.length.is_none() {
            return Err(self.unexpected());
        }
        self.type_attributes(&mut ty)?;
        Ok(ty)
    }

    /// A length that is written as a decimal, and alone, means what stands before the point.
    pub(in crate::parser) fn length_of_type(&mut self) -> Result<u64> {
        let token = self.peek();
        if token.kind != Kind::Decimal || !self.is_symbol_at(1, ")") {
            return self.integer();
        }
        let whole = self.bytes(token).split(|byte| *byte == b'.').next().unwrap_or_default();
        let whole = if whole.is_empty() { b"0" } else { whole };
        let length = std::str::from_utf8(whole).ok().and_then(|digits| digits.parse().ok());
        let length = length.ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(length)
    }

    fn type_attributes(&mut self, ty: &mut TypeSpec) -> Result<()> {
        loop {
            if self.take_word("UNSIGNED") {
                ty.unsigned = true;
            } else if self.take_word("SIGNED") {
                ty.unsigned = false;
            } else if self.take_word("ZEROFILL") {
                ty.zerofill = true;
                ty.unsigned = true;
            } else if self.is_word("BINARY") {
                self.advance();
                ty.binary = true;
            } else if self.take_charset_words() {
                ty.charset = Some(self.name_or_text_or_binary()?);
            } else if self.take_word("ASCII") {
                ty.charset = Some("latin1".into());
            } else if self.take_word("UNICODE") {
                ty.charset = Some("ucs2".into());
            } else if self.take_word("BYTE") {
                ty.charset = Some("binary".into());
            } else if self.take_word("COLLATE") {
                ty.collation = Some(self.name_or_text_or_binary()?);
            } else {
                return Ok(());
            }
        }
    }
}
