//! How plans find their rows: by which indexes, or by none.

use crate::planner::{Access, QueryPlan, SelectPlan, SourceKind, Step};

/// How a plan finds its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// A table behind the first one is read without an index.
    pub full_join: bool,
    /// Of the first table: a part of an index, or all of it.
    pub range: bool,
    pub scan: bool,
    pub sorts: bool,
    /// Some table is read without an index.
    pub no_index: bool,
}

impl Uses {
    pub fn add_query(&mut self, query: &QueryPlan) {
        match query {
            QueryPlan::Select(select) => self.add_select(select),
            QueryPlan::Union(union) => union.parts.iter().for_each(|part| self.add_query(part)),
            QueryPlan::Recursive(plan) => {
                self.add_query(&plan.seed);
                plan.members.iter().for_each(|member| self.add_query(member));
            }
            QueryPlan::Working(_) => {}
        }
    }

    pub fn add_select(&mut self, select: &SelectPlan) {
        let mut is_first = true;
        self.add_steps(select, &select.steps, &mut is_first);
        self.sorts |= !select.order.is_empty() || select.stored.as_ref().is_some_and(|stored| !stored.order.is_empty());
        for subquery in &select.subqueries {
            self.add_query(&subquery.plan);
        }
    }

    fn add_steps(&mut self, select: &SelectPlan, steps: &[Step], is_first: &mut bool) {
        for step in steps {
            let step = match step {
                Step::Table(step) => step,
                Step::Left { steps, .. } | Step::Semi { steps, .. } => {
                    self.add_steps(select, steps, is_first);
                    continue;
                }
            };
            let reads_all = match &step.access {
                Access::Scan { .. } => true,
                Access::Rows => !matches!(select.sources[step.source].kind, SourceKind::Table(_)),
                Access::Point { .. }
                | Access::Range { .. }
                | Access::Fulltext(_)
                | Access::Elements(_)
                | Access::Merge(_) => false,
            };
            self.no_index |= reads_all;
            match is_first {
                true if reads_all => self.scan = true,
                true => self.range |= matches!(step.access, Access::Range { .. } | Access::Merge(_)),
                false => self.full_join |= reads_all,
            }
            *is_first = false;
        }
    }
}
