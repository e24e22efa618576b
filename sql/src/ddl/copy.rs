//! The rows of ALTER TABLE: each column of the new definition from where it comes.
//!
//! Bytes that are right stay as they are; what has another type is assigned as an INSERT in the session's mode would.

use format::value::{ColumnType, DateTime, Value, Zone};
use storage::schema::{Column, ColumnDefault, Row, TableDefinition};
use storage::{ColumnSource, Table};

use super::{Context, stored_expression};
use crate::error::{Error, Result};
use crate::executor::row_rules::RowTarget;
use crate::executor::stored::Stored;
use crate::expression::assign::{AssignMode, Target, assign, encode, stored_zero};
use crate::expression::{Datum, EvalContext};
use crate::planner::row_rules::RowRules;
use crate::types::{SqlMode, TypeInfo};

/// Where a column of the new definition comes from.
#[derive(Clone, Copy, PartialEq)]
pub enum Source {
    /// The column of this ordinal.
    Old(usize),
    New,
}

impl Source {
    /// The ordinal of the old column.
    pub fn old(self) -> Option<usize> {
        match self {
            Source::Old(ordinal) => Some(ordinal),
            Source::New => None,
        }
    }
}

/// Makes rows of the new definition from those of the old.
pub struct Copier<'a> {
    context: &'a Context<'a>,
    columns: Vec<CopiedColumn>,
    rows: u64,
    /// The column that becomes AUTO_INCREMENT, and the next value for rows that have none.
    numbered: Option<(usize, u64)>,
    /// The first number of a new AUTO_INCREMENT column.
    first_number: u64,
    rules: RowRules,
    new_columns: Vec<Column>,
    /// Rows are held to the constraints.
    holds_rows: bool,
    /// What stopped the copy; storage only knows that something did.
    pub failure: Option<Error>,
}

struct CopiedColumn {
    name: Box<str>,
    ty: ColumnType,
    nullable: bool,
    from: From,
}

enum From {
    /// The stored bytes are right as they are.
    Bytes(usize),
    Converted(usize, ColumnType, TypeInfo),
    Constant(Option<Vec<u8>>),
    /// Computed from the row.
    Computed,
    /// Numbers that follow each other: a new AUTO_INCREMENT column.
    Sequence,
    /// A new column that has no value for rows that exist.
    Missing,
}

