//! GROUP BY and aggregates: rows are put into groups, groups come out as rows.
//!
//! Groups are found by hash. When there is no memory for more of them, those that are there go on taking rows, and rows of
//! others are divided among the parts of a file, by the hash of their key: a group's rows are all in memory, or all in one
//! part. When all rows have come the groups in memory are given, and then those of each part in the same way. A row that is
//! put aside has its key, and the values of the slots that aggregates and results read.
//!
//! Distinct values of an aggregate for which there is no memory are put aside likewise, with the number of their group, and
//! are added when all rows have come. What a group keeps else, such as the texts of GROUP_CONCAT, must fit into memory.

use std::cmp::Ordering;

use format::value::Value;

use super::Environment;
use super::memory::{Account, Purpose, row_bytes};
use super::parts::{self, LEVELS, Parts};
use super::sorter::{Record, Sorter};
use crate::error::Result;
use crate::expression::record::{Source, write_bytes, write_value, write_values};
use crate::expression::{Accumulator, AggregateCall, Datum, EvalContext, Fields, group_key, order};
use crate::key_table::KeyTable;
use crate::parser::ast::AggregateFunction;
use crate::planner::logical::Rollup;
use crate::planner::{GroupPlan, SelectPlan};
use crate::temporary::{Pile, Stream};

/// What a group takes beside its key, its values and its aggregates.
const GROUP_BYTES: u64 = 96;

/// Groups by hash; those in memory are given in the order in which they were first met.
pub struct Groups<'a> {
    environment: &'a Environment<'a>,
    plan: &'a SelectPlan,
    group: &'a GroupPlan,
    account: Account<'a>,
    /// slot -> place in the kept values
    place: Vec<u16>,
    /// The keys of the groups, by whose numbers the rest is found.
    index: KeyTable,
    groups: Kept,
    key: Vec<u8>,
    /// The aggregates before those that are keys of WITH ROLLUP.
    aggregates: &'a [AggregateCall],
    /// An aggregate keeps more with its rows.
    grows: bool,
    aside: Option<Aside>,
    /// Distinct values for which there is no memory: group, aggregate, key, values.
    late: Option<Parts>,
    level: u32,
}

/// What groups keep, one behind the other: so a group has no allocations of its own but for its texts.
#[derive(Default)]
struct Kept {
    count: usize,
    /// The values of the kept slots, of each group as many.
    values: Pile<Vec<Value>>,
    /// Of all aggregates but those that are keys of WITH ROLLUP.
    accumulators: Pile<Vec<Accumulator>>,
    /// WITH ROLLUP: the values of the keys that each group has, and where those of a group end.
    keys: Pile<Vec<Value>>,
    key_ends: Vec<usize>,
    /// WITH ROLLUP: the group of one key less.
    parents: Vec<u32>,
}

/// Rows of groups for which there is no memory yet.
struct Aside {
    parts: Parts,
    /// The slots that are written.
    slots: Vec<usize>,
}

/// A row that was put aside.
struct AsideRow<'r> {
    /// slot -> place in the values
    place: &'r [u16],
    values: &'r [Value],
}

/// A group as the row that output, HAVING and ORDER BY are evaluated on.
struct GroupRow<'g> {
    place: &'g [u16],
    kept: &'g [Value],
    results: &'g [Value],
}

/// A finished group of WITH ROLLUP.
struct RollupRow {
    keys: Vec<Value>,
    kept: Vec<Value>,
    results: Vec<Value>,
}

/// Takes finished groups: the values of their keys, their kept values and results.
type Take<'t> = dyn FnMut(Vec<Value>, Vec<Value>, Vec<Value>) -> Result<bool> + 't;

impl Fields for AsideRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        self.values.get(self.place[slot] as usize).map_or(Datum::Null, Datum::from)
    }
}

impl Fields for GroupRow<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        self.kept.get(self.place[slot] as usize).map_or(Datum::Null, Datum::from)
    }

    fn aggregate(&self, index: usize) -> Datum<'_> {
        Datum::from(&self.results[index])
    }
}

