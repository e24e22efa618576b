//! Which transactions of the source are applied at the same time, and in which order they commit.
//!
//! ```text
//!   coordinator -- push -->  | 5 in flight | 6 in flight | 7 committing | 8 applied, waits | 9 at work | 10 waits | ... |
//!                                                          ^ its turn                <-- workers take from here -->
//! ```
//!
//! The coordinator pushes transactions in the source's order. A worker takes the next one when all that it depends on
//! have committed ([`dependencies`]), applies it, waits for its **turn**, which comes when all before it have committed, and
//! commits. So transactions are applied at the same time and become visible in the source's order, and how far the replica
//! has come is one place in the source's log. The row that says so is written by each transaction in its turn: no two want
//! it at once. A transaction passes the turn on when it is visible and its locks are released. Its worker then takes the
//! next one: what is committed and not yet durable is *in flight* ([`in_flight`]), and one sync serves all of it, with one
//! worker as with many.
//!
//! **What runs beside what.** Rows are found under exclusive locks, so two transactions that want the same row meet at its
//! lock, in whatever order they come. So a worker takes the next transaction at once, and what turns out to be in the way
//! of an earlier one is done again (below). Only a statement of definition runs alone: transactions before it have
//! committed, and those behind it wait for it.
//!
//! **When a later transaction is in the way of an earlier one.** It keeps its locks until its turn, and the earlier one
//! must commit before: a deadlock, although the later one does not wait for a lock. The engine knows the
//! places of transactions ([`storage::CommitPlace`]) and follows them when it looks for cycles of row locks; the
//! transaction that is **overtaken** rolls back. Cycles over a client's statement of definition are not seen there (it
//! waits for the later transaction's table, and the earlier one for the statement): while the first transaction waits
//! for a table, [`Schedule::watch`] overtakes all others.
//!
//! A transaction that was overtaken is begun again in its turn, when no other is before it, and so it is overtaken once at
//! most; and the next ones are careful for a while. Any other error that a transaction meets before its turn may come from
//! the order, too: it is begun again in its turn, and only then its errors count. Therefore an error stops the replica with
//! everything before it committed and nothing behind it.

mod attempt;
mod dependencies;
mod in_flight;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use binlog::Origin;
use format::binlog::GtidSet;
use format::binlog::mariadb::MariadbGtid;
use format::ids::Lsn;
use parking_lot::{Condvar, Mutex, MutexGuard};
use storage::{CommitPlace, Interrupt, Stage};

use crate::failure::{Failure, Result};
use crate::progress::{Names, Progress};
use crate::relay::Place;

pub use attempt::Attempt;
pub use dependencies::Clock;
pub use in_flight::{Commits, Passed};

use dependencies::{Dependencies, Waits};
use in_flight::InFlight;

/// Transactions that may wait for a worker, or be in flight. Of each only its place is in memory; its events stay in the relay log.
const PENDING_MAX: usize = 256;

/// Sleepers look at least this often whether they are to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// Where a transaction begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// In the relay log.
    pub place: Place,
    /// In the source's log.
    pub file: String,
    pub position: u64,
    /// The name that MariaDB gave it.
    pub mariadb: Option<MariadbGtid>,
}

/// A transaction to be applied.
#[derive(Clone, Debug)]
pub struct Job {
    pub number: u64,
    pub start: Start,
    pub origin: Origin,
    /// When the source ran it, in seconds since 1970.
    pub timestamp: u32,
    waits: Waits,
}

impl Job {
    pub fn names(&self) -> Names {
        Names { gtid: self.origin.gtid, mariadb: self.start.mariadb }
    }
}

/// How far the replica is when a transaction has been applied or passed over, or when the source's log was rotated.
#[derive(Clone, Debug)]
pub struct End {
    pub place: Place,
    pub file: String,
    pub position: u64,
    pub names: Names,
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

/// See the module header.
pub struct Schedule {
    order: u32,
    state: Mutex<State>,
    /// A transaction was pushed, or may be begun.
    ready: Condvar,
    /// Another has the turn.
    turn: Condvar,
    /// There is room, or nothing is left.
    room: Condvar,
    in_flight: InFlight,
}

struct State {
    /// What has not been passed; the first has the turn.
    items: VecDeque<Item>,
    /// The number of the first.
    first: u64,
    /// The number of the next that a worker takes.
    next: u64,
    dependencies: Dependencies,
    /// Behind the last that was passed.
    progress: Progress,
    closing: bool,
    failure: Option<(Failure, Option<usize>)>,
}

impl State {
    fn end_number(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    /// The transactions that have not been passed.
    fn jobs(&self) -> impl DoubleEndedIterator<Item = &Arc<Job>> {
        self.items.iter().filter_map(|item| match item {
            Item::Job { job, .. } => Some(job),
            Item::Mark(_) => None,
        })
    }

    /// Whether a transaction may begin.
    fn is_ready(&self, job: &Job) -> bool {
        self.dependencies.allow(job, self.first)
    }

    fn has_turn(&self, number: u64) -> bool {
        self.first == number
    }
}

impl Schedule {
    /// `order`: what tells it from the schedules of other channels.
    pub fn new(order: u32, progress: Progress, commits: Box<dyn Commits>) -> Arc<Schedule> {
        let state = State {
            items: VecDeque::new(),
            first: 1,
            next: 1,
            dependencies: Dependencies::new(),
            progress,
            closing: false,
            failure: None,
        };
        let (ready, turn, room) = Default::default();
        let in_flight = InFlight::new(commits);
        Arc::new(Schedule { order, state: Mutex::new(state), ready, turn, room, in_flight })
    }

