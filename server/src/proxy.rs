//! The proxy protocol: what a proxy says in front of the first packet of a connection that it forwards.
//!
//! ```text
//! version 1   PROXY TCP4 192.0.2.1 192.0.2.9 40112 3306\r\n       (or TCP6, UNKNOWN)
//! version 2   signature of 12 bytes, 0x21 (or 0x20: the proxy itself), family, 2 bytes of length, addresses
//! ```
//!
//! Only addresses in `proxy_protocol_networks` are believed; from all others such bytes are a malformed packet. The
//! header may be missing: a connection from a proxy's address that is no forwarded one is served as it is.

use std::net::{IpAddr, SocketAddr};

/// The beginnings of the two versions, as long as a packet's header; no packet of a client begins so.
const FIRST_V1: &[u8; 4] = b"PROX";
const FIRST_V2: &[u8; 4] = b"\r\n\r\n";
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// The longest line of version 1, with its end.
const LINE_BYTES_MAX: usize = 107;
const FIXED_BYTES: usize = 16;

/// What the bytes that have come so far are.
#[derive(Debug, PartialEq, Eq)]
pub enum Header {
    /// No header.
    None,
    /// Its end has not come.
    Partial,
    Malformed,
    /// It has this length; the client is there, if the proxy says where.
    Whole {
        bytes: usize,
        client: Option<SocketAddr>,
    },
}

/// Reads what a connection begins with.
pub fn header(bytes: &[u8]) -> Header {
    let Some(first) = bytes.first_chunk::<4>() else { return Header::Partial };
    match first {
        FIRST_V1 => line(bytes),
        FIRST_V2 => binary(bytes),
        _ => Header::None,
    }
}

fn line(bytes: &[u8]) -> Header {
    let Some(end) = bytes.windows(2).take(LINE_BYTES_MAX).position(|pair| pair == b"\r\n") else {
        return if bytes.len() < LINE_BYTES_MAX { Header::Partial } else { Header::Malformed };
    };
    let words: Option<Vec<&str>> = std::str::from_utf8(&bytes[..end]).ok().map(|line| line.split(' ').collect());
    let bytes = end + 2;
    match words.as_deref() {
        Some(["PROXY", "UNKNOWN", ..]) => Header::Whole { bytes, client: None },
        Some(["PROXY", family @ ("TCP4" | "TCP6"), source, _, port, _]) => {
            let address = source.parse::<IpAddr>().ok().filter(|address| address.is_ipv4() == (*family == "TCP4"));
            match (address, port.parse()) {
                (Some(address), Ok(port)) => Header::Whole { bytes, client: Some(SocketAddr::new(address, port)) },
                _ => Header::Malformed,
            }
        }
        _ => Header::Malformed,
    }
}

fn binary(bytes: &[u8]) -> Header {
    let shared = bytes.len().min(SIGNATURE.len());
    if bytes[..shared] != SIGNATURE[..shared] {
        return Header::Malformed;
    }
    if bytes.len() < FIXED_BYTES {
        return Header::Partial;
    }
    let (command, family) = (bytes[12], bytes[13]);
    let length = FIXED_BYTES + u16::from_be_bytes([bytes[14], bytes[15]]) as usize;
    if bytes.len() < length {
        return Header::Partial;
    }
    let rest = &bytes[FIXED_BYTES..length];
    let client = match (command, family) {
        (0x20, _) => None,
        (0x21, 0x11) => match rest.first_chunk::<12>() {
            Some(&[a, b, c, d, _, _, _, _, high, low, ..]) => {
                Some(SocketAddr::new([a, b, c, d].into(), u16::from_be_bytes([high, low])))
            }
            None => return Header::Malformed,
        },
        (0x21, 0x21) => match (rest.first_chunk::<16>(), rest.get(32..34)) {
            (Some(address), Some(&[high, low])) => {
                Some(SocketAddr::new((*address).into(), u16::from_be_bytes([high, low])))
            }
            _ => return Header::Malformed,
        },
        // Other families have no address that an account could be for.
        (0x21, _) => None,
        _ => return Header::Malformed,
    };
    Header::Whole { bytes: length, client }
}

