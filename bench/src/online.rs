//! `bench online`: LOAD DATA of many rows, then DDL beside writers, here and on MariaDB: how long does a writer wait?
//!
//! ```text
//! file -> LOAD DATA on both -> per round and change: one server, then the other
//!         writers begin -> a second alone -> the change -> half a second alone -> they end
//! ```
//!
//! A writer sends the transactions of sysbench's oltp_write_only on rows that it chooses uniformly, one after the other. The
//! *stall* of a change is the longest of the transactions that were under way between its beginning and its end. Tables are
//! compressed on both sides (COMPRESSION='zstd' here, PAGE_COMPRESSED=1 there). While one server works the other rests, and
//! medians of the rounds are compared. In the end both tables are checked, and must have all rows.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use comfy_table::Table;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Answer, Client, Error};
use crate::process::{Kind, Options, Scratch, Server, disk_usage, mariadb_is_installed};
use crate::sysbench::median;

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 1_000_000)]
    pub rows: u64,
    #[arg(long, default_value_t = 4)]
    pub writers: usize,
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    #[arg(long, default_value = "512M")]
    pub pool: String,
    /// End after LOAD DATA.
    #[arg(long)]
    pub load_only: bool,
    /// Leave MariaDB out.
    #[arg(long)]
    pub alone: bool,
}

/// What is changed, in this order; each round ends with the table as it was.
const CHANGES: &[&str] = &[
    "CREATE INDEX c ON t (c)",
    "DROP INDEX c ON t",
    "ALTER TABLE t ADD COLUMN x INT NOT NULL DEFAULT 7",
    "ALTER TABLE t DROP COLUMN x",
    "ALTER TABLE t ADD COLUMN y VARCHAR(20) DEFAULT 'first' FIRST",
    "ALTER TABLE t DROP COLUMN y",
    "ALTER TABLE t FORCE",
];

const COLUMNS: &str =
    "id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k (k)";

/// What a change cost on one server.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    pub seconds: Vec<f64>,
    /// Milliseconds.
    pub stalls: Vec<f64>,
    /// Transactions per second beside it.
    pub rates: Vec<f64>,
}

/// The loading of a table.
#[derive(Debug, Clone, Copy, Default)]
pub struct Loaded {
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub written_bytes: u64,
    pub allocated_bytes: u64,
}

pub struct Outcome {
    /// By server: Glassine first.
    pub loaded: Vec<Loaded>,
    /// By change and server.
    pub changes: Vec<Vec<Measured>>,
}

struct Peer {
    name: &'static str,
    server: Server,
    client: Client,
}

pub fn run(arguments: &Arguments) -> io::Result<()> {
    let outcome = play(arguments)?;
    let megabytes = |bytes: u64| format!("{:.1}", bytes as f64 / (1 << 20) as f64);
    let mut table = Table::new();
    table.set_header(["LOAD DATA", "s", "CPU s", "written MB", "allocated MB"]);
    for (name, loaded) in ["Glassine", "MariaDB"].iter().zip(&outcome.loaded) {
        let Loaded { seconds, cpu_seconds, written_bytes, allocated_bytes } = *loaded;
        let figures = [format!("{seconds:.1}"), format!("{cpu_seconds:.1}")];
        table.add_row(
            [(*name).to_string()]
                .into_iter()
                .chain(figures)
                .chain([megabytes(written_bytes), megabytes(allocated_bytes)]),
        );
    }
    println!("\n{} rows, pool {}\n{table}", arguments.rows, arguments.pool);
    if arguments.load_only {
        return Ok(());
    }
    let mut table = Table::new();
    table.set_header(["change", "server", "s", "longest stall ms", "transactions/s beside it"]);
    for (change, servers) in CHANGES.iter().zip(&outcome.changes) {
        for (name, measured) in ["Glassine", "MariaDB"].iter().zip(servers) {
            table.add_row([
                (*change).to_string(),
                (*name).to_string(),
                format!("{:.3}", median(measured.seconds.clone())),
                format!("{:.1}", median(measured.stalls.clone())),
                format!("{:.0}", median(measured.rates.clone())),
            ]);
        }
    }
    println!("{} writers, medians of {} rounds\n{table}", arguments.writers, arguments.rounds);
    Ok(())
}

