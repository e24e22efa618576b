//! The order of tables: from nests to nested loops.
//!
//! Within a nest of up to `TABLES_SEARCHED` tables the order is the cheapest of all. Of more tables each is tried as the
//! first, followed by the cheapest next one that a condition connects with those before it; the cheapest of these orders
//! counts. Each condition is evaluated as soon as its tables are read; but one that asks a subquery of the row, as a
//! semi-join does, where the fewest rows ask it. The nest of a LEFT JOIN's inner side stands behind the tables of its outer
//! side. STRAIGHT_JOIN keeps the order written.
//!
//! ```text
//! nest   tables a b   conditions p s   lefts [ nest: tables c d, conditions q r ]
//! steps  b, a, Left { d, c }
//! ```
//!
//! A table that would be read whole for each row of those before it, and that an equality connects with them, is kept
//! in memory and found by hash instead: see [`super::hash_join`].

use storage::ReadMode;

use super::access::{self, Access, Choice};
use super::hash_join::{self, HashKey, HashPlan};
use super::logical::{self, Left, Mask, Nest, Semi, is_volatile};
use super::selectivity;
use super::wanted_order::{WantedOrder, settle_order, settle_relevance};
use super::{
    Estimate, Expected, Filter, PlanContext, SelectPlan, Source, SourceKind, Step, SubqueryPlan, TableStep,
    column_tests, pruning,
};
use crate::error::{Error, Result};
use crate::expression::{Expr, Node};
use crate::types::Switches;

/// Of nests of more tables than this not all orders are compared.
const TABLES_SEARCHED: usize = 8;

/// The share of rows that a semi-join is taken to let through.
const SEMI_SHARE: f64 = 0.5;

/// What an expression needs before it can be evaluated.
struct Reads<'p> {
    slots: &'p [(u16, u16)],
    subqueries: &'p [SubqueryPlan],
}

impl Reads<'_> {
    fn of(&self, expr: &Expr) -> Mask {
        logical::reads(expr, self.slots, &|query| &self.subqueries[query].outer)
    }
}

struct Planner<'p, 'c> {
    context: &'p PlanContext<'c>,
    sources: &'p [Source],
    reads: Reads<'p>,
    straight: bool,
    switches: Switches,
}

/// A condition that waits for its tables.
struct Waiting {
    expr: Expr,
    needs: Mask,
    placed: bool,
    /// It follows from others, which are evaluated: it serves to find rows, and needs not be evaluated for its own sake.
    is_implied: bool,
    /// It asks a subquery that reads the row.
    asks: bool,
}

/// How a table is read, and how its rows are found once they are kept.
struct Way {
    choice: Choice,
    hash: Option<HashPlan>,
}

/// How many combinations of rows a join is expected to look at.
pub fn combinations(steps: &[Step]) -> f64 {
    let rows = |step: &Step| match step {
        Step::Table(step) => step.rows as f64,
        Step::Left { steps, .. } => combinations(steps),
        Step::Semi { .. } => 1.0,
    };
    steps.iter().map(rows).product()
}

/// Orders the tables of a plan and finds the access to each.
pub fn plan(context: &PlanContext<'_>, plan: &mut SelectPlan, mut root: Nest, straight: bool) -> Result<Estimate> {
    let mut constants = Vec::new();
    let subqueries = std::mem::take(&mut plan.subqueries);
    let reads = Reads { slots: &plan.slots, subqueries: &subqueries };
    let mut kept = Vec::new();
    for condition in root.conditions.drain(..) {
        let free = reads.of(&condition) == 0 && (!is_volatile(&condition) || plan.sources.is_empty());
        if free { constants.push(condition) } else { kept.push(condition) }
    }
    root.conditions = kept;
    let switches = context.eval.session.optimizer_switches();
    let planner = Planner { context, sources: &plan.sources, reads, straight, switches };
    let mut estimate = Estimate { rows: 1.0, cost: 0.0 };
    let wanted = WantedOrder::of(plan, &root);
    let mut steps = planner.nest(root, 0, &mut estimate, wanted.as_ref())?;
    plan.constants = constants;
    if let Some(wanted) = wanted {
        settle_order(plan, &mut steps, &wanted);
    }
    settle_relevance(plan, &steps);
    read_keys(&mut plan.sources, &steps);
    plan.steps = steps;
    plan.subqueries = subqueries;
    Ok(estimate)
}

