//! One connection's statements: from text to result.
//!
//! ```text
//! text -- normalize --> key --> plan cache --hit--> run
//!                                  |
//!                                 miss: parse, plan, keep
//! ```
//!
//! A SELECT, INSERT, UPDATE or DELETE is looked up by its text with the literals
//! taken out, so that a second one of its kind is neither parsed nor planned; a
//! prepared statement keeps its plan itself. A plan holds the descriptions of its
//! tables: storage is asked, each time, whether they are still the current ones,
//! and if not the statement is planned anew. Whatever changes the meaning of a text
//! (SET, USE) empties the cache.
//!
//! Transactions: with autocommit on, a statement outside of a transaction is one by itself.
//! A failed statement is rolled back to its beginning; a deadlock rolls back the transaction.
//! Statements that change table definitions commit first.
//!
//! | module | idea |
//! |---|---|
//! | `state` | what functions such as DATABASE() ask |
//! | `dispatch` | which statement does what |
//! | `define` | definitions |
//! | `routine`, `trigger`, `event` | definitions of stored programs |
//! | `program` | how these run |
//! | `create` | tables that are created together with their rows: CREATE TABLE ... SELECT |
//! | `files` | files of the server that statements read and write |
//! | `plan` | plans of statements, and running them |
//! | `uses` | how plans find their rows |
//! | `measure` | what statements take and do, told by digest |
//! | `profiling` | SHOW PROFILES |
//! | `statement_logs` | the slow query log, the general log |
//! | `set_up` | UPDATE of the tables that set up what is collected |
//! | `transaction` | BEGIN to ROLLBACK, and statements inside |
//! | `xa` | branches of distributed transactions |
//! | `limits` | what keeps a statement from writing, reading all or running on |
//! | `set` | SET |
//! | `locks` | LOCK TABLES, the global read lock |
//! | `backup` | BACKUP, CLONE, LOCK INSTANCE |
//! | `apply` | what a replica does with the events of its source |
//! | `replay` | BINLOG |
//! | `replica` | CHANGE REPLICATION SOURCE, START REPLICA and their kin |
//! | `admin` | SHOW, EXPLAIN, KILL, table maintenance |
//! | `accounts` | CREATE USER and related statements |
//! | `grant` | GRANT, REVOKE, roles |
//! | `privileges` | which statement needs which privilege |
//! | `gtid` | gtid_next, gtid_purged, gtid_mode |

mod accounts;
mod admin;
mod apply;
mod backup;
mod cached;
mod create;
mod define;
mod dispatch;
mod event;
mod explain;
mod files;
mod grant;
mod gtid;
mod limits;
mod locks;
mod log;
mod measure;
mod plan;
mod plans;
mod privileges;
mod privileges_shown;
mod profiling;
mod program;
mod replay;
mod replica;
mod routine;
mod sequence;
mod set;
mod set_up;
mod state;
mod statement_logs;
mod targets;
mod track;
mod transaction;
mod trigger;
mod uses;
mod view;
mod xa;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use format::binlog::FormatDescription;
use format::collation::{Charset, CollationId, collation};
use format::packet::ColumnDefinition;
use format::packet::status as flags;
use format::value::{Value, Zone};
use rustc_hash::FxHashMap;
use storage::{TemporaryTables, Trx};

use crate::accounts::Rights;
use crate::accounts::admission::Share;
use crate::describe;
use crate::error::{Error, Result};
use crate::executor::Scratch;
use crate::expression::{EvalContext, Warnings};
use crate::instance::Instance;
use crate::parser::ast::BackupStage;
use crate::parser::normalize::{Normalized, normalize};
use crate::parser::{self, Parsed};
use crate::planner::profile::Profile;
use crate::processlist::Process;
use crate::result::{OkSummary, ResultSink};
use crate::row_log::RowLog;
use crate::status::{Counter, SessionStatus};
use crate::types::{SqlMode, TypeInfo};
use crate::variables::{SessionVariables, TimeZone, Versions};

