//! Plans as sessions keep them, of statements that are run again.

use std::cell::Cell;
use std::sync::Arc;

use format::packet::ColumnDefinition;
use storage::schema::statistics_changes;
use storage::{Definition, Table, TableUse};

use super::uses::{Uses, each_step};
use crate::error::Warning;
use crate::parser::ast::{Expr, SelectInto, Statement};
use crate::planner::QueryPlan;
use crate::planner::change::{DeletePlan, InsertPlan, InsertRows, UpdatePlan};
use crate::planner::joined_change::{JoinedDeletePlan, JoinedUpdatePlan};
use crate::planner::load::LoadPlan;
use crate::status::Counter;

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
    /// The plans are of this generation.
    pub(super) generation: u64,
    pub(super) source: Vec<u8>,
    /// The number of its digest, as of this generation.
    pub(super) digest: Option<(u64, u32)>,
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
