//! CREATE, ALTER, DROP, RENAME, TRUNCATE: tables, indexes, databases, users.
//!
//! Options are kept as name and value: what they mean is the executor's
//! business. Names are canonical ([`TableOption`]), so that `DEFAULT CHARACTER SET =
//! x`, `CHARSET x` and `CHARACTER SET x` are one option.

mod alter;
mod column;
mod options;
mod partition;
mod sequence;
mod table;
mod view;

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
            if self.take_word("SEQUENCE") {
                return self.create_sequence(true, or_replace);
            }
            self.expect_word("TABLE")?;
            return self.create_table(true, or_replace);
        }
        if self.take_word("TABLE") {
            return self.create_table(false, or_replace);
        }
        if self.take_word("SEQUENCE") {
            return self.create_sequence(false, or_replace);
        }
        if self.take_word("DATABASE") || self.take_word("SCHEMA") {
            let if_not_exists = self.new_only(or_replace)?;
            let name = self.name()?;
            let options = self.database_options(false)?;
            return Ok(Statement::CreateDatabase { name, or_replace, if_not_exists, options });
        }
        if self.take_word("USER") {
            return self.create_user();
        }
        if self.take_word("ROLE") {
            return self.create_role();
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
                algorithm: self.index_algorithm()?,
                if_not_exists,
                ..IndexSpec::default()
            };
            self.expect_word("ON")?;
            let table = self.table_name()?;
            index.parts = self.parenthesized_list(Self::index_part)?;
            self.index_options(&mut index)?;
            let (algorithm, lock) = self.algorithm_and_lock()?;
            return Ok(Statement::CreateIndex { table, index, algorithm, lock });
        }
        if self.peek().kind != Kind::Word || kind != IndexKind::Plain {
            return Err(self.unexpected());
        }
        if let Some(view) = self.view(or_replace, false)? {
            return Ok(view);
        }
        if let Some(program) = self.create_program(or_replace)? {
            return Ok(program);
        }
        // SERVER, TABLESPACE ...
        let known = ["SERVER", "AGGREGATE", "TABLESPACE", "UNDO", "LOGFILE", "RESOURCE", "PACKAGE"];
        let Some(word) = self.take_any_word(&known) else { return Err(self.unexpected()) };
        self.skip_rest()?;
        Ok(Statement::Unsupported(format!("CREATE {word}")))
    }

    pub(super) fn if_not_exists(&mut self) -> Result<bool> {
        if !self.is_word("IF") {
            return Ok(false);
        }
        if self.take_words(&["IF", "NOT", "EXISTS"]) { Ok(true) } else { Err(self.unexpected()) }
    }

    /// IF NOT EXISTS of what OR REPLACE may stand before, but not of the same.
    pub(in crate::parser) fn new_only(&mut self, or_replace: bool) -> Result<bool> {
        let if_not_exists = self.if_not_exists()?;
        if or_replace && if_not_exists {
            Err(Error::wrong_usage("OR REPLACE", "IF NOT EXISTS"))
        } else {
            Ok(if_not_exists)
        }
    }

    pub(super) fn if_exists(&mut self) -> Result<bool> {
        if !self.is_word("IF") {
            return Ok(false);
        }
        if self.take_words(&["IF", "EXISTS"]) { Ok(true) } else { Err(self.unexpected()) }
    }

    /// Those of CREATE DATABASE, and what only ALTER DATABASE has.
    fn database_options(&mut self, alters: bool) -> Result<DatabaseOptions> {
        let mut options = DatabaseOptions::default();
        loop {
            let start = self.at;
            self.take_word("DEFAULT");
            if self.take_charset_words() {
                self.take_symbol("=");
                // DEFAULT is the server's, which a new database has anyway.
                if alters || !self.take_word("DEFAULT") {
                    options.charset = Some(self.name_or_text_or_binary()?);
                }
            } else if self.take_word("COLLATE") {
                self.take_symbol("=");
                options.collation = Some(self.name_or_text_or_binary()?);
            } else if self.take_word("ENCRYPTION") {
                self.take_symbol("=");
                options.encryption = Some(self.text()?);
            } else if self.take_word("COMMENT") {
                self.take_symbol("=");
                options.comment = Some(self.text()?);
            } else if alters && self.take_words(&["READ", "ONLY"]) {
                self.take_symbol("=");
                let read_only = match self.take_word("DEFAULT") {
                    true => false,
                    false => {
                        let written = self.unexpected();
                        match self.integer()? {
                            0 => false,
                            1 => true,
                            _ => return Err(written),
                        }
                    }
                };
                if let Some(before) = options.read_only.replace(read_only)
                    && before != read_only
                {
                    return Err(Error::conflicting_read_only(before));
                }
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

    // ------------------------------------------------------ table options

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
        if self.take_word("SEQUENCE") {
            return self.drop_sequences(temporary);
        }
        if temporary {
            return Err(self.unexpected());
        }
        if self.take_word("DATABASE") || self.take_word("SCHEMA") {
            let if_exists = self.if_exists()?;
            return Ok(Statement::DropDatabase { name: self.name()?, if_exists });
        }
        if self.take_word("INDEX") {
            let if_exists = self.if_exists()?;
            let name = self.any_name()?;
            self.expect_word("ON")?;
            let table = self.table_name()?;
            let (algorithm, lock) = self.algorithm_and_lock()?;
            return Ok(Statement::DropIndex { table, name, if_exists, algorithm, lock });
        }
        if self.take_word("VIEW") {
            let if_exists = self.if_exists()?;
            let views = self.list(Self::table_name)?;
            let _ = self.take_word("RESTRICT") || self.take_word("CASCADE");
            return Ok(Statement::DropViews { views, if_exists });
        }
        if self.take_word("USER") {
            return self.drop_user();
        }
        if self.take_word("ROLE") {
            return self.drop_role();
        }
        if self.take_word("PREPARE") {
            return Ok(Statement::Deallocate(self.name()?));
        }
        if let Some(program) = self.drop_program()? {
            return Ok(program);
        }
        let known = ["SERVER", "TABLESPACE", "UNDO", "PACKAGE"];
        let Some(word) = self.take_any_word(&known) else { return Err(self.unexpected()) };
        self.skip_rest()?;
        Ok(Statement::Unsupported(format!("DROP {word}")))
    }

    pub(super) fn rename(&mut self) -> Result<Statement> {
        self.advance();
        if self.take_word("USER") {
            return self.rename_user();
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
