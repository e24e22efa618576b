//! Integers and floating-point numbers as text, the way MySQL writes and reads them.
//!
//! A DOUBLE is written with the fewest digits that read back as the same number, a FLOAT with at most six. Between
//! 1e-15 and 1e15 there is no exponent, and neither where there are digits behind the point:
//!
//! ```text
//! 0.1    100000000000000    1e15    1234567890123456.5    0.000000000000001    1e-16    1.7976931348623157e308
//! ```
//!
//! Reading never fails: a text is a number as far as it looks like one (`'12abc'` is 12), and [`Prefix`] says how far
//! that was, for the caller's warning.

use std::fmt::Write;

/// How much of a text was a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes read, leading spaces included; 0 when there is no number.
    pub consumed: usize,
    /// Something other than spaces follows, or there was no number: warning 1292, "Truncated incorrect ... value".
    pub truncated: bool,
    /// The number was out of range and became the nearest one.
    pub overflow: bool,
}

/// The longest text of a double: sign, 17 digits, point, and the zeros of 0.000000000000001...
pub(super) const DOUBLE_BYTES_MAX: usize = 40;

const DIGIT_PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

/// Appends an integer.
#[inline]
pub fn write_u64(number: u64, out: &mut Vec<u8>) {
    let mut text = [0_u8; 20];
    let start = u64_text(number, &mut text);
    out.extend_from_slice(&text[start..]);
}

/// Appends an integer.
#[inline]
pub fn write_i64(number: i64, out: &mut Vec<u8>) {
    let mut text = [0_u8; 20];
    let mut start = u64_text(number.unsigned_abs(), &mut text);
    if number < 0 {
        // 19 digits at most, so there is room for the sign.
        start -= 1;
        text[start] = b'-';
    }
    out.extend_from_slice(&text[start..]);
}

