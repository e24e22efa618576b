//! GROUP BY and aggregates: rows are put into groups, groups come out as rows.

use format::value::Value;
use rustc_hash::FxHashMap;

use super::Environment;
use super::memory::{Account, row_bytes};
use super::row::JoinRow;
use crate::error::Result;
use crate::expression::{Accumulator, Datum, EvalContext, Fields, group_key};
use crate::parser::ast::AggregateFunction;
use crate::planner::{GroupPlan, SelectPlan};

/// Groups by hash; in the order in which they were first met.
pub struct Groups<'a> {
    plan: &'a SelectPlan,
    group: &'a GroupPlan,
    account: Account<'a>,
    /// slot -> place in the kept values
    place: Vec<u16>,
    index: FxHashMap<Box<[u8]>, usize>,
    groups: Vec<Group>,
    key: Vec<u8>,
}

struct Group {
    kept: Vec<Value>,
    accumulators: Vec<Accumulator>,
}

/// A group as the row that output, HAVING and ORDER BY are evaluated on.
struct GroupRow<'g> {
    place: &'g [u16],
    kept: &'g [Value],
    results: &'g [Value],
}

impl Fields for GroupRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        self.kept.get(self.place[slot] as usize).map_or(Datum::Null, Datum::from)
    }

    fn aggregate(&self, index: usize) -> Datum<'_> {
        Datum::from(&self.results[index])
    }
}

impl<'a> Groups<'a> {
    pub fn new(plan: &'a SelectPlan, group: &'a GroupPlan, environment: &'a Environment<'a>) -> Groups<'a> {
        let mut place = vec![u16::MAX; plan.slots.len()];
        for (at, slot) in group.kept.iter().enumerate() {
            place[*slot] = at as u16;
        }
        let account = environment.memory.account();
        Groups { plan, group, account, place, index: FxHashMap::default(), groups: Vec::new(), key: Vec::new() }
    }

    /// Puts a joined row into its group; false: no more rows are needed.
    pub fn add(&mut self, context: &EvalContext<'_>, row: &JoinRow<'_>) -> Result<bool> {
        let number = if self.group.keys.is_empty() {
            if self.groups.is_empty() {
                self.start(row)?;
            }
            0
        } else {
            self.key.clear();
            for expr in &self.group.keys {
                let value = expr.eval(context, row)?;
                group_key(&value, expr.ty.collation, &mut self.key);
            }
            match self.index.get(&self.key[..]) {
                Some(number) => *number,
                None => {
                    self.start(row)?;
                    self.account.add(self.key.len() as u64)?;
                    self.index.insert(self.key.as_slice().into(), self.groups.len() - 1);
                    self.groups.len() - 1
                }
            }
        };
        let group = &mut self.groups[number];
        for (accumulator, call) in group.accumulators.iter_mut().zip(&self.group.aggregates) {
            accumulator.add(call, context, row)?;
        }
        if self.group.first_row_settles {
            let call = &self.group.aggregates[0];
            debug_assert!(matches!(call.function, AggregateFunction::Min | AggregateFunction::Max));
            return Ok(call.args[0].eval(context, row)?.is_null());
        }
        Ok(true)
    }

    fn start(&mut self, row: &JoinRow<'_>) -> Result<()> {
        let kept: Vec<Value> = self.group.kept.iter().map(|slot| row.field(*slot).into_value()).collect();
        self.account.add(row_bytes(&kept))?;
        let accumulators: Vec<Accumulator> = self.group.aggregates.iter().map(|call| call.start()).collect();
        self.account.add((accumulators.len() * size_of::<Accumulator>()) as u64)?;
        self.groups.push(Group { kept, accumulators });
        Ok(())
    }

    /// Gives each group as a row.
    pub fn finish(
        mut self,
        context: &EvalContext<'_>,
        emit: &mut dyn FnMut(&dyn Fields) -> Result<bool>,
    ) -> Result<()> {
        if self.groups.is_empty() && self.group.keys.is_empty() {
            // Aggregates over nothing are a row.
            let accumulators = self.group.aggregates.iter().map(|call| call.start()).collect();
            self.groups.push(Group { kept: vec![Value::Null; self.group.kept.len()], accumulators });
        }
        debug_assert!(self.place.len() == self.plan.slots.len());
        for group in &mut self.groups {
            let mut results = Vec::with_capacity(group.accumulators.len());
            for (accumulator, call) in group.accumulators.iter_mut().zip(&self.group.aggregates) {
                results.push(accumulator.finish(call, context)?);
            }
            let row = GroupRow { place: &self.place, kept: &group.kept, results: &results };
            if !emit(&row)? {
                break;
            }
        }
        Ok(())
    }
}
