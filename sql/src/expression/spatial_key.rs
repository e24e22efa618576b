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
//! A tree of rectangles would look at both axes at once. This one reads the rows of a strip.

use format::value::Value;
use storage::Column;

use super::reference_systems::is_geographic;
use super::{Expr, Node};
use crate::expression::functions::spatial::{HIGHEST, LOWEST};
use crate::types::TypeInfo;

/// The expression of the hidden column, in normal form.
pub fn expression(column: &str) -> String {
    format!("st_spatial_key(`{}`)", column.replace('`', "``"))
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
    columns.iter().position(|column| *expression(&column.name) == *generated.expression)
}

/// Whether the keys of geometries of a reference system tell where they lie: as far as relations are computed, in a plane.
pub fn is_searched(srid: u32) -> bool {
    matches!(is_geographic(srid), Ok(false))
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
            Reach::Around => (None, call(&LOWEST)),
            Reach::Meeting => (None, call(&HIGHEST)),
        }
    }
}
