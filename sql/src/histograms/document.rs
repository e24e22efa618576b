//! Histograms as JSON, as MySQL shows them in `information_schema.COLUMN_STATISTICS` and takes them USING DATA.
//!
//! ```text
//! {"buckets": [[1, 0.25], [2, 0.75]], "data-type": "int", "null-values": 0.25, "collation-id": 8,
//!  "last-updated": "2024-01-01 00:00:00.000000", "sampling-rate": 1.0, "histogram-type": "singleton",
//!  "number-of-buckets-specified": 100}
//! ```
//!
//! Texts and bytes are in base64. What is kept with the table is the binary form, in which decimals and moments are values
//! of their own: no digit is lost. USING DATA has them as numbers and texts.

use format::value::{ColumnType, DateTime, Decimal, Json, ParseFlags, Value};

use super::{BUCKETS_MAX, Bucket, Histogram, Kind, compare_stored, text_collation};
use crate::base64;

/// The type that MySQL gives bytes in JSON.
const STRING: u8 = 254;
/// What stands as the collation of a column that has none.
const NO_COLLATION: u64 = 8;

/// The name of a type in these documents.
fn type_name(ty: &ColumnType) -> &'static str {
    match ty {
        ColumnType::Int { unsigned: false, .. } => "int",
        ColumnType::Int { unsigned: true, .. } | ColumnType::Year | ColumnType::Bit { .. } => "uint",
        ColumnType::Float { .. } | ColumnType::Double { .. } => "double",
        ColumnType::Decimal { .. } => "decimal",
        ColumnType::Date => "date",
        ColumnType::Time { .. } => "time",
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => "datetime",
        ColumnType::Enum { .. } => "enum",
        ColumnType::Set { .. } => "set",
        _ => "string",
    }
}

fn value_of(ty: &ColumnType, stored: &[u8]) -> Json {
    match ty.decode(stored) {
        Value::Int(number) => Json::Int(number),
        Value::UInt(number) => Json::UInt(number),
        Value::Double(number) => Json::Double(number),
        Value::Decimal(number) => Json::Decimal(number),
        Value::Date(date) => Json::Date(date),
        Value::Time(time) => Json::Time(time),
        Value::DateTime(moment) => Json::DateTime(moment),
        Value::Bytes(bytes) => Json::Opaque { code: STRING, bytes },
        Value::Null | Value::Json(_) => Json::Null,
    }
}

/// The stored bytes of a value of a document.
fn stored_of(ty: &ColumnType, value: &Json) -> Option<Vec<u8>> {
    let number = |value: &Json| match value {
        Json::Int(number) => Some(i128::from(*number)),
        Json::UInt(number) => Some(i128::from(*number)),
        _ => None,
    };
    let text = |value: &Json| match value {
        Json::String(text) => Some(text.clone()),
        _ => None,
    };
    let plain = |flags: ParseFlags| !flags.invalid && !flags.truncated;
    let value = match type_name(ty) {
        "int" => Value::Int(number(value)?.try_into().ok()?),
        "uint" | "enum" | "set" => Value::UInt(number(value)?.try_into().ok()?),
        "double" => Value::Double(share_of(value)?),
        "decimal" => {
            share_of(value)?;
            Value::Decimal(Decimal::parse(&value.to_text()).ok()?)
        }
        "date" if let Json::Date(date) = value => Value::Date(*date),
        "datetime" if let Json::DateTime(moment) = value => Value::DateTime(*moment),
        "time" if let Json::Time(time) = value => Value::Time(*time),
        "string" if let Json::Opaque { bytes, .. } = value => Value::Bytes(bytes.clone()),
        "date" | "datetime" => {
            let parsed = format::value::parse_datetime(text(value)?.as_bytes());
            plain(parsed.flags).then_some(())?;
            match ty {
                ColumnType::Date => Value::Date(parsed.value.date),
                _ => Value::DateTime(parsed.value),
            }
        }
        "time" => {
            let parsed = format::value::parse_time(text(value)?.as_bytes());
            plain(parsed.flags).then_some(Value::Time(parsed.value))?
        }
        _ => {
            let text = text(value)?;
            let encoded = text.strip_prefix("base64:type").and_then(|rest| rest.split_once(':'))?.1;
            Value::Bytes(base64::decode(encoded.as_bytes(), false)?)
        }
    };
    let mut stored = Vec::new();
    ty.encode(&value, &mut stored).ok()?;
    Some(stored)
}