impl<'a> Copier<'a> {
    pub fn new(
        context: &'a Context<'a>,
        table: &Table,
        definition: &TableDefinition,
        sources: &[Source],
        holds_rows: bool,
        auto_increment: Option<u64>,
    ) -> Result<Copier<'a>> {
        // Where AUTO_INCREMENT= says where to begin, rows begin there.
        let first_number = auto_increment.unwrap_or(1).max(1);
        let mut columns = Vec::with_capacity(sources.len());
        let mut numbered = None;
        let is_same = |column: &Column, old: &Column| {
            column.ty.keeps_values_of(&old.ty) && column.zerofill == old.zerofill && (column.nullable || !old.nullable)
        };
        // Where a value changes, those that are computed from it may. Expressions are compared by their text, so each name
        // in it must mean the column that it meant.
        let keeps_values = definition.columns.iter().zip(sources).all(|(column, source)| match source {
            Source::Old(ordinal) => {
                let old = &table.columns[*ordinal];
                is_same(column, old) && storage::same_name(&column.name, &old.name)
            }
            Source::New => table.columns.iter().all(|old| !storage::same_name(&column.name, &old.name)),
        });
        for (column, source) in definition.columns.iter().zip(sources) {
            let from = match source {
                Source::Old(ordinal)
                    if column.generated.is_some()
                        && !(keeps_values && column.generated == table.columns[*ordinal].generated) =>
                {
                    From::Computed
                }
                Source::New if column.generated.is_some() => From::Computed,
                Source::New if matches!(column.default, ColumnDefault::Expression(_)) => From::Computed,
                Source::Old(ordinal) => {
                    let old = &table.columns[*ordinal];
                    // NULLs of a column that becomes NOT NULL are converted like any value that does not fit.
                    match is_same(column, old) {
                        true => From::Bytes(*ordinal),
                        false => From::Converted(*ordinal, old.ty.clone(), TypeInfo::of_stored(old)),
                    }
                }
                Source::New if column.auto_increment => From::Sequence,
                Source::New
                    if column.default == ColumnDefault::None && !column.nullable && !has_zero(context, &column.ty) =>
                {
                    From::Missing
                }
                Source::New => From::Constant(initial_value(context, column)?),
            };
            if let Source::Old(ordinal) = source
                && column.auto_increment
                && !table.columns[*ordinal].auto_increment
            {
                numbered = Some((columns.len(), first_number));
            }
            let (name, ty, nullable) = (column.name.clone(), column.ty.clone(), column.nullable);
            columns.push(CopiedColumn { name, ty, nullable, from });
        }
        // A constraint of values that stay holds as it did before: rows may have passed `check_constraint_checks = 0`.
        let stays = |name: &String| {
            let is_it = |column: &CopiedColumn| storage::same_name(&column.name, name);
            columns.iter().find(|column| is_it(column)).is_some_and(|column| match column.from {
                From::Bytes(ordinal) => storage::same_name(&column.name, &table.columns[ordinal].name),
                _ => false,
            })
        };
        let mut checks = Vec::new();
        for check in &definition.checks {
            if holds_rows || !stored_expression::names(&check.condition)?.iter().all(stays) {
                checks.push(check.clone());
            }
        }
        let rules = RowRules::new(context.eval, &definition.columns, &checks)?;
        let new_columns = definition.columns.clone();
        Ok(Copier { context, columns, rows: 0, numbered, first_number, rules, new_columns, holds_rows, failure: None })
    }

    /// The one value that all rows that exist get in a new column. None = each row has its own, or none will do.
    fn constant(&self, at: usize) -> Option<Option<Vec<u8>>> {
        match &self.columns[at].from {
            From::Constant(value) => Some(value.clone()),
            From::Computed => {
                let computed = self.rules.default_of(at).filter(|computed| computed.expr.is_constant())?;
                let (mode, context) = self.assigning();
                let target = RowTarget { columns: &self.new_columns, mode, row: 1, context: &context };
                let (mut out, nothing) = (Stored::default(), Vec::<Option<Vec<u8>>>::new());
                // What is wrong with the value is said of the first row, if there is one.
                target.compute(computed, &nothing, &mut out).ok()?;
                Some(out.get(0).map(<[u8]>::to_vec))
            }
            _ => None,
        }
    }

    /// Where the columns come from, if those that stay keep their bytes and each new one has one value in all rows.
    pub fn sources(&self) -> Option<Vec<ColumnSource>> {
        let source = |(at, column): (usize, &CopiedColumn)| match column.from {
            From::Bytes(ordinal) => Some(ColumnSource::Old(ordinal)),
            _ => Some(ColumnSource::New(self.constant(at)?.map(Vec::into_boxed_slice))),
        };
        self.columns.iter().enumerate().map(source).collect()
    }

    pub fn is_identity(&self) -> bool {
        let stays = |at: usize, from: &From| matches!(from, From::Bytes(ordinal) if *ordinal == at);
        self.numbered.is_none()
            && !self.holds_rows
            && self.columns.iter().enumerate().all(|(at, column)| stays(at, &column.from))
    }

    pub fn row(&mut self, row: &Row) -> storage::Result<Option<Vec<Option<Vec<u8>>>>> {
        self.rows += 1;
        let made = self.convert(row).and_then(|values| self.number(values)).and_then(|values| self.complete(values));
        match made {
            Ok(values) => Ok(Some(values)),
            Err(error) => {
                self.failure = Some(error);
                Err(storage::Error::Interrupted)
            }
        }
    }

    /// A column that becomes AUTO_INCREMENT numbers its rows as an INSERT would: those with 0 or NULL follow the largest so
    /// far.
    fn number(&mut self, mut values: Vec<Option<Vec<u8>>>) -> Result<Vec<Option<Vec<u8>>>> {
        let Some((at, next)) = &mut self.numbered else { return Ok(values) };
        let ty = &self.columns[*at].ty;
        let keeps_zero = self.context.settings.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO);
        let value = match values[*at].as_deref().map(|stored| ty.decode(stored)) {
            None => None,
            Some(Value::Int(0) | Value::UInt(0)) if !keeps_zero => None,
            Some(Value::Int(number)) => Some(u64::try_from(number).unwrap_or(0)),
            Some(Value::UInt(number)) => Some(number),
            Some(_) => return Ok(values),
        };
        match value {
            Some(number) => *next = (*next).max(number.saturating_add(1)),
            None => {
                let mut out = Vec::new();
                let target = Target { name: &self.columns[*at].name, ty, nullable: false };
                let number = Datum::UInt(*next);
                let number = assign(
                    number,
                    &TypeInfo::bigint_unsigned(20),
                    &target,
                    AssignMode::Strict,
                    self.rows,
                    self.context.eval,
                )?;
                encode(number, ty, &mut out)?;
                values[*at] = Some(out);
                *next += 1;
            }
        }
        Ok(values)
    }

    /// What the other values of the row decide, and whether it satisfies the constraints.
    fn complete(&self, mut values: Vec<Option<Vec<u8>>>) -> Result<Vec<Option<Vec<u8>>>> {
        if self.rules.is_empty() {
            return Ok(values);
        }
        let (mode, context) = self.assigning();
        let target = RowTarget { columns: &self.new_columns, mode, row: self.rows, context: &context };
        let mut out = Stored::default();
        for one in &self.rules.computed {
            if matches!(self.columns[one.column].from, From::Computed) {
                out.clear();
                target.compute(one, &values, &mut out)?;
                values[one.column] = out.get(0).map(<[u8]>::to_vec);
            }
        }
        target.violated(&self.rules, &values)?.map_or(Ok(values), Err)
    }

    /// As an INSERT in the session's mode would.
    fn assigning(&self) -> (AssignMode, EvalContext<'a>) {
        let strict = self.context.settings.sql_mode.is_strict();
        let mode = if strict { AssignMode::Strict } else { AssignMode::Lenient };
        (mode, EvalContext { strict_change: strict, ..*self.context.eval })
    }

    fn convert(&self, row: &Row) -> Result<Vec<Option<Vec<u8>>>> {
        let (mode, eval) = self.assigning();
        let strict = eval.strict_change;
        self.columns
            .iter()
            .map(|column| match &column.from {
                From::Bytes(ordinal) => Ok(row.get(*ordinal).map(<[u8]>::to_vec)),
                From::Constant(value) => Ok(value.clone()),
                From::Computed => Ok(None),
                From::Missing => Err(missing(column, self.rows)),
                From::Sequence => {
                    let mut out = Vec::new();
                    let number = Datum::UInt(self.first_number.saturating_add(self.rows - 1));
                    let target = Target { name: &column.name, ty: &column.ty, nullable: false };
                    let number =
                        assign(number, &TypeInfo::bigint_unsigned(20), &target, AssignMode::Strict, self.rows, &eval)?;
                    encode(number, &column.ty, &mut out)?;
                    Ok(Some(out))
                }
                From::Converted(ordinal, old, source) => {
                    let value = row.get(*ordinal).map(|stored| shown_value(old, &column.ty, stored, eval.zone));
                    let value = value.as_ref().map_or(Datum::Null, Datum::from);
                    let is_numbered = self.numbered.is_some_and(|(at, _)| std::ptr::eq(column, &self.columns[at]));
                    if value.is_null() && is_numbered {
                        return Ok(None);
                    }
                    let is_lost = value.is_null() && !column.nullable;
                    if is_lost && strict {
                        return Err(Error::data_truncated(&column.name, self.rows));
                    }
                    if is_lost && !matches!(column.ty, ColumnType::Geometry { .. }) {
                        let truncated = Error::data_truncated(&column.name, self.rows);
                        self.context.warn(truncated.code, truncated.message);
                    }
                    // NULL becomes the error value, too, and not the first member.
                    let is_error =
                        is_lost || (matches!(value, Datum::UInt(0)) && matches!(old, ColumnType::Enum { .. }));
                    if is_error && matches!(column.ty, ColumnType::Enum { .. }) {
                        let mut out = Vec::new();
                        encode(Datum::UInt(0), &column.ty, &mut out)?;
                        return Ok(Some(out));
                    }
                    if is_lost && !matches!(column.ty, ColumnType::Geometry { .. }) {
                        return stored_zero(&column.ty).map(Some);
                    }
                    let target = Target { name: &column.name, ty: &column.ty, nullable: column.nullable };
                    let value = if goes_by_number(old, &column.ty) && !value.is_null() {
                        let ty = ColumnType::Int { bytes: 8, unsigned: source.unsigned };
                        let number = TypeInfo::of_column(&ty, true);
                        let through = Target { name: &column.name, ty: &ty, nullable: true };
                        let value = assign(value, source, &through, mode, self.rows, &eval)?;
                        assign(value, &number, &target, mode, self.rows, &eval)?
                    } else {
                        assign(value, source, &target, mode, self.rows, &eval)?
                    };
                    if value.is_null() {
                        return Ok(None);
                    }
                    let mut out = Vec::new();
                    encode(value, &column.ty, &mut out)?;
                    Ok(Some(out))
                }
            })
            .collect()
    }
}

