//! Isolation levels seen from outside: scripts of interleaved sessions, and what each session gets to see.
//!
//! A script is a list of cases. A case is a table's rows and steps `SESSION: STATEMENT`, which are sent in this order;
//! a statement that does not answer soon is taken to wait, and the script goes on with the others. What came back, and
//! when, is the transcript, by which two servers are compared:
//!
//! ```text
//! case G1a: an aborted write is not seen
//! T1: update test set value = 101 where id = 1        T1: update ...    -> ok 1
//! T2: select * from test                              T2: select ...    -> 1=10 2=20
//! T1: rollback                                        T1: rollback      -> ok
//! ```
//!
//! Every session begins a transaction of the level in question before the first step.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::{Answer, Client, Error};
use crate::process::Server;

/// A statement without an answer for so long waits for another session.
const WAITS: Duration = Duration::from_millis(400);
/// Those who were waiting answer within this time if a step has let them go on.
const WAKES: Duration = Duration::from_millis(120);
/// Nobody may be stuck for longer.
const STUCK: Duration = Duration::from_secs(30);

pub const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

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

/// A connection that a thread of its own talks through.
struct Session {
    name: String,
    statements: Sender<String>,
    thread: JoinHandle<()>,
    /// What it waits for an answer to.
    pending: Option<String>,
}

type Reply = (String, Result<Answer, Error>);

impl Session {
    fn open(server: &Server, name: &str, replies: Sender<Reply>) -> Result<Session, Error> {
        let mut client = server.connect()?;
        client.query("SET SESSION innodb_lock_wait_timeout = 20")?;
        let (statements, inbox) = mpsc::channel::<String>();
        let of = name.to_owned();
        let thread = thread::spawn(move || {
            for statement in inbox {
                let answer = client.query(&statement);
                if replies.send((of.clone(), answer)).is_err() {
                    return;
                }
            }
        });
        Ok(Session { name: name.into(), statements, thread, pending: None })
    }
}

/// Plays a case on a server at a level. The answer is the transcript.
pub fn play(server: &Server, case: &Case, level: &str, setup: &[&str]) -> Result<Vec<String>, Error> {
    let mut admin = server.connect()?;
    prepare(&mut admin)?;
    let (sender, replies) = mpsc::channel();
    let mut stage = Stage { sessions: Vec::new(), replies, heard: Vec::new(), transcript: Vec::new() };
    for (name, _) in &case.steps {
        if stage.sessions.iter().all(|session| session.name != *name) {
            stage.sessions.push(Session::open(server, name, sender.clone())?);
        }
    }
    let begin = [&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"), "BEGIN"];
    for at in 0..stage.sessions.len() {
        for statement in setup.iter().copied().chain(begin.iter().map(|statement| &**statement)) {
            stage.say(at, statement, false);
        }
    }
    for (name, statement) in &case.steps {
        let at = stage.sessions.iter().position(|session| session.name == *name).expect("opened above");
        stage.say(at, statement, true);
    }
    stage.close();
    let rows = admin.query("SELECT id, value FROM isolation.test ORDER BY id")?;
    stage.transcript.push(format!("at the end: {}", show(&Ok(rows))));
    Ok(stage.transcript)
}

/// The table that the cases are about: two rows.
fn prepare(admin: &mut Client) -> Result<(), Error> {
    for statement in [
        "CREATE DATABASE IF NOT EXISTS isolation",
        "CREATE TABLE IF NOT EXISTS isolation.test (id INT PRIMARY KEY, value INT) ENGINE=InnoDB",
        "TRUNCATE TABLE isolation.test",
        "INSERT INTO isolation.test VALUES (1, 10), (2, 20)",
    ] {
        admin.query(statement)?;
    }
    Ok(())
}

struct Stage {
    sessions: Vec<Session>,
    replies: Receiver<Reply>,
    /// Since the last step.
    heard: Vec<String>,
    transcript: Vec<String>,
}

impl Stage {
    /// Sends a statement and notes what comes of it: the answer, or that it waits.
    fn say(&mut self, at: usize, statement: &str, noted: bool) {
        // Whoever waits has to get his answer before he can go on.
        let deadline = Instant::now() + STUCK;
        while self.sessions[at].pending.is_some() && Instant::now() < deadline {
            self.listen(WAKES);
        }
        let session = &mut self.sessions[at];
        let statement =
            statement.replace("FROM test", "FROM isolation.test").replace("from test", "from isolation.test");
        let statement =
            statement.replace("update test", "update isolation.test").replace("into test", "into isolation.test");
        session.pending = Some(if noted { statement.clone() } else { String::new() });
        if session.statements.send(statement.clone()).is_err() {
            return;
        }
        let deadline = Instant::now() + WAITS;
        while self.sessions[at].pending.is_some() && Instant::now() < deadline {
            self.listen(deadline.saturating_duration_since(Instant::now()));
        }
        // Others may go on because of this.
        while self.sessions.iter().any(|session| session.pending.is_some()) && self.listen(WAKES) {}
        if self.sessions[at].pending.is_some() && noted {
            self.heard.push(format!("{}: {} -> waits", self.sessions[at].name, shown(&statement)));
        }
        // Whose answer arrives first is chance.
        self.heard.sort();
        self.transcript.append(&mut self.heard);
    }

    /// Takes one answer. False = none came in time.
    fn listen(&mut self, limit: Duration) -> bool {
        let Ok((name, answer)) = self.replies.recv_timeout(limit) else { return false };
        let session = self.sessions.iter_mut().find(|session| session.name == name).expect("only they answer");
        let statement = session.pending.take().unwrap_or_default();
        if !statement.is_empty() {
            self.heard.push(format!("{name}: {} -> {}", shown(&statement), show(&answer)));
        }
        true
    }

    fn close(&mut self) {
        for at in 0..self.sessions.len() {
            self.say(at, "ROLLBACK", false);
        }
        for session in self.sessions.drain(..) {
            drop(session.statements);
            let _ = session.thread.join();
        }
    }
}

fn shown(statement: &str) -> String {
    statement.replace("isolation.test", "test")
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
}
