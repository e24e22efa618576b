//! `bench bank`: transfers between accounts by many connections, on a server that is killed again and again.
//!
//! ```text
//! accounts   id, balance          their sum never changes
//! transfers  client, number,      one row with each transfer, in the same transaction:
//!            from, to, amount     so what was promised can be counted, and each balance computed anew
//! ```
//!
//! Invariants, looked at while it runs and after each kill:
//!
//! * Every snapshot has the sum, in one statement as well as in two halves of one transaction.
//! * Every transfer that was acknowledged is there, and at most one more of each client: the one under way.
//! * The accounts are what the transfers make of them.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rand::Rng;

use crate::client::{Client, Error};
use crate::process::{Kind, Options, Scratch, Server};

const BALANCE: i64 = 1000;

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 16)]
    pub connections: usize,
    #[arg(long, default_value_t = 50)]
    pub kills: u32,
    #[arg(long, default_value_t = 64)]
    pub accounts: u64,
    /// The longest that the server is left alone.
    #[arg(long, default_value_t = 1500)]
    pub life_ms: u64,
}

/// The command.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let outcome = play(arguments)?;
    println!(
        "{} kills, {} transfers acknowledged, {} found, {} snapshots: nothing lost, no sum wrong",
        arguments.kills, outcome.promised, outcome.found, outcome.snapshots
    );
    Ok(())
}

/// What came of a run in which nothing was wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    pub promised: u64,
    pub found: u64,
    pub snapshots: u64,
}

