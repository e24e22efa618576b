//! The statements about a replica, and its threads' beginning and end.
//!
//! The source is described by the row of `mysql.slave_master_info`, as in MySQL with its password; how far its log has
//! been applied, by that of `mysql.slave_relay_log_info`. CHANGE REPLICATION SOURCE TO makes both tables when they are
//! not there yet. A start of the server goes on with both, unless `--skip-replica-start` is given.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use format::binlog::GtidSet;
use format::binlog::mariadb::MariadbPosition;
use format::value::Value;
use parking_lot::Mutex;
use sql::Error;
use sql::error::Result;
use sql::instance::Instance;
use sql::parser::ast::{FilterKind, FilterRule, ReplicaStart, ReplicaThreads, SourceValue};
use sql::replication::{FilterStatus, Receiving, ReplicaStatus, Replication, WorkerStatus};

use crate::filters::Filters;
use crate::internal::InternalSession;
use crate::progress::{Progress, Step, file_number, quoted};
use crate::relay::RelayLog;
use crate::shared::{Shared, Working, now_micros};
use crate::source::{Source, UseGtid};
use crate::until::Goal;
use crate::{applier, receiver};

/// Files of the relay log, unless the option relay_log names them.
const RELAY_LOG: &str = "relay-bin";

/// What Enabled_auto_position has: as in MySQL, and of MASTER_USE_GTID.
const AUTO_POSITION: u64 = 1;
const USE_GTID: [(u64, UseGtid); 2] = [(2, UseGtid::SlavePos), (3, UseGtid::CurrentPos)];

pub(crate) const TABLES: [&str; 3] = [
    "CREATE DATABASE IF NOT EXISTS mysql",
    "CREATE TABLE IF NOT EXISTS mysql.slave_master_info (Channel_name VARCHAR(64) NOT NULL PRIMARY KEY, \
     Host VARCHAR(255) NOT NULL, User_name TEXT NOT NULL, User_password TEXT NOT NULL, Port INT UNSIGNED NOT NULL, \
     Connect_retry BIGINT UNSIGNED NOT NULL, Retry_count BIGINT UNSIGNED NOT NULL, Heartbeat_ms BIGINT UNSIGNED, \
     Ignored_server_ids TEXT NOT NULL, Enabled_auto_position TINYINT NOT NULL, Get_public_key TINYINT NOT NULL, \
     Sql_delay BIGINT UNSIGNED NOT NULL, Tls_options TEXT)",
    "CREATE TABLE IF NOT EXISTS mysql.slave_relay_log_info (Channel_name VARCHAR(64) NOT NULL PRIMARY KEY, \
     Number BIGINT UNSIGNED NOT NULL, Master_log_name TEXT NOT NULL, Master_log_pos BIGINT UNSIGNED NOT NULL, \
     Gtid_executed LONGTEXT NOT NULL, Xa_step LONGTEXT NOT NULL)",
];

/// The replica of one server: its settings, and its threads as long as they run.
pub struct Replica {
    shared: Arc<Shared>,
    /// One statement at a time; the threads that were started.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Replica {
    /// Reads what is known of the source. `filters`: what the options say. Nothing runs yet.
    pub fn open(instance: &Arc<Instance>, filters: Filters) -> Result<Arc<Replica>> {
        let named = instance.variables.text("relay_log");
        let base = if named.is_empty() { RELAY_LOG } else { &named };
        if !binlog::files::is_base_name(base) {
            return Err(Error::wrong_arguments("relay_log"));
        }
        let disk = instance.engine.store().disk().clone();
        let relay = RelayLog::open(disk, base).map_err(sql::catalog::storage_error)?;
        let (source, progress) = stored(instance)?;
        let shared = Shared::new(instance.clone(), Arc::new(relay), source, progress);
        {
            let mut state = shared.lock();
            (state.filters, state.global_filters) = (filters.clone(), filters);
        }
        Ok(Arc::new(Replica { shared: Arc::new(shared), threads: Mutex::new(Vec::new()) }))
    }

    /// Starts both threads if there is a source.
    pub fn start_with_server(&self) -> Result<()> {
        if self.shared.lock().source.is_some() {
            let threads = ReplicaThreads { receiver: true, applier: true };
            self.start(&ReplicaStart { threads, until: None, user: None, password: None })?;
        }
        Ok(())
    }

    /// Ends both threads.
    pub fn close(&self) {
        let mut threads = self.threads.lock();
        self.shared.stop_receiver();
        self.shared.stop_applier();
        for thread in threads.drain(..) {
            let _ = thread.join();
        }
    }

