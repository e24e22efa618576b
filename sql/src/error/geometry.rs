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
        Error::new(1367, b"22023", text)
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
