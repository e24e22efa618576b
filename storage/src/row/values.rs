//! The values that a version of a row has in an index of which it has several entries, and these entries; see `several`.

use std::borrow::Cow;
use std::cmp::Ordering;

use format::fulltext::Frequency;
use format::page::blob::{REFERENCE_BYTES, Reference};
use format::record::{FieldData, FieldLayout, RecordBuffer, compare_records, compare_value};
use format::value::array;

use super::Table;
use super::entry::{build_entry_of, damaged};
use super::several::Several;
use crate::btree;
use crate::error::{Error, Result};
use crate::store::Store;

/// A value of an index: a place in [`Values::bytes`], or NULL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    start: usize,
    bytes: u32,
    /// Of a word.
    pub frequency: Frequency,
}

/// In place of a length.
const NULL: u32 = u32::MAX;

/// The values that a version of a row has in an index.
#[derive(Debug, Default)]
pub(super) struct Values {
    bytes: Vec<u8>,
    pub items: Vec<Item>,
}

/// What reading a long value does where a page is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// It is damage.
    Whole,
    /// It is the end: the value may have been freed.
    WhatIsLeft,
}

impl Values {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn value(&self, item: &Item) -> Option<&[u8]> {
        (item.bytes != NULL).then(|| &self.bytes[item.start..item.start + item.bytes as usize])
    }

    fn push(&mut self, value: Option<&[u8]>, frequency: Frequency) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(value.unwrap_or_default());
        let bytes = value.map_or(NULL, |value| value.len() as u32);
        self.items.push(Item { start, bytes, frequency });
    }

    pub(super) fn compare(
        &self,
        field: &FieldLayout,
        item: &Item,
        value: Option<&[u8]>,
        frequency: Frequency,
    ) -> Ordering {
        compare_value(field, self.value(item), value).then(item.frequency.cmp(&frequency))
    }

    fn sort(&mut self, field: &FieldLayout) {
        let Values { bytes, items } = self;
        let value = |item: &Item| (item.bytes != NULL).then(|| &bytes[item.start..item.start + item.bytes as usize]);
        let order = |a: &Item, b: &Item| compare_value(field, value(a), value(b)).then(a.frequency.cmp(&b.frequency));
        items.sort_by(order);
        items.dedup_by(|a, b| order(a, b).is_eq());
    }

    /// Takes what another list has as well. Both are sorted, and so is the result.
    pub(super) fn absorb(&mut self, other: &Values, field: &FieldLayout) {
        other.items.iter().for_each(|item| self.push(other.value(item), item.frequency));
        self.sort(field);
    }

    pub(super) fn has(&self, field: &FieldLayout, value: Option<&[u8]>, frequency: Frequency) -> bool {
        self.items.binary_search_by(|item| self.compare(field, item, value, frequency)).is_ok()
    }
}

/// The values that a version has in an index: of the fields that `wanted` names.
pub(super) fn values_of(
    store: &Store,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    wanted: &dyn Fn(usize) -> bool,
    reads: Reads,
) -> Result<Values> {
    let of = table.index_tree(index);
    let mut values = Values::default();
    let Some(several) = &of.several else { return Ok(values) };
    match several {
        Several::Words { analyzer, columns } => {
            for (number, &field) in columns.iter().enumerate() {
                if !wanted(usize::from(field)) {
                    continue;
                }
                let Some(text) = whole_value(store, version[usize::from(field)], reads)? else { continue };
                analyzer.count(&text, &mut |word, count| {
                    values.push(Some(word), Frequency::new(count, number, columns.len()));
                });
            }
            if columns.len() > 1 {
                values.sort(&of.tree.leaf.fields()[0]);
            }
        }
        Several::Elements { at, source } => {
            if !wanted(usize::from(*source)) {
                return Ok(values);
            }
            let field = &of.tree.leaf.fields()[*at];
            match whole_value(store, version[usize::from(*source)], reads)? {
                None => values.push(None, Frequency(0)),
                Some(array) => {
                    for element in array::elements(&array) {
                        match element {
                            Ok(element) if field.takes(FieldData::Bytes(element)) => {
                                values.push(Some(element), Frequency(0))
                            }
                            _ if reads == Reads::WhatIsLeft => break,
                            _ => return Err(Error::corrupt(format!("an array of {table}"))),
                        }
                    }
                    values.sort(field);
                }
            }
        }
    }
    Ok(values)
}

