//! GROUP BY and aggregates: rows are put into groups, groups come out as rows.

use std::cmp::Ordering;

use format::value::Value;
use rustc_hash::FxHashMap;

use super::Environment;
use super::memory::{Account, row_bytes};
use super::row::JoinRow;
use super::sort::sort_by;
use crate::error::Result;
use crate::expression::{Accumulator, Datum, EvalContext, Fields, group_key, order};
use crate::parser::ast::AggregateFunction;
use crate::planner::logical::Rollup;
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
    /// WITH ROLLUP: the values of the keys that it has.
    keys: Vec<Value>,
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
        if self.group.rollup.is_some() {
            return self.add_to_all(context, row).map(|()| true);
        }
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

    /// WITH ROLLUP: puts a row into the groups of all lengths of its keys.
    fn add_to_all(&mut self, context: &EvalContext<'_>, row: &JoinRow<'_>) -> Result<()> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let mut values = Vec::with_capacity(self.group.keys.len());
        for length in 0..=self.group.keys.len() {
            if let Some(last) = length.checked_sub(1) {
                let expr = &self.group.keys[last];
                let value = expr.eval(context, row)?;
                group_key(&value, expr.ty.collation, &mut key);
                values.push(value.into_value());
            }
            // Keys of several values are of several lengths: no key of fewer is equal.
            let number = match self.index.get(&key[..]) {
                Some(number) => *number,
                None => {
                    self.start(row)?;
                    self.account.add(key.len() as u64 + row_bytes(&values))?;
                    self.index.insert(key.as_slice().into(), self.groups.len() - 1);
                    let number = self.groups.len() - 1;
                    self.groups[number].keys.clone_from(&values);
                    number
                }
            };
            let group = &mut self.groups[number];
            for (accumulator, call) in group.accumulators.iter_mut().zip(&self.group.aggregates) {
                accumulator.add(call, context, row)?;
            }
        }
        self.key = key;
        Ok(())
    }

    /// Sorts the groups of WITH ROLLUP: behind those of one key stands their sum.
    fn sort(&mut self, rollup: &Rollup, context: &EvalContext<'_>) -> Result<()> {
        let keys = &self.group.keys;
        sort_by(
            &mut self.groups,
            || context.session.is_interrupted(),
            |a, b| {
                for (at, key) in keys.iter().enumerate() {
                    let compared = match (a.keys.get(at), b.keys.get(at)) {
                        (Some(a), Some(b)) => {
                            let compared = order(&Datum::from(a), &Datum::from(b), key.ty.collation);
                            if rollup.descending[at] { compared.reverse() } else { compared }
                        }
                        (a, b) => a.is_none().cmp(&b.is_none()),
                    };
                    if compared != Ordering::Equal {
                        return compared;
                    }
                }
                Ordering::Equal
            },
        )
    }

    fn start(&mut self, row: &JoinRow<'_>) -> Result<()> {
        let kept: Vec<Value> = self.group.kept.iter().map(|slot| row.field(*slot).into_value()).collect();
        self.account.add(row_bytes(&kept))?;
        let accumulators: Vec<Accumulator> = self.group.aggregates.iter().map(|call| call.start()).collect();
        self.account.add((accumulators.len() * size_of::<Accumulator>()) as u64)?;
        self.groups.push(Group { keys: Vec::new(), kept, accumulators });
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
            let kept = vec![Value::Null; self.group.kept.len()];
            self.groups.push(Group { keys: Vec::new(), kept, accumulators });
        }
        debug_assert!(self.place.len() == self.plan.slots.len());
        let rollup = self.group.rollup.as_ref();
        if let Some(rollup) = rollup {
            self.sort(rollup, context)?;
        }
        for group in &mut self.groups {
            let mut results = Vec::with_capacity(group.accumulators.len());
            for (accumulator, call) in group.accumulators.iter_mut().zip(&self.group.aggregates) {
                results.push(accumulator.finish(call, context)?);
            }
            if let Some(rollup) = rollup {
                let has = group.keys.len();
                rollup.keys[has..].iter().flatten().for_each(|at| results[*at] = Value::Null);
                results[rollup.level] = Value::Int(has as i64);
            }
            let row = GroupRow { place: &self.place, kept: &group.kept, results: &results };
            if !emit(&row)? {
                break;
            }
        }
        Ok(())
    }
}
