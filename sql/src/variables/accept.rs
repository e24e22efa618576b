//! How a value that is given to a variable becomes one of its type.

use format::collation::{Collation, CollationId};
use format::value::Value;

use super::kind::{Kind, parse_size};
use super::switches;
use super::variable::{Notice, Variable};
use crate::error::Error;
use crate::types::SqlMode;

impl Kind {
    /// The value as this variable keeps it. A number out of range is moved into it, with a notice, as MySQL does
    /// unless `sql_mode` is strict about it.
    pub fn accept(&self, variable: &Variable, given: &Value) -> Result<(Value, Option<Notice>), Error> {
        match *self {
            Kind::Bool => accept_bool(variable, given).map(|on| (Value::Int(on as i64), None)),
            Kind::Integer { min, max, step } => accept_integer(variable, given, min, max, step),
            Kind::Real { min, max } => accept_real(variable, given, min, max),
            Kind::Enumeration(names) => accept_enumeration(variable, given, names).map(|value| (value, None)),
            Kind::Set(names) => accept_set(variable, given, names).map(|value| (value, None)),
            // Onto the default: option files have no value before.
            Kind::Switches => {
                let default = Value::Bytes(variable.default.unwrap_or_default().into());
                switches::switched(variable, &default, given).map(|value| (value, None))
            }
            Kind::Text => match given {
                // What is empty if nothing is said becomes so again.
                Value::Null if variable.default == Some("") => Ok((Value::Bytes(Vec::new()), None)),
                Value::Null | Value::Bytes(_) => Ok((given.clone(), None)),
                Value::Int(_) | Value::UInt(_) if variable.name.starts_with("character_set_") => {
                    Ok((by_number(given, |collation| collation.charset.name()), None))
                }
                Value::Int(_) | Value::UInt(_) if variable.name.contains("collation_") => {
                    Ok((by_number(given, |collation| collation.name), None))
                }
                // MySQL refuses a number here; so do we.
                _ => Err(variable.wrong_type()),
            },
        }
    }

    /// The value of an option's text, as in option files: sizes may have a suffix.
    pub fn parse(&self, variable: &Variable, text: &str) -> Result<(Value, Option<Notice>), Error> {
        match *self {
            Kind::Integer { .. } => match parse_size(text) {
                Some(number) => self.accept(variable, &number),
                None => Err(variable.wrong_value(text)),
            },
            Kind::Bool => match text.to_ascii_uppercase().as_str() {
                "1" | "TRUE" | "YES" => Ok((Value::Int(1), None)),
                "0" | "FALSE" | "NO" => Ok((Value::Int(0), None)),
                _ => self.accept(variable, &Value::Bytes(text.as_bytes().to_vec())),
            },
            Kind::Real { .. } => match text.trim().parse::<f64>() {
                Ok(number) => self.accept(variable, &Value::Double(number)),
                Err(_) => Err(variable.wrong_value(text)),
            },
            _ => self.accept(variable, &Value::Bytes(text.as_bytes().to_vec())),
        }
    }
}

/// What the number of a collation names: tools that print binary logs set collations, and their character sets, by number.
/// An unknown number stays, and is no name.
fn by_number(given: &Value, name: fn(&Collation) -> &'static str) -> Value {
    let text = plain(given);
    let known = text.parse().ok().and_then(|id| Collation::by_id(CollationId(id)));
    Value::Bytes(known.map_or(text, |known| name(known).to_owned()).into_bytes())
}

fn accept_bool(variable: &Variable, given: &Value) -> Result<bool, Error> {
    match given {
        Value::Int(0) | Value::UInt(0) => Ok(false),
        Value::Int(1) | Value::UInt(1) => Ok(true),
        Value::Bytes(text) => match text.to_ascii_uppercase().as_slice() {
            // Option files may say yes and 1, SET may not.
            b"ON" => Ok(true),
            b"OFF" => Ok(false),
            _ => Err(variable.wrong_value(&String::from_utf8_lossy(text))),
        },
        Value::Int(_) | Value::UInt(_) | Value::Null => Err(variable.wrong_value(&plain(given))),
        _ => Err(variable.wrong_type()),
    }
}

fn accept_integer(
    variable: &Variable,
    given: &Value,
    min: i64,
    max: u64,
    step: u64,
) -> Result<(Value, Option<Notice>), Error> {
    let number: i128 = match given {
        Value::Int(number) => *number as i128,
        Value::UInt(number) => *number as i128,
        _ => return Err(variable.wrong_type()),
    };
    let clamped = number.clamp(min as i128, max as i128);
    let stepped = clamped - clamped.rem_euclid(step.max(1) as i128);
    let stepped = if stepped < min as i128 { clamped } else { stepped };
    let value = if min < 0 { Value::Int(stepped as i64) } else { Value::UInt(stepped as u64) };
    let notice = (stepped != number).then(|| Notice::truncated(variable.name, &plain(given)));
    Ok((value, notice))
}

