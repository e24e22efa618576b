//! Isolation levels seen from outside: scripts of interleaved sessions, and what each session gets to see.
//!
//! A script is a list of cases. A case is steps `SESSION: STATEMENT` on a table of two rows, sent in this order; a
//! session that waits for another keeps its further steps until it has its answer. The server reports whether a session
//! waits (INNODB_TRX), so the test does not guess from response times. The answers of two servers are compared:
//!
//! ```text
//! case G1a: an aborted write is not seen
//! T1: update test set value = 101 where id = 1        T1: update ...    -> ok 1
//! T2: select * from test                              T2: select ...    -> 1=10 2=20
//! T1: rollback                                        T1: rollback      -> ok
//! ```
//!
//! Every session begins a transaction of the level in question before the first step.

use std::collections::VecDeque;
use std::fmt::Write;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::{Answer, Client, Error};
use crate::process::{Kind, Options, Scratch, Server, mariadb_is_installed};

/// After this time without an answer, the server is asked whether the session waits.
const SOON: Duration = Duration::from_millis(15);
/// No session may be stuck for longer.
const STUCK: Duration = Duration::from_secs(30);

/// The four levels, and REPEATABLE READ with innodb_snapshot_isolation.
pub const LEVELS: [&str; 5] =
    ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "snapshot isolation", "SERIALIZABLE"];

/// The interleavings of the literature, and those that InnoDB documents.
pub const SCRIPT: &str = include_str!("../tests/isolation/anomalies.txt");

/// One interleaving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub name: String,
    /// What the literature calls it, and what should not happen.
    pub title: String,
    /// (session, statement), in order.
    pub steps: Vec<(String, String)>,
}

/// Reads a script. Lines that begin with `#` are comments.
pub fn parse(script: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    for (number, line) in script.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (head, rest) = line.split_once(':').ok_or_else(|| format!("line {}: no colon", number + 1))?;
        let rest = rest.trim().to_owned();
        match head.strip_prefix("case ") {
            Some(name) => cases.push(Case { name: name.into(), title: rest, steps: Vec::new() }),
            None => {
                let case = cases.last_mut().ok_or_else(|| format!("line {}: a step before a case", number + 1))?;
                case.steps.push((head.into(), rest));
            }
        }
    }
    Ok(cases)
}

/// The result of a case: of each step, in the script's order, and the rows at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    pub steps: Vec<String>,
    pub end: String,
}

/// The sessions that wait for a row, as the server reports.
pub struct Watch {
    client: Client,
    /// MariaDB refreshes INNODB_TRX only after 100 ms without a query.
    rest: Duration,
    looked: Option<Instant>,
    waiting: Vec<i64>,
}

impl Watch {
    pub fn new(server: &Server) -> Result<Mutex<Watch>, Error> {
        let rest = Duration::from_millis(if server.kind == Kind::MariaDb { 120 } else { 5 });
        Ok(Mutex::new(Watch { client: server.connect()?, rest, looked: None, waiting: Vec::new() }))
    }

    /// The connections that wait, as they were at some moment after `since`.
    fn waiting(&mut self, since: Instant) -> Result<&[i64], Error> {
        if self.looked.is_none_or(|looked| looked <= since) {
            if let Some(looked) = self.looked {
                thread::sleep(self.rest.saturating_sub(looked.elapsed()));
            }
            let look = "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
            let looked = Instant::now();
            let rows = self.client.query(look)?.rows;
            self.waiting = rows.iter().filter_map(|row| row[0].as_deref()?.parse().ok()).collect();
            self.looked = Some(looked);
        }
        Ok(&self.waiting)
    }
}

/// A connection that a thread of its own talks through.
struct Session {
    name: String,
    id: i64,
    statements: Sender<String>,
    thread: JoinHandle<()>,
    /// The step that it has no answer to.
    pending: Option<usize>,
    /// The script is over for it, and its transaction, too.
    dismissed: bool,
    /// Steps that it comes to when it has.
    kept: VecDeque<usize>,
}

type Reply = (usize, Result<Answer, Error>);

