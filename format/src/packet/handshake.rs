//! The connection phase: greeting, the client's answer, and authentication.
//!
//! The server's greeting (protocol version 10):
//!
//! ```text
//! 1              10
//! string, 0      server version
//! 4              connection id
//! 8              challenge, first part
//! 1              0
//! 2              capabilities, lower half
//! 1              collation
//! 2              status
//! 2              capabilities, upper half
//! 1              bytes of the challenge and its final zero: 21
//! 10             0 (the last 4 are MariaDB's own capabilities)
//! 13             challenge, second part, and a zero
//! string, 0      name of the authentication plugin
//! ```
//!
//! The client's answer (protocol 4.1):
//!
//! ```text
//! 4              capabilities
//! 4              largest packet
//! 1              collation
//! 23             0 (the last 4 may be MariaDB's own capabilities)
//! string, 0      user
//! lenenc string  the plugin's first data (or behind one byte of length)
//! string, 0      database, if CONNECT_WITH_DB
//! string, 0      plugin, if PLUGIN_AUTH
//! lenenc         bytes of attributes, if CONNECT_ATTRS: pairs of lenenc strings
//! 1              level, if ZSTD_COMPRESSION
//! ```

use super::capability::Capabilities;
use super::reader::{Malformed, Reader};
use super::writer;

/// Bytes of the random challenge that authentication starts from.
pub const CHALLENGE_BYTES: usize = 20;

/// Bytes of the client's answer if it asks for TLS: it breaks off before the user.
pub const TLS_REQUEST_BYTES: usize = 32;

/// Whether a client's first packet asks for TLS; its answer to the greeting follows through that.
pub fn asks_for_tls(payload: &[u8]) -> bool {
    payload.len() == TLS_REQUEST_BYTES
        && Reader::new(payload).u32("capabilities").is_ok_and(|bits| Capabilities(bits.into()).has(Capabilities::SSL))
}

/// Appends a client's request for TLS.
pub fn encode_tls_request(capabilities: Capabilities, packet_bytes_max: u32, collation: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&((capabilities | Capabilities::SSL).0 as u32).to_le_bytes());
    out.extend_from_slice(&packet_bytes_max.to_le_bytes());
    out.push(collation);
    out.extend_from_slice(&[0; 23]);
}

/// The server's greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake<'a> {
    pub version: &'a str,
    pub connection_id: u32,
    pub challenge: [u8; CHALLENGE_BYTES],
    pub capabilities: Capabilities,
    pub collation: u8,
    pub status: u16,
    pub plugin: &'a str,
}

impl<'a> Handshake<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let capabilities = self.capabilities.0 as u32;
        out.push(10);
        writer::zero_terminated(out, self.version.as_bytes());
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(&self.challenge[..8]);
        out.push(0);
        out.extend_from_slice(&(capabilities as u16).to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
        out.push(CHALLENGE_BYTES as u8 + 1);
        out.extend_from_slice(&[0; 10]);
        writer::zero_terminated(out, &self.challenge[8..]);
        writer::zero_terminated(out, self.plugin.as_bytes());
    }

    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("protocol version")? != 10 {
            return Err(Malformed { what: "protocol version" });
        }
        let version = utf8(reader.until_zero("server version")?, "server version")?;
        let connection_id = reader.u32("connection id")?;
        let mut challenge = [0; CHALLENGE_BYTES];
        challenge[..8].copy_from_slice(reader.bytes(8, "challenge")?);
        reader.u8("challenge")?;
        let lower = reader.u16("capabilities")?;
        let (collation, status) = (reader.u8("collation")?, reader.u16("status")?);
        let upper = reader.u16("capabilities")?;
        reader.bytes(11, "reserved")?;
        challenge[8..].copy_from_slice(reader.bytes(CHALLENGE_BYTES - 8, "challenge")?);
        reader.u8("challenge")?;
        let plugin = utf8(reader.until_zero("plugin")?, "plugin")?;
        let capabilities = Capabilities((upper as u64) << 16 | lower as u64);
        Ok(Self { version, connection_id, challenge, capabilities, collation, status, plugin })
    }
}

