//! How far the log may be read: what dumps wait for.
//!
//! ```text
//!   commits     write what is durable into the file  --->  End { file 7, 81 234 bytes }  ---> readers
//! ```
//!
//! A thread that has written sets two numbers under a lock of its own, and wakes the readers that wait. A reader takes the
//! lock as briefly, and none of those that commits hold, so that the number of readers does not slow commits. A commit
//! writes at once only if a reader waits ([`End::is_awaited`]); otherwise many commits are written together.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::time::Duration;

use storage::sync::{Condvar, Mutex, Rank};

/// A point up to which everything is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The number of the newest file.
    pub file: u32,
    /// Its bytes.
    pub bytes: u64,
    /// How often all files were removed, after which their numbers begin again.
    pub resets: u64,
    /// Nothing more is written.
    pub closed: bool,
}

/// See the module header.
pub struct End {
    reach: Mutex<Reach>,
    grown: Condvar,
    /// Readers that wait or are about to.
    waiting: AtomicUsize,
}

/// A reader is about to wait: from here on every commit is written at once.
pub struct Waiting<'a>(&'a End);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Release);
    }
}

impl End {
    pub fn new(file: u32, bytes: u64) -> End {
        let reach = Reach { file, bytes, resets: 0, closed: false };
        End { reach: Mutex::new(Rank::Leaf, reach), grown: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    pub fn get(&self) -> Reach {
        *self.reach.lock()
    }

    fn change(&self, change: impl FnOnce(&mut Reach)) {
        change(&mut self.reach.lock());
        self.grown.notify_all();
    }

    /// The file has so many bytes now.
    pub(crate) fn grow(&self, bytes: u64) {
        self.change(|reach| reach.bytes = bytes);
    }

    /// The log goes on in this file.
    pub(crate) fn go_on_in(&self, file: u32, bytes: u64) {
        self.change(|reach| (reach.file, reach.bytes) = (file, bytes));
    }

    /// All files have been removed; this is the first of the new ones.
    pub(crate) fn begin_again(&self, file: u32, bytes: u64) {
        self.change(|reach| *reach = Reach { file, bytes, resets: reach.resets + 1, closed: reach.closed });
    }

    pub(crate) fn close(&self) {
        self.change(|reach| reach.closed = true);
    }

    /// The reader looks for what is not written yet after this, and waits then.
    pub(crate) fn announce(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        // Either this reader sees what a commit has made durable, or the commit sees this reader.
        fence(Ordering::SeqCst);
        Waiting(self)
    }

    /// Whether a reader waits for what has just been made durable.
    pub(crate) fn is_awaited(&self) -> bool {
        fence(Ordering::SeqCst);
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Waits until there is more than what the reader knows of, but not for longer than the limit, and not beyond a
    /// [`End::wake`].
    pub fn wait(&self, known: Reach, limit: Duration) -> Reach {
        let mut reach = self.reach.lock();
        if *reach == known && !reach.closed {
            self.grown.wait_for(&mut reach, limit);
        }
        *reach
    }

    /// Lets all who wait look whether they still should.
    pub fn wake(&self) {
        // Whoever has looked and not begun to wait holds the lock.
        drop(self.reach.lock());
        self.grown.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Instant;

    #[test]
    fn a_reader_is_woken_by_growth_and_by_nothing_else() {
        let end = Arc::new(End::new(1, 4));
        let known = end.get();
        let began = Instant::now();
        assert_eq!(end.wait(known, Duration::from_millis(20)), known);
        assert!(began.elapsed() >= Duration::from_millis(20));
        let reader = {
            let end = end.clone();
            std::thread::spawn(move || end.wait(known, Duration::from_secs(60)))
        };
        end.grow(100);
        assert_eq!(reader.join().unwrap(), Reach { bytes: 100, ..known });
        end.close();
        assert!(end.wait(end.get(), Duration::from_secs(60)).closed);
    }
}
