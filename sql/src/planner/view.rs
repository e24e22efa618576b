//! Views in FROM: a view is a derived table whose query comes from the dictionary.
//!
//! Its query is bound with the view's own surroundings: the rights of its definer (or of the invoker), the collation that
//! literals had when it was created, no current database, and no temporary tables. What is wrong inside of it is told as
//! 1356, without the names. From there on it is a derived table: merged, or made once, by the same rules.
//!
//! A view that is being bound is remembered, so that one which reads itself is found (1462).

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use format::collation::Charset;
use storage::{Column, Definition, DefinitionKind, ReadMode, TrxOptions};

use super::logical::{Derived, ViewOf};
use super::role::Role;
use super::{PlanContext, made};
use crate::accounts::Rights;
use crate::catalog::{OrSqlError, database_of};
use crate::error::{Error, Result};
use crate::expression::EvalContext;
use crate::information_schema::{DescribeViews, built_in_view};
use crate::instance::Instance;
use crate::parser::ast::{self, TableName, ViewAlgorithm};
use crate::views::View;

/// The errors that tell something of the inside of a view.
const INSIDE: [u16; 11] = [1049, 1054, 1142, 1143, 1146, 1305, 1356, 1370, 1044, 4089, 4091];

/// The rights with which a view's query reads.
pub fn rights_of<'r>(instance: &Instance, invoker: &'r Rights, view: &View) -> Result<Cow<'r, Rights>> {
    match view.as_invoker {
        true => Ok(Cow::Borrowed(invoker)),
        false => rights_of_definer(instance, invoker, &view.definer),
    }
}

/// The rights of an account that has defined something which others use.
pub fn rights_of_definer<'r>(
    instance: &Instance,
    invoker: &'r Rights,
    definer: &(String, String),
) -> Result<Cow<'r, Rights>> {
    if invoker.is_internal() {
        return Ok(Cow::Borrowed(invoker));
    }
    let accounts = instance.accounts.snapshot();
    let Some(account) = accounts.get(definer) else { return Err(Error::no_such_definer(&definer.0, &definer.1)) };
    let roles: BTreeSet<_> = account.default_roles.iter().cloned().collect();
    let literal = instance.variables.on("partial_revokes");
    Ok(Cow::Owned(Rights::of(&accounts, definer, &[&definer.1], roles, literal)))
}

/// The error that a user of a view sees.
pub fn told_of(definition: &Definition, error: Error) -> Error {
    match INSIDE.contains(&error.code) {
        true => Error::view_invalid(&definition.database, &definition.name),
        false => error,
    }
}

/// Tells the columns of views, for information_schema: whoever asks needs no right on what is inside.
pub struct ViewDescriber<'a> {
    pub instance: &'a Instance,
    pub eval: &'a EvalContext<'a>,
}

impl DescribeViews for ViewDescriber<'_> {
    fn columns(&self, definition: &Definition) -> Result<Vec<Column>> {
        // A transaction of its own, which waits for no definition: information_schema does not.
        let options = TrxOptions { metadata_wait_timeout: Duration::ZERO, ..TrxOptions::default() };
        let trx = RefCell::new(self.instance.engine.begin(options));
        let rights = Rights::internal();
        let context = PlanContext {
            instance: self.instance,
            eval: self.eval,
            trx: &trx,
            database: None,
            database_collation: self.eval.connection,
            parameter_count: 0,
            parameter_types: &[],
            tables: RefCell::default(),
            locked: None,
            named: RefCell::default(),
            rights: &rights,
            plain_reads: ReadMode::Consistent,
            depth: Cell::new(0),
            common_tables: RefCell::default(),
            next_derived: Cell::new(0),
            derived_plans: RefCell::default(),
            next_select: Cell::new(0),
            reads_values: Cell::new(false),
            stored_only: true,
            defines_view: false,
            views: RefCell::default(),
            inside: RefCell::default(),
            runs_programs: Cell::new(false),
            warnings: RefCell::default(),
            waiting_hints: RefCell::default(),
            time_limit_ms: Cell::new(None),
        };
        let (view, derived) = context.bind_view(definition, ReadMode::Consistent, Role::Derived)?;
        let columns = view.columns.into_iter().zip(&derived.columns);
        Ok(columns.map(|(name, column)| made::column(&name, column, column.column_type.clone())).collect())
    }
}

