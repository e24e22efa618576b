//! EXPLAIN FORMAT=JSON: a plan as MySQL's nested query blocks, which graphical tools read.
//!
//! Costs are counted in rows that are read from a clustered index in order, as the planner compares them; what is done with
//! rows has no cost there, so that `eval_cost` is not told.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::explain::{cost_of, facts};
use super::explain_tree::{NamesOf, all_of};
use super::{QueryPlan, SelectPlan, SourceKind, Step, TableStep};
use crate::parser::ast::SetOperator;

/// JSON whose members keep the order in which they are written.
enum Node {
    Text(String),
    Number(u64),
    Bool(bool),
    List(Vec<Node>),
    Object(Vec<(&'static str, Node)>),
}

impl Node {
    fn write(&self, depth: usize, out: &mut String) {
        let line = |out: &mut String, depth: usize| {
            let _ = write!(out, "\n{:width$}", "", width = 2 * depth);
        };
        match self {
            Node::Text(text) => quote(text, out),
            Node::Number(number) => {
                let _ = write!(out, "{number}");
            }
            Node::Bool(is) => out.push_str(if *is { "true" } else { "false" }),
            Node::List(nodes) => {
                out.push('[');
                for (at, node) in nodes.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    line(out, depth + 1);
                    node.write(depth + 1, out);
                }
                line(out, depth);
                out.push(']');
            }
            Node::Object(members) => {
                out.push('{');
                for (at, (name, node)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    line(out, depth + 1);
                    let _ = write!(out, "\"{name}\": ");
                    node.write(depth + 1, out);
                }
                line(out, depth);
                out.push('}');
            }
        }
    }
}

fn quote(text: &str, out: &mut String) {
    let text = format::value::Json::String(text.into()).to_text();
    out.push_str(&String::from_utf8_lossy(&text));
}

fn texts(list: &[String]) -> Node {
    Node::List(list.iter().cloned().map(Node::Text).collect())
}

type Members = Vec<(&'static str, Node)>;

#[derive(Default)]
struct Blocks {
    /// The derived tables that have been shown.
    shown: BTreeSet<usize>,
}

fn written(block: Node) -> String {
    let mut out = String::new();
    Node::Object(vec![("query_block", block)]).write(0, &mut out);
    out
}

/// The text of a query's plan.
pub fn query(plan: &QueryPlan) -> String {
    written(Blocks::default().query(plan))
}

/// The text of an UPDATE or DELETE: `what` is `update` or `delete`.
pub fn change(plan: &SelectPlan, what: &'static str) -> String {
    let mut members = Blocks::default().select(plan);
    members.insert(1, (what, Node::Bool(true)));
    written(Node::Object(members))
}

/// The text of an INSERT.
pub fn insert(table: &str, replace: bool, rows: Option<&QueryPlan>) -> String {
    let written_table = Node::Object(vec![
        (if replace { "replace" } else { "insert" }, Node::Bool(true)),
        ("table_name", Node::Text(table.into())),
        ("access_type", Node::Text("ALL".into())),
    ]);
    let mut members = vec![("select_id", Node::Number(1)), ("table", written_table)];
    members.extend(rows.map(|rows| ("insert_from", Blocks::default().query(rows))));
    written(Node::Object(members))
}

impl Blocks {
    fn query(&mut self, plan: &QueryPlan) -> Node {
        match plan {
            QueryPlan::Select(plan) => Node::Object(self.select(plan)),
            QueryPlan::Union(plan) => {
                let sets = plan.links.iter().find(|link| link.operator != SetOperator::Union);
                let name = match sets.map(|link| link.operator) {
                    Some(SetOperator::Except) => "except_result",
                    Some(SetOperator::Intersect) => "intersect_result",
                    _ => "union_result",
                };
                let temporary = sets.is_some() || plan.distinct_until.is_some();
                let mut result = vec![("using_temporary_table", Node::Bool(temporary))];
                if !plan.order.is_empty() {
                    result.push(("using_filesort", Node::Bool(true)));
                }
                let parts = plan.parts.iter().map(|part| self.part(part, false, true)).collect();
                result.push(("query_specifications", Node::List(parts)));
                Node::Object(vec![(name, Node::Object(result))])
            }
            QueryPlan::Recursive(plan) => {
                let mut parts = vec![self.part(&plan.seed, false, true)];
                parts.extend(plan.members.iter().map(|member| self.part(member, true, false)));
                let result = vec![
                    ("using_temporary_table", Node::Bool(true)),
                    ("recursive", Node::Bool(true)),
                    ("table_name", Node::Text(plan.name.to_string())),
                    ("query_specifications", Node::List(parts)),
                ];
                Node::Object(vec![("union_result", Node::Object(result))])
            }
            QueryPlan::Working(_) => Node::Object(vec![("message", Node::Text("Rows of the last round".into()))]),
        }
    }

    fn part(&mut self, plan: &QueryPlan, dependent: bool, cacheable: bool) -> Node {
        Node::Object(vec![
            ("dependent", Node::Bool(dependent)),
            ("cacheable", Node::Bool(cacheable)),
            ("query_block", self.query(plan)),
        ])
    }

    fn select(&mut self, plan: &SelectPlan) -> Members {
        let mut tables = Vec::new();
        self.steps(plan, &plan.steps, &mut Vec::new(), &mut tables);
        let mut members: Members = match tables.len() {
            0 => vec![("message", Node::Text("No tables used".into()))],
            1 => tables.into_iter().map(|table| ("table", table)).collect(),
            _ => vec![(
                "nested_loop",
                Node::List(tables.into_iter().map(|table| Node::Object(vec![("table", table)])).collect()),
            )],
        };
        let mut wrap = |name: &'static str, facts: Members| {
            let inner = std::mem::take(&mut members);
            members = vec![(name, Node::Object(facts.into_iter().chain(inner).collect()))];
        };
        if plan.group.as_ref().is_some_and(|group| !group.keys.is_empty()) {
            let facts = vec![("using_temporary_table", Node::Bool(true)), ("using_filesort", Node::Bool(false))];
            wrap("grouping_operation", facts);
        }
        if plan.windows.is_some() {
            wrap("windowing", Vec::new());
        }
        if plan.distinct {
            wrap("duplicates_removal", vec![("using_temporary_table", Node::Bool(true))]);
        }
        if !plan.order.is_empty() {
            wrap("ordering_operation", vec![("using_filesort", Node::Bool(true))]);
        }
        let names = NamesOf(plan);
        if let Some(condition) = all_of(plan.having.iter(), &names) {
            members.push(("having_condition", Node::Text(condition)));
        }
        let subqueries: Vec<Node> = plan
            .subqueries
            .iter()
            .map(|subquery| self.part(&subquery.plan, !subquery.is_constant, subquery.is_constant || subquery.is_kept))
            .collect();
        if !subqueries.is_empty() {
            members.push(("attached_subqueries", Node::List(subqueries)));
        }
        members.insert(0, ("select_id", Node::Number(plan.select_number as u64)));
        if !plan.steps.is_empty() {
            let cost = Node::Text(format!("{:.2}", cost_of(&plan.steps)));
            members.insert(1, ("cost_info", Node::Object(vec![("query_cost", cost)])));
        }
        members
    }

    /// The tables in the order in which they are read. `of_join`: what a semi-, anti- or outer join says of its tables.
    fn steps(&mut self, plan: &SelectPlan, steps: &[Step], of_join: &mut Members, out: &mut Vec<Node>) {
        for step in steps {
            match step {
                Step::Table(step) => {
                    let is_first = out.is_empty();
                    let mut members = self.table(plan, step, is_first);
                    members.append(of_join);
                    out.push(Node::Object(members));
                }
                Step::Left { steps, .. } => self.steps(plan, steps, &mut vec![("outer_join", Node::Bool(true))], out),
                Step::Semi { steps, anti } => {
                    let word = if *anti { "not_exists" } else { "first_match" };
                    self.steps(plan, steps, &mut vec![(word, Node::Bool(true))], out);
                }
            }
        }
    }

    fn table(&mut self, plan: &SelectPlan, step: &TableStep, is_first: bool) -> Members {
        let source = &plan.sources[step.source];
        let facts = facts(plan, step, is_first);
        let mut members = vec![
            ("table_name", Node::Text(source.alias.to_string())),
            ("access_type", Node::Text(facts.access.into())),
        ];
        if !facts.possible_keys.is_empty() {
            members.push(("possible_keys", texts(&facts.possible_keys)));
        }
        if let Some(key) = facts.merged.or(facts.key) {
            members.push(("key", Node::Text(key)));
            if !facts.used_parts.is_empty() {
                members.push(("used_key_parts", texts(&facts.used_parts)));
            }
        }
        if let Some(bytes) = facts.key_bytes {
            members.push(("key_length", Node::Text(bytes)));
        }
        if !facts.references.is_empty() {
            members.push(("ref", texts(&facts.references)));
        }
        members.push(("rows_examined_per_scan", Node::Number(step.rows)));
        members.push(("rows_produced_per_join", Node::Number(step.expected.joined.rows.round() as u64)));
        members.push(("filtered", Node::Text(format!("{:.2}", step.expected.share * 100.0))));
        let cost = |cost: f64| Node::Text(format!("{cost:.2}"));
        let costs =
            vec![("read_cost", cost(step.expected.cost_of_all)), ("prefix_cost", cost(step.expected.joined.cost))];
        members.push(("cost_info", Node::Object(costs)));
        if facts.covering {
            members.push(("using_index", Node::Bool(true)));
        }
        if facts.backward {
            members.push(("backward_index_scan", Node::Bool(true)));
        }
        if step.kept().is_some() {
            members.push(("using_join_buffer", Node::Text("hash join".into())));
        }
        let used = source.columns.iter().enumerate().filter(|(column, _)| source.needed.contains(*column));
        let used: Vec<String> = used.map(|(_, column)| column.name.to_string()).collect();
        if !used.is_empty() {
            members.push(("used_columns", texts(&used)));
        }
        let conditions = step.filters.iter().map(|filter| &filter.expr);
        if let Some(condition) = all_of(conditions, &NamesOf(plan)) {
            members.push(("attached_condition", Node::Text(condition)));
        }
        if let SourceKind::Derived(derived) = &source.kind
            && self.shown.insert(derived.id)
        {
            let dependent = source.follows_rows();
            let mut inner: Members = vec![("using_temporary_table", Node::Bool(true))];
            if let Node::Object(part) = self.part(&derived.plan, dependent, !dependent) {
                inner.extend(part);
            }
            members.push(("materialized_from_subquery", Node::Object(inner)));
        }
        members
    }
}
