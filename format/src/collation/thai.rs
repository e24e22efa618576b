//! `tis620_thai_ci`: Thai as dictionaries order it, as far as MySQL does so.
//!
//! A vowel that is written before its consonant counts behind it. The shortener, the four tone marks and the mark of silence
//! count last: such a mark is taken out of the text, and the text's last byte becomes what the mark weighs there, which is
//! less the more consonants and letters that are not Thai stand before it. A text with several marks loses those before
//! the last one. Latin letters count without case.
//!
//! ```text
//! เก       E0 A1       weighs A1 E0
//! ก็ก      A1 E7 A1    weighs A1 A1 F2
//! ```
//!
//! Texts compare by the bytes that come out of this, padded with spaces; LIKE compares byte by byte, without case.
//!
//! All of this was observed with `WEIGHT_STRING` on MariaDB 10.11; `bench/tests/collations.rs` compares it.

/// A consonant, and a vowel that is written before one.
const CONSONANTS: std::ops::RangeInclusive<u8> = 0xA1..=0xCE;
const LEADING: std::ops::RangeInclusive<u8> = 0xE0..=0xE4;

/// The marks that count last, by what they weigh beyond their place.
fn mark(byte: u8) -> Option<u8> {
    match byte {
        0xEC => Some(1),
        0xE7..=0xEB => Some(byte - 0xE5),
        _ => None,
    }
}

/// What the place of a mark begins with, and what each letter before it takes away.
const PLACE: u8 = 0xF8;
const STEP: u8 = 8;

/// What bytes weigh to LIKE.
pub(super) static WITHOUT_CASE: [u8; 256] = {
    let mut weights = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        weights[byte] = (byte as u8).to_ascii_lowercase();
        byte += 1;
    }
    weights
};

/// The weights of a text: as many bytes as it has.
pub(super) fn weights(text: &[u8]) -> Vec<u8> {
    let mut weights = text.to_vec();
    let (mut at, mut end, mut place) = (0, weights.len(), PLACE);
    while at < end {
        let byte = weights[at];
        if CONSONANTS.contains(&byte) || byte < 0x80 {
            place = place.wrapping_sub(STEP);
        }
        if LEADING.contains(&byte) && at + 1 < end && CONSONANTS.contains(&weights[at + 1]) {
            weights.swap(at, at + 1);
            at += 2;
            continue;
        }
        if let Some(mark) = mark(byte) {
            weights.copy_within(at + 1..end, at);
            if let Some(last) = weights.last_mut() {
                *last = place.wrapping_add(mark);
            }
            end -= 1;
            continue;
        }
        weights[at] = byte.to_ascii_lowercase();
        at += 1;
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_texts_weigh() {
        for (text, wanted) in [
            (&b"aB"[..], &b"ab"[..]),
            (b"\xE0\xA1", b"\xA1\xE0"),
            (b"\xA1\xE7\xA1", b"\xA1\xA1\xF2"),
            (b"\xA1\xE8\xA1A", b"\xA1\xA1a\xF3"),
            (b"\xE7\xE8\xE9A", b"aAA\xFC"),
            (b"\xE0\xE0\xA1", b"\xE0\xA1\xE0"),
            (b"", b""),
        ] {
            assert_eq!(weights(text), wanted, "{text:X?}");
        }
    }
}