/// Runs everything and gives what was measured.
pub fn play(arguments: &Arguments) -> io::Result<Outcome> {
    let scratch = Scratch::new("online")?;
    let mut kinds = vec![("Glassine", Kind::Glassine)];
    match mariadb_is_installed() {
        _ if arguments.alone => {}
        true => kinds.push(("MariaDB", Kind::MariaDb)),
        false => println!("mariadbd is not installed: no peer in this run"),
    }
    let file = scratch.0.join("rows");
    write_rows(&file, arguments.rows)?;
    let mut outcome = Outcome { loaded: Vec::new(), changes: Vec::new() };
    let mut peers: Vec<Peer> = Vec::new();
    for (name, kind) in kinds {
        for other in &peers {
            other.server.pause()?;
        }
        let more = vec!["--secure-file-priv=".to_string()];
        let options = Options { pool: arguments.pool.clone(), log: "1G".into(), more, ..Options::default() };
        let server = Server::create(kind, &scratch.0.join(name), &options)?;
        let mut loaded = load(&server, kind, &file)?;
        // What is still in the pool reaches the file before that is looked at.
        let directory = server.stop()?;
        loaded.allocated_bytes = disk_usage(&directory.join("data/online/t.ibd"))?.0;
        outcome.loaded.push(loaded);
        let server = Server::start(kind, &directory, &options)?;
        let client = connect(&server)?;
        for other in &peers {
            other.server.resume()?;
        }
        peers.push(Peer { name, server, client });
    }
    fs::remove_file(&file)?;
    if arguments.load_only {
        return Ok(outcome);
    }
    outcome.changes = vec![vec![Measured::default(); peers.len()]; CHANGES.len()];
    for round in 0..arguments.rounds.max(1) {
        for (change, statement) in CHANGES.iter().enumerate() {
            for at in 0..peers.len() {
                let at = if round % 2 == 0 { at } else { peers.len() - 1 - at };
                for other in (0..peers.len()).filter(|other| *other != at) {
                    peers[other].server.pause()?;
                }
                let one = beside_writers(&mut peers[at], statement, arguments)?;
                for other in (0..peers.len()).filter(|other| *other != at) {
                    peers[other].server.resume()?;
                }
                let measured = &mut outcome.changes[change][at];
                measured.seconds.push(one.0);
                measured.stalls.push(one.1);
                measured.rates.push(one.2);
            }
        }
    }
    for peer in &mut peers {
        let count = must(&mut peer.client, "SELECT COUNT(*) FROM t")?.number();
        let checked = must(&mut peer.client, "CHECK TABLE t")?;
        let is_sound = checked.rows.iter().flatten().flatten().any(|cell| cell == "OK");
        if count as u64 != arguments.rows || !is_sound {
            return Err(io::Error::other(format!("{}: {count} rows, CHECK TABLE: {:?}", peer.name, checked.rows)));
        }
    }
    Ok(outcome)
}

fn must(client: &mut Client, statement: &str) -> io::Result<Answer> {
    client.query(statement).map_err(|error| io::Error::other(format!("{statement}: {error}")))
}

/// Digits in groups, as sysbench fills its rows.
fn digits(random: &mut StdRng, groups: usize) -> String {
    let group = |random: &mut StdRng| format!("{:011}", random.random_range(0..100_000_000_000_u64));
    (0..groups).map(|_| group(random)).collect::<Vec<_>>().join("-")
}

fn write_rows(file: &Path, rows: u64) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    let mut random = StdRng::seed_from_u64(1);
    for id in 1..=rows {
        let k = random.random_range(1..=rows);
        writeln!(out, "{id}\t{k}\t{}\t{}", digits(&mut random, 10), digits(&mut random, 5))?;
    }
    out.flush()
}

