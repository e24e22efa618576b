//! Tables that are created together with their rows, in one transaction of the binary log.
//!
//! ```text
//!   CREATE TABLE ... SELECT              CREATE TABLE ... START TRANSACTION    from a log: a replica, or its text
//!     table without a name                 table without a name
//!     rows of the query                    BINLOG, or rows events
//!     commit                               COMMIT
//!
//!   in the log: Gtid, BEGIN, CREATE TABLE ... START TRANSACTION, Table_map, Write_rows ..., Xid
//! ```
//!
//! The session's transaction inserts the rows, those of a query in bulk where no row has to be looked for. The commit of the
//! dictionary that gives the table its name has all events as its annex, so there is the whole table and its entry in the log,
//! or neither (`storage::UnfinishedTable`). Other sessions find the whole table or none.
//!
//! The log has START TRANSACTION in a comment for MySQL 8.0.21 and later. MariaDB and older servers, which do not have the
//! words, pass over it: there the statement is a transaction by itself, and the rows follow.
//!
//! Tests: `sql/tests/scripts/binary_log_create_select.test`, `sql/tests/sessions/create_select.test`, and with kills and
//! replicas `bench/tests/create_select.rs`.

use std::cell::RefCell;

use format::collation::collation;
use format::value::Value;
use storage::schema::same_name;
use storage::{
    DefinitionKind, LockedTables, ReadMode, Relatives, Table, TemporaryTables, Trx, TrxOptions, UnfinishedTable,
};

use super::define::definition_counter;
use super::{Done, Session, Surroundings, cached, set};
use crate::catalog::{OrSqlError, database_of, storage_error};
use crate::ddl;
use crate::describe;
use crate::error::{Error, Result};
use crate::expression::EvalContext;
use crate::instance::Instance;
use crate::parser;
use crate::parser::ast::{CreateTable, Insert, InsertSource, OptionValue, Query, Statement, TableName, TableOption};
use crate::planner;
use crate::result::ResultSink;
use crate::row_log::StatementFacts;
use crate::status::Counter;
use crate::types::{SqlMode, TypeInfo};
use crate::variables::Settings;

/// The name of a temporary table while it is filled from a query.
const WHILE_SELECTED: &str = "#sql-select";

/// Behind the definition in the log.
const ROWS_FOLLOW: &str = " /*!80021 START TRANSACTION */";

impl Session {
    /// Whether rows events follow the statement, and COMMIT. A source that creates a table within a transaction fills it
    /// there, also if it does not say so: MariaDB.
    pub(super) fn starts_transaction(&self, create: &CreateTable) -> bool {
        let by_source = || self.applying.is_some() && self.explicit && !create.temporary;
        create.start_transaction || (create.query.is_none() && create.like.is_none() && by_source())
    }

    /// An error unless the statement may come between CREATE TABLE ... START TRANSACTION and COMMIT.
    #[inline]
    pub(super) fn check_not_creating(&self) -> Result<()> {
        if self.creating.is_some() { Err(Error::only_rows_follow()) } else { Ok(()) }
    }

    /// Whether the open transaction creates a table.
    pub fn is_creating(&self) -> bool {
        self.creating.is_some()
    }

    /// CREATE TABLE ... START TRANSACTION.
    pub(super) fn start_creation(&mut self, create: &CreateTable, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        ddl::check_with_rows(create)?;
        self.check_writable()?;
        self.count_update()?;
        self.status.add(Counter::ComCreateTable, 1);
        self.check_no_branch()?;
        if !self.passes_over()? {
            if self.trx.as_ref().is_some_and(Trx::has_changes) {
                self.check_implicit_commit()?;
                self.commit()?;
            }
            self.check_locked_tables(&Statement::CreateTable(Box::new(create.clone())))?;
            let entered = self.enter_change()?;
            let started = self.create_for_events(create);
            self.leave_change(entered);
            if let Err(error) = started {
                self.rollback()?;
                return Err(error);
            }
        }
        self.finish(&Done::default(), more, sink);
        Ok(())
    }

    fn create_for_events(&mut self, create: &CreateTable) -> Result<()> {
        let (instance, wait) = (self.instance.clone(), self.creation_options()?);
        let Some(locked) = self.lock_new_table(&instance, &wait, create)? else { return Ok(()) };
        self.open_creation();
        self.begin_table(create, locked)
    }

    fn creation_options(&self) -> Result<TrxOptions> {
        let options = TrxOptions { place: None, ..self.trx_options() };
        if options.read_only { Err(Error::read_only_transaction()) } else { Ok(options) }
    }

