//! From a statement to a plan: names become slots, conditions become index
//! ranges, tables get an order.
//!
//! ```text
//! ast::Query --scope, select--> logical::Query --rules--> logical::Query --physical: access, join--> QueryPlan
//! ast::Insert, Update, Delete --change--> the same for the queries in them ----------------------> ChangePlan
//! ```
//!
//! A plan is made once and run often: it holds no value of an execution. What
//! depends on parameters (key ranges, limits) stays an expression, and becomes bytes
//! when the plan runs. A plan remembers the tables it was made for; a session asks
//! storage whether these are still the current ones before it runs the plan again.
//!
//! The row of a query has one *slot* for each column of each table in FROM, in the
//! order written. A subquery that stays one has a plan of its own: an outer column that it
//! mentions is one more parameter of it, behind the statement's.
//!
//! Invariants:
//!
//! * A key range is conservative: it covers every row for which the conditions it
//!   was made from are true. The conditions are evaluated on top, but for those that
//!   a point lookup with an exactly converted key has answered already.
//! * A LEFT JOIN's inner tables stand behind all tables of its outer side.
//! * What is not understood is refused with 1235; it is never left out.

pub mod access;
pub mod alternatives;
pub mod arrays;
mod bare;
pub mod bind;
pub mod change;
pub mod clause;
mod column_rights;
pub mod column_tests;
pub mod defaults;
pub mod definition;
mod evaluated_once;
pub mod explain;
pub mod explain_json;
pub mod explain_tree;
pub mod fulltext;
pub mod grouping;
pub mod hash_join;
pub mod hinted;
pub mod hints;
pub mod join;
pub mod joined_change;
pub mod joined_view;
pub mod json_table;
pub mod keys;
pub mod load;
pub mod logical;
pub mod made;
pub mod members;
pub mod nest;
pub mod once;
pub mod physical;
pub mod profile;
pub mod pruning;
pub mod query;
pub mod range;
pub mod returning;
pub mod role;
pub mod rollup;
pub mod row_rules;
pub mod rules;
pub mod sargable;
pub mod scope;
pub mod select;
mod selectivity;
mod stored_function;
mod target_reads;
pub mod triggers;
pub mod view;
pub mod view_change;
mod view_rights;
pub mod view_target;
pub mod walk;
pub mod wanted_order;
pub mod window;
pub mod with;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use format::collation::CollationId;
use format::packet::ColumnDefinition;
use format::value::ColumnType;
use storage::{ColumnSet, Definition, ReadMode, Table, TableUse, Trx};

use crate::accounts::Rights;
use crate::error::{Error, Result, Warning};
use crate::expression::{AggregateCall, Binder, EvalContext, Expr, Scope};
use crate::information_schema::VirtualTable;
use crate::instance::Instance;
use crate::parser::ast;
use crate::partitions::rows::Division;
use crate::result::StoredColumn;
use crate::table_locks::LockedTables;
use crate::types::TypeInfo;

use role::Role;
use walk::each_step;

pub use access::Access;
pub use hash_join::{HashKey, HashPlan, KeyKind};
pub use range::{Interval, KeyExpr, PartRange};
pub use window::WindowCall;

