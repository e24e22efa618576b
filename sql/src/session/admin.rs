//! SHOW, DESCRIBE, EXPLAIN, KILL, FLUSH, and the maintenance of tables.

use format::collation::CollationId;
use format::packet::ColumnDefinition;
use format::value::{ColumnType, Value};
use storage::Kill;

use super::{Done, Session};
use crate::accounts::Key;
use crate::error::{Error, Level, Result};
use crate::expression::{Binder, Expr, Scope, functions};
use crate::information_schema::{Facts, SessionValues};
use crate::parser::ast::{self, ColumnName, FlushItem, Show, ShowFilter, TableName};
use crate::planner::definition;
use crate::planner::view::ViewDescriber;
use crate::result::ResultSink;
use crate::show;
use crate::status::Counter;
use crate::types::TypeInfo;

/// A result built in memory.
struct Table {
    columns: Vec<(String, ColumnType)>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    fn of(listing: show::Listing) -> Table {
        Table { columns: listing.columns, rows: listing.rows }
    }
}

/// The columns of a listing by name, for SHOW ... WHERE.
struct ListingScope<'a>(&'a [(String, ColumnType)]);

impl Scope for ListingScope<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let found = self.0.iter().position(|(column, _)| storage::same_name(column, &name.name));
        match found {
            Some(at) => Ok(Expr::slot(at, TypeInfo::of_column(&self.0[at].1, true))),
            None => Err(Error::unknown_column(&name.name, "where clause")),
        }
    }
}

/// A value of a listing as it would be written.
fn literal(value: &Value, ty: &ColumnType) -> ast::Expr {
    match value {
        Value::Null => ast::Expr::NULL,
        Value::UInt(number) => ast::Expr::Literal(ast::Literal::Integer(*number)),
        value => {
            let mut text = Vec::new();
            ty.write_value_text(value, &mut text);
            ast::Expr::Literal(ast::Literal::String { bytes: text, charset: None })
        }
    }
}

pub(super) fn text_type(chars: u32) -> ColumnType {
    ColumnType::VarChar { chars, collation: CollationId::UTF8MB4_GENERAL_CI }
}

pub(super) fn number_type() -> ColumnType {
    ColumnType::Int { bytes: 8, unsigned: true }
}

fn text(value: &str) -> Value {
    Value::Bytes(value.as_bytes().to_vec())
}

