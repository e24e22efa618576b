//! `glassine demo`: shows in one command what the server is for.
//!
//! Makes `./data` if it is not there, serves it, fills the same rows into tables of
//! each codec, and prints what they take, as the server's own information_schema
//! tells it. Then it serves until Ctrl-C; with `--once` it ends.
//!
//! ```text
//! demo.customers_none  demo.orders_none  demo.events_none     COMPRESSION="none"
//! demo.customers_lz4   ...                                    COMPRESSION="lz4"
//! demo.customers_zlib  ...                                    COMPRESSION="zlib"
//! demo.customers_zstd  ...                                    COMPRESSION="zstd"
//! demo.loads           codec, rows, seconds: which of them are complete
//! ```
//!
//! A second run finds the rows and loads nothing; an interrupted run is
//! completed, codec by codec. Rows come from a seed ([`rows`]), so that every codec,
//! and every machine, gets the same.
//!
//! The time of a codec is that of its statements and of flushing its pages: a
//! slow codec cannot hide its cost by leaving its pages in memory.

mod progress;
mod rows;
mod table;

use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use format::value::{ColumnType, Value, Zone};
use sql::result::{ColumnDefinition, StoredColumn};
use sql::variables::GlobalVariables;
use sql::{Error, Instance, OkSummary, ResultSink, Session};
use storage::Row;
use tracing::error;

use crate::options::{self, Own};
use crate::serve::{self, Running};
use crate::{init, log};
use progress::Progress;
use rows::{Generator, TABLES};

/// Fills ./data with the same rows under each codec, shows what they take, and serves them
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// --once, --rows, --seed, and MySQL's options: --datadir, --port, ...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

const HELP: &str = "\
Options:
  --once            end after the table instead of serving
  --rows=N          rows for each codec [320000]
  --seed=N          another seed, other rows [1]
  --datadir=DIR     [./data]
  --port=N          [the first free one from 3306]
  and all options of `glassine serve`";

const OWN: &[Own] = &[
    Own { name: "once", takes_value: false },
    Own { name: "rows", takes_value: true },
    Own { name: "seed", takes_value: true },
];

const CODECS: &[&str] = &["none", "lz4", "zlib", "zstd"];
const ROWS: u64 = 320_000;
/// Ports that are tried.
const PORT_TRIES: u16 = 100;
/// Rows of one INSERT.
const BATCH_ROWS: u64 = 500;
/// Statements of one transaction.
const BATCHES_OF_TRANSACTION: u64 = 10;
/// How long pages may take to be written out.
const FLUSH_PATIENCE: Duration = Duration::from_secs(60);

/// What the files take: the statement that the table shows, for the user to repeat.
const SIZES: &str = "SELECT COMPRESSION AS codec, SUM(FILE_SIZE) AS logical_bytes, SUM(ALLOCATED_SIZE) AS allocated_bytes, \
     ROUND(100 - 100 * SUM(ALLOCATED_SIZE) / SUM(FILE_SIZE), 1) AS saved_pct \
     FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE 'demo/%\\_%' GROUP BY COMPRESSION";

/// What went wrong, or that the user had enough.
enum Stopped {
    Failed(String),
    Interrupted,
}

impl From<String> for Stopped {
    fn from(cause: String) -> Self {
        Self::Failed(cause)
    }
}

