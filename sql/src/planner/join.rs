//! The order of tables: from the tree of FROM to nested loops.
//!
//! Inner joins are flattened into *nests*: tables and conditions without order. A
//! LEFT JOIN keeps its inner side as a nest of its own, which stands behind the
//! tables of its outer side. Within a nest the cheapest next table is taken, given
//! those that stand already; each condition is evaluated as soon as its tables are
//! read. STRAIGHT_JOIN keeps the order written.
//!
//! A LEFT JOIN whose inner side must not be NULL by WHERE is an inner join.
//!
//! ```text
//! FROM a JOIN b ON p LEFT JOIN (c JOIN d ON q) ON r WHERE s
//! nest   tables a b   conditions p s   lefts [ nest: tables c d, conditions q r ]
//! steps  b, a, Left { d, c }
//! ```

use format::value::{ColumnType, Date, DateTime, Value};
use storage::Table;

use super::access::{self, Access, Choice, PartRange};
use super::clause::Clause;
use super::scope::{JoinTree, Level};
use super::{Filter, PlanContext, SelectPlan, Source, SourceKind, Step, SubqueryPlan, TableStep};
use crate::error::{Error, Result};
use crate::expression::{Comparison, Expr, Node, comparison_of};
use crate::parser::ast::{AggregateFunction, BinaryOp};
use crate::types::TypeInfo;

/// The most tables of one SELECT, as in MySQL.
const TABLES_MAX: usize = 61;

/// A set of sources.
type Mask = u64;

/// FROM and WHERE with their conditions bound.
pub struct BoundTree {
    root: Nest,
    straight: bool,
}

#[derive(Default)]
struct Nest {
    tables: Vec<usize>,
    lefts: Vec<Left>,
    conditions: Vec<Expr>,
}

struct Left {
    nest: Nest,
    /// The sources of the outer side.
    requires: Mask,
}

impl BoundTree {
    pub fn for_each_condition(&self, visit: &mut dyn FnMut(&Expr)) {
        self.root.for_each(visit);
    }

    /// The conditions that hold for every row of the result: not those of outer joins.
    pub fn for_each_inner_condition(&self, visit: &mut dyn FnMut(&Expr)) {
        self.root.conditions.iter().for_each(visit);
    }
}

impl Nest {
    fn for_each(&self, visit: &mut dyn FnMut(&Expr)) {
        self.conditions.iter().for_each(&mut *visit);
        self.lefts.iter().for_each(|left| left.nest.for_each(visit));
    }

    fn mask(&self) -> Mask {
        let own = self.tables.iter().fold(0, |mask, table| mask | 1 << table);
        self.lefts.iter().fold(own, |mask, left| mask | left.nest.mask())
    }

    fn source_list(&self, out: &mut Vec<usize>) {
        out.extend(&self.tables);
        self.lefts.iter().for_each(|left| left.nest.source_list(out));
    }
}

/// Binds the conditions of FROM, and joins WHERE to them.
pub fn bind(level: &Level<'_>, tree: Option<&JoinTree<'_>>, filter: Option<Expr>) -> Result<BoundTree> {
    if level.sources.len() > TABLES_MAX {
        return Err(Error::new(1116, b"HY000", "Too many tables; MySQL can only use 61 tables in a join"));
    }
    let mut root = Nest::default();
    let mut straight = false;
    if let Some(tree) = tree {
        build(level, tree, &mut root, &mut straight)?;
    }
    if let Some(filter) = filter {
        split(zero_dates(level, filter)?, &mut root.conditions);
    }
    simplify(level, &mut root);
    Ok(BoundTree { root, straight })
}

