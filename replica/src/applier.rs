//! Applies the relay log, a transaction at a time.
//!
//! ```text
//!   Gtid              a transaction begins: passed over if it has been applied, or is ours, or of an ignored server
//!   Query BEGIN       the session begins its own
//!     Table_map, rows, Query, Intvar, User_var ...       or all of them in a payload
//!   Xid, COMMIT       the session commits, and with it how far we have come
//!
//!   Gtid, Query       a statement of definition
//!
//!   Gtid, Query XA START, rows, Query XA END, XA_prepare      a branch of a distributed transaction
//!   Gtid, Query XA COMMIT                                     its end, later; see [`Step`]
//! ```
//!
//! A transaction that fails because others were in its way is begun again from its place in the relay log, at most
//! `replica_transaction_retries` times. Another error stops the applier in front of the transaction; START REPLICA tries
//! it again.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use binlog::Origin;
use format::binlog::mariadb::{self, MariadbGtidEvent, gtid_flags};
use format::binlog::payload::Payload;
use format::binlog::{
    Control, Event, EventKind, FormatDescription, Gtid, Query, Rows, RowsKind, TableMap, flags, gtid,
};
use format::xid::Xid;
use sql::parser::ast::Xa;
use sql::session::{MARIADB_MODES, branch_statement};
use tracing::{info, warn};

use crate::internal::InternalSession;
use crate::progress::{Progress, Step, StepKind};
use crate::relay::{Place, RelayReader};
use crate::shared::{Shared, failed, now_micros};

/// What a table's number takes in events of servers that do not say it.
const TABLE_ID_BYTES: usize = 8;
const ROWS_HEAD_BYTES: usize = 10;

/// Errors after which a transaction is tried again.
const IN_THE_WAY: [u16; 2] = [1205, 1213];
const INTERRUPTED: u16 = 1317;

/// What an error shows of a statement.
const STATEMENT_CHARS_MAX: usize = 1024;

/// An error, and whether it is a statement's or of the event itself.
struct Failure {
    code: u16,
    message: String,
}

impl Failure {
    fn new(code: u16, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }
}

impl From<format::Error> for Failure {
    fn from(cause: format::Error) -> Failure {
        Failure::new(1610, format!("Corrupted replication event was detected: {cause}"))
    }
}

impl From<sql::Error> for Failure {
    fn from(error: sql::Error) -> Failure {
        Failure::new(error.code, error.message)
    }
}