pub fn run(arguments: &Args) -> ExitCode {
    log::start();
    let globals = GlobalVariables::new();
    // A pool in which one codec's rows fit; any option overrides it.
    globals.load_option("innodb_buffer_pool_size", "256M").expect("a valid size");
    let loaded = match options::load(&arguments.options, OWN, &globals) {
        Ok(loaded) => loaded,
        Err(cause) => {
            error!("{cause}");
            return ExitCode::from(2);
        }
    };
    log::set_verbosity(globals.number("log_error_verbosity"));
    let number = |name, default| loaded.value(name).map_or(Some(default), |text| text.parse::<u64>().ok());
    let (Some(rows), Some(seed)) = (number("rows", ROWS), number("seed", 1)) else {
        error!("--rows and --seed are numbers");
        return ExitCode::from(2);
    };
    let running = match open(globals) {
        Ok(running) => running,
        Err(cause) => {
            error!("{cause}");
            return ExitCode::FAILURE;
        }
    };
    running.stop_on_signals();
    let shown = show(&running, rows, seed);
    if shown.is_ok() && !loaded.has("once") {
        println!("Ctrl-C ends the server; the data stays for the next time.");
        running.server.wait_for_shutdown_request();
        println!("shutting down");
    }
    if matches!(shown, Err(Stopped::Interrupted)) {
        println!("interrupted; the next run goes on from here");
    }
    let stopped = running.stop();
    match (shown, stopped) {
        (Err(Stopped::Failed(cause)), _) | (_, Err(cause)) => {
            error!("{cause}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Makes the data directory if need be, and serves it on the first free port.
fn open(globals: GlobalVariables) -> Result<Running, String> {
    let datadir = globals.text("datadir");
    if !init::is_initialised(Path::new(&datadir)) {
        println!("making data directory {datadir}");
        println!("root has no password: whoever is on this machine may log in, and do everything");
        init::create(&globals, Path::new(&datadir), &init::Root::Open, None)?;
    }
    let mut listening = serve::listening(&globals)?;
    if globals.is_default("port") {
        listening.port_tries = PORT_TRIES;
    }
    serve::start(globals, &listening, replica::Filters::default())
}

/// Loads what is not there yet and prints the table.
fn show(running: &Running, rows: u64, seed: u64) -> Result<(), Stopped> {
    let mut client = Client::new(&running.instance);
    client.run("CREATE DATABASE IF NOT EXISTS demo")?;
    client.run("USE demo")?;
    client.run(
        "CREATE TABLE IF NOT EXISTS loads (codec VARCHAR(8) PRIMARY KEY, row_count BIGINT UNSIGNED NOT NULL, \
         seconds DOUBLE NOT NULL)",
    )?;
    let complete: Vec<String> = client.ask("SELECT codec FROM loads")?.into_iter().flatten().collect();
    let missing: Vec<&str> = CODECS.iter().copied().filter(|codec| !complete.iter().any(|c| c == codec)).collect();
    if missing.is_empty() {
        println!("the rows are there from an earlier run");
    } else {
        let progress = Progress::begin(rows * missing.len() as u64);
        for codec in missing {
            progress.codec(codec);
            load(running, &mut client, codec, rows, seed, &progress)?;
        }
        progress.end();
    }
    print_table(&mut client)?;
    print_how_to_connect(running);
    Ok(())
}

/// Fills one codec's tables and notes how long it took.
fn load(
    running: &Running,
    client: &mut Client<'_>,
    codec: &str,
    rows: u64,
    seed: u64,
    progress: &Progress,
) -> Result<(), Stopped> {
    let mut busy = Duration::ZERO;
    for table in TABLES {
        // Half a load of an interrupted run is of no use.
        client.run(&format!("DROP TABLE IF EXISTS {}_{codec}", table.name))?;
        client.run(&table.definition(codec))?;
    }
    let mut generator = Generator::new(seed, rows);
    for table in TABLES {
        let (mut next, end) = (0, generator.count(table));
        let mut batches = 0;
        while next < end {
            if running.server.shared().shutdown_is_requested() {
                return Err(Stopped::Interrupted);
            }
            let count = BATCH_ROWS.min(end - next);
            let statement = generator.insert(table, codec, next, count);
            let started = Instant::now();
            if batches % BATCHES_OF_TRANSACTION == 0 {
                client.run("BEGIN")?;
            }
            client.run(statement)?;
            batches += 1;
            next += count;
            if batches % BATCHES_OF_TRANSACTION == 0 || next == end {
                client.run("COMMIT")?;
            }
            busy += started.elapsed();
            progress.advance(count);
        }
    }
    let started = Instant::now();
    write_out(running, client)?;
    busy += started.elapsed();
    let total: u64 = TABLES.iter().map(|table| generator.count(table)).sum();
    client.run(&format!("INSERT INTO loads VALUES ('{codec}', {total}, {:.3})", busy.as_secs_f64()))?;
    Ok(())
}

/// Waits until the page cleaners have written all pages: only then is the size on disk the true one.
fn write_out(running: &Running, client: &mut Client<'_>) -> Result<(), Stopped> {
    const EAGERNESS: [&str; 3] = ["innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct", "innodb_io_capacity"];
    let before: Vec<String> =
        EAGERNESS.iter().map(|name| client.ask_one(&format!("SELECT @@GLOBAL.{name}"))).collect::<Result<_, _>>()?;
    for (name, eager) in EAGERNESS.iter().zip(["0", "0", "1000000"]) {
        client.run(&format!("SET GLOBAL {name} = {eager}"))?;
    }
    let deadline = Instant::now() + FLUSH_PATIENCE;
    while running.instance.engine.status().store.pool_pages_dirty_now > 0 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    for (name, value) in EAGERNESS.iter().zip(before) {
        client.run(&format!("SET GLOBAL {name} = {value}"))?;
    }
    Ok(())
}

fn print_table(client: &mut Client<'_>) -> Result<(), Stopped> {
    let sizes = client.ask(SIZES)?;
    let loads = client.ask("SELECT codec, row_count, seconds FROM loads")?;
    let mut lines = Vec::new();
    for codec in CODECS {
        let load = loads.iter().find(|load| load[0] == *codec);
        // The view says "None", "Zlib" ...: as MySQL's does.
        let size = sizes.iter().find(|size| size[0].eq_ignore_ascii_case(codec));
        if let (Some(load), Some(size)) = (load, size) {
            lines.push(table::Line::new(codec, &load[1], &size[1], &size[2], &size[3], &load[2]));
        }
    }
    println!("\n{}", table::render(&lines));
    println!("The sizes are the answer to:\n  {SIZES};\n");
    Ok(())
}

fn print_how_to_connect(running: &Running) {
    println!("Connect, in another terminal:");
    if let Some(port) = running.server.port() {
        println!("  mariadb --host=127.0.0.1 --port={port} --user=root demo     (or mysql, or any MySQL driver)");
    }
    if let Some(socket) = &running.server.socket {
        println!("  mariadb --socket={} --user=root demo", socket.display());
    }
    println!();
}

/// A session of the server in this very process.
struct Client<'a> {
    instance: &'a Instance,
    session: Session,
    process: std::sync::Arc<sql::processlist::Process>,
    status: std::sync::Arc<sql::status::SessionStatus>,
}

impl<'a> Client<'a> {
    fn new(instance: &'a std::sync::Arc<Instance>) -> Self {
        let process = instance.processes.register("localhost");
        let status = instance.status.register();
        let mut session = Session::new(instance.clone(), process.clone(), status.clone());
        process.set_user("root");
        session.set_user("root", "localhost");
        Self { instance, session, process, status }
    }

    /// Runs a statement and answers its rows as text.
    fn ask(&mut self, statement: &str) -> Result<Vec<Vec<String>>, String> {
        let mut answer = Answer::default();
        self.session.query(statement.as_bytes(), &mut answer);
        match answer.error {
            Some(error) => {
                let shown: String = statement.chars().take(200).collect();
                Err(format!("error {} ({}) in: {shown}", error.code, error.message))
            }
            None => Ok(answer.rows),
        }
    }

    fn run(&mut self, statement: &str) -> Result<(), String> {
        self.ask(statement).map(|_| ())
    }

    fn ask_one(&mut self, statement: &str) -> Result<String, String> {
        let rows = self.ask(statement)?;
        rows.into_iter().flatten().next().ok_or_else(|| format!("no answer to: {statement}"))
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.instance.processes.remove(&self.process);
        self.instance.status.retire(&self.status);
    }
}

/// Collects rows as text; NULL is "NULL".
#[derive(Default)]
struct Answer {
    rows: Vec<Vec<String>>,
    error: Option<Error>,
}

impl ResultSink for Answer {
    fn columns(&mut self, _: &[ColumnDefinition]) {}

    fn row(&mut self, values: &[Value], types: &[ColumnType]) {
        let text = |(value, ty): (&Value, &ColumnType)| {
            let mut out = Vec::new();
            match value {
                Value::Null => out.extend_from_slice(b"NULL"),
                value => ty.write_value_text(value, &mut out),
            }
            String::from_utf8_lossy(&out).into_owned()
        };
        self.rows.push(values.iter().zip(types).map(text).collect());
    }

    fn row_stored(&mut self, row: &Row, columns: &[StoredColumn], _: Zone) {
        let text = |column: &StoredColumn| {
            let mut out = Vec::new();
            match row.get(column.column) {
                None => out.extend_from_slice(b"NULL"),
                Some(stored) => column.ty.write_text(stored, &mut out),
            }
            String::from_utf8_lossy(&out).into_owned()
        };
        self.rows.push(columns.iter().map(text).collect());
    }

    fn ok(&mut self, _: &OkSummary<'_>) {}

    fn error(&mut self, error: &Error) {
        self.error = Some(error.clone());
    }
}
