//! INSERT, REPLACE, UPDATE and DELETE: which rows, and what becomes of them.
//!
//! An UPDATE or DELETE is a query of one table whose rows are locked as they are read;
//! on top stand the assignments. An INSERT's values are expressions over no row (or
//! over the columns that stand left of them), or the rows of a query; ON DUPLICATE KEY
//! UPDATE is an update whose row has the old columns first and, behind them, the
//! values that were to be inserted:
//!
//! ```text
//! slots   0 .. n-1    the row that is there
//!         n .. 2n-1   VALUES(column)
//!         2n ..       the columns of INSERT ... SELECT's query
//! ```

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use storage::schema::same_name;
use storage::{ColumnSet, IfLocked, ReadMode, Table, TableUse};

use super::clause::Clause;
use super::defaults::{DefaultValue, defaults};
use super::logical::Block;
use super::members::{by_number, member_type};
use super::returning::{Returning, bind_returning};
use super::row_rules::RowRules;
use super::scope::Level;
use super::target_reads::{self, Target};
use super::triggers::Triggers;
use super::view_target::{InsertTarget, ViewCheck, insert_target};
use super::{LimitPlan, PlanContext, QueryPlan, SelectPlan, Step, SubqueryPlan, hints, nest, physical, rules};
use crate::accounts::Privileges;
use crate::catalog::database_of;
use crate::error::{Error, Result};
use crate::expression::{Expr, Scope, Subquery};
use crate::parser::ast::{self, InsertSource, TableRef, TriggerEvent};
use crate::partitions::rows::Division;
use crate::sequences;
use crate::types::TypeInfo;

/// INSERT and REPLACE.
pub struct InsertPlan {
    pub table: Arc<Table>,
    pub replace: bool,
    pub ignore: bool,
    /// The columns that get values, in the order given.
    pub columns: Vec<usize>,
    pub source: InsertRows,
    /// Per column of the query: its values are numbers of the column's members. Empty: none are.
    pub members: Vec<bool>,
    /// A given value reads other columns of its row: `VALUES (1, a + 1)`.
    pub reads_given: bool,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: Vec<Assignment>,
    pub returning: Option<Returning>,
    pub subqueries: Vec<SubqueryPlan>,
    /// The type and value of each column's default, by ordinal.
    pub defaults: Vec<DefaultValue>,
    pub rules: RowRules,
    /// WITH CHECK OPTION of the view that is inserted into.
    pub check: Option<ViewCheck>,
    /// LAST_INSERT_ID() tells what was generated: not of a column that the view does not have.
    pub tells_id: bool,
    pub triggers: Option<Box<Triggers>>,
    /// Of a table in partitions.
    pub division: Option<Box<Division>>,
    /// The table is a sequence, which has one row.
    pub is_sequence: bool,
    /// The query's rows may go in while it still runs, because it looks at nothing that they change.
    pub is_streamed: bool,
}

pub enum InsertRows {
    /// None is DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    Query(QueryPlan),
    /// The fields of a file: LOAD DATA.
    File,
}

impl InsertPlan {
    /// The query whose rows are inserted.
    pub fn query(&self) -> Option<&QueryPlan> {
        match &self.source {
            InsertRows::Query(query) => Some(query),
            InsertRows::Values(_) | InsertRows::File => None,
        }
    }
}

/// `column = expression`; None is DEFAULT.
pub struct Assignment {
    pub column: usize,
    pub value: Option<Expr>,
}

/// UPDATE of one table.
pub struct UpdatePlan {
    pub table: Arc<Table>,
    pub ignore: bool,
    /// The rows: a query without output.
    pub select: SelectPlan,
    pub assignments: Vec<Assignment>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP that are not assigned.
    pub touched: Vec<usize>,
    /// The assigned columns are parts of the index that finds the rows: they are all found before the first is changed.
    pub collect_first: bool,
    pub defaults: Vec<DefaultValue>,
    pub rules: RowRules,
    /// WITH CHECK OPTION of the view that is changed.
    pub check: Option<ViewCheck>,
    pub triggers: Option<Box<Triggers>>,
    /// Of a table in partitions.
    pub division: Option<Box<Division>>,
}

