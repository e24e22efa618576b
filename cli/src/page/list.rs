//! One line per page, and what a page holds in a few words.

use std::io::{self, Write};

use format::ids::PageNo;
use format::page::header::{self, PageType};
use format::page::space::{self, Flags};
use format::page::{blob, get_u64, index, undo};

use super::plural;
use super::summary::totals;
use super::tablespace::{Storage, Tablespace, Visited};

/// Lists them.
pub(super) fn list(tablespace: &mut Tablespace, out: &mut impl Write) -> io::Result<u64> {
    writeln!(
        out,
        "{:>8}  {:<12} {:<10} {:>6} {:>6}  {:<11} content",
        "page", "type", "stored as", "stored", "disk", "checksum"
    )?;
    let damaged = tablespace.walk(|tablespace, visited| {
        let plain = visited.plain;
        writeln!(
            out,
            "{:>8}  {:<12} {:<10} {:>6} {:>6}  {:<11} {}",
            visited.number,
            header::page_type(&plain.bytes),
            plain.stored_as(),
            plain.stored_bytes,
            visited.occupied_bytes,
            if plain.storage == Storage::NeverWritten { "-" } else { plain.state.name() },
            in_words(tablespace, visited),
        )
    })?;
    writeln!(out)?;
    totals(tablespace, out)?;
    Ok(damaged)
}

/// What the page is, in a few words.
pub(super) fn in_words(tablespace: &Tablespace, visited: &Visited<'_>) -> String {
    let plain = visited.plain;
    match (plain.storage, visited.free) {
        (Storage::NeverWritten, Some(true)) => "free".into(),
        (Storage::NeverWritten, _) => "never written".into(),
        _ if tablespace.is_doublewrite(visited.number) => {
            format!("doublewrite copy of {}", header::page_id(&plain.bytes))
        }
        _ if tablespace.is_misplaced(visited.number, plain) => format!("IS PAGE {}", header::page_id(&plain.bytes)),
        (_, Some(true)) => format!("free; was {}", content(&plain.bytes, tablespace.flags)),
        _ => content(&plain.bytes, tablespace.flags),
    }
}

/// What a page holds, in a few words.
pub(super) fn content(page: &[u8], flags: Flags) -> String {
    match header::page_type(page) {
        PageType::FSP_HDR => {
            format!("{} pages, {} initialised, flags {:#x}", space::size(page), space::free_limit(page), flags.0)
        }
        PageType::INDEX | PageType::SDI | PageType::RTREE if flags.is_row_compressed() => {
            format!(
                "index {}, level {}, {} records",
                index::index_id(page),
                index::level(page),
                index::record_count(page)
            )
        }
        PageType::INDEX | PageType::SDI | PageType::RTREE => format!(
            "index {}, level {}, {} record{}, {:.0}% full{}",
            index::index_id(page),
            index::level(page),
            index::record_count(page),
            plural(index::record_count(page) as u64),
            fill(page) * 100.0,
            if is_root(page) { ", root" } else { "" },
        ),
        PageType::INODE => {
            let used = segments(page).count();
            format!("{used} segment{}", plural(used as u64))
        }
        PageType::BLOB => match blob::part(page) {
            Ok((part, PageNo::NULL)) => format!("{} bytes, last part", part.len()),
            Ok((part, next)) => format!("{} bytes, next part on page {next}", part.len()),
            Err(error) => error.to_string(),
        },
        PageType::UNDO_LOG => format!("{} bytes used", usize::from(undo::free(page)).saturating_sub(undo::BODY)),
        _ => String::new(),
    }
}

pub(super) fn is_root(page: &[u8]) -> bool {
    get_u64(page, index::TOP_SEGMENT) != 0
}

/// The part of an index page that its records take, of what an empty page could hold.
pub(super) fn fill(page: &[u8]) -> f64 {
    index::data_bytes(page) as f64 / index::empty_capacity(page.len()) as f64
}

/// The segments of an inode page: slot, id and where the inode begins.
pub(super) fn segments(page: &[u8]) -> impl Iterator<Item = (usize, u64, usize)> {
    (0..space::inodes_per_page(page.len())).filter_map(|slot| {
        let inode = space::inode_offset(page.len(), slot);
        match get_u64(page, inode + space::INODE_SEGMENT_ID) {
            0 => None,
            id => Some((slot, id, inode)),
        }
    })
}
