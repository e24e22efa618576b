//! EXPLAIN FORMAT=TREE: the operators of a plan, each above those whose rows it takes.
//!
//! Numbers are those that the planner chose by: what one read of a table is expected to cost and to find, what a join is
//! expected to have cost and to give up to here. Costs are counted in rows that are read from a clustered index in order;
//! they are compared within a query only.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::access::Alternative;
use super::explain::{TableFacts, facts, index_name};
use super::profile::Profile;
use super::{Access, Estimate, Expr, Filter, LimitPlan, PartRange, QueryPlan, SelectPlan, SourceKind, Step, TableStep};
use crate::expression::Node;
use crate::expression::aggregate::AggregateCall;
use crate::expression::display::{self, Names};
use crate::parser::ast::{BinaryOp, SetOperator};

/// One line, and what stands below it.
#[derive(Default)]
struct Operator {
    line: String,
    below: Vec<Operator>,
}

impl Operator {
    fn new(line: impl Into<String>, below: Vec<Operator>) -> Operator {
        Operator { line: line.into(), below }
    }

    fn over(self, line: impl Into<String>) -> Operator {
        Operator::new(line, vec![self])
    }

    fn write(&self, depth: usize, out: &mut String) {
        let _ = writeln!(out, "{:width$}-> {}", "", self.line, width = 4 * depth);
        self.below.iter().for_each(|below| below.write(depth + 1, out));
    }
}

/// The names of what a query's expressions read.
pub(super) struct NamesOf<'p>(pub &'p SelectPlan);

impl Names for NamesOf<'_> {
    fn column(&self, slot: usize) -> String {
        let Some((source, column)) = self.0.slots.get(slot) else { return format!("column {}", slot + 1) };
        let source = &self.0.sources[*source as usize];
        let name = source.columns.get(*column as usize).map_or("", |column| &column.name);
        if source.alias.is_empty() { name.to_owned() } else { format!("{}.{name}", source.alias) }
    }

    fn aggregate(&self, number: usize) -> String {
        let calls = self.0.group.as_ref().map(|group| &group.aggregates);
        calls.and_then(|calls| calls.get(number)).map_or("...".into(), |call| aggregate(call, self))
    }

    fn window(&self, number: usize) -> String {
        match self.0.windows.as_ref().and_then(|windows| windows.calls.get(number)) {
            Some(call) => format!("{} OVER ({})", call.function.name(), call.window),
            None => "...".into(),
        }
    }

    fn subquery(&self, number: usize) -> String {
        match self.0.subqueries.get(number).and_then(|subquery| select_number(&subquery.plan)) {
            Some(number) => format!("(select #{number})"),
            None => "(select ...)".into(),
        }
    }
}

/// The same with the names of databases, in quotes.
struct FullNamesOf<'p>(NamesOf<'p>);

impl Names for FullNamesOf<'_> {
    fn column(&self, slot: usize) -> String {
        let plan = self.0.0;
        let Some((source, column)) = plan.slots.get(slot) else { return self.0.column(slot) };
        let source = &plan.sources[*source as usize];
        let column = source.columns.get(*column as usize).map_or("", |column| &column.name);
        let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
        let names = [&*source.database, &*source.alias, column];
        names.iter().filter(|name| !name.is_empty()).map(|name| quoted(name)).collect::<Vec<_>>().join(".")
    }

    fn aggregate(&self, number: usize) -> String {
        let calls = self.0.0.group.as_ref().map(|group| &group.aggregates);
        calls.and_then(|calls| calls.get(number)).map_or("...".into(), |call| aggregate(call, self))
    }

    fn window(&self, number: usize) -> String {
        self.0.window(number)
    }

    fn subquery(&self, number: usize) -> String {
        self.0.subquery(number)
    }
}

/// An expression of a query, as messages show it.
pub fn shown(expr: &Expr, plan: &SelectPlan) -> String {
    display::text(expr, &FullNamesOf(NamesOf(plan)))
}

fn aggregate(call: &AggregateCall, names: &dyn Names) -> String {
    let args: Vec<String> = call.args.iter().map(|arg| display::text(arg, names)).collect();
    let distinct = if call.distinct { "distinct " } else { "" };
    let args = if args.is_empty() { "0".to_owned() } else { args.join(",") };
    format!("{}({distinct}{args})", call.function.name())
}

/// The number of the first SELECT of a query.
pub(super) fn select_number(plan: &QueryPlan) -> Option<usize> {
    match plan {
        QueryPlan::Select(plan) => Some(plan.select_number),
        QueryPlan::Union(plan) => plan.parts.first().and_then(select_number),
        QueryPlan::Recursive(plan) => select_number(&plan.seed),
        QueryPlan::Working(_) => None,
    }
}

