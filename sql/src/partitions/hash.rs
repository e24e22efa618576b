//! Partitions by a number: HASH takes the value of its expression, KEY a hash of its columns.
//!
//! KEY's hash is MySQL's of ALGORITHM=2, byte by byte over the values as MySQL has them in a row: so a row is in the same
//! partition as in MySQL and MariaDB. Numbers are hashed in the order of latin1_swedish_ci, as there. That holds for numbers,
//! dates, times and texts of the collations with one weight for a character; other texts only have that equal ones are in
//! the same partition. ALGORITHM=1 of MySQL 5.1 hashes numbers as plain bytes.
//!
//! LINEAR takes the lowest bits of the number, as many as the partitions have, and one less where that is too much: so a new
//! partition takes rows from one other partition only (Litwin, "Linear Hashing", 1980).

use std::sync::LazyLock;

use format::collation::{Collation, CollationId, collation};
use format::value::{ColumnType, Value};

/// The number of the partition of a value of HASH.
pub fn of_number(number: i64, count: usize, linear: bool) -> usize {
    match linear {
        true => linear_of(number as u64, count),
        false => (number % count as i64).unsigned_abs() as usize,
    }
}

/// The number of the partition of a hash of KEY.
pub fn of_hash(hash: u32, count: usize, linear: bool) -> usize {
    if linear { linear_of(u64::from(hash), count) } else { hash as usize % count }
}

fn linear_of(number: u64, count: usize) -> usize {
    let mask = count.next_power_of_two() as u64 - 1;
    let at = (number & mask) as usize;
    if at < count { at } else { (number & (mask >> 1)) as usize }
}

/// The hash of the values of several columns.
pub struct KeyHash {
    first: u64,
    second: u64,
    numbers_are_bytes: bool,
}

impl KeyHash {
    pub fn new(algorithm: u64) -> KeyHash {
        KeyHash { first: 1, second: 4, numbers_are_bytes: algorithm == 1 }
    }

    pub fn finish(self) -> u32 {
        self.first as u32
    }

