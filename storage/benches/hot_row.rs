//! A record that many transactions want at the same time: the cost of passing its lock on.
//!
//! ```sh
//! cargo bench -p storage --bench hot_row
//! ```
//!
//! Each thread runs one transaction after the other; each locks the common record and ends. With "and a record of its
//! own", a transaction first locks a record that no other wants; with "that another waits for", one that its neighbour
//! waits for, so that each deadlock search has some steps to take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use format::ids::{IndexId, TrxId};
use storage::lock::{Held, LockId, LockTable, TryLock};
use storage::{Interrupt, LockMode, LockRequest};

const LIMIT: Duration = Duration::from_secs(60);
/// How often the common record's lock is passed on, over all threads.
const TURNS: u64 = 10_000;

#[derive(Clone, Copy, PartialEq)]
enum First {
    Nothing,
    OfItsOwn,
    Awaited,
}

fn request(key: u64) -> LockRequest {
    let key_hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    LockRequest::record(LockId { index: IndexId(7), key_hash }, LockMode::Exclusive)
}

fn lock(locks: &LockTable, held: &mut Held, request: LockRequest) {
    let granted = matches!(locks.try_lock(held, request), Ok(TryLock::Granted { .. }));
    if !granted {
        locks.wait(held, request, 1, &Interrupt::new(), LIMIT).expect("no cycle, and time enough");
    }
}

/// Microseconds of one turn.
fn turns(threads: u64, first: First) -> f64 {
    let locks = Arc::new(LockTable::new(usize::MAX, Arc::default()));
    let (next, turns) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(0)));
    let begin = Instant::now();
    let workers: Vec<_> = (0..threads)
        .map(|thread| {
            let (locks, next, turns) = (locks.clone(), next.clone(), turns.clone());
            std::thread::spawn(move || {
                let mut held = Held::default();
                while turns.fetch_add(1, Ordering::Relaxed) < TURNS && begin.elapsed() < LIMIT {
                    locks.begin(&mut held, TrxId(next.fetch_add(1, Ordering::Relaxed)));
                    match first {
                        First::Nothing => {}
                        First::OfItsOwn => lock(&locks, &mut held, request(1000 + thread)),
                        First::Awaited => lock(&locks, &mut held, request(1000 + thread / 2)),
                    }
                    lock(&locks, &mut held, request(1));
                    locks.release_all(&mut held);
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().expect("a worker does not panic"));
    let done = turns.load(Ordering::Relaxed).saturating_sub(threads);
    begin.elapsed().as_micros() as f64 / done as f64
}

fn main() {
    println!("{:<58} {:>8}", "one turn of a record that all want, in microseconds", "");
    for threads in [10, 100, 1000] {
        for (what, first) in [
            ("no other lock", First::Nothing),
            ("and a record of its own", First::OfItsOwn),
            ("and a record that another waits for", First::Awaited),
        ] {
            println!("{:<58} {:>8.1}", format!("{threads} threads, {what}"), turns(threads, first));
        }
    }
}
