//! The frame of an event: header, body, checksum.
//!
//! ```text
//! offset  bytes
//!      0      4  timestamp, seconds since 1970
//!      4      1  kind
//!      5      4  server id: the server that executed it first
//!      9      4  bytes of the event, with header and checksum
//!     13      4  end of the event in its file; 0 within a payload and for events that are in no file
//!     17      2  flags
//!     19      n  body
//!   19+n      4  CRC-32 (IEEE) of all before it, if the file's description says so
//! ```
//!
//! All numbers are little-endian. The flag "in use" of a description changes when the file is closed, and is therefore
//! taken as 0 by its checksum.

use crate::error::{Error, Result};

/// What each file begins with.
pub const MAGIC: [u8; 4] = [0xFE, b'b', b'i', b'n'];

pub const HEADER_BYTES: usize = 19;
pub const CHECKSUM_BYTES: usize = 4;

const KIND: usize = 4;
const SERVER_ID: usize = 5;
const BYTES: usize = 9;
const END: usize = 13;
const FLAGS: usize = 17;

const _: () = assert!(FLAGS + 2 == HEADER_BYTES);

/// Flags of a header.
pub mod flags {
    /// Of a description: the file has not been closed.
    pub const IN_USE: u16 = 0x1;
    /// The statement depends on its connection, as those about temporary tables do.
    pub const THREAD_SPECIFIC: u16 = 0x4;
    /// The statement needs no USE before it.
    pub const SUPPRESS_USE: u16 = 0x8;
    /// Made for one reader; in no file.
    pub const ARTIFICIAL: u16 = 0x20;
    /// In a relay log: written by the replica itself.
    pub const RELAY_LOG: u16 = 0x40;
    /// A reader that does not know the kind may skip the event.
    pub const IGNORABLE: u16 = 0x80;
}

/// The kind of an event, known or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventKind(pub u8);

macro_rules! kinds {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl EventKind {
            $(pub const $name: EventKind = EventKind($number);)*

            /// The name by which SHOW BINLOG EVENTS and the printing tools call it.
            pub fn name(self) -> &'static str {
                match self.0 {
                    $($number => $text,)*
                    _ => "Unknown",
                }
            }
        }
    };
}

kinds! {
    START_V3 = 1, "Start_v3";
    QUERY = 2, "Query";
    STOP = 3, "Stop";
    ROTATE = 4, "Rotate";
    INTVAR = 5, "Intvar";
    APPEND_BLOCK = 9, "Append_block";
    DELETE_FILE = 11, "Delete_file";
    RAND = 13, "RAND";
    USER_VAR = 14, "User_var";
    FORMAT_DESCRIPTION = 15, "Format_desc";
    XID = 16, "Xid";
    BEGIN_LOAD_QUERY = 17, "Begin_load_query";
    EXECUTE_LOAD_QUERY = 18, "Execute_load_query";
    TABLE_MAP = 19, "Table_map";
    WRITE_ROWS_V1 = 23, "Write_rows_v1";
    UPDATE_ROWS_V1 = 24, "Update_rows_v1";
    DELETE_ROWS_V1 = 25, "Delete_rows_v1";
    INCIDENT = 26, "Incident";
    HEARTBEAT = 27, "Heartbeat";
    IGNORABLE = 28, "Ignorable";
    ROWS_QUERY = 29, "Rows_query";
    WRITE_ROWS = 30, "Write_rows";
    UPDATE_ROWS = 31, "Update_rows";
    DELETE_ROWS = 32, "Delete_rows";
    GTID = 33, "Gtid";
    ANONYMOUS_GTID = 34, "Anonymous_Gtid";
    PREVIOUS_GTIDS = 35, "Previous_gtids";
    TRANSACTION_CONTEXT = 36, "Transaction_context";
    VIEW_CHANGE = 37, "View_change";
    XA_PREPARE = 38, "XA_prepare";
    PARTIAL_UPDATE_ROWS = 39, "Update_rows_partial";
    TRANSACTION_PAYLOAD = 40, "Transaction_payload";
    HEARTBEAT_V2 = 41, "Heartbeat";
    GTID_TAGGED = 42, "Gtid_tagged";
    MARIADB_ANNOTATE_ROWS = 160, "Annotate_rows";
    MARIADB_BINLOG_CHECKPOINT = 161, "Binlog_checkpoint";
    MARIADB_GTID = 162, "Gtid";
    MARIADB_GTID_LIST = 163, "Gtid_list";
    MARIADB_START_ENCRYPTION = 164, "Start_encryption";
    MARIADB_QUERY_COMPRESSED = 165, "Query_compressed";
    MARIADB_WRITE_ROWS_COMPRESSED_V1 = 166, "Write_rows_compressed_v1";
    MARIADB_UPDATE_ROWS_COMPRESSED_V1 = 167, "Update_rows_compressed_v1";
    MARIADB_DELETE_ROWS_COMPRESSED_V1 = 168, "Delete_rows_compressed_v1";
    MARIADB_WRITE_ROWS_COMPRESSED = 169, "Write_rows_compressed";
    MARIADB_UPDATE_ROWS_COMPRESSED = 170, "Update_rows_compressed";
    MARIADB_DELETE_ROWS_COMPRESSED = 171, "Delete_rows_compressed";
}

