//! Names that sessions have chosen for what they are about to commit: gtid_next.
//!
//! A name is a transaction's for ever, so a session that chooses one owns it until its transaction has ended. Another
//! session that chooses the same one waits, and then finds the transaction executed, or owns the name itself.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use format::binlog::{Gtid, GtidSet, Uuid};
use storage::sync::{Condvar, Mutex, Rank};

/// How soon a waiter notices that it was killed.
const SLICE: Duration = Duration::from_millis(50);

/// The names, and the session that has each.
pub(crate) struct Owned {
    names: Mutex<BTreeMap<Gtid, u32>>,
    released: Condvar,
}

/// What a session gets that chooses a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    Owned,
    /// A transaction has this name already.
    Executed,
    Killed,
}

impl Owned {
    pub fn new() -> Owned {
        Owned { names: Mutex::new(Rank::Leaf, BTreeMap::new()), released: Condvar::new() }
    }

    /// Waits as long as another session has the name. `is_executed` is asked without a lock.
    pub fn choose(
        &self,
        gtid: Gtid,
        session: u32,
        is_executed: &dyn Fn() -> bool,
        is_killed: &dyn Fn() -> bool,
    ) -> Chosen {
        loop {
            {
                let mut names = self.names.lock();
                if let Entry::Vacant(name) = names.entry(gtid) {
                    name.insert(session);
                    drop(names);
                    // Its last owner has committed before it released the name.
                    if is_executed() {
                        self.release(gtid);
                        return Chosen::Executed;
                    }
                    return Chosen::Owned;
                }
                self.released.wait_for(&mut names, SLICE);
            }
            if is_killed() {
                return Chosen::Killed;
            }
        }
    }

    pub fn release(&self, gtid: Gtid) {
        self.names.lock().remove(&gtid);
        self.released.notify_all();
    }

    pub fn list(&self) -> Vec<(Gtid, u32)> {
        self.names.lock().iter().map(|(gtid, session)| (*gtid, *session)).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.names.lock().is_empty()
    }

    /// Adds those of one server to a set.
    pub fn add_to(&self, set: &mut GtidSet, source: Uuid) {
        for gtid in self.names.lock().keys().filter(|gtid| gtid.source == source) {
            set.insert(*gtid);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn the_second_session_waits_and_finds_the_transaction_executed_or_owns_the_name() {
        let gtid: Gtid = "3E11FA47-71CA-11E1-9E33-C80AA9429562:5".parse().unwrap();
        for executes in [true, false] {
            let (owned, executed) = (Arc::new(Owned::new()), Arc::new(AtomicBool::new(false)));
            assert_eq!(owned.choose(gtid, 1, &|| false, &|| false), Chosen::Owned);
            assert_eq!(owned.list(), [(gtid, 1)]);
            assert_eq!(owned.choose(gtid, 2, &|| false, &|| true), Chosen::Killed);
            let second = {
                let (owned, executed) = (owned.clone(), executed.clone());
                let is_executed = move || executed.load(Ordering::SeqCst);
                std::thread::spawn(move || owned.choose(gtid, 2, &is_executed, &|| false))
            };
            std::thread::sleep(Duration::from_millis(20));
            assert!(!second.is_finished());
            executed.store(executes, Ordering::SeqCst);
            owned.release(gtid);
            let wanted = if executes { Chosen::Executed } else { Chosen::Owned };
            assert_eq!(second.join().unwrap(), wanted);
        }
    }
}