/// The client's answer to the greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    pub capabilities: Capabilities,
    pub packet_bytes_max: u32,
    pub collation: u8,
    pub user: &'a [u8],
    /// The plugin's first data: for both plugins of ours, the password's scramble.
    pub auth: &'a [u8],
    pub database: Option<&'a [u8]>,
    pub plugin: Option<&'a [u8]>,
    pub attributes: Attributes<'a>,
    /// The level of compression, if ZSTD_COMPRESSION.
    pub zstd_level: u8,
}

impl<'a> HandshakeResponse<'a> {
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let capabilities = Capabilities(reader.u32("capabilities")? as u64);
        if !capabilities.has(Capabilities::PROTOCOL_41) {
            return Err(Malformed { what: "client older than protocol 4.1" });
        }
        let (packet_bytes_max, collation) = (reader.u32("largest packet")?, reader.u8("collation")?);
        reader.bytes(23, "reserved")?;
        let user = reader.until_zero("user")?;
        let auth = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            reader.lenenc_bytes("authentication data")?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            let count = reader.u8("authentication data")? as usize;
            reader.bytes(count, "authentication data")?
        } else {
            reader.until_zero("authentication data")?
        };
        let database = if capabilities.has(Capabilities::CONNECT_WITH_DB) && !reader.is_empty() {
            Some(reader.until_zero("database")?).filter(|name| !name.is_empty())
        } else {
            None
        };
        let plugin = plugin_name(capabilities, &mut reader)?;
        let attributes = Attributes::decode(capabilities, &mut reader)?;
        let has_level = capabilities.has(Capabilities::ZSTD_COMPRESSION) && !reader.is_empty();
        let zstd_level = if has_level { reader.u8("level of compression")? } else { 0 };
        Ok(Self { capabilities, packet_bytes_max, collation, user, auth, database, plugin, attributes, zstd_level })
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.capabilities.0 as u32).to_le_bytes());
        out.extend_from_slice(&self.packet_bytes_max.to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&[0; 23]);
        writer::zero_terminated(out, self.user);
        if self.capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            writer::lenenc_bytes(out, self.auth);
        } else {
            out.push(self.auth.len() as u8);
            out.extend_from_slice(self.auth);
        }
        if self.capabilities.has(Capabilities::CONNECT_WITH_DB) {
            writer::zero_terminated(out, self.database.unwrap_or_default());
        }
        if self.capabilities.has(Capabilities::PLUGIN_AUTH) {
            writer::zero_terminated(out, self.plugin.unwrap_or_default());
        }
        if self.capabilities.has(Capabilities::CONNECT_ATTRS) {
            writer::lenenc_bytes(out, self.attributes.bytes);
        }
        if self.capabilities.has(Capabilities::ZSTD_COMPRESSION) {
            out.push(self.zstd_level);
        }
    }
}

/// `COM_CHANGE_USER`: like the answer to the greeting, in another order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    pub user: &'a [u8],
    pub auth: &'a [u8],
    pub database: Option<&'a [u8]>,
    pub collation: Option<u16>,
    pub plugin: Option<&'a [u8]>,
    pub attributes: Attributes<'a>,
}

impl<'a> ChangeUser<'a> {
    /// Reads what follows the command byte.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let user = reader.until_zero("user")?;
        let count = reader.u8("authentication data")? as usize;
        let auth = reader.bytes(count, "authentication data")?;
        let database = Some(reader.until_zero("database")?).filter(|name| !name.is_empty());
        let collation = if reader.is_empty() { None } else { Some(reader.u16("collation")?) };
        let plugin = plugin_name(capabilities, &mut reader)?;
        let attributes = Attributes::decode(capabilities, &mut reader)?;
        Ok(Self { user, auth, database, collation, plugin, attributes })
    }
}

fn plugin_name<'a>(capabilities: Capabilities, reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    if !capabilities.has(Capabilities::PLUGIN_AUTH) || reader.is_empty() {
        return Ok(None);
    }
    // Some clients end the packet here without the zero.
    let mut rest = *reader;
    let name = match reader.until_zero("plugin") {
        Ok(name) => name,
        Err(_) => {
            let name = rest.rest();
            *reader = rest;
            name
        }
    };
    Ok(Some(name).filter(|name| !name.is_empty()))
}

