//! Prepared statements: the answer to a prepare, and the parameters of an execute.
//!
//! Behind the head of an execute command (see [`super::command`]) stand, if the
//! statement has n parameters:
//!
//! ```text
//! lenenc         n, with query attributes counted in            only if agreed on
//! (n + 7) / 8    a bit for each NULL
//! 1              1 if the types follow, 0 if they are those of the last execute
//! 2 n            types: the kind, and 0x80 in the second byte for unsigned
//!                each followed by its name                      only if agreed on
//! ...            values of those that are neither NULL nor sent as long data
//! ```
//!
//! Query attributes are parameters that no `?` stands for; they come last. Client and
//! server agree on them in the handshake.

use super::capability::Capabilities;
use super::column::ColumnKind;
use super::reader::{Malformed, Reader};
use crate::value::{Date, DateTime, Time, Value};

/// Flags of an execute command: a cursor is asked for.
pub const CURSOR_MASK: u8 = 0b111;
/// Flags of an execute command: the parameter count is sent although the statement has no parameters.
pub const PARAMETER_COUNT_AVAILABLE: u8 = 0b1000;

/// The most parameters of a statement.
pub const PARAMETERS_MAX: usize = u16::MAX as usize;

/// Appends the answer to a prepare.
pub fn encode_prepare_ok(statement: u32, columns: u16, parameters: u16, warnings: u16, out: &mut Vec<u8>) {
    out.push(0);
    out.extend_from_slice(&statement.to_le_bytes());
    out.extend_from_slice(&columns.to_le_bytes());
    out.extend_from_slice(&parameters.to_le_bytes());
    out.push(0);
    out.extend_from_slice(&warnings.to_le_bytes());
}

/// Reads the answer to a prepare: the statement, its columns and its parameters.
pub fn decode_prepare_ok(payload: &[u8]) -> Result<(u32, u16, u16), Malformed> {
    let mut reader = Reader::new(payload);
    if reader.u8("answer")? != 0 {
        return Err(Malformed { what: "answer to prepare expected" });
    }
    Ok((reader.u32("statement id")?, reader.u16("column count")?, reader.u16("parameter count")?))
}

/// The type of a parameter as its client tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterType {
    pub kind: ColumnKind,
    pub unsigned: bool,
}

impl ParameterType {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (kind, sign) = (reader.u8("parameter type")?, reader.u8("parameter type")?);
        let kind = ColumnKind::from_byte(kind).ok_or(Malformed { what: "unknown parameter type" })?;
        Ok(Self { kind, unsigned: sign & 0x80 != 0 })
    }
}

/// Reads the parameters of an execute into `values`, whose strings' memory is used again. `types` are those of
/// the last execute, and are replaced if the client sends new ones. `long_data(i)` is true for parameters
/// that were sent in pieces before: their entries of `values` are left alone. What the client sends beside the
/// parameters goes into `query_attributes`.
#[expect(clippy::too_many_arguments, reason = "what both sides know, and what is read")]
pub fn decode_parameters(
    payload: &[u8],
    flags: u8,
    capabilities: Capabilities,
    count: usize,
    types: &mut Vec<ParameterType>,
    long_data: impl Fn(usize) -> bool,
    values: &mut Vec<Value>,
    query_attributes: &mut Vec<(String, Value)>,
) -> Result<(), Malformed> {
    query_attributes.clear();
    let mut reader = Reader::new(payload);
    let attributes = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
    let mut sent = count;
    if attributes && (count > 0 || flags & PARAMETER_COUNT_AVAILABLE != 0) {
        sent = usize::try_from(reader.lenenc("parameter count")?).unwrap_or(usize::MAX);
        if !(count..=PARAMETERS_MAX).contains(&sent) {
            return Err(Malformed { what: "parameter count" });
        }
    }
    values.resize(count, Value::Null);
    if sent == 0 {
        return Ok(());
    }
    let nulls = reader.bytes(sent.div_ceil(8), "parameter nulls")?;
    if reader.u8("parameter types")? == 1 {
        types.clear();
        for index in 0..sent {
            types.push(ParameterType::read(&mut reader)?);
            if attributes {
                let name = reader.lenenc_bytes("parameter name")?;
                if index >= count {
                    query_attributes.push((String::from_utf8_lossy(name).into_owned(), Value::Null));
                }
            }
        }
    }
    if types.len() < sent {
        return Err(Malformed { what: "parameters without types" });
    }
    for (index, (value, ty)) in values.iter_mut().zip(types.iter()).enumerate() {
        if long_data(index) {
            continue;
        }
        if nulls[index / 8] & (1 << (index % 8)) != 0 {
            *value = Value::Null;
        } else {
            decode_value(*ty, &mut reader, value)?;
        }
    }
    // Without types there are no names that the values could be known by.
    for (index, (_, value)) in query_attributes.iter_mut().enumerate() {
        let index = count + index;
        if nulls[index / 8] & (1 << (index % 8)) == 0 {
            decode_attribute(types[index], &mut reader, value)?;
        }
    }
    Ok(())
}

