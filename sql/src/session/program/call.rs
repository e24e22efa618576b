//! CALL: arguments, rights, recursion.

use std::sync::Arc;

use format::collation::{CollationId, collation};
use format::packet::status as flags;
use format::value::{ColumnType, Value};
use storage::{Definition, DefinitionKind};

use super::inner::BROUGHT;
use super::run::{Host, Run};
use super::unit::{Compiled, Unit};
use crate::accounts::grants::RoutineKind;
use crate::accounts::{Key, Privileges, Rights};
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::parser::ast::{Call, IntoTarget, ParameterMode};
use crate::planner::definition;
use crate::planner::view::rights_of_definer;
use crate::programs;
use crate::result::{OkSummary, ResultSink};
use crate::session::Session;
use crate::types::{SqlMode, TypeInfo};
use crate::variables::mode_text;

/// What of a session a procedure replaces while it runs.
pub(super) struct Outside {
    rights: Option<(Rights, u64)>,
    mode: SqlMode,
    database: Option<String>,
    /// `character_set_client` and `collation_connection`.
    literals: (CollationId, CollationId),
    client: Option<CollationId>,
}

impl Session {
    /// The rights with which a program runs; None: those of the session.
    pub(super) fn program_rights(&self, definer: Option<&Key>, invoker: &Rights) -> Result<Option<Arc<Rights>>> {
        let Some(definer) = definer else { return Ok(None) };
        if invoker.is_internal() || invoker.account == *definer && std::ptr::eq(invoker, &self.rights) {
            return Ok(None);
        }
        let version = self.instance.accounts.version();
        let mut known = self.programs.rights.borrow_mut();
        known.retain(|(_, of, _)| *of == version);
        if let Some((_, _, rights)) = known.iter().find(|(account, ..)| account == definer) {
            return Ok(Some(rights.clone()));
        }
        let rights = Arc::new(rights_of_definer(&self.instance, invoker, definer)?.into_owned());
        known.push((definer.clone(), version, rights.clone()));
        Ok(Some(rights))
    }

    /// The rights with which a routine runs. Its definer may execute it, or nobody does through it, as in MySQL.
    pub(super) fn routine_rights(&self, compiled: &Compiled, invoker: &Rights) -> Result<Option<Arc<Rights>>> {
        let rights = self.program_rights(compiled.definer.as_ref(), invoker)?;
        if let Some(own) = rights.as_ref().filter(|own| own.account != invoker.account) {
            let definition = &compiled.definition;
            let kind = RoutineKind::of(compiled.kind);
            if !own.on_routine(&definition.database, kind, &definition.name).has(Privileges::EXECUTE) {
                let (user, host) = (&own.account.0, &own.client_host);
                return Err(Error::routine_access_denied("execute", user, host, &compiled.shown));
            }
        }
        Ok(rights)
    }

    /// Takes on what a procedure brings.
    pub(super) fn enter_procedure(&mut self, compiled: &Compiled, rights: Option<Arc<Rights>>) -> Outside {
        let own = rights.map(|rights| {
            let version = self.rights_version;
            (std::mem::replace(&mut self.rights, (*rights).clone()), version)
        });
        let database = compiled.definition.database.to_string();
        let mode = self.variables.settings.sql_mode;
        self.set_program_mode(compiled.mode);
        let settings = &self.variables.settings;
        let literals = (settings.character_set_client, settings.collation_connection);
        self.set_literals(compiled.literals);
        let client = self.client_of_program.replace(compiled.client);
        Outside { rights: own, mode, database: self.state.database.replace(database), literals, client }
    }

    fn set_program_mode(&mut self, mode: SqlMode) {
        if self.variables.settings.sql_mode != mode {
            self.variables.settings.sql_mode = mode;
            self.variables.fill_in("sql_mode", Value::Bytes(mode_text(mode).into_bytes()));
        }
    }

    /// What literals are written in, and become.
    fn set_literals(&mut self, (client, connection): (CollationId, CollationId)) {
        let settings = &self.variables.settings;
        if (settings.character_set_client, settings.collation_connection) == (client, connection) {
            return;
        }
        let text = |name: &str| Value::Bytes(name.into());
        let (client, connection) = (collation(client), collation(connection));
        self.variables.fill_in("character_set_client", text(client.charset.name()));
        self.variables.fill_in("character_set_connection", text(connection.charset.name()));
        self.variables.fill_in("collation_connection", text(connection.name));
    }

    pub(super) fn leave_procedure(&mut self, outside: Outside) {
        self.set_program_mode(outside.mode);
        // It may have been dropped meanwhile.
        let is_there = |name: &String| {
            self.instance.engine.database(name).is_some() || crate::information_schema::is_virtual(name)
        };
        self.state.database = outside.database.filter(is_there);
        self.set_literals(outside.literals);
        self.client_of_program = outside.client;
        if let Some((rights, version)) = outside.rights {
            self.rights = rights;
            // If accounts have changed meanwhile, the session's rights are made anew.
            if self.rights_version != version {
                self.rights_version = 0;
            }
            // A statement that was prepared with the rights of another is not run with them again.
            if self.programs.prepares.replace(false) {
                self.forget_plans();
            }
        }
    }

    /// Sends the OUT parameters of a prepared CALL.
    pub(super) fn send_out_parameters(&mut self, out: &[(usize, Value, TypeInfo)], sink: &mut dyn ResultSink) {
        let results = self.variables.settings.character_set_results;
        let columns: Vec<_> = out.iter().map(|(.., ty)| definition::of_type("", ty, results)).collect();
        let types: Vec<ColumnType> = out.iter().map(|(.., ty)| ty.column_type()).collect();
        let values: Vec<Value> = out.iter().map(|(_, value, _)| value.clone()).collect();
        let status = self.status_flags() | flags::MORE_RESULTS | flags::PS_OUT_PARAMS;
        sink.columns_of(&columns, status);
        sink.row(&values, &types);
        sink.ok(&OkSummary { status, ..OkSummary::default() });
    }
}

