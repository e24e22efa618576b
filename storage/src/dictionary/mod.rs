//! The dictionary: the databases and tables that exist, kept as rows of system tables and cached as [`Table`]s.
//!
//! ```text
//!     statement --- name ---> cache (Arc<Table>) <--- filled at open, changed by DDL after its commit
//!                                                            |
//!     DDL --- rows of databases, tables, columns, indexes, ddl_log   (see system)
//!         --- rows of views, routines, triggers, events              (see definitions)
//!         --- rows of estimates and histograms                       (see statistics)
//!         --- files, made safe by the DDL log                        (see ddl_log)
//! ```
//!
//! A DDL statement locks its names, changes rows and files inside one [`Ddl`], commits, and only then changes the
//! cache. A statement that still holds an older `Arc<Table>` finds it stale when it locks it.
//!
//! Invariants:
//!
//! * The cache agrees with the committed rows, except within the critical section of a commit, when no other statement
//!   can see the names concerned: they are locked.
//! * A table that is in the cache has its file open.
//! * Every file in the data directory belongs to a row, or an entry of the DDL log names it.

mod cache;
pub mod codec;
mod ddl;
mod ddl_log;
mod definitions;
mod describe;
mod file_name;
mod index_pages;
mod inodes;
mod leftovers;
mod links;
mod rows;
mod statistics;
mod system;

pub use cache::{Dictionary, Table, transform};
pub use ddl::{Afterwards, Ddl, SuspendedDdl, finish_leftovers, leave as leave_actions, run as run_actions};
pub use ddl_log::{Action, FILES_AT_ONCE, LAST_GIVEN};
pub use definitions::DefinitionChanges;
pub use describe::{Identity, describe, index_order};
pub use file_name::{
    consumed_path, description_path, display_of_path, encode as directory_name, file_path, may_be_discarded,
    named_path, names_a_file, names_a_partition, partition_path, table_path, temporary_path, waits_for_import,
};
pub use links::{Name, link};
pub use rows::{Contents, SystemRows};
#[cfg(test)]
pub use system::create_first as create_first_system_tables;
pub use system::{
    DATABASE as SYSTEM_DATABASE, HEADER as HEADER_PAGE, NewIds, PATH as SYSTEM_PATH, create as create_system_tables,
    is_system, new_ids, open as open_system_tables,
};