/// Whether events end with a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Checksum {
    None,
    #[default]
    Crc32,
}

impl Checksum {
    /// Bytes at the end of each event.
    pub const fn bytes(self) -> usize {
        match self {
            Checksum::None => 0,
            Checksum::Crc32 => CHECKSUM_BYTES,
        }
    }

    /// The number of the algorithm in a description.
    pub const fn code(self) -> u8 {
        match self {
            Checksum::None => 0,
            Checksum::Crc32 => 1,
        }
    }
}

/// A CRC-32 (IEEE, as in zlib) of bytes that come in parts.
#[derive(Clone, Debug, Default)]
pub struct Crc(crc32fast::Hasher);

impl Crc {
    pub fn new() -> Crc {
        Crc::default()
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds the bytes of another sum behind those of this one, without looking at them.
    pub fn join(&mut self, behind: &Crc) {
        self.0.combine(&behind.0);
    }

    pub fn sum(&self) -> u32 {
        self.0.clone().finalize()
    }
}

pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub timestamp: u32,
    pub kind: EventKind,
    pub server_id: u32,
    /// With header and checksum.
    pub bytes: u32,
    pub end_position: u32,
    pub flags: u16,
}

impl Header {
    pub fn decode(bytes: &[u8]) -> Result<Header> {
        if bytes.len() < HEADER_BYTES {
            return Err(Error::corrupt("an event that ends within its header", bytes.len()));
        }
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let header = Header {
            timestamp: u32_at(0),
            kind: EventKind(bytes[KIND]),
            server_id: u32_at(SERVER_ID),
            bytes: u32_at(BYTES),
            end_position: u32_at(END),
            flags: u16::from_le_bytes([bytes[FLAGS], bytes[FLAGS + 1]]),
        };
        if (header.bytes as usize) < HEADER_BYTES {
            return Err(Error::corrupt("an event shorter than its header", BYTES));
        }
        Ok(header)
    }

    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.timestamp.to_le_bytes());
        bytes[KIND] = self.kind.0;
        bytes[SERVER_ID..SERVER_ID + 4].copy_from_slice(&self.server_id.to_le_bytes());
        bytes[BYTES..BYTES + 4].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[END..END + 4].copy_from_slice(&self.end_position.to_le_bytes());
        bytes[FLAGS..].copy_from_slice(&self.flags.to_le_bytes());
        bytes
    }
}

/// A whole event in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    pub header: Header,
    /// Between header and checksum.
    pub body: &'a [u8],
    /// All of it, as in the file.
    pub bytes: &'a [u8],
}

