//! Transactions as statements see them.

use std::cell::RefCell;
use std::time::Duration;

use format::value::Value;
use storage::{Isolation, Trx, TrxOptions};

use super::{NamedSavepoint, Session};
use crate::catalog::{OrSqlError, storage_error};
use crate::error::{Error, Result};
use crate::parser::ast;
use crate::status::Counter;
use crate::variables::Completion;

/// What SET TRANSACTION said for the next transaction alone.
#[derive(Debug, Default, Clone, Copy)]
pub struct Characteristics {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
}

/// What follows the end of a transaction.
pub(super) enum Next {
    Nothing,
    Chain(Isolation, bool),
    Release,
}

/// The statement that begins such a transaction: `next` is what SET TRANSACTION said of it.
fn begin_words(next: Option<bool>, read_only: Option<bool>, consistent_snapshot: bool) -> String {
    let mut words = String::from("START TRANSACTION");
    let access = read_only.or(next).map(|only| if only { " READ ONLY" } else { " READ WRITE" });
    if consistent_snapshot {
        words += " WITH CONSISTENT SNAPSHOT";
    }
    if let Some(access) = access {
        words += if consistent_snapshot { "," } else { "" };
        words += access;
    }
    words + ";"
}

/// The engine's word for a level.
pub fn isolation_of(isolation: ast::Isolation) -> Isolation {
    match isolation {
        ast::Isolation::ReadUncommitted => Isolation::ReadUncommitted,
        ast::Isolation::ReadCommitted => Isolation::ReadCommitted,
        ast::Isolation::RepeatableRead => Isolation::RepeatableRead,
        ast::Isolation::Serializable => Isolation::Serializable,
    }
}

impl Session {
    /// The options of the session's next transaction.
    pub(super) fn trx_options(&self) -> TrxOptions {
        let settings = &self.variables.settings;
        TrxOptions {
            isolation: self.next_transaction.isolation.unwrap_or(settings.isolation),
            read_only: self.next_transaction.read_only.unwrap_or(settings.transaction_read_only),
            interrupt: self.process.interrupt.clone(),
            lock_wait_timeout: Duration::from_secs(settings.row_lock_wait_seconds),
            metadata_wait_timeout: Duration::from_secs(settings.metadata_lock_wait_seconds),
            holds_backup_lock: self.backup_hold.is_some(),
            snapshot_isolation: settings.snapshot_isolation,
            session: u64::from(self.process.id),
            temporary: self.temporary.get().cloned(),
            single_statement: false,
            locked_tables: self.locked.as_ref().map(|locked| locked.grant.clone()),
            foreign_key_checks: settings.foreign_key_checks,
            log: None,
            changes_read_only: self.applying.is_some(),
            place: self.commit_place(),
        }
    }

    /// Whether the next statement belongs to a transaction that outlives it.
    pub(super) fn in_transaction(&self) -> bool {
        self.explicit || !self.variables.settings.autocommit
    }

    /// A transaction for the next statement, or from it on.
    pub(super) fn begin_trx(&self) -> Trx {
        let options = TrxOptions { single_statement: !self.in_transaction(), ..self.trx_options() };
        self.instance.engine.begin(options)
    }

    /// Whether a transaction has begun that the next statement belongs to.
    pub(super) fn has_transaction(&self) -> bool {
        self.explicit || self.trx.is_some()
    }

    /// BEGIN.
    pub(super) fn begin(&mut self, read_only: Option<bool>, consistent_snapshot: bool) -> Result<()> {
        self.check_implicit_commit()?;
        self.commit()?;
        self.release_tables();
        let mut options = self.trx_options();
        self.transaction_begins(|| begin_words(self.next_transaction.read_only, read_only, consistent_snapshot));
        if let Some(read_only) = read_only {
            options.read_only = read_only;
        }
        self.next_transaction = Characteristics::default();
        let mut trx = self.instance.engine.begin(options);
        if consistent_snapshot {
            trx.take_snapshot();
            self.process.begin_transaction(trx.isolation(), trx.is_read_only());
        }
        self.trx = Some(trx);
        self.explicit = true;
        Ok(())
    }

    /// Clears the session's state about its transaction.
    pub(super) fn end_transaction(&mut self) {
        self.explicit = false;
        self.savepoints.clear();
        self.process.end_transaction();
    }

    /// COMMIT, also an implicit one; an error in a branch of a distributed transaction.
    pub(super) fn commit(&mut self) -> Result<()> {
        self.check_no_branch()?;
        let was_open = self.has_transaction();
        // The transaction stays open if this wait is given up.
        let has_changes = self.creating.is_some() || self.trx.as_ref().is_some_and(Trx::has_changes);
        let entered = has_changes && self.enter_commit()?;
        self.end_transaction();
        match self.trx.take() {
            Some(trx) => {
                self.next_transaction = Characteristics::default();
                self.status.add(Counter::HandlerCommit, 1);
                let committed = self.commit_logged(trx).or_sql();
                self.leave_commit(entered);
                let named = self.end_named(committed.is_ok());
                committed.and(named)
            }
            None if was_open => self.end_named(true),
            None => Ok(()),
        }
    }

