//! Plans as sessions keep them, of statements that are run again.

use std::cell::Cell;
use std::sync::Arc;

use format::packet::ColumnDefinition;
use storage::schema::statistics_changes;
use storage::{Definition, Table, TableUse};

use super::uses::Uses;
use crate::error::Warning;
use crate::parser::ast::{Expr, SelectInto, Statement};
use crate::planner::QueryPlan;
use crate::planner::change::{DeletePlan, InsertPlan, InsertRows, UpdatePlan};
use crate::planner::joined_change::{JoinedDeletePlan, JoinedUpdatePlan};
use crate::planner::load::LoadPlan;
use crate::planner::walk::each_step;
use crate::shared_plans::Circumstances;
use crate::status::Counter;

/// Plans that a prepared statement keeps, for values of several kinds.
const PLANS_OF_A_STATEMENT: usize = 4;

/// A run that read fewer rows has done no harm.
const ROWS_OF_A_BAD_RUN: u64 = 1000;

/// How many times more rows than its first run a plan may read.
const ROWS_GROWTH_MAX: u64 = 8;

/// Runs for which a statement is planned anew.
const RUNS_OF_A_DOUBT: u16 = 256;

/// What to do.
pub enum Plan {
    Query { plan: QueryPlan, into: SelectInto },
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    JoinedUpdate(JoinedUpdatePlan),
    JoinedDelete(JoinedDeletePlan),
    Load(Box<LoadPlan>),
}

/// A plan with what is needed to run it again.
pub struct CachedPlan {
    pub plan: Plan,
    /// The stored tables, and what is done with each.
    pub tables: Vec<(Arc<Table>, TableUse)>,
    /// The version of their statistics by which it was planned: with others, another plan may be better.
    pub(super) statistics: u64,
    /// When that was compared last, in changes of any statistics.
    pub(super) statistics_compared: Cell<u64>,
    /// The views and stored functions that are in it.
    pub views: Vec<Arc<Definition>>,
    /// The triggers of the tables that it changes.
    pub(super) triggers: Vec<Arc<Definition>>,
    /// The version of the definitions for which they are known to be these.
    pub(super) definitions_version: Cell<u64>,
    /// It calls stored functions, or fires triggers.
    pub runs_programs: bool,
    /// It takes numbers of a sequence that other sessions have, too.
    pub gives_numbers: bool,
    /// What each run warns of.
    pub(super) warnings: Vec<Warning>,
    /// MAX_EXECUTION_TIME of its hint.
    pub(super) time_limit_ms: Option<u64>,
    pub definitions: Arc<[ColumnDefinition]>,
    pub parameter_count: usize,
    /// Nothing in it depends on the current execution.
    pub is_cacheable: bool,
    /// It reads variables, whose types it was planned for: those of this count of SETs.
    pub(super) variables: Option<u64>,
    /// The number of its text's digest, if digests are counted.
    pub(super) digest: Option<u32>,
    pub(super) uses: Uses,
    pub(super) counter: Counter,
    /// The rows that its first run read, for whose values it was made.
    pub(super) rows_at_first: Cell<Option<u64>>,
    /// Those that a run read for whose values it is bad.
    pub(super) rows_of_bad_run: Cell<Option<u64>>,
}

/// A statement whose plan was good for some values and bad for others: it is planned for each run, until a plan that was
/// made so reads as many rows, because then there is no better one, or until it did not for many runs.
#[derive(Clone, Copy)]
pub(super) struct Doubt {
    rows: u64,
    runs_left: u16,
}

impl Doubt {
    /// What is left of it after a run with a new plan.
    pub(super) fn after(self, plan: &CachedPlan) -> Option<Doubt> {
        let is_settled = plan.rows_at_first.get().is_some_and(|rows| rows > self.rows / 2);
        (!is_settled && self.runs_left > 1).then(|| Doubt { runs_left: self.runs_left - 1, ..self })
    }
}