    fn byte(&mut self, byte: u8) {
        let mixed = (self.first & 63).wrapping_add(self.second).wrapping_mul(u64::from(byte));
        self.first ^= mixed.wrapping_add(self.first << 8);
        self.second = self.second.wrapping_add(3);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// The bytes of a number as MySQL has them in memory.
    fn number(&mut self, bytes: &[u8]) {
        if self.numbers_are_bytes {
            return self.bytes(bytes);
        }
        bytes.iter().for_each(|byte| self.byte(LATIN1_WEIGHTS[usize::from(*byte)]));
    }

    /// Adds the stored value of a column.
    pub fn add(&mut self, ty: &ColumnType, stored: Option<&[u8]>) {
        let Some(stored) = stored else {
            self.first ^= (self.first << 1) | 1;
            return;
        };
        match ty {
            ColumnType::Int { bytes, .. } => {
                let number = match ty.decode(stored) {
                    Value::Int(number) => number as u64,
                    Value::UInt(number) => number,
                    _ => 0,
                };
                self.number(&number.to_le_bytes()[..usize::from(*bytes).min(8)]);
            }
            ColumnType::Float { .. } | ColumnType::Double { .. } => {
                let number = match ty.decode(stored) {
                    Value::Double(number) if number != 0.0 => number,
                    _ => 0.0,
                };
                match ty {
                    ColumnType::Float { .. } => self.number(&(number as f32).to_le_bytes()),
                    _ => self.number(&number.to_le_bytes()),
                }
            }
            ColumnType::Decimal { .. } | ColumnType::Year => self.number(stored),
            ColumnType::Date => self.bytes(&date_bytes(stored)),
            ColumnType::Char { collation: id, .. }
            | ColumnType::VarChar { collation: id, .. }
            | ColumnType::Text { collation: id, .. } => self.text(collation(*id), stored),
            _ => self.bytes(stored),
        }
    }

    fn text(&mut self, rule: &'static Collation, text: &[u8]) {
        if rule.is_binary() {
            return self.bytes(text);
        }
        let text = if rule.pad_space { rule.charset.without_spaces(text) } else { text };
        if rule.is_bytewise() {
            return self.bytes(text);
        }
        if rule.expands() || !rule.orders_beginnings() {
            return self.bytes(&rule.hash(text).to_le_bytes());
        }
        let mut key = Vec::new();
        let mut rest = text;
        while let Some((character, length)) = rule.charset.decode_char(rest).filter(|(_, length)| *length > 0) {
            if character == u32::from(b' ') {
                // Alone it is padding, which has no key.
                key.clear();
                key.extend_from_slice(&[0, b' ']);
            } else {
                key.clear();
                rule.sort_key(&rest[..length.min(rest.len())], &mut key);
            }
            match rule.charset.bytes_max() {
                1 => {
                    let weight = if character == u32::from(b' ') { b' ' } else { key.first().copied().unwrap_or(0) };
                    self.byte(weight);
                }
                _ => {
                    let weight = |at: usize| key.get(at).copied().unwrap_or(0);
                    self.byte(weight(1));
                    self.byte(weight(0));
                }
            }
            rest = &rest[length.min(rest.len())..];
        }
        // What is no text of its character set.
        self.bytes(rest);
    }
}

/// The weights of bytes in latin1_swedish_ci.
static LATIN1_WEIGHTS: LazyLock<[u8; 256]> = LazyLock::new(|| {
    let mut weights = [b' '; 256];
    let rule = collation(CollationId::LATIN1_SWEDISH_CI);
    for byte in (0..=u8::MAX).filter(|byte| *byte != b' ') {
        let mut key = Vec::new();
        rule.sort_key(&[byte], &mut key);
        weights[usize::from(byte)] = key.first().copied().unwrap_or(byte);
    }
    weights
});

/// A DATE as MySQL has it in a row: three bytes, the lowest first.
fn date_bytes(stored: &[u8]) -> [u8; 3] {
    match ColumnType::Date.decode(stored) {
        Value::Date(date) => {
            let number = u32::from(date.year) << 9 | u32::from(date.month) << 5 | u32::from(date.day);
            let bytes = number.to_le_bytes();
            [bytes[0], bytes[1], bytes[2]]
        }
        _ => [0; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(ty: &ColumnType, value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        ty.encode(value, &mut bytes).unwrap();
        bytes
    }

    fn partition(ty: &ColumnType, value: Value, count: usize, linear: bool) -> usize {
        let mut hash = KeyHash::new(2);
        match value {
            Value::Null => hash.add(ty, None),
            value => hash.add(ty, Some(&stored(ty, &value))),
        }
        of_hash(hash.finish(), count, linear)
    }

    /// As MariaDB 10.11 divides them.
    #[test]
    fn keys_are_in_mariadbs_partitions() {
        let text = ColumnType::VarChar { chars: 20, collation: CollationId::UTF8MB4_GENERAL_CI };
        let of = |value: &str| partition(&text, Value::Bytes(value.as_bytes().to_vec()), 7, false);
        assert_eq!((of("b"), of("zebra"), of(""), of("a"), of("A")), (0, 0, 1, 2, 2));
        assert_eq!((of("\u{e9}a"), of("abc"), of("ABC"), of("abc ")), (2, 6, 6, 6));
        assert_eq!(partition(&text, Value::Null, 7, false), 2);
        let date = |day| Value::Date(format::value::Date { year: 2020, month: 1, day });
        let of = |day| partition(&ColumnType::Date, date(day), 7, false);
        assert_eq!((of(2), of(7), of(1), of(3), of(6), of(4), of(15)), (0, 1, 2, 3, 4, 5, 6));
    }

    #[test]
    fn linear_numbers_move_to_one_new_partition() {
        for count in 1..20 {
            for number in 0..1000 {
                let (before, after) = (of_number(number, count, true), of_number(number, count + 1, true));
                assert!(before < count && (after == before || after == count));
            }
        }
        assert_eq!((of_number(-7, 5, false), of_number(i64::MIN, 3, false)), (2, 2));
    }
}
