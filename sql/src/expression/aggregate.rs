//! COUNT, SUM and their kin over the rows of a group.
//!
//! The binder collects an [`AggregateCall`] for each aggregate of a query; for each
//! group the executor starts an [`Accumulator`] per call, adds the group's rows and
//! finishes. The results are what [`Fields::aggregate`] then answers.
//!
//! NULLs are left out by all of them but COUNT(*) and those that make JSON. DISTINCT keeps the keys
//! ([`group_key`]) that it has seen. Sums of integers and decimals are exact;
//! variances are computed as they go, by Welford's method.
//!
//! Sources: B. P. Welford, "Note on a method for calculating corrected sums of
//! squares and products" (1962).

use std::cmp::Ordering;

use format::collation::{Charset, collation};
use format::value::{Decimal, Json, Value};
use rustc_hash::FxHashSet;

use super::arithmetic::{self, Fault};
use super::collect::Collection;
use super::datum::{Number, in_place};
use super::{Datum, EvalContext, Expr, Fields, KeyForm, Keyed, bit_strings, group_key, json, order};
use crate::error::{Error, Result};
use crate::key_table::KeyTable;
use crate::parser::ast::{AggregateFunction, BinaryOp};
use crate::temporary::Pile;
use crate::temporary::sort::sort_by;
use crate::types::{Kind, TypeInfo};

/// One aggregate of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    pub distinct: bool,
    /// Empty for COUNT(*).
    pub args: Vec<Expr>,
    /// GROUP_CONCAT's: expression, descending.
    pub order_by: Vec<(Expr, bool)>,
    /// In the character set of the result.
    pub separator: Vec<u8>,
    /// GROUP_CONCAT's: how many are passed over, and how many are taken.
    pub limit: Option<(u64, u64)>,
    pub ty: TypeInfo,
}

/// The state of one aggregate over the rows of a group so far.
#[derive(Debug, Clone)]
pub struct Accumulator {
    state: State,
    /// The values seen, for DISTINCT.
    seen: Option<Box<Seen>>,
    /// What it keeps of its rows.
    kept_bytes: u64,
}

/// What a kept value takes beside its bytes.
const ENTRY_BYTES: u64 = 48;

/// The keys of distinct values.
#[derive(Debug, Clone, Default)]
struct Seen {
    keys: Keys,
    /// That of the last row.
    key: Vec<u8>,
}

/// A set of keys. Short ones, such as those of numbers, need no allocation of their own.
#[derive(Debug, Clone, Default)]
struct Keys {
    short: FxHashSet<u128>,
    long: KeyTable,
}

impl Keys {
    /// A key of up to 15 bytes with its length behind it.
    #[inline]
    fn short(key: &[u8]) -> Option<u128> {
        let mut bytes = [0; 16];
        bytes[..15].get_mut(..key.len())?.copy_from_slice(key);
        bytes[15] = key.len() as u8;
        Some(u128::from_le_bytes(bytes))
    }
}

/// What becomes of a key that is looked for.
enum Noted {
    Old,
    New,
    /// It is new, and there is no memory for it.
    NoRoom,
}

impl Seen {
    /// Keeps the key of the last row, if `fits` has room for so many bytes, which are then added to `kept_bytes`.
    fn note(&mut self, kept_bytes: &mut u64, fits: &mut dyn FnMut(u64) -> bool) -> Noted {
        let bytes = self.key.len() as u64 + ENTRY_BYTES;
        let Keys { short, long } = &mut self.keys;
        match Keys::short(&self.key) {
            Some(key) => {
                if !short.insert(key) {
                    return Noted::Old;
                }
                if !fits(bytes) {
                    short.remove(&key);
                    return Noted::NoRoom;
                }
            }
            None => {
                if long.contains(&self.key) {
                    return Noted::Old;
                }
                if !fits(bytes) {
                    return Noted::NoRoom;
                }
                long.insert(&self.key);
            }
        }
        *kept_bytes += bytes;
        Noted::New
    }
}

