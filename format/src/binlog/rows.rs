//! Rows: what was inserted, changed, removed.
//!
//! ```text
//! offset  bytes
//!      0      6  number of the table: that of a Table_map before it      (4 in logs of MySQL 5.0)
//!      6      2  flags: 1 the statement ends here, 2 foreign keys unchecked, 4 unique keys unchecked
//!      8      2  bytes of what follows here, these two included          (not in version 1)
//!             .  more, such as the partition
//!             .  count of columns (length-encoded)
//!             .  a bit per column: it is in the images; for updates a second set, for the image after
//!                images: of each row one, of each update two, before and after
//! image          a bit per column that is there: it is NULL; then the values of the others
//! ```
//!
//! An image after a partial update (kind 39) begins with options; with option 1, a bit per JSON column of the table
//! says which of them are not values but changes of the value before.
//!
//! Values, little-endian but for those that InnoDB stores alike:
//!
//! ```text
//! integers        1, 2, 3, 4, 8 bytes       FLOAT, DOUBLE     IEEE
//! DECIMAL         as stored                 BIT               as stored
//! YEAR            1, from 1900              DATE              3: day | month << 5 | year << 9
//! TIME DATETIME TIMESTAMP  as stored        ENUM, SET         their number
//! CHAR, VARCHAR, BINARY    1 or 2 bytes of length, by the most that the column holds
//! TEXT, BLOB, JSON ...     as many bytes of length as the table says
//! ```

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::packet::{Malformed, Reader, writer};
use crate::value::{Date, DateTime, Decimal, Time, Zone};

use super::event::{Event, EventKind};
use super::mariadb;
use super::table_map::{Column, ColumnCode, ColumnSize, TableMap, table_id};

/// Flags of a rows event.
pub mod row_flags {
    pub const STATEMENT_END: u16 = 1;
    pub const NO_FOREIGN_KEY_CHECKS: u16 = 2;
    pub const RELAXED_UNIQUE_CHECKS: u16 = 4;
}

/// Where the flags are in the body of an event, if the number of the table has six bytes.
const FLAGS_AT: usize = 6;

/// The option of a partial update: JSON columns may be given as changes.
const PARTIAL_JSON: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsKind {
    Write,
    Update,
    Delete,
    PartialUpdate,
}

impl RowsKind {
    /// The kind, the version of the format, and whether MariaDB compressed the images.
    fn of(kind: EventKind) -> Option<(RowsKind, u8, bool)> {
        Some(match kind {
            EventKind::WRITE_ROWS_V1 => (RowsKind::Write, 1, false),
            EventKind::UPDATE_ROWS_V1 => (RowsKind::Update, 1, false),
            EventKind::DELETE_ROWS_V1 => (RowsKind::Delete, 1, false),
            EventKind::WRITE_ROWS => (RowsKind::Write, 2, false),
            EventKind::UPDATE_ROWS => (RowsKind::Update, 2, false),
            EventKind::DELETE_ROWS => (RowsKind::Delete, 2, false),
            EventKind::PARTIAL_UPDATE_ROWS => (RowsKind::PartialUpdate, 2, false),
            EventKind::MARIADB_WRITE_ROWS_COMPRESSED_V1 => (RowsKind::Write, 1, true),
            EventKind::MARIADB_UPDATE_ROWS_COMPRESSED_V1 => (RowsKind::Update, 1, true),
            EventKind::MARIADB_DELETE_ROWS_COMPRESSED_V1 => (RowsKind::Delete, 1, true),
            EventKind::MARIADB_WRITE_ROWS_COMPRESSED => (RowsKind::Write, 2, true),
            EventKind::MARIADB_UPDATE_ROWS_COMPRESSED => (RowsKind::Update, 2, true),
            EventKind::MARIADB_DELETE_ROWS_COMPRESSED => (RowsKind::Delete, 2, true),
            _ => return None,
        })
    }

    fn has_before(self) -> bool {
        self != RowsKind::Write
    }

    fn has_after(self) -> bool {
        self != RowsKind::Delete
    }
}

