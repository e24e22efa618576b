//! A session's part in the binary log: what its transactions write, and the statements that show and manage the log.

use std::cell::RefCell;
use std::sync::Arc;

use binlog::{BinaryLog, FileName, Origin, Purged};
use format::binlog::payload::Payload;
use format::binlog::{Control, Event, EventKind, GtidSet, Query, Rows, TableMap, flags, gtid};
use format::collation::{Charset, collation, convert};
use format::value::{ColumnType, Value, write_double, write_i64, write_u64};
use storage::{Trx, XidClaim};

use super::Session;
use crate::catalog::{OrSqlError, database_of, storage_error};
use crate::ddl;
use crate::describe;
use crate::error::{Error, Result};
use crate::parser::ast::{CreateTable, LogPlace, Purge, Statement};
use crate::parser::lexer::{Kind, Lexer};
use crate::row_log::{DefinitionLog, LogSettings, RowLog, StatementFacts};
use crate::show::{Listing, text_column, unsigned_column};
use crate::types::SqlMode;
use crate::variables::TimeZone;

impl Session {
    /// The log that this session's changes go to.
    pub(super) fn own_log(&self) -> Option<&Arc<BinaryLog>> {
        self.instance.log.as_ref().filter(|_| self.variables.settings.sql_log_bin)
    }

    /// The session's log, if it does not have the name yet under which a source's transaction is applied.
    pub(super) fn unlogged_name(&self) -> Option<&Arc<BinaryLog>> {
        let gtid = self.origin()?.gtid?;
        self.own_log().filter(|log| !log.has_executed(gtid))
    }

    /// The open transaction of a source has its name in this server's log, also if nothing else of it is.
    pub(super) fn log_name(&mut self) -> Result<()> {
        if self.row_log.as_mut().is_some_and(|rows| !rows.get_mut().is_empty()) {
            return Ok(());
        }
        let Some(log) = self.unlogged_name().cloned() else { return Ok(()) };
        let settings = self.log_settings();
        let mut rows =
            self.row_log.take().unwrap_or_else(|| RefCell::new(RowLog::new(&log, settings, &self.state.order)));
        rows.get_mut().set_origin(self.origin());
        let named = rows.get_mut().name_alone(settings, &self.statement_facts());
        self.row_log = Some(rows);
        named
    }

    /// Where the changes were made first, if that was a source.
    pub(super) fn origin(&self) -> Option<Origin> {
        self.applying.as_ref().and_then(|applying| applying.origin)
    }

