//! Dates and times on their way into a column, with the checks that sql_mode asks for.

use format::value::{
    Date, DateTime, Moment, ParseFlags, Time, Zone, datetime_from_decimal, datetime_from_number, parse_datetime,
    parse_time_in, time_from_decimal, time_from_number,
};

use super::{AssignMode, Assignment};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::expression::datum::quoted;
use crate::expression::temporal::{Zeros, is_bad_date};
use crate::types::{SqlMode, TypeInfo};

impl Assignment<'_, '_> {
    /// A date and time as it was written, with the checks of sql_mode. None: it is none, and has been warned of.
    fn moment(&self, value: &Datum<'_>, kind: &str) -> Result<Option<DateTime>> {
        let parsed = match value {
            Datum::DateTime(moment) => return self.checked_day(value, *moment, kind),
            Datum::Date(date) => return self.checked_day(value, date.at_midnight(), kind),
            Datum::Time(_) => return value.to_datetime(Zeros::Allowed, self.context),
            Datum::Bytes(text) => parse_datetime(text).in_zone(self.context.zone),
            Datum::Int(number) => datetime_from_number(*number, 0),
            Datum::UInt(number) => datetime_from_number(i64::try_from(*number).unwrap_or(i64::MAX), 0),
            Datum::Decimal(number) => datetime_from_decimal(number),
            other => datetime_from_decimal(&other.to_decimal(self.context)?),
        };
        if is_bad_date(&parsed.flags, Zeros::Allowed, self.context.mode) {
            self.incorrect_temporal(kind, value, &parsed.flags)?;
            return Ok(None);
        }
        if parsed.flags.truncated {
            self.truncated_temporal(kind, value)?;
        }
        self.checked_zero(value, parsed.value, kind)
    }

    /// A computed date may have a day that its month does not have: STR_TO_DATE reads one.
    fn checked_day(&self, value: &Datum<'_>, moment: DateTime, kind: &str) -> Result<Option<DateTime>> {
        let is_day = moment.date.has_zero_part() || moment.date.is_in_calendar();
        if !is_day && !self.context.mode.has(SqlMode::ALLOW_INVALID_DATES) {
            self.incorrect_temporal(kind, value, &ParseFlags { invalid_day: true, ..ParseFlags::default() })?;
            return Ok(None);
        }
        self.checked_zero(value, moment, kind)
    }

    /// NO_ZERO_DATE and NO_ZERO_IN_DATE, for what `given` means.
    fn checked_zero(&self, given: &Datum<'_>, value: DateTime, kind: &str) -> Result<Option<DateTime>> {
        let mode = self.context.mode;
        let refused = if value.date.is_zero() {
            mode.has(SqlMode::NO_ZERO_DATE)
        } else {
            value.date.has_zero_part() && mode.has(SqlMode::NO_ZERO_IN_DATE)
        };
        if refused {
            let mut text = Vec::new();
            match (given, kind) {
                (Datum::Date(_) | Datum::DateTime(_), "date") => value.date.write(&mut text),
                (Datum::Date(_) | Datum::DateTime(_), _) => value.write(0, &mut text),
                _ => text.extend_from_slice(&given.by_ref().into_text(&TypeInfo::NULL)),
            }
            match self.mode {
                AssignMode::Strict => {
                    return Err(Error::incorrect_temporal(kind, &quoted(&text), self.target.name, self.row));
                }
                AssignMode::Lenient => self.out_of_range()?,
            }
            return Ok(Some(DateTime::ZERO));
        }
        Ok(Some(value))
    }

    fn incorrect_temporal(&self, kind: &str, value: &Datum<'_>, flags: &ParseFlags) -> Result<()> {
        let text = quoted(&value.by_ref().into_text(&TypeInfo::NULL));
        match self.mode {
            AssignMode::Strict => Err(Error::incorrect_temporal(kind, &text, self.target.name, self.row)),
            AssignMode::Lenient => {
                let warning = if flags.invalid_day || flags.out_of_range {
                    Error::column_out_of_range(self.target.name, self.row)
                } else {
                    Error::data_truncated(self.target.name, self.row)
                };
                self.context.warn(warning);
                Ok(())
            }
        }
    }

    /// Something follows the value.
    fn truncated_temporal(&self, kind: &str, value: &Datum<'_>) -> Result<()> {
        let text = quoted(&value.by_ref().into_text(&TypeInfo::NULL));
        match self.mode {
            AssignMode::Strict => Err(Error::incorrect_temporal(kind, &text, self.target.name, self.row)),
            AssignMode::Lenient => self.truncated(),
        }
    }

