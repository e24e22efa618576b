//! Walking over plans.

use std::collections::BTreeSet;

use super::{QueryPlan, SelectPlan, SourceKind, Step, TableStep};

/// Called with each table that is read, and with the query that reads it.
type Visit<'v> = &'v mut dyn FnMut(&SelectPlan, &TableStep);

/// Visits the tables that a query reads.
pub fn each_step(query: &QueryPlan, visit: Visit<'_>) {
    visit_query(query, &mut BTreeSet::new(), visit);
}

pub fn each_step_of(select: &SelectPlan, visit: Visit<'_>) {
    visit_select(select, &mut BTreeSet::new(), visit);
}

/// `seen` has the derived tables that were visited: each of a chain of tables of WITH may read the one before it twice.
fn visit_query(query: &QueryPlan, seen: &mut BTreeSet<usize>, visit: Visit<'_>) {
    match query {
        QueryPlan::Select(select) => visit_select(select, seen, visit),
        QueryPlan::Union(union) => union.parts.iter().for_each(|part| visit_query(part, seen, visit)),
        QueryPlan::Recursive(plan) => {
            visit_query(&plan.seed, seen, visit);
            plan.members.iter().for_each(|member| visit_query(member, seen, visit));
        }
        QueryPlan::Working(_) => {}
    }
}

fn visit_select(select: &SelectPlan, seen: &mut BTreeSet<usize>, visit: Visit<'_>) {
    fn steps(select: &SelectPlan, all: &[Step], visit: Visit<'_>) {
        for step in all {
            match step {
                Step::Table(step) => visit(select, step),
                Step::Left { steps: inner, .. } | Step::Semi { steps: inner, .. } => steps(select, inner, visit),
            }
        }
    }
    steps(select, &select.steps, visit);
    for source in &select.sources {
        if let SourceKind::Derived(derived) = &source.kind
            && seen.insert(derived.id)
        {
            visit_query(&derived.plan, seen, visit);
        }
    }
    select.subqueries.iter().for_each(|subquery| visit_query(&subquery.plan, seen, visit));
}
