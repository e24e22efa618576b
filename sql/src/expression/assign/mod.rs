//! A value on its way into a column.
//!
//! In strict mode a value that does not fit is an error; else it becomes the
//! nearest value of the column and a warning:
//!
//! | value | strict | lenient |
//! |---|---|---|
//! | out of a number's range | 1264 | the range's end |
//! | no number: `'abc'` | 1366, of FLOAT and DOUBLE 1265 | 0 |
//! | a number and more: `'12abc'` | 1265 | 12 |
//! | text too long | 1406 (spaces alone: note 1265) | cut, 1265 |
//! | bytes that are no characters | 1366 | cut |
//! | no date: `'2024-02-30'` | 1292 | zero date, 1264 or 1265 |
//! | no member of an ENUM or SET | 1265 | '' |
//! | NULL for NOT NULL | 1048 | zero, 1048 |
//! | no geometry, or one of another kind | 1416 | 1416 |
//! | a geometry of another reference system | 3643 | 3643 |
//!
//! A geometry has no zero: what would become one in other types is error 1048 or 1416.
//!
//! What comes out can be encoded as it is ([`encode`]): a number is of the column's
//! sign, a decimal has its scale, a string its character set, a TIMESTAMP is in UTC.

mod temporal;
mod text;

use std::borrow::Cow;

use format::collation::{Charset, CollationId, collation};
use format::value::{ColumnType, Date, DateTime, Decimal, Json, JsonError, LobSize, Time, Value, double_prefix};

use super::datum::{bits_of, quoted};
use super::numbers::power_of_ten;
use super::{Datum, EvalContext, geometry, json};
use crate::error::{Error, Result};
use crate::types::TypeInfo;
use text::{shortened, trim_spaces};

/// What happens to values that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignMode {
    /// Errors, in strict sql_mode.
    Strict,
    /// Warnings, and the nearest value: not strict, or IGNORE.
    Lenient,
}

impl AssignMode {
    /// An error, or a warning if the statement goes on all the same: then the caller stores what it can.
    #[cold]
    pub fn doubt(self, context: &EvalContext<'_>, error: Error) -> Result<()> {
        match self {
            AssignMode::Strict => Err(error),
            AssignMode::Lenient => {
                context.warn(error);
                Ok(())
            }
        }
    }
}

/// The column that a value goes to.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub name: &'a str,
    pub ty: &'a ColumnType,
    pub nullable: bool,
}

impl Target<'_> {
    fn is_numeric(&self) -> bool {
        use ColumnType::*;
        matches!(self.ty, Int { .. } | Year | Float { .. } | Double { .. } | Decimal { .. })
    }
}

/// What a conversion needs besides the value.
struct Assignment<'c, 't> {
    target: &'c Target<'t>,
    mode: AssignMode,
    row: u64,
    context: &'c EvalContext<'c>,
}

