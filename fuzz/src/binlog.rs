//! Events of binary logs.

use format::binlog::rows::{Cell, encode_head, encode_image};
use format::binlog::table_map::ColumnSize;
use format::binlog::{
    Checksum, Column, ColumnCode, Control, Event, EventKind, FormatDescription, GtidEvent, GtidSet, Header, Query,
    Rows, RowsKind, StatusVars, TableMap, json_diff, mariadb, payload,
};
use format::packet::writer;
use format::value::Json;

use crate::bytes::Random;

/// The columns of the table whose rows are damaged.
const COLUMNS: [(ColumnCode, ColumnSize); 5] = [
    (ColumnCode::LONG, ColumnSize::Fixed),
    (ColumnCode::JSON, ColumnSize::Bytes(4)),
    (ColumnCode::VARCHAR, ColumnSize::BytesMax(300)),
    (ColumnCode::JSON, ColumnSize::Bytes(4)),
    (ColumnCode::DECIMAL, ColumnSize::Decimal { precision: 20, scale: 3 }),
];

/// Bodies of all kinds.
pub fn events(random: &mut Random) {
    let mut bytes = Vec::new();
    let header = Header {
        timestamp: 1,
        kind: EventKind(random.below(170) as u8),
        server_id: 1,
        bytes: 0,
        end_position: 0,
        flags: 0,
    };
    let body = random.bytes(400);
    let checksum = random.pick(&[Checksum::None, Checksum::Crc32]);
    format::binlog::event::append(&mut bytes, header, checksum, |out| out.extend_from_slice(&body));
    let event = Event::decode(&bytes, checksum).expect("an event comes back");
    assert_eq!(event.body, body, "a body comes back");
    let _ = Control::decode(&event);
    let _ = Rows::decode(&event, random.pick(&[6, 8, 10]));
    let _ = Rows::expand(&event, 10);
    let _ = GtidEvent::decode(&body);
    let _ = GtidSet::decode(&body);
    let _ = Query::decode(&body);
    let _ = StatusVars::decode(&body);
    let _ = mariadb::decode_gtid_list(&body);
    let _ = mariadb::decompress(&body);
    if let Ok(payload) = payload::Payload::decode(&body)
        && let Ok(mut events) = payload.events()
    {
        while let Ok(Some(_)) = events.next_event() {}
    }
    random.damage(&mut bytes);
    let _ = Event::decode(&bytes, checksum);
    let mut description = Vec::new();
    FormatDescription::new("8.0.40", 1, checksum).append(header, &mut description);
    random.damage(&mut description);
    let _ = FormatDescription::decode(&description);
}

/// A table and its rows, partial updates among them.
pub fn rows(random: &mut Random) {
    let name: Box<[u8]> = b"t".as_slice().into();
    let columns = COLUMNS.iter().map(|&(code, size)| Column::new(code, size, true)).collect();
    let map = TableMap { id: 7, flags: 1, database: name.clone(), table: name, columns, primary_key: Vec::new() };
    let mut body = Vec::new();
    map.encode(&mut body);
    assert_eq!(TableMap::decode(&body, 8).as_ref(), Ok(&map), "a table comes back");
    random.damage(&mut body);
    let damaged = TableMap::decode(&body, 8);

    let (kind, event_kind) = random.pick(&[
        (RowsKind::Write, EventKind::WRITE_ROWS),
        (RowsKind::Update, EventKind::UPDATE_ROWS),
        (RowsKind::PartialUpdate, EventKind::PARTIAL_UPDATE_ROWS),
    ]);
    let mut document = Vec::new();
    Json::parse(b"{\"a\": [1, {\"b\": \"text\"}]}").expect("a JSON text").encode(&mut document);
    let mut changes = vec![0];
    writer::lenenc_bytes(&mut changes, b"$.a[1].b");
    writer::lenenc_bytes(&mut changes, &document);
    let image = |json: Cell<'_>, out: &mut Vec<u8>| {
        let cells = [Cell::Integer { bits: 5, bytes: 4 }, json, Cell::Bytes(b"text"), Cell::Null, Cell::Null];
        encode_image(&map.columns, &cells, out);
    };
    let mut body = Vec::new();
    encode_head(kind, 7, 1, map.columns.len(), &mut body);
    for _ in 0..1 + random.below(3) {
        image(Cell::Json(&document), &mut body);
        match kind {
            RowsKind::PartialUpdate => {
                // The option, and the first JSON column as changes.
                body.extend_from_slice(&[1, 1]);
                image(Cell::JsonDiff(&changes), &mut body);
            }
            RowsKind::Update => image(Cell::Json(&document), &mut body),
            _ => {}
        }
    }
    let header = Header { timestamp: 1, kind: event_kind, server_id: 1, bytes: 0, end_position: 0, flags: 0 };
    let rows = Rows::decode(&Event { header, body: &body, bytes: &body }, 10).expect("rows").expect("of this family");
    let mut images = rows.images(&map).expect("of this table");
    while images.next_row().expect("a row comes back").is_some() {}
    random.damage(&mut body);
    let Ok(Some(rows)) = Rows::decode(&Event { header, body: &body, bytes: &body }, 10) else { return };
    for map in [Some(&map), damaged.as_ref().ok()].into_iter().flatten() {
        let Ok(mut images) = rows.images(map) else { continue };
        while let Ok(Some((_, after))) = images.next_row() {
            for cell in after.iter().flatten().flatten() {
                match cell {
                    Cell::Json(document) => drop(Json::decode(document)),
                    Cell::JsonDiff(changes) => drop(json_diff::apply(changes, b"{\"a\": [1, {\"b\": 2}]}")),
                    _ => {}
                }
            }
        }
    }
}