/// The value of a column as the session sees it, to be assigned to the new one. A TIMESTAMP is local time. An ENUM or SET
/// is its name, which may have another number in the new column; but it is its number for a column of numbers, and where
/// it is the error value 0, which is no name.
fn shown_value(old: &ColumnType, new: &ColumnType, stored: &[u8], zone: Zone) -> Value {
    if let ColumnType::Timestamp { fsp } = old {
        return Value::DateTime(DateTime::decode_timestamp(stored, *fsp, zone));
    }
    let value = old.decode(stored);
    let is_number = TypeInfo::of_column(new, true).is_numeric();
    match (old, &value) {
        (ColumnType::Enum { .. }, Value::UInt(0)) if matches!(new, ColumnType::Enum { .. }) => value,
        (ColumnType::Enum { .. } | ColumnType::Set { .. }, Value::UInt(_)) if !is_number => {
            let mut name = Vec::new();
            old.write_value_text(&value, &mut name);
            Value::Bytes(name)
        }
        _ => value,
    }
}

/// Whether rows that exist can get the zero of a type: there is none of geometries, and modes may refuse that of dates. As
/// in MySQL a TIMESTAMP is no date here.
fn has_zero(context: &Context<'_>, ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Geometry { .. } => false,
        ColumnType::Date | ColumnType::DateTime { .. } => {
            let mode = context.eval.mode;
            !(mode.is_strict() && mode.has(SqlMode::NO_ZERO_DATE))
        }
        _ => true,
    }
}