/// Conditions of which all must be true.
pub(super) fn all_of<'e>(conditions: impl Iterator<Item = &'e Expr>, names: &dyn Names) -> Option<String> {
    let texts: Vec<String> = conditions.map(|condition| display::text(condition, names)).collect();
    match &texts[..] {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("({})", many.join(" and "))),
    }
}

#[derive(Default)]
struct Tree<'p> {
    /// The derived tables that have been shown.
    shown: BTreeSet<usize>,
    /// What was measured when the plan ran, if it did.
    profile: Option<&'p Profile>,
}

/// The text of a query's plan; with what was measured when it ran.
pub fn query(plan: &QueryPlan, profile: Option<&Profile>) -> String {
    let mut out = String::new();
    Tree { profile, ..Tree::default() }.query(plan).write(0, &mut out);
    out
}

/// The text of a change by the rows that a query finds; `what` is done with them. With what was measured when it ran.
pub fn change(plan: &SelectPlan, what: &str, profile: Option<&Profile>) -> String {
    let mut out = String::new();
    Tree { profile, ..Tree::default() }.select(plan).over(what).write(0, &mut out);
    out
}

/// The text of an INSERT.
pub fn insert(table: &str, rows: Option<&QueryPlan>) -> String {
    let mut out = String::new();
    let below = rows.map(|rows| Tree::default().query(rows));
    Operator::new(format!("Insert into {table}"), below.into_iter().collect()).write(0, &mut out);
    out
}

fn limited(operator: Operator, limit: Option<&LimitPlan>, names: &dyn Names) -> Operator {
    let Some(limit) = limit else { return operator };
    let count = display::text(&limit.count, names);
    match &limit.offset {
        None => operator.over(format!("Limit: {count} row(s)")),
        Some(offset) => operator.over(format!("Limit/Offset: {count}/{} row(s)", display::text(offset, names))),
    }
}

fn sorted(operator: Operator, order: &[(Expr, bool)], names: &dyn Names) -> Operator {
    if order.is_empty() {
        return operator;
    }
    let one = |(expr, descending): &(Expr, bool)| {
        format!("{}{}", display::text(expr, names), if *descending { " DESC" } else { "" })
    };
    operator.over(format!("Sort: {}", order.iter().map(one).collect::<Vec<_>>().join(", ")))
}

/// ORDER BY of a whole UNION is by columns of its result.
struct NamesOfResult<'p>(&'p super::UnionPlan);

impl Names for NamesOfResult<'_> {
    fn column(&self, slot: usize) -> String {
        self.0.columns.get(slot).map_or(String::new(), |column| column.name.to_string())
    }

    fn aggregate(&self, _: usize) -> String {
        "...".into()
    }

    fn window(&self, _: usize) -> String {
        "...".into()
    }

    fn subquery(&self, _: usize) -> String {
        "(select ...)".into()
    }
}

