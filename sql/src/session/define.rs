//! Statements of definition and maintenance, and CREATE TABLE ... SELECT.

use std::sync::Arc;

use storage::TableUse;

use super::{Done, Session, plan, set};
use crate::catalog::{OrSqlError, database_of, storage_error};
use crate::ddl;
use crate::describe;
use crate::error::{Error, Result};
use crate::parser;
use crate::parser::ast::{CreateTable, Insert, InsertSource, OptionValue, Query, Statement, TableName, TableOption};
use crate::result::ResultSink;
use crate::status::Counter;
use crate::types::SqlMode;

/// The name of a temporary table while it is filled from a query.
const WHILE_SELECTED: &str = "#sql-select";

impl Session {
    /// Whether a statement is a TRUNCATE TABLE of counters, which a server that is read only takes, too.
    fn only_counts_anew(&self, statement: &Statement) -> bool {
        let Statement::TruncateTable(table) = statement else { return false };
        database_of(table, self.state.database.as_deref()).is_ok_and(|database| ddl::is_counted(database, &table.name))
    }

    /// Statements of definition and maintenance: they commit first, and by themselves.
    pub(super) fn define(&mut self, statement: &Statement, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let commits = ddl::commits(statement);
        if commits && !matches!(statement, Statement::Maintain { .. }) && !self.only_counts_anew(statement) {
            self.check_writable()?;
        }
        self.count_update()?;
        if let Some(counter) = definition_counter(statement) {
            self.status.add(counter, 1);
        }
        match commits {
            true => {
                self.check_implicit_commit()?;
                if self.passes_over()? {
                    self.end_named(false)?;
                    self.finish(&Done::default(), more, sink);
                    return Ok(());
                }
                self.check_locked_tables(statement)?;
                self.commit()?;
            }
            false if self.only_reads() => return Err(Error::read_only_transaction()),
            false => self.use_temporary_tables(),
        }
        let entered = commits && self.enter_change()?;
        let result = match statement {
            Statement::CreateTable(create) if let Some(query) = &create.query => {
                let created = self.create_table_from(create, query, more, sink);
                self.filling = None;
                created
            }
            statement => self.define_now(statement, commits, more, sink),
        };
        self.leave_change(entered);
        if commits && result.is_err() {
            self.end_named(false)?;
        }
        result
    }

    fn define_now(
        &mut self,
        statement: &Statement,
        commits: bool,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let mut wait = self.trx_options();
        if wait.read_only && commits {
            return Err(Error::read_only_transaction());
        }
        if commits && let Some(log) = self.definition_log(statement)? {
            wait.log = Some(log);
        }
        let outcome = self.limited_in_time(false, |session| {
            let view = session.view();
            let eval = session.eval_context(&view, &[]);
            let context = ddl::Context {
                instance: &session.instance,
                settings: &session.variables.settings,
                eval: &eval,
                database: session.state.database.as_deref(),
                rights: &session.rights,
                wait,
            };
            ddl::run(&context, statement)
        });
        self.forget_plans();
        let outcome = outcome?;
        self.write_log()?;
        if commits {
            self.end_named(true)?;
        }
        if let Statement::DropDatabase { name, .. } = statement
            && self.state.database.as_deref() == Some(name.as_str())
        {
            self.state.database = None;
            self.process.set_database(None);
            self.database_changed();
        }
        self.state.row_count.set(outcome.affected_rows as i64);
        match &outcome.listing {
            Some(listing) => self.send(&listing.columns, &listing.rows, self.warning_count(), more, sink),
            None => {
                let done = Done { affected_rows: outcome.affected_rows, info: outcome.info, ..Done::default() };
                self.finish(&done, more, sink);
            }
        }
        Ok(())
    }

    /// From here on the session and its open transaction can have temporary tables.
    fn use_temporary_tables(&mut self) {
        self.state_changed();
        let tables = self.temporary.get_or_insert_with(|| self.instance.engine.temporary_tables());
        if let Some(trx) = &mut self.trx {
            trx.set_temporary_tables(tables.clone());
        }
    }

