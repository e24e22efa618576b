//! Putting records of one layout into key order with bounded memory: runs sorted in memory, spilled to a file, merged.
//!
//! ```text
//! memory   [records ............ | places]   full -> places sorted -> a run in the file
//! file     run 1 | run 2 | run 3 ...         a record: extra bytes (2), data bytes (4), extra, data
//! merge    FAN_IN runs at a time -> a longer run in another file, until FAN_IN are left
//!          those: the smallest of the runs' heads is taken from a heap, again and again
//! ```
//!
//! The memory is what [`Sorter::new`] is given while records are collected, and `FAN_IN` read buffers while they are
//! merged, however many runs there are (`many_runs_are_merged_in_passes`).
//!
//! A place has the beginning of the record's key as a number ([`OrderPrefix`]), as has the head of a run: most comparisons
//! need no record.
//!
//! A sort that fits in memory has no file. The file is encrypted, and removed when the sort ends ([`ScratchFile`]).

use std::cmp::Ordering;
use std::sync::Arc;

use format::record::{HEADER_BYTES, Layout, OrderPrefix, RecordBuffer, RecordImage, compare_records, order_prefix};

use crate::error::{Error, Result};
use crate::io::Disk;
use crate::scratch::ScratchFile;

/// Memory for records while they are collected, when one index is sorted.
pub const MEMORY_BYTES: usize = if cfg!(test) { 4 << 10 } else { 32 << 20 };
/// Runs that are merged at once.
const FAN_IN: usize = if cfg!(test) { 4 } else { 64 };
/// Memory of a run's reader.
const READ_BYTES: usize = if cfg!(test) { 512 } else { 256 << 10 };
const LENGTHS_BYTES: usize = 6;
/// Records between two calls of [`Look`].
const LOOK_RECORDS: u64 = 1024;

/// Collects records in any order.
pub struct Sorter<'a> {
    layout: &'a Layout,
    disk: Arc<dyn Disk>,
    path: String,
    memory_bytes: usize,
    /// Records one behind the other, with their headers, so that they can be compared where they are.
    bytes: Vec<u8>,
    places: Vec<Place>,
    /// Whether the records so far came in order: then nothing is to be sorted.
    sorted: bool,
    /// Memory for the making of prefixes.
    key: Vec<u8>,
    spill: Option<Spill>,
}

/// A record in memory.
#[derive(Clone, Copy)]
struct Place {
    prefix: OrderPrefix,
    start: u32,
    origin: u32,
    end: u32,
}

impl Place {
    fn image<'b>(&self, bytes: &'b [u8]) -> RecordImage<'b> {
        let (start, origin) = (self.start as usize, self.origin as usize);
        RecordImage { info: 0, extra: &bytes[start..origin - HEADER_BYTES], data: &bytes[origin..self.end as usize] }
    }
}

/// Sorted runs in a file.
struct Spill {
    file: ScratchFile,
    /// Where each run ends.
    ends: Vec<u64>,
}

impl Spill {
    fn create(disk: &Arc<dyn Disk>, path: String) -> Result<Spill> {
        Ok(Spill { file: ScratchFile::create(disk, path)?, ends: Vec::new() })
    }

    /// Where the next run begins.
    fn end(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The runs of these numbers, to be read.
    fn runs(&self, numbers: std::ops::Range<usize>) -> Vec<Run<'_>> {
        let begin = |number: usize| number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let run = |number: usize| Run {
            file: &self.file,
            at: begin(number),
            end: self.ends[number],
            bytes: Vec::new(),
            from: 0,
            head: RecordBuffer::new(),
            prefix: None,
            key: Vec::new(),
        };
        numbers.map(run).collect()
    }

