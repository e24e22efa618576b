//! TO_CHAR, MariaDB's: a date or time by a format of Oracle's.
//!
//! Words of the format are read in any case, the longest first; between them stand separators and texts in quotes.
//! Names are padded to the longest of `lc_time_names`.

use format::value::DateTime;

use super::date_format::Names;
use super::{Call, Function, Typing, convert_charset, not_null};
use crate::error::{Error, Result};
use crate::expression::Datum;
use crate::expression::temporal::Zeros;
use crate::types::{Kind, TypeInfo};
use format::collation::collation;

pub const FUNCTIONS: &[Function] = &[Function::new("to_char", (1, 2), to_char_type, to_char)];

/// What is written without a format.
const DEFAULT: &[u8] = b"YYYY-MM-DD HH24:MI:SS";

/// Characters that a format of two may become: a name of a day.
const GROWTH: u32 = 10;

#[derive(Clone, Copy)]
enum Part {
    /// The last digits of the year.
    Year(usize),
    Month,
    MonthShort,
    MonthName,
    Day,
    DayShort,
    DayName,
    Hour12,
    Hour24,
    Minute,
    Second,
    /// AM or PM; with points.
    Half(bool),
    /// AD; with points.
    Era(bool),
}

/// The longer ones first, where one begins as another does.
const WORDS: [(&[u8], Part); 24] = [
    (b"A.D.", Part::Era(true)),
    (b"B.C.", Part::Era(true)),
    (b"A.M.", Part::Half(true)),
    (b"P.M.", Part::Half(true)),
    (b"AD", Part::Era(false)),
    (b"BC", Part::Era(false)),
    (b"AM", Part::Half(false)),
    (b"PM", Part::Half(false)),
    (b"DAY", Part::DayName),
    (b"DD", Part::Day),
    (b"DY", Part::DayShort),
    (b"HH24", Part::Hour24),
    (b"HH12", Part::Hour12),
    (b"HH", Part::Hour12),
    (b"MI", Part::Minute),
    (b"MM", Part::Month),
    (b"MONTH", Part::MonthName),
    (b"MON", Part::MonthShort),
    (b"RRRR", Part::Year(4)),
    (b"RR", Part::Year(2)),
    (b"SS", Part::Second),
    (b"YYYY", Part::Year(4)),
    (b"YYY", Part::Year(3)),
    (b"YY", Part::Year(2)),
];

const SEPARATORS: &[u8] = b"-/,.;: ()";

fn to_char_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let ty = &typing.args[0].ty;
    if !(ty.is_string() || ty.is_temporal() || ty.kind == Kind::Parameter) {
        return Err(refused("data type of first argument must be type date/datetime/time or string"));
    }
    let charset = collation(typing.connection).charset;
    let mut length = DEFAULT.len() as u32;
    if typing.args.len() > 1 {
        convert_charset(&mut typing.args[1], charset);
        length = typing.length(1).saturating_mul(GROWTH);
    }
    Ok(typing.text(length))
}

fn refused(why: &str) -> Error {
    Error::new(3047, b"HY000", format!("Invalid argument error: {why} in function to_char."))
}

fn to_char<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let moment = not_null!(call.datetime(0, Zeros::Allowed)?);
    let format = match call.has(1) {
        true => not_null!(call.text(1)?),
        false => DEFAULT.into(),
    };
    if !call.fits("to_char", format.len() as u64 * u64::from(GROWTH)) {
        return Ok(Datum::Null);
    }
    let (mut rest, mut out) = (&format[..], Vec::new());
    while let Some(first) = rest.first() {
        let word =
            WORDS.iter().find(|(word, _)| rest.get(..word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word)));
        let taken = match word {
            Some((word, part)) => {
                write(*part, &moment, Names::of(call), &mut out);
                word.len()
            }
            None if first.eq_ignore_ascii_case(&b'y') => {
                write(Part::Year(1), &moment, Names::of(call), &mut out);
                1
            }
            None if SEPARATORS.contains(first) => {
                out.push(*first);
                1
            }
            None if *first == b'"' => {
                let end = rest[1..].iter().position(|byte| *byte == b'"').unwrap_or(rest.len() - 1);
                out.extend_from_slice(&rest[1..1 + end]);
                (end + 2).min(rest.len())
            }
            None => {
                let at = String::from_utf8_lossy(rest).into_owned();
                call.context.warn(refused(&format!("date format not recognized at {at}")));
                return Ok(Datum::Null);
            }
        };
        rest = &rest[taken..];
    }
    Ok(Datum::bytes(out))
}

fn write(part: Part, moment: &DateTime, names: Names, out: &mut Vec<u8>) {
    let (date, locale) = (moment.date, names.locale);
    let mut number = |number: u32, digits: usize| {
        let text = format!("{number:04}");
        out.extend_from_slice(&text.as_bytes()[text.len() - digits..]);
    };
    let hour12 = (u32::from(moment.hour) + 11) % 12 + 1;
    match part {
        Part::Year(digits) => number(u32::from(date.year), digits),
        Part::Month => number(u32::from(date.month), 2),
        Part::Day => number(u32::from(date.day), 2),
        Part::Hour12 => number(hour12, 2),
        Part::Hour24 => number(u32::from(moment.hour), 2),
        Part::Minute => number(u32::from(moment.minute), 2),
        Part::Second => number(u32::from(moment.second), 2),
        Part::Half(points) => {
            let (before, after) = if points { ("A.M.", "P.M.") } else { ("AM", "PM") };
            out.extend_from_slice(if moment.hour < 12 { before } else { after }.as_bytes());
        }
        Part::Era(points) => out.extend_from_slice(if points { b"A.D." } else { b"AD" }),
        Part::MonthShort => name(&locale.months_short, usize::from(date.month).checked_sub(1), false, names, out),
        Part::MonthName => name(&locale.months, usize::from(date.month).checked_sub(1), true, names, out),
        Part::DayShort => name(&locale.days_short, Some(usize::from(date.weekday())), false, names, out),
        Part::DayName => name(&locale.days, Some(usize::from(date.weekday())), true, names, out),
    }
}

/// A name, as wide as the longest one if it is padded. Nothing for month zero.
fn name(all: &[&'static str], index: Option<usize>, is_padded: bool, names: Names, out: &mut Vec<u8>) {
    let Some(name) = index.and_then(|index| all.get(index)) else { return };
    names.write(name, out);
    if is_padded {
        let width = all.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        out.extend(std::iter::repeat_n(b' ', width - name.chars().count()));
    }
}
