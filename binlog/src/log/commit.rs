//! Commits: what a transaction becomes in the log, and in which order.
//!
//! docs/binlog.md draws it. Under the lock of the order nothing waits for a device but rotation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use format::binlog::gtid::{CommitInfo, LogicalClock};
use format::binlog::{Checksum, EventKind, Gtid, GtidEvent, Header, event};
use format::ids::Lsn;
use storage::io::{Caching, OpenMode};
use storage::sync::{Mutex, Rank};
use storage::{Annexed, CommitLog, Error, Result};

use super::rotation::Next;
use super::{BinaryLog, Order};
use crate::dependencies::WriteSet;
use crate::files::io;
use crate::finished::{Begun, Finished};
use crate::recovery::{self, ANNEX};
use crate::semi_sync::SemiSync;
use crate::spill::Files;
use crate::stats::{Counted, Stats};
use crate::tail::Logged;

/// Bytes of committed transactions that may wait in memory while commits do not wait for the redo log.
const PENDING_BYTES_MAX: usize = 16 << 20;

/// Bytes of committed transactions that wait to be written together.
const COLLECTED_BYTES: usize = 256 << 10;

/// Where a transaction was committed first, if that was another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    pub server_id: u32,
    /// Its name there; `None` = it has none, and gets one here.
    pub gtid: Option<Gtid>,
    /// Microseconds since 1970 of that commit, and the version of that server; 0 = unknown.
    pub micros: u64,
    pub version: u32,
}

/// How a transaction gets its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Name {
    /// As gtid_mode says; what a source has committed keeps its name.
    #[default]
    Automatic,
    Anonymous,
    /// The session owns it.
    Given(Gtid),
}

/// What a transaction's Gtid event says beside its name.
pub struct Pending<'l> {
    log: &'l BinaryLog,
    finished: Finished,
    header: Header,
    last_committed: u64,
    has_statements: bool,
    /// It is counted as a statement, not as a transaction with rows.
    is_statement: bool,
    origin: Option<Origin>,
    name: Name,
    writes: WriteSet,
    of_session: Option<&'l SessionOrder>,
}

/// The transactions of one session.
pub struct SessionOrder {
    /// The number of the last one in the log.
    newest: AtomicU64,
    /// The name of the last one, until it is taken.
    name: Mutex<Option<Gtid>>,
}

impl Default for SessionOrder {
    fn default() -> SessionOrder {
        SessionOrder { newest: AtomicU64::new(0), name: Mutex::new(Rank::Leaf, None) }
    }
}

impl SessionOrder {
    /// The name of the session's last transaction, if it was logged with one since this was asked last.
    pub fn take_name(&self) -> Option<Gtid> {
        self.name.lock().take()
    }
}

impl<'l> Pending<'l> {
    /// It follows the others of its session.
    pub fn of(self, session: &'l SessionOrder) -> Self {
        Pending { of_session: Some(session), ..self }
    }

    /// It begins with the statement that creates the table of its rows.
    pub fn with_definition(self) -> Self {
        Pending { has_statements: true, ..self }
    }

    /// How it gets its name.
    pub fn named(self, name: Name) -> Self {
        Pending { name, ..self }
    }

    /// What it wrote; unless this is told, it is not known.
    pub fn writing(self, writes: WriteSet) -> Self {
        Pending { writes, ..self }
    }

    /// The transaction was committed elsewhere first, if there is an origin.
    pub fn from(mut self, origin: Option<Origin>) -> Self {
        if let Some(origin) = origin {
            self.header.server_id = origin.server_id;
        }
        self.origin = origin;
        self
    }
}