fn build(level: &Level<'_>, tree: &JoinTree<'_>, nest: &mut Nest, any_straight: &mut bool) -> Result<Mask> {
    match tree {
        JoinTree::Leaf(source) => {
            nest.tables.push(*source);
            Ok(1 << source)
        }
        JoinTree::Join { left, right, outer, straight, on, using, visible } => {
            *any_straight |= straight;
            let mut conditions = Vec::new();
            if let Some(on) = on {
                let mut scope = Clause::new(level, "on clause");
                scope.visible = visible;
                split(zero_dates(level, level.context.binder(&scope).bind(on)?)?, &mut conditions);
            }
            for (a, b) in using {
                let scope = Clause::new(level, "on clause");
                let mut binder = level.context.binder(&scope);
                conditions.push(binder.compare_bound(BinaryOp::Equal, level.expr(*a), level.expr(*b))?);
            }
            let left_mask = build(level, left, nest, any_straight)?;
            if *outer {
                let mut inner = Nest::default();
                let right_mask = build(level, right, &mut inner, any_straight)?;
                inner.conditions.extend(conditions);
                nest.lefts.push(Left { nest: inner, requires: left_mask });
                Ok(left_mask | right_mask)
            } else {
                let right_mask = build(level, right, nest, any_straight)?;
                nest.conditions.extend(conditions);
                Ok(left_mask | right_mask)
            }
        }
    }
}

/// What `column IS NULL` finds besides NULL, among the alternatives of a condition: the zero date in a DATE or DATETIME
/// that is NOT NULL, and once, if `sql_auto_is_null` wants it, the row that the session inserted last.
fn zero_dates(level: &Level<'_>, condition: Expr) -> Result<Expr> {
    let Expr { node, ty } = condition;
    let node = match node {
        Node::And(left, right) => Node::And(Box::new(zero_dates(level, *left)?), Box::new(zero_dates(level, *right)?)),
        Node::Or(left, right) => Node::Or(Box::new(zero_dates(level, *left)?), Box::new(zero_dates(level, *right)?)),
        Node::IsNull { expr, negated: false } => {
            let Some(found) = expr.as_column().and_then(|slot| found_by_null(level, slot)) else {
                return Ok(Expr { node: Node::IsNull { expr, negated: false }, ty });
            };
            let how = comparison_of(&expr.ty, &found.ty, "=")?;
            let equal = Node::Compare { op: BinaryOp::Equal, how, left: expr.clone(), right: Box::new(found) };
            if !expr.ty.nullable {
                equal
            } else {
                let is_null = Expr { node: Node::IsNull { expr, negated: false }, ty };
                Node::Or(Box::new(is_null), Box::new(Expr { node: equal, ty: ty.nullable(true) }))
            }
        }
        node => node,
    };
    Ok(Expr { node, ty })
}

/// The value that `IS NULL` finds in a column that has no NULL.
fn found_by_null(level: &Level<'_>, slot: usize) -> Option<Expr> {
    let (source, at) = level.slots[slot];
    let source = &level.sources[source as usize];
    let column = &source.columns[at as usize];
    if column.info.nullable {
        return None;
    }
    match column.ty {
        ColumnType::Date => Some(Expr::constant(Value::Date(Date::ZERO), TypeInfo::date().not_null())),
        ColumnType::DateTime { .. } => {
            Some(Expr::constant(Value::DateTime(DateTime::ZERO), TypeInfo::datetime(0).not_null()))
        }
        _ if source.table().is_some_and(|table| table.auto_increment == Some(at as usize)) => {
            let id = level.context.eval.session.id_found_by_null()?;
            Some(Expr::constant(Value::UInt(id), TypeInfo::bigint_unsigned(20).not_null()))
        }
        _ => None,
    }
}

/// Takes a conjunction apart.
pub fn split(expr: Expr, out: &mut Vec<Expr>) {
    match expr.node {
        Node::And(left, right) => {
            split(*left, out);
            split(*right, out);
        }
        node => out.push(Expr { node, ty: expr.ty }),
    }
}

/// Turns outer joins into inner ones where a condition on the result rejects their NULLs.
fn simplify(level: &Level<'_>, nest: &mut Nest) {
    let mut at = 0;
    while at < nest.lefts.len() {
        let mask = nest.lefts[at].nest.mask();
        let rejected = nest.conditions.iter().any(|condition| rejects_null(level, condition, mask));
        if rejected {
            let left = nest.lefts.remove(at);
            nest.tables.extend(left.nest.tables);
            nest.conditions.extend(left.nest.conditions);
            // Those inside keep their own outer side, which is now part of this nest.
            nest.lefts.splice(at..at, left.nest.lefts);
            at = 0;
        } else {
            at += 1;
        }
    }
    nest.lefts.iter_mut().for_each(|left| simplify(level, &mut left.nest));
}

