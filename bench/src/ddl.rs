//! `bench ddl`: several sessions alter one table at a time, beside changes of its rows, KILL QUERY and kill -9.
//!
//! ```text
//! owners     each has a column, an index and a position of its own, and alters nothing else: what it was answered must be
//!            what the table has after each statement, and after each kill but for the one statement under way
//! rows       a = id * 10 + 1 and b = id * 10 + 2, whatever becomes of the columns; what was acknowledged is there
//! killer     KILL QUERY: a statement that was interrupted has changed nothing
//! ```

use std::io;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rand::Rng;

use crate::client::{Client, Error};
use crate::process::{Kind, Options, Scratch, Server};

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Sessions that alter the table.
    #[arg(long, default_value_t = 4)]
    pub owners: usize,
    #[arg(long, default_value_t = 20)]
    pub kills: u32,
    /// The longest that the server is left alone.
    #[arg(long, default_value_t = 4000)]
    pub life_ms: u64,
}

/// What came of a run in which nothing was wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    pub altered: u64,
    pub rows: u64,
    pub interrupted: u64,
}

/// The command.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let outcome = play(arguments)?;
    println!(
        "{} kills, {} changes of the table, {} interrupted, {} rows: nothing lost, no value in another column",
        arguments.kills, outcome.altered, outcome.interrupted, outcome.rows
    );
    Ok(())
}

/// The facts of one owner: whether its column and its index are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Facts {
    column: bool,
    index: bool,
}

#[derive(Debug, Default)]
struct Owner {
    known: Facts,
    /// What the statement under way would make of it.
    wanted: Option<Facts>,
}

struct Storm {
    owners: Vec<Mutex<Owner>>,
    stop: AtomicBool,
    rows: AtomicU64,
    altered: AtomicU64,
    interrupted: AtomicU64,
    wrong: Mutex<Option<String>>,
}

pub fn play(arguments: &Arguments) -> io::Result<Outcome> {
    let scratch = Scratch::new("ddl")?;
    let directory = scratch.0.join("glassine");
    let options = Options { pool: "16M".into(), log: "16M".into(), ..Options::default() };
    let mut server = Server::create(Kind::Glassine, &directory, &options)?;
    let storm = Storm {
        owners: (0..arguments.owners).map(|_| Mutex::default()).collect(),
        stop: AtomicBool::new(false),
        rows: AtomicU64::new(0),
        altered: AtomicU64::new(0),
        interrupted: AtomicU64::new(0),
        wrong: Mutex::new(None),
    };
    let mut client = server.connect().map_err(io::Error::other)?;
    for statement in [
        "CREATE DATABASE ddl",
        "CREATE TABLE ddl.t (id INT PRIMARY KEY, a INT, b INT)",
        "INSERT INTO ddl.t VALUES (0, 1, 2)",
    ] {
        client.query(statement).map_err(io::Error::other)?;
    }
    for life in 0..=arguments.kills {
        storm.stop.store(false, Ordering::Relaxed);
        thread::scope(|scope| {
            for number in 0..storm.owners.len() {
                let (storm, server) = (&storm, &server);
                scope.spawn(move || storm.alter(server, number));
            }
            scope.spawn(|| storm.insert(&server));
            let longest = arguments.life_ms.max(400);
            thread::sleep(Duration::from_millis(rand::rng().random_range(longest / 4..longest)));
            storm.stop.store(true, Ordering::Relaxed);
            if life < arguments.kills {
                // In the middle of what is under way: the sessions see their connections break.
                let _ = Command::new("kill").args(["-KILL", &server.pid().to_string()]).status();
            }
        });
        if life < arguments.kills {
            let directory = server.kill();
            server = Server::start(Kind::Glassine, &directory, &options)?;
        }
        let judged = storm.judge(&server);
        if let Some(wrong) = storm.wrong.lock().map_err(|_| io::Error::other("a session panicked"))?.take() {
            return Err(io::Error::other(format!("life {life}: {wrong}")));
        }
        judged.map_err(|wrong| io::Error::other(format!("life {life}: {wrong}")))?;
    }
    server.stop()?;
    Ok(Outcome {
        altered: storm.altered.into_inner(),
        rows: storm.rows.into_inner(),
        interrupted: storm.interrupted.into_inner(),
    })
}

fn facts(client: &mut Client, number: usize) -> Result<Facts, Error> {
    let mut has = |table: &str, name: &str| {
        let text = format!(
            "SELECT COUNT(*) FROM information_schema.{table} WHERE table_schema = 'ddl' AND table_name = 't' AND {name}"
        );
        client.query(&text).map(|answer| answer.number() > 0)
    };
    Ok(Facts {
        column: has("columns", &format!("column_name = 'x{number}'"))?,
        index: has("statistics", &format!("index_name = 'i{number}'"))?,
    })
}

impl Storm {
    fn fail(&self, what: String) {
        if let Ok(mut wrong) = self.wrong.lock() {
            wrong.get_or_insert(what);
        }
        self.stop.store(true, Ordering::Relaxed);
    }

