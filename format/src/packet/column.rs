//! Column definitions: what a result set says about its columns before its rows.
//!
//! ```text
//! lenenc string   catalog, always "def"
//! lenenc string   schema
//! lenenc string   table, as the statement calls it
//! lenenc string   table, as it is stored
//! lenenc string   column, as the statement calls it
//! lenenc string   column, as it is stored
//! 1               bytes of the fixed part, always 12
//! 2               collation of what is sent (63: not text)
//! 4               length: the most bytes a value can take as text
//! 1               type: ColumnKind
//! 2               flags
//! 1               decimals
//! 2               zero
//! ```

use super::reader::{Malformed, Reader};
use super::writer;
use crate::collation::{Charset, in_charset};

/// The protocol's column types (`MYSQL_TYPE_...`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ColumnKind {
    Decimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    VarChar = 15,
    Bit = 16,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

impl ColumnKind {
    /// The kind with this number.
    pub fn from_byte(byte: u8) -> Option<Self> {
        use ColumnKind::*;
        Some(match byte {
            0 => Decimal,
            1 => Tiny,
            2 => Short,
            3 => Long,
            4 => Float,
            5 => Double,
            6 => Null,
            7 | 17 => Timestamp,
            8 => LongLong,
            9 => Int24,
            10 | 14 => Date,
            11 | 19 => Time,
            12 | 18 => DateTime,
            13 => Year,
            15 => VarChar,
            16 => Bit,
            245 => Json,
            246 => NewDecimal,
            247 => Enum,
            248 => Set,
            249 => TinyBlob,
            250 => MediumBlob,
            251 => LongBlob,
            252 => Blob,
            253 => VarString,
            254 => String,
            255 => Geometry,
            _ => return None,
        })
    }
}

/// Flags of a column definition.
pub mod column_flags {
    pub const NOT_NULL: u16 = 1;
    pub const PRIMARY_KEY: u16 = 1 << 1;
    pub const UNIQUE_KEY: u16 = 1 << 2;
    pub const MULTIPLE_KEY: u16 = 1 << 3;
    pub const BLOB: u16 = 1 << 4;
    pub const UNSIGNED: u16 = 1 << 5;
    pub const ZEROFILL: u16 = 1 << 6;
    pub const BINARY: u16 = 1 << 7;
    pub const ENUM: u16 = 1 << 8;
    pub const AUTO_INCREMENT: u16 = 1 << 9;
    pub const TIMESTAMP: u16 = 1 << 10;
    pub const SET: u16 = 1 << 11;
    pub const NO_DEFAULT_VALUE: u16 = 1 << 12;
    pub const ON_UPDATE_NOW: u16 = 1 << 13;
    pub const PART_KEY: u16 = 1 << 14;
    pub const NUM: u16 = 1 << 15;
}

/// The collation of what is not text.
pub const BINARY: u16 = 63;

/// What a result set says about one of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDefinition {
    pub schema: Box<str>,
    /// The table's name or alias in the statement.
    pub table: Box<str>,
    /// The table's own name.
    pub org_table: Box<str>,
    /// The column's name or alias in the statement.
    pub name: Box<str>,
    /// The column's own name.
    pub org_name: Box<str>,
    /// The collation of the bytes that are sent; [`BINARY`] for what is not text.
    pub collation: u16,
    /// The most bytes that a value can take as text.
    pub length: u32,
    pub kind: ColumnKind,
    /// See [`column_flags`].
    pub flags: u16,
    /// Digits behind the point; 31 where they are not fixed.
    pub decimals: u8,
}

impl ColumnDefinition {
    /// A column of an expression: a name and no table.
    pub fn new(name: &str, kind: ColumnKind) -> Self {
        Self {
            schema: "".into(),
            table: "".into(),
            org_table: "".into(),
            name: name.into(),
            org_name: "".into(),
            collation: BINARY,
            length: 0,
            kind,
            flags: 0,
            decimals: 0,
        }
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_in(None, out);
    }

    /// The same with names in a character set; `None`: in UTF-8.
    pub fn encode_in(&self, charset: Option<Charset>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x03def");
        for text in [&self.schema, &self.table, &self.org_table, &self.name, &self.org_name] {
            writer::lenenc_bytes(out, &in_charset(text, charset));
        }
        out.push(12);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.kind as u8);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&[self.decimals, 0, 0]);
    }

    /// Reads the payload; names that are not UTF-8 are replaced.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.lenenc_bytes("column catalog")?;
        let mut text = |what| reader.lenenc_bytes(what).map(|bytes| String::from_utf8_lossy(bytes).into_owned().into());
        let (schema, table, org_table) = (text("column schema")?, text("column table")?, text("column table")?);
        let (name, org_name) = (text("column name")?, text("column name")?);
        reader.lenenc("column length")?;
        let (collation, length) = (reader.u16("column collation")?, reader.u32("column length")?);
        let kind = ColumnKind::from_byte(reader.u8("column type")?).ok_or(Malformed { what: "unknown column type" })?;
        let (flags, decimals) = (reader.u16("column flags")?, reader.u8("column decimals")?);
        Ok(Self { schema, table, org_table, name, org_name, collation, length, kind, flags, decimals })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_read_as_it_was_written() {
        let column = ColumnDefinition {
            schema: "shop".into(),
            table: "o".into(),
            org_table: "orders".into(),
            org_name: "id".into(),
            length: 20,
            flags: column_flags::NOT_NULL | column_flags::PRIMARY_KEY,
            ..ColumnDefinition::new("number", ColumnKind::LongLong)
        };
        let mut out = Vec::new();
        column.encode(&mut out);
        assert_eq!(ColumnDefinition::decode(&out), Ok(column));
        for cut in 0..out.len() - 2 {
            assert!(ColumnDefinition::decode(&out[..cut]).is_err());
        }
    }
}
