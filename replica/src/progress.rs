//! How far the source's log has been applied, and where that is kept.
//!
//! Every transaction of the applier updates its channel's row of `mysql.slave_relay_log_info`, so that it commits with the data. A
//! statement of definition commits in the dictionary, where it leaves a note ([`storage::CommitLog::note`]) with the
//! same content. The one with the higher number is newer.
//!
//! A branch of a distributed transaction that is prepared, and the end of one, commit with neither. Before such a
//! [`Step`] the row says what is about to be done, and how far that brings the replica. Whether it was done is known from
//! the branches that are prepared:
//!
//! ```text
//!   the row commits: XA PREPARE x, and what follows     x is free: not done     x is prepared: done
//!   the row commits: XA COMMIT x, and what follows      x is free: done         x is prepared: not done
//! ```

use format::binlog::mariadb::{MariadbGtid, MariadbPosition};
use format::binlog::{Gtid, GtidSet};
use format::xid::Xid;
use sql::parser::ast::Xa;
use sql::session::branch_statement;

/// See the module header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Counts the changes of this.
    pub number: u64,
    /// The next event to be applied; an empty name is the source's first file.
    pub file: String,
    pub position: u64,
    /// The source's transactions that have names, as far as they have been applied.
    pub applied: GtidSet,
    /// The same of MariaDB's names.
    pub mariadb: MariadbPosition,
}

/// The name of a transaction: MySQL's or MariaDB's, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub gtid: Option<Gtid>,
    pub mariadb: Option<MariadbGtid>,
}

impl Names {
    pub fn is_some(&self) -> bool {
        *self != Names::default()
    }
}

/// What happens to a branch of a distributed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    Prepare,
    Commit,
    Rollback,
}

/// A branch is about to be prepared, or a prepared one to be ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: StepKind,
    pub xid: Xid,
    /// How far the replica is when that has happened.
    pub next: Progress,
}

impl Step {
    /// The statement that stores it together with `progress`, which counts until it has happened.
    pub fn statement(&self, channel: &str, progress: &Progress) -> String {
        let verb = match self.kind {
            StepKind::Prepare => "PREPARE",
            StepKind::Commit => "COMMIT",
            StepKind::Rollback => "ROLLBACK",
        };
        let mut text = format!("XA {verb} {}\n", self.xid.to_hexadecimal()).into_bytes();
        text.extend_from_slice(&self.next.note());
        progress.statement_with(channel, &String::from_utf8_lossy(&text))
    }

    /// Reads what the row has; `None` = the row has no step.
    pub fn parse(text: &str) -> Option<Step> {
        let (statement, note) = text.split_once('\n')?;
        let (kind, xid) = match branch_statement(statement.as_bytes())? {
            Xa::Prepare(xid) => (StepKind::Prepare, xid),
            Xa::Commit { xid, .. } => (StepKind::Commit, xid),
            Xa::Rollback(xid) => (StepKind::Rollback, xid),
            _ => return None,
        };
        Some(Step { kind, xid, next: Progress::of_note(note.as_bytes())? })
    }

    /// Whether it has happened. `is_prepared`: whether the branch is prepared now.
    pub fn has_happened(&self, is_prepared: bool) -> bool {
        is_prepared == (self.kind == StepKind::Prepare)
    }
}

impl Progress {
    /// How far it is behind this place. `is_stored`: what happened until there is committed together with it.
    pub fn after(&self, file: &str, position: u64, names: Names, is_stored: bool) -> Progress {
        let (mut applied, mut mariadb) = (self.applied.clone(), self.mariadb.clone());
        if let Some(gtid) = names.gtid {
            applied.insert(gtid);
        }
        if let Some(gtid) = names.mariadb {
            mariadb.advance(gtid);
        }
        Progress { number: self.number + u64::from(is_stored), file: file.to_owned(), position, applied, mariadb }
    }

    /// The statement that stores it.
    pub fn statement(&self, channel: &str) -> String {
        self.statement_with(channel, "")
    }

