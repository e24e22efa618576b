//! Nested loops: for each row of a step, the steps behind it.
//!
//! A step finds its rows by a point, by ranges, by a scan, or among rows kept in memory, and passes on those that its
//! conditions let through. A table that would be scanned again and again is kept by [`super::hash_join`] instead.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use storage::{Row, RowFilter, ScanRange};

use super::divided::{Building, Kept, table_of};
use super::elements::{self, Keys};
use super::hash_join::{self, Key};
use super::row::{IN_VALUES, JoinRow};
use super::rows::{RowList, Rows};
use super::scan::Scan;
use super::{Environment, fulltext, json_table, virtual_rows};
use crate::catalog::OrSqlError;
use crate::error::Result;
use crate::expression::{Datum, EvalContext, Expr, Fields};
use crate::partitions::{PartitionSet, Several, rows};
use crate::planner::access::Alternative;
use crate::planner::arrays::ElementsAccess;
use crate::planner::fulltext::FulltextAccess;
use crate::planner::keys::KeyRanges;
use crate::planner::pruning::Pruning;
use crate::planner::{Access, Derived, HashPlan, SelectPlan, SourceKind, Step, TableStep, column_tests, pruning};

/// Makes the rows of a derived table, or has them: of one that is LATERAL for the values that it reads of a row.
pub type MakeRows<'a> = dyn Fn(&Derived, &[Expr], &EvalContext<'_>, &dyn Fields) -> Result<Rows> + 'a;

/// One run of a plan's steps.
pub struct Runner<'a> {
    pub environment: &'a Environment<'a>,
    pub plan: &'a SelectPlan,
    pub context: &'a EvalContext<'a>,
    pub derived: &'a MakeRows<'a>,
    /// The rows kept for joins, by source; empty until the first is kept.
    pub kept: RefCell<Vec<Kept<'a>>>,
    /// What scans decide, by source; empty until the first one does.
    pub tests: RefCell<Vec<Option<Tests>>>,
}

/// Conditions of a step that its scans decide, and which ones they are.
#[derive(Clone)]
pub struct Tests {
    filter: Arc<RowFilter>,
    decided: u64,
}

/// A step that is read, and which of its conditions count: all, or those on its table alone.
#[derive(Clone, Copy)]
struct Read<'p> {
    step: &'p TableStep,
    local: bool,
    /// Of a table in partitions: those to read.
    partitions: Option<&'p PartitionSet>,
}

/// The consumer of a row; false: it needs no more.
pub type Next<'n> = dyn FnMut(&mut JoinRow<'_>) -> Result<bool> + 'n;

impl<'a> Runner<'a> {
    /// Runs some steps for the current row; false: the consumer has enough.
    pub fn steps(&self, steps: &[Step], row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        let Some((step, rest)) = steps.split_first() else { return next(row) };
        if self.puts_aside(step, row)? {
            return Ok(true);
        }
        match step {
            Step::Table(step) if rest.is_empty() => self.table(step, row, next),
            Step::Table(step) => self.table(step, row, &mut |row| self.steps(rest, row, next)),
            Step::Semi { steps: inner, anti } => {
                if self.finds(inner, row)? == *anti {
                    Ok(true)
                } else {
                    self.steps(rest, row, next)
                }
            }
            Step::Left { steps: inner, sources, filters } => {
                let (matched, go_on) = self.matches(inner, filters, rest, row, next)?;
                if matched { Ok(go_on) } else { self.without_match(sources, filters, rest, row, next) }
            }
        }
    }

    /// Puts the current row aside if the rows that the step looks for are divided.
    fn puts_aside(&self, step: &Step, row: &JoinRow<'_>) -> Result<bool> {
        let Some(table) = table_of(step) else { return Ok(false) };
        let Some(hash) = &table.hash else { return Ok(false) };
        let divided = match self.kept.borrow().get(table.source) {
            Some(Kept::Divided(divided)) => divided.clone(),
            _ => return Ok(false),
        };
        let columns = hash_join::probe_columns(&hash.keys);
        match hash_join::key(columns, self.context, row, &mut Vec::new())? {
            Key::Hash(hash) => divided.put_aside(hash, row).map(|()| true),
            Key::Null | Key::None => Ok(false),
        }
    }

    /// A semi-join: whether the steps find a row.
    pub fn finds(&self, steps: &[Step], row: &mut JoinRow<'_>) -> Result<bool> {
        let mut found = false;
        self.steps(steps, row, &mut |_| {
            found = true;
            Ok(false)
        })?;
        Ok(found)
    }

