//! Commits that wait for each other before the log is synced, so that one sync serves more of them.
//!
//! The first one waits for the delay, or until so many wait together as are enough, and then all of them go on to one
//! sync. It is worth while only where a sync takes longer than the delay; without a delay a commit pays for one look at
//! an atomic number.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, Rank};

/// See the module header.
pub struct Gathering {
    delay_micros: AtomicU64,
    enough: AtomicUsize,
    group: Mutex<Group>,
    /// A group has become large enough, or has gone on.
    changed: Condvar,
}

/// Those who wait together now.
#[derive(Default)]
struct Group {
    number: u64,
    waiting: usize,
}

impl Default for Gathering {
    fn default() -> Gathering {
        Gathering {
            delay_micros: AtomicU64::new(0),
            enough: AtomicUsize::new(0),
            group: Mutex::new(Rank::Leaf, Group::default()),
            changed: Condvar::new(),
        }
    }
}

impl Gathering {
    /// How long the first one waits, and how many are enough to go on earlier; 0 = no number is. Those who wait now go on:
    /// a shutdown takes the delay away first.
    pub fn configure(&self, delay: Duration, enough: usize) {
        self.enough.store(enough, Ordering::Relaxed);
        self.delay_micros.store(delay.as_micros() as u64, Ordering::Relaxed);
        self.go_on(&mut self.group.lock());
    }

    /// Waits for others, if there is a delay.
    #[inline]
    pub fn wait(&self) {
        let delay = self.delay_micros.load(Ordering::Relaxed);
        if delay != 0 {
            self.wait_for(Duration::from_micros(delay));
        }
    }

    fn wait_for(&self, delay: Duration) {
        let enough = self.enough.load(Ordering::Relaxed);
        let mut group = self.group.lock();
        group.waiting += 1;
        if enough != 0 && group.waiting >= enough {
            self.go_on(&mut group);
            return;
        }
        let (number, until) = (group.number, Instant::now() + delay);
        while group.number == number {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // The first one's time is over first, and it takes the others along.
                self.go_on(&mut group);
                return;
            }
            self.changed.wait_for(&mut group, left);
        }
    }

    fn go_on(&self, group: &mut Group) {
        (group.number, group.waiting) = (group.number + 1, 0);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn who_waits_goes_on_when_the_delay_is_taken_away() {
        let gathering = Arc::new(Gathering::default());
        gathering.configure(Duration::from_secs(1000), 0);
        let waiter = std::thread::spawn({
            let gathering = gathering.clone();
            move || gathering.wait()
        });
        while gathering.group.lock().waiting == 0 {
            std::thread::yield_now();
        }
        gathering.configure(Duration::ZERO, 0);
        waiter.join().expect("it ends");
    }

    use super::*;
    use std::sync::Arc;

    fn waited(gathering: &Gathering) -> Duration {
        let began = Instant::now();
        gathering.wait();
        began.elapsed()
    }

    #[test]
    fn one_waits_for_the_delay_and_not_at_all_without_one() {
        let gathering = Gathering::default();
        assert!(waited(&gathering) < Duration::from_millis(20));
        gathering.configure(Duration::from_millis(30), 0);
        assert!(waited(&gathering) >= Duration::from_millis(30));
        assert!(waited(&gathering) >= Duration::from_millis(30));
        gathering.configure(Duration::from_secs(1000), 1);
        assert!(waited(&gathering) < Duration::from_secs(100), "one is enough");
    }

    #[test]
    fn so_many_as_are_enough_go_on_at_once() {
        let gathering = Arc::new(Gathering::default());
        gathering.configure(Duration::from_secs(1000), 3);
        for _ in 0..50 {
            let together: Vec<_> = (0..3)
                .map(|_| {
                    let gathering = gathering.clone();
                    std::thread::spawn(move || gathering.wait())
                })
                .collect();
            together.into_iter().for_each(|thread| thread.join().expect("it ends"));
        }
    }

    #[test]
    fn the_first_one_takes_the_others_along() {
        let gathering = Arc::new(Gathering::default());
        gathering.configure(Duration::from_millis(400), 0);
        let first = std::thread::spawn({
            let gathering = gathering.clone();
            move || gathering.wait()
        });
        while gathering.group.lock().waiting == 0 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(200));
        let second = waited(&gathering);
        first.join().expect("it ends");
        assert!(second < Duration::from_millis(390), "{second:?}");
    }
}
