//! What one execution of a query works out once: constant parts of its expressions, and long lists of IN.
//!
//! Long lists of IN are found by hash; so are the rows of a subquery of IN that reads nothing of the outer row.
//!
//! A list whose items are the same for every row (literals, parameters) is made a set of keys when it is searched for the
//! second time in one execution, unless it is short; items compare by [`group_key`], as in GROUP BY. A list is left to be
//! searched one by one if its items do not all compare with each other as they compare with the value: integers with
//! integers, or strings by one collation. Items that are NULL are never found, but leave the answer open.
//!
//! ```text
//! (a, b) IN ((1, 'x'), (2, NULL), (3, 'z'))     keys {(1, 'x'), (3, 'z')}, open [1]
//! ```

use std::cell::RefCell;
use std::rc::Rc;

use format::value::Value;
use rustc_hash::FxHashMap;

use super::{Comparison, Datum, group_key};
use crate::error::Result;
use crate::key_table::KeyTable;

/// Shorter lists are searched as fast one by one.
const ITEMS_MIN: usize = 16;
/// The same of texts, which take longer to compare.
const TEXTS_MIN: usize = 4;

/// The lists of one execution, by the place of their first item.
#[derive(Default)]
pub struct Lists {
    known: RefCell<FxHashMap<usize, Option<Option<Rc<List>>>>>,
    /// The values of constant expressions, by their places.
    values: RefCell<Vec<(usize, Value)>>,
}

/// As what the values of a column compare.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    Integer,
    Text(format::collation::CollationId),
}

/// A list as a set.
#[derive(Default)]
pub struct List {
    families: Vec<Family>,
    keys: KeyTable,
    /// The items with a NULL in them.
    pub open: Vec<usize>,
    /// The key that is looked for.
    key: RefCell<Vec<u8>>,
}

/// The family of a value that is compared by a rule; None: it is neither, or compares as something else.
fn family(how: Comparison, value: &Datum<'_>) -> Option<Family> {
    match (how, value) {
        (Comparison::Integer | Comparison::ByValue(_), Datum::Int(_) | Datum::UInt(_)) => Some(Family::Integer),
        (Comparison::String(id) | Comparison::ByValue(id), Datum::Bytes(_)) => Some(Family::Text(id)),
        _ => None,
    }
}

fn write_key(family: Family, value: &Datum<'_>, key: &mut Vec<u8>) {
    let collation = match family {
        Family::Text(id) => id,
        Family::Integer => format::collation::CollationId::BINARY,
    };
    group_key(value, collation, key);
}

impl List {
    /// Whether the item was not there yet. None: it does not compare with the others as they do among themselves.
    pub fn add(&mut self, number: usize, item: &[(Comparison, Datum<'_>)]) -> Option<bool> {
        let mut key = Vec::with_capacity(32);
        let mut is_open = false;
        for (column, (how, value)) in item.iter().enumerate() {
            if value.is_null() {
                is_open = true;
                continue;
            }
            let family = family(*how, value)?;
            match self.families.get(column) {
                Some(known) if *known != family => return None,
                Some(_) => {}
                // The columns before it are known once an item had no NULL in them.
                None if self.families.len() == column => self.families.push(family),
                None => return None,
            }
            write_key(family, value, &mut key);
        }
        if is_open {
            self.open.push(number);
            return Some(true);
        }
        Some(self.keys.insert(&key).1)
    }

    /// Whether one of the items is the value; None: they do not compare by their keys.
    pub fn contains(&self, value: &[Datum<'_>]) -> Option<bool> {
        if value.len() != self.families.len() {
            return None;
        }
        let mut key = self.key.borrow_mut();
        key.clear();
        for (value, family) in value.iter().zip(&self.families) {
            let fits = match value {
                Datum::Int(_) | Datum::UInt(_) => *family == Family::Integer,
                Datum::Bytes(_) => matches!(family, Family::Text(_)),
                _ => false,
            };
            if !fits {
                return None;
            }
            write_key(*family, value, &mut key);
        }
        Some(self.keys.contains(&key[..]))
    }
}

impl Lists {
    /// The value of the constant expression at `place`, which `make` computes when it is first asked for. One that brings
    /// warnings is computed for each row, so that there are as many of them as rows: `warnings` counts them.
    pub fn value<'a>(
        &self,
        place: usize,
        warnings: impl Fn() -> u64,
        make: impl FnOnce() -> Result<Datum<'a>>,
    ) -> Result<Datum<'a>> {
        // A query has few of them.
        if let Some((_, known)) = self.values.borrow().iter().find(|(known, _)| *known == place) {
            return Ok(Datum::from(known.clone()));
        }
        let warned = warnings();
        let value = make()?.into_value();
        if warnings() != warned {
            return Ok(Datum::from(value));
        }
        self.values.borrow_mut().push((place, value.clone()));
        Ok(Datum::from(value))
    }

    /// The list of `count` items whose first lies at `place`, from the second search on; `make` makes it. `first` is how
    /// the first one compares.
    pub fn list(
        &self,
        place: usize,
        count: usize,
        first: Option<Comparison>,
        make: impl FnOnce() -> Result<Option<List>>,
    ) -> Result<Option<Rc<List>>> {
        let count_min = if matches!(first, Some(Comparison::String(_))) { TEXTS_MIN } else { ITEMS_MIN };
        if count < count_min {
            return Ok(None);
        }
        let known = self.known.borrow().get(&place).cloned();
        match known {
            None => {
                self.known.borrow_mut().insert(place, None);
                Ok(None)
            }
            Some(Some(list)) => Ok(list),
            Some(None) => {
                let list = make()?.map(Rc::new);
                self.known.borrow_mut().insert(place, Some(list.clone()));
                Ok(list)
            }
        }
    }
}
