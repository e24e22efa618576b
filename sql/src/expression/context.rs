//! What an evaluation may ask of its surroundings: the row, the parameters, the
//! statement's clock, the session, and a place for warnings.
//!
//! All of it is borrowed and shared; what changes (warnings, user variables)
//! changes behind a cell, so that an expression can be evaluated from `&self`
//! everywhere.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use format::binlog::GtidSet;
use format::collation::{Charset, CollationId};
use format::value::{DateTime, Time, Value, Zone};
use storage::{Definition, Table};

use super::fulltext::Search;
use super::lists::{List, Lists};
use super::random::Generator;
use super::stored_function::StoredFunction;
use super::{Comparison, Datum, Expr, Memory, Sequence};
use crate::error::{Error, Level, Result, Warning};
use crate::locales::Locale;
use crate::parser::ast::{ConditionItem, VariableScope};
use crate::processlist::Process;
use crate::types::{SqlMode, Switches, TypeInfo};
use crate::user_locks::UserLocks;

/// The rows of a trigger, with a table's columns as slots.
#[derive(Clone, Copy)]
pub struct TriggerRows<'a> {
    pub table: &'a Arc<Table>,
    pub old: Option<&'a dyn Fields>,
    pub new: Option<&'a dyn Fields>,
    /// Rows count from 1, for messages.
    pub number: u64,
}

/// The stored values of columns that a trigger has assigned.
pub type Assigned = Vec<(usize, Option<Box<[u8]>>)>;

/// Runs programs inside of a statement.
pub trait Programs {
    fn call(&self, function: &StoredFunction, args: Vec<(Value, TypeInfo)>, context: &EvalContext<'_>)
    -> Result<Value>;

    /// Fires a trigger.
    fn fire(&self, trigger: &Arc<Definition>, rows: TriggerRows<'_>, context: &EvalContext<'_>) -> Result<Assigned>;
}

/// The values that an expression's columns refer to.
///
/// Implemented for slices of values; an executor implements it for its rows so that
/// only the columns that are read get decoded.
pub trait Fields {
    /// The value of a slot, of the type that the slot was bound with. ENUM and SET are numbers here.
    fn field(&self, slot: usize) -> Datum<'_>;

    /// The result of an aggregate: of the n-th [`AggregateCall`](super::AggregateCall) that the binder collected.
    fn aggregate(&self, _index: usize) -> Datum<'_> {
        Datum::Null
    }

    /// The result of the n-th window function of the query.
    fn window(&self, _index: usize) -> Datum<'_> {
        Datum::Null
    }
}

impl Fields for &[Value] {
    #[inline]
    fn field(&self, slot: usize) -> Datum<'_> {
        self.get(slot).map_or(Datum::Null, Datum::from)
    }
}

impl Fields for Vec<Value> {
    #[inline]
    fn field(&self, slot: usize) -> Datum<'_> {
        self.get(slot).map_or(Datum::Null, Datum::from)
    }
}

/// The row of a statement without tables.
pub struct NoFields;

impl Fields for NoFields {
    fn field(&self, _slot: usize) -> Datum<'_> {
        Datum::Null
    }
}

