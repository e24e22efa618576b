//! A scan of several partitions.
//!
//! Where the order of an index counts, the partitions' scans are merged by its columns: each has one row in hand, and the
//! least of them is the next. Otherwise they follow each other, and the next is begun when the one before has ended.
//!
//! ```text
//!   p0   3 7 9          in hand: 3
//!   p1   1 4            in hand: 1   <- next
//!   p2   5              in hand: 5
//! ```
//!
//! The row that was given last is the one that its partition's scan read last: that scan reads on only when the next row is
//! asked for. So a row that does not match can be unlocked, or insisted on, as in a scan of one table.
//!
//! Rows of one index have the order of its columns, and behind them of those of the primary key, which each entry ends with;
//! rows that are equal in all of these come in the order of their partitions. A column of which the index has a beginning
//! only counts as equal, and so do those behind it: no query asks for such an order.

use std::cmp::Ordering;
use std::sync::Arc;

use storage::{ColumnSet, Cursor, ReadMode, Row, RowFilter, ScanRange, Table, Trx};

use super::PartitionSet;
use super::function::compare;

/// A scan of several partitions of a table.
pub struct Several<'k> {
    table: Arc<Table>,
    index: usize,
    mode: ReadMode,
    columns: ColumnSet,
    range: ScanRange<'k>,
    /// Partitions that are not begun yet, the next one last.
    left: Vec<usize>,
    /// Those that are merged; of those that follow each other, the current one.
    open: Vec<Open>,
    /// The places in `open` of scans with a row in hand, as a heap: the first has the next row.
    heap: Vec<usize>,
    ordered: bool,
    /// The columns whose order that is, and whether larger values come first.
    order: Vec<(usize, bool)>,
    /// The place in `open` of the scan whose row was given last.
    current: Option<usize>,
    filter: Option<Arc<RowFilter>>,
}

struct Open {
    partition: usize,
    cursor: Cursor,
    row: Row,
}

impl<'k> Several<'k> {
    /// `ordered`: the rows come in the order of the index.
    pub fn new(
        table: &Arc<Table>,
        partitions: &PartitionSet,
        index: usize,
        mode: ReadMode,
        columns: ColumnSet,
        range: ScanRange<'k>,
        ordered: bool,
    ) -> Several<'k> {
        let described = &table.indexes[index];
        let ordered = ordered && !described.is_hidden() && partitions.len() > 1;
        let mut columns = columns;
        let order = if ordered { order_of(table, index) } else { Vec::new() };
        order.iter().for_each(|(column, _)| columns.insert(*column));
        let mut left: Vec<usize> = partitions.iter().collect();
        left.reverse();
        Several {
            table: table.clone(),
            index,
            mode,
            columns,
            range,
            left,
            open: Vec::new(),
            heap: Vec::new(),
            ordered,
            order,
            current: None,
            filter: None,
        }
    }

    /// See [`Cursor::filter`].
    pub fn filter(&mut self, trx: &Trx, filter: &Arc<RowFilter>) -> bool {
        let is_taken = !trx.locks_what_it_reads(self.mode);
        self.filter = is_taken.then(|| filter.clone());
        is_taken
    }

    /// Whether the rows come in the order of the index.
    pub fn is_in_order(&self) -> bool {
        let is_whole = self.table.indexes[self.index].parts.iter().all(|part| part.prefix_chars.is_none());
        self.ordered && is_whole || self.left.len() + self.open.len() <= 1
    }

    fn begin(&mut self, trx: &mut Trx, partition: usize) -> storage::Result<()> {
        let table = &self.table.partitions()[partition];
        let mut cursor = trx.cursor(table, self.index, self.mode, self.columns, self.range)?;
        if let Some(filter) = &self.filter {
            let is_taken = cursor.filter(filter);
            assert!(is_taken, "a scan that does not lock takes a filter");
        }
        self.open.push(Open { partition, cursor, row: Row::new() });
        Ok(())
    }

    /// The next row; false = the end.
    pub fn next(&mut self, trx: &mut Trx, row: &mut Row) -> storage::Result<bool> {
        if self.ordered { self.next_in_order(trx, row) } else { self.next_in_turn(trx, row) }
    }

    fn next_in_turn(&mut self, trx: &mut Trx, row: &mut Row) -> storage::Result<bool> {
        loop {
            if let Some(open) = self.open.last_mut() {
                if open.cursor.next(trx, row)? {
                    row.partition = open.partition as u32;
                    self.current = Some(0);
                    return Ok(true);
                }
                self.open.clear();
                self.current = None;
            }
            let Some(partition) = self.left.pop() else { return Ok(false) };
            self.begin(trx, partition)?;
        }
    }

    fn next_in_order(&mut self, trx: &mut Trx, row: &mut Row) -> storage::Result<bool> {
        while let Some(partition) = self.left.pop() {
            self.begin(trx, partition)?;
            let at = self.open.len() - 1;
            let open = &mut self.open[at];
            if open.cursor.next(trx, &mut open.row)? {
                self.heap.push(at);
                self.rise(self.heap.len() - 1);
            }
        }
        if let Some(at) = self.current.take() {
            let open = &mut self.open[at];
            if !open.cursor.next(trx, &mut open.row)? {
                let last = self.heap.len() - 1;
                self.heap.swap(0, last);
                self.heap.pop();
            }
            self.sink();
        }
        let Some(&at) = self.heap.first() else { return Ok(false) };
        let open = &mut self.open[at];
        std::mem::swap(&mut open.row, row);
        row.partition = open.partition as u32;
        self.current = Some(at);
        Ok(true)
    }

    /// Whether the row in hand of one scan comes before that of another.
    fn precedes(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.open[a], &self.open[b]);
        let mut order = Ordering::Equal;
        for &(ordinal, descends) in &self.order {
            order = compare(&self.table.columns[ordinal], a.row.get(ordinal), b.row.get(ordinal));
            if descends {
                order = order.reverse();
            }
            if order != Ordering::Equal {
                break;
            }
        }
        let order = if self.range.reverse { order.reverse() } else { order };
        order.then(a.partition.cmp(&b.partition)) == Ordering::Less
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.precedes(self.heap[at], self.heap[(at - 1) / 2]) {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self) {
        let mut at = 0;
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.precedes(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// See [`Cursor::is_unlocked`].
    pub fn is_unlocked(&self) -> bool {
        self.current.is_some_and(|at| self.open[at].cursor.is_unlocked())
    }

    /// See [`Cursor::insist`].
    pub fn insist(&mut self) {
        if let Some(at) = self.current {
            self.open[at].cursor.insist();
        }
    }

    /// See [`Cursor::unlock_row`].
    pub fn unlock_row(&mut self, trx: &mut Trx) {
        if let Some(at) = self.current {
            self.open[at].cursor.unlock_row(trx);
        }
    }
}

/// The columns by which the entries of an index are ordered: its own, and those of the clustered index.
fn order_of(table: &Table, index: usize) -> Vec<(usize, bool)> {
    let (own, clustered) = (&table.indexes[index].parts, &table.indexes[0]);
    let behind = clustered.parts.iter().filter(|_| !clustered.is_hidden());
    let mut order: Vec<(usize, bool)> = Vec::new();
    for part in own.iter().chain(behind) {
        if order.iter().any(|(column, _)| *column == part.column) {
            continue;
        }
        if part.prefix_chars.is_some() {
            break;
        }
        order.push((part.column, part.order.descends()));
    }
    order
}