/// What planning needs to know of the session, and collects for it.
pub struct PlanContext<'a> {
    pub instance: &'a Instance,
    /// The session's settings, and the values of the `?` of this execution (empty when only preparing).
    pub eval: &'a EvalContext<'a>,
    pub trx: &'a RefCell<Trx>,
    pub database: Option<&'a str>,
    /// `collation_database`: files are in its character set unless they say otherwise.
    pub database_collation: CollationId,
    /// How many `?` the statement has: outer columns of subqueries are numbered from here on.
    pub parameter_count: usize,
    pub parameter_types: &'a [TypeInfo],
    /// Every stored table that the plan reads or changes.
    pub tables: RefCell<Vec<(Arc<Table>, TableUse)>>,
    /// LOCK TABLES of the session: it may use these and no others.
    pub locked: Option<&'a LockedTables>,
    /// Those of them that the statement has named: database, name, alias.
    pub named: RefCell<Vec<[Box<str>; 3]>>,
    /// What the session may do with them.
    pub rights: &'a Rights,
    /// How tables are read that the statement does not change or lock.
    pub plain_reads: ReadMode,
    pub depth: Cell<usize>,
    /// The tables of WITH that are in sight, the innermost last.
    pub common_tables: RefCell<Vec<CommonTable>>,
    /// How many derived tables there are so far: each has a number.
    pub next_derived: Cell<usize>,
    /// Derived tables whose plans are made.
    pub derived_plans: RefCell<Vec<Arc<Derived>>>,
    /// Select numbers for EXPLAIN.
    pub next_select: Cell<usize>,
    /// The value of a `?` decided something: the plan serves this execution alone.
    pub reads_values: Cell<bool>,
    /// A view's tables are stored ones: the session's temporary tables do not hide them.
    pub stored_only: bool,
    /// The statement defines a view: its tables are to be used through the view, and be it to insert rows.
    pub defines_view: bool,
    /// The views that the plan was made of.
    pub views: RefCell<Vec<Arc<Definition>>>,
    /// The views whose queries are being bound, the innermost last.
    pub inside: RefCell<Vec<(Box<str>, Box<str>)>>,
    /// The plan calls stored functions, or fires triggers.
    pub runs_programs: Cell<bool>,
    /// What each run of the plan warns of.
    pub warnings: RefCell<Vec<Warning>>,
    /// Optimizer hints about blocks that are not bound yet.
    pub waiting_hints: RefCell<Vec<ast::Hint>>,
    /// MAX_EXECUTION_TIME, in milliseconds.
    pub time_limit_ms: Cell<Option<u64>>,
}

/// Any plan that yields rows.
pub enum QueryPlan {
    Select(Box<SelectPlan>),
    Union(Box<UnionPlan>),
    Recursive(Box<RecursivePlan>),
    /// What the last round of a recursion gave: the recursion puts the rows where those of derived tables are kept.
    Working(WorkingPlan),
}

/// WITH RECURSIVE: the rows of the seed, and then round by round what the members make of the rows of the last round.
pub struct RecursivePlan {
    pub name: Box<str>,
    pub seed: QueryPlan,
    pub members: Vec<QueryPlan>,
    /// No row is given twice.
    pub distinct: bool,
    /// The number of the derived table by which the members read the rows of the last round.
    pub working: usize,
    pub columns: Vec<OutputColumn>,
    pub types: Vec<ColumnType>,
    pub limit: Option<LimitPlan>,
}

pub struct WorkingPlan {
    pub columns: Vec<OutputColumn>,
    pub types: Vec<ColumnType>,
}

/// How a part of a chain of set operations is taken together with what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetLink {
    pub operator: ast::SetOperator,
    pub all: bool,
}

/// A table of WITH.
pub struct CommonTable {
    pub written: ast::CommonTable,
    /// Set by the first reference; later ones read the same rows.
    pub bound: Option<Rc<logical::Derived>>,
    /// It stands behind WITH RECURSIVE.
    pub may_recurse: bool,
    /// While its own query is bound: what its name means there.
    pub own_name: Option<with::OwnName>,
}

/// A query in FROM, or behind a name of WITH, that keeps a plan of its own. A statement runs it once, when its rows are
/// first wanted, and keeps them, however often they are read.
pub struct Derived {
    pub id: usize,
    pub plan: QueryPlan,
    pub estimate: Estimate,
}

/// What a query is expected to give and to cost, in rows.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub rows: f64,
    pub cost: f64,
}

/// A column of a result.
#[derive(Clone)]
pub struct OutputColumn {
    pub name: Box<str>,
    pub ty: TypeInfo,
    /// How values are rendered and stored in between.
    pub column_type: ColumnType,
    /// The table's column, when the output is nothing else.
    pub origin: Option<Origin>,
}

/// Which column of which table an output column is.
#[derive(Clone)]
pub struct Origin {
    pub database: Box<str>,
    pub alias: Box<str>,
    pub table: Box<str>,
    pub column: Box<str>,
    pub flags: u16,
    /// It is a TINYINT(1).
    pub boolean: bool,
    /// The table and the column's ordinal, of a stored table that the query itself names.
    pub stored: Option<(Arc<Table>, usize)>,
}

