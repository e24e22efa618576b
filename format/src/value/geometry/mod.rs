//! Geometries: points, lines and areas of a plane, as a column stores them, and as text.
//!
//! A stored value is the number of a spatial reference system and a well-known binary ("WKB") of OGC's Simple Features,
//! little-endian throughout:
//!
//! ```text
//! offset  bytes
//!      0      4  SRID
//!      4      1  byte order: 1, little-endian
//!      5      4  type, n
//!      9         Point            x 8, y 8
//!                LineString       points 4, then each x 8, y 8
//!                Polygon          rings 4, then each as a LineString: the outer one, then holes
//!                Multi...,        parts 4, then each with a byte order and a type of its own
//!                Collection
//! ```
//!
//! | n | | is whole if |
//! |---|---|---|
//! | 1 | Point | |
//! | 2 | LineString | it has two points or more |
//! | 3 | Polygon | each ring has four points or more, and ends where it begins |
//! | 4, 5, 6 | MultiPoint, MultiLineString, MultiPolygon | it has a part, and all parts are of its kind |
//! | 7 | GeometryCollection | it may have no part |
//!
//! In memory a geometry is one of the crate `geo-types`, on which the algorithms of `geo` work; of that enum the variants
//! `Line`, `Rect` and `Triangle` are never made.
//!
//! wkb.rs reads and writes the bytes, wkt.rs the text (`POINT(1 2)`).
//!
//! Invariants:
//!
//! * Bytes come from clients and from other servers. Every count is checked against the bytes that are left before
//!   anything is allocated, collections nest at most [`DEPTH_MAX`] deep, and every coordinate is a finite number.
//! * `decode(encode(geometry)) == geometry`, and so it is for the text.
//!
//! Not here: what the axes of a reference system mean, and anything that computes with coordinates (SQL's).
//!
//! Sources: OGC 06-103r4, "Simple feature access"; MySQL's manual, "Internal Geometry Storage Format".

mod wkb;
mod wkt;

pub use geo_types::Geometry as Shape;

/// How deep collections may nest.
pub const DEPTH_MAX: usize = 64;

/// A geometry, and the spatial reference system that its coordinates are of; 0 is a plane without units.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    pub srid: u32,
    pub shape: Shape<f64>,
}

/// What a geometry is, or may be in a column: [`GeometryType::Geometry`] is any. The numbers are WKB's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum GeometryType {
    Geometry = 0,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    Collection,
}

impl GeometryType {
    pub const ALL: [GeometryType; 8] = [
        GeometryType::Geometry,
        GeometryType::Point,
        GeometryType::LineString,
        GeometryType::Polygon,
        GeometryType::MultiPoint,
        GeometryType::MultiLineString,
        GeometryType::MultiPolygon,
        GeometryType::Collection,
    ];

