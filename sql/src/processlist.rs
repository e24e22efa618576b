//! The connections and what each is doing: SHOW PROCESSLIST and KILL.
//!
//! A [`Process`] is registered when a client connects and removed when it leaves.
//! Its own thread writes to it at the start and the end of each command; others
//! only look, or set its interrupt.
//!
//! ```text
//!            begin(command, text)
//!   Sleep ------------------------> Query / Execute / ...
//!     ^                                  |
//!     +----------------------------------+
//!            end()
//! ```
//!
//! KILL QUERY sets the interrupt, which the executor and lock waits check. KILL
//! \[CONNECTION\] does that too, and then wakes the thread if it sleeps in a read, by
//! calling a function that the server registered here, which shuts the socket down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, RwLock};
use storage::{Interrupt, Isolation, Kill, Stage};

use crate::error::Error;

/// Most bytes of a statement that are kept for others to see.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// What the global read lock stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// A statement that changes something.
    Statement,
    Commit,
}

/// One connection, as others see it.
pub struct Process {
    pub id: u32,
    /// Set by KILL; looked at by the executor and by lock waits.
    pub interrupt: Arc<Interrupt>,
    /// The connection is to end.
    killed: AtomicBool,
    activity: Mutex<Activity>,
    /// A statement that changes something is under way, or a commit: see `ReadLock`.
    changing: AtomicBool,
    committing: AtomicBool,
    /// When its transaction began, in microseconds since 1970; 0 = it has none that outlives its statement.
    trx_since_us: AtomicU64,
    /// The level of that transaction, and whether it only reads.
    trx_isolation: AtomicU8,
    trx_read_only: AtomicBool,
    /// `foreign_key_checks` and `unique_checks`, as its last statement with a transaction had them.
    checks: [AtomicBool; 2],
    /// What the client says of itself.
    attributes: Mutex<Vec<(String, String)>>,
    /// Wakes the thread from its read.
    wake: Mutex<Option<Box<dyn Fn() + Send>>>,
}

/// A transaction that may outlive its statements, as others see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTransaction {
    pub since_us: u64,
    pub isolation: Isolation,
    pub read_only: bool,
}

struct Activity {
    user: String,
    /// Where the client is, with its port: `127.0.0.1:40112`, or `localhost` on the socket.
    host: String,
    database: Option<String>,
    command: &'static str,
    state: &'static str,
    since: Instant,
    /// The statement; its memory is used again for the next one.
    text: Vec<u8>,
}

/// A row of SHOW PROCESSLIST.
#[derive(Debug, Clone)]
pub struct ProcessRow {
    pub id: u32,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub command: &'static str,
    pub seconds: u64,
    pub elapsed_ms: f64,
    pub state: &'static str,
    pub info: Option<String>,
    pub transaction: Option<OpenTransaction>,
    pub foreign_key_checks: bool,
    pub unique_checks: bool,
}

impl Process {
    /// Another user or database, after login and COM_CHANGE_USER.
    pub fn set_user(&self, user: &str) {
        self.activity.lock().user = user.to_owned();
    }

    pub fn user(&self) -> String {
        self.activity.lock().user.clone()
    }

    pub fn set_attributes(&self, attributes: Vec<(String, String)>) {
        *self.attributes.lock() = attributes;
    }

    pub fn attributes(&self) -> Vec<(String, String)> {
        self.attributes.lock().clone()
    }

    /// A proxy said where the client is.
    pub fn set_host(&self, host: &str) {
        self.activity.lock().host = host.to_owned();
    }

    pub fn host(&self) -> String {
        self.activity.lock().host.clone()
    }

    pub fn set_database(&self, database: Option<&str>) {
        self.activity.lock().database = database.map(str::to_owned);
    }

    /// A command begins.
    #[inline]
    pub fn begin(&self, command: &'static str, text: &[u8]) {
        let mut activity = self.activity.lock();
        activity.command = command;
        activity.since = Instant::now();
        activity.text.clear();
        activity.text.extend_from_slice(&text[..text.len().min(TEXT_BYTES_MAX)]);
    }

    /// The command has been answered.
    #[inline]
    pub fn end(&self) {
        let mut activity = self.activity.lock();
        activity.command = "Sleep";
        activity.state = "";
        activity.since = Instant::now();
        activity.text.clear();
        if activity.text.capacity() > 1024 {
            activity.text.shrink_to(1024);
        }
    }

    /// What the command waits for or does.
    pub fn set_state(&self, state: &'static str) {
        self.activity.lock().state = state;
    }

