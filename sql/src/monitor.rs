//! SHOW ENGINE INNODB STATUS: the state of the engine as one text.
//!
//! Monitoring programs read this text with regular expressions that were made for
//! InnoDB's, section by section, so the sections and the words around the numbers are
//! those that they look for:
//!
//! ```text
//! 2026-01-31 12:00:00 0x1 INNODB MONITOR OUTPUT
//! BACKGROUND THREAD, SEMAPHORES, LATEST FOREIGN KEY ERROR and LATEST DETECTED DEADLOCK (if there was one),
//! TRANSACTIONS, FILE I/O, LOG,
//! BUFFER POOL AND MEMORY, PAGE COMPRESSION, PAGE CLEANERS, ROW OPERATIONS
//! END OF INNODB MONITOR OUTPUT
//! ```
//!
//! PAGE COMPRESSION and PAGE CLEANERS are ours. What InnoDB counts and this engine does
//! not have (insert buffer, adaptive hash index, asynchronous I/O) is left out, or is 0
//! where programs insist on the line.
//!
//! Rates are averages since the last request for the text, by any session, or since the start.
//!
//! Not here: the counters themselves, which are the engine's; and their names as status
//! variables, which are `status`'s.

mod transactions;

use std::fmt::Write;
use std::sync::Arc;

use format::value::{DateTime, Zone};
use storage::{EngineStatus, ForeignKeyReport, PageCleanerStatus};

use crate::information_schema::Facts;
use crate::instance::Instance;
use crate::locks::{self, Picture};

/// The whole text.
pub fn report(facts: &Facts<'_>) -> String {
    let engine = &facts.instance.engine;
    let now = engine.status();
    let (before, seconds) = facts.instance.status.since_last_report(&now);
    let report = Report { now: &now, before: &before, seconds: seconds.max(0.001), out: String::new() };
    let picture = Picture::take(facts.instance);
    let deadlock = locks::last_deadlock(facts.instance, &moment(facts.zone));
    let now_us =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
    report
        .head(&moment(facts.zone), seconds)
        .background()
        .semaphores()
        .foreign_key(engine.last_foreign_key_error().as_ref(), facts.zone)
        .deadlock(deadlock.as_deref())
        .transactions(&picture, now_us)
        .files()
        .log()
        .pool()
        .compression()
        .cleaners(&engine.page_cleaners())
        .rows(facts.instance.processes.running())
        .end()
}

/// This moment, as `2026-01-31 12:00:00`.
pub fn moment(zone: Zone) -> String {
    moment_of(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default(), zone)
}

