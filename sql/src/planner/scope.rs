//! What names mean: the tables of FROM, their columns as slots, select aliases, and
//! the columns of outer queries.
//!
//! A [`Level`] is one SELECT. Its sources stand in the order written, and the slots
//! of a source follow each other. A [`Clause`] is the view that one clause has of its
//! level: which sources it sees, and whether it sees the aliases of the select list.

use std::cell::RefCell;

use storage::{ColumnSet, ReadMode, TableUse};

use super::{OutputColumn, PlanContext, QueryPlan, Source, SourceColumn, SourceKind, SubqueryPlan, select};
use crate::catalog::database_of;
use crate::error::{Error, Result};
use crate::expression::{Expr, Node, Scope, Subquery};
use crate::information_schema;
use crate::parser::ast::{self, ColumnName, JoinCondition, JoinKind, Query, TableName, TableRef};
use crate::types::TypeInfo;

/// One SELECT while it is being planned.
pub struct Level<'a> {
    pub context: &'a PlanContext<'a>,
    pub parent: Option<&'a dyn Scope>,
    pub sources: Vec<Source>,
    pub slots: Vec<(u16, u16)>,
    /// Slots that USING made one with another: not found by a bare name, not shown by `*`.
    pub merged: Vec<usize>,
    /// The slots that stand for both of a pair of USING, in order: `*` shows them first.
    pub common: Vec<usize>,
    pub outer: RefCell<Vec<Expr>>,
    pub subqueries: RefCell<Vec<SubqueryPlan>>,
    pub read_mode: ReadMode,
}

/// FROM as a tree over sources.
pub enum JoinTree<'q> {
    Leaf(usize),
    Join {
        left: Box<JoinTree<'q>>,
        right: Box<JoinTree<'q>>,
        /// LEFT JOIN; RIGHT has been turned around.
        outer: bool,
        straight: bool,
        on: Option<&'q ast::Expr>,
        /// Pairs of slots made equal by USING and NATURAL.
        using: Vec<(usize, usize)>,
        /// The sources that ON sees: first and behind the last.
        visible: (usize, usize),
    },
}

