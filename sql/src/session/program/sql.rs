//! Statements of SQL in a program, and its cursors.

use format::packet::status as flags;
use format::value::Value;
use storage::{ReadMode, TableUse};

use super::Converted;
use super::run::{Host, OpenCursor, Run};
use super::sink::{Nobody, ProgramSink};
use super::unit::Slot;
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::parser::ast::{IntoTarget, SelectInto, SqlStep, Statement};
use crate::result::{OkSummary, ResultSink};
use crate::session::cached::{CachedPlan, Outcome, STALE};
use crate::session::transaction::variables_of;
use crate::session::{Session, Surroundings};
use crate::types::TypeInfo;

/// Whether a statement answers rows to the client, as far as can be seen without a plan.
fn answers_rows(statement: &Statement) -> bool {
    match statement {
        Statement::Query(query) => query.into.is_client(),
        Statement::Insert(insert) => !insert.returning.is_empty(),
        Statement::Delete(delete) => !delete.returning.is_empty(),
        Statement::Show(_) | Statement::Describe { .. } | Statement::Explain { .. } | Statement::Maintain { .. } => {
            true
        }
        _ => false,
    }
}

/// Whether a statement creates or drops temporary tables and nothing else.
fn is_of_temporary_tables(statement: &Statement) -> bool {
    match statement {
        Statement::CreateTable(create) => create.temporary,
        Statement::DropTables { temporary, .. } => *temporary,
        _ => false,
    }
}

impl Session {
    /// Runs a planned statement like one of the client's, by the plan that was kept for it.
    fn run_in_program(
        &mut self,
        kept: &mut Option<Box<CachedPlan>>,
        statement: &Statement,
        values: &[Value],
        types: &[TypeInfo],
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.check_not_creating()?;
        self.refresh_rights();
        if let Some(mut plan) = kept.take().filter(|plan| self.is_current(plan))
            && self.run_plan(&mut plan, values, true, sink) == Outcome::Answered
        {
            *kept = Some(plan);
            return Ok(());
        }
        self.begin_statement();
        if let Some(done) = self.set_up(statement, values)? {
            self.finish(&done, true, sink);
            return Ok(());
        }
        let plan = self.plan_and_run_typed(statement, values.len(), values, types, true, sink)?;
        *kept = plan.filter(|plan| plan.is_cacheable);
        Ok(())
    }

    /// Runs a planned statement as a part of the one that runs: what it does stays only if it succeeds.
    #[expect(clippy::too_many_arguments, reason = "what a statement is planned and run with")]
    pub(in crate::session) fn run_inside(
        &self,
        trx: &std::cell::RefCell<storage::Trx>,
        surroundings: &Surroundings<'_>,
        kept: &mut Option<Box<CachedPlan>>,
        statement: &Statement,
        values: &[Value],
        types: &[TypeInfo],
        reads: ReadMode,
    ) -> Result<()> {
        loop {
            let (plan, is_new) = match kept.take().filter(|plan| self.is_current(plan)) {
                Some(plan) => (plan, false),
                None => {
                    let plan = self.plan_in(trx, surroundings, statement, values.len(), values, types, reads)?;
                    (plan.ok_or_else(|| Error::internal("a query without a plan"))?, true)
                }
            };
            self.check_branch(&plan.tables)?;
            let changed = plan.tables.iter().filter(|(_, wanted)| *wanted == TableUse::Write);
            let mut writes = false;
            for (table, _) in changed {
                if self.programs.is_used(table) {
                    return Err(Error::table_in_use(&table.name));
                }
                writes |= !table.is_temporary();
            }
            if writes {
                if self.only_reads() || trx.borrow().is_read_only() {
                    return Err(Error::read_only_transaction());
                }
                self.check_writable()?;
            }
            let savepoint = trx.borrow_mut().savepoint();
            let log = self.row_log.as_ref().filter(|_| self.own_log().is_some());
            // The program may have set them.
            let settings = &self.variables.settings;
            let checks = (settings.foreign_key_checks, settings.unique_checks);
            let mark = log.map(|log| log.borrow_mut().begin_inner(checks));
            let outside = trx.borrow_mut().set_foreign_key_checks(checks.0);
            let result = self.run_in(trx, surroundings, &plan, values, &mut Nobody);
            trx.borrow_mut().set_foreign_key_checks(outside);
            if let (Some(mark), Some(log)) = (mark, &self.row_log) {
                log.borrow_mut().end_inner(mark, result.is_ok())?;
            }
            match result {
                Ok(_) => {
                    *kept = Some(plan).filter(|plan| plan.is_cacheable);
                    return Ok(());
                }
                Err(error) if error.code == STALE && !is_new => {}
                Err(error) => {
                    if matches!(error.code, 1213 | 1020 | 1181) {
                        return Err(error);
                    }
                    trx.borrow_mut().rollback_to(savepoint).or_sql()?;
                    if error.code == STALE {
                        return Err(Error::table_definition_changed());
                    }
                    *kept = Some(plan).filter(|plan| plan.is_cacheable);
                    return Err(error);
                }
            }
        }
    }
}

