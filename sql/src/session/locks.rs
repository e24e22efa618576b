//! LOCK TABLES, UNLOCK TABLES, FLUSH TABLES ... WITH READ LOCK and FOR EXPORT.

use std::sync::Arc;
use std::time::Duration;

use storage::{DefinitionKind, Exported, NameLockMode, TableUse, TrxOptions};

use super::Session;
use crate::accounts::{Privileges, Rights};
use crate::catalog::{OrSqlError, check_not_discarded, database_of};
use crate::error::{Error, Result};
use crate::information_schema::is_virtual;
use crate::parser::ast::{AlterAction, Maintenance, Statement, TableLock, TableName};
use crate::planner::triggers::in_order;
use crate::planner::view::{rights_of, told_of};
use crate::programs::tables::tables_of;
use crate::read_lock::{GLOBAL, Passage};
use crate::status::Counter;
use crate::table_locks::{LockedTable, LockedTables};
use crate::views::{View, qualify};

/// A table that a statement renames: database and name, before and behind.
pub(super) struct Renamed {
    from: (String, String),
    to: (String, String),
}

impl Session {
    fn metadata_wait(&self) -> Duration {
        Duration::from_secs(self.variables.settings.metadata_lock_wait_seconds)
    }

    /// A statement that changes something begins, or has to wait for the global read lock. True:
    /// [`Session::leave_change`].
    #[inline]
    pub(super) fn enter_change(&self) -> Result<bool> {
        if self.has_read_lock {
            return Err(Error::conflicting_read_lock());
        }
        self.instance.read_lock.enter(Passage::Statement, &self.process, self.metadata_wait())
    }

    #[inline]
    pub(super) fn leave_change(&self, entered: bool) {
        if entered {
            self.instance.read_lock.leave(Passage::Statement, &self.process);
        }
    }

    /// The same for the end of a transaction. Who has the global read lock ends what changed nothing that others see, and
    /// branches, and does not wait for itself.
    pub(super) fn enter_commit(&self) -> Result<bool> {
        if self.has_read_lock {
            return Ok(false);
        }
        self.instance.read_lock.enter(Passage::Commit, &self.process, self.metadata_wait())
    }

    pub(super) fn leave_commit(&self, entered: bool) {
        if entered {
            self.instance.read_lock.leave(Passage::Commit, &self.process);
        }
    }

    /// LOCK TABLES.
    pub(super) fn lock_tables(&mut self, tables: &[(TableName, Option<String>, TableLock)]) -> Result<()> {
        self.status.add(Counter::ComLockTables, 1);
        self.commit()?;
        self.release_tables();
        let options = self.trx_options();
        let mut wanted: Vec<LockedTable> = Vec::with_capacity(tables.len());
        for (table, alias, lock) in tables {
            // Views of the server, which dump programs lock with the tables: nothing is to be kept as it is.
            if *lock != TableLock::Write && is_virtual(database_of(table, self.state.database.as_deref())?) {
                continue;
            }
            // A temporary table is the session's own: there is nobody to keep away from it.
            if options.temporary_table(database_of(table, self.state.database.as_deref())?, &table.name).is_some() {
                continue;
            }
            let table = LockedTable {
                database: self.stored_database(table)?,
                name: table.name.clone(),
                alias: alias.as_ref().unwrap_or(&table.name).clone(),
                allowed: if *lock == TableLock::Write { TableUse::Write } else { TableUse::Read },
            };
            if wanted.iter().any(|other| other.database == table.database && other.alias == table.alias) {
                return Err(Error::not_unique_table(&table.alias));
            }
            wanted.push(table);
        }
        let writes = wanted.iter().any(|table| table.allowed == TableUse::Write);
        // The session stays inside until the tables are unlocked: requests for the global read lock wait.
        let entered = writes && self.enter_change()?;
        let locked = self.hold_tables(wanted);
        if locked.is_err() {
            self.leave_change(entered);
        }
        locked
    }

