//! Exact decimal numbers, as DECIMAL columns hold them and as `+ - * / DIV %` of SQL yield them.
//!
//! A number is a row of *words*, each worth nine decimal digits. The words are aligned at the decimal point, so that
//! text, stored bytes and addition need no division:
//!
//! ```text
//!          1234567890.0625     integer_words 2, scale 4
//!
//! words    [         1] [234567890] . [062500000] [ 0 ] ... up to 9 words, 81 digits
//!           integer, most            fraction, filled
//!           significant first        up to nine digits
//! ```
//!
//! MySQL computes in this form too, and its size shows in results: a quotient is carried on to whole words, so
//! `1/3` is 0.333333333 until the static type of the expression (DECIMAL(5,4)) rounds it; and where 81 digits do not
//! suffice, whole fraction words are cut from the right before anything overflows on the left. We do the same, so
//! that nested expressions agree with MySQL to the last digit. Rounding to the static type is the caller's: see
//! [`Decimal::fit`] and [`Decimal::round`].
//!
//! Invariants:
//!
//! * No leading zero words, all digits behind the scale are zero, all words behind the last are zero, and zero is
//!   not negative. So two numbers of the same scale are equal exactly when their fields are.
//! * Comparison and hash ignore the scale: 1.0 equals 1.00.
//!
//! Sources: the MySQL manual, "Precision Math"; behaviour observed on a running server.

mod arithmetic;
mod stored;
mod text;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The most digits of a DECIMAL.
pub const DECIMAL_PRECISION_MAX: u8 = 65;
/// The most digits behind the point.
pub const DECIMAL_SCALE_MAX: u8 = 30;

/// Words of a number.
const WORDS: usize = 9;
/// Digits of a word.
const WORD_DIGITS: usize = 9;
/// One more than the largest word.
const BASE: u32 = 1_000_000_000;

const POWERS_OF_TEN: [u32; 10] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// A number of up to 81 decimal digits (columns and results have up to 65).
#[derive(Clone, Copy)]
pub struct Decimal {
    words: [u32; WORDS],
    /// Words before the point.
    integer_words: u8,
    /// Digits behind the point.
    scale: u8,
    negative: bool,
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalError {
    Overflow,
    DivisionByZero,
    /// Not a number at all.
    Syntax,
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecimalError::Overflow => "decimal number out of range",
            DecimalError::DivisionByZero => "division by zero",
            DecimalError::Syntax => "not a number",
        })
    }
}

impl std::error::Error for DecimalError {}

impl Decimal {
    pub const ZERO: Decimal = Decimal { words: [0; WORDS], integer_words: 0, scale: 0, negative: false };

    /// The largest number of a DECIMAL(precision, scale): all nines.
    pub fn max(precision: u8, scale: u8) -> Decimal {
        let (precision, scale) = (precision.min(DECIMAL_PRECISION_MAX), scale.min(precision));
        let integer_digits = (precision - scale) as usize;
        let mut number = Decimal { scale, ..Decimal::ZERO };
        let lead = integer_digits % WORD_DIGITS;
        let mut at = 0;
        if lead > 0 {
            number.words[at] = POWERS_OF_TEN[lead] - 1;
            at += 1;
        }
        for _ in 0..integer_digits / WORD_DIGITS {
            number.words[at] = BASE - 1;
            at += 1;
        }
        number.integer_words = at as u8;
        for _ in 0..scale as usize / WORD_DIGITS {
            number.words[at] = BASE - 1;
            at += 1;
        }
        let tail = scale as usize % WORD_DIGITS;
        if tail > 0 {
            number.words[at] = BASE - POWERS_OF_TEN[WORD_DIGITS - tail];
        }
        number
    }

