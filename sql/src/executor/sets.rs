//! EXCEPT and INTERSECT, and UNION beside them: what is left of the rows so far, once the rows of the next query are known.
//!
//! ```text
//! A EXCEPT B          rows of A that B has not, each once      ALL: each of B's takes one of A's away
//! A INTERSECT B       rows of A that B has, too, each once     ALL: as often as the one that has it less often
//! A UNION B           the rows of both, each once              ALL: all rows of both
//! ```
//!
//! Rows are equal as DISTINCT finds them equal; of equal rows the first is kept. What becomes of a row depends on equal
//! rows alone: so when there is no memory for more, the rows of all queries are divided among the parts of a file, and the
//! chain runs for each part by itself.

use format::collation::CollationId;
use format::value::Value;

use super::memory::{Account, Memory, Purpose, row_bytes};
use super::parts::{self, LEVELS, Parts};
use crate::error::{Error, Result};
use crate::expression::record::{Source, write_bytes, write_values};
use crate::expression::{Datum, SessionState, group_key};
use crate::key_table::KeyTable;
use crate::parser::ast::SetOperator;
use crate::planner::SetLink;
use crate::temporary::{Pile, Stream};

/// How many rows are looked at before the statement looks whether it was killed.
const INTERRUPT_EVERY: usize = 1024;

/// What an entry of a table takes beside its key.
const ENTRY_BYTES: u64 = 48;

/// A row and the key by which it is equal to others.
type KeyedRow = (Box<[u8]>, Vec<Value>);

/// The rows of a chain of set operations so far.
pub struct RowSet<'a> {
    memory: &'a Memory<'a>,
    links: &'a [SetLink],
    collations: &'a [CollationId],
    session: &'a dyn SessionState,
    rows: Pile<Vec<KeyedRow>>,
    /// How often the query that runs has each row, if it is compared.
    counts: Counts,
    /// The number of the query that runs.
    part: usize,
    account: Account<'a>,
    divided: Option<Parts>,
    level: u32,
}

/// How often there is each row.
#[derive(Default)]
struct Counts {
    keys: KeyTable,
    times: Vec<u64>,
}

impl Counts {
    fn get_mut(&mut self, key: &[u8]) -> Option<&mut u64> {
        self.keys.find(key).map(|number| &mut self.times[number])
    }

    /// True: it was not there.
    fn set(&mut self, key: &[u8], times: u64) -> bool {
        let (number, is_new) = self.keys.insert(key);
        if is_new {
            self.times.push(times);
        } else {
            self.times[number] = times;
        }
        is_new
    }
}