/// A moment since the Unix epoch, likewise.
fn moment_of(since: std::time::Duration, zone: Zone) -> String {
    let seconds = since.as_secs() as i64 * 1_000_000;
    let mut text = Vec::new();
    if let Some(moment) = DateTime::from_unix_micros(seconds, zone) {
        moment.write(0, &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Deadlocks are written down when they happen: while all their members still have the statements that met
/// (`tools::percona_toolkit_changes_a_table_and_reads_a_deadlock`).
pub fn witness_deadlocks(instance: &Arc<Instance>) {
    instance.engine.on_deadlock(|| {
        let instance = Arc::downgrade(instance);
        Box::new(move || {
            if let Some(instance) = instance.upgrade() {
                let _ = locks::last_deadlock(&instance, &moment(instance.variables.system_zone()));
            }
        })
    });
}

/// The text so far.
struct Report<'a> {
    now: &'a EngineStatus,
    /// At the last report.
    before: &'a EngineStatus,
    seconds: f64,
    out: String,
}

impl Report<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    fn section(&mut self, title: &str) {
        let rule = "-".repeat(title.len());
        let _ = write!(self.out, "{rule}\n{title}\n{rule}\n");
    }

    /// The rate per second of a counter since the last report.
    fn rate(&self, count: impl Fn(&EngineStatus) -> u64) -> f64 {
        count(self.now).saturating_sub(count(self.before)) as f64 / self.seconds
    }

    fn head(mut self, moment: &str, seconds: f64) -> Self {
        let rule = "=".repeat(37);
        self.line(format!("\n{rule}\n{moment} 0x1 INNODB MONITOR OUTPUT\n{rule}"));
        self.line(format!("Per second averages calculated from the last {} seconds", seconds.round().max(1.0)));
        self
    }

    fn background(mut self) -> Self {
        let now = self.now;
        self.section("BACKGROUND THREAD");
        self.line(format!(
            "Purge removed {} undo logs; {} committed ones wait for it",
            now.undo_purged, now.history_list_length
        ));
        self.line(format!("{} checkpoints written", now.store.checkpoints));
        self
    }

    fn semaphores(mut self) -> Self {
        let now = self.now;
        self.section("SEMAPHORES");
        self.line(format!(
            "Waits for a free page: {}, {} ms",
            now.store.pool_wait_free,
            now.store.pool_wait_free_us / 1000
        ));
        self.line(format!("Waits for room in the log: {}", now.store.log_waits));
        self
    }

    /// Only once there has been one, as in InnoDB.
    fn foreign_key(mut self, last: Option<&ForeignKeyReport>, zone: Zone) -> Self {
        if let Some(last) = last {
            self.section("LATEST FOREIGN KEY ERROR");
            self.line(format!("{} 0x1 Transaction:\nTRANSACTION {}", moment_of(last.at, zone), last.trx));
            self.line(&*last.text);
        }
        self
    }

    fn files(mut self) -> Self {
        let store = &self.now.store;
        let writes = |status: &EngineStatus| {
            let store = &status.store;
            store.data_writes + store.log_writes + store.doublewrite_writes
        };
        let syncs = |status: &EngineStatus| status.store.data_fsyncs + status.store.log_fsyncs;
        self.section("FILE I/O");
        // Threads make system calls themselves: there are no queues.
        self.line("Pending normal aio reads: 0, aio writes: 0,");
        self.line(" ibuf aio reads: 0, log i/o's: 0, sync i/o's: 0");
        self.line("Pending flushes (fsync) log: 0; buffer pool: 0");
        self.line(format!(
            "{} OS file reads, {} OS file writes, {} OS fsyncs",
            store.page_reads,
            writes(self.now),
            syncs(self.now)
        ));
        let read_bytes = store.data_bytes_read.checked_div(store.page_reads).unwrap_or(0);
        self.line(format!(
            "{:.2} reads/s, {read_bytes} avg bytes/read, {:.2} writes/s, {:.2} fsyncs/s",
            self.rate(|status| status.store.page_reads),
            self.rate(writes),
            self.rate(syncs)
        ));
        self.line(format!(
            "Doublewrite: {} pages in {} writes, {} bytes",
            store.doublewrite_pages, store.doublewrite_writes, store.doublewrite_bytes
        ));
        self
    }

    fn log(mut self) -> Self {
        let store = &self.now.store;
        self.section("LOG");
        self.line(format!("Log sequence number          {}", store.lsn_current));
        self.line(format!("Log buffer assigned up to    {}", store.lsn_current));
        self.line(format!("Log flushed up to            {}", store.lsn_flushed));
        self.line(format!("Pages flushed up to          {}", store.lsn_checkpoint));
        self.line(format!("Last checkpoint at           {}", store.lsn_checkpoint));
        self.line(format!("Checkpoint age               {}", store.lsn_current.saturating_sub(store.lsn_checkpoint)));
        if store.recovery_pages_left > 0 {
            self.line(format!("Pages that wait for redo of before the crash: {}", store.recovery_pages_left));
        }
        self.line("0 pending log flushes, 0 pending chkp writes");
        self.line(format!(
            "{} log i/o's done, {:.2} log i/o's/second",
            store.log_writes,
            self.rate(|status| status.store.log_writes)
        ));
        self
    }

    fn pool(mut self) -> Self {
        let store = &self.now.store;
        self.section("BUFFER POOL AND MEMORY");
        self.line(format!("Total large memory allocated {}", store.pool_pages_total_now * store.page_bytes));
        self.line(format!("Buffer pool size   {}", store.pool_pages_total_now));
        self.line(format!("Buffer pool size, bytes {}", store.pool_pages_total_now * store.page_bytes));
        self.line(format!("Free buffers       {}", store.pool_pages_free_now));
        self.line(format!("Database pages     {}", store.pool_pages_data_now));
        self.line(format!("Modified db pages  {}", store.pool_pages_dirty_now));
        self.line("Pending reads      0");
        self.line("Pending writes: LRU 0, flush list 0, single page 0");
        self.line(format!(
            "Pages evicted      {}, {:.2} evicts/s",
            store.pool_evicted,
            self.rate(|status| status.store.pool_evicted)
        ));
        self.line(format!(
            "Pages read {}, created {}, written {}",
            store.page_reads, store.pages_created, store.pages_written
        ));
        self.line(format!(
            "{:.2} reads/s, {:.2} creates/s, {:.2} writes/s",
            self.rate(|status| status.store.page_reads),
            self.rate(|status| status.store.pages_created),
            self.rate(|status| status.store.pages_written)
        ));
        let requests = store.page_read_requests.saturating_sub(self.before.store.page_read_requests);
        let reads = store.page_reads.saturating_sub(self.before.store.page_reads);
        match requests {
            0 => self.line("No buffer pool page gets since the last printout"),
            requests => {
                let hits = 1000u128 * u128::from(requests.saturating_sub(reads)) / u128::from(requests);
                self.line(format!("Buffer pool hit rate {hits} / 1000"));
            }
        }
        self
    }

    fn compression(mut self) -> Self {
        let store = &self.now.store;
        self.section("PAGE COMPRESSION");
        self.line(format!(
            "Pages compressed {}, decompressed {}, stored plain since no block was saved {}",
            store.pages_compressed, store.pages_decompressed, store.pages_compress_failed
        ));
        let plain = store.pages_written * store.page_bytes;
        self.line(format!("Bytes of written pages {plain}, as stored {}", store.data_bytes_written));
        self.line(format!(
            "Holes punched {}, needless {}, failed {}",
            store.punches, store.punches_avoided, store.punches_failed
        ));
        self.line(format!(
            "{:.2} compressed/s, {:.2} decompressed/s, {:.2} holes/s",
            self.rate(|status| status.store.pages_compressed),
            self.rate(|status| status.store.pages_decompressed),
            self.rate(|status| status.store.punches)
        ));
        self
    }

    fn cleaners(mut self, cleaners: &[PageCleanerStatus]) -> Self {
        let store = &self.now.store;
        self.section("PAGE CLEANERS");
        for cleaner in cleaners {
            let state = if cleaner.running { "running" } else { "at rest" };
            self.line(format!(
                "Cleaner {}, {state}: {} batches, {} pages ({} to leave the pool), {} bytes, {} holes",
                cleaner.cleaner, cleaner.steps, cleaner.pages, cleaner.lru_pages, cleaner.bytes, cleaner.punches
            ));
            self.line(format!(
                "  ms in encoding {}, waiting for the log {}, doublewrite {}, writing {}, syncing {}",
                cleaner.encode_us / 1000,
                cleaner.log_us / 1000,
                cleaner.doublewrite_us / 1000,
                cleaner.write_us / 1000,
                cleaner.sync_us / 1000
            ));
        }
        self.line(format!("{} rounds of syncs, {} ms", store.sync_rounds, store.sync_us / 1000));
        self
    }

    fn rows(mut self, running: usize) -> Self {
        let now = self.now;
        self.section("ROW OPERATIONS");
        self.line(format!("{running} queries inside InnoDB, 0 queries in queue"));
        self.line(format!("{} read views open inside InnoDB", now.read_views));
        self.line(format!(
            "Number of rows inserted {}, updated {}, deleted {}, read {}",
            now.rows_inserted, now.rows_updated, now.rows_deleted, now.rows_read
        ));
        self.line(format!(
            "{:.2} inserts/s, {:.2} updates/s, {:.2} deletes/s, {:.2} reads/s",
            self.rate(|status| status.rows_inserted),
            self.rate(|status| status.rows_updated),
            self.rate(|status| status.rows_deleted),
            self.rate(|status| status.rows_read)
        ));
        self
    }

    fn end(mut self) -> String {
        let rule = "-".repeat(28);
        self.line(format!("{rule}\nEND OF INNODB MONITOR OUTPUT\n{}", "=".repeat(28)));
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(now: &EngineStatus, before: &EngineStatus) -> String {
        Report { now, before, seconds: 2.0, out: String::new() }
            .head("2026-01-31 12:00:00", 2.0)
            .background()
            .semaphores()
            .deadlock(None)
            .transactions(&picture(), 3_000_000)
            .files()
            .log()
            .pool()
            .compression()
            .cleaners(&[PageCleanerStatus { cleaner: 0, running: true, pages: 7, ..PageCleanerStatus::default() }])
            .rows(3)
            .end()
    }

    /// One transaction that works, and one that waits for it.
    fn picture() -> Picture {
        use crate::locks::{Lock, Record, Transaction};
        let transaction = |id: u64, waiting: Option<(String, u64)>| Transaction {
            id,
            session: 0,
            process: None,
            state: if waiting.is_some() { "LOCK WAIT" } else { "RUNNING" },
            since_us: 1_000_000,
            waiting,
            isolation: storage::Isolation::RepeatableRead,
            read_only: false,
            changes: 3,
            record_locks: 1,
            table_locks: 1,
        };
        let lock = |trx: u64, waiting| Lock {
            id: format!("{trx}:l"),
            trx,
            session: 0,
            database: "d".into(),
            table: "t".into(),
            record: Some(Record { index: "PRIMARY".into(), space: 5, page: 4, hash: 1, key: Some("17".into()) }),
            mode: "X,REC_NOT_GAP".into(),
            waiting,
        };
        Picture {
            transactions: vec![transaction(7, None), transaction(9, Some(("9:l".into(), 2_000_000)))],
            locks: vec![lock(7, false), lock(9, true)],
            waits: Vec::new(),
        }
    }

    /// The number behind a word, as the regular expressions of monitoring programs find it.
    fn number(text: &str, pattern: &str) -> f64 {
        let found = regex::Regex::new(pattern).expect("a pattern").captures(text);
        found.unwrap_or_else(|| panic!("{pattern} is not in\n{text}"))[1].parse().expect("a number")
    }

    #[test]
    fn monitoring_programs_find_their_numbers() {
        let before = EngineStatus::default();
        let mut now =
            EngineStatus { history_list_length: 11, rows_inserted: 50, read_views: 4, ..EngineStatus::default() };
        now.store.lsn_current = 9000;
        now.store.lsn_checkpoint = 7000;
        now.store.pool_pages_total_now = 64;
        now.store.pool_pages_free_now = 12;
        now.store.page_read_requests = 1000;
        now.store.page_reads = 100;
        now.store.page_bytes = 16384;
        let text = text(&now, &before);
        for (pattern, expected) in [
            (r"Log sequence number\s+(\d+)", 9000.0),
            (r"Last checkpoint at\s+(\d+)", 7000.0),
            (r"(?m)^History list length (\d+)", 11.0),
            (r"(?m)^Buffer pool size\s+(\d+)$", 64.0),
            (r"Buffer pool size, bytes (\d+)", 1_048_576.0),
            (r"Free buffers\s+(\d+)", 12.0),
            (r"Database pages\s+(\d+)", 0.0),
            (r"Modified db pages\s+(\d+)", 0.0),
            (r"Pending normal aio reads: (\d+)", 0.0),
            (r"Pages read (\d+), created \d+, written \d+", 100.0),
            (r"Buffer pool hit rate (\d+) / 1000", 900.0),
            (r"(\d+) queries inside InnoDB, \d+ queries in queue", 3.0),
            (r"(\d+) read views open inside InnoDB", 4.0),
            (r"Number of rows inserted (\d+), updated \d+, deleted \d+, read \d+", 50.0),
            (r"([\d.]+) inserts/s", 25.0),
            (r"---TRANSACTION (\d+), ACTIVE", 7.0),
            (r"TRX HAS BEEN WAITING (\d+) SEC FOR THIS LOCK", 1.0),
            (r"LOCK WAIT \d+ lock struct\(s\), heap size \d+, (\d+) row lock\(s\)", 1.0),
            (r"undo log entries (\d+)", 3.0),
            (r"index PRIMARY of table `d`.`t` trx id (\d+) lock_mode X locks rec but not gap waiting", 9.0),
            (r"averages calculated from the last (\d+) seconds", 2.0),
        ] {
            assert_eq!(number(&text, pattern), expected, "{pattern}");
        }
        // Sections are told apart by their rules.
        let titles = regex::Regex::new(r"(?m)^-+\n([A-Z/ ]+)\n-+$").expect("a pattern");
        let titles: Vec<&str> =
            titles.captures_iter(&text).map(|found| found.get(1).map_or("", |title| title.as_str())).collect();
        assert_eq!(
            titles,
            [
                "BACKGROUND THREAD",
                "SEMAPHORES",
                "TRANSACTIONS",
                "FILE I/O",
                "LOG",
                "BUFFER POOL AND MEMORY",
                "PAGE COMPRESSION",
                "PAGE CLEANERS",
                "ROW OPERATIONS"
            ]
        );
    }
}
