//! Definitions: CREATE, ALTER, DROP, RENAME, TRUNCATE and the maintenance of
//! tables.
//!
//! ```text
//! ast ---- column, index, options ----> schema definition ----> one atomic call of the engine
//! ```
//!
//! The modules here turn what was written into what storage is asked for, with
//! MySQL's checks and defaults. Each statement first locks the names that it is about
//! (`Engine::lock_definitions`), decides by what it finds under them, and ends in one call
//! that is atomic and commits by itself, also when a crash falls into it.
//!
//! Invariants:
//!
//! * The session has committed its transaction before [`run`] is called, unless [`commits`] says that it need not.
//! * What is accepted without having an effect says so in a warning.
//!
//! Not here: the rows of CREATE TABLE ... SELECT, which the session inserts between [`begin_table`] and the commit.

mod alter;
mod change;
mod check;
mod column;
mod computed;
mod copy;
mod create;
mod foreign_key;
mod fulltext;
mod histogram;
mod index;
mod maintain;
mod options;
mod partition;
mod sequence;
mod spatial;
mod stored_expression;
mod tablespace;
mod view;
mod way;
mod whole;

pub use create::{begin_table, check_with_rows};
use storage::{Relatives, TrxOptions};

use crate::accounts::Rights;
use crate::catalog::{self, database_of, storage_error};
use crate::error::{Error, Level, Result, Warning};
use crate::expression::EvalContext;
use crate::information_schema::{self, log_tables, table_io};
use crate::instance::Instance;
use crate::parser::ast::{AlterAction, DatabaseOptions, Maintenance, Statement, TableName};
use crate::show::Listing;
use crate::variables::Settings;

/// What a statement of definition needs to know.
pub struct Context<'a> {
    pub instance: &'a Instance,
    pub settings: &'a Settings,
    /// For defaults, and for values that ALTER converts.
    pub eval: &'a EvalContext<'a>,
    /// The current database.
    pub database: Option<&'a str>,
    pub rights: &'a Rights,
    /// How long to wait for the transactions that use a table, and what interrupts it.
    pub wait: TrxOptions,
}

/// What it answers.
#[derive(Default)]
pub struct Outcome {
    pub affected_rows: u64,
    pub info: String,
    /// For OPTIMIZE TABLE and its kin, which answer rows.
    pub listing: Option<Listing>,
}

impl Outcome {
    fn affected(affected_rows: u64) -> Result<Outcome> {
        Ok(Outcome { affected_rows, ..Outcome::default() })
    }

    fn nothing() -> Result<Outcome> {
        Ok(Outcome::default())
    }

    /// As ALTER TABLE says it.
    fn records(copied: u64, affected_rows: u64) -> Result<Outcome> {
        Ok(Outcome { affected_rows, info: format!("Records: {copied}  Duplicates: 0  Warnings: 0"), listing: None })
    }
}

/// Whether a statement is one of definition or maintenance, which [`run`] takes, and before which a transaction is
/// committed.
pub fn takes(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateDatabase { .. }
            | Statement::AlterDatabase { .. }
            | Statement::DropDatabase { .. }
            | Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::DropTables { .. }
            | Statement::RenameTables(_)
            | Statement::TruncateTable(_)
            | Statement::CreateIndex { .. }
            | Statement::DropIndex { .. }
            | Statement::CreateSequence(_)
            | Statement::AlterSequence(_)
            | Statement::DropSequences { .. }
            | Statement::CreateView(_)
            | Statement::DropViews { .. }
            | Statement::CreateRoutine(_)
            | Statement::AlterRoutine(_)
            | Statement::DropRoutine { .. }
            | Statement::CreateTrigger(_)
            | Statement::DropTrigger { .. }
            | Statement::CreateEvent(_)
            | Statement::AlterEvent(_)
            | Statement::DropEvent { .. }
            | Statement::Maintain { .. }
    )
}

/// Whether the session's transaction is committed before: not if only its own temporary tables come and go, nor if tables
/// are read.
pub fn commits(statement: &Statement) -> bool {
    match statement {
        Statement::CreateTable(create) => !create.temporary,
        Statement::CreateSequence(create) => !create.temporary,
        Statement::DropTables { temporary, .. } | Statement::DropSequences { temporary, .. } => !temporary,
        Statement::Maintain { action: Maintenance::Checksum, .. } => false,
        _ => true,
    }
}

