//! Decimal numbers as text.

use std::fmt;

use super::{BASE, Decimal, DecimalError, POWERS_OF_TEN, WORD_DIGITS, WORDS, words_of};

/// The longest text: sign, 81 digits, a point and a zero before it.
pub(super) const TEXT_BYTES_MAX: usize = WORDS * WORD_DIGITS + 3;

impl Decimal {
    /// Parses a whole text such as `-12.50` or `1e3`, spaces around it allowed.
    pub fn parse(text: &[u8]) -> Result<Decimal, DecimalError> {
        let (number, consumed, outcome) = Decimal::parse_prefix(text);
        if consumed == 0 || !text[consumed..].iter().all(u8::is_ascii_whitespace) {
            return Err(DecimalError::Syntax);
        }
        outcome.map(|()| number)
    }

    /// Parses as much of `text` as is a number, leading spaces skipped. Returns the number, the bytes consumed (0 and
    /// zero if there is no number), and whether it fits. One too large becomes the largest there is.
    pub fn parse_prefix(text: &[u8]) -> (Decimal, usize, Result<(), DecimalError>) {
        let start = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let mut at = start;
        let negative = match text.get(at) {
            Some(b'-') => {
                at += 1;
                true
            }
            Some(b'+') => {
                at += 1;
                false
            }
            _ => false,
        };
        let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let integer = &text[at..at + digits(at)];
        at += integer.len();
        let mut fraction: &[u8] = &[];
        if text.get(at) == Some(&b'.') {
            fraction = &text[at + 1..at + 1 + digits(at + 1)];
            if integer.is_empty() && fraction.is_empty() {
                return (Decimal::ZERO, 0, Ok(()));
            }
            at += 1 + fraction.len();
        }
        if integer.is_empty() && fraction.is_empty() {
            return (Decimal::ZERO, 0, Ok(()));
        }
        let mut exponent = 0_i64;
        if matches!(text.get(at), Some(b'e' | b'E')) {
            let sign = text.get(at + 1).is_some_and(|byte| matches!(byte, b'+' | b'-')) as usize;
            let count = digits(at + 1 + sign);
            if count > 0 {
                let magnitude = text[at + 1 + sign..at + 1 + sign + count]
                    .iter()
                    .fold(0_i64, |number, digit| (number * 10 + i64::from(digit - b'0')).min(1_000_000));
                exponent = if text[at + 1] == b'-' { -magnitude } else { magnitude };
                at += 1 + sign + count;
            }
        }
        match Decimal::from_digits(negative, integer, fraction, exponent) {
            Some(number) => (number, at, Ok(())),
            None => {
                let largest = Decimal::max(super::DECIMAL_PRECISION_MAX, 0);
                (Decimal { negative, ..largest }, at, Err(DecimalError::Overflow))
            }
        }
    }

    /// The number `integer.fraction x 10^exponent`; None if its integer part is too long. A fraction too long is cut.
    fn from_digits(negative: bool, integer: &[u8], fraction: &[u8], exponent: i64) -> Option<Decimal> {
        let digit_count = integer.len() + fraction.len();
        let digit = |index: usize| match index.checked_sub(integer.len()) {
            None => integer[index] - b'0',
            Some(index) => fraction[index] - b'0',
        };
        let Some(first) = (0..digit_count).find(|index| digit(*index) != 0) else {
            let scale = (fraction.len() as i64 - exponent).clamp(0, (WORDS * WORD_DIGITS) as i64);
            return Some(Decimal { scale: scale as u8, ..Decimal::ZERO });
        };
        // The point stands before digit `point`, counted from the first digit that is not zero.
        let point = integer.len() as i64 - first as i64 + exponent;
        let integer_words = words_of(point.max(0) as usize);
        if integer_words > WORDS {
            return None;
        }
        let room = ((WORDS - integer_words) * WORD_DIGITS) as i64;
        let scale = (fraction.len() as i64 - exponent).clamp(0, room);
        let mut number = Decimal { negative, integer_words: integer_words as u8, scale: scale as u8, ..Decimal::ZERO };
        // Digits go to their places, counted from the left edge of the first word.
        let start = (integer_words * WORD_DIGITS) as i64 - point;
        let end = (integer_words * WORD_DIGITS) as i64 + scale;
        for (index, place) in (first..digit_count).zip(start..end) {
            let word = &mut number.words[place as usize / WORD_DIGITS];
            *word += u32::from(digit(index)) * POWERS_OF_TEN[WORD_DIGITS - 1 - place as usize % WORD_DIGITS];
        }
        number.normalize();
        Some(number)
    }

