//! A file of pages as it lies on disk: reading, decoding and judging a page, and asking for holes.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use format::checksum;
use format::ids::{PageId, PageNo, SpaceId};
use format::page::header::{self, PageType};
use format::page::space::{self, Flags};
use format::page::{self, get_u32, get_u64, undo};
use format::transform::encryption::{self, KeyInfo, PageKey};
use format::transform::{self, Algorithm, Envelope, Scratch, mariadb};
use rustix::fs::SeekFrom;
use storage::tablespace::encryption::find_key;

use super::Args;

/// An open file and what its first page says about it.
pub(crate) struct Tablespace {
    /// Of an encrypted file, if its key ring was given.
    key: Option<PageKey>,
    /// Page 0 has the wrapped key of the file: its pages may be encrypted.
    says_key: bool,
    file: File,
    /// What page 0 says, and every other page must say, too.
    space: SpaceId,
    pub(super) flags: Flags,
    /// Bytes from page to page in the file.
    pub(crate) page_bytes: usize,
    /// What the filesystem allocates at once.
    pub(super) block_bytes: usize,
    pub(super) file_bytes: u64,
    /// Bytes that the file takes on disk.
    pub(super) disk_bytes: u64,
    /// Where the file has data; sorted. All else are holes.
    pub(super) data: Vec<(u64, u64)>,
    scratch: Scratch,
    /// The descriptor page read last, by number.
    descriptors: Option<(u32, Vec<u8>)>,
    /// Pages that hold copies of others: the doublewrite area that MySQL 5.7 and MariaDB have in the system tablespace.
    doublewrite: Vec<Range<u32>>,
}

/// How what page 0 says of the key begins, in all of MySQL's versions.
const KEY_MAGIC: &[u8] = b"lC";

/// Where the doublewrite area is described on the transaction system page, counted from the page's end.
const DOUBLEWRITE_FROM_END: usize = 200;
const DOUBLEWRITE_MAGIC: u32 = 536_853_855;