    /// Whether LOCK TABLES allows FLUSH TABLES of these, or of all: they must be locked for writing, as in MySQL.
    pub(super) fn check_flush_under_locks(&self, tables: &[TableName]) -> Result<()> {
        let Some(locked) = &self.locked else { return Ok(()) };
        for table in tables {
            locked.check_definition(&self.stored_database(table)?, &table.name, TableUse::Write)?;
        }
        let mut all = locked.tables.iter().filter(|_| tables.is_empty());
        all.try_for_each(|table| locked.check_definition(&table.database, &table.name, TableUse::Write))
    }

    /// FLUSH TABLES a, b WITH READ LOCK: as LOCK TABLES ... READ, once no transaction uses them.
    pub(super) fn flush_with_read_lock(&mut self, tables: &[TableName]) -> Result<()> {
        if self.locked.is_some() {
            return Err(Error::lock_or_active_transaction());
        }
        self.commit()?;
        let mut wanted = Vec::with_capacity(tables.len());
        for table in tables {
            let (database, name) = (self.stored_database(table)?, table.name.clone());
            if self.instance.engine.definition(DefinitionKind::View, &database, &name).is_some() {
                return Err(Error::wrong_object(&database, &name, "BASE TABLE"));
            }
            wanted.push(LockedTable { database, alias: name.clone(), name, allowed: TableUse::Read });
        }
        let names: Vec<_> = wanted.iter().map(|table| (&*table.database, &*table.name, TableUse::Write)).collect();
        drop(self.instance.engine.lock_tables(&names, &self.trx_options()).or_sql()?);
        self.hold_tables(wanted)
    }

    /// FLUSH TABLES a, b FOR EXPORT: the same, and until UNLOCK TABLES their files may be copied, with the description that
    /// is written beside each.
    pub(super) fn flush_for_export(&mut self, tables: &[TableName]) -> Result<()> {
        self.flush_with_read_lock(tables)?;
        let exported = self.exported(tables);
        match (exported, &mut self.locked) {
            (Ok(exported), Some(locked)) => {
                locked.exported = Some(Arc::new(exported));
                Ok(())
            }
            (exported, _) => {
                self.release_tables();
                exported.map(drop)
            }
        }
    }

    fn exported(&self, tables: &[TableName]) -> Result<Exported> {
        let engine = &self.instance.engine;
        let mut files = Vec::with_capacity(tables.len());
        for table in tables {
            let (database, name) = (self.stored_database(table)?, &table.name);
            let Some(found) = engine.table(&database, name) else {
                return Err(Error::wrong_object(&database, name, "BASE TABLE"));
            };
            check_not_discarded(&found)?;
            files.push(found);
        }
        engine.export(&files, &self.instance.variables.text("hostname")).or_sql()
    }

    /// FLUSH TABLES WITH READ LOCK: no other session changes anything.
    pub(super) fn take_read_lock(&mut self) -> Result<()> {
        if self.locked.is_some() {
            return Err(Error::lock_or_active_transaction());
        }
        self.commit()?;
        if !self.has_read_lock {
            self.instance.read_lock.take(&self.process, &self.instance.processes, self.metadata_wait())?;
            self.has_read_lock = true;
            self.process.interrupt.names().add(GLOBAL, NameLockMode::Shared);
        }
        Ok(())
    }

    fn hold_tables(&mut self, tables: Vec<LockedTable>) -> Result<()> {
        let engine = &self.instance.engine;
        let check = || {
            let is_there = |table: &&LockedTable| {
                engine.table(&table.database, &table.name).is_some()
                    || engine.definition(DefinitionKind::View, &table.database, &table.name).is_some()
            };
            let missing = tables.iter().find(|table| !is_there(table));
            missing.map_or(Ok(()), |table| Err(Error::no_such_table(&table.database, &table.name)))
        };
        // A name that does not exist needs no wait; a table may be dropped while another one is waited for.
        check()?;
        // A view is locked with what it is made of.
        self.check_below_locked(&tables)?;
        let mut inside = self.tables_of_views(&tables)?;
        let implied = self.implied(&tables, &inside)?;
        inside.extend(implied.iter().cloned());
        let all = tables.iter().map(|table| (&*table.database, &*table.name, table.allowed));
        let inside = inside.iter().map(|(database, name, allowed)| (&**database, &**name, *allowed));
        let names: Vec<_> = all.chain(inside).collect();
        let grant = Arc::new(engine.lock_tables(&names, &self.trx_options()).or_sql()?);
        check()?;
        let is_named = |database: &str, name: &str| {
            tables.iter().any(|table| (&*table.database, &*table.name) == (database, name))
        };
        let implied = implied.into_iter().map(|(database, name, _)| (database, name));
        let implied = implied.filter(|(database, name)| !is_named(database, name)).collect();
        let inside = self.named_in_views(&tables)?;
        self.locked = Some(LockedTables { tables, inside, implied, grant, exported: None });
        // Cached plans were made without regard to the locks.
        self.forget_plans();
        Ok(())
    }

