//! The bytes of a log of changes: blocks in memory until they are full, and then in an encrypted file.
//!
//! A log that becomes too long, or that cannot be written, fails; those who append do not, and go on. Whoever reads the
//! log finds that out.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::io::Disk;
use crate::scratch::ScratchFile;
use crate::sync::{Mutex, Rank};

/// Bytes of the log in memory, unless it may not have many times as many.
const BLOCK_BYTES: u64 = 256 << 10;
/// Blocks of a log that is full, at least.
const BLOCKS_MIN: u64 = 8;

/// Bytes that some append and one takes.
pub(super) struct LogBlocks {
    disk: Arc<dyn Disk>,
    path: String,
    bytes_max: u64,
    state: Mutex<State>,
}

struct State {
    /// The newest changes.
    block: Vec<u8>,
    /// Older ones.
    file: Option<ScratchFile>,
    /// Places and lengths of blocks in the file that were not read.
    blocks: VecDeque<(u64, usize)>,
    end: u64,
    failed: Option<Error>,
}

impl LogBlocks {
    /// An empty log. `path` is the name of the file that may be needed.
    pub(super) fn new(disk: Arc<dyn Disk>, path: String, bytes_max: u64) -> LogBlocks {
        let state = State { block: Vec::new(), file: None, blocks: VecDeque::new(), end: 0, failed: None };
        LogBlocks { disk, path, bytes_max, state: Mutex::new(Rank::ChangeLog, state) }
    }

    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Appends changes; `index` is what is said to need too many.
    pub(super) fn append(&self, changes: &[u8], index: &str) {
        let mut state = self.state.lock();
        if state.failed.is_some() {
            return;
        }
        state.block.extend_from_slice(changes);
        if state.end + state.block.len() as u64 > self.bytes_max {
            return state.fail(Error::RowLogFull { index: index.into() });
        }
        if state.block.len() as u64 >= BLOCK_BYTES.min(self.bytes_max / BLOCKS_MIN)
            && let Err(error) = state.write(self)
        {
            state.fail(error);
        }
    }

    /// From here on the log is not whole.
    pub(super) fn fail(&self, error: Error) {
        self.state.lock().fail(error);
    }

    /// An error if the log is not whole.
    pub(super) fn check(&self) -> Result<()> {
        self.state.lock().failed.clone().map_or(Ok(()), Err)
    }

    /// Bytes that were not taken yet.
    pub(super) fn unread(&self) -> u64 {
        let state = self.state.lock();
        state.blocks.iter().map(|(_, bytes)| *bytes as u64).sum::<u64>() + state.block.len() as u64
    }

    /// Takes the oldest changes out of the log. False = there are none.
    pub(super) fn take(&self, out: &mut Vec<u8>) -> Result<bool> {
        let mut state = self.state.lock();
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        let state = &mut *state;
        out.clear();
        if let (Some(file), Some((place, bytes))) = (&mut state.file, state.blocks.pop_front()) {
            out.resize(bytes, 0);
            file.read(place, out)?;
            if state.blocks.is_empty() {
                file.restart()?;
                state.end = 0;
            }
            return Ok(true);
        }
        std::mem::swap(out, &mut state.block);
        Ok(!out.is_empty())
    }
}

impl State {
    fn fail(&mut self, error: Error) {
        self.failed.get_or_insert(error);
        self.block = Vec::new();
        self.blocks.clear();
        self.file = None;
    }

    fn write(&mut self, log: &LogBlocks) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(ScratchFile::create(&log.disk, log.path.clone())?),
        };
        file.write(self.end, &mut self.block)?;
        self.blocks.push_back((self.end, self.block.len()));
        self.end += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }
}
