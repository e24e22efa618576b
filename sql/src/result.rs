//! Where results go: the seam between statements and the connection that asked.
//!
//! A session writes into a [`ResultSink`]; the server's sinks make packets of it
//! (text or binary), the tests' sink collects values. A statement that returns
//! rows calls `columns` once, `row` or `row_stored` for each row, and `ok`, which
//! then ends the rows. A statement without rows calls only `ok`. A failing
//! statement calls `error`, possibly after some rows. Several statements in one
//! text repeat this, with [`status::MORE_RESULTS`](format::packet::status) set in
//! every `ok` but the last.
//!
//! The fast path is `row_stored`: the stored bytes of a row, as storage read them,
//! are rendered straight into the packet; no [`Value`] is made.

use std::time::Duration;

use format::collation::Charset;
pub use format::packet::ColumnDefinition;
use format::value::{ColumnType, Value, Zone};
use storage::Row;

use crate::error::Error;

/// How a statement ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OkSummary<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    /// The status flags of the protocol: in a transaction, autocommit, more results ...
    pub status: u16,
    pub warnings: u16,
    /// "Rows matched: 1  Changed: 1  Warnings: 0" and its kin; often empty.
    pub info: &'a str,
    /// What of the session changed, encoded, for clients that read session tracking.
    pub changes: &'a [u8],
}

/// One column of a stored row that goes to the client as it is.
#[derive(Clone, Debug)]
pub struct StoredColumn {
    /// The column's place in the table, which is its place in a [`Row`].
    pub column: usize,
    pub ty: ColumnType,
}

/// Takes the results of statements that nobody reads, and keeps the first error.
#[derive(Debug, Default)]
pub struct Unread {
    pub error: Option<Error>,
}

impl ResultSink for Unread {
    fn columns(&mut self, _columns: &[ColumnDefinition]) {}

    fn row(&mut self, _values: &[Value], _types: &[ColumnType]) {}

    fn row_stored(&mut self, _row: &Row, _columns: &[StoredColumn], _zone: Zone) {}

    fn ok(&mut self, _summary: &OkSummary<'_>) {}

    fn error(&mut self, error: &Error) {
        self.error.get_or_insert_with(|| error.clone());
    }
}

/// Receives what a statement answers.
pub trait ResultSink {
    /// The character set in which the names of columns and the messages of the statements that follow are sent; `None`:
    /// in UTF-8. The conversion of values is the matter of their columns.
    fn answer_in(&mut self, _results: Option<Charset>) {}

    /// The columns of the rows that follow.
    fn columns(&mut self, columns: &[ColumnDefinition]);

    /// The same for rows that are no result: the flags of the protocol say what they are, before them and behind.
    fn columns_of(&mut self, columns: &[ColumnDefinition], _status: u16) {
        self.columns(columns);
    }

    /// A computed row. `types` are those of the columns, and say how to render each value.
    fn row(&mut self, values: &[Value], types: &[ColumnType]);

    /// A row straight from storage; `zone` is the session's, in which TIMESTAMP columns are shown.
    fn row_stored(&mut self, row: &Row, columns: &[StoredColumn], zone: Zone);

    /// The end of the rows, or of a statement without any.
    fn ok(&mut self, summary: &OkSummary<'_>);

    /// The statement failed.
    fn error(&mut self, error: &Error);

    /// Asks the client for a file of its own (LOAD DATA LOCAL), which comes in packets no larger than this; a client
    /// that is silent for so long has gone.
    fn begin_file(&mut self, _name: &[u8], _packet_bytes_max: usize, _patience: Duration) -> Result<(), Error> {
        Err(Error::local_files_disabled())
    }

    /// Appends the next piece of the file; false: it has ended. What of it is not read is passed over before the
    /// statement's answer is sent.
    fn read_file(&mut self, _out: &mut Vec<u8>) -> Result<bool, Error> {
        Err(Error::local_files_disabled())
    }
}
