//! SET: system variables, user variables, character sets.

use format::collation::{Charset, collation};
use format::value::{Value, Zone};

use super::privileges::check_set;
use super::state::with_own_digits;
use super::{Session, profiling};
use crate::accounts::Rights;
use crate::error::{Error, Result};
use crate::executor::row::decode;
use crate::expression::{Binder, Datum, Expr, Generator, NoFields, NoScope};
use crate::parser::ast::{self, SetItem, VariableScope};
use crate::types::TypeInfo;
use crate::variables::{Notice, Origin};

/// The value of one assignment, worked out before any variable is set.
enum Ready {
    User((Value, TypeInfo)),
    /// None: DEFAULT.
    System(Option<Value>),
    /// NAMES, CHARACTER SET.
    Words,
}

impl Session {
    /// What SET does not change, and what only runs look at, leaves the plans that the session keeps.
    pub(super) fn set(&mut self, items: &[SetItem]) -> Result<()> {
        let before = self.variables.settings.clone();
        let mut keeps_plans = true;
        let set = self.set_items(items, &mut keeps_plans);
        if items.iter().any(|item| !matches!(item, SetItem::User { .. })) {
            self.state.variables_changed();
        }
        if set.is_err() || !keeps_plans || !self.variables.settings.plans_like(&before) {
            self.forget_plans();
        }
        set
    }

