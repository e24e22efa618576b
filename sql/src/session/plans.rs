//! The plans of a session's statements, by their normalized texts.
//!
//! A plan is taken out while it runs: what it calls may empty the store meanwhile, and then it does not come back. When
//! the store is full, the plans go that were not used for longest, an eighth at a time; so what runs all the time stays,
//! whatever passes by.
//!
//! Invariant: there are at most [`PLANS_MAX`] plans.

use rustc_hash::FxHashMap;

use super::cached::CachedPlan;

/// Plans kept per session.
const PLANS_MAX: usize = 512;

#[derive(Default)]
pub(super) struct Plans {
    slots: FxHashMap<Box<[u8]>, Slot>,
    /// Counts the uses of all plans.
    clock: u64,
}

struct Slot {
    /// None: it is running.
    plan: Option<Box<CachedPlan>>,
    /// The clock of its last use.
    used: u64,
}

impl Plans {
    pub(super) fn take(&mut self, key: &[u8]) -> Option<Box<CachedPlan>> {
        let slot = self.slots.get_mut(key)?;
        self.clock += 1;
        slot.used = self.clock;
        slot.plan.take()
    }

    /// A plan that was taken has run. It is dropped if the store has been emptied.
    pub(super) fn give_back(&mut self, key: &[u8], plan: Box<CachedPlan>) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.plan = Some(plan);
        }
    }

    pub(super) fn insert(&mut self, key: &[u8], plan: Box<CachedPlan>) {
        if self.slots.len() >= PLANS_MAX && !self.slots.contains_key(key) {
            self.make_room();
        }
        self.clock += 1;
        self.slots.insert(key.into(), Slot { plan: Some(plan), used: self.clock });
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        self.slots.remove(key);
    }

    pub(super) fn clear(&mut self) {
        self.slots.clear();
    }

    fn make_room(&mut self) {
        let mut used: Vec<u64> = self.slots.values().map(|slot| slot.used).collect();
        let (_, &mut newest_to_go, _) = used.select_nth_unstable(PLANS_MAX / 8);
        self.slots.retain(|_, slot| slot.used > newest_to_go);
    }
}
