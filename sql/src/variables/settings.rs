//! The variables that statements depend on, as plain typed fields.

use format::collation::{self, Charset, Collation, CollationId};
use format::value::{Value, Zone};

use storage::Isolation;

use super::accept::expanded;
use super::list::SQL_MODES;
use super::payload_rules::PayloadRules;
use super::variable::Variable;
use crate::error::Error;
use crate::locales::Locale;
use crate::types::{SqlMode, Switches};

const YEAR_SECONDS: u64 = 31_536_000;

/// The engines that a table may name, and how they are written.
const ENGINES: &[(&str, &str)] =
    &[("InnoDB", "InnoDB"), ("MyISAM", "MyISAM"), ("Aria", "Aria"), ("MEMORY", "MEMORY"), ("HEAP", "MEMORY")];

/// The versions of TLS that there are; nothing is none of them.
fn are_versions(text: &str) -> bool {
    let is_known = |name: &str| ["TLSv1.2", "TLSv1.3"].iter().any(|known| known.eq_ignore_ascii_case(name.trim()));
    text.is_empty() || text.split(',').all(is_known)
}

/// The plugins of passwords, by name or as `*:name`; `*` is any. There are no further factors.
fn is_policy(text: &str) -> bool {
    let known = ["*", "caching_sha2_password", "sha256_password", "mysql_native_password"];
    let mut factors = text.split(',').map(str::trim);
    let first = factors.next().unwrap_or_default();
    let first = first.strip_prefix("*:").unwrap_or(first);
    known.iter().any(|known| known.eq_ignore_ascii_case(first))
        && factors.by_ref().take(2).all(str::is_empty)
        && factors.next().is_none()
}

/// What the executor reads instead of looking names up. Kept up to date by
/// [`super::SessionVariables::set`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub autocommit: bool,
    pub profiling: bool,
    /// Statements that are kept while it is on.
    pub profiling_history_size: u64,
    pub sql_mode: SqlMode,
    pub isolation: Isolation,
    pub transaction_read_only: bool,
    pub completion_type: Completion,
    pub tracked_gtids: TrackedGtids,
    pub tracked_transaction: TrackedTransaction,
    /// For a row lock: `innodb_lock_wait_timeout`.
    pub row_lock_wait_seconds: u64,
    /// For a metadata lock: `lock_wait_timeout`.
    pub metadata_lock_wait_seconds: u64,
    /// `innodb_snapshot_isolation`.
    pub snapshot_isolation: bool,
    /// `xa_detach_on_prepare`: a prepared transaction leaves its session at once.
    pub xa_detach_on_prepare: bool,
    /// `innodb_rollback_on_timeout`: the end of a wait for a row lock ends the transaction.
    pub rollback_on_timeout: bool,
    pub time_zone: TimeZone,
    /// The machine's zone, which SYSTEM means.
    pub system_zone: Zone,
    pub character_set_client: CollationId,
    /// The collation of literals.
    pub collation_connection: CollationId,
    /// What utf8mb4 means where no collation is named.
    pub utf8mb4_collation: CollationId,
    /// `None`: results go out as they are stored.
    pub character_set_results: Option<CollationId>,
    pub collation_database: CollationId,
    pub collation_server: CollationId,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    pub div_precision_increment: u8,
    pub group_concat_bytes_max: u64,
    /// The memory of ANALYZE TABLE ... UPDATE HISTOGRAM: of larger tables a sample is counted.
    pub histogram_bytes: u64,
    /// How often a procedure may call itself.
    pub sp_recursion_depth_max: u64,
    pub max_allowed_packet_bytes: u64,
    pub max_error_count: usize,
    /// A SELECT's limit in milliseconds (`max_execution_time`); 0: none.
    pub max_execution_ms: u64,
    /// Every statement's limit in milliseconds (`max_statement_time`); 0: none.
    pub max_statement_ms: u64,
    pub sql_select_limit: u64,
    pub sql_safe_updates: bool,
    pub sql_auto_is_null: bool,
    pub sql_require_primary_key: bool,
    pub sql_big_selects: bool,
    pub max_join_size: u64,
    /// `sort_buffer_size`, `join_buffer_size`.
    pub sort_buffer_bytes: u64,
    pub join_buffer_bytes: u64,
    /// `tmp_table_size` and `max_heap_table_size`: the smaller one counts.
    pub tmp_table_bytes: u64,
    pub max_heap_table_bytes: u64,
    pub optimizer_switches: Switches,
    pub sql_notes: bool,
    pub sql_quote_show_create: bool,
    pub foreign_key_checks: bool,
    /// MariaDB's.
    pub check_constraint_checks: bool,
    /// Only shown: unique keys are always checked.
    pub unique_checks: bool,
    pub innodb_strict_mode: bool,
    pub innodb_compression_default: bool,
    pub default_table_encryption: bool,
    pub default_week_format: u8,
    pub lc_time_names: &'static Locale,
    pub wait_timeout_seconds: u64,
    pub interactive_timeout_seconds: u64,
    pub net_read_timeout_seconds: u64,
    pub net_write_timeout_seconds: u64,
    pub long_query_us: u64,
    /// `min_examined_row_limit`: statements that look at fewer rows are not in the slow query log.
    pub examined_rows_min: u64,
    /// `sql_log_off`: the session is not in the general log.
    pub sql_log_off: bool,
    /// `sql_log_bin`: changes go to the binary log.
    pub sql_log_bin: bool,
    /// `binlog_transaction_compression` and its level.
    pub log_compression: bool,
    pub log_compression_level: i32,
    pub row_images: RowImages,
    /// `binlog_rows_query_log_events`: statements are logged beside their rows.
    pub log_statements: bool,
    /// `rbr_exec_mode=IDEMPOTENT`: rows that BINLOG meets are replaced, and those it misses are passed over.
    pub idempotent_rows: bool,
}

