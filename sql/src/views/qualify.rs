//! A view's query with every name settled: tables with their databases, columns with their tables, `*` as the columns that
//! there are now, and a name for every column of the result.
//!
//! A name that means nothing here stays as it is: the planner binds the same query and says what is wrong with it. So does
//! a bare name behind WHERE that the select list defines, because there it means what is selected.

use crate::error::{Error, Result};
use crate::expression::functions;
use crate::parser::ast::*;

/// What the catalog knows of a table: the columns that `*` stands for. None: there is no such table.
pub type ColumnsOf<'a> = &'a dyn Fn(&str, &str) -> Option<Vec<String>>;

/// Settles the names of a query; the names of the columns of its result. `tables` gets the tables that it names.
pub fn qualify(
    query: &mut Query,
    database: Option<&str>,
    columns_of: ColumnsOf<'_>,
    tables: &mut Vec<(String, String)>,
) -> Result<Vec<String>> {
    let mut aliases = Vec::new();
    let (common, levels) = (Vec::new(), Vec::new());
    Qualifier { database, columns_of, common, levels, tables, aliases: &mut aliases }.query(query, true)
}

/// The tables of a view's query, with what it calls them: database, name, alias.
pub fn aliases(query: &mut Query) -> Vec<[String; 3]> {
    let (mut tables, mut aliases) = (Vec::new(), Vec::new());
    let (common, levels) = (Vec::new(), Vec::new());
    let columns_of: ColumnsOf<'_> = &|_, _| Some(vec![String::new()]);
    let mut qualifier =
        Qualifier { database: None, columns_of, common, levels, tables: &mut tables, aliases: &mut aliases };
    // What columns the tables have does not matter, and so whether all names can be settled.
    let _ = qualifier.query(query, true);
    aliases
}

struct Qualifier<'a> {
    database: Option<&'a str>,
    columns_of: ColumnsOf<'a>,
    /// The tables of WITH in sight, with their columns; the innermost last.
    common: Vec<(String, Vec<String>)>,
    /// The SELECTs around an expression; the innermost last.
    levels: Vec<Level>,
    tables: &'a mut Vec<(String, String)>,
    aliases: &'a mut Vec<[String; 3]>,
}

#[derive(Default, Clone)]
struct Level {
    sources: Vec<Source>,
    /// What `*` shows, as (source, column).
    visible: Vec<(usize, usize)>,
    /// The names that the select list gives, where they count.
    aliases: Vec<String>,
}

#[derive(Clone)]
struct Source {
    database: Option<String>,
    alias: String,
    columns: Vec<String>,
}

fn same(a: &str, b: &str) -> bool {
    storage::same_name(a, b)
}

/// The name of a column that is not called anything.
fn name_of(expr: &Expr, text: &str, number: usize) -> String {
    match expr {
        Expr::Column(column) => column.name.clone(),
        _ if text.is_empty() || text.chars().count() > 64 || text.ends_with(' ') => format!("Name_exp_{number}"),
        _ => text.to_owned(),
    }
}

/// A name that nobody gave, the text of an expression, changes where a column before or behind it has the same.
fn make_unique(names: &mut [String], given: &[bool]) {
    for at in 0..names.len() {
        for before in 0..at {
            if !same(&names[before], &names[at]) {
                continue;
            }
            let renamed = match (given[at], given[before]) {
                (false, _) => at,
                (true, false) => before,
                (true, true) => continue,
            };
            let name = &names[renamed];
            let candidates = (1..).map(|number| format!("Name_exp_{number}_{name}"));
            let unused = std::iter::once(format!("Name_exp_{name}"))
                .chain(candidates)
                .find(|candidate| !names.iter().any(|name| same(name, candidate)));
            names[renamed] = unused.unwrap_or_default();
        }
    }
}

/// The first of the queries that a set operation combines.
fn first_part(query: &Query) -> Query {
    let first = match &query.body {
        Body::Set { first, .. } => first,
        body => body,
    };
    Query {
        with: query.with.clone(),
        body: first.clone(),
        order_by: Vec::new(),
        limit: None,
        lock: None,
        into: query.into.clone(),
    }
}

