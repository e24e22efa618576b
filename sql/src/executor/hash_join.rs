//! The rows of a table that a join finds by hash.
//!
//! When a step reads its table for the second time, it keeps the rows that pass the conditions on this table alone:
//!
//! ```text
//! places   hash of the key -> first and last row with it
//! next     row -> the next row with the same hash
//! bytes    per row, per column that the query reads: length (4; FFFFFFFF is NULL), stored bytes
//! ```
//!
//! Rows of equal hash follow each other as they were read, so a join yields its rows in the order of nested loops. Other
//! keys may have the same hash: the equality is evaluated on what is found. A row whose key is NULL equals nothing. If
//! the rows need more memory than a statement's joins may have, or one of their values has no key, none are kept, and
//! the table is read again for each row of those before it.

use std::hash::Hasher;
use std::rc::Rc;

use format::value::Decimal;
use rustc_hash::{FxHashMap, FxHasher};
use storage::{ColumnSet, Row};

use super::memory::{Account, Memory};
use crate::error::Result;
use crate::expression::{Datum, EvalContext, Expr, Fields, group_key};
use crate::planner::{HashKey, KeyKind};

const NULL: u32 = u32::MAX;

/// What is known of a step's rows.
#[derive(Clone, Default)]
pub enum Kept<'a> {
    /// The table has not been read.
    #[default]
    Unread,
    /// It has been read once, and is kept when it is read again.
    ReadOnce,
    Rows(Rc<HashRows<'a>>),
    /// It cannot be kept.
    Refused,
}

/// The key of a row.
pub enum Key {
    Hash(u64),
    Null,
    /// Only a comparison tells what it equals.
    None,
}

/// Where the rows are.
enum Store {
    /// Copies of stored rows, and where each begins.
    Stored { bytes: Vec<u8>, starts: Vec<usize>, columns: Vec<usize>, column_count: usize },
    /// Places among the rows of a derived or virtual table.
    Derived { places: Vec<u32> },
}

/// The rows of one table by the hash of their keys.
pub struct HashRows<'a> {
    places: FxHashMap<u64, (u32, u32)>,
    next: Vec<u32>,
    store: Store,
    account: Account<'a>,
}

/// Computes the key of a row: of the columns of the table itself, or of those that are compared with them.
pub fn key<'e>(
    columns: impl Iterator<Item = (&'e Expr, KeyKind)>,
    context: &EvalContext<'_>,
    row: &dyn Fields,
    scratch: &mut Vec<u8>,
) -> Result<Key> {
    scratch.clear();
    for (expr, kind) in columns {
        let value = expr.eval(context, row)?;
        match (kind, &value) {
            (_, Datum::Null) => return Ok(Key::Null),
            (KeyKind::Integer, Datum::Int(_) | Datum::UInt(_)) => group_key(&value, expr.ty.collation, scratch),
            (KeyKind::Decimal, Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_)) => {
                let decimal = value.to_decimal(context)?;
                let decimal = if decimal.is_zero() { Decimal::ZERO } else { decimal };
                group_key(&Datum::Decimal(decimal), expr.ty.collation, scratch);
            }
            (KeyKind::Double, Datum::Int(_) | Datum::UInt(_) | Datum::Decimal(_) | Datum::Double(_)) => {
                group_key(&Datum::Double(value.to_f64(context)?), expr.ty.collation, scratch);
            }
            (KeyKind::Text(id), Datum::Bytes(_)) => group_key(&value, id, scratch),
            (KeyKind::Moment, Datum::Date(_) | Datum::DateTime(_))
            | (KeyKind::Time, Datum::Time(_))
            | (KeyKind::Json, Datum::Json(_)) => {
                group_key(&value, expr.ty.collation, scratch);
            }
            _ => return Ok(Key::None),
        }
    }
    let mut hasher = FxHasher::default();
    hasher.write(scratch);
    Ok(Key::Hash(hasher.finish()))
}

pub fn build_columns(keys: &[HashKey]) -> impl Iterator<Item = (&Expr, KeyKind)> {
    keys.iter().map(|key| (&key.build, key.kind))
}

pub fn probe_columns(keys: &[HashKey]) -> impl Iterator<Item = (&Expr, KeyKind)> {
    keys.iter().map(|key| (&key.probe, key.kind))
}

