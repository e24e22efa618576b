//! gtid_next: the name of the session's next transaction; gtid_purged, gtid_mode.
//!
//! ```text
//!   SET gtid_next = 'u:5'   the session owns the name        |  COMMIT: logged under it; without changes an empty one
//!                           or: it is executed already       |  what changes anything is passed over
//!   COMMIT or ROLLBACK      used: error 1837 until gtid_next is set again
//! ```
//!
//! This is what makes the text of a log harmless when it is replayed twice.

use std::sync::Arc;

use binlog::{BinaryLog, Chosen, Name, PurgedRefusal};
use format::binlog::mariadb::NoPosition;
use format::binlog::{Gtid, GtidSet};
use format::value::Value;

use super::Session;
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::row_log::DefinitionLog;

/// What gtid_next says.
#[derive(Default)]
pub(super) enum Next {
    #[default]
    Automatic,
    Anonymous,
    Owned(OwnedName),
    /// A transaction has this name already.
    Executed(Gtid),
    /// The transaction of this name has ended.
    Used(Gtid),
}

/// A name that the session owns; dropping this releases it.
pub(super) struct OwnedName {
    log: Arc<BinaryLog>,
    gtid: Gtid,
}

impl Drop for OwnedName {
    fn drop(&mut self) {
        self.log.release_name(self.gtid);
    }
}

impl Next {
    /// How a transaction gets its name.
    pub fn name(&self) -> Name {
        match self {
            Next::Anonymous => Name::Anonymous,
            Next::Owned(owned) => Name::Given(owned.gtid),
            Next::Automatic | Next::Executed(_) | Next::Used(_) => Name::Automatic,
        }
    }

    /// gtid_owned of the session.
    pub fn owned(&self) -> String {
        match self {
            Next::Owned(owned) => owned.gtid.to_string(),
            Next::Anonymous => "ANONYMOUS".to_owned(),
            _ => String::new(),
        }
    }

    fn given(&self) -> Option<Gtid> {
        match self {
            Next::Owned(owned) => Some(owned.gtid),
            Next::Executed(gtid) | Next::Used(gtid) => Some(*gtid),
            Next::Automatic | Next::Anonymous => None,
        }
    }
}

/// The modes, in the order in which they may follow each other.
const MODES: [&str; 4] = ["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"];

/// gtid_owned of the server.
pub(super) fn all_owned(log: &BinaryLog) -> String {
    let names = log.owned_names();
    let names: Vec<String> = names.iter().map(|(gtid, session)| format!("{gtid}#{session}")).collect();
    names.join(",\n")
}

impl Session {
    /// SET gtid_next; `None` is the default.
    pub(super) fn set_gtid_next(&mut self, value: Option<&Value>) -> Result<()> {
        let text = match value {
            None => "AUTOMATIC".to_owned(),
            Some(Value::Bytes(text)) => String::from_utf8_lossy(text).trim().to_owned(),
            Some(_) => return Err(Error::wrong_type_for_variable("gtid_next")),
        };
        if self.has_transaction() || self.own_xid().is_some() {
            if let Some(gtid) = self.state.gtid_next.given() {
                let text = format!(
                    "@@SESSION.GTID_NEXT cannot be changed by a client that owns a GTID. The client owns {gtid}. Ownership \
                     is released on COMMIT or ROLLBACK."
                );
                return Err(Error::new(1790, b"HY000", text));
            }
            let text = "The system variable @@SESSION.GTID_NEXT cannot change inside a transaction.";
            return Err(Error::new(1768, b"HY000", text));
        }
        let mode = self.instance.variables.text("gtid_mode");
        let next = match text.to_ascii_uppercase().as_str() {
            "AUTOMATIC" => Next::Automatic,
            "ANONYMOUS" if mode == "ON" => {
                let text = "@@SESSION.GTID_NEXT cannot be set to ANONYMOUS when @@GLOBAL.GTID_MODE = ON.";
                return Err(Error::new(1782, b"HY000", text));
            }
            "ANONYMOUS" => Next::Anonymous,
            _ => {
                let malformed = || Error::new(1774, b"HY000", format!("Malformed GTID specification '{text}'."));
                let gtid: Gtid = text.parse().map_err(|_| malformed())?;
                let Some(log) = self.instance.log.clone().filter(|_| mode != "OFF") else {
                    let text = "@@SESSION.GTID_NEXT cannot be set to UUID:NUMBER when @@GLOBAL.GTID_MODE = OFF.";
                    return Err(Error::new(1781, b"HY000", text));
                };
                // The one that it has now is free first, for it may be the same.
                self.state.gtid_next = Next::Automatic;
                match log.choose_name(gtid, self.process.id, &|| self.process.interrupt.is_set()) {
                    Chosen::Owned => Next::Owned(OwnedName { log, gtid }),
                    Chosen::Executed => Next::Executed(gtid),
                    Chosen::Killed => return Err(Error::interrupted()),
                }
            }
        };
        let shown = next.given().map_or_else(|| text.to_ascii_uppercase(), |gtid| gtid.to_string());
        self.state.gtid_next = next;
        self.variables.set("gtid_next", &Value::Bytes(shown.into_bytes())).map(drop)
    }

    /// A statement that changes something begins. True: it is passed over, because its transaction is executed already.
    pub(super) fn passes_over(&self) -> Result<bool> {
        match self.state.gtid_next {
            Next::Executed(_) => Ok(true),
            Next::Used(gtid) => {
                let text = format!(
                    "When @@SESSION.GTID_NEXT is set to a GTID, you must explicitly set it to a different value after a \
                     COMMIT or ROLLBACK. Please check GTID_NEXT variable manual page for detailed explanation. Current \
                     @@SESSION.GTID_NEXT is '{gtid}'."
                );
                Err(Error::new(1837, b"HY000", text))
            }
            _ => Ok(false),
        }
    }

