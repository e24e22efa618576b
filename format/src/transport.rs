//! What InnoDB writes beside a file that is to be copied to another server: `t.cfg`, the description of `t.ibd`.
//!
//! ```text
//! 4      version
//! 4 n    host, and 4 n database/table: lengths count the NUL at the end
//! 8      next AUTO_INCREMENT value, 0 = none
//! 4 4    page size, flags of the table
//! 4      columns, three system columns included
//!        from version 4 on 4 bytes about instant columns, from 7 on 20 more: columns at the table's creation, now and ever, newest
//!        row version, dropped columns
//!        from version 2 on 4: flags of the tablespace
//!        from version 5 on 1: its compression
//! then each column
//!   4 4 4 4   type with attributes and character set, kind, length, bytes per character
//!   4 4 4     position, whether it orders an index, bytes of the longest prefix in an index
//!   4 n       name
//!             from version 7 on 1 1 4: row version that added it, that dropped it, position in the record
//!             from version 3 on 1: whether older rows have a default; if so 1 = it is NULL, else 4 n: the value
//! versions from 2 on say here what index the serialised dictionary information has
//! 4      indexes, and each index
//!   8 4 4 4   number, tablespace, root, kind
//!   4 4 4 4 4 offset of the transaction id, columns asked for, fields that tell records apart, nullable fields, fields
//!   4 n       name; then each field: 4 4 prefix and fixed length, the highest bit of which says that the order is descending,
//!             4 n name
//! ```
//!
//! MariaDB and MySQL up to 5.7 write version 1, MySQL 8.0 up to 7. We write version 1 where they can read the rows. Rows
//! of several versions and stored values of VIRTUAL columns they cannot: such a file has a version that they do not know,
//! and behind the indexes what an instance of ours needs: `4 n`.
//!
//! Indexes of version 1 are written; none are read, because an import builds its own.

use crate::collation::{CollationId, collation};
use crate::error::{Error, Result};
use crate::value::ColumnType;

/// The newest version of MySQL's.
const NEWEST: u32 = 7;
/// The version of rows that only we can read.
const OWN: u32 = 0x474C_0001;
/// The most bytes of a name, its NUL included.
const NAME_BYTES_MAX: u32 = 4096;

const NOT_NULL: u32 = 0x100;
const UNSIGNED: u32 = 0x200;
const BINARY: u32 = 0x400;
const LONG_VARCHAR: u32 = 0x1000;

/// A column as InnoDB's dictionary has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// MySQL's type; bits for NOT NULL, UNSIGNED and the like; and the collation from bit 16 on.
    pub precise: u32,
    /// InnoDB's.
    pub kind: u32,
    pub bytes: u32,
    /// The least bytes of a character, and five times the most.
    pub characters: u32,
}