    pub(super) fn rollback(&mut self) -> Result<()> {
        self.check_no_branch()?;
        self.end_transaction();
        self.reset_row_log();
        self.end_named(false)?;
        match self.trx.take() {
            Some(trx) => {
                self.next_transaction = Characteristics::default();
                self.status.add(Counter::HandlerRollback, 1);
                trx.rollback().or_sql()
            }
            None => Ok(()),
        }
    }

    /// What follows COMMIT or ROLLBACK: as the statement says, or else as `completion_type` does.
    pub(super) fn next_of(&self, chain: Option<bool>, release: Option<bool>) -> Next {
        let usual = self.variables.settings.completion_type;
        let release = release.unwrap_or(usual == Completion::Release && chain != Some(true));
        let chain = chain.unwrap_or(usual == Completion::Chain && !release);
        match (chain, release, &self.trx) {
            (true, _, Some(trx)) => Next::Chain(trx.isolation(), trx.is_read_only()),
            (true, _, None) => {
                let options = self.trx_options();
                Next::Chain(options.isolation, options.read_only)
            }
            (false, true, _) => Next::Release,
            (false, false, _) => Next::Nothing,
        }
    }

    /// The next transaction of AND CHAIN is like the last; RELEASE ends the connection.
    pub(super) fn go_on(&mut self, next: Next) -> Result<()> {
        match next {
            Next::Nothing => Ok(()),
            Next::Release => {
                self.process.leave();
                Ok(())
            }
            Next::Chain(isolation, read_only) => {
                self.next_transaction.isolation = Some(isolation);
                self.begin(Some(read_only), false)
            }
        }
    }

    pub(super) fn savepoint(&mut self, name: &str) -> Result<()> {
        self.status.add(Counter::ComSavepoint, 1);
        self.check_branch_active()?;
        if !self.in_transaction() {
            return Ok(()); // It would end with its own statement.
        }
        if self.trx.is_none() {
            self.trx = Some(self.begin_trx());
        }
        let Some(trx) = &mut self.trx else { return Ok(()) };
        let point = trx.savepoint();
        let mark = self.row_log.as_mut().map_or(0, |log| log.get_mut().mark());
        self.savepoints.retain(|known| !known.name.eq_ignore_ascii_case(name));
        self.savepoints.push(NamedSavepoint { name: name.to_owned(), point, mark });
        self.keep_savepoints();
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let found = self.savepoints.iter().position(|known| known.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| Error::unknown_savepoint(name))
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> Result<()> {
        self.status.add(Counter::ComRollbackToSavepoint, 1);
        self.check_branch_active()?;
        let at = self.find_savepoint(name)?;
        let NamedSavepoint { point, mark, .. } = &self.savepoints[at];
        let (point, mark) = (*point, *mark);
        self.savepoints.truncate(at + 1);
        match &mut self.trx {
            Some(trx) => {
                trx.rollback_to(point).or_sql()?;
                if let Some(log) = &mut self.row_log {
                    log.get_mut().cut(mark);
                }
                Ok(())
            }
            None => Err(Error::unknown_savepoint(name)),
        }
    }

    pub(super) fn release_savepoint(&mut self, name: &str) -> Result<()> {
        self.status.add(Counter::ComReleaseSavepoint, 1);
        self.check_branch_active()?;
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at);
        self.keep_savepoints();
        Ok(())
    }

    /// Whether an error ends the whole transaction and not only its statement.
    pub(super) fn loses_transaction(&self, error: &Error) -> bool {
        match error.code {
            1213 | 1020 | 1181 => true,
            1205 => self.variables.settings.rollback_on_timeout,
            _ => false,
        }
    }

    /// Ends a transaction that an error has lost.
    pub(super) fn lose_transaction(&mut self, trx: Trx, error: &Error) {
        self.end_transaction();
        self.reset_row_log();
        self.branch_lost(error);
        let _ = trx.rollback();
    }

