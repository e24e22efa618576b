//! Where the results of a procedure's statements go: rows to the client, errors to the program.

use std::time::Duration;

use format::packet::ColumnDefinition;
use format::value::{ColumnType, Value, Zone};
use storage::Row;

use crate::error::Error;
use crate::result::{OkSummary, ResultSink, StoredColumn};

/// Takes nothing.
pub struct Nobody;

impl ResultSink for Nobody {
    fn columns(&mut self, _columns: &[ColumnDefinition]) {}
    fn row(&mut self, _values: &[Value], _types: &[ColumnType]) {}
    fn row_stored(&mut self, _row: &Row, _columns: &[StoredColumn], _zone: Zone) {}
    fn ok(&mut self, _summary: &OkSummary<'_>) {}
    fn error(&mut self, _error: &Error) {}
}

/// A result goes to the client once it has a row or has ended: so a statement that fails before sends nothing.
pub struct ProgramSink<'s> {
    pub client: &'s mut dyn ResultSink,
    /// Columns that wait for the first row.
    held: Option<Vec<ColumnDefinition>>,
    in_rows: bool,
    pub error: Option<Error>,
}

impl<'s> ProgramSink<'s> {
    pub fn new(client: &'s mut dyn ResultSink) -> ProgramSink<'s> {
        ProgramSink { client, held: None, in_rows: false, error: None }
    }

    fn send_columns(&mut self) {
        if let Some(columns) = self.held.take() {
            self.client.columns(&columns);
            self.in_rows = true;
        }
    }

    /// The statement has failed behind its first row.
    pub fn is_partial(&self) -> bool {
        self.error.is_some() && self.in_rows
    }
}

impl ResultSink for ProgramSink<'_> {
    fn columns(&mut self, columns: &[ColumnDefinition]) {
        self.held = Some(columns.to_vec());
    }

    fn row(&mut self, values: &[Value], types: &[ColumnType]) {
        self.send_columns();
        self.client.row(values, types);
    }

    fn row_stored(&mut self, row: &Row, columns: &[StoredColumn], zone: Zone) {
        self.send_columns();
        self.client.row_stored(row, columns, zone);
    }

    fn ok(&mut self, summary: &OkSummary<'_>) {
        self.send_columns();
        if self.in_rows {
            self.client.ok(summary);
            self.in_rows = false;
        }
    }

    fn error(&mut self, error: &Error) {
        self.held = None;
        self.error = Some(error.clone());
    }

    fn begin_file(&mut self, name: &[u8], packet_bytes_max: usize, patience: Duration) -> Result<(), Error> {
        self.client.begin_file(name, packet_bytes_max, patience)
    }

    fn read_file(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        self.client.read_file(out)
    }
}
