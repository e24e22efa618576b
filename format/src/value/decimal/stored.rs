//! Decimal numbers as stored bytes.
//!
//! ```text
//! DECIMAL(14,4)    1234567890.0625 -> 81 0D FB 38 D2 02 71
//!
//!   81        1, the leading digits of the integer part that fill no group; top bit flipped
//!   0DFB38D2  234567890, a group of nine digits
//!   0271      625, the last digits, which fill no group
//! ```
//!
//! Digits are taken in groups of nine from the point outwards, four bytes each, big-endian; what is left at either end
//! takes as many bytes as it needs. A negative number has all bits inverted. The flipped top bit puts negative numbers
//! before the others, so that memcmp orders the bytes as the numbers.

use super::text::write_digits;
use super::{Decimal, POWERS_OF_TEN, WORD_DIGITS, words_of};

/// Bytes of a group of so many digits.
const GROUP_BYTES: [usize; WORD_DIGITS + 1] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// How the digits of a column are cut into groups.
struct Groups {
    lead_digits: usize,
    integer_words: usize,
    fraction_words: usize,
    tail_digits: usize,
}

impl Groups {
    #[inline]
    fn of(precision: u8, scale: u8) -> Groups {
        let integer_digits = precision.saturating_sub(scale) as usize;
        Groups {
            lead_digits: integer_digits % WORD_DIGITS,
            integer_words: integer_digits / WORD_DIGITS,
            fraction_words: scale as usize / WORD_DIGITS,
            tail_digits: scale as usize % WORD_DIGITS,
        }
    }

    #[inline]
    fn bytes(&self) -> usize {
        GROUP_BYTES[self.lead_digits] + 4 * (self.integer_words + self.fraction_words) + GROUP_BYTES[self.tail_digits]
    }
}

/// Reads the groups of a stored number from left to right.
struct GroupReader<'a> {
    bytes: &'a [u8],
    /// All ones if the number is negative.
    mask: u8,
    first: bool,
}

impl<'a> GroupReader<'a> {
    #[inline]
    fn new(bytes: &'a [u8]) -> GroupReader<'a> {
        let negative = bytes.first().is_some_and(|byte| byte & 0x80 == 0);
        GroupReader { bytes, mask: if negative { 0xFF } else { 0 }, first: true }
    }

    /// The next group. Bytes that are missing are zeros, and digits beyond the group's are dropped: damaged bytes
    /// give some number.
    #[inline]
    fn next(&mut self, digits: usize) -> u32 {
        let (group, rest) = self.bytes.split_at(GROUP_BYTES[digits].min(self.bytes.len()));
        self.bytes = rest;
        let mut number = 0_u32;
        for byte in group {
            let mut byte = byte ^ self.mask;
            if self.first {
                byte ^= 0x80;
                self.first = false;
            }
            number = number << 8 | u32::from(byte);
        }
        if number < POWERS_OF_TEN[digits] { number } else { number % POWERS_OF_TEN[digits] }
    }
}

impl Decimal {
    /// The bytes of a stored DECIMAL(precision, scale).
    #[inline]
    pub fn stored_bytes(precision: u8, scale: u8) -> usize {
        Groups::of(precision, scale).bytes()
    }

