//! The values of a session's variables while a statement runs. A stored function or a trigger may set some, while others
//! still look at those that were there before: so each change makes new values, which are looked at from then on. Between
//! statements, when nobody looks, the newest take the place of the first.

use std::cell::{Cell, OnceCell};
use std::ops::{Deref, DerefMut};

use super::session::SessionVariables;
use crate::error::{Error, Result};

/// Versions come in blocks, each as large as all before it and one more.
const BLOCKS: usize = 14;
/// How many of the last versions are looked at for one that has the wanted values already: triggers set a variable and set
/// it back, row by row.
const LOOKED_AT: usize = 32;

type Block = OnceCell<Box<[OnceCell<SessionVariables>]>>;

pub struct Versions {
    first: SessionVariables,
    later: [Block; BLOCKS],
    made: Cell<usize>,
    /// 0 is the first.
    now: Cell<usize>,
}

impl From<SessionVariables> for Versions {
    fn from(first: SessionVariables) -> Versions {
        Versions { first, later: Default::default(), made: Cell::new(0), now: Cell::new(0) }
    }
}

/// The block of a version, and its place there.
fn place(version: usize) -> (usize, usize) {
    let block = version.ilog2() as usize;
    (block, version - (1 << block))
}

impl Versions {
    fn version(&self, version: usize) -> Option<&SessionVariables> {
        if version == 0 {
            return Some(&self.first);
        }
        let (block, at) = place(version);
        self.later.get(block)?.get()?.get(at)?.get()
    }

    /// Which version is looked at now.
    pub fn number(&self) -> usize {
        self.now.get()
    }

    /// The values of a version that was there in this statement.
    pub fn of(&self, number: usize) -> &SessionVariables {
        self.version(number).unwrap_or(&self.first)
    }

    /// Changes variables while a statement runs. If it fails, nothing has changed.
    pub fn change<T>(&self, change: impl FnOnce(&mut SessionVariables) -> Result<T>) -> Result<T> {
        let mut values = SessionVariables::clone(self);
        let result = change(&mut values)?;
        let made = self.made.get();
        let known = (0..=made).rev().take(LOOKED_AT).chain([0]);
        if let Some(same) = known.into_iter().find(|at| self.version(*at) == Some(&values)) {
            self.now.set(same);
            return Ok(result);
        }
        let (block, at) = place(made + 1);
        let Some(block) = self.later.get(block).map(|own| (own, 1 << block)) else {
            return Err(Error::unsupported("so many changes of variables by one statement"));
        };
        let cells = block.0.get_or_init(|| (0..block.1).map(|_| OnceCell::new()).collect());
        let is_new = cells.get(at).is_some_and(|cell| cell.set(values).is_ok());
        debug_assert!(is_new, "a version is made once");
        self.made.set(made + 1);
        self.now.set(made + 1);
        Ok(result)
    }

    /// The values of a version that was there in this statement count again.
    pub fn go_back(&self, version: usize) {
        self.now.set(version.min(self.made.get()));
    }

    /// Nobody looks at earlier values any more: a statement begins.
    pub fn settle(&mut self) {
        let now = self.now.replace(0);
        if now > 0 {
            let (block, at) = place(now);
            let cells = self.later.get_mut(block).and_then(OnceCell::get_mut);
            if let Some(values) = cells.and_then(|cells| cells.get_mut(at)).and_then(OnceCell::take) {
                self.first = values;
            }
        }
        if self.made.replace(0) > 0 {
            self.later = Default::default();
        }
    }
}

impl Deref for Versions {
    type Target = SessionVariables;

    fn deref(&self) -> &SessionVariables {
        match self.now.get() {
            0 => &self.first,
            now => self.of(now),
        }
    }
}

impl DerefMut for Versions {
    fn deref_mut(&mut self) -> &mut SessionVariables {
        self.settle();
        &mut self.first
    }
}

#[cfg(test)]
mod tests {
    use format::value::Value;

    use super::super::GlobalVariables;
    use super::*;

    #[test]
    fn what_was_looked_at_stays_while_later_values_count() {
        let mut versions = Versions::from(SessionVariables::new(&GlobalVariables::new()));
        let before = versions.settings.group_concat_bytes_max;
        let first = &versions.settings;
        versions.change(|values| values.set("group_concat_max_len", &Value::Int(2000))).unwrap();
        assert_eq!((first.group_concat_bytes_max, versions.settings.group_concat_bytes_max), (before, 2000));
        versions.settings.sql_notes = false;
        assert_eq!((versions.settings.group_concat_bytes_max, versions.made.get()), (2000, 0));
    }

    #[test]
    fn values_that_come_again_take_no_room_and_others_have_an_end() {
        let versions = Versions::from(SessionVariables::new(&GlobalVariables::new()));
        let set = |to: i64| versions.change(|values| values.set("group_concat_max_len", &Value::Int(to)));
        for _ in 0..100 {
            set(2000).unwrap();
            set(3000).unwrap();
        }
        assert_eq!(versions.made.get(), 2);
        let refused = (0..20_000).find_map(|at| set(4000 + at).err());
        assert_eq!(refused.map(|error| error.code), Some(1235));
        assert_eq!(versions.made.get(), (1 << BLOCKS) - 1);
    }
}
