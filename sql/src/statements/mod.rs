//! What statements have done: by digest, and the last ones of each session.
//!
//! ```text
//!   text -- digest --> SHA-256 --> a number, kept with cached plans and prepared statements
//!                                    |
//!   SessionStatements   sums by number, and the last statements: its own lock, which readers alone take besides
//!         | when it has too many, or ends
//!   Statements          the sums of all, the digests' texts
//! ```
//!
//! So a statement whose plan is cached pays for its clock and a few additions, and sessions share nothing. The number of
//! digests is limited; statements that find no place any more count together, under a number that has no digest. TRUNCATE
//! forgets all digests: numbers go on from where they were, so that those which plans still hold are found to be old.

pub mod accounts;
pub mod digest;
pub mod event_names;
pub mod keywords;
pub mod log_file;
pub mod log_table;
pub mod redact;
pub mod sums;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::types::SqlMode;
use accounts::{AccountName, Deeds, ErrorSum, EventSums};
use digest::{Hash, digest_text, hash};
use event_names::{UNKNOWN, event_name};
pub use sums::{Sample, Sums, Timing, Work};

/// Digests whose sums a session keeps to itself.
const SESSION_SUMS_MAX: usize = 64;

/// A row of `setup_consumers`.
#[derive(Debug)]
pub struct Consumer {
    pub name: &'static str,
    /// What it switches; 0: nothing is collected for it.
    bit: u8,
}

const CURRENT: u8 = 1;
const HISTORY: u8 = 2;
const DIGEST: u8 = 4;
const CPU: u8 = 8;
const GLOBAL: u8 = 16;
const THREAD: u8 = 32;

/// MySQL's, in its order.
pub const CONSUMERS: [Consumer; 16] = [
    Consumer { name: "events_stages_current", bit: 0 },
    Consumer { name: "events_stages_history", bit: 0 },
    Consumer { name: "events_stages_history_long", bit: 0 },
    Consumer { name: "events_statements_cpu", bit: CPU },
    Consumer { name: "events_statements_current", bit: CURRENT },
    Consumer { name: "events_statements_history", bit: HISTORY },
    Consumer { name: "events_statements_history_long", bit: 0 },
    Consumer { name: "events_transactions_current", bit: 0 },
    Consumer { name: "events_transactions_history", bit: 0 },
    Consumer { name: "events_transactions_history_long", bit: 0 },
    Consumer { name: "events_waits_current", bit: 0 },
    Consumer { name: "events_waits_history", bit: 0 },
    Consumer { name: "events_waits_history_long", bit: 0 },
    Consumer { name: "global_instrumentation", bit: GLOBAL },
    Consumer { name: "thread_instrumentation", bit: THREAD },
    Consumer { name: "statements_digest", bit: DIGEST },
];

/// What is collected now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collects(u8);

impl Collects {
    /// Statements are counted by their digests.
    #[inline]
    pub fn digests(self) -> bool {
        self.0 & DIGEST != 0
    }

    /// The last statement of each session is kept.
    #[inline]
    pub fn current(self) -> bool {
        self.0 & CURRENT != 0
    }

    /// And those before it.
    #[inline]
    pub fn history(self) -> bool {
        self.0 & HISTORY != 0
    }

    #[inline]
    pub fn cpu(self) -> bool {
        self.0 & CPU != 0
    }

    #[inline]
    pub fn nothing(self) -> bool {
        self.0 & (DIGEST | CURRENT) == 0
    }
}

/// The limits that are set when the server starts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// `performance_schema`.
    pub enabled: bool,
    /// `performance_schema_digests_size`.
    pub digests: usize,
    /// `performance_schema_max_digest_length`.
    pub digest_bytes: usize,
    /// `performance_schema_max_sql_text_length`.
    pub text_bytes: usize,
    /// `performance_schema_events_statements_history_size`.
    pub history: usize,
}

/// Statements of one schema with one digest.
#[derive(Debug)]
pub struct Identity {
    pub schema: Option<String>,
    pub hash: Hash,
    pub text: String,
}

