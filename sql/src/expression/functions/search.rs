//! Where a text stands in others: INSTR, LOCATE, FIND_IN_SET, FIELD; and STRCMP.
//!
//! INSTR, LOCATE and FIELD go by the collation of the text that is searched, or searched for among others; the rest by
//! the one that the arguments agree on.

use std::cmp::Ordering;

use format::collation::{Collation, collation};
use format::value::Decimal;

use super::{Call, Function, MANY, Typing, not_null, typings};
use crate::error::Result;
use crate::expression::Datum;
use crate::types::{Kind, TypeInfo};

pub const FUNCTIONS: &[Function] = &[
    Function::new("instr", (2, 2), instr_type, instr).of_any_text(),
    Function::new("locate", (2, 3), locate_type, locate).of_any_text(),
    Function::new("strcmp", (2, 2), search_type, strcmp).of_any_text(),
    Function::new("find_in_set", (2, 2), search_type, find_in_set).of_any_text(),
    Function::new("field", (2, MANY), field_type, field).of_any_text(),
];

/// Positions: the arguments that are strings compare by one collation.
fn search_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.agree_to_compare(0, 2)?;
    typings::int(typing)
}

fn instr_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.decided_by(0, &[1])?;
    typings::int(typing)
}

fn locate_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    typing.decided_by(1, &[0])?;
    typings::int(typing)
}

fn field_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    if typing.args.iter().all(|arg| arg.ty.is_string() || arg.ty.kind == Kind::Null) {
        let others: Vec<usize> = (1..typing.args.len()).collect();
        typing.decided_by(0, &others)?;
    }
    Ok(TypeInfo::int(3).not_null())
}

/// The collation by which two arguments compare. The typing has made sure that there is one.
fn collation_of(call: &Call<'_>, left: usize, right: usize) -> Result<&'static Collation> {
    let types = [*call.arg_type(left), *call.arg_type(right)];
    if !types.iter().any(TypeInfo::is_string) {
        return Ok(collation(call.context.connection));
    }
    let (id, _) = super::aggregate_collations(&types, "locate")?;
    Ok(collation(id))
}

/// The collation of the argument that decides.
fn own_collation(call: &Call<'_>, index: usize) -> &'static Collation {
    let ty = call.arg_type(index);
    collation(if ty.is_string() { ty.collation } else { call.context.connection })
}

fn instr<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    position(call, 0, 1, 1)
}

fn locate<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let start = if call.has(2) { not_null!(call.int(2)?) } else { 1 };
    position(call, 1, 0, start)
}

fn position<'a>(call: &Call<'a>, text: usize, needle: usize, start: i64) -> Result<Datum<'a>> {
    let collation = own_collation(call, text);
    let (text, needle) = (not_null!(call.text(text)?), not_null!(call.text(needle)?));
    let charset = collation.charset;
    let chars = charset.char_count(&text) as i64;
    // Behind the end nothing begins, not even an empty text, if a start was given.
    if start < 1 || start > chars + i64::from(!call.has(2)) {
        return Ok(Datum::Int(0));
    }
    let from = charset.offset_of_char(&text, start as usize - 1);
    let found = collation.find(&text, &needle, from);
    Ok(Datum::Int(found.map_or(0, |at| charset.char_count(&text[..at]) as i64 + 1)))
}

fn strcmp<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let collation = collation_of(call, 0, 1)?;
    let (left, right) = (not_null!(call.text(0)?), not_null!(call.text(1)?));
    Ok(Datum::Int(match collation.compare(&left, &right) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

fn find_in_set<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let collation = collation_of(call, 0, 1)?;
    let (wanted, list) = (not_null!(call.text(0)?), not_null!(call.text(1)?));
    let charset = collation.charset;
    if charset.split(&wanted, b',').nth(1).is_some() || list.is_empty() {
        return Ok(Datum::Int(0));
    }
    // Spaces at the end count, whatever the collation makes of them elsewhere.
    let spaces = |text: &[u8]| text.len() - charset.without_spaces(text).len();
    let found = charset
        .split(&list, b',')
        .position(|member| collation.equal(member, &wanted) && spaces(member) == spaces(&wanted));
    Ok(Datum::Int(found.map_or(0, |index| index as i64 + 1)))
}

/// The value, or return 0: NULL is not found.
macro_rules! not_null_or_zero {
    ($value:expr) => {
        match $value {
            Some(value) => value,
            None => return Ok(Datum::Int(0)),
        }
    };
}

/// FIELD: strings compare as strings, exact numbers as exact numbers, all else as doubles.
fn field<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let all = |test: fn(&TypeInfo) -> bool| call.args.iter().all(|arg| test(&arg.ty));
    let found = if all(|ty| ty.is_string() || ty.kind == Kind::Null) {
        let wanted = not_null_or_zero!(call.text(0)?);
        let collation = own_collation(call, 0);
        find_argument(call, |index| {
            Ok(match call.text(index)? {
                Some(text) => collation.equal(&text, &wanted),
                None => false,
            })
        })?
    } else if all(|ty| ty.is_integer() || ty.kind == Kind::Decimal) {
        let wanted: Decimal = not_null_or_zero!(call.decimal(0)?);
        find_argument(call, |index| Ok(call.decimal(index)?.is_some_and(|number| number == wanted)))?
    } else {
        let wanted: f64 = not_null_or_zero!(call.double(0)?);
        find_argument(call, |index| Ok(call.double(index)?.is_some_and(|number| number == wanted)))?
    };
    Ok(Datum::Int(found))
}

fn find_argument(call: &Call<'_>, mut is_it: impl FnMut(usize) -> Result<bool>) -> Result<i64> {
    for index in 1..call.args.len() {
        if is_it(index)? {
            return Ok(index as i64);
        }
    }
    Ok(0)
}
