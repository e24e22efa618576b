//! Rows that are made once and read often: of derived tables, of tables of WITH, of subqueries.
//!
//! ```text
//! rows in memory, as many as there is memory for | the rest, in the order in which it was made, in a temporary file
//! ```

use std::rc::Rc;

use format::value::Value;

use super::memory::{Account, Lease, Memory, Purpose, row_bytes};
use crate::error::Result;
use crate::expression::record::{Source, write_values};
use crate::temporary::{Pile, Reader, Stream, Writer};

/// See the module header.
pub struct RowList {
    memory: Pile<Vec<Vec<Value>>>,
    rest: Option<Stream>,
    _lease: Option<Lease>,
}

/// Rows that several may read.
pub type Rows = Rc<RowList>;

/// Rows that are being made.
pub struct RowMaker<'m> {
    rows: RowsMade,
    account: Account<'m>,
}

/// The rows of a maker.
#[derive(Default)]
pub struct RowsMade {
    memory: Pile<Vec<Vec<Value>>>,
    bytes: u64,
    rest: Option<Writer>,
    record: Vec<u8>,
}

/// Reads the rows that are in a file.
pub struct RestReader {
    reader: Reader,
    record: Vec<u8>,
}

impl<'m> RowMaker<'m> {
    pub fn new(memory: &'m Memory<'m>) -> RowMaker<'m> {
        RowMaker { rows: RowsMade::default(), account: memory.account_for(Purpose::Table) }
    }

    pub fn push(&mut self, row: &[Value]) -> Result<()> {
        let memory = self.account.memory();
        self.rows.push(row, memory, |bytes| self.account.fits(bytes))
    }

    pub fn is_empty(&self) -> bool {
        self.rows.memory.is_empty()
    }

    pub fn finish(self) -> Result<Rows> {
        let lease = (self.account.bytes() > 0).then(|| self.account.into_lease());
        self.rows.finish(lease)
    }
}

impl RowsMade {
    /// Takes a row: into memory, if it fits and those before it did.
    pub fn push(&mut self, row: &[Value], memory: &Memory<'_>, fits: impl FnOnce(u64) -> bool) -> Result<()> {
        let bytes = row_bytes(row);
        if self.rest.is_none() && fits(bytes) {
            self.bytes += bytes;
            self.memory.push(row.to_vec());
            return Ok(());
        }
        let writer = match &mut self.rest {
            Some(writer) => writer,
            none => {
                memory.count(|counts| counts.tables += 1);
                none.insert(Writer::new(&memory.spill()?))
            }
        };
        self.record.clear();
        write_values(row, &mut self.record);
        writer.write(&self.record)
    }

    /// What the rows in memory take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn finish(self, lease: Option<Lease>) -> Result<Rows> {
        let rest = self.rest.map(Writer::finish).transpose()?;
        Ok(Rc::new(RowList { memory: self.memory, rest, _lease: lease }))
    }
}

impl RowList {
    /// Rows that are in memory, and are not counted.
    pub fn of(memory: Vec<Vec<Value>>) -> Rows {
        Rc::new(RowList { memory: memory.into(), rest: None, _lease: None })
    }

    pub fn len(&self) -> u64 {
        self.memory.len() as u64 + self.rest.as_ref().map_or(0, |rest| rest.records)
    }

    pub fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// The rows that are in memory: the first ones.
    pub fn in_memory(&self) -> &[Vec<Value>] {
        &self.memory
    }

    /// The rows behind them.
    pub fn rest(&self) -> Option<RestReader> {
        self.rest.as_ref().map(|rest| RestReader { reader: rest.reader(), record: Vec::new() })
    }

    /// Calls `visit` for each row until it answers false.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()> {
        for row in self.memory.iter() {
            if !visit(row)? {
                return Ok(());
            }
        }
        let Some(mut rest) = self.rest() else { return Ok(()) };
        let mut row = Vec::new();
        while rest.next(&mut row)? {
            if !visit(&row)? {
                break;
            }
        }
        Ok(())
    }
}

impl RestReader {
    /// Puts the next row in place of what `row` has; false: there is none.
    pub fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        if !self.reader.next(&mut self.record)? {
            return Ok(false);
        }
        Source(&self.record).values(row)?;
        Ok(true)
    }
}