impl<'p> Run<'_, 'p> {
    /// Finds a procedure that the program may call.
    fn find_procedure(&self, call: &Call) -> Result<(Arc<Definition>, String)> {
        let surroundings = self.surroundings();
        let current = match (self.compiled, &self.host) {
            (Some(compiled), _) => Some(&*compiled.definition.database),
            _ => surroundings.database,
        };
        let database = call.name.database.as_deref().or(current).ok_or_else(Error::no_database)?;
        let shown = format!("{database}.{}", call.name.name);
        let key = call.name.name.to_lowercase();
        let session = self.session();
        let rights = surroundings.rights;
        let definition = match &self.host {
            Host::Session { .. } => session.instance.engine.definition(DefinitionKind::Procedure, database, &key),
            Host::Statement { trx, .. } => {
                trx.borrow_mut().open_definition(DefinitionKind::Procedure, database, &key).or_sql()?
            }
        };
        let may =
            rights.is_internal() || rights.on_routine(database, RoutineKind::Procedure, &key).has(Privileges::EXECUTE);
        if !may {
            let (user, host) = (&rights.account.0, &rights.client_host);
            return Err(Error::routine_access_denied("execute", user, host, &shown));
        }
        let definition = definition.or_else(|| programs::sys::program(DefinitionKind::Procedure, database, &key));
        match definition {
            Some(definition) => Ok((definition, shown)),
            None => Err(Error::no_such_program("PROCEDURE", &shown)),
        }
    }

    pub fn call(&mut self, call: &Call) -> Result<()> {
        let (definition, shown) = self.find_procedure(call)?;
        let session = self.session();
        let limit = session.variables.settings.sp_recursion_depth_max;
        if session.programs.running(&definition) as u64 > limit {
            return Err(Error::recursion_limit(limit, &call.name.name));
        }
        let generation = session.programs_generation();
        let account = self.surroundings().rights.account.clone();
        let mut unit = session.programs.take(&definition, None, &account, generation)?;
        let compiled = unit.compiled.clone();
        let result = self.call_unit(call, &shown, &compiled, &mut unit);
        self.session().programs.give_back(unit);
        result
    }

    fn call_unit(&mut self, call: &Call, shown: &str, compiled: &Arc<Compiled>, unit: &mut Unit) -> Result<()> {
        if compiled.parameters.len() != call.args.len() {
            let (wanted, given) = (compiled.parameters.len(), call.args.len());
            return Err(Error::program_argument_count("PROCEDURE", shown, wanted, given));
        }
        let mut frame = vec![Value::Null; compiled.locals.len()];
        for (at, (mode, arg)) in compiled.parameters.iter().zip(&call.args).enumerate() {
            if *mode != ParameterMode::In && arg.target.is_none() {
                return Err(Error::out_argument(at + 1, shown));
            }
            if *mode == ParameterMode::Out {
                continue;
            }
            let (value, from) = self.compute(&arg.value)?;
            let local = &compiled.locals[at];
            frame[at] = self.converted(value, &from, (&local.name, &local.ty), false)?.0;
        }
        let rights = {
            let invoker = self.surroundings().rights;
            self.session().routine_rights(compiled, invoker)?
        };
        self.session().programs.enter(compiled)?;
        let frame = match &mut self.host {
            Host::Session { session, sink } => {
                let outside = session.enter_procedure(compiled, rights);
                let host = Host::Session { session, sink: &mut **sink };
                let mut run = Run::of_program(host, compiled, unit, frame);
                let ran = run.run();
                let (frame, is_partial) = (std::mem::take(&mut run.frame), run.is_partial);
                drop(run);
                session.leave_procedure(outside);
                session.programs.leave();
                self.is_partial |= is_partial;
                ran.map(|()| frame)
            }
            Host::Statement { session, trx, rights: own } => {
                // SQL SECURITY INVOKER: with the rights of the program that calls.
                let rights = rights.or_else(|| own.clone());
                let host = Host::Statement { session, trx, rights };
                let mut run = Run::of_program(host, compiled, unit, frame);
                let version = session.variables.number();
                let ran = run.run();
                session.take_back(version, BROUGHT);
                let frame = std::mem::take(&mut run.frame);
                session.programs.leave();
                ran.map(|()| frame)
            }
        }?;
        for (at, (mode, arg)) in compiled.parameters.iter().zip(&call.args).enumerate() {
            if let (ParameterMode::Out | ParameterMode::InOut, Some(target)) = (mode, &arg.target) {
                self.assign_to(target, frame[at].clone(), &compiled.locals[at].info)?;
            }
        }
        Ok(())
    }

    /// The values that OUT parameters have given to the `?` of a CALL.
    pub fn out_parameters(&self, call: &Call) -> Vec<(usize, Value, TypeInfo)> {
        let Ok((definition, _)) = self.find_procedure(call) else { return Vec::new() };
        let parameters = programs::Routine::decode(&definition.bytes).and_then(|own| own.parse_parameters());
        let modes: Vec<_> = parameters.unwrap_or_default().into_iter().map(|parameter| parameter.mode).collect();
        let given = modes.iter().zip(&call.args).filter(|(mode, _)| **mode != ParameterMode::In);
        given
            .filter_map(|(_, arg)| match arg.target {
                Some(IntoTarget::Parameter(at)) => Some((at, self.frame[at].clone(), self.types[at])),
                _ => None,
            })
            .collect()
    }
}