/// Coerces a value to a column's type: the result can be [encoded](encode) as it is. NULL for a NOT NULL column is 1048
/// in strict mode, and the type's zero otherwise. `source` is the type of the expression that gave the value, `row`
/// counts from 1. Strings that need no change are passed through.
pub fn assign<'a>(
    value: Datum<'a>,
    source: &TypeInfo,
    target: &Target<'_>,
    mode: AssignMode,
    row: u64,
    context: &EvalContext<'_>,
) -> Result<Datum<'a>> {
    // The most common: an integer that fits.
    if let (Datum::Int(number), ColumnType::Int { bytes, unsigned: false }) = (&value, target.ty) {
        let (low, high) = int_range(*bytes);
        if (low..=high).contains(number) {
            return Ok(value);
        }
    }
    let assignment = Assignment { target, mode, row, context };
    let value = match value {
        // x'41' is the number 65 to a column of numbers, and bytes to all others.
        Datum::Bytes(bits) if source.is_bit_literal() && target.is_numeric() => {
            if bits.is_empty() {
                assignment.incorrect("integer", b"")?;
            }
            Datum::UInt(bits_of(&bits))
        }
        value => value,
    };
    let value = match value {
        Datum::Null => return assignment.null(),
        Datum::Json(document) if *target.ty != ColumnType::Json => assignment.scalar(document)?,
        value => value,
    };
    let value = match value {
        // Numbers and dates are read of UTF-8; a text goes into other columns by its own character set.
        Datum::Bytes(_)
            if source.is_string()
                && source.charset().is_wide()
                && (target.is_numeric() || TypeInfo::of_column(target.ty, true).is_temporal()) =>
        {
            value.in_utf8(source)
        }
        value => value,
    };
    match target.ty {
        ColumnType::Int { bytes, unsigned: false } => {
            let (low, high) = int_range(*bytes);
            assignment.integer(value, source, low as i128, high as i128).map(|number| Datum::Int(number as i64))
        }
        ColumnType::Int { bytes, unsigned: true } => {
            let high = if *bytes == 8 { u64::MAX } else { (1 << (8 * *bytes as u32)) - 1 };
            assignment.integer(value, source, 0, high as i128).map(|number| Datum::UInt(number as u64))
        }
        ColumnType::Year => assignment.year(value, source),
        ColumnType::Bit { bits } => assignment.bit(value, source, *bits),
        ColumnType::Float { unsigned, decimals } => assignment.double(value, source, *unsigned, *decimals, true),
        ColumnType::Double { unsigned, decimals } => assignment.double(value, source, *unsigned, *decimals, false),
        ColumnType::Decimal { precision, scale, unsigned } => assignment.decimal(value, *precision, *scale, *unsigned),
        ColumnType::Date => assignment.date(value),
        ColumnType::Time { fsp } => assignment.time(value, *fsp),
        ColumnType::DateTime { fsp } => assignment.datetime(value, *fsp).map(Datum::DateTime),
        ColumnType::Timestamp { fsp } => assignment.timestamp(value, *fsp),
        ColumnType::Char { chars, collation } => {
            let text = assignment.text(shortened(value, source, *chars, mode), source, *collation)?;
            // Stored without the spaces that pad it.
            {
                let charset = format::collation::collation(*collation).charset;
                assignment.fit_chars(text, *chars, *collation).map(|text| Datum::Bytes(trim_spaces(text, charset)))
            }
        }
        ColumnType::VarChar { chars, collation } => {
            let text = assignment.text(shortened(value, source, *chars, mode), source, *collation)?;
            assignment.fit_chars(text, *chars, *collation).map(Datum::Bytes)
        }
        ColumnType::Binary { bytes } | ColumnType::VarBinary { bytes } => {
            let text = value.into_text(source);
            assignment.fit_bytes(text, *bytes as usize, Charset::Binary).map(Datum::Bytes)
        }
        ColumnType::Text { size, collation: id } => {
            let text = assignment.text(value, source, *id)?;
            assignment.fit_bytes(text, size.bytes_max() as usize, collation(*id).charset).map(Datum::Bytes)
        }
        ColumnType::Blob { size } => {
            let text = value.into_text(source);
            assignment.fit_bytes(text, size.bytes_max() as usize, Charset::Binary).map(Datum::Bytes)
        }
        ColumnType::Json => {
            // Other values are JSON by CAST only, as in MySQL; MariaDB takes the text of a number.
            let document = match value {
                Datum::Json(document) => document,
                Datum::Bytes(_) if source.is_string() && source.is_binary() => {
                    return Err(Error::json_charset(Charset::Binary.name()));
                }
                value => {
                    let is_text = matches!(value, Datum::Bytes(_));
                    let text = assignment.text(value, source, CollationId::UTF8MB4_BIN)?;
                    let json = match is_text {
                        true => Json::parse(&text),
                        false => Err(JsonError::Invalid { reason: "not a JSON text, may need CAST", at: 0 }),
                    };
                    json.map_err(|error| Error::invalid_json(error, target.name))?.to_binary().into()
                }
            };
            match document.len() > LobSize::Long.bytes_max() as usize {
                true => Err(Error::json_too_long()),
                false => Ok(Datum::Json(document)),
            }
        }
        ColumnType::Geometry { kind, srid } => match value {
            Datum::Bytes(bytes) => geometry::for_column(bytes, *kind, *srid, target.name).map(Datum::Bytes),
            _ => Err(Error::no_geometry_for_column()),
        },
        ColumnType::Enum { members, collation } => assignment.enumeration(value, source, members.len(), *collation),
        ColumnType::Set { members, collation } => assignment.set(value, source, members.len(), *collation),
    }
}

/// Appends the stored bytes of an assigned value. Not for NULL.
pub fn encode(value: Datum<'_>, ty: &ColumnType, out: &mut Vec<u8>) -> Result<()> {
    // Text goes as it is, without a copy in between.
    if let (
        Datum::Bytes(text),
        ColumnType::VarChar { .. } | ColumnType::VarBinary { .. } | ColumnType::Text { .. } | ColumnType::Blob { .. },
    )
    | (Datum::Json(text), ColumnType::Json) = (&value, ty)
    {
        out.extend_from_slice(text);
        return Ok(());
    }
    // The zero of the type, which is none.
    if matches!((&value, ty), (Datum::Bytes(bytes), ColumnType::Geometry { .. }) if bytes.is_empty()) {
        return Err(Error::no_geometry_for_column());
    }
    ty.encode(&value.into_value(), out).map_err(|error| Error::internal(format!("encode a value: {error:?}")))
}

