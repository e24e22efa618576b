//! The plans of a session's statements, by their normalized texts.
//!
//! A plan is taken out while it runs: what it calls may empty the store meanwhile, and then it does not come back. When
//! the store is full, the plans go that were not used for longest, an eighth at a time; so what runs all the time stays,
//! whatever passes by. Those that go are for whoever asks next (`shared_plans`), unless they belong to this session alone: it
//! has temporary tables or locks some, or the plan reads a variable.
//!
//! A plan is made for the values of its first run. If it reads many more rows for others, the statement is planned for the
//! values of each run for a while, see [`Doubt`].
//!
//! Invariant: there are at most [`PLANS_MAX`] plans.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Session;
use super::cached::{CachedPlan, Doubt, PreparedStatement};
use crate::shared_plans::{Circumstances, SharedPlan};
use crate::status::Counter;

/// Plans kept per session.
const PLANS_MAX: usize = 64;

#[derive(Default)]
pub(super) struct Plans {
    slots: FxHashMap<Box<[u8]>, Slot>,
    /// Counts the uses of all plans.
    clock: u64,
    /// What all of them were made in. None: not known yet, or they belong to this session alone.
    circumstances: Option<Option<Arc<Circumstances>>>,
}

struct Slot {
    content: Content,
    /// The clock of its last use.
    used: u64,
}

enum Content {
    Running,
    Plan(Box<CachedPlan>),
    Doubt(Doubt),
}

impl Plans {
    fn take(&mut self, key: &[u8]) -> Option<Box<CachedPlan>> {
        let slot = self.slots.get_mut(key)?;
        self.clock += 1;
        slot.used = self.clock;
        match std::mem::replace(&mut slot.content, Content::Running) {
            Content::Plan(plan) => Some(plan),
            other => {
                slot.content = other;
                None
            }
        }
    }

    /// A plan that was taken has run. It is dropped if the store has been emptied.
    fn give_back(&mut self, key: &[u8], plan: Box<CachedPlan>) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.content = match plan.doubt() {
                Some(doubt) => Content::Doubt(doubt),
                None => Content::Plan(plan),
            };
        }
    }

    fn put(&mut self, key: &[u8], content: Content) {
        self.clock += 1;
        self.slots.insert(key.into(), Slot { content, used: self.clock });
    }

    /// The plans that were used least, out of a full store.
    fn make_room(&mut self) -> Vec<(Box<[u8]>, Box<CachedPlan>)> {
        if self.slots.len() < PLANS_MAX {
            return Vec::new();
        }
        let mut used: Vec<u64> = self.slots.values().map(|slot| slot.used).collect();
        let (_, &mut newest_to_go, _) = used.select_nth_unstable(PLANS_MAX / 8);
        in_order(self.slots.extract_if(|_, slot| slot.used <= newest_to_go))
    }
}

/// The plans of some slots, the one that was used last behind the others.
fn in_order(slots: impl Iterator<Item = (Box<[u8]>, Slot)>) -> Vec<(Box<[u8]>, Box<CachedPlan>)> {
    let mut slots: Vec<_> = slots.collect();
    slots.sort_unstable_by_key(|(_, slot)| slot.used);
    let plan = |(key, slot): (Box<[u8]>, Slot)| match slot.content {
        Content::Plan(plan) => Some((key, plan)),
        _ => None,
    };
    slots.into_iter().filter_map(plan).collect()
}

/// How `shared_plans` calls a prepared statement with values of these kinds. No text begins like this.
fn shared_key(kinds: &[u8], source: &[u8]) -> Box<[u8]> {
    [&[0], kinds, source].concat().into()
}

impl Session {
    /// The plan of a text that is to run again; it is given back afterwards.
    pub(super) fn kept_plan(&mut self, key: &[u8]) -> Option<Box<CachedPlan>> {
        self.follow_names();
        let mut plan = self.plans.take(key);
        if plan.is_none() && !self.plans.slots.contains_key(key) {
            plan = self.shared_plan(key);
            if plan.is_some() {
                self.drop_oldest();
                self.plans.put(key, Content::Running);
            }
        }
        plan.filter(|plan| self.is_current(plan))
    }

    /// A kept plan has run.
    pub(super) fn give_back(&mut self, key: &[u8], plan: Box<CachedPlan>) {
        self.plans.give_back(key, plan);
    }

    /// A plan is of no use any more.
    pub(super) fn drop_plan(&mut self, key: &[u8]) {
        self.plans.slots.remove(key);
    }