    /// An outer join: runs the rest for each match. Whether there was one, and whether the consumer wants more.
    pub fn matches(
        &self,
        inner: &[Step],
        filters: &[Expr],
        rest: &[Step],
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<(bool, bool)> {
        let mut matched = false;
        let go_on = self.steps(inner, row, &mut |row| {
            matched = true;
            if self.all_true(filters, row)? { self.steps(rest, row, next) } else { Ok(true) }
        })?;
        Ok((matched, go_on))
    }

    /// An outer join that found nothing.
    pub fn without_match(
        &self,
        sources: &[usize],
        filters: &[Expr],
        rest: &[Step],
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        sources.iter().for_each(|source| row.sources[*source].is_null = true);
        if self.all_true(filters, row)? { self.steps(rest, row, next) } else { Ok(true) }
    }

    fn all_true(&self, conditions: &[Expr], row: &JoinRow<'_>) -> Result<bool> {
        for condition in conditions {
            if !condition.is_true(self.context, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the row meets the conditions of a step; `decided`: those that its scan has decided.
    #[inline]
    fn passes(&self, read: Read<'_>, row: &JoinRow<'_>, answered: bool, decided: u64) -> Result<bool> {
        for (number, filter) in read.step.filters.iter().enumerate() {
            // Which conditions an access answers is known of the step's own.
            let known = if read.local { !filter.is_local } else { answered && filter.answered };
            let known = known || number < u64::BITS as usize && decided >> number & 1 == 1;
            if !known && !filter.expr.is_true(self.context, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What the scans of a step may decide.
    fn tests(&self, step: &TableStep, table: &storage::Table) -> Option<Tests> {
        if step.tests.is_empty() {
            return None;
        }
        let mut all = self.tests.borrow_mut();
        if all.is_empty() {
            all.resize(self.plan.sources.len(), None);
        }
        let tests = all[step.source].get_or_insert_with(|| {
            let (filter, decided) = column_tests::build(&step.tests, table, self.context);
            Tests { filter: Arc::new(filter), decided }
        });
        (!tests.filter.tests().is_empty()).then(|| tests.clone())
    }

    /// Reads one table.
    fn table(&self, step: &TableStep, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        match self.environment.profile {
            None => self.table_unmeasured(step, row, next),
            Some(profile) => {
                profile.measure(step, |rows| self.table_unmeasured(step, row, &mut |row| rows.pass(|| next(row))))
            }
        }
    }

    fn table_unmeasured(&self, step: &TableStep, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        if let Some(hash) = &step.hash
            && let Some(go_on) = self.by_hash(step, hash, row, next)?
        {
            return Ok(go_on);
        }
        row.sources[step.source].is_null = false;
        let is_point = matches!(step.access, Access::Point { .. });
        let partitions = self.partitions(step.source, step.pruning.as_deref().filter(|_| !is_point), row)?;
        let read = Read { step, local: false, partitions: partitions.as_ref() };
        self.read(read, &step.access, row, next)
    }

    /// Reads the rows of a table that an access finds.
    fn read(&self, read: Read<'_>, access: &Access, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        match access {
            Access::Rows => self.kept_rows(read, row, next),
            Access::Merge(all) => self.merged(read, all, row, next),
            Access::Scan { index, reverse } => {
                let all = ScanRange { reverse: *reverse, ..ScanRange::ALL };
                self.cursor(read, *index, &all, false, None, row, next)
            }
            Access::Fulltext(access) => self.found(read, access, row, next),
            Access::Elements(access) => self.with_elements(read, access, row, next),
            Access::Point { index, key } => {
                let mut ranges = self.environment.scratch.borrow_mut().ranges.pop().unwrap_or_default();
                let result = self.point(read, *index, key, &mut ranges, row, next);
                self.environment.scratch.borrow_mut().give_back_ranges(ranges);
                result
            }
            Access::Range { index, parts, reverse } => {
                let mut ranges = self.environment.scratch.borrow_mut().ranges.pop().unwrap_or_default();
                let result = self.ranges(read, *index, parts, *reverse, &mut ranges, row, next);
                self.environment.scratch.borrow_mut().give_back_ranges(ranges);
                result
            }
        }
    }

    /// The partitions of a table that a step reads; None: it has none.
    #[inline]
    fn partitions(&self, source: usize, pruning: Option<&Pruning>, row: &JoinRow<'_>) -> Result<Option<PartitionSet>> {
        let source = &self.plan.sources[source];
        let (SourceKind::Table(table), Some(division)) = (&source.kind, &source.division) else { return Ok(None) };
        pruning::partitions(division, pruning, table, self.context, row).map(Some)
    }

    fn kept_rows(&self, read: Read<'_>, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        let step = read.step;
        let rows = self.rows_of(step.source, row)?;
        for at in 0..rows.in_memory().len() {
            self.environment.tick(self.context)?;
            let source = &mut row.sources[step.source];
            source.at = at;
            source.is_null = false;
            if self.passes(read, row, false, 0)? && !next(row)? {
                return Ok(false);
            }
        }
        let Some(mut rest) = rows.rest() else { return Ok(true) };
        loop {
            self.environment.tick(self.context)?;
            let source = &mut row.sources[step.source];
            if !rest.next(&mut source.values)? {
                return Ok(true);
            }
            source.at = IN_VALUES;
            source.is_null = false;
            if self.passes(read, row, false, 0)? && !next(row)? {
                return Ok(false);
            }
        }
    }

    /// The rows of a derived or virtual table, which are made when they are first wanted.
    fn rows_of(&self, source: usize, row: &mut JoinRow<'_>) -> Result<Rows> {
        if let SourceKind::JsonTable(table) = &self.plan.sources[source].kind {
            let rows = json_table::rows(table, &self.environment.memory, self.context, row)?;
            row.sources[source].rows = Some(rows.clone());
            return Ok(rows);
        }
        let lateral = &self.plan.sources[source].lateral[..];
        if let Some(rows) = &row.sources[source].rows
            && (lateral.is_empty() || !self.plan.sources[source].follows_rows())
        {
            return Ok(rows.clone());
        }
        let rows = match &self.plan.sources[source].kind {
            SourceKind::Table(_) => unreachable!("a stored table has an access"),
            SourceKind::JsonTable(_) => unreachable!("its rows are made above"),
            SourceKind::Derived(derived) => (self.derived)(derived, lateral, self.context, row)?,
            SourceKind::Virtual(table) => {
                RowList::of(virtual_rows::of(self.environment, self.plan, source, table, self.context))
            }
        };
        row.sources[source].rows = Some(rows.clone());
        Ok(rows)
    }

    /// Reads the rows of a table that are kept by hash; None: none are kept.
    fn by_hash(
        &self,
        step: &TableStep,
        plan: &HashPlan,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<Option<bool>> {
        let kept = self.kept(step, plan, row)?;
        if matches!(kept, Kept::Asked(_) | Kept::Refused) {
            return Ok(None);
        }
        let mut scratch = Vec::new();
        let hash = match hash_join::key(hash_join::probe_columns(&plan.keys), self.context, row, &mut scratch)? {
            Key::Hash(hash) => hash,
            Key::Null => return Ok(Some(true)),
            Key::None => return Ok(None),
        };
        let Kept::Rows(rows) = kept else { return Ok(None) };
        let mut found = rows.first(hash);
        while let Some(number) = found {
            self.environment.tick(self.context)?;
            let source = &mut row.sources[step.source];
            rows.take(number, source)?;
            source.is_null = false;
            let mut passes = true;
            for filter in step.filters.iter().filter(|filter| !filter.is_local) {
                if !filter.expr.is_true(self.context, row)? {
                    passes = false;
                    break;
                }
            }
            if passes && !next(row)? {
                return Ok(Some(false));
            }
            found = rows.after(number);
        }
        Ok(Some(true))
    }

    /// What is known of the rows of a step: they are kept when they have been asked for often enough.
    fn kept(&self, step: &TableStep, plan: &HashPlan, row: &mut JoinRow<'_>) -> Result<Kept<'a>> {
        {
            let mut kept = self.kept.borrow_mut();
            if kept.is_empty() {
                kept.resize(self.plan.sources.len(), Kept::default());
            }
            match &mut kept[step.source] {
                Kept::Asked(times) if *times >= plan.lookups => {}
                Kept::Asked(times) => {
                    *times += 1;
                    return Ok(Kept::Asked(*times));
                }
                known => return Ok(known.clone()),
            }
        }
        let kept = self.keep(step, plan, row)?;
        self.kept.borrow_mut()[step.source] = kept.clone();
        Ok(kept)
    }

    /// Reads a table to keep it.
    fn keep(&self, step: &TableStep, plan: &HashPlan, row: &mut JoinRow<'_>) -> Result<Kept<'a>> {
        let rows = match &self.plan.sources[step.source].kind {
            SourceKind::Table(_) => None,
            _ => Some(self.rows_of(step.source, row)?),
        };
        let mut building = Building::new(self.plan, &self.environment.memory, step, rows.as_deref());
        let mut scratch = Vec::new();
        let tick = || self.environment.tick(self.context);
        let mut add = |row: &mut JoinRow<'_>| -> Result<bool> {
            tick()?;
            match hash_join::key(hash_join::build_columns(&plan.keys), self.context, row, &mut scratch)? {
                Key::Hash(hash) => building.add(hash, &row.sources[step.source], &tick),
                Key::Null => Ok(true),
                Key::None => {
                    building.refuse();
                    Ok(false)
                }
            }
        };
        row.sources[step.source].is_null = false;
        let partitions = self.partitions(step.source, plan.pruning.as_deref(), row)?;
        let local = Read { step, local: true, partitions: partitions.as_ref() };
        match plan.build.as_ref().map_or(&step.access, |(access, _)| access) {
            Access::Rows => self.kept_rows(local, row, &mut add)?,
            Access::Scan { index, .. } => self.cursor(local, *index, &ScanRange::ALL, false, None, row, &mut add)?,
            Access::Range { index, parts, .. } => {
                self.ranges(local, *index, parts, false, &mut KeyRanges::default(), row, &mut add)?
            }
            Access::Point { .. } | Access::Fulltext(_) | Access::Elements(_) | Access::Merge(_) => {
                return Ok(Kept::Refused);
            }
        };
        building.finish()
    }

    fn point(
        &self,
        read: Read<'_>,
        index: usize,
        key: &[crate::planner::KeyExpr],
        ranges: &mut KeyRanges,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let step = read.step;
        let source = &self.plan.sources[step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("points are of stored tables") };
        if !ranges.build_point(table, index, key, self.context, row)? {
            return Ok(true);
        }
        if !ranges.exact {
            return self.cursor(read, 0, &ScanRange::ALL, false, None, row, next);
        }
        let stored = &mut row.sources[step.source].stored;
        let mut trx = self.environment.trx.borrow_mut();
        let found = ranges.with_point(|key| match &source.division {
            None => trx.get(table, index, key, source.read_mode, &source.needed, stored).or_sql(),
            Some(division) => {
                let (mode, needed) = (source.read_mode, &source.needed);
                let found = rows::get(&mut trx, self.context, division, table, index, key, mode, needed, stored);
                found.map_err(rows::Failure::into_error)
            }
        });
        drop(trx);
        if found? && self.passes(read, row, true, 0)? { next(row) } else { Ok(true) }
    }

    /// Reads the rows of several alternatives, each once: with the first alternative that is true for it.
    fn merged(&self, read: Read<'_>, all: &[Alternative], row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        for (number, one) in all.iter().enumerate() {
            let go_on = self.read(read, &one.access, row, &mut |row| {
                for earlier in &all[..number] {
                    if earlier.condition.is_true(self.context, row)? {
                        return Ok(true);
                    }
                }
                if one.condition.is_true(self.context, row)? { next(row) } else { Ok(true) }
            })?;
            if !go_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the rows whose arrays have some elements, each once.
    fn with_elements(
        &self,
        read: Read<'_>,
        access: &ElementsAccess,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let source = &self.plan.sources[read.step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("arrays are of stored tables") };
        let keys = match elements::keys(access, self.context, row)? {
            Keys::Null => return Ok(true),
            Keys::All => return self.cursor(read, 0, &ScanRange::ALL, false, None, row, next),
            Keys::Some(keys) => keys,
        };
        let mut others = KeyRanges::default();
        let parts = table.indexes[access.index].parts.iter().filter(|part| part.elements.is_none());
        if !others.build_key(table, parts, &access.others, self.context, row)? {
            return Ok(true);
        }
        if !others.exact {
            return self.cursor(read, 0, &ScanRange::ALL, false, None, row, next);
        }
        let mut seen = FxHashSet::default();
        let mut account = self.environment.memory.account();
        let is_one = keys.len() == 1;
        others.with_point(|others| {
            for key in &keys {
                self.environment.tick(self.context)?;
                let mut prefix = others.to_vec();
                prefix.insert(access.at, Some(key));
                let range = ScanRange::prefix(&prefix);
                let go_on = self.cursor(read, access.index, &range, false, None, row, &mut |row| {
                    if is_one {
                        return next(row);
                    }
                    let identity = elements::identity(table, &row.sources[read.step.source].stored);
                    account.add(identity.len() as u64 + 32)?;
                    if seen.insert(identity) { next(row) } else { Ok(true) }
                })?;
                if !go_on {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Reads the rows that a search finds.
    fn found(
        &self,
        read: Read<'_>,
        access: &FulltextAccess,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let source = &self.plan.sources[read.step.source];
        if let Some((than, or_equal)) = &access.more_than {
            let than = than.eval(self.context, row)?;
            if than.is_null() {
                return Ok(true);
            }
            let than = than.to_f64(self.context)?;
            // Rows that are not found have 0.
            if than < 0.0 || *or_equal && than == 0.0 {
                return self.cursor(read, 0, &ScanRange::ALL, false, None, row, next);
            }
        }
        let text = match access.against.eval(self.context, row)? {
            Datum::Bytes(text) => text.into_owned(),
            _ => return Ok(true),
        };
        let search = &access.search;
        let found = fulltext::rows(self.environment, self.context, search, &text, source.read_mode)?;
        for (_, key) in found.iter() {
            self.environment.tick(self.context)?;
            let stored = &mut row.sources[read.step.source].stored;
            let mut trx = self.environment.trx.borrow_mut();
            let key = fulltext::read_key(key);
            let found = trx.get(&search.table, 0, &key, source.read_mode, &source.needed, stored).or_sql()?;
            drop(trx);
            row.sources[read.step.source].is_null = false;
            if found && self.passes(read, row, true, 0)? && !next(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one range scan")]
    fn ranges(
        &self,
        read: Read<'_>,
        index: usize,
        parts: &[crate::planner::PartRange],
        reverse: bool,
        ranges: &mut KeyRanges,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let source = &self.plan.sources[read.step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("ranges are of stored tables") };
        ranges.build(table, index, parts, self.context, row)?;
        for at in 0..ranges.len() {
            let at = if reverse { ranges.len() - 1 - at } else { at };
            let stop = ranges.stop_prefix(reverse);
            let exact = ranges.exact;
            let go_on =
                ranges.with_range(at, reverse, |range| self.cursor(read, index, range, exact, stop, row, next))?;
            if !go_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one range scan")]
    fn cursor(
        &self,
        read: Read<'_>,
        index: usize,
        range: &ScanRange<'_>,
        answered: bool,
        stop: Option<(usize, &[u8])>,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let step = read.step;
        let source = &self.plan.sources[step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("cursors are of stored tables") };
        let trx = self.environment.trx;
        if let Some(set) = read.partitions {
            let is_first = matches!(self.plan.steps.first(), Some(Step::Table(first)) if first.source == step.source);
            let ordered = is_first && self.plan.wants_order();
            let cursor = Several::new(table, set, index, source.read_mode, source.needed, *range, ordered);
            // Behind the end of one partition's rows there are those of the next.
            let stop = stop.filter(|_| cursor.is_in_order());
            return self.each(read, table, cursor, answered, stop, row, next);
        }
        let cursor = trx.borrow_mut().cursor(table, index, source.read_mode, source.needed, *range).or_sql()?;
        self.each(read, table, cursor, answered, stop, row, next)
    }

    /// Passes on the rows of a scan that the step's conditions let through.
    #[expect(clippy::too_many_arguments, reason = "the parts of one scan")]
    #[inline]
    fn each<S: Scan>(
        &self,
        read: Read<'_>,
        table: &storage::Table,
        mut cursor: S,
        answered: bool,
        stop: Option<(usize, &[u8])>,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let step = read.step;
        let source = &self.plan.sources[step.source];
        let trx = self.environment.trx;
        // A scan that stops behind the rows of a prefix looks at those that do not match.
        let tests = if stop.is_none() { self.tests(step, table) } else { None };
        let decided =
            tests.filter(|tests| cursor.filter(&trx.borrow(), &tests.filter)).map_or(0, |tests| tests.decided);
        loop {
            let more = cursor.next(&mut trx.borrow_mut(), &mut row.sources[step.source].stored).or_sql()?;
            if !more {
                return Ok(true);
            }
            self.environment.tick(self.context)?;
            // A table further in may have been read meanwhile, this one not.
            row.sources[step.source].is_null = false;
            if self.passes(read, row, answered, decided)? {
                if cursor.is_unlocked() {
                    // It is to be changed, so the statement waits for its lock, and then checks the row again.
                    cursor.insist();
                    continue;
                }
                if !next(row)? {
                    return Ok(false);
                }
            } else {
                if source.read_mode != storage::ReadMode::Consistent {
                    cursor.unlock_row(&mut trx.borrow_mut());
                }
                if let Some((column, prefix)) = stop
                    && is_beyond(table, column, prefix, &row.sources[step.source].stored)
                {
                    return Ok(true);
                }
            }
        }
    }
}

/// Whether a row lies behind all that begin with a LIKE's prefix.
fn is_beyond(table: &storage::Table, column: usize, prefix: &[u8], row: &Row) -> bool {
    let Some(value) = row.get(column) else { return false };
    let text = table.columns[column].ty.layout(false).compare.text(value);
    text.is_some_and(|(collation, text)| collation.is_behind(text, prefix))
}
