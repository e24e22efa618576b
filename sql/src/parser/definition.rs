//! CREATE, ALTER, DROP, RENAME, TRUNCATE: tables, indexes, databases, users.
//!
//! Options are kept as name and value: what they mean is the executor's
//! business. Names are canonical ([`TableOption`]), so that `DEFAULT CHARACTER SET =
//! x`, `CHARSET x` and `CHARACTER SET x` are one option.

use super::Parser;
use super::ast::*;
use super::lexer::Kind;
use crate::error::{Error, Result};

impl Parser<'_> {
    // ------------------------------------------------------------ CREATE

    pub(super) fn create(&mut self) -> Result<Statement> {
        self.advance();
        let or_replace = self.take_words(&["OR", "REPLACE"]);
        if self.take_word("TEMPORARY") {
            self.expect_word("TABLE")?;
            return self.create_table(true, or_replace);
        }
        if self.take_word("TABLE") {
            return self.create_table(false, or_replace);
        }
        if self.take_word("DATABASE") || self.take_word("SCHEMA") {
            let if_not_exists = self.if_not_exists()?;
            let name = self.name()?;
            return Ok(Statement::CreateDatabase { name, if_not_exists, options: self.database_options()? });
        }
        if self.take_word("USER") {
            let if_not_exists = self.if_not_exists()?;
            return Ok(Statement::CreateUser { if_not_exists, users: self.user_specs()? });
        }
        let kind = match self.take_any_word(&["UNIQUE", "FULLTEXT", "SPATIAL"]) {
            Some("UNIQUE") => IndexKind::Unique,
            Some("FULLTEXT") => IndexKind::FullText,
            Some(_) => IndexKind::Spatial,
            None => IndexKind::Plain,
        };
        if self.take_word("INDEX") {
            let if_not_exists = self.if_not_exists()?;
            let mut index = IndexSpec {
                name: Some(self.any_name()?),
                kind,
                parts: Vec::new(),
                comment: None,
                invisible: false,
                algorithm: self.index_algorithm()?,
                if_not_exists,
                key_block_size: None,
            };
            self.expect_word("ON")?;
            let table = self.table_name()?;
            index.parts = self.parenthesized_list(Self::index_part)?;
            self.index_options(&mut index)?;
            // ALGORITHM and LOCK.
            while self.is_any_word(&["ALGORITHM", "LOCK"]) {
                self.advance();
                self.take_symbol("=");
                self.upper_word()?;
            }
            return Ok(Statement::CreateIndex { table, index });
        }
        if self.peek().kind != Kind::Word || kind != IndexKind::Plain {
            return Err(self.unexpected());
        }
        // VIEW with its options, FUNCTION, PROCEDURE, TRIGGER, EVENT, ROLE, SERVER ...
        let known = [
            "VIEW",
            "ALGORITHM",
            "DEFINER",
            "SQL",
            "FUNCTION",
            "PROCEDURE",
            "TRIGGER",
            "EVENT",
            "ROLE",
            "SERVER",
            "AGGREGATE",
            "TABLESPACE",
            "UNDO",
            "LOGFILE",
            "RESOURCE",
            "SEQUENCE",
            "PACKAGE",
        ];
        let Some(word) = self.take_any_word(&known) else { return Err(self.unexpected()) };
        let what = ["VIEW", "TRIGGER", "FUNCTION", "PROCEDURE", "EVENT"]
            .iter()
            .find(|what| self.tokens[self.at..].iter().any(|t| self.bytes(*t).eq_ignore_ascii_case(what.as_bytes())))
            .copied()
            .unwrap_or(word);
        let what = if ["ALGORITHM", "DEFINER", "SQL"].contains(&word) { what } else { word };
        self.skip_rest()?;
        Ok(Statement::Unsupported(format!("CREATE {what}")))
    }

    fn if_not_exists(&mut self) -> Result<bool> {
        if !self.is_word("IF") {
            return Ok(false);
        }
        if self.take_words(&["IF", "NOT", "EXISTS"]) { Ok(true) } else { Err(self.unexpected()) }
    }

    pub(super) fn if_exists(&mut self) -> Result<bool> {
        if !self.is_word("IF") {
            return Ok(false);
        }
        if self.take_words(&["IF", "EXISTS"]) { Ok(true) } else { Err(self.unexpected()) }
    }

    fn database_options(&mut self) -> Result<DatabaseOptions> {
        let mut options = DatabaseOptions::default();
        loop {
            let start = self.at;
            self.take_word("DEFAULT");
            if self.take_charset_words() {
                self.take_symbol("=");
                options.charset = Some(self.name_or_text_or_binary()?);
            } else if self.take_word("COLLATE") {
                self.take_symbol("=");
                options.collation = Some(self.name_or_text_or_binary()?);
            } else if self.take_word("ENCRYPTION") {
                self.take_symbol("=");
                options.encryption = Some(self.text()?);
            } else if self.take_word("COMMENT") {
                self.take_symbol("=");
                options.comment = Some(self.text()?);
            } else if self.take_words(&["READ", "ONLY"]) {
                self.take_symbol("=");
                options.read_only = if self.take_word("DEFAULT") { Some(false) } else { Some(self.integer()? != 0) };
            } else {
                self.at = start;
                return Ok(options);
            }
        }
    }

    /// CHARACTER SET, CHARSET, CHAR SET
    fn take_charset_words(&mut self) -> bool {
        self.take_words(&["CHARACTER", "SET"]) || self.take_word("CHARSET") || self.take_words(&["CHAR", "SET"])
    }

    fn create_table(&mut self, temporary: bool, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let mut create = CreateTable {
            temporary,
            if_not_exists,
            or_replace,
            table: self.table_name()?,
            like: None,
            columns: Vec::new(),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            options: Vec::new(),
            partition_by: None,
            query: None,
        };
        if self.take_word("LIKE") {
            create.like = Some(self.table_name()?);
            return Ok(Statement::CreateTable(Box::new(create)));
        }
        if self.is_symbol("(") && self.is_word_at(1, "LIKE") {
            self.at += 2;
            create.like = Some(self.table_name()?);
            self.expect_symbol(")")?;
            return Ok(Statement::CreateTable(Box::new(create)));
        }
        if self.is_symbol("(") && !self.is_query_at(1) {
            self.advance();
            self.list(|parser| parser.table_element(&mut create))?;
            self.expect_symbol(")")?;
        }
        create.options = self.table_options()?;
        if self.is_word("PARTITION") {
            let start = self.peek().start;
            while !self.is_at_end() && !self.is_any_word(&["SELECT", "AS"]) {
                if self.at == self.tokens.len() - 1 {
                    return Err(self.unexpected());
                }
                self.advance();
            }
            create.partition_by = Some(self.text_since(start));
        }
        let _ = self.take_word("IGNORE") || self.take_word("REPLACE");
        if self.take_word("AS") || self.is_query_at(0) {
            create.query = Some(Box::new(self.query()?));
        }
        if create.columns.is_empty() && create.query.is_none() {
            // `CREATE TABLE t` or `CREATE TABLE t (KEY (a))`.
            return Err(if self.is_at_end() { Error::no_columns() } else { self.unexpected() });
        }
        Ok(Statement::CreateTable(Box::new(create)))
    }

    /// A column, an index or a constraint.
    fn table_element(&mut self, create: &mut CreateTable) -> Result<()> {
        if let Some(element) = self.constraint()? {
            match element {
                Constraint::Index(index) => create.indexes.push(index),
                Constraint::ForeignKey(key) => create.foreign_keys.push(key),
                Constraint::Check(name, text) => create.checks.push((name, text)),
            }
            return Ok(());
        }
        let column = self.column_spec()?;
        create.columns.push(column);
        Ok(())
    }

    /// An index or constraint, if that is what follows.
    fn constraint(&mut self) -> Result<Option<Constraint>> {
        let mut name = None;
        let is_named = self.take_word("CONSTRAINT");
        if is_named && !self.is_any_word(&["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"]) {
            name = Some(self.name()?);
        }
        let kind = if self.take_word("PRIMARY") {
            self.expect_word("KEY")?;
            IndexKind::Primary
        } else if self.take_word("UNIQUE") {
            let _ = self.take_word("INDEX") || self.take_word("KEY");
            IndexKind::Unique
        } else if self.is_any_word(&["FULLTEXT", "SPATIAL"]) {
            let kind = if self.is_word("FULLTEXT") { IndexKind::FullText } else { IndexKind::Spatial };
            self.advance();
            let _ = self.take_word("INDEX") || self.take_word("KEY");
            kind
        } else if self.take_word("FOREIGN") {
            self.expect_word("KEY")?;
            self.if_not_exists()?;
            if self.is_name() {
                name = name.or(Some(self.name()?));
            }
            return Ok(Some(Constraint::ForeignKey(self.foreign_key(name)?)));
        } else if self.take_word("CHECK") {
            let text = self.parenthesized_text()?;
            if self.is_word("NOT") && self.is_word_at(1, "ENFORCED") {
                self.advance();
            }
            self.take_word("ENFORCED");
            return Ok(Some(Constraint::Check(name, text)));
        } else if is_named {
            return Err(self.unexpected());
        } else if self.take_word("INDEX") || self.take_word("KEY") {
            IndexKind::Plain
        } else {
            return Ok(None);
        };
        let if_not_exists = self.if_not_exists()?;
        if self.is_name() && !self.is_word("USING") && !self.is_word("TYPE") {
            name = Some(self.name()?);
        }
        let mut index = IndexSpec {
            name: if kind == IndexKind::Primary { None } else { name },
            kind,
            parts: Vec::new(),
            comment: None,
            invisible: false,
            algorithm: self.index_algorithm()?,
            if_not_exists,
            key_block_size: None,
        };
        index.parts = self.parenthesized_list(Self::index_part)?;
        self.index_options(&mut index)?;
        Ok(Some(Constraint::Index(index)))
    }

    /// USING BTREE
    fn index_algorithm(&mut self) -> Result<Option<String>> {
        if self.take_word("USING") || self.take_word("TYPE") { Ok(Some(self.upper_word()?)) } else { Ok(None) }
    }

    fn index_part(&mut self) -> Result<IndexPartSpec> {
        let mut part = IndexPartSpec { column: String::new(), prefix: None, descending: false, expression: None };
        if self.is_symbol("(") {
            part.expression = Some(self.parenthesized_text()?);
        } else {
            part.column = self.name()?;
            if self.take_symbol("(") {
                part.prefix = Some(u32::try_from(self.integer()?).unwrap_or(u32::MAX));
                self.expect_symbol(")")?;
            }
        }
        part.descending = self.take_word("DESC");
        if !part.descending {
            self.take_word("ASC");
        }
        Ok(part)
    }

    fn index_options(&mut self, index: &mut IndexSpec) -> Result<()> {
        loop {
            if self.take_word("COMMENT") {
                self.take_symbol("=");
                index.comment = Some(self.text()?);
            } else if self.take_word("KEY_BLOCK_SIZE") {
                self.take_symbol("=");
                index.key_block_size = Some(self.integer()?);
            } else if self.is_word("USING") || self.is_word("TYPE") {
                index.algorithm = self.index_algorithm()?;
            } else if self.take_word("VISIBLE") {
                index.invisible = false;
            } else if self.take_word("INVISIBLE") || self.take_word("IGNORED") {
                index.invisible = true;
            } else if self.take_words(&["NOT", "IGNORED"]) {
                index.invisible = false;
            } else if self.take_words(&["WITH", "PARSER"]) {
                self.name()?;
            } else if self.take_word("ENGINE_ATTRIBUTE") || self.take_word("SECONDARY_ENGINE_ATTRIBUTE") {
                self.take_symbol("=");
                self.text()?;
            } else {
                return Ok(());
            }
        }
    }

    fn foreign_key(&mut self, name: Option<String>) -> Result<ForeignKeySpec> {
        let columns = self.parenthesized_list(Self::name)?;
        let mut key = ForeignKeySpec {
            name,
            columns,
            table: TableName::new(""),
            references: Vec::new(),
            on_delete: None,
            on_update: None,
        };
        self.references(&mut key)?;
        Ok(key)
    }

    /// REFERENCES t (a, b) [MATCH ..] [ON DELETE ..] [ON UPDATE ..]
    fn references(&mut self, key: &mut ForeignKeySpec) -> Result<()> {
        self.expect_word("REFERENCES")?;
        key.table = self.table_name()?;
        if self.is_symbol("(") {
            key.references = self.parenthesized_list(Self::name)?;
        }
        if self.take_word("MATCH") {
            self.upper_word()?;
        }
        while self.is_word("ON") && (self.is_word_at(1, "DELETE") || self.is_word_at(1, "UPDATE")) {
            let is_delete = self.is_word_at(1, "DELETE");
            self.at += 2;
            let first = self.upper_word()?;
            let action = match first.as_str() {
                "SET" | "NO" => format!("{first} {}", self.upper_word()?),
                _ => first,
            };
            if is_delete {
                key.on_delete = Some(action);
            } else {
                key.on_update = Some(action);
            }
        }
        Ok(())
    }

    /// `( anything )`: the text inside, checked to be an expression.
    fn parenthesized_text(&mut self) -> Result<String> {
        self.expect_symbol("(")?;
        let start = self.peek().start;
        self.expr()?;
        let text = self.text_since(start);
        self.expect_symbol(")")?;
        Ok(text)
    }

    // ------------------------------------------------------------ columns

    fn column_spec(&mut self) -> Result<ColumnSpec> {
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
            references: false,
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
            if self.take_word("CONSTRAINT") && !self.is_word("CHECK") {
                self.name()?;
            }
            self.expect_word("CHECK")?;
            let text = self.parenthesized_text()?;
            column.checks.push(text);
            if self.is_word("NOT") && self.is_word_at(1, "ENFORCED") {
                self.advance();
            }
            self.take_word("ENFORCED");
        } else if self.is_word("REFERENCES") {
            let mut ignored = ForeignKeySpec {
                name: None,
                columns: Vec::new(),
                table: TableName::new(""),
                references: Vec::new(),
                on_delete: None,
                on_update: None,
            };
            self.references(&mut ignored)?;
            column.references = true;
        } else if self.is_word("GENERATED") || (self.is_word("AS") && self.is_symbol_at(1, "(")) {
            if self.take_word("GENERATED") {
                self.expect_word("ALWAYS")?;
            }
            self.expect_word("AS")?;
            let text = self.parenthesized_text()?;
            column.generated = Some(text);
            self.take_any_word(&["VIRTUAL", "STORED", "PERSISTENT"]);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn default_value(&mut self) -> Result<DefaultSpec> {
        if let Some(fsp) = self.now() {
            return Ok(DefaultSpec::Now { fsp: fsp? });
        }
        if self.take_symbol("(") {
            let start = self.peek().start;
            let expr = self.expr()?;
            let text = self.text_since(start);
            self.expect_symbol(")")?;
            return Ok(DefaultSpec::Expr { expr, text });
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

    fn type_spec(&mut self) -> Result<TypeSpec> {
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
            binary: false,
            members: Vec::new(),
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
                ty.charset = Some("utf8mb3".into());
                "VARCHAR"
            }
            "NATIONAL" | "NCHAR" => {
                ty.charset = Some("utf8mb3".into());
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
                if matches!(parser.peek().kind, Kind::Hex | Kind::Bit) {
                    match parser.literal_alone()? {
                        Expr::Literal(Literal::Hex { bytes, .. } | Literal::Bit { bytes, .. }) => return Ok(bytes),
                        _ => return Err(parser.unexpected()),
                    }
                }
                parser.text_bytes()
            })?;
        } else if ty.length.is_none() && self.take_symbol("(") {
            ty.length = Some(self.integer()?);
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

    // ------------------------------------------------------ table options

    /// Options parted by spaces or commas, as many as follow.
    fn table_options(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        loop {
            let start = self.at;
            if !options.is_empty() {
                self.take_symbol(",");
            }
            match self.table_option()? {
                Some(option) => options.push(option),
                None => {
                    self.at = start;
                    return Ok(options);
                }
            }
        }
    }

    /// An option of a table by its canonical name, if one follows.
    fn table_option(&mut self) -> Result<Option<TableOption>> {
        let start = self.at;
        self.take_word("DEFAULT");
        let name = if self.take_charset_words() {
            "CHARSET".to_string()
        } else if self.take_words(&["DATA", "DIRECTORY"]) {
            "DATA DIRECTORY".to_string()
        } else if self.take_words(&["INDEX", "DIRECTORY"]) {
            "INDEX DIRECTORY".to_string()
        } else if self.is_any_word(&TABLE_OPTIONS) {
            match self.upper_word()?.as_str() {
                "TYPE" => "ENGINE".to_string(),
                "TRANSACTIONAL" => "TRANSACTIONAL".to_string(),
                other => other.to_string(),
            }
        } else if self.peek().kind == Kind::QuotedName && self.is_symbol_at(1, "=") {
            // MariaDB's engine-defined attributes may be quoted: `PAGE_COMPRESSED`=1.
            self.any_name()?.to_ascii_uppercase()
        } else if self.peek().kind == Kind::Word
            && self.is_symbol_at(1, "=")
            && !self.is_any_word(&["ALGORITHM", "LOCK"])
        {
            // Or one that no engine knows, of which the engine has to say so.
            self.any_name()?.to_ascii_uppercase()
        } else {
            self.at = start;
            return Ok(None);
        };
        self.take_symbol("=");
        let token = self.peek();
        let value = match token.kind {
            Kind::Text => OptionValue::Text(self.text()?),
            Kind::Integer => OptionValue::Number(self.integer()?),
            Kind::QuotedName => OptionValue::Word(self.any_name()?),
            Kind::Word if self.is_word("DEFAULT") => {
                self.advance();
                OptionValue::Default
            }
            Kind::Word => OptionValue::Word(self.any_name()?),
            Kind::Symbol if self.is_symbol("(") && name == "UNION" => {
                self.advance();
                self.skip_parenthesized()?;
                OptionValue::Default
            }
            Kind::Hex | Kind::Decimal | Kind::Float => {
                self.advance();
                OptionValue::Word(String::from_utf8_lossy(self.bytes(token)).into_owned())
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Some(TableOption { name, value }))
    }

    // -------------------------------------------------------------- ALTER

    pub(super) fn alter(&mut self) -> Result<Statement> {
        self.advance();
        if self.take_word("DATABASE") || self.take_word("SCHEMA") {
            let is_option = self.is_any_word(&["DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ENCRYPTION", "READ"]);
            let name = if is_option { None } else { Some(self.name()?) };
            return Ok(Statement::AlterDatabase { name, options: self.database_options()? });
        }
        if self.take_word("USER") {
            let if_exists = self.if_exists()?;
            return Ok(Statement::AlterUser { if_exists, users: self.user_specs()? });
        }
        if self.take_words(&["INSTANCE", "ROTATE", "INNODB", "MASTER", "KEY"]) {
            return Ok(Statement::RotateMasterKey);
        }
        let _ = self.take_word("ONLINE") || self.take_word("OFFLINE");
        let _ = self.take_word("IGNORE");
        if self.take_word("TABLE") {
            return self.alter_table();
        }
        let known = [
            "VIEW",
            "ALGORITHM",
            "DEFINER",
            "SQL",
            "FUNCTION",
            "PROCEDURE",
            "EVENT",
            "SERVER",
            "INSTANCE",
            "TABLESPACE",
            "UNDO",
        ];
        let Some(word) = self.take_any_word(&known) else { return Err(self.unexpected()) };
        self.skip_rest()?;
        Ok(Statement::Unsupported(format!("ALTER {word}")))
    }

    fn alter_table(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let table = self.table_name()?;
        let mut alter = AlterTable { table, if_exists, actions: Vec::new(), algorithm: None, lock: None };
        while !self.is_at_end() {
            self.alter_action(&mut alter)?;
            // Options follow each other without commas.
            if !self.take_symbol(",") && !self.is_at_end() && !self.is_word("PARTITION") {
                return Err(self.unexpected());
            }
        }
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    fn alter_action(&mut self, alter: &mut AlterTable) -> Result<()> {
        let actions = &mut alter.actions;
        if self.take_word("ADD") {
            return self.alter_add(actions);
        }
        if self.take_word("DROP") {
            actions.push(self.alter_drop()?);
        } else if self.is_any_word(&["MODIFY", "CHANGE"]) {
            let is_change = self.is_word("CHANGE");
            self.advance();
            self.take_word("COLUMN");
            let if_exists = self.if_exists()?;
            let old = if is_change { Some(self.name()?) } else { None };
            let column = self.column_spec()?;
            let position = self.column_position()?;
            let old = old.unwrap_or_else(|| column.name.clone());
            actions.push(AlterAction::ChangeColumn { old, column, position, if_exists });
        } else if self.take_word("ALTER") {
            actions.push(self.alter_alter()?);
        } else if self.take_word("RENAME") {
            actions.push(self.alter_rename()?);
        } else if self.take_words(&["CONVERT", "TO"]) {
            if !self.take_charset_words() {
                return Err(self.unexpected());
            }
            let charset = if self.take_word("DEFAULT") { None } else { Some(self.name_or_text_or_binary()?) };
            let collation = if self.take_word("COLLATE") { Some(self.name_or_text_or_binary()?) } else { None };
            actions.push(AlterAction::ConvertCharset { charset, collation });
        } else if self.take_word("ALGORITHM") {
            self.take_symbol("=");
            alter.algorithm = Some(self.upper_word()?);
        } else if self.take_word("LOCK") {
            self.take_symbol("=");
            alter.lock = Some(self.upper_word()?);
        } else if self.take_word("FORCE") {
            actions.push(AlterAction::Force);
        } else if self.is_word("ORDER") {
            actions.push(AlterAction::OrderBy(self.order_by()?));
        } else if self.take_words(&["DISABLE", "KEYS"]) {
            actions.push(AlterAction::DisableKeys);
        } else if self.take_words(&["ENABLE", "KEYS"]) {
            actions.push(AlterAction::EnableKeys);
        } else if self.take_words(&["DISCARD", "TABLESPACE"]) {
            actions.push(AlterAction::DiscardTablespace);
        } else if self.take_words(&["IMPORT", "TABLESPACE"]) {
            actions.push(AlterAction::ImportTablespace);
        } else if self.take_words(&["WITH", "VALIDATION"]) || self.take_words(&["WITHOUT", "VALIDATION"]) {
            // Nothing to validate.
        } else {
            let partitioning = [
                "PARTITION",
                "REMOVE",
                "COALESCE",
                "REORGANIZE",
                "EXCHANGE",
                "TRUNCATE",
                "ANALYZE",
                "CHECK",
                "OPTIMIZE",
                "REBUILD",
                "REPAIR",
            ];
            if self.is_any_word(&partitioning) {
                self.skip_rest()?;
                actions.push(AlterAction::Unsupported("partitioning".into()));
                return Ok(());
            }
            let options = self.table_options()?;
            if options.is_empty() {
                return Err(self.unexpected());
            }
            actions.push(AlterAction::Options(options));
        }
        Ok(())
    }

    fn alter_add(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        if self.is_word("PARTITION") {
            self.skip_rest()?;
            actions.push(AlterAction::Unsupported("partitioning".into()));
            return Ok(());
        }
        if let Some(constraint) = self.constraint()? {
            actions.push(match constraint {
                Constraint::Index(index) => AlterAction::AddIndex(index),
                Constraint::ForeignKey(key) => AlterAction::AddForeignKey(key),
                Constraint::Check(name, text) => AlterAction::AddCheck { name, text },
            });
            return Ok(());
        }
        self.take_word("COLUMN");
        let if_not_exists = self.if_not_exists()?;
        if self.take_symbol("(") {
            // ADD (a INT, b INT, KEY (a))
            self.list(|parser| {
                let action = match parser.constraint()? {
                    Some(Constraint::Index(index)) => AlterAction::AddIndex(index),
                    Some(Constraint::ForeignKey(key)) => AlterAction::AddForeignKey(key),
                    Some(Constraint::Check(name, text)) => AlterAction::AddCheck { name, text },
                    None => {
                        let column = parser.column_spec()?;
                        AlterAction::AddColumn { column, position: ColumnPosition::Last, if_not_exists }
                    }
                };
                actions.push(action);
                Ok(())
            })?;
            return self.expect_symbol(")");
        }
        let column = self.column_spec()?;
        let position = self.column_position()?;
        actions.push(AlterAction::AddColumn { column, position, if_not_exists });
        Ok(())
    }

    fn alter_drop(&mut self) -> Result<AlterAction> {
        if self.take_words(&["PRIMARY", "KEY"]) {
            return Ok(AlterAction::DropPrimaryKey);
        }
        if self.take_words(&["FOREIGN", "KEY"]) {
            self.if_exists()?;
            return Ok(AlterAction::DropForeignKey { name: self.name()? });
        }
        if self.take_word("INDEX") || self.take_word("KEY") {
            let if_exists = self.if_exists()?;
            return Ok(AlterAction::DropIndex { name: self.any_name()?, if_exists });
        }
        if self.take_word("CONSTRAINT") || self.take_word("CHECK") {
            self.if_exists()?;
            return Ok(AlterAction::DropConstraint { name: self.name()? });
        }
        if self.is_word("PARTITION") {
            self.skip_rest()?;
            return Ok(AlterAction::Unsupported("partitioning".into()));
        }
        self.take_word("COLUMN");
        let if_exists = self.if_exists()?;
        let name = self.name()?;
        let _ = self.take_word("RESTRICT") || self.take_word("CASCADE");
        Ok(AlterAction::DropColumn { name, if_exists })
    }

    fn alter_alter(&mut self) -> Result<AlterAction> {
        if self.take_word("INDEX") || self.take_word("KEY") {
            let name = self.any_name()?;
            self.take_word("NOT"); // MariaDB: [NOT] IGNORED
            let visible = match self.take_any_word(&["VISIBLE", "INVISIBLE", "IGNORED"]) {
                Some(word) => word == "VISIBLE",
                None => return Err(self.unexpected()),
            };
            return Ok(AlterAction::SetIndexVisible { name, visible });
        }
        if self.take_word("CHECK") || self.take_word("CONSTRAINT") {
            self.skip_rest()?;
            return Ok(AlterAction::Unsupported("ALTER CHECK".into()));
        }
        self.take_word("COLUMN");
        let column = self.name()?;
        if self.take_words(&["SET", "DEFAULT"]) {
            return Ok(AlterAction::SetDefault { column, default: Some(self.default_value()?) });
        }
        if self.take_words(&["DROP", "DEFAULT"]) {
            return Ok(AlterAction::SetDefault { column, default: None });
        }
        self.expect_word("SET")?;
        match self.take_any_word(&["VISIBLE", "INVISIBLE"]) {
            Some(word) => Ok(AlterAction::SetColumnVisible { column, visible: word == "VISIBLE" }),
            None => Err(self.unexpected()),
        }
    }

    fn alter_rename(&mut self) -> Result<AlterAction> {
        if self.take_word("COLUMN") {
            let old = self.name()?;
            self.expect_word("TO")?;
            return Ok(AlterAction::RenameColumn { old, new: self.name()? });
        }
        if self.take_word("INDEX") || self.take_word("KEY") {
            let old = self.any_name()?;
            self.expect_word("TO")?;
            return Ok(AlterAction::RenameIndex { old, new: self.any_name()? });
        }
        let _ = self.take_word("TO") || self.take_word("AS") || self.take_symbol("=");
        Ok(AlterAction::Rename(self.table_name()?))
    }

    fn column_position(&mut self) -> Result<ColumnPosition> {
        if self.take_word("FIRST") {
            return Ok(ColumnPosition::First);
        }
        if self.take_word("AFTER") {
            return Ok(ColumnPosition::After(self.name()?));
        }
        Ok(ColumnPosition::Last)
    }

    // ------------------------------------------------- DROP, RENAME, TRUNCATE

    pub(super) fn drop(&mut self) -> Result<Statement> {
        self.advance();
        let temporary = self.take_word("TEMPORARY");
        if self.take_word("TABLE") || self.take_word("TABLES") {
            let if_exists = self.if_exists()?;
            let tables = self.list(Self::table_name)?;
            let _ = self.take_word("RESTRICT") || self.take_word("CASCADE");
            return Ok(Statement::DropTables { tables, if_exists, temporary });
        }
        if temporary {
            return Err(self.unexpected());
        }
        if self.take_word("DATABASE") || self.take_word("SCHEMA") {
            let if_exists = self.if_exists()?;
            return Ok(Statement::DropDatabase { name: self.name()?, if_exists });
        }
        if self.take_word("INDEX") {
            self.if_exists()?;
            let name = self.any_name()?;
            self.expect_word("ON")?;
            let table = self.table_name()?;
            while self.is_any_word(&["ALGORITHM", "LOCK"]) {
                self.advance();
                self.take_symbol("=");
                self.upper_word()?;
            }
            return Ok(Statement::DropIndex { table, name });
        }
        if self.take_word("VIEW") {
            let if_exists = self.if_exists()?;
            let views = self.list(Self::table_name)?;
            let _ = self.take_word("RESTRICT") || self.take_word("CASCADE");
            return Ok(Statement::DropViews { views, if_exists });
        }
        if self.take_word("USER") {
            let if_exists = self.if_exists()?;
            return Ok(Statement::DropUser { if_exists, users: self.list(Self::user_name)? });
        }
        if self.take_word("PREPARE") {
            return Ok(Statement::Deallocate(self.name()?));
        }
        let known = [
            "FUNCTION",
            "PROCEDURE",
            "TRIGGER",
            "EVENT",
            "ROLE",
            "SERVER",
            "TABLESPACE",
            "UNDO",
            "SEQUENCE",
            "PACKAGE",
        ];
        let Some(word) = self.take_any_word(&known) else { return Err(self.unexpected()) };
        self.skip_rest()?;
        Ok(Statement::Unsupported(format!("DROP {word}")))
    }

    pub(super) fn rename(&mut self) -> Result<Statement> {
        self.advance();
        if self.take_word("USER") {
            self.skip_rest()?;
            return Ok(Statement::Unsupported("RENAME USER".into()));
        }
        if !self.take_word("TABLE") {
            self.expect_word("TABLES")?;
        }
        let pairs = self.list(|parser| {
            let from = parser.table_name()?;
            parser.expect_word("TO")?;
            Ok((from, parser.table_name()?))
        })?;
        Ok(Statement::RenameTables(pairs))
    }

    pub(super) fn truncate(&mut self) -> Result<Statement> {
        self.advance();
        self.take_word("TABLE");
        Ok(Statement::TruncateTable(self.table_name()?))
    }
}

enum Constraint {
    Index(IndexSpec),
    ForeignKey(ForeignKeySpec),
    Check(Option<String>, String),
}

/// Options of one word; both MySQL's and MariaDB's.
const TABLE_OPTIONS: [&str; 42] = [
    "ENGINE",
    "TYPE",
    "AUTO_INCREMENT",
    "AVG_ROW_LENGTH",
    "COLLATE",
    "COMMENT",
    "CHECKSUM",
    "TABLE_CHECKSUM",
    "PAGE_CHECKSUM",
    "COMPRESSION",
    "CONNECTION",
    "DELAY_KEY_WRITE",
    "ENCRYPTION",
    "ENCRYPTED",
    "ENCRYPTION_KEY_ID",
    "ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "SECONDARY_ENGINE",
    "IETF_QUOTES",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "PACK_KEYS",
    "PASSWORD",
    "PAGE_COMPRESSED",
    "PAGE_COMPRESSION_LEVEL",
    "ATOMIC_WRITES",
    "ROW_FORMAT",
    "START",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "STORAGE",
    "TABLESPACE",
    "TRANSACTIONAL",
    "UNION",
    "AUTOEXTEND_SIZE",
    "SEQUENCE",
    "WITH_SYSTEM_VERSIONING",
    "INDEX_DIRECTORY",
    "DATA_DIRECTORY",
];
