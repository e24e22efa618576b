//! The select list, GROUP BY, ORDER BY and LIMIT, bound.
//!
//! What each clause sees:
//!
//! | clause | names |
//! |---|---|
//! | ON | the tables of its join |
//! | WHERE, select list | all tables; subqueries of the select list: aliases before them, too |
//! | GROUP BY | tables, then aliases; a number is an item of the select list |
//! | HAVING | what is grouped by and what is selected; in aggregates: tables, then aliases |
//! | ORDER BY | a bare name: aliases first; in expressions: tables, then aliases; a number is an item |
//!
//! An alias stands for its expression, which is then evaluated where it is used.

use super::clause::{Aliases, Clause, Lookup};
use super::members::by_number;
use super::scope::Level;
use super::{LimitPlan, PlanContext, SourceKind};
use crate::error::{Error, Result};
use crate::expression::{Expr, Node};
use crate::information_schema;
use crate::parser::ast::{self, Limit, OrderItem, Select, SelectItem};

/// An item of the select list.
pub struct Item {
    pub name: Box<str>,
    pub expr: Expr,
    /// It may not be read, but that waits for who reads it.
    pub refused: Option<Error>,
}

pub fn bind_items(level: &Level<'_>, select: &Select) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    // Named items, for the subqueries of those that follow.
    let mut aliases: Vec<(Box<str>, Expr)> = Vec::new();
    for item in &select.items {
        level.naming.replace(level.naming_in(item));
        match item {
            SelectItem::All => {
                if level.sources.is_empty() {
                    return Err(Error::new(1096, b"HY000", "No tables used"));
                }
                for slot in &level.all.slots {
                    push_slot(level, *slot, &mut items)?;
                }
            }
            SelectItem::AllOf(table) => {
                let source = level
                    .sources
                    .iter()
                    .find(|source| source.is_called(table.database.as_deref(), &table.name))
                    .ok_or_else(|| Error::unknown_table(&table.name))?;
                for at in 0..source.columns.len() {
                    push_slot(level, source.slot_base + at, &mut items)?;
                }
            }
            SelectItem::Expr { expr, alias, text } => {
                let scope = Clause::windowing(level, "field list", Lookup::Selecting(&aliases));
                let bound = level.context.binder(&scope).bind(expr)?;
                if let Some(alias) = alias {
                    aliases.push((alias.as_str().into(), bound.clone()));
                }
                let name = match (alias, expr) {
                    (Some(alias), _) => alias.as_str(),
                    (None, ast::Expr::Column(column)) => own_name(level, &bound).unwrap_or(&column.name),
                    (None, ast::Expr::Literal(ast::Literal::Null)) => "NULL",
                    (None, ast::Expr::Literal(ast::Literal::String { bytes, .. })) => {
                        items.push(new_item(level, &String::from_utf8_lossy(bytes), bound));
                        continue;
                    }
                    (None, _) => text,
                };
                items.push(new_item(level, name, bound));
            }
        }
    }
    level.naming.take();
    Ok(items)
}

fn new_item(level: &Level<'_>, name: &str, expr: Expr) -> Item {
    Item { name: name.into(), expr, refused: level.naming.borrow_mut().take_refusal() }
}

/// Columns of views are called as there, however the query writes them. In MySQL most of information_schema is views.
fn own_name<'l>(level: &'l Level<'_>, expr: &Expr) -> Option<&'l str> {
    let (source, column) = level.slots[expr.as_column()?];
    let source = &level.sources[source as usize];
    let is_view = match &source.kind {
        SourceKind::Virtual(table) => {
            source.database.eq_ignore_ascii_case("information_schema") && information_schema::is_view(table)
        }
        SourceKind::Derived(derived) => derived.view.is_some(),
        _ => false,
    };
    is_view.then(|| &*source.columns[column as usize].name)
}

fn push_slot(level: &Level<'_>, slot: usize, items: &mut Vec<Item>) -> Result<()> {
    let (source, column) = level.slots[slot];
    let column = &level.sources[source as usize].columns[column as usize];
    if !column.invisible {
        level.check_read_all(slot)?;
        items.push(new_item(level, &column.name, level.expr(slot)));
    }
    Ok(())
}

/// GROUP BY: by expressions, names and numbers of what is selected.
pub fn bind_group(level: &Level<'_>, select: &Select, items: &[Item], aliases: &Aliases) -> Result<Vec<Expr>> {
    let mut keys = Vec::new();
    for item in &select.group_by {
        let expr = match ordinal(&item.expr) {
            Some(number) => items[check_ordinal(number, items.len(), "group statement")?].expr.clone(),
            None => {
                let lookup = match &item.expr {
                    ast::Expr::Column(_) => Lookup::GroupedColumn(aliases),
                    _ => Lookup::ColumnsFirst(aliases),
                };
                let scope = Clause { lookup, ..Clause::new(level, "group statement") };
                level.context.binder(&scope).bind(&item.expr)?
            }
        };
        let mut aggregated = false;
        if super::window::has_window(&expr) {
            return Err(Error::misplaced_window_function("window function"));
        }
        expr.walk(&mut |expr| aggregated |= matches!(expr.node, Node::Aggregate(_)));
        if aggregated {
            return Err(Error::new(1056, b"42000", "Can't group on an aggregate"));
        }
        keys.push(expr);
    }
    Ok(keys)
}

/// ORDER BY, and whether each is descending.
pub fn bind_order(
    level: &Level<'_>,
    order_by: &[OrderItem],
    items: &[Item],
    aliases: &Aliases,
) -> Result<Vec<(Expr, bool)>> {
    let mut order = Vec::new();
    for item in order_by {
        let expr = match ordinal(&item.expr) {
            Some(number) => items[check_ordinal(number, items.len(), "order clause")?].expr.clone(),
            None => {
                let lookup = match &item.expr {
                    ast::Expr::Column(_) => Lookup::AliasesFirst(aliases),
                    _ => Lookup::ColumnsFirst(aliases),
                };
                level.context.binder(&Clause::windowing(level, "order clause", lookup)).bind(&item.expr)?
            }
        };
        order.push((by_number(expr), item.descending));
    }
    Ok(order)
}

pub fn bind_limit(context: &PlanContext<'_>, limit: &Limit) -> Result<LimitPlan> {
    let scope = crate::expression::NoScope;
    let offset = limit.offset.as_ref().map(|offset| context.binder(&scope).bind(offset)).transpose()?;
    Ok(LimitPlan { offset, count: context.binder(&scope).bind(&limit.count)? })
}

/// The number of a bare integer in GROUP BY or ORDER BY.
pub fn ordinal(expr: &ast::Expr) -> Option<u64> {
    match expr {
        ast::Expr::Literal(ast::Literal::Integer(number)) => Some(*number),
        _ => None,
    }
}

pub fn check_ordinal(number: u64, count: usize, clause: &str) -> Result<usize> {
    match number {
        1.. if number <= count as u64 => Ok(number as usize - 1),
        _ => Err(Error::unknown_column(&number.to_string(), clause)),
    }
}
