//! What a session's transaction writes into the binary log.
//!
//! ```text
//!   CREATE TABLE        with START TRANSACTION, behind BEGIN: the rows are those of the new table
//!   statement begins    a mark in the cache
//!   row changes         BEGIN, if it is the first of the transaction
//!                       Table_map, if the rows before are not those of the table
//!                       rows, collected into one event up to binlog_row_event_max_size
//!   statement ends      the last rows event says so; or everything behind the mark is cut off
//!   COMMIT              Xid; the cache becomes part of the engine's commit
//!
//!   XA START            a branch of a distributed transaction has it in the place of BEGIN, and in that of Xid
//!   XA END, XA_prepare  these, whether it is prepared or committed in one phase
//! ```
//!
//! A statement that changes several tables, by a trigger or by a join, does not know at its first row which ones. MariaDB's
//! replicas stop at a Table_map behind rows that do not end a statement, so to the log each run of rows of one table is a
//! statement (`mariadb_replica::statements_that_change_several_tables`).
//!
//! Images are made of the stored bytes that go to storage anyway. Changes that storage makes by itself, along foreign
//! keys, are not logged, as in MySQL: a replica makes them itself.

mod inner;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use binlog::cache::PAYLOAD_BYTES_MAX;
use binlog::{BinaryLog, Cache, CacheSettings, Finished, Name, Origin, SessionOrder, WriteSet};
use format::binlog::query::{Query, StatusVars};
use format::binlog::rows::{self, RowsKind, encode_head_of, row_flags};
use format::binlog::stored::{ValueFormat, column_of};
use format::binlog::table_map::KeyPart;
use format::binlog::{ColumnCode, Control, EventKind, Header, TableMap, flags};
use format::collation::CollationId;
use format::value::ColumnType;
use format::xid::Xid;
use storage::{Column, CommitLog, Table, Trx, UnfinishedTable, XidClaim};

use inner::Inner;

use crate::catalog::storage_error;
use crate::error::{Error, Result};
use crate::variables::{RowImages, RowMetadata};

/// What a session's variables say about the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    pub compression: Option<i32>,
    pub cache_bytes: usize,
    /// max_binlog_cache_size.
    pub transaction_bytes_max: u64,
    pub event_bytes_max: usize,
    pub images: RowImages,
    pub metadata: RowMetadata,
}

/// What a statement was run with, for its events.
pub struct StatementFacts<'s> {
    pub connection: u32,
    /// Seconds and microseconds since 1970.
    pub time: (i64, u32),
    pub database: Option<&'s str>,
    pub sql_mode: u64,
    pub foreign_key_checks: bool,
    pub unique_checks: bool,
    pub autocommit: bool,
    pub auto_increment: (u64, u64),
    /// Of the client, the connection and the server.
    pub collations: [CollationId; 3],
    pub database_collation: CollationId,
    /// `default_collation_for_utf8mb4`
    pub utf8mb4_collation: CollationId,
    pub time_zone: Cow<'static, str>,
    /// Where it was run first, if it is a source's.
    pub origin: Option<Origin>,
    /// The branch of a distributed transaction that it belongs to.
    pub branch: Option<&'s Xid>,
    /// How its transaction gets its name.
    pub name: Name,
    /// The transactions of its session.
    pub order: &'s Arc<SessionOrder>,
}

/// The flags of rows that were changed with these checks.
fn check_flags(foreign: bool, unique: bool) -> u16 {
    let flag = |checks: bool, flag: u16| if checks { 0 } else { flag };
    flag(foreign, row_flags::NO_FOREIGN_KEY_CHECKS) | flag(unique, row_flags::RELAXED_UNIQUE_CHECKS)
}

/// Bits of flags2.
const NOT_AUTOCOMMIT: u32 = 1 << 19;
const NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;
const RELAXED_UNIQUE_CHECKS: u32 = 1 << 27;

