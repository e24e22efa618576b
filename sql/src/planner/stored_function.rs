//! The stored functions that a statement calls, and the sequences that it asks.

use std::sync::Arc;

use format::collation::CollationId;
use storage::{DefinitionKind, TableUse};

use super::PlanContext;

use crate::accounts::Privileges;
use crate::accounts::grants::RoutineKind;
use crate::catalog::{OrSqlError, database_of};
use crate::column_types::column_type;
use crate::error::{Error, Result};
use crate::expression::{Expr, Node, Sequence, StoredFunction, StoredFunctions};
use crate::parser::ast::{SequenceCall, TableName};
use crate::programs::{self, Routine};
use crate::sequences;

impl StoredFunctions for PlanContext<'_> {
    fn unknown_function(&self, name: &str) -> Error {
        match self.database {
            Some(database) => Error::unknown_function(&format!("{database}.{name}")),
            None => Error::unknown_function(name),
        }
    }

    fn stored_function(&self, database: Option<&str>, name: &str) -> Result<Option<Arc<StoredFunction>>> {
        let Some(database) = database.or(self.database) else { return Ok(None) };
        let key = name.to_lowercase();
        let own = programs::sys::program(DefinitionKind::Function, database, &key);
        if own.is_none() && self.instance.engine.definition(DefinitionKind::Function, database, &key).is_none() {
            return Ok(None);
        }
        let rights = self.rights;
        let may =
            rights.is_internal() || rights.on_routine(database, RoutineKind::Function, &key).has(Privileges::EXECUTE);
        if !may {
            let shown = format!("{database}.{name}");
            let (user, host) = (&rights.account.0, &rights.client_host);
            return Err(Error::routine_access_denied("execute", user, host, &shown));
        }
        let is_own = own.is_some();
        let found = match own {
            Some(own) => Some(own),
            None => self.trx.borrow_mut().open_definition(DefinitionKind::Function, database, &key).or_sql()?,
        };
        let Some(definition) = found else { return Ok(None) };
        let routine = Routine::decode(&definition.bytes)?;
        let returns = routine.parse_returns()?.ok_or_else(|| Error::internal("a function without a type"))?;
        let mut views = self.views.borrow_mut();
        // What is compiled in does not change.
        if !is_own && !views.iter().any(|known| Arc::ptr_eq(known, &definition)) {
            views.push(definition.clone());
        }
        self.runs_programs.set(true);
        Ok(Some(Arc::new(StoredFunction {
            definition,
            parameters: routine.parse_parameters()?.len(),
            returns: column_type(name, &returns, routine.origin.database, CollationId::DEFAULT)?,
        })))
    }

    fn sequence(&self, call: &SequenceCall) -> Result<Arc<Sequence>> {
        let SequenceCall { function, sequence } = call;
        let database = database_of(sequence, self.database)?;
        let name = &sequence.name;
        let wanted = match function.changes() {
            true => (Privileges::SELECT | Privileges::INSERT, TableUse::Write),
            false => (Privileges::SELECT, TableUse::Read),
        };
        if let Some((database, table)) = self.checked_table(sequence)? {
            self.rights.need_table(wanted.0, database, table)?;
        }
        if self.find_view(sequence)?.is_some() {
            return Err(Error::not_a_sequence(database, name));
        }
        let table = self.open(database, name, name, wanted.1).map_err(|error| match error.code {
            1146 => Error::unknown_sequence(name),
            _ => error,
        })?;
        if !sequences::is_sequence(&table) {
            return Err(Error::not_a_sequence(database, name));
        }
        let (database, name) = (table.database.clone(), table.name.clone());
        Ok(Arc::new(Sequence { function: *function, database, name, table: Some(table) }))
    }
}

impl PlanContext<'_> {
    /// Opens the sequences of an expression that was bound as a part of a table's definition.
    pub fn open_sequences(&self, expr: &mut Expr) -> Result<()> {
        let mut opened = Ok(());
        expr.walk_mut(&mut |part| {
            if let Node::Sequence(known) = &mut part.node
                && known.table.is_none()
                && opened.is_ok()
            {
                let sequence = TableName { database: Some(known.database.to_string()), name: known.name.to_string() };
                match self.sequence(&SequenceCall { function: known.function, sequence }) {
                    Ok(own) => *known = own,
                    // As of any table that the statement uses.
                    Err(error) if error.code == 4091 => {
                        opened = Err(Error::no_such_table(&known.database, &known.name));
                    }
                    Err(error) => opened = Err(error),
                }
            }
            true
        });
        opened
    }
}
