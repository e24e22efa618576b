//! `bench anomalies`: random transactions on lists, by many clients at once, on a server that is killed again and
//! again; and a check of what they saw for everything that the isolation level excludes.
//!
//! ```text
//! clients --- append, read, commit ---> server <--- kill -9
//!    |                                    |
//!    v                                    v
//! history: what each saw  +  the lists in the end  --->  check: cycles, by class
//! ```
//!
//! A list is a text in a row, `1,5,3`. Appending is `INSERT ... ON DUPLICATE KEY UPDATE` or an UPDATE by a secondary
//! index, reading a SELECT by either index. A few lists are in use at a time, so that all clients conflict; a list that
//! has grown long is never used again, so that histories can be of any length.

pub mod check;
pub mod graph;
pub mod history;

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Error};
use crate::process::{Kind, Options, Scratch, Server};
use check::{Anomaly, Class};
use history::{Element, End, Key, Op, Txn};

/// Elements after which a list is left alone.
const LONG: u64 = 60;

/// Isolation levels, and how a session asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Level {
    ReadCommitted,
    RepeatableRead,
    /// REPEATABLE READ with innodb_snapshot_isolation.
    Snapshot,
    Serializable,
}

impl Level {
    fn statements(self) -> [&'static str; 2] {
        match self {
            Level::ReadCommitted => ["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "DO 0"],
            Level::RepeatableRead => [
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                "SET SESSION innodb_snapshot_isolation = OFF",
            ],
            Level::Snapshot => [
                "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                "SET SESSION innodb_snapshot_isolation = ON",
            ],
            Level::Serializable => ["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "DO 0"],
        }
    }
}

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Levels to test, each on a server of its own.
    #[arg(long, value_enum, default_values_t = [Level::Serializable, Level::Snapshot])]
    pub level: Vec<Level>,
    /// Committed transactions to wait for.
    #[arg(long, default_value_t = 100_000)]
    pub transactions: u64,
    #[arg(long, default_value_t = 16)]
    pub connections: usize,
    /// At least one: the last one ends the run.
    #[arg(long, default_value_t = 10)]
    pub kills: u32,
    /// Lists in use at a time.
    #[arg(long, default_value_t = 8)]
    pub lists: usize,
    #[arg(long)]
    pub seed: Option<u64>,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    pub committed: usize,
    pub aborted: usize,
    pub unknown: usize,
    pub anomalies: Vec<Anomaly>,
}

impl Outcome {
    pub fn count(&self, class: Class) -> usize {
        self.anomalies.iter().filter(|anomaly| anomaly.class == class).count()
    }

    /// Those that the level excludes.
    pub fn forbidden(&self, level: Level) -> Vec<&Anomaly> {
        self.anomalies.iter().filter(|anomaly| !check::allowed(level).contains(&anomaly.class)).collect()
    }
}

/// The command. An error is an anomaly that ought not to be there.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let mut failed = false;
    for &level in &arguments.level {
        let begin = Instant::now();
        let outcome = play(level, arguments)?;
        println!(
            "{level:?}: {} committed, {} rolled back, {} not answered, {} kills, {:.1} s",
            outcome.committed,
            outcome.aborted,
            outcome.unknown,
            arguments.kills,
            begin.elapsed().as_secs_f64()
        );
        let mut counts: BTreeMap<Class, usize> = BTreeMap::new();
        outcome.anomalies.iter().for_each(|anomaly| *counts.entry(anomaly.class).or_default() += 1);
        for (class, count) in &counts {
            let excluded = !check::allowed(level).contains(class);
            failed |= excluded;
            println!("  {class:32} {count:>8}{}", if excluded { "   EXCLUDED AT THIS LEVEL" } else { "" });
            if let Some(first) = outcome.anomalies.iter().find(|anomaly| anomaly.class == *class) {
                println!("    such as {}", first.text.trim_start());
            }
        }
        if counts.is_empty() {
            println!("  no anomaly");
        }
    }
    if failed { Err(io::Error::other("there are anomalies that ought not to be")) } else { Ok(()) }
}

