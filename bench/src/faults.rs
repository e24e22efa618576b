//! `bench faults`: a system call of the server fails under load.
//!
//! strace attaches to the running server and lets one kind of call fail, once per thread or for a while: EIO as of a
//! broken device, ENOSPC as of a full one. Writers keep a ledger of acknowledged commits, readers check, tables come
//! and go. Then the server is killed, its directory is checked, and the next server must have everything that was
//! promised.
//!
//! ```text
//!   EIO of a write or sync      the engine is poisoned: changes answer an error, reading goes on, nothing more is written
//!   ENOSPC of a write           1021 for statements that need space, no others; all continues once there is space
//!   EIO or ENOSPC of fallocate  an error of that statement, or no more holes in that file
//! ```
//!
//! In every case each statement is answered: a client that waits for longer than [`PATIENCE`] is a failure, and the
//! threads of the server are named.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use rand::Rng;
use rand::seq::IndexedRandom;

use crate::client::{Client, Error};
use crate::ledger::{Ledger, write_entry};
use crate::process::{self, Kind, Options, Scratch, Server};

/// No statement lasts longer: the longest that one may wait is for a lock, and that is [`LOCK_WAIT_SECONDS`].
const PATIENCE: Duration = Duration::from_secs(40);
const LOCK_WAIT_SECONDS: u32 = 5;

const WRITERS: usize = 6;
const READERS: usize = 2;

/// The calls by which the server writes. (A write of `io_submit` fails as a whole: strace changes calls, not events.)
const CALLS: [&str; 6] = ["fdatasync", "fsync", "pwrite64", "pwritev2", "io_submit", "fallocate"];

#[derive(clap::Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 100)]
    runs: u32,
    /// Seconds under load after the fault was set.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    #[arg(long, default_value = "16M")]
    pool: String,
    #[arg(long, default_value = "16M")]
    log: String,
}

/// What is injected.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub call: &'static str,
    pub error: &'static str,
    /// The call of each thread that fails first.
    pub at: u32,
    /// ... and all after it.
    pub persists: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    pub injected: usize,
    pub poisoned: bool,
    pub refused: u64,
    pub promised: u64,
    pub found: u64,
    pub start_seconds: f64,
}

impl Fault {
    fn draw(random: &mut impl Rng) -> Fault {
        let full = random.random_bool(0.4);
        // Some calls come often, some seldom.
        let often = *[2, 8, 40].choose(random).expect("there are three");
        Fault {
            call: CALLS.choose(random).expect("there are calls"),
            error: if full { "ENOSPC" } else { "EIO" },
            at: random.random_range(1..=often),
            persists: full,
        }
    }

    /// Whether nothing that was written is in doubt by it: then the server goes on.
    fn is_ordinary(&self) -> bool {
        self.call == "fallocate"
    }
}

/// Whether this machine can do it.
pub fn strace_works() -> bool {
    let Ok(mut sleeper) = Command::new("sleep").arg("5").spawn() else { return false };
    let attached = Command::new("timeout")
        .args(["1", "strace", "-q", "-o", "/dev/null", "-p", &sleeper.id().to_string()])
        .stderr(Stdio::null())
        .status();
    let _ = sleeper.kill();
    let _ = sleeper.wait();
    // 124: it was still attached when the time was over.
    attached.is_ok_and(|status| status.code() == Some(124))
}

pub fn run(arguments: &Arguments) -> io::Result<()> {
    if !strace_works() {
        return Err(io::Error::other("strace cannot attach to a process here"));
    }
    let scratch = Scratch::new("faults")?;
    let directory = scratch.0.join("glassine");
    let options = Options { pool: arguments.pool.clone(), log: arguments.log.clone(), ..Options::default() };
    let mut server = Server::create(Kind::Glassine, &directory, &options)?;
    let ledger = Ledger::create(&server, WRITERS).map_err(io::Error::other)?;
    let mut random = rand::rng();
    let (mut poisoned, mut injected) = (0, 0);
    for number in 1..=arguments.runs {
        let fault = Fault::draw(&mut random);
        let (next, outcome) = one(server, &ledger, fault, Duration::from_secs_f64(arguments.seconds), &options)
            .map_err(|error| io::Error::other(format!("run {number}, {fault:?}: {error}")))?;
        server = next;
        poisoned += u32::from(outcome.poisoned);
        injected += u32::from(outcome.injected > 0);
        println!("run {number}: {fault:?}: {outcome:?}");
    }
    server.stop()?;
    println!(
        "{} runs, {injected} with a call that failed, {poisoned} poisoned: nothing lost, nobody hung",
        arguments.runs
    );
    Ok(())
}

