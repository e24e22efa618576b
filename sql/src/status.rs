//! Status variables: what the server has done since it started.
//!
//! Each session counts for itself, in a [`SessionStatus`] that only its own thread
//! writes, so that counting costs a plain load and store and no two connections
//! share a cache line. SHOW GLOBAL STATUS adds up the open sessions and the sums that
//! closed ones left. The engine has its own counters ([`EngineStatus`]), which
//! appear under InnoDB's names.
//!
//! Not here: everything MySQL has a name for. A name stands here when there is
//! something true to say under it, or when stock tools ask for it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use binlog::Stats;
use parking_lot::Mutex;
use storage::EngineStatus;

use crate::statements::accounts::AccountName;
use crate::transport::ConnectionFacts;
use crate::variables::SessionVariables;

macro_rules! counters {
    ($($counter:ident = $name:literal),* $(,)?) => {
        /// What a session counts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter { $($counter),* }

        /// The counters' names, in their order.
        const NAMES: &[&str] = &[$($name),*];
    };
}

counters! {
    AbortedClients = "Aborted_clients",
    BytesReceived = "Bytes_received",
    BytesSent = "Bytes_sent",
    ComAdminCommands = "Com_admin_commands",
    ComAlterDb = "Com_alter_db",
    ComAlterTable = "Com_alter_table",
    ComAlterUser = "Com_alter_user",
    ComAlterUserDefaultRole = "Com_alter_user_default_role",
    ComAnalyze = "Com_analyze",
    ComBegin = "Com_begin",
    ComBinlog = "Com_binlog",
    ComChangeDb = "Com_change_db",
    ComChangeMaster = "Com_change_master",
    ComChangeReplFilter = "Com_change_repl_filter",
    ComCheck = "Com_check",
    ComClone = "Com_clone",
    ComCommit = "Com_commit",
    ComCreateDb = "Com_create_db",
    ComCreateIndex = "Com_create_index",
    ComCreateRole = "Com_create_role",
    ComCreateTable = "Com_create_table",
    ComCreateUser = "Com_create_user",
    ComDelete = "Com_delete",
    ComDeleteMulti = "Com_delete_multi",
    ComDo = "Com_do",
    ComDropDb = "Com_drop_db",
    ComDropIndex = "Com_drop_index",
    ComDropRole = "Com_drop_role",
    ComDropTable = "Com_drop_table",
    ComDropUser = "Com_drop_user",
    ComExplain = "Com_explain_other",
    ComFlush = "Com_flush",
    ComGrant = "Com_grant",
    ComGrantRoles = "Com_grant_roles",
    ComInsert = "Com_insert",
    ComInsertSelect = "Com_insert_select",
    ComLoad = "Com_load",
    ComKill = "Com_kill",
    ComLockInstance = "Com_lock_instance",
    ComLockTables = "Com_lock_tables",
    ComOptimize = "Com_optimize",
    ComPurge = "Com_purge",
    ComPurgeBefore = "Com_purge_before_date",
    ComPrepareSql = "Com_prepare_sql",
    ComExecuteSql = "Com_execute_sql",
    ComDeallocSql = "Com_dealloc_sql",
    ComReleaseSavepoint = "Com_release_savepoint",
    ComRenameTable = "Com_rename_table",
    ComReplace = "Com_replace",
    ComReplaceSelect = "Com_replace_select",
    ComReplicaStart = "Com_replica_start",
    ComReplicaStop = "Com_replica_stop",
    ComReset = "Com_reset",
    ComRevoke = "Com_revoke",
    ComRevokeAll = "Com_revoke_all",
    ComRevokeRoles = "Com_revoke_roles",
    ComRollback = "Com_rollback",
    ComRollbackToSavepoint = "Com_rollback_to_savepoint",
    ComSavepoint = "Com_savepoint",
    ComSelect = "Com_select",
    ComSetOption = "Com_set_option",
    ComSetRole = "Com_set_role",
    ComShowBinlogEvents = "Com_show_binlog_events",
    ComShowBinlogs = "Com_show_binlogs",
    ComShowCreateTable = "Com_show_create_table",
    ComShowDatabases = "Com_show_databases",
    ComShowFields = "Com_show_fields",
    ComShowKeys = "Com_show_keys",
    ComShowMasterStatus = "Com_show_master_status",
    ComShowOther = "Com_show_other",
    ComShowProcesslist = "Com_show_processlist",
    ComShowReplicaStatus = "Com_show_replica_status",
    ComShowReplicas = "Com_show_replicas",
    ComShowStatus = "Com_show_status",
    ComShowTables = "Com_show_tables",
    ComShowVariables = "Com_show_variables",
    ComShowWarnings = "Com_show_warnings",
    ComStmtClose = "Com_stmt_close",
    ComStmtExecute = "Com_stmt_execute",
    ComStmtFetch = "Com_stmt_fetch",
    ComStmtPrepare = "Com_stmt_prepare",
    ComStmtReprepare = "Com_stmt_reprepare",
    ComStmtReset = "Com_stmt_reset",
    ComStmtSendLongData = "Com_stmt_send_long_data",
    ComTruncate = "Com_truncate",
    ComUnlockInstance = "Com_unlock_instance",
    ComUnlockTables = "Com_unlock_tables",
    ComUpdate = "Com_update",
    ComUpdateMulti = "Com_update_multi",
    ComXaCommit = "Com_xa_commit",
    ComXaEnd = "Com_xa_end",
    ComXaPrepare = "Com_xa_prepare",
    ComXaRecover = "Com_xa_recover",
    ComXaRollback = "Com_xa_rollback",
    ComXaStart = "Com_xa_start",
    CreatedTmpDiskTables = "Created_tmp_disk_tables",
    CreatedTmpFiles = "Created_tmp_files",
    CreatedTmpTables = "Created_tmp_tables",
    HandlerCommit = "Handler_commit",
    HandlerDelete = "Handler_delete",
    HandlerReadFirst = "Handler_read_first",
    HandlerReadKey = "Handler_read_key",
    HandlerReadNext = "Handler_read_next",
    HandlerReadPrev = "Handler_read_prev",
    HandlerReadRnd = "Handler_read_rnd",
    HandlerReadRndNext = "Handler_read_rnd_next",
    HandlerRollback = "Handler_rollback",
    HandlerSavepoint = "Handler_savepoint",
    HandlerUpdate = "Handler_update",
    HandlerWrite = "Handler_write",
    MaxExecutionTimeExceeded = "Max_execution_time_exceeded",
    PlanCacheHits = "Glassine_plan_cache_hits",
    PlanCacheMisses = "Glassine_plan_cache_misses",
    PlanCacheSharedHits = "Glassine_plan_cache_shared_hits",
    Queries = "Queries",
    Questions = "Questions",
    SelectFullJoin = "Select_full_join",
    SelectRange = "Select_range",
    SelectScan = "Select_scan",
    SlowQueries = "Slow_queries",
    SortMergePasses = "Sort_merge_passes",
    SortRange = "Sort_range",
    SortRows = "Sort_rows",
    SortScan = "Sort_scan",
}

