//! Geometries from texts and from well-known binaries: one function for each kind, under several names.

use format::value::{Geometry, GeometryType, Shape};

use super::arguments::{axis_order, result, srid};
use super::{Call, Function, not_null};
use crate::error::{Error, Result};
use crate::expression::{Datum, geometry, json};
use crate::types::TypeInfo;

/// `reader`: a function that reads, under these names for these kinds.
macro_rules! readers {
    ($($reader:ident $kind:ident: $($name:literal)*;)*) => {
        &[$($(Function::new(
            $name,
            (1, 3),
            |_| Ok(TypeInfo::geometry(GeometryType::$kind)),
            |call| $reader(call, GeometryType::$kind),
        ),)*)*]
    };
}

pub const FUNCTIONS: &[Function] = readers! {
    from_text Geometry: "st_geomfromtext" "st_geometryfromtext" "geomfromtext" "geometryfromtext";
    from_text Point: "st_pointfromtext" "pointfromtext";
    from_text LineString: "st_linefromtext" "st_linestringfromtext" "linefromtext" "linestringfromtext";
    from_text Polygon: "st_polyfromtext" "st_polygonfromtext" "polyfromtext" "polygonfromtext";
    from_text MultiPoint: "st_mpointfromtext" "st_multipointfromtext" "mpointfromtext" "multipointfromtext";
    from_text MultiLineString: "st_mlinefromtext" "st_multilinestringfromtext" "mlinefromtext"
        "multilinestringfromtext";
    from_text MultiPolygon: "st_mpolyfromtext" "st_multipolygonfromtext" "mpolyfromtext" "multipolygonfromtext";
    from_text Collection: "st_geomcollfromtext" "st_geometrycollectionfromtext" "st_geomcollfromtxt"
        "geomcollfromtext" "geometrycollectionfromtext";
    from_wkb Geometry: "st_geomfromwkb" "st_geometryfromwkb" "geomfromwkb" "geometryfromwkb";
    from_wkb Point: "st_pointfromwkb" "pointfromwkb";
    from_wkb LineString: "st_linefromwkb" "st_linestringfromwkb" "linefromwkb" "linestringfromwkb";
    from_wkb Polygon: "st_polyfromwkb" "st_polygonfromwkb" "polyfromwkb" "polygonfromwkb";
    from_wkb MultiPoint: "st_mpointfromwkb" "st_multipointfromwkb" "mpointfromwkb" "multipointfromwkb";
    from_wkb MultiLineString: "st_mlinefromwkb" "st_multilinestringfromwkb" "mlinefromwkb"
        "multilinestringfromwkb";
    from_wkb MultiPolygon: "st_mpolyfromwkb" "st_multipolygonfromwkb" "mpolyfromwkb" "multipolygonfromwkb";
    from_wkb Collection: "st_geomcollfromwkb" "st_geometrycollectionfromwkb" "geomcollfromwkb"
        "geometrycollectionfromwkb";
};

fn from_text<'a>(call: &Call<'a>, kind: GeometryType) -> Result<Datum<'a>> {
    let text = not_null!(call.text(0)?);
    let srid = not_null!(srid(call, 1)?);
    let text = json::unicode(&text, call.charset_of(0));
    let shape = Geometry::parse_wkt(text.as_bytes(), srid).map_err(|_| Error::invalid_geometry(call.name))?.shape;
    taken_in(call, shape, srid, kind)
}

fn from_wkb<'a>(call: &Call<'a>, kind: GeometryType) -> Result<Datum<'a>> {
    let Datum::Bytes(bytes) = call.arg(0)? else {
        return if call.arg(0)?.is_null() { Ok(Datum::Null) } else { Err(Error::invalid_geometry(call.name)) };
    };
    let own_srid = not_null!(srid(call, 1)?);
    let invalid = |_| Error::invalid_geometry(call.name);
    if !call.arg_type(0).is_geometry() {
        let shape = Geometry::decode_wkb(&bytes).map_err(invalid)?;
        return taken_in(call, shape, own_srid, kind);
    }
    // A geometry stays as it is stored, and keeps its reference system unless another is given.
    let mut geometry = Geometry::decode(&bytes).map_err(invalid)?;
    if call.has(1) {
        geometry.srid = own_srid;
    }
    check_kind(call, &geometry.shape, kind)?;
    geometry::check_range(&geometry, call.name)?;
    result(call, &geometry)
}

fn taken_in<'a>(call: &Call<'a>, shape: Shape<f64>, srid: u32, kind: GeometryType) -> Result<Datum<'a>> {
    let order = not_null!(axis_order(call, 2)?);
    check_kind(call, &shape, kind)?;
    result(call, &geometry::take_in(shape, srid, order, call.name)?)
}

fn check_kind(call: &Call<'_>, shape: &Shape<f64>, kind: GeometryType) -> Result<()> {
    let given = GeometryType::of(shape);
    let fits = kind == GeometryType::Geometry || kind == given;
    if fits { Ok(()) } else { Err(Error::unexpected_geometry(kind, given, call.name)) }
}