    /// Makes durable what clients have seen, so that it can be told. If that fails, what was durable before is told.
    fn settle(&self) {
        let schedule = self.shared.lock().applier.schedule.clone();
        let _ = schedule.map(|schedule| schedule.settle());
    }

    fn spawn(&self, threads: &mut Vec<JoinHandle<()>>, name: &str, run: fn(&Arc<Shared>)) -> Result<()> {
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&shared));
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread.map_err(|cause| Error::internal(format!("cannot start a thread: {cause}")))?);
        Ok(())
    }
}

/// What the tables and the dictionary's note say.
pub(crate) fn stored(instance: &Arc<Instance>) -> Result<(Option<Source>, Progress)> {
    let noted = instance.engine.note().map_err(sql::catalog::storage_error)?;
    let noted = noted.and_then(|note| Progress::of_note(&note)).unwrap_or_default();
    let has = |table: &str| instance.engine.table("mysql", table).is_some();
    if !has("slave_master_info") || !has("slave_relay_log_info") {
        // Only the number counts: a new beginning must be newer than the note.
        return Ok((None, Progress { number: noted.number, ..Progress::default() }));
    }
    let mut internal = InternalSession::new(instance);
    let unreadable = || Error::internal("mysql.slave_relay_log_info is not readable");
    let rows = internal.session.run_unlogged(
        "SELECT Number, Master_log_name, Master_log_pos, Gtid_executed, Xa_step FROM mysql.slave_relay_log_info \
         WHERE Channel_name = ''",
    )?;
    let progress = match rows.first() {
        Some(row) => {
            let (applied, mariadb) = Progress::parse_names(&text(&row[3])).ok_or_else(unreadable)?;
            let stored = Progress {
                number: number(&row[0]),
                file: text(&row[1]),
                position: number(&row[2]),
                applied,
                mariadb,
            };
            let is_prepared = |step: &Step| instance.engine.prepared().contains(&step.xid);
            let step = Step::parse(&text(&row[4])).filter(|step| step.has_happened(is_prepared(step)));
            step.map_or(stored, |step| step.next)
        }
        None => Progress::default(),
    };
    let rows = internal.session.run_unlogged(
        "SELECT Host, User_name, User_password, Port, Connect_retry, Retry_count, Heartbeat_ms, Ignored_server_ids, \
         Enabled_auto_position, Get_public_key, Sql_delay FROM mysql.slave_master_info WHERE Channel_name = ''",
    )?;
    let mut source = rows.first().map(|row| Source {
        host: text(&row[0]),
        user: text(&row[1]),
        password: text(&row[2]),
        port: number(&row[3]) as u16,
        connect_retry: number(&row[4]),
        retry_count: number(&row[5]),
        heartbeat_ms: (row[6] != Value::Null).then(|| number(&row[6])),
        ignored_servers: text(&row[7]).split(',').filter_map(|id| id.parse().ok()).collect(),
        auto_position: number(&row[8]) == AUTO_POSITION,
        use_gtid: USE_GTID.into_iter().find(|(stored, _)| *stored == number(&row[8])).map(|(_, use_gtid)| use_gtid),
        get_public_key: number(&row[9]) != 0,
        delay: number(&row[10]),
        ..Source::default()
    });
    if has_tls_options(instance)
        && let Some(source) = &mut source
    {
        let rows =
            internal.session.run_unlogged("SELECT Tls_options FROM mysql.slave_master_info WHERE Channel_name = ''")?;
        if let Some(row) = rows.first() {
            source.set_tls_text(&text(&row[0]))?;
        }
    }
    let newest = if noted.number > progress.number { noted } else { progress };
    Ok((source, newest))
}

fn text(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Int(number) => (*number).max(0) as u64,
        Value::UInt(number) => *number,
        _ => 0,
    }
}

/// Whether the table has the column that came with TLS.
fn has_tls_options(instance: &Instance) -> bool {
    let table = instance.engine.table("mysql", "slave_master_info");
    table.is_some_and(|table| table.columns.iter().any(|column| *column.name == *"Tls_options"))
}

/// Enabled_auto_position of a source.
fn found_by(source: &Source) -> u64 {
    let by_names = USE_GTID.into_iter().find(|(_, use_gtid)| source.use_gtid == Some(*use_gtid));
    by_names.map_or(u64::from(source.auto_position) * AUTO_POSITION, |(stored, _)| stored)
}

