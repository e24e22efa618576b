//! The server's values of variables.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use format::value::{Value, Zone};
use parking_lot::{Mutex, RwLock};

use super::list::LIST;
use super::log::LogGlobals;
use super::names;
use super::origins::Origins;
use super::persisted;
use super::settings::{self, Settings};
use super::statement_logs::{StatementLogGlobals, StatementLogs};
use super::switches;
use super::variable::{Notice, Reach, Variable};
use crate::error::Error;

const DAY_SECONDS: u64 = 86_400;

/// Called after a global value has changed, to make it so: it may refuse.
pub type Hook = Box<dyn Fn(&Variable, &GlobalVariables) -> Result<(), Error> + Send + Sync>;

/// All values at one moment. New sessions begin with it.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub values: Vec<Value>,
    pub settings: Settings,
}

/// The server's values. Readers take a snapshot; a change makes a new one.
pub struct GlobalVariables {
    current: RwLock<Arc<Snapshot>>,
    /// One change at a time.
    changing: Mutex<()>,
    hook: OnceLock<Hook>,
    /// `read_only` and `super_read_only`, where each writing statement looks.
    read_only: AtomicBool,
    super_read_only: AtomicBool,
    log: LogGlobals,
    statement_logs: StatementLogGlobals,
    pub origins: Origins,
}

impl Default for GlobalVariables {
    fn default() -> Self {
        Self::new()
    }
}

impl GlobalVariables {
    /// All variables with their defaults.
    pub fn new() -> Self {
        let mut snapshot = Snapshot { values: Vec::with_capacity(LIST.len()), settings: Settings::default() };
        for variable in LIST {
            let value = variable.default_value();
            snapshot.settings.take_over(variable.name, &value);
            snapshot.values.push(value);
        }
        let globals = Self {
            current: RwLock::new(Arc::new(snapshot)),
            changing: Mutex::new(()),
            hook: OnceLock::new(),
            read_only: AtomicBool::new(false),
            super_read_only: AtomicBool::new(false),
            log: LogGlobals::default(),
            statement_logs: StatementLogGlobals::default(),
            origins: Origins::default(),
        };
        globals.refresh_log();
        globals
    }

    /// What statements look at for the binary log.
    #[inline]
    pub fn log(&self) -> &LogGlobals {
        &self.log
    }

    /// Which statements are written into files.
    #[inline]
    pub fn statement_logs(&self) -> StatementLogs {
        self.statement_logs.get()
    }

    /// Installs what makes changes effective: the engine's options, for one.
    pub fn on_change(&self, hook: Hook) {
        assert!(self.hook.set(hook).is_ok(), "there is one hook");
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().clone()
    }

    /// `SELECT @@GLOBAL.name`
    pub fn select(&self, name: &str) -> Result<Value, Error> {
        let index = names::index_of(name).ok_or_else(|| names::unknown(name))?;
        if LIST[index].reach == Reach::Session {
            return Err(Error::wrong_kind_of_variable(name, "SESSION"));
        }
        Ok(self.value(index))
    }

    pub(super) fn value(&self, index: usize) -> Value {
        self.current.read().values[index].clone()
    }

    /// `SET GLOBAL name = value`
    pub fn set(&self, name: &str, given: &Value) -> Result<Vec<Notice>, Error> {
        let (index, variable) = self.settable(name)?;
        let given = &switches::completed(variable, &self.value(index), given)?;
        let (value, notice) = variable.kind.accept(variable, given)?;
        let value = Settings::check(variable, value)?;
        let no_effect = variable.no_effect_of(&value);
        let utf8mb4 = self.snapshot().settings.utf8mb4_collation;
        if let Some((partner, collation)) = settings::collation_brought(variable.name, &value, utf8mb4) {
            let partner = names::index_of(partner).expect("a listed variable");
            self.change(partner, collation)?;
        }
        self.change(index, value)?;
        Ok(notice.into_iter().chain(no_effect).chain(self.packet_below_buffer(variable)).collect())
    }

    /// Whether [`GlobalVariables::set`] takes a value.
    pub fn check(&self, name: &str, given: &Value) -> Result<(), Error> {
        let (index, variable) = self.settable(name)?;
        let given = &switches::completed(variable, &self.value(index), given)?;
        let (value, _) = variable.kind.accept(variable, given)?;
        Settings::check(variable, value).map(|_| ())
    }

    /// `SET GLOBAL name = DEFAULT`
    pub fn set_default(&self, name: &str) -> Result<Vec<Notice>, Error> {
        let (index, variable) = self.settable(name)?;
        self.change(index, variable.default_value())?;
        Ok(Vec::new())
    }

