//! Geometries, and their spatial reference systems.

use format::value::GeometryType;

use super::Error;

impl Error {
    /// What a column is given is no geometry, or one of a kind that it does not take.
    pub fn no_geometry_for_column() -> Error {
        Error::new(1416, b"22003", "Cannot get geometry object from data you send to the GEOMETRY field")
    }

    /// A column that is NOT NULL is added where rows exist.
    pub fn no_value_for_geometry() -> Error {
        Error::new(1138, b"22004", "Invalid use of NULL value")
    }

    pub fn wrong_srid_for_column(column: &str, given: u32, own: u32) -> Error {
        let text = format!(
            "The SRID of the geometry does not match the SRID of the column '{column}'. The SRID of the geometry is \
             {given}, but the SRID of the column is {own}. Consider changing the SRID of the geometry or the SRID \
             property of the column."
        );
        Error::new(3643, b"HY000", text)
    }

    pub fn unknown_reference_system(srid: u32) -> Error {
        Error::new(3548, b"SR001", format!("There's no spatial reference system with SRID {srid}."))
    }

    pub fn invalid_geometry(function: &str) -> Error {
        Error::new(3037, b"22023", format!("Invalid GIS data provided to function {function}."))
    }

    pub fn different_srids(function: &str, one: u32, other: u32) -> Error {
        let text = format!(
            "Binary geometry function {function} given two geometries of different srids: {one} and {other}, which \
             should have been identical."
        );
        Error::new(3033, b"HY000", text)
    }

    pub fn different_srids_in_group(function: &str, one: u32, other: u32) -> Error {
        let text = format!(
            "Arguments to function {function} contains geometries with different SRIDs: {one} and {other}. All \
             geometries must have the same SRID."
        );
        Error::new(4034, b"22S05", text)
    }

    pub fn unexpected_geometry(expected: GeometryType, given: GeometryType, function: &str) -> Error {
        let (expected, given) = (expected.short_name().to_uppercase(), given.short_name().to_uppercase());
        let text = format!("{expected} value is a geometry of unexpected type {given} in {function}.");
        Error::new(3516, b"22S01", text)
    }

    pub fn invalid_radius(function: &str) -> Error {
        let text = format!("Invalid radius provided to function {function}: Radius must be greater than zero.");
        Error::new(3706, b"22003", text)
    }

    pub fn no_geometry_argument(value: &str) -> Error {
        Error::new(1367, b"22007", format!("Illegal non geometric '{value}' value found during parsing"))
    }

    pub fn longitude_out_of_range(value: f64, function: &str) -> Error {
        let text = format!(
            "Longitude {value:.6} is out of range in function {function}. It must be within (-180.000000, 180.000000]."
        );
        Error::new(3616, b"22S02", text)
    }

    pub fn latitude_out_of_range(value: f64, function: &str) -> Error {
        let text = format!(
            "Latitude {value:.6} is out of range in function {function}. It must be within [-90.000000, 90.000000]."
        );
        Error::new(3617, b"22S03", text)
    }

    pub fn not_geographic(function: &str, srid: u32) -> Error {
        let text = format!(
            "Function {function} is only defined for geographic spatial reference systems, but one of its arguments is in SRID {srid}, which is not geographic."
        );
        Error::new(3726, b"22S00", text)
    }

    /// Of a geometry that is an argument, as it was stored; of a system that has another unit or meridian than that of
    /// the text that it came from.
    pub fn argument_longitude_out_of_range(value: f64, (low, high): (f64, f64), function: &str) -> Error {
        let text = format!(
            "A parameter of function {function} contains a geometry with longitude {value:.6}, which is out of range. \
             It must be within ({low:.6}, {high:.6}]."
        );
        Error::new(3731, b"22S02", text)
    }

    pub fn argument_latitude_out_of_range(value: f64, (low, high): (f64, f64), function: &str) -> Error {
        let text = format!(
            "A parameter of function {function} contains a geometry with latitude {value:.6}, which is out of range. \
             It must be within [{low:.6}, {high:.6}]."
        );
        Error::new(3732, b"22S03", text)
    }

    /// What MySQL has in planes, or on the globe, alone; `what` is a function with the kinds of its arguments.
    pub fn not_on_globe(what: &str) -> Error {
        let text = format!("{what} has not been implemented for geographic spatial reference systems.");
        Error::new(3618, b"22S00", text)
    }

    pub fn not_in_plane(what: &str) -> Error {
        Error::new(3704, b"22S00", format!("{what} has not been implemented for Cartesian spatial reference systems."))
    }

    pub fn not_in_projection(what: &str) -> Error {
        Error::new(3705, b"22S00", format!("{what} has not been implemented for projected spatial reference systems."))
    }

    /// Of a reference system that a geometry is transformed from, or to.
    pub fn not_transformed(is_source: bool, srid: u32) -> Error {
        let (code, from) = if is_source { (3741, "from") } else { (3742, "to") };
        Error::new(code, b"22S00", format!("Transformation {from} SRID {srid} is not supported."))
    }

    pub fn not_related_to_wgs_84(is_source: bool, srid: u32) -> Error {
        let (code, from) = if is_source { (3743, "from") } else { (3744, "to") };
        let text = format!(
            "Transformation {from} SRID {srid} is not supported. The spatial reference system has no TOWGS84 clause."
        );
        Error::new(code, b"22S00", text)
    }

    pub fn polygon_too_large(function: &str) -> Error {
        let text = format!(
            "Function {function} encountered a polygon that was too large. Polygons must be smaller than half the \
             planet."
        );
        Error::new(3727, b"22S00", text)
    }

    pub fn invalid_cast_to_geometry(from: &str, to: &str) -> Error {
        Error::new(4032, b"22S01", format!("Invalid cast from {from} to {to}."))
    }

    pub fn ring_in_wrong_direction(from: &str, to: &str) -> Error {
        let text = format!("Invalid cast from {from} to {to}. A polygon ring is in the wrong direction.");
        Error::new(4033, b"22S04", text)
    }

    pub fn unknown_unit(name: &str) -> Error {
        Error::new(3902, b"SU001", format!("There's no unit of measure named '{name}'."))
    }

    pub fn no_length_unit(function: &str, srid: u32, unit: &str) -> Error {
        let text = format!(
            "The geometry passed to function {function} is in SRID {srid}, which doesn't specify a length unit. Can't \
             convert to '{unit}'."
        );
        Error::new(3882, b"SU001", text)
    }

    /// An argument that has no meaning for the function: 1210.
    pub fn geohash_out_of_range(what: &str, value: &str, function: &str) -> Error {
        Error::new(1690, b"22003", format!("{what} value is out of range in '{function}({value})'"))
    }

    pub fn geojson_missing_member(member: &str) -> Error {
        let text =
            format!("Invalid GeoJSON data provided to function st_geomfromgeojson: Missing required member '{member}'");
        Error::new(3071, b"HY000", text)
    }

    pub fn geojson_wrong_member(member: &str, ty: &str) -> Error {
        let text = format!(
            "Invalid GeoJSON data provided to function st_geomfromgeojson: Member '{member}' must be of type '{ty}'"
        );
        Error::new(3072, b"HY000", text)
    }

    pub fn invalid_geojson() -> Error {
        Error::new(3070, b"HY000", "Invalid GeoJSON data provided to function st_geomfromgeojson")
    }
}