/// The version of the statistics of some tables. Each rises, and so does their sum.
pub(super) fn statistics_version(tables: &[(Arc<Table>, TableUse)]) -> u64 {
    // The histograms of a table in partitions are its own, and the estimates its partitions'.
    let of_all = |table: &Arc<Table>| {
        let own = if table.is_partitioned() { table.state.statistics.version() } else { 0 };
        own + table.files().iter().map(|file| file.state.statistics.version()).sum::<u64>()
    };
    tables.iter().map(|(table, _)| of_all(table)).sum()
}

impl CachedPlan {
    /// Whether the statistics of its tables are others by now.
    pub(super) fn is_outdated(&self) -> bool {
        let changes = statistics_changes();
        if changes == self.statistics_compared.get() {
            return false;
        }
        self.statistics_compared.set(changes);
        statistics_version(&self.tables) != self.statistics
    }

    /// Notes the rows that a run read.
    pub(super) fn note_rows(&self, rows: u64) {
        match self.rows_at_first.get() {
            None => self.rows_at_first.set(Some(rows)),
            Some(first) if rows > ROWS_OF_A_BAD_RUN && rows / ROWS_GROWTH_MAX > first => {
                self.rows_of_bad_run.set(Some(rows));
            }
            Some(_) => {}
        }
    }

    /// Whether another plan may be better for some values.
    pub(super) fn doubt(&self) -> Option<Doubt> {
        let rows = self.rows_of_bad_run.get().filter(|_| self.parameter_count > 0)?;
        Some(Doubt { rows, runs_left: RUNS_OF_A_DOUBT })
    }

    /// Whether it depends on nothing that only its session has.
    pub(super) fn is_of_any_session(&self) -> bool {
        self.variables.is_none() && !self.tables.iter().any(|(table, _)| table.is_temporary())
    }

    /// Whether it reads tables beside the one that it changes, or that one once more.
    pub(super) fn reads_rows(&self, writes: bool) -> bool {
        let mut reads = self.tables.len() > usize::from(writes);
        if let Plan::Insert(InsertPlan { source: InsertRows::Query(query), .. }) = &self.plan {
            each_step(query, &mut |_, _| reads = true);
        }
        reads
    }

    /// Whether its rows go to the client.
    pub(super) fn answers_rows(&self) -> bool {
        matches!(&self.plan, Plan::Query { into, .. } if into.is_client())
    }
}

/// A statement prepared by the client or by PREPARE.
pub struct PreparedStatement {
    /// What SET STATEMENT or SET_VAR hints set for it, and whether it was hints.
    pub(super) variables: Option<(Vec<(String, Expr)>, bool)>,
    pub statement: Statement,
    pub parameters: usize,
    /// Its plans, and the kinds of the values that each was made for: a parameter that is NULL now and then, or has now
    /// more digits and now fewer, is planned for each once.
    pub(super) plans: Vec<(Box<[u8]>, Box<CachedPlan>)>,
    /// One of its plans proved bad for the values of a run.
    pub(super) doubt: Option<Doubt>,
    /// The plans are of this generation.
    pub(super) generation: u64,
    /// What the plans were made in, if other sessions can use them.
    pub(super) circumstances: Option<Arc<Circumstances>>,
    pub(super) source: Vec<u8>,
    /// The number of its digest, as of this generation.
    pub(super) digest: Option<(u64, u32)>,
}

impl PreparedStatement {
    /// Keeps a plan for values of these kinds; the one that was used least goes.
    pub(super) fn keep(&mut self, kinds: Box<[u8]>, plan: Box<CachedPlan>) {
        self.plans.truncate(PLANS_OF_A_STATEMENT - 1);
        self.plans.insert(0, (kinds, plan));
    }
}

/// How running a plan went.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Outcome {
    /// The client has its answer, good or bad.
    Answered,
    /// A table has changed since: nothing was done.
    Stale,
}

/// A statement that found a table changed: never shown to a client.
pub(super) const STALE: u16 = u16::MAX;
