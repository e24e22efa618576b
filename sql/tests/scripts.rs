//! Statements and their results, as scripts that one can read.
//!
//! A script holds statements, each ending in a semicolon at the end of a line, and
//! behind each what it answers:
//!
//! ```text
//! # comment
//! SELECT 1 + 1 AS two;
//! | two
//! | 2
//! INSERT INTO t VALUES (1), (2);
//! = 2 rows; Records: 2  Duplicates: 0  Warnings: 0
//! SELECT nope;
//! ! 1054 Unknown column 'nope' in 'field list'
//! ```
//!
//! A comment `# As NAME.` before a statement makes NAME the user from there on; it is
//! root at first.
//!
//! `UPDATE_SCRIPTS=1 cargo test -p sql --test scripts` writes what the statements
//! answer now into the scripts: look at the difference before it is committed.
//! `SCRIPT=name` runs one.

mod common;

use std::fs;
use std::path::Path;

use sql::Session;
use storage::Config;

use common::{Lines, instance};

/// One statement per entry, with the comment lines before it.
fn statements(script: &str) -> Vec<(Vec<String>, String, Vec<String>)> {
    let mut all: Vec<(Vec<String>, String, Vec<String>)> = Vec::new();
    let (mut comments, mut statement) = (Vec::new(), String::new());
    for line in script.lines() {
        let is_answer = statement.is_empty() && ["| ", "= ", "! ", "~ "].iter().any(|mark| line.starts_with(mark));
        if is_answer {
            all.last_mut().expect("a statement before its answer").2.push(line.to_owned());
        } else if statement.is_empty() && (line.trim().is_empty() || line.starts_with('#')) {
            comments.push(line.to_owned());
        } else {
            if !statement.is_empty() {
                statement.push('\n');
            }
            statement.push_str(line);
            if line.trim_end().ends_with(';') {
                all.push((std::mem::take(&mut comments), std::mem::take(&mut statement), Vec::new()));
            }
        }
    }
    assert!(statement.is_empty(), "the last statement ends: {statement}");
    all
}

fn run_script(path: &Path, update: bool) -> Vec<String> {
    let script = fs::read_to_string(path).expect("a script");
    let directory = std::env::temp_dir().join(format!(
        "sql-script-{}-{}",
        path.file_stem().expect("a name").to_string_lossy(),
        std::process::id()
    ));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    let instance = instance(&directory, Config::tiny());
    let process = instance.processes.register("localhost");
    let status = instance.status.register();
    let mut session = Session::new(instance.clone(), process, status);
    session.set_user("root", "localhost");
    session.multi_statements = true;
    session.init_db("test").expect("the database");
    let mut differences = Vec::new();
    let mut written = String::new();
    for (comments, statement, expected) in statements(&script) {
        let user = comments.iter().find_map(|line| line.strip_prefix("# As ")?.strip_suffix('.'));
        if let Some(user) = user {
            session.set_user(user, "localhost");
        }
        let mut sink = Lines::default();
        session.query(statement.as_bytes(), &mut sink);
        for line in comments.iter().chain([&statement]).chain(&sink.lines) {
            written.push_str(line);
            written.push('\n');
        }
        if sink.lines != expected {
            differences.push(format!(
                "{statement}\n  expected\n    {}\n  but got\n    {}",
                expected.join("\n    "),
                sink.lines.join("\n    ")
            ));
        }
    }
    drop(session);
    let _ = instance.engine.close();
    let _ = fs::remove_dir_all(&directory);
    if update {
        fs::write(path, written).expect("the script is written");
        return Vec::new();
    }
    differences
}

#[test]
fn statements_answer_as_the_scripts_say() {
    let update = std::env::var_os("UPDATE_SCRIPTS").is_some();
    let only = std::env::var("SCRIPT").ok();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> =
        fs::read_dir(directory).expect("scripts").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut failed = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "test")) {
        if only.as_ref().is_some_and(|only| path.file_stem().is_none_or(|stem| stem.to_string_lossy() != **only)) {
            continue;
        }
        for difference in run_script(path, update) {
            failed.push(format!("{}: {difference}", path.file_name().expect("a name").to_string_lossy()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// On pages no larger than the filesystem's block nothing can be saved. Who asks for compression hears of it, and can
/// read it later.
#[test]
fn compression_that_cannot_be_had_is_a_warning() {
    let directory = std::env::temp_dir().join(format!("sql-small-pages-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    let instance = instance(&directory, Config { page_bytes: 4096, ..Config::tiny() });
    let block_bytes = instance.engine.tablespaces().expect("tablespaces")[0].block_bytes;
    if block_bytes < 4096 {
        println!("skipped: the filesystem has blocks of {block_bytes} bytes");
        return;
    }
    let process = instance.processes.register("localhost");
    let mut session = Session::new(instance.clone(), process, instance.status.register());
    session.set_user("root", "localhost");
    session.init_db("test").expect("the database");
    let mut ask = |statement: &str| {
        let mut sink = Lines::default();
        session.query(statement.as_bytes(), &mut sink);
        sink.lines
    };
    for (statement, warns) in [
        ("CREATE TABLE silent (a INT)", false),
        ("CREATE TABLE plain (a INT) COMPRESSION='none'", false),
        ("CREATE TABLE one (a INT) COMPRESSION='zlib'", true),
        ("CREATE TABLE two (a INT) PAGE_COMPRESSED=1", true),
        ("ALTER TABLE one COMMENT='no word of compression'", false),
        ("ALTER TABLE one COMPRESSION='none'", false),
        ("ALTER TABLE one COMPRESSION='lz4'", true),
    ] {
        let lines = ask(statement);
        assert_eq!(lines.iter().any(|line| line == "~ 1 warnings"), warns, "{statement}: {lines:?}");
        let shown = ask("SHOW WARNINGS");
        assert_eq!(shown.iter().any(|line| line.starts_with("| Warning | 138 | ")), warns, "{statement}: {shown:?}");
    }
    drop(session);
    instance.engine.close().expect("a clean end");
    fs::remove_dir_all(&directory).expect("the directory goes");
}
