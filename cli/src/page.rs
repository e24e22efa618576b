//! `glassine page`: what is in a tablespace file, page by page, and how much of the disk each page takes.
//!
//! Reads files of this server, of MySQL 5.7 and 8.0, and of MariaDB; needs no server and no dictionary, and never
//! writes. A page whose checksum is wrong is shown as far as it goes and makes the command fail at the end.
//!
//! ```text
//! glassine page t.ibd              one line per page
//! glassine page t.ibd --summary    one line per kind of page
//! glassine page t.ibd --page 3     all of one page
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::process::ExitCode;

use comfy_table::{CellAlignment, Table, presets};
use format::checksum;
use format::ids::PageNo;
use format::page::header::{self, BODY, PageType};
use format::page::space::{self, Address, Base, Flags, SegmentHeader};
use format::page::{self, blob, get_u16, get_u32, get_u64, index, undo};
use format::record;
use format::transform::{self, Algorithm, Envelope, Scratch, mariadb};
use rustix::fs::SeekFrom;

/// Shows the pages of a tablespace file.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The file, such as data/shop/orders.ibd
    pub file: PathBuf,
    /// Show this page in full
    #[arg(long, short, value_name = "N")]
    pub page: Option<u32>,
    /// Show counts and sizes by kind of page
    #[arg(long, short, conflicts_with = "page")]
    pub summary: bool,
    /// Take this as the page size rather than what page 0 says
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<usize>,
}

/// Runs the command. Fails if the file cannot be read or a page of it is damaged.
pub fn run(args: &Args) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let done = show(args, &mut out).and_then(|damaged| out.flush().map(|()| damaged));
    match done {
        Ok(0) => ExitCode::SUCCESS,
        Ok(damaged) => {
            eprintln!("glassine page: {}: {damaged} damaged page{}", args.file.display(), plural(damaged));
            ExitCode::FAILURE
        }
        // The reader of a pipe had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("glassine page: {}: {error}", args.file.display());
            ExitCode::FAILURE
        }
    }
}

