//! Values as bytes of a record, and back.

use std::borrow::Cow;

use format::value::{Date, DateTime, Decimal, Time, Value};

use super::datum::Datum;
use crate::error::{Error, Result};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const DOUBLE: u8 = 3;
const DECIMAL: u8 = 4;
const BYTES: u8 = 5;
const DATE: u8 = 6;
const TIME: u8 = 7;
const DATE_TIME: u8 = 8;
const JSON: u8 = 9;

/// Appends a value.
pub fn write_value(value: &Value, out: &mut Vec<u8>) {
    write_datum(&Datum::from(value), out);
}

/// The same.
pub fn write_datum(value: &Datum<'_>, out: &mut Vec<u8>) {
    match value {
        Datum::Null => out.push(NULL),
        Datum::Int(number) => write_number(INT, number.to_le_bytes(), out),
        Datum::UInt(number) => write_number(UINT, number.to_le_bytes(), out),
        Datum::Double(number) => write_number(DOUBLE, number.to_bits().to_le_bytes(), out),
        Datum::Decimal(number) => {
            out.push(DECIMAL);
            number.pack(out);
        }
        Datum::Bytes(text) => {
            out.push(BYTES);
            write_bytes(text, out);
        }
        Datum::Json(document) => {
            out.push(JSON);
            write_bytes(document, out);
        }
        Datum::Date(date) => {
            out.push(DATE);
            write_date(date, out);
        }
        Datum::Time(time) => {
            out.push(TIME);
            out.push(time.negative.into());
            out.extend(time.hours.to_le_bytes());
            out.extend([time.minutes, time.seconds]);
            out.extend(time.micros.to_le_bytes());
        }
        Datum::DateTime(moment) => {
            out.push(DATE_TIME);
            write_date(&moment.date, out);
            out.extend([moment.hour, moment.minute, moment.second, moment.is_second.into()]);
            out.extend(moment.micros.to_le_bytes());
        }
    }
}

fn write_number(kind: u8, bytes: [u8; 8], out: &mut Vec<u8>) {
    let [a, b, c, d, e, f, g, h] = bytes;
    out.extend_from_slice(&[kind, a, b, c, d, e, f, g, h]);
}

fn write_date(date: &Date, out: &mut Vec<u8>) {
    out.extend(date.year.to_le_bytes());
    out.extend([date.month, date.day]);
}

/// Appends bytes with their length.
pub fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a list of values with its length.
pub fn write_values(values: &[Value], out: &mut Vec<u8>) {
    out.extend((values.len() as u32).to_le_bytes());
    values.iter().for_each(|value| write_value(value, out));
}

/// What is left of a record.
pub struct Source<'r>(pub &'r [u8]);

impl<'r> Source<'r> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub fn u128(&mut self) -> Result<u128> {
        self.take().map(u128::from_le_bytes)
    }

    pub fn bytes(&mut self) -> Result<&'r [u8]> {
        let length = self.u32()? as usize;
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn value(&mut self) -> Result<Value> {
        self.datum().map(Datum::into_value)
    }

    /// A value that stays where it is.
    pub fn datum(&mut self) -> Result<Datum<'r>> {
        Ok(match self.u8()? {
            NULL => Datum::Null,
            INT => Datum::Int(i64::from_le_bytes(self.take()?)),
            UINT => Datum::UInt(self.u64()?),
            DOUBLE => Datum::Double(f64::from_bits(self.u64()?)),
            DECIMAL => {
                let (number, rest) = Decimal::unpack(self.0).ok_or_else(damaged)?;
                self.0 = rest;
                Datum::Decimal(number)
            }
            BYTES => Datum::Bytes(Cow::Borrowed(self.bytes()?)),
            JSON => Datum::Json(Cow::Borrowed(self.bytes()?)),
            DATE => Datum::Date(self.date()?),
            TIME => {
                let negative = self.u8()? != 0;
                let hours = u16::from_le_bytes(self.take()?);
                let [minutes, seconds] = self.take()?;
                Datum::Time(Time { negative, hours, minutes, seconds, micros: self.u32()? })
            }
            DATE_TIME => {
                let date = self.date()?;
                let [hour, minute, second, is_second] = self.take()?;
                let is_second = is_second != 0;
                Datum::DateTime(DateTime { date, hour, minute, second, micros: self.u32()?, is_second })
            }
            _ => return Err(damaged()),
        })
    }

    /// Passes over a value.
    pub fn skip(&mut self) -> Result<()> {
        let bytes = match self.u8()? {
            NULL => 0,
            INT | UINT | DOUBLE => 8,
            DATE => 4,
            TIME => 9,
            DATE_TIME => 12,
            BYTES | JSON => return self.bytes().map(|_| ()),
            DECIMAL => {
                self.0 = Decimal::unpack(self.0).ok_or_else(damaged)?.1;
                0
            }
            _ => return Err(damaged()),
        };
        self.0 = self.0.get(bytes..).ok_or_else(damaged)?;
        Ok(())
    }

    fn date(&mut self) -> Result<Date> {
        let year = u16::from_le_bytes(self.take()?);
        let [month, day] = self.take()?;
        Ok(Date { year, month, day })
    }

    /// A list of values, put in place of what `out` has.
    pub fn values(&mut self, out: &mut Vec<Value>) -> Result<()> {
        let count = self.u32()?;
        out.clear();
        for _ in 0..count {
            out.push(self.value()?);
        }
        Ok(())
    }

    pub fn new_values(&mut self) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        self.values(&mut values)?;
        Ok(values)
    }
}

fn damaged() -> Error {
    Error::internal("a record of a temporary file is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_were() {
        let date = Date { year: 0, month: 0, day: 31 };
        let time = Time { negative: true, hours: 838, minutes: 59, seconds: 1, micros: 999_999 };
        let moment = DateTime { date, hour: 23, minute: 1, second: 59, micros: 7, is_second: true };
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text.as_bytes()).unwrap());
        let values = vec![
            Value::Null,
            Value::Int(i64::MIN),
            Value::UInt(u64::MAX),
            Value::Double(-0.0),
            Value::Double(f64::MAX),
            decimal("-12.500"),
            decimal("0"),
            decimal(&format!("{}.{}", "9".repeat(35), "1".repeat(30))),
            Value::Bytes(Vec::new()),
            Value::Bytes(vec![0xFF; 70_000]),
            Value::Json(b"not checked".to_vec()),
            Value::Date(date),
            Value::Time(time),
            Value::DateTime(moment),
        ];
        let mut record = Vec::new();
        write_values(&values, &mut record);
        write_bytes(b"behind", &mut record);
        let mut source = Source(&record);
        let read = source.new_values().unwrap();
        assert_eq!(format!("{read:?}"), format!("{values:?}"), "digits and signs included");
        assert_eq!(source.bytes().unwrap(), b"behind");
        let mut source = Source(&record);
        assert_eq!(source.u32().unwrap() as usize, values.len());
        for value in &values {
            let mut again = Source(source.0);
            assert_eq!(again.datum().unwrap(), Datum::from(value));
            source.skip().unwrap();
            assert_eq!(again.0.len(), source.0.len(), "{value:?} is passed over");
        }
        for length in 0..record.len().min(300) {
            let mut source = Source(&record[..length]);
            assert!(source.new_values().is_err() || source.bytes().is_err());
        }
    }
}