pub struct DeletePlan {
    pub table: Arc<Table>,
    pub ignore: bool,
    pub select: SelectPlan,
    pub returning: Option<Returning>,
    pub triggers: Option<Box<Triggers>>,
}

/// Opens a table to be changed: a stored one with which the session may do what is wanted.
pub(super) fn open_stored(
    context: &PlanContext<'_>,
    name: &ast::TableName,
    alias: Option<&str>,
    wanted: Privileges,
) -> Result<Arc<Table>> {
    let database = database_of(name, context.database)?;
    if crate::information_schema::is_virtual_table(context.instance, context.rights, database, &name.name) {
        return Err(context.rights.database_refused(&database.to_ascii_lowercase()));
    }
    if let Some((database, table)) = context.checked_table(name)? {
        context.rights.need_for_rows(wanted, database, table)?;
    }
    let table = context.open(database, &name.name, alias.unwrap_or(&name.name), TableUse::Write)?;
    if !wanted.has(Privileges::INSERT) {
        refuse_sequence(&table)?;
    }
    Ok(table)
}

/// The row of a sequence is replaced by INSERT, and neither updated nor deleted.
pub(super) fn refuse_sequence(table: &Table) -> Result<()> {
    match sequences::is_sequence(table) {
        true => Err(Error::not_of_sequences(&table.database, &table.name)),
        false => Ok(()),
    }
}

/// What a table says of its rows, for an UPDATE: with the sequences of those defaults that are assigned.
pub(super) fn rules_of_update(
    context: &PlanContext<'_>,
    table: &Table,
    assignments: &[Assignment],
) -> Result<RowRules> {
    refuse_sequence(table)?;
    let mut rules = RowRules::of(context.eval, table)?;
    rules.open_sequences(context, |column| {
        assignments.iter().any(|assignment| assignment.column == column && assignment.value.is_none())
    })?;
    Ok(rules)
}

/// Whether the session may do this with columns of a table.
pub(super) fn check_columns(
    context: &PlanContext<'_>,
    name: &ast::TableName,
    table: &Table,
    wanted: Privileges,
    columns: &[usize],
) -> Result<()> {
    if table.is_temporary() || !context.rights.depends_on_columns(wanted, &table.database, &name.name) {
        return Ok(());
    }
    columns.iter().try_for_each(|column| {
        context.rights.need_column(wanted, &table.database, &table.name, &table.columns[*column].name)
    })
}

