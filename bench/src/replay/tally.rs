//! What a replay found: counts, and every difference with both answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::compare::{Kind, Reply};
use super::known::Known;

/// Features that the summary names; the others are summed.
const MISSING_SHOWN: usize = 40;

/// A difference that nothing explains.
#[derive(Debug, Clone)]
pub struct Difference {
    pub kind: Kind,
    pub stream: String,
    pub event: usize,
    pub statement: String,
    pub ours: String,
    pub peer: String,
    /// What was found out about it, and what led to it.
    pub note: String,
}

/// A statement that took Glassine far longer than MariaDB.
#[derive(Debug, Clone)]
pub struct Slow {
    pub stream: String,
    pub statement: String,
    pub ours: Duration,
    pub peer: Duration,
}

/// The sums of a replay, or of a part of it.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    pub statements: u64,
    pub same: u64,
    /// By reason.
    pub left_out: BTreeMap<&'static str, u64>,
    /// Names a table on which the servers parted before.
    pub apart: u64,
    /// How many of these there were after each statement by which they parted.
    pub apart_since: BTreeMap<String, u64>,
    /// Differs where the statement leaves the choice to the server; by reason.
    pub undecided: BTreeMap<&'static str, u64>,
    /// What Glassine says it has not (1235), by its name.
    pub missing: BTreeMap<String, u64>,
    /// By number of the entry.
    pub known: BTreeMap<usize, u64>,
    pub differences: Vec<Difference>,
    pub slow: Vec<Slow>,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.statements += other.statements;
        self.same += other.same;
        self.apart += other.apart;
        for (cause, count) in other.apart_since {
            *self.apart_since.entry(cause).or_default() += count;
        }
        for (reason, count) in other.left_out {
            *self.left_out.entry(reason).or_default() += count;
        }
        for (reason, count) in other.undecided {
            *self.undecided.entry(reason).or_default() += count;
        }
        for (name, count) in other.missing {
            *self.missing.entry(name).or_default() += count;
        }
        for (entry, count) in other.known {
            *self.known.entry(entry).or_default() += count;
        }
        self.differences.extend(other.differences);
        self.slow.extend(other.slow);
    }

    /// Differences that a client would take for a wrong answer, a dead server or one that hangs.
    pub fn wrong(&self) -> impl Iterator<Item = &Difference> {
        let wrong = [Kind::Died, Kind::Hang, Kind::Rows, Kind::Order, Kind::Affected];
        self.differences.iter().filter(move |difference| wrong.contains(&difference.kind))
    }

    /// The sums as lines.
    pub fn summary(&self, known: &Known) -> String {
        let mut text = String::new();
        let mut line = |count: u64, what: &str| {
            let _ = writeln!(text, "{count:>9}  {what}"); // Writing to a String cannot fail.
        };
        line(self.statements, "statements");
        line(self.same, "the same on both");
        line(self.apart, "after a refusal: they name tables on which the servers parted before");
        line(self.left_out.values().sum(), "not replayed");
        for (reason, &count) in &self.left_out {
            line(count, &format!("    {reason}"));
        }
        line(self.undecided.values().sum(), "differ where the statement leaves the choice");
        for (reason, &count) in &self.undecided {
            line(count, &format!("    {reason}"));
        }
        line(self.missing.values().sum(), "refused because Glassine does not have it (1235)");
        let mut missing: Vec<_> = self.missing.iter().collect();
        missing.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (name, count) in missing.iter().take(MISSING_SHOWN) {
            line(**count, &format!("    {name}"));
        }
        if let Some(rest) = missing.get(MISSING_SHOWN..).filter(|rest| !rest.is_empty()) {
            line(rest.iter().map(|(_, count)| **count).sum(), &format!("    {} others", rest.len()));
        }
        line(self.known.values().sum(), "differ as known.txt says");
        for (&entry, &count) in &self.known {
            line(count, &format!("    {}", known.entries[entry].because));
        }
        line(self.differences.len() as u64, "differ and nothing explains it");
        let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
        for difference in &self.differences {
            *kinds.entry(difference.kind).or_default() += 1;
        }
        for (kind, count) in kinds {
            line(count, &format!("    {}", kind.name()));
        }
        line(self.slow.len() as u64, "took Glassine more than 20 times as long as MariaDB");
        text
    }

    /// Writes `differences.txt`, `apart.txt` and `slow.txt`.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        std::fs::create_dir_all(directory)?;
        std::fs::write(directory.join("differences.txt"), grouped(&self.differences, "mariadb"))?;
        let mut causes: Vec<_> = self.apart_since.iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let lines: Vec<String> = causes.iter().map(|(cause, count)| format!("{count:>7}  {cause}\n")).collect();
        std::fs::write(directory.join("apart.txt"), lines.concat())?;
        let mut slow = self.slow.clone();
        slow.sort_by_key(|slow| std::cmp::Reverse(slow.ours));
        let mut text = String::new();
        for one in slow {
            let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
            let (ours, peer) = (milliseconds(one.ours), milliseconds(one.peer));
            let _ =
                writeln!(text, "{ours:9.1} ms against {peer:7.1}  {}: {}", one.stream, shortened(&one.statement, 300));
        }
        std::fs::write(directory.join("slow.txt"), text)
    }
}

