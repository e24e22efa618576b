//! The content of a simulated file: blocks, holes, and what changes them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::random::Random;

/// A change of a file's content.
#[derive(Clone)]
pub enum Change {
    Write {
        offset: u64,
        bytes: Vec<u8>,
        /// All of it or nothing survives a crash.
        untorn: bool,
    },
    SetLen(u64),
    Allocate {
        offset: u64,
        bytes: u64,
    },
    Punch {
        offset: u64,
        bytes: u64,
    },
    /// A punch where holes free nothing.
    Zero {
        offset: u64,
        bytes: u64,
    },
}

/// A sparse file: blocks that are missing are holes.
#[derive(Clone, Default)]
pub struct Image {
    pub bytes: u64,
    /// `None` is a block that was reserved and never written: it reads as zero.
    blocks: BTreeMap<u64, Option<Box<[u8]>>>,
}

impl Image {
    fn block_range(offset: u64, bytes: u64, block_bytes: usize) -> Range<u64> {
        offset / block_bytes as u64..(offset + bytes).div_ceil(block_bytes as u64)
    }

    /// Blocks on the device.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// How many bytes of a range, from its start on, fit in `room` more blocks.
    pub fn fitting_bytes(&self, offset: u64, bytes: u64, room: u64, block_bytes: usize) -> u64 {
        let mut wanted = 0;
        for block in Image::block_range(offset, bytes, block_bytes) {
            if !self.blocks.contains_key(&block) {
                wanted += 1;
                if wanted > room {
                    return (block * block_bytes as u64).saturating_sub(offset);
                }
            }
        }
        bytes
    }

    pub fn apply(&mut self, change: &Change, block_bytes: usize) {
        match *change {
            Change::Write { offset, ref bytes, .. } => self.write(offset, bytes, block_bytes),
            Change::SetLen(bytes) => {
                drop(self.blocks.split_off(&bytes.div_ceil(block_bytes as u64)));
                let cut = (bytes % block_bytes as u64) as usize;
                if bytes < self.bytes
                    && cut > 0
                    && let Some(Some(block)) = self.blocks.get_mut(&(bytes / block_bytes as u64))
                {
                    block[cut..].fill(0);
                }
                self.bytes = bytes;
            }
            Change::Allocate { offset, bytes } => {
                for block in Image::block_range(offset, bytes, block_bytes) {
                    self.blocks.entry(block).or_insert(None);
                }
                self.bytes = self.bytes.max(offset + bytes);
            }
            Change::Punch { offset, bytes } => {
                let end = offset + bytes;
                let touched = self.blocks.range_mut(Image::block_range(offset, bytes, block_bytes));
                let mut freed = Vec::new();
                for (&block, content) in touched {
                    let start = block * block_bytes as u64;
                    if start >= offset && start + block_bytes as u64 <= end {
                        freed.push(block);
                    } else if let Some(content) = content {
                        let from = offset.saturating_sub(start) as usize;
                        let to = (end - start).min(block_bytes as u64) as usize;
                        content[from..to].fill(0);
                    }
                }
                for block in freed {
                    self.blocks.remove(&block);
                }
            }
            Change::Zero { offset, bytes } => self.zero(offset, bytes, block_bytes),
        }
    }

    fn zero(&mut self, offset: u64, bytes: u64, block_bytes: usize) {
        let end = offset + bytes;
        for (&block, content) in self.blocks.range_mut(Image::block_range(offset, bytes, block_bytes)) {
            let start = block * block_bytes as u64;
            if let Some(content) = content {
                let from = offset.saturating_sub(start) as usize;
                let to = (end - start).min(block_bytes as u64) as usize;
                content[from..to].fill(0);
            }
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8], block_bytes: usize) {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let start = (at % block_bytes as u64) as usize;
            let count = (block_bytes - start).min(bytes.len() - done);
            let block = self.blocks.entry(at / block_bytes as u64).or_insert(None);
            let block = block.get_or_insert_with(|| vec![0; block_bytes].into_boxed_slice());
            block[start..start + count].copy_from_slice(&bytes[done..done + count]);
            done += count;
        }
        self.bytes = self.bytes.max(offset + bytes.len() as u64);
    }

    /// Applies some sectors of a write, as the seed decides: none, those before a point, those after it, or any.
    /// Returns how many of how many.
    pub fn apply_torn(
        &mut self,
        offset: u64,
        bytes: &[u8],
        sector: usize,
        block_bytes: usize,
        random: &mut Random,
    ) -> (usize, usize) {
        let sectors = bytes.len().div_ceil(sector).max(1);
        let point = random.below(sectors as u64 + 1) as usize;
        let kind = random.below(4);
        let mut count = 0;
        for index in 0..sectors {
            let kept = match kind {
                0 => false,
                1 => index < point,
                2 => index >= point,
                _ => random.chance(2),
            };
            if kept {
                let range = index * sector..((index + 1) * sector).min(bytes.len());
                self.write(offset + range.start as u64, &bytes[range], block_bytes);
                count += 1;
            }
        }
        (count, sectors)
    }

    pub fn read(&self, offset: u64, buffer: &mut [u8], block_bytes: usize) -> usize {
        let count = self.bytes.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let mut done = 0;
        while done < count {
            let at = offset + done as u64;
            let start = (at % block_bytes as u64) as usize;
            let part = (block_bytes - start).min(count - done);
            match self.blocks.get(&(at / block_bytes as u64)) {
                Some(Some(block)) => buffer[done..done + part].copy_from_slice(&block[start..start + part]),
                _ => buffer[done..done + part].fill(0),
            }
            done += part;
        }
        count
    }

    /// The end of the last block within a range, written or reserved, or the range's start.
    pub fn data_end(&self, offset: u64, bytes: u64, block_bytes: usize) -> u64 {
        let end = (offset + bytes).min(self.bytes).max(offset);
        let blocks = self.blocks.range(Image::block_range(offset, end - offset, block_bytes));
        blocks.last().map_or(offset, |(&block, _)| ((block + 1) * block_bytes as u64).clamp(offset, offset + bytes))
    }

    /// Flips bits at rest, where something was written.
    pub fn flip(&mut self, offset: u64, mask: u8, block_bytes: usize) -> bool {
        match self.blocks.get_mut(&(offset / block_bytes as u64)) {
            Some(Some(block)) => {
                block[(offset % block_bytes as u64) as usize] ^= mask;
                true
            }
            _ => false,
        }
    }

    /// Offsets of the blocks that were written, in order.
    pub fn written_blocks(&self, block_bytes: usize) -> impl Iterator<Item = u64> + '_ {
        let written = self.blocks.iter().filter(|(_, content)| content.is_some());
        written.map(move |(block, _)| block * block_bytes as u64)
    }
}