impl BinaryLog {
    /// Makes a transaction part of the engine's commit that this is passed to. The caller holds all locks of the
    /// transaction. If it is long, the rest of it is brought into its file here, while other commits go on.
    pub fn pending(&self, mut finished: Finished, timestamp: u32, has_statements: bool) -> Result<Pending<'_>> {
        if finished.log_bytes(self.cache_files.checksum()) > self.annex_bytes_max() {
            finished.settle(&*self.cache_files)?;
        }
        let last_committed = self.newest.load(Ordering::Acquire);
        let header = self.header(EventKind::GTID, timestamp, 0);
        Ok(Pending {
            log: self,
            finished,
            header,
            last_committed,
            has_statements,
            is_statement: has_statements,
            origin: None,
            name: Name::Automatic,
            writes: WriteSet::UNKNOWN,
            of_session: None,
        })
    }

    /// After each commit, by the thread that committed: writes what is durable into the file if a reader waits for it, or
    /// if it is much. Otherwise the log's own thread writes it soon, together with what other commits leave.
    pub fn write(&self) -> Result<()> {
        if self.end.is_awaited() || self.tail.pending_bytes() >= COLLECTED_BYTES {
            return self.write_now();
        }
        Ok(())
    }

    /// Writes what is durable into the file.
    pub(super) fn write_now(&self) -> Result<()> {
        match self.tail.write() {
            // The transaction is committed; its events are in the redo log until there is room, and no others follow.
            Err(Error::DiskFull { .. }) => Ok(()),
            other => other,
        }
    }

    pub fn semi_sync(&self) -> &SemiSync {
        &self.semi_sync
    }

    /// Waits until replicas have what has been committed, if commits are to wait for them. After [`BinaryLog::write`].
    pub fn await_replicas(&self, is_killed: &dyn Fn() -> bool) -> Result<()> {
        if !self.semi_sync.is_enabled() {
            return Ok(());
        }
        self.write_now()?;
        if self.tail.pending_bytes() > 0 {
            // This commit did not wait for the redo log, and no replica gets what is not durable.
            let end = self.engine.store().current_lsn();
            self.engine.store().flush_log(end)?;
            self.write_now()?;
        }
        self.semi_sync.wait(self.end.get(), is_killed);
        Ok(())
    }

    /// Bytes that a transaction's annex may have: a small part of the redo log.
    fn annex_bytes_max(&self) -> u64 {
        (self.engine.store().redo().capacity() / 32).min(8 << 20)
    }

    fn commit(&self, pending: &Pending<'_>, append: &mut dyn FnMut(Annexed<'_>) -> Result<Lsn>) -> Result<Lsn> {
        let mut order = self.order.lock();
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        self.finish_reset(&mut order)?;
        if self.tail.pending_bytes() > PENDING_BYTES_MAX {
            self.tail.settle()?;
        }
        // If the device has no room for what is committed, nothing more is.
        if self.tail.is_stuck() {
            self.tail.write()?;
        }
        let is_long = pending.finished.settled().is_some();
        let is_full = order.position >= self.file_bytes_max.load(Ordering::Relaxed);
        // A long transaction that was begun before binlog_checksum was changed has begun a file in the old way.
        if !is_long && (is_full || order.checksum != self.cache_files.checksum()) {
            self.rotate_or_stay(&mut order)?;
        }
        let source = self.options.uuid;
        let given = pending.origin.and_then(|origin| origin.gtid);
        let own = || {
            if self.owned.is_empty() {
                return Gtid { source, number: order.executed.next_number(source) };
            }
            let mut taken = order.executed.of_source(source);
            self.owned.add_to(&mut taken, source);
            Gtid { source, number: taken.next_number(source) }
        };
        let gtid = match pending.name {
            Name::Given(gtid) => Some(gtid),
            Name::Anonymous => None,
            Name::Automatic => self.has_gtids().then(|| given.unwrap_or_else(own)),
        };
        let (number, keys_max) = (order.transactions + 1, self.keys_max());
        let mut depends_on = order.history.depends_on(number, pending.last_committed, &pending.writes, keys_max);
        if let Some(session) = pending.of_session.filter(|_| self.keeps_sessions.load(Ordering::Relaxed)) {
            depends_on = depends_on.max(session.newest.load(Ordering::Relaxed));
        }
        let event = |before_file| {
            self.gtid_event(
                LogicalClock {
                    last_committed: depends_on.saturating_sub(before_file),
                    sequence_number: number - before_file,
                },
                pending,
                gtid,
            )
        };
        let (position, end, gtid_event) = match is_long {
            true => self.begin_with(&mut order, pending, &event)?,
            false => {
                let bytes = encode(&event(order.before_file), pending, order.checksum);
                let end = order.position + bytes.len() as u64 + pending.finished.log_bytes(order.checksum);
                (order.position, end, bytes)
            }
        };
        let body_at = position + gtid_event.len() as u64;
        let checksum = order.checksum;
        let log_bytes = if is_long { 0 } else { pending.finished.log_bytes(checksum) as usize };
        // The annex is made in one piece: the redo log copies it, and the file is written from it.
        let mut annex = recovery::begin_annex(order.current(), position, end, gtid_event.len() + log_bytes);
        let from = annex.len();
        annex.extend_from_slice(&gtid_event);
        event::place(&mut annex[from..], body_at as u32, checksum);
        if !is_long {
            pending.finished.append(body_at, pending.header, checksum, &mut annex)?;
        }
        self.tail.begin_append();
        match append(Some((ANNEX, &annex))) {
            Ok(lsn) => {
                self.tail.appended(lsn, position, Logged::new(annex, from), end);
                order.position = end;
                order.transactions += 1;
                self.newest.store(order.transactions, Ordering::Release);
                if let Some(session) = pending.of_session {
                    session.newest.store(order.transactions, Ordering::Relaxed);
                    *session.name.lock() = gtid;
                }
                if let Some(gtid) = gtid {
                    order.executed.insert(gtid);
                }
                self.count(pending, gtid);
                Ok(lsn)
            }
            Err(error) => {
                self.tail.abandoned();
                if is_long {
                    self.tail.file().set_len(position).map_err(io("cut the binary log"))?;
                }
                Err(error)
            }
        }
    }

    fn count(&self, pending: &Pending<'_>, gtid: Option<Gtid>) {
        let finished = &pending.finished;
        let (is_payload, plain_bytes) = (finished.is_payload(), finished.plain_bytes());
        let bytes = if is_payload { finished.packed_bytes() } else { plain_bytes };
        let micros = self.disk.clock().wall().as_micros() as u64;
        self.stats.count(Counted { gtid, is_payload, bytes, plain_bytes, micros });
        match pending.is_statement {
            true => self.stats.count_statement(),
            false => self.stats.count_cache(finished.needed_file()),
        }
    }

    /// What has been written since the server started.
    pub fn stats(&self) -> &Arc<Stats> {
        &self.stats
    }

    /// Begins a new file with a transaction that has written it. Until the annex with the Gtid event is in the file, the
    /// log ends at zeros in front of the transaction, and a crash cuts off what is behind them. Returns where the Gtid
    /// event belongs, where the transaction ends, and the event.
    pub(super) fn begin_with(
        &self,
        order: &mut Order,
        pending: &Pending<'_>,
        event: &dyn Fn(u64) -> GtidEvent,
    ) -> Result<(u64, u64, Vec<u8>)> {
        let mut gtid = Vec::new();
        let mut begun = None;
        self.rotate_to(order, &mut |order, name| {
            // Numbers count from the beginning of the file.
            let spilled = pending.finished.settled().expect("a long transaction is settled");
            let checksum = pending.finished.file_checksum().expect("a settled transaction has a file");
            gtid = encode(&event(order.transactions), pending, checksum);
            let head = self.head(&order.executed, checksum);
            self.cache_files.head_bytes.store(head.len() as u64, Ordering::Relaxed);
            let Begun { gtid_at, end, .. } = pending.finished.begin_file(&head, gtid.len() as u64, pending.header)?;
            begun = Some((gtid_at, end));
            let path = name.to_string();
            self.disk.rename(&spilled.path, &path).map_err(io("give a transaction's file its name in the log"))?;
            spilled.keep();
            self.disk.sync_directory("").map_err(io("sync the directory of the binary log"))?;
            let file = self.disk.open(&path, OpenMode::ReadWrite, Caching::Cached).map_err(io("open a binary log"))?;
            Ok(Next { file, position: gtid_at, checksum })
        })?;
        let (gtid_at, end) = begun.expect("the file was begun");
        self.expire_or_stay(order)?;
        Ok((gtid_at, end, gtid))
    }

    fn gtid_event(&self, clock: LogicalClock, pending: &Pending<'_>, gtid: Option<Gtid>) -> GtidEvent {
        let micros = self.disk.clock().wall().as_micros() as u64;
        let version = self.options.version;
        let origin = pending.origin.unwrap_or_default();
        let or = |original: u64, own: u64| if original == 0 { own } else { original };
        GtidEvent {
            gtid,
            may_have_statements: pending.has_statements,
            clock: Some(clock),
            commit: Some(CommitInfo {
                immediate_micros: micros,
                original_micros: or(origin.micros, micros),
                transaction_bytes: 0,
                immediate_version: version,
                original_version: or(origin.version.into(), version.into()) as u32,
            }),
        }
    }

    /// Logs a transaction that changes nothing, so that its name is executed.
    pub fn log_alone(&self, pending: &Pending<'_>) -> Result<()> {
        self.engine.log_alone(pending)?;
        self.write()
    }
}

impl CommitLog for Pending<'_> {
    fn commit(&self, append: &mut dyn FnMut(Annexed<'_>) -> Result<Lsn>) -> Result<Lsn> {
        self.log.commit(self, append)
    }
}

fn encode(event: &GtidEvent, pending: &Pending<'_>, checksum: Checksum) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    event.append(pending.header, checksum, pending.finished.log_bytes(checksum), &mut bytes);
    bytes
}
