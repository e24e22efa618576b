//! Addition, multiplication and division of decimal numbers, word by word as one learns it in school.

use std::cmp::Ordering;

use super::{BASE, Decimal, DecimalError, WORD_DIGITS, WORDS, words_of};

/// Room for the product of two numbers, and for a dividend with zeros appended.
const WIDE: usize = 4 * WORDS;

/// The base as what two words are computed in.
const WIDE_BASE: u64 = BASE as u64;

impl Decimal {
    pub fn add(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        if let (Some(left), Some(right)) = (self.short(), other.short()) {
            return Ok(Decimal::of_short(left.signed() + right.signed(), self.scale.max(other.scale)));
        }
        if self.negative == other.negative {
            return add_magnitudes(self, other).map(|sum| sum.signed(self.negative));
        }
        Ok(match compare_magnitudes(self, other) {
            Ordering::Less => subtract_magnitudes(other, self).signed(other.negative),
            _ => subtract_magnitudes(self, other).signed(self.negative),
        })
    }

    pub fn sub(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        self.add(&other.neg())
    }

    /// Adds a number to this one; after an error this is any number. Sums of many rows are made so.
    pub fn accumulate(&mut self, other: &Decimal) -> Result<(), DecimalError> {
        let is_aligned = self.scale == other.scale
            && self.negative == other.negative
            && self.integer_words >= other.integer_words
            && self.integer_words > 0;
        if !is_aligned {
            *self = self.add(other)?;
            return Ok(());
        }
        let before = (self.integer_words - other.integer_words) as usize;
        let mut carry = 0;
        for at in (0..self.length()).rev() {
            let added = if at >= before { other.words[at - before] } else { 0 };
            if at < before && carry == 0 {
                break;
            }
            let sum = self.words[at] + added + carry;
            carry = u32::from(sum >= BASE);
            self.words[at] = if sum >= BASE { sum - BASE } else { sum };
        }
        if carry > 0 { self.push_front(carry) } else { Ok(()) }
    }

    /// The number as one word before the point and one behind it, if it is no longer.
    #[inline]
    fn short(&self) -> Option<Short> {
        if self.integer_words > 1 || self.scale as usize > WORD_DIGITS {
            return None;
        }
        let at = self.integer_words as usize;
        let integer = if at == 1 { self.words[0] } else { 0 };
        Some(Short { integer: integer.into(), fraction: self.words[at].into(), negative: self.negative })
    }

    /// A number of units of the last place of one word behind the point.
    #[inline]
    fn of_short(units: i64, scale: u8) -> Decimal {
        let mut number = Decimal { scale, negative: units < 0, ..Decimal::ZERO };
        let magnitude = units.unsigned_abs();
        let (integer, fraction) = (magnitude / WIDE_BASE, (magnitude % WIDE_BASE) as u32);
        number.put_short(integer);
        number.words[number.integer_words as usize] = fraction;
        number
    }

    /// Writes up to two words before the point.
    #[inline]
    fn put_short(&mut self, integer: u64) {
        if integer >= WIDE_BASE {
            self.words[0] = (integer / WIDE_BASE) as u32;
            self.words[1] = (integer % WIDE_BASE) as u32;
            self.integer_words = 2;
        } else if integer > 0 {
            self.words[0] = integer as u32;
            self.integer_words = 1;
        }
    }

