//! Table_map: what the rows that follow are rows of.
//!
//! ```text
//! offset  bytes
//!      0      6  number of the table, which rows refer to   (4 in logs of MySQL 5.0)
//!      6      2  flags
//!      8      .  1 + n database, zero; 1 + n table, zero
//!             .  count of columns, c (length-encoded)
//!             c  types of the columns
//!             .  length-encoded: what the types say about sizes, 0 to 2 bytes a column
//!         (c+7)/8  a bit per column: it may be NULL
//!             .  more about the columns, to the end: type 1, length (length-encoded), value
//! ```
//!
//! A CHAR, an ENUM and a SET share one type; the first byte of their size tells which it is, mixed with the two
//! highest bits of a CHAR's length: `byte ^ ((length & 0x300) >> 4)`.
//!
//! What is said beyond the types (signs, collations, names, members, the primary key) is there if the source was told
//! to write it (`binlog_row_metadata`); signs and collations always are, from MySQL 8.0 on.

use crate::error::{Error, Result};
use crate::packet::{Malformed, Reader, writer};

const SIGNEDNESS: u8 = 1;
const DEFAULT_CHARSET: u8 = 2;
const COLUMN_CHARSET: u8 = 3;
const COLUMN_NAME: u8 = 4;
const SET_MEMBERS: u8 = 5;
const ENUM_MEMBERS: u8 = 6;
const GEOMETRY_TYPE: u8 = 7;
const SIMPLE_PRIMARY_KEY: u8 = 8;
const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
const MEMBERS_DEFAULT_CHARSET: u8 = 10;
const MEMBERS_COLUMN_CHARSET: u8 = 11;
const VISIBILITY: u8 = 12;

/// More columns than a table can have.
const COLUMNS_MAX: u64 = 4096;

/// The flag that bits of BIT columns are counted exactly; always set.
pub const FLAG_BITS_EXACT: u16 = 1;

/// The type of a column in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnCode(pub u8);

impl ColumnCode {
    pub const DECIMAL_OLD: ColumnCode = ColumnCode(0);
    pub const TINY: ColumnCode = ColumnCode(1);
    pub const SHORT: ColumnCode = ColumnCode(2);
    pub const LONG: ColumnCode = ColumnCode(3);
    pub const FLOAT: ColumnCode = ColumnCode(4);
    pub const DOUBLE: ColumnCode = ColumnCode(5);
    pub const NULL: ColumnCode = ColumnCode(6);
    pub const TIMESTAMP_OLD: ColumnCode = ColumnCode(7);
    pub const LONGLONG: ColumnCode = ColumnCode(8);
    pub const INT24: ColumnCode = ColumnCode(9);
    pub const DATE: ColumnCode = ColumnCode(10);
    pub const TIME_OLD: ColumnCode = ColumnCode(11);
    pub const DATETIME_OLD: ColumnCode = ColumnCode(12);
    pub const YEAR: ColumnCode = ColumnCode(13);
    pub const VARCHAR: ColumnCode = ColumnCode(15);
    pub const BIT: ColumnCode = ColumnCode(16);
    pub const TIMESTAMP: ColumnCode = ColumnCode(17);
    pub const DATETIME: ColumnCode = ColumnCode(18);
    pub const TIME: ColumnCode = ColumnCode(19);
    pub const VECTOR: ColumnCode = ColumnCode(242);
    pub const JSON: ColumnCode = ColumnCode(245);
    pub const DECIMAL: ColumnCode = ColumnCode(246);
    pub const ENUM: ColumnCode = ColumnCode(247);
    pub const SET: ColumnCode = ColumnCode(248);
    pub const BLOB: ColumnCode = ColumnCode(252);
    pub const VAR_STRING: ColumnCode = ColumnCode(253);
    pub const STRING: ColumnCode = ColumnCode(254);
    pub const GEOMETRY: ColumnCode = ColumnCode(255);

