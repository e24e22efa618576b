//! One stream, statement by statement, on both servers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::apart::{Apart, Cause, key};
use super::compare::{Depth, Kind, Reply, difference};
use super::known::Known;
use super::pair::{Pair, Side};
use super::rules::{MISSING, Rewriting, depth, left_out};
use super::statement::{Changes, Statement, TableName};
use super::stream::Event;
use super::tally::{Difference, Slow, Tally, shortened, show};
use crate::client::{Bound, Client, Ending, Error, Login};

/// Rows of one answer that are compared; the rest is counted.
const ROWS_MAX: usize = 50_000;
/// Packets of all answers to one statement, rows and columns alike; one that has more is killed on that side.
const PACKETS_MAX: u64 = 400_000;
/// A table that is larger is not looked into when answers differ.
const TABLE_ROWS_MAX: usize = 20_000;
/// A database of more tables is not looked through.
const TABLES_MAX: usize = 100;
/// Statements of a stream after which a server may end before the stream is given up.
const DEATHS_MAX: usize = 8;
/// Until a statement that waits for another connection has got to where it waits.
const BEFORE_OTHERS: Duration = Duration::from_millis(20);
/// Glassine may take this many times as long as MariaDB ...
const SLOW_RATIO: u32 = 20;
/// ... unless it is this quick.
const SLOW_LEAST: Duration = Duration::from_millis(40);
const CHANGES_KEPT: usize = 4;
/// What Glassine answers when a command panicked, before it closes the connection.
const PANICKED: &str = "the command failed unexpectedly";

/// What all streams of a run share.
pub struct Setting<'a> {
    pub known: &'a Known,
    /// How long one statement may take.
    pub patience: Duration,
}

/// Plays a stream to its end. Where a server ends on the way, both are started anew and the stream is played again
/// without the statement that did it.
pub fn play(setting: &Setting<'_>, pair: &mut Pair, name: &str, events: &[Event]) -> io::Result<Tally> {
    let mut without = HashSet::new();
    let mut deaths = Vec::new();
    loop {
        pair.reset()?;
        let mut player = Player::new(setting, pair, name, events);
        match player.play(&without) {
            Ok(()) => {
                let mut tally = player.tally;
                tally.differences.extend(deaths);
                return Ok(tally);
            }
            Err(Stop { event, difference }) => {
                let mut tally = std::mem::take(&mut player.tally);
                deaths.extend(difference.map(|difference| *difference));
                pair.ours.restart()?;
                pair.peer.restart()?;
                if !without.insert(event) || without.len() >= DEATHS_MAX {
                    tally.differences.extend(deaths);
                    return Ok(tally);
                }
            }
        }
    }
}

/// The stream cannot go on: a server is gone, or does not finish a statement.
struct Stop {
    event: usize,
    /// Nothing if it is MariaDB that ended.
    difference: Option<Box<Difference>>,
}

/// One connection on both sides.
struct Session {
    ours: Client,
    peer: Client,
    database: String,
    waiting: Option<(usize, Vec<u8>)>,
}

/// What came of waiting for a reply.
enum Outcome {
    Reply(Reply, Duration),
    /// The statement was killed after it had taken too long or too much.
    Hang,
    /// Not even that helped, or the connection is gone.
    Gone(String),
}

struct Player<'a> {
    setting: &'a Setting<'a>,
    pair: &'a mut Pair,
    name: &'a str,
    events: &'a [Event],
    sessions: HashMap<u32, Session>,
    apart: Apart,
    rewriting: Rewriting,
    directories: (String, String),
    /// The last statements that changed each table, for the report.
    changes: BTreeMap<(String, String), VecDeque<String>>,
    tally: Tally,
}