    /// Appends the stored form of a number, which fits DECIMAL(precision, scale).
    pub fn encode(&self, precision: u8, scale: u8, out: &mut Vec<u8>) {
        let number = if self.scale > scale { self.truncate(i32::from(scale)) } else { *self };
        assert!(number.integer_digits() <= precision.saturating_sub(scale), "the number fits its column");
        let groups = Groups::of(precision, scale);
        let start = out.len();
        let integer = number.integer();
        let integer_places = groups.integer_words + (groups.lead_digits > 0) as usize;
        let missing = integer_places - integer.len();
        for place in 0..integer_places {
            let word = if place < missing { 0 } else { integer[place - missing] };
            let digits = if place == 0 && groups.lead_digits > 0 { groups.lead_digits } else { WORD_DIGITS };
            write_group(word, digits, out);
        }
        let fraction = number.fraction();
        for place in 0..groups.fraction_words {
            write_group(fraction.get(place).copied().unwrap_or(0), WORD_DIGITS, out);
        }
        if groups.tail_digits > 0 {
            let word = fraction.get(groups.fraction_words).copied().unwrap_or(0);
            write_group(word / POWERS_OF_TEN[WORD_DIGITS - groups.tail_digits], groups.tail_digits, out);
        }
        if number.negative {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        if let Some(first) = out.get_mut(start) {
            *first ^= 0x80;
        }
    }

    /// The number of stored bytes.
    pub fn decode(stored: &[u8], precision: u8, scale: u8) -> Decimal {
        let groups = Groups::of(precision, scale);
        let mut reader = GroupReader::new(stored);
        let mut number = Decimal { scale, negative: reader.mask != 0, ..Decimal::ZERO };
        let mut at = 0;
        // Leading zero words are never entered, so that the number needs no normalization.
        let enter_integer = |number: &mut Decimal, at: &mut usize, word: u32| {
            if word != 0 || *at > 0 {
                number.words[*at] = word;
                *at += 1;
            }
        };
        if groups.lead_digits > 0 {
            enter_integer(&mut number, &mut at, reader.next(groups.lead_digits));
        }
        for _ in 0..groups.integer_words {
            enter_integer(&mut number, &mut at, reader.next(WORD_DIGITS));
        }
        number.integer_words = at as u8;
        for _ in 0..groups.fraction_words {
            number.words[at] = reader.next(WORD_DIGITS);
            at += 1;
        }
        if groups.tail_digits > 0 {
            number.words[at] = reader.next(groups.tail_digits) * POWERS_OF_TEN[WORD_DIGITS - groups.tail_digits];
        }
        debug_assert_eq!(number.length(), number.integer_words as usize + words_of(scale as usize));
        number.negative &= !number.is_zero();
        number
    }

    /// Appends the text of stored bytes, without making a number of them.
    pub fn write_stored(stored: &[u8], precision: u8, scale: u8, out: &mut Vec<u8>) {
        let groups = Groups::of(precision, scale);
        let mut reader = GroupReader::new(stored);
        let mut text = [b'0'; super::text::TEXT_BYTES_MAX];
        // The digits stand from text[2] on; the sign and a zero before the point may have to go in front.
        let mut end = 2;
        let mut write = |end: &mut usize, digits: usize| {
            write_digits(reader.next(digits), digits, &mut text[*end..]);
            *end += digits;
        };
        if groups.lead_digits > 0 {
            write(&mut end, groups.lead_digits);
        }
        for _ in 0..groups.integer_words {
            write(&mut end, WORD_DIGITS);
        }
        let point = end;
        if scale > 0 {
            end += 1;
            for _ in 0..groups.fraction_words {
                write(&mut end, WORD_DIGITS);
            }
            if groups.tail_digits > 0 {
                write(&mut end, groups.tail_digits);
            }
        }
        let negative = reader.mask != 0 && text[2..end].iter().any(|digit| *digit != b'0');
        if scale > 0 {
            text[point] = b'.';
        }
        let mut start = 2 + text[2..point].iter().take_while(|digit| **digit == b'0').count();
        if start == point {
            start -= 1;
            text[start] = b'0';
        }
        if negative {
            start -= 1;
            text[start] = b'-';
        }
        out.extend_from_slice(&text[start..end]);
    }
}

#[inline]
fn write_group(number: u32, digits: usize, out: &mut Vec<u8>) {
    debug_assert!(number < POWERS_OF_TEN[digits]);
    out.extend_from_slice(&number.to_be_bytes()[4 - GROUP_BYTES[digits]..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stored(text: &str, precision: u8, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        Decimal::parse(text.as_bytes()).unwrap().encode(precision, scale, &mut out);
        out
    }

    #[test]
    fn bytes_are_innodbs() {
        assert_eq!(stored("-1234567.891", 10, 3), [0x7F, 0xED, 0x29, 0x78, 0xFC, 0x84]);
        assert_eq!(stored("0.1234", 4, 4), [0x84, 0xD2]);
        assert_eq!(stored("-12345", 5, 0), [0x7F, 0xCF, 0xC6]);
        assert_eq!(stored("1234567890.0625", 14, 4), [0x81, 0x0D, 0xFB, 0x38, 0xD2, 0x02, 0x71]);
    }

    #[test]
    fn damaged_bytes_give_some_number() {
        for stored in [&[][..], &[0xFF], &[0xFF; 40], &[0; 40]] {
            Decimal::decode(stored, 65, 30);
            Decimal::write_stored(stored, 65, 30, &mut Vec::new());
        }
    }

    /// A column and two of its numbers.
    fn column_and_numbers() -> impl Strategy<Value = (u8, u8, Decimal, Decimal)> {
        (1..=65_u8, 0..=30_u8).prop_flat_map(|(precision, scale)| {
            let scale = scale.min(precision);
            let number = (any::<bool>(), proptest::collection::vec(0..10_u8, 0..=precision as usize)).prop_map(
                move |(negative, digits)| {
                    let mut text = String::from(if negative { "-" } else { "" });
                    let digits: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
                    text += &format!("0{digits}e-{scale}");
                    Decimal::parse(text.as_bytes()).unwrap()
                },
            );
            (Just(precision), Just(scale), number.clone(), number)
        })
    }

    proptest! {
        #[test]
        fn stored_bytes_keep_number_text_and_order((precision, scale, a, b) in column_and_numbers()) {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            a.encode(precision, scale, &mut first);
            b.encode(precision, scale, &mut second);
            prop_assert_eq!(first.len(), Decimal::stored_bytes(precision, scale));
            let decoded = Decimal::decode(&first, precision, scale);
            prop_assert_eq!(decoded, a);
            prop_assert_eq!(decoded.scale(), scale);
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
            let mut text = Vec::new();
            Decimal::write_stored(&first, precision, scale, &mut text);
            prop_assert_eq!(String::from_utf8(text).unwrap(), decoded.to_string());
        }
    }
}