/// Stores both rows at once.
fn store(instance: &Arc<Instance>, source: Option<&Source>, progress: &Progress) -> Result<()> {
    let mut internal = InternalSession::new(instance);
    for table in TABLES {
        internal.session.run_unlogged(table)?;
    }
    if !has_tls_options(instance) {
        internal.session.run_unlogged("ALTER TABLE mysql.slave_master_info ADD COLUMN Tls_options TEXT")?;
    }
    internal.session.apply_begin(None, None)?;
    internal.session.run_unlogged("DELETE FROM mysql.slave_master_info WHERE Channel_name = ''")?;
    if let Some(source) = source {
        let ignored: Vec<String> = source.ignored_servers.iter().map(u32::to_string).collect();
        let heartbeat = source.heartbeat_ms.map_or("NULL".to_owned(), |ms| ms.to_string());
        internal.session.run_unlogged(&format!(
            "INSERT INTO mysql.slave_master_info (Channel_name, Host, User_name, User_password, Port, Connect_retry, \
             Retry_count, Heartbeat_ms, Ignored_server_ids, Enabled_auto_position, Get_public_key, Sql_delay, \
             Tls_options) VALUES ('', {}, {}, {}, {}, {}, {}, {heartbeat}, {}, {}, {}, {}, {})",
            quoted(&source.host),
            quoted(&source.user),
            quoted(&source.password),
            source.port,
            source.connect_retry,
            source.retry_count,
            quoted(&ignored.join(",")),
            found_by(source),
            u8::from(source.get_public_key),
            source.delay,
            quoted(&source.tls_text()),
        ))?;
    }
    internal.session.run_unlogged(
        "INSERT IGNORE INTO mysql.slave_relay_log_info (Channel_name, Number, Master_log_name, Master_log_pos, \
         Gtid_executed, Xa_step) VALUES ('', 0, '', 4, '', '')",
    )?;
    internal.session.apply_commit(&progress.statement())
}

fn must_stop(what: &str) -> Error {
    let text = format!(
        "This operation cannot be performed with {what}; run STOP REPLICA {}FOR CHANNEL '' first",
        if what.contains("io") { "IO_THREAD " } else { "" }
    );
    Error::new(3081, b"HY000", text)
}

fn not_configured() -> Error {
    let text = "The server is not configured as replica; fix in config file or with CHANGE REPLICATION SOURCE TO";
    Error::new(1200, b"HY000", text)
}

impl Replication for Replica {
    fn change_source(&self, options: &[(String, SourceValue)]) -> Result<()> {
        let _one = self.threads.lock();
        let (running, source, progress) = {
            let state = self.shared.lock();
            let running = (state.receiver.running, state.applier.running);
            (running, state.source.clone(), state.progress.clone())
        };
        let mut source = source.unwrap_or_default();
        let moved = source.change(options)?;
        if running.0 && !moved.is_delay_alone {
            return Err(must_stop("a running replica io thread"));
        }
        if running.1 {
            return Err(must_stop("running replication threads"));
        }
        if source.auto_position && source.host.is_empty() {
            return Err(not_configured());
        }
        let mut next = Progress { number: progress.number + 1, ..progress };
        match (moved.file, moved.position) {
            (None, None) if !moved.is_other => {}
            (None, Some(position)) if !moved.is_other => next.position = position,
            (file, position) => (next.file, next.position) = (file.unwrap_or_default(), position.unwrap_or(4)),
        }
        store(&self.shared.instance, Some(&source), &next)?;
        let mut state = self.shared.lock();
        state.source = Some(source);
        state.progress = next;
        if moved.is_delay_alone {
            return Ok(());
        }
        state.forget_received();
        (state.receiver.error, state.applier.error) = Default::default();
        drop(state);
        self.shared.relay.clear().map_err(sql::catalog::storage_error)
    }

    fn change_filters(&self, changes: &[(FilterKind, Vec<FilterRule>)], of_channel: bool) -> Result<()> {
        let _one = self.threads.lock();
        let mut state = self.shared.lock();
        if of_channel && state.source.is_none() {
            return Err(Error::new(3074, b"HY000", "Replica channel '' does not exist."));
        }
        if state.applier.running {
            let text = "This operation cannot be performed with a running replica sql thread; run STOP REPLICA \
                        SQL_THREAD first";
            return Err(Error::new(3017, b"HY000", text));
        }
        state.filters.change(changes, now_micros())?;
        if of_channel { Ok(()) } else { state.global_filters.change(changes, now_micros()) }
    }

    fn filters(&self) -> (Vec<FilterStatus>, Option<Vec<FilterStatus>>) {
        let state = self.shared.lock();
        (state.global_filters.status(), state.source.is_some().then(|| state.filters.status()))
    }

