//! What is kept of a password, and checking a password against it.
//!
//! Sources: the manual's pages on the two plugins; "Unix crypt using SHA-256 and
//! SHA-512" (Drepper) for the digest of `caching_sha2_password`.

use sha1::{Digest, Sha1};
use sha2::Sha256;

/// Rounds of the sha2 verifier, in thousands, as MySQL has by default.
const ROUNDS_THOUSANDS: usize = 5;

/// A longer password is nobody's: what it costs to check one grows with the square of its length.
pub const BYTES_MAX: usize = 256;

/// 20 random bytes that are not zero and not `$`, so that they can stand in a C string.
pub fn random_salt() -> [u8; 20] {
    std::array::from_fn(|_| {
        loop {
            let byte = rand::random::<u8>() & 0x7F;
            // Printable characters only, so that the accounts file stays readable.
            if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/') {
                return byte;
            }
        }
    })
}

/// A password of letters, digits and signs, for accounts that get one by chance.
pub fn random(bytes: usize) -> String {
    const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,;:-_+*/()<>[]{}!?=@&%#~";
    let sign = || {
        loop {
            // The highest multiple below 256: no sign is more likely than another.
            let byte = usize::from(rand::random::<u8>());
            if byte < 256 - 256 % SIGNS.len() {
                return SIGNS[byte % SIGNS.len()] as char;
            }
        }
    };
    (0..bytes).map(|_| sign()).collect()
}

/// Whether a text has the form of a verifier of `caching_sha2_password`.
pub fn is_sha2_verifier(text: &str) -> bool {
    split_sha2(text).is_some()
}

/// `*` and the hexadecimal SHA1(SHA1(password)).
pub fn native_verifier(password: &[u8]) -> String {
    let twice = Sha1::digest(Sha1::digest(password));
    let mut verifier = String::from("*");
    for byte in twice {
        verifier.push_str(&format!("{byte:02X}"));
    }
    verifier
}

/// The SHA1(SHA1(password)) of a verifier.
pub fn native_hash(verifier: &str) -> Option<[u8; 20]> {
    let digits = verifier.strip_prefix('*')?;
    if digits.len() != 40 || !digits.is_ascii() {
        return None;
    }
    let mut hash = [0; 20];
    for (byte, pair) in hash.iter_mut().zip(0..) {
        *byte = u8::from_str_radix(&digits[2 * pair..2 * pair + 2], 16).ok()?;
    }
    Some(hash)
}

/// `$A$005$`, the salt, and SHA-crypt's digest: the form of `caching_sha2_password`.
pub fn sha2_verifier(password: &[u8], salt: &[u8; 20]) -> String {
    let salt_text: String = salt.iter().map(|&byte| byte as char).collect();
    format!("$A${ROUNDS_THOUSANDS:03X}${salt_text}{}", sha_crypt(password, salt, ROUNDS_THOUSANDS * 1000))
}

/// Whether a password is the one of a verifier of `caching_sha2_password`.
pub fn sha2_matches(password: &[u8], verifier: &str) -> bool {
    let Some((rounds, salt, digest)) = split_sha2(verifier).filter(|_| password.len() <= BYTES_MAX) else {
        return false;
    };
    equal(sha_crypt(password, salt.as_bytes(), rounds).as_bytes(), digest.as_bytes())
}

/// `$5$`, the salt, `$`, and SHA-crypt's digest: the form of `sha256_password`.
pub fn sha256_verifier(password: &[u8], salt: &[u8; 20]) -> String {
    let salt_text: String = salt.iter().map(|&byte| byte as char).collect();
    format!("$5${salt_text}${}", sha_crypt(password, salt, ROUNDS_THOUSANDS * 1000))
}

/// Whether a text has the form of a verifier of `sha256_password`.
pub fn is_sha256_verifier(text: &str) -> bool {
    split_sha256(text).is_some()
}

/// Whether a password is the one of a verifier of `sha256_password`.
pub fn sha256_matches(password: &[u8], verifier: &str) -> bool {
    let Some((salt, digest)) = split_sha256(verifier).filter(|_| password.len() <= BYTES_MAX) else {
        return false;
    };
    equal(sha_crypt(password, salt.as_bytes(), ROUNDS_THOUSANDS * 1000).as_bytes(), digest.as_bytes())
}

fn split_sha256(verifier: &str) -> Option<(&str, &str)> {
    let (salt, digest) = verifier.strip_prefix("$5$")?.split_at_checked(20)?;
    digest.strip_prefix('$').filter(|digest| digest.len() == 43).map(|digest| (salt, digest))
}