    pub fn from_number(number: u32) -> Option<GeometryType> {
        GeometryType::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// As types are written in SQL, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            GeometryType::Geometry => "geometry",
            GeometryType::Point => "point",
            GeometryType::LineString => "linestring",
            GeometryType::Polygon => "polygon",
            GeometryType::MultiPoint => "multipoint",
            GeometryType::MultiLineString => "multilinestring",
            GeometryType::MultiPolygon => "multipolygon",
            GeometryType::Collection => "geometrycollection",
        }
    }

    /// As MySQL calls values: a collection by its other name.
    pub const fn short_name(self) -> &'static str {
        match self {
            GeometryType::Collection => "geomcollection",
            ty => ty.name(),
        }
    }

    /// By its name in any case; GEOMCOLLECTION is MySQL's other name of GEOMETRYCOLLECTION.
    pub fn by_name(name: &str) -> Option<GeometryType> {
        if name.eq_ignore_ascii_case("geomcollection") {
            return Some(GeometryType::Collection);
        }
        GeometryType::ALL.into_iter().find(|ty| name.eq_ignore_ascii_case(ty.name()))
    }

    /// Of a shape; never [`GeometryType::Geometry`].
    pub fn of(shape: &Shape<f64>) -> GeometryType {
        match shape {
            Shape::Point(_) => GeometryType::Point,
            Shape::LineString(_) | Shape::Line(_) => GeometryType::LineString,
            Shape::Polygon(_) | Shape::Rect(_) | Shape::Triangle(_) => GeometryType::Polygon,
            Shape::MultiPoint(_) => GeometryType::MultiPoint,
            Shape::MultiLineString(_) => GeometryType::MultiLineString,
            Shape::MultiPolygon(_) => GeometryType::MultiPolygon,
            Shape::GeometryCollection(_) => GeometryType::Collection,
        }
    }

    /// Whether a column of this type takes a geometry of another: one of any type takes all, and one of collections the
    /// collections of one kind as well.
    pub fn takes(self, other: GeometryType) -> bool {
        match self {
            GeometryType::Geometry => true,
            GeometryType::Collection => other >= GeometryType::MultiPoint,
            ty => ty == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use geo_types::{Coord, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn coordinate() -> impl Strategy<Value = Coord<f64>> {
        let number = || prop_oneof![-1000..1000_i32, any::<i32>()].prop_map(f64::from).boxed();
        let any_number = || prop_oneof![number(), any::<f64>().prop_filter("finite", |n| n.is_finite())];
        (any_number(), any_number()).prop_map(|(x, y)| Coord { x, y })
    }

    fn line() -> impl Strategy<Value = LineString<f64>> {
        vec(coordinate(), 2..5).prop_map(LineString::new)
    }

    fn polygon() -> impl Strategy<Value = Polygon<f64>> {
        let ring = || {
            vec(coordinate(), 3..6).prop_map(|mut ring| {
                ring.push(ring[0]);
                LineString::new(ring)
            })
        };
        (ring(), vec(ring(), 0..3)).prop_map(|(outer, holes)| Polygon::new(outer, holes))
    }

    fn shape() -> impl Strategy<Value = Shape<f64>> {
        let leaf = prop_oneof![
            coordinate().prop_map(|at| Shape::Point(Point(at))),
            line().prop_map(Shape::LineString),
            polygon().prop_map(Shape::Polygon),
            vec(coordinate().prop_map(Point), 1..4).prop_map(|points| Shape::MultiPoint(MultiPoint(points))),
            vec(line(), 1..4).prop_map(|lines| Shape::MultiLineString(MultiLineString(lines))),
            vec(polygon(), 1..3).prop_map(|polygons| Shape::MultiPolygon(MultiPolygon(polygons))),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            vec(inner, 0..4).prop_map(|parts| Shape::GeometryCollection(GeometryCollection(parts)))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_geometry_comes_back_from_its_bytes_and_from_its_text(srid in any::<u32>(), shape in shape()) {
            let geometry = Geometry { srid, shape };
            let stored = geometry.encode();
            prop_assert_eq!(&Geometry::decode(&stored).unwrap(), &geometry);
            prop_assert_eq!(Geometry::srid_of(&stored), Some(srid));
            prop_assert_eq!(Geometry::type_of(&stored), Some(GeometryType::of(&geometry.shape)));
            let mut text = Vec::new();
            geometry.write_wkt(&mut text);
            prop_assert_eq!(Geometry::parse_wkt(&text, srid).unwrap(), geometry);
            // Cut anywhere it is refused.
            for cut in 0..stored.len() {
                prop_assert!(Geometry::decode(&stored[..cut]).is_err());
            }
        }

        #[test]
        fn damaged_bytes_are_refused_or_are_a_geometry(
            shape in shape(),
            damages in vec((any::<usize>(), any::<u8>()), 1..4),
            text in vec(any::<u8>(), 0..60),
        ) {
            let mut stored = Geometry { srid: 0, shape }.encode();
            for (at, byte) in damages {
                let at = at % stored.len();
                stored[at] = byte;
            }
            if let Ok(geometry) = Geometry::decode(&stored) {
                prop_assert_eq!(Geometry::decode(&geometry.encode()).unwrap(), geometry);
            }
            let _ = Geometry::decode(&text);
            let _ = Geometry::parse_wkt(&text, 0);
        }
    }

    #[test]
    fn collections_do_not_nest_without_end() {
        let nested = |depth: usize| {
            let mut bytes = vec![0; 4];
            for _ in 0..depth {
                bytes.extend_from_slice(&[1, 7, 0, 0, 0, 1, 0, 0, 0]);
            }
            bytes.extend_from_slice(&[1, 7, 0, 0, 0, 0, 0, 0, 0]);
            bytes
        };
        assert!(Geometry::decode(&nested(DEPTH_MAX - 1)).is_ok());
        assert!(Geometry::decode(&nested(DEPTH_MAX)).is_err());
        assert!(Geometry::decode(&nested(1_000_000)).is_err());
        let text = "GEOMETRYCOLLECTION(".repeat(1_000_000);
        assert!(Geometry::parse_wkt(text.as_bytes(), 0).is_err());
    }

    #[test]
    fn a_count_beyond_the_bytes_allocates_nothing() {
        for ty in 2..=7 {
            let bytes = [0, 0, 0, 0, 1, ty, 0, 0, 0, 255, 255, 255, 255, 0, 0];
            assert!(Geometry::decode(&bytes).is_err());
        }
    }

    #[test]
    fn both_byte_orders_are_read() {
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(&[0, 0, 0, 0, 1]);
        bytes.extend_from_slice(&1.5_f64.to_be_bytes());
        bytes.extend_from_slice(&(-2.0_f64).to_be_bytes());
        let point = Geometry::decode(&bytes).unwrap();
        assert_eq!(point.shape, Shape::Point(Point::new(1.5, -2.0)));
        assert_eq!(point.encode()[4], 1);
    }

    #[test]
    fn texts_are_read_in_any_case_and_spacing() {
        let text = |text: &str| {
            Geometry::parse_wkt(text.as_bytes(), 0).map(|geometry| {
                let mut out = Vec::new();
                geometry.write_wkt(&mut out);
                String::from_utf8(out).unwrap()
            })
        };
        for (given, normal) in [
            (" point ( 1e1   -.5 ) ", "POINT(10 -0.5)"),
            ("MULTIPOINT((1 2),( 3 4 ))", "MULTIPOINT((1 2),(3 4))"),
            ("MULTIPOINT(1 2, 3 4)", "MULTIPOINT((1 2),(3 4))"),
            ("geomcollection()", "GEOMETRYCOLLECTION EMPTY"),
            ("GEOMETRYCOLLECTION EMPTY", "GEOMETRYCOLLECTION EMPTY"),
            (
                "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))",
                "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))",
            ),
        ] {
            assert_eq!(text(given).as_deref(), Ok(normal), "{given}");
        }
        for wrong in [
            "",
            "POINT",
            "POINT()",
            "POINT(1)",
            "POINT(1 2",
            "POINT(1 2 3)",
            "POINT(1,2)",
            "POINT(1 2)x",
            "POINT(1e999 0)",
            "POINT(nan 0)",
            "POINTZ(1 2)",
            "POINT EMPTY",
            "LINESTRING(1 1)",
            "POLYGON((0 0,1 0,1 1))",
            "MULTIPOINT()",
            "POLYGON((0 0,1 0,1 1,0 1))",
            "MULTIPOINT((1 1),2 2)x",
            "CIRCLE(1 1)",
            "GEOMETRY(1 1)",
        ] {
            assert!(text(wrong).is_err(), "{wrong}");
        }
    }
}