/// Answers how many pages are damaged.
fn show(args: &Args, out: &mut impl Write) -> io::Result<u64> {
    let mut tablespace = Tablespace::open(args)?;
    match args.page {
        Some(number) => one(&mut tablespace, number, out),
        None if args.summary => summary(&mut tablespace, out),
        None => list(&mut tablespace, out),
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// An open file and what its first page says about it.
struct Tablespace {
    file: File,
    flags: Flags,
    /// Bytes from page to page in the file.
    page_bytes: usize,
    file_bytes: u64,
    /// Bytes that the file takes on disk.
    disk_bytes: u64,
    /// Where the file has data; sorted. All else are holes.
    data: Vec<(u64, u64)>,
    scratch: Scratch,
    /// The descriptor page read last, by number.
    descriptors: Option<(u32, Vec<u8>)>,
    /// Pages that hold copies of others: the doublewrite area that MySQL 5.7 and MariaDB have in the system tablespace.
    doublewrite: Vec<Range<u32>>,
}

/// Where the doublewrite area is described on the transaction system page, counted from the page's end.
const DOUBLEWRITE_FROM_END: usize = 200;
const DOUBLEWRITE_MAGIC: u32 = 536_853_855;

impl Tablespace {
    fn open(args: &Args) -> io::Result<Tablespace> {
        let file = File::open(&args.file)?;
        let metadata = file.metadata()?;
        let mut first = [0; page::SIZES[0]];
        let read = read_at(&file, &mut first, 0)?;
        if read < 64 {
            return Err(io::Error::other("too short for a tablespace"));
        }
        let flags = space::flags(&first);
        let known = header::page_type(&first) == PageType::FSP_HDR;
        let page_bytes = match (args.page_size, flags.physical_page_bytes()) {
            (Some(bytes), _) => bytes,
            (None, Some(bytes)) if known => bytes,
            _ => return Err(io::Error::other("page 0 is not that of a tablespace; --page-size reads it anyway")),
        };
        if !page_bytes.is_power_of_two() || !(1024..=65536).contains(&page_bytes) {
            return Err(io::Error::other(format!("{page_bytes} is no page size")));
        }
        let mut tablespace = Tablespace {
            data: data_ranges(&file, metadata.len()),
            file,
            flags: if known { flags } else { Flags::dynamic(page_bytes) },
            page_bytes,
            file_bytes: metadata.len(),
            disk_bytes: metadata.blocks() * 512,
            scratch: Scratch::new(),
            descriptors: None,
            doublewrite: Vec::new(),
        };
        if known && header::space_id(&first).0 == 0 {
            tablespace.find_doublewrite()?;
        }
        Ok(tablespace)
    }

    fn find_doublewrite(&mut self) -> io::Result<()> {
        let mut system = Vec::new();
        self.read(undo::TRX_SYS_PAGE, &mut system)?;
        let at = system.len() - DOUBLEWRITE_FROM_END;
        if header::page_type(&system) == PageType::TRX_SYS && get_u32(&system, at + 10) == DOUBLEWRITE_MAGIC {
            for block in [get_u32(&system, at + 14), get_u32(&system, at + 18)] {
                self.doublewrite.push(block..block.saturating_add(space::extent_pages(self.page_bytes) as u32));
            }
        }
        Ok(())
    }

    fn is_doublewrite(&self, number: u32) -> bool {
        self.doublewrite.iter().any(|block| block.contains(&number))
    }

    /// Whether a page is not what was written. Copies in the doublewrite area may have the checksums of any tablespace.
    fn is_damaged(&self, number: u32, plain: &Plain) -> bool {
        (plain.state == State::Damaged && !self.is_doublewrite(number)) || self.is_misplaced(number, plain)
    }

    /// Whether a page that was written says that it is another.
    fn is_misplaced(&self, number: u32, plain: &Plain) -> bool {
        plain.storage != Storage::NeverWritten
            && header::page_no(&plain.bytes).0 != number
            && !self.is_doublewrite(number)
    }

    fn page_count(&self) -> u32 {
        self.file_bytes.div_ceil(self.page_bytes as u64) as u32
    }

    /// Reads a page as it is stored.
    fn read(&self, number: u32, stored: &mut Vec<u8>) -> io::Result<()> {
        stored.resize(self.page_bytes, 0);
        let read = read_at(&self.file, stored, u64::from(number) * self.page_bytes as u64)?;
        stored[read..].fill(0);
        Ok(())
    }

    /// Bytes of the page that are not in a hole.
    fn occupied(&self, number: u32) -> u64 {
        let start = u64::from(number) * self.page_bytes as u64;
        let end = (start + self.page_bytes as u64).min(self.file_bytes);
        let behind = self.data.partition_point(|&(_, data_end)| data_end <= start);
        self.data[behind..]
            .iter()
            .take_while(|&&(data_start, _)| data_start < end)
            .map(|&(data_start, data_end)| data_end.min(end) - data_start.max(start))
            .sum()
    }

    /// Whether the page is free, as the extent descriptors say; `None` if they say nothing.
    fn is_free(&mut self, number: u32) -> io::Result<Option<bool>> {
        if !page::SIZES.contains(&self.page_bytes) {
            return Ok(None); // Small pages of ROW_FORMAT=COMPRESSED have another geometry.
        }
        let holder = space::descriptor_page(self.page_bytes, PageNo(number)).0;
        if self.descriptors.as_ref().is_none_or(|(read, _)| *read != holder) {
            let mut stored = Vec::new();
            self.read(holder, &mut stored)?;
            let plain = self.decode(stored);
            self.descriptors = Some((holder, plain.bytes));
        }
        let Some((_, descriptors)) = &self.descriptors else { return Ok(None) };
        if !matches!(header::page_type(descriptors), PageType::FSP_HDR | PageType::XDES) {
            return Ok(None);
        }
        let descriptor = space::descriptor_offset(self.page_bytes, PageNo(number));
        if get_u32(descriptors, descriptor + space::EXTENT_STATE) == space::STATE_NONE {
            return Ok(None);
        }
        let within = number as usize % space::extent_pages(self.page_bytes);
        Ok(Some(space::is_page_free(descriptors, descriptor, within)))
    }

    /// Decodes a stored page, whatever way it is stored, and verifies its checksum.
    fn decode(&mut self, stored: Vec<u8>) -> Plain {
        let full = self.flags.is_full_crc32();
        if stored.iter().all(|&byte| byte == 0) {
            return Plain { stored_bytes: 0, bytes: stored, storage: Storage::NeverWritten, state: State::Good };
        }
        let mut plain = vec![0; self.page_bytes];
        if full && let Some(stored_bytes) = mariadb::full_crc32_bytes(&stored) {
            let algorithm = self.flags.full_crc32_algorithm();
            let storage = Storage::MariaDb(mariadb_algorithm(algorithm.into()));
            let sum_at = stored_bytes.saturating_sub(4);
            let sum = stored.get(sum_at..stored_bytes).filter(|sum| sum.len() == 4).map(|sum| get_u32(sum, 0));
            let state = match mariadb::decode_full_crc32(&stored, algorithm, &mut self.scratch, &mut plain) {
                _ if sum != Some(checksum::crc32c(&stored[..sum_at.min(stored.len())])) => State::Damaged,
                Ok(()) => State::Good,
                Err(format::Error::Unsupported { .. }) => State::NotDecoded,
                Err(_) => State::Damaged,
            };
            let bytes = if state == State::Good { plain } else { stored };
            return Plain { bytes, storage, stored_bytes, state };
        }
        if transform::is_encoded(&stored) {
            let stored_bytes = transform::encoded_bytes(&stored).unwrap_or_default();
            let algorithm =
                Envelope::read(&stored).ok().and_then(|envelope| Algorithm::from_number(envelope.algorithm));
            let storage = Storage::Encoded(algorithm.map_or("unknown", Algorithm::name));
            return match transform::decode(&stored, &mut self.scratch, &mut plain) {
                Ok(()) => Plain { state: verify(&plain, false), bytes: plain, storage, stored_bytes },
                Err(format::Error::Unsupported { .. }) => {
                    Plain { bytes: stored, storage, stored_bytes, state: State::NotDecoded }
                }
                Err(_) => Plain { bytes: stored, storage, stored_bytes, state: State::Damaged },
            };
        }
        if !full && mariadb::is_encoded(&stored) {
            let stored_bytes = mariadb::encoded_bytes(&stored);
            let storage = Storage::MariaDb(mariadb_algorithm(mariadb::algorithm(&stored)));
            return match mariadb::decode(&stored, &mut self.scratch, &mut plain) {
                Ok(()) => Plain { state: verify(&plain, false), bytes: plain, storage, stored_bytes },
                Err(format::Error::Unsupported { .. }) => {
                    Plain { bytes: stored, storage, stored_bytes, state: State::NotDecoded }
                }
                Err(_) => Plain { bytes: stored, storage, stored_bytes, state: State::Damaged },
            };
        }
        let encrypted = matches!(
            header::page_type(&stored),
            PageType::ENCRYPTED
                | PageType::COMPRESSED_AND_ENCRYPTED
                | PageType::ENCRYPTED_RTREE
                | PageType::MARIADB_COMPRESSED_AND_ENCRYPTED
        );
        let state = match () {
            () if encrypted => State::NotDecoded,
            () if self.flags.is_row_compressed() => verify_row_compressed(&stored),
            () => verify(&stored, full),
        };
        let storage = if encrypted { Storage::Encrypted } else { Storage::Plain };
        Plain { storage, stored_bytes: stored.len(), state, bytes: stored }
    }
}

/// The page as it was before it was compressed for the disk, as far as that is possible.
struct Plain {
    bytes: Vec<u8>,
    storage: Storage,
    /// Bytes the page needs in its file.
    stored_bytes: usize,
    state: State,
}

/// How a page is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Storage {
    NeverWritten,
    Plain,
    /// In MySQL's envelope, by the algorithm of this name.
    Encoded(&'static str),
    /// In one of MariaDB's envelopes.
    MariaDb(&'static str),
    Encrypted,
}

impl Storage {
    fn name(self) -> &'static str {
        match self {
            Storage::NeverWritten => "-",
            Storage::Plain => "plain",
            Storage::Encoded(algorithm) | Storage::MariaDb(algorithm) => algorithm,
            Storage::Encrypted => "encrypted",
        }
    }
}

/// Whether the page is what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// Read, but this program does not know how to decode it.
    NotDecoded,
    Damaged,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Good => "ok",
            State::NotDecoded => "not decoded",
            State::Damaged => "DAMAGED",
        }
    }
}