impl Type {
    pub fn of(ty: &ColumnType, nullable: bool) -> Type {
        const CHAR: u32 = 254;
        const BLOB: u32 = 252;
        let binary = CollationId::BINARY;
        // Digits are in this character set.
        let numeric = Some(CollationId::LATIN1_SWEDISH_CI);
        let text = |fixed: bool, id: CollationId| match (id, fixed) {
            (CollationId::BINARY, true) => 3,
            (CollationId::BINARY, false) => 4,
            (CollationId::LATIN1_SWEDISH_CI, true) => 2,
            (CollationId::LATIN1_SWEDISH_CI, false) => 1,
            (_, true) => 13,
            (_, false) => 12,
        };
        let whole = |id: CollationId| u32::from(collation(id).charset.bytes_max());
        let unsigned_if = |unsigned: bool| if unsigned { UNSIGNED } else { 0 };
        // Type of MySQL's, attributes, kind, collation.
        let (code, attributes, kind, id) = match ty {
            ColumnType::Int { bytes, unsigned } => {
                let code = match bytes {
                    1 => 1,
                    2 => 2,
                    3 => 9,
                    4 => 3,
                    _ => 8,
                };
                (code, BINARY | unsigned_if(*unsigned), 6, None)
            }
            ColumnType::Year => (13, BINARY | UNSIGNED, 6, None),
            ColumnType::Bit { .. } => (16, BINARY | UNSIGNED, 3, Some(binary)),
            ColumnType::Float { unsigned, .. } => (4, BINARY | unsigned_if(*unsigned), 9, None),
            ColumnType::Double { unsigned, .. } => (5, BINARY | unsigned_if(*unsigned), 10, None),
            ColumnType::Decimal { unsigned, .. } => (246, BINARY | unsigned_if(*unsigned), 3, numeric),
            ColumnType::Date => (10, BINARY, 6, None),
            ColumnType::Time { .. } => (11, BINARY, 3, numeric),
            ColumnType::DateTime { .. } => (12, BINARY, 3, numeric),
            ColumnType::Timestamp { .. } => (7, BINARY | UNSIGNED, 3, numeric),
            ColumnType::Char { collation, .. } => (CHAR, 0, text(true, *collation), Some(*collation)),
            ColumnType::Binary { .. } => (CHAR, BINARY, 3, Some(binary)),
            ColumnType::VarChar { chars, collation } => {
                let long = if chars * whole(*collation) > 255 { LONG_VARCHAR } else { 0 };
                (15, long, text(false, *collation), Some(*collation))
            }
            ColumnType::VarBinary { bytes } => {
                (15, BINARY | if *bytes > 255 { LONG_VARCHAR } else { 0 }, 4, Some(binary))
            }
            ColumnType::Text { collation, .. } => (BLOB, 0, 5, Some(*collation)),
            ColumnType::Blob { .. } => (BLOB, BINARY, 5, Some(binary)),
            ColumnType::Json => (245, BINARY, 5, Some(binary)),
            ColumnType::Geometry { .. } => (255, BINARY, 14, None),
            ColumnType::Enum { .. } | ColumnType::Set { .. } => (CHAR, UNSIGNED, 6, None),
        };
        let bytes = match ty {
            // The pointer that rows in memory have, and as many bytes as a length takes.
            ColumnType::Text { size, .. } | ColumnType::Blob { size } => 9 + *size as u32,
            ColumnType::Json | ColumnType::Geometry { .. } => 12,
            ColumnType::Char { chars, collation } => chars * whole(*collation),
            ColumnType::VarChar { chars, collation } => chars * whole(*collation),
            ColumnType::VarBinary { bytes } => *bytes,
            other => match other.layout(nullable).length {
                crate::record::Length::Fixed(bytes) => u32::from(bytes),
                crate::record::Length::Variable { max, .. } => max,
            },
        };
        let characters = match id {
            Some(id) => {
                let charset = collation(id).charset;
                u32::from(charset.bytes_min()) + 5 * u32::from(charset.bytes_max())
            }
            None => 0,
        };
        let precise =
            code | attributes | if nullable { 0 } else { NOT_NULL } | id.map_or(0, |id| u32::from(id.0) << 16);
        Type { precise, kind, bytes, characters }
    }

    /// What makes rows of this type unreadable as rows of another, if anything does.
    pub fn differs_from(&self, other: &Type) -> Option<&'static str> {
        let charset = |of: &Type| {
            let id = CollationId((of.precise >> 16) as u16);
            crate::collation::Collation::by_id(id).map(|collation| collation.charset)
        };
        if self.kind == 6 && other.kind == 6 || !(1..=14).contains(&self.kind) {
            // Integers differ by their length and sign alone.
        } else if self.kind != other.kind && !(self.is_text() && other.is_text()) {
            return Some("type");
        }
        if self.bytes != other.bytes {
            return Some("length");
        }
        if (self.precise ^ other.precise) & NOT_NULL != 0 {
            return Some("NULL");
        }
        if self.kind == 6 && (self.precise ^ other.precise) & UNSIGNED != 0 {
            return Some("sign");
        }
        let texts = self.is_text() && other.is_text() || self.kind == 5;
        if texts && charset(self) != charset(other) { Some("character set") } else { None }
    }

    fn is_text(&self) -> bool {
        matches!(self.kind, 1 | 2 | 12 | 13)
    }
}

