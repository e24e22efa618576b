//! Where channels are kept: `mysql.slave_master_info` has how each source is reached, as in MySQL with its password,
//! `mysql.slave_relay_log_info` how far its log has been applied. CHANGE REPLICATION SOURCE TO makes both tables when they
//! are not there yet.

use std::sync::Arc;

use format::value::Value;
use sql::Error;
use sql::error::Result;
use sql::instance::Instance;

use crate::internal::InternalSession;
use crate::progress::{Progress, Step, quoted};
use crate::shared::ChannelName;
use crate::source::{Source, UseGtid};

/// What Enabled_auto_position has: as in MySQL, and of MASTER_USE_GTID.
const AUTO_POSITION: u64 = 1;
const USE_GTID: [(u64, UseGtid); 2] = [(2, UseGtid::SlavePos), (3, UseGtid::CurrentPos)];

pub const TABLES: [&str; 3] = [
    "CREATE DATABASE IF NOT EXISTS mysql",
    "CREATE TABLE IF NOT EXISTS mysql.slave_master_info ( \
     Channel_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, \
     Host VARCHAR(255) NOT NULL, User_name TEXT NOT NULL, User_password TEXT NOT NULL, Port INT UNSIGNED NOT NULL, \
     Connect_retry BIGINT UNSIGNED NOT NULL, Retry_count BIGINT UNSIGNED NOT NULL, Heartbeat_ms BIGINT UNSIGNED, \
     Ignored_server_ids TEXT NOT NULL, Enabled_auto_position TINYINT NOT NULL, Get_public_key TINYINT NOT NULL, \
     Sql_delay BIGINT UNSIGNED NOT NULL, Tls_options TEXT)",
    "CREATE TABLE IF NOT EXISTS mysql.slave_relay_log_info ( \
     Channel_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, \
     Number BIGINT UNSIGNED NOT NULL, Master_log_name TEXT NOT NULL, Master_log_pos BIGINT UNSIGNED NOT NULL, \
     Gtid_executed LONGTEXT NOT NULL, Xa_step LONGTEXT NOT NULL)",
];

fn has_tables(instance: &Arc<Instance>) -> bool {
    let has = |table: &str| instance.engine.table("mysql", table).is_some();
    has("slave_master_info") && has("slave_relay_log_info")
}

/// The names of the channels with rows. Channels whose source was forgotten are among them, because of the transactions
/// that they have applied.
pub fn names(instance: &Arc<Instance>) -> Result<Vec<String>> {
    if !has_tables(instance) {
        return Ok(Vec::new());
    }
    let mut internal = InternalSession::new(instance);
    let rows = internal.session.run_unlogged("SELECT Channel_name FROM mysql.slave_relay_log_info")?;
    Ok(rows.iter().map(|row| text(&row[0])).collect())
}

/// What the tables and the dictionary's note say of a channel.
pub fn stored(instance: &Arc<Instance>, channel: &ChannelName) -> Result<(Option<Source>, Progress)> {
    let noted = instance.engine.note(channel.slot()).map_err(sql::catalog::storage_error)?;
    let noted = noted.and_then(|note| Progress::of_note(&note)).unwrap_or_default();
    if !has_tables(instance) {
        // Only the number counts: a new beginning must be newer than the note.
        return Ok((None, Progress { number: noted.number, ..Progress::default() }));
    }
    let mut internal = InternalSession::new(instance);
    let name = quoted(channel.name());
    let unreadable = || Error::internal("mysql.slave_relay_log_info is not readable");
    let rows = internal.session.run_unlogged(&format!(
        "SELECT Number, Master_log_name, Master_log_pos, Gtid_executed, Xa_step FROM mysql.slave_relay_log_info \
         WHERE Channel_name = {name}"
    ))?;
    let progress = match rows.first() {
        Some(row) => {
            let (applied, mariadb) = Progress::parse_names(&text(&row[3])).ok_or_else(unreadable)?;
            let stored =
                Progress { number: number(&row[0]), file: text(&row[1]), position: number(&row[2]), applied, mariadb };
            let is_prepared = |step: &Step| instance.engine.prepared().contains(&step.xid);
            let step = Step::parse(&text(&row[4])).filter(|step| step.has_happened(is_prepared(step)));
            step.map_or(stored, |step| step.next)
        }
        None => Progress::default(),
    };
    let rows = internal.session.run_unlogged(&format!(
        "SELECT Host, User_name, User_password, Port, Connect_retry, Retry_count, Heartbeat_ms, Ignored_server_ids, \
         Enabled_auto_position, Get_public_key, Sql_delay FROM mysql.slave_master_info WHERE Channel_name = {name}"
    ))?;
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
        let rows = internal
            .session
            .run_unlogged(&format!("SELECT Tls_options FROM mysql.slave_master_info WHERE Channel_name = {name}"))?;
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

/// Stores both rows of a channel at once.
pub fn store(
    instance: &Arc<Instance>,
    channel: &ChannelName,
    source: Option<&Source>,
    progress: &Progress,
) -> Result<()> {
    let mut internal = InternalSession::new(instance);
    let name = quoted(channel.name());
    for table in TABLES {
        internal.session.run_unlogged(table)?;
    }
    if !has_tls_options(instance) {
        internal.session.run_unlogged("ALTER TABLE mysql.slave_master_info ADD COLUMN Tls_options TEXT")?;
    }
    internal.session.apply_begin(None, None)?;
    internal.session.run_unlogged(&format!("DELETE FROM mysql.slave_master_info WHERE Channel_name = {name}"))?;
    if let Some(source) = source {
        let ignored: Vec<String> = source.ignored_servers.iter().map(u32::to_string).collect();
        let heartbeat = source.heartbeat_ms.map_or("NULL".to_owned(), |ms| ms.to_string());
        internal.session.run_unlogged(&format!(
            "INSERT INTO mysql.slave_master_info (Channel_name, Host, User_name, User_password, Port, Connect_retry, \
             Retry_count, Heartbeat_ms, Ignored_server_ids, Enabled_auto_position, Get_public_key, Sql_delay, \
             Tls_options) VALUES ({name}, {}, {}, {}, {}, {}, {}, {heartbeat}, {}, {}, {}, {}, {})",
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
    internal.session.run_unlogged(&format!(
        "INSERT IGNORE INTO mysql.slave_relay_log_info (Channel_name, Number, Master_log_name, Master_log_pos, \
         Gtid_executed, Xa_step) VALUES ({name}, 0, '', 4, '', '')"
    ))?;
    internal.session.apply_commit(&progress.statement(channel.name()))
}
