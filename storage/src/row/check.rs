//! Checking a table: each of its trees, and that they contain the same rows.
//!
//! When no transaction is open, a table is consistent in this sense: every row that is not delete-marked has exactly
//! one entry in each secondary index that is not delete-marked, and every such entry belongs to a row. Open
//! transactions may be in the middle of a change, so a check of a busy table can report faults that are none.

use format::collation::Charset;
use format::ids::PageId;
use format::page::blob::Reference;
use format::page::header::{self, PageType};
use format::page::index::{self, SUPREMUM, SearchMode};
use format::record::{Offsets, RecordBuffer, is_deleted};
use format::value::ColumnType;

use super::entry::{Key, build_entry, damaged, version_of_record};
use super::values::for_each_entry;
use super::{Context, Table};
use crate::btree::{TreeCheck, TreeFault};
use crate::error::Result;
use crate::schema::FieldSource;

/// At most this many missing entries are reported.
const FAULTS_MAX: usize = 20;

/// Records that are looked at before the check asks whether to go on.
const LOOK_EVERY: u64 = 1024;

/// What a check of a table found.
#[derive(Clone, Debug, Default)]
pub struct TableCheck {
    pub rows: u64,
    pub deleted_rows: u64,
    /// Pages of long values that rows refer to.
    pub long_value_pages: u64,
    /// The trees, by the ordinals of their indexes.
    pub indexes: Vec<TreeCheck>,
    /// Faults between the trees. Faults within one tree are in `indexes`.
    pub faults: Vec<TreeFault>,
}

impl TableCheck {
    /// Every fault, with the index that it belongs to.
    pub fn all_faults(&self) -> impl Iterator<Item = (usize, &TreeFault)> {
        let trees = self
            .indexes
            .iter()
            .enumerate()
            .flat_map(|(index, tree)| tree.faults.iter().map(move |fault| (index, fault)));
        trees.chain(self.faults.iter().map(|fault| (0, fault)))
    }

    pub fn is_clean(&self) -> bool {
        self.all_faults().next().is_none()
    }
}

/// Checks a table. With `at_rest` nothing is left to purge or to roll back, so every page must be accounted for.
/// `look` tells now and then whether to go on.
pub fn check(ctx: &Context<'_>, table: &Table, at_rest: bool, look: &dyn Fn() -> Result<()>) -> Result<TableCheck> {
    let mut found = TableCheck::default();
    let layout = &table.rows().leaf;
    let mut references: Vec<Reference> = Vec::new();
    let mut offsets = Offsets::new();
    let mut seen = 0_u64;
    let mut look_among = || -> Result<()> {
        seen += 1;
        if seen.is_multiple_of(LOOK_EVERY) { look() } else { Ok(()) }
    };
    let clustered = table.rows().check(ctx.store, &mut |page, origin| {
        look_among()?;
        if layout.parse_into(page, origin, &mut offsets).is_err() {
            return Ok(());
        }
        for field in offsets.fields().iter().filter(|field| field.external) {
            if let Ok(reference) = Reference::read(&page[field.start as usize..field.end()])
                && reference.is_owner()
            {
                references.push(reference);
            }
        }
        Ok(())
    })?;
    found.rows = clustered.records - clustered.deleted_records;
    found.deleted_rows = clustered.deleted_records;
    for reference in &references {
        look()?;
        found.long_value_pages += check_chain(ctx, reference, &mut found.faults)?;
    }
    let leaves = if clustered.levels == 1 { 0 } else { clustered.leaf_pages };
    let used = clustered.leaf_segment.used;
    if clustered.faults.is_empty()
        && (used < leaves + found.long_value_pages || (at_rest && used != leaves + found.long_value_pages))
    {
        let what = format!(
            "{used} pages in the leaf segment, {leaves} leaves and {} pages of long values",
            found.long_value_pages
        );
        found.faults.push(TreeFault { page: Some(table.rows().page_id(table.rows().root)), what });
    }
    found.indexes.push(clustered);

    for index in table.secondary() {
        let checked = table.tree(index).check(ctx.store, &mut |_, _| look_among())?;
        let entries = checked.records - checked.deleted_records;
        if table.index_tree(index).several.is_none() && entries != found.rows {
            let what = format!("{entries} entries in index {} for {} rows", table.indexes[index].name, found.rows);
            found.faults.push(TreeFault { page: None, what });
        }
        found.indexes.push(checked);
    }
    if table.indexes.len() > 1 && found.indexes[0].faults.is_empty() {
        let entries: Vec<u64> = found.indexes.iter().map(|index| index.records - index.deleted_records).collect();
        check_entries(ctx, table, &entries, &mut found.faults, look)?;
    }
    Ok(found)
}