/// Whether a condition is never true when all columns of some sources are NULL.
fn rejects_null(level: &Level<'_>, condition: &Expr, mask: Mask) -> bool {
    let column_of = |expr: &Expr| expr.as_column().is_some_and(|slot| mask >> level.slots[slot].0 & 1 == 1);
    match &condition.node {
        Node::Compare { op, left, right, .. } => {
            *op != BinaryOp::NullSafeEqual && (column_of(left) || column_of(right))
        }
        Node::Between { expr, negated: false, .. } => column_of(expr),
        Node::In { expr, negated: false, .. } => column_of(expr),
        Node::Like { expr, .. } => column_of(expr),
        Node::IsNull { expr, negated: true } => column_of(expr),
        _ => false,
    }
}

/// What an expression needs before it can be evaluated.
struct Reads<'p> {
    slots: &'p [(u16, u16)],
    subqueries: &'p [SubqueryPlan],
}

impl Reads<'_> {
    fn of(&self, expr: &Expr) -> Mask {
        let mut mask = 0;
        expr.walk(&mut |expr| {
            if let Some(slot) = expr.as_column() {
                mask |= 1 << self.slots[slot].0;
            }
            let query = match &expr.node {
                Node::ScalarQuery { query, .. } => *query,
                Node::Exists { query } | Node::InQuery { query, .. } | Node::Quantified { query, .. } => *query,
                _ => return,
            };
            for outer in &self.subqueries[query].outer {
                mask |= self.of(outer);
            }
        });
        mask
    }
}

/// Whether an expression gives another value each time, so that it must be evaluated once per joined row.
fn is_volatile(expr: &Expr) -> bool {
    let mut volatile = false;
    expr.walk(&mut |expr| match &expr.node {
        Node::Call { function, .. } => volatile |= !function.deterministic,
        Node::UserVariable(_) | Node::AssignVariable(..) => volatile = true,
        _ => {}
    });
    volatile
}

struct Planner<'p, 'c> {
    context: &'p PlanContext<'c>,
    sources: &'p [Source],
    reads: Reads<'p>,
    straight: bool,
}

/// A condition that waits for its tables.
struct Waiting {
    expr: Expr,
    needs: Mask,
    placed: bool,
}

/// How many combinations of rows a join is expected to look at.
pub fn combinations(steps: &[Step]) -> f64 {
    let rows = |step: &Step| match step {
        Step::Table(step) => step.rows as f64,
        Step::Left { steps, .. } => combinations(steps),
    };
    steps.iter().map(rows).product()
}

/// Orders the tables of a plan and finds the access to each.
pub fn plan(context: &PlanContext<'_>, plan: &mut SelectPlan, tree: BoundTree, straight: bool) -> Result<()> {
    let BoundTree { mut root, straight: straight_here } = tree;
    let mut constants = Vec::new();
    let subqueries = std::mem::take(&mut plan.subqueries);
    let reads = Reads { slots: &plan.slots, subqueries: &subqueries };
    let mut kept = Vec::new();
    for condition in root.conditions.drain(..) {
        let free = reads.of(&condition) == 0 && (!is_volatile(&condition) || plan.sources.is_empty());
        if free { constants.push(condition) } else { kept.push(condition) }
    }
    root.conditions = kept;
    let planner = Planner { context, sources: &plan.sources, reads, straight: straight || straight_here };
    let mut rows = 1.0;
    let wanted = WantedOrder::of(plan, &root);
    let mut steps = planner.nest(root, 0, &mut rows, wanted.as_ref())?;
    plan.constants = constants;
    if let Some(wanted) = wanted {
        settle_order(plan, &mut steps, &wanted);
    }
    plan.steps = steps;
    plan.subqueries = subqueries;
    Ok(())
}

