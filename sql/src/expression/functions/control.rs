//! IF, IFNULL, NULLIF, COALESCE, GREATEST, LEAST, INTERVAL, ISNULL.

use std::cmp::Ordering;

use super::{Call, Function, MANY, Typing, as_number, is_wide, typings, widen_literals};
use crate::error::Result;
use crate::expression::compare::compare;
use crate::expression::datum::Datum;
use crate::expression::rule::{Comparison, comparison_of};
use crate::expression::temporal::Zeros;
use crate::expression::typing::common_type;
use crate::types::{Kind, TypeInfo};

pub const FUNCTIONS: &[Function] = &[
    // No aggregate: it only says that any row of a group will do.
    Function::new("any_value", (1, 1), |typing| Ok(typing.args[0].ty.stored()), |call| call.arg(0)).of_choice(),
    Function::new("if", (3, 3), if_type, if_).of_choice(),
    Function::new("ifnull", (2, 2), coalesce_type, coalesce).of_choice(),
    Function::new("nvl", (2, 2), coalesce_type, coalesce).of_choice(),
    Function::new("coalesce", (1, MANY), coalesce_type, coalesce).of_choice(),
    Function::new("nullif", (2, 2), nullif_type, nullif).of_choice(),
    Function::new("greatest", (2, MANY), extreme_type, greatest).of_choice(),
    Function::new("least", (2, MANY), extreme_type, least).of_choice(),
    Function::new("interval", (2, MANY), typings::int, interval),
    Function::new("isnull", (1, 1), isnull_type, isnull).of_choice(),
];

/// The common type of the arguments from `from` on, with strings in one character set.
fn common(typing: &mut Typing<'_>, from: usize) -> Result<TypeInfo> {
    if typing.args[from..].iter().any(is_wide) {
        widen_literals(&mut typing.args[from..].iter_mut().collect::<Vec<_>>());
    }
    let types: Vec<TypeInfo> = typing.args[from..].iter().map(|arg| arg.ty).collect();
    let mut ty = common_type(&types, typing.connection, typing.name)?;
    // The bits of BIT columns are a number here.
    if ty.kind == Kind::Bit {
        ty = TypeInfo::bigint_unsigned(21).nullable(ty.nullable);
    }
    if ty.is_string() {
        let count = typing.args.len();
        let (collation, coercibility) = typing.agree(from, count)?;
        ty.collation = collation;
        ty.coercibility = coercibility;
    }
    Ok(ty)
}

fn if_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    as_number(&mut typing.args[0]);
    common(typing, 1)
}

fn if_<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let chosen = if call.args[0].is_true(call.context, call.row)? { 1 } else { 2 };
    Datum::converted(call.arg(chosen), call.arg_type(chosen), call.ty, call.context)
}

fn coalesce_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let nullable = typing.args.iter().all(|arg| arg.ty.nullable);
    Ok(common(typing, 0)?.nullable(nullable))
}

fn coalesce<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    for index in 0..call.args.len() {
        let value = call.arg(index);
        if !matches!(value, Ok(Datum::Null)) {
            return Datum::converted(value, call.arg_type(index), call.ty, call.context);
        }
    }
    Ok(Datum::Null)
}

fn nullif_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let ty = typing.args[0].ty.stored();
    // The bits of a BIT are a number here.
    let ty = if ty.kind == Kind::Bit { TypeInfo::bigint_unsigned(21) } else { ty };
    Ok(ty.nullable(true))
}

/// The value, and whether it is equal to the other one.
fn nullif<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    if call.args[1].is_true(call.context, call.row)? { Ok(Datum::Null) } else { call.arg(0) }
}

fn extreme_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    let ty = common(typing, 0)?;
    // Beside a date, what is none makes the result NULL.
    let has_date = typing.args.iter().any(|arg| arg.ty.is_temporal());
    Ok(ty.nullable(has_date || typing.any_nullable()))
}

fn greatest<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    extreme(call, Ordering::Greater)
}

fn least<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    extreme(call, Ordering::Less)
}

/// The first of the arguments that is beyond all others.
fn extreme<'a>(call: &Call<'a>, beyond: Ordering) -> Result<Datum<'a>> {
    let has_date = call.args.iter().any(|arg| arg.ty.has_date());
    let all_strings = call.ty.is_string() && !has_date;
    let how = if has_date && call.ty.kind != Kind::Json {
        Comparison::DateTime
    } else if call.ty.kind == Kind::Json {
        Comparison::Json
    } else if all_strings {
        Comparison::String(call.ty.collation)
    } else {
        comparison_of(call.ty, call.ty, "greatest")?
    };
    let mut best: Option<Datum<'a>> = None;
    for index in 0..call.args.len() {
        let value = call.arg(index)?;
        if value.is_null() {
            return Ok(Datum::Null);
        }
        let value = match how {
            Comparison::DateTime => value,
            _ => value.convert_to(call.arg_type(index), call.ty, call.context)?,
        };
        best = Some(match best {
            None => value,
            Some(best) => match compare(how, &value, &best, call.context)? {
                Some(ordering) if ordering == beyond => value,
                Some(_) => best,
                None => return Ok(Datum::Null),
            },
        });
    }
    let best = best.unwrap_or(Datum::Null);
    let from = call.args.iter().map(|arg| arg.ty).find(|ty| ty.is_temporal()).unwrap_or(*call.ty);
    // A text or a number that won among dates is shown as the date that it is.
    let best = match (how, best) {
        (Comparison::DateTime, best @ (Datum::Date(_) | Datum::DateTime(_) | Datum::Time(_))) => best,
        (Comparison::DateTime, best) => {
            let Some(moment) = best.to_datetime(Zeros::Allowed, call.context)? else { return Ok(Datum::Null) };
            if from.kind == Kind::Date { Datum::Date(moment.date) } else { Datum::DateTime(moment) }
        }
        (_, best) => best,
    };
    best.convert_to(&from, call.ty, call.context)
}

/// How many of the ascending numbers are not greater than the first.
fn interval<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let value = call.number(0)?;
    if value.is_null() {
        return Ok(Datum::Int(-1));
    }
    for index in 1..call.args.len() {
        let bound = call.number(index)?;
        if bound.is_null() {
            continue;
        }
        let how = match (&value, &bound) {
            (Datum::Int(_) | Datum::UInt(_), Datum::Int(_) | Datum::UInt(_)) => Comparison::Integer,
            _ => Comparison::Double,
        };
        if compare(how, &value, &bound, call.context)? == Some(Ordering::Less) {
            return Ok(Datum::Int(index as i64 - 1));
        }
    }
    Ok(Datum::Int(call.args.len() as i64 - 1))
}

fn isnull_type(_: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(TypeInfo::boolean().not_null())
}

fn isnull<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    Ok(call.arg(0)?.is_null().into())
}