/// A statement that has ended.
#[derive(Clone, Debug, Default)]
pub struct Event {
    pub id: u64,
    /// That of its digest, if digests were collected.
    pub number: Option<u32>,
    pub timing: Timing,
    pub work: Work,
    pub schema: Option<String>,
    pub text: Vec<u8>,
    /// Code, SQLSTATE and message of its error.
    pub error: Option<(u16, [u8; 5], String)>,
    /// It ran within another one.
    pub nested: bool,
}

/// What a statement that has ended is told by.
pub struct Ended<'t> {
    pub number: Option<u32>,
    pub timing: Timing,
    pub work: Work,
    pub schema: Option<&'t str>,
    pub text: &'t [u8],
    pub error: Option<(u16, [u8; 5], &'t str)>,
    pub nested: bool,
}

#[derive(Debug, Default)]
struct Kept {
    sums: FxHashMap<u32, Box<Sums>>,
    /// The last statements, the newest at the end.
    events: VecDeque<Event>,
    events_seen: u64,
    /// What is not in `sums` any more, and errors.
    deeds: Deeds,
    /// Whose they are; none before the session has logged in.
    account: Option<AccountName>,
}

impl Kept {
    /// The statements of `sums` by their kind are part of the session's deeds from now on; the sums themselves are the
    /// caller's.
    fn settle(&mut self, statements: &Statements) -> FxHashMap<u32, Box<Sums>> {
        let sums = std::mem::take(&mut self.sums);
        for (number, sums) in &sums {
            self.deeds.add_event(statements.event_name_of(*number), &EventSums::of(sums));
        }
        sums
    }

    /// All that the session has done under its account.
    fn all_deeds(&self, statements: &Statements) -> Deeds {
        let mut deeds = self.deeds.clone();
        for (number, sums) in &self.sums {
            deeds.add_event(statements.event_name_of(*number), &EventSums::of(sums));
        }
        deeds
    }
}

/// The statements of one session.
#[derive(Debug)]
pub struct SessionStatements {
    /// The connection's number.
    pub thread: u64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Known {
    /// Those of the numbers behind `Statements::oldest`.
    identities: Vec<Arc<Identity>>,
    numbers: FxHashMap<(Option<String>, Hash), u32>,
}

#[derive(Debug, Default)]
struct Sessions {
    living: Vec<Arc<SessionStatements>>,
    /// What sessions have handed over, by number, from `Statements::oldest` on.
    sums: Vec<Option<Box<Sums>>>,
    /// What sessions that have ended did.
    gone: BTreeMap<AccountName, Deeds>,
}

impl Sessions {
    fn add(&mut self, oldest: u32, number: u32, sums: Box<Sums>) {
        let Some(at) = number.checked_sub(oldest) else { return };
        let at = at as usize;
        if at >= self.sums.len() {
            self.sums.resize(at + 1, None);
        }
        match &mut self.sums[at] {
            Some(sum) => sum.add(&sums),
            empty => *empty = Some(sums),
        }
    }
}

/// See the module header. Locks are taken in this order: `sessions`, a session's `kept`, `known`.
#[derive(Debug)]
pub struct Statements {
    limits: Limits,
    /// What is set, and what that makes collect.
    consumers: AtomicU8,
    collects: AtomicU8,
    known: RwLock<Known>,
    /// The number of what has no place among the digests. Smaller numbers are of digests that were forgotten.
    oldest: AtomicU32,
    sessions: Mutex<Sessions>,
    /// Indexes by which statements have found rows: database, table, index.
    used_indexes: RwLock<FxHashSet<[Box<str>; 3]>>,
    /// Statements that came when there was no place.
    lost: AtomicU64,
    started: Instant,
}

impl Statements {
    pub fn new(limits: Limits) -> Statements {
        let consumers = CURRENT | HISTORY | DIGEST | GLOBAL | THREAD;
        let statements = Statements {
            limits,
            consumers: AtomicU8::new(0),
            collects: AtomicU8::new(0),
            known: RwLock::default(),
            oldest: AtomicU32::new(1),
            sessions: Mutex::default(),
            used_indexes: RwLock::default(),
            lost: AtomicU64::new(0),
            started: Instant::now(),
        };
        statements.set_consumers(consumers);
        statements
    }