    /// LOCK TABLES of a view takes SELECT and LOCK TABLES on what it is made of, of its definer, or of the session with SQL
    /// SECURITY INVOKER.
    fn check_below_locked(&self, tables: &[LockedTable]) -> Result<()> {
        fn below(session: &Session, above: &Rights, database: &str, name: &str) -> Result<()> {
            let instance = &session.instance;
            let Some(definition) = instance.engine.definition(DefinitionKind::View, database, name) else {
                return Ok(());
            };
            let view = View::decode(&definition.bytes)?;
            let own = rights_of(instance, above, &view)?;
            for (database, name) in view.tables.iter().filter(|(database, _)| !is_virtual(database)) {
                own.need_database(Privileges::LOCK_TABLES, database)
                    .and_then(|()| own.need_some(Privileges::SELECT, database, name))
                    .and_then(|()| below(session, &own, database, name))
                    .map_err(|error| told_of(&definition, error))?;
            }
            Ok(())
        }
        if self.rights.is_internal() {
            return Ok(());
        }
        tables.iter().try_for_each(|table| below(self, &self.rights, &table.database, &table.name))
    }

    /// The tables and views that the views among some tables are made of, all the way down.
    fn tables_of_views(&self, tables: &[LockedTable]) -> Result<Vec<(String, String, TableUse)>> {
        let engine = &self.instance.engine;
        let mut found: Vec<(String, String, TableUse)> = Vec::new();
        for table in tables {
            let mut open = vec![(table.database.clone(), table.name.clone())];
            let mut seen = open.clone();
            while let Some((database, name)) = open.pop() {
                let Some(view) = engine.definition(DefinitionKind::View, &database, &name) else { continue };
                for inside in View::decode(&view.bytes)?.tables {
                    if !seen.contains(&inside) && !is_virtual(&inside.0) {
                        seen.push(inside.clone());
                        open.push(inside.clone());
                        found.push((inside.0, inside.1, table.allowed));
                    }
                }
            }
        }
        Ok(found)
    }

    /// The same with what the views call them: statements may name them so, too.
    fn named_in_views(&self, tables: &[LockedTable]) -> Result<Vec<LockedTable>> {
        let engine = &self.instance.engine;
        let mut found = tables.to_vec();
        let mut at = 0;
        while let Some(LockedTable { database, name, allowed, .. }) = found.get(at).cloned() {
            at += 1;
            let Some(view) = engine.definition(DefinitionKind::View, &database, &name) else { continue };
            for [database, name, alias] in qualify::aliases(&mut View::decode(&view.bytes)?.query()?) {
                let inside = LockedTable { database, name, alias, allowed };
                if !is_virtual(&inside.database) && !found.contains(&inside) {
                    found.push(inside);
                }
            }
        }
        Ok(found.split_off(tables.len()))
    }

