//! A worker: applies transactions, one at a time.
//!
//! ```text
//!   take a transaction --> its events, read from the relay log --> its turn --> how far we have come, commit
//!        ^                     |                                     |
//!        |                     +-- overtaken, or another error ------+--> rolled back, and begun again in its turn
//!        +-----------------------------------------------------------------------------+
//! ```
//!
//! A worker reads the events of its transaction itself, as they come, so a long transaction is in no memory, and one that
//! is begun again is read again. Statements of a source, unlike rows, may commit or read what others change: they wait for
//! the transaction's turn.
//!
//! In its turn a transaction that fails because a client was in its way is begun again at most
//! `replica_transaction_retries` times. Another error stops the applier in front of the transaction; START REPLICA tries
//! it again.

use std::collections::HashMap;
use std::sync::Arc;

use format::binlog::mariadb;
use format::binlog::mariadb::{MariadbGtidEvent, gtid_flags};
use format::binlog::payload::Payload;
use format::binlog::{Checksum, Control, Event, EventKind, FormatDescription, Query, Rows, RowsKind, TableMap, flags};
use format::xid::Xid;
use sql::parser::ast::Xa;
use sql::session::{MARIADB_MODES, branch_statement};
use sql::types::SqlMode;
use storage::CommitPlace;
use tracing::{info, warn};

use crate::failure::{Failure, Result};
use crate::filters::Filters;
use crate::internal::InternalSession;
use crate::progress::{Progress, Step, StepKind};
use crate::relay::{Place, RelayReader};
use crate::schedule::{Attempt, End, Job, Schedule, StopsOnPanic};
use crate::shared::{Shared, now_micros};
use crate::transactions::Boundaries;

/// What a table's number takes in events of servers that do not say it.
const TABLE_ID_BYTES: usize = 8;
const ROWS_HEAD_BYTES: usize = 10;

/// What an error shows of a statement.
const STATEMENT_CHARS_MAX: usize = 1024;

/// replica_skip_errors.
enum Skipped {
    All,
    These(Vec<u16>),
}

impl Skipped {
    fn parse(text: &str) -> Skipped {
        if text.eq_ignore_ascii_case("ALL") {
            return Skipped::All;
        }
        Skipped::These(text.split(',').filter_map(|code| code.trim().parse().ok()).collect())
    }

    fn has(&self, failure: &sql::Error) -> bool {
        match self {
            Skipped::All => !Failure::new(failure.code, "").is_interrupt(),
            Skipped::These(codes) => codes.contains(&failure.code),
        }
    }
}

/// Where the source's log is that events come from.
#[derive(Clone, Debug, Default)]
pub struct SourcePlace {
    pub file: String,
    /// Where the last event ends.
    pub position: u64,
}

impl SourcePlace {
    /// An event has been read.
    pub fn follow(&mut self, event: &Event<'_>) -> Result<()> {
        let header = event.header;
        if let Some(Control::Rotate { position, file }) = Control::decode(event)?
            && header.kind == EventKind::ROTATE
        {
            (self.file, self.position) = (String::from_utf8_lossy(file).into_owned(), position);
        } else if header.kind == EventKind::FORMAT_DESCRIPTION {
            // Each file of the relay log has a copy.
        } else if header.end_position != 0 && header.flags & flags::ARTIFICIAL == 0 {
            // The field has four bytes, also beyond 4 GiB.
            let high = self.position & !0xFFFF_FFFF;
            let end = high | u64::from(header.end_position);
            self.position = if end < self.position { end + (1 << 32) } else { end };
        }
        Ok(())
    }
}

/// See the module header.
pub struct Worker {
    shared: Arc<Shared>,
    schedule: Arc<Schedule>,
    number: usize,
    pub internal: InternalSession,
    /// Says what is about to happen to a branch, which the other session has.
    beside: Option<InternalSession>,
    reader: RelayReader,
    description: FormatDescription,
    /// The tables of the statement that is read; `None` = its rows are not applied.
    maps: HashMap<u64, Option<TableMap>>,
    filters: Option<Filters>,
    source: SourcePlace,
    is_idempotent: bool,
    skipped: Skipped,
    retries: u64,
    /// The transaction that is applied.
    job: Option<Arc<Job>>,
    attempt: Option<Arc<Attempt>>,
    boundaries: Boundaries,
    /// None was before the transaction when it was begun, so its errors are its own.
    began_in_turn: bool,
    /// The session's transaction has begun.
    begun: bool,
    /// It is this branch.
    branch: Option<Xid>,
}