impl Record for RollupRow {
    fn bytes(&self) -> u64 {
        row_bytes(&self.keys) + row_bytes(&self.kept) + row_bytes(&self.results)
    }

    fn write(&self, out: &mut Vec<u8>) {
        [&self.keys, &self.kept, &self.results].into_iter().for_each(|values| write_values(values, out));
    }

    fn read(record: &[u8]) -> Result<RollupRow> {
        let mut source = Source(record);
        Ok(RollupRow { keys: source.new_values()?, kept: source.new_values()?, results: source.new_values()? })
    }
}

/// slot -> place among some slots
fn places(count: usize, slots: &[usize]) -> Vec<u16> {
    let mut place = vec![u16::MAX; count];
    for (at, slot) in slots.iter().enumerate() {
        place[*slot] = at as u16;
    }
    place
}

impl<'a> Groups<'a> {
    pub fn new(plan: &'a SelectPlan, group: &'a GroupPlan, environment: &'a Environment<'a>) -> Groups<'a> {
        Groups {
            environment,
            plan,
            group,
            account: environment.memory.account_for(Purpose::Table),
            place: places(plan.slots.len(), &group.kept),
            index: KeyTable::default(),
            groups: Kept::default(),
            key: Vec::new(),
            aggregates: &group.aggregates[..group.rollup.as_ref().map_or(group.aggregates.len(), Rollup::first)],
            grows: group.aggregates.iter().any(|call| call.grows()),
            aside: None,
            late: None,
            level: 0,
        }
    }

    /// Puts a joined row into its group; false: no more rows are needed.
    pub fn add(&mut self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<bool> {
        if self.group.rollup.is_some() {
            return self.add_to_all(context, row).map(|()| true);
        }
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        for expr in &self.group.keys {
            let value = expr.eval(context, row)?;
            group_key(&value, expr.ty.collation, &mut key);
        }
        let added = self.add_to(context, row, &key, &[]);
        self.key = key;
        added?;
        if self.group.first_row_settles {
            let call = &self.group.aggregates[0];
            debug_assert!(matches!(call.function, AggregateFunction::Min | AggregateFunction::Max));
            return Ok(call.args[0].eval(context, row)?.is_null());
        }
        Ok(true)
    }

    /// WITH ROLLUP: puts a row into the groups of all lengths of its keys.
    fn add_to_all(&mut self, context: &EvalContext<'_>, row: &dyn Fields) -> Result<()> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let count = self.group.keys.len();
        let (mut values, mut ends) = (Vec::with_capacity(count), Vec::with_capacity(count + 1));
        ends.push(0);
        for expr in &self.group.keys {
            let value = expr.eval(context, row)?;
            group_key(&value, expr.ty.collation, &mut key);
            ends.push(key.len());
            values.push(value.into_value());
        }
        // Keys of several values are of several lengths: no key of fewer is equal. Shorter ones are started first, and
        // none once there is no memory for one: those of a group that is there are there.
        let find = |length: &usize| self.index.find(&key[..ends[*length]]).map(|number| (*length, number));
        let known = (0..=count).rev().find_map(|length| find(&length));
        let (mut has, mut parent) = (0, 0);
        if let Some((length, number)) = known {
            let mut at = number;
            for shorter in (0..=length).rev() {
                self.take(context, row, at)?;
                at = if shorter > 0 { self.groups.parents[at] as usize } else { at };
            }
            (has, parent) = (length + 1, number);
        }
        for length in has..=count {
            let (key, values) = (&key[..ends[length]], &values[..length]);
            match self.start(context, row, key, values, parent)? {
                Some(number) => {
                    self.take(context, row, number)?;
                    parent = number;
                }
                None => self.put_aside(row, key, values)?,
            }
        }
        self.key = key;
        Ok(())
    }

    /// Puts a row into the group of a key, or aside.
    fn add_to(&mut self, context: &EvalContext<'_>, row: &dyn Fields, key: &[u8], keys: &[Value]) -> Result<()> {
        let is_alone = self.group.keys.is_empty();
        let known = if is_alone { self.groups.count.checked_sub(1) } else { self.index.find(key) };
        let number = match known {
            Some(number) => Some(number),
            None => self.start(context, row, key, keys, 0)?,
        };
        match number {
            Some(number) => self.take(context, row, number),
            None => self.put_aside(row, key, keys),
        }
    }

    /// Takes a row into a group.
    fn take(&mut self, context: &EvalContext<'_>, row: &dyn Fields, number: usize) -> Result<()> {
        let mut more = 0;
        for (at, call) in self.aggregates.iter().enumerate() {
            let accumulator = &mut self.groups.accumulators[number * self.aggregates.len() + at];
            if call.takes_values_late() {
                let (is_full, account) = (self.late.is_some(), &mut self.account);
                let fits = &mut |bytes| !is_full && account.fits(bytes);
                if let Some(values) = accumulator.add_within(call, context, row, fits)? {
                    self.put_late(number, at, &values)?;
                }
                continue;
            }
            let before = accumulator.kept_bytes();
            accumulator.add(call, context, row)?;
            more += accumulator.kept_bytes().saturating_sub(before);
        }
        if self.grows && more > 0 { self.account.add(more) } else { Ok(()) }
    }

    /// Puts the distinct values of the last row of a group aside.
    fn put_late(&mut self, number: usize, at: usize, values: &[Value]) -> Result<()> {
        let late = match &mut self.late {
            Some(late) => late,
            none => {
                self.account.memory().count(|counts| counts.tables += 1);
                none.insert(Parts::new(&mut self.account, 0)?)
            }
        };
        let mut identity = Vec::new();
        identity.extend((number as u32).to_le_bytes());
        identity.extend((at as u32).to_le_bytes());
        write_bytes(self.groups.accumulators[number * self.aggregates.len() + at].last_key(), &mut identity);
        late.put(parts::hash(&identity), |out| {
            out.extend_from_slice(&identity);
            write_values(values, out);
        })
    }

    /// Adds the distinct values that were put aside.
    fn add_late(&mut self, context: &EvalContext<'_>) -> Result<()> {
        let Some(late) = self.late.take() else { return Ok(()) };
        // None of them is among those that have been added.
        let mut bytes = 0;
        for (call, accumulator) in self.aggregates.iter().cycle().zip(self.groups.accumulators.iter_mut()) {
            if call.takes_values_late() {
                bytes += accumulator.forget_seen();
            }
        }
        self.account.give_back(bytes);
        for part in late.finish()? {
            self.add_late_part(context, &part, 1)?;
        }
        Ok(())
    }

    fn add_late_part(&mut self, context: &EvalContext<'_>, part: &Stream, level: u32) -> Result<()> {
        let mut account = self.environment.memory.account_for(Purpose::Table);
        let mut seen = KeyTable::default();
        let mut others: Option<Parts> = None;
        let (mut reader, mut record) = (part.reader(), Vec::new());
        while reader.next(&mut record)? {
            self.environment.tick(context)?;
            let mut source = Source(&record);
            let (number, at, _) = (source.u32()? as usize, source.u32()? as usize, source.bytes()?);
            let identity = &record[..record.len() - source.0.len()];
            if seen.contains(identity) {
                continue;
            }
            let bytes = identity.len() as u64 + GROUP_BYTES;
            if level < LEVELS && (others.is_some() || !account.fits(bytes)) {
                let others = match &mut others {
                    Some(others) => others,
                    none => none.insert(Parts::new(&mut account, level)?),
                };
                others.put(parts::hash(identity), |out| out.extend_from_slice(&record))?;
                continue;
            }
            if level == LEVELS {
                account.add(bytes)?;
            }
            seen.insert(identity);
            let values = source.new_values()?;
            let accumulator = &mut self.groups.accumulators[number * self.aggregates.len() + at];
            accumulator.add_late(&self.group.aggregates[at], values, context)?;
        }
        drop((seen, account));
        for part in others.map(Parts::finish).transpose()?.into_iter().flatten() {
            self.add_late_part(context, &part, level + 1)?;
        }
        Ok(())
    }

    /// Starts a group; None: there is no memory for it.
    fn start(
        &mut self,
        context: &EvalContext<'_>,
        row: &dyn Fields,
        key: &[u8],
        keys: &[Value],
        parent: usize,
    ) -> Result<Option<usize>> {
        if self.aside.is_some() && self.level < LEVELS {
            return Ok(None);
        }
        let groups = &mut self.groups;
        let before = groups.values.len();
        groups.values.extend(self.group.kept.iter().map(|slot| row.field(*slot).into_value()));
        for at in self.group.rollup.iter().flat_map(Rollup::other_forms) {
            groups.values.push(self.group.aggregates[at].args[0].eval(context, row)?.into_value());
        }
        let aggregates = (self.aggregates.len() * size_of::<Accumulator>()) as u64;
        let values = row_bytes(&groups.values[before..]) + row_bytes(keys);
        let bytes = values + key.len() as u64 + aggregates + GROUP_BYTES;
        if !self.account.fits(bytes) {
            match groups.count == 0 {
                true => self.account.add_anyway(bytes),
                false if self.level < LEVELS => {
                    groups.values.truncate(before);
                    return Ok(None);
                }
                false => self.account.add(bytes)?,
            }
        }
        let number = groups.count;
        groups.count += 1;
        groups.accumulators.extend(self.aggregates.iter().map(|call| call.start()));
        if self.group.rollup.is_some() {
            groups.keys.extend_from_slice(keys);
            groups.key_ends.push(groups.keys.len());
            groups.parents.push(parent as u32);
        }
        if !self.group.keys.is_empty() {
            self.index.insert(key);
        }
        Ok(Some(number))
    }

    fn put_aside(&mut self, row: &dyn Fields, key: &[u8], keys: &[Value]) -> Result<()> {
        let aside = match &mut self.aside {
            Some(aside) => aside,
            none => {
                if self.level == 0 {
                    self.account.memory().count(|counts| counts.tables += 1);
                }
                let parts = Parts::new(&mut self.account, self.level)?;
                none.insert(Aside { parts, slots: read_slots(self.plan, self.group) })
            }
        };
        aside.parts.put(parts::hash(key), |out| {
            write_bytes(key, out);
            write_values(keys, out);
            for slot in &aside.slots {
                write_value(&row.field(*slot).into_value(), out);
            }
        })
    }

    /// Takes the rows of a part.
    fn add_part(&mut self, context: &EvalContext<'_>, part: &Stream) -> Result<()> {
        let slots = read_slots(self.plan, self.group);
        let place = places(self.plan.slots.len(), &slots);
        let (mut reader, mut record) = (part.reader(), Vec::new());
        let mut values = Vec::with_capacity(slots.len());
        while reader.next(&mut record)? {
            self.environment.tick(context)?;
            let mut source = Source(&record);
            let (key, keys) = (source.bytes()?, source.new_values()?);
            values.clear();
            for _ in &slots {
                values.push(source.value()?);
            }
            self.add_to(context, &AsideRow { place: &place, values: &values }, key, &keys)?;
        }
        Ok(())
    }

    /// Gives each group as a row.
    pub fn finish(
        mut self,
        context: &EvalContext<'_>,
        emit: &mut dyn FnMut(&dyn Fields) -> Result<bool>,
    ) -> Result<()> {
        if self.groups.count == 0 && self.group.keys.is_empty() {
            // Aggregates over nothing are a row.
            self.groups.count = 1;
            self.groups.accumulators.extend(self.aggregates.iter().map(|call| call.start()));
            self.groups.values.resize(self.group.kept.len(), Value::Null);
        }
        let place = self.place.clone();
        let mut emit = |kept: &[Value], results: &[Value]| emit(&GroupRow { place: &place, kept, results });
        let Some(rollup) = &self.group.rollup else {
            return self.each(context, &mut |_, kept, results| emit(&kept, &results)).map(|_| ());
        };
        let keys = &self.group.keys;
        let compare = |a: &RollupRow, b: &RollupRow| {
            for (at, key) in keys.iter().enumerate() {
                let compared = match (a.keys.get(at), b.keys.get(at)) {
                    (Some(a), Some(b)) => {
                        let compared = order(&Datum::from(a), &Datum::from(b), key.ty.collation);
                        if rollup.descending[at] { compared.reverse() } else { compared }
                    }
                    // Behind the groups of one key stands their sum.
                    (a, b) => a.is_none().cmp(&b.is_none()),
                };
                if compared != Ordering::Equal {
                    return compared;
                }
            }
            Ordering::Equal
        };
        let mut sorter = Sorter::new(self.environment.memory.account_for(Purpose::Sort));
        let (kept_count, aggregate_count) = (self.group.kept.len(), self.group.aggregates.len());
        self.each(context, &mut |keys, kept, results| {
            sorter.push(RollupRow { keys, kept, results }, u64::MAX, &compare, context.session).map(|()| true)
        })?;
        let (mut sorted, _account, _) = sorter.finish(u64::MAX, &compare, context.session)?;
        while let Some(row) = sorted.next(&compare, context.session)? {
            let RollupRow { keys, kept, mut results } = row;
            let (kept, others) = kept.split_at(kept_count);
            results.resize(aggregate_count, Value::Null);
            put_keys(rollup, keys, others, &mut results);
            if !emit(kept, &results)? {
                break;
            }
        }
        Ok(())
    }

    /// Finishes the groups in memory, and then those of the parts; false: no more were wanted.
    fn each(mut self, context: &EvalContext<'_>, take: &mut Take<'_>) -> Result<bool> {
        self.index = KeyTable::default();
        self.add_late(context)?;
        let Kept { count, values, mut accumulators, keys, key_ends, .. } = std::mem::take(&mut self.groups);
        let width = values.len() / count.max(1);
        let (mut values, mut keys) =
            (Pile::from(values.into_inner().into_iter()), Pile::from(keys.into_inner().into_iter()));
        let mut taken = 0;
        for number in 0..count {
            self.environment.tick(context)?;
            let mut results = Vec::with_capacity(self.aggregates.len());
            let own = &mut accumulators[number * self.aggregates.len()..];
            for (accumulator, call) in own.iter_mut().zip(self.aggregates) {
                results.push(accumulator.finish(call, context)?);
            }
            let end = key_ends.get(number).copied().unwrap_or(0);
            let own_keys = keys.by_ref().take(end - taken).collect();
            taken = end;
            if !take(own_keys, values.by_ref().take(width).collect(), results)? {
                return Ok(false);
            }
        }
        drop((values, accumulators, keys));
        let Some(aside) = self.aside.take() else { return Ok(true) };
        self.account.clear();
        for part in aside.parts.finish()? {
            let mut groups = Groups::new(self.plan, self.group, self.environment);
            groups.level = self.level + 1;
            groups.add_part(context, &part)?;
            if !groups.each(context, take)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Puts the keys of a group of WITH ROLLUP among its results, which are NULL. `others` are the keys in their other forms.
fn put_keys(rollup: &Rollup, keys: Vec<Value>, others: &[Value], results: &mut [Value]) {
    let has = keys.len();
    results[rollup.level] = Value::Int(has as i64);
    let has_it = |at: usize| rollup.keys[..has].iter().any(|forms| forms.contains(&at));
    for (at, value) in rollup.other_forms().zip(others).filter(|(at, _)| has_it(*at)) {
        results[at] = value.clone();
    }
    for (forms, value) in rollup.keys.iter().zip(keys) {
        if let Some(at) = forms.last() {
            results[*at] = value;
        }
    }
}

/// The slots that a row must have to be put into a group later.
fn read_slots(plan: &SelectPlan, group: &GroupPlan) -> Vec<usize> {
    let mut is_read = vec![false; plan.slots.len()];
    group.kept.iter().for_each(|slot| is_read[*slot] = true);
    for call in &group.aggregates {
        for expr in call.args.iter().chain(call.order_by.iter().map(|(expr, _)| expr)) {
            expr.for_each_column(&mut |slot| is_read[slot] = true);
        }
    }
    if !plan.subqueries.is_empty() {
        // What a subquery in an aggregate reads.
        for (slot, (source, column)) in plan.slots.iter().enumerate() {
            is_read[slot] |= plan.sources[*source as usize].needed.contains(*column as usize);
        }
    }
    (0..is_read.len()).filter(|slot| is_read[*slot]).collect()
}
