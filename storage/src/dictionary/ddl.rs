//! One DDL statement: a transaction on the system tables, and its actions on files.

use std::sync::Arc;
use std::time::Duration;

use format::ids::UndoNo;

use super::cache::Dictionary;
use super::ddl_log::Action;
use super::leftovers::Leftover;
use super::rows::SystemRows;
use super::system::new_log_id;
use crate::error::{Error, Result};
use crate::lock::Interrupt;
use crate::row;
use crate::schema::{Database, Definition, DefinitionName, Histogram, Table};
use crate::transaction::{CommitLog, Isolation, Transaction};

/// A dictionary transaction. Dropping it without a commit rolls it back, files included.
pub struct Ddl<'a> {
    context: row::Context<'a>,
    dictionary: &'a Dictionary,
    trx: Transaction,
    /// Entries that undo what was done, oldest first.
    take_back: Vec<(u64, Action)>,
    /// Entries for after the commit.
    afterwards: Vec<(u64, Action)>,
    open: bool,
}

/// A dictionary transaction between two calls of the engine. To end it, [`Ddl::resume`] it: dropping it ends nothing.
pub struct SuspendedDdl {
    trx: Transaction,
    take_back: Vec<(u64, Action)>,
    afterwards: Vec<(u64, Action)>,
}

/// A transaction that changes the dictionary.
fn begin() -> Transaction {
    // Only DDL locks system rows, briefly; a wait of a minute means that something is very wrong.
    let mut trx = Transaction::new(Isolation::ReadCommitted, Arc::new(Interrupt::new()), Duration::from_secs(60));
    trx.undo.dictionary = true;
    trx
}