/// Whether `proxy_protocol_networks` names the address; `None` is the socket. `Err`: the list cannot be read.
pub fn is_proxy(networks: &str, address: Option<IpAddr>) -> Result<bool, String> {
    let mut found = false;
    for network in networks.split([',', ' ']).map(str::trim).filter(|network| !network.is_empty()) {
        let wrong = || format!("proxy_protocol_networks: '{network}' is no network");
        found |= match (network, address) {
            ("*", _) => true,
            ("localhost", None) => true,
            ("localhost", Some(_)) => false,
            (network, address) => {
                let (base, bits) = network.split_once('/').map_or((network, None), |(base, bits)| (base, Some(bits)));
                let base: IpAddr = base.parse().map_err(|_| wrong())?;
                let all = if base.is_ipv4() { 32 } else { 128 };
                let bits: u32 = bits.map_or(Ok(all), str::parse).map_err(|_| wrong())?;
                if bits > all {
                    return Err(wrong());
                }
                address.is_some_and(|address| agree(base, address, bits))
            }
        };
    }
    Ok(found)
}

fn agree(base: IpAddr, address: IpAddr, bits: u32) -> bool {
    let (one, other, all) = match (base, address) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u128::from(one.to_bits()), u128::from(other.to_bits()), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    (one ^ other).checked_shr(all - bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<SocketAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn both_versions_are_read_whole_or_not_at_all() {
        let mut four = SIGNATURE.to_vec();
        four.extend_from_slice(&[0x21, 0x11, 0, 12, 192, 0, 2, 1, 192, 0, 2, 9, 0x9C, 0xB0, 0x0C, 0xEA]);
        let mut six = SIGNATURE.to_vec();
        six.extend_from_slice(&[0x21, 0x21, 0, 39]);
        six.extend_from_slice(&[0; 15]);
        six.push(1);
        six.extend_from_slice(&[0; 16]);
        six.extend_from_slice(&[0, 80, 0, 90, 3, 0, 0]);
        let mut own = SIGNATURE.to_vec();
        own.extend_from_slice(&[0x20, 0, 0, 0]);
        for (bytes, client) in [
            (&b"PROXY TCP4 192.0.2.1 192.0.2.9 40112 3306\r\n"[..], at("192.0.2.1:40112")),
            (b"PROXY TCP6 ::1 ::2 80 90\r\n", at("[::1]:80")),
            (b"PROXY UNKNOWN\r\n", None),
            (&four, at("192.0.2.1:40112")),
            (&six, at("[::1]:80")),
            (&own, None),
        ] {
            let mut more = bytes.to_vec();
            more.extend_from_slice(b"\x20\0\0\x01rest");
            assert_eq!(header(&more), Header::Whole { bytes: bytes.len(), client });
            for cut in 0..bytes.len() {
                assert_eq!(header(&bytes[..cut]), Header::Partial, "{cut}");
            }
        }
        assert_eq!(header(b"\x20\0\0\x01"), Header::None);
        for bytes in [&b"PROXY TCP4 ::1 ::2 1 2\r\n"[..], b"PROXX TCP4\r\n", b"\r\n\r\n\r\n", b"PROXY TCP4 1.2.3.4\r\n"]
        {
            assert_eq!(header(bytes), Header::Malformed, "{bytes:?}");
        }
        assert_eq!(header(&[b"PROXY ", &[b'x'; 120][..]].concat()), Header::Malformed);
    }

    #[test]
    fn networks_are_read_and_matched() {
        let address = |text: &str| Some(text.parse::<IpAddr>().unwrap());
        for (networks, peer, is) in [
            ("", "192.0.2.1", false),
            ("*", "192.0.2.1", true),
            ("192.0.2.0/24, ::1", "192.0.2.1", true),
            ("192.0.2.0/24", "192.0.3.1", false),
            ("192.0.2.0/24 ::1", "::1", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("2001:db8::/32", "2001:db8:1::1", true),
        ] {
            assert_eq!(is_proxy(networks, address(peer)), Ok(is), "{networks} {peer}");
        }
        assert_eq!(is_proxy("localhost", None), Ok(true));
        assert_eq!(is_proxy("127.0.0.1", None), Ok(false));
        for networks in ["x", "1.2.3.4/33", "1.2.3.4/", "::1/129"] {
            assert!(is_proxy(networks, address("1.2.3.4")).is_err(), "{networks}");
        }
    }
}