/// Every difference with both answers, those of a kind that belong together under one head; the heads come first.
pub fn grouped(differences: &[Difference], peer: &str) -> String {
    let mut groups: BTreeMap<(Kind, String), Vec<&Difference>> = BTreeMap::new();
    for difference in differences {
        groups.entry((difference.kind, group(difference))).or_default().push(difference);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|((kind, _), members)| (*kind, std::cmp::Reverse(members.len())));
    let (mut head, mut body) = (String::new(), String::new());
    let peer = format!("{peer}:");
    for ((kind, name), members) in &groups {
        // Writing to a String cannot fail.
        let _ = writeln!(head, "{:>7}  {}  {name}", members.len(), kind.name());
        let _ = writeln!(body, "\n==== {} x {}  {name}", members.len(), kind.name());
        for member in members {
            let _ = writeln!(body, "\n-- {} at {}", member.stream, member.event);
            let _ = writeln!(body, "{}", member.statement);
            let _ = writeln!(body, "  glassine: {}\n  {peer:<9} {}", member.ours, member.peer);
            if !member.note.is_empty() {
                let _ = writeln!(body, "  {}", member.note);
            }
        }
    }
    format!("{head}\n{body}")
}

/// Refusals belong together by what they say, wrong answers by where they come from.
fn group(difference: &Difference) -> String {
    match difference.kind {
        Kind::Refused => skeleton(&difference.ours),
        Kind::Accepted => skeleton(&difference.peer),
        Kind::Errors => format!("{} | {}", skeleton(&difference.ours), skeleton(&difference.peer)),
        _ => difference.stream.clone(),
    }
}

/// A message without what is quoted in it and without numbers after its code.
fn skeleton(message: &str) -> String {
    let mut text = String::new();
    let mut quote = None;
    for (at, letter) in message.char_indices() {
        match quote {
            Some(end) if letter == end => {
                quote = None;
                text.push_str("..");
            }
            Some(_) => continue,
            None if matches!(letter, '\'' | '`' | '"') => {
                quote = Some(letter);
                continue;
            }
            None => {}
        }
        if !(letter.is_ascii_digit() && at > 12) && quote.is_none() {
            text.push(letter);
        }
    }
    shortened(&text, 140)
}

/// The beginning of a text, on one line.
pub fn shortened(text: &str, characters: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= characters {
        return line;
    }
    line.chars().take(characters).collect::<String>() + " ..."
}

/// A reply as the report shows it.
pub fn show(reply: &Reply) -> String {
    let answers = match reply {
        Err(error) => {
            return match error.code() {
                Some(code) => format!("{code}: {error}"),
                None => error.to_string(),
            };
        }
        Ok(answers) => answers,
    };
    let one = |answer: &crate::client::Answer| {
        if answer.columns.is_empty() {
            return format!("{} affected", answer.affected);
        }
        let cell = |cell: &Option<String>| cell.as_ref().map_or("NULL".into(), |text| shortened(text, 120));
        let row = |row: &Vec<Option<String>>| row.iter().map(cell).collect::<Vec<_>>().join(" | ");
        let rows: Vec<String> = answer.rows.iter().take(12).map(row).collect();
        format!("{} rows: {}", answer.rows.len() as u64 + answer.rows_beyond, rows.join(" // "))
    };
    answers.iter().map(one).collect::<Vec<_>>().join(" ;; ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn messages_with_other_names_belong_together() {
        let skeleton = |text: &str| super::skeleton(&format!("1054: ERROR 1054 (42S22): {text}"));
        assert_eq!(skeleton("Unknown column 'a' in 'where clause'"), skeleton("Unknown column 'b12' in 'field list'"));
        assert_ne!(skeleton("Unknown column 'a'"), skeleton("Unknown table 'a'"));
    }
}