pub use apply::{MARIADB_MODES, branch_statement};
pub use backup::NAMED_FILES;
use cached::PreparedStatement;
pub use event::EventRun;
use plans::Plans;
use state::{State, View};
pub use targets::{Targets, targets};

/// A statement prepared on the server.
pub struct Prepared {
    pub id: u32,
    pub parameters: usize,
    pub columns: Arc<[ColumnDefinition]>,
    pub warnings: u16,
}

/// The plan of a longer text is not kept: such statements carry data, and seldom come twice.
const PLAN_KEY_BYTES_MAX: usize = 16 << 10;

/// One connection's state: variables, database, transaction, prepared statements.
pub struct Session {
    instance: Arc<Instance>,
    process: Arc<Process>,
    status: Arc<SessionStatus>,
    pub variables: Versions,
    /// Several statements may stand in one text (CLIENT_MULTI_STATEMENTS).
    pub multi_statements: bool,
    /// The client reads several results of one statement (CLIENT_MULTI_RESULTS).
    pub multi_results: bool,
    /// The values of the `?` of the statement that is dispatched: SET, DO, SHOW, EXPLAIN and others without a plan to keep.
    given: Arc<[Value]>,
    /// Their types, if they are variables of a program.
    given_types: Option<Arc<[TypeInfo]>>,
    /// The client reads OUT parameters of a prepared CALL (CLIENT_PS_MULTI_RESULTS).
    pub out_parameters: bool,
    /// UPDATE counts found rows instead of changed ones (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// What the client is to be told with the next OK, if it reads that.
    tracked: Option<RefCell<track::Tracked>>,
    state: State,
    /// What the session may do, made from this version of the accounts. Until somebody logs in it is the server's own.
    rights: Rights,
    rights_version: u64,
    /// The names of the place that the client comes from.
    client_hosts: Vec<String>,
    /// The password has expired: it is changed before anything else is done.
    is_expired: bool,
    /// What the account may take, if it is limited.
    share: Option<Share>,
    warnings: Warnings,
    /// While EXPLAIN ANALYZE runs its query.
    profile: Option<Box<Profile>>,
    /// What SET_VAR hints could not set: the statement warns of it when it begins.
    hint_warnings: Vec<Error>,
    /// `character_set_client` of the procedure that runs: that of its creation, while its text is kept in UTF-8.
    client_of_program: Option<CollationId>,
    /// The open transaction, if any.
    trx: Option<Trx>,
    /// Its temporary tables, from the first on.
    temporary: OnceCell<Arc<TemporaryTables>>,
    /// After BEGIN: autocommit has no effect until COMMIT.
    explicit: bool,
    savepoints: Vec<NamedSavepoint>,
    /// What the open transaction has for the binary log.
    row_log: Option<RefCell<RowLog>>,
    /// The text of the running statement, if there is a binary log.
    source: Vec<u8>,
    /// The branch of XA START. Declared after `trx`, because the transaction ends before its name is free.
    branch: Option<xa::Branch>,
    /// The session applies a source's transactions, and the one that is being applied.
    applying: Option<Box<apply::Applying>>,
    /// BINLOG: how the events that follow are to be read.
    description: Option<Arc<FormatDescription>>,
    /// LOCK INSTANCE FOR BACKUP: no DDL of other sessions.
    backup_hold: Option<storage::BackupHold>,
    backup_stage: Option<BackupStage>,
    /// SHUTDOWN was allowed: the server ends when its answer has been sent.
    wants_shutdown: bool,
    /// LOCK TABLES.
    locked: Option<crate::table_locks::LockedTables>,
    /// The table that the open transaction creates and fills.
    creating: Option<Box<storage::UnfinishedTable>>,
    /// The name that a temporary table is to have which is being filled under another.
    to_be_named: Option<Box<str>>,
    /// FLUSH TABLES WITH READ LOCK.
    has_read_lock: bool,
    /// SET TRANSACTION for the next transaction alone.
    next_transaction: transaction::Characteristics,
    plans: Plans,
    measure: measure::Measure,
    normalized: Normalized,
    prepared: FxHashMap<u32, Option<Box<PreparedStatement>>>,
    named: FxHashMap<String, u32>,
    next_prepared: u32,
    /// Counts the changes after which a plan's text may mean something else.
    generation: Cell<u64>,
    /// That of the plans which are kept by their texts.
    plans_generation: u64,
    /// Buffers that statements use again.
    scratch: RefCell<Scratch>,
    /// The stored programs that run, and those that have run.
    programs: program::Programs,
}