/// `binlog_row_image`: which columns are in the images of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowImages {
    /// The key before, and what changed after.
    Minimal,
    /// No BLOB or TEXT that neither is part of the key nor changed.
    NoBlob,
    Full,
}

/// `session_track_gtids`: which names a client is told behind a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedGtids {
    Off,
    /// The name of the session's transaction.
    Own,
    /// `gtid_executed`.
    All,
}

/// `session_track_transaction_info`: what a client is told of its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedTransaction {
    Off,
    State,
    /// Also the statements that begin one like it.
    Characteristics,
}

/// `completion_type`: what follows a COMMIT or ROLLBACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    NoChain,
    Chain,
    Release,
}

/// What `time_zone` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeZone {
    /// The machine's.
    System,
    Zone(Zone),
}

impl TimeZone {
    /// Reads `SYSTEM`, `+hh:mm`, or the name of a zone.
    pub fn parse(text: &str) -> Option<Self> {
        match text.eq_ignore_ascii_case("SYSTEM") {
            true => Some(Self::System),
            false => Zone::parse(text).map(Self::Zone),
        }
    }
}

/// From names that were checked before.
fn parse_mode(text: &[u8]) -> SqlMode {
    let mut bits = 0;
    for part in text.split(|&byte| byte == b',') {
        if let Some(index) = SQL_MODES.iter().position(|name| name.as_bytes() == part) {
            bits |= 1 << index;
        }
    }
    SqlMode(bits)
}

impl Default for Settings {
    fn default() -> Self {
        let utf8mb4 = CollationId::DEFAULT;
        Self {
            autocommit: true,
            profiling: false,
            profiling_history_size: 15,
            sql_mode: SqlMode::default(),
            isolation: Isolation::RepeatableRead,
            transaction_read_only: false,
            completion_type: Completion::NoChain,
            tracked_gtids: TrackedGtids::Off,
            tracked_transaction: TrackedTransaction::Off,
            row_lock_wait_seconds: 50,
            snapshot_isolation: false,
            xa_detach_on_prepare: true,
            rollback_on_timeout: false,
            metadata_lock_wait_seconds: YEAR_SECONDS,
            time_zone: TimeZone::System,
            system_zone: Zone::UTC,
            character_set_client: utf8mb4,
            collation_connection: utf8mb4,
            utf8mb4_collation: utf8mb4,
            character_set_results: Some(utf8mb4),
            collation_database: utf8mb4,
            collation_server: utf8mb4,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            div_precision_increment: 4,
            group_concat_bytes_max: 1024,
            histogram_bytes: 20_000_000,
            sp_recursion_depth_max: 0,
            max_allowed_packet_bytes: 64 << 20,
            max_error_count: 1024,
            max_execution_ms: 0,
            max_statement_ms: 0,
            sql_select_limit: u64::MAX,
            sql_safe_updates: false,
            sql_auto_is_null: false,
            sql_require_primary_key: false,
            sql_big_selects: true,
            max_join_size: u64::MAX,
            sort_buffer_bytes: 256 << 10,
            join_buffer_bytes: 256 << 10,
            tmp_table_bytes: 16 << 20,
            max_heap_table_bytes: 16 << 20,
            optimizer_switches: Switches::DEFAULT,
            sql_notes: true,
            sql_quote_show_create: true,
            foreign_key_checks: true,
            check_constraint_checks: true,
            unique_checks: true,
            innodb_strict_mode: true,
            innodb_compression_default: true,
            default_table_encryption: false,
            default_week_format: 0,
            lc_time_names: Locale::english(),
            wait_timeout_seconds: 28_800,
            interactive_timeout_seconds: 28_800,
            net_read_timeout_seconds: 30,
            net_write_timeout_seconds: 60,
            long_query_us: 10_000_000,
            examined_rows_min: 0,
            sql_log_off: false,
            sql_log_bin: true,
            log_compression: false,
            log_compression_level: 3,
            row_images: RowImages::Full,
            log_statements: false,
            idempotent_rows: false,
        }
    }
}

