//! The applier's coordinator: reads the relay log and hands its transactions to workers.
//!
//! ```text
//!   relay-bin.000003  -->  coordinator  -->  schedule  -->  worker 1   reads the transaction from the relay log,
//!                          finds where       who may        worker 2   applies and commits it
//!                          they begin        begin when     ...
//! ```
//!
//! The coordinator looks at every event, but keeps none: a transaction is handed on by its place as soon as it is known
//! what it is, also if its end has not come yet. It decides which transactions are passed over: those that have been
//! applied, those of this server itself, and those of servers that are ignored. They are remembered together with the next
//! transaction that is applied.
//!
//! The follower makes commits durable behind the workers (`schedule/in_flight.rs`).

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use binlog::Origin;
use format::binlog::mariadb::{MariadbGtidEvent, gtid_flags};
use format::binlog::{Event, EventKind, Gtid, Query, gtid};
use format::ids::Lsn;
use format::value::Value;
use sql::session::branch_statement;
use tracing::{info, warn};

use crate::failure::{Failure, Result};
use crate::internal::InternalSession;
use crate::progress::Names;
use crate::relay::{Place, RelayReader};
use crate::schedule::{Clock, Commits, End, Passed, Schedule, Start};
use crate::shared::{Shared, Working, failed, now_micros};
use crate::transactions::{Boundaries, Step};
use crate::until::Goal;
use crate::worker::{SourcePlace, Worker, incident};

/// How often the coordinator looks after the workers while it has work itself.
const WATCH_PERIOD: Duration = Duration::from_millis(25);

/// How often it is looked whether another channel has finished a transaction.
const CLAIM_MICROS: u64 = 20_000;

const IDLE: &str = "Replica has read all relay log; waiting for more updates";
const AT_WORK: &str = "Reading event from the relay log";

/// The applier's thread.
pub fn run(shared: &Arc<Shared>) {
    let outcome = apply(shared);
    let mut state = shared.lock();
    let seen = &mut state.applier;
    (seen.running, seen.doing, seen.timestamp) = (false, "", None);
    (seen.schedule, seen.coordinator) = (None, None);
    for worker in &mut seen.workers {
        (worker.process, worker.applying) = (None, None);
    }
    if let Some((failure, worker)) = outcome {
        warn!("the replica's applier stops: {failure}");
        seen.error = failed(failure.code, failure.message);
        match worker.and_then(|worker| seen.workers.get_mut(worker)) {
            Some(worker) => worker.error = seen.error.clone(),
            None => seen.coordinator_error = seen.error.clone(),
        }
    }
    drop(state);
    shared.notify();
}

/// The error that ends it, and the worker that met it, if it was not asked to end.
fn apply(shared: &Arc<Shared>) -> Option<(Failure, Option<usize>)> {
    let outcome = Box::new(Outcome { shared: shared.clone() });
    let schedule = Schedule::new(shared.channel.slot(), shared.lock().progress.clone(), outcome);
    let count = shared.instance.variables.number("replica_parallel_workers").max(1) as usize;
    let workers: Vec<Worker> = (0..count).map(|number| Worker::new(shared, &schedule, number)).collect();
    let coordinator = Coordinator::new(shared, &schedule);
    {
        let mut state = shared.lock();
        let seen = &mut state.applier;
        seen.workers = workers.iter().map(|worker| Working::of(&worker.internal.process)).collect();
        (seen.schedule, seen.coordinator) = (Some(schedule.clone()), Some(coordinator.internal.process.clone()));
    }
    let following = schedule.clone();
    let follower = std::thread::Builder::new().name("replica_follower".to_owned()).spawn(move || following.follow());
    if let Err(cause) = &follower {
        schedule.fail(no_thread(cause), None);
    }
    let mut threads = Vec::new();
    for (number, worker) in workers.into_iter().enumerate() {
        let thread = std::thread::Builder::new().name(format!("replica_worker_{}", number + 1));
        // Statements of the source may be deep.
        match thread.stack_size(crate::shared::STACK_BYTES).spawn(move || worker.run()) {
            Ok(thread) => threads.push(thread),
            Err(cause) => {
                schedule.fail(no_thread(&cause), None);
                break;
            }
        }
    }
    let outcome = coordinator.run();
    match outcome {
        Ok(false) => {}
        // Everything before is applied.
        Ok(true) => drop(schedule.drain(&|| schedule.watch())),
        Err(failure) => {
            if schedule.drain(&|| schedule.watch()) {
                schedule.fail(failure, None);
            }
        }
    }
    schedule.close();
    while threads.iter().any(|thread| !thread.is_finished()) {
        shared.interrupt_applier();
        std::thread::sleep(Duration::from_millis(5));
    }
    threads.into_iter().for_each(|thread| drop(thread.join()));
    schedule.complete();
    let _ = follower.map(JoinHandle::join);
    shared.peers.release_all(shared.channel.slot());
    schedule.failure()
}

