//! Partitioned tables: which row belongs to which partition.
//!
//! Storage keeps a partition as a table of its own, and the rule as a text (see `storage::schema::partitions`). Here the rule
//! becomes a [`Routing`]: a function from the stored values of a row to the number of a partition, and from what a query says
//! of these values to a set of partitions.
//!
//! ```text
//!   PARTITION BY RANGE (year(`d`)) SUBPARTITION BY HASH (`k`) SUBPARTITIONS 2 (PARTITION p0 ..., PARTITION p1 ...)
//!
//!   row (d, k) --> year(d) --> p0, p1 ...           the upper function: a number of a partition
//!              --> k       --> 0, 1                 the lower function: a number of a subpartition
//!              partition number = upper * 2 + lower      the place in `table.partitions()`
//! ```
//!
//! From below: `hash` has the functions of HASH and KEY; `function` one function, compiled; `print` the text of a rule, for
//! the dictionary and for SHOW CREATE TABLE; `prune` the partitions that ranges of values leave; `rows` reads and changes
//! rows of a table that may be partitioned; `cursor` scans several partitions, one after the other or merged by key.
//!
//! Invariants:
//!
//! * A row's partition depends on its stored values alone: neither on the session's time zone nor on its sql_mode.
//! * What compares equal in the table's unique keys is in one partition: each unique key has all columns of the functions.
//! * Pruning is conservative: a partition that is left out has no row for which the conditions are true.
//!
//! A plan asks [`Routing::of`] once. A table without partitions has none: it is asked for nothing here.
//!
//! Sources: MySQL 8.0 Reference Manual, chapter 26, "Partitioning".

pub mod cursor;
pub mod function;
mod hash;
pub mod print;
pub mod prune;
pub mod rows;

use std::sync::Arc;

use format::value::Zone;
use storage::Table;

pub use self::cursor::Several;
pub use self::function::Function;
pub use self::prune::{PartitionSet, ValueRange, VisitRange};
use crate::error::{Error, Result};
use crate::expression::EvalContext;
use crate::parser::ast::{PartitionBy, PartitionMethod};
use crate::parser::parse_partition_by;
use crate::types::SqlMode;

/// The rule of a table, compiled.
#[derive(Debug)]
pub struct Routing {
    pub upper: Function,
    /// Of the subpartitions, and how many each partition has.
    pub lower: Option<(Function, usize)>,
    /// How many there are, subpartitions counted.
    pub count: usize,
    /// Ordinals of the columns that decide.
    pub columns: Vec<usize>,
}

/// The context in which rules are evaluated: the same for all sessions.
pub fn own_context<'a>(eval: &'a EvalContext<'a>) -> EvalContext<'a> {
    EvalContext {
        parameters: &[],
        subqueries: None,
        lists: None,
        mode: SqlMode::DEFAULT,
        strict_change: false,
        ignores: false,
        zone: Zone::UTC,
        default_week_format: 0,
        ..*eval
    }
}

/// The clause that a table's rule is.
pub fn rule_of(table: &storage::schema::Table) -> Result<Option<PartitionBy>> {
    table.partitioning.as_ref().map(|partitioning| parse_partition_by(&partitioning.rule)).transpose()
}

impl Routing {
    /// The routing of a table; None: it has no partitions. It is compiled once for all sessions.
    pub fn of(eval: &EvalContext<'_>, table: &Table) -> Result<Option<Arc<Routing>>> {
        if !table.is_partitioned() {
            return Ok(None);
        }
        let kept = table.routing.get_or_init(|| {
            let by = rule_of(table)?.ok_or_else(|| Error::internal("a table in partitions without a rule"))?;
            Routing::compile(eval, &table.columns, &print::expanded(&by), &primary_key(table)).map(Arc::new)
        });
        (*kept).clone().map(Some)
    }

    /// Compiles a clause in normal form: every partition has a definition, every value is a literal. `primary`: the columns
    /// of the primary key, which KEY without columns means.
    pub fn compile(
        eval: &EvalContext<'_>,
        columns: &[storage::Column],
        by: &PartitionBy,
        primary: &[usize],
    ) -> Result<Routing> {
        let eval = &own_context(eval);
        let uppers = by.definitions.len();
        let upper = Function::compile(eval, columns, &by.method, &by.definitions, uppers, primary)?;
        let lowers = by.definitions.first().map_or(0, |first| first.subpartitions.len());
        let lower = match &by.subpartition {
            Some(sub) => Some((Function::compile(eval, columns, &sub.method, &[], lowers, primary)?, lowers)),
            None => None,
        };
        let mut decide = upper.columns();
        decide.extend(lower.iter().flat_map(|(function, _)| function.columns()));
        decide.sort_unstable();
        decide.dedup();
        Ok(Routing { count: uppers * lower.as_ref().map_or(1, |_| lowers), upper, lower, columns: decide })
    }

    /// The number of the partition that a row belongs to. `value` gives the stored bytes of a column. 1526: none has it.
    pub fn partition_of<'v>(
        &self,
        eval: &EvalContext<'_>,
        columns: &'v [storage::Column],
        value: &'v dyn Fn(usize) -> Option<&'v [u8]>,
    ) -> Result<usize> {
        let eval = &own_context(eval);
        let upper = self.upper.place(eval, columns, value)?;
        match &self.lower {
            None => Ok(upper),
            Some((function, count)) => Ok(upper * count + function.place(eval, columns, value)?),
        }
    }

    /// The numbers of the partitions with these names, those of subpartitions included; 1735 for one that is none.
    pub fn named(&self, table: &storage::schema::Table, names: &[String]) -> Result<PartitionSet> {
        let mut set = PartitionSet::empty(self.count);
        for name in names {
            let mut found = false;
            for (at, partition) in table.partitions.iter().enumerate() {
                let Some(part) = &partition.partition else { continue };
                let is_it = |own: &str| own.to_lowercase() == name.to_lowercase();
                if is_it(&part.name) || part.subpartition.as_deref().is_some_and(is_it) {
                    set.insert(at);
                    found = true;
                }
            }
            if !found {
                return Err(Error::unknown_partition(name, &table.name));
            }
        }
        Ok(set)
    }
}

/// The ordinals of the columns of the primary key, or of the unique key that is used as one.
pub fn primary_key(table: &storage::schema::Table) -> Vec<usize> {
    table.clustered().parts.iter().map(|part| part.column).collect()
}

/// The columns that a method names; those of an expression are found when it is bound.
pub fn named_columns(method: &PartitionMethod) -> &[String] {
    match method {
        PartitionMethod::Key { columns, .. }
        | PartitionMethod::RangeColumns(columns)
        | PartitionMethod::ListColumns(columns) => columns,
        _ => &[],
    }
}
