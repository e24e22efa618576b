//! Sorting rows that stay as they are stored.
//!
//! Each row becomes two pieces of one buffer: a key whose bytes compare as ORDER BY
//! does, and the columns that go out. Only the places of the pieces are sorted.
//!
//! ```text
//! key      per column: 0 if NULL, else 1 and
//!            numbers, dates      their stored bytes, which compare as they are
//!            texts               the collation's sort key
//!          inverted if descending; a length-less part that another follows is
//!          escaped (00 -> 00 FF) and ended by 00 00
//! columns  per column: length (4; FFFFFFFF is NULL), stored bytes
//! ```
//!
//! With a LIMIT, rows that cannot be in the result are discarded: from time to time only the first rows are kept, and
//! from then on a row that does not sort before the last of them is not added. Rows beyond `sort_buffer_size` are sorted in
//! parts, which are written to a file and merged, see [`super::sorter`].

use std::cmp::Ordering;

use format::record::Compare;
use format::value::ColumnType;
use storage::{Row, Table};

use super::memory::Account;
use super::sorter::{Record, Runs};
use crate::error::{Error, Result};
use crate::expression::SessionState;
use crate::expression::record::Source;
use crate::planner::StoredOutput;
use crate::temporary::sort::sort_by;

const NULL: u32 = u32::MAX;

/// Where a row's pieces lie.
#[derive(Clone, Copy)]
struct Entry {
    /// The first eight bytes of the key: most comparisons end here.
    head: u64,
    key: u32,
    columns: u32,
}

/// Rows to sort.
#[derive(Default)]
pub struct StoredSorter {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    part: Vec<u8>,
    /// The key of the last wanted row so far: a row that does not sort before it is discarded.
    bound: Option<Vec<u8>>,
    /// Sorted rows that did not fit into memory.
    runs: Runs,
}

/// A row of a run: its key, and behind it its columns.
struct RunRow {
    key_bytes: usize,
    bytes: Vec<u8>,
}

impl RunRow {
    fn key(&self) -> &[u8] {
        &self.bytes[..self.key_bytes]
    }
}

impl Record for RunRow {
    fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_run_row(self.key(), &self.bytes[self.key_bytes..], out);
    }

    fn read(record: &[u8]) -> Result<RunRow> {
        let mut source = Source(record);
        let key_bytes = (source.u32()? as usize).min(source.0.len());
        Ok(RunRow { key_bytes, bytes: source.0.to_vec() })
    }
}

