//! What transactions took in a log, plain and compressed: `performance_schema.binary_log_transaction_compression_stats`.

use std::sync::atomic::{AtomicU64, Ordering};

use format::binlog::payload::Payload;
use format::binlog::{Checksum, Event, EventKind, Gtid, Header, gtid};
use storage::sync::{Mutex, Rank};

/// A transaction that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub gtid: Option<Gtid>,
    /// Whether its events are compressed.
    pub is_payload: bool,
    /// Bytes of its events as they are in the log, and before they were compressed.
    pub bytes: u64,
    pub plain_bytes: u64,
    /// Microseconds since 1970.
    pub micros: u64,
}

/// All transactions of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    pub transactions: u64,
    pub bytes: u64,
    pub plain_bytes: u64,
    pub first: Counted,
    pub last: Counted,
}

impl Sum {
    /// How much less it is, in per cent, rounded.
    pub fn percentage(&self) -> i64 {
        let (plain, bytes) = (i128::from(self.plain_bytes), i128::from(self.bytes));
        if plain == 0 {
            return 0;
        }
        let doubled = 200 * (plain - bytes) + if bytes <= plain { plain } else { -plain };
        (doubled / (2 * plain)) as i64
    }
}

/// See the module header.
pub struct Stats {
    /// Compressed transactions, and plain ones.
    sums: Mutex<[Option<Sum>; 2]>,
    /// Binlog_cache_use, Binlog_cache_disk_use, Binlog_stmt_cache_use.
    caches: AtomicU64,
    files: AtomicU64,
    statements: AtomicU64,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            sums: Mutex::new(Rank::Leaf, [None; 2]),
            caches: AtomicU64::new(0),
            files: AtomicU64::new(0),
            statements: AtomicU64::new(0),
        }
    }
}

impl Stats {
    /// A transaction has been written.
    pub fn count(&self, one: Counted) {
        let sum = &mut self.sums.lock()[usize::from(!one.is_payload)];
        let sum = sum.get_or_insert(Sum { transactions: 0, bytes: 0, plain_bytes: 0, first: one, last: one });
        sum.transactions += 1;
        sum.bytes += one.bytes;
        sum.plain_bytes += one.plain_bytes;
        sum.last = one;
    }

    /// Forgets the transactions that were counted: TRUNCATE TABLE binary_log_transaction_compression_stats.
    pub fn clear(&self) {
        *self.sums.lock() = [None; 2];
    }

    /// Its events were collected in a session's cache, and in a file, too.
    pub(crate) fn count_cache(&self, in_file: bool) {
        self.caches.fetch_add(1, Ordering::Relaxed);
        self.files.fetch_add(u64::from(in_file), Ordering::Relaxed);
    }

    /// A statement of definition was written.
    pub(crate) fn count_statement(&self) {
        self.statements.fetch_add(1, Ordering::Relaxed);
    }

    /// Compressed transactions, and plain ones, as far as there are any.
    pub fn sums(&self) -> [Option<Sum>; 2] {
        *self.sums.lock()
    }

    /// Transactions with changed rows, those of them that needed a file, and statements.
    pub fn uses(&self) -> (u64, u64, u64) {
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
        (get(&self.caches), get(&self.files), get(&self.statements))
    }
}

/// Counts the transactions in a stream of events that another server has written.
#[derive(Default)]
pub struct Follower {
    open: Option<Counted>,
    /// Bytes that the transaction says that it has behind its Gtid event; 0 = it does not say.
    left: u64,
}

impl Follower {
    /// Whether an event has to be given to [`Follower::see`] as a whole.
    pub fn reads(kind: EventKind) -> bool {
        matches!(kind, EventKind::GTID | EventKind::ANONYMOUS_GTID | EventKind::TRANSACTION_PAYLOAD)
    }

    /// The next event of the stream, which has this checksum: that is not counted, as it is not in the server that writes
    /// the log. What cannot be read is not counted.
    pub fn see(&mut self, header: &Header, checksum: Checksum, event: Option<&Event<'_>>, stats: &Stats) {
        let bytes = u64::from(header.bytes);
        if let Some(event) = event
            && let Ok(Some(named)) = gtid::gtid_of(event)
        {
            self.end(stats);
            let commit = named.commit.unwrap_or_default();
            let micros = match commit.immediate_micros {
                0 => u64::from(header.timestamp) * 1_000_000,
                micros => micros,
            };
            self.open = Some(Counted { gtid: named.gtid, is_payload: false, bytes: 0, plain_bytes: 0, micros });
            self.left = commit.transaction_bytes.saturating_sub(bytes);
            return;
        }
        if matches!(header.kind, EventKind::ROTATE | EventKind::STOP | EventKind::FORMAT_DESCRIPTION) {
            return self.end(stats);
        }
        let Some(open) = &mut self.open else { return };
        let counted = bytes.saturating_sub(checksum.bytes() as u64);
        open.bytes += counted;
        open.plain_bytes += counted;
        if header.kind == EventKind::TRANSACTION_PAYLOAD
            && let Some(event) = event
            && let Ok(payload) = Payload::decode(event.body)
        {
            open.is_payload = true;
            (open.bytes, open.plain_bytes) = (payload.bytes.len() as u64, payload.plain_bytes);
            return self.end(stats);
        }
        if self.left > 0 {
            self.left = self.left.saturating_sub(bytes);
            if self.left == 0 {
                self.end(stats);
            }
        }
    }

    fn end(&mut self, stats: &Stats) {
        if let Some(one) = self.open.take().filter(|one| one.plain_bytes > 0) {
            stats.count(one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentage_is_what_was_saved_rounded() {
        let one = Counted { gtid: None, is_payload: true, bytes: 0, plain_bytes: 0, micros: 0 };
        let sum = |bytes, plain_bytes| Sum { transactions: 1, bytes, plain_bytes, first: one, last: one }.percentage();
        assert_eq!(sum(60_567_685_985, 587_303_716_054), 90, "the example of MySQL's manual");
        assert_eq!([sum(0, 0), sum(100, 100), sum(1, 200), sum(3, 200), sum(150, 100)], [0, 0, 100, 99, -50]);
    }

    #[test]
    fn sums_are_kept_by_kind() {
        let stats = Stats::default();
        for (bytes, is_payload) in [(10, true), (20, false), (30, true)] {
            stats.count(Counted { gtid: None, is_payload, bytes, plain_bytes: 100, micros: bytes });
        }
        let [Some(packed), Some(plain)] = stats.sums() else { panic!("both kinds") };
        assert_eq!((packed.transactions, packed.bytes, packed.plain_bytes), (2, 40, 200));
        assert_eq!((packed.first.bytes, packed.last.bytes, plain.transactions), (10, 30, 1));
    }
}