    /// How many bytes about its size follow, and which byte order they have.
    fn size_bytes(self) -> usize {
        match self {
            ColumnCode::FLOAT | ColumnCode::DOUBLE => 1,
            ColumnCode::TIMESTAMP | ColumnCode::DATETIME | ColumnCode::TIME => 1,
            ColumnCode::BLOB | ColumnCode::JSON | ColumnCode::GEOMETRY | ColumnCode::VECTOR => 1,
            ColumnCode::VARCHAR | ColumnCode::VAR_STRING | ColumnCode::BIT | ColumnCode::DECIMAL => 2,
            ColumnCode::STRING | ColumnCode::ENUM | ColumnCode::SET => 2,
            _ => 0,
        }
    }

    fn is_numeric(self) -> bool {
        matches!(
            self,
            ColumnCode::TINY
                | ColumnCode::SHORT
                | ColumnCode::INT24
                | ColumnCode::LONG
                | ColumnCode::LONGLONG
                | ColumnCode::FLOAT
                | ColumnCode::DOUBLE
                | ColumnCode::DECIMAL
                | ColumnCode::YEAR
        )
    }

    /// Whether a collation belongs to it. BINARY and BLOB have the collation 63.
    fn is_text(self) -> bool {
        matches!(self, ColumnCode::VARCHAR | ColumnCode::VAR_STRING | ColumnCode::STRING | ColumnCode::BLOB)
    }

    fn has_members(self) -> bool {
        matches!(self, ColumnCode::ENUM | ColumnCode::SET)
    }
}

/// How large values of a column are, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ColumnSize {
    #[default]
    Fixed,
    /// FLOAT, DOUBLE, ENUM, SET: bytes of a value. BLOB, JSON, GEOMETRY, VECTOR: bytes of a length.
    Bytes(u8),
    /// Digits of a second's fraction.
    Fraction(u8),
    /// CHAR and VARCHAR: the most bytes.
    BytesMax(u16),
    Bits(u8),
    Decimal {
        precision: u8,
        scale: u8,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub code: ColumnCode,
    pub size: ColumnSize,
    pub nullable: bool,
    /// None: the log does not say.
    pub unsigned: Option<bool>,
    pub collation: Option<u32>,
    pub name: Option<Box<[u8]>>,
    /// Of an ENUM or SET.
    pub members: Option<Box<[Box<[u8]>]>>,
    pub visible: Option<bool>,
    pub geometry_type: Option<u64>,
}

impl Column {
    pub fn new(code: ColumnCode, size: ColumnSize, nullable: bool) -> Column {
        Column {
            code,
            size,
            nullable,
            unsigned: None,
            collation: None,
            name: None,
            members: None,
            visible: None,
            geometry_type: None,
        }
    }
}

/// A part of a primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPart {
    pub column: usize,
    /// Characters of it that count; 0: all.
    pub prefix: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMap {
    /// Connects rows to their table, in one file, for a while. It is no name.
    pub id: u64,
    pub flags: u16,
    pub database: Box<[u8]>,
    pub table: Box<[u8]>,
    pub columns: Vec<Column>,
    pub primary_key: Vec<KeyPart>,
}

