//! Which hosts an account's host part stands for, and which of several matching accounts counts.

use std::net::{IpAddr, Ipv4Addr};

/// Whether a client's host matches an account's pattern: `%` is any text, `_` any character, and `10.1.0.0/255.255.0.0`
/// or `10.1.0.0/16` a range of addresses.
pub fn matches(pattern: &str, host: &str) -> bool {
    if let Some((network, mask)) = netmask(pattern) {
        return host.parse::<Ipv4Addr>().is_ok_and(|host| u32::from(host) & mask == network);
    }
    if let (Ok(pattern), Ok(host)) = (pattern.parse::<IpAddr>(), host.parse::<IpAddr>()) {
        return pattern == host; // An address of IPv6 can be written in several ways.
    }
    like(pattern.as_bytes(), host.as_bytes(), true)
}

/// Network and mask of a pattern with a netmask.
fn netmask(pattern: &str) -> Option<(u32, u32)> {
    let (network, mask) = pattern.split_once('/')?;
    let network = u32::from(network.parse::<Ipv4Addr>().ok()?);
    let mask = match mask.parse::<u32>() {
        Ok(bits) if bits <= 32 => u32::MAX.checked_shl(32 - bits).unwrap_or(0),
        Ok(_) => return None,
        Err(_) => u32::from(mask.parse::<Ipv4Addr>().ok()?),
    };
    (network & mask == network).then_some((network, mask))
}

/// LIKE over bytes. A backslash takes a wildcard's meaning.
pub fn like(pattern: &[u8], text: &[u8], any_case: bool) -> bool {
    let same = |a: u8, b: u8| a == b || any_case && a.eq_ignore_ascii_case(&b);
    // The last `%`, and where the text stood when it was met: only the last one is ever tried again.
    let (mut p, mut t) = (0, 0);
    let mut again = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'%') => {
                again = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'_') => {
                p += 1;
                t += 1;
                continue;
            }
            Some(b'\\') if pattern.get(p + 1).is_some_and(|next| same(*next, text[t])) => {
                p += 2;
                t += 1;
                continue;
            }
            Some(byte) if *byte != b'\\' && same(*byte, text[t]) => {
                p += 1;
                t += 1;
                continue;
            }
            _ => {}
        }
        let Some((behind, from)) = again else { return false };
        (p, t) = (behind, from + 1);
        again = Some((behind, from + 1));
    }
    pattern[p..].iter().all(|byte| *byte == b'%')
}

/// How exact a host is: names and addresses first, then networks, then patterns whose wildcard comes late.
pub fn specificity(pattern: &str) -> usize {
    if let Some((_, mask)) = netmask(pattern) {
        return usize::MAX / 2 + mask.count_ones() as usize;
    }
    wildcard(pattern).unwrap_or(usize::MAX)
}

/// Where the first wildcard of a pattern stands.
pub fn wildcard(pattern: &str) -> Option<usize> {
    let bytes = pattern.as_bytes();
    (0..bytes.len()).find(|at| matches!(bytes[*at], b'%' | b'_') && (*at == 0 || bytes[at - 1] != b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_names_patterns_and_networks() {
        for (pattern, host, fits) in [
            ("%", "10.0.0.1", true),
            ("10.0.%", "10.0.0.1", true),
            ("10.0.%", "10.1.0.1", false),
            ("LOCALHOST", "localhost", true),
            ("10.0.0._", "10.0.0.7", true),
            ("10.0.0._", "10.0.0.77", false),
            ("192.58.197.0/255.255.255.0", "192.58.197.9", true),
            ("192.58.197.0/255.255.255.0", "192.58.198.9", false),
            ("192.58.197.0/24", "192.58.197.9", true),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("::1", "0:0:0:0:0:0:0:1", true),
            ("", "localhost", false),
        ] {
            assert_eq!(matches(pattern, host), fits, "{pattern} {host}");
        }
        assert!(specificity("10.0.0.1") > specificity("10.0.0.0/24"));
        assert!(specificity("10.0.0.0/24") > specificity("10.0.0.0/16"));
        assert!(specificity("10.0.0.0/16") > specificity("10.0.0.%"));
        assert!(specificity("10.0.0.%") > specificity("10.0.%") && specificity("10.%") > specificity("%"));
    }

    #[test]
    fn database_patterns_have_escapes() {
        let fits = |pattern: &str, text: &str| like(pattern.as_bytes(), text.as_bytes(), false);
        assert!(fits("db\\_1", "db_1") && !fits("db\\_1", "dbx1") && fits("db_1", "dbx1"));
        assert!(fits("a%b%c", "a1b2b3c") && !fits("a%b%c", "a1b2b3") && fits("%", ""));
        assert!(!fits("Db", "db"));
    }
}
