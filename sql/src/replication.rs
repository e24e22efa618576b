//! What statements ask of the part of the server that replicates a source; a crate above this one does it.

use std::time::Duration;

use format::binlog::mariadb::MariadbPosition;
use format::binlog::{Gtid, GtidSet, Uuid};

use crate::error::{Error, Result};
use crate::parser::ast::{FilterKind, FilterRule, ReplicaStart, ReplicaThreads, SourceValue, Until};
use crate::transport::TlsSettings;

/// A replica: what reads the logs of its sources, and what applies them. Each source has a channel with a name, in lower
/// case; the first one's is empty. `channel`: what FOR CHANNEL says; `None` = it is not said, and all channels are meant,
/// or the only one.
pub trait Replication: Send + Sync {
    /// CHANGE REPLICATION SOURCE TO: the options' names in upper case without SOURCE_. Makes the channel.
    fn change_source(&self, channel: Option<&str>, options: &[(String, SourceValue)]) -> Result<()>;

    /// CHANGE REPLICATION FILTER. Without a channel also those that a new source gets.
    fn change_filters(&self, channel: Option<&str>, changes: &[(FilterKind, Vec<FilterRule>)]) -> Result<()>;

    /// What the filters are: those that a new source gets, and those of each channel.
    fn filters(&self) -> (Vec<FilterStatus>, Vec<(String, Vec<FilterStatus>)>);

    /// START REPLICA. What the client is told.
    fn start(&self, channel: Option<&str>, start: &ReplicaStart) -> Result<Vec<Error>>;

    /// STOP REPLICA; returns when they have stopped.
    fn stop(&self, channel: Option<&str>, threads: ReplicaThreads) -> Result<Vec<Error>>;

    /// RESET REPLICA; `all`: the source is forgotten too, and the channel.
    fn reset(&self, channel: Option<&str>, all: bool) -> Result<()>;

    /// Of the channels that have sources, by name.
    fn status(&self, channel: Option<&str>) -> Result<Vec<ReplicaStatus>>;

    /// Waits until the applier has come to a place in the source's log. The number of transactions that it waited for,
    /// -1 if the time was over, `None` if the applier does not run, or stops.
    fn wait_for_position(
        &self,
        channel: Option<&str>,
        place: (&str, u64),
        timeout: Option<Duration>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<i64>>;

    /// How far it is with MariaDB sources.
    fn mariadb_position(&self) -> MariadbPosition;

    /// SET GLOBAL gtid_slave_pos.
    fn set_mariadb_position(&self, position: MariadbPosition) -> Result<()>;

    /// The names of all transactions that this server has.
    fn executed(&self) -> GtidSet;
}

/// A filter that was set, as performance_schema shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterStatus {
    pub kind: FilterKind,
    /// What it lists, separated by commas.
    pub rules: String,
    /// An option set it.
    pub is_option: bool,
    /// In microseconds since 1970.
    pub since_micros: u64,
    /// How often one of its rules fitted.
    pub decided: u64,
}

/// An error that stopped a thread, as SHOW REPLICA STATUS tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastError {
    pub code: u16,
    pub message: String,
    /// When, in microseconds since 1970.
    pub at_micros: u64,
}

/// Whether the receiver runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Receiving {
    #[default]
    No,
    Connecting,
    Yes,
}

impl Receiving {
    pub fn name(self) -> &'static str {
        match self {
            Receiving::No => "No",
            Receiving::Connecting => "Connecting",
            Receiving::Yes => "Yes",
        }
    }
}

/// What SHOW REPLICA STATUS shows.
#[derive(Clone, Debug, Default)]
pub struct ReplicaStatus {
    pub channel: String,
    pub receiver_state: String,
    pub applier_state: String,
    pub host: String,
    pub user: String,
    pub port: u16,
    pub connect_retry: u64,
    pub retry_count: u64,
    pub delay: u64,
    pub remaining_delay: Option<u64>,
    /// How far the source's log has been read.
    pub read_file: String,
    pub read_position: u64,
    /// Where the applier is in the relay log.
    pub relay_file: String,
    pub relay_position: u64,
    pub relay_bytes: u64,
    /// How far the source's log has been applied.
    pub applied_file: String,
    pub applied_position: u64,
    pub receiving: Receiving,
    pub is_applying: bool,
    pub seconds_behind: Option<u64>,
    pub receiver_error: LastError,
    pub applier_error: LastError,
    pub source_id: u32,
    pub source_uuid: Option<Uuid>,
    /// The receiver tells the source what has come.
    pub is_semi_sync: bool,
    pub ignored_servers: Vec<u32>,
    pub retrieved: GtidSet,
    pub executed: GtidSet,
    pub auto_position: bool,
    /// MASTER_USE_GTID, and how far the source's log has been read by such names.
    pub use_gtid: Option<&'static str>,
    pub received_mariadb: String,
    pub filters: Vec<FilterStatus>,
    /// What START REPLICA UNTIL said last.
    pub until: Option<Until>,
    pub get_public_key: bool,
    pub public_key_path: String,
    /// SOURCE_SSL, SOURCE_SSL_VERIFY_SERVER_CERT, and the options of TLS.
    pub is_encrypted: bool,
    pub is_verified: bool,
    pub tls: TlsSettings,
    /// Milliseconds between heartbeats; how many came, and when the last did, in microseconds since 1970.
    pub heartbeat_ms: u64,
    pub heartbeats: u64,
    pub heartbeat_at_micros: u64,
    /// The transaction with a name that was received last.
    pub last_received: Option<Gtid>,
    /// Transactions that were begun again.
    pub retries: u64,
    /// The applier's threads.
    pub coordinator: WorkerStatus,
    pub workers: Vec<WorkerStatus>,
}

/// A thread of the applier.
#[derive(Clone, Debug, Default)]
pub struct WorkerStatus {
    /// Its connection in the process list, as long as it runs.
    pub id: Option<u32>,
    pub error: LastError,
    /// The transactions with names that it applies now, and that it applied last.
    pub applying: Option<Gtid>,
    pub last: Option<Gtid>,
}
