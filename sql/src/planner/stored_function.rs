//! The stored functions that a statement calls.

use std::sync::Arc;

use storage::DefinitionKind;

use super::PlanContext;
use crate::accounts::Privileges;
use crate::accounts::grants::RoutineKind;
use crate::catalog::OrSqlError;
use crate::column_types::column_type;
use crate::error::{Error, Result};
use crate::expression::{StoredFunction, StoredFunctions};
use crate::programs::Routine;

impl StoredFunctions for PlanContext<'_> {
    fn stored_function(&self, database: Option<&str>, name: &str) -> Result<Option<Arc<StoredFunction>>> {
        let Some(database) = database.or(self.database) else { return Ok(None) };
        let key = name.to_lowercase();
        if self.instance.engine.definition(DefinitionKind::Function, database, &key).is_none() {
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
        let found = self.trx.borrow_mut().open_definition(DefinitionKind::Function, database, &key).or_sql()?;
        let Some(definition) = found else { return Ok(None) };
        let routine = Routine::decode(&definition.bytes)?;
        let returns = routine.parse_returns()?.ok_or_else(|| Error::internal("a function without a type"))?;
        let mut views = self.views.borrow_mut();
        if !views.iter().any(|known| Arc::ptr_eq(known, &definition)) {
            views.push(definition.clone());
        }
        self.runs_programs.set(true);
        Ok(Some(Arc::new(StoredFunction {
            definition,
            parameters: routine.parse_parameters()?.len(),
            returns: column_type(name, &returns, routine.origin.database)?,
        })))
    }
}