/// One fault under load, a kill, and the audit. Returns the next server.
pub fn one(
    server: Server,
    ledger: &Ledger,
    fault: Fault,
    under_load: Duration,
    options: &Options,
) -> io::Result<(Server, Outcome)> {
    let logged = server.log().len();
    let load = Load::start(&server, ledger)?;
    thread::sleep(Duration::from_millis(300));
    let mut strace = attach(&server, fault)?;
    thread::sleep(under_load);
    detach(&mut strace)?;
    let injected = fs::read_to_string(server.directory.join("strace")).unwrap_or_default();
    let injected = injected.lines().filter(|line| line.contains("(INJECTED)")).count();
    let poisoned = server.log()[logged..].contains("nothing is written any more");
    if injected == 0 && poisoned {
        return Err(io::Error::other(format!("poisoned without a cause:\n{}", server.log_tail(20))));
    }
    if injected > 0 && fault.error == "EIO" && !fault.is_ordinary() && !poisoned {
        return Err(io::Error::other(format!("a failed {} did not poison:\n{}", fault.call, server.log_tail(20))));
    }
    if poisoned && fault.is_ordinary() {
        return Err(io::Error::other(format!("{} poisoned:\n{}", fault.call, server.log_tail(20))));
    }
    if !poisoned {
        // The device works again, and so does everybody.
        load.wait_for_progress(&server)?;
    }
    let refused = load.stop(&server, !poisoned)?;
    let directory = server.kill();
    process::check_copy(&directory)?;
    let start = Instant::now();
    let server = Server::start(Kind::Glassine, &directory, options)?;
    let start_seconds = start.elapsed().as_secs_f64();
    let audit = ledger
        .audit(&server)
        .map_err(|lost| io::Error::other(format!("{lost}\nserver log:\n{}", server.log_tail(40))))?;
    let outcome = Outcome {
        injected,
        poisoned,
        refused,
        promised: audit.promised,
        found: audit.found,
        start_seconds: (start_seconds * 100.0).round() / 100.0,
    };
    Ok((server, outcome))
}

