//! Stored functions and triggers: programs inside of a statement.

use std::cell::RefCell;
use std::sync::Arc;

use format::value::{ColumnType, Value};
use storage::{Definition, Trx};

use super::run::{Host, Run};
use super::unit::{Compiled, Unit};
use crate::accounts::{Privileges, Rights};
use crate::error::{Error, Result};
use crate::expression::{Assigned, EvalContext, Expr, Programs, StoredFunction, TriggerRows};
use crate::session::Session;
use crate::types::TypeInfo;

/// What a program brings: what it sets of it lasts as long as it runs.
pub const BROUGHT: &[&str] = &["sql_mode", "character_set_client", "character_set_connection", "collation_connection"];

/// What a function or a trigger sets for itself alone, as in MySQL and MariaDB.
const OPTIONS: &[&str] = &[
    "big_tables",
    "check_constraint_checks",
    "foreign_key_checks",
    "profiling",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_log_off",
    "sql_notes",
    "sql_quote_show_create",
    "sql_safe_updates",
    "sql_warnings",
    "unique_checks",
];

/// Runs programs for a statement.
pub struct Runner<'a> {
    pub session: &'a Session,
    pub trx: &'a RefCell<Trx>,
}

impl Runner<'_> {
    /// Runs a unit that is not running yet; what it leaves in its frame. The conditions of the statement stay, and behind
    /// them those of the RETURN of a function, and of an error. Those of a trigger's statements are its own.
    fn run<T>(
        &self,
        unit: &mut Unit,
        compiled: &Arc<Compiled>,
        frame: Vec<Value>,
        rights: Option<Arc<Rights>>,
        finish: impl FnOnce(&mut Run<'_, '_>) -> T,
    ) -> Result<T> {
        let session = self.session;
        if session.programs.running(&compiled.definition) > 0 {
            return Err(Error::recursive_function());
        }
        session.programs.enter(compiled)?;
        let outer = session.warnings.conditions();
        session.warnings.clear();
        let state = &session.state;
        let kept = (state.last_insert_id.get(), state.row_count.get(), state.found_rows.get());
        let (given, forced, errors) = (state.given_insert_id.get(), state.insert_id.get(), state.error_count.get());
        let version = session.variables.number();
        let host = Host::Statement { session, trx: self.trx, rights };
        let mut run = Run::of_program(host, compiled, unit, frame);
        let ran = session.with_savepoints(|| run.run());
        session.take_back(version, BROUGHT);
        session.take_back(version, OPTIONS);
        let result = ran.map(|()| finish(&mut run));
        drop(run);
        state.last_insert_id.set(kept.0);
        state.row_count.set(kept.1);
        state.found_rows.set(kept.2);
        state.given_insert_id.set(given);
        state.insert_id.set(forced);
        state.error_count.set(errors);
        session.programs.leave();
        // The error of the program becomes that of the statement, which lists it itself.
        if let Err(error) = &result
            && session.warnings.ends_with(error)
        {
            let mut own = session.warnings.conditions();
            own.pop();
            session.warnings.replace(own);
        }
        if result.is_ok() && compiled.returns.is_none() {
            session.warnings.clear();
        }
        if outer.is_empty() {
            return result;
        }
        let own = session.warnings.conditions();
        session.warnings.replace(outer.into_iter().chain(own).collect());
        result
    }

    /// Whose rights count here, if not those of a definer.
    fn invoker(&self, context: &EvalContext<'_>) -> Option<Arc<Rights>> {
        // A program that runs with its definer's rights hands them on.
        let account = context.session.account();
        let known = self.session.programs.rights.borrow();
        let found = known.iter().find(|(own, ..)| Some(own) == account.as_ref());
        found.filter(|(own, ..)| *own != self.session.rights.account).map(|(_, _, rights)| rights.clone())
    }
}

