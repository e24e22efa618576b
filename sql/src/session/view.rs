//! CREATE VIEW and ALTER VIEW.
//!
//! The query is planned as it was written, with the rights of the session, so that what is wrong with it is told now.
//! Then its names are settled, and what is kept is the text in normal form (see `views`).

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use format::collation::collation;
use storage::{Definition, DefinitionKind, ReadMode};

use super::Session;
use crate::accounts::Key;
use crate::catalog::{OrSqlError, database_of, storage_error};
use crate::ddl::check_file_name;
use crate::describe::quoted;
use crate::error::{Error, Level, Result, Warning};
use crate::information_schema;
use crate::parser::ast::{CreateView, Query, Statement, ViewAlgorithm};
use crate::planner::query;
use crate::planner::role::Role;
use crate::planner::view_target::kind_of;
use crate::views::{self, View, print, qualify};

/// What stands before the name of a view.
pub(super) struct Head {
    algorithm: ViewAlgorithm,
    pub(super) definer: Key,
    as_invoker: bool,
}

impl Session {
    /// How a view is made, and under whose rights it reads. What ALTER VIEW does not say stays as it is.
    pub(super) fn head_of(&self, create: &CreateView) -> Result<Head> {
        let database = database_of(&create.name, self.state.database.as_deref())?;
        let known = match create.alter {
            true => self.instance.engine.definition(DefinitionKind::View, database, &create.name.name),
            false => None,
        };
        let known = known.map(|known| View::decode(&known.bytes)).transpose()?;
        let definer = match (&create.definer, &known) {
            (Some(name), _) => self.account_name(name),
            (None, Some(known)) => known.definer.clone(),
            (None, None) if self.rights.is_internal() => ("root".to_owned(), "localhost".to_owned()),
            (None, None) => self.rights.account.clone(),
        };
        let algorithm = match (create.algorithm, &known) {
            (ViewAlgorithm::Undefined, Some(known)) => known.algorithm,
            (said, _) => said,
        };
        let as_invoker = create.as_invoker.unwrap_or_else(|| known.is_some_and(|known| known.as_invoker));
        Ok(Head { algorithm, definer, as_invoker })
    }

