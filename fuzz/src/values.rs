//! Values: as they are stored, as text, as numbers.

use format::binlog::json_diff;
use format::packet::writer;
use format::record::Length;
use format::value::{
    self, ColumnType, Date, DateTime, Decimal, Geometry, GeometryType, Json, JsonPath, Time, Value, Zone,
};

use crate::bytes::Random;

/// A column's type as the dictionary keeps it.
pub fn column_type(random: &mut Random) {
    let ty = any_type(random);
    let mut bytes = Vec::new();
    ty.write_definition(&mut bytes);
    assert_eq!(ColumnType::read_definition(&mut &bytes[..]).as_ref(), Ok(&ty), "a type comes back");
    random.damage(&mut bytes);
    let _ = ColumnType::read_definition(&mut &bytes[..]);
    let _ = ColumnType::read_definition(&mut &random.bytes(40)[..]);
}

fn any_type(random: &mut Random) -> ColumnType {
    let fsp = random.below(7) as u8;
    let scale = random.below(31) as u8;
    match random.below(12) {
        0 => ColumnType::Int { bytes: random.pick(&[1, 2, 3, 4, 8]), unsigned: random.chance(2) },
        1 => ColumnType::Year,
        2 => ColumnType::Bit { bits: 1 + random.below(64) as u8 },
        3 => ColumnType::Double { unsigned: false, decimals: None },
        4 => {
            let precision = scale.max(1) + random.below(66 - usize::from(scale.max(1))) as u8;
            ColumnType::Decimal { precision, scale, unsigned: false }
        }
        5 => ColumnType::Date,
        6 => ColumnType::Time { fsp },
        7 => ColumnType::DateTime { fsp },
        8 => ColumnType::Timestamp { fsp },
        9 => ColumnType::Float { unsigned: false, decimals: None },
        10 => ColumnType::Geometry {
            kind: random.pick(&GeometryType::ALL),
            srid: random.chance(2).then(|| random.next() as u32),
        },
        _ => ColumnType::Binary { bytes: random.below(256) as u32 },
    }
}

/// Any bytes of the right length are a value, or something like one; and what is read can be written.
pub fn stored_value(random: &mut Random) {
    let ty = any_type(random);
    let bytes = match ty.layout(false).length {
        Length::Fixed(bytes) => bytes.into(),
        Length::Variable { max, .. } => random.below(max.min(300) as usize + 1),
    };
    let stored = random.exactly(bytes);
    let decoded = ty.decode(&stored);
    let mut out = Vec::new();
    ty.write_text(&stored, &mut out);
    ty.write_binary_at(&stored, Zone::UTC, &mut out);
    ty.write_value_text(&decoded, &mut out);
    ty.write_value_binary(&decoded, &mut out);
    out.clear();
    let _ = ty.encode(&decoded, &mut out);
    out.clear();
    let _ = ty.encode(&Value::Bytes(random.text(40)), &mut out);
}

pub fn decimal(random: &mut Random) {
    let text = random.text(100);
    let (parsed, used, _) = Decimal::parse_prefix(&text);
    assert!(used <= text.len(), "no more is used than there is");
    let mut out = Vec::new();
    parsed.write(&mut out);
    let again = Decimal::parse(&out).expect("what was written can be read");
    let mut twice = Vec::new();
    again.write(&mut twice);
    assert_eq!(out, twice, "and is the same");
    let _ = Decimal::parse(&text);
}

pub fn temporal(random: &mut Random) {
    let text = random.text(60);
    let _ = value::parse_datetime(&text);
    let _ = value::parse_date(&text);
    let _ = value::parse_time(&text);
    let (number, micros) = (random.next() as i64 >> random.below(64), random.below(1_000_000) as u32);
    let _ = value::datetime_from_number(number, micros);
    let _ = value::time_from_number(number, micros);
    let (decimal, _, _) = Decimal::parse_prefix(&text);
    let _ = value::datetime_from_decimal(&decimal);
    let _ = value::time_from_decimal(&decimal);
    let fsp = random.below(7) as u8;
    let _ = Date::decode(&random.exactly(3));
    let _ = Time::decode(&random.exactly(3 + usize::from(fsp).div_ceil(2)), fsp);
    let _ = DateTime::decode(&random.exactly(5 + usize::from(fsp).div_ceil(2)), fsp);
    let stored = random.exactly(4 + usize::from(fsp).div_ceil(2));
    let _ = DateTime::decode_timestamp(&stored, fsp, Zone::UTC);
}

