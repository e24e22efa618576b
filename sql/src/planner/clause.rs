//! The view that one clause has of its SELECT: which sources it sees, whether it sees the aliases of the select list,
//! and whether aggregates may stand in it.
//!
//! An aggregate belongs to the innermost query that has one of the columns in its arguments. In the queries between
//! that one and the one where it is written it is an outer value, like a column. If it may not stand there (in WHERE),
//! the nearest query inside that allows it computes it over an outer value.

use std::sync::Arc;

use format::collation::Charset;

use super::defaults::default_expr;
use super::fulltext;
use super::scope::{Level, Visible, display};
use super::window;
use crate::error::{Error, Result};
use crate::expression::{AggregateCall, Expr, Node, Scope, Subquery};
use crate::parser::ast::{self, ColumnName, Query};
use crate::types::TypeInfo;

/// The select list as other clauses may refer to it.
pub type Aliases = [(Box<str>, Expr)];

/// When a name may be an alias of the select list.
#[derive(Clone, Copy)]
pub enum Lookup<'a> {
    /// Never.
    Columns,
    /// As a select list: only in subqueries, and only one that stands before.
    Selecting(&'a Aliases),
    /// If no table has such a column.
    ColumnsFirst(&'a Aliases),
    /// As GROUP BY: a column of the tables wins, with a warning; but if several tables have one, the select list tells
    /// which of them is meant.
    GroupedColumn(&'a Aliases),
    AliasesFirst(&'a Aliases),
    /// As HAVING, outside of aggregates: what is selected and what is grouped by, with their names in GROUP BY. If both
    /// have the name and differ, the grouped column wins, with a warning.
    Having(&'a Aliases, &'a [(Option<&'a ColumnName>, Expr)]),
}

/// What one clause sees.
#[derive(Clone, Copy)]
pub struct Clause<'a> {
    pub level: &'a Level<'a>,
    pub name: &'static str,
    pub visible: &'a Visible,
    pub lookup: Lookup<'a>,
    /// Aggregates of this query may stand here.
    pub aggregating: bool,
    /// Window functions may stand here, and names of those in the select list.
    pub windowing: bool,
    /// ON DUPLICATE KEY UPDATE: VALUES(column) means this slot and on.
    pub values_base: Option<usize>,
}

impl<'a> Clause<'a> {
    pub fn new(level: &'a Level<'a>, name: &'static str) -> Clause<'a> {
        let (aggregating, windowing) = (false, false);
        Clause { level, name, visible: &level.all, lookup: Lookup::Columns, aggregating, windowing, values_base: None }
    }

    /// The clause with the names that it knows, where aggregates may stand.
    pub fn aggregating(level: &'a Level<'a>, name: &'static str, lookup: Lookup<'a>) -> Clause<'a> {
        Clause { lookup, aggregating: true, ..Clause::new(level, name) }
    }

    /// As [`Clause::aggregating`], where window functions may stand, too: the select list and ORDER BY.
    pub fn windowing(level: &'a Level<'a>, name: &'static str, lookup: Lookup<'a>) -> Clause<'a> {
        Clause { windowing: true, ..Clause::aggregating(level, name, lookup) }
    }

    fn alias(&self, name: &ColumnName, aliases: &Aliases) -> Result<Option<Expr>> {
        if name.table.is_some() {
            return Ok(None);
        }
        let mut found: Option<&Expr> = None;
        for (alias, expr) in aliases {
            if !storage::same_name(alias, &name.name) {
                continue;
            }
            // The first item that is no column is meant. Of columns there may be one, however often it is selected.
            if expr.as_column().is_none() {
                found = Some(expr);
                break;
            }
            if found.is_some_and(|found| !is_same(found, expr)) {
                return Err(Error::ambiguous_column(&name.name, self.name));
            }
            found = Some(expr);
        }
        if !self.windowing && found.is_some_and(window::has_window) {
            return Err(Error::misplaced_window_alias(&name.name));
        }
        Ok(found.cloned())
    }

    fn found(&self, name: &ColumnName) -> Result<Option<Expr>> {
        let Some(slot) = self.level.find(name, self.visible, self.name)? else { return Ok(None) };
        self.level.check_read(slot)?;
        Ok(Some(self.level.expr(slot)))
    }

    /// A column of the tables or an alias.
    fn local(&self, name: &ColumnName) -> Result<Option<Expr>> {
        match self.lookup {
            Lookup::Columns | Lookup::Selecting(_) => self.found(name),
            Lookup::ColumnsFirst(aliases) => match self.found(name)? {
                None => self.alias(name, aliases),
                found => Ok(found),
            },
            Lookup::AliasesFirst(aliases) => match self.alias(name, aliases)? {
                None => self.found(name),
                found => Ok(found),
            },
            Lookup::GroupedColumn(aliases) => match self.found(name) {
                Ok(None) => self.alias(name, aliases),
                Ok(Some(found)) => {
                    // Two columns of the name that are selected are ambiguous, even where USING makes one of them.
                    if let Some(alias) = self.alias(name, aliases)?
                        && !is_same(&alias, &found)
                    {
                        self.level
                            .context
                            .warnings
                            .borrow_mut()
                            .push(Error::ambiguous_column(&name.name, self.name).into_warning());
                    }
                    Ok(Some(found))
                }
                Err(error) => self.alias(name, aliases)?.map(Some).ok_or(error),
            },
            Lookup::Having(aliases, keys) => self.selected_or_grouped(name, aliases, keys),
        }
    }

    fn selected_or_grouped(
        &self,
        name: &ColumnName,
        aliases: &Aliases,
        keys: &[(Option<&ColumnName>, Expr)],
    ) -> Result<Option<Expr>> {
        let is_meant = |key: &ColumnName| {
            let agree = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
            // With a table's name it is a column of that table, which may be one of the outer query.
            storage::same_name(&key.name, &name.name)
                && (name.table.is_none() || name.table == key.table)
                && agree(&key.database, &name.database)
        };
        let grouped = keys.iter().find(|(key, _)| key.is_some_and(is_meant)).map(|(_, expr)| expr.clone());
        let selected = self.alias(name, aliases)?;
        let grouped = match (grouped, &selected) {
            (None, Some(_)) => self.grouped_column(name, keys),
            (grouped, _) => grouped,
        };
        match (grouped, selected) {
            (Some(grouped), selected) => {
                if selected.is_some_and(|selected| !is_same(&selected, &grouped)) {
                    self.level
                        .context
                        .warnings
                        .borrow_mut()
                        .push(Error::ambiguous_column(&name.name, self.name).into_warning());
                }
                Ok(Some(grouped))
            }
            (None, Some(selected)) => Ok(Some(selected)),
            (None, None) => {
                // A column that is selected under another name, or one of a table that both name.
                let Some(found) = self.found(name)? else { return Ok(None) };
                let selected = aliases.iter().map(|(_, expr)| expr).chain(keys.iter().map(|(_, key)| key));
                let is_selected = selected.into_iter().any(|expr| is_same(expr, &found));
                Ok(is_selected.then_some(found))
            }
        }
    }

    /// A column that is grouped by under another name: `SELECT a AS b, SUM(a) AS a ... GROUP BY b HAVING a = 1`.
    fn grouped_column(&self, name: &ColumnName, keys: &[(Option<&ColumnName>, Expr)]) -> Option<Expr> {
        let column = self.level.expr(self.level.find(name, self.visible, self.name).ok()??);
        keys.iter().any(|(_, key)| is_same(key, &column)).then_some(column)
    }

    fn or_outer(&self, name: &ColumnName, found: Option<Expr>) -> Result<Expr> {
        if let Some(found) = found {
            return Ok(found);
        }
        match self.level.outer(name) {
            Ok(Some(expr)) => Ok(expr),
            Ok(None) => match &name.table {
                // Of a query that reads nothing the table is what is not there, as in MySQL.
                Some(table) if self.level.parent.is_none() && self.level.sources.is_empty() => {
                    Err(Error::unknown_table_in(table, self.name))
                }
                _ => Err(Error::unknown_column(&display(name), self.name)),
            },
            // Unknown out there as well: the message names the clause where it stands.
            Err(error) if error.code == 1054 => Err(Error::unknown_column(&display(name), self.name)),
            Err(error) => Err(error),
        }
    }

    /// What an aggregate's arguments see: the tables first, and no other aggregate.
    fn arguments(&self) -> Clause<'a> {
        let lookup = match self.lookup {
            Lookup::Having(aliases, _) | Lookup::AliasesFirst(aliases) => Lookup::ColumnsFirst(aliases),
            other => other,
        };
        Clause { aggregating: false, windowing: false, lookup, ..*self }
    }

    fn call(&self, written: &ast::Aggregate) -> Result<AggregateCall> {
        self.level.context.binder(&self.arguments()).aggregate_call(written)
    }
}

fn is_same(a: &Expr, b: &Expr) -> bool {
    a.node == b.node
}

impl Scope for Clause<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        self.or_outer(name, self.local(name)?)
    }

    fn outer_column(&self, name: &ColumnName) -> Result<Expr> {
        match self.lookup {
            // What HAVING itself may name is narrower than what its subqueries see.
            Lookup::Having(aliases, _) => Clause { lookup: Lookup::ColumnsFirst(aliases), ..*self }.column(name),
            Lookup::Selecting(aliases) => {
                let found = match self.found(name)? {
                    None => self.alias(name, aliases)?,
                    found => found,
                };
                let mut is_aggregate = false;
                if let Some(found) = &found {
                    found.walk(&mut |expr| is_aggregate |= matches!(expr.node, Node::Aggregate(_)));
                }
                if is_aggregate {
                    return Err(Error::illegal_reference(&name.name, "reference to group function"));
                }
                self.or_outer(name, found)
            }
            _ => self.column(name),
        }
    }

    fn subquery(&self, query: &Query) -> Result<Subquery> {
        self.level.bind_subquery(query, self)
    }

    fn convert_subquery(&self, id: usize, column: usize, charset: Charset) -> Result<()> {
        match self.level.subqueries.borrow_mut()[id].query.convert_output(column, charset) {
            true => Ok(()),
            false => Err(Error::unsupported("IN with a recursive subquery in another character set")),
        }
    }

    fn number_subquery(&self, id: usize, column: usize) -> Option<TypeInfo> {
        self.level.subqueries.borrow_mut()[id].query.number_output(column)
    }

    fn outer_number(&self, parameter: usize) -> Option<Expr> {
        self.level.outer_number(parameter)
    }

    fn aggregate(&self, written: &ast::Aggregate) -> Result<Expr> {
        let level = self.level;
        let before = self.marks();
        let call = self.call(written)?;
        let innermost = |depth: Option<usize>, expr: &Expr| match (depth, self.depth_of(expr)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let order = call.order_by.iter().map(|(expr, _)| expr);
        let depth = call.args.iter().chain(order).fold(None, innermost);
        let allowed = self.aggregating_levels();
        let is_allowed = |depth: &usize| allowed.get(*depth).copied().unwrap_or(false);
        let computed_at = match depth {
            Some(depth) if is_allowed(&depth) => Some(depth),
            Some(depth) => (1..depth).chain([0]).find(is_allowed),
            None => (0..allowed.len()).find(is_allowed),
        };
        match computed_at {
            None => Err(Error::invalid_group_function()),
            Some(0) if depth == Some(0) || self.aggregating => level.add_aggregate(call),
            Some(depth) => {
                // Bound once more, further out.
                self.return_to(&before);
                match self.aggregate_at(depth, written) {
                    // An alias of the outer select list is no column out there: it is summed up here.
                    Err(error) if error.code == 1054 && self.aggregating => level.add_aggregate(self.call(written)?),
                    result => result,
                }
            }
        }
    }

    fn window(&self, written: &ast::WindowCall) -> Result<Expr> {
        if !self.windowing {
            return Err(Error::misplaced_window_function(written.function.name()));
        }
        // Aggregates may stand in it: over groups it sees what these give.
        let inner = Clause { aggregating: true, ..self.arguments() };
        let call = window::bind(self.level.context, &inner, self.level.named_windows, written)?;
        Ok(self.level.add_window(call))
    }

    fn grouping(&self, args: &[ast::Expr]) -> Result<Expr> {
        if !self.aggregating || !self.level.rolls_up {
            return Err(Error::invalid_group_function());
        }
        let mut binder = self.level.context.binder(self);
        let args = args.iter().map(|arg| binder.bind(arg)).collect::<Result<Vec<_>>>()?;
        Ok(Expr { node: Node::Grouping(args), ty: TypeInfo::bigint(20).not_null() })
    }

    fn fulltext(&self, columns: &[Expr]) -> Result<(Arc<storage::Table>, usize, Vec<Expr>)> {
        fulltext::index_of(self.level, columns)
    }

    fn aggregating_levels(&self) -> Vec<bool> {
        let mut levels = vec![self.aggregating];
        levels.extend(self.level.parent.map(|parent| parent.aggregating_levels()).unwrap_or_default());
        levels
    }

    fn marks(&self) -> Vec<(usize, usize)> {
        let mut marks = vec![(self.level.outer.borrow().len(), self.level.subqueries.borrow().len())];
        marks.extend(self.level.parent.map(|parent| parent.marks()).unwrap_or_default());
        marks
    }

    fn return_to(&self, marks: &[(usize, usize)]) {
        let Some(((outer, subqueries), further_out)) = marks.split_first() else { return };
        self.level.outer.borrow_mut().truncate(*outer);
        self.level.subqueries.borrow_mut().truncate(*subqueries);
        if let Some(parent) = self.level.parent {
            parent.return_to(further_out);
        }
    }

    fn aggregate_at(&self, depth: usize, written: &ast::Aggregate) -> Result<Expr> {
        match (depth, self.level.parent) {
            (0, _) => self.level.add_aggregate(self.call(written)?),
            (_, Some(parent)) => Ok(self.level.outer_value(parent.aggregate_at(depth - 1, written)?)),
            (_, None) => Err(Error::invalid_group_function()),
        }
    }

    fn depth_of(&self, expr: &Expr) -> Option<usize> {
        let mut depth: Option<usize> = None;
        let mut note = |found: Option<usize>| {
            depth = match (depth, found) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        };
        let further_out = |expr: &Expr| self.level.parent?.depth_of(expr).map(|depth| depth + 1);
        expr.walk(&mut |expr| match &expr.node {
            Node::Column(_) | Node::EnumName { .. } | Node::SetNames { .. } => note(Some(0)),
            Node::Aggregate(_) | Node::Window(_) => note(Some(0)),
            Node::Parameter(index) => {
                if let Some(index) = index.checked_sub(self.level.context.parameter_count) {
                    note(self.level.outer.borrow().get(index).and_then(further_out));
                }
            }
            Node::ScalarQuery { query, .. }
            | Node::Exists { query }
            | Node::InQuery { query, .. }
            | Node::Quantified { query, .. } => {
                if let Some(subquery) = self.level.subqueries.borrow().get(*query) {
                    subquery.outer.iter().for_each(|outer| note(self.depth_of(outer)));
                }
            }
            _ => {}
        });
        depth
    }

    fn default_of(&self, name: &ColumnName) -> Result<Expr> {
        let slot = self
            .level
            .find(name, self.visible, self.name)?
            .ok_or_else(|| Error::unknown_column(&display(name), self.name))?;
        self.level.check_read(slot)?;
        let (source, column) = self.level.slots[slot];
        match self.level.sources[source as usize].stored_column(column as usize) {
            Some((table, column)) => default_expr(&table.columns[column], self.level.context.eval.zone),
            None => Err(Error::no_default(&name.name)),
        }
    }

    fn values_of(&self, name: &ColumnName) -> Result<Expr> {
        let Some(base) = self.values_base else {
            // In a subquery of ON DUPLICATE KEY UPDATE it is the row of the statement.
            return match self.level.parent {
                Some(parent) => Ok(self.level.outer_value(parent.values_of(name)?)),
                // Elsewhere nothing is inserted.
                None => match self.found(name)? {
                    Some(_) => Ok(Expr::null()),
                    None => Err(Error::unknown_column(&display(name), self.name)),
                },
            };
        };
        let slot = self
            .level
            .find(name, self.visible, self.name)?
            .ok_or_else(|| Error::unknown_column(&display(name), self.name))?;
        self.level.check_read(slot)?;
        let (source, column) = self.level.slots[slot];
        let column = &self.level.sources[source as usize].columns[column as usize];
        let at = slot - self.level.sources[source as usize].slot_base;
        Ok(Expr::column(base + at, &column.ty, true))
    }
}