impl Run<'_, '_> {
    /// Runs a planned statement.
    pub fn run_planned(
        &mut self,
        kept: &mut Option<Box<CachedPlan>>,
        statement: &Statement,
        values: &[Value],
        types: &[TypeInfo],
        reads: ReadMode,
    ) -> Result<()> {
        if let Host::Statement { session, trx, .. } = &self.host {
            return session.run_inside(trx, &self.surroundings(), kept, statement, values, types, reads);
        }
        match &mut self.host {
            Host::Statement { .. } => Ok(()),
            Host::Session { session, sink } => {
                let mut own = ProgramSink::new(&mut **sink);
                let ran = session.run_in_program(kept, statement, values, types, &mut own);
                self.is_partial = own.is_partial();
                let failed = own.error.take();
                match failed {
                    Some(error) => Err(error),
                    None => ran,
                }
            }
        }
    }

    /// The client has rows of a result whose statement failed: they end here, and the program goes on.
    pub fn end_partial(&mut self) {
        if !std::mem::take(&mut self.is_partial) {
            return;
        }
        if let Host::Session { session, sink } = &mut self.host {
            let status = session.status_flags() | flags::MORE_RESULTS;
            sink.ok(&OkSummary { status, ..OkSummary::default() });
        }
    }

    pub fn sql(&mut self, step: &SqlStep) -> Result<()> {
        let is_inner = matches!(self.host, Host::Statement { .. });
        if answers_rows(&step.statement) {
            if is_inner {
                return Err(self.no_result());
            }
            if !self.session().multi_results {
                let shown = self.compiled.map_or("", |compiled| &compiled.shown);
                return Err(Error::no_result_in_context(shown));
            }
        }
        let (values, types) = self.reads(&step.reads);
        if let Host::Session { session, .. } = &mut self.host {
            session.remember_source(step.text.as_bytes());
            if session.is_expired {
                session.enter_statement(|| false)?;
            }
        }
        if !step.statement.is_planned() {
            return self.other_sql(step);
        }
        let mut kept = match self.take_slot(step.slot) {
            Slot::Plan(plan) => Some(plan),
            _ => None,
        };
        let reads = match &step.statement {
            Statement::Query(_) => ReadMode::Consistent,
            _ => ReadMode::Source,
        };
        self.session().programs.take_collected();
        let ran = self.run_planned(&mut kept, &step.statement, &values, &types, reads);
        if let Some(plan) = kept {
            self.give_slot(step.slot, Slot::Plan(plan));
        }
        // The values of the first row are in the variables if there is a second one, as in MySQL, and those before one that
        // does not fit.
        if let Statement::Query(query) = &step.statement
            && let SelectInto::Variables(targets) = &query.into
        {
            self.take_into(targets)?;
        }
        ran
    }

    fn no_result(&self) -> Error {
        // The innermost function or trigger is not the procedure that runs inside of it.
        let stack = self.session().programs.stack.borrow();
        let is_trigger = stack.iter().rev().find_map(|program| match program.definition.kind {
            storage::DefinitionKind::Trigger => Some(true),
            storage::DefinitionKind::Function => Some(false),
            _ => None,
        });
        Error::no_result_from(if is_trigger == Some(true) { "trigger" } else { "function" })
    }

    /// The targets of INTO get their values, one after the other, if there are local variables among them.
    fn take_into(&mut self, targets: &[IntoTarget]) -> Result<()> {
        if targets.iter().all(|target| matches!(target, IntoTarget::User(_))) {
            return Ok(());
        }
        let Some(mut collected) = self.session().programs.take_collected() else { return Ok(()) };
        let Some(row) = collected.rows.pop() else { return Ok(()) };
        let mut all = std::mem::take(&mut collected.converted).into_iter();
        for ((target, value), ty) in targets.iter().zip(row).zip(&collected.types) {
            match (all.next(), target) {
                (Some(Converted::Typed(value, stored)), IntoTarget::Local(at)) => self.place(*at, value, stored),
                (Some(_), target) => self.assign_to(target, value, ty)?,
                (None, IntoTarget::Local(at)) => {
                    self.frame[*at] = self.after_error(*at);
                    break;
                }
                (None, _) => break,
            }
        }
        Ok(())
    }