impl Planner<'_, '_> {
    /// The steps of a nest, behind the tables of `before`.
    fn nest(&self, nest: Nest, before: Mask, rows: &mut f64, wanted: Option<&WantedOrder>) -> Result<Vec<Step>> {
        let all = nest.mask();
        let mut waiting: Vec<Waiting> = nest
            .conditions
            .into_iter()
            .map(|expr| {
                let mut needs = self.reads.of(&expr);
                if is_volatile(&expr) {
                    needs |= all;
                }
                Waiting { expr, needs, placed: false }
            })
            .collect();
        let mut tables = nest.tables;
        let mut lefts = nest.lefts;
        let mut steps = Vec::new();
        let mut placed = before;
        while !tables.is_empty() || !lefts.is_empty() {
            let mut best: Option<(usize, Choice, f64)> = None;
            let first = steps.is_empty() && before == 0;
            for (at, &table) in tables.iter().enumerate() {
                let only = self.sources.len() == 1;
                let choice = self.best_choice(table, placed, &waiting, if first && only { wanted } else { None });
                // What this step multiplies the work by, before the work itself.
                let weight = choice.rows * 1000.0 + choice.cost;
                if best.as_ref().is_none_or(|(.., other)| weight < *other) {
                    best = Some((at, choice, weight));
                }
                if self.straight {
                    break;
                }
            }
            // An outer join's inner side adds columns, not rows: as soon as it can stand.
            let ready = lefts.iter().position(|left| left.requires & !placed == 0);
            let take_left = match (&best, ready) {
                (None, Some(left)) => Some(left),
                (Some((_, choice, _)), Some(left))
                    if choice.rows > 1.0 && self.helps(&lefts[left], &tables, &waiting, placed) =>
                {
                    Some(left)
                }
                _ => None,
            };
            if let Some(at) = take_left {
                let left = lefts.remove(at);
                let mask = left.nest.mask();
                let mut sources = Vec::new();
                left.nest.source_list(&mut sources);
                let mut inner_rows = 1.0;
                let inner = self.nest(left.nest, placed, &mut inner_rows, None)?;
                *rows *= inner_rows.max(1.0);
                placed |= mask;
                let mut filters = Vec::new();
                for condition in waiting.iter_mut().filter(|c| !c.placed && c.needs & !placed == 0) {
                    condition.placed = true;
                    filters.push(condition.expr.clone());
                }
                steps.push(Step::Left { steps: inner, sources, filters });
                continue;
            }
            let Some((at, choice, _)) = best else {
                return Err(Error::internal("a join without an order"));
            };
            let source = tables.remove(at);
            placed |= 1 << source;
            *rows *= choice.rows.max(1.0);
            let mut filters = Vec::new();
            let candidates = candidates(&waiting, placed & !(1 << source), source);
            for (number, condition) in waiting.iter_mut().enumerate() {
                if condition.placed || condition.needs & !placed != 0 {
                    continue;
                }
                condition.placed = true;
                let answered = choice.answered.iter().any(|at| candidates[*at] == number);
                filters.push(Filter { expr: condition.expr.clone(), answered });
            }
            steps.push(Step::Table(TableStep {
                source,
                access: choice.access,
                covering: choice.covering,
                filters,
                rows: choice.rows.round().max(1.0) as u64,
                possible_keys: choice.possible_keys,
            }));
        }
        debug_assert!(waiting.iter().all(|condition| condition.placed), "every condition has its place");
        if let Some(lost) = waiting.iter().find(|condition| !condition.placed) {
            return Err(Error::internal(format!("no place for a condition {:?}", lost.expr.node)));
        }
        Ok(steps)
    }

    /// Whether a table that waits is joined to the inner side of an outer join.
    fn helps(&self, left: &Left, tables: &[usize], waiting: &[Waiting], placed: Mask) -> bool {
        let mask = left.nest.mask();
        waiting.iter().filter(|c| !c.placed).any(|condition| {
            condition.needs & mask != 0 && tables.iter().any(|table| condition.needs & !(placed | mask) == 1 << table)
        })
    }

