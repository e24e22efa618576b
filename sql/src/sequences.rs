//! MariaDB's sequences: tables of one row, from which numbers are given that no one gets twice.
//!
//! ```text
//!   the row                      next_not_cached_value | minimum | maximum | start | increment | cache | cycle | cycle_count
//!   in memory                    next .. reserved
//!
//!   NEXTVAL   next < reserved    next moves on; the row is not read
//!             otherwise          reserved moves on by `cache` steps, is written into the row, and that is durable first
//!   SETVAL    within reserved    next is set
//!             beyond             next and reserved are, and the row is written
//! ```
//!
//! The row is ahead of what was given: after a crash, and for a replica, numbers may be missing, and none comes again. It
//! is written by transactions of its own, which commit whatever becomes of the transaction that asks; so a sequence is read
//! as it is now at any isolation level ([`storage::ReadMode::Newest`]), and nobody holds its row locked for long.
//!
//! A sequence is a table with the option `SEQUENCE=1`: storage, backups and dumps have nothing to know of it.
//!
//! Invariants:
//!
//! * Numbers are taken from memory, and the row is written, under the lock of the table's [`Giver`].
//! * Who writes the row without it ([`Giver::forget`]) has locked the row first: what is in memory is not used any more.
//!
//! Not here: the transactions and their events in the binary log (`session::sequence`), the statements (`ddl::sequence`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use format::value::{ColumnType, Value};
use parking_lot::Mutex;
use storage::schema::{Column, TableOptions};
use storage::{ColumnSet, Engine, ReadMode, Row, ScanRange, Table, Trx, TrxOptions};

use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::variables::Settings;

/// The option of tables that are sequences.
pub const OPTION: &str = "SEQUENCE";

/// The columns: name, unsigned, bytes, comment.
const COLUMNS: [(&str, bool, u8, &str); 8] = [
    ("next_not_cached_value", false, 8, ""),
    ("minimum_value", false, 8, ""),
    ("maximum_value", false, 8, ""),
    ("start_value", false, 8, "start value when sequences is created or value if RESTART is used"),
    ("increment", false, 8, "increment value"),
    ("cache_size", true, 8, ""),
    (
        "cycle_option",
        true,
        1,
        "0 if no cycles are allowed, 1 if the sequence should begin a new cycle when maximum_value is passed",
    ),
    ("cycle_count", false, 8, "How many cycles have been done"),
];

/// A step of 0 follows `auto_increment_increment`, which is no larger.
const SERVER_STEP_MAX: i64 = 65_535;

pub fn is_sequence(table: &Table) -> bool {
    has_option(&table.options)
}

pub fn has_option(options: &TableOptions) -> bool {
    options.create_options.iter().any(|(name, _)| &**name == OPTION)
}

/// The columns of a new sequence.
pub fn columns() -> Vec<Column> {
    let column = |(name, unsigned, bytes, comment): &(&str, bool, u8, &str)| Column {
        comment: (*comment).into(),
        ..Column::new(name, ColumnType::Int { bytes: *bytes, unsigned: *unsigned }, false)
    };
    COLUMNS.iter().map(column).collect()
}

/// What keeps a table of these columns from being a sequence: the name of the first wrong one, or what is wrong.
pub fn wrong_columns(columns: &[Column]) -> Option<String> {
    if columns.len() != COLUMNS.len() {
        return Some("Wrong number of columns".to_owned());
    }
    let is_right = |column: &Column, (name, unsigned, bytes, _): &(&str, bool, u8, &str)| {
        storage::same_name(&column.name, name)
            && column.ty == ColumnType::Int { bytes: *bytes, unsigned: *unsigned }
            && !column.nullable
            && column.generated.is_none()
            && !column.auto_increment
    };
    columns
        .iter()
        .zip(&COLUMNS)
        .find(|(column, wanted)| !is_right(column, wanted))
        .map(|(column, _)| column.name.to_string())
}

/// The row of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    pub next_not_cached: i64,
    pub minimum: i64,
    pub maximum: i64,
    pub start: i64,
    /// 0: what `auto_increment_increment` and `auto_increment_offset` say.
    pub increment: i64,
    pub cache: i64,
    pub cycles: bool,
    pub cycle_count: i64,
}

/// What the server says of steps: `auto_increment_increment` and `auto_increment_offset`.
#[derive(Clone, Copy, Debug)]
pub struct ServerSteps {
    pub increment: u64,
    pub offset: u64,
}

impl ServerSteps {
    pub fn of(settings: &Settings) -> ServerSteps {
        ServerSteps { increment: settings.auto_increment_increment, offset: settings.auto_increment_offset }
    }