impl StatementFacts<'_> {
    fn flags2(&self) -> u32 {
        let mut bits = 0;
        for (is_set, bit) in [
            (!self.autocommit, NOT_AUTOCOMMIT),
            (!self.foreign_key_checks, NO_FOREIGN_KEY_CHECKS),
            (!self.unique_checks, RELAXED_UNIQUE_CHECKS),
        ] {
            bits |= if is_set { bit } else { 0 };
        }
        bits
    }

    /// Everything that decides what a statement means when it is run again.
    fn status_vars(&self) -> StatusVars {
        let code = |id: CollationId| id.0;
        let (step, offset) = self.auto_increment;
        StatusVars {
            flags2: Some(self.flags2()),
            sql_mode: Some(self.sql_mode),
            auto_increment: (self.auto_increment != (1, 1)).then_some((step as u16, offset as u16)),
            charset: Some(self.collations.map(code)),
            time_zone: Some(self.time_zone.as_ref().into()),
            catalog: Some("std".into()),
            database_collation: Some(code(self.database_collation)),
            microseconds: (self.time.1 > 0).then_some(self.time.1),
            explicit_timestamp_defaults: Some(true),
            utf8mb4_collation: Some(code(self.utf8mb4_collation)),
            ..StatusVars::default()
        }
    }

    /// The body of the event that begins a transaction, or ends the rows of a branch.
    fn frame(&self, statement: &[u8]) -> Vec<u8> {
        let vars = StatusVars {
            flags2: Some(self.flags2()),
            sql_mode: Some(self.sql_mode),
            charset: Some(self.collations.map(|id| id.0)),
            time_zone: Some(self.time_zone.as_ref().into()),
            catalog: Some("std".into()),
            ..StatusVars::default()
        };
        let database = self.database.unwrap_or("").as_bytes();
        let mut body = Vec::new();
        Query { connection: self.connection, seconds: 0, error: 0, vars, database, statement }.encode(&mut body);
        body
    }

    /// The event of a statement that is logged as its text.
    pub fn query_event(&self, log: &BinaryLog, text: &[u8], flags: u16) -> Finished {
        let header = log.header(EventKind::QUERY, self.time.0 as u32, flags);
        let header = Header { server_id: self.origin.map_or(header.server_id, |origin| origin.server_id), ..header };
        Finished::single(header, |out| self.query(text).encode(out))
    }

    fn query<'q>(&'q self, text: &'q [u8]) -> Query<'q> {
        Query {
            connection: self.connection,
            seconds: 0,
            error: 0,
            vars: self.status_vars(),
            database: self.database.unwrap_or("").as_bytes(),
            statement: text,
        }
    }
}

/// A table in a statement.
struct Mapped {
    table: u64,
    /// `None`: binlog_do_db or binlog_ignore_db leave its database out.
    described: Option<Arc<Described>>,
}

/// What the log says about a table: worked out once for each description of it.
struct Described {
    /// The unique indexes; none if no row of the table is certain to have a key.
    unique: Vec<usize>,
    /// By column: part of the key that finds a row; BLOB or TEXT; its values.
    is_key: Vec<bool>,
    is_blob: Vec<bool>,
    formats: Vec<ValueFormat>,
    /// The bodies of Table_map events, by [`RowMetadata`].
    maps: [OnceLock<Box<[u8]>>; 3],
}

impl Described {
    fn new(table: &Table) -> Described {
        let key = row_key(table);
        Described {
            unique: match &key {
                Some(_) => (0..table.indexes.len()).filter(|at| table.indexes[*at].unique).collect(),
                None => Vec::new(),
            },
            is_key: (0..shown(table).len()).map(|at| key.as_ref().is_none_or(|key| key.contains(&at))).collect(),
            is_blob: shown(table)
                .iter()
                .map(|column| {
                    use ColumnType::{Blob, Geometry, Json, Text};
                    matches!(column.ty, Blob { .. } | Text { .. } | Json | Geometry { .. })
                })
                .collect(),
            formats: shown(table).iter().map(|column| ValueFormat::of(&column.ty)).collect(),
            maps: Default::default(),
        }
    }

    fn map(&self, table: &Table, metadata: RowMetadata) -> &[u8] {
        self.maps[metadata as usize].get_or_init(|| {
            let mut body = Vec::new();
            table_map(table, metadata).encode(&mut body);
            body.into()
        })
    }
}

