//! The rows of a table that a join finds by hash, and those that look for them, when there is no memory for the former.
//!
//! The rows of the table are divided among the parts of a file by the hash of their keys. From then on a row of the tables
//! before it that looks for them is not joined at once, but put aside into the part of the same number of another file;
//! [`super::grace`] joins the parts. So the rows of a join come in another order than that of nested loops. A join whose
//! order is asked for, one behind tables whose rows are locked, and one inside an outer or semi-join of several tables are
//! not divided: [`Purpose::WholeJoin`] limits what they keep.

use std::cell::RefCell;
use std::rc::Rc;

use storage::ReadMode;

use super::hash_join::{Form, HashRows};
use super::memory::{Account, Memory, Purpose};
use super::parts::Parts;
use super::row::{JoinRow, SourceRow};
use super::rows::RowList;
use crate::error::{Error, Result};
use crate::expression::record::{Source, write_bytes, write_values};
use crate::planner::{SelectPlan, SourceKind, Step, TableStep};
use crate::temporary::Stream;

/// What is known of a step's rows.
#[derive(Clone)]
pub enum Kept<'a> {
    /// It is not kept, and rows have been looked for so often.
    Asked(u64),
    Rows(Rc<HashRows<'a>>),
    /// They are divided, and so are rows that look for them.
    Divided(Rc<Divided<'a>>),
    /// It cannot be kept.
    Refused,
}

impl Default for Kept<'_> {
    fn default() -> Self {
        Kept::Asked(0)
    }
}

/// The rows of a table, divided, and those that look for them.
pub struct Divided<'a> {
    pub form: Form,
    build: RefCell<Vec<Stream>>,
    waiting: RefCell<Option<Parts>>,
    account: RefCell<Account<'a>>,
    /// The tables before it, and how their rows are copied.
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

/// The one table of a step, if it has one.
pub fn table_of(step: &Step) -> Option<&TableStep> {
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
    /// `rows` has those of a table that is not stored.
    pub fn new(plan: &SelectPlan, memory: &'a Memory<'a>, step: &TableStep, rows: Option<&RowList>) -> Building<'a> {
        let before = tables_before(plan, step.source);
        let form = match (&plan.sources[step.source].kind, rows) {
            (SourceKind::Table(table), _) => Form::stored(&plan.sources[step.source].needed, table.columns.len()),
            (_, Some(rows)) if rows.rest().is_none() => Form::Place,
            _ => Form::Values,
        };
        let purpose = if before.is_some() { Purpose::Join } else { Purpose::WholeJoin };
        let state = State::Memory(HashRows::new(form.clone(), memory.account_for(purpose)));
        Building { state, form, account: Some(memory.account_for(purpose)), before }
    }

    /// Adds the current row of the table; false: no more rows are wanted. `tick` is called for each row that is written.
    pub fn add(&mut self, hash: u64, source: &SourceRow<'_>, tick: &dyn Fn() -> Result<()>) -> Result<bool> {
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
            tick()?;
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

impl Divided<'_> {
    /// Puts the current row of the tables before aside; `hash` is that of what it looks for.
    pub fn put_aside(&self, hash: u64, row: &JoinRow<'_>) -> Result<()> {
        let mut waiting = self.waiting.borrow_mut();
        let Some(parts) = &mut *waiting else { return Err(Error::internal("a row waits for a join that has ended")) };
        let mut copy = Vec::new();
        parts.put(hash, |out| {
            out.extend(hash.to_le_bytes());
            for (source, form) in &self.before {
                let current = &row.sources[*source];
                copy.clear();
                if !current.is_null {
                    form.write(current, &mut copy);
                }
                out.push(current.is_null.into());
                write_bytes(&copy, out);
            }
        })
    }

    /// Makes a row that was put aside the current one.
    pub fn take_back(&self, record: &[u8], row: &mut JoinRow<'_>) -> Result<()> {
        let mut bytes = Source(record);
        bytes.u64()?;
        for (source, form) in &self.before {
            let current = &mut row.sources[*source];
            current.is_null = bytes.u8()? != 0;
            let copy = bytes.bytes()?;
            if !current.is_null {
                form.read(copy, current)?;
            }
        }
        Ok(())
    }

    /// The parts of the table, and the rows that wait for each, now that all of them do.
    pub fn finish(&self) -> Result<Vec<(Stream, Stream)>> {
        let build = std::mem::take(&mut *self.build.borrow_mut());
        let waiting = match self.waiting.borrow_mut().take() {
            Some(waiting) => waiting.finish_all()?,
            None => Vec::new(),
        };
        self.account.borrow_mut().clear();
        Ok(build.into_iter().zip(waiting).collect())
    }
}
