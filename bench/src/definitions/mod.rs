//! `bench definitions`: statements that define things, of every kind, by several sessions, beside KILL and kill -9.
//!
//! ```text
//! owners     each has two databases and some accounts of its own. A statement that was answered with an error, or that was
//!            killed, has changed nothing; what it was answered is there behind a kill -9
//! shared     all of them do the same to two databases that nobody owns: there only the log tells what must be there
//! killer     KILL QUERY
//! log        a second server that executes the binary log has the same definitions, rows and accounts
//! files      the data directory has the files of the tables that are there, and no others
//! ```

mod author;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use self::author::Author;
use self::state::{State, difference};
use crate::client::{Client, Error};
use crate::process::{Kind, Options, Scratch, Server, glassine_binary};

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Sessions that define things.
    #[arg(long, default_value_t = 4)]
    pub owners: usize,
    #[arg(long, default_value_t = 20)]
    pub kills: u32,
    /// The longest that the server is left alone.
    #[arg(long, default_value_t = 6000)]
    pub life_ms: u64,
    /// What the statements are drawn from. Which of several sessions comes first is not.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What came of a run in which nothing was wrong.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub done: u64,
    pub refused: u64,
    pub interrupted: u64,
    /// Numbers of errors, and how often each came.
    pub errors: BTreeMap<u16, u64>,
}

/// The command.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let outcome = play(arguments)?;
    println!(
        "seed {}: {} kills, {} done, {} refused, {} interrupted: nothing lost, nothing half done\nerrors: {:?}",
        arguments.seed, arguments.kills, outcome.done, outcome.refused, outcome.interrupted, outcome.errors
    );
    Ok(())
}

/// Errors that no statement may have on a server that is well.
pub const NEVER: [u16; 7] = [1030, 1034, 1105, 1296, 1712, 1815, 2013];

/// What a session knows of its own things.
#[derive(Default)]
struct Owner {
    known: State,
    /// What is under way, or was done and not looked at yet. Empty = `known` is the truth.
    under_way: String,
}

struct Storm {
    owners: Vec<Mutex<Owner>>,
    stop: AtomicBool,
    done: AtomicU64,
    refused: AtomicU64,
    interrupted: AtomicU64,
    errors: Mutex<BTreeMap<u16, u64>>,
    wrong: Mutex<Option<String>>,
}

fn databases_of(number: usize) -> [String; 2] {
    [format!("own{number}a"), format!("own{number}b")]
}

fn accounts_of(number: usize) -> String {
    format!("own{number}x")
}

pub fn play(arguments: &Arguments) -> io::Result<Outcome> {
    let scratch = Scratch::new("definitions")?;
    let directory = scratch.0.join("glassine");
    let log = ["--log-bin", "--server-id=7", "--lock-wait-timeout=3", "--innodb-lock-wait-timeout=2"];
    let options = Options {
        pool: "16M".into(),
        log: "16M".into(),
        more: log.iter().map(|option| option.to_string()).collect(),
        ..Options::default()
    };
    let mut server = Server::create(Kind::Glassine, &directory, &options)?;
    let plain = Options { pool: "16M".into(), log: "16M".into(), ..Options::default() };
    let follower = Server::create(Kind::Glassine, &scratch.0.join("follower"), &plain)?;
    let storm = Storm {
        owners: (0..arguments.owners).map(|_| Mutex::default()).collect(),
        stop: AtomicBool::new(false),
        done: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        interrupted: AtomicU64::new(0),
        errors: Mutex::default(),
        wrong: Mutex::new(None),
    };
    let mut random = StdRng::seed_from_u64(arguments.seed);
    let mut replayed = BTreeSet::new();
    for life in 0..=arguments.kills {
        storm.stop.store(false, Ordering::Relaxed);
        let seed = random.random::<u64>();
        thread::scope(|scope| {
            for number in 0..storm.owners.len() {
                let (storm, server) = (&storm, &server);
                scope.spawn(move || storm.own(server, number, seed.wrapping_add(number as u64)));
            }
            let longest = arguments.life_ms.max(400);
            let end = Instant::now() + Duration::from_millis(random.random_range(longest / 4..longest));
            while Instant::now() < end && !storm.stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(20));
            }
            storm.stop.store(true, Ordering::Relaxed);
            if life < arguments.kills {
                // In the middle of what is under way: the sessions see their connections break.
                let _ = Command::new("kill").args(["-KILL", &server.pid().to_string()]).status();
            }
        });
        if let Some(wrong) = storm.wrong.lock().map_err(|_| io::Error::other("a session panicked"))?.take() {
            return Err(io::Error::other(format!("seed {}, life {life}: {wrong}", arguments.seed)));
        }
        if life < arguments.kills {
            let directory = server.kill();
            server = Server::start(Kind::Glassine, &directory, &options)?;
        }
        storm
            .judge(&server)
            .and_then(|()| leftovers(&server))
            .and_then(|()| follow(&server, &follower, &mut replayed))
            .map_err(|wrong| {
                let log = server.log_tail(15);
                io::Error::other(format!("seed {}, life {life}: {wrong}\nlog:\n{log}", arguments.seed))
            })?;
    }
    server.stop()?;
    Ok(Outcome {
        done: storm.done.into_inner(),
        refused: storm.refused.into_inner(),
        interrupted: storm.interrupted.into_inner(),
        errors: storm.errors.into_inner().unwrap_or_default(),
    })
}

