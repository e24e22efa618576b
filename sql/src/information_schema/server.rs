//! The server about itself: character sets, engines, connections, variables, counters.

use format::collation::{Charset, collation, collations};
use format::value::{ColumnType, DateTime, Value};

use super::{Facts, VirtualColumn, VirtualTable, exact, int, long_text, number, optional, string, text, yes};
use crate::accounts::Privileges;
use crate::instance::Instance;
use crate::parser::words;
use crate::statements::keywords;
use crate::transport::ConnectionFacts;
use crate::variables::{Kind, find, names};

pub const CHARACTER_SETS: VirtualTable = VirtualTable {
    name: "CHARACTER_SETS",
    columns: &[
        text("CHARACTER_SET_NAME", 64),
        text("DEFAULT_COLLATE_NAME", 64),
        text("DESCRIPTION", 2048),
        number("MAXLEN"),
    ],
    rows: |_| {
        Charset::ALL
            .iter()
            .map(|charset| {
                vec![
                    string(charset.name()),
                    string(collation(charset.default_collation()).name),
                    string(charset.description()),
                    Value::UInt(u64::from(charset.bytes_max())),
                ]
            })
            .collect()
    },
};

pub const COLLATIONS: VirtualTable = VirtualTable {
    name: "COLLATIONS",
    columns: &[
        text("COLLATION_NAME", 64),
        text("CHARACTER_SET_NAME", 64),
        number("ID"),
        text("IS_DEFAULT", 3),
        text("IS_COMPILED", 3),
        number("SORTLEN"),
        exact("PAD_ATTRIBUTE", 9),
    ],
    rows: |_| {
        collations()
            .iter()
            .map(|own| {
                vec![
                    string(own.name),
                    string(own.charset.name()),
                    Value::UInt(u64::from(own.id.0)),
                    string(if own.is_default { "Yes" } else { "" }),
                    string("Yes"),
                    Value::UInt(own.sort_length()),
                    string(if own.pad_space { "PAD SPACE" } else { "NO PAD" }),
                ]
            })
            .collect()
    },
};

/// The words of MySQL's grammar, and whether a name needs quotes to be one of them.
pub const KEYWORDS: VirtualTable = VirtualTable {
    name: "KEYWORDS",
    columns: &[text("WORD", 128), int("RESERVED")],
    rows: |_| {
        let reserved = words::reserved().iter().map(|word| (*word, 1));
        let free = keywords::unreserved().iter().map(|word| (*word, 0));
        let mut all: Vec<(&str, i64)> = reserved.chain(free).collect();
        all.sort_unstable();
        all.into_iter().map(|(word, reserved)| vec![string(word), Value::Int(reserved)]).collect()
    },
};

pub const COLLATION_CHARACTER_SET_APPLICABILITY: VirtualTable = VirtualTable {
    name: "COLLATION_CHARACTER_SET_APPLICABILITY",
    columns: &[text("COLLATION_NAME", 64), text("CHARACTER_SET_NAME", 64)],
    rows: |_| collations().iter().map(|own| vec![string(own.name), string(own.charset.name())]).collect(),
};

pub const ENGINES: VirtualTable = VirtualTable {
    name: "ENGINES",
    columns: &[
        text("ENGINE", 64),
        text("SUPPORT", 8),
        text("COMMENT", 160),
        text("TRANSACTIONS", 3),
        text("XA", 3),
        text("SAVEPOINTS", 3),
    ],
    rows: |_| {
        vec![vec![
            string("InnoDB"),
            string("DEFAULT"),
            string("InnoDB tablespaces whose pages are compressed on their way to disk"),
            yes(true),
            yes(true),
            yes(true),
        ]]
    },
};

