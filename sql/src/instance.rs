//! What all sessions of a server share: the engine, the global variables, the
//! counters, the accounts and the list of processes.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use binlog::BinaryLog;
use format::binlog::GtidSet;
use format::binlog::mariadb::MariadbPosition;
use format::value::Value;
use parking_lot::Mutex;
use storage::{DeadlockReport, Engine};

use crate::accounts::Accounts;
use crate::accounts::admission::Usage;
use crate::dumps::Dumps;
use crate::event_alarm::EventAlarm;
use crate::processlist::ProcessList;
use crate::read_lock::ReadLock;
use crate::replication::Replication;
use crate::shared_plans::SharedPlans;
use crate::statements::log_file::LogFile;
use crate::statements::log_table::LogTable;
use crate::statements::{Limits, Statements};
use crate::status::ServerStatus;
use crate::temporary::Temporary;
use crate::transport::Transport;
use crate::user_locks::UserLocks;
use crate::variables::GlobalVariables;
use crate::variables::persisted::Persisted;

/// One running server, without its listeners.
pub struct Instance {
    pub engine: Arc<Engine>,
    /// The binary log, if one is written.
    pub log: Option<Arc<BinaryLog>>,
    /// What replicates a source, as soon as the server has made it.
    replication: OnceLock<Weak<dyn Replication>>,
    /// What encrypts connections, as soon as there is a server.
    transport: OnceLock<Weak<dyn Transport>>,
    pub variables: GlobalVariables,
    pub status: ServerStatus,
    /// What statements have done.
    pub statements: Arc<Statements>,
    pub slow_log: LogFile,
    pub general_log: LogFile,
    /// The same as tables.
    pub slow_log_table: LogTable,
    pub general_log_table: LogTable,
    pub processes: ProcessList,
    /// Replicas that are connected.
    pub dumps: Dumps,
    /// Wakes what runs events.
    pub events: EventAlarm,
    /// FLUSH TABLES WITH READ LOCK.
    pub read_lock: ReadLock,
    /// GET_LOCK().
    pub user_locks: UserLocks,
    pub accounts: Accounts,
    /// What accounts with limits have taken.
    pub usage: Usage,
    /// Plans that sessions hand on to each other.
    pub plans: SharedPlans,
    /// What queries keep, in memory and in temporary files.
    pub temporary: Arc<Temporary>,
    /// The last deadlock and its text.
    pub deadlock: Mutex<Option<(DeadlockReport, String)>>,
    /// What SET PERSIST keeps.
    pub persisted: Persisted,
    pub datadir: PathBuf,
    pub started: Instant,
    /// The same moment by the clock on the wall.
    pub started_wall: SystemTime,
}

impl Instance {
    /// An instance without a binary log.
    pub fn new(engine: Arc<Engine>, variables: GlobalVariables, accounts: Accounts, datadir: PathBuf) -> Arc<Instance> {
        Instance::with_log(engine, None, variables, accounts, datadir)
    }

    pub fn with_log(
        engine: Arc<Engine>,
        log: Option<Arc<BinaryLog>>,
        variables: GlobalVariables,
        accounts: Accounts,
        datadir: PathBuf,
    ) -> Arc<Instance> {
        let hostname = variables.text("hostname");
        for (file, ending) in [("slow_query_log_file", "-slow.log"), ("general_log_file", ".log")] {
            if variables.text(file).is_empty() {
                variables.fill_in(file, Value::Bytes(format!("{hostname}{ending}").into_bytes()));
            }
        }
        if accounts.have_restrictions() {
            variables.fill_in("partial_revokes", Value::Int(1));
        }
        let status = ServerStatus::new();
        let statements = Arc::new(Statements::new(limits(&variables)));
        if let Some(log) = &log {
            status.follow_log(log.stats());
        }
        Arc::new(Instance {
            engine,
            log,
            replication: OnceLock::new(),
            transport: OnceLock::new(),
            variables,
            status,
            statements,
            slow_log: LogFile::default(),
            general_log: LogFile::default(),
            slow_log_table: LogTable::new(&datadir, "slow_log"),
            general_log_table: LogTable::new(&datadir, "general_log"),
            processes: ProcessList::new(),
            dumps: Dumps::default(),
            events: EventAlarm::default(),
            read_lock: ReadLock::default(),
            user_locks: UserLocks::default(),
            accounts,
            usage: Usage::default(),
            plans: SharedPlans::default(),
            temporary: Arc::default(),
            deadlock: Mutex::new(None),
            persisted: Persisted::new(&datadir),
            datadir,
            started: Instant::now(),
            started_wall: SystemTime::now(),
        })
    }

    /// Statements about a replica go there from now on.
    pub fn set_replication(&self, replication: &Arc<dyn Replication>) {
        let _ = self.replication.set(Arc::downgrade(replication));
    }

    /// What replicates a source.
    pub fn replication(&self) -> Option<Arc<dyn Replication>> {
        self.replication.get().and_then(Weak::upgrade)
    }

    /// Statements about TLS go there from now on.
    pub fn set_transport(&self, transport: &Arc<dyn Transport>) {
        let _ = self.transport.set(Arc::downgrade(transport));
    }

    /// What encrypts connections.
    pub fn transport(&self) -> Option<Arc<dyn Transport>> {
        self.transport.get().and_then(Weak::upgrade)
    }

    /// The names of all transactions that the server has: in its log, and from its source.
    pub fn executed_gtids(&self) -> GtidSet {
        match (self.replication(), &self.log) {
            (Some(replication), _) => replication.executed(),
            (None, Some(log)) => log.executed(),
            (None, None) => GtidSet::default(),
        }
    }

    /// How far it is with MariaDB sources.
    pub fn mariadb_position(&self) -> MariadbPosition {
        self.replication().map(|replication| replication.mariadb_position()).unwrap_or_default()
    }

    /// A moment, in microseconds since 1970: always the same for the same moment.
    pub fn wall_us(&self, moment: Instant) -> u64 {
        let wall = match moment.checked_duration_since(self.started) {
            Some(behind) => self.started_wall + behind,
            None => self.started_wall - self.started.duration_since(moment),
        };
        wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
    }
}

/// How much of statements is kept.
fn limits(variables: &GlobalVariables) -> Limits {
    // -1 leaves the choice to the server.
    let size = |name, chosen| match variables.select(name) {
        Ok(Value::Int(size)) if size >= 0 => size as usize,
        Ok(Value::UInt(size)) => size as usize,
        _ => chosen,
    };
    Limits {
        enabled: variables.on("performance_schema"),
        digests: size("performance_schema_digests_size", 10_000),
        digest_bytes: size("performance_schema_max_digest_length", 1024),
        text_bytes: size("performance_schema_max_sql_text_length", 1024),
        history: size("performance_schema_events_statements_history_size", 10),
    }
}
