//! `glassine advise`: how the machine and the filesystem below a data directory affect it, and how to fix problems.
//!
//! ```text
//!   facts::gather  ---> Facts ---> rules::RULES ---> findings ---> a page, JSON, or lines of the start-up log
//!   asks the system     plain      pure functions
//! ```
//!
//! A [`Finding`] says how much it matters, what is so, why that matters here, and the command that changes it. The
//! rules see nothing but [`Facts`], so a machine with ZFS, a full disk or a thin pool is a value in a test.
//!
//! `docs/filesystems.md` explains the same, with what cannot be detected.
//!
//! Not here: any change; the command only advises.

mod facts;
mod rules;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use sql::variables::GlobalVariables;

use crate::log;
use crate::options::{self, Own};

pub use facts::Facts;

/// Looks for what the filesystem and the machine do to a data directory
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The server's options: --datadir, --innodb-buffer-pool-size, --defaults-file, ...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

const HELP: &str = "\
Options:
  --datadir=DIR          the directory, which need not be initialised and may be in use [./data]
  --json                 findings and facts as JSON
  --defaults-file=FILE   the server's own options: its buffer pool and flush method are judged, too

Exit codes: 0, or 1 if a finding is critical, or 2 if the directory could not be looked at.";

const OWN: &[Own] = &[Own { name: "json", takes_value: false }];

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Could be better, or is worth knowing.
    Info,
    /// Costs much, or keeps something from working.
    Warning,
    /// Data may be lost, or the server will stop.
    Critical,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// What a rule has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's name, which stays the same from version to version.
    pub rule: &'static str,
    pub severity: Severity,
    pub title: String,
    pub reason: String,
    /// What mends it, ready to be run.
    pub command: String,
}

pub fn run(arguments: &Args) -> ExitCode {
    log::start();
    let globals = GlobalVariables::new();
    let loaded = match options::load(&arguments.options, OWN, &globals) {
        Ok(loaded) => loaded,
        Err(cause) => {
            eprintln!("glassine advise: {cause}");
            return ExitCode::from(2);
        }
    };
    if loaded.has("help") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let datadir = globals.text("datadir");
    let facts = match facts::gather(Path::new(&datadir), &globals) {
        Ok(facts) => facts,
        Err(cause) => {
            eprintln!("glassine advise {datadir}: {cause}");
            return ExitCode::from(2);
        }
    };
    let findings = rules::findings(&facts);
    match loaded.has("json") {
        true => println!("{}", json(&facts, &findings)),
        false => print!("{}", page(&facts, &findings)),
    }
    ExitCode::from(u8::from(findings.iter().any(|finding| finding.severity == Severity::Critical)))
}

/// The findings that belong into the start-up log: warnings and worse, a line each.
pub fn warnings(datadir: &Path, globals: &GlobalVariables) -> Vec<(Severity, String)> {
    // What cannot be found out now is not worth a server's start.
    let Ok(facts) = facts::gather(datadir, globals) else { return Vec::new() };
    let line = |finding: Finding| {
        let text =
            format!("[{}] {}: {} Mend it with: {}", finding.rule, finding.title, finding.reason, finding.command);
        (finding.severity, text)
    };
    rules::findings(&facts).into_iter().filter(|finding| finding.severity > Severity::Info).map(line).collect()
}

/// For people.
fn page(facts: &Facts, findings: &[Finding]) -> String {
    let mut out = format!("{facts}\n");
    for finding in findings {
        let _ = writeln!(out, "\n{:8}  {}  [{}]", finding.severity.name(), finding.title, finding.rule);
        for line in wrap(&finding.reason, 98) {
            let _ = writeln!(out, "          {line}");
        }
        let _ = writeln!(out, "          $ {}", finding.command);
    }
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (critical, warnings) = (count(Severity::Critical), count(Severity::Warning));
    let _ = writeln!(out, "\n{critical} critical, {warnings} warnings, {} for information", count(Severity::Info));
    out
}

/// Breaks a text into lines of at most `width` characters.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn json(facts: &Facts, findings: &[Finding]) -> String {
    let shown: Vec<String> = findings
        .iter()
        .map(|finding| {
            format!(
                "    {{\"rule\": {}, \"severity\": {}, \"title\": {}, \"reason\": {}, \"command\": {}}}",
                quoted(finding.rule),
                quoted(finding.severity.name()),
                quoted(&finding.title),
                quoted(&finding.reason),
                quoted(&finding.command)
            )
        })
        .collect();
    let facts: Vec<String> =
        facts.pairs().iter().map(|(name, value)| format!("    {}: {}", quoted(name), quoted(value))).collect();
    let list = |open: char, lines: Vec<String>, close: char| match lines.is_empty() {
        true => format!("{open}{close}"),
        false => format!("{open}\n{}\n  {close}", lines.join(",\n")),
    };
    format!("{{\n  \"facts\": {},\n  \"findings\": {}\n}}", list('{', facts, '}'), list('[', shown, ']'))
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_strings_are_escaped() {
        assert_eq!(quoted("a\"b\\c\nd\u{1}"), "\"a\\\"b\\\\c\\nd\\u0001\"");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    }

    #[test]
    fn this_machine_can_be_asked() {
        let globals = GlobalVariables::new();
        let facts = facts::gather(&std::env::temp_dir(), &globals).unwrap();
        assert!(facts.memory_bytes > 0 && facts.block_bytes >= 512, "{facts:?}");
        let page = page(&facts, &rules::findings(&facts));
        assert!(page.contains(" critical, "), "{page}");
        assert!(json(&facts, &[]).contains("\"findings\": []"));
    }
}
