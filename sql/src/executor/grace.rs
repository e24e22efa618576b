//! Joins by hash whose rows do not fit into memory, part by part.
//!
//! ```text
//! a -> b by hash -> c        b is divided: 0 1 2 ... 15
//!                            rows of a wait in 0 1 2 ... 15: see [`super::divided`]
//! then, for each part:       rows of b in memory <- rows of a that wait -> c
//! ```
//!
//! A part for which there is no memory is divided again, on both sides. One whose rows all have the same hash stays
//! whole: so many of its rows as there is memory for are joined with all that wait, and then the next ones. An outer join
//! and a semi-join note meanwhile which of the waiting rows have found something.

use std::rc::Rc;

use super::divided::{Divided, Kept, table_of};
use super::hash_join::HashRows;
use super::join::{Next, Runner};
use super::memory::{Account, Purpose};
use super::parts::{LEVELS, Parts};
use super::row::JoinRow;
use crate::error::Result;
use crate::expression::record::Source;
use crate::planner::{Step, TableStep};
use crate::temporary::{Reader, Stream};

/// Runs all steps of a plan, and then joins the rows that were put aside.
pub fn run(runner: &Runner<'_>, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<()> {
    if !runner.steps(&runner.plan.steps, row, next)? || runner.kept.borrow().is_empty() {
        return Ok(());
    }
    for (at, step) in runner.plan.steps.iter().enumerate() {
        let Some(table) = table_of(step) else { continue };
        let divided = match runner.kept.borrow().get(table.source) {
            Some(Kept::Divided(divided)) => divided.clone(),
            _ => continue,
        };
        let join = Join { runner, at, table, divided: &divided };
        for (build, waiting) in divided.finish()? {
            if !join.part(build, waiting, 1, row, next)? {
                return Ok(());
            }
        }
        runner.kept.borrow_mut()[table.source] = Kept::Refused;
    }
    Ok(())
}

/// Which of the waiting rows have found something.
#[derive(Default)]
struct Marks(Vec<u64>);

impl Marks {
    fn get(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn set(&mut self, at: usize, account: &mut Account<'_>) {
        if self.0.len() <= at / 64 {
            account.add_anyway(((at / 64 + 1 - self.0.len()) * size_of::<u64>()) as u64);
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }
}

/// A step whose rows are joined part by part.
struct Join<'j, 'a> {
    runner: &'j Runner<'a>,
    /// Which step it is.
    at: usize,
    table: &'j TableStep,
    divided: &'j Divided<'a>,
}

/// Takes a waiting row, of which the number is given; false: the consumer has enough.
type Take<'t> = dyn FnMut(usize, &mut JoinRow<'_>) -> Result<bool> + 't;

impl<'a> Join<'_, 'a> {
    fn account(&self) -> Account<'a> {
        self.runner.environment.memory.account_for(Purpose::Join)
    }

    /// Joins a part of the rows with those that wait for them; false: the consumer has enough.
    fn part(
        &self,
        build: Stream,
        waiting: Stream,
        level: u32,
        row: &mut JoinRow<'_>,
        next: &mut Next<'_>,
    ) -> Result<bool> {
        if waiting.records == 0 {
            return Ok(true);
        }
        let mut reader = build.reader();
        let mut rows = HashRows::new(self.divided.form.clone(), self.account());
        let is_whole = self.fill(&mut rows, &mut reader)?;
        if !is_whole && level < LEVELS {
            drop((rows, reader));
            let some = self.divide(&build, level)?;
            if some.iter().all(|part| part.records < build.records) {
                let others = self.divide(&waiting, level)?;
                drop((build, waiting));
                for (build, waiting) in some.into_iter().zip(others) {
                    if !self.part(build, waiting, level + 1, row, next)? {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            // All rows have one hash, or so few bits are left that they would stay together for long.
            return self.in_turns(&build, &waiting, row, next);
        }
        if !is_whole {
            drop((rows, reader));
            return self.in_turns(&build, &waiting, row, next);
        }
        self.keep(rows);
        let steps = &self.runner.plan.steps[self.at..];
        self.each_waiting(&waiting, row, &mut |_, row| self.runner.steps(steps, row, next))
    }

    /// Reads as many rows as there is memory for; true: all that are left.
    fn fill(&self, rows: &mut HashRows<'a>, reader: &mut Reader) -> Result<bool> {
        let mut record = Vec::new();
        while reader.next(&mut record)? {
            self.runner.environment.tick(self.runner.context)?;
            let mut source = Source(&record);
            let hash = source.u64()?;
            if !rows.add_copy(hash, source.0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn keep(&self, rows: HashRows<'a>) {
        self.runner.kept.borrow_mut()[self.table.source] = Kept::Rows(Rc::new(rows));
    }

    /// Divides a part again.
    fn divide(&self, part: &Stream, level: u32) -> Result<Vec<Stream>> {
        let mut account = self.account();
        let mut parts = Parts::new(&mut account, level)?;
        let (mut reader, mut record) = (part.reader(), Vec::new());
        while reader.next(&mut record)? {
            self.runner.environment.tick(self.runner.context)?;
            parts.put(Source(&record).u64()?, |out| out.extend_from_slice(&record))?;
        }
        parts.finish_all()
    }

    /// Calls `take` with each waiting row.
    fn each_waiting(&self, waiting: &Stream, row: &mut JoinRow<'_>, take: &mut Take<'_>) -> Result<bool> {
        let (mut reader, mut record) = (waiting.reader(), Vec::new());
        let mut number = 0;
        while reader.next(&mut record)? {
            self.runner.environment.tick(self.runner.context)?;
            self.divided.take_back(&record, row)?;
            if !take(number, row)? {
                return Ok(false);
            }
            number += 1;
        }
        Ok(true)
    }

    /// Joins some of the rows after the other with all that wait.
    fn in_turns(&self, build: &Stream, waiting: &Stream, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<bool> {
        let runner = self.runner;
        let (step, rest) = (&runner.plan.steps[self.at], &runner.plan.steps[self.at + 1..]);
        let (mut marks, mut account) = (Marks::default(), runner.environment.memory.account());
        let mut reader = build.reader();
        let mut is_last = false;
        while !is_last {
            let mut rows = HashRows::new(self.divided.form.clone(), self.account());
            is_last = self.fill(&mut rows, &mut reader)?;
            self.keep(rows);
            let go_on = self.each_waiting(waiting, row, &mut |number, row| match step {
                Step::Table(_) => runner.steps(&runner.plan.steps[self.at..], row, next),
                Step::Left { steps, filters, .. } => {
                    let (matched, go_on) = runner.matches(steps, filters, rest, row, next)?;
                    if matched {
                        marks.set(number, &mut account);
                    }
                    Ok(go_on)
                }
                Step::Semi { steps, .. } => {
                    if !marks.get(number) && runner.finds(steps, row)? {
                        marks.set(number, &mut account);
                    }
                    Ok(true)
                }
            })?;
            if !go_on {
                return Ok(false);
            }
        }
        self.each_waiting(waiting, row, &mut |number, row| match step {
            Step::Left { sources, filters, .. } if !marks.get(number) => {
                runner.without_match(sources, filters, rest, row, next)
            }
            Step::Semi { anti, .. } if marks.get(number) != *anti => runner.steps(rest, row, next),
            _ => Ok(true),
        })
    }
}