impl Session {
    fn open(
        server: &Server,
        name: &str,
        at: usize,
        setup: &[String],
        replies: Sender<Reply>,
    ) -> Result<Session, Error> {
        let mut client = server.connect()?;
        for statement in setup {
            client.query(statement)?;
        }
        let id = client.query("SELECT CONNECTION_ID()")?.number();
        client.query("BEGIN")?;
        let (statements, inbox) = mpsc::channel::<String>();
        let thread = thread::spawn(move || {
            for statement in inbox {
                if replies.send((at, client.query(&statement))).is_err() {
                    return;
                }
            }
        });
        Ok(Session {
            name: name.into(),
            id,
            statements,
            thread,
            pending: None,
            dismissed: false,
            kept: VecDeque::new(),
        })
    }
}

/// Plays a case on a server at a level, in a database of its own.
pub fn play(server: &Server, watch: &Mutex<Watch>, case: &Case, level: &str, database: &str) -> Result<Played, Error> {
    let mut admin = server.connect()?;
    prepare(&mut admin, database)?;
    let snapshot = level == "snapshot isolation";
    let setup = [
        "SET SESSION innodb_lock_wait_timeout = 20".to_owned(),
        format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", if snapshot { "REPEATABLE READ" } else { level }),
        format!("SET SESSION innodb_snapshot_isolation = {}", if snapshot { "ON" } else { "OFF" }),
        format!("USE {database}"),
    ];
    let (sender, replies) = mpsc::channel();
    let outcomes = case.steps.iter().map(|_| String::new()).collect();
    let mut stage = Stage { watch, sessions: Vec::new(), replies, case, outcomes, released: false };
    for (name, _) in &case.steps {
        if stage.sessions.iter().all(|session| session.name != *name) {
            let session = Session::open(server, name, stage.sessions.len(), &setup, sender.clone())?;
            stage.sessions.push(session);
        }
    }
    for step in 0..case.steps.len() {
        stage.step(step)?;
        stage.go_on()?;
    }
    let deadline = Instant::now() + STUCK;
    while stage.sessions.iter().any(|session| session.pending.is_some()) && Instant::now() < deadline {
        stage.dismiss();
        stage.listen(SOON);
        stage.go_on()?;
    }
    let outcomes = stage.close();
    let rows = admin.query(&format!("SELECT id, value FROM {database}.test ORDER BY id"))?;
    Ok(Played { steps: outcomes, end: show(&Ok(rows)) })
}

/// The table that the cases are about: two rows.
fn prepare(admin: &mut Client, database: &str) -> Result<(), Error> {
    for statement in [
        &format!("CREATE DATABASE IF NOT EXISTS {database}")[..],
        &format!("DROP TABLE IF EXISTS {database}.test"),
        &format!("CREATE TABLE {database}.test (id INT PRIMARY KEY, value INT) ENGINE=InnoDB"),
        &format!("INSERT INTO {database}.test VALUES (1, 10), (2, 20)"),
    ] {
        admin.query(statement)?;
    }
    Ok(())
}

struct Stage<'c> {
    watch: &'c Mutex<Watch>,
    sessions: Vec<Session>,
    replies: Receiver<Reply>,
    case: &'c Case,
    /// Of each step.
    outcomes: Vec<String>,
    /// Locks may have been released since the last look.
    released: bool,
}