impl Planner<'_, '_> {
    /// The steps of a nest, behind the tables of `before`. The estimate is of what comes before, and then with it.
    fn nest(
        &self,
        nest: Nest,
        before: Mask,
        estimate: &mut Estimate,
        wanted: Option<&WantedOrder>,
    ) -> Result<Vec<Step>> {
        let all = nest.mask();
        let wait = |expr: Expr, is_implied: bool| {
            let mut needs = self.reads.of(&expr);
            if is_volatile(&expr) {
                needs |= all;
            }
            let asks = self.asks_of_row(&expr);
            Waiting { expr, needs, placed: false, is_implied, asks }
        };
        let implied = hash_join::implied(&nest.conditions);
        let mut waiting: Vec<Waiting> = nest.conditions.into_iter().map(|expr| wait(expr, false)).collect();
        waiting.extend(implied.into_iter().map(|expr| wait(expr, true)));
        let mut tables = nest.tables;
        let mut lefts = nest.lefts;
        let mut steps = Vec::new();
        let mut placed = before;
        // Where a semi-join could stand: behind so many steps, with these tables before it, for so many rows.
        let mut places: Vec<(usize, Mask, f64)> = Vec::new();
        let is_settled = self.straight || tables.len() < 2;
        let mut ways = Vec::new();
        let order = match tables.len() {
            _ if is_settled => None,
            0..=TABLES_SEARCHED => Some(self.cheapest_order(&tables, before, &waiting, estimate.rows)),
            _ => self.cheapest_start(&tables, before, &waiting, estimate.rows),
        };
        let is_ordered = order.is_some();
        if let Some(order) = order {
            (tables, ways) = order.into_iter().unzip();
            ways.reverse();
        }
        // With the inner side of an outer join before it a table may be read in another way.
        if !lefts.is_empty() {
            ways.clear();
        }
        while !tables.is_empty() || !lefts.is_empty() {
            let is_alone = steps.is_empty() && before == 0 && self.sources.len() == 1;
            let in_order = self.straight || is_ordered;
            let next = match ways.pop() {
                Some(way) => Some((0, way)),
                None => {
                    let ready =
                        |table: &usize| self.requires(*table) & !placed == 0 && self.may_follow(*table, &tables);
                    let first = tables.iter().position(ready).unwrap_or(tables.len());
                    let end = if in_order { (first + 1).min(tables.len()) } else { tables.len() };
                    let candidates = &tables[first..end];
                    let wanted = wanted.filter(|_| is_alone);
                    let next = self.cheapest_next(candidates, placed, &waiting, estimate.rows, wanted);
                    next.map(|(at, way)| (first + at, way))
                }
            };
            // An outer join's inner side adds columns, not rows: as soon as it can stand.
            let ready = lefts.iter().position(|left| left.requires & !placed == 0);
            let take_left = match (&next, ready) {
                (None, Some(left)) => Some(left),
                (Some((_, way)), Some(left))
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
                let rows_before = estimate.rows;
                let inner = self.nest(left.nest, placed, estimate, None)?;
                estimate.rows = estimate.rows.max(rows_before);
                placed |= mask;
                let mut filters = Vec::new();
                for condition in waiting.iter_mut().filter(|c| !c.placed && !c.asks && c.needs & !placed == 0) {
                    condition.placed = true;
                    if !condition.is_implied {
                        filters.push(condition.expr.clone());
                    }
                }
                steps.push(Step::Left { steps: inner, sources, filters });
                places.push((steps.len(), placed, estimate.rows));
                continue;
            }
            let Some((at, way)) = next else {
                // What a JSON_TABLE reads can only be read behind it.
                return Err(match tables.iter().find(|table| self.requires(**table) & !placed != 0) {
                    Some(table) => Error::lateral_join(&self.sources[*table].alias),
                    None => Error::internal("a join without an order"),
                });
            };
            let source = tables.remove(at);
            let share = self.share_left(source, placed, &waiting, &way);
            let cost_before = estimate.cost;
            *estimate = self.joined(estimate, source, placed, &waiting, &way);
            let Way { choice, mut hash } = way;
            placed |= 1 << source;
            let before = placed & !(1 << source);
            let mut filters = Vec::new();
            let candidates = candidates(&waiting, before, source);
            let pruned = |before: Mask| {
                let known = |expr: &Expr| self.reads.of(expr) & !before == 0 && !is_volatile(expr);
                let conditions = candidates.iter().map(|number| &waiting[*number]);
                let conditions = conditions.filter(|condition| condition.needs & !(before | 1 << source) == 0);
                let conditions: Vec<&Expr> = conditions.map(|condition| &condition.expr).collect();
                pruning::pruning(&self.sources[source], &conditions, &known)
            };
            let is_divided = self.sources[source].division.is_some();
            let pruning = if is_divided { pruned(before) } else { None };
            if let Some(hash) = hash.as_mut().filter(|_| is_divided) {
                // Rows that are kept serve all rows of the tables before.
                hash.pruning = pruned(0);
            }
            for (number, condition) in waiting.iter_mut().enumerate() {
                if condition.placed || condition.needs & !placed != 0 {
                    continue;
                }
                let answered = choice.answered.iter().any(|at| candidates[*at] == number);
                if condition.asks && !answered {
                    continue;
                }
                condition.placed = true;
                if condition.is_implied && !answered && hash.is_none() {
                    continue;
                }
                let is_local = condition.needs == 1 << source && !is_volatile(&condition.expr);
                filters.push(Filter { expr: condition.expr.clone(), answered, is_local });
            }
            let tests = match choice.rows >= column_tests::ROWS_MIN || hash.is_some() {
                true => column_tests::of(&filters, &self.sources[source], &|expr| self.is_steady(expr)),
                false => Vec::new(),
            };
            steps.push(Step::Table(TableStep {
                source,
                access: choice.access,
                covering: choice.covering,
                hash,
                filters,
                tests,
                pruning,
                rows: choice.rows.round().max(1.0) as u64,
                expected: Box::new(Expected {
                    share,
                    cost: choice.cost,
                    cost_of_all: estimate.cost - cost_before,
                    joined: *estimate,
                }),
                possible_keys: choice.possible_keys,
            }));
            places.push((steps.len(), placed, estimate.rows));
        }
        for condition in waiting.iter_mut().filter(|condition| condition.asks && !condition.placed) {
            condition.placed = ask(condition, &mut steps, &places);
        }
        debug_assert!(waiting.iter().all(|condition| condition.placed), "every condition has its place");
        if let Some(lost) = waiting.iter().find(|condition| !condition.placed) {
            return Err(Error::internal(format!("no place for a condition {:?}", lost.expr.node)));
        }
        self.semis(nest.semis, &mut steps, &places, estimate)?;
        Ok(steps)
    }

