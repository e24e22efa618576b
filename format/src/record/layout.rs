//! What is needed to parse and compare the records of an index.

use crate::collation::{self, Collation, CollationId};
use crate::ids::{RollPtr, TrxId};

use super::versions::{FieldSpan, RowVersions};
use super::{HEADER_BYTES, STATUS_LEAF, STATUS_NODE};

/// The bytes of a record below its origin (header, NULL bitmap, lengths) and above (data).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub extra: u32,
    pub data: u32,
}

impl Size {
    #[inline]
    pub fn total(self) -> usize {
        (self.extra + self.data) as usize
    }
}

/// How long a field's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always these bytes; no length entry.
    Fixed(u16),
    /// At most `max` bytes. `blob`: of a BLOB, TEXT, JSON or geometry type, whatever its maximum.
    Variable { max: u32, blob: bool },
}

/// How two stored values of a field compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// As bytes; when one is a prefix of the other, the shorter is smaller. Integers, temporals and decimals are
    /// stored so that this is their order.
    Bytes,
    /// As text of a collation.
    Collation(CollationId),
    /// As text of a collation that counts spaces at the end, without the spaces that fill up a CHAR.
    Char(CollationId),
    /// As 4-byte little-endian IEEE numbers.
    Float,
    /// As 8-byte little-endian IEEE numbers.
    Double,
}

impl Compare {
    /// Of a text the collation, and what of its stored bytes is compared.
    #[inline]
    pub fn text(self, stored: &[u8]) -> Option<(&'static Collation, &[u8])> {
        match self {
            Compare::Collation(id) => Some((collation::collation(id), stored)),
            Compare::Char(id) => {
                let collation = collation::collation(id);
                Some((collation, collation.charset.without_spaces(stored)))
            }
            _ => None,
        }
    }
}

/// One field of an index, as a record stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    pub length: Length,
    pub nullable: bool,
    pub compare: Compare,
    /// Larger values first, NULLs last. Only the order differs, not the bytes.
    pub descending: bool,
}

impl FieldLayout {
    /// A field of fixed length, compared as bytes, not nullable.
    pub const fn fixed(bytes: u16) -> FieldLayout {
        FieldLayout { length: Length::Fixed(bytes), nullable: false, compare: Compare::Bytes, descending: false }
    }

    /// A field of variable length, compared as bytes, not nullable.
    pub const fn variable(max: u32, blob: bool) -> FieldLayout {
        FieldLayout {
            length: Length::Variable { max, blob },
            nullable: false,
            compare: Compare::Bytes,
            descending: false,
        }
    }

    pub const fn nullable(self, nullable: bool) -> FieldLayout {
        FieldLayout { nullable, ..self }
    }

    pub const fn compared(self, compare: Compare) -> FieldLayout {
        FieldLayout { compare, ..self }
    }

    pub const fn descending(self, descending: bool) -> FieldLayout {
        FieldLayout { descending, ..self }
    }

    /// Whether a record may hold only the beginning of the value: its length has two bytes, one bit of which tells.
    pub fn may_be_external(&self) -> bool {
        self.long_lengths()
    }

    /// Whether every length needs the two-byte form once it exceeds 127.
    #[inline]
    pub(super) fn long_lengths(&self) -> bool {
        match self.length {
            Length::Fixed(_) => false,
            Length::Variable { max, blob } => blob || max > 255,
        }
    }
}

/// Which records of an index a layout describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole rows, with transaction id and roll pointer behind the key.
    ClusteredLeaf,
    /// Index fields and the primary key.
    SecondaryLeaf,
    /// Key and child page number.
    NodePointer,
}

/// The fields of an index's records in record order, and which of them decide the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    fields: Box<[FieldLayout]>,
    kind: Kind,
    key_fields: usize,
    /// Bytes of the NULL bitmap: in a node pointer that of the whole index.
    pub(super) null_bytes: usize,
    /// Offsets from the origin of the leading fields that stand at the same place in every record, and one more: where
    /// the first other field begins. Never empty.
    starts: Box<[u16]>,
    /// All records have this size, when all fields are fixed and not nullable.
    constant: Option<Size>,
    /// How many leading key fields can be compared as bytes at the same place in every record.
    plain_fields: usize,
    /// If records of other versions than 0 may be among them.
    versions: Option<Box<RowVersions>>,
}

impl Layout {
    /// Leaf records of a clustered index: `key_fields` key fields, then transaction id and roll pointer (6 and 7
    /// bytes, which must be in `fields`), then the other columns.
    pub fn clustered(fields: Vec<FieldLayout>, key_fields: usize) -> Layout {
        assert!(key_fields >= 1 && key_fields + 2 <= fields.len(), "a clustered record has a key and system fields");
        assert!(fields[key_fields].length == Length::Fixed(TrxId::BYTES as u16), "a transaction id behind the key");
        assert!(fields[key_fields + 1].length == Length::Fixed(RollPtr::BYTES as u16), "then a roll pointer");
        let nullable = fields.iter().filter(|field| field.nullable).count();
        Layout::new(fields, Kind::ClusteredLeaf, key_fields, nullable)
    }