    /// Locks the name of a new table; `None` = there is such a table already, and that is all right.
    fn lock_new_table<'e>(
        &self,
        instance: &'e Instance,
        wait: &'e TrxOptions,
        create: &CreateTable,
    ) -> Result<Option<LockedTables<'e>>> {
        let database = database_of(&create.table, self.state.database.as_deref())?;
        let (engine, name) = (&instance.engine, create.table.name.as_str());
        if engine.database(database).is_none() {
            return Err(Error::unknown_database(database));
        }
        // What is there now is answered at once.
        let mut locked = None;
        let is_there =
            engine.table(database, name).is_some() || engine.definition(DefinitionKind::View, database, name).is_some();
        let mut is_taken = is_there && !create.or_replace;
        if !is_taken {
            let names = engine.lock_definitions(&[(database, name)], Relatives::Along, wait).or_sql()?;
            is_taken = names.find(database, name).is_some() && !create.or_replace;
            locked = Some(names);
        }
        match is_taken {
            false => Ok(locked),
            true => {
                let error = Error::table_exists(name);
                if !create.if_not_exists {
                    return Err(error);
                }
                self.warnings.note(error.code, error.message);
                Ok(None)
            }
        }
    }

    /// The transaction that inserts the rows begins.
    fn open_creation(&mut self) {
        drop(self.trx.take());
        self.savepoints.clear();
        self.reset_row_log();
        self.trx = Some(self.instance.engine.begin(TrxOptions { place: None, ..self.trx_options() }));
        self.explicit = true;
    }

    /// The session's transaction creates a table.
    fn begin_table(&mut self, create: &CreateTable, locked: LockedTables<'_>) -> Result<()> {
        let wait = self.trx_options();
        let unfinished = self.in_definition(wait, |context| ddl::begin_table(context, create, locked))?;
        let table = unfinished.table().clone();
        if let Some(trx) = &mut self.trx {
            trx.set_unfinished_table(&table);
        }
        self.creating = Some(Box::new(unfinished));
        self.forget_plans();
        self.log_creation(&table, create)
    }

    /// Logs the statement that creates a table whose rows follow. It is logged where they are: by the table's database, which
    /// is also the one that the statement's event names.
    fn log_creation(&mut self, table: &Table, create: &CreateTable) -> Result<()> {
        let logs = self.own_log().is_some_and(|log| log.logs(Some(&table.database)));
        let Some(home) = self.instance.engine.database(&table.database).filter(|_| logs) else { return Ok(()) };
        // Options may give columns that do not say their collation another one.
        let usual = Some(home.collation).filter(|_| create.options.is_empty());
        let options: String = create.options.iter().map(|option| format!(" {}", option_text(option))).collect();
        let name = describe::quoted(&table.name).to_string();
        let mut text = describe::create_table_with(table, &name, usual, &options, self.zone()) + ROWS_FOLLOW;
        if let Some(partitioning) = &table.partitioning {
            text.push_str(&crate::partitions::print::shown(&partitioning.rule));
        }
        if create.or_replace {
            text.insert_str("CREATE".len(), " OR REPLACE");
        }
        self.begin_row_log();
        let Some(mut rows) = self.row_log.take() else { return Ok(()) };
        let own = self.statement_facts();
        let facts = StatementFacts {
            database: Some(&table.database),
            database_collation: home.collation,
            // The server has written the text's literals.
            sql_mode: own.sql_mode & !SqlMode::NO_BACKSLASH_ESCAPES.0,
            ..own
        };
        let defined = rows.get_mut().define(&facts, text.as_bytes());
        self.row_log = Some(rows);
        self.end_row_log(defined)
    }

    /// The transaction that creates a table commits.
    pub(super) fn commit_table(&mut self, table: UnfinishedTable, trx: Trx) -> storage::Result<()> {
        // No name leads to the rows yet. If the rest fails the table goes with them.
        if let Err(error) = trx.commit() {
            self.reset_row_log();
            return Err(error);
        }
        let note = self.note();
        let committed = match self.row_log.as_mut().map(RefCell::get_mut).filter(|rows| !rows.is_empty()) {
            Some(rows) => rows.commit_table(table, note),
            None => match self.left_out_log() {
                Ok(Some(log)) => table.finish(Some(&log)).map(drop),
                Ok(None) => table.finish(None).map(drop),
                Err(error) => Err(error),
            },
        };
        self.forget_plans();
        committed?;
        match self.own_log() {
            Some(_) => self.acknowledge(),
            None => Ok(()),
        }
    }

    /// CREATE TABLE ... SELECT. The session's transaction has been committed.
    pub(super) fn create_from(
        &mut self,
        create: &CreateTable,
        query: &Query,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        ddl::check_with_rows(create)?;
        let database = database_of(&create.table, self.state.database.as_deref())?;
        if self.temporary.get().is_some_and(|own| own.table(database, &create.table.name).is_some()) {
            return Err(Error::unsupported("CREATE TABLE ... SELECT beside a temporary table of this name"));
        }
        if create.or_replace {
            self.check_not_read(create, query)?;
        }
        let (instance, wait) = (self.instance.clone(), self.creation_options()?);
        let Some(locked) = self.lock_new_table(&instance, &wait, create)? else {
            self.end_named(true)?;
            self.finish(&Done::default(), more, sink);
            return Ok(());
        };
        self.open_creation();
        let created = self.fill(create, query, locked, sink).and_then(|done| self.commit().map(|()| done));
        match created {
            Ok(done) => {
                self.finish(&done, more, sink);
                Ok(())
            }
            Err(error) => {
                // What failed may have ended the transaction, and the commit has.
                let _ = self.rollback();
                Err(error)
            }
        }
    }

    /// An error if a query reads the table that it is to replace, whose name is locked alone while the query runs.
    fn check_not_read(&mut self, create: &CreateTable, query: &Query) -> Result<()> {
        let plan = self.plan_given(&Statement::Query(Box::new(query.clone())))?;
        let (database, name) = (database_of(&create.table, self.state.database.as_deref())?, &*create.table.name);
        let mut tables = plan.iter().flat_map(|plan| &plan.tables);
        match tables.any(|(table, _)| &*table.database == database && &*table.name == name) {
            true => Err(Error::target_is_read(name)),
            false => Ok(()),
        }
    }

    /// Creates the table of a query in the session's transaction, and inserts the query's rows.
    fn fill(
        &mut self,
        create: &CreateTable,
        query: &Query,
        locked: LockedTables<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done> {
        let (made, columns) = self.with_columns_of(create, query)?;
        // The query is planned again.
        self.warnings.clear();
        self.begin_table(&made, locked)?;
        let insert = insert_into(create, create.table.clone(), columns, query);
        let Some(plan) = self.plan_given(&insert)? else { return Err(Error::internal("no plan")) };
        self.warn_of_plan(&plan.warnings);
        self.begin_row_log();
        let given = self.given.clone();
        self.limited_in_time(0, |session| {
            session.in_statement(|session, trx| session.run_in(trx, &session.surroundings(), &plan, &given, sink))
        })
    }

    /// The definition of a table with a query's columns beside its own, which come first unless the query has their name;
    /// and the names of the query's columns.
    fn with_columns_of(&mut self, create: &CreateTable, query: &Query) -> Result<(CreateTable, Vec<String>)> {
        let database = database_of(&create.table, self.state.database.as_deref())?.to_owned();
        let wanted = Statement::Query(Box::new(query.clone()));
        let Some(plan) = self.plan_given(&wanted)? else { return Err(Error::internal("no plan")) };
        self.with_columns(create, &database, &plan)
    }

    /// The same for the plan of the query, and a table of this database.
    fn with_columns(
        &self,
        create: &CreateTable,
        database: &str,
        plan: &cached::CachedPlan,
    ) -> Result<(CreateTable, Vec<String>)> {
        let home = self.instance.engine.database(database).ok_or_else(|| Error::unknown_database(database))?;
        let cached::Plan::Query { plan, .. } = &plan.plan else { return Err(Error::internal("no query")) };
        let columns: Vec<String> = plan
            .columns()
            .iter()
            .zip(plan.table_types())
            .map(|(column, column_type)| {
                let made = planner::made::column(&column.name, column, column_type);
                // The database's defaults need not be repeated, unless the table may have others.
                describe::column_line(&made, create.options.is_empty().then_some(home.collation), self.zone())
            })
            .collect();
        let text = format!("CREATE TABLE t ({})", columns.join(", "));
        let parsed = parser::parse_first(text.as_bytes(), SqlMode::default())?.0.ok_or_else(Error::empty_query)?;
        let Statement::CreateTable(selected) = parsed.statement else { return Err(Error::internal("no table")) };
        let mut selected = selected.columns;
        selected.iter_mut().for_each(|column| column.ty.made = true);
        let names: Vec<String> = selected.iter().map(|column| column.name.clone()).collect();
        let own = |name: &str| create.columns.iter().find(|own| same_name(&own.name, name)).cloned();
        let is_selected = |name: &str| names.iter().any(|selected| same_name(selected, name));
        let mut columns: Vec<_> = create.columns.iter().filter(|own| !is_selected(&own.name)).cloned().collect();
        columns.extend(selected.into_iter().map(|column| own(&column.name).unwrap_or(column)));
        let made = CreateTable { query: None, if_not_exists: false, columns, ..create.clone() };
        Ok((made, names))
    }

    /// CREATE TEMPORARY TABLE ... SELECT.
    pub(super) fn create_temporary_from(
        &mut self,
        create: &CreateTable,
        query: &Query,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        ddl::check_with_rows(create)?;
        let database = database_of(&create.table, self.state.database.as_deref())?.to_string();
        let database = database.as_str();
        let name = &create.table.name;
        let is_taken = self.temporary.get().is_some_and(|own| own.table(database, name).is_some());
        if is_taken && !create.or_replace {
            let error = Error::table_exists(name);
            if !create.if_not_exists {
                return Err(error);
            }
            self.warnings.note(error.code, error.message);
            self.finish(&Done::default(), more, sink);
            return Ok(());
        }
        let (made, columns) = self.with_columns_of(create, query)?;
        // The query may read the table that this one will hide: so it gets its name at the end.
        let table = TableName { database: Some(database.to_string()), name: WHILE_SELECTED.to_string() };
        let made = CreateTable { table: table.clone(), ..made };
        let mut kept = set::Kept { rows: Vec::new(), error: None };
        self.define(&Statement::CreateTable(Box::new(made)), false, &mut kept)?;
        let insert = insert_into(create, table, columns, query);
        // In a transaction that goes on ROLLBACK takes the rows back.
        let in_bulk = !self.in_transaction();
        if let Some(own) = self.temporary.get().filter(|_| in_bulk) {
            own.set_unfinished(own.table(database, WHILE_SELECTED));
        }
        self.to_be_named = Some(name.as_str().into());
        let result = self.run_given(&insert, more, sink);
        self.to_be_named = None;
        if let Some(own) = self.temporary.get() {
            own.set_unfinished(None);
        }
        let failed = result.is_err() || self.state.error_count.get() > 0;
        if let Some(own) = self.temporary.get() {
            match failed {
                false => give_name(own, database, WHILE_SELECTED, name)?,
                true => drop(own.drop_table(database, WHILE_SELECTED)),
            }
        }
        self.forget_plans();
        result
    }

    /// An error of a statement that fills a temporary table, which tells the name that this is to have.
    pub(super) fn of_named(&self, error: Error) -> Error {
        match &self.to_be_named {
            Some(name) => under_name(error, WHILE_SELECTED, name),
            None => error,
        }
    }
}