    fn best_choice(&self, table: usize, placed: Mask, waiting: &[Waiting], wanted: Option<&WantedOrder>) -> Choice {
        let source = &self.sources[table];
        let numbers = candidates(waiting, placed, table);
        let conditions: Vec<&Expr> = numbers.iter().map(|number| &waiting[*number].expr).collect();
        let known = |expr: &Expr| self.reads.of(expr) & !placed == 0 && !is_volatile(expr);
        let mut choices = access::choices(self.context, source, &conditions, &known);
        if let (Some(wanted), Some(stored)) = (wanted, source.table()) {
            for number in 0..stored.indexes.len() {
                let scanned = choices.iter().any(|c| matches!(c.access, Access::Scan { index, .. } if index == number));
                if !scanned && let Some(choice) = access::scan_choice(self.context, source, stored, number) {
                    let possible_keys = choices[0].possible_keys.clone();
                    choices.push(Choice { possible_keys, ..choice });
                }
            }
            let filtered = !conditions.is_empty();
            for choice in &mut choices {
                let ordered = wanted.direction(stored, source.slot_base, &choice.access, choice.fixed_parts).is_some();
                match (ordered, wanted.limit) {
                    // The scan ends when the limit is reached; conditions that are not answered stretch the way.
                    (true, Some(limit)) => {
                        let stretch = if filtered && choice.answered.len() < conditions.len() { 10.0 } else { 1.0 };
                        let share = (limit * stretch / choice.rows.max(1.0)).min(1.0);
                        choice.cost *= share.max(0.0001);
                    }
                    (true, None) => {}
                    (false, _) => choice.cost += 0.1 * choice.rows * choice.rows.max(2.0).log2() * 0.2 + 0.05,
                }
            }
        }
        choices
            .into_iter()
            .min_by(|a, b| {
                let tie = |choice: &Choice| match &choice.access {
                    Access::Point { index, .. } => (0, *index),
                    Access::Range { index, parts, .. } => (1 + 16usize.saturating_sub(parts.len()), *index),
                    Access::Scan { index, .. } => (100, *index),
                    Access::Rows => (200, 0),
                };
                a.cost.total_cmp(&b.cost).then_with(|| tie(a).cmp(&tie(b)))
            })
            .unwrap_or(Choice {
                access: Access::Rows,
                rows: 1.0,
                cost: 1.0,
                covering: false,
                answered: vec![],
                possible_keys: vec![],
                fixed_parts: 0,
            })
    }
}

/// The conditions that can be evaluated once a table joins those placed.
fn candidates(waiting: &[Waiting], placed: Mask, table: usize) -> Vec<usize> {
    let with = placed | 1 << table;
    let fits =
        |condition: &Waiting| !condition.placed && condition.needs & !with == 0 && condition.needs >> table & 1 == 1;
    (0..waiting.len()).filter(|number| fits(&waiting[*number])).collect()
}

/// The order that a query of one table would like to read in.
struct WantedOrder {
    /// (slot, descending)
    columns: Vec<(usize, bool)>,
    limit: Option<f64>,
    /// Slots that WHERE makes equal to a constant: they do not count in an order.
    constant: Vec<usize>,
    /// MIN or MAX alone: the first row that is not NULL settles it.
    extreme: bool,
}

impl WantedOrder {
    fn of(plan: &SelectPlan, root: &Nest) -> Option<WantedOrder> {
        let constant: Vec<usize> = root
            .conditions
            .iter()
            .filter_map(|condition| match &condition.node {
                Node::Compare { op: BinaryOp::Equal, left, right, how }
                    if !matches!(how, Comparison::Double | Comparison::DoubleFixed { .. }) =>
                {
                    match (left.as_column(), right.as_column()) {
                        (Some(slot), None) if right.is_constant() => Some(slot),
                        (None, Some(slot)) if left.is_constant() => Some(slot),
                        _ => None,
                    }
                }
                _ => None,
            })
            .collect();
        if let Some(group) = &plan.group {
            // MIN(column) or MAX(column) as the only aggregate of an ungrouped query.
            let [call] = &group.aggregates[..] else { return None };
            let descending = match call.function {
                AggregateFunction::Min => false,
                AggregateFunction::Max => true,
                _ => return None,
            };
            let one_table = plan.sources.len() == 1 && group.keys.is_empty() && group.kept.is_empty();
            let slot = call.args.first()?.as_column()?;
            let plain = matches!(call.args[0].node, Node::Column(_));
            return (one_table && plain).then(|| WantedOrder {
                columns: vec![(slot, descending)],
                limit: Some(1.0),
                constant,
                extreme: true,
            });
        }
        if plan.order.is_empty() || plan.distinct {
            return None;
        }
        let mut columns = Vec::new();
        for (expr, descending) in &plan.order {
            if expr.is_constant() {
                continue;
            }
            // ENUM and SET sort by their names' numbers in MySQL, and so do their stored bytes.
            columns.push((expr.as_column()?, *descending));
        }
        let limit = match &plan.limit {
            Some(limit) if !plan.calc_found_rows => Some(match &limit.count.node {
                Node::Constant(Value::Int(count)) => *count as f64,
                Node::Constant(Value::UInt(count)) => *count as f64,
                _ => 20.0,
            }),
            _ => None,
        };
        Some(WantedOrder { columns, limit, constant, extreme: false })
    }