impl Stage<'_> {
    /// Sends a step, or keeps it for later. Returns when the step is answered or waits.
    fn step(&mut self, step: usize) -> Result<(), Error> {
        let (name, statement) = &self.case.steps[step];
        let at = self.sessions.iter().position(|session| session.name == *name).expect("opened for its steps");
        let session = &mut self.sessions[at];
        if session.pending.is_some() || session.kept.front().is_some_and(|kept| *kept != step) {
            session.kept.push_back(step);
            return Ok(());
        }
        session.kept.retain(|kept| *kept != step);
        session.pending = Some(step);
        if session.statements.send(statement.clone()).is_err() {
            return Ok(());
        }
        let mut since = Instant::now();
        let deadline = since + STUCK;
        while self.sessions[at].pending == Some(step) && Instant::now() < deadline {
            if !self.listen(SOON) && self.all_wait(&[at], since)? {
                self.outcomes[step] = "waits".into();
                break;
            }
            since = Instant::now();
        }
        let ends = ["commit", "rollback"].iter().any(|word| statement.eq_ignore_ascii_case(word));
        self.released |= ends;
        self.settle()
    }

    /// Receives the answers of sessions that the last step may have unblocked.
    fn settle(&mut self) -> Result<(), Error> {
        let is_pending = |stage: &Self| stage.sessions.iter().any(|session| session.pending.is_some());
        while is_pending(self) && self.listen(SOON) {}
        let mut since = Instant::now();
        let deadline = since + STUCK;
        while self.released && is_pending(self) && Instant::now() < deadline {
            self.released = self.listen(SOON);
            let pending = |at: &usize| self.sessions[*at].pending.is_some();
            let pending: Vec<usize> = (0..self.sessions.len()).filter(pending).collect();
            self.released |= !self.all_wait(&pending, since)?;
            since = Instant::now();
        }
        self.released = false;
        Ok(())
    }

    /// Sends kept steps of sessions that have their answer.
    fn go_on(&mut self) -> Result<(), Error> {
        loop {
            let free = |session: &Session| session.pending.is_none().then(|| session.kept.front().copied()).flatten();
            let Some(step) = self.sessions.iter().filter_map(free).min() else { return Ok(()) };
            self.step(step)?;
        }
    }

    /// A session without further steps ends its transaction, so that its waiters can finish.
    fn dismiss(&mut self) {
        for session in &mut self.sessions {
            if session.pending.is_none() && session.kept.is_empty() && !session.dismissed {
                session.dismissed = true;
                let _ = session.statements.send("ROLLBACK".into()); // A session that is gone has nothing to end.
            }
        }
    }

    /// Whether all of these sessions waited for rows at some moment after `since`.
    fn all_wait(&self, sessions: &[usize], since: Instant) -> Result<bool, Error> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = watch.waiting(since)?;
        Ok(sessions.iter().all(|at| waiting.contains(&self.sessions[*at].id)))
    }

    /// Takes one answer. False = none came in time.
    fn listen(&mut self, limit: Duration) -> bool {
        let Ok((at, answer)) = self.replies.recv_timeout(limit) else { return false };
        if let Some(step) = self.sessions[at].pending.take() {
            // A rollback releases waiters.
            self.released |= answer.is_err();
            let outcome = &mut self.outcomes[step];
            *outcome = match outcome.is_empty() {
                true => show(&answer),
                false => format!("waits, then {}", show(&answer)),
            };
        }
        true
    }

    fn close(mut self) -> Vec<String> {
        // Sessions that do not wait release those that still do.
        self.sessions.sort_by_key(|session| session.pending.is_some());
        for session in self.sessions {
            let _ = session.statements.send("ROLLBACK".into());
            drop(session.statements);
            let _ = session.thread.join();
        }
        self.outcomes
    }
}

fn show(answer: &Result<Answer, Error>) -> String {
    match answer {
        Err(Error::Server { code, .. }) => format!("error {code}"),
        Err(Error::Io(_)) => "connection lost".into(),
        Ok(answer) if answer.columns.is_empty() => match answer.affected {
            0 => "ok".into(),
            rows => format!("ok {rows}"),
        },
        Ok(answer) if answer.rows.is_empty() => "nothing".into(),
        Ok(answer) => {
            let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".into());
            let rows = answer.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join("="));
            rows.collect::<Vec<_>>().join(" ")
        }
    }
}

/// A case at each level.
pub struct Row {
    pub case: Case,
    pub ours: Vec<Played>,
    /// Without MariaDB there is nothing to compare with.
    pub theirs: Option<Vec<Played>>,
}