/// Runs the transactions at a level, and looks at what they saw.
pub fn play(level: Level, arguments: &Arguments) -> io::Result<Outcome> {
    let scratch = Scratch::new(&format!("anomalies-{level:?}").to_lowercase())?;
    let directory = scratch.0.join("glassine");
    let options = Options { pool: "64M".into(), log: "64M".into(), ..Options::default() };
    let mut server = Server::create(Kind::Glassine, &directory, &options)?;
    prepare(&server).map_err(io::Error::other)?;
    let seed = arguments.seed.unwrap_or_else(|| rand::rng().random());
    println!("{level:?}: seed {seed}");
    let run = Run {
        level,
        wanted: arguments.transactions,
        committed: AtomicU64::new(0),
        element: AtomicU64::new(1),
        lists: Mutex::new(Lists::new(arguments.lists)),
        stop: AtomicBool::new(false),
    };
    let mut random = StdRng::seed_from_u64(seed);
    let mut history = Vec::new();
    let rounds = u64::from(arguments.kills.max(1));
    for round in 1..=rounds {
        // Of what is to be done, each round does its part before the server is killed.
        let goal = arguments.transactions * round / rounds;
        run.stop.store(false, Ordering::SeqCst);
        let mut clients = Vec::new();
        for client in 0..arguments.connections {
            let connection = server.connect().map_err(io::Error::other)?;
            clients.push((client, connection, StdRng::seed_from_u64(random.random())));
        }
        let done: Vec<Result<Vec<Txn>, String>> = thread::scope(|scope| {
            let run = &run;
            let threads: Vec<_> = clients
                .into_iter()
                .map(|(client, connection, random)| scope.spawn(move || run.client(client, connection, random)))
                .collect();
            while run.committed.load(Ordering::SeqCst) < goal && !threads.iter().any(|thread| thread.is_finished()) {
                thread::sleep(Duration::from_millis(2));
            }
            server.kill();
            run.stop.store(true, Ordering::SeqCst);
            let ended = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err("a client panicked".into()))
            };
            threads.into_iter().map(ended).collect()
        });
        for txns in done {
            history.extend(txns.map_err(io::Error::other)?);
        }
        server = Server::start(Kind::Glassine, &directory, &options)?;
    }
    let last = read_all(&server).map_err(io::Error::other)?;
    server.stop()?;
    let count = |end| history.iter().filter(|txn: &&Txn| txn.end == end).count();
    Ok(Outcome {
        committed: count(End::Committed),
        aborted: count(End::Aborted),
        unknown: count(End::Unknown),
        anomalies: check::check(&history, &last),
    })
}

fn prepare(server: &Server) -> Result<(), Error> {
    let mut client = server.connect()?;
    client.query("CREATE DATABASE lists")?;
    client.query(
        "CREATE TABLE lists.list (id BIGINT NOT NULL PRIMARY KEY, again BIGINT NOT NULL, elements TEXT NOT NULL, \
         KEY again (again)) ENGINE=InnoDB",
    )?;
    Ok(())
}

fn parse(text: &str) -> Vec<Element> {
    text.split(',').filter_map(|element| element.parse().ok()).collect()
}

fn read_all(server: &Server) -> Result<BTreeMap<Key, Vec<Element>>, Error> {
    let rows = server.connect()?.query("SELECT id, elements FROM lists.list")?.rows;
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_default();
    Ok(rows.iter().map(|row| (cell(&row[0]).parse().unwrap_or(0), parse(&cell(&row[1])))).collect())
}

/// Lists in use, with the appends that each has had.
struct Lists {
    active: Vec<(Key, u64)>,
    next: Key,
}

impl Lists {
    fn new(count: usize) -> Lists {
        Lists { active: (0..count as u64).map(|key| (key, 0)).collect(), next: count as u64 }
    }

    fn draw(&mut self, random: &mut StdRng, appends: bool) -> Key {
        // Some lists are more popular than others.
        let at = random.random_range(0..self.active.len()).min(random.random_range(0..self.active.len()));
        let (key, count) = &mut self.active[at];
        let drawn = *key;
        *count += u64::from(appends);
        if *count > LONG {
            self.active[at] = (self.next, 0);
            self.next += 1;
        }
        drawn
    }
}

struct Run {
    level: Level,
    wanted: u64,
    committed: AtomicU64,
    element: AtomicU64,
    lists: Mutex<Lists>,
    stop: AtomicBool,
}

