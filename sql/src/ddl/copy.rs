//! The rows of ALTER TABLE: each column of the new definition from where it comes.
//!
//! Bytes that are right stay as they are; what has another type is assigned as an INSERT in the session's mode would.

use format::value::ColumnType;
use storage::Table;
use storage::schema::{Column, ColumnDefault, Row, TableDefinition};

use super::{Context, column};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::expression::assign::{AssignMode, Target, assign, encode};
use crate::types::TypeInfo;

/// Where a column of the new definition comes from.
#[derive(Clone, Copy, PartialEq)]
pub enum Source {
    /// The column of this ordinal.
    Old(usize),
    New,
}

/// Makes rows of the new definition from those of the old.
pub struct Copier<'a> {
    context: &'a Context<'a>,
    columns: Vec<CopiedColumn>,
    rows: u64,
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
    /// 1, 2, 3 ...: a new AUTO_INCREMENT column.
    Sequence,
}

impl<'a> Copier<'a> {
    pub fn new(
        context: &'a Context<'a>,
        table: &Table,
        definition: &TableDefinition,
        sources: &[Source],
    ) -> Result<Copier<'a>> {
        let mut columns = Vec::with_capacity(sources.len());
        for (column, source) in definition.columns.iter().zip(sources) {
            let from = match source {
                Source::Old(ordinal) => {
                    let old = &table.columns[*ordinal];
                    // NULLs of a column that becomes NOT NULL are converted like any value that does not fit.
                    match old.ty == column.ty && (column.nullable || !old.nullable) {
                        true => From::Bytes(*ordinal),
                        false => From::Converted(*ordinal, old.ty.clone(), TypeInfo::of_column(&old.ty, old.nullable)),
                    }
                }
                Source::New if column.auto_increment => From::Sequence,
                Source::New => From::Constant(initial_value(context, column)?),
            };
            let (name, ty, nullable) = (column.name.clone(), column.ty.clone(), column.nullable);
            columns.push(CopiedColumn { name, ty, nullable, from });
        }
        Ok(Copier { context, columns, rows: 0, failure: None })
    }

    pub fn is_identity(&self) -> bool {
        self.columns.iter().enumerate().all(|(at, column)| matches!(column.from, From::Bytes(ordinal) if ordinal == at))
    }

    pub fn row(&mut self, row: &Row) -> storage::Result<Option<Vec<Option<Vec<u8>>>>> {
        self.rows += 1;
        match self.convert(row) {
            Ok(values) => Ok(Some(values)),
            Err(error) => {
                self.failure = Some(error);
                Err(storage::Error::Interrupted)
            }
        }
    }

    fn convert(&self, row: &Row) -> Result<Vec<Option<Vec<u8>>>> {
        let strict = self.context.settings.sql_mode.is_strict();
        let mode = if strict { AssignMode::Strict } else { AssignMode::Lenient };
        let mut eval = *self.context.eval;
        eval.strict_change = strict;
        self.columns
            .iter()
            .map(|column| match &column.from {
                From::Bytes(ordinal) => Ok(row.get(*ordinal).map(<[u8]>::to_vec)),
                From::Constant(value) => Ok(value.clone()),
                From::Sequence => {
                    let mut out = Vec::new();
                    encode(Datum::UInt(self.rows), &column.ty, &mut out)?;
                    Ok(Some(out))
                }
                From::Converted(ordinal, old, source) => {
                    let value = row.get(*ordinal).map(|stored| old.decode(stored));
                    let value = value.as_ref().map_or(Datum::Null, Datum::from);
                    if value.is_null() && !column.nullable && strict {
                        return Err(Error::data_truncated(&column.name, self.rows));
                    }
                    let target = Target { name: &column.name, ty: &column.ty, nullable: column.nullable };
                    let value = assign(value, source, &target, mode, self.rows, &eval)?;
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

/// What rows that exist get in a new column.
fn initial_value(context: &Context<'_>, column: &Column) -> Result<Option<Vec<u8>>> {
    match &column.default {
        ColumnDefault::Literal(stored) => Ok(Some(stored.clone())),
        ColumnDefault::Null => Ok(None),
        ColumnDefault::None if column.nullable => Ok(None),
        ColumnDefault::None => column::implicit_default(&column.ty).map(Some),
        ColumnDefault::CurrentTimestamp { fsp } => {
            let zone = match column.ty {
                // A TIMESTAMP is stored in UTC.
                ColumnType::Timestamp { .. } => format::value::ZoneOffset::UTC,
                _ => context.eval.zone,
            };
            let micros = context.eval.now_seconds * 1_000_000 + i64::from(context.eval.now_micros);
            let now = format::value::DateTime::from_unix_micros(micros, zone).unwrap_or_default().truncate(*fsp);
            let mut out = Vec::new();
            encode(Datum::DateTime(now), &column.ty, &mut out)?;
            Ok(Some(out))
        }
        ColumnDefault::Expression(_) => Err(Error::unsupported("adding a column with an expression as its default")),
    }
}