    /// From a coefficient and a scale: 12.50 is (1250, 2). The scale is at most 42, so that any coefficient fits.
    pub fn from_i128(coefficient: i128, scale: u8) -> Decimal {
        assert!(scale <= 42, "a scale that leaves room for the coefficient");
        let fraction_words = words_of(scale as usize);
        let padding = fraction_words * WORD_DIGITS - scale as usize;
        // Split at the point first: shifting the whole coefficient could leave an i128.
        let mut number = Decimal { scale, negative: coefficient < 0, ..Decimal::ZERO };
        let magnitude = coefficient.unsigned_abs();
        let (mut integer, mut fraction) = match 10_u128.checked_pow(scale as u32) {
            Some(unit) => (magnitude / unit, magnitude % unit),
            None => (0, magnitude),
        };
        let mut reversed = [0_u32; WORDS];
        let mut count = 0;
        if fraction_words > 0 {
            let tail_unit = POWERS_OF_TEN[WORD_DIGITS - padding] as u128;
            reversed[0] = (fraction % tail_unit) as u32 * POWERS_OF_TEN[padding];
            fraction /= tail_unit;
            for word in &mut reversed[1..fraction_words] {
                *word = (fraction % BASE as u128) as u32;
                fraction /= BASE as u128;
            }
            count = fraction_words;
        }
        while integer > 0 {
            reversed[count] = (integer % BASE as u128) as u32;
            integer /= BASE as u128;
            count += 1;
        }
        number.integer_words = (count - fraction_words) as u8;
        for at in 0..count {
            number.words[at] = reversed[count - 1 - at];
        }
        number
    }

