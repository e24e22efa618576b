//! All of one page.

use std::io::{self, Write};

use format::ids::PageNo;
use format::page::header::{self, BODY, PageType};
use format::page::space::{self, Address, Base, SegmentHeader};
use format::page::{get_u16, get_u32, get_u64, index, undo};
use format::record;

use super::list::{content, fill, is_root, segments};
use super::tablespace::{State, Storage, Tablespace};

/// Shows it.
pub(super) fn one(tablespace: &mut Tablespace, number: u32, out: &mut impl Write) -> io::Result<u64> {
    if number >= tablespace.page_count() {
        return Err(io::Error::other(format!("the file has {} pages", tablespace.page_count())));
    }
    let mut stored = Vec::new();
    tablespace.read(number, &mut stored)?;
    let free = tablespace.is_free(number)?;
    let occupied = tablespace.occupied(number);
    let plain = tablespace.decode(stored);
    let page = &plain.bytes[..];

    let mut line = |name: &str, value: String| writeln!(out, "{name:<22} {value}");
    line("page", number.to_string())?;
    line("in use", free.map_or("unknown", |free| if free { "no" } else { "yes" }).to_owned())?;
    line("stored as", format!("{}, {} bytes; {occupied} on disk", plain.stored_as(), plain.stored_bytes))?;
    if plain.storage == Storage::NeverWritten {
        return Ok(0);
    }
    line("checksum", format!("{:#010x}, {}", header::checksum(page), plain.state.name()))?;
    line("page number", header::page_no(page).to_string())?;
    line("previous, next", format!("{}, {}", page_or_none(header::prev(page)), page_or_none(header::next(page))))?;
    line("LSN", header::lsn(page).to_string())?;
    line("type", format!("{} ({})", header::page_type(page), header::page_type(page).0))?;
    line("space", header::space_id(page).to_string())?;
    if plain.state != State::NotDecoded && !tablespace.flags.is_row_compressed() {
        match header::page_type(page) {
            PageType::INDEX | PageType::SDI | PageType::RTREE => index_page(page, out)?,
            PageType::FSP_HDR => {
                space_header(page, out)?;
                extents(page, out)?;
            }
            PageType::XDES => extents(page, out)?,
            PageType::INODE => inodes(page, out)?,
            PageType::UNDO_LOG => undo_page(page, out)?,
            PageType::BLOB => writeln!(out, "{:<22} {}", "part", content(page, tablespace.flags))?,
            _ => {}
        }
    }
    Ok(u64::from(tablespace.is_damaged(number, &plain)))
}

fn page_or_none(page: PageNo) -> String {
    if page.is_null() { "none".to_owned() } else { page.to_string() }
}

fn index_page(page: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut line = |name: &str, value: String| writeln!(out, "{name:<22} {value}");
    line("index, level", format!("{}, {}", index::index_id(page), index::level(page)))?;
    line("records", index::record_count(page).to_string())?;
    line("heap", format!("{} records up to byte {}", index::heap_count(page), index::heap_top(page)))?;
    line("record bytes", format!("{}, {:.1}% of the page", index::data_bytes(page), fill(page) * 100.0))?;
    line("garbage bytes", index::garbage_bytes(page).to_string())?;
    line("directory slots", index::slot_count(page).to_string())?;
    line("newest transaction", index::max_trx_id(page).to_string())?;
    if is_root(page) {
        for (name, at) in [("leaf segment", index::LEAF_SEGMENT), ("top segment", index::TOP_SEGMENT)] {
            line(name, format!("inode at {}", address(SegmentHeader::read(page, at).inode)))?;
        }
    }
    let state = index::validate(page, None).map_or_else(|error| error.to_string(), |()| "ok".to_owned());
    line("structure", state)?;
    if !index::is_compact(page) {
        return Ok(()); // ROW_FORMAT=REDUNDANT has other record headers.
    }

    writeln!(out, "\n{:>6} {:>6} {:>5} {:>5}  {:<8} first bytes", "record", "origin", "heap", "owned", "marks")?;
    let mut origin = index::first(page);
    let mut rank = 0;
    while let Ok(at) = origin {
        if at == index::SUPREMUM || rank > index::heap_count(page) {
            break;
        }
        let record = usize::from(at);
        let marks = [(record::MIN_RECORD, "min "), (record::DELETED, "deleted "), (record::INSTANT, "instant ")];
        let mut marks: String =
            marks.iter().filter(|(bit, _)| record::info(page, record) & bit != 0).map(|(_, name)| *name).collect();
        if record::info(page, record) & record::VERSIONED != 0 {
            marks.push_str(&format!("version {}", record::row_version(page, record)));
        }
        let end = (record + 24).min(index::heap_top(page)).clamp(record, page.len());
        let bytes: String = page[record..end].iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(
            out,
            "{rank:>6} {at:>6} {:>5} {:>5}  {marks:<8} {bytes}",
            record::heap_no(page, record),
            record::owned(page, record),
        )?;
        rank += 1;
        origin = index::next(page, at);
    }
    Ok(())
}

