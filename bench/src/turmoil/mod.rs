//! `bench turmoil`: sessions that change rows in every way, and the tables that these rows are in, beside KILL and kill -9.
//!
//! ```text
//! sessions   transactions with savepoints, distributed ones, cascades, triggers, procedures; columns, indexes of every kind,
//!            foreign keys and partitions that come and go; LOCK TABLES, FLUSH TABLES WITH READ LOCK; snapshots that are read
//!            several times; KILL of each other. Each statement answers in bounded time
//! judge      whatever way rows are looked for, they are the same: by each index as by the primary key, by words as by
//!            LIKE; generated columns are what their expressions say, CHECK constraints hold, no child is without its
//!            parent, no money is gone; a definition that is shown makes the same table again
//! replica    follows with several workers, is killed too, and has the same in the end
//! ```
//!
//! `bench definitions` is about what becomes of statements that define things, `bench anomalies` about what transactions may
//! see of each other; this is about rows and indexes while all of that goes on at once.

mod author;
mod judge;

use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use self::author::Author;
use crate::client::{Client, Error};
use crate::definitions::NEVER;
use crate::process::{Kind, Scratch, Server};
use crate::replicas::{BY_NAME, assert_same, contents, follow, free_port, options, wait_for_all};

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 6)]
    pub sessions: usize,
    #[arg(long, default_value_t = 20)]
    pub kills: u32,
    /// The longest that the server is left alone.
    #[arg(long, default_value_t = 8000)]
    pub life_ms: u64,
    /// What the statements are drawn from. Which of several sessions comes first is not.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What came of a run in which nothing was wrong.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub done: u64,
    pub defined: u64,
    pub snapshots: u64,
    /// Numbers of errors, and how often each came.
    pub errors: BTreeMap<u16, u64>,
}

/// The command.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let outcome = play(arguments)?;
    println!(
        "seed {}: {} kills, {} statements done, {} of them definitions, {} snapshots: the same whatever way one looks\n\
         errors: {:?}",
        arguments.seed, arguments.kills, outcome.done, outcome.defined, outcome.snapshots, outcome.errors
    );
    Ok(())
}

/// How long a statement may take: everything that waits gives up after seconds.
const PATIENCE: Duration = Duration::from_secs(40);
const ACCOUNTS: i64 = 100;
const MONEY: i64 = 100_000;

struct Turmoil {
    /// The sessions' numbers on the server.
    ids: Vec<AtomicU64>,
    stop: AtomicBool,
    done: AtomicU64,
    defined: AtomicU64,
    snapshots: AtomicU64,
    errors: Mutex<BTreeMap<u16, u64>>,
    wrong: Mutex<Option<String>>,
}

pub fn play(arguments: &Arguments) -> io::Result<Outcome> {
    let scratch = Scratch::new("turmoil")?;
    let mut random = StdRng::seed_from_u64(arguments.seed);
    let waits = ["--lock-wait-timeout=2", "--innodb-lock-wait-timeout=1"];
    let short_log = if random.random() { "--innodb-online-alter-log-max-size=64K" } else { "" };
    let named = ["--log-bin", "--gtid-mode=ON", "--log-bin-trust-function-creators=1"];
    let port = free_port();
    let all: Vec<&str> = named.into_iter().chain(waits).chain([short_log]).filter(|one| !one.is_empty()).collect();
    let own = options(port, 1, &all);
    let theirs = options(free_port(), 2, &[&named[..], &["--replica-parallel-workers=3"]].concat());
    let mut server = Server::create(Kind::Glassine, &scratch.0.join("source"), &own)?;
    let mut replica = Server::create(Kind::Glassine, &scratch.0.join("replica"), &theirs)?;
    let mut client = server.connect().map_err(io::Error::other)?;
    let account = "GRANT REPLICATION SLAVE ON *.* TO replica@127.0.0.1 IDENTIFIED BY 'it''s secret'";
    for statement in author::SCHEMA.iter().chain([&account]) {
        client.query(statement).map_err(|error| io::Error::other(format!("{statement}: {error}")))?;
    }
    follow(&mut replica.connect().map_err(io::Error::other)?, port, BY_NAME);
    let turmoil = Turmoil {
        ids: (0..arguments.sessions).map(|_| AtomicU64::new(0)).collect(),
        stop: AtomicBool::new(false),
        done: AtomicU64::new(0),
        defined: AtomicU64::new(0),
        snapshots: AtomicU64::new(0),
        errors: Mutex::default(),
        wrong: Mutex::new(None),
    };
    for life in 0..=arguments.kills {
        turmoil.stop.store(false, Ordering::Relaxed);
        let (seed, longest) = (random.random::<u64>(), arguments.life_ms.max(400));
        let span = Duration::from_millis(random.random_range(longest / 4..longest));
        let replica_dies = random.random_range(0..3) == 0;
        replica = thread::scope(|scope| {
            for number in 0..arguments.sessions {
                let (turmoil, server) = (&turmoil, &server);
                scope.spawn(move || turmoil.session(server, number, seed.wrapping_add(number as u64)));
            }
            let end = Instant::now() + span;
            while Instant::now() < end && !turmoil.stopped() {
                thread::sleep(Duration::from_millis(20));
            }
            let replica = match replica_dies {
                true => Server::start(Kind::Glassine, &replica.kill(), &theirs),
                false => Ok(replica),
            };
            turmoil.stop.store(true, Ordering::Relaxed);
            if life < arguments.kills {
                // In the middle of what is under way: the sessions see their connections break.
                let _ = Command::new("kill").args(["-KILL", &server.pid().to_string()]).status();
            }
            replica
        })?;
        let told = |wrong: String, log: String| {
            io::Error::other(format!("seed {}, life {life}: {wrong}\nlog:\n{log}", arguments.seed))
        };
        if let Some(wrong) = turmoil.wrong.lock().map_err(|_| io::Error::other("a session panicked"))?.take() {
            return Err(told(wrong, server.log_tail(15)));
        }
        if life < arguments.kills {
            server = Server::start(Kind::Glassine, &server.kill(), &own)?;
        }
        judge::all(&server, &mut random).map_err(|wrong| told(wrong, server.log_tail(15)))?;
        wait_for_all(&replica, &server);
        assert_same(
            &contents(&replica, &author::DATABASES),
            &contents(&server, &author::DATABASES),
            &format!("seed {}, life {life}: the replica", arguments.seed),
        );
        if server.log().contains("panicked") || replica.log().contains("panicked") {
            return Err(told("a panic".into(), [server.log_tail(15), replica.log_tail(15)].concat()));
        }
    }
    replica.stop()?;
    server.stop()?;
    Ok(Outcome {
        done: turmoil.done.into_inner(),
        defined: turmoil.defined.into_inner(),
        snapshots: turmoil.snapshots.into_inner(),
        errors: turmoil.errors.into_inner().unwrap_or_default(),
    })
}

