//! What a run has done and encountered, counted by name: shows that the seeds still reach the interesting faults.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Counters, summed over seeds for the last line.
#[derive(Clone, Debug, Default)]
pub struct Report {
    counts: BTreeMap<Cow<'static, str>, u64>,
}

impl Report {
    pub fn count(&mut self, what: impl Into<Cow<'static, str>>) {
        self.add(what, 1);
    }

    pub fn add(&mut self, what: impl Into<Cow<'static, str>>, count: u64) {
        if count > 0 {
            *self.counts.entry(what.into()).or_default() += count;
        }
    }

    pub fn merge(&mut self, other: &Report) {
        for (what, count) in &other.counts {
            self.add(what.clone(), *count);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (what, count)) in self.counts.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{what} {count}")?;
        }
        Ok(())
    }
}
