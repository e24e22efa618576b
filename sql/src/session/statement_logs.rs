//! The slow query log and the general log, in MySQL's formats.
//!
//! ```text
//! # Time: 2023-11-14T22:13:21.000190Z
//! # User@Host: root[root] @ localhost []  Id:     8
//! # Query_time: 1.000190  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1
//! use test;
//! SET timestamp=1700000000;
//! SELECT SLEEP(1);
//! ```
//!
//! With `log_slow_extra` the second line goes on: Thread_id, Errno, Killed, and what the session's counters counted.
//!
//! `# Time:` is the moment of the end, in the zone that `log_timestamps` says. Passwords of accounts are in neither log.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use format::value::{Value, Zone};

use super::Session;
use super::log::with_values;
use crate::describe::quoted;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::statements::log_file;
use crate::statements::redact::redacted;
use crate::statements::{Timing, Work};
use crate::status::Counter;

/// Counters of the session, with their names in the slow log.
const EXTRA: [(&str, Counter); 4] = [
    ("Bytes_received", Counter::BytesReceived),
    ("Bytes_sent", Counter::BytesSent),
    ("Sort_range_count", Counter::SortRange),
    ("Sort_scan_count", Counter::SortScan),
];

pub(super) type ExtraCounts = [u64; 4];

/// The variables with the names of the files.
const SLOW_FILE: &str = "slow_query_log_file";
const GENERAL_FILE: &str = "general_log_file";

/// Statements that `log_slow_admin_statements` is about.
const ADMINISTRATION: [&str; 6] = ["ALTER TABLE", "ANALYZE", "CHECK", "CREATE INDEX", "DROP INDEX", "OPTIMIZE"];

fn path_of(instance: &Instance, variable: &str) -> PathBuf {
    instance.datadir.join(instance.variables.text(variable))
}

/// What stands at the beginning of the file, each time it is opened.
fn header(instance: &Instance) -> String {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/glassine"));
    let variables = &instance.variables;
    let (version, port, socket) = (variables.text("version"), variables.number("port"), variables.text("socket"));
    let socket = if socket.is_empty() { "(none)".to_owned() } else { socket };
    format!(
        "{}, Version: {version} (Glassine). started with:\nTcp port: {port}  Unix socket: {socket}\n\
         Time                 Id Command    Argument\n",
        program.display()
    )
}

/// A statement as it is logged: on its own lines, without its last semicolon and without passwords.
fn shown(session: &Session, text: &[u8], parameters: &[Value]) -> Vec<u8> {
    let mode = session.variables.settings.sql_mode;
    let text = match parameters {
        [] => text.to_vec(),
        values => with_values(text, values, mode),
    };
    let text = redacted(&text, mode).unwrap_or(text);
    let is_end = |byte: &u8| *byte == b';' || byte.is_ascii_whitespace();
    let ends = text.iter().rev().take_while(|byte| is_end(byte)).count();
    text[..text.len() - ends].to_vec()
}

impl Session {
    /// Writes a statement into the slow query log, if it was slow.
    pub(super) fn log_if_slow(&self, text: &[u8], parameters: &[Value], timing: Timing, work: &Work, extra: &str) {
        let (logs, settings) = (self.instance.variables.statement_logs(), &self.variables.settings);
        if !logs.slow() {
            return;
        }
        let is_slow = timing.wait >= settings.long_query_us * 1000;
        let is_wanted = is_slow || logs.without_index() && work.no_index_used > 0;
        if !is_wanted || work.rows_examined < settings.examined_rows_min {
            return;
        }
        let digest = self.instance.statements.digest_text(&text[..text.len().min(64)], settings.sql_mode);
        if !logs.administration() && ADMINISTRATION.iter().any(|words| digest.starts_with(words)) {
            return;
        }
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let who = self.user_and_host();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began = now.as_secs().saturating_sub(timing.wait / 1_000_000_000);
        let database = self.state.database.as_deref();
        let ended = log_file::moment(now.as_micros() as u64, self.log_zone());
        let entry = |is_other: bool| {
            let mut entry = format!(
                "# Time: {ended}\n# User@Host: {who}  Id: {:5}\n# Query_time: {:.6}  Lock_time: {:.6} Rows_sent: {}  \
                 Rows_examined: {}{extra}\n",
                self.process.id,
                seconds(timing.wait),
                seconds(timing.lock),
                work.rows_sent,
                work.rows_examined,
            );
            if let Some(database) = database.filter(|_| is_other) {
                entry.push_str(&format!("use {};\n", plain_or_quoted(database)));
            }
            entry.push_str(&format!("SET timestamp={began};\n"));
            let mut entry = entry.into_bytes();
            entry.extend(shown(self, text, parameters));
            entry.extend(b";\n");
            entry
        };
        if logs.to_file() {
            let path = path_of(&self.instance, SLOW_FILE);
            self.instance.slow_log.append(&path, || header(&self.instance), database, entry);
        }
        if logs.to_table() {
            let micros = now.as_micros() as u64 - timing.wait / 1000;
            let numbers = [micros, timing.wait / 1000, timing.lock / 1000, work.rows_sent, work.rows_examined];
            let [began, wait, lock, sent, examined] = numbers.map(|number| number.to_string());
            let statement = shown(self, text, parameters);
            let (host, id) = (self.user_and_host(), self.process.id.to_string());
            let server = self.instance.variables.number("server_id").to_string();
            let fields: [&[u8]; 10] = [
                began.as_bytes(),
                host.as_bytes(),
                wait.as_bytes(),
                lock.as_bytes(),
                sent.as_bytes(),
                examined.as_bytes(),
                database.unwrap_or_default().as_bytes(),
                server.as_bytes(),
                &statement,
                id.as_bytes(),
            ];
            self.instance.slow_log_table.append(&fields);
        }
    }