    /// Appends the text, always with `scale()` digits behind the point.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut buffer = [0; TEXT_BYTES_MAX];
        out.extend_from_slice(self.format(&mut buffer));
    }

    /// The text, in a buffer that is long enough for any.
    pub(super) fn format<'a>(&self, buffer: &'a mut [u8; TEXT_BYTES_MAX]) -> &'a [u8] {
        let mut at = 0;
        if self.negative {
            buffer[at] = b'-';
            at += 1;
        }
        match self.integer() {
            [] => {
                buffer[at] = b'0';
                at += 1;
            }
            [first, rest @ ..] => {
                let digits = super::digits_of(*first);
                write_digits(*first, digits, &mut buffer[at..]);
                at += digits;
                for word in rest {
                    write_digits(*word, WORD_DIGITS, &mut buffer[at..]);
                    at += WORD_DIGITS;
                }
            }
        }
        if self.scale > 0 {
            buffer[at] = b'.';
            at += 1;
            let mut left = self.scale as usize;
            for word in self.fraction() {
                let digits = left.min(WORD_DIGITS);
                write_digits(word / POWERS_OF_TEN[WORD_DIGITS - digits], digits, &mut buffer[at..]);
                at += digits;
                left -= digits;
            }
        }
        &buffer[..at]
    }
}

/// Writes the last `digits` digits of a word.
#[inline]
pub(super) fn write_digits(mut word: u32, digits: usize, out: &mut [u8]) {
    debug_assert!(word < BASE);
    for place in out[..digits].iter_mut().rev() {
        *place = b'0' + (word % 10) as u8;
        word /= 10;
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0; TEXT_BYTES_MAX];
        let text = self.format(&mut buffer);
        f.write_str(std::str::from_utf8(text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_numbers() {
        for (text, shown) in [
            ("0", "0"),
            ("-0.00", "0.00"),
            ("  +12.50 ", "12.50"),
            (".5", "0.5"),
            ("5.", "5"),
            ("007.10", "7.10"),
            ("1e3", "1000"),
            ("1.5e1", "15"),
            ("1.50e1", "15.0"),
            ("1e-3", "0.001"),
            ("123456789.987654321", "123456789.987654321"),
            ("1234567890.0987654321", "1234567890.0987654321"),
            ("12345e-12", "0.000000012345"),
            ("0.000000000000000001e20", "100"),
        ] {
            assert_eq!(Decimal::parse(text.as_bytes()).unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn texts_that_are_not() {
        for text in ["", "-", ".", "abc", "1.2.3", "1e", "--1", "e5"] {
            assert_eq!(Decimal::parse(text.as_bytes()), Err(DecimalError::Syntax), "{text}");
        }
        assert_eq!(Decimal::parse(b"1e81"), Err(DecimalError::Overflow));
        assert_eq!(Decimal::parse(b"1e99999999999999999999"), Err(DecimalError::Overflow));
        assert!(Decimal::parse(b"1e-99999999999999999999").unwrap().is_zero());
    }

    #[test]
    fn prefixes() {
        let prefix = |text: &str| {
            let (number, consumed, outcome) = Decimal::parse_prefix(text.as_bytes());
            (number.to_string(), consumed, outcome.is_ok())
        };
        assert_eq!(prefix("12abc"), ("12".into(), 2, true));
        assert_eq!(prefix("12.5.6"), ("12.5".into(), 4, true));
        assert_eq!(prefix("3e"), ("3".into(), 1, true));
        assert_eq!(prefix("x"), ("0".into(), 0, true));
        assert_eq!(prefix("-1e90"), (format!("-{}", "9".repeat(65)), 5, false));
    }

    #[test]
    fn a_fraction_that_does_not_fit_is_cut() {
        let text = format!("1.{}", "3".repeat(100));
        assert_eq!(Decimal::parse(text.as_bytes()).unwrap().to_string(), format!("1.{}", "3".repeat(72)));
    }
}
