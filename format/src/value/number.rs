//! Integers and doubles as text.

/// How much of a text was a number, MySQL's way of coercing `'12abc'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Bytes read, leading spaces included; 0 when there is no number.
    pub consumed: usize,
    /// Something other than spaces follows, or nothing was a number: warning 1292 "Truncated incorrect ... value".
    pub truncated: bool,
    /// The number was out of range and became the nearest one.
    pub overflow: bool,
}

/// Reads an integer; fractions and exponents are not part of it.
pub fn i64_prefix(_text: &[u8]) -> (i64, Prefix) {
    todo!()
}
pub fn u64_prefix(_text: &[u8]) -> (u64, Prefix) {
    todo!()
}
/// Reads a floating-point number.
pub fn double_prefix(_text: &[u8]) -> (f64, Prefix) {
    todo!()
}
pub fn write_i64(_number: i64, _out: &mut Vec<u8>) {
    todo!()
}
pub fn write_u64(_number: u64, _out: &mut Vec<u8>) {
    todo!()
}
/// The shortest text that reads back as the same double: `0.1`, `100000`, `1e20`.
pub fn write_double(_number: f64, _out: &mut Vec<u8>) {
    todo!()
}
/// FLOAT: six significant digits.
pub fn write_float(_number: f32, _out: &mut Vec<u8>) {
    todo!()
}
/// With exactly `decimals` digits behind the point.
pub fn write_double_fixed(_number: f64, _decimals: u8, _out: &mut Vec<u8>) {
    todo!()
}
