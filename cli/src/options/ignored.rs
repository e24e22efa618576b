//! Options of other servers that have no variable and change nothing here: option files with them are read, and each is
//! warned of.

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ignored {
    pub name: &'static str,
    pub takes_value: bool,
    pub reason: &'static str,
}

const fn flag(name: &'static str, reason: &'static str) -> Ignored {
    Ignored { name, takes_value: false, reason }
}

const fn value(name: &'static str, reason: &'static str) -> Ignored {
    Ignored { name, takes_value: true, reason }
}

const NO_PLUGINS: &str = "there are no plugins to be loaded";
const ONE_ENGINE: &str = "every table is one of InnoDB";
const SETUP_TABLES: &str = "performance_schema.setup_instruments and setup_consumers tell what is measured";
const NO_DEBUGGER: &str = "it is for developers of the server";
const GONE: &str = "what it changed does not exist here";
const ALWAYS: &str = "this is always so here";

const IGNORED: &[Ignored] = &[
    flag("abort_slave_event_count", NO_DEBUGGER),
    flag("admin_ssl", "there is no port for administrators"),
    flag("archive", ONE_ENGINE),
    flag("bdb", ONE_ENGINE),
    flag("blackhole", ONE_ENGINE),
    value("chroot", "start the server in its directory"),
    flag("csv", ONE_ENGINE),
    flag("daemonize", "start the server as a service"),
    value("debug", NO_DEBUGGER),
    value("des_key_file", GONE),
    flag("disconnect_slave_event_count", NO_DEBUGGER),
    value("early_plugin_load", NO_PLUGINS),
    flag("external_locking", "no other server may use the data files"),
    flag("federated", ONE_ENGINE),
    flag("gdb", NO_DEBUGGER),
    flag("getopt_prefix_matching", ALWAYS),
    value("init_rpl_role", "CHANGE REPLICATION SOURCE TO makes a replica"),
    flag("innodb", ALWAYS),
    value("log_basename", "each log has its own option"),
    value("log_isam", GONE),
    flag("log_short_format", "the slow query log has one form"),
    value("log_tc", GONE),
    value("master_retry_count", "CHANGE REPLICATION SOURCE TO says it"),
    value("max_binlog_dump_events", NO_DEBUGGER),
    flag("memlock", "the buffer pool is not locked in memory"),
    flag("mysql_native_password", ALWAYS),
    flag("mysqlx", "there is no X protocol"),
    flag("ndbcluster", ONE_ENGINE),
    flag("no_dd_upgrade", "each start makes what it needs"),
    flag("partition", ALWAYS),
    value("performance_schema_instrument", SETUP_TABLES),
    value("plugin_load", NO_PLUGINS),
    value("plugin_load_add", NO_PLUGINS),
    value("port_open_timeout", "a port that is taken is told at once"),
    flag("replicate_same_server_id", "transactions of the server itself are passed over"),
    flag("safe_mode", GONE),
    flag("show_replica_auth_info", "no password of a replica is told"),
    flag("show_slave_auth_info", "no password of a replica is told"),
    flag("silent_startup", "log_error_verbosity says how much is logged"),
    flag("sporadic_binlog_dump_fail", NO_DEBUGGER),
    flag("stack_trace", ALWAYS),
    flag("sysdate_is_now", "SYSDATE() is the time of the clock"),
    value("tc_heuristic_recover", "XA RECOVER lists what was prepared"),
    flag("temp_pool", GONE),
    value("thread_concurrency", GONE),
    flag("unix_socket", "CREATE USER ... IDENTIFIED WITH auth_socket makes such accounts"),
    value("upgrade", "each start makes what it needs"),
    flag("validate_user_plugins", NO_PLUGINS),
];

/// One of a family of options.
const CONSUMERS: &str = "performance_schema_consumer_";

/// The option of this name, in which underscores stand for dashes.
pub(super) fn find(name: &str) -> Option<Ignored> {
    let plain = ["skip_", "disable_", "enable_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    if plain.starts_with(CONSUMERS) {
        return Some(flag("performance_schema_consumer", SETUP_TABLES));
    }
    // MySQL's oldest option files call it by the other half of its name.
    let plain = if plain == "locking" { "external_locking" } else { plain };
    IGNORED.iter().find(|ignored| ignored.name == plain).copied()
}
