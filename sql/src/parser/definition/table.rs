//! CREATE TABLE: columns, indexes, constraints.

use super::Parser;
use crate::error::{Error, Result};
use crate::parser::ast::*;

impl Parser<'_> {
    pub(super) fn create_table(&mut self, temporary: bool, or_replace: bool) -> Result<Statement> {
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
            ignore: false,
            replace: false,
            start_transaction: false,
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
        loop {
            create.options.extend(self.table_options()?);
            if !self.take_words(&["START", "TRANSACTION"]) {
                break;
            }
            create.start_transaction = true;
        }
        if self.take_words(&["PARTITION", "BY"]) {
            create.partition_by = Some(Box::new(self.partition_by()?));
        }
        create.ignore = self.take_word("IGNORE");
        create.replace = !create.ignore && self.take_word("REPLACE");
        if self.take_word("AS") || self.is_query_at(0) {
            create.query = Some(Box::new(self.inner_query()?));
        } else if create.ignore || create.replace {
            return Err(self.unexpected());
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
                Constraint::Index(index) => {
                    create.indexes.push(IndexSpec { behind: create.columns.len(), ..index });
                }
                Constraint::ForeignKey(key) => {
                    create.foreign_keys.push(ForeignKeySpec { behind: create.indexes.len(), ..key });
                }
                Constraint::Check(check) => create.checks.push(check),
            }
            return Ok(());
        }
        let mut column = self.column_spec()?;
        create.checks.append(&mut column.checks);
        if let Some(key) = &mut column.references {
            key.behind = create.indexes.len();
        }
        create.columns.push(column);
        Ok(())
    }

    /// An index or constraint, if that is what follows.
    pub(super) fn constraint(&mut self) -> Result<Option<Constraint>> {
        let mut name = None;
        let is_named = self.take_word("CONSTRAINT");
        let is_conditional = is_named && self.if_not_exists()?;
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
            let check = self.check(name)?;
            return Ok(Some(Constraint::Check(CheckSpec { if_not_exists: is_conditional, ..check })));
        } else if is_named {
            return Err(self.unexpected());
        } else if self.take_word("INDEX") || self.take_word("KEY") {
            IndexKind::Plain
        } else {
            return Ok(None);
        };
        let if_not_exists = self.if_not_exists()? || is_conditional;
        if self.is_name() && !self.is_word("USING") && !self.is_word("TYPE") {
            name = Some(self.name()?);
        }
        if kind == IndexKind::FullText && self.is_any_word(&["USING", "TYPE"]) {
            return Err(self.unexpected());
        }
        let mut index = IndexSpec {
            name: if kind == IndexKind::Primary { None } else { name },
            kind,
            algorithm: self.index_algorithm()?,
            if_not_exists,
            ..IndexSpec::default()
        };
        index.parts = self.parenthesized_list(Self::index_part)?;
        self.index_options(&mut index)?;
        Ok(Some(Constraint::Index(index)))
    }

    /// USING BTREE
    pub(super) fn index_algorithm(&mut self) -> Result<Option<String>> {
        if self.take_word("USING") || self.take_word("TYPE") { Ok(Some(self.upper_word()?)) } else { Ok(None) }
    }

    pub(super) fn index_part(&mut self) -> Result<IndexPartSpec> {
        let mut part =
            IndexPartSpec { column: String::new(), prefix: None, descending: false, expression: None, elements: None };
        if self.is_symbol("(") {
            self.advance();
            part.expression = Some(self.expr()?);
            self.expect_symbol(")")?;
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

    pub(super) fn index_options(&mut self, index: &mut IndexSpec) -> Result<()> {
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
            } else if index.kind == IndexKind::FullText && self.take_words(&["WITH", "PARSER"]) {
                index.parser = Some(self.name()?);
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
            behind: 0,
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
    pub(super) fn references(&mut self, key: &mut ForeignKeySpec) -> Result<()> {
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
            let actions = ["RESTRICT", "CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT"];
            let action = actions.iter().find(|words| self.take_words(&words.split(' ').collect::<Vec<_>>()));
            let action = action.ok_or_else(|| self.unexpected())?.to_string();
            if is_delete {
                key.on_delete = Some(action);
            } else {
                key.on_update = Some(action);
            }
        }
        Ok(())
    }

    /// What stands behind CHECK.
    pub(super) fn check(&mut self, name: Option<String>) -> Result<CheckSpec> {
        self.expect_symbol("(")?;
        let condition = self.expr()?;
        self.expect_symbol(")")?;
        Ok(CheckSpec {
            name,
            condition,
            enforced: self.enforced()?.unwrap_or(true),
            column: None,
            if_not_exists: false,
        })
    }

    /// `[NOT] ENFORCED`, if it is said.
    pub(super) fn enforced(&mut self) -> Result<Option<bool>> {
        if self.take_words(&["NOT", "ENFORCED"]) {
            return Ok(Some(false));
        }
        Ok(self.take_word("ENFORCED").then_some(true))
    }
}

pub(super) enum Constraint {
    Index(IndexSpec),
    ForeignKey(ForeignKeySpec),
    Check(CheckSpec),
}
