//! Exact decimal numbers.

use std::cmp::Ordering;
use std::fmt;

/// The most digits of a DECIMAL.
pub const DECIMAL_PRECISION_MAX: u8 = 65;
/// The most digits behind the point.
pub const DECIMAL_SCALE_MAX: u8 = 30;

/// A number of up to 81 decimal digits (columns and results have up to 65).
#[derive(Clone, Copy)]
pub struct Decimal {
    words: [u32; 9],
    integer_words: u8,
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

impl Decimal {
    pub const ZERO: Decimal = Decimal { words: [0; 9], integer_words: 0, scale: 0, negative: false };

    /// The largest number of a DECIMAL(precision, scale): all nines.
    pub fn max(_precision: u8, _scale: u8) -> Decimal {
        todo!()
    }
    /// Parses a whole text such as `-12.50` or `1e3`.
    pub fn parse(_text: &[u8]) -> Result<Decimal, DecimalError> {
        todo!()
    }
    /// Parses as much of `text` as is a number, after leading spaces. Returns the bytes consumed (0: no number, value 0).
    /// Too large a number becomes the largest, with `Err(Overflow)` in the last place.
    pub fn parse_prefix(_text: &[u8]) -> (Decimal, usize, Result<(), DecimalError>) {
        todo!()
    }
    /// From a coefficient and a scale: 12.50 is (1250, 2).
    pub fn from_i128(_coefficient: i128, _scale: u8) -> Decimal {
        todo!()
    }
    /// The shortest decimal text of the double, as MySQL does it (15 significant digits at most... see body).
    pub fn from_f64(_number: f64) -> Result<Decimal, DecimalError> {
        todo!()
    }
    pub fn to_f64(&self) -> f64 {
        todo!()
    }
    /// Rounded half away from zero; Err(the nearest i64) when out of range.
    pub fn to_i64(&self) -> Result<i64, i64> {
        todo!()
    }
    /// Rounded half away from zero; Err(the nearest u64) when out of range or negative.
    pub fn to_u64(&self) -> Result<u64, u64> {
        todo!()
    }
    /// The integer part without rounding, as far as it fits an i128.
    pub fn to_i128_truncated(&self) -> Option<i128> {
        todo!()
    }
    #[inline]
    pub fn is_negative(&self) -> bool {
        self.negative
    }
    pub fn is_zero(&self) -> bool {
        todo!()
    }
    #[inline]
    pub fn scale(&self) -> u8 {
        self.scale
    }
    /// Digits before the point without leading zeros; 0 for 0.5.
    pub fn integer_digits(&self) -> u8 {
        todo!()
    }
    /// Digits in all, at least 1.
    pub fn precision(&self) -> u8 {
        todo!()
    }
    pub fn neg(&self) -> Decimal {
        todo!()
    }
    pub fn abs(&self) -> Decimal {
        todo!()
    }
    pub fn add(&self, _other: &Decimal) -> Result<Decimal, DecimalError> {
        todo!()
    }
    pub fn sub(&self, _other: &Decimal) -> Result<Decimal, DecimalError> {
        todo!()
    }
    pub fn mul(&self, _other: &Decimal) -> Result<Decimal, DecimalError> {
        todo!()
    }
    /// The quotient with `scale increment` more digits (div_precision_increment, default 4) than the dividend, rounded up to
    /// whole groups of nine digits as MySQL's intermediate results are; the static type of the division then rounds.
    pub fn div(&self, _other: &Decimal, _scale_increment: u8) -> Result<Decimal, DecimalError> {
        todo!()
    }
    /// DIV: the integer part of the quotient.
    pub fn div_integer(&self, _other: &Decimal) -> Result<Decimal, DecimalError> {
        todo!()
    }
    /// MOD, with the sign of the dividend.
    pub fn rem(&self, _other: &Decimal) -> Result<Decimal, DecimalError> {
        todo!()
    }
    /// Rounds half away from zero to `scale` digits behind the point (negative: before it). A larger scale appends zeros.
    pub fn round(&self, _scale: i32) -> Result<Decimal, DecimalError> {
        todo!()
    }
    pub fn truncate(&self, _scale: i32) -> Decimal {
        todo!()
    }
    pub fn ceiling(&self) -> Result<Decimal, DecimalError> {
        todo!()
    }
    pub fn floor(&self) -> Result<Decimal, DecimalError> {
        todo!()
    }
    /// Rounds to the scale of DECIMAL(precision, scale); Err(Overflow) when it does not fit.
    pub fn fit(&self, _precision: u8, _scale: u8) -> Result<Decimal, DecimalError> {
        todo!()
    }
    /// Appends the text, always with `scale()` digits behind the point.
    pub fn write(&self, _out: &mut Vec<u8>) {
        todo!()
    }
    /// The bytes of a stored DECIMAL(precision, scale).
    pub fn stored_bytes(_precision: u8, _scale: u8) -> usize {
        todo!()
    }
    /// Appends the stored form of a number that fits DECIMAL(precision, scale).
    pub fn encode(&self, _precision: u8, _scale: u8, _out: &mut Vec<u8>) {
        todo!()
    }
    pub fn decode(_stored: &[u8], _precision: u8, _scale: u8) -> Decimal {
        todo!()
    }
    /// Appends the text of a stored DECIMAL.
    pub fn write_stored(_stored: &[u8], _precision: u8, _scale: u8, _out: &mut Vec<u8>) {
        todo!()
    }
}

impl From<i64> for Decimal {
    fn from(_number: i64) -> Decimal {
        todo!()
    }
}

impl From<u64> for Decimal {
    fn from(_number: u64) -> Decimal {
        todo!()
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
    fn cmp(&self, _other: &Decimal) -> Ordering {
        todo!()
    }
}
impl std::hash::Hash for Decimal {
    fn hash<H: std::hash::Hasher>(&self, _state: &mut H) {
        todo!()
    }
}
impl fmt::Display for Decimal {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}
impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