impl Worker {
    pub fn new(shared: &Arc<Shared>, schedule: &Arc<Schedule>, number: usize) -> Worker {
        let mut internal = InternalSession::new(&shared.instance);
        let variables = &shared.instance.variables;
        if !variables.on("log_replica_updates") {
            internal.session.variables.settings.sql_log_bin = false;
        }
        internal.session.variables.settings.isolation = storage::Isolation::ReadCommitted;
        Worker {
            internal,
            beside: None,
            reader: RelayReader::new(shared.relay.clone(), None),
            description: FormatDescription::new("", 0, Checksum::None),
            maps: HashMap::new(),
            filters: Some(shared.lock().filters.clone()).filter(Filters::is_on),
            source: SourcePlace::default(),
            is_idempotent: variables.text("replica_exec_mode") == "IDEMPOTENT",
            skipped: Skipped::parse(&variables.text("replica_skip_errors")),
            retries: variables.number("replica_transaction_retries"),
            job: None,
            attempt: None,
            boundaries: Boundaries::default(),
            began_in_turn: false,
            begun: false,
            branch: None,
            number,
            schedule: schedule.clone(),
            shared: shared.clone(),
        }
    }

    /// The worker's thread.
    pub fn run(mut self) {
        let schedule = self.schedule.clone();
        let _guard = StopsOnPanic(&schedule, Some(self.number));
        while let Some(job) = self.schedule.take(self.number) {
            self.shared.lock().applier.workers[self.number].applying = job.origin.gtid;
            let outcome = self.apply(&job);
            self.shared.lock().applier.workers[self.number].applying = None;
            if let Err(failure) = outcome {
                self.schedule.fail(failure, Some(self.number));
            }
        }
    }

    /// Applies a transaction, trying as often as it takes.
    fn apply(&mut self, job: &Arc<Job>) -> Result<()> {
        let mut tries = 0;
        loop {
            self.began_in_turn = self.schedule.has_turn(job.number);
            let applied = self.try_to_apply(job);
            if applied.is_err() {
                self.give_up(job);
            }
            let was_overtaken = self.attempt.take().is_some_and(|attempt| attempt.end());
            let Err(failure) = applied else { return Ok(()) };
            if self.schedule.is_closing() {
                return Err(Failure::stopped());
            }
            if self.schedule.has_passed(job.number) {
                return Err(failure); // What followed its commit has failed.
            }
            if failure.is_interrupt() && !was_overtaken {
                // KILL.
                self.schedule.wait_for_turn(job.number, &|| false)?;
                return Err(failure);
            }
            if self.began_in_turn && !was_overtaken {
                if !failure.is_in_the_way() || tries >= self.retries {
                    return Err(failure);
                }
                tries += 1;
                let until = now_micros() + tries.min(5) * 1_000_000;
                self.shared.sleep_until(until, &|state| state.applier.stop);
            }
            self.schedule.wait_for_turn(job.number, &|| false)?;
            info!("the replica's worker {} tries a transaction again: {failure}", self.number + 1);
            self.shared.lock().applier.retries += 1;
        }
    }

    /// Rolls back what is open.
    fn give_up(&mut self, job: &Job) {
        if std::mem::take(&mut self.begun) {
            self.internal.session.apply_rollback();
        }
        self.branch = None;
        self.maps.clear();
        self.schedule.end_attempt(job.number);
    }

