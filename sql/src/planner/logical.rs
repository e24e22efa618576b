//! The logical plan: what a query means, before anything is settled about how its rows are found.
//!
//! ```text
//! Query   = Block | set operations on queries | recursion: seed, members
//! Block   = nest of sources -> grouping -> HAVING -> window functions -> output -> DISTINCT -> ORDER BY -> LIMIT
//! Nest    = sources, conditions, and below it: inner sides of LEFT JOINs, and semi- and anti-joins
//! source  = stored table | virtual table | query
//! ```
//!
//! Sources, subqueries and the inner sides of joins are children of a block, so that a rule can move them into the block
//! or move conditions into them: see [`super::rules`]. [`super::physical`] turns what they leave into steps.
//!
//! A subquery is closed: what it reads of the query around it are parameters, numbered behind the statement's own, and
//! [`Subquery::outer`] has their values as expressions of that query. To move a subquery's expression outward is
//! therefore to replace its parameters.
//!
//! Invariants:
//!
//! * Slots are numbered source by source: a source's own follow each other from its `slot_base` on.
//! * No condition outside of a semi- or anti-join reads one of its sources.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use format::collation::Charset;
use storage::{ReadMode, Table};

use super::hinted::BlockHints;
use super::{LimitPlan, OutputColumn, SetLink, SourceKind, WindowCall};
use crate::error::Error;
use crate::expression::functions::{as_number, convert_charset};
use crate::expression::{AggregateCall, Expr, Node};
use crate::parser::ast::CheckOption;
use crate::types::TypeInfo;

pub type Source = super::Source<Rc<Derived>>;

/// A set of sources.
pub type Mask = u64;

/// The most tables of one SELECT, as in MySQL.
pub const TABLES_MAX: usize = 61;

/// Anything that yields rows.
pub enum Query {
    Block(Box<Block>),
    Union(Box<Union>),
    Recursive(Box<Recursive>),
    /// Within a member of a recursion: the rows of the last round.
    Working(Vec<OutputColumn>),
}

/// WITH RECURSIVE.
pub struct Recursive {
    pub name: Box<str>,
    pub seed: Query,
    pub members: Vec<Query>,
    pub distinct: bool,
    /// The number of the derived table that stands for the rows of the last round.
    pub working: usize,
    pub columns: Vec<OutputColumn>,
    pub limit: Option<LimitPlan>,
}

/// A query in FROM, or behind a name of WITH, which may be read by several sources.
pub struct Derived {
    pub id: usize,
    /// Its columns do not change, whatever rules do to the query.
    pub columns: Vec<OutputColumn>,
    pub query: RefCell<Query>,
    pub view: Option<ViewOf>,
    /// Columns that may not be read, with the refusals. Whoever reads others is not concerned.
    pub refused: Vec<(usize, Error)>,
}

/// The view that a derived table is.
pub struct ViewOf {
    pub database: Box<str>,
    pub name: Box<str>,
    pub check: Option<CheckOption>,
    /// ALGORITHM=TEMPTABLE: it is never merged.
    pub stays_apart: bool,
}

impl Derived {
    pub fn stays_apart(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.stays_apart)
    }
}

/// A subquery in an expression.
pub struct Subquery {
    pub query: Query,
    /// The outer query's expressions whose values follow the statement's parameters.
    pub outer: Vec<Expr>,
}

/// UNION, EXCEPT, INTERSECT: the parts run one after the other.
pub struct Union {
    pub parts: Vec<Query>,
    /// How each part but the first joins those before it.
    pub links: Vec<SetLink>,
    /// Per part: which of the values that the union reads of the outer query are the part's.
    pub outer: Vec<std::ops::Range<usize>>,
    /// Behind which part (its index) duplicates of all rows so far are removed: the last UNION without ALL.
    pub distinct_until: Option<usize>,
    pub columns: Vec<OutputColumn>,
    pub order: Vec<(Expr, bool)>,
    pub limit: Option<LimitPlan>,
    pub calc_found_rows: bool,
}

/// One SELECT.
pub struct Block {
    pub select_number: usize,
    pub sources: Vec<Source>,
    /// slot -> (source, column)
    pub slots: Vec<(u16, u16)>,
    pub from: Nest,
    /// The tables stay in the order written.
    pub straight: bool,
    pub hints: BlockHints,
    pub group: Option<Group>,
    pub having: Option<Expr>,
    pub windows: Vec<WindowCall>,
    pub output: Vec<Expr>,
    pub columns: Vec<OutputColumn>,
    pub distinct: bool,
    /// The output is not rounded to its types' digits: see [`Query::keep_digits`].
    pub keeps_digits: bool,
    /// Expressions over the row, and whether descending.
    pub order: Vec<(Expr, bool)>,
    pub limit: Option<LimitPlan>,
    pub calc_found_rows: bool,
    pub subqueries: Vec<Subquery>,
    /// Output that may not be read, with the refusals, of a query that a derived table is made of.
    pub refused: Vec<(usize, Error)>,
}