    // The coordinator

    /// The next transaction. Waits for room, and calls `glance` meanwhile.
    pub fn push(&self, start: Start, origin: Origin, timestamp: u32, clock: Clock, glance: &dyn Fn()) {
        let mut state = self.state.lock();
        while state.items.len() + self.in_flight.len() >= PENDING_MAX && !state.closing {
            self.wait_for_room(&mut state, glance);
        }
        let number = state.end_number();
        let State { items, dependencies, .. } = &mut *state;
        let newest_first = items.iter().rev().filter_map(|item| match item {
            Item::Job { job, .. } => Some(&**job),
            Item::Mark(_) => None,
        });
        let waits = dependencies.of(number, clock, newest_first);
        let job = Job { number, start, origin, timestamp, waits };
        state.items.push_back(Item::Job { job: Arc::new(job), worker: None, attempt: None, end: None });
        self.ready.notify_one();
    }

    /// A place of the source's log behind which it goes on, once everything before has been applied.
    pub fn push_mark(&self, end: End) {
        let mut state = self.state.lock();
        state.items.push_back(Item::Mark(end));
        self.pass_marks(&mut state);
    }

    /// Waits until everything has been passed and is durable. False: it is closing before.
    pub fn drain(&self, glance: &dyn Fn()) -> bool {
        let mut state = self.state.lock();
        while !(state.closing || state.items.is_empty() && self.in_flight.is_empty()) {
            self.wait_for_room(&mut state, glance);
        }
        !state.closing
    }

    fn wait_for_room(&self, state: &mut MutexGuard<'_, State>, glance: &dyn Fn()) {
        MutexGuard::unlocked(state, glance);
        self.room.wait_for(state, GLANCE / 4);
    }

    /// Whether a transaction of this name is on its way.
    pub fn has_pending(&self, names: Names) -> bool {
        let state = self.state.lock();
        let is = |item: &Item| match item {
            Item::Job { job, .. } => job.names() == names,
            Item::Mark(end) => end.names == names,
        };
        names.is_some() && (state.items.iter().any(is) || self.in_flight.has(names))
    }

    /// The names of the transactions that are not committed and durable yet.
    pub fn pending_names(&self) -> GtidSet {
        let mut names = GtidSet::default();
        let state = self.state.lock();
        for gtid in state.jobs().filter_map(|job| job.origin.gtid) {
            names.insert(gtid);
        }
        self.in_flight.add_names(&mut names);
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
        let attempt = Arc::new(Attempt::new(number, self, interrupt));
        self.set_attempt(number, Some(attempt.clone()));
        attempt
    }

    /// It has failed, and its locks are released.
    pub fn end_attempt(&self, number: u64) {
        self.set_attempt(number, None);
        let mut state = self.state.lock();
        if state.first != number {
            let next = state.next;
            state.dependencies.be_careful(next);
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
        let progress = state.progress.after(&end.file, end.position, end.names, true);
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

    /// A transaction has been committed, or was not finished by its source. It is durable when the redo log is, up to
    /// `lsn`, or at once. Does nothing if its turn has been passed.
    pub fn pass(&self, number: u64, lsn: Option<Lsn>) {
        let mut state = self.state.lock();
        if !state.has_turn(number) {
            return;
        }
        if let Some(Item::Job { job, end: Some(end), worker, .. }) = state.items.pop_front() {
            state.progress = state.progress.after(&end.file, end.position, end.names, true);
            let (progress, timestamp) = (state.progress.clone(), Some(job.timestamp));
            self.in_flight.push(Passed { progress, end, worker, timestamp, lsn });
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
            state.progress = state.progress.after(&end.file, end.position, end.names, false);
            let progress = state.progress.clone();
            self.in_flight.push(Passed { progress, end, worker: None, timestamp: None, lsn: None });
            self.passed_one(state);
        }
    }

    /// One that waits for its turn looks whether it was overtaken.
    fn wake_turns(&self) {
        let _state = self.state.lock();
        self.turn.notify_all();
    }

    // What is in flight

    /// Makes durable and tells what has been passed until now.
    pub fn settle(&self) -> Result<()> {
        let settled = self.in_flight.settle();
        let _state = self.state.lock();
        self.room.notify_all();
        Ok(settled?)
    }

    /// The follower's thread: settles until [`Schedule::complete`].
    pub fn follow(self: Arc<Self>) {
        let _guard = StopsOnPanic(&self, None);
        while self.in_flight.wait() {
            let awaited = || Ok(self.in_flight.await_replicas(&|| self.is_closing())?);
            if let Err(failure) = self.settle().and_then(|()| awaited()) {
                return self.fail(failure, None);
            }
        }
    }

    /// No worker is left: the follower ends when nothing is in flight.
    pub fn complete(&self) {
        self.in_flight.complete();
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

    /// When the source ran the first transaction that is not applied and durable.
    pub fn oldest_timestamp(&self) -> Option<u32> {
        let state = self.state.lock();
        self.in_flight.oldest_timestamp().or_else(|| state.jobs().next().map(|job| job.timestamp))
    }
}

/// A thread that panics stops the others, which would wait for it: the worker with this number, or the follower.
pub struct StopsOnPanic<'s>(pub &'s Arc<Schedule>, pub Option<usize>);

impl Drop for StopsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Failure::new(1105, "a thread of the replica's applier has failed"), self.1);
        }
    }
}