    /// Whether a condition asks a subquery for each row. Where rows are locked, none is read that need not be.
    fn asks_of_row(&self, condition: &Expr) -> bool {
        let mut asks = false;
        condition.walk(&mut |expr| {
            asks |= expr.subquery().is_some_and(|query| !self.reads.subqueries[query].is_constant);
        });
        let mut tables = self.sources.iter();
        asks && !is_volatile(condition) && tables.all(|source| source.read_mode == ReadMode::Consistent)
    }

    /// Whether an expression has one value for all rows of an execution.
    fn is_steady(&self, expr: &Expr) -> bool {
        let mut steady = true;
        expr.walk(&mut |expr| {
            steady &= match &expr.node {
                Node::ScalarQuery { query, .. } => self.reads.subqueries[*query].is_constant,
                _ => expr.is_constant_of_operands(),
            };
        });
        steady
    }

    /// The tables that must be read before one can be: its document or its query reads them.
    fn requires(&self, table: usize) -> Mask {
        let source = &self.sources[table];
        let lateral = source.lateral.iter().fold(0, |mask, expr| mask | self.reads.of(expr));
        match &source.kind {
            SourceKind::JsonTable(table) => lateral | self.reads.of(&table.document),
            _ => lateral,
        }
    }

    /// Whether no hint wants another one of these tables before a table.
    fn may_follow(&self, table: usize, left: &[usize]) -> bool {
        let hinted = &self.sources[table].hinted;
        !left.iter().any(|other| *other != table && self.sources[*other].hinted.precedes(hinted))
    }

