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

use std::fs;
use std::path::Path;
use std::sync::Arc;

use format::packet::ColumnDefinition;
use format::value::{ColumnType, Value, ZoneOffset};
use sql::accounts::Accounts;
use sql::result::StoredColumn;
use sql::variables::GlobalVariables;
use sql::{Error, Instance, OkSummary, ResultSink, Session};
use storage::io::linux::LinuxDisk;
use storage::{Config, Engine, Row};

/// Collects what a statement answers as lines.
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    in_rows: bool,
}

impl Lines {
    fn text(bytes: &[u8]) -> String {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.chars().any(|c| c.is_control() && c != '\n') => text.replace('\n', "\\n"),
            _ => {
                let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("0x{}", hex.concat())
            }
        }
    }
}

impl ResultSink for Lines {
    fn columns(&mut self, columns: &[ColumnDefinition]) {
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        self.lines.push(format!("| {}", names.join(" | ")));
        self.in_rows = true;
    }

    fn row(&mut self, values: &[Value], types: &[ColumnType]) {
        let show = |(value, ty): (&Value, &ColumnType)| match value {
            Value::Null => "NULL".to_owned(),
            value => {
                let mut out = Vec::new();
                ty.write_value_text(value, &mut out);
                Lines::text(&out)
            }
        };
        let values: Vec<String> = values.iter().zip(types).map(show).collect();
        self.lines.push(format!("| {}", values.join(" | ")).trim_end().to_owned());
    }

    fn row_stored(&mut self, row: &Row, columns: &[StoredColumn], zone_seconds: i32) {
        let show = |column: &StoredColumn| match row.get(column.column) {
            None => "NULL".to_owned(),
            Some(stored) => {
                let mut out = Vec::new();
                column.ty.write_text_at(stored, ZoneOffset { seconds: zone_seconds }, &mut out);
                Lines::text(&out)
            }
        };
        let values: Vec<String> = columns.iter().map(show).collect();
        self.lines.push(format!("| {}", values.join(" | ")).trim_end().to_owned());
    }

    fn ok(&mut self, summary: &OkSummary<'_>) {
        if !self.in_rows {
            let id = match summary.last_insert_id {
                0 => String::new(),
                id => format!(", id {id}"),
            };
            let info = if summary.info.is_empty() { String::new() } else { format!("; {}", summary.info) };
            self.lines.push(format!("= {} rows{id}{info}", summary.affected_rows));
        }
        if summary.warnings > 0 {
            self.lines.push(format!("~ {} warnings", summary.warnings));
        }
        self.in_rows = false;
    }

    fn error(&mut self, error: &Error) {
        self.lines.push(format!("! {} {}", error.code, error.message));
        self.in_rows = false;
    }
}

fn instance(directory: &Path, config: Config) -> Arc<Instance> {
    let disk = Arc::new(LinuxDisk::new(directory));
    Engine::create(disk.clone(), &config).expect("a new instance");
    let engine = Engine::open(disk, config).expect("an open instance");
    engine
        .create_database("test", format::collation::CollationId::DEFAULT, &storage::TrxOptions::patient())
        .expect("a database");
    Instance::new(engine, GlobalVariables::new(), Accounts::in_memory(), directory.to_owned())
}

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