pub const PLUGINS: VirtualTable = VirtualTable {
    name: "PLUGINS",
    columns: &[
        text("PLUGIN_NAME", 64),
        text("PLUGIN_VERSION", 20),
        text("PLUGIN_STATUS", 10),
        text("PLUGIN_TYPE", 80),
        text("PLUGIN_TYPE_VERSION", 20),
        text("PLUGIN_LIBRARY", 64),
        text("PLUGIN_LIBRARY_VERSION", 20),
        text("PLUGIN_AUTHOR", 64),
        long_text("PLUGIN_DESCRIPTION"),
        text("PLUGIN_LICENSE", 80),
        text("LOAD_OPTION", 64),
    ],
    rows: |_| {
        let built_in = [
            ("mysql_native_password", "AUTHENTICATION", "Native MySQL authentication"),
            ("caching_sha2_password", "AUTHENTICATION", "Caching SHA-256 authentication"),
            ("sha256_password", "AUTHENTICATION", "SHA-256 authentication"),
            ("auth_socket", "AUTHENTICATION", "Authentication by the user of the other end of a Unix socket"),
            ("InnoDB", "STORAGE ENGINE", "Tablespaces with transformed pages"),
        ];
        built_in
            .iter()
            .map(|(name, kind, description)| {
                vec![
                    string(name),
                    string("1.0"),
                    string("ACTIVE"),
                    string(kind),
                    string("80036.0"),
                    Value::Null,
                    Value::Null,
                    string("Glassine"),
                    string(description),
                    string("Apache-2.0"),
                    string("FORCE"),
                ]
            })
            .collect()
    },
};

pub const PROCESSLIST: VirtualTable = VirtualTable {
    name: "PROCESSLIST",
    columns: &[
        number("ID"),
        text("USER", 32),
        text("HOST", 261),
        text("DB", 64),
        text("COMMAND", 16),
        number("TIME"),
        text("STATE", 64),
        long_text("INFO"),
    ],
    rows: |facts| {
        let processes = facts.instance.processes.list();
        let rights = facts.rights;
        let sees_all = rights.has_global(Privileges::PROCESS);
        processes
            .into_iter()
            .filter(|process| sees_all || process.user == rights.account.0)
            .map(|process| {
                vec![
                    Value::UInt(u64::from(process.id)),
                    string(&process.user),
                    string(&process.host),
                    optional(process.database),
                    string(process.command),
                    Value::UInt(process.seconds),
                    string(process.state),
                    optional(process.info),
                ]
            })
            .collect()
    },
};

pub const PERFORMANCE_PROCESSLIST: VirtualTable = VirtualTable {
    name: "processlist",
    columns: &[
        number("ID"),
        text("USER", 32),
        text("HOST", 261),
        text("DB", 64),
        text("COMMAND", 16),
        number("TIME"),
        text("STATE", 64),
        long_text("INFO"),
        text("EXECUTION_ENGINE", 9),
    ],
    rows: |facts| {
        let mut rows = (PROCESSLIST.rows)(facts);
        rows.iter_mut().for_each(|row| row.push(string("PRIMARY")));
        rows
    },
};

const VARIABLE: &[VirtualColumn] = &[text("VARIABLE_NAME", 64), text("VARIABLE_VALUE", 2048)];

fn pairs<N: AsRef<str>>(list: Vec<(N, String)>) -> Vec<Vec<Value>> {
    list.into_iter().map(|(name, value)| vec![string(name), string(value)]).collect()
}

fn global_variables(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    pairs(with_gtids(facts.instance.variables.show(), facts.instance))
}

fn session_variables(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    let mut list = with_gtids(facts.variables.show(&facts.instance.variables), facts.instance);
    let state = &facts.state;
    for (name, value) in &mut list {
        match *name {
            "pseudo_thread_id" => *value = facts.process.id.to_string(),
            "last_insert_id" | "identity" => *value = state.last_insert_id.to_string(),
            "insert_id" => *value = state.insert_id.to_string(),
            "warning_count" => *value = state.warning_count.to_string(),
            "error_count" => *value = state.error_count.to_string(),
            "timestamp" => *value = format!("{}.{:06}", state.timestamp.0, state.timestamp.1),
            _ => {}
        }
    }
    pairs(list)
}