#[derive(Debug, Clone)]
enum State {
    Count(i64),
    /// SUM, AVG; None before the first value.
    Sum {
        sum: Option<Sum>,
        count: u64,
    },
    /// MIN, MAX, ANY_VALUE
    Extreme(Option<Value>),
    Bits(u64),
    /// BIT_AND, BIT_OR, BIT_XOR of strings of bytes.
    BitString(Option<Vec<u8>>),
    /// Welford's running mean and sum of squared distances.
    Variance {
        count: u64,
        mean: f64,
        squares: f64,
    },
    /// JSON_ARRAYAGG: the elements, and their bytes.
    Array(Pile<Vec<Json>>, u64),
    /// JSON_OBJECTAGG: the members, and their bytes.
    Object(Pile<Vec<(String, Json)>>, u64),
    /// Either, once it is longer than a packet: NULL, with a warning.
    TooLong,
    /// ST_COLLECT
    Collection(Collection),
    /// GROUP_CONCAT: the texts with their sort keys, or the text itself without ORDER BY.
    Concat {
        text: Option<Vec<u8>>,
        sorted: Pile<Vec<Keyed>>,
        form: KeyForm,
        cut: bool,
        /// How many there have been, without ORDER BY.
        rows: u64,
    },
}

#[derive(Debug, Clone, Copy)]
enum Sum {
    /// While it fits, integers are summed as such.
    Integer(i128),
    Decimal(Decimal),
    Double(f64),
}

impl AggregateCall {
    pub fn start(&self) -> Accumulator {
        let state = match self.function {
            AggregateFunction::Count => State::Count(0),
            AggregateFunction::Sum | AggregateFunction::Avg => State::Sum { sum: None, count: 0 },
            AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::AnyValue => State::Extreme(None),
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor if self.ty.is_string() => {
                State::BitString(None)
            }
            AggregateFunction::BitAnd => State::Bits(u64::MAX),
            AggregateFunction::BitOr | AggregateFunction::BitXor => State::Bits(0),
            AggregateFunction::GroupConcat => {
                let form = KeyForm::of(&self.order_by);
                State::Concat { text: None, sorted: Pile::default(), form, cut: false, rows: 0 }
            }
            AggregateFunction::JsonArrayAgg => State::Array(Pile::default(), 0),
            AggregateFunction::JsonObjectAgg => State::Object(Pile::default(), 0),
            AggregateFunction::Collect => State::Collection(Collection::default()),
            _ => State::Variance { count: 0, mean: 0.0, squares: 0.0 },
        };
        // The extremes of distinct values are the extremes.
        let needs_keys = self.distinct && !matches!(state, State::Extreme(_) | State::Bits(_) | State::BitString(_));
        Accumulator { state, seen: needs_keys.then(Box::default), kept_bytes: 0 }
    }
}

impl AggregateCall {
    /// Whether its distinct values may be added in any order, so that those without room can be put aside. (Sums of
    /// doubles differ by their order.)
    pub fn takes_values_late(&self) -> bool {
        self.distinct
            && match self.function {
                AggregateFunction::Count => true,
                AggregateFunction::Sum | AggregateFunction::Avg => {
                    self.args.iter().all(|arg| matches!(arg.ty.kind, Kind::Decimal) || arg.ty.is_integer())
                }
                _ => false,
            }
    }

    /// Whether it keeps something of each row.
    pub fn grows(&self) -> bool {
        self.distinct
            || matches!(
                self.function,
                AggregateFunction::Min
                    | AggregateFunction::Max
                    | AggregateFunction::AnyValue
                    | AggregateFunction::GroupConcat
                    | AggregateFunction::JsonArrayAgg
                    | AggregateFunction::JsonObjectAgg
                    | AggregateFunction::Collect
            )
    }

    /// Whether rows can be taken out again without a trace.
    pub fn can_remove(&self) -> bool {
        let is_exact = |ty: &TypeInfo| ty.kind == Kind::Decimal;
        match self.function {
            AggregateFunction::Count => !self.distinct,
            AggregateFunction::BitXor => !self.distinct && !self.ty.is_string(),
            AggregateFunction::Sum | AggregateFunction::Avg => !self.distinct && is_exact(&self.ty),
            _ => false,
        }
    }
}

