//! A prepared transaction, without a session: a branch of a distributed transaction. See [`super::xa`].

use super::changed_tables::ChangedTables;
use crate::lock::MetadataHeld;
use crate::transaction::Transaction;

/// What is left of a transaction that was prepared.
pub(super) struct Prepared {
    pub trx: Transaction,
    pub metadata: MetadataHeld,
    pub changed: ChangedTables,
    /// Only the session that prepared it may end it.
    pub attached: bool,
    /// A table that it has changed and that cannot be read now: it can be committed, but not rolled back.
    pub unreadable: Option<String>,
}
