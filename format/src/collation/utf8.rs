//! UTF-8.

/// The code point at the start of `text` and its length; None at the end or if the bytes are not UTF-8.
#[inline]
pub(super) fn decode(text: &[u8]) -> Option<(u32, usize)> {
    let first = *text.first()?;
    if first < 0x80 {
        return Some((u32::from(first), 1));
    }
    let tail = |index: usize| match text.get(index) {
        Some(byte) if byte & 0xC0 == 0x80 => Some(u32::from(byte & 0x3F)),
        _ => None,
    };
    match first {
        0xC2..=0xDF => Some((u32::from(first & 0x1F) << 6 | tail(1)?, 2)),
        0xE0..=0xEF => {
            let code_point = u32::from(first & 0x0F) << 12 | tail(1)? << 6 | tail(2)?;
            let is_well_formed = code_point >= 0x800 && !(0xD800..=0xDFFF).contains(&code_point);
            is_well_formed.then_some((code_point, 3))
        }
        0xF0..=0xF4 => {
            let code_point = u32::from(first & 0x07) << 18 | tail(1)? << 12 | tail(2)? << 6 | tail(3)?;
            (0x1_0000..=0x10_FFFF).contains(&code_point).then_some((code_point, 4))
        }
        _ => None,
    }
}

/// Appends a code point; false if it is none.
#[inline]
pub(super) fn encode(code_point: u32, out: &mut Vec<u8>) -> bool {
    let Some(character) = char::from_u32(code_point) else { return false };
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    true
}

/// Whether a byte continues a character.
#[inline]
pub(super) fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Characters begin at all bytes that do not continue one.
#[inline]
pub(super) fn char_count(text: &[u8]) -> usize {
    text.iter().filter(|byte| !is_continuation(**byte)).count()
}

/// The byte offset of a character, or the length if there are fewer.
pub(super) fn offset_of_char(text: &[u8], index: usize) -> usize {
    let mut left = index;
    for (offset, byte) in text.iter().enumerate() {
        if !is_continuation(*byte) {
            if left == 0 {
                return offset;
            }
            left -= 1;
        }
    }
    text.len()
}

/// The length of the longest prefix that is well-formed, with characters of at most `bytes_max` bytes.
pub(super) fn well_formed_prefix(text: &[u8], bytes_max: u8) -> usize {
    let valid = match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    match bytes_max {
        4 => valid,
        _ => text[..valid].iter().position(|byte| *byte >= 0xF0).unwrap_or(valid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_utf8_is_not_decoded() {
        for bytes in [
            &[][..],
            &[0x80],
            &[0xC0, 0x80],
            &[0xC3],
            &[0xE0, 0x80, 0x80],
            &[0xED, 0xA0, 0x80],
            &[0xF4, 0x90, 0x80, 0x80],
            &[0xFF],
        ] {
            assert_eq!(decode(bytes), None, "{bytes:x?}");
        }
    }

    #[test]
    fn three_bytes_at_most() {
        assert_eq!(well_formed_prefix("aä😀b".as_bytes(), 3), 3);
        assert_eq!(well_formed_prefix("aä😀b".as_bytes(), 4), 8);
        assert_eq!(well_formed_prefix(b"ab\xFFc", 4), 2);
    }

    proptest! {
        #[test]
        fn characters_are_decoded_as_encoded(text in any::<String>()) {
            let (mut rest, mut copy, mut count) = (text.as_bytes(), Vec::new(), 0);
            while let Some((code_point, length)) = decode(rest) {
                prop_assert!(encode(code_point, &mut copy));
                prop_assert_eq!(offset_of_char(text.as_bytes(), count), text.len() - rest.len());
                rest = &rest[length..];
                count += 1;
            }
            prop_assert_eq!(&copy, text.as_bytes());
            prop_assert_eq!(char_count(text.as_bytes()), count);
        }
    }
}