/// Writes the digits to the end of `text` and returns where they start.
#[inline]
fn u64_text(mut number: u64, text: &mut [u8; 20]) -> usize {
    let mut at = text.len();
    while number >= 100 {
        let pair = (number % 100) as usize * 2;
        number /= 100;
        at -= 2;
        text[at..at + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
    }
    if number >= 10 {
        let pair = number as usize * 2;
        at -= 2;
        text[at..at + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        text[at] = b'0' + number as u8;
    }
    at
}

/// Appends `number` with at least `digits` digits, zeros in front. At most 8 digits.
#[inline]
pub(super) fn write_padded(number: u32, digits: usize, out: &mut Vec<u8>) {
    debug_assert!(digits <= 8);
    let mut text = [0_u8; 20];
    let start = u64_text(u64::from(number), &mut text);
    let missing = digits.saturating_sub(text.len() - start);
    out.extend_from_slice(&b"00000000"[..missing.min(8)]);
    out.extend_from_slice(&text[start..]);
}

/// Appends two digits.
#[inline]
pub(super) fn write_pair(number: u8, out: &mut Vec<u8>) {
    let pair = (number % 100) as usize * 2;
    out.extend_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
}

/// A small text on the stack.
struct Buffer<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Buffer<N> {
    fn new() -> Buffer<N> {
        Buffer { bytes: [0; N], length: 0 }
    }
    fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl<const N: usize> Write for Buffer<N> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Appends the shortest text that reads back as the same double: `0.1`, `100000`, `1e20`.
pub fn write_double(number: f64, out: &mut Vec<u8>) {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        if number == 0.0 && number.is_sign_negative() {
            out.push(b'-');
        }
        return write_i64(number as i64, out);
    }
    let mut text = [0; DOUBLE_BYTES_MAX];
    let bytes = double_text(number, &mut text);
    out.extend_from_slice(&text[..bytes]);
}

/// Appends a FLOAT: six significant digits at most.
pub fn write_float(number: f32, out: &mut Vec<u8>) {
    let mut scientific = Buffer::<32>::new();
    // Writing to the buffer cannot fail: there is room.
    let _ = write!(scientific, "{:.5e}", f64::from(number));
    let mut text = [0; DOUBLE_BYTES_MAX];
    let bytes = layout_digits(scientific.text(), &mut text);
    out.extend_from_slice(&text[..bytes]);
}

/// Writes a double to a buffer and returns its length.
pub(super) fn double_text(number: f64, text: &mut [u8; DOUBLE_BYTES_MAX]) -> usize {
    let mut scientific = Buffer::<32>::new();
    let _ = write!(scientific, "{number:e}");
    let digits =
        scientific.text().iter().take_while(|byte| **byte != b'e').filter(|byte| byte.is_ascii_digit()).count();
    if digits >= 16 {
        // Two shortest texts may be equally near. MySQL takes the even one, as rounding to so many digits does. (With
        // fewer digits, no two texts read back as the same number.)
        let mut even = Buffer::<32>::new();
        let _ = write!(even, "{number:.*e}", digits - 1);
        let reads_back = std::str::from_utf8(even.text()).is_ok_and(|text| text.parse() == Ok(number));
        if reads_back {
            return layout_digits(even.text(), text);
        }
    }
    layout_digits(scientific.text(), text)
}

/// Whether a number is shown without an exponent: a middling one, or one with digits behind the point.
fn shows_plainly(exponent: i32, digits: usize) -> bool {
    (-15..15).contains(&exponent) || (exponent == 15 && digits > 16)
}

/// Turns `-1.25e-3` into what MySQL shows: `-0.00125`.
fn layout_digits(scientific: &[u8], text: &mut [u8; DOUBLE_BYTES_MAX]) -> usize {
    let mut length = 0;
    let mut push = |bytes: &[u8]| {
        text[length..length + bytes.len()].copy_from_slice(bytes);
        length += bytes.len();
    };
    let unsigned = match scientific {
        [b'-', rest @ ..] => {
            push(b"-");
            rest
        }
        all => all,
    };
    let Some(e) = unsigned.iter().position(|byte| *byte == b'e') else {
        // NaN and infinities are not values of SQL; MySQL shows them as zero.
        push(b"0");
        return length;
    };
    let mut digits = [0_u8; 20];
    let mut count = 0;
    for byte in unsigned[..e].iter().filter(|byte| **byte != b'.') {
        digits[count] = *byte;
        count += 1;
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    let digits = &digits[..count];
    let exponent: i32 = std::str::from_utf8(&unsigned[e + 1..]).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    if digits == b"0" {
        push(b"0");
    } else if !shows_plainly(exponent, count) {
        push(&digits[..1]);
        if count > 1 {
            push(b".");
            push(&digits[1..]);
        }
        push(&unsigned[e..]);
    } else if exponent < 0 {
        push(b"0.");
        push(&[b'0'; 15][..(-exponent - 1) as usize]);
        push(digits);
    } else {
        let integer = exponent as usize + 1;
        if count <= integer {
            push(digits);
            push(&[b'0'; 15][..integer - count]);
        } else {
            push(&digits[..integer]);
            push(b".");
            push(&digits[integer..]);
        }
    }
    length
}

/// Appends a number with exactly `decimals` digits behind the point. Digits that the double does not tell apart are
/// zeros: 0.1 with 20 decimals is 0.10000000000000000000.
pub fn write_double_fixed(number: f64, decimals: u8, out: &mut Vec<u8>) {
    // The longest double has 309 digits before the point.
    let mut text = Buffer::<400>::new();
    let mut small = [0; DOUBLE_BYTES_MAX];
    let shortest = if number.abs() < 1e15 && number.abs() >= 1e-15 || number == 0.0 {
        let bytes = double_text(number, &mut small);
        &small[..bytes]
    } else {
        let _ = write!(text, "{number}");
        text.text()
    };
    let fraction = shortest.iter().position(|byte| *byte == b'.').map_or(0, |point| shortest.len() - point - 1);
    if fraction > decimals as usize || shortest.is_empty() {
        let mut text = Buffer::<640>::new();
        let _ = write!(text, "{number:.*}", decimals as usize);
        return out.extend_from_slice(text.text());
    }
    out.extend_from_slice(shortest);
    if decimals > 0 {
        if fraction == 0 {
            out.push(b'.');
        }
        out.resize(out.len() + decimals as usize - fraction, b'0');
    }
}

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn rest_is_space(text: &[u8]) -> bool {
    text.iter().all(|byte| is_space(*byte))
}

/// Reads an integer: whether there is a minus sign, and the digits. Fractions and exponents are not part of it.
pub fn integer_prefix(text: &[u8]) -> (bool, u64, Prefix) {
    let mut at = text.iter().take_while(|byte| is_space(**byte)).count();
    let negative = text.get(at) == Some(&b'-');
    if matches!(text.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return (false, 0, Prefix { consumed: 0, truncated: true, overflow: false });
    }
    let mut number = 0_u64;
    let mut overflow = false;
    for digit in &text[at..at + digits] {
        match number.checked_mul(10).and_then(|number| number.checked_add(u64::from(digit - b'0'))) {
            Some(next) => number = next,
            None => {
                overflow = true;
                number = u64::MAX;
                break;
            }
        }
    }
    at += digits;
    (negative, number, Prefix { consumed: at, truncated: !rest_is_space(&text[at..]), overflow })
}

/// Reads a signed integer, clamped to its range.
pub fn i64_prefix(text: &[u8]) -> (i64, Prefix) {
    let (negative, magnitude, mut prefix) = integer_prefix(text);
    let number = match negative {
        true if magnitude <= i64::MIN.unsigned_abs() => 0_i64.wrapping_sub_unsigned(magnitude),
        false if magnitude <= i64::MAX as u64 => magnitude as i64,
        _ => {
            prefix.overflow = true;
            if negative { i64::MIN } else { i64::MAX }
        }
    };
    (number, prefix)
}

/// Reads an unsigned integer, clamped to its range: below zero is zero.
pub fn u64_prefix(text: &[u8]) -> (u64, Prefix) {
    let (negative, magnitude, mut prefix) = integer_prefix(text);
    if negative && magnitude > 0 {
        prefix.overflow = true;
        return (0, prefix);
    }
    (magnitude, prefix)
}

/// Reads a floating-point number: `-1.5e3`, leading spaces skipped.
pub fn double_prefix(text: &[u8]) -> (f64, Prefix) {
    let none = (0.0, Prefix { consumed: 0, truncated: true, overflow: false });
    let start = text.iter().take_while(|byte| is_space(**byte)).count();
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = start + matches!(text.get(start), Some(b'-' | b'+')) as usize;
    let integer_digits = digits(at);
    at += integer_digits;
    let mut fraction_digits = 0;
    if text.get(at) == Some(&b'.') {
        fraction_digits = digits(at + 1);
        at += 1 + fraction_digits;
    }
    if integer_digits + fraction_digits == 0 {
        return none;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = matches!(text.get(at + 1), Some(b'-' | b'+')) as usize;
        let count = digits(at + 1 + sign);
        if count > 0 {
            at += 1 + sign + count;
        }
    }
    let Some(mut number) = std::str::from_utf8(&text[start..at]).ok().and_then(|text| text.parse::<f64>().ok()) else {
        return none;
    };
    let overflow = number.is_infinite();
    if overflow {
        number = f64::MAX.copysign(number);
    }
    (number, Prefix { consumed: at, truncated: !rest_is_space(&text[at..]), overflow })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(number: f64) -> String {
        let mut out = Vec::new();
        write_double(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_are_written_like_mysql_does() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e14, "100000000000000"),
            (999999999999999.0, "999999999999999"),
            (1e15, "1e15"),
            (1234567890123456.0, "1.234567890123456e15"),
            (1234567890123456.5, "1234567890123456.5"),
            (123456789012345.6, "123456789012345.6"),
            (1e-5, "0.00001"),
            (1e-15, "0.000000000000001"),
            (1.5e-15, "0.0000000000000015"),
            (1e-16, "1e-16"),
            (-1.7976931348623157e308, "-1.7976931348623157e308"),
            (5e-324, "5e-324"),
            (1.0 / 3.0, "0.3333333333333333"),
            (878_915_313_785_310.2, "878915313785310.2"),
            (870_488_887_174_364.8, "870488887174364.8"),
        ] {
            assert_eq!(shown(number), text);
        }
    }

    #[test]
    fn floats_have_six_digits() {
        for (number, text) in [
            (1.1_f32, "1.1"),
            (123456789.0, "123457000"),
            (0.000012345678, "0.0000123457"),
            (3.4028235e38, "3.40282e38"),
            (16777216.0, "16777200"),
            (-1.0, "-1"),
            (0.0, "0"),
            (999999.9, "1000000"),
        ] {
            let mut out = Vec::new();
            write_float(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn fixed_decimals() {
        let fixed = |number, decimals| {
            let mut out = Vec::new();
            write_double_fixed(number, decimals, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(fixed(1.005, 2), "1.00");
        assert_eq!(fixed(2.5, 0), "2");
        assert_eq!(fixed(-0.001, 2), "-0.00");
        assert_eq!(fixed(1e300, 1).len(), 303);
        assert_eq!(fixed(0.1, 20), "0.10000000000000000000");
        assert_eq!(fixed(764721021270493.9, 7), "764721021270493.9000000");
        assert_eq!(fixed(5e-324, 2), "0.00");
    }

    #[test]
    fn texts_are_numbers_as_far_as_they_look_like_one() {
        assert_eq!(double_prefix(b" 12.5abc"), (12.5, Prefix { consumed: 5, truncated: true, overflow: false }));
        assert_eq!(double_prefix(b"1e"), (1.0, Prefix { consumed: 1, truncated: true, overflow: false }));
        assert_eq!(double_prefix(b".5 "), (0.5, Prefix { consumed: 2, truncated: false, overflow: false }));
        assert_eq!(double_prefix(b"5."), (5.0, Prefix { consumed: 2, truncated: false, overflow: false }));
        assert_eq!(double_prefix(b"-1e999").0, f64::MIN);
        assert!(double_prefix(b"1e999").1.overflow);
        for text in [&b""[..], b"abc", b".", b"-", b"inf", b"nan", b"e5"] {
            assert_eq!(double_prefix(text), (0.0, Prefix { consumed: 0, truncated: true, overflow: false }));
        }
        assert_eq!(i64_prefix(b"12.9"), (12, Prefix { consumed: 2, truncated: true, overflow: false }));
        assert_eq!(i64_prefix(b"-9223372036854775808").0, i64::MIN);
        assert!(i64_prefix(b"9223372036854775808").1.overflow);
        assert_eq!(
            u64_prefix(b"18446744073709551616"),
            (u64::MAX, Prefix { consumed: 20, truncated: false, overflow: true })
        );
        assert_eq!(u64_prefix(b"-1").0, 0);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bits in any::<u64>(), integer in any::<i64>()) {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                let text = shown(number);
                prop_assert_eq!(double_prefix(text.as_bytes()).0.to_bits(), number.to_bits());
            }
            let mut text = Vec::new();
            write_i64(integer, &mut text);
            prop_assert_eq!(text, integer.to_string().into_bytes());
            let mut text = Vec::new();
            write_u64(integer as u64, &mut text);
            prop_assert_eq!(text, (integer as u64).to_string().into_bytes());
        }
    }
}
