//! MariaDB's own test files as streams of statements, replayed on Glassine and on MariaDB.
//!
//! The suites of MariaDB hold hundreds of thousands of statements that its developers found worth a test. Their
//! expected results belong to MariaDB and are not used: both servers run them, and their answers are compared.
//!
//! 1. [`record`] lets `mysqltest` play the files against MariaDB. A [`proxy`] between them writes down what each
//!    connection says and when it is answered: a [`stream`]. Streams stay in a scratch directory.
//! 2. [`play`] sends a stream to both servers of a [`pair`], keeping the order of the connections among each other;
//!    [`rules`] say what is left out, [`statement`] what a statement names and changes.
//! 3. [`compare`] compares two answers; [`apart`] excludes tables on which the servers differ, so that one
//!    refusal counts once; [`known`] lists differences that are MySQL's rule.
//! 4. [`tally`] sums up, and lists every difference with both answers.
//!
//! A pair of servers works on one stream at a time, several pairs side by side.

pub mod apart;
pub mod compare;
pub mod known;
pub mod order;
pub mod pair;
pub mod play;
pub mod proxy;
pub mod record;
pub mod rules;
pub mod statement;
pub mod stream;
pub mod tally;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use self::known::Known;
use self::pair::Pair;
use self::play::Setting;
use self::tally::Tally;
use crate::process::{Scratch, base_directory, mariadb_is_installed};

#[derive(clap::Args)]
pub struct Arguments {
    /// Comma-separated suites of mariadb-test-data.
    #[arg(long, default_value = record::SUITES_DEFAULT)]
    pub suites: String,
    /// Only files whose `suite.file` contains one of these words.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Where recorded streams are kept, to be used again [`streams` below BENCH_DIR].
    #[arg(long)]
    pub streams: Option<PathBuf>,
    /// Where `differences.txt`, `apart.txt` and `slow.txt` go [`replay-report` below BENCH_DIR].
    #[arg(long)]
    pub report: Option<PathBuf>,
    /// Pairs of servers that work side by side.
    #[arg(long, default_value_t = 2)]
    pub workers: usize,
    /// Seconds that the recording of one file may take.
    #[arg(long, default_value_t = 20)]
    pub record_seconds: u64,
    /// Seconds that one statement may take with all its answers; it is killed then.
    #[arg(long, default_value_t = 10)]
    pub seconds: u64,
    /// Record what is missing and stop.
    #[arg(long)]
    pub record_only: bool,
    /// Fail if a server ended, hung or gave other rows, and known.txt does not say why.
    #[arg(long)]
    pub strict: bool,
}

/// Whether this machine has what a recording needs.
pub fn is_possible() -> bool {
    let player = Command::new("mysqltest").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    mariadb_is_installed() && player.is_ok() && Path::new(record::SUITES).join("main").is_dir()
}

/// The command: records, replays, reports.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let report = arguments.report.clone().unwrap_or_else(|| base_directory().join("replay-report"));
    let known = Known::of_repository()?;
    let Some(tally) = replay(arguments, &known, Some(&report))? else { return Ok(()) };
    tally.write(&report)?;
    print!("{}", tally.summary(&known));
    println!("every difference: {}", report.join("differences.txt").display());
    let wrong = tally.wrong().count();
    if arguments.strict && wrong > 0 {
        return Err(io::Error::other(format!("{wrong} statements were answered wrongly")));
    }
    Ok(())
}

/// A long replay can be read before it ends.
const REPORT_EVERY: Duration = Duration::from_secs(30);

/// Records what is missing and replays it; nothing if only the recording was asked for.
pub fn replay(arguments: &Arguments, known: &Known, report: Option<&Path>) -> io::Result<Option<Tally>> {
    let scratch = Scratch::new("replay")?;
    let streams = arguments.streams.clone().unwrap_or_else(|| base_directory().join("streams"));
    let scripts = record::scripts(Path::new(record::SUITES), &arguments.suites, &arguments.only)?;
    let patience = Duration::from_secs(arguments.record_seconds);
    let recorded = record::record(&scripts, &streams, &scratch.0, arguments.workers, patience)?;
    eprintln!("{recorded} files recorded, {} in all", scripts.len());
    if arguments.record_only {
        return Ok(None);
    }
    let setting = Setting { known, patience: Duration::from_secs(arguments.seconds) };
    let next = AtomicUsize::new(0);
    let total: Mutex<io::Result<Tally>> = Mutex::new(Ok(Tally::default()));
    let start = Instant::now();
    let reported = Mutex::new(start);
    thread::scope(|scope| {
        for worker in 0..arguments.workers.min(scripts.len()) {
            let (scripts, next, total, reported) = (&scripts, &next, &total, &reported);
            let (setting, streams) = (&setting, &streams);
            let directory = scratch.0.join(format!("pair{worker}"));
            scope.spawn(move || {
                let result = Pair::create(&directory).and_then(|mut pair| {
                    while let Some(script) = scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let events = stream::read(&streams.join(&script.name))?;
                        let begun = Instant::now();
                        let tally = play::play(setting, &mut pair, &script.name, &events)?;
                        let (wrong, seconds) = (tally.wrong().count(), begun.elapsed().as_secs_f64());
                        if wrong > 0 || seconds > 10.0 {
                            eprintln!(
                                "{}: {} statements, {wrong} wrong, {seconds:.1} s",
                                script.name, tally.statements
                            );
                        }
                        if let Ok(total) = &mut *total.lock().expect("no player panics") {
                            total.add(tally);
                            let mut reported = reported.lock().expect("no player panics");
                            if let Some(report) = report.filter(|_| reported.elapsed() > REPORT_EVERY) {
                                total.write(report)?;
                                *reported = Instant::now();
                            }
                        }
                    }
                    Ok(())
                });
                if let Err(error) = result {
                    *total.lock().expect("no player panics") = Err(error);
                }
            });
        }
    });
    let tally = total.into_inner().expect("no player panics")?;
    eprintln!("{} statements in {:.0} s", tally.statements, start.elapsed().as_secs_f64());
    Ok(Some(tally))
}
