//! Reading base64 text.

const NOT: u8 = 64;
const PADDING: u8 = 65;

const DIGITS: [u8; 256] = {
    let mut digits = [NOT; 256];
    let all = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut at = 0;
    while at < all.len() {
        digits[all[at] as usize] = at as u8;
        at += 1;
    }
    digits[b'=' as usize] = PADDING;
    digits
};

/// The bytes of a text; spaces do not count. `None` = it is no base64. `joined`: several texts may stand one behind the
/// other, each with padding of its own.
pub fn decode(text: &[u8], joined: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count, mut padding) = (0_u32, 0, 0);
    for byte in text.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        let digit = match DIGITS[*byte as usize] {
            NOT => return None,
            PADDING if count < 2 => return None,
            PADDING => {
                padding += 1;
                0
            }
            _ if padding > 0 => return None,
            digit => digit,
        };
        bits = bits << 6 | u32::from(digit);
        count += 1;
        if count == 4 {
            out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
            (bits, count) = (0, 0);
            if joined {
                padding = 0;
            }
        }
    }
    (count == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_may_follow_each_other() {
        assert_eq!(decode(b"", true).unwrap(), b"");
        assert_eq!(decode(b"Zm9v\nYg==\n YmFy", true).unwrap(), b"foobbar");
        assert_eq!(decode(b"Zm8=Zm8=", true).unwrap(), b"fofo");
        assert_eq!(decode(b"Zm8=\n", false).unwrap(), b"fo");
        assert_eq!(decode(b"Zm8=Zm8=", false), None);
        for damaged in [&b"Zm9"[..], b"Zm9v=", b"Z===", b"Zm=v", b"Zm9\xFF", b"=Zm9", b"Zm9-"] {
            assert_eq!(decode(damaged, true), None, "{}", String::from_utf8_lossy(damaged));
            assert_eq!(decode(damaged, false), None, "{}", String::from_utf8_lossy(damaged));
        }
    }
}