/// Reads one value into `value`.
#[inline]
pub(super) fn decode_value(ty: ParameterType, reader: &mut Reader<'_>, value: &mut Value) -> Result<(), Malformed> {
    const WHAT: &str = "parameter value";
    *value = match ty.kind {
        ColumnKind::Tiny if ty.unsigned => Value::UInt(reader.u8(WHAT)? as u64),
        ColumnKind::Tiny => Value::Int(reader.u8(WHAT)? as i8 as i64),
        ColumnKind::Short | ColumnKind::Year if ty.unsigned => Value::UInt(reader.u16(WHAT)? as u64),
        ColumnKind::Short | ColumnKind::Year => Value::Int(reader.u16(WHAT)? as i16 as i64),
        ColumnKind::Long | ColumnKind::Int24 if ty.unsigned => Value::UInt(reader.u32(WHAT)? as u64),
        ColumnKind::Long | ColumnKind::Int24 => Value::Int(reader.u32(WHAT)? as i32 as i64),
        ColumnKind::LongLong if ty.unsigned => Value::UInt(reader.u64(WHAT)?),
        ColumnKind::LongLong => Value::Int(reader.u64(WHAT)? as i64),
        ColumnKind::Float => Value::Double(f32::from_bits(reader.u32(WHAT)?) as f64),
        ColumnKind::Double => Value::Double(f64::from_bits(reader.u64(WHAT)?)),
        ColumnKind::Null => Value::Null,
        ColumnKind::Date => {
            let (datetime, _) = decode_datetime(reader)?;
            Value::Date(datetime.date)
        }
        ColumnKind::DateTime | ColumnKind::Timestamp => match decode_datetime(reader)? {
            (datetime, None) => Value::DateTime(datetime),
            // What names its own zone is a text, as in statements.
            (datetime, Some(minutes)) => Value::Bytes(zoned(datetime, minutes).into_bytes()),
        },
        ColumnKind::Time => Value::Time(decode_time(reader)?),
        _ => {
            let bytes = reader.lenenc_bytes(WHAT)?;
            match value {
                Value::Bytes(buffer) => {
                    buffer.clear();
                    buffer.extend_from_slice(bytes);
                    return Ok(());
                }
                _ => Value::Bytes(bytes.to_vec()),
            }
        }
    };
    Ok(())
}

fn zoned(moment: DateTime, minutes: i16) -> String {
    let Date { year, month, day } = moment.date;
    let DateTime { hour, minute, second, micros, .. } = moment;
    let (sign, east) = (if minutes < 0 { '-' } else { '+' }, minutes.unsigned_abs());
    format!(
        "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}{sign}{:02}:{:02}",
        east / 60,
        east % 60
    )
}

/// Reads the value of an attribute of a query. A moment with a zone is the text by which MySQL shows it: the zone's hours
/// have no zero in front.
pub(super) fn decode_attribute(ty: ParameterType, reader: &mut Reader<'_>, value: &mut Value) -> Result<(), Malformed> {
    decode_value(ty, reader, value)?;
    if matches!(ty.kind, ColumnKind::DateTime | ColumnKind::Timestamp)
        && let Value::Bytes(text) = value
        && let Some(at) = text.len().checked_sub(5)
        && text[at] == b'0'
    {
        text.remove(at);
    }
    Ok(())
}