impl TableMap {
    /// `post_header_bytes` is what the file's description says of the kind: 8, or 6 in old logs.
    pub fn decode(body: &[u8], post_header_bytes: usize) -> Result<TableMap> {
        const WHAT: &str = "a Table_map event";
        let mut reader = Reader::new(body);
        let id = table_id(&mut reader, post_header_bytes)?;
        let flags = reader.u16(WHAT)?;
        let name = |reader: &mut Reader<'_>| -> std::result::Result<Box<[u8]>, Malformed> {
            let bytes = reader.u8(WHAT)? as usize;
            let name = reader.bytes(bytes, WHAT)?.into();
            match reader.u8(WHAT)? {
                0 => Ok(name),
                _ => Err(Malformed { what: "a name in a Table_map event" }),
            }
        };
        let (database, table) = (name(&mut reader)?, name(&mut reader)?);
        let count = reader.lenenc(WHAT)?;
        if count > COLUMNS_MAX {
            return Err(Error::Malformed { what: "the count of columns in a Table_map event" });
        }
        let codes = reader.bytes(count as usize, WHAT)?;
        let mut sizes = Reader::new(reader.lenenc_bytes(WHAT)?);
        let nullable = reader.bytes(codes.len().div_ceil(8), WHAT)?;
        let mut columns = Vec::with_capacity(codes.len());
        for (at, &code) in codes.iter().enumerate() {
            let (code, size) = column_size(ColumnCode(code), &mut sizes)?;
            columns.push(Column::new(code, size, nullable[at / 8] >> (at % 8) & 1 != 0));
        }
        if !sizes.is_empty() {
            return Err(Error::Malformed { what: "the sizes of columns in a Table_map event" });
        }
        let mut map = TableMap { id, flags, database, table, columns, primary_key: Vec::new() };
        while !reader.is_empty() {
            let ty = reader.u8(WHAT)?;
            let value = reader.lenenc_bytes(WHAT)?;
            map.decode_more(ty, Reader::new(value))?;
        }
        Ok(map)
    }

    /// One field of what is said beyond the types. Unknown ones are left out, as their length allows.
    fn decode_more(&mut self, ty: u8, mut value: Reader<'_>) -> Result<()> {
        const WHAT: &str = "the metadata of a Table_map event";
        match ty {
            SIGNEDNESS => {
                let bits = value.rest();
                for (at, column) in self.columns.iter_mut().filter(|column| column.code.is_numeric()).enumerate() {
                    column.unsigned = bits.get(at / 8).map(|byte| byte >> (7 - at % 8) & 1 != 0);
                }
            }
            DEFAULT_CHARSET | MEMBERS_DEFAULT_CHARSET => {
                let default = value.lenenc(WHAT)? as u32;
                let mut columns: Vec<_> = self.with_collations(ty == DEFAULT_CHARSET).collect();
                columns.iter_mut().for_each(|column| column.collation = Some(default));
                while !value.is_empty() {
                    let (at, collation) = (value.lenenc(WHAT)? as usize, value.lenenc(WHAT)? as u32);
                    columns.get_mut(at).ok_or(Error::Malformed { what: WHAT })?.collation = Some(collation);
                }
            }
            COLUMN_CHARSET | MEMBERS_COLUMN_CHARSET => {
                for column in self.with_collations(ty == COLUMN_CHARSET) {
                    column.collation = Some(value.lenenc(WHAT)? as u32);
                }
            }
            COLUMN_NAME => {
                for column in &mut self.columns {
                    column.name = Some(value.lenenc_bytes(WHAT)?.into());
                }
            }
            SET_MEMBERS | ENUM_MEMBERS => {
                let code = if ty == SET_MEMBERS { ColumnCode::SET } else { ColumnCode::ENUM };
                for column in self.columns.iter_mut().filter(|column| column.code == code) {
                    let count = value.lenenc(WHAT)?;
                    let mut members: Vec<Box<[u8]>> = Vec::new();
                    for _ in 0..count {
                        members.push(value.lenenc_bytes(WHAT)?.into());
                    }
                    column.members = Some(members.into());
                }
            }
            GEOMETRY_TYPE => {
                for column in self.columns.iter_mut().filter(|column| column.code == ColumnCode::GEOMETRY) {
                    column.geometry_type = Some(value.lenenc(WHAT)?);
                }
            }
            SIMPLE_PRIMARY_KEY | PRIMARY_KEY_WITH_PREFIX => {
                self.primary_key.clear();
                while !value.is_empty() {
                    let column = value.lenenc(WHAT)? as usize;
                    if column >= self.columns.len() {
                        return Err(Error::Malformed { what: WHAT });
                    }
                    let prefix = if ty == PRIMARY_KEY_WITH_PREFIX { value.lenenc(WHAT)? } else { 0 };
                    self.primary_key.push(KeyPart { column, prefix });
                }
            }
            VISIBILITY => {
                let bits = value.rest();
                for (at, column) in self.columns.iter_mut().enumerate() {
                    column.visible = bits.get(at / 8).map(|byte| byte >> (7 - at % 8) & 1 != 0);
                }
            }
            _ => (),
        }
        Ok(())
    }

    /// Texts, or ENUMs and SETs.
    fn with_collations(&mut self, texts: bool) -> impl Iterator<Item = &mut Column> {
        self.columns
            .iter_mut()
            .filter(move |column| if texts { column.code.is_text() } else { column.code.has_members() })
    }

    /// Appends the body, with all that the columns know of themselves.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.to_le_bytes()[..6]);
        out.extend_from_slice(&self.flags.to_le_bytes());
        for name in [&self.database, &self.table] {
            out.push(name.len() as u8);
            writer::zero_terminated(out, name);
        }
        writer::lenenc(out, self.columns.len() as u64);
        out.extend(self.columns.iter().map(|column| match column.code {
            ColumnCode::ENUM | ColumnCode::SET => ColumnCode::STRING.0,
            code => code.0,
        }));
        let mut sizes = Vec::new();
        self.columns.iter().for_each(|column| put_size(column, &mut sizes));
        writer::lenenc_bytes(out, &sizes);
        put_bits(self.columns.iter().map(|column| column.nullable), |at| at, out);
        self.encode_more(out);
    }

    fn encode_more(&self, out: &mut Vec<u8>) {
        let mut put = |ty: u8, value: &[u8]| {
            if !value.is_empty() {
                out.push(ty);
                writer::lenenc_bytes(out, value);
            }
        };
        let mut value = Vec::new();
        let from_the_top = |at: usize| 7 - at;

        if self.columns.iter().any(|column| column.unsigned.is_some()) {
            let numbers = self.columns.iter().filter(|column| column.code.is_numeric());
            put_bits(numbers.map(|column| column.unsigned == Some(true)), from_the_top, &mut value);
            put(SIGNEDNESS, &value);
        }
        for (ty, texts) in [(COLUMN_CHARSET, true), (MEMBERS_COLUMN_CHARSET, false)] {
            value.clear();
            let has = |column: &&Column| if texts { column.code.is_text() } else { column.code.has_members() };
            let collations: Option<Vec<u32>> = self.columns.iter().filter(has).map(|column| column.collation).collect();
            for collation in collations.unwrap_or_default() {
                writer::lenenc(&mut value, u64::from(collation));
            }
            put(ty, &value);
        }
        value.clear();
        for name in self.columns.iter().filter_map(|column| column.name.as_deref()) {
            writer::lenenc_bytes(&mut value, name);
        }
        put(COLUMN_NAME, &value);
        for (ty, code) in [(SET_MEMBERS, ColumnCode::SET), (ENUM_MEMBERS, ColumnCode::ENUM)] {
            value.clear();
            let columns = self.columns.iter().filter(|column| column.code == code);
            for members in columns.filter_map(|column| column.members.as_deref()) {
                writer::lenenc(&mut value, members.len() as u64);
                members.iter().for_each(|member| writer::lenenc_bytes(&mut value, member));
            }
            put(ty, &value);
        }
        value.clear();
        for ty in self.columns.iter().filter_map(|column| column.geometry_type) {
            writer::lenenc(&mut value, ty);
        }
        put(GEOMETRY_TYPE, &value);
        value.clear();
        let has_prefix = self.primary_key.iter().any(|part| part.prefix != 0);
        for part in &self.primary_key {
            writer::lenenc(&mut value, part.column as u64);
            if has_prefix {
                writer::lenenc(&mut value, part.prefix);
            }
        }
        put(if has_prefix { PRIMARY_KEY_WITH_PREFIX } else { SIMPLE_PRIMARY_KEY }, &value);
        value.clear();
        if self.columns.iter().any(|column| column.visible.is_some()) {
            put_bits(self.columns.iter().map(|column| column.visible != Some(false)), from_the_top, &mut value);
            put(VISIBILITY, &value);
        }
    }
}