/// What one session has done. Written by its own thread only.
#[derive(Debug)]
pub struct SessionStatus {
    counts: [AtomicU64; NAMES.len()],
    /// The counts of when it began to count anew: FLUSH STATUS.
    flushed: [AtomicU64; NAMES.len()],
    prepared_statements: AtomicU64,
    busy: AtomicBool,
    /// The connection's number.
    thread: AtomicU64,
    /// What its connection is like, once that has been agreed upon.
    connection: OnceLock<ConnectionFacts>,
    /// Whose it is; none before it has logged in.
    account: Mutex<Option<AccountName>>,
    /// Its variables, as they were after the last of them was set.
    variables: Mutex<Option<Arc<SessionVariables>>>,
}

impl Default for SessionStatus {
    fn default() -> Self {
        Self::new()
    }
}

impl SessionStatus {
    pub fn new() -> Self {
        Self {
            counts: std::array::from_fn(|_| AtomicU64::new(0)),
            flushed: std::array::from_fn(|_| AtomicU64::new(0)),
            prepared_statements: AtomicU64::new(0),
            busy: AtomicBool::new(false),
            thread: AtomicU64::new(0),
            connection: OnceLock::new(),
            account: Mutex::default(),
            variables: Mutex::default(),
        }
    }

    /// Whose session it is.
    pub fn account(&self) -> Option<AccountName> {
        self.account.lock().clone()
    }