fn no_thread(cause: &std::io::Error) -> Failure {
    Failure::new(1135, format!("Can't create a new thread: {cause}"))
}

/// What becomes of the applier's commits.
struct Outcome {
    shared: Arc<Shared>,
}

impl Commits for Outcome {
    fn make_durable(&self, lsn: Lsn) -> storage::Result<()> {
        let instance = &self.shared.instance;
        instance.engine.store().commit_log(lsn)?;
        // So this server's own log has what is told.
        instance.log.as_ref().map_or(Ok(()), |log| log.write())
    }

    fn passed(&self, passed: &Passed) {
        note_passed(&self.shared, passed);
    }

    fn await_replicas(&self, gives_up: &dyn Fn() -> bool) -> storage::Result<()> {
        self.shared.instance.log.as_ref().map_or(Ok(()), |log| log.await_replicas(gives_up))
    }
}

/// Something was applied or passed over, and is durable.
fn note_passed(shared: &Shared, passed: &Passed) {
    let mut state = shared.lock();
    state.progress.clone_from(&passed.progress);
    let applier = &mut state.applier;
    if let Some(worker) = passed.worker {
        applier.transactions += 1;
        if let Some(worker) = applier.workers.get_mut(worker) {
            worker.last = passed.end.names.gtid;
        }
    }
    let place = &passed.end.place;
    let leaves = applier.place.as_ref().is_none_or(|before| before.file != place.file);
    applier.place = Some(place.clone());
    drop(state);
    if let Some(gtid) = passed.end.names.gtid {
        shared.peers.release(gtid);
    }
    if leaves && let Err(error) = shared.relay.purge_before(&place.file) {
        warn!("relay logs stay: {error}");
    }
    shared.notify();
}

/// The transaction whose events are read.
struct Head {
    start: Start,
    origin: Origin,
    timestamp: u32,
    clock: Clock,
    passed_over: bool,
    /// It is passed over because it was asked for.
    is_skipped: bool,
    /// A worker has it.
    is_pushed: bool,
}

/// Whether a transaction's first event behind its name says that it is a statement of definition, or about a branch of a
/// distributed transaction.
fn runs_alone(event: &Event<'_>, step: Step) -> Result<bool> {
    if !step.is_inside || event.header.kind == EventKind::TRANSACTION_PAYLOAD {
        return Ok(false);
    }
    if step.ends {
        return Ok(true);
    }
    Ok(event.header.kind == EventKind::QUERY && branch_statement(Query::decode(event.body)?.statement).is_some())
}

struct Coordinator {
    shared: Arc<Shared>,
    schedule: Arc<Schedule>,
    internal: InternalSession,
    boundaries: Boundaries,
    source: SourcePlace,
    head: Option<Head>,
    own_id: u32,
    ignored_servers: Vec<u32>,
    /// The source is read from MariaDB's names on.
    uses_mariadb_names: bool,
    delay: u64,
    watched: Instant,
    /// START REPLICA UNTIL, and whether it is there.
    goal: Option<Goal>,
    is_at_goal: bool,
    /// How many events it passes over, and the rest of the transaction in which the last of them stands.
    skipped_events: u64,
}

impl Coordinator {
    fn new(shared: &Arc<Shared>, schedule: &Arc<Schedule>) -> Coordinator {
        let internal = InternalSession::new(&shared.instance);
        let state = shared.lock();
        let source = state.source.clone().unwrap_or_default();
        let from = SourcePlace { file: state.progress.file.clone(), position: state.progress.position };
        let mut goal = state.applier.until.as_ref().and_then(|until| Goal::of(until).ok());
        drop(state);
        let executed = shared.executed();
        // What SET GLOBAL sql_replica_skip_counter said is for one start.
        let variables = &shared.instance.variables;
        let skipped_events = variables.number("sql_replica_skip_counter");
        if skipped_events > 0 {
            variables.fill_in("sql_replica_skip_counter", Value::UInt(0));
        }
        let is_at_goal = goal.as_mut().is_some_and(|goal| goal.begin(&executed));
        Coordinator {
            internal,
            boundaries: Boundaries::default(),
            source: from,
            head: None,
            own_id: shared.instance.variables.number("server_id") as u32,
            ignored_servers: source.ignored_servers,
            uses_mariadb_names: source.use_gtid.is_some(),
            delay: source.delay,
            watched: Instant::now(),
            goal,
            is_at_goal,
            skipped_events,
            schedule: schedule.clone(),
            shared: shared.clone(),
        }
    }

