//! Geometries: what a spatial index finds is what a scan finds, and what two shapes are to each other agrees with itself.
//!
//! ```text
//! FROM g FORCE INDEX (k) WHERE relation(g, shape)      the index
//! FROM g IGNORE INDEX (k) WHERE relation(g, shape)     each row
//! within(a, b)                                         contains(b, a)
//! intersects(a, b)                                     not disjoint(a, b); a distance of 0
//! area(a) + area(b)                                    area(union) + area(intersection)
//! area(symmetric difference)                           area(union) - area(intersection)
//! ```
//!
//! Coordinates are few, so that boundaries touch and corners lie on lines. `GLASSINE_SEED` replays.

use storage::Config;

use super::common::random::{Random, first_seed};
use super::common::{Scratch, done, instance, run, session};

const RELATIONS: [&str; 15] = [
    "ST_Within",
    "ST_Contains",
    "ST_Intersects",
    "ST_Touches",
    "ST_Crosses",
    "ST_Overlaps",
    "ST_Equals",
    "MBRWithin",
    "MBRContains",
    "MBRIntersects",
    "MBRTouches",
    "MBROverlaps",
    "MBREquals",
    "MBRCovers",
    "MBRCoveredBy",
];

fn position(random: &mut Random) -> (i64, i64) {
    (random.below(9) as i64 - 2, random.below(9) as i64 - 2)
}

/// A rectangle, or a triangle with an area.
fn ring(random: &mut Random) -> String {
    let ((x, y), (width, height)) = (position(random), (1 + random.below(5) as i64, 1 + random.below(5) as i64));
    match random.below(3) {
        0 => format!("{x} {y},{} {y},{x} {},{x} {y}", x + width, y + height),
        1 => format!("{x} {y},{} {},{} {y},{x} {y}", x + width, y + height, x + 2 * width),
        _ => format!("{x} {y},{} {y},{} {},{x} {},{x} {y}", x + width, x + width, y + height, y + height),
    }
}

fn area(random: &mut Random) -> String {
    format!("ST_GeomFromText('POLYGON(({}))')", ring(random))
}

fn shape(random: &mut Random) -> String {
    let points = |random: &mut Random, count: usize| {
        (0..count).map(|_| position(random)).map(|(x, y)| format!("{x} {y}")).collect::<Vec<_>>().join(",")
    };
    let text = match random.below(7) {
        0 | 1 => format!("POINT({})", points(random, 1)),
        2 => format!("MULTIPOINT({})", points(random, 3)),
        3 => {
            // No two points of a line are the same.
            let ((x, y), more) = (position(random), 1 + random.below(3) as i64);
            format!("LINESTRING({x} {y},{} {},{} {y})", x + more, y + more, x + 3)
        }
        4 => "GEOMETRYCOLLECTION EMPTY".to_owned(),
        _ => return area(random),
    };
    format!("ST_GeomFromText('{text}')")
}

/// Shapes in a column of a reference system, of which conditions find the same with a spatial index and without.
fn compare_index_and_scan(name: &str, srid: u32, rows: usize, shape: fn(&mut Random) -> String) {
    let scratch = Scratch::new(name);
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    let seed = first_seed();
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let table = format!("CREATE TABLE g (id INT PRIMARY KEY, g GEOMETRY NOT NULL SRID {srid}, SPATIAL KEY k (g))");
    done(&mut session, &table);
    for id in 0..rows {
        let shape = shape(&mut random);
        done(&mut session, &format!("INSERT INTO g VALUES ({id}, {shape})"));
    }
    let point = format!("ST_GeomFromText('POINT(1 1)', {srid})");
    let plan = run(&mut session, &format!("EXPLAIN SELECT id FROM g FORCE INDEX (k) WHERE ST_Within(g, {point})"));
    assert!(plan.iter().any(|line| line.contains("| range |")), "{plan:?}");
    for step in 0..rows * 5 / 2 {
        let (relation, shape, id) = (random.one(&RELATIONS), shape(&mut random), random.below(rows));
        let condition = match random.below(2) {
            0 => format!("{relation}(g, {shape})"),
            _ => format!("{relation}({shape}, g)"),
        };
        let by_index = run(&mut session, &format!("SELECT id FROM g FORCE INDEX (k) WHERE {condition} ORDER BY id"));
        let by_scan = run(&mut session, &format!("SELECT id FROM g IGNORE INDEX (k) WHERE {condition} ORDER BY id"));
        assert_eq!(by_index, by_scan, "seed {seed}: {condition}");
        if step % 3 == 0 {
            done(&mut session, &format!("UPDATE g SET g = {shape} WHERE id = {id}"));
        }
    }
    let checked = run(&mut session, "CHECK TABLE g");
    assert!(checked.iter().any(|line| line.ends_with("| OK")), "{checked:?}");
}

#[test]
fn a_spatial_index_finds_what_a_scan_finds() {
    compare_index_and_scan("relations-spatial", 0, 120, shape);
}