/// What an error of a statement means for its transaction.
enum Failed {
    /// Rolled back, or to be.
    Aborted,
    /// The server is gone.
    Gone,
    Wrong(String),
}

fn meaning(error: Error) -> Failed {
    match error {
        Error::Io(_) | Error::Server { code: 1053, .. } => Failed::Gone,
        // A lock wait, a deadlock, a row changed since the snapshot.
        Error::Server { code: 1205 | 1213 | 1020, .. } => Failed::Aborted,
        error => Failed::Wrong(error.to_string()),
    }
}

impl Run {
    fn client(&self, number: usize, mut client: Client, mut random: StdRng) -> Result<Vec<Txn>, String> {
        let mut txns = Vec::new();
        for statement in self.level.statements().into_iter().chain(["SET SESSION innodb_lock_wait_timeout = 2"]) {
            match client.query(statement).map_err(meaning) {
                Ok(_) => {}
                Err(Failed::Gone) => return Ok(txns),
                Err(Failed::Aborted) => return Err(format!("{statement} waits for a lock")),
                Err(Failed::Wrong(what)) => return Err(format!("{statement}: {what}")),
            }
        }
        while !self.stop.load(Ordering::SeqCst) && self.committed.load(Ordering::SeqCst) < self.wanted {
            let mut txn = Txn { client: number, ops: Vec::new(), end: End::Aborted };
            let failed = self.transaction(&mut client, &mut random, &mut txn).err();
            if txn.end == End::Committed {
                self.committed.fetch_add(1, Ordering::SeqCst);
            }
            txns.push(txn);
            match failed {
                None => {}
                Some(Failed::Gone) => break,
                Some(Failed::Wrong(what)) => return Err(what),
                // A lock wait that was too long has only undone its statement.
                Some(Failed::Aborted) => match client.query("ROLLBACK").map_err(meaning) {
                    Err(Failed::Gone) => break,
                    Err(Failed::Wrong(what)) => return Err(what),
                    _ => {}
                },
            }
        }
        Ok(txns)
    }

    fn transaction(&self, client: &mut Client, random: &mut StdRng, txn: &mut Txn) -> Result<(), Failed> {
        client.query("BEGIN").map_err(meaning)?;
        for _ in 0..random.random_range(1..=5) {
            let appends = random.random_bool(0.5);
            let key = self.lists.lock().map_err(|_| Failed::Gone)?.draw(random, appends);
            if appends {
                let element = self.element.fetch_add(1, Ordering::SeqCst);
                // Recorded before it is sent, so that a read of it can be attributed.
                txn.ops.push(Op::Append(key, element));
                append(client, random, key, element).map_err(meaning)?;
                continue;
            }
            let place = if random.random_bool(0.5) { "id" } else { "again" };
            let answer = client.query(&format!("SELECT elements FROM lists.list WHERE {place} = {key}"));
            let answer = answer.map_err(meaning)?;
            if answer.rows.len() > 1 {
                return Err(Failed::Wrong(format!("list {key} is there {} times", answer.rows.len())));
            }
            txn.ops.push(Op::Read(key, answer.cell().map(parse).unwrap_or_default()));
        }
        if random.random_ratio(1, 20) {
            client.query("ROLLBACK").map_err(meaning)?;
            return Ok(());
        }
        txn.end = End::Unknown;
        match client.query("COMMIT").map_err(meaning) {
            Ok(_) => {
                txn.end = End::Committed;
                Ok(())
            }
            Err(Failed::Aborted) => {
                txn.end = End::Aborted;
                Err(Failed::Aborted)
            }
            Err(other) => Err(other),
        }
    }
}

/// Appends by either index.
fn append(client: &mut Client, random: &mut StdRng, key: Key, element: Element) -> Result<(), Error> {
    if random.random_ratio(1, 3) {
        let update = format!("UPDATE lists.list SET elements = CONCAT(elements, ',{element}') WHERE again = {key}");
        if client.query(&update)?.affected > 0 {
            return Ok(());
        }
    }
    client.query(&format!(
        "INSERT INTO lists.list VALUES ({key}, {key}, '{element}') \
         ON DUPLICATE KEY UPDATE elements = CONCAT(elements, ',{element}')"
    ))?;
    Ok(())
}
