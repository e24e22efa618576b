//! Finding a system variable by its name.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::list::{ALIASES, LIST};
use super::variable::Variable;
use crate::error::Error;

/// ER_UNKNOWN_SYSTEM_VARIABLE, with what was most likely meant.
pub(super) fn unknown(name: &str) -> Error {
    let mut error = Error::unknown_variable(name);
    if let Some(nearest) = nearest(&name.to_ascii_lowercase(), names()) {
        error.message = format!("{}. Did you mean '{nearest}'?", error.message);
    }
    error
}

/// Indexes into `LIST` by name; aliases included.
static BY_NAME: LazyLock<FxHashMap<&'static str, u16>> = LazyLock::new(|| {
    let mut by_name: FxHashMap<&'static str, u16> = FxHashMap::default();
    for (index, variable) in LIST.iter().enumerate() {
        let before = by_name.insert(variable.name, index as u16);
        assert!(before.is_none(), "variable {} is listed twice", variable.name);
    }
    for (alias, name) in ALIASES {
        let index = *by_name.get(name).unwrap_or_else(|| panic!("{alias} is an alias of {name}, which is not listed"));
        let before = by_name.insert(alias, index);
        assert!(before.is_none(), "alias {alias} is listed twice");
    }
    by_name
});

pub(super) fn index_of(name: &str) -> Option<usize> {
    if let Some(&index) = BY_NAME.get(name) {
        return Some(index as usize);
    }
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return BY_NAME.get(name.to_ascii_lowercase().as_str()).map(|&index| index as usize);
    }
    None
}

/// The variable of this name or alias, in any case.
pub fn find(name: &str) -> Option<&'static Variable> {
    index_of(name).map(|index| &LIST[index])
}

/// The variables whose names or aliases begin like this, each once, for abbreviated options.
pub fn find_by_prefix(prefix: &str) -> Vec<(&'static str, &'static Variable)> {
    let mut found: Vec<(&str, &Variable)> = BY_NAME
        .iter()
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(&name, &index)| (name, &LIST[index as usize]))
        .collect();
    found.sort_by_key(|(name, _)| *name);
    found.dedup_by_key(|(_, variable)| variable.name);
    found
}

/// All names and aliases, in order, each with the variable it names: what SHOW VARIABLES lists.
pub(super) fn all_names() -> &'static [(&'static str, u16)] {
    static ALL: LazyLock<Vec<(&'static str, u16)>> = LazyLock::new(|| {
        let mut all: Vec<_> = BY_NAME.iter().map(|(&name, &index)| (name, index)).collect();
        all.sort_unstable();
        all
    });
    &ALL
}

/// The one of these names that the user who wrote `name` most likely meant.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (edits(name, candidate), candidate))
        .min()
        .filter(|&(distance, candidate)| distance <= 1.max(name.len().min(candidate.len()) / 3))
        .map(|(_, candidate)| candidate)
}

/// All names and aliases of variables.
pub fn names() -> impl Iterator<Item = &'static str> {
    all_names().iter().map(|(name, _)| *name)
}

/// Levenshtein's distance: insertions, deletions and replacements.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<u8> = to.bytes().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    #[test]
    fn every_variable_has_a_valid_default() {
        for variable in LIST {
            if let Some(text) = variable.default {
                let (_, notice) = variable.kind.parse(variable, text).unwrap();
                assert_eq!(notice, None, "{}", variable.name);
            } else {
                assert_eq!(variable.kind, Kind::Text, "{} has no default", variable.name);
            }
            assert!(!variable.help.is_empty(), "{} has no help", variable.name);
            assert!(variable.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
        }
    }

    #[test]
    fn both_vocabularies_name_the_same_variable() {
        for (old, new) in [("tx_isolation", "transaction_isolation"), ("Character_Set", "character_set_client")] {
            if let Some(variable) = find(old) {
                assert_eq!(variable.name, find(new).unwrap().name);
            }
        }
        assert_eq!(find("TX_ISOLATION").unwrap().name, "transaction_isolation");
        assert!(find("no_such_variable").is_none());
    }

    #[test]
    fn a_misspelt_name_finds_the_one_that_was_meant() {
        assert_eq!(nearest("innodb_thread_concurrencty", names()), Some("innodb_thread_concurrency"));
        assert_eq!(nearest("max_conections", names()), Some("max_connections"));
        assert_eq!(nearest("zzzzzzzz", names()), None);
        assert_eq!(nearest("nope", names()), None);
    }
}