    /// The product, with as many digits behind the point as the factors have together.
    pub fn mul(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        if let (Some(left), Some(right)) = (self.short(), other.short()) {
            return Ok(left.product(&right, self.scale + other.scale));
        }
        let scale = self.scale as usize + other.scale as usize;
        let integer_words = words_of((self.integer_digits() + other.integer_digits()) as usize);
        if integer_words > WORDS {
            return Err(DecimalError::Overflow);
        }
        // Where the fractions do not fit, the factors lose words before the multiplication, so that each keeps about
        // half of the room. This is what MySQL does, and it can be seen in the result.
        let (mut a, mut b) = (*self, *other);
        let wanted = a.fraction().len() + b.fraction().len();
        let fraction_words = wanted.min(WORDS - integer_words);
        if fraction_words < wanted {
            let (short, long) =
                if a.fraction().len() < b.fraction().len() { (&mut a, &mut b) } else { (&mut b, &mut a) };
            let kept = short.fraction().len().min(fraction_words / 2);
            *short = short.with_fraction_words(kept);
            *long = long.with_fraction_words(fraction_words - kept);
        }
        let (a_words, b_words) = (&a.words[..a.length()], &b.words[..b.length()]);
        let mut product = [0_u32; 2 * WORDS];
        let length = a_words.len() + b_words.len();
        for (i, x) in a_words.iter().enumerate().rev() {
            let mut carry = 0_u64;
            for (j, y) in b_words.iter().enumerate().rev() {
                let sum = u64::from(*x) * u64::from(*y) + u64::from(product[i + j + 1]) + carry;
                product[i + j + 1] = (sum % u64::from(BASE)) as u32;
                carry = sum / u64::from(BASE);
            }
            product[i] = carry as u32;
        }
        let point = a.integer_words as usize + b.integer_words as usize;
        let result = from_words(&product[..length], point, scale.min(fraction_words * WORD_DIGITS))?;
        Ok(result.signed(self.negative != other.negative))
    }

    /// The quotient, cut behind a whole word. It has at least `scale_increment` (MySQL's `div_precision_increment`, 4)
    /// more digits behind the point than both operands together; the static type of the division then rounds it.
    pub fn div(&self, other: &Decimal, scale_increment: u8) -> Result<Decimal, DecimalError> {
        let (a_words, b_words) = (words_of(self.scale as usize), words_of(other.scale as usize));
        let padding = (a_words + b_words) * WORD_DIGITS - self.scale as usize - other.scale as usize;
        let increment = (scale_increment as usize).saturating_sub(padding);
        let fraction_words = words_of((a_words + b_words) * WORD_DIGITS + increment).min(WORDS);
        self.quotient(other, fraction_words)
    }

    /// DIV: the integer part of the quotient.
    pub fn div_integer(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        self.quotient(other, 0)
    }

    /// The quotient with so many words behind the point, fewer if they do not fit.
    fn quotient(&self, other: &Decimal, fraction_words: usize) -> Result<Decimal, DecimalError> {
        if other.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        // As integers: (a x BASE^shift) / b, where the shift brings the result to the wanted words.
        let shift = fraction_words as isize + other.fraction().len() as isize - self.fraction().len() as isize;
        let mut dividend = [0_u32; WIDE];
        let length = self.length() as isize + shift;
        if length <= 0 {
            return Ok(Decimal { scale: (fraction_words * WORD_DIGITS) as u8, ..Decimal::ZERO });
        }
        let kept = self.length().min(length as usize);
        dividend[..kept].copy_from_slice(&self.words[..kept]);
        let mut quotient = [0_u32; WIDE];
        let length = length as usize;
        divide(&mut dividend[..length], &other.words[..other.length()], &mut quotient[..length]);
        let point = length.saturating_sub(fraction_words);
        let missing = fraction_words.saturating_sub(length);
        // A short quotient stands behind zeros.
        quotient.copy_within(..length, missing);
        quotient[..missing].fill(0);
        let result = from_words(&quotient[..length + missing], point, fraction_words * WORD_DIGITS)?;
        Ok(result.signed(self.negative != other.negative))
    }

    /// MOD: what is left of the dividend, with its sign, after taking the divisor away as often as possible.
    pub fn rem(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        if other.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        let fraction_words = self.fraction().len().max(other.fraction().len());
        let aligned = |number: &Decimal| {
            let mut words = [0_u32; WIDE];
            words[..number.length()].copy_from_slice(&number.words[..number.length()]);
            (words, number.integer_words as usize + fraction_words)
        };
        let (mut dividend, dividend_length) = aligned(self);
        let (divisor, divisor_length) = aligned(other);
        let mut quotient = [0_u32; WIDE];
        divide(&mut dividend[..dividend_length], &divisor[..divisor_length], &mut quotient[..dividend_length]);
        let scale = self.scale.max(other.scale) as usize;
        let rest = from_words(&dividend[..dividend_length], self.integer_words as usize, scale)?;
        Ok(rest.signed(self.negative))
    }

