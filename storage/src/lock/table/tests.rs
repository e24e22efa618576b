//! Tests of the lock table.

use super::*;
use crate::lock::{DeadlockMember, Kill};
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

fn granted(outcome: Result<TryLock>) -> bool {
    matches!(outcome, Ok(TryLock::Granted { .. }))
}

#[test]
fn readers_share_and_writers_do_not() {
    let table = LockTable::default();
    let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
    assert_eq!(
        table.try_lock(&mut a, LockRequest::new(id(7), Shared, Record)).unwrap(),
        TryLock::Granted { new: true }
    );
    assert!(granted(table.try_lock(&mut b, LockRequest::new(id(7), Shared, Record))));
    assert_eq!(table.try_lock(&mut a, LockRequest::new(id(7), Exclusive, Record)).unwrap(), TryLock::Conflict);
    table.release_all(&mut b);
    assert_eq!(
        table.try_lock(&mut a, LockRequest::new(id(7), Exclusive, Record)).unwrap(),
        TryLock::Granted { new: false }
    );
    table.release_all(&mut a);
    assert_eq!(table.count(), 0);
}

#[test]
fn gaps_stop_inserters_only() {
    let table = LockTable::default();
    let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
    assert!(granted(table.try_lock(&mut a, LockRequest::new(id(7), Shared, Gap))));
    assert!(granted(table.try_lock(&mut b, LockRequest::new(id(7), Exclusive, NextKey))));
    assert_eq!(table.try_lock(&mut a, LockRequest::new(id(7), Exclusive, InsertIntention)).unwrap(), TryLock::Conflict);
    table.release_all(&mut b);
    assert!(granted(table.try_lock(&mut a, LockRequest::new(id(7), Exclusive, InsertIntention))));
}

/// A record is removed, and a transaction that waits for the next one inherits a part of that: it need not stay behind
/// those that wait for a stronger lock, and nobody else would tell it.
#[test]
fn a_waiter_that_inherits_a_part_of_its_lock_is_wakened() {
    let table = Arc::new(LockTable::default());
    let (mut reader, mut heir) = (begin(&table, 1), begin(&table, 3));
    assert!(granted(table.try_lock(&mut reader, LockRequest::new(id(7), Shared, NextKey))));
    assert!(granted(table.try_lock(&mut heir, LockRequest::new(id(6), Shared, NextKey))));
    let waits = |trx: u64, mut held: Held, mode| {
        let table = table.clone();
        let count = table.counters().waits_now;
        let waiting = {
            let table = table.clone();
            std::thread::spawn(move || {
                let outcome = table.wait(&mut held, LockRequest::new(id(7), mode, Record), 1, &Interrupt::new(), LONG);
                table.release_all(&mut held);
                outcome
            })
        };
        while table.counters().waits_now <= count {
            assert!(!waiting.is_finished(), "transaction {trx} waits");
            std::thread::yield_now();
        }
        waiting
    };
    let writer = waits(2, begin(&table, 2), Exclusive);
    let heir = waits(3, heir, Shared);
    let began = Instant::now();
    table.inherit_all(id(6), (id(7), PageNo(1)));
    heir.join().unwrap().unwrap();
    assert!(began.elapsed() < LONG / 2);
    table.release_all(&mut reader);
    writer.join().unwrap().unwrap();
    assert_eq!(table.count(), 0);
}

#[test]
fn a_waiter_is_wakened_in_turn() {
    let table = Arc::new(LockTable::default());
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
    let table = Arc::new(LockTable::default());
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
    let table = Arc::new(LockTable::default());
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
    let table = LockTable::default();
    let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
    assert!(table.make_explicit(TrxId(1), id(9), PageNo(3)).unwrap());
    assert_eq!(table.try_lock(&mut b, LockRequest::new(id(9), Shared, Record)).unwrap(), TryLock::Conflict);
    table.release_all(&mut a);
    assert!(granted(table.try_lock(&mut b, LockRequest::new(id(9), Shared, Record))));
    assert!(!table.make_explicit(TrxId(1), id(9), PageNo(3)).unwrap());
}

