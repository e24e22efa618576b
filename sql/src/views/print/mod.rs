//! A query as text, in the form in which MySQL shows views.
//!
//! Every name is quoted and every operation parenthesised, so that no precedence and no sql_mode changes what the text
//! means. Names of tables are printed with their databases, unless it is the one that is left out: SHOW CREATE VIEW leaves
//! out the current one where that is the database of all of them, so that a dump can be loaded into another one.

mod expression;
mod json;
mod window;

use std::fmt::Write;

use format::collation::Charset;

use crate::describe::quoted;
use crate::error::{Error, Result};
use crate::parser::ast::*;

/// Prints a query; names in `without` stand alone.
pub fn query(query: &Query, without: Option<&str>) -> Result<String> {
    query_in(query, without, Charset::Utf8mb4)
}

/// The same of a query whose literals are written in a character set.
pub fn query_in(query: &Query, without: Option<&str>, client: Charset) -> Result<String> {
    let mut printer = Printer { out: String::new(), without, client };
    printer.query(query)?;
    Ok(printer.out)
}

struct Printer<'a> {
    out: String,
    client: Charset,
    without: Option<&'a str>,
}

fn unknown(what: &str) -> Error {
    Error::unsupported(format!("{what} in a view"))
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn name(&mut self, name: &str) {
        self.out.push_str(&quoted(name));
    }

    /// Prints each, with a comma between.
    fn list<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T) -> Result<()>) -> Result<()> {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.put(",");
            }
            print(self, item)?;
        }
        Ok(())
    }

    fn names(&mut self, names: &[String]) -> Result<()> {
        self.put("(");
        self.list(names, |printer, name| {
            printer.name(name);
            Ok(())
        })?;
        self.put(")");
        Ok(())
    }

    fn database(&mut self, database: Option<&str>) {
        if let Some(database) = database.filter(|database| self.without != Some(*database)) {
            self.name(database);
            self.put(".");
        }
    }

    fn table_name(&mut self, name: &TableName) {
        self.database(name.database.as_deref());
        self.name(&name.name);
    }

    fn column(&mut self, column: &ColumnName) {
        self.database(column.database.as_deref());
        if let Some(table) = &column.table {
            self.name(table);
            self.put(".");
        }
        self.name(&column.name);
    }

    fn query(&mut self, query: &Query) -> Result<()> {
        let Query { with, body, order_by, limit, lock, into } = query;
        if !into.is_client() {
            return Err(unknown("INTO"));
        }
        if let Some(With { recursive, tables }) = with {
            self.put(if *recursive { "with recursive " } else { "with " });
            self.list(tables, |printer, CommonTable { name, columns, query }| {
                printer.name(name);
                if !columns.is_empty() {
                    printer.put(" ");
                    printer.names(columns)?;
                }
                printer.put(" as (");
                printer.query(query)?;
                printer.put(")");
                Ok(())
            })?;
            self.put(" ");
        }
        self.body(body)?;
        self.order(order_by)?;
        if let Some(Limit { offset, count }) = limit {
            self.put(" limit ");
            if let Some(offset) = offset {
                self.expr(offset)?;
                self.put(",");
            }
            self.expr(count)?;
        }
        self.lock(lock.as_ref());
        Ok(())
    }

    /// FOR UPDATE and FOR SHARE: in the words that MariaDB knows, too, where it has them.
    fn lock(&mut self, lock: Option<&RowLock>) {
        let Some(RowLock { exclusive, of, wait }) = lock else { return };
        self.put(match (exclusive, of.is_empty() && *wait == LockWait::Wait) {
            (true, _) => " for update",
            (false, true) => " lock in share mode",
            (false, false) => " for share",
        });
        for (at, table) in of.iter().enumerate() {
            self.put(if at == 0 { " of " } else { "," });
            if let Some(database) = &table.database {
                self.name(database);
                self.put(".");
            }
            self.name(&table.name);
        }
        self.put(match wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        });
    }

    fn order(&mut self, items: &[OrderItem]) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        self.put(" order by ");
        self.order_items(items)
    }

    fn order_items(&mut self, items: &[OrderItem]) -> Result<()> {
        self.list(items, |printer, OrderItem { expr, descending }| {
            printer.expr(expr)?;
            printer.put(if *descending { " desc" } else { "" });
            Ok(())
        })
    }

    fn body(&mut self, body: &Body) -> Result<()> {
        match body {
            Body::Select(select) => self.select(select),
            Body::Set { first, rest } => {
                self.body(first)?;
                for SetPart { operator, all, body } in rest {
                    self.put(match operator {
                        SetOperator::Union => " union ",
                        SetOperator::Except => " except ",
                        SetOperator::Intersect => " intersect ",
                    });
                    self.put(if *all { "all " } else { "" });
                    match body {
                        Body::Set { .. } => self.nested(body)?,
                        _ => self.body(body)?,
                    }
                }
                Ok(())
            }
            Body::Values { rows, names } => {
                // MariaDB's form is named by its first row, which this one would not be.
                if !names.iter().enumerate().all(|(at, name)| *name == format!("column_{at}")) {
                    return Err(unknown("VALUES without ROW"));
                }
                self.put("values ");
                self.list(rows, |printer, row| {
                    printer.put("row(");
                    printer.exprs(row)?;
                    printer.put(")");
                    Ok(())
                })
            }
            Body::Table(name) => {
                self.put("table ");
                self.table_name(name);
                Ok(())
            }
            Body::Nested(query) => {
                self.put("(");
                self.query(query)?;
                self.put(")");
                Ok(())
            }
        }
    }

    fn nested(&mut self, body: &Body) -> Result<()> {
        self.put("(");
        self.body(body)?;
        self.put(")");
        Ok(())
    }

    fn select(&mut self, select: &Select) -> Result<()> {
        let Select {
            hints,
            distinct,
            straight_join,
            calc_found_rows,
            items,
            from,
            filter,
            group_by,
            rollup,
            having,
            windows,
        } = select;
        self.put("select ");
        let hints: Vec<&str> = hints.iter().map(|hint| &*hint.text).filter(|text| !text.is_empty()).collect();
        if !hints.is_empty() {
            self.put(&format!("/*+ {} */ ", hints.join(" ")));
        }
        self.put(if *straight_join { "straight_join " } else { "" });
        self.put(if *distinct { "distinct " } else { "" });
        self.put(if *calc_found_rows { "sql_calc_found_rows " } else { "" });
        self.list(items, |printer, item| printer.item(item))?;
        if !from.is_empty() {
            self.put(" from ");
            if from.len() > 1 {
                // As a join, so that ON of a later one sees all of them.
                self.put("(");
            }
            for (at, table) in from.iter().enumerate() {
                self.put(if at > 0 { " join " } else { "" });
                self.table_ref(table)?;
            }
            self.put(if from.len() > 1 { ")" } else { "" });
        }
        if let Some(filter) = filter {
            self.put(" where ");
            self.expr(filter)?;
        }
        if !group_by.is_empty() {
            self.put(" group by ");
            self.order_items(group_by)?;
            self.put(if *rollup { " with rollup" } else { "" });
        }
        if let Some(having) = having {
            self.put(" having ");
            self.expr(having)?;
        }
        self.windows(windows)
    }

    fn item(&mut self, item: &SelectItem) -> Result<()> {
        match item {
            SelectItem::All => self.put("*"),
            SelectItem::AllOf(table) => {
                self.table_name(table);
                self.put(".*");
            }
            SelectItem::Expr { expr, alias, text: _ } => {
                self.expr(expr)?;
                if let Some(alias) = alias {
                    self.put(" AS ");
                    self.name(alias);
                }
            }
        }
        Ok(())
    }

    fn table_ref(&mut self, table: &TableRef) -> Result<()> {
        match table {
            TableRef::Table { name, partitions, alias, hints } => {
                self.table_name(name);
                if !partitions.is_empty() {
                    self.put(" PARTITION ");
                    self.names(partitions)?;
                }
                if let Some(alias) = alias.as_ref().filter(|alias| **alias != name.name) {
                    self.put(" ");
                    self.name(alias);
                }
                hints.iter().try_for_each(|hint| self.hint(hint))?;
            }
            TableRef::Derived { query, alias, columns, lateral } => {
                self.put(if *lateral { "lateral (" } else { "(" });
                self.query(query)?;
                self.put(") ");
                self.name(alias);
                if !columns.is_empty() {
                    self.names(columns)?;
                }
            }
            TableRef::Join { left, right, kind, condition } => {
                self.put("(");
                self.table_ref(left)?;
                let is_natural = matches!(condition, JoinCondition::Natural);
                self.put(if is_natural { " natural" } else { "" });
                self.put(match kind {
                    JoinKind::Inner => " join ",
                    JoinKind::Straight => " straight_join ",
                    JoinKind::Left => " left join ",
                    JoinKind::Right => " right join ",
                });
                self.table_ref(right)?;
                match condition {
                    JoinCondition::None | JoinCondition::Natural => {}
                    JoinCondition::On(expr) => {
                        self.put(" on(");
                        self.expr(expr)?;
                        self.put(")");
                    }
                    JoinCondition::Using(names) => {
                        self.put(" using ");
                        self.names(names)?;
                    }
                }
                self.put(")");
            }
            TableRef::JsonTable(table) => self.json_table(table)?,
        }
        Ok(())
    }

    fn hint(&mut self, hint: &IndexHint) -> Result<()> {
        let IndexHint { kind, purpose, indexes } = hint;
        self.put(match kind {
            IndexHintKind::Use => " USE INDEX ",
            IndexHintKind::Force => " FORCE INDEX ",
            IndexHintKind::Ignore => " IGNORE INDEX ",
        });
        self.put(match purpose {
            IndexHintPurpose::Any => "",
            IndexHintPurpose::Join => "FOR JOIN ",
            IndexHintPurpose::OrderBy => "FOR ORDER BY ",
            IndexHintPurpose::GroupBy => "FOR GROUP BY ",
        });
        self.names(indexes)
    }

    fn exprs(&mut self, exprs: &[Expr]) -> Result<()> {
        self.list(exprs, |printer, expr| printer.expr(expr))
    }

    fn call(&mut self, name: &str, args: &[&Expr]) -> Result<()> {
        self.put(name);
        self.put("(");
        self.list(args, |printer, expr| printer.expr(expr))?;
        self.put(")");
        Ok(())
    }

    /// `(a between b)`
    fn between(&mut self, left: &Expr, word: &str, right: &Expr) -> Result<()> {
        self.put("(");
        self.expr(left)?;
        let _ = write!(self.out, " {word} ");
        self.expr(right)?;
        self.put(")");
        Ok(())
    }
}