impl<'a> Level<'a> {
    pub fn new(context: &'a PlanContext<'a>, parent: Option<&'a dyn Scope>, read_mode: ReadMode) -> Level<'a> {
        Level {
            context,
            parent,
            sources: Vec::new(),
            slots: Vec::new(),
            merged: Vec::new(),
            common: Vec::new(),
            outer: RefCell::default(),
            subqueries: RefCell::default(),
            read_mode,
        }
    }

    /// Adds the tables of FROM.
    pub fn from<'q>(&mut self, from: &'q [TableRef]) -> Result<Option<JoinTree<'q>>> {
        let mut tree = None;
        for table in from {
            let right = self.table_ref(table)?;
            tree = Some(match tree {
                None => right,
                Some(left) => JoinTree::Join {
                    left: Box::new(left),
                    right: Box::new(right),
                    outer: false,
                    straight: false,
                    on: None,
                    using: Vec::new(),
                    visible: (0, 0),
                },
            });
        }
        Ok(tree)
    }

    fn table_ref<'q>(&mut self, table: &'q TableRef) -> Result<JoinTree<'q>> {
        match table {
            TableRef::Table { name, alias, .. }
                if name.database.is_none()
                    && let Some((plan, columns)) = select::plan_common_table(self.context, &name.name)? =>
            {
                self.add_derived(plan, alias.as_deref().unwrap_or(&name.name), &columns)
            }
            TableRef::Table { name, alias, hints } => {
                Ok(JoinTree::Leaf(self.add_table(name, alias.as_deref(), hints.clone())?))
            }
            TableRef::Derived { query, alias, columns, lateral } => {
                if *lateral {
                    return Err(Error::unsupported("LATERAL derived tables"));
                }
                let plan = select::plan_query(self.context, query, None, self.context.plain_reads)?.0;
                self.add_derived(plan, alias, columns)
            }
            TableRef::Join { left, right, kind, condition } => {
                let first = self.sources.len();
                let left_tree = self.table_ref(left)?;
                let middle = self.sources.len();
                let right_tree = self.table_ref(right)?;
                let end = self.sources.len();
                let (on, using) = match condition {
                    JoinCondition::None => (None, Vec::new()),
                    JoinCondition::On(expr) => (Some(expr), Vec::new()),
                    JoinCondition::Using(names) => {
                        (None, self.using(names, (first, middle), (middle, end), *kind == JoinKind::Right)?)
                    }
                    JoinCondition::Natural => {
                        let names = self.natural((first, middle), (middle, end));
                        (None, self.using(&names, (first, middle), (middle, end), *kind == JoinKind::Right)?)
                    }
                };
                let (left_tree, right_tree, inner) = match kind {
                    JoinKind::Right => (right_tree, left_tree, Some((first, middle))),
                    JoinKind::Left => (left_tree, right_tree, Some((middle, end))),
                    JoinKind::Inner | JoinKind::Straight => (left_tree, right_tree, None),
                };
                if let Some((from, to)) = inner {
                    self.sources[from..to].iter_mut().for_each(|source| source.nullable = true);
                }
                Ok(JoinTree::Join {
                    left: Box::new(left_tree),
                    right: Box::new(right_tree),
                    outer: inner.is_some(),
                    straight: *kind == JoinKind::Straight,
                    on,
                    using,
                    visible: (first, end),
                })
            }
        }
    }

    /// Adds a derived table; `columns` rename its columns, if there are any.
    fn add_derived<'q>(&mut self, plan: QueryPlan, alias: &str, columns: &[String]) -> Result<JoinTree<'q>> {
        let mut list: Vec<SourceColumn> = plan.columns().iter().map(derived_column).collect();
        if !columns.is_empty() {
            if columns.len() != list.len() {
                return Err(Error::new(
                    1353,
                    b"HY000",
                    "In definition of view, derived table or common table expression, SELECT list and column \
                     names list have different column counts",
                ));
            }
            for (column, name) in list.iter_mut().zip(columns) {
                column.name = name.as_str().into();
            }
        }
        for (at, column) in list.iter().enumerate() {
            if list[..at].iter().any(|other| storage::same_name(&other.name, &column.name)) {
                return Err(Error::duplicate_column_name(&column.name));
            }
        }
        self.add_source(SourceKind::Derived(plan), alias, "", list, Vec::new()).map(JoinTree::Leaf)
    }

    /// The names that both sides have.
    fn natural(&self, left: (usize, usize), right: (usize, usize)) -> Vec<String> {
        let mut names = Vec::new();
        for source in &self.sources[left.0..left.1] {
            for column in &source.columns {
                let shared = self.sources[right.0..right.1]
                    .iter()
                    .any(|other| other.columns.iter().any(|c| storage::same_name(&c.name, &column.name)));
                if shared && !names.iter().any(|name: &String| storage::same_name(name, &column.name)) {
                    names.push(column.name.to_string());
                }
            }
        }
        names
    }

    fn using(
        &mut self,
        names: &[String],
        left: (usize, usize),
        right: (usize, usize),
        keep_right: bool,
    ) -> Result<Vec<(usize, usize)>> {
        let mut pairs = Vec::new();
        for name in names {
            let column = ColumnName { database: None, table: None, name: name.clone() };
            let of = |range| {
                self.find(&column, range, "from clause")?.ok_or_else(|| Error::unknown_column(name, "from clause"))
            };
            let (l, r) = (of(left)?, of(right)?);
            pairs.push((l, r));
            let (kept, merged) = if keep_right { (r, l) } else { (l, r) };
            self.merged.push(merged);
            self.common.retain(|slot| *slot != merged);
            if !self.common.contains(&kept) {
                self.common.push(kept);
            }
        }
        Ok(pairs)
    }

    /// Adds one stored or virtual table.
    pub fn add_table(&mut self, name: &TableName, alias: Option<&str>, hints: Vec<ast::IndexHint>) -> Result<usize> {
        let database = database_of(name, self.context.database)?;
        let alias = alias.unwrap_or(&name.name);
        if information_schema::is_virtual(database) {
            let table = information_schema::table(database, &name.name)
                .ok_or_else(|| Error::unknown_table_in(&name.name, database))?;
            let columns = table.columns.iter().map(|column| SourceColumn {
                name: column.name.into(),
                ty: column.ty.clone(),
                info: TypeInfo::of_column(&column.ty, column.nullable),
                invisible: false,
            });
            return self.add_source(SourceKind::Virtual(table), alias, database, columns.collect(), hints);
        }
        let wanted = if matches!(self.read_mode, ReadMode::Exclusive(_)) { TableUse::Write } else { TableUse::Read };
        let table = self.context.open(database, &name.name, alias, wanted)?;
        for name in hints.iter().flat_map(|hint| &hint.indexes) {
            let primary = name.eq_ignore_ascii_case("PRIMARY") && table.indexes[0].primary;
            if !primary && table.index(name).is_none_or(|index| table.indexes[index].is_hidden()) {
                return Err(Error::key_does_not_exist(name, &table.name));
            }
        }
        let columns = table.columns.iter().map(|column| SourceColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            info: TypeInfo::of_column(&column.ty, column.nullable),
            invisible: column.invisible,
        });
        let columns = columns.collect();
        self.add_source(SourceKind::Table(table), alias, database, columns, hints)
    }

    fn add_source(
        &mut self,
        kind: SourceKind,
        alias: &str,
        database: &str,
        columns: Vec<SourceColumn>,
        hints: Vec<ast::IndexHint>,
    ) -> Result<usize> {
        if self.sources.iter().any(|source| &*source.alias == alias && &*source.database == database) {
            return Err(Error::not_unique_table(alias));
        }
        let index = self.sources.len();
        let slot_base = self.slots.len();
        self.slots.extend((0..columns.len()).map(|column| (index as u16, column as u16)));
        self.sources.push(Source {
            kind,
            alias: alias.into(),
            database: database.into(),
            columns,
            slot_base,
            needed: ColumnSet::EMPTY,
            read_mode: self.read_mode,
            hints,
            nullable: false,
        });
        Ok(index)
    }

    /// The slot of a column among some sources.
    pub fn find(&self, name: &ColumnName, range: (usize, usize), clause: &str) -> Result<Option<usize>> {
        let mut found = None;
        for source in &self.sources[range.0..range.1] {
            if let Some(table) = &name.table
                && !source.is_called(name.database.as_deref(), table)
            {
                continue;
            }
            let Some(at) = source.columns.iter().position(|column| storage::same_name(&column.name, &name.name)) else {
                continue;
            };
            let slot = source.slot_base + at;
            if name.table.is_none() && self.merged.contains(&slot) && found.is_some() {
                continue;
            }
            match found {
                Some(other) if name.table.is_none() && self.merged.contains(&other) => found = Some(slot),
                Some(_) => return Err(Error::ambiguous_column(&display(name), clause)),
                None => found = Some(slot),
            }
        }
        Ok(found)
    }

    /// The expression of a slot.
    pub fn expr(&self, slot: usize) -> Expr {
        let (source, column) = self.slots[slot];
        let source = &self.sources[source as usize];
        let column = &source.columns[column as usize];
        match source.kind {
            SourceKind::Table(_) => Expr::column(slot, &column.ty, column.info.nullable || source.nullable),
            _ => Expr::slot(slot, column.info.nullable(column.info.nullable || source.nullable)),
        }
    }

    /// A column of an outer query becomes a parameter.
    fn outer(&self, name: &ColumnName) -> Result<Option<Expr>> {
        let Some(parent) = self.parent else { return Ok(None) };
        let expr = parent.column(name)?;
        let ty = expr.ty;
        let mut outer = self.outer.borrow_mut();
        let known = outer.iter().position(|known| format!("{known:?}") == format!("{expr:?}"));
        let index = known.unwrap_or_else(|| {
            outer.push(expr);
            outer.len() - 1
        });
        Ok(Some(Expr { node: Node::Parameter(self.context.parameter_count + index), ty }))
    }

    pub fn plan_subquery(&self, query: &Query, parent: &dyn Scope) -> Result<Subquery> {
        let (plan, outer) = select::plan_query(self.context, query, Some(parent), self.context.plain_reads)?;
        let columns = plan.columns().iter().map(|column| column.ty.nullable(true)).collect();
        let mut subqueries = self.subqueries.borrow_mut();
        subqueries.push(SubqueryPlan { plan, is_constant: outer.is_empty(), outer });
        Ok(Subquery { id: subqueries.len() - 1, columns })
    }
}

