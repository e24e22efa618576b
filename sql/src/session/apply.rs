//! What a replica does with the events of its source.
//!
//! ```text
//!   apply_begin            a transaction of the source begins, with its name there and its place among others
//!     apply_query            a statement, run with what the event says of its session
//!     apply_rows             rows
//!   apply_commit           how far the replica has come is written by the same transaction
//!
//!   apply_query            a statement of definition is a transaction by itself: the dictionary takes the note along
//!
//!   apply_begin
//!     apply_query            a table is created within a transaction: its rows follow
//!     apply_rows
//!   apply_table            the dictionary takes the note along
//!
//!   apply_branch           a branch of a distributed transaction begins
//!     apply_rows
//!   apply_branch_commit    in one phase: like any transaction
//!   apply_branch_prepare   or it is prepared, and ended by ..
//!   apply_branch_end       .. another transaction of the source
//! ```
//!
//! So after a crash a transaction has been applied, and the replica knows it; or neither. A prepared branch and its end
//! cannot commit together with a row: the caller stores beforehand what it is about to do, and looks after a crash
//! whether the branch is prepared.
//!
//! Such a session changes what `read_only` protects from others, and its own log names the source's transactions as the
//! source did.

use std::cell::RefCell;
use std::sync::Arc;

use binlog::{Name, Origin};
use format::binlog::control::{UserValue, UserVar, UserVarType};
use format::binlog::rows::row_flags;
use format::binlog::{IntVar, Query, Rows, StatusVars, TableMap};
use format::collation::{Collation, CollationId};
use format::value::{Decimal, Value};
use format::xid::Xid;
use storage::{CommitPlace, TableUse, Trx};

use super::Session;
use super::set::Kept;
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::executor::apply::RowApplier;
use crate::expression::EvalContext;
use crate::parser;
use crate::parser::ast::{StartMode, Statement, Xa};
use crate::partitions::rows::Division;
use crate::planner::row_rules::RowRules;
use crate::row_log::DefinitionLog;
use crate::types::{Coercibility, SqlMode, TypeInfo};

/// The modes of MariaDB that mean the same in MySQL; its other bits are other modes.
pub const MARIADB_MODES: u64 = (1 << 32) - 1;

/// Bits of a Query event's flags2.
const NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;
const RELAXED_UNIQUE_CHECKS: u32 = 1 << 27;

/// What a source logs about branches of distributed transactions as statements; `None` = something else.
pub fn branch_statement(text: &[u8]) -> Option<Xa> {
    let is_about_branch = text.get(..3).is_some_and(|verb| verb.eq_ignore_ascii_case(b"XA "));
    if !is_about_branch {
        return None;
    }
    match parser::parse_first(text, SqlMode::default()).ok()?.0?.statement {
        Statement::Xa(statement) => Some(statement),
        _ => None,
    }
}

/// What a session that applies events knows of them.
#[derive(Default)]
pub(super) struct Applying {
    pub origin: Option<Origin>,
    /// How far the replica has come after the statement of definition that is running.
    pub note: Option<(u32, Vec<u8>)>,
    /// What the last statement was run with.
    vars: Option<StatusVars>,
    /// The place of the transaction that begins in the source's order of commits.
    place: Option<Arc<dyn CommitPlace>>,
}

impl Session {
    /// From now on the session applies what a source has committed.
    pub fn be_applier(&mut self) {
        self.applying = Some(Box::default());
    }

    /// Runs a statement of the server's own, which is not logged. The rows that it answers.
    pub fn run_unlogged(&mut self, text: &str) -> Result<Vec<Vec<Value>>> {
        let logs = std::mem::replace(&mut self.variables.settings.sql_log_bin, false);
        let rows = self.run_applied(text.as_bytes());
        self.variables.settings.sql_log_bin = logs;
        rows
    }

    fn run_applied(&mut self, text: &[u8]) -> Result<Vec<Vec<Value>>> {
        let mut kept = Kept { rows: Vec::new(), error: None };
        self.query(text, &mut kept);
        kept.error.map_or(Ok(kept.rows), Err)
    }

    /// A transaction of the source begins, which commits in its place among others.
    pub fn apply_begin(&mut self, origin: Option<Origin>, place: Option<Arc<dyn CommitPlace>>) -> Result<()> {
        self.place_next(place);
        let begun = self.begin(None, false);
        self.place_next(None);
        begun?;
        self.name_transaction(origin, None);
        Ok(())
    }