    /// The decimal number whose text is the shortest that reads back as the double.
    pub fn from_f64(number: f64) -> Result<Decimal, DecimalError> {
        if !number.is_finite() {
            return Err(DecimalError::Overflow);
        }
        let mut text = [0_u8; 40];
        let bytes = super::number::double_text(number, &mut text);
        let (decimal, _, outcome) = Decimal::parse_prefix(&text[..bytes]);
        outcome.map(|()| decimal)
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        if self.scale == 0 && self.integer_words <= 1 {
            let magnitude = f64::from(self.words[0]);
            return if self.negative { -magnitude } else { magnitude };
        }
        let mut buffer = [0_u8; text::TEXT_BYTES_MAX];
        let text = self.format(&mut buffer);
        std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    /// Rounded half away from zero; `Err` of the nearest when out of range.
    pub fn to_i64(&self) -> Result<i64, i64> {
        let bound = if self.negative { i64::MIN } else { i64::MAX };
        self.rounded_i128().and_then(|number| i64::try_from(number).ok()).ok_or(bound)
    }

    /// Rounded half away from zero; `Err` of the nearest when negative or out of range.
    pub fn to_u64(&self) -> Result<u64, u64> {
        let bound = if self.negative { 0 } else { u64::MAX };
        self.rounded_i128().and_then(|number| u64::try_from(number).ok()).ok_or(bound)
    }

    fn rounded_i128(&self) -> Option<i128> {
        if self.scale == 0 {
            return self.to_i128_truncated();
        }
        self.round(0).ok()?.to_i128_truncated()
    }

    /// The integer part, not rounded, if it has at most 36 digits.
    pub fn to_i128_truncated(&self) -> Option<i128> {
        if self.integer_words > 4 {
            return None;
        }
        let magnitude =
            self.integer().iter().fold(0_i128, |number, word| number * i128::from(BASE) + i128::from(*word));
        Some(if self.negative { -magnitude } else { magnitude })
    }

    #[inline]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    #[inline]
    pub fn is_zero(&self) -> bool {
        self.words[..self.length()].iter().all(|word| *word == 0)
    }

    /// Digits behind the point.
    #[inline]
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Digits before the point without leading zeros; 0 for 0.5.
    pub fn integer_digits(&self) -> u8 {
        match self.integer() {
            [] => 0,
            [first, rest @ ..] => (digits_of(*first) + rest.len() * WORD_DIGITS) as u8,
        }
    }

    /// Digits in all, at least 1.
    pub fn precision(&self) -> u8 {
        (self.integer_digits() + self.scale).max(1)
    }

    pub fn neg(&self) -> Decimal {
        Decimal { negative: !self.negative && !self.is_zero(), ..*self }
    }

    pub fn abs(&self) -> Decimal {
        Decimal { negative: false, ..*self }
    }

    /// Rounds half away from zero to `scale` digits behind the point, or before it if negative. A larger scale
    /// appends zeros, as far as there is room.
    pub fn round(&self, scale: i32) -> Result<Decimal, DecimalError> {
        let mut number = self.truncate(scale);
        if scale >= i32::from(self.scale) || !self.rounds_up_at(scale) {
            return Ok(number);
        }
        // Add one unit of the last place that is kept.
        let place = place_of(number.integer_words as usize, scale);
        let (mut word, unit) = match place {
            Place::Inside { word, unit } => (word, unit),
            Place::Before { words, unit } => {
                // The unit stands left of all words: the number is zero so far.
                let mut result = Decimal { negative: self.negative, scale: number.scale, ..Decimal::ZERO };
                if words > WORDS {
                    return Err(DecimalError::Overflow);
                }
                result.integer_words = words as u8;
                result.words[0] = unit;
                return result.normal();
            }
        };
        let mut carry = unit;
        loop {
            let sum = number.words[word] + carry;
            if sum < BASE {
                number.words[word] = sum;
                break;
            }
            number.words[word] = sum - BASE;
            carry = 1;
            if word == 0 {
                number.push_front(1)?;
                break;
            }
            word -= 1;
        }
        number.negative = self.negative;
        number.normal()
    }

    /// Whether the first digit that `truncate(scale)` drops is 5 or more.
    fn rounds_up_at(&self, scale: i32) -> bool {
        match place_of(self.integer_words as usize, scale + 1) {
            Place::Inside { word, unit } => self.words[word] / unit % 10 >= 5,
            Place::Before { .. } => false,
        }
    }

    /// Drops the digits behind `scale`, which may be negative. A larger scale appends zeros, as far as there is room.
    pub fn truncate(&self, scale: i32) -> Decimal {
        let mut number = *self;
        if scale >= i32::from(self.scale) {
            let room = (WORDS - self.integer_words as usize) * WORD_DIGITS;
            number.scale = (scale as usize).min(room) as u8;
            return number;
        }
        match place_of(self.integer_words as usize, scale) {
            Place::Inside { word, unit } => {
                number.words[word] -= number.words[word] % unit;
                number.words[word + 1..].fill(0);
            }
            Place::Before { .. } => number.words.fill(0),
        }
        number.scale = scale.max(0) as u8;
        number.normalize();
        number
    }

    /// The least integer that is not less.
    pub fn ceiling(&self) -> Result<Decimal, DecimalError> {
        let whole = self.truncate(0);
        if self.negative || whole == *self { Ok(whole) } else { whole.add(&Decimal::from(1_i64)) }
    }

    /// The greatest integer that is not greater.
    pub fn floor(&self) -> Result<Decimal, DecimalError> {
        let whole = self.truncate(0);
        if !self.negative || whole == *self { Ok(whole) } else { whole.sub(&Decimal::from(1_i64)) }
    }

    /// Rounds to the scale of DECIMAL(precision, scale); `Overflow` when it does not fit.
    pub fn fit(&self, precision: u8, scale: u8) -> Result<Decimal, DecimalError> {
        let number = if self.scale == scale { *self } else { self.round(i32::from(scale))? };
        if number.integer_digits() + scale > precision { Err(DecimalError::Overflow) } else { Ok(number) }
    }

    /// Appends the number as it is computed with, for files that only this process reads: [`Decimal::unpack`].
    pub fn pack(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.integer_words, self.scale, self.negative.into()]);
        for word in &self.words[..self.length()] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads what [`Decimal::pack`] wrote; also what is behind it. None: it wrote something else.
    pub fn unpack(bytes: &[u8]) -> Option<(Decimal, &[u8])> {
        let ([integer_words, scale, negative], mut rest) = bytes.split_first_chunk()?;
        let mut number =
            Decimal { integer_words: *integer_words, scale: *scale, negative: *negative != 0, ..Decimal::ZERO };
        let length = number.length();
        for word in number.words.get_mut(..length)? {
            let (bytes, behind) = rest.split_first_chunk()?;
            *word = u32::from_le_bytes(*bytes);
            if *word >= BASE {
                return None;
            }
            rest = behind;
        }
        Some((number, rest))
    }

