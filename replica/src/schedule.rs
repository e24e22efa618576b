//! Which transactions of the source are applied at the same time, and in which order they commit.
//!
//! ```text
//!   coordinator  -- push -->  | 7 committing | 8 applied, waits | 9 at work | 10 waits for 8 | 11 ... |
//!                               ^ its turn                        <-- workers take from here, in order -->
//! ```
//!
//! The coordinator pushes transactions in the source's order. A worker takes the next one when all that it depends on
//! have committed, applies it, waits for its **turn**, which comes when all before it have committed, and commits. So
//! transactions are applied at the same time and become visible in the source's order, and how far the replica has come
//! is one place in the source's log. The row that says so is written by each transaction in its turn: no two want it at
//! once. A transaction passes the turn on when it is visible and its locks are released, before the redo log is synced;
//! so one sync serves several.
//!
//! **What runs beside what.** Rows are found under exclusive locks, so two transactions that want the same row meet at its
//! lock, in whatever order they come. So a worker takes the next transaction at once, and what turns out to be in the way
//! of an earlier one is done again (below). Only a statement of definition runs alone: transactions before it have
//! committed, and those behind it wait for it.
//!
//! After a transaction had to be begun again, the next [`CAREFUL`] follow what the source says of them. A Gtid event says
//! `last_committed` and `sequence_number`: the transaction held all its locks at the source when those after
//! `last_committed` had not committed, so it conflicts with none of them. Numbers begin again with each file of the source,
//! and what is in earlier files is waited for. MariaDB gives transactions that were committed together the same commit id:
//! such do not conflict with each other. One of which nothing is said waits for all before it.
//!
//! **When a later transaction is in the way of an earlier one.** It keeps its locks until its turn, and the earlier one
//! must commit before: a deadlock, although the later one does not wait for a lock. The engine knows the
//! places of transactions ([`storage::CommitPlace`]) and follows them when it looks for cycles of row locks; the
//! transaction that is **overtaken** rolls back. Cycles over a client's statement of definition are not seen there (it
//! waits for the later transaction's table, and the earlier one for the statement): while the first transaction waits
//! for a table, [`Schedule::watch`] overtakes all others.
//!
//! A transaction that was overtaken is begun again in its turn, when no other is before it, and so it is overtaken once at
//! most. Any other error that a transaction meets before its turn may come from the order, too: it is begun again in its
//! turn, and only then its errors count. Therefore an error stops the replica with everything before it committed and
//! nothing behind it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use binlog::Origin;
use format::binlog::{Gtid, GtidSet};
use parking_lot::{Condvar, Mutex, MutexGuard};
use storage::{CommitPlace, Interrupt, Kill, Stage};

use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::relay::Place;

/// Transactions that may wait for a worker. Of each only its place is in memory; its events stay in the relay log.
const PENDING_MAX: usize = 256;

/// Transactions that wait for those that they may conflict with, after one that did.
const CAREFUL: u64 = 16;

/// Sleepers look at least this often whether they are to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// What a source says about the transactions that one may run beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// It is a statement of definition: beside none.
    Alone,
    /// Nothing.
    Unknown,
    /// Beside those behind `last_committed`.
    Logical { last_committed: u64, sequence: u64 },
    /// Beside those with the same number.
    Group(u64),
}

/// Where a transaction begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// In the relay log.
    pub place: Place,
    /// In the source's log.
    pub file: String,
    pub position: u64,
}

/// A transaction to be applied.
#[derive(Clone, Debug)]
pub struct Job {
    pub number: u64,
    pub start: Start,
    pub origin: Origin,
    /// When the source ran it, in seconds since 1970.
    pub timestamp: u32,
    /// All up to this number commit before it begins: statements of definition, or all before one.
    must_wait_for: u64,
    /// It may conflict with some up to this number.
    may_wait_for: u64,
    clock: Clock,
    epoch: u64,
}

