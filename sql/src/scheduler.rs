//! The event scheduler: a thread that knows when the next event is due, and a thread for each event that runs.
//!
//! ```text
//!   definitions --read when they have changed--> (due, event) --due--> worker: begin_event, run_event, end_event
//! ```
//!
//! The scheduler holds nothing that a restart would need: when an event ran last is in its definition, and is written
//! before it runs. So an event runs at most once for each of its moments, crashes included. A moment of a repeated event
//! that nobody was there for is left out; a single one is made up for.
//!
//! An event that takes longer than its step runs several times at once, as in MySQL. There are no more workers than
//! `max_connections`; what is due then waits.
//!
//! In the process list the scheduler is `event_scheduler`, and a worker has the name of the event's definer: KILL ends
//! the run. KILL of the scheduler sets `event_scheduler` to OFF.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use format::value::Value;
use parking_lot::Mutex;
use storage::{DefinitionKind, Kill};
use tracing::{error, info, warn};

use crate::instance::Instance;
use crate::parser::ast::EventStatus;
use crate::processlist::Process;
use crate::programs::Event;
use crate::session::Session;
use crate::status::SessionStatus;

/// A worker's stack is that of a connection: programs and deep expressions recurse.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 8 << 20 } else { 2 << 20 };
/// The clock may be set, and databases come and go without a ring.
const SLEEP_MAX: Duration = Duration::from_secs(10);
/// What is due and could not begin is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long running events may take to end when the server stops.
const FAREWELL: Duration = Duration::from_secs(10);

/// Runs events until it is stopped.
pub struct Scheduler {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

struct Shared {
    instance: Arc<Instance>,
    /// Those that run events now.
    workers: Mutex<Vec<Arc<Process>>>,
    /// Events that could not begin, and are to be tried again.
    failed: Mutex<Vec<Place>>,
}

/// Database, and name in lower case.
type Place = (Box<str>, Box<str>);

/// An event that is to run.
struct Due {
    at_us: u64,
    place: Place,
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

impl Scheduler {
    pub fn start(instance: &Arc<Instance>) -> io::Result<Scheduler> {
        let shared =
            Arc::new(Shared { instance: instance.clone(), workers: Mutex::default(), failed: Mutex::default() });
        let own = shared.clone();
        let thread = thread::Builder::new().name("events".to_owned()).spawn(move || own.run())?;
        Ok(Scheduler { shared, thread })
    }