fn accept_real(variable: &Variable, given: &Value, min: f64, max: f64) -> Result<(Value, Option<Notice>), Error> {
    let number = match given {
        Value::Double(number) => *number,
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        // 0.5 is a DECIMAL literal.
        Value::Decimal(number) => number.to_string().parse().map_err(|_| variable.wrong_type())?,
        _ => return Err(variable.wrong_type()),
    };
    let clamped = number.clamp(min, max);
    let notice = (clamped != number).then(|| Notice::truncated(variable.name, &number.to_string()));
    Ok((Value::Double(clamped), notice))
}

fn accept_enumeration(variable: &Variable, given: &Value, names: &[&'static str]) -> Result<Value, Error> {
    let index = match given {
        Value::Int(index) => usize::try_from(*index).ok(),
        Value::UInt(index) => usize::try_from(*index).ok(),
        Value::Bytes(text) => names
            .iter()
            .position(|name| name.as_bytes().eq_ignore_ascii_case(text))
            // Option files write numbers as text.
            .or_else(|| std::str::from_utf8(text).ok()?.parse().ok()),
        Value::Null => None,
        _ => return Err(variable.wrong_type()),
    };
    if variable.name == "lc_time_names" && index.is_none_or(|index| index >= names.len()) && !given.is_null() {
        return Err(Error::unknown_locale(&plain(given)));
    }
    match index.and_then(|index| names.get(index)) {
        Some(name) => Ok(Value::Bytes(name.as_bytes().to_vec())),
        None => Err(variable.wrong_value(&plain(given))),
    }
}

fn accept_set(variable: &Variable, given: &Value, names: &[&'static str]) -> Result<Value, Error> {
    let mut mask: u64 = 0;
    match given {
        Value::Int(bits) if *bits >= 0 => mask = *bits as u64,
        Value::UInt(bits) => mask = *bits,
        Value::Bytes(text) => {
            for part in text.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|part| !part.is_empty()) {
                match names.iter().position(|name| name.as_bytes().eq_ignore_ascii_case(part)) {
                    Some(index) => mask |= 1 << index,
                    None => return Err(variable.wrong_value(&String::from_utf8_lossy(part))),
                }
            }
        }
        Value::Decimal(_) | Value::Double(_) => return Err(variable.wrong_type()),
        _ => return Err(variable.wrong_value(&plain(given))),
    }
    if names.len() < 64 && mask >> names.len() != 0 {
        return Err(variable.wrong_value(&plain(given)));
    }
    if variable.name == "sql_mode" {
        mask = expanded(SqlMode(mask)).0;
    }
    let chosen: Vec<&str> =
        names.iter().enumerate().filter(|(index, _)| mask & (1 << index) != 0).map(|(_, name)| *name).collect();
    Ok(Value::Bytes(chosen.join(",").into_bytes()))
}

/// The modes that the combined ones stand for are added: ANSI, TRADITIONAL.
pub(super) fn expanded(mode: SqlMode) -> SqlMode {
    let mut mode = mode;
    if mode.has(SqlMode::ANSI) {
        for part in [
            SqlMode::REAL_AS_FLOAT,
            SqlMode::PIPES_AS_CONCAT,
            SqlMode::ANSI_QUOTES,
            SqlMode::IGNORE_SPACE,
            SqlMode::ONLY_FULL_GROUP_BY,
        ] {
            mode = mode.with(part);
        }
    }
    if mode.has(SqlMode::TRADITIONAL) {
        for part in [
            SqlMode::STRICT_TRANS_TABLES,
            SqlMode::STRICT_ALL_TABLES,
            SqlMode::NO_ZERO_IN_DATE,
            SqlMode::NO_ZERO_DATE,
            SqlMode::ERROR_FOR_DIVISION_BY_ZERO,
            SqlMode::NO_ENGINE_SUBSTITUTION,
        ] {
            mode = mode.with(part);
        }
    }
    mode
}

/// A value as an error message quotes it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Decimal(number) => number.to_string(),
        Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
        _ => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    #[test]
    fn numbers_move_into_their_range_with_a_notice() {
        let variable = find("max_connections").unwrap();
        let (value, notice) = variable.kind.accept(variable, &Value::Int(0)).unwrap();
        assert_eq!(value, Value::UInt(1));
        assert_eq!(notice.unwrap().message, "Truncated incorrect max_connections value: '0'");
        let error = variable.kind.accept(variable, &Value::Bytes(b"many".to_vec())).unwrap_err();
        assert_eq!(error.code, 1232);
    }

    #[test]
    fn names_are_found_in_any_case_or_by_number() {
        let variable = find("transaction_isolation").unwrap();
        for given in [Value::Bytes(b"read-committed".to_vec()), Value::Int(1)] {
            let (value, _) = variable.kind.accept(variable, &given).unwrap();
            assert_eq!(value, Value::Bytes(b"READ-COMMITTED".to_vec()));
        }
        assert_eq!(variable.kind.accept(variable, &Value::Bytes(b"best".to_vec())).unwrap_err().code, 1231);
    }
}