    /// A packet that is shorter than the buffer that it begins with is told.
    fn packet_below_buffer(&self, variable: &Variable) -> Option<Notice> {
        let is_either = matches!(variable.name, "max_allowed_packet" | "net_buffer_length");
        (is_either && self.number("max_allowed_packet") < self.number("net_buffer_length")).then(|| Notice {
            code: 1708,
            message: "The value of 'max_allowed_packet' should be no less than the value of 'net_buffer_length'"
                .to_owned(),
        })
    }

    fn settable(&self, name: &str) -> Result<(usize, &'static Variable), Error> {
        let index = names::index_of(name).ok_or_else(|| names::unknown(name))?;
        let variable = &LIST[index];
        if !variable.dynamic {
            return Err(variable.read_only());
        }
        if variable.reach == Reach::Session {
            return Err(Error::session_variable(variable.name));
        }
        Ok((index, variable))
    }

    /// Stores the value and makes it so; if that is refused, the old one is back.
    fn change(&self, index: usize, value: Value) -> Result<(), Error> {
        let _changing = self.changing.lock();
        let before = self.snapshot();
        self.store(index, value);
        if let Some(hook) = self.hook.get()
            && let Err(refusal) = hook(&LIST[index], self)
        {
            *self.current.write() = before;
            self.refresh_read_only();
            self.refresh_log();
            return Err(refusal);
        }
        Ok(())
    }

    /// Why a statement that writes is refused, if it is: `super_read_only` means everybody, `read_only` all but the
    /// administrator.
    #[inline]
    pub fn refuses_writes(&self, administrator: bool) -> Option<&'static str> {
        if !self.read_only.load(Ordering::Relaxed) {
            return None;
        }
        match self.super_read_only.load(Ordering::Relaxed) {
            true => Some("--super-read-only"),
            false => (!administrator).then_some("--read-only"),
        }
    }

    fn refresh_log(&self) {
        self.log.refresh(&|name| self.known(name));
        self.statement_logs.refresh(&|name| self.known(name));
    }

    fn refresh_read_only(&self) {
        self.super_read_only.store(self.on("super_read_only"), Ordering::Relaxed);
        self.read_only.store(self.on("read_only"), Ordering::Relaxed);
    }

    fn store(&self, index: usize, value: Value) {
        let mut snapshot = (*self.snapshot()).clone();
        snapshot.settings.take_over(LIST[index].name, &value);
        snapshot.values[index] = value;
        for (partner, derived) in partners(LIST[index].name, &snapshot.settings, &snapshot.values[index]) {
            let partner = names::index_of(partner).expect("partners are listed");
            snapshot.values[partner] = derived;
        }
        *self.current.write() = Arc::new(snapshot);
        if matches!(LIST[index].name, "read_only" | "super_read_only") {
            self.refresh_read_only();
        }
        if LogGlobals::has(LIST[index].name) || StatementLogGlobals::has(LIST[index].name) {
            self.refresh_log();
        }
    }

    /// An option of an option file or of the command line, by its full name.
    pub fn load_option(&self, name: &str, text: &str) -> Result<Vec<Notice>, Error> {
        let index = names::index_of(name).ok_or_else(|| names::unknown(name))?;
        let variable = &LIST[index];
        if !variable.option {
            return Err(variable.read_only());
        }
        let (value, notice) = variable.kind.parse(variable, text)?;
        let value = Settings::check(variable, value)?;
        self.store(index, value);
        Ok(notice.into_iter().chain(variable.no_effect_notice()).collect())
    }

    /// A value that `mysqld-auto.cnf` holds, before the server starts.
    pub fn load_persisted(&self, name: &str, text: &str) -> Result<Vec<Notice>, Error> {
        let index = names::index_of(name).ok_or_else(|| names::unknown(name))?;
        let variable = &LIST[index];
        if !persisted::may_be_persisted(name) {
            return Err(not_persisted(variable));
        }
        let (value, notice) = variable.kind.parse(variable, text)?;
        let value = Settings::check(variable, value)?;
        self.store(index, value);
        Ok(notice.into_iter().chain(variable.no_effect_notice()).collect())
    }

    /// A value on its way into `mysqld-auto.cnf`: the variable's own name, and the text that is kept. `None` is the
    /// default.
    pub fn to_persist(&self, name: &str, given: Option<&Value>) -> Result<(&'static str, String, Vec<Notice>), Error> {
        let index = names::index_of(name).ok_or_else(|| names::unknown(name))?;
        let variable = &LIST[index];
        if variable.reach == Reach::Session {
            return Err(Error::session_variable(variable.name));
        }
        if !persisted::may_be_persisted(name) {
            return Err(not_persisted(variable));
        }
        let (value, notice) = match given {
            Some(given) => variable.kind.accept(variable, given)?,
            None => (variable.default_value(), None),
        };
        let value = Settings::check(variable, value)?;
        let notices = notice.into_iter().chain(variable.no_effect_notice()).collect();
        Ok((variable.name, variable.kind.show(&value), notices))
    }

    /// Fills in a fact that only the running server knows: its port, its directory, its identity.
    pub fn fill_in(&self, name: &str, value: Value) {
        let index = names::index_of(name).expect("a listed variable");
        self.store(index, value);
    }

    /// Says what the machine's zone is, which SYSTEM means.
    pub fn set_system_zone(&self, zone: Zone) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        self.fill_in("system_time_zone", Value::Bytes(zone.abbreviation(now).into_bytes()));
        let _changing = self.changing.lock();
        let mut current = self.current.write();
        Arc::make_mut(&mut *current).settings.system_zone = zone;
    }

    /// The machine's zone.
    pub fn system_zone(&self) -> Zone {
        self.current.read().settings.system_zone
    }

    /// `SHOW GLOBAL VARIABLES`: names in order, aliases included, and values as text.
    pub fn show(&self) -> Vec<(&'static str, String)> {
        let snapshot = self.snapshot();
        names::all_names()
            .iter()
            .map(|&(name, index)| (name, index as usize))
            .filter(|&(_, index)| LIST[index].reach != Reach::Session)
            .map(|(name, index)| (name, LIST[index].kind.show(&snapshot.values[index])))
            .collect()
    }

    /// The value of a whole-numbered variable.
    pub fn number(&self, name: &str) -> u64 {
        settings::number(&self.known(name))
    }

    /// The same of one that may be below zero.
    pub fn integer(&self, name: &str) -> i64 {
        match self.known(name) {
            Value::Int(number) => number,
            value => i64::try_from(settings::number(&value)).unwrap_or(i64::MAX),
        }
    }

    pub fn real(&self, name: &str) -> f64 {
        settings::real(&self.known(name))
    }

    pub fn on(&self, name: &str) -> bool {
        settings::on(&self.known(name))
    }

    pub fn text(&self, name: &str) -> String {
        settings::text(&self.known(name))
    }

    /// A text that may be NULL.
    pub fn text_or_null(&self, name: &str) -> Option<String> {
        let value = self.known(name);
        (!value.is_null()).then(|| settings::text(&value))
    }

    fn known(&self, name: &str) -> Value {
        self.value(names::index_of(name).expect("a listed variable"))
    }

    /// Whether SET or an option gave the variable another value than its default.
    pub fn is_default(&self, name: &str) -> bool {
        let index = names::index_of(name).expect("a listed variable");
        self.value(index) == LIST[index].default_value()
    }
}