    /// No event begins any more, and those that run are ended.
    pub fn stop(self) {
        let instance = &self.shared.instance;
        instance.events.end();
        let _ = self.thread.join();
        let deadline = Instant::now() + FAREWELL;
        loop {
            let workers = self.shared.workers.lock().clone();
            if workers.is_empty() {
                return;
            }
            if Instant::now() > deadline {
                warn!("events did not end in time");
                return;
            }
            workers.iter().for_each(|worker| worker.kill(Kill::Connection));
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Shared {
    fn run(self: Arc<Shared>) {
        let alarm = &self.instance.events;
        let mut known = 0;
        while !alarm.is_over() {
            if self.instance.variables.text("event_scheduler") == "ON" {
                self.schedule(&mut known);
            } else {
                alarm.wait(&mut known, SLEEP_MAX);
            }
        }
    }

    /// As long as `event_scheduler` is ON.
    fn schedule(self: &Arc<Shared>, known: &mut u64) {
        let instance = &self.instance;
        let process = instance.processes.register("localhost");
        process.set_user("event_scheduler");
        process.begin("Daemon", b"");
        let woken = instance.clone();
        process.on_kill(Box::new(move || woken.events.ring()));
        let (mut version, mut queue): (u64, Vec<Due>) = (0, Vec::new());
        // When events were begun, before their definitions say it.
        let mut begun: HashMap<Place, u64> = HashMap::new();
        while !instance.events.is_over() && instance.variables.text("event_scheduler") == "ON" {
            if process.is_killed() {
                instance.variables.fill_in("event_scheduler", Value::Bytes(b"OFF".to_vec()));
                break;
            }
            let failed = std::mem::take(&mut *self.failed.lock());
            failed.iter().for_each(|place| {
                begun.remove(place);
            });
            // What was due runs, however late; whether it still is the worker looks.
            let now = now_us();
            let mut wait = SLEEP_MAX;
            let mut has_begun = false;
            for due in queue.iter().filter(|due| due.at_us <= now) {
                match self.begin(due, now) {
                    true => {
                        begun.insert(due.place.clone(), now);
                        has_begun = true;
                    }
                    false => wait = AGAIN,
                }
            }
            let current = instance.engine.definitions_version();
            if current != version || has_begun || !failed.is_empty() {
                (version, queue) = (current, self.queue(&mut begun));
                if queue.iter().any(|due| due.at_us <= now) && wait != AGAIN {
                    continue;
                }
            }
            let next = queue.iter().map(|due| due.at_us).filter(|at| *at > now).min();
            if let Some(next) = next {
                wait = wait.min(Duration::from_micros(next.saturating_sub(now_us())));
            }
            process.set_state(match queue.is_empty() {
                true => "Waiting on empty queue",
                false => "Waiting for next activation",
            });
            instance.events.wait(known, wait);
        }
        instance.processes.remove(&process);
    }

    /// All events that are to run, with their next moments.
    fn queue(self: &Arc<Shared>, begun: &mut HashMap<Place, u64>) -> Vec<Due> {
        let engine = &self.instance.engine;
        let (now, zone) = (now_us(), self.instance.variables.system_zone());
        let mut queue = Vec::new();
        let mut still = HashMap::new();
        for database in engine.databases() {
            for definition in engine.definitions(DefinitionKind::Event, &database.name) {
                let mut event = match Event::decode(&definition.bytes) {
                    Ok(event) => event,
                    Err(refusal) => {
                        error!("event {}.{}: {}", definition.database, definition.name, refusal.message);
                        continue;
                    }
                };
                if event.status != EventStatus::Enabled {
                    continue;
                }
                let place: Place = (definition.database.clone(), definition.name.clone());
                // One that was changed behind its run is another one.
                let run = begun.get(&place).copied().filter(|at| event.origin.altered_us < *at);
                if let Some(at) = run {
                    event.executed_us = event.executed_us.max(at);
                    still.insert(place.clone(), at);
                }
                match event.next_us(now, zone) {
                    Some(at_us) => queue.push(Due { at_us, place }),
                    // It has come to its end while nobody ran it.
                    None if run.is_none() => self.expire(&place, now),
                    None => {}
                }
            }
        }
        *begun = still;
        queue
    }

    /// Starts a worker. False: there are too many.
    fn begin(self: &Arc<Shared>, due: &Due, now: u64) -> bool {
        let place = &due.place;
        let most = self.instance.variables.number("max_connections").max(1) as usize;
        if self.workers.lock().len() >= most {
            warn!("event {}.{} waits: {most} events are running", place.0, place.1);
            return false;
        }
        let worker = Worker::new(self);
        let (own, place, at_us) = (self.clone(), place.clone(), due.at_us);
        let spawned = thread::Builder::new().name("event".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            own.work(worker, &place, at_us, now);
        });
        if let Err(cause) = &spawned {
            error!("cannot start a thread for an event: {cause}");
        }
        spawned.is_ok()
    }

    /// Runs an event.
    fn work(self: &Arc<Shared>, mut worker: Worker, place: &Place, at_us: u64, now: u64) {
        let (database, key) = (&*place.0, &*place.1);
        let run = match worker.session.begin_event(database, key, at_us, now) {
            Ok(Some(run)) => run,
            Ok(None) => return,
            Err(refusal) => {
                error!("Event Scheduler: {database}.{key} cannot begin: {}", refusal.message);
                drop(worker);
                if !self.instance.events.is_over() {
                    thread::sleep(AGAIN);
                    self.failed.lock().push(place.clone());
                    self.instance.events.ring();
                }
                return;
            }
        };
        let (definer, name) = (run.event.origin.definer_text(), &run.event.name);
        worker.process.set_user(&run.event.origin.definer.0);
        worker.process.begin("Connect", run.event.body.as_bytes());
        if let Err(refusal) = worker.session.run_event(&run) {
            error!("Event Scheduler: [{definer}][{database}.{name}] {}", refusal.message);
        }
        drop(worker);
        if !run.is_last {
            return;
        }
        match Worker::new(self).session.end_event(&run) {
            Ok(()) if run.event.preserve => info!("Event Scheduler: {database}.{name} was disabled"),
            Ok(()) => info!("Event Scheduler: {database}.{name} was dropped"),
            Err(refusal) => error!("Event Scheduler: cannot drop {database}.{name}: {}", refusal.message),
        }
    }

    /// An event that has come to its end without a run.
    fn expire(self: &Arc<Shared>, place: &Place, now: u64) {
        if let Err(refusal) = Worker::new(self).session.expire_event(&place.0, &place.1, now) {
            error!("Event Scheduler: cannot end {}.{}: {}", place.0, place.1, refusal.message);
        }
    }
}

/// A session that runs an event.
struct Worker {
    shared: Arc<Shared>,
    process: Arc<Process>,
    status: Arc<SessionStatus>,
    session: Session,
}

impl Worker {
    fn new(shared: &Arc<Shared>) -> Worker {
        let instance = &shared.instance;
        let (process, status) = (instance.processes.register("localhost"), instance.status.register());
        let mut session = Session::new(instance.clone(), process.clone(), status.clone());
        session.work_internally_as("event_scheduler");
        process.begin("Connect", b"");
        shared.workers.lock().push(process.clone());
        Worker { shared: shared.clone(), process, status, session }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.session.reset();
        let instance = &self.shared.instance;
        instance.processes.remove(&self.process);
        instance.status.retire(&self.status);
        self.shared.workers.lock().retain(|other| other.id != self.process.id);
    }
}
