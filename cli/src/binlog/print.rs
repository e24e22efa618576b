//! Events as text that a client can replay: statements as they are, rows as BINLOG statements.
//!
//! ```text
//! # at 235
//! #261122  9:15:00 server id 1  end_log_pos 391 CRC32 0x4f2c1a90  Write_rows: table id 90 flags: STMT_END_F
//!
//! BINLOG '
//! base64 of Table_map and rows ...
//! '/*!*/;
//! ### INSERT INTO `db`.`t`                      with --verbose
//! ### SET
//! ###   @1=7
//! ```
//!
//! The delimiter is a comment that no statement contains. What a statement needs (time, modes, collations) is set
//! before it where it differs from the statement before. Events in a compressed payload are printed as if they stood in
//! the file: the base64 text has each with the checksum that the file's description promises.

use std::collections::HashMap;
use std::io::{self, Write};

use base64ct::{Base64, Encoding};
use format::binlog::control::{UserValue, UserVarType};
use format::binlog::mariadb::{MariadbGtidEvent, decode_gtid_list, gtid_flags};
use format::binlog::payload::Payload;
use format::binlog::rows::row_flags;
use format::binlog::{
    Checksum, Control, Event, EventKind, FormatDescription, GtidSet, Header, IntVar, Query, Rows, StatusVars, TableMap,
    UserVar, event, flags, gtid, mariadb,
};
use format::collation::{Collation, CollationId};
use format::value::{DateTime, Decimal, Zone};

use super::file::Located;
use super::filter::Filter;
use super::rows;

/// Characters of a line of base64 text.
const BASE64_LINE: usize = 76;

/// Bytes of events after which a BINLOG statement ends though the rows of its statement go on: servers take statements
/// of 16 MiB and more by default. The next one begins with the same Table_map events.
const PIECE_BYTES: usize = 2 << 20;

/// What stands behind each statement.
const END: &str = "/*!*/;";

/// What becomes of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Base64Output {
    /// As BINLOG statements
    Auto,
    /// Not at all; an event that needs it is an error
    Never,
    /// Not at all: --verbose shows what they are
    DecodeRows,
}

pub struct Printer<'f, W> {
    out: W,
    filter: &'f Filter,
    base64: Base64Output,
    /// 0 to 2.
    verbose: u8,
    skip_gtids: bool,
    /// What the last statement left the session with.
    session: Session,
    maps: HashMap<u64, TableMap>,
    /// Events whose BINLOG statement is not complete.
    pending: Vec<u8>,
    /// What is shown of them below it.
    pending_rows: Vec<u8>,
    /// The Table_map events of the statement under way.
    tables: Vec<u8>,
    /// The description in force, as it goes into BINLOG statements.
    description_sent: bool,
    in_transaction: bool,
    has_gtid: bool,
}

#[derive(Default)]
struct Session {
    database: Vec<u8>,
    connection: Option<u32>,
    vars: StatusVars,
}

