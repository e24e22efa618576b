//! XA: a session's part in distributed transactions.
//!
//! ```text
//!                          XA END               XA PREPARE
//!   XA START ---> ACTIVE ----------> IDLE ------------------> detached: no session owns it, in XA RECOVER
//!                  |  ^               |  |                       | XA COMMIT, XA ROLLBACK: from any session
//!                  |  +- XA START ----+  +- XA COMMIT ONE PHASE  v
//!                  |     .. RESUME    |     XA ROLLBACK         the end
//!                  v                  v
//!        ROLLBACK ONLY  after a deadlock: XA ROLLBACK, or XA COMMIT ONE PHASE, which tells why
//! ```
//!
//! A prepared branch leaves the session at once, as in MySQL since 8.0.29, and the session may begin something else.
//! With `xa_detach_on_prepare=OFF`, and in MariaDB, the session keeps the branch (PREPARED) until it ends the branch or
//! closes.
//!
//! While a session has a branch, statements that begin or end a transaction otherwise are error 1399: BEGIN, COMMIT,
//! DDL, LOCK TABLES, autocommit switched on; if the branch is not ACTIVE, so are statements that use tables. An open
//! transaction, in turn, keeps a branch from beginning (1400).
//!
//! In the binary log a prepared branch is a transaction, and so is the statement that ends it.
//!
//! Not here: what prepared means on disk, see `storage::engine::xa`.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, Value};
use format::xid::{Xid, hexadecimal};
use storage::{CommitLog, Engine, Table, TableUse, XidClaim};

use super::Session;
use super::transaction::Characteristics;
use crate::catalog::{OrSqlError, storage_error};
use crate::error::{Error, Result};
use crate::parser::ast::{StartMode, Xa, XidShape};
use crate::result::ResultSink;
use crate::status::Counter;

/// The branch that a session has.
pub(super) struct Branch {
    engine: Arc<Engine>,
    xid: Xid,
    /// The name, until the prepared transaction owns it.
    claim: Option<XidClaim>,
    state: State,
}

/// See the module header.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Active,
    Idle,
    Prepared,
    /// Its transaction is gone; this is why.
    RollbackOnly(Error),
    /// Nothing is left to do for it.
    Ended,
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            State::Active => "ACTIVE",
            State::Idle => "IDLE",
            State::Prepared => "PREPARED",
            State::RollbackOnly(_) => "ROLLBACK ONLY",
            State::Ended => NO_BRANCH,
        }
    }
}

/// The state of a session without a branch, in messages.
const NO_BRANCH: &str = "NON-EXISTING";

impl Drop for Branch {
    fn drop(&mut self) {
        if self.state == State::Prepared {
            self.engine.detach_prepared(&self.xid);
        }
    }
}

impl Session {
    /// The name of the session's branch.
    pub(super) fn own_xid(&self) -> Option<&Xid> {
        self.branch.as_ref().map(|branch| &branch.xid)
    }

    /// An error if the session has a branch: statements that begin or end a transaction are refused.
    pub(super) fn check_no_branch(&self) -> Result<()> {
        match &self.branch {
            Some(branch) => Err(Error::xaer_rmfail(branch.state.name())),
            None => Ok(()),
        }
    }

    /// An error if the session has a branch in which no table may be touched.
    pub(super) fn check_branch_active(&self) -> Result<()> {
        match &self.branch {
            Some(branch) if branch.state != State::Active => Err(Error::xaer_rmfail(branch.state.name())),
            _ => Ok(()),
        }
    }

    /// An error if the session has a branch in which a statement may not touch these tables.
    pub(super) fn check_branch(&self, tables: &[(Arc<Table>, TableUse)]) -> Result<()> {
        if self.branch.is_none() || tables.is_empty() {
            return Ok(());
        }
        self.check_branch_active()?;
        // Temporary tables belong to the session, and a prepared branch does not.
        match tables.iter().any(|(table, _)| table.is_temporary()) {
            true if self.variables.settings.xa_detach_on_prepare => Err(Error::xa_temporary_table()),
            true => Err(Error::unsupported("temporary tables in XA transactions while xa_detach_on_prepare is OFF")),
            false => Ok(()),
        }
    }

    /// The branch's transaction has been rolled back by a failed statement.
    pub(super) fn branch_lost(&mut self, error: &Error) {
        if let Some(branch) = &mut self.branch {
            branch.state = State::RollbackOnly(match error.code {
                1213 => Error::xa_rbdeadlock(),
                1205 => Error::xa_rbtimeout(),
                _ => Error::xa_rbrollback(),
            });
            self.explicit = true;
        }
    }