pub struct Group {
    /// GROUP BY's expressions; empty: all rows are one group.
    pub keys: Vec<Expr>,
    pub aggregates: Vec<AggregateCall>,
    pub rollup: Option<Rollup>,
}

/// WITH ROLLUP: there are groups of fewer keys, too. Their results come sorted.
pub struct Rollup {
    /// Per key: the aggregates that are its value, the last one as it is grouped by, those before it in other forms; they
    /// are NULL in groups without it.
    pub keys: Vec<Vec<usize>>,
    /// The aggregate that is the number of a group's keys.
    pub level: usize,
    /// Per key: GROUP BY key DESC.
    pub descending: Vec<bool>,
}

impl Rollup {
    /// The first of the aggregates that are keys; those behind it are keys, too, and their number.
    pub fn first(&self) -> usize {
        self.keys.first().map_or(self.level, |forms| forms[0])
    }

    /// The aggregates that are keys in another form than that by which is grouped.
    pub fn other_forms(&self) -> impl Iterator<Item = usize> {
        self.keys.iter().flat_map(|forms| &forms[..forms.len() - 1]).copied()
    }
}

/// Tables and conditions without order.
#[derive(Default)]
pub struct Nest {
    pub tables: Vec<usize>,
    pub lefts: Vec<Left>,
    pub semis: Vec<Semi>,
    pub conditions: Vec<Expr>,
}

/// The inner side of a LEFT JOIN.
pub struct Left {
    pub nest: Nest,
    /// The sources of the outer side.
    pub requires: Mask,
}

/// The inner side of a semi-join: a row of the nest around it counts if there is a row here; once, however many there
/// are. Of an anti-join: if there is none.
pub struct Semi {
    pub nest: Nest,
    pub anti: bool,
}

impl Nest {
    pub fn for_each_condition(&self, visit: &mut dyn FnMut(&Expr)) {
        self.conditions.iter().for_each(&mut *visit);
        self.lefts.iter().for_each(|left| left.nest.for_each_condition(visit));
        self.semis.iter().for_each(|semi| semi.nest.for_each_condition(visit));
    }

    pub fn for_each_condition_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.conditions.iter_mut().for_each(&mut *visit);
        self.lefts.iter_mut().for_each(|left| left.nest.for_each_condition_mut(visit));
        self.semis.iter_mut().for_each(|semi| semi.nest.for_each_condition_mut(visit));
    }

    /// The sources whose columns others may read: those of semi-joins are not among them.
    pub fn mask(&self) -> Mask {
        let own = self.tables.iter().fold(0, |mask, table| mask | 1 << table);
        self.lefts.iter().fold(own, |mask, left| mask | left.nest.mask())
    }

    /// All sources in it, those of semi-joins included.
    pub fn mask_of_all(&self) -> Mask {
        let own = self.tables.iter().fold(0, |mask, table| mask | 1 << table);
        let lefts = self.lefts.iter().fold(own, |mask, left| mask | left.nest.mask_of_all());
        self.semis.iter().fold(lefts, |mask, semi| mask | semi.nest.mask_of_all())
    }

    pub fn source_list(&self, out: &mut Vec<usize>) {
        out.extend(&self.tables);
        self.lefts.iter().for_each(|left| left.nest.source_list(out));
    }

    /// Numbers the sources anew.
    pub fn renumber(&mut self, number: &dyn Fn(usize) -> usize) {
        let of_mask =
            |mask: Mask| (0..TABLES_MAX).filter(|at| mask >> at & 1 == 1).fold(0, |mask, at| mask | 1 << number(at));
        self.tables.iter_mut().for_each(|table| *table = number(*table));
        for left in &mut self.lefts {
            left.requires = of_mask(left.requires);
            left.nest.renumber(number);
        }
        self.semis.iter_mut().for_each(|semi| semi.nest.renumber(number));
    }

    /// Takes what another nest has: an inner join of the two.
    pub fn absorb(&mut self, other: Nest) {
        self.tables.extend(other.tables);
        self.lefts.extend(other.lefts);
        self.semis.extend(other.semis);
        self.conditions.extend(other.conditions);
    }
}

impl Query {
    pub fn columns(&self) -> &[OutputColumn] {
        match self {
            Query::Block(block) => &block.columns,
            Query::Union(union) => &union.columns,
            Query::Recursive(recursive) => &recursive.columns,
            Query::Working(columns) => columns,
        }
    }