    /// What LOCK TABLES locks along with the tables that are to be changed: those that their triggers use, and those that
    /// their foreign keys reach unless these are not checked.
    fn implied(
        &self,
        tables: &[LockedTable],
        inside: &[(String, String, TableUse)],
    ) -> Result<Vec<(String, String, TableUse)>> {
        let engine = &self.instance.engine;
        let named = tables.iter().map(|table| (&table.database, &table.name, table.allowed));
        let all = named.chain(inside.iter().map(|(database, name, allowed)| (database, name, *allowed)));
        let changed = all.filter(|(.., allowed)| *allowed == TableUse::Write);
        let mut changed: Vec<(String, String)> =
            changed.map(|(database, name, _)| (database.clone(), name.clone())).collect();
        let mut implied = Vec::new();
        let mut at = 0;
        while let Some((database, name)) = changed.get(at).cloned() {
            at += 1;
            if self.variables.settings.foreign_key_checks {
                let reached = engine.reached_by_keys(&database, &name).into_iter();
                implied.extend(reached.map(|(database, name, used)| (database.into(), name.into(), used)));
            }
            for (_, trigger) in in_order(engine, &database, &name)? {
                // A body that cannot be read any more is an error when it is to run.
                let Ok(program) = trigger.parse() else { continue };
                for (database, name, used) in tables_of(&program, &database) {
                    if used == TableUse::Write && !changed.contains(&(database.clone(), name.clone())) {
                        changed.push((database.clone(), name.clone()));
                    }
                    implied.push((database, name, used));
                }
            }
        }
        let lockable = |(database, name, _): &(String, String, TableUse)| {
            !is_virtual(database)
                && (engine.table(database, name).is_some()
                    || engine.definition(DefinitionKind::View, database, name).is_some())
        };
        implied.retain(lockable);
        let as_locked = |(database, name, used): &(String, String, TableUse)| LockedTable {
            database: database.clone(),
            name: name.clone(),
            alias: name.clone(),
            allowed: *used,
        };
        let views: Vec<LockedTable> = implied.iter().map(as_locked).collect();
        implied.extend(self.tables_of_views(&views)?);
        Ok(implied)
    }

    /// A statement that changes definitions needs names alone that LOCK TABLES has for its triggers and foreign keys: these
    /// are locked no longer. The statements that dumps have around their rows change none.
    pub(super) fn release_implied(&mut self, statement: &Statement) {
        let keeps = match statement {
            Statement::AlterTable(alter) => {
                alter.actions.iter().all(|action| matches!(action, AlterAction::DisableKeys | AlterAction::EnableKeys))
            }
            Statement::Maintain { .. } => true,
            _ => false,
        };
        let Some(locked) = self.locked.as_mut().filter(|_| !keeps) else { return };
        // Nobody else has the grant: a statement of definition has ended the session's transaction.
        if let Some(grant) = Arc::get_mut(&mut locked.grant) {
            for (database, name) in locked.implied.drain(..) {
                self.instance.engine.unlock_table(grant, &database, &name);
            }
        }
    }

    /// The database of a table that is stored.
    fn stored_database(&self, table: &TableName) -> Result<String> {
        let database = database_of(table, self.state.database.as_deref())?;
        if is_virtual(database) {
            return Err(self.rights.database_refused(&database.to_ascii_lowercase()));
        }
        Ok(database.to_owned())
    }

    /// UNLOCK TABLES: commits if tables were locked, and releases the global read lock.
    pub(super) fn unlock_tables(&mut self) -> Result<()> {
        self.status.add(Counter::ComUnlockTables, 1);
        let committed = if self.locked.is_some() { self.commit() } else { Ok(()) };
        self.release_tables();
        self.release_read_lock();
        committed
    }

    /// Releases the locks of LOCK TABLES. The session has no transaction that uses the tables.
    pub(super) fn release_tables(&mut self) {
        if self.locked.take().is_some() {
            self.leave_change(true);
            self.forget_plans();
        }
    }

    pub(super) fn release_read_lock(&mut self) {
        if std::mem::take(&mut self.has_read_lock) {
            self.instance.read_lock.release();
            self.process.interrupt.names().remove(GLOBAL, NameLockMode::Shared);
        }
    }

