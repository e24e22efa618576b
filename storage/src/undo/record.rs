//! One undo record: the row before a change, as bytes.
//!
//! ```text
//! kind                    1   low nibble: 1 insert, 2 update, 3 update of a delete-marked row, 4 delete-mark, 5 empty
//! undo number        varint
//! table id           varint
//! not for an insert:
//!   info bits             1   of the record before
//!   row version           1   likewise, if the info bits say that it has one
//!   transaction id        6   of the version before
//!   roll pointer          7   of the version before
//! key fields         each a value: what the clustered index is searched with
//! not for an insert:
//!   changed fields   varint   how many, then for each its number in the clustered record and its value before
//!   other fields     varint   how many, likewise: fields that did not change but are needed to build the entries
//!                             of secondary indexes, so that purge finds them
//!
//! value    varint: 0 = NULL, else 1 + (bytes << 1 | external), then the bytes
//! ```
//!
//! A long value is kept as its 20-byte reference, after as much of it as a secondary index has: its pages stay until
//! purge, which reads this record.
//!
//! Varints have seven bits per byte, lowest first.

use format::ids::{RollPtr, TableId, TrxId, UndoNo};
use format::record::{FieldData, VERSIONED};

use crate::error::{Error, Result};

/// What was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum UndoKind {
    /// A row was inserted. Undo removes it.
    Insert = 1,
    /// A row got new values.
    Update = 2,
    /// A row was inserted over a delete-marked one with the same key.
    UpdateDeleted = 3,
    /// A row was delete-marked.
    Delete = 4,
}

impl UndoKind {
    fn of(byte: u8) -> Option<UndoKind> {
        match byte {
            1 => Some(UndoKind::Insert),
            2 => Some(UndoKind::Update),
            3 => Some(UndoKind::UpdateDeleted),
            4 => Some(UndoKind::Delete),
            _ => None,
        }
    }
}

/// An undo record that has been read.
#[derive(Clone, Copy, Debug)]
pub struct UndoRecord<'a> {
    pub kind: UndoKind,
    pub number: UndoNo,
    pub table: TableId,
    /// Of the version before. Meaningless for an insert, like the next two.
    pub info: u8,
    pub row_version: u8,
    pub trx_id: TrxId,
    pub roll_ptr: RollPtr,
    /// The key fields and what follows.
    rest: &'a [u8],
    /// Where `rest` starts in the record.
    rest_at: usize,
}

/// A field of the version before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldField<'a> {
    /// Its number in the clustered record.
    pub field: usize,
    pub value: FieldData<'a>,
    /// Where its bytes start in the undo record.
    pub offset: usize,
}

/// Reads values one by one.
#[derive(Clone)]
pub struct UndoReader<'a> {
    bytes: &'a [u8],
    at: usize,
    base: usize,
}

#[cold]
fn damaged() -> Error {
    Error::corrupt("an undo record that ends too early")
}

impl<'a> UndoReader<'a> {
    fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(damaged)?;
            self.at += 1;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(damaged())
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(bytes).filter(|end| *end <= self.bytes.len()).ok_or_else(damaged)?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn value(&mut self) -> Result<(FieldData<'a>, usize)> {
        let head = self.varint()?;
        if head == 0 {
            return Ok((FieldData::Null, self.base + self.at));
        }
        let head = head - 1;
        let offset = self.base + self.at;
        let bytes = self.take(usize::try_from(head >> 1).map_err(|_| damaged())?)?;
        Ok((if head & 1 == 1 { FieldData::External(bytes) } else { FieldData::Bytes(bytes) }, offset))
    }

    fn numbered(&mut self) -> Result<OldField<'a>> {
        let field = usize::try_from(self.varint()?).map_err(|_| damaged())?;
        let (value, offset) = self.value()?;
        Ok(OldField { field, value, offset })
    }
}

impl<'a> UndoRecord<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<UndoRecord<'a>> {
        let mut reader = UndoReader { bytes, at: 1, base: 0 };
        let kind = bytes.first().and_then(|byte| UndoKind::of(byte & 0x0F));
        let kind = kind.ok_or_else(|| Error::corrupt("the kind of an undo record"))?;
        let number = UndoNo(reader.varint()?);
        let table = TableId(reader.varint()?);
        let (mut info, mut row_version, mut trx_id, mut roll_ptr) = (0, 0, TrxId(0), RollPtr(0));
        if kind != UndoKind::Insert {
            info = reader.take(1)?[0];
            if info & VERSIONED != 0 {
                row_version = reader.take(1)?[0];
            }
            let system = reader.take(TrxId::BYTES + RollPtr::BYTES)?;
            trx_id = TrxId::read(system);
            roll_ptr = RollPtr::read(&system[TrxId::BYTES..]);
        }
        let rest_at = reader.at;
        Ok(UndoRecord { kind, number, table, info, row_version, trx_id, roll_ptr, rest: &bytes[rest_at..], rest_at })
    }

    /// Reads the key fields into `key`. Returns a reader for what follows.
    pub fn key(&self, fields: usize, key: &mut Vec<Option<&'a [u8]>>) -> Result<UndoReader<'a>> {
        let mut reader = UndoReader { bytes: self.rest, at: 0, base: self.rest_at };
        key.clear();
        for _ in 0..fields {
            key.push(match reader.value()?.0 {
                FieldData::Null => None,
                FieldData::Bytes(bytes) | FieldData::External(bytes) => Some(bytes),
            });
        }
        Ok(reader)
    }

    /// Reads the changed fields into `changed`, the others needed into `others`, both ascending by field.
    pub fn fields(
        &self,
        key_fields: usize,
        changed: &mut Vec<OldField<'a>>,
        others: &mut Vec<OldField<'a>>,
    ) -> Result<()> {
        changed.clear();
        others.clear();
        if self.kind == UndoKind::Insert {
            return Ok(());
        }
        let mut reader = UndoReader { bytes: self.rest, at: 0, base: self.rest_at };
        for _ in 0..key_fields {
            reader.value()?;
        }
        for list in [changed, others] {
            for _ in 0..reader.varint()? {
                list.push(reader.numbered()?);
            }
        }
        Ok(())
    }
}

