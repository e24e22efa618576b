//! Statements of definition and maintenance.

use std::sync::Arc;

use storage::{TemporaryTables, TrxOptions};

use super::{Done, Session};
use crate::catalog::database_of;
use crate::ddl;
use crate::error::{Error, Result};
use crate::parser;
use crate::parser::ast::{CreateView, Statement};
use crate::result::ResultSink;
use crate::status::Counter;

impl Session {
    /// Whether a statement is a TRUNCATE TABLE of counters, which a server that is read only takes, too.
    fn only_counts_anew(&self, statement: &Statement) -> bool {
        let Statement::TruncateTable(table) = statement else { return false };
        database_of(table, self.state.database.as_deref()).is_ok_and(|database| ddl::is_counted(database, &table.name))
    }

    /// Statements of definition and maintenance: they commit first, and by themselves.
    pub(super) fn define(&mut self, statement: &Statement, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        if let Statement::CreateTable(create) = statement
            && self.starts_transaction(create)
        {
            return self.start_creation(create, more, sink);
        }
        let commits = ddl::commits(statement);
        // Nobody else sees the session's own tables: not the global read lock, nor a server that is read only.
        let only_own = self.concerns_own_tables(statement);
        if commits
            && !only_own
            && !matches!(statement, Statement::Maintain { histogram: None, persistent: None, .. })
            && !self.only_counts_anew(statement)
        {
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
                self.release_implied(statement);
            }
            false if self.only_reads() => return Err(Error::read_only_transaction()),
            false => {
                self.check_model_locked(statement)?;
                self.use_temporary_tables();
            }
        }
        let entered = commits && !only_own && self.enter_change()?;
        let renames = match commits {
            false => Vec::new(),
            true => self.lock_new_names(statement).inspect_err(|_| self.leave_change(entered))?,
        };
        let result = match statement {
            Statement::CreateTable(create) if let Some(query) = &create.query => match create.temporary {
                true => self.create_temporary_from(create, query, more, sink),
                false => self.create_from(create, query, more, sink),
            },
            Statement::CreateView(create) => self.define_view(statement, create, more, sink),
            Statement::CreateRoutine(_)
            | Statement::AlterRoutine(_)
            | Statement::DropRoutine { .. }
            | Statement::CreateTrigger(_)
            | Statement::DropTrigger { .. }
            | Statement::CreateEvent(_)
            | Statement::AlterEvent(_)
            | Statement::DropEvent { .. } => self.define_program(statement, more, sink),
            statement => self.define_now(statement, commits, more, sink),
        };
        self.follow_renames(&renames, result.is_ok());
        self.leave_change(entered);
        if commits && result.is_err() {
            self.end_named(false)?;
        }
        if matches!(
            statement,
            Statement::DropTables { .. } | Statement::DropViews { .. } | Statement::DropSequences { .. }
        ) {
            self.leave_dropped_tables();
        }
        result
    }

    /// Runs a part of a statement of definition.
    pub(super) fn in_definition<T>(
        &mut self,
        wait: TrxOptions,
        run: impl FnOnce(&ddl::Context<'_>) -> Result<T>,
    ) -> Result<T> {
        self.limited_in_time(0, |session| {
            let view = session.view();
            let eval = session.eval_context(&view, &[]);
            run(&ddl::Context {
                instance: &session.instance,
                settings: &session.variables.settings,
                eval: &eval,
                database: session.state.database.as_deref(),
                rights: &session.rights,
                wait,
            })
        })
    }

    fn define_view(
        &mut self,
        statement: &Statement,
        create: &CreateView,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let created = self.limited_in_time(0, |session| session.create_view(statement, create));
        self.forget_plans();
        created?;
        self.write_log()?;
        self.end_named(true)?;
        self.state.row_count.set(0);
        self.finish(&Done::default(), more, sink);
        Ok(())
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
        let outcome = self.in_definition(wait, |context| ddl::run(context, statement));
        self.forget_plans();
        let outcome = outcome?;
        self.write_log()?;
        if commits {
            self.end_named(true)?;
        }
        if let Statement::DropDatabase { name, .. } | Statement::CreateDatabase { name, or_replace: true, .. } =
            statement
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
        let tables = self.temporary_tables();
        if let Some(trx) = &mut self.trx {
            trx.set_temporary_tables(tables);
        }
    }

    /// The session's temporary tables, which are about to change.
    pub(super) fn temporary_tables(&self) -> Arc<TemporaryTables> {
        self.state_changed();
        self.temporary.get_or_init(|| self.instance.engine.temporary_tables()).clone()
    }
}

pub(super) fn definition_counter(statement: &Statement) -> Option<Counter> {
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