    fn place_next(&mut self, place: Option<Arc<dyn CommitPlace>>) {
        if let Some(applying) = &mut self.applying {
            applying.place = place;
        }
    }

    pub(super) fn commit_place(&self) -> Option<Arc<dyn CommitPlace>> {
        self.applying.as_ref().and_then(|applying| applying.place.clone())
    }

    /// Goes on with the transaction after a statement, which may have committed it.
    pub fn apply_on(&mut self) -> Result<()> {
        if self.explicit { Ok(()) } else { self.begin(None, false) }
    }

    fn name_transaction(&mut self, origin: Option<Origin>, note: Option<(u32, Vec<u8>)>) {
        if let Some(applying) = &mut self.applying {
            (applying.origin, applying.note) = (origin, note);
        }
    }

    /// Gives the transaction up, or the branch.
    pub fn apply_rollback(&mut self) {
        self.state.insert_id.set(0);
        // A rollback that fails is continued in the background, and its rows stay locked until then.
        let _ = if self.own_xid().is_some() { self.abandon() } else { self.rollback() };
    }

    /// The transaction ends. `progress`: the statement that says how far the replica has come.
    pub fn apply_commit(&mut self, progress: &str) -> Result<()> {
        self.log_name()?;
        self.run_unlogged(progress)?;
        self.commit()
    }

    /// The transaction ends that has created a table and filled it. `note` and `progress` as in
    /// [`Session::apply_statement`].
    pub fn apply_table(&mut self, note: (u32, Vec<u8>), progress: &str) -> Result<()> {
        let origin = self.origin();
        self.name_transaction(origin, Some(note));
        let committed = self.commit();
        self.name_transaction(origin, None);
        committed.and_then(|()| self.apply_nothing(origin, progress))
    }

    /// A statement is passed over that would have been a transaction. `progress` as in [`Session::apply_commit`].
    pub fn apply_nothing(&mut self, origin: Option<Origin>, progress: &str) -> Result<()> {
        self.apply_begin(origin, None)?;
        let done = self.apply_commit(progress);
        if done.is_err() {
            self.apply_rollback();
        }
        done
    }

    /// A statement inside of a transaction is passed over, and what was set for it is forgotten.
    pub fn apply_no_query(&mut self) {
        self.state.insert_id.set(0);
    }

    /// A branch of the source begins.
    pub fn apply_branch(&mut self, origin: Option<Origin>, xid: &Xid) -> Result<()> {
        self.name_transaction(origin, None);
        self.xa(&Xa::Start { xid: xid.clone(), mode: StartMode::New })
    }

    /// The branch commits in one phase. `progress` as in [`Session::apply_commit`].
    pub fn apply_branch_commit(&mut self, xid: &Xid, progress: &str) -> Result<()> {
        self.log_name()?;
        self.run_unlogged(progress)?;
        self.xa(&Xa::End { xid: xid.clone(), suspend: false })?;
        self.xa(&Xa::Commit { xid: xid.clone(), one_phase: true })
    }

    /// The branch is prepared, and no session's any more.
    pub fn apply_branch_prepare(&mut self, xid: &Xid) -> Result<()> {
        self.variables.settings.xa_detach_on_prepare = true;
        self.xa(&Xa::End { xid: xid.clone(), suspend: false })?;
        self.xa(&Xa::Prepare(xid.clone()))?;
        self.log_missing_name()
    }

    /// A branch of which nothing is logged is no branch for this server's replicas: they get empty transactions with the
    /// names of its prepare and of its end.
    fn log_missing_name(&mut self) -> Result<()> {
        match self.unlogged_name() {
            Some(log) => DefinitionLog::log_empty(log, &self.statement_facts(), Name::Automatic).or_sql(),
            None => Ok(()),
        }
    }

    /// A prepared branch is committed or rolled back.
    pub fn apply_branch_end(&mut self, origin: Option<Origin>, xid: &Xid, commits: bool, timestamp: u32) -> Result<()> {
        self.name_transaction(origin, None);
        self.state.timestamp.set(Some((i64::from(timestamp), 0)));
        let ended = self.xa(&match commits {
            true => Xa::Commit { xid: xid.clone(), one_phase: false },
            false => Xa::Rollback(xid.clone()),
        });
        self.state.timestamp.set(None);
        ended.and_then(|()| self.log_missing_name())
    }