    fn set_items(&mut self, items: &[SetItem], keeps_plans: &mut bool) -> Result<()> {
        // All values are worked out before the first variable gets its own: SET @a = @b, @b = @a swaps. Where a system
        // variable does not take its value, none is set.
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(match item {
                SetItem::User { value, .. } => {
                    let (value, ty) = self.evaluate(value)?;
                    Ready::User(with_own_digits(value, ty))
                }
                SetItem::System { scope, name, value } => {
                    let value = self.system_value(*scope, name, value)?;
                    if let Some(value) = value.as_ref().filter(|_| items.len() > 1 && is_checked(*scope)) {
                        self.check_setting(&name.to_ascii_lowercase(), is_global(*scope), value)?;
                    }
                    Ready::System(value)
                }
                SetItem::Names { .. } | SetItem::Charset(_) => Ready::Words,
            });
        }
        for (item, value) in items.iter().zip(values) {
            match (item, value) {
                (SetItem::User { name, .. }, Ready::User((value, ty))) => {
                    self.state.assign(name.to_lowercase(), value, ty);
                    self.state_changed();
                }
                (SetItem::System { scope, name, .. }, Ready::System(value)) => {
                    let before = self.variables.select(&self.instance.variables, name, false).ok();
                    self.set_system(*scope, name, value)?;
                    let is_kept = before == self.variables.select(&self.instance.variables, name, false).ok();
                    *keeps_plans &= is_kept || crate::variables::is_read_by_runs_alone(name);
                }
                (SetItem::Names { charset, collation }, _) => {
                    self.set_names(charset.as_deref(), collation.as_deref())?
                }
                (SetItem::Charset(charset), _) => self.set_charset(charset.as_deref())?,
                _ => return Err(Error::internal("a variable without its value")),
            }
        }
        Ok(())
    }

    /// The value of an expression without columns, and its type.
    pub(super) fn evaluate(&mut self, expr: &ast::Expr) -> Result<(Value, TypeInfo)> {
        self.evaluate_for(expr, ast::Wanted::Value)
    }

    /// The same. A value that a query has to compute is looked at as a part of that query.
    fn evaluate_for(&mut self, expr: &ast::Expr, wanted: ast::Wanted) -> Result<(Value, TypeInfo)> {
        if expr.asks_query() {
            return self.evaluate_query(expr, wanted);
        }
        let given = self.given.clone();
        let view = self.view();
        let context = self.eval_context(&view, &given);
        let bound = match bind(&context, expr, &self.types_of(&given)) {
            // It may be a stored function, which only a query can call.
            Err(error) if matches!(error.code, 1305 | 1630) => return self.evaluate_query(expr, wanted),
            bound => bound?,
        };
        Ok((bound.assigned(&context, &NoFields)?, bound.ty))
    }

    /// The same through a SELECT of its own, for expressions with subqueries.
    fn evaluate_query(&mut self, expr: &ast::Expr, wanted: ast::Wanted) -> Result<(Value, TypeInfo)> {
        let item = ast::SelectItem::Expr { expr: expr.clone(), alias: None, text: String::new() };
        let select = ast::Select { items: vec![item], ..ast::Select::default() };
        let query = ast::Query {
            with: None,
            body: ast::Body::Select(Box::new(select)),
            order_by: Vec::new(),
            limit: None,
            lock: None,
            into: ast::SelectInto::Program(wanted),
        };
        let statement = ast::Statement::Query(Box::new(query));
        let mut kept = Kept { rows: Vec::new(), error: None };
        let given = self.given.clone();
        self.plan_and_run(&statement, given.len(), &given, false, &mut kept)?;
        if let Some(error) = kept.error {
            self.state.error_count.set(0);
            return Err(error);
        }
        let collected = self.programs.take_collected().ok_or_else(|| Error::internal("a query without rows"))?;
        let value = collected.rows.into_iter().next_back().and_then(|mut row| row.pop()).unwrap_or(Value::Null);
        Ok((value, collected.types.first().copied().unwrap_or(TypeInfo::NULL)))
    }

    /// What a system variable is set to; `None` = DEFAULT.
    fn system_value(&mut self, scope: Option<VariableScope>, name: &str, value: &ast::Expr) -> Result<Option<Value>> {
        Ok(match value {
            ast::Expr::Default => None,
            // A bare word is its own value: SET sql_mode = ANSI, SET x = ON.
            ast::Expr::Column(column) if column.table.is_none() => Some(Value::Bytes(column.name.clone().into_bytes())),
            value => match self.evaluate_for(value, wanted_for(scope, name)) {
                // A name with a point is no word: `SET GLOBAL general_log_file = my.log`.
                Err(error) if error.code == 1054 && matches!(value, ast::Expr::Column(_)) => {
                    return Err(Error::wrong_type_for_variable(&name.to_ascii_lowercase()));
                }
                evaluated => {
                    let (value, ty) = evaluated?;
                    Some(as_set(value, &ty))
                }
            },
        })
    }

    /// Whether a system variable takes a value, as far as this does not depend on what the server is doing.
    pub(super) fn check_setting(&self, name: &str, is_global: bool, value: &Value) -> Result<()> {
        match name {
            "gtid_next" | "gtid_purged" | "gtid_slave_pos" => Ok(()),
            "timestamp" if !is_global => seconds_of(name, value).map(|_| ()),
            "last_insert_id" | "identity" | "insert_id" | "rand_seed1" | "rand_seed2" | "pseudo_thread_id"
                if !is_global =>
            {
                whole_number(name, value).map(|_| ())
            }
            _ if is_global => self.instance.variables.check(name, value),
            _ => self.variables.check(name, value),
        }
    }

    fn set_system(&mut self, scope: Option<VariableScope>, name: &str, value: Option<Value>) -> Result<()> {
        let name = name.to_ascii_lowercase();
        match (name.as_str(), &value, scope) {
            ("gtid_next", ..) if !is_global(scope) => return self.set_gtid_next(value.as_ref()),
            ("gtid_slave_pos", Some(value), Some(VariableScope::Global)) => return self.set_gtid_slave_pos(value),
            ("gtid_purged", Some(value), Some(VariableScope::Global)) => return self.set_gtid_purged(value),
            ("sql_log_bin", Some(_), _) if !is_global(scope) && self.has_transaction() => {
                let text = "Cannot modify @@session.sql_log_bin inside a transaction";
                return Err(Error::new(1694, b"HY000", text));
            }
            (name, Some(value), None) if is_of_transactions(name) => return self.set_next_transaction(name, value),
            _ => {}
        }
        let was = self.variables.settings.autocommit;
        self.set_value(scope, &name, value)?;
        // Switching autocommit on commits the transaction that autocommit = 0 began.
        if !was && self.variables.settings.autocommit {
            if let Err(refusal) = self.check_no_branch() {
                self.variables.set(&name, &Value::Int(0))?;
                return Err(refusal);
            }
            self.commit()?;
        }
        if !is_global(scope) {
            self.overrides_next(&name);
        }
        Ok(())
    }

    /// SET in a stored function or a trigger: the session has the value behind the statement, too. What the statement
    /// itself depends on cannot change.
    pub(super) fn set_inside(&self, item: &SetItem, rights: &Rights) -> Result<()> {
        if !rights.is_internal() {
            check_set(item, rights)?;
        }
        let before = self.variables.number();
        let set = match item {
            SetItem::System { scope, name, value } => {
                let name = name.to_ascii_lowercase();
                refuse_inside(*scope, &name)?;
                let value = match value {
                    ast::Expr::Default => None,
                    ast::Expr::Column(word) => Some(Value::Bytes(word.name.clone().into_bytes())),
                    value => {
                        let view = self.view();
                        let context = self.eval_context(&view, &[]);
                        let bound = bind(&context, value, &[])?;
                        Some(as_set(bound.assigned(&context, &NoFields)?, &bound.ty))
                    }
                };
                self.set_value(*scope, &name, value)
            }
            SetItem::Names { charset, collation } => self.set_names(charset.as_deref(), collation.as_deref()),
            SetItem::Charset(charset) => self.set_charset(charset.as_deref()),
            SetItem::User { .. } => Err(Error::internal("a user variable among those of the system")),
        };
        self.state.variables_changed();
        if !self.variables.plans_like(self.variables.of(before)) {
            self.change_names();
        }
        set
    }

    fn set_charset(&self, charset: Option<&str>) -> Result<()> {
        let charset = self.charset(charset)?;
        self.set_text("character_set_client", charset.name())?;
        self.set_text("character_set_results", charset.name())?;
        let database = collation(self.variables.settings.collation_database).name;
        self.set_text("collation_connection", database)
    }

    /// Sets a variable whose value belongs to neither a transaction nor the log.
    fn set_value(&self, scope: Option<VariableScope>, name: &str, value: Option<Value>) -> Result<()> {
        let is_global = is_global(scope);
        let persists = matches!(scope, Some(VariableScope::Persist | VariableScope::PersistOnly));
        let of_gtids = matches!(name, "gtid_mode" | "enforce_gtid_consistency");
        let Some(value) = value else {
            if is_global && of_gtids {
                self.check_gtid_variable(name, None)?;
            }
            self.check_event_scheduler(name, None)?;
            self.check_partial_revokes(name, None)?;
            if persists {
                return self.persist(scope, name, None);
            }
            if !is_global {
                match name {
                    "insert_id" => self.state.insert_id.set(0),
                    "last_insert_id" | "identity" => self.state.last_insert_id.set(0),
                    "timestamp" => self.state.timestamp.set(None),
                    _ => {}
                }
            }
            let globals = &self.instance.variables;
            let notices = match is_global {
                true => globals.set_default(name)?,
                false => self.variables.change(|own| own.set_default(globals, name))?,
            };
            self.notice(notices);
            return self.after_set(name, is_global);
        };
        if is_global && of_gtids {
            self.check_gtid_variable(name, Some(&value))?;
        }
        if is_global {
            self.check_skip_counter(name)?;
            self.check_statement_log(name, &value)?;
            self.check_event_scheduler(name, Some(&value))?;
            self.check_partial_revokes(name, Some(&value))?;
        }
        if persists {
            return self.persist(scope, name, Some(&value));
        }
        if !is_global {
            match name {
                "timestamp" => {
                    let seconds = seconds_of(name, &value)?;
                    let micros = ((seconds - seconds.floor()) * 1e6).round().min(999_999.0) as u32;
                    self.state.timestamp.set((seconds > 0.0).then_some((seconds as i64, micros)));
                    return Ok(());
                }
                "last_insert_id" | "identity" => {
                    self.state.last_insert_id.set(whole_number(name, &value)?);
                    return Ok(());
                }
                "insert_id" => {
                    self.state.insert_id.set(whole_number(name, &value)?);
                    return Ok(());
                }
                // Set and never read, as in MySQL: SELECT @@rand_seed1 is 0.
                "rand_seed1" | "rand_seed2" => {
                    let seed = whole_number(name, &value)?;
                    let mut generator = self.state.random.take().unwrap_or_else(Generator::unseeded);
                    match name {
                        "rand_seed1" => generator.set_first(seed),
                        _ => generator.set_second(seed),
                    }
                    self.state.random.set(Some(generator));
                    return Ok(());
                }
                "pseudo_thread_id" => return whole_number(name, &value).map(|_| ()),
                "binlog_transaction_compression" | "binlog_transaction_compression_level_zstd"
                    if !self.instance.variables.log().sessions_choose_compression() =>
                {
                    let text = format!(
                        "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL: \
                         binlog_transaction_compression_session_control is OFF"
                    );
                    return Err(Error::new(1229, b"HY000", text));
                }
                _ => {}
            }
        }
        let notices = match is_global {
            true => self.instance.variables.set(name, &value)?,
            false => self.variables.change(|own| {
                let notices = own.set(name, &value)?;
                // A limit of joins switches off what would lift it.
                if matches!(name, "max_join_size" | "sql_max_join_size") {
                    let is_unlimited = own.settings.max_join_size == u64::MAX;
                    own.set("sql_big_selects", &Value::Int(i64::from(is_unlimited)))?;
                }
                Ok(notices)
            })?,
        };
        self.notice(notices);
        self.after_set(name, is_global)
    }

    /// SET PERSIST, SET PERSIST_ONLY: for the next start, and with PERSIST for the running server, too. `None` is the
    /// default.
    fn persist(&self, scope: Option<VariableScope>, name: &str, value: Option<&Value>) -> Result<()> {
        let globals = &self.instance.variables;
        let (own_name, text, mut notices) = globals.to_persist(name, value)?;
        if scope == Some(VariableScope::Persist) {
            notices = match value {
                Some(value) => globals.set(name, value)?,
                None => globals.set_default(name)?,
            };
        }
        let written = self.instance.persisted.set(own_name, &text, &self.state.user);
        written.map_err(|cause| cannot_persist(&cause))?;
        self.notice(notices);
        if scope == Some(VariableScope::PersistOnly) {
            return Ok(());
        }
        self.after_set(name, true)
    }

    /// RESET PERSIST, of one variable or of all.
    pub(super) fn reset_persist(&mut self, name: Option<&str>, if_exists: bool) -> Result<()> {
        let persisted = &self.instance.persisted;
        let Some(name) = name else { return persisted.clear().map_err(|cause| cannot_persist(&cause)) };
        let own_name = crate::variables::find(name).map_or(name, |variable| variable.name);
        if persisted.remove(own_name).map_err(|cause| cannot_persist(&cause))? {
            return Ok(());
        }
        let error = Error::new(3615, b"HY000", format!("Variable {name} does not exist in persisted config file"));
        match if_exists {
            true => self.warnings.push(crate::error::Warning {
                level: crate::error::Level::Warning,
                code: error.code,
                message: error.message,
            }),
            false => return Err(error),
        }
        Ok(())
    }

    /// The applier reads the counter when it starts, and a name that is passed over would be missing for ever.
    fn check_skip_counter(&self, name: &str) -> Result<()> {
        if !matches!(name, "sql_replica_skip_counter" | "sql_slave_skip_counter") {
            return Ok(());
        }
        if self.instance.variables.text("gtid_mode") == "ON" {
            let text = format!(
                "{name} can not be set when the server is running with @@GLOBAL.GTID_MODE = ON. Instead, for each \
                 transaction that you want to skip, generate an empty transaction with the same GTID as the transaction"
            );
            return Err(Error::new(1858, b"HY000", text));
        }
        let channels = self.instance.replication().and_then(|replica| replica.status(None).ok()).unwrap_or_default();
        if channels.iter().any(|channel| channel.is_applying) {
            let text = "This operation cannot be performed with a running replica sql thread; run STOP REPLICA SQL_THREAD first";
            return Err(Error::new(3017, b"HY000", text));
        }
        Ok(())
    }

    /// While the variable is OFF, nobody could see that an account's privileges do not count everywhere.
    fn check_partial_revokes(&self, name: &str, value: Option<&Value>) -> Result<()> {
        let is_off = || match value {
            Some(Value::Bytes(text)) => text.eq_ignore_ascii_case(b"off"),
            Some(value) => matches!(value, Value::Int(0) | Value::UInt(0)),
            None => true,
        };
        if name == "partial_revokes" && is_off() && self.instance.accounts.have_restrictions() {
            let text = "At least one partial revoke exists on a database. The system variable '@@partial_revokes' must \
                        be set to ON.";
            return Err(Error::new(3896, b"HY000", text));
        }
        Ok(())
    }

    /// A server that was started without events has none.
    fn check_event_scheduler(&self, name: &str, value: Option<&Value>) -> Result<()> {
        if name != "event_scheduler" {
            return Ok(());
        }
        if self.instance.variables.text(name) == "DISABLED" {
            return Err(Error::events_are_disabled());
        }
        match value {
            Some(Value::Bytes(text)) if text.eq_ignore_ascii_case(b"disabled") => {
                Err(Error::wrong_value_for_variable(name, "DISABLED"))
            }
            Some(Value::Int(2) | Value::UInt(2)) => Err(Error::wrong_value_for_variable(name, "2")),
            _ => Ok(()),
        }
    }

    fn after_set(&self, name: &str, is_global: bool) -> Result<()> {
        if is_global && let Some(variable) = crate::variables::find(name) {
            let origin = Origin::set_by(&self.state.user, &self.state.host);
            self.instance.variables.origins.note(variable.name, origin);
        }
        if !is_global {
            self.variable_changed(name);
        }
        if is_global && matches!(name, "mandatory_roles" | "partial_revokes") {
            self.instance.accounts.count_change();
        }
        if is_global && name == "offline_mode" && self.instance.variables.on(name) {
            self.send_clients_away();
        }
        if matches!(name, "profiling" | "profiling_history_size") {
            self.warnings.push(profiling::deprecated(&format!("@@{name}"), ""));
        }
        if is_global && name == "event_scheduler" {
            self.instance.events.ring();
        }
        Ok(())
    }

    /// `offline_mode` ends the connections of all who are no administrators.
    fn send_clients_away(&self) {
        for process in self.instance.processes.all() {
            let (user, host) = (process.user(), process.host());
            let host = host.rsplit_once(':').map_or(&*host, |(host, _)| host);
            // A client of this machine is one of localhost, however it has come.
            let is_local = matches!(host.trim_matches(['[', ']']), "127.0.0.1" | "::1");
            let hosts: &[&str] = if is_local { &[host, "localhost"] } else { &[host] };
            let account = self.instance.accounts.find(&user, hosts);
            let is_client = account.is_some_and(|account| !account.may_administrate());
            if process.id != self.process.id && is_client {
                process.kill(storage::Kill::Connection);
            }
        }
    }

    pub(super) fn notice(&self, notices: Vec<Notice>) {
        for notice in notices {
            self.warnings.push(crate::error::Warning {
                level: crate::error::Level::Warning,
                code: notice.code,
                message: notice.message,
            });
        }
    }

    /// Runs a statement behind SET STATEMENT, or one with SET_VAR hints: the variables have their values again when it has
    /// ended, however it ends. What a hint cannot set is warned of.
    pub(super) fn with_variables(
        &mut self,
        variables: &[(String, ast::Expr)],
        by_hint: bool,
        run: impl FnOnce(&mut Session) -> Result<()>,
    ) -> Result<()> {
        // What is the connection's, the transaction's or the log's is not that of a single statement.
        const REFUSED: &[&str] = &[
            "autocommit",
            "character_set_client",
            "character_set_connection",
            "character_set_filesystem",
            "collation_connection",
            "gtid_next",
            "identity",
            "insert_id",
            "interactive_timeout",
            "last_insert_id",
            "pseudo_thread_id",
            "skip_replication",
            "sql_log_bin",
            "sql_log_off",
            "transaction_isolation",
            "transaction_read_only",
            "tx_isolation",
            "tx_read_only",
            "wait_timeout",
        ];
        let mut before = Vec::new();
        let timestamp = self.state.timestamp.get();
        let mut refusal = None;
        for (name, value) in variables {
            let name = name.to_ascii_lowercase();
            let set = match REFUSED.contains(&name.as_str()) {
                true if by_hint => Err(Error::not_set_by_hint(&name)),
                true => {
                    let text = format!("The system variable {name} cannot be set in SET STATEMENT.");
                    Err(Error::new(1971, b"HY000", text))
                }
                false => self.variables.select(&self.instance.variables, &name, true).and_then(|old| {
                    let scope = Some(VariableScope::Session);
                    self.set(&[SetItem::System { scope, name: name.clone(), value: value.clone() }])?;
                    before.push((name.clone(), old));
                    Ok(())
                }),
            };
            match set {
                Ok(()) => {}
                Err(error) if by_hint => {
                    let unknown = error.code == 1193;
                    let error = if unknown { Error::unresolved_hint(&format!("'{name}'"), "SET_VAR") } else { error };
                    self.hint_warnings.push(error);
                }
                Err(error) => {
                    refusal = Some(error);
                    break;
                }
            }
        }
        let result = match refusal {
            Some(error) => Err(error),
            None => run(self),
        };
        self.hint_warnings.clear();
        for (name, old) in before.into_iter().rev() {
            match name.as_str() {
                "timestamp" => self.state.timestamp.set(timestamp),
                name => self.variables.fill_in(name, old),
            }
        }
        self.forget_plans();
        result
    }

    fn set_text(&self, name: &str, value: &str) -> Result<()> {
        self.variables.change(|own| own.set(name, &Value::Bytes(value.as_bytes().to_vec())))?;
        self.variable_changed(name);
        Ok(())
    }

    fn charset(&self, name: Option<&str>) -> Result<Charset> {
        match name {
            Some(name) => Charset::by_name(name).ok_or_else(|| Error::unknown_charset(name)),
            None => Ok(Charset::Utf8mb4),
        }
    }

    fn set_names(&self, name: Option<&str>, wanted: Option<&str>) -> Result<()> {
        let charset = self.charset(name)?;
        for error in Error::old_unicode(name, wanted) {
            self.warnings.push(error.into_warning());
        }
        let wanted = match wanted {
            None => collation(charset.collation_given(self.variables.settings.utf8mb4_collation)),
            Some(wanted) => {
                let found = crate::column_types::named_in(wanted, charset)?;
                if found.charset != charset {
                    return Err(Error::collation_charset_mismatch(found.name, charset.name()));
                }
                found
            }
        };
        self.set_text("character_set_client", charset.name())?;
        self.set_text("character_set_results", charset.name())?;
        self.variables.change(|own| {
            own.set_results_collation(wanted.id);
            Ok(())
        })?;
        self.set_text("character_set_connection", charset.name())?;
        self.set_text("collation_connection", wanted.name)
    }

    /// DO.
    pub(super) fn run_do(&mut self, exprs: &[ast::Expr]) -> Result<()> {
        for expr in exprs {
            match self.evaluate(expr) {
                // Aggregates and window functions need a query around them.
                Err(error) if matches!(error.code, 1111 | 3593) => self.evaluate_query(expr, ast::Wanted::Value)?,
                evaluated => evaluated?,
            };
        }
        Ok(())
    }
}

