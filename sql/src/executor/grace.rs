//! Joins by hash whose rows do not fit into memory.
//!
//! The rows of the table are divided among the parts of a file by the hash of their keys. From then on a row of the tables
//! before it that looks for them is not joined at once, but put aside into the part of the same number of another file.
//! When all rows have been put aside, the join goes on part by part:
//!
//! ```text
//! a -> b by hash -> c        b is divided: 0 1 2 ... 15
//!                            rows of a wait in 0 1 2 ... 15
//! then, for each part:       rows of b in memory <- rows of a that wait -> c
//! ```
//!
//! A part for which there is no memory is divided again, on both sides. One whose rows all have the same hash stays
//! whole: so many of its rows as there is memory for are joined with all that wait, and then the next ones. An outer join
//! and a semi-join note meanwhile which of the waiting rows have found something.
//!
//! So the rows of a join come in another order than that of nested loops. A join whose order is asked for, one that locks
//! rows, and one inside an outer or semi-join of several tables are not divided; see `Purpose::WholeJoin`.

use std::cell::RefCell;
use std::rc::Rc;

use storage::ReadMode;

use super::hash_join::{self, Form, HashRows, Kept, Key};
use super::join::{Next, Runner};
use super::memory::{Account, Purpose};
use super::parts::{LEVELS, Parts};
use super::row::{JoinRow, SourceRow};
use crate::error::{Error, Result};
use crate::planner::{SelectPlan, SourceKind, Step, TableStep};
use crate::temporary::values::{Source, write_bytes, write_values};
use crate::temporary::{Reader, Stream};

/// The rows of a table, divided, and those that look for them.
pub struct Divided<'a> {
    form: Form,
    build: RefCell<Vec<Stream>>,
    waiting: RefCell<Option<Parts>>,
    account: RefCell<Account<'a>>,
    /// The tables before it.
    before: Vec<(usize, Form)>,
}

/// The rows of a table that are being kept.
pub struct Building<'a> {
    state: State<'a>,
    form: Form,
    account: Option<Account<'a>>,
    /// The tables before it; None: the rows cannot be divided.
    before: Option<Vec<(usize, Form)>>,
}

enum State<'a> {
    Memory(HashRows<'a>),
    Parts(Parts),
    Refused,
}

/// Which of the waiting rows have found something.
#[derive(Default)]
struct Marks(Vec<u64>);

impl Marks {
    fn get(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn set(&mut self, at: usize, account: &mut Account<'_>) -> Result<()> {
        if self.0.len() <= at / 64 {
            account.add(((at / 64 + 1 - self.0.len()) * size_of::<u64>()) as u64)?;
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
        Ok(())
    }
}

/// The one table of a step, if it has one.
fn table_of(step: &Step) -> Option<&TableStep> {
    match step {
        Step::Table(step) => Some(step),
        Step::Left { steps, .. } | Step::Semi { steps, .. } => match &steps[..] {
            [Step::Table(step)] => Some(step),
            _ => None,
        },
    }
}

/// The tables whose rows are to be had when some steps have run.
fn sources_of(steps: &[Step], out: &mut Vec<usize>) {
    for step in steps {
        match step {
            Step::Table(step) => out.push(step.source),
            Step::Left { steps, .. } => sources_of(steps, out),
            Step::Semi { .. } => {}
        }
    }
}

/// The tables before one whose rows can be divided.
fn tables_before(plan: &SelectPlan, source: usize) -> Option<Vec<(usize, Form)>> {
    let at = plan.steps.iter().position(|step| table_of(step).is_some_and(|table| table.source == source))?;
    if plan.order_by_index || plan.group.as_ref().is_some_and(|group| group.first_row_settles) {
        return None;
    }
    let mut sources = Vec::new();
    sources_of(&plan.steps[..at], &mut sources);
    let form = |number: usize| {
        let source = &plan.sources[number];
        match &source.kind {
            SourceKind::Table(_) if source.read_mode != ReadMode::Consistent => None,
            SourceKind::Table(table) => Some((number, Form::stored(&source.needed, table.columns.len()))),
            _ => Some((number, Form::Values)),
        }
    };
    sources.into_iter().map(form).collect()
}

impl<'a> Building<'a> {
    pub fn new(runner: &Runner<'a>, step: &TableStep, row: &mut JoinRow<'_>) -> Result<Building<'a>> {
        let before = tables_before(runner.plan, step.source);
        let form = match &runner.plan.sources[step.source] {
            source if let SourceKind::Table(table) = &source.kind => Form::stored(&source.needed, table.columns.len()),
            _ => match runner.rows_of(step.source, row)?.rest() {
                None => Form::Place,
                Some(_) => Form::Values,
            },
        };
        let purpose = if before.is_some() { Purpose::Join } else { Purpose::WholeJoin };
        let memory = &runner.environment.memory;
        let state = State::Memory(HashRows::new(form.clone(), memory.account_for(purpose)));
        Ok(Building { state, form, account: Some(memory.account_for(purpose)), before })
    }

    /// Adds the current row of the table; false: no more rows are wanted.
    pub fn add(&mut self, hash: u64, source: &SourceRow<'_>) -> Result<bool> {
        match &mut self.state {
            State::Memory(rows) => {
                if rows.add(hash, source) {
                    return Ok(true);
                }
            }
            State::Parts(parts) => {
                parts.put(hash, |out| {
                    out.extend(hash.to_le_bytes());
                    self.form.write(source, out);
                })?;
                return Ok(true);
            }
            State::Refused => return Ok(false),
        }
        let State::Memory(rows) = std::mem::replace(&mut self.state, State::Refused) else { return Ok(false) };
        let (Some(_), Some(account)) = (&self.before, &mut self.account) else { return Ok(false) };
        let mut parts = Parts::new(account, 0)?;
        let is_place = matches!(self.form, Form::Place);
        rows.for_each(&mut |hash, copy| {
            parts.put(hash, |out| {
                out.extend(hash.to_le_bytes());
                match (is_place, &source.rows) {
                    // Places are of no use once the rows are read part by part: they would be read from everywhere.
                    (true, Some(list)) => {
                        let place = Source(copy).u64().unwrap_or_default() as usize;
                        write_values(&list.in_memory()[place], out);
                    }
                    _ => out.extend_from_slice(copy),
                }
            })
        })?;
        if is_place {
            self.form = Form::Values;
        }
        self.state = State::Parts(parts);
        Ok(true)
    }

    /// A row has no key.
    pub fn refuse(&mut self) {
        self.state = State::Refused;
    }

    pub fn finish(self) -> Result<Kept<'a>> {
        Ok(match (self.state, self.before, self.account) {
            (State::Memory(rows), ..) => Kept::Rows(Rc::new(rows)),
            (State::Parts(parts), Some(before), Some(mut account)) => {
                let build = RefCell::new(parts.finish_all()?);
                account.clear();
                let waiting = RefCell::new(Some(Parts::new(&mut account, 0)?));
                let account = RefCell::new(account);
                Kept::Divided(Rc::new(Divided { form: self.form, build, waiting, account, before }))
            }
            _ => Kept::Refused,
        })
    }
}

