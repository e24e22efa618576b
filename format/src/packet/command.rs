//! What a client asks for: the first byte of the payload names the command.

use super::capability::Capabilities;
use super::reader::{Malformed, Reader};
use super::statement::{ParameterType, decode_attribute};
use crate::value::Value;

/// A command, borrowed from its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    Quit,
    InitDb(&'a [u8]),
    Query(&'a [u8]),
    /// Columns of a table whose names match a pattern.
    FieldList {
        table: &'a [u8],
        pattern: &'a [u8],
    },
    /// Flush something (bits as in `FLUSH`).
    Refresh(u8),
    Shutdown,
    Statistics,
    ProcessInfo,
    ProcessKill(u32),
    Debug,
    Ping,
    ChangeUser(&'a [u8]),
    /// The parameters' values follow in `parameters`: see [`super::statement`].
    StatementExecute {
        statement: u32,
        flags: u8,
        parameters: &'a [u8],
    },
    StatementPrepare(&'a [u8]),
    /// A piece of one parameter. There is no answer.
    StatementSendLongData {
        statement: u32,
        parameter: u16,
        data: &'a [u8],
    },
    /// There is no answer.
    StatementClose(u32),
    StatementReset(u32),
    StatementFetch {
        statement: u32,
        rows: u32,
    },
    /// 0 turns multi-statements on, 1 off.
    SetOption(u16),
    ResetConnection,
    /// A replica tells who it is.
    RegisterReplica(Registration<'a>),
    /// Send the binary log from a position on.
    BinlogDump(Dump<'a>),
    /// The same from the transactions on that the client does not have.
    BinlogDumpGtid {
        dump: Dump<'a>,
        /// A set as `binlog::GtidSet` encodes it.
        gtids: &'a [u8],
    },
    /// A command that we do not have; its number.
    Unknown(u8),
}

/// What a replica tells of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration<'a> {
    pub server_id: u32,
    /// As `report_host` and `report_port` of the replica say.
    pub host: &'a [u8],
    pub port: u16,
    pub source_id: u32,
}

/// Which part of the binary log is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dump<'a> {
    pub position: u64,
    pub flags: u16,
    pub server_id: u32,
    /// Empty: the first file.
    pub file: &'a [u8],
}

impl Dump<'_> {
    /// The flag: do not wait at the end of the log.
    pub const NON_BLOCKING: u16 = 1;
}

/// Command numbers (`COM_...`).
pub mod number {
    pub const QUIT: u8 = 1;
    pub const INIT_DB: u8 = 2;
    pub const QUERY: u8 = 3;
    pub const FIELD_LIST: u8 = 4;
    pub const REFRESH: u8 = 7;
    pub const SHUTDOWN: u8 = 8;
    pub const STATISTICS: u8 = 9;
    pub const PROCESS_INFO: u8 = 10;
    pub const PROCESS_KILL: u8 = 12;
    pub const DEBUG: u8 = 13;
    pub const PING: u8 = 14;
    pub const CHANGE_USER: u8 = 17;
    pub const BINLOG_DUMP: u8 = 18;
    pub const REGISTER_REPLICA: u8 = 21;
    pub const STMT_PREPARE: u8 = 22;
    pub const STMT_EXECUTE: u8 = 23;
    pub const STMT_SEND_LONG_DATA: u8 = 24;
    pub const STMT_CLOSE: u8 = 25;
    pub const STMT_RESET: u8 = 26;
    pub const SET_OPTION: u8 = 27;
    pub const STMT_FETCH: u8 = 28;
    pub const BINLOG_DUMP_GTID: u8 = 30;
    pub const RESET_CONNECTION: u8 = 31;
}

impl<'a> Command<'a> {
    /// Reads a command. The capabilities tell whether query attributes precede the
    /// text of a query; they are skipped, see [`query_attributes`].
    #[inline]
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        Ok(match reader.u8("command")? {
            number::QUERY => {
                if capabilities.has(Capabilities::QUERY_ATTRIBUTES) {
                    skip_query_attributes(&mut reader)?;
                }
                Self::Query(reader.rest())
            }
            number::STMT_EXECUTE => {
                let (statement, flags) = (reader.u32("statement id")?, reader.u8("cursor flags")?);
                reader.u32("iteration count")?;
                Self::StatementExecute { statement, flags, parameters: reader.rest() }
            }
            number::QUIT => Self::Quit,
            number::INIT_DB => Self::InitDb(reader.rest()),
            number::FIELD_LIST => Self::FieldList { table: reader.until_zero("table")?, pattern: reader.rest() },
            number::REFRESH => Self::Refresh(reader.u8("what to refresh").unwrap_or(0)),
            number::SHUTDOWN => Self::Shutdown,
            number::STATISTICS => Self::Statistics,
            number::PROCESS_INFO => Self::ProcessInfo,
            number::PROCESS_KILL => Self::ProcessKill(reader.u32("connection id")?),
            number::DEBUG => Self::Debug,
            number::PING => Self::Ping,
            number::CHANGE_USER => Self::ChangeUser(reader.rest()),
            number::STMT_PREPARE => Self::StatementPrepare(reader.rest()),
            number::STMT_SEND_LONG_DATA => Self::StatementSendLongData {
                statement: reader.u32("statement id")?,
                parameter: reader.u16("parameter number")?,
                data: reader.rest(),
            },
            number::STMT_CLOSE => Self::StatementClose(reader.u32("statement id")?),
            number::STMT_RESET => Self::StatementReset(reader.u32("statement id")?),
            number::SET_OPTION => Self::SetOption(reader.u16("option")?),
            number::STMT_FETCH => {
                Self::StatementFetch { statement: reader.u32("statement id")?, rows: reader.u32("row count")? }
            }
            number::RESET_CONNECTION => Self::ResetConnection,
            number::REGISTER_REPLICA => Self::RegisterReplica(registration(&mut reader)?),
            number::BINLOG_DUMP => Self::BinlogDump(Dump {
                position: u64::from(reader.u32("a position in the binary log")?),
                flags: reader.u16("flags of a dump")?,
                server_id: reader.u32("the replica's server id")?,
                file: reader.rest(),
            }),
            number::BINLOG_DUMP_GTID => {
                let (flags, server_id) = (reader.u16("flags of a dump")?, reader.u32("the replica's server id")?);
                let bytes = reader.u32("the length of a file's name")? as usize;
                let file = reader.bytes(bytes, "a file's name")?;
                let position = reader.u64("a position in the binary log")?;
                let bytes = reader.u32("the length of a set of GTIDs")? as usize;
                let gtids = reader.bytes(bytes, "a set of GTIDs")?;
                Self::BinlogDumpGtid { dump: Dump { position, flags, server_id, file }, gtids }
            }
            other => Self::Unknown(other),
        })
    }
}

fn registration<'a>(reader: &mut Reader<'a>) -> Result<Registration<'a>, Malformed> {
    const WHAT: &str = "what a replica tells of itself";
    let server_id = reader.u32(WHAT)?;
    let short = |reader: &mut Reader<'a>| {
        let bytes = reader.u8(WHAT)? as usize;
        reader.bytes(bytes, WHAT)
    };
    let host = short(reader)?;
    // The user and the password that the replica lets SHOW REPLICAS show; they are not kept.
    short(reader)?;
    short(reader)?;
    let port = reader.u16(WHAT)?;
    reader.u32(WHAT)?;
    Ok(Registration { server_id, host, port, source_id: reader.u32(WHAT)? })
}