/// The variables that [`Settings::plans_like`] leaves out, and those of the statement to come.
const READ_BY_RUNS_ALONE: &[&str] = &[
    "autocommit",
    "completion_type",
    "identity",
    "innodb_lock_wait_timeout",
    "insert_id",
    "interactive_timeout",
    "last_insert_id",
    "lock_wait_timeout",
    "long_query_time",
    "max_execution_time",
    "net_read_timeout",
    "net_write_timeout",
    "timestamp",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
    "wait_timeout",
];

/// Whether no plan depends on a variable, unless an expression in it reads the variable.
pub fn is_read_by_runs_alone(name: &str) -> bool {
    READ_BY_RUNS_ALONE.iter().any(|other| name.eq_ignore_ascii_case(other))
}

impl Settings {
    /// Whether statements are planned alike with other settings: those that only their runs look at may differ.
    pub fn plans_like(&self, other: &Settings) -> bool {
        let other = Settings {
            autocommit: self.autocommit,
            completion_type: self.completion_type,
            isolation: self.isolation,
            transaction_read_only: self.transaction_read_only,
            row_lock_wait_seconds: self.row_lock_wait_seconds,
            metadata_lock_wait_seconds: self.metadata_lock_wait_seconds,
            max_execution_ms: self.max_execution_ms,
            wait_timeout_seconds: self.wait_timeout_seconds,
            interactive_timeout_seconds: self.interactive_timeout_seconds,
            net_read_timeout_seconds: self.net_read_timeout_seconds,
            net_write_timeout_seconds: self.net_write_timeout_seconds,
            long_query_us: self.long_query_us,
            ..other.clone()
        };
        *self == other
    }

    /// The character set that statements are in, by its default collation: the client's, unless they were brought to
    /// UTF-8 (`parser::multibyte`).
    pub fn statement_charset(&self) -> CollationId {
        match self.brings_statements_to_utf8() {
            true => CollationId::UTF8MB4_GENERAL_CI,
            false => self.character_set_client,
        }
    }

    /// Whether statements are not read in the character set of the client: names are in UTF-8 everywhere, and in some sets
    /// a byte of a character looks like a quote.
    pub fn brings_statements_to_utf8(&self) -> bool {
        let client = collation::collation(self.character_set_client).charset;
        match client {
            Charset::Multi(_) => true,
            // Where a letter stands in the place of `@`, no text can be told from one in ASCII.
            Charset::Latin1 | Charset::Single(_) => client.keeps_ascii(),
            _ => false,
        }
    }

