//! The rows that leave a query: distinct, sorted, limited.

use std::cell::Cell;

use format::collation::CollationId;
use format::value::Value;

use super::memory::{Account, Memory, Purpose};
use super::parts::{self, LEVELS, Parts};
use super::sorter::{Record, Sorter};
use crate::error::{Error, Result};
use crate::expression::record::{Source, write_bytes, write_values};
use crate::expression::{Datum, EvalContext, Expr, Fields, KeyForm, Keyed, group_key};
use crate::key_table::KeyTable;
use crate::temporary::Stream;

/// Rows that are given without looking for KILL.
const INTERRUPT_EVERY: u64 = 1024;

/// What is asked of a query's rows.
pub struct Wanted<'a> {
    pub collations: &'a [CollationId],
    pub order: &'a [(Expr, bool)],
    pub offset: u64,
    pub count: u64,
    /// SQL_CALC_FOUND_ROWS: rows behind the limit are counted, too.
    pub counts_all: bool,
}

/// Takes rows, and gives those that are wanted.
pub struct Output<'a, 'v> {
    memory: &'a Memory<'a>,
    wanted: Wanted<'a>,
    seen: Option<Seen<'a>>,
    /// Rows that may have been seen before: see [`Seen`].
    undecided: Vec<Stream>,
    sorter: Option<Sorter<'a, Keyed>>,
    form: KeyForm,
    scratch: Vec<u8>,
    given: Given<'v>,
    found_rows: &'a Cell<u64>,
}

/// Applies the limit.
struct Given<'v> {
    offset: u64,
    left: u64,
    found: u64,
    counts_all: bool,
    visit: &'v mut dyn FnMut(&[Value]) -> Result<bool>,
}

/// The rows so far, of which each is given once. When there is no memory for more of them, rows that are not among them
/// are divided among the parts of a file; each part is looked through when all rows have come.
struct Seen<'a> {
    keys: KeyTable,
    account: Account<'a>,
    parts: Option<Parts>,
    level: u32,
}

/// What is known of a row.
#[derive(Clone, Copy)]
enum Is {
    New,
    Seen,
    Undecided,
}

impl Record for Keyed {
    fn bytes(&self) -> u64 {
        self.memory_bytes()
    }

    fn write(&self, out: &mut Vec<u8>) {
        Keyed::write(self, out);
    }

    fn read(record: &[u8]) -> Result<Keyed> {
        Keyed::read(record)
    }
}

impl<'a> Seen<'a> {
    fn new(memory: &'a Memory<'a>, level: u32) -> Seen<'a> {
        Seen { keys: KeyTable::default(), account: memory.account_for(Purpose::Table), parts: None, level }
    }

    /// Whether a row with this key has been seen; it has been from now on.
    fn look(&mut self, key: &[u8]) -> Result<Is> {
        if self.keys.contains(key) {
            return Ok(Is::Seen);
        }
        let bytes = key.len() as u64 + 48;
        if self.parts.is_some() || !self.account.fits(bytes) {
            if self.level < LEVELS {
                return Ok(Is::Undecided);
            }
            self.account.add(bytes)?;
        }
        self.keys.insert(key);
        Ok(Is::New)
    }

    /// Puts a row aside of which that is not known.
    fn put_aside(&mut self, key: &[u8], write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => {
                let made = Parts::new(&mut self.account, self.level)?;
                if self.level == 0 {
                    self.account.memory().count(|counts| counts.tables += 1);
                }
                none.insert(made)
            }
        };
        parts.put(parts::hash(key), |out| {
            write_bytes(key, out);
            write(out);
        })
    }

    fn finish(self) -> Result<Vec<Stream>> {
        self.parts.map_or(Ok(Vec::new()), Parts::finish)
    }
}

impl<'a, 'v> Output<'a, 'v> {
    pub fn new(
        memory: &'a Memory<'a>,
        wanted: Wanted<'a>,
        found_rows: &'a Cell<u64>,
        visit: &'v mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Output<'a, 'v> {
        let sorter = (!wanted.order.is_empty()).then(|| Sorter::new(memory.account_for(Purpose::Sort)));
        let (offset, left, counts_all) = (wanted.offset, wanted.count, wanted.counts_all);
        let given = Given { offset, left, found: 0, counts_all, visit };
        let form = KeyForm::of(wanted.order);
        let (undecided, scratch) = (Vec::new(), Vec::new());
        Output { memory, wanted, seen: None, undecided, sorter, form, scratch, given, found_rows }
    }

    /// From now on each row is taken once, with regard to those taken before.
    pub fn be_distinct(&mut self) {
        self.seen.get_or_insert_with(|| Seen::new(self.memory, 0));
    }

    /// Rows are taken as often as they come from now on.
    pub fn be_not_distinct(&mut self) -> Result<()> {
        if let Some(seen) = self.seen.take() {
            self.undecided = seen.finish()?;
        }
        Ok(())
    }

