//! `bench tpch`: the queries of TPC-H, whose data are made after its specification, here and on MariaDB.
//!
//! ```text
//! generate -> files -> LOAD DATA on both -> ANALYZE on both -> per round and query: one server, then the other
//! ```
//!
//! Tables are compressed on both sides (COMPRESSION='zstd' here, PAGE_COMPRESSED=1 there), with the primary keys of the
//! specification and the indexes that its foreign keys need. Buffer pool, sort, join and temporary tables' buffers are of
//! one size on both; [`BUFFERS`] names them. A query's answers must be equal, cell by cell. While one server works the
//! other rests, and medians of the rounds are compared. These are no TPC results: neither is the data dbgen's, nor is
//! anything audited.
//!
//! With `--memory` the queries here share so many bytes (`temptable_max_ram`), and the largest write temporary files. MariaDB
//! keeps its buffers: it has no such limit.

mod generate;
mod queries;
mod words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use comfy_table::Table;

use crate::client::{Answer, Client};
use crate::process::{Kind, Options, Scratch, Server, mariadb_is_installed};
use crate::sysbench::median;

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// The specification's scale factor: 1 is six million lines of orders.
    #[arg(long, default_value_t = 0.1)]
    pub scale: f64,
    #[arg(long, default_value_t = 3)]
    pub rounds: u32,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[arg(long, default_value = "2G")]
    pub pool: String,
    /// The memory that all queries share here; what does not fit goes to temporary files.
    #[arg(long)]
    pub memory: Option<String>,
    /// Comma-separated numbers of queries; all, if it is left out.
    #[arg(long, value_delimiter = ',')]
    pub queries: Vec<usize>,
    /// Seconds after which a query is given up.
    #[arg(long, default_value_t = 600)]
    pub patience: u64,
    /// Leave MariaDB out.
    #[arg(long)]
    pub alone: bool,
    /// A directory that keeps the loaded servers: made by the first run, used by later ones.
    #[arg(long)]
    pub keep: Option<PathBuf>,
    /// First give every column a histogram, and tell how long that takes.
    #[arg(long)]
    pub histograms: bool,
    /// Print each plan.
    #[arg(long)]
    pub explain: bool,
}

/// The same on both servers.
pub const BUFFERS: &[&str] =
    &["--sort-buffer-size=64M", "--join-buffer-size=64M", "--tmp-table-size=256M", "--max-heap-table-size=256M"];

/// One query on one server.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    pub seconds: Vec<f64>,
    /// What went wrong, if something did.
    pub error: Option<String>,
}

impl Measured {
    pub fn median(&self) -> f64 {
        if self.seconds.is_empty() { f64::NAN } else { median(self.seconds.clone()) }
    }
}

/// One query on all servers.
#[derive(Debug, Clone)]
pub struct Row {
    pub number: usize,
    /// By server: Glassine first.
    pub measured: Vec<Measured>,
    pub rows: usize,
    pub difference: Option<String>,
}

struct Peer {
    name: &'static str,
    kind: Kind,
    server: Server,
    client: Client,
}

pub fn run(arguments: &Arguments) -> io::Result<()> {
    let rows = play(arguments)?;
    println!("\nscale {}, pool {}, {}", arguments.scale, arguments.pool, BUFFERS.join(" "));
    print!("{}", table(&rows));
    let wrong: Vec<usize> = rows.iter().filter(|row| row.is_wrong()).map(|row| row.number).collect();
    for row in rows.iter().filter(|row| row.is_wrong()) {
        println!("Q{}: {}", row.number, row.complaint());
    }
    if wrong.is_empty() { Ok(()) } else { Err(io::Error::other(format!("wrong: {wrong:?}"))) }
}

impl Row {
    pub fn is_wrong(&self) -> bool {
        self.difference.is_some() || self.measured[0].error.is_some()
    }

    pub fn complaint(&self) -> String {
        let errors = self.measured.iter().filter_map(|measured| measured.error.clone());
        errors.chain(self.difference.clone()).collect::<Vec<_>>().join("; ")
    }
}