fn mariadb_algorithm(number: u64) -> &'static str {
    match number {
        1 => "mariadb zlib",
        2 => "mariadb lz4",
        3 => "mariadb lzo",
        4 => "mariadb lzma",
        5 => "mariadb bzip2",
        6 => "mariadb snappy",
        _ => "mariadb unknown",
    }
}

/// Verifies a plain page by any of the algorithms that servers of these formats use.
fn verify(page: &[u8], full_crc32: bool) -> State {
    let trailer = page.len() - header::TRAILER_BYTES;
    let good = if full_crc32 {
        get_u32(page, trailer + 4) == checksum::page_full_crc32(page)
    } else {
        let (first, second) = (header::checksum(page), get_u32(page, trailer));
        let same_lsn = get_u32(page, header::LSN + 4) == get_u32(page, trailer + 4);
        same_lsn
            && (header::verify_checksum(page).is_ok()
                || (first, second) == (checksum::NONE, checksum::NONE)
                || (first, second) == checksum::page_innodb(page))
    };
    if good { State::Good } else { State::Damaged }
}

/// Verifies a page of a ROW_FORMAT=COMPRESSED file.
fn verify_row_compressed(page: &[u8]) -> State {
    let sum = header::checksum(page);
    let good = sum == checksum::page_row_compressed(page) || sum == checksum::NONE;
    if good { State::Good } else { State::Damaged }
}

fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// The parts of a file that are no holes. Where the file system cannot tell, all of it.
fn data_ranges(file: &File, file_bytes: u64) -> Vec<(u64, u64)> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < file_bytes {
        let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => break, // A hole up to the end.
            Err(_) => return vec![(0, file_bytes)],
        };
        let end = rustix::fs::seek(file, SeekFrom::Hole(start)).unwrap_or(file_bytes);
        ranges.push((start, end));
        at = end.max(start + 1);
    }
    ranges
}

/// One line per page.
fn list(tablespace: &mut Tablespace, out: &mut impl Write) -> io::Result<u64> {
    writeln!(
        out,
        "{:>8}  {:<12} {:<10} {:>6} {:>6}  {:<11} content",
        "page", "type", "stored as", "stored", "disk", "checksum"
    )?;
    let mut damaged = 0;
    let mut stored = Vec::new();
    for number in 0..tablespace.page_count() {
        tablespace.read(number, &mut stored)?;
        let plain = tablespace.decode(std::mem::take(&mut stored));
        let free = tablespace.is_free(number)?;
        let misplaced = tablespace.is_misplaced(number, &plain);
        damaged += u64::from(tablespace.is_damaged(number, &plain));
        let content = match (&plain, free) {
            (Plain { storage: Storage::NeverWritten, .. }, Some(true)) => "free".into(),
            (Plain { storage: Storage::NeverWritten, .. }, _) => "never written".into(),
            (plain, _) if tablespace.is_doublewrite(number) => {
                format!("doublewrite copy of {}", header::page_id(&plain.bytes))
            }
            (_, _) if misplaced => format!("IS PAGE {}", header::page_no(&plain.bytes)),
            (plain, Some(true)) => format!("free; was {}", content(&plain.bytes, tablespace.flags)),
            (plain, _) => content(&plain.bytes, tablespace.flags),
        };
        writeln!(
            out,
            "{number:>8}  {:<12} {:<10} {:>6} {:>6}  {:<11} {content}",
            header::page_type(&plain.bytes),
            plain.storage.name(),
            plain.stored_bytes,
            tablespace.occupied(number),
            if plain.storage == Storage::NeverWritten { "-" } else { plain.state.name() },
        )?;
        stored = plain.bytes;
    }
    writeln!(out)?;
    totals(tablespace, out)?;
    Ok(damaged)
}