impl<'a> Ddl<'a> {
    /// First finishes what an earlier statement could not for lack of space; as long as that is impossible, this fails.
    pub fn begin(context: row::Context<'a>, dictionary: &'a Dictionary) -> Result<Ddl<'a>> {
        finish_leftovers(&context, dictionary)?;
        Ok(Ddl { context, dictionary, trx: begin(), take_back: Vec::new(), afterwards: Vec::new(), open: true })
    }

    /// Leaves the transaction open without a borrow of the engine.
    pub fn suspend(mut self) -> SuspendedDdl {
        self.open = false;
        SuspendedDdl {
            trx: std::mem::replace(&mut self.trx, begin()),
            take_back: std::mem::take(&mut self.take_back),
            afterwards: std::mem::take(&mut self.afterwards),
        }
    }

    /// Goes on with it.
    pub fn resume(context: row::Context<'a>, dictionary: &'a Dictionary, suspended: SuspendedDdl) -> Ddl<'a> {
        let SuspendedDdl { trx, take_back, afterwards } = suspended;
        Ddl { context, dictionary, trx, take_back, afterwards, open: true }
    }

    fn rows(&self) -> &'a SystemRows {
        &self.dictionary.system
    }

    pub fn insert_database(&mut self, database: &Database) -> Result<()> {
        self.rows().insert_database(&self.context, &mut self.trx, database)
    }

    pub fn delete_database(&mut self, name: &str) -> Result<()> {
        self.rows().delete_database(&self.context, &mut self.trx, name)
    }

    /// A table with what is known of its rows.
    pub fn insert_table(&mut self, table: &Table) -> Result<()> {
        self.insert_table_with(table, &table.state.statistics.histograms())
    }

    /// The same with other histograms than those that its older descriptions have.
    pub fn insert_table_with(&mut self, table: &Table, histograms: &[Arc<Histogram>]) -> Result<()> {
        self.rows().insert_table(&self.context, &mut self.trx, table, histograms)
    }

    pub fn delete_table(&mut self, table: &Table) -> Result<()> {
        self.rows().delete_table(&self.context, &mut self.trx, table)
    }

    /// Writes the estimates of what has a file in the place of older ones.
    pub fn replace_estimates(&mut self, file: &Table) -> Result<()> {
        self.rows().delete_estimates(&self.context, &mut self.trx, file)?;
        self.rows().insert_estimates(&self.context, &mut self.trx, file)
    }

    /// Writes all histograms of a table in the place of older ones.
    pub fn replace_histograms(&mut self, table: &Table, histograms: &[Arc<Histogram>]) -> Result<()> {
        self.rows().delete_histograms(&self.context, &mut self.trx, table)?;
        self.rows().insert_histograms(&self.context, &mut self.trx, table, histograms)
    }

    pub fn insert_definition(&mut self, definition: &Definition) -> Result<()> {
        self.rows().insert_definition(&self.context, &mut self.trx, definition)
    }

    pub fn delete_definition(&mut self, name: DefinitionName<'_>) -> Result<()> {
        self.rows().delete_definition(&self.context, &mut self.trx, name)
    }

    /// Called before an action that must be undone unless this commits. Durable on return.
    pub fn will_take_back(&mut self, action: Action) -> Result<()> {
        self.will_take_all_back(vec![action])
    }

    /// The same for several.
    pub fn will_take_all_back(&mut self, actions: Vec<Action>) -> Result<()> {
        let actions = leave(&self.context, self.dictionary, actions)?;
        self.take_back.extend(actions.iter().cloned());
        actions.iter().try_for_each(|(id, _)| self.rows().delete_action(&self.context, &mut self.trx, *id))
    }

    /// Schedules an action for after the commit.
    pub fn will_do_afterwards(&mut self, action: Action) -> Result<()> {
        let id = new_log_id(self.context.store)?;
        self.rows().insert_action(&self.context, &mut self.trx, id, &action)?;
        self.afterwards.push((id, action));
        Ok(())
    }

    /// Commits. From here on the statement has happened, even if an action afterwards fails: that is then left to
    /// [`Afterwards::run`] at a time of the caller's choice, or to recovery.
    /// `log` is written along with it.
    pub fn commit(mut self, log: Option<&dyn CommitLog>) -> Result<Afterwards<'a>> {
        // An error leaves the transaction active, and dropping this rolls it back. If the log cannot be flushed it is
        // unknown whether the commit is in it, so nothing is done that depends on it: the store is poisoned then.
        if let Some((slot, note)) = log.and_then(CommitLog::note) {
            self.rows().replace_note(&self.context, &mut self.trx, slot, &note)?;
        }
        commit(&self.context, &mut self.trx, log).inspect_err(|_| self.open = !self.context.store.is_poisoned())?;
        self.open = false;
        Ok(Afterwards {
            context: self.context,
            dictionary: self.dictionary,
            actions: std::mem::take(&mut self.afterwards),
        })
    }

    fn roll_back(&mut self) -> Result<()> {
        let actions = std::mem::take(&mut self.take_back);
        roll_back(&self.context, self.dictionary, &mut self.trx, actions)
    }
}

impl Drop for Ddl<'_> {
    fn drop(&mut self) {
        if self.open
            && let Err(error) = self.roll_back()
        {
            // What could not be undone has its entry in the DDL log.
            tracing::warn!("take back a DDL statement: {error}; that is left for later");
        }
    }
}

/// The actions to execute after a commit.
#[must_use]
pub struct Afterwards<'a> {
    context: row::Context<'a>,
    dictionary: &'a Dictionary,
    actions: Vec<(u64, Action)>,
}

impl Afterwards<'_> {
    /// Executes them. A failure is not the statement's: the entry stays in the DDL log, and the next statement or
    /// recovery executes it.
    pub fn run(self) {
        if let Err(error) = run(&self.context, self.dictionary, self.actions) {
            tracing::warn!("finish a DDL statement: {error}; that is left for later");
        }
    }
}

/// Writes entries that stay until they are executed by [`run`], or by recovery. Durable on return.
pub fn leave(context: &row::Context<'_>, dictionary: &Dictionary, actions: Vec<Action>) -> Result<Vec<(u64, Action)>> {
    let number = |action| Ok((new_log_id(context.store)?, action));
    let actions = actions.into_iter().map(number).collect::<Result<Vec<_>>>()?;
    let mut separate = begin();
    let mut all = actions.iter();
    let written = all.try_for_each(|(id, action)| dictionary.system.insert_action(context, &mut separate, *id, action));
    end(context, dictionary, &mut separate, written)?;
    Ok(actions)
}