/// A value with all that lies in overflow pages. None = NULL.
fn whole_value<'v>(store: &Store, value: FieldData<'v>, reads: Reads) -> Result<Option<Cow<'v, [u8]>>> {
    match value {
        FieldData::Null => Ok(None),
        FieldData::Bytes(bytes) => Ok(Some(Cow::Borrowed(bytes))),
        FieldData::External(bytes) => {
            let Some(local) = bytes.len().checked_sub(REFERENCE_BYTES) else {
                return Err(Error::corrupt("a long value without a reference"));
            };
            let mut whole = bytes[..local].to_vec();
            let reference = Reference::read(bytes).map_err(damaged)?;
            match btree::read_overflow(store, &reference, usize::MAX, &mut whole) {
                Err(Error::Corrupt { .. }) if reads == Reads::WhatIsLeft => {}
                read => read?,
            }
            Ok(Some(Cow::Owned(whole)))
        }
    }
}

/// Every field.
pub(super) fn all(_: usize) -> bool {
    true
}

/// Builds the entry of a value.
pub(super) fn entry_of(
    store: &Store,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    values: &Values,
    item: &Item,
    out: &mut RecordBuffer,
) -> Result<()> {
    build_entry_of(store, table, index, version, values.value(item), item.frequency, out)
}

/// Calls the closure with every entry that a version has in an index.
pub fn for_each_entry(
    store: &Store,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    entry: &mut RecordBuffer,
    visit: &mut dyn FnMut(&RecordBuffer) -> Result<()>,
) -> Result<()> {
    let values = values_of(store, table, index, version, &all, Reads::Whole)?;
    for item in &values.items {
        entry_of(store, table, index, version, &values, item, entry)?;
        visit(entry)?;
    }
    Ok(())
}

/// The value and the frequency that an entry has.
pub(super) fn value_of_entry<'e>(
    table: &Table,
    index: usize,
    entry: &'e RecordBuffer,
) -> Result<(Option<&'e [u8]>, Frequency)> {
    let of = table.index_tree(index);
    let layout = &of.tree.leaf;
    let field = |at: usize| -> Result<Option<&'e [u8]>> {
        Ok(layout.field(entry.bytes(), entry.origin(), at).map_err(damaged)?.of(entry.bytes()))
    };
    match &of.several {
        Some(Several::Elements { at, .. }) => Ok((field(*at)?, Frequency(0))),
        _ => {
            let stored = field(layout.fields().len() - 1)?.unwrap_or_default();
            Ok((field(0)?, Frequency::read(stored).map_err(damaged)?))
        }
    }
}

/// Whether a version of a row has an entry.
pub(super) fn version_has_entry(
    store: &Store,
    table: &Table,
    index: usize,
    version: &[FieldData<'_>],
    entry: &RecordBuffer,
    own: &mut RecordBuffer,
) -> Result<bool> {
    let of = table.index_tree(index);
    let Some(several) = &of.several else { return Ok(false) };
    let layout = &of.tree.leaf;
    let (value, frequency) = value_of_entry(table, index, entry)?;
    let column = match several {
        Several::Words { columns, .. } => usize::from(columns[frequency.column(columns.len())]),
        Several::Elements { source, .. } => usize::from(*source),
    };
    let values = values_of(store, table, index, version, &|field| field == column, Reads::Whole)?;
    if !values.has(&layout.fields()[several.at()], value, frequency) {
        return Ok(false);
    }
    // The other parts have to be equal, too.
    build_entry_of(store, table, index, version, value, frequency, own)?;
    let order = compare_records(layout, entry.bytes(), entry.origin(), own.bytes(), own.origin());
    Ok(order.map_err(damaged)?.is_eq())
}
