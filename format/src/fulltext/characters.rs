//! The characters that words are made of: letters, marks and numbers of Unicode 14 (the general categories L, M and N),
//! and the underscore.
//!
//! MySQL's table is that of an older Unicode and ends with the Basic Multilingual Plane; a word of a script that came
//! later is a word here, too. The table stays as it is, because entries of indexes depend on it.

use std::sync::LazyLock;

/// Runs of such characters from U+0080 on: characters left out, characters of the run, both in LEB128.
const PACKED: &[u8] = include_bytes!("characters.bin");

const WORDS: usize = 0x11_0000 / 64;

static BITS: LazyLock<Box<[u64]>> = LazyLock::new(|| {
    let mut bits = vec![0_u64; WORDS].into_boxed_slice();
    let mut packed = PACKED.iter();
    let mut number = || {
        let (mut number, mut shift) = (0_usize, 0);
        for byte in packed.by_ref() {
            number |= usize::from(byte & 0x7F) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    };
    let mut at = 0;
    while let (Some(gap), Some(run)) = (number(), number()) {
        at += gap;
        for character in at..at + run {
            bits[character / 64] |= 1 << (character % 64);
        }
        at += run;
    }
    bits
});

/// Whether words are made of this character.
#[inline]
pub fn is_of_word(code_point: u32) -> bool {
    match u8::try_from(code_point) {
        Ok(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric() || byte == b'_',
        _ => BITS.get(code_point as usize / 64).is_some_and(|word| word >> (code_point % 64) & 1 == 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_marks_and_numbers() {
        for character in
            "aZ09_\u{e4}\u{df}\u{3b1}\u{44f}\u{5d0}\u{627}\u{e01}\u{4e2d}\u{ac00}\u{301}\u{b2}\u{216b}\u{20000}".chars()
        {
            assert!(is_of_word(character as u32), "{character:?}");
        }
        for character in " '-.,@\u{a0}\u{ab}\u{2019}\u{3001}\u{1f600}".chars() {
            assert!(!is_of_word(character as u32), "{character:?}");
        }
        assert!(!is_of_word(0xD800) && !is_of_word(0x10_FFFF) && !is_of_word(u32::MAX));
    }
}