    /// Appends bytes that compare as numbers do, whatever their scales; no number's bytes begin with those of another.
    pub fn write_order_key(&self, out: &mut Vec<u8>) {
        let used = self.length() - self.words[..self.length()].iter().rev().take_while(|word| **word == 0).count();
        let begin = out.len();
        // Zero is no word, and stands between the signs. A byte of a word is never 0, so that the end comes first.
        out.push(0x80 + self.integer_words + u8::from(used > 0));
        for word in &self.words[..used] {
            out.extend_from_slice(&(word | 1 << 31).to_be_bytes());
        }
        out.push(0);
        if self.negative {
            out[begin..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Words in use.
    #[inline]
    fn length(&self) -> usize {
        self.integer_words as usize + words_of(self.scale as usize)
    }

    #[inline]
    fn integer(&self) -> &[u32] {
        &self.words[..self.integer_words as usize]
    }

    #[inline]
    fn fraction(&self) -> &[u32] {
        &self.words[self.integer_words as usize..self.length()]
    }

    /// Makes room for a carry; a fraction word goes if there is none.
    fn push_front(&mut self, word: u32) -> Result<(), DecimalError> {
        if self.length() == WORDS {
            if self.integer_words as usize == WORDS {
                return Err(DecimalError::Overflow);
            }
            self.scale = ((words_of(self.scale as usize) - 1) * WORD_DIGITS) as u8;
        }
        self.words.copy_within(..WORDS - 1, 1);
        self.words[0] = word;
        self.integer_words += 1;
        Ok(())
    }

    /// Restores the invariants after the words have changed.
    fn normalize(&mut self) {
        let leading = self.integer().iter().take_while(|word| **word == 0).count();
        if leading > 0 {
            self.words.copy_within(leading.., 0);
            self.words[WORDS - leading..].fill(0);
            self.integer_words -= leading as u8;
        }
        self.negative &= !self.is_zero();
    }

    fn normal(mut self) -> Result<Decimal, DecimalError> {
        self.normalize();
        Ok(self)
    }
}

/// Where a digit stands: `scale` 1 is the first behind the point, 0 the last before it.
enum Place {
    /// In `words[word]`, where it is worth `unit`.
    Inside { word: usize, unit: u32 },
    /// Left of all words. If there were `words` words before the point, it would be in the first.
    Before { words: usize, unit: u32 },
}

fn place_of(integer_words: usize, scale: i32) -> Place {
    if scale > 0 {
        let digit = scale as usize - 1;
        let unit = POWERS_OF_TEN[WORD_DIGITS - 1 - digit % WORD_DIGITS];
        return Place::Inside { word: integer_words + digit / WORD_DIGITS, unit };
    }
    let digit = scale.unsigned_abs() as usize;
    let (words, unit) = (digit / WORD_DIGITS + 1, POWERS_OF_TEN[digit % WORD_DIGITS]);
    if words > integer_words {
        Place::Before { words, unit }
    } else {
        Place::Inside { word: integer_words - words, unit }
    }
}

/// Words that hold so many digits.
#[inline]
const fn words_of(digits: usize) -> usize {
    digits.div_ceil(WORD_DIGITS)
}

/// Digits of a word without leading zeros; 0 for 0.
#[inline]
fn digits_of(word: u32) -> usize {
    word.checked_ilog10().map_or(0, |power| power as usize + 1)
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Decimal {
        Decimal { negative: number < 0, ..Decimal::from(number.unsigned_abs()) }
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Decimal {
        let mut decimal = Decimal::ZERO;
        let base = u64::from(BASE);
        let words = [number / (base * base), number / base % base, number % base];
        let leading = words.iter().take_while(|word| **word == 0).count();
        for (at, word) in words[leading..].iter().enumerate() {
            decimal.words[at] = *word as u32;
        }
        decimal.integer_words = (3 - leading) as u8;
        decimal
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        if self.negative != other.negative {
            return other.negative.cmp(&self.negative);
        }
        // Unused words are zero, so whatever the scales, the words compare as they are.
        let magnitude = self.integer_words.cmp(&other.integer_words).then_with(|| self.words.cmp(&other.words));
        if self.negative { magnitude.reverse() } else { magnitude }
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let used = self.length() - self.words[..self.length()].iter().rev().take_while(|word| **word == 0).count();
        state.write_u8(self.negative as u8);
        state.write_u8(self.integer_words);
        for word in &self.words[..used] {
            state.write_u32(*word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn rounding_goes_away_from_zero_at_the_half() {
        for (text, scale, rounded) in [
            ("2.5", 0, "3"),
            ("-2.5", 0, "-3"),
            ("2.4999999999", 0, "2"),
            ("0.5", 0, "1"),
            ("-0.4", 0, "0"),
            ("999999999.5", 0, "1000000000"),
            ("999999999.999999999", 8, "1000000000.00000000"),
            ("1.005", 2, "1.01"),
            ("1.5", 4, "1.5000"),
            ("15", -1, "20"),
            ("14", -1, "10"),
            ("50", -2, "100"),
            ("49", -2, "0"),
            ("999999999", -9, "1000000000"),
            ("499999999", -9, "0"),
            ("500000000", -9, "1000000000"),
            ("1234567890123.45", -10, "1230000000000"),
            ("5", -20, "0"),
        ] {
            assert_eq!(decimal(text).round(scale).unwrap().to_string(), rounded, "{text} to {scale}");
        }
    }

    #[test]
    fn truncation_drops_digits() {
        for (text, scale, cut) in [
            ("2.59", 1, "2.5"),
            ("-2.59", 0, "-2"),
            ("-0.9", 0, "0"),
            ("199", -1, "190"),
            ("199", -3, "0"),
            ("1", 2, "1.00"),
        ] {
            assert_eq!(decimal(text).truncate(scale).to_string(), cut);
        }
    }

    #[test]
    fn ceiling_and_floor() {
        for (text, ceiling, floor) in [
            ("1.2", "2", "1"),
            ("-1.2", "-1", "-2"),
            ("3.00", "3", "3"),
            ("-0.5", "0", "-1"),
            ("999999999.1", "1000000000", "999999999"),
        ] {
            assert_eq!(decimal(text).ceiling().unwrap().to_string(), ceiling);
            assert_eq!(decimal(text).floor().unwrap().to_string(), floor);
        }
    }

    #[test]
    fn comparison_ignores_the_scale() {
        let ascending =
            ["-1000000000", "-10.5", "-10.49", "-0.1", "0", "0.000000001", "0.1", "9", "10", "1000000000.1"];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(decimal(a).cmp(&decimal(b)), i.cmp(&j), "{a} {b}");
            }
        }
        assert_eq!(decimal("1.0"), decimal("1.000000000000"));
        assert_eq!(decimal("-0.00"), decimal("0"));
    }

    #[test]
    fn integers_round_and_clamp() {
        assert_eq!(decimal("1.5").to_i64(), Ok(2));
        assert_eq!(decimal("-1.5").to_i64(), Ok(-2));
        assert_eq!(decimal("9223372036854775807.4").to_i64(), Ok(i64::MAX));
        assert_eq!(decimal("9223372036854775807.5").to_i64(), Err(i64::MAX));
        assert_eq!(decimal("-1e40").to_i64(), Err(i64::MIN));
        assert_eq!(decimal("-0.4").to_u64(), Ok(0));
        assert_eq!(decimal("-0.5").to_u64(), Err(0));
        assert_eq!(decimal("18446744073709551615").to_u64(), Ok(u64::MAX));
        assert_eq!(decimal("18446744073709551616").to_u64(), Err(u64::MAX));
        assert_eq!(Decimal::from(i64::MIN).to_string(), "-9223372036854775808");
    }

    #[test]
    fn coefficient_and_scale() {
        assert_eq!(Decimal::from_i128(1250, 2).to_string(), "12.50");
        assert_eq!(Decimal::from_i128(-5, 10).to_string(), "-0.0000000005");
        assert_eq!(Decimal::from_i128(i128::MAX, 0).to_string(), i128::MAX.to_string());
        assert_eq!(Decimal::from_i128(i128::MIN, 20).to_string(), "-1701411834604692317.31687303715884105728");
        assert_eq!(Decimal::from_i128(7, 42).to_string(), format!("0.{}7", "0".repeat(41)));
    }

    #[test]
    fn the_largest_of_a_column() {
        assert_eq!(Decimal::max(10, 3).to_string(), "9999999.999");
        assert_eq!(Decimal::max(9, 9).to_string(), "0.999999999");
        assert_eq!(Decimal::max(65, 30).to_string(), format!("{}.{}", "9".repeat(35), "9".repeat(30)));
        assert_eq!(decimal("99.995").fit(4, 2), Err(DecimalError::Overflow));
        assert_eq!(decimal("99.994").fit(4, 2).unwrap().to_string(), "99.99");
    }

    #[test]
    fn doubles() {
        assert_eq!(Decimal::from_f64(0.1).unwrap().to_string(), "0.1");
        assert_eq!(Decimal::from_f64(-1.5e20).unwrap().to_string(), "-150000000000000000000");
        assert_eq!(Decimal::from_f64(1e-7).unwrap().to_string(), "0.0000001");
        assert!(Decimal::from_f64(1e100).is_err());
        assert_eq!(decimal("0.1").to_f64(), 0.1);
        assert_eq!(decimal("-12345678901234567890.5").to_f64(), -12345678901234567890.5);
    }
}