/// How far the replica is when a transaction has been applied or passed over, or when the source's log was rotated.
#[derive(Clone, Debug)]
pub struct End {
    pub place: Place,
    pub file: String,
    pub position: u64,
    pub gtid: Option<Gtid>,
}

/// What follows in the source's order.
enum Item {
    Job {
        job: Arc<Job>,
        worker: Option<usize>,
        attempt: Option<Arc<Attempt>>,
        end: Option<End>,
    },
    /// Nothing is applied; the source's log goes on here.
    Mark(End),
}

/// What has just been passed, for those who show it.
pub struct Passed<'p> {
    pub progress: &'p Progress,
    pub end: &'p End,
    /// The worker that has applied it; `None` = nothing was applied.
    pub worker: Option<usize>,
}

type OnPassed = Box<dyn Fn(&Passed<'_>) + Send + Sync>;

/// See the module header.
pub struct Schedule {
    state: Mutex<State>,
    /// A transaction was pushed, or may be begun.
    ready: Condvar,
    /// Another has the turn.
    turn: Condvar,
    /// There is room, or nothing is left.
    room: Condvar,
    on_passed: OnPassed,
}

struct State {
    /// What has not been passed; the first has the turn.
    items: VecDeque<Item>,
    /// The number of the first.
    first: u64,
    /// The number of the next that a worker takes.
    next: u64,
    /// Numbers of the clock begin again with each epoch.
    epoch: u64,
    /// All up to this number belong to earlier epochs.
    before_epoch: u64,
    last_clock: Clock,
    last_may_wait_for: u64,
    /// The last statement of definition.
    last_alone: u64,
    /// What is before this number waits for what it may conflict with.
    careful_until: u64,
    progress: Progress,
    closing: bool,
    failure: Option<(Failure, Option<usize>)>,
}

impl State {
    fn end_number(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    /// The last transaction that may conflict with one that is pushed now, as far as its source knows.
    fn may_wait_for(&mut self, clock: Clock) -> u64 {
        let before = self.end_number() - 1;
        let number = match (clock, self.last_clock) {
            (Clock::Logical { last_committed, sequence }, Clock::Logical { sequence: last, .. })
                if last < sequence && last_committed < sequence =>
            {
                // The newest of those that it does not run beside. One that is gone has committed.
                let mut waited = self.before_epoch;
                for (at, item) in self.items.iter().enumerate().rev() {
                    let Item::Job { job, .. } = item else { continue };
                    if job.epoch != self.epoch {
                        break;
                    }
                    if matches!(job.clock, Clock::Logical { sequence, .. } if sequence <= last_committed) {
                        waited = waited.max(self.first + at as u64);
                        break;
                    }
                }
                waited
            }
            (Clock::Group(group), Clock::Group(last)) if group == last => self.last_may_wait_for,
            _ => {
                (self.epoch, self.before_epoch) = (self.epoch + 1, before);
                before
            }
        };
        (self.last_clock, self.last_may_wait_for) = (clock, number);
        number
    }

    /// Whether a transaction may begin.
    fn is_ready(&self, job: &Job) -> bool {
        job.must_wait_for < self.first && (job.number >= self.careful_until || job.may_wait_for < self.first)
    }

    fn has_turn(&self, number: u64) -> bool {
        self.first == number
    }
}

impl Schedule {
    /// `on_passed` is called in the order of commits.
    pub fn new(progress: Progress, on_passed: OnPassed) -> Arc<Schedule> {
        let state = State {
            items: VecDeque::new(),
            first: 1,
            next: 1,
            epoch: 0,
            before_epoch: 0,
            last_clock: Clock::Unknown,
            last_may_wait_for: 0,
            last_alone: 0,
            careful_until: 0,
            progress,
            closing: false,
            failure: None,
        };
        let (ready, turn, room) = Default::default();
        Arc::new(Schedule { state: Mutex::new(state), ready, turn, room, on_passed })
    }

    // The coordinator

    /// The next transaction. Waits for room, and calls `glance` meanwhile.
    pub fn push(&self, start: Start, origin: Origin, timestamp: u32, clock: Clock, glance: &dyn Fn()) {
        let mut state = self.state.lock();
        while state.items.len() >= PENDING_MAX && !state.closing {
            self.wait_for_room(&mut state, glance);
        }
        let number = state.end_number();
        let may_wait_for = state.may_wait_for(clock);
        let mut must_wait_for = state.last_alone;
        if clock == Clock::Alone {
            (must_wait_for, state.last_alone) = (number - 1, number);
        }
        let epoch = state.epoch;
        let job = Job { number, start, origin, timestamp, must_wait_for, may_wait_for, clock, epoch };
        state.items.push_back(Item::Job { job: Arc::new(job), worker: None, attempt: None, end: None });
        self.ready.notify_one();
    }

    /// A place of the source's log behind which it goes on, once everything before has been applied.
    pub fn push_mark(&self, end: End) {
        let mut state = self.state.lock();
        state.items.push_back(Item::Mark(end));
        self.pass_marks(&mut state);
    }

    /// Waits until everything has been passed. False: it is closing before.
    pub fn drain(&self, glance: &dyn Fn()) -> bool {
        let mut state = self.state.lock();
        while !state.items.is_empty() && !state.closing {
            self.wait_for_room(&mut state, glance);
        }
        !state.closing
    }

    fn wait_for_room(&self, state: &mut MutexGuard<'_, State>, glance: &dyn Fn()) {
        MutexGuard::unlocked(state, glance);
        self.room.wait_for(state, GLANCE / 4);
    }

    /// Whether a transaction of this name is on its way.
    pub fn has_pending(&self, gtid: Gtid) -> bool {
        let state = self.state.lock();
        let is = |item: &Item| match item {
            Item::Job { job, .. } => job.origin.gtid == Some(gtid),
            Item::Mark(end) => end.gtid == Some(gtid),
        };
        state.items.iter().any(is)
    }

    /// The names of the transactions that workers have not committed yet.
    pub fn pending_names(&self) -> GtidSet {
        let mut names = GtidSet::default();
        for item in &self.state.lock().items {
            if let Item::Job { job, .. } = item
                && let Some(gtid) = job.origin.gtid
            {
                names.insert(gtid);
            }
        }
        names
    }

    /// Now and then: while the first transaction waits for a table, no other keeps one.
    pub fn watch(&self) {
        let state = self.state.lock();
        let attempts = state.items.iter().filter_map(|item| match item {
            Item::Job { attempt, .. } => attempt.clone(),
            Item::Mark(_) => None,
        });
        let mut attempts = attempts.collect::<Vec<_>>().into_iter();
        drop(state);
        let waits = |attempt: &Arc<Attempt>| attempt.interrupt.stage() == Stage::Metadata;
        if attempts.next().is_some_and(|first| self.has_turn(first.number) && waits(&first)) {
            attempts.for_each(|later| later.overtaken());
        }
    }

    // The workers

    /// The next transaction that may begin. Waits for one; `None`: there are no more.
    pub fn take(&self, worker: usize) -> Option<Arc<Job>> {
        let mut state = self.state.lock();
        while !state.closing {
            let at = (state.next - state.first) as usize;
            match state.items.get(at) {
                Some(Item::Mark(_)) => {
                    state.next += 1;
                    continue;
                }
                Some(Item::Job { job, .. }) if state.is_ready(job) => {
                    let job = job.clone();
                    state.next += 1;
                    if let Some(Item::Job { worker: by, .. }) = state.items.get_mut(at) {
                        *by = Some(worker);
                    }
                    return Some(job);
                }
                _ => {}
            }
            self.ready.wait_for(&mut state, GLANCE);
        }
        None
    }

    /// A try to apply a transaction begins.
    pub fn attempt(self: &Arc<Self>, number: u64, interrupt: &Arc<Interrupt>) -> Arc<Attempt> {
        let attempt = Arc::new(Attempt {
            number,
            schedule: self.clone(),
            interrupt: interrupt.clone(),
            is_overtaken: AtomicBool::new(false),
            has_ended: Mutex::new(false),
        });
        self.set_attempt(number, Some(attempt.clone()));
        attempt
    }

    /// It has failed, and its locks are released.
    pub fn end_attempt(&self, number: u64) {
        self.set_attempt(number, None);
        let mut state = self.state.lock();
        if state.first != number {
            state.careful_until = state.next + CAREFUL;
        }
    }

    fn set_attempt(&self, number: u64, new: Option<Arc<Attempt>>) {
        let mut state = self.state.lock();
        let Some(at) = number.checked_sub(state.first) else { return };
        if let Some(Item::Job { attempt, .. }) = state.items.get_mut(at as usize) {
            *attempt = new;
        }
    }

    pub fn has_turn(&self, number: u64) -> bool {
        self.state.lock().has_turn(number)
    }

    /// Whether a transaction has been committed.
    pub fn has_passed(&self, number: u64) -> bool {
        self.state.lock().first > number
    }

    /// Waits for the turn; an error if `gives_up` before, or when the applier stops.
    pub fn wait_for_turn(&self, number: u64, gives_up: &dyn Fn() -> bool) -> Result<()> {
        let mut state = self.state.lock();
        while !state.has_turn(number) || state.closing {
            if state.closing || gives_up() {
                return Err(Failure::stopped());
            }
            self.turn.wait_for(&mut state, GLANCE);
        }
        Ok(())
    }

    /// In a transaction's turn: what its commit makes of the progress. The turn is passed with the commit.
    pub fn prepare(&self, number: u64, end: End) -> Progress {
        let mut state = self.state.lock();
        let progress = state.progress.after(&end.file, end.position, end.gtid, true);
        debug_assert!(state.has_turn(number), "a transaction prepares in its turn");
        if let Some(Item::Job { end: to, .. }) = state.items.front_mut() {
            *to = Some(end);
        }
        progress
    }

    /// In a transaction's turn: a number for what is stored before it. The progress until then.
    pub fn announce(&self) -> Progress {
        let mut state = self.state.lock();
        state.progress.number += 1;
        state.progress.clone()
    }

    /// A transaction has been committed, or was not finished by its source. Does nothing if its turn has been passed.
    pub fn pass(&self, number: u64) {
        let mut state = self.state.lock();
        if !state.has_turn(number) {
            return;
        }
        if let Some(Item::Job { end: Some(end), worker, .. }) = state.items.pop_front() {
            state.progress = state.progress.after(&end.file, end.position, end.gtid, true);
            (self.on_passed)(&Passed { progress: &state.progress, end: &end, worker });
        }
        self.passed_one(&mut state);
        self.pass_marks(&mut state);
        self.ready.notify_all();
        self.turn.notify_all();
    }

    fn passed_one(&self, state: &mut State) {
        state.first += 1;
        state.next = state.next.max(state.first);
        if state.items.len() <= PENDING_MAX / 2 {
            self.room.notify_all();
        }
    }

    fn pass_marks(&self, state: &mut State) {
        while let Some(Item::Mark(_)) = state.items.front()
            && let Some(Item::Mark(end)) = state.items.pop_front()
        {
            state.progress = state.progress.after(&end.file, end.position, end.gtid, false);
            (self.on_passed)(&Passed { progress: &state.progress, end: &end, worker: None });
            self.passed_one(state);
        }
    }

    // The end

    /// Nothing more is taken, and no turn comes.
    pub fn close(&self) {
        self.state.lock().closing = true;
        self.ready.notify_all();
        self.turn.notify_all();
        self.room.notify_all();
    }

    pub fn is_closing(&self) -> bool {
        self.state.lock().closing
    }

    /// A transaction has failed in its turn, or a thread as a whole.
    pub fn fail(&self, failure: Failure, worker: Option<usize>) {
        let mut state = self.state.lock();
        if !state.closing {
            state.failure = Some((failure, worker));
        }
        drop(state);
        self.close();
    }

    /// The failure, and the worker that met it.
    pub fn failure(&self) -> Option<(Failure, Option<usize>)> {
        self.state.lock().failure.clone()
    }

    /// When the source ran the first transaction that is not applied.
    pub fn oldest_timestamp(&self) -> Option<u32> {
        let state = self.state.lock();
        state.items.iter().find_map(|item| match item {
            Item::Job { job, .. } => Some(job.timestamp),
            Item::Mark(_) => None,
        })
    }
}

/// One try to apply a transaction, in its place among others.
pub struct Attempt {
    number: u64,
    schedule: Arc<Schedule>,
    interrupt: Arc<Interrupt>,
    is_overtaken: AtomicBool,
    /// Nobody interrupts the worker any more: it may be applying something else.
    has_ended: Mutex<bool>,
}

impl Attempt {
    /// An earlier transaction needs what this one has.
    pub fn is_overtaken(&self) -> bool {
        self.is_overtaken.load(Ordering::SeqCst)
    }

    /// The try is over. Whether it was overtaken; then an interrupt that came for that is forgotten.
    pub fn end(&self) -> bool {
        *self.has_ended.lock() = true;
        let was_overtaken = self.is_overtaken();
        if was_overtaken {
            self.interrupt.clear();
        }
        was_overtaken
    }
}

impl CommitPlace for Attempt {
    fn number(&self) -> u64 {
        self.number
    }

    fn overtaken(&self) {
        let has_ended = self.has_ended.lock();
        if *has_ended {
            return;
        }
        self.is_overtaken.store(true, Ordering::SeqCst);
        // It may wait for something else, or for its turn.
        self.interrupt.set(Kill::Query);
        drop(has_ended);
        let _state = self.schedule.state.lock();
        self.schedule.turn.notify_all();
    }

    fn committed(&self) {
        self.schedule.pass(self.number);
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attempt({})", self.number)
    }
}

#[cfg(test)]
mod tests {
    use binlog::FileName;

    use super::*;

    fn place(position: u64) -> Place {
        Place { file: FileName { base: "relay".into(), number: 1 }, position }
    }

    fn start(position: u64) -> Start {
        Start { place: place(position), file: "a".to_owned(), position }
    }

    fn end(position: u64) -> End {
        End { place: place(position), file: "a".to_owned(), position, gtid: None }
    }

    fn schedule() -> (Arc<Schedule>, Arc<Mutex<Vec<u64>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let here = seen.clone();
        let note = move |passed: &Passed<'_>| here.lock().push(passed.progress.position);
        (Schedule::new(Progress::default(), Box::new(note)), seen)
    }

    /// What each may conflict with, of transactions with these clocks.
    fn dependencies(clocks: &[Clock]) -> Vec<u64> {
        let (schedule, _) = schedule();
        for (at, clock) in clocks.iter().enumerate() {
            schedule.push(start(at as u64), Origin::default(), 0, *clock, &|| {});
        }
        let state = schedule.state.lock();
        let conflicts = |item: &Item| match item {
            Item::Job { job, .. } => job.may_wait_for,
            Item::Mark(_) => unreachable!(),
        };
        state.items.iter().map(conflicts).collect()
    }

    fn logical(last_committed: u64, sequence: u64) -> Clock {
        Clock::Logical { last_committed, sequence }
    }

    #[test]
    fn what_held_its_locks_at_the_same_time_runs_together() {
        let clocks = [logical(4, 5), logical(5, 6), logical(5, 7), logical(5, 8), logical(7, 9), logical(3, 10)];
        assert_eq!(dependencies(&clocks), [0, 1, 1, 1, 3, 0]);
        // A gap in the numbers: what is named last is the newest before the gap.
        assert_eq!(dependencies(&[logical(0, 1), logical(1, 2), logical(6, 9)]), [0, 1, 2]);
        // Another file of the source; what is before is waited for, whatever the numbers say.
        assert_eq!(dependencies(&[logical(0, 1), logical(0, 2), logical(0, 1), logical(0, 2)]), [0, 0, 2, 2]);
        // A statement of definition, and numbers that mean nothing.
        assert_eq!(dependencies(&[logical(0, 1), Clock::Alone, logical(0, 3), logical(0, 4)]), [0, 1, 2, 2]);
        assert_eq!(dependencies(&[logical(0, 1), logical(2, 2), logical(0, 3)]), [0, 1, 1]);
        let groups = [Clock::Group(5), Clock::Group(5), Clock::Group(6), Clock::Unknown, Clock::Group(6)];
        assert_eq!(dependencies(&groups), [0, 0, 2, 3, 4]);
    }

    #[test]
    fn a_definition_runs_alone_and_after_a_conflict_what_may_conflict_waits() {
        let (schedule, _) = schedule();
        for clock in [logical(0, 1), logical(1, 2), Clock::Alone, Clock::Unknown, logical(4, 5)] {
            schedule.push(start(0), Origin::default(), 0, clock, &|| {});
        }
        let is_ready = |number: u64| {
            let state = schedule.state.lock();
            match &state.items[(number - state.first) as usize] {
                Item::Job { job, .. } => state.is_ready(job),
                Item::Mark(_) => unreachable!(),
            }
        };
        let pass = |number: u64| {
            assert_eq!(schedule.take(0).unwrap().number, number);
            schedule.prepare(number, end(number));
            schedule.pass(number);
        };
        assert!(is_ready(1) && is_ready(2) && !is_ready(3) && !is_ready(4) && !is_ready(5));
        schedule.end_attempt(2);
        assert!(is_ready(1) && !is_ready(2));
        pass(1);
        pass(2);
        assert!(is_ready(3) && !is_ready(4));
        pass(3);
        assert!(is_ready(4) && !is_ready(5), "that is careful still");
    }

    #[test]
    fn turns_come_in_the_order_of_the_source() {
        let (schedule, seen) = schedule();
        for number in 1..=3 {
            schedule.push(start(number), Origin::default(), 0, logical(0, number), &|| {});
        }
        schedule.push_mark(end(30));
        let taken: Vec<u64> = (0..3).map(|worker| schedule.take(worker).unwrap().number).collect();
        assert_eq!(taken, [1, 2, 3]);
        assert!(schedule.wait_for_turn(2, &|| true).is_err(), "it is the first one's turn");
        schedule.pass(2);
        assert!(schedule.has_turn(1), "nobody passes another's turn");
        for number in 1..=3 {
            schedule.wait_for_turn(number, &|| false).unwrap();
            assert_eq!(schedule.prepare(number, end(10 * number)).number, number);
            schedule.pass(number);
            schedule.pass(number);
        }
        assert_eq!(*seen.lock(), [10, 20, 30, 30]);
        assert!(schedule.drain(&|| {}));
        schedule.close();
        assert!(schedule.take(0).is_none());
    }

    #[test]
    fn while_the_first_waits_for_a_table_no_other_keeps_one() {
        let (schedule, _) = schedule();
        let interrupts: Vec<_> = (0..3).map(|_| Arc::new(Interrupt::new())).collect();
        let mut attempts = Vec::new();
        for number in 1..=3 {
            schedule.push(start(number), Origin::default(), 0, logical(0, number), &|| {});
            schedule.take(0).unwrap();
            attempts.push(schedule.attempt(number, &interrupts[number as usize - 1]));
        }
        let overtaken = |attempts: &[Arc<Attempt>]| attempts.iter().map(|one| one.is_overtaken()).collect::<Vec<_>>();
        {
            let _waits = interrupts[1].enter(Stage::Metadata);
            schedule.watch();
            assert_eq!(overtaken(&attempts), [false, false, false]);
        }
        let _waits = interrupts[0].enter(Stage::Metadata);
        schedule.watch();
        assert_eq!(overtaken(&attempts), [false, true, true]);
        assert!(interrupts[2].is_set() && attempts[2].end() && !interrupts[2].is_set());
        // The worker has gone on when it is overtaken again.
        attempts[2].overtaken();
        assert!(!interrupts[2].is_set());
    }
}