/// What TRUNCATE TABLE forgets of a table of performance_schema, or of one with a log.
type Forget = fn(&Instance);

/// Statements by their kind are counted once, for all tables that show them.
const FORGET_EVENTS: Forget = |instance| instance.statements.forget_deeds(|deeds| deeds.events.clear());
const FORGET_ERRORS: Forget = |instance| instance.statements.forget_deeds(|deeds| deeds.errors.clear());
const FORGET_FILES: Forget = |instance| instance.engine.store().file_counts().clear();

const COUNTED: &[(&str, Forget)] = &[
    ("events_errors_summary_by_account_by_error", FORGET_ERRORS),
    ("events_errors_summary_by_host_by_error", FORGET_ERRORS),
    ("events_errors_summary_by_thread_by_error", FORGET_ERRORS),
    ("events_errors_summary_by_user_by_error", FORGET_ERRORS),
    ("events_errors_summary_global_by_error", FORGET_ERRORS),
    ("events_statements_summary_by_account_by_event_name", FORGET_EVENTS),
    ("events_statements_summary_by_host_by_event_name", FORGET_EVENTS),
    ("events_statements_summary_by_thread_by_event_name", FORGET_EVENTS),
    ("events_statements_summary_by_user_by_event_name", FORGET_EVENTS),
    ("events_statements_summary_global_by_event_name", FORGET_EVENTS),
    ("file_summary_by_event_name", FORGET_FILES),
    ("file_summary_by_instance", FORGET_FILES),
    ("table_io_waits_summary_by_index_usage", table_io::forget),
    ("table_io_waits_summary_by_table", table_io::forget),
    ("binary_log_transaction_compression_stats", |instance| {
        let status = &instance.status;
        status.log().map(|log| &**log).into_iter().chain([&status.relay_log]).for_each(binlog::Stats::clear);
    }),
    ("events_statements_current", |instance| instance.statements.forget_events(false)),
    ("events_statements_history", |instance| instance.statements.forget_events(true)),
    ("events_statements_summary_by_digest", |instance| instance.statements.forget()),
];

/// The logs of statements in the database mysql.
const LOGS: &[(&str, Forget)] =
    &[("general_log", log_tables::clear_general_log), ("slow_log", log_tables::clear_slow_log)];

fn counted(database: &str, name: &str) -> Option<Forget> {
    let tables = match &database.to_ascii_lowercase()[..] {
        "performance_schema" => COUNTED,
        "mysql" => LOGS,
        _ => return None,
    };
    tables.iter().find(|(counted, _)| counted.eq_ignore_ascii_case(name)).map(|(_, forget)| *forget)
}

/// Whether TRUNCATE TABLE makes a table of performance_schema count anew. It changes nothing of this server's data, so it
/// is not logged.
pub fn is_counted(database: &str, name: &str) -> bool {
    counted(database, name).is_some()
}