/// Plays all cases at all levels, every level on both servers at the same time.
pub fn play_all() -> io::Result<Vec<Row>> {
    let scratch = Scratch::new("isolation")?;
    let options = Options::default();
    let ours = Server::create(Kind::Glassine, &scratch.0.join("glassine"), &options)?;
    let theirs = match mariadb_is_installed() {
        true => Some(Server::create(Kind::MariaDb, &scratch.0.join("mariadb"), &options)?),
        false => None,
    };
    let cases = parse(SCRIPT).map_err(io::Error::other)?;
    let all = |(server, watch): (&Server, &Mutex<Watch>), level: usize| -> Result<Vec<Played>, Error> {
        let database = format!("isolation{level}");
        cases.iter().map(|case| play(server, watch, case, LEVELS[level], &database)).collect()
    };
    let our_watch = Watch::new(&ours).map_err(io::Error::other)?;
    let their_watch = theirs.as_ref().map(Watch::new).transpose().map_err(io::Error::other)?;
    type Columns = Result<Vec<Vec<Played>>, Error>;
    let (left, right): (Columns, Option<Columns>) = thread::scope(|scope| {
        let ours = (&ours, &our_watch);
        let all = &all;
        let left: Vec<_> = (0..LEVELS.len()).map(|level| scope.spawn(move || all(ours, level))).collect();
        let right: Option<Vec<_>> = theirs
            .as_ref()
            .zip(their_watch.as_ref())
            .map(|theirs| (0..LEVELS.len()).map(|level| scope.spawn(move || all(theirs, level))).collect());
        let join = |threads: Vec<thread::ScopedJoinHandle<'_, Result<Vec<Played>, Error>>>| -> Columns {
            threads.into_iter().map(|thread| thread.join().expect("a player does not panic")).collect()
        };
        (join(left), right.map(join))
    });
    let left = left.map_err(io::Error::other)?;
    let right = right.transpose().map_err(io::Error::other)?;
    drop((our_watch, their_watch));
    ours.stop()?;
    if let Some(theirs) = theirs {
        theirs.stop()?;
    }
    let column = |columns: &[Vec<Played>], at: usize| columns.iter().map(|column| column[at].clone()).collect();
    let row = |(at, case)| Row { case, ours: column(&left, at), theirs: right.as_ref().map(|right| column(right, at)) };
    Ok(cases.clone().into_iter().enumerate().map(row).collect())
}

/// The cases as tables in Markdown: a line for each step, a column for each level; where MariaDB answers otherwise,
/// that too.
pub fn markdown(rows: &[Row]) -> String {
    let mut out = String::new();
    for row in rows {
        let mut line = |cells: Vec<String>| writeln!(out, "| {} |", cells.join(" | ")).expect("a string takes all");
        line(
            vec![format!("**{}**: {}", row.case.name, row.case.title)]
                .into_iter()
                .chain(LEVELS.map(str::to_lowercase))
                .collect(),
        );
        line(vec!["---".into(); 1 + LEVELS.len()]);
        let cell = |level: usize, of: &dyn Fn(&Played) -> String| {
            let ours = of(&row.ours[level]);
            match row.theirs.as_ref().map(|theirs| of(&theirs[level])) {
                Some(theirs) if theirs != ours => format!("{ours} (MariaDB: {theirs})"),
                _ => ours,
            }
        };
        for (at, (session, statement)) in row.case.steps.iter().enumerate() {
            let mut cells = vec![format!("{session}: `{statement}`")];
            cells.extend((0..LEVELS.len()).map(|level| cell(level, &|played| played.steps[at].clone())));
            line(cells);
        }
        let mut cells = vec!["at the end".to_owned()];
        cells.extend((0..LEVELS.len()).map(|level| cell(level, &|played| played.end.clone())));
        line(cells);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_cases_of_steps() {
        let cases = parse("# a comment\ncase G0: dirty writes\nT1: select 1\nT2: select 'a:b'\n").unwrap();
        assert_eq!(cases.len(), 1);
        assert_eq!(cases[0].name, "G0");
        assert_eq!(cases[0].steps[1], ("T2".to_owned(), "select 'a:b'".to_owned()));
        assert!(parse("T1: select 1").is_err() && parse("nonsense").is_err());
    }

    #[test]
    fn a_difference_is_shown_beside_the_answer() {
        let case = parse("case G0: dirty writes\nT1: select 1\n").unwrap().remove(0);
        let played = |step: &str| Played { steps: vec![step.into()], end: "1=10".into() };
        let theirs = vec![played("1"), played("waits, then 1"), played("1"), played("1"), played("1")];
        let text = markdown(&[Row { case, ours: vec![played("1"); 5], theirs: Some(theirs) }]);
        assert!(text.contains("| T1: `select 1` | 1 | 1 (MariaDB: waits, then 1) | 1 | 1 | 1 |"), "{text}");
    }
}