impl Qualifier<'_> {
    /// `named`: its columns are named, because they are those of a table.
    fn query(&mut self, query: &mut Query, named: bool) -> Result<Vec<String>> {
        let known = self.common.len();
        if let Some(with) = &mut query.with {
            for table in &mut with.tables {
                let levels = std::mem::take(&mut self.levels);
                if with.recursive {
                    // It sees itself: its columns are those of its first part.
                    let columns = match table.columns.is_empty() {
                        true => self.query(&mut first_part(&table.query), true)?,
                        false => table.columns.clone(),
                    };
                    self.common.push((table.name.clone(), columns));
                }
                let at = self.common.len();
                let names = self.query(&mut table.query, true);
                self.levels = levels;
                let names = if table.columns.is_empty() { names? } else { names.map(|_| table.columns.clone())? };
                match with.recursive {
                    true => self.common[at - 1].1 = names,
                    false => self.common.push((table.name.clone(), names)),
                }
            }
        }
        let names = self.body(&mut query.body, &mut query.order_by, named);
        self.common.truncate(known);
        names
    }

    fn body(&mut self, body: &mut Body, order_by: &mut [OrderItem], named: bool) -> Result<Vec<String>> {
        match body {
            Body::Select(select) => self.select(select, order_by, named),
            Body::Set { first, rest } => {
                let names = self.body(first, &mut [], named)?;
                for part in rest {
                    self.body(&mut part.body, &mut [], named)?;
                }
                self.order_of_all(order_by, &names)?;
                Ok(names)
            }
            Body::Nested(query) => {
                let names = self.query(query, named)?;
                self.order_of_all(order_by, &names)?;
                Ok(names)
            }
            Body::Table(name) => {
                let table =
                    TableRef::Table { name: name.clone(), partitions: Vec::new(), alias: None, hints: Vec::new() };
                let mut select = Select { items: vec![SelectItem::All], from: vec![table], ..Select::default() };
                let names = self.select(&mut select, order_by, named);
                *body = Body::Select(Box::new(select));
                names
            }
            Body::Values { rows, names } => {
                rows.iter_mut().flatten().try_for_each(|expr| self.expr(expr))?;
                self.order_of_all(order_by, names)?;
                Ok(names.clone())
            }
        }
    }

    /// ORDER BY behind several queries sees the columns of their result alone.
    fn order_of_all(&mut self, order_by: &mut [OrderItem], names: &[String]) -> Result<()> {
        self.levels.push(Level { aliases: names.to_vec(), ..Level::default() });
        let done = order_by.iter_mut().try_for_each(|item| self.expr(&mut item.expr));
        self.levels.pop();
        done
    }

    fn select(&mut self, select: &mut Select, order_by: &mut [OrderItem], named: bool) -> Result<Vec<String>> {
        self.levels.push(Level::default());
        let names = self.select_inside(select, order_by, named);
        self.levels.pop();
        names
    }

    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("a SELECT is being read")
    }

    fn select_inside(&mut self, select: &mut Select, order_by: &mut [OrderItem], named: bool) -> Result<Vec<String>> {
        // FROM a, b is a join without a condition.
        let mut from = std::mem::take(&mut select.from).into_iter();
        if let Some(first) = from.next() {
            let join = |left, right| TableRef::Join {
                left: Box::new(left),
                right: Box::new(right),
                kind: JoinKind::Inner,
                condition: JoinCondition::None,
            };
            let mut all = from.fold(first, join);
            let visible = self.table_ref(&mut all)?;
            self.level().visible = visible;
            select.from = vec![all];
        }
        let mut items = Vec::new();
        for item in std::mem::take(&mut select.items) {
            self.expand(item, &mut items)?;
        }
        let (mut names, mut given) = (Vec::new(), Vec::new());
        for (at, item) in items.iter_mut().enumerate() {
            let SelectItem::Expr { expr, alias, text } = item else { continue };
            given.push(alias.is_some() || matches!(expr, Expr::Column(_)));
            names.push(alias.clone().unwrap_or_else(|| name_of(expr, text, at + 1)));
            self.expr(expr)?;
        }
        if named {
            make_unique(&mut names, &given);
            for (item, name) in items.iter_mut().zip(&names) {
                if let SelectItem::Expr { alias, .. } = item {
                    *alias = Some(name.clone());
                }
            }
        }
        select.items = items;
        if let Some(filter) = &mut select.filter {
            self.expr(filter)?;
        }
        self.level().aliases = names.clone();
        select.group_by.iter_mut().try_for_each(|item| self.expr(&mut item.expr))?;
        if let Some(having) = &mut select.having {
            self.expr(having)?;
        }
        select.windows.iter_mut().try_for_each(|(_, spec)| self.window(spec))?;
        order_by.iter_mut().try_for_each(|item| self.expr(&mut item.expr))?;
        Ok(names)
    }

    /// `*` and `t.*` become columns.
    fn expand(&mut self, item: SelectItem, out: &mut Vec<SelectItem>) -> Result<()> {
        let level = self.level();
        let columns: Vec<(usize, usize)> = match &item {
            SelectItem::Expr { .. } => {
                out.push(item);
                return Ok(());
            }
            SelectItem::All if level.visible.is_empty() => return Err(Error::no_tables_used()),
            SelectItem::All => level.visible.clone(),
            SelectItem::AllOf(table) => {
                let found = level.sources.iter().position(|source| {
                    source.alias == table.name
                        && (table.database.is_none() || source.database.is_none() || table.database == source.database)
                });
                let at = found.ok_or_else(|| Error::unknown_table(&table.name))?;
                (0..level.sources[at].columns.len()).map(|column| (at, column)).collect()
            }
        };
        for (source, column) in columns {
            let source = &level.sources[source];
            let name = source.columns[column].clone();
            let text = name.clone();
            out.push(SelectItem::Expr {
                expr: Expr::Column(ColumnName {
                    database: source.database.clone(),
                    table: Some(source.alias.clone()),
                    name: name.clone(),
                }),
                alias: None,
                text,
            });
        }
        Ok(())
    }

    /// Reads what sees the tables that stand before it.
    fn beside_those_before<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let level = self.level();
        let own = level.sources.iter().enumerate();
        let all = own.flat_map(|(at, source)| (0..source.columns.len()).map(move |column| (at, column)));
        let before = std::mem::replace(&mut level.visible, all.collect());
        let done = read(self);
        self.level().visible = before;
        done
    }

    /// Adds the tables of a part of FROM; what of their columns `*` shows.
    fn table_ref(&mut self, table: &mut TableRef) -> Result<Vec<(usize, usize)>> {
        let source = match table {
            TableRef::Table { name, alias, .. } => {
                let common = match name.database {
                    None => self.common.iter().rev().find(|(known, _)| *known == name.name).map(|(_, own)| own.clone()),
                    Some(_) => None,
                };
                let alias = alias.clone().unwrap_or_else(|| name.name.clone());
                match common {
                    Some(columns) => Source { database: None, alias, columns },
                    None => {
                        let database = name
                            .database
                            .clone()
                            .or_else(|| self.database.map(str::to_owned))
                            .ok_or_else(Error::no_database)?;
                        let columns = (self.columns_of)(&database, &name.name)
                            .ok_or_else(|| Error::no_such_table(&database, &name.name))?;
                        let place = (database.clone(), name.name.clone());
                        name.database = Some(place.0.clone());
                        self.aliases.push([database.clone(), name.name.clone(), alias.clone()]);
                        if !self.tables.contains(&place) {
                            self.tables.push(place);
                        }
                        // An alias is called without the database.
                        let database = (alias == name.name).then_some(database);
                        Source { database, alias, columns }
                    }
                }
            }
            TableRef::Derived { query, alias, columns, lateral } => {
                let names = if *lateral {
                    self.beside_those_before(|own| own.query(query, true))?
                } else {
                    let levels = std::mem::take(&mut self.levels);
                    let names = self.query(query, true);
                    self.levels = levels;
                    names?
                };
                let columns = if columns.is_empty() { names } else { columns.clone() };
                Source { database: None, alias: alias.clone(), columns }
            }
            TableRef::Join { left, right, kind, condition } => {
                let left = self.table_ref(left)?;
                let right = self.table_ref(right)?;
                return self.join(left, right, *kind, condition);
            }
            TableRef::JsonTable(table) => {
                self.beside_those_before(|own| own.expr(&mut table.document))?;
                let mut columns = Vec::new();
                json_names(&table.columns, &mut columns);
                Source { database: None, alias: table.alias.clone(), columns }
            }
        };
        let width = source.columns.len();
        let level = self.level();
        level.sources.push(source);
        let at = level.sources.len() - 1;
        Ok((0..width).map(|column| (at, column)).collect())
    }

    fn join(
        &mut self,
        left: Vec<(usize, usize)>,
        right: Vec<(usize, usize)>,
        kind: JoinKind,
        condition: &mut JoinCondition,
    ) -> Result<Vec<(usize, usize)>> {
        let level = self.level();
        let name = |(source, column): (usize, usize)| level.sources[source].columns[column].as_str();
        let has = |side: &[(usize, usize)], wanted: &str| side.iter().any(|at| same(name(*at), wanted));
        let common: Vec<String> = match condition {
            JoinCondition::Using(names) => names.clone(),
            JoinCondition::Natural => {
                left.iter().map(|at| name(*at).to_owned()).filter(|name| has(&right, name)).collect()
            }
            JoinCondition::None | JoinCondition::On(_) => Vec::new(),
        };
        // What is common is settled, too: columns that are added later are not.
        if matches!(condition, JoinCondition::Natural) {
            *condition = if common.is_empty() { JoinCondition::None } else { JoinCondition::Using(common.clone()) };
        }
        let is_common = |at: &(usize, usize)| common.iter().any(|wanted| same(name(*at), wanted));
        let (kept, other) = if kind == JoinKind::Right { (&right, &left) } else { (&left, &right) };
        let mut visible: Vec<(usize, usize)> = kept.iter().copied().filter(is_common).collect();
        visible.extend(kept.iter().chain(other).copied().filter(|at| !is_common(at)));
        if let JoinCondition::On(expr) = condition {
            // ON sees the tables of its join.
            let own = left.iter().chain(&right).copied().collect();
            let before = std::mem::replace(&mut self.level().visible, own);
            let done = self.expr(expr);
            self.level().visible = before;
            done?;
        }
        Ok(visible)
    }

    /// Gives a column its table.
    fn column(&mut self, column: &mut ColumnName) {
        for level in self.levels.iter().rev() {
            if column.table.is_none() {
                let mut found = level
                    .visible
                    .iter()
                    .filter(|(source, at)| same(&level.sources[*source].columns[*at], &column.name));
                let first = found.next();
                // What the select list defines means that, behind WHERE.
                if level.aliases.iter().any(|alias| same(alias, &column.name)) {
                    return;
                }
                let Some((source, at)) = first else { continue };
                if found.next().is_none() {
                    let source = &level.sources[*source];
                    (column.database, column.table) = (source.database.clone(), Some(source.alias.clone()));
                    column.name = source.columns[*at].clone();
                }
                return;
            }
            let is_called = |source: &&Source| {
                Some(&source.alias) == column.table.as_ref()
                    && (column.database.is_none() || column.database == source.database)
            };
            if let Some(source) = level.sources.iter().find(is_called) {
                column.database = source.database.clone();
                return;
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr) -> Result<()> {
        match expr {
            Expr::Column(column) | Expr::DefaultOf(column) => self.column(column),
            Expr::Unary { expr, .. }
            | Expr::IsNull { expr, .. }
            | Expr::IsTruth { expr, .. }
            | Expr::Cast { expr, .. }
            | Expr::CastArray { expr, .. }
            | Expr::ConvertUsing { expr, .. }
            | Expr::Collate { expr, .. }
            | Expr::Binarily(expr)
            | Expr::Extract { expr, .. } => self.expr(expr)?,
            Expr::Binary { left, right, .. } => {
                self.expr(left)?;
                self.expr(right)?;
            }
            Expr::Between { expr, low, high, .. } => {
                self.expr(expr)?;
                self.expr(low)?;
                self.expr(high)?;
            }
            Expr::InList { expr, list, .. } => {
                self.expr(expr)?;
                self.exprs(list)?;
            }
            Expr::InQuery { expr, query, .. } | Expr::Quantified { expr, query, .. } => {
                self.expr(expr)?;
                self.query(query, false)?;
            }
            Expr::Like { expr, pattern, escape, .. } => {
                self.expr(expr)?;
                self.expr(pattern)?;
                if let Some(escape) = escape {
                    self.expr(escape)?;
                }
            }
            Expr::Regexp { expr, pattern, .. } => {
                self.expr(expr)?;
                self.expr(pattern)?;
            }
            Expr::Case { operand, whens, otherwise } => {
                for part in operand.iter_mut().chain(otherwise) {
                    self.expr(part)?;
                }
                for (when, then) in whens {
                    self.expr(when)?;
                    self.expr(then)?;
                }
            }
            Expr::Function { name, args } if !functions::is_known(name) && self.database.is_some() => {
                args.iter_mut().try_for_each(|arg| self.expr(arg))?;
                // A stored function of the current database.
                let (name, args) = (std::mem::take(name), std::mem::take(args));
                let database = self.database.unwrap_or_default().to_owned();
                *expr = Expr::StoredFunction { database, name, args };
            }
            Expr::StoredFunction { database, args, .. } if database.is_empty() => {
                *database = self.database.unwrap_or_default().to_owned();
                self.exprs(args)?;
            }
            Expr::Function { args, .. } | Expr::StoredFunction { args, .. } | Expr::Char { args, .. } => {
                self.exprs(args)?;
            }
            Expr::Sequence(call) if call.sequence.database.is_none() => {
                call.sequence.database = Some(self.database.ok_or_else(Error::no_database)?.to_owned());
            }
            Expr::Row(args) | Expr::Grouping(args) => self.exprs(args)?,
            Expr::Match(search) => {
                self.exprs(&mut search.columns)?;
                self.expr(&mut search.against)?;
            }
            Expr::Window(call) => {
                let WindowCall { function, args, over } = &mut **call;
                if let WindowFunction::Aggregate(aggregate) = function {
                    self.aggregate(aggregate)?;
                }
                self.exprs(args)?;
                if let Over::Spec(spec) = over {
                    self.window(spec)?;
                }
            }
            Expr::Aggregate(aggregate) => self.aggregate(aggregate)?,
            Expr::Trim { remove, expr, .. } => {
                if let Some(remove) = remove {
                    self.expr(remove)?;
                }
                self.expr(expr)?;
            }
            Expr::DateAdd { expr, interval, .. } | Expr::TimestampAdd { interval, expr, .. } => {
                self.expr(expr)?;
                self.expr(interval)?;
            }
            Expr::JsonValue(value) => {
                self.expr(&mut value.document)?;
                self.expr(&mut value.path)?;
            }
            Expr::TimestampDiff { from, to, .. } => {
                self.expr(from)?;
                self.expr(to)?;
            }
            Expr::Subquery(query) | Expr::Exists(query) => {
                self.query(query, false)?;
            }
            // No names in it; or the printer refuses it.
            _ => {}
        }
        Ok(())
    }

    fn aggregate(&mut self, aggregate: &mut Aggregate) -> Result<()> {
        // Its arguments see the tables before the select list.
        let aliases = self.levels.last_mut().map(|level| std::mem::take(&mut level.aliases));
        let done = self
            .exprs(&mut aggregate.args)
            .and_then(|()| aggregate.order_by.iter_mut().try_for_each(|item| self.expr(&mut item.expr)));
        if let (Some(level), Some(aliases)) = (self.levels.last_mut(), aliases) {
            level.aliases = aliases;
        }
        done
    }

    fn window(&mut self, WindowSpec { partition_by, order_by, frame, .. }: &mut WindowSpec) -> Result<()> {
        partition_by.iter_mut().chain(order_by).try_for_each(|item| self.expr(&mut item.expr))?;
        for bound in frame.iter_mut().flat_map(|frame| [&mut frame.start, &mut frame.end]) {
            if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
                self.expr(&mut offset.value)?;
            }
        }
        Ok(())
    }

    fn exprs(&mut self, exprs: &mut [Expr]) -> Result<()> {
        exprs.iter_mut().try_for_each(|expr| self.expr(expr))
    }
}

/// The names of the columns of a JSON_TABLE.
fn json_names(columns: &[JsonColumn], names: &mut Vec<String>) {
    for column in columns {
        match column {
            JsonColumn::Ordinality(name) => names.push(name.clone()),
            JsonColumn::Value(column) => names.push(column.name.clone()),
            JsonColumn::Nested { columns, .. } => json_names(columns, names),
        }
    }
}