impl Source {
    /// Whether this is the table that a qualifier names.
    pub fn is_called(&self, database: Option<&str>, table: &str) -> bool {
        let any_case = matches!(self.kind, SourceKind::Virtual(_));
        let same = |a: &str, b: &str| a == b || any_case && a.eq_ignore_ascii_case(b);
        same(&self.alias, table) && database.is_none_or(|database| same(&self.database, database))
    }

    pub fn table(&self) -> Option<&std::sync::Arc<storage::Table>> {
        match &self.kind {
            SourceKind::Table(table) => Some(table),
            _ => None,
        }
    }
}

fn derived_column(column: &OutputColumn) -> SourceColumn {
    SourceColumn { name: column.name.clone(), ty: column.column_type.clone(), info: column.ty, invisible: false }
}

/// A column's name as written.
pub fn display(name: &ColumnName) -> String {
    match (&name.database, &name.table) {
        (Some(database), Some(table)) => format!("{database}.{table}.{}", name.name),
        (None, Some(table)) => format!("{table}.{}", name.name),
        _ => name.name.clone(),
    }
}

/// The select list as other clauses may refer to it.
pub type Aliases = [(Box<str>, Expr)];

/// What one clause sees.
pub struct Clause<'a> {
    pub level: &'a Level<'a>,
    pub name: &'static str,
    /// First source and behind the last.
    pub visible: (usize, usize),
    pub aliases: Option<&'a Aliases>,
    pub aliases_first: bool,
    /// ON DUPLICATE KEY UPDATE: VALUES(column) means this slot and on.
    pub values_base: Option<usize>,
}

