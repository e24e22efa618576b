//! How far the source's log has been applied, and where that is kept.
//!
//! Every transaction of the applier updates the row of `mysql.slave_relay_log_info`, so that it commits with the data. A
//! statement of definition commits in the dictionary, where it leaves a note ([`storage::CommitLog::note`]) with the
//! same content. The one with the higher number is newer.

use format::binlog::GtidSet;

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
}

impl Progress {
    /// The statement that stores it.
    pub fn statement(&self) -> String {
        format!(
            "UPDATE mysql.slave_relay_log_info SET Number = {}, Master_log_name = {}, Master_log_pos = {}, \
             Gtid_executed = {} WHERE Channel_name = ''",
            self.number,
            quoted(&self.file),
            self.position,
            quoted(&self.applied_text()),
        )
    }

    pub fn applied_text(&self) -> String {
        self.applied.to_string().replace('\n', "")
    }

    /// The note for the dictionary.
    pub fn note(&self) -> Vec<u8> {
        format!("{}\n{}\n{}\n{}", self.number, self.position, self.applied_text(), self.file).into_bytes()
    }

    /// Reads a note; `None` = it is none of ours.
    pub fn of_note(note: &[u8]) -> Option<Progress> {
        let text = std::str::from_utf8(note).ok()?;
        let mut lines = text.splitn(4, '\n');
        let number = lines.next()?.parse().ok()?;
        let position = lines.next()?.parse().ok()?;
        let applied = lines.next()?.parse().ok()?;
        Some(Progress { number, position, applied, file: lines.next()?.to_owned() })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_comes_back() {
        let applied = "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:7".parse().unwrap();
        let progress = Progress { number: 9, file: "binlog.000007".to_owned(), position: 1 << 33, applied };
        assert_eq!(Progress::of_note(&progress.note()), Some(progress));
        assert_eq!(Progress::of_note(&Progress::default().note()), Some(Progress::default()));
        assert_eq!(Progress::of_note(b"something else"), None);
    }

    #[test]
    fn a_text_is_the_same_in_every_mode() {
        assert_eq!(quoted("secret"), "'secret'");
        assert_eq!(quoted("it's"), "x'69742773'");
    }
}
