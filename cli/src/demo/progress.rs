//! How far a load has come: a bar on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

/// Tells the user that something is going on.
pub struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    done: AtomicU64,
}

impl Progress {
    pub fn begin(total: u64) -> Self {
        let bar = io::stdout().is_terminal().then(|| {
            let bar = ProgressBar::new(total);
            let style = "{msg:>5} {wide_bar} {human_pos} of {human_len} rows, {per_sec}, {eta} left";
            bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
            bar
        });
        Self { bar, total, done: AtomicU64::new(0) }
    }

    /// The rows of another codec follow.
    pub fn codec(&self, codec: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(codec.to_owned()),
            None => println!("loading: {codec}, {} of {} rows done", self.done.load(Ordering::Relaxed), self.total),
        }
    }

    pub fn advance(&self, rows: u64) {
        self.done.fetch_add(rows, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.inc(rows);
        }
    }

    pub fn end(&self) {
        match &self.bar {
            Some(bar) => bar.finish_and_clear(),
            None => println!("loading: {} rows done", self.done.load(Ordering::Relaxed)),
        }
    }
}
