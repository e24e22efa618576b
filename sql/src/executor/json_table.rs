//! The rows of JSON_TABLE.
//!
//! A document has no more rows than parts, for each path; so they are made at once.

use format::value::{Json, Value};

use super::memory::Memory;
use super::rows::{RowMaker, Rows};
use crate::error::{Error, Result};
use crate::expression::functions::json_as_column;
use crate::expression::{EvalContext, Fields, json};
use crate::planner::json_table::{JsonCell, JsonRows, JsonTable, Otherwise};

/// The rows for the current row of the tables before it.
pub fn rows(table: &JsonTable, memory: &Memory<'_>, context: &EvalContext<'_>, row: &dyn Fields) -> Result<Rows> {
    let mut out = RowMaker::new(memory);
    let value = table.document.eval(context, row)?;
    if let Some(document) = json::document(value, &table.document.ty, 1, "json_table")? {
        let blank = vec![Value::Null; table.width];
        add(&table.rows, &document, &blank, context, &mut out)?;
    }
    out.finish()
}

/// Adds the rows of one path in a part of the document. `outer` has the values of the levels around it. False: there is
/// none.
fn add(
    rows: &JsonRows,
    part: &Json,
    outer: &[Value],
    context: &EvalContext<'_>,
    out: &mut RowMaker<'_>,
) -> Result<bool> {
    let found = rows.path.find(part);
    for (number, place) in found.iter().enumerate() {
        if context.session.is_interrupted() {
            return Err(Error::interrupted());
        }
        let mut row = outer.to_vec();
        for (column, cell) in &rows.cells {
            row[*column] = match cell {
                JsonCell::Ordinality => Value::UInt(number as u64 + 1),
                JsonCell::Exists(path) => Value::Int(i64::from(path.is_found(place))),
                cell => value(cell, place, context)?,
            };
        }
        let mut has_nested = false;
        for nested in &rows.nested {
            has_nested |= add(nested, place, &row, context, out)?;
        }
        if !has_nested {
            out.push(&row)?;
        }
    }
    Ok(!found.is_empty())
}

fn value(cell: &JsonCell, place: &Json, context: &EvalContext<'_>) -> Result<Value> {
    let JsonCell::Value { name, path, ty, on_empty, on_error } = cell else { return Ok(Value::Null) };
    let converted = |json: &Json| json_as_column(json, ty, name, context);
    let instead = |otherwise: &Otherwise, error: Error| match otherwise {
        Otherwise::Null => Ok(Value::Null),
        Otherwise::Error => Err(error),
        Otherwise::Default(json) => converted(json),
    };
    let found = path.find(place);
    let result = match found.as_slice() {
        [] => {
            let text = format!("Missing value for JSON_TABLE column '{name}'");
            return instead(on_empty, Error::new(3665, b"22035", text));
        }
        [Json::Null] => return Ok(Value::Null),
        [single] => converted(single),
        // Several values are one only for a column that can hold an array.
        several => converted(&Json::Array(several.iter().map(|json| (*json).clone()).collect())),
    };
    result.or_else(|error| instead(on_error, error))
}