impl<'a> Player<'a> {
    fn new(setting: &'a Setting<'a>, pair: &'a mut Pair, name: &'a str, events: &'a [Event]) -> Player<'a> {
        let directories = (pair.ours.var.display().to_string(), pair.peer.var.display().to_string());
        Player {
            setting,
            pair,
            name,
            events,
            sessions: HashMap::new(),
            apart: Apart::default(),
            rewriting: Rewriting::default(),
            directories,
            changes: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    fn play(&mut self, without: &HashSet<usize>) -> Result<(), Stop> {
        let events = self.events;
        for (at, event) in events.iter().enumerate() {
            match event {
                Event::Open { connection, collation, database } => {
                    self.sessions.remove(connection);
                    // A connection that one of them refuses is left out on both.
                    if let Ok(session) = self.open(*collation, database) {
                        self.sessions.insert(*connection, session);
                    }
                }
                Event::Close { connection } => {
                    self.sessions.remove(connection);
                }
                Event::Statement { connection, text } => {
                    self.tally.statements += 1;
                    let Some(mut session) = self.sessions.remove(connection) else {
                        *self.tally.left_out.entry("its connection was not made").or_default() += 1;
                        continue;
                    };
                    let result = if self.recorded(at).is_none() {
                        // The connection had ended before: COMMIT RELEASE, KILL.
                        *self.tally.left_out.entry("was never answered").or_default() += 1;
                        Ok(())
                    } else if without.contains(&at) {
                        *self.tally.left_out.entry("ended a server before").or_default() += 1;
                        let statement = Statement::new(&String::from_utf8_lossy(text));
                        let cause = self.cause(at, &statement, &session.database);
                        self.apart.set_apart(&statement.changes(), &session.database, &cause);
                        Ok(())
                    } else {
                        self.statement(at, &mut session, text)
                    };
                    self.sessions.insert(*connection, session);
                    result?;
                }
                Event::Answer { connection, .. } => {
                    let Some(mut session) = self.sessions.remove(connection) else { continue };
                    let result = match session.waiting.take() {
                        Some((sent, text)) => self.collect(sent, &mut session, &text),
                        None => Ok(()),
                    };
                    self.sessions.insert(*connection, session);
                    result?;
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, collation: u8, database: &str) -> Result<Session, Error> {
        let database = if database.is_empty() { "test" } else { database };
        let link = |side: &Side| -> Result<Client, Error> {
            let login = Login {
                database: Some(database),
                collation,
                several_statements: true,
                rows_max: ROWS_MAX,
                ..Login::default()
            };
            let mut client = Client::log_in(&side.socket(), &login)?;
            // Both clocks stand still, at the same time of the same day.
            client.query("SET timestamp = 1700000000")?;
            Ok(client)
        };
        let (ours, peer) = (link(&self.pair.ours)?, link(&self.pair.peer)?);
        Ok(Session { ours, peer, database: database.to_string(), waiting: None })
    }

    /// The code that MariaDB answered when the stream was recorded.
    fn recorded(&self, at: usize) -> Option<u16> {
        let connection = self.events[at].connection();
        self.events[at + 1..].iter().find_map(|event| match event {
            Event::Answer { connection: other, code } if *other == connection => Some(*code),
            _ => None,
        })
    }

    fn statement(&mut self, at: usize, session: &mut Session, text: &[u8]) -> Result<(), Stop> {
        let statement = Statement::new(&String::from_utf8_lossy(text));
        if let Some(reason) = left_out(&statement, &session.database) {
            *self.tally.left_out.entry(reason).or_default() += 1;
            return Ok(());
        }
        let mine = self.rewriting.apply(text, &self.directories.0);
        let theirs = self.rewriting.apply(text, &self.directories.1);
        let alone = matches!(self.events.get(at + 1), Some(Event::Answer { connection, .. })
            if *connection == self.events[at].connection());
        if !alone {
            let sent = session.ours.send(&mine).and_then(|()| session.peer.send(&theirs));
            if let Err(error) = sent {
                return Err(self.lost(at, text, &error.to_string()));
            }
            session.waiting = Some((at, text.to_vec()));
            thread::sleep(BEFORE_OTHERS);
            return Ok(());
        }
        if statement.calls_rand() {
            let seed = format!("SET rand_seed1 = {}, rand_seed2 = {}", at + 1, at + 2);
            for client in [&mut session.ours, &mut session.peer] {
                let _ = self.ask(client, seed.as_bytes()); // Without it the statement differs, and is told.
            }
        }
        if let Err(error) = session.ours.send(&mine) {
            return Err(self.lost(at, text, &error.to_string()));
        }
        let ours = self.wait(&mut session.ours);
        if let Outcome::Reply(Err(error), _) = &ours
            && error.code().is_some_and(|code| MISSING.contains(&code))
            && let Some(recorded) = self.recorded(at)
        {
            self.missing(at, session, &statement, text, error, recorded);
            return Ok(());
        }
        if let Outcome::Gone(why) = &ours {
            return Err(self.lost(at, text, why));
        }
        if let Err(error) = session.peer.send(&theirs) {
            return Err(self.peer_lost(at, &error.to_string()));
        }
        let peer = self.wait(&mut session.peer);
        self.judge(at, session, &statement, text, ours, peer)
    }

    /// Reads the answers of a statement that was sent before others.
    fn collect(&mut self, sent: usize, session: &mut Session, text: &[u8]) -> Result<(), Stop> {
        let statement = Statement::new(&String::from_utf8_lossy(text));
        let ours = self.wait(&mut session.ours);
        let peer = self.wait(&mut session.peer);
        self.judge(sent, session, &statement, text, ours, peer)
    }

    fn wait(&self, client: &mut Client) -> Outcome {
        let start = Instant::now();
        match client.receive_within(self.bound()) {
            Ending::Killed => Outcome::Hang,
            Ending::Gone(why) => Outcome::Gone(why),
            // The last words of a connection whose command panicked.
            Ending::Refused(Error::Server { message, .. }) if message.contains(PANICKED) => Outcome::Gone(message),
            Ending::Refused(error) => Outcome::Reply(Err(error), start.elapsed()),
            Ending::Answered(answers) => Outcome::Reply(Ok(answers), start.elapsed()),
        }
    }

    fn bound(&self) -> Bound {
        Bound { patience: self.setting.patience, packets: PACKETS_MAX }
    }

    /// What a server says to a question that is not the stream's. One that it does not finish has no answer.
    fn ask(&self, client: &mut Client, question: &[u8]) -> Option<Reply> {
        client.send(question).ok()?;
        match client.receive_within(self.bound()) {
            Ending::Answered(answers) => Some(Ok(answers)),
            Ending::Refused(error) => Some(Err(error)),
            Ending::Killed | Ending::Gone(_) => None,
        }
    }

    fn lost(&mut self, at: usize, text: &[u8], why: &str) -> Stop {
        thread::sleep(Duration::from_millis(100)); // Until a process that dies is dead.
        let state = if self.pair.ours.is_running() { "the connection is gone" } else { "the server ended" };
        let difference = Difference {
            kind: if why.contains("KILL") { Kind::Hang } else { Kind::Died },
            stream: self.name.into(),
            event: at,
            statement: String::from_utf8_lossy(text).into_owned(),
            ours: format!("{state}: {why}"),
            peer: String::new(),
            note: self.pair.ours.log_tail(),
        };
        Stop { event: at, difference: Some(Box::new(difference)) }
    }

    fn peer_lost(&mut self, at: usize, why: &str) -> Stop {
        eprintln!("{}: MariaDB ended at {at}: {why}", self.name);
        Stop { event: at, difference: None }
    }

    /// Glassine has no such thing. MariaDB was not asked, so both are as before; names that would have been made
    /// are missing on both.
    fn missing(
        &mut self,
        at: usize,
        session: &mut Session,
        statement: &Statement,
        text: &[u8],
        error: &Error,
        recorded: u16,
    ) {
        if let Some(cause) = self.apart.touches(statement, &session.database).cloned() {
            self.leave_apart(&cause);
            return;
        }
        if recorded != 0 {
            self.tally.same += 1; // Whatever the reason: neither carries it out.
            return;
        }
        if matches!(statement.verb.as_str(), "create" | "rename" | "alter" | "call") {
            let cause = self.cause(at, statement, &session.database);
            self.part(session, &statement.changes(), &cause);
        }
        if error.code() == Some(1235) {
            *self.tally.missing.entry(feature(error)).or_default() += 1;
            return;
        }
        let ours = show(&Err(clone(error)));
        self.report(Kind::Refused, at, text, ours, "accepted when it was recorded".into(), String::new());
    }

    fn judge(
        &mut self,
        at: usize,
        session: &mut Session,
        statement: &Statement,
        text: &[u8],
        ours: Outcome,
        peer: Outcome,
    ) -> Result<(), Stop> {
        let changes = statement.changes();
        let database = session.database.clone();
        let cause = self.cause(at, statement, &database);
        let (ours, peer) = match (ours, peer) {
            (Outcome::Gone(why), _) => return Err(self.lost(at, text, &why)),
            (_, Outcome::Gone(why)) => return Err(self.peer_lost(at, &why)),
            (Outcome::Hang, Outcome::Hang) => {
                self.part(session, &changes, &cause);
                *self.tally.undecided.entry("takes both servers too long").or_default() += 1;
                return Ok(());
            }
            (Outcome::Hang, Outcome::Reply(peer, _)) => {
                self.part(session, &changes, &cause);
                self.report(Kind::Hang, at, text, "killed".into(), show(&peer), String::new());
                return Ok(());
            }
            (Outcome::Reply(_, _), Outcome::Hang) => {
                self.part(session, &changes, &cause);
                *self.tally.undecided.entry("takes MariaDB too long").or_default() += 1;
                return Ok(());
            }
            (Outcome::Reply(ours, our_time), Outcome::Reply(peer, peer_time)) => {
                if our_time > SLOW_LEAST && our_time > peer_time * SLOW_RATIO {
                    let statement = String::from_utf8_lossy(text).into_owned();
                    self.tally.slow.push(Slow { stream: self.name.into(), statement, ours: our_time, peer: peer_time });
                }
                (ours, peer)
            }
        };
        if statement.verb == "use" && ours.is_ok() && peer.is_ok() {
            session.database = used(statement);
        }
        let touches = self.apart.touches(statement, &database).is_some();
        let success = depth(statement);
        let kind = difference(&ours, &peer, statement, success);
        let parted =
            ours.is_ok() != peer.is_ok() || kind.is_some_and(|kind| matches!(kind, Kind::Rows | Kind::Affected));
        // MySQL drops all of several tables or none; MariaDB those that there are.
        let drops_some = statement.verb == "drop"
            && [&ours, &peer].iter().all(|reply| reply.as_ref().is_err_and(|error| error.code() == Some(1051)));
        if parted || drops_some {
            self.part(session, &changes, &cause);
        } else if ours.is_ok() {
            let is_undecided = statement.is_undecided() || (statement.has_limit() && !statement.has("order"));
            if is_undecided && !touches {
                self.part(session, &changes, &cause);
            }
            self.apart.agreed(statement, &database);
        }
        if touches {
            self.leave_apart(&cause);
            return Ok(());
        }
        self.remember(&changes, &database, text);
        let Some(kind) = kind else {
            self.tally.same += 1;
            return Ok(());
        };
        let mut note = String::new();
        if matches!(kind, Kind::Rows | Kind::Affected | Kind::Order) && success == Depth::Everything {
            if let Some(reason) = self.choice(session, statement, text, &ours, &peer) {
                *self.tally.undecided.entry(reason).or_default() += 1;
                return Ok(());
            }
            note = self.parted_tables(session, statement, &cause);
        }
        self.report(kind, at, text, show(&ours), show(&peer), note);
        Ok(())
    }

    /// By what a statement sets its tables apart: by what parted those that it reads, or by itself.
    fn cause(&self, at: usize, statement: &Statement, database: &str) -> Cause {
        if let Some(cause) = self.apart.touches(statement, database) {
            return Cause::clone(cause);
        }
        let Some(Event::Statement { text, .. }) = self.events.get(at) else { return "".into() };
        format!("{} at {at}: {}", self.name, shortened(&String::from_utf8_lossy(text), 200)).into()
    }

    /// The statement names what is set apart: it is counted only.
    fn leave_apart(&mut self, cause: &Cause) {
        self.tally.apart += 1;
        *self.tally.apart_since.entry(cause.to_string()).or_default() += 1;
    }

    /// Why both answers may be right.
    fn choice(
        &self,
        session: &mut Session,
        statement: &Statement,
        text: &[u8],
        ours: &Reply,
        peer: &Reply,
    ) -> Option<&'static str> {
        let rows =
            |reply: &Reply| reply.as_ref().map_or(0, |answers| answers.iter().map(|answer| answer.rows.len()).sum());
        if statement.has_limit() && rows(ours) == rows(peer) {
            return Some("LIMIT cuts among rows of no certain order");
        }
        if !matches!(statement.verb.as_str(), "select" | "with" | "insert" | "replace" | "create" | "update" | "delete")
        {
            return None;
        }
        let (Some(start), true) = (text.iter().position(u8::is_ascii_alphabetic), statement.has("select")) else {
            return None;
        };
        if statement.verb != "select" || start != 0 {
            return None;
        }
        let strict = b"SET STATEMENT sql_mode = CONCAT(@@sql_mode, ',ONLY_FULL_GROUP_BY') FOR ";
        let strict = [&strict[..], &self.rewriting.apply(text, &self.directories.1)].concat();
        match self.ask(&mut session.peer, &strict)? {
            Err(error) if matches!(error.code(), Some(1055 | 1140 | 1463)) => {
                Some("columns that GROUP BY does not decide")
            }
            _ => None,
        }
    }

    /// A statement went another way on each side: sets apart what differs since. Its own tables say too little, because
    /// views, triggers and foreign keys change others; so all of the database are looked at. What a changed definition
    /// means for later statements is not seen in rows.
    fn part(&mut self, session: &mut Session, changes: &Changes, cause: &Cause) {
        let named = match changes {
            Changes::Rows(tables) => tables.clone(),
            Changes::Anything => Vec::new(),
            Changes::Nothing | Changes::Definition(_) | Changes::Database(_) => {
                self.apart.set_apart(changes, &session.database, cause);
                return;
            }
        };
        let mut names = self.tables_of_database(session);
        if names.len() > TABLES_MAX {
            self.apart.set_apart(changes, &session.database, cause);
            return;
        }
        names.extend(named);
        let agreed = |name: &TableName| !self.apart.has(name, &session.database);
        let names: Vec<TableName> = names.into_iter().filter(agreed).collect();
        self.set_apart_what_differs(session, &names, cause);
    }

    /// What either side has in the session's database.
    fn tables_of_database(&self, session: &mut Session) -> BTreeSet<TableName> {
        let question = format!("SHOW TABLES FROM `{}`", session.database.replace('`', "``"));
        let ours = self.ask(&mut session.ours, question.as_bytes());
        let peer = self.ask(&mut session.peer, question.as_bytes());
        let answers = [ours, peer].into_iter().flatten().flatten().flatten();
        let tables = answers.flat_map(|answer| answer.rows).filter_map(|row| row.into_iter().next()?);
        tables.map(|table| TableName { database: None, table: table.to_lowercase() }).collect()
    }

    /// Sets apart those of the tables that hold other rows on both sides, or are on one side only. Returns which.
    fn set_apart_what_differs(&mut self, session: &mut Session, tables: &[TableName], cause: &Cause) -> Vec<TableName> {
        let mut differing = Vec::new();
        for name in tables {
            let (database, table) = key(name, &session.database);
            let question = format!(
                "SELECT * FROM `{}`.`{}` LIMIT {TABLE_ROWS_MAX}",
                database.replace('`', "``"),
                table.replace('`', "``")
            );
            let ours = self.ask(&mut session.ours, question.as_bytes());
            let peer = self.ask(&mut session.peer, question.as_bytes());
            let differs = match (&ours, &peer) {
                (Some(Err(_)), Some(Err(_))) => continue, // It is no table.
                (Some(Ok(answers)), _) if answers.iter().any(|answer| answer.rows.len() == TABLE_ROWS_MAX) => true,
                (Some(ours), Some(peer)) => matches!(
                    difference(ours, peer, &Statement::new(&question), Depth::Everything),
                    Some(Kind::Rows | Kind::Accepted | Kind::Refused)
                ),
                _ => true,
            };
            if differs {
                self.apart.set_apart(&Changes::Rows(vec![name.clone()]), &session.database, cause);
                differing.push(name.clone());
            }
        }
        differing
    }

    /// Sets apart the tables that a statement names and that hold other rows on both sides, and says which.
    fn parted_tables(&mut self, session: &mut Session, statement: &Statement, cause: &Cause) -> String {
        let mut notes = Vec::new();
        for name in self.set_apart_what_differs(session, &statement.tables(), cause) {
            let last = self.changes.get(&key(&name, &session.database));
            let last: Vec<String> = last.into_iter().flatten().cloned().collect();
            notes.push(format!("{} holds other rows since one of: {}", name.table, last.join(" ;; ")));
        }
        notes.join("\n  ")
    }

    fn remember(&mut self, changes: &Changes, database: &str, text: &[u8]) {
        let (Changes::Rows(tables) | Changes::Definition(tables)) = changes else { return };
        for name in tables {
            let last = self.changes.entry(key(name, database)).or_default();
            if last.len() == CHANGES_KEPT {
                last.pop_front();
            }
            last.push_back(shortened(&String::from_utf8_lossy(text), 400));
        }
    }

    fn report(&mut self, kind: Kind, at: usize, text: &[u8], ours: String, peer: String, note: String) {
        let statement = String::from_utf8_lossy(text).into_owned();
        if let Some(entry) = self.setting.known.covers(kind, self.name, &statement, &ours, &peer) {
            *self.tally.known.entry(entry).or_default() += 1;
            return;
        }
        let statement = statement.chars().take(3000).collect();
        self.tally.differences.push(Difference {
            kind,
            stream: self.name.into(),
            event: at,
            statement,
            ours,
            peer,
            note,
        });
    }
}

/// What a refusal with 1235 names.
fn feature(error: &Error) -> String {
    let text = error.to_string();
    match text.rsplit('\'').nth(1) {
        Some(name) => name.to_string(),
        None => text,
    }
}

fn used(statement: &Statement) -> String {
    match statement.tokens.get(1) {
        Some(super::statement::Token::Word(name) | super::statement::Token::Name(name)) => name.clone(),
        _ => String::new(),
    }
}

fn clone(error: &Error) -> Error {
    match error {
        Error::Server { code, state, message } => {
            Error::Server { code: *code, state: state.clone(), message: message.clone() }
        }
        Error::Io(cause) => Error::Io(io::Error::new(cause.kind(), cause.to_string())),
    }
}