    /// A statement that is a transaction by itself, unless it changes rows alone. `note`: how far the replica has come
    /// with it, and the slot for that; `progress`: the statement that says the same.
    pub fn apply_statement(
        &mut self,
        query: &Query<'_>,
        timestamp: u32,
        origin: Option<Origin>,
        note: (u32, Vec<u8>),
        progress: &str,
    ) -> Result<()> {
        self.name_transaction(origin, Some(note));
        let applied = self.apply_query(query, timestamp);
        self.name_transaction(origin, None);
        applied?;
        // This server's log may leave out what is no definition, too: an account, OPTIMIZE.
        self.apply_nothing(origin, progress)
    }

    /// A statement, run as the source ran it.
    pub fn apply_query(&mut self, query: &Query<'_>, timestamp: u32) -> Result<()> {
        self.be_like(&query.vars)?;
        let database = String::from_utf8_lossy(query.database);
        if self.state.database.as_deref().unwrap_or("") != database {
            // It may be about to be created, or no longer needed.
            if database.is_empty() || self.init_db(&database).is_err() {
                self.state.database = (!database.is_empty()).then(|| database.into_owned());
                self.forget_plans();
            }
        }
        self.state.timestamp.set(Some((i64::from(timestamp), query.vars.microseconds.unwrap_or(0))));
        let applied = self.run_applied(query.statement);
        self.state.timestamp.set(None);
        self.state.insert_id.set(0);
        match applied {
            // It failed in the same way there, after it had changed something.
            Err(error) if query.error != 0 && error.code == query.error => Ok(()),
            other => other.map(drop),
        }
    }

    /// What the event says of the session that ran it.
    fn be_like(&mut self, vars: &StatusVars) -> Result<()> {
        let wanted = StatusVars { microseconds: None, ddl_xid: None, updated_databases: None, ..vars.clone() };
        if self.applying.as_ref().is_some_and(|applying| applying.vars.as_ref() == Some(&wanted)) {
            return Ok(());
        }
        let settings = &mut self.variables.settings;
        if let Some(mode) = vars.sql_mode {
            settings.sql_mode = SqlMode(mode);
        }
        if let Some(flags) = vars.flags2 {
            settings.foreign_key_checks = flags & NO_FOREIGN_KEY_CHECKS == 0;
            settings.unique_checks = flags & RELAXED_UNIQUE_CHECKS == 0;
        }
        (settings.auto_increment_increment, settings.auto_increment_offset) =
            vars.auto_increment.map_or((1, 1), |(step, offset)| (u64::from(step), u64::from(offset)));
        if let Some(ids) = vars.charset {
            for id in ids {
                let text = format!("Character set '#{id}' is not a compiled character set");
                Collation::by_id(CollationId(id)).ok_or_else(|| Error::new(22, b"HY000", text))?;
            }
            let [client, connection, server] = ids.map(CollationId);
            settings.character_set_client = client;
            settings.collation_connection = connection;
            settings.collation_server = server;
        }
        // Only MySQL 8 says it, of which utf8mb4 alone is another collation than elsewhere.
        settings.utf8mb4_collation = match vars.utf8mb4_collation {
            Some(id) if id == CollationId::UTF8MB4_0900_AI_CI.0 => CollationId::UTF8MB4_0900_AI_CI,
            _ => CollationId::DEFAULT,
        };
        if let Some(zone) = &vars.time_zone {
            self.variables.set("time_zone", &Value::Bytes(zone.as_bytes().to_vec()))?;
        }
        self.forget_plans();
        if let Some(applying) = &mut self.applying {
            applying.vars = Some(wanted);
        }
        Ok(())
    }

    /// What the next statement's AUTO_INCREMENT and LAST_INSERT_ID() begin with.
    pub fn apply_int_var(&mut self, var: IntVar) {
        match var {
            IntVar::InsertId(id) => self.state.insert_id.set(id),
            IntVar::LastInsertId(id) => self.state.last_insert_id.set(id),
        }
    }

    /// A user variable that the next statement reads.
    pub fn apply_user_var(&mut self, var: &UserVar<'_>) -> Result<()> {
        let name = String::from_utf8_lossy(var.name).to_lowercase();
        let (value, ty) = match &var.value {
            None => (Value::Null, TypeInfo::NULL),
            Some(value) => user_value(value)?,
        };
        self.state.assign(name, value, ty);
        Ok(())
    }