/// UNION, EXCEPT, INTERSECT: the parts run one after the other.
pub struct UnionPlan {
    pub parts: Vec<QueryPlan>,
    /// How each part but the first joins those before it.
    pub links: Vec<SetLink>,
    /// Per part: which of the values that the union reads of the outer query are the part's.
    pub outer: Vec<Range<usize>>,
    /// Behind which part (its index) duplicates of all rows so far are removed: the last UNION without ALL.
    pub distinct_until: Option<usize>,
    pub columns: Vec<OutputColumn>,
    pub types: Vec<ColumnType>,
    pub order: Vec<(Expr, bool)>,
    pub limit: Option<LimitPlan>,
    /// Rows behind the limit are counted, too.
    pub calc_found_rows: bool,
    /// Subqueries of ORDER BY.
    pub subqueries: Vec<SubqueryPlan>,
}

pub struct LimitPlan {
    pub offset: Option<Expr>,
    pub count: Expr,
}

/// A query over tables.
pub struct SelectPlan {
    pub select_number: usize,
    pub sources: Vec<Source>,
    /// slot -> (source, column)
    pub slots: Vec<(u16, u16)>,
    /// Conditions that need no row: if one is not true there are no rows.
    pub constants: Vec<Expr>,
    pub steps: Vec<Step>,
    pub group: Option<GroupPlan>,
    pub having: Option<Expr>,
    pub windows: Option<WindowPlan>,
    pub output: Vec<Expr>,
    pub columns: Vec<OutputColumn>,
    pub types: Vec<ColumnType>,
    /// Rows go from storage to the client as they are.
    pub stored: Option<StoredOutput>,
    pub distinct: bool,
    /// The output is not rounded to its types' digits.
    pub keeps_digits: bool,
    /// Expressions over the row, and whether descending. Empty when the steps yield the order.
    pub order: Vec<(Expr, bool)>,
    pub limit: Option<LimitPlan>,
    pub calc_found_rows: bool,
    pub subqueries: Vec<SubqueryPlan>,
    /// Did the statement ask for an order that an index yields? For EXPLAIN.
    pub order_by_index: bool,
}

/// The output of a query of one table whose columns go out undecoded: no grouping, no expressions.
pub struct StoredOutput {
    pub columns: Vec<StoredColumn>,
    /// (column, descending): the rows are sorted by these. Empty: they go out as they are found.
    pub order: Vec<(usize, bool)>,
    /// Rows that are equal by `order` are one.
    pub distinct: bool,
}

/// A table of FROM; `D` is a query there: logical, or its plan.
pub struct Source<D = Arc<Derived>> {
    pub kind: SourceKind<D>,
    pub alias: Box<str>,
    pub database: Box<str>,
    pub columns: Vec<SourceColumn>,
    pub slot_base: usize,
    /// The columns that the query reads.
    pub needed: ColumnSet,
    /// The columns that the session may not read.
    pub unreadable: ColumnSet,
    pub read_mode: ReadMode,
    /// Whether the statement changes its rows.
    pub is_changed: bool,
    pub hints: Vec<ast::IndexHint>,
    /// What optimizer hints say of it.
    pub hinted: hinted::Hinted,
    /// LATERAL: what its query reads of the tables before it, whose values follow the statement's parameters.
    pub lateral: Vec<Expr>,
    /// Whether it is the inner side of an outer join, so that all of its columns can be NULL.
    pub nullable: bool,
    /// Of a table in partitions: how it is divided, and which partitions the query names.
    pub division: Option<Box<Division>>,
}