/// Finishes what earlier statements could not, the newest first, as far as there is space now.
pub fn finish_leftovers(context: &row::Context<'_>, dictionary: &Dictionary) -> Result<()> {
    loop {
        let Some(mut leftover) = dictionary.leftovers.pop() else { return Ok(()) };
        match leftover.trx.as_mut() {
            Some(trx) => roll_back(context, dictionary, trx, leftover.actions)?,
            None => run(context, dictionary, leftover.actions)?,
        }
    }
}

/// Executes entries, the newest first, and deletes them. Without space on the device they are left for later.
pub fn run(context: &row::Context<'_>, dictionary: &Dictionary, actions: Vec<(u64, Action)>) -> Result<()> {
    if actions.is_empty() {
        return Ok(());
    }
    let mut trx = begin();
    if let Err(error) = execute(context, dictionary, &mut trx, &actions) {
        // The entries are visible again when this has been undone, and not before.
        let actions = undo(context, dictionary, &mut trx, actions)?;
        if error.is_of_the_moment() {
            dictionary.leftovers.push(Leftover { trx: None, actions });
        }
        return Err(error);
    }
    commit(context, &mut trx, None)
}

fn execute(
    context: &row::Context<'_>,
    dictionary: &Dictionary,
    trx: &mut Transaction,
    actions: &[(u64, Action)],
) -> Result<()> {
    Action::execute_all(actions.iter().rev().map(|(_, action)| action), context.store)?;
    actions.iter().try_for_each(|(id, _)| dictionary.system.delete_action(context, trx, *id))
}

/// Commits durably, or rolls back if something went wrong.
fn end(context: &row::Context<'_>, dictionary: &Dictionary, trx: &mut Transaction, outcome: Result<()>) -> Result<()> {
    match outcome {
        Ok(()) => commit(context, trx, None),
        Err(error) => {
            undo(context, dictionary, trx, Vec::new())?;
            Err(error)
        }
    }
}

/// Commits durably, whatever `flush_log_at_commit` says: actions on files follow.
fn commit(context: &row::Context<'_>, trx: &mut Transaction, log: Option<&dyn CommitLog>) -> Result<()> {
    let lsn = trx.commit(context.store, context.undo, context.registry, context.locks, log)?;
    lsn.map_or(Ok(()), |lsn| context.store.flush_log(lsn))
}

/// Rolls back, and then executes the entries that undo the rest. Without space on the device all that is left for
/// later.
fn roll_back(
    context: &row::Context<'_>,
    dictionary: &Dictionary,
    trx: &mut Transaction,
    actions: Vec<(u64, Action)>,
) -> Result<()> {
    let actions = undo(context, dictionary, trx, actions)?;
    run(context, dictionary, actions)
}

/// Rolls back. Returns the actions to execute then; without space on the device both are left for later.
fn undo(
    context: &row::Context<'_>,
    dictionary: &Dictionary,
    trx: &mut Transaction,
    actions: Vec<(u64, Action)>,
) -> Result<Vec<(u64, Action)>> {
    let undone = context.store.health().insist(|| {
        row::rollback(context, trx, &|id| dictionary.system.by_id(id), UndoNo(0))?;
        trx.end_rollback(context.store, context.undo, context.registry, context.locks)
    });
    match undone {
        Ok(()) => Ok(actions),
        Err(error) if error.is_of_the_moment() && !context.store.is_poisoned() => {
            let trx = std::mem::replace(trx, begin());
            dictionary.leftovers.push(Leftover { trx: Some(trx), actions });
            Err(Error::RollingBack)
        }
        Err(error) => {
            if !matches!(error, Error::Poisoned) {
                context.store.poison("a dictionary transaction could not be rolled back");
            }
            Err(error)
        }
    }
}
