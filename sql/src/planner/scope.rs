//! What names mean: the tables of FROM, their columns as slots, select aliases, and
//! the columns of outer queries.
//!
//! A [`Level`] is one SELECT. Its sources stand in the order written, and the slots
//! of a source follow each other. What the clauses of a SELECT see of it is a
//! [`Clause`](super::clause::Clause).

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use format::value::ColumnType;
use storage::{ColumnSet, Definition, ReadMode, TableUse};

use super::hinted::BlockHints;
use super::logical::{self, Block, Derived, Nest, Source};
use super::role::{Naming, Role};
use super::{OutputColumn, PlanContext, SourceColumn, SourceKind, WindowCall, json_table};
use crate::accounts::Privileges;
use crate::catalog::database_of;
use crate::error::{Error, Result};
use crate::expression::{AggregateCall, Expr, Node, Scope, Subquery, functions};
use crate::information_schema;
use crate::parser::ast::{self, ColumnName, JoinCondition, JoinKind, Query, TableName, TableRef};
use crate::partitions::rows::Division;
use crate::sequences;
use crate::types::{SqlMode, Switches, TypeInfo};

/// One SELECT while it is being bound.
pub struct Level<'a> {
    /// What its optimizer hints say of all of it.
    pub hints: BlockHints,
    pub context: &'a PlanContext<'a>,
    pub parent: Option<&'a dyn Scope>,
    pub sources: Vec<Source>,
    pub slots: Vec<(u16, u16)>,
    /// What a clause sees that sees all of FROM.
    pub all: Visible,
    pub outer: RefCell<Vec<Expr>>,
    pub subqueries: RefCell<Vec<logical::Subquery>>,
    /// The aggregates over the rows of this query.
    pub aggregates: RefCell<Vec<AggregateCall>>,
    /// WITH ROLLUP: GROUPING() may stand where aggregates may.
    pub rolls_up: bool,
    /// The WINDOW clause, and the window functions over the rows of this query.
    pub named_windows: &'a [(String, ast::WindowSpec)],
    pub windows: RefCell<Vec<WindowCall>>,
    pub read_mode: ReadMode,
    pub role: Role,
    /// What it takes to name a column in the clause that is being bound.
    pub naming: RefCell<Naming>,
    /// Slots that may not be read, with the refusals, of a table that has the names of a view.
    pub refused: Vec<(usize, Error)>,
    /// The documents of the JSON_TABLEs, which are bound when all tables are known: of which source, and what it sees.
    pub documents: Vec<(usize, ast::Expr, Visible)>,
}

/// The tables of a join, and its columns as `*` shows them: those that USING joins are one, and stand first.
#[derive(Clone, Default)]
pub struct Visible {
    pub sources: Range<usize>,
    /// A bare name is looked up among these slots. One with the table's name is looked up in the sources.
    pub slots: Vec<usize>,
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
        /// What ON sees.
        visible: Visible,
    },
}