pub enum SourceKind<D = Arc<Derived>> {
    Table(Arc<Table>),
    Derived(D),
    Virtual(&'static VirtualTable),
    JsonTable(Box<json_table::JsonTable>),
}

impl<D> Source<D> {
    /// A column as messages name it: with its database, which a derived table has none of.
    pub fn column_name(&self, column: usize) -> String {
        let name = &self.columns[column].name;
        match self.database.is_empty() {
            true => format!("{}.{name}", self.alias),
            false => format!("{}.{}.{name}", self.database, self.alias),
        }
    }
}

#[derive(Clone)]
pub struct SourceColumn {
    pub name: Box<str>,
    pub ty: ColumnType,
    pub info: TypeInfo,
    pub invisible: bool,
}

/// One level of the nested loops.
pub enum Step {
    Table(TableStep),
    /// A semi-join: the row counts if the steps find a row; an anti-join: if they find none.
    Semi {
        steps: Vec<Step>,
        anti: bool,
    },
    /// A LEFT JOIN: the steps of the inner side; if none of their rows matches, its tables are NULL.
    Left {
        steps: Vec<Step>,
        sources: Vec<usize>,
        /// Conditions of WHERE on the joined row.
        filters: Vec<Expr>,
    },
}

pub struct TableStep {
    pub source: usize,
    pub access: Access,
    /// The access alone reads the columns of an index, not of the table.
    pub covering: bool,
    /// How its rows are kept and found by hash. None: they are read for each row of the tables before it.
    pub hash: Option<HashPlan>,
    pub filters: Vec<Filter>,
    /// Those of them that a scan decides by stored values.
    pub tests: Vec<column_tests::TestPlan>,
    /// What tells which partitions are read; None: all that the query names.
    pub pruning: Option<Box<pruning::Pruning>>,
    /// For EXPLAIN.
    pub rows: u64,
    pub expected: Box<Expected>,
    pub possible_keys: Vec<usize>,
}

/// What the planner expects of a step.
#[derive(Debug)]
pub struct Expected {
    /// The share of the rows that are found which its conditions let through.
    pub share: f64,
    /// What one read costs, and what all of them do.
    pub cost: f64,
    pub cost_of_all: f64,
    /// Of the join up to here.
    pub joined: Estimate,
}

impl TableStep {
    /// How its rows are kept, if that is expected.
    pub fn kept(&self) -> Option<&HashPlan> {
        self.hash.as_ref().filter(|hash| hash.is_expected)
    }

    /// How most of its rows are expected to be read, and whether an index alone has them.
    pub fn shown_access(&self) -> (&Access, bool) {
        match self.kept().and_then(|hash| hash.build.as_ref()) {
            Some((access, covering)) => (access, *covering),
            None => (&self.access, self.covering),
        }
    }

    /// Whether that access answers a condition.
    pub fn answers(&self, filter: &Filter) -> bool {
        filter.answered && self.kept().is_none_or(|hash| hash.build.is_none())
    }
}

pub struct Filter {
    pub expr: Expr,
    /// The access answers this condition when all of its keys convert exactly.
    pub answered: bool,
    /// It reads this table alone: rows that are kept for a hash join have passed it.
    pub is_local: bool,
}

pub struct GroupPlan {
    /// GROUP BY's expressions; empty: all rows are one group.
    pub keys: Vec<Expr>,
    pub aggregates: Vec<AggregateCall>,
    /// WITH ROLLUP.
    pub rollup: Option<logical::Rollup>,
    /// The slots that the group's row keeps, for expressions beside the aggregates.
    pub kept: Vec<usize>,
    /// The first row that counts settles it: MIN or MAX at the end of an index.
    pub first_row_settles: bool,
}

/// Window functions: computed once all rows are known that HAVING lets through.
pub struct WindowPlan {
    pub calls: Vec<WindowCall>,
    /// The slots that are kept of each row.
    pub kept: Vec<usize>,
    /// How many results of aggregates are kept of each row.
    pub aggregates: usize,
}

/// A subquery in an expression.
pub struct SubqueryPlan {
    pub plan: QueryPlan,
    /// The outer query's expressions whose values follow the statement's parameters.
    pub outer: Vec<Expr>,
    /// Reads nothing of the outer row: runs once.
    pub is_constant: bool,
    /// Its value is the same whenever it reads the same of the outer row: it runs once for each.
    pub is_kept: bool,
}

impl CommonTable {
    pub fn new(written: ast::CommonTable, may_recurse: bool) -> CommonTable {
        CommonTable { written, bound: None, may_recurse, own_name: None }
    }
}

impl SelectPlan {
    /// Whether the order in which the first step finds its rows counts.
    pub fn wants_order(&self) -> bool {
        self.order_by_index || self.group.as_ref().is_some_and(|group| group.first_row_settles)
    }
}

impl QueryPlan {
    /// The rows are for columns or variables, which round as they can: decimals keep the digits beyond their types.
    pub fn keep_digits(&mut self) {
        if let QueryPlan::Select(plan) = self {
            plan.keeps_digits = !plan.distinct;
        }
    }