    /// Rows of a table. `is_idempotent`: see [`RowApplier`].
    pub fn apply_rows(&mut self, map: &TableMap, rows: &Rows<'_>, timestamp: u32, is_idempotent: bool) -> Result<()> {
        let settings = &mut self.variables.settings;
        settings.foreign_key_checks = rows.flags & row_flags::NO_FOREIGN_KEY_CHECKS == 0;
        settings.unique_checks = rows.flags & row_flags::RELAXED_UNIQUE_CHECKS == 0;
        if let Some(applying) = &mut self.applying {
            applying.vars = None;
        }
        self.state.timestamp.set(Some((i64::from(timestamp), 0)));
        let result = self.change_rows(&[(map, rows)], None, timestamp, is_idempotent);
        self.state.timestamp.set(None);
        result
    }

    /// Rows events as one statement: all of them are applied, or none. `text`: the statement of the source, to be logged
    /// beside the rows.
    pub(super) fn change_rows(
        &mut self,
        events: &[(&TableMap, &Rows<'_>)],
        text: Option<&[u8]>,
        timestamp: u32,
        is_idempotent: bool,
    ) -> Result<()> {
        let entered = self.enter_change()?;
        self.source.clear();
        self.source.extend_from_slice(text.unwrap_or_default());
        self.begin_row_log();
        let result = self.limited_in_time(0, |session| {
            session.in_statement(|session, trx| {
                events
                    .iter()
                    .try_for_each(|(map, rows)| session.apply_rows_in(trx, map, rows, timestamp, is_idempotent))
            })
        });
        self.leave_change(entered);
        result
    }

    fn apply_rows_in(
        &self,
        trx: &RefCell<Trx>,
        map: &TableMap,
        rows: &Rows<'_>,
        timestamp: u32,
        is_idempotent: bool,
    ) -> Result<()> {
        let (database, name) = (String::from_utf8_lossy(&map.database), String::from_utf8_lossy(&map.table));
        let table = trx.borrow_mut().open_table_to(TableUse::Write, &database, &name).or_sql()?;
        let view = self.view();
        let context = EvalContext { strict_change: true, ..self.eval_context(&view, &[]) };
        let rules = RowRules::of(&context, &table)?;
        let applier = RowApplier {
            engine: &self.instance.engine,
            trx,
            table: &table,
            log: self.row_log.as_ref().filter(|_| self.own_log().is_some()),
            is_idempotent,
            now_micros: i64::from(timestamp) * 1_000_000,
            rules: &rules,
            context: &context,
            division: Division::of(&context, &table, &[])?,
            interrupt: &self.process.interrupt,
        };
        applier.apply(map, rows)
    }
}

fn user_value(value: &UserValue<'_>) -> Result<(Value, TypeInfo)> {
    let malformed = || Error::new(1610, b"HY000", "Corrupted replication event was detected: a user variable");
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).map_err(|_| malformed());
    Ok(match value.ty {
        UserVarType::String => {
            let collation = u16::try_from(value.collation).ok().map(CollationId);
            let collation = collation.filter(|id| Collation::by_id(*id).is_some()).unwrap_or(CollationId::DEFAULT);
            let ty = TypeInfo::string(value.bytes.len() as u32, collation, Coercibility::Implicit);
            (Value::Bytes(value.bytes.to_vec()), ty)
        }
        UserVarType::Real => (Value::Double(f64::from_bits(number(value.bytes)?)), TypeInfo::double()),
        UserVarType::Int if value.unsigned => (Value::UInt(number(value.bytes)?), TypeInfo::bigint_unsigned(20)),
        UserVarType::Int => (Value::Int(number(value.bytes)? as i64), TypeInfo::bigint(20)),
        UserVarType::Decimal => {
            let (&[precision, scale], stored) = value.bytes.split_first_chunk::<2>().ok_or_else(malformed)?;
            if precision > 65 || scale > precision || stored.len() != Decimal::stored_bytes(precision, scale) {
                return Err(malformed());
            }
            let number = Decimal::decode(stored, precision, scale);
            (Value::Decimal(number), TypeInfo::decimal(precision, scale, false))
        }
    })
}
