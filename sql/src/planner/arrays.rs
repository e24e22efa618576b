//! Multi-valued indexes: conditions that ask whether an array has an element.
//!
//! ```text
//! KEY ((CAST(doc->'$.tags' AS UNSIGNED ARRAY)))
//!
//! 3 MEMBER OF (doc->'$.tags')                   rows with 3
//! JSON_CONTAINS(doc->'$.tags', '[3, 5]')        rows with 3
//! JSON_OVERLAPS(doc->'$.tags', '[3, 5]')        rows with 3, rows with 5
//! ```
//!
//! Other parts of the index take part where a condition gives them one value: all parts before the array have to, and
//! those behind it may, up to the first that has none.
//!
//! The condition is evaluated on what is found. What cannot be an element of the index is known only when the plan runs:
//! then all rows are read. Such an index has no row with an empty array, and some rows several times: so it serves
//! nothing else, neither an order nor a scan.

use std::sync::Arc;

use format::value::{ColumnType, Value};
use storage::Table;

use super::bare::bare;
use super::range::KeyExpr;
use super::row_rules::bind;
use super::{PlanContext, Source};
use crate::expression::{Expr, Node};
use crate::types::TypeInfo;

/// What is looked for in the arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A value.
    Member,
    /// All elements of a document.
    All,
    /// Some element of a document.
    Any,
}

/// The rows of a table whose arrays have certain elements.
#[derive(Debug)]
pub struct ElementsAccess {
    pub index: usize,
    /// What the search is made of.
    pub condition: Expr,
    pub elements: ColumnType,
    pub asked: Asked,
    pub value: Expr,
    /// For messages about the value: the function, and which of its arguments it is.
    pub function: &'static str,
    pub argument: usize,
    /// The part that holds the array.
    pub at: usize,
    /// What the parts around it are equal to, in the order of the index.
    pub others: Vec<KeyExpr>,
}

impl ElementsAccess {
    /// How many parts of the index are used.
    pub fn parts(&self) -> usize {
        self.others.len() + 1
    }
}

/// The ways to answer a condition by a multi-valued index. `points` gives the one value that a column is compared with.
pub fn searches_of(
    context: &PlanContext<'_>,
    condition: &Expr,
    source: &Source,
    table: &Arc<Table>,
    known: &dyn Fn(&Expr) -> bool,
    points: &dyn Fn(usize) -> Option<KeyExpr>,
) -> Vec<ElementsAccess> {
    let mut found = Vec::new();
    let Node::Call { function, args } = &condition.node else { return found };
    let [one, other] = &args[..] else { return found };
    let sides: &[(&Expr, &Expr, Asked, usize)] = match function.name {
        "member of" => &[(other, one, Asked::Member, 1)],
        "json_contains" => &[(one, other, Asked::All, 2)],
        "json_overlaps" => &[(one, other, Asked::Any, 2), (other, one, Asked::Any, 1)],
        _ => return found,
    };
    // Two partitions may have come to rows of one number, by which a row is known that several elements lead to.
    if table.is_partitioned() && table.has_row_id() {
        return found;
    }
    for (number, index) in table.indexes.iter().enumerate() {
        let Some(at) = index.parts.iter().position(|part| part.elements.is_some()) else { continue };
        let part = &index.parts[at];
        let Some(elements) = &part.elements else { continue };
        let point = |part: &storage::IndexPart| points(part.column).filter(|_| part.prefix_chars.is_none());
        let mut others: Vec<KeyExpr> = index.parts[..at].iter().map_while(point).collect();
        if others.len() < at {
            continue;
        }
        others.extend(index.parts[at + 1..].iter().map_while(point));
        let Some(generated) = &table.columns[part.column].generated else { continue };
        let Ok(cast) = bind(context.eval, &table.columns, &generated.expression) else { continue };
        let Node::CastArray { expr, .. } = cast.node else { continue };
        let mut indexed = *expr;
        indexed.walk_mut(&mut |expr| {
            if let Some(slot) = expr.as_column_mut() {
                *slot += source.slot_base;
            }
            false
        });
        let indexed = plain(&indexed, &[], &mut false);
        for (array, value, asked, argument) in sides {
            let mut read_values = false;
            if plain(array, context.eval.parameters, &mut read_values) != indexed || !known(value) {
                continue;
            }
            if read_values {
                context.reads_values.set(true);
            }
            found.push(ElementsAccess {
                index: number,
                condition: condition.clone(),
                elements: elements.clone(),
                asked: *asked,
                value: (*value).clone(),
                function: function.name,
                argument: *argument,
                at,
                others: others.clone(),
            });
        }
    }
    found
}

/// An expression as [`bare`] gives it; the collations of texts in it do not count, which are paths of documents.
fn plain(expr: &Expr, parameters: &[Value], read_values: &mut bool) -> Expr {
    let mut plain = bare(expr, parameters, read_values);
    plain.walk_mut(&mut |expr| {
        if let Node::Constant(_) = expr.node {
            expr.ty = TypeInfo::NULL;
        }
        false
    });
    plain
}