/// The rows event at the end of the cache that more rows may be added to.
struct OpenEvent {
    kind: RowsKind,
    table: u64,
    /// Where the images begin in the cache's buffer.
    images_at: usize,
}

/// Which columns the images of the open event have. Kept from one event to the next.
#[derive(Default)]
struct Columns {
    before: Vec<bool>,
    after: Vec<bool>,
}

/// See the module header.
pub struct RowLog {
    log: Arc<BinaryLog>,
    settings: LogSettings,
    cache: Cache,
    /// Where the statement begins in the cache; `None` = no statement that changes rows is running.
    mark: Option<u64>,
    /// Where savepoints are in the cache.
    saved: Vec<u64>,
    mapped: Vec<Mapped>,
    open: Option<OpenEvent>,
    columns: Columns,
    timestamp: u32,
    /// Where the transaction comes from, if it is a source's.
    origin: Option<Origin>,
    /// The keys that the transaction has written.
    writes: WriteSet,
    /// Of rows events.
    flags: u16,
    /// The body of BEGIN, and of Rows_query.
    begin: Vec<u8>,
    /// The transaction creates the table of its rows.
    defines: bool,
    /// The transaction is this branch, whose rows end with an event of this body.
    branch: Option<(Xid, Vec<u8>)>,
    name: Name,
    text: Option<Vec<u8>>,
    session: Arc<SessionOrder>,
    /// The rows of inner statements.
    inner: Inner,
}

/// A value by column: stored bytes, or None for NULL.
pub type Values<'v> = dyn Fn(usize) -> Option<&'v [u8]> + 'v;

/// The images of a row before and after its change.
#[derive(Clone, Copy)]
struct Images<'a, 'v> {
    before: Option<&'a Values<'v>>,
    after: Option<&'a Values<'v>>,
}

impl RowLog {
    pub fn new(log: &Arc<BinaryLog>, settings: LogSettings, session: &Arc<SessionOrder>) -> RowLog {
        RowLog {
            log: log.clone(),
            cache: log.cache(cache_settings(&settings)),
            settings,
            mark: None,
            saved: Vec::new(),
            mapped: Vec::new(),
            open: None,
            columns: Columns::default(),
            timestamp: 0,
            origin: None,
            writes: WriteSet::UNKNOWN,
            flags: 0,
            begin: Vec::new(),
            defines: false,
            branch: None,
            name: Name::Automatic,
            text: None,
            session: session.clone(),
            inner: Inner::default(),
        }
    }

    /// Transactions from now on are those of a source.
    pub fn set_origin(&mut self, origin: Option<Origin>) {
        self.origin = origin;
    }

    fn header(&self, kind: EventKind, flags: u16) -> Header {
        let header = self.log.header(kind, self.timestamp, flags);
        Header { server_id: self.origin.map_or(header.server_id, |origin| origin.server_id), ..header }
    }

    /// Whether the transaction has logged nothing.
    pub fn is_empty(&self) -> bool {
        self.cache.is_empty()
    }

    /// A statement that changes rows begins. The settings count from the next transaction on. `text`: to be logged
    /// beside the rows.
    pub fn begin_statement(&mut self, settings: LogSettings, facts: &StatementFacts<'_>, text: Option<&[u8]>) {
        if self.cache.is_empty() && settings != self.settings {
            self.settings = settings;
            self.cache.reset(cache_settings(&settings));
        }
        self.inner.clear();
        self.drop_event();
        self.mark = Some(self.cache.mark());
        self.mapped.clear();
        self.timestamp = facts.time.0 as u32;
        self.flags = check_flags(facts.foreign_key_checks, facts.unique_checks);
        self.text = text.map(<[u8]>::to_vec);
        if self.cache.is_empty() {
            self.writes.begin(self.log.keys_max());
            let named = |verb: &str, xid: &Xid| facts.frame(format!("XA {verb} {}", xid.to_hexadecimal()).as_bytes());
            self.begin = facts.branch.map_or_else(|| facts.frame(b"BEGIN"), |xid| named("START", xid));
            self.name = facts.name;
            self.branch = facts.branch.map(|xid| (xid.clone(), named("END", xid)));
        }
    }