/// Runs one.
pub fn run(context: &Context<'_>, statement: &Statement) -> Result<Outcome> {
    match statement {
        Statement::CreateDatabase { name, or_replace: true, if_not_exists, options } => {
            replace_database(context, name, *if_not_exists, options)
        }
        Statement::CreateDatabase { name, if_not_exists, options, .. } => {
            create_database(context, name, *if_not_exists, options)
        }
        Statement::AlterDatabase { name, options } => alter_database(context, name.as_deref(), options),
        Statement::DropDatabase { name, if_exists } => drop_database(context, name, *if_exists),
        Statement::CreateTable(create) => create::create_table(context, create),
        Statement::AlterTable(alter) => alter::alter_table(context, alter),
        Statement::DropTables { tables, if_exists, temporary } => drop_tables(context, tables, *if_exists, *temporary),
        Statement::RenameTables(renames) => rename_tables(context, renames),
        Statement::TruncateTable(table) => {
            if let Some(forget) = counted(database_of(table, context.database)?, &table.name) {
                forget(context.instance);
                return Outcome::nothing();
            }
            let (database, name) = context.resolve(table)?;
            let table = context.existing(database, name)?;
            if crate::sequences::is_sequence(&table) {
                return Err(Error::not_of_sequences(database, name));
            }
            catalog::check_not_discarded(&table)?;
            match (table, &context.wait.temporary) {
                (table, Some(own)) if table.is_temporary() => own.truncate(database, name),
                _ => context.instance.engine.truncate_table(database, name, &context.wait),
            }
            .map_err(storage_error)?;
            Outcome::nothing()
        }
        Statement::CreateIndex { table, index, algorithm, lock } => {
            alter::alter_index(context, table, AlterAction::AddIndex(index.clone()), (algorithm, lock))
        }
        Statement::DropIndex { table, name, if_exists, algorithm, lock } => {
            alter::alter_index(context, table, alter::drop_index(name, *if_exists), (algorithm, lock))
        }
        Statement::CreateSequence(create) => sequence::create_sequence(context, create),
        Statement::AlterSequence(alter) => sequence::alter_sequence(context, alter),
        Statement::DropSequences { sequences, if_exists, temporary } => {
            sequence::drop_sequences(context, sequences, *if_exists, *temporary)
        }
        Statement::DropViews { views, if_exists } => view::drop_views(context, views, *if_exists),
        Statement::Maintain { histogram: Some(change), tables, .. } => histogram::change(context, tables, change),
        Statement::Maintain { action, tables, persistent, .. } => {
            maintain::maintain(context, *action, tables, persistent.as_ref())
        }
        _ => Err(Error::internal("not a statement of definition")),
    }
}

impl Context<'_> {
    /// Whether CREATE has nothing to do, because there is a table of the name: IF NOT EXISTS notes it, else it is an error.
    fn is_taken(&self, name: &str, is_there: bool, if_not_exists: bool) -> Result<bool> {
        let error = Error::table_exists(name);
        match (is_there, if_not_exists) {
            (false, _) => Ok(false),
            (true, true) => {
                self.note(error.code, error.message);
                Ok(true)
            }
            (true, false) => Err(error),
        }
    }

    fn note(&self, code: u16, message: impl Into<String>) {
        self.eval.warnings.note(code, message);
    }

    fn warn(&self, code: u16, message: impl Into<String>) {
        self.eval.warnings.push(Warning { level: Level::Warning, code, message: message.into() });
    }

    fn warn_of_old_unicode(&self, charset: Option<&str>, collation: Option<&str>) {
        for error in Error::old_unicode(charset, collation) {
            self.eval.warnings.push(error.into_warning());
        }
    }

    /// Database and name of a table that may be changed.
    fn resolve<'n>(&'n self, name: &'n TableName) -> Result<(&'n str, &'n str)> {
        let database = database_of(name, self.database)?;
        if information_schema::is_virtual_table(self.instance, self.rights, database, &name.name) {
            return Err(self.rights.database_refused(database));
        }
        Ok((database, &name.name))
    }

    /// The server's own databases are nobody's to change.
    fn writable(&self, database: &str) -> Result<()> {
        if information_schema::is_virtual(database) {
            return Err(self.rights.database_refused(database));
        }
        Ok(())
    }

    fn existing(&self, database: &str, name: &str) -> Result<std::sync::Arc<storage::Table>> {
        view::check_none(self, database, name)?;
        match self.wait.temporary_table(database, name).or_else(|| self.instance.engine.table(database, name)) {
            Some(table) => Ok(table),
            None if self.instance.engine.database(database).is_none() => Err(Error::unknown_database(database)),
            None => Err(Error::no_such_table(database, name)),
        }
    }

    /// Something to drop is not there.
    fn missing(&self, name: &str, if_exists: bool) -> Result<()> {
        let error = Error::unknown_table(name);
        if !if_exists {
            return Err(error);
        }
        self.note(error.code, error.message);
        Ok(())
    }
}

