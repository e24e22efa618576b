//! The way of results to the client: packets in one buffer, sent in one write.
//!
//! ```text
//!            columns()            ok() or error()
//!   between ----------> in rows ------------------> between
//!      |                                              ^
//!      +----------------------------------------------+
//!                     ok() or error()
//! ```
//!
//! A result that outgrows the buffer is sent in pieces while it is produced. If the
//! client does not read them, the statement is interrupted: its rows have no reader.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use format::collation::Charset;
use format::packet::frame::Packets;
use format::packet::response;
use format::packet::row::{self, BinaryRow, Conversion};
use format::packet::{Capabilities, ColumnDefinition, ColumnKind, column_flags, status};
use format::value::{ColumnType, Value, Zone};
use sql::processlist::Process;
use sql::result::StoredColumn;
use sql::status::{Counter, SessionStatus};
use sql::{Error, OkSummary, ResultSink};
use storage::{Kill, Row};

use crate::cursor;
use crate::local_file::LocalFile;
use crate::stream::Stream;

/// A result is sent when it has grown to this size.
const FLUSH_BYTES: usize = 64 << 10;
/// What may stay allocated between commands.
const BUFFER_BYTES_KEPT: usize = 256 << 10;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    Text,
    Binary,
}

/// The rows of a cursor while its statement runs.
pub struct Held {
    pub rows: cursor::Rows,
    /// The statement has rows: there is a cursor.
    pub is_open: bool,
    mark: (usize, u8),
    failure: Option<io::Error>,
}

impl Held {
    pub fn new(directory: &Path) -> Self {
        Self { rows: cursor::Rows::new(directory), is_open: false, mark: (0, 0), failure: None }
    }
}

/// Writes results as packets.
pub struct Sink {
    stream: Stream,
    pub packets: Packets,
    pub capabilities: Capabilities,
    pub rows: Rows,
    status: Arc<SessionStatus>,
    process: Arc<Process>,
    in_rows: bool,
    /// The statement's rows are kept for a cursor, and where its answer begins.
    pub cursor: Option<Held>,
    /// What names and messages are converted to; `None`: they are sent as they are.
    pub charset: Option<Charset>,
    /// The columns' collations on the wire.
    collations: Vec<u16>,
    /// The columns' conversions, made when the first row shows their types.
    conversions: Vec<Option<Conversion>>,
    /// To how many digits texts of the columns are filled with zeros; empty: no column is.
    widths: Vec<u32>,
    /// The client does not take data any more.
    broken: bool,
    /// The client has sent the next command before it had the answer to this one.
    pub is_pipelined: bool,
    /// A file of the client's, once one was asked for.
    file: Option<LocalFile>,
}

impl Sink {
    pub fn new(stream: Stream, status: Arc<SessionStatus>, process: Arc<Process>) -> Self {
        Self {
            stream,
            packets: Packets::new(),
            capabilities: Capabilities::default(),
            rows: Rows::Text,
            status,
            process,
            in_rows: false,
            cursor: None,
            charset: None,
            collations: Vec::new(),
            conversions: Vec::new(),
            widths: Vec::new(),
            broken: false,
            is_pipelined: false,
            file: None,
        }
    }

    /// Begins an answer, with this number for its first packet.
    #[inline]
    pub fn restart(&mut self, sequence: u8) {
        self.packets.restart(sequence);
        self.in_rows = false;
    }

    /// Sends what there is.
    #[inline]
    pub fn flush(&mut self) {
        let bytes = self.packets.bytes();
        if !self.broken && !bytes.is_empty() {
            self.status.add(Counter::BytesSent, bytes.len() as u64);
            if self.stream.write_all(bytes).is_err() {
                self.broken = true;
                self.process.interrupt.set(Kill::Connection);
                self.stream.shutdown(Shutdown::Both);
            }
        }
        self.packets.clear();
        self.packets.shrink(BUFFER_BYTES_KEPT);
    }

    /// Whether the client is still there, as far as writing shows.
    #[inline]
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    pub fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// What came behind a client's file, if one was read.
    pub fn take_file(&mut self) -> Option<Vec<u8>> {
        self.file.take().map(LocalFile::into_rest)
    }

    /// Reads a file to its end, so that the answer meets a client that listens. False: the client has gone.
    fn pass_over_file(&mut self) {
        let Self { stream, packets, file, .. } = self;
        if let Some(file) = file {
            file.pass_over(stream, packets);
        }
    }

    /// Gives up a client whose file did not come.
    fn end_with_file(&mut self) {
        if self.file.as_ref().is_some_and(LocalFile::is_lost) {
            self.flush();
            self.linger();
            self.broken = true;
        }
    }

