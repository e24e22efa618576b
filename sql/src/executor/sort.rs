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

use format::collation::collation;
use format::record::Compare;
use format::value::ColumnType;
use storage::{Row, Table};

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
}

impl StoredSorter {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    pub fn capacity_bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }

    /// Takes a row; tells how many bytes it takes.
    pub fn push(&mut self, table: &Table, output: &StoredOutput, row: &Row) -> u64 {
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
        (self.bytes.len() - key + size_of::<Entry>()) as u64
    }

    /// Gives the rows out in order, behind `offset` and at most `count`; tells how many there were.
    pub fn give(
        &mut self,
        table: &Table,
        output: &StoredOutput,
        offset: u64,
        count: u64,
        row: &mut Row,
        visit: &mut dyn FnMut(&Row),
    ) -> u64 {
        let bytes = &self.bytes;
        let key = |entry: &Entry| &bytes[entry.key as usize..entry.columns as usize];
        // Rows of equal keys stay in the order in which they were found.
        self.entries
            .sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))).then(a.key.cmp(&b.key)));
        let mut seen = 0;
        let mut former: Option<&Entry> = None;
        for entry in &self.entries {
            if output.distinct && former.is_some_and(|former| former.head == entry.head && key(former) == key(entry)) {
                continue;
            }
            former = Some(entry);
            seen += 1;
            if seen <= offset {
                continue;
            }
            if seen - offset > count {
                return seen - 1;
            }
            row.clear(table.columns.len());
            let mut at = entry.columns as usize;
            for column in &output.columns {
                let mut length = [0; 4];
                length.copy_from_slice(&bytes[at..at + 4]);
                at += 4;
                match u32::from_ne_bytes(length) {
                    NULL => row.set(column.column, None),
                    length => {
                        row.set(column.column, Some(&bytes[at..at + length as usize]));
                        at += length as usize;
                    }
                }
            }
            visit(row);
        }
        seen
    }
}

/// Appends what compares with memcmp as the column does; true if all of a column's are of one length.
fn write_part(ty: &ColumnType, stored: &[u8], out: &mut Vec<u8>) -> bool {
    match ty.layout(false).compare {
        Compare::Bytes => {
            out.extend_from_slice(stored);
            !matches!(ty, ColumnType::VarBinary { .. } | ColumnType::Blob { .. } | ColumnType::Json)
        }
        Compare::Collation(id) => {
            collation(id).sort_key(stored, out);
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
