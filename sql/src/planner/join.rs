//! The order of tables: from nests to nested loops.
//!
//! Within a nest the cheapest next table is taken, given those that stand already; each condition is evaluated as soon
//! as its tables are read. The nest of a LEFT JOIN's inner side stands behind the tables of its outer side.
//! STRAIGHT_JOIN keeps the order written.
//!
//! ```text
//! nest   tables a b   conditions p s   lefts [ nest: tables c d, conditions q r ]
//! steps  b, a, Left { d, c }
//! ```
//!
//! A table that would be read whole for each row of those before it, and that an equality connects with them, is kept
//! in memory and found by hash instead: see [`super::hash_join`].

use super::access::{self, Access, Choice};
use super::hash_join::{self, HashKey};
use super::nest::{BoundTree, Left, Mask, Nest};
use super::wanted_order::{WantedOrder, settle_order};
use super::{Filter, PlanContext, SelectPlan, Source, Step, SubqueryPlan, TableStep};
use crate::error::{Error, Result};
use crate::expression::{Expr, Node};

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
    /// It follows from others, which are evaluated: it serves to find rows, and needs not be evaluated for its own sake.
    is_implied: bool,
}

/// How a table is read, and the keys by which its rows are found once they are kept.
struct Way {
    choice: Choice,
    hash: Vec<HashKey>,
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
        let wait = |expr: Expr, is_implied: bool| {
            let mut needs = self.reads.of(&expr);
            if is_volatile(&expr) {
                needs |= all;
            }
            Waiting { expr, needs, placed: false, is_implied }
        };
        let implied = hash_join::implied(&nest.conditions);
        let mut waiting: Vec<Waiting> = nest.conditions.into_iter().map(|expr| wait(expr, false)).collect();
        waiting.extend(implied.into_iter().map(|expr| wait(expr, true)));
        let mut tables = nest.tables;
        let mut lefts = nest.lefts;
        let mut steps = Vec::new();
        let mut placed = before;
        while !tables.is_empty() || !lefts.is_empty() {
            let mut best: Option<(usize, Way, f64)> = None;
            let first = steps.is_empty() && before == 0;
            for (at, &table) in tables.iter().enumerate() {
                let only = self.sources.len() == 1;
                let choice = self.best_choice(table, placed, &waiting, if first && only { wanted } else { None });
                let way = self.kept_or_read(table, placed, &waiting, choice, *rows);
                // What this step multiplies the work by, before the work itself.
                let weight = way.choice.rows * 1000.0 + way.choice.cost;
                if best.as_ref().is_none_or(|(.., other)| weight < *other) {
                    best = Some((at, way, weight));
                }
                if self.straight {
                    break;
                }
            }
            // An outer join's inner side adds columns, not rows: as soon as it can stand.
            let ready = lefts.iter().position(|left| left.requires & !placed == 0);
            let take_left = match (&best, ready) {
                (None, Some(left)) => Some(left),
                (Some((_, way, _)), Some(left))
                    if way.choice.rows > 1.0 && self.helps(&lefts[left], &tables, &waiting, placed) =>
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
                    if !condition.is_implied {
                        filters.push(condition.expr.clone());
                    }
                }
                steps.push(Step::Left { steps: inner, sources, filters });
                continue;
            }
            let Some((at, Way { choice, hash }, _)) = best else {
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
                if condition.is_implied && !answered && hash.is_empty() {
                    continue;
                }
                let is_local = condition.needs == 1 << source && !is_volatile(&condition.expr);
                filters.push(Filter { expr: condition.expr.clone(), answered, is_local });
            }
            steps.push(Step::Table(TableStep {
                source,
                access: choice.access,
                covering: choice.covering,
                hash,
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

    /// Whether the rows of a table are better kept and found by hash than read as chosen.
    fn kept_or_read(&self, table: usize, placed: Mask, waiting: &[Waiting], mut choice: Choice, rows: f64) -> Way {
        let mut hash = Vec::new();
        if placed != 0 && hash_join::replaces(&self.sources[table], &choice) {
            let conditions = candidates(waiting, placed, table).into_iter().map(|number| &waiting[number].expr);
            hash = hash_join::keys(conditions, 1 << table, &|expr| self.reads.of(expr));
        }
        if !hash.is_empty() {
            hash_join::cost(&mut choice, rows);
        }
        Way { choice, hash }
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