/// Query attributes look like the parameters of a statement, each with a name.
fn skip_query_attributes(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    // Most queries have none.
    let mut rest = *reader;
    if rest.u8("attribute count") == Ok(0) {
        rest.lenenc("attribute sets")?;
        *reader = rest;
        return Ok(());
    }
    read_query_attributes(reader).map(drop)
}

/// The attributes of a query, whose payload is given from the command's byte on.
pub fn query_attributes(payload: &[u8]) -> Result<Vec<(String, Value)>, Malformed> {
    let mut reader = Reader::new(payload);
    reader.u8("command")?;
    read_query_attributes(&mut reader)
}

fn read_query_attributes(reader: &mut Reader<'_>) -> Result<Vec<(String, Value)>, Malformed> {
    let count = reader.lenenc("attribute count")?;
    reader.lenenc("attribute sets")?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let count = usize::try_from(count).map_err(|_| Malformed { what: "attribute count" })?;
    let nulls = reader.bytes(count.div_ceil(8), "attribute nulls")?;
    reader.u8("attribute types")?;
    // The count is bounded by the null bitmap, which has been received.
    let mut types = Vec::with_capacity(count);
    for _ in 0..count {
        let ty = ParameterType::read(reader)?;
        types.push((ty, String::from_utf8_lossy(reader.lenenc_bytes("attribute name")?).into_owned()));
    }
    let mut attributes = Vec::with_capacity(count);
    for (index, (ty, name)) in types.into_iter().enumerate() {
        let mut value = Value::Null;
        if nulls[index / 8] & (1 << (index % 8)) == 0 {
            decode_attribute(ty, reader, &mut value)?;
        }
        attributes.push((name, value));
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands_are_told_by_their_first_byte() {
        let plain = Capabilities(0);
        assert_eq!(Command::decode(b"\x03SELECT 1", plain), Ok(Command::Query(b"SELECT 1")));
        assert_eq!(Command::decode(b"\x0e", plain), Ok(Command::Ping));
        assert_eq!(Command::decode(b"\x63", plain), Ok(Command::Unknown(0x63)));
        assert_eq!(Command::decode(b"\x04t\0%", plain), Ok(Command::FieldList { table: b"t", pattern: b"%" }));
        assert_eq!(
            Command::decode(&[0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 42], plain),
            Ok(Command::StatementExecute { statement: 7, flags: 0, parameters: &[42] })
        );
        assert!(Command::decode(&[0x17, 7, 0], plain).is_err());
        assert!(Command::decode(&[], plain).is_err());
    }

    #[test]
    fn replicas_say_who_they_are_and_what_they_want() {
        let plain = Capabilities(0);
        let mut payload = vec![0x15, 7, 0, 0, 0, 2];
        payload.extend_from_slice(b"db\x01u\x01p\xEA\x0C\0\0\0\0\x09\0\0\0");
        let registration = Registration { server_id: 7, host: b"db", port: 3306, source_id: 9 };
        assert_eq!(Command::decode(&payload, plain), Ok(Command::RegisterReplica(registration)));
        let dump = Dump { position: 4, flags: Dump::NON_BLOCKING, server_id: 7, file: b"binlog.000001" };
        let mut payload = vec![0x12, 4, 0, 0, 0, 1, 0, 7, 0, 0, 0];
        payload.extend_from_slice(dump.file);
        assert_eq!(Command::decode(&payload, plain), Ok(Command::BinlogDump(dump)));
        let mut payload = vec![0x1E, 1, 0, 7, 0, 0, 0, 13, 0, 0, 0];
        payload.extend_from_slice(dump.file);
        payload.extend_from_slice(&[4, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0]);
        payload.extend_from_slice(&[0; 8]);
        assert_eq!(Command::decode(&payload, plain), Ok(Command::BinlogDumpGtid { dump, gtids: &[0; 8] }));
        payload.pop();
        assert!(Command::decode(&payload, plain).is_err());
    }

    #[test]
    fn query_attributes_are_skipped_and_read() {
        let with = Capabilities::QUERY_ATTRIBUTES;
        assert_eq!(Command::decode(b"\x03\x00\x01SELECT 1", with), Ok(Command::Query(b"SELECT 1")));
        // Two attributes, one of them NULL.
        let mut payload = vec![3, 2, 1, 0b10, 1];
        payload.extend_from_slice(b"\xFD\x00\x01a\x03\x00\x01b\x02hiSELECT 1");
        assert_eq!(Command::decode(&payload, with), Ok(Command::Query(b"SELECT 1")));
        let attributes = [("a".to_owned(), Value::Bytes(b"hi".to_vec())), ("b".to_owned(), Value::Null)];
        assert_eq!(query_attributes(&payload).unwrap(), attributes);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(payload in prop::collection::vec(any::<u8>(), 0..64), attributes in any::<bool>()) {
            let capabilities = if attributes { Capabilities::QUERY_ATTRIBUTES } else { Capabilities(0) };
            let _ = Command::decode(&payload, capabilities);
        }
    }
}