/// What a client tells about itself: pairs of names and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes<'a> {
    bytes: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Of pairs that are encoded already.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn decode(capabilities: Capabilities, reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        if !capabilities.has(Capabilities::CONNECT_ATTRS) || reader.is_empty() {
            return Ok(Self::default());
        }
        let bytes = reader.lenenc_bytes("connection attributes")?;
        let mut pairs = Reader::new(bytes);
        while !pairs.is_empty() {
            pairs.lenenc_bytes("attribute name")?;
            pairs.lenenc_bytes("attribute value")?;
        }
        Ok(Self { bytes })
    }

    /// The pairs in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut pairs = Reader::new(self.bytes);
        std::iter::from_fn(move || {
            let name = pairs.lenenc_bytes("attribute name").ok()?;
            Some((name, pairs.lenenc_bytes("attribute value").ok()?))
        })
    }
}

/// Appends a request to go on with another plugin.
pub fn encode_auth_switch(plugin: &str, challenge: &[u8; CHALLENGE_BYTES], out: &mut Vec<u8>) {
    out.push(0xFE);
    writer::zero_terminated(out, plugin.as_bytes());
    writer::zero_terminated(out, challenge);
}

/// Reads a request to go on with another plugin: its name and its data.
pub fn decode_auth_switch(payload: &[u8]) -> Result<(&str, &[u8]), Malformed> {
    let mut reader = Reader::new(payload);
    if reader.u8("answer")? != 0xFE {
        return Err(Malformed { what: "authentication switch expected" });
    }
    let plugin = utf8(reader.until_zero("plugin")?, "plugin")?;
    let data = reader.rest();
    Ok((plugin, data.strip_suffix(&[0]).unwrap_or(data)))
}

/// Appends data of the current plugin.
pub fn encode_auth_more(data: &[u8], out: &mut Vec<u8>) {
    out.push(0x01);
    out.extend_from_slice(data);
}

fn utf8<'a>(bytes: &'a [u8], what: &'static str) -> Result<&'a str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed { what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_greeting_is_read_as_it_was_written() {
        let handshake = Handshake {
            version: "8.0.36-glassine",
            connection_id: 9,
            challenge: *b"abcdefghijklmnopqrst",
            capabilities: Capabilities::SERVER,
            collation: 45,
            status: 2,
            plugin: "caching_sha2_password",
        };
        let mut out = Vec::new();
        handshake.encode(&mut out);
        assert_eq!(Handshake::decode(&out), Ok(handshake));
        for cut in 0..out.len() {
            assert!(Handshake::decode(&out[..cut]).is_err());
        }
    }

    fn response<'a>(attributes: &'a [u8]) -> HandshakeResponse<'a> {
        HandshakeResponse {
            capabilities: Capabilities::SERVER | Capabilities::ZSTD_COMPRESSION,
            packet_bytes_max: 1 << 24,
            collation: 45,
            user: b"root",
            auth: b"12345678901234567890",
            database: Some(b"shop"),
            plugin: Some(b"mysql_native_password"),
            attributes: Attributes { bytes: attributes },
            zstd_level: 3,
        }
    }

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let attributes = b"\x03_os\x05Linux\x04_pid\x0277";
        let response = response(attributes);
        let mut out = Vec::new();
        response.encode(&mut out);
        assert_eq!(HandshakeResponse::decode(&out), Ok(response.clone()));
        let pairs: Vec<_> = response.attributes.iter().collect();
        assert_eq!(pairs, [(&b"_os"[..], &b"Linux"[..]), (b"_pid", b"77")]);
    }

    #[test]
    fn attributes_that_break_off_are_refused() {
        let mut out = Vec::new();
        response(b"\x03_os\x09Linux").encode(&mut out);
        assert!(HandshakeResponse::decode(&out).is_err());
    }

    #[test]
    fn a_switch_is_read_as_it_was_written() {
        let mut out = Vec::new();
        encode_auth_switch("mysql_native_password", b"abcdefghijklmnopqrst", &mut out);
        assert_eq!(decode_auth_switch(&out), Ok(("mysql_native_password", &b"abcdefghijklmnopqrst"[..])));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut payload in prop::collection::vec(any::<u8>(), 0..128)) {
            let _ = Handshake::decode(&payload);
            let _ = decode_auth_switch(&payload);
            let _ = ChangeUser::decode(&payload, Capabilities::SERVER);
            let _ = HandshakeResponse::decode(&payload);
            if payload.len() > 1 {
                payload[1] |= 2; // Protocol 4.1, to get past the first check.
            }
            let _ = HandshakeResponse::decode(&payload);
        }
    }
}