pub fn plan_insert(context: &PlanContext<'_>, insert: &ast::Insert) -> Result<InsertPlan> {
    // Those of blocks further in wait for them; the table that gets the rows is not read.
    hints::apply(context, &insert.hints, 1, &mut []);
    let mut wanted = Privileges::INSERT;
    if insert.replace {
        wanted |= Privileges::DELETE;
    }
    if !insert.on_duplicate.is_empty() {
        wanted |= Privileges::UPDATE;
    }
    let view = insert_target(context, &insert.table, &insert.columns, &insert.on_duplicate, wanted)?;
    let table = match &view {
        Some(view) => view.table.clone(),
        None => open_stored(context, &insert.table, None, wanted)?,
    };
    let mut columns = Vec::new();
    if insert.columns.is_empty() {
        let explicit_nothing = matches!(&insert.source, InsertSource::Values(rows) if rows.iter().all(Vec::is_empty));
        match &view {
            _ if explicit_nothing => {}
            Some(view) => columns.extend(view.columns.iter().map(|(_, column)| *column)),
            None => columns.extend((0..table.columns.len()).filter(|column| !table.columns[*column].invisible)),
        }
    }
    for name in &insert.columns {
        let found = view.as_ref().map_or_else(|| table.column(name), |view| view.column(name));
        let column = found.ok_or_else(|| Error::unknown_column(name, "field list"))?;
        if columns.contains(&column) {
            return Err(Error::column_specified_twice(name));
        }
        columns.push(column);
    }

    match &view {
        Some(view) => view.check_columns(context, Privileges::INSERT, &columns)?,
        None => check_columns(context, &insert.table, &table, Privileges::INSERT, &columns)?,
    }
    let level = target_level(context, &insert.table, view.as_ref())?;
    let width = table.columns.len();

    // The columns of INSERT ... SELECT's query that ON DUPLICATE KEY UPDATE reads.
    let source_names = RefCell::default();
    let mut members = Vec::new();
    let mut source_types = Vec::new();
    let source = match &insert.source {
        InsertSource::Values(rows) => {
            let scope = Clause::new(&level, "field list");
            let mut bound = Vec::with_capacity(rows.len());
            let mut binder = context.binder(&scope);
            for (number, row) in rows.iter().enumerate() {
                if row.len() != columns.len() {
                    return Err(Error::value_count(number as u64 + 1));
                }
                let mut values = Vec::with_capacity(row.len());
                for (value, &column) in row.iter().zip(&columns) {
                    values.push(match value {
                        ast::Expr::Default => None,
                        _ if table.columns[column].generated.is_some() => {
                            value_for_generated(context, &table, column)?;
                            None
                        }
                        value => Some(binder.bind(value)?),
                    });
                }
                bound.push(values);
            }
            InsertRows::Values(bound)
        }
        InsertSource::Query(query) => {
            let names = source_columns(context, &insert.table, view.as_ref(), query, &insert.on_duplicate)?;
            let mut plan = context.plan_query(&with_columns(query, &names), context.plain_reads)?;
            plan.keep_digits();
            if plan.columns().len() != columns.len() + names.len() {
                return Err(Error::value_count(1));
            }
            if !names.is_empty() && !matches!(&plan, QueryPlan::Select(select) if select.group.is_none()) {
                return Err(Error::unknown_column(&super::scope::display(&names[0]), "field list"));
            }
            check_not_generated(&table, columns.iter().copied())?;
            let mut plan = plan;
            if let QueryPlan::Select(select) = &mut plan {
                members =
                    columns.iter().enumerate().map(|(at, &column)| keep_member(select, at, &table, column)).collect();
            }
            source_types.extend(plan.columns()[columns.len()..].iter().map(|column| column.ty));
            source_names.replace(names);
            InsertRows::Query(plan)
        }
    };

    let row_alias = match &insert.row_alias {
        Some((alias, names)) => {
            let own: Vec<&str> = match &view {
                Some(view) => columns.iter().map(|column| view.names()[*column].unwrap_or_default()).collect(),
                None => columns.iter().map(|column| &*table.columns[*column].name).collect(),
            };
            Some(RowAlias::new(&insert.table.name, &own, alias, names)?)
        }
        None => None,
    };
    let mut on_duplicate = Vec::new();
    for (name, value) in &insert.on_duplicate {
        let target = Clause { values_base: Some(width), ..Clause::new(&level, "field list") };
        let scope = DuplicateScope {
            target,
            base: 2 * width,
            names: &source_names,
            types: Some(&source_types),
            query_tables: None,
            row_alias: row_alias.as_ref(),
        };
        let slot = level
            .find(name, &level.all, "field list")?
            .ok_or_else(|| Error::unknown_column(&super::scope::display(name), "field list"))?;
        match &view {
            Some(view) => view.check_columns(context, Privileges::UPDATE, &[slot])?,
            None => check_columns(context, &insert.table, &table, Privileges::UPDATE, &[slot])?,
        }
        let value = match value {
            ast::Expr::Default => None,
            _ if table.columns[slot].generated.is_some() => {
                return Err(Error::generated_value(&table.columns[slot].name, &table.name));
            }
            value => Some(context.binder(&scope).bind(value)?),
        };
        on_duplicate.push(Assignment { column: slot, value });
    }
    let returning = match &view {
        Some(view) => {
            let items = view.returned(&insert.returning, &insert.table.name)?;
            bind_returning(&level, &items).map_err(|error| view.refused_returning(error))?
        }
        None => bind_returning(&level, &insert.returning)?,
    };
    let defaults = defaults(&table)?;
    if let Some(view) = &view
        && context.eval.mode.is_strict()
        && !insert.ignore
        && (0..width).any(|at| matches!(defaults[at], DefaultValue::Missing) && !columns.contains(&at))
    {
        return Err(Error::no_default_for_view_field(&view.definition.database, &view.definition.name));
    }
    let mut rules = RowRules::of(context.eval, &table)?;
    let is_given_default = |column: usize| match &source {
        InsertRows::Values(rows) => columns
            .iter()
            .position(|given| *given == column)
            .is_none_or(|at| rows.iter().any(|row| row.get(at).is_none_or(Option::is_none))),
        InsertRows::Query(_) | InsertRows::File => !columns.contains(&column),
    };
    let is_updated = |column: usize| on_duplicate.iter().any(|own| own.column == column && own.value.is_none());
    rules.open_sequences(context, |column| is_given_default(column) || is_updated(column))?;
    let is_sequence = sequences::is_sequence(&table);
    let mut reads_given = false;
    let subqueries = level.subqueries.take();
    if let InsertRows::Values(_) = &source {
        let view = view.as_ref().map(|view| &*view.definition);
        let read_as = view.is_none().then_some(&*insert.table.name);
        let target = Target { table: &table, alias: &insert.table.name, view, read_as };
        target_reads::check(&subqueries, &target, "INSERT")?;
    }
    let outer = subqueries.iter().flat_map(|subquery| &subquery.outer);
    let given = match &source {
        InsertRows::Values(rows) => &rows[..],
        InsertRows::Query(_) | InsertRows::File => &[],
    };
    given.iter().flatten().flatten().chain(outer).for_each(|value| value.for_each_column(&mut |_| reads_given = true));
    let subqueries = context.plan_subqueries(subqueries)?;
    let shows = |column: usize| view.as_ref().is_none_or(|view| view.columns.iter().any(|(_, own)| *own == column));
    let tells_id = table.auto_increment.is_none_or(shows);
    if view.is_some() && !insert.partitions.is_empty() {
        return Err(Error::partition_clause_on_plain());
    }
    let division = Division::of(context.eval, &table, &insert.partitions)?.map(Box::new);
    let triggers = Triggers::of(context, &table, insert_events(insert.replace, !on_duplicate.is_empty()))?;
    // The counter of the table is told how many rows there are. Rows that are there already may change rows of tables that
    // refer to this one, which the query may read.
    let is_streamed = match &source {
        InsertRows::Query(query) => {
            let counts = table.auto_increment.is_some_and(|own| !columns.contains(&own));
            !insert.replace && on_duplicate.is_empty() && !counts && !query.reads(&table)
        }
        InsertRows::Values(_) | InsertRows::File => false,
    };
    Ok(InsertPlan {
        table,
        reads_given,
        replace: insert.replace,
        ignore: insert.ignore,
        columns,
        source,
        members,
        on_duplicate,
        returning,
        subqueries,
        defaults,
        rules,
        tells_id,
        check: view.and_then(|view| view.check),
        triggers,
        division,
        is_sequence,
        is_streamed,
    })
}

