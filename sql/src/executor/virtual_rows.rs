//! The rows of virtual tables, made for those tables only that the query's conditions let through.
//!
//! A condition on TABLE_SCHEMA or TABLE_NAME is evaluated on the names alone, before rows are made. So are conditions on
//! columns of other tables that must equal these:
//!
//! ```text
//! FROM tables t JOIN statistics s ON s.table_schema = t.table_schema AND s.table_name = t.table_name
//! WHERE t.table_schema = 'shop' AND t.table_name = 'orders'       both are made for shop.orders only
//! ```
//!
//! Only comparisons of strings are taken, which can neither fail nor warn. The steps evaluate all conditions again.

use std::borrow::Cow;

use format::collation::CollationId;
use format::value::Value;

use super::Environment;
use crate::expression::{Comparison, Datum, EvalContext, Expr, Fields, Node, Warnings};
use crate::information_schema::{Facts, TABLE_NAMES, VirtualTable, Wanted, name_columns};
use crate::parser::ast::BinaryOp;
use crate::planner::view::ViewDescriber;
use crate::planner::{SelectPlan, Step};

/// The rows of a virtual table, which is the n-th source of a query.
pub fn of(
    environment: &Environment<'_>,
    plan: &SelectPlan,
    number: usize,
    table: &VirtualTable,
    context: &EvalContext<'_>,
) -> Vec<Vec<Value>> {
    let source = &plan.sources[number];
    let describer = ViewDescriber { instance: environment.instance, eval: context };
    let facts = Facts { views: Some(&describer), ..environment.facts };
    let Some((databases, tables)) = name_columns(&source.database, table) else {
        return (table.rows)(&facts);
    };
    let mut conditions = Vec::new();
    gather(plan, &plan.steps, number, &mut conditions);
    let slots = |columns: Vec<usize>| columns.into_iter().map(|column| source.slot_base + column).collect();
    let names =
        Names { databases: Slots::of(slots(databases), &conditions), tables: Slots::of(slots(tables), &conditions) };
    conditions.retain(|condition| names.decide(condition));
    let (on_databases, on_tables) = conditions.into_iter().partition(|condition| {
        let mut reads_tables = false;
        condition.for_each_column(&mut |slot| reads_tables |= names.tables.has(slot));
        !reads_tables
    });
    // Rows that are left out would not have warned.
    let warnings = Warnings::default();
    let context = &EvalContext { warnings: &warnings, ..*context };
    let condition = Condition { names, on_databases, on_tables, context };
    (table.rows)(&Facts { wanted: Some(&condition), ..facts })
}

/// The conditions that all rows of the result meet, as far as they say something about the rows of a source.
fn gather<'p>(plan: &'p SelectPlan, steps: &'p [Step], source: usize, out: &mut Vec<&'p Expr>) {
    for step in steps {
        if let Step::Table(step) = step {
            out.extend(step.filters.iter().map(|filter| &filter.expr));
        }
    }
    for step in steps {
        if let Step::Semi { steps, .. } = step
            && reads(steps, source)
        {
            gather(plan, steps, source, out);
        }
        if let Step::Left { steps, sources, .. } = step
            && sources.contains(&source)
        {
            // A condition from outside of the outer join sees NULL where its inner side has no row. It may want that,
            // so it says nothing about the inner side's rows.
            out.retain(|condition| {
                let mut reads_inner = false;
                condition.for_each_column(&mut |slot| reads_inner |= sources.contains(&plan.slots[slot].0.into()));
                !reads_inner
            });
            gather(plan, steps, source, out);
        }
    }
}

fn reads(steps: &[Step], source: usize) -> bool {
    steps.iter().any(|step| match step {
        Step::Table(step) => step.source == source,
        Step::Semi { steps, .. } | Step::Left { steps, .. } => reads(steps, source),
    })
}

/// The slots that hold the same name.
struct Slots {
    /// Columns of the table itself.
    own: Vec<usize>,
    /// Columns that must equal these, in the collation of such names.
    equal: Vec<usize>,
}

