//! Partitions: one table in several files.
//!
//! ```text
//!   Table t            columns, indexes, the rule of its partitions; no file, no trees
//!     partitions[0]    Table t, partition "p0": a file, trees, indexes of its own
//!     partitions[1]    Table t, partition "p1" ...
//! ```
//!
//! Storage keeps each partition as a table of its own with everything that a table has: a number, a tablespace, trees. They
//! have the table's name, so that a lock of that name protects all of them. Which row belongs to which partition is the
//! business of upper layers: to storage the rule is a text that it keeps and does not read, like the condition of a CHECK
//! constraint. So rows are read and written through a partition, and never through the table above it.
//!
//! A subpartition is a partition with two names: the list is flat, the subpartitions of a partition stand side by side.
//!
//! Invariants:
//!
//! * `partitions[i]` is described by `partitioning.parts[i]`, and has the columns and the indexes, in the same order, of
//!   the table.
//! * The table's own numbers (of the table, of its indexes) name nothing on the disk; locks of its AUTO_INCREMENT counter
//!   have them.

use std::sync::Arc;

use format::ids::SpaceId;
use rustc_hash::FxHashMap;

use super::{Compression, Table, TableOptions};

/// The tablespace of a table whose rows are in partitions: there is none.
pub const NO_SPACE: SpaceId = SpaceId(u32::MAX);
/// The most partitions of a table, subpartitions included, as in MySQL.
pub const PARTITIONS_MAX: usize = 8192;

/// How the rows of a table are divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitioning {
    /// What decides about a row's partition, in the normal form of upper layers.
    pub rule: Box<str>,
    /// The partitions in order.
    pub parts: Vec<PartitionDefinition>,
}

/// One partition, or subpartition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionDefinition {
    pub name: Box<str>,
    pub subpartition: Option<Box<str>>,
    /// How its pages are stored, with the level, where that differs from the table's.
    pub compression: Option<(Compression, Option<u8>)>,
    /// As [`TableOptions::discarded`].
    pub discarded: bool,
}

impl PartitionDefinition {
    /// The name that it has in lists of partitions: the subpartition's, if it is one.
    pub fn own_name(&self) -> &str {
        self.subpartition.as_deref().unwrap_or(&self.name)
    }

    /// What stands behind the table's name in lists of tables: `#p#p0`, `#p#p0#sp#p0sp0`.
    pub fn suffix(&self) -> String {
        self.suffix_by(str::to_lowercase)
    }

    /// The same with names as `encode` writes them.
    pub fn suffix_by(&self, encode: impl Fn(&str) -> String) -> String {
        match &self.subpartition {
            None => format!("#p#{}", encode(&self.name)),
            Some(own) => format!("#p#{}#sp#{}", encode(&self.name), encode(own)),
        }
    }

    /// The options of its file.
    pub fn options(&self, table: &TableOptions) -> TableOptions {
        let mut options = TableOptions { discarded: self.discarded, ..table.clone() };
        if let Some((compression, level)) = self.compression {
            options.compression = compression;
            options.compression_level = level;
        }
        options
    }
}

impl Table {
    /// Whether its rows are in partitions.
    #[inline]
    pub fn is_partitioned(&self) -> bool {
        self.partitioning.is_some()
    }

    /// What has a file: the partitions, or the table itself.
    pub fn files(&self) -> impl Iterator<Item = &Table> {
        let own = (!self.is_partitioned()).then_some(self);
        own.into_iter().chain(self.partitions.iter().map(|partition| &**partition))
    }

    /// The name that lists of tables show: with its partition.
    pub fn file_name(&self) -> String {
        match &self.partition {
            None => self.name.to_string(),
            Some(partition) => format!("{}{}", self.name, partition.suffix()),
        }
    }

    /// A new description of a table keeps what changes while the table exists, also that of partitions that stay.
    pub fn keep_state(&mut self, old: &Table) {
        self.state = old.state.clone();
        let known: FxHashMap<_, _> = old.partitions.iter().map(|partition| (partition.id, partition)).collect();
        for partition in self.partitions.iter_mut().filter_map(Arc::get_mut) {
            if let Some(old) = known.get(&partition.id) {
                partition.state = old.state.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_partitions_are_those_of_files() {
        let mut partition = PartitionDefinition { name: "P0".into(), ..PartitionDefinition::default() };
        assert_eq!((partition.suffix().as_str(), partition.own_name()), ("#p#p0", "P0"));
        partition.subpartition = Some("P0sp1".into());
        assert_eq!((partition.suffix().as_str(), partition.own_name()), ("#p#p0#sp#p0sp1", "P0sp1"));
    }
}
