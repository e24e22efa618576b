//! Sums over a file: by kind of page, by codec, and all in all.

use std::collections::BTreeMap;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use format::page::header::{self, PageType};
use format::page::index;

use super::tablespace::{Storage, Tablespace, Visited};

/// A page that is longer than a whole number of blocks by no more than this was unlucky.
const BOUNDARY_MISS_BYTES: usize = 128;

/// What pages have in common.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) pages: u64,
    /// What the pages need, to the byte.
    pub(super) exact_bytes: u64,
    /// The same in whole blocks.
    pub(super) stored_bytes: u64,
    /// What is not in a hole.
    pub(super) occupied_bytes: u64,
    pub(super) boundary_misses: u64,
    pub(super) encrypted: u64,
    pub(super) damaged: u64,
}

impl Sum {
    pub(super) fn add(&mut self, tablespace: &Tablespace, visited: &Visited<'_>) {
        let exact = visited.plain.stored_bytes;
        let block = tablespace.block_bytes;
        let missed = exact > block && (1..=BOUNDARY_MISS_BYTES).contains(&(exact % block));
        self.pages += 1;
        self.exact_bytes += exact as u64;
        self.stored_bytes += exact.next_multiple_of(block).min(tablespace.page_bytes) as u64;
        self.occupied_bytes += visited.occupied_bytes;
        self.boundary_misses += u64::from(missed);
        self.encrypted += u64::from(visited.plain.encrypted);
        self.damaged += u64::from(visited.damaged);
    }
}

/// Sums by the way in which pages are stored.
#[derive(Default)]
pub(super) struct Recount(pub(super) BTreeMap<Storage, Sum>);

impl Recount {
    pub(super) fn add(&mut self, tablespace: &Tablespace, visited: &Visited<'_>) {
        self.0.entry(visited.plain.storage).or_default().add(tablespace, visited);
    }

    /// Over all of them.
    pub(super) fn total(&self) -> Sum {
        self.0.values().fold(Sum::default(), |all, one| Sum {
            pages: all.pages + one.pages,
            exact_bytes: all.exact_bytes + one.exact_bytes,
            stored_bytes: all.stored_bytes + one.stored_bytes,
            occupied_bytes: all.occupied_bytes + one.occupied_bytes,
            boundary_misses: all.boundary_misses + one.boundary_misses,
            encrypted: all.encrypted + one.encrypted,
            damaged: all.damaged + one.damaged,
        })
    }
}

/// Shows them.
pub(super) fn summary(tablespace: &mut Tablespace, out: &mut impl Write) -> io::Result<u64> {
    let mut kinds: BTreeMap<(PageType, String, Storage), Sum> = BTreeMap::new();
    let mut codecs = Recount::default();
    let damaged = tablespace.walk(|tablespace, visited| {
        let storage = visited.plain.storage;
        kinds.entry(kind(tablespace, visited)).or_default().add(tablespace, visited);
        codecs.0.entry(storage).or_default().add(tablespace, visited);
        Ok(())
    })?;

    let page_bytes = tablespace.page_bytes as u64;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["pages", "count", "stored as", "logical", "exact", "on disk", "damaged"]);
    for ((_, name, storage), sum) in &kinds {
        table.add_row([
            name.clone(),
            sum.pages.to_string(),
            storage.name().to_owned(),
            (sum.pages * page_bytes).to_string(),
            sum.exact_bytes.to_string(),
            sum.occupied_bytes.to_string(),
            if sum.damaged == 0 { String::new() } else { sum.damaged.to_string() },
        ]);
    }
    align_right(&mut table, &[1, 3, 4, 5, 6]);
    writeln!(out, "{table}\n")?;

    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "stored as",
        "count",
        "logical",
        "exact",
        "in blocks",
        "on disk",
        "boundary misses",
        "encrypted",
    ]);
    let total = codecs.total();
    let rows = codecs.0.iter().map(|(storage, sum)| (storage.name(), sum)).chain([("all", &total)]);
    for (name, sum) in rows {
        table.add_row([
            name.to_owned(),
            sum.pages.to_string(),
            (sum.pages * page_bytes).to_string(),
            sum.exact_bytes.to_string(),
            sum.stored_bytes.to_string(),
            sum.occupied_bytes.to_string(),
            sum.boundary_misses.to_string(),
            sum.encrypted.to_string(),
        ]);
    }
    align_right(&mut table, &[1, 2, 3, 4, 5, 6, 7]);
    writeln!(out, "{table}\n")?;
    totals(tablespace, out)?;
    Ok(damaged)
}

fn align_right(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Which line of the table a page belongs to; free pages and doublewrite copies stand together whatever they were.
fn kind(tablespace: &Tablespace, visited: &Visited<'_>) -> (PageType, String, Storage) {
    let plain = visited.plain;
    let page_type = header::page_type(&plain.bytes);
    let own = |name: &str| (PageType::default(), name.to_owned(), plain.storage);
    match plain.storage {
        _ if visited.free == Some(true) => own("free"),
        Storage::NeverWritten => (page_type, "never written".to_owned(), plain.storage),
        _ if tablespace.is_doublewrite(visited.number) => own("doublewrite"),
        _ if page_type.is_index() => {
            let name = format!("{page_type} {} level {}", index::index_id(&plain.bytes), index::level(&plain.bytes));
            (page_type, name, plain.storage)
        }
        _ => (page_type, page_type.to_string(), plain.storage),
    }
}

/// The file as a whole.
pub(super) fn totals(tablespace: &Tablespace, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{} pages of {} bytes in blocks of {}, {} bytes long, {} of them in holes; {} bytes on disk",
        tablespace.page_count(),
        tablespace.page_bytes,
        tablespace.block_bytes,
        tablespace.file_bytes,
        tablespace.hole_bytes(),
        tablespace.disk_bytes,
    )
}