    pub(super) fn statement_facts(&self) -> StatementFacts<'_> {
        let settings = &self.variables.settings;
        StatementFacts {
            connection: self.process.id,
            time: self.state.timestamp.get().unwrap_or_else(super::clock),
            database: self.state.database.as_deref(),
            sql_mode: settings.sql_mode.0,
            foreign_key_checks: settings.foreign_key_checks,
            unique_checks: settings.unique_checks,
            autocommit: settings.autocommit,
            auto_increment: (settings.auto_increment_increment, settings.auto_increment_offset),
            collations: [settings.statement_charset(), settings.collation_connection, settings.collation_server],
            database_collation: settings.collation_database,
            utf8mb4_collation: settings.utf8mb4_collation,
            time_zone: match settings.time_zone {
                TimeZone::System => "SYSTEM".into(),
                TimeZone::Zone(zone) => {
                    let mut text = Vec::new();
                    zone.write(&mut text);
                    String::from_utf8_lossy(&text).into_owned().into()
                }
            },
            origin: self.origin(),
            branch: self.own_xid(),
            name: self.state.gtid_next.name(),
            order: &self.state.order,
        }
    }

    /// The text of a prepared statement for the binary log, with its values if it is logged beside the rows.
    pub(super) fn remember_prepared(&mut self, text: &[u8], parameters: &[Value]) {
        self.remember_source(text);
        if !parameters.is_empty() && self.variables.settings.log_statements && self.own_log().is_some() {
            self.source = with_values(&self.source, parameters, self.variables.settings.sql_mode);
        }
    }

    /// What the next transaction is logged with.
    pub(super) fn log_settings(&self) -> LogSettings {
        let (settings, globals) = (&self.variables.settings, self.instance.variables.log());
        // The replica's sessions last: they take what is set now (`a_replica_compresses_from_the_next_transaction_on`).
        let (compresses, level) = match self.applying.is_some() || !globals.sessions_choose_compression() {
            true => globals.compression(),
            false => (settings.log_compression, settings.log_compression_level),
        };
        LogSettings {
            compression: compresses.then_some(level),
            cache_bytes: globals.cache_bytes(),
            transaction_bytes_max: globals.transaction_bytes_max(),
            event_bytes_max: globals.event_bytes_max(),
            images: settings.row_images,
            metadata: globals.metadata(),
        }
    }

    /// A statement that changes rows begins.
    pub(super) fn begin_row_log(&mut self) {
        let Some(log) = self.own_log().cloned() else { return };
        let settings = self.log_settings();
        let mut rows =
            self.row_log.take().unwrap_or_else(|| RefCell::new(RowLog::new(&log, settings, &self.state.order)));
        let text = self.variables.settings.log_statements.then_some(&self.source[..]).filter(|text| !text.is_empty());
        if self.trx.is_none() && !rows.get_mut().is_empty() {
            rows.get_mut().reset();
        }
        rows.get_mut().set_origin(self.origin());
        rows.get_mut().begin_statement(settings, &self.statement_facts(), text);
        self.row_log = Some(rows);
    }

    /// The statement has ended: its events stay if it succeeded.
    pub(super) fn end_row_log<T>(&mut self, result: Result<T>) -> Result<T> {
        let Some(log) = &mut self.row_log else { return result };
        let log = log.get_mut();
        match result.and_then(|value| log.end_statement().map(|()| value)) {
            Ok(value) => Ok(value),
            Err(error) => {
                log.fail_statement();
                Err(error)
            }
        }
    }

    /// The transaction has ended without a commit. A table that it was to create goes before its rows are undone: that
    /// takes no time then.
    pub(super) fn reset_row_log(&mut self) {
        if self.creating.take().is_some() {
            self.forget_plans();
        }
        if let Some(log) = &mut self.row_log
            && !log.get_mut().is_empty()
        {
            log.get_mut().reset();
        }
    }

    /// Commits a transaction together with its events.
    pub(super) fn commit_logged(&mut self, trx: Trx) -> storage::Result<()> {
        if let Some(table) = self.creating.take() {
            return self.commit_table(*table, trx);
        }
        match self.row_log.as_mut().map(RefCell::get_mut).filter(|rows| !rows.is_empty()) {
            None => trx.commit(),
            // Nothing is durable yet: the order of commits waits for it, and then writes the log.
            Some(rows) if trx.has_place() => rows.commit(trx),
            Some(rows) => rows.commit(trx).and_then(|()| self.acknowledge()),
        }
    }

    /// Prepares a branch together with its events.
    pub(super) fn prepare_logged(&mut self, trx: Trx, claim: XidClaim, attached: bool) -> storage::Result<()> {
        match self.row_log.as_mut().map(RefCell::get_mut).filter(|rows| !rows.is_empty()) {
            None => trx.prepare(claim, attached),
            Some(rows) => rows.prepare(trx, claim, attached).and_then(|()| self.acknowledge()),
        }
    }

    /// What is durable is written into the log, and replicas have it if commits are to wait for them.
    pub(super) fn acknowledge(&self) -> storage::Result<()> {
        let Some(log) = &self.instance.log else { return Ok(()) };
        log.write()?;
        log.await_replicas(&|| self.process.interrupt.is_set())
    }

    /// What logs the statement that ends a prepared branch.
    pub(super) fn branch_end_log(&self, statement: &str) -> Option<DefinitionLog> {
        let log = self.own_log()?;
        Some(DefinitionLog::new(log, &self.statement_facts(), statement.as_bytes(), true))
    }

    /// The savepoints that there are now.
    pub(super) fn keep_savepoints(&mut self) {
        if let Some(log) = &mut self.row_log {
            let savepoints = &self.savepoints;
            log.get_mut().keep_marks(|mark| savepoints.iter().any(|savepoint| savepoint.mark == mark));
        }
    }

    /// A table's name in a statement that is logged. Without the default database, which a replica may rename.
    pub(super) fn logged_name(&self, database: &str, table: &str) -> String {
        match self.state.database.as_deref() == Some(database) {
            true => describe::quoted(table).to_string(),
            false => format!("{}.{}", describe::quoted(database), describe::quoted(table)),
        }
    }

    /// What logs a statement of definition, once the engine commits it.
    pub(super) fn definition_log(&self, statement: &Statement) -> Result<Option<Arc<DefinitionLog>>> {
        let about = match statement {
            Statement::CreateDatabase { name, .. } | Statement::DropDatabase { name, .. } => Some(name.as_str()),
            Statement::AlterDatabase { name: Some(name), .. } => Some(name.as_str()),
            _ => self.state.database.as_deref(),
        };
        let Some(log) = self.own_log().filter(|log| log.logs(about)) else {
            return Ok(self.left_out_log().or_sql()?.map(Arc::new));
        };
        let text = match statement {
            // A server's own matter.
            Statement::AlterDatabase { options, .. } if options.read_only.is_some() => return Ok(None),
            Statement::Maintain { histogram: Some(_), is_logged: true, .. } => self.source.clone(),
            // The engine alone knows which of their tables changed at all.
            Statement::Maintain { .. } => return Ok(None),
            Statement::TruncateTable(table)
                if ddl::is_counted(database_of(table, self.state.database.as_deref())?, &table.name) =>
            {
                return Ok(None);
            }
            Statement::CreateView(create) => self.logged_view(create)?,
            Statement::DropTables { tables, .. } => {
                let mut names = Vec::new();
                for table in tables {
                    let database = database_of(table, self.state.database.as_deref())?;
                    let own = self.temporary.get().is_some_and(|own| own.table(database, &table.name).is_some());
                    if !own && self.instance.engine.table(database, &table.name).is_some() {
                        names.push(self.logged_name(database, &table.name));
                    }
                }
                format!("DROP TABLE IF EXISTS {} /* generated by server */", names.join(", ")).into_bytes()
            }
            Statement::DropSequences { sequences, .. } => {
                let mut names = Vec::new();
                for sequence in sequences {
                    let database = database_of(sequence, self.state.database.as_deref())?;
                    let is_it = |table: Arc<storage::Table>| crate::sequences::is_sequence(&table);
                    let own = self.temporary.get().and_then(|own| own.table(database, &sequence.name));
                    if !own.is_some_and(is_it)
                        && self.instance.engine.table(database, &sequence.name).is_some_and(is_it)
                    {
                        names.push(self.logged_name(database, &sequence.name));
                    }
                }
                format!("DROP SEQUENCE IF EXISTS {} /* generated by server */", names.join(", ")).into_bytes()
            }
            Statement::CreateTable(create) => match self.own_table_like(create)? {
                // Replicas do not have the temporary table.
                Some(like) => {
                    let database = database_of(&create.table, self.state.database.as_deref())?;
                    let name = self.logged_name(database, &create.table.name);
                    describe::create_table_as(&like, &name, create.if_not_exists, 0, self.zone()).into_bytes()
                }
                None => self.source.clone(),
            },
            _ => self.source.clone(),
        };
        let of_database = matches!(statement, Statement::CreateDatabase { .. } | Statement::DropDatabase { .. });
        let definition = DefinitionLog::new(log, &self.statement_facts(), &text, of_database);
        Ok(Some(Arc::new(match self.note() {
            Some(note) => definition.with_note(note),
            None => definition,
        })))
    }

    /// What logs a statement that defines a program, of which this is the text.
    pub(super) fn program_log(&self, text: &str) -> Result<Option<Arc<DefinitionLog>>> {
        let Some(log) = self.own_log().filter(|log| log.logs(self.state.database.as_deref())) else {
            return Ok(self.left_out_log().or_sql()?.map(Arc::new));
        };
        // The event says in which character set its text is: the client's.
        let client = collation(self.variables.settings.statement_charset()).charset;
        let mut written = Vec::new();
        convert(text.as_bytes(), Charset::Utf8mb4, client, &mut written);
        let definition = DefinitionLog::new(log, &self.statement_facts(), &written, false);
        Ok(Some(Arc::new(match self.note() {
            Some(note) => definition.with_note(note),
            None => definition,
        })))
    }

    /// How far a replica has come is part of the commit of a definition.
    pub(super) fn note(&self) -> Option<(u32, Vec<u8>)> {
        self.applying.as_ref().and_then(|applying| applying.note.clone())
    }

    /// For a definition that this server's log leaves out; `None` = there is nothing to be noted either.
    pub(super) fn left_out_log(&self) -> storage::Result<Option<DefinitionLog>> {
        if self.applying.is_none() {
            return Ok(None);
        }
        let left_out = match self.unlogged_name() {
            Some(log) => DefinitionLog::left_out(log, &self.statement_facts())?,
            None => DefinitionLog::unlogged(),
        };
        Ok(Some(match self.note() {
            Some(note) => left_out.with_note(note),
            None => left_out,
        }))
    }

    /// The session's temporary table that a new table is to be like.
    fn own_table_like(&self, create: &CreateTable) -> Result<Option<Arc<storage::Table>>> {
        let (Some(like), Some(own)) = (&create.like, self.temporary.get()) else { return Ok(None) };
        Ok(own.table(database_of(like, self.state.database.as_deref())?, &like.name))
    }

    /// What was committed by a statement of definition becomes readable in the log's file.
    pub(super) fn write_log(&self) -> Result<()> {
        match self.own_log() {
            Some(_) => self.acknowledge().or_sql(),
            None => Ok(()),
        }
    }

    fn log(&self) -> Result<&Arc<BinaryLog>> {
        self.instance.log.as_ref().ok_or_else(|| Error::new(1381, b"HY000", "You are not using binary logging"))
    }

    /// PURGE BINARY LOGS.
    pub(super) fn purge_logs(&mut self, purge: &Purge) -> Result<()> {
        if self.instance.log.is_none() {
            return Ok(());
        }
        match purge {
            Purge::To(name) => {
                let known = FileName::parse(name).map(|name| self.log()?.purge_to(&name).or_sql()).transpose()?;
                match known.flatten() {
                    Some(purged) => {
                        self.tell_purged(&purged);
                        Ok(())
                    }
                    None => Err(Error::new(1373, b"HY000", "Target log not found in binlog index")),
                }
            }
            Purge::Before(expr) => {
                let value = self.evaluate(&as_unix_seconds(expr))?.0;
                let seconds = match value {
                    Value::Int(seconds) => seconds.max(0) as u64,
                    Value::UInt(seconds) => seconds,
                    Value::Decimal(seconds) => seconds.to_f64().max(0.0) as u64,
                    _ => return Err(Error::wrong_arguments("PURGE LOGS BEFORE")),
                };
                let purged = self.log()?.purge_before(seconds).or_sql()?;
                self.tell_purged(&purged);
                Ok(())
            }
        }
    }

    /// Warns if files stayed because replicas read them.
    fn tell_purged(&mut self, purged: &Purged) {
        let Some((file, readers)) = &purged.in_use else { return };
        let message = format!(
            "file {file} was not purged because it was being read by {readers} thread(s), purged only {} out of {} files.",
            purged.removed, purged.wanted
        );
        self.warnings.push(Error::new(1867, b"HY000", message).into_warning());
    }

    /// RESET MASTER, RESET BINARY LOGS AND GTIDS.
    pub(super) fn reset_logs(&mut self) -> Result<()> {
        self.commit()?;
        self.log()?.reset().or_sql()
    }

    /// FLUSH BINARY LOGS, FLUSH LOGS: a new file.
    pub(super) fn rotate_logs(&mut self) -> Result<()> {
        self.instance.log.as_ref().map_or(Ok(()), |log| log.rotate()).or_sql()
    }

    /// SHOW BINARY LOGS.
    pub(super) fn show_logs(&self) -> Result<Listing> {
        let files = self.log()?.list().or_sql()?;
        let row = |file: binlog::Listed| vec![text(&file.name.to_string()), Value::UInt(file.bytes), text("No")];
        Ok(Listing {
            columns: vec![text_column("Log_name"), unsigned_column("File_size"), text_column("Encrypted")],
            rows: files.into_iter().map(row).collect(),
        })
    }

    /// SHOW MASTER STATUS.
    pub(super) fn show_log_status(&self) -> Result<Listing> {
        let mut rows = Vec::new();
        if let Some(log) = &self.instance.log {
            let (position, executed) = log.position().or_sql()?;
            let (file, at) = (position.file.to_string(), Value::UInt(position.position));
            let (only, not) = log.databases().map(binlog::Databases::shown).unwrap_or_default();
            rows.push(vec![text(&file), at, text(&only), text(&not), text(&executed.to_string())]);
        }
        let columns = ["File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set"];
        let column = |name: &&str| if *name == "Position" { unsigned_column(name) } else { text_column(name) };
        Ok(Listing { columns: columns.iter().map(column).collect(), rows })
    }

    /// SHOW REPLICAS, and by its old name SHOW SLAVE HOSTS.
    pub(super) fn show_replicas(&self, new_names: bool) -> Listing {
        let columns = match new_names {
            true => ["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"],
            false => ["Server_id", "Host", "Port", "Master_id", "Slave_UUID"],
        };
        let column = |name: &&str| match *name {
            "Host" | "Replica_UUID" | "Slave_UUID" => text_column(name),
            _ => unsigned_column(name),
        };
        let row = |replica: crate::dumps::Replica| {
            let number = |number: u32| Value::UInt(number.into());
            let port = number(replica.port.into());
            vec![number(replica.server_id), text(&replica.host), port, number(replica.source_id), text(&replica.uuid)]
        };
        let rows = self.instance.dumps.replicas().into_iter().map(row).collect();
        Listing { columns: columns.iter().map(column).collect(), rows }
    }

    /// SHOW BINLOG EVENTS.
    pub(super) fn show_events(&self, place: &LogPlace) -> Result<Listing> {
        let columns = ["Log_name", "Pos", "Event_type", "Server_id", "End_log_pos", "Info"];
        let is_number = |name: &str| matches!(name, "Pos" | "Server_id" | "End_log_pos");
        let column = |name: &&str| if is_number(name) { unsigned_column(name) } else { text_column(name) };
        let columns = columns.iter().map(column).collect();
        let Ok(log) = self.log() else { return Ok(Listing { columns, rows: Vec::new() }) };
        let cannot =
            |why: &str| Error::new(1220, b"HY000", format!("Error when executing command SHOW BINLOG EVENTS: {why}"));
        let name = match &place.file {
            Some(name) => FileName::parse(name).ok_or_else(|| cannot("Could not find target log"))?,
            None => log.first(),
        };
        let mut reader = log.read(&name).or_sql()?.ok_or_else(|| cannot("Could not find target log"))?;
        let mut listing = EventRows { file: text(&name.to_string()), rows: Vec::new(), at_most: place.rows };
        let (mut skipped, from) = (0, place.position.unwrap_or(4).max(4));
        reader.seek(4);
        loop {
            let next = reader.next_event().map_err(|error| cannot(&error.to_string()))?;
            let Some((at, event)) = next else { break };
            if at < from {
                if at + event.bytes.len() as u64 > from {
                    return Err(cannot("Wrong offset or I/O error"));
                }
                continue;
            }
            if skipped < place.skip {
                skipped += 1;
                continue;
            }
            if !listing.add(at, u64::from(event.header.end_position), &event)? {
                break;
            }
        }
        Ok(Listing { columns, rows: listing.rows })
    }

    /// The variables whose values the log knows.
    pub(super) fn refresh_log_variables(&self) -> Result<()> {
        let bytes = |set: &GtidSet| Value::Bytes(set.to_string().into_bytes());
        self.instance.variables.fill_in("gtid_executed", bytes(&self.instance.executed_gtids()));
        let position = self.instance.mariadb_position().to_string().into_bytes();
        for name in ["gtid_slave_pos", "gtid_current_pos"] {
            self.instance.variables.fill_in(name, Value::Bytes(position.clone()));
        }
        if let Some(log) = &self.instance.log {
            self.instance.variables.fill_in("gtid_owned", Value::Bytes(super::gtid::all_owned(log).into_bytes()));
            self.instance.variables.fill_in("gtid_purged", bytes(&log.purged().map_err(storage_error)?));
        }
        Ok(())
    }
}

