//! A replica in performance_schema: the connection to the source, and the applier.

use format::binlog::Gtid;
use format::value::{DateTime, Value};

use super::{Facts, VirtualTable, int, long_text, number, string, text, time};
use crate::replication::{FilterStatus, LastError, Receiving, ReplicaStatus, WorkerStatus};

/// A row for each channel.
fn channels(facts: &Facts<'_>, row: impl Fn(&ReplicaStatus) -> Vec<Value>) -> Vec<Vec<Value>> {
    let known = facts.instance.replication().and_then(|replication| replication.status(None).ok());
    known.unwrap_or_default().iter().map(row).collect()
}

fn yes(yes: bool) -> Value {
    string(if yes { "YES" } else { "NO" })
}

fn moment(facts: &Facts<'_>, micros: u64) -> Value {
    let seconds = micros as i64 - micros as i64 % 1_000_000;
    let moment = (seconds > 0).then(|| DateTime::from_unix_micros(seconds, facts.zone)).flatten();
    Value::DateTime(moment.unwrap_or(DateTime::ZERO))
}

/// Number, message and time of an error.
fn error(facts: &Facts<'_>, error: &LastError) -> [Value; 3] {
    [Value::UInt(error.code.into()), string(&error.message), moment(facts, error.at_micros)]
}

fn name(gtid: Option<Gtid>) -> Value {
    string(gtid.map(|gtid| gtid.to_string()).unwrap_or_default())
}

pub const CONNECTION_CONFIGURATION: VirtualTable = VirtualTable {
    name: "replication_connection_configuration",
    columns: &[
        text("CHANNEL_NAME", 64),
        text("HOST", 255),
        int("PORT"),
        text("USER", 32),
        text("NETWORK_INTERFACE", 60),
        text("AUTO_POSITION", 1),
        text("SSL_ALLOWED", 7),
        text("SSL_CA_FILE", 512),
        text("SSL_CA_PATH", 512),
        text("SSL_CERTIFICATE", 512),
        text("SSL_CIPHER", 512),
        text("SSL_KEY", 512),
        text("SSL_VERIFY_SERVER_CERTIFICATE", 3),
        text("SSL_CRL_FILE", 255),
        text("SSL_CRL_PATH", 255),
        number("CONNECTION_RETRY_INTERVAL"),
        number("CONNECTION_RETRY_COUNT"),
        text("HEARTBEAT_INTERVAL", 16),
        text("TLS_VERSION", 255),
        text("PUBLIC_KEY_PATH", 512),
        text("GET_PUBLIC_KEY", 3),
    ],
    rows: |facts| {
        channels(facts, |status| {
            let empty = || string("");
            let seconds = status.heartbeat_ms as f64 / 1000.0;
            vec![
                string(&status.channel),
                string(&status.host),
                Value::UInt(status.port.into()),
                string(&status.user),
                empty(),
                string(if status.auto_position { "1" } else { "0" }),
                yes(status.is_encrypted),
                string(&status.tls.ca),
                string(&status.tls.ca_directory),
                string(&status.tls.certificate),
                string(&status.tls.ciphers),
                string(&status.tls.key),
                yes(status.is_verified),
                string(&status.tls.revoked),
                string(&status.tls.revoked_directory),
                Value::UInt(status.connect_retry),
                Value::UInt(status.retry_count),
                string(format!("{seconds:.3}")),
                string(&status.tls.versions),
                string(&status.public_key_path),
                yes(status.get_public_key),
            ]
        })
    },
};

pub const CONNECTION_STATUS: VirtualTable = VirtualTable {
    name: "replication_connection_status",
    columns: &[
        text("CHANNEL_NAME", 64),
        text("GROUP_NAME", 36),
        text("SOURCE_UUID", 36),
        number("THREAD_ID"),
        text("SERVICE_STATE", 10),
        number("COUNT_RECEIVED_HEARTBEATS"),
        time("LAST_HEARTBEAT_TIMESTAMP"),
        long_text("RECEIVED_TRANSACTION_SET"),
        int("LAST_ERROR_NUMBER"),
        text("LAST_ERROR_MESSAGE", 1024),
        time("LAST_ERROR_TIMESTAMP"),
        text("LAST_QUEUED_TRANSACTION", 57),
    ],
    rows: |facts| {
        channels(facts, |status| {
            let state = match status.receiving {
                Receiving::Yes => "ON",
                Receiving::Connecting => "CONNECTING",
                Receiving::No => "OFF",
            };
            let [code, message, at] = error(facts, &status.receiver_error);
            vec![
                string(&status.channel),
                string(""),
                string(status.source_uuid.map(|uuid| uuid.to_string()).unwrap_or_default()),
                Value::Null,
                string(state),
                Value::UInt(status.heartbeats),
                moment(facts, status.heartbeat_at_micros),
                string(status.retrieved.to_string()),
                code,
                message,
                at,
                name(status.last_received),
            ]
        })
    },
};

pub const APPLIER_CONFIGURATION: VirtualTable = VirtualTable {
    name: "replication_applier_configuration",
    columns: &[text("CHANNEL_NAME", 64), number("DESIRED_DELAY"), text("PRIVILEGE_CHECKS_USER", 321)],
    rows: |facts| channels(facts, |status| vec![string(&status.channel), Value::UInt(status.delay), Value::Null]),
};