fn share_of(value: &Json) -> Option<f64> {
    match value {
        Json::Int(number) => Some(*number as f64),
        Json::UInt(number) => Some(*number as f64),
        Json::Double(number) => Some(*number),
        Json::Decimal(number) => String::from_utf8(Json::Decimal(*number).to_text()).ok()?.parse().ok(),
        _ => None,
    }
}

impl Histogram {
    /// The document of a histogram of a column of this type.
    pub fn to_json(&self, ty: &ColumnType) -> Json {
        let bucket = |bucket: &Bucket| {
            let cumulative = Json::Double(bucket.cumulative);
            Json::Array(match self.kind {
                Kind::Singleton => vec![value_of(ty, &bucket.upper), cumulative],
                Kind::EquiHeight => {
                    let distinct = Json::Int(bucket.distinct as i64);
                    vec![value_of(ty, &bucket.lower), value_of(ty, &bucket.upper), cumulative, distinct]
                }
            })
        };
        let id = ty.collation().or(text_collation(ty)).map_or(NO_COLLATION, |id| id.0.into());
        let kind = match self.kind {
            Kind::Singleton => "singleton",
            Kind::EquiHeight => "equi-height",
        };
        let members = vec![
            ("buckets", Json::Array(self.buckets.iter().map(bucket).collect())),
            ("data-type", Json::String(type_name(ty).into())),
            ("null-values", Json::Double(self.nulls)),
            ("collation-id", Json::Int(id as i64)),
            ("last-updated", Json::DateTime(self.updated)),
            ("sampling-rate", Json::Double(self.sampling_rate)),
            ("histogram-type", Json::String(kind.into())),
            ("number-of-buckets-specified", Json::Int(self.asked as i64)),
        ];
        Json::object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The histogram of a document; None: it is none of a column of this type. `now`: when it is taken in.
    pub fn from_json(document: &Json, ty: &ColumnType, now: Option<DateTime>) -> Option<Histogram> {
        let text = |name: &str| match document.member(name)? {
            Json::String(text) => Some(text.as_str()),
            _ => None,
        };
        let share = |name: &str| share_of(document.member(name)?).filter(|share| (0.0..=1.0).contains(share));
        let kind = match text("histogram-type")? {
            "singleton" => Kind::Singleton,
            "equi-height" => Kind::EquiHeight,
            _ => return None,
        };
        if text("data-type")? != type_name(ty) {
            return None;
        }
        let asked = share_of(document.member("number-of-buckets-specified")?)?;
        let Json::Array(listed) = document.member("buckets")? else { return None };
        if !(1.0..=BUCKETS_MAX as f64).contains(&asked) || listed.len() as f64 > asked {
            return None;
        }
        let nulls = share("null-values")?;
        let mut buckets: Vec<Bucket> = Vec::with_capacity(listed.len());
        for bucket in listed {
            let Json::Array(parts) = bucket else { return None };
            let bucket = match (kind, &parts[..]) {
                (Kind::Singleton, [value, cumulative]) => {
                    let value = stored_of(ty, value)?;
                    Bucket { lower: value.clone(), upper: value, cumulative: share_of(cumulative)?, distinct: 1.0 }
                }
                (Kind::EquiHeight, [lower, upper, cumulative, distinct]) => Bucket {
                    lower: stored_of(ty, lower)?,
                    upper: stored_of(ty, upper)?,
                    cumulative: share_of(cumulative)?,
                    distinct: share_of(distinct)?,
                },
                _ => return None,
            };
            let before = buckets.last();
            let follows = before.is_none_or(|before| {
                compare_stored(ty, &before.upper, &bucket.lower).is_lt() && before.cumulative <= bucket.cumulative
            });
            // The shares are sums of fractions.
            let is_share = bucket.cumulative >= 0.0 && bucket.cumulative + nulls <= 1.0 + 1e-6;
            if !follows
                || !is_share
                || bucket.distinct < 1.0
                || compare_stored(ty, &bucket.lower, &bucket.upper).is_gt()
            {
                return None;
            }
            buckets.push(bucket);
        }
        let updated = match (now, document.member("last-updated")) {
            (Some(now), _) => now,
            (None, Some(Json::DateTime(updated))) => *updated,
            _ => return None,
        };
        Some(Histogram { kind, buckets, nulls, sampling_rate: share("sampling-rate")?, asked: asked as u64, updated })
    }
}
