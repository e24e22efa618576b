//! MySQL's own test files on Glassine, beside the results that MySQL recorded.
//!
//! MySQL's sources carry a folder `mysql-test`: scripts, and for each the output that is expected of it. Neither is
//! part of this project; the command is told where they are.
//!
//! 1. [`language`] makes a copy of the scripts that MariaDB's `mysqltest` can read, and that goes on after errors.
//! 2. `mysqltest` plays a script on Glassine, with its loops, conditions, sorted results and replacements; a
//!    [`Proxy`] between them notes the statements.
//! 3. [`blocks`] cuts its output and the expected one where they echo a statement, and finds the blocks that belong
//!    together.
//! 4. [`verdict`] compares two blocks. Tables on which Glassine and MySQL parted are left out, as in `bench replay`.
//!
//! A server works on one script at a time, several servers side by side.

mod blocks;
mod language;
mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use comfy_table::Table;

use self::blocks::Block;
use self::verdict::Verdict;
use crate::process::{Kind, Options, Scratch, base_directory};
use crate::replay::apart::Apart;
use crate::replay::compare::Kind as Difference;
use crate::replay::pair::Side;
use crate::replay::proxy::Proxy;
use crate::replay::record::{self, Script};
use crate::replay::statement::{Changes, Statement};
use crate::replay::stream::{self, Event};
use crate::replay::tally;

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder `mysql-test` of MySQL's sources.
    #[arg(long)]
    pub folder: PathBuf,
    /// Comma-separated suites; `main` is what lies in the folder itself.
    #[arg(long, default_value = "main,json,gcol,gis,collations,funcs_1,parts,innodb")]
    pub suites: String,
    /// Only files whose `suite.file` contains one of these words.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Where `differences.txt` and `files.txt` go [`suite-report` below BENCH_DIR].
    #[arg(long)]
    pub report: Option<PathBuf>,
    /// Servers that work side by side.
    #[arg(long, default_value_t = 2)]
    pub workers: usize,
    /// Seconds that one file may take.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
}

/// What became of the statements of one file, or of several.
#[derive(Debug, Default, Clone)]
pub struct Summary {
    pub statements: u64,
    pub same: u64,
    /// Differences by kind.
    pub differ: BTreeMap<Difference, u64>,
    /// By reason.
    pub not_comparable: BTreeMap<&'static str, u64>,
}

impl Summary {
    fn add(&mut self, other: &Summary) {
        self.statements += other.statements;
        self.same += other.same;
        for (&kind, count) in &other.differ {
            *self.differ.entry(kind).or_default() += count;
        }
        for (&reason, count) in &other.not_comparable {
            *self.not_comparable.entry(reason).or_default() += count;
        }
    }

    pub fn count(&self, kind: Difference) -> u64 {
        self.differ.get(&kind).copied().unwrap_or(0)
    }

    fn compared(&self) -> u64 {
        self.same + self.differ.values().sum::<u64>()
    }
}

/// All files of a run, and every difference.
#[derive(Debug, Default)]
pub struct Report {
    pub files: BTreeMap<String, Summary>,
    pub differences: Vec<tally::Difference>,
}

/// Whether this machine has what a script is played with.
pub fn is_possible() -> bool {
    Command::new("mysqltest").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// The command.
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let directory = arguments.report.clone().unwrap_or_else(|| base_directory().join("suite-report"));
    let report = play_all(arguments)?;
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("differences.txt"), tally::grouped(&report.differences, "mysql"))?;
    fs::write(directory.join("files.txt"), table(&report.files))?;
    let mut suites: BTreeMap<String, Summary> = BTreeMap::new();
    for (name, summary) in &report.files {
        let suite = name.split('.').next().unwrap_or(name).to_string();
        suites.entry(suite).or_default().add(summary);
        suites.entry("~ all".into()).or_default().add(summary);
    }
    print!("{}", table(&suites));
    println!("every difference: {}", directory.join("differences.txt").display());
    Ok(())
}

