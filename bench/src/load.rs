//! Storage under load: Glassine's and InnoDB's ways to store a page, in one run.
//!
//! ```text
//! DIR/4x1000000/loaded/zstd/   tables as sysbench loaded them; made once, then kept
//! DIR/4x1000000/run/zstd/      the copy that an arm works on; fresh for each run
//! DIR/4x1000000/lock           held while a run works here: a second one waits
//! DIR/results-LABEL.jsonl      one line per finished cell
//! ```
//!
//! For each workload, for each round, every arm has its turn, and each round begins
//! with another arm. Only one server runs at a time: the others are suspended
//! (SIGSTOP), so that their background work does not distort the measurement, and
//! yet their pools stay warm. Before each measurement the same workload runs unmeasured
//! for a while: what was dirty or missing from the last turn is settled there, and the
//! measured window begins in the state in which it ends.
//!
//! sysbench chooses rows uniformly by default here (its own default favours 1 % of
//! the rows, which fit any pool): the pool is a quarter of the data, as storage is
//! what is measured. `--distribution special` is sysbench's default.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::arms::{self, ARMS, Arm, COMMON, DataSet, GROUPS};
use crate::mounts::{Filesystem, Mount};
use crate::process::{self, Kind, Options, Server};
use crate::results::{Aged, Cell, Loaded, Results};
use crate::sysbench::Run;

#[derive(clap::Args, Debug, Clone)]
pub struct Arguments {
    /// Arms and groups of arms, comma-separated; --list names them.
    #[arg(long, default_value = "main")]
    arms: String,
    #[arg(long, default_value = "oltp_point_select,oltp_read_only,oltp_write_only,oltp_read_write")]
    workloads: String,
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    #[arg(long, default_value_t = 40)]
    seconds: u32,
    /// Unmeasured seconds of the same workload before each measurement.
    #[arg(long, default_value_t = 5)]
    warmup: u32,
    #[arg(long, default_value_t = 4)]
    tables: u32,
    #[arg(long, default_value_t = 1_000_000)]
    rows: u32,
    #[arg(long, default_value_t = 4)]
    threads: u32,
    #[arg(long, default_value = "256M")]
    pool: String,
    #[arg(long, default_value = "1G")]
    log: String,
    /// How sysbench chooses rows: uniform, special (its default), gaussian, pareto.
    #[arg(long, default_value = "uniform")]
    distribution: String,
    /// Where data and results are kept; BENCH_DIR if it is not given.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// A filesystem to make in an image file there (xfs, btrfs, ext4 ...) and to work on, as root.
    #[arg(long)]
    filesystem: Option<String>,
    /// Name of the results file; a run with the name of an earlier one goes on where that one stopped.
    #[arg(long, default_value = "load")]
    label: String,
    /// Load the data sets again.
    #[arg(long)]
    reload: bool,
    /// Only load the data sets.
    #[arg(long)]
    load_only: bool,
    /// Only print the tables of what the results file has.
    #[arg(long)]
    report: bool,
    /// List the arms.
    #[arg(long)]
    list: bool,
}

/// Runs the benchmark, or what is left of it.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    if arguments.list {
        for arm in ARMS {
            println!("{:20} {} {:?}", arm.name, arm.shows, [arm.data.server_options, arm.options].concat());
        }
        for (group, arms) in GROUPS {
            println!("{group:20} = {}", arms.join(","));
        }
        return Ok(());
    }
    let mut arena = Arena::new(arguments)?;
    if arguments.report {
        arena.results.print();
        return Ok(());
    }
    let mut selected = arms::select(&arguments.arms).map_err(io::Error::other)?;
    if !process::mariadb_is_installed() {
        println!("mariadbd is not installed: its arms are left out");
        selected.retain(|arm| arm.data.kind != Kind::MariaDb);
    }
    println!("{}", arena.results.settings);
    let lock = File::options().create(true).append(true).open(arena.directory.join("lock"))?;
    if lock.try_lock().is_err() {
        println!("another run works in {}: waiting", arena.directory.display());
        lock.lock()?;
    }
    let mut loaded: Vec<&str> = Vec::new();
    for arm in &selected {
        if !loaded.contains(&arm.data.name) {
            arena.load(arm.data)?;
            loaded.push(arm.data.name);
        }
    }
    if !arguments.load_only {
        arena.measure(&selected)?;
    }
    arena.results.print();
    Ok(())
}

struct Arena<'a> {
    arguments: &'a Arguments,
    /// Of the data sets of this shape.
    directory: PathBuf,
    /// What `directory` lies on, if it was made for the purpose: unmounted at the end.
    _mount: Option<Mount>,
    load_settings: String,
    results: Results,
}

