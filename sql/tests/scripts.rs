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
//! A program whose body begins with BEGIN at the beginning of a line, and a block of BEGIN NOT ATOMIC, ends with END there.
//!
//! A comment `# As NAME.` before a statement makes NAME the user from there on; it is
//! root at first.
//!
//! `UPDATE_SCRIPTS=1 cargo test -p sql --test scripts` writes what the statements
//! answer now into the scripts: look at the difference before it is committed.
//! `SCRIPT=name` runs one.

mod common;
#[path = "common/play.rs"]
mod play;

use std::sync::Arc;

use sql::Instance;
use sql::accounts::Accounts;
use sql::variables::GlobalVariables;
use storage::io::linux::LinuxDisk;
use storage::{Config, Engine};

use common::{Scratch, ask, instance, logged_instance, session};
use play::Played;

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
            // The body of a program has semicolons of its own: it goes on to END.
            let is_program = statement.starts_with("CREATE ") && statement.contains("\nBEGIN")
                || statement.starts_with("BEGIN NOT ATOMIC");
            if line.trim_end().ends_with(';') && (!is_program || line.starts_with("END")) {
                all.push((std::mem::take(&mut comments), std::mem::take(&mut statement), Vec::new()));
            }
        }
    }
    assert!(statement.is_empty(), "the last statement ends: {statement}");
    all
}

fn run_script(name: &str, script: &str) -> Played {
    let scratch = Scratch::new(&format!("script-{name}"));
    let instance = match name {
        "binary_log"
        | "binary_log_accounts"
        | "binary_log_create_select"
        | "binary_log_gtids"
        | "binary_log_programs"
        | "binary_log_variables" => logged_instance(&scratch.0, Config::tiny()),
        _ => instance(&scratch.0, Config::tiny()),
    };
    let mut session = session(&instance);
    session.multi_statements = true;
    let mut played = Played::default();
    for (comments, statement, expected) in statements(script) {
        let user = comments
            .iter()
            .find_map(|line| line.strip_prefix("# As ")?.strip_suffix('.').filter(|name| !name.contains(' ')));
        if let Some(user) = user {
            session.set_user(user, "localhost");
        }
        let lines = ask(&mut session, &statement);
        played.step(&comments, &statement, &lines, &expected);
    }
    drop(session);
    let _ = instance.engine.close();
    played
}

#[test]
fn statements_answer_as_the_scripts_say() {
    play::folder("scripts", run_script);
}

/// On pages no larger than the filesystem's block nothing can be saved. Who asks for compression hears of it, and can
/// read it later.
#[test]
fn compression_that_cannot_be_had_is_a_warning() {
    let scratch = Scratch::new("small-pages");
    let instance = instance(&scratch.0, Config { page_bytes: 4096, ..Config::tiny() });
    let block_bytes = instance.engine.tablespaces().expect("tablespaces")[0].block_bytes;
    if block_bytes < 4096 {
        println!("skipped: the filesystem has blocks of {block_bytes} bytes");
        return;
    }
    let mut session = session(&instance);
    let mut ask = |statement: &str| ask(&mut session, statement);
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
}

/// READ ONLY of a database is kept over a restart, and so is what else is said of it.
#[test]
fn a_read_only_database_stays_read_only() {
    let scratch = Scratch::new("read-only-database");
    let refused = ["! 3989 Schema 'ro' is in read only mode."];
    {
        let instance = instance(&scratch.0, Config::tiny());
        let mut session = session(&instance);
        ask(&mut session, "CREATE DATABASE ro COLLATE utf8mb4_bin");
        ask(&mut session, "CREATE TABLE ro.t (id INT PRIMARY KEY)");
        ask(&mut session, "ALTER DATABASE ro READ ONLY = 1");
        assert_eq!(ask(&mut session, "INSERT INTO ro.t VALUES (1)"), refused);
        drop(session);
        instance.engine.close().expect("a clean end");
    }
    let engine = Engine::open(Arc::new(LinuxDisk::new(&scratch.0)), Config::tiny()).expect("the instance again");
    let instance = Instance::new(engine, GlobalVariables::new(), Accounts::in_memory(), scratch.0.clone());
    let mut session = session(&instance);
    let shown = ask(&mut session, "SHOW CREATE DATABASE ro");
    assert!(shown[1].contains("COLLATE utf8mb4_bin") && shown[1].ends_with("/* READ ONLY=1 */"), "{shown:?}");
    assert_eq!(ask(&mut session, "INSERT INTO ro.t VALUES (1)"), refused);
    ask(&mut session, "ALTER DATABASE ro READ ONLY = DEFAULT");
    assert_eq!(ask(&mut session, "INSERT INTO ro.t VALUES (1)"), ["= 1 rows"]);
}
