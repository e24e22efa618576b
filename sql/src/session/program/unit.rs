//! Programs ready to run: parsed, with the types of their variables, and what their statements keep.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::{Definition, DefinitionKind, Table};

use super::Programs;
use crate::accounts::Key;
use crate::column_types::column_type;
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::parser::ast::{ParameterMode, Program, ProgramKind, Variable, Wanted};
use crate::programs::{Event, Routine, Trigger};
use crate::session::cached::CachedPlan;
use crate::types::{SqlMode, TypeInfo};

/// Which program: kind, database, name.
pub type UnitKey = (DefinitionKind, Box<str>, Box<str>);

/// A variable of a program.
pub struct Local {
    pub name: String,
    pub ty: ColumnType,
    pub info: TypeInfo,
    /// Of NEW (true) or OLD: the column.
    pub field: Option<(bool, usize)>,
}

/// A program as it is parsed.
pub struct Compiled {
    pub definition: Arc<Definition>,
    pub kind: ProgramKind,
    pub program: Program,
    pub locals: Vec<Local>,
    pub parameters: Vec<ParameterMode>,
    pub returns: Option<ColumnType>,
    pub mode: SqlMode,
    /// The character set of its text, and the collation that its literals get.
    pub literals: (CollationId, CollationId),
    /// `character_set_client` of its creation.
    pub client: CollationId,
    /// `database.name`
    pub shown: String,
    /// None: it runs with the rights of whoever uses it.
    pub definer: Option<Key>,
}

/// What a statement or an expression of a program keeps from one execution to the next.
#[derive(Default)]
pub enum Slot {
    #[default]
    Empty,
    Bound(Box<Expr>),
    Plan(Box<CachedPlan>),
    /// An expression that only a query can compute.
    Query(Option<Box<CachedPlan>>),
}

/// A program that can run once at a time.
pub struct Unit {
    pub compiled: Arc<Compiled>,
    pub slots: Vec<Slot>,
    /// With whose rights, and of which generation of the session's plans the slots are.
    pub account: Key,
    pub generation: u64,
    table: Option<Arc<Table>>,
}

impl Compiled {
    /// `table` is a trigger's.
    fn new(definition: &Arc<Definition>, table: Option<&Arc<Table>>) -> Result<Compiled> {
        if definition.kind == DefinitionKind::Trigger {
            let trigger = Trigger::decode(&definition.bytes)?;
            let program = trigger.parse()?;
            let table = table.ok_or_else(|| Error::internal("a trigger without a table"))?;
            return Ok(Compiled {
                definition: definition.clone(),
                kind: ProgramKind::Trigger,
                locals: locals(&program, Some(table), trigger.origin.database)?,
                program,
                parameters: Vec::new(),
                returns: None,
                mode: trigger.origin.sql_mode,
                literals: (CollationId::DEFAULT, trigger.origin.connection),
                client: trigger.origin.client,
                shown: format!("{}.{}", definition.database, definition.name),
                definer: Some(trigger.origin.definer),
            });
        }
        if definition.kind == DefinitionKind::Event {
            let event = Event::decode(&definition.bytes)?;
            let program = event.parse()?;
            return Ok(Compiled {
                definition: definition.clone(),
                kind: ProgramKind::Event,
                locals: locals(&program, None, event.origin.database)?,
                program,
                parameters: Vec::new(),
                returns: None,
                mode: event.origin.sql_mode,
                literals: (CollationId::DEFAULT, event.origin.connection),
                client: event.origin.client,
                shown: format!("{}.{}", definition.database, event.name),
                // Its session is the definer's.
                definer: None,
            });
        }
        let routine = Routine::decode(&definition.bytes)?;
        let program = routine.parse()?;
        let database = routine.origin.database;
        let returns = match routine.parse_returns()? {
            Some(spec) => Some(column_type(&routine.name, &spec, database, CollationId::DEFAULT)?),
            None => None,
        };
        Ok(Compiled {
            definition: definition.clone(),
            kind: routine.kind,
            locals: locals(&program, None, database)?,
            program,
            parameters: routine.parse_parameters()?.iter().map(|parameter| parameter.mode).collect(),
            returns,
            mode: routine.origin.sql_mode,
            literals: (CollationId::DEFAULT, routine.origin.connection),
            client: routine.origin.client,
            shown: format!("{}.{}", definition.database, routine.name),
            definer: (!routine.as_invoker).then_some(routine.origin.definer),
        })
    }
}

