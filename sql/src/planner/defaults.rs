//! What columns take that are not given a value.

use format::value::{ColumnType, DateTime, Value, Zone};
use storage::{Column, ColumnDefault, Table};

use crate::error::{Error, Result};
use crate::expression::{Expr, Node, functions};
use crate::types::TypeInfo;

/// What a column takes that is not named.
#[derive(Debug, Clone)]
pub enum DefaultValue {
    /// Stored bytes; None is NULL.
    Stored(Option<Vec<u8>>),
    Now {
        fsp: u8,
    },
    /// Computed from the row, see [`RowRules`](super::row_rules::RowRules): a generated column, or a default that is an
    /// expression.
    Computed,
    /// NOT NULL and nothing given: 1364, or the type's zero when not strict.
    Missing,
    /// Filled in by the counter.
    AutoIncrement,
}

/// A column's default as an expression: for DEFAULT(column).
pub fn default_expr(column: &Column, zone: Zone) -> Result<Expr> {
    let ty = TypeInfo::of_column(&column.ty, true);
    match &column.default {
        ColumnDefault::Null => Ok(Expr::constant(Value::Null, ty)),
        ColumnDefault::Literal(stored) => {
            let value = match (&column.ty, column.ty.decode(stored)) {
                (ColumnType::Timestamp { fsp }, _) => Value::DateTime(DateTime::decode_timestamp(stored, *fsp, zone)),
                (ColumnType::Enum { members, .. }, Value::UInt(number)) => {
                    let name = number.checked_sub(1).and_then(|at| members.get(at as usize));
                    Value::Bytes(name.map(|name| name.as_bytes().to_vec()).unwrap_or_default())
                }
                (_, value) => value,
            };
            Ok(Expr::constant(value, ty))
        }
        ColumnDefault::None if column.nullable => Ok(Expr::constant(Value::Null, ty)),
        ColumnDefault::None => Err(Error::no_default(&column.name)),
        ColumnDefault::CurrentTimestamp { fsp } => {
            let args = if *fsp > 0 { vec![Expr::int(i64::from(*fsp))] } else { Vec::new() };
            Ok(Expr { node: Node::Call { function: functions::find("now")?, args }, ty })
        }
        ColumnDefault::Expression(_) => {
            Err(Error::new(3773, b"HY000", "DEFAULT function cannot be used with default value expressions"))
        }
    }
}

fn default_value(column: &Column) -> Result<DefaultValue> {
    if column.auto_increment {
        return Ok(DefaultValue::AutoIncrement);
    }
    if column.generated.is_some() {
        return Ok(DefaultValue::Computed);
    }
    Ok(match &column.default {
        ColumnDefault::Literal(stored) => DefaultValue::Stored(Some(stored.clone())),
        ColumnDefault::Null => DefaultValue::Stored(None),
        ColumnDefault::None if column.nullable => DefaultValue::Stored(None),
        // An ENUM's default is its first member, said or not.
        ColumnDefault::None if matches!(column.ty, ColumnType::Enum { .. }) => {
            let mut first = Vec::new();
            let encoded = column.ty.encode(&Value::UInt(1), &mut first);
            encoded.map_err(|error| Error::internal(format!("encode a member: {error:?}")))?;
            DefaultValue::Stored(Some(first))
        }
        ColumnDefault::None => DefaultValue::Missing,
        ColumnDefault::CurrentTimestamp { fsp } => DefaultValue::Now { fsp: *fsp },
        ColumnDefault::Expression(_) => DefaultValue::Computed,
    })
}

pub fn defaults(table: &Table) -> Result<Vec<DefaultValue>> {
    table.columns.iter().map(default_value).collect()
}