/// What an INSERT may do to rows.
pub(super) fn insert_events(replace: bool, updates: bool) -> &'static [TriggerEvent] {
    match (replace, updates) {
        (true, _) => &[TriggerEvent::Insert, TriggerEvent::Delete],
        (false, true) => &[TriggerEvent::Insert, TriggerEvent::Update],
        (false, false) => &[TriggerEvent::Insert],
    }
}

/// A value that is given for a generated column: an error, as in MySQL; outside of the strict modes it is passed over, as in
/// MariaDB, whose dumps have the values of such columns (`generated_columns.test`).
fn value_for_generated(context: &PlanContext<'_>, table: &Table, column: usize) -> Result<()> {
    let (column, table) = (&table.columns[column].name, &table.name);
    if context.eval.mode.is_strict() {
        return Err(Error::generated_value(column, table));
    }
    let warning = Error::generated_value_ignored(column, table).into_warning();
    let mut warnings = context.warnings.borrow_mut();
    if !warnings.iter().any(|known| known.message == warning.message) {
        warnings.push(warning);
    }
    Ok(())
}

/// Generated columns take no values but their own.
pub(super) fn check_not_generated(table: &Table, columns: impl IntoIterator<Item = usize>) -> Result<()> {
    match columns.into_iter().find(|column| table.columns[*column].generated.is_some()) {
        Some(column) => Err(Error::generated_value(&table.columns[column].name, &table.name)),
        None => Ok(()),
    }
}