    pub(super) fn date<'a>(&self, value: Datum<'_>) -> Result<Datum<'a>> {
        let Some(moment) = self.moment(&value, "date")? else { return Ok(Datum::Date(Date::ZERO)) };
        let has_time = moment.hour != 0 || moment.minute != 0 || moment.second != 0 || moment.micros != 0;
        if has_time {
            self.context.warnings.note(
                1292,
                format!(
                    "Incorrect date value: '{}' for column '{}' at row {}",
                    quoted(&value.by_ref().into_text(&TypeInfo::NULL)),
                    self.target.name,
                    self.row
                ),
            );
        }
        // The last half second of a day belongs to the next one.
        match self.context.round_datetime(moment, 0) {
            Some(moment) => Ok(Datum::Date(moment.date)),
            None => {
                self.doubt(Error::datetime_overflow())?;
                Ok(Datum::Date(Date::ZERO))
            }
        }
    }

    pub(super) fn datetime(&self, value: Datum<'_>, fsp: u8) -> Result<DateTime> {
        let Some(moment) = self.moment(&value, "datetime")? else { return Ok(DateTime::ZERO) };
        match self.context.round_datetime(moment, fsp) {
            Some(moment) => Ok(moment),
            None => {
                self.out_of_range()?;
                Ok(DateTime::ZERO)
            }
        }
    }

    /// In UTC, between 1970-01-01 00:00:01 and 2038-01-19 03:14:07.
    pub(super) fn timestamp<'a>(&self, value: Datum<'_>, fsp: u8) -> Result<Datum<'a>> {
        const SECONDS_MAX: i64 = i32::MAX as i64;
        let quoted_value = value.by_ref().into_text(&TypeInfo::NULL).into_owned();
        let local = self.datetime(value, fsp)?;
        if local == DateTime::ZERO {
            return Ok(Datum::DateTime(local));
        }
        let micros = local.to_unix_micros(self.context.zone);
        // ALLOW_INVALID_DATES is not for TIMESTAMP: there is no such moment.
        let in_range = (1_000_000..(SECONDS_MAX + 1) * 1_000_000).contains(&micros) && local.date.is_in_calendar();
        match DateTime::from_unix_micros(micros, Zone::UTC) {
            Some(utc) if in_range && matches!(local.moment(self.context.zone), Moment::Never(_)) => {
                let text = quoted(&quoted_value);
                if self.mode == AssignMode::Strict {
                    return Err(Error::incorrect_temporal("datetime", &text, self.target.name, self.row));
                }
                self.context.warn(Error::invalid_timestamp(self.target.name, self.row));
                Ok(Datum::DateTime(utc))
            }
            Some(utc) if in_range => Ok(Datum::DateTime(utc)),
            _ => {
                match self.mode {
                    AssignMode::Strict => {
                        let text = quoted(&quoted_value);
                        return Err(Error::incorrect_temporal("datetime", &text, self.target.name, self.row));
                    }
                    AssignMode::Lenient => self.out_of_range()?,
                }
                Ok(Datum::DateTime(DateTime::ZERO))
            }
        }
    }

    pub(super) fn time<'a>(&self, value: Datum<'_>, fsp: u8) -> Result<Datum<'a>> {
        let parsed = match &value {
            Datum::Time(time) => return Ok(Datum::Time(self.context.round_time(*time, fsp))),
            Datum::DateTime(moment) => return Ok(Datum::Time(self.context.round_time(moment.time(), fsp))),
            Datum::Date(_) => return Ok(Datum::Time(Time::ZERO)),
            Datum::Bytes(text) => parse_time_in(text, self.context.zone),
            Datum::Int(number) => time_from_number(*number, 0),
            Datum::UInt(number) => time_from_number(i64::try_from(*number).unwrap_or(i64::MAX), 0),
            Datum::Decimal(number) => time_from_decimal(number),
            other => time_from_decimal(&other.to_decimal(self.context)?),
        };
        if parsed.flags.invalid || parsed.flags.truncated {
            self.incorrect_temporal("time", &value, &ParseFlags { invalid: false, ..parsed.flags })?;
        } else if parsed.flags.out_of_range {
            match self.mode {
                AssignMode::Strict => self.incorrect_temporal("time", &value, &parsed.flags)?,
                AssignMode::Lenient => self.out_of_range()?,
            }
        }
        Ok(Datum::Time(self.context.round_time(parsed.value, fsp)))
    }
}