/// A column, or a field of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub ty: Type,
    /// Whether an index is ordered by it.
    pub orders: bool,
    /// Of the longest prefix of it that an index has, 0 = none has one.
    pub prefix_bytes: u32,
    /// Older rows have a default in its place.
    pub instant: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexField {
    pub name: String,
    pub prefix_bytes: u32,
    /// 0 = it varies.
    pub fixed_bytes: u32,
    pub descending: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    pub name: String,
    pub id: u64,
    pub space: u32,
    pub root: u32,
    /// 1 clustered, 2 unique, 32 full-text, 64 spatial.
    pub kind: u32,
    /// Where the transaction id stands in every record, if it does.
    pub trx_id_offset: u32,
    pub columns: u32,
    pub unique_fields: u32,
    pub nullable_fields: u32,
    pub fields: Vec<IndexField>,
}

/// See the module header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    pub host: String,
    /// `database/table`.
    pub table: String,
    /// The next value; 0 = there is none.
    pub auto_increment: u64,
    pub page_bytes: u32,
    pub flags: u32,
    /// Without the system columns when it was read, with them when it is written.
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
    /// What only an instance of ours understands.
    pub own: Option<Vec<u8>>,
}

impl Description {
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let put = |out: &mut Vec<u8>, numbers: &[u32]| {
            numbers.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
        };
        let text = |out: &mut Vec<u8>, text: &str| {
            put(out, &[text.len() as u32 + 1]);
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        };
        put(&mut out, &[if self.own.is_some() { OWN } else { 1 }]);
        text(&mut out, &self.host);
        text(&mut out, &self.table);
        out.extend_from_slice(&self.auto_increment.to_be_bytes());
        put(&mut out, &[self.page_bytes, self.flags, self.columns.len() as u32]);
        for (at, column) in self.columns.iter().enumerate() {
            let Type { precise, kind, bytes, characters } = column.ty;
            put(
                &mut out,
                &[precise, kind, bytes, characters, at as u32, u32::from(column.orders), column.prefix_bytes],
            );
            text(&mut out, &column.name);
        }
        put(&mut out, &[self.indexes.len() as u32]);
        for index in &self.indexes {
            out.extend_from_slice(&index.id.to_be_bytes());
            put(&mut out, &[index.space, index.root, index.kind, index.trx_id_offset, index.columns]);
            put(&mut out, &[index.unique_fields, index.nullable_fields, index.fields.len() as u32]);
            text(&mut out, &index.name);
            for field in &index.fields {
                put(&mut out, &[field.prefix_bytes, field.fixed_bytes | u32::from(field.descending) << 31]);
                text(&mut out, &field.name);
            }
        }
        if let Some(own) = &self.own {
            put(&mut out, &[own.len() as u32]);
            out.extend_from_slice(own);
        }
        out
    }

    pub fn read(bytes: &[u8]) -> Result<Description> {
        let mut from = Reader { bytes, at: 0 };
        let version = from.number()?;
        if !(1..=NEWEST).contains(&version) && version != OWN {
            return Err(Error::Unsupported { what: "version of a table's description", value: version });
        }
        let later = |since: u32| (since..=NEWEST).contains(&version);
        let mut read = Description { host: from.text()?, table: from.text()?, ..Description::default() };
        read.auto_increment = u64::from(from.number()?) << 32 | u64::from(from.number()?);
        (read.page_bytes, read.flags) = (from.number()?, from.number()?);
        let columns = from.number()?;
        if later(4) {
            from.take(4)?;
        }
        if later(7) {
            from.take(20)?;
        }
        if later(2) {
            from.take(4)?;
        }
        if later(5) {
            from.take(1)?;
        }
        for _ in 0..columns {
            let ty = Type {
                precise: from.number()?,
                kind: from.number()?,
                bytes: from.number()?,
                characters: from.number()?,
            };
            let (_, orders, prefix_bytes) = (from.number()?, from.number()? != 0, from.number()?);
            let mut column = Column { name: from.text()?, ty, orders, prefix_bytes, instant: false };
            if later(7) {
                column.instant = from.take(2)?.iter().any(|version| !matches!(version, 0 | 0xFF));
                from.take(4)?;
            }
            if later(3) && from.take(1)? != [0] {
                column.instant = true;
                if from.take(1)? == [0] {
                    let bytes = from.number()?;
                    from.take(bytes as usize)?;
                }
            }
            read.columns.push(column);
        }
        // The system columns.
        let count = read.columns.len().checked_sub(3).ok_or_else(|| from.wrong("columns of a table's description"))?;
        read.columns.truncate(count);
        if version == OWN {
            read.own = Some(from.behind_indexes()?);
        }
        Ok(read)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, what: &'static str) -> Error {
        Error::corrupt(what, self.at)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| self.wrong("a table's description that ends too early"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32> {
        self.take(4).map(|bytes| crate::bytes::get_u32(bytes, 0))
    }

    fn text(&mut self) -> Result<String> {
        let count = self.number()?;
        let bytes = match count {
            1..=NAME_BYTES_MAX => self.take(count as usize)?,
            _ => return Err(self.wrong("length of a name")),
        };
        match bytes.split_last() {
            Some((0, name)) => Ok(String::from_utf8_lossy(name).into_owned()),
            _ => Err(self.wrong("end of a name")),
        }
    }

    fn behind_indexes(&mut self) -> Result<Vec<u8>> {
        for _ in 0..self.number()? {
            self.take(8 + 7 * 4)?;
            let fields = self.number()?;
            self.text()?;
            for _ in 0..fields {
                self.take(8)?;
                self.text()?;
            }
        }
        let count = self.number()?;
        self.take(count as usize).map(<[u8]>::to_vec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(own: Option<Vec<u8>>) -> Description {
        let ty = |ty: ColumnType| Type::of(&ty, true);
        let column =
            |name: &str, ty| Column { name: name.into(), ty, orders: name == "a", prefix_bytes: 9, instant: false };
        let system = Type { precise: 0x100, kind: 8, bytes: 6, characters: 0 };
        Description {
            host: "h".into(),
            table: "d/t".into(),
            auto_increment: 1 << 40,
            page_bytes: 16384,
            flags: 0x21,
            columns: vec![
                column("a", ty(ColumnType::Int { bytes: 4, unsigned: true })),
                column("b", ty(ColumnType::VarChar { chars: 100, collation: CollationId::DEFAULT })),
                column("DB_ROW_ID", system),
                column("DB_TRX_ID", system),
                column("DB_ROLL_PTR", system),
            ],
            indexes: vec![Index {
                name: "PRIMARY".into(),
                id: 7,
                space: 8,
                root: 3,
                kind: 3,
                trx_id_offset: 4,
                columns: 1,
                unique_fields: 1,
                nullable_fields: 1,
                fields: vec![IndexField { name: "a".into(), prefix_bytes: 0, fixed_bytes: 4, descending: true }],
            }],
            own,
        }
    }

    #[test]
    fn descriptions_come_back() {
        for own in [None, Some(vec![1, 2, 3])] {
            let written = description(own.clone());
            let bytes = written.write();
            let read = Description::read(&bytes).unwrap();
            let columns = written.columns[..2].to_vec();
            assert_eq!(read, Description { columns, indexes: Vec::new(), ..written });
            let needed = if own.is_some() { bytes.len() } else { 100 };
            for end in 0..needed {
                assert!(Description::read(&bytes[..end]).is_err());
            }
        }
    }

    #[test]
    fn other_types_differ() {
        let int = |bytes, unsigned| Type::of(&ColumnType::Int { bytes, unsigned }, true);
        assert_eq!(int(4, true).differs_from(&int(4, false)), Some("sign"));
        assert_eq!(int(4, true).differs_from(&int(8, true)), Some("length"));
        let text = |id| Type::of(&ColumnType::VarChar { chars: 10, collation: id }, true);
        let other = CollationId(46);
        assert_eq!(text(CollationId::DEFAULT).differs_from(&text(other)), None, "another order of the same bytes");
        assert_eq!(Type::of(&ColumnType::Date, true).differs_from(&Type::of(&ColumnType::Date, false)), Some("NULL"));
        assert_eq!(text(CollationId::BINARY).kind, 4);
    }
}
