//! One channel: a source, the threads that read and apply its log, and the statements about them.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use format::binlog::GtidSet;
use format::binlog::mariadb::MariadbPosition;
use parking_lot::Mutex;
use sql::Error;
use sql::error::Result;
use sql::instance::Instance;
use sql::parser::ast::{FilterKind, FilterRule, ReplicaStart, ReplicaThreads, SourceValue};
use sql::replication::{FilterStatus, Receiving, ReplicaStatus, WorkerStatus};

use crate::filters::Filters;
use crate::progress::{Progress, file_number};
use crate::relay::RelayLog;
use crate::repository::{store, stored};
use crate::shared::{ChannelName, Peers, Shared, Working, now_micros};
use crate::source::UseGtid;
use crate::until::Goal;
use crate::{applier, receiver};

/// Files of the relay log, unless the option relay_log names them.
const RELAY_LOG: &str = "relay-bin";

/// See the module header.
pub struct Channel {
    shared: Arc<Shared>,
    /// One statement at a time; the threads that were started.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Channel {
    /// Reads what is known of its source. Nothing runs yet.
    pub fn open(instance: &Arc<Instance>, name: ChannelName, peers: &Arc<Peers>, filters: Filters) -> Result<Channel> {
        let named = instance.variables.text("relay_log");
        let base = name.relay_base(if named.is_empty() { RELAY_LOG } else { &named });
        if !binlog::files::is_base_name(&base) {
            return Err(Error::wrong_arguments("relay_log"));
        }
        let disk = instance.engine.store().disk().clone();
        let relay = RelayLog::open(disk, &base).map_err(sql::catalog::storage_error)?;
        let kept = stored(instance, &name)?;
        let shared = Arc::new(Shared::new(instance, name, peers, relay, kept));
        shared.lock().filters = filters;
        shared.join_peers();
        Ok(Channel { shared, threads: Mutex::new(Vec::new()) })
    }

    pub fn name(&self) -> &str {
        self.shared.channel.name()
    }

    /// Whether it has a source.
    pub fn has_source(&self) -> bool {
        self.shared.lock().source.is_some()
    }

    /// Whether it can be started.
    pub fn is_configured(&self) -> bool {
        self.shared.lock().source.as_ref().is_some_and(|source| !source.host.is_empty())
    }

    pub fn is_running(&self) -> bool {
        let state = self.shared.lock();
        state.receiver.running || state.applier.running
    }

    pub fn is_applying(&self) -> bool {
        self.shared.lock().applier.running
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
    pub fn settle(&self) {
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

    pub fn change_source(&self, options: &[(String, SourceValue)]) -> Result<()> {
        let _one = self.threads.lock();
        let (running, source, progress) = {
            let state = self.shared.lock();
            let running = (state.receiver.running, state.applier.running);
            (running, state.source.clone(), state.progress.clone())
        };
        let mut source = source.unwrap_or_default();
        let moved = source.change(options)?;
        if running.0 && !moved.is_delay_alone {
            return Err(self.must_stop("a running replica io thread"));
        }
        if running.1 {
            return Err(self.must_stop("running replication threads"));
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
        store(&self.shared.instance, &self.shared.channel, Some(&source), &next)?;
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

    pub fn start(&self, start: &ReplicaStart) -> Result<Vec<Error>> {
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
        let text = format!("Replication thread(s) for channel '{}' are already running.", self.name());
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

    pub fn stop(&self, wanted: ReplicaThreads) -> Result<Option<Error>> {
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
        let text = format!("Replication thread(s) for channel '{}' are already stopped.", self.name());
        Ok((!ran).then(|| Error::new(3084, b"HY000", text)))
    }

    pub fn reset(&self, all: bool) -> Result<()> {
        let _one = self.threads.lock();
        let state = self.shared.lock();
        if state.receiver.running || state.applier.running {
            return Err(self.must_stop("running replication threads"));
        }
        let Some(source) = state.source.clone() else { return Ok(()) };
        let known = state.progress.clone();
        let progress = Progress { number: known.number + 1, file: String::new(), position: 4, ..known };
        drop(state);
        let source = Some(source).filter(|_| !all);
        store(&self.shared.instance, &self.shared.channel, source.as_ref(), &progress)?;
        let mut state = self.shared.lock();
        (state.source, state.progress) = (source, progress);
        state.receiver = Default::default();
        state.applier = Default::default();
        drop(state);
        self.shared.relay.clear().map_err(sql::catalog::storage_error)
    }

    pub fn mariadb_position(&self) -> MariadbPosition {
        self.shared.lock().progress.mariadb.clone()
    }

    pub fn set_mariadb_position(&self, position: MariadbPosition) -> Result<()> {
        let _one = self.threads.lock();
        let state = self.shared.lock();
        if state.receiver.running || state.applier.running {
            return Err(self.must_stop("running replication threads"));
        }
        let (source, known) = (state.source.clone(), state.progress.clone());
        drop(state);
        let progress = Progress { number: known.number + 1, mariadb: position, ..known };
        store(&self.shared.instance, &self.shared.channel, source.as_ref(), &progress)?;
        let mut state = self.shared.lock();
        state.progress = progress;
        state.forget_received();
        drop(state);
        self.shared.relay.clear().map_err(sql::catalog::storage_error)
    }

    /// `executed`: what all channels and the log have. `None` = there is no source.
    pub fn status(&self, executed: GtidSet) -> Option<ReplicaStatus> {
        let relay_bytes = self.shared.relay.bytes();
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
            channel: self.name().to_owned(),
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

    pub fn wait_for_position(
        &self,
        (file, position): (&str, u64),
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

    /// CHANGE REPLICATION FILTER; the applier does not run.
    pub fn change_filters(&self, changes: &[(FilterKind, Vec<FilterRule>)]) -> Result<()> {
        self.shared.lock().filters.change(changes, now_micros())
    }

    pub fn set_filters(&self, filters: Filters) {
        self.shared.lock().filters = filters;
    }

    pub fn filters(&self) -> Vec<FilterStatus> {
        self.shared.lock().filters.status()
    }

    /// The transactions that are not committed and durable yet.
    pub fn pending_names(&self) -> GtidSet {
        let schedule = self.shared.lock().applier.schedule.clone();
        schedule.map(|schedule| schedule.pending_names()).unwrap_or_default()
    }

    pub fn executed(&self) -> GtidSet {
        self.shared.executed()
    }

    fn must_stop(&self, what: &str) -> Error {
        let text = format!(
            "This operation cannot be performed with {what}; run STOP REPLICA {}FOR CHANNEL '{}' first",
            if what.contains("io") { "IO_THREAD " } else { "" },
            self.name()
        );
        Error::new(3081, b"HY000", text)
    }
}

pub fn not_configured() -> Error {
    let text = "The server is not configured as replica; fix in config file or with CHANGE REPLICATION SOURCE TO";
    Error::new(1200, b"HY000", text)
}

fn status_of(worker: &Working) -> WorkerStatus {
    WorkerStatus {
        id: worker.process.as_ref().map(|process| process.id),
        error: worker.error.clone(),
        applying: worker.applying,
        last: worker.last,
    }
}