    /// The statement has succeeded.
    pub fn end_statement(&mut self) -> Result<()> {
        self.close_event(true)?;
        self.text = None;
        self.forget_mark();
        Ok(())
    }

    /// The statement has failed, and its changes are undone.
    pub fn fail_statement(&mut self) {
        self.drop_event();
        self.text = None;
        if let Some(mark) = self.mark {
            self.cache.cut(mark);
        }
        self.forget_mark();
    }

    /// A place for a savepoint.
    pub fn mark(&mut self) -> u64 {
        let mark = self.cache.mark();
        self.saved.push(mark);
        mark
    }

    /// Nobody goes back to the beginning of a statement that has ended, unless a savepoint is there.
    fn forget_mark(&mut self) {
        if let Some(mark) = self.mark.take()
            && !self.saved.contains(&mark)
        {
            self.cache.forget_mark(mark);
        }
    }

    /// The transaction has logged nothing, and is logged as an empty one, so that the log has its name.
    pub fn name_alone(&mut self, settings: LogSettings, facts: &StatementFacts<'_>) -> Result<()> {
        self.begin_statement(settings, facts, None);
        self.append_begin()?;
        self.end_statement()
    }

    fn append_begin(&mut self) -> Result<()> {
        let header = self.header(EventKind::QUERY, flags::SUPPRESS_USE);
        let begin = &self.begin;
        self.cache.append(header, |out| out.extend_from_slice(begin)).map_err(cannot_log)
    }

    /// The transaction creates a table by this statement, and the table's rows follow.
    pub fn define(&mut self, facts: &StatementFacts<'_>, text: &[u8]) -> Result<()> {
        if self.cache.is_empty() {
            self.append_begin()?;
        }
        let header = self.header(EventKind::QUERY, 0);
        self.cache.append(header, |out| facts.query(text).encode(out)).map_err(cannot_log)?;
        // As any definition it depends on what was before, and what follows on it.
        self.writes.forget();
        self.defines = true;
        Ok(())
    }

    /// Back to a savepoint.
    pub fn cut(&mut self, mark: u64) {
        self.cache.cut(mark);
    }

    /// Forgets all savepoints but these.
    pub fn keep_marks(&mut self, kept: impl Fn(u64) -> bool) {
        self.saved.retain(|mark| kept(*mark));
        self.cache.keep_marks(kept);
    }

    /// The transaction has ended without a commit.
    pub fn reset(&mut self) {
        self.drop_event();
        (self.mark, self.branch, self.defines) = (None, None, false);
        self.saved.clear();
        self.cache.reset(cache_settings(&self.settings));
    }

    /// Commits a transaction together with what it has logged. The caller writes the log when that is durable.
    pub fn commit(&mut self, trx: Trx) -> storage::Result<()> {
        if self.cache.is_empty() {
            return trx.commit();
        }
        self.end(true, |pending| trx.commit_with(Some(pending)))
    }

    /// Prepares a branch together with what it has logged. The caller writes the log then.
    pub fn prepare(&mut self, trx: Trx, claim: XidClaim, attached: bool) -> storage::Result<()> {
        if self.cache.is_empty() {
            return trx.prepare(claim, attached);
        }
        self.end(false, |pending| trx.prepare_with(claim, attached, Some(pending)))
    }

    /// Gives a table its name together with what its creation has logged. `note`: see [`DefinitionLog::with_note`].
    pub fn commit_table(&mut self, table: UnfinishedTable, note: Option<(u32, Vec<u8>)>) -> storage::Result<()> {
        self.end(true, |pending| table.finish(Some(&Noted { log: pending, note })).map(drop))
    }

    /// The transaction ends: `with` makes its events part of that. If it is dropped, the transaction is rolled back.
    fn end(&mut self, commits: bool, with: impl FnOnce(&dyn CommitLog) -> storage::Result<()>) -> storage::Result<()> {
        let log = self.log.clone();
        // The end of a prepared branch does not know what was written: so it comes between, and others wait for it.
        let writes = std::mem::take(&mut self.writes);
        let finished = self.append_end(commits).and_then(|()| self.cache.finish());
        let pending = finished.and_then(|finished| log.pending(finished, self.timestamp, false));
        let ended = pending.and_then(|pending| {
            let pending = if self.defines { pending.with_definition() } else { pending };
            with(&pending.from(self.origin).named(self.name).writing(writes).of(&self.session))
        });
        self.reset();
        ended
    }

