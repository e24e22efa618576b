//! Values as they are stored in the columns of a table.

use std::borrow::Cow;

use format::collation::collation;
use format::value::{ColumnType, Date, DateTime, Decimal, Json, Value, Zone, double_of, signed_of, unsigned_of};
use storage::Column;

use super::{Binder, Datum, EvalContext, Expr, Fields, Scope};
use crate::error::{Error, Result};
use crate::parser::ast::ColumnName;
use crate::parser::parse_expression;
use crate::types::{SqlMode, TypeInfo};

/// The value of stored bytes, borrowed where it is a string.
#[inline]
pub fn decode<'a>(ty: &ColumnType, stored: &'a [u8], zone: Zone) -> Datum<'a> {
    match ty {
        ColumnType::VarChar { .. }
        | ColumnType::VarBinary { .. }
        | ColumnType::Text { .. }
        | ColumnType::Blob { .. }
        | ColumnType::Geometry { .. }
        | ColumnType::Binary { .. } => Datum::Bytes(Cow::Borrowed(stored)),
        // Padded to its length in the record; the padding is not part of the value.
        ColumnType::Char { collation: id, .. } => {
            Datum::Bytes(Cow::Borrowed(collation(*id).charset.without_spaces(stored)))
        }
        ColumnType::Int { unsigned: false, .. } => Datum::Int(signed_of(stored)),
        ColumnType::Int { unsigned: true, .. } => Datum::UInt(unsigned_of(stored)),
        ColumnType::Double { .. } => Datum::Double(double_of(stored)),
        ColumnType::Decimal { precision, scale, .. } => Datum::Decimal(Decimal::decode(stored, *precision, *scale)),
        ColumnType::Date => Datum::Date(Date::decode(stored)),
        ColumnType::DateTime { fsp } => Datum::DateTime(DateTime::decode(stored, *fsp)),
        ColumnType::Json => Datum::Json(Json::binary_of_stored(stored)),
        ColumnType::Timestamp { .. } => match ty.decode(stored) {
            Value::DateTime(utc) => Datum::DateTime(to_local(utc, zone)),
            other => Datum::from(other),
        },
        _ => Datum::from(ty.decode(stored)),
    }
}

/// UTC as local time. The zero timestamp has no zone.
pub fn to_local(utc: DateTime, zone: Zone) -> DateTime {
    if zone == Zone::UTC || utc == DateTime::ZERO {
        return utc;
    }
    DateTime::from_unix_micros(utc.to_unix_micros(Zone::UTC), zone).unwrap_or(utc)
}

/// A row as fields, by a function that gives the stored bytes of a column: slots are columns.
pub struct StoredFields<'f> {
    pub columns: &'f [Column],
    pub value: &'f dyn Fn(usize) -> Option<&'f [u8]>,
    pub zone: Zone,
}

impl Fields for StoredFields<'_> {
    fn field(&self, slot: usize) -> Datum<'_> {
        match (self.value)(slot) {
            Some(stored) => decode(&self.columns[slot].ty, stored, self.zone),
            None => Datum::Null,
        }
    }
}

/// Binds an expression of the dictionary to the columns of its table.
pub fn bind_to_columns(eval: &EvalContext<'_>, columns: &[Column], text: &str) -> Result<Expr> {
    let parsed = parse_expression(text.as_bytes(), SqlMode::DEFAULT)?;
    let scope = OwnColumns { columns };
    let connection = format::collation::CollationId::DEFAULT;
    let mut binder = Binder::new(&scope, eval.session, SqlMode::DEFAULT, connection, &[]);
    binder.of_definition = true;
    binder.bind(&parsed)
}

/// The columns of one table, by their names.
pub struct OwnColumns<'c> {
    pub columns: &'c [Column],
}

impl Scope for OwnColumns<'_> {
    fn takes_arrays(&self) -> bool {
        true
    }

    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let at = self.columns.iter().position(|column| storage::same_name(&column.name, &name.name));
        let at = at.ok_or_else(|| Error::unknown_column(&name.name, "field list"))?;
        let column = &self.columns[at];
        Ok(Expr { ty: TypeInfo::of_stored(column), ..Expr::column(at, &column.ty, column.nullable) })
    }
}