    /// Whether it has entered the global read lock, and not left yet.
    #[inline]
    pub fn passing(&self, passage: Passage) -> &AtomicBool {
        match passage {
            Passage::Statement => &self.changing,
            Passage::Commit => &self.committing,
        }
    }

    /// The connection ends when the statement has been answered.
    pub fn leave(&self) {
        self.killed.store(true, Ordering::Relaxed);
    }

    /// The settings of the statement, for other sessions to see.
    #[inline]
    pub fn set_checks(&self, foreign_keys: bool, unique: bool) {
        self.checks[0].store(foreign_keys, Ordering::Relaxed);
        self.checks[1].store(unique, Ordering::Relaxed);
    }

    /// A transaction has begun to work.
    #[inline]
    pub fn begin_transaction(&self, isolation: Isolation, read_only: bool) {
        if self.trx_since_us.load(Ordering::Relaxed) == 0 {
            self.trx_isolation.store(isolation as u8, Ordering::Relaxed);
            self.trx_read_only.store(read_only, Ordering::Relaxed);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.trx_since_us.store(now.as_micros().max(1) as u64, Ordering::Relaxed);
        }
    }

    /// It has ended.
    #[inline]
    pub fn end_transaction(&self) {
        if self.trx_since_us.load(Ordering::Relaxed) != 0 {
            self.trx_since_us.store(0, Ordering::Relaxed);
        }
    }

    fn transaction(&self) -> Option<OpenTransaction> {
        let since_us = self.trx_since_us.load(Ordering::Relaxed);
        (since_us != 0).then(|| OpenTransaction {
            since_us,
            isolation: Isolation::of(self.trx_isolation.load(Ordering::Relaxed)),
            read_only: self.trx_read_only.load(Ordering::Relaxed),
        })
    }

    /// Whether the connection is to end.
    #[inline]
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// Registers a function that wakes the thread from its read.
    pub fn on_kill(&self, wake: Box<dyn Fn() + Send>) {
        *self.wake.lock() = Some(wake);
    }

    /// Ends the statement or the connection.
    pub fn kill(&self, what: Kill) {
        self.interrupt.set(what);
        if what == Kill::Connection {
            self.killed.store(true, Ordering::Relaxed);
            if let Some(wake) = &*self.wake.lock() {
                wake();
            }
        }
    }

    fn row(&self) -> ProcessRow {
        let activity = self.activity.lock();
        let elapsed = activity.since.elapsed();
        ProcessRow {
            id: self.id,
            user: activity.user.clone(),
            host: activity.host.clone(),
            database: activity.database.clone(),
            command: if self.is_killed() { "Killed" } else { activity.command },
            seconds: elapsed.as_secs(),
            elapsed_ms: elapsed.as_secs_f64() * 1000.0,
            state: match self.interrupt.stage() {
                Stage::Metadata => "Waiting for table metadata lock",
                Stage::GlobalReadLock => "Waiting for global read lock",
                Stage::Commit => "Waiting for commit lock",
                Stage::UserLock => "User lock",
                Stage::Row | Stage::AutoIncrement => waits_for_row(&activity.text),
                Stage::Runs => activity.state,
            },
            info: (!activity.text.is_empty()).then(|| String::from_utf8_lossy(&activity.text).into_owned()),
            transaction: self.transaction(),
            foreign_key_checks: self.checks[0].load(Ordering::Relaxed),
            unique_checks: self.checks[1].load(Ordering::Relaxed),
        }
    }
}

/// MySQL's state for a statement that waits for a row: what it was doing.
fn waits_for_row(statement: &[u8]) -> &'static str {
    let mut rest = statement.trim_ascii_start();
    while let Some(comment) = rest.strip_prefix(b"/*") {
        let end = comment.windows(2).position(|pair| pair == b"*/").map_or(comment.len(), |at| at + 2);
        rest = comment[end..].trim_ascii_start();
    }
    let word = rest.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    match word.to_ascii_uppercase().as_slice() {
        b"UPDATE" | b"DELETE" => "updating",
        b"INSERT" | b"REPLACE" => "update",
        _ => "executing",
    }
}

/// All connections of a server.
#[derive(Default)]
pub struct ProcessList {
    processes: RwLock<Vec<Arc<Process>>>,
    id_last: AtomicU32,
}

impl ProcessList {
    pub fn new() -> Self {
        Self::default()
    }

    /// A client has connected. It has no user before it has logged in.
    pub fn register(&self, host: &str) -> Arc<Process> {
        self.register_with(host, Interrupt::new())
    }

