//! The crash test on real filesystems: kill -9, and power cuts.
//!
//! ```text
//!   kill   the server dies, the kernel lives: what was written is there
//!   cut    the disk below the filesystem loses its power in the middle of a write: of what was
//!          not flushed, a random part of the sectors is gone
//! ```
//!
//! Each time the filesystem is mounted again (its own journal repairs it), the server
//! recovers, the ledger must hold every entry that was acknowledged before the crash,
//! and after a clean shutdown `glassine check` must find nothing wrong.
//!
//! At the end the server tells what it found out about the filesystem (torn-page
//! protection, punching), and its ALLOCATED_SIZE must be the filesystem's own.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Error};
use crate::ledger::Ledger;
use crate::mounts::{self, FILESYSTEMS, Filesystem, Mount};
use crate::process::{self, Kind, Options, Scratch, Server, glassine_binary};
use crate::sysbench::{self, Run};

#[derive(clap::Args, Debug, Clone)]
pub struct Arguments {
    /// Filesystems, comma-separated; all of them if it is not given.
    #[arg(long)]
    pub on: Option<String>,
    /// Power cuts on each that has a device.
    #[arg(long, default_value_t = 5)]
    pub cuts: u32,
    /// kill -9 on each.
    #[arg(long, default_value_t = 2)]
    pub kills: u32,
    /// Rows of each of two sysbench tables that are written to meanwhile.
    #[arg(long, default_value_t = 20_000)]
    pub rows: u32,
    /// The longest time between two crashes.
    #[arg(long, default_value_t = 3000)]
    pub milliseconds: u64,
    #[arg(long, default_value = "8M")]
    pub pool: String,
    /// innodb_flush_log_at_trx_commit. With 0 or 2 acknowledged entries may get lost, and the test must notice.
    #[arg(long, default_value_t = 1)]
    pub flush_at_commit: u8,
    /// Decides the moments and what a cut loses; a random one is taken and printed if it is not given.
    #[arg(long)]
    pub seed: Option<u64>,
    /// More options for the server, comma-separated, in MySQL's form.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    pub options: String,
}

/// A filesystem on which nothing was lost.
#[derive(Debug, Default)]
pub struct Survived {
    pub kills: u32,
    pub cuts: u32,
    /// Acknowledged entries at the end.
    pub entries: u64,
    /// Sectors that the cuts took back, all together.
    pub sectors_lost: usize,
    pub allocated: u64,
    pub logical: u64,
    /// What the server says about the filesystem.
    pub facts: String,
}

/// Runs all that were asked for and prints what they showed.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let scratch = Scratch::new("filesystems")?;
    if let Some(obstacle) = mounts::obstacle(&scratch.0) {
        return Err(io::Error::other(obstacle));
    }
    let seed = arguments.seed.unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
    println!("seeds from {seed}");
    let mut failed = Vec::new();
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header([
        "filesystem",
        "kills",
        "cuts",
        "entries kept",
        "sectors lost",
        "logical MB",
        "allocated MB",
        "the server says",
    ]);
    for (filesystem, seed) in selected(arguments.on.as_deref())?.into_iter().zip(seed..) {
        if let Some(obstacle) = filesystem.obstacle() {
            println!("{}: skipped: {obstacle}", filesystem.name);
            continue;
        }
        let outcome = crash(filesystem, &scratch.0.join(filesystem.name), seed, arguments);
        match outcome {
            Ok(survived) => {
                table.add_row([
                    filesystem.name.to_string(),
                    survived.kills.to_string(),
                    survived.cuts.to_string(),
                    survived.entries.to_string(),
                    survived.sectors_lost.to_string(),
                    format!("{:.1}", survived.logical as f64 / 1e6),
                    format!("{:.1}", survived.allocated as f64 / 1e6),
                    survived.facts,
                ]);
            }
            Err(error) => {
                println!("{name}: FAILED (replay: --on {name} --seed {seed}): {error}", name = filesystem.name);
                failed.push(filesystem.name);
            }
        }
    }
    println!("{table}");
    if failed.is_empty() {
        println!("nothing was lost");
        Ok(())
    } else {
        Err(io::Error::other(format!("failed on {}", failed.join(", "))))
    }
}

fn selected(names: Option<&str>) -> io::Result<Vec<&'static Filesystem>> {
    let Some(names) = names else { return Ok(FILESYSTEMS.iter().collect()) };
    names
        .split(',')
        .map(|name| {
            Filesystem::find(name).ok_or_else(|| io::Error::other(format!("no filesystem is called '{name}' here")))
        })
        .collect()
}

