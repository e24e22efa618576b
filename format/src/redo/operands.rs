//! Operands that are lists: records, patches, sizes.

use super::integers::{put_bytes, put_record, put_varint, take_u16, take_varint};
use crate::error::{Error, Result};
use crate::page::index::{self, INFIMUM, SUPREMUM};
use crate::record::{Layout, RecordImage};

/// The record sizes of [`super::PageOp::Reorganize`], one by one.
#[derive(Clone)]
pub(super) struct Runs<'a> {
    bytes: &'a [u8],
    run: u64,
    size: (u16, u16),
}

impl<'a> Runs<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Runs<'a> {
        Runs { bytes, run: 0, size: (0, 0) }
    }
}

impl Iterator for Runs<'_> {
    type Item = Result<(u16, u16)>;

    fn next(&mut self) -> Option<Result<(u16, u16)>> {
        if self.run == 0 {
            if self.bytes.is_empty() {
                return None;
            }
            let bytes = &mut self.bytes;
            let run = take_varint(bytes).and_then(|run| {
                self.size = (take_u16(bytes)?, take_u16(bytes)?);
                if run == 0 { Err(Error::corrupt("a run of no records", 0)) } else { Ok(run) }
            });
            match run {
                Ok(run) => self.run = run,
                Err(error) => {
                    self.bytes = &[];
                    return Some(Err(error));
                }
            }
        }
        self.run -= 1;
        Some(Ok(self.size))
    }
}

/// Records one behind the other: the operand of [`super::PageOp::InsertRecords`].
#[derive(Clone, Debug, Default)]
pub struct RecordList {
    bytes: Vec<u8>,
    count: usize,
    record_bytes: usize,
}

impl RecordList {
    pub fn new() -> RecordList {
        RecordList::default()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.record_bytes = 0;
    }

    pub fn push(&mut self, record: RecordImage<'_>) {
        put_record(&mut self.bytes, record);
        self.count += 1;
        self.record_bytes += record.size();
    }

    /// Appends the records of a page from `from` (inclusive; the first if it is the infimum) up to `to` (exclusive; the
    /// supremum for all).
    pub fn push_range(&mut self, page: &[u8], layout: &Layout, from: u16, to: u16) -> Result<()> {
        let mut origin = if from == INFIMUM { index::first(page)? } else { from };
        let mut left = index::record_count(page);
        while origin != to {
            if origin == SUPREMUM || left == 0 {
                return Err(Error::corrupt("a range of records without end", usize::from(to)));
            }
            left -= 1;
            self.push(RecordImage::of(page, layout, usize::from(origin))?);
            origin = index::next(page, origin)?;
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes the records take in a heap.
    pub fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Overwritten parts of a record: the operand of [`super::PageOp::UpdateInPlace`].
#[derive(Clone, Debug, Default)]
pub struct Patches {
    bytes: Vec<u8>,
}

impl Patches {
    pub fn new() -> Patches {
        Patches::default()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// `offset` counts from the record's origin.
    #[inline]
    pub fn push(&mut self, offset: u16, bytes: &[u8]) {
        put_varint(&mut self.bytes, offset.into());
        put_bytes(&mut self.bytes, bytes);
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