    /// The table that multiplies the work least, and how it is read.
    fn cheapest_next(
        &self,
        tables: &[usize],
        placed: Mask,
        waiting: &[Waiting],
        rows: f64,
        wanted: Option<&WantedOrder>,
    ) -> Option<(usize, Way)> {
        let mut best: Option<(usize, Way, f64)> = None;
        for (at, &table) in tables.iter().enumerate() {
            if !self.may_follow(table, tables) {
                continue;
            }
            let way = self.way(table, placed, waiting, wanted, rows);
            // What this step multiplies the work by, before the work itself.
            let weight = way.choice.rows * 1000.0 + way.choice.cost;
            if best.as_ref().is_none_or(|(.., other)| weight < *other) {
                best = Some((at, way, weight));
            }
        }
        best.map(|(at, way, _)| (at, way))
    }

    /// Puts semi- and anti-joins where the fewest rows are expected that they must be asked for.
    fn semis(
        &self,
        semis: Vec<Semi>,
        steps: &mut Vec<Step>,
        places: &[(usize, Mask, f64)],
        estimate: &mut Estimate,
    ) -> Result<()> {
        let mut placed: Vec<(usize, Step)> = Vec::new();
        for semi in semis {
            let mut needs = 0;
            semi.nest.for_each_condition(&mut |expr| needs |= self.reads.of(expr));
            let needs = needs & !semi.nest.mask_of_all();
            let Some((last, others)) = places.split_last() else {
                return Err(Error::internal("a semi-join of nothing"));
            };
            let mut place = last;
            for other in others.iter().rev() {
                if needs & !other.1 == 0 && other.2 < place.2 {
                    place = other;
                }
            }
            let (behind, before, rows) = *place;
            let mut inner = Estimate { rows, cost: 0.0 };
            let inner_steps = self.nest(semi.nest, before, &mut inner, None)?;
            estimate.cost += inner.cost;
            estimate.rows = (estimate.rows * SEMI_SHARE).max(1.0);
            placed.push((behind, Step::Semi { steps: inner_steps, anti: semi.anti }));
        }
        // From the end, so that places stay true; several at one place in the order written.
        placed.reverse();
        placed.sort_by_key(|(behind, _)| std::cmp::Reverse(*behind));
        for (behind, step) in placed {
            steps.insert(behind, step);
        }
        Ok(())
    }

    /// What is expected once a table is joined.
    fn joined(&self, before: &Estimate, table: usize, placed: Mask, waiting: &[Waiting], way: &Way) -> Estimate {
        let choice = &way.choice;
        let rows = (before.rows * choice.rows * self.share_left(table, placed, waiting, way)).max(f64::MIN_POSITIVE);
        Estimate { rows, cost: before.cost + before.rows.max(1.0) * choice.cost }
    }