impl From<storage::Error> for Failure {
    fn from(error: storage::Error) -> Failure {
        Failure::new(1594, format!("Relay log read failure: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

type Result<T> = std::result::Result<T, Failure>;

/// The transaction that is being read.
struct Group {
    origin: Origin,
    /// Nothing of it is applied.
    passed_over: bool,
    /// The session's transaction has begun.
    begun: bool,
    /// It is this branch.
    branch: Option<Xid>,
}

/// The applier's thread.
pub fn run(shared: &Arc<Shared>) {
    let mut applier = Applier::new(shared);
    let outcome = applier.work();
    drop(applier);
    let mut state = shared.lock();
    let seen = &mut state.applier;
    (seen.running, seen.doing, seen.process, seen.timestamp) = (false, "", None, None);
    if let Some(failure) = outcome {
        warn!("the replica's applier stops: {failure}");
        seen.error = failed(failure.code, failure.message);
    }
    drop(state);
    shared.notify();
}

struct Applier {
    shared: Arc<Shared>,
    internal: InternalSession,
    /// Says what is about to happen to a branch, which the other session has.
    beside: Option<InternalSession>,
    description: FormatDescription,
    group: Option<Group>,
    maps: HashMap<u64, TableMap>,
    progress: Progress,
    /// Where the event that is applied ends at the source.
    file: String,
    end: u64,
    own_id: u32,
    ignored_servers: Vec<u32>,
    delay: u64,
    is_idempotent: bool,
    skipped: Skipped,
}

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

    fn has(&self, code: u16) -> bool {
        match self {
            Skipped::All => code != INTERRUPTED,
            Skipped::These(codes) => codes.contains(&code),
        }
    }
}

impl Applier {
    fn new(shared: &Arc<Shared>) -> Applier {
        let mut internal = InternalSession::new(&shared.instance);
        let variables = &shared.instance.variables;
        if !variables.on("log_replica_updates") {
            internal.session.variables.settings.sql_log_bin = false;
        }
        internal.session.variables.settings.isolation = storage::Isolation::ReadCommitted;
        let mut state = shared.lock();
        state.applier.process = Some(internal.process.clone());
        let source = state.source.clone().unwrap_or_default();
        let progress = state.progress.clone();
        drop(state);
        Applier {
            internal,
            beside: None,
            description: FormatDescription::new("", 0, format::binlog::Checksum::None),
            group: None,
            maps: HashMap::new(),
            file: progress.file.clone(),
            end: progress.position,
            progress,
            own_id: variables.number("server_id") as u32,
            ignored_servers: source.ignored_servers,
            delay: source.delay,
            is_idempotent: variables.text("replica_exec_mode") == "IDEMPOTENT",
            skipped: Skipped::parse(&variables.text("replica_skip_errors")),
            shared: shared.clone(),
        }
    }

    fn is_stopping(&self) -> bool {
        self.shared.lock().applier.stop
    }

    /// The error that ends it, if it was not asked to end.
    fn work(&mut self) -> Option<Failure> {
        let retries = self.shared.instance.variables.number("replica_transaction_retries");
        let mut reader = RelayReader::new(self.shared.relay.clone(), self.shared.lock().applier.place.clone());
        let mut tries = 0;
        loop {
            let failure = self.apply_all(&mut reader, &mut tries).err();
            self.give_up();
            let failure = failure?;
            if self.is_stopping() {
                return None;
            }
            if !IN_THE_WAY.contains(&failure.code) || tries >= retries {
                return Some(failure);
            }
            tries += 1;
            info!("the replica's applier tries a transaction again: {failure}");
            self.shared.lock().applier.retries += 1;
            (self.file, self.end) = (self.progress.file.clone(), self.progress.position);
            reader.seek(self.shared.lock().applier.place.clone());
            self.shared.sleep_until(now_micros() + tries.min(5) * 1_000_000, &|state| state.applier.stop);
        }
    }

    /// Applies events until it is asked to stop.
    fn apply_all(&mut self, reader: &mut RelayReader, tries: &mut u64) -> Result<()> {
        while !self.is_stopping() {
            let Some((description, event)) = reader.next_event()? else {
                self.idle();
                continue;
            };
            if let Some(description) = description {
                self.description = description;
            }
            if event.header.end_position != 0 && event.header.flags & flags::ARTIFICIAL == 0 {
                let high = self.end & !0xFFFF_FFFF;
                let end = high | u64::from(event.header.end_position);
                self.end = if end < self.end { end + (1 << 32) } else { end };
            }
            let was_open = self.group.is_some();
            self.event(&event).map_err(|failure| self.explained(failure, &event))?;
            if self.group.is_none() {
                // A transaction has ended, or there was none.
                if was_open {
                    *tries = 0;
                }
                self.has_passed(reader.place());
            }
        }
        Ok(())
    }

    /// There is nothing to apply.
    fn idle(&self) {
        let mut state = self.shared.lock();
        state.applier.timestamp = None;
        state.applier.doing = "Replica has read all relay log; waiting for more updates";
        if state.applier.stop {
            return;
        }
        drop(state);
        self.shared.relay.wait(std::time::Duration::from_millis(100));
    }

    /// Everything before this place of the relay log has been applied.
    fn has_passed(&self, place: Option<&Place>) {
        let Some(place) = place else { return };
        let mut state = self.shared.lock();
        let leaves = state.applier.place.as_ref().is_none_or(|before| before.file != place.file);
        state.applier.place = Some(place.clone());
        drop(state);
        if leaves && let Err(error) = self.shared.relay.purge_before(&place.file) {
            warn!("relay logs stay: {error}");
        }
        self.shared.notify();
    }

    /// Rolls back what is open.
    fn give_up(&mut self) {
        if self.group.take().is_some_and(|group| group.begun) {
            self.internal.session.apply_rollback();
        }
        self.maps.clear();
    }

    /// As MySQL tells an error of an event.
    fn explained(&self, failure: Failure, event: &Event<'_>) -> Failure {
        if IN_THE_WAY.contains(&failure.code) || failure.message.starts_with("Error '") {
            return failure;
        }
        let (name, file, end) = (event.header.kind.name(), &self.file, self.end);
        let code = failure.code;
        let place = format!("the event's source log {file}, end_log_pos {end}");
        Failure::new(code, format!("Could not execute {name} event. {failure}, Error_code: {code}; {place}"))
    }

    fn event(&mut self, event: &Event<'_>) -> Result<()> {
        let header = event.header;
        match header.kind {
            EventKind::FORMAT_DESCRIPTION => {
                let (description, _) = FormatDescription::decode(event.bytes)?;
                if description.created != 0 {
                    // The source was started anew: what was open there is no longer.
                    self.give_up();
                }
                return Ok(());
            }
            EventKind::ROTATE => {
                if let Some(Control::Rotate { position, file }) = Control::decode(event)? {
                    (self.file, self.end) = (String::from_utf8_lossy(file).into_owned(), position);
                    if self.group.is_none() {
                        (self.progress.file, self.progress.position) = (self.file.clone(), position);
                        self.shared.lock().progress.clone_from(&self.progress);
                    }
                }
                return Ok(());
            }
            EventKind::GTID | EventKind::ANONYMOUS_GTID | EventKind::GTID_TAGGED => {
                let named = gtid::gtid_of(event)?;
                let (gtid, commit) = named.map_or((None, None), |event| (event.gtid, event.commit));
                return self.begin_group(
                    Origin {
                        server_id: header.server_id,
                        gtid,
                        micros: commit.map_or(0, |commit| commit.original_micros),
                        version: commit.map_or(0, |commit| commit.original_version),
                    },
                    header.timestamp,
                );
            }
            EventKind::MARIADB_GTID => {
                let named = MariadbGtidEvent::decode(event.body, header.server_id)?;
                self.begin_group(Origin { server_id: header.server_id, ..Origin::default() }, header.timestamp)?;
                return match named.xid {
                    Some(xid) if named.flags & gtid_flags::PREPARED_XA != 0 => self.begin_branch(xid),
                    None if named.flags & gtid_flags::STANDALONE == 0 => self.begin_transaction(),
                    _ => Ok(()),
                };
            }
            _ => {}
        }
        if self.group.as_ref().is_some_and(|group| group.passed_over) {
            return self.pass_over(event);
        }
        self.change(event)
    }

    /// A transaction begins. One that is open was not finished by the source.
    fn begin_group(&mut self, origin: Origin, timestamp: u32) -> Result<()> {
        self.give_up();
        let is_ours = origin.server_id == self.own_id;
        let is_ignored = self.ignored_servers.contains(&origin.server_id);
        let passed_over = is_ours || is_ignored || origin.gtid.is_some_and(|gtid| self.is_applied(gtid));
        let mut state = self.shared.lock();
        state.applier.timestamp = Some(timestamp);
        state.applier.doing = "Applying batch of row changes";
        drop(state);
        self.wait_for_delay(timestamp);
        self.group = Some(Group { origin, passed_over, begun: false, branch: None });
        Ok(())
    }

    /// SOURCE_DELAY.
    fn wait_for_delay(&self, timestamp: u32) {
        if self.delay == 0 {
            return;
        }
        let until = (u64::from(timestamp) + self.delay) * 1_000_000;
        let mut state = self.shared.lock();
        (state.applier.delayed_until, state.applier.doing) =
            (Some(until), "Waiting until SOURCE_DELAY seconds after source executed event");
        drop(state);
        self.shared.sleep_until(until, &|state| state.applier.stop);
        self.shared.lock().applier.delayed_until = None;
    }

    fn is_applied(&self, gtid: Gtid) -> bool {
        self.progress.applied.contains(gtid)
            || self.shared.instance.log.as_ref().is_some_and(|log| log.executed().contains(gtid))
    }

    fn begin_transaction(&mut self) -> Result<()> {
        if let Some(group) = &mut self.group
            && !group.passed_over
            && !group.begun
        {
            group.begun = true;
            self.internal.session.apply_begin(Some(group.origin))?;
        }
        Ok(())
    }

    /// What has been applied once the transaction that is open has.
    fn next_progress(&self) -> Progress {
        let mut next = self.progress.clone();
        next.number += 1;
        (next.file, next.position) = (self.file.clone(), self.end);
        if let Some(gtid) = self.group.as_ref().and_then(|group| group.origin.gtid) {
            next.applied.insert(gtid);
        }
        next
    }

    /// The transaction has been committed.
    fn has_applied(&mut self, progress: Progress) {
        let gtid = self.group.take().and_then(|group| group.origin.gtid);
        self.maps.clear();
        self.progress = progress;
        let mut state = self.shared.lock();
        state.progress.clone_from(&self.progress);
        state.applier.transactions += 1;
        state.applier.last = gtid;
    }

    fn begin_branch(&mut self, xid: Xid) -> Result<()> {
        if let Some(group) = &mut self.group
            && !group.passed_over
            && !group.begun
        {
            group.begun = true;
            self.internal.session.apply_branch(Some(group.origin), &xid)?;
            group.branch = Some(xid);
        }
        Ok(())
    }

    /// A statement about a branch.
    fn branch(&mut self, statement: Xa, timestamp: u32) -> Result<()> {
        let (xid, kind) = match statement {
            Xa::Start { xid, .. } => return self.begin_branch(xid),
            Xa::Commit { xid, .. } => (xid, StepKind::Commit),
            Xa::Rollback(xid) => (xid, StepKind::Rollback),
            // XA END: XA_prepare follows.
            _ => return Ok(()),
        };
        let origin = self.group.as_ref().map(|group| group.origin);
        if !self.shared.instance.engine.prepared().contains(&xid) {
            let name = xid.to_hexadecimal();
            return Err(Failure::new(1397, format!("XAER_NOTA: Unknown XID: the branch {name} is not prepared here")));
        }
        let next = self.announce(kind, &xid)?;
        self.internal.session.apply_branch_end(origin, &xid, kind == StepKind::Commit, timestamp)?;
        self.has_applied(next);
        Ok(())
    }

    /// The branch that was begun is complete.
    fn end_branch(&mut self, one_phase: bool, xid: &Xid) -> Result<()> {
        if self.group.as_ref().and_then(|group| group.branch.as_ref()) != Some(xid) {
            return Err(Failure::new(1610, "Corrupted replication event was detected: XA_prepare without XA START"));
        }
        let next = if one_phase {
            let progress = self.next_progress();
            self.internal.session.apply_branch_commit(xid, &progress.statement())?;
            progress
        } else {
            let next = self.announce(StepKind::Prepare, xid)?;
            self.internal.session.apply_branch_prepare(xid)?;
            next
        };
        self.has_applied(next);
        Ok(())
    }

    /// Stores what is about to happen to a branch. Returns how far the replica is then.
    fn announce(&mut self, kind: StepKind, xid: &Xid) -> Result<Progress> {
        self.progress.number += 1;
        self.shared.lock().progress.number = self.progress.number;
        let step = Step { kind, xid: xid.clone(), next: self.next_progress() };
        let beside = self.beside.get_or_insert_with(|| InternalSession::new(&self.shared.instance));
        beside.session.run_unlogged(&step.statement(&self.progress))?;
        Ok(step.next)
    }

    fn commit(&mut self) -> Result<()> {
        let progress = self.next_progress();
        self.internal.session.apply_commit(&progress.statement())?;
        self.has_applied(progress);
        Ok(())
    }

    /// An event of a transaction that is not applied: only its end is looked for.
    fn pass_over(&mut self, event: &Event<'_>) -> Result<()> {
        let ends = match event.header.kind {
            EventKind::XID | EventKind::XA_PREPARE | EventKind::TRANSACTION_PAYLOAD => true,
            EventKind::QUERY => {
                let statement = Query::decode(event.body)?.statement;
                let begun = self.group.as_ref().is_some_and(|group| group.begun);
                let begins = statement.eq_ignore_ascii_case(b"BEGIN")
                    || matches!(branch_statement(statement), Some(Xa::Start { .. }));
                if begins && let Some(group) = &mut self.group {
                    group.begun = true;
                }
                let ends = statement.eq_ignore_ascii_case(b"COMMIT") || statement.eq_ignore_ascii_case(b"ROLLBACK");
                !begins && (!begun || ends)
            }
            _ => false,
        };
        if ends {
            // It is remembered together with the next transaction that is applied.
            let progress = Progress { number: self.progress.number, ..self.next_progress() };
            self.group = None;
            self.progress = progress;
            self.shared.lock().progress.clone_from(&self.progress);
        }
        Ok(())
    }

    /// An event of a transaction.
    fn change(&mut self, event: &Event<'_>) -> Result<()> {
        let header = event.header;
        match header.kind {
            EventKind::QUERY => {
                let query = Query::decode(event.body)?;
                self.query(query, header.timestamp, header.server_id)
            }
            EventKind::MARIADB_QUERY_COMPRESSED => {
                let query = Query::decode(event.body)?;
                let statement = mariadb::decompress(query.statement)?;
                self.query(Query { statement: &statement, ..query }, header.timestamp, header.server_id)
            }
            EventKind::XID => self.commit(),
            EventKind::XA_PREPARE => match Control::decode(event)? {
                Some(Control::XaPrepare { one_phase, xid }) => self.end_branch(one_phase, &xid),
                _ => Ok(()),
            },
            EventKind::TABLE_MAP => {
                let bytes = self.description.post_header_bytes(header.kind, TABLE_ID_BYTES);
                let map = TableMap::decode(event.body, bytes)?;
                self.maps.insert(map.id, map);
                Ok(())
            }
            EventKind::TRANSACTION_PAYLOAD => {
                let payload = Payload::decode(event.body)?;
                let mut events = payload.events()?;
                while let Some(inner) = events.next_event()? {
                    self.change(&inner)?;
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
            EventKind::INCIDENT => {
                let message = match Control::decode(event)? {
                    Some(Control::Incident { message, .. }) => String::from_utf8_lossy(message).into_owned(),
                    _ => String::new(),
                };
                Err(Failure::new(1590, format!("The incident LOST_EVENTS occurred on the source. Message: {message}")))
            }
            EventKind::ROWS_QUERY
            | EventKind::PREVIOUS_GTIDS
            | EventKind::STOP
            | EventKind::MARIADB_ANNOTATE_ROWS
            | EventKind::MARIADB_BINLOG_CHECKPOINT
            | EventKind::MARIADB_GTID_LIST => Ok(()),
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
        let Some(map) = self.maps.get(&rows.table_id) else {
            return Err(Failure::new(1610, "Corrupted replication event was detected: rows of no table"));
        };
        let applied = self.internal.session.apply_rows(map, rows, timestamp, self.is_idempotent);
        match applied {
            Err(error) if self.skipped.has(error.code) => {
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
        if rows.flags & format::binlog::rows::row_flags::STATEMENT_END != 0 {
            self.maps.clear();
        }
        Ok(())
    }

    fn query(&mut self, mut query: Query<'_>, timestamp: u32, server_id: u32) -> Result<()> {
        if self.group.is_none() {
            // The source is so old that its transactions have no Gtid event.
            self.begin_group(Origin { server_id, ..Origin::default() }, timestamp)?;
            if self.group.as_ref().is_some_and(|group| group.passed_over) {
                return Ok(());
            }
        }
        if self.description.is_mariadb() {
            query.vars.sql_mode = query.vars.sql_mode.map(|mode| mode & MARIADB_MODES);
        }
        let statement = query.statement;
        if statement.eq_ignore_ascii_case(b"BEGIN") {
            return self.begin_transaction();
        }
        if statement.eq_ignore_ascii_case(b"COMMIT") {
            return self.commit();
        }
        if let Some(about_branch) = branch_statement(statement) {
            return self.branch(about_branch, timestamp);
        }
        let begun = self.group.as_ref().is_some_and(|group| group.begun);
        if begun && statement.eq_ignore_ascii_case(b"ROLLBACK") {
            self.internal.session.apply_rollback();
            self.internal.session.apply_begin(None)?;
            return self.commit();
        }
        // As MySQL tells an error of a statement.
        let failed = |error: sql::Error| {
            let (database, text) = (String::from_utf8_lossy(query.database), String::from_utf8_lossy(query.statement));
            let text: String = text.chars().take(STATEMENT_CHARS_MAX).collect();
            let message = error.message;
            let text = format!("Error '{message}' on query. Default database: '{database}'. Query: '{text}'");
            Failure::new(error.code, text)
        };
        if begun {
            match self.internal.session.apply_query(&query, timestamp) {
                Err(error) if self.skipped.has(error.code) => {}
                other => other.map_err(failed)?,
            }
            // MariaDB's CREATE TABLE ... SELECT is a statement that commits, and rows.
            return Ok(self.internal.session.apply_on()?);
        }
        let progress = self.next_progress();
        let origin = self.group.as_ref().map(|group| group.origin);
        let (note, text) = (progress.note(), progress.statement());
        match self.internal.session.apply_statement(&query, timestamp, origin, note, &text) {
            Err(error) if self.skipped.has(error.code) => self.internal.session.run_unlogged(&text).map(drop)?,
            other => other.map_err(failed)?,
        }
        self.has_applied(progress);
        Ok(())
    }
}