pub fn play(arguments: &Arguments) -> io::Result<Outcome> {
    let scratch = Scratch::new("bank")?;
    let directory = scratch.0.join("glassine");
    // A pool and a log this small make page writes and checkpoints part of every life.
    let options = Options { pool: "16M".into(), log: "16M".into(), ..Options::default() };
    let mut server = Server::create(Kind::Glassine, &directory, &options)?;
    let bank = Bank {
        accounts: arguments.accounts,
        promised: (0..arguments.connections).map(|_| AtomicU64::new(0)).collect(),
        snapshots: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    bank.create(&server).map_err(io::Error::other)?;
    let mut found = 0;
    for kill in 1..=arguments.kills {
        let mut connections = Vec::new();
        // Readers are half as many as writers.
        for _ in 0..arguments.connections + arguments.connections.div_ceil(2) {
            connections.push(server.connect().map_err(io::Error::other)?);
        }
        bank.stop.store(false, Ordering::SeqCst);
        let life = Duration::from_millis(rand::rng().random_range(arguments.life_ms / 5..=arguments.life_ms));
        let failed: Vec<String> = thread::scope(|scope| {
            let bank = &bank;
            let threads: Vec<_> = connections
                .into_iter()
                .enumerate()
                .map(|(at, mut client)| {
                    scope.spawn(move || match at < bank.promised.len() {
                        true => bank.transfers(at, &mut client),
                        false => bank.looks(&mut client, at),
                    })
                })
                .collect();
            thread::sleep(life);
            server.kill();
            bank.stop.store(true, Ordering::SeqCst);
            let ended = threads.into_iter().map(|thread| thread.join().unwrap_or(Err("a client panicked".into())));
            ended.filter_map(Result::err).collect()
        });
        server = Server::start(Kind::Glassine, &directory, &options)?;
        let audit = match failed.into_iter().next() {
            Some(wrong) => Err(wrong),
            None => bank.audit(&server),
        };
        found = audit
            .map_err(|wrong| io::Error::other(format!("kill {kill}: {wrong}\nserver log:\n{}", server.log_tail(30))))?;
    }
    server.stop()?;
    let promised = bank.promised.iter().map(|promised| promised.load(Ordering::SeqCst)).sum();
    Ok(Outcome { promised, found, snapshots: bank.snapshots.load(Ordering::SeqCst) })
}

struct Bank {
    accounts: u64,
    /// By client: the number of its last transfer that was acknowledged.
    promised: Vec<AtomicU64>,
    snapshots: AtomicU64,
    stop: AtomicBool,
}

/// Whether the server is gone, as the test wants it, or something is wrong.
fn is_gone(error: Error) -> Result<(), String> {
    match error {
        Error::Io(_) | Error::Server { code: 1053, .. } => Ok(()),
        error => Err(error.to_string()),
    }
}

impl Bank {
    fn create(&self, server: &Server) -> Result<(), Error> {
        let mut client = server.connect()?;
        client.query("CREATE DATABASE bank")?;
        client
            .query("CREATE TABLE bank.accounts (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL) ENGINE=InnoDB")?;
        client.query(
            "CREATE TABLE bank.transfers (client INT NOT NULL, number BIGINT NOT NULL, giver INT NOT NULL, \
             taker INT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (client, number), KEY giver (giver), \
             KEY taker (taker)) ENGINE=InnoDB",
        )?;
        let rows: Vec<String> = (0..self.accounts).map(|id| format!("({id}, {BALANCE})")).collect();
        client.query(&format!("INSERT INTO bank.accounts VALUES {}", rows.join(", ")))?;
        Ok(())
    }

    fn transfers(&self, at: usize, client: &mut Client) -> Result<(), String> {
        while !self.stop.load(Ordering::SeqCst) {
            let number = self.promised[at].load(Ordering::SeqCst) + 1;
            match self.transfer(client, at, number) {
                Ok(true) => self.promised[at].store(number, Ordering::SeqCst),
                Ok(false) => {}
                Err(Error::Server { code: 1205 | 1213, .. }) => {
                    if let Err(error) = client.query("ROLLBACK") {
                        return is_gone(error);
                    }
                }
                Err(error) => return is_gone(error),
            }
        }
        Ok(())
    }

    /// One transfer: read, then write what was computed, or both in one statement. False = it was thought better of.
    fn transfer(&self, client: &mut Client, at: usize, number: u64) -> Result<bool, Error> {
        let mut random = rand::rng();
        let giver = random.random_range(0..self.accounts);
        let taker = (giver + random.random_range(1..self.accounts)) % self.accounts;
        let amount = random.random_range(1..=50);
        client.query("BEGIN")?;
        for (id, change) in [(giver, -amount), (taker, amount)] {
            if random.random_bool(0.5) {
                client.query(&format!("UPDATE bank.accounts SET balance = balance + {change} WHERE id = {id}"))?;
                continue;
            }
            let read = format!("SELECT balance FROM bank.accounts WHERE id = {id} FOR UPDATE");
            let balance = client.query(&read)?.number() + change;
            client.query(&format!("UPDATE bank.accounts SET balance = {balance} WHERE id = {id}"))?;
        }
        client.query(&format!("INSERT INTO bank.transfers VALUES ({at}, {number}, {giver}, {taker}, {amount})"))?;
        if random.random_ratio(1, 20) {
            client.query("ROLLBACK")?;
            return Ok(false);
        }
        client.query("COMMIT")?;
        Ok(true)
    }

    /// Snapshots, one after the other.
    fn looks(&self, client: &mut Client, at: usize) -> Result<(), String> {
        let ought = self.accounts as i64 * BALANCE;
        while !self.stop.load(Ordering::SeqCst) {
            let sum = match self.look(client, at) {
                Ok(sum) => sum,
                Err(error) => return is_gone(error),
            };
            if sum != ought {
                return Err(format!("a snapshot has the sum {sum}, and not {ought}"));
            }
            self.snapshots.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(3)); // They are not what is to keep the machine busy.
        }
        Ok(())
    }

    fn look(&self, client: &mut Client, at: usize) -> Result<i64, Error> {
        if at.is_multiple_of(2) {
            return Ok(client.query("SELECT SUM(balance) FROM bank.accounts")?.number());
        }
        client.query("BEGIN")?;
        let half = self.accounts / 2;
        let first = client.query(&format!("SELECT SUM(balance) FROM bank.accounts WHERE id < {half}"))?.number();
        thread::sleep(Duration::from_millis(2));
        let second = client.query(&format!("SELECT SUM(balance) FROM bank.accounts WHERE id >= {half}"))?.number();
        client.query("COMMIT")?;
        Ok(first + second)
    }

    /// What must hold after a kill. The answer is how many transfers there are.
    fn audit(&self, server: &Server) -> Result<u64, String> {
        let mut client = server.connect().map_err(|error| error.to_string())?;
        let mut ask = |statement: &str| client.query(statement).map_err(|error| format!("{statement}: {error}"));
        let mut all = 0;
        for (at, promised) in self.promised.iter().enumerate() {
            let of = format!("FROM bank.transfers WHERE client = {at}");
            let count = ask(&format!("SELECT COUNT(*) {of}"))?.number() as u64;
            let last = ask(&format!("SELECT MAX(number) {of}"))?.number() as u64;
            let acknowledged = promised.load(Ordering::SeqCst);
            if count != last {
                return Err(format!("client {at}: {count} transfers, the last of which is {last}"));
            }
            if count < acknowledged || count > acknowledged + 1 {
                return Err(format!("client {at}: {acknowledged} transfers were acknowledged, {count} are there"));
            }
            promised.store(count, Ordering::SeqCst);
            all += count;
        }
        let sums = |column: &str| format!("SELECT {column}, SUM(amount) FROM bank.transfers GROUP BY {column}");
        let mut balances = vec![BALANCE; self.accounts as usize];
        for (column, sign) in [("giver", -1), ("taker", 1)] {
            for row in ask(&sums(column))?.rows {
                let number = |cell: &Option<String>| cell.as_deref().and_then(|text| text.parse::<i64>().ok());
                let (Some(id), Some(sum)) = (number(&row[0]), number(&row[1])) else {
                    return Err(format!("the sums by {column} are no numbers: {row:?}"));
                };
                balances[id as usize] += sign * sum;
            }
        }
        let rows = ask("SELECT id, balance FROM bank.accounts ORDER BY id")?.rows;
        if rows.len() != balances.len() {
            return Err(format!("{} accounts of {}", rows.len(), balances.len()));
        }
        for (row, ought) in rows.iter().zip(balances) {
            if row[1].as_deref() != Some(ought.to_string().as_str()) {
                return Err(format!("account {:?} has {:?}, the transfers say {ought}", row[0], row[1]));
            }
        }
        Ok(all)
    }
}