    /// Whether all of the value's consequences can be drawn; asked before it is stored. The answer is the value as it is
    /// kept: names of character sets, collations and engines, and offsets of time zones, are written in one way.
    pub(super) fn check(variable: &Variable, value: Value) -> Result<Value, Error> {
        let given = text(&value);
        let named = |name: &str| Ok(Value::Bytes(name.as_bytes().to_vec()));
        match variable.name {
            "character_set_results" if value.is_null() => Ok(value),
            "character_set_client"
            | "character_set_connection"
            | "character_set_database"
            | "character_set_filesystem"
            | "character_set_results"
            | "character_set_server"
            | "collation_connection"
            | "collation_database"
            | "collation_server"
                if value.is_null() =>
            {
                Err(variable.wrong_value("NULL"))
            }
            // No statement can be told from its bytes in such a set.
            "character_set_client" if charset(&given).is_ok_and(|id| collation::collation(id).charset.is_wide()) => {
                Err(variable.wrong_value(collation::collation(charset(&given)?).charset.name()))
            }
            "character_set_client"
            | "character_set_connection"
            | "character_set_database"
            | "character_set_filesystem"
            | "character_set_results"
            | "character_set_server" => named(collation::collation(charset(&given)?).charset.name()),
            "collation_connection" | "collation_database" | "collation_server" => {
                named(collation::collation(collation(&given)?).name)
            }
            "default_collation_for_utf8mb4" => match collation(&given)? {
                id @ (CollationId::UTF8MB4_GENERAL_CI | CollationId::UTF8MB4_0900_AI_CI) => {
                    named(collation::collation(id).name)
                }
                _ => Err(Error::new(
                    3721,
                    b"HY000",
                    format!("Invalid default collation {given}: utf8mb4_0900_ai_ci or utf8mb4_general_ci expected"),
                )),
            },
            "default_storage_engine" | "default_tmp_storage_engine" => {
                if value.is_null() {
                    return Err(variable.wrong_value("NULL"));
                }
                let known = ENGINES.iter().find(|(written, _)| written.eq_ignore_ascii_case(&given));
                named(known.ok_or_else(|| Error::unknown_engine(&given))?.1)
            }
            "tls_version" if !are_versions(&given) => Err(variable.wrong_value(&given)),
            "authentication_policy" if !is_policy(&given) => Err(variable.wrong_value(&given)),
            "binlog_dump_payloads" if value.is_null() || PayloadRules::parse(&given).is_none() => {
                Err(variable.wrong_value(&given))
            }
            "binlog_format" if bytes(&value) != b"ROW" => {
                Err(Error::unsupported(format!("binlog_format={given}: rows are logged, not statements")))
            }
            "replica_preserve_commit_order" if !on(&value) => {
                let why = "how far a replica is, is one place in the source's log";
                Err(Error::unsupported(format!("replica_preserve_commit_order=OFF: {why}")))
            }
            "replica_parallel_type" if bytes(&value) != b"LOGICAL_CLOCK" => {
                let why = "transactions of one database run at the same time, too";
                Err(Error::unsupported(format!("replica_parallel_type={given}: {why}")))
            }
            "time_zone" | "default_time_zone" => match TimeZone::parse(&given) {
                Some(TimeZone::Zone(zone)) if given.trim_start().starts_with(['+', '-']) => {
                    let mut offset = Vec::new();
                    zone.write(&mut offset);
                    Ok(Value::Bytes(offset))
                }
                Some(TimeZone::System) => named("SYSTEM"),
                Some(TimeZone::Zone(_)) => Ok(value),
                None => Err(Error::unknown_time_zone(&given)),
            },
            _ => Ok(value),
        }
    }

