//! The constants of VALUES LESS THAN and VALUES IN, as literals in normal form.

use format::collation::{Charset, collation, convert};
use format::value::{ColumnType, Value};
use storage::Column;

use super::super::Context;
use super::CONSTANT_EXPRESSION;
use crate::error::{Error, Result};
use crate::expression::assign::{Target, encode};
use crate::expression::{AssignMode, Datum, NoFields, assign};
use crate::parser::ast::{Expr, Literal, PartitionSpec, PartitionValue, PartitionValues, UnaryOp};
use crate::partitions::function::bind;

/// An integer as a literal.
fn literal_of(number: i128) -> Expr {
    let digits = Expr::Literal(Literal::Integer(number.unsigned_abs() as u64));
    match number < 0 {
        true => Expr::Unary { op: UnaryOp::Minus, expr: Box::new(digits) },
        false => digits,
    }
}

fn null() -> Expr {
    Expr::Literal(Literal::Null)
}

/// A number of RANGE or LIST, computed now, in the session's time zone. 1697 if it is none.
pub fn number(context: &Context<'_>, name: &str, unsigned: bool, value: &PartitionValue) -> Result<PartitionValue> {
    let PartitionValue::Expr(expr) = value else { return Ok(PartitionValue::MaxValue) };
    let bound = bind(context.eval, &[], expr)?;
    if !bound.is_constant() {
        return Err(Error::new(1486, b"HY000", CONSTANT_EXPRESSION));
    }
    let number = match bound.eval(context.eval, &NoFields)? {
        Datum::Null => return Ok(PartitionValue::Expr(null())),
        Datum::Int(number) => i128::from(number),
        Datum::UInt(number) => i128::from(number),
        _ => {
            return Err(Error::new(1697, b"HY000", format!("VALUES value for partition '{name}' must have type INT")));
        }
    };
    if unsigned && number < 0 {
        return Err(Error::new(1563, b"HY000", "Partition constant is out of partition function domain"));
    }
    Ok(PartitionValue::Expr(literal_of(number)))
}

/// A value of a column. 1654 if the column cannot have it as it is.
pub fn of_column(context: &Context<'_>, column: &Column, value: &PartitionValue) -> Result<PartitionValue> {
    let PartitionValue::Expr(expr) = value else { return Ok(PartitionValue::MaxValue) };
    let wrong = || Error::new(1654, b"HY000", "Partition column values of incorrect type");
    let bound = bind(context.eval, &[], expr)?;
    if !bound.is_constant() {
        return Err(Error::new(1486, b"HY000", CONSTANT_EXPRESSION));
    }
    let value = bound.eval(context.eval, &NoFields)?;
    let fits = match (&column.ty, &value) {
        (_, Datum::Null) => return Ok(PartitionValue::Expr(null())),
        (ColumnType::Int { .. }, Datum::Int(_) | Datum::UInt(_)) => true,
        (ColumnType::Int { .. }, _) => false,
        (ty, Datum::Bytes(_)) => !matches!(ty, ColumnType::Int { .. }),
        (
            ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Time { .. },
            Datum::Date(_) | Datum::DateTime(_) | Datum::Time(_),
        ) => true,
        _ => false,
    };
    if !fits {
        return Err(wrong());
    }
    let target = Target { name: &column.name, ty: &column.ty, nullable: true };
    let eval = &crate::partitions::own_context(context.eval);
    let value = assign(value, &bound.ty, &target, AssignMode::Strict, 1, eval).map_err(|_| wrong())?;
    let mut stored = Vec::new();
    encode(value, &column.ty, &mut stored)?;
    Ok(PartitionValue::Expr(match column.ty.decode(&stored) {
        Value::Int(number) => literal_of(i128::from(number)),
        Value::UInt(number) => literal_of(i128::from(number)),
        value => {
            let mut text = Vec::new();
            column.ty.write_value_text(&value, &mut text);
            match &column.ty {
                ColumnType::Binary { .. } | ColumnType::VarBinary { .. } if std::str::from_utf8(&text).is_err() => {
                    Expr::Literal(Literal::Hex { bytes: text, charset: None })
                }
                ty => {
                    let mut out = Vec::new();
                    let from = ty.collation().map_or(Charset::Utf8mb4, |id| collation(id).charset);
                    convert(&text, from, Charset::Utf8mb4, &mut out);
                    Expr::Literal(Literal::String { bytes: out, charset: None })
                }
            }
        }
    }))
}

/// Brings the values of a partition into normal form.
pub fn settle(
    spec: &mut PartitionSpec,
    settle: &mut dyn FnMut(&str, usize, &PartitionValue) -> Result<PartitionValue>,
) -> Result<()> {
    let name = spec.name.clone();
    let mut row = |row: &mut Vec<PartitionValue>| -> Result<()> {
        for (at, value) in row.iter_mut().enumerate() {
            *value = settle(&name, at, value)?;
        }
        Ok(())
    };
    match &mut spec.values {
        None => Ok(()),
        Some(PartitionValues::LessThan(values)) => row(values),
        Some(PartitionValues::In(rows)) => rows.iter_mut().try_for_each(row),
    }
}
