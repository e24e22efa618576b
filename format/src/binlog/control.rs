//! The small events: where a transaction ends, where a file goes on, and what a statement takes along.
//!
//! ```text
//! Rotate      8  position in the next file, then its name
//! Stop        nothing
//! Xid         8  number of the transaction that commits
//! XA_prepare  1  one phase, 4 format, 4 bytes of gtrid, 4 bytes of bqual, then both
//! Intvar      1  what (1 LAST_INSERT_ID, 2 INSERT_ID), 8 value
//! RAND        8 + 8  seeds
//! User_var    4 + n  name, 1 is it NULL; if not: 1 type, 4 collation, 4 + n value, 1 unsigned
//! Incident    2  number, 1 + n  message
//! Rows_query  1  (a length that readers ignore), then the statement that changed the rows
//! Heartbeat   name of the file
//! ```

use crate::error::{Error, Result};
use crate::packet::{Malformed, Reader};
use crate::xid::Xid;

use super::event::{Event, EventKind};

/// The type of a user variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserVarType {
    String,
    Real,
    Int,
    Decimal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserVar<'a> {
    pub name: &'a [u8],
    /// None: NULL.
    pub value: Option<UserValue<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserValue<'a> {
    pub ty: UserVarType,
    pub collation: u32,
    /// A text; an IEEE number or an integer, little-endian; or precision, scale and a stored decimal.
    pub bytes: &'a [u8],
    pub unsigned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntVar {
    LastInsertId(u64),
    InsertId(u64),
}