/// A moment, and the minutes that its zone is ahead of UTC if it names one.
fn decode_datetime(reader: &mut Reader<'_>) -> Result<(DateTime, Option<i16>), Malformed> {
    const WHAT: &str = "date parameter";
    let bytes = reader.u8(WHAT)?;
    if !matches!(bytes, 0 | 4 | 7 | 11 | 13) {
        return Err(Malformed { what: WHAT });
    }
    let mut datetime = DateTime::default();
    if bytes >= 4 {
        datetime.date = Date { year: reader.u16(WHAT)?, month: reader.u8(WHAT)?, day: reader.u8(WHAT)? };
    }
    if bytes >= 7 {
        datetime.hour = reader.u8(WHAT)?;
        datetime.minute = reader.u8(WHAT)?;
        datetime.second = reader.u8(WHAT)?;
    }
    if bytes >= 11 {
        datetime.micros = reader.u32(WHAT)?;
    }
    let zone = if bytes == 13 { Some(reader.u16(WHAT)? as i16) } else { None };
    let date = datetime.date;
    let in_range = zone.is_none_or(|minutes| minutes.unsigned_abs() <= 14 * 60)
        && date.year <= 9999
        && date.month <= 12
        && date.day <= 31
        && datetime.hour < 24
        && datetime.minute < 60
        && datetime.second < 60
        && datetime.micros < 1_000_000;
    if in_range { Ok((datetime, zone)) } else { Err(Malformed { what: WHAT }) }
}