/// One line per name: counts, and the share of what was compared.
fn table(summaries: &BTreeMap<String, Summary>) -> String {
    let kinds = [
        Difference::Rows,
        Difference::Order,
        Difference::Warnings,
        Difference::Refused,
        Difference::Accepted,
        Difference::Errors,
    ];
    let mut table = Table::new();
    let heads = ["", "statements", "compared", "same", "share"].into_iter();
    table.set_header(heads.chain(kinds.map(Difference::name)).chain(["apart", "not comparable"]));
    for (name, summary) in summaries {
        let apart = summary.not_comparable.get(APART).copied().unwrap_or(0);
        let others = summary.not_comparable.values().sum::<u64>() - apart;
        let share = 100.0 * summary.same as f64 / summary.compared().max(1) as f64;
        let mut cells = vec![name.clone(), summary.statements.to_string(), summary.compared().to_string()];
        cells.extend([summary.same.to_string(), format!("{share:.1} %")]);
        cells.extend(kinds.map(|kind| summary.count(kind).to_string()));
        cells.extend([apart.to_string(), others.to_string()]);
        table.add_row(cells);
    }
    format!("{table}\n")
}

/// Plays every script that the arguments name.
pub fn play_all(arguments: &Arguments) -> io::Result<Report> {
    let scratch = Scratch::new("suite")?;
    let folder = fs::canonicalize(&arguments.folder)?;
    let readable = scratch.0.join("mysql-test");
    language::translate(&folder, &readable)?;
    let scripts = record::scripts(&readable, &arguments.suites, &arguments.only)?;
    let next = AtomicUsize::new(0);
    let report: Mutex<io::Result<Report>> = Mutex::new(Ok(Report::default()));
    thread::scope(|scope| {
        for worker in 0..arguments.workers.min(scripts.len()) {
            let (scripts, next, report, folder, readable) = (&scripts, &next, &report, &folder, &readable);
            let directory = scratch.0.join(format!("player{worker}"));
            let patience = Duration::from_secs(arguments.seconds);
            scope.spawn(move || {
                let result = Player::start(&directory, folder, readable).and_then(|mut player| {
                    while let Some(script) = scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let Some(expected) = expected_output(folder, readable, script)? else { continue };
                        let (summary, differences) = player.play(script, &expected, patience)?;
                        if let Ok(report) = &mut *report.lock().expect("no player panics") {
                            report.files.insert(script.name.clone(), summary);
                            report.differences.extend(differences);
                        }
                    }
                    Ok(())
                });
                if let Err(error) = result {
                    *report.lock().expect("no player panics") = Err(error);
                }
            });
        }
    });
    report.into_inner().expect("no player panics")
}

/// What MySQL answered to the script, if that was recorded: `t/a.test` has it in `r/a.result`.
fn expected_output(folder: &Path, readable: &Path, script: &Script) -> io::Result<Option<String>> {
    let within = script.path.strip_prefix(readable).map_err(io::Error::other)?;
    let suite = folder.join(within.parent().and_then(Path::parent).unwrap_or(Path::new("")));
    let file = Path::new(within.file_name().unwrap_or_default()).with_extension("result");
    match fs::read(suite.join("r").join(file)) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Names a table on which Glassine and MySQL parted before.
const APART: &str = "after a refusal";

/// MySQL's `mysqltest` logs in with utf8mb4_0900_ai_ci.
const COLLATION: u8 = 255;

/// A Glassine server behind a proxy, and the folder in which scripts are played.
struct Player<'a> {
    side: Side,
    readable: &'a Path,
    socket: PathBuf,
    proxy: Proxy,
}