    /// What is not planned: it runs like a statement of the client's.
    fn other_sql(&mut self, step: &SqlStep) -> Result<()> {
        if let Host::Statement { session, trx, .. } = &self.host
            && matches!(
                step.statement,
                Statement::Savepoint(_) | Statement::RollbackTo(_) | Statement::ReleaseSavepoint(_)
            )
        {
            return session.inner_savepoint(trx, &step.statement);
        }
        if let Host::Statement { session, trx, .. } = &self.host
            && is_of_temporary_tables(&step.statement)
        {
            let (values, types) = self.reads(&step.reads);
            return session.define_inside(trx, &self.surroundings(), &step.statement, (&values, &types));
        }
        if let Host::Statement { session, .. } = &self.host
            && let Statement::SetTransaction { scope, isolation, read_only } = &step.statement
        {
            let items = variables_of(*scope, *isolation, *read_only);
            return items.iter().try_for_each(|item| session.set_inside(item, self.surroundings().rights));
        }
        let given = self.reads(&step.reads);
        let Host::Session { session, sink } = &mut self.host else {
            return Err(match &step.statement {
                Statement::Prepare { .. }
                | Statement::Execute { .. }
                | Statement::ExecuteImmediate { .. }
                | Statement::Deallocate(_) => Error::not_in_function("Dynamic SQL"),
                Statement::Flush { .. } => Error::not_in_function("FLUSH"),
                _ => Error::commit_in_function(),
            });
        };
        if matches!(
            step.statement,
            Statement::Prepare { .. }
                | Statement::Execute { .. }
                | Statement::ExecuteImmediate { .. }
                | Statement::Deallocate(_)
        ) {
            session.programs.note_prepared();
        }
        let selects = match &step.statement {
            Statement::CreateTable(create) => create.query.is_some(),
            statement => matches!(statement, Statement::Explain { .. }),
        };
        if !step.reads.is_empty() && !selects {
            // Only expressions know variables.
            return Err(Error::unsupported("local variables in this statement"));
        }
        let mut own = ProgramSink::new(&mut **sink);
        let ran = session.dispatch_with(&step.statement, given, true, &mut own);
        self.is_partial = own.is_partial();
        match own.error.take() {
            Some(error) => Err(error),
            None => ran,
        }
    }

    // ------------------------------------------------------------------- cursors

    pub fn open(&mut self, cursor: usize) -> Result<()> {
        if self.cursors[cursor].is_some() {
            return Err(Error::cursor_is_open());
        }
        let Some(compiled) = self.compiled else { return Err(Error::cursor_not_open()) };
        let query = &compiled.program.cursors[cursor].query;
        let (values, types) = self.reads(&query.reads);
        let mut kept = match self.take_slot(query.slot) {
            Slot::Plan(plan) => Some(plan),
            _ => None,
        };
        let ran = self.run_planned(&mut kept, &query.statement, &values, &types, ReadMode::Consistent);
        if let Some(plan) = kept {
            self.give_slot(query.slot, Slot::Plan(plan));
        }
        ran?;
        let collected = self.session().programs.take_collected();
        let collected = collected.ok_or_else(|| Error::internal("a cursor without rows"))?;
        self.cursors[cursor] = Some(OpenCursor { rows: collected.rows, types: collected.types, at: 0 });
        Ok(())
    }

    pub fn fetch(&mut self, cursor: usize, into: &[usize]) -> Result<()> {
        let open = self.cursors[cursor].as_mut().ok_or_else(Error::cursor_not_open)?;
        if open.types.len() != into.len() {
            return Err(Error::wrong_fetch_count());
        }
        let Some(row) = open.rows.get_mut(open.at).map(std::mem::take) else { return Err(Error::no_data()) };
        open.at += 1;
        let types = open.types.clone();
        for ((variable, value), ty) in into.iter().zip(row).zip(&types) {
            self.assign(*variable, value, ty)?;
        }
        Ok(())
    }

    pub fn close(&mut self, cursor: usize) -> Result<()> {
        match self.cursors[cursor].take() {
            Some(_) => Ok(()),
            None => Err(Error::cursor_not_open()),
        }
    }
}
