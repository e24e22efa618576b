//! ST_AsGeoJSON and ST_GeomFromGeoJSON.

use super::arguments::{geometry, geometry_type, result, srid};
use super::{Call, Function, Typing, not_null};
use crate::error::{Error, Result};
use crate::expression::geojson::{self, CrsForm, Options};
use crate::expression::{Datum, geometry as geometries, json};
use crate::types::TypeInfo;

pub const FUNCTIONS: &[Function] = &[
    Function::new("st_asgeojson", (1, 3), json_type, as_geojson),
    Function::new("st_geomfromgeojson", (1, 3), geometry_type, from_geojson),
];

/// Flags of ST_AsGeoJSON's last argument.
const BBOX: i64 = 1;
const SHORT_CRS: i64 = 2;
const URN_CRS: i64 = 4;

fn json_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::json())
}

fn as_geojson<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let geometry = not_null!(geometry(call, 0)?);
    // Longitude first, as it is stored; but the system has to be one that is known.
    geometries::is_geographic(geometry.srid)?;
    let mut options = Options::default();
    if call.has(1) {
        options.decimals = Some(number(call, not_null!(call.int(1)?))?);
    }
    if call.has(2) {
        let flags = not_null!(call.int(2)?);
        if !(0..=7).contains(&flags) {
            return Err(Error::out_of_range("options", call.name));
        }
        options.bbox = flags & BBOX != 0;
        options.crs = match (flags & URN_CRS != 0, flags & SHORT_CRS != 0) {
            (true, _) => Some(CrsForm::Urn),
            (false, true) => Some(CrsForm::Short),
            (false, false) => None,
        };
    }
    match json::encode(&geojson::write(&geometry, options))? {
        Datum::Json(document) if !call.fits(call.name, document.len() as u64) => Ok(Datum::Null),
        document => Ok(document),
    }
}

fn number(call: &Call<'_>, number: i64) -> Result<u32> {
    u32::try_from(number).map_err(|_| Error::out_of_range("max decimal digits", call.name))
}

/// The system is the one that is given, or the one that the object names, or WGS 84.
fn from_geojson<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let document = not_null!(json::document(call.arg(0)?, call.arg_type(0), 1, call.name)?);
    let option = if call.has(1) { not_null!(call.int(1)?) } else { 1 };
    if !(1..=4).contains(&option) {
        return Err(Error::out_of_range("option", call.name));
    }
    let own = if call.has(2) { Some(not_null!(srid(call, 2)?)) } else { None };
    let shape = not_null!(geojson::read(&document, option > 1)?);
    let srid = match own {
        Some(srid) => srid,
        None => geojson::srid(&document)?.unwrap_or(geometries::WGS_84),
    };
    let geometry = geometries::take_in(shape, srid, geometries::AxisOrder::LongitudeFirst, call.name)?;
    result(call, &geometry)
}