/// Which transactions were executed is no value that somebody set: it is asked when it is shown.
fn with_gtids(mut list: Vec<(&'static str, String)>, instance: &Instance) -> Vec<(&'static str, String)> {
    for (name, value) in &mut list {
        match *name {
            "gtid_executed" => *value = instance.executed_gtids().to_string(),
            "gtid_purged" => {
                let purged = instance.log.as_ref().and_then(|log| log.purged().ok());
                *value = purged.unwrap_or_default().to_string();
            }
            "gtid_slave_pos" | "gtid_current_pos" => *value = instance.mariadb_position().to_string(),
            _ => {}
        }
    }
    list
}

fn global_status(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    let status = facts.instance.status.global(&facts.instance.engine.status());
    pairs(with_transport(with_semi_sync(status, facts.instance), facts.instance, &ConnectionFacts::default()))
}

/// The session's own counts, and for what is not counted by session the server's.
fn session_status(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    let status = facts.instance.status.session(facts.status, &facts.instance.engine.status());
    pairs(with_transport(with_semi_sync(status, facts.instance), facts.instance, &facts.status.connection()))
}

/// Adds what is known of the server's TLS, and of this session's connection.
fn with_transport(
    mut rows: Vec<(&'static str, String)>,
    instance: &Instance,
    connection: &ConnectionFacts,
) -> Vec<(&'static str, String)> {
    let transport = instance.transport();
    rows.extend(transport.iter().flat_map(|transport| transport.status()));
    let tls = connection.tls.as_ref();
    let on_off = |on: bool| if on { "ON" } else { "OFF" }.to_owned();
    let (algorithm, level) = connection.compression.unwrap_or(("", 0));
    let list = tls.and(transport).map(|transport| transport.ciphers()).unwrap_or_default();
    rows.extend([
        ("Compression", on_off(connection.compression.is_some())),
        ("Compression_algorithm", algorithm.to_owned()),
        ("Compression_level", level.to_string()),
        ("Performance_schema_digest_lost", instance.statements.lost().to_string()),
        ("Ssl_cipher", tls.map_or("", |tls| tls.cipher).to_owned()),
        ("Ssl_cipher_list", list),
        ("Ssl_session_reused", on_off(tls.is_some_and(|tls| tls.is_resumed))),
        ("Ssl_version", tls.map_or("", |tls| tls.version).to_owned()),
    ]);
    rows.sort_unstable_by_key(|(name, _)| *name);
    rows
}

/// Adds what is known of semi-synchronous replication, under its names of now and before.
fn with_semi_sync(mut rows: Vec<(&'static str, String)>, instance: &Instance) -> Vec<(&'static str, String)> {
    let known = instance.log.as_ref().map(|log| log.semi_sync().status()).unwrap_or_default();
    let average = known.wait_micros / known.waits.max(1);
    for (names, number) in [
        (["Rpl_semi_sync_master_clients", "Rpl_semi_sync_source_clients"], known.replicas as u64),
        (["Rpl_semi_sync_master_no_times", "Rpl_semi_sync_source_no_times"], known.switched_off),
        (["Rpl_semi_sync_master_no_tx", "Rpl_semi_sync_source_no_tx"], known.unacknowledged),
        (["Rpl_semi_sync_master_tx_avg_wait_time", "Rpl_semi_sync_source_tx_avg_wait_time"], average),
        (["Rpl_semi_sync_master_tx_wait_time", "Rpl_semi_sync_source_tx_wait_time"], known.wait_micros),
        (["Rpl_semi_sync_master_tx_waits", "Rpl_semi_sync_source_tx_waits"], known.waits),
        (["Rpl_semi_sync_master_wait_sessions", "Rpl_semi_sync_source_wait_sessions"], known.waiting),
        (["Rpl_semi_sync_master_yes_tx", "Rpl_semi_sync_source_yes_tx"], known.acknowledged),
    ] {
        rows.extend(names.map(|name| (name, number.to_string())));
    }
    let on = if known.is_on { "ON" } else { "OFF" };
    let names = ["Rpl_semi_sync_master_status", "Rpl_semi_sync_source_status"];
    rows.extend(names.map(|name| (name, on.to_owned())));
    let known = instance.replication().and_then(|replica| replica.status(None).ok()).unwrap_or_default();
    let answers = known.iter().any(|status| status.is_semi_sync);
    let names = ["Rpl_semi_sync_replica_status", "Rpl_semi_sync_slave_status"];
    rows.extend(names.map(|name| (name, if answers { "ON" } else { "OFF" }.to_owned())));
    rows.sort_unstable_by_key(|(name, _)| *name);
    rows
}

pub const GLOBAL_VARIABLES: VirtualTable =
    VirtualTable { name: "GLOBAL_VARIABLES", columns: VARIABLE, rows: global_variables };
pub const SESSION_VARIABLES: VirtualTable =
    VirtualTable { name: "SESSION_VARIABLES", columns: VARIABLE, rows: session_variables };
pub const GLOBAL_STATUS: VirtualTable = VirtualTable { name: "GLOBAL_STATUS", columns: VARIABLE, rows: global_status };
pub const SESSION_STATUS: VirtualTable =
    VirtualTable { name: "SESSION_STATUS", columns: VARIABLE, rows: session_status };

pub const PERFORMANCE_GLOBAL_VARIABLES: VirtualTable = VirtualTable { name: "global_variables", ..GLOBAL_VARIABLES };
pub const PERFORMANCE_SESSION_VARIABLES: VirtualTable = VirtualTable { name: "session_variables", ..SESSION_VARIABLES };
pub const PERFORMANCE_GLOBAL_STATUS: VirtualTable = VirtualTable { name: "global_status", ..GLOBAL_STATUS };
pub const PERFORMANCE_SESSION_STATUS: VirtualTable = VirtualTable { name: "session_status", ..SESSION_STATUS };

pub const PERSISTED_VARIABLES: VirtualTable = VirtualTable {
    name: "persisted_variables",
    columns: VARIABLE,
    // A file that cannot be read has no rows; SET PERSIST says why.
    rows: |facts| pairs(facts.instance.persisted.list().unwrap_or_default()),
};

pub const VARIABLES_INFO: VirtualTable = VirtualTable {
    name: "variables_info",
    columns: &[
        text("VARIABLE_NAME", 64),
        text("VARIABLE_SOURCE", 12),
        text("VARIABLE_PATH", 1024),
        text("MIN_VALUE", 64),
        text("MAX_VALUE", 64),
        VirtualColumn { name: "SET_TIME", ty: ColumnType::Timestamp { fsp: 6 }, nullable: true },
        text("SET_USER", 32),
        text("SET_HOST", 255),
    ],
    rows: |facts| names().filter_map(|name| variable_info(facts, name)).collect(),
};

/// Where the server's value of a variable comes from, and its range.
fn variable_info(facts: &Facts<'_>, name: &'static str) -> Option<Vec<Value>> {
    let variable = find(name)?;
    let origin = facts.instance.variables.origins.of(variable.name);
    let (least, most) = match variable.kind {
        Kind::Integer { min, max, .. } => (min.to_string(), max.to_string()),
        Kind::Real { min, max } => (format!("{min:.0}"), format!("{max:.0}")),
        _ => ("0".to_owned(), "0".to_owned()),
    };
    let set = origin.set_us.and_then(|us| DateTime::from_unix_micros(us as i64, facts.zone));
    let by = |name: &str| if set.is_some() { string(name) } else { Value::Null };
    Some(vec![
        string(name),
        string(origin.source),
        string(&origin.path),
        string(least),
        string(most),
        set.map_or(Value::Null, Value::DateTime),
        by(&origin.user),
        by(&origin.host),
    ])
}