impl Accumulator {
    /// The memory of what it keeps of its rows.
    pub fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    /// Takes out a row that was added, of an aggregate that allows it.
    pub fn remove(&mut self, call: &AggregateCall, context: &EvalContext<'_>, row: &dyn Fields) -> Result<()> {
        let mut value = None;
        for arg in &call.args {
            let datum = arg.eval(context, row)?;
            if datum.is_null() {
                return Ok(());
            }
            value = Some((datum, arg));
        }
        match (&mut self.state, value) {
            (State::Count(count), _) => *count -= 1,
            (State::Bits(bits), Some((value, _))) => *bits ^= value.to_u64(context)?,
            (State::Sum { sum, count }, Some((value, arg))) => {
                let Some(number) = value.to_number(&arg.ty, context)? else { return Ok(()) };
                let negative = match number {
                    Number::Int(v) => Sum::Integer(-(v as i128)),
                    Number::UInt(v) => Sum::Integer(-(v as i128)),
                    Number::Decimal(v) => Sum::Decimal(v.neg()),
                    Number::Double(v) => Sum::Double(-v),
                };
                *count -= 1;
                *sum = match (*sum, negative) {
                    _ if *count == 0 => None,
                    (Some(Sum::Integer(a)), Sum::Integer(b)) => Some(Sum::Integer(a + b)),
                    (Some(Sum::Double(a)), b) => Some(Sum::Double(a + b.to_f64())),
                    (Some(a), b) => match a.to_decimal().add(&b.to_decimal()) {
                        Ok(sum) => Some(Sum::Decimal(sum)),
                        Err(_) => return Err(Error::out_of_range("DECIMAL", "sum")),
                    },
                    (None, _) => None,
                };
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds a row of the group.
    pub fn add(&mut self, call: &AggregateCall, context: &EvalContext<'_>, row: &dyn Fields) -> Result<()> {
        self.add_within(call, context, row, &mut |_| true).map(|_| ())
    }

    /// Adds a row of the group. A distinct value that has not been seen is given back if `fits` has no room for so many
    /// bytes: [`Accumulator::last_key`] tells it from others.
    pub fn add_within(
        &mut self,
        call: &AggregateCall,
        context: &EvalContext<'_>,
        row: &dyn Fields,
        fits: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Vec<Value>>> {
        // COUNT(*) and the most common others come first; they neither hash nor copy.
        if let (State::Count(count), None) = (&mut self.state, &self.seen) {
            for arg in &call.args {
                let value = arg.eval(context, row);
                if in_place!(value).is_null() {
                    return Ok(None);
                }
            }
            *count += 1;
            return Ok(None);
        }
        if matches!(self.state, State::Array(..) | State::Object(..) | State::TooLong) {
            return self.add_part(call, context, row).map(|()| None);
        }
        if call.args.len() == 1 && self.seen.is_none() && !matches!(self.state, State::Concat { .. }) {
            let value = call.args[0].eval(context, row);
            self.add_value(call, in_place!(value), context)?;
            return Ok(None);
        }
        if let ([arg], Some(seen), State::Count(count)) = (&call.args[..], &mut self.seen, &mut self.state) {
            let value = arg.eval(context, row)?;
            if value.is_null() {
                return Ok(None);
            }
            let value = value.fit(&arg.ty);
            seen.key.clear();
            group_key(&value, arg.ty.collation, &mut seen.key);
            match seen.note(&mut self.kept_bytes, fits) {
                Noted::Old => {}
                Noted::New => *count += 1,
                Noted::NoRoom => return Ok(Some(vec![value.into_value()])),
            }
            return Ok(None);
        }
        let mut values = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            let value = arg.eval(context, row)?;
            if value.is_null() {
                return Ok(None);
            }
            // Distinct values are told apart by the digits of their type.
            values.push(if self.seen.is_some() { value.fit(&arg.ty) } else { value });
        }
        if let Some(seen) = &mut self.seen {
            seen.key.clear();
            for (value, arg) in values.iter().zip(&call.args) {
                group_key(value, arg.ty.collation, &mut seen.key);
            }
            match seen.note(&mut self.kept_bytes, fits) {
                Noted::Old => return Ok(None),
                Noted::New => {}
                Noted::NoRoom => return Ok(Some(values.into_iter().map(Datum::into_value).collect())),
            }
        }
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Concat { .. } => self.add_text(call, values, context, row)?,
            _ => {
                if let Some(value) = values.first() {
                    self.add_value(call, value, context)?;
                }
            }
        }
        Ok(None)
    }

    /// What tells the values of the row that was added last from others.
    pub fn last_key(&self) -> &[u8] {
        self.seen.as_ref().map_or(&[], |seen| &seen.key)
    }

    /// Forgets which values have been seen; gives the bytes that they took.
    pub fn forget_seen(&mut self) -> u64 {
        self.seen = None;
        std::mem::take(&mut self.kept_bytes)
    }

    /// Adds distinct values that were given back.
    pub fn add_late(&mut self, call: &AggregateCall, values: Vec<Value>, context: &EvalContext<'_>) -> Result<()> {
        match values.into_iter().next() {
            Some(value) => self.add_value(call, &Datum::from(value), context),
            None => Ok(()),
        }
    }

    /// Adds a value; NULL is none.
    fn add_value(&mut self, call: &AggregateCall, value: &Datum<'_>, context: &EvalContext<'_>) -> Result<()> {
        let arg = &call.args[0];
        if value.is_null() {
            return Ok(());
        }
        match &mut self.state {
            State::Sum { sum, count } => {
                *count += 1;
                match (&mut *sum, value) {
                    (Some(Sum::Integer(sum)), Datum::Int(value)) => *sum += i128::from(*value),
                    (Some(Sum::Double(sum)), Datum::Double(value)) => *sum += value,
                    (Some(Sum::Decimal(sum)), Datum::Decimal(value)) => {
                        return sum.accumulate(value).map_err(|_| Error::out_of_range("DECIMAL", "sum"));
                    }
                    _ => {
                        if let Some(number) = value.to_number(&arg.ty, context)? {
                            *sum = Some(match sum {
                                None => Sum::from(number),
                                Some(sum) => sum.add(number).ok_or_else(|| Error::out_of_range("DECIMAL", "sum"))?,
                            });
                        }
                    }
                }
            }
            State::Extreme(best) => {
                let better = match (&best, call.function) {
                    (None, _) => true,
                    (Some(_), AggregateFunction::AnyValue) => false,
                    (Some(best), function) => {
                        let ordering = order(value, &Datum::from(best), arg.ty.collation);
                        ordering == if function == AggregateFunction::Min { Ordering::Less } else { Ordering::Greater }
                    }
                };
                if better {
                    let value = value.by_ref().into_value();
                    if let Value::Bytes(text) | Value::Json(text) = &value {
                        self.kept_bytes = text.len() as u64;
                    }
                    *best = Some(value);
                }
            }
            State::Bits(bits) => {
                *bits = arithmetic::bits(bit_operation(call.function), *bits, value.to_u64(context)?);
            }
            State::BitString(bits) => {
                let value = value.by_ref().into_text(&arg.ty);
                match bits {
                    Some(bits) => bit_strings::combine_into(bit_operation(call.function), bits, &value)?,
                    None => *bits = Some(value.into_owned()),
                }
            }
            State::Variance { count, mean, squares } => {
                let value = value.to_f64(context)?;
                *count += 1;
                let distance = value - *mean;
                *mean += distance / *count as f64;
                *squares += distance * (value - *mean);
            }
            State::Collection(collection) => {
                self.kept_bytes += collection.add(&value.by_ref().into_text(&arg.ty), context)?;
            }
            State::Count(count) => *count += 1,
            State::Concat { .. } | State::Array(..) | State::Object(..) | State::TooLong => {}
        }
        Ok(())
    }

    /// A row of JSON_ARRAYAGG or JSON_OBJECTAGG. A NULL is `null`, but no name.
    fn add_part(&mut self, call: &AggregateCall, context: &EvalContext<'_>, row: &dyn Fields) -> Result<()> {
        let value =
            |index: usize| -> Result<Json> { json::of_value(call.args[index].eval(context, row)?, &call.args[index]) };
        let before = match &self.state {
            State::Array(_, bytes) | State::Object(_, bytes) => *bytes,
            _ => return Ok(()),
        };
        let bytes = match &mut self.state {
            State::Array(elements, bytes) => {
                elements.push(value(0)?);
                *bytes += elements.last().map_or(0, |part| part.to_binary().len()) as u64;
                *bytes
            }
            State::Object(members, bytes) => {
                let ty = &call.args[0].ty;
                if ty.is_string() && ty.is_binary() {
                    return Err(Error::json_charset(Charset::Binary.name()));
                }
                let name = call.args[0].eval(context, row)?.into_text_or_null(ty).ok_or_else(Error::json_null_name)?;
                let name = json::unicode(&name, if ty.is_string() { ty.charset() } else { Charset::Ascii });
                let part = value(1)?;
                *bytes += (name.len() + part.to_binary().len()) as u64;
                members.push((name, part));
                *bytes
            }
            _ => 0,
        };
        // As values of their own, parts take more than in a document.
        self.kept_bytes += ENTRY_BYTES + 4 * (bytes - before);
        if bytes > context.max_allowed_packet_bytes {
            context.warn(Error::result_too_large(call.function.name(), context.max_allowed_packet_bytes));
            self.state = State::TooLong;
        }
        Ok(())
    }

    /// A row of GROUP_CONCAT: its arguments one after the other.
    fn add_text(
        &mut self,
        call: &AggregateCall,
        values: Vec<Datum<'_>>,
        context: &EvalContext<'_>,
        row: &dyn Fields,
    ) -> Result<()> {
        let State::Concat { text, sorted, form, cut, rows } = &mut self.state else { return Ok(()) };
        if !call.order_by.is_empty() {
            let mut bytes = Vec::new();
            form.write_key(&call.order_by, context, row, &mut bytes)?;
            let key_bytes = bytes.len();
            for (value, arg) in values.iter().zip(&call.args) {
                value.write_text(&arg.ty, &mut bytes);
            }
            self.kept_bytes += bytes.len() as u64 + ENTRY_BYTES;
            sorted.push(Keyed::new(*form, key_bytes, &bytes)?);
            return Ok(());
        }
        if *cut {
            return Ok(());
        }
        *rows += 1;
        if call.limit.is_some_and(|(skipped, taken)| *rows <= skipped || *rows - skipped > taken) {
            // Texts of which none is taken are none, and not NULL.
            text.get_or_insert_default();
            return Ok(());
        }
        let is_first = *rows == call.limit.map_or(0, |(skipped, _)| skipped) + 1;
        let out = match text {
            Some(out) if is_first => out,
            Some(out) => {
                out.extend_from_slice(&call.separator);
                out
            }
            None => text.insert(Vec::new()),
        };
        for (value, arg) in values.iter().zip(&call.args) {
            value.write_text(&arg.ty, out);
        }
        *cut = cut_text(out, call, context)?;
        if self.seen.is_none() {
            self.kept_bytes = out.len() as u64;
        }
        Ok(())
    }

    /// The result over the rows so far; may be called once. Inside of an expression a decimal has more digits than its
    /// type: those of `SUM(a / b) * 100` are rounded at the end.
    pub fn finish(&mut self, call: &AggregateCall, context: &EvalContext<'_>) -> Result<Value> {
        Ok(match &mut self.state {
            State::Count(count) => Value::Int(*count),
            State::Sum { sum: None, .. } => Value::Null,
            State::Sum { sum: Some(sum), count } => match call.function {
                AggregateFunction::Sum => sum.into_value()?,
                _ => sum.average(*count, context)?.into_value(),
            },
            State::Extreme(best) => best.take().unwrap_or(Value::Null),
            State::Bits(bits) => Value::UInt(*bits),
            State::BitString(bits) => {
                let is_and = call.function == AggregateFunction::BitAnd;
                Value::Bytes(bits.take().unwrap_or_else(|| bit_strings::neutral(is_and, call.ty.length)))
            }
            State::Variance { count, squares, .. } => {
                let is_sample = matches!(call.function, AggregateFunction::StddevSamp | AggregateFunction::VarSamp);
                let divisor = if is_sample { count.saturating_sub(1) } else { *count };
                if divisor == 0 {
                    return Ok(Value::Null);
                }
                let variance = *squares / divisor as f64;
                match call.function {
                    AggregateFunction::StddevPop | AggregateFunction::StddevSamp => Value::Double(variance.sqrt()),
                    _ => Value::Double(variance),
                }
            }
            State::TooLong => Value::Null,
            State::Array(elements, _) if elements.is_empty() => Value::Null,
            State::Array(elements, _) => {
                json::encode(&Json::Array(std::mem::take(elements).into_inner()))?.into_value()
            }
            State::Object(members, _) if members.is_empty() => Value::Null,
            State::Object(members, _) => {
                json::encode(&Json::object(std::mem::take(members).into_inner()))?.into_value()
            }
            State::Collection(collection) => std::mem::take(collection).finish()?.map_or(Value::Null, Value::Bytes),
            State::Concat { text, sorted, .. } => {
                if !sorted.is_empty() {
                    *text = Some(join_sorted(sorted, call, context)?);
                }
                text.take().map_or(Value::Null, Value::Bytes)
            }
        })
    }
}

/// The operator that an aggregate over bits repeats.
fn bit_operation(function: AggregateFunction) -> BinaryOp {
    match function {
        AggregateFunction::BitAnd => BinaryOp::BitAnd,
        AggregateFunction::BitOr => BinaryOp::BitOr,
        _ => BinaryOp::BitXor,
    }
}

fn join_sorted(sorted: &mut Vec<Keyed>, call: &AggregateCall, context: &EvalContext<'_>) -> Result<Vec<u8>> {
    let is_interrupted = || context.session.is_interrupted();
    sort_by(sorted, is_interrupted, |a, b| a.compare(b, &call.order_by))?;
    let mut out = Vec::new();
    let (skipped, taken) = call.limit.unwrap_or((0, u64::MAX));
    let (skipped, taken) =
        (usize::try_from(skipped).unwrap_or(usize::MAX), usize::try_from(taken).unwrap_or(usize::MAX));
    for (index, text) in sorted.iter().skip(skipped).take(taken).enumerate() {
        if index > 0 {
            out.extend_from_slice(&call.separator);
        }
        out.extend_from_slice(text.rest());
        if cut_text(&mut out, call, context)? {
            break;
        }
    }
    Ok(out)
}

/// Cuts to `group_concat_max_len`, at a character; warning 1260, which is an error in a strict change.
fn cut_text(out: &mut Vec<u8>, call: &AggregateCall, context: &EvalContext<'_>) -> Result<bool> {
    let max = context.group_concat_bytes_max as usize;
    if out.len() <= max {
        return Ok(false);
    }
    let charset = collation(call.ty.collation).charset;
    out.truncate(max);
    // What is left of a character at the end goes too.
    let whole = charset.well_formed_prefix(out);
    if out.len() - whole < charset.bytes_max() as usize {
        out.truncate(whole);
    }
    context.doubt(Error::new(1260, b"HY000", "Row 1 was cut by GROUP_CONCAT()"))?;
    Ok(true)
}

impl From<Number> for Sum {
    fn from(number: Number) -> Sum {
        match number {
            Number::Int(v) => Sum::Integer(v as i128),
            Number::UInt(v) => Sum::Integer(v as i128),
            Number::Decimal(v) => Sum::Decimal(v),
            Number::Double(v) => Sum::Double(v),
        }
    }
}

impl Sum {
    /// None: out of range.
    #[inline]
    fn add(self, number: Number) -> Option<Sum> {
        Some(match (self, number) {
            // 2^63 values of 64 bits each fit.
            (Sum::Integer(sum), Number::Int(v)) => Sum::Integer(sum.checked_add(v as i128)?),
            (Sum::Integer(sum), Number::UInt(v)) => Sum::Integer(sum.checked_add(v as i128)?),
            (Sum::Double(sum), number) => Sum::Double(sum + number.to_f64()),
            (sum, Number::Double(v)) => Sum::Double(sum.to_f64() + v),
            (sum, number) => Sum::Decimal(sum.to_decimal().add(&number.to_decimal()).ok()?),
        })
    }

    fn to_f64(self) -> f64 {
        match self {
            Sum::Integer(sum) => sum as f64,
            Sum::Decimal(sum) => sum.to_f64(),
            Sum::Double(sum) => sum,
        }
    }

    fn to_decimal(self) -> Decimal {
        match self {
            Sum::Integer(sum) => Decimal::from_i128(sum, 0),
            Sum::Decimal(sum) => sum,
            Sum::Double(sum) => Decimal::from_f64(sum).unwrap_or(Decimal::ZERO),
        }
    }

    fn into_value(self) -> Result<Value> {
        Ok(match self {
            Sum::Double(sum) if sum.is_finite() => Value::Double(sum),
            Sum::Double(_) => return Err(Error::out_of_range("DOUBLE", "sum")),
            exact => Value::Decimal(exact.to_decimal()),
        })
    }

    fn average(self, count: u64, context: &EvalContext<'_>) -> Result<Datum<'static>> {
        let sum = match self {
            Sum::Double(sum) => return Ok(Datum::Double(sum / count as f64)),
            exact => Number::Decimal(exact.to_decimal()),
        };
        match arithmetic::compute(BinaryOp::Divide, sum, Number::UInt(count), context) {
            Ok(number) => Ok(number.into()),
            Err(Fault::OutOfRange(kind)) => Err(Error::out_of_range(kind, "avg")),
            Err(Fault::DivisionByZero) => Ok(Datum::Null),
        }
    }
}
