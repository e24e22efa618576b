//! `glassine support`: one text file about a running server, for whoever is asked for help.
//!
//! It must be fit to be sent to a stranger. What holds passwords, literals of statements or rows is left out rather
//! than cleaned: of a statement only its first word remains, of the report of the engine only the sections that count.
//! `bench/tests/install.rs` plants secrets in all these places and looks for them in the file.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::client::{Client, Refused};

/// Writes one file about a running server, to be sent with a question
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The socket of the server
    #[arg(long, short = 'S', value_name = "FILE")]
    socket: PathBuf,
    /// Log in as this user, who needs the privilege PROCESS
    #[arg(long, short, default_value = "root")]
    user: String,
    /// With this password; the environment's MYSQL_PWD is not seen by others
    #[arg(long, value_name = "PASSWORD")]
    password: Option<String>,
    /// The file with the server's messages, if its standard error goes to one
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The file to write, which must not exist [glassine-support-SECONDS.txt]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

const HELP: &str = "\
In the file: the version; the process with its options, memory and limits; the machine; variables and status;
who is connected and the first word of what each does; the report of the engine without the sections about
transactions, deadlocks and foreign keys; the last messages of the log; names and sizes of the files.

Not in the file: values of options and variables that hold passwords, keys or statements; texts of statements;
anything in quotes in the log, and lines that belong to another; rows. Names of accounts, hosts, databases and
tables are in it: read it before you send it.

Example:
  glassine support --socket=/run/glassine/glassine.sock --log=/var/log/glassine/error.log";

/// Of the log.
const LINES_MAX: usize = 500;
/// Of the data directory.
const FILES_MAX: usize = 20_000;

const LEFT_OUT: &str = "(left out)";

pub fn run(args: &Args) -> ExitCode {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let to = args.to.clone().unwrap_or_else(|| PathBuf::from(format!("glassine-support-{seconds}.txt")));
    let done = report(args, seconds).map_err(|refused| refused.to_string()).and_then(|text| {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&to)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|cause| format!("cannot write {}: {cause}", to.display()))
    });
    match done {
        Ok(()) => {
            println!("{}: read it before you send it", to.display());
            ExitCode::SUCCESS
        }
        Err(cause) => {
            eprintln!("glassine support: {cause}");
            ExitCode::FAILURE
        }
    }
}

fn report(args: &Args, seconds: u64) -> Result<String, Refused> {
    let password = args.password.clone().or_else(|| std::env::var("MYSQL_PWD").ok()).unwrap_or_default();
    let mut client = Client::connect(&args.socket, &args.user, &password)?;
    let mut text = format!("glassine support {}, {seconds} seconds since 1970\n", env!("CARGO_PKG_VERSION"));
    let variables = client.rows("SHOW GLOBAL VARIABLES")?;

    section(&mut text, "process");
    match client.server_process() {
        Some(pid) => process(&mut text, pid),
        None => text.push_str("unknown\n"),
    }
    section(&mut text, "machine");
    for file in ["/proc/version", "/proc/loadavg", "/proc/meminfo", "/proc/pressure/io", "/etc/os-release"] {
        let lines = fs::read_to_string(file).unwrap_or_default();
        let _ = writeln!(text, "{file}\n{}", lines.lines().take(12).collect::<Vec<_>>().join("\n"));
    }
    section(&mut text, "variables");
    for row in &variables {
        let [name, value, ..] = &row[..] else { continue };
        let _ = writeln!(text, "{name}={}", shown(name, value));
    }
    section(&mut text, "status");
    for row in client.rows("SHOW GLOBAL STATUS")? {
        let _ = writeln!(text, "{}", row.join("="));
    }
    section(&mut text, "connections (id, user, host, database, command, seconds, state, statement)");
    for mut row in client.rows("SHOW FULL PROCESSLIST")? {
        if let Some(info) = row.get_mut(7) {
            *info = info.split_whitespace().next().filter(|word| is_word(word)).unwrap_or_default().to_owned();
        }
        let _ = writeln!(text, "{}", row.join(" | "));
    }
    section(&mut text, "engine");
    for row in client.rows("SHOW ENGINE INNODB STATUS")? {
        text.push_str(&engine(row.last().map_or("", String::as_str)));
    }
    section(&mut text, "log");
    match &args.log {
        Some(path) => match fs::read(path) {
            Ok(bytes) => text.push_str(&log(&String::from_utf8_lossy(&bytes))),
            Err(cause) => _ = writeln!(text, "cannot read {}: {cause}", path.display()),
        },
        None => text.push_str("--log=FILE was not given; under systemd: journalctl -u glassine\n"),
    }
    section(&mut text, "files (length, allocated bytes, name)");
    let datadir = variables.iter().find(|row| row[0] == "datadir").map(|row| PathBuf::from(&row[1]));
    if let Some(datadir) = datadir {
        let mut left = FILES_MAX;
        files(&mut text, &datadir, &datadir, &mut left);
    }
    Ok(text)
}

