//! Connections as performance_schema shows them: what clients say of themselves, and addresses that failed.

use std::time::{SystemTime, UNIX_EPOCH};

use format::value::{DateTime, Value};

use super::{Facts, VirtualColumn, VirtualTable, int, number, string, text, time};

const ATTRIBUTES: &[VirtualColumn] =
    &[number("PROCESSLIST_ID"), text("ATTR_NAME", 32), text("ATTR_VALUE", 1024), int("ORDINAL_POSITION")];

pub const SESSION_CONNECT_ATTRS: VirtualTable =
    VirtualTable { name: "session_connect_attrs", columns: ATTRIBUTES, rows: |facts| attributes(facts, |_, _| true) };

/// Those of the account's own sessions.
pub const SESSION_ACCOUNT_CONNECT_ATTRS: VirtualTable = VirtualTable {
    name: "session_account_connect_attrs",
    columns: ATTRIBUTES,
    rows: |facts| attributes(facts, |one, other| one == other),
};

fn attributes(facts: &Facts<'_>, shows: fn(&str, &str) -> bool) -> Vec<Vec<Value>> {
    let all = facts.instance.processes.all();
    let own = all.iter().find(|process| process.id == facts.status.connection().id);
    let own = own.map(|process| process.user()).unwrap_or_default();
    let mut rows = Vec::new();
    for process in all.iter().filter(|process| shows(&own, &process.user())) {
        for (at, (name, value)) in process.attributes().iter().enumerate() {
            rows.push(vec![Value::UInt(process.id.into()), string(name), string(value), Value::Int(at as i64)]);
        }
    }
    rows
}

pub const HOST_CACHE: VirtualTable = VirtualTable {
    name: "host_cache",
    columns: &[
        text("IP", 64),
        text("HOST", 255),
        text("HOST_VALIDATED", 3),
        number("SUM_CONNECT_ERRORS"),
        number("COUNT_HOST_BLOCKED_ERRORS"),
        number("COUNT_NAMEINFO_TRANSIENT_ERRORS"),
        number("COUNT_NAMEINFO_PERMANENT_ERRORS"),
        number("COUNT_FORMAT_ERRORS"),
        number("COUNT_ADDRINFO_TRANSIENT_ERRORS"),
        number("COUNT_ADDRINFO_PERMANENT_ERRORS"),
        number("COUNT_FCRDNS_ERRORS"),
        number("COUNT_HOST_ACL_ERRORS"),
        number("COUNT_NO_AUTH_PLUGIN_ERRORS"),
        number("COUNT_AUTH_PLUGIN_ERRORS"),
        number("COUNT_HANDSHAKE_ERRORS"),
        number("COUNT_PROXY_USER_ERRORS"),
        number("COUNT_PROXY_USER_ACL_ERRORS"),
        number("COUNT_AUTHENTICATION_ERRORS"),
        number("COUNT_SSL_ERRORS"),
        number("COUNT_MAX_USER_CONNECTIONS_ERRORS"),
        number("COUNT_MAX_USER_CONNECTIONS_PER_HOUR_ERRORS"),
        number("COUNT_DEFAULT_DATABASE_ERRORS"),
        number("COUNT_INIT_CONNECT_ERRORS"),
        number("COUNT_LOCAL_ERRORS"),
        number("COUNT_UNKNOWN_ERRORS"),
        time("FIRST_SEEN"),
        time("LAST_SEEN"),
        time("FIRST_ERROR_SEEN"),
        time("LAST_ERROR_SEEN"),
    ],
    rows: |facts| {
        let hosts = facts.instance.transport().map(|transport| transport.hosts()).unwrap_or_default();
        let moment = |at: SystemTime| {
            let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
            DateTime::from_unix_micros(seconds * 1_000_000, facts.zone).map_or(Value::Null, Value::DateTime)
        };
        let row = |host: &crate::transport::HostFacts| {
            // Names of hosts are never asked for.
            let mut row = vec![string(host.address.to_string()), Value::Null, string("NO")];
            row.extend([host.handshake_errors, host.blocked_errors].map(Value::UInt));
            row.extend((5..25).map(|column| match column {
                14 => Value::UInt(host.handshake_errors),
                17 => Value::UInt(host.authentication_errors),
                _ => Value::UInt(0),
            }));
            row.extend([moment(host.first_seen), moment(host.last_seen)]);
            row.extend([host.first_error, host.last_error].map(|at| at.map_or(Value::Null, moment)));
            row
        };
        hosts.iter().map(row).collect()
    },
};