/// The table that an INSERT fills, as its values see it: through a view with the view's names.
pub(super) fn target_level<'a>(
    context: &'a PlanContext<'a>,
    name: &ast::TableName,
    view: Option<&InsertTarget>,
) -> Result<Level<'a>> {
    let mut level = Level::new(context, None, ReadMode::Consistent);
    match view {
        Some(view) => {
            let names = view.names();
            level.add_renamed(&view.table, &name.name, &view.definition.database, &names)?;
            let refused = |name: &str| view.unreadable.iter().find(|(own, _)| own == name);
            let slots = names.iter().enumerate();
            level.refused = slots.filter_map(|(slot, name)| Some((slot, refused((*name)?)?.1.clone()))).collect();
        }
        None => {
            level.add_table(name, None, Vec::new())?;
        }
    }
    Ok(level)
}

/// What ON DUPLICATE KEY UPDATE sees: the table, and behind it the tables of INSERT ... SELECT's query.
struct DuplicateScope<'a> {
    target: Clause<'a>,
    base: usize,
    names: &'a RefCell<Vec<ast::ColumnName>>,
    /// The types of the columns called so. None: the names are only collected.
    types: Option<&'a [TypeInfo]>,
    /// The tables of the query, where they are looked at.
    query_tables: Option<&'a Level<'a>>,
    row_alias: Option<&'a RowAlias<'a>>,
}

/// `VALUES (...) AS new` or `AS new (a, b)`: names for the row that was to be inserted and for its columns.
struct RowAlias<'a> {
    alias: &'a str,
    /// What each column of the row is called, and the column of the table that it is meant for.
    columns: Vec<(&'a str, &'a str)>,
    /// The names are the statement's own: they can stand alone.
    renames: bool,
}