    /// Whether LOCK TABLES allows a statement of definition.
    pub(super) fn check_locked_tables(&self, statement: &Statement) -> Result<()> {
        let Some(locked) = &self.locked else { return Ok(()) };
        let mut wanted = TableUse::Write;
        let tables: Vec<&TableName> = match statement {
            // A database, a program or a view is no table that could have been locked.
            Statement::CreateDatabase { .. }
            | Statement::AlterDatabase { .. }
            | Statement::DropDatabase { .. }
            | Statement::CreateRoutine(_)
            | Statement::AlterRoutine(_)
            | Statement::DropRoutine { .. }
            | Statement::CreateEvent(_)
            | Statement::AlterEvent(_)
            | Statement::DropEvent { .. }
            | Statement::DropViews { .. } => {
                return Err(Error::lock_or_active_transaction());
            }
            Statement::CreateTable(create) => vec![&create.table],
            Statement::AlterTable(alter) => alter.tables().collect(),
            Statement::CreateSequence(create) => vec![&create.name],
            Statement::AlterSequence(alter) => vec![&alter.name],
            Statement::DropTables { tables, .. } | Statement::DropSequences { sequences: tables, .. } => {
                tables.iter().collect()
            }
            // What the statement itself has renamed was locked under its name before.
            Statement::RenameTables(pairs) => {
                let is_made = |at: usize, name: &TableName| pairs[..at].iter().any(|(_, to)| to == name);
                let all = pairs.iter().enumerate();
                all.filter(|(at, (from, _))| !is_made(*at, from)).map(|(_, (from, _))| from).collect()
            }
            Statement::TruncateTable(table)
            | Statement::CreateIndex { table, .. }
            | Statement::DropIndex { table, .. } => vec![table],
            Statement::CreateTrigger(create) => vec![&create.table],
            Statement::Maintain { action, tables, .. } => {
                if *action != Maintenance::Optimize {
                    wanted = TableUse::Read;
                }
                tables.iter().collect()
            }
            _ => Vec::new(),
        };
        let creates = matches!(statement, Statement::CreateTable(_) | Statement::CreateSequence(_));
        let options = self.trx_options();
        for table in tables {
            let database = database_of(table, self.state.database.as_deref())?;
            // The session's own temporary tables need no lock.
            if creates || options.temporary_table(database, &table.name).is_none() {
                locked.check_definition(database, &table.name, wanted)?;
            }
        }
        Ok(())
    }

    /// Whether LOCK TABLES allows a temporary table to be like another table.
    pub(super) fn check_model_locked(&self, statement: &Statement) -> Result<()> {
        let (Some(locked), Statement::CreateTable(create)) = (&self.locked, statement) else { return Ok(()) };
        let Some(model) = &create.like else { return Ok(()) };
        let database = database_of(model, self.state.database.as_deref())?;
        match self.trx_options().temporary_table(database, &model.name) {
            Some(_) => Ok(()),
            None => locked.check_definition(database, &model.name, TableUse::Read),
        }
    }

    /// Whether a statement of definition concerns the session's own temporary tables, and nothing that others see.
    pub(super) fn concerns_own_tables(&self, statement: &Statement) -> bool {
        let tables: Vec<&TableName> = match statement {
            Statement::AlterTable(alter) => alter.tables().collect(),
            Statement::AlterSequence(alter) => vec![&alter.name],
            Statement::DropTables { tables, .. } | Statement::DropSequences { sequences: tables, .. } => {
                tables.iter().collect()
            }
            Statement::TruncateTable(table)
            | Statement::CreateIndex { table, .. }
            | Statement::DropIndex { table, .. } => vec![table],
            Statement::Maintain { tables, .. } => tables.iter().collect(),
            _ => return false,
        };
        let options = self.trx_options();
        if options.temporary.is_none() {
            return false;
        }
        for table in &tables {
            // Without a database it is an error, which the statement itself tells.
            let Ok(database) = database_of(table, self.state.database.as_deref()) else { return false };
            if options.temporary_table(database, &table.name).is_none() {
                return false;
            }
        }
        !tables.is_empty()
    }