fn split_sha2(verifier: &str) -> Option<(usize, &str, &str)> {
    let rest = verifier.strip_prefix("$A$")?;
    let (rounds, rest) = rest.split_once('$')?;
    let rounds = usize::from_str_radix(rounds, 16).ok()?.checked_mul(1000)?;
    let (salt, digest) = rest.split_at_checked(20)?;
    (rounds > 0).then_some((rounds, salt, digest))
}

/// Compares without telling by its time how much agrees.
pub fn equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

/// Ulrich Drepper's SHA-crypt with SHA-256, without its prefix; see "Unix crypt using SHA-256 and SHA-512".
fn sha_crypt(password: &[u8], salt: &[u8], rounds: usize) -> String {
    let repeat = |digest: &[u8], bytes: usize| digest.iter().copied().cycle().take(bytes).collect::<Vec<u8>>();
    let b = Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut a = Sha256::new().chain_update(password).chain_update(salt).chain_update(repeat(&b, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            a.update(b);
        } else {
            a.update(password);
        }
        bits >>= 1;
    }
    let mut digest = a.finalize();
    let mut p = Sha256::new();
    for _ in 0..password.len() {
        p.update(password);
    }
    let p = repeat(&p.finalize(), password.len());
    let mut s = Sha256::new();
    for _ in 0..16 + digest[0] as usize {
        s.update(salt);
    }
    let s = repeat(&s.finalize(), salt.len());
    for round in 0..rounds {
        let mut c = Sha256::new();
        let odd = round & 1 == 1;
        c.update(if odd { &p[..] } else { &digest[..] });
        if round % 3 != 0 {
            c.update(&s);
        }
        if round % 7 != 0 {
            c.update(&p);
        }
        c.update(if odd { &digest[..] } else { &p[..] });
        digest = c.finalize();
    }
    base64(&digest)
}

/// SHA-crypt's own base 64, with its own order of bytes.
fn base64(digest: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const GROUPS: [[usize; 3]; 10] = [
        [0, 10, 20],
        [21, 1, 11],
        [12, 22, 2],
        [3, 13, 23],
        [24, 4, 14],
        [15, 25, 5],
        [6, 16, 26],
        [27, 7, 17],
        [18, 28, 8],
        [9, 19, 29],
    ];
    let mut text = String::with_capacity(43);
    let mut push = |number: u32, letters: usize| {
        for index in 0..letters {
            text.push(LETTERS[(number >> (6 * index)) as usize & 63] as char);
        }
    };
    for [a, b, c] in GROUPS {
        push((digest[a] as u32) << 16 | (digest[b] as u32) << 8 | digest[c] as u32, 4);
    }
    push((digest[31] as u32) << 8 | digest[30] as u32, 3);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_native_verifier_is_mysqls() {
        assert_eq!(native_verifier(b"password"), "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        let hash = native_hash("*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19").unwrap();
        assert_eq!(hash[..3], [0x24, 0x70, 0xC0]);
        assert_eq!(native_hash("*2470"), None);
    }

    #[test]
    fn the_digest_is_that_of_sha_crypt() {
        // Test vectors of the specification.
        assert_eq!(sha_crypt(b"Hello world!", b"saltstring", 5000), "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
        assert_eq!(
            sha_crypt(b"This is just a test", b"toolongsaltstrin", 5000),
            "Un/5jzAHMgOGZ5.mWJpuVolil07guHPvOW8mGRcvxa5"
        );
    }

    #[test]
    fn a_sha2_verifier_accepts_its_password_alone() {
        let verifier = sha2_verifier(b"secret", &random_salt());
        assert_eq!(verifier.len(), "$A$005$".len() + 20 + 43);
        assert!(sha2_matches(b"secret", &verifier));
        assert!(!sha2_matches(b"Secret", &verifier));
        assert!(!sha2_matches(b"secret", "$A$005$short"));
    }

    #[test]
    fn sha256_verifiers_match_their_password_alone_and_no_long_one_is_tried() {
        let verifier = sha256_verifier(b"secret", b"abcdefghijklmnopqrst");
        assert!(is_sha256_verifier(&verifier) && !is_sha256_verifier(&verifier[1..]));
        assert!(sha256_matches(b"secret", &verifier) && !sha256_matches(b"other", &verifier));
        // The digest is that of the other plugin; only the form differs.
        let digest = sha2_verifier(b"secret", b"abcdefghijklmnopqrst");
        assert!(digest.ends_with(verifier.rsplit('$').next().unwrap()));
        let long = vec![b'x'; BYTES_MAX + 1];
        assert!(!sha256_matches(&long, &sha256_verifier(&long, b"abcdefghijklmnopqrst")));
        assert!(!sha2_matches(&long, &sha2_verifier(&long, b"abcdefghijklmnopqrst")));
    }
}
