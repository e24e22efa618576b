//! CREATE, ALTER and DROP of procedures and functions.
//!
//! The statement is parsed whole, so that what is wrong with the language of the body is told now; whether its tables and
//! columns exist is told when it runs. The body is kept as it was written.

use std::time::{SystemTime, UNIX_EPOCH};

use format::collation::{Charset, CollationId, collation, convert};
use storage::{Definition, DefinitionKind};

use super::program::check_types;
use super::{Done, Session};
use crate::accounts::grants::RoutineKind;
use crate::accounts::{Key, Privileges};
use crate::catalog::{OrSqlError, database_of, storage_error};
use crate::column_types::column_type;
use crate::error::{Error, Result};
use crate::information_schema;
use crate::parser::ast::{AlterRoutine, CreateRoutine, DataAccess, ProgramKind, Statement, TableName, UserName};
use crate::programs::{Origin, Routine};
use crate::result::ResultSink;

/// The kind of a routine's definition.
pub(super) fn kind_of(kind: ProgramKind) -> DefinitionKind {
    match kind {
        ProgramKind::Procedure => DefinitionKind::Procedure,
        ProgramKind::Function => DefinitionKind::Function,
        ProgramKind::Trigger => DefinitionKind::Trigger,
        ProgramKind::Event => DefinitionKind::Event,
    }
}

impl Session {
    /// Statements that define stored programs.
    pub(super) fn define_program(
        &mut self,
        statement: &Statement,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let defined = self.limited_in_time(0, |session| match statement {
            Statement::CreateRoutine(create) => session.create_routine(create),
            Statement::AlterRoutine(alter) => session.alter_routine(alter),
            Statement::DropRoutine { kind, name, if_exists } => session.drop_routine(*kind, name, *if_exists),
            Statement::CreateTrigger(create) => session.create_trigger(create),
            Statement::DropTrigger { name, if_exists } => session.drop_trigger(name, *if_exists),
            Statement::CreateEvent(create) => session.create_event(create),
            Statement::AlterEvent(alter) => session.alter_event(alter),
            Statement::DropEvent { name, if_exists } => session.drop_event(name, *if_exists),
            _ => Err(Error::internal("no program is defined")),
        });
        self.forget_plans();
        defined?;
        self.write_log()?;
        self.end_named(true)?;
        self.state.row_count.set(0);
        self.finish(&Done::default(), more, sink);
        Ok(())
    }

    /// The account under whose rights a new program runs.
    pub(super) fn program_definer(&self, definer: Option<&UserName>) -> Key {
        match definer {
            Some(name) => self.account_name(name),
            None if self.rights.is_internal() => ("root".to_owned(), "localhost".to_owned()),
            None => self.rights.account.clone(),
        }
    }

    /// An error, or a note, if the definer does not exist.
    pub(super) fn check_definer(&self, definer: &Key) -> Result<()> {
        if self.instance.accounts.snapshot().contains_key(definer) {
            return Ok(());
        }
        let error = Error::no_such_definer(&definer.0, &definer.1);
        match self.rights.is_internal() || self.rights.is_super_or("SET_USER_ID") {
            true => {
                self.warnings.note(error.code, error.message);
                Ok(())
            }
            false => Err(error),
        }
    }

    /// What a program that is created now remembers.
    pub(super) fn program_origin(&self, definer: Key, database: CollationId) -> Origin {
        let settings = &self.variables.settings;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        let now =
            self.state.timestamp.get().map_or(now, |(seconds, micros)| seconds as u64 * 1_000_000 + u64::from(micros));
        Origin {
            definer,
            sql_mode: settings.sql_mode,
            client: settings.character_set_client,
            connection: settings.collation_connection,
            database,
            created_us: now,
            altered_us: now,
        }
    }

