//! The first pass over the log after a crash: where it ends, and what happened to files.
//!
//! Pages are not touched yet. Files come first because a page record names a tablespace by its number only: the log
//! tells which tablespaces were created (their file may be missing), renamed (their file may have the old name) and
//! deleted (their records are to be skipped, and their file may still be there).

use format::ids::{Lsn, SpaceId};
use format::page::space as layout;
use format::redo::{PageOp, Record};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::buffer::PendingRedo;
use crate::error::{Error, Result};
use crate::redo::{Checkpoint, Group, LogFile, Reader};
use crate::tablespace::Transform;
use crate::tablespace::encryption::KeyInfo;

/// What the log says about its extent and about files.
#[derive(Default)]
pub struct Scan {
    /// Behind the last whole group.
    pub end: Lsn,
    /// The newest epoch of all groups.
    pub epoch: u32,
    pub groups: u64,
    pub files: FxHashMap<SpaceId, FileHistory>,
    pub deleted: FxHashSet<SpaceId>,
    /// Tablespaces with page records, deleted ones included.
    pub touched: FxHashSet<SpaceId>,
    /// The largest size of each tablespace that has grown.
    pub sizes: FxHashMap<SpaceId, u32>,
    /// The group of the first annex, which upper layers put into the log.
    pub first_annex: Option<Lsn>,
    /// All page records, unless they are too many to be kept.
    pub redo: Option<PendingRedo>,
}

/// What happened to a tablespace's file, as far as the log goes back.
#[derive(Debug, Default)]
pub struct FileHistory {
    /// All names it had; the last one is the one it should have now.
    pub names: Vec<String>,
    /// It came into being in this log.
    pub created: Option<Transform>,
    /// The key it was made with, if it is encrypted.
    pub key: Option<KeyInfo>,
}

/// Bytes of log that one thread hands to the other at once.
const PIECE_BYTES: usize = 1 << 20;

/// Pieces that may wait for the decoding thread.
const PIECES_AHEAD: usize = 4;

/// Groups that have been read, and whose checksums are right.
struct Piece {
    bytes: Vec<u8>,
    /// First LSN, LSN behind, and where the records begin in the bytes.
    groups: Vec<(Lsn, Lsn, usize)>,
    /// The newest epoch so far.
    epoch: u32,
}

fn read_piece(reader: &mut Reader<'_>) -> Result<Option<Piece>> {
    let mut piece = Piece { bytes: Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 8), groups: Vec::new(), epoch: 0 };
    while piece.bytes.len() < PIECE_BYTES {
        let Some(group) = reader.next_group()? else { break };
        piece.groups.push((group.start, group.end, piece.bytes.len()));
        piece.bytes.extend_from_slice(group.records);
    }
    piece.epoch = reader.epoch();
    Ok((!piece.groups.is_empty()).then_some(piece))
}

/// Reads the log from a checkpoint to its end. Page records are kept if they take no more than `kept_bytes_max`.
/// `threads`: one thread reads and verifies, another decodes. `first`: redo from before the log.
pub fn scan(
    file: &LogFile,
    checkpoint: &Checkpoint,
    first: PendingRedo,
    kept_bytes_max: usize,
    threads: bool,
) -> Result<Scan> {
    let mut scan = Scan { end: checkpoint.lsn, epoch: checkpoint.epoch, redo: Some(first), ..Scan::default() };
    let mut reader = Reader::new(file, checkpoint.lsn, checkpoint.epoch);
    if threads {
        std::thread::scope(|scope| {
            let (sender, pieces) = std::sync::mpsc::sync_channel(PIECES_AHEAD);
            scope.spawn(move || {
                // Ends with the log, or when the decoding thread takes no more pieces.
                while let Some(piece) = read_piece(&mut reader).transpose()
                    && sender.send(piece).is_ok()
                {}
            });
            pieces.into_iter().try_for_each(|piece| scan.take_apart(&piece?, kept_bytes_max))
        })?;
    } else {
        while let Some(piece) = read_piece(&mut reader)? {
            scan.take_apart(&piece, kept_bytes_max)?;
        }
    }
    if let Some(redo) = &mut scan.redo {
        redo.finish(false);
    }
    Ok(scan)
}

/// Visits a group's records, each with the number of bytes from its first one to the end of the group.
pub fn for_each_record(group: &Group<'_>, mut visit: impl FnMut(&Record<'_>, usize)) -> Result<()> {
    let mut records = group.records;
    let mut previous = None;
    while !records.is_empty() {
        let behind = records.len();
        // The group's checksum is right, so this is our own bug, or a log of another version.
        let record = Record::decode(&mut records, &mut previous)
            .map_err(|cause| Error::corrupt(format!("the redo log at {}: {cause}", group.start)))?;
        visit(&record, behind);
    }
    Ok(())
}

impl Scan {
    fn take_apart(&mut self, piece: &Piece, kept_bytes_max: usize) -> Result<()> {
        for (number, &(start, end, offset)) in piece.groups.iter().enumerate() {
            let behind = piece.groups.get(number + 1).map_or(piece.bytes.len(), |next| next.2);
            let group = Group { start, end, records: &piece.bytes[offset..behind] };
            self.groups += 1;
            self.end = end;
            if self.redo.as_ref().is_some_and(|redo| redo.bytes() + group.records.len() > kept_bytes_max) {
                self.redo = None;
            }
            if let Some(redo) = &mut self.redo {
                redo.begin_group(start, end, group.records);
            }
            for_each_record(&group, |record, behind| {
                if let (Some(redo), Record::Page { page, .. }) = (&mut self.redo, record) {
                    redo.add(*page, behind);
                }
                self.note(record, start);
            })?;
        }
        self.epoch = piece.epoch;
        Ok(())
    }

    fn note(&mut self, record: &Record<'_>, start: Lsn) {
        match *record {
            Record::Page { page, ref op } => {
                self.touched.insert(page.space);
                if let PageOp::Write { offset, bytes } = *op
                    && page.page == layout::HEADER_PAGE
                    && usize::from(offset) == layout::SIZE
                    && let Ok(size) = bytes.try_into().map(u32::from_be_bytes)
                {
                    let largest = self.sizes.entry(page.space).or_default();
                    *largest = size.max(*largest);
                }
            }
            Record::FileCreate { space, flags, name } => {
                let history = self.files.entry(space).or_default();
                history.created = Some(Transform::from_flags(flags));
                history.names.push(name.into());
            }
            Record::FileKey { space, info } => {
                self.files.entry(space).or_default().key = KeyInfo::from_bytes(info);
            }
            Record::FileRename { space, from, to } => {
                let history = self.files.entry(space).or_default();
                history.names.extend([from.into(), to.into()]);
            }
            Record::FileDelete { space, name } => {
                self.files.entry(space).or_default().names.push(name.into());
                self.deleted.insert(space);
            }
            Record::Annex { .. } => {
                self.first_annex.get_or_insert(start);
            }
        }
    }

    /// The name that a tablespace's file should have, if the log knows.
    pub fn final_name(&self, space: SpaceId) -> Option<&str> {
        self.files.get(&space)?.names.last().map(String::as_str)
    }
}
