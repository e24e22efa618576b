//! Rows of a source's binary log as changes of tables.
//!
//! ```text
//!   Write     image after  --------------------------------> insert
//!   Delete    image before --- finds the row -------------> delete
//!   Update    image before --- finds the row, image after -> update of the columns that differ
//!
//!   finds:  1. a unique key whose columns are all in the image and never NULL, the primary key first
//!           2. another index whose columns are in the image: its rows, compared with the image
//!           3. all rows, compared with the image
//! ```
//!
//! Columns match by position, as in MySQL. A column of the source may be narrower than ours, never wider: then the
//! event is refused (1677) before anything is changed. Columns that only we have get their defaults.

use std::cell::RefCell;
use std::sync::Arc;

use format::binlog::json_diff::DiffError;
use format::binlog::rows::{Cell, RowImage};
use format::binlog::stored::column_of;
use format::binlog::table_map::{Column as SourceColumn, ColumnSize};
use format::binlog::{ColumnCode, Rows, RowsKind, TableMap, json_diff};
use format::collation::{Collation, CollationId, collation};
use format::value::{ColumnType, DateTime, Json, Value, Zone};
use storage::schema::ColumnDefault;
use storage::{ColumnSet, Engine, Interrupt, ReadMode, Row, ScanRange, Table, Trx};

use super::change::{auto_value, change_error};
use super::row_rules::RowTarget;
use super::stored::Stored;
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::expression::assign::zero_of;
use crate::expression::{AssignMode, EvalContext, geometry};
use crate::partitions::rows::{self, Division, Failure};
use crate::partitions::{PartitionSet, Several};
use crate::planner::row_rules::RowRules;
use crate::row_log::RowLog;
use crate::sequences;

/// What rows of a source are applied with.
pub struct RowApplier<'a> {
    pub engine: &'a Engine,
    pub trx: &'a RefCell<Trx>,
    pub table: &'a Arc<Table>,
    pub log: Option<&'a RefCell<RowLog>>,
    /// `replica_exec_mode=IDEMPOTENT`: rows that are there already are replaced, those that are missing passed over.
    pub is_idempotent: bool,
    /// When the source ran the statement, for columns that only we have.
    pub now_micros: i64,
    /// What the table says of its rows, and what that is evaluated with.
    pub rules: &'a RowRules,
    pub context: &'a EvalContext<'a>,
    /// Of a table in partitions.
    pub division: Option<Division>,
    /// KILL and STOP REPLICA.
    pub interrupt: &'a Interrupt,
}

/// Rows between two looks whether the statement is to end.
const INTERRUPT_EVERY: u64 = 64;