    fn append_end(&mut self, commits: bool) -> storage::Result<()> {
        let (query, xid, xa_prepare) = (EventKind::QUERY, EventKind::XID, EventKind::XA_PREPARE);
        let [query, xid, xa_prepare] =
            [(query, flags::SUPPRESS_USE), (xid, 0), (xa_prepare, 0)].map(|(kind, flags)| self.header(kind, flags));
        match &self.branch {
            Some((name, rows_end)) => {
                self.cache.append(query, |out| out.extend_from_slice(rows_end))?;
                let end = Control::XaPrepare { one_phase: commits, xid: name.clone() };
                self.cache.append(xa_prepare, |out| end.encode(out))
            }
            None => {
                let number = self.log.next_xid();
                self.cache.append(xid, |out| out.extend_from_slice(&number.to_le_bytes()))
            }
        }
    }

    // Rows

    /// A row was inserted.
    pub fn insert<'v>(&mut self, table: &Arc<Table>, after: &Values<'v>) -> Result<()> {
        self.row(RowsKind::Write, table, Images { before: None, after: Some(after) }, &|_| true)
    }

    /// A row was deleted.
    pub fn delete<'v>(&mut self, table: &Arc<Table>, before: &Values<'v>) -> Result<()> {
        self.row(RowsKind::Delete, table, Images { before: Some(before), after: None }, &|_| false)
    }

    /// A row was changed in some columns.
    pub fn update<'v>(
        &mut self,
        table: &Arc<Table>,
        before: &Values<'v>,
        after: &Values<'v>,
        changed: &dyn Fn(usize) -> bool,
    ) -> Result<()> {
        self.row(RowsKind::Update, table, Images { before: Some(before), after: Some(after) }, changed)
    }

    fn row(
        &mut self,
        kind: RowsKind,
        table: &Arc<Table>,
        row: Images<'_, '_>,
        changed: &dyn Fn(usize) -> bool,
    ) -> Result<()> {
        match table.is_temporary() {
            true => Ok(()),
            false if self.inner.is_running() => self.wait(kind, table, row, changed),
            false => self.row_now(kind, table, row, changed),
        }
    }

    fn row_now(
        &mut self,
        kind: RowsKind,
        table: &Table,
        row: Images<'_, '_>,
        changed: &dyn Fn(usize) -> bool,
    ) -> Result<()> {
        let at = self.map(table)?;
        let mapped = std::mem::take(&mut self.mapped);
        let logged = match &mapped[at].described {
            Some(described) => self.row_of(kind, table, described, row, changed),
            None => Ok(()),
        };
        self.mapped = mapped;
        logged
    }

    fn row_of(
        &mut self,
        kind: RowsKind,
        table: &Table,
        known: &Described,
        row: Images<'_, '_>,
        changed: &dyn Fn(usize) -> bool,
    ) -> Result<()> {
        let images = self.settings.images;
        let id = table.id.0;
        let in_before = |at: usize| match images {
            RowImages::Full => true,
            RowImages::NoBlob => known.is_key[at] || !known.is_blob[at],
            RowImages::Minimal => known.is_key[at],
        };
        let in_after = |at: usize| match images {
            RowImages::Full => true,
            RowImages::NoBlob => changed(at) || !known.is_blob[at],
            RowImages::Minimal => changed(at),
        };
        let columns = known.formats.len();
        // A full event is closed when another row comes: the statement's last event says that it is the last.
        let bytes = self.cache.buffer().len();
        let fits = self.open.as_ref().is_some_and(|open| {
            let same =
                |present: &[bool], wanted: &dyn Fn(usize) -> bool| (0..columns).all(|at| present[at] == wanted(at));
            open.kind == kind
                && bytes - open.images_at < self.settings.event_bytes_max
                && open.table == id
                && (images == RowImages::Full
                    || (row.before.is_none() || same(&self.columns.before, &in_before))
                        && (row.after.is_none() || same(&self.columns.after, &in_after)))
        });
        if !fits {
            self.columns.before.clear();
            self.columns.before.extend((0..columns).map(in_before));
            self.columns.after.clear();
            self.columns.after.extend((0..columns).map(in_after));
            self.close_event(false)?;
            self.open_event(kind, id, columns);
        }
        let out = self.cache.buffer();
        let row_at = out.len();
        for (values, present) in [(row.before, &self.columns.before), (row.after, &self.columns.after)] {
            if let Some(values) = values {
                // No row is logged by half.
                put_image(&known.formats, values, present, out).inspect_err(|_| out.truncate(row_at))?;
            }
        }
        if self.writes.is_known() {
            self.note_keys(known, table, row);
        }
        Ok(())
    }

    /// Notes which keys the row had and has. What is undone later stays noted, which costs parallelism only.
    fn note_keys(&mut self, known: &Described, table: &Table, row: Images<'_, '_>) {
        // A row has several keys in a multi-valued index.
        let has_arrays = known.unique.iter().any(|index| table.indexes[*index].has_several_entries());
        if known.unique.is_empty() || table.is_related() || has_arrays {
            return self.writes.forget();
        }
        for &index in &known.unique {
            let [before, after] =
                [row.before, row.after].map(|values| values.and_then(|values| table.unique_key_hash(index, values)));
            if let Some(key) = before {
                self.writes.add(key);
            }
            if let Some(key) = after.filter(|_| after != before) {
                self.writes.add(key);
            }
        }
    }

    /// Logs the table's description unless the rows before are its own. Returns its place among the tables that are known.
    fn map(&mut self, table: &Table) -> Result<usize> {
        if let Some(at) = self.mapped.iter().position(|mapped| mapped.table == table.id.0) {
            return Ok(at);
        }
        if !self.log.logs(Some(&table.database)) {
            self.mapped.push(Mapped { table: table.id.0, described: None });
            return Ok(self.mapped.len() - 1);
        }
        self.close_event(true)?;
        self.mapped.retain(|mapped| mapped.described.is_none());
        if self.cache.is_empty() {
            self.append_begin()?;
        }
        if let Some(text) = self.text.take() {
            let header = self.header(EventKind::ROWS_QUERY, flags::IGNORABLE);
            let append = |out: &mut Vec<u8>| {
                out.push(text.len().min(255) as u8);
                out.extend_from_slice(&text);
            };
            self.cache.append(header, append).map_err(cannot_log)?;
        }
        let described = table.derived.get_or_init(|| Described::new(table));
        let map = described.map(table, self.settings.metadata);
        let header = self.header(EventKind::TABLE_MAP, 0);
        self.cache.append(header, |out| out.extend_from_slice(map)).map_err(cannot_log)?;
        self.mapped.push(Mapped { table: table.id.0, described: Some(described) });
        Ok(self.mapped.len() - 1)
    }

    /// The flags of the rows that follow. An event has only rows with the same ones.
    fn take_flags(&mut self, flags: u16) -> Result<()> {
        if flags != self.flags {
            self.close_event(false)?;
            self.flags = flags;
        }
        Ok(())
    }

    /// Begins a rows event with the columns of `self.columns`.
    fn open_event(&mut self, kind: RowsKind, table: u64, columns: usize) {
        let event_kind = match kind {
            RowsKind::Write => EventKind::WRITE_ROWS,
            RowsKind::Update | RowsKind::PartialUpdate => EventKind::UPDATE_ROWS,
            RowsKind::Delete => EventKind::DELETE_ROWS,
        };
        let header = self.header(event_kind, 0);
        self.cache.open(header);
        let (Columns { before, after }, out) = (&self.columns, self.cache.buffer());
        encode_head_of(kind, table, self.flags, columns, before, after, out);
        self.open = Some(OpenEvent { kind, table, images_at: out.len() });
    }

    fn close_event(&mut self, ends_statement: bool) -> Result<()> {
        if self.open.take().is_none() {
            return Ok(());
        }
        let flags = self.flags | if ends_statement { row_flags::STATEMENT_END } else { 0 };
        self.cache.close(|body| rows::set_flags(body, flags)).map_err(cannot_log)?;
        if self.cache.bytes() > self.settings.transaction_bytes_max {
            return Err(Error::log_cache_full());
        }
        Ok(())
    }

    fn drop_event(&mut self) {
        self.open = None;
        self.cache.drop_open();
    }
}

