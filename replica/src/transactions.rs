//! Where transactions begin and end among the events of a log.
//!
//! ```text
//!   Gtid              a transaction begins; one that is open was not finished by its source
//!   Query BEGIN         of rows or statements
//!     Table_map, rows, Query, Intvar, User_var ...
//!   Xid, COMMIT       its end; or all of it after the Gtid is a payload
//!
//!   Gtid, Query       a statement of definition, which is its own end
//!
//!   Gtid, Query XA START, rows, Query XA END, XA_prepare      a branch of a distributed transaction
//!   Gtid, Query XA COMMIT                                     its end, later
//! ```
//!
//! Sources that are so old that they write no Gtid events begin with the first event of the transaction itself. The
//! coordinator and the workers read the same events with these rules, and so agree.

use format::binlog::mariadb::{MariadbGtidEvent, gtid_flags};
use format::binlog::{Event, EventKind, FormatDescription, Query};
use sql::parser::ast::Xa;
use sql::session::branch_statement;

use crate::failure::Result;

/// What an event is to the transaction that is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The transaction before was not finished, and is given up.
    pub abandons: bool,
    pub begins: bool,
    pub is_inside: bool,
    pub ends: bool,
}

/// See the module header.
#[derive(Default)]
pub struct Boundaries {
    /// A transaction is open; whether it has said BEGIN.
    open: Option<bool>,
}

impl Boundaries {
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether what is open is more than a statement of definition.
    pub fn has_begun(&self) -> bool {
        self.open == Some(true)
    }

    /// The next event.
    pub fn step(&mut self, event: &Event<'_>) -> Result<Step> {
        let header = event.header;
        let begins = |open: &mut Option<bool>, begun: bool| {
            let abandons = open.replace(begun).is_some();
            Step { abandons, begins: true, ..Step::default() }
        };
        match header.kind {
            EventKind::FORMAT_DESCRIPTION => {
                let (description, _) = FormatDescription::decode(event.bytes)?;
                // The source was started anew: what was open there is no longer.
                let abandons = description.created != 0 && self.open.take().is_some();
                return Ok(Step { abandons, ..Step::default() });
            }
            EventKind::GTID | EventKind::ANONYMOUS_GTID | EventKind::GTID_TAGGED => {
                return Ok(begins(&mut self.open, false));
            }
            EventKind::MARIADB_GTID => {
                let named = MariadbGtidEvent::decode(event.body, header.server_id)?;
                let begun = match named.xid {
                    Some(_) => named.flags & gtid_flags::PREPARED_XA != 0,
                    None => named.flags & gtid_flags::STANDALONE == 0,
                };
                return Ok(begins(&mut self.open, begun));
            }
            EventKind::ROTATE
            | EventKind::STOP
            | EventKind::PREVIOUS_GTIDS
            | EventKind::MARIADB_GTID_LIST
            | EventKind::MARIADB_BINLOG_CHECKPOINT => return Ok(Step::default()),
            // Outside of a transaction it is none.
            EventKind::INCIDENT if self.open.is_none() => return Ok(Step::default()),
            _ => {}
        }
        let is_first = self.open.is_none();
        let begun = self.open.get_or_insert(false);
        let ends = match header.kind {
            EventKind::XID | EventKind::XA_PREPARE | EventKind::TRANSACTION_PAYLOAD => true,
            EventKind::MARIADB_QUERY_COMPRESSED => !*begun,
            EventKind::QUERY => {
                let statement = Query::decode(event.body)?.statement;
                let is = |word: &[u8]| statement.eq_ignore_ascii_case(word);
                match is(b"BEGIN") || matches!(branch_statement(statement), Some(Xa::Start { .. })) {
                    true => {
                        *begun = true;
                        false
                    }
                    false => !*begun || is(b"COMMIT") || is(b"ROLLBACK"),
                }
            }
            _ => false,
        };
        if ends {
            self.open = None;
        }
        Ok(Step { abandons: false, begins: is_first, is_inside: true, ends })
    }
}

#[cfg(test)]
mod tests {
    use format::binlog::{Checksum, Control, Header, StatusVars, event};

    use super::*;

    fn header(kind: EventKind) -> Header {
        Header { timestamp: 0, kind, server_id: 1, bytes: 0, end_position: 0, flags: 0 }
    }

    fn query(statement: &str) -> Vec<u8> {
        let (vars, statement) = (StatusVars::default(), statement.as_bytes());
        let query = Query { connection: 1, seconds: 0, error: 0, vars, database: b"", statement };
        let mut bytes = Vec::new();
        event::append(&mut bytes, header(EventKind::QUERY), Checksum::None, |out| query.encode(out));
        bytes
    }

    fn other(kind: EventKind) -> Vec<u8> {
        let mut bytes = Vec::new();
        event::append(&mut bytes, header(kind), Checksum::None, |out| out.extend_from_slice(&[0; 8]));
        bytes
    }

    #[test]
    fn transactions_and_statements_are_told_apart() {
        let gtid = other(EventKind::ANONYMOUS_GTID);
        let mut rotate = Vec::new();
        let control = Control::Rotate { position: 4, file: b"a" };
        event::append(&mut rotate, header(EventKind::ROTATE), Checksum::None, |out| control.encode(out));
        let (abandons, begins) = (true, true);
        let (none, first) = (Step::default(), Step { begins, ..Step::default() });
        let inside = Step { is_inside: true, ..none };
        let last = Step { ends: true, ..inside };
        let mut boundaries = Boundaries::default();
        for (bytes, wanted) in [
            (rotate.clone(), none),
            (gtid.clone(), first),
            (query("BEGIN"), inside),
            (query("INSERT INTO t VALUES (1)"), inside),
            (rotate, none), // The relay log's next file.
            (other(EventKind::XID), last),
            (gtid.clone(), first),
            (query("create table t (a INT)"), last),
            (gtid.clone(), first),
            (other(EventKind::TRANSACTION_PAYLOAD), last),
            (gtid.clone(), first),
            (query("begin"), inside),
            (gtid, Step { abandons, ..first }),
            (query("BEGIN"), inside),
            (query("ROLLBACK"), last),
            // Without names.
            (query("BEGIN"), Step { begins, ..inside }),
            (query("commit"), last),
            (other(EventKind::INTVAR), Step { begins, ..inside }),
            (query("INSERT INTO t VALUES (NULL)"), last),
        ] {
            let event = Event::decode(&bytes, Checksum::None).unwrap();
            assert_eq!(boundaries.step(&event).unwrap(), wanted, "{:?}", event.header.kind);
        }
    }
}