/// A value of a row as the log has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    /// As bits: whether they have a sign, the column knows.
    Integer {
        bits: u64,
        bytes: u8,
    },
    Float(f32),
    Double(f64),
    Decimal(Decimal),
    /// 0, or from 1901 on.
    Year(u16),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// Since 1970, UTC.
    Timestamp {
        seconds: u32,
        micros: u32,
    },
    Bit(u64),
    Enum(u16),
    Set(u64),
    /// Texts, and bytes of all kinds.
    Bytes(&'a [u8]),
    /// Binary JSON.
    Json(&'a [u8]),
    /// Changes of the JSON value before.
    JsonDiff(&'a [u8]),
}

/// The columns of a row, as far as they are in the image.
pub type RowImage<'a> = Vec<Option<Cell<'a>>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<'a> {
    pub kind: RowsKind,
    pub table_id: u64,
    pub flags: u16,
    /// What stands between the fixed part and the columns.
    pub extra: &'a [u8],
    pub columns: usize,
    /// Which columns the images before and after have; the same unless it is an update.
    before: &'a [u8],
    after: &'a [u8],
    images: Cow<'a, [u8]>,
    /// Bytes of the images as the event has them.
    stored_bytes: usize,
}

impl<'a> Rows<'a> {
    /// `None` if the event is of another family.
    pub fn decode(event: &Event<'a>, post_header_bytes: usize) -> Result<Option<Rows<'a>>> {
        const WHAT: &str = "a rows event";
        let Some((kind, version, compressed)) = RowsKind::of(event.header.kind) else { return Ok(None) };
        let mut reader = Reader::new(event.body);
        let table_id = table_id(&mut reader, post_header_bytes)?;
        let flags = reader.u16(WHAT)?;
        let extra = match version {
            1 => &[],
            _ => {
                let bytes = usize::from(reader.u16(WHAT)?).checked_sub(2).ok_or(Malformed { what: WHAT })?;
                reader.bytes(bytes, WHAT)?
            }
        };
        let columns = reader.lenenc(WHAT)?;
        let columns = usize::try_from(columns).ok().filter(|&count| count <= 8 * event.body.len());
        let columns = columns.ok_or(Malformed { what: WHAT })?;
        let before = reader.bytes(columns.div_ceil(8), WHAT)?;
        let after = match kind {
            RowsKind::Update | RowsKind::PartialUpdate => reader.bytes(columns.div_ceil(8), WHAT)?,
            RowsKind::Write | RowsKind::Delete => before,
        };
        let stored_bytes = reader.remaining();
        let images = match compressed {
            true => Cow::Owned(mariadb::decompress(reader.rest())?),
            false => Cow::Borrowed(reader.rest()),
        };
        Ok(Some(Rows { kind, table_id, flags, extra, columns, before, after, images, stored_bytes }))
    }

    /// The same event without MariaDB's compression: its kind and body. `None` if it is not compressed.
    pub fn expand(event: &Event<'_>, post_header_bytes: usize) -> Result<Option<(EventKind, Vec<u8>)>> {
        let Some((_, version, true)) = RowsKind::of(event.header.kind) else { return Ok(None) };
        let Some(rows) = Rows::decode(event, post_header_bytes)? else { return Ok(None) };
        let plain = match version {
            1 => EventKind::WRITE_ROWS_V1,
            _ => EventKind::WRITE_ROWS,
        };
        let kind =
            EventKind(plain.0 + if rows.kind == RowsKind::Write { 0 } else { 1 + u8::from(!rows.kind.has_after()) });
        let mut head = event.body[..event.body.len() - rows.stored_bytes].to_vec();
        head.extend_from_slice(&rows.images);
        Ok(Some((kind, head)))
    }

    /// The rows one by one: the images before and after, those that the kind has.
    pub fn images<'r>(&'r self, map: &'r TableMap) -> Result<Images<'r, 'a>> {
        if map.columns.len() != self.columns {
            return Err(Error::Malformed { what: "rows with another count of columns than their table" });
        }
        Ok(Images { rows: self, map, reader: Reader::new(&self.images) })
    }
}

/// See [`Rows::images`].
pub struct Images<'r, 'a> {
    rows: &'r Rows<'a>,
    map: &'r TableMap,
    reader: Reader<'r>,
}

/// A row before and after its change.
pub type Change<'r> = (Option<RowImage<'r>>, Option<RowImage<'r>>);

impl<'r> Images<'r, '_> {
    pub fn next_row(&mut self) -> Result<Option<Change<'r>>> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let rows = self.rows;
        let unread = self.reader.remaining();
        let before = match rows.kind.has_before() {
            true => Some(decode_image(self.map, rows.before, &[], &mut self.reader)?),
            false => None,
        };
        let after = match rows.kind.has_after() {
            true => {
                let partial = match rows.kind {
                    RowsKind::PartialUpdate => self.partial_columns()?,
                    _ => &[],
                };
                Some(decode_image(self.map, rows.after, partial, &mut self.reader)?)
            }
            false => None,
        };
        if self.reader.remaining() == unread {
            // Images without a column have no bytes, and there would be no end of them.
            return Err(Error::Malformed { what: "rows without columns" });
        }
        Ok(Some((before, after)))
    }

    fn partial_columns(&mut self) -> Result<&'r [u8]> {
        const WHAT: &str = "the options of a partial update";
        let options = self.reader.lenenc(WHAT)?;
        let columns = self.map.columns.iter().filter(|column| column.code == ColumnCode::JSON).count();
        match options & PARTIAL_JSON {
            0 => Ok(&[]),
            _ => Ok(self.reader.bytes(columns.div_ceil(8), WHAT)?),
        }
    }
}