    /// Merges runs until so few are left that they can be merged at once.
    fn reduce(mut self, layout: &Layout, look: Look<'_>) -> Result<Spill> {
        let mut pass = 0;
        while self.ends.len() > FAN_IN {
            pass += 1;
            let (base, _) = self.file.path().split_once('~').unwrap_or((self.file.path(), ""));
            let mut merged = Spill::create(self.file.disk(), format!("{base}~{pass}"))?;
            for first in (0..self.ends.len()).step_by(FAN_IN) {
                let mut writer = RunWriter { file: &merged.file, at: merged.end(), bytes: Vec::new() };
                let runs = self.runs(first..(first + FAN_IN).min(self.ends.len()));
                Merge::new(layout, runs)?.show(look, &mut |record| writer.push(record.image()))?;
                let end = writer.finish()?;
                merged.ends.push(end);
            }
            self = merged;
        }
        Ok(self)
    }
}

/// Is called every `LOOK_RECORDS` records; an error of it ends the sort.
type Look<'l> = &'l dyn Fn() -> Result<()>;

/// A run being written.
struct RunWriter<'f> {
    file: &'f ScratchFile,
    at: u64,
    bytes: Vec<u8>,
}

impl RunWriter<'_> {
    fn push(&mut self, record: RecordImage<'_>) -> Result<()> {
        put(&mut self.bytes, record);
        if self.bytes.len() >= READ_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        self.file.write(self.at, &mut self.bytes)?;
        self.at += self.bytes.len() as u64;
        self.bytes.clear();
        Ok(())
    }

    /// Writes the rest. Returns where the run ends.
    fn finish(mut self) -> Result<u64> {
        self.write()?;
        Ok(self.at)
    }
}

fn corrupt(cause: format::Error) -> Error {
    Error::corrupt(format!("a record to be sorted: {cause}"))
}

fn put(bytes: &mut Vec<u8>, record: RecordImage<'_>) {
    bytes.extend_from_slice(&(record.extra.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&(record.data.len() as u32).to_le_bytes());
    bytes.extend_from_slice(record.extra);
    bytes.extend_from_slice(record.data);
}

/// The record at the start of `bytes`, and how many bytes it takes.
fn take(bytes: &[u8]) -> Option<(RecordImage<'_>, usize)> {
    let extra = usize::from(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?));
    let data = u32::from_le_bytes(bytes.get(2..6)?.try_into().ok()?) as usize;
    let end = LENGTHS_BYTES + extra + data;
    let body = bytes.get(LENGTHS_BYTES..end)?;
    Some((RecordImage { info: 0, extra: &body[..extra], data: &body[extra..] }, end))
}

/// The order of two records in `bytes`.
#[inline]
fn order(layout: &Layout, bytes: &[u8], left: &Place, right: &Place) -> format::Result<Ordering> {
    match left.prefix.cmp(&right.prefix) {
        Ordering::Equal => compare_records(layout, bytes, left.origin as usize, bytes, right.origin as usize),
        order => Ok(order),
    }
}

impl<'a> Sorter<'a> {
    /// `path` is the name of the file that may be needed; no other file may have it, or it with a suffix after a `~`.
    /// `memory_bytes` is the memory for records while they are collected.
    pub fn new(layout: &'a Layout, disk: Arc<dyn Disk>, path: String, memory_bytes: usize) -> Sorter<'a> {
        Sorter {
            layout,
            disk,
            path,
            memory_bytes,
            bytes: Vec::new(),
            places: Vec::new(),
            sorted: true,
            key: Vec::new(),
            spill: None,
        }
    }

    pub fn push(&mut self, record: &RecordBuffer) -> Result<()> {
        let used = self.bytes.len() + record.size() + (self.places.len() + 1) * size_of::<Place>();
        if !self.places.is_empty() && used > self.memory_bytes {
            self.spill()?;
        }
        let prefix = order_prefix(self.layout, record.bytes(), record.origin(), &mut self.key).map_err(corrupt)?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record.bytes());
        let place = Place {
            prefix,
            start: start as u32,
            origin: (start + record.origin()) as u32,
            end: self.bytes.len() as u32,
        };
        if let Some(last) = self.places.last()
            && self.sorted
        {
            self.sorted = order(self.layout, &self.bytes, last, &place).map_err(corrupt)? != Ordering::Greater;
        }
        self.places.push(place);
        Ok(())
    }

