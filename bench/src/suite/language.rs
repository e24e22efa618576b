//! MySQL's test files in the words of MariaDB's `mysqltest`.
//!
//! The two interpreters parted long ago: each knows its own server's names of errors, and some commands. Which errors
//! a script expects does not matter here, because the expected output tells; so the commands that name errors are
//! left out, and the interpreter prints every error and goes on.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use regex::bytes::{Captures, Regex};

/// What stands before each script: errors are printed, and a change of the connection is not.
const HEAD: &[u8] = b"--disable_abort_on_error\n--disable_connect_log\n";

/// Commands that only change how an answer is checked or printed, or files that no script here needs.
const LEFT_OUT: &str = "error|enable_abort_on_error|replace_numeric_round|partially_sorted_result|skip_if_hypergraph|\
                        assert|force-rmdir|force-cpdir|copy_files_wildcard|enable_connect_log";

/// Files that end a script on a server without MyISAM, a binary log or one of its formats. The server makes InnoDB
/// tables of MyISAM ones, and little that such a script asks depends on the log, so they are empty here.
const EMPTIED: [&str; 11] = [
    "have_myisam",
    "force_myisam_default",
    "have_log_bin",
    "not_log_bin",
    "have_binlog_format_row",
    "have_binlog_format_mixed",
    "have_binlog_format_statement",
    "have_binlog_format_mixed_or_row",
    "have_binlog_format_mixed_or_statement",
    "have_binlog_format_row_or_statement",
    "not_binlog_format_statement",
];

/// Copies every script and included file below `folder` to `readable`, translated; data is linked.
pub fn translate(folder: &Path, readable: &Path) -> io::Result<()> {
    fs::create_dir_all(readable)?;
    let words = Words::new();
    for part in ["include", "t", "suite", "extra", "common"] {
        if folder.join(part).is_dir() {
            words.copy(&folder.join(part), &readable.join(part))?;
        }
    }
    if folder.join("std_data").is_dir() {
        symlink(folder.join("std_data"), readable.join("std_data"))?;
    }
    Ok(())
}

fn is_emptied(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "inc")
        && path.file_stem().is_some_and(|stem| EMPTIED.iter().any(|&emptied| stem == emptied))
}

struct Words {
    left_out: Regex,
    testcase: Regex,
    expression: Regex,
    warnings: Regex,
}

impl Words {
    fn new() -> Words {
        let regex = |pattern: &str| Regex::new(pattern).expect("the patterns are well formed");
        Words {
            left_out: regex(&format!(r"(?mi)^[ \t]*(--[ \t]*(?:{LEFT_OUT})\b[^\n]*|(?:{LEFT_OUT})\b[^;\n]*;[^\n]*)$")),
            testcase: regex(r"(?mi)^[ \t]*(--)?[ \t]*(disable|enable)_testcase\b[^\n]*$"),
            expression: regex(r"(?mi)^[ \t]*(?:--)?[ \t]*expr[ \t]+(\$\w+)[ \t]*=([^;\n]*);?[ \t]*$"),
            warnings: regex(
                r"(?mi)^[ \t]*(?:--)?[ \t]*(disable|enable)_warnings[ \t]+[\w, \t]*?(ONCE)?[ \t]*;?[ \t]*$",
            ),
        }
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        for entry in fs::read_dir(from)? {
            let path = entry?.path();
            let target = to.join(path.file_name().unwrap_or_default());
            if path.is_dir() {
                self.copy(&path, &target)?;
            } else if path.extension().is_some_and(|kind| kind == "test" || kind == "inc") {
                fs::create_dir_all(to)?;
                let text = if is_emptied(&path) { Vec::new() } else { self.text(&fs::read(&path)?) };
                let head = if path.extension().is_some_and(|kind| kind == "test") { HEAD } else { b"" };
                fs::write(target, [head, &text].concat())?;
            }
        }
        Ok(())
    }

    fn text(&self, text: &[u8]) -> Vec<u8> {
        let text = self.left_out.replace_all(text, &b"#"[..]);
        let text = self.testcase.replace_all(&text, &b"--${2}_parsing"[..]);
        let text = self.expression.replace_all(&text, &b"let $1= `SELECT $2`;"[..]);
        let once = |captures: &Captures<'_>| {
            [&b"--"[..], &captures[1], b"_warnings", if captures.get(2).is_some() { b" ONCE" } else { b"" }].concat()
        };
        self.warnings.replace_all(&text, once).into_owned()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_asks_for_an_engine_or_a_log_is_emptied() {
        let is_emptied = |path: &str| super::is_emptied(std::path::Path::new(path));
        assert!(is_emptied("include/have_myisam.inc"));
        assert!(!is_emptied("include/have_debug.inc"));
        assert!(!is_emptied("t/have_myisam.test"));
    }

    #[test]
    fn commands_of_the_other_interpreter_are_translated() {
        let says = |text: &str| String::from_utf8(super::Words::new().text(text.as_bytes())).expect("it was UTF-8");
        assert_eq!(says("--error ER_X, 1064\nselect 1;\n"), "#\nselect 1;\n");
        assert_eq!(says("  error 0;\nselect error from t;\n"), "#\nselect error from t;\n");
        assert_eq!(says("-- replace_numeric_round 5\n"), "#\n");
        assert_eq!(says("--disable_testcase BUG#1\n"), "--disable_parsing\n");
        assert_eq!(says("expr $i= $i + 1;\n"), "let $i= `SELECT  $i + 1`;\n");
        assert_eq!(says("--disable_warnings ER_A,ER_B ONCE\n"), "--disable_warnings ONCE\n");
        assert_eq!(says("--enable_warnings\n"), "--enable_warnings\n");
    }
}
