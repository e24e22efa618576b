//! Random geometries: as bytes, as texts, in columns, and in the plane.
//!
//! What MySQL and MariaDB answer differently is not asked: the text of a MULTIPOINT, relations of what touches only at
//! boundaries, reference systems that MySQL does not know, collections in collections, texts that are malformed (NULL in
//! MariaDB), and in which order a computed shape has its points.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// What two areas share and do not share, in the order in which a question asks for it behind the two areas.
const SHARES: [&str; 4] = ["Union", "Intersection", "Difference", "SymDifference"];

/// Whether a statement asks what two areas share.
pub fn asks_shares(statement: &str) -> bool {
    SHARES.iter().all(|operation| statement.contains(&format!("ST_Area(ST_{operation}(")))
}

/// Whether the areas that a server answers can belong to two shapes in the plane. MariaDB loses parts of some shapes; its
/// answer contradicts itself then, and ours decides.
pub fn shares_agree(row: &[Option<String>]) -> bool {
    let areas: Vec<f64> = row.iter().filter_map(|area| area.as_ref()?.parse().ok()).collect();
    let [one, other, union, intersection, difference, both_differences] = areas[..] else { return false };
    // Each of them is rounded to four digits.
    let near = |a: f64, b: f64| (a - b).abs() < 0.001;
    near(union, one + other - intersection)
        && near(difference, one - intersection)
        && near(both_differences, one + other - 2.0 * intersection)
}

pub struct Author {
    random: StdRng,
}

impl Author {
    pub fn new(seed: u64) -> Author {
        Author { random: StdRng::seed_from_u64(seed) }
    }

    fn number(&mut self) -> f64 {
        match self.random.random_range(0..4) {
            0 => f64::from(self.random.random_range(-1000..1000)) / 8.0,
            _ => f64::from(self.random.random_range(-20..20)),
        }
    }

    fn position(&mut self) -> String {
        format!("{} {}", self.number(), self.number())
    }

    fn positions(&mut self, least: usize) -> String {
        let count = self.random.random_range(least..least + 4);
        (0..count).map(|_| self.position()).collect::<Vec<_>>().join(",")
    }

    /// A star around a centre, which is valid: its corners lie on rays in their order.
    fn ring(&mut self) -> String {
        let (x, y) = (self.random.random_range(-10..10), self.random.random_range(-10..10));
        let corners = self.random.random_range(3..9);
        let turn = std::f64::consts::TAU / f64::from(corners);
        let mut ring: Vec<String> = (0..corners)
            .map(|at| {
                let (angle, radius) = (turn * f64::from(at), f64::from(self.random.random_range(16..96)));
                // Of eighths, which both write as they are.
                let of = |centre: i32, part: f64| f64::from(centre) + (radius * part).round() / 8.0;
                format!("{} {}", of(x, angle.cos()), of(y, angle.sin()))
            })
            .collect();
        ring.push(ring[0].clone());
        ring.join(",")
    }

    fn list(&mut self, item: impl Fn(&mut Author) -> String) -> String {
        let count = self.random.random_range(1..4);
        (0..count).map(|_| format!("({})", item(self))).collect::<Vec<_>>().join(",")
    }

    fn simple(&mut self) -> String {
        match self.random.random_range(0..3) {
            0 => format!("POINT({})", self.position()),
            1 => format!("LINESTRING({})", self.positions(2)),
            _ => format!("POLYGON(({}))", self.ring()),
        }
    }

    fn any(&mut self, depth: u32) -> String {
        match self.random.random_range(0..if depth == 0 { 6 } else { 7 }) {
            0 => format!("MULTIPOINT({})", self.positions(1)),
            1 => format!("MULTILINESTRING({})", self.list(|author| author.positions(2))),
            2 => format!("MULTIPOLYGON({})", self.list(|author| format!("({})", author.ring()))),
            6 => {
                let count = self.random.random_range(1..4);
                let parts: Vec<String> = (0..count).map(|_| self.any(depth - 1)).collect();
                format!("GEOMETRYCOLLECTION({})", parts.join(","))
            }
            _ => self.simple(),
        }
    }