    /// `root[root] @ localhost []`, as the tables of logs have it.
    fn user_and_host(&self) -> String {
        let host = self.process.host();
        let host = host.rsplit_once(':').map_or(host.as_str(), |(host, _)| host);
        let host = match host.parse::<IpAddr>() {
            Ok(_) => format!(" [{host}]"),
            Err(_) => format!("{host} []"),
        };
        let user = &self.state.user;
        format!("{user}[{user}] @ {host}")
    }

    /// The zone of moments in logs.
    fn log_zone(&self) -> Zone {
        match self.instance.variables.statement_logs().local_time() {
            true => self.instance.variables.system_zone(),
            false => Zone::UTC,
        }
    }

    /// The counters that `log_slow_extra` tells of, before a statement.
    pub(super) fn extra_counts(&self) -> ExtraCounts {
        EXTRA.map(|(_, counter)| self.status.get(counter))
    }

    /// What `log_slow_extra` adds to the line of the times: what the counters have counted since, and when.
    #[cold]
    pub(super) fn extra_of_slow(&self, before: &ExtraCounts, timing: Timing, error: Option<&Error>) -> String {
        let code = error.map_or(0, |error| error.code);
        // As MySQL: the code of what killed it.
        let killed = if matches!(code, 1317 | 3024) { code } else { 0 };
        let mut text = format!(" Thread_id: {} Errno: {code} Killed: {killed}", self.process.id);
        for ((name, counter), before) in EXTRA.into_iter().zip(before) {
            text.push_str(&format!(" {name}: {}", self.status.get(counter) - before));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        let zone = self.log_zone();
        let began = now.saturating_sub(timing.wait / 1000);
        text.push_str(&format!(" Start: {} End: {}", log_file::moment(began, zone), log_file::moment(now, zone)));
        text
    }

    /// Writes a command of the client into the general log.
    #[inline]
    pub fn log_command(&self, command: &str, text: &[u8]) {
        if self.instance.variables.statement_logs().general() {
            self.log_general(command, text, &[]);
        }
    }

    /// The same for the execution of a prepared statement.
    pub(super) fn log_execution(&self, text: &[u8], parameters: &[Value]) {
        if self.instance.variables.statement_logs().general() {
            self.log_general("Execute", text, parameters);
        }
    }

    #[cold]
    fn log_general(&self, command: &str, text: &[u8], parameters: &[Value]) {
        if self.variables.settings.sql_log_off {
            return;
        }
        let logs = self.instance.variables.statement_logs();
        if logs.to_table() {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros().to_string();
            let (host, id) = (self.user_and_host(), self.process.id.to_string());
            let server = self.instance.variables.number("server_id").to_string();
            let statement = shown(self, text, parameters);
            let fields: [&[u8]; 6] =
                [now.as_bytes(), host.as_bytes(), id.as_bytes(), server.as_bytes(), command.as_bytes(), &statement];
            self.instance.general_log_table.append(&fields);
        }
        if !logs.to_file() {
            return;
        }
        let path = path_of(&self.instance, GENERAL_FILE);
        self.instance.general_log.append(
            &path,
            || header(&self.instance),
            None,
            |_| {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let moment = log_file::moment(now.as_micros() as u64, self.log_zone());
                let mut line = format!("{moment}\t{:5} {command}\t", self.process.id).into_bytes();
                line.extend(shown(self, text, parameters));
                line.push(b'\n');
                line
            },
        );
    }

    /// SET GLOBAL: a file that cannot be written, or that is a configuration file, is refused before.
    pub(super) fn check_statement_log(&self, name: &str, value: &Value) -> Result<()> {
        let instance = &self.instance;
        let path = match (name, value) {
            (SLOW_FILE | GENERAL_FILE, Value::Bytes(file)) => {
                let file = String::from_utf8_lossy(file);
                let is_settings = [".cnf", ".ini"].iter().any(|end| file.to_ascii_lowercase().ends_with(end));
                if file.is_empty() || is_settings {
                    return Err(Error::wrong_value_for_variable(name, &file));
                }
                instance.datadir.join(&*file)
            }
            ("slow_query_log" | "general_log", value) if is_off(value) => return Ok(()),
            ("slow_query_log", _) => path_of(instance, SLOW_FILE),
            ("general_log", _) => path_of(instance, GENERAL_FILE),
            _ => return Ok(()),
        };
        match log_file::open(&path) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::wrong_value_for_variable(name, &shown_path(&path))),
        }
    }

    /// FLUSH SLOW LOGS, FLUSH GENERAL LOGS: the files are opened again.
    pub(super) fn reopen_statement_logs(&self, slow: bool, general: bool) {
        if slow {
            self.instance.slow_log.close();
        }
        if general {
            self.instance.general_log.close();
        }
    }
}

fn is_off(value: &Value) -> bool {
    match value {
        Value::Bytes(word) => matches!(&word.to_ascii_uppercase()[..], b"OFF" | b"0" | b"FALSE"),
        value => matches!(value, Value::Int(0) | Value::UInt(0)),
    }
}

fn shown_path(path: &Path) -> String {
    path.display().to_string()
}

/// As MySQL writes the name of a database: readers of the log know it without quotes.
fn plain_or_quoted(name: &str) -> String {
    match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        true => name.to_owned(),
        false => quoted(name),
    }
}
