//! How stored programs run.
//!
//! ```text
//!   CALL p(..)        Run with the session      each statement like one of the client's: it commits, sends rows
//!   events            the same, in a session of their own
//!   f(..), triggers   Run inside of a statement its transaction, its locks, its log; nothing is sent
//! ```
//!
//! A program is parsed once per session and version of its definition (`unit`). Its statements are planned like prepared
//! statements, with the local variables as parameters of declared types, and keep their plans in the unit's slots. A unit
//! runs once at a time: a recursive call takes another one.
//!
//! A program that runs inside of a statement borrows the session and the transaction, as the executor does. What needs
//! more of the session (a commit, DDL, a system variable) cannot be in one.
//!
//! | module | idea |
//! |---|---|
//! | `unit` | programs ready to run |
//! | `run` | blocks, branches, loops; which handler takes an error |
//! | `value` | expressions and assignments |
//! | `sql` | statements of SQL, cursors |
//! | `call` | CALL: arguments, rights, recursion |
//! | `inner` | functions and triggers |
//! | `savepoints` | savepoints of functions and triggers |
//! | `diagnostics` | SIGNAL, RESIGNAL, GET DIAGNOSTICS |
//! | `sink` | where the results of a procedure's statements go |
//!
//! Invariants:
//!
//! * A statement inside of another one that fails leaves nothing behind: neither rows, nor events in the log.
//! * A table that a statement uses is not changed by a program inside of it (1442).
//! * Programs that call each other end with an error before the stack of the thread does.

mod call;
mod diagnostics;
mod inner;
mod run;
mod savepoints;
mod sink;
mod sql;
mod unit;
mod value;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use format::collation::CollationId;
use format::value::Value;
use rustc_hash::FxHashMap;
use storage::{Definition, DefinitionKind, Table, TableUse};

use super::Session;
use crate::accounts::{Key, Rights};
use crate::error::{Error, Result};
use crate::expression::{Condition, EvalContext, SessionState};
use crate::parser::ast::{Call, DataAccess, GetDiagnostics, Program, ProgramKind, Signal, Wanted};
use crate::programs::Routine;
use crate::result::ResultSink;
use crate::sequences;
use crate::types::TypeInfo;

pub(super) use inner::Runner;
use run::{Host, Run};
use unit::{Compiled, Unit, UnitKey};
use value::converted;

/// How much of a thread's stack programs that call each other may take.
const STACK_BYTES_MAX: usize = 1200 << 10;

/// Rows that a program asked for, and their types.
pub(super) struct Collected {
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) types: Vec<TypeInfo>,
    /// What becomes of the values of the first row; shorter than what is wanted where the next value did not fit.
    converted: Vec<Converted>,
}

/// A value on its way to who wanted it.
enum Converted {
    /// As it is in the row.
    Plain,
    /// As a local variable has it, and as a column stores it if the variable is a field.
    Typed(Value, Option<Box<[u8]>>),
}

/// What a session knows of programs.
#[derive(Default)]
pub struct Programs {
    idle: RefCell<FxHashMap<UnitKey, Vec<Unit>>>,
    /// The definitions of those that run, the innermost last.
    stack: RefCell<Vec<Arc<Compiled>>>,
    /// The tables of the statements that run them.
    in_use: RefCell<Vec<Vec<Arc<Table>>>>,
    collected: RefCell<Option<Collected>>,
    /// The savepoints of the functions and triggers that run, those of the innermost last.
    savepoints: RefCell<Vec<savepoints::Scope>>,
    /// What the handlers that run have to handle, the innermost last.
    handled: RefCell<Vec<Vec<Condition>>>,
    /// Where the stack stood when the first one began.
    base: Cell<usize>,
    /// The rights of definers, as of a version of the accounts.
    rights: RefCell<Vec<(Key, u64, Arc<Rights>)>>,
    /// A program has used prepared statements of the session.
    prepares: Cell<bool>,
    /// The user variables that are the `?` of the CALL that EXECUTE runs.
    pub executed_with: RefCell<Option<Vec<String>>>,
    /// OUT parameters of the CALL that runs go to the client.
    pub sends_out_parameters: Cell<bool>,
}