impl<'a> HashRows<'a> {
    /// Of a stored table, whose rows are copied.
    pub fn stored(memory: &'a Memory, needed: &ColumnSet, column_count: usize) -> HashRows<'a> {
        let columns = needed.iter().collect();
        HashRows::new(memory, Store::Stored { bytes: Vec::new(), starts: Vec::new(), columns, column_count })
    }

    /// Of rows that are in memory.
    pub fn derived(memory: &'a Memory) -> HashRows<'a> {
        HashRows::new(memory, Store::Derived { places: Vec::new() })
    }

    fn new(memory: &'a Memory, store: Store) -> HashRows<'a> {
        HashRows { places: FxHashMap::default(), next: Vec::new(), store, account: memory.account() }
    }

    /// Adds a row; false: there is no memory for it.
    pub fn add(&mut self, hash: u64, row: &Row, at: usize) -> bool {
        let number = self.next.len() as u32;
        if number == NULL {
            return false;
        }
        match &mut self.store {
            Store::Stored { bytes, starts, columns, .. } => {
                starts.push(bytes.len());
                for column in columns.iter() {
                    match row.get(*column) {
                        None => bytes.extend(NULL.to_ne_bytes()),
                        Some(stored) => {
                            bytes.extend((stored.len() as u32).to_ne_bytes());
                            bytes.extend_from_slice(stored);
                        }
                    }
                }
            }
            Store::Derived { places } => places.push(at as u32),
        }
        self.next.push(NULL);
        match self.places.get_mut(&hash) {
            Some((_, last)) => {
                self.next[*last as usize] = number;
                *last = number;
            }
            None => {
                self.places.insert(hash, (number, number));
            }
        }
        self.account.set(self.bytes()).is_ok()
    }

    /// The memory that is allocated.
    fn bytes(&self) -> u64 {
        let rows = match &self.store {
            Store::Stored { bytes, starts, .. } => bytes.capacity() + starts.capacity() * size_of::<usize>(),
            Store::Derived { places } => places.capacity() * size_of::<u32>(),
        };
        let entry = size_of::<(u64, (u32, u32))>() + 1;
        (rows + self.next.capacity() * size_of::<u32>() + self.places.capacity() * entry) as u64
    }

    /// The first row with a hash.
    pub fn first(&self, hash: u64) -> Option<u32> {
        self.places.get(&hash).map(|(first, _)| *first)
    }

    /// The row behind one with the same hash.
    pub fn after(&self, row: u32) -> Option<u32> {
        Some(self.next[row as usize]).filter(|next| *next != NULL)
    }

    /// Brings a row to where expressions find it: `stored`, or the place among the rows in memory.
    pub fn take(&self, row: u32, stored: &mut Row, at: &mut usize) {
        match &self.store {
            Store::Stored { bytes, starts, columns, column_count } => {
                let mut rest = &bytes[starts[row as usize]..];
                stored.clear(*column_count);
                for column in columns {
                    let Some((length, behind)) = rest.split_first_chunk::<4>() else { break };
                    let length = u32::from_ne_bytes(*length);
                    if length == NULL {
                        stored.set(*column, None);
                        rest = behind;
                    } else {
                        let (value, behind) = behind.split_at(length as usize);
                        stored.set(*column, Some(value));
                        rest = behind;
                    }
                }
            }
            Store::Derived { places } => *at = places[row as usize] as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_in_their_order_and_only_as_many_are_kept_as_there_is_memory_for() {
        let memory = Memory::of(200_000);
        let needed: ColumnSet = [0, 2].into_iter().collect();
        let mut rows = HashRows::stored(&memory, &needed, 3);
        let (mut row, mut kept) = (Row::new(), 0_u32);
        loop {
            row.clear(3);
            row.set(0, Some(&kept.to_be_bytes()));
            row.set(2, if kept % 3 == 0 { None } else { Some(b"text") });
            if !rows.add(u64::from(kept % 5), &row, 0) {
                break;
            }
            kept += 1;
        }
        assert!((1000..20_000).contains(&kept), "{kept} rows are kept");
        let (mut found, mut expected) = (rows.first(2), 2_u32);
        while let Some(number) = found.filter(|number| *number < kept) {
            rows.take(number, &mut row, &mut 0);
            assert_eq!(row.get(0), Some(&expected.to_be_bytes()[..]));
            assert_eq!(row.get(2), if expected % 3 == 0 { None } else { Some(&b"text"[..]) });
            assert!(!row.has(1), "a column that is not read is not kept");
            (found, expected) = (rows.after(number), expected + 5);
        }
        assert!(expected + 5 > kept && rows.first(9).is_none());
        drop(rows);
        memory.account().add(200_000).expect("dropped rows free their memory");
    }
}