pub const APPLIER_FILTERS: VirtualTable = VirtualTable {
    name: "replication_applier_filters",
    columns: &[
        text("CHANNEL_NAME", 64),
        text("FILTER_NAME", 64),
        long_text("FILTER_RULE"),
        text("CONFIGURED_BY", 64),
        time("ACTIVE_SINCE"),
        number("COUNTER"),
    ],
    rows: |facts| {
        let filters = facts.instance.replication().map(|replication| replication.filters().1).unwrap_or_default();
        let row = |channel: &str, filter: &FilterStatus| {
            let mut row = vec![string(channel)];
            row.extend(filter_row(facts, filter));
            row.push(Value::UInt(filter.decided));
            row
        };
        let of_channel = |(channel, filters): &(String, Vec<FilterStatus>)| {
            filters.iter().map(|filter| row(channel, filter)).collect::<Vec<_>>()
        };
        filters.iter().flat_map(of_channel).collect()
    },
};

pub const APPLIER_GLOBAL_FILTERS: VirtualTable = VirtualTable {
    name: "replication_applier_global_filters",
    columns: &[text("FILTER_NAME", 64), long_text("FILTER_RULE"), text("CONFIGURED_BY", 64), time("ACTIVE_SINCE")],
    rows: |facts| {
        let filters = facts.instance.replication().map(|replication| replication.filters().0);
        filters.unwrap_or_default().iter().map(|filter| filter_row(facts, filter)).collect()
    },
};

fn filter_row(facts: &Facts<'_>, filter: &FilterStatus) -> Vec<Value> {
    let by = if filter.is_option { "STARTUP_OPTIONS" } else { "CHANGE_REPLICATION_FILTER" };
    vec![string(filter.kind.name()), string(&filter.rules), string(by), moment(facts, filter.since_micros)]
}

pub const APPLIER_STATUS: VirtualTable = VirtualTable {
    name: "replication_applier_status",
    columns: &[
        text("CHANNEL_NAME", 64),
        text("SERVICE_STATE", 3),
        number("REMAINING_DELAY"),
        number("COUNT_TRANSACTIONS_RETRIES"),
    ],
    rows: |facts| {
        channels(facts, |status| {
            vec![
                string(&status.channel),
                string(if status.is_applying { "ON" } else { "OFF" }),
                status.remaining_delay.map_or(Value::Null, Value::UInt),
                Value::UInt(status.retries),
            ]
        })
    },
};

pub const APPLIER_STATUS_BY_COORDINATOR: VirtualTable = VirtualTable {
    name: "replication_applier_status_by_coordinator",
    columns: &[
        text("CHANNEL_NAME", 64),
        number("THREAD_ID"),
        text("SERVICE_STATE", 3),
        int("LAST_ERROR_NUMBER"),
        text("LAST_ERROR_MESSAGE", 1024),
        time("LAST_ERROR_TIMESTAMP"),
    ],
    rows: |facts| {
        channels(facts, |status| {
            let [code, message, at] = error(facts, &status.coordinator.error);
            vec![string(&status.channel), thread(&status.coordinator), is_on(&status.coordinator), code, message, at]
        })
    },
};

fn thread(worker: &WorkerStatus) -> Value {
    worker.id.map_or(Value::Null, |id| Value::UInt(id.into()))
}

fn is_on(worker: &WorkerStatus) -> Value {
    string(if worker.id.is_some() { "ON" } else { "OFF" })
}

pub const APPLIER_STATUS_BY_WORKER: VirtualTable = VirtualTable {
    name: "replication_applier_status_by_worker",
    columns: &[
        text("CHANNEL_NAME", 64),
        number("WORKER_ID"),
        number("THREAD_ID"),
        text("SERVICE_STATE", 3),
        int("LAST_ERROR_NUMBER"),
        text("LAST_ERROR_MESSAGE", 1024),
        time("LAST_ERROR_TIMESTAMP"),
        text("LAST_APPLIED_TRANSACTION", 57),
        time("LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP"),
        time("LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP"),
        time("LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP"),
        time("LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP"),
        text("APPLYING_TRANSACTION", 57),
        time("APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP"),
        time("APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP"),
        time("APPLYING_TRANSACTION_START_APPLY_TIMESTAMP"),
        number("LAST_APPLIED_TRANSACTION_RETRIES_COUNT"),
        int("LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER"),
        text("LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE", 1024),
        time("LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP"),
        number("APPLYING_TRANSACTION_RETRIES_COUNT"),
        int("APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER"),
        text("APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE", 1024),
        time("APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP"),
    ],
    rows: |facts| {
        let known = facts.instance.replication().and_then(|replication| replication.status(None).ok());
        let row = |channel: &str, number: usize, worker: &WorkerStatus| {
            let [code, message, at] = error(facts, &worker.error);
            let number = Value::UInt(number as u64 + 1);
            let (last, applying) = (name(worker.last), name(worker.applying));
            let mut row = vec![string(channel), number, thread(worker), is_on(worker), code, message, at];
            // Of single transactions neither times nor repetitions are kept.
            row.push(last);
            row.extend([const { Value::Null }; 4]);
            row.push(applying);
            row.extend([const { Value::Null }; 11]);
            row
        };
        let of_channel = |status: &ReplicaStatus| {
            let workers = status.workers.iter().enumerate();
            workers.map(|(number, worker)| row(&status.channel, number, worker)).collect::<Vec<_>>()
        };
        known.unwrap_or_default().iter().flat_map(of_channel).collect()
    },
};