    fn signed(mut self, negative: bool) -> Decimal {
        self.negative = negative && !self.is_zero();
        self
    }

    /// With at most so many words behind the point.
    fn with_fraction_words(&self, words: usize) -> Decimal {
        self.truncate(((words * WORD_DIGITS) as i32).min(i32::from(self.scale)))
    }
}

/// A number of one word before the point and one behind it.
struct Short {
    integer: u64,
    fraction: u64,
    negative: bool,
}

impl Short {
    /// In units of the last place of the word behind the point.
    #[inline]
    fn signed(&self) -> i64 {
        let units = (self.integer * WIDE_BASE + self.fraction) as i64;
        if self.negative { -units } else { units }
    }

    /// The product, whose scale is the sum of the factors'.
    #[inline]
    fn product(&self, other: &Short, scale: u8) -> Decimal {
        let low = self.fraction * other.fraction;
        let middle = self.integer * other.fraction + self.fraction * other.integer + low / WIDE_BASE;
        let high = self.integer * other.integer + middle / WIDE_BASE;
        let mut number = Decimal { scale, ..Decimal::ZERO };
        number.put_short(high);
        let at = number.integer_words as usize;
        // Digits behind the scale are zeros: each factor has as many as its own scale leaves.
        number.words[at] = (middle % WIDE_BASE) as u32;
        number.words[at + 1] = (low % WIDE_BASE) as u32;
        number.negative = self.negative != other.negative && (high > 0 || number.words[at] > 0 || low > 0);
        number
    }
}

fn compare_magnitudes(a: &Decimal, b: &Decimal) -> Ordering {
    a.integer_words.cmp(&b.integer_words).then_with(|| a.words.cmp(&b.words))
}

/// The word of a number at a place counted from the point: 0 is the first behind it, -1 the last before it.
#[inline]
fn word_at(number: &Decimal, place: isize) -> u32 {
    let index = number.integer_words as isize + place;
    if (0..WORDS as isize).contains(&index) { number.words[index as usize] } else { 0 }
}

fn add_magnitudes(a: &Decimal, b: &Decimal) -> Result<Decimal, DecimalError> {
    let integer_words = a.integer_words.max(b.integer_words) as usize;
    let scale = a.scale.max(b.scale) as usize;
    let fraction_words = words_of(scale).min(WORDS - integer_words);
    let mut sum = Decimal {
        integer_words: integer_words as u8,
        scale: scale.min(fraction_words * WORD_DIGITS) as u8,
        ..Decimal::ZERO
    };
    let mut carry = 0;
    for place in (-(integer_words as isize)..fraction_words as isize).rev() {
        let mut word = word_at(a, place) + word_at(b, place) + carry;
        carry = (word >= BASE) as u32;
        word -= carry * BASE;
        sum.words[(integer_words as isize + place) as usize] = word;
    }
    if carry > 0 {
        sum.push_front(carry)?;
    }
    Ok(sum)
}

/// `a - b`, where `a` is not less.
fn subtract_magnitudes(a: &Decimal, b: &Decimal) -> Decimal {
    let integer_words = a.integer_words as usize;
    let scale = a.scale.max(b.scale) as usize;
    let fraction_words = words_of(scale).min(WORDS - integer_words);
    let mut rest = Decimal {
        integer_words: integer_words as u8,
        scale: scale.min(fraction_words * WORD_DIGITS) as u8,
        ..Decimal::ZERO
    };
    let mut borrow = 0;
    for place in (-(integer_words as isize)..fraction_words as isize).rev() {
        let taken = word_at(b, place) + borrow;
        let word = word_at(a, place);
        borrow = (word < taken) as u32;
        rest.words[(integer_words as isize + place) as usize] = word + borrow * BASE - taken;
    }
    rest.normalize();
    rest
}