impl Compiled {
    /// What takes a value that is wanted: its name and type, and whether it is stored in a row.
    pub fn target(&self, wanted: Wanted) -> Option<(&str, &ColumnType, bool)> {
        match wanted {
            Wanted::Rows | Wanted::Value | Wanted::Variable { .. } => None,
            Wanted::Local(at) => self.locals.get(at).map(|local| (&*local.name, &local.ty, local.field.is_some())),
            Wanted::Result => self.returns.as_ref().map(|ty| (&*self.definition.name, ty, false)),
        }
    }
}

/// The variables of a program with their types; the errors of a body that no statement would show.
pub fn locals(program: &Program, table: Option<&Table>, database: CollationId) -> Result<Vec<Local>> {
    let local = |variable: &Variable| match variable {
        Variable::Local { name, ty } => {
            let ty = column_type(name, ty, database, CollationId::DEFAULT)?;
            Ok(Local { name: name.clone(), info: TypeInfo::of_column(&ty, true), ty, field: None })
        }
        Variable::Field { new, column } => {
            let row = if *new { "NEW" } else { "OLD" };
            let at = table.and_then(|table| table.column(column).map(|at| (at, &table.columns[at])));
            let (at, found) = at.ok_or_else(|| Error::unknown_column(column, row))?;
            let info = TypeInfo::of_column(&found.ty, true);
            Ok(Local { name: found.name.to_string(), info, ty: found.ty.clone(), field: Some((*new, at)) })
        }
    };
    program.variables.iter().map(local).collect()
}

impl Programs {
    /// A unit of a program that nobody uses now.
    pub fn take(
        &self,
        definition: &Arc<Definition>,
        table: Option<&Arc<Table>>,
        account: &Key,
        generation: u64,
    ) -> Result<Unit> {
        let key = (definition.kind, definition.database.clone(), definition.name.clone());
        if let Some(units) = self.idle.borrow_mut().get_mut(&key) {
            let is_table = |unit: &Unit| match (&unit.table, table) {
                (Some(known), Some(table)) => Arc::ptr_eq(known, table),
                (known, table) => known.is_none() && table.is_none(),
            };
            units.retain(|unit| Arc::ptr_eq(&unit.compiled.definition, definition) && is_table(unit));
            if let Some(at) = units.iter().position(|unit| unit.account == *account) {
                let mut unit = units.swap_remove(at);
                unit.follow(generation);
                return Ok(unit);
            }
        }
        let compiled = Arc::new(Compiled::new(definition, table)?);
        let mut unit =
            Unit { compiled, slots: Vec::new(), account: account.clone(), generation, table: table.cloned() };
        unit.slots.resize_with(unit.compiled.program.slots, Slot::default);
        Ok(unit)
    }

    pub fn give_back(&self, unit: Unit) {
        /// How many programs, and how many of one, are kept.
        const KEPT_MAX: (usize, usize) = (256, 4);
        let definition = &unit.compiled.definition;
        let key = (definition.kind, definition.database.clone(), definition.name.clone());
        let mut idle = self.idle.borrow_mut();
        if idle.len() >= KEPT_MAX.0 && !idle.contains_key(&key) {
            idle.clear();
        }
        let units = idle.entry(key).or_default();
        if units.len() < KEPT_MAX.1 {
            units.push(unit);
        }
    }
}

impl Unit {
    /// Plans of another generation may mean something else.
    pub fn follow(&mut self, generation: u64) {
        if self.generation != generation {
            self.slots.iter_mut().for_each(|slot| *slot = Slot::Empty);
            self.generation = generation;
        }
    }
}
