//! User-level locks: GET_LOCK() and related functions, with which programs coordinate things that the server does not
//! know.
//!
//! ```text
//!   name, without case  -->  owner (a connection), how often it has taken it
//!   waiter (a connection)  -->  the name it waits for
//! ```
//!
//! A connection may hold several locks, each several times. They outlive its transactions and end with the connection.
//! A request that would close a cycle of waiting connections, of any length, is refused (3058). Waits for rows and
//! tables are not part of this check: a cycle that contains both kinds of waits ends by a timeout.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;
use storage::Stage;

use crate::error::{Error, Result};
use crate::processlist::Process;

const NAME_CHARS_MAX: usize = 64;
/// Waiters check the time and their interrupts this often.
const GLANCE: Duration = Duration::from_millis(20);

/// See the module header.
#[derive(Default)]
pub struct UserLocks {
    table: Mutex<Table>,
    released: Condvar,
}

#[derive(Default)]
struct Table {
    held: FxHashMap<String, Held>,
    waiting: FxHashMap<u32, String>,
}

struct Held {
    owner: u32,
    times: u64,
}

impl Table {
    /// Takes a lock if no other connection has it.
    fn take(&mut self, name: &str, session: u32) -> bool {
        match self.held.get_mut(name) {
            None => {
                self.held.insert(name.to_owned(), Held { owner: session, times: 1 });
                true
            }
            Some(held) if held.owner == session => {
                held.times += 1;
                true
            }
            Some(_) => false,
        }
    }

    /// Whether the holder of a lock waits for a session, directly or through others.
    fn leads_to(&self, name: &str, session: u32) -> bool {
        let mut name = name;
        // A path without a cycle has no more steps than there are waiters.
        for _ in 0..=self.waiting.len() {
            let Some(held) = self.held.get(name) else { return false };
            if held.owner == session {
                return true;
            }
            let Some(next) = self.waiting.get(&held.owner) else { return false };
            name = next;
        }
        false
    }
}

impl UserLocks {
    /// GET_LOCK: false if the lock was not available in time. Without a limit it waits until it is killed.
    pub fn get(&self, name: &str, limit: Option<Duration>, process: &Process) -> Result<bool> {
        let name = key(name)?;
        let begin = Instant::now();
        let mut table = self.table.lock();
        let mut stage = None;
        let outcome = loop {
            if table.take(&name, process.id) {
                break Ok(true);
            }
            if limit.is_some_and(|limit| begin.elapsed() >= limit) {
                break Ok(false);
            }
            if process.interrupt.ends_wait() {
                break Err(Error::interrupted());
            }
            if table.leads_to(&name, process.id) {
                break Err(Error::user_lock_deadlock());
            }
            if stage.is_none() {
                stage = Some(process.interrupt.enter(Stage::UserLock));
                table.waiting.insert(process.id, name.clone());
            }
            let left = limit.map_or(GLANCE, |limit| limit.saturating_sub(begin.elapsed()).min(GLANCE));
            self.released.wait_for(&mut table, left);
        };
        if stage.is_some() {
            table.waiting.remove(&process.id);
        }
        outcome
    }

    /// RELEASE_LOCK: `None` if no connection has it, false if another connection has it.
    pub fn release(&self, name: &str, session: u32) -> Result<Option<bool>> {
        let name = key(name)?;
        let mut table = self.table.lock();
        let Some(held) = table.held.get_mut(&name) else { return Ok(None) };
        if held.owner != session {
            return Ok(Some(false));
        }
        held.times -= 1;
        if held.times == 0 {
            table.held.remove(&name);
            self.released.notify_all();
        }
        Ok(Some(true))
    }

    /// RELEASE_ALL_LOCKS, and the end of a connection: the number of locks, each counted as often as it was taken.
    pub fn release_all(&self, session: u32) -> u64 {
        let mut table = self.table.lock();
        if table.held.is_empty() {
            return 0;
        }
        let mut released = 0;
        table.held.retain(|_, held| {
            let own = held.owner == session;
            released += if own { held.times } else { 0 };
            !own
        });
        self.released.notify_all();
        released
    }

    /// Every lock with its owner, and every wait: name, session, whether it has the lock.
    pub fn list(&self) -> Vec<(String, u32, bool)> {
        let table = self.table.lock();
        let held = table.held.iter().map(|(name, held)| (name.clone(), held.owner, true));
        let mut all: Vec<_> =
            held.chain(table.waiting.iter().map(|(session, name)| (name.clone(), *session, false))).collect();
        all.sort_unstable();
        all
    }

    /// IS_USED_LOCK: the owner.
    pub fn owner(&self, name: &str) -> Result<Option<u32>> {
        let name = key(name)?;
        Ok(self.table.lock().held.get(&name).map(|held| held.owner))
    }
}

/// Names compare without case.
fn key(name: &str) -> Result<String> {
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
        return Err(Error::user_lock_wrong_name(name));
    }
    Ok(name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processlist::ProcessList;

    #[test]
    fn a_lock_is_taken_by_one_and_as_often_as_it_likes() {
        let (locks, list) = (UserLocks::default(), ProcessList::new());
        let (one, other) = (list.register("localhost"), list.register("localhost"));
        let now = Some(Duration::ZERO);
        assert!(locks.get("Name", now, &one).unwrap() && locks.get("name", now, &one).unwrap());
        assert!(!locks.get("NAME", now, &other).unwrap());
        assert_eq!(locks.owner("name").unwrap(), Some(one.id));
        assert_eq!(locks.release("name", other.id).unwrap(), Some(false));
        assert_eq!(locks.release("name", one.id).unwrap(), Some(true));
        assert!(!locks.get("name", now, &other).unwrap());
        assert_eq!(locks.release_all(one.id), 1);
        assert_eq!(locks.release("name", one.id).unwrap(), None);
        assert!(locks.get("name", now, &other).unwrap());
        assert_eq!(locks.get("", now, &other).unwrap_err().code, 3057);
        assert_eq!(locks.get(&"n".repeat(65), now, &other).unwrap_err().code, 3057);
    }

    #[test]
    fn who_closes_a_circle_is_refused() {
        let (locks, list) = (UserLocks::default(), ProcessList::new());
        let (one, other) = (list.register("localhost"), list.register("localhost"));
        locks.get("a", None, &one).unwrap();
        locks.get("b", None, &other).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| locks.get("b", None, &one));
            while locks.table.lock().waiting.is_empty() {
                std::thread::yield_now();
            }
            assert_eq!(locks.get("a", None, &other).unwrap_err().code, 3058);
            locks.release("b", other.id).unwrap();
            assert!(waits.join().unwrap().unwrap());
        });
        assert_eq!(locks.release_all(one.id), 2);
    }
}