impl<'a> RowAlias<'a> {
    /// `columns`: what the table, or the view, calls those that get values.
    fn new(table: &str, columns: &[&'a str], alias: &'a str, names: &'a [String]) -> Result<RowAlias<'a>> {
        if same_name(alias, table) {
            return Err(Error::not_unique_table(alias));
        }
        if !names.is_empty() && names.len() != columns.len() {
            return Err(Error::column_list_counts());
        }
        if let Some(at) = (1..names.len()).find(|at| names[..*at].iter().any(|name| same_name(name, &names[*at]))) {
            return Err(Error::duplicate_column_name(&names[at]));
        }
        let name = |at: usize| names.get(at).map_or(columns[at], String::as_str);
        let columns = columns.iter().enumerate().map(|(at, column)| (name(at), *column)).collect();
        Ok(RowAlias { alias, columns, renames: !names.is_empty() })
    }

    /// The table's column whose new value the name means; None if it means something else.
    fn meant(&self, name: &ast::ColumnName) -> Result<Option<ast::ColumnName>> {
        let is_own = match &name.table {
            Some(table) => name.database.is_none() && same_name(table, self.alias),
            None => false,
        };
        let is_renamed = self.renames && name.table.is_none();
        if !is_own && !is_renamed {
            return Ok(None);
        }
        match self.columns.iter().find(|(called, _)| same_name(called, &name.name)) {
            Some((_, column)) => Ok(Some(ast::ColumnName::new(*column))),
            None if is_own => Err(Error::unknown_column(&super::scope::display(name), "field list")),
            None => Ok(None),
        }
    }
}

impl Scope for DuplicateScope<'_> {
    fn column(&self, name: &ast::ColumnName) -> Result<Expr> {
        if let Some(meant) = self.row_alias.map_or(Ok(None), |alias| alias.meant(name))? {
            if name.table.is_none() && self.target.column(name).is_ok() {
                return Err(Error::ambiguous_column(&name.name, "field list"));
            }
            return self.target.values_of(&meant);
        }
        let error = match self.target.column(name) {
            Err(error) if error.code == 1054 => error,
            Ok(_) if name.table.is_none() && self.query_tables.is_some_and(|tables| tables.has(&name.name)) => {
                return Err(Error::ambiguous_column(&name.name, "field list"));
            }
            other => return other,
        };
        let mut names = self.names.borrow_mut();
        let known = names.iter().position(|known| known == name);
        let at = match (known, self.types) {
            (Some(at), _) => at,
            (None, Some(_)) => return Err(error),
            (None, None) => {
                names.push(name.clone());
                names.len() - 1
            }
        };
        let ty = self.types.and_then(|types| types.get(at)).copied().unwrap_or(TypeInfo::NULL);
        Ok(Expr::slot(self.base + at, ty.nullable(true)))
    }

    fn subquery(&self, query: &ast::Query) -> Result<Subquery> {
        // Its names may be those of the row alias, and of the query's tables.
        self.target.level.bind_subquery(query, self)
    }

    fn default_of(&self, name: &ast::ColumnName) -> Result<Expr> {
        self.target.default_of(name)
    }

    fn values_of(&self, name: &ast::ColumnName) -> Result<Expr> {
        self.target.values_of(name)
    }
}

/// An ENUM or SET that is selected into a column with the same members stays a number, so that ENUM's error value arrives.
fn keep_member(select: &mut SelectPlan, at: usize, table: &Table, column: usize) -> bool {
    let keeps = member_type(&select.output[at]).is_some_and(|ty| ty == table.columns[column].ty);
    if keeps {
        select.output[at] = by_number(select.output[at].clone());
    }
    keeps
}

/// The columns of the query's tables that ON DUPLICATE KEY UPDATE names. They are only in sight if the query is one
/// SELECT without DISTINCT and groups.
fn source_columns(
    context: &PlanContext<'_>,
    table: &ast::TableName,
    view: Option<&InsertTarget>,
    query: &ast::Query,
    assignments: &[(ast::ColumnName, ast::Expr)],
) -> Result<Vec<ast::ColumnName>> {
    let select = match &query.body {
        ast::Body::Select(select) if !select.distinct && select.group_by.is_empty() && !assignments.is_empty() => {
            select
        }
        _ => return Ok(Vec::new()),
    };
    // A bare name that the query's tables have, too, is ambiguous. Names of WITH are not in sight here.
    let mut tables = Level::new(context, None, ReadMode::Consistent);
    if query.with.is_none() {
        tables.from(&select.from)?;
    }
    // A level of its own: what is bound here is only looked at for its names.
    let trial = target_level(context, table, view)?;
    let width = trial.slots.len();
    let names = RefCell::default();
    for (_, value) in assignments.iter().filter(|(_, value)| !matches!(value, ast::Expr::Default)) {
        let target = Clause { values_base: Some(width), ..Clause::new(&trial, "field list") };
        let query_tables = Some(&tables);
        let scope =
            DuplicateScope { target, base: 2 * width, names: &names, types: None, query_tables, row_alias: None };
        context.binder(&scope).bind(value)?;
    }
    Ok(names.into_inner())
}

/// The query with some columns of its tables behind those that it selects.
fn with_columns<'q>(query: &'q ast::Query, names: &[ast::ColumnName]) -> Cow<'q, ast::Query> {
    let mut query = Cow::Borrowed(query);
    if !names.is_empty()
        && let ast::Body::Select(select) = &mut query.to_mut().body
    {
        select.items.extend(names.iter().map(|name| ast::SelectItem::Expr {
            expr: ast::Expr::Column(name.clone()),
            alias: None,
            text: name.name.clone(),
        }));
    }
    query
}

/// The query that finds the rows of an UPDATE or DELETE.
pub(super) struct RowsQuery<'q> {
    pub filter: Option<&'q ast::Expr>,
    pub order_by: &'q [ast::OrderItem],
    pub limit: Option<&'q ast::Expr>,
}

