//! What one statement did, and what many did together.

/// The rows and warnings of a statement, and how it found its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub errors: u64,
    pub warnings: u64,
    pub rows_affected: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub select_full_join: u64,
    pub select_range: u64,
    pub select_scan: u64,
    pub sort_range: u64,
    pub sort_rows: u64,
    pub sort_scan: u64,
    pub no_index_used: u64,
    pub tmp_disk_tables: u64,
    pub sort_merge_passes: u64,
}

impl Work {
    pub fn add(&mut self, other: &Work) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.rows_affected += other.rows_affected;
        self.rows_sent += other.rows_sent;
        self.rows_examined += other.rows_examined;
        self.select_full_join += other.select_full_join;
        self.select_range += other.select_range;
        self.select_scan += other.select_scan;
        self.sort_range += other.sort_range;
        self.sort_rows += other.sort_rows;
        self.sort_scan += other.sort_scan;
        self.no_index_used += other.no_index_used;
        self.tmp_disk_tables += other.tmp_disk_tables;
        self.sort_merge_passes += other.sort_merge_passes;
    }
}

/// One statement. Times are in nanoseconds, moments since the server's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    pub started: u64,
    pub wait: u64,
    /// Of it, waiting for locks.
    pub lock: u64,
    /// On a processor; 0 unless `events_statements_cpu` is on.
    pub cpu: u64,
}

/// The text of one of the statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub text: Vec<u8>,
    pub seen: u64,
    pub wait: u64,
}

/// Four classes of durations for each power of two, from a microsecond to more than an hour.
const CLASSES: usize = 128;

/// What statements with one digest did. Times as in [`Timing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    pub count: u64,
    pub wait: u64,
    pub wait_min: u64,
    pub wait_max: u64,
    pub lock: u64,
    pub cpu: u64,
    pub work: Work,
    pub first_seen: u64,
    pub last_seen: u64,
    /// The slowest of them.
    pub sample: Sample,
    durations: [u32; CLASSES],
}

impl Default for Sums {
    fn default() -> Sums {
        Sums {
            count: 0,
            wait: 0,
            wait_min: u64::MAX,
            wait_max: 0,
            lock: 0,
            cpu: 0,
            work: Work::default(),
            first_seen: u64::MAX,
            last_seen: 0,
            sample: Sample::default(),
            durations: [0; CLASSES],
        }
    }
}

/// The class of a duration. About a microsecond is the unit.
fn class(nanos: u64) -> usize {
    let units = (nanos >> 10).max(4);
    let power = units.ilog2();
    let quarter = (units >> (power - 2)) & 3;
    (((power - 2) * 4) as usize + quarter as usize).min(CLASSES - 1)
}

/// Where the next class begins.
fn class_end(class: usize) -> u64 {
    let (power, quarter) = (class / 4 + 2, class as u64 % 4);
    ((5 + quarter) << (power - 2)) << 10
}

impl Sums {
    /// Counts a statement, and keeps at most `text_max` bytes of the slowest one's text.
    #[inline]
    pub fn count(&mut self, timing: &Timing, work: &Work, text: &[u8], text_max: usize) {
        if self.count == 0 || timing.wait > self.sample.wait {
            self.sample.text.clear();
            self.sample.text.extend_from_slice(&text[..text.len().min(text_max)]);
            self.sample.seen = timing.started;
            self.sample.wait = timing.wait;
        }
        self.count += 1;
        self.wait += timing.wait;
        self.wait_min = self.wait_min.min(timing.wait);
        self.wait_max = self.wait_max.max(timing.wait);
        self.lock += timing.lock;
        self.cpu += timing.cpu;
        self.work.add(work);
        self.first_seen = self.first_seen.min(timing.started);
        self.last_seen = self.last_seen.max(timing.started);
        let class = &mut self.durations[class(timing.wait)];
        *class = class.saturating_add(1);
    }

    pub fn add(&mut self, other: &Sums) {
        if other.sample.wait > self.sample.wait || self.count == 0 {
            self.sample = other.sample.clone();
        }
        self.count += other.count;
        self.wait += other.wait;
        self.wait_min = self.wait_min.min(other.wait_min);
        self.wait_max = self.wait_max.max(other.wait_max);
        self.lock += other.lock;
        self.cpu += other.cpu;
        self.work.add(&other.work);
        self.first_seen = self.first_seen.min(other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        for (class, other) in self.durations.iter_mut().zip(&other.durations) {
            *class = class.saturating_add(*other);
        }
    }

    /// A duration that this share of the statements did not exceed: the end of its class, so up to a quarter too long.
    pub fn quantile(&self, share: f64) -> u64 {
        let total: u64 = self.durations.iter().map(|count| u64::from(*count)).sum();
        let wanted = (total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (class, count) in self.durations.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return class_end(class).min(self.wait_max);
            }
        }
        self.wait_max
    }
}

/// Picoseconds in the largest unit of which there is one, as `sys.format_time()` shows them.
pub fn time_with_unit(picos: f64) -> String {
    const UNITS: [(f64, &str); 8] = [
        (604_800e12, "w"),
        (86_400e12, "d"),
        (3_600e12, "h"),
        (60e12, "m"),
        (1e12, "s"),
        (1e9, "ms"),
        (1e6, "us"),
        (1e3, "ns"),
    ];
    match UNITS.iter().find(|(unit, _)| picos >= *unit) {
        Some((unit, name)) => format!("{:.2} {name}", picos / unit),
        None => format!("{picos:.0} ps"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_class_that_ends_behind_it() {
        for nanos in
            [0, 1000, 4096, 5119, 5120, 9_000, 123_456, 1_000_000, 77_000_000, 3_000_000_000, 4_000_000_000_000]
        {
            let class = class(nanos);
            assert!(class_end(class) > nanos, "{nanos}");
            assert!(class == 0 || class_end(class - 1) <= nanos, "{nanos}");
        }
        assert_eq!(class(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn quantiles_and_the_slowest_text_come_from_all() {
        let (mut one, mut other) = (Sums::default(), Sums::default());
        let timing = |started, wait| Timing { started, wait, ..Timing::default() };
        for at in 0..99 {
            one.count(&timing(at, 10_000), &Work::default(), b"quick", 3);
        }
        other.count(&timing(100, 50_000_000), &Work { errors: 1, ..Work::default() }, b"slow", 3);
        one.add(&other);
        assert_eq!((one.count, one.wait_min, one.wait_max, one.work.errors), (100, 10_000, 50_000_000, 1));
        assert_eq!((one.first_seen, one.last_seen), (0, 100));
        assert_eq!(one.sample, Sample { text: b"slo".to_vec(), seen: 100, wait: 50_000_000 });
        assert!((10_000..=12_500).contains(&one.quantile(0.95)), "{}", one.quantile(0.95));
        assert_eq!(one.quantile(0.999), 50_000_000);
    }
}