    /// Shows the session's variables to others.
    pub fn show_variables(&self, variables: &SessionVariables) {
        *self.variables.lock() = Some(Arc::new(variables.clone()));
    }

    pub fn variables(&self) -> Option<Arc<SessionVariables>> {
        self.variables.lock().clone()
    }

    #[inline]
    pub fn add(&self, counter: Counter, count: u64) {
        // One writer: no read-modify-write is needed.
        let cell = &self.counts[counter as usize];
        cell.store(cell.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    #[inline]
    pub fn get(&self, counter: Counter) -> u64 {
        self.counts[counter as usize].load(Ordering::Relaxed)
    }

    /// All that it has counted since it last began anew, by name.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.counts.iter().zip(&self.flushed);
        let since = |count: &AtomicU64, before: u64| count.load(Ordering::Relaxed).saturating_sub(before);
        let counts = counts.map(move |(count, flushed)| since(count, flushed.load(Ordering::Relaxed)));
        NAMES.iter().copied().zip(counts)
    }

    /// The session shows only what it counts from here on. The server's sums stay.
    fn flush(&self) {
        for (count, flushed) in self.counts.iter().zip(&self.flushed) {
            flushed.store(count.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// How many prepared statements the session holds.
    pub fn set_prepared_statements(&self, count: usize) {
        self.prepared_statements.store(count as u64, Ordering::Relaxed);
    }

    /// What was agreed upon with the client, at login.
    pub fn set_connection(&self, facts: ConnectionFacts) {
        let _ = self.connection.set(facts);
    }

    pub fn connection(&self) -> ConnectionFacts {
        self.connection.get().cloned().unwrap_or_default()
    }

    /// The session is that of a connection.
    pub fn belongs_to(&self, thread: u32) {
        self.thread.store(thread.into(), Ordering::Relaxed);
    }

    /// The connection's number.
    pub fn thread(&self) -> u64 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Whether the session executes a command.
    #[inline]
    pub fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::Relaxed);
    }
}

/// What all sessions have done.
pub struct ServerStatus {
    started: Instant,
    /// The last FLUSH STATUS.
    flushed: Mutex<Instant>,
    sessions: Mutex<Sessions>,
    /// Connections refused or broken before login.
    aborted_connects: AtomicU64,
    refused_connections: AtomicU64,
    connections: AtomicU64,
    connections_max: AtomicUsize,
    connections_max_at: AtomicU64,
    /// What was written into the binary log, if there is one, and what came into the relay log.
    log: OnceLock<Arc<Stats>>,
    pub relay_log: Stats,
    /// When SHOW ENGINE INNODB STATUS was last asked for, and the counters of then.
    reported: Mutex<(Instant, EngineStatus)>,
}

struct Sessions {
    living: Vec<Arc<SessionStatus>>,
    /// The sums of closed sessions.
    gone: [u64; NAMES.len()],
    /// The same by account, and how many sessions each account has had.
    accounts: BTreeMap<AccountName, AccountStatus>,
}

/// What the sessions of an account have done.
#[derive(Clone)]
pub struct AccountStatus {
    /// Sessions that are there now.
    pub connections: u64,
    /// Logins since the start.
    pub logins: u64,
    counts: [u64; NAMES.len()],
}

impl Default for AccountStatus {
    fn default() -> Self {
        Self { connections: 0, logins: 0, counts: [0; NAMES.len()] }
    }
}

impl AccountStatus {
    fn add_session(&mut self, session: &SessionStatus) {
        for (sum, count) in self.counts.iter_mut().zip(&session.counts) {
            *sum += count.load(Ordering::Relaxed);
        }
    }

    pub fn add(&mut self, other: &AccountStatus) {
        self.connections += other.connections;
        self.logins += other.logins;
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
    }

    /// All counters, by name.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.iter().zip(&self.counts).map(|(name, count)| (*name, *count))
    }
}

impl Default for ServerStatus {
    fn default() -> Self {
        Self::new()
    }
}

impl ServerStatus {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            flushed: Mutex::new(Instant::now()),
            sessions: Mutex::new(Sessions { living: Vec::new(), gone: [0; NAMES.len()], accounts: BTreeMap::new() }),
            aborted_connects: AtomicU64::new(0),
            refused_connections: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            connections_max: AtomicUsize::new(0),
            connections_max_at: AtomicU64::new(0),
            log: OnceLock::new(),
            relay_log: Stats::default(),
            reported: Mutex::new((Instant::now(), EngineStatus::default())),
        }
    }

    /// The binary log's counters are part of the status from now on.
    pub fn follow_log(&self, stats: &Arc<Stats>) {
        let _ = self.log.set(stats.clone());
    }

    /// The binary log's counters.
    pub fn log(&self) -> Option<&Arc<Stats>> {
        self.log.get()
    }

    /// The engine's counters at the last report, and the seconds since; the next report counts from now.
    pub fn since_last_report(&self, now: &EngineStatus) -> (EngineStatus, f64) {
        let mut reported = self.reported.lock();
        let (at, before) = std::mem::replace(&mut *reported, (Instant::now(), now.clone()));
        (before, at.elapsed().as_secs_f64())
    }

    /// A session begins.
    pub fn register(&self) -> Arc<SessionStatus> {
        let status = Arc::new(SessionStatus::new());
        let mut sessions = self.sessions.lock();
        sessions.living.push(status.clone());
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.note_connections(&sessions, self.connections_max.load(Ordering::Relaxed));
        status
    }

    /// A session has logged in. What it did under another account before counts for this one.
    pub fn logged_in(&self, status: &SessionStatus, account: AccountName) {
        let mut sessions = self.sessions.lock();
        sessions.accounts.entry(account.clone()).or_default().logins += 1;
        *status.account.lock() = Some(account);
    }

    /// What the sessions of each account have done.
    pub fn by_account(&self) -> BTreeMap<AccountName, AccountStatus> {
        let sessions = self.sessions.lock();
        let mut accounts = sessions.accounts.clone();
        for session in &sessions.living {
            if let Some(account) = session.account() {
                let status = accounts.entry(account).or_default();
                status.connections += 1;
                status.add_session(session);
            }
        }
        accounts
    }

    /// A session ends.
    pub fn retire(&self, status: &Arc<SessionStatus>) {
        let mut sessions = self.sessions.lock();
        sessions.living.retain(|other| !Arc::ptr_eq(other, status));
        if let Some(account) = status.account() {
            sessions.accounts.entry(account).or_default().add_session(status);
        }
        for (sum, count) in sessions.gone.iter_mut().zip(&status.counts) {
            *sum += count.load(Ordering::Relaxed);
        }
    }

    /// A client failed to log in.
    pub fn count_aborted_connect(&self) {
        self.aborted_connects.fetch_add(1, Ordering::Relaxed);
    }

    /// A client found all connections taken.
    pub fn count_refused_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// FLUSH STATUS of a session: it counts anew, and so does the server its largest number of connections.
    pub fn flush(&self, session: &SessionStatus) {
        session.flush();
        *self.flushed.lock() = Instant::now();
        let sessions = self.sessions.lock();
        self.note_connections(&sessions, 0);
    }

    /// Notes the time of the largest number of connections, if there are more than `before`.
    fn note_connections(&self, sessions: &Sessions, before: usize) {
        if sessions.living.len() > before {
            self.connections_max.store(sessions.living.len(), Ordering::Relaxed);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
            self.connections_max_at.store(now, Ordering::Relaxed);
        }
    }

    pub fn uptime_seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// The sessions that are there now.
    pub fn living(&self) -> Vec<Arc<SessionStatus>> {
        self.sessions.lock().living.clone()
    }

    /// The sum over all sessions.
    pub fn total(&self, counter: Counter) -> u64 {
        let sessions = self.sessions.lock();
        sessions.gone[counter as usize] + sessions.living.iter().map(|session| session.get(counter)).sum::<u64>()
    }

    /// SHOW GLOBAL STATUS, in order of names.
    pub fn global(&self, engine: &EngineStatus) -> Vec<(&'static str, String)> {
        let sessions = self.sessions.lock();
        let mut totals = sessions.gone;
        for session in &sessions.living {
            for (sum, count) in totals.iter_mut().zip(&session.counts) {
                *sum += count.load(Ordering::Relaxed);
            }
        }
        drop(sessions);
        self.listing(&totals, engine)
    }

    /// SHOW SESSION STATUS: what this session did, and what cannot be told apart by session.
    pub fn session(&self, session: &SessionStatus, engine: &EngineStatus) -> Vec<(&'static str, String)> {
        let mut counts = [0; NAMES.len()];
        counts.iter_mut().zip(session.counts()).for_each(|(count, (_, own))| *count = own);
        self.listing(&counts, engine)
    }

    fn listing(&self, counts: &[u64; NAMES.len()], engine: &EngineStatus) -> Vec<(&'static str, String)> {
        let mut rows: Vec<(&'static str, String)> =
            NAMES.iter().zip(counts).map(|(&name, count)| (name, count.to_string())).collect();
        rows.extend(self.server_facts().into_iter().map(|(name, number)| (name, number.to_string())));
        rows.extend(engine_facts(engine).into_iter().map(|(name, number)| (name, number.to_string())));
        let punch_hole = if engine.punch_hole { "ON" } else { "OFF" };
        rows.push(("Innodb_have_punch_hole", punch_hole.to_owned()));
        rows.extend(constant_facts().iter().map(|&(name, text)| (name, text.to_owned())));
        rows.sort_unstable_by_key(|(name, _)| *name);
        rows
    }

    /// Prepared statements of all sessions.
    pub fn prepared_statements(&self) -> u64 {
        let sessions = self.sessions.lock();
        sessions.living.iter().map(|session| session.prepared_statements.load(Ordering::Relaxed)).sum()
    }

    fn server_facts(&self) -> Vec<(&'static str, u64)> {
        let sessions = self.sessions.lock();
        let connected = sessions.living.len() as u64;
        let running = sessions.living.iter().filter(|session| session.busy.load(Ordering::Relaxed)).count() as u64;
        drop(sessions);
        let prepared = self.prepared_statements();
        let connections = self.connections.load(Ordering::Relaxed);
        let (caches, files, statements) = self.log().map_or((0, 0, 0), |log| log.uses());
        vec![
            ("Aborted_connects", self.aborted_connects.load(Ordering::Relaxed)),
            ("Binlog_cache_disk_use", files),
            ("Binlog_cache_use", caches),
            ("Binlog_stmt_cache_use", statements),
            ("Connection_errors_max_connections", self.refused_connections.load(Ordering::Relaxed)),
            ("Connections", connections),
            ("Max_used_connections", self.connections_max.load(Ordering::Relaxed) as u64),
            ("Prepared_stmt_count", prepared),
            ("Threads_cached", 0),
            ("Threads_connected", connected),
            ("Threads_created", connections),
            ("Threads_running", running),
            ("Uptime", self.uptime_seconds()),
            ("Uptime_since_flush_status", self.flushed.lock().elapsed().as_secs()),
        ]
    }
}