/// The number of a table, in 6 bytes or, if the fixed part has 6 in all, in 4.
pub(super) fn table_id(reader: &mut Reader<'_>, post_header_bytes: usize) -> std::result::Result<u64, Malformed> {
    const WHAT: &str = "the number of a table";
    match post_header_bytes {
        6 => reader.u32(WHAT).map(u64::from),
        _ => Ok(u64::from(reader.u32(WHAT)?) | u64::from(reader.u16(WHAT)?) << 32),
    }
}

fn put_bits(bits: impl Iterator<Item = bool>, place: impl Fn(usize) -> usize, out: &mut Vec<u8>) {
    for (at, bit) in bits.enumerate() {
        if at % 8 == 0 {
            out.push(0);
        }
        *out.last_mut().expect("a byte was pushed") |= u8::from(bit) << place(at % 8);
    }
}

/// What the bytes about a column's size say, and which of the three types that share one it is.
fn column_size(code: ColumnCode, sizes: &mut Reader<'_>) -> Result<(ColumnCode, ColumnSize)> {
    const WHAT: &str = "the size of a column in a Table_map event";
    let size = sizes.bytes(code.size_bytes(), WHAT)?;
    let malformed = Err(Error::Malformed { what: WHAT });
    Ok(match (code, size) {
        (ColumnCode::TIMESTAMP | ColumnCode::DATETIME | ColumnCode::TIME, &[digits]) => match digits {
            0..=6 => (code, ColumnSize::Fraction(digits)),
            _ => return malformed,
        },
        (_, &[bytes]) => match bytes {
            1..=8 => (code, ColumnSize::Bytes(bytes)),
            _ => return malformed,
        },
        (ColumnCode::BIT, &[bits, bytes]) => match u32::from(bytes) * 8 + u32::from(bits) {
            count @ 1..=64 if bits < 8 => (code, ColumnSize::Bits(count as u8)),
            _ => return malformed,
        },
        (ColumnCode::DECIMAL, &[precision, scale]) => match (precision, scale) {
            (1..=65, 0..=30) if scale <= precision => (code, ColumnSize::Decimal { precision, scale }),
            _ => return malformed,
        },
        (ColumnCode::VARCHAR | ColumnCode::VAR_STRING, &[low, high]) => {
            (code, ColumnSize::BytesMax(u16::from_le_bytes([low, high])))
        }
        (_, &[real, length]) => match ColumnCode(real) {
            member @ (ColumnCode::ENUM | ColumnCode::SET) if (1..=8).contains(&length) => {
                (member, ColumnSize::Bytes(length))
            }
            // Bits 4 and 5, inverted, are bits 8 and 9 of the length.
            _ if real | 0x30 == ColumnCode::STRING.0 => {
                let high = u16::from(!real & 0x30) << 4;
                (ColumnCode::STRING, ColumnSize::BytesMax(high | u16::from(length)))
            }
            _ => return malformed,
        },
        _ => (code, ColumnSize::Fixed),
    })
}