impl<'a> Level<'a> {
    pub fn new(context: &'a PlanContext<'a>, parent: Option<&'a dyn Scope>, read_mode: ReadMode) -> Level<'a> {
        Level {
            hints: BlockHints::default(),
            context,
            parent,
            sources: Vec::new(),
            slots: Vec::new(),
            all: Visible::default(),
            outer: RefCell::default(),
            subqueries: RefCell::default(),
            aggregates: RefCell::default(),
            rolls_up: false,
            named_windows: &[],
            windows: RefCell::default(),
            read_mode,
            role: Role::Read,
            naming: RefCell::default(),
            refused: Vec::new(),
            documents: Vec::new(),
        }
    }

    /// Adds the tables of FROM.
    pub fn from<'q>(&mut self, from: &'q [TableRef]) -> Result<Option<JoinTree<'q>>> {
        let mut tree = None;
        let mut all = Visible::default();
        for table in from {
            let (right, seen) = self.table_ref(table)?;
            all.slots.extend(seen.slots);
            tree = Some(match tree {
                None => right,
                Some(left) => JoinTree::Join {
                    left: Box::new(left),
                    right: Box::new(right),
                    outer: false,
                    straight: false,
                    on: None,
                    using: Vec::new(),
                    visible: Visible::default(),
                },
            });
        }
        all.sources = 0..self.sources.len();
        self.all = all;
        Ok(tree)
    }

    fn table_ref<'q>(&mut self, table: &'q TableRef) -> Result<(JoinTree<'q>, Visible)> {
        let source = match table {
            TableRef::Table { name, partitions, alias, .. }
                if name.database.is_none()
                    && let Some((derived, columns)) = self.context.bind_common_table(&name.name)? =>
            {
                check_none_named(partitions)?;
                self.add_derived(derived, alias.as_deref().unwrap_or(&name.name), "", &columns)?
            }
            TableRef::Table { name, partitions, alias, hints } => {
                self.check_reads(name)?;
                if let Some(view) = self.context.find_view(name)? {
                    check_none_named(partitions)?;
                    let source = self.add_view(&view, alias.as_deref())?;
                    if let Some(index) = hints.iter().flat_map(|hint| &hint.indexes).next() {
                        return Err(Error::key_does_not_exist(index, &name.name));
                    }
                    let first = self.sources[source].slot_base;
                    let slots = first..first + self.sources[source].columns.len();
                    let visible = Visible { sources: source..source + 1, slots: slots.collect() };
                    return Ok((JoinTree::Leaf(source), visible));
                }
                let source = self.add_table(name, alias.as_deref(), hints.clone())?;
                self.choose_partitions(source, partitions)?;
                source
            }
            TableRef::Derived { query, alias, columns, lateral } => {
                let (before, outside) = (Before(self), Outside(self));
                let parent: Option<&dyn Scope> = match (lateral, self.parent) {
                    (true, _) => Some(&before),
                    (false, Some(_)) => Some(&outside),
                    (false, None) => None,
                };
                let plain_reads = self.context.plain_reads;
                let (derived, outer) = self.context.bind_derived(query, parent, plain_reads, Role::Derived)?;
                let source = self.add_derived(derived, alias, "", columns)?;
                self.sources[source].lateral = outer;
                source
            }
            TableRef::Join { left, right, kind, condition } => return self.join(left, right, *kind, condition),
            TableRef::JsonTable(table) => {
                let (bound, columns) = json_table::bind(table)?;
                // Its document sees what stands before it.
                let before = self.all.clone();
                let kind = SourceKind::JsonTable(Box::new(bound));
                let source = self.add_source(kind, &table.alias, "", columns, Vec::new())?;
                self.documents.push((source, table.document.clone(), before));
                source
            }
        };
        let first = self.sources[source].slot_base;
        let slots = first..first + self.sources[source].columns.len();
        Ok((JoinTree::Leaf(source), Visible { sources: source..source + 1, slots: slots.collect() }))
    }

    fn join<'q>(
        &mut self,
        left: &'q TableRef,
        right: &'q TableRef,
        kind: JoinKind,
        condition: &'q JoinCondition,
    ) -> Result<(JoinTree<'q>, Visible)> {
        let (left_tree, left) = self.table_ref(left)?;
        let (right_tree, right) = self.table_ref(right)?;
        let keep_right = kind == JoinKind::Right;
        let (on, using) = match condition {
            JoinCondition::None => (None, None),
            JoinCondition::On(expr) => (Some(expr), None),
            JoinCondition::Using(names) => (None, Some(self.using(names, &left, &right)?)),
            JoinCondition::Natural => (None, Some(self.using(&self.natural(&left, &right), &left, &right)?)),
        };
        let sources = left.sources.start..right.sources.end;
        let slots = match &using {
            None => left.slots.iter().chain(&right.slots).copied().collect(),
            Some(pairs) => joined_columns(pairs, &left.slots, &right.slots, keep_right),
        };
        let visible = Visible { sources, slots };
        let (outer_tree, inner_tree, inner) = match kind {
            JoinKind::Right => (right_tree, left_tree, Some(left.sources)),
            JoinKind::Left => (left_tree, right_tree, Some(right.sources)),
            JoinKind::Inner | JoinKind::Straight => (left_tree, right_tree, None),
        };
        let outer = inner.is_some();
        if let Some(inner) = inner {
            self.sources[inner].iter_mut().for_each(|source| source.nullable = true);
        }
        let tree = JoinTree::Join {
            left: Box::new(outer_tree),
            right: Box::new(inner_tree),
            outer,
            straight: kind == JoinKind::Straight,
            on,
            using: using.unwrap_or_default(),
            visible: visible.clone(),
        };
        Ok((tree, visible))
    }

    /// Adds a derived table; `columns` rename its columns, if there are any.
    pub(super) fn add_derived(
        &mut self,
        derived: Rc<Derived>,
        alias: &str,
        database: &str,
        columns: &[String],
    ) -> Result<usize> {
        let mut list: Vec<SourceColumn> = derived.columns.iter().map(derived_column).collect();
        if !columns.is_empty() {
            if columns.len() != list.len() {
                return Err(Error::column_list_counts());
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
        self.add_source(SourceKind::Derived(derived), alias, database, list, Vec::new())
    }

    /// Adds a query that was bound in the place of this one; `outer` is what both read of the query around them.
    pub(super) fn add_inner(&mut self, query: logical::Query, columns: &[String], outer: &[Expr]) -> Result<usize> {
        let source = self.add_derived(self.context.derived(query), "", "", columns)?;
        let parameter = |at: usize| Node::Parameter(self.context.parameter_count + at);
        self.sources[source].lateral =
            outer.iter().enumerate().map(|(at, expr)| Expr { node: parameter(at), ty: expr.ty }).collect();
        Ok(source)
    }

    /// The block of the bound parts.
    pub(super) fn into_block(self, select_number: usize, (from, straight): (Nest, bool), output: Vec<Expr>) -> Block {
        Block {
            select_number,
            sources: self.sources,
            slots: self.slots,
            from,
            straight,
            output,
            subqueries: self.subqueries.into_inner(),
            ..Block::nothing()
        }
    }

    /// Adds the table of a view under the names that its columns have there.
    pub(super) fn add_renamed(
        &mut self,
        table: &Arc<storage::Table>,
        alias: &str,
        database: &str,
        names: &[Option<&str>],
    ) -> Result<usize> {
        let columns = table.columns.iter().zip(names).map(|(column, name)| SourceColumn {
            name: name.unwrap_or_default().into(),
            ty: column.ty.clone(),
            info: TypeInfo::of_stored(column),
            invisible: column.invisible,
        });
        self.add_source(SourceKind::Table(table.clone()), alias, database, columns.collect(), Vec::new())
    }

    /// Adds a view. That the session may use it is checked; which of its columns is when they are read.
    pub(super) fn add_view(&mut self, view: &Definition, alias: Option<&str>) -> Result<usize> {
        let (database, name) = (&*view.database, &*view.name);
        let alias = alias.unwrap_or(name);
        let context = self.context;
        let wanted = if matches!(self.read_mode, ReadMode::Exclusive(_)) { TableUse::Write } else { TableUse::Read };
        if let Some(locked) = context.locked {
            locked.check(database, name, alias, wanted)?;
        }
        let role = if self.role == Role::Changed { Role::Changed } else { Role::Derived };
        let (described, derived) = context.bind_view(view, self.read_mode, role)?;
        let source = self.add_derived(derived, alias, database, &described.columns)?;
        if context.rights.depends_on_columns(Privileges::SELECT, database, name) {
            for (at, column) in described.columns.iter().enumerate() {
                if !context.rights.on_column(database, name, column).has(Privileges::SELECT) {
                    self.sources[source].unreadable.insert(at);
                }
            }
        }
        Ok(source)
    }

    /// The names that both sides have.
    fn natural(&self, left: &Visible, right: &Visible) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for slot in &left.slots {
            let name = self.slot_name(*slot);
            let is_same =
                |other: &usize| !self.is_invisible(*other) && storage::same_name(self.slot_name(*other), name);
            let shared = !self.is_invisible(*slot) && right.slots.iter().any(is_same);
            if shared && !names.iter().any(|known| storage::same_name(known, name)) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// The pairs of slots that USING compares.
    fn using(&self, names: &[String], left: &Visible, right: &Visible) -> Result<Vec<(usize, usize)>> {
        let mut pairs = Vec::new();
        for name in names {
            let column = ColumnName { database: None, table: None, name: name.clone() };
            let of = |side| {
                self.find(&column, side, "from clause")?.ok_or_else(|| Error::unknown_column(name, "from clause"))
            };
            pairs.push((of(left)?, of(right)?));
        }
        Ok(pairs)
    }

    fn is_invisible(&self, slot: usize) -> bool {
        let (source, column) = self.slots[slot];
        self.sources[source as usize].columns[column as usize].invisible
    }

    /// Whether the column is one of a functional index, which no name means.
    fn is_hidden(&self, slot: usize) -> bool {
        let (source, column) = self.slots[slot];
        let table = self.sources[source as usize].table();
        table.is_some_and(|table| table.columns.get(column as usize).is_some_and(|column| column.is_hidden()))
    }

    fn slot_name(&self, slot: usize) -> &str {
        let (source, column) = self.slots[slot];
        &self.sources[source as usize].columns[column as usize].name
    }

    /// Adds one stored or virtual table. Its columns are checked when they are read; whether the table may be used is
    /// the caller's to check.
    pub fn add_table(
        &mut self,
        name: &TableName,
        alias: Option<&str>,
        mut hints: Vec<ast::IndexHint>,
    ) -> Result<usize> {
        let database = database_of(name, self.context.database)?;
        let alias = alias.unwrap_or(&name.name);
        if information_schema::is_virtual_table(self.context.instance, self.context.rights, database, &name.name) {
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
        let table = self.context.open_named(database, &name.name, alias, wanted)?;
        let invisible_too = self.context.eval.session.optimizer_switches().has(Switches::USE_INVISIBLE_INDEXES);
        for name in hints.iter_mut().flat_map(|hint| &mut hint.indexes) {
            let primary = name.eq_ignore_ascii_case("PRIMARY") && table.indexes[0].primary;
            if primary {
                continue;
            }
            let is_there = |index: &&storage::Index| !index.is_hidden() && (!index.invisible || invisible_too);
            let indexes = || table.indexes.iter().filter(is_there);
            if indexes().any(|index| storage::same_name(&index.name, name)) {
                continue;
            }
            // The beginning of a name will do if it is that of one index only.
            let begun = |index: &&storage::Index| {
                index.name.get(..name.len()).is_some_and(|head| storage::same_name(head, name))
            };
            let mut begun = indexes().filter(begun);
            match (begun.next(), begun.next()) {
                (Some(index), None) => *name = index.name.to_string(),
                _ => return Err(Error::key_does_not_exist(name, &table.name)),
            }
        }
        let columns = table.columns.iter().map(|column| SourceColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            info: TypeInfo::of_stored(column),
            invisible: column.invisible,
        });
        let columns: Vec<SourceColumn> = columns.collect();
        let mut unreadable = ColumnSet::EMPTY;
        let rights = self.context.rights;
        if !table.is_temporary() && rights.depends_on_columns(Privileges::SELECT, database, &name.name) {
            for (at, column) in columns.iter().enumerate() {
                if !rights.on_column(database, &name.name, &column.name).has(Privileges::SELECT) {
                    unreadable.insert(at);
                }
            }
        }
        let division = Division::of(self.context.eval, &table, &[])?;
        let follows_transactions = !sequences::is_sequence(&table);
        let source = self.add_source(SourceKind::Table(table), alias, database, columns, hints)?;
        if !follows_transactions {
            self.sources[source].read_mode = ReadMode::Newest;
        }
        self.sources[source].unreadable = unreadable;
        self.sources[source].division = division.map(Box::new);
        Ok(source)
    }

    /// `PARTITION (p0, p1)` behind a table's name; nothing is named if there are no names.
    pub fn choose_partitions(&mut self, source: usize, names: &[String]) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let source = &mut self.sources[source];
        let SourceKind::Table(table) = &source.kind else { return check_none_named(names) };
        source.division = Division::of(self.context.eval, table, names)?.map(Box::new);
        Ok(())
    }

    fn add_source(
        &mut self,
        kind: SourceKind<Rc<Derived>>,
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
        self.all.sources.end = index + 1;
        self.all.slots.extend(slot_base..slot_base + columns.len());
        self.sources.push(Source {
            kind,
            alias: alias.into(),
            database: database.into(),
            columns,
            slot_base,
            needed: ColumnSet::EMPTY,
            unreadable: ColumnSet::EMPTY,
            read_mode: self.read_mode,
            is_changed: false,
            hints,
            hinted: Default::default(),
            lateral: Vec::new(),
            nullable: false,
            division: None,
        });
        Ok(index)
    }

    /// Whether one of the tables has a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.all.slots.iter().any(|slot| storage::same_name(self.slot_name(*slot), name))
    }

    /// The slot of a column among those that a clause sees.
    pub fn find(&self, name: &ColumnName, visible: &Visible, clause: &str) -> Result<Option<usize>> {
        let mut found = None;
        let mut note = |slot: usize| match found.replace(slot) {
            Some(_) => Err(Error::ambiguous_column(&display(name), clause)),
            None => Ok(()),
        };
        match &name.table {
            None => {
                for slot in &visible.slots {
                    if storage::same_name(self.slot_name(*slot), &name.name) && !self.is_hidden(*slot) {
                        note(*slot)?;
                    }
                }
            }
            Some(table) => {
                for source in &self.sources[visible.sources.clone()] {
                    if source.is_called(name.database.as_deref(), table)
                        && let Some(at) = source.columns.iter().position(|c| storage::same_name(&c.name, &name.name))
                        && !self.is_hidden(source.slot_base + at)
                    {
                        note(source.slot_base + at)?;
                    }
                }
            }
        }
        if found.is_none() && name.name.eq_ignore_ascii_case("_rowid") {
            for source in &self.sources[visible.sources.clone()] {
                let is_meant = |table: &String| source.is_called(name.database.as_deref(), table);
                if name.table.as_ref().is_none_or(is_meant)
                    && let Some(at) = source.row_id()
                    && found.replace(source.slot_base + at).is_some()
                {
                    return Err(Error::ambiguous_column(&display(name), clause));
                }
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
            SourceKind::Table(_) => {
                let mut expr = Expr::column(slot, &column.ty, column.info.nullable || source.nullable);
                (expr.ty.zerofill, expr.ty.length) = (column.info.zerofill, column.info.length);
                let pads = self.context.eval.mode.has(SqlMode::PAD_CHAR_TO_FULL_LENGTH);
                match (pads && matches!(column.ty, ColumnType::Char { .. }), functions::find(functions::PADDED)) {
                    (true, Ok(function)) => {
                        let ty = expr.ty;
                        Expr { node: Node::Call { function, args: vec![expr] }, ty }
                    }
                    _ => expr,
                }
            }
            _ => {
                let ty = column.info.nullable(column.info.nullable || source.nullable);
                match &column.ty {
                    // Its rows hold numbers: see `PlanContext::derived`.
                    ColumnType::Enum { .. } | ColumnType::Set { .. } => {
                        Expr { ty, ..Expr::column(slot, &column.ty, ty.nullable) }
                    }
                    _ => Expr::slot(slot, ty),
                }
            }
        }
    }

    /// A column of an outer query becomes a parameter.
    pub(super) fn outer(&self, name: &ColumnName) -> Result<Option<Expr>> {
        let Some(parent) = self.parent else { return Ok(None) };
        Ok(Some(self.outer_value(parent.outer_column(name)?)))
    }

    /// An expression of the outer query becomes a parameter.
    pub(super) fn outer_value(&self, expr: Expr) -> Expr {
        let ty = expr.ty;
        let mut outer = self.outer.borrow_mut();
        let known = outer.iter().position(|known| *known == expr);
        let index = known.unwrap_or_else(|| {
            outer.push(expr);
            outer.len() - 1
        });
        Expr { node: Node::Parameter(self.context.parameter_count + index), ty }
    }

    /// The number of an outer ENUM or SET column, which becomes a parameter of its own.
    pub(super) fn outer_number(&self, parameter: usize) -> Option<Expr> {
        let at = parameter.checked_sub(self.context.parameter_count)?;
        let mut value = self.outer.borrow().get(at)?.clone();
        match value.node {
            Node::EnumName { .. } | Node::SetNames { .. } => functions::as_number(&mut value),
            Node::Parameter(further) => value = self.parent?.outer_number(further)?,
            _ => return None,
        }
        Some(self.outer_value(value))
    }

    /// Counts an aggregate among those of this query, once if it is written twice.
    pub(super) fn add_aggregate(&self, call: AggregateCall) -> Result<Expr> {
        let mut nested = false;
        let mut volatile = false;
        for expr in call.args.iter().chain(call.order_by.iter().map(|(expr, _)| expr)) {
            expr.walk(&mut |expr| match &expr.node {
                Node::Aggregate(_) => nested = true,
                Node::AssignVariable(..) | Node::Stored { .. } | Node::Sequence(_) => volatile = true,
                Node::Call { function, .. } => volatile |= !function.deterministic,
                _ => {}
            });
        }
        if nested {
            return Err(Error::invalid_group_function());
        }
        let ty = call.ty;
        let mut calls = self.aggregates.borrow_mut();
        let known = calls.iter().position(|known| !volatile && *known == call);
        let index = known.unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        Ok(Expr { node: Node::Aggregate(index), ty })
    }

    /// Counts a window function among those of this query.
    pub(super) fn add_window(&self, call: WindowCall) -> Expr {
        let ty = call.ty;
        let mut volatile = false;
        call.for_each_expr(&mut |expr| volatile |= logical::is_volatile(expr));
        let mut calls = self.windows.borrow_mut();
        let known = calls.iter().position(|known| !volatile && *known == call);
        let index = known.unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        Expr { node: Node::Window(index), ty }
    }

    pub fn bind_subquery(&self, query: &Query, parent: &dyn Scope) -> Result<Subquery> {
        let (mut query, outer) = self.context.bind_query(query, Some(parent), self.context.plain_reads)?;
        query.keep_digits();
        let columns = query.columns().iter().map(|column| column.ty.nullable(true)).collect();
        let mut subqueries = self.subqueries.borrow_mut();
        subqueries.push(logical::Subquery { query, outer });
        Ok(Subquery { id: subqueries.len() - 1, columns })
    }
}

impl<D> super::Source<D> {
    /// Whether this is the table that a qualifier names.
    pub fn is_called(&self, database: Option<&str>, table: &str) -> bool {
        let any_case = matches!(self.kind, SourceKind::Virtual(_));
        let same = |a: &str, b: &str| a == b || any_case && a.eq_ignore_ascii_case(b);
        same(&self.alias, table) && database.is_none_or(|database| same(&self.database, database))
    }

    /// The column that `_rowid` stands for: the first unique key, if it is one integer that is not NULL.
    fn row_id(&self) -> Option<usize> {
        let table = self.table()?;
        let key = table.indexes.iter().find(|index| index.is_unique_not_null(table) && !index.is_hidden())?;
        let [part] = &key.parts[..] else { return None };
        matches!(table.columns[part.column].ty, ColumnType::Int { .. }).then_some(part.column)
    }

    /// Whether it is a LATERAL table with other rows for each row of the tables before it. What is read of outer queries
    /// stays the same.
    pub fn follows_rows(&self) -> bool {
        let mut reads = false;
        self.lateral.iter().for_each(|expr| expr.for_each_column(&mut |_| reads = true));
        reads
    }

    pub fn table(&self) -> Option<&Arc<storage::Table>> {
        match &self.kind {
            SourceKind::Table(table) => Some(table),
            _ => None,
        }
    }
}

/// What a LATERAL derived table sees: the tables that stand before it.
struct Before<'a>(&'a Level<'a>);

impl Scope for Before<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let Before(level) = self;
        if let Some(slot) = level.find(name, &level.all, "field list")? {
            level.check_read(slot)?;
            return Ok(level.expr(slot));
        }
        level.outer(name)?.ok_or_else(|| Error::unknown_column(&display(name), "field list"))
    }
}

/// What any other derived table sees: the queries around the one that it stands in, as in MySQL.
struct Outside<'a>(&'a Level<'a>);

impl Scope for Outside<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        self.0.outer(name)?.ok_or_else(|| Error::unknown_column(&display(name), "field list"))
    }
}

/// The columns of a join with USING: the common ones, the others of the side that is kept, and those of the other side.
fn joined_columns(pairs: &[(usize, usize)], left: &[usize], right: &[usize], keep_right: bool) -> Vec<usize> {
    let (kept, other) = if keep_right { (right, left) } else { (left, right) };
    let is_common = |slot: &usize| pairs.iter().any(|(a, b)| a == slot || b == slot);
    let common = kept.iter().filter(|slot| is_common(slot));
    let rest = kept.iter().chain(other).filter(|slot| !is_common(slot));
    common.chain(rest).copied().collect()
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

/// Only tables have partitions that can be named.
fn check_none_named(names: &[String]) -> Result<()> {
    if names.is_empty() { Ok(()) } else { Err(Error::partition_clause_on_plain()) }
}