impl Tree<'_> {
    fn query(&mut self, plan: &QueryPlan) -> Operator {
        let mut operator = self.operators(plan);
        // Of a query that is one read of a table, the read tells.
        if let Some(profile) = self.profile
            && !operator.line.contains(" (actual ")
        {
            operator.line.push_str(&profile.text(plan));
        }
        operator
    }

    fn operators(&mut self, plan: &QueryPlan) -> Operator {
        match plan {
            QueryPlan::Select(plan) => self.select(plan),
            QueryPlan::Union(plan) => {
                let mut parts = plan.parts.iter();
                let mut operator = parts.next().map_or(Operator::default(), |part| self.query(part));
                for (number, (part, link)) in parts.zip(&plan.links).enumerate() {
                    let word = match link.operator {
                        SetOperator::Union => "Append",
                        SetOperator::Except => "Except",
                        SetOperator::Intersect => "Intersect",
                    };
                    let below = self.query(part);
                    operator = match operator.line == word && word == "Append" {
                        true => Operator { below: operator.below.into_iter().chain([below]).collect(), ..operator },
                        false => Operator::new(word, vec![operator, below]),
                    };
                    if plan.distinct_until == Some(number + 1) {
                        operator = operator.over("Union materialize with deduplication");
                    }
                }
                let names = NamesOfResult(plan);
                limited(sorted(operator, &plan.order, &names), plan.limit.as_ref(), &names)
            }
            QueryPlan::Recursive(plan) => {
                let mut below = vec![self.query(&plan.seed)];
                for member in &plan.members {
                    below.push(self.query(member).over("Repeat until convergence"));
                }
                let distinct = if plan.distinct { " with deduplication" } else { "" };
                Operator::new(format!("Materialize recursive CTE {}{distinct}", plan.name), below)
            }
            QueryPlan::Working(_) => Operator::new("Scan new records of the recursion", Vec::new()),
        }
    }

    fn select(&mut self, plan: &SelectPlan) -> Operator {
        let names = NamesOf(plan);
        let mut operator = match self.steps(plan, &plan.steps, true) {
            Some(operator) => operator,
            None => Operator::new("Rows fetched before execution", Vec::new()),
        };
        if let Some(condition) = all_of(plan.constants.iter(), &names) {
            operator = operator.over(format!("Filter: {condition}"));
        }
        if let Some(group) = &plan.group {
            let calls: Vec<String> = group.aggregates.iter().map(|call| aggregate(call, &names)).collect();
            let word = match (group.keys.is_empty(), group.rollup.is_some()) {
                (true, _) => "Aggregate",
                (false, false) => "Group aggregate in a temporary table",
                (false, true) => "Group aggregate with rollup in a temporary table",
            };
            operator = operator.over(match calls.is_empty() {
                true => word.to_owned(),
                false => format!("{word}: {}", calls.join(", ")),
            });
        }
        if let Some(having) = &plan.having {
            operator = operator.over(format!("Filter: {}", display::text(having, &names)));
        }
        if let Some(windows) = &plan.windows {
            let calls: Vec<String> = (0..windows.calls.len()).map(|number| names.window(number)).collect();
            operator = operator.over(format!("Window aggregate with buffering: {}", calls.join(", ")));
        }
        if plan.distinct {
            operator = operator.over("Temporary table with deduplication");
        }
        operator = sorted(operator, &plan.order, &names);
        operator = limited(operator, plan.limit.as_ref(), &names);
        for subquery in &plan.subqueries {
            let number = select_number(&subquery.plan).unwrap_or(0);
            let what = match subquery.is_constant {
                true => format!("Select #{number} (subquery in condition; run only once)"),
                false => format!("Select #{number} (subquery in condition; dependent)"),
            };
            let below = self.query(&subquery.plan).over(what);
            operator.below.push(below);
        }
        operator
    }

    /// The nested loops; None: no table is read.
    fn steps(&mut self, plan: &SelectPlan, steps: &[Step], is_first: bool) -> Option<Operator> {
        let names = NamesOf(plan);
        let mut joined: Option<Operator> = None;
        for step in steps {
            let outer = joined.take();
            let first = is_first && outer.is_none();
            joined = Some(match step {
                Step::Table(step) => {
                    let inner = self.table(plan, step, first);
                    match outer {
                        None => inner,
                        Some(outer) => {
                            let Some(hash) = step.kept() else {
                                let line = format!("Nested loop inner join{}", expected(step.expected.joined));
                                joined = Some(Operator::new(line, vec![outer, inner]));
                                continue;
                            };
                            let key = |key: &super::hash_join::HashKey| {
                                let (probe, build) =
                                    (display::text(&key.probe, &names), display::text(&key.build, &names));
                                format!("({build} = {probe})")
                            };
                            let keys: Vec<String> = hash.keys.iter().map(key).collect();
                            let on = if keys.is_empty() { "(no condition)".to_owned() } else { keys.join(", ") };
                            let line = format!("Inner hash join {on}{}", expected(step.expected.joined));
                            let found = Operator::new(line, vec![outer, inner.over("Hash")]);
                            let rest = step.filters.iter().filter(|filter| !filter.is_local).map(|filter| &filter.expr);
                            let rest = rest.filter(|expr| !keys.iter().any(|key| is_key(expr, key, &names)));
                            match all_of(rest, &names) {
                                Some(condition) => found.over(format!("Filter: {condition}")),
                                None => found,
                            }
                        }
                    }
                }
                Step::Left { steps, filters, .. } => {
                    let inner = self.steps(plan, steps, false);
                    let below = outer.into_iter().chain(inner).collect();
                    let found = Operator::new("Nested loop left join", below);
                    match all_of(filters.iter(), &names) {
                        Some(condition) => found.over(format!("Filter: {condition}")),
                        None => found,
                    }
                }
                Step::Semi { steps, anti } => {
                    let inner = self.steps(plan, steps, false);
                    let word = if *anti { "Nested loop antijoin" } else { "Nested loop semijoin" };
                    Operator::new(word, outer.into_iter().chain(inner).collect())
                }
            });
        }
        joined
    }

    fn table(&mut self, plan: &SelectPlan, step: &TableStep, is_first: bool) -> Operator {
        let names = NamesOf(plan);
        let source = &plan.sources[step.source];
        let facts = facts(plan, step, is_first);
        let (own, _) = step.shown_access();
        let measured = self.profile.map_or(String::new(), |profile| profile.text(step));
        let rows = Estimate { rows: step.rows as f64, cost: step.expected.cost };
        let line = format!("{}{}{measured}", access(plan, step, own, &facts), expected(rows));
        let mut operator = Operator::new(line, Vec::new());
        if let Access::Merge(all) = own {
            operator.below.extend(all.iter().map(|one| alternative(plan, step, one)));
        }
        if let SourceKind::Derived(derived) = &source.kind
            && self.shown.insert(derived.id)
        {
            let word = if source.follows_rows() { "Materialize (invalidate on row)" } else { "Materialize" };
            operator.below.push(self.query(&derived.plan).over(word));
        }
        let is_here = |filter: &&Filter| !step.answers(filter) && (step.kept().is_none() || filter.is_local);
        let unanswered = step.filters.iter().filter(is_here).map(|filter| &filter.expr);
        match all_of(unanswered, &names) {
            Some(condition) => {
                let rows = Estimate { rows: step.rows as f64 * step.expected.share, cost: step.expected.cost };
                operator.over(format!("Filter: {condition}{}", expected(rows)))
            }
            None => operator,
        }
    }
}