    fn set_consumers(&self, bits: u8) {
        self.consumers.store(bits, Ordering::Relaxed);
        let mut collects = bits;
        if !self.limits.enabled || bits & GLOBAL == 0 {
            collects = 0;
        }
        if bits & THREAD == 0 {
            collects &= !(CURRENT | HISTORY);
        }
        if bits & CURRENT == 0 || self.limits.history == 0 {
            collects &= !HISTORY;
        }
        if self.limits.digests == 0 {
            collects &= !DIGEST;
        }
        self.collects.store(collects, Ordering::Relaxed);
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    #[inline]
    pub fn collects(&self) -> Collects {
        Collects(self.collects.load(Ordering::Relaxed))
    }

    /// `setup_consumers.ENABLED`.
    pub fn is_enabled(&self, consumer: &Consumer) -> bool {
        self.consumers.load(Ordering::Relaxed) & consumer.bit != 0
    }

    /// Switches a consumer for all sessions, from their next statement on; false if nothing is collected for it.
    pub fn enable(&self, consumer: &Consumer, enabled: bool) -> bool {
        if consumer.bit == 0 {
            return !enabled;
        }
        // So that two changes at once are both kept.
        let _sessions = self.sessions.lock();
        let bits = self.consumers.load(Ordering::Relaxed);
        self.set_consumers(if enabled { bits | consumer.bit } else { bits & !consumer.bit });
        true
    }

    /// Nanoseconds from the server's start.
    #[inline]
    pub fn nanos_at(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.started).as_nanos() as u64
    }

    /// Whether a number is still that of its digest.
    #[inline]
    pub fn is_current(&self, number: u32) -> bool {
        number >= self.oldest.load(Ordering::Relaxed)
    }

    pub fn digest_text(&self, text: &[u8], mode: SqlMode) -> String {
        digest_text(text, mode, self.limits.digest_bytes)
    }

    /// The number of a text's digest.
    pub fn number_of(&self, schema: Option<&str>, text: &[u8], mode: SqlMode) -> u32 {
        let text = self.digest_text(text, mode);
        let key = (schema.map(str::to_owned), hash(&text));
        if let Some(number) = self.known.read().numbers.get(&key) {
            return *number;
        }
        let mut known = self.known.write();
        if let Some(number) = known.numbers.get(&key) {
            return *number;
        }
        let oldest = self.oldest.load(Ordering::Relaxed);
        if known.identities.len() >= self.limits.digests {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return oldest;
        }
        known.identities.push(Arc::new(Identity { schema: key.0.clone(), hash: key.1, text }));
        let number = oldest + known.identities.len() as u32;
        known.numbers.insert(key, number);
        number
    }

    /// `Performance_schema_digest_lost`: texts that found no place.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// About what the digests and their sums take.
    pub fn digest_bytes(&self) -> u64 {
        let sessions = self.sessions.lock();
        let of_sums = sessions.sums.iter().flatten().map(|sums| size_of::<Sums>() + sums.sample.text.capacity());
        let sums: usize = of_sums.sum::<usize>() + sessions.sums.capacity() * size_of::<Option<Box<Sums>>>();
        let known = self.known.read();
        let texts: usize = known.identities.iter().map(|known| size_of::<Identity>() + known.text.capacity()).sum();
        (sums + texts) as u64
    }

    /// What a number stands for; `None`: several digests, or a forgotten one.
    pub fn identity(&self, number: u32) -> Option<Arc<Identity>> {
        let known = self.known.read();
        let at = number.checked_sub(self.oldest.load(Ordering::Relaxed) + 1)?;
        known.identities.get(at as usize).cloned()
    }

    /// The kind of the statements that a number stands for.
    fn event_name_of(&self, number: u32) -> &'static str {
        self.identity(number).map_or(UNKNOWN, |identity| event_name(&identity.text))
    }

    /// A statement has found rows by an index.
    pub fn note_index(&self, database: &str, table: &str, index: &str) {
        let name = [database, table, index].map(Box::from);
        if !self.used_indexes.read().contains(&name) {
            self.used_indexes.write().insert(name);
        }
    }