fn section(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n== {title}");
}

/// The value of an option or a variable, unless it is nobody's business. Numbers and switches tell nothing.
fn shown<'a>(name: &str, value: &'a str) -> &'a str {
    let name = name.to_ascii_lowercase();
    let runs_statements = ["init_connect", "init_replica", "init_slave"].contains(&&*name);
    let is_named = ["password", "secret"].iter().any(|word| name.contains(word)) && !name.ends_with("_path");
    let is_plain = value.parse::<u64>().is_ok() || ["", "ON", "OFF"].contains(&value);
    if (runs_statements || is_named) && !is_plain { LEFT_OUT } else { value }
}

/// How the server was started, and what it uses of the machine.
fn process(text: &mut String, pid: i32) {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    for argument in line.split(|byte| *byte == 0).filter(|argument| !argument.is_empty()) {
        let argument = String::from_utf8_lossy(argument);
        let (name, value) = argument.split_once('=').unwrap_or((&argument, ""));
        let value = shown(&name.trim_start_matches('-').replace('-', "_"), value);
        let _ = writeln!(text, "{name}{}{value}", if value.is_empty() { "" } else { "=" });
    }
    for (file, wanted) in [
        ("status", &["VmPeak", "VmSize", "VmHWM", "VmRSS", "VmSwap", "Threads", "Cpus_allowed_list"][..]),
        ("limits", &["Max open files", "Max processes", "Max locked memory"]),
        ("io", &["read_bytes", "write_bytes"]),
    ] {
        let lines = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        for line in lines.lines().filter(|line| wanted.iter().any(|name| line.starts_with(name))) {
            let _ = writeln!(text, "{line}");
        }
    }
}

