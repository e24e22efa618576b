//! Statements of definition and maintenance, and CREATE TABLE ... SELECT.

use super::{Done, Session, plan, set};
use crate::catalog::database_of;
use crate::ddl;
use crate::describe;
use crate::error::{Error, Result};
use crate::parser;
use crate::parser::ast::{CreateTable, Insert, InsertSource, Query, Statement};
use crate::result::ResultSink;
use crate::status::Counter;
use crate::types::SqlMode;

impl Session {
    /// Statements of definition and maintenance: they commit first, and by themselves.
    pub(super) fn define(&mut self, statement: &Statement, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        if !matches!(statement, Statement::Maintain { .. }) {
            self.check_writable()?;
        }
        if let Some(counter) = definition_counter(statement) {
            self.status.add(counter, 1);
        }
        self.commit()?;
        if let Statement::CreateTable(create) = statement
            && let Some(query) = &create.query
        {
            return self.create_table_from(create, query, more, sink);
        }
        let wait = self.trx_options();
        if wait.read_only {
            return Err(Error::read_only_transaction());
        }
        let outcome = self.limited_in_time(false, |session| {
            let view = session.view();
            let eval = session.eval_context(&view, &[]);
            let context = ddl::Context {
                instance: &session.instance,
                settings: &session.variables.settings,
                eval: &eval,
                database: session.state.database.as_deref(),
                wait,
            };
            ddl::run(&context, statement)
        });
        self.forget_plans();
        let outcome = outcome?;
        if let Statement::DropDatabase { name, .. } = statement
            && self.state.database.as_deref() == Some(name.as_str())
        {
            self.state.database = None;
            self.process.set_database(None);
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
        let database = database_of(&create.table, self.state.database.as_deref())?;
        if create.if_not_exists && self.instance.engine.table(database, &create.table.name).is_some() {
            let error = Error::table_exists(&create.table.name);
            self.warnings.note(error.code, error.message);
            self.finish(&Done::default(), more, sink);
            return Ok(());
        }
        let wanted = Statement::Query(Box::new(query.clone()));
        let Some(plan) = self.plan(&wanted, 0, &[])? else { return Err(Error::internal("no plan")) };
        let plan::Plan::Query { plan, .. } = &plan.plan else { return Err(Error::internal("no query")) };
        let columns: Vec<String> = plan
            .columns()
            .iter()
            .map(|column| {
                let null = if column.ty.nullable { "" } else { " NOT NULL" };
                let collation = match column.column_type.collation() {
                    Some(id) => format!(" COLLATE {}", format::collation::collation(id).name),
                    None => String::new(),
                };
                let (name, ty) = (describe::quoted(&column.name), describe::column_type(&column.column_type));
                format!("{name} {ty}{collation}{null}")
            })
            .collect();
        let text = format!("CREATE TABLE t ({})", columns.join(", "));
        let parsed = parser::parse_first(text.as_bytes(), SqlMode::default())?.0.ok_or_else(Error::empty_query)?;
        let Statement::CreateTable(made) = parsed.statement else { return Err(Error::internal("no table")) };
        let made = CreateTable { query: None, if_not_exists: false, columns: made.columns, ..create.clone() };
        let mut kept = set::Kept { rows: Vec::new(), error: None };
        self.define(&Statement::CreateTable(Box::new(made)), false, &mut kept)?;
        let insert = Insert {
            replace: false,
            ignore: false,
            table: create.table.clone(),
            columns: Vec::new(),
            source: InsertSource::Query(Box::new(query.clone())),
            row_alias: None,
            on_duplicate: Vec::new(),
        };
        let result = self.dispatch(&Statement::Insert(Box::new(insert)), more, sink);
        if result.is_err() || self.state.error_count.get() > 0 {
            let database = database_of(&create.table, self.state.database.as_deref())?;
            let _ = self.instance.engine.drop_tables(&[(database, &create.table.name)], &self.trx_options());
        }
        result
    }
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
