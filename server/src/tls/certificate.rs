//! What a certificate says of itself: names and times, read from its DER.
//!
//! ```text
//! Certificate     SEQUENCE { tbs, algorithm, signature }
//! tbs             SEQUENCE { [0] version?, serial, algorithm, issuer, validity, subject, key, ... }
//! issuer, subject SEQUENCE of SET of SEQUENCE { OID, string }
//! validity        SEQUENCE { time, time }     UTCTime "YYMMDDhhmmssZ" or GeneralizedTime "YYYYMMDDhhmmssZ"
//! ```
//!
//! Whether a certificate is valid is for `rustls` to say.

/// The parts that statements and accounts ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// As OpenSSL writes names on one line: `/C=SE/O=Example/CN=app`.
    pub subject: String,
    pub issuer: String,
    /// As OpenSSL writes times: `Nov 23 00:00:00 2026 GMT`.
    pub not_before: String,
    pub not_after: String,
}

const INTEGER: u8 = 0x02;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const BMP_STRING: u8 = 0x1E;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xA0;

/// Attributes of names that have a short name.
const ATTRIBUTES: &[(&[u8], &str)] = &[
    (&[0x55, 4, 3], "CN"),
    (&[0x55, 4, 4], "SN"),
    (&[0x55, 4, 5], "serialNumber"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "street"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x55, 4, 12], "title"),
    (&[0x55, 4, 42], "GN"),
    (&[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 1], "emailAddress"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 1], "UID"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 25], "DC"),
];

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Certificate {
    /// `None`: the bytes are no certificate.
    pub fn parse(der: &[u8]) -> Option<Self> {
        let (certificate, _) = element(der, SEQUENCE)?;
        let (tbs, _) = element(certificate, SEQUENCE)?;
        let rest = element(tbs, VERSION).map_or(tbs, |(_, rest)| rest);
        let (_, rest) = element(rest, INTEGER)?;
        let (_, rest) = element(rest, SEQUENCE)?;
        let (issuer, rest) = element(rest, SEQUENCE)?;
        let (validity, rest) = element(rest, SEQUENCE)?;
        let (subject, _) = element(rest, SEQUENCE)?;
        let (not_before, rest) = time(validity)?;
        let (not_after, _) = time(rest)?;
        Some(Self { subject: name(subject)?, issuer: name(issuer)?, not_before, not_after })
    }
}

/// The next element, whose tag is known: its content, and what follows it.
fn element(bytes: &[u8], expected: u8) -> Option<(&[u8], &[u8])> {
    let (tag, content, rest) = any_element(bytes)?;
    (tag == expected).then_some((content, rest))
}

fn any_element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7F => (first as usize, rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked((first & 0x7F) as usize)?;
            (digits.iter().fold(0, |length, &digit| length << 8 | digit as usize), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

fn name(mut rest: &[u8]) -> Option<String> {
    let mut text = String::new();
    while !rest.is_empty() {
        let (mut set, behind) = element(rest, SET)?;
        while !set.is_empty() {
            let (attribute, next) = element(set, SEQUENCE)?;
            let (oid, value) = element(attribute, OID)?;
            let (tag, value, _) = any_element(value)?;
            let known = ATTRIBUTES.iter().find(|(bytes, _)| *bytes == oid);
            let value = match tag {
                BMP_STRING => {
                    let units = value.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
                    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
                }
                _ => String::from_utf8_lossy(value).into_owned(),
            };
            let key = known.map_or_else(|| dotted(oid), |(_, short)| (*short).to_owned());
            text.push_str(&format!("/{key}={value}"));
            set = next;
        }
        rest = behind;
    }
    Some(text)
}

/// An object identifier as numbers with dots.
fn dotted(oid: &[u8]) -> String {
    let mut numbers = Vec::new();
    let mut number = 0_u64;
    for &byte in oid {
        number = number << 7 | u64::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            numbers.push(std::mem::take(&mut number));
        }
    }
    if let Some(&first) = numbers.first() {
        let top = (first / 40).min(2);
        numbers.splice(..1, [top, first - top * 40]);
    }
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

fn time(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (tag, text, rest) = any_element(bytes)?;
    let text = std::str::from_utf8(text).ok()?;
    let text = match tag {
        // Two digits: 1950 to 2049.
        UTC_TIME => format!("{}{text}", if text < "50" { "20" } else { "19" }),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let part = |at: usize, digits: usize| text.get(at..at + digits)?.parse::<usize>().ok();
    let month = MONTHS.get(part(4, 2)?.checked_sub(1)?)?;
    let (year, day) = (part(0, 4)?, part(6, 2)?);
    let (hour, minute, second) = (part(8, 2)?, part(10, 2)?, part(12, 2)?);
    Some((format!("{month} {day:>2} {hour:02}:{minute:02}:{second:02} {year} GMT"), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate with names of every kind.
    fn certificate() -> Vec<u8> {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CountryName, "SE");
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "Exämple");
        params.distinguished_name.push(rcgen::DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 2]), "odd");
        params.distinguished_name.push(rcgen::DnType::CommonName, "app");
        params.not_before = rcgen::date_time_ymd(2026, 11, 3);
        params.not_after = rcgen::date_time_ymd(2051, 1, 31);
        params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn names_and_times_are_read() {
        let parsed = Certificate::parse(&certificate()).unwrap();
        assert_eq!(parsed.subject, "/C=SE/O=Exämple/1.2.840.113549.1.9.2=odd/CN=app");
        assert_eq!(parsed.issuer, parsed.subject);
        assert_eq!(parsed.not_before, "Nov  3 00:00:00 2026 GMT");
        assert_eq!(parsed.not_after, "Jan 31 00:00:00 2051 GMT");
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = certificate();
        for at in 0..whole.len() {
            let _ = Certificate::parse(&whole[..at]);
            for bit in [0, 3, 7] {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let _ = Certificate::parse(&damaged);
            }
        }
    }
}