    pub fn has_used_index(&self, database: &str, table: &str, index: &str) -> bool {
        self.used_indexes.read().contains(&[database, table, index].map(Box::from))
    }

    /// A session begins.
    pub fn register(self: &Arc<Statements>, thread: u64) -> Own {
        let session = Arc::new(SessionStatements { thread, kept: Mutex::default() });
        self.sessions.lock().living.push(session.clone());
        Own { all: self.clone(), session }
    }

    /// What statements have done, by digest.
    pub fn sums(&self) -> Vec<(Option<Arc<Identity>>, Sums)> {
        let sessions = self.sessions.lock();
        let oldest = self.oldest.load(Ordering::Relaxed);
        let mut totals: Vec<Option<Box<Sums>>> = sessions.sums.clone();
        for session in &sessions.living {
            for (number, sums) in &session.kept.lock().sums {
                let Some(at) = number.checked_sub(oldest) else { continue };
                let at = at as usize;
                if at >= totals.len() {
                    totals.resize(at + 1, None);
                }
                totals[at].get_or_insert_default().add(sums);
            }
        }
        let known = self.known.read();
        let identity = |at: usize| at.checked_sub(1).and_then(|at| known.identities.get(at).cloned());
        let mut rows: Vec<_> =
            totals.into_iter().enumerate().filter_map(|(at, sums)| Some((identity(at), *sums?))).collect();
        // What has no digest comes last.
        if rows.first().is_some_and(|(identity, _)| identity.is_none()) {
            rows.rotate_left(1);
        }
        rows
    }

    /// TRUNCATE TABLE events_statements_summary_by_digest.
    pub fn forget(&self) {
        let mut sessions = self.sessions.lock();
        sessions.sums = Vec::new();
        for session in &sessions.living {
            session.kept.lock().settle(self);
        }
        {
            let mut known = self.known.write();
            let last = self.oldest.load(Ordering::Relaxed) + known.identities.len() as u32;
            *known = Known::default();
            self.oldest.store(last + 1, Ordering::Relaxed);
        }
        for session in &sessions.living {
            session.kept.lock().sums.clear();
        }
    }

    /// What the sessions of each account have done.
    pub fn deeds_by_account(&self) -> BTreeMap<AccountName, Deeds> {
        let sessions = self.sessions.lock();
        let mut accounts = sessions.gone.clone();
        for session in &sessions.living {
            let kept = session.kept.lock();
            if let Some(account) = &kept.account {
                accounts.entry(account.clone()).or_default().add(&kept.all_deeds(self));
            }
        }
        accounts
    }

    /// What each session that is there has done.
    pub fn deeds_by_thread(&self) -> Vec<(u64, Deeds)> {
        let living = self.sessions.lock().living.clone();
        living.iter().map(|session| (session.thread, session.kept.lock().all_deeds(self))).collect()
    }

    /// TRUNCATE TABLE of a summary of statements by their kind, or of errors.
    pub fn forget_deeds(&self, what: fn(&mut Deeds)) {
        let mut sessions = self.sessions.lock();
        let oldest = self.oldest.load(Ordering::Relaxed);
        sessions.gone.values_mut().for_each(what);
        for session in sessions.living.clone() {
            let settled = {
                let mut kept = session.kept.lock();
                let settled = kept.settle(self);
                what(&mut kept.deeds);
                settled
            };
            settled.into_iter().for_each(|(number, sums)| sessions.add(oldest, number, sums));
        }
    }

    /// The last statements of all sessions, the oldest first. The newest alone, if only `current` is wanted.
    pub fn events(&self, current: bool) -> Vec<(u64, Event)> {
        let living = self.sessions.lock().living.clone();
        let mut rows = Vec::new();
        for session in living {
            let kept = session.kept.lock();
            let skipped = if current { kept.events.len().saturating_sub(1) } else { 0 };
            let skipped = skipped.max(kept.events.len().saturating_sub(self.limits.history.max(1)));
            rows.extend(kept.events.iter().skip(skipped).map(|event| (session.thread, event.clone())));
        }
        rows
    }