    /// Whether an access yields the order: Some(reverse).
    fn direction(&self, table: &Table, slot_base: usize, access: &Access, fixed_parts: usize) -> Option<bool> {
        let (index, fixed) = match access {
            Access::Scan { index, .. } => (*index, 0),
            Access::Range { index, .. } => (*index, fixed_parts),
            Access::Point { .. } => return Some(false),
            Access::Rows => return None,
        };
        let index = &table.indexes[index];
        if let Access::Range { parts, .. } = access {
            // Several points in front of the order: each is in order, together they are not; but the points themselves
            // are.
            let several = parts.iter().position(|part| matches!(part, PartRange::Points(points) if points.len() > 1));
            if several.is_some_and(|at| at < fixed) {
                return None;
            }
            let likes = parts.iter().any(|part| match part {
                PartRange::Intervals(list) => list.iter().any(|interval| interval.like.is_some()),
                PartRange::Points(_) => false,
            });
            if likes && self.columns.iter().any(|(_, descending)| *descending) {
                return None;
            }
        }
        let mut wanted = self.columns.iter().filter(|(slot, _)| !self.constant.contains(slot)).peekable();
        let mut direction = None;
        // The clustered key follows the parts of a secondary index.
        let clustered = table.indexes[0].parts.iter().filter(|_| !index.clustered);
        let parts = index.parts.iter().chain(clustered).enumerate();
        for (at, part) in parts {
            let Some(&&(slot, descending)) = wanted.peek() else { break };
            if part.prefix_chars.is_some() {
                break;
            }
            if slot == slot_base + part.column {
                if direction.is_some_and(|direction| direction != descending) {
                    return None;
                }
                direction = Some(descending);
                wanted.next();
            } else if at >= fixed && !self.constant.contains(&(slot_base + part.column)) {
                return None;
            }
        }
        if wanted.peek().is_some() {
            return None;
        }
        Some(direction.unwrap_or(false))
    }
}

/// Uses the order of the first step, if it is the one wished for.
fn settle_order(plan: &mut SelectPlan, steps: &mut [Step], wanted: &WantedOrder) {
    // With several tables the first one's order is the result's only if no other table stands before it.
    let Some(Step::Table(step)) = steps.first_mut() else { return };
    let source = &plan.sources[step.source];
    let SourceKind::Table(table) = &source.kind else { return };
    let fixed = match &step.access {
        Access::Range { parts, .. } => {
            parts.iter().take_while(|part| matches!(part, PartRange::Points(points) if points.len() == 1)).count()
        }
        _ => 0,
    };
    let slots = source.slot_base..source.slot_base + source.columns.len();
    if wanted.columns.iter().any(|(slot, _)| !slots.contains(slot)) {
        return;
    }
    let Some(descending) = wanted.direction(table, source.slot_base, &step.access, fixed) else { return };
    if let Access::Point { .. } = step.access
        && plan.sources.len() > 1
        && wanted.extreme
    {
        return;
    }
    match &mut step.access {
        Access::Scan { reverse, .. } | Access::Range { reverse, .. } => *reverse = descending,
        _ => {}
    }
    if wanted.extreme {
        if let Some(group) = &mut plan.group {
            group.first_row_settles = true;
        }
    } else {
        plan.order.clear();
        plan.order_by_index = true;
    }
}