    /// The same for a table with row versions, up to `current`: `spans` has the versions of each field.
    pub fn with_versions(mut self, spans: Vec<FieldSpan>, current: u8) -> Layout {
        assert!(self.kind == Kind::ClusteredLeaf, "rows have versions, entries have none");
        let always = spans.iter().take_while(|span| **span == FieldSpan::ALWAYS).count();
        assert!(always >= self.key_fields + 2, "key and system fields are in every version");
        assert_eq!(self.fields.len(), spans.len(), "every field has its versions");
        let versions = RowVersions::new(spans, current, &|field| self.fields[field].nullable);
        self.starts = self.starts[..self.starts.len().min(always + 1)].into();
        self.constant = None;
        // Of no version in particular: what depends on one asks for its own.
        self.null_bytes = 0;
        self.versions = Some(Box::new(versions));
        self
    }

    /// Leaf records of a secondary index: all fields decide the order.
    pub fn secondary(fields: Vec<FieldLayout>) -> Layout {
        assert!(!fields.is_empty(), "an index has fields");
        let nullable = fields.iter().filter(|field| field.nullable).count();
        let key_fields = fields.len();
        Layout::new(fields, Kind::SecondaryLeaf, key_fields, nullable)
    }

    /// The records above the leaves of the index whose leaf records this layout describes.
    pub fn node_pointer(&self) -> Layout {
        assert!(self.kind != Kind::NodePointer, "derived from a leaf layout");
        // The bitmap of node pointers stays when columns come and go.
        let in_first = |number| self.versions.as_ref().is_none_or(|versions| versions.span(number).has(0));
        let nullable =
            self.fields.iter().enumerate().filter(|(number, field)| field.nullable && in_first(*number)).count();
        let mut fields = self.fields[..self.key_fields].to_vec();
        fields.push(FieldLayout::fixed(4));
        Layout::new(fields, Kind::NodePointer, self.key_fields, nullable)
    }

    fn new(fields: Vec<FieldLayout>, kind: Kind, key_fields: usize, nullable: usize) -> Layout {
        let null_bytes = nullable.div_ceil(8);
        let mut starts = vec![0_u16];
        let mut end = 0_u16;
        for field in &fields {
            match field.length {
                Length::Fixed(bytes) if !field.nullable && end.checked_add(bytes).is_some() => {
                    end += bytes;
                    starts.push(end);
                }
                _ => break,
            }
        }
        let constant = (starts.len() == fields.len() + 1)
            .then_some(Size { extra: (HEADER_BYTES + null_bytes) as u32, data: u32::from(end) });
        let plain_fields = fields[..key_fields]
            .iter()
            .take_while(|field| {
                matches!(field.length, Length::Fixed(_))
                    && !field.nullable
                    && field.compare == Compare::Bytes
                    && !field.descending
            })
            .count()
            .min(starts.len() - 1);
        Layout {
            fields: fields.into(),
            kind,
            key_fields,
            null_bytes,
            starts: starts.into(),
            constant,
            plain_fields,
            versions: None,
        }
    }

    #[inline]
    pub fn fields(&self) -> &[FieldLayout] {
        &self.fields
    }

    #[inline]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many leading fields decide the order.
    #[inline]
    pub fn key_fields(&self) -> usize {
        self.key_fields
    }

    #[inline]
    pub fn versions(&self) -> Option<&RowVersions> {
        self.versions.as_deref()
    }

    /// The row version in which records are written.
    #[inline]
    pub fn current_version(&self) -> u8 {
        self.versions.as_ref().map_or(0, |versions| versions.current())
    }

    /// Whether records of a row version have a field.
    #[inline]
    pub fn has_field(&self, field: usize, version: u8) -> bool {
        self.versions.as_ref().is_none_or(|versions| versions.span(field).has(version))
    }

    /// The value of a field in records whose version does not have it.
    #[inline]
    pub fn absent_value(&self, field: usize) -> Option<&[u8]> {
        self.versions.as_ref().and_then(|versions| versions.span(field).default.as_deref())
    }

    /// Bytes between the header and the lengths of a record of this version: the NULL bitmap, and where there is one the
    /// version. None = there is no such version.
    #[inline]
    pub fn bitmap_bytes(&self, version: u8) -> Option<usize> {
        match &self.versions {
            None => (version == 0).then_some(self.null_bytes),
            Some(versions) => versions.bitmap_bytes(version),
        }
    }

    /// The same bytes of a record that is written now.
    #[inline]
    pub fn current_bitmap_bytes(&self) -> usize {
        self.bitmap_bytes(self.current_version()).unwrap_or(self.null_bytes)
    }

    /// The status that records of this layout carry.
    #[inline]
    pub fn status(&self) -> u8 {
        match self.kind {
            Kind::NodePointer => STATUS_NODE,
            _ => STATUS_LEAF,
        }
    }

    /// Which field is the transaction id; the roll pointer is the next. Only clustered leaves have them.
    #[inline]
    pub fn trx_id_field(&self) -> Option<usize> {
        (self.kind == Kind::ClusteredLeaf).then_some(self.key_fields)
    }

    /// The size of all records, if it is one.
    #[inline]
    pub fn constant_size(&self) -> Option<Size> {
        self.constant
    }

    /// Where a field starts, counted from the origin, if it is the same in every record.
    #[inline]
    pub fn constant_start(&self, field: usize) -> Option<usize> {
        self.starts.get(field).map(|&start| usize::from(start))
    }

    /// How many leading fields have the same place and length in every record.
    #[inline]
    pub fn constant_fields(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many leading key fields can be compared as bytes at their constant starts.
    #[inline]
    pub fn plain_fields(&self) -> usize {
        self.plain_fields
    }
}
