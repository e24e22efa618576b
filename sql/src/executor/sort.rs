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
//! from then on a row that does not sort before the last of them is not added.

use std::cmp::Ordering;

use format::record::Compare;
use format::value::ColumnType;
use storage::{Row, Table};

use crate::error::{Error, Result};
use crate::expression::SessionState;
use crate::planner::StoredOutput;

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
}

/// Rows beyond the wanted ones that are kept before they are discarded.
const SPARE: u64 = 1000;

/// Rows that are sorted without looking for KILL.
const PART: usize = 1 << 15;

/// Sorts rows; equal ones stay in their order. A million rows take a second, so KILL is heard between parts: short parts
/// are sorted first, then longer ones, whose sort finds the sorted parts and merges them
/// (`a_long_sort_hears_kill`).
pub fn sort_by<T>(
    rows: &mut [T],
    is_interrupted: impl Fn() -> bool,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<()> {
    let mut length = PART;
    loop {
        for part in rows.chunks_mut(length) {
            part.sort_by(&compare);
            if part.len() == length && is_interrupted() {
                return Err(Error::interrupted());
            }
        }
        if length >= rows.len() {
            return Ok(());
        }
        length *= 4;
    }
}

impl StoredSorter {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.bound = None;
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
        Ok(())
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
            let mut end = entry.columns as usize;
            for _ in &output.columns {
                end += 4 + stored_length(&self.bytes, end).unwrap_or(0);
            }
            let key = kept.len() as u32;
            kept.extend_from_slice(&self.bytes[entry.key as usize..end]);
            (entry.columns, entry.key) = (key + (entry.columns - entry.key), key);
        }
        self.bytes = kept;
        if let Some(last) = self.entries.last()
            && self.entries.len() == wanted
        {
            self.bound = Some(self.bytes[last.key as usize..last.columns as usize].to_vec());
        }
        Ok(())
    }

    /// Gives the rows out in order, behind `offset` and at most `count`; tells how many there were.
    pub fn give(
        &mut self,
        table: &Table,
        output: &StoredOutput,
        (offset, count): (u64, u64),
        row: &mut Row,
        session: &dyn SessionState,
        visit: &mut dyn FnMut(&Row),
    ) -> Result<u64> {
        self.sort(output, session)?;
        let bytes = &self.bytes;
        let mut seen = 0;
        for entry in &self.entries {
            seen += 1;
            if seen <= offset {
                continue;
            }
            if seen - offset > count {
                return Ok(seen - 1);
            }
            row.clear(table.columns.len());
            let mut at = entry.columns as usize;
            for column in &output.columns {
                let length = stored_length(bytes, at);
                at += 4;
                row.set(column.column, length.map(|length| &bytes[at..at + length]));
                at += length.unwrap_or(0);
            }
            visit(row);
        }
        Ok(seen)
    }
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
            !matches!(ty, ColumnType::VarBinary { .. } | ColumnType::Blob { .. } | ColumnType::Json)
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Numbers with few values, and where each was.
    fn rows() -> Vec<(u32, usize)> {
        (0..10 * PART).map(|at| ((at as u32).wrapping_mul(2_654_435_761) >> 20, at)).collect()
    }

    #[test]
    fn a_long_sort_keeps_the_order_of_equal_rows() {
        let (mut ours, mut all) = (rows(), rows());
        sort_by(&mut ours, || false, |a, b| b.0.cmp(&a.0)).unwrap();
        all.sort_by_key(|row| (std::cmp::Reverse(row.0), row.1));
        assert_eq!(ours, all);
    }

    #[test]
    fn a_long_sort_hears_kill() {
        let (asked, compared) = (Cell::new(0), Cell::new(0));
        let is_interrupted = || asked.replace(asked.get() + 1) >= 3;
        let outcome = sort_by(&mut rows(), is_interrupted, |a, b| {
            compared.set(compared.get() + 1);
            a.0.cmp(&b.0)
        });
        assert_eq!(outcome.unwrap_err().code, Error::interrupted().code);
        assert!(compared.get() < 4 * PART * 16, "{} comparisons", compared.get());
    }
}