impl<'a> RowSet<'a> {
    pub fn new(
        memory: &'a Memory<'a>,
        links: &'a [SetLink],
        collations: &'a [CollationId],
        session: &'a dyn SessionState,
    ) -> RowSet<'a> {
        RowSet {
            memory,
            links,
            collations,
            session,
            rows: Pile::default(),
            counts: Counts::default(),
            part: 0,
            account: memory.account_for(Purpose::Table),
            divided: None,
            level: 0,
        }
    }

    /// How the query that runs joins those before it.
    fn link(&self) -> Option<SetLink> {
        self.part.checked_sub(1).map(|before| self.links[before])
    }

    /// The rows of the n-th query follow.
    pub fn begin_part(&mut self, number: usize) -> Result<()> {
        while self.part < number {
            self.end_part()?;
            self.part += 1;
        }
        Ok(())
    }

    /// A row of the query that runs.
    pub fn row(&mut self, row: &[Value]) -> Result<()> {
        let mut key = Vec::new();
        for (value, collation) in row.iter().zip(self.collations) {
            group_key(&Datum::from(value), *collation, &mut key);
        }
        match self.link() {
            Some(link) if link.operator != SetOperator::Union => self.count(&key, 1),
            _ => self.add(&key, row),
        }
    }

    /// A row of a query whose rows are added.
    fn add(&mut self, key: &[u8], row: &[Value]) -> Result<()> {
        if self.divided.is_none() {
            if self.has_room(kept_bytes(key, row))? {
                self.rows.push((key.into(), row.to_vec()));
                return Ok(());
            }
            self.divide()?;
        }
        let part = self.part;
        self.put(key, |out| {
            write_head(part, None, key, out);
            write_values(row, out);
        })
    }

    /// A row of a query that is compared.
    fn count(&mut self, key: &[u8], times: u64) -> Result<()> {
        if self.divided.is_none() {
            if let Some(count) = self.counts.get_mut(key) {
                *count += times;
                return Ok(());
            }
            if self.has_room(key.len() as u64 + ENTRY_BYTES)? {
                self.counts.set(key, times);
                return Ok(());
            }
            self.divide()?;
        }
        let part = self.part;
        self.put(key, |out| write_head(part, Some(times), key, out))
    }

    /// Looks now and then whether the statement was killed.
    fn look(&self, at: usize) -> Result<()> {
        match at % INTERRUPT_EVERY == INTERRUPT_EVERY - 1 && self.session.is_interrupted() {
            true => Err(Error::interrupted()),
            false => Ok(()),
        }
    }

    fn has_room(&mut self, bytes: u64) -> Result<bool> {
        if self.account.fits(bytes) {
            return Ok(true);
        }
        if self.level == LEVELS {
            // Rows that stay together at the end of all levels are equal.
            return self.account.add(bytes).map(|()| true);
        }
        Ok(false)
    }

    fn put(&mut self, key: &[u8], write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        match &mut self.divided {
            Some(parts) => parts.put(parts::hash(key), write),
            None => Err(Error::internal("the rows of a set operation are not divided")),
        }
    }

    /// Divides what is in memory. From now on all rows go to the parts.
    fn divide(&mut self) -> Result<()> {
        if self.level == 0 {
            self.memory.count(|counts| counts.tables += 1);
        }
        self.divided = Some(Parts::new(&mut self.account, self.level)?);
        let part = self.part;
        let rows = std::mem::take(&mut self.rows);
        for (at, (key, row)) in rows.iter().enumerate() {
            self.look(at)?;
            self.put(key, |out| {
                write_head(part, None, key, out);
                write_values(row, out);
            })?;
        }
        let counts = std::mem::take(&mut self.counts);
        for (number, times) in counts.times.iter().enumerate() {
            self.look(number)?;
            let key = counts.keys.key(number);
            self.put(key, |out| write_head(part, Some(*times), key, out))?;
        }
        Ok(())
    }

    /// Keeps what the link before the query keeps, now that all its rows are known.
    fn end_part(&mut self) -> Result<()> {
        let Some(link) = self.link().filter(|link| (link.operator, link.all) != (SetOperator::Union, true)) else {
            return Ok(());
        };
        let mut counts = std::mem::take(&mut self.counts);
        let counted = counts.keys.bytes() as u64 + counts.keys.len() as u64 * ENTRY_BYTES;
        let session = self.session;
        let (mut looked_at, mut freed, mut is_interrupted) = (0_usize, counted, false);
        self.rows.retain(|(key, row)| {
            looked_at += 1;
            is_interrupted = is_interrupted || looked_at.is_multiple_of(INTERRUPT_EVERY) && session.is_interrupted();
            if is_interrupted {
                return true;
            }
            let is_there = match counts.get_mut(key) {
                Some(count) if *count > 0 => {
                    *count -= u64::from(link.all);
                    true
                }
                _ => false,
            };
            let is_kept = match (link.operator, link.all) {
                (SetOperator::Union, true) => true,
                // Of all rows so far, of whichever query, each is kept once.
                (SetOperator::Union, false) => counts.set(key, 1),
                (SetOperator::Except, true) => !is_there,
                (SetOperator::Intersect, true) => is_there,
                // The first of equal rows is kept: the others find that it was there.
                (SetOperator::Except, false) => !is_there && counts.set(key, 1),
                (SetOperator::Intersect, false) => {
                    if let Some(count) = counts.get_mut(key) {
                        *count = 0;
                    }
                    is_there
                }
            };
            if !is_kept {
                freed += kept_bytes(key, row);
            }
            is_kept
        });
        self.account.give_back(freed);
        if is_interrupted { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// Gives the rows that are left until `visit` answers false, which is then the answer.
    pub fn finish(mut self, visit: &mut dyn FnMut(&Vec<Value>) -> Result<bool>) -> Result<bool> {
        if self.divided.is_none() {
            self.begin_part(self.links.len())?;
            self.end_part()?;
        }
        for (at, (_, row)) in self.rows.iter().enumerate() {
            self.look(at)?;
            if !visit(row)? {
                return Ok(false);
            }
        }
        let Some(parts) = self.divided.take() else { return Ok(true) };
        self.account.clear();
        for part in parts.finish()? {
            if !self.of_part(&part)?.finish(visit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The chain for the rows of a part alone.
    fn of_part(&self, part: &Stream) -> Result<RowSet<'a>> {
        let mut rows = RowSet::new(self.memory, self.links, self.collations, self.session);
        rows.level = self.level + 1;
        let (mut reader, mut record, mut values) = (part.reader(), Vec::new(), Vec::new());
        let mut number = 0_usize;
        while reader.next(&mut record)? {
            number += 1;
            if number.is_multiple_of(INTERRUPT_EVERY) && self.session.is_interrupted() {
                return Err(Error::interrupted());
            }
            let mut source = Source(&record);
            let (part, times, key) = (source.u32()? as usize, source.u64()?, source.bytes()?);
            // What had been added when the rows were divided is what was left of the queries before.
            match number {
                1 => rows.part = part,
                _ => rows.begin_part(part)?,
            }
            match times {
                0 => {
                    source.values(&mut values)?;
                    rows.add(key, &values)?;
                }
                times => rows.count(key, times)?,
            }
        }
        Ok(rows)
    }
}

/// What a row takes: its key may be among those that are compared, too.
fn kept_bytes(key: &[u8], row: &[Value]) -> u64 {
    row_bytes(row) + 2 * key.len() as u64 + ENTRY_BYTES
}

/// A row, or how often there is one, of the n-th query.
fn write_head(part: usize, times: Option<u64>, key: &[u8], out: &mut Vec<u8>) {
    out.extend((part as u32).to_le_bytes());
    out.extend(times.unwrap_or(0).to_le_bytes());
    write_bytes(key, out);
}
