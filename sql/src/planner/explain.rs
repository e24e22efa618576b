//! EXPLAIN: a plan in MySQL's table, one line for each table read.

use std::collections::BTreeSet;

use format::value::Value;

use super::arrays::Asked;
use super::change::InsertPlan;
use super::{Access, PartRange, QueryPlan, RecursivePlan, SelectPlan, SourceKind, Step, TableStep, pruning};
use crate::expression::{EvalContext, NoFields, Node};
use crate::parser::ast::SetOperator;

pub const COLUMNS: [&str; 12] = [
    "id",
    "select_type",
    "table",
    "partitions",
    "type",
    "possible_keys",
    "key",
    "key_len",
    "ref",
    "rows",
    "filtered",
    "Extra",
];

type Line = Vec<Value>;

struct Lines<'c> {
    /// What constants of the plan are evaluated with.
    context: &'c EvalContext<'c>,
    lines: Vec<Line>,
    /// The derived tables that have their lines.
    shown: BTreeSet<usize>,
}

fn text(value: &str) -> Value {
    Value::Bytes(value.as_bytes().to_vec())
}

fn optional(value: Option<String>) -> Value {
    value.map_or(Value::Null, |value| Value::Bytes(value.into_bytes()))
}

/// The lines of a query.
pub fn query(plan: &QueryPlan, context: &EvalContext<'_>) -> Vec<Line> {
    let mut lines = Lines { context, lines: Vec::new(), shown: BTreeSet::new() };
    explain_query(plan, "SIMPLE", &mut lines);
    lines.lines
}

fn explain_query(plan: &QueryPlan, kind: &str, lines: &mut Lines<'_>) {
    match plan {
        QueryPlan::Select(plan) => explain_select(plan, kind, lines),
        QueryPlan::Union(plan) => {
            let kind = if kind == "SIMPLE" { "PRIMARY" } else { kind };
            for (number, part) in plan.parts.iter().enumerate() {
                explain_query(part, if number == 0 { kind } else { "UNION" }, lines);
            }
            let sets = plan.links.iter().find(|link| link.operator != SetOperator::Union);
            if plan.parts.len() > 1 && (sets.is_some() || plan.distinct_until.is_some() || !plan.order.is_empty()) {
                let extra = if plan.order.is_empty() { "Using temporary" } else { "Using temporary; Using filesort" };
                let mut line = vec![Value::Null; COLUMNS.len()];
                let name = match sets.map(|link| link.operator) {
                    Some(SetOperator::Except) => "EXCEPT",
                    Some(SetOperator::Intersect) => "INTERSECT",
                    _ => "UNION",
                };
                line[1] = text(&format!("{name} RESULT"));
                line[2] = text(&format!("<{}>", name.to_ascii_lowercase()));
                line[4] = text("ALL");
                line[11] = text(extra);
                lines.lines.push(line);
            }
        }
        QueryPlan::Recursive(plan) => explain_recursive(plan, kind, lines),
        QueryPlan::Working(_) => {}
    }
}

fn explain_recursive(plan: &RecursivePlan, kind: &str, lines: &mut Lines<'_>) {
    explain_query(&plan.seed, kind, lines);
    for member in &plan.members {
        let first = lines.lines.len();
        explain_query(member, "UNION", lines);
        if let Some(line) = lines.lines.get_mut(first) {
            line[11] = match std::mem::replace(&mut line[11], Value::Null) {
                Value::Bytes(extra) => text(&format!("Recursive; {}", String::from_utf8_lossy(&extra))),
                _ => text("Recursive"),
            };
        }
    }
}

fn explain_select(plan: &SelectPlan, kind: &str, lines: &mut Lines<'_>) {
    let has_parts =
        !plan.subqueries.is_empty() || plan.sources.iter().any(|source| matches!(source.kind, SourceKind::Derived(_)));
    let kind = if kind == "SIMPLE" && has_parts { "PRIMARY" } else { kind };
    let mut own = Vec::new();
    table_steps(&plan.steps, None, &mut own);
    if own.is_empty() {
        let mut line = vec![Value::Null; COLUMNS.len()];
        line[0] = Value::UInt(plan.select_number as u64);
        line[1] = text(kind);
        line[11] = text("No tables used");
        lines.lines.push(line);
    }
    for (number, (step, semi)) in own.iter().enumerate() {
        let line = table_line(plan, step, kind, number == 0, *semi, lines.context);
        lines.lines.push(line);
    }
    for source in &plan.sources {
        // A table of WITH that is read twice is made once.
        if let SourceKind::Derived(derived) = &source.kind
            && lines.shown.insert(derived.id)
        {
            let kind = if source.alias.starts_with("<subquery") { "MATERIALIZED" } else { "DERIVED" };
            explain_query(&derived.plan, kind, lines);
        }
    }
    for subquery in &plan.subqueries {
        let kind = if subquery.is_constant { "SUBQUERY" } else { "DEPENDENT SUBQUERY" };
        explain_query(&subquery.plan, kind, lines);
    }
}