impl Tablespace {
    pub(crate) fn open(args: &Args) -> io::Result<Tablespace> {
        let file = File::open(&args.file)?;
        let metadata = file.metadata()?;
        // As long as a page may be: what page 0 says of a key lies behind its extent descriptors.
        let mut first = vec![0; page::SIZES[page::SIZES.len() - 1]];
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
        let block_bytes = match args.block_size {
            Some(bytes) => bytes,
            None => rustix::fs::fstatfs(&file)?.f_bsize as usize,
        };
        if !block_bytes.is_power_of_two() {
            return Err(io::Error::other(format!("{block_bytes} is no block size")));
        }
        let mut tablespace = Tablespace {
            key: args.keyring.as_deref().map(|ring| page_key(ring, &first[..page_bytes])).transpose()?.flatten(),
            says_key: page::SIZES.contains(&page_bytes)
                && first.get(KeyInfo::offset(page_bytes)..).is_some_and(|info| info.starts_with(KEY_MAGIC)),
            space: SpaceId(0),
            data: data_ranges(&file, metadata.len()),
            file,
            flags: if known { flags } else { Flags::dynamic(page_bytes) },
            page_bytes,
            block_bytes,
            file_bytes: metadata.len(),
            disk_bytes: metadata.blocks() * 512,
            scratch: Scratch::new(),
            descriptors: None,
            doublewrite: Vec::new(),
        };
        if known {
            tablespace.space = header::space_id(&first);
        } else {
            // Page 0 does not say which tablespace it is: the next page that was written does.
            tablespace.space = tablespace.space_of_pages()?;
        }
        if known && tablespace.space.0 == 0 {
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

    pub(super) fn is_doublewrite(&self, number: u32) -> bool {
        self.doublewrite.iter().any(|block| block.contains(&number))
    }

    /// Whether a page is not what was written. Copies in the doublewrite area may have the checksums of any tablespace.
    pub(crate) fn is_damaged(&self, number: u32, plain: &Plain) -> bool {
        (plain.state == State::Damaged && !self.is_doublewrite(number)) || self.is_misplaced(number, plain)
    }

    /// Whether a page that was written says that it is another.
    pub(super) fn is_misplaced(&self, number: u32, plain: &Plain) -> bool {
        plain.storage != Storage::NeverWritten
            && header::page_id(&plain.bytes) != PageId::new(self.space, PageNo(number))
            && !self.is_doublewrite(number)
    }

    fn space_of_pages(&self) -> io::Result<SpaceId> {
        let mut stored = Vec::new();
        for number in 1..self.page_count() {
            self.read(number, &mut stored)?;
            if !header::is_zero(&stored) {
                return Ok(header::space_id(&stored));
            }
        }
        Ok(SpaceId(0))
    }

    /// Looks at every page in order. Answers how many are damaged.
    pub(super) fn walk(
        &mut self,
        mut visit: impl FnMut(&Tablespace, &Visited<'_>) -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut all_damaged = 0;
        let mut stored = Vec::new();
        for number in 0..self.page_count() {
            self.read(number, &mut stored)?;
            let plain = self.decode(std::mem::take(&mut stored));
            let free = self.is_free(number)?;
            let damaged = self.is_damaged(number, &plain);
            all_damaged += u64::from(damaged);
            visit(self, &Visited { number, plain: &plain, free, damaged, occupied_bytes: self.occupied(number) })?;
            stored = plain.bytes;
        }
        Ok(all_damaged)
    }

    pub(crate) fn page_count(&self) -> u32 {
        self.file_bytes.div_ceil(self.page_bytes as u64) as u32
    }

    /// Bytes of the file that are in holes, as SEEK_HOLE finds them.
    pub(super) fn hole_bytes(&self) -> u64 {
        self.file_bytes - self.data.iter().map(|&(start, end)| end - start).sum::<u64>()
    }

    /// Reads a page as it is stored.
    pub(crate) fn read(&self, number: u32, stored: &mut Vec<u8>) -> io::Result<()> {
        stored.resize(self.page_bytes, 0);
        let read = read_at(&self.file, stored, u64::from(number) * self.page_bytes as u64)?;
        stored[read..].fill(0);
        Ok(())
    }

    /// Bytes of the page that are not in a hole.
    pub(crate) fn occupied(&self, number: u32) -> u64 {
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
    pub(super) fn is_free(&mut self, number: u32) -> io::Result<Option<bool>> {
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
    pub(crate) fn decode(&mut self, stored: Vec<u8>) -> Plain {
        let full = self.flags.is_full_crc32();
        if stored.iter().all(|&byte| byte == 0) {
            return Plain {
                stored_bytes: 0,
                bytes: stored,
                storage: Storage::NeverWritten,
                state: State::Good,
                encrypted: false,
            };
        }
        let mut plain = vec![0; self.page_bytes];
        if full && let Some(stored_bytes) = mariadb::full_crc32_bytes(&stored) {
            let algorithm = self.flags.full_crc32_algorithm();
            let storage = Storage::MariaDb(mariadb_algorithm(algorithm.into()));
            let state = match mariadb::decode_full_crc32(&stored, algorithm, &mut self.scratch, &mut plain) {
                Ok(()) => State::Good,
                Err(format::Error::Unsupported { .. }) => State::NotDecoded,
                Err(_) => State::Damaged,
            };
            let bytes = if state == State::Good { plain } else { stored };
            return Plain { bytes, storage, stored_bytes, state, encrypted: false };
        }
        if self.key.is_some() && encryption::is_encrypted(&stored) {
            return self.decrypt(stored);
        }
        if transform::is_encoded(&stored) {
            let stored_bytes = transform::encoded_bytes(&stored).unwrap_or_default();
            let algorithm =
                Envelope::read(&stored).ok().and_then(|envelope| Algorithm::from_number(envelope.algorithm));
            let storage = Storage::Encoded(algorithm.map_or("unknown", Algorithm::name));
            // No server writes a version or a codec that is not known here: it is one of these bytes that is damaged.
            return match transform::decode(&stored, &mut self.scratch, &mut plain) {
                Ok(()) => Plain { state: verify(&plain, false), bytes: plain, storage, stored_bytes, encrypted: false },
                Err(_) => Plain { bytes: stored, storage, stored_bytes, state: State::Damaged, encrypted: false },
            };
        }
        if !full && mariadb::is_encoded(&stored) {
            let stored_bytes = mariadb::encoded_bytes(&stored);
            let storage = Storage::MariaDb(mariadb_algorithm(mariadb::algorithm(&stored)));
            return match mariadb::decode(&stored, &mut self.scratch, &mut plain) {
                Ok(()) => Plain { state: verify(&plain, false), bytes: plain, storage, stored_bytes, encrypted: false },
                Err(format::Error::Unsupported { .. }) => {
                    Plain { bytes: stored, storage, stored_bytes, state: State::NotDecoded, encrypted: false }
                }
                Err(_) => Plain { bytes: stored, storage, stored_bytes, state: State::Damaged, encrypted: false },
            };
        }
        let by_mariadb = header::page_type(&stored) == PageType::MARIADB_COMPRESSED_AND_ENCRYPTED;
        let encrypted = encryption::is_encrypted(&stored) || by_mariadb;
        let state = match () {
            () if encrypted && !by_mariadb && !self.says_key => State::Damaged,
            // The key is not in the file.
            () if encrypted => State::NotDecoded,
            () if self.flags.is_row_compressed() => verify_row_compressed(&stored),
            // The checksum leaves these bytes out. InnoDB keeps an LSN there in page 0 of the system tablespace.
            () if !full && !may_use_header(&stored) && get_u64(&stored, header::TRANSFORM) != 0 => State::Damaged,
            () => verify(&stored, full),
        };
        // The header stays readable, and says what was encrypted.
        let storage = match transform::stored_algorithm(&stored) {
            Some(number) => Storage::Encoded(Algorithm::from_number(number).map_or("unknown", Algorithm::name)),
            None if by_mariadb => Storage::Encrypted,
            None => Storage::Plain,
        };
        Plain { storage, stored_bytes: transform::stored_bytes(&stored), state, bytes: stored, encrypted }
    }

    /// An encrypted page of which the key is known: all of it can be looked at.
    fn decrypt(&mut self, mut stored: Vec<u8>) -> Plain {
        let stored_bytes = transform::stored_bytes(&stored);
        // Without the key meanwhile: what cannot be decrypted is looked at as it is.
        let key = self.key.take();
        let decrypted = key.as_ref().map(|key| encryption::decrypt(&mut stored, key));
        let plain = self.decode(stored);
        self.key = key;
        // The checksum leaves these bytes out.
        let judged = decrypted == Some(Ok(())) && get_u64(&plain.bytes, header::TRANSFORM) == 0;
        let state = if judged { plain.state } else { State::Damaged };
        Plain { stored_bytes, state, encrypted: true, ..plain }
    }
}

/// Whether a plain page may have a meaning for the bytes that a compressed one uses for its envelope.
fn may_use_header(page: &[u8]) -> bool {
    header::page_type(page) == PageType::RTREE || header::page_id(page) == PageId::new(SpaceId(0), PageNo(0))
}

/// The key of the file with this page 0; `None` if it is not encrypted.
fn page_key(ring: &Path, first: &[u8]) -> io::Result<Option<PageKey>> {
    let Some(info) = KeyInfo::read(first) else { return Ok(None) };
    let text = fs::read(ring)?;
    find_key(&text, &info).map(Some).map_err(|cause| io::Error::other(format!("{}: {cause}", ring.display())))
}

/// A page on the way through a file.
pub(super) struct Visited<'a> {
    pub(super) number: u32,
    pub(super) plain: &'a Plain,
    /// As the extent descriptors say; `None` if they say nothing.
    pub(super) free: Option<bool>,
    pub(super) damaged: bool,
    /// Bytes of it that are not in a hole.
    pub(super) occupied_bytes: u64,
}

/// The page as it was before it was compressed for the disk, as far as that is possible.
pub(crate) struct Plain {
    pub(super) bytes: Vec<u8>,
    pub(crate) storage: Storage,
    /// Bytes the page needs in its file.
    pub(crate) stored_bytes: usize,
    pub(super) state: State,
    /// Encrypted, beside the way of storing it.
    pub(super) encrypted: bool,
}

impl Plain {
    /// How it is stored, for a column of a table.
    pub(super) fn stored_as(&self) -> String {
        let key = if self.encrypted && self.storage != Storage::Encrypted { "+key" } else { "" };
        format!("{}{key}", self.storage.name())
    }
}

/// How a page is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Storage {
    NeverWritten,
    Plain,
    /// In MySQL's envelope, by the algorithm of this name.
    Encoded(&'static str),
    /// In one of MariaDB's envelopes.
    MariaDb(&'static str),
    Encrypted,
}

impl Storage {
    /// For programs.
    pub(super) fn key(self) -> &'static str {
        match self {
            Storage::NeverWritten => "unwritten",
            other => other.name(),
        }
    }

    pub(super) fn name(self) -> &'static str {
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
pub(super) enum State {
    Good,
    /// Read, but this program does not know how to decode it.
    NotDecoded,
    Damaged,
}

impl State {
    pub(super) fn name(self) -> &'static str {
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
    if header::verify_any_checksum(page, full_crc32).is_ok() { State::Good } else { State::Damaged }
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
pub(crate) fn data_ranges(file: &File, file_bytes: u64) -> Vec<(u64, u64)> {
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