/// What the functions about the session ask. Implemented by the session, with cells where something is set.
pub trait SessionState {
    /// A user variable's value and type; None if it was never set. Names compare without case.
    fn user_variable(&self, name: &str) -> Option<(Value, TypeInfo)>;
    fn set_user_variable(&self, name: &str, value: Value, ty: TypeInfo);
    /// What the client says beside the statement, by its name.
    fn query_attribute(&self, _name: &str) -> Option<&Value> {
        None
    }
    fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value>;
    /// DATABASE()
    fn database(&self) -> Option<String>;
    /// USER(): `name@host` of the client.
    fn user(&self) -> String;
    /// CURRENT_USER(): the account that matched.
    fn current_user(&self) -> String;
    /// The account with whose rights the statement runs, if they are checked.
    fn account(&self) -> Option<(String, String)> {
        None
    }
    /// CURRENT_ROLE(): the roles that are active.
    fn current_role(&self) -> String {
        "NONE".to_owned()
    }
    fn version(&self) -> String;
    /// The directory of the server's data; empty if it has none.
    fn data_directory(&self) -> String {
        String::new()
    }
    fn connection_id(&self) -> u64;
    fn last_insert_id(&self) -> u64;
    /// `sql_auto_is_null`: the AUTO_INCREMENT value that the next `id IS NULL` finds, once.
    fn id_found_by_null(&self) -> Option<u64> {
        None
    }
    /// The generator of RAND() without an argument, which is the session's.
    fn random(&self) -> Option<&Cell<Option<Generator>>> {
        None
    }
    /// What the planner may do.
    fn optimizer_switches(&self) -> Switches {
        Switches::DEFAULT
    }
    /// Whether a view without a key may be changed with LIMIT.
    fn updatable_views_with_limit(&self) -> bool {
        true
    }
    /// `check_constraint_checks`: whether rows are held to CHECK constraints.
    fn check_constraints(&self) -> bool {
        true
    }
    /// `join_buffer_size`
    fn join_buffer_bytes(&self) -> u64 {
        256 << 10
    }
    /// How many rows, or combinations of rows, a SELECT may be expected to look at.
    fn max_join_size(&self) -> u64 {
        u64::MAX
    }
    /// LAST_INSERT_ID(expr)
    fn set_last_insert_id(&self, id: u64);
    fn row_count(&self) -> i64;
    fn found_rows(&self) -> u64;
    /// Sleeps, and returns true if interrupted meanwhile (KILL).
    fn sleep(&self, duration: Duration) -> bool;
    /// The locks of GET_LOCK(), and the session that asks; None where there are no other sessions.
    fn user_locks(&self) -> Option<(&UserLocks, &Process)> {
        None
    }
    /// Waits until a replica has applied its source's log up to a place, see `Replication::wait_for_position`.
    fn wait_for_source(
        &self,
        _channel: Option<&str>,
        _place: (&str, u64),
        _timeout: Option<Duration>,
    ) -> Result<Option<i64>> {
        Ok(None)
    }
    /// What a call about a sequence gives.
    fn sequence(&self, call: &Sequence) -> Result<Option<i64>> {
        Err(Error::unknown_sequence(&call.name))
    }
    /// Puts a row into the place of a sequence's.
    fn put_into_sequence(&self, table: &Arc<Table>, _values: &dyn Fn(usize) -> Option<Vec<u8>>) -> Result<()> {
        Err(Error::unknown_sequence(&table.name))
    }
    /// A file of the server, if it may be read and is no longer than that.
    fn load_file(&self, _name: &str, _bytes_max: u64) -> Option<Vec<u8>> {
        None
    }
    /// The names of all transactions that the server has.
    fn executed_gtids(&self) -> GtidSet {
        GtidSet::default()
    }
    /// Whether the statement was killed; asked in long loops.
    fn is_interrupted(&self) -> bool;
    /// What the statement's expressions hold.
    fn memory(&self) -> &Memory;
}