impl Slots {
    fn of(own: Vec<usize>, conditions: &[&Expr]) -> Slots {
        let mut slots = Slots { own, equal: Vec::new() };
        loop {
            let before = slots.equal.len();
            for condition in conditions {
                if let Node::Compare { op: BinaryOp::Equal, how: Comparison::String(TABLE_NAMES), left, right } =
                    &condition.node
                    && let (Node::Column(left), Node::Column(right)) = (&left.node, &right.node)
                {
                    match (slots.has(*left), slots.has(*right)) {
                        (true, false) => slots.equal.push(*right),
                        (false, true) => slots.equal.push(*left),
                        _ => {}
                    }
                }
            }
            if slots.equal.len() == before {
                return slots;
            }
        }
    }

    fn has(&self, slot: usize) -> bool {
        self.own.contains(&slot) || self.equal.contains(&slot)
    }
}

struct Names {
    databases: Slots,
    tables: Slots,
}

impl Names {
    /// Whether the names alone decide a condition.
    fn decide(&self, condition: &Expr) -> bool {
        let string = |how: &Comparison| match how {
            Comparison::String(id) => Some(*id),
            _ => None,
        };
        let compares = |how: &Comparison, left: &Expr, right: &Expr| {
            string(how).is_some_and(|id| self.is_operand(left, id) && self.is_operand(right, id))
        };
        match &condition.node {
            Node::And(left, right) | Node::Or(left, right) => self.decide(left) && self.decide(right),
            Node::Not(expr) => self.decide(expr),
            Node::Compare { how, left, right, .. } => compares(how, left, right),
            Node::CompareRows { left, right, hows, .. } => {
                left.iter().zip(right).zip(hows).all(|((left, right), how)| compares(how, left, right))
            }
            Node::In { expr, list, .. } => list.iter().all(|(how, member)| compares(how, expr, member)),
            Node::InRows { row, list, .. } => list
                .iter()
                .all(|members| row.iter().zip(members).all(|(expr, (how, member))| compares(how, expr, member))),
            Node::Like { expr, pattern, escape, collation, .. } => {
                let parts = [Some(expr), Some(pattern), escape.as_ref()];
                parts.into_iter().flatten().all(|part| self.is_operand(part, *collation))
            }
            _ => false,
        }
    }

    /// Whether the names give the value of a string that is compared in a collation.
    fn is_operand(&self, expr: &Expr, collation: CollationId) -> bool {
        let is_own = |slot: &usize| self.databases.own.contains(slot) || self.tables.own.contains(slot);
        match &expr.node {
            // A name that equals another one in its own collation may still differ from it in others.
            Node::Column(slot) => {
                is_own(slot) || collation == TABLE_NAMES && (self.databases.has(*slot) || self.tables.has(*slot))
            }
            Node::Constant(_) | Node::Parameter(_) => true,
            Node::Retyped(expr) | Node::ToCharset { expr, .. } => self.is_own_operand(expr),
            Node::Call { function, args } => match function.name {
                "database" | "schema" => true,
                "lower" | "lcase" | "upper" | "ucase" => args.iter().all(|arg| self.is_own_operand(arg)),
                _ => false,
            },
            _ => false,
        }
    }

    fn is_own_operand(&self, expr: &Expr) -> bool {
        self.is_operand(expr, CollationId::BINARY)
    }
}

/// What a query's conditions say of names.
struct Condition<'a> {
    names: Names,
    /// Those that read no name of a table.
    on_databases: Vec<&'a Expr>,
    on_tables: Vec<&'a Expr>,
    context: &'a EvalContext<'a>,
}

impl Condition<'_> {
    fn let_through(&self, conditions: &[&Expr], database: &str, table: &str) -> bool {
        let candidate = Candidate { names: &self.names, database, table };
        // What a condition fails with is the error of the step that evaluates it again.
        conditions.iter().all(|condition| condition.is_true(self.context, &candidate).unwrap_or(true))
    }
}

impl Wanted for Condition<'_> {
    fn database(&self, database: &str) -> bool {
        self.let_through(&self.on_databases, database, "")
    }

    fn table(&self, database: &str, table: &str) -> bool {
        self.let_through(&self.on_tables, database, table)
    }
}

/// A table of which nothing but the names is known.
struct Candidate<'a> {
    names: &'a Names,
    database: &'a str,
    table: &'a str,
}

impl Fields for Candidate<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        let name = if self.names.tables.has(slot) { self.table } else { self.database };
        Datum::Bytes(Cow::Borrowed(name.as_bytes()))
    }
}