/// What a page holds, in a few words.
fn content(page: &[u8], flags: Flags) -> String {
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

fn is_root(page: &[u8]) -> bool {
    get_u64(page, index::TOP_SEGMENT) != 0
}

/// The part of an index page that its records take, of what an empty page could hold.
fn fill(page: &[u8]) -> f64 {
    index::data_bytes(page) as f64 / index::empty_capacity(page.len()) as f64
}

/// The segments of an inode page: slot, id and where the inode begins.
fn segments(page: &[u8]) -> impl Iterator<Item = (usize, u64, usize)> {
    (0..space::inodes_per_page(page.len())).filter_map(|slot| {
        let inode = space::inode_offset(page.len(), slot);
        match get_u64(page, inode + space::INODE_SEGMENT_ID) {
            0 => None,
            id => Some((slot, id, inode)),
        }
    })
}

/// What the pages of one kind have in common.
#[derive(Default)]
struct Kind {
    pages: u64,
    stored_bytes: u64,
    occupied_bytes: u64,
    damaged: u64,
}

/// One line per kind of page, and how it is stored.
fn summary(tablespace: &mut Tablespace, out: &mut impl Write) -> io::Result<u64> {
    let mut kinds: BTreeMap<(PageType, String, Storage), Kind> = BTreeMap::new();
    let mut stored = Vec::new();
    for number in 0..tablespace.page_count() {
        tablespace.read(number, &mut stored)?;
        let plain = tablespace.decode(std::mem::take(&mut stored));
        let free = tablespace.is_free(number)? == Some(true);
        let page_type = header::page_type(&plain.bytes);
        let name = match plain.storage {
            _ if free => "free".to_owned(),
            Storage::NeverWritten => "never written".to_owned(),
            _ if tablespace.is_doublewrite(number) => "doublewrite".to_owned(),
            _ if page_type.is_index() => {
                format!("{page_type} {} level {}", index::index_id(&plain.bytes), index::level(&plain.bytes))
            }
            _ => page_type.to_string(),
        };
        let kind = kinds
            .entry((if free || name == "doublewrite" { PageType::default() } else { page_type }, name, plain.storage))
            .or_default();
        kind.pages += 1;
        kind.stored_bytes += plain.stored_bytes as u64;
        kind.occupied_bytes += tablespace.occupied(number);
        kind.damaged += u64::from(tablespace.is_damaged(number, &plain));
        stored = plain.bytes;
    }

    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["pages", "count", "stored as", "logical", "stored", "on disk", "damaged"]);
    for ((_, name, storage), kind) in &kinds {
        table.add_row([
            name.clone(),
            kind.pages.to_string(),
            storage.name().to_owned(),
            (kind.pages * tablespace.page_bytes as u64).to_string(),
            kind.stored_bytes.to_string(),
            kind.occupied_bytes.to_string(),
            if kind.damaged == 0 { String::new() } else { kind.damaged.to_string() },
        ]);
    }
    for column in [1, 3, 4, 5, 6] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "{table}\n")?;
    totals(tablespace, out)?;
    Ok(kinds.values().map(|kind| kind.damaged).sum())
}

/// The file as a whole.
fn totals(tablespace: &Tablespace, out: &mut impl Write) -> io::Result<()> {
    let holes: u64 = tablespace.file_bytes - tablespace.data.iter().map(|&(start, end)| end - start).sum::<u64>();
    writeln!(
        out,
        "{} pages of {} bytes, {} bytes long, {} of them in holes; {} bytes on disk",
        tablespace.page_count(),
        tablespace.page_bytes,
        tablespace.file_bytes,
        holes,
        tablespace.disk_bytes,
    )
}

/// All of one page.
fn one(tablespace: &mut Tablespace, number: u32, out: &mut impl Write) -> io::Result<u64> {
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
    line("stored as", format!("{}, {} bytes; {occupied} on disk", plain.storage.name(), plain.stored_bytes))?;
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
        let marks = [
            (record::MIN_RECORD, "min "),
            (record::DELETED, "deleted "),
            (record::VERSIONED, "version "),
            (record::INSTANT, "instant "),
        ];
        let marks: String =
            marks.iter().filter(|(bit, _)| record::info(page, record) & bit != 0).map(|(_, name)| *name).collect();
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
