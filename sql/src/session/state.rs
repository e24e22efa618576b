//! What a session knows beside its variables, and how expressions ask for it.

use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use binlog::SessionOrder;
use format::binlog::GtidSet;
use format::collation::collation;
use format::value::{DECIMAL_SCALE_MAX, Value};
use rustc_hash::FxHashMap;
use storage::Table;

use super::files::allowed_path;
use super::gtid::{self, Next};
use super::uses::Uses;
use super::{Session, Surroundings};
use crate::accounts::{self, Privileges};
use crate::error::Result;
use crate::executor::memory::Counts;
use crate::expression::{Datum, Generator, Memory, Sequence, SessionState};
use crate::instance::Instance;
use crate::parser::ast::VariableScope;
use crate::processlist::Process;
use crate::types::{Kind, Switches, TypeInfo};
use crate::user_locks::UserLocks;
use crate::variables::{SessionVariables, mode_text};

/// The facts that functions ask for; in cells, for they change while expressions are evaluated.
pub struct State {
    pub user_variables: RefCell<FxHashMap<String, (Value, TypeInfo)>>,
    /// Counts the changes of variables after which a plan that reads one may be another: of a type, of a system variable.
    pub variables_generation: Cell<u64>,
    /// What the client says beside the statement.
    pub query_attributes: Vec<(String, Value)>,
    pub database: Option<String>,
    pub user: String,
    pub host: String,
    /// LAST_INSERT_ID().
    pub last_insert_id: Cell<u64>,
    /// LAST_INSERT_ID(expr) was called in this statement: the client gets it as the insert id.
    pub given_insert_id: Cell<Option<u64>>,
    /// SET INSERT_ID: the next AUTO_INCREMENT value that is generated, or 0.
    pub insert_id: Cell<u64>,
    /// Of RAND(); None: it has not been asked for, nor seeded.
    pub random: Cell<Option<Generator>>,
    /// A value was generated since `id IS NULL` last asked for it: see `sql_auto_is_null`.
    pub null_finds_last_id: Cell<bool>,
    pub row_count: Cell<i64>,
    pub found_rows: Cell<u64>,
    /// SET TIMESTAMP: seconds and microseconds that NOW() answers.
    pub timestamp: Cell<Option<(i64, u32)>>,
    pub error_count: Cell<u64>,
    /// Conditions and errors of the last statement.
    pub last_counts: Cell<(u64, u64)>,
    /// What the statement has done so far.
    pub rows_sent: Cell<u64>,
    pub rows_examined: Cell<u64>,
    pub rows_affected: Cell<u64>,
    pub(super) uses: Cell<Uses>,
    /// What the statement has put into temporary files so far.
    pub spilled: Cell<Counts>,
    pub(super) gtid_next: Next,
    /// Its transactions in the binary log.
    pub(super) order: Arc<SessionOrder>,
    /// A transaction was open when the statement began.
    pub in_transaction: Cell<bool>,
    /// What the statement's expressions hold.
    pub memory: Memory,
    /// How often expressions have read user variables and system variables.
    pub variables_read: Cell<u64>,
    /// LASTVAL(): the numbers that sequences gave last, by their tables.
    pub last_values: RefCell<FxHashMap<u64, i64>>,
}

impl State {
    pub fn new() -> State {
        State {
            user_variables: RefCell::default(),
            variables_generation: Cell::new(0),
            query_attributes: Vec::new(),
            database: None,
            user: String::new(),
            host: String::new(),
            last_insert_id: Cell::new(0),
            given_insert_id: Cell::new(None),
            insert_id: Cell::new(0),
            random: Cell::new(None),
            null_finds_last_id: Cell::new(false),
            row_count: Cell::new(-1),
            found_rows: Cell::new(0),
            timestamp: Cell::new(None),
            error_count: Cell::new(0),
            last_counts: Cell::default(),
            rows_sent: Cell::new(0),
            rows_examined: Cell::new(0),
            rows_affected: Cell::new(0),
            uses: Cell::default(),
            spilled: Cell::default(),
            gtid_next: Next::default(),
            order: Arc::default(),
            in_transaction: Cell::new(false),
            memory: Memory::default(),
            variables_read: Cell::new(0),
            last_values: RefCell::default(),
        }
    }
}

impl State {
    /// A user variable gets a value.
    pub fn assign(&self, name: String, value: Value, ty: TypeInfo) {
        let before = self.user_variables.borrow_mut().insert(name, (value, ty));
        // Only what is shown depends on a length.
        if before.is_none_or(|(_, before)| TypeInfo { length: ty.length, ..before } != ty) {
            self.variables_changed();
        }
    }

    pub fn variables_changed(&self) {
        self.variables_generation.set(self.variables_generation.get() + 1);
    }
}