/// Attaches strace to all threads of the server, and waits until it is.
fn attach(server: &Server, fault: Fault) -> io::Result<Child> {
    let Fault { call, error, at, persists } = fault;
    let (trace, when) = (server.directory.join("strace"), if persists { "+" } else { "" });
    let mut strace = Command::new("strace")
        .args(["-f", "-q", "-o"])
        .arg(&trace)
        .args(["-e", &format!("trace={call}"), "-e", &format!("inject={call}:error={error}:when={at}{when}")])
        .args(["-p", &server.pid().to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let start = Instant::now();
    let traced = || {
        let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap_or_default();
        status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|pid| pid.trim() != "0"))
    };
    while !traced() {
        if strace.try_wait()?.is_some() || start.elapsed() > Duration::from_secs(20) {
            return Err(io::Error::other("strace does not attach"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(strace)
}

/// Lets the server go on without strace.
fn detach(strace: &mut Child) -> io::Result<()> {
    Command::new("kill").args(["-INT", &strace.id().to_string()]).status()?;
    let start = Instant::now();
    while strace.try_wait()?.is_none() {
        if start.elapsed() > PATIENCE {
            strace.kill()?;
            return Err(io::Error::other("strace does not detach"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// A client at work.
struct Worker {
    name: String,
    thread: JoinHandle<Result<u64, String>>,
    /// When the statement under way was sent, in milliseconds since the load began; 0 = none is under way.
    sent: Arc<AtomicU64>,
    /// Transactions that were acknowledged, or looks that were answered.
    done: Arc<AtomicU64>,
}

/// Clients at work.
struct Load {
    begin: Instant,
    stop: Arc<AtomicBool>,
    workers: Vec<Worker>,
}

impl Load {
    fn start(server: &Server, ledger: &Ledger) -> io::Result<Load> {
        let mut load = Load { begin: Instant::now(), stop: Arc::default(), workers: Vec::new() };
        for (writer, promised) in ledger.counters().iter().enumerate() {
            let promised = promised.clone();
            load.spawn(server, format!("writer {writer}"), move |client| {
                let entry = promised.load(Ordering::SeqCst) + 1;
                write_entry(client, writer as u64, entry)?;
                promised.store(entry, Ordering::SeqCst);
                Ok(())
            })?;
        }
        for reader in 0..READERS {
            load.spawn(server, format!("reader {reader}"), move |client| {
                client.query("SELECT SUM(entries) FROM ledger.counters")?;
                client.query(&format!("SELECT COUNT(*) FROM ledger.entries WHERE writer = {reader} AND note > ''"))?;
                thread::sleep(Duration::from_millis(20));
                Ok(())
            })?;
        }
        // What a refused DROP leaves does not stand in the way of the next run.
        let begun = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let mut number = 0;
        load.spawn(server, "ddl".into(), move |client| {
            number += 1;
            let table = format!("ledger.t{}_{number}", begun.as_nanos());
            client.query(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, body TEXT) ENGINE=InnoDB"))?;
            client.query(&format!("INSERT INTO {table} VALUES (1, REPEAT('x', 50000))"))?;
            client.query(&format!("DROP TABLE {table}"))?;
            Ok(())
        })?;
        Ok(load)
    }

    /// A thread that does the same again and again. Errors of the server are counted, and followed by a rollback.
    fn spawn(
        &mut self,
        server: &Server,
        name: String,
        mut work: impl FnMut(&mut Client) -> Result<(), Error> + Send + 'static,
    ) -> io::Result<()> {
        let mut client = server.connect().map_err(io::Error::other)?;
        let wait = format!("SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_SECONDS}");
        client.query(&wait).map_err(io::Error::other)?;
        let (stop, begin) = (self.stop.clone(), self.begin);
        let (sent, done): (Arc<AtomicU64>, Arc<AtomicU64>) = Default::default();
        let (sending, finished) = (sent.clone(), done.clone());
        let thread = thread::spawn(move || {
            let mut refused = 0;
            while !stop.load(Ordering::SeqCst) {
                sending.store(begin.elapsed().as_millis() as u64 + 1, Ordering::SeqCst);
                let outcome = work(&mut client);
                sending.store(0, Ordering::SeqCst);
                match outcome {
                    Ok(()) => {
                        finished.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(Error::Server { code: 1062, message, .. }) => {
                        return Err(format!("what was refused has happened: {message}"));
                    }
                    Err(Error::Server { .. }) => {
                        refused += 1;
                        let _ = client.query("ROLLBACK");
                        thread::sleep(Duration::from_millis(5));
                    }
                    Err(Error::Io(cause)) => return Err(format!("the connection is gone: {cause}")),
                }
            }
            Ok(refused)
        });
        self.workers.push(Worker { name, thread, sent, done });
        Ok(())
    }

    /// Fails if a client waits for too long.
    fn check(&self, server: &Server) -> io::Result<()> {
        let now = self.begin.elapsed().as_millis() as u64;
        for worker in &self.workers {
            let sent = worker.sent.load(Ordering::SeqCst);
            if sent > 0 && now.saturating_sub(sent) > PATIENCE.as_millis() as u64 {
                return Err(io::Error::other(format!("{} hangs\n{}", worker.name, threads_of(server))));
            }
        }
        Ok(())
    }

    /// Waits until every client has had a success from now on.
    fn wait_for_progress(&self, server: &Server) -> io::Result<()> {
        let before: Vec<_> = self.workers.iter().map(|worker| worker.done.load(Ordering::SeqCst)).collect();
        let start = Instant::now();
        loop {
            let behind = self.workers.iter().zip(&before).find(|(worker, before)| {
                worker.done.load(Ordering::SeqCst) <= **before && !worker.thread.is_finished()
            });
            let Some((worker, _)) = behind else { return Ok(()) };
            self.check(server)?;
            if start.elapsed() > PATIENCE {
                let log = server.log_tail(20);
                return Err(io::Error::other(format!("{} is refused for ever:\n{log}", worker.name)));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the work. Returns how often writers were refused; readers never are as long as the server is `healthy`.
    fn stop(self, server: &Server, healthy: bool) -> io::Result<u64> {
        self.stop.store(true, Ordering::SeqCst);
        while !self.workers.iter().all(|worker| worker.thread.is_finished()) {
            self.check(server)?;
            thread::sleep(Duration::from_millis(10));
        }
        let mut all = 0;
        for Worker { name, thread, .. } in self.workers {
            let refused = thread.join().map_err(|_| io::Error::other(format!("{name} panicked")))?;
            let refused = refused
                .map_err(|error| io::Error::other(format!("{name}: {error}\nserver log:\n{}", server.log_tail(30))))?;
            if healthy && refused > 0 && name.starts_with("reader") {
                return Err(io::Error::other(format!("{name} was refused {refused} times:\n{}", server.log_tail(20))));
            }
            all += refused;
        }
        Ok(all)
    }
}

/// The server's threads, and what each is in.
fn threads_of(server: &Server) -> String {
    let mut text = String::new();
    for task in fs::read_dir(format!("/proc/{}/task", server.pid())).into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        text += &format!("  {}: {}\n", read("comm").trim(), read("wchan").trim());
    }
    text + &server.log_tail(20)
}