#[test]
fn relations_and_areas_agree_with_each_other() {
    let scratch = Scratch::new("relations-shapes");
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    let seed = first_seed();
    println!("seed {seed}");
    let mut random = Random::new(seed);
    for _ in 0..400 {
        let (one, other) = (shape(&mut random), shape(&mut random));
        let (left, right) = (area(&mut random), area(&mut random));
        let truths = [
            format!("ST_Within({one}, {other}) <=> ST_Contains({other}, {one})"),
            format!("ST_Intersects({one}, {other}) <=> (NOT ST_Disjoint({one}, {other}))"),
            format!("ST_Intersects({one}, {other}) <=> (ST_Distance({one}, {other}) = 0)"),
            format!("ST_Equals({one}, {other}) = ST_Equals({other}, {one}) AND ST_Equals({one}, {one})"),
            format!(
                "ST_Touches({one}, {other}) IS NULL OR ST_Touches({one}, {other}) <= ST_Intersects({one}, {other})"
            ),
            format!("COALESCE(ST_Within({one}, {other}), 0) <= COALESCE(MBRCoveredBy({one}, {other}), 0)"),
            format!("ST_AsText(ST_GeomFromText(ST_AsText({one}))) = ST_AsText({one})"),
            format!("ST_GeomFromGeoJSON(ST_AsGeoJSON({one}), 1, 0) = {one}"),
            format!(
                "ABS(ST_Area({left}) + ST_Area({right}) - ST_Area(ST_Union({left}, {right})) - \
                 ST_Area(ST_Intersection({left}, {right}))) < 1e-9"
            ),
            format!(
                "ABS(ST_Area(ST_SymDifference({left}, {right})) - ST_Area(ST_Union({left}, {right})) + \
                 ST_Area(ST_Intersection({left}, {right}))) < 1e-9"
            ),
            format!(
                "ABS(ST_Area({left}) - ST_Area(ST_Difference({left}, {right})) - ST_Area(ST_Intersection({left}, {right}))) < 1e-9"
            ),
            format!(
                "ST_IsValid(ST_Union({left}, {right})) AND ST_Equals(ST_Union({left}, {right}), ST_Union({right}, {left}))"
            ),
            format!(
                "ST_Overlaps({left}, {right}) <=> (ST_Area(ST_Intersection({left}, {right})) > 0 AND NOT ST_Within({left}, {right}) AND NOT ST_Contains({left}, {right}))"
            ),
        ];
        for truth in truths {
            let answer = run(&mut session, &format!("SELECT {truth} AS truth"));
            assert_eq!(answer[1], "| 1", "seed {seed}: {truth}: {answer:?}");
        }
    }
}

/// A place of the globe, of few latitudes and longitudes, in the order of texts; many are near the end of the map.
fn place(random: &mut Random) -> String {
    let longitude = match random.below(3) {
        0 => 175 + random.below(6) as i64,
        1 => -179 + random.below(6) as i64,
        _ => random.below(9) as i64 * 10 - 40,
    };
    format!("{} {longitude}", random.below(13) as i64 * 10 - 60)
}

fn shape_on_globe(random: &mut Random) -> String {
    let text = match random.below(6) {
        0 | 1 => format!("POINT({})", place(random)),
        2 => format!("MULTIPOINT({},{})", place(random), place(random)),
        3 => {
            let (latitude, longitude) = (random.below(10) as i64 * 10 - 50, random.below(360) as i64 - 179);
            let east = if longitude > 170 { longitude - 350 } else { longitude + 10 };
            format!("LINESTRING({latitude} {longitude},{} {east})", latitude + 5)
        }
        4 => "GEOMETRYCOLLECTION EMPTY".to_owned(),
        _ => {
            let (south, west) = (random.below(10) as i64 * 10 - 50, random.below(36) as i64 * 10 - 170);
            let east = if west > 150 { west - 330 } else { west + 30 };
            let north = south + 10;
            format!("POLYGON(({south} {west},{south} {east},{north} {east},{north} {west},{south} {west}))")
        }
    };
    format!("ST_GeomFromText('{text}', 4326)")
}

#[test]
fn a_spatial_index_on_the_globe_finds_what_a_scan_finds() {
    compare_index_and_scan("relations-globe-index", 4326, 32, shape_on_globe);
}

#[test]
fn relations_and_distances_on_the_globe_agree_with_each_other() {
    let scratch = Scratch::new("relations-globe");
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    let seed = first_seed();
    println!("seed {seed}");
    let mut random = Random::new(seed);
    for _ in 0..80 {
        let (one, other) = (shape_on_globe(&mut random), shape_on_globe(&mut random));
        let at = |random: &mut Random| format!("ST_GeomFromText('POINT({})', 4326)", place(random));
        let (a, b, c) = (at(&mut random), at(&mut random), at(&mut random));
        let truths = [
            format!("ST_Within({one}, {other}) <=> ST_Contains({other}, {one})"),
            format!("ST_Intersects({one}, {other}) <=> (NOT ST_Disjoint({one}, {other}))"),
            format!("ST_Intersects({one}, {other}) <=> (ST_Distance({one}, {other}) = 0)"),
            format!("COALESCE(ABS(ST_Distance({one}, {other}) - ST_Distance({other}, {one})) < 1e-3, 1)"),
            format!("ST_Distance({a}, {c}) <= (ST_Distance({a}, {b}) + ST_Distance({b}, {c})) * 1.001 + 1e-3"),
            format!("ST_Equals({one}, {one})"),
            format!("ST_Distance(ST_Transform(ST_Transform({a}, 3857), 4326), {a}) < 1e-3"),
            format!("ST_Distance(ST_Transform(ST_Transform({a}, 4230), 4326), {a}) < 1"),
        ];
        for truth in truths {
            let answer = run(&mut session, &format!("SELECT {truth} AS t"));
            assert_eq!(answer.last().map(String::as_str), Some("| 1"), "seed {seed}: {truth}: {answer:?}");
        }
    }
}