    fn statement_with(&self, channel: &str, step: &str) -> String {
        format!(
            "UPDATE mysql.slave_relay_log_info SET Number = {}, Master_log_name = {}, Master_log_pos = {}, \
             Gtid_executed = {}, Xa_step = {} WHERE Channel_name = {}",
            self.number,
            quoted(&self.file),
            self.position,
            quoted(&self.names()),
            quoted(step),
            quoted(channel),
        )
    }

    /// What is stored of the names: a set as MySQL writes it, and the newest of each of MariaDB's domains, with commas
    /// between them.
    fn names(&self) -> String {
        let mut names = self.applied.to_string().replace('\n', "");
        if !self.mariadb.is_empty() {
            let comma = if names.is_empty() { "" } else { "," };
            names.push_str(&format!("{comma}{}", self.mariadb));
        }
        names
    }

    /// Reads [`Progress::names`]: only MySQL's names have colons.
    pub fn parse_names(text: &str) -> Option<(GtidSet, MariadbPosition)> {
        let (applied, mariadb): (Vec<&str>, Vec<&str>) =
            text.split(',').filter(|part| !part.is_empty()).partition(|part| part.contains(':'));
        Some((applied.join(",").parse().ok()?, mariadb.join(",").parse().ok()?))
    }

    /// The note for the dictionary.
    pub fn note(&self) -> Vec<u8> {
        format!("{}\n{}\n{}\n{}", self.number, self.position, self.names(), self.file).into_bytes()
    }

    /// Reads a note; `None` = it is none of ours.
    pub fn of_note(note: &[u8]) -> Option<Progress> {
        let text = std::str::from_utf8(note).ok()?;
        let mut lines = text.splitn(4, '\n');
        let number = lines.next()?.parse().ok()?;
        let position = lines.next()?.parse().ok()?;
        let (applied, mariadb) = Progress::parse_names(lines.next()?)?;
        Some(Progress { number, position, applied, mariadb, file: lines.next()?.to_owned() })
    }
}

/// A text as a literal that every sql_mode reads alike: a backslash and a quote are written in hexadecimal.
pub fn quoted(text: &str) -> String {
    if text.contains(['\'', '\\']) {
        let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        return format!("x'{digits}'");
    }
    format!("'{text}'")
}

/// The number at the end of a log file's name.
pub fn file_number(file: &str) -> Option<u64> {
    file.rsplit_once('.')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back() {
        let applied = "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:7".parse().unwrap();
        let mut progress =
            Progress { number: 9, file: "binlog.000007".to_owned(), position: 1 << 33, applied, ..Progress::default() };
        assert_eq!(Progress::of_note(&progress.note()), Some(progress.clone()));
        progress.mariadb = "0-1-5,7-2-9".parse().unwrap();
        assert_eq!(Progress::of_note(&progress.note()), Some(progress.clone()));
        progress.applied = GtidSet::default();
        assert_eq!(Progress::of_note(&progress.note()), Some(progress));
        assert_eq!(Progress::of_note(&Progress::default().note()), Some(Progress::default()));
        assert_eq!(Progress::of_note(b"something else"), None);
    }

    #[test]
    fn a_step_comes_back_and_the_branch_tells_whether_it_has_happened() {
        let next = Progress { number: 9, file: "binlog.000007".to_owned(), position: 77, ..Progress::default() };
        for kind in [StepKind::Prepare, StepKind::Commit, StepKind::Rollback] {
            let step = Step { kind, xid: Xid::new(1, b"it's", b"\0").unwrap(), next: next.clone() };
            let statement = step.statement("", &Progress::default());
            let stored = statement.split("Xa_step = x'").nth(1).unwrap().split('\'').next().unwrap();
            let bytes = (0..stored.len() / 2).map(|at| u8::from_str_radix(&stored[2 * at..2 * at + 2], 16).unwrap());
            let text = String::from_utf8(bytes.collect()).unwrap();
            assert_eq!(Step::parse(&text), Some(step.clone()), "{text}");
            assert_eq!(step.has_happened(true), kind == StepKind::Prepare);
            assert_eq!(step.has_happened(false), kind != StepKind::Prepare);
        }
        assert_eq!(Step::parse(""), None);
    }

    #[test]
    fn a_text_is_the_same_in_every_mode() {
        assert_eq!(quoted("secret"), "'secret'");
        assert_eq!(quoted("it's"), "x'69742773'");
    }
}