    /// Converts the texts of an output column to another character set; false if that cannot be had.
    pub fn convert_output(&mut self, column: usize, charset: Charset) -> bool {
        let ty = match self {
            Query::Block(block) => {
                convert_charset(&mut block.output[column], charset);
                block.columns[column].origin = None;
                &mut block.columns[column].ty
            }
            Query::Union(union) => {
                if !union.parts.iter_mut().all(|part| part.convert_output(column, charset)) {
                    return false;
                }
                &mut union.columns[column].ty
            }
            Query::Recursive(_) | Query::Working(_) => return false,
        };
        ty.collation = charset.default_collation();
        true
    }

    /// Makes an output column of ENUM or SET columns one of their numbers, and says its type. None if it is another one.
    pub fn number_output(&mut self, column: usize) -> Option<TypeInfo> {
        if !self.has_members(column) {
            return None;
        }
        match self {
            Query::Block(block) => {
                let number = &mut block.output[column];
                as_number(number);
                block.columns[column].origin = None;
                block.columns[column].ty = number.ty;
                Some(number.ty)
            }
            Query::Union(union) => {
                let types =
                    union.parts.iter_mut().map(|part| part.number_output(column)).collect::<Option<Vec<_>>>()?;
                let nullable = types.iter().any(|ty| ty.nullable);
                let ty = TypeInfo::bigint_unsigned(20).nullable(nullable);
                union.columns[column].origin = None;
                union.columns[column].ty = ty;
                Some(ty)
            }
            Query::Recursive(_) | Query::Working(_) => None,
        }
    }

    fn has_members(&self, column: usize) -> bool {
        match self {
            Query::Block(block) => matches!(block.output[column].node, Node::EnumName { .. } | Node::SetNames { .. }),
            Query::Union(union) => union.parts.iter().all(|part| part.has_members(column)),
            Query::Recursive(_) | Query::Working(_) => false,
        }
    }

    /// What stays where a query was taken away.
    pub fn nothing() -> Query {
        Query::Block(Box::new(Block::nothing()))
    }

    /// Whether two executions give the same rows, and reading has no effect but the rows.
    pub fn is_stable(&self) -> bool {
        match self {
            Query::Union(union) => !union.calc_found_rows && union.parts.iter().all(Query::is_stable),
            Query::Recursive(recursive) => recursive.seed.is_stable() && recursive.members.iter().all(Query::is_stable),
            Query::Working(_) => true,
            Query::Block(block) => {
                let mut is_stable = !block.calc_found_rows;
                block.for_each_expr(&mut |expr| is_stable &= !is_volatile(expr));
                is_stable
                    && block.sources.iter().all(|source| match &source.kind {
                        SourceKind::Table(_) => source.read_mode == ReadMode::Consistent,
                        // Its rows are made once in a statement.
                        SourceKind::Derived(_) => true,
                        SourceKind::Virtual(_) => false,
                        SourceKind::JsonTable(_) => true,
                    })
                    && block.subqueries.iter().all(|subquery| subquery.query.is_stable())
            }
        }
    }

    /// The values go into an expression of the outer query: decimals keep the digits beyond their type.
    pub fn keep_digits(&mut self) {
        if let Query::Block(block) = self {
            block.keeps_digits = !block.distinct;
        }
    }
}