    fn step(self) -> i64 {
        (self.increment.max(1) as i64).min(SERVER_STEP_MAX)
    }
}

impl Definition {
    /// The bounds of a sequence that names none.
    pub fn usual_bounds(increment: i64) -> (i64, i64) {
        match increment >= 0 {
            true => (1, i64::MAX - 1),
            false => (i64::MIN + 1, -1),
        }
    }

    /// Whether numbers can be given by it.
    pub fn is_valid(&self, steps: ServerSteps) -> bool {
        let largest = match self.increment {
            0 => SERVER_STEP_MAX,
            step => step.saturating_abs(),
        };
        let room = (i64::MAX - largest) / largest;
        let next = Counters::of(*self, steps).next;
        let is_within = match self.increment >= 0 {
            true => self.next_not_cached >= self.minimum,
            false => self.next_not_cached <= self.maximum,
        };
        self.minimum < self.maximum
            && (self.minimum..=self.maximum).contains(&self.start)
            && self.maximum != i64::MAX
            && self.minimum != i64::MIN
            && (0..room).contains(&self.cache)
            && is_within
            && next != i64::MIN
    }

    /// The row as it is stored.
    pub fn values(&self, table: &Table) -> Result<Vec<Vec<u8>>> {
        let values = [
            Value::Int(self.next_not_cached),
            Value::Int(self.minimum),
            Value::Int(self.maximum),
            Value::Int(self.start),
            Value::Int(self.increment),
            Value::UInt(self.cache as u64),
            Value::UInt(self.cycles.into()),
            Value::Int(self.cycle_count),
        ];
        let stored = values.iter().zip(&table.columns).map(|(value, column)| {
            let mut bytes = Vec::new();
            match column.ty.encode(value, &mut bytes) {
                Ok(()) => Ok(bytes),
                Err(error) => Err(Error::internal(format!("encode a sequence: {error:?}"))),
            }
        });
        stored.collect()
    }

    /// The definition that stored values are.
    pub fn of_values<'v>(table: &Table, value: impl Fn(usize) -> Option<&'v [u8]>) -> Definition {
        let number = |at: usize| match value(at).map(|stored| table.columns[at].ty.decode(stored)) {
            Some(Value::Int(number)) => number,
            // One that is too large is refused where definitions are checked.
            Some(Value::UInt(number)) => i64::try_from(number).unwrap_or(i64::MAX),
            _ => 0,
        };
        Definition {
            next_not_cached: number(0),
            minimum: number(1),
            maximum: number(2),
            start: number(3),
            increment: number(4),
            cache: number(5),
            cycles: number(6) != 0,
            cycle_count: number(7),
        }
    }

    /// The values of the row, with commas between.
    pub fn list(&self) -> String {
        let Definition { next_not_cached, minimum, maximum, start, increment, cache, cycles, cycle_count } = self;
        let cycles = i32::from(*cycles);
        format!("{next_not_cached}, {minimum}, {maximum}, {start}, {increment}, {cache}, {cycles}, {cycle_count}")
    }

    /// The words of CREATE SEQUENCE behind the name.
    pub fn text(&self) -> String {
        let Definition { start, minimum, maximum, increment, .. } = self;
        let cache = if self.cache == 0 { "nocache".to_owned() } else { format!("cache {}", self.cache) };
        let cycle = if self.cycles { "cycle" } else { "nocycle" };
        format!("start with {start} minvalue {minimum} maxvalue {maximum} increment by {increment} {cache} {cycle}")
    }
}

/// Where a sequence stands. A number is given if it lies before `reserved`, in the direction of the steps.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    pub definition: Definition,
    next: i64,
    reserved: i64,
    step: i64,
    /// No more numbers come, whatever `next` is.
    is_exhausted: bool,
    steps: ServerSteps,
}

impl Counters {
    /// Behind what the row says.
    pub fn of(definition: Definition, steps: ServerSteps) -> Counters {
        let reserved = definition.next_not_cached;
        let step = if definition.increment == 0 { steps.step() } else { definition.increment };
        let mut counters = Counters { definition, next: reserved, reserved, step, is_exhausted: false, steps };
        counters.go_to(reserved);
        counters
    }

    /// The next number is this one, or, with the server's steps, the first one of them from here on.
    fn go_to(&mut self, value: i64) {
        self.next = value;
        if self.definition.increment != 0 {
            return;
        }
        let offset = (self.steps.offset as i64).rem_euclid(self.step);
        let missing = (offset - value.rem_euclid(self.step)).rem_euclid(self.step);
        self.next = match value.checked_add(missing) {
            Some(next) if next <= self.definition.maximum => next,
            _ => self.end(),
        };
    }