    fn start(&self, start: &ReplicaStart) -> Result<Vec<Error>> {
        let wanted = start.threads;
        // It is checked before anything starts.
        start.until.as_ref().map(Goal::of).transpose()?;
        let mut threads = self.threads.lock();
        let mut state = self.shared.lock();
        if state.source.as_ref().is_none_or(|source| source.host.is_empty()) {
            return Err(not_configured());
        }
        if self.shared.instance.variables.number("server_id") == 0 {
            let text = "The server is not configured as replica; fix with SET GLOBAL server_id";
            return Err(Error::new(1200, b"HY000", text));
        }
        let starts_receiver = wanted.receiver && !state.receiver.running;
        let starts_applier = wanted.applier && !state.applier.running;
        if starts_receiver {
            let receiver = &mut state.receiver;
            (receiver.running, receiver.stop, receiver.error) = (true, false, Default::default());
            receiver.receiving = Receiving::Connecting;
            receiver.account = (start.user.clone(), start.password.clone());
        }
        if starts_applier {
            let applier = &mut state.applier;
            (applier.running, applier.stop, applier.error) = (true, false, Default::default());
            (applier.coordinator_error, applier.workers) = Default::default();
            applier.until = start.until.clone();
        }
        drop(state);
        if starts_receiver && let Err(error) = self.spawn(&mut threads, "replica_receiver", receiver::run) {
            self.shared.lock().receiver.running = false;
            return Err(error);
        }
        if starts_applier && let Err(error) = self.spawn(&mut threads, "replica_applier", applier::run) {
            self.shared.lock().applier.running = false;
            return Err(error);
        }
        let all = (wanted.receiver == starts_receiver) && (wanted.applier == starts_applier);
        let text = "Replication thread(s) for channel '' are already running.";
        let mut notices = Vec::new();
        if !all {
            notices.push(Error::new(3083, b"HY000", text));
        }
        if start.until.is_some() && !wanted.applier {
            let text = "SQL thread is not to be started so UNTIL options are ignored";
            notices.push(Error::new(1279, b"HY000", text));
        } else if start.until.is_some() && !self.shared.instance.variables.on("skip_replica_start") {
            let text = "It is recommended to use --skip-replica-start when doing step-by-step replication with START \
                        REPLICA UNTIL; otherwise, you will get problems if you get an unexpected replica's mysqld restart";
            notices.push(Error::new(1278, b"HY000", text));
        }
        Ok(notices)
    }

    fn stop(&self, wanted: ReplicaThreads) -> Result<Option<Error>> {
        let _one = self.threads.lock();
        let state = self.shared.lock();
        let ran = wanted.receiver && state.receiver.running || wanted.applier && state.applier.running;
        drop(state);
        if wanted.receiver {
            self.shared.stop_receiver();
        }
        if wanted.applier {
            self.shared.stop_applier();
        }
        let text = "Replication thread(s) for channel '' are already stopped.";
        Ok((!ran).then(|| Error::new(3084, b"HY000", text)))
    }

    fn reset(&self, all: bool) -> Result<()> {
        let _one = self.threads.lock();
        let state = self.shared.lock();
        if state.receiver.running || state.applier.running {
            return Err(must_stop("running replication threads"));
        }
        let Some(source) = state.source.clone() else { return Ok(()) };
        let known = state.progress.clone();
        let progress = Progress { number: known.number + 1, file: String::new(), position: 4, ..known };
        drop(state);
        let source = Some(source).filter(|_| !all);
        store(&self.shared.instance, source.as_ref(), &progress)?;
        let mut state = self.shared.lock();
        (state.source, state.progress) = (source, progress);
        state.receiver = Default::default();
        state.applier = Default::default();
        if all {
            state.filters = state.global_filters.clone();
        }
        drop(state);
        self.shared.relay.clear().map_err(sql::catalog::storage_error)
    }

    fn mariadb_position(&self) -> MariadbPosition {
        self.settle();
        self.shared.lock().progress.mariadb.clone()
    }

    fn set_mariadb_position(&self, position: MariadbPosition) -> Result<()> {
        let _one = self.threads.lock();
        let state = self.shared.lock();
        if state.receiver.running || state.applier.running {
            return Err(must_stop("running replication threads"));
        }
        let (source, known) = (state.source.clone(), state.progress.clone());
        drop(state);
        let progress = Progress { number: known.number + 1, mariadb: position, ..known };
        store(&self.shared.instance, source.as_ref(), &progress)?;
        let mut state = self.shared.lock();
        state.progress = progress;
        state.forget_received();
        drop(state);
        self.shared.relay.clear().map_err(sql::catalog::storage_error)
    }