/// The engine's counters under InnoDB's names; MariaDB's for page compression.
fn engine_facts(engine: &EngineStatus) -> Vec<(&'static str, u64)> {
    let store = &engine.store;
    let waits = engine.row_lock_waits;
    vec![
        ("Glassine_dropped_bytes_pending", store.dropped_bytes_now),
        ("Glassine_dropped_files_pending", store.dropped_files_now),
        ("Glassine_dropped_files_removed", store.dropped_files_removed),
        ("Glassine_freed_bytes_released", store.freed_bytes_released),
        ("Innodb_buffer_pool_bytes_data", store.pool_pages_data_now * store.page_bytes),
        ("Innodb_buffer_pool_bytes_dirty", store.pool_pages_dirty_now * store.page_bytes),
        ("Innodb_buffer_pool_pages_data", store.pool_pages_data_now),
        ("Innodb_buffer_pool_pages_dirty", store.pool_pages_dirty_now),
        ("Innodb_buffer_pool_pages_evicted", store.pool_evicted),
        ("Innodb_buffer_pool_pages_flushed", store.pages_written),
        ("Innodb_buffer_pool_pages_LRU_flushed", store.pool_pages_flushed_lru),
        ("Innodb_buffer_pool_pages_free", store.pool_pages_free_now),
        (
            "Innodb_buffer_pool_pages_misc",
            store.pool_pages_total_now.saturating_sub(store.pool_pages_free_now + store.pool_pages_data_now),
        ),
        ("Innodb_buffer_pool_pages_total", store.pool_pages_total_now),
        ("Innodb_buffer_pool_read_ahead", store.read_ahead_linear),
        ("Innodb_buffer_pool_read_ahead_evicted", store.read_ahead_evicted),
        ("Innodb_buffer_pool_read_ahead_rnd", store.read_ahead_random),
        ("Glassine_read_ahead_reads", store.read_ahead_reads),
        ("Glassine_read_ahead_throttled", store.read_ahead_throttled),
        ("Glassine_read_ahead_used", store.read_ahead_used),
        ("Glassine_recovery_pages_left", store.recovery_pages_left),
        ("Glassine_compressed_cache_bytes", store.compressed_cache_bytes_now),
        ("Glassine_compressed_cache_frames", store.compressed_cache_frames_now),
        ("Glassine_compressed_cache_pages", store.compressed_cache_pages_now),
        ("Innodb_buffer_pool_read_requests", store.page_read_requests),
        ("Innodb_buffer_pool_reads", store.page_reads),
        ("Innodb_buffer_pool_wait_free", store.pool_wait_free),
        ("Glassine_untorn_pages_written", store.untorn_pages),
        ("Glassine_buffer_pool_wait_free_us", store.pool_wait_free_us),
        ("Glassine_buffer_pool_evicted_by_readers", store.pool_evicted_by_readers),
        ("Innodb_buffer_pool_write_requests", store.log_write_requests),
        ("Innodb_checkpoint_age", store.lsn_current.saturating_sub(store.lsn_checkpoint)),
        ("Innodb_checkpoint_max_age", store.log_capacity_bytes),
        ("Innodb_data_fsyncs", store.data_fsyncs + store.log_fsyncs),
        // Threads make system calls themselves: nothing is queued.
        ("Innodb_data_pending_fsyncs", 0),
        ("Innodb_data_pending_reads", 0),
        ("Innodb_data_pending_writes", 0),
        ("Innodb_data_read", store.data_bytes_read),
        ("Innodb_data_reads", store.page_reads),
        ("Innodb_data_writes", store.data_writes + store.log_writes + store.doublewrite_writes),
        ("Innodb_data_written", store.data_bytes_written + store.log_bytes_written + store.doublewrite_bytes),
        ("Innodb_dblwr_pages_written", store.doublewrite_pages),
        ("Innodb_dblwr_writes", store.doublewrite_writes),
        ("Innodb_deadlocks", engine.deadlocks),
        ("Innodb_history_list_length", engine.history_list_length),
        ("Innodb_undo_truncations", engine.undo_truncations),
        ("Innodb_log_waits", store.log_waits),
        ("Innodb_log_write_requests", store.log_write_requests),
        ("Innodb_log_writes", store.log_writes),
        ("Innodb_lsn_current", store.lsn_current),
        ("Innodb_lsn_flushed", store.lsn_flushed),
        ("Innodb_lsn_last_checkpoint", store.lsn_checkpoint),
        ("Innodb_max_trx_id", engine.trx_id_next),
        ("Innodb_num_open_files", store.open_files_now),
        ("Innodb_num_page_compressed_trim_op", store.punches),
        ("Innodb_num_page_compressed_trim_op_saved", store.punches_avoided),
        ("Innodb_num_pages_decrypted", store.pages_decrypted),
        ("Innodb_num_pages_encrypted", store.pages_encrypted),
        ("Innodb_num_pages_page_compressed", store.pages_compressed),
        ("Innodb_num_pages_page_compression_error", store.pages_compress_failed),
        ("Innodb_num_pages_page_decompressed", store.pages_decompressed),
        ("Innodb_os_log_fsyncs", store.log_fsyncs),
        ("Innodb_os_log_pending_fsyncs", 0),
        ("Innodb_os_log_pending_writes", 0),
        ("Innodb_os_log_written", store.log_bytes_written),
        ("Innodb_page_compression_saved", compression_saved_bytes(engine)),
        ("Innodb_page_compression_trim_failed", store.punches_failed),
        ("Innodb_page_size", store.page_bytes),
        ("Innodb_pages_created", store.pages_created),
        ("Innodb_pages_read", store.page_reads),
        ("Innodb_pages_written", store.pages_written),
        ("Innodb_redo_log_checkpoint_lsn", store.lsn_checkpoint),
        ("Innodb_redo_log_current_lsn", store.lsn_current),
        ("Innodb_redo_log_flushed_to_disk_lsn", store.lsn_flushed),
        ("Innodb_redo_log_logical_size", store.lsn_current.saturating_sub(store.lsn_checkpoint)),
        ("Innodb_row_lock_current_waits", engine.row_lock_waits_now),
        ("Innodb_row_lock_time", engine.row_lock_time_us / 1000),
        ("Innodb_row_lock_time_avg", engine.row_lock_time_us / 1000 / waits.max(1)),
        ("Innodb_row_lock_time_max", engine.row_lock_time_max_us / 1000),
        ("Innodb_row_lock_waits", waits),
        ("Innodb_rows_deleted", engine.rows_deleted),
        ("Innodb_rows_inserted", engine.rows_inserted),
        ("Innodb_rows_read", engine.rows_read),
        ("Innodb_rows_updated", engine.rows_updated),
    ]
}