/// About where the stack of the thread stands.
#[inline(never)]
fn stack_place() -> usize {
    let marker = 0u8;
    std::ptr::from_ref(&marker).addr()
}

/// Whether the types of a program's variables, and the columns of NEW and OLD, are such that there are.
pub(super) fn check_types(program: &Program, table: Option<&Table>, database: CollationId) -> Result<()> {
    let locals = unit::locals(program, table, database)?;
    let Some(table) = table else { return Ok(()) };
    let assigned = program.assigned.iter().filter_map(|at| locals[*at].field);
    for (_, column) in assigned {
        let described = &table.columns[column];
        if described.generated.is_some() {
            return Err(Error::generated_value(&described.name, &table.name));
        }
    }
    Ok(())
}

impl Programs {
    /// A statement of the client begins.
    pub fn begin(&self) {
        self.sends_out_parameters.set(false);
    }

    pub fn is_running(&self) -> bool {
        !self.stack.borrow().is_empty()
    }

    pub fn note_prepared(&self) {
        self.prepares.set(true);
    }

    /// Keeps rows for the program that runs. Values that it wants in variables are converted here, as a part of the
    /// statement: what the statement has done does not stay if one of them does not fit.
    pub fn collect(
        &self,
        rows: Vec<Vec<Value>>,
        types: Vec<TypeInfo>,
        wanted: &[Wanted],
        context: &EvalContext<'_>,
    ) -> Result<()> {
        let mut collected = Collected { rows, types, converted: Vec::new() };
        let program = self.stack.borrow().last().cloned();
        let context = &EvalContext { strict_change: context.mode.is_strict(), ..*context };
        let mut failed = None;
        let values = collected.rows.first().map(|row| row.as_slice()).unwrap_or_default();
        for ((wanted, value), from) in wanted.iter().zip(values).zip(&collected.types) {
            let target = program.as_deref().and_then(|program| program.target(*wanted));
            let Some((name, ty, as_stored)) = target else {
                collected.converted.push(Converted::Plain);
                continue;
            };
            match converted(context, value.clone(), from, (name, ty), as_stored) {
                Ok((value, stored)) => collected.converted.push(Converted::Typed(value, stored)),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.collected.replace(Some(collected));
        failed.map_or(Ok(()), Err)
    }

    pub(super) fn take_collected(&self) -> Option<Collected> {
        self.collected.borrow_mut().take()
    }

    /// Runs a statement in which programs run: they must not change its tables.
    pub fn using<T>(&self, tables: &[(Arc<Table>, TableUse)], run: impl FnOnce() -> T) -> T {
        // A sequence is no part of the statement's transaction.
        let used = tables.iter().map(|(table, _)| table).filter(|table| !sequences::is_sequence(table));
        self.in_use.borrow_mut().push(used.cloned().collect());
        let result = run();
        self.in_use.borrow_mut().pop();
        result
    }

    pub fn is_used(&self, table: &Arc<Table>) -> bool {
        self.in_use.borrow().iter().flatten().any(|used| used.id == table.id)
    }

    /// How many programs run, one inside of the other.
    pub fn depth(&self) -> usize {
        self.stack.borrow().len()
    }

    /// How often a program runs already.
    fn running(&self, definition: &Definition) -> usize {
        self.stack.borrow().iter().filter(|running| running.definition.full_name() == definition.full_name()).count()
    }

    /// A program begins.
    fn enter(&self, program: &Arc<Compiled>) -> Result<()> {
        let here = stack_place();
        let mut stack = self.stack.borrow_mut();
        if stack.is_empty() {
            self.base.set(here);
        }
        if self.base.get().abs_diff(here) > STACK_BYTES_MAX {
            return Err(Error::programs_nested_too_deep());
        }
        stack.push(program.clone());
        Ok(())
    }

    fn leave(&self) {
        self.stack.borrow_mut().pop();
    }
}

impl Session {
    /// CALL by the client; `parameters` are the values of its `?`.
    pub(super) fn call(
        &mut self,
        call: &Call,
        parameters: &[Value],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let types = self.types_of(parameters);
        let sends_out = self.programs.sends_out_parameters.replace(false);
        let named = self.programs.executed_with.take();
        let mut out = Vec::new();
        let called = self.limited_in_time(0, |session| {
            let mut run = Run::of_client(Host::Session { session, sink }, parameters.to_vec(), types);
            let called = run.call(call);
            if called.is_ok() && (sends_out || named.is_some()) {
                out = run.out_parameters(call);
            }
            called
        });
        called?;
        match named {
            Some(names) => {
                for (at, value, ty) in out {
                    let Some(name) = names.get(at) else { continue };
                    self.view().set_user_variable(name, value, ty);
                }
            }
            None if !out.is_empty() => self.send_out_parameters(&out, sink),
            None => {}
        }
        let done = super::Done { affected_rows: self.state.row_count.get().max(0) as u64, ..super::Done::default() };
        self.finish(&done, more, sink);
        Ok(())
    }

    /// BEGIN NOT ATOMIC ... END: a procedure without a name, with the session's rights, database and settings.
    pub(super) fn run_block(&mut self, written: &[u8], more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let account = self.rights.account.clone();
        let routine = Routine {
            kind: ProgramKind::Procedure,
            name: String::new(),
            parameters: String::new(),
            returns: String::new(),
            body: self.program_text(written),
            deterministic: false,
            access: DataAccess::Contains,
            as_invoker: true,
            comment: String::new(),
            origin: self.program_origin(account.clone(), self.variables.settings.collation_database),
        };
        let definition = Arc::new(Definition {
            kind: DefinitionKind::Procedure,
            database: self.state.database.as_deref().unwrap_or_default().into(),
            name: "".into(),
            table: "".into(),
            bytes: routine.encode(),
        });
        self.limited_in_time(0, |session| {
            let mut unit = session.programs.take(&definition, None, &account, session.programs_generation())?;
            let compiled = unit.compiled.clone();
            session.programs.enter(&compiled)?;
            let frame = vec![Value::Null; compiled.locals.len()];
            let host = Host::Session { session, sink };
            let mut run = Run::of_program(host, &compiled, &mut unit, frame);
            let ran = run.run();
            run.session().programs.leave();
            ran
        })?;
        let done = super::Done { affected_rows: self.state.row_count.get().max(0) as u64, ..super::Done::default() };
        self.finish(&done, more, sink);
        Ok(())
    }

    /// Runs the body of an event.
    pub(super) fn run_program(&mut self, definition: &Arc<Definition>) -> Result<()> {
        let account = self.rights.account.clone();
        let mut unit = self.programs.take(definition, None, &account, self.programs_generation())?;
        let compiled = unit.compiled.clone();
        self.programs.enter(&compiled)?;
        let outside = self.enter_procedure(&compiled, None);
        let frame = vec![Value::Null; compiled.locals.len()];
        let mut nobody = sink::Nobody;
        let host = Host::Session { session: self, sink: &mut nobody };
        let ran = Run::of_program(host, &compiled, &mut unit, frame).run();
        self.leave_procedure(outside);
        self.programs.leave();
        ran
    }

    pub(super) fn signal(&mut self, signal: &Signal) -> Result<()> {
        let mut nobody = sink::Nobody;
        Run::of_client(Host::Session { session: self, sink: &mut nobody }, Vec::new(), Vec::new()).signal(signal)
    }

    pub(super) fn get_diagnostics(&mut self, get: &GetDiagnostics) -> Result<()> {
        let mut nobody = sink::Nobody;
        Run::of_client(Host::Session { session: self, sink: &mut nobody }, Vec::new(), Vec::new()).get_diagnostics(get)
    }
}