impl RowApplier<'_> {
    /// Applies all rows of an event.
    pub fn apply(&self, map: &TableMap, rows: &Rows<'_>) -> Result<()> {
        self.check_columns(map)?;
        let malformed = |cause: format::Error| {
            Error::new(1610, b"HY000", format!("Corrupted replication event was detected: {cause}"))
        };
        let mut images = rows.images(map).map_err(malformed)?;
        let (mut before, mut after) = (Stored::default(), Stored::default());
        let mut row = Row::new();
        let mut count = 0_u64;
        while let Some((image_before, image_after)) = images.next_row().map_err(malformed)? {
            count += 1;
            if count.is_multiple_of(INTERRUPT_EVERY) && self.interrupt.is_set() {
                return Err(Error::interrupted());
            }
            let known_before = self.decode(map, image_before.as_ref(), None, &mut before)?;
            match rows.kind {
                RowsKind::Write => {
                    let known_after = self.decode(map, image_after.as_ref(), None, &mut after)?;
                    self.insert(&known_after, &mut after, &mut row)?;
                }
                RowsKind::Delete => {
                    if self.found(&known_before, &before, &mut row)? {
                        rows::delete(&mut self.trx.borrow_mut(), self.table, &row).or_sql()?;
                        if let Some(log) = self.log {
                            log.borrow_mut().delete(self.table, &|column| row.get(column))?;
                        }
                    }
                }
                RowsKind::Update | RowsKind::PartialUpdate => {
                    if self.found(&known_before, &before, &mut row)? {
                        let mut known_after = self.decode(map, image_after.as_ref(), Some(&row), &mut after)?;
                        self.complete(&mut known_after, &mut after, &row)?;
                        self.update(&known_after, &after, &row)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_columns(&self, map: &TableMap) -> Result<()> {
        for (at, (source, own)) in map.columns.iter().zip(&self.table.columns).enumerate() {
            if !is_convertible(source, &own.ty) {
                let (database, table) = (&self.table.database, &self.table.name);
                let own_type = crate::describe::column_type(&own.ty);
                let text = format!(
                    "Column {at} of table '{database}.{table}' cannot be converted from type '{}' to type '{own_type}'",
                    type_name(source)
                );
                return Err(Error::new(1677, b"HY000", text));
            }
        }
        Ok(())
    }

    /// The stored bytes of an image's columns. Returns which columns it has. `row`: what changes of values are made to.
    fn decode(
        &self,
        map: &TableMap,
        image: Option<&RowImage<'_>>,
        row: Option<&Row>,
        out: &mut Stored,
    ) -> Result<Vec<bool>> {
        out.clear();
        let mut known = vec![false; self.table.columns.len()];
        let Some(image) = image else { return Ok(known) };
        for (at, own) in self.table.columns.iter().enumerate() {
            match image.get(at).copied().flatten() {
                None => out.push_bytes(None),
                Some(Cell::Null) => {
                    known[at] = true;
                    out.push_bytes(None);
                }
                Some(Cell::JsonDiff(changes)) => {
                    known[at] = true;
                    out.push_bytes(Some(&self.changed_json(at, changes, row.and_then(|row| row.get(at)))?));
                }
                Some(cell) => {
                    known[at] = true;
                    let value = value_of(&cell, &map.columns[at], &own.ty, &own.name)?;
                    let from = out.bytes.len() as u32;
                    own.ty.encode(&value, &mut out.bytes).map_err(|_| {
                        let name = &own.name;
                        Error::new(1264, b"22003", format!("Out of range value for column '{name}' in a row event"))
                    })?;
                    out.parts.push(Some((from, out.bytes.len() as u32)));
                }
            }
        }
        Ok(known)
    }

    /// A JSON value with the changes of a partial update.
    fn changed_json(&self, column: usize, changes: &[u8], stored: Option<&[u8]>) -> Result<Vec<u8>> {
        let changed = match stored {
            Some(stored) => json_diff::apply(changes, stored),
            None => Err(DiffError::DoesNotFit),
        };
        let (table, column) = (&self.table.name, &self.table.columns[column].name);
        changed.map_err(|error| match error {
            DiffError::DoesNotFit => {
                let text = format!("Could not apply JSON diff in table {table}, column {column}.");
                Error::new(3648, b"HY000", text)
            }
            DiffError::Damaged(_) => {
                Error::new(3649, b"HY000", format!("Corrupted JSON diff for table {table}, column {column}."))
            }
        })
    }

    fn insert(&self, known: &[bool], values: &mut Stored, existing: &mut Row) -> Result<()> {
        for (at, column) in self.table.columns.iter().enumerate().filter(|(at, _)| !known[*at]) {
            let default = match &column.default {
                ColumnDefault::Literal(stored) => Some(stored.clone()),
                ColumnDefault::Null => None,
                ColumnDefault::None if column.nullable => None,
                ColumnDefault::None if matches!(column.ty, ColumnType::Geometry { .. }) => {
                    return Err(Error::no_default(&column.name));
                }
                ColumnDefault::None => Some(encoded(&column.ty, &zero_of(&column.ty))?),
                ColumnDefault::CurrentTimestamp { fsp } => {
                    let now = DateTime::from_unix_micros(self.now_micros, Zone::UTC).unwrap_or(DateTime::ZERO);
                    Some(encoded(&column.ty, &Value::DateTime(now.truncate(*fsp)))?)
                }
                // Computed below.
                ColumnDefault::Expression(_) => None,
            };
            values.parts[at] = default.map(|bytes| {
                let from = values.bytes.len() as u32;
                values.bytes.extend_from_slice(&bytes);
                (from, values.bytes.len() as u32)
            });
        }
        let target = self.target();
        let mut computed = Stored::default();
        for one in self.rules.computed.iter().filter(|one| one.generated || !known[one.column]) {
            computed.clear();
            target.compute(one, values, &mut computed)?;
            values.replace(one.column, computed.get(0));
        }
        if let Some(error) = target.violated(self.rules, values)? {
            return Err(error);
        }
        let row: Vec<Option<&[u8]>> = (0..self.table.columns.len()).map(|at| values.get(at)).collect();
        if sequences::is_sequence(self.table) {
            // The row that the source has written takes the place of the one that is there.
            let mut trx = self.trx.borrow_mut();
            let definition = sequences::Definition::of_values(self.table, |at| row[at]);
            let old = sequences::locked_row(&mut trx, self.table)?;
            sequences::put_row(&mut trx, self.table, old.as_ref(), &definition)?;
            sequences::Giver::of(self.table).forget();
            return match self.log {
                Some(log) => log.borrow_mut().insert(self.table, &|column| row[column]),
                None => Ok(()),
            };
        }
        loop {
            let division = self.division.as_ref();
            let inserted = rows::insert(&mut self.trx.borrow_mut(), self.context, division, self.table, &row);
            match inserted {
                Ok(()) => break,
                Err(Failure::Storage(storage::Error::DuplicateKey { index })) if self.is_idempotent => {
                    let parts = &self.table.indexes[index].parts;
                    let key: Vec<Option<&[u8]>> = parts.iter().map(|part| row[part.column]).collect();
                    let columns = ColumnSet::first(self.table.columns.len());
                    let mut trx = self.trx.borrow_mut();
                    if self.get(&mut trx, index, &key, &columns, existing)? {
                        rows::delete(&mut trx, self.table, existing).or_sql()?;
                        if let Some(log) = self.log {
                            log.borrow_mut().delete(self.table, &|column| existing.get(column))?;
                        }
                    }
                }
                Err(error) => return Err(self.described(error, &|column| row[column])),
            }
        }
        if let Some(log) = self.log {
            log.borrow_mut().insert(self.table, &|column| row[column])?;
        }
        if let Some(column) = self.table.auto_increment
            && let Some(stored) = row[column]
        {
            let given = auto_value(&self.table.columns[column].ty, stored);
            self.engine.raise_auto_increment(self.table, given).or_sql()?;
        }
        Ok(())
    }

    /// A value that does not fit is an error, whatever the source thought of it.
    fn target(&self) -> RowTarget<'_> {
        RowTarget { columns: &self.table.columns, mode: AssignMode::Strict, row: 1, context: self.context }
    }

    /// Computes the generated columns of a changed row. The source's values of them may follow another definition.
    fn complete(&self, known: &mut [bool], after: &mut Stored, row: &Row) -> Result<()> {
        if !self.rules.concerns_changes() {
            return Ok(());
        }
        let target = self.target();
        let mut whole = row.clone();
        for at in (0..known.len()).filter(|at| known[*at]) {
            whole.set(at, after.get(at));
        }
        let mut computed = Stored::default();
        for one in self.rules.computed.iter().filter(|one| one.generated) {
            computed.clear();
            target.compute(one, &whole, &mut computed)?;
            whole.set(one.column, computed.get(0));
            after.replace(one.column, computed.get(0));
            known[one.column] = true;
        }
        target.violated(self.rules, &whole)?.map_or(Ok(()), Err)
    }

    fn update(&self, known: &[bool], after: &Stored, row: &Row) -> Result<()> {
        let differs = |at: &usize| known[*at] && after.get(*at) != row.get(*at);
        let changes: Vec<(usize, Option<&[u8]>)> =
            (0..known.len()).filter(differs).map(|at| (at, after.get(at))).collect();
        if changes.is_empty() {
            return Ok(());
        }
        let new = |column: usize| if known[column] { after.get(column) } else { row.get(column) };
        let division = self.division.as_ref();
        let updated = rows::update(&mut self.trx.borrow_mut(), self.context, division, self.table, row, &changes);
        updated.map_err(|error| self.described(error, &new))?;
        if let Some(log) = self.log {
            let changed = |column: usize| changes.iter().any(|(at, _)| *at == column);
            log.borrow_mut().update(self.table, &|column| row.get(column), &new, &changed)?;
        }
        Ok(())
    }

    /// Reads and locks the row that an image describes. False: there is none, and that is passed over.
    fn found(&self, known: &[bool], image: &Stored, row: &mut Row) -> Result<bool> {
        let found = self.find(known, image, row)?;
        if !found && !self.is_idempotent {
            let text = format!("Can't find record in '{}'", self.table.name);
            return Err(Error::new(1032, b"HY000", text));
        }
        Ok(found)
    }

    fn find(&self, known: &[bool], image: &Stored, row: &mut Row) -> Result<bool> {
        let table = self.table;
        let columns = ColumnSet::first(table.columns.len());
        let is_whole = |index: &storage::Index| {
            let mut parts = index.parts.iter();
            !index.parts.is_empty()
                && !index.has_several_entries()
                && parts.all(|part| known[part.column] && part.prefix_chars.is_none())
        };
        let finds_one = |index: &storage::Index| {
            index.unique && is_whole(index) && index.parts.iter().all(|part| !table.columns[part.column].nullable)
        };
        let key = |at: usize| -> Vec<Option<&[u8]>> {
            table.indexes[at].parts.iter().map(|part| image.get(part.column)).collect()
        };
        let primary = table.indexes.iter().position(|index| index.primary && finds_one(index));
        let mut trx = self.trx.borrow_mut();
        if let Some(at) = primary.or_else(|| table.indexes.iter().position(finds_one)) {
            return self.get(&mut trx, at, &key(at), &columns, row);
        }
        let some = table.indexes.iter().position(is_whole);
        let values = some.map(key).unwrap_or_default();
        let range = if some.is_some() { ScanRange::prefix(&values) } else { ScanRange::ALL };
        let is_it = |row: &Row| {
            let is_same = |at: usize| !known[at] || is_equal(&table.columns[at].ty, image.get(at), row.get(at));
            (0..known.len()).all(is_same)
        };
        let index = some.unwrap_or(0);
        if let Some(division) = &self.division {
            let set = self.partitions_of(division, known, image)?;
            let mut cursor = Several::new(table, &set, index, ReadMode::EXCLUSIVE, columns, range, false);
            while cursor.next(&mut trx, row).or_sql()? {
                if is_it(row) {
                    return Ok(true);
                }
                cursor.unlock_row(&mut trx);
            }
            return Ok(false);
        }
        let mut cursor = trx.cursor(table, index, ReadMode::EXCLUSIVE, columns, range).or_sql()?;
        while cursor.next(&mut trx, row).or_sql()? {
            if is_it(row) {
                return Ok(true);
            }
            cursor.unlock_row(&mut trx);
        }
        Ok(false)
    }

    /// The partitions that a row can be in of which some columns are known.
    fn partitions_of(&self, division: &Division, known: &[bool], image: &Stored) -> Result<PartitionSet> {
        let routing = &division.routing;
        if !routing.columns.iter().all(|column| known[*column]) {
            return Ok(division.all());
        }
        let mut set = PartitionSet::empty(routing.count);
        match routing.partition_of(self.context, &self.table.columns, &|column| image.get(column)) {
            Ok(at) => set.insert(at),
            Err(error) if error.is_of_no_partition() => {}
            Err(error) => return Err(error),
        }
        Ok(set)
    }

    /// Reads and locks the row with a full key of a unique index.
    fn get(
        &self,
        trx: &mut Trx,
        index: usize,
        key: &[Option<&[u8]>],
        columns: &ColumnSet,
        row: &mut Row,
    ) -> Result<bool> {
        let (table, mode) = (self.table, ReadMode::EXCLUSIVE);
        match &self.division {
            None => trx.get(table, index, key, mode, columns, row).or_sql(),
            Some(division) => {
                let found = rows::get(trx, self.context, division, table, index, key, mode, columns, row);
                found.map_err(Failure::into_error)
            }
        }
    }

    fn described<'v>(&self, failure: Failure, value: &dyn Fn(usize) -> Option<&'v [u8]>) -> Error {
        match failure {
            Failure::Storage(error) => change_error(error, self.table, Zone::UTC, value),
            Failure::Refused(error) => error,
        }
    }
}

fn encoded(ty: &ColumnType, value: &Value) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    ty.encode(value, &mut bytes).map_err(|error| Error::internal(format!("encode a default: {error:?}")))?;
    Ok(bytes)
}

/// Whether two stored values are the same value. JSON may be a text, and its numbers may be of other types.
fn is_equal(ty: &ColumnType, one: Option<&[u8]>, other: Option<&[u8]>) -> bool {
    match (ty, one, other) {
        (ColumnType::Json, Some(one), Some(other)) if one != other => {
            let (one, other) = (Json::of_stored(one), Json::of_stored(other));
            one.is_ok_and(|one| other.is_ok_and(|other| one.compare(&other).is_eq()))
        }
        _ => one == other,
    }
}

fn integer_bytes(code: ColumnCode) -> Option<u8> {
    Some(match code {
        ColumnCode::TINY => 1,
        ColumnCode::SHORT => 2,
        ColumnCode::INT24 => 3,
        ColumnCode::LONG => 4,
        ColumnCode::LONGLONG => 8,
        _ => return None,
    })
}

/// The most bytes that a text or byte string of a column has.
fn text_bytes_max(column: &SourceColumn) -> Option<u64> {
    match (column.code, column.size) {
        (ColumnCode::VARCHAR | ColumnCode::VAR_STRING | ColumnCode::STRING, ColumnSize::BytesMax(max)) => {
            Some(u64::from(max))
        }
        (ColumnCode::BLOB, ColumnSize::Bytes(bytes @ 1..=4)) => Some((1 << (8 * u32::from(bytes))) - 1),
        _ => None,
    }
}

/// Whether every value of a source's column is a value of ours.
fn is_convertible(source: &SourceColumn, own_type: &ColumnType) -> bool {
    let own = column_of(own_type, true);
    if let (Some(theirs), Some(ours)) = (source.collation, own.collation)
        && let Some(theirs) = u16::try_from(theirs).ok().and_then(|id| Collation::by_id(CollationId(id)))
        && theirs.charset != collation(CollationId(ours as u16)).charset
        && text_bytes_max(source).is_some()
    {
        return false;
    }
    if (source.code, source.size) == (own.code, own.size) {
        return true;
    }
    if let (Some(theirs), Some(ours)) = (integer_bytes(source.code), integer_bytes(own.code)) {
        return theirs <= ours;
    }
    if let (Some(theirs), Some(ours)) = (text_bytes_max(source), text_bytes_max(&own)) {
        return theirs <= ours;
    }
    let is = |theirs, ours| (source.code, own.code) == (theirs, ours);
    if is(ColumnCode::BLOB, ColumnCode::JSON) {
        return true; // MariaDB's JSON is a text.
    }
    if is(ColumnCode::FLOAT, ColumnCode::DOUBLE)
        || is(ColumnCode::DATETIME_OLD, ColumnCode::DATETIME)
        || is(ColumnCode::TIMESTAMP_OLD, ColumnCode::TIMESTAMP)
        || is(ColumnCode::TIME_OLD, ColumnCode::TIME)
    {
        return true;
    }
    match (source.size, own.size) {
        _ if source.code != own.code => false,
        (ColumnSize::Fraction(theirs), ColumnSize::Fraction(ours)) => theirs <= ours,
        (ColumnSize::Bits(theirs), ColumnSize::Bits(ours)) => theirs <= ours,
        (
            ColumnSize::Decimal { precision: theirs, scale: their_scale },
            ColumnSize::Decimal { precision: ours, scale: our_scale },
        ) => their_scale <= our_scale && theirs - their_scale <= ours - our_scale,
        _ => false,
    }
}

fn type_name(column: &SourceColumn) -> String {
    match (column.code, column.size) {
        (ColumnCode::TINY, _) => "tinyint".to_owned(),
        (ColumnCode::SHORT, _) => "smallint".to_owned(),
        (ColumnCode::INT24, _) => "mediumint".to_owned(),
        (ColumnCode::LONG, _) => "int".to_owned(),
        (ColumnCode::LONGLONG, _) => "bigint".to_owned(),
        (ColumnCode::FLOAT, _) => "float".to_owned(),
        (ColumnCode::DOUBLE, _) => "double".to_owned(),
        (ColumnCode::DECIMAL, ColumnSize::Decimal { precision, scale }) => format!("decimal({precision},{scale})"),
        (ColumnCode::YEAR, _) => "year".to_owned(),
        (ColumnCode::DATE, _) => "date".to_owned(),
        (ColumnCode::TIME, ColumnSize::Fraction(digits)) => format!("time({digits})"),
        (ColumnCode::DATETIME, ColumnSize::Fraction(digits)) => format!("datetime({digits})"),
        (ColumnCode::TIMESTAMP, ColumnSize::Fraction(digits)) => format!("timestamp({digits})"),
        (ColumnCode::BIT, ColumnSize::Bits(bits)) => format!("bit({bits})"),
        (ColumnCode::VARCHAR | ColumnCode::VAR_STRING, ColumnSize::BytesMax(max)) => format!("varchar({max}(bytes))"),
        (ColumnCode::STRING, ColumnSize::BytesMax(max)) => format!("char({max}(bytes))"),
        (ColumnCode::BLOB, ColumnSize::Bytes(1)) => "tinyblob".to_owned(),
        (ColumnCode::BLOB, ColumnSize::Bytes(2)) => "blob".to_owned(),
        (ColumnCode::BLOB, ColumnSize::Bytes(3)) => "mediumblob".to_owned(),
        (ColumnCode::BLOB, ColumnSize::Bytes(4)) => "longblob".to_owned(),
        (ColumnCode::ENUM, _) => "enum".to_owned(),
        (ColumnCode::SET, _) => "set".to_owned(),
        (ColumnCode::JSON, _) => "json".to_owned(),
        (ColumnCode::GEOMETRY, _) => "geometry".to_owned(),
        (code, _) => format!("type {}", code.0),
    }
}

/// A value of the source for a column of this type and name.
fn value_of(cell: &Cell<'_>, source: &SourceColumn, own: &ColumnType, name: &str) -> Result<Value> {
    Ok(match *cell {
        Cell::Null => Value::Null,
        Cell::Integer { bits, bytes } => {
            // A source that does not tell has the same sign as we.
            let is_unsigned = matches!(own, ColumnType::Int { unsigned: true, .. });
            match source.unsigned.unwrap_or(is_unsigned) {
                true => Value::UInt(bits),
                false => {
                    let unused = 64 - 8 * u32::from(bytes.clamp(1, 8));
                    Value::Int((bits << unused) as i64 >> unused)
                }
            }
        }
        Cell::Float(number) => Value::Double(f64::from(number)),
        Cell::Double(number) => Value::Double(number),
        Cell::Decimal(number) => Value::Decimal(number),
        Cell::Year(year) => Value::UInt(u64::from(year)),
        Cell::Date(date) => Value::Date(date),
        Cell::Time(time) => Value::Time(time),
        Cell::DateTime(moment) => Value::DateTime(moment),
        Cell::Timestamp { seconds: 0, .. } => Value::DateTime(DateTime::ZERO),
        Cell::Timestamp { seconds, micros } => {
            let micros = i64::from(seconds) * 1_000_000 + i64::from(micros);
            Value::DateTime(DateTime::from_unix_micros(micros, Zone::UTC).unwrap_or(DateTime::ZERO))
        }
        Cell::Bit(number) | Cell::Set(number) => Value::UInt(number),
        Cell::Enum(number) => Value::UInt(u64::from(number)),
        // MariaDB's JSON is a text as the client gave it.
        Cell::Bytes(bytes) if *own == ColumnType::Json => {
            Json::parse(bytes).map_or_else(|_| Value::Bytes(bytes.to_vec()), |value| Value::Json(value.to_binary()))
        }
        Cell::Bytes(bytes) => match own {
            // A source may store what it has not checked.
            ColumnType::Geometry { kind, srid } => {
                Value::Bytes(geometry::for_column(bytes.into(), *kind, *srid, name)?.into_owned())
            }
            _ => Value::Bytes(bytes.to_vec()),
        },
        Cell::Json(document) => {
            let value = Json::decode(document).map_err(|cause| {
                Error::new(1610, b"HY000", format!("Corrupted replication event was detected: {cause}"))
            })?;
            Value::Json(value.to_binary())
        }
        // Of the row that is changed: only updates have these.
        Cell::JsonDiff(_) => return Err(Error::internal("changes of a JSON value that no row has")),
    })
}