impl<'a> Clause<'a> {
    pub fn new(level: &'a Level<'a>, name: &'static str) -> Clause<'a> {
        Clause {
            level,
            name,
            visible: (0, level.sources.len()),
            aliases: None,
            aliases_first: false,
            values_base: None,
        }
    }

    pub fn with_aliases(mut self, aliases: &'a Aliases, first: bool) -> Clause<'a> {
        self.aliases = Some(aliases);
        self.aliases_first = first;
        self
    }

    fn alias(&self, name: &ColumnName) -> Result<Option<Expr>> {
        let (None, Some(aliases)) = (&name.table, self.aliases) else { return Ok(None) };
        let mut found: Option<&Expr> = None;
        for (alias, expr) in aliases {
            if !storage::same_name(alias, &name.name) {
                continue;
            }
            // The same column twice is no matter.
            if found.is_some_and(|found| format!("{:?}", found.node) != format!("{:?}", expr.node)) {
                return Err(Error::ambiguous_column(&name.name, self.name));
            }
            found = Some(expr);
        }
        Ok(found.cloned())
    }
}

impl Scope for Clause<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        if self.aliases_first
            && let Some(expr) = self.alias(name)?
        {
            return Ok(expr);
        }
        if let Some(slot) = self.level.find(name, self.visible, self.name)? {
            return Ok(self.level.expr(slot));
        }
        if let Some(expr) = self.alias(name)? {
            return Ok(expr);
        }
        match self.level.outer(name) {
            Ok(Some(expr)) => Ok(expr),
            Ok(None) => Err(Error::unknown_column(&display(name), self.name)),
            // Unknown out there as well: the message names the clause where it stands.
            Err(error) if error.code == 1054 => Err(Error::unknown_column(&display(name), self.name)),
            Err(error) => Err(error),
        }
    }

    fn subquery(&self, query: &Query) -> Result<Subquery> {
        self.level.plan_subquery(query, self)
    }

    fn default_of(&self, name: &ColumnName) -> Result<Expr> {
        let slot = self
            .level
            .find(name, self.visible, self.name)?
            .ok_or_else(|| Error::unknown_column(&display(name), self.name))?;
        let (source, column) = self.level.slots[slot];
        match self.level.sources[source as usize].table() {
            Some(table) => super::change::default_expr(&table.columns[column as usize]),
            None => Err(Error::no_default(&name.name)),
        }
    }

    fn values_of(&self, name: &ColumnName) -> Result<Expr> {
        let Some(base) = self.values_base else {
            return Err(Error::unknown_column(&display(name), self.name));
        };
        let slot = self
            .level
            .find(name, self.visible, self.name)?
            .ok_or_else(|| Error::unknown_column(&display(name), self.name))?;
        let (source, column) = self.level.slots[slot];
        let column = &self.level.sources[source as usize].columns[column as usize];
        let at = slot - self.level.sources[source as usize].slot_base;
        Ok(Expr::column(base + at, &column.ty, true))
    }
}
