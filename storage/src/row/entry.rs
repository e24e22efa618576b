//! From rows to records: keys, clustered records, entries of secondary indexes.
//!
//! A *version* of a row is a list of values, one per field of the clustered record; the code that writes the record
//! sets the system fields. An *entry* is a record of a secondary index, made from a version.

use std::ops::Deref;

use format::collation::collation;
use format::fulltext::Frequency;
use format::page::blob::{REFERENCE_BYTES, Reference};
use format::page::index::insert_bytes_max;
use format::record::{Compare, FieldData, FieldLayout, HEADER_BYTES, Layout, Length, Offsets, RecordBuffer};

use super::Table;
use crate::btree::{self, Overflow};
use crate::error::{Error, Result};
use crate::lock::NEAR_KEYS;
use crate::schema::{FieldColumn, FieldSource, IndexField, SHORT_BYTES};
use crate::store::Store;

/// The most fields of a key: sixteen parts, and as many of the clustered key.
const KEY_MAX: usize = 33;

/// A key to search with, on the stack.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    parts: [Option<&'a [u8]>; KEY_MAX],
    count: usize,
}

impl Default for Key<'_> {
    fn default() -> Self {
        Key::new()
    }
}

impl<'a> Key<'a> {
    #[inline]
    pub fn new() -> Key<'a> {
        Key { parts: [None; KEY_MAX], count: 0 }
    }

    #[inline]
    pub fn push(&mut self, part: Option<&'a [u8]>) {
        self.parts[self.count] = part;
        self.count += 1;
    }

    /// The first fields of the record at `origin`.
    #[inline]
    pub fn of_record(page: &'a [u8], layout: &Layout, origin: usize, fields: usize) -> Result<Key<'a>> {
        let mut key = Key::new();
        for field in layout.parse_keys(page, origin).map_err(damaged)?.take(fields) {
            key.push(field.map_err(damaged)?.of(page));
        }
        Ok(key)
    }

    /// The whole key of a record in a buffer.
    #[inline]
    pub fn of_buffer(record: &'a RecordBuffer, layout: &Layout) -> Result<Key<'a>> {
        Key::of_record(record.bytes(), layout, record.origin(), layout.key_fields())
    }

    /// The clustered key within an entry.
    pub fn of_entry(table: &Table, index: usize, page: &'a [u8], origin: usize) -> Result<Key<'a>> {
        let of = table.index_tree(index);
        let mut key = Key::new();
        for (number, &at) in of.key_at.iter().enumerate() {
            let bytes = of.tree.leaf.field(page, origin, usize::from(at)).map_err(damaged)?.of(page);
            key.push(match bytes {
                // The index may hold more of the column than the clustered key does.
                Some(bytes) => Some(prefix_of(table, &table.indexes[0].fields[number], bytes)),
                None => None,
            });
        }
        Ok(key)
    }
}

impl<'a> Deref for Key<'a> {
    type Target = [Option<&'a [u8]>];
    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.parts[..self.count]
    }
}

#[cold]
pub(super) fn damaged(cause: format::Error) -> Error {
    Error::corrupt(cause.to_string())
}

/// A hash of a key, equal for keys that compare equal. Keys that differ in the last three bits alone, as do neighbours
/// whose key is a number, have hashes that differ in these bits alone: their locks lie side by side.
pub fn hash_key(layout: &Layout, key: &[Option<&[u8]>]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    let mut near = 0;
    for (number, (field, part)) in layout.fields().iter().zip(key).enumerate() {
        match part {
            None => hasher.write_u8(0),
            Some(bytes) => match field.compare {
                Compare::Bytes => match bytes.split_last() {
                    Some((last, rest)) if number + 1 == key.len() => {
                        near = u64::from(*last) & NEAR_KEYS;
                        hasher.write(rest);
                        hasher.write_u8(last & !NEAR_KEYS as u8);
                    }
                    _ => hasher.write(bytes),
                },
                Compare::Collation(_) | Compare::Char(_) => {
                    let text = field.compare.text(bytes);
                    hasher.write_u64(text.map_or(0, |(collation, text)| collation.hash(text)));
                }
                Compare::Float | Compare::Double => {
                    // -0 equals 0: the sign does not count unless something else does.
                    let (last, rest) = bytes.split_last().unwrap_or((&0, &[]));
                    let is_zero = last & 0x7F == 0 && rest.iter().all(|byte| *byte == 0);
                    hasher.write(if is_zero { &[0] } else { bytes });
                }
            },
        }
    }
    hasher.finish() & !NEAR_KEYS | near
}

/// A hash of a row's key in a unique index, equal for rows whose keys compare equal. `None`: several rows may have it,
/// because the index is not unique or the key has a NULL.
pub fn unique_key_hash<'v>(table: &Table, index: usize, value: &dyn Fn(usize) -> Option<&'v [u8]>) -> Option<u64> {
    let described = &table.indexes[index];
    if !described.unique || described.parts.is_empty() {
        return None;
    }
    let mut key = Key::new();
    for field in &described.fields[..described.parts.len()] {
        let FieldSource::Column(column) = field.source else { return None };
        key.push(Some(prefix_of(table, field, value(usize::from(column))?)));
    }
    // Finished once more, because keys of several indexes come into one table.
    let hash = hash_key(&table.index_tree(index).tree.leaf, &key) ^ described.id.0.wrapping_mul(0xA076_1D64_78BD_642F);
    Some((hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// As much of a column's value as an index takes.
pub fn prefix_of<'a>(table: &Table, field: &IndexField, bytes: &'a [u8]) -> &'a [u8] {
    let (Some(bytes_max), FieldSource::Column(column)) = (field.prefix_bytes, field.source) else {
        return bytes;
    };
    let cut = match (field.prefix_chars, charset_of(table, usize::from(column))) {
        (Some(chars), Some(charset)) if charset.bytes_max() > 1 => charset.offset_of_char(bytes, chars as usize),
        _ => bytes_max as usize,
    };
    &bytes[..cut.min(bytes_max as usize).min(bytes.len())]
}

fn charset_of(table: &Table, column: usize) -> Option<format::collation::Charset> {
    let column = &table.columns[column];
    match column.ty.layout(column.nullable).compare {
        Compare::Collation(id) | Compare::Char(id) => Some(collation(id).charset),
        _ => None,
    }
}

/// The values of a row that is to be stored, in the order of the clustered record. The system fields are placeholders.
pub fn version_of_values<'a>(
    table: &Table,
    values: &[Option<&'a [u8]>],
    row_id: &'a [u8],
    out: &mut Vec<FieldData<'a>>,
) {
    out.clear();
    for field in &table.indexes[0].fields {
        out.push(match field.source {
            FieldSource::Column(column) => {
                let value = values[usize::from(column)];
                FieldData::from(value.map(|bytes| prefix_of(table, field, bytes)))
            }
            FieldSource::RowId => FieldData::Bytes(row_id),
            FieldSource::TrxId => FieldData::Bytes(&[0; 6]),
            FieldSource::RollPtr => FieldData::Bytes(&[0; 7]),
            FieldSource::Dropped(_) => FieldData::Null,
            FieldSource::Word | FieldSource::Frequency | FieldSource::Element(_) => {
                unreachable!("a clustered record has columns")
            }
        });
    }
}

/// The values of a clustered record: also of columns that came after it, and of dropped ones that it still has.
pub fn version_of_record<'a>(layout: &'a Layout, page: &'a [u8], offsets: &Offsets, out: &mut Vec<FieldData<'a>>) {
    out.clear();
    for (number, field) in offsets.fields().iter().enumerate() {
        out.push(match (field.value(layout, number, page), field.external) {
            (None, _) => FieldData::Null,
            (Some(bytes), false) => FieldData::Bytes(bytes),
            (Some(bytes), true) => FieldData::External(bytes),
        });
    }
}

/// Takes the values of dropped columns out of a version: a record that is written anew does not have them. Its undo
/// record does, so that long ones are freed when nobody can see the record before.
pub fn leave_dropped(table: &Table, version: &mut [FieldData<'_>]) {
    let Some(row_versions) = &table.row_versions else { return };
    let columns = table.key_fields() + 2;
    for (field, value) in row_versions.fields.iter().zip(&mut version[columns..]) {
        if let FieldColumn::Dropped { .. } = field.column {
            *value = FieldData::Null;
        }
    }
}

/// The bytes that a version's record takes on a page, when it is written anew.
pub fn record_bytes(layout: &Layout, version: &[FieldData<'_>]) -> usize {
    let mut bytes = HEADER_BYTES + layout.current_bitmap_bytes();
    for (field, data) in layout.fields().iter().zip(version) {
        bytes += match data {
            FieldData::Null => 0,
            FieldData::Bytes(data) => data.len() + length_bytes(field, data.len(), false),
            FieldData::External(data) => data.len() + length_bytes(field, data.len(), true),
        };
    }
    bytes
}

fn is_long(field: &FieldLayout) -> bool {
    matches!(field.length, Length::Variable { max, blob } if blob || max > 255)
}

fn length_bytes(field: &FieldLayout, bytes: usize, external: bool) -> usize {
    match field.length {
        Length::Fixed(_) => 0,
        Length::Variable { .. } if is_long(field) && (bytes > 127 || external) => 2,
        Length::Variable { .. } => 1,
    }
}

/// A value that goes into overflow pages.
#[derive(Clone, Copy, Debug)]
pub struct LongValue<'a> {
    /// Its field in the clustered record.
    pub field: usize,
    pub bytes: &'a [u8],
}

/// Moves the longest values to overflow pages until two such records fit on a page. They are replaced by `empty`, a
/// reference without pages.
pub fn move_out<'a>(
    layout: &Layout,
    page_bytes: usize,
    version: &mut [FieldData<'a>],
    empty: &'a [u8; REFERENCE_BYTES],
    moved: &mut Vec<LongValue<'a>>,
) -> Result<()> {
    moved.clear();
    let bytes_max = insert_bytes_max(page_bytes);
    loop {
        let bytes = record_bytes(layout, version);
        if bytes <= bytes_max {
            return Ok(());
        }
        let longest = version
            .iter()
            .enumerate()
            .skip(layout.key_fields() + 2)
            .filter_map(|(field, data)| match data {
                FieldData::Bytes(bytes) if is_long(&layout.fields()[field]) && bytes.len() > SHORT_BYTES => {
                    Some((field, *bytes))
                }
                _ => None,
            })
            .max_by_key(|(_, bytes)| bytes.len());
        let Some((field, bytes_of_field)) = longest else {
            return Err(Error::RowTooLarge { bytes, bytes_max });
        };
        version[field] = FieldData::External(empty);
        moved.push(LongValue { field, bytes: bytes_of_field });
    }
}

/// A reference without pages, as a record carries it until its value is written.
pub fn empty_reference(table: &Table) -> [u8; REFERENCE_BYTES] {
    Overflow::empty(table.space).reference.to_bytes()
}

/// Builds the entry of a secondary index for a version.
pub fn build_entry(
    store: &Store,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    info: u8,
    out: &mut RecordBuffer,
) -> Result<()> {
    let of = table.index_tree(index);
    let fields = &table.indexes[index].fields;
    debug_assert!(of.several.is_none(), "one entry of a row");
    let part = |at: usize| {
        let data = version[usize::from(of.sources[at])];
        match data {
            FieldData::Bytes(bytes) => FieldData::Bytes(prefix_of(table, &fields[at], bytes)),
            other => other,
        }
    };
    if !(0..fields.len()).any(|at| matches!(version[usize::from(of.sources[at])], FieldData::External(_))) {
        return out.try_build(&of.tree.leaf, info, (0..fields.len()).map(part)).map_err(damaged);
    }
    // A prefix of a value that lies in overflow pages: fetch as much as the index takes.
    let mut fetched: Vec<Option<Vec<u8>>> = vec![None; fields.len()];
    for (at, place) in fetched.iter_mut().enumerate() {
        if let FieldData::External(bytes) = version[usize::from(of.sources[at])] {
            let bytes_max = fields[at].prefix_bytes.map_or(usize::MAX, |bytes| bytes as usize);
            *place = Some(fetch(store, bytes, bytes_max)?);
        }
    }
    let parts = (0..fields.len()).map(|at| match &fetched[at] {
        Some(value) => FieldData::Bytes(prefix_of(table, &fields[at], value)),
        None => part(at),
    });
    out.try_build(&of.tree.leaf, info, parts).map_err(damaged)
}

/// Builds one of the several entries that a version has in a secondary index: that of a value.
pub fn build_entry_of(
    store: &Store,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    value: Option<&[u8]>,
    frequency: Frequency,
    out: &mut RecordBuffer,
) -> Result<()> {
    let of = table.index_tree(index);
    let fields = &table.indexes[index].fields;
    let (frequency, from) = frequency.to_bytes();
    // Of parts that lie in overflow pages as much as the index takes.
    let mut fetched: Vec<(usize, Vec<u8>)> = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let source = usize::from(of.sources[at]);
        if let Some(FieldData::External(bytes)) = version.get(source) {
            let bytes_max = field.prefix_bytes.map_or(usize::MAX, |bytes| bytes as usize);
            fetched.push((at, fetch(store, bytes, bytes_max)?));
        }
    }
    let parts = (0..fields.len()).map(|at| match fields[at].source {
        FieldSource::Word | FieldSource::Element(_) => FieldData::from(value),
        FieldSource::Frequency => FieldData::Bytes(&frequency[from..]),
        _ => match version[usize::from(of.sources[at])] {
            FieldData::Bytes(bytes) => FieldData::Bytes(prefix_of(table, &fields[at], bytes)),
            FieldData::External(_) => {
                let whole = fetched.iter().find(|(part, _)| *part == at).map_or(&[][..], |(_, value)| value);
                FieldData::Bytes(prefix_of(table, &fields[at], whole))
            }
            FieldData::Null => FieldData::Null,
        },
    });
    out.try_build(&of.tree.leaf, 0, parts).map_err(damaged)
}

/// At most so many bytes of a long value.
fn fetch(store: &Store, bytes: &[u8], bytes_max: usize) -> Result<Vec<u8>> {
    let reference = Reference::read(bytes).map_err(damaged)?;
    let Some(local) = bytes.len().checked_sub(REFERENCE_BYTES) else {
        return Err(Error::corrupt("a long value without a reference"));
    };
    let mut value = bytes[..local].to_vec();
    btree::read_overflow(store, &reference, bytes_max.saturating_sub(value.len()), &mut value)?;
    Ok(value)
}
