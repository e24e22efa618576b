//! What statements that look at tables as a whole have in common: they answer a row per table and finding, and read all rows.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, Value};
use storage::schema::{ColumnSet, ReadMode, Row, ScanRange};
use storage::{Table, TableUse, Trx};

use super::{Context, Outcome};
use crate::catalog::{self, storage_error};
use crate::error::{Error, Result};
use crate::partitions::{PartitionSet, Several};
use crate::show::Listing;

/// The rows that these statements answer.
pub struct Answer {
    verb: &'static str,
    /// Which the next row is about.
    pub table: String,
    rows: Vec<Vec<Value>>,
}

impl Answer {
    pub fn new(verb: &'static str, table: String) -> Answer {
        Answer { verb, table, rows: Vec::new() }
    }

    pub fn say(&mut self, kind: &str, text: &str) {
        let cells = [self.table.as_str(), self.verb, kind, text];
        self.rows.push(cells.map(|cell: &str| Value::Bytes(cell.as_bytes().to_vec())).to_vec());
    }

    pub fn outcome(self) -> Outcome {
        let text = |name: &str, chars| {
            (name.to_string(), ColumnType::VarChar { chars, collation: CollationId::UTF8MB4_GENERAL_CI })
        };
        let columns = vec![text("Table", 128), text("Op", 10), text("Msg_type", 10), text("Msg_text", 2048)];
        Outcome { listing: Some(Listing { columns, rows: self.rows }), ..Outcome::default() }
    }
}

/// The table as it is, and stays as long as the transaction.
pub fn open(context: &Context<'_>, database: &str, name: &str) -> Result<(Trx, Arc<Table>)> {
    let mut trx = context.instance.engine.begin(storage::TrxOptions { log: None, ..context.wait.clone() });
    let table = catalog::open(&mut trx, database, name, TableUse::Read)?;
    Ok((trx, table))
}

/// Visits every row, those of a table in partitions in the order of its key, too, until `visit` breaks off.
pub fn each_row(
    context: &Context<'_>,
    trx: &mut Trx,
    table: &Arc<Table>,
    columns: ColumnSet,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<()> {
    let range = ScanRange { lower: Bound::Unbounded, upper: Bound::Unbounded, reverse: false };
    let mut row = Row::new();
    let all = PartitionSet::all(table.files().len());
    let (mut several, mut cursor) = match table.is_partitioned() {
        true => (Some(Several::new(table, &all, 0, ReadMode::Consistent, columns, range, true)), None),
        false => (None, Some(trx.cursor(table, 0, ReadMode::Consistent, columns, range).map_err(storage_error)?)),
    };
    let mut next = |trx: &mut Trx, row: &mut Row| match (&mut several, &mut cursor) {
        (Some(several), _) => several.next(trx, row),
        (_, Some(cursor)) => cursor.next(trx, row),
        (None, None) => Ok(false),
    };
    while next(trx, &mut row).map_err(storage_error)? {
        context.wait.interrupt.pass();
        if context.eval.session.is_interrupted() {
            return Err(Error::interrupted());
        }
        if visit(&row).is_break() {
            break;
        }
    }
    Ok(())
}
