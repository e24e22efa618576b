//! What the systems are: their names, ellipsoids and units, from the texts of the crate `crs-definitions`.
//!
//! ```text
//! PROJCS["name",GEOGCS["name",DATUM[..,SPHEROID["name",semi-major axis,inverse flattening,..],TOWGS84[..]..],
//!     PRIMEM["name",degrees..],UNIT["name",radians..]..],PROJECTION[..],PARAMETER[..]..,UNIT["name",metres..]..]
//! ```
//!
//! A system that it does not know, or knows by another form of text, has no such facts: what needs them is 1235.

/// The figure of the earth that a geographic system stands on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ellipsoid {
    /// In metres.
    pub semi_major: f64,
    /// 0 of a sphere.
    pub inverse_flattening: f64,
}

/// The text of a system.
fn text(srid: u32) -> Option<&'static str> {
    let definition = crs_definitions::from_code(u16::try_from(srid).ok()?)?;
    Some(definition.wkt).filter(|text| text.starts_with("GEOGCS[") || text.starts_with("PROJCS["))
}

/// WGS 84 as MySQL lists it.
const WGS_84_TEXT: &str = "GEOGCS[\"WGS 84\",DATUM[\"World Geodetic System 1984\",SPHEROID[\"WGS 84\",6378137,\
     298.257223563,AUTHORITY[\"EPSG\",\"7030\"]],AUTHORITY[\"EPSG\",\"6326\"]],PRIMEM[\"Greenwich\",0,\
     AUTHORITY[\"EPSG\",\"8901\"]],UNIT[\"degree\",0.017453292519943278,AUTHORITY[\"EPSG\",\"9122\"]],\
     AXIS[\"Lat\",NORTH],AXIS[\"Lon\",EAST],AUTHORITY[\"EPSG\",\"4326\"]]";

/// The name of a system, and its text as it is listed.
pub fn name_and_text(srid: u32) -> Option<(&'static str, String)> {
    if srid == super::WGS_84 {
        return Some(("WGS 84", WGS_84_TEXT.to_owned()));
    }
    let text = text(srid)?;
    let (_, behind) = text.split_once("[\"")?;
    let (name, _) = behind.split_once('"')?;
    // Latitude is first in all of these systems that have no axes in the text.
    let listed = match text.strip_suffix(']').filter(|_| text.starts_with("GEOGCS[") && !text.contains(",AXIS[")) {
        Some(front) => match front.rsplit_once(",AUTHORITY[") {
            Some((front, own)) => format!("{front},AXIS[\"Lat\",NORTH],AXIS[\"Lon\",EAST],AUTHORITY[{own}]"),
            None => text.to_owned(),
        },
        None => text.to_owned(),
    };
    Some((name, listed))
}

/// What a system says of its way to others.
pub enum Projection {
    /// In the language of PROJ 4.
    Known(&'static str),
    /// It is not known where its ellipsoid lies to that of WGS 84.
    Apart,
    /// Its coordinates stand in another order, or it is not known.
    Unsupported,
}

pub fn projection(srid: u32) -> Projection {
    let Some(text) = text(srid) else { return Projection::Unsupported };
    if text.starts_with("PROJCS[") {
        let Some((_, axes)) = text.split_once(",AXIS[") else { return Projection::Unsupported };
        let mut axes = axes.split(",AXIS[").map(|axis| axis.split([',', ']']).nth(1));
        if (axes.next().flatten(), axes.next().flatten()) != (Some("EAST"), Some("NORTH")) {
            return Projection::Unsupported;
        }
    }
    if !text.contains(",TOWGS84[") && !text.contains("DATUM[\"WGS_1984\"") {
        return Projection::Apart;
    }
    match u16::try_from(srid).ok().and_then(crs_definitions::from_code) {
        Some(definition) if !definition.proj4.is_empty() => Projection::Known(definition.proj4),
        _ => Projection::Unsupported,
    }
}

pub fn ellipsoid(srid: u32) -> Option<Ellipsoid> {
    let (_, spheroid) = text(srid)?.split_once("SPHEROID[\"")?;
    let (_, numbers) = spheroid.split_once("\",")?;
    let mut numbers = numbers.split([',', ']']).map(|number| number.parse::<f64>().ok());
    let ellipsoid = Ellipsoid { semi_major: numbers.next()??, inverse_flattening: numbers.next()?? };
    let is_sound = ellipsoid.semi_major > 0.0
        && (ellipsoid.inverse_flattening == 0.0 || ellipsoid.inverse_flattening > 1.0)
        && ellipsoid.semi_major.is_finite();
    is_sound.then_some(ellipsoid)
}

/// How many metres the unit of a projected system's coordinates is.
pub fn linear_unit(srid: u32) -> Option<f64> {
    let (_, projection) = text(srid)?.strip_prefix("PROJCS[")?.split_once(",PROJECTION[")?;
    let (_, unit) = projection.split_once(",UNIT[\"")?;
    let (_, metres) = unit.split_once("\",")?;
    metres.split([',', ']']).next()?.parse().ok().filter(|metres| *metres > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_from_texts() {
        let wgs_84 = Ellipsoid { semi_major: 6_378_137.0, inverse_flattening: 298.257223563 };
        assert_eq!(ellipsoid(4326), Some(wgs_84));
        assert_eq!(ellipsoid(3857), Some(wgs_84));
        assert_eq!(ellipsoid(4053), Some(Ellipsoid { semi_major: 6_371_228.0, inverse_flattening: 0.0 }));
        assert_eq!(linear_unit(2001), Some(1.0));
        assert_eq!(linear_unit(2225), Some(0.3048006096012192));
        assert_eq!((linear_unit(4326), ellipsoid(0), ellipsoid(70000)), (None, None, None));
    }

    #[test]
    fn most_systems_have_facts() {
        let count = |has: fn(u32) -> bool| (0..=u32::from(u16::MAX)).filter(|srid| has(*srid)).count();
        assert!(count(|srid| ellipsoid(srid).is_some()) > 5_400);
        assert!(count(|srid| linear_unit(srid).is_some()) > 4_900);
    }
}