/// What the planner expects, as MySQL writes it.
fn expected(estimate: Estimate) -> String {
    let rows = match estimate.rows {
        rows if rows >= 10.0 || rows == rows.round() => format!("{rows:.0}"),
        rows => format!("{rows:.2}"),
    };
    format!("  (cost={:.2} rows={rows})", estimate.cost)
}

/// Whether a condition is the equality of a hash join's key, written either way.
fn is_key(expr: &Expr, key: &str, names: &dyn Names) -> bool {
    let Node::Compare { op: BinaryOp::Equal, left, right, .. } = &expr.node else { return false };
    let (left, right) = (display::text(left, names), display::text(right, names));
    key == format!("({left} = {right})") || key == format!("({right} = {left})")
}

/// One of the indexes that find the rows of a table together.
fn alternative(plan: &SelectPlan, step: &TableStep, one: &Alternative) -> Operator {
    let index = one.access.indexes().first().map_or(0, |(index, _)| *index);
    let alias = &plan.sources[step.source].alias;
    let key = match plan.sources[step.source].table() {
        Some(table) => index_name(table, index),
        None => String::new(),
    };
    let condition = display::text(&one.condition, &NamesOf(plan));
    Operator::new(format!("Index range scan on {alias} using {key} over {condition}"), Vec::new())
}

/// How the rows of a table are found.
fn access(plan: &SelectPlan, step: &TableStep, own: &Access, facts: &TableFacts) -> String {
    let names = NamesOf(plan);
    let alias = match &plan.sources[step.source].alias {
        alias if alias.is_empty() => "<temporary>",
        alias => alias,
    };
    let kind = if facts.covering { "Covering index" } else { "Index" };
    let reverse = if facts.backward { " (reverse)" } else { "" };
    let Some(key) = &facts.key else { return format!("Table scan on {alias}") };
    let equalities = |keys: &mut dyn Iterator<Item = &super::KeyExpr>| {
        let one = |(column, key): (&String, &super::KeyExpr)| format!("{column}={}", display::text(&key.expr, &names));
        facts.used_parts.iter().zip(keys).map(one).collect::<Vec<_>>().join(", ")
    };
    match own {
        Access::Point { key: parts, .. } => {
            let single = if facts.covering { "Single-row covering index" } else { "Single-row index" };
            format!("{single} lookup on {alias} using {key} ({})", equalities(&mut parts.iter()))
        }
        Access::Range { parts, .. } if facts.access == "ref" => {
            let mut keys = parts.iter().flat_map(|part| match part {
                PartRange::Points(points) => &points[..],
                PartRange::Intervals(_) => &[],
            });
            format!("{kind} lookup on {alias} using {key} ({}){reverse}", equalities(&mut keys))
        }
        Access::Range { .. } => {
            let answered = step
                .filters
                .iter()
                .filter(|filter| filter.answered && step.kept().is_none())
                .map(|filter| &filter.expr);
            let over = all_of(answered, &names).map_or(String::new(), |condition| format!(" over {condition}"));
            format!("{kind} range scan on {alias} using {key}{over}{reverse}")
        }
        Access::Elements(_) => format!("{kind} lookup on {alias} using {key}"),
        Access::Fulltext(access) => {
            let against = display::text(&access.against, &names);
            format!("Full-text index search on {alias} using {key} ({against})")
        }
        Access::Merge(_) => format!("Rows of {alias} by the first index that has them: {key}"),
        Access::Scan { .. } | Access::Rows => format!("{kind} scan on {alias} using {key}{reverse}"),
    }
}
