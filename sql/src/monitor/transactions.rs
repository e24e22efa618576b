//! The sections on transactions and on the last deadlock.

use super::Report;
use crate::locks::{LOCK_BYTES, Picture, Transaction, record_lines, thread_lines};

/// Transactions that are listed one by one, and locks of each.
const TRANSACTIONS_MAX: usize = 100;
const LOCKS_MAX: usize = 10;

impl Report<'_> {
    pub(super) fn deadlock(mut self, text: Option<&str>) -> Self {
        if let Some(text) = text {
            self.section("LATEST DETECTED DEADLOCK");
            self.out.push_str(text);
        }
        self
    }

    pub(super) fn transactions(mut self, picture: &Picture, now_us: u64) -> Self {
        let now = self.now;
        self.section("TRANSACTIONS");
        self.line(format!("Trx id counter {}", now.trx_id_next));
        self.line(format!("Purge done for trx's n:o < {} undo n:o < 0 state: running but idle", now.purged_below));
        self.line(format!("History list length {}", now.history_list_length));
        self.line(format!("Total number of lock structs in row lock hash table {}", now.locks_held));
        self.line(format!(
            "{} lock waits now, {} since the start; {} deadlocks, {} timeouts",
            now.row_lock_waits_now, now.row_lock_waits, now.deadlocks, now.lock_timeouts
        ));
        self.line(format!("{} commits, {} rollbacks", now.trx_commits, now.trx_rollbacks));
        if now.rollbacks.transactions + now.rollbacks.stuck + now.trx_prepared > 0 {
            let left = now.rollbacks.records_left;
            self.line(format!(
                "{} prepared; {} rolled back in the background, {left} changes to undo; {} that cannot be rolled back yet",
                now.trx_prepared, now.rollbacks.transactions, now.rollbacks.stuck
            ));
        }
        self.line("LIST OF TRANSACTIONS FOR EACH SESSION:");
        for transaction in picture.transactions.iter().take(TRANSACTIONS_MAX) {
            self.transaction(picture, transaction, now_us);
        }
        if picture.transactions.len() > TRANSACTIONS_MAX {
            self.line(format!("... and {} more", picture.transactions.len() - TRANSACTIONS_MAX));
        }
        self
    }

    fn transaction(&mut self, picture: &Picture, transaction: &Transaction, now_us: u64) {
        let seconds = |since: u64| now_us.saturating_sub(since) / 1_000_000;
        let state = if transaction.state == "ROLLING BACK" { " rollback" } else { "" };
        self.line(format!("---TRANSACTION {}, ACTIVE {} sec{state}", transaction.id, seconds(transaction.since_us)));
        let locks = transaction.record_locks + transaction.table_locks;
        if transaction.table_locks > 0 {
            self.line(format!("mysql tables in use {0}, locked {0}", transaction.table_locks));
        }
        self.line(format!(
            "{}{locks} lock struct(s), heap size {}, {} row lock(s){}",
            if transaction.waiting.is_some() { "LOCK WAIT " } else { "" },
            locks * LOCK_BYTES,
            transaction.record_locks,
            match transaction.changes {
                0 => String::new(),
                changes => format!(", undo log entries {changes}"),
            }
        ));
        if let Some(process) = &transaction.process {
            self.out.push_str(&thread_lines(process));
        }
        if let Some((lock, since)) = &transaction.waiting {
            self.line(format!("------- TRX HAS BEEN WAITING {} SEC FOR THIS LOCK TO BE GRANTED:", seconds(*since)));
            if let Some(lock) = picture.lock(lock) {
                self.out.push_str(&record_lines(lock, true));
            }
            self.line("------------------");
        }
        let held = picture.locks.iter().filter(|lock| lock.trx == transaction.id && !lock.waiting);
        for lock in held.take(LOCKS_MAX) {
            self.out.push_str(&record_lines(lock, true));
        }
    }
}