    /// What the client has written, as it is kept: in UTF-8.
    pub(super) fn program_text(&self, written: &[u8]) -> String {
        let client = collation(self.variables.settings.statement_charset()).charset;
        let mut text = Vec::new();
        convert(written, client, Charset::Utf8mb4, &mut text);
        String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// The database that a program is in: its name, and its collation.
    pub(super) fn program_database(&self, name: &TableName) -> Result<(String, CollationId)> {
        let database = database_of(name, self.state.database.as_deref())?;
        if information_schema::is_virtual(database) && !self.rights.is_internal() {
            return Err(self.rights.database_refused(database));
        }
        match self.instance.engine.database(database) {
            Some(found) => Ok((database.to_owned(), found.collation)),
            None => Err(Error::unknown_database(database)),
        }
    }

    /// Whether functions and triggers may be created while there is a binary log.
    pub(super) fn check_creator(&self) -> Result<()> {
        let trusts = self.instance.variables.on("log_bin_trust_function_creators");
        match self.own_log().is_none() || trusts || self.applying.is_some() {
            true => Ok(()),
            false if self.rights.is_internal() || self.rights.is_super_or("SYSTEM_VARIABLES_ADMIN") => Ok(()),
            false => Err(Error::creator_needs_super()),
        }
    }

    fn create_routine(&mut self, create: &CreateRoutine) -> Result<()> {
        let (database, collation) = self.program_database(&create.name)?;
        let name = &create.name.name;
        if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
            return Err(Error::new(1458, b"42000", format!("Incorrect routine name '{name}'")));
        }
        let said = &create.characteristics;
        if create.kind == ProgramKind::Function {
            let trusts = self.instance.variables.on("log_bin_trust_function_creators");
            let is_safe =
                said.deterministic == Some(true) || matches!(said.access, Some(DataAccess::No | DataAccess::Reads));
            if self.own_log().is_some() && !trusts && !is_safe && self.applying.is_none() {
                return Err(Error::unsafe_function());
            }
            self.check_creator()?;
        }
        check_types(&create.program, None, collation)?;
        if let Some(returns) = &create.returns {
            column_type(name, returns, collation, CollationId::DEFAULT)?;
        }
        let definer = self.program_definer(create.definer.as_ref());
        self.check_definer(&definer)?;
        let routine = Routine {
            kind: create.kind,
            name: name.clone(),
            parameters: create.parameters_text.clone(),
            returns: create.returns_text.clone(),
            body: self.program_text(&create.body_text),
            deterministic: said.deterministic.unwrap_or(false),
            access: said.access.unwrap_or(DataAccess::Contains),
            as_invoker: said.as_invoker.unwrap_or(false),
            comment: said.comment.clone().unwrap_or_default(),
            origin: self.program_origin(definer, collation),
        };
        let verb = if create.or_replace { "CREATE OR REPLACE" } else { "CREATE" };
        // Without the default database, which a replica may rename.
        let named = (self.state.database.as_deref() != Some(&database)).then_some(&*database);
        let text = routine.create_statement(verb, named);
        let wait = self.program_wait(&text)?;
        let kind = kind_of(create.kind);
        let key = name.to_lowercase();
        let engine = self.instance.engine.clone();
        let locked = engine.lock_names_of(&[(kind, &database, &key)], &[], &wait).or_sql()?;
        if locked.find(kind, &database, &key).is_some() && !create.or_replace {
            let error = Error::program_exists(create.kind.name(), name);
            if !create.if_not_exists {
                return Err(error);
            }
            self.warnings.note(error.code, error.message);
            return Ok(());
        }
        let definition = Definition {
            kind,
            database: database.as_str().into(),
            name: key.as_str().into(),
            table: "".into(),
            bytes: routine.encode(),
        };
        locked.define(definition, create.or_replace).map_err(|error| match error {
            storage::Error::Exists(_) => Error::program_exists(create.kind.name(), name),
            other => storage_error(other),
        })?;
        drop(locked);
        self.grant_to_creator(create.kind, &database, &key)
    }

    /// The options of a statement that changes definitions, with what logs it.
    pub(super) fn program_wait(&self, text: &str) -> Result<storage::TrxOptions> {
        let mut wait = self.trx_options();
        if wait.read_only {
            return Err(Error::read_only_transaction());
        }
        if let Some(log) = self.program_log(text)? {
            wait.log = Some(log);
        }
        Ok(wait)
    }