    pub fn columns(&self) -> &[OutputColumn] {
        match self {
            QueryPlan::Select(plan) => &plan.columns,
            QueryPlan::Union(plan) => &plan.columns,
            QueryPlan::Recursive(plan) => &plan.columns,
            QueryPlan::Working(plan) => &plan.columns,
        }
    }

    pub fn types(&self) -> &[ColumnType] {
        match self {
            QueryPlan::Select(plan) => &plan.types,
            QueryPlan::Union(plan) => &plan.types,
            QueryPlan::Recursive(plan) => &plan.types,
            QueryPlan::Working(plan) => &plan.types,
        }
    }

    /// Whether it looks at rows of a table.
    pub fn reads(&self, table: &Table) -> bool {
        let mut reads = false;
        each_step(self, &mut |select, step| {
            reads |= matches!(&select.sources[step.source].kind, SourceKind::Table(own) if own.id == table.id);
        });
        reads
    }

    /// Whether its rows are groups, or differ from each other.
    pub fn has_each_once(&self) -> bool {
        match self {
            QueryPlan::Select(plan) => plan.group.is_some() || plan.distinct,
            QueryPlan::Union(plan) => plan.distinct_until == Some(plan.parts.len() - 1),
            QueryPlan::Recursive(_) | QueryPlan::Working(_) => true,
        }
    }

    /// The types of columns that a table made from the query has: an ENUM or SET stays one.
    pub fn table_types(&self) -> Vec<ColumnType> {
        let columns = self.columns().iter().map(|column| column.column_type.clone());
        match self {
            QueryPlan::Select(plan) => {
                let made = |expr| members::member_type(expr).or_else(|| made::small_integer(expr));
                plan.output.iter().zip(columns).map(|(expr, ty)| made(expr).unwrap_or(ty)).collect()
            }
            QueryPlan::Union(_) | QueryPlan::Recursive(_) | QueryPlan::Working(_) => columns.collect(),
        }
    }

    /// What the client is told about the columns.
    pub fn definitions(&self, results: Option<CollationId>) -> Arc<[ColumnDefinition]> {
        self.columns().iter().map(|column| definition::definition(column, results)).collect()
    }
}

impl PlanContext<'_> {
    pub fn binder<'b>(&'b self, scope: &'b dyn Scope) -> Binder<'b> {
        let eval = self.eval;
        let mut binder = Binder::new(scope, eval.session, eval.mode, eval.connection, self.parameter_types);
        binder.client = eval.client;
        binder.utf8mb4 = eval.utf8mb4;
        binder.div_precision_increment = eval.div_precision_increment;
        binder.max_allowed_packet_bytes = eval.max_allowed_packet_bytes;
        binder.group_concat_bytes_max = eval.group_concat_bytes_max;
        binder.functions = Some(self);
        binder
    }

    /// Plans a query that stands alone.
    pub fn plan_query(&self, query: &ast::Query, read_mode: ReadMode) -> Result<QueryPlan> {
        let (query, _) = self.bind_query(query, None, read_mode)?;
        physical::query(self, rules::apply(self, query))
    }

    /// The logical plan of a query: what stands in a query may be one again. The second is what it reads of the outer
    /// query: expressions of the parent's scope.
    pub fn bind_query(
        &self,
        query: &ast::Query,
        parent: Option<&dyn Scope>,
        read_mode: ReadMode,
    ) -> Result<(logical::Query, Vec<Expr>)> {
        query::bind_query(self, query, parent, read_mode, Role::Read)
    }

    /// Binds the query of a view or a derived table.
    pub fn bind_derived(
        &self,
        query: &ast::Query,
        parent: Option<&dyn Scope>,
        read_mode: ReadMode,
        role: Role,
    ) -> Result<(Rc<logical::Derived>, Vec<Expr>)> {
        let (query, outer) = query::bind_query(self, query, parent, read_mode, role)?;
        Ok((self.derived(query), outer))
    }