fn write_run_row(key: &[u8], columns: &[u8], out: &mut Vec<u8>) {
    out.extend((key.len() as u32).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(columns);
}

fn compare_run_rows(a: &RunRow, b: &RunRow) -> Ordering {
    a.key().cmp(b.key())
}

/// Rows beyond the wanted ones that are kept before they are discarded.
const SPARE: u64 = 1000;

/// More bytes than this are not sorted at a time: pieces are found by 32 bits.
const RUN_BYTES_MAX: usize = 1 << 31;

/// Rows that are given without looking for KILL.
const INTERRUPT_EVERY: u64 = 1024;

impl StoredSorter {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.bound = None;
        self.runs = Runs::default();
    }

    /// The memory of the rows that are kept now.
    pub fn kept_bytes(&self) -> u64 {
        (self.bytes.len() + self.entries.len() * size_of::<Entry>()) as u64
    }

    pub fn capacity_bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    /// Takes a row, if it may be among the first `wanted`.
    pub fn push(
        &mut self,
        table: &Table,
        output: &StoredOutput,
        row: &Row,
        wanted: u64,
        account: &mut Account<'_>,
        session: &dyn SessionState,
    ) -> Result<()> {
        let key = self.bytes.len();
        let last = output.order.len() - 1;
        for (at, (column, descending)) in output.order.iter().enumerate() {
            let begin = self.bytes.len();
            let ty = &table.columns[*column].ty;
            match row.get(*column) {
                None => self.bytes.push(0),
                Some(stored) => {
                    self.bytes.push(1);
                    self.part.clear();
                    let is_fixed = write_part(ty, stored, &mut self.part);
                    if is_fixed || at == last && !*descending {
                        self.bytes.extend_from_slice(&self.part);
                    } else {
                        for &byte in &self.part {
                            self.bytes.push(byte);
                            if byte == 0 {
                                self.bytes.push(0xFF);
                            }
                        }
                        self.bytes.extend_from_slice(&[0, 0]);
                    }
                }
            }
            if *descending {
                self.bytes[begin..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        let columns = self.bytes.len();
        if self.bound.as_ref().is_some_and(|bound| self.bytes[key..] >= bound[..]) {
            self.bytes.truncate(key);
            return Ok(());
        }
        for column in &output.columns {
            match row.get(column.column) {
                None => self.bytes.extend_from_slice(&NULL.to_ne_bytes()),
                Some(stored) => {
                    self.bytes.extend_from_slice(&(stored.len() as u32).to_ne_bytes());
                    self.bytes.extend_from_slice(stored);
                }
            }
        }
        let mut head = [0; 8];
        let known = (columns - key).min(8);
        head[..known].copy_from_slice(&self.bytes[key..key + known]);
        self.entries.push(Entry { head: u64::from_be_bytes(head), key: key as u32, columns: columns as u32 });
        if self.entries.len() as u64 > wanted.saturating_mul(2).saturating_add(SPARE) {
            self.throw_away(output, wanted as usize, session)?;
        }
        if account.can_be(self.kept_bytes()) && self.bytes.len() <= RUN_BYTES_MAX {
            return Ok(());
        }
        // What is not wanted need not be written.
        let before = self.kept_bytes();
        if self.entries.len() as u64 > wanted {
            self.throw_away(output, wanted as usize, session)?;
        }
        match self.kept_bytes() <= before / 2 && account.can_be(self.kept_bytes()) {
            true => Ok(()),
            false => self.end_run(output, wanted, account, session),
        }
    }

    /// Writes the rows in memory as a run.
    fn end_run(
        &mut self,
        output: &StoredOutput,
        wanted: u64,
        account: &mut Account<'_>,
        session: &dyn SessionState,
    ) -> Result<()> {
        self.sort(output, session)?;
        self.entries.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
        let (bytes, entries) = (&self.bytes, &self.entries);
        let mut record = Vec::new();
        self.runs.add(account, &mut |writer| {
            for entry in entries {
                record.clear();
                let (key, columns) = (entry.key as usize, entry.columns as usize);
                write_run_row(&bytes[key..columns], &bytes[columns..columns_end(bytes, columns, output)], &mut record);
                writer.write(&record)?;
            }
            Ok(())
        })?;
        self.set_bound(wanted);
        self.bytes.clear();
        self.entries.clear();
        account.clear();
        Ok(())
    }

    /// The last of the wanted rows is the one from which on no row is wanted.
    fn set_bound(&mut self, wanted: u64) {
        if let Some(last) = self.entries.last()
            && self.entries.len() as u64 == wanted
        {
            self.bound = Some(self.bytes[last.key as usize..last.columns as usize].to_vec());
        }
    }

    /// Sorts the rows; of equal ones that are one, the first remains.
    fn sort(&mut self, output: &StoredOutput, session: &dyn SessionState) -> Result<()> {
        let bytes = &self.bytes;
        let key = |entry: &Entry| &bytes[entry.key as usize..entry.columns as usize];
        sort_by(
            &mut self.entries,
            || session.is_interrupted(),
            |a, b| a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))),
        )?;
        if output.distinct {
            self.entries.dedup_by(|a, b| a.head == b.head && key(a) == key(b));
        }
        Ok(())
    }

    /// Keeps only the first rows.
    fn throw_away(&mut self, output: &StoredOutput, wanted: usize, session: &dyn SessionState) -> Result<()> {
        self.sort(output, session)?;
        self.entries.truncate(wanted);
        let mut kept = Vec::with_capacity(self.bytes.len() / 2);
        for entry in &mut self.entries {
            let end = columns_end(&self.bytes, entry.columns as usize, output);
            let key = kept.len() as u32;
            kept.extend_from_slice(&self.bytes[entry.key as usize..end]);
            (entry.columns, entry.key) = (key + (entry.columns - entry.key), key);
        }
        self.bytes = kept;
        self.set_bound(wanted as u64);
        Ok(())
    }

    /// Gives the rows out in order, behind `offset` and at most `count`; tells how many there were.
    #[expect(clippy::too_many_arguments, reason = "what is given, of what, to whom")]
    pub fn give(
        &mut self,
        table: &Table,
        output: &StoredOutput,
        (offset, count): (u64, u64),
        row: &mut Row,
        account: &mut Account<'_>,
        session: &dyn SessionState,
        visit: &mut dyn FnMut(&Row),
    ) -> Result<u64> {
        let mut seen = 0;
        let mut give = |columns: &[u8]| {
            seen += 1;
            if seen <= offset {
                return true;
            }
            if seen - offset > count {
                seen -= 1;
                return false;
            }
            if seen % INTERRUPT_EVERY == 0 && session.is_interrupted() {
                return false;
            }
            row.clear(table.columns.len());
            let mut at = 0;
            for column in &output.columns {
                let length = stored_length(columns, at);
                at += 4;
                row.set(column.column, length.map(|length| &columns[at..at + length]));
                at += length.unwrap_or(0);
            }
            visit(row);
            true
        };
        if self.runs.is_empty() {
            self.sort(output, session)?;
            for entry in &self.entries {
                if !give(&self.bytes[entry.columns as usize..]) {
                    break;
                }
            }
        } else {
            self.end_run(output, offset.saturating_add(count), account, session)?;
            let runs = std::mem::take(&mut self.runs);
            let mut merge = runs.merged(account, &compare_run_rows, session)?;
            let mut last: Option<RunRow> = None;
            while let Some(run_row) = merge.next(&compare_run_rows, session)? {
                let is_again = output.distinct && last.is_some_and(|last| last.key() == run_row.key());
                if !is_again && !give(&run_row.bytes[run_row.key_bytes..]) {
                    break;
                }
                last = Some(run_row);
            }
        }
        if session.is_interrupted() { Err(Error::interrupted()) } else { Ok(seen) }
    }
}