impl Block {
    /// A block of no table: what stays where one was taken away, or what one is made of.
    pub fn nothing() -> Block {
        Block {
            select_number: 0,
            sources: Vec::new(),
            slots: Vec::new(),
            from: Nest::default(),
            straight: false,
            hints: BlockHints::default(),
            group: None,
            having: None,
            windows: Vec::new(),
            output: Vec::new(),
            columns: Vec::new(),
            distinct: false,
            keeps_digits: false,
            order: Vec::new(),
            limit: None,
            calc_found_rows: false,
            subqueries: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// The values of the slots of a source.
    pub fn slots_of(&self, source: usize) -> std::ops::Range<usize> {
        let source = &self.sources[source];
        source.slot_base..source.slot_base + source.columns.len()
    }

    /// Visits everything that is evaluated on its rows, and what its subqueries read of them.
    pub fn for_each_expr(&self, visit: &mut dyn FnMut(&Expr)) {
        self.output.iter().for_each(&mut *visit);
        self.having.iter().for_each(&mut *visit);
        self.order.iter().for_each(|(expr, _)| visit(expr));
        self.subqueries.iter().flat_map(|subquery| &subquery.outer).for_each(&mut *visit);
        self.windows.iter().for_each(|window| window.for_each_expr(visit));
        self.sources.iter().flat_map(|source| &source.lateral).for_each(&mut *visit);
        self.from.for_each_condition(visit);
        for source in &self.sources {
            if let SourceKind::JsonTable(table) = &source.kind {
                visit(&table.document);
            }
        }
        if let Some(group) = &self.group {
            group.keys.iter().for_each(&mut *visit);
            for call in &group.aggregates {
                call.args.iter().for_each(&mut *visit);
                call.order_by.iter().for_each(|(expr, _)| visit(expr));
            }
        }
    }

    /// The slots that are read behind the grouping or by window functions and what follows them, by subqueries as well:
    /// those of conditions read rows before it.
    pub fn read_by_results(&self) -> Vec<bool> {
        let mut read = vec![false; self.slots.len()];
        let order = self.order.iter().map(|(expr, _)| expr);
        self.output.iter().chain(&self.having).chain(order).for_each(|expr| self.note_read(expr, &mut read));
        self.windows.iter().for_each(|window| window.for_each_expr(&mut |expr| self.note_read(expr, &mut read)));
        read
    }

    fn note_read(&self, expr: &Expr, read: &mut [bool]) {
        expr.walk(&mut |expr| {
            if let Some(slot) = expr.as_column() {
                read[slot] = true;
            }
            if let Some(query) = expr.subquery() {
                self.subqueries[query].outer.iter().for_each(|outer| self.note_read(outer, read));
            }
        });
    }

    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.output.iter_mut().for_each(&mut *visit);
        self.having.iter_mut().for_each(&mut *visit);
        self.order.iter_mut().for_each(|(expr, _)| visit(expr));
        self.subqueries.iter_mut().flat_map(|subquery| &mut subquery.outer).for_each(&mut *visit);
        self.windows.iter_mut().for_each(|window| window.for_each_expr_mut(visit));
        self.sources.iter_mut().flat_map(|source| &mut source.lateral).for_each(&mut *visit);
        self.from.for_each_condition_mut(visit);
        for source in &mut self.sources {
            if let SourceKind::JsonTable(table) = &mut source.kind {
                visit(&mut table.document);
            }
        }
        if let Some(group) = &mut self.group {
            group.keys.iter_mut().for_each(&mut *visit);
            for call in &mut group.aggregates {
                call.args.iter_mut().for_each(&mut *visit);
                call.order_by.iter_mut().for_each(|(expr, _)| visit(expr));
            }
        }
    }

    /// The sources that an expression reads, itself or through its subqueries.
    pub fn reads(&self, expr: &Expr) -> Mask {
        reads(expr, &self.slots, &|query| &self.subqueries[query].outer)
    }
}

/// The sources that an expression reads; `outer` has what a subquery reads.
pub fn reads<'b>(expr: &Expr, slots: &[(u16, u16)], outer: &dyn Fn(usize) -> &'b [Expr]) -> Mask {
    let mut mask = 0;
    expr.walk(&mut |expr| {
        if let Some(slot) = expr.as_column() {
            mask |= 1 << slots[slot].0;
        }
        if let Some(query) = expr.subquery() {
            for expr in outer(query) {
                mask |= reads(expr, slots, outer);
            }
        }
    });
    mask
}

/// Whether an expression gives another value each time, so that it must be evaluated once per joined row.
pub fn is_volatile(expr: &Expr) -> bool {
    use crate::expression::Node;
    let mut volatile = false;
    expr.walk(&mut |expr| match &expr.node {
        Node::Call { function, .. } => volatile |= !function.deterministic,
        Node::UserVariable(_) | Node::AssignVariable(..) | Node::Stored { .. } | Node::Sequence(_) => volatile = true,
        _ => {}
    });
    volatile
}

impl super::Source<Rc<Derived>> {
    /// The query that this source alone reads.
    pub fn own_query(&mut self) -> Option<&mut Query> {
        if !self.lateral.is_empty() {
            return None;
        }
        match &mut self.kind {
            SourceKind::Derived(derived) => Rc::get_mut(derived).map(|derived| derived.query.get_mut()),
            _ => None,
        }
    }
}

impl Source {
    /// The stored column that a column is, of a table or of queries that only select.
    pub fn stored_column(&self, column: usize) -> Option<(Arc<Table>, usize)> {
        match &self.kind {
            SourceKind::Table(table) => Some((table.clone(), column)),
            SourceKind::Derived(derived) => match &*derived.query.borrow() {
                Query::Block(block) if block.group.is_none() => {
                    let (source, column) = block.slots[block.output.get(column)?.as_column()?];
                    block.sources[usize::from(source)].stored_column(usize::from(column))
                }
                _ => None,
            },
            SourceKind::Virtual(_) | SourceKind::JsonTable(_) => None,
        }
    }
}
