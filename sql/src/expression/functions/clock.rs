//! The clock: NOW() and its kin.
//!
//! All of them show the moment at which the statement began, so that one statement
//! sees one time; only SYSDATE() looks at the clock anew.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{Call, Function, Typing};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::types::TypeInfo;

pub const FUNCTIONS: &[Function] = &[
    Function::new("now", (0, 1), datetime, now),
    Function::new("sysdate", (0, 1), datetime, sysdate).volatile(),
    Function::new("utc_timestamp", (0, 1), datetime, utc_timestamp),
    Function::new("curdate", (0, 0), date, curdate),
    Function::new("utc_date", (0, 0), date, utc_date),
    Function::new("curtime", (0, 1), time, curtime),
    Function::new("utc_time", (0, 1), time, utc_time),
];

/// The fsp, which must be a literal.
fn fsp(typing: &Typing<'_>) -> Result<u8> {
    if typing.args.is_empty() {
        return Ok(0);
    }
    match typing.constant_int(0) {
        Some(fsp @ 0..=6) => Ok(fsp as u8),
        Some(fsp) => Err(Error::too_big_precision(fsp.unsigned_abs(), typing.name, 6)),
        None => Err(Error::wrong_arguments(typing.name)),
    }
}

fn datetime(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::datetime(fsp(typing)?).not_null())
}

fn time(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::time(fsp(typing)?).not_null())
}

fn date(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::date().not_null())
}

// The fraction of a clock is cut to its fsp, never rounded: no moment lies in the future.

fn now<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::DateTime(call.context.now().truncate(call.ty.decimals)))
}

fn sysdate<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let moment = call.context.local(since.as_secs() as i64, since.subsec_micros());
    Ok(Datum::DateTime(moment.truncate(call.ty.decimals)))
}

fn utc_timestamp<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::DateTime(call.context.now_utc().truncate(call.ty.decimals)))
}

fn curdate<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Date(call.context.now().date))
}

fn utc_date<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Date(call.context.now_utc().date))
}

fn curtime<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Time(call.context.now().time().truncate(call.ty.decimals)))
}

fn utc_time<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(Datum::Time(call.context.now_utc().time().truncate(call.ty.decimals)))
}
