//! Nested loops: for each row of a step, the steps behind it.
//!
//! A step finds its rows by a point, by ranges, by a scan, or among rows kept in memory, and passes on those that its
//! conditions let through.

use std::cmp::Ordering;

use storage::{Row, ScanRange};

use super::row::JoinRow;
use super::{Environment, Rows};
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::expression::EvalContext;
use crate::planner::keys::KeyRanges;
use crate::planner::{Access, SelectPlan, SourceKind, Step, TableStep};

/// One run of a plan's steps.
pub struct Runner<'a> {
    pub environment: &'a Environment<'a>,
    pub plan: &'a SelectPlan,
    pub context: &'a EvalContext<'a>,
}

/// The consumer of a row; false: it needs no more.
type Next<'n> = dyn FnMut(&mut JoinRow<'_>) -> Result<bool> + 'n;

impl Runner<'_> {
    /// Runs some steps for the current row; false: the consumer has enough.
    pub fn steps(&self, steps: &[Step], row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        let Some((step, rest)) = steps.split_first() else { return next(row) };
        match step {
            Step::Table(step) if rest.is_empty() => self.table(step, row, next),
            Step::Table(step) => self.table(step, row, &mut |row| self.steps(rest, row, next)),
            Step::Left { steps: inner, sources, filters } => {
                let passes = |row: &JoinRow<'_>| -> Result<bool> {
                    for filter in filters {
                        if !filter.is_true(self.context, row)? {
                            return Ok(false);
                        }
                    }
                    Ok(true)
                };
                let mut matched = false;
                let go_on = self.steps(inner, row, &mut |row| {
                    matched = true;
                    if passes(row)? { self.steps(rest, row, next) } else { Ok(true) }
                })?;
                if matched {
                    return Ok(go_on);
                }
                sources.iter().for_each(|source| row.sources[*source].is_null = true);
                if passes(row)? { self.steps(rest, row, next) } else { Ok(true) }
            }
        }
    }

    /// Whether the row meets the conditions of a step.
    #[inline]
    fn passes(&self, step: &TableStep, row: &JoinRow<'_>, answered: bool) -> Result<bool> {
        for filter in &step.filters {
            let known = answered && filter.answered;
            if !known && !filter.expr.is_true(self.context, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads one table.
    fn table(&self, step: &TableStep, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        row.sources[step.source].is_null = false;
        match &step.access {
            Access::Rows => self.kept_rows(step, row, next),
            Access::Scan { index, reverse } => {
                let all = ScanRange { reverse: *reverse, ..ScanRange::ALL };
                self.cursor(step, *index, &all, false, None, row, next)
            }
            Access::Point { index, key } => {
                let mut ranges = self.environment.scratch.borrow_mut().ranges.pop().unwrap_or_default();
                let result = self.point(step, *index, key, &mut ranges, row, next);
                self.environment.scratch.borrow_mut().give_back_ranges(ranges);
                result
            }
            Access::Range { index, parts, reverse } => {
                let mut ranges = self.environment.scratch.borrow_mut().ranges.pop().unwrap_or_default();
                let result = self.ranges(step, *index, parts, *reverse, &mut ranges, row, next);
                self.environment.scratch.borrow_mut().give_back_ranges(ranges);
                result
            }
        }
    }

    fn kept_rows(&self, step: &TableStep, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        let rows: Rows = row.sources[step.source].rows.clone().unwrap_or_default();
        for at in 0..rows.len() {
            if at % 1024 == 1023 && self.context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            let source = &mut row.sources[step.source];
            source.at = at;
            source.is_null = false;
            if self.passes(step, row, false)? && !next(row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn point(
        &self,
        step: &TableStep,
        index: usize,
        key: &[crate::planner::KeyExpr],
        ranges: &mut KeyRanges,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let source = &self.plan.sources[step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("points are of stored tables") };
        if !ranges.build_point(table, index, key, self.context, row)? {
            return Ok(true);
        }
        if !ranges.exact {
            return self.cursor(step, 0, &ScanRange::ALL, false, None, row, next);
        }
        let stored = &mut row.sources[step.source].stored;
        let found = ranges.with_point(|key| {
            self.environment.trx.borrow_mut().get(table, index, key, source.read_mode, &source.needed, stored)
        });
        if found.or_sql()? && self.passes(step, row, true)? { next(row) } else { Ok(true) }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one range scan")]
    fn ranges(
        &self,
        step: &TableStep,
        index: usize,
        parts: &[crate::planner::PartRange],
        reverse: bool,
        ranges: &mut KeyRanges,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let source = &self.plan.sources[step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("ranges are of stored tables") };
        ranges.build(table, index, parts, self.context, row)?;
        for at in 0..ranges.len() {
            let at = if reverse { ranges.len() - 1 - at } else { at };
            let stop = if reverse { None } else { ranges.stop_prefix() };
            let exact = ranges.exact;
            let go_on =
                ranges.with_range(at, reverse, |range| self.cursor(step, index, range, exact, stop, row, next))?;
            if !go_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one range scan")]
    fn cursor(
        &self,
        step: &TableStep,
        index: usize,
        range: &ScanRange<'_>,
        answered: bool,
        stop: Option<(usize, &[u8])>,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        let source = &self.plan.sources[step.source];
        let SourceKind::Table(table) = &source.kind else { unreachable!("cursors are of stored tables") };
        let trx = self.environment.trx;
        let mut cursor = trx.borrow_mut().cursor(table, index, source.read_mode, source.needed, *range).or_sql()?;
        loop {
            let more = cursor.next(&mut trx.borrow_mut(), &mut row.sources[step.source].stored).or_sql()?;
            if !more {
                return Ok(true);
            }
            // A table further in may have been read meanwhile, this one not.
            row.sources[step.source].is_null = false;
            if self.passes(step, row, answered)? {
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
    let Some(id) = table.columns[column].ty.collation() else { return false };
    let Some(value) = row.get(column) else { return false };
    let collation = format::collation::collation(id);
    let length = collation.charset.char_count(prefix);
    let beginning = collation.charset.substring(value, 0, length);
    collation.compare(beginning, prefix) == Ordering::Greater
}