    /// XA START to XA ROLLBACK. What ends a branch, or promises to, waits while a global read lock stops commits.
    pub(super) fn xa(&mut self, statement: &Xa) -> Result<()> {
        let (counter, ends) = match statement {
            Xa::Start { .. } => (Counter::ComXaStart, false),
            Xa::End { .. } => (Counter::ComXaEnd, false),
            Xa::Prepare(_) => (Counter::ComXaPrepare, true),
            Xa::Commit { .. } => (Counter::ComXaCommit, true),
            Xa::Rollback(_) => (Counter::ComXaRollback, true),
            Xa::Recover(_) => return Err(Error::internal("XA RECOVER answers rows")),
        };
        self.status.add(counter, 1);
        if self.passes_over()? {
            return if ends { self.end_named(false) } else { Ok(()) };
        }
        let entered = ends && self.enter_commit()?;
        let done = match statement {
            Xa::Start { xid, mode } => self.xa_start(xid, *mode),
            Xa::End { xid, suspend } => self.xa_end(xid, *suspend),
            Xa::Prepare(xid) => self.xa_prepare(xid),
            Xa::Commit { xid, one_phase } => self.xa_commit(xid, *one_phase),
            Xa::Rollback(xid) => self.xa_rollback(xid),
            Xa::Recover(_) => Ok(()),
        };
        self.leave_commit(entered);
        match (ends, done) {
            (true, Ok(())) => self.end_named(!matches!(statement, Xa::Rollback(_))),
            (_, done) => done,
        }
    }

    fn xa_start(&mut self, xid: &Xid, mode: StartMode) -> Result<()> {
        if let Some(branch) = &mut self.branch
            && branch.state == State::Idle
            && mode == StartMode::Resume
        {
            if branch.xid != *xid {
                return Err(Error::xaer_nota());
            }
            branch.state = State::Active;
            return Ok(());
        }
        if mode != StartMode::New {
            return Err(Error::xaer_inval());
        }
        self.check_no_branch()?;
        // A savepoint alone has begun nothing that could be outside.
        if !self.explicit && self.trx.as_ref().is_some_and(storage::Trx::is_untouched) {
            self.rollback()?;
        }
        if self.has_transaction() || self.locked.is_some() {
            return Err(Error::xaer_outside());
        }
        // It is what MySQL keeps for "no branch".
        if xid.gtrid().is_empty() {
            return Err(Error::xaer_inval());
        }
        let engine = self.instance.engine.clone();
        let claim = engine.claim_xid(xid.clone()).ok_or_else(Error::xaer_dupid)?;
        self.transaction_begins(|| format!("XA START {};", xid.to_sql()));
        self.trx = Some(claim.begin(self.trx_options()));
        self.next_transaction = Characteristics::default();
        self.explicit = true;
        self.branch = Some(Branch { engine, xid: xid.clone(), claim: Some(claim), state: State::Active });
        Ok(())
    }

    fn xa_end(&mut self, xid: &Xid, suspend: bool) -> Result<()> {
        if suspend {
            return Err(Error::xaer_inval());
        }
        self.own_branch(xid, State::Active)?.state = State::Idle;
        Ok(())
    }

    fn xa_prepare(&mut self, xid: &Xid) -> Result<()> {
        let detach = self.variables.settings.xa_detach_on_prepare;
        let branch = self.own_branch(xid, State::Idle)?;
        let Some(claim) = branch.claim.take() else { return Err(Error::xaer_rmfail(NO_BRANCH)) };
        branch.state = if detach { State::Ended } else { State::Prepared };
        let Some(trx) = self.trx.take() else { return Err(Error::internal("a branch without a transaction")) };
        let prepared = self.prepare_logged(trx, claim, !detach);
        if detach || prepared.is_err() {
            self.forget_branch();
        }
        prepared.or_sql()
    }

    /// The session's branch, if it has this name and is in this state.
    fn own_branch(&mut self, xid: &Xid, state: State) -> Result<&mut Branch> {
        match &mut self.branch {
            None => Err(Error::xaer_rmfail(NO_BRANCH)),
            Some(branch) if branch.state != state => Err(Error::xaer_rmfail(branch.state.name())),
            Some(branch) if branch.xid != *xid => Err(Error::xaer_nota()),
            Some(branch) => Ok(branch),
        }
    }

