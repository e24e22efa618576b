//! Conditions and ORDER BY on an expression that is a generated column's read the column, which may have an index: a column
//! of the table, or the hidden one of a functional index.
//!
//! ```text
//! KEY ((LOWER(b)))         WHERE LOWER(b) = 'x'        becomes        WHERE <the index's column> = 'x'
//! ```
//!
//! Only where the column holds what the expression gives, bit for bit: it has its type, and that is none whose values
//! have digits beyond their type. A literal that the plan cache has taken out of the text is looked up; then the plan
//! serves this execution alone.

use storage::{Column, Table};

use crate::expression::{Expr, Node};
use crate::planner::bare::bare;
use crate::planner::logical::Block;
use crate::planner::row_rules::bind;
use crate::planner::{PlanContext, SourceKind};
use crate::types::{Kind, TypeInfo};

/// A column that stands for an expression.
struct Key {
    slot: usize,
    expr: Expr,
}

pub fn replace(context: &PlanContext<'_>, block: &mut Block) {
    let mut keys = Vec::new();
    for source in &block.sources {
        if let SourceKind::Table(table) = &source.kind {
            keys.extend(keys_of(context, table, source.slot_base));
        }
    }
    if keys.is_empty() {
        return;
    }
    let mut change = |expr: &mut Expr| {
        expr.walk_mut(&mut |expr| {
            if matches!(expr.node, Node::Constant(_) | Node::Parameter(_)) || expr.as_column().is_some() {
                return true;
            }
            let mut read_values = false;
            let bare = bare(expr, context.eval.parameters, &mut read_values);
            let Some(key) = keys.iter().find(|key| key.expr == bare) else { return false };
            expr.node = Node::Column(key.slot);
            if read_values {
                context.reads_values.set(true);
            }
            true
        });
    };
    block.from.for_each_condition_mut(&mut change);
    if block.group.is_none() {
        block.order.iter_mut().for_each(|(expr, _)| change(expr));
    }
}

fn keys_of(context: &PlanContext<'_>, table: &Table, slot_base: usize) -> Vec<Key> {
    let mut keys = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let Some(generated) = &column.generated else { continue };
        if !table.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == at)) {
            continue;
        }
        let Ok(mut expr) = bind(context.eval, &table.columns, &generated.expression) else { continue };
        if !holds_all(column, &expr.ty) || expr.as_column().is_some() {
            continue;
        }
        expr.walk_mut(&mut |expr| {
            if let Some(slot) = expr.as_column_mut() {
                *slot += slot_base;
            }
            false
        });
        keys.push(Key { slot: slot_base + at, expr: bare(&expr, &[], &mut false) });
    }
    keys
}

/// Whether the column's values are those of an expression of this type.
fn holds_all(column: &Column, ty: &TypeInfo) -> bool {
    let own = TypeInfo::of_column(&column.ty, true);
    let is_exact = !matches!(ty.kind, Kind::Decimal | Kind::Float | Kind::Text | Kind::Json | Kind::Enum | Kind::Set);
    is_exact
        && own.kind == ty.kind
        && own.unsigned == ty.unsigned
        && (own.decimals == ty.decimals || ty.is_string())
        && (!ty.is_string() || own.collation == ty.collation && own.length >= ty.length)
}