impl Session {
    pub(super) fn facts(&self) -> Facts<'_> {
        Facts {
            instance: &self.instance,
            variables: &self.variables,
            status: &self.status,
            process: &self.process,
            temporary: self.temporary.get().map(|own| &**own),
            rights: &self.rights,
            only: None,
            wanted: None,
            views: None,
            profiles: self.measure.profiles(),
            zone: self.zone(),
            state: SessionValues {
                last_insert_id: self.state.last_insert_id.get(),
                insert_id: self.state.insert_id.get(),
                warning_count: self.state.last_counts.get().0,
                error_count: self.state.last_counts.get().1,
                timestamp: self.state.timestamp.get().unwrap_or_else(super::clock),
            },
        }
    }

    /// Sends a result made in memory.
    pub(super) fn send(
        &mut self,
        columns: &[(String, ColumnType)],
        rows: &[Vec<Value>],
        warnings: u16,
        more: bool,
        sink: &mut dyn ResultSink,
    ) {
        let definitions = self.definitions(columns);
        self.send_defined(&definitions, columns, rows, warnings, more, sink);
    }

    /// What the client is told about the columns of a result made in memory.
    pub(super) fn definitions(&self, columns: &[(String, ColumnType)]) -> Vec<ColumnDefinition> {
        let results = self.variables.settings.character_set_results;
        let of = |(name, ty): &(String, ColumnType)| definition::of_type(name, &TypeInfo::of_column(ty, true), results);
        columns.iter().map(of).collect()
    }

    /// The same with definitions that say more than types do.
    pub(super) fn send_defined(
        &mut self,
        definitions: &[ColumnDefinition],
        columns: &[(String, ColumnType)],
        rows: &[Vec<Value>],
        warnings: u16,
        more: bool,
        sink: &mut dyn ResultSink,
    ) {
        let types: Vec<ColumnType> = columns.iter().map(|(_, ty)| ty.clone()).collect();
        sink.columns(definitions);
        for row in rows {
            sink.row(row, &types);
        }
        self.state.rows_sent.set(rows.len() as u64);
        self.state.found_rows.set(rows.len() as u64);
        self.state.row_count.set(-1);
        self.finish_with(&Done::default(), warnings, more, sink);
    }

    /// The passwords that a statement made for accounts.
    pub(super) fn send_passwords(&mut self, made: &[(Key, String)], more: bool, sink: &mut dyn ResultSink) {
        let columns = ["user", "host", "generated password", "auth_factor"];
        let ty = |name: &str| if name == "auth_factor" { number_type() } else { text_type(255) };
        let columns: Vec<_> = columns.iter().map(|name| (name.to_string(), ty(name))).collect();
        let row =
            |((user, host), password): &(Key, String)| vec![text(user), text(host), text(password), Value::UInt(1)];
        let rows: Vec<_> = made.iter().map(row).collect();
        self.send(&columns, &rows, self.warning_count(), more, sink);
    }

    pub(super) fn show(&mut self, show: &Show, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.status.add(
            match show {
                Show::Databases(_) => Counter::ComShowDatabases,
                Show::Tables { .. } => Counter::ComShowTables,
                Show::Columns { .. } => Counter::ComShowFields,
                Show::Index { .. } => Counter::ComShowKeys,
                Show::CreateTable(_) => Counter::ComShowCreateTable,
                Show::Variables { .. } => Counter::ComShowVariables,
                Show::Status { .. } => Counter::ComShowStatus,
                Show::Warnings { .. } => Counter::ComShowWarnings,
                Show::ProcessList { .. } => Counter::ComShowProcesslist,
                Show::BinaryLogStatus => Counter::ComShowMasterStatus,
                Show::BinaryLogs => Counter::ComShowBinlogs,
                Show::BinaryLogEvents(_) => Counter::ComShowBinlogEvents,
                Show::ReplicaStatus { .. } => Counter::ComShowReplicaStatus,
                Show::Other(what) if matches!(what.as_str(), "REPLICAS" | "SLAVE HOSTS") => Counter::ComShowReplicas,
                _ => Counter::ComShowOther,
            },
            1,
        );
        let mut table = match show {
            Show::Warnings { limit, count } => self.show_warnings(limit.as_ref(), *count, false)?,
            Show::Errors { limit, count } => self.show_warnings(limit.as_ref(), *count, true)?,
            Show::Other(words) if words == "REPLICAS" || words == "SLAVE HOSTS" => {
                Table::of(self.show_replicas(words == "REPLICAS"))
            }
            Show::Profiles => Table::of(self.show_profiles()),
            Show::Profile { kinds, query, limit } => {
                let mut listing = self.show_profile(kinds, *query);
                listing.rows = self.limited(listing.rows, limit.as_ref())?;
                Table::of(listing)
            }
            Show::BinaryLogs => Table::of(self.show_logs()?),
            Show::BinaryLogStatus => Table::of(self.show_log_status()?),
            Show::ReplicaStatus { old_names, channel } => {
                Table::of(self.show_replica_status(*old_names, channel.as_deref())?)
            }
            Show::BinaryLogEvents(place) => Table::of(self.show_events(place)?),
            _ => {
                if matches!(show, Show::Variables { .. }) {
                    self.refresh_log_variables()?;
                }
                let database = self.state.database.clone();
                let view = self.view();
                let eval = self.eval_context(&view, &[]);
                let describer = ViewDescriber { instance: &self.instance, eval: &eval };
                let facts = Facts { views: Some(&describer), ..self.facts() };
                let listing = show::listing(&facts, database.as_deref(), show)?;
                match listing {
                    Some(listing) => Table::of(listing),
                    None => return Err(Error::unsupported(format!("SHOW {show:?}"))),
                }
            }
        };
        let none = ShowFilter::NONE;
        let where_only;
        let filter = match show {
            Show::Databases(filter) | Show::Charset(filter) | Show::Collation(filter) => filter,
            Show::Tables { filter, .. }
            | Show::Columns { filter, .. }
            | Show::TableStatus { filter, .. }
            | Show::OpenTables { filter, .. }
            | Show::Variables { filter, .. }
            | Show::Status { filter, .. }
            | Show::Events { filter, .. }
            | Show::Triggers { filter, .. }
            | Show::RoutineStatus { filter, .. } => filter,
            Show::Index { filter: Some(filter), .. } => {
                where_only = ShowFilter { like: None, filter: Some(filter.clone()) };
                &where_only
            }
            _ => &none,
        };
        // What LIKE is compared with.
        let named = match show {
            Show::Triggers { .. } => 2,
            Show::RoutineStatus { .. } | Show::Events { .. } => 1,
            _ => 0,
        };
        self.filter(&mut table, named, filter)?;
        // A statement that shows the last one's warnings has none of its own.
        let tells = matches!(show, Show::Warnings { .. } | Show::Errors { .. });
        let warnings = if tells { 0 } else { self.warning_count() };
        self.send(&table.columns, &table.rows, warnings, more, sink);
        Ok(())
    }

    /// Applies LIKE (to a column, mostly the first) or WHERE.
    fn filter(&mut self, table: &mut Table, named: usize, filter: &ShowFilter) -> Result<()> {
        if let Some(pattern) = &filter.like {
            table.rows.retain(|row| matches!(&row[named], Value::Bytes(name) if show::is_like(name, pattern)));
        }
        let as_query = |condition: &&ast::Expr| condition.asks_query() || calls_programs(condition);
        if let Some(condition) = filter.filter.as_ref().filter(as_query) {
            return self.filter_by_query(table, condition);
        }
        if let Some(condition) = &filter.filter {
            let view = self.view();
            let context = self.eval_context(&view, &self.given);
            let scope = ListingScope(&table.columns);
            let types = self.types_of(&self.given);
            let mut binder = Binder::new(&scope, context.session, context.mode, context.connection, &types);
            binder.client = context.client;
            binder.utf8mb4 = context.utf8mb4;
            let condition = binder.bind(condition)?;
            let mut kept = Vec::new();
            for row in table.rows.drain(..) {
                if condition.is_true(&context, &row)? {
                    kept.push(row);
                }
            }
            table.rows = kept;
        }
        Ok(())
    }

    /// Applies a WHERE with subqueries or stored functions. These do not see the listing: for each row it is a condition
    /// without columns.
    fn filter_by_query(&mut self, table: &mut Table, condition: &ast::Expr) -> Result<()> {
        let mut kept = Vec::new();
        for row in std::mem::take(&mut table.rows) {
            let mut of_row = condition.clone();
            of_row.walk_mut(&mut |expr| {
                if let ast::Expr::Column(name) = expr {
                    let found = table.columns.iter().position(|(column, _)| storage::same_name(column, &name.name));
                    let at = found.ok_or_else(|| Error::unknown_column(&name.name, "where clause"))?;
                    *expr = literal(&row[at], &table.columns[at].1);
                }
                Ok(())
            })?;
            let holds = ast::Expr::IsTruth { expr: Box::new(of_row), truth: Some(true), negated: false };
            if matches!(self.evaluate(&holds)?.0, Value::Int(1)) {
                kept.push(row);
            }
        }
        table.rows = kept;
        Ok(())
    }

    fn show_warnings(&mut self, limit: Option<&ast::Limit>, count: bool, errors_only: bool) -> Result<Table> {
        let all = self.warnings.list();
        let chosen = all.iter().filter(|warning| !errors_only || warning.level == Level::Error);
        if count {
            let name = if errors_only { "@@session.error_count" } else { "@@session.warning_count" };
            let count = if errors_only { chosen.count() as u64 } else { self.warnings.count() };
            return Ok(Table { columns: vec![(name.to_owned(), number_type())], rows: vec![vec![Value::UInt(count)]] });
        }
        let rows: Vec<Vec<Value>> = chosen
            .map(|warning| vec![text(warning.level.name()), Value::UInt(warning.code as u64), text(&warning.message)])
            .collect();
        let rows = self.limited(rows, limit)?;
        let code = ColumnType::Int { bytes: 4, unsigned: true };
        let columns =
            vec![("Level".to_owned(), text_type(7)), ("Code".to_owned(), code), ("Message".to_owned(), text_type(512))];
        Ok(Table { columns, rows })
    }

    /// The rows that LIMIT of a SHOW statement leaves.
    fn limited(&mut self, rows: Vec<Vec<Value>>, limit: Option<&ast::Limit>) -> Result<Vec<Vec<Value>>> {
        let Some(limit) = limit else { return Ok(rows) };
        let mut number = |expr: &ast::Expr| -> Result<usize> {
            match self.evaluate(expr)?.0 {
                Value::Int(number) => Ok(number.max(0) as usize),
                Value::UInt(number) => Ok(number as usize),
                _ => Err(Error::wrong_arguments("LIMIT")),
            }
        };
        let offset = limit.offset.as_ref().map(&mut number).transpose()?.unwrap_or(0);
        let count = number(&limit.count)?;
        Ok(rows.into_iter().skip(offset).take(count).collect())
    }

    /// DESCRIBE t, DESCRIBE t column.
    pub(super) fn describe(
        &mut self,
        table: &TableName,
        column: Option<&str>,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let like = column.map(|column| column.as_bytes().to_vec());
        let filter = ShowFilter { like, filter: None };
        self.show(&Show::Columns { full: false, table: table.clone(), filter }, more, sink)
    }

    pub(super) fn kill(&mut self, query_only: bool, id: &ast::Expr) -> Result<()> {
        self.status.add(Counter::ComKill, 1);
        let id = match self.evaluate(id)?.0 {
            Value::Int(id) if id >= 0 => id as u64,
            Value::UInt(id) => id,
            _ => return Err(Error::unknown_thread(0)),
        };
        self.check_kill(id)?;
        self.instance.processes.kill(id, if query_only { Kill::Query } else { Kill::Connection })?;
        // Of its own connection, this is the statement that was told to stop.
        if id == u64::from(self.process.id) { Err(Error::interrupted()) } else { Ok(()) }
    }

    pub(super) fn flush(&mut self, items: &[FlushItem]) -> Result<()> {
        self.status.add(Counter::ComFlush, 1);
        if let [FlushItem::Tables { tables, read_lock: false, for_export: false }] = items {
            self.check_flush_under_locks(tables)?;
        }
        self.commit()?;
        for item in items {
            match item {
                FlushItem::Tables { tables, for_export: true, .. } => self.flush_for_export(tables)?,
                FlushItem::Tables { tables, read_lock: true, .. } if tables.is_empty() => self.take_read_lock()?,
                FlushItem::Tables { tables, read_lock: true, .. } => self.flush_with_read_lock(tables)?,
                FlushItem::Tables { .. } => {}
                FlushItem::Other(what) if matches!(what.as_str(), "USER_RESOURCES" | "PRIVILEGES") => {
                    self.instance.usage.restart();
                }
                FlushItem::Other(what) if matches!(what.as_str(), "BINARY LOGS" | "LOGS") => {
                    self.rotate_logs()?;
                    let all = what == "LOGS";
                    self.reopen_statement_logs(all, all);
                }
                FlushItem::Other(what) if what == "SLOW LOGS" => self.reopen_statement_logs(true, false),
                FlushItem::Other(what) if what == "GENERAL LOGS" => self.reopen_statement_logs(false, true),
                FlushItem::Other(what) if what == "HOSTS" => {
                    if let Some(transport) = self.instance.transport() {
                        transport.forget_hosts();
                    }
                }
                FlushItem::Other(what) if what == "STATUS" => self.instance.status.flush(&self.status),
                FlushItem::Other(_) => {}
            }
        }
        Ok(())
    }
}

/// Whether it calls a function that is not the server's own.
fn calls_programs(condition: &ast::Expr) -> bool {
    let mut calls = false;
    // It fails nowhere: nothing is changed.
    let _ = condition.clone().walk_mut(&mut |expr| {
        calls |= match expr {
            ast::Expr::StoredFunction { database, .. } => !database.eq_ignore_ascii_case("sys"),
            ast::Expr::Function { name, .. } => !functions::is_known(name),
            _ => false,
        };
        Ok(())
    });
    calls
}
