//! RETURNING: the rows that a change made, or removed, as a result.

use format::value::ColumnType;

use super::OutputColumn;
use super::bind::bind_items;
use super::scope::Level;
use super::select::origin_of;
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::parser::ast::{Select, SelectItem};

pub struct Returning {
    pub output: Vec<Expr>,
    pub columns: Vec<OutputColumn>,
    pub types: Vec<ColumnType>,
}

/// Binds what is returned of the rows of the level's one table; None: nothing is.
pub fn bind_returning(level: &Level<'_>, items: &[SelectItem]) -> Result<Option<Returning>> {
    if items.is_empty() {
        return Ok(None);
    }
    let bound = bind_items(level, &Select { items: items.to_vec(), ..Select::default() })?;
    if !level.aggregates.borrow().is_empty() {
        return Err(Error::invalid_group_function());
    }
    if !level.windows.borrow().is_empty() {
        return Err(Error::misplaced_window_function("window function"));
    }
    let mut returning = Returning { output: Vec::new(), columns: Vec::new(), types: Vec::new() };
    for item in bound {
        // Whoever asks for it reads it, also where a view's columns may wait for that.
        if let Some(error) = item.refused {
            return Err(error);
        }
        let origin = item.expr.as_column().and_then(|slot| origin_of(&level.sources, level.slots[slot]));
        let column_type = item.expr.ty.column_type();
        returning.types.push(column_type.clone());
        returning.columns.push(OutputColumn { name: item.name, ty: item.expr.ty, column_type, origin });
        returning.output.push(item.expr);
    }
    Ok(Some(returning))
}
