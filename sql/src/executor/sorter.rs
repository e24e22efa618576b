//! Sorting more rows than there is memory for.
//!
//! ```text
//! rows -> memory, full: sorted -> run 1   in a temporary file
//!                                 run 2   ...
//!                                 run n -> MERGED at a time, until one merge is left, which gives the rows
//! ```
//!
//! Equal rows stay in the order in which they came: runs are merged with their neighbours, and of equal rows that of the
//! earlier run comes first. With a LIMIT, rows that cannot be in the result are discarded, in memory from time to time,
//! and of each run when it is written; from then on a row that does not sort before the last wanted one is not added.

use std::cmp::Ordering;
use std::collections::VecDeque;

use super::memory::Account;
use crate::error::{Error, Result};
use crate::expression::SessionState;
use crate::temporary::sort::{PART, sort_by};
use crate::temporary::stream::BUFFER_BYTES;
use crate::temporary::{Pile, Reader, Stream, Writer};

/// Rows beyond the wanted ones that are kept before they are discarded.
const SPARE: u64 = 1000;
/// How many runs are merged at a time.
const MERGED: usize = 16;
/// Rows that are merged without looking for KILL.
const INTERRUPT_EVERY: u64 = 1024;

/// A row that can be written to a file.
pub trait Record: Sized + Send + 'static {
    /// What it takes in memory.
    fn bytes(&self) -> u64;
    fn write(&self, out: &mut Vec<u8>);
    fn read(record: &[u8]) -> Result<Self>;
}

/// How rows compare.
pub type Compare<'c, R> = dyn Fn(&R, &R) -> Ordering + 'c;

/// Rows to sort.
pub struct Sorter<'m, R: Record> {
    rows: Pile<Vec<R>>,
    account: Account<'m>,
    /// This many rows are the first ones of those in memory, in order.
    settled: Option<usize>,
    /// The last of the first wanted rows of a run.
    bound: Option<R>,
    runs: Runs,
    record: Vec<u8>,
    thrown_away: u64,
}

/// Sorted rows in a file.
#[derive(Default)]
pub struct Runs {
    streams: VecDeque<Stream>,
}

/// Rows in order.
pub enum Sorted<R: Record> {
    Memory(Pile<std::vec::IntoIter<R>>),
    Merge(Merge<R>),
}

/// The next rows of several runs.
pub struct Merge<R> {
    sources: Vec<(Reader, Option<R>)>,
    /// The sources that have a row, as a heap.
    heap: Vec<usize>,
    record: Vec<u8>,
    given: u64,
}

impl<'m, R: Record> Sorter<'m, R> {
    pub fn new(account: Account<'m>) -> Sorter<'m, R> {
        let (rows, runs, record) = (Pile::default(), Runs::default(), Vec::new());
        Sorter { rows, account, settled: None, bound: None, runs, record, thrown_away: 0 }
    }

    /// Takes a row, if it may be among the first `wanted`.
    pub fn push(&mut self, row: R, wanted: u64, compare: &Compare<'_, R>, session: &dyn SessionState) -> Result<()> {
        let last = self.settled.and_then(|count| self.rows.get(count.wrapping_sub(1)));
        if last.into_iter().chain(&self.bound).any(|last| compare(&row, last) != Ordering::Less) {
            self.thrown_away += 1;
            return Ok(());
        }
        let bytes = row.bytes();
        if !self.account.fits(bytes) {
            self.make_room(wanted, compare, session)?;
            if !self.account.fits(bytes) {
                self.account.add_anyway(bytes);
            }
        }
        self.rows.push(row);
        if self.rows.len() as u64 > wanted.saturating_mul(2).saturating_add(SPARE) {
            self.keep_first(wanted, compare, session)?;
            self.settled = Some(wanted as usize);
        }
        Ok(())
    }

    /// Discards what is not wanted. If that is not much, all that is in memory is written.
    fn make_room(&mut self, wanted: u64, compare: &Compare<'_, R>, session: &dyn SessionState) -> Result<()> {
        let before = self.account.bytes();
        if self.rows.len() as u64 > wanted {
            self.keep_first(wanted, compare, session)?;
            self.settled = Some(wanted as usize);
        }
        if self.account.bytes() <= before / 2 { Ok(()) } else { self.end_run(wanted, compare, session) }
    }

    /// Sorts what is in memory, and discards all but the first rows.
    fn keep_first(&mut self, wanted: u64, compare: &Compare<'_, R>, session: &dyn SessionState) -> Result<()> {
        sort_by(&mut self.rows, || session.is_interrupted(), compare)?;
        if (self.rows.len() as u64) > wanted {
            let others = Pile::from(self.rows.split_off(wanted as usize));
            self.thrown_away += others.len() as u64;
            self.account.give_back(others.iter().map(R::bytes).sum());
        }
        Ok(())
    }

    /// Writes the rows in memory as a run.
    fn end_run(&mut self, wanted: u64, compare: &Compare<'_, R>, session: &dyn SessionState) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.keep_first(wanted, compare, session)?;
        let is_full = self.rows.len() as u64 == wanted;
        let record = &mut self.record;
        self.runs.add(&self.account, &mut |writer| {
            for (at, row) in self.rows.iter().enumerate() {
                if at % PART == PART - 1 && session.is_interrupted() {
                    return Err(Error::interrupted());
                }
                record.clear();
                row.write(record);
                writer.write(record)?;
            }
            Ok(())
        })?;
        if is_full {
            self.bound = self.rows.pop();
        }
        self.rows = Pile::default();
        self.settled = None;
        self.account.clear();
        if let Some(bound) = &self.bound {
            self.account.add_anyway(bound.bytes());
        }
        Ok(())
    }

    /// The rows in order: at least the first `wanted`. Also the memory that they take, and how many were discarded.
    pub fn finish(
        mut self,
        wanted: u64,
        compare: &Compare<'_, R>,
        session: &dyn SessionState,
    ) -> Result<(Sorted<R>, Account<'m>, u64)> {
        if self.runs.is_empty() {
            sort_by(&mut self.rows, || session.is_interrupted(), compare)?;
            let rows = Pile::from(self.rows.into_inner().into_iter());
            return Ok((Sorted::Memory(rows), self.account, self.thrown_away));
        }
        self.end_run(wanted, compare, session)?;
        let Sorter { mut account, runs, thrown_away, .. } = self;
        let merge = runs.merged(&mut account, compare, session)?;
        Ok((Sorted::Merge(merge), account, thrown_away))
    }
}

impl Runs {
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Writes a run.
    pub fn add(&mut self, account: &Account<'_>, write: &mut dyn FnMut(&mut Writer) -> Result<()>) -> Result<()> {
        let mut writer = match self.streams.back() {
            Some(stream) => Writer::beside(stream),
            None => Writer::new(&account.memory().spill()?),
        };
        write(&mut writer)?;
        self.streams.push_back(writer.finish()?);
        Ok(())
    }