    fn status(&self) -> Option<ReplicaStatus> {
        self.settle();
        let relay_bytes = self.shared.relay.bytes();
        let executed = self.executed();
        let schedule = self.shared.lock().applier.schedule.clone();
        let oldest = schedule.and_then(|schedule| schedule.oldest_timestamp());
        let state = self.shared.lock();
        let source = state.source.clone()?;
        let (receiver, applier) = (&state.receiver, &state.applier);
        let now = now_micros();
        let behind = match oldest.or(applier.timestamp) {
            _ if !applier.running => None,
            Some(timestamp) => Some((now / 1_000_000).saturating_sub(u64::from(timestamp))),
            None => (receiver.receiving == Receiving::Yes).then_some(0),
        };
        let (applied_file, applied_position) = (state.progress.file.clone(), state.progress.position);
        let (read_file, read_position) =
            receiver.read.clone().unwrap_or_else(|| (applied_file.clone(), applied_position));
        let place = applier.place.as_ref();
        let timeout = Duration::from_secs(self.shared.instance.variables.number("replica_net_timeout"));
        Some(ReplicaStatus {
            heartbeat_ms: source.heartbeat(timeout).as_millis() as u64,
            heartbeats: receiver.heartbeats,
            heartbeat_at_micros: receiver.heartbeat_at_micros,
            last_received: receiver.last,
            retries: applier.retries,
            coordinator: WorkerStatus {
                id: applier.coordinator.as_ref().map(|process| process.id),
                error: applier.coordinator_error.clone(),
                ..WorkerStatus::default()
            },
            workers: applier.workers.iter().map(status_of).collect(),
            receiver_state: receiver.doing.to_owned(),
            applier_state: applier.doing.to_owned(),
            host: source.host,
            user: source.user,
            port: source.port,
            connect_retry: source.connect_retry,
            retry_count: source.retry_count,
            delay: source.delay,
            remaining_delay: applier.delayed_until.map(|until| until.saturating_sub(now) / 1_000_000),
            read_file,
            read_position,
            relay_file: place.map(|place| place.file.to_string()).unwrap_or_default(),
            relay_position: place.map_or(4, |place| place.position),
            relay_bytes,
            applied_file,
            applied_position,
            receiving: receiver.receiving,
            is_applying: applier.running,
            seconds_behind: behind,
            receiver_error: receiver.error.clone(),
            applier_error: applier.error.clone(),
            source_id: receiver.source_id,
            source_uuid: receiver.source_uuid,
            is_semi_sync: receiver.is_semi_sync,
            ignored_servers: source.ignored_servers,
            retrieved: receiver.retrieved.clone(),
            executed,
            auto_position: source.auto_position,
            use_gtid: source.use_gtid.map(UseGtid::name),
            received_mariadb: state.received_mariadb().to_string(),
            filters: state.filters.status(),
            until: applier.until.clone(),
            get_public_key: source.get_public_key,
            public_key_path: source.public_key_path,
            is_encrypted: source.is_encrypted,
            is_verified: source.is_verified,
            tls: source.tls,
        })
    }

    fn wait_for_position(
        &self,
        file: &str,
        position: u64,
        timeout: Option<Duration>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Option<i64> {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let wanted = (file_number(file)?, position);
        let mut state = self.shared.lock();
        let before = state.applier.transactions;
        loop {
            let progress = &state.progress;
            if file_number(&progress.file).is_some_and(|number| (number, progress.position) >= wanted) {
                return Some((state.applier.transactions - before) as i64);
            }
            if !state.applier.running || is_interrupted() {
                return None;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Some(-1);
            }
            self.shared.wait(&mut state);
        }
    }

    fn executed(&self) -> GtidSet {
        self.settle();
        let state = self.shared.lock();
        let (mut executed, schedule) = (state.progress.applied.clone(), state.applier.schedule.clone());
        drop(state);
        if let Some(log) = &self.shared.instance.log {
            executed.extend(&log.executed());
        }
        // A statement of definition is in this server's log before others see its table.
        schedule.map_or_else(|| executed.clone(), |schedule| executed.without(&schedule.pending_names()))
    }
}

fn status_of(worker: &Working) -> WorkerStatus {
    WorkerStatus {
        id: worker.process.as_ref().map(|process| process.id),
        error: worker.error.clone(),
        applying: worker.applying,
        last: worker.last,
    }
}