/// The tables that are read, and what is said of those of a semi- or anti-join: one row is enough.
fn table_steps<'p>(
    steps: &'p [Step],
    semi: Option<&'static str>,
    out: &mut Vec<(&'p TableStep, Option<&'static str>)>,
) {
    for step in steps {
        match step {
            Step::Table(step) => out.push((step, semi)),
            Step::Left { steps, .. } => table_steps(steps, semi, out),
            Step::Semi { steps, anti } => {
                table_steps(steps, Some(if *anti { "Not exists" } else { "FirstMatch" }), out)
            }
        }
    }
}

/// What joining all these tables is expected to cost. That of a semi-join is counted apart.
pub(super) fn cost_of(steps: &[Step]) -> f64 {
    let (mut joined, mut apart) = (0.0, 0.0);
    for step in steps {
        match step {
            Step::Table(step) => joined = step.expected.joined.cost,
            Step::Left { steps, .. } => joined = cost_of(steps).max(joined),
            Step::Semi { steps, .. } => apart += cost_of(steps),
        }
    }
    joined + apart
}

fn table_line(
    plan: &SelectPlan,
    step: &TableStep,
    kind: &str,
    is_first: bool,
    semi: Option<&'static str>,
    context: &EvalContext<'_>,
) -> Line {
    let facts = facts(plan, step, is_first);
    let mut line = vec![Value::Null; COLUMNS.len()];
    line[0] = Value::UInt(plan.select_number as u64);
    line[1] = text(kind);
    line[2] = text(&plan.sources[step.source].alias);
    line[3] = optional(partitions(plan, step, context));
    line[4] = text(facts.access);
    line[5] = optional((!facts.possible_keys.is_empty()).then(|| facts.possible_keys.join(",")));
    line[6] = optional(facts.key.clone());
    line[7] = optional(facts.key_bytes);
    line[8] = optional((!facts.references.is_empty()).then(|| facts.references.join(",")));
    line[9] = Value::UInt(step.rows);
    line[10] = Value::Double((step.expected.share * 10_000.0).round() / 100.0);
    let mut extra = Vec::new();
    if facts.filters_rows {
        extra.push("Using where".to_owned());
    }
    if let Some(keys) = &facts.merged {
        extra.insert(0, format!("Using {keys}"));
    }
    if facts.covering {
        extra.push("Using index".to_owned());
    }
    if facts.backward {
        extra.push("Backward index scan".to_owned());
    }
    extra.extend(semi.map(str::to_owned));
    if step.kept().is_some() {
        extra.push("Using join buffer (hash join)".to_owned());
    }
    if is_first {
        let groups = plan.group.as_ref().is_some_and(|group| !group.keys.is_empty());
        if groups || plan.distinct {
            extra.push("Using temporary".to_owned());
        }
        if !plan.order.is_empty() {
            extra.push("Using filesort".to_owned());
        }
    }
    line[11] = optional((!extra.is_empty()).then(|| extra.join("; ")));
    line
}

/// The partitions that a step is known to read before it runs.
fn partitions(plan: &SelectPlan, step: &TableStep, context: &EvalContext<'_>) -> Option<String> {
    let source = &plan.sources[step.source];
    let (SourceKind::Table(table), Some(division)) = (&source.kind, &source.division) else { return None };
    let known = step.pruning.as_deref().filter(|pruning| pruning.is_constant());
    let set = pruning::partitions(division, known, table, context, &NoFields).unwrap_or_else(|_| division.all());
    Some(pruning::names(table, &set))
}