    /// Sorts the records in memory.
    fn sort(&mut self) -> Result<()> {
        if self.sorted {
            return Ok(());
        }
        let mut failed = None;
        self.places.sort_by(|left, right| {
            order(self.layout, &self.bytes, left, right).unwrap_or_else(|cause| {
                failed = Some(cause);
                Ordering::Equal
            })
        });
        if let Some(cause) = failed {
            return Err(corrupt(cause));
        }
        self.sorted = true;
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        self.sort()?;
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(Spill::create(&self.disk, self.path.clone())?),
        };
        let mut writer = RunWriter { file: &spill.file, at: spill.end(), bytes: Vec::with_capacity(READ_BYTES) };
        for place in &self.places {
            writer.push(place.image(&self.bytes))?;
        }
        let end = writer.finish()?;
        spill.ends.push(end);
        self.bytes.clear();
        self.places.clear();
        self.sorted = true;
        Ok(())
    }

    /// Calls `visit` with all records in order. `look` ends the sort with an error when its statement was interrupted.
    pub fn finish(mut self, look: Look<'_>, visit: &mut dyn FnMut(&RecordBuffer) -> Result<()>) -> Result<()> {
        if self.spill.is_some() && !self.places.is_empty() {
            self.spill()?;
        }
        let Some(spill) = self.spill.take() else {
            self.sort()?;
            let mut buffer = RecordBuffer::new();
            for (number, place) in self.places.iter().enumerate() {
                if (number as u64).is_multiple_of(LOOK_RECORDS) {
                    look()?;
                }
                buffer.set(self.layout, place.image(&self.bytes));
                visit(&buffer)?;
            }
            return Ok(());
        };
        self.bytes = Vec::new();
        self.places = Vec::new();
        let spill = spill.reduce(self.layout, look)?;
        Merge::new(self.layout, spill.runs(0..spill.ends.len()))?.show(look, visit)
    }
}

/// Merges runs that are read side by side.
struct Merge<'f> {
    layout: &'f Layout,
    runs: Vec<Run<'f>>,
    /// The numbers of the runs that have a head, as a binary heap: the run with the smallest head is first. Of equal
    /// heads the one of the earlier run is smaller.
    heap: Vec<usize>,
}

impl<'f> Merge<'f> {
    fn new(layout: &'f Layout, runs: Vec<Run<'f>>) -> Result<Merge<'f>> {
        let mut merge = Merge { layout, runs, heap: Vec::new() };
        for (number, run) in merge.runs.iter_mut().enumerate() {
            run.advance(layout)?;
            if run.prefix.is_some() {
                merge.heap.push(number);
            }
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sink(at)?;
        }
        Ok(merge)
    }

    fn is_smaller(&self, left: usize, right: usize) -> Result<bool> {
        let (one, other) = (&self.runs[left], &self.runs[right]);
        let order = match one.prefix.cmp(&other.prefix) {
            Ordering::Equal => {
                let (one, other) = (&one.head, &other.head);
                compare_records(self.layout, one.bytes(), one.origin(), other.bytes(), other.origin())
                    .map_err(corrupt)?
            }
            order => order,
        };
        Ok(order.then(left.cmp(&right)) == Ordering::Less)
    }

    /// Moves the run at a place of the heap down to where its head belongs.
    fn sink(&mut self, mut at: usize) -> Result<()> {
        loop {
            let mut smallest = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_smaller(self.heap[child], self.heap[smallest])? {
                    smallest = child;
                }
            }
            if smallest == at {
                return Ok(());
            }
            self.heap.swap(at, smallest);
            at = smallest;
        }
    }

    /// Calls `visit` with all records in order.
    fn show(mut self, look: Look<'_>, visit: &mut dyn FnMut(&RecordBuffer) -> Result<()>) -> Result<()> {
        let mut count = 0_u64;
        while let Some(&first) = self.heap.first() {
            if count.is_multiple_of(LOOK_RECORDS) {
                look()?;
            }
            count += 1;
            let run = &mut self.runs[first];
            visit(&run.head)?;
            run.advance(self.layout)?;
            if run.prefix.is_none() {
                self.heap.swap_remove(0);
            }
            self.sink(0)?;
        }
        Ok(())
    }
}

