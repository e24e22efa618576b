//! Plans at work: rows are found, joined, grouped, sorted, changed.
//!
//! Rows are *pushed*: each step of a join calls the next one for every row that it
//! finds, and the last one calls the consumer. A consumer that has enough
//! (LIMIT) answers false, and everything unwinds. Only what must be is kept:
//! groups, rows to sort, rows of derived tables; and rows of a join that would be read again and again. What they take is
//! told in [`memory`]; what does not fit is in temporary files.
//!
//! ```text
//! scan a -> scan b (key from a's row) -> filter -> group | sort | distinct | limit -> sink
//! ```
//!
//! A row is never decoded as a whole. An expression asks for a slot and gets a
//! [`Datum`] that borrows the stored bytes; a query whose
//! output is plain columns hands storage's row to the client as it is.
//!
//! The transaction is in a cell: a subquery inside an expression reads through it
//! while its outer query stands between two rows.

pub mod apply;
pub mod change;
mod divided;
mod elements;
pub mod follow;
mod found;
mod fulltext;
mod grace;
mod grouping;
mod hash_join;
pub mod insert;
mod insert_fields;
mod join;
pub mod joined_change;
mod json_table;
mod keys;
pub mod load;
pub mod memory;
pub mod outfile;
mod output;
mod parts;
pub mod query;
mod recursion;
pub mod row;
pub mod row_rules;
pub mod rows;
mod scan;
mod sets;
pub mod sort;
mod sorter;
pub mod stored;
pub mod text_reader;
mod triggers;
mod view_check;
mod virtual_rows;
mod window;
mod xml_reader;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use format::collation::CollationId;
use format::value::Value;
use rustc_hash::FxHashMap;
use storage::{Row, Trx};

use self::memory::{Account, Memory, Purpose, row_bytes};
use self::rows::{RowMaker, Rows, RowsMade};
use self::sort::StoredSorter;
use self::stored::Stored;
use crate::error::{Error, Result};
use crate::expression::fulltext::Search;
use crate::expression::lists::{List, Lists};
use crate::expression::{Comparison, Datum, EvalContext, Expr, Fields, Subqueries, group_key};
use crate::information_schema::Facts;
use crate::instance::Instance;
use crate::key_table::KeyTable;
use crate::planner::explain_tree::shown;
use crate::planner::keys::KeyRanges;
use crate::planner::profile::Profile;
use crate::planner::returning::Returning;
use crate::planner::{SelectPlan, SubqueryPlan};
use crate::row_log::RowLog;

/// What all plans of one statement share.
pub struct Environment<'a> {
    pub instance: &'a Instance,
    pub trx: &'a RefCell<Trx>,
    /// How many `?` the statement has: the outer columns of subqueries follow them.
    pub parameter_count: usize,
    /// What virtual tables are made of.
    pub facts: Facts<'a>,
    /// Rows kept for sorting, grouping, joins and derived tables.
    pub memory: Memory<'a>,
    /// Rows looked at, see [`Environment::tick`].
    pub ticks: Cell<u32>,
    /// The rows of derived tables, by their numbers: each is made once.
    pub derived: RefCell<FxHashMap<usize, Rows>>,
    /// The searches of MATCH: each text is looked for once.
    pub searches: RefCell<Vec<Rc<fulltext::Found>>>,
    /// Rows that SQL_CALC_FOUND_ROWS counted.
    pub found_rows: Cell<u64>,
    pub scratch: &'a RefCell<Scratch>,
    /// The rows of RETURNING.
    pub returned: RefCell<RowsMade>,
    /// EXPLAIN ANALYZE.
    pub profile: Option<&'a Profile>,
    /// Where changes of rows are logged, if they are.
    pub log: Option<&'a RefCell<RowLog>>,
}

/// Rows that are looked at before the statement looks whether it was killed.
const TICKS: u32 = 64;

impl Environment<'_> {
    /// Called for each row in every loop: now and then it looks whether the statement was killed. All loops count
    /// together, so that many short ones within a long one are no different from the long one.
    #[inline]
    pub fn tick(&self, context: &EvalContext<'_>) -> Result<()> {
        let ticks = self.ticks.get().wrapping_add(1);
        self.ticks.set(ticks);
        match ticks.is_multiple_of(TICKS) && context.session.is_interrupted() {
            true => Err(Error::interrupted()),
            false => Ok(()),
        }
    }

    /// Keeps a row for RETURNING.
    pub fn return_row(&self, returning: &Returning, context: &EvalContext<'_>, row: &dyn Fields) -> Result<()> {
        let values = returning.output.iter().map(|expr| expr.value(context, row)).collect::<Result<Vec<_>>>()?;
        let mut returned = self.returned.borrow_mut();
        let (kept, bytes_max) = (returned.bytes(), self.memory.limit_of(Purpose::Table));
        returned.push(&values, &self.memory, |bytes| self.memory.keeps(bytes_max, kept, bytes))
    }
}