/// Where the columns of a row end that begin at a place.
fn columns_end(bytes: &[u8], mut at: usize, output: &StoredOutput) -> usize {
    for _ in &output.columns {
        at += 4 + stored_length(bytes, at).unwrap_or(0);
    }
    at
}

/// The length in front of a column's bytes; None is NULL.
fn stored_length(bytes: &[u8], at: usize) -> Option<usize> {
    let mut length = [0; 4];
    length.copy_from_slice(&bytes[at..at + 4]);
    match u32::from_ne_bytes(length) {
        NULL => None,
        length => Some(length as usize),
    }
}

/// Appends bytes that compare with memcmp as the column does; true if all of them have one length.
fn write_part(ty: &ColumnType, stored: &[u8], out: &mut Vec<u8>) -> bool {
    match ty.layout(false).compare {
        Compare::Bytes => {
            out.extend_from_slice(stored);
            !matches!(
                ty,
                ColumnType::VarBinary { .. } | ColumnType::Blob { .. } | ColumnType::Json | ColumnType::Geometry { .. }
            )
        }
        compare @ (Compare::Collation(_) | Compare::Char(_)) => {
            if let Some((collation, text)) = compare.text(stored) {
                collation.sort_key(text, out);
            }
            false
        }
        // IEEE numbers: the sign turned, and all of a negative one.
        Compare::Float => {
            let mut bits = [0; 4];
            bits.copy_from_slice(&stored[..4]);
            let bits = u32::from_le_bytes(bits);
            let turned = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
            out.extend_from_slice(&turned.to_be_bytes());
            true
        }
        Compare::Double => {
            let mut bits = [0; 8];
            bits.copy_from_slice(&stored[..8]);
            let bits = u64::from_le_bytes(bits);
            let turned = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            out.extend_from_slice(&turned.to_be_bytes());
            true
        }
    }
}
