//! Format_description: the first event of each file, which says how to read the others.
//!
//! ```text
//! offset  bytes
//!      0      2  version of the binary log: 4
//!      2     50  version of the server, padded with zeros
//!     52      4  when the server started, in its first file; else 0
//!     56      1  bytes of an event's header: 19
//!     57      n  bytes that each kind of event has between header and variable part, from kind 1 on
//!   57+n      1  checksum: 0 none, 1 CRC-32     (MySQL from 5.6.1, MariaDB from 5.3)
//!   58+n      4  checksum of this event, whatever the algorithm
//! ```

use super::event::{CHECKSUM_BYTES, Checksum, Event, EventKind, HEADER_BYTES, Header, append};
use crate::error::{Error, Result};

const SERVER: usize = 2;
const SERVER_BYTES: usize = 50;
const CREATED: usize = 52;
const HEADER: usize = 56;
const POST_HEADERS: usize = 57;

/// What MySQL 8.0 (from 8.0.26 on) writes for kinds 1 to 41. The payload's 40 is MySQL's own slip: the event has
/// nothing of the sort, and readers know it.
const POST_HEADERS_WRITTEN: [u8; 41] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 98, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0, 0, 10, 10, 10, 42, 42, 0,
    18, 52, 0, 10, 40, 0,
];

const _: () = assert!(POST_HEADERS + POST_HEADERS_WRITTEN.len() == 98);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription {
    pub server: Box<str>,
    /// Seconds since 1970; 0 in all but the first file of a server's life.
    pub created: u32,
    /// By kind, from 1 on.
    post_headers: Box<[u8]>,
    pub checksum: Checksum,
}

impl FormatDescription {
    /// The description that is written here.
    pub fn new(server: &str, created: u32, checksum: Checksum) -> FormatDescription {
        FormatDescription { server: server.into(), created, post_headers: POST_HEADERS_WRITTEN.into(), checksum }
    }

    /// Takes the description at the start of `bytes`, which begin behind the magic number.
    pub fn decode(bytes: &[u8]) -> Result<(FormatDescription, Event<'_>)> {
        let header = Header::decode(bytes)?;
        if header.kind != EventKind::FORMAT_DESCRIPTION {
            return Err(match header.kind {
                EventKind::START_V3 => Error::Unsupported { what: "binary log of version", value: 3 },
                _ => Error::corrupt("a file that does not begin with its description", 4),
            });
        }
        let plain = Event::decode(bytes, Checksum::None)?;
        let body = plain.body;
        if body.len() < POST_HEADERS {
            return Err(Error::corrupt("a description that is too short", 9));
        }
        let version = u16::from_le_bytes([body[0], body[1]]);
        if version != 4 {
            return Err(Error::Unsupported { what: "binary log of version", value: u32::from(version) });
        }
        if body[HEADER] as usize != HEADER_BYTES {
            return Err(Error::Unsupported { what: "event headers of so many bytes:", value: u32::from(body[HEADER]) });
        }
        let server = &body[SERVER..SERVER + SERVER_BYTES];
        let server = String::from_utf8_lossy(&server[..server.iter().position(|&byte| byte == 0).unwrap_or(50)]);
        let (post_headers, checksum, event) = match knows_checksums(&server) {
            false => (&body[POST_HEADERS..], Checksum::None, plain),
            true => {
                let Some(end) = body.len().checked_sub(1 + CHECKSUM_BYTES).filter(|&end| end >= POST_HEADERS) else {
                    return Err(Error::corrupt("a description without its checksum", 9));
                };
                let checksum = match body[end] {
                    0 => Checksum::None,
                    1 => Checksum::Crc32,
                    other => return Err(Error::Unsupported { what: "checksum algorithm", value: u32::from(other) }),
                };
                let event = match checksum {
                    Checksum::Crc32 => Event::decode(bytes, Checksum::Crc32)?,
                    Checksum::None => Event { body: &body[..=end], ..plain },
                };
                (&body[POST_HEADERS..end], checksum, event)
            }
        };
        let created = u32::from_le_bytes(body[CREATED..CREATED + 4].try_into().expect("4 bytes"));
        Ok((FormatDescription { server: server.into(), created, post_headers: post_headers.into(), checksum }, event))
    }

    /// Appends the event. It ends with a checksum whatever the algorithm of the others is.
    pub fn append(&self, header: Header, out: &mut Vec<u8>) {
        append(out, Header { kind: EventKind::FORMAT_DESCRIPTION, ..header }, Checksum::Crc32, |out| {
            let mut server = [0; SERVER_BYTES];
            let named = self.server.len().min(SERVER_BYTES - 1);
            server[..named].copy_from_slice(&self.server.as_bytes()[..named]);
            out.extend_from_slice(&4_u16.to_le_bytes());
            out.extend_from_slice(&server);
            out.extend_from_slice(&self.created.to_le_bytes());
            out.push(HEADER_BYTES as u8);
            out.extend_from_slice(&self.post_headers);
            out.push(self.checksum.code());
        });
    }

    /// Bytes between the header and the variable part of an event. `default` stands for kinds that the file's server
    /// did not know.
    pub fn post_header_bytes(&self, kind: EventKind, default: usize) -> usize {
        match kind.0.checked_sub(1).and_then(|at| self.post_headers.get(at as usize)) {
            Some(&bytes) => bytes as usize,
            None => default,
        }
    }

    pub fn is_mariadb(&self) -> bool {
        self.server.contains("MariaDB")
    }
}

/// Whether a server of this version ends its description with the number of a checksum algorithm.
fn knows_checksums(server: &str) -> bool {
    let mut numbers = server.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= if server.contains("MariaDB") { (5, 3, 0) } else { (5, 6, 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binlog::flags;

    #[test]
    fn a_description_comes_back_with_every_checksum() {
        for checksum in [Checksum::None, Checksum::Crc32] {
            let written = FormatDescription::new("8.0.40-glassine", 1_700_000_000, checksum);
            let header = Header {
                timestamp: 1,
                kind: EventKind::FORMAT_DESCRIPTION,
                server_id: 1,
                bytes: 0,
                end_position: 126,
                flags: flags::IN_USE,
            };
            let mut bytes = Vec::new();
            written.append(header, &mut bytes);
            assert_eq!(bytes.len(), 122, "as long as MySQL 8.0 makes it");
            let (read, event) = FormatDescription::decode(&bytes).unwrap();
            assert_eq!(read, written);
            assert_eq!(event.header.end_position, 126);
            for length in 0..bytes.len() {
                assert!(FormatDescription::decode(&bytes[..length]).is_err(), "{length} bytes");
            }
        }
    }

    #[test]
    fn servers_know_checksums_from_their_version_on() {
        for (server, knows) in [
            ("5.0.86-debug-log", false),
            ("5.5.17-debug", false),
            ("5.6.1-m5", true),
            ("8.0.40", true),
            ("5.5.36-MariaDB-debug-log", true),
            ("10.11.6-MariaDB-log", true),
        ] {
            assert_eq!(knows_checksums(server), knows, "{server}");
        }
    }
}