    /// Forgets the last statements of all sessions, or all but the newest of each.
    pub fn forget_events(&self, history_only: bool) {
        for session in &self.sessions.lock().living {
            let mut kept = session.kept.lock();
            let left = usize::from(history_only).min(kept.events.len());
            let all = kept.events.len();
            kept.events.drain(..all - left);
        }
    }

    /// What a session has seen of statements so far.
    pub fn events_seen(&self, thread: u64) -> u64 {
        let sessions = self.sessions.lock();
        let session = sessions.living.iter().find(|session| session.thread == thread);
        session.map_or(0, |session| session.kept.lock().events_seen)
    }
}

/// A session's share, which ends with it.
pub struct Own {
    all: Arc<Statements>,
    session: Arc<SessionStatements>,
}

impl Own {
    /// A statement has ended.
    #[inline]
    pub fn tell(&self, collects: Collects, ended: &Ended<'_>) {
        let limits = &self.all.limits;
        let mut kept = self.session.kept.lock();
        kept.events_seen += 1;
        if let Some((code, sqlstate, _)) = ended.error {
            let seen = ended.timing.started + ended.timing.wait;
            kept.deeds.add_error(code, &ErrorSum { sqlstate, raised: 1, first_seen: seen, last_seen: seen });
        }
        if collects.current() {
            let mut event = match kept.events.len() >= limits.history.max(1) || !collects.history() {
                true => kept.events.pop_front().unwrap_or_default(),
                false => Event::default(),
            };
            event.id = kept.events_seen;
            event.number = ended.number;
            event.timing = ended.timing;
            event.work = ended.work;
            if event.schema.as_deref() != ended.schema {
                event.schema = ended.schema.map(str::to_owned);
            }
            event.text.clear();
            event.text.extend_from_slice(&ended.text[..ended.text.len().min(limits.text_bytes)]);
            event.error = ended.error.map(|(code, state, message)| (code, state, message.to_owned()));
            event.nested = ended.nested;
            kept.events.push_back(event);
        }
        // A digest may have been forgotten since the statement began.
        let Some(number) = ended.number.filter(|number| self.all.is_current(*number)) else { return };
        if let Some(sums) = kept.sums.get_mut(&number) {
            return sums.count(&ended.timing, &ended.work, ended.text, limits.text_bytes);
        }
        let mut sums = Box::<Sums>::default();
        sums.count(&ended.timing, &ended.work, ended.text, limits.text_bytes);
        let is_full = kept.sums.len() >= SESSION_SUMS_MAX;
        kept.sums.insert(number, sums);
        drop(kept);
        if is_full {
            self.hand_over(&mut self.all.sessions.lock());
        }
    }

    fn hand_over(&self, sessions: &mut Sessions) {
        let oldest = self.all.oldest.load(Ordering::Relaxed);
        for (number, sums) in self.session.kept.lock().settle(&self.all) {
            sessions.add(oldest, number, sums);
        }
    }

