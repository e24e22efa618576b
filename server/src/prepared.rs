//! Statements that a client has prepared: their parameters, which come with each execute or in pieces before it.
//!
//! The memory of types and values belongs to the statement, so that executing it again allocates nothing.

use std::path::Path;

use format::packet::statement::{self, ParameterType};
use format::packet::{ColumnDefinition, ColumnKind, Malformed, response, status};
use format::value::Value;
use rustc_hash::FxHashMap;
use sql::processlist::Process;
use sql::{Error, ResultSink, Session};

use crate::cursor::Rows;
use crate::sink::{self, Held, Sink};

/// A flag of an execute: its rows are to be fetched.
const CURSOR_READ_ONLY: u8 = 1;

/// A connection's statements, by number.
pub type Statements = FxHashMap<u32, Statement>;

/// A statement that the client has prepared: what the protocol keeps of it.
#[derive(Default)]
pub struct Statement {
    text: Box<[u8]>,
    parameters: usize,
    types: Vec<ParameterType>,
    values: Vec<Value>,
    /// Parameters that were sent in pieces since the last execute.
    long: Vec<u16>,
    /// Rows that wait to be fetched.
    cursor: Option<Rows>,
    /// What the client says beside the parameters.
    attributes: Vec<(String, Value)>,
    /// What went wrong when they were sent; told at the next execute.
    long_error: Option<Error>,
}

pub fn prepare(session: &mut Session, statements: &mut Statements, text: &[u8], sink: &mut Sink) {
    let prepared = match session.prepare(text) {
        Ok(prepared) => prepared,
        Err(error) => return sink.error(&error),
    };
    let statement = Statement { text: text.into(), parameters: prepared.parameters, ..Statement::default() };
    statements.insert(prepared.id, statement);
    let (columns, parameters) = (prepared.columns.len() as u16, prepared.parameters as u16);
    sink.packets.push(|out| {
        statement::encode_prepare_ok(prepared.id, columns, parameters, prepared.warnings, out);
    });
    let flags = session.status_flags();
    if parameters > 0 {
        let parameter = ColumnDefinition::new("?", ColumnKind::VarString);
        for _ in 0..parameters {
            sink.packets.push(|out| parameter.encode(out));
        }
        sink.definitions(&[], flags);
    }
    if columns > 0 {
        sink.definitions(&prepared.columns, flags);
    }
}

#[inline]
#[expect(clippy::too_many_arguments, reason = "the parts of a connection, which are borrowed apart")]
pub fn execute(
    session: &mut Session,
    statements: &mut Statements,
    id: u32,
    flags: u8,
    parameters: &[u8],
    process: &Process,
    directory: &Path,
    sink: &mut Sink,
) {
    let Some(statement) = statements.get_mut(&id) else {
        return sink.error(&unknown_statement(id, "mysqld_stmt_execute"));
    };
    process.begin("Execute", &statement.text);
    let Statement { types, values, long, long_error, cursor, attributes, .. } = statement;
    *cursor = None;
    if let Some(error) = long_error.take() {
        long.clear();
        return sink.error(&error);
    }
    let is_long = |index: usize| !long.is_empty() && long.contains(&(index as u16));
    let (count, capabilities) = (statement.parameters, sink.capabilities);
    if let Err(malformed) =
        statement::decode_parameters(parameters, flags, capabilities, count, types, is_long, values, attributes)
    {
        return sink.error(&malformed_packet(malformed));
    }
    sink.rows = sink::Rows::Binary;
    if !attributes.is_empty() {
        session.set_query_attributes(std::mem::take(attributes));
    }
    // The results of a procedure come as they are.
    let has_cursor = flags & CURSOR_READ_ONLY != 0 && !session.is_call(id);
    if has_cursor {
        sink.cursor = Some(Held::new(directory));
    }
    session.execute(id, values, sink);
    if has_cursor {
        *cursor = sink.cursor.take().filter(|held| held.is_open).map(|held| held.rows);
    }
    if !long.is_empty() {
        for &index in long.iter() {
            values[index as usize] = Value::Null;
        }
        long.clear();
    }
}

pub fn send_long_data(statements: &mut Statements, id: u32, parameter: u16, data: &[u8], bytes_max: usize) {
    let Some(statement) = statements.get_mut(&id) else {
        return;
    };
    if parameter as usize >= statement.parameters {
        statement.long_error = Some(Error::wrong_arguments("mysqld_stmt_send_long_data"));
        return;
    }
    statement.values.resize(statement.parameters, Value::Null);
    let value = &mut statement.values[parameter as usize];
    if !statement.long.contains(&parameter) {
        statement.long.push(parameter);
        *value = Value::Bytes(Vec::new());
    }
    if let Value::Bytes(bytes) = value {
        if bytes.len() + data.len() > bytes_max {
            let message = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes";
            statement.long_error = Some(Error::new(1105, b"HY000", message));
            *bytes = Vec::new();
            return;
        }
        bytes.extend_from_slice(data);
    }
}

/// Forgets what was sent in pieces.
pub fn reset(session: &Session, statements: &mut Statements, id: u32, sink: &mut Sink) {
    match statements.get_mut(&id) {
        Some(statement) => {
            statement.long.clear();
            statement.long_error = None;
            statement.cursor = None;
            session.answer_ok(sink);
        }
        None => sink.error(&unknown_statement(id, "mysqld_stmt_reset")),
    }
}

/// COM_STMT_FETCH: the next rows of a cursor.
pub fn fetch(session: &Session, statements: &mut Statements, id: u32, count: u32, sink: &mut Sink) {
    let Some(statement) = statements.get_mut(&id) else {
        return sink.error(&unknown_statement(id, "mysqld_stmt_fetch"));
    };
    let Some(rows) = &mut statement.cursor else {
        return sink.error(&Error::new(1421, b"HY000", format!("The statement ({id}) has no open cursor.")));
    };
    for _ in 0..count {
        if rows.is_empty() {
            break;
        }
        sink.packets.begin();
        if let Err(cause) = rows.next(sink.packets.payload()) {
            sink.packets.drop_payload();
            statement.cursor = None;
            return sink.error(&sink::cannot_keep(&cause));
        }
        sink.packets.end();
        sink.flush_if_large();
    }
    let flag = if rows.is_empty() { status::LAST_ROW_SENT } else { status::CURSOR_EXISTS };
    if rows.is_empty() {
        statement.cursor = None;
    }
    let end = response::Ok { status: session.status_flags() | flag, ..response::Ok::default() };
    let capabilities = sink.capabilities;
    sink.packets.push(|out| end.encode_end_of_rows(capabilities, out));
}

pub fn malformed_packet(malformed: Malformed) -> Error {
    Error::new(1835, b"HY000", format!("Malformed communication packet ({})", malformed.what))
}

fn unknown_statement(statement: u32, doing: &str) -> Error {
    Error::unknown_prepared(&statement.to_string(), doing)
}
