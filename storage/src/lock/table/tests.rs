//! Tests of the lock table.

use super::*;
use crate::lock::Kill;
use LockKind::{Gap, InsertIntention, NextKey, Record};
use LockMode::{Exclusive, Shared};

const LONG: Duration = Duration::from_secs(20);

fn id(key_hash: u64) -> LockId {
    LockId { index: IndexId(1), key_hash }
}

fn begin(table: &LockTable, trx: u64) -> Held {
    let mut held = Held::default();
    table.begin(&mut held, TrxId(trx));
    held
}

fn granted(outcome: TryLock) -> bool {
    matches!(outcome, TryLock::Granted { .. })
}

#[test]
fn readers_share_and_writers_do_not() {
    let table = LockTable::new();
    let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
    assert_eq!(table.try_lock(&mut a, LockRequest::new(id(7), Shared, Record)), TryLock::Granted { new: true });
    assert!(granted(table.try_lock(&mut b, LockRequest::new(id(7), Shared, Record))));
    assert_eq!(table.try_lock(&mut a, LockRequest::new(id(7), Exclusive, Record)), TryLock::Conflict);
    table.release_all(&mut b);
    assert_eq!(table.try_lock(&mut a, LockRequest::new(id(7), Exclusive, Record)), TryLock::Granted { new: false });
    table.release_all(&mut a);
    assert_eq!(table.count(), 0);
}

#[test]
fn gaps_stop_inserters_only() {
    let table = LockTable::new();
    let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
    assert!(granted(table.try_lock(&mut a, LockRequest::new(id(7), Shared, Gap))));
    assert!(granted(table.try_lock(&mut b, LockRequest::new(id(7), Exclusive, NextKey))));
    assert_eq!(table.try_lock(&mut a, LockRequest::new(id(7), Exclusive, InsertIntention)), TryLock::Conflict);
    table.release_all(&mut b);
    assert!(granted(table.try_lock(&mut a, LockRequest::new(id(7), Exclusive, InsertIntention))));
}

#[test]
fn a_waiter_is_wakened_in_turn() {
    let table = Arc::new(LockTable::new());
    let mut a = begin(&table, 1);
    assert!(granted(table.try_lock(&mut a, LockRequest::new(id(7), Exclusive, Record))));
    let threads: Vec<_> = (2..6)
        .map(|trx| {
            let table = table.clone();
            std::thread::spawn(move || {
                let mut held = begin(&table, trx);
                table.wait(&mut held, LockRequest::new(id(7), Exclusive, Record), 1, &Interrupt::new(), LONG).unwrap();
                table.release_all(&mut held);
            })
        })
        .collect();
    while table.counters().waits_now < 4 {
        std::thread::yield_now();
    }
    table.release_all(&mut a);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!((table.count(), table.counters().waits), (0, 4));
}

#[test]
fn a_deadlock_is_found_when_it_closes() {
    let table = Arc::new(LockTable::new());
    let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
    assert!(granted(table.try_lock(&mut a, LockRequest::new(id(1), Exclusive, Record))));
    assert!(granted(table.try_lock(&mut b, LockRequest::new(id(2), Exclusive, Record))));
    let other = {
        let table = table.clone();
        std::thread::spawn(move || {
            table.wait(&mut a, LockRequest::new(id(2), Exclusive, Record), 1, &Interrupt::new(), LONG).unwrap();
            table.release_all(&mut a);
        })
    };
    while table.counters().waits_now < 1 {
        std::thread::yield_now();
    }
    let outcome = table.wait(&mut b, LockRequest::new(id(1), Exclusive, Record), 1, &Interrupt::new(), LONG);
    assert!(matches!(outcome, Err(Error::Deadlock)));
    table.release_all(&mut b);
    other.join().unwrap();
    assert_eq!((table.count(), table.counters().deadlocks), (0, 1));
}

#[test]
fn waiting_ends_by_time_and_by_kill() {
    let table = Arc::new(LockTable::new());
    let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
    assert!(granted(table.try_lock(&mut a, LockRequest::new(id(1), Exclusive, Record))));
    let outcome =
        table.wait(&mut b, LockRequest::new(id(1), Shared, Record), 1, &Interrupt::new(), Duration::from_millis(5));
    assert!(matches!(outcome, Err(Error::LockWaitTimeout)));
    let interrupt = Arc::new(Interrupt::new());
    let waiting = {
        let (table, interrupt) = (table.clone(), interrupt.clone());
        std::thread::spawn(move || {
            let outcome = table.wait(&mut b, LockRequest::new(id(1), Shared, Record), 1, &interrupt, LONG);
            table.release_all(&mut b);
            outcome
        })
    };
    while table.counters().waits_now < 1 {
        std::thread::yield_now();
    }
    interrupt.set(Kill::Query);
    assert!(matches!(waiting.join().unwrap(), Err(Error::Interrupted)));
    interrupt.clear();
    assert!(!interrupt.is_set());
    table.release_all(&mut a);
    assert_eq!(table.count(), 0);
}

#[test]
fn an_implicit_lock_becomes_explicit_while_its_owner_lives() {
    let table = LockTable::new();
    let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
    assert!(table.make_explicit(TrxId(1), id(9), PageNo(3)));
    assert_eq!(table.try_lock(&mut b, LockRequest::new(id(9), Shared, Record)), TryLock::Conflict);
    table.release_all(&mut a);
    assert!(granted(table.try_lock(&mut b, LockRequest::new(id(9), Shared, Record))));
    assert!(!table.make_explicit(TrxId(1), id(9), PageNo(3)));
}

#[test]
fn a_cycle_that_nobody_looks_for_ends_by_time() {
    let table = Arc::new(LockTable::new());
    table.set_deadlock_detect(false);
    let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
    assert!(granted(table.try_lock(&mut a, LockRequest::record(id(7), Exclusive))));
    assert!(granted(table.try_lock(&mut b, LockRequest::record(id(8), Exclusive))));
    let other = {
        let table = table.clone();
        std::thread::spawn(move || {
            let waited = table.wait(&mut b, LockRequest::record(id(7), Exclusive), 1, &Interrupt::new(), LONG);
            table.release_all(&mut b);
            waited
        })
    };
    while table.counters().waits_now == 0 {
        std::thread::yield_now();
    }
    let waited =
        table.wait(&mut a, LockRequest::record(id(8), Exclusive), 1, &Interrupt::new(), Duration::from_millis(20));
    assert!(matches!(waited, Err(Error::LockWaitTimeout)), "{waited:?}");
    table.release_all(&mut a);
    other.join().unwrap().unwrap();
    assert_eq!((table.counters().deadlocks, table.count()), (0, 0));
}