    /// Binds a table of WITH. None: there is no such table.
    pub fn bind_common_table(&self, name: &str) -> Result<Option<(Rc<logical::Derived>, Vec<String>)>> {
        with::bind_common_table(self, name)
    }

    /// A query as a derived table. ENUM and SET columns stay numbers in its rows, so that they are both name and number
    /// to the query that reads it.
    pub fn derived(&self, mut query: logical::Query) -> Rc<logical::Derived> {
        if let logical::Query::Block(block) = &mut query {
            for (at, expr) in block.output.iter_mut().enumerate() {
                let Some(ty) = members::member_type(expr) else { continue };
                *expr = members::by_number(expr.clone());
                block.columns[at].column_type = ty;
            }
        }
        self.next_derived.set(self.next_derived.get() + 1);
        let refused = match &mut query {
            logical::Query::Block(block) => std::mem::take(&mut block.refused),
            _ => Vec::new(),
        };
        let columns = query.columns().to_vec();
        Rc::new(logical::Derived {
            id: self.next_derived.get(),
            columns,
            query: RefCell::new(query),
            view: None,
            refused,
        })
    }

    /// Plans with the tables of a WITH in sight.
    pub fn with_tables<T>(&self, with: Option<&ast::With>, plan: impl FnOnce() -> Result<T>) -> Result<T> {
        let known = self.common_tables.borrow().len();
        if let Some(with) = with {
            let tables = with.tables.iter().cloned().map(|written| CommonTable::new(written, with.recursive));
            self.common_tables.borrow_mut().extend(tables);
        }
        let result = plan();
        self.common_tables.borrow_mut().truncate(known);
        result
    }

    /// A name of WITH stands for a query, which cannot be changed.
    pub fn check_is_no_query(&self, name: &ast::TableName, statement: &str) -> Result<()> {
        let is_query =
            name.database.is_none() && self.common_tables.borrow().iter().any(|table| table.written.name == name.name);
        if is_query { Err(Error::not_updatable(&name.name, statement)) } else { Ok(()) }
    }

    /// The plans of subqueries in a statement's expressions that are not part of a query.
    pub fn plan_subqueries(&self, subqueries: Vec<logical::Subquery>) -> Result<Vec<SubqueryPlan>> {
        physical::subqueries(self, rules::apply_to_subqueries(self, subqueries))
    }

    pub fn next_select_number(&self) -> usize {
        self.next_select.set(self.next_select.get() + 1);
        self.next_select.get()
    }

    /// Database and name of a table whose privileges count: not a temporary table of the session.
    pub fn checked_table<'n>(&'n self, name: &'n ast::TableName) -> Result<Option<(&'n str, &'n str)>> {
        let database = crate::catalog::database_of(name, self.database)?;
        let own =
            !self.stored_only && !self.rights.is_internal() && self.trx.borrow().has_temporary(database, &name.name);
        Ok((!own).then_some((database, name.name.as_str())))
    }

    /// Opens a table that the statement names. Each name that LOCK TABLES has may stand in a statement once.
    pub fn open_named(&self, database: &str, name: &str, alias: &str, wanted: TableUse) -> Result<Arc<Table>> {
        if self.locked.is_some() && !self.trx.borrow().has_temporary(database, name) {
            let place = [database, name, alias].map(Box::from);
            if self.named.borrow().contains(&place) {
                return Err(Error::table_not_locked(alias));
            }
            self.named.borrow_mut().push(place);
        }
        self.open(database, name, alias, wanted)
    }

    /// Opens a stored table, and remembers it as one of the plan's.
    pub fn open(&self, database: &str, name: &str, alias: &str, wanted: TableUse) -> Result<Arc<Table>> {
        if let Some(locked) = self.locked
            && !self.trx.borrow().has_temporary(database, name)
        {
            locked.check(database, name, alias, wanted)?;
        }
        let table = match self.stored_only {
            true => crate::catalog::open_stored(&mut self.trx.borrow_mut(), database, name, wanted)?,
            false => crate::catalog::open(&mut self.trx.borrow_mut(), database, name, wanted)?,
        };
        let mut tables = self.tables.borrow_mut();
        match tables.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &table)) {
            Some((_, known)) => *known = wanted.max(*known),
            None => tables.push((table.clone(), wanted)),
        }
        Ok(table)
    }
}