    /// One owner, until it is told to stop or the server is gone.
    fn alter(&self, server: &Server, number: usize) {
        let (Ok(mut client), Ok(mut killer)) = (server.connect(), server.connect()) else { return };
        let Ok(id) = client.query("SELECT CONNECTION_ID()").map(|answer| answer.number()) else { return };
        while !self.stop.load(Ordering::Relaxed) {
            let mut random = rand::rng();
            let Ok(mut owner) = self.owners[number].lock() else { return };
            let mut wanted = owner.known;
            let statement = match random.random_range(0..7) {
                0 | 1 => {
                    wanted.column = !wanted.column;
                    match wanted.column {
                        true => format!("ALTER TABLE ddl.t ADD COLUMN x{number} INT DEFAULT {number} FIRST"),
                        false => format!("ALTER TABLE ddl.t DROP COLUMN x{number}"),
                    }
                }
                2 | 3 => {
                    wanted.index = !wanted.index;
                    match wanted.index {
                        true => format!("CREATE INDEX i{number} ON ddl.t (b, a)"),
                        false => format!("DROP INDEX i{number} ON ddl.t"),
                    }
                }
                4 => "ALTER TABLE ddl.t MODIFY b INT AFTER id".into(),
                5 => "ALTER TABLE ddl.t MODIFY a INT FIRST, COMMENT 'moved'".into(),
                _ => "OPTIMIZE TABLE ddl.t".into(),
            };
            owner.wanted = Some(wanted);
            if random.random_range(0..4) == 0 {
                let _ = killer.query(&format!("KILL QUERY {id}"));
            }
            match client.query(&statement) {
                Ok(_) => {
                    owner.known = wanted;
                    self.altered.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) if matches!(error.code(), Some(1317 | 1213)) => {
                    self.interrupted.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) if error.code().is_some() && !self.stop.load(Ordering::Relaxed) => {
                    return self.fail(format!("{statement}: {error}"));
                }
                Err(_) => return,
            }
            owner.wanted = None;
            match facts(&mut client, number) {
                Ok(now) if now == owner.known => {}
                Ok(now) => return self.fail(format!("{statement}: the table has {now:?} for {:?}", owner.known)),
                Err(error) if matches!(error.code(), Some(1317 | 1213)) => {}
                Err(error) if error.code().is_some() && !self.stop.load(Ordering::Relaxed) => {
                    return self.fail(format!("look at the table: {error}"));
                }
                Err(_) => return,
            }
        }
    }

    /// Rows 1, 2, 3 ...: all that were acknowledged are there.
    fn insert(&self, server: &Server) {
        let Ok(mut client) = server.connect() else { return };
        while !self.stop.load(Ordering::Relaxed) {
            let id = self.rows.load(Ordering::Relaxed) + 1;
            let row = format!("REPLACE INTO ddl.t (id, a, b) VALUES ({id}, {id} * 10 + 1, {id} * 10 + 2)");
            match client.query(&row) {
                Ok(_) => self.rows.store(id, Ordering::Relaxed),
                Err(error) if error.code() == Some(1213) => {}
                Err(error) if error.code().is_some() && !self.stop.load(Ordering::Relaxed) => {
                    return self.fail(format!("{row}: {error}"));
                }
                Err(_) => return,
            }
        }
    }

    /// What is there after a life.
    fn judge(&self, server: &Server) -> Result<(), String> {
        let said = |error: Error| error.to_string();
        let mut client = server.connect().map_err(said)?;
        for (number, owner) in self.owners.iter().enumerate() {
            let mut owner = owner.lock().map_err(|_| "a session panicked".to_string())?;
            let now = facts(&mut client, number).map_err(said)?;
            if now != owner.known && Some(now) != owner.wanted {
                return Err(format!("owner {number}: the table has {now:?} for {:?}", *owner));
            }
            *owner = Owner { known: now, wanted: None };
        }
        let wrong = "SELECT COUNT(*) FROM ddl.t WHERE a <> id * 10 + 1 OR b <> id * 10 + 2 OR a IS NULL OR b IS NULL";
        let wrong = client.query(wrong).map_err(said)?.number();
        if wrong != 0 {
            return Err(format!("{wrong} rows have values of other columns"));
        }
        let rows = self.rows.load(Ordering::Relaxed);
        let there = format!("SELECT COUNT(*) FROM ddl.t WHERE id BETWEEN 1 AND {rows}");
        let there = client.query(&there).map_err(said)?.number();
        if there as u64 != rows {
            return Err(format!("{there} of {rows} rows are there"));
        }
        let checked = client.query("CHECK TABLE ddl.t").map_err(said)?;
        match checked.rows.iter().flatten().flatten().any(|cell| cell == "OK") {
            true => Ok(()),
            false => Err(format!("CHECK TABLE: {:?}", checked.rows)),
        }
    }
}
