//! SPATIAL indexes: on one column of geometries, which is NOT NULL. They are indexes of a hidden column, see
//! [`spatial_key`].

use format::value::{ColumnType, GeometryType};
use storage::schema::{Column, IndexDefinition, same_name};

use super::Context;
use crate::error::{Error, Result};
use crate::expression::spatial_key;
use crate::parser::ast::{IndexKind, IndexSpec};
use crate::parser::parse_expression;
use crate::types::SqlMode;

/// Whether a KEY that is not called SPATIAL is one: that of one whole column of geometries. A POINT that may be NULL has a
/// B-tree of its bytes.
pub fn is_meant(spec: &IndexSpec, columns: &[Column]) -> bool {
    let [part] = &spec.parts[..] else { return false };
    let column = columns.iter().find(|column| !column.is_hidden() && same_name(&column.name, &part.column));
    spec.kind == IndexKind::Plain
        && part.expression.is_none()
        && part.prefix.is_none()
        && column.is_some_and(|column| match &column.ty {
            ColumnType::Geometry { kind: GeometryType::Point, .. } => !column.nullable,
            ColumnType::Geometry { .. } => true,
            _ => false,
        })
}

/// The index as a functional one, with a name.
pub fn functional(
    context: &Context<'_>,
    spec: &IndexSpec,
    columns: &[Column],
    is_taken: &dyn Fn(&str) -> bool,
) -> Result<IndexSpec> {
    let mut spec = spec.clone();
    let [part] = &mut spec.parts[..] else { return Err(Error::too_many_key_parts(1)) };
    if part.expression.is_some() {
        return Err(Error::new(3760, b"HY000", "Spatial functional index is not supported."));
    }
    let named = columns.iter().find(|column| !column.is_hidden() && same_name(&column.name, &part.column));
    let column = named.ok_or_else(|| Error::key_column_missing(&part.column))?;
    check(column)?;
    if part.prefix.is_some() {
        return Err(Error::wrong_prefix_key());
    }
    if part.descending {
        let text = "Incorrect usage of spatial/fulltext/hash index and explicit index order";
        return Err(Error::new(1221, b"HY000", text));
    }
    if let Some(algorithm) = &spec.algorithm {
        let text = format!("The index type {} is not supported for spatial indexes.", algorithm.to_ascii_uppercase());
        return Err(Error::new(3500, b"HY000", text));
    }
    if matches!(column.ty, ColumnType::Geometry { srid: None, .. }) {
        let text = format!(
            "The spatial index on column '{}' will not be used by the query optimizer since the column does not have an \
             SRID attribute. Consider adding an SRID attribute to the column.",
            column.name
        );
        context.eval.warn(Error::new(3674, b"HY000", text));
    }
    if spec.name.is_none() {
        let candidates =
            std::iter::once(column.name.to_string()).chain((2..100).map(|number| format!("{}_{number}", column.name)));
        spec.name = candidates.into_iter().find(|name| !is_taken(name) && !name.eq_ignore_ascii_case("PRIMARY"));
    }
    let srid = if let ColumnType::Geometry { srid, .. } = column.ty { srid } else { None };
    let text = spatial_key::expression(&column.name, srid);
    part.expression = Some(parse_expression(text.as_bytes(), SqlMode::default())?);
    Ok(spec)
}

fn check(column: &Column) -> Result<()> {
    if !matches!(column.ty, ColumnType::Geometry { .. }) {
        let text = "A SPATIAL index may only contain a geometrical type column";
        return Err(Error::new(1687, b"42000", text));
    }
    if column.nullable {
        return Err(Error::new(1252, b"42000", "All parts of a SPATIAL index must be NOT NULL"));
    }
    if column.generated.as_ref().is_some_and(|generated| !generated.stored) {
        return Err(Error::not_for_generated("Spatial index on virtual generated column"));
    }
    Ok(())
}

/// What a changed column has to be still.
pub fn check_columns(columns: &[Column], indexes: &[IndexDefinition]) -> Result<()> {
    let parts = indexes.iter().flat_map(|index| &index.parts);
    parts.filter_map(|part| spatial_key::column_of(columns, part.column)).try_for_each(|at| check(&columns[at]))
}

/// The indexes follow the names of their columns.
pub fn rename(columns: &mut [Column], renamed: &[(Box<str>, Box<str>)]) {
    for column in columns {
        let Some(generated) = column.generated.as_mut().filter(|generated| generated.hidden) else { continue };
        let mut renamed = renamed.iter().filter(|(old, new)| old != new);
        let renamed = renamed.find_map(|(old, new)| spatial_key::renamed(&generated.expression, old, new));
        if let Some(expression) = renamed {
            generated.expression = expression.into();
        }
    }
}