#[test]
fn a_cycle_that_nobody_looks_for_ends_by_time() {
    let table = Arc::new(LockTable::default());
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

/// Begins to wait in a thread of its own; returns once the thread waits.
fn wait_in_thread(
    table: &Arc<LockTable>,
    mut held: Held,
    request: LockRequest,
) -> std::thread::JoinHandle<(Held, Result<()>)> {
    let waiting = table.counters().waits_now;
    let thread = {
        let table = table.clone();
        let begin = move || {
            let outcome = table.wait(&mut held, request, 1, &Interrupt::new(), LONG);
            table.release_all(&mut held);
            (held, outcome)
        };
        std::thread::Builder::new().stack_size(128 << 10).spawn(begin).unwrap()
    };
    while table.counters().waits_now == waiting {
        std::thread::yield_now();
    }
    thread
}

/// A thousand transactions want one record, and each has locked a record that another waits for, so each searches.
#[test]
fn a_search_for_deadlocks_looks_at_each_waiter_once() {
    const WAITERS: u64 = 1000;
    let table = Arc::new(LockTable::default());
    let mut holder = begin(&table, 1);
    assert!(granted(table.try_lock(&mut holder, LockRequest::record(id(7), Exclusive))));
    let mut threads = Vec::new();
    for trx in 0..WAITERS {
        let mut held = begin(&table, 2 + 2 * trx);
        assert!(granted(table.try_lock(&mut held, LockRequest::record(id(1000 + trx), Exclusive))));
        let other = begin(&table, 3 + 2 * trx);
        threads.push(wait_in_thread(&table, other, LockRequest::record(id(1000 + trx), Exclusive)));
        let before = table.counters().deadlock_steps;
        threads.push(wait_in_thread(&table, held, LockRequest::record(id(7), Exclusive)));
        let steps = table.counters().deadlock_steps - before;
        assert!(steps > 0 && steps <= 4 * (trx + 2), "{steps} steps past {trx} waiters");
    }
    // The next one closes a cycle through all of them, and is the most expensive member: another is the victim.
    assert_eq!(table.counters().deadlocks, 0);
    let closing =
        table.wait(&mut holder, LockRequest::record(id(1000 + WAITERS / 2), Exclusive), 9, &Interrupt::new(), LONG);
    closing.unwrap();
    let report = table.last_deadlock().unwrap();
    let members: Vec<TrxId> = report.members.iter().map(|member: &DeadlockMember| member.trx).collect();
    assert!(members.contains(&TrxId(1)) && members.len() >= 2 && report.victim != TrxId(1), "{report:?}");
    table.release_all(&mut holder);
    let victims = threads.into_iter().map(|thread| thread.join().unwrap().1).filter(|outcome| outcome.is_err()).count();
    assert_eq!((table.counters().deadlocks, victims, table.count()), (1, 1, 0));
}

/// A transaction that no other waits for closes no cycle, and does not search for one.
#[test]
fn a_transaction_that_nobody_waits_for_does_not_search() {
    let table = Arc::new(LockTable::default());
    let mut holder = begin(&table, 1);
    assert!(granted(table.try_lock(&mut holder, LockRequest::record(id(7), Exclusive))));
    let threads: Vec<_> = (2..50)
        .map(|trx| {
            let mut held = begin(&table, trx);
            assert!(granted(table.try_lock(&mut held, LockRequest::record(id(1000 + trx), Exclusive))));
            wait_in_thread(&table, held, LockRequest::record(id(7), Exclusive))
        })
        .collect();
    assert_eq!(table.counters().deadlock_steps, 0);
    table.release_all(&mut holder);
    threads.into_iter().for_each(|thread| thread.join().unwrap().1.unwrap());
}

/// Two readers of a record that both want to change it: each waits for the other's shared lock.
#[test]
fn two_readers_that_become_writers_are_a_deadlock() {
    for behind in [0, 3] {
        let table = Arc::new(LockTable::default());
        let (mut a, mut b) = (begin(&table, 1), begin(&table, 2));
        assert!(granted(table.try_lock(&mut a, LockRequest::record(id(7), Shared))));
        assert!(granted(table.try_lock(&mut b, LockRequest::record(id(7), Shared))));
        let others: Vec<_> = (0..behind)
            .map(|other| {
                let held = begin(&table, 10 + other);
                wait_in_thread(&table, held, LockRequest::record(id(7), Exclusive))
            })
            .collect();
        let first = wait_in_thread(&table, b, LockRequest::record(id(7), Exclusive));
        let outcome = table.wait(&mut a, LockRequest::record(id(7), Exclusive), 1, &Interrupt::new(), LONG);
        assert!(matches!(outcome, Err(Error::Deadlock)), "{outcome:?}");
        table.release_all(&mut a);
        first.join().unwrap().1.unwrap();
        others.into_iter().for_each(|thread| thread.join().unwrap().1.unwrap());
        assert_eq!(table.count(), 0);
    }
}

#[test]
fn memory_is_given_back_and_has_a_limit() {
    let table = LockTable::new(1 << 20, Arc::default());
    let mut held = begin(&table, 1);
    let request = |key: u64| LockRequest::record(id(key.wrapping_mul(0x9E37_79B9_7F4A_7C15)), Exclusive);
    let mut taken = 0;
    let refused = loop {
        match table.try_lock(&mut held, request(taken)) {
            Ok(outcome) => assert_eq!(outcome, TryLock::Granted { new: true }),
            Err(error) => break error,
        }
        taken += 1;
        assert!(taken < 1 << 20, "there is a limit");
    };
    assert!(matches!(refused, Error::LockTableFull));
    assert!(taken > 5000, "{taken} locks in a megabyte");
    assert!(table.bytes() <= 1 << 20, "{} bytes", table.bytes());
    // It keeps its locks, others get none, and a gap that a page change passes on is not refused.
    assert_eq!(table.count(), taken);
    let before = table.bytes();
    table.release_all(&mut held);
    assert!(table.bytes() < before / 16, "{} bytes of {before} for no lock", table.bytes());
    let mut other = begin(&table, 2);
    assert!((0..taken).all(|key| granted(table.try_lock(&mut other, request(key)))));
    table.release_all(&mut other);
}

#[test]
fn shared_holders_count_against_the_limit_of_memory() {
    let table = LockTable::new(1 << 20, Arc::default());
    let request = |key: u64| LockRequest::record(id(key), Shared);
    let mut readers: Vec<Held> = (1..=1000).map(|trx| begin(&table, trx)).collect();
    let mut refused = false;
    for reader in &mut readers {
        for key in 0..100 {
            refused |= table.try_lock(reader, request(key)).is_err();
        }
    }
    assert!(refused && table.bytes() <= 1 << 20, "{} bytes", table.bytes());
    readers.iter_mut().for_each(|reader| table.release_all(reader));
    assert!(table.bytes() < 64 << 10, "{} bytes for no lock", table.bytes());
    assert_eq!(table.count(), 0);
}

/// A place in the order of commits.
#[derive(Debug, Default)]
struct Place {
    order: u32,
    number: u64,
    overtaken: AtomicBool,
}

impl crate::lock::CommitPlace for Place {
    fn order(&self) -> u32 {
        self.order
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn overtaken(&self) {
        self.overtaken.store(true, Ordering::SeqCst);
    }

    fn committed(&self, _: Option<format::ids::Lsn>) {}
}

fn begin_ordered(table: &LockTable, number: u64) -> (Held, Arc<Place>) {
    let place = Arc::new(Place { number, ..Place::default() });
    let mut held = Held::default();
    held.order(Some(place.clone()));
    table.begin(&mut held, TrxId(100 + number));
    (held, place)
}

#[test]
fn a_later_transaction_gives_up_what_an_earlier_one_waits_for() {
    let table = Arc::new(LockTable::default());
    // The earlier one has changed more than the later one, or less: that does not matter.
    for weight in [0, 1000] {
        let ((mut first, one), (mut second, two)) = (begin_ordered(&table, 1), begin_ordered(&table, 2));
        let wanted = |hash| LockRequest::new(id(hash), Exclusive, Record);
        assert!(granted(table.try_lock(&mut second, wanted(7))));
        let waiting = {
            let table = table.clone();
            std::thread::spawn(move || {
                table.wait(&mut first, wanted(7), weight, &Interrupt::new(), LONG).unwrap();
                table.release_all(&mut first);
            })
        };
        while !two.overtaken.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        // It does not begin to wait any more.
        let mut client = begin(&table, 50);
        assert!(granted(table.try_lock(&mut client, wanted(8))));
        let outcome = table.wait(&mut second, wanted(8), 1, &Interrupt::new(), LONG);
        assert!(matches!(outcome, Err(Error::Deadlock)));
        table.release_all(&mut second);
        waiting.join().unwrap();
        table.release_all(&mut client);
        assert!(!one.overtaken.load(Ordering::SeqCst));
        assert_eq!((table.count(), table.counters().deadlocks), (0, 0));
    }
}

#[test]
fn the_order_of_commits_closes_a_cycle_over_another_transaction() {
    let table = Arc::new(LockTable::default());
    let wanted = |hash| LockRequest::new(id(hash), Exclusive, Record);
    // The order is the last edge of the cycle, or a lock is.
    for client_waits_last in [false, true] {
        let ((first, _), (mut third, late)) = (begin_ordered(&table, 1), begin_ordered(&table, 3));
        let (mut second, between) = begin_ordered(&table, 2);
        let mut client = begin(&table, 50);
        assert!(granted(table.try_lock(&mut third, wanted(7))));
        assert!(granted(table.try_lock(&mut client, wanted(8))));
        let spawn = |mut held: Held, hash| {
            let table = table.clone();
            std::thread::spawn(move || {
                table.wait(&mut held, wanted(hash), 1, &Interrupt::new(), LONG).unwrap();
                table.release_all(&mut held);
            })
        };
        let waits_now = table.counters().waits_now;
        let threads = if client_waits_last {
            let one = spawn(first, 8);
            while table.counters().waits_now == waits_now {
                std::thread::yield_now();
            }
            [one, spawn(client, 7)]
        } else {
            let one = spawn(client, 7);
            while table.counters().waits_now == waits_now {
                std::thread::yield_now();
            }
            [one, spawn(first, 8)]
        };
        while !late.overtaken.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        table.release_all(&mut third);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(!between.overtaken.load(Ordering::SeqCst), "it holds nothing that others want");
        table.release_all(&mut second);
        assert_eq!(table.count(), 0);
    }
}

/// A table whose transactions are large with more than three locks.
fn table_of_large() -> Arc<LockTable> {
    let table = LockTable::default();
    table.release_at_once(3);
    Arc::new(table)
}

/// Locks ten records with their gaps.
fn lock_ten(table: &LockTable, trx: u64, mode: LockMode) -> Held {
    let mut held = begin(table, trx);
    assert!((0..10).all(|key| granted(table.try_lock(&mut held, LockRequest::new(id(key), mode, NextKey)))));
    held
}

#[test]
fn what_a_large_transaction_held_is_free_before_it_is_removed() {
    let table = table_of_large();
    let (mut a, mut b) = (lock_ten(&table, 1, Exclusive), begin(&table, 2));
    let insert = LockRequest::insert(id(1));
    assert!(table.has_conflict(TrxId(2), insert));
    assert_eq!(table.try_lock(&mut b, LockRequest::record(id(0), Shared)).unwrap(), TryLock::Conflict);
    let bytes = table.bytes();
    table.release_all(&mut a);
    assert_eq!(table.bytes(), bytes, "nothing was removed yet");
    assert!(granted(table.try_lock(&mut b, LockRequest::record(id(0), Exclusive))));
    assert!(!table.has_conflict(TrxId(2), insert) && !table.is_used(id(2)));
    // A lock is inherited by those who hold it.
    table.inherit_all(id(3), (id(30), PageNo(1)));
    assert!(!table.is_used(id(30)));
    assert!(!table.make_explicit(TrxId(1), id(4), PageNo(1)).unwrap());
    let listed: Vec<TrxId> = table.list().iter().map(|lock| lock.owner).collect();
    assert_eq!(listed, [TrxId(2)]);
    assert!(table.release_step());
    while table.release_step() {}
    assert_eq!((table.count(), table.has_gaps(IndexId(1))), (1, false));
    table.release_all(&mut b);
    assert_eq!(table.count(), 0);
}

#[test]
fn the_background_removes_what_nobody_asks_for() {
    // Of a transaction that has most of the locks, and of one that has few of them.
    for others in [0, 1000] {
        let table = table_of_large();
        let mut b = begin(&table, 2);
        for key in 0..others {
            assert!(granted(table.try_lock(&mut b, LockRequest::record(id(100 + key), Exclusive))));
        }
        let mut a = lock_ten(&table, 1, Exclusive);
        table.release_all(&mut a);
        while table.release_step() {}
        assert_eq!(table.shards().ended_count(), 0);
        assert_eq!((table.count(), table.has_gaps(IndexId(1))), (others, false));
        let reserved = table.bytes();
        table.release_all(&mut b);
        while table.release_step() {}
        assert!(table.count() == 0 && table.bytes() <= reserved);
    }
}

#[test]
fn those_who_wait_for_a_large_transaction_go_on_when_it_ends() {
    let table = table_of_large();
    let mut a = lock_ten(&table, 1, Shared);
    // Some wait for it alone, one for another reader, too, and one behind that.
    let mut reader = begin(&table, 2);
    assert!(granted(table.try_lock(&mut reader, LockRequest::record(id(9), Shared))));
    let request = |key: u64| LockRequest::record(id(key), Exclusive);
    let free: Vec<_> = (0..5).map(|key| wait_in_thread(&table, begin(&table, 10 + key), request(key))).collect();
    let insert = wait_in_thread(&table, begin(&table, 20), LockRequest::insert(id(7)));
    let behind: Vec<_> = (0..2).map(|trx| wait_in_thread(&table, begin(&table, 30 + trx), request(9))).collect();
    table.release_all(&mut a);
    free.into_iter().chain([insert]).for_each(|thread| thread.join().unwrap().1.unwrap());
    assert_eq!(table.counters().waits_now, 2);
    table.release_all(&mut reader);
    behind.into_iter().for_each(|thread| thread.join().unwrap().1.unwrap());
    while table.release_step() {}
    assert_eq!(table.count(), 0);
}

/// A request that meets the lock just before the end and waits just after it, and the other way round.
#[test]
fn nobody_begins_to_wait_for_a_transaction_that_has_ended() {
    let table = table_of_large();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let background = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if !table.release_step() {
                    std::thread::yield_now();
                }
            }
        });
        let writers: Vec<_> = (0..3_u64)
            .map(|writer| {
                let table = &table;
                scope.spawn(move || {
                    for round in 0..700 {
                        let mut held = begin(table, 1 + writer + 3 * round);
                        // In one order: there is no deadlock, and who waits for long was forgotten.
                        for key in 0..6 {
                            let request = LockRequest::new(id(key), Exclusive, NextKey);
                            if table.try_lock(&mut held, request).unwrap() == TryLock::Conflict {
                                table.wait(&mut held, request, 1, &Interrupt::new(), LONG).unwrap();
                            }
                        }
                        table.release_all(&mut held);
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        stop.store(true, Ordering::Relaxed);
        background.join().unwrap();
    });
    while table.release_step() {}
    assert_eq!((table.count(), table.has_gaps(IndexId(1)), table.counters().deadlocks), (0, false, 0));
}

#[test]
fn a_transaction_that_has_ended_is_in_no_deadlock() {
    let table = table_of_large();
    let mut ended = lock_ten(&table, 1, Shared);
    let (mut b, mut c) = (begin(&table, 2), begin(&table, 3));
    assert!(granted(table.try_lock(&mut b, LockRequest::record(id(5), Shared))));
    assert!(granted(table.try_lock(&mut c, LockRequest::record(id(50), Exclusive))));
    let waiting = wait_in_thread(&table, c, LockRequest::record(id(5), Exclusive));
    table.release_all(&mut ended);
    let closing = table.wait(&mut b, LockRequest::record(id(50), Exclusive), 1, &Interrupt::new(), LONG);
    assert!(matches!(closing, Err(Error::Deadlock)), "{closing:?}");
    let members: Vec<TrxId> = table.last_deadlock().unwrap().members.iter().map(|member| member.trx).collect();
    assert_eq!(members.len(), 2);
    assert!(!members.contains(&TrxId(1)));
    table.release_all(&mut b);
    waiting.join().unwrap().1.unwrap();
    while table.release_step() {}
    assert_eq!(table.count(), 0);
}

#[test]
fn a_killed_waiter_leaves_nothing_in_what_a_large_transaction_held() {
    let table = table_of_large();
    let mut ended = lock_ten(&table, 1, Shared);
    let (mut reader, mut b) = (begin(&table, 2), begin(&table, 3));
    assert!(granted(table.try_lock(&mut reader, LockRequest::record(id(5), Shared))));
    let interrupt = Arc::new(Interrupt::new());
    let waiting = {
        let (table, interrupt) = (table.clone(), interrupt.clone());
        std::thread::spawn(move || {
            let outcome = table.wait(&mut b, LockRequest::record(id(5), Exclusive), 1, &interrupt, LONG);
            table.release_all(&mut b);
            outcome
        })
    };
    while table.counters().waits_now == 0 {
        std::thread::yield_now();
    }
    table.release_all(&mut ended);
    interrupt.set(Kill::Query);
    assert!(matches!(waiting.join().unwrap(), Err(Error::Interrupted)));
    assert!(granted(table.try_lock(&mut reader, LockRequest::record(id(5), Exclusive))));
    table.release_all(&mut reader);
    while table.release_step() {}
    assert_eq!(table.count(), 0);
}

#[test]
fn locks_of_ended_transactions_refuse_none() {
    let table = LockTable::new(1 << 20, Arc::default());
    table.release_at_once(3);
    let request = |key: u64| LockRequest::record(id(key.wrapping_mul(0x9E37_79B9_7F4A_7C15)), Exclusive);
    let mut first = begin(&table, 1);
    let room = (0..).take_while(|key| table.try_lock(&mut first, request(*key)).is_ok()).count() as u64;
    for ended in 1..=3 {
        let bytes = table.bytes();
        table.release_all(&mut first);
        assert_eq!(table.bytes(), bytes, "however full the memory is, none was looked at");
        assert_eq!(table.shards().ended_count(), ended);
        first = begin(&table, 1 + ended as u64);
        let keys = ended as u64 * room..;
        let taken = keys.take_while(|key| table.try_lock(&mut first, request(*key)).is_ok()).count() as u64;
        assert!(taken >= room * 9 / 10, "{taken} of {room}, as if it were alone");
    }
    table.release_all(&mut first);
    while table.release_step() {}
    assert!(table.count() == 0 && table.bytes() < 64 << 10, "{} bytes for no lock", table.bytes());
}

#[test]
fn a_million_locks_are_removed_behind_the_end() {
    let table = LockTable::default();
    table.release_at_once(2000);
    let request = |key: u64| LockRequest::new(id(key.wrapping_mul(0x9E37_79B9_7F4A_7C15)), Exclusive, NextKey);
    let mut held = begin(&table, 1);
    assert!((0..1_000_000).all(|key| granted(table.try_lock(&mut held, request(key)))));
    let bytes = table.bytes();
    table.release_all(&mut held);
    assert_eq!(table.bytes(), bytes, "none was looked at");
    let mut other = begin(&table, 2);
    assert!((0..1_000_000).step_by(1000).all(|key| granted(table.try_lock(&mut other, request(key)))));
    while table.release_step() {}
    assert_eq!(table.count(), 1000);
    table.release_all(&mut other);
    assert!(table.count() == 0 && table.bytes() < 64 << 10, "{} bytes for no lock", table.bytes());
}

#[test]
fn transactions_of_different_orders_wait_by_locks_alone() {
    let table = Arc::new(LockTable::default());
    let (mut first, one) = begin_ordered(&table, 1);
    let other = Arc::new(Place { order: 1, number: 2, ..Place::default() });
    let mut second = Held::default();
    second.order(Some(other.clone()));
    table.begin(&mut second, TrxId(202));
    let wanted = LockRequest::new(id(7), Exclusive, Record);
    assert!(granted(table.try_lock(&mut second, wanted)));
    let waiting = {
        let table = table.clone();
        std::thread::spawn(move || {
            table.wait(&mut first, wanted, 0, &Interrupt::new(), LONG).unwrap();
            table.release_all(&mut first);
        })
    };
    std::thread::sleep(Duration::from_millis(50));
    assert!(!waiting.is_finished() && !other.overtaken.load(Ordering::SeqCst) && !one.overtaken.load(Ordering::SeqCst));
    table.release_all(&mut second);
    waiting.join().unwrap();
}