fn invalid(error: format::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

impl<'f, W: Write> Printer<'f, W> {
    pub fn new(out: W, filter: &'f Filter, base64: Base64Output, verbose: u8, skip_gtids: bool) -> Printer<'f, W> {
        Printer {
            out,
            filter,
            base64,
            verbose,
            skip_gtids,
            session: Session::default(),
            maps: HashMap::new(),
            pending: Vec::new(),
            pending_rows: Vec::new(),
            tables: Vec::new(),
            description_sent: false,
            in_transaction: false,
            has_gtid: false,
        }
    }

    pub fn begin(&mut self, idempotent: bool) -> io::Result<()> {
        writeln!(self.out, "/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;")?;
        if idempotent {
            writeln!(self.out, "/*!50700 SET @@SESSION.RBR_EXEC_MODE=IDEMPOTENT*/;")?;
        }
        writeln!(self.out, "/*!50003 SET @OLD_COMPLETION_TYPE=@@COMPLETION_TYPE,COMPLETION_TYPE=0*/;")?;
        writeln!(self.out, "DELIMITER /*!*/;")
    }

    pub fn end(&mut self) -> io::Result<()> {
        self.flush_rows()?;
        if self.in_transaction {
            writeln!(self.out, "ROLLBACK /* the log ends within a transaction */ {END}")?;
        }
        if self.has_gtid && !self.skip_gtids {
            writeln!(self.out, "/*!50700 SET @@SESSION.GTID_NEXT= 'AUTOMATIC'*/{END}")?;
        }
        writeln!(self.out, "DELIMITER ;")?;
        writeln!(self.out, "# End of log file")?;
        writeln!(self.out, "/*!50003 SET COMPLETION_TYPE=@OLD_COMPLETION_TYPE*/;")?;
        writeln!(self.out, "/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=0*/;")?;
        self.out.flush()
    }

    /// Shows what was printed so far; rows of a statement that is not complete follow with the rest of it.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Prints an event of a file, that is wanted.
    pub fn event(&mut self, located: &Located<'_>) -> io::Result<()> {
        self.one(located.at, &located.event, located.description, true)
    }

    /// Notes an event that is not wanted, as far as later ones refer to it.
    pub fn note(&mut self, located: &Located<'_>) -> io::Result<()> {
        self.note_table(&located.event, located.description)
    }

    fn note_table(&mut self, event: &Event<'_>, description: &FormatDescription) -> io::Result<()> {
        if event.header.kind == EventKind::TABLE_MAP {
            let map = TableMap::decode(event.body, description.post_header_bytes(EventKind::TABLE_MAP, 8));
            let map = map.map_err(invalid)?;
            self.maps.insert(map.id, map);
        }
        Ok(())
    }

    fn one(&mut self, at: u64, event: &Event<'_>, description: &FormatDescription, in_file: bool) -> io::Result<()> {
        let kind = event.header.kind;
        match kind {
            EventKind::FORMAT_DESCRIPTION => return self.description(at, event, description),
            EventKind::QUERY | EventKind::MARIADB_QUERY_COMPRESSED => return self.query(at, event),
            EventKind::TRANSACTION_PAYLOAD => return self.payload(at, event, description),
            EventKind::TABLE_MAP => return self.table_map(at, event, description, in_file),
            EventKind::PREVIOUS_GTIDS => {
                let set = GtidSet::decode(event.body).map_err(invalid)?;
                self.head(at, event, "Previous-GTIDs")?;
                return match set.is_empty() {
                    true => writeln!(self.out, "# [empty]"),
                    false => writeln!(self.out, "# {}", set.to_string().replace('\n', "\n# ")),
                };
            }
            EventKind::MARIADB_GTID => return self.mariadb_gtid(at, event),
            EventKind::MARIADB_GTID_LIST => {
                let list = decode_gtid_list(event.body).map_err(invalid)?;
                let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                return self.head(at, event, &format!("Gtid list [{}]", list.join(",")));
            }
            EventKind::MARIADB_ANNOTATE_ROWS => {
                self.head(at, event, "Annotate_rows:")?;
                return self.comment("#Q> ", event.body);
            }
            _ => (),
        }
        if let Some(begin) = gtid::gtid_of(event).map_err(invalid)? {
            return self.gtid(at, event, &begin);
        }
        let post_header = description.post_header_bytes(kind, 8);
        if let Some(rows) = Rows::decode(event, post_header).map_err(invalid)? {
            return self.rows(at, event, &rows, description, in_file);
        }
        match Control::decode(event).map_err(invalid)? {
            Some(control) => self.control(at, event, &control),
            None => self.head(at, event, &format!("{} (kind {}, not shown)", kind.name(), kind.0)),
        }
    }

    /// The two comment lines in front of each event.
    fn head(&mut self, at: u64, event: &Event<'_>, what: &str) -> io::Result<()> {
        self.flush_rows()?;
        writeln!(self.out, "# at {at}")?;
        self.head_line(event, what)
    }

    fn head_line(&mut self, event: &Event<'_>, what: &str) -> io::Result<()> {
        let line = head_text(event, what);
        self.out.write_all(line.as_bytes())
    }

    /// A text as comment lines.
    fn comment(&mut self, prefix: &str, text: &[u8]) -> io::Result<()> {
        for line in text.split(|&byte| byte == b'\n') {
            self.out.write_all(prefix.as_bytes())?;
            self.out.write_all(line)?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn description(&mut self, at: u64, event: &Event<'_>, description: &FormatDescription) -> io::Result<()> {
        let created = match description.created {
            0 => String::new(),
            seconds => format!(" created {} at startup", moment(seconds)),
        };
        self.head(at, event, &format!("Start: binlog v 4, server v {}{created}", description.server))?;
        if event.header.flags & flags::IN_USE != 0 {
            writeln!(self.out, "# The log is in use, or was not closed.")?;
        }
        self.description_sent = false;
        if self.base64 == Base64Output::Auto {
            write_binlog(&mut self.out, event.bytes)?;
            self.description_sent = true;
        }
        Ok(())
    }

    fn gtid(&mut self, at: u64, event: &Event<'_>, begin: &gtid::GtidEvent) -> io::Result<()> {
        self.tables.clear();
        let mut what = String::from(if begin.gtid.is_some() { "GTID" } else { "Anonymous_GTID" });
        if let Some(clock) = begin.clock {
            what += &format!("\tlast_committed={}\tsequence_number={}", clock.last_committed, clock.sequence_number);
        }
        what += if begin.may_have_statements { "\trbr_only=no" } else { "\trbr_only=yes" };
        if let Some(commit) = &begin.commit {
            what += &format!(
                "\toriginal_committed_timestamp={}\timmediate_commit_timestamp={}\ttransaction_length={}",
                commit.original_micros, commit.immediate_micros, commit.transaction_bytes
            );
        }
        self.head(at, event, &what)?;
        if self.skip_gtids {
            return Ok(());
        }
        self.has_gtid = true;
        // MariaDB, which has GTIDs of another kind, passes over comments of these versions.
        match begin.gtid {
            Some(gtid) => writeln!(self.out, "/*!50700 SET @@SESSION.GTID_NEXT= '{gtid}'*/{END}"),
            None => writeln!(self.out, "/*!50700 SET @@SESSION.GTID_NEXT= 'ANONYMOUS'*/{END}"),
        }
    }

    fn mariadb_gtid(&mut self, at: u64, event: &Event<'_>) -> io::Result<()> {
        self.tables.clear();
        let begin = MariadbGtidEvent::decode(event.body, event.header.server_id).map_err(invalid)?;
        let ddl = if begin.flags & gtid_flags::DDL != 0 { " ddl" } else { "" };
        let trans = if begin.flags & gtid_flags::TRANSACTIONAL != 0 { " trans" } else { "" };
        let group = begin.commit_id.map_or(String::new(), |id| format!(" cid={id}"));
        self.head(at, event, &format!("GTID {}{group}{ddl}{trans}", begin.gtid))?;
        if !self.skip_gtids {
            let gtid = begin.gtid;
            writeln!(self.out, "/*M!100001 SET @@session.gtid_domain_id={}*/{END}", gtid.domain)?;
            writeln!(self.out, "/*M!100001 SET @@session.server_id={}*/{END}", gtid.server)?;
            writeln!(self.out, "/*M!100001 SET @@session.gtid_seq_no={}*/{END}", gtid.sequence)?;
        }
        match begin.xid {
            Some(xid) if begin.flags & gtid_flags::PREPARED_XA != 0 => {
                self.in_transaction = true;
                writeln!(self.out, "XA START {}\n{END}", xid.to_hexadecimal())
            }
            None if begin.flags & gtid_flags::STANDALONE == 0 => {
                self.in_transaction = true;
                writeln!(self.out, "START TRANSACTION\n{END}")
            }
            _ => Ok(()),
        }
    }

    fn query(&mut self, at: u64, event: &Event<'_>) -> io::Result<()> {
        self.tables.clear();
        let query = Query::decode(event.body).map_err(invalid)?;
        let expanded;
        let statement = match event.header.kind {
            EventKind::MARIADB_QUERY_COMPRESSED => {
                expanded = mariadb::decompress(query.statement).map_err(invalid)?;
                &expanded[..]
            }
            _ => query.statement,
        };
        let is_begin = statement.eq_ignore_ascii_case(b"BEGIN");
        let is_end = statement.eq_ignore_ascii_case(b"COMMIT") || statement.eq_ignore_ascii_case(b"ROLLBACK");
        let mut what =
            format!("Query\tthread_id={}\texec_time={}\terror_code={}", query.connection, query.seconds, query.error);
        if let Some(xid) = query.vars.ddl_xid {
            what += &format!("\tXid = {xid}");
        }
        self.head(at, event, &what)?;
        if !is_begin && !is_end && !self.filter.wants_database(query.database) {
            return Ok(());
        }
        self.set_session(event, &query, is_begin || is_end)?;
        self.out.write_all(statement)?;
        writeln!(self.out, "\n{END}")?;
        if is_begin || is_end {
            self.in_transaction = is_begin;
        }
        if event.header.flags & flags::SUPPRESS_USE != 0 {
            // It may drop the session's database, which is none then, also if one of this name is created again.
            self.session.database.clear();
        }
        Ok(())
    }

    /// Sets what the statement needs and the session does not have.
    fn set_session(&mut self, event: &Event<'_>, query: &Query<'_>, is_bare: bool) -> io::Result<()> {
        let wants_use = event.header.flags & flags::SUPPRESS_USE == 0 && !is_bare;
        if wants_use && !query.database.is_empty() && self.session.database != query.database {
            writeln!(self.out, "use {}{END}", rows::quoted(query.database))?;
            self.session.database = query.database.to_vec();
        }
        let micros = query.vars.microseconds.map_or(String::new(), |micros| format!(".{micros:06}"));
        writeln!(self.out, "SET TIMESTAMP={}{micros}{END}", event.header.timestamp)?;
        if self.session.connection != Some(query.connection) {
            writeln!(self.out, "SET @@session.pseudo_thread_id={}{END}", query.connection)?;
            self.session.connection = Some(query.connection);
        }
        if is_bare {
            return Ok(());
        }
        for line in changed_vars(&self.session.vars, &query.vars) {
            writeln!(self.out, "{line}{END}")?;
        }
        self.session.vars = query.vars.clone();
        Ok(())
    }

    fn control(&mut self, at: u64, event: &Event<'_>, control: &Control<'_>) -> io::Result<()> {
        match control {
            Control::Rotate { position, file } => {
                self.head(at, event, &format!("Rotate to {}  pos: {position}", String::from_utf8_lossy(file)))
            }
            Control::Stop => self.head(at, event, "Stop"),
            Control::Heartbeat { .. } => self.head(at, event, "Heartbeat"),
            Control::Xid(number) => {
                self.head(at, event, &format!("Xid = {number}"))?;
                self.in_transaction = false;
                writeln!(self.out, "COMMIT{END}")
            }
            Control::XaPrepare { one_phase, xid } => {
                self.head(at, event, "XA_prepare")?;
                self.in_transaction = false;
                let name = xid.to_hexadecimal();
                match one_phase {
                    true => writeln!(self.out, "XA COMMIT {name} ONE PHASE\n{END}"),
                    false => writeln!(self.out, "XA PREPARE {name}\n{END}"),
                }
            }
            Control::IntVar(var) => {
                self.head(at, event, "Intvar")?;
                match var {
                    IntVar::LastInsertId(value) => writeln!(self.out, "SET LAST_INSERT_ID={value}{END}"),
                    IntVar::InsertId(value) => writeln!(self.out, "SET INSERT_ID={value}{END}"),
                }
            }
            Control::Rand { seeds } => {
                self.head(at, event, "Rand")?;
                writeln!(self.out, "SET @@RAND_SEED1={}, @@RAND_SEED2={}{END}", seeds.0, seeds.1)
            }
            Control::UserVar(var) => {
                self.head(at, event, "User_var")?;
                writeln!(self.out, "{}{END}", set_user_var(var))
            }
            Control::Incident { number, message } => {
                let message = String::from_utf8_lossy(message);
                self.head(at, event, &format!("Incident: {number} {message}"))?;
                writeln!(self.out, "RELOAD DATABASE; # Shall generate syntax error")
            }
            Control::RowsQuery(statement) => {
                self.head(at, event, "Rows_query")?;
                match self.verbose {
                    0 => Ok(()),
                    _ => self.comment("# ", statement),
                }
            }
        }
    }

    fn payload(&mut self, at: u64, event: &Event<'_>, description: &FormatDescription) -> io::Result<()> {
        let payload = Payload::decode(event.body).map_err(invalid)?;
        let what = format!(
            "Transaction_Payload\tpayload_size={}\tcompression_type={}\tuncompressed_size={}",
            payload.bytes.len(),
            payload.algorithm.name(),
            payload.plain_bytes
        );
        self.head(at, event, &what)?;
        writeln!(self.out, "# Start of compressed events!")?;
        let mut events = payload.events().map_err(invalid)?;
        while let Some(inner) = events.next_event().map_err(invalid)? {
            self.one(at, &inner, description, false)?;
        }
        self.flush_rows()?;
        writeln!(self.out, "# End of compressed events!")
    }

    fn table_map(
        &mut self,
        at: u64,
        event: &Event<'_>,
        description: &FormatDescription,
        in_file: bool,
    ) -> io::Result<()> {
        self.note_table(event, description)?;
        let map = TableMap::decode(event.body, description.post_header_bytes(EventKind::TABLE_MAP, 8));
        let map = map.map_err(invalid)?;
        if !self.filter.wants_database(&map.database) {
            return Ok(());
        }
        let table = format!("{}.{}", rows::quoted(&map.database), rows::quoted(&map.table));
        let what = format!("Table_map: {table} mapped to number {}", map.id);
        writeln!(self.out, "# at {at}")?;
        self.head_line(event, &what)?;
        let start = self.pending.len();
        self.keep(event, description, in_file)?;
        self.tables.extend_from_slice(&self.pending[start..]);
        Ok(())
    }

    fn rows(
        &mut self,
        at: u64,
        event: &Event<'_>,
        rows: &Rows<'_>,
        description: &FormatDescription,
        in_file: bool,
    ) -> io::Result<()> {
        let is_end = rows.flags & row_flags::STATEMENT_END != 0;
        let unwanted = match self.maps.get(&rows.table_id) {
            Some(map) => !self.filter.wants_database(&map.database),
            // A statement's end that belongs to no table.
            None => false,
        };
        if unwanted {
            return if is_end { self.end_rows() } else { Ok(()) };
        }
        let end = if is_end { " flags: STMT_END_F" } else { "" };
        writeln!(self.out, "# at {at}")?;
        self.head_line(event, &format!("{}: table id {}{end}", event.header.kind.name(), rows.table_id))?;
        if self.base64 == Base64Output::Never {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the log has rows, which --base64-output=never cannot show",
            ));
        }
        if self.pending.is_empty() {
            self.pending.extend_from_slice(&self.tables);
        }
        self.keep(event, description, in_file)?;
        if self.verbose > 0 {
            let Some(map) = self.maps.get(&rows.table_id) else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "rows without the Table_map they refer to"));
            };
            rows::print(rows, map, self.verbose > 1, &mut self.pending_rows)?;
        }
        match is_end {
            true => self.end_rows(),
            false if self.pending.len() >= PIECE_BYTES => self.flush_rows(),
            false => Ok(()),
        }
    }

    /// The rows of a statement are complete.
    fn end_rows(&mut self) -> io::Result<()> {
        self.tables.clear();
        self.flush_rows()
    }

    /// Takes an event into the BINLOG statement under way. One from a payload has no checksum and gets it; rows that
    /// MariaDB compressed are expanded, for servers take them so.
    fn keep(&mut self, event: &Event<'_>, description: &FormatDescription, in_file: bool) -> io::Result<()> {
        let post_header = description.post_header_bytes(event.header.kind, 8);
        let expanded = Rows::expand(event, post_header).map_err(invalid)?;
        if expanded.is_none() && (in_file || description.checksum == Checksum::None) {
            self.pending.extend_from_slice(event.bytes);
            return Ok(());
        }
        let (kind, body) = match &expanded {
            Some((kind, body)) => (*kind, &body[..]),
            None => (event.header.kind, event.body),
        };
        let end_position = if in_file { event.header.end_position } else { 0 };
        let header = Header { kind, end_position, ..event.header };
        event::append(&mut self.pending, header, description.checksum, |out| out.extend_from_slice(body));
        Ok(())
    }

    /// Writes the BINLOG statement of the rows so far, and what they are.
    fn flush_rows(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        if self.base64 == Base64Output::Auto {
            writeln!(self.out)?;
            write_binlog(&mut self.out, &self.pending)?;
        }
        self.pending.clear();
        self.out.write_all(&self.pending_rows)?;
        self.pending_rows.clear();
        Ok(())
    }
}

