//! Differences that are MySQL's rule against MariaDB's: the list in `known.txt`, and how it is read.
//!
//! An entry is a reason and the patterns that it covers; entries are separated by empty lines:
//!
//! ```text
//! because MySQL refuses a date that does not exist, MariaDB compares it as NULL with a warning
//! kind refused
//! statement ^select .* date
//! ours ^1525
//! ```
//!
//! `kind` is one of the names of [`Kind`], several of them with spaces between; `file` (the stream's name),
//! `statement`, `ours` and `mariadb` are regular expressions, without regard to case. A pattern that is not given covers
//! everything. `file` is for rows that an earlier statement stored otherwise: the SELECT that shows them says nothing of
//! the rule.

use std::io;

use regex::{Regex, RegexBuilder};

use super::compare::Kind;

/// One reason and what it covers.
#[derive(Debug)]
pub struct Entry {
    pub because: String,
    kinds: Vec<String>,
    file: Option<Regex>,
    statement: Option<Regex>,
    ours: Option<Regex>,
    mariadb: Option<Regex>,
}

/// The whole list.
#[derive(Debug)]
pub struct Known {
    pub entries: Vec<Entry>,
}

impl Known {
    /// The list of the repository.
    pub fn of_repository() -> io::Result<Known> {
        Known::parse(include_str!("known.txt"))
    }

    pub fn parse(text: &str) -> io::Result<Known> {
        let mut entries: Vec<Entry> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let wrong = |why: &str| io::Error::other(format!("known.txt:{}: {why}", number + 1));
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (word, rest) = line.split_once(' ').ok_or_else(|| wrong("a word and its value are expected"))?;
            if word == "because" {
                entries.push(Entry {
                    because: rest.into(),
                    kinds: Vec::new(),
                    file: None,
                    statement: None,
                    ours: None,
                    mariadb: None,
                });
                continue;
            }
            let entry = entries.last_mut().ok_or_else(|| wrong("an entry begins with 'because'"))?;
            let pattern = || {
                let built = RegexBuilder::new(rest).case_insensitive(true).dot_matches_new_line(true).build();
                built.map(Some).map_err(|error| wrong(&error.to_string()))
            };
            match word {
                "kind" => entry.kinds = rest.split_whitespace().map(str::to_string).collect(),
                "file" => entry.file = pattern()?,
                "statement" => entry.statement = pattern()?,
                "ours" => entry.ours = pattern()?,
                "mariadb" => entry.mariadb = pattern()?,
                _ => return Err(wrong("unknown word")),
            }
        }
        Ok(Known { entries })
    }

    /// The first entry that covers a difference.
    pub fn covers(&self, kind: Kind, file: &str, statement: &str, ours: &str, mariadb: &str) -> Option<usize> {
        let fits = |pattern: &Option<Regex>, text: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
        self.entries.iter().position(|entry| {
            entry.kinds.iter().any(|name| name == kind.name())
                && fits(&entry.file, file)
                && fits(&entry.statement, statement)
                && fits(&entry.ours, ours)
                && fits(&entry.mariadb, mariadb)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_cover_what_they_say_and_no_more() {
        let list = "# all of it\nbecause one\nkind refused errors\nours ^1525\n\nbecause two\nkind rows\nstatement group\\s+by\nfile ^a";
        let known = Known::parse(list).unwrap();
        assert_eq!(known.covers(Kind::Refused, "a.b", "select 1", "1525: x", ""), Some(0));
        assert_eq!(known.covers(Kind::Refused, "a.b", "select 1", "1064: x", ""), None);
        assert_eq!(known.covers(Kind::Rows, "a.b", "select a GROUP\nBY b", "", ""), Some(1));
        assert_eq!(known.covers(Kind::Rows, "b.a", "select a GROUP\nBY b", "", ""), None);
        assert_eq!(known.covers(Kind::Died, "a.b", "select a group by b", "1525", ""), None);
    }

    #[test]
    fn the_list_of_the_repository_is_well_formed() {
        let known = Known::of_repository().unwrap();
        assert!(known.entries.iter().all(|entry| !entry.kinds.is_empty()));
        for entry in &known.entries {
            // A file alone would cover whatever goes wrong in it one day.
            let patterns = [&entry.statement, &entry.ours, &entry.mariadb];
            assert!(patterns.iter().any(|pattern| pattern.is_some()), "covers too much: {}", entry.because);
            for kind in &entry.kinds {
                assert!(!matches!(kind.as_str(), "died" | "hang"), "nothing excuses this: {}", entry.because);
            }
        }
        assert!(Known::parse("kind rows").is_err());
        assert!(Known::parse("because x\nours (").is_err());
    }
}
