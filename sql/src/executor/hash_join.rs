//! The rows of a table that a join finds by hash.
//!
//! When a step reads its table for the second time, it keeps the rows that pass the conditions on this table alone:
//!
//! ```text
//! places   hash of the key -> first and last row with it
//! next     row -> the next row with the same hash
//! bytes    per row of a stored table, per column that the query reads: length (4; FFFFFFFF is NULL), stored bytes
//!          per row of other tables: its place among those in memory, or its values
//! ```
//!
//! Rows of equal hash follow each other as they were read, so a join yields its rows in the order of nested loops. Other
//! keys may have the same hash: the equality is evaluated on what is found. A row whose key is NULL equals nothing. If one
//! of the values has no key, none are kept, and the table is read again for each row of those before it. If there is no
//! memory for all rows, both sides are divided ([`super::divided`]).

use std::hash::Hasher;
use std::rc::Rc;

use format::value::Decimal;
use rustc_hash::{FxHashMap, FxHasher};
use storage::{ColumnSet, Row};

use super::memory::Account;
use super::parts;
use super::row::{IN_VALUES, SourceRow};
use crate::error::Result;
use crate::expression::record::{Source, write_values};
use crate::expression::{Datum, EvalContext, Expr, Fields, group_key};
use crate::planner::{HashKey, KeyKind};

const NULL: u32 = u32::MAX;

/// The key of a row.
pub enum Key {
    Hash(u64),
    Null,
    /// Only a comparison tells what it equals.
    None,
}

/// How a row is copied.
#[derive(Clone)]
pub enum Form {
    /// These columns of a stored row.
    Stored {
        columns: Rc<[usize]>,
        column_count: usize,
    },
    /// Its place among rows in memory.
    Place,
    Values,
}

/// The rows of one table by the hash of their keys.
pub struct HashRows<'a> {
    form: Form,
    places: FxHashMap<u64, (u32, u32)>,
    next: Vec<u32>,
    bytes: Vec<u8>,
    starts: Vec<usize>,
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
    Ok(Key::Hash(parts::mixed(hasher.finish())))
}

pub fn build_columns(keys: &[HashKey]) -> impl Iterator<Item = (&Expr, KeyKind)> {
    keys.iter().map(|key| (&key.build, key.kind))
}

pub fn probe_columns(keys: &[HashKey]) -> impl Iterator<Item = (&Expr, KeyKind)> {
    keys.iter().map(|key| (&key.probe, key.kind))
}

impl Form {
    pub fn stored(needed: &ColumnSet, column_count: usize) -> Form {
        Form::Stored { columns: needed.iter().collect(), column_count }
    }

    /// Appends the current row of a source.
    pub fn write(&self, source: &SourceRow<'_>, out: &mut Vec<u8>) {
        match self {
            Form::Stored { columns, .. } => write_stored(columns, &source.stored, out),
            Form::Place => out.extend((source.at as u64).to_le_bytes()),
            Form::Values => write_values(source.derived(), out),
        }
    }

    /// Makes a copy the current row of its source again.
    pub fn read(&self, bytes: &[u8], source: &mut SourceRow<'_>) -> Result<()> {
        match self {
            Form::Stored { columns, column_count } => read_stored(columns, *column_count, bytes, &mut source.stored),
            Form::Place => {
                source.at = Source(bytes).u64()? as usize;
                Ok(())
            }
            Form::Values => {
                source.at = IN_VALUES;
                Source(bytes).values(&mut source.values)
            }
        }
    }
}

fn write_stored(columns: &[usize], row: &Row, out: &mut Vec<u8>) {
    for column in columns {
        match row.get(*column) {
            None => out.extend(NULL.to_le_bytes()),
            Some(stored) => {
                out.extend((stored.len() as u32).to_le_bytes());
                out.extend_from_slice(stored);
            }
        }
    }
}

fn read_stored(columns: &[usize], column_count: usize, bytes: &[u8], row: &mut Row) -> Result<()> {
    let mut source = Source(bytes);
    row.clear(column_count);
    for column in columns {
        let mut length = Source(source.0);
        if length.u32()? == NULL {
            source = length;
            row.set(*column, None);
        } else {
            row.set(*column, Some(source.bytes()?));
        }
    }
    Ok(())
}

impl<'a> HashRows<'a> {
    pub fn new(form: Form, account: Account<'a>) -> HashRows<'a> {
        let (bytes, starts) = (Vec::new(), vec![0]);
        HashRows { form, places: FxHashMap::default(), next: Vec::new(), bytes, starts, account }
    }

    /// Adds the current row of a source; false: there is no memory for more.
    pub fn add(&mut self, hash: u64, source: &SourceRow<'_>) -> bool {
        self.form.write(source, &mut self.bytes);
        self.link(hash)
    }

    /// Adds a row that was copied.
    pub fn add_copy(&mut self, hash: u64, copy: &[u8]) -> bool {
        self.bytes.extend_from_slice(copy);
        self.link(hash)
    }

    fn link(&mut self, hash: u64) -> bool {
        let number = self.next.len() as u32;
        self.starts.push(self.bytes.len());
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
        self.account.can_be(self.memory_bytes()) && number < NULL - 1
    }

    /// The memory that the rows take, and their places.
    fn memory_bytes(&self) -> u64 {
        let entry = size_of::<(u64, (u32, u32))>() + 1;
        let rows = self.starts.len() * size_of::<usize>() + self.next.len() * size_of::<u32>();
        (self.bytes.len() + rows + self.places.len() * entry * 8 / 7) as u64
    }

    /// All rows with their hashes; those of equal hash in their order.
    pub fn for_each(&self, visit: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        for (hash, (first, _)) in &self.places {
            let mut next = Some(*first);
            while let Some(row) = next {
                visit(*hash, self.copy(row))?;
                next = self.after(row);
            }
        }
        Ok(())
    }

    fn copy(&self, row: u32) -> &[u8] {
        let row = row as usize;
        &self.bytes[self.starts[row]..self.starts[row + 1]]
    }

    /// The first row with a hash.
    pub fn first(&self, hash: u64) -> Option<u32> {
        self.places.get(&hash).map(|(first, _)| *first)
    }

    /// The row behind one with the same hash.
    pub fn after(&self, row: u32) -> Option<u32> {
        Some(self.next[row as usize]).filter(|next| *next != NULL)
    }

    /// Brings a row to where expressions find it.
    pub fn take(&self, row: u32, source: &mut SourceRow<'_>) -> Result<()> {
        self.form.read(self.copy(row), source)
    }
}
