//! Bit operations on strings of bytes, as MySQL 8 has them: `&`, `|`, `^`, `~`, `<<`, `>>`, BIT_COUNT and BIT_AND, BIT_OR,
//! BIT_XOR work on BINARY, VARBINARY and BLOB values of any length, bit by bit, and give such a value.
//!
//! A hexadecimal literal alone is a number, and beside a string of bytes it is one, too. All else is a number of 64 bits:
//! what [`super::arithmetic::bits`] takes.
//!
//! ```text
//!   x'0F0F' & _binary x'00FF'   x'000F'    of equal lengths, else error 3513
//!   ~_binary x'00FF'            x'FF00'
//!   _binary x'0180' << 1        x'0300'    keeps its length
//! ```
//!
//! MariaDB has none of this: it takes the digits in front of such a string for a number.

use super::Expr;
use crate::error::{Error, Result};
use crate::parser::ast::BinaryOp;
use crate::types::{Kind, TypeInfo};

/// An aggregate takes no longer values.
pub const AGGREGATE_BYTES_MAX: u32 = 511;

/// Whether a value of this type is a string of bytes, a literal or not.
fn is_bytes(ty: &TypeInfo) -> bool {
    matches!(ty.kind, Kind::Char | Kind::VarChar | Kind::Text) && ty.is_binary()
}

/// Whether the operators take a value of this type bit by bit.
pub fn is_bit_string(ty: &TypeInfo) -> bool {
    is_bytes(ty) && !ty.is_bit_literal()
}

/// Whether `left op right` is done bit by bit.
pub fn is_operation(op: BinaryOp, left: &Expr, right: &Expr) -> bool {
    match op {
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => is_bit_string(&left.ty),
        _ => is_bytes(&left.ty) && is_bytes(&right.ty) && (is_bit_string(&left.ty) || is_bit_string(&right.ty)),
    }
}

/// `left & right` and its kin.
///
/// # Errors
/// 3513 if the lengths differ.
pub fn combine(op: BinaryOp, left: &[u8], right: &[u8]) -> Result<Vec<u8>> {
    let mut result = left.to_vec();
    combine_into(op, &mut result, right)?;
    Ok(result)
}

/// The same, in place of the left operand.
pub fn combine_into(op: BinaryOp, left: &mut [u8], right: &[u8]) -> Result<()> {
    if left.len() != right.len() {
        return Err(Error::unequal_bit_strings());
    }
    for (left, right) in left.iter_mut().zip(right) {
        match op {
            BinaryOp::BitAnd => *left &= right,
            BinaryOp::BitOr => *left |= right,
            _ => *left ^= right,
        }
    }
    Ok(())
}

pub fn invert(value: &[u8]) -> Vec<u8> {
    value.iter().map(|byte| !byte).collect()
}

/// `value << places`, or `>>`.
pub fn shift(op: BinaryOp, value: &[u8], places: u64) -> Vec<u8> {
    let mut result = vec![0; value.len()];
    let Ok(bytes) = usize::try_from(places / 8) else { return result };
    let bits = (places % 8) as u32;
    // Two neighbours make a byte of the result: shifted by whole bytes, and by less than one.
    let at = |index: Option<usize>| index.and_then(|index| value.get(index)).map_or(0, |byte| u16::from(*byte));
    for (index, out) in result.iter_mut().enumerate() {
        *out = match op {
            BinaryOp::ShiftLeft => {
                let pair =
                    at(index.checked_add(bytes)) << 8 | at(index.checked_add(bytes).and_then(|at| at.checked_add(1)));
                (pair << bits >> 8) as u8
            }
            _ => {
                let pair =
                    at(index.checked_sub(bytes).and_then(|at| at.checked_sub(1))) << 8 | at(index.checked_sub(bytes));
                (pair >> bits) as u8
            }
        };
    }
    result
}

pub fn count(value: &[u8]) -> u64 {
    value.iter().map(|byte| u64::from(byte.count_ones())).sum()
}

/// What an aggregate gives without a value: all bits or none, as many as its argument may have.
pub fn neutral(is_and: bool, length: u32) -> Vec<u8> {
    vec![if is_and { 0xFF } else { 0 }; length as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shifts are those of a number of the same bits.
    #[test]
    fn shifts_are_those_of_numbers() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        for places in 0..140 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(places);
            let value = u128::from(state) << 64 | u128::from(state.rotate_left(17));
            let left = value.checked_shl(places as u32).unwrap_or(0);
            let right = value.checked_shr(places as u32).unwrap_or(0);
            assert_eq!(shift(BinaryOp::ShiftLeft, &value.to_be_bytes(), places), left.to_be_bytes(), "{places}");
            assert_eq!(shift(BinaryOp::ShiftRight, &value.to_be_bytes(), places), right.to_be_bytes(), "{places}");
            assert_eq!(count(&value.to_be_bytes()), u64::from(value.count_ones()));
        }
        assert_eq!(shift(BinaryOp::ShiftLeft, b"ab", u64::MAX), [0, 0]);
        assert_eq!(shift(BinaryOp::ShiftRight, b"", 3), b"");
    }
}