    /// Reads until it is asked to stop, a worker has failed, or it is where it is to stop. True: the latter.
    fn run(mut self) -> Result<bool> {
        let place = self.shared.lock().applier.place.clone();
        if let Some(place) = &place {
            self.look_for_goal(None, place);
        }
        let mut reader = RelayReader::new(self.shared.relay.clone(), place);
        let mut is_idle = true;
        while !self.is_at_goal && !self.shared.lock().applier.stop && !self.schedule.is_closing() {
            if self.internal.process.interrupt.is_set() {
                return Err(Failure::stopped());
            }
            if self.watched.elapsed() >= WATCH_PERIOD {
                self.schedule.watch();
                self.watched = Instant::now();
            }
            let Some(received) = reader.next_event()? else {
                if !std::mem::replace(&mut is_idle, true) {
                    self.shared.lock().applier.doing = IDLE;
                }
                let place = reader.place().cloned();
                self.shared.relay.wait_behind(place.as_ref(), WATCH_PERIOD);
                continue;
            };
            if std::mem::take(&mut is_idle) {
                self.shared.lock().applier.doing = AT_WORK;
            }
            let (event, from, behind) = (received.event, received.from, received.behind);
            self.event(&event, from, behind)?;
        }
        Ok(self.is_at_goal)
    }

    /// Between two transactions, of which the first has this name.
    fn look_for_goal(&mut self, last: Option<Gtid>, behind: &Place) {
        if let Some(goal) = &mut self.goal {
            self.is_at_goal |= goal.is_reached(last, &self.source.file, self.source.position, behind);
        }
    }

    fn event(&mut self, event: &Event<'_>, from: Place, behind: Place) -> Result<()> {
        let (file, position) = (self.source.file.clone(), self.source.position);
        let start = Start { place: from, file, position, mariadb: None };
        self.source.follow(event)?;
        let step = self.boundaries.step(event)?;
        if step.abandons
            && let Some(head) = self.head.take() // The worker that has it finds that, too.
            && let Some(gtid) = head.origin.gtid
        {
            self.shared.peers.release(gtid);
        }
        if step.begins {
            self.head = self.begin(event, start)?;
            if self.is_at_goal {
                return Ok(());
            }
        }
        // A counter that ends within a transaction ends with it.
        if self.head.as_ref().is_some_and(|head| head.is_skipped) && (step.ends || self.skipped_events > 1) {
            self.skipped_events -= 1;
        }
        let Some(head) = &mut self.head else {
            match event.header.kind {
                EventKind::INCIDENT => return Err(incident(event)),
                _ if self.boundaries.is_open() => {}
                EventKind::ROTATE
                | EventKind::PREVIOUS_GTIDS
                | EventKind::MARIADB_GTID_LIST
                | EventKind::MARIADB_BINLOG_CHECKPOINT => {
                    self.look_for_goal(None, &behind);
                    self.schedule.push_mark(self.end(behind));
                }
                _ => {}
            }
            return Ok(());
        };
        if !head.passed_over && !head.is_pushed && (step.is_inside || self.boundaries.has_begun()) {
            head.is_pushed = true;
            let clock = if runs_alone(event, step)? { Clock::Alone } else { head.clock };
            let schedule = &self.schedule;
            schedule.push(head.start.clone(), head.origin, head.timestamp, clock, &|| schedule.watch());
        }
        if step.ends {
            let passed_over = head.passed_over;
            let names = Names { gtid: head.origin.gtid, mariadb: head.start.mariadb };
            self.head = None;
            self.look_for_goal(names.gtid, &behind);
            if passed_over {
                self.schedule.push_mark(End { names, ..self.end(behind) });
            }
        }
        Ok(())
    }

    fn end(&self, behind: Place) -> End {
        End { place: behind, file: self.source.file.clone(), position: self.source.position, names: Names::default() }
    }

