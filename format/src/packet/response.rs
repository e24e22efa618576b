//! How a command ends: OK, error, end of rows.

use super::capability::Capabilities;
use super::reader::{Malformed, Reader};
use super::writer;
use crate::collation::{Charset, in_charset};

/// First bytes of an answer.
pub const OK: u8 = 0x00;
pub const EOF: u8 = 0xFE;
pub const ERROR: u8 = 0xFF;
pub const LOCAL_INFILE: u8 = 0xFB;

/// What a statement did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ok<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    /// See [`super::status`].
    pub status: u16,
    pub warnings: u16,
    pub info: &'a str,
    /// What of the session changed; the status has SESSION_STATE_CHANGED if there is something.
    pub changes: &'a [u8],
}

impl<'a> Ok<'a> {
    /// Appends the payload of an OK packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_behind(OK, out);
    }

    /// Appends the payload that ends the rows: an OK packet with the first byte of
    /// EOF, or for clients that do not know it, the EOF packet of old.
    #[inline]
    pub fn encode_end_of_rows(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        if capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.encode_behind(EOF, out);
        } else {
            encode_eof(self.warnings, self.status, out);
        }
    }

    #[inline]
    fn encode_behind(&self, first: u8, out: &mut Vec<u8>) {
        out.push(first);
        writer::lenenc(out, self.affected_rows);
        writer::lenenc(out, self.last_insert_id);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        if !self.info.is_empty() || !self.changes.is_empty() {
            // Clients read either form here; MySQL and MariaDB send a length.
            writer::lenenc_bytes(out, self.info.as_bytes());
        }
        if !self.changes.is_empty() {
            writer::lenenc_bytes(out, self.changes);
        }
    }

    /// Reads an OK packet, also one that ends rows.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if !matches!(reader.u8("answer")?, OK | EOF) {
            return Err(Malformed { what: "OK expected" });
        }
        let (affected_rows, last_insert_id) = (reader.lenenc("affected rows")?, reader.lenenc("last insert id")?);
        let (status, warnings) = (reader.u16("status")?, reader.u16("warnings")?);
        let info = if reader.is_empty() { &[][..] } else { reader.lenenc_bytes("info")? };
        let info = std::str::from_utf8(info).map_err(|_| Malformed { what: "info" })?;
        let has_changes = status & super::status::SESSION_STATE_CHANGED != 0 && !reader.is_empty();
        let changes = if has_changes { reader.lenenc_bytes("session changes")? } else { &[] };
        Ok(Self { affected_rows, last_insert_id, status, warnings, info, changes })
    }
}

/// Appends the payload of an EOF packet, for clients without `DEPRECATE_EOF`.
#[inline]
pub fn encode_eof(warnings: u16, status: u16, out: &mut Vec<u8>) {
    out.push(EOF);
    out.extend_from_slice(&warnings.to_le_bytes());
    out.extend_from_slice(&status.to_le_bytes());
}

/// Whether a payload is an EOF packet rather than a row that begins with a long
/// field: a row with a first field that large does not fit this size.
pub fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&EOF) && payload.len() < 9
}

/// An error, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error<'a> {
    pub code: u16,
    pub sqlstate: [u8; 5],
    pub message: &'a str,
}

impl<'a> Error<'a> {
    /// Appends the payload. Before the handshake is done, there is no SQLSTATE.
    pub fn encode(&self, with_sqlstate: bool, out: &mut Vec<u8>) {
        self.encode_in(None, with_sqlstate, out);
    }

    /// The same with the message in a character set; `None`: in UTF-8.
    pub fn encode_in(&self, charset: Option<Charset>, with_sqlstate: bool, out: &mut Vec<u8>) {
        out.push(ERROR);
        out.extend_from_slice(&self.code.to_le_bytes());
        if with_sqlstate {
            out.push(b'#');
            out.extend_from_slice(&self.sqlstate);
        }
        out.extend_from_slice(&in_charset(self.message, charset));
    }

    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("answer")? != ERROR {
            return Err(Malformed { what: "error expected" });
        }
        let code = reader.u16("error code")?;
        let mut sqlstate = *b"HY000";
        let mut rest = reader;
        if rest.u8("sqlstate") == Ok(b'#') {
            sqlstate.copy_from_slice(rest.bytes(5, "sqlstate")?);
            reader = rest;
        }
        let message = std::str::from_utf8(reader.rest()).map_err(|_| Malformed { what: "error message" })?;
        Ok(Self { code, sqlstate, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_is_read_as_it_was_written() {
        let ok = Ok {
            affected_rows: 300,
            last_insert_id: 70_000,
            status: 2,
            warnings: 1,
            info: "Rows matched: 1",
            changes: b"",
        };
        let mut out = Vec::new();
        let changed =
            Ok { status: super::super::status::SESSION_STATE_CHANGED, info: "", changes: b"\x01\x02\x01a", ..ok };
        changed.encode(&mut out);
        assert_eq!(Ok::decode(&out), Ok(changed));
        out.clear();
        ok.encode(&mut out);
        assert_eq!(Ok::decode(&out), Ok(ok));
        out.clear();
        ok.encode_end_of_rows(Capabilities::DEPRECATE_EOF, &mut out);
        assert_eq!(out[0], EOF);
        assert_eq!(Ok::decode(&out), Ok(ok));
        out.clear();
        ok.encode_end_of_rows(Capabilities(0), &mut out);
        assert_eq!(out, [EOF, 1, 0, 2, 0]);
        assert!(is_eof(&out));
    }

    #[test]
    fn errors_carry_their_sqlstate_after_the_handshake_only() {
        let error = Error { code: 1146, sqlstate: *b"42S02", message: "Table 'a.b' doesn't exist" };
        let mut out = Vec::new();
        error.encode(true, &mut out);
        assert_eq!(&out[..9], b"\xFF\x7A\x04#42S02");
        assert_eq!(Error::decode(&out), Ok(error));
        out.clear();
        error.encode(false, &mut out);
        assert_eq!(Error::decode(&out), Ok(Error { sqlstate: *b"HY000", ..error }));
    }
}
