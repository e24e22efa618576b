//! Several sessions that meet: who waits, who is wakened by whom, and what each is told.
//!
//! A script names the session before each statement, which ends in a semicolon at the end of a line. A statement that
//! does not come back since it waits for a lock has `...` as its answer; when it does, the lines stand behind the
//! statement that let it go on, with its session's name:
//!
//! ```text
//! a> LOCK TABLES t WRITE;
//! = 0 rows
//! b> SELECT * FROM t;
//! ...
//! a> UNLOCK TABLES;
//! = 0 rows
//! b: | id
//! ```
//!
//! `b> hold;` makes the next statement of the session stop in its work, where others may run: when an index is built, after
//! the first rows are read. It has `...` as its answer. `b> go on;` lets it go on.
//!
//! A script that says `# innodb_autoinc_lock_mode = 1` or `# innodb_online_alter_log_max_size = 65536` runs with it.
//!
//! Sessions are numbered as connections in the order in which they appear. `a> quit;` ends one.
//! `UPDATE_SCRIPTS=1 cargo test -p sql --test sessions` writes the answers of now; `SCRIPT=name` runs one.

mod common;
#[path = "sessions/hold.rs"]
mod hold;
#[path = "common/play.rs"]
mod play;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sql::Instance;
use sql::processlist::Process;
use storage::config::AutoIncrementMode;
use storage::{Config, Interrupt, Scheduler, Stage};

use common::{Scratch, ask, instance, session_of};
use hold::Hold;
use play::Played;

/// Whoever has been seen waiting for so long waits.
const SETTLED: Duration = Duration::from_millis(60);
/// Nobody takes so long without waiting.
const PATIENCE: Duration = Duration::from_secs(30);

/// A session in a thread of its own.
struct Player {
    process: Arc<Process>,
    hold: Option<Arc<Hold>>,
    statements: Option<Sender<String>>,
    answers: Receiver<Vec<String>>,
    /// It has not answered yet.
    busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl Player {
    /// `is_held`: it will be told to hold.
    fn new(instance: &Arc<Instance>, is_held: bool) -> Player {
        let hold = is_held.then(Arc::<Hold>::default);
        let interrupt = match &hold {
            Some(hold) => Interrupt::scheduled(hold.clone() as Arc<dyn Scheduler>),
            None => Interrupt::new(),
        };
        let process = instance.processes.register_with("localhost", interrupt);
        let (statements, to_run) = channel::<String>();
        let (answer, answers) = channel();
        let thread = {
            let (instance, process) = (instance.clone(), process.clone());
            std::thread::spawn(move || {
                let mut session = session_of(&instance, process.clone());
                process.end();
                for statement in to_run {
                    process.begin("Query", statement.trim_end_matches(';').as_bytes());
                    let lines = ask(&mut session, &statement);
                    process.end();
                    let _ = answer.send(lines);
                }
                drop(session);
                instance.processes.remove(&process);
            })
        };
        Player { process, hold, statements: Some(statements), answers, busy: false, thread: Some(thread) }
    }

    fn held(&self) -> &Hold {
        self.hold.as_deref().expect("the script says that it holds")
    }

    fn waits(&self) -> bool {
        self.process.interrupt.stage() != Stage::Runs || self.hold.as_ref().is_some_and(|hold| hold.waits())
    }

    /// Its answer, or None if it waits for somebody, or is held.
    fn answer(&mut self) -> Option<Vec<String>> {
        let begin = Instant::now();
        let mut waiting_since = None;
        while self.busy {
            if let Ok(lines) = self.answers.recv_timeout(Duration::from_millis(5)) {
                self.busy = false;
                return Some(lines);
            }
            match () {
                () if self.hold.as_ref().is_some_and(|hold| hold.holds()) => return None,
                () if !self.waits() => waiting_since = None,
                () if waiting_since.get_or_insert_with(Instant::now).elapsed() >= SETTLED => return None,
                () => {}
            }
            assert!(begin.elapsed() < PATIENCE, "a statement neither answers nor waits");
        }
        None
    }

    fn quit(&mut self) {
        self.statements = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a session ends");
        }
    }
}

/// Comments, session, statement, answers.
type Step = (Vec<String>, String, String, Vec<String>);

fn steps(script: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut comments = Vec::new();
    let mut open = false;
    for line in script.lines() {
        if open {
            let statement = &mut steps.last_mut().expect("it began").2;
            statement.push('\n');
            statement.push_str(line);
            open = !line.trim_end().ends_with(';');
        } else if let Some((session, statement)) = line.split_once("> ")
            && session.len() == 1
            && session.chars().all(|c| c.is_ascii_lowercase())
        {
            steps.push((std::mem::take(&mut comments), session.into(), statement.into(), Vec::new()));
            open = !line.trim_end().ends_with(';');
        } else if line.trim().is_empty() || line.starts_with('#') {
            comments.push(line.to_owned());
        } else {
            steps.last_mut().expect("a statement before its answer").3.push(line.to_owned());
        }
    }
    assert!(!open, "the last statement ends");
    steps
}

fn run_script(name: &str, script: &str) -> Played {
    let scratch = Scratch::new(&format!("sessions-{name}"));
    let auto_increment_mode = match script.contains("# innodb_autoinc_lock_mode = 1") {
        true => AutoIncrementMode::Consecutive,
        false => AutoIncrementMode::Interleaved,
    };
    let mut config = Config { auto_increment_mode, ..Config::tiny() };
    if script.contains("# innodb_online_alter_log_max_size = 65536") {
        config.online_log_bytes_max = 65_536;
    }
    let instance = instance(&scratch.0, config);
    let mut players: BTreeMap<String, Player> = BTreeMap::new();
    let mut played = Played::default();
    for (number, (comments, session, statement, expected)) in steps(script).into_iter().enumerate() {
        let is_held = script.contains(&format!("\n{session}> hold;"));
        let player = players.entry(session.clone()).or_insert_with(|| Player::new(&instance, is_held));
        let goes_on = statement == "go on;";
        assert!(player.busy == goes_on, "{name}, {number}: {session} waits, or does not, when it is told: {statement}");
        let mut lines = Vec::new();
        match &*statement {
            "quit;" => {
                player.quit();
                players.remove(&session);
            }
            "hold;" => player.held().begin(),
            "go on;" => {
                player.held().end();
                lines = player.answer().unwrap_or_else(|| vec!["...".to_owned()]);
            }
            _ => {
                player.busy = true;
                player.statements.as_ref().expect("it is there").send(statement.clone()).expect("it listens");
                lines = player.answer().unwrap_or_else(|| vec!["...".to_owned()]);
            }
        }
        for (other, player) in players.iter_mut().filter(|(other, _)| **other != session) {
            let answer = player.answer().unwrap_or_default();
            lines.extend(answer.into_iter().map(|line| format!("{other}: {line}")));
        }
        played.step(&comments, &format!("{session}> {statement}"), &lines, &expected);
    }
    for player in players.values_mut() {
        player.process.kill(storage::Kill::Connection);
        player.hold.iter().for_each(|hold| hold.end());
        player.quit();
    }
    instance.engine.close().expect("a clean end");
    played
}

#[test]
fn sessions_meet_as_the_scripts_say() {
    play::folder("sessions", run_script);
}