/// Buffers that statements reuse, so that a warm session need not allocate.
#[derive(Default)]
pub struct Scratch {
    pub ranges: Vec<KeyRanges>,
    pub rows: Vec<Row>,
    pub sorter: StoredSorter,
    /// Values that an UPDATE assigns.
    pub stored: Stored,
}

/// How many buffers of a kind are kept.
const SCRATCH_MAX: usize = 8;
/// A sorter that grew beyond this is freed, not reused.
const SORTER_BYTES_KEPT: usize = 1 << 20;
/// The same for assigned values.
const STORED_BYTES_KEPT: usize = 64 << 10;

impl Scratch {
    pub fn give_back_ranges(&mut self, ranges: KeyRanges) {
        if self.ranges.len() < SCRATCH_MAX {
            self.ranges.push(ranges);
        }
    }

    pub fn give_back_row(&mut self, row: Row) {
        if self.rows.len() < SCRATCH_MAX {
            self.rows.push(row);
        }
    }

    pub fn give_back_stored(&mut self, stored: Stored) {
        if stored.bytes.capacity() < STORED_BYTES_KEPT {
            self.stored = stored;
        }
    }

    pub fn give_back_sorter(&mut self, sorter: StoredSorter) {
        if sorter.capacity_bytes() < SORTER_BYTES_KEPT {
            self.sorter = sorter;
        }
    }
}

/// The values of scalar subqueries, by what they read of the outer row.
#[derive(Default)]
struct ScalarValues {
    keys: KeyTable,
    /// number of a key -> value
    values: Vec<Value>,
}

/// The subqueries of one query, and the results of those that do not change.
pub struct Level<'a> {
    pub environment: &'a Environment<'a>,
    pub subqueries: &'a [SubqueryPlan],
    /// The query, unless it is one of values alone.
    query: Option<&'a SelectPlan>,
    results: RefCell<Vec<Option<Rows>>>,
    values: RefCell<ScalarValues>,
    /// Where their keys are made.
    key: Cell<Vec<u8>>,
    /// The results as sets, by their numbers; None: they cannot be one.
    sets: RefCell<FxHashMap<usize, Option<Rc<List>>>>,
    account: RefCell<Account<'a>>,
    pub lists: Lists,
}

/// How many values of a statement's scalar subqueries are kept.
const VALUES_MAX: usize = 100_000;