pub fn number(random: &mut Random) {
    let text = random.text(60);
    let _ = value::integer_prefix(&text);
    let _ = value::i64_prefix(&text);
    let _ = value::u64_prefix(&text);
    let _ = value::double_prefix(&text);
    let mut out = Vec::new();
    let double = f64::from_bits(random.next());
    value::write_double(double, &mut out);
    value::write_float(f32::from_bits(random.next() as u32), &mut out);
    value::write_double_fixed(double, random.below(31) as u8, &mut out);
}

pub fn json(random: &mut Random) {
    let mut text = match random.chance(2) {
        true => br#"{"a": [1, -2.5e3, null, true], "b\u00e4": {"c": "\ud83d\ude00"}}"#.to_vec(),
        false => random.text(200),
    };
    random.damage(&mut text);
    let stored = match Json::parse(&text) {
        Ok(json) => {
            let mut normal = Vec::new();
            json.write(&mut normal);
            assert_eq!(Json::parse_stored(&normal).as_ref(), Ok(&json), "the normal form is the same value");
            let mut document = Vec::new();
            json.encode(&mut document);
            assert_eq!(Json::decode(&document).as_ref(), Ok(&json), "binary JSON is the same value");
            random.damage(&mut document);
            let _ = Json::decode(&document);
            let path = JsonPath::parse(b"$.a[1]").expect("a path");
            let _ = path.find_in(&document);
            normal
        }
        Err(_) => b"[1]".to_vec(),
    };
    // Depth is bounded: the stack is.
    let deep = vec![random.pick(b"[{"); random.below(200_000)];
    assert!(Json::parse(&deep).is_err());
    let _ = Json::parse_stored(&text);
    let _ = JsonPath::parse(b"$.a[1]").map(|path| path.find_in(&text));
    let _ = JsonPath::parse(&text);
    let _ = json_diff::apply(&json_changes(random), &stored);
}

/// Changes of a JSON value, damaged.
fn json_changes(random: &mut Random) -> Vec<u8> {
    let mut changes = Vec::new();
    for _ in 0..random.below(4) {
        let operation = random.below(3) as u8;
        let path: &[u8] = random.pick(&[b"$", b"$.a", b"$.a[0]", b"$.a[last-1]", b"$.b", b"$.\"b\\u00e4\".c", b"$[1]"]);
        changes.push(operation);
        writer::lenenc_bytes(&mut changes, path);
        if operation < 2 {
            let value: &[u8] = random.pick(&[b"1", b"{}", b"[1, {\"k\": \"v\"}]", b"\"text\"", b"1.50"]);
            let value = Json::parse_stored(value).expect("a JSON text");
            let mut document = Vec::new();
            value.encode(&mut document);
            writer::lenenc_bytes(&mut changes, &document);
        }
    }
    random.damage(&mut changes);
    changes
}

/// Stored bytes and texts of geometries, damaged: refused, or one that comes back from both.
pub fn geometry(random: &mut Random) {
    let texts = [
        "POINT(1.5 -2e10)",
        "LINESTRING(0 0,1 1,2 0)",
        "POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,2 1,2 2,1 1))",
        "MULTIPOINT((1 2),(3 4))",
        "MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))",
        "GEOMETRYCOLLECTION(POINT(1 2),GEOMETRYCOLLECTION EMPTY,MULTILINESTRING((0 0,1 1)))",
    ];
    let mut text = random.pick(&texts).as_bytes().to_vec();
    let mut stored = Geometry::parse_wkt(&text, 4326).expect("a text").encode();
    random.damage(&mut stored);
    random.damage(&mut text);
    let nested = |opening: &[u8], count: usize| opening.repeat(count);
    let deep = nested(&[1, 7, 0, 0, 0, 1, 0, 0, 0], random.below(100_000));
    let _ = Geometry::decode_wkb(&deep);
    let _ = Geometry::parse_wkt(&nested(b"GEOMETRYCOLLECTION(", random.below(100_000)), 0);
    for geometry in [Geometry::decode(&stored), Geometry::parse_wkt(&text, 0), Geometry::decode(&random.bytes(80))] {
        let Ok(geometry) = geometry else { continue };
        assert_eq!(Geometry::decode(&geometry.encode()).as_ref(), Ok(&geometry), "bytes come back");
        let mut text = Vec::new();
        geometry.write_wkt(&mut text);
        assert_eq!(Geometry::parse_wkt(&text, geometry.srid).as_ref(), Ok(&geometry), "a text comes back");
    }
}
