//! Plans of statements: made, kept, run.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use format::collation::{collation, convert};
use format::packet::ColumnDefinition;
use format::value::Value;
use storage::schema::statistics_changes;
use storage::{Definition, DefinitionKind, Kill, ReadMode, Table, TableUse};

use super::cached::{CachedPlan, Outcome, Plan, PreparedStatement, STALE, statistics_version};
use super::dispatch::changes_password;
use super::program::Runner;
use super::set::as_set;
use super::uses::Uses;
use super::{Done, Prepared, Session, Surroundings};
use crate::accounts::Privileges;
use crate::catalog::OrSqlError;
use crate::error::{Error, Result, Warning};
use crate::executor::change::Changes;
use crate::executor::insert::Series;
use crate::executor::memory::{Memory, row_bytes};
use crate::executor::{Environment, change, insert, joined_change, query};
use crate::expression::{Datum, EvalContext, Expr, Node, parameter_type};
use crate::parser;
use crate::parser::ast::{InsertSource, IntoTarget, PrepareSource, SelectInto, Statement, Wanted};
use crate::parser::normalize::parameter_kind;
use crate::planner::change::{InsertRows, plan_insert};
use crate::planner::joined_view;
use crate::planner::load::plan_load;
use crate::planner::returning::Returning;
use crate::planner::view_change::{Updating, plan_delete, plan_update};
use crate::planner::walk::{each_step, each_step_of};
use crate::planner::{Access, PlanContext, QueryPlan, SelectPlan, SourceKind, Step, TableStep, definition, hints};
use crate::result::ResultSink;
use crate::sequences;
use crate::status::Counter;
use crate::types::TypeInfo;

impl Session {
    /// Plans a query or a change; None for other statements.
    pub(super) fn plan(
        &mut self,
        statement: &Statement,
        parameter_count: usize,
        parameters: &[Value],
    ) -> Result<Option<Box<CachedPlan>>> {
        let types = self.types_of(parameters);
        self.plan_typed(statement, parameter_count, parameters, &types)
    }

    /// The plan of a query inside a statement that is dispatched. It is of these values alone, so texts are as long as they
    /// are: a column that CREATE TABLE makes of one is no longer.
    pub(super) fn plan_given(&mut self, statement: &Statement) -> Result<Option<Box<CachedPlan>>> {
        let given = self.given.clone();
        let types = self.types_of_given();
        self.plan_typed(statement, given.len(), &given, &types)
    }

    fn types_of_given(&self) -> Vec<TypeInfo> {
        if let Some(declared) = &self.given_types {
            return declared.to_vec();
        }
        let mut types = self.types_of(&self.given);
        for (value, ty) in self.given.iter().zip(&mut types) {
            if let Value::Bytes(text) = value {
                ty.length = ty.length.min(text.len().max(1) as u32);
            }
        }
        types
    }

    /// Plans and runs a part of a statement that is dispatched, with the values that it was given.
    pub(super) fn run_given(&mut self, statement: &Statement, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let given = self.given.clone();
        let types = self.types_of_given();
        match self.plan_and_run_typed(statement, given.len(), &given, &types, more, sink)? {
            Some(_) => Ok(()),
            None => Err(Error::internal("a change without a plan")),
        }
    }

    /// Dispatches a statement of a program, with the variables that it reads.
    pub(super) fn dispatch_with(
        &mut self,
        statement: &Statement,
        (values, types): (Vec<Value>, Vec<TypeInfo>),
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let values = std::mem::replace(&mut self.given, values.into());
        let types = self.given_types.replace(types.into());
        let done = self.dispatch(statement, more, sink);
        (self.given, self.given_types) = (values, types);
        done
    }

    pub(super) fn plan_typed(
        &mut self,
        statement: &Statement,
        parameter_count: usize,
        parameters: &[Value],
        types: &[TypeInfo],
    ) -> Result<Option<Box<CachedPlan>>> {
        let plain_reads =
            if matches!(statement, Statement::Query(_)) { ReadMode::Consistent } else { ReadMode::Source };
        let mut trx = self.trx.take();
        let temporary = trx.is_none();
        let cell = RefCell::new(match trx.take() {
            Some(trx) => trx,
            None => self.begin_trx(),
        });
        let surroundings = self.surroundings();
        let result = self.plan_in(&cell, &surroundings, statement, parameter_count, parameters, types, plain_reads);
        // The tables stay locked by a transaction that goes on; otherwise the statement locks them again when it runs.
        match &result {
            _ if temporary => {}
            Err(error) if self.loses_transaction(error) => self.lose_transaction(cell.into_inner(), error),
            _ => self.trx = Some(cell.into_inner()),
        }
        result
    }