    /// An error if a statement that commits would take the name from the transaction that is open.
    pub(super) fn check_implicit_commit(&self) -> Result<()> {
        match self.state.gtid_next.given() {
            Some(gtid) if self.has_transaction() => {
                let text = format!(
                    "Cannot execute statements with implicit commit inside a transaction when @@SESSION.GTID_NEXT == \
                     '{gtid}'."
                );
                Err(Error::new(1778, b"HY000", text))
            }
            _ => Ok(()),
        }
    }

    /// A transaction has ended, or a statement that is one. If it was committed and nothing of it is logged, an empty one
    /// is, so that its name is executed.
    pub(super) fn end_named(&mut self, committed: bool) -> Result<()> {
        let Some(gtid) = self.state.gtid_next.given() else { return Ok(()) };
        let owned = std::mem::replace(&mut self.state.gtid_next, Next::Used(gtid));
        let Next::Owned(owned) = owned else { return Ok(()) };
        if !committed || self.own_log().is_none() || owned.log.has_executed(gtid) {
            return Ok(());
        }
        DefinitionLog::log_empty(&owned.log, &self.statement_facts(), Name::Given(gtid)).or_sql()
    }

    /// SET GLOBAL gtid_purged.
    pub(super) fn set_gtid_purged(&mut self, value: &Value) -> Result<()> {
        let Value::Bytes(text) = value else { return Err(Error::wrong_type_for_variable("gtid_purged")) };
        let text = String::from_utf8_lossy(text);
        let (adds, names) = match text.trim_start().strip_prefix('+') {
            Some(names) => (true, names),
            None => (false, &text[..]),
        };
        let malformed = || Error::new(1772, b"HY000", format!("Malformed GTID set specification '{names}'."));
        let set: GtidSet = names.parse().map_err(|_| malformed())?;
        let Some(log) = self.instance.log.clone() else {
            let text = "gtid_purged is kept in the binary log, which is off";
            self.warnings.push(Error::new(1381, b"HY000", text).into_warning());
            return Ok(());
        };
        let cannot =
            |why: &str| Err(Error::new(3546, b"HY000", format!("@@GLOBAL.GTID_PURGED cannot be changed: {why}")));
        match log.set_purged(&set, adds).or_sql()? {
            Ok(()) => Ok(()),
            Err(PurgedRefusal::Overlaps) => cannot("the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED"),
            Err(PurgedRefusal::NoSuperset) => cannot("the new value must be a superset of the old value"),
            Err(PurgedRefusal::Owned) => {
                let text = "@@GLOBAL.GTID_PURGED can only be set when there are no ongoing transactions (not even in other \
                            clients).";
                Err(Error::new(1841, b"HY000", text))
            }
        }
    }

    /// SET GLOBAL gtid_slave_pos: from where on a MariaDB source is read.
    pub(super) fn set_gtid_slave_pos(&mut self, value: &Value) -> Result<()> {
        let Value::Bytes(text) = value else { return Err(Error::wrong_type_for_variable("gtid_slave_pos")) };
        let position = String::from_utf8_lossy(text).parse().map_err(|why| match why {
            NoPosition::Malformed => Error::new(1941, b"HY000", "Could not parse GTID list"),
            NoPosition::Conflict(one, other) => {
                let domain = one.domain;
                let text = format!("GTID {one} and {other} conflict (duplicate domain id {domain})");
                Error::new(1943, b"HY000", text)
            }
        })?;
        let replication = self.instance.replication();
        replication.ok_or_else(|| Error::unsupported("replication by this program"))?.set_mariadb_position(position)
    }

    /// Whether gtid_mode and enforce_gtid_consistency may change so.
    pub(super) fn check_gtid_variable(&self, name: &str, value: Option<&Value>) -> Result<()> {
        let globals = &self.instance.variables;
        let wanted = match value {
            Some(Value::Bytes(text)) => String::from_utf8_lossy(text).to_ascii_uppercase(),
            Some(Value::Int(number)) => number.to_string(),
            Some(Value::UInt(number)) => number.to_string(),
            _ => "OFF".to_owned(),
        };
        let mode = globals.text("gtid_mode");
        let number = |mode: &str| mode.parse::<usize>().ok().filter(|number| *number < MODES.len());
        let place = |mode: &str| MODES.iter().position(|known| *known == mode).or_else(|| number(mode));
        match name {
            "gtid_mode" => {
                let (Some(before), Some(after)) = (place(&mode), place(&wanted)) else { return Ok(()) };
                if before.abs_diff(after) > 1 {
                    let text = "The value of @@GLOBAL.GTID_MODE can only be changed one step at a time: OFF <-> \
                                OFF_PERMISSIVE <-> ON_PERMISSIVE <-> ON. Also note that this value must be stepped up or \
                                down simultaneously on all servers. See the Manual for instructions.";
                    return Err(Error::new(1788, b"HY000", text));
                }
                if MODES[after] == "ON" && globals.text("enforce_gtid_consistency") != "ON" {
                    let text = "SET @@GLOBAL.GTID_MODE = ON is not allowed because ENFORCE_GTID_CONSISTENCY is not ON.";
                    return Err(Error::new(3111, b"HY000", text));
                }
                Ok(())
            }
            _ if mode == "ON" && !matches!(wanted.as_str(), "ON" | "1") => {
                Err(Error::new(1779, b"HY000", "GTID_MODE = ON requires ENFORCE_GTID_CONSISTENCY = ON."))
            }
            _ => Ok(()),
        }
    }
}