    /// A transaction begins with this event. `None`: the applier stops.
    fn begin(&mut self, event: &Event<'_>, mut start: Start) -> Result<Option<Head>> {
        let header = event.header;
        let mut origin = Origin { server_id: header.server_id, ..Origin::default() };
        let mut clock = Clock::Unknown;
        match header.kind {
            EventKind::GTID | EventKind::ANONYMOUS_GTID | EventKind::GTID_TAGGED => {
                if let Some(named) = gtid::gtid_of(event)? {
                    origin.gtid = named.gtid;
                    if let Some(commit) = named.commit {
                        (origin.micros, origin.version) = (commit.original_micros, commit.original_version);
                    }
                    if let Some(said) = named.clock
                        && said.sequence_number > 0
                    {
                        let (last_committed, sequence) = (said.last_committed, said.sequence_number);
                        clock = Clock::Logical { last_committed, sequence };
                    }
                }
            }
            EventKind::MARIADB_GTID => {
                let named = MariadbGtidEvent::decode(event.body, header.server_id)?;
                start.mariadb = Some(named.gtid);
                let is_parallel = named.flags & gtid_flags::TRANSACTIONAL != 0 && named.flags & gtid_flags::DDL == 0;
                if named.xid.is_some() {
                    clock = Clock::Alone;
                } else if is_parallel && let Some(group) = named.commit_id {
                    clock = Clock::Group(group);
                }
            }
            _ => {}
        }
        if let (Some(goal), Some(gtid)) = (&self.goal, origin.gtid)
            && goal.stops_before(gtid)
        {
            self.is_at_goal = true;
            return Ok(None);
        }
        // One that comes twice, after a lost connection, is applied once.
        let names = Names { gtid: origin.gtid, mariadb: start.mariadb };
        if self.schedule.has_pending(names) && !self.schedule.drain(&|| self.schedule.watch()) {
            return Ok(None);
        }
        if let Some(gtid) = origin.gtid
            && !self.claim(gtid)
        {
            return Ok(None);
        }
        let is_ignored = origin.server_id == self.own_id || self.ignored_servers.contains(&origin.server_id);
        let is_known = is_ignored || self.is_applied(names);
        let is_skipped = !is_known && self.skipped_events > 0;
        if is_skipped {
            let (file, position) = (&start.file, start.position);
            info!("the replica passes over the transaction at {position} in {file}, as sql_replica_skip_counter wants");
        }
        let passed_over = is_known || is_skipped;
        self.wait_for_delay(header.timestamp);
        if self.shared.lock().applier.stop {
            return Ok(None);
        }
        Ok(Some(Head { start, origin, timestamp: header.timestamp, clock, passed_over, is_skipped, is_pushed: false }))
    }

    /// The transaction is this channel's; before, another one has finished it. False: the applier stops.
    fn claim(&self, gtid: Gtid) -> bool {
        let shared = &self.shared;
        while !shared.peers.claim(gtid, shared.channel.slot()) {
            if self.schedule.is_closing() || shared.lock().applier.stop {
                return false;
            }
            shared.sleep_until(now_micros() + CLAIM_MICROS, &|state| state.applier.stop);
        }
        true
    }

    fn is_applied(&self, names: Names) -> bool {
        // By its file and position no transaction comes twice, and a source that was reset gives a name again.
        let by_name = names.mariadb.filter(|_| self.uses_mariadb_names);
        let state = self.shared.lock();
        if by_name.is_some_and(|gtid| state.progress.mariadb.is_at(gtid)) {
            return true;
        }
        let Some(gtid) = names.gtid else { return false };
        let has_applied = state.progress.applied.contains(gtid);
        drop(state);
        has_applied
            || self.shared.peers.has_applied(gtid)
            || self.shared.instance.log.as_ref().is_some_and(|log| log.has_executed(gtid))
    }

    /// SOURCE_DELAY.
    fn wait_for_delay(&self, timestamp: u32) {
        if self.delay == 0 {
            return;
        }
        let until = (u64::from(timestamp) + self.delay) * 1_000_000;
        if until <= now_micros() {
            return;
        }
        let mut state = self.shared.lock();
        let applier = &mut state.applier;
        (applier.delayed_until, applier.timestamp) = (Some(until), Some(timestamp));
        applier.doing = "Waiting until SOURCE_DELAY seconds after source executed event";
        drop(state);
        self.shared.sleep_until(until, &|state| state.applier.stop);
        let mut state = self.shared.lock();
        (state.applier.delayed_until, state.applier.timestamp, state.applier.doing) = (None, None, AT_WORK);
    }
}