/// A session as expressions see it during one statement.
pub struct View<'a> {
    pub session: &'a Session,
    pub state: &'a State,
    pub variables: &'a SessionVariables,
    pub instance: &'a Instance,
    pub process: &'a Arc<Process>,
    pub(super) surroundings: Surroundings<'a>,
}

impl View<'_> {
    /// A variable that a stored program brings, if one runs.
    fn of_program(&self, name: &str) -> Option<Value> {
        let (settings, own) = (&self.variables.settings, &self.surroundings);
        let text = |text: &str| Some(Value::Bytes(text.as_bytes().to_vec()));
        let connection = own.literals.1;
        match name {
            "sql_mode" if own.mode != settings.sql_mode => text(&mode_text(own.mode)),
            "character_set_client" if own.client != settings.character_set_client => {
                text(collation(own.client).charset.name())
            }
            "collation_connection" if connection != settings.collation_connection => text(collation(connection).name),
            "character_set_connection" if connection != settings.collation_connection => {
                text(collation(connection).charset.name())
            }
            _ => None,
        }
    }
}

impl SessionState for View<'_> {
    fn user_variable(&self, name: &str) -> Option<(Value, TypeInfo)> {
        self.state.variables_read.set(self.state.variables_read.get() + 1);
        self.state.user_variables.borrow().get(&name.to_lowercase()).cloned()
    }

    fn query_attribute(&self, name: &str) -> Option<&Value> {
        self.state.query_attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    fn load_file(&self, name: &str, bytes_max: u64) -> Option<Vec<u8>> {
        self.surroundings.rights.need(Privileges::FILE).ok()?;
        let path = allowed_path(self.instance, name).ok()?;
        let facts = fs::metadata(&path).ok()?;
        // All may read it, and it is no pipe, which could be read for ever.
        let is_open = facts.is_file() && facts.mode() & 0o004 != 0 && facts.len() <= bytes_max;
        is_open.then(|| fs::read(&path).ok()).flatten()
    }

    fn sequence(&self, call: &Sequence) -> Result<Option<i64>> {
        self.session.ask_sequence(call)
    }

    fn put_into_sequence(&self, table: &Arc<Table>, values: &dyn Fn(usize) -> Option<Vec<u8>>) -> Result<()> {
        self.session.put_into_sequence(table, values)
    }

    fn set_user_variable(&self, name: &str, value: Value, ty: TypeInfo) {
        // A variable has no JSON, but its text.
        let (value, ty) = match value {
            Value::Json(_) => {
                let text = Datum::from(value).into_text(&ty).into_owned();
                (Value::Bytes(text), TypeInfo { kind: Kind::Text, ..ty })
            }
            // Nor geometries, but their bytes.
            value if ty.is_geometry() => (value, TypeInfo { kind: Kind::Text, ..ty }),
            value => with_own_digits(value, ty),
        };
        self.state.assign(name.to_lowercase(), value, ty.stored());
    }

    fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value> {
        self.state.variables_read.set(self.state.variables_read.get() + 1);
        let name = name.to_ascii_lowercase();
        match (name.as_str(), &self.instance.log) {
            ("gtid_owned", Some(log)) if scope == Some(VariableScope::Global) => {
                return Ok(Value::Bytes(gtid::all_owned(log).into_bytes()));
            }
            ("gtid_owned", _) => return Ok(Value::Bytes(self.state.gtid_next.owned().into_bytes())),
            _ => {}
        }
        if matches!(name.as_str(), "gtid_slave_pos" | "gtid_current_pos") {
            return Ok(Value::Bytes(self.instance.mariadb_position().to_string().into_bytes()));
        }
        let set = match (name.as_str(), &self.instance.log) {
            ("gtid_executed", _) => Some(self.instance.executed_gtids()),
            ("gtid_purged", Some(log)) => Some(log.purged().map_err(crate::catalog::storage_error)?),
            _ => None,
        };
        if let Some(set) = set {
            return Ok(Value::Bytes(set.to_string().into_bytes()));
        }
        if scope != Some(VariableScope::Global) {
            match name.as_str() {
                "last_insert_id" | "identity" => return Ok(Value::UInt(self.state.last_insert_id.get())),
                "insert_id" => return Ok(Value::UInt(self.state.insert_id.get())),
                "warning_count" => return Ok(Value::UInt(self.state.last_counts.get().0)),
                "in_transaction" => return Ok(Value::UInt(self.state.in_transaction.get().into())),
                "error_count" => return Ok(Value::UInt(self.state.last_counts.get().1)),
                "pseudo_thread_id" => return Ok(Value::UInt(self.process.id as u64)),
                "timestamp" => {
                    let (seconds, micros) = self.state.timestamp.get().unwrap_or_else(super::clock);
                    return Ok(Value::Double(seconds as f64 + micros as f64 / 1e6));
                }
                _ => {}
            }
        }
        if scope != Some(VariableScope::Global)
            && let Some(own) = self.of_program(&name)
        {
            return Ok(own);
        }
        match scope {
            Some(VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly) => {
                self.instance.variables.select(&name)
            }
            Some(VariableScope::Session) => self.variables.select(&self.instance.variables, &name, true),
            None => self.variables.select(&self.instance.variables, &name, false),
        }
    }

    fn database(&self) -> Option<String> {
        self.surroundings.database.map(str::to_owned)
    }

    fn user(&self) -> String {
        format!("{}@{}", self.state.user, self.state.host)
    }

    fn current_user(&self) -> String {
        match self.surroundings.rights.is_internal() {
            true => self.user(),
            false => format!("{}@{}", self.surroundings.rights.account.0, self.surroundings.rights.account.1),
        }
    }

    fn account(&self) -> Option<(String, String)> {
        (!self.surroundings.rights.is_internal()).then(|| self.surroundings.rights.account.clone())
    }

    fn current_role(&self) -> String {
        let names: Vec<String> = self.surroundings.rights.active_roles.iter().map(accounts::describe::name).collect();
        if names.is_empty() { "NONE".to_owned() } else { names.join(",") }
    }

    fn version(&self) -> String {
        self.instance.variables.text("version")
    }

    fn data_directory(&self) -> String {
        self.instance.variables.text("datadir")
    }

    fn connection_id(&self) -> u64 {
        self.process.id as u64
    }

    fn id_found_by_null(&self) -> Option<u64> {
        let asked = self.variables.settings.sql_auto_is_null && self.state.null_finds_last_id.replace(false);
        asked.then(|| self.state.last_insert_id.get())
    }

    fn optimizer_switches(&self) -> Switches {
        self.variables.settings.optimizer_switches
    }

    fn updatable_views_with_limit(&self) -> bool {
        let value = self.variables.select(&self.instance.variables, "updatable_views_with_limit", false);
        !matches!(value, Ok(Value::Bytes(text)) if text.eq_ignore_ascii_case(b"NO"))
    }

    fn random(&self) -> Option<&Cell<Option<Generator>>> {
        Some(&self.state.random)
    }

    fn check_constraints(&self) -> bool {
        self.variables.settings.check_constraint_checks
    }

    fn join_buffer_bytes(&self) -> u64 {
        self.variables.settings.join_buffer_bytes
    }

    fn max_join_size(&self) -> u64 {
        let settings = &self.variables.settings;
        if settings.sql_big_selects { u64::MAX } else { settings.max_join_size }
    }

    fn last_insert_id(&self) -> u64 {
        self.state.last_insert_id.get()
    }

    fn set_last_insert_id(&self, id: u64) {
        self.state.last_insert_id.set(id);
        self.state.given_insert_id.set(Some(id));
    }

    fn row_count(&self) -> i64 {
        self.state.row_count.get()
    }

    fn found_rows(&self) -> u64 {
        self.state.found_rows.get()
    }

    fn user_locks(&self) -> Option<(&UserLocks, &Process)> {
        Some((&self.instance.user_locks, self.process))
    }

    fn sleep(&self, duration: Duration) -> bool {
        self.process.interrupt.sleep(duration)
    }

    fn wait_for_source(
        &self,
        channel: Option<&str>,
        place: (&str, u64),
        timeout: Option<Duration>,
    ) -> Result<Option<i64>> {
        let Some(replication) = self.instance.replication() else { return Ok(None) };
        replication.wait_for_position(channel, place, timeout, &|| self.is_interrupted())
    }

    fn executed_gtids(&self) -> GtidSet {
        self.instance.executed_gtids()
    }

    fn is_interrupted(&self) -> bool {
        self.process.interrupt.is_set()
    }

    fn memory(&self) -> &Memory {
        &self.state.memory
    }
}

/// A user variable keeps the digits that a decimal has beyond its type: `SET @a = 1 / 3`.
pub(super) fn with_own_digits(value: Value, ty: TypeInfo) -> (Value, TypeInfo) {
    match value {
        Value::Decimal(decimal) if ty.kind == Kind::Decimal && decimal.scale() > ty.decimals => {
            let decimals = decimal.scale().min(DECIMAL_SCALE_MAX);
            let length = ty.length + u32::from(decimals - ty.decimals);
            let decimal = decimal.round(decimals.into()).unwrap_or(decimal);
            (Value::Decimal(decimal), TypeInfo { length, decimals, ..ty })
        }
        value => (value, ty),
    }
}