/// Writes events as a BINLOG statement: each begins a new line.
fn write_binlog(out: &mut impl Write, mut events: &[u8]) -> io::Result<()> {
    writeln!(out, "BINLOG '")?;
    while let Ok(header) = Header::decode(events) {
        let (event, rest) = events.split_at((header.bytes as usize).min(events.len()));
        let text = Base64::encode_string(event);
        for line in text.as_bytes().chunks(BASE64_LINE) {
            out.write_all(line)?;
            writeln!(out)?;
        }
        events = rest;
    }
    writeln!(out, "'{END}")
}

fn head_text(event: &Event<'_>, what: &str) -> String {
    let header = &event.header;
    let body_end = format::binlog::HEADER_BYTES + event.body.len();
    let checksum = match event.bytes.get(body_end..body_end + 4) {
        Some(sum) => format!(" CRC32 0x{:08x}", u32::from_le_bytes(sum.try_into().expect("4 bytes"))),
        None => String::new(),
    };
    format!(
        "#{} server id {}  end_log_pos {}{checksum} \t{what}\n",
        moment(header.timestamp),
        header.server_id,
        header.end_position
    )
}

/// Seconds since 1970 as the tools print them: year without century, in UTC.
fn moment(seconds: u32) -> String {
    let moment = DateTime::from_unix_micros(i64::from(seconds) * 1_000_000, Zone::UTC).unwrap_or(DateTime::ZERO);
    let date = moment.date;
    format!(
        "{:02}{:02}{:02} {:2}:{:02}:{:02}",
        date.year % 100,
        date.month,
        date.day,
        moment.hour,
        moment.minute,
        moment.second
    )
}

