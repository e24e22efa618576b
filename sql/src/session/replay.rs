//! BINLOG: events of a binary log as base64 text, printed by `glassine binlog`, mysqlbinlog or mariadb-binlog.
//!
//! ```text
//!   BINLOG 'Format_description'               kept: how the events of later statements are to be read
//!   BINLOG 'Table_map, rows, rows, ...'       changes of the session's transaction, like those of UPDATE
//! ```
//!
//! A statement of the source ends with the rows event that says so, or with the text. It is applied as one: after an error
//! nothing of it has happened, and what stands before it in the text has, as in MySQL. Statements and transactions around
//! the rows are in the printed text as such. What is applied is logged here as any other change is.
//!
//! Each event is encoded for itself, so padding may stand in the middle of the text.

use std::collections::HashMap;
use std::sync::Arc;

use format::binlog::rows::row_flags;
use format::binlog::{Control, Event, EventKind, FormatDescription, HEADER_BYTES, Header, Rows, TableMap};
use format::value::Value;

use super::Session;
use crate::base64;
use crate::error::{Error, Result};
use crate::parser::ast::PrepareSource;

/// What stands in front of the columns if the source's server did not say it.
const TABLE_ID_BYTES: usize = 8;
const ROWS_HEAD_BYTES: usize = 10;

/// Statements of the source, as the events tell them.
#[derive(Default)]
struct Changes<'e> {
    maps: HashMap<u64, TableMap>,
    rows: Vec<Rows<'e>>,
    timestamp: u32,
    /// The text of the statement.
    text: Option<&'e [u8]>,
}

impl Session {
    /// BINLOG.
    pub(super) fn replay(&mut self, parts: &[PrepareSource]) -> Result<()> {
        let mut text = Vec::new();
        for part in parts {
            match part {
                PrepareSource::Text(part) => text.extend_from_slice(part),
                PrepareSource::Variable(name) => match self.user_variable(name) {
                    Some(Value::Bytes(part)) => text.extend_from_slice(&part),
                    _ => return Err(Error::wrong_type_for_variable(name)),
                },
            }
        }
        let events = base64::decode(&text, true).ok_or_else(not_base64)?;
        drop(text);
        if events.is_empty() {
            return Err(cut(0));
        }
        let mut changes = Changes::default();
        let mut at = 0;
        while at < events.len() {
            let bytes = first_event(&events[at..]).ok_or_else(|| cut(at))?;
            self.replay_event(bytes, &mut changes)?;
            at += bytes.len();
        }
        self.replay_rows(&mut changes)
    }

    fn replay_event<'e>(&mut self, bytes: &'e [u8], changes: &mut Changes<'e>) -> Result<()> {
        let kind = Header::decode(bytes).map_err(corrupt)?.kind;
        if kind == EventKind::FORMAT_DESCRIPTION {
            let (description, _) = FormatDescription::decode(bytes).map_err(corrupt)?;
            self.description = Some(Arc::new(description));
            return Ok(());
        }
        let name = kind.name();
        let Some(description) = self.description.clone() else {
            let text = format!(
                "The BINLOG statement of type `{name}` was not preceded by a format description BINLOG statement."
            );
            return Err(Error::new(1609, b"HY000", text));
        };
        let event = Event::decode(bytes, description.checksum).map_err(corrupt)?;
        match kind {
            EventKind::TABLE_MAP => {
                let head = description.post_header_bytes(kind, TABLE_ID_BYTES);
                let map = TableMap::decode(event.body, head).map_err(corrupt)?;
                changes.maps.insert(map.id, map);
            }
            EventKind::ROWS_QUERY => {
                if let Some(Control::RowsQuery(text)) = Control::decode(&event).map_err(corrupt)? {
                    changes.text = Some(text);
                }
            }
            EventKind::MARIADB_ANNOTATE_ROWS => changes.text = Some(event.body),
            _ => {
                let head = description.post_header_bytes(kind, ROWS_HEAD_BYTES);
                let Some(rows) = Rows::decode(&event, head).map_err(corrupt)? else {
                    let text = format!(
                        "Only Format_description_log_event and row events are allowed in BINLOG statements (but {name} \
                         was provided)"
                    );
                    return Err(Error::new(1730, b"HY000", text));
                };
                let ends = rows.flags & row_flags::STATEMENT_END != 0;
                changes.timestamp = event.header.timestamp;
                changes.rows.push(rows);
                if ends {
                    return self.replay_rows(changes);
                }
            }
        }
        Ok(())
    }

    /// Applies the rows of a statement.
    fn replay_rows(&mut self, changes: &mut Changes<'_>) -> Result<()> {
        let Changes { maps, rows, timestamp, text } = std::mem::take(changes);
        let Some(first) = rows.first() else { return Ok(()) };
        if self.only_reads() {
            return Err(Error::read_only_transaction());
        }
        self.check_branch_active()?;
        self.check_writable()?;
        if self.passes_over()? {
            return Ok(());
        }
        let flags = first.flags;
        let mut events = Vec::with_capacity(rows.len());
        for rows in &rows {
            // MySQL ends a statement by rows of no table.
            let is_end = rows.columns == 0 && rows.flags & row_flags::STATEMENT_END != 0;
            match maps.get(&rows.table_id) {
                Some(map) => events.push((map, rows)),
                None if is_end => {}
                None => return Err(corrupt("rows of no table")),
            }
        }
        let settings = &mut self.variables.settings;
        let own = (settings.foreign_key_checks, settings.unique_checks, self.state.timestamp.get());
        settings.foreign_key_checks = flags & row_flags::NO_FOREIGN_KEY_CHECKS == 0;
        settings.unique_checks = flags & row_flags::RELAXED_UNIQUE_CHECKS == 0;
        self.state.timestamp.set(Some((i64::from(timestamp), 0)));
        let is_idempotent = settings.idempotent_rows;
        let applied = self.change_rows(&events, text, timestamp, is_idempotent);
        let settings = &mut self.variables.settings;
        (settings.foreign_key_checks, settings.unique_checks) = (own.0, own.1);
        self.state.timestamp.set(own.2);
        applied
    }
}

fn corrupt(cause: impl std::fmt::Display) -> Error {
    Error::new(1610, b"HY000", format!("Corrupted replication event was detected: {cause}"))
}

fn not_base64() -> Error {
    Error::new(1575, b"HY000", "Decoding of base64 string failed")
}

/// MySQL calls it an error of syntax.
fn cut(at: usize) -> Error {
    let text = format!(
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the \
         right syntax to use (BINLOG: there is no whole event at byte {at})"
    );
    Error::new(1149, b"42000", text)
}

/// The first of some events, if all of it is there.
fn first_event(bytes: &[u8]) -> Option<&[u8]> {
    let length = bytes.get(9..13)?;
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    (length >= HEADER_BYTES).then(|| bytes.get(..length)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_event_is_none() {
        let mut event = vec![0; 19];
        event[9] = 19;
        assert_eq!(first_event(&event), Some(&event[..]));
        assert_eq!(first_event(&event[..18]), None);
        assert_eq!(first_event(&event[..5]), None);
        event[9] = 18;
        assert_eq!(first_event(&event), None);
        event[9..13].fill(0xFF);
        assert_eq!(first_event(&event), None);
    }
}