/// Identifiers of databases, tables, columns and indexes: 64 characters, not empty, no blank at the end.
fn check_name(name: &str, wrong: fn(&str) -> Error) -> Result<()> {
    if name.chars().count() > 64 {
        return Err(Error::identifier_too_long(name));
    }
    // Names are kept in the characters of the Basic Multilingual Plane.
    if name.chars().any(|character| character > '\u{ffff}') {
        return Err(Error::invalid_character_in_name(name));
    }
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(wrong(name));
    }
    Ok(())
}

/// The name of a database, table or view. A name is also that of a file, in which a character beyond letters and digits
/// takes five bytes or ten; so not every name of 64 characters has a file.
pub fn check_file_name(name: &str, wrong: fn(&str) -> Error) -> Result<()> {
    check_name(name, wrong)?;
    match storage::names_a_file(name) {
        true => Ok(()),
        false => Err(Error::file_name_too_long(name)),
    }
}

/// The names of InnoDB's own columns and of its index without a key are taken.
fn check_not_reserved(name: &str, wrong: fn(&str) -> Error) -> Result<()> {
    let reserved = ["DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR", "GEN_CLUST_INDEX"];
    match reserved.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        true => Err(wrong(name)),
        false => Ok(()),
    }
}

fn create_database(
    context: &Context<'_>,
    name: &str,
    if_not_exists: bool,
    options: &DatabaseOptions,
) -> Result<Outcome> {
    check_file_name(name, Error::wrong_database_name)?;
    let collation = database_collation(context, options, context.settings.collation_server)?;
    let exists = context.instance.engine.database(name).is_some()
        || information_schema::is_virtual(name) && !context.rights.is_internal();
    if exists {
        let error = Error::database_exists(name);
        if !if_not_exists {
            return Err(error);
        }
        context.note(error.code, error.message);
        return Outcome::affected(1);
    }
    match context.instance.engine.create_database(name, collation, &context.wait) {
        Ok(()) => {}
        // Another session was faster.
        Err(storage::Error::Exists(_)) if if_not_exists => {
            let error = Error::database_exists(name);
            context.note(error.code, error.message);
        }
        Err(storage::Error::Exists(_)) => return Err(Error::database_exists(name)),
        Err(other) => return Err(storage_error(other)),
    }
    Outcome::affected(1)
}

/// CREATE OR REPLACE DATABASE: one that is there is dropped with all that is in it, and nothing of it is in the new one.
fn replace_database(
    context: &Context<'_>,
    name: &str,
    if_not_exists: bool,
    options: &DatabaseOptions,
) -> Result<Outcome> {
    if if_not_exists {
        return Err(Error::new(1221, b"HY000", "Incorrect usage of OR REPLACE and IF NOT EXISTS"));
    }
    check_file_name(name, Error::wrong_database_name)?;
    database_collation(context, options, context.settings.collation_server)?;
    if context.instance.engine.database(name).is_some() {
        context.writable(name)?;
        // The statement is logged once, with what is made.
        let wait = TrxOptions { log: None, ..context.wait.clone() };
        match context.instance.engine.drop_database(name, &wait) {
            Ok(_) | Err(storage::Error::NotFound(_)) => {}
            Err(other) => return Err(storage_error(other)),
        }
    }
    create_database(context, name, false, options)
}

fn database_collation(
    context: &Context<'_>,
    options: &DatabaseOptions,
    otherwise: format::collation::CollationId,
) -> Result<format::collation::CollationId> {
    if options.encryption.as_deref().is_some_and(|word| word.eq_ignore_ascii_case("y")) {
        return Err(Error::unsupported("ENCRYPTION='Y'"));
    }
    if options.comment.is_some() {
        context.warn(1618, "<COMMENT> option ignored");
    }
    let (charset, name) = (options.charset.as_deref(), options.collation.as_deref());
    context.warn_of_old_unicode(charset, name);
    crate::column_types::collation_of(charset, name, otherwise, context.eval.utf8mb4)
}

