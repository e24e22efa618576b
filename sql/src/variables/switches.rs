//! `optimizer_switch`: flags of which SET changes those that it names.

use std::borrow::Cow;

use format::value::Value;

use super::kind::Kind;
use super::variable::Variable;
use crate::error::Error;

/// What SET gives, completed by what the variable has.
pub fn completed<'v>(variable: &Variable, now: &Value, given: &'v Value) -> Result<Cow<'v, Value>, Error> {
    match variable.kind {
        Kind::Switches => switched(variable, now, given).map(Cow::Owned),
        _ => Ok(Cow::Borrowed(given)),
    }
}

/// The flags of `now` with those changed that `given` names; `default` alone is all of the defaults.
pub fn switched(variable: &Variable, now: &Value, given: &Value) -> Result<Value, Error> {
    let Value::Bytes(given) = given else { return Err(variable.wrong_type()) };
    let Value::Bytes(now) = now else { return Err(variable.wrong_type()) };
    let given = String::from_utf8_lossy(given);
    let defaults = flags(variable.default.unwrap_or_default());
    let mut flags = flags(std::str::from_utf8(now).unwrap_or_default());
    for part in given.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if part.eq_ignore_ascii_case("default") {
            flags.clone_from(&defaults);
            continue;
        }
        let (name, value) = part.split_once('=').ok_or_else(|| variable.wrong_value(part))?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase());
        let at = flags.iter().position(|(known, _)| *known == name).ok_or_else(|| variable.wrong_value(part))?;
        flags[at].1 = match &*value {
            "on" | "off" => value,
            "default" => {
                defaults.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()).unwrap_or_default()
            }
            _ => return Err(variable.wrong_value(part)),
        };
    }
    let text: Vec<String> = flags.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Value::Bytes(text.join(",").into_bytes()))
}

fn flags(text: &str) -> Vec<(String, String)> {
    let flags = text.split(',').filter_map(|flag| flag.split_once('='));
    flags.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