/// How a table is read, in the words that all forms of EXPLAIN share.
#[derive(Default)]
pub(super) struct TableFacts {
    /// `ALL`, `ref`, `range` ...
    pub access: &'static str,
    pub possible_keys: Vec<String>,
    pub key: Option<String>,
    pub used_parts: Vec<String>,
    /// In bytes; of several indexes with commas between them.
    pub key_bytes: Option<String>,
    /// The indexes of which each finds a part of the rows, as `union(a,b)`.
    pub merged: Option<String>,
    /// Per used part of a `const`, `eq_ref` or `ref`: what it is compared with.
    pub references: Vec<String>,
    /// The index alone is read.
    pub covering: bool,
    pub backward: bool,
    /// Conditions are evaluated on the rows.
    pub filters_rows: bool,
}

pub(super) fn facts(plan: &SelectPlan, step: &TableStep, is_first: bool) -> TableFacts {
    let source = &plan.sources[step.source];
    let SourceKind::Table(table) = &source.kind else {
        return TableFacts { access: "ALL", filters_rows: !step.filters.is_empty(), ..TableFacts::default() };
    };
    let name = |index: usize| index_name(table, index);
    let (own, covering) = step.shown_access();
    if let Access::Merge(_) = own {
        return merge_facts(step, table, own, covering);
    }
    let (access, key, parts, references) = match own {
        Access::Scan { index: 0, .. } if !plan.order_by_index => ("ALL", None, 0, Vec::new()),
        Access::Scan { index, .. } if table.indexes[*index].is_hidden() => ("ALL", None, 0, Vec::new()),
        Access::Scan { index, .. } => ("index", Some(*index), table.indexes[*index].parts.len(), Vec::new()),
        Access::Point { index, key } => {
            let constant = key.iter().all(|key| key.expr.is_constant() || reads_nothing(&key.expr));
            let access = if constant && is_first { "const" } else { "eq_ref" };
            (access, Some(*index), key.len(), references(plan, key.iter()))
        }
        Access::Range { index, parts, .. } => {
            let single = |part: &PartRange| matches!(part, PartRange::Points(points) if points.len() == 1);
            if parts.iter().all(single) {
                let keys = parts.iter().flat_map(|part| match part {
                    PartRange::Points(points) => &points[..],
                    PartRange::Intervals(_) => &[],
                });
                ("ref", Some(*index), parts.len(), references(plan, keys))
            } else {
                ("range", Some(*index), parts.len(), Vec::new())
            }
        }
        Access::Elements(access) => match access.asked {
            Asked::Member => {
                let element = super::KeyExpr { expr: access.value.clone(), null_safe: false };
                let mut keys: Vec<&super::KeyExpr> = access.others.iter().collect();
                keys.insert(access.at, &element);
                ("ref", Some(access.index), access.parts(), references(plan, keys.into_iter()))
            }
            Asked::All | Asked::Any => ("range", Some(access.index), access.parts(), Vec::new()),
        },
        Access::Fulltext(access) => ("fulltext", Some(access.search.index), 0, vec!["const".to_owned()]),
        Access::Rows | Access::Merge(_) => ("ALL", None, 0, Vec::new()),
    };
    let used = |index: usize| &table.indexes[index].parts[..parts];
    let backward = match own {
        Access::Scan { reverse, .. } | Access::Range { reverse, .. } => *reverse,
        _ => false,
    };
    let unanswered = step.filters.iter().any(|filter| !step.answers(filter));
    TableFacts {
        access,
        possible_keys: step.possible_keys.iter().map(|index| name(*index)).collect(),
        key: key.map(name),
        used_parts: key.map_or(Vec::new(), |index| {
            used(index).iter().map(|part| table.columns[part.column].name.to_string()).collect()
        }),
        key_bytes: key.map(|index| used(index).iter().map(|part| key_bytes(table, part)).sum::<u64>().to_string()),
        merged: None,
        references,
        covering: covering && key.is_some(),
        backward,
        filters_rows: unanswered || access == "range" && !step.filters.is_empty(),
    }
}

pub(super) fn index_name(table: &storage::Table, index: usize) -> String {
    if table.indexes[index].primary { "PRIMARY".to_owned() } else { table.indexes[index].name.to_string() }
}

/// Of a table that is read by several indexes.
fn merge_facts(step: &TableStep, table: &storage::Table, access: &Access, covering: bool) -> TableFacts {
    let indexes = access.indexes();
    let texts = |one: &dyn Fn(usize, usize) -> String| {
        indexes.iter().map(|(index, parts)| one(*index, *parts)).collect::<Vec<_>>().join(",")
    };
    let bytes = |index: usize, parts: usize| {
        let used = &table.indexes[index].parts[..parts];
        used.iter().map(|part| key_bytes(table, part)).sum::<u64>().to_string()
    };
    let names = texts(&|index, _| index_name(table, index));
    TableFacts {
        access: "index_merge",
        possible_keys: step.possible_keys.iter().map(|index| index_name(table, *index)).collect(),
        merged: Some(format!("union({names})")),
        key: Some(names),
        key_bytes: Some(texts(&bytes)),
        covering,
        filters_rows: true,
        ..TableFacts::default()
    }
}