/// The logical query of the rows: without output.
pub(super) fn rows_of(context: &PlanContext<'_>, level: Level<'_>, query: &RowsQuery<'_>) -> Result<Block> {
    let filter = match query.filter {
        Some(filter) => Some(context.binder(&Clause::new(&level, "where clause")).bind_number(filter)?),
        None => None,
    };
    let mut order = Vec::new();
    for item in query.order_by {
        let expr = context.binder(&Clause::new(&level, "order clause")).bind(&item.expr)?;
        order.push((by_number(expr), item.descending));
    }
    let limit = match query.limit {
        Some(count) => {
            let scope = crate::expression::NoScope;
            Some(LimitPlan { offset: None, count: context.binder(&scope).bind(count)? })
        }
        None => None,
    };
    let (from, straight) = nest::bind(&level, Some(&super::scope::JoinTree::Leaf(0)), filter)?;
    Ok(Block {
        select_number: context.next_select_number(),
        sources: level.sources,
        slots: level.slots,
        from,
        straight,
        order,
        limit,
        subqueries: level.subqueries.into_inner(),
        ..Block::nothing()
    })
}

fn plan_rows(
    context: &PlanContext<'_>,
    level: Level<'_>,
    query: &RowsQuery<'_>,
    also: &[&Expr],
    statement: &str,
) -> Result<SelectPlan> {
    let mut block = rows_of(context, level, query)?;
    if let Some(table) = block.sources[0].table() {
        let target = Target { table, alias: &block.sources[0].alias, view: None, read_as: None };
        target_reads::check(&block.subqueries, &target, statement)?;
    }
    let width = block.slots.len();
    let needed = &mut block.sources[0].needed;
    // What the change reads besides what finds the rows; beyond the row are a new row's values.
    also.iter().for_each(|expr| {
        expr.for_each_column(&mut |slot| {
            if slot < width {
                needed.insert(slot);
            }
        });
    });
    if context.instance.log.is_some() {
        // The log has whole rows.
        *needed = ColumnSet::first(width);
    }
    physical::block(context, rules::apply_to_rows(context, block)).map(|(plan, _)| plan)
}

/// The one table of an UPDATE.
pub(super) fn single_table(table: &TableRef) -> Result<(&ast::TableName, Option<&str>, &[ast::IndexHint])> {
    match table {
        TableRef::Table { name, alias, hints, .. } => Ok((name, alias.as_deref(), hints)),
        _ => Err(Error::internal("an UPDATE of one table joins")),
    }
}