/// A statement with values in the places of its question marks.
pub(super) fn with_values(text: &[u8], values: &[Value], mode: SqlMode) -> Vec<u8> {
    let mut lexer = Lexer::new(text, 0, mode);
    let (mut out, mut copied, mut values) = (Vec::with_capacity(text.len()), 0, values.iter());
    loop {
        let token = lexer.next_token();
        if matches!(token.kind, Kind::End | Kind::Bad) {
            break;
        }
        if token.kind == Kind::Parameter
            && let Some(value) = values.next()
        {
            out.extend_from_slice(&text[copied..token.start as usize]);
            put_literal(value, mode, &mut out);
            copied = token.end as usize;
        }
    }
    out.extend_from_slice(&text[copied..]);
    out
}

fn put_literal(value: &Value, mode: SqlMode, out: &mut Vec<u8>) {
    let quoted = |ty: ColumnType, fraction: &[u8], out: &mut Vec<u8>| {
        out.push(b'\'');
        ty.write_value_text(value, out);
        if out.ends_with(fraction) {
            out.truncate(out.len() - fraction.len());
        }
        out.push(b'\'');
    };
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(number) => write_i64(*number, out),
        Value::UInt(number) => write_u64(*number, out),
        Value::Double(number) => write_double(*number, out),
        Value::Decimal(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Date(_) => quoted(ColumnType::Date, b"", out),
        Value::Time(_) => quoted(ColumnType::Time { fsp: 6 }, b".000000", out),
        Value::DateTime(_) => quoted(ColumnType::DateTime { fsp: 6 }, b".000000", out),
        Value::Json(_) => {
            let mut text = Vec::new();
            ColumnType::Json.write_value_text(value, &mut text);
            put_literal(&Value::Bytes(text), mode, out);
        }
        Value::Bytes(text) => {
            out.push(b'\'');
            for &byte in text {
                let escaped = match byte {
                    _ if mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => byte,
                    0 => b'0',
                    b'\n' => b'n',
                    b'\r' => b'r',
                    0x1A => b'Z',
                    other => other,
                };
                match byte {
                    b'\'' if mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => out.push(b'\''),
                    b'\'' | b'"' | b'\\' if !mode.has(SqlMode::NO_BACKSLASH_ESCAPES) => out.push(b'\\'),
                    _ if escaped != byte => out.push(b'\\'),
                    _ => {}
                }
                out.push(escaped);
            }
            out.push(b'\'');
        }
    }
}