/// The bytes that compression saved on written pages.
fn compression_saved_bytes(engine: &EngineStatus) -> u64 {
    let store = &engine.store;
    (store.pages_written * store.page_bytes).saturating_sub(store.data_bytes_written)
}

/// Names that tools ask for, whose answer does not change here.
fn constant_facts() -> &'static [(&'static str, &'static str)] {
    &[
        ("Binlog_stmt_cache_disk_use", "0"),
        ("Flush_commands", "1"),
        ("Innodb_buffer_pool_dump_status", "Dumping of buffer pool not started"),
        ("Innodb_buffer_pool_load_status", "Loading of buffer pool not started"),
        // MariaDB's: which codecs the server was built with.
        ("Innodb_have_bzip2", "OFF"),
        ("Innodb_have_lz4", "ON"),
        ("Innodb_have_lzma", "OFF"),
        ("Innodb_have_lzo", "OFF"),
        ("Innodb_have_snappy", "OFF"),
        ("Innodb_have_zlib", "ON"),
        ("Innodb_have_zstd", "ON"),
        ("Innodb_redo_log_enabled", "ON"),
        ("Innodb_redo_log_read_only", "OFF"),
        ("Key_read_requests", "0"),
        ("Key_reads", "0"),
        ("Key_write_requests", "0"),
        ("Key_writes", "0"),
        ("Last_query_cost", "0.000000"),
        ("Open_files", "0"),
        ("Open_tables", "0"),
        ("Opened_tables", "0"),
        ("Table_locks_immediate", "0"),
        ("Table_locks_waited", "0"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gone_sessions_did_still_counts() {
        let server = ServerStatus::new();
        let (one, other) = (server.register(), server.register());
        one.add(Counter::Questions, 3);
        other.add(Counter::Questions, 4);
        server.retire(&one);
        assert_eq!(server.total(Counter::Questions), 7);
        let engine = EngineStatus::default();
        let value = |rows: &[(&str, String)], name: &str| {
            rows.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone()).unwrap()
        };
        let global = server.global(&engine);
        assert_eq!(value(&global, "Questions"), "7");
        assert_eq!(value(&global, "Threads_connected"), "1");
        assert_eq!(value(&global, "Max_used_connections"), "2");
        assert_eq!(value(&server.session(&other, &engine), "Questions"), "4");
    }

    #[test]
    fn names_are_in_order_and_stand_once() {
        let rows = ServerStatus::new().global(&EngineStatus::default());
        assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