fn cannot_persist(cause: &std::io::Error) -> Error {
    Error::new(3, b"HY000", format!("Error writing file '{}' ({cause})", crate::variables::persisted::FILE))
}

/// Binds an expression without columns; `parameters` are the types of its `?`.
fn bind(context: &crate::expression::EvalContext<'_>, expr: &ast::Expr, parameters: &[TypeInfo]) -> Result<Expr> {
    let mut binder = Binder::new(&NoScope, context.session, context.mode, context.connection, parameters);
    binder.client = context.client;
    binder.utf8mb4 = context.utf8mb4;
    binder.div_precision_increment = context.div_precision_increment;
    binder.bind(expr)
}

/// A value that has to be an integer; one below zero is zero.
fn whole_number(name: &str, value: &Value) -> Result<u64> {
    match value {
        Value::Int(number) => Ok((*number).max(0) as u64),
        Value::UInt(number) => Ok(*number),
        _ => Err(Error::wrong_type_for_variable(name)),
    }
}

fn is_of_transactions(name: &str) -> bool {
    matches!(name, "transaction_isolation" | "tx_isolation" | "transaction_read_only" | "tx_read_only")
}

/// What a stored function or a trigger cannot set: its statement has begun.
fn refuse_inside(scope: Option<VariableScope>, name: &str) -> Result<()> {
    let refuse = |code: u16, text: &str| Err(Error::new(code, b"HY000", text));
    match name {
        "autocommit" => Err(Error::autocommit_in_function()),
        "sql_log_bin" if !is_global(scope) => {
            refuse(1695, "Cannot change the sql_log_bin inside a stored function or trigger")
        }
        "binlog_format" if !is_global(scope) => {
            refuse(1560, "Cannot change the binary logging format inside a stored function or trigger")
        }
        "binlog_direct_non_transactional_updates" if !is_global(scope) => {
            refuse(1686, "Cannot change the binlog direct flag inside a stored function or trigger")
        }
        "gtid_next"
        | "gtid_purged"
        | "gtid_slave_pos"
        | "gtid_mode"
        | "enforce_gtid_consistency"
        | "explicit_defaults_for_timestamp" => {
            refuse(1765, &format!("The system variable {name} cannot be set in stored functions or triggers."))
        }
        name if scope.is_none() && is_of_transactions(name) => Err(Error::transaction_in_progress()),
        _ => Ok(()),
    }
}