fn alter_database(context: &Context<'_>, name: Option<&str>, options: &DatabaseOptions) -> Result<Outcome> {
    let name = name.or(context.database).ok_or_else(Error::no_database)?;
    context.writable(name)?;
    let database = context.instance.engine.database(name).ok_or_else(|| Error::unknown_database(name))?;
    // Nothing of it depends on what it was: with nothing said it stays.
    let says = options.charset.is_some() || options.collation.is_some();
    let collation = database_collation(context, options, database.collation)?;
    let collation = says.then_some(collation);
    context.instance.engine.alter_database(name, collation, options.read_only, &context.wait).map_err(storage_error)?;
    Outcome::affected(1)
}

fn drop_database(context: &Context<'_>, name: &str, if_exists: bool) -> Result<Outcome> {
    context.writable(name)?;
    if context.instance.engine.database(name).is_none() {
        let error = Error::no_database_to_drop(name);
        if !if_exists {
            return Err(error);
        }
        context.note(error.code, error.message);
        return Outcome::nothing();
    }
    match context.instance.engine.drop_database(name, &context.wait) {
        Ok(tables) => Outcome::affected(tables),
        // Another session was faster.
        Err(storage::Error::NotFound(_)) => {
            let error = Error::no_database_to_drop(name);
            if !if_exists {
                return Err(error);
            }
            context.note(error.code, error.message);
            Outcome::nothing()
        }
        Err(other) => Err(storage_error(other)),
    }
}

/// All or none, as in MySQL 8.0. The session's own tables come before others of their names; with `temporary`, there are
/// no others.
fn drop_tables(context: &Context<'_>, tables: &[TableName], if_exists: bool, temporary: bool) -> Result<Outcome> {
    let mut own: Vec<(&str, &str)> = Vec::new();
    let mut others: Vec<(&str, &str)> = Vec::new();
    let mut absent = Vec::new();
    for table in tables {
        let (database, name) = context.resolve(table)?;
        if others.contains(&(database, name)) || own.contains(&(database, name)) {
            return Err(Error::not_unique_table(name));
        }
        match context.wait.temporary_table(database, name) {
            Some(_) => own.push((database, name)),
            None if temporary => absent.push(format!("{database}.{name}")),
            None => others.push((database, name)),
        }
    }
    // A name that means nothing is not locked: there may be any number of such names.
    let engine = &context.instance.engine;
    let (mut present, gone): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|(database, name)| engine.table(database, name).is_some());
    absent.extend(gone.iter().map(|(database, name)| format!("{database}.{name}")));
    let locked = match present.is_empty() || (!absent.is_empty() && !if_exists) {
        true => None,
        false => Some(engine.lock_definitions(&present, Relatives::Alone, &context.wait).map_err(storage_error)?),
    };
    if let Some(locked) = &locked {
        present.retain(|(database, name)| {
            let is_there = !matches!(locked.table(database, name), Err(storage::Error::NotFound(_)));
            if !is_there {
                absent.push(format!("{database}.{name}"));
            }
            is_there
        });
    }
    if !absent.is_empty() {
        context.missing(&absent.join(","), if_exists)?;
    }
    if let Some(locked) = locked {
        locked.drop_tables(&present).map_err(storage_error)?;
    }
    for (database, name) in own {
        let Some(tables) = &context.wait.temporary else { break };
        tables.drop_table(database, name).map_err(storage_error)?;
    }
    Outcome::nothing()
}

fn rename_tables(context: &Context<'_>, renames: &[(TableName, TableName)]) -> Result<Outcome> {
    let mut pairs = Vec::new();
    for (from, to) in renames {
        let (from, to) = (context.resolve(from)?, context.resolve(to)?);
        check_file_name(to.1, Error::wrong_table_name)?;
        if context.instance.engine.database(to.0).is_none() {
            return Err(Error::unknown_database(to.0));
        }
        pairs.push((from, to));
    }
    context.instance.engine.rename_tables(&pairs, &context.wait).map_err(|error| match error {
        storage::Error::Exists(name) => Error::table_exists(bare(&name)),
        storage::Error::NotFound(name) => {
            let (database, table) = name.split_once(['.', '/']).unwrap_or(("", &name));
            Error::no_such_table(database, table)
        }
        other => storage_error(other),
    })?;
    Outcome::nothing()
}

/// The table's name of `database.table`.
fn bare(name: &str) -> &str {
    name.rsplit(['.', '/']).next().unwrap_or(name)
}