    /// The share of the rows that are found which the other conditions let through.
    fn share_left(&self, table: usize, placed: Mask, waiting: &[Waiting], way: &Way) -> f64 {
        let choice = &way.choice;
        let is_scan = matches!(choice.access, Access::Scan { .. } | Access::Rows);
        let numbers = candidates(waiting, placed, table);
        let mut left = Vec::new();
        for (at, number) in numbers.iter().enumerate() {
            let condition = &waiting[*number];
            let is_key = is_scan && way.hash.is_some() && hash_join::is_equality(&condition.expr);
            let counted = condition.is_implied
                || choice.answered.contains(&at)
                || is_key && condition.needs & placed != 0
                || access::is_of_access(&condition.expr, &self.sources[table], &choice.access);
            if !counted {
                left.push(&condition.expr);
            }
        }
        selectivity::share(self.context, &self.sources[table], left.into_iter())
    }

    /// The order of tables that costs the least, and how each is read: for each set of them the cheapest order, from the
    /// smallest sets on. A set that costs more than a known order of all is not looked at further.
    fn cheapest_order(&self, tables: &[usize], before: Mask, waiting: &[Waiting], rows: f64) -> Vec<(usize, Way)> {
        let all = 1_usize << tables.len();
        let mask_of = |set: usize| {
            let members = tables.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            members.fold(before, |mask, (_, table)| mask | 1 << table)
        };
        // Rows count as well as what was read for them: they are what the rest of the query works on.
        let weight = |estimate: &Estimate| estimate.cost + estimate.rows;
        // Per set: what it costs, which table stands last, and how that is read.
        let mut best: Vec<Option<(Estimate, usize, Way)>> = Vec::new();
        best.resize_with(all, || None);
        for set in 0..all - 1 {
            let estimate = match &best[set] {
                Some((estimate, ..)) => *estimate,
                None if set == 0 => Estimate { rows, cost: 0.0 },
                None => continue,
            };
            if best[all - 1].as_ref().is_some_and(|(known, ..)| estimate.cost >= weight(known)) {
                continue;
            }
            let placed = mask_of(set);
            let left: Vec<usize> = (0..tables.len()).filter(|at| set >> at & 1 == 0).collect();
            for &at in &left {
                let table = tables[at];
                if left.iter().any(|other| self.sources[tables[*other]].hinted.precedes(&self.sources[table].hinted)) {
                    continue;
                }
                let way = self.way(table, placed, waiting, None, estimate.rows);
                let joined = self.joined(&estimate, table, placed, waiting, &way);
                let with = set | 1 << at;
                if best[with].as_ref().is_none_or(|(known, ..)| weight(&joined) < weight(known)) {
                    best[with] = Some((joined, at, way));
                }
            }
        }
        let mut order = Vec::with_capacity(tables.len());
        let mut set = all - 1;
        while let Some((_, last, way)) = best[set].take() {
            order.push((tables[last], way));
            set &= !(1 << last);
        }
        order.reverse();
        order
    }

    /// An order of many tables: the cheapest of those that begin with each of them and go on with the cheapest next one.
    fn cheapest_start(
        &self,
        tables: &[usize],
        before: Mask,
        waiting: &[Waiting],
        rows: f64,
    ) -> Option<Vec<(usize, Way)>> {
        let weight = |estimate: &Estimate| estimate.cost + estimate.rows;
        let mut best: Option<(f64, Vec<(usize, Way)>)> = None;
        let mut starts = Vec::with_capacity(tables.len());
        for &table in tables {
            if self.requires(table) & !before == 0 && self.may_follow(table, tables) {
                let way = self.way(table, before, waiting, None, rows);
                let estimate = self.joined(&Estimate { rows, cost: 0.0 }, table, before, waiting, &way);
                starts.push((estimate, table, way));
            }
        }
        // A good order is likely to be found early: it ends the search in the others.
        starts.sort_by(|a, b| weight(&a.0).total_cmp(&weight(&b.0)));
        for (mut estimate, first, way) in starts {
            let mut order = vec![(first, way)];
            let mut placed = before | 1 << first;
            let mut left: Vec<usize> = tables.iter().copied().filter(|table| *table != first).collect();
            while !left.is_empty() && best.as_ref().is_none_or(|(known, _)| estimate.cost < *known) {
                let next = self.next_of(&left, placed, waiting, &estimate, true);
                let next = next.or_else(|| self.next_of(&left, placed, waiting, &estimate, false));
                let Some((at, way, joined)) = next else { break };
                let table = left.remove(at);
                order.push((table, way));
                placed |= 1 << table;
                estimate = joined;
            }
            let weight = weight(&estimate);
            if left.is_empty() && best.as_ref().is_none_or(|(known, _)| weight < *known) {
                best = Some((weight, order));
            }
        }
        best.map(|(_, order)| order)
    }