fn address(address: Address) -> String {
    if address.is_null() { "none".to_owned() } else { format!("{}:{}", address.page, address.offset) }
}

fn list_base(base: Base) -> String {
    format!("{} from {} to {}", base.length, address(base.first), address(base.last))
}

fn space_header(page: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut line = |name: &str, value: String| writeln!(out, "{name:<22} {value}");
    line("flags", format!("{:#x}", space::flags(page).0))?;
    line("size in pages", space::size(page).to_string())?;
    line("free limit", space::free_limit(page).to_string())?;
    line("used fragment pages", get_u32(page, space::FRAGMENT_USED).to_string())?;
    line("next segment id", space::next_segment_id(page).to_string())?;
    for (name, at) in [
        ("free extents", space::FREE_LIST),
        ("shared extents", space::FREE_FRAGMENT_LIST),
        ("full shared extents", space::FULL_FRAGMENT_LIST),
        ("full inode pages", space::INODES_FULL_LIST),
        ("inode pages", space::INODES_FREE_LIST),
    ] {
        line(name, list_base(Base::read(page, at)))?;
    }
    Ok(())
}

/// The extents that a descriptor page describes, but for those that were never given out.
fn extents(page: &[u8], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{:>10} {:>6} {:<14} {:>8}", "first page", "used", "state", "segment")?;
    let pages = space::extent_pages(page.len());
    for extent in 0..space::descriptors_per_page(page.len()) {
        let first = PageNo(header::page_no(page).0.wrapping_add((extent * pages) as u32));
        let descriptor = space::DESCRIPTORS + extent * space::descriptor_bytes(page.len());
        let state = match get_u32(page, descriptor + space::EXTENT_STATE) {
            space::STATE_NONE => continue,
            space::STATE_FREE => "free".to_owned(),
            space::STATE_FREE_FRAGMENT => "shared".to_owned(),
            space::STATE_FULL_FRAGMENT => "shared, full".to_owned(),
            space::STATE_SEGMENT => "segment".to_owned(),
            other => format!("state {other}"),
        };
        let used = space::used_pages(page, descriptor, page.len());
        let segment = match get_u64(page, descriptor + space::EXTENT_SEGMENT) {
            0 => String::new(),
            id => id.to_string(),
        };
        writeln!(out, "{first:>10} {used:>6} {state:<14} {segment:>8}")?;
    }
    Ok(())
}

fn inodes(page: &[u8], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "\n{:>4} {:>8} {:>12} {:>6} {:>8} {:>6}",
        "slot", "segment", "single pages", "free", "not full", "full"
    )?;
    for (slot, id, inode) in segments(page) {
        let singles = (0..space::inode_fragments(page.len()))
            .filter(|single| !PageNo(get_u32(page, inode + space::INODE_FRAGMENTS + 4 * single)).is_null())
            .count();
        let extents = |list: usize| Base::read(page, inode + list).length;
        writeln!(
            out,
            "{slot:>4} {id:>8} {singles:>12} {:>6} {:>8} {:>6}",
            extents(space::INODE_FREE_LIST),
            extents(space::INODE_NOT_FULL_LIST),
            extents(space::INODE_FULL_LIST),
        )?;
    }
    Ok(())
}

fn undo_page(page: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut line = |name: &str, value: String| writeln!(out, "{name:<22} {value}");
    let kind = match get_u16(page, undo::KIND) {
        undo::KIND_INSERT => "insert".to_owned(),
        undo::KIND_UPDATE => "update".to_owned(),
        other => other.to_string(),
    };
    line("undo kind", kind)?;
    line("records start", get_u16(page, undo::START).to_string())?;
    line("free from", undo::free(page).to_string())?;
    let mut start = get_u16(page, undo::START);
    let mut records = 0;
    while start >= BODY as u16 && start < undo::free(page) {
        match undo::next_record(page, start, undo::free(page)) {
            Ok(Some(next)) if next > start => start = next,
            Ok(_) => start = undo::free(page),
            Err(error) => {
                line("records", error.to_string())?;
                break;
            }
        }
        records += 1;
    }
    line("records in newest log", records.to_string())
}