impl Programs for Runner<'_> {
    fn call(
        &self,
        function: &StoredFunction,
        args: Vec<(Value, TypeInfo)>,
        context: &EvalContext<'_>,
    ) -> Result<Value> {
        let session = self.session;
        if session.is_killed_now() {
            return Err(Error::interrupted());
        }
        let invoker = self.invoker(context);
        let rights = invoker.as_deref().unwrap_or(&session.rights);
        let mut unit =
            session.programs.take(&function.definition, None, &rights.account, session.programs_generation())?;
        let compiled = unit.compiled.clone();
        let rights = session.routine_rights(&compiled, rights)?.or(invoker);
        let mut frame = vec![Value::Null; compiled.locals.len()];
        let converts =
            Run::of_program(Host::Statement { session, trx: self.trx, rights: None }, &compiled, &mut unit, Vec::new());
        for (at, (value, from)) in args.into_iter().enumerate() {
            let local = &compiled.locals[at];
            // Arguments become parameters in the sql_mode of who calls.
            frame[at] = converts.converted_in(context.mode, value, &from, (&local.name, &local.ty), false)?.0;
        }
        drop(converts);
        let result = self.run(&mut unit, &compiled, frame, rights, |run| run.result.take());
        session.programs.give_back(unit);
        Ok(result?.unwrap_or(Value::Null))
    }

    fn fire(&self, trigger: &Arc<Definition>, rows: TriggerRows<'_>, context: &EvalContext<'_>) -> Result<Assigned> {
        let session = self.session;
        if session.is_killed_now() {
            return Err(Error::interrupted());
        }
        let invoker = self.invoker(context);
        let rights = invoker.as_deref().unwrap_or(&session.rights);
        let account = &rights.account;
        let mut unit = session.programs.take(trigger, Some(rows.table), account, session.programs_generation())?;
        let compiled = unit.compiled.clone();
        let rights = session.program_rights(compiled.definer.as_ref(), rights)?;
        let rights_now = rights.as_deref().unwrap_or(&session.rights);
        check_subject(rights_now, trigger, &compiled)?;
        let mut frame = vec![Value::Null; compiled.locals.len()];
        for (place, local) in frame.iter_mut().zip(&compiled.locals) {
            let Some((new, column)) = local.field else { continue };
            let Some(row) = (if new { rows.new } else { rows.old }) else { continue };
            *place = field_value(&local.ty, column, row, context)?;
        }
        let assigned = self.run(&mut unit, &compiled, frame, rights, |run| std::mem::take(&mut run.assigned));
        session.programs.give_back(unit);
        let column = |variable: usize| compiled.locals[variable].field.map_or(0, |(_, column)| column);
        Ok(assigned?.into_iter().map(|(variable, stored)| (column(variable), stored)).collect())
    }
}

/// A trigger takes TRIGGER on its table; SELECT on the columns of NEW and OLD that it reads, UPDATE on those of NEW that it
/// assigns.
fn check_subject(rights: &Rights, trigger: &Definition, compiled: &Compiled) -> Result<()> {
    let (database, table) = (&*trigger.database, &*trigger.table);
    let own = if rights.is_internal() { Privileges::TABLE } else { rights.on_table(database, table) };
    if own.has(Privileges::TRIGGER | Privileges::SELECT | Privileges::UPDATE) {
        return Ok(());
    }
    rights.need_table(Privileges::TRIGGER, database, table)?;
    let need = |wanted: Privileges, fields: &[usize]| {
        fields.iter().try_for_each(|at| rights.need_column(wanted, database, table, &compiled.locals[*at].name))
    };
    need(Privileges::SELECT, &compiled.program.read_fields)?;
    need(Privileges::UPDATE, &compiled.program.assigned)
}

fn field_value(
    ty: &ColumnType,
    column: usize,
    row: &dyn crate::expression::Fields,
    context: &EvalContext<'_>,
) -> Result<Value> {
    Expr::column(column, ty, true).value(context, row)
}

impl Session {
    /// Variables have again the values that they had before a program set them.
    pub fn take_back(&self, version: usize, names: &[&str]) {
        let (now, before) = (self.variables.number(), self.variables.of(version));
        if now == version {
            return;
        }
        let taken = self.variables.change(|own| {
            own.take_back(names, before);
            Ok(())
        });
        if taken.is_err() {
            self.variables.go_back(version);
        }
        if !self.variables.plans_like(self.variables.of(now)) {
            self.change_names();
        }
    }

    fn is_killed_now(&self) -> bool {
        self.process.interrupt.is_set()
    }
}