    /// The table that is joined at the least cost to those placed, and what is expected then. `connected`: only of those
    /// that a condition connects with them.
    fn next_of(
        &self,
        left: &[usize],
        placed: Mask,
        waiting: &[Waiting],
        estimate: &Estimate,
        connected: bool,
    ) -> Option<(usize, Way, Estimate)> {
        let mut best: Option<(usize, Way, Estimate)> = None;
        for (at, &table) in left.iter().enumerate() {
            if self.requires(table) & !placed != 0 || !self.may_follow(table, left) {
                continue;
            }
            let joins = |condition: &Waiting| {
                condition.needs >> table & 1 == 1
                    && condition.needs & placed != 0
                    && condition.needs & !(placed | 1 << table) == 0
            };
            if connected && !waiting.iter().any(joins) {
                continue;
            }
            let way = self.way(table, placed, waiting, None, estimate.rows);
            let joined = self.joined(estimate, table, placed, waiting, &way);
            let is_best = |(.., known): &(usize, Way, Estimate)| joined.cost + joined.rows < known.cost + known.rows;
            if best.as_ref().is_none_or(is_best) {
                best = Some((at, way, joined));
            }
        }
        best
    }

    /// Whether a table that waits is joined to the inner side of an outer join.
    fn helps(&self, left: &Left, tables: &[usize], waiting: &[Waiting], placed: Mask) -> bool {
        let mask = left.nest.mask();
        waiting.iter().filter(|c| !c.placed).any(|condition| {
            condition.needs & mask != 0 && tables.iter().any(|table| condition.needs & !(placed | mask) == 1 << table)
        })
    }