fn put_size(column: &Column, out: &mut Vec<u8>) {
    match (column.code, column.size) {
        (_, ColumnSize::Fixed) => (),
        (ColumnCode::ENUM | ColumnCode::SET, ColumnSize::Bytes(bytes)) => out.extend([column.code.0, bytes]),
        (_, ColumnSize::Bytes(bytes)) => out.push(bytes),
        (_, ColumnSize::Fraction(digits)) => out.push(digits),
        (_, ColumnSize::Bits(bits)) => out.extend([bits % 8, bits / 8]),
        (_, ColumnSize::Decimal { precision, scale }) => out.extend([precision, scale]),
        (ColumnCode::STRING, ColumnSize::BytesMax(bytes)) => {
            out.extend([ColumnCode::STRING.0 ^ ((bytes & 0x300) >> 4) as u8, bytes as u8]);
        }
        (_, ColumnSize::BytesMax(bytes)) => out.extend(bytes.to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let sized = |code, size| Column::new(code, size, true);
        let mut columns = vec![
            Column { unsigned: Some(true), ..Column::new(ColumnCode::LONG, ColumnSize::Fixed, false) },
            Column { unsigned: Some(false), ..sized(ColumnCode::DOUBLE, ColumnSize::Bytes(8)) },
            Column {
                unsigned: Some(false),
                ..sized(ColumnCode::DECIMAL, ColumnSize::Decimal { precision: 10, scale: 2 })
            },
            Column { collation: Some(255), ..sized(ColumnCode::VARCHAR, ColumnSize::BytesMax(400)) },
            Column { collation: Some(63), ..sized(ColumnCode::STRING, ColumnSize::BytesMax(255)) },
            Column { collation: Some(45), ..sized(ColumnCode::STRING, ColumnSize::BytesMax(1020)) },
            Column { collation: Some(45), ..sized(ColumnCode::BLOB, ColumnSize::Bytes(2)) },
            Column {
                collation: Some(255),
                members: Some([b"a".as_slice().into(), b"b".as_slice().into()].into()),
                ..sized(ColumnCode::ENUM, ColumnSize::Bytes(1))
            },
            Column {
                collation: Some(8),
                members: Some([b"x".as_slice().into()].into()),
                ..sized(ColumnCode::SET, ColumnSize::Bytes(1))
            },
            sized(ColumnCode::BIT, ColumnSize::Bits(12)),
            sized(ColumnCode::DATETIME, ColumnSize::Fraction(6)),
            sized(ColumnCode::JSON, ColumnSize::Bytes(4)),
            Column { geometry_type: Some(1), ..sized(ColumnCode::GEOMETRY, ColumnSize::Bytes(4)) },
            Column { unsigned: Some(false), ..sized(ColumnCode::YEAR, ColumnSize::Fixed) },
            sized(ColumnCode::DATE, ColumnSize::Fixed),
        ];
        for (at, column) in columns.iter_mut().enumerate() {
            column.name = Some(format!("c{at}").into_bytes().into());
            column.visible = Some(at != 3);
        }
        columns
    }

    #[test]
    fn a_table_comes_back_with_all_that_is_said_of_it() {
        for prefix in [0, 7] {
            let map = TableMap {
                id: 0x1234_5678_9ABC,
                flags: FLAG_BITS_EXACT,
                database: b"shop".as_slice().into(),
                table: b"orders".as_slice().into(),
                columns: columns(),
                primary_key: vec![KeyPart { column: 0, prefix: 0 }, KeyPart { column: 3, prefix }],
            };
            let mut body = Vec::new();
            map.encode(&mut body);
            assert_eq!(TableMap::decode(&body, 8).as_ref(), Ok(&map));
            for length in 0..body.len() {
                assert!(TableMap::decode(&body[..length], 8).is_err() || length > 40, "{length} bytes");
            }
            for at in 0..body.len() {
                let mut damaged = body.clone();
                damaged[at] ^= 0xFF;
                let _ = TableMap::decode(&damaged, 8);
            }
        }
    }

    /// The bytes that MariaDB and MySQL write for a CHAR(100) of utf8mb4: 400 bytes.
    #[test]
    fn a_long_char_hides_its_length_in_its_type() {
        let (code, size) = column_size(ColumnCode::STRING, &mut Reader::new(&[0xEE, 0x90])).unwrap();
        assert_eq!((code, size), (ColumnCode::STRING, ColumnSize::BytesMax(400)));
    }
}