    fn is_overtaken(&self) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| attempt.is_overtaken())
    }

    fn try_to_apply(&mut self, job: &Arc<Job>) -> Result<()> {
        self.reader.seek(Some(job.start.place.clone()));
        self.source = SourcePlace { file: job.start.file.clone(), position: job.start.position };
        self.boundaries = Boundaries::default();
        self.maps.clear();
        self.job = Some(job.clone());
        self.attempt = Some(self.schedule.attempt(job.number, &self.internal.process.interrupt));
        // The session needs the worker while an event is borrowed from its reader.
        let mut reader = RelayReader::new(self.shared.relay.clone(), None);
        std::mem::swap(&mut reader, &mut self.reader);
        let applied = self.apply_events(job, &mut reader);
        self.reader = reader;
        applied
    }

    fn apply_events(&mut self, job: &Job, reader: &mut RelayReader) -> Result<()> {
        loop {
            if self.is_overtaken() || self.schedule.is_closing() {
                return Err(Failure::stopped());
            }
            let Some(received) = reader.next_event()? else {
                let place = reader.place().cloned();
                self.shared.relay.wait_behind(place.as_ref(), std::time::Duration::from_millis(100));
                continue;
            };
            if let Some(description) = received.description {
                self.description = description;
            }
            let event = received.event;
            self.source.follow(&event)?;
            let step = self.boundaries.step(&event)?;
            if step.abandons {
                // Its source did not finish it.
                if std::mem::take(&mut self.begun) {
                    self.internal.session.apply_rollback();
                }
                self.wait_for_turn()?;
                self.schedule.pass(job.number, None);
                return Ok(());
            }
            if step.begins && event.header.kind == EventKind::MARIADB_GTID {
                let named = MariadbGtidEvent::decode(event.body, event.header.server_id)?;
                match named.xid {
                    Some(xid) if named.flags & gtid_flags::PREPARED_XA != 0 => self.begin_branch(xid)?,
                    None if self.boundaries.has_begun() => self.begin_transaction()?,
                    _ => {}
                }
            }
            if step.is_inside {
                self.change(&event, &received.behind).map_err(|failure| self.explained(failure, &event))?;
            }
            if step.ends {
                debug_assert!(!self.begun, "the last event commits");
                self.schedule.pass(job.number, None);
                return Ok(());
            }
        }
    }

    fn wait_for_turn(&self) -> Result<()> {
        let Some(job) = &self.job else { return Ok(()) };
        self.schedule.wait_for_turn(job.number, &|| self.is_overtaken() || self.internal.process.interrupt.is_set())
    }

    /// As MySQL tells an error of an event.
    fn explained(&self, failure: Failure, event: &Event<'_>) -> Failure {
        if failure.is_in_the_way() || failure.message.starts_with("Error '") {
            return failure;
        }
        let (name, file, end) = (event.header.kind.name(), &self.source.file, self.source.position);
        let code = failure.code;
        let place = format!("the event's source log {file}, end_log_pos {end}");
        Failure::new(code, format!("Could not execute {name} event. {failure}, Error_code: {code}; {place}"))
    }

    fn begin_transaction(&mut self) -> Result<()> {
        if !self.begun
            && let Some(job) = &self.job
        {
            let place = self.attempt.clone().map(|attempt| attempt as Arc<dyn CommitPlace>);
            self.internal.session.apply_begin(Some(job.origin), place)?;
            self.begun = true;
        }
        Ok(())
    }

    fn begin_branch(&mut self, xid: Xid) -> Result<()> {
        self.wait_for_turn()?;
        if !self.begun
            && let Some(job) = &self.job
        {
            self.internal.session.apply_branch(Some(job.origin), &xid)?;
            (self.begun, self.branch) = (true, Some(xid));
        }
        Ok(())
    }

    /// A statement about a branch.
    fn branch(&mut self, statement: Xa, timestamp: u32, behind: &Place) -> Result<()> {
        let (xid, kind) = match statement {
            Xa::Start { xid, .. } => return self.begin_branch(xid),
            Xa::Commit { xid, .. } => (xid, StepKind::Commit),
            Xa::Rollback(xid) => (xid, StepKind::Rollback),
            // XA END: XA_prepare follows.
            _ => return Ok(()),
        };
        self.wait_for_turn()?;
        if !self.shared.instance.engine.prepared().contains(&xid) {
            let name = xid.to_hexadecimal();
            return Err(Failure::new(1397, format!("XAER_NOTA: Unknown XID: the branch {name} is not prepared here")));
        }
        self.announce(kind, &xid, behind)?;
        let origin = self.job.as_ref().map(|job| job.origin);
        Ok(self.internal.session.apply_branch_end(origin, &xid, kind == StepKind::Commit, timestamp)?)
    }

    /// The branch that was begun is complete.
    fn end_branch(&mut self, one_phase: bool, xid: &Xid, behind: &Place) -> Result<()> {
        if self.branch.as_ref() != Some(xid) {
            return Err(Failure::new(1610, "Corrupted replication event was detected: XA_prepare without XA START"));
        }
        match one_phase {
            true => {
                let progress = self.next_progress(behind).statement(self.shared.channel.name());
                self.internal.session.apply_branch_commit(xid, &progress)?;
            }
            false => {
                self.announce(StepKind::Prepare, xid, behind)?;
                self.internal.session.apply_branch_prepare(xid)?;
            }
        }
        (self.begun, self.branch) = (false, None);
        self.maps.clear();
        Ok(())
    }

    /// Stores what is about to happen to a branch.
    fn announce(&mut self, kind: StepKind, xid: &Xid, behind: &Place) -> Result<()> {
        let progress = self.schedule.announce();
        self.shared.lock().progress.number = progress.number;
        let step = Step { kind, xid: xid.clone(), next: self.next_progress(behind) };
        let beside = self.beside.get_or_insert_with(|| InternalSession::new(&self.shared.instance));
        beside.session.run_unlogged(&step.statement(self.shared.channel.name(), &progress))?;
        Ok(())
    }

    /// In the transaction's turn: how far the replica is behind it.
    fn next_progress(&self, behind: &Place) -> Progress {
        let number = self.job.as_ref().map_or(0, |job| job.number);
        self.schedule.prepare(number, self.end(behind))
    }

    /// What has been applied behind this place of the relay log.
    fn end(&self, behind: &Place) -> End {
        End {
            place: behind.clone(),
            file: self.source.file.clone(),
            position: self.source.position,
            names: self.job.as_ref().map(|job| job.names()).unwrap_or_default(),
        }
    }

    fn commit(&mut self, behind: &Place) -> Result<()> {
        self.begin_transaction()?;
        self.wait_for_turn()?;
        let (progress, channel) = (self.next_progress(behind), &self.shared.channel);
        let text = progress.statement(channel.name());
        match self.internal.session.is_creating() {
            true => self.internal.session.apply_table((channel.slot(), progress.note()), &text)?,
            false => self.internal.session.apply_commit(&text)?,
        }
        self.begun = false;
        self.maps.clear();
        Ok(())
    }

    /// An event of the transaction.
    fn change(&mut self, event: &Event<'_>, behind: &Place) -> Result<()> {
        let header = event.header;
        match header.kind {
            EventKind::QUERY => {
                let query = Query::decode(event.body)?;
                self.query(query, header.timestamp, behind)
            }
            EventKind::MARIADB_QUERY_COMPRESSED => {
                let query = Query::decode(event.body)?;
                let statement = mariadb::decompress(query.statement)?;
                self.query(Query { statement: &statement, ..query }, header.timestamp, behind)
            }
            EventKind::XID => self.commit(behind),
            EventKind::XA_PREPARE => match Control::decode(event)? {
                Some(Control::XaPrepare { one_phase, xid }) => self.end_branch(one_phase, &xid, behind),
                _ => Ok(()),
            },
            EventKind::TABLE_MAP => {
                let bytes = self.description.post_header_bytes(header.kind, TABLE_ID_BYTES);
                let mut map = TableMap::decode(event.body, bytes)?;
                let id = map.id;
                let takes = self.filters.as_ref().is_none_or(|filters| {
                    map.database = filters.rewritten(&map.database).into();
                    let (database, table) =
                        (String::from_utf8_lossy(&map.database), String::from_utf8_lossy(&map.table));
                    filters.takes_rows(&database, &table)
                });
                self.maps.insert(id, takes.then_some(map));
                Ok(())
            }
            EventKind::TRANSACTION_PAYLOAD => {
                let payload = Payload::decode(event.body)?;
                let mut events = payload.events()?;
                while let Some(inner) = events.next_event()? {
                    if self.is_overtaken() {
                        return Err(Failure::stopped());
                    }
                    self.change(&inner, behind)?;
                }
                Ok(())
            }
            EventKind::INTVAR | EventKind::USER_VAR | EventKind::RAND => {
                match Control::decode(event)? {
                    Some(Control::Rand { seeds: (one, other) }) => {
                        let text = format!("SET rand_seed1 = {one}, rand_seed2 = {other}");
                        self.internal.session.run_unlogged(&text)?;
                    }
                    Some(Control::IntVar(var)) => self.internal.session.apply_int_var(var),
                    Some(Control::UserVar(var)) => self.internal.session.apply_user_var(&var)?,
                    _ => {}
                }
                Ok(())
            }
            EventKind::INCIDENT => Err(incident(event)),
            EventKind::ROWS_QUERY | EventKind::MARIADB_ANNOTATE_ROWS => Ok(()),
            kind => {
                let head = self.description.post_header_bytes(kind, ROWS_HEAD_BYTES);
                match Rows::decode(event, head)? {
                    Some(rows) => self.rows(&rows, header.timestamp),
                    None if header.flags & flags::IGNORABLE != 0 => Ok(()),
                    None => {
                        let text = format!("This version of Glassine doesn't yet support events of kind {}", kind.0);
                        Err(Failure::new(1235, text))
                    }
                }
            }
        }
    }

    fn rows(&mut self, rows: &Rows<'_>, timestamp: u32) -> Result<()> {
        self.begin_transaction()?;
        let ends_statement = rows.flags & format::binlog::rows::row_flags::STATEMENT_END != 0;
        let Some(map) = self.maps.get(&rows.table_id) else {
            return Err(Failure::new(1610, "Corrupted replication event was detected: rows of no table"));
        };
        let Some(map) = map else {
            if ends_statement {
                self.maps.clear();
            }
            return Ok(());
        };
        // Before its turn a row may be missing because an earlier transaction has yet to insert it.
        let passes_over = self.is_idempotent && self.began_in_turn;
        let applied = self.internal.session.apply_rows(map, rows, timestamp, passes_over);
        match applied {
            // Before its turn it may fail because of the order alone, and is begun again then.
            Err(error) if self.skipped.has(&error) && self.began_in_turn => {
                warn!("passed over rows of the source, as replica_skip_errors wants: {error}");
            }
            Err(error) => {
                let (database, table) = (String::from_utf8_lossy(&map.database), String::from_utf8_lossy(&map.table));
                let kind = match rows.kind {
                    RowsKind::Write => "Write_rows",
                    RowsKind::Update | RowsKind::PartialUpdate => "Update_rows",
                    RowsKind::Delete => "Delete_rows",
                };
                let text = format!("{kind} of table {database}.{table}: {}", error.message);
                return Err(Failure::new(error.code, text));
            }
            Ok(()) => {}
        }
        if ends_statement {
            self.maps.clear();
        }
        Ok(())
    }

    /// Whether a statement is applied, in the database of its event, which may be another one here.
    fn takes_statement(filters: &Filters, query: &Query<'_>) -> bool {
        let mode = SqlMode(query.vars.sql_mode.unwrap_or_default());
        let targets = sql::session::targets(query.statement, mode);
        filters.takes_statement(&String::from_utf8_lossy(query.database), &targets)
    }

    fn query(&mut self, mut query: Query<'_>, timestamp: u32, behind: &Place) -> Result<()> {
        if self.description.is_mariadb() {
            query.vars.sql_mode = query.vars.sql_mode.map(|mode| mode & MARIADB_MODES);
        }
        let statement = query.statement;
        if statement.eq_ignore_ascii_case(b"BEGIN") {
            return self.begin_transaction();
        }
        if statement.eq_ignore_ascii_case(b"COMMIT") {
            return self.commit(behind);
        }
        if let Some(about_branch) = branch_statement(statement) {
            return self.branch(about_branch, timestamp, behind);
        }
        if self.begun && statement.eq_ignore_ascii_case(b"ROLLBACK") {
            self.internal.session.apply_rollback();
            self.begun = false;
            return self.commit(behind);
        }
        self.wait_for_turn()?;
        let filters = self.filters.take();
        let done = self.run_query(query, timestamp, behind, filters.as_ref());
        self.filters = filters;
        done
    }

    /// A statement, in the transaction's turn.
    fn run_query<'q>(
        &mut self,
        mut query: Query<'q>,
        timestamp: u32,
        behind: &Place,
        filters: Option<&'q Filters>,
    ) -> Result<()> {
        let mut takes = true;
        if let Some(filters) = filters {
            query.database = filters.rewritten(query.database);
            takes = Self::takes_statement(filters, &query);
        }
        // As MySQL tells an error of a statement.
        let failed = |error: sql::Error| {
            let (database, text) = (String::from_utf8_lossy(query.database), String::from_utf8_lossy(query.statement));
            let text: String = text.chars().take(STATEMENT_CHARS_MAX).collect();
            let message = error.message;
            let text = format!("Error '{message}' on query. Default database: '{database}'. Query: '{text}'");
            Failure::new(error.code, text)
        };
        if self.begun {
            if !takes {
                self.internal.session.apply_no_query();
                return Ok(());
            }
            match self.internal.session.apply_query(&query, timestamp) {
                Err(error) if self.skipped.has(&error) => {}
                other => other.map_err(failed)?,
            }
            // A statement may have committed.
            return Ok(self.internal.session.apply_on()?);
        }
        let Some(job) = self.job.clone() else { return Ok(()) };
        let progress = self.next_progress(behind);
        let channel = &self.shared.channel;
        let (note, text) = ((channel.slot(), progress.note()), progress.statement(channel.name()));
        if !takes {
            self.internal.session.apply_no_query();
            return Ok(self.internal.session.apply_nothing(Some(job.origin), &text)?);
        }
        match self.internal.session.apply_statement(&query, timestamp, Some(job.origin), note, &text) {
            Err(error) if self.skipped.has(&error) => self.internal.session.apply_nothing(Some(job.origin), &text)?,
            other => other.map_err(failed)?,
        }
        Ok(())
    }
}

/// What an Incident event stops the applier with.
pub fn incident(event: &Event<'_>) -> Failure {
    let message = match Control::decode(event) {
        Ok(Some(Control::Incident { message, .. })) => String::from_utf8_lossy(message).into_owned(),
        _ => String::new(),
    };
    Failure::new(1590, format!("The incident LOST_EVENTS occurred on the source. Message: {message}"))
}