/// The error of a row for which a new column has no value.
fn missing(column: &CopiedColumn, row: u64) -> Error {
    let (kind, zero) = match column.ty {
        ColumnType::Geometry { .. } => return Error::no_value_for_geometry(),
        ColumnType::Date => ("date", "0000-00-00"),
        _ => ("datetime", "0000-00-00 00:00:00"),
    };
    Error::incorrect_temporal(kind, zero, &column.name, row)
}

/// Whether values become integers on their way: bits that become something else, and what becomes bits. As in MySQL the
/// bits of a BLOB or TEXT are bytes.
fn goes_by_number(old: &ColumnType, new: &ColumnType) -> bool {
    let bits = |ty: &ColumnType| matches!(ty, ColumnType::Bit { .. });
    bits(old) != bits(new) && !matches!(new, ColumnType::Blob { .. } | ColumnType::Text { .. })
}

/// What rows that exist get in a new column.
fn initial_value(context: &Context<'_>, column: &Column) -> Result<Option<Vec<u8>>> {
    match &column.default {
        ColumnDefault::Literal(stored) => Ok(Some(stored.clone())),
        ColumnDefault::Null => Ok(None),
        ColumnDefault::None if column.nullable => Ok(None),
        ColumnDefault::None => stored_zero(&column.ty).map(Some),
        ColumnDefault::CurrentTimestamp { fsp } => {
            let zone = match column.ty {
                // A TIMESTAMP is stored in UTC.
                ColumnType::Timestamp { .. } => Zone::UTC,
                _ => context.eval.zone,
            };
            let micros = context.eval.now_seconds * 1_000_000 + i64::from(context.eval.now_micros);
            let now = DateTime::from_unix_micros(micros, zone).unwrap_or_default().truncate(*fsp);
            let mut out = Vec::new();
            encode(Datum::DateTime(now), &column.ty, &mut out)?;
            Ok(Some(out))
        }
        ColumnDefault::Expression(_) => Err(Error::internal("a default that is computed from the row")),
    }
}