fn reads_nothing(expr: &crate::expression::Expr) -> bool {
    let mut nothing = true;
    expr.for_each_column(&mut |_| nothing = false);
    nothing
}

/// What each key part is compared with: `const`, a column of a table further out, or `func`.
fn references<'k>(plan: &SelectPlan, keys: impl Iterator<Item = &'k super::KeyExpr>) -> Vec<String> {
    let one = |key: &super::KeyExpr| match &key.expr.node {
        Node::Column(slot) | Node::EnumName { slot, .. } | Node::SetNames { slot, .. } => {
            let (source, column) = plan.slots[*slot];
            let source = &plan.sources[source as usize];
            source.column_name(column as usize)
        }
        _ if reads_nothing(&key.expr) => "const".to_owned(),
        _ => "func".to_owned(),
    };
    keys.map(one).collect()
}

/// The bytes of a key part as EXPLAIN counts them: one more for NULL, two more for a length.
fn key_bytes(table: &storage::Table, part: &storage::IndexPart) -> u64 {
    use format::value::ColumnType as T;
    let column = &table.columns[part.column];
    let ty = part.elements.as_ref().unwrap_or(&column.ty);
    let charset_bytes =
        |id: format::collation::CollationId| format::collation::collation(id).charset.bytes_max() as u64;
    let bytes = match ty {
        T::Int { bytes, .. } => *bytes as u64,
        T::Year => 1,
        T::Bit { bits } => (*bits as u64).div_ceil(8),
        T::Float { .. } => 4,
        T::Double { .. } => 8,
        T::Decimal { precision, scale, .. } => format::value::Decimal::stored_bytes(*precision, *scale) as u64,
        T::Date => 3,
        T::Time { fsp } => 3 + (*fsp as u64).div_ceil(2),
        T::DateTime { fsp } => 5 + (*fsp as u64).div_ceil(2),
        T::Timestamp { fsp } => 4 + (*fsp as u64).div_ceil(2),
        T::Char { chars, collation } => part.prefix_chars.unwrap_or(*chars) as u64 * charset_bytes(*collation),
        T::VarChar { chars, collation } => part.prefix_chars.unwrap_or(*chars) as u64 * charset_bytes(*collation) + 2,
        T::Text { collation, .. } => part.prefix_chars.unwrap_or(0) as u64 * charset_bytes(*collation) + 2,
        T::Binary { bytes } => part.prefix_chars.unwrap_or(*bytes) as u64,
        T::VarBinary { bytes } => part.prefix_chars.unwrap_or(*bytes) as u64 + 2,
        T::Blob { .. } | T::Json | T::Geometry { .. } => part.prefix_chars.unwrap_or(0) as u64 + 2,
        T::Enum { members, .. } => {
            if members.len() < 256 {
                1
            } else {
                2
            }
        }
        T::Set { members, .. } => match members.len().div_ceil(8) {
            5.. => 8,
            bytes => bytes.max(1) as u64,
        },
    };
    bytes + column.nullable as u64
}

/// The lines of an UPDATE or DELETE.
pub fn change(plan: &SelectPlan, kind: &str, context: &EvalContext<'_>) -> Vec<Line> {
    let mut lines = Lines { context, lines: Vec::new(), shown: BTreeSet::new() };
    explain_select(plan, kind, &mut lines);
    lines.lines
}

/// The lines of an INSERT.
pub fn insert(plan: &InsertPlan, context: &EvalContext<'_>) -> Vec<Line> {
    let mut line = vec![Value::Null; COLUMNS.len()];
    line[0] = Value::UInt(1);
    line[1] = text(if plan.replace { "REPLACE" } else { "INSERT" });
    line[2] = text(&plan.table.name);
    line[3] = optional(plan.division.as_ref().map(|division| pruning::names(&plan.table, &division.all())));
    line[4] = text("ALL");
    let mut lines = Lines { context, lines: vec![line], shown: BTreeSet::new() };
    if let Some(query) = plan.query() {
        explain_query(query, "SIMPLE", &mut lines);
    }
    lines.lines
}