    /// Takes over a value that was checked.
    pub(super) fn take_over(&mut self, name: &str, value: &Value) {
        match name {
            "autocommit" => self.autocommit = on(value),
            "profiling" => self.profiling = on(value),
            "profiling_history_size" => self.profiling_history_size = number(value),
            "sql_mode" => self.sql_mode = expanded(parse_mode(bytes(value))),
            "transaction_isolation" => self.isolation = isolation(value),
            "transaction_read_only" => self.transaction_read_only = on(value),
            "session_track_gtids" => {
                self.tracked_gtids = match bytes(value) {
                    b"OWN_GTID" => TrackedGtids::Own,
                    b"ALL_GTIDS" => TrackedGtids::All,
                    _ => TrackedGtids::Off,
                };
            }
            "session_track_transaction_info" => {
                self.tracked_transaction = match bytes(value) {
                    b"STATE" => TrackedTransaction::State,
                    b"CHARACTERISTICS" => TrackedTransaction::Characteristics,
                    _ => TrackedTransaction::Off,
                };
            }
            "completion_type" => {
                self.completion_type = match bytes(value) {
                    b"CHAIN" => Completion::Chain,
                    b"RELEASE" => Completion::Release,
                    _ => Completion::NoChain,
                }
            }
            "innodb_lock_wait_timeout" => self.row_lock_wait_seconds = number(value),
            "xa_detach_on_prepare" => self.xa_detach_on_prepare = on(value),
            "innodb_snapshot_isolation" => self.snapshot_isolation = on(value),
            "innodb_rollback_on_timeout" => self.rollback_on_timeout = on(value),
            "lock_wait_timeout" => self.metadata_lock_wait_seconds = number(value),
            "time_zone" => self.time_zone = TimeZone::parse(&text(value)).unwrap_or(TimeZone::System),
            "default_collation_for_utf8mb4" => set_collation(&mut self.utf8mb4_collation, value),
            "character_set_client" => set_charset(&mut self.character_set_client, value, self.utf8mb4_collation),
            // The collation stays if it belongs to the character set; SET NAMES sets both.
            "character_set_connection" => set_charset(&mut self.collation_connection, value, self.utf8mb4_collation),
            "collation_connection" => set_collation(&mut self.collation_connection, value),
            "character_set_results" => {
                self.character_set_results = charset(&text(value)).ok().filter(|_| !value.is_null());
            }
            "character_set_database" => set_charset(&mut self.collation_database, value, self.utf8mb4_collation),
            "collation_database" => set_collation(&mut self.collation_database, value),
            "character_set_server" => set_charset(&mut self.collation_server, value, self.utf8mb4_collation),
            "collation_server" => set_collation(&mut self.collation_server, value),
            "auto_increment_increment" => self.auto_increment_increment = number(value),
            "auto_increment_offset" => self.auto_increment_offset = number(value),
            "div_precision_increment" => self.div_precision_increment = number(value) as u8,
            "max_sp_recursion_depth" => self.sp_recursion_depth_max = number(value),
            "histogram_generation_max_mem_size" => self.histogram_bytes = number(value),
            "group_concat_max_len" => self.group_concat_bytes_max = number(value),
            "max_allowed_packet" => self.max_allowed_packet_bytes = number(value),
            "max_error_count" => self.max_error_count = number(value) as usize,
            "max_execution_time" => self.max_execution_ms = number(value),
            "max_statement_time" => self.max_statement_ms = (real(value) * 1000.0).ceil() as u64,
            "sql_select_limit" => self.sql_select_limit = number(value),
            "sql_safe_updates" => self.sql_safe_updates = on(value),
            "sql_require_primary_key" => self.sql_require_primary_key = on(value),
            "sql_auto_is_null" => self.sql_auto_is_null = on(value),
            "sql_big_selects" => self.sql_big_selects = on(value),
            "max_join_size" => self.max_join_size = number(value),
            "sort_buffer_size" => self.sort_buffer_bytes = number(value),
            "join_buffer_size" => self.join_buffer_bytes = number(value),
            "tmp_table_size" => self.tmp_table_bytes = number(value),
            "max_heap_table_size" => self.max_heap_table_bytes = number(value),
            "optimizer_switch" => self.optimizer_switches = Switches::of_text(&text(value)),
            "sql_notes" => self.sql_notes = on(value),
            "sql_quote_show_create" => self.sql_quote_show_create = on(value),
            "foreign_key_checks" => self.foreign_key_checks = on(value),
            "check_constraint_checks" => self.check_constraint_checks = on(value),
            "unique_checks" => self.unique_checks = on(value),
            "default_table_encryption" => self.default_table_encryption = on(value),
            "innodb_compression_default" => self.innodb_compression_default = on(value),
            "innodb_strict_mode" => self.innodb_strict_mode = on(value),
            "lc_time_names" => self.lc_time_names = Locale::find(&text(value)).unwrap_or(Locale::english()),
            "default_week_format" => self.default_week_format = number(value) as u8,
            "wait_timeout" => self.wait_timeout_seconds = number(value),
            "interactive_timeout" => self.interactive_timeout_seconds = number(value),
            "net_read_timeout" => self.net_read_timeout_seconds = number(value),
            "net_write_timeout" => self.net_write_timeout_seconds = number(value),
            "sql_log_bin" => self.sql_log_bin = on(value),
            "binlog_transaction_compression" => self.log_compression = on(value),
            "binlog_transaction_compression_level_zstd" => self.log_compression_level = number(value) as i32,
            "binlog_rows_query_log_events" => self.log_statements = on(value),
            "rbr_exec_mode" => self.idempotent_rows = bytes(value) == b"IDEMPOTENT",
            "binlog_row_image" => {
                self.row_images = match bytes(value) {
                    b"MINIMAL" => RowImages::Minimal,
                    b"NOBLOB" => RowImages::NoBlob,
                    _ => RowImages::Full,
                }
            }
            "long_query_time" => self.long_query_us = (real(value) * 1e6) as u64,
            "min_examined_row_limit" => self.examined_rows_min = number(value),
            "sql_log_off" => self.sql_log_off = on(value),
            _ => {}
        }
    }
}

