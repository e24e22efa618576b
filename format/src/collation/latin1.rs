//! latin1, which in MySQL is Windows code page 1252: its characters, their case, and the weights of its
//! collations but the binary one.
//!
//! A character is a byte. Below 0x80 it is ASCII, from 0xA0 on the Unicode code point of the same number; what is
//! between is told by a table. Five bytes have no character in the code page; they stand for the control characters of
//! their number, so that nothing is lost on the way to Unicode and back.

/// The code points of bytes 0x80..=0x9F.
const MIDDLE: [u16; 32] = [
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D,
    0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
    0x0153, 0x009D, 0x017E, 0x0178,
];

/// Weights of letters and symbols from 0xC0 on in `latin1_swedish_ci`: accented letters weigh as their base letter,
/// but Å Ä Æ Ö Ü sort as in Swedish.
const SWEDISH: [u8; 64] = [
    b'A', b'A', b'A', b'A', b'\\', b'[', b'\\', b'C', b'E', b'E', b'E', b'E', b'I', b'I', b'I', b'I', //
    b'D', b'N', b'O', b'O', b'O', b'O', b']', 0xD7, 0xD8, b'U', b'U', b'U', b'Y', b'Y', 0xDE, 0xDF, //
    b'A', b'A', b'A', b'A', b'\\', b'[', b'\\', b'C', b'E', b'E', b'E', b'E', b'I', b'I', b'I', b'I', //
    b'D', b'N', b'O', b'O', b'O', b'O', b']', 0xF7, 0xD8, b'U', b'U', b'U', b'Y', b'Y', 0xDE, 0xFF,
];

/// The characters of `latin1_general_ci` from `A` on, in ascending order. The letters of a group weigh the same: what
/// the first of them would weigh if all had a weight of their own. The bytes 0x80..=0xBF follow behind these groups.
const GENERAL: &str = "Aa Àà Áá Ââ Ãã Ää Åå Ææ Bb Cc Çç Dd Ðð Ee Èè Éé Êê Ëë Ff Gg Hh Ii Ìì Íí Îî Ïï Jj Kk Ll Mm Nn Ññ \
    Oo Òò Óó Ôô Õõ Öö Øø Pp Qq Rr Ss ß Tt Uu Ùù Úú Ûû Üü Vv Ww Xx Yy Ýý ÿ Zz Þþ [ \\ ] ^ _ ` { | } ~ × ÷ \x7F";

pub(super) static SWEDISH_WEIGHTS: [u8; 256] = swedish_weights();
pub(super) static GENERAL_WEIGHTS: [u8; 256] = general_weights(false);
pub(super) static GENERAL_CS_WEIGHTS: [u8; 256] = general_weights(true);
pub(super) static ASCII_WEIGHTS: [u8; 256] = ascii_weights();

/// What bytes are to LIKE in latin1_german2_ci: umlauts and ß stand for themselves, and no byte weighs as they do.
pub(super) static GERMAN2_ALIKE: [u8; 256] = german2_alike();

const fn german2_alike() -> [u8; 256] {
    let mut weights = swedish_weights();
    let same = [(0xC4, 0xC4), (0xC5, b'A'), (0xD6, 0xD6), (0xDC, 0xDC), (0xDF, 0xDF), (0xFF, b'Y')];
    let mut at = 0;
    while at < same.len() {
        let (byte, weight) = same[at];
        weights[byte] = weight;
        if byte < 0xDF {
            weights[byte + 0x20] = weight;
        }
        at += 1;
    }
    weights
}

/// What a text weighs in latin1_german2_ci: an umlaut is the vowel and an E, ß is SS.
pub(super) fn german2_weights(text: &[u8]) -> Vec<u8> {
    let mut weights = Vec::with_capacity(text.len());
    for byte in text {
        match GERMAN2_ALIKE[usize::from(*byte)] {
            0xC4 => weights.extend(b"AE"),
            0xD6 => weights.extend(b"OE"),
            0xDC => weights.extend(b"UE"),
            0xDF => weights.extend(b"SS"),
            weight => weights.push(weight),
        }
    }
    weights
}

const fn ascii_weights() -> [u8; 256] {
    let mut weights = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        weights[byte] = (byte as u8).to_ascii_uppercase();
        byte += 1;
    }
    weights
}