    fn xa_commit(&mut self, xid: &Xid, one_phase: bool) -> Result<()> {
        let Some(state) = self.state_of_own(xid) else {
            if self.branch.is_some() || self.has_transaction() {
                return Err(Error::xaer_outside());
            }
            if one_phase {
                return Err(Error::xaer_inval());
            }
            return self.end_prepared(xid, false, true);
        };
        match (state, one_phase) {
            (State::RollbackOnly(why), _) => {
                self.abandon()?;
                Err(why)
            }
            (State::Idle, true) => {
                let trx = self.trx.take();
                self.forget_branch();
                self.status.add(Counter::HandlerCommit, 1);
                trx.map_or(Ok(()), |trx| self.commit_logged(trx).or_sql())
            }
            (State::Prepared, false) => self.end_prepared(xid, true, true),
            (State::Prepared, true) => Err(Error::xaer_inval()),
            (state, _) => Err(Error::xaer_rmfail(state.name())),
        }
    }

    fn xa_rollback(&mut self, xid: &Xid) -> Result<()> {
        match self.state_of_own(xid) {
            None if self.branch.is_some() || self.has_transaction() => Err(Error::xaer_outside()),
            None => self.end_prepared(xid, false, false),
            Some(State::Prepared) => self.end_prepared(xid, true, false),
            Some(State::Idle | State::RollbackOnly(_)) => self.abandon(),
            Some(state) => Err(Error::xaer_rmfail(state.name())),
        }
    }

    fn state_of_own(&self, xid: &Xid) -> Option<State> {
        self.branch.as_ref().filter(|branch| branch.xid == *xid).map(|branch| branch.state.clone())
    }

    /// Ends a prepared branch, of this session (`own`) or of any.
    fn end_prepared(&mut self, xid: &Xid, own: bool, commits: bool) -> Result<()> {
        let engine = self.instance.engine.clone();
        let verb = if commits { "COMMIT" } else { "ROLLBACK" };
        let log = self.branch_end_log(&format!("XA {verb} {}", xid.to_hexadecimal()));
        let log = log.as_ref().map(|log| log as &dyn CommitLog);
        let ended = match commits {
            true => engine.commit_prepared_with(xid, own, log),
            false => engine.rollback_prepared_with(xid, own, log),
        };
        match ended {
            Ok(true) => {
                if let Some(branch) = &mut self.branch {
                    branch.state = State::Ended;
                    self.forget_branch();
                }
                self.status.add(if commits { Counter::HandlerCommit } else { Counter::HandlerRollback }, 1);
                self.write_log()
            }
            Ok(false) => Err(Error::xaer_nota()),
            // It is still prepared; the next attempt may succeed.
            Err(error) => {
                let why = storage_error(error);
                self.warnings.note(why.code, why.message);
                Err(Error::xaer_rmerr())
            }
        }
    }

    /// Rolls back the open transaction or branch: the session ends or is reset.
    pub(super) fn abandon(&mut self) -> Result<()> {
        self.reset_row_log();
        let trx = self.trx.take();
        self.forget_branch();
        self.next_transaction = Characteristics::default();
        self.status.add(Counter::HandlerRollback, u64::from(trx.is_some()));
        trx.map_or(Ok(()), |trx| trx.rollback().or_sql())
    }

    /// The branch's transaction, if there is one, is no longer the session's.
    fn forget_branch(&mut self) {
        self.end_transaction();
        self.branch = None;
    }

    /// XA RECOVER.
    pub(super) fn xa_recover(&mut self, shape: &XidShape, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.status.add(Counter::ComXaRecover, 1);
        let shown: fn(&Xid) -> Vec<u8> = match shape {
            XidShape::Raw => Xid::data,
            XidShape::Hexadecimal => |xid| format!("0x{}", hexadecimal(&xid.data()).to_uppercase()).into_bytes(),
            XidShape::Sql => |xid| xid.to_sql().into_bytes(),
            XidShape::Unknown(name) => {
                return Err(Error::new(1791, b"HY000", format!("Unknown XA RECOVER format name: '{name}'")));
            }
        };
        let number = || ColumnType::Int { bytes: 4, unsigned: false };
        let data = match shape {
            XidShape::Raw => ColumnType::VarBinary { bytes: 128 },
            _ => ColumnType::VarChar { chars: 300, collation: CollationId::UTF8MB4_GENERAL_CI },
        };
        let columns = [("formatID", number()), ("gtrid_length", number()), ("bqual_length", number()), ("data", data)]
            .map(|(name, ty)| (name.to_owned(), ty));
        let length = |part: &[u8]| Value::Int(part.len() as i64);
        let rows: Vec<Vec<Value>> = self
            .instance
            .engine
            .prepared()
            .iter()
            .map(|xid| {
                let format = Value::Int(i64::from(xid.format()));
                vec![format, length(xid.gtrid()), length(xid.bqual()), Value::Bytes(shown(xid))]
            })
            .collect();
        self.send(&columns, &rows, self.warning_count(), more, sink);
        Ok(())
    }
}