fn charset(name: &str) -> Result<CollationId, Error> {
    Charset::by_name(name).map(Charset::default_collation).ok_or_else(|| Error::unknown_charset(name))
}

fn collation(name: &str) -> Result<CollationId, Error> {
    Collation::by_name(name).map(|collation| collation.id).ok_or_else(|| Error::unknown_collation(name))
}

fn set_charset(field: &mut CollationId, value: &Value, utf8mb4: CollationId) {
    if let Some(found) = Charset::by_name(&text(value))
        && collation::collation(*field).charset != found
    {
        *field = found.collation_given(utf8mb4);
    }
}

/// A character set that a SET names brings its default collation along, also where it is the one that was set: the variable
/// of the collation, and that.
pub(super) fn collation_brought(name: &str, value: &Value, utf8mb4: CollationId) -> Option<(&'static str, Value)> {
    let partner = match name {
        "character_set_connection" => "collation_connection",
        "character_set_database" => "collation_database",
        "character_set_server" => "collation_server",
        _ => return None,
    };
    let brought = Charset::by_name(&text(value))?.collation_given(utf8mb4);
    Some((partner, Value::Bytes(collation::collation(brought).name.as_bytes().to_vec())))
}

fn set_collation(field: &mut CollationId, value: &Value) {
    if let Ok(found) = collation(&text(value)) {
        *field = found;
    }
}

fn isolation(value: &Value) -> Isolation {
    match bytes(value) {
        b"READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        b"READ-COMMITTED" => Isolation::ReadCommitted,
        b"SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

pub(super) fn on(value: &Value) -> bool {
    *value == Value::Int(1)
}

pub(super) fn number(value: &Value) -> u64 {
    match value {
        Value::UInt(number) => *number,
        Value::Int(number) => (*number).max(0) as u64,
        _ => 0,
    }
}

pub(super) fn real(value: &Value) -> f64 {
    match value {
        Value::Double(number) => *number,
        _ => 0.0,
    }
}

/// The modes by their names, as @@sql_mode tells them.
pub fn mode_text(mode: SqlMode) -> String {
    let chosen = SQL_MODES.iter().enumerate().filter(|(index, _)| mode.0 & (1 << index) != 0);
    chosen.map(|(_, name)| *name).collect::<Vec<_>>().join(",")
}

pub(super) fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(text) => text,
        _ => &[],
    }
}

pub(super) fn text(value: &Value) -> String {
    String::from_utf8_lossy(bytes(value)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_zones_are_offsets() {
        assert_eq!(TimeZone::parse("system"), Some(TimeZone::System));
        assert_eq!(TimeZone::parse("+00:00"), Some(TimeZone::Zone(Zone::UTC)));
        assert_eq!(TimeZone::parse("-05:30"), Some(TimeZone::Zone(Zone::Fixed(-19_800))));
        assert_eq!(TimeZone::parse("+14:00"), Some(TimeZone::Zone(Zone::Fixed(50_400))));
        for wrong in ["+14:01", "-14:00", "5:30", "+5", "+05:60", "", "Europe/Nowhere", "+-1:00"] {
            assert_eq!(TimeZone::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sql_modes_have_mysqls_bits() {
        assert_eq!(parse_mode(b"STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION").0, 1_075_838_976);
        for (mode, name) in [
            (SqlMode::NO_BACKSLASH_ESCAPES, "NO_BACKSLASH_ESCAPES"),
            (SqlMode::TIME_TRUNCATE_FRACTIONAL, "TIME_TRUNCATE_FRACTIONAL"),
            (SqlMode::ERROR_FOR_DIVISION_BY_ZERO, "ERROR_FOR_DIVISION_BY_ZERO"),
            (SqlMode::PAD_CHAR_TO_FULL_LENGTH, "PAD_CHAR_TO_FULL_LENGTH"),
        ] {
            assert_eq!(mode_text(mode), name);
        }
        assert!(expanded(SqlMode::TRADITIONAL).is_strict());
    }
}