/// The zero of a type: what a NOT NULL column gets for NULL when that is no error, and implicitly by default.
pub fn zero_of(ty: &ColumnType) -> Value {
    match ty {
        ColumnType::Int { unsigned: false, .. } => Value::Int(0),
        ColumnType::Int { unsigned: true, .. } | ColumnType::Year | ColumnType::Bit { .. } | ColumnType::Set { .. } => {
            Value::UInt(0)
        }
        // The first member.
        ColumnType::Enum { .. } => Value::UInt(1),
        ColumnType::Float { .. } | ColumnType::Double { .. } => Value::Double(0.0),
        ColumnType::Decimal { scale, .. } => {
            Value::Decimal(Decimal::ZERO.round(*scale as i32).unwrap_or(Decimal::ZERO))
        }
        ColumnType::Date => Value::Date(Date::ZERO),
        ColumnType::Time { .. } => Value::Time(Time::ZERO),
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => Value::DateTime(DateTime::ZERO),
        ColumnType::Json => Value::Json(Json::Null.to_binary()),
        _ => Value::Bytes(Vec::new()),
    }
}

/// The same as it is stored: what a NOT NULL column without a default gets when ALTER TABLE adds it to rows that exist.
pub fn stored_zero(ty: &ColumnType) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    encode(zero_of(ty).into(), ty, &mut out)?;
    Ok(out)
}

/// The range of a signed integer of so many bytes.
fn int_range(bytes: u8) -> (i64, i64) {
    let bits = 8 * bytes.clamp(1, 8) as u32;
    let high = (u64::MAX >> (65 - bits)) as i64;
    (-high - 1, high)
}

/// The integer nearest to a number; of one beyond all integers the first or the last.
fn nearest_integer(number: &Decimal) -> i128 {
    match number.round(0).ok().and_then(|number| number.to_i128_truncated()) {
        Some(integer) => integer,
        None if number.is_negative() => i128::MIN,
        None => i128::MAX,
    }
}

impl Assignment<'_, '_> {
    fn doubt(&self, error: Error) -> Result<()> {
        self.mode.doubt(self.context, error)
    }

    fn out_of_range(&self) -> Result<()> {
        self.doubt(Error::column_out_of_range(self.target.name, self.row))
    }

    fn truncated(&self) -> Result<()> {
        self.doubt(Error::data_truncated(self.target.name, self.row))
    }

    fn incorrect(&self, kind: &str, text: &[u8]) -> Result<()> {
        self.doubt(Error::incorrect_value_for_column(kind, &quoted(text), self.target.name, self.row))
    }

    /// A JSON value for a column of another type: its text where that holds texts, else the scalar that it is.
    fn scalar(&self, document: Cow<'_, [u8]>) -> Result<Datum<'static>> {
        if !self.target.is_numeric()
            && !matches!(
                self.target.ty,
                ColumnType::Date | ColumnType::Time { .. } | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. }
            )
        {
            return Ok(Datum::bytes(Datum::Json(document).into_text(&TypeInfo::json()).into_owned()));
        }
        match json::plain(&document).filter(|scalar| self.takes_scalar(scalar)) {
            Some(scalar) => Ok(scalar),
            None => {
                let kind = match self.target.ty {
                    ColumnType::Float { .. } | ColumnType::Double { .. } => "DOUBLE",
                    ColumnType::Decimal { .. } => "DECIMAL",
                    _ if self.target.is_numeric() => "INTEGER",
                    _ => "DATE/TIME/DATETIME/TIMESTAMP",
                };
                self.doubt(Error::invalid_json_for_cast(kind))?;
                Ok(Datum::from(zero_of(self.target.ty)))
            }
        }
    }

