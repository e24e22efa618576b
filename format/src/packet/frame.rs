//! Packets as frames around payloads: cutting, joining and numbering them.

/// Bytes of a packet header.
pub const HEADER_BYTES: usize = 4;

/// A payload of this many bytes or more goes on in the next packet.
pub const PAYLOAD_BYTES_MAX: usize = 0xFF_FFFF;

/// The header of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Payload bytes behind this header.
    pub bytes: usize,
    pub sequence: u8,
}

impl Header {
    /// The header at the beginning of `bytes`, if it is there in full.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, sequence] = bytes.first_chunk::<HEADER_BYTES>()?;
        Some(Self { bytes: u32::from_le_bytes([a, b, c, 0]) as usize, sequence })
    }

    #[inline]
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        debug_assert!(self.bytes <= PAYLOAD_BYTES_MAX);
        let [a, b, c, _] = (self.bytes as u32).to_le_bytes();
        [a, b, c, self.sequence]
    }

    /// Whether another packet continues this payload.
    #[inline]
    pub fn continues(self) -> bool {
        self.bytes == PAYLOAD_BYTES_MAX
    }
}

/// An answer under construction: packets, one behind the other, in one buffer.
///
/// ```
/// # use format::packet::frame::Packets;
/// let mut packets = Packets::new();
/// packets.restart(1); // The command had sequence number 0.
/// packets.begin();
/// packets.payload().extend_from_slice(b"hello");
/// packets.end();
/// assert_eq!(packets.bytes(), b"\x05\x00\x00\x01hello");
/// ```
#[derive(Debug, Default)]
pub struct Packets {
    buffer: Vec<u8>,
    /// Where the header of the packet under construction stands.
    header_at: usize,
    /// The sequence number of the next packet.
    sequence: u8,
}

impl Packets {
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what was written and sent, and numbers the next packet `sequence`.
    #[inline]
    pub fn restart(&mut self, sequence: u8) {
        self.buffer.clear();
        self.sequence = sequence;
    }

    /// Forgets the bytes, which have been sent; the numbers go on.
    #[inline]
    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Gives memory back after an uncommonly large answer.
    pub fn shrink(&mut self, bytes_max: usize) {
        if self.buffer.capacity() > bytes_max {
            self.buffer.shrink_to(bytes_max);
        }
    }

    /// The finished packets.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// The sequence number of the next packet.
    #[inline]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Where the next packet will begin: see [`Packets::truncate`].
    #[inline]
    pub fn mark(&self) -> (usize, u8) {
        (self.buffer.len(), self.sequence)
    }

    /// Takes back all packets behind the mark.
    pub fn truncate(&mut self, (bytes, sequence): (usize, u8)) {
        self.buffer.truncate(bytes);
        self.sequence = sequence;
    }

    /// Begins a packet.
    #[inline]
    pub fn begin(&mut self) {
        self.header_at = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER_BYTES]);
    }

    /// The buffer; the payload of the packet under construction is appended to it.
    #[inline]
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// What has been written of the packet under construction.
    pub fn begun_payload(&self) -> &[u8] {
        &self.buffer[self.header_at + HEADER_BYTES..]
    }

    /// Takes back the packet under construction.
    pub fn drop_payload(&mut self) {
        self.buffer.truncate(self.header_at);
    }

    /// Ends the packet: its header is filled in, and a payload that is too large for
    /// one packet is cut into several.
    #[inline]
    pub fn end(&mut self) {
        let bytes = self.buffer.len() - self.header_at - HEADER_BYTES;
        if bytes < PAYLOAD_BYTES_MAX {
            let header = Header { bytes, sequence: self.sequence };
            self.buffer[self.header_at..self.header_at + HEADER_BYTES].copy_from_slice(&header.encode());
            self.sequence = self.sequence.wrapping_add(1);
        } else {
            self.cut(bytes);
        }
    }

    #[cold]
    fn cut(&mut self, bytes: usize) {
        let payload = self.buffer.split_off(self.header_at + HEADER_BYTES);
        debug_assert_eq!(payload.len(), bytes);
        self.buffer.truncate(self.header_at);
        let mut rest = &payload[..];
        loop {
            let (piece, behind) = rest.split_at(rest.len().min(PAYLOAD_BYTES_MAX));
            let header = Header { bytes: piece.len(), sequence: self.sequence };
            self.sequence = self.sequence.wrapping_add(1);
            self.buffer.extend_from_slice(&header.encode());
            self.buffer.extend_from_slice(piece);
            rest = behind;
            if !header.continues() {
                return;
            }
        }
    }

    /// A whole packet at once.
    #[inline]
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.begin();
        write(&mut self.buffer);
        self.end();
    }
}

/// Joins the packets at the beginning of `bytes` into one payload: `None` if they
/// have not arrived in full. Answers the payload, the sequence number of its last
/// packet, and how many bytes it took. Clients and tests use it; the server joins
/// in place.
pub fn join(bytes: &[u8]) -> Option<(Vec<u8>, u8, usize)> {
    let mut payload = Vec::new();
    let mut at = 0;
    loop {
        let header = Header::decode(bytes.get(at..)?)?;
        at += HEADER_BYTES;
        payload.extend_from_slice(bytes.get(at..at + header.bytes)?);
        at += header.bytes;
        if !header.continues() {
            return Some((payload, header.sequence, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_cut_at_the_limit_and_joined_again() {
        for (bytes, packets_expected) in
            [(0, 1), (1, 1), (PAYLOAD_BYTES_MAX - 1, 1), (PAYLOAD_BYTES_MAX, 2), (PAYLOAD_BYTES_MAX + 1, 2)]
        {
            let payload: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
            let mut packets = Packets::new();
            packets.restart(255); // The number wraps.
            packets.push(|out| out.extend_from_slice(&payload));
            assert_eq!(packets.bytes().len(), bytes + packets_expected * HEADER_BYTES);
            assert_eq!(packets.sequence(), (254 + packets_expected + 1) as u8);
            let (joined, sequence, taken) = join(packets.bytes()).unwrap();
            assert!(joined == payload);
            assert_eq!(sequence.wrapping_add(1), packets.sequence());
            assert_eq!(taken, packets.bytes().len());
            assert_eq!(join(&packets.bytes()[..taken - 1]), None);
        }
    }

    #[test]
    fn packets_behind_a_mark_can_be_taken_back() {
        let mut packets = Packets::new();
        packets.restart(1);
        packets.push(|out| out.push(7));
        let mark = packets.mark();
        packets.push(|out| out.push(8));
        packets.truncate(mark);
        packets.push(|out| out.push(9));
        assert_eq!(packets.bytes(), [1, 0, 0, 1, 7, 1, 0, 0, 2, 9]);
    }
}