/// A connection that cannot be used any more.
struct Broken;

impl Turmoil {
    fn fail(&self, what: String) {
        if let Ok(mut wrong) = self.wrong.lock() {
            wrong.get_or_insert(what);
        }
        self.stop.store(true, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// One session, until it is told to stop. Who was killed comes back.
    fn session(&self, server: &Server, number: usize, seed: u64) {
        let mut author = Author::new(seed, number);
        while !self.stopped() {
            let Ok(mut client) = server.connect() else {
                // The server that is to be killed may be dead before the sessions are told.
                thread::sleep(Duration::from_millis(300));
                if !self.stopped() {
                    self.fail("the server does not let a session in".into());
                }
                return;
            };
            let _ = client.set_patience(PATIENCE);
            match client.query("SELECT CONNECTION_ID()") {
                Ok(answer) => self.ids[number].store(answer.number() as u64, Ordering::Relaxed),
                Err(_) => continue,
            }
            while !self.stopped() && self.deed(&mut client, &mut author).is_ok() {}
        }
    }

    /// One statement: Ok(error's number), or Ok(0).
    fn execute(&self, client: &mut Client, statement: &str) -> Result<u16, Broken> {
        let begin = Instant::now();
        let mut result = client.query(statement);
        while result.as_ref().is_ok_and(|answer| answer.more) {
            result = client.receive();
        }
        match result {
            Ok(_) => {
                self.done.fetch_add(1, Ordering::Relaxed);
                Ok(0)
            }
            Err(Error::Io(cause)) => {
                let waited = matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
                if waited && begin.elapsed() >= PATIENCE {
                    self.fail(format!("no answer within {PATIENCE:?}: {statement}"));
                }
                Err(Broken)
            }
            Err(error) => {
                let code = error.code().unwrap_or_default();
                if let Ok(mut errors) = self.errors.lock() {
                    *errors.entry(code).or_default() += 1;
                }
                if NEVER.contains(&code) && !self.stopped() {
                    self.fail(format!("{statement}: {error}"));
                }
                Ok(code)
            }
        }
    }

    fn deed(&self, client: &mut Client, author: &mut Author) -> Result<(), Broken> {
        match author.number(0, 99) {
            0..=54 => self.transaction(client, author),
            55..=62 => self.branch(client, author),
            63..=84 => {
                if self.execute(client, &author.definition())? == 0 {
                    self.defined.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }
            85..=87 => {
                if self.execute(client, &author.lock())? == 0 {
                    for _ in 0..author.number(1, 3) {
                        let one = if author.once_in(2) { author.definition() } else { author.change() };
                        // A procedure that was killed leaves its transaction open, with the half of a transfer.
                        if self.execute(client, &one)? != 0 && one.starts_with("CALL") {
                            self.surely(client, "ROLLBACK")?;
                        }
                    }
                    self.surely(client, "UNLOCK TABLES")?;
                }
                Ok(())
            }
            88 | 89 => {
                let lock = ["FLUSH TABLES WITH READ LOCK", "FLUSH TABLES", "FLUSH BINARY LOGS"];
                self.execute(client, lock[author.number(0, 2)])?;
                thread::sleep(Duration::from_millis(author.number(0, 40) as u64));
                self.surely(client, "UNLOCK TABLES")
            }
            90..=96 => self.snapshot(client, author),
            _ => {
                let other = self.ids[author.number(0, self.ids.len() - 1)].load(Ordering::Relaxed);
                let kind = if author.once_in(5) { "CONNECTION" } else { "QUERY" };
                self.execute(client, &format!("KILL {kind} {other}")).map(|_| ())
            }
        }
    }

    /// Something that has to be done before the session goes on: a KILL may have been meant for it.
    fn surely(&self, client: &mut Client, statement: &str) -> Result<(), Broken> {
        for _ in 0..10 {
            if self.execute(client, statement)? != 1317 {
                break;
            }
        }
        Ok(())
    }

    fn transaction(&self, client: &mut Client, author: &mut Author) -> Result<(), Broken> {
        if self.execute(client, author.beginning())? != 0 || self.execute(client, "BEGIN")? != 0 {
            return Ok(());
        }
        for _ in 0..author.number(1, 6) {
            let statements = match author.number(0, 9) {
                0 => vec![format!("SAVEPOINT s{}", author.number(0, 1))],
                1 => vec![format!("ROLLBACK TO s{}", author.number(0, 1))],
                2 => author.transfer(),
                _ => vec![author.change()],
            };
            for statement in &statements {
                let code = self.execute(client, statement)?;
                // The transaction is gone (a procedure has one of its own), or a transfer is not done as a whole.
                if matches!(code, 1213 | 1402) || code != 0 && statements.len() > 1 || statement.starts_with("CALL") {
                    return self.surely(client, "ROLLBACK");
                }
            }
        }
        let end = if author.once_in(4) { "ROLLBACK" } else { "COMMIT" };
        match self.execute(client, end)? {
            0 => Ok(()),
            _ => self.surely(client, "ROLLBACK"),
        }
    }

    /// A branch of a distributed transaction.
    fn branch(&self, client: &mut Client, author: &mut Author) -> Result<(), Broken> {
        let name = author.branch();
        if self.execute(client, &format!("XA START {name}"))? != 0 {
            return Ok(());
        }
        for _ in 0..author.number(1, 3) {
            let change = author.change();
            if change.starts_with("CALL") {
                continue;
            }
            if self.execute(client, &change)? != 0 && author.once_in(2) {
                break;
            }
        }
        let ended = self.execute(client, &format!("XA END {name}"))? == 0;
        if ended && self.execute(client, &format!("XA PREPARE {name}"))? == 0 {
            thread::sleep(Duration::from_millis(author.number(0, 60) as u64));
            if !author.once_in(4) {
                return self.surely(client, &format!("XA COMMIT {name}"));
            }
        }
        self.surely(client, &format!("XA END {name}"))?;
        self.surely(client, &format!("XA ROLLBACK {name}"))
    }

    /// Reads tables several times from one snapshot.
    fn snapshot(&self, client: &mut Client, author: &mut Author) -> Result<(), Broken> {
        if self.execute(client, "START TRANSACTION WITH CONSISTENT SNAPSHOT")? != 0 {
            return Ok(());
        }
        let mut seen: BTreeMap<String, Vec<Vec<Option<String>>>> = BTreeMap::new();
        for _ in 0..author.number(2, 6) {
            let question = author.question();
            match client.query(&question) {
                Ok(answer) => {
                    self.snapshots.fetch_add(1, Ordering::Relaxed);
                    let sum = answer.rows[0].get(1).cloned().flatten();
                    if question.contains("d.account") && sum != Some(MONEY.to_string()) {
                        self.fail(format!("a snapshot in which money is gone: {question}: {:?}", answer.rows));
                    }
                    if let Some(before) = seen.insert(question.clone(), answer.rows.clone())
                        && before != answer.rows
                    {
                        self.fail(format!("a snapshot changes: {question}: {before:?}, then {:?}", answer.rows));
                    }
                }
                Err(Error::Io(_)) => return Err(Broken),
                // A definition waits for what the transaction has read, and has what it wants to read: there is no snapshot any more.
                Err(error) if error.code() == Some(1213) => return self.surely(client, "ROLLBACK"),
                // The table was changed, or who reads it was killed.
                Err(_) => {}
            }
            thread::sleep(Duration::from_millis(author.number(0, 60) as u64));
        }
        self.surely(client, "COMMIT")
    }
}
