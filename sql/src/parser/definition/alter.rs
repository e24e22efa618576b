//! ALTER TABLE, and the other things that can be altered.

use super::Parser;
use super::table::Constraint;
use crate::error::{Error, Result};
use crate::parser::ast::*;

impl Parser<'_> {
    pub(in crate::parser) fn alter(&mut self) -> Result<Statement> {
        self.advance();
        if self.take_word("DATABASE") || self.take_word("SCHEMA") {
            let is_option = self.is_any_word(&["DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ENCRYPTION", "READ"]);
            let name = if is_option { None } else { Some(self.name()?) };
            let start = self.at;
            let options = self.database_options(true)?;
            if self.at == start {
                return Err(self.unexpected());
            }
            return Ok(Statement::AlterDatabase { name, options });
        }
        if self.take_word("USER") {
            return self.alter_user();
        }
        if self.take_words(&["INSTANCE", "ROTATE", "INNODB", "MASTER", "KEY"]) {
            return Ok(Statement::RotateMasterKey);
        }
        if self.take_words(&["INSTANCE", "RELOAD", "TLS"]) {
            if self.take_words(&["FOR", "CHANNEL"]) {
                // The channels of MySQL are this one and that of administrators on a port of their own.
                let channel = self.name()?;
                if !channel.eq_ignore_ascii_case("mysql_main") {
                    return Ok(Statement::Unsupported(format!("TLS for channel '{channel}'")));
                }
            }
            return Ok(Statement::ReloadTls { even_without: self.take_words(&["NO", "ROLLBACK", "ON", "ERROR"]) });
        }
        if self.is_word("TABLESPACE")
            && (self.is_word_at(1, "mysql") || self.is_word_at(1, "innodb_system"))
            && self.is_word_at(2, "ENCRYPTION")
        {
            self.at += 3;
            self.take_symbol("=");
            let encrypted = match self.text()?.as_str() {
                "Y" | "y" => true,
                "N" | "n" => false,
                _ => return Err(Error::invalid_encryption_option()),
            };
            return Ok(Statement::EncryptSystem(encrypted));
        }
        if let Some(view) = self.view(false, true)? {
            return Ok(view);
        }
        let _ = self.take_word("ONLINE") || self.take_word("OFFLINE");
        let _ = self.take_word("IGNORE");
        if self.take_word("TABLE") {
            return self.alter_table();
        }
        if self.take_word("SEQUENCE") {
            return self.alter_sequence();
        }
        if let Some(program) = self.alter_program()? {
            return Ok(program);
        }
        let known = ["SERVER", "INSTANCE", "TABLESPACE", "UNDO", "LOGFILE", "RESOURCE"];
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
            // Options follow each other without commas, and what becomes of the partitions stands last.
            let ends_in_partitions = self.is_any_word(&["PARTITION", "REMOVE"]);
            if !self.take_symbol(",") && !self.is_at_end() && !ends_in_partitions {
                return Err(self.unexpected());
            }
        }
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    /// ALGORITHM= and LOCK= behind CREATE INDEX and DROP INDEX, in any order.
    pub(super) fn algorithm_and_lock(&mut self) -> Result<(Option<String>, Option<String>)> {
        let (mut algorithm, mut lock) = (None, None);
        while let Some(word) = self.take_any_word(&["ALGORITHM", "LOCK"]) {
            self.take_symbol("=");
            let value = Some(self.upper_word()?);
            match word {
                "LOCK" => lock = value,
                _ => algorithm = value,
            }
        }
        Ok((algorithm, lock))
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
            actions.push(AlterAction::Tablespace(Transfer::Discard));
        } else if self.take_words(&["IMPORT", "TABLESPACE"]) {
            actions.push(AlterAction::Tablespace(Transfer::Import));
        } else if self.take_words(&["WITH", "VALIDATION"]) || self.take_words(&["WITHOUT", "VALIDATION"]) {
            // Nothing to validate.
        } else {
            if let Some(action) = self.partition_action()? {
                actions.push(AlterAction::Partitions(action));
                return Ok(());
            }
            if self.take_words(&["START", "TRANSACTION"]) {
                return Err(Error::not_with_start_transaction("ALTER TABLE"));
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
        if self.take_word("PARTITION") {
            actions.push(AlterAction::Partitions(self.add_partition()?));
            return Ok(());
        }
        if let Some(constraint) = self.constraint()? {
            actions.push(match constraint {
                Constraint::Index(index) => AlterAction::AddIndex(index),
                Constraint::ForeignKey(key) => AlterAction::AddForeignKey(key),
                Constraint::Check(check) => AlterAction::AddCheck(check),
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
                    Some(Constraint::Check(check)) => AlterAction::AddCheck(check),
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
            let if_exists = self.if_exists()?;
            return Ok(AlterAction::DropForeignKey { name: self.name()?, if_exists });
        }
        if self.take_word("INDEX") || self.take_word("KEY") {
            let if_exists = self.if_exists()?;
            return Ok(AlterAction::DropIndex { name: self.any_name()?, if_exists });
        }
        if self.take_word("CHECK") {
            let if_exists = self.if_exists()?;
            return Ok(AlterAction::DropCheck { name: self.name()?, if_exists });
        }
        if self.take_word("CONSTRAINT") {
            let if_exists = self.if_exists()?;
            return Ok(AlterAction::DropConstraint { name: self.name()?, if_exists });
        }
        if self.take_word("PARTITION") {
            return Ok(AlterAction::Partitions(self.drop_partition()?));
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
            // MariaDB: [NOT] IGNORED
            let visible = match self.take_any_word(&["VISIBLE", "INVISIBLE", "IGNORED"]) {
                Some(word) => word == "VISIBLE",
                None if self.take_words(&["NOT", "IGNORED"]) => true,
                None => return Err(self.unexpected()),
            };
            return Ok(AlterAction::SetIndexVisible { name, visible });
        }
        if let Some(word) = self.take_any_word(&["CHECK", "CONSTRAINT"]) {
            let name = self.name()?;
            let enforced = self.enforced()?.ok_or_else(|| self.unexpected())?;
            return Ok(AlterAction::SetEnforced { name, enforced, is_check: word == "CHECK" });
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
}