    /// The session has logged in, or ends: what it did so far is its former account's.
    pub fn set_account(&self, account: Option<AccountName>) {
        let mut sessions = self.all.sessions.lock();
        self.hand_over(&mut sessions);
        let mut kept = self.session.kept.lock();
        let done = std::mem::take(&mut kept.deeds);
        if let Some(former) = std::mem::replace(&mut kept.account, account) {
            sessions.gone.entry(former).or_default().add(&done);
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.set_account(None);
        self.all.sessions.lock().living.retain(|other| !Arc::ptr_eq(other, &self.session));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { enabled: true, digests: 100, digest_bytes: 64, text_bytes: 16, history: 3 };

    fn number(statements: &Statements, schema: Option<&str>, text: &str) -> u32 {
        statements.number_of(schema, text.as_bytes(), SqlMode::default())
    }

    fn tell(own: &Own, number: u32, text: &str) {
        let ended = Ended {
            number: Some(number),
            timing: Timing { started: 5, wait: 7, ..Timing::default() },
            work: Work::default(),
            schema: None,
            text: text.as_bytes(),
            error: None,
            nested: false,
        };
        own.tell(own.all.collects(), &ended);
    }

    fn counts(statements: &Statements) -> Vec<(Option<String>, u64)> {
        let row = |(identity, sums): (Option<Arc<Identity>>, Sums)| (identity.map(|it| it.text.clone()), sums.count);
        statements.sums().into_iter().map(row).collect()
    }

    #[test]
    fn numbers_stand_for_schema_and_digest_and_are_limited() {
        let statements = Arc::new(Statements::new(LIMITS));
        let one = number(&statements, Some("d"), "SELECT 1");
        assert_eq!(number(&statements, Some("d"), "SELECT 2"), one);
        assert_ne!(number(&statements, None, "SELECT 2"), one);
        for at in 0..200 {
            number(&statements, None, &format!("SELECT c{at}"));
        }
        let none = number(&statements, None, "SELECT one_more");
        assert!(statements.identity(none).is_none() && statements.lost() >= 1);
        assert_eq!(statements.identity(one).unwrap().text, "SELECT ?");
        let own = statements.register(1);
        tell(&own, none, "SELECT one_more");
        tell(&own, one, "SELECT 1");
        assert_eq!(counts(&statements), [(Some("SELECT ?".to_owned()), 1), (None, 1)]);
    }

    #[test]
    fn what_is_truncated_while_plans_know_its_numbers_counts_anew() {
        let statements = Arc::new(Statements::new(LIMITS));
        let own = statements.register(1);
        let old = number(&statements, None, "SELECT 1");
        tell(&own, old, "SELECT 1");
        statements.forget();
        assert!(!statements.is_current(old));
        tell(&own, old, "SELECT 1");
        assert_eq!(counts(&statements), []);
        let new = number(&statements, None, "SELECT a");
        tell(&own, new, "SELECT a");
        assert_eq!(counts(&statements), [(Some("SELECT `a`".to_owned()), 1)]);
        assert!(statements.identity(old).is_none());
    }

    #[test]
    fn no_statement_is_lost_between_a_session_and_the_sums_of_all() {
        let statements = Arc::new(Statements::new(Limits { digests: 1000, ..LIMITS }));
        let numbers: Vec<u32> = (0..300).map(|at| number(&statements, None, &format!("SELECT c{at}"))).collect();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (statements, numbers) = (&statements, &numbers);
                scope.spawn(move || {
                    let own = statements.register(thread);
                    for at in 0..3000 {
                        tell(&own, numbers[at % 300], "SELECT c");
                    }
                });
            }
            let mut before = 0;
            for _ in 0..50 {
                let now: u64 = counts(&statements).iter().map(|(_, count)| count).sum();
                assert!(now >= before, "{now} after {before}");
                before = now;
            }
        });
        let all = counts(&statements);
        assert!(all.len() == 300 && all.iter().all(|(_, count)| *count == 40), "{}", all.len());
        assert!(statements.sessions.lock().living.is_empty());
    }

    #[test]
    fn a_session_keeps_its_last_statements() {
        let statements = Arc::new(Statements::new(LIMITS));
        let own = statements.register(9);
        for text in ["one", "two", "three", "four"] {
            tell(&own, 0, text);
        }
        let texts = |current| -> Vec<(u64, Vec<u8>)> {
            statements.events(current).into_iter().map(|(_, event)| (event.id, event.text)).collect()
        };
        assert_eq!(texts(false), [(2, b"two".to_vec()), (3, b"three".to_vec()), (4, b"four".to_vec())]);
        assert_eq!(texts(true), [(4, b"four".to_vec())]);
        let history = CONSUMERS.iter().find(|consumer| consumer.name == "events_statements_history").unwrap();
        assert!(statements.enable(history, false));
        statements.forget_events(true);
        tell(&own, 0, "a text longer than what is kept of it");
        assert_eq!(texts(false), [(5, b"a text longer th".to_vec())]);
        let waits = CONSUMERS.iter().find(|consumer| consumer.name == "events_waits_current").unwrap();
        assert!(statements.enable(waits, false) && !statements.enable(waits, true));
    }
}
