//! Rows that a change has found, and what it makes of them when all are found.
//!
//! ```text
//! rows in memory, as many as there is memory for | the rest, in the order in which it was found, in a temporary file
//! ```

use format::ids::{RollPtr, TrxId};
use format::value::Value;
use storage::Row;

use super::memory::{Account, Memory, Purpose, row_bytes};
use super::sorter::Record;
use super::stored::Stored;
use crate::error::{Error, Result};
use crate::expression::record::{Source, write_bytes, write_values};
use crate::temporary::{Pile, Writer};

/// A row that is to be changed.
pub struct FoundRow {
    pub row: Row,
    /// What it gets.
    pub values: Stored,
    /// What it is sorted by, see [`crate::expression::KeyForm`].
    pub key: Box<[u8]>,
    /// What WITH CHECK OPTION reads beside it.
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
        FoundRow { row, values: Stored::default(), key: Box::default(), others: Vec::new() }
    }
}

impl Record for FoundRow {
    fn bytes(&self) -> u64 {
        let row = self.row.stored_bytes() + 8 * self.row.column_count();
        let values = self.values.bytes.len() + size_of_val(&self.values.parts[..]);
        (row + values + self.key.len() + size_of::<FoundRow>()) as u64 + row_bytes(&self.others)
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_row(&self.row, out);
        self.values.write(out);
        write_bytes(&self.key, out);
        write_values(&self.others, out);
    }

    fn read(record: &[u8]) -> Result<FoundRow> {
        let mut source = Source(record);
        let row = read_row(&mut source)?;
        let values = Stored::read(&mut source)?;
        let key = source.bytes()?.into();
        Ok(FoundRow { row, values, key, others: source.new_values()? })
    }
}

/// What a column has in a record: nothing, NULL, or a value.
const ABSENT: u8 = 0;
const NULL: u8 = 1;
const VALUE: u8 = 2;

/// Appends all of a row but where storage found it.
fn write_row(row: &Row, out: &mut Vec<u8>) {
    out.extend(row.row_id.to_le_bytes());
    out.extend(row.trx_id.0.to_le_bytes());
    out.extend(row.roll_ptr.0.to_le_bytes());
    out.extend(row.partition.to_le_bytes());
    out.extend((row.column_count() as u32).to_le_bytes());
    for column in 0..row.column_count() {
        match row.has(column).then(|| row.get(column)) {
            None => out.push(ABSENT),
            Some(None) => out.push(NULL),
            Some(Some(value)) => {
                out.push(VALUE);
                write_bytes(value, out);
            }
        }
    }
}

fn read_row(record: &mut Source<'_>) -> Result<Row> {
    let (row_id, trx_id, roll_ptr, partition) = (record.u64()?, record.u64()?, record.u64()?, record.u32()?);
    let columns = record.u32()? as usize;
    if columns > record.0.len() {
        return Err(Error::internal("a temporary file ends within a row"));
    }
    let mut row = Row::new();
    row.clear(columns);
    (row.row_id, row.trx_id, row.roll_ptr, row.partition) = (row_id, TrxId(trx_id), RollPtr(roll_ptr), partition);
    for column in 0..columns {
        match record.u8()? {
            ABSENT => {}
            NULL => row.set(column, None),
            _ => row.set(column, Some(record.bytes()?)),
        }
    }
    Ok(row)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_from_its_record_and_from_no_part_of_it() {
        let mut row = Row::new();
        row.clear(5);
        (row.row_id, row.trx_id, row.roll_ptr, row.partition) = (7, TrxId(8), RollPtr(9), 3);
        row.set(4, Some(b"abc"));
        row.set(0, None);
        row.set(2, Some(b""));
        row.set(4, Some(b"longer"));
        let found = FoundRow { key: [1, 2].into(), others: vec![Value::Int(5)], ..FoundRow::of(row) };
        let mut record = Vec::new();
        found.write(&mut record);
        let copy = FoundRow::read(&record).unwrap();
        let row = &copy.row;
        assert_eq!((row.row_id, row.trx_id, row.roll_ptr, row.partition), (7, TrxId(8), RollPtr(9), 3));
        assert_eq!((row.get(0), row.get(2), row.get(4)), (None, Some(&b""[..]), Some(&b"longer"[..])));
        assert!(!row.has(1) && !row.has(3) && row.column_count() == 5);
        assert_eq!((&*copy.key, &copy.others[..]), (&[1, 2][..], &[Value::Int(5)][..]));
        for short in 0..record.len() {
            assert!(FoundRow::read(&record[..short]).is_err(), "{short}");
        }
    }
}