fn is_set(bits: &[u8], at: usize) -> bool {
    bits.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 != 0)
}

fn decode_image<'r>(map: &TableMap, present: &[u8], partial: &[u8], reader: &mut Reader<'r>) -> Result<RowImage<'r>> {
    let count = (0..map.columns.len()).filter(|&at| is_set(present, at)).count();
    let nulls = reader.bytes(count.div_ceil(8), "the NULLs of a row")?;
    let mut image = Vec::with_capacity(map.columns.len());
    let (mut at_present, mut at_json) = (0, 0);
    for (at, column) in map.columns.iter().enumerate() {
        let is_json = column.code == ColumnCode::JSON;
        let is_diff = is_json && is_set(partial, at_json);
        at_json += usize::from(is_json);
        if !is_set(present, at) {
            image.push(None);
            continue;
        }
        let is_null = is_set(nulls, at_present);
        at_present += 1;
        image.push(Some(match is_null {
            true => Cell::Null,
            false => match Cell::decode(column, reader)? {
                Cell::Json(bytes) if is_diff => Cell::JsonDiff(bytes),
                cell => cell,
            },
        }));
    }
    Ok(image)
}

/// Appends the fixed part of a rows event in version 2, with all columns in its images.
pub fn encode_head(kind: RowsKind, table_id: u64, flags: u16, columns: usize, out: &mut Vec<u8>) {
    let all = vec![true; columns];
    encode_head_of(kind, table_id, flags, columns, &all, &all, out);
}

/// The same with the columns that the images before and after have.
pub fn encode_head_of(
    kind: RowsKind,
    table_id: u64,
    flags: u16,
    columns: usize,
    before: &[bool],
    after: &[bool],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&table_id.to_le_bytes()[..6]);
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&2_u16.to_le_bytes());
    writer::lenenc(out, columns as u64);
    for present in [kind.has_before().then_some(before), kind.has_after().then_some(after)].into_iter().flatten() {
        let bits = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
        out.extend(present.chunks(8).map(bits));
    }
}

/// Sets the flags of a rows event whose body this is.
pub fn set_flags(body: &mut [u8], flags: u16) {
    body[FLAGS_AT..FLAGS_AT + 2].copy_from_slice(&flags.to_le_bytes());
}

/// Appends an image that has all columns.
pub fn encode_image(columns: &[Column], cells: &[Cell<'_>], out: &mut Vec<u8>) {
    assert_eq!(columns.len(), cells.len(), "a cell for each column");
    let nulls_at = out.len();
    out.resize(nulls_at + columns.len().div_ceil(8), 0);
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        match cell {
            Cell::Null => out[nulls_at + at / 8] |= 1 << (at % 8),
            cell => cell.encode(column, out),
        }
    }
}

/// How many bytes of length stand before a value of at most so many bytes.
const fn length_bytes(bytes_max: u16) -> usize {
    if bytes_max > 255 { 2 } else { 1 }
}