    /// Keeps a plan that was made for this run, and has run.
    pub(super) fn keep_plan(&mut self, key: &[u8], plan: Box<CachedPlan>) {
        let doubt = match self.plans.slots.get(key).map(|slot| &slot.content) {
            Some(Content::Doubt(doubt)) => doubt.after(&plan),
            Some(_) => None,
            None => {
                self.drop_oldest();
                None
            }
        };
        let content = doubt.map_or_else(|| Content::Plan(plan), Content::Doubt);
        self.plans.put(key, content);
    }

    fn drop_oldest(&mut self) {
        let dropped = self.plans.make_room();
        if let Some(circumstances) = self.circumstances() {
            self.share(&circumstances, dropped);
        }
    }

    /// Forgets all plans: names or literals may mean something else now.
    pub(super) fn forget_plans(&mut self) {
        let circumstances = self.plans.circumstances.take().flatten();
        let plans = in_order(self.plans.slots.drain());
        if let Some(circumstances) = circumstances {
            self.share(&circumstances, plans);
        }
        self.measure.forget_texts();
        self.change_names();
        self.plans_generation = self.generation.get();
    }

    /// A program inside of a statement may have created or dropped a temporary table.
    pub(super) fn follow_names(&mut self) {
        if self.plans_generation != self.generation.get() {
            self.forget_plans();
        }
    }

    /// What the plans that are made now depend on, if other sessions can use them.
    fn circumstances(&mut self) -> Option<Arc<Circumstances>> {
        if let Some(known) = &self.plans.circumstances {
            return known.clone();
        }
        let has_temporary = self.temporary.get().is_some_and(|own| !own.is_empty());
        let is_alone = has_temporary || self.locked.is_some() || self.applying.is_some() || self.rights.is_internal();
        let found = (!is_alone).then(|| {
            let database = self.state.database.as_deref();
            self.instance.plans.circumstances(database, &self.rights, self.rights_version, &self.variables)
        });
        self.plans.circumstances = Some(found.clone());
        found
    }

    fn share(&self, circumstances: &Arc<Circumstances>, plans: Vec<(Box<[u8]>, Box<CachedPlan>)>) {
        let plans = plans.into_iter().filter(|(_, plan)| plan.is_of_any_session());
        self.instance.plans.put(circumstances, plans.map(|(key, plan)| (key, plan as SharedPlan)));
    }

    fn shared_plan(&mut self, key: &[u8]) -> Option<Box<CachedPlan>> {
        let circumstances = self.circumstances()?;
        let plan = self.instance.plans.take(&circumstances, key)?.downcast().ok()?;
        self.status.add(Counter::PlanCacheSharedHits, 1);
        Some(plan)
    }

    /// Prepares the plans of a prepared statement for a run: those are dropped that were made when names meant something else.
    pub(super) fn follow_names_in(&mut self, prepared: &mut PreparedStatement, source: &[u8]) {
        self.follow_names();
        if prepared.generation != self.generation.get() {
            self.retire(prepared, source);
            prepared.generation = self.generation.get();
        }
    }

    /// The plan of a prepared statement that another session has used, or this one in a statement of the same text.
    pub(super) fn shared_prepared(&mut self, kinds: &[u8], source: &[u8]) -> Option<Box<CachedPlan>> {
        self.shared_plan(&shared_key(kinds, source)).filter(|plan| self.is_current(plan))
    }

    /// Keeps a plan with its prepared statement.
    pub(super) fn keep_prepared(&mut self, prepared: &mut PreparedStatement, kinds: Box<[u8]>, plan: Box<CachedPlan>) {
        prepared.circumstances = self.circumstances();
        prepared.keep(kinds, plan);
    }

    /// Hands the plans of a prepared statement on to others.
    fn retire(&self, prepared: &mut PreparedStatement, source: &[u8]) {
        let plans = prepared.plans.drain(..).rev();
        if let Some(circumstances) = prepared.circumstances.take() {
            self.share(&circumstances, plans.map(|(kinds, plan)| (shared_key(&kinds, source), plan)).collect());
        }
    }

    /// A prepared statement has been closed.
    pub(super) fn retire_closed(&self, mut prepared: Box<PreparedStatement>) {
        let source = std::mem::take(&mut prepared.source);
        self.retire(&mut prepared, &source);
    }

    /// All prepared statements are closed.
    pub(super) fn retire_all(&mut self) {
        for prepared in std::mem::take(&mut self.prepared).into_values().flatten() {
            self.retire_closed(prepared);
        }
    }
}
