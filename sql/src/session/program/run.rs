//! A program's statements in their order, and what happens when one of them fails.
//!
//! A condition looks for a handler where it was raised: in the blocks around, from the innermost outwards. A handler runs
//! there and then, with the handlers of the blocks outside of its own. Behind a CONTINUE handler the program goes on with
//! the next statement (of an IF, CASE or loop whose condition failed: the one behind it); behind an EXIT handler with what
//! follows the handler's block.

use std::cell::RefCell;
use std::sync::Arc;

use format::collation::CollationId;
use format::value::Value;
use storage::Trx;

use super::unit::{Compiled, Unit};
use crate::accounts::Rights;
use crate::error::{Error, Level, Result};
use crate::expression::Condition;
use crate::parser::ast::{Block, Computed, HandledCondition, Handler, ProgramKind, Show, Statement, Step};
use crate::result::ResultSink;
use crate::session::{Session, Surroundings};
use crate::types::{SqlMode, TypeInfo};

/// Who runs a program.
pub(super) enum Host<'h> {
    /// The session: its statements are like the client's.
    Session { session: &'h mut Session, sink: &'h mut dyn ResultSink },
    /// A statement, with the rights of the program (None: the session's).
    Statement { session: &'h Session, trx: &'h RefCell<Trx>, rights: Option<Arc<Rights>> },
}

impl Host<'_> {
    pub fn session(&self) -> &Session {
        match self {
            Host::Session { session, .. } => session,
            Host::Statement { session, .. } => session,
        }
    }
}

/// What follows a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// The block or loop of this label is left.
    Leave(usize),
    Iterate(usize),
    Return,
}

/// A row of a cursor.
pub(super) struct OpenCursor {
    pub rows: Vec<Vec<Value>>,
    pub types: Vec<TypeInfo>,
    pub at: usize,
}

/// A block that runs.
struct Scope<'p> {
    label: usize,
    handlers: &'p [Handler],
    /// Its variables have their defaults. What goes wrong with those is a matter of the blocks around; but as in MySQL a
    /// condition that one of its own handlers names is handled by none.
    is_declared: bool,
}

/// A program that runs; without a unit it is a statement of the client's.
pub(super) struct Run<'h, 'p> {
    pub host: Host<'h>,
    pub compiled: Option<&'p Compiled>,
    pub unit: Option<&'h mut Unit>,
    pub frame: Vec<Value>,
    /// The types of the frame, where there is no program.
    pub types: Vec<TypeInfo>,
    pub cursors: Vec<Option<OpenCursor>>,
    /// The blocks around the statement, by their labels, with their handlers.
    scopes: Vec<Scope<'p>>,
    pub result: Option<Value>,
    /// Variables that are fields of NEW, with their new values as they are stored.
    pub assigned: Vec<(usize, Option<Box<[u8]>>)>,
    /// Rows of a result were sent before its statement failed.
    pub is_partial: bool,
    /// What a program inside of a statement has set for the rest of itself: `sql_mode`; `character_set_client` and
    /// `collation_connection`.
    pub mode: Option<SqlMode>,
    pub literals: Option<(CollationId, CollationId)>,
}

/// Errors that no handler takes.
fn is_fatal(error: &Error) -> bool {
    // KILL, a limit of time, the end of the server, the stack.
    matches!(error.code, 1317 | 3024 | 1969 | 1053 | 1436)
}

/// How exactly a handler means a condition; None: it does not.
fn rank(handled: HandledCondition, code: u16, state: &[u8; 5], level: Level) -> Option<u8> {
    let class = &state[..2];
    match handled {
        HandledCondition::Code(own) => (own == code).then_some(3),
        HandledCondition::State(own) => (own == *state).then_some(2),
        // SELECT ... INTO that finds no row raises a warning of the class of NOT FOUND.
        HandledCondition::Warning => (class == b"01" || level == Level::Warning).then_some(1),
        HandledCondition::NotFound => (class == b"02").then_some(1),
        HandledCondition::Exception => (level == Level::Error && !matches!(class, b"00" | b"01" | b"02")).then_some(1),
    }
}

