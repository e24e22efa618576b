//! Multi-valued indexes at work: which elements a condition asks for, and which keys a row has.

use std::sync::Arc;

use format::value::{ColumnType, Json, array};
use storage::{Row, Table, identity_of_key};

use crate::error::Result;
use crate::expression::{EvalContext, Fields, arrays, json};
use crate::planner::arrays::{Asked, ElementsAccess};

/// What is to be read of an index.
pub enum Keys {
    /// Nothing: the condition is NULL.
    Null,
    /// The index does not answer: all rows.
    All,
    /// The entries of these elements.
    Some(Vec<Vec<u8>>),
}

/// The elements that a condition asks for.
pub fn keys(access: &ElementsAccess, context: &EvalContext<'_>, row: &dyn Fields) -> Result<Keys> {
    let value = access.value.eval(context, row)?;
    if value.is_null() {
        return Ok(Keys::Null);
    }
    let document = match access.asked {
        Asked::Member => json::of_value(value, &access.value)?,
        Asked::All | Asked::Any => {
            // What is no document is an error of the condition, which is evaluated where there is a row.
            match json::document(value, &access.value.ty, access.argument, access.function) {
                Ok(Some(document)) => document,
                Ok(None) => return Ok(Keys::Null),
                Err(_) => return Ok(Keys::All),
            }
        }
    };
    let elements = match &document {
        Json::Array(elements) if access.asked != Asked::Member => &elements[..],
        one => std::slice::from_ref(one),
    };
    // Every row contains the empty array, if it has an array at all.
    if elements.is_empty() {
        return Ok(Keys::All);
    }
    let mut keys = Vec::with_capacity(elements.len());
    for element in elements {
        match arrays::element_of(element, &access.elements) {
            Ok(key) => keys.push(key),
            Err(_) => return Ok(Keys::All),
        }
    }
    if access.asked == Asked::All {
        keys.truncate(1);
    }
    keys.sort();
    keys.dedup();
    Ok(Keys::Some(keys))
}

/// What tells a row from all others of its table: it has been read with the columns of its key.
pub fn identity(table: &Arc<Table>, row: &Row) -> Box<[u8]> {
    let row_id = row.row_id.to_be_bytes();
    let key: Vec<Option<&[u8]>> = match table.has_row_id() {
        true => vec![Some(&row_id[2..])],
        false => table.indexes[0].parts.iter().map(|part| row.get(part.column)).collect(),
    };
    let mut identity = Vec::new();
    // Partitions have one form of keys, and the table above them has no trees.
    identity_of_key(&table.files()[0], &key, &mut identity);
    identity.into()
}

/// The elements of an array that a column holds, as messages tell them.
pub fn text(stored: &[u8], ty: &ColumnType) -> Vec<u8> {
    let mut text = b"[".to_vec();
    for (at, element) in array::elements(stored).flatten().enumerate() {
        if at > 0 {
            text.extend_from_slice(b", ");
        }
        let is_text = matches!(ty, ColumnType::VarChar { .. } | ColumnType::VarBinary { .. });
        text.extend_from_slice(if is_text { b"\"" } else { b"" });
        ty.write_text_at(element, format::value::Zone::UTC, &mut text);
        text.extend_from_slice(if is_text { b"\"" } else { b"" });
    }
    text.push(b']');
    text
}

/// The part of an index that holds an array.
pub fn array_part(table: &Table, index: usize) -> Option<usize> {
    table.indexes[index].parts.iter().position(|part| part.elements.is_some())
}

/// What a row has in the parts of an index, as far as they take it: of an array all of it.
pub fn key_of_row<'v>(
    table: &Table,
    index: usize,
    value: &dyn Fn(usize) -> Option<&'v [u8]>,
    key: &mut [Option<&'v [u8]>],
) {
    for (slot, part) in key.iter_mut().zip(&table.indexes[index].parts) {
        let stored = value(part.column);
        *slot = match (stored, part.prefix_chars) {
            (Some(stored), Some(prefix)) => {
                let kept = match table.columns[part.column].ty.collation() {
                    Some(id) => format::collation::collation(id).charset.offset_of_char(stored, prefix as usize),
                    None => stored.len().min(prefix as usize),
                };
                Some(&stored[..kept])
            }
            (stored, _) => stored,
        };
    }
}

/// The elements of an array in the order of an index, each once. The stored bytes of all types of elements have that order.
pub fn of_row(array: Option<&[u8]>) -> Vec<&[u8]> {
    let mut elements: Vec<&[u8]> = array::elements(array.unwrap_or_default()).flatten().collect();
    elements.sort_unstable();
    elements.dedup();
    elements
}
