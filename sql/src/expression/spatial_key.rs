//! SPATIAL indexes: trees on the lowest x of geometries.
//!
//! Such an index is on a hidden generated column, `st_spatial_key(g)`. What a condition says about geometries says
//! something about their keys; it is looked at itself for each row that is found. With `from` and `to` for the lowest
//! and the highest x of the geometry that the column is compared with:
//!
//! ```text
//! ST_Within(g, a), ST_Contains(a, g)                    from <= key <= to
//! ST_Contains(g, a), ST_Within(a, g)                    key <= from
//! ST_Intersects, ST_Touches, ST_Crosses, ST_Overlaps    key <= to
//! ```
//!
//! and so for the functions of bounding rectangles. ST_Equals is also true of two geometries without points, which have
//! no key. As in MySQL only an index of a column with an SRID attribute is searched.
//!
//! On the globe x is the longitude. A geometry that crosses the end of the map, or reaches around it, has the lowest key of all,
//! and one that is searched with finds all keys. Its keys are made by `st_spatial_key(g,1)`; indexes on
//! geographic columns that were made before there was such a key are not searched.
//!
//! A tree of rectangles would look at both axes at once. This one reads the rows of a strip.

use format::value::Value;
use storage::Column;

use super::reference_systems::{WGS_84, is_geographic};
use super::{Expr, Node};
use crate::expression::functions::spatial::{HIGHEST, LOWEST};
use crate::types::TypeInfo;

/// The expression of the hidden column, in normal form, for a column with or without an SRID attribute.
pub fn expression(column: &str, srid: Option<u32>) -> String {
    let is_on_globe = srid.is_some_and(|srid| matches!(is_geographic(srid), Ok(true)));
    format!("st_spatial_key(`{}`{})", column.replace('`', "``"), if is_on_globe { ",1" } else { "" })
}

/// The same expression of the column by another name. None: it is of another column.
pub fn renamed(text: &str, old: &str, new: &str) -> Option<String> {
    [None, Some(WGS_84)].into_iter().find(|srid| expression(old, *srid) == text).map(|srid| expression(new, srid))
}

/// Whether a hidden column with this expression is the key of a spatial index.
pub fn is_expression(text: &str) -> bool {
    text.starts_with("st_spatial_key(")
}

/// The column whose geometries a hidden column has the keys of.
pub fn column_of(columns: &[Column], key: usize) -> Option<usize> {
    let generated = columns[key].generated.as_ref().filter(|generated| generated.hidden)?;
    // Cheap for the keys of other functional indexes.
    if !is_expression(&generated.expression) {
        return None;
    }
    columns.iter().position(|column| renamed(&generated.expression, &column.name, &column.name).is_some())
}

/// Whether the keys of geometries of a reference system tell where they lie: where relations are computed.
pub fn is_searched(srid: u32) -> bool {
    is_geographic(srid).is_ok()
}

/// Where the keys lie of geometries for which a function is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Inside,
    Around,
    Meeting,
}

impl Reach {
    /// Of a function's first or second argument, compared with the other one.
    pub fn of(function: &str, is_first: bool) -> Option<Reach> {
        Some(match (function, is_first) {
            ("st_within" | "mbrwithin" | "mbrcoveredby", true)
            | ("st_contains" | "mbrcontains" | "mbrcovers", false) => Reach::Inside,
            ("st_within" | "mbrwithin" | "mbrcoveredby", false)
            | ("st_contains" | "mbrcontains" | "mbrcovers", true) => Reach::Around,
            ("mbrequals" | "mbrequal", _) => Reach::Inside,
            ("st_intersects" | "st_touches" | "st_crosses" | "st_overlaps", _) => Reach::Meeting,
            ("mbrintersects" | "mbrtouches" | "mbroverlaps", _) => Reach::Meeting,
            _ => return None,
        })
    }

    /// The bounds of the keys, both inclusive, for a geometry and the reference system of the column.
    pub fn bounds(self, geometry: &Expr, srid: u32) -> (Option<Expr>, Expr) {
        let call = |function| {
            let srid = Expr { node: Node::Constant(Value::Int(srid.into())), ty: TypeInfo::bigint(20) };
            Expr { node: Node::Call { function, args: vec![geometry.clone(), srid] }, ty: TypeInfo::double() }
        };
        match self {
            Reach::Inside => (Some(call(&LOWEST)), call(&HIGHEST)),
            // What is searched with may cross the end of the map, and then lie inside of geometries with any key.
            Reach::Around if matches!(is_geographic(srid), Ok(true)) => (None, call(&HIGHEST)),
            Reach::Around => (None, call(&LOWEST)),
            Reach::Meeting => (None, call(&HIGHEST)),
        }
    }
}
