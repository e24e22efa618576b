//! What EXPLAIN ANALYZE measures of a plan that runs: how often each of its parts ran, the rows that it gave, and the time
//! until the first and the last of them.
//!
//! A part is known by its place in memory: the plan is not moved while it runs and is shown. The time of a part is its own
//! and that of the parts below it; what is done with its rows is not counted.

use std::cell::RefCell;
use std::fmt::Write;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::error::Result;

#[derive(Debug, Default)]
pub struct Profile {
    parts: RefCell<FxHashMap<usize, Counts>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    loops: u64,
    rows: u64,
    /// The sums over all loops.
    first: Duration,
    all: Duration,
}

fn key<P>(part: &P) -> usize {
    std::ptr::from_ref(part).addr()
}

impl Profile {
    /// Runs a part once. `run` gets what each row that the part gives is put through.
    pub fn measure<P, T>(&self, part: &P, run: impl FnOnce(&mut Rows) -> Result<T>) -> Result<T> {
        let mut rows = Rows { begin: Instant::now(), count: 0, first: None, elsewhere: Duration::ZERO };
        let result = run(&mut rows);
        let all = rows.own_time();
        let mut parts = self.parts.borrow_mut();
        let counts = parts.entry(key(part)).or_default();
        counts.loops += 1;
        counts.rows += rows.count;
        counts.first += rows.first.unwrap_or(all);
        counts.all += all;
        result
    }

    /// As MySQL shows it; times are in milliseconds, for one loop.
    pub fn text<P>(&self, part: &P) -> String {
        let parts = self.parts.borrow();
        let Some(counts) = parts.get(&key(part)) else { return " (never executed)".into() };
        let one = |sum: Duration| sum.as_secs_f64() * 1000.0 / counts.loops as f64;
        let rows = counts.rows as f64 / counts.loops as f64;
        let mut text = format!(" (actual time={}..{}", digits(one(counts.first)), digits(one(counts.all)));
        let _ = write!(text, " rows={} loops={})", digits(rows), counts.loops);
        text
    }
}

/// Three digits that count.
fn digits(value: f64) -> String {
    match value {
        value if value >= 100.0 || value == value.trunc() => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value if value >= 0.1 => format!("{value:.3}"),
        value => format!("{value:.4}"),
    }
}

/// The rows of one loop.
pub struct Rows {
    begin: Instant,
    count: u64,
    first: Option<Duration>,
    /// Time that went into what is done with the rows.
    elsewhere: Duration,
}

impl Rows {
    fn own_time(&self) -> Duration {
        self.begin.elapsed().saturating_sub(self.elsewhere)
    }

    /// Counts a row, and does with it what is done with the rows.
    pub fn pass<T>(&mut self, next: impl FnOnce() -> T) -> T {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some(self.own_time());
        }
        let begin = Instant::now();
        let result = next();
        self.elsewhere += begin.elapsed();
        result
    }
}