    /// Takes a row; `fields` is what ORDER BY is evaluated on. False: it needs no more.
    pub fn row(&mut self, values: &[Value], context: &EvalContext<'_>, fields: &dyn Fields) -> Result<bool> {
        if let Some(seen) = &mut self.seen {
            let mut key = Vec::new();
            for (value, collation) in values.iter().zip(self.wanted.collations) {
                group_key(&Datum::from(value), *collation, &mut key);
            }
            match seen.look(&key)? {
                Is::Seen => return Ok(true),
                Is::Undecided => {
                    let row = self.sort_row(values, context, fields)?;
                    if let Some(seen) = &mut self.seen {
                        seen.put_aside(&key, |out| row.write(out))?;
                    }
                    return Ok(true);
                }
                Is::New => {}
            }
        }
        if self.sorter.is_none() {
            return self.given.give(values);
        }
        let row = self.sort_row(values, context, fields)?;
        self.sort(row, context)
    }

    /// A row with its key.
    fn sort_row(&mut self, values: &[Value], context: &EvalContext<'_>, fields: &dyn Fields) -> Result<Keyed> {
        let scratch = &mut self.scratch;
        self.form.write_key(self.wanted.order, context, fields, scratch)?;
        let key_bytes = scratch.len();
        write_values(values, scratch);
        Keyed::new(self.form, key_bytes, scratch)
    }

    fn sort(&mut self, row: Keyed, context: &EvalContext<'_>) -> Result<bool> {
        let order = self.wanted.order;
        let wanted = self.wanted.offset.saturating_add(self.wanted.count);
        match &mut self.sorter {
            Some(sorter) => {
                sorter.push(row, wanted, &|a, b| a.compare(b, order), context.session)?;
                Ok(true)
            }
            None => {
                let mut values = Vec::new();
                Source(row.rest()).values(&mut values)?;
                self.given.give(&values)
            }
        }
    }

    /// Takes the rows of a part that were not seen before; false: no more are needed.
    fn decide(&mut self, part: &Stream, level: u32, context: &EvalContext<'_>) -> Result<bool> {
        let mut seen = Seen::new(self.memory, level);
        let (mut reader, mut record) = (part.reader(), Vec::new());
        let mut number = 0_u64;
        while reader.next(&mut record)? {
            number += 1;
            if number.is_multiple_of(INTERRUPT_EVERY) && context.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            let mut source = Source(&record);
            let key = source.bytes()?;
            let rest = source.0;
            match seen.look(key)? {
                Is::Seen => {}
                Is::Undecided => seen.put_aside(key, |out| out.extend_from_slice(rest))?,
                Is::New => {
                    if !self.sort(Keyed::read(rest)?, context)? {
                        return Ok(false);
                    }
                }
            }
        }
        self.decide_all(seen.finish()?, level + 1, context)
    }

    fn decide_all(&mut self, parts: Vec<Stream>, level: u32, context: &EvalContext<'_>) -> Result<bool> {
        for part in parts {
            if !self.decide(&part, level, context)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives what was not given yet.
    pub fn finish(mut self, context: &EvalContext<'_>) -> Result<()> {
        self.be_not_distinct()?;
        if self.given.needs_more() {
            let undecided = std::mem::take(&mut self.undecided);
            self.decide_all(undecided, 1, context)?;
        }
        if let Some(sorter) = self.sorter.take() {
            let order = self.wanted.order;
            let compare = |a: &Keyed, b: &Keyed| a.compare(b, order);
            let wanted = self.wanted.offset.saturating_add(self.wanted.count);
            let (mut sorted, _account, thrown_away) = sorter.finish(wanted, &compare, context.session)?;
            let mut number = 0_u64;
            let mut values = Vec::new();
            while let Some(row) = sorted.next(&compare, context.session)? {
                number += 1;
                if number.is_multiple_of(INTERRUPT_EVERY) && context.session.is_interrupted() {
                    return Err(Error::interrupted());
                }
                Source(row.rest()).values(&mut values)?;
                if !self.given.give(&values)? {
                    break;
                }
            }
            if self.given.counts_all {
                self.given.found += thrown_away;
            }
        }
        self.found_rows.set(self.given.found);
        Ok(())
    }
}

impl Given<'_> {
    fn needs_more(&self) -> bool {
        self.left > 0 || self.counts_all
    }

    /// Applies the limit, and emits a row.
    fn give(&mut self, values: &[Value]) -> Result<bool> {
        self.found += 1;
        if self.offset > 0 {
            self.offset -= 1;
            return Ok(true);
        }
        if self.left == 0 {
            return Ok(self.counts_all);
        }
        self.left -= 1;
        if !(self.visit)(values)? {
            // The consumer has enough.
            (self.left, self.counts_all) = (0, false);
            return Ok(false);
        }
        Ok(self.needs_more())
    }
}
