//! INSERT, REPLACE, UPDATE, DELETE.

use super::Parser;
use super::ast::*;
use super::lexer::Kind;
use crate::error::{Error, Result};

impl Parser<'_> {
    pub(super) fn insert(&mut self) -> Result<Statement> {
        let replace = self.is_word("REPLACE");
        self.advance();
        let hints = self.hints();
        let mut ignore = false;
        let options: &[&str] = match replace {
            true => &["LOW_PRIORITY", "DELAYED"],
            false => &["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"],
        };
        while let Some(option) = self.take_any_word(options) {
            ignore |= option == "IGNORE";
        }
        self.take_word("INTO");
        let table = self.table_name()?;
        let partitions = self.partition_selection()?;
        let mut columns = Vec::new();
        if self.is_symbol("(") && !self.is_query_at(1) {
            self.advance();
            if !self.is_symbol(")") {
                columns = self.list(|parser| own_column(parser.column_name()?, &table))?;
            }
            self.expect_symbol(")")?;
        }
        let mut row_alias = None;
        let source = if self.take_word("SET") {
            let mut values = Vec::new();
            for (column, value) in self.list(Self::assignment)? {
                columns.push(own_column(column, &table)?);
                values.push(value);
            }
            row_alias = self.row_alias()?;
            InsertSource::Values(vec![values])
        } else if let Some(rows) = self.inserted_rows()? {
            InsertSource::Values(rows)
        } else if (self.is_word("VALUES") && !self.is_word_at(1, "ROW")) || self.is_word("VALUE") {
            self.advance();
            let rows = self.list(Self::value_row)?;
            row_alias = self.row_alias()?;
            InsertSource::Values(rows)
        } else {
            InsertSource::Query(Box::new(self.inner_query()?))
        };
        let mut on_duplicate = Vec::new();
        if !replace && self.take_word("ON") {
            for word in ["DUPLICATE", "KEY", "UPDATE"] {
                self.expect_word(word)?;
            }
            on_duplicate = self.list(Self::assignment)?;
        }
        let returning = self.returning()?;
        let insert =
            Insert { hints, replace, ignore, table, partitions, columns, source, row_alias, on_duplicate, returning };
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// VALUES ROW(...), ROW(...) alone: as in INSERT ... VALUES a value may be DEFAULT.
    fn inserted_rows(&mut self) -> Result<Option<Vec<Vec<Expr>>>> {
        let start = (self.at, self.parameters);
        if !self.take_words(&["VALUES", "ROW"]) {
            return Ok(None);
        }
        let mut rows = vec![self.value_row()?];
        while self.take_symbol(",") {
            self.expect_word("ROW")?;
            rows.push(self.value_row()?);
        }
        if self.is_any_word(&["UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT"]) {
            (self.at, self.parameters) = start;
            return Ok(None);
        }
        Ok(Some(rows))
    }

    /// `(a, b, DEFAULT)`, which may be empty.
    fn value_row(&mut self) -> Result<Vec<Expr>> {
        self.expect_symbol("(")?;
        if self.take_symbol(")") {
            return Ok(Vec::new());
        }
        let values = self.list(Self::expr)?;
        self.expect_symbol(")")?;
        Ok(values)
    }

    fn row_alias(&mut self) -> Result<Option<(String, Vec<String>)>> {
        if !self.take_word("AS") {
            return Ok(None);
        }
        let name = self.name()?;
        let columns = if self.is_symbol("(") { self.parenthesized_list(Self::name)? } else { Vec::new() };
        Ok(Some((name, columns)))
    }

    /// `column = expr`
    pub(super) fn assignment(&mut self) -> Result<(ColumnName, Expr)> {
        let column = self.column_name()?;
        if !self.take_symbol("=") {
            self.expect_symbol(":=")?;
        }
        Ok((column, self.expr()?))
    }

    pub(super) fn update(&mut self) -> Result<Statement> {
        self.advance();
        let hints = self.hints();
        let mut ignore = false;
        while let Some(option) = self.take_any_word(&["LOW_PRIORITY", "IGNORE"]) {
            ignore |= option == "IGNORE";
        }
        let mut tables = self.list(Self::table_ref)?;
        self.expect_word("SET")?;
        let assignments = self.list(Self::assignment)?;
        let filter = self.optional_filter()?;
        let order_by = if self.is_word("ORDER") { self.order_by()? } else { Vec::new() };
        let limit = self.optional_limit()?;
        let with = None;
        if tables.len() > 1 || !matches!(tables[0], TableRef::Table { .. }) {
            if !order_by.is_empty() {
                return Err(Error::wrong_usage("UPDATE", "ORDER BY"));
            }
            if limit.is_some() {
                return Err(Error::wrong_usage("UPDATE", "LIMIT"));
            }
            let update = JoinedUpdate { hints, with, ignore, tables, assignments, filter };
            return Ok(Statement::JoinedUpdate(Box::new(update)));
        }
        let table = tables.remove(0);
        Ok(Statement::Update(Box::new(Update { hints, with, ignore, table, assignments, filter, order_by, limit })))
    }

    pub(super) fn delete(&mut self) -> Result<Statement> {
        self.advance();
        let hints = self.hints();
        let mut ignore = false;
        while let Some(option) = self.take_any_word(&["LOW_PRIORITY", "QUICK", "IGNORE"]) {
            ignore |= option == "IGNORE";
        }
        // DELETE t FROM t JOIN u ...
        if !self.take_word("FROM") {
            let names_tables = self.is_name()
                && self.tokens[self.at..]
                    .iter()
                    .any(|token| token.kind == Kind::Word && self.bytes(*token).eq_ignore_ascii_case(b"FROM"));
            if !names_tables {
                return Err(self.unexpected());
            }
            let targets = self.list(Self::delete_target)?;
            self.expect_word("FROM")?;
            return self.joined_delete(hints, ignore, targets);
        }
        let start = self.at;
        let table = self.delete_target()?;
        if self.is_symbol(",") || self.is_word("USING") {
            self.at = start;
            let targets = self.list(Self::delete_target)?;
            self.expect_word("USING")?;
            return self.joined_delete(hints, ignore, targets);
        }
        let partitions = self.partition_selection()?;
        let alias = if self.take_word("AS") || self.begins_alias() { Some(self.name()?) } else { None };
        let filter = self.optional_filter()?;
        let order_by = if self.is_word("ORDER") { self.order_by()? } else { Vec::new() };
        let limit = self.optional_limit()?;
        let returning = self.returning()?;
        let delete = Delete { hints, with: None, ignore, table, partitions, alias, filter, order_by, limit, returning };
        Ok(Statement::Delete(Box::new(delete)))
    }

    fn returning(&mut self) -> Result<Vec<SelectItem>> {
        if self.take_word("RETURNING") { self.list(Self::select_item) } else { Ok(Vec::new()) }
    }

    /// A table of which rows are deleted: `t`, `d.t`, `t.*`, `d.t.*`
    fn delete_target(&mut self) -> Result<TableName> {
        let first = self.name()?;
        if !self.take_symbol(".") || self.take_symbol("*") {
            return Ok(TableName::new(first));
        }
        let name = self.any_name()?;
        if self.take_symbol(".") {
            self.expect_symbol("*")?;
        }
        Ok(TableName { database: Some(first), name })
    }

    fn joined_delete(&mut self, hints: Vec<Hint>, ignore: bool, targets: Vec<TableName>) -> Result<Statement> {
        let tables = self.list(Self::table_ref)?;
        let filter = self.optional_filter()?;
        let delete = JoinedDelete { hints, with: None, ignore, targets, tables, filter };
        Ok(Statement::JoinedDelete(Box::new(delete)))
    }

    pub(super) fn optional_filter(&mut self) -> Result<Option<Expr>> {
        if self.take_word("WHERE") { Ok(Some(self.expr()?)) } else { Ok(None) }
    }

    /// LIMIT with a count alone.
    fn optional_limit(&mut self) -> Result<Option<Expr>> {
        if self.take_word("LIMIT") { Ok(Some(self.limit_number()?)) } else { Ok(None) }
    }
}

/// A column of the table that INSERT names: of no other one, if it has a table's name.
fn own_column(column: ColumnName, table: &TableName) -> Result<String> {
    let is_other =
        |named: &Option<String>, own: &str| named.as_ref().is_some_and(|named| !named.eq_ignore_ascii_case(own));
    let other_database = table.database.as_ref().is_some_and(|own| is_other(&column.database, own));
    if is_other(&column.table, &table.name) || other_database {
        let parts = [column.database, column.table, Some(column.name)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        return Err(Error::unknown_column(&parts.join("."), "field list"));
    }
    Ok(column.name)
}