    /// Ends the server's side of the conversation. The client may still be sending: closing now would discard our last
    /// words together with its bytes.
    pub fn linger(&mut self) {
        self.stream.shutdown(Shutdown::Write);
        let mut scrap = [0; 4096];
        let _ = self.stream.socket().set_read_timeout(Duration::from_millis(200));
        for _ in 0..4096 {
            match self.stream.read(&mut scrap) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
    }

    /// The definitions of parameters or columns, with the end that the client expects.
    pub fn definitions(&mut self, columns: &[ColumnDefinition], status: u16) {
        let charset = self.charset;
        for column in columns {
            self.packets.push(|out| column.encode_in(charset, out));
        }
        if !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.packets.push(|out| response::encode_eof(0, status, out));
        }
    }

    #[inline]
    fn end_row(&mut self) {
        if self.cursor.is_some() {
            return self.hold_row();
        }
        self.packets.end();
        self.flush_if_large();
    }

    /// The row under construction waits until it is fetched.
    #[cold]
    fn hold_row(&mut self) {
        let Self { cursor, packets, process, .. } = self;
        let Some(held) = cursor else { return };
        if held.failure.is_none()
            && let Err(cause) = held.rows.push(packets.begun_payload())
        {
            held.failure = Some(cause);
            process.interrupt.set(Kill::Query);
        }
        packets.drop_payload();
    }

    #[inline]
    pub fn flush_if_large(&mut self) {
        if self.packets.bytes().len() >= FLUSH_BYTES {
            self.flush();
        }
    }

    #[inline]
    fn conversion_of(&mut self, column: usize, ty: &ColumnType) -> Option<Conversion> {
        match self.conversions.get(column) {
            Some(conversion) => *conversion,
            None => {
                let conversion = self.collations.get(column).and_then(|&sent| Conversion::between(ty, sent));
                self.conversions.push(conversion);
                conversion
            }
        }
    }
}

/// ZEROFILL: a number that has just been written, with its length in the byte before it, gets zeros in front.
fn fill_with_zeros(width: u32, from: usize, out: &mut Vec<u8>) {
    /// The first byte of NULL, and of lengths that no number's text has.
    const NOT_SHORT: u8 = 251;
    let length = out[from];
    if length < NOT_SHORT && u32::from(length) < width {
        let width = width.min(u32::from(NOT_SHORT) - 1) as u8;
        out[from] = width;
        out.splice(from + 1..from + 1, std::iter::repeat_n(b'0', usize::from(width - length)));
    }
}

impl ResultSink for Sink {
    fn answer_in(&mut self, results: Option<Charset>) {
        self.charset = results;
    }

    fn columns(&mut self, columns: &[ColumnDefinition]) {
        self.columns_of(columns, 0);
    }

    fn columns_of(&mut self, columns: &[ColumnDefinition], status: u16) {
        debug_assert!(!self.in_rows, "the rows before have ended");
        if let Some(held) = &mut self.cursor {
            (held.mark, held.is_open) = (self.packets.mark(), true);
        }
        self.packets.push(|out| format::packet::writer::lenenc(out, columns.len() as u64));
        match self.cursor {
            // One end follows the columns, whatever kind the client reads; it says that there is a cursor.
            Some(_) => {
                let charset = self.charset;
                columns.iter().for_each(|column| self.packets.push(|out| column.encode_in(charset, out)));
            }
            None => self.definitions(columns, status),
        }
        self.collations.clear();
        self.collations.extend(columns.iter().map(|column| column.collation));
        self.conversions.clear();
        self.widths.clear();
        let fills =
            |column: &ColumnDefinition| column.flags & column_flags::ZEROFILL != 0 && column.kind != ColumnKind::Year;
        if columns.iter().any(fills) {
            self.widths.extend(columns.iter().map(|column| if fills(column) { column.length } else { 0 }));
        }
        self.in_rows = true;
    }

    fn row(&mut self, values: &[Value], types: &[ColumnType]) {
        debug_assert_eq!(values.len(), self.collations.len());
        for (column, ty) in types.iter().enumerate().skip(self.conversions.len()) {
            self.conversion_of(column, ty);
        }
        self.packets.begin();
        let out = self.packets.payload();
        let fields = values.iter().zip(types).zip(&self.conversions);
        match self.rows {
            Rows::Text => {
                for (column, ((value, ty), conversion)) in fields.enumerate() {
                    let from = out.len();
                    row::text_value(ty, value, *conversion, out);
                    if let Some(width) = self.widths.get(column) {
                        fill_with_zeros(*width, from, out);
                    }
                }
            }
            Rows::Binary => {
                let mut row = BinaryRow::begin(out, values.len());
                for ((value, ty), conversion) in fields {
                    row.value(ty, value, *conversion);
                }
            }
        }
        self.end_row();
    }