    /// CREATE TABLE ... SELECT: the table of the query's columns, and then its rows.
    fn create_table_from(
        &mut self,
        create: &CreateTable,
        query: &Query,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        if !create.columns.is_empty() || !create.indexes.is_empty() || create.partition_by.is_some() {
            return Err(Error::unsupported("CREATE TABLE ... SELECT with columns or keys of its own"));
        }
        if !create.temporary && self.state.gtid_next.name() != binlog::Name::Automatic {
            // The table and its rows are two transactions of the log.
            return Err(Error::unsupported("CREATE TABLE ... SELECT with gtid_next"));
        }
        let database = database_of(&create.table, self.state.database.as_deref())?.to_string();
        let database = database.as_str();
        let own = self.temporary.clone().filter(|tables| tables.table(database, &create.table.name).is_some());
        if own.is_some() && !create.temporary {
            return Err(Error::unsupported("CREATE TABLE ... SELECT beside a temporary table of this name"));
        }
        // From here on the statement holds the name until the table is full: no other session sees half of the table,
        // changes it, or puts another table in its place, which a failure would drop.
        if !create.temporary && self.instance.engine.database(database).is_some() {
            let name = [(database, create.table.name.as_str(), TableUse::Write)];
            let exists = self.instance.engine.table(database, &create.table.name).is_some();
            if !exists {
                self.filling = Some(Arc::new(self.instance.engine.lock_tables(&name, &self.trx_options()).or_sql()?));
            }
        }
        let exists = match create.temporary {
            true => own.is_some(),
            false => self.instance.engine.table(database, &create.table.name).is_some(),
        };
        if exists {
            let error = Error::table_exists(&create.table.name);
            if !create.if_not_exists {
                return Err(error);
            }
            self.warnings.note(error.code, error.message);
            self.finish(&Done::default(), more, sink);
            return Ok(());
        }
        let wanted = Statement::Query(Box::new(query.clone()));
        let Some(plan) = self.plan(&wanted, 0, &[])? else { return Err(Error::internal("no plan")) };
        let plan::Plan::Query { plan, .. } = &plan.plan else { return Err(Error::internal("no query")) };
        let home = self.instance.engine.database(database).ok_or_else(|| Error::unknown_database(database))?;
        let columns: Vec<String> = plan
            .columns()
            .iter()
            .zip(plan.table_types())
            .map(|(column, column_type)| {
                let null = if column.ty.nullable { "" } else { " NOT NULL" };
                let collation = match column_type.collation() {
                    // The database's defaults need not be repeated, unless the table may have others.
                    Some(id) if id == home.collation && create.options.is_empty() => String::new(),
                    Some(id) => format!(" COLLATE {}", format::collation::collation(id).name),
                    None => String::new(),
                };
                let (name, ty) = (describe::quoted(&column.name), describe::column_type(&column_type));
                format!("{name} {ty}{collation}{null}")
            })
            .collect();
        let logged = self.own_log().filter(|_| !create.temporary).is_some();
        let text = format!("CREATE TABLE t ({})", columns.join(", "));
        let parsed = parser::parse_first(text.as_bytes(), SqlMode::default())?.0.ok_or_else(Error::empty_query)?;
        let Statement::CreateTable(made) = parsed.statement else { return Err(Error::internal("no table")) };
        // The query may read the table that the temporary one will hide: so the latter gets its name at the end.
        let name = if create.temporary { WHILE_SELECTED } else { &create.table.name };
        let table = TableName { database: Some(database.to_string()), name: name.to_string() };
        let made = CreateTable {
            query: None,
            if_not_exists: false,
            columns: made.columns,
            table: table.clone(),
            ..create.clone()
        };
        let mut kept = set::Kept { rows: Vec::new(), error: None };
        // Replicas create the table, and then get its rows.
        let source = std::mem::take(&mut self.source);
        if logged {
            let name = self.logged_name(database, &create.table.name);
            let options: String = create.options.iter().map(|option| format!(" {}", option_text(option))).collect();
            self.source = format!("CREATE TABLE {name} ({}){options}", columns.join(", ")).into_bytes();
        }
        let defined = self.define(&Statement::CreateTable(Box::new(made)), false, &mut kept);
        self.source = source;
        defined?;
        let insert = Insert {
            replace: false,
            ignore: false,
            table,
            columns: Vec::new(),
            source: InsertSource::Query(Box::new(query.clone())),
            row_alias: None,
            on_duplicate: Vec::new(),
        };
        let result = self.dispatch(&Statement::Insert(Box::new(insert)), more, sink);
        let failed = result.is_err() || self.state.error_count.get() > 0;
        match (&self.temporary, create.temporary, failed) {
            (Some(own), true, false) => {
                own.rename((database, WHILE_SELECTED), &create.table.name).map_err(storage_error)?;
            }
            (Some(own), true, true) => {
                let _ = own.drop_table(database, WHILE_SELECTED);
            }
            (_, _, true) => {
                let name = TableName { database: Some(database.to_string()), name: create.table.name.clone() };
                let drop = Statement::DropTables { tables: vec![name], if_exists: true, temporary: false };
                let mut wait = self.trx_options();
                if let Some(log) = self.definition_log(&drop)? {
                    wait.log = Some(log);
                }
                let _ = self.instance.engine.drop_tables(&[(database, &create.table.name)], &wait);
                self.write_log()?;
            }
            _ => {}
        }
        self.forget_plans();
        result
    }
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

fn definition_counter(statement: &Statement) -> Option<Counter> {
    use parser::ast::Maintenance;
    Some(match statement {
        Statement::CreateDatabase { .. } => Counter::ComCreateDb,
        Statement::AlterDatabase { .. } => Counter::ComAlterDb,
        Statement::DropDatabase { .. } => Counter::ComDropDb,
        Statement::CreateTable(_) => Counter::ComCreateTable,
        Statement::AlterTable(_) => Counter::ComAlterTable,
        Statement::DropTables { .. } => Counter::ComDropTable,
        Statement::RenameTables(_) => Counter::ComRenameTable,
        Statement::TruncateTable(_) => Counter::ComTruncate,
        Statement::CreateIndex { .. } => Counter::ComCreateIndex,
        Statement::DropIndex { .. } => Counter::ComDropIndex,
        Statement::Maintain { action: Maintenance::Optimize, .. } => Counter::ComOptimize,
        Statement::Maintain { action: Maintenance::Analyze, .. } => Counter::ComAnalyze,
        Statement::Maintain { action: Maintenance::Check, .. } => Counter::ComCheck,
        _ => return None,
    })
}