    /// Merges runs until one merge is left.
    pub fn merged<R: Record>(
        mut self,
        account: &mut Account<'_>,
        compare: &Compare<'_, R>,
        session: &dyn SessionState,
    ) -> Result<Merge<R>> {
        account.add_anyway(BUFFER_BYTES * (self.streams.len().min(MERGED) as u64 + 1));
        while self.streams.len() > MERGED {
            // One pass over all: each run is merged with its neighbours, into a new file.
            let spill = account.memory().spill()?;
            let mut merged = VecDeque::new();
            while !self.streams.is_empty() {
                let some: Vec<Stream> = self.streams.drain(..self.streams.len().min(MERGED)).collect();
                account.memory().count(|counts| counts.merge_passes += 1);
                let (mut writer, mut record) = (Writer::new(&spill), Vec::new());
                let mut merge: Merge<R> = Merge::new(&some, compare)?;
                while let Some(row) = merge.next(compare, session)? {
                    record.clear();
                    row.write(&mut record);
                    writer.write(&record)?;
                }
                merged.push_back(writer.finish()?);
            }
            self.streams = merged;
        }
        account.memory().count(|counts| counts.merge_passes += 1);
        Merge::new(self.streams.make_contiguous(), compare)
    }
}

impl<R: Record> Merge<R> {
    pub fn new(streams: &[Stream], compare: &Compare<'_, R>) -> Result<Merge<R>> {
        let mut merge = Merge { sources: Vec::new(), heap: Vec::new(), record: Vec::new(), given: 0 };
        for stream in streams {
            let mut reader = stream.reader();
            let first = next_of(&mut reader, &mut merge.record)?;
            if first.is_some() {
                merge.heap.push(merge.sources.len());
            }
            merge.sources.push((reader, first));
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(at, compare);
        }
        Ok(merge)
    }

    /// Whether one source's row comes before another's.
    fn is_before(&self, one: usize, other: usize, compare: &Compare<'_, R>) -> bool {
        match (&self.sources[one].1, &self.sources[other].1) {
            (Some(a), Some(b)) => compare(a, b).then(one.cmp(&other)) == Ordering::Less,
            (a, _) => a.is_some(),
        }
    }

    fn sift_down(&mut self, mut at: usize, compare: &Compare<'_, R>) {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_before(self.heap[child], self.heap[first], compare) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }

    pub fn next(&mut self, compare: &Compare<'_, R>, session: &dyn SessionState) -> Result<Option<R>> {
        let Some(&source) = self.heap.first() else { return Ok(None) };
        self.given += 1;
        if self.given.is_multiple_of(INTERRUPT_EVERY) && session.is_interrupted() {
            return Err(Error::interrupted());
        }
        let (reader, row) = &mut self.sources[source];
        let given = row.take();
        *row = next_of(reader, &mut self.record)?;
        if row.is_none() {
            self.heap.swap_remove(0);
        }
        self.sift_down(0, compare);
        Ok(given)
    }
}

fn next_of<R: Record>(reader: &mut Reader, record: &mut Vec<u8>) -> Result<Option<R>> {
    if reader.next(record)? { R::read(record).map(Some) } else { Ok(None) }
}

impl<R: Record> Sorted<R> {
    /// The next row. Whoever takes rows that are in memory looks for KILL.
    pub fn next(&mut self, compare: &Compare<'_, R>, session: &dyn SessionState) -> Result<Option<R>> {
        match self {
            Sorted::Memory(rows) => Ok(rows.next()),
            Sorted::Merge(merge) => merge.next(compare, session),
        }
    }
}