fn cache_settings(settings: &LogSettings) -> CacheSettings {
    CacheSettings {
        memory_bytes: settings.cache_bytes,
        compression: settings.compression,
        payload_bytes_max: PAYLOAD_BYTES_MAX,
    }
}

fn cannot_log(error: storage::Error) -> Error {
    storage_error(error)
}

/// The columns that the log has. Those made for functional parts of indexes are nobody else's matter; they are the last.
fn shown(table: &Table) -> &[Column] {
    let count = table.columns.iter().take_while(|column| !column.is_hidden()).count();
    &table.columns[..count]
}

/// The columns that find a row: of the primary key, or of another unique key without NULLs. `None` = all.
fn row_key(table: &Table) -> Option<Vec<usize>> {
    let serves = |index: &&storage::Index| {
        index.unique
            && !index.parts.is_empty()
            && index.parts.iter().all(|part| {
                let column = &table.columns[part.column];
                !column.nullable && !column.is_hidden() && part.prefix_chars.is_none()
            })
    };
    let index = table.indexes.iter().find(|index| index.primary).filter(serves);
    let index = index.or_else(|| table.indexes.iter().find(serves))?;
    Some(index.parts.iter().map(|part| part.column).collect())
}

fn table_map(table: &Table, metadata: RowMetadata) -> TableMap {
    let mut columns: Vec<_> = shown(table).iter().map(|column| column_of(&column.ty, column.nullable)).collect();
    for (column, described) in columns.iter_mut().zip(&table.columns) {
        match metadata {
            RowMetadata::NoLog => (column.unsigned, column.collation) = (None, None),
            RowMetadata::Minimal if matches!(column.code, ColumnCode::ENUM | ColumnCode::SET) => {
                column.collation = None;
            }
            RowMetadata::Minimal => {}
            RowMetadata::Full => {
                column.name = Some(described.name.as_bytes().into());
                column.visible = Some(!described.invisible);
                if let ColumnType::Enum { members, .. } | ColumnType::Set { members, .. } = &described.ty {
                    column.members = Some(members.iter().map(|member| member.as_bytes().into()).collect());
                }
            }
        }
    }
    let key = table.indexes.iter().find(|index| index.primary).filter(|_| metadata == RowMetadata::Full);
    let parts = key.iter().flat_map(|index| &index.parts);
    let primary_key =
        parts.map(|part| KeyPart { column: part.column, prefix: u64::from(part.prefix_chars.unwrap_or(0)) });
    TableMap {
        id: table.id.0,
        flags: 1,
        database: table.database.as_bytes().into(),
        table: table.name.as_bytes().into(),
        primary_key: primary_key.collect(),
        columns,
    }
}

