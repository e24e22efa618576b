//! Rows as SQL that a person can read. It is never executed: that is what the base64 text above it is for.

use std::io::{self, Write};

use format::binlog::json_diff::{JsonChange, JsonDiff, decode_diffs};
use format::binlog::rows::Cell;
use format::binlog::table_map::{ColumnCode, ColumnSize};
use format::binlog::{Column, RowImage, Rows, RowsKind, TableMap};
use format::value::{Json, write_double, write_float};

/// Writes each row of an event. `with_types` adds each column's type.
pub fn print(rows: &Rows<'_>, map: &TableMap, with_types: bool, out: &mut impl Write) -> io::Result<()> {
    let table = format!("{}.{}", quoted(&map.database), quoted(&map.table));
    let damaged = |error: format::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    let mut images = rows.images(map).map_err(damaged)?;
    while let Some((before, after)) = images.next_row().map_err(damaged)? {
        let parts: &[(&str, &Option<RowImage<'_>>)] = match rows.kind {
            RowsKind::Write => &[("SET", &after)],
            RowsKind::Delete => &[("WHERE", &before)],
            RowsKind::Update | RowsKind::PartialUpdate => &[("WHERE", &before), ("SET", &after)],
        };
        let verb = match rows.kind {
            RowsKind::Write => "INSERT INTO",
            RowsKind::Delete => "DELETE FROM",
            RowsKind::Update | RowsKind::PartialUpdate => "UPDATE",
        };
        writeln!(out, "### {verb} {table}")?;
        for (word, image) in parts {
            writeln!(out, "### {word}")?;
            for (at, cell) in image.iter().flatten().enumerate() {
                let Some(cell) = cell else { continue };
                write!(out, "###   @{}=", at + 1)?;
                match cell {
                    Cell::JsonDiff(changes) => print_changes(at + 1, changes, out)?,
                    cell => print_cell(cell, &map.columns[at], out)?,
                }
                if with_types {
                    print_type(&map.columns[at], *cell == Cell::Null, out)?;
                }
                writeln!(out)?;
            }
        }
    }
    Ok(())
}

/// A name in backquotes.
pub fn quoted(name: &[u8]) -> String {
    format!("`{}`", String::from_utf8_lossy(name).replace('`', "``"))
}

fn print_cell(cell: &Cell<'_>, column: &Column, out: &mut impl Write) -> io::Result<()> {
    let mut text = Vec::new();
    match cell {
        Cell::Null => write!(out, "NULL"),
        Cell::Integer { bits, bytes } => {
            let shift = 64 - 8 * u32::from(*bytes);
            let signed = ((bits << shift) as i64) >> shift;
            // Most logs do not say whether a column has a sign, so the tools show both readings where they differ.
            match signed < 0 {
                true => write!(out, "{signed} ({bits})"),
                false => write!(out, "{signed}"),
            }
        }
        Cell::Float(number) => {
            write_float(*number, &mut text);
            out.write_all(&text)
        }
        Cell::Double(number) => {
            write_double(*number, &mut text);
            out.write_all(&text)
        }
        Cell::Decimal(number) => {
            number.write(&mut text);
            out.write_all(&text)
        }
        Cell::Year(year) => write!(out, "{year:04}"),
        Cell::Date(date) => write!(out, "'{:04}:{:02}:{:02}'", date.year, date.month, date.day),
        Cell::Time(time) => {
            time.write(fraction(column), &mut text);
            write!(out, "'{}'", String::from_utf8_lossy(&text))
        }
        Cell::DateTime(moment) => {
            moment.write(fraction(column), &mut text);
            write!(out, "'{}'", String::from_utf8_lossy(&text))
        }
        Cell::Timestamp { seconds, micros } => match fraction(column) {
            0 => write!(out, "{seconds}"),
            digits => write!(out, "{seconds}.{}", &format!("{micros:06}")[..usize::from(digits)]),
        },
        Cell::Bit(number) => match column.size {
            ColumnSize::Bits(bits) => write!(out, "b'{number:0width$b}'", width = usize::from(bits)),
            _ => write!(out, "b'{number:b}'"),
        },
        Cell::Enum(index) => write!(out, "{index}"),
        Cell::Set(mask) => match column.size {
            ColumnSize::Bytes(bytes) => write!(out, "b'{mask:0width$b}'", width = 8 * usize::from(bytes)),
            _ => write!(out, "b'{mask:b}'"),
        },
        Cell::Bytes(bytes) => print_text(bytes, out),
        Cell::Json(document) => match Json::decode(document) {
            Ok(value) => {
                value.write(&mut text);
                print_text(&text, out)
            }
            Err(_) => write!(out, "<damaged JSON of {} bytes>", document.len()),
        },
        Cell::JsonDiff(changes) => write!(out, "<changes of JSON, {} bytes>", changes.len()),
    }
}

/// Changes of a JSON value as calls of functions, the first change innermost: `JSON_REMOVE(JSON_REPLACE(@2, ..), ..)`.
fn print_changes(column: usize, changes: &[u8], out: &mut impl Write) -> io::Result<()> {
    let Ok(diffs) = decode_diffs(changes) else {
        return write!(out, "<damaged changes of JSON, {} bytes>", changes.len());
    };
    let name = |diff: &JsonDiff| match diff.change {
        JsonChange::Replace(_) => "JSON_REPLACE",
        JsonChange::Insert(_) if diff.path.is_element() => "JSON_ARRAY_INSERT",
        JsonChange::Insert(_) => "JSON_INSERT",
        JsonChange::Remove => "JSON_REMOVE",
    };
    // One call makes several changes of one kind.
    let calls: Vec<&[JsonDiff]> = diffs.chunk_by(|one, other| name(one) == name(other)).collect();
    for call in calls.iter().rev() {
        write!(out, "{}(", name(&call[0]))?;
    }
    write!(out, "@{column}")?;
    for call in calls {
        for diff in call {
            write!(out, ", ")?;
            print_text(diff.path_text.as_bytes(), out)?;
            if let JsonChange::Replace(value) | JsonChange::Insert(value) = &diff.change {
                write!(out, ", ")?;
                print_argument(value, out)?;
            }
        }
        write!(out, ")")?;
    }
    Ok(())
}

/// A JSON value as the argument of a function, where a text is a JSON string.
fn print_argument(value: &Json, out: &mut impl Write) -> io::Result<()> {
    let mut text = Vec::new();
    match value {
        Json::String(string) => return print_text(string.as_bytes(), out),
        Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) | Json::Bool(_) => {
            value.write(&mut text);
            return out.write_all(&text);
        }
        _ => value.write(&mut text),
    }
    write!(out, "CAST(")?;
    print_text(&text, out)?;
    write!(out, " AS JSON)")
}