impl<'a> Runner<'a> {
    /// Puts the current row aside if the rows that the step looks for are divided.
    pub fn puts_aside(&self, step: &Step, row: &mut JoinRow<'_>) -> Result<bool> {
        let Some(table) = table_of(step).filter(|table| !table.hash.is_empty()) else { return Ok(false) };
        let divided = match self.kept.borrow().get(table.source) {
            Some(Kept::Divided(divided)) => divided.clone(),
            _ => return Ok(false),
        };
        let mut scratch = Vec::new();
        let columns = hash_join::probe_columns(&table.hash);
        let Key::Hash(hash) = hash_join::key(columns, self.context, row, &mut scratch)? else { return Ok(false) };
        let mut waiting = divided.waiting.borrow_mut();
        let Some(parts) = &mut *waiting else { return Err(Error::internal("a row waits for a join that has ended")) };
        parts.put(hash, |out| {
            out.extend(hash.to_le_bytes());
            for (source, form) in &divided.before {
                let current = &row.sources[*source];
                scratch.clear();
                if !current.is_null {
                    form.write(current, &mut scratch);
                }
                out.push(current.is_null.into());
                write_bytes(&scratch, out);
            }
        })?;
        Ok(true)
    }

    /// Joins the rows that were put aside.
    pub fn run_divided(&self, row: &mut JoinRow<'_>, next: &mut Next<'_>) -> Result<()> {
        for (at, step) in self.plan.steps.iter().enumerate() {
            let Some(table) = table_of(step) else { continue };
            let divided = match self.kept.borrow_mut().get_mut(table.source) {
                Some(kept @ Kept::Divided(_)) => std::mem::replace(kept, Kept::Refused),
                _ => continue,
            };
            let Kept::Divided(divided) = divided else { continue };
            let build = std::mem::take(&mut *divided.build.borrow_mut());
            let Some(waiting) = divided.waiting.borrow_mut().take() else { continue };
            let waiting = waiting.finish_all()?;
            divided.account.borrow_mut().clear();
            let join = Join { runner: self, at, table, divided: &divided };
            for (build, waiting) in build.into_iter().zip(waiting) {
                if !join.part(build, waiting, 1, row, next)? {
                    return Ok(());
                }
            }
            self.kept.borrow_mut()[table.source] = Kept::Refused;
        }
        Ok(())
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
            let mut bytes = Source(&record);
            bytes.u64()?;
            for (source, form) in &self.divided.before {
                let current = &mut row.sources[*source];
                current.is_null = bytes.u8()? != 0;
                let copy = bytes.bytes()?;
                if !current.is_null {
                    form.read(copy, current)?;
                }
            }
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
                        marks.set(number, &mut account)?;
                    }
                    Ok(go_on)
                }
                Step::Semi { steps, .. } => {
                    if !marks.get(number) && runner.finds(steps, row)? {
                        marks.set(number, &mut account)?;
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