    /// The same. A test may have an interrupt that stops the statements where it wants them.
    pub fn register_with(&self, host: &str, interrupt: Interrupt) -> Arc<Process> {
        let process = Arc::new(Process {
            id: self.id_last.fetch_add(1, Ordering::Relaxed) + 1,
            interrupt: Arc::new(interrupt),
            killed: AtomicBool::new(false),
            activity: Mutex::new(Activity {
                user: "unauthenticated user".to_owned(),
                host: host.to_owned(),
                database: None,
                command: "Connect",
                state: "login",
                since: Instant::now(),
                text: Vec::new(),
            }),
            changing: AtomicBool::new(false),
            committing: AtomicBool::new(false),
            trx_since_us: AtomicU64::new(0),
            trx_isolation: AtomicU8::new(0),
            trx_read_only: AtomicBool::new(false),
            checks: [AtomicBool::new(true), AtomicBool::new(true)],
            attributes: Mutex::new(Vec::new()),
            wake: Mutex::new(None),
        });
        self.processes.write().push(process.clone());
        process
    }

    /// The client has left.
    pub fn remove(&self, process: &Process) {
        self.processes.write().retain(|other| other.id != process.id);
        *process.wake.lock() = None;
    }

    pub fn all(&self) -> Vec<Arc<Process>> {
        self.processes.read().clone()
    }

    pub fn len(&self) -> usize {
        self.processes.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Connections that execute a command.
    pub fn running(&self) -> usize {
        self.processes.read().iter().filter(|process| process.activity.lock().command != "Sleep").count()
    }

    pub fn list(&self) -> Vec<ProcessRow> {
        self.processes.read().iter().map(|process| process.row()).collect()
    }

    /// Whether any connection except `but` has entered the global read lock, and not left yet.
    pub fn is_passing(&self, passage: Passage, but: u32) -> bool {
        let processes = self.processes.read();
        processes.iter().any(|process| process.id != but && process.passing(passage).load(Ordering::SeqCst))
    }

    /// The connection with this id.
    pub fn find(&self, id: u64) -> Option<ProcessRow> {
        self.processes.read().iter().find(|process| u64::from(process.id) == id).map(|process| process.row())
    }

    /// KILL
    pub fn kill(&self, id: u64, what: Kill) -> Result<(), Error> {
        let found = self.processes.read().iter().find(|process| process.id as u64 == id).cloned();
        found.ok_or_else(|| Error::unknown_thread(id))?.kill(what);
        Ok(())
    }

    /// The server is closing: all connections are to end.
    pub fn kill_all(&self) {
        for process in self.processes.read().iter() {
            process.kill(Kill::Connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_seen_at_work_and_at_rest() {
        let list = ProcessList::new();
        let process = list.register("localhost");
        process.set_user("root");
        process.begin("Query", b"SELECT 1");
        let row = &list.list()[0];
        assert_eq!((row.id, row.user.as_str(), row.command), (1, "root", "Query"));
        assert_eq!(row.info.as_deref(), Some("SELECT 1"));
        assert_eq!(list.running(), 1);
        process.end();
        assert_eq!(list.list()[0].command, "Sleep");
        assert_eq!(list.list()[0].info, None);
        list.remove(&process);
        assert!(list.is_empty());
    }

    #[test]
    fn who_waits_for_a_row_says_what_for() {
        let list = ProcessList::new();
        let process = list.register("localhost");
        process.end();
        for (statement, state) in [
            ("update t set a = 1", "updating"),
            ("/* an id */ DELETE FROM t", "updating"),
            ("INSERT INTO t VALUES (1)", "update"),
            ("(SELECT 1 FROM t FOR UPDATE)", "executing"),
            ("/* without an end", "executing"),
        ] {
            process.begin("Query", statement.as_bytes());
            assert_eq!(list.list()[0].state, "");
            let _stage = process.interrupt.enter(Stage::Row);
            assert_eq!(list.list()[0].state, state, "{statement}");
        }
    }

    #[test]
    fn kill_wakes_the_connection_once_it_is_told_to_end() {
        let list = ProcessList::new();
        let process = list.register("localhost");
        let woken = Arc::new(AtomicBool::new(false));
        let flag = woken.clone();
        process.on_kill(Box::new(move || flag.store(true, Ordering::Relaxed)));
        list.kill(1, Kill::Query).unwrap();
        assert!(!woken.load(Ordering::Relaxed) && !process.is_killed());
        assert!(process.interrupt.is_set());
        list.kill(1, Kill::Connection).unwrap();
        assert!(woken.load(Ordering::Relaxed) && process.is_killed());
        assert_eq!(list.kill(2, Kill::Query).unwrap_err().code, 1094);
    }
}