fn not_persisted(variable: &Variable) -> Error {
    Error::wrong_kind_of_variable(variable.name, "non persistent read only")
}

/// A character set and its collation change together: the other variables that follow when `name` was given `value`,
/// with `settings` already up to date.
pub(super) fn partners(name: &str, settings: &Settings, value: &Value) -> Vec<(&'static str, Value)> {
    use format::collation;
    let collation_of = |id| Value::Bytes(collation::collation(id).name.as_bytes().to_vec());
    let charset_of = |id| Value::Bytes(collation::collation(id).charset.name().as_bytes().to_vec());
    match name {
        "character_set_connection" => vec![("collation_connection", collation_of(settings.collation_connection))],
        "collation_connection" => vec![("character_set_connection", charset_of(settings.collation_connection))],
        "character_set_database" => vec![("collation_database", collation_of(settings.collation_database))],
        "collation_database" => vec![("character_set_database", charset_of(settings.collation_database))],
        "character_set_server" => vec![("collation_server", collation_of(settings.collation_server))],
        "collation_server" => vec![("character_set_server", charset_of(settings.collation_server))],
        // Refusing all accounts includes refusing ordinary ones.
        "super_read_only" if settings::on(value) => vec![("read_only", Value::Int(1))],
        "read_only" if !settings::on(value) => vec![("super_read_only", Value::Int(0))],
        // An older name for one value of the newer variable.
        "innodb_use_lz4" if settings::on(value) => {
            vec![("innodb_compression_algorithm", Value::Bytes(b"lz4".to_vec()))]
        }
        // One value in days and in seconds; both of MariaDB and of MySQL say it in either way.
        "expire_logs_days" => {
            vec![("binlog_expire_logs_seconds", Value::UInt(settings::number(value) * DAY_SECONDS))]
        }
        "binlog_expire_logs_seconds" => vec![("expire_logs_days", Value::UInt(settings::number(value) / DAY_SECONDS))],
        "default_time_zone" => vec![("time_zone", value.clone())],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::RowMetadata;

    fn bytes(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn set_global_changes_what_new_sessions_begin_with() {
        let globals = GlobalVariables::new();
        assert_eq!(globals.set("wait_timeout", &Value::Int(60)), Ok(vec![]));
        assert_eq!(globals.select("wait_timeout"), Ok(Value::UInt(60)));
        assert_eq!(globals.snapshot().settings.wait_timeout_seconds, 60);
        globals.set_default("wait_timeout").unwrap();
        assert_eq!(globals.number("wait_timeout"), 28_800);
    }

    #[test]
    fn both_names_reach_one_value() {
        let globals = GlobalVariables::new();
        globals.set("tx_isolation", &bytes("read-committed")).unwrap();
        assert_eq!(globals.select("transaction_isolation"), Ok(bytes("READ-COMMITTED")));
        let shown = globals.show();
        for name in ["tx_isolation", "transaction_isolation"] {
            assert!(shown.iter().any(|(n, value)| *n == name && value == "READ-COMMITTED"), "{name}");
        }
    }

    #[test]
    fn refusals_have_mysqls_numbers() {
        let globals = GlobalVariables::new();
        let code = |result: Result<Vec<Notice>, Error>| result.unwrap_err().code;
        assert_eq!(code(globals.set("no_such", &Value::Int(1))), 1193);
        assert_eq!(code(globals.set("version_comment", &bytes("mine"))), 1238);
        assert_eq!(code(globals.set("innodb_page_size", &Value::Int(4096))), 1238);
        assert_eq!(code(globals.set("autocommit", &bytes("maybe"))), 1231);
        assert_eq!(code(globals.set("max_connections", &bytes("many"))), 1232);
        assert_eq!(code(globals.set("insert_id", &Value::Int(1))), 1228);
        assert_eq!(code(globals.set("character_set_server", &bytes("klingon"))), 1115);
        assert_eq!(code(globals.set("time_zone", &bytes("Mars"))), 1298);
    }

    #[test]
    fn a_variable_without_effect_says_so() {
        let globals = GlobalVariables::new();
        let notices = globals.set("innodb_thread_concurrency", &Value::Int(8)).unwrap();
        assert_eq!(notices[0].code, 1618);
        assert_eq!(globals.number("innodb_thread_concurrency"), 8);
    }

    #[test]
    fn a_refusing_hook_leaves_the_old_value() {
        let globals = GlobalVariables::new();
        globals.on_change(Box::new(|variable, _| Err(variable.wrong_value("that"))));
        assert!(globals.set("innodb_io_capacity", &Value::Int(500)).is_err());
        assert_eq!(globals.number("innodb_io_capacity"), 2000);
    }

    #[test]
    fn the_log_sees_what_is_set_and_not_what_is_refused() {
        let globals = GlobalVariables::new();
        assert_eq!(globals.log().compression(), (false, 3));
        assert_eq!(globals.log().cache_bytes(), 32_768);
        assert_eq!(globals.log().metadata(), RowMetadata::Minimal);
        globals.set("binlog_transaction_compression_level_zstd", &Value::Int(7)).unwrap();
        globals.load_option("binlog_row_metadata", "FULL").unwrap();
        assert_eq!(globals.log().compression(), (false, 7));
        assert_eq!(globals.log().metadata(), RowMetadata::Full);
        globals.on_change(Box::new(|variable, _| Err(variable.wrong_value("that"))));
        globals.set("binlog_transaction_compression", &Value::Int(1)).unwrap_err();
        assert_eq!(globals.log().compression(), (false, 7));
    }

    #[test]
    fn super_read_only_includes_read_only() {
        let globals = GlobalVariables::new();
        assert_eq!(globals.refuses_writes(false), None);
        globals.set("read_only", &Value::Int(1)).unwrap();
        assert_eq!(globals.refuses_writes(false), Some("--read-only"));
        assert_eq!(globals.refuses_writes(true), None);
        globals.set("super_read_only", &Value::Int(1)).unwrap();
        assert_eq!(globals.refuses_writes(true), Some("--super-read-only"));
        globals.set("read_only", &Value::Int(0)).unwrap();
        assert_eq!(globals.refuses_writes(false), None);
        assert!(!globals.on("super_read_only"));
        globals.load_option("super_read_only", "ON").unwrap();
        assert!(globals.on("read_only"));
        assert_eq!(globals.refuses_writes(true), Some("--super-read-only"));
    }

    #[test]
    fn a_character_set_brings_its_collation() {
        let globals = GlobalVariables::new();
        globals.set("character_set_server", &bytes("latin1")).unwrap();
        assert_eq!(globals.text("collation_server"), "latin1_swedish_ci");
        globals.set("collation_server", &bytes("utf8mb4_bin")).unwrap();
        assert_eq!(globals.text("character_set_server"), "utf8mb4");
    }
}