/// An error that tells the name which a statement has given its table, and not the one that the table had meanwhile.
fn under_name(error: Error, meanwhile: &str, name: &str) -> Error {
    Error { message: error.message.replace(meanwhile, name), ..error }
}

impl Session {
    /// CREATE TEMPORARY TABLE and DROP TEMPORARY TABLE in a stored function or trigger: nothing is committed. `values` are
    /// the local variables that the statement reads.
    pub(super) fn define_inside(
        &self,
        trx: &RefCell<Trx>,
        surroundings: &Surroundings<'_>,
        statement: &Statement,
        (values, types): (&[Value], &[TypeInfo]),
    ) -> Result<()> {
        self.check_branch_active()?;
        self.count_update()?;
        if let Some(counter) = definition_counter(statement) {
            self.status.add(counter, 1);
        }
        if self.only_reads() || trx.borrow().is_read_only() {
            return Err(Error::read_only_transaction());
        }
        trx.borrow_mut().set_temporary_tables(self.temporary_tables());
        self.state.row_count.set(0);
        match statement {
            Statement::CreateTable(create) => {
                self.check_create_temporary(surroundings, create)?;
                if create.or_replace {
                    self.check_unused(surroundings, &create.table)?;
                }
                match &create.query {
                    Some(query) => self.create_inside(trx, surroundings, create, query, (values, types)),
                    None => self.define_temporary(surroundings, statement),
                }
            }
            Statement::DropTables { tables, .. } => {
                tables.iter().try_for_each(|table| self.check_unused(surroundings, table))?;
                self.define_temporary(surroundings, statement)
            }
            _ => Err(Error::commit_in_function()),
        }
    }