fn is_global(scope: Option<VariableScope>) -> bool {
    matches!(scope, Some(VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly))
}

/// Whether the running server takes the value.
fn is_checked(scope: Option<VariableScope>) -> bool {
    scope != Some(VariableScope::PersistOnly)
}

/// Who wants the value of a system variable. One that does not exist wants none.
pub(super) fn wanted_for(scope: Option<VariableScope>, name: &str) -> ast::Wanted {
    let variable = crate::variables::find(&name.to_ascii_lowercase()).filter(|_| is_checked(scope));
    variable.map_or(ast::Wanted::Value, |variable| ast::Wanted::Variable {
        name: variable.name,
        is_global: is_global(scope),
    })
}

/// A value as system variables take it.
pub(super) fn as_set(value: Value, ty: &TypeInfo) -> Value {
    Datum::from(value).in_utf8(ty).into_value()
}

/// The seconds that `timestamp` is set to.
fn seconds_of(name: &str, value: &Value) -> Result<f64> {
    let seconds = number(value).filter(|_| !matches!(value, Value::Bytes(_)));
    seconds.ok_or_else(|| Error::wrong_type_for_variable(name))
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::UInt(number) => Some(*number as f64),
        Value::Double(number) => Some(*number),
        Value::Decimal(number) => Some(number.to_f64()),
        Value::Bytes(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// Collects the rows of a nested statement.
pub(super) struct Kept {
    pub rows: Vec<Vec<Value>>,
    pub error: Option<Error>,
}

impl crate::result::ResultSink for Kept {
    fn columns(&mut self, _columns: &[format::packet::ColumnDefinition]) {}

    fn row(&mut self, values: &[Value], _types: &[format::value::ColumnType]) {
        self.rows.push(values.to_vec());
    }

    fn row_stored(&mut self, row: &storage::Row, columns: &[crate::result::StoredColumn], zone: Zone) {
        let value = |column: usize, ty| row.get(column).map_or(Value::Null, |s| decode(ty, s, zone).into_value());
        let values = columns.iter().map(|column| value(column.column, &column.ty));
        self.rows.push(values.collect());
    }

    fn ok(&mut self, _summary: &crate::result::OkSummary<'_>) {}

    fn error(&mut self, error: &Error) {
        self.error = Some(error.clone());
    }
}