fn connect(server: &Server) -> io::Result<Client> {
    let mut client = server.connect().map_err(io::Error::other)?;
    client.set_patience(Duration::from_secs(3600))?;
    client.query("CREATE DATABASE IF NOT EXISTS online").map_err(io::Error::other)?;
    must(&mut client, "USE online")?;
    Ok(client)
}

fn load(server: &Server, kind: Kind, file: &Path) -> io::Result<Loaded> {
    let client = &mut connect(server)?;
    let compressed = match kind {
        Kind::Glassine => "COMPRESSION = 'zstd'",
        Kind::MariaDb => "PAGE_COMPRESSED = 1",
    };
    must(client, &format!("CREATE TABLE t ({COLUMNS}) ENGINE = InnoDB {compressed}"))?;
    let (before, start) = (server.usage(), Instant::now());
    must(client, &format!("LOAD DATA INFILE '{}' INTO TABLE t", file.display()))?;
    let (seconds, after) = (start.elapsed().as_secs_f64(), server.usage());
    Ok(Loaded {
        seconds,
        cpu_seconds: after.cpu_seconds - before.cpu_seconds,
        written_bytes: after.written_bytes - before.written_bytes,
        allocated_bytes: 0,
    })
}

/// Seconds of the change, the longest stall in milliseconds, and transactions per second beside it.
fn beside_writers(peer: &mut Peer, statement: &str, arguments: &Arguments) -> io::Result<(f64, f64, f64)> {
    let stop = AtomicBool::new(false);
    let (server, client) = (&peer.server, &mut peer.client);
    let (ran, writers) = thread::scope(|scope| {
        let writers: Vec<_> = (0..arguments.writers)
            .map(|number| {
                let stop = &stop;
                scope.spawn(move || write(server, arguments.rows, number as u64, stop))
            })
            .collect();
        thread::sleep(Duration::from_secs(1));
        let start = Instant::now();
        let answer = must(client, statement);
        let end = Instant::now();
        thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::Relaxed);
        let writers: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        (answer.map(|_| (start, end)), writers)
    });
    let (start, end) = ran?;
    let (mut stall, mut transactions) = (Duration::ZERO, 0);
    for writer in writers {
        let spans = writer.map_err(|_| io::Error::other("a writer panicked"))??;
        for (begun, ended) in spans {
            if begun < end && ended > start {
                stall = stall.max(ended - begun);
                transactions += 1;
            }
        }
    }
    let seconds = (end - start).as_secs_f64();
    Ok((seconds, stall.as_secs_f64() * 1000.0, transactions as f64 / seconds))
}

/// Transactions until it is told to stop: when each began and ended.
fn write(server: &Server, rows: u64, number: u64, stop: &AtomicBool) -> io::Result<Vec<(Instant, Instant)>> {
    let mut client = connect(server)?;
    let mut random = StdRng::seed_from_u64(number);
    let mut spans = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        match transaction(&mut client, rows, &mut random) {
            // A deadlock has taken the transaction back; a table that was altered below its snapshot asks for another one.
            Err(error) if matches!(error.code(), Some(1213 | 1205 | 1412)) => drop(client.query("ROLLBACK")),
            done => done.map_err(io::Error::other)?,
        }
        spans.push((begun, Instant::now()));
    }
    Ok(spans)
}

fn transaction(client: &mut Client, rows: u64, random: &mut StdRng) -> Result<(), Error> {
    let mut id = || random.random_range(1..=rows);
    let (first, second, third) = (id(), id(), id());
    let k = id();
    client.query("BEGIN")?;
    client.query(&format!("UPDATE t SET k = k + 1 WHERE id = {first}"))?;
    client.query(&format!("UPDATE t SET c = '{}' WHERE id = {second}", digits(random, 10)))?;
    let pad = digits(random, 5);
    // Another writer may have it between the two: then neither is done.
    if client.query(&format!("DELETE FROM t WHERE id = {third}"))?.affected == 1 {
        let row = format!("({third}, {k}, '{}', '{pad}')", digits(random, 10));
        client.query(&format!("INSERT INTO t (id, k, c, pad) VALUES {row}"))?;
    }
    client.query("COMMIT")?;
    Ok(())
}