/// A keyword, and no literal.
fn is_word(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// The report without the sections that show statements and keys.
fn engine(report: &str) -> String {
    const KEPT: [&str; 8] = [
        "BACKGROUND THREAD",
        "SEMAPHORES",
        "FILE I/O",
        "LOG",
        "BUFFER POOL AND MEMORY",
        "PAGE COMPRESSION",
        "PAGE CLEANERS",
        "ROW OPERATIONS",
    ];
    const LEFT_OUT: [&str; 3] = ["LATEST FOREIGN KEY ERROR", "LATEST DETECTED DEADLOCK", "TRANSACTIONS"];
    let is_rule = |line: &str| line.len() >= 3 && line.bytes().all(|byte| byte == b'-' || byte == b'=');
    let lines: Vec<&str> = report.lines().collect();
    let (mut text, mut keeps, mut behind_title) = (String::new(), false, 0);
    for (at, line) in lines.iter().enumerate() {
        let is_between = at > 0 && is_rule(lines[at - 1]) && lines.get(at + 1).is_some_and(|next| is_rule(next));
        // A section of one line stands between rules, too. What is left out may look like anything.
        let is_title = is_between && at != behind_title && (KEPT.contains(line) || LEFT_OUT.contains(line));
        if is_title {
            behind_title = at + 2;
            keeps = KEPT.contains(line);
            let _ = writeln!(text, "-- {line}{}", if keeps { "" } else { ": left out" });
        } else if keeps && !is_rule(line) {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// The last messages. A line without a time continues a message, which may show a statement.
fn log(all: &str) -> String {
    let is_message = |line: &&str| line.len() > 20 && line.as_bytes()[10] == b'T' && line.contains(" [");
    let lines: Vec<&str> = all.lines().filter(is_message).collect();
    let mut text = String::new();
    for line in &lines[lines.len().saturating_sub(LINES_MAX)..] {
        let _ = writeln!(text, "{}", clean(line));
    }
    text
}

/// Without what stands in quotes, behind a verb of SQL, or behind the word password.
fn clean(line: &str) -> String {
    const VERBS: [&str; 10] =
        ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "GRANT", "SET", "CALL"];
    let mut unquoted = String::new();
    let mut quote = None;
    for c in line.chars() {
        match quote {
            None => {
                unquoted.push(c);
                quote = matches!(c, '\'' | '"').then_some(c);
            }
            Some(open) if c == open => {
                unquoted.push_str("...");
                unquoted.push(c);
                quote = None;
            }
            Some(_) => {}
        }
    }
    let mut text = String::new();
    let mut hides = false;
    for word in unquoted.split(' ') {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(if hides { LEFT_OUT } else { word });
        hides = word.to_ascii_lowercase().ends_with("password");
        if VERBS.contains(&word) {
            text.push_str(" ...");
            break;
        }
    }
    text
}

fn files(text: &mut String, top: &Path, directory: &Path, left: &mut usize) {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            files(text, top, &path, left);
            continue;
        }
        if *left == 0 {
            return;
        }
        *left -= 1;
        let name = path.strip_prefix(top).unwrap_or(&path);
        let _ = writeln!(text, "{:>14} {:>14} {}", metadata.len(), metadata.blocks() * 512, name.display());
        if *left == 0 {
            text.push_str("more files are not listed\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_secret() {
        for name in ["report_password", "root_password", "INIT_CONNECT", "some_secret"] {
            assert_eq!(shown(name, "x"), LEFT_OUT, "{name}");
        }
        for (name, value) in [("ssl_key", "k.pem"), ("password_history", "3"), ("port", "1"), ("some_password", "")] {
            assert_eq!(shown(name, value), value, "{name}");
        }
    }

    #[test]
    fn messages_lose_what_they_quote() {
        let line = "2026-01-02T03:04:05.000001Z 0 [Note] root logs in with the temporary password Ab#9 and then: \
                    ALTER USER USER() IDENTIFIED BY 'x'";
        let cleaned = clean(line);
        assert!(cleaned.contains("password (left out) and then: ALTER ..."), "{cleaned}");
        assert_eq!(clean("a 'b c' d \"e\" f 'g"), "a '...' d \"...\" f '");
        let all = format!("{line}\ncontinued 4711\n2026-01-02T03:04:05.000002Z 0 [Warning] in UPDATE t SET a = 4711\n");
        let text = log(&all);
        assert!(text.lines().count() == 2 && !text.contains("4711"), "{text}");
    }

    #[test]
    fn of_the_report_only_the_counting_sections_stay() {
        let report = "====\nINNODB MONITOR\n====\n---\nLOG\n---\nLog sequence number 5\n------\nTRANSACTIONS\n------\n\
                      UPDATE t SET a = 4711\n---\nLATEST DETECTED DEADLOCK\n---\n0: len 4; hex 4711\n----\nSEMAPHORES\n----\nWaits: 0\n";
        let text = engine(report);
        assert!(
            text.contains("Log sequence number 5") && text.contains("Waits: 0") && !text.contains("4711"),
            "{text}"
        );
        assert!(text.contains("-- TRANSACTIONS: left out"), "{text}");
    }
}