fn decode_time(reader: &mut Reader<'_>) -> Result<Time, Malformed> {
    const WHAT: &str = "time parameter";
    let bytes = reader.u8(WHAT)?;
    if !matches!(bytes, 0 | 8 | 12) {
        return Err(Malformed { what: WHAT });
    }
    if bytes == 0 {
        return Ok(Time::default());
    }
    let (negative, days) = (reader.u8(WHAT)? != 0, reader.u32(WHAT)?);
    let (hours, minutes, seconds) = (reader.u8(WHAT)?, reader.u8(WHAT)?, reader.u8(WHAT)?);
    let micros = if bytes == 12 { reader.u32(WHAT)? } else { 0 };
    let hours = days as u64 * 24 + hours as u64;
    if hours > 838 || minutes > 59 || seconds > 59 || micros > 999_999 {
        return Err(Malformed { what: WHAT });
    }
    let zero = hours == 0 && minutes == 0 && seconds == 0 && micros == 0;
    Ok(Time { negative: negative && !zero, hours: hours as u16, minutes, seconds, micros })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(payload: &[u8], count: usize, types: &mut Vec<ParameterType>) -> Result<Vec<Value>, Malformed> {
        let mut values = Vec::new();
        decode_parameters(payload, 0, Capabilities(0), count, types, |_| false, &mut values, &mut Vec::new())?;
        Ok(values)
    }

    #[test]
    fn parameters_of_all_kinds() {
        let mut payload = vec![0b0000_0010, 1];
        for (kind, unsigned) in [
            (ColumnKind::Long, false),
            (ColumnKind::VarString, false),
            (ColumnKind::LongLong, true),
            (ColumnKind::String, false),
            (ColumnKind::DateTime, false),
            (ColumnKind::Time, false),
            (ColumnKind::Double, false),
        ] {
            payload.extend_from_slice(&[kind as u8, if unsigned { 0x80 } else { 0 }]);
        }
        payload.extend_from_slice(&(-5i32).to_le_bytes());
        payload.extend_from_slice(&u64::MAX.to_le_bytes());
        payload.extend_from_slice(b"\x03abc");
        payload.extend_from_slice(&[7, 0xE8, 0x07, 2, 29, 23, 59, 58]);
        payload.extend_from_slice(&[8, 1, 1, 0, 0, 0, 2, 3, 4]);
        payload.extend_from_slice(&1.5f64.to_le_bytes());
        let mut types = Vec::new();
        let values = decode(&payload, 7, &mut types).unwrap();
        let datetime = DateTime::new(Date { year: 2024, month: 2, day: 29 }, 23, 59, 58, 0);
        assert_eq!(
            values,
            [
                Value::Int(-5),
                Value::Null,
                Value::UInt(u64::MAX),
                Value::Bytes(b"abc".to_vec()),
                Value::DateTime(datetime),
                Value::Time(Time { negative: true, hours: 26, minutes: 3, seconds: 4, micros: 0 }),
                Value::Double(1.5),
            ]
        );
        // The types need not be sent again.
        let mut again = vec![0b0111_1110, 0];
        again.extend_from_slice(&7i32.to_le_bytes());
        assert_eq!(decode(&again, 7, &mut types).unwrap()[0], Value::Int(7));
        assert!(decode(&again, 7, &mut Vec::new()).is_err());
        for cut in 0..payload.len() {
            assert!(decode(&payload[..cut], 7, &mut Vec::new()).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_moment_may_name_its_zone() {
        let read = |minutes: i16, decode: fn(ParameterType, &mut Reader<'_>, &mut Value) -> Result<(), Malformed>| {
            let mut bytes = vec![13, 0xE8, 0x07, 2, 29, 23, 59, 58, 1, 0, 0, 0];
            bytes.extend_from_slice(&minutes.to_le_bytes());
            let mut value = Value::Null;
            let ty = ParameterType { kind: ColumnKind::Timestamp, unsigned: false };
            decode(ty, &mut Reader::new(&bytes), &mut value).map(|()| value)
        };
        let text = |text: &str| Ok(Value::Bytes(text.as_bytes().to_vec()));
        assert_eq!(read(330, decode_value), text("2024-02-29 23:59:58.000001+05:30"));
        assert_eq!(read(330, decode_attribute), text("2024-02-29 23:59:58.000001+5:30"));
        assert_eq!(read(-600, decode_attribute), text("2024-02-29 23:59:58.000001-10:00"));
        assert!(read(15 * 60, decode_value).is_err() && read(i16::MIN, decode_value).is_err());
    }

    #[test]
    fn query_attributes_follow_the_parameters() {
        // A parameter of the statement, without a name, and an attribute named "a".
        let mut payload = vec![2, 0, 1, ColumnKind::Tiny as u8, 0, 0, ColumnKind::VarString as u8, 0, 1, b'a'];
        payload.extend_from_slice(b"\x05\x02hi");
        let mut values = Vec::new();
        let capabilities = Capabilities::QUERY_ATTRIBUTES;
        let mut attributes = Vec::new();
        decode_parameters(&payload, 0, capabilities, 1, &mut Vec::new(), |_| false, &mut values, &mut attributes)
            .unwrap();
        assert_eq!(values, [Value::Int(5)]);
        assert_eq!(attributes, [("a".to_owned(), Value::Bytes(b"hi".to_vec()))]);
        // Attributes alone must be announced by the flag.
        let alone = [1, 0, 1, ColumnKind::Tiny as u8, 0, 1, b'a', 5];
        decode_parameters(&alone, 8, capabilities, 0, &mut Vec::new(), |_| false, &mut values, &mut Vec::new())
            .unwrap();
        decode_parameters(&[], 0, capabilities, 0, &mut Vec::new(), |_| false, &mut values, &mut Vec::new()).unwrap();
        assert!(values.is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            payload in prop::collection::vec(any::<u8>(), 0..64),
            flags in any::<u8>(),
            count in 0usize..20,
        ) {
            let mut values = Vec::new();
            let capabilities = Capabilities(if flags & 1 == 0 { 0 } else { Capabilities::QUERY_ATTRIBUTES.0 });
            let long = |index| index == 1;
            let _ = decode_parameters(&payload, flags, capabilities, count, &mut Vec::new(), long, &mut values, &mut Vec::new());
        }
    }
}