impl PlanContext<'_> {
    /// The view that a name means, if it is one. It stays as it is to the end of the transaction.
    pub fn find_view(&self, name: &TableName) -> Result<Option<Arc<Definition>>> {
        let database = database_of(name, self.database)?;
        if let Some(own) = built_in_view(database, &name.name) {
            return Ok(Some(own.clone()));
        }
        let is_view = self.instance.engine.definition(DefinitionKind::View, database, &name.name).is_some();
        if !is_view || !self.stored_only && self.trx.borrow().has_temporary(database, &name.name) {
            return Ok(None);
        }
        let found = self.trx.borrow_mut().open_definition(DefinitionKind::View, database, &name.name).or_sql()?;
        if let Some(found) = &found {
            let mut views = self.views.borrow_mut();
            if !views.iter().any(|known| Arc::ptr_eq(known, found)) {
                views.push(found.clone());
            }
        }
        Ok(found)
    }

    /// Runs a part of planning with the surroundings of a view.
    pub fn inside<T>(&self, view: &View, run: impl FnOnce(&PlanContext<'_>) -> Result<T>) -> Result<T> {
        let rights = rights_of(self.instance, self.rights, view)?;
        let eval = EvalContext { connection: view.connection, client: Charset::Utf8mb4, ..*self.eval };
        let inner = PlanContext {
            instance: self.instance,
            eval: &eval,
            trx: self.trx,
            database: None,
            database_collation: self.database_collation,
            parameter_count: self.parameter_count,
            parameter_types: self.parameter_types,
            tables: RefCell::new(self.tables.take()),
            // Its tables are locked along with it.
            locked: None,
            named: RefCell::default(),
            rights: &rights,
            plain_reads: self.plain_reads,
            depth: self.depth.clone(),
            common_tables: RefCell::default(),
            next_derived: self.next_derived.clone(),
            derived_plans: RefCell::new(self.derived_plans.take()),
            next_select: self.next_select.clone(),
            reads_values: self.reads_values.clone(),
            stored_only: true,
            defines_view: false,
            views: RefCell::new(self.views.take()),
            inside: RefCell::new(self.inside.take()),
            runs_programs: self.runs_programs.clone(),
            warnings: RefCell::new(self.warnings.take()),
            waiting_hints: RefCell::default(),
            time_limit_ms: Cell::new(None),
        };
        let result = run(&inner);
        let PlanContext {
            tables,
            derived_plans,
            views,
            inside,
            next_derived,
            next_select,
            reads_values,
            runs_programs,
            warnings,
            ..
        } = inner;
        self.warnings.replace(warnings.into_inner());
        self.tables.replace(tables.into_inner());
        self.derived_plans.replace(derived_plans.into_inner());
        self.views.replace(views.into_inner());
        self.inside.replace(inside.into_inner());
        Cell::swap(&self.next_derived, &next_derived);
        Cell::swap(&self.next_select, &next_select);
        Cell::swap(&self.reads_values, &reads_values);
        self.runs_programs.set(runs_programs.get());
        result
    }

    /// The query of a view. Whether the view may be used is the caller's to check.
    pub fn bind_view(&self, definition: &Definition, read_mode: ReadMode, role: Role) -> Result<(View, Rc<Derived>)> {
        let view = View::decode(&definition.bytes)?;
        let place = (definition.database.clone(), definition.name.clone());
        if self.inside.borrow().contains(&place) {
            return Err(Error::view_recursive(&place.0, &place.1));
        }
        self.inside.borrow_mut().push(place);
        let bound = self.inside(&view, |inner| {
            let mut query = view.query()?;
            // How the rows of a view are locked is a matter of who reads it; parts of a UNION and derived tables lock theirs.
            if matches!(query.body, ast::Body::Select(_) | ast::Body::Table(_)) {
                query.lock = None;
            }
            let (derived, _) = inner.bind_derived(&query, None, read_mode, role)?;
            if derived.columns.len() != view.columns.len() {
                return Err(Error::view_invalid(&definition.database, &definition.name));
            }
            Ok(derived)
        });
        self.inside.borrow_mut().pop();
        let mut derived = bound.map_err(|error| told_of(definition, error))?;
        if let Some(own) = Rc::get_mut(&mut derived) {
            for (_, error) in &mut own.refused {
                *error = told_of(definition, error.clone());
            }
            own.view = Some(ViewOf {
                database: definition.database.clone(),
                name: definition.name.clone(),
                check: view.check,
                stays_apart: view.algorithm == ViewAlgorithm::TempTable,
            });
        }
        Ok((view, derived))
    }
}