/// Crashes one server on one filesystem, again and again.
pub fn crash(filesystem: &'static Filesystem, home: &Path, seed: u64, arguments: &Arguments) -> io::Result<Survived> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut mount = Mount::create(filesystem, home, 3 << 29, filesystem.has_device())?;
    let directory = mount.directory.join("glassine");
    let more = arguments.options.split(',').filter(|option| !option.is_empty()).map(str::to_string).collect();
    let options =
        Options { pool: arguments.pool.clone(), log: "64M".into(), flush_at_commit: arguments.flush_at_commit, more };
    let mut server = Server::create(Kind::Glassine, &directory, &options)?;
    let load = Run {
        script: "oltp_write_only",
        tables: 2,
        rows: arguments.rows,
        threads: 2,
        seconds: 60,
        prepared: true,
        more: &[],
    };
    let with_load = sysbench::is_installed();
    if with_load {
        server.connect().and_then(|mut client| client.query("CREATE DATABASE sbtest")).map_err(io::Error::other)?;
        load.prepare(&server)?;
    }
    let ledger = Ledger::create(&server, 4).map_err(io::Error::other)?;
    let mut survived = Survived::default();
    let cuts = if filesystem.has_device() { arguments.cuts } else { 0 };
    while survived.kills < arguments.kills || survived.cuts < cuts {
        let is_cut = survived.cuts < cuts && (survived.kills >= arguments.kills || random.random_bool(0.5));
        let writers = ledger.write(&server).map_err(io::Error::other)?;
        let socket = server.socket.clone();
        let rows = arguments.rows;
        let background = with_load.then(|| thread::spawn(move || sysbench::until_killed(&socket, 2, rows)));
        thread::sleep(Duration::from_millis(random.random_range(300..arguments.milliseconds.max(301))));
        let mut floor = None;
        let what = if let Some(disk) = mount.disk().filter(|_| is_cut) {
            let (promises, seen) = (ledger.promises(), Arc::new(Mutex::new(Vec::new())));
            let note = seen.clone();
            let at_cut = move || {
                if let Ok(mut note) = note.lock() {
                    *note = promises.now();
                }
            };
            let sectors = 1 << random.random_range(0..8);
            let fate = StdRng::seed_from_u64(random.random());
            let cut = disk.cut(sectors, Duration::from_secs(2), fate, Box::new(at_cut));
            let (flushes, writes) = disk.traffic();
            floor = seen.lock().ok().map(|seen| seen.clone());
            survived.cuts += 1;
            survived.sectors_lost += cut.lost + cut.older;
            format!(
                "cut {}: {} sectors in the cache, {} lost, {} older ({flushes} flushes, {writes} writes before)",
                survived.cuts, cut.cached, cut.lost, cut.older
            )
        } else {
            survived.kills += 1;
            format!("kill {}", survived.kills)
        };
        server.kill();
        writers.join(false).map_err(io::Error::other)?;
        if let Some(background) = background {
            let _ = background.join(); // sysbench ends with the server; its complaints are expected.
        }
        if is_cut {
            mount.power_on()?;
        }
        let start = Instant::now();
        server = Server::start(Kind::Glassine, &directory, &options)?;
        let seconds = start.elapsed().as_secs_f64();
        let audit = match &floor {
            Some(floor) => ledger.audit_since(&server, floor),
            None => ledger.audit(&server),
        };
        let audit =
            audit.map_err(|lost| io::Error::other(format!("{what}: {lost}\nserver log:\n{}", server.log_tail(40))))?;
        survived.entries = audit.found;
        println!(
            "{} {what}: {} promised, {} found; serving again after {seconds:.2} s",
            filesystem.name, audit.promised, audit.found
        );
        server.stop()?;
        check(&directory.join("data"))?;
        server = Server::start(Kind::Glassine, &directory, &options)?;
    }
    let mut client = server.connect().map_err(io::Error::other)?;
    survived.facts = facts(&mut client).map_err(io::Error::other)?;
    compare_allocated(&mut client, &directory.join("data"))?;
    drop(client);
    server.stop()?;
    if with_load {
        (survived.allocated, survived.logical) = process::disk_usage(&directory.join("data/sbtest"))?;
    }
    drop(mount);
    fs::remove_dir_all(home)?;
    Ok(survived)
}

/// What the server says about the filesystem below its tables, with its reasons printed.
fn facts(client: &mut Client) -> Result<String, Error> {
    let answer = client.query(
        "SELECT FILESYSTEM, FS_BLOCK_SIZE, PUNCH_STATE, TORN_PROTECTION, PUNCH_REASON, TORN_REASON \
         FROM information_schema.GLASSINE_TABLESPACE_COMPRESSION WHERE NAME = 'ledger/entries'",
    )?;
    let cells: Vec<&str> = answer.rows.iter().flatten().map(|cell| cell.as_deref().unwrap_or("-")).collect();
    let [filesystem, block, punch, torn, punch_reason, torn_reason] = cells[..] else {
        return Ok("nothing: the view has no line for ledger/entries".into());
    };
    println!("    punching {punch}: {punch_reason}\n    against torn pages {torn}: {torn_reason}");
    Ok(format!("{filesystem}, blocks of {block}, punching {punch}, {torn}"))
}

/// ALLOCATED_SIZE must be what the filesystem says, once the page cleaners have come to rest.
fn compare_allocated(client: &mut Client, data: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let question = "SELECT NAME, ALLOCATED_SIZE FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE 'ledger/%'";
    let start = Instant::now();
    loop {
        let rows = client.query(question).map_err(io::Error::other)?.rows;
        let mut differences = Vec::new();
        for row in &rows {
            let (Some(name), Some(told)) = (&row[0], &row[1]) else { continue };
            let allocated = fs::metadata(data.join(format!("{name}.ibd")))?.blocks() * 512;
            if told.parse() != Ok(allocated) {
                differences.push(format!("{name}: ALLOCATED_SIZE {told}, st_blocks {allocated} bytes"));
            }
        }
        if rows.is_empty() {
            return Err(io::Error::other("INNODB_TABLESPACES has no line for the ledger"));
        }
        if differences.is_empty() {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(20) {
            return Err(io::Error::other(differences.join("; ")));
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// `glassine check` on a directory whose server has stopped.
fn check(data: &Path) -> io::Result<()> {
    let output = Command::new(glassine_binary()).arg("check").arg(format!("--datadir={}", data.display())).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "glassine check is not clean:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )))
}