    /// How a table is read behind those placed, which give `rows` rows: as cheap as possible for all of them.
    fn way(&self, table: usize, placed: Mask, waiting: &[Waiting], wanted: Option<&WantedOrder>, rows: f64) -> Way {
        let source = &self.sources[table];
        let mut choice = self.best_choice(table, placed, waiting, wanted);
        if placed == 0 {
            return Way { choice, hash: None };
        }
        let is_scan = matches!(choice.access, Access::Scan { .. } | Access::Rows);
        let numbers = candidates(waiting, placed, table);
        let can_keep = hash_join::can_keep(source)
            && !matches!(
                choice.access,
                Access::Fulltext(_) | Access::Elements(_) | Access::Merge(_) | Access::Scan { reverse: true, .. }
            )
            && source.hinted.hash.unwrap_or(self.switches.has(Switches::HASH_JOIN));
        let keys = match can_keep {
            true => {
                let conditions = numbers.iter().map(|number| &waiting[*number].expr);
                hash_join::keys(conditions, 1 << table, &|expr| self.reads.of(expr))
            }
            false => Vec::new(),
        };
        if keys.is_empty() && !(is_scan && can_keep && source.table().is_some()) {
            if !is_scan {
                choice.cost = hash_join::lookup_cost(&choice);
            }
            return Way { choice, hash: None };
        }
        let memory_bytes = self.context.eval.session.join_buffer_bytes() as f64;
        let share = self.local_share(table, &numbers, waiting, None);
        if keys.is_empty() {
            // All rows belong together with all before them; those that the conditions leave are read once.
            let (build, kept) = (choice.cost, (choice.rows * share).max(1.0));
            let by_hash = hash_join::hash_cost(source, build, kept, rows, kept, memory_bytes) / rows.max(1.0);
            let is_cheaper = by_hash < choice.cost;
            choice.cost = by_hash.min(choice.cost);
            let hash = HashPlan { keys, build: None, pruning: None, lookups: 1, is_expected: true };
            return Way { choice, hash: is_cheaper.then_some(hash) };
        }
        if is_scan {
            // Without an index the table is read once for all rows before it.
            let (all, build) = (choice.rows, choice.cost);
            choice.rows = (all * self.key_share(table, &keys, all)).max(1.0);
            let kept = (all * share).max(1.0);
            let found = choice.rows * share;
            choice.cost = hash_join::hash_cost(source, build, kept, rows, found, memory_bytes) / rows.max(1.0);
            let hash = HashPlan { keys, build: None, pruning: None, lookups: 1, is_expected: true };
            return Way { choice, hash: Some(hash) };
        }
        // The rows that would be kept: by the conditions on this table alone.
        let mut own = self.choices(table, 0, waiting);
        own.retain(|own| matches!(own.access, Access::Range { .. } | Access::Scan { .. } | Access::Rows));
        let own = own.into_iter().min_by(|a, b| a.cost.total_cmp(&b.cost));
        let by_index = hash_join::lookup_cost(&choice);
        let Some(own) = own else {
            choice.cost = by_index;
            return Way { choice, hash: None };
        };
        // As with scans: it may have grown.
        let build = own.cost.max(access::SCAN_ROWS_MIN);
        let kept = (own.rows * self.local_share(table, &numbers, waiting, Some(&own.access))).max(1.0);
        let found = (choice.rows * share).min(kept);
        let by_hash = hash_join::hash_cost(source, build, kept, rows, found, memory_bytes);
        let is_forced = source.hinted.hash == Some(true);
        let is_expected = is_forced || by_hash < rows * by_index;
        // What follows from other conditions is evaluated for the hash's sake alone.
        let implied = |number: &usize| waiting[*number].is_implied;
        if !is_expected && numbers.iter().any(implied) {
            choice.cost = by_index;
            return Way { choice, hash: None };
        }
        let lookups = if is_forced { 0 } else { hash_join::lookups(&choice, build + kept, is_expected) };
        choice.cost = if is_expected { by_hash / rows.max(1.0) } else { by_index };
        let build = Some((own.access, own.covering));
        let hash = HashPlan { keys, build, pruning: None, lookups, is_expected };
        Way { choice, hash: Some(hash) }
    }

    /// The share of rows that the conditions on a table alone let through, but for those of an access.
    fn local_share(&self, table: usize, numbers: &[usize], waiting: &[Waiting], access: Option<&Access>) -> f64 {
        let source = &self.sources[table];
        let is_left = |condition: &&Waiting| {
            let of_access = access.is_some_and(|access| access::is_of_access(&condition.expr, source, access));
            condition.needs == 1 << table && !of_access
        };
        let left = numbers.iter().map(|number| &waiting[*number]).filter(is_left);
        selectivity::share(self.context, source, left.map(|condition| &condition.expr))
    }

    /// The share of a table's rows that have the key of one row before it.
    fn key_share(&self, table: usize, keys: &[HashKey], rows: f64) -> f64 {
        let source = &self.sources[table];
        let distinct = |key: &HashKey| {
            let column = self.reads.slots[key.build.as_column()?].1 as usize;
            access::distinct_values(self.context, source, column)
        };
        let share = |key: &HashKey| match distinct(key) {
            Some(distinct) => 1.0 / distinct.max(1.0),
            // A row of many that the tables before know by a key of theirs.
            None if source.table().is_none() => 1.0 / self.probed_values(key).unwrap_or(rows).clamp(1.0, rows.max(1.0)),
            None => hash_join::EQUAL_SHARE,
        };
        keys.iter().map(share).fold(1.0, f64::min)
    }