impl<'a> Cell<'a> {
    /// Reads a value that is not NULL.
    fn decode(column: &Column, reader: &mut Reader<'a>) -> Result<Cell<'a>> {
        const WHAT: &str = "a value of a row";
        let unsupported = Err(Error::Unsupported { what: "column type in a row:", value: u32::from(column.code.0) });
        let number = |reader: &mut Reader<'a>, bytes: usize| -> std::result::Result<u64, Malformed> {
            Ok(reader.bytes(bytes, WHAT)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
        };
        let integer = |reader: &mut Reader<'a>, bytes: u8| -> Result<Cell<'a>> {
            Ok(Cell::Integer { bits: number(reader, usize::from(bytes))?, bytes })
        };
        let fraction_bytes = |digits: u8| usize::from(digits).div_ceil(2);
        Ok(match (column.code, column.size) {
            (ColumnCode::TINY, _) => integer(reader, 1)?,
            (ColumnCode::SHORT, _) => integer(reader, 2)?,
            (ColumnCode::INT24, _) => integer(reader, 3)?,
            (ColumnCode::LONG, _) => integer(reader, 4)?,
            (ColumnCode::LONGLONG, _) => integer(reader, 8)?,
            (ColumnCode::YEAR, _) => Cell::Year(match reader.u8(WHAT)? {
                0 => 0,
                year => 1900 + u16::from(year),
            }),
            (ColumnCode::FLOAT, _) => Cell::Float(f32::from_bits(reader.u32(WHAT)?)),
            (ColumnCode::DOUBLE, _) => Cell::Double(f64::from_bits(reader.u64(WHAT)?)),
            (ColumnCode::DECIMAL, ColumnSize::Decimal { precision, scale }) => {
                let stored = reader.bytes(Decimal::stored_bytes(precision, scale), WHAT)?;
                Cell::Decimal(Decimal::decode(stored, precision, scale))
            }
            (ColumnCode::DATE, _) => {
                let packed = number(reader, 3)?;
                Cell::Date(Date::new((packed >> 9) as u16, (packed >> 5 & 15) as u8, (packed & 31) as u8))
            }
            (ColumnCode::TIME, ColumnSize::Fraction(digits)) => {
                Cell::Time(Time::decode(reader.bytes(3 + fraction_bytes(digits), WHAT)?, digits))
            }
            (ColumnCode::DATETIME, ColumnSize::Fraction(digits)) => {
                Cell::DateTime(DateTime::decode(reader.bytes(5 + fraction_bytes(digits), WHAT)?, digits))
            }
            (ColumnCode::TIMESTAMP, ColumnSize::Fraction(digits)) => {
                let stored = reader.bytes(4 + fraction_bytes(digits), WHAT)?;
                let seconds = u32::from_be_bytes(stored[..4].try_into().expect("4 bytes"));
                Cell::Timestamp { seconds, micros: DateTime::decode_timestamp(stored, digits, Zone::UTC).micros }
            }
            (ColumnCode::TIMESTAMP_OLD, _) => Cell::Timestamp { seconds: reader.u32(WHAT)?, micros: 0 },
            (ColumnCode::DATETIME_OLD, _) => Cell::DateTime(old_datetime(reader.u64(WHAT)?)),
            (ColumnCode::TIME_OLD, _) => Cell::Time(old_time(number(reader, 3)?)),
            (ColumnCode::BIT, ColumnSize::Bits(bits)) => {
                let stored = reader.bytes(usize::from(bits).div_ceil(8), WHAT)?;
                Cell::Bit(stored.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
            }
            (ColumnCode::ENUM, ColumnSize::Bytes(bytes @ 1..=2)) => {
                Cell::Enum(number(reader, usize::from(bytes))? as u16)
            }
            (ColumnCode::SET, ColumnSize::Bytes(bytes)) => Cell::Set(number(reader, usize::from(bytes))?),
            (ColumnCode::VARCHAR | ColumnCode::VAR_STRING | ColumnCode::STRING, ColumnSize::BytesMax(max)) => {
                let length = number(reader, length_bytes(max))? as usize;
                Cell::Bytes(reader.bytes(length, WHAT)?)
            }
            (ColumnCode::BLOB | ColumnCode::GEOMETRY | ColumnCode::VECTOR, ColumnSize::Bytes(bytes @ 1..=4)) => {
                let length = number(reader, usize::from(bytes))? as usize;
                Cell::Bytes(reader.bytes(length, WHAT)?)
            }
            (ColumnCode::JSON, ColumnSize::Bytes(bytes @ 1..=4)) => {
                let length = number(reader, usize::from(bytes))? as usize;
                Cell::Json(reader.bytes(length, WHAT)?)
            }
            (ColumnCode::NULL, _) => Cell::Null,
            _ => return unsupported,
        })
    }

    /// Appends a value that is not NULL and is one of the column's.
    pub fn encode(&self, column: &Column, out: &mut Vec<u8>) {
        let put_number = |out: &mut Vec<u8>, number: u64, bytes: usize| {
            out.extend_from_slice(&number.to_le_bytes()[..bytes]);
        };
        match (self, column.size) {
            (Cell::Null, _) => unreachable!("a NULL is a bit and has no bytes"),
            (Cell::Integer { bits, bytes }, _) => put_number(out, *bits, usize::from(*bytes)),
            (Cell::Float(number), _) => out.extend_from_slice(&number.to_le_bytes()),
            (Cell::Double(number), _) => out.extend_from_slice(&number.to_le_bytes()),
            (Cell::Decimal(number), ColumnSize::Decimal { precision, scale }) => number.encode(precision, scale, out),
            (Cell::Year(year), _) => out.push(year.saturating_sub(1900) as u8),
            (Cell::Date(date), _) => {
                let packed = u64::from(date.year) << 9 | u64::from(date.month) << 5 | u64::from(date.day);
                put_number(out, packed, 3);
            }
            (Cell::Time(time), ColumnSize::Fraction(digits)) => time.encode(digits, out),
            (Cell::DateTime(moment), ColumnSize::Fraction(digits)) => moment.encode(digits, out),
            (Cell::Timestamp { seconds, micros }, ColumnSize::Fraction(digits)) => {
                out.extend_from_slice(&seconds.to_be_bytes());
                let bytes = usize::from(digits).div_ceil(2);
                let unit = [1_000_000, 10_000, 100, 1][bytes];
                out.extend_from_slice(&(micros / unit).to_be_bytes()[4 - bytes..]);
            }
            (Cell::Bit(number), ColumnSize::Bits(bits)) => {
                out.extend_from_slice(&number.to_be_bytes()[8 - usize::from(bits).div_ceil(8)..]);
            }
            (Cell::Enum(index), ColumnSize::Bytes(bytes)) => put_number(out, u64::from(*index), usize::from(bytes)),
            (Cell::Set(mask), ColumnSize::Bytes(bytes)) => put_number(out, *mask, usize::from(bytes)),
            (Cell::Bytes(text), ColumnSize::BytesMax(max)) => {
                put_number(out, text.len() as u64, length_bytes(max));
                out.extend_from_slice(text);
            }
            (Cell::Bytes(bytes) | Cell::Json(bytes) | Cell::JsonDiff(bytes), ColumnSize::Bytes(length)) => {
                put_number(out, bytes.len() as u64, usize::from(length));
                out.extend_from_slice(bytes);
            }
            (cell, size) => unreachable!("{cell:?} in a column of {size:?}"),
        }
    }
}

/// DATETIME before MySQL 5.6: its digits as a number.
fn old_datetime(number: u64) -> DateTime {
    let (date, time) = (number / 1_000_000, number % 1_000_000);
    DateTime {
        date: Date::new((date / 10_000 % 10_000) as u16, (date / 100 % 100) as u8, (date % 100) as u8),
        hour: (time / 10_000) as u8,
        minute: (time / 100 % 100) as u8,
        second: (time % 100) as u8,
        micros: 0,
        is_second: false,
    }
}

/// TIME before MySQL 5.6: its digits as a number of three bytes with a sign.
fn old_time(number: u64) -> Time {
    let signed = ((number as u32) << 8) as i32 >> 8;
    let digits = signed.unsigned_abs();
    Time {
        negative: signed < 0,
        hours: (digits / 10_000) as u16,
        minutes: (digits / 100 % 100) as u8,
        seconds: (digits % 100) as u8,
        micros: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Checksum, Header, append};
    use super::*;

    fn table() -> (TableMap, Vec<Cell<'static>>) {
        let date = Date::new(2024, 2, 29);
        let moment = DateTime::new(date, 23, 59, 58, 123_456);
        let time = Time { negative: true, hours: 838, minutes: 59, seconds: 58, micros: 0 };
        let decimal = Decimal::parse(b"-12345.67").unwrap();
        let cases: Vec<(ColumnCode, ColumnSize, Cell<'static>)> = vec![
            (ColumnCode::TINY, ColumnSize::Fixed, Cell::Integer { bits: 0xFF, bytes: 1 }),
            (ColumnCode::INT24, ColumnSize::Fixed, Cell::Integer { bits: 0x7F_FFFF, bytes: 3 }),
            (ColumnCode::LONGLONG, ColumnSize::Fixed, Cell::Integer { bits: u64::MAX, bytes: 8 }),
            (ColumnCode::FLOAT, ColumnSize::Bytes(4), Cell::Float(1.5)),
            (ColumnCode::DOUBLE, ColumnSize::Bytes(8), Cell::Double(-2.5)),
            (ColumnCode::DECIMAL, ColumnSize::Decimal { precision: 10, scale: 2 }, Cell::Decimal(decimal)),
            (ColumnCode::YEAR, ColumnSize::Fixed, Cell::Year(2155)),
            (ColumnCode::DATE, ColumnSize::Fixed, Cell::Date(date)),
            (ColumnCode::TIME, ColumnSize::Fraction(0), Cell::Time(time)),
            (ColumnCode::DATETIME, ColumnSize::Fraction(6), Cell::DateTime(moment)),
            (ColumnCode::TIMESTAMP, ColumnSize::Fraction(3), Cell::Timestamp { seconds: 7, micros: 120_000 }),
            (ColumnCode::BIT, ColumnSize::Bits(12), Cell::Bit(0xAAA)),
            (ColumnCode::ENUM, ColumnSize::Bytes(2), Cell::Enum(300)),
            (ColumnCode::SET, ColumnSize::Bytes(3), Cell::Set(0x1_0001)),
            (ColumnCode::VARCHAR, ColumnSize::BytesMax(255), Cell::Bytes(b"short")),
            (ColumnCode::STRING, ColumnSize::BytesMax(400), Cell::Bytes(b"long")),
            (ColumnCode::BLOB, ColumnSize::Bytes(3), Cell::Bytes(b"\0\xFF")),
            (ColumnCode::JSON, ColumnSize::Bytes(4), Cell::Json(&[4, 1])),
            (ColumnCode::LONG, ColumnSize::Fixed, Cell::Null),
        ];
        let columns = cases.iter().map(|&(code, size, _)| Column::new(code, size, true)).collect();
        let name: Box<[u8]> = b"t".as_slice().into();
        let map = TableMap { id: 9, flags: 1, database: name.clone(), table: name, columns, primary_key: Vec::new() };
        (map, cases.into_iter().map(|(_, _, cell)| cell).collect())
    }

    #[test]
    fn rows_of_every_type_come_back_and_damage_does_not_panic() {
        let (map, cells) = table();
        for (kind, event_kind) in [
            (RowsKind::Write, EventKind::WRITE_ROWS),
            (RowsKind::Update, EventKind::UPDATE_ROWS),
            (RowsKind::Delete, EventKind::DELETE_ROWS),
        ] {
            let header = Header { timestamp: 0, kind: event_kind, server_id: 1, bytes: 0, end_position: 0, flags: 0 };
            let images = if kind == RowsKind::Update { 2 } else { 1 };
            let mut bytes = Vec::new();
            append(&mut bytes, header, Checksum::None, |out| {
                encode_head(kind, 9, row_flags::STATEMENT_END, map.columns.len(), out);
                (0..3 * images).for_each(|_| encode_image(&map.columns, &cells, out));
            });
            let event = Event::decode(&bytes, Checksum::None).unwrap();
            let rows = Rows::decode(&event, 10).unwrap().unwrap();
            assert_eq!((rows.kind, rows.table_id, rows.flags), (kind, 9, row_flags::STATEMENT_END));
            let mut images = rows.images(&map).unwrap();
            let whole: RowImage<'_> = cells.iter().copied().map(Some).collect();
            let mut count = 0;
            while let Some((before, after)) = images.next_row().unwrap() {
                assert_eq!(before, kind.has_before().then(|| whole.clone()));
                assert_eq!(after, kind.has_after().then(|| whole.clone()));
                count += 1;
            }
            assert_eq!(count, 3);
            for at in 0..event.body.len() {
                let mut damaged = event.body.to_vec();
                damaged[at] ^= 0xFF;
                for body in [&damaged[..], &event.body[..at]] {
                    let Ok(Some(rows)) = Rows::decode(&Event { body, ..event }, 10) else { continue };
                    let Ok(mut images) = rows.images(&map) else { continue };
                    while let Ok(Some(_)) = images.next_row() {}
                }
            }
        }
    }

    #[test]
    fn old_times_are_digits() {
        assert_eq!(old_datetime(20_240_229_235_958).second, 58);
        assert_eq!(old_time(0xFF_FFFF), Time { negative: true, hours: 0, minutes: 0, seconds: 1, micros: 0 });
    }
}
