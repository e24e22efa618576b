//! Two answers to one statement, as `mysqltest` prints them: the same, or how they differ.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::replay::compare::Kind;
use crate::replay::statement::Statement;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Same,
    Differs(Kind),
    /// The answer is each server's own, for this reason.
    NotComparable(&'static str),
}

/// The parts of an answer.
#[derive(Default)]
struct Answer<'a> {
    error: Option<&'a str>,
    rows: Vec<&'a str>,
    warnings: Vec<&'a str>,
}

/// What `mysqltest` prints for an error when the script expects one of several.
const ONE_OF_SEVERAL: &str = "Got one of the listed errors";

impl<'a> Answer<'a> {
    fn new(lines: &[&'a str]) -> Answer<'a> {
        let mut answer = Answer::default();
        for &line in lines {
            if line == ONE_OF_SEVERAL || is_error(line) {
                answer.error = Some(line);
            } else if is_of_engine(line) || is_of_future(line) {
                // What the server makes of an engine, and what a later version will not have, is its own affair.
            } else if is_warning(line) {
                answer.warnings.push(line);
            } else if !is_of_player(line) {
                answer.rows.push(line);
            }
        }
        answer
    }
}

/// Whether a line is the interpreter's own: its verdict, and connections, which each of the two shows in its own way.
fn is_of_player(line: &str) -> bool {
    let connects = ["connect ", "connection ", "disconnect "].iter().any(|word| line.starts_with(word));
    matches!(line, "Warnings:" | "ok" | "not ok") || line.starts_with("mysqltest: ") || connects && line.ends_with(';')
}

/// `ERROR 42S02: Unknown table`
fn is_error(line: &str) -> bool {
    line.strip_prefix("ERROR ").and_then(|rest| rest.get(5..7)) == Some(": ")
}

/// The note that a table of another engine became an InnoDB table.
fn is_of_engine(line: &str) -> bool {
    line.starts_with("Note\t1266\t") || line.starts_with("Warning\t1266\t")
}

/// A warning that a later MySQL has something no longer, or means another character set by a name.
fn is_of_future(line: &str) -> bool {
    const CODES: [&str; 8] = ["1287", "1681", "3719", "3720", "3778", "4079", "4080", "4095"];
    line.strip_prefix("Warning\t").is_some_and(|rest| CODES.iter().any(|code| rest.starts_with(code)))
}

/// Level, code and text, with tabs between.
fn is_warning(line: &str) -> bool {
    let mut cells = line.split('\t');
    matches!(cells.next(), Some("Note" | "Warning" | "Error"))
        && cells.next().is_some_and(|code| code.len() >= 4 && code.bytes().all(|byte| byte.is_ascii_digit()))
}

pub fn verdict(statement: &Statement, ours: &[&str], expected: &[&str]) -> Verdict {
    let (ours, expected) = (Answer::new(ours), Answer::new(expected));
    match (ours.error, expected.error) {
        (Some(_), None) => return Verdict::Differs(Kind::Refused),
        (None, Some(_)) => return Verdict::Differs(Kind::Accepted),
        (Some(own), Some(other)) => {
            let same = own == other || [own, other].contains(&ONE_OF_SEVERAL) || are_syntax_errors(own, other);
            return if same { Verdict::Same } else { Verdict::Differs(Kind::Errors) };
        }
        (None, None) => {}
    }
    if let Some(reason) = own_affair(statement) {
        return Verdict::NotComparable(reason);
    }
    if !are_same_lines(&ours.rows, &expected.rows) {
        if !are_same_sets(&ours.rows, &expected.rows) {
            return Verdict::Differs(Kind::Rows);
        }
        if statement.has("order") {
            return Verdict::Differs(Kind::Order);
        }
    }
    if are_same_sets(&ours.warnings, &expected.warnings) { Verdict::Same } else { Verdict::Differs(Kind::Warnings) }
}

/// How a parser says where it stopped is its own affair.
fn are_syntax_errors(own: &str, other: &str) -> bool {
    let text = "ERROR 42000: You have an error in your SQL syntax";
    own.starts_with(text) && other.starts_with(text)
}

/// Why the rows of a statement say nothing about another server, if that is so.
fn own_affair(statement: &Statement) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| statement.has(word));
    match statement.verb.as_str() {
        "explain" | "analyze" | "optimize" => return Some("plans and statistics"),
        "desc" | "describe" if has(&["select", "update", "delete", "insert"]) => return Some("plans and statistics"),
        "show"
            if has(&["status", "engine", "engines", "processlist", "variables", "plugins", "profile", "profiles"]) =>
        {
            return Some("about the server");
        }
        _ => {}
    }
    statement.is_undecided().then_some("left to the server")
}

