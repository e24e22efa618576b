//! `optimizer_switch` and its like: flags of which SET changes those that it names; a number is all of them as bits.

use std::borrow::Cow;

use format::value::Value;

use super::kind::Kind;
use super::variable::Variable;
use crate::error::Error;

/// MariaDB's flags of ways that the planner here does not have, or always goes where they are cheaper.
const MARIADB: &[&str] = &[
    "condition_pushdown_for_derived",
    "condition_pushdown_for_subquery",
    "condition_pushdown_from_having",
    "cset_narrowing",
    "derived_with_keys",
    "exists_to_in",
    "extended_keys",
    "hash_join_cardinality",
    "in_to_exists",
    "index_merge_sort_intersection",
    "join_cache_bka",
    "join_cache_hashed",
    "join_cache_incremental",
    "mrr_sort_keys",
    "not_null_range_scan",
    "optimize_join_buffer_size",
    "orderby_uses_equalities",
    "outer_join_with_cache",
    "partial_match_rowid_merge",
    "partial_match_table_scan",
    "reorder_outer_joins",
    "rowid_filter",
    "sargable_casefold",
    "semijoin_with_cache",
    "split_materialized",
    "table_elimination",
];

/// What SET gives, completed by what the variable has.
pub fn completed<'v>(variable: &Variable, now: &Value, given: &'v Value) -> Result<Cow<'v, Value>, Error> {
    match variable.kind {
        Kind::Switches => switched(variable, now, given).map(Cow::Owned),
        _ => Ok(Cow::Borrowed(given)),
    }
}

/// The flags of `now` with those changed that `given` names; `default` alone is all of the defaults.
pub fn switched(variable: &Variable, now: &Value, given: &Value) -> Result<Value, Error> {
    let Value::Bytes(now) = now else { return Err(variable.wrong_type()) };
    let defaults = flags(variable.default.unwrap_or_default());
    let mut flags = flags(std::str::from_utf8(now).unwrap_or_default());
    let bits = match given {
        Value::Int(number) => Some(u64::try_from(*number).map_err(|_| variable.wrong_value(&number.to_string()))?),
        Value::UInt(number) => Some(*number),
        _ => None,
    };
    if let Some(bits) = bits {
        if bits.checked_shr(flags.len() as u32).unwrap_or(0) != 0 {
            return Err(variable.wrong_value(&bits.to_string()));
        }
        for (at, (_, value)) in flags.iter_mut().enumerate() {
            *value = if bits >> at & 1 == 1 { "on" } else { "off" }.to_owned();
        }
        return Ok(text_of(flags));
    }
    let Value::Bytes(given) = given else { return Err(variable.wrong_type()) };
    let given = String::from_utf8_lossy(given);
    for part in given.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if part.eq_ignore_ascii_case("default") {
            flags.clone_from(&defaults);
            continue;
        }
        let (name, value) = part.split_once('=').ok_or_else(|| variable.wrong_value(part))?;
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase());
        let Some(at) = flags.iter().position(|(known, _)| *known == name) else {
            // They are not shown: a client that finds them would take the server for MariaDB.
            if MARIADB.contains(&&*name) && matches!(&*value, "on" | "off" | "default") {
                continue;
            }
            return Err(variable.wrong_value(part));
        };
        flags[at].1 = match &*value {
            "on" | "off" => value,
            "default" => {
                defaults.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()).unwrap_or_default()
            }
            _ => return Err(variable.wrong_value(part)),
        };
    }
    Ok(text_of(flags))
}

fn text_of(flags: Vec<(String, String)>) -> Value {
    let text: Vec<String> = flags.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    Value::Bytes(text.join(",").into_bytes())
}

fn flags(text: &str) -> Vec<(String, String)> {
    let flags = text.split(',').filter_map(|flag| flag.split_once('='));
    flags.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
