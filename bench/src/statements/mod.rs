//! `bench statements`: one statement of each kind on both servers, in memory: what does the processor spend on it?
//!
//! ```text
//! per kind: round 1: Glassine, MariaDB; round 2: ... -> medians of the server's CPU and of the time to the answer
//! ```
//!
//! Rows are the same on both, and so are the limits of memory for sorts and temporary tables. The CPU is that of all threads,
//! so that what a cleaner compresses or purge removes meanwhile counts.

mod list;

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use comfy_table::Table;

use self::list::{CASES, Case, SETUP};
use crate::client::Client;
use crate::process::{Kind, Options, Scratch, Server, mariadb_is_installed};
use crate::sysbench::median;

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 100_000)]
    pub rows: u64,
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    /// Only kinds whose name has one of these, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Leave MariaDB out.
    #[arg(long)]
    pub alone: bool,
}

/// What a kind of statement cost, by round.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Milliseconds.
    pub cpu: Vec<f64>,
    pub elapsed: Vec<f64>,
}

struct Peer {
    server: Server,
    client: Client,
}

/// Threads that work for a statement are given so long after its answer.
const AFTERWARDS: Duration = Duration::from_millis(50);

impl Peer {
    fn new(kind: Kind, scratch: &Scratch, rows: u64) -> io::Result<Peer> {
        let (name, more) = match kind {
            Kind::Glassine => ("glassine", vec![]),
            Kind::MariaDb => ("mariadb", vec!["--max-heap-table-size=1G".to_string()]),
        };
        let options = Options { pool: "2G".into(), log: "1G".into(), more, ..Options::default() };
        let server = Server::create(kind, &scratch.0.join(name), &options)?;
        let client = server.connect().map_err(io::Error::other)?;
        let mut peer = Peer { server, client };
        for statement in SETUP {
            peer.query(statement, rows)?;
        }
        Ok(peer)
    }

    fn query(&mut self, statement: &str, rows: u64) -> io::Result<()> {
        let text = statement.replace("{rows}", &rows.to_string());
        self.client.query(&text).map(drop).map_err(|error| io::Error::other(format!("{statement}: {error}")))
    }

    fn measure(&mut self, case: &Case, rows: u64, measured: &mut Measured) -> io::Result<()> {
        for statement in case.before {
            self.query(statement, rows)?;
        }
        thread::sleep(AFTERWARDS);
        let (cpu, begin) = (self.server.cpu_ns(), Instant::now());
        for statement in case.statements {
            self.query(statement, rows)?;
        }
        measured.elapsed.push(begin.elapsed().as_secs_f64() * 1e3);
        thread::sleep(AFTERWARDS);
        measured.cpu.push(self.server.cpu_ns().saturating_sub(cpu) as f64 / 1e6);
        for statement in case.after {
            self.query(statement, rows)?;
        }
        Ok(())
    }
}

pub fn run(arguments: &Arguments) -> io::Result<()> {
    let kinds = match mariadb_is_installed() {
        true if !arguments.alone => vec!["Glassine", "MariaDB"],
        _ => vec!["Glassine"],
    };
    let mut table = Table::new();
    let figures = kinds.iter().flat_map(|name| [format!("{name}: CPU ms"), "ms".to_string()]);
    table.set_header(["statement".to_string()].into_iter().chain(figures).chain(["CPU ratio".to_string()]));
    for (name, measured) in play(arguments, kinds.len() > 1)? {
        let medians: Vec<[f64; 2]> =
            measured.iter().map(|of| [median(of.cpu.clone()), median(of.elapsed.clone())]).collect();
        let ratio = match &medians[..] {
            [[ours, _], [theirs, _]] => format!("{:.2}", ours / theirs),
            _ => String::new(),
        };
        let figures = medians.iter().flatten().map(|figure| format!("{figure:.1}"));
        table.add_row([name.to_string()].into_iter().chain(figures).chain([ratio]));
    }
    println!("{} rows, medians of {} rounds\n{table}", arguments.rows, arguments.rounds);
    Ok(())
}

/// Measures all kinds; by kind the figures of Glassine, and behind them those of MariaDB.
pub fn play(arguments: &Arguments, beside_mariadb: bool) -> io::Result<Vec<(&'static str, Vec<Measured>)>> {
    let scratch = Scratch::new("statements")?;
    let mut peers = vec![Peer::new(Kind::Glassine, &scratch, arguments.rows)?];
    if beside_mariadb {
        peers.push(Peer::new(Kind::MariaDb, &scratch, arguments.rows)?);
    }
    let is_wanted =
        |case: &&Case| arguments.only.is_empty() || arguments.only.iter().any(|name| case.name.contains(name.as_str()));
    let mut all = Vec::new();
    for case in CASES.iter().filter(is_wanted) {
        let mut measured = vec![Measured::default(); peers.len()];
        for _ in 0..arguments.rounds {
            for (peer, measured) in peers.iter_mut().zip(&mut measured) {
                peer.measure(case, arguments.rows, measured)?;
            }
        }
        all.push((case.name, measured));
    }
    Ok(all)
}