/// The figures as a table, with a line of sums.
fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.set_header(["query", "rows", "Glassine s", "MariaDB s", "ratio", "answers"]);
    let mut sums = [0.0, 0.0];
    for row in rows {
        let ours = row.measured[0].median();
        let theirs = row.measured.get(1).map(Measured::median);
        if let Some(theirs) = theirs.filter(|theirs| theirs.is_finite()) {
            sums = [sums[0] + ours, sums[1] + theirs];
        }
        let verdict = match (&row.difference, row.measured.iter().any(|measured| measured.error.is_some())) {
            (Some(_), _) => "DIFFER",
            (None, true) => "given up",
            (None, false) if theirs.is_none() => "-",
            (None, false) => "equal",
        };
        let cells = theirs.map_or(["-".into(), "-".into()], |s| [format!("{s:.3}"), format!("{:.2}", ours / s)]);
        table.add_row([
            format!("Q{}", row.number),
            row.rows.to_string(),
            format!("{ours:.3}"),
            cells[0].clone(),
            cells[1].clone(),
            verdict.into(),
        ]);
    }
    if rows.iter().any(|row| row.measured.len() > 1) {
        let ratio = format!("{:.2}", sums[0] / sums[1]);
        let [ours, theirs] = sums.map(|sum| format!("{sum:.3}"));
        table.add_row(["total".into(), String::new(), ours, theirs, ratio, String::new()]);
    }
    format!("{table}\n")
}

/// Runs the queries and gives what was measured.
pub fn play(arguments: &Arguments) -> io::Result<Vec<Row>> {
    let scratch = match &arguments.keep {
        Some(_) => None,
        None => Some(Scratch::new("tpch")?),
    };
    let directory = match (&arguments.keep, &scratch) {
        (Some(directory), _) => directory.clone(),
        (None, Some(scratch)) => scratch.0.clone(),
        (None, None) => return Err(io::Error::other("no directory")),
    };
    fs::create_dir_all(&directory)?;
    let directory = fs::canonicalize(directory)?;
    let mut kinds = vec![("Glassine", Kind::Glassine)];
    match mariadb_is_installed() {
        _ if arguments.alone => {}
        true => kinds.push(("MariaDB", Kind::MariaDb)),
        false => println!("mariadbd is not installed: no peer in this run"),
    }
    let files = directory.join("files");
    let mut peers = Vec::new();
    for (name, kind) in kinds {
        peers.push(peer(name, kind, &directory, &files, arguments)?);
    }
    if arguments.keep.is_none() {
        let _ = fs::remove_dir_all(&files);
    }
    let queries = queries::queries(arguments.scale);
    let wanted = |number: &usize| arguments.queries.is_empty() || arguments.queries.contains(number);
    let mut rows = Vec::new();
    for number in (1..=queries.len()).filter(wanted) {
        let query = &queries[number - 1];
        if arguments.explain {
            for peer in &mut peers {
                let format = if peer.kind == Kind::Glassine { "FORMAT=TREE " } else { "" };
                let plan = must(&mut peer.client, &format!("EXPLAIN {format}{query}"))?;
                let lines: Vec<String> = plan.rows.iter().map(|row| line(row)).collect();
                println!("Q{number} {}\n{}", peer.name, lines.join("\n"));
            }
        }
        let row = measure(&mut peers, number, query, arguments.rounds)?;
        let seconds: Vec<String> = row.measured.iter().map(|measured| format!("{:.3}", measured.median())).collect();
        println!("Q{number} {} s{}", seconds.join(" "), if row.is_wrong() { " WRONG" } else { "" });
        rows.push(row);
    }
    for peer in peers {
        drop(peer.client);
        if arguments.keep.is_some() {
            peer.server.stop()?;
        }
    }
    Ok(rows)
}

/// A server with the data, which are made and loaded if its directory is new.
fn peer(name: &'static str, kind: Kind, directory: &Path, files: &Path, arguments: &Arguments) -> io::Result<Peer> {
    let mut more: Vec<String> = BUFFERS.iter().map(|option| (*option).to_string()).collect();
    more.extend(["--secure-file-priv=", "--character-set-server=latin1"].map(str::to_string));
    match kind {
        Kind::MariaDb => more.push("--join-buffer-space-limit=1G".into()),
        Kind::Glassine => more.extend(arguments.memory.iter().map(|bytes| format!("--temptable-max-ram={bytes}"))),
    }
    let options = Options { pool: arguments.pool.clone(), log: "1G".into(), more, ..Options::default() };
    let own = directory.join(name);
    let is_new = !own.exists();
    let server = match is_new {
        true => Server::create(kind, &own, &options)?,
        false => Server::start(kind, &own, &options)?,
    };
    let mut client = server.connect().map_err(io::Error::other)?;
    client.set_patience(Duration::from_secs(arguments.patience + 600))?;
    if is_new {
        if !files.exists() {
            fs::create_dir_all(files)?;
            generate::write(files, arguments.scale, arguments.seed)?;
        }
        let start = Instant::now();
        load(&mut client, kind, files)?;
        println!("{name}: loaded in {:.1} s", start.elapsed().as_secs_f64());
    }
    must(&mut client, "USE tpch")?;
    if arguments.histograms {
        let start = Instant::now();
        count_values(&mut client, kind)?;
        println!("{name}: histograms in {:.2} s", start.elapsed().as_secs_f64());
    }
    must(&mut client, &format!("SET max_statement_time = {}", arguments.patience))?;
    Ok(Peer { name, kind, server, client })
}