    fn row_stored(&mut self, stored: &Row, columns: &[StoredColumn], zone: Zone) {
        debug_assert_eq!(columns.len(), self.collations.len());
        for (index, column) in columns.iter().enumerate().skip(self.conversions.len()) {
            self.conversion_of(index, &column.ty);
        }
        self.packets.begin();
        let out = self.packets.payload();
        let fields = columns.iter().zip(&self.conversions);
        match self.rows {
            Rows::Text => {
                for (at, (column, conversion)) in fields.enumerate() {
                    let from = out.len();
                    row::text_stored(&column.ty, stored.get(column.column), zone, *conversion, out);
                    if let Some(width) = self.widths.get(at) {
                        fill_with_zeros(*width, from, out);
                    }
                }
            }
            Rows::Binary => {
                let mut row = BinaryRow::begin(out, columns.len());
                for (column, conversion) in fields {
                    row.stored(&column.ty, stored.get(column.column), zone, *conversion);
                }
            }
        }
        self.end_row();
    }

    fn ok(&mut self, summary: &OkSummary<'_>) {
        self.pass_over_file();
        let ok = response::Ok {
            affected_rows: summary.affected_rows,
            last_insert_id: summary.last_insert_id,
            status: summary.status,
            warnings: summary.warnings,
            info: summary.info,
            changes: summary.changes,
        };
        let (in_rows, capabilities) = (self.in_rows, self.capabilities);
        let mut ok = ok;
        if in_rows && let Some(held) = &mut self.cursor {
            if let Err(cause) = held.failure.take().map_or_else(|| held.rows.finish(), Err) {
                return self.error(&cannot_keep(&cause));
            }
            ok.status |= status::CURSOR_EXISTS;
        }
        self.packets.push(|out| {
            if in_rows {
                // The client has no use for the affected rows of a statement with a result; MySQL sends zeros too.
                response::Ok { affected_rows: 0, last_insert_id: 0, ..ok }.encode_end_of_rows(capabilities, out);
            } else {
                ok.encode(out);
            }
        });
        self.in_rows = false;
    }

    fn error(&mut self, error: &Error) {
        self.pass_over_file();
        if let Some(held) = self.cursor.take() {
            if held.is_open {
                self.packets.truncate(held.mark);
            }
            if let Some(cause) = &held.failure {
                self.in_rows = false;
                return self.error(&cannot_keep(cause));
            }
        }
        let payload = response::Error { code: error.code, sqlstate: error.sqlstate, message: &error.message };
        let charset = self.charset;
        self.packets.push(|out| payload.encode_in(charset, true, out));
        self.in_rows = false;
        self.end_with_file();
    }

    fn begin_file(&mut self, name: &[u8], packet_bytes_max: usize, patience: Duration) -> Result<(), Error> {
        if !self.capabilities.has(Capabilities::LOCAL_FILES) || self.is_pipelined {
            return Err(Error::local_files_disabled());
        }
        self.packets.push(|out| {
            out.push(response::LOCAL_INFILE);
            out.extend_from_slice(name);
        });
        self.flush();
        self.file = Some(LocalFile::new(packet_bytes_max, patience));
        Ok(())
    }

    fn read_file(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        let Self { stream, packets, file, process, status, .. } = self;
        let Some(file) = file else { return Err(Error::local_files_disabled()) };
        let before = out.len();
        let more = file.read(stream, packets, &process.interrupt, out)?;
        status.add(Counter::BytesReceived, (out.len() - before) as u64);
        Ok(more)
    }
}

/// ER_ERROR_ON_WRITE for the file of a cursor's rows.
pub fn cannot_keep(cause: &io::Error) -> Error {
    Error::new(1026, b"HY000", format!("Error writing file '#cursor' ({cause})"))
}

#[cfg(test)]
mod tests {
    use super::fill_with_zeros;

    #[test]
    fn numbers_are_filled_with_zeros_and_nothing_else_is() {
        let filled = |text: &[u8], width| {
            let mut out = text.to_vec();
            fill_with_zeros(width, 1, &mut out);
            out
        };
        assert_eq!(filled(b"x\x0242", 5), b"x\x0500042");
        assert_eq!(filled(b"x\x0242", 2), b"x\x0242");
        assert_eq!(filled(b"x\x0242", 0), b"x\x0242");
        assert_eq!(filled(b"x\xfb", 5), b"x\xfb");
        assert_eq!(filled(b"x\x011", 255).len(), 252);
    }
}