/// A run being read.
struct Run<'f> {
    file: &'f ScratchFile,
    /// Where the unread part of the file begins.
    at: u64,
    end: u64,
    bytes: Vec<u8>,
    /// The next record in `bytes`.
    from: usize,
    head: RecordBuffer,
    /// Of the head; None when the run has ended.
    prefix: Option<OrderPrefix>,
    /// Memory for the making of prefixes.
    key: Vec<u8>,
}

impl Run<'_> {
    fn advance(&mut self, layout: &Layout) -> Result<()> {
        loop {
            if let Some((image, bytes)) = take(&self.bytes[self.from..]) {
                self.head.set(layout, image);
                self.from += bytes;
                let (record, origin) = (self.head.bytes(), self.head.origin());
                self.prefix = Some(order_prefix(layout, record, origin, &mut self.key).map_err(corrupt)?);
                return Ok(());
            }
            if self.at == self.end {
                self.prefix = None;
                return Ok(());
            }
            self.bytes.drain(..self.from);
            self.from = 0;
            let old = self.bytes.len();
            let more = READ_BYTES.min((self.end - self.at) as usize);
            self.bytes.resize(old + more, 0);
            self.file.read(self.at, &mut self.bytes[old..])?;
            self.at += more as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use format::record::{FieldData, FieldLayout};

    use super::*;
    use crate::io::sim::SimDisk;

    const RECORDS: u32 = 20_000;

    /// Five hundred runs, of which four are merged at a time.
    fn sorter<'l>(layout: &'l Layout, disk: &SimDisk) -> Sorter<'l> {
        let mut sorter = Sorter::new(layout, Arc::new(disk.clone()), "#sort-7".into(), MEMORY_BYTES);
        let mut record = RecordBuffer::new();
        for number in 0..RECORDS {
            // All residues, in no order.
            let key = number.wrapping_mul(7919) % RECORDS;
            record.build(
                layout,
                0,
                [FieldData::Bytes(format!("{key:08}").as_bytes()), FieldData::Bytes(&number.to_be_bytes())],
            );
            sorter.push(&record).unwrap();
        }
        sorter
    }

    fn files(disk: &SimDisk) -> usize {
        disk.list("").unwrap().len()
    }

    #[test]
    fn many_runs_are_merged_in_passes() {
        let disk = SimDisk::new(1);
        let layout = Layout::secondary(vec![FieldLayout::variable(20, false), FieldLayout::fixed(4)]);
        let sorter = sorter(&layout, &disk);
        let runs = sorter.spill.as_ref().unwrap().ends.len();
        assert!(runs > FAN_IN * FAN_IN * FAN_IN, "{runs} runs");
        let mut expected = 0;
        let mut visit = |record: &RecordBuffer| {
            let fields = layout.parse(record.bytes(), record.origin()).unwrap();
            let key = fields.take(1).next().unwrap().unwrap().of(record.bytes()).unwrap();
            assert_eq!(key, format!("{expected:08}").as_bytes());
            expected += 1;
            Ok(())
        };
        sorter.finish(&|| Ok(()), &mut visit).unwrap();
        assert_eq!((expected, files(&disk)), (RECORDS, 0));
    }

    #[test]
    fn a_merge_hears_that_nobody_wants_it() {
        let disk = SimDisk::new(1);
        let layout = Layout::secondary(vec![FieldLayout::variable(20, false), FieldLayout::fixed(4)]);
        let stopped = sorter(&layout, &disk).finish(&|| Err(Error::Interrupted), &mut |_| Ok(()));
        assert!(matches!(stopped, Err(Error::Interrupted)));
        assert_eq!(files(&disk), 0);
    }
}