impl<'a> Level<'a> {
    pub fn new(environment: &'a Environment<'a>, subqueries: &'a [SubqueryPlan]) -> Level<'a> {
        let account = RefCell::new(environment.memory.account());
        let (results, values, sets) = (RefCell::default(), RefCell::default(), RefCell::default());
        let key = Cell::default();
        Level { environment, subqueries, query: None, results, values, key, sets, account, lists: Lists::default() }
    }

    /// The level of a query.
    pub fn of(environment: &'a Environment<'a>, query: &'a SelectPlan) -> Level<'a> {
        Level { query: Some(query), ..Level::new(environment, &query.subqueries) }
    }

    /// Runs a subquery, calling `visit` for its rows.
    fn run(
        &self,
        query: usize,
        context: &EvalContext<'_>,
        outer: &dyn Fields,
        visit: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        let subquery = &self.subqueries[query];
        let statement = &context.parameters[..self.environment.parameter_count.min(context.parameters.len())];
        if subquery.outer.is_empty() {
            let inner = EvalContext { parameters: statement, ..*context };
            return query::run(self.environment, &subquery.plan, &inner, visit);
        }
        let mut parameters = statement.to_vec();
        parameters.resize(self.environment.parameter_count, Value::Null);
        for expr in &subquery.outer {
            parameters.push(expr.eval(context, outer)?.into_value());
        }
        let inner = EvalContext { parameters: &parameters, ..*context };
        query::run(self.environment, &subquery.plan, &inner, visit)
    }

    /// Makes a key of what a scalar subquery reads of the outer row; false: its value is not kept.
    fn write_key(
        &self,
        query: usize,
        column: usize,
        context: &EvalContext<'_>,
        outer: &dyn Fields,
        key: &mut Vec<u8>,
    ) -> Result<bool> {
        let subquery = &self.subqueries[query];
        if !subquery.is_kept {
            return Ok(false);
        }
        key.clear();
        key.extend_from_slice(&query.to_le_bytes());
        key.extend_from_slice(&column.to_le_bytes());
        for expr in &subquery.outer {
            let value = expr.eval(context, outer)?;
            // Decimals and doubles may be equal and differ in digits or sign.
            if matches!(value, Datum::Decimal(_) | Datum::Double(_)) {
                return Ok(false);
            }
            group_key(&value, CollationId::BINARY, key);
        }
        Ok(true)
    }

    /// Makes a set of the rows of a subquery. None: they cannot be one, or there is no memory for it.
    fn list_of(&self, rows: &Rows, hows: &[Comparison], context: &EvalContext<'_>) -> Result<Option<List>> {
        let mut list = Some(List::default());
        let mut number = 0;
        rows.for_each(&mut |row| {
            self.environment.tick(context)?;
            let values: Vec<_> = hows.iter().copied().zip(row.iter().map(Datum::from)).collect();
            let added = list.as_mut().and_then(|list| list.add(number, &values));
            // A duplicate takes nothing.
            let fits = added.is_some_and(|added| !added || self.account.borrow_mut().fits(row_bytes(row)));
            if !fits {
                list = None;
            }
            number += 1;
            Ok(list.is_some())
        })?;
        Ok(list)
    }

    /// The rows of a subquery that reads nothing of its outer row: run once.
    fn constant(&self, query: usize, context: &EvalContext<'_>, outer: &dyn Fields) -> Result<Rows> {
        if let Some(Some(rows)) = self.results.borrow().get(query) {
            return Ok(rows.clone());
        }
        let mut rows = RowMaker::new(&self.environment.memory);
        self.run(query, context, outer, &mut |row| {
            self.environment.tick(context)?;
            rows.push(row).map(|()| true)
        })?;
        let rows = rows.finish()?;
        let mut results = self.results.borrow_mut();
        if results.len() <= query {
            results.resize(self.subqueries.len(), None);
        }
        results[query] = Some(rows.clone());
        Ok(rows)
    }
}

impl Subqueries for Level<'_> {
    fn text(&self, expr: &Expr) -> Option<String> {
        self.query.map(|query| shown(expr, query))
    }

    fn scalar(&self, query: usize, column: usize, context: &EvalContext<'_>, outer: &dyn Fields) -> Result<Value> {
        let mut key = self.key.take();
        let is_kept = self.write_key(query, column, context, outer, &mut key)?;
        if is_kept {
            let known = self.values.borrow();
            if let Some(number) = known.keys.find(&key) {
                self.key.set(key);
                return Ok(known.values[number].clone());
            }
        }
        let mut result = None;
        self.rows(query, context, outer, &mut |row| {
            if result.is_some() {
                if !context.ignores {
                    return Err(Error::subquery_rows());
                }
                context.warn(Error::subquery_rows());
                result = Some(Value::Null);
                return Ok(false);
            }
            result = Some(row[column].clone());
            Ok(true)
        })?;
        let result = result.unwrap_or(Value::Null);
        let mut known = self.values.borrow_mut();
        if is_kept && known.values.len() < VALUES_MAX {
            let bytes = key.len() as u64 + row_bytes(std::slice::from_ref(&result));
            // Where there is no memory left, it runs again.
            if self.account.borrow_mut().fits(bytes) && known.keys.insert(&key).1 {
                known.values.push(result.clone());
            }
        }
        self.key.set(key);
        Ok(result)
    }

    fn exists(&self, query: usize, context: &EvalContext<'_>, outer: &dyn Fields) -> Result<bool> {
        if self.subqueries[query].is_constant {
            return Ok(!self.constant(query, context, outer)?.is_empty());
        }
        let mut found = false;
        self.run(query, context, outer, &mut |_| {
            found = true;
            Ok(false)
        })?;
        Ok(found)
    }

    fn list(
        &self,
        query: usize,
        hows: &[Comparison],
        context: &EvalContext<'_>,
        outer: &dyn Fields,
    ) -> Result<Option<Rc<List>>> {
        if !self.subqueries[query].is_constant {
            return Ok(None);
        }
        if let Some(known) = self.sets.borrow().get(&query) {
            return Ok(known.clone());
        }
        let rows = self.constant(query, context, outer)?;
        let list = self.list_of(&rows, hows, context)?.map(Rc::new);
        self.sets.borrow_mut().insert(query, list.clone());
        Ok(list)
    }

    fn relevance(&self, search: &Search, args: &[Expr], context: &EvalContext<'_>, row: &dyn Fields) -> Result<f64> {
        fulltext::relevance(self.environment, search, args, context, row)
    }

    fn rows(
        &self,
        query: usize,
        context: &EvalContext<'_>,
        outer: &dyn Fields,
        visit: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        if !self.subqueries[query].is_constant {
            return self.run(query, context, outer, visit);
        }
        self.constant(query, context, outer)?.for_each(&mut |row| {
            self.environment.tick(context)?;
            visit(row)
        })
    }
}
