//! Plans that sessions hand on to each other.
//!
//! A session keeps the plans that it uses all the time, and asks nobody for them (`session::plans`). What it drops, because
//! others are used more, because its circumstances change or because it ends, comes here, and here it looks before it plans
//! a statement. So a client that connects for one statement uses what the client before it planned.
//!
//! A plan belongs to the circumstances that it was made in: a current database, rights, variables. They are kept once for
//! all sessions that share them. A plan runs in one session at a time: of a statement that ran in several there are
//! copies, [`COPIES_MAX`] at most.
//!
//! When there are [`PLANS_MAX`], the eighth goes that was not used for longest. Plans of accounts as they were before the
//! last change go when somebody asks for circumstances after it.
//!
//! What a plan is, is the sessions' business.

use std::any::Any;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::accounts::Rights;
use crate::variables::SessionVariables;

/// Plans kept for all sessions.
const PLANS_MAX: usize = 1024;

/// Plans of one statement in the same circumstances.
const COPIES_MAX: usize = 16;

/// A database, and the account of somebody there.
type Place = (Option<String>, (String, String));

pub type SharedPlan = Box<dyn Any + Send>;

/// What a statement's plan depends on beside the statement, if it depends on nothing that a session has alone.
pub struct Circumstances {
    /// Tells them from others: those of the same number are the same.
    number: u64,
    database: Option<String>,
    rights: Rights,
    /// Rights of others are in plans, too: those of definers.
    accounts_version: u64,
    variables: SessionVariables,
}

impl Circumstances {
    fn are(&self, database: Option<&str>, rights: &Rights, version: u64, variables: &SessionVariables) -> bool {
        self.database.as_deref() == database
            && self.accounts_version == version
            && self.rights == *rights
            && self.variables.plans_like(variables)
    }
}

#[derive(Default)]
pub struct SharedPlans {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Those that no session and no plan has are dead.
    known: FxHashMap<Place, Vec<Weak<Circumstances>>>,
    accounts_version: u64,
    /// By the circumstances' number, and the statement.
    sets: FxHashMap<u64, Set>,
    count: usize,
    /// Counts the plans that came and went.
    clock: u64,
    next_number: u64,
}

/// The plans of the same circumstances, which it keeps alive.
struct Set {
    _alive: Arc<Circumstances>,
    plans: FxHashMap<Box<[u8]>, Vec<Kept>>,
}

struct Kept {
    plan: SharedPlan,
    /// The clock when it came.
    used: u64,
}

impl SharedPlans {
    /// The circumstances of a session, which are the same for all sessions that have equal ones.
    pub fn circumstances(
        &self,
        database: Option<&str>,
        rights: &Rights,
        accounts_version: u64,
        variables: &SessionVariables,
    ) -> Arc<Circumstances> {
        let place = (database.map(str::to_owned), rights.account.clone());
        // Declared before the lock: what goes is dropped behind it.
        let _outdated;
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        // A session that has not noticed yet that the accounts have changed finds no plans, and leaves others theirs.
        if accounts_version > inner.accounts_version {
            inner.accounts_version = accounts_version;
            _outdated = std::mem::take(&mut inner.sets);
            inner.known.clear();
            inner.count = 0;
        }
        let known = inner.known.entry(place).or_default();
        known.retain(|known| known.strong_count() > 0);
        let mut same = known.iter().filter_map(Weak::upgrade);
        if let Some(same) = same.find(|known| known.are(database, rights, accounts_version, variables)) {
            return same;
        }
        inner.next_number += 1;
        let new = Arc::new(Circumstances {
            number: inner.next_number,
            database: database.map(str::to_owned),
            rights: rights.clone(),
            accounts_version,
            variables: variables.clone(),
        });
        known.push(Arc::downgrade(&new));
        new
    }

    /// Takes a plan out.
    pub fn take(&self, circumstances: &Circumstances, statement: &[u8]) -> Option<SharedPlan> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let set = inner.sets.get_mut(&circumstances.number)?;
        let copies = set.plans.get_mut(statement)?;
        let taken = copies.pop()?;
        if copies.is_empty() {
            set.plans.remove(statement);
        }
        inner.count -= 1;
        Some(taken.plan)
    }

    /// Keeps plans for whoever asks next, the one that was used last behind the others.
    pub fn put(&self, circumstances: &Arc<Circumstances>, plans: impl IntoIterator<Item = (Box<[u8]>, SharedPlan)>) {
        // Declared before the lock, too.
        let mut dropped = Vec::new();
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        if circumstances.accounts_version < inner.accounts_version {
            return;
        }
        for (statement, plan) in plans {
            if inner.count >= PLANS_MAX {
                inner.make_room(&mut dropped);
            }
            inner.clock += 1;
            let kept = Kept { plan, used: inner.clock };
            let new = || Set { _alive: circumstances.clone(), plans: FxHashMap::default() };
            let set = inner.sets.entry(circumstances.number).or_insert_with(new);
            let copies = set.plans.entry(statement).or_default();
            if copies.len() >= COPIES_MAX {
                dropped.push(copies.remove(0));
                inner.count -= 1;
            }
            copies.push(kept);
            inner.count += 1;
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.inner.lock().count
    }
}