/// A number of words with the point behind the first `point`. Fraction words that do not fit are cut.
fn from_words(words: &[u32], point: usize, scale: usize) -> Result<Decimal, DecimalError> {
    let leading = words[..point].iter().take_while(|word| **word == 0).count();
    let integer_words = point - leading;
    if integer_words > WORDS {
        return Err(DecimalError::Overflow);
    }
    let scale = scale.min((WORDS - integer_words) * WORD_DIGITS);
    let mut number = Decimal { integer_words: integer_words as u8, scale: scale as u8, ..Decimal::ZERO };
    let used = (words.len() - leading).min(number.length());
    number.words[..used].copy_from_slice(&words[leading..leading + used]);
    // The last word may hold digits behind the scale.
    let tail = scale % WORD_DIGITS;
    if tail > 0 {
        let last = number.length() - 1;
        number.words[last] -= number.words[last] % super::POWERS_OF_TEN[WORD_DIGITS - tail];
    }
    Ok(number)
}

/// Divides integers of words: the quotient goes to `quotient`, which is as long as the dividend, and the remainder
/// stays in `dividend`. (Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D.)
fn divide(dividend: &mut [u32], divisor: &[u32], quotient: &mut [u32]) {
    let base = u64::from(BASE);
    let leading = divisor.iter().take_while(|word| **word == 0).count();
    let divisor = &divisor[leading..];
    assert!(!divisor.is_empty(), "a divisor that is not zero");
    quotient.fill(0);
    if divisor.len() == 1 {
        let mut rest = 0_u64;
        for (word, digit) in dividend.iter_mut().zip(quotient) {
            let value = rest * base + u64::from(*word);
            *digit = (value / u64::from(divisor[0])) as u32;
            rest = value % u64::from(divisor[0]);
            *word = 0;
        }
        if let Some(last) = dividend.last_mut() {
            *last = rest as u32;
        }
        return;
    }
    if dividend.len() < divisor.len() {
        return;
    }
    // Scale both so that the first word of the divisor is large; the estimates are then off by two at most.
    let factor = base / (u64::from(divisor[0]) + 1);
    let mut v = [0_u64; WIDE];
    let mut carry = 0;
    for (i, word) in divisor.iter().enumerate().rev() {
        let value = u64::from(*word) * factor + carry;
        v[i] = value % base;
        carry = value / base;
    }
    debug_assert_eq!(carry, 0);
    let n = divisor.len();
    let mut u = [0_u64; WIDE + 1];
    carry = 0;
    for (i, word) in dividend.iter().enumerate().rev() {
        let value = u64::from(*word) * factor + carry;
        u[i + 1] = value % base;
        carry = value / base;
    }
    u[0] = carry;
    for j in 0..=dividend.len() - n {
        let head = u[j] * base + u[j + 1];
        let mut digit = (head / v[0]).min(base - 1);
        let mut rest = head - digit * v[0];
        while rest < base && digit * v[1] > rest * base + u[j + 2] {
            digit -= 1;
            rest += v[0];
        }
        let mut borrow = 0_i64;
        let mut carry = 0_u64;
        for i in (0..n).rev() {
            let product = digit * v[i] + carry;
            carry = product / base;
            let value = u[j + i + 1] as i64 - (product % base) as i64 - borrow;
            borrow = (value < 0) as i64;
            u[j + i + 1] = (value + borrow * base as i64) as u64;
        }
        let value = u[j] as i64 - carry as i64 - borrow;
        if value < 0 {
            // The estimate was one too large after all: add the divisor back.
            digit -= 1;
            let mut carry = 0;
            for i in (0..n).rev() {
                let sum = u[j + i + 1] + v[i] + carry;
                u[j + i + 1] = sum % base;
                carry = sum / base;
            }
        }
        u[j] = 0;
        quotient[j + n - 1] = digit as u32;
    }
    let mut rest = 0;
    for (word, scaled) in dividend.iter_mut().zip(&u[1..]) {
        let value = rest * base + scaled;
        *word = (value / factor) as u32;
        rest = value % factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn sums() {
        for (a, b, sum) in [
            ("1.5", "2.25", "3.75"),
            ("999999999", "1", "1000000000"),
            ("-1", "1.00", "0.00"),
            ("1000000000", "-0.000000001", "999999999.999999999"),
            ("-5", "-7", "-12"),
            ("1e64", "9e64", &format!("1{}", "0".repeat(65))),
        ] {
            assert_eq!(decimal(a).add(&decimal(b)).unwrap().to_string(), sum);
        }
        let largest = decimal(&"9".repeat(81));
        assert_eq!(largest.add(&decimal("1")), Err(DecimalError::Overflow));
    }

    #[test]
    fn products() {
        for (a, b, product) in [
            ("1.5", "-2.25", "-3.375"),
            ("999999999", "999999999", "999999998000000001"),
            ("0.000000001", "0.1", "0.0000000001"),
            ("0", "-5.5", "0.0"),
        ] {
            assert_eq!(decimal(a).mul(&decimal(b)).unwrap().to_string(), product);
        }
        assert_eq!(decimal("1e64").mul(&decimal("1e64")), Err(DecimalError::Overflow));
    }

    #[test]
    fn quotients_end_with_a_whole_word() {
        for (a, b, quotient) in [
            ("1", "3", "0.333333333"),
            ("1.0", "3.0", "0.333333333333333333"),
            ("-10", "4", "-2.500000000"),
            ("1", "1000000000000", "0.000000000"),
            ("123456789012345678901234567890", "7", "17636684144620811271604938270.000000000"),
        ] {
            assert_eq!(decimal(a).div(&decimal(b), 4).unwrap().to_string(), quotient);
        }
        assert_eq!(decimal("1").div(&decimal("0.00"), 4), Err(DecimalError::DivisionByZero));
    }

    #[test]
    fn integer_quotients_and_rests() {
        for (a, b, quotient, rest) in [
            ("7", "2", "3", "1"),
            ("-7", "2", "-3", "-1"),
            ("7", "-2", "-3", "1"),
            ("7.5", "2", "3", "1.5"),
            ("7", "0.3", "23", "0.1"),
            ("1", "1000000000000000000000", "0", "1"),
            ("0.5", "100", "0", "0.5"),
            ("123456789012345678901234567890", "987654321098765", "124999998860937", "547854957125085"),
        ] {
            assert_eq!(decimal(a).div_integer(&decimal(b)).unwrap().to_string(), quotient, "{a} div {b}");
            assert_eq!(decimal(a).rem(&decimal(b)).unwrap().to_string(), rest, "{a} mod {b}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_integers(a in -10_i128.pow(18)..10_i128.pow(18), b in -10_i128.pow(18)..10_i128.pow(18),
                                s in 0..20_u8, t in 0..20_u8) {
            let (x, y) = (Decimal::from_i128(a, s), Decimal::from_i128(b, t));
            prop_assert_eq!(x.mul(&y).unwrap().to_string(), Decimal::from_i128(a * b, s + t).to_string());
            if s == t {
                prop_assert_eq!(x.add(&y).unwrap().to_string(), Decimal::from_i128(a + b, s).to_string());
                prop_assert_eq!(x.sub(&y).unwrap().to_string(), Decimal::from_i128(a - b, s).to_string());
                prop_assert_eq!(x.cmp(&y), a.cmp(&b));
                if b != 0 {
                    prop_assert_eq!(x.rem(&y).unwrap().to_string(), Decimal::from_i128(a % b, s).to_string());
                    prop_assert_eq!(x.div_integer(&y).unwrap(), Decimal::from_i128(a / b, 0));
                }
            }
        }

        #[test]
        fn division_undoes_multiplication(a in "[1-9][0-9]{0,30}", b in "[1-9][0-9]{0,30}", rest in "[0-9]{1,30}") {
            let (a, b, rest) = (decimal(&a), decimal(&b), decimal(&rest));
            prop_assume!(rest < b);
            let product = a.mul(&b).unwrap().add(&rest).unwrap();
            prop_assert_eq!(product.div_integer(&b).unwrap(), a);
            prop_assert_eq!(product.rem(&b).unwrap(), rest);
        }
    }
}