/// Executes one deed. What it stops at is cleared away.
fn execute(client: &mut Client, deed: &[String]) -> Result<(), Error> {
    let mut result = Ok(());
    for statement in deed {
        result = client.query(statement).map(|_| ());
        if result.is_err() {
            break;
        }
    }
    if deed.len() > 1 && result.as_ref().is_err_and(|error| error.code().is_some()) {
        // A KILL that came too late must not hit this.
        let mut clearings = vec!["DO 0".to_owned(), "ROLLBACK".to_owned(), "UNLOCK TABLES".to_owned()];
        if let Some(name) = deed[0].strip_prefix("XA START ") {
            clearings.extend([format!("XA END {name}"), format!("XA ROLLBACK {name}")]);
        }
        for clearing in clearings.iter().chain(&clearings) {
            let _ = client.query(clearing);
        }
        if let Some(name) = deed[0].strip_prefix("CREATE TEMPORARY TABLE ").and_then(|rest| rest.split(" (").next()) {
            let _ = client.query(&format!("DROP TEMPORARY TABLE IF EXISTS {name}"));
        }
    }
    result
}

impl Storm {
    fn fail(&self, what: String) {
        if let Ok(mut wrong) = self.wrong.lock() {
            wrong.get_or_insert(what);
        }
        self.stop.store(true, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts an error; true if the session goes on.
    fn takes(&self, deed: &[String], error: &Error) -> bool {
        let Some(code) = error.code() else {
            if !self.stopped() {
                // A stop that is on its way explains it.
                thread::sleep(Duration::from_millis(300));
                if !self.stopped() {
                    self.fail(format!("{}: {error}", deed.join("; ")));
                }
            }
            return false;
        };
        if let Ok(mut errors) = self.errors.lock() {
            *errors.entry(code).or_default() += 1;
        }
        if NEVER.contains(&code) && !self.stopped() {
            self.fail(format!("{}: {error}", deed.join("; ")));
            return false;
        }
        let kind = if matches!(code, 1317 | 1213) { &self.interrupted } else { &self.refused };
        kind.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// One session, until it is told to stop or the server is gone.
    fn own(&self, server: &Server, number: usize, seed: u64) {
        let (Ok(mut client), Ok(mut killer), Ok(mut viewer)) = (server.connect(), server.connect(), server.connect())
        else {
            return;
        };
        let Ok(id) = client.query("SELECT CONNECTION_ID()").map(|answer| answer.number()) else { return };
        let mut random = StdRng::seed_from_u64(seed);
        let mut own = Author::new(seed, databases_of(number), accounts_of(number));
        let shared = ["shared_a".to_owned(), "shared_b".to_owned()];
        let mut all = Author::new(seed ^ 1, shared, "shared_x".to_owned());
        let (databases, accounts) = (databases_of(number), format!("{}%", accounts_of(number)));
        let names: Vec<&str> = databases.iter().map(String::as_str).collect();
        while !self.stopped() {
            let is_own = random.random_range(0..4) > 0;
            let author = if is_own { &mut own } else { &mut all };
            if random.random_range(0..40) == 0 {
                // Not one that others may drop: the text of a log cannot name such a database, in MySQL's either.
                let current = databases[0].as_str();
                if client.query(&format!("USE {current}")).is_err_and(|error| error.code().is_none()) {
                    return;
                }
            }
            let deed = if random.random_range(0..12) == 0 { author.begin() } else { author.deed() };
            if random.random_range(0..10) == 0 {
                let value = random.random_range(0..2);
                if client.query(&format!("SET foreign_key_checks = {value}")).is_err_and(|error| error.code().is_none())
                {
                    return;
                }
            }
            let Ok(mut owner) = self.owners[number].lock() else { return };
            if is_own {
                owner.under_way = deed.join("; ");
            }
            let kills = random.random_range(0..5) == 0;
            let wait = Duration::from_micros(random.random_range(0..6_000));
            let result = match kills {
                false => execute(&mut client, &deed),
                true => thread::scope(|scope| {
                    let other = scope.spawn(|| {
                        thread::sleep(wait);
                        let _ = killer.query(&format!("KILL QUERY {id}"));
                    });
                    let result = execute(&mut client, &deed);
                    let _ = other.join();
                    // It may come when the statement has ended, and be meant for the next one.
                    let _ = client.query("DO 0");
                    result
                }),
            };
            let changed_nothing = match &result {
                Ok(()) => {
                    self.done.fetch_add(1, Ordering::Relaxed);
                    false
                }
                Err(error) => {
                    if !self.takes(&deed, error) {
                        return;
                    }
                    // Several statements that are no transaction.
                    deed.len() == 1 || deed[0] == "BEGIN" || deed[0].starts_with("XA")
                }
            };
            if !is_own {
                continue;
            }
            match state::read(&mut viewer, &names, &accounts) {
                Ok(now) => {
                    let how = difference(&owner.known, &now);
                    if changed_nothing && !how.is_empty() {
                        let error = result.err().map(|error| error.to_string()).unwrap_or_default();
                        return self.fail(format!("session {number}: {}: {error}, and yet\n{how}", deed.join("; ")));
                    }
                    own.tables = state::tables(&now);
                    *owner = Owner { known: now, under_way: String::new() };
                }
                Err(error) if error.code().is_some() => {
                    if !self.stopped() {
                        return self.fail(format!("session {number}: look behind {}: {error}", deed.join("; ")));
                    }
                    return;
                }
                Err(error) => {
                    self.takes(&deed, &error);
                    return;
                }
            }
        }
    }

    /// What the sessions had seen is there, and every table is whole.
    fn judge(&self, server: &Server) -> Result<(), String> {
        let said = |error: Error| error.to_string();
        let mut client = server.connect().map_err(said)?;
        for row in client.query("XA RECOVER").map_err(said)?.rows {
            let name = row.last().cloned().flatten().unwrap_or_default();
            client.query(&format!("XA ROLLBACK '{name}'")).map_err(said)?;
        }
        for (number, owner) in self.owners.iter().enumerate() {
            let mut owner = owner.lock().map_err(|_| "a session panicked".to_string())?;
            let databases = databases_of(number);
            let names: Vec<&str> = databases.iter().map(String::as_str).collect();
            let now = state::read(&mut client, &names, &format!("{}%", accounts_of(number))).map_err(said)?;
            let how = difference(&owner.known, &now);
            if owner.under_way.is_empty() && !how.is_empty() {
                return Err(format!("session {number}: behind a kill\n{how}"));
            }
            *owner = Owner { known: now, under_way: String::new() };
        }
        let tables = "SELECT CONCAT('`', table_schema, '`.`', REPLACE(table_name, '`', '``'), '`') FROM \
                      information_schema.tables WHERE table_type = 'BASE TABLE' AND (table_schema LIKE 'own%' OR \
                      table_schema LIKE 'shared%')";
        for row in client.query(tables).map_err(said)?.rows {
            let name = row[0].clone().unwrap_or_default();
            let checked = client.query(&format!("CHECK TABLE {name}")).map_err(said)?;
            if checked.rows.iter().any(|row| row[3].as_deref() != Some("OK")) {
                return Err(format!("CHECK TABLE {name}: {:?}", checked.rows));
            }
        }
        Ok(())
    }
}

/// Files of tablespaces below a directory, relative to it.
fn tablespaces(base: &Path, under: &Path, found: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(under)? {
        let path = entry?.path();
        if path.is_dir() {
            tablespaces(base, &path, found)?;
        } else if path != base && path.strip_prefix(base).is_ok_and(|rest| rest.components().count() > 1) {
            found.insert(path.strip_prefix(base).unwrap_or(&path).display().to_string());
        }
    }
    Ok(())
}

/// Files that no table has, and files that are missing. What was dropped is removed in the background.
fn leftovers(server: &Server) -> Result<(), String> {
    let mut client = server.connect().map_err(|error| error.to_string())?;
    let patience = Instant::now();
    let base = server.directory.join("data");
    loop {
        let answer =
            client.query("SELECT path FROM information_schema.innodb_datafiles").map_err(|error| error.to_string())?;
        let known: BTreeSet<String> = answer
            .rows
            .iter()
            .filter_map(|row| Some(row[0].as_ref()?.trim_start_matches("./").to_owned()))
            .filter(|path| path.contains('/'))
            .collect();
        let mut found = BTreeSet::new();
        tablespaces(&base, &base, &mut found).map_err(|error| error.to_string())?;
        if known == found {
            return Ok(());
        }
        if patience.elapsed() > Duration::from_secs(20) {
            let missing: Vec<&String> = known.difference(&found).collect();
            let left: Vec<&String> = found.difference(&known).collect();
            return Err(format!("files that are missing: {missing:?}; that no table has: {left:?}"));
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Executes what the log has on another server, which must have the same then.
fn follow(server: &Server, follower: &Server, replayed: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    let said = |error: Error| error.to_string();
    let mut client = server.connect().map_err(said)?;
    client.query("FLUSH BINARY LOGS").map_err(said)?;
    let logs = client.query("SHOW BINARY LOGS").map_err(said)?.rows;
    let mut files: Vec<PathBuf> =
        logs.iter().filter_map(|row| Some(server.directory.join("data").join(row[0].as_ref()?))).collect();
    files.pop();
    files.retain(|file| !replayed.contains(file));
    let output = Command::new(glassine_binary()).args(["binlog"]).args(&files).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("glassine binlog: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut shell = Command::new("mariadb")
        .args(["--no-defaults", "-uroot", "-S"])
        .arg(&follower.socket)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut input = shell.stdin.take().ok_or("no pipe")?;
    let text = output.stdout;
    let writer = thread::spawn(move || input.write_all(&text));
    let ended = shell.wait_with_output().map_err(|error| error.to_string())?;
    let _ = writer.join();
    if !ended.status.success() {
        return Err(format!("the replay of {files:?}: {}", String::from_utf8_lossy(&ended.stderr)));
    }
    replayed.extend(files);
    let mut other = follower.connect().map_err(said)?;
    let databases = ["own%", "shared%"];
    let ours = state::read(&mut client, &databases, "%x_").map_err(said)?;
    let theirs = state::read(&mut other, &databases, "%x_").map_err(said)?;
    let how = difference(&ours, &theirs);
    match how.is_empty() {
        true => Ok(()),
        false => Err(format!("the server and what its log makes:\n{how}")),
    }
}