/// Appends the NULL bits and the values of the columns that are present.
fn put_image(formats: &[ValueFormat], values: &Values<'_>, present: &[bool], out: &mut Vec<u8>) -> Result<()> {
    let nulls_at = out.len();
    let count = present.iter().filter(|present| **present).count();
    out.resize(nulls_at + count.div_ceil(8), 0);
    let columns = formats.iter().enumerate().filter(|(at, _)| present[*at]);
    for (bit, (at, format)) in columns.enumerate() {
        match values(at) {
            Some(stored) => format.append(stored, out).map_err(|error| {
                Error::new(1534, b"HY000", format!("Writing one row to the row-based binary log failed: {error}"))
            })?,
            None => out[nulls_at + bit / 8] |= 1 << (bit % 8),
        }
    }
    Ok(())
}

/// A statement of definition on its way through the engine, which commits it once: its event in the log, if there is a
/// log, and how far a replica has come with it, if it is a source's.
pub struct DefinitionLog {
    log: Option<(Arc<BinaryLog>, parking_lot::Mutex<Option<Finished>>)>,
    timestamp: u32,
    origin: Option<Origin>,
    name: Name,
    note: Option<(u32, Vec<u8>)>,
    session: Option<Arc<SessionOrder>>,
}

impl DefinitionLog {
    /// `of_database`: the statement does not depend on the current database.
    pub fn new(log: &Arc<BinaryLog>, facts: &StatementFacts<'_>, text: &[u8], of_database: bool) -> DefinitionLog {
        let flags = if of_database { flags::SUPPRESS_USE } else { 0 };
        let finished = parking_lot::Mutex::new(Some(facts.query_event(log, text, flags)));
        DefinitionLog {
            log: Some((log.clone(), finished)),
            timestamp: facts.time.0 as u32,
            origin: facts.origin,
            name: facts.name,
            note: None,
            session: Some(facts.order.clone()),
        }
    }