impl<'h, 'p> Run<'h, 'p> {
    /// A statement that the client has sent, with the values of its `?`.
    pub fn of_client(host: Host<'h>, frame: Vec<Value>, types: Vec<TypeInfo>) -> Run<'h, 'p> {
        Run {
            host,
            compiled: None,
            unit: None,
            frame,
            types,
            cursors: Vec::new(),
            scopes: Vec::new(),
            result: None,
            assigned: Vec::new(),
            is_partial: false,
            mode: None,
            literals: None,
        }
    }

    pub fn of_program(host: Host<'h>, compiled: &'p Compiled, unit: &'h mut Unit, frame: Vec<Value>) -> Run<'h, 'p> {
        let cursors = compiled.program.cursors.iter().map(|_| None).collect();
        Run { compiled: Some(compiled), unit: Some(unit), cursors, ..Run::of_client(host, frame, Vec::new()) }
    }

    pub fn session(&self) -> &Session {
        self.host.session()
    }

    /// The surroundings of what the program does.
    pub fn surroundings(&self) -> Surroundings<'_> {
        let session = self.host.session();
        let own = session.surroundings();
        match (&self.host, self.compiled) {
            (Host::Session { .. }, _) => own,
            (Host::Statement { rights, .. }, Some(compiled)) => Surroundings {
                rights: rights.as_deref().unwrap_or(own.rights),
                database: Some(&compiled.definition.database),
                mode: self.mode.unwrap_or(compiled.mode),
                literals: (compiled.literals.0, self.literals.map_or(compiled.literals.1, |own| own.1)),
                client: self.literals.map_or(compiled.client, |own| own.0),
                is_inner: true,
            },
            (Host::Statement { .. }, None) => Surroundings { is_inner: true, ..own },
        }
    }

    /// Runs the program from its beginning.
    pub fn run(&mut self) -> Result<()> {
        let Some(compiled) = self.compiled else { return Ok(()) };
        match self.step(&compiled.program.body)? {
            Flow::Return => Ok(()),
            _ if compiled.kind == ProgramKind::Function && self.result.is_none() => {
                let error = Error::ended_without_return(&compiled.shown);
                self.session().warnings.push_error(&error);
                Err(error)
            }
            _ => Ok(()),
        }
    }

    fn steps(&mut self, steps: &'p [Step]) -> Result<Flow> {
        for step in steps {
            match self.step(step)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn step(&mut self, step: &'p Step) -> Result<Flow> {
        if self.session().process.interrupt.is_set() {
            return Err(Error::interrupted());
        }
        match step {
            Step::Block(block) => self.block(block),
            Step::Choose { choice, branches, otherwise } => {
                let mut chosen = None;
                let flow = self.guarded(false, |run| {
                    chosen = run.choice(choice)?;
                    if chosen.is_some_and(|at| at >= branches.len()) && otherwise.is_none() {
                        return Err(Error::case_not_found());
                    }
                    Ok(Flow::Next)
                })?;
                match (flow, chosen) {
                    (Flow::Next, Some(at)) if at < branches.len() => self.steps(&branches[at]),
                    (Flow::Next, Some(_)) => self.steps(otherwise.as_deref().unwrap_or_default()),
                    (flow, _) => Ok(flow),
                }
            }
            Step::Loop { label, before, body, until } => self.turns(*label, before.as_ref(), body, until.as_ref()),
            Step::Leave(label) => Ok(Flow::Leave(*label)),
            Step::Iterate(label) => Ok(Flow::Iterate(*label)),
            // The conditions of statements before it are not those of the function.
            Step::Return(value) => self.guarded(true, |run| {
                run.returns(value)?;
                Ok(Flow::Return)
            }),
            Step::Open(cursor) => self.leaf(true, |run| run.open(*cursor)),
            Step::Fetch { cursor, into } => self.leaf(false, |run| run.fetch(*cursor, into)),
            Step::Close(cursor) => self.leaf(false, |run| run.close(*cursor)),
            // To handlers each assignment is a statement of its own.
            Step::Set(items) => {
                for item in items {
                    match self.leaf(false, |run| run.set(item))? {
                        Flow::Next => {}
                        flow => return Ok(flow),
                    }
                }
                Ok(Flow::Next)
            }
            Step::Do(values) => {
                self.leaf(false, |run| values.iter().try_for_each(|value| run.compute(value).map(drop)))
            }
            Step::Call(call) => self.leaf(true, |run| run.call(call)),
            Step::Signal(signal) => self.leaf(false, |run| run.signal(signal)),
            Step::GetDiagnostics(get) => self.leaf(false, |run| run.get_diagnostics(get)),
            Step::Sql(sql) => {
                let asks = matches!(&sql.statement, Statement::Show(Show::Warnings { .. } | Show::Errors { .. }));
                self.leaf(!asks, |run| run.sql(sql))
            }
        }
    }

    fn leaf(&mut self, clears: bool, run: impl FnOnce(&mut Self) -> Result<()>) -> Result<Flow> {
        self.guarded(clears, |this| run(this).map(|()| Flow::Next))
    }

    /// Runs what may raise a condition, and the handler that there is for it. `clears`: a statement of its own, whose
    /// conditions take the place of those of the statement before it.
    fn guarded(&mut self, clears: bool, run: impl FnOnce(&mut Self) -> Result<Flow>) -> Result<Flow> {
        let warnings = &self.session().warnings;
        let before = match clears {
            true => {
                self.session().remember_counts();
                warnings.clear();
                Vec::new()
            }
            false if warnings.count() > 0 => warnings.conditions(),
            false => Vec::new(),
        };
        let mark = (warnings.epoch(), before.len());
        let result = run(self);
        let warnings = &self.session().warnings;
        let known = if warnings.epoch() == mark.0 { mark.1 } else { 0 };
        match result {
            Ok(flow) => {
                if warnings.count() as usize <= known {
                    return Ok(flow);
                }
                let conditions = warnings.conditions();
                if known > 0 {
                    // A new condition takes the place of those before.
                    warnings.replace(conditions[known.min(conditions.len())..].to_vec());
                }
                match self.handler_of_warnings(&conditions[known.min(conditions.len())..]) {
                    Some((depth, handler)) => match self.handle(depth, handler)? {
                        // As in MySQL the handler of a RETURN goes on behind it.
                        Flow::Next if flow == Flow::Return => Ok(Flow::Next),
                        Flow::Next => Ok(flow),
                        other => Ok(other),
                    },
                    None => Ok(flow),
                }
            }
            Err(error) if is_fatal(&error) => Err(error),
            Err(error) => {
                if !warnings.ends_with(&error) {
                    warnings.push_error(&error);
                }
                if known > 0 {
                    let conditions = warnings.conditions();
                    warnings.replace(conditions[known.min(conditions.len().saturating_sub(1))..].to_vec());
                }
                let state = error.sqlstate;
                match self.find_handler(error.code, &state, Level::Error) {
                    Some((depth, handler)) => {
                        self.end_partial();
                        self.handle(depth, handler)
                    }
                    None => Err(error),
                }
            }
        }
    }

    /// The handler for a condition, and how many blocks it stands below.
    fn find_handler(&self, code: u16, state: &[u8; 5], level: Level) -> Option<(usize, &'p Handler)> {
        for (depth, scope) in self.scopes.iter().enumerate().rev() {
            // Of handlers that mean it equally the first one is taken.
            let ranked = scope.handlers.iter().rev().filter_map(|handler| {
                let ranks = handler.conditions.iter().filter_map(|handled| rank(*handled, code, state, level));
                ranks.max().map(|rank| (rank, handler))
            });
            if let Some((_, handler)) = ranked.max_by_key(|(rank, _)| *rank) {
                return scope.is_declared.then_some((depth, handler));
            }
        }
        None
    }

    /// The last of a statement's warnings that there is a handler for.
    fn handler_of_warnings(&self, conditions: &[Condition]) -> Option<(usize, &'p Handler)> {
        if self.scopes.iter().all(|scope| scope.handlers.is_empty()) {
            return None;
        }
        conditions.iter().rev().find_map(|condition| {
            let (warning, _) = condition;
            match warning.level {
                Level::Error => None,
                level => self.find_handler(warning.code, &state_of(condition), level),
            }
        })
    }

    /// Runs a handler of the block at `depth`.
    fn handle(&mut self, depth: usize, handler: &'p Handler) -> Result<Flow> {
        let session = self.session();
        let conditions = session.warnings.conditions();
        let (epoch, known) = (session.warnings.epoch(), conditions.len());
        session.programs.handled.borrow_mut().push(conditions);
        let inner = self.scopes.split_off(depth);
        let label = inner.first().map_or(0, |scope| scope.label);
        let result = self.step(&handler.body);
        self.scopes.truncate(depth);
        self.scopes.extend(inner);
        let session = self.session();
        session.programs.handled.borrow_mut().pop();
        let flow = result?;
        // What was handled is over; what the handler raised itself stays.
        if session.warnings.epoch() == epoch {
            let now = session.warnings.conditions();
            session.warnings.replace(now[known.min(now.len())..].to_vec());
        }
        match flow {
            Flow::Next if handler.exits => Ok(Flow::Leave(label)),
            flow => Ok(flow),
        }
    }

    fn block(&mut self, block: &'p Block) -> Result<Flow> {
        let depth = self.scopes.len();
        self.scopes.push(Scope { label: block.label, handlers: &block.handlers, is_declared: false });
        let result = self.block_inside(block);
        self.scopes.truncate(depth);
        for cursor in &block.cursors {
            self.cursors[*cursor] = None;
        }
        match result? {
            Flow::Leave(label) if label == block.label => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }

    fn block_inside(&mut self, block: &'p Block) -> Result<Flow> {
        for (variables, default) in &block.declared {
            for variable in variables {
                let flow = self.leaf(false, |run| run.declare(*variable, default.as_ref()))?;
                if flow != Flow::Next {
                    return Ok(flow);
                }
            }
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.is_declared = true;
        }
        self.steps(&block.body)
    }

    fn turns(
        &mut self,
        label: usize,
        before: Option<&'p Computed>,
        body: &'p [Step],
        until: Option<&'p Computed>,
    ) -> Result<Flow> {
        loop {
            if self.session().process.interrupt.is_set() {
                return Err(Error::interrupted());
            }
            if let Some(flow) = self.condition(before, false)? {
                return Ok(flow);
            }
            match self.steps(body)? {
                Flow::Next => {}
                Flow::Leave(left) if left == label => return Ok(Flow::Next),
                Flow::Iterate(next) if next == label => continue,
                flow => return Ok(flow),
            }
            if let Some(flow) = self.condition(until, true)? {
                return Ok(flow);
            }
        }
    }

    /// What ends a loop: its condition, being `ends`, or what a handler says.
    fn condition(&mut self, condition: Option<&'p Computed>, ends: bool) -> Result<Option<Flow>> {
        let Some(condition) = condition else { return Ok(None) };
        let mut value = None;
        let flow = self.guarded(false, |run| {
            value = run.choice(condition)?;
            Ok(Flow::Next)
        })?;
        Ok(match (flow, value) {
            (Flow::Next, Some(value)) => ((value == 1) == ends).then_some(Flow::Next),
            (flow, _) => Some(flow),
        })
    }
}

/// The SQLSTATE of a condition.
pub fn state_of((warning, details): &Condition) -> [u8; 5] {
    match details {
        Some(details) => details.sqlstate,
        None => match warning.code {
            1329 => *b"02000",
            1264 | 1690 => *b"22003",
            1292 => *b"22007",
            1365 => *b"22012",
            1406 => *b"22001",
            1062 | 1048 | 1451 | 1452 => *b"23000",
            1051 => *b"42S02",
            1265 | 1261 | 1262 | 1263 => *b"01000",
            _ => *b"HY000",
        },
    }
}