/// SAVEPOINT.
struct NamedSavepoint {
    name: String,
    point: storage::Savepoint,
    /// The same place in the transaction's events.
    mark: u64,
}

/// In which surroundings a statement runs: a stored program brings its own.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    rights: &'a Rights,
    mode: SqlMode,
    /// The current database.
    database: Option<&'a str>,
    /// The character set that literals are written in, and the collation that they get.
    literals: (CollationId, CollationId),
    /// What `@@character_set_client` says.
    client: CollationId,
    /// It is part of another statement.
    is_inner: bool,
}

/// Seconds and microseconds since 1970.
fn clock() -> (i64, u32) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_secs() as i64, now.subsec_micros())
}

/// Whether a text has nothing, not even a comment.
fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| *byte == b';' || byte.is_ascii_whitespace())
}

/// What a statement that returns no rows did.
#[derive(Debug, Default, Clone)]
struct Done {
    affected_rows: u64,
    last_insert_id: u64,
    info: String,
}

impl Session {
    pub fn new(instance: Arc<Instance>, process: Arc<Process>, status: Arc<SessionStatus>) -> Session {
        let variables = Versions::from(SessionVariables::new(&instance.variables));
        let measure = measure::Measure::new(instance.statements.register(process.id.into()));
        status.belongs_to(process.id);
        crate::monitor::witness_deadlocks(&instance);
        crate::executor::follow::teach(&instance.engine);
        Session {
            instance,
            process,
            status,
            variables,
            multi_statements: false,
            multi_results: true,
            given: Arc::from([]),
            given_types: None,
            out_parameters: false,
            found_rows: false,
            tracked: None,
            state: State::new(),
            rights: Rights::internal(),
            rights_version: 0,
            client_hosts: Vec::new(),
            is_expired: false,
            share: None,
            warnings: Warnings::default(),
            profile: None,
            hint_warnings: Vec::new(),
            client_of_program: None,
            trx: None,
            temporary: OnceCell::new(),
            explicit: false,
            savepoints: Vec::new(),
            row_log: None,
            source: Vec::new(),
            branch: None,
            applying: None,
            description: None,
            backup_hold: None,
            backup_stage: None,
            wants_shutdown: false,
            locked: None,
            creating: None,
            to_be_named: None,
            has_read_lock: false,
            next_transaction: transaction::Characteristics::default(),
            plans: Plans::default(),
            measure,
            normalized: Normalized::default(),
            prepared: FxHashMap::default(),
            named: FxHashMap::default(),
            next_prepared: 1,
            generation: Cell::new(0),
            plans_generation: 0,
            scratch: RefCell::default(),
            programs: program::Programs::default(),
        }
    }

    pub fn user(&self) -> &str {
        &self.state.user
    }

    /// The value of a user variable that has been set.
    pub fn user_variable(&self, name: &str) -> Option<Value> {
        self.state.user_variables.borrow().get(name).map(|(value, _)| value.clone())
    }

    /// SHUTDOWN was run.
    pub fn wants_shutdown(&self) -> bool {
        self.wants_shutdown
    }

    pub fn database(&self) -> Option<&str> {
        self.state.database.as_deref()
    }