const fn swedish_weights() -> [u8; 256] {
    let mut weights = ascii_weights();
    let mut at = 0;
    while at < SWEDISH.len() {
        weights[0xC0 + at] = SWEDISH[at];
        at += 1;
    }
    weights
}

/// `by_case`: the letters of a group have weights of their own, in their order.
const fn general_weights(by_case: bool) -> [u8; 256] {
    let mut weights = [0; 256];
    let mut byte = 0;
    while byte < 0x80 {
        weights[byte] = byte as u8;
        weights[byte + 0x40] = byte as u8;
        byte += 1;
    }
    // 0x80..=0xBF come last; letters and symbols get their weights below.
    byte = 0x80;
    while byte < 0xC0 {
        weights[byte] = byte as u8 + 0x40;
        byte += 1;
    }
    let text = GENERAL.as_bytes();
    let (mut weight, mut members, mut at) = (b'A', 0, 0);
    while at < text.len() {
        if text[at] == b' ' {
            weight += members;
            members = 0;
            at += 1;
            continue;
        }
        let mut byte = text[at];
        at += 1;
        if byte >= 0x80 {
            // Two bytes of UTF-8.
            byte = byte << 6 | text[at] & 0x3F;
            at += 1;
        }
        weights[byte as usize] = if by_case { weight + members } else { weight };
        members += 1;
    }
    weights
}

/// The code point of a byte.
#[inline]
pub(super) fn decode(byte: u8) -> u32 {
    match byte {
        0x80..=0x9F => u32::from(MIDDLE[byte as usize - 0x80]),
        _ => u32::from(byte),
    }
}

/// The byte of a code point.
#[inline]
pub(super) fn encode(code_point: u32) -> Option<u8> {
    match code_point {
        0..=0x7F | 0xA0..=0xFF => Some(code_point as u8),
        _ => MIDDLE.iter().position(|middle| u32::from(*middle) == code_point).map(|at| at as u8 + 0x80),
    }
}

/// Only the letters from À on have another case; not Š and its kin in the middle, and not ß and ÿ.
pub(super) fn to_upper(byte: u8) -> u8 {
    match byte {
        0xE0..=0xF6 | 0xF8..=0xFE => byte - 0x20,
        _ => byte.to_ascii_uppercase(),
    }
}

pub(super) fn to_lower(byte: u8) -> u8 {
    match byte {
        0xC0..=0xD6 | 0xD8..=0xDE => byte + 0x20,
        _ => byte.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found_again() {
        for byte in 0..=255 {
            assert_eq!(encode(decode(byte)), Some(byte));
        }
        assert_eq!(encode('€' as u32), Some(0x80));
        assert_eq!(encode('中' as u32), None);
    }

    #[test]
    fn weights() {
        let swedish = |letter: char| SWEDISH_WEIGHTS[encode(letter as u32).unwrap() as usize];
        assert_eq!(
            (swedish('ä'), swedish('å'), swedish('ö'), swedish('ü'), swedish('é')),
            (b'\\', b'[', b']', b'Y', b'E')
        );
        let general = |letter: char| GENERAL_WEIGHTS[encode(letter as u32).unwrap() as usize];
        for (letter, weight) in [
            ('@', 0x40),
            ('a', 0x41),
            ('À', 0x43),
            ('ß', 0x97),
            ('t', 0x98),
            ('ÿ', 0xAE),
            ('þ', 0xB1),
            ('\u{7F}', 0xBF),
            ('€', 0xC0),
            ('¿', 0xFF),
        ] {
            assert_eq!(general(letter), weight, "{letter}");
        }
    }

    #[test]
    fn german_letters_are_two() {
        for (text, wanted) in [
            (&b"M\xFCller"[..], &b"MUELLER"[..]),
            (b"Gro\xDF", b"GROSS"),
            (b"\xC5\xE9\xFF\xF8", b"AEY\xD8"),
            (b"", b""),
        ] {
            assert_eq!(german2_weights(text), wanted);
        }
    }

    #[test]
    fn only_the_space_weighs_as_a_space() {
        for weights in [&SWEDISH_WEIGHTS, &GENERAL_WEIGHTS, &GENERAL_CS_WEIGHTS, &ASCII_WEIGHTS] {
            assert!((0..256).all(|byte| (weights[byte] == b' ') == (byte == 0x20)));
        }
    }
}