pub fn plan_update(context: &PlanContext<'_>, update: &ast::Update) -> Result<UpdatePlan> {
    let (name, alias, index_hints) = single_table(&update.table)?;
    let table = open_stored(context, name, alias, Privileges::UPDATE)?;
    // In READ COMMITTED it need not wait for rows that it would not change.
    let mut level = Level::new(context, None, ReadMode::Exclusive(IfLocked::Committed));
    let source = level.add_table(name, alias, index_hints.to_vec())?;
    level.sources[source].is_changed = true;
    level.hints = hints::apply(context, &update.hints, 1, &mut level.sources);
    if let TableRef::Table { partitions, .. } = &update.table {
        level.choose_partitions(source, partitions)?;
    }
    let division = level.sources[source].division.clone();
    let mut assignments = Vec::new();
    let table_name = name;
    for (name, value) in &update.assignments {
        let column = level
            .find(name, &level.all, "field list")?
            .ok_or_else(|| Error::unknown_column(&super::scope::display(name), "field list"))?;
        check_columns(context, table_name, &table, Privileges::UPDATE, &[column])?;
        let value = match value {
            ast::Expr::Default => None,
            _ if table.columns[column].generated.is_some() => {
                return Err(Error::generated_value(&table.columns[column].name, &table.name));
            }
            value => Some(context.binder(&Clause::new(&level, "field list")).bind(value)?),
        };
        assignments.push(Assignment { column, value });
    }
    let assigned = |column: usize| assignments.iter().any(|assignment| assignment.column == column);
    let touched: Vec<usize> =
        (0..table.columns.len()).filter(|at| table.columns[*at].on_update_now && !assigned(*at)).collect();
    let query = RowsQuery { filter: update.filter.as_ref(), order_by: &update.order_by, limit: update.limit.as_ref() };
    // The values, and the columns that are compared with them.
    let mut also: Vec<Expr> = assignments.iter().filter_map(|assignment| assignment.value.clone()).collect();
    also.extend(
        assignments
            .iter()
            .map(|assignment| assignment.column)
            .chain(touched.iter().copied())
            .map(|column| Expr::slot(column, TypeInfo::NULL)),
    );
    let rules = rules_of_update(context, &table, &assignments)?;
    let triggers = Triggers::of(context, &table, &[TriggerEvent::Update])?;
    let has_default = assignments.iter().any(|assignment| assignment.value.is_none());
    // A row that moves to another partition moves as a whole.
    let moves =
        division.as_ref().is_some_and(|division| {
            division.routing.columns.iter().any(|column| {
                assigned(*column) || touched.contains(column) || table.columns[*column].generated.is_some()
            })
        });
    if rules.concerns_changes() || has_default || triggers.is_some() || moves {
        also.extend((0..table.columns.len()).map(|column| Expr::slot(column, TypeInfo::NULL)));
    }
    let also: Vec<&Expr> = also.iter().collect();
    let select = plan_rows(context, level, &query, &also, "UPDATE")?;
    let changed =
        |column: usize| assigned(column) || touched.contains(&column) || table.columns[column].generated.is_some();
    // A trigger may do anything to the tables that the scan stands in.
    let collect_first = triggers.is_some() || moves || reads_what_changes(&select, &table, &changed);
    let defaults = defaults(&table)?;
    Ok(UpdatePlan {
        table,
        ignore: update.ignore,
        select,
        assignments,
        touched,
        collect_first,
        defaults,
        rules,
        check: None,
        triggers,
        division,
    })
}

/// The Halloween problem: a row that moves within the index that is being read would be found again.
pub(super) fn reads_what_changes(select: &SelectPlan, table: &Table, changed: &dyn Fn(usize) -> bool) -> bool {
    if !select.subqueries.is_empty() {
        return true;
    }
    let Some(Step::Table(step)) = select.steps.first() else { return true };
    let index = match &step.access {
        super::Access::Point { .. } => return false,
        super::Access::Scan { index, .. } | super::Access::Range { index, .. } => *index,
        super::Access::Elements(access) => access.index,
        // Which alternative finds a row depends on the columns of all of them.
        super::Access::Rows | super::Access::Merge(_) => return true,
        // The rows are found before the first is given, unless all rows are read after all.
        super::Access::Fulltext(access) if access.more_than.is_none() => return false,
        super::Access::Fulltext(_) => 0,
    };
    let parts = table.indexes[index].parts.iter().chain(&table.indexes[0].parts);
    parts.map(|part| part.column).any(changed)
}

pub fn plan_delete(context: &PlanContext<'_>, delete: &ast::Delete) -> Result<DeletePlan> {
    let table = open_stored(context, &delete.table, delete.alias.as_deref(), Privileges::DELETE)?;
    let mut level = Level::new(context, None, ReadMode::EXCLUSIVE);
    let source = level.add_table(&delete.table, delete.alias.as_deref(), Vec::new())?;
    level.sources[source].is_changed = true;
    level.hints = hints::apply(context, &delete.hints, 1, &mut level.sources);
    level.choose_partitions(source, &delete.partitions)?;
    let query = RowsQuery { filter: delete.filter.as_ref(), order_by: &delete.order_by, limit: delete.limit.as_ref() };
    let returning = bind_returning(&level, &delete.returning)?;
    let triggers = Triggers::of(context, &table, &[TriggerEvent::Delete])?;
    let width = if triggers.is_some() { table.columns.len() } else { 0 };
    let whole: Vec<Expr> = (0..width).map(|column| Expr::slot(column, TypeInfo::NULL)).collect();
    let also: Vec<&Expr> = returning.iter().flat_map(|returning| &returning.output).chain(&whole).collect();
    let select = plan_rows(context, level, &query, &also, "DELETE")?;
    Ok(DeletePlan { table, ignore: delete.ignore, select, returning, triggers })
}