    /// What planning a statement of the session knows.
    pub(super) fn plan_context<'a>(
        &'a self,
        eval: &'a EvalContext<'a>,
        trx: &'a RefCell<storage::Trx>,
        parameter_count: usize,
        types: &'a [TypeInfo],
        plain_reads: ReadMode,
    ) -> PlanContext<'a> {
        self.plan_context_in(&self.surroundings(), eval, trx, parameter_count, types, plain_reads)
    }

    fn plan_context_in<'a>(
        &'a self,
        surroundings: &Surroundings<'a>,
        eval: &'a EvalContext<'a>,
        trx: &'a RefCell<storage::Trx>,
        parameter_count: usize,
        types: &'a [TypeInfo],
        plain_reads: ReadMode,
    ) -> PlanContext<'a> {
        PlanContext {
            instance: &self.instance,
            eval,
            trx,
            database: surroundings.database,
            database_collation: self.variables.settings.collation_database,
            parameter_count,
            parameter_types: types,
            tables: RefCell::default(),
            // LOCK TABLES covers what triggers and functions use.
            locked: self.locked.as_ref().filter(|_| !surroundings.is_inner),
            named: RefCell::default(),
            rights: surroundings.rights,
            plain_reads,
            depth: Cell::new(0),
            common_tables: RefCell::default(),
            next_derived: Cell::new(0),
            derived_plans: RefCell::default(),
            next_select: Cell::new(0),
            reads_values: Cell::new(false),
            stored_only: false,
            defines_view: false,
            views: RefCell::default(),
            inside: RefCell::default(),
            runs_programs: Cell::new(false),
            warnings: RefCell::default(),
            waiting_hints: RefCell::default(),
            time_limit_ms: Cell::new(None),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a statement is planned with")]
    pub(super) fn plan_in(
        &self,
        trx: &RefCell<storage::Trx>,
        surroundings: &Surroundings<'_>,
        statement: &Statement,
        parameter_count: usize,
        parameters: &[Value],
        types: &[TypeInfo],
        plain_reads: ReadMode,
    ) -> Result<Option<Box<CachedPlan>>> {
        // Before the triggers are looked at: what changes behind it is seen when the plan runs.
        let definitions_version = self.instance.engine.definitions_version();
        let variables_read = self.state.variables_read.get();
        let view = self.view_in(surroundings);
        let (client, connection) = surroundings.literals;
        let client = collation(client).charset;
        let eval = EvalContext { mode: surroundings.mode, client, connection, ..self.eval_context(&view, parameters) };
        let context = self.plan_context_in(surroundings, &eval, trx, parameter_count, types, plain_reads);
        let results = self.variables.settings.character_set_results;
        let mut definitions: Arc<[ColumnDefinition]> = Arc::new([]);
        let (plan, counter) = match statement {
            Statement::Query(query) => {
                let limited = if surroundings.is_inner { None } else { self.with_select_limit(query) };
                let query = limited.as_ref().unwrap_or(query);
                if matches!(query.into, SelectInto::Outfile { .. } | SelectInto::Dumpfile(_)) {
                    surroundings.rights.need(Privileges::FILE)?;
                }
                let mut plan = context.plan_query(query, plain_reads)?;
                let is_assigned = match &query.into {
                    SelectInto::Variables(_) => true,
                    SelectInto::Program(wanted) => *wanted != Wanted::Rows,
                    _ => false,
                };
                if is_assigned {
                    plan.keep_digits();
                }
                match &query.into {
                    SelectInto::Client => definitions = plan.definitions(results),
                    SelectInto::Variables(names) if names.len() != plan.columns().len() => {
                        return Err(Error::union_columns());
                    }
                    _ => {}
                }
                (Plan::Query { plan, into: query.into.clone() }, Counter::ComSelect)
            }
            Statement::Insert(insert) => {
                let selects = matches!(insert.source, InsertSource::Query(_));
                let counter = match (insert.replace, selects) {
                    (false, false) => Counter::ComInsert,
                    (false, true) => Counter::ComInsertSelect,
                    (true, false) => Counter::ComReplace,
                    (true, true) => Counter::ComReplaceSelect,
                };
                (Plan::Insert(plan_insert(&context, insert)?), counter)
            }
            Statement::Update(update) => {
                match context.with_tables(update.with.as_ref(), || plan_update(&context, update))? {
                    Updating::Table(plan) => (Plan::Update(*plan), Counter::ComUpdate),
                    // Of a view that joins tables.
                    Updating::Joined(plan) => (Plan::JoinedUpdate(*plan), Counter::ComUpdate),
                }
            }
            Statement::Delete(delete) => {
                let plan = context.with_tables(delete.with.as_ref(), || plan_delete(&context, delete))?;
                (Plan::Delete(plan), Counter::ComDelete)
            }
            Statement::JoinedUpdate(update) => {
                let plan = context.with_tables(update.with.as_ref(), || joined_view::plan_update(&context, update))?;
                (Plan::JoinedUpdate(plan), Counter::ComUpdateMulti)
            }
            Statement::JoinedDelete(delete) => {
                let plan = context.with_tables(delete.with.as_ref(), || joined_view::plan_delete(&context, delete))?;
                (Plan::JoinedDelete(plan), Counter::ComDeleteMulti)
            }
            Statement::Load(load) => (Plan::Load(Box::new(plan_load(&context, load)?)), Counter::ComLoad),
            _ => return Ok(None),
        };
        hints::warn_of_rest(&context);
        let returning = match &plan {
            Plan::Insert(plan) => plan.returning.as_ref(),
            Plan::Delete(plan) => plan.returning.as_ref(),
            _ => None,
        };
        if let Some(returning) = returning {
            definitions = returning.columns.iter().map(|column| definition::definition(column, results)).collect();
        }
        let is_cacheable = match &plan {
            // Its user variables have types of this execution.
            Plan::Load(_) => false,
            Plan::Query { plan, into } => {
                let is_kept = into.is_client() || matches!(into, SelectInto::Program(_));
                is_kept && !reads_variables(plan) && !scans_for_values(plan)
            }
            Plan::Insert(_) => true,
            Plan::Update(plan) => !scans_in_spite_of_keys(&plan.select),
            Plan::Delete(plan) => !scans_in_spite_of_keys(&plan.select),
            Plan::JoinedUpdate(plan) => !scans_in_spite_of_keys(&plan.select),
            Plan::JoinedDelete(plan) => !scans_in_spite_of_keys(&plan.select),
        };
        // What IS NULL finds was looked up for this execution alone, and so was the size of the tables.
        let settings = &self.variables.settings;
        let is_cacheable =
            is_cacheable && !context.reads_values.get() && !settings.sql_auto_is_null && settings.sql_big_selects;
        let tables = context.tables.into_inner();
        let views = context.views.into_inner();
        let uses = uses_of(&plan);
        let cached = CachedPlan {
            plan,
            triggers: self.triggers_of(&tables),
            definitions_version: Cell::new(definitions_version),
            runs_programs: context.runs_programs.get(),
            gives_numbers: tables.iter().any(|(table, wanted)| {
                *wanted == TableUse::Write && !table.is_temporary() && sequences::is_sequence(table)
            }),
            time_limit_ms: context.time_limit_ms.get(),
            warnings: context.warnings.take(),
            statistics_compared: Cell::new(statistics_changes()),
            statistics: statistics_version(&tables),
            tables,
            views,
            definitions,
            parameter_count,
            is_cacheable,
            variables: (self.state.variables_read.get() != variables_read)
                .then(|| self.state.variables_generation.get()),
            digest: None,
            uses,
            counter,
            rows_at_first: Cell::new(None),
            rows_of_bad_run: Cell::new(None),
        };
        Ok(Some(Box::new(cached)))
    }

    /// The triggers of the tables that are changed.
    fn triggers_of(&self, tables: &[(Arc<Table>, TableUse)]) -> Vec<Arc<Definition>> {
        let engine = &self.instance.engine;
        let changed = tables.iter().filter(|(table, wanted)| *wanted == TableUse::Write && !table.is_temporary());
        let all = changed.flat_map(|(table, _)| engine.definitions_of_table(&table.database, &table.name));
        all.filter(|definition| definition.kind == DefinitionKind::Trigger).collect()
    }

    /// Whether the triggers that a plan fires are those that there are. Its tables are locked, and so they stay.
    fn has_its_triggers(&self, cached: &CachedPlan) -> bool {
        let version = self.instance.engine.definitions_version();
        if cached.definitions_version.get() == version {
            return true;
        }
        let now = self.triggers_of(&cached.tables);
        let is_same = now.len() == cached.triggers.len()
            && now.iter().zip(&cached.triggers).all(|(now, known)| Arc::ptr_eq(now, known));
        if is_same {
            cached.definitions_version.set(version);
        }
        is_same
    }

    /// Warns of what planning found.
    pub(super) fn warn_of_plan(&self, warnings: &[Warning]) {
        warnings.iter().for_each(|warning| self.warnings.push(warning.clone()));
    }

    /// Runs a plan, and answers the client.
    pub(super) fn run_plan(
        &mut self,
        cached: &mut CachedPlan,
        parameters: &[Value],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Outcome {
        self.begin_statement();
        self.warn_of_plan(&cached.warnings);
        self.status.add(cached.counter, 1);
        self.note_uses(cached.uses);
        let cached = &*cached;
        // Whether a table is changed that other sessions have: a temporary one is the session's own.
        let changes_shared = match &cached.plan {
            Plan::Query { .. } => None,
            Plan::Insert(plan) => Some(!plan.table.is_temporary()),
            Plan::Update(plan) => Some(!plan.table.is_temporary()),
            Plan::Delete(plan) => Some(!plan.table.is_temporary()),
            Plan::JoinedUpdate(plan) => Some(plan.targets.iter().any(|target| !target.table.is_temporary())),
            Plan::JoinedDelete(plan) => Some(plan.targets.iter().any(|target| !target.table.is_temporary())),
            Plan::Load(plan) => Some(!plan.insert.table.is_temporary()),
        };
        let writes = changes_shared.is_some();
        // A query that takes numbers of a sequence.
        let gives = !writes && cached.gives_numbers;
        let refusal = self.check_branch(&cached.tables).and_then(|()| match changes_shared {
            None if gives && self.only_reads() => Err(Error::read_only_transaction()),
            None if gives => self.check_writable(),
            Some(_) if let Err(refusal) = self.count_update() => Err(refusal),
            Some(true) if self.only_reads() => Err(Error::read_only_transaction()),
            Some(true) => self.check_writable(),
            _ => Ok(()),
        });
        if let Err(refusal) = refusal {
            self.fail(refusal, sink);
            return Outcome::Answered;
        }
        // What a program does inside of it may be logged, too.
        let logs = writes || cached.runs_programs;
        match writes.then(|| self.passes_over()).transpose() {
            Ok(Some(true)) => {
                self.finish(&Done::default(), more, sink);
                return Outcome::Answered;
            }
            Ok(_) => {}
            Err(refusal) => {
                self.fail(refusal, sink);
                return Outcome::Answered;
            }
        }
        let changes_others = changes_shared == Some(true) || cached.runs_programs || gives;
        let entered = match changes_others.then(|| self.enter_change()).transpose() {
            Ok(entered) => entered.unwrap_or(false),
            Err(refusal) => {
                self.fail(refusal, sink);
                return Outcome::Answered;
            }
        };
        if logs {
            self.begin_row_log();
        }
        let execution_ms = match writes {
            true => 0,
            false => cached.time_limit_ms.unwrap_or(self.variables.settings.max_execution_ms),
        };
        let examined_before = self.state.rows_examined.get();
        let result = self.limited_in_time(execution_ms, |session| {
            session.in_statement(|session, trx| session.run_in(trx, &session.surroundings(), cached, parameters, sink))
        });
        if result.is_ok() {
            cached.note_rows(self.state.rows_examined.get() - examined_before);
        }
        self.leave_change(entered);
        if self.tracked.is_some() && result.is_ok() {
            self.transaction_did(cached.reads_rows(writes), writes, cached.answers_rows());
        }
        let result = match (logs && !self.in_transaction(), result) {
            (true, Ok(done)) => self.end_named(true).map(|()| done),
            (true, Err(error)) if error.code != STALE => self.end_named(false).and(Err(error)),
            (_, result) => result,
        };
        match result {
            Ok(done) => {
                self.finish(&done, more, sink);
                Outcome::Answered
            }
            Err(error) if error.code == STALE => Outcome::Stale,
            Err(error) => {
                self.fail(error, sink);
                Outcome::Answered
            }
        }
    }

    /// Runs a plan in a transaction.
    pub(super) fn run_in(
        &self,
        trx: &RefCell<storage::Trx>,
        surroundings: &Surroundings<'_>,
        cached: &CachedPlan,
        parameters: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Done> {
        for (table, wanted) in &cached.tables {
            if !trx.borrow_mut().lock_table(table, *wanted).or_sql()? {
                return Err(Error::new(STALE, b"HY000", "stale"));
            }
        }
        for view in &cached.views {
            let now = trx.borrow_mut().open_definition(view.kind, &view.database, &view.name).or_sql()?;
            if !now.is_some_and(|now| Arc::ptr_eq(&now, view)) {
                return Err(Error::new(STALE, b"HY000", "stale"));
            }
        }
        if !self.has_its_triggers(cached) {
            return Err(Error::new(STALE, b"HY000", "stale"));
        }
        // Not before: as in MySQL such a statement can be prepared, and explained.
        if self.variables.settings.sql_safe_updates {
            match &cached.plan {
                Plan::Update(plan) => self.check_safe_update(&plan.select)?,
                Plan::JoinedUpdate(plan) => self.check_safe_update(&plan.select)?,
                Plan::Delete(plan) => self.check_safe_update(&plan.select)?,
                Plan::JoinedDelete(plan) => self.check_safe_update(&plan.select)?,
                _ => {}
            }
        }
        let view = self.view_in(surroundings);
        let (client, connection) = surroundings.literals;
        let client = collation(client).charset;
        let context =
            EvalContext { mode: surroundings.mode, client, connection, ..self.eval_context(&view, parameters) };
        if !cached.runs_programs && !surroundings.is_inner {
            return self.run_with(trx, cached, &context, sink);
        }
        let runner = Runner { session: self, trx };
        let context = EvalContext { programs: Some(&runner), ..context };
        self.programs.using(&cached.tables, || self.run_with(trx, cached, &context, sink))
    }

    fn run_with(
        &self,
        trx: &RefCell<storage::Trx>,
        cached: &CachedPlan,
        context: &EvalContext<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done> {
        let environment = Environment {
            instance: &self.instance,
            trx,
            parameter_count: cached.parameter_count,
            facts: self.facts(),
            memory: Memory::new(&self.instance.temporary, &self.instance.variables, &self.variables.settings),
            ticks: Cell::new(0),
            searches: RefCell::default(),
            derived: RefCell::default(),
            found_rows: Cell::new(0),
            returned: RefCell::default(),
            scratch: &self.scratch,
            profile: self.profile.as_deref(),
            log: self.row_log.as_ref().filter(|_| self.own_log().is_some()),
        };
        let done = self.run_within(&environment, cached, context, sink);
        self.note_spilled(environment.memory.counts());
        done
    }

    fn run_within(
        &self,
        environment: &Environment<'_>,
        cached: &CachedPlan,
        context: &EvalContext<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<Done> {
        match &cached.plan {
            Plan::Query { plan, into } if into.is_client() => {
                sink.columns(&cached.definitions);
                let sent = &self.state.rows_sent;
                match plan {
                    QueryPlan::Select(select) if let Some(output) = &select.stored => {
                        query::run_stored(environment, select, output, context, &mut |row| {
                            sent.set(sent.get() + 1);
                            sink.row_stored(row, &output.columns, context.zone);
                        })?;
                    }
                    _ => query::run(environment, plan, context, &mut |row| {
                        sent.set(sent.get() + 1);
                        sink.row(row, plan.types());
                        Ok(!self.process.interrupt.is_set())
                    })?,
                }
                // A row of no table has been computed: SELECT SLEEP(9) answers 1 when it is interrupted.
                let is_answered = matches!(plan, QueryPlan::Select(select) if select.sources.is_empty())
                    && sent.get() > 0
                    && self.process.interrupt.kind() != Some(Kill::Connection);
                if self.process.interrupt.is_set() && !is_answered {
                    return Err(Error::interrupted());
                }
                self.state.found_rows.set(environment.found_rows.get());
                self.state.row_count.set(-1);
                Ok(Done::default())
            }
            Plan::Query { plan, into: SelectInto::Program(wanted) } => {
                let mut rows = Vec::new();
                let mut account = environment.memory.account();
                query::run(environment, plan, context, &mut |row| {
                    account.add(row_bytes(row))?;
                    rows.push(row.to_vec());
                    Ok(!self.process.interrupt.is_set())
                })?;
                if self.process.interrupt.is_set() {
                    return Err(Error::interrupted());
                }
                let types: Vec<TypeInfo> = plan.columns().iter().map(|column| column.ty.stored()).collect();
                // Here, so that what functions did for a value that does not fit is undone with the statement.
                if let Wanted::Variable { name, is_global } = *wanted
                    && let (Some([value]), [ty]) = (rows.last().map(Vec::as_slice), types.as_slice())
                {
                    self.check_setting(name, is_global, &as_set(value.clone(), ty))?;
                }
                self.programs.collect(rows, types, &[*wanted], context)?;
                Ok(Done::default())
            }
            Plan::Query { plan, into: SelectInto::Variables(targets) } => {
                let mut values = None;
                let ran = query::run(environment, plan, context, &mut |row| {
                    if values.is_some() {
                        return Err(Error::more_than_one_row());
                    }
                    values = Some(row.to_vec());
                    Ok(true)
                });
                // As in MySQL the first row is in the variables if there is a second one.
                if ran.as_ref().err().is_some_and(|error| error.code != Error::more_than_one_row().code) {
                    return ran.map(|_| Done::default());
                }
                match values {
                    Some(values) => {
                        if targets.iter().all(|target| matches!(target, IntoTarget::User(_))) {
                            for ((target, value), column) in targets.iter().zip(&values).zip(plan.columns()) {
                                if let IntoTarget::User(name) = target {
                                    context.session.set_user_variable(name, value.clone(), column.ty);
                                }
                            }
                        } else {
                            let types = plan.columns().iter().map(|column| column.ty.stored()).collect();
                            let wanted: Vec<Wanted> = targets.iter().map(IntoTarget::wanted).collect();
                            self.programs.collect(vec![values], types, &wanted, context)?;
                        }
                        ran?;
                        Ok(Done { affected_rows: 1, ..Done::default() })
                    }
                    None => {
                        context.warn(Error::no_data());
                        Ok(Done::default())
                    }
                }
            }
            Plan::Query { plan, into } => self.write_rows(environment, plan, into, context),
            Plan::Load(plan) => {
                let changes = self.load(environment, plan, context, sink)?;
                let (affected_rows, last_insert_id) = self.inserted(&changes);
                let info = format!(
                    "Records: {}  Deleted: {}  Skipped: {}  Warnings: {}",
                    changes.found,
                    changes.deleted,
                    changes.found - changes.changed,
                    self.warnings.count()
                );
                Ok(Done { affected_rows, last_insert_id, info })
            }
            Plan::Insert(plan) => {
                let changes = insert::insert(environment, plan, context, self.series())?;
                let (affected_rows, last_insert_id) = self.inserted(&changes);
                self.send_returned(cached, plan.returning.as_ref(), environment, context, sink)?;
                let several = match &plan.source {
                    InsertRows::Values(rows) => rows.len() > 1,
                    InsertRows::Query(_) | InsertRows::File => true,
                };
                let info = if several {
                    let (records, duplicates) = (changes.found, changes.duplicates);
                    format!("Records: {records}  Duplicates: {duplicates}  Warnings: {}", self.warnings.count())
                } else {
                    String::new()
                };
                Ok(Done { affected_rows, last_insert_id, info })
            }
            Plan::Update(plan) => Ok(self.updated(&change::update(environment, plan, context)?)),
            Plan::JoinedUpdate(plan) => Ok(self.updated(&joined_change::update(environment, plan, context)?)),
            Plan::JoinedDelete(plan) => Ok(self.deleted(&joined_change::delete(environment, plan, context)?)),
            Plan::Delete(plan) => {
                let done = self.deleted(&change::delete(environment, plan, context)?);
                self.send_returned(cached, plan.returning.as_ref(), environment, context, sink)?;
                Ok(done)
            }
        }
    }

    /// Notes what an UPDATE did; what the client is told.
    fn updated(&self, changes: &Changes) -> Done {
        let (found, changed) = (changes.found, changes.changed);
        let affected_rows = if self.found_rows { found } else { changed };
        self.state.row_count.set(affected_rows as i64);
        let info = format!("Rows matched: {found}  Changed: {changed}  Warnings: {}", self.warnings.count());
        let last_insert_id = self.state.given_insert_id.get().unwrap_or(0);
        Done { affected_rows, last_insert_id, info }
    }

    /// Notes what a DELETE did; what the client is told.
    fn deleted(&self, changes: &Changes) -> Done {
        self.state.row_count.set(changes.deleted as i64);
        Done { affected_rows: changes.deleted, ..Done::default() }
    }

    /// Sends the rows of RETURNING, now that all changes are made.
    fn send_returned(
        &self,
        cached: &CachedPlan,
        returning: Option<&Returning>,
        environment: &Environment<'_>,
        context: &EvalContext<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let Some(returning) = returning else { return Ok(()) };
        sink.columns(&cached.definitions);
        environment.returned.take().finish(None)?.for_each(&mut |row| {
            environment.tick(context)?;
            self.state.rows_sent.set(self.state.rows_sent.get() + 1);
            sink.row(row, &returning.types);
            Ok(true)
        })
    }

    /// The AUTO_INCREMENT values that an INSERT takes.
    pub(super) fn series(&self) -> Series {
        let settings = &self.variables.settings;
        Series {
            offset: settings.auto_increment_offset,
            step: settings.auto_increment_increment,
            forced: self.state.insert_id.get(),
            found_rows: self.found_rows,
        }
    }

    /// Notes what an INSERT did; the affected rows and the insert id that the client is told.
    fn inserted(&self, changes: &Changes) -> (u64, u64) {
        if changes.generated_id > 0 {
            self.state.last_insert_id.set(changes.generated_id);
            self.state.null_finds_last_id.set(true);
        }
        if changes.used_forced_id {
            self.state.insert_id.set(0);
        }
        let last_insert_id = match self.state.given_insert_id.get() {
            _ if changes.generated_id > 0 => changes.generated_id,
            Some(given) => given,
            None => changes.explicit_id,
        };
        let affected_rows = changes.changed + changes.deleted;
        self.state.row_count.set(affected_rows as i64);
        (affected_rows, last_insert_id)
    }

    // ------------------------------------------------- prepared statements

    /// Prepares a statement of the client.
    pub fn prepare(&mut self, text: &[u8]) -> Result<Prepared> {
        let text = self.in_statement_charset(text);
        self.prepare_text(&text)
    }

    fn prepare_text(&mut self, text: &[u8]) -> Result<Prepared> {
        self.state_changed();
        let mode = self.variables.settings.sql_mode;
        self.begin_statement();
        self.refresh_rights();
        let (parsed, next) = parser::parse_first(text, mode)?;
        let parsed = parsed.ok_or_else(Error::empty_query)?;
        if let Some(next) = next
            && super::has_statement(&text[next..])
        {
            return Err(Error::syntax(String::from_utf8_lossy(&text[next..]).trim_start(), 1));
        }
        if matches!(
            parsed.statement,
            Statement::Prepare { .. } | Statement::Execute { .. } | Statement::Deallocate(_) | Statement::Load(_)
        ) {
            return Err(Error::not_preparable());
        }
        if parsed.parameters > u16::MAX as usize {
            return Err(Error::too_many_placeholders());
        }
        self.status.add(Counter::ComStmtPrepare, 1);
        if matches!(&parsed.statement, Statement::CreateTable(create) if create.start_transaction) {
            return Err(Error::not_preparable());
        }
        self.check_not_creating()?;
        self.enter_statement(|| changes_password(&parsed.statement))?;
        self.check_privileges(&parsed.statement)?;
        let (variables, statement) = match parsed.statement {
            Statement::SetStatement { variables, statement, by_hint, .. } => (Some((variables, by_hint)), *statement),
            statement => (None, statement),
        };
        self.follow_names();
        // Planned now, so that mistakes show and the client learns the columns; and again when the values are known.
        let plan = match self.sets_up(&statement) {
            Some(_) => None,
            None => self.plan_typed(&statement, parsed.parameters, &[], &[])?,
        };
        let columns = plan.as_ref().map_or_else(|| Arc::from([]), |plan| plan.definitions.clone());
        let id = self.next_prepared;
        self.next_prepared = self.next_prepared.wrapping_add(1).max(1);
        let plan = plan.filter(|plan| parsed.parameters == 0 && plan.is_cacheable);
        let mut statement = PreparedStatement {
            variables,
            statement,
            parameters: parsed.parameters,
            plans: Vec::new(),
            doubt: None,
            generation: self.generation.get(),
            circumstances: None,
            source: text.to_vec(),
            digest: None,
        };
        if let Some(plan) = plan {
            self.keep_prepared(&mut statement, Box::default(), plan);
        }
        self.prepared.insert(id, Some(Box::new(statement)));
        self.status.set_prepared_statements(self.prepared.len());
        Ok(Prepared { id, parameters: parsed.parameters, columns, warnings: self.warning_count() })
    }

    pub fn parameter_count(&self, id: u32) -> Option<usize> {
        self.prepared.get(&id)?.as_ref().map(|statement| statement.parameters)
    }

    /// Whether a prepared statement is a CALL.
    pub fn is_call(&self, id: u32) -> bool {
        let statement = self.prepared.get(&id).and_then(Option::as_ref);
        statement.is_some_and(|prepared| matches!(prepared.statement, Statement::Call(_)))
    }

    pub fn execute(&mut self, id: u32, parameters: &[Value], sink: &mut dyn ResultSink) {
        self.process.interrupt.clear();
        self.programs.begin();
        self.programs.sends_out_parameters.set(self.out_parameters);
        self.status.add(Counter::ComStmtExecute, 1);
        self.execute_prepared(id, parameters, false, sink);
    }

    fn execute_prepared(&mut self, id: u32, parameters: &[Value], more: bool, sink: &mut dyn ResultSink) {
        let Some(mut prepared) = self.prepared.get_mut(&id).and_then(Option::take) else {
            return self.fail(Error::unknown_prepared(&id.to_string(), "mysqld_stmt_execute"), sink);
        };
        if parameters.len() != prepared.parameters {
            self.prepared.insert(id, Some(prepared));
            return self.fail(Error::wrong_arguments("mysqld_stmt_execute"), sink);
        }
        let known = self.prepared_digest(&mut prepared.digest, &prepared.source);
        // Borrowed apart from what runs.
        let source = std::mem::take(&mut prepared.source);
        self.log_execution(&source, parameters);
        self.measured(known, &source, parameters, |session| {
            session.run_prepared(&mut prepared, &source, parameters, more, sink);
        });
        prepared.source = source;
        // Unless the statement closed itself.
        if let Some(slot) = self.prepared.get_mut(&id) {
            *slot = Some(prepared);
        }
    }

    fn run_prepared(
        &mut self,
        prepared: &mut PreparedStatement,
        source: &[u8],
        parameters: &[Value],
        more: bool,
        sink: &mut dyn ResultSink,
    ) {
        if let Some(variables) = prepared.variables.take() {
            let done = self.with_variables(&variables.0, variables.1, |session| {
                session.run_prepared(prepared, source, parameters, more, sink);
                Ok(())
            });
            prepared.variables = Some(variables);
            if let Err(error) = done {
                self.fail(error, sink);
            }
            return;
        }
        self.remember_prepared(source, parameters);
        if let Statement::Call(call) = &prepared.statement {
            let call = call.clone();
            self.begin_statement();
            let checked = self.check_not_creating().and_then(|()| self.enter_statement(|| false));
            if let Err(error) = checked.and_then(|()| self.call(&call, parameters, more, sink)) {
                self.fail(error, sink);
            }
            return;
        }
        if !prepared.statement.is_planned() {
            let statement = prepared.statement.clone();
            let outer = std::mem::replace(&mut self.given, parameters.into());
            let types = self.given_types.take();
            let done = self.dispatch(&statement, more, sink);
            (self.given, self.given_types) = (outer, types);
            if let Err(error) = done {
                self.fail(error, sink);
            }
            return;
        }
        if let Err(error) = self.check_not_creating().and_then(|()| self.enter_statement(|| false)) {
            self.begin_statement();
            return self.fail(error, sink);
        }
        if self.sets_up(&prepared.statement).is_some() {
            self.begin_statement();
            return match self.set_up(&prepared.statement, parameters) {
                Ok(done) => self.finish(&done.unwrap_or_default(), more, sink),
                Err(error) => self.fail(error, sink),
            };
        }
        self.follow_names_in(prepared, source);
        // A plan fits if the values are of the kinds that it was made for.
        let fits = |kinds: &[u8]| {
            kinds.len() == parameters.len()
                && kinds.iter().zip(parameters).all(|(kind, value)| *kind == parameter_kind(value))
        };
        let mut known = prepared.plans.iter().position(|(kinds, _)| fits(kinds));
        if known.is_none() && prepared.doubt.is_none() {
            let kinds: Box<[u8]> = parameters.iter().map(parameter_kind).collect();
            if let Some(plan) = self.shared_prepared(&kinds, source) {
                self.keep_prepared(prepared, kinds, plan);
                known = Some(0);
            }
        }
        if let Some(at) = known {
            // The latest one is the first.
            prepared.plans.swap(0, at);
            let plan = &mut prepared.plans[0].1;
            if self.is_current(plan) {
                self.status.add(Counter::PlanCacheHits, 1);
                if self.run_plan(plan, parameters, more, sink) == Outcome::Answered {
                    if let Some(doubt) = plan.doubt() {
                        prepared.doubt = Some(doubt);
                        prepared.plans.swap_remove(0);
                    }
                    return;
                }
                self.status.add(Counter::ComStmtReprepare, 1);
            }
            prepared.plans.swap_remove(0);
        }
        self.status.add(Counter::PlanCacheMisses, 1);
        self.begin_statement();
        match self.plan_and_run(&prepared.statement, prepared.parameters, parameters, more, sink) {
            Ok(Some(plan)) if plan.is_cacheable && prepared.generation == self.generation.get() => {
                prepared.doubt = prepared.doubt.and_then(|doubt| doubt.after(&plan));
                if prepared.doubt.is_none() {
                    let kinds = parameters.iter().map(parameter_kind).collect();
                    self.keep_prepared(prepared, kinds, plan);
                }
            }
            Ok(_) => {}
            Err(error) => self.fail(error, sink),
        }
    }

    /// Whether a plan is still as it would be made.
    pub(super) fn is_current(&self, plan: &CachedPlan) -> bool {
        !plan.is_outdated() && plan.variables.is_none_or(|variables| variables == self.state.variables_generation.get())
    }

    /// Plans a statement and runs it; None = it is of no kind that is planned. The plan can be kept.
    ///
    /// A table may be altered between the two. Then the statement is planned again, in the transaction that it runs in:
    /// so the tables are locked from the planning on, and the second plan fits.
    pub(super) fn plan_and_run(
        &mut self,
        statement: &Statement,
        parameter_count: usize,
        parameters: &[Value],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<Box<CachedPlan>>> {
        let types = self.types_of(parameters);
        self.plan_and_run_typed(statement, parameter_count, parameters, &types, more, sink)
    }

    /// The types of parameters that are known by their values alone.
    pub(super) fn types_of(&self, parameters: &[Value]) -> Vec<TypeInfo> {
        let connection = self.variables.settings.collation_connection;
        parameters.iter().map(|value| parameter_type(value, connection)).collect()
    }

    /// The same with parameters of declared types.
    pub(super) fn plan_and_run_typed(
        &mut self,
        statement: &Statement,
        parameter_count: usize,
        parameters: &[Value],
        types: &[TypeInfo],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<Box<CachedPlan>>> {
        let Some(mut plan) = self.plan_typed(statement, parameter_count, parameters, types)? else { return Ok(None) };
        if self.run_plan(&mut plan, parameters, more, sink) == Outcome::Answered {
            self.note_indexes(&plan.plan);
            return Ok(Some(plan));
        }
        self.begin_statement();
        if self.trx.is_none() {
            self.trx = Some(self.begin_trx());
        }
        let planned = self.plan_typed(statement, parameter_count, parameters, types).map(|planned| {
            planned.map(|mut plan| {
                if self.run_plan(&mut plan, parameters, more, sink) == Outcome::Stale {
                    self.fail(Error::internal("a table changed under its lock"), sink);
                }
                plan
            })
        });
        // It belonged to this statement alone, which may not have run.
        if !self.in_transaction() {
            drop(self.trx.take());
        }
        planned
    }

    /// A new plan has run: the indexes by which it finds rows are in use.
    fn note_indexes(&self, plan: &Plan) {
        let mut note = |select: &SelectPlan, step: &TableStep| {
            let SourceKind::Table(table) = &select.sources[step.source].kind else { return };
            for (index, _) in step.access.indexes().into_iter().filter(|(index, _)| *index > 0) {
                let name = &table.indexes[index].name;
                self.instance.statements.note_index(&table.database, &table.name, name);
            }
        };
        match plan {
            Plan::Query { plan, .. } => each_step(plan, &mut note),
            Plan::Insert(plan) => {
                if let InsertRows::Query(query) = &plan.source {
                    each_step(query, &mut note);
                }
            }
            Plan::Update(plan) => each_step_of(&plan.select, &mut note),
            Plan::Delete(plan) => each_step_of(&plan.select, &mut note),
            Plan::JoinedUpdate(plan) => each_step_of(&plan.select, &mut note),
            Plan::JoinedDelete(plan) => each_step_of(&plan.select, &mut note),
            Plan::Load(_) => {}
        }
    }

    pub fn close_statement(&mut self, id: u32) {
        if let Some(closed) = self.prepared.remove(&id) {
            if let Some(closed) = closed {
                self.retire_closed(closed);
            }
            self.status.add(Counter::ComStmtClose, 1);
            self.status.set_prepared_statements(self.prepared.len());
        }
    }

    /// PREPARE name FROM text.
    pub(super) fn prepare_named(&mut self, name: &str, source: &PrepareSource) -> Result<()> {
        self.status.add(Counter::ComPrepareSql, 1);
        let text = match source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::Variable(variable) => {
                match self.state.user_variables.borrow().get(&variable.to_lowercase()) {
                    Some((Value::Bytes(text), ty)) => Datum::bytes(text.clone()).in_utf8(ty).into_text(ty).into_owned(),
                    _ => b"NULL".to_vec(),
                }
            }
        };
        if let Some(old) = self.named.remove(&name.to_lowercase()) {
            self.close_statement(old);
        }
        let prepared = self.prepare_text(&text)?;
        self.named.insert(name.to_lowercase(), prepared.id);
        Ok(())
    }

    /// EXECUTE IMMEDIATE: the statement is prepared, executed and forgotten.
    pub(super) fn execute_immediate(
        &mut self,
        source: &parser::ast::Expr,
        using: &[parser::ast::Expr],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.status.add(Counter::ComExecuteSql, 1);
        let (value, ty) = self.evaluate(source)?;
        let text = match value {
            Value::Null => b"NULL".to_vec(),
            value => Datum::from(value).in_utf8(&ty).into_text(&ty).into_owned(),
        };
        let mut values = Vec::with_capacity(using.len());
        for expr in using {
            let (value, ty) = self.evaluate(expr)?;
            values.push(self.as_parameter(value, &ty));
        }
        let id = self.prepare(&text)?.id;
        if self.parameter_count(id) != Some(values.len()) {
            self.close_statement(id);
            return Err(Error::wrong_arguments("EXECUTE"));
        }
        self.execute_prepared(id, &values, more, sink);
        self.close_statement(id);
        match self.state.error_count.get() {
            0 => Ok(()),
            _ => Err(Error::new(0, b"00000", "")),
        }
    }

    /// A value as a parameter: a text is in the connection's character set, as those of clients are.
    fn as_parameter(&self, value: Value, ty: &TypeInfo) -> Value {
        let to = collation(self.variables.settings.collation_connection).charset;
        match value {
            Value::Bytes(text) if ty.is_string() && !ty.is_binary() && ty.charset() != to => {
                let mut converted = Vec::with_capacity(text.len());
                convert(&text, ty.charset(), to, &mut converted);
                Value::Bytes(converted)
            }
            value => value,
        }
    }

    /// EXECUTE name USING @a, @b.
    pub(super) fn execute_named(
        &mut self,
        name: &str,
        using: &[String],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.status.add(Counter::ComExecuteSql, 1);
        let id = *self.named.get(&name.to_lowercase()).ok_or_else(|| Error::unknown_prepared(name, "EXECUTE"))?;
        let values: Vec<Value> = {
            let variables = self.state.user_variables.borrow();
            let value = |name: &String| match variables.get(&name.to_lowercase()) {
                Some((value, ty)) => self.as_parameter(value.clone(), ty),
                None => Value::Null,
            };
            using.iter().map(value).collect()
        };
        if self.parameter_count(id) != Some(values.len()) {
            return Err(Error::wrong_arguments("EXECUTE"));
        }
        self.programs.executed_with.replace(Some(using.to_vec()));
        self.execute_prepared(id, &values, more, sink);
        self.programs.executed_with.replace(None);
        match self.state.error_count.get() {
            0 => Ok(()),
            _ => Err(Error::new(0, b"00000", "")),
        }
    }
}

fn uses_of(plan: &Plan) -> Uses {
    let mut uses = Uses::default();
    match plan {
        Plan::Query { plan, .. } => uses.add_query(plan),
        Plan::Insert(plan) => {
            if let InsertRows::Query(query) = &plan.source {
                uses.add_query(query);
            }
        }
        Plan::Update(plan) => uses.add_select(&plan.select),
        Plan::Delete(plan) => uses.add_select(&plan.select),
        Plan::JoinedUpdate(plan) => uses.add_select(&plan.select),
        Plan::JoinedDelete(plan) => uses.add_select(&plan.select),
        Plan::Load(_) => {}
    }
    uses
}

/// Whether a query reads all of a table though it could use a key: other values may be worth the key.
fn scans_for_values(plan: &QueryPlan) -> bool {
    match plan {
        QueryPlan::Select(plan) => scans_in_spite_of_keys(plan),
        QueryPlan::Union(plan) => plan.parts.iter().any(scans_for_values),
        QueryPlan::Recursive(plan) => scans_for_values(&plan.seed) || plan.members.iter().any(scans_for_values),
        QueryPlan::Working(_) => false,
    }
}

fn scans_in_spite_of_keys(plan: &SelectPlan) -> bool {
    plan.steps.iter().any(|step| match step {
        Step::Table(step) => matches!(step.access, Access::Scan { .. }) && !step.possible_keys.is_empty(),
        Step::Left { .. } | Step::Semi { .. } => false,
    })
}

fn any_filter(step: &Step, holds: &dyn Fn(&Expr) -> bool) -> bool {
    match step {
        Step::Table(step) => step.filters.iter().any(|filter| holds(&filter.expr)),
        Step::Semi { steps, .. } => steps.iter().any(|step| any_filter(step, holds)),
        Step::Left { steps, filters, .. } => {
            filters.iter().any(holds) || steps.iter().any(|step| any_filter(step, holds))
        }
    }
}

/// Whether a query reads user or system variables, whose types may be others next time.
fn reads_variables(plan: &QueryPlan) -> bool {
    let reads = |expr: &Expr| {
        let mut found = false;
        expr.walk(&mut |expr| {
            found |=
                matches!(expr.node, Node::UserVariable(_) | Node::AssignVariable(..) | Node::SystemVariable { .. });
        });
        found
    };
    match plan {
        QueryPlan::Select(plan) => {
            plan.output.iter().any(reads)
                || plan.having.iter().any(reads)
                || plan.constants.iter().any(reads)
                || plan.steps.iter().any(|step| any_filter(step, &reads))
                || plan.order.iter().any(|(expr, _)| reads(expr))
                || plan.subqueries.iter().any(|subquery| reads_variables(&subquery.plan))
        }
        QueryPlan::Union(plan) => plan.parts.iter().any(reads_variables),
        QueryPlan::Recursive(plan) => reads_variables(&plan.seed) || plan.members.iter().any(reads_variables),
        QueryPlan::Working(_) => false,
    }
}