    /// Logs a transaction that changes nothing.
    pub fn log_empty(log: &Arc<BinaryLog>, facts: &StatementFacts<'_>, name: Name) -> storage::Result<()> {
        let finished = Self::empty(log, facts)?;
        let pending = log.pending(finished, facts.time.0 as u32, false)?;
        log.log_alone(&pending.from(facts.origin).named(name).of(facts.order))
    }

    /// A statement of a source that this server's log leaves out: its name is logged with an empty transaction.
    pub fn left_out(log: &Arc<BinaryLog>, facts: &StatementFacts<'_>) -> storage::Result<DefinitionLog> {
        let finished = parking_lot::Mutex::new(Some(Self::empty(log, facts)?));
        Ok(DefinitionLog {
            log: Some((log.clone(), finished)),
            timestamp: facts.time.0 as u32,
            origin: facts.origin,
            name: facts.name,
            note: None,
            session: Some(facts.order.clone()),
        })
    }

    fn empty(log: &Arc<BinaryLog>, facts: &StatementFacts<'_>) -> storage::Result<Finished> {
        let compression = CacheSettings { memory_bytes: 4096, compression: None, payload_bytes_max: PAYLOAD_BYTES_MAX };
        let mut cache = log.cache(compression);
        for statement in [&b"BEGIN"[..], b"COMMIT"] {
            let mut header = log.header(EventKind::QUERY, facts.time.0 as u32, flags::SUPPRESS_USE);
            header.server_id = facts.origin.map_or(header.server_id, |origin| origin.server_id);
            cache.append(header, |out| out.extend_from_slice(&facts.frame(statement)))?;
        }
        cache.finish()
    }

    /// Without an event.
    pub fn unlogged() -> DefinitionLog {
        DefinitionLog { log: None, timestamp: 0, origin: None, name: Name::Automatic, note: None, session: None }
    }

    /// With a note that the commit leaves in a slot.
    pub fn with_note(self, note: (u32, Vec<u8>)) -> DefinitionLog {
        DefinitionLog { note: Some(note), ..self }
    }
}

impl CommitLog for DefinitionLog {
    fn commit(
        &self,
        append: &mut dyn FnMut(storage::Annexed<'_>) -> storage::Result<format::ids::Lsn>,
    ) -> storage::Result<format::ids::Lsn> {
        let Some((log, finished)) = &self.log else { return append(None) };
        match finished.lock().take() {
            Some(finished) => {
                let pending = log.pending(finished, self.timestamp, true)?.from(self.origin).named(self.name);
                match &self.session {
                    Some(session) => pending.of(session).commit(append),
                    None => pending.commit(append),
                }
            }
            None => append(None),
        }
    }

    fn note(&self) -> Option<(u32, Vec<u8>)> {
        self.note.clone()
    }
}

/// The log of a commit, with a note that the commit leaves in a slot.
struct Noted<'l> {
    log: &'l dyn CommitLog,
    note: Option<(u32, Vec<u8>)>,
}

impl CommitLog for Noted<'_> {
    fn commit(
        &self,
        append: &mut dyn FnMut(storage::Annexed<'_>) -> storage::Result<format::ids::Lsn>,
    ) -> storage::Result<format::ids::Lsn> {
        self.log.commit(append)
    }

    fn note(&self) -> Option<(u32, Vec<u8>)> {
        self.note.clone()
    }
}