    /// The statement as the log has it: with the definer, whom a replica could not know.
    pub(super) fn logged_view(&self, create: &CreateView) -> Result<Vec<u8>> {
        let name = match &create.name.database {
            Some(database) => format!("{}.{}", quoted(database), quoted(&create.name.name)),
            None => quoted(&create.name.name),
        };
        let verb = match (create.alter, create.or_replace) {
            (true, _) => "ALTER",
            (false, true) => "CREATE OR REPLACE",
            (false, false) => "CREATE",
        };
        let Head { algorithm, definer, as_invoker } = self.head_of(create)?;
        let head = views::head(algorithm, &definer, as_invoker);
        let not = if create.if_not_exists { "IF NOT EXISTS " } else { "" };
        let columns: Vec<String> = create.columns.iter().map(|name| quoted(name)).collect();
        let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(",")) };
        let check = create.check.map_or(String::new(), |check| format!(" WITH {} CHECK OPTION", check.name()));
        Ok(format!("{verb} {head} VIEW {not}{name}{columns} AS {}{check}", create.text).into_bytes())
    }

    pub(super) fn create_view(&mut self, statement: &Statement, create: &CreateView) -> Result<()> {
        let database = database_of(&create.name, self.state.database.as_deref())?.to_owned();
        let name = create.name.name.clone();
        if information_schema::is_virtual(&database) && !self.rights.is_internal() {
            return Err(self.rights.database_refused(&database));
        }
        if self.instance.engine.database(&database).is_none() {
            return Err(Error::unknown_database(&database));
        }
        check_file_name(&name, Error::wrong_table_name)?;
        let head = self.head_of(create)?;
        let is_known = self.instance.accounts.snapshot().contains_key(&head.definer);
        if !is_known {
            let error = Error::no_such_definer(&head.definer.0, &head.definer.1);
            match self.rights.is_internal() || self.rights.is_super_or("SET_USER_ID") {
                true => self.warnings.note(error.code, error.message),
                false => return Err(error),
            }
        }
        let view = self.understand_view(create, &database, head)?;
        let mut wait = self.trx_options();
        if wait.read_only {
            return Err(Error::read_only_transaction());
        }
        wait.log = match self.definition_log(statement)? {
            Some(log) => Some(log),
            None => wait.log,
        };
        let engine = self.instance.engine.clone();
        let locked = engine.lock_names_of(&[(DefinitionKind::View, &database, &name)], &[], &wait).or_sql()?;
        let is_table = engine.table(&database, &name).is_some();
        let is_view = locked.find(DefinitionKind::View, &database, &name).is_some();
        let replaces = create.or_replace || create.alter;
        if is_table && replaces {
            return Err(Error::wrong_object(&database, &name, "VIEW"));
        }
        if create.alter && !is_view {
            return Err(Error::no_such_table(&database, &name));
        }
        if (is_table || is_view) && !replaces {
            let error = Error::table_exists(&name);
            if !create.if_not_exists {
                return Err(error);
            }
            self.warnings.note(error.code, error.message);
            return Ok(());
        }
        let definition = Definition {
            kind: DefinitionKind::View,
            database: database.as_str().into(),
            name: name.as_str().into(),
            table: "".into(),
            bytes: view.encode(),
        };
        locked.define(definition, replaces).map_err(|error| match error {
            storage::Error::Exists(_) => Error::table_exists(&name),
            other => storage_error(other),
        })?;
        Ok(())
    }

    /// What is kept of a view.
    fn understand_view(&self, create: &CreateView, database: &str, head: Head) -> Result<View> {
        if !create.query.into.is_client() {
            return Err(Error::view_select_clause("INTO"));
        }
        // Its own name must not be in it.
        let place = (database.into(), create.name.name.as_str().into());
        let (columns, merges, is_updatable) = self.planned_view(&create.query, place)?;
        if !create.columns.is_empty() && create.columns.len() != columns {
            return Err(Error::column_list_counts());
        }
        let mut query = (*create.query).clone();
        let mut tables = Vec::new();
        let current = self.state.database.as_deref();
        let names = qualify::qualify(
            &mut query,
            current,
            &|database, name| self.names_of_columns(database, name),
            &mut tables,
        )?;
        let own = |(database, name): &&(String, String)| {
            self.temporary.get().is_some_and(|own| own.table(database, name).is_some())
        };
        if let Some((_, name)) = tables.iter().find(own) {
            return Err(Error::view_of_temporary_table(name));
        }
        let columns = if create.columns.is_empty() { names } else { create.columns.clone() };
        for (at, name) in columns.iter().enumerate() {
            if columns[..at].iter().any(|other| storage::same_name(other, name)) {
                return Err(Error::duplicate_column_name(name));
            }
            if name.chars().count() > 64 || name.is_empty() || name.ends_with(' ') {
                return Err(Error::wrong_column_name(name));
            }
        }
        let client = collation(self.variables.settings.statement_charset()).charset;
        let text = print::query_in(&query, None, client)?;
        // What does not come back as it was is not kept.
        if !views::parse(&text).and_then(|query| print::query(&query, None)).is_ok_and(|again| again == text) {
            return Err(Error::unsupported("this query in a view"));
        }
        let Head { mut algorithm, definer, as_invoker } = head;
        if algorithm == ViewAlgorithm::Merge && !merges {
            let error = Error::view_cannot_merge();
            self.warnings.push(Warning { level: Level::Warning, code: error.code, message: error.message });
            algorithm = ViewAlgorithm::Undefined;
        }
        let is_updatable = is_updatable && algorithm != ViewAlgorithm::TempTable;
        if create.check.is_some() && !is_updatable {
            return Err(Error::view_not_updatable_check(database, &create.name.name));
        }
        let settings = &self.variables.settings;
        Ok(View {
            text,
            columns,
            renames: !create.columns.is_empty(),
            algorithm,
            definer,
            as_invoker,
            check: create.check,
            is_updatable,
            client: settings.statement_charset(),
            connection: settings.collation_connection,
            tables,
            created_us: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64,
        })
    }

    /// Plans the query of a view: the number of its columns, whether it can be merged, and whether it can be changed.
    fn planned_view(&self, query: &Query, place: (Box<str>, Box<str>)) -> Result<(usize, bool, bool)> {
        let trx = RefCell::new(self.begin_trx());
        let view = self.view();
        let eval = self.eval_context(&view, &[]);
        let mut context = self.plan_context(&eval, &trx, 0, &[], ReadMode::Consistent);
        context.defines_view = true;
        context.inside.borrow_mut().push(place);
        let (query, _) = query::bind_query(&context, query, None, ReadMode::Consistent, Role::Defined)?;
        let columns = query.columns().len();
        self.warn_of_plan(&context.warnings.borrow());
        let (merges, is_updatable) = kind_of(query);
        Ok((columns, merges, is_updatable))
    }

    /// What `*` stands for.
    fn names_of_columns(&self, database: &str, name: &str) -> Option<Vec<String>> {
        if let Some(table) = information_schema::table(database, name) {
            return Some(table.columns.iter().map(|column| column.name.to_owned()).collect());
        }
        let engine = &self.instance.engine;
        if let Some(view) = information_schema::find_view(&self.instance, database, name) {
            return View::decode(&view.bytes).ok().map(|view| view.columns);
        }
        let own = self.temporary.get().and_then(|tables| tables.table(database, name));
        let table = own.or_else(|| engine.table(database, name))?;
        let visible = table.columns.iter().filter(|column| !column.invisible && !column.is_hidden());
        Some(visible.map(|column| column.name.to_string()).collect())
    }
}