/// An event whose body is a few fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control<'a> {
    Rotate { position: u64, file: &'a [u8] },
    Stop,
    Xid(u64),
    XaPrepare { one_phase: bool, xid: Xid },
    IntVar(IntVar),
    Rand { seeds: (u64, u64) },
    UserVar(UserVar<'a>),
    Incident { number: u16, message: &'a [u8] },
    RowsQuery(&'a [u8]),
    Heartbeat { file: &'a [u8] },
}

impl<'a> Control<'a> {
    /// `None` if the event is of another family.
    pub fn decode(event: &Event<'a>) -> Result<Option<Control<'a>>> {
        let mut reader = Reader::new(event.body);
        Ok(Some(match event.header.kind {
            EventKind::ROTATE => {
                Control::Rotate { position: reader.u64("the position of a Rotate event")?, file: reader.rest() }
            }
            EventKind::STOP => Control::Stop,
            EventKind::XID => Control::Xid(reader.u64("the number of a Xid event")?),
            EventKind::XA_PREPARE => xa_prepare(&mut reader)?,
            EventKind::INTVAR => {
                let what = reader.u8("an Intvar event")?;
                let value = reader.u64("an Intvar event")?;
                Control::IntVar(match what {
                    1 => IntVar::LastInsertId(value),
                    2 => IntVar::InsertId(value),
                    other => return Err(Error::Unsupported { what: "Intvar event of type", value: u32::from(other) }),
                })
            }
            EventKind::RAND => Control::Rand { seeds: (reader.u64("a RAND event")?, reader.u64("a RAND event")?) },
            EventKind::USER_VAR => Control::UserVar(user_var(&mut reader)?),
            EventKind::INCIDENT => {
                let number = reader.u16("an Incident event")?;
                let bytes = reader.u8("an Incident event")? as usize;
                Control::Incident { number, message: reader.bytes(bytes, "an Incident event")? }
            }
            EventKind::ROWS_QUERY => {
                reader.u8("a Rows_query event")?;
                Control::RowsQuery(reader.rest())
            }
            EventKind::HEARTBEAT => Control::Heartbeat { file: reader.rest() },
            _ => return Ok(None),
        }))
    }

    pub fn kind(&self) -> EventKind {
        match self {
            Control::Rotate { .. } => EventKind::ROTATE,
            Control::Stop => EventKind::STOP,
            Control::Xid(_) => EventKind::XID,
            Control::XaPrepare { .. } => EventKind::XA_PREPARE,
            Control::IntVar(_) => EventKind::INTVAR,
            Control::Rand { .. } => EventKind::RAND,
            Control::UserVar(_) => EventKind::USER_VAR,
            Control::Incident { .. } => EventKind::INCIDENT,
            Control::RowsQuery(_) => EventKind::ROWS_QUERY,
            Control::Heartbeat { .. } => EventKind::HEARTBEAT,
        }
    }

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let put_long = |out: &mut Vec<u8>, bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        match self {
            Control::Rotate { position, file } => {
                out.extend_from_slice(&position.to_le_bytes());
                out.extend_from_slice(file);
            }
            Control::Stop => (),
            Control::Xid(number) => out.extend_from_slice(&number.to_le_bytes()),
            Control::XaPrepare { one_phase, xid } => {
                out.push(u8::from(*one_phase));
                out.extend_from_slice(&xid.format().to_le_bytes());
                out.extend_from_slice(&(xid.gtrid().len() as u32).to_le_bytes());
                out.extend_from_slice(&(xid.bqual().len() as u32).to_le_bytes());
                out.extend_from_slice(xid.gtrid());
                out.extend_from_slice(xid.bqual());
            }
            Control::IntVar(var) => {
                let (what, value) = match var {
                    IntVar::LastInsertId(value) => (1, value),
                    IntVar::InsertId(value) => (2, value),
                };
                out.push(what);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Control::Rand { seeds } => {
                out.extend_from_slice(&seeds.0.to_le_bytes());
                out.extend_from_slice(&seeds.1.to_le_bytes());
            }
            Control::UserVar(var) => {
                put_long(out, var.name);
                out.push(u8::from(var.value.is_none()));
                if let Some(value) = &var.value {
                    out.push(match value.ty {
                        UserVarType::String => 0,
                        UserVarType::Real => 1,
                        UserVarType::Int => 2,
                        UserVarType::Decimal => 4,
                    });
                    out.extend_from_slice(&value.collation.to_le_bytes());
                    put_long(out, value.bytes);
                    out.push(u8::from(value.unsigned));
                }
            }
            Control::Incident { number, message } => {
                let message = &message[..message.len().min(255)];
                out.extend_from_slice(&number.to_le_bytes());
                out.push(message.len() as u8);
                out.extend_from_slice(message);
            }
            Control::RowsQuery(statement) => {
                out.push(statement.len().min(255) as u8);
                out.extend_from_slice(statement);
            }
            Control::Heartbeat { file } => out.extend_from_slice(file),
        }
    }
}

fn xa_prepare<'a>(reader: &mut Reader<'a>) -> Result<Control<'a>> {
    const WHAT: &str = "an XA_prepare event";
    let one_phase = reader.u8(WHAT)? != 0;
    let format = reader.u32(WHAT)?;
    let (gtrid_bytes, bqual_bytes) = (reader.u32(WHAT)? as usize, reader.u32(WHAT)? as usize);
    let (gtrid, bqual) = (reader.bytes(gtrid_bytes, WHAT)?, reader.bytes(bqual_bytes, WHAT)?);
    let xid = Xid::new(format, gtrid, bqual).ok_or(Error::Malformed { what: WHAT })?;
    Ok(Control::XaPrepare { one_phase, xid })
}

fn user_var<'a>(reader: &mut Reader<'a>) -> Result<UserVar<'a>> {
    const WHAT: &str = "a User_var event";
    let long = |reader: &mut Reader<'a>| -> std::result::Result<&'a [u8], Malformed> {
        let bytes = reader.u32(WHAT)? as usize;
        reader.bytes(bytes, WHAT)
    };
    let name = long(reader)?;
    if reader.u8(WHAT)? != 0 {
        return Ok(UserVar { name, value: None });
    }
    let ty = match reader.u8(WHAT)? {
        0 => UserVarType::String,
        1 => UserVarType::Real,
        2 => UserVarType::Int,
        4 => UserVarType::Decimal,
        other => return Err(Error::Unsupported { what: "User_var event of type", value: u32::from(other) }),
    };
    let collation = reader.u32(WHAT)?;
    let bytes = long(reader)?;
    // Servers before 5.6 end here.
    let unsigned = !reader.is_empty() && reader.u8(WHAT)? & 1 != 0;
    Ok(UserVar { name, value: Some(UserValue { ty, collation, bytes, unsigned }) })
}

#[cfg(test)]
mod tests {
    use super::super::event::{Checksum, Header, append};
    use super::*;

    #[test]
    fn each_kind_comes_back_and_no_cut_panics() {
        let text = UserValue { ty: UserVarType::String, collation: 255, bytes: b"x", unsigned: false };
        let cases = [
            Control::Rotate { position: 4, file: b"binlog.000002" },
            Control::Stop,
            Control::Xid(77),
            Control::XaPrepare { one_phase: false, xid: Xid::new(1, b"global", b"branch").unwrap() },
            Control::IntVar(IntVar::LastInsertId(5)),
            Control::IntVar(IntVar::InsertId(u64::MAX)),
            Control::Rand { seeds: (1, 2) },
            Control::UserVar(UserVar { name: b"a", value: None }),
            Control::UserVar(UserVar { name: b"a", value: Some(text) }),
            Control::Incident { number: 1, message: b"lost events" },
            Control::RowsQuery(b"INSERT INTO t VALUES (1)"),
            Control::Heartbeat { file: b"binlog.000001" },
        ];
        for case in cases {
            let header = Header { timestamp: 0, kind: case.kind(), server_id: 1, bytes: 0, end_position: 0, flags: 0 };
            let mut bytes = Vec::new();
            append(&mut bytes, header, Checksum::None, |out| case.encode(out));
            let event = Event::decode(&bytes, Checksum::None).unwrap();
            assert_eq!(Control::decode(&event), Ok(Some(case)));
            for length in 0..event.body.len() {
                let _ = Control::decode(&Event { body: &event.body[..length], ..event });
            }
        }
    }
}