    fn question(&mut self) -> String {
        let any = format!("ST_GeomFromText('{}')", self.any(1));
        let simple = format!("ST_GeomFromText('{}')", self.simple());
        let line = format!("ST_GeomFromText('LINESTRING({})')", self.positions(2));
        let (one, other) = (self.ring(), self.ring());
        let (one, other) =
            (format!("ST_GeomFromText('POLYGON(({one}))')"), format!("ST_GeomFromText('POLYGON(({other}))')"));
        match self.random.random_range(0..13) {
            0 => format!("SELECT HEX({any}), HEX(ST_AsBinary({any})), ST_SRID({any}), LENGTH({any})"),
            1 => format!(
                "SELECT HEX(ST_GeomFromWKB(ST_AsBinary({any}))) = HEX({any}), {any} = {any}, ST_Dimension({any})"
            ),
            2 => format!("SELECT ST_AsText({simple}), ST_GeometryType({simple}), ST_IsEmpty({simple})"),
            3 => {
                let at = self.random.random_range(0..5);
                format!(
                    "SELECT ST_NumPoints({line}), ST_AsText(ST_PointN({line}, {at})), ST_AsText(ST_StartPoint({line})), \
                     ST_AsText(ST_EndPoint({line})), ST_IsClosed({line}), ROUND(ST_Length({line}), 6)"
                )
            }
            4 => format!(
                "SELECT ST_AsText(ST_ExteriorRing({one})), ST_NumInteriorRings({one}), ROUND(ST_Area({one}), 6)"
            ),
            5 => {
                let parts = format!("ST_GeomFromText('MULTILINESTRING({})')", self.list(|author| author.positions(2)));
                let at = self.random.random_range(0..4);
                format!("SELECT ST_NumGeometries({parts}), ST_AsText(ST_GeometryN({parts}, {at}))")
            }
            6 => {
                let (x, y) = (self.number(), self.number());
                format!(
                    "SELECT ST_X(POINT({x}, {y})), ST_Y(POINT({x}, {y})), HEX(POINT({x}, {y})), HEX(LINESTRING(POINT({x}, {y}), POINT({y}, {x})))"
                )
            }
            7 => format!(
                "SELECT MBRIntersects({any}, {one}), MBRDisjoint({any}, {one}), MBREqual({one}, {any}), MBREqual({any}, {any})"
            ),
            8 => {
                let shares = SHARES.map(|operation| format!("ROUND(ST_Area(ST_{operation}({one}, {other})), 4)"));
                format!("SELECT ROUND(ST_Area({one}), 4), ROUND(ST_Area({other}), 4), {}", shares.join(", "))
            }
            9 => format!(
                "SELECT ST_Intersects({one}, {other}), ST_Disjoint({one}, {other}), ST_Equals({one}, {other}), ST_Equals({one}, {one})"
            ),
            // MariaDB's distances from lines and areas are those from some corners.
            10 => format!(
                "SELECT ROUND(ST_Distance(POINT({}, {}), POINT({}, {})), 5)",
                self.number(),
                self.number(),
                self.number(),
                self.number()
            ),
            11 => format!(
                "SELECT ROUND(ST_Distance_Sphere(POINT({}, {}), POINT({}, {})), 2)",
                self.random.random_range(-179..180),
                self.random.random_range(-90..90),
                self.random.random_range(-179..180),
                self.random.random_range(-90..90)
            ),
            _ => format!(
                "SELECT HEX(ST_Envelope({one})), ROUND(ST_Area(ST_ConvexHull({one})), 5), ROUND(ST_X(ST_Centroid({one})), 4)"
            ),
        }
    }

    /// Questions of literals, with tables of geometries between them.
    pub fn statements(&mut self, count: usize) -> Vec<String> {
        let mut statements = vec![
            "CREATE TABLE g (id INT PRIMARY KEY, any GEOMETRY NOT NULL, p POINT, l LINESTRING, a POLYGON, KEY (any(20)), KEY (p))".to_owned(),
        ];
        for id in 0..count {
            if id % 5 > 0 {
                statements.push(self.question());
                continue;
            }
            let any = self.any(1);
            let point = format!("POINT({})", self.position());
            let line = format!("LINESTRING({})", self.positions(2));
            let area = format!("POLYGON(({}))", self.ring());
            let values = [any, point, line, area].map(|text| match self.random.random_range(0..12) {
                0 => "NULL".to_owned(),
                1 => "'no geometry'".to_owned(),
                _ => format!("ST_GeomFromText('{text}')"),
            });
            statements.push(format!("INSERT INTO g VALUES ({id}, {})", values.join(", ")));
            let column = ["any", "p", "l", "a"][self.random.random_range(0..4)];
            statements.push(match self.random.random_range(0..5) {
                0 => format!("SELECT HEX({column}), COUNT(*), COUNT({column}) FROM g GROUP BY {column}"),
                1 => format!("SELECT x.id, y.id FROM g x JOIN g y ON x.{column} = y.any"),
                2 => format!("SELECT COUNT(DISTINCT {column}), HEX(MIN({column})), HEX(MAX({column})) FROM g"),
                3 => format!(
                    "SELECT id, HEX({column}) FROM g WHERE {column} IS NOT NULL AND any <> {column} ORDER BY id"
                ),
                _ => format!("UPDATE g SET any = {column} WHERE id = {}", self.random.random_range(0..id + 1)),
            });
        }
        statements.push("SELECT id, HEX(any), HEX(p), HEX(l), HEX(a) FROM g ORDER BY id".to_owned());
        statements
    }
}