/// An arm at work.
struct Turn {
    arm: &'static Arm,
    /// Started when its first turn comes, paused between turns.
    server: Option<Server>,
    /// Set once it failed: the others go on.
    failed: bool,
}

impl<'a> Arena<'a> {
    fn new(arguments: &'a Arguments) -> io::Result<Arena<'a>> {
        let base = match &arguments.dir {
            Some(dir) => dir.clone(),
            None => process::base_directory(),
        };
        let mut place = base.clone();
        let mut load_settings = format!("{} x {} rows", arguments.tables, arguments.rows);
        let mut mount = None;
        if let Some(name) = &arguments.filesystem {
            let filesystem = Filesystem::find(name)
                .ok_or_else(|| io::Error::other(format!("no filesystem is called '{name}' here")))?;
            let bytes = (16 << 30).max(u64::from(arguments.tables) * u64::from(arguments.rows) * 4096);
            place = mount.insert(Mount::open(filesystem, &base.join(name), bytes, false)?).directory.clone();
            load_settings = format!("{name}: {load_settings}");
        }
        let directory = place.join(format!("{}x{}", arguments.tables, arguments.rows));
        fs::create_dir_all(&directory)?;
        let directory = fs::canonicalize(directory)?;
        let settings = format!(
            "{load_settings}, {}, {} threads, pool {}, log {}, {} s after {} s",
            arguments.distribution,
            arguments.threads,
            arguments.pool,
            arguments.log,
            arguments.seconds,
            arguments.warmup
        );
        let results = Results::open(&base.join(format!("results-{}.jsonl", arguments.label)), &settings)?;
        Ok(Arena { arguments, directory, _mount: mount, load_settings, results })
    }

    fn options(&self, data: &DataSet, more: &[&str]) -> Options {
        let more = COMMON.iter().chain(data.server_options).chain(more).map(|option| option.to_string()).collect();
        Options { pool: self.arguments.pool.clone(), log: self.arguments.log.clone(), flush_at_commit: 1, more }
    }

    fn sysbench<'b>(&self, script: &'b str, seconds: u32, more: &'b [String]) -> Run<'b> {
        let Arguments { tables, rows, threads, .. } = *self.arguments;
        Run { script, tables, rows, threads, seconds, prepared: true, more }
    }

    fn loaded_directory(&self, data: &DataSet) -> PathBuf {
        self.directory.join("loaded").join(data.name)
    }

    /// Loads a data set unless it is there.
    fn load(&mut self, data: &'static DataSet) -> io::Result<()> {
        let directory = self.loaded_directory(data);
        let mark = directory.join("loaded.json");
        if mark.exists() && !self.arguments.reload {
            // A results file of another label does not know it yet.
            if !self.results.loaded.iter().any(|loaded| loaded.data == data.name) {
                let loaded: Loaded = serde_json::from_str(&fs::read_to_string(&mark)?).map_err(io::Error::other)?;
                self.results.add_loaded(loaded)?;
            }
            return Ok(());
        }
        remove(&directory)?;
        let server = Server::create(data.kind, &directory, &self.options(data, &[]))?;
        server.connect().and_then(|mut client| client.query("CREATE DATABASE sbtest")).map_err(io::Error::other)?;
        // The only option of sysbench 1.0 that ends up in CREATE TABLE is the engine's name.
        let table_options = [format!("--mysql_storage_engine=InnoDB {}", data.table_options)];
        let before = server.usage();
        let start = Instant::now();
        self.sysbench("oltp_read_write", 0, &table_options).prepare(&server)?;
        let load_seconds = start.elapsed().as_secs_f64();
        let after = server.usage();
        let start = Instant::now();
        server.stop()?;
        let flush_seconds = start.elapsed().as_secs_f64();
        let (allocated, logical) = tables_usage(&directory)?;
        let loaded = Loaded {
            settings: self.load_settings.clone(),
            data: data.name.to_string(),
            load_seconds,
            flush_seconds,
            cpu_seconds: after.cpu_seconds - before.cpu_seconds,
            written_bytes: after.written_bytes - before.written_bytes,
            allocated,
            logical,
        };
        println!(
            "loaded {:12} in {load_seconds:.1} s, flushed in {flush_seconds:.1} s, CPU {:.1} s, {:.1} MB allocated",
            data.name,
            loaded.cpu_seconds,
            allocated as f64 / 1e6
        );
        fs::write(&mark, serde_json::to_string(&loaded).map_err(io::Error::other)?)?;
        self.results.add_loaded(loaded)
    }

    fn measure(&mut self, selected: &[&'static Arm]) -> io::Result<()> {
        let mut turns: Vec<Turn> = selected.iter().map(|arm| Turn { arm, server: None, failed: false }).collect();
        for workload in self.arguments.workloads.clone().split(',') {
            for round in 0..self.arguments.rounds {
                for place in 0..turns.len() {
                    let index = (place + round as usize) % turns.len();
                    let turn = &mut turns[index];
                    if turn.failed || self.results.has(turn.arm.name, workload, round) {
                        continue;
                    }
                    match self.measure_one(turn, workload, round) {
                        Ok(cell) => {
                            println!(
                                "{workload} {round}: {:18} {:8.0} tps, p95 {:7.2} ms, CPU {:6.0} us, {:8.0} bytes",
                                cell.arm, cell.per_second, cell.p95_ms, cell.cpu_us, cell.written
                            );
                            self.results.add_cell(cell)?;
                        }
                        Err(error) => {
                            println!("{workload} {round}: {} FAILED and is left out from here: {error}", turn.arm.name);
                            turn.failed = true;
                            turn.server = None;
                        }
                    }
                }
            }
        }
        for turn in turns {
            let Some(server) = turn.server else { continue };
            server.resume()?;
            match server.stop() {
                Ok(directory) => {
                    let (allocated, logical) = tables_usage(&directory)?;
                    let settings = self.results.settings.clone();
                    self.results.add_aged(Aged { settings, arm: turn.arm.name.into(), allocated, logical })?;
                }
                Err(error) => println!("{}: {error}", turn.arm.name),
            }
            remove(&self.run_directory(turn.arm))?;
        }
        Ok(())
    }

    fn run_directory(&self, arm: &Arm) -> PathBuf {
        self.directory.join("run").join(arm.name)
    }

    fn measure_one(&self, turn: &mut Turn, workload: &str, round: u32) -> io::Result<Cell> {
        let server = match &turn.server {
            Some(server) => {
                server.resume()?;
                server
            }
            None => {
                let directory = self.run_directory(turn.arm);
                copy(&self.loaded_directory(turn.arm.data), &directory)?;
                let options = self.options(turn.arm.data, turn.arm.options);
                turn.server.insert(Server::start(turn.arm.data.kind, &directory, &options)?)
            }
        };
        let distribution = [format!("--rand-type={}", self.arguments.distribution)];
        if self.arguments.warmup > 0 {
            self.sysbench(workload, self.arguments.warmup, &distribution).run(server)?;
        }
        let before = counters(server)?;
        let figures = self.sysbench(workload, self.arguments.seconds, &distribution).run(server)?;
        let after = counters(server)?;
        server.pause()?;
        let moved = |(name, value): (String, i64)| {
            let change = value - before.get(&name).copied().unwrap_or(0);
            (change != 0).then_some((name, change))
        };
        Ok(Cell {
            settings: self.results.settings.clone(),
            arm: turn.arm.name.to_string(),
            workload: workload.to_string(),
            round,
            transactions: figures.transactions,
            per_second: figures.per_second,
            p95_ms: figures.p95_ms,
            cpu_us: figures.cpu_us_per_transaction(),
            written: figures.written_per_transaction(),
            ignored_errors: figures.ignored_errors,
            counters: after.into_iter().filter_map(moved).collect(),
        })
    }
}

/// The server's own counters that are numbers.
fn counters(server: &Server) -> io::Result<BTreeMap<String, i64>> {
    let answer = server
        .connect()
        .and_then(|mut client| client.query("SHOW GLOBAL STATUS LIKE 'Innodb%'"))
        .map_err(io::Error::other)?;
    let rows = answer.rows.into_iter();
    Ok(rows.filter_map(|row| Some((row.first()?.clone()?, row.get(1)?.as_ref()?.parse().ok()?))).collect())
}

/// Allocated and logical bytes of sysbench's tables.
fn tables_usage(directory: &Path) -> io::Result<(u64, u64)> {
    process::disk_usage(&directory.join("data/sbtest"))
}

/// Copies a server's directory with its holes. Blocks are not shared: the first write to each would pay for that.
///
/// XFS allocates ahead of a file that grows, so that a copy which only skips the holes has none; it is told to punch
/// them. Not where pages are stored as they are: what is reserved there would become holes, too.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    remove(to)?;
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    let (allocated, logical) = tables_usage(from)?;
    let sparse = if allocated < logical { "--sparse=always" } else { "--sparse=auto" };
    let status = Command::new("cp").args(["-a", sparse, "--reflink=never"]).arg(from).arg(to).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("copying {} failed", from.display())));
    }
    Ok(())
}

fn remove(directory: &Path) -> io::Result<()> {
    if directory.exists() { fs::remove_dir_all(directory) } else { Ok(()) }
}