    /// An error if a statement that runs uses a temporary table which is to be dropped.
    fn check_unused(&self, surroundings: &Surroundings<'_>, table: &TableName) -> Result<()> {
        let database = database_of(table, surroundings.database)?;
        let own = self.temporary.get().and_then(|own| own.table(database, &table.name));
        match own.is_some_and(|own| self.programs.is_used(&own)) {
            true => Err(Error::cannot_reopen_table(&table.name)),
            false => Ok(()),
        }
    }

    /// Runs a statement that is about temporary tables alone.
    fn define_temporary(&self, surroundings: &Surroundings<'_>, statement: &Statement) -> Result<()> {
        let view = self.view_in(surroundings);
        let (client, connection) = surroundings.literals;
        let client = collation(client).charset;
        let eval = EvalContext { mode: surroundings.mode, client, connection, ..self.eval_context(&view, &[]) };
        let settings = Settings { sql_mode: surroundings.mode, ..self.variables.settings.clone() };
        let context = ddl::Context {
            instance: &self.instance,
            settings: &settings,
            eval: &eval,
            database: surroundings.database,
            rights: surroundings.rights,
            wait: self.trx_options(),
        };
        let result = ddl::run(&context, statement);
        self.change_names();
        result.map(drop)
    }

    fn create_inside(
        &self,
        trx: &RefCell<Trx>,
        surroundings: &Surroundings<'_>,
        create: &CreateTable,
        query: &Query,
        (values, types): (&[Value], &[TypeInfo]),
    ) -> Result<()> {
        ddl::check_with_rows(create)?;
        let database = database_of(&create.table, surroundings.database)?;
        let name = &create.table.name;
        let own = self.temporary_tables();
        if own.table(database, name).is_some() && !create.or_replace {
            let error = Error::table_exists(name);
            if !create.if_not_exists {
                return Err(error);
            }
            self.warnings.note(error.code, error.message);
            return Ok(());
        }
        // The query is planned again.
        let known = self.warnings.conditions();
        let wanted = Statement::Query(Box::new(query.clone()));
        let planned = self.plan_in(trx, surroundings, &wanted, values.len(), values, types, ReadMode::Consistent)?;
        let plan = planned.ok_or_else(|| Error::internal("no plan"))?;
        let (made, columns) = self.with_columns(create, database, &plan)?;
        drop(plan);
        self.warnings.replace(known);
        // A function in the query may create a table in the same way.
        let unnamed = format!("{WHILE_SELECTED}-{}", self.programs.depth());
        let table = TableName { database: Some(database.to_owned()), name: unnamed.clone() };
        let made = CreateTable { table: table.clone(), or_replace: false, ..made };
        self.define_temporary(surroundings, &Statement::CreateTable(Box::new(made)))?;
        let insert = insert_into(create, table, columns, query);
        let result = self.run_inside(trx, surroundings, &mut None, &insert, values, types, ReadMode::Source);
        let result = match result {
            Ok(()) => give_name(&own, database, &unnamed, name),
            Err(error) => {
                let _ = own.drop_table(database, &unnamed);
                Err(under_name(error, &unnamed, name))
            }
        };
        self.change_names();
        result
    }
}

/// Gives a temporary table that has been filled its name, which another one may have until now.
fn give_name(own: &TemporaryTables, database: &str, unnamed: &str, name: &str) -> Result<()> {
    if own.table(database, name).is_some() {
        own.drop_table(database, name).map_err(storage_error)?;
    }
    own.rename((database, unnamed), name).map(drop).map_err(storage_error)
}

/// The statement that inserts a query's rows into the table that is created from it.
fn insert_into(create: &CreateTable, table: TableName, columns: Vec<String>, query: &Query) -> Statement {
    Statement::Insert(Box::new(Insert {
        hints: Vec::new(),
        partitions: Vec::new(),
        replace: create.replace,
        ignore: create.ignore,
        table,
        columns,
        source: InsertSource::Query(Box::new(query.clone())),
        row_alias: None,
        returning: Vec::new(),
        on_duplicate: Vec::new(),
    }))
}

/// A table's option as a statement has it.
fn option_text(option: &TableOption) -> String {
    let value = match &option.value {
        OptionValue::Default => "DEFAULT".to_owned(),
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Word(word) => word.clone(),
        OptionValue::Text(text) => describe::literal(text),
    };
    format!("{}={value}", option.name)
}
