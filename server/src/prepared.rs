//! Statements that a client has prepared: their parameters, which come with each execute or in pieces before it.
//!
//! The memory of types and values belongs to the statement, so that executing it again allocates nothing.

use format::packet::statement::{self, ParameterType};
use format::packet::{ColumnDefinition, ColumnKind, Malformed};
use format::value::Value;
use rustc_hash::FxHashMap;
use sql::processlist::Process;
use sql::{Error, OkSummary, ResultSink, Session};

use crate::sink::{Rows, Sink};

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
    let status = session.status_flags();
    if parameters > 0 {
        let parameter = ColumnDefinition::new("?", ColumnKind::VarString);
        for _ in 0..parameters {
            sink.packets.push(|out| parameter.encode(out));
        }
        sink.definitions(&[], status);
    }
    if columns > 0 {
        sink.definitions(&prepared.columns, status);
    }
}

#[inline]
pub fn execute(
    session: &mut Session,
    statements: &mut Statements,
    id: u32,
    flags: u8,
    parameters: &[u8],
    process: &Process,
    sink: &mut Sink,
) {
    let Some(statement) = statements.get_mut(&id) else {
        return sink.error(&unknown_statement(id, "mysqld_stmt_execute"));
    };
    process.begin("Execute", &statement.text);
    let Statement { types, values, long, long_error, .. } = statement;
    if let Some(error) = long_error.take() {
        long.clear();
        return sink.error(&error);
    }
    let is_long = |index: usize| !long.is_empty() && long.contains(&(index as u16));
    if let Err(malformed) =
        statement::decode_parameters(parameters, flags, sink.capabilities, statement.parameters, types, is_long, values)
    {
        return sink.error(&malformed_packet(malformed));
    }
    sink.rows = Rows::Binary;
    session.execute(id, values, sink);
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
            sink.ok(&OkSummary { status: session.status_flags(), ..OkSummary::default() });
        }
        None => sink.error(&unknown_statement(id, "mysqld_stmt_reset")),
    }
}

pub fn malformed_packet(malformed: Malformed) -> Error {
    Error::new(1835, b"HY000", format!("Malformed communication packet ({})", malformed.what))
}

fn unknown_statement(statement: u32, doing: &str) -> Error {
    Error::unknown_prepared(&statement.to_string(), doing)
}
