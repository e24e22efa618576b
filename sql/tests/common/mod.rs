//! What the tests share: answers as lines, and an instance in a directory that goes with the test.

// Each test uses a part of it.
#![allow(dead_code)]

pub mod random;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use format::packet::ColumnDefinition;
use format::value::{ColumnType, Value, Zone};
use sql::accounts::Accounts;
use sql::processlist::Process;
use sql::result::StoredColumn;
use sql::variables::GlobalVariables;
use sql::{Error, Instance, OkSummary, ResultSink, Session};
use storage::io::linux::LinuxDisk;
use storage::{Config, Engine, Row};

/// Collects what a statement answers as lines.
#[derive(Default)]
pub struct Lines {
    pub lines: Vec<String>,
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

    fn row_stored(&mut self, row: &Row, columns: &[StoredColumn], zone: Zone) {
        let show = |column: &StoredColumn| match row.get(column.column) {
            None => "NULL".to_owned(),
            Some(stored) => {
                let mut out = Vec::new();
                column.ty.write_text_at(stored, zone, &mut out);
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

/// What a statement answers.
pub fn run(session: &mut Session, statement: &str) -> Vec<String> {
    let mut sink = Lines::default();
    session.query(statement.as_bytes(), &mut sink);
    sink.lines
}

/// What a statement answers that must not fail.
pub fn done(session: &mut Session, statement: &str) -> Vec<String> {
    let lines = run(session, statement);
    assert!(!lines.iter().any(|line| line.starts_with('!')), "{statement}: {lines:?}");
    lines
}

/// A directory of a test's own, empty at first.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let directory = std::env::temp_dir().join(format!("sql-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("a directory");
        Scratch(directory)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn engine(directory: &Path, config: Config) -> Arc<Engine> {
    let disk = Arc::new(LinuxDisk::new(directory));
    Engine::create(disk.clone(), &config).expect("a new instance");
    let engine = Engine::open(disk, config).expect("an open instance");
    engine
        .create_database("test", format::collation::CollationId::DEFAULT, &storage::TrxOptions::patient())
        .expect("a database");
    engine
}

pub fn instance(directory: &Path, config: Config) -> Arc<Instance> {
    Instance::new(engine(directory, config), GlobalVariables::new(), Accounts::in_memory(), directory.to_owned())
}

/// An instance with a binary log.
#[allow(dead_code)] // Most tests have none.
pub fn logged_instance(directory: &Path, config: Config) -> Arc<Instance> {
    let engine = engine(directory, config);
    let options = binlog::Options {
        base: "binlog".into(),
        server: "8.0.0-test".into(),
        version: 80000,
        server_id: 1,
        uuid: format::binlog::Uuid([0x11; 16]),
        gtids: true,
        checksum: format::binlog::Checksum::Crc32,
        file_bytes_max: 1 << 30,
        expire_seconds: 0,
    };
    let log = binlog::BinaryLog::open(engine.clone(), options).expect("a log");
    Instance::with_log(engine, Some(log), GlobalVariables::new(), Accounts::in_memory(), directory.to_owned())
}

/// A session of root's in the database `test`.
pub fn session(instance: &Arc<Instance>) -> Session {
    session_of(instance, instance.processes.register("localhost"))
}

/// The same, for a process that the caller has registered.
pub fn session_of(instance: &Arc<Instance>, process: Arc<Process>) -> Session {
    let mut session = Session::new(instance.clone(), process, instance.status.register());
    session.set_user("root", "localhost");
    session.init_db("test").expect("the database");
    session
}

/// What a statement answers.
pub fn ask(session: &mut Session, statement: &str) -> Vec<String> {
    let mut sink = Lines::default();
    session.query(statement.as_bytes(), &mut sink);
    sink.lines
}