impl Inner {
    fn make_room(&mut self, dropped: &mut Vec<Kept>) {
        let all = self.sets.values().flat_map(|set| set.plans.values()).flatten();
        let mut used: Vec<u64> = all.map(|kept| kept.used).collect();
        let (_, &mut newest_to_go, _) = used.select_nth_unstable(PLANS_MAX / 8);
        self.sets.retain(|_, set| {
            set.plans.retain(|_, copies| {
                dropped.extend(copies.extract_if(.., |kept| kept.used <= newest_to_go));
                !copies.is_empty()
            });
            !set.plans.is_empty()
        });
        self.count = self.sets.values().flat_map(|set| set.plans.values()).map(Vec::len).sum();
        self.known.retain(|_, known| known.iter().any(|known| known.strong_count() > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::GlobalVariables;
    use format::value::Value;

    fn put_one(shared: &SharedPlans, circumstances: &Arc<Circumstances>, name: &str) {
        let key = name.as_bytes().into();
        shared.put(circumstances, [(key, Box::new(name.to_owned()) as SharedPlan)]);
    }

    fn take_one(shared: &SharedPlans, circumstances: &Circumstances, name: &str) -> Option<String> {
        shared.take(circumstances, name.as_bytes()).map(|plan| *plan.downcast::<String>().expect("a name"))
    }

    #[test]
    fn equal_circumstances_are_the_same_and_others_are_not() {
        let shared = SharedPlans::default();
        let rights = Rights::internal();
        let globals = GlobalVariables::new();
        let variables = SessionVariables::new(&globals);
        let first = shared.circumstances(Some("d"), &rights, 1, &variables);
        put_one(&shared, &first, "one");
        let mut same = SessionVariables::new(&globals);
        same.set("autocommit", &Value::Int(0)).expect("a variable that runs read");
        assert!(Arc::ptr_eq(&first, &shared.circumstances(Some("d"), &rights, 1, &same)));
        let mut other = SessionVariables::new(&globals);
        other.set("updatable_views_with_limit", &Value::Bytes(b"NO".to_vec())).expect("a variable that plans read");
        for (database, variables) in [(Some("e"), &variables), (None, &variables), (Some("d"), &other)] {
            let other = shared.circumstances(database, &rights, 1, variables);
            assert_eq!(take_one(&shared, &other, "one"), None);
        }
        assert_eq!(take_one(&shared, &first, "one").as_deref(), Some("one"));
        assert_eq!(take_one(&shared, &first, "one"), None);
    }

    #[test]
    fn plans_of_former_accounts_are_gone() {
        let shared = SharedPlans::default();
        let (rights, variables) = (Rights::internal(), SessionVariables::new(&GlobalVariables::new()));
        let before = shared.circumstances(None, &rights, 1, &variables);
        put_one(&shared, &before, "one");
        let after = shared.circumstances(None, &rights, 2, &variables);
        assert_eq!(take_one(&shared, &after, "one"), None);
        assert_eq!(take_one(&shared, &before, "one"), None);
        put_one(&shared, &before, "two");
        assert_eq!(shared.count(), 0);
    }

    #[test]
    fn what_came_last_stays_when_many_come() {
        let shared = SharedPlans::default();
        let (rights, variables) = (Rights::internal(), SessionVariables::new(&GlobalVariables::new()));
        let circumstances = shared.circumstances(None, &rights, 1, &variables);
        for number in 0..3 * PLANS_MAX {
            put_one(&shared, &circumstances, &number.to_string());
            assert!(shared.count() <= PLANS_MAX);
        }
        for number in 3 * PLANS_MAX - PLANS_MAX / 2..3 * PLANS_MAX {
            assert!(take_one(&shared, &circumstances, &number.to_string()).is_some(), "{number}");
        }
        for _ in 0..2 * COPIES_MAX {
            put_one(&shared, &circumstances, "copy");
        }
        let copies = std::iter::from_fn(|| take_one(&shared, &circumstances, "copy")).count();
        assert_eq!(copies, COPIES_MAX);
    }
}