/// Runs the subqueries and the searches of a statement. `outer` is the row in which a correlated one looks up its outer columns.
pub trait Subqueries {
    /// A value of the single row. NULL when there is no row; 1242 when there are several, which is NULL and a warning in
    /// a change with IGNORE.
    fn scalar(&self, query: usize, column: usize, context: &EvalContext<'_>, outer: &dyn Fields) -> Result<Value>;
    fn exists(&self, query: usize, context: &EvalContext<'_>, outer: &dyn Fields) -> Result<bool>;
    /// The rows as a set, if they are the same for each outer row, and many, and compare by keys.
    fn list(
        &self,
        _query: usize,
        _hows: &[Comparison],
        _context: &EvalContext<'_>,
        _outer: &dyn Fields,
    ) -> Result<Option<Rc<List>>> {
        Ok(None)
    }
    /// How well a row matches a search, 0 if it does not. `args` are the columns of its index, and the text.
    fn relevance(
        &self,
        _search: &Search,
        _args: &[Expr],
        _context: &EvalContext<'_>,
        _row: &dyn Fields,
    ) -> Result<f64> {
        Err(Error::unsupported("MATCH ... AGAINST here"))
    }
    /// An expression of the query with the names of what it reads, if they are known.
    fn text(&self, _expr: &Expr) -> Option<String> {
        None
    }
    /// Calls `visit` with each row until it returns false.
    fn rows(
        &self,
        query: usize,
        context: &EvalContext<'_>,
        outer: &dyn Fields,
        visit: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()>;
}

/// Everything that one execution of a statement evaluates its expressions with.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// The values of the `?`.
    pub parameters: &'a [Value],
    pub session: &'a dyn SessionState,
    pub subqueries: Option<&'a dyn Subqueries>,
    /// Runs stored functions and triggers.
    pub programs: Option<&'a dyn Programs>,
    /// The long lists of IN that this execution has met.
    pub lists: Option<&'a Lists>,
    pub warnings: &'a Warnings,
    pub mode: SqlMode,
    /// The statement changes rows in strict mode without IGNORE: what would be a warning (a truncated number, a
    /// division by zero) is its error.
    pub strict_change: bool,
    /// The statement is a change with IGNORE.
    pub ignores: bool,
    /// When the statement began: seconds and microseconds since 1970 in UTC (or SET TIMESTAMP's). NOW() is this.
    pub now_seconds: i64,
    pub now_micros: u32,
    pub zone: Zone,
    /// The machine's.
    pub system_zone: Zone,
    /// `collation_connection`
    pub connection: CollationId,
    /// `default_collation_for_utf8mb4`
    pub utf8mb4: CollationId,
    /// `character_set_client`: the bytes of literals are of this set.
    pub client: Charset,
    pub div_precision_increment: u8,
    pub max_allowed_packet_bytes: u64,
    pub group_concat_bytes_max: u64,
    pub default_week_format: u8,
    /// `lc_time_names`
    pub locale: &'static Locale,
}

impl<'a> EvalContext<'a> {
    /// An expression as messages show it, with the names of what it reads as far as they are known.
    #[cold]
    pub fn text(&self, expr: &Expr) -> String {
        self.subqueries.and_then(|query| query.text(expr)).unwrap_or_else(|| expr.to_string())
    }

    /// A context with MySQL's defaults, in UTC.
    pub fn new(session: &'a dyn SessionState, warnings: &'a Warnings) -> EvalContext<'a> {
        EvalContext {
            parameters: &[],
            session,
            subqueries: None,
            programs: None,
            lists: None,
            warnings,
            mode: SqlMode::DEFAULT,
            strict_change: false,
            ignores: false,
            now_seconds: 0,
            now_micros: 0,
            zone: Zone::UTC,
            system_zone: Zone::UTC,
            connection: CollationId::DEFAULT,
            utf8mb4: CollationId::DEFAULT,
            client: Charset::Utf8mb4,
            div_precision_increment: 4,
            max_allowed_packet_bytes: 64 << 20,
            group_concat_bytes_max: 1024,
            default_week_format: 0,
            locale: Locale::english(),
        }
    }

    /// A moment with so many digits behind the point: rounded, or cut where sql_mode says so. None: it would be one of
    /// the year 10000.
    pub fn round_datetime(&self, moment: DateTime, fsp: u8) -> Option<DateTime> {
        match self.mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
            true => Some(moment.truncate(fsp)),
            false => moment.round(fsp),
        }
    }

