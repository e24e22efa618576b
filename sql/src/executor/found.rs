//! Rows that a change has found, and what it makes of them when all are found.
//!
//! ```text
//! rows in memory, as many as there is memory for | the rest, in the order in which it was found, in a temporary file
//! ```

use format::value::Value;
use storage::Row;

use super::memory::{Account, Memory, Purpose, row_bytes};
use super::sorter::Record;
use super::stored::Stored;
use crate::error::{Error, Result};
use crate::temporary::values::{Source, write_values};
use crate::temporary::{Pile, Writer};

/// A row that is to be changed.
pub struct FoundRow {
    pub row: Row,
    /// What it gets.
    pub values: Stored,
    /// The keys that it is sorted by, or what WITH CHECK OPTION reads beside it.
    pub others: Vec<Value>,
}

/// See the module header.
pub struct FoundRows<'m> {
    memory: Pile<Vec<FoundRow>>,
    rest: Option<Writer>,
    account: Account<'m>,
    record: Vec<u8>,
    count: u64,
}

impl FoundRow {
    /// A row that is deleted, or whose values are not known yet.
    pub fn of(row: Row) -> FoundRow {
        FoundRow { row, values: Stored::default(), others: Vec::new() }
    }
}

impl Record for FoundRow {
    fn bytes(&self) -> u64 {
        let row = self.row.stored_bytes() + 8 * self.row.column_count();
        let values = self.values.bytes.len() + size_of_val(&self.values.parts[..]);
        (row + values + size_of::<FoundRow>()) as u64 + row_bytes(&self.others)
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.row.write(out);
        self.values.write(out);
        write_values(&self.others, out);
    }

    fn read(record: &[u8]) -> Result<FoundRow> {
        let damaged = || Error::internal("a temporary file ends within a row");
        let (row, rest) = Row::read(record).ok_or_else(damaged)?;
        let mut source = Source(rest);
        let values = Stored::read(&mut source)?;
        let mut others = Vec::new();
        source.values(&mut others)?;
        Ok(FoundRow { row, values, others })
    }
}

impl<'m> FoundRows<'m> {
    pub fn new(memory: &'m Memory<'m>) -> FoundRows<'m> {
        let account = memory.account_for(Purpose::Table);
        FoundRows { memory: Pile::default(), rest: None, account, record: Vec::new(), count: 0 }
    }

    pub fn len(&self) -> u64 {
        self.count
    }

    pub fn push(&mut self, row: FoundRow) -> Result<()> {
        self.count += 1;
        if self.rest.is_none() && self.account.fits(row.bytes()) {
            self.memory.push(row);
            return Ok(());
        }
        let writer = match &mut self.rest {
            Some(writer) => writer,
            none => {
                let memory = self.account.memory();
                memory.count(|counts| counts.tables += 1);
                none.insert(Writer::new(&memory.spill()?))
            }
        };
        self.record.clear();
        row.write(&mut self.record);
        writer.write(&self.record)
    }

    /// Calls `visit` for each row, in the order in which they were found.
    pub fn for_each(mut self, visit: &mut dyn FnMut(FoundRow) -> Result<()>) -> Result<()> {
        for row in Pile::from(self.memory.into_inner().into_iter()).by_ref() {
            visit(row)?;
        }
        let Some(rest) = self.rest else { return Ok(()) };
        let mut reader = rest.finish()?.reader();
        while reader.next(&mut self.record)? {
            visit(FoundRow::read(&self.record)?)?;
        }
        Ok(())
    }
}
