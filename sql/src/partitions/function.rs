//! One function of a rule: from a row's values to the number of a partition.

use std::cmp::Ordering;

use format::record::compare_value;
use format::value::Zone;
use storage::{Column, same_name};

use super::hash::{KeyHash, of_hash, of_number};
use crate::error::{Error, Result};
use crate::expression::assign::{Target, encode};
use crate::expression::stored_value::{OwnColumns, StoredFields};
use crate::expression::{AssignMode, Binder, Datum, EvalContext, Expr, NoFields, assign};
use crate::parser::ast::{self, PartitionMethod, PartitionSpec, PartitionValue, PartitionValues};
use crate::types::SqlMode;

/// A value of a column as it is stored; None is NULL.
pub type StoredValue = Option<Box<[u8]>>;

/// A bound of RANGE COLUMNS; None: MAXVALUE.
pub type Bound = Option<Box<[u8]>>;

#[derive(Debug)]
pub enum Function {
    Hash {
        linear: bool,
        expr: Expr,
        count: usize,
    },
    Key {
        linear: bool,
        algorithm: u64,
        columns: Vec<usize>,
        count: usize,
    },
    /// The first partition whose bound is above the value; None: MAXVALUE.
    Range {
        expr: Expr,
        bounds: Vec<Option<i128>>,
    },
    /// Numbers in ascending order, with their partitions, and the partition of NULL.
    List {
        expr: Expr,
        values: Vec<(i128, usize)>,
        null: Option<usize>,
    },
    RangeColumns {
        columns: Vec<usize>,
        bounds: Vec<Vec<Bound>>,
    },
    /// Rows of values in ascending order, with their partitions.
    ListColumns {
        columns: Vec<usize>,
        values: Vec<(Vec<StoredValue>, usize)>,
    },
}

/// Binds the expression of a method.
pub fn bind(eval: &EvalContext<'_>, columns: &[Column], expr: &ast::Expr) -> Result<Expr> {
    let scope = OwnColumns { columns };
    let collation = format::collation::CollationId::DEFAULT;
    Binder::new(&scope, eval.session, SqlMode::DEFAULT, collation, &[]).bind(expr)
}

/// An integer of any sign; None is NULL.
pub fn integer(value: &Datum<'_>) -> Result<Option<i128>> {
    match value {
        Datum::Null => Ok(None),
        Datum::Int(number) => Ok(Some(i128::from(*number))),
        Datum::UInt(number) => Ok(Some(i128::from(*number))),
        _ => Err(Error::new(1491, b"HY000", "The PARTITION function returns the wrong type")),
    }
}

/// The stored value of a literal for a column, as an INSERT would store it in strict mode.
pub fn stored_literal(eval: &EvalContext<'_>, column: &Column, expr: &ast::Expr) -> Result<StoredValue> {
    let bound = bind(eval, &[], expr)?;
    let value = bound.eval(eval, &NoFields)?;
    if value.is_null() {
        return Ok(None);
    }
    let target = Target { name: &column.name, ty: &column.ty, nullable: true };
    let value = assign(value, &bound.ty, &target, AssignMode::Strict, 1, eval)?;
    let mut out = Vec::new();
    encode(value, &column.ty, &mut out)?;
    Ok(Some(out.into()))
}

/// The order of two stored values of a column: NULL first.
pub fn compare(column: &Column, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(a), Some(b)) => compare_value(&column.ty.layout(false), Some(a), Some(b)),
    }
}

/// The order of a bound of RANGE COLUMNS against a row's value.
pub fn compare_bound(column: &Column, bound: &Bound, value: Option<&[u8]>) -> Ordering {
    match bound {
        None => Ordering::Greater,
        Some(bound) => compare(column, Some(bound), value),
    }
}

fn ordinals(columns: &[Column], names: &[String]) -> Result<Vec<usize>> {
    let find = |name: &String| columns.iter().position(|column| same_name(&column.name, name));
    names.iter().map(|name| find(name).ok_or_else(Error::partition_field_not_found)).collect()
}