    /// A statement that renames tables which LOCK TABLES has locked: they stay locked under their new names, so that no other
    /// session comes in between. Takes these names, and returns where each of the statement's names leads.
    pub(super) fn lock_new_names(&mut self, statement: &Statement) -> Result<Vec<Renamed>> {
        if self.locked.is_none() {
            return Ok(Vec::new());
        }
        let pairs: Vec<(&TableName, &TableName)> = match statement {
            Statement::RenameTables(pairs) => pairs.iter().map(|(from, to)| (from, to)).collect(),
            Statement::AlterTable(alter) => {
                let new = alter.actions.iter().filter_map(|action| match action {
                    AlterAction::Rename(to) => Some((&alter.table, to)),
                    _ => None,
                });
                new.collect()
            }
            _ => return Ok(Vec::new()),
        };
        let session_database = self.state.database.as_deref();
        let full = |name: &TableName| -> Result<(String, String)> {
            Ok((database_of(name, session_database)?.to_owned(), name.name.clone()))
        };
        let mut renames = Vec::with_capacity(pairs.len());
        for (from, to) in pairs {
            renames.push(Renamed { from: full(from)?, to: full(to)? });
        }
        if matches!(statement, Statement::AlterTable(_)) {
            // A temporary table is the session's own.
            let options = self.trx_options();
            renames.retain(|renamed| options.temporary_table(&renamed.from.0, &renamed.from.1).is_none());
        }
        let options = TrxOptions { locked_tables: None, ..self.trx_options() };
        let names: Vec<(&str, &str)> = renames.iter().map(|renamed| (&*renamed.to.0, &*renamed.to.1)).collect();
        // Nobody else has the grant: a statement of definition has ended the session's transaction.
        let outcome = match self.locked.as_mut().and_then(|locked| Arc::get_mut(&mut locked.grant)) {
            Some(grant) => self.instance.engine.lock_more_tables(grant, &names, &options).or_sql(),
            None => Ok(()),
        };
        if let Err(error) = outcome {
            self.follow_renames(&renames, false);
            return Err(error);
        }
        Ok(renames)
    }

    /// The statement has ended: locked tables have their new names, or kept the old ones. Names that no locked table has are
    /// locked no longer.
    pub(super) fn follow_renames(&mut self, renames: &[Renamed], done: bool) {
        let Some(locked) = self.locked.as_mut().filter(|_| !renames.is_empty()) else { return };
        for table in locked.tables.iter_mut().filter(|_| done) {
            for Renamed { from, to } in renames {
                if (&table.database, &table.name) == (&from.0, &from.1) {
                    if table.alias == table.name {
                        table.alias.clone_from(&to.1);
                    }
                    (table.database, table.name) = to.clone();
                }
            }
        }
        let is_locked = |name: &(String, String)| {
            locked.tables.iter().any(|table| (&table.database, &table.name) == (&name.0, &name.1))
        };
        if let Some(grant) = Arc::get_mut(&mut locked.grant) {
            for name in renames.iter().flat_map(|renamed| [&renamed.from, &renamed.to]).filter(|name| !is_locked(name))
            {
                self.instance.engine.unlock_table(grant, &name.0, &name.1);
            }
        }
    }

    /// Tables that were dropped are locked no longer: others may take their names. Once none is left, LOCK TABLES is over.
    pub(super) fn leave_dropped_tables(&mut self) {
        let Some(locked) = &mut self.locked else { return };
        let engine = &self.instance.engine;
        let is_there = |table: &LockedTable| {
            engine.table(&table.database, &table.name).is_some()
                || engine.definition(DefinitionKind::View, &table.database, &table.name).is_some()
        };
        // Nobody else has the grant: a statement of definition has ended the session's transaction.
        if let Some(grant) = Arc::get_mut(&mut locked.grant) {
            for gone in locked.tables.extract_if(.., |table| !is_there(table)) {
                engine.unlock_table(grant, &gone.database, &gone.name);
            }
        }
        if !locked.tables.iter().any(is_there) {
            self.release_tables();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // First the transaction, while its tables are still locked; but before it a table that it was to create.
        drop(self.creating.take());
        drop(self.trx.take());
        self.release_tables();
        self.release_read_lock();
        self.instance.user_locks.release_all(self.process.id);
        self.retire_all();
        self.forget_plans();
    }
}
