//! Tests of the schedule.

use binlog::FileName;

use std::sync::atomic::{AtomicBool, Ordering};

use format::binlog::{Gtid, Uuid};

use super::*;

fn place(position: u64) -> Place {
    Place { file: FileName { base: "relay".into(), number: 1 }, position }
}

fn start(position: u64) -> Start {
    Start { place: place(position), file: "a".to_owned(), position, mariadb: None }
}

fn end(position: u64) -> End {
    End { place: place(position), file: "a".to_owned(), position, names: Names::default() }
}

fn named(number: u64) -> Names {
    Names { gtid: Some(gtid(number)), mariadb: None }
}

/// What was told, and the syncs.
#[derive(Default)]
struct Told {
    positions: Mutex<Vec<u64>>,
    synced: Mutex<Vec<u64>>,
    sync_fails: AtomicBool,
}

impl Commits for Arc<Told> {
    fn make_durable(&self, lsn: Lsn) -> storage::Result<()> {
        self.synced.lock().push(lsn.0);
        if self.sync_fails.load(Ordering::Relaxed) { Err(storage::Error::Poisoned) } else { Ok(()) }
    }

    fn passed(&self, passed: &Passed) {
        self.positions.lock().push(passed.progress.position);
    }

    fn await_replicas(&self, _: &dyn Fn() -> bool) -> storage::Result<()> {
        Ok(())
    }
}

fn schedule() -> (Arc<Schedule>, Arc<Told>) {
    let told = Arc::new(Told::default());
    (Schedule::new(0, Progress::default(), Box::new(told.clone())), told)
}

fn gtid(number: u64) -> Gtid {
    Gtid { source: Uuid([7; 16]), number }
}

/// What each may conflict with, of transactions with these clocks.
fn dependencies(clocks: &[Clock]) -> Vec<u64> {
    let (schedule, _) = schedule();
    for (at, clock) in clocks.iter().enumerate() {
        schedule.push(start(at as u64), Origin::default(), 0, *clock, &|| {});
    }
    let state = schedule.state.lock();
    state.jobs().map(|job| job.waits.may).collect()
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
        schedule.pass(number, None);
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
    let (schedule, told) = schedule();
    for number in 1..=3 {
        schedule.push(start(number), Origin::default(), 0, logical(0, number), &|| {});
    }
    schedule.push_mark(end(30));
    let taken: Vec<u64> = (0..3).map(|worker| schedule.take(worker).unwrap().number).collect();
    assert_eq!(taken, [1, 2, 3]);
    assert!(schedule.wait_for_turn(2, &|| true).is_err(), "it is the first one's turn");
    schedule.pass(2, None);
    assert!(schedule.has_turn(1), "a transaction passes no turn but its own");
    for number in 1..=3 {
        schedule.wait_for_turn(number, &|| false).unwrap();
        assert_eq!(schedule.prepare(number, end(10 * number)).number, number);
        schedule.pass(number, None);
        schedule.pass(number, None);
    }
    schedule.settle().unwrap();
    assert_eq!(*told.positions.lock(), [10, 20, 30, 30]);
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

/// One worker applies and commits a transaction, which is durable at `lsn`.
fn commit_next(schedule: &Arc<Schedule>, lsn: u64) -> u64 {
    let number = schedule.take(0).unwrap().number;
    let attempt = schedule.attempt(number, &Arc::new(Interrupt::new()));
    schedule.prepare(number, End { names: named(number), ..end(10 * number) });
    attempt.committed(Some(Lsn(lsn)));
    number
}

#[test]
fn a_worker_goes_on_before_its_commits_are_durable_and_one_sync_serves_all() {
    let (schedule, told) = schedule();
    for number in 1..=4 {
        let origin = Origin { gtid: Some(gtid(number)), ..Origin::default() };
        schedule.push(start(number), origin, number as u32, Clock::Unknown, &|| {});
    }
    for number in 1..=3 {
        assert_eq!(commit_next(&schedule, 100 + number), number);
    }
    assert!(schedule.has_turn(4));
    // What is not durable is not told, and is still on its way.
    assert_eq!(*told.positions.lock(), []);
    assert!(schedule.has_pending(named(1)) && schedule.pending_names().contains(gtid(3)));
    assert_eq!(schedule.oldest_timestamp(), Some(1));
    schedule.settle().unwrap();
    assert_eq!(*told.positions.lock(), [10, 20, 30]);
    assert_eq!(*told.synced.lock(), [103]);
    assert!(!schedule.has_pending(named(3)) && !schedule.pending_names().contains(gtid(3)));
    assert_eq!(schedule.oldest_timestamp(), Some(4));
    // A sync that fails tells nothing.
    commit_next(&schedule, 104);
    told.sync_fails.store(true, Ordering::Relaxed);
    assert!(schedule.settle().is_err());
    assert!(told.positions.lock().len() == 3 && schedule.has_pending(named(4)));
    schedule.clone().follow();
    assert!(schedule.is_closing() && schedule.failure().is_some());
}

#[test]
fn what_is_in_flight_is_bounded_and_the_follower_makes_room() {
    let (schedule, told) = schedule();
    let pushing = {
        let schedule = schedule.clone();
        std::thread::spawn(move || {
            for number in 1..=PENDING_MAX as u64 + 1 {
                schedule.push(start(number), Origin::default(), 0, Clock::Unknown, &|| {});
            }
        })
    };
    for number in 1..=PENDING_MAX as u64 {
        assert_eq!(commit_next(&schedule, number), number);
    }
    std::thread::sleep(Duration::from_millis(50));
    assert!(!pushing.is_finished(), "one more waits until one is durable");
    let follower = {
        let schedule = schedule.clone();
        std::thread::spawn(move || schedule.follow())
    };
    pushing.join().unwrap();
    commit_next(&schedule, 1000);
    assert!(schedule.drain(&|| {}), "it waits until everything is durable");
    assert_eq!(told.positions.lock().len(), PENDING_MAX + 1);
    schedule.complete();
    follower.join().unwrap();
}