impl<'a> Event<'a> {
    /// Takes the event at the start of `bytes` and verifies its checksum.
    pub fn decode(bytes: &'a [u8], checksum: Checksum) -> Result<Event<'a>> {
        let header = Header::decode(bytes)?;
        let Some(bytes) = bytes.get(..header.bytes as usize) else {
            return Err(Error::corrupt("an event that is longer than what there is of it", BYTES));
        };
        let Some(body_end) = bytes.len().checked_sub(checksum.bytes()).filter(|&end| end >= HEADER_BYTES) else {
            return Err(Error::corrupt("an event shorter than its header and checksum", BYTES));
        };
        if checksum == Checksum::Crc32 && checksum_of(&header, &bytes[..body_end]).to_le_bytes() != bytes[body_end..] {
            return Err(Error::corrupt("the checksum of an event", body_end));
        }
        Ok(Event { header, body: &bytes[HEADER_BYTES..body_end], bytes })
    }
}

/// The checksum of an event without it.
fn checksum_of(header: &Header, bytes: &[u8]) -> u32 {
    if header.kind != EventKind::FORMAT_DESCRIPTION || header.flags & flags::IN_USE == 0 {
        return crc32(bytes);
    }
    let mut crc = Crc::new();
    crc.update(&Header { flags: header.flags & !flags::IN_USE, ..*header }.encode());
    crc.update(&bytes[HEADER_BYTES..]);
    crc.sum()
}

/// Appends an event whose body `write` appends. Its length is filled in; its end position is the header's, which a
/// file's writer sets by [`place`] when it knows it.
pub fn append(out: &mut Vec<u8>, header: Header, checksum: Checksum, write: impl FnOnce(&mut Vec<u8>)) {
    let start = begin(out, header);
    write(out);
    out.extend_from_slice(&[0; CHECKSUM_BYTES][..checksum.bytes()]);
    end(out, start);
    place(&mut out[start..], header.end_position, checksum);
}

/// Begins an event without a checksum, whose body is appended behind this. Returns where it begins.
pub fn begin(out: &mut Vec<u8>, header: Header) -> usize {
    let start = out.len();
    out.extend_from_slice(&header.encode());
    start
}

/// Fills in the length of an event that was begun.
pub fn end(out: &mut [u8], start: usize) {
    let bytes = (out.len() - start) as u32;
    out[start + BYTES..start + BYTES + 4].copy_from_slice(&bytes.to_le_bytes());
}

/// Sets where an event ends in its file, and its checksum.
pub fn place(event: &mut [u8], end_position: u32, checksum: Checksum) {
    event[END..END + 4].copy_from_slice(&end_position.to_le_bytes());
    let body_end = event.len() - checksum.bytes();
    if checksum == Checksum::Crc32 {
        let header = Header::decode(event).expect("a whole event");
        let sum = checksum_of(&header, &event[..body_end]);
        event[body_end..].copy_from_slice(&sum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(kind: EventKind) -> Header {
        Header { timestamp: 1_700_000_000, kind, server_id: 7, bytes: 0, end_position: 400, flags: 0 }
    }

    #[test]
    fn an_event_comes_back_and_each_flipped_bit_is_seen() {
        let mut out = Vec::new();
        append(&mut out, header(EventKind::XID), Checksum::Crc32, |out| out.extend_from_slice(&9_u64.to_le_bytes()));
        let event = Event::decode(&out, Checksum::Crc32).unwrap();
        assert_eq!(event.header, Header { bytes: 31, ..header(EventKind::XID) });
        assert_eq!(event.body, 9_u64.to_le_bytes());
        for bit in 0..8 * out.len() {
            let mut damaged = out.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Event::decode(&damaged, Checksum::Crc32).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        let mut out = Vec::new();
        append(&mut out, header(EventKind::STOP), Checksum::Crc32, |_| ());
        for length in 0..out.len() {
            assert!(Event::decode(&out[..length], Checksum::Crc32).is_err());
            assert!(Event::decode(&out[..length], Checksum::None).is_err());
        }
    }

    #[test]
    fn closing_a_file_does_not_change_the_checksum_of_its_description() {
        let mut out = Vec::new();
        let open = Header { flags: flags::IN_USE, ..header(EventKind::FORMAT_DESCRIPTION) };
        append(&mut out, open, Checksum::Crc32, |out| out.extend_from_slice(&[4, 0, 1, 2, 3]));
        assert!(Event::decode(&out, Checksum::Crc32).is_ok());
        out[FLAGS] &= !(flags::IN_USE as u8);
        assert!(Event::decode(&out, Checksum::Crc32).is_ok());
    }
}