fn are_same_lines(ours: &[&str], expected: &[&str]) -> bool {
    ours.len() == expected.len() && ours.iter().zip(expected).all(|(own, other)| are_same_cells(own, other))
}

fn are_same_sets(ours: &[&str], expected: &[&str]) -> bool {
    let sorted = |lines: &[&str]| {
        let mut lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
        lines.sort();
        lines
    };
    let (ours, expected) = (sorted(ours), sorted(expected));
    ours.len() == expected.len() && ours.iter().zip(&expected).all(|(own, other)| are_same_cells(own, other))
}

/// Approximate numbers may differ in their last digits.
fn are_same_cells(own: &str, other: &str) -> bool {
    let other = with_one_engine(other);
    let (own, other) = (without_display_width(own), without_display_width(&other));
    if own == other {
        return true;
    }
    let (own, other): (Vec<&str>, Vec<&str>) = (own.split('\t').collect(), other.split('\t').collect());
    own.len() == other.len()
        && own.iter().zip(&other).all(|(own, other)| own == other || are_close(own, other).unwrap_or(false))
}

/// Integers have no display width, as in MySQL since 8.0.19.
fn without_display_width(line: &str) -> Cow<'_, str> {
    static WIDTH: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b((?:tiny|small|medium|big)?int|year)\(\d+\)").expect("the pattern is well formed")
    });
    WIDTH.replace_all(line, "$1")
}

/// Every table is an InnoDB table.
fn with_one_engine(line: &str) -> Cow<'_, str> {
    static ENGINE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b(ENGINE ?= ?)(?:MyISAM|MEMORY|HEAP)\b").expect("the pattern is well formed"));
    ENGINE.replace_all(line, "${1}InnoDB")
}

fn are_close(own: &str, other: &str) -> Option<bool> {
    const DIGITS_MIN: usize = 12;
    if own.len().min(other.len()) < DIGITS_MIN {
        return None;
    }
    let (own, other): (f64, f64) = (own.parse().ok()?, other.parse().ok()?);
    Some((own - other).abs() <= 1e-12 * own.abs().max(other.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(text: &str, ours: &str, expected: &str) -> Verdict {
        let lines = |text: &'static str| -> Vec<&'static str> { text.lines().collect() };
        let leak = |text: &str| -> &'static str { Box::leak(text.to_string().into_boxed_str()) };
        verdict(&Statement::new(text), &lines(leak(ours)), &lines(leak(expected)))
    }

    #[test]
    fn rows_warnings_and_errors_are_told_apart() {
        let rows = "a\n1\n2\n";
        assert_eq!(judge("select a from t", rows, "a\n2\n1\n"), Verdict::Same);
        assert_eq!(judge("select a from t order by a", rows, "a\n2\n1\n"), Verdict::Differs(Kind::Order));
        assert_eq!(judge("select a from t", rows, "a\n1\n3\n"), Verdict::Differs(Kind::Rows));
        let warned = "a\n1\n2\nWarnings:\nWarning\t1292\tTruncated\n";
        assert_eq!(judge("select a from t", rows, warned), Verdict::Differs(Kind::Warnings));
        let deprecated = "a\n1\n2\nWarnings:\nWarning\t1287\t'BINARY expr' is deprecated\n";
        assert_eq!(judge("select a from t", rows, deprecated), Verdict::Same);
        let error = "ERROR 42S02: Table 'test.t' doesn't exist\n";
        assert_eq!(judge("select a from t", error, rows), Verdict::Differs(Kind::Refused));
        assert_eq!(judge("select a from t", rows, error), Verdict::Differs(Kind::Accepted));
        assert_eq!(judge("select a from t", error, "Got one of the listed errors\n"), Verdict::Same);
        assert_eq!(judge("select a from t", error, "ERROR HY000: Other\n"), Verdict::Differs(Kind::Errors));
        assert_eq!(judge("explain select 1", rows, "a\n3\n"), Verdict::NotComparable("plans and statistics"));
    }

    #[test]
    fn only_long_numbers_may_differ_in_their_last_digits() {
        assert_eq!(judge("select a", "a\n0.30000000000000004\n", "a\n0.30000000000000000\n"), Verdict::Same);
        assert_eq!(judge("select a", "a\n0.31\n", "a\n0.30\n"), Verdict::Differs(Kind::Rows));
        assert_eq!(judge("desc t", "a\tbigint\tYES\n", "a\tbigint(20)\tYES\n"), Verdict::Same);
        assert_eq!(judge("show create table t", ") ENGINE=InnoDB", ") ENGINE=MyISAM"), Verdict::Same);
        assert_eq!(judge("desc t", "a\tchar(2)\tYES\n", "a\tchar(20)\tYES\n"), Verdict::Differs(Kind::Rows));
    }
}