fn load(client: &mut Client, kind: Kind, files: &Path) -> io::Result<()> {
    must(client, "CREATE DATABASE tpch")?;
    must(client, "USE tpch")?;
    let compressed = match kind {
        Kind::Glassine => "COMPRESSION = 'zstd'",
        Kind::MariaDb => "PAGE_COMPRESSED = 1",
    };
    for (table, columns) in queries::TABLES {
        must(client, &format!("CREATE TABLE {table} ({columns}) ENGINE = InnoDB {compressed}"))?;
    }
    for table in generate::TABLES {
        let file = files.join(table).with_extension("tbl");
        let statement = format!(
            "LOAD DATA INFILE '{}' INTO TABLE {table} FIELDS TERMINATED BY '|' LINES TERMINATED BY '\\n'",
            file.display()
        );
        must(client, &statement)?;
    }
    must(client, queries::REVENUE_VIEW)?;
    must(client, &format!("ANALYZE TABLE {}", generate::TABLES.join(", "))).map(|_| ())
}

/// Makes a histogram of every column, as each server does it.
fn count_values(client: &mut Client, kind: Kind) -> io::Result<()> {
    for table in generate::TABLES {
        let statement = match kind {
            Kind::MariaDb => format!("ANALYZE TABLE {table} PERSISTENT FOR ALL"),
            Kind::Glassine => {
                let columns = must(client, &format!("SHOW COLUMNS FROM {table}"))?;
                let names: Vec<&str> = columns.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
                format!("ANALYZE TABLE {table} UPDATE HISTOGRAM ON {} WITH 100 BUCKETS", names.join(", "))
            }
        };
        must(client, &statement)?;
    }
    Ok(())
}

fn must(client: &mut Client, statement: &str) -> io::Result<Answer> {
    client.query(statement).map_err(|error| io::Error::other(format!("{statement}: {error}")))
}

fn line(row: &[Option<String>]) -> String {
    let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
    cells.join(" | ")
}

fn measure(peers: &mut [Peer], number: usize, query: &str, rounds: u32) -> io::Result<Row> {
    let mut measured = vec![Measured::default(); peers.len()];
    let mut answers: Vec<Option<Answer>> = vec![None; peers.len()];
    for round in 0..rounds.max(1) {
        for at in 0..peers.len() {
            if measured[at].error.is_some() {
                continue;
            }
            // They take turns in being first, and the other one rests.
            let at = if round % 2 == 0 { at } else { peers.len() - 1 - at };
            if measured[at].error.is_some() {
                continue;
            }
            for other in (0..peers.len()).filter(|other| *other != at) {
                peers[other].server.pause()?;
            }
            let start = Instant::now();
            let answer = peers[at].client.query(query);
            let seconds = start.elapsed().as_secs_f64();
            for other in (0..peers.len()).filter(|other| *other != at) {
                peers[other].server.resume()?;
            }
            match answer {
                Ok(answer) => {
                    measured[at].seconds.push(seconds);
                    answers[at] = Some(answer);
                }
                Err(error) if error.code().is_some() => {
                    measured[at].error = Some(format!("{}: {error}", peers[at].name));
                }
                Err(error) => return Err(io::Error::other(format!("Q{number}: {}: {error}", peers[at].name))),
            }
        }
    }
    let rows = answers[0].as_ref().map_or(0, |answer| answer.rows.len());
    let difference = match &answers[..] {
        [Some(ours), Some(theirs)] => difference(ours, theirs),
        _ => None,
    };
    Ok(Row { number, measured, rows, difference })
}

/// Where two answers differ. Rows that the query's order leaves equal may come in any order.
fn difference(ours: &Answer, theirs: &Answer) -> Option<String> {
    if ours.rows == theirs.rows {
        return None;
    }
    let sorted = |answer: &Answer| {
        let mut rows = answer.rows.clone();
        rows.sort();
        rows
    };
    let (ours, theirs) = (sorted(ours), sorted(theirs));
    if ours.len() != theirs.len() {
        return Some(format!("{} rows here, {} there", ours.len(), theirs.len()));
    }
    let (ours, theirs) = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs)?;
    Some(format!("here {}, there {}", line(ours), line(theirs)))
}