fn text(text: &str) -> Value {
    Value::Bytes(text.as_bytes().to_vec())
}

fn as_unix_seconds(expr: &crate::parser::ast::Expr) -> crate::parser::ast::Expr {
    crate::parser::ast::Expr::Function { name: "unix_timestamp".to_owned(), args: vec![expr.clone()] }
}

/// The rows of SHOW BINLOG EVENTS.
struct EventRows {
    file: Value,
    rows: Vec<Vec<Value>>,
    at_most: u64,
}

impl EventRows {
    /// Adds an event, and those inside of a payload. False: there are enough.
    fn add(&mut self, at: u64, end: u64, event: &Event<'_>) -> Result<bool> {
        if self.rows.len() as u64 >= self.at_most {
            return Ok(false);
        }
        let header = event.header;
        self.rows.push(vec![
            self.file.clone(),
            Value::UInt(at),
            text(header.kind.name()),
            Value::UInt(u64::from(header.server_id)),
            Value::UInt(end),
            Value::Bytes(info(event).map_err(|error| Error::internal(error.to_string()))?),
        ]);
        if header.kind == EventKind::TRANSACTION_PAYLOAD {
            let damaged = |error: format::Error| Error::internal(error.to_string());
            let payload = Payload::decode(event.body).map_err(damaged)?;
            let mut events = payload.events().map_err(damaged)?;
            while let Some(inner) = events.next_event().map_err(damaged)? {
                if !self.add(at, end, &inner)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// What an event says, in one line.
fn info(event: &Event<'_>) -> format::Result<Vec<u8>> {
    const TABLE_ID: usize = 8;
    const ROWS: usize = 10;
    if let Some(named) = gtid::gtid_of(event)? {
        return Ok(match named.gtid {
            Some(gtid) => format!("SET @@SESSION.GTID_NEXT= '{gtid}'").into_bytes(),
            None => b"SET @@SESSION.GTID_NEXT= 'ANONYMOUS'".to_vec(),
        });
    }
    Ok(match event.header.kind {
        EventKind::FORMAT_DESCRIPTION => {
            let server: Vec<u8> = event.body[2..52].iter().copied().take_while(|byte| *byte != 0).collect();
            [b"Server ver: ", &server[..], b", Binlog ver: 4"].concat()
        }
        EventKind::PREVIOUS_GTIDS => GtidSet::decode(event.body)?.to_string().into_bytes(),
        EventKind::QUERY => {
            let query = Query::decode(event.body)?;
            match query.database {
                b"" => query.statement.to_vec(),
                _ if event.header.flags & flags::SUPPRESS_USE != 0 => query.statement.to_vec(),
                database => {
                    let database = describe::quoted(&String::from_utf8_lossy(database)).to_string();
                    [b"use ", database.as_bytes(), b"; ", query.statement].concat()
                }
            }
        }
        EventKind::TABLE_MAP => {
            let map = TableMap::decode(event.body, TABLE_ID)?;
            let (database, table) = (String::from_utf8_lossy(&map.database), String::from_utf8_lossy(&map.table));
            format!("table_id: {} ({database}.{table})", map.id).into_bytes()
        }
        EventKind::TRANSACTION_PAYLOAD => {
            let payload = Payload::decode(event.body)?;
            let (name, plain, bytes) = (payload.algorithm.name(), payload.plain_bytes, payload.bytes.len());
            format!("compression='{name}', decompressed_size={plain} bytes, compressed_size={bytes} bytes").into_bytes()
        }
        _ => match (Control::decode(event)?, Rows::decode(event, ROWS)?) {
            (Some(Control::Xid(number)), _) => format!("COMMIT /* xid={number} */").into_bytes(),
            (Some(Control::XaPrepare { one_phase, xid }), _) => {
                let name = xid.to_hexadecimal();
                let text = if one_phase { format!("XA COMMIT {name} ONE PHASE") } else { format!("XA PREPARE {name}") };
                text.into_bytes()
            }
            (Some(Control::RowsQuery(statement)), _) => [b"# ", statement].concat(),
            (Some(Control::Rotate { position, file }), _) => {
                format!("{};pos={position}", String::from_utf8_lossy(file)).into_bytes()
            }
            (_, Some(rows)) => {
                let ends = if rows.flags & 1 != 0 { " flags: STMT_END_F" } else { "" };
                format!("table_id: {}{ends}", rows.table_id).into_bytes()
            }
            _ => Vec::new(),
        },
    })
}