    /// The number behind the last one.
    fn end(&self) -> i64 {
        match self.step > 0 {
            true => self.definition.maximum + 1,
            false => self.definition.minimum - 1,
        }
    }

    /// `value` and so many steps more, or the number behind the last one.
    fn ahead(&self, value: i64, steps: i64) -> i64 {
        let within = |sum: &i64| match self.step > 0 {
            true => *sum <= self.definition.maximum,
            false => *sum >= self.definition.minimum,
        };
        steps.checked_mul(self.step).and_then(|far| value.checked_add(far)).filter(within).unwrap_or(self.end())
    }

    fn is_before(&self, value: i64, other: i64) -> bool {
        if self.step > 0 { value < other } else { value > other }
    }

    /// A number that is reserved.
    pub fn take(&mut self) -> Option<i64> {
        if self.is_exhausted || !self.is_before(self.next, self.reserved) {
            return None;
        }
        let value = self.next;
        self.next = self.ahead(value, 1);
        Some(value)
    }

    /// Reserves numbers, and gives the first; the row is to be written then. `None`: there are none left.
    pub fn reserve(&mut self) -> Option<i64> {
        if self.is_exhausted {
            return None;
        }
        for _ in 0..2 {
            self.reserved = self.ahead(self.reserved, self.definition.cache.max(1));
            if let Some(value) = self.take() {
                self.definition.next_not_cached = self.reserved;
                return Some(value);
            }
            if !self.definition.cycles {
                break;
            }
            self.definition.cycle_count = self.definition.cycle_count.wrapping_add(1);
            let first = if self.step > 0 { self.definition.minimum } else { self.definition.maximum };
            self.reserved = first;
            self.go_to(first);
        }
        self.is_exhausted = true;
        None
    }

    /// The next number, reserved or not; the row is to be written if the definition is another one then.
    pub fn next_or_reserve(&mut self) -> Option<i64> {
        self.take().or_else(|| self.reserve())
    }

    /// SETVAL: whether that goes forward, and whether the row is to be written then.
    pub fn set(&mut self, value: i64, is_used: bool, cycle: i64) -> Set {
        let value = if is_used { self.ahead(value, 1) } else { value };
        let known = self.definition.cycle_count;
        if cycle < known || cycle == known && self.is_before(value, self.next) {
            return Set::Back;
        }
        if cycle > known && !self.definition.cycles {
            return Set::Beyond;
        }
        self.go_to(value);
        self.is_exhausted = false;
        if cycle == known && !self.is_before(self.reserved, self.next) {
            return Set::InMemory;
        }
        self.definition.cycle_count = cycle;
        self.reserved = self.next;
        self.definition.next_not_cached = self.reserved;
        Set::InRow
    }
}

/// What became of SETVAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Nothing: numbers behind that one were given.
    Back,
    /// Nothing: the sequence has one cycle only.
    Beyond,
    /// The next number is one that was reserved.
    InMemory,
    /// The row is to be written.
    InRow,
}

/// What all sessions share of a sequence.
#[derive(Default)]
pub struct Giver {
    /// Where it stands, and the epoch in which that was read of the row.
    counters: Mutex<Option<(Counters, u64)>>,
    epoch: AtomicU64,
}

impl Giver {
    pub fn of(table: &Table) -> Arc<Giver> {
        table.state.kept.get_or_init(Giver::default)
    }

