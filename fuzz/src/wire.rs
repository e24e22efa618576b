//! What clients send, and what servers answer.

use format::packet::handshake::{ChangeUser, Handshake, HandshakeResponse, decode_auth_switch};
use format::packet::statement::{ParameterType, decode_parameters, decode_prepare_ok};
use format::packet::{Capabilities, ColumnDefinition, ColumnKind, Command, Reader, frame, response, row};

use crate::bytes::Random;

fn capabilities(random: &mut Random) -> Capabilities {
    let bits = random.next();
    Capabilities(random.pick(&[bits, u64::MAX, 0, bits & 0xFFFF_FFFF]))
}

/// Frames, answers and rows.
pub fn packet(random: &mut Random) {
    let mut packets = frame::Packets::new();
    for _ in 0..random.below(4) {
        let payload = random.bytes(300);
        packets.push(|out| out.extend_from_slice(&payload));
    }
    let mut bytes = packets.bytes().to_vec();
    random.damage(&mut bytes);
    let _ = frame::join(&bytes);
    let payload = random.bytes(200);
    let _ = response::Ok::decode(&payload);
    let _ = response::Error::decode(&payload);
    let _ = response::is_eof(&payload);
    let _ = row::decode_text(&payload, random.below(20));
    let _ = decode_prepare_ok(&payload);
    let kind = random.pick(&[ColumnKind::LongLong, ColumnKind::VarString]);
    let mut column = Vec::new();
    ColumnDefinition::new("c", kind).encode(&mut column);
    assert!(ColumnDefinition::decode(&column).is_ok(), "a definition comes back");
    random.damage(&mut column);
    let _ = ColumnDefinition::decode(&column);
    let mut reader = Reader::new(&payload);
    while !reader.is_empty() {
        let before = reader.remaining();
        if reader.lenenc_bytes("some bytes").is_err() || reader.remaining() == before {
            break;
        }
    }
}

pub fn handshake(random: &mut Random) {
    let payload = random.bytes(250);
    let _ = Handshake::decode(&payload);
    let _ = decode_auth_switch(&payload);
    let mut payload = random.bytes(120);
    // The fixed part of a response: capabilities, packet size, character set, filler.
    payload.splice(0..0, capabilities(random).0.to_le_bytes()[..4].iter().copied().chain([0; 28]));
    random.damage(&mut payload);
    if let Ok(answer) = HandshakeResponse::decode(&payload) {
        let mut out = Vec::new();
        answer.encode(&mut out);
    }
    let _ = ChangeUser::decode(&random.bytes(120), capabilities(random));
}

pub fn command(random: &mut Random) {
    let mut payload = random.bytes(100);
    payload.insert(0, random.below(0x20) as u8);
    let _ = Command::decode(&payload, capabilities(random));
}

pub fn parameters(random: &mut Random) {
    let count = random.below(12);
    let mut types: Vec<ParameterType> = Vec::new();
    let mut values = Vec::new();
    let mut payload = random.bytes(200);
    if random.chance(2) {
        // NULL bitmap, new types follow, and the types themselves.
        let mut start = vec![0; count.div_ceil(8)];
        start.push(1);
        for _ in 0..count {
            start.extend([random.pick(&[1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 246, 252, 253, 254]), 0]);
        }
        payload.splice(0..0, start);
    }
    let capabilities = capabilities(random);
    let long = random.below(14);
    for _ in 0..2 {
        let _ = decode_parameters(
            &payload,
            0,
            capabilities,
            count,
            &mut types,
            |index| index == long,
            &mut values,
            &mut Vec::new(),
        );
        random.damage(&mut payload);
    }
}
