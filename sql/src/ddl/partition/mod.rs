//! PARTITION BY and the actions of ALTER TABLE on partitions.
//!
//! ```text
//! PARTITION BY ...           rule: checked, brought into normal form ----> the definition's `partitioning`
//! ADD, DROP, REORGANIZE ...  change: the clause that the table has, changed, and settled again
//!                            ----> which partitions stay as they are, which rows move ----> Alteration::repartition
//! ```
//!
//! What is settled is the whole clause, whoever changed it: so a table that ALTER TABLE made has the rules of one that CREATE
//! TABLE makes. A partition that stays keeps its file; DROP, TRUNCATE and ADD of RANGE and LIST move no row.

mod change;
mod check;
mod exchange;
mod maintain;
mod values;

pub use change::perform;
pub use check::{check_engines, column_names, settle, settle_again};
pub use maintain::misplaced;

use std::cell::RefCell;

use storage::Table;
use storage::schema::TableDefinition;

use super::Context;
use crate::error::{Error, Result};
use crate::parser::ast::PartitionNames;
use crate::partitions::{PartitionSet, Routing, print};

const CONSTANT_EXPRESSION: &str =
    "Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed";

/// Tells the partition of each row that is copied into a table of this definition. What stops it is kept beside, because
/// storage passes on its own errors only.
pub struct Router<'a> {
    context: &'a Context<'a>,
    definition: TableDefinition,
    routing: Option<Routing>,
    pub failure: RefCell<Option<Error>>,
}

impl<'a> Router<'a> {
    pub fn new(context: &'a Context<'a>, definition: &TableDefinition) -> Result<Router<'a>> {
        let routing = match &definition.partitioning {
            None => None,
            Some(partitioning) => {
                let by = print::expanded(&crate::parser::parse_partition_by(&partitioning.rule)?);
                let primary = check::primary_key(definition);
                Some(Routing::compile(context.eval, &definition.columns, &by, &primary)?)
            }
        };
        Ok(Router { context, definition: definition.clone(), routing, failure: RefCell::new(None) })
    }

    /// The columns that decide on a row's partition, in the order in which they do.
    pub fn deciding(&self) -> Vec<usize> {
        let Some(routing) = &self.routing else { return Vec::new() };
        let lower = routing.lower.iter().flat_map(|(function, _)| function.columns());
        routing.upper.columns().into_iter().chain(lower).collect()
    }

    pub fn place(&self, values: &[Option<&[u8]>]) -> storage::Result<usize> {
        let Some(routing) = &self.routing else { return Ok(0) };
        let place = routing.partition_of(self.context.eval, &self.definition.columns, &|column| values[column]);
        place.map_err(|error| {
            *self.failure.borrow_mut() = Some(error);
            storage::Error::Interrupted
        })
    }
}

/// The clause of a table that has partitions, with a definition of each; 1505 if it has none.
fn clause_of(table: &Table) -> Result<crate::parser::ast::PartitionBy> {
    crate::partitions::rule_of(table)?.ok_or_else(Error::partition_management_on_plain)
}

/// The partitions with these names, those of subpartitions included.
fn named(context: &Context<'_>, table: &Table, names: &PartitionNames) -> Result<PartitionSet> {
    let routing = Routing::of(context.eval, table)?.ok_or_else(Error::partition_management_on_plain)?;
    match names {
        PartitionNames::All => Ok(PartitionSet::all(routing.count)),
        PartitionNames::These(names) => routing.named(table, names),
    }
}