    /// automatic_sp_privileges: who creates a routine may run and change it.
    fn grant_to_creator(&mut self, kind: ProgramKind, database: &str, key: &str) -> Result<()> {
        let rights = &self.rights;
        let wanted = Privileges::EXECUTE | Privileges::ALTER_ROUTINE;
        let has = rights.is_internal() || rights.on_routine(database, RoutineKind::of(kind), key).has(wanted);
        if has || !self.instance.variables.on("automatic_sp_privileges") {
            return Ok(());
        }
        let account = rights.account.clone();
        let place = ((database.to_owned(), key.to_owned()), RoutineKind::of(kind));
        self.instance.accounts.change(|accounts| {
            if let Some(own) = accounts.get_mut(&account) {
                *own.grants.routines.entry(place.clone()).or_default() |= wanted;
            }
            Ok(None)
        })
    }

    /// What was granted on a routine goes with it.
    fn forget_grants(&mut self, kind: ProgramKind, database: &str, key: &str) -> Result<()> {
        let place = ((database.to_owned(), key.to_owned()), RoutineKind::of(kind));
        let has = |account: &crate::accounts::Account| account.grants.routines.contains_key(&place);
        if !self.instance.variables.on("automatic_sp_privileges")
            || !self.instance.accounts.snapshot().values().any(has)
        {
            return Ok(());
        }
        self.instance.accounts.change(|accounts| {
            for account in accounts.values_mut() {
                account.grants.routines.remove(&place);
            }
            Ok(None)
        })
    }

    fn alter_routine(&mut self, alter: &AlterRoutine) -> Result<()> {
        let (database, _) = self.program_database(&alter.name)?;
        let key = alter.name.name.to_lowercase();
        let kind = kind_of(alter.kind);
        let text = String::from_utf8_lossy(&self.source).into_owned();
        let wait = self.program_wait(&text)?;
        let engine = self.instance.engine.clone();
        let locked = engine.lock_names_of(&[(kind, &database, &key)], &[], &wait).or_sql()?;
        let shown = || format!("{database}.{}", alter.name.name);
        let found = locked.find(kind, &database, &key);
        let found = found.ok_or_else(|| Error::no_such_program(alter.kind.name(), &shown()))?;
        let mut routine = Routine::decode(&found.bytes)?;
        let said = &alter.characteristics;
        routine.access = said.access.unwrap_or(routine.access);
        routine.as_invoker = said.as_invoker.unwrap_or(routine.as_invoker);
        if let Some(comment) = &said.comment {
            routine.comment = comment.clone();
        }
        routine.origin.altered_us = self.program_origin(Key::default(), CollationId::DEFAULT).altered_us;
        let definition = Definition { bytes: routine.encode(), ..(*found).clone() };
        locked.define(definition, true).or_sql()
    }

    fn drop_routine(&mut self, kind: ProgramKind, name: &TableName, if_exists: bool) -> Result<()> {
        let database = database_of(name, self.state.database.as_deref())?.to_owned();
        let key = name.name.to_lowercase();
        let exists = if if_exists { "IF EXISTS " } else { "" };
        let text = format!("DROP {} {exists}{}", kind.name(), self.logged_name(&database, &name.name));
        let wait = self.program_wait(&text)?;
        let stored = kind_of(kind);
        let engine = self.instance.engine.clone();
        let locked = engine.lock_names_of(&[(stored, &database, &key)], &[], &wait).or_sql()?;
        if locked.find(stored, &database, &key).is_none() {
            let error = Error::no_such_program(kind.name(), &format!("{database}.{}", name.name));
            if !if_exists {
                return Err(error);
            }
            self.warnings.note(error.code, error.message);
            return Ok(());
        }
        locked.drop_all(&[(stored, &database, &key)]).or_sql()?;
        drop(locked);
        self.forget_grants(kind, &database, &key)
    }
}