    /// Whether a JSON scalar is a value of the column's kind: numbers are no moments, nor moments numbers, and a string is
    /// a number or a moment as a whole or not at all.
    fn takes_scalar(&self, scalar: &Datum<'_>) -> bool {
        match (scalar, self.target.ty) {
            (Datum::Bytes(text), ColumnType::Float { .. } | ColumnType::Double { .. } | ColumnType::Decimal { .. }) => {
                Decimal::parse_prefix(text).1 == text.len() && !text.is_empty()
            }
            (Datum::Bytes(text), _) if self.target.is_numeric() => {
                std::str::from_utf8(text).is_ok_and(|text| text.parse::<i128>().is_ok())
            }
            (Datum::Bytes(text), ColumnType::Time { .. }) => json::is_time(text),
            (Datum::Bytes(text), _) => json::is_date(text),
            (Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_), _) if self.target.is_numeric() => false,
            (Datum::Time(_), ty) => matches!(ty, ColumnType::Time { .. }),
            (Datum::Date(_), ColumnType::Time { .. }) => false,
            (Datum::Date(_) | Datum::DateTime(_), _) => true,
            _ => self.target.is_numeric(),
        }
    }

    fn null<'a>(&self) -> Result<Datum<'a>> {
        if self.target.nullable {
            return Ok(Datum::Null);
        }
        if matches!(self.target.ty, ColumnType::Geometry { .. }) {
            return Err(Error::null_in_not_null(self.target.name));
        }
        self.doubt(Error::null_in_not_null(self.target.name))?;
        Ok(Datum::from(zero_of(self.target.ty)))
    }

    // ------------------------------------------------------------ numbers

    fn is_integer(&self) -> bool {
        matches!(self.target.ty, ColumnType::Int { .. })
    }

    /// An integer between two bounds. Fractions are rounded half away from zero, doubles half to even.
    fn integer(&self, value: Datum<'_>, source: &TypeInfo, low: i128, high: i128) -> Result<i128> {
        let mut followed = false;
        let number = match &value {
            Datum::Int(v) => *v as i128,
            Datum::UInt(v) => *v as i128,
            Datum::Double(v) if v.is_nan() => 0,
            // A cast saturates, far outside of any column's range.
            Datum::Double(v) => match v.round_ties_even() as i128 {
                // The largest BIGINT is no double: 2^63 stands for it.
                above if high == i128::from(i64::MAX) && above == high + 1 => high,
                number => number,
            },
            // As in MySQL a decimal below zero is out of an unsigned range also if it would be rounded to zero.
            Datum::Decimal(v) if low == 0 && v.is_negative() && !v.is_zero() && self.is_integer() => {
                self.out_of_range()?;
                return Ok(low);
            }
            Datum::Decimal(v) => nearest_integer(v),
            Datum::Bytes(text) => self.integer_text(text, &mut followed)?,
            // Seconds are rounded before their digits are a number: 59.5 of them are a minute.
            Datum::Time(time) => self.context.round_time(*time, 0).to_number().into(),
            Datum::DateTime(moment) => self.context.round_datetime(*moment, 0).unwrap_or(*moment).to_number().into(),
            other => match other.to_number(source, self.context)? {
                Some(super::datum::Number::Decimal(v)) => nearest_integer(&v),
                _ => other.to_i64(self.context)? as i128,
            },
        };
        if number < low {
            self.out_of_range()?;
            return Ok(low);
        }
        if number > high {
            self.out_of_range()?;
            return Ok(high);
        }
        if followed {
            self.truncated()?;
        }
        Ok(number)
    }

    /// The integer that a text begins with; `followed` tells whether more follows it.
    fn integer_text(&self, text: &[u8], followed: &mut bool) -> Result<i128> {
        let (number, consumed, result) = Decimal::parse_prefix(text);
        if consumed == 0 {
            self.incorrect("integer", text)?;
            return Ok(0);
        }
        *followed = !text[consumed..].trim_ascii().is_empty();
        if result.is_err() {
            return Ok(if number.is_negative() { i128::MIN } else { i128::MAX });
        }
        Ok(nearest_integer(&number))
    }

    fn year<'a>(&self, value: Datum<'_>, source: &TypeInfo) -> Result<Datum<'a>> {
        // '0' and '00' are 2000, the text '0000' and the number 0 are 0000.
        let is_text =
            matches!(&value, Datum::Bytes(text) if text.trim_ascii_start().first().is_some_and(u8::is_ascii_digit));
        let digits = if let Datum::Bytes(text) = &value { text.trim_ascii().len() } else { 0 };
        let number = match &value {
            Datum::Date(date) => date.year as i128,
            Datum::DateTime(moment) => moment.date.year as i128,
            Datum::Time(_) => self.context.now().date.year as i128,
            // The fraction of a double is cut off, as in MySQL, and there is none behind the last year.
            Datum::Double(number) if (0.0..=2155.0).contains(number) => number.trunc() as i128,
            Datum::Double(_) => i128::MAX,
            // One warning of what is no year is enough.
            _ => self.integer(value, source, i128::MIN, i128::MAX)?,
        };
        let year = match number {
            0 if is_text && digits != 4 => 2000,
            0 => 0,
            1..=69 => number + 2000,
            70..=99 => number + 1900,
            1901..=2155 => number,
            _ => {
                self.out_of_range()?;
                0
            }
        };
        Ok(Datum::UInt(year as u64))
    }

    /// The bits of a string are its bytes, those of a number its value.
    fn bit<'a>(&self, value: Datum<'_>, source: &TypeInfo, bits: u8) -> Result<Datum<'a>> {
        let max = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let number = match &value {
            Datum::Bytes(text) => {
                let significant = &text[text.iter().take_while(|byte| **byte == 0).count()..];
                if significant.len() > 8 {
                    self.bits_too_long()?;
                    return Ok(Datum::UInt(max));
                }
                significant.iter().fold(0, |number, byte| number << 8 | *byte as u64)
            }
            Datum::Int(v) => *v as u64,
            _ => match self.integer(value, source, i128::MIN, i128::MAX)? {
                number if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&number) => number as u64,
                _ => {
                    self.bits_too_long()?;
                    return Ok(Datum::UInt(max));
                }
            },
        };
        if number > max {
            self.bits_too_long()?;
            return Ok(Datum::UInt(max));
        }
        Ok(Datum::UInt(number))
    }

    fn bits_too_long(&self) -> Result<()> {
        match self.mode {
            AssignMode::Strict => Err(Error::data_too_long(self.target.name, self.row)),
            AssignMode::Lenient => self.out_of_range(),
        }
    }

    fn double<'a>(
        &self,
        value: Datum<'_>,
        source: &TypeInfo,
        unsigned: bool,
        decimals: Option<(u8, u8)>,
        is_float: bool,
    ) -> Result<Datum<'a>> {
        let mut number = match &value {
            Datum::Bytes(text) => {
                let (number, prefix) = double_prefix(text);
                if prefix.consumed == 0 || prefix.truncated {
                    self.truncated()?;
                }
                if prefix.overflow {
                    self.out_of_range()?;
                }
                number
            }
            Datum::Double(number) => *number,
            other => match other.to_number(source, self.context)? {
                Some(number) => number.to_f64(),
                None => 0.0,
            },
        };
        if !number.is_finite() {
            self.out_of_range()?;
            number = if number < 0.0 { f64::MIN } else { f64::MAX };
        }
        if let Some((digits, scale)) = decimals {
            let factor = 10f64.powi(scale as i32);
            // Of the fraction alone more digits are exact than of the whole number.
            let whole = number.floor();
            let rounded = whole + ((number - whole) * factor).round_ties_even() / factor;
            if rounded.is_finite() {
                number = rounded;
            }
            let max = power_of_ten(digits.saturating_sub(scale).into()) - 10f64.powi(-(scale as i32));
            if number.abs() > max {
                self.out_of_range()?;
                number = max.copysign(number);
            }
        }
        if unsigned && number < 0.0 {
            self.out_of_range()?;
            number = 0.0;
        }
        if is_float {
            let single = number as f32;
            if single.is_infinite() {
                self.out_of_range()?;
                return Ok(Datum::Double(f32::MAX.copysign(single) as f64));
            }
            number = single as f64;
        }
        Ok(Datum::Double(number))
    }

    fn decimal<'a>(&self, value: Datum<'_>, precision: u8, scale: u8, unsigned: bool) -> Result<Datum<'a>> {
        let number = match &value {
            Datum::Bytes(text) => {
                let (number, consumed, result) = Decimal::parse_prefix(text);
                if consumed == 0 {
                    self.incorrect("decimal", text)?;
                } else if !text[consumed..].trim_ascii().is_empty() {
                    self.truncated()?;
                }
                if result.is_err() {
                    self.out_of_range()?;
                }
                number
            }
            other => other.to_decimal(self.context)?,
        };
        if unsigned && number.is_negative() {
            self.out_of_range()?;
            return Ok(Datum::from(zero_of(self.target.ty)));
        }
        match number.fit(precision, scale) {
            Ok(fitting) => {
                if fitting != number && matches!(value, Datum::Bytes(_) | Datum::Decimal(_)) {
                    // Digits behind the scale were rounded away: a note, in any mode.
                    let note = Error::data_truncated(self.target.name, self.row).message;
                    self.context.warnings.note(1265, note);
                }
                Ok(Datum::Decimal(fitting))
            }
            Err(_) => {
                self.out_of_range()?;
                let largest = Decimal::max(precision, scale);
                Ok(Datum::Decimal(if number.is_negative() { largest.neg() } else { largest }))
            }
        }
    }
}