/// Session options that one bit of `flags2` stands for, and whether the bit means off.
const FLAGS2: [(u32, &str, bool); 4] = [
    (1 << 26, "foreign_key_checks", true),
    (1 << 14, "sql_auto_is_null", false),
    (1 << 27, "unique_checks", true),
    (1 << 19, "autocommit", true),
];

/// SET statements for what differs.
fn changed_vars(old: &StatusVars, new: &StatusVars) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(bits) = new.flags2.filter(|_| old.flags2 != new.flags2) {
        let options =
            FLAGS2.map(|(bit, name, inverted)| format!("@@session.{name}={}", u8::from((bits & bit != 0) != inverted)));
        lines.push(format!("SET {}", options.join(", ")));
    }
    if let Some(mode) = new.sql_mode.filter(|_| old.sql_mode != new.sql_mode) {
        lines.push(format!("SET @@session.sql_mode={mode}"));
    }
    if old.auto_increment != new.auto_increment {
        let (increment, offset) = new.auto_increment.unwrap_or((1, 1));
        lines.push(format!(
            "SET @@session.auto_increment_increment={increment}, @@session.auto_increment_offset={offset}"
        ));
    }
    if let Some([client, connection, server]) = new.charset.filter(|_| old.charset != new.charset) {
        if let Some(collation) = Collation::by_id(CollationId(client)) {
            lines.push(format!("/*!\\C {} */", collation.charset.name()));
        }
        lines.push(format!(
            "SET @@session.character_set_client={client},@@session.collation_connection={connection},\
             @@session.collation_server={server}"
        ));
    }
    if let Some(zone) = new.time_zone.as_ref().filter(|_| old.time_zone != new.time_zone) {
        lines.push(format!("SET @@session.time_zone='{zone}'"));
    }
    if let Some(names) = new.lc_time_names.filter(|_| old.lc_time_names != new.lc_time_names) {
        lines.push(format!("SET @@session.lc_time_names={names}"));
    }
    if old.database_collation != new.database_collation {
        match new.database_collation {
            Some(collation) => lines.push(format!("SET @@session.collation_database={collation}")),
            None => lines.push("SET @@session.collation_database=DEFAULT".into()),
        }
    }
    if let Some(explicit) = new.explicit_timestamp_defaults
        && old.explicit_timestamp_defaults != new.explicit_timestamp_defaults
    {
        lines.push(format!("SET @@session.explicit_defaults_for_timestamp={}", u8::from(explicit)));
    }
    if let Some(collation) = new.utf8mb4_collation.filter(|_| old.utf8mb4_collation != new.utf8mb4_collation) {
        lines.push(format!("/*!80011 SET @@session.default_collation_for_utf8mb4={collation}*/"));
    }
    lines
}