    pub fn round_time(&self, time: Time, fsp: u8) -> Time {
        match self.mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL) {
            true => time.truncate(fsp),
            false => time.round(fsp),
        }
    }

    /// A doubtful value: a warning, but an error in a strict change.
    #[cold]
    pub fn doubt(&self, error: Error) -> Result<()> {
        if self.strict_change {
            return Err(error);
        }
        self.warnings.push(error.into_warning());
        Ok(())
    }

    /// A warning in any mode.
    #[cold]
    pub fn warn(&self, error: Error) {
        self.warnings.push(error.into_warning());
    }
}

/// What a condition tells beside its code and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    pub sqlstate: [u8; 5],
    /// What SIGNAL said of it.
    pub items: Vec<(ConditionItem, String)>,
}

/// A condition with all that it tells.
pub type Condition = (Warning, Option<Box<Details>>);

/// The warnings of a statement, bounded in number but counted in full.
#[derive(Debug)]
pub struct Warnings {
    list: RefCell<Vec<Warning>>,
    /// Of some of them, by their places.
    details: RefCell<Vec<(usize, Box<Details>)>>,
    /// Rises when the list is cleared.
    epoch: Cell<u64>,
    count: Cell<u64>,
    kept_max: Cell<usize>,
}

impl Default for Warnings {
    fn default() -> Warnings {
        Warnings {
            list: RefCell::default(),
            details: RefCell::default(),
            epoch: Cell::default(),
            count: Cell::default(),
            kept_max: Cell::new(1024),
        }
    }
}

impl Warnings {
    /// Begins a statement that keeps so many: max_error_count.
    pub fn begin(&self, kept_max: usize) {
        self.clear();
        self.kept_max.set(kept_max);
    }

    #[cold]
    pub fn push(&self, warning: Warning) {
        self.count.set(self.count.get() + 1);
        let mut list = self.list.borrow_mut();
        if list.len() < self.kept_max.get() {
            list.push(warning);
        }
    }

    pub fn note(&self, code: u16, message: impl Into<String>) {
        self.push(Warning { level: Level::Note, code, message: message.into() });
    }

    /// How many there were, kept or not.
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    pub fn clear(&self) {
        self.epoch.set(self.epoch.get().wrapping_add(1));
        if self.count.get() > 0 {
            self.count.set(0);
            self.list.borrow_mut().clear();
            self.details.borrow_mut().clear();
        }
    }

    /// Another number after each time that the list was cleared.
    pub fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    pub fn push_detailed(&self, warning: Warning, details: Box<Details>) {
        let at = self.list.borrow().len();
        if at < self.kept_max.get() {
            self.details.borrow_mut().push((at, details));
        }
        self.push(warning);
    }

    /// An error ends the statement.
    pub fn push_error(&self, error: &Error) {
        let warning = Warning { level: Level::Error, code: error.code, message: error.message.clone() };
        self.push_detailed(warning, Box::new(Details { sqlstate: error.sqlstate, items: Vec::new() }));
    }

    /// Whether this error is the last entry.
    pub fn ends_with(&self, error: &Error) -> bool {
        let list = self.list.borrow();
        list.last()
            .is_some_and(|last| (last.level, last.code, &last.message) == (Level::Error, error.code, &error.message))
    }

    /// All that are kept, with what they tell.
    pub fn conditions(&self) -> Vec<Condition> {
        let details = self.details.borrow();
        let of = |at: usize| details.iter().find(|(place, _)| *place == at).map(|(_, details)| details.clone());
        self.list.borrow().iter().enumerate().map(|(at, warning)| (warning.clone(), of(at))).collect()
    }

    /// Others in their place.
    pub fn replace(&self, conditions: Vec<Condition>) {
        self.clear();
        for (warning, details) in conditions {
            match details {
                Some(details) => self.push_detailed(warning, details),
                None => self.push(warning),
            }
        }
    }

    /// A copy for SHOW WARNINGS.
    pub fn list(&self) -> Vec<Warning> {
        self.list.borrow().clone()
    }

    pub fn take(&self) -> Vec<Warning> {
        self.count.set(0);
        self.details.borrow_mut().clear();
        std::mem::take(&mut self.list.borrow_mut())
    }
}