    /// What is in memory does not count any more: the row has been changed by another transaction, which has it locked.
    pub fn forget(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// Looks at the counters, or changes them. `write` is called if they ask for it, to read the row and to write it; what it
    /// fails with leaves nothing in memory.
    pub fn with<T>(
        &self,
        from_memory: impl FnOnce(&mut Counters) -> Option<T>,
        write: impl FnOnce(Option<Counters>) -> Result<(Counters, T)>,
    ) -> Result<T> {
        let mut place = self.counters.lock();
        // The epoch first: who changes the row later makes this one old.
        let epoch = self.epoch.load(Ordering::SeqCst);
        let mut known = place.take().filter(|(_, of)| *of == epoch).map(|(counters, _)| counters);
        if let Some(counters) = &mut known
            && let Some(value) = from_memory(counters)
        {
            *place = Some((*counters, epoch));
            return Ok(value);
        }
        let epoch = self.epoch.load(Ordering::SeqCst);
        let (counters, value) = write(known)?;
        *place = Some((counters, epoch));
        Ok(value)
    }
}

/// Reads the row under an exclusive lock, for a transaction that changes it.
pub fn locked_row(trx: &mut Trx, table: &Arc<Table>) -> Result<Option<Row>> {
    let columns = ColumnSet::first(table.columns.len());
    let mut cursor = trx.cursor(table, 0, ReadMode::EXCLUSIVE, columns, ScanRange::ALL).or_sql()?;
    let mut row = Row::new();
    Ok(cursor.next(trx, &mut row).or_sql()?.then_some(row))
}

/// Writes the row.
pub fn put_row(trx: &mut Trx, table: &Arc<Table>, row: Option<&Row>, definition: &Definition) -> Result<()> {
    let values = definition.values(table)?;
    match row {
        Some(row) => {
            let changes: Vec<(usize, Option<&[u8]>)> =
                values.iter().enumerate().map(|(at, value)| (at, Some(value.as_slice()))).collect();
            trx.update(table, row, &changes).or_sql()
        }
        None => {
            let values: Vec<Option<&[u8]>> = values.iter().map(|value| Some(value.as_slice())).collect();
            trx.insert(table, &values).or_sql()
        }
    }
}

/// The row as it is now.
pub fn newest(engine: &Arc<Engine>, table: &Arc<Table>, options: TrxOptions) -> Result<Option<Definition>> {
    let columns = ColumnSet::first(table.columns.len());
    let mut trx = engine.begin(options);
    let mut cursor = trx.cursor(table, 0, ReadMode::Newest, columns, ScanRange::ALL).or_sql()?;
    let mut row = Row::new();
    let found = cursor.next(&mut trx, &mut row).or_sql()?;
    Ok(found.then(|| Definition::of_values(table, |at| row.get(at))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: ServerSteps = ServerSteps { increment: 1, offset: 1 };

    fn definition(increment: i64, (minimum, maximum): (i64, i64), start: i64, cache: i64) -> Definition {
        let next_not_cached = start;
        Definition { next_not_cached, minimum, maximum, start, increment, cache, cycles: false, cycle_count: 0 }
    }

    /// The next numbers, and what the row says behind each.
    fn given(counters: &mut Counters, count: usize) -> Vec<Option<(i64, i64)>> {
        let mut next = || {
            let value = counters.next_or_reserve()?;
            Some((value, counters.definition.next_not_cached))
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn numbers_end_at_the_bound_and_begin_again_in_a_cycle() {
        let mut once = Counters::of(definition(1, (1, 3), 1, 2), STEPS);
        assert_eq!(given(&mut once, 5), [Some((1, 3)), Some((2, 3)), Some((3, 4)), None, None]);
        let cycles = Definition { cycles: true, ..definition(-2, (1, 4), 4, 0) };
        let mut again = Counters::of(cycles, STEPS);
        assert_eq!(given(&mut again, 3), [Some((4, 2)), Some((2, 0)), Some((4, 2))]);
        assert_eq!(again.definition.cycle_count, 1);
    }

    #[test]
    fn bounds_at_the_ends_of_the_range_do_not_overflow() {
        let last = i64::MAX - 1;
        let mut up = Counters::of(definition(i64::MAX / 2, (1, last), last - 1, 1), STEPS);
        assert_eq!(given(&mut up, 2), [Some((last - 1, i64::MAX)), None]);
        let first = i64::MIN + 1;
        let mut down = Counters::of(definition(-1, (first, -1), first, 1000), STEPS);
        assert_eq!(given(&mut down, 2), [Some((first, i64::MIN)), None]);
    }

    #[test]
    fn a_value_is_set_forward_only() {
        let mut counters = Counters::of(definition(1, (1, 100), 1, 10), STEPS);
        assert_eq!(counters.set(10, true, 0), Set::InRow);
        assert_eq!(given(&mut counters, 1), [Some((11, 21))]);
        assert_eq!(counters.set(12, true, 0), Set::InMemory);
        assert_eq!(counters.set(12, true, 0), Set::InMemory);
        assert_eq!(counters.set(12, false, 0), Set::Back);
        assert_eq!(given(&mut counters, 1), [Some((13, 21))]);
        assert_eq!(counters.set(5, false, 1), Set::Beyond);
        assert_eq!(counters.definition.cycle_count, 0);
    }

    #[test]
    fn a_step_of_zero_is_the_servers() {
        let steps = ServerSteps { increment: 2, offset: 2 };
        let mut counters = Counters::of(definition(0, (-1000, 5000), -3, 1000), steps);
        assert_eq!(given(&mut counters, 2), [Some((-2, 1997)), Some((0, 1997))]);
        let mut later = Counters::of(counters.definition, steps);
        assert_eq!(given(&mut later, 1), [Some((1998, 3997))]);
    }
}