fn set_user_var(var: &UserVar<'_>) -> String {
    let name = rows::quoted(var.name);
    let value = match &var.value {
        None => "NULL".into(),
        Some(value) => user_value(value),
    };
    format!("SET @{name}:={value}")
}

fn user_value(value: &UserValue<'_>) -> String {
    let word = value.bytes.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes)).unwrap_or(0);
    match value.ty {
        UserVarType::Real => format!("{:e}", f64::from_bits(word)),
        UserVarType::Int if value.unsigned => word.to_string(),
        UserVarType::Int => (word as i64).to_string(),
        UserVarType::Decimal => match value.bytes {
            [precision @ 1..=65, scale @ 0..=30, digits @ ..] if scale <= precision => {
                let mut text = Vec::new();
                Decimal::decode(digits, *precision, *scale).write(&mut text);
                String::from_utf8_lossy(&text).into()
            }
            _ => "NULL /* a damaged number */".into(),
        },
        UserVarType::String => {
            let hex: String = value.bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            let text = if hex.is_empty() { "''".into() } else { format!("X'{hex}'") };
            match u16::try_from(value.collation).ok().and_then(|id| Collation::by_id(CollationId(id))) {
                Some(collation) => {
                    format!("_{} {text} COLLATE `{}`", collation.charset.name(), collation.name)
                }
                None => text,
            }
        }
    }
}