/// Builds undo records in one reusable buffer.
#[derive(Debug, Default)]
pub struct UndoBuilder {
    bytes: Vec<u8>,
}

impl UndoBuilder {
    pub fn new() -> UndoBuilder {
        UndoBuilder::default()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins the record of an insert. The key fields follow.
    pub fn insert(&mut self, number: UndoNo, table: TableId) {
        self.bytes.clear();
        self.bytes.push(UndoKind::Insert as u8);
        self.varint(number.0);
        self.varint(table.0);
    }

    /// Begins any other record, with the version before. The key fields follow, then the two lists.
    #[allow(clippy::too_many_arguments)]
    pub fn change(
        &mut self,
        kind: UndoKind,
        number: UndoNo,
        table: TableId,
        info: u8,
        row_version: u8,
        trx_id: TrxId,
        roll_ptr: RollPtr,
    ) {
        self.bytes.clear();
        self.bytes.push(kind as u8);
        self.varint(number.0);
        self.varint(table.0);
        self.bytes.push(info);
        if info & VERSIONED != 0 {
            self.bytes.push(row_version);
        }
        self.bytes.extend_from_slice(&trx_id.to_bytes());
        self.bytes.extend_from_slice(&roll_ptr.to_bytes());
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A key field.
    pub fn value(&mut self, value: FieldData<'_>) {
        let (bytes, external) = match value {
            FieldData::Null => {
                self.bytes.push(0);
                return;
            }
            FieldData::Bytes(bytes) => (bytes, false),
            FieldData::External(bytes) => (bytes, true),
        };
        self.varint(1 + ((bytes.len() as u64) << 1 | u64::from(external)));
        self.bytes.extend_from_slice(bytes);
    }

    /// Begins one of the two lists.
    pub fn list(&mut self, count: usize) {
        self.varint(count as u64);
    }

    pub fn field(&mut self, field: usize, value: FieldData<'_>) {
        self.varint(field as u64);
        self.value(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back() {
        let mut builder = UndoBuilder::new();
        builder.change(UndoKind::Update, UndoNo(300), TableId(7), 0x60, 5, TrxId(77), RollPtr(88));
        builder.value(FieldData::Bytes(b"key"));
        builder.list(2);
        builder.field(3, FieldData::Null);
        builder.field(200, FieldData::External(&[9; 20]));
        builder.list(1);
        builder.field(5, FieldData::Bytes(b""));
        let record = UndoRecord::read(builder.bytes()).unwrap();
        assert_eq!((record.kind, record.number, record.table), (UndoKind::Update, UndoNo(300), TableId(7)));
        assert_eq!((record.info, record.row_version), (0x60, 5));
        assert_eq!((record.trx_id, record.roll_ptr), (TrxId(77), RollPtr(88)));
        let mut key = Vec::new();
        record.key(1, &mut key).unwrap();
        assert_eq!(key, [Some(&b"key"[..])]);
        let (mut changed, mut others) = (Vec::new(), Vec::new());
        record.fields(1, &mut changed, &mut others).unwrap();
        assert_eq!((changed[0].field, changed[0].value), (3, FieldData::Null));
        assert_eq!((changed[1].field, changed[1].value), (200, FieldData::External(&[9; 20])));
        assert_eq!(&builder.bytes()[changed[1].offset..changed[1].offset + 20], &[9; 20]);
        assert_eq!((others[0].field, others[0].value), (5, FieldData::Bytes(b"")));
    }

    #[test]
    fn a_cut_record_is_an_error() {
        let mut builder = UndoBuilder::new();
        builder.change(UndoKind::Delete, UndoNo(1), TableId(2), 0, 0, TrxId(3), RollPtr(4));
        builder.value(FieldData::Bytes(b"key"));
        builder.list(0);
        builder.list(1);
        builder.field(5, FieldData::Bytes(b"value"));
        let (mut key, mut changed, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for end in 0..builder.bytes().len() {
            let read = UndoRecord::read(&builder.bytes()[..end]);
            let whole = read.and_then(|record| {
                record.key(1, &mut key)?;
                record.fields(1, &mut changed, &mut others)
            });
            assert!(whole.is_err(), "{end} bytes");
        }
    }
}