    /// The status flags of the protocol.
    pub fn status_flags(&self) -> u16 {
        let mut status = 0;
        if self.variables.settings.autocommit {
            status |= flags::AUTOCOMMIT;
        }
        if self.explicit || self.trx.is_some() {
            status |= flags::IN_TRANS;
        }
        if self.variables.settings.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES) {
            status |= flags::NO_BACKSLASH_ESCAPES;
        }
        status
    }

    pub fn warning_count(&self) -> u16 {
        self.warnings.count().min(u16::MAX as u64) as u16
    }

    pub fn last_insert_id(&self) -> u64 {
        self.state.last_insert_id.get()
    }

    /// Runs the statement or statements of `text`.
    pub fn query(&mut self, text: &[u8], sink: &mut dyn ResultSink) {
        self.process.interrupt.clear();
        self.programs.begin();
        let (mut written, is_ascii) = (text, text.is_ascii());
        let mut read_as = self.reads();
        let mut text = self.in_statement_charset(written);
        if self.query_normalized(&text, sink) {
            return;
        }
        let mut from = 0;
        let mut first = true;
        loop {
            let (rest, mode) = (&text[from..], self.variables.settings.sql_mode);
            let (parsed, next) = match parser::parse_first(rest, mode) {
                Ok(parsed) => parsed,
                Err(error) => {
                    return self.measured(None, rest, &[], |session| {
                        session.begin_statement();
                        session.fail(error, sink);
                    });
                }
            };
            let Some(parsed) = parsed else {
                // A text of comments alone is a statement that does nothing; tools send those for other servers.
                match first && is_blank(rest) {
                    true => {
                        self.begin_statement();
                        self.fail(Error::empty_query(), sink);
                    }
                    false if first => {
                        self.begin_statement();
                        self.finish(&Done::default(), false, sink);
                    }
                    false => {}
                }
                return;
            };
            let behind = next.map(|at| &rest[at..]).unwrap_or_default();
            let more = has_statement(behind);
            if more && !self.multi_statements {
                // The second statement is a syntax error where only one is allowed.
                let near = String::from_utf8_lossy(behind).trim_start().to_owned();
                self.begin_statement();
                return self.fail(Error::syntax(&near, 1), sink);
            }
            let own = &rest[parsed.source.clone()];
            // A single statement has been tried already.
            let tried = first && !more;
            let ok = if tried || !self.query_normalized_more(own, more, sink) {
                self.run_statement(parsed, own, more, sink)
            } else {
                self.state.error_count.get() == 0
            };
            if !ok || !more {
                return;
            }
            sink.answer_in(self.results_charset());
            first = false;
            from = text.len() - behind.len();
            // SET NAMES says what the statements behind it are written in.
            let reads = self.reads();
            if !is_ascii && read_as != reads {
                let read = match read_as {
                    Some((client, mode)) => parser::multibyte::bytes_of(written, client, mode, from),
                    None => from,
                };
                written = &written[read..];
                text = self.in_statement_charset(written);
                (read_as, from) = (reads, 0);
            }
        }
    }

    /// What names and messages are converted to for the client; `None`: nothing is.
    pub fn results_charset(&self) -> Option<Charset> {
        let results = collation(self.variables.settings.character_set_results?).charset;
        (!matches!(results, Charset::Utf8mb4 | Charset::Binary)).then_some(results)
    }

    /// How texts of the client are brought to UTF-8; None: they are read as they are.
    fn reads(&self) -> Option<(Charset, SqlMode)> {
        let settings = &self.variables.settings;
        let client = collation(settings.character_set_client).charset;
        settings.brings_statements_to_utf8().then_some((client, settings.sql_mode))
    }

    /// The text of a client in the character set that statements are in.
    fn in_statement_charset<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self.reads() {
            Some((client, mode)) if !text.is_ascii() => Cow::Owned(parser::multibyte::in_utf8(text, client, mode)),
            _ => Cow::Borrowed(text),
        }
    }

    /// Keeps the text of a statement for the binary log.
    fn remember_source(&mut self, text: &[u8]) {
        if self.instance.log.is_some() {
            self.source.clear();
            let is_end = |byte: &u8| *byte == b';' || byte.is_ascii_whitespace();
            let ends = text.iter().rev().take_while(|byte| is_end(byte)).count();
            self.source.extend_from_slice(&text[..text.len() - ends]);
        }
    }

    /// Whether a statement's literals need no conversion to the character set of `collation_connection`.
    fn reads_literals_verbatim(&self, text: &[u8]) -> bool {
        let settings = &self.variables.settings;
        let connection = collation(settings.collation_connection).charset;
        let written = collation(settings.statement_charset()).charset;
        written.converts_verbatim(connection) || written.has_same_bytes(text, connection)
    }

    /// Runs a text by its cached plan, if it is of a kind whose plans are kept.
    fn query_normalized(&mut self, text: &[u8], sink: &mut dyn ResultSink) -> bool {
        self.query_normalized_more(text, false, sink)
    }

    fn query_normalized_more(&mut self, text: &[u8], more: bool, sink: &mut dyn ResultSink) -> bool {
        let mut normalized = std::mem::take(&mut self.normalized);
        // Literals that become parameters are taken as they were written.
        let usable =
            self.reads_literals_verbatim(text) && normalize(text, self.variables.settings.sql_mode, &mut normalized);
        if usable {
            self.remember_source(text);
            self.measured(None, text, &[], |session| session.run_normalized(text, &normalized, more, sink));
        }
        self.normalized = normalized;
        usable
    }

    fn run_normalized(&mut self, text: &[u8], normalized: &Normalized, more: bool, sink: &mut dyn ResultSink) {
        if let Err(error) = self.check_not_creating().and_then(|()| self.enter_statement(|| false)) {
            self.begin_statement();
            return self.fail(error, sink);
        }
        if let Some(mut plan) = self.kept_plan(normalized.key()) {
            self.status.add(Counter::PlanCacheHits, 1);
            self.follow_digest(&mut plan.digest, text);
            let outcome = self.run_plan(&mut plan, &normalized.literals, more, sink);
            if outcome != cached::Outcome::Stale {
                return self.give_back(normalized.key(), plan);
            }
            self.drop_plan(normalized.key());
        }
        self.status.add(Counter::PlanCacheMisses, 1);
        let parsed = match parser::parse_first(normalized.sql(), self.variables.settings.sql_mode) {
            Ok((Some(parsed), _)) => parsed,
            Ok((None, _)) => {
                self.begin_statement();
                return self.fail(Error::empty_query(), sink);
            }
            Err(error) => {
                self.begin_statement();
                return self.fail(error, sink);
            }
        };
        self.begin_statement();
        let literals = &normalized.literals;
        match self.set_up(&parsed.statement, literals) {
            Ok(None) => {}
            Ok(Some(done)) => return self.finish(&done, more, sink),
            Err(error) => return self.fail(error, sink),
        }
        let mut plan = match self.plan_and_run(&parsed.statement, parsed.parameters, literals, more, sink) {
            Ok(Some(plan)) => plan,
            // Begins like a query, but is not planned.
            Ok(None) => {
                if let Err(error) = self.dispatch(&parsed.statement, more, sink) {
                    self.fail(error, sink);
                }
                return;
            }
            Err(error) => return self.fail(error, sink),
        };
        if plan.is_cacheable && normalized.key().len() <= PLAN_KEY_BYTES_MAX {
            self.follow_digest(&mut plan.digest, text);
            self.keep_plan(normalized.key(), plan);
        }
    }

    /// What the plans inside of programs belong to.
    fn programs_generation(&self) -> u64 {
        self.generation.get() + self.state.variables_generation.get()
    }

    /// Names mean something else from here on: plans of before are not used again.
    pub(super) fn change_names(&self) {
        self.generation.set(self.generation.get() + 1);
    }

    /// Runs one parsed statement; false if it failed.
    fn run_statement(&mut self, parsed: Parsed, text: &[u8], more: bool, sink: &mut dyn ResultSink) -> bool {
        if parsed.parameters > 0 {
            let near = String::from_utf8_lossy(text).into_owned();
            let at = near.find('?').unwrap_or(0);
            self.begin_statement();
            self.fail(Error::syntax(&near[at..], 1), sink);
            return false;
        }
        self.remember_source(text);
        self.measured(None, text, &[], |session| match session.dispatch(&parsed.statement, more, sink) {
            Ok(()) => true,
            Err(error) => {
                session.fail(error, sink);
                false
            }
        })
    }

    /// A statement begins that clears the warnings of the last one.
    fn begin_statement(&mut self) {
        self.warnings.begin(self.variables.settings.max_error_count);
        for warning in &self.hint_warnings {
            self.warnings.push(warning.clone().into_warning());
        }
        crate::expression::functions::restart_sequences();
        self.state.error_count.set(0);
        self.state.given_insert_id.set(None);
        self.state.in_transaction.set(self.has_transaction());
    }

    /// What `@@warning_count` and `@@error_count` tell the next statement.
    pub(super) fn remember_counts(&self) {
        let conditions = self.warnings.count();
        self.state.last_counts.set((conditions, self.state.error_count.get()));
    }

    /// Answers a statement that has no rows (any more).
    fn finish(&self, done: &Done, more: bool, sink: &mut dyn ResultSink) {
        self.finish_with(done, self.warning_count(), more, sink);
    }

    fn finish_with(&self, done: &Done, warnings: u16, more: bool, sink: &mut dyn ResultSink) {
        self.remember_counts();
        self.state.rows_affected.set(done.affected_rows);
        let mut status = self.status_flags();
        if self.state.uses.get().no_index {
            status |= flags::NO_INDEX_USED;
        }
        if more {
            status |= flags::MORE_RESULTS;
        }
        let changes = self.take_changes();
        if !changes.is_empty() {
            status |= flags::SESSION_STATE_CHANGED;
        }
        sink.ok(&OkSummary {
            affected_rows: done.affected_rows,
            last_insert_id: done.last_insert_id,
            status,
            warnings,
            info: &done.info,
            changes: &changes,
        });
    }

    /// Answers a command that has nothing to say but OK.
    pub fn answer_ok(&self, sink: &mut dyn ResultSink) {
        self.finish_with(&Done::default(), 0, false, sink);
    }

    /// What the client says beside the statement that follows: MYSQL_QUERY_ATTRIBUTE_STRING().
    pub fn set_query_attributes(&mut self, attributes: Vec<(String, Value)>) {
        self.state.query_attributes = attributes;
    }

    /// Answers a statement that failed.
    fn fail(&mut self, error: Error, sink: &mut dyn ResultSink) {
        if error.code == 0 {
            return; // It has been answered already.
        }
        let error = self.of_named(error);
        self.state.error_count.set(self.state.error_count.get() + 1);
        self.state.row_count.set(-1);
        if !self.warnings.ends_with(&error) {
            self.warnings.push_error(&error);
        }
        self.remember_counts();
        sink.error(&error);
        self.measure.failed(error);
    }

    fn view(&self) -> View<'_> {
        self.view_in(&self.surroundings())
    }

    fn view_in<'a>(&'a self, surroundings: &Surroundings<'a>) -> View<'a> {
        View {
            session: self,
            state: &self.state,
            variables: &self.variables,
            instance: &self.instance,
            process: &self.process,
            surroundings: *surroundings,
        }
    }

    /// Those of a statement that the client sends.
    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            rights: &self.rights,
            mode: self.variables.settings.sql_mode,
            database: self.state.database.as_deref(),
            literals: (self.variables.settings.statement_charset(), self.variables.settings.collation_connection),
            client: self.client_of_program.unwrap_or(self.variables.settings.character_set_client),
            is_inner: false,
        }
    }

    fn zone(&self) -> Zone {
        match self.variables.settings.time_zone {
            TimeZone::Zone(zone) => zone,
            TimeZone::System => self.variables.settings.system_zone,
        }
    }

    fn eval_context<'a>(&'a self, view: &'a View<'a>, parameters: &'a [Value]) -> EvalContext<'a> {
        let settings = &self.variables.settings;
        let (now_seconds, now_micros) = self.state.timestamp.get().unwrap_or_else(clock);
        EvalContext {
            parameters,
            session: view,
            subqueries: None,
            programs: None,
            lists: None,
            warnings: &self.warnings,
            mode: settings.sql_mode,
            strict_change: false,
            ignores: false,
            now_seconds,
            now_micros,
            zone: self.zone(),
            system_zone: settings.system_zone,
            connection: settings.collation_connection,
            utf8mb4: settings.utf8mb4_collation,
            client: collation(settings.statement_charset()).charset,
            div_precision_increment: settings.div_precision_increment,
            max_allowed_packet_bytes: settings.max_allowed_packet_bytes,
            group_concat_bytes_max: settings.group_concat_bytes_max,
            default_week_format: settings.default_week_format,
            locale: settings.lc_time_names,
        }
    }

    /// Makes a database the current one.
    pub fn init_db(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::no_database());
        }
        self.refresh_rights();
        if !self.rights.may_use(name) {
            return Err(self.rights.database_refused(name));
        }
        let known = crate::information_schema::is_virtual(name);
        let collation = match self.instance.engine.database(name) {
            Some(database) => database.collation,
            None if known => CollationId::UTF8MB3_GENERAL_CI,
            None => return Err(Error::unknown_database(name)),
        };
        self.state.database = Some(name.to_owned());
        self.process.set_database(Some(name));
        let collation = format::collation::collation(collation);
        self.variables.fill_in("collation_database", Value::Bytes(collation.name.into()));
        self.variables.fill_in("character_set_database", Value::Bytes(collation.charset.name().into()));
        self.status.show_variables(&self.variables);
        self.database_changed();
        self.forget_plans();
        Ok(())
    }

    /// COM_RESET_CONNECTION: as after login.
    pub fn reset(&mut self) {
        let _ = self.abandon();
        self.temporary.take();
        (self.backup_hold, self.backup_stage) = (None, None);
        self.release_tables();
        self.release_read_lock();
        self.instance.user_locks.release_all(self.process.id);
        let database = self.state.database.take();
        let (user, host) = (std::mem::take(&mut self.state.user), std::mem::take(&mut self.state.host));
        let variables_generation = self.state.variables_generation.take();
        self.state = State { database, user, host, variables_generation: variables_generation.into(), ..State::new() };
        self.variables = Versions::from(SessionVariables::new(&self.instance.variables));
        self.warnings.clear();
        self.retire_all();
        self.named.clear();
        self.next_transaction = transaction::Characteristics::default();
        self.forget_plans();
        self.activate_first_roles();
    }

    /// The columns of a table, for COM_FIELD_LIST.
    pub fn columns_of(&mut self, table: &str) -> Result<Vec<ColumnDefinition>> {
        self.check_not_creating()?;
        self.enter_statement(|| false)?;
        let text = format!("SELECT * FROM {} LIMIT 0", describe::quoted(table));
        let parsed = parser::parse_first(text.as_bytes(), SqlMode::default())?.0.ok_or_else(Error::empty_query)?;
        match self.plan(&parsed.statement, 0, &[])? {
            Some(plan) => Ok(plan.definitions.to_vec()),
            None => Ok(Vec::new()),
        }
    }
}

/// Whether something other than blanks, comments and semicolons follows.
fn has_statement(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        match rest {
            [b' ' | b'\t' | b'\n' | b'\r' | b';' | 0, tail @ ..] => rest = tail,
            [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n', ..] => match rest.iter().position(|byte| *byte == b'\n') {
                Some(end) => rest = &rest[end..],
                None => return false,
            },
            [b'/', b'*', next, ..] if *next != b'!' => match rest.windows(2).position(|two| two == b"*/") {
                Some(end) => rest = &rest[end + 2..],
                None => return false,
            },
            [] => return false,
            _ => return true,
        }
    }
}