/// Looks for the entries of every row, one leaf of rows at a time: the rows are copied first, because entries are
/// latched before rows.
fn check_entries(
    ctx: &Context<'_>,
    table: &Table,
    entries: &[u64],
    faults: &mut Vec<TreeFault>,
    look: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let layout = &table.rows().leaf;
    let mut rows: Vec<RecordBuffer> = Vec::new();
    let mut offsets = Offsets::new();
    let mut entry = RecordBuffer::new();
    let (mut missing, mut misfits) = (0, 0);
    // Of indexes with several entries of a row: how many there must be.
    let mut expected = vec![0_u64; table.indexes.len()];
    let mut next = Some(table.rows().edge(ctx.store, false)?.page_id());
    while let Some(id) = next {
        look()?;
        let mut count = 0;
        {
            let page = ctx.store.read(id)?;
            let mut origin = index::first(&page).map_err(damaged)?;
            while origin != SUPREMUM {
                if !is_deleted(&page, usize::from(origin)) {
                    if rows.len() == count {
                        rows.push(RecordBuffer::new());
                    }
                    rows[count].copy(&page, layout, usize::from(origin)).map_err(damaged)?;
                    count += 1;
                }
                origin = index::next(&page, origin).map_err(damaged)?;
            }
            let behind = header::next(&page);
            next = (!behind.is_null()).then(|| table.rows().page_id(behind));
        }
        for row in &rows[..count] {
            layout.parse_into(row.bytes(), row.origin(), &mut offsets).map_err(damaged)?;
            for (number, (field, place)) in table.indexes[0].fields.iter().zip(offsets.fields()).enumerate() {
                let FieldSource::Column(column) = field.source else { continue };
                let column = &table.columns[usize::from(column)];
                let bytes = place.value(layout, number, row.bytes()).filter(|_| !place.external);
                if bytes.is_some_and(|bytes| !fits(&column.ty, bytes)) {
                    misfits += 1;
                    if misfits <= FAULTS_MAX {
                        let what = format!("a value of column {} that its type does not have", column.name);
                        faults.push(TreeFault { page: Some(id), what });
                    }
                }
            }
            let mut version = Vec::new();
            version_of_record(layout, row.bytes(), &offsets, &mut version);
            for index in table.secondary() {
                let tree = table.tree(index);
                let mut look_for = |entry: &RecordBuffer| -> Result<()> {
                    let key = Key::of_buffer(entry, &tree.leaf)?;
                    let (page, position) = tree.find(ctx.store, &key, SearchMode::LessOrEqual)?;
                    if position.matched && !is_deleted(&page, usize::from(position.origin)) {
                        return Ok(());
                    }
                    missing += 1;
                    if missing <= FAULTS_MAX {
                        let what = format!("a row without its entry in index {}", table.indexes[index].name);
                        faults.push(TreeFault { page: Some(page.page_id()), what });
                    }
                    Ok(())
                };
                if table.index_tree(index).several.is_some() {
                    let count = &mut expected[index];
                    for_each_entry(ctx.store, table, index, &version, &mut entry, &mut |entry| {
                        *count += 1;
                        look_for(entry)
                    })?;
                    continue;
                }
                build_entry(ctx.store, table, index, &version, 0, &mut entry)?;
                look_for(&entry)?;
            }
        }
    }
    for index in table.secondary().filter(|index| table.index_tree(*index).several.is_some()) {
        let (found, expected) = (entries[index], expected[index]);
        if found != expected {
            let what = format!("{found} entries in index {}, of rows that have {expected}", table.indexes[index].name);
            faults.push(TreeFault { page: None, what });
        }
    }
    Ok(())
}

/// Whether stored bytes can be a value of a type: columns of a description that was not made for these rows mostly
/// cannot.
fn fits(ty: &ColumnType, bytes: &[u8]) -> bool {
    let number = || bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    match ty {
        ColumnType::Char { chars, collation } | ColumnType::VarChar { chars, collation } => {
            match format::collation::collation(*collation).charset {
                Charset::Utf8mb4 | Charset::Utf8mb3 => {
                    std::str::from_utf8(bytes).is_ok_and(|text| text.trim_end().chars().count() <= *chars as usize)
                }
                _ => true,
            }
        }
        ColumnType::VarBinary { bytes: most } => bytes.len() <= *most as usize,
        ColumnType::Enum { members, .. } => number() <= members.len() as u64,
        ColumnType::Set { members, .. } => members.len() >= 64 || number() >> members.len() == 0,
        ColumnType::Int { bytes: width, .. } => bytes.len() == usize::from(*width),
        _ => true,
    }
}

/// Walks the pages of a long value, and returns their number.
fn check_chain(ctx: &Context<'_>, reference: &Reference, faults: &mut Vec<TreeFault>) -> Result<u64> {
    let (mut pages, mut bytes) = (0, 0);
    let mut next = reference.page;
    while !next.is_null() && bytes <= reference.bytes {
        let id = PageId::new(reference.space, next);
        let page = ctx.store.read(id)?;
        let part = format::page::blob::part(&page);
        let (true, Ok((part, behind))) = (header::page_type(&page) == PageType::BLOB, part) else {
            faults.push(TreeFault { page: Some(id), what: "not a page of a long value".into() });
            break;
        };
        pages += 1;
        bytes += part.len() as u64;
        next = behind;
    }
    if bytes != reference.bytes {
        let what = format!("a long value of {} bytes whose pages have {bytes}", reference.bytes);
        faults.push(TreeFault { page: Some(PageId::new(reference.space, reference.page)), what });
    }
    Ok(pages)
}