impl Player<'_> {
    fn start<'a>(directory: &Path, folder: &Path, readable: &'a Path) -> io::Result<Player<'a>> {
        let var = directory.join("var");
        record::make_folders(&var)?;
        let side = Side::create(Kind::Glassine, &var, &folder.join("std_data"), options())?;
        let socket = directory.join("p.sock");
        let proxy = Proxy::start(&socket, &side.socket(), Some(COLLATION))?;
        record::open_to_all(&socket)?;
        Ok(Player { side, readable, socket, proxy })
    }

    fn play(
        &mut self,
        script: &Script,
        expected: &str,
        patience: Duration,
    ) -> io::Result<(Summary, Vec<tally::Difference>)> {
        self.side.reset()?;
        record::make_harness(&mut self.side.connect()?)?;
        let (said, output) = (self.side.var.join("said"), self.side.var.join("output"));
        self.proxy.record_to(&said)?;
        let mut command = record::mysqltest(self.readable, &self.side.var, &self.socket, script);
        let child = command.stdout(Stdio::from(fs::File::create(&output)?)).spawn()?;
        record::wait_or_end(child, patience)?;
        self.proxy.stop_recording()?;
        let statements = stream::read(&said)?.into_iter().filter_map(|event| match event {
            Event::Statement { text, .. } => Some(String::from_utf8_lossy(&text).into_owned()),
            _ => None,
        });
        let echoes = blocks::Echoes::new(statements);
        let ours = String::from_utf8_lossy(&fs::read(&output)?).into_owned();
        let (mut summary, mut differences) = judge(&script.name, &echoes.cut(&ours), &echoes.cut(expected));
        if !self.side.is_running() {
            *summary.differ.entry(Difference::Died).or_default() += 1;
            differences.push(tally::Difference {
                kind: Difference::Died,
                stream: script.name.clone(),
                event: 0,
                statement: "the server ended while the file was played".into(),
                ours: self.side.log_tail(),
                peer: String::new(),
                note: String::new(),
            });
        }
        Ok((summary, differences))
    }
}

/// As MySQL's own test driver starts a server, as far as statements see it.
fn options() -> Options {
    let more = [
        "--local-infile=1",
        "--log-bin-trust-function-creators=1",
        "--default-time-zone=+03:00",
        "--log-bin",
        "--innodb-lock-wait-timeout=2",
        "--lock-wait-timeout=3",
        "--secure-file-priv=",
        "--character-set-server=utf8mb4",
        "--collation-server=utf8mb4_0900_ai_ci",
        "--default-collation-for-utf8mb4=utf8mb4_0900_ai_ci",
    ];
    let more = more.map(str::to_string).to_vec();
    Options { pool: "64M".into(), log: "64M".into(), flush_at_commit: 0, more }
}

/// Compares what was answered with what was expected, statement by statement.
fn judge(name: &str, ours: &[Block<'_>], expected: &[Block<'_>]) -> (Summary, Vec<tally::Difference>) {
    let mut summary = Summary::default();
    let mut differences = Vec::new();
    let mut apart = Apart::default();
    let mut database = String::from("test");
    summary.statements = expected.len() as u64;
    let pairs = blocks::pairs(ours, expected);
    let missed = expected.len() - pairs.len();
    if missed > 0 {
        summary.not_comparable.insert("not reached", missed as u64);
    }
    for (own, other) in pairs {
        let (own, other) = (&ours[own], &expected[other]);
        let statement = Statement::new(own.statement);
        let verdict = verdict::verdict(&statement, &own.answer, &other.answer);
        if apart.touches(&statement, &database).is_some() {
            *summary.not_comparable.entry(APART).or_default() += 1;
            apart_again(&mut apart, &statement, &verdict, &database);
            continue;
        }
        if statement.verb == "use"
            && let Some(name) = own.statement.split_whitespace().nth(1)
        {
            database = name.trim_matches(['`', ';']).to_lowercase();
        }
        match verdict {
            Verdict::Same => summary.same += 1,
            Verdict::NotComparable(reason) => *summary.not_comparable.entry(reason).or_default() += 1,
            Verdict::Differs(kind) => {
                *summary.differ.entry(kind).or_default() += 1;
                differences.push(tally::Difference {
                    kind,
                    stream: name.into(),
                    event: other.line,
                    statement: own.statement.into(),
                    ours: own.answer.join("\n            "),
                    peer: other.answer.join("\n            "),
                    note: String::new(),
                });
            }
        }
        apart_again(&mut apart, &statement, &verdict, &database);
    }
    (summary, differences)
}

/// Notes what a statement means for the comparison of later ones.
fn apart_again(apart: &mut Apart, statement: &Statement, verdict: &Verdict, database: &str) {
    match verdict {
        Verdict::Differs(Difference::Refused | Difference::Accepted) => {
            // A statement of many parts may have changed anything; one that only asks changes nothing.
            let changes = statement.changes();
            if changes != Changes::Anything {
                apart.set_apart(&changes, database, &"".into());
            }
        }
        Verdict::Same => apart.agreed(statement, database),
        _ => {}
    }
}