impl Function {
    /// `definitions`: of the partitions, for RANGE and LIST; `count`: how many places the function has.
    pub fn compile(
        eval: &EvalContext<'_>,
        columns: &[Column],
        method: &PartitionMethod,
        definitions: &[PartitionSpec],
        count: usize,
        primary: &[usize],
    ) -> Result<Function> {
        let constant = |value: &PartitionValue| -> Result<Option<i128>> {
            match value {
                PartitionValue::MaxValue => Err(Error::internal("MAXVALUE among numbers")),
                PartitionValue::Expr(expr) => integer(&bind(eval, &[], expr)?.eval(eval, &NoFields)?),
            }
        };
        let stored = |at: usize, value: &PartitionValue| match value {
            PartitionValue::MaxValue => Err(Error::internal("MAXVALUE in a list")),
            PartitionValue::Expr(expr) => stored_literal(eval, &columns[at], expr),
        };
        Ok(match method {
            PartitionMethod::Hash { linear, expr } => {
                Function::Hash { linear: *linear, expr: bind(eval, columns, expr)?, count }
            }
            PartitionMethod::Key { linear, algorithm, columns: names } => {
                let own = if names.is_empty() { primary.to_vec() } else { ordinals(columns, names)? };
                Function::Key { linear: *linear, algorithm: algorithm.unwrap_or(2), columns: own, count }
            }
            PartitionMethod::Range(expr) => {
                let mut bounds = Vec::new();
                for definition in definitions {
                    let Some(PartitionValues::LessThan(values)) = &definition.values else {
                        return Err(Error::partition_requires_values("RANGE", "LESS THAN"));
                    };
                    bounds.push(match &values[..] {
                        [PartitionValue::MaxValue] => None,
                        [value] => Some(constant(value)?.ok_or_else(Error::null_in_values_less_than)?),
                        _ => return Err(Error::partition_column_list()),
                    });
                }
                Function::Range { expr: bind(eval, columns, expr)?, bounds }
            }
            PartitionMethod::List(expr) => {
                let (mut list, mut null) = (Vec::new(), None);
                for (at, definition) in definitions.iter().enumerate() {
                    let Some(PartitionValues::In(rows)) = &definition.values else {
                        return Err(Error::partition_requires_values("LIST", "IN"));
                    };
                    for row in rows {
                        let [value] = &row[..] else { return Err(Error::row_single_partition_field()) };
                        match constant(value)? {
                            Some(number) => list.push((number, at)),
                            None if null.is_some() => return Err(Error::multiple_definition_in_list()),
                            None => null = Some(at),
                        }
                    }
                }
                list.sort_unstable();
                if list.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                    return Err(Error::multiple_definition_in_list());
                }
                Function::List { expr: bind(eval, columns, expr)?, values: list, null }
            }
            PartitionMethod::RangeColumns(names) => {
                let own = ordinals(columns, names)?;
                let mut bounds = Vec::new();
                for definition in definitions {
                    let Some(PartitionValues::LessThan(values)) = &definition.values else {
                        return Err(Error::partition_requires_values("RANGE", "LESS THAN"));
                    };
                    if values.len() != own.len() {
                        return Err(Error::partition_column_list());
                    }
                    let mut bound = Vec::new();
                    for (at, value) in own.iter().zip(values) {
                        bound.push(match value {
                            PartitionValue::MaxValue => None,
                            value => Some(stored(*at, value)?.ok_or_else(Error::null_in_values_less_than)?),
                        });
                    }
                    bounds.push(bound);
                }
                Function::RangeColumns { columns: own, bounds }
            }
            PartitionMethod::ListColumns(names) => {
                let own = ordinals(columns, names)?;
                let mut list = Vec::new();
                for (at, definition) in definitions.iter().enumerate() {
                    let Some(PartitionValues::In(rows)) = &definition.values else {
                        return Err(Error::partition_requires_values("LIST", "IN"));
                    };
                    for row in rows {
                        if row.len() != own.len() {
                            return Err(Error::partition_column_list());
                        }
                        let values = own.iter().zip(row).map(|(at, value)| stored(*at, value));
                        list.push((values.collect::<Result<Vec<_>>>()?, at));
                    }
                }
                let order = |a: &(Vec<StoredValue>, usize), b: &(Vec<StoredValue>, usize)| {
                    compare_rows(columns, &own, &a.0, &|place| b.0[place].as_deref())
                };
                list.sort_by(order);
                if list.windows(2).any(|pair| order(&pair[0], &pair[1]) == Ordering::Equal) {
                    return Err(Error::multiple_definition_in_list());
                }
                Function::ListColumns { columns: own, values: list }
            }
        })
    }

    /// The columns that it reads.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            Function::Hash { expr, .. } | Function::Range { expr, .. } | Function::List { expr, .. } => {
                let mut columns = Vec::new();
                expr.for_each_column(&mut |slot| {
                    if !columns.contains(&slot) {
                        columns.push(slot);
                    }
                });
                columns
            }
            Function::Key { columns, .. }
            | Function::RangeColumns { columns, .. }
            | Function::ListColumns { columns, .. } => columns.clone(),
        }
    }

    /// The value of the expression for a row.
    pub fn number<'v>(
        eval: &EvalContext<'_>,
        columns: &'v [Column],
        expr: &Expr,
        value: &'v dyn Fn(usize) -> Option<&'v [u8]>,
    ) -> Result<Option<i128>> {
        integer(&expr.eval(eval, &StoredFields { columns, value, zone: Zone::UTC })?)
    }

    /// The place of a number in RANGE; None: above all bounds. NULL is below all.
    pub fn range_place(bounds: &[Option<i128>], number: Option<i128>) -> Option<usize> {
        let at = match number {
            None => 0,
            Some(number) => bounds.partition_point(|bound| bound.is_some_and(|bound| bound <= number)),
        };
        (at < bounds.len()).then_some(at)
    }

    /// The number of the place that a row has. 1526: it has none.
    pub fn place<'v>(
        &self,
        eval: &EvalContext<'_>,
        columns: &'v [Column],
        value: &'v dyn Fn(usize) -> Option<&'v [u8]>,
    ) -> Result<usize> {
        match self {
            Function::Hash { linear, expr, count } => {
                let number = Function::number(eval, columns, expr, value)?;
                // In MySQL NULL is the least integer there, which is in the first partition only if their number is even.
                Ok(of_number(number.map_or(i64::MIN, |number| number as i64), *count, *linear))
            }
            Function::Key { linear, algorithm, columns: own, count } => {
                let mut hash = KeyHash::new(*algorithm);
                own.iter().for_each(|at| hash.add(&columns[*at].ty, value(*at)));
                Ok(of_hash(hash.finish(), *count, *linear))
            }
            Function::Range { expr, bounds } => {
                let number = Function::number(eval, columns, expr, value)?;
                Function::range_place(bounds, number).ok_or_else(|| no_partition(number))
            }
            Function::List { expr, values, null } => {
                let number = Function::number(eval, columns, expr, value)?;
                let place = match number {
                    None => *null,
                    Some(number) => {
                        values.binary_search_by_key(&number, |(value, _)| *value).ok().map(|at| values[at].1)
                    }
                };
                place.ok_or_else(|| no_partition(number))
            }
            Function::RangeColumns { columns: own, bounds } => {
                let is_below = |bound: &Vec<Bound>| {
                    for (place, at) in own.iter().enumerate() {
                        match compare_bound(&columns[*at], &bound[place], value(*at)) {
                            Ordering::Equal => {}
                            other => return other == Ordering::Less,
                        }
                    }
                    true
                };
                let at = bounds.partition_point(is_below);
                if at < bounds.len() { Ok(at) } else { Err(Error::no_partition_for_columns()) }
            }
            Function::ListColumns { columns: own, values } => {
                let found =
                    values.binary_search_by(|(row, _)| compare_rows(columns, own, row, &|place| value(own[place])));
                found.map(|at| values[at].1).map_err(|_| Error::no_partition_for_columns())
            }
        }
    }
}

fn no_partition(number: Option<i128>) -> Error {
    Error::no_partition_for_value(&number.map_or_else(|| "NULL".to_owned(), |number| number.to_string()))
}

/// The order of a row of values against another, whose values `other` gives by their places.
pub fn compare_rows<'v>(
    columns: &[Column],
    own: &[usize],
    row: &[StoredValue],
    other: &dyn Fn(usize) -> Option<&'v [u8]>,
) -> Ordering {
    let pairs = row.iter().enumerate();
    let compared = pairs.map(|(place, value)| compare(&columns[own[place]], value.as_deref(), other(place)));
    compared.fold(Ordering::Equal, Ordering::then)
}