    /// Runs a statement in the open transaction, or in one of its own: commits, or rolls the statement back.
    pub(super) fn in_statement<T>(&mut self, run: impl FnOnce(&Session, &RefCell<Trx>) -> Result<T>) -> Result<T> {
        self.variables.settle();
        let settings = &self.variables.settings;
        self.process.set_checks(settings.foreign_key_checks, settings.unique_checks);
        let mut trx = match self.trx.take() {
            Some(mut trx) => {
                trx.set_foreign_key_checks(settings.foreign_key_checks);
                let row = Duration::from_secs(settings.row_lock_wait_seconds);
                trx.set_wait_timeouts(row, Duration::from_secs(settings.metadata_lock_wait_seconds));
                trx
            }
            None => self.begin_trx(),
        };
        if self.in_transaction() {
            self.process.begin_transaction(trx.isolation(), trx.is_read_only());
        }
        let savepoint = trx.statement_begin();
        let read_before = trx.rows_read();
        let cell = RefCell::new(trx);
        let result = run(self, &cell);
        let mut trx = cell.into_inner();
        self.state.rows_examined.set(self.state.rows_examined.get() + trx.rows_read().saturating_sub(read_before));
        match self.end_row_log(result) {
            Ok(value) => {
                // The end of a statement counts, and that of its transaction once more.
                if !trx.is_untouched() {
                    self.status.add(Counter::HandlerCommit, 1);
                }
                if self.in_transaction() {
                    self.trx = Some(trx);
                } else {
                    self.next_transaction = Characteristics::default();
                    self.commit_logged(trx).map_err(storage_error)?;
                }
                Ok(value)
            }
            // A deadlock's victim has lost its transaction, and so has one whose snapshot was overtaken by other
            // commits.
            Err(error) if self.loses_transaction(&error) => {
                self.lose_transaction(trx, &error);
                Err(error)
            }
            Err(error) if self.in_transaction() => {
                if let Err(worse) = trx.rollback_to(savepoint) {
                    self.end_transaction();
                    self.reset_row_log();
                    let worse = storage_error(worse);
                    self.branch_lost(&worse);
                    return Err(worse);
                }
                self.trx = Some(trx);
                Err(error)
            }
            Err(error) => {
                self.next_transaction = Characteristics::default();
                self.reset_row_log();
                trx.rollback().or_sql()?;
                Err(error)
            }
        }
    }

    /// `SET @@transaction_isolation = value`, without a scope: for the next transaction only.
    pub(super) fn set_next_transaction(&mut self, name: &str, value: &Value) -> Result<()> {
        if self.has_transaction() {
            return Err(Error::transaction_in_progress());
        }
        // The session's variable knows which values there are.
        let mut variables = self.variables.clone();
        variables.set(name, value)?;
        match name {
            "transaction_isolation" | "tx_isolation" => {
                self.next_transaction.isolation = Some(variables.settings.isolation);
            }
            _ => self.next_transaction.read_only = Some(variables.settings.transaction_read_only),
        }
        Ok(())
    }

    /// A new value for the session overrides an earlier one for the next transaction.
    pub(super) fn overrides_next(&mut self, variable: &str) {
        match variable {
            "transaction_isolation" | "tx_isolation" => self.next_transaction.isolation = None,
            "transaction_read_only" | "tx_read_only" => self.next_transaction.read_only = None,
            _ => {}
        }
    }

    /// Whether the next statement belongs to a transaction that only reads.
    pub(super) fn only_reads(&self) -> bool {
        let next = self.next_transaction.read_only.unwrap_or(self.variables.settings.transaction_read_only);
        self.trx.as_ref().map_or(next, Trx::is_read_only)
    }

    /// SET TRANSACTION.
    pub(super) fn set_transaction(
        &mut self,
        scope: Option<ast::VariableScope>,
        isolation: Option<ast::Isolation>,
        read_only: Option<bool>,
    ) -> Result<()> {
        let Some(scope) = scope else {
            if self.trx.is_some() || self.explicit {
                return Err(Error::transaction_in_progress());
            }
            self.next_transaction.isolation = isolation.map(isolation_of).or(self.next_transaction.isolation);
            self.next_transaction.read_only = read_only.or(self.next_transaction.read_only);
            return Ok(());
        };
        let level = isolation.map(level_of);
        let settings = [
            ("transaction_isolation", level.map(|level| Value::Bytes(level.into()))),
            ("transaction_read_only", read_only.map(|read_only| Value::Int(read_only as i64))),
        ];
        for (name, value) in settings {
            let Some(value) = value else { continue };
            match scope {
                ast::VariableScope::Session => {
                    self.overrides_next(name);
                    self.variables.set(name, &value)?
                }
                _ => self.instance.variables.set(name, &value)?,
            };
        }
        self.state.variables_changed();
        Ok(())
    }
}

fn level_of(isolation: ast::Isolation) -> &'static str {
    match isolation {
        ast::Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        ast::Isolation::ReadCommitted => "READ-COMMITTED",
        ast::Isolation::RepeatableRead => "REPEATABLE-READ",
        ast::Isolation::Serializable => "SERIALIZABLE",
    }
}

/// SET TRANSACTION as SET of variables.
pub(super) fn variables_of(
    scope: Option<ast::VariableScope>,
    isolation: Option<ast::Isolation>,
    read_only: Option<bool>,
) -> Vec<ast::SetItem> {
    let item = |name: &str, value: ast::Literal| ast::SetItem::System {
        scope,
        name: name.to_owned(),
        value: ast::Expr::Literal(value),
    };
    let level = |level: &str| ast::Literal::String { bytes: level.into(), charset: None };
    let isolation = isolation.map(|isolation| item("transaction_isolation", level(level_of(isolation))));
    let read_only = read_only.map(|only| item("transaction_read_only", ast::Literal::Integer(only.into())));
    isolation.into_iter().chain(read_only).collect()
}