    /// About how many values the column has that a derived table's rows are found by; None: nothing tells, or the rows
    /// are taken to have one for each value.
    fn probed_values(&self, key: &HashKey) -> Option<f64> {
        let (table, column) = self.reads.slots[key.probe.as_column()?];
        let (derived, _) = self.reads.slots[key.build.as_column()?];
        let SourceKind::Derived(derived) = &self.sources[derived as usize].kind else { return None };
        if derived.plan.has_each_once() {
            return None;
        }
        access::distinct_values(self.context, &self.sources[table as usize], column as usize)
    }

    fn choices(&self, table: usize, placed: Mask, waiting: &[Waiting]) -> Vec<Choice> {
        let numbers = candidates(waiting, placed, table);
        let conditions: Vec<&Expr> = numbers.iter().map(|number| &waiting[*number].expr).collect();
        let known = |expr: &Expr| self.reads.of(expr) & !placed == 0 && !is_volatile(expr);
        access::choices(self.context, &self.sources[table], &conditions, &known)
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
            let is_forced = |number: usize| access::is_forced(self.context, source, stored, number);
            let mut has_forced_order = false;
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
                let Access::Scan { index, .. } = choice.access else { continue };
                has_forced_order |= ordered && !source.hints.is_empty() && is_forced(index);
            }
            if has_forced_order {
                let is_table = |choice: &&mut Choice| matches!(choice.access, Access::Scan { index: 0, .. });
                let tables = choices.iter_mut().filter(is_table).filter(|_| !is_forced(0));
                tables.for_each(|choice| choice.cost *= access::FORCED_AWAY);
            }
        }
        choices
            .into_iter()
            .min_by(|a, b| {
                let tie = |choice: &Choice| match &choice.access {
                    Access::Point { index, .. } => (0, *index),
                    Access::Range { index, parts, .. } => (1 + 16usize.saturating_sub(parts.len()), *index),
                    Access::Fulltext(access) => (50, access.search.index),
                    Access::Elements(access) => (50, access.index),
                    Access::Merge(_) => (60, 0),
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

/// Puts a condition that asks a subquery into the step behind which the fewest rows are expected, the first of these.
fn ask(condition: &Waiting, steps: &mut [Step], places: &[(usize, Mask, f64)]) -> bool {
    let can = places.iter().filter(|(_, placed, _)| condition.needs & !placed == 0);
    let Some((behind, ..)) = can.min_by(|a, b| a.2.total_cmp(&b.2)) else { return false };
    match &mut steps[behind - 1] {
        Step::Table(step) => {
            step.filters.push(Filter { expr: condition.expr.clone(), answered: false, is_local: false })
        }
        Step::Left { filters, .. } => filters.push(condition.expr.clone()),
        Step::Semi { .. } => return false,
    }
    true
}

/// The conditions that can be evaluated once a table joins those placed.
fn candidates(waiting: &[Waiting], placed: Mask, table: usize) -> Vec<usize> {
    let with = placed | 1 << table;
    let fits =
        |condition: &Waiting| !condition.placed && condition.needs & !with == 0 && condition.needs >> table & 1 == 1;
    (0..waiting.len()).filter(|number| fits(&waiting[*number])).collect()
}

fn by_elements(access: &Access) -> bool {
    match access {
        Access::Elements(_) => true,
        Access::Merge(all) => all.iter().any(|one| by_elements(&one.access)),
        _ => false,
    }
}

/// A row that several elements lead to is known by its key: it is read along.
fn read_keys(sources: &mut [Source<std::sync::Arc<super::Derived>>], steps: &[Step]) {
    for step in steps {
        match step {
            Step::Table(step) => {
                if !by_elements(&step.access) {
                    continue;
                }
                let source = &mut sources[step.source];
                if let Some(table) = source.table().cloned() {
                    table.indexes[0].parts.iter().for_each(|part| source.needed.insert(part.column));
                }
            }
            Step::Semi { steps, .. } | Step::Left { steps, .. } => read_keys(sources, steps),
        }
    }
}