/// Text between quotes, bytes that cannot be shown as `\xHH`.
fn print_text(text: &[u8], out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"'")?;
    for &byte in text {
        match byte {
            0..32 | b'\'' | b'\\' => write!(out, "\\x{byte:02x}")?,
            _ => out.write_all(&[byte])?,
        }
    }
    out.write_all(b"'")
}

fn fraction(column: &Column) -> u8 {
    match column.size {
        ColumnSize::Fraction(digits) => digits,
        _ => 0,
    }
}

fn print_type(column: &Column, is_null: bool, out: &mut impl Write) -> io::Result<()> {
    let name = match (column.code, column.size) {
        (ColumnCode::TINY, _) => "TINYINT".into(),
        (ColumnCode::SHORT, _) => "SMALLINT".into(),
        (ColumnCode::INT24, _) => "MEDIUMINT".into(),
        (ColumnCode::LONG, _) => "INT".into(),
        (ColumnCode::LONGLONG, _) => "BIGINT".into(),
        (ColumnCode::YEAR, _) => "YEAR".into(),
        (ColumnCode::FLOAT, _) => "FLOAT".into(),
        (ColumnCode::DOUBLE, _) => "DOUBLE".into(),
        (ColumnCode::DECIMAL, ColumnSize::Decimal { precision, scale }) => format!("DECIMAL({precision},{scale})"),
        (ColumnCode::DATE, _) => "DATE".into(),
        (ColumnCode::TIME | ColumnCode::TIME_OLD, _) => format!("TIME({})", fraction(column)),
        (ColumnCode::DATETIME | ColumnCode::DATETIME_OLD, _) => format!("DATETIME({})", fraction(column)),
        (ColumnCode::TIMESTAMP | ColumnCode::TIMESTAMP_OLD, _) => format!("TIMESTAMP({})", fraction(column)),
        (ColumnCode::BIT, ColumnSize::Bits(bits)) => format!("BIT({bits})"),
        (ColumnCode::ENUM, ColumnSize::Bytes(bytes)) => format!("ENUM({bytes} bytes)"),
        (ColumnCode::SET, ColumnSize::Bytes(bytes)) => format!("SET({bytes} bytes)"),
        (ColumnCode::STRING, ColumnSize::BytesMax(bytes)) => format!("STRING({bytes})"),
        (_, ColumnSize::BytesMax(bytes)) => format!("VARSTRING({bytes})"),
        (ColumnCode::JSON, _) => "JSON".into(),
        (ColumnCode::GEOMETRY, _) => "GEOMETRY".into(),
        (ColumnCode::VECTOR, _) => "VECTOR".into(),
        (ColumnCode::BLOB, ColumnSize::Bytes(bytes)) => format!("BLOB/TEXT({bytes} bytes of length)"),
        (code, _) => format!("type {}", code.0),
    };
    let unsigned = if column.unsigned == Some(true) { " UNSIGNED" } else { "" };
    let name_of = column.name.as_deref().map(|name| format!(" {}", quoted(name))).unwrap_or_default();
    write!(out, " /* {name}{unsigned}{name_of} nullable={} is_null={} */", u8::from(column.nullable), u8::from(is_null))
}
