//! Dates and times as stored bytes, and as text straight from them.
//!
//! ```text
//! DATE       3       0x800000 + (year << 9 | month << 5 | day)
//! TIME       3 + f   0x800000 + (hours << 12 | minutes << 6 | seconds), then the fraction
//! DATETIME   5 + f   0x8000000000 + ((year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second), then
//!                    the fraction
//! TIMESTAMP  4 + f   seconds since 1970 UTC, then the fraction
//! fraction   0 1 2 3 bytes for fsp 0, 1-2, 3-4, 5-6: hundredths, ten-thousandths, millionths
//! ```
//!
//! All big-endian, so that memcmp orders them. For a negative TIME, whole and fraction taken together as one number are
//! subtracted from the offset: -00:00:01.5 with fsp 1 is 80000000 - 00000132 = 7FFFFE CE.

use super::{Date, DateTime, MICROS_PER_SECOND, Time, Zone};

const DATE_OFFSET: u32 = 0x80_0000;
const TIME_OFFSET: i64 = 0x80_0000;
const DATETIME_OFFSET: u64 = 0x80_0000_0000;

/// Bytes of a fraction.
#[inline]
pub const fn fraction_bytes(fsp: u8) -> usize {
    (fsp as usize).div_ceil(2)
}

/// Microseconds of the last digit that a fraction of so many bytes holds.
const fn fraction_unit(bytes: usize) -> u32 {
    [1_000_000, 10_000, 100, 1][bytes]
}

#[inline]
fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The first `N` bytes; what is missing is zero.
#[inline]
fn take<const N: usize>(stored: &[u8]) -> [u8; N] {
    match stored.first_chunk() {
        Some(bytes) => *bytes,
        None => {
            let mut bytes = [0; N];
            bytes[..stored.len()].copy_from_slice(stored);
            bytes
        }
    }
}

#[inline]
fn encode_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    let bytes = fraction_bytes(fsp);
    if bytes > 0 {
        out.extend_from_slice(&(micros / fraction_unit(bytes)).to_be_bytes()[4 - bytes..]);
    }
}

#[inline]
fn decode_fraction(stored: &[u8], fsp: u8) -> u32 {
    let bytes = fraction_bytes(fsp).min(stored.len());
    (big_endian(&stored[..bytes]) as u32).saturating_mul(fraction_unit(bytes)).min(999_999)
}

impl Date {
    /// Appends the three stored bytes.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let packed = u32::from(self.year) << 9 | u32::from(self.month) << 5 | u32::from(self.day);
        out.extend_from_slice(&(packed + DATE_OFFSET).to_be_bytes()[1..]);
    }

    #[inline]
    pub fn decode(stored: &[u8]) -> Date {
        let packed = big_endian(&take::<3>(stored)) as u32 & (DATE_OFFSET - 1);
        Date::new((packed >> 9) as u16, (packed >> 5 & 15) as u8, (packed & 31) as u8)
    }
}

impl Time {
    /// Appends the stored bytes; the value has no more digits than `fsp`.
    pub fn encode(&self, fsp: u8, out: &mut Vec<u8>) {
        let bytes = fraction_bytes(fsp);
        let whole = i64::from(self.hours) << 12 | i64::from(self.minutes) << 6 | i64::from(self.seconds);
        let fraction = i64::from(self.micros / fraction_unit(bytes));
        let packed = (whole << (8 * bytes)) + fraction;
        let signed = if self.negative { -packed } else { packed };
        let offset = signed + (TIME_OFFSET << (8 * bytes));
        out.extend_from_slice(&offset.to_be_bytes()[5 - bytes..]);
    }

    pub fn decode(stored: &[u8], fsp: u8) -> Time {
        let bytes = fraction_bytes(fsp);
        let mut number = [0; 6];
        let given = stored.len().min(3 + bytes);
        number[..given].copy_from_slice(&stored[..given]);
        let offset = big_endian(&number[..3 + bytes]) as i64;
        let signed = offset - (TIME_OFFSET << (8 * bytes));
        let packed = signed.unsigned_abs();
        let whole = packed >> (8 * bytes);
        let fraction = (packed & ((1 << (8 * bytes)) - 1)) as u32;
        Time {
            negative: signed < 0,
            hours: (whole >> 12) as u16 & 0x3FF,
            minutes: (whole >> 6 & 63) as u8,
            seconds: (whole & 63) as u8,
            micros: fraction.saturating_mul(fraction_unit(bytes)).min(999_999) * (bytes > 0) as u32,
        }
    }
}

impl DateTime {
    /// Appends the stored bytes of a DATETIME; the value has no more digits than `fsp`.
    #[inline]
    pub fn encode(&self, fsp: u8, out: &mut Vec<u8>) {
        let months = u64::from(self.date.year) * 13 + u64::from(self.date.month);
        let packed = months << 22
            | u64::from(self.date.day) << 17
            | u64::from(self.hour) << 12
            | u64::from(self.minute) << 6
            | u64::from(self.second);
        out.extend_from_slice(&(packed + DATETIME_OFFSET).to_be_bytes()[3..]);
        encode_fraction(self.micros, fsp, out);
    }

    #[inline]
    pub fn decode(stored: &[u8], fsp: u8) -> DateTime {
        let packed = big_endian(&take::<5>(stored)) & (DATETIME_OFFSET - 1);
        let months = packed >> 22;
        DateTime {
            date: Date::new((months / 13) as u16, (months % 13) as u8, (packed >> 17 & 31) as u8),
            hour: (packed >> 12 & 31) as u8,
            minute: (packed >> 6 & 63) as u8,
            second: (packed & 63) as u8,
            micros: decode_fraction(stored.get(5..).unwrap_or(&[]), fsp),
            is_second: false,
        }
    }

    /// Appends the stored bytes of a TIMESTAMP given in UTC. The zero date is second 0. False (nothing is appended) out
    /// of the range of TIMESTAMP: 1970-01-01 00:00:01 to 2038-01-19 03:14:07.
    pub fn encode_timestamp(&self, fsp: u8, out: &mut Vec<u8>) -> bool {
        if self.date.is_zero() {
            out.extend_from_slice(&[0; 7][..4 + fraction_bytes(fsp)]);
            return true;
        }
        let seconds = self.to_unix_micros(Zone::UTC).div_euclid(MICROS_PER_SECOND);
        if self.date.has_zero_part() || !(1..=i64::from(i32::MAX)).contains(&seconds) {
            return false;
        }
        out.extend_from_slice(&(seconds as u32).to_be_bytes());
        encode_fraction(self.micros, fsp, out);
        true
    }

    /// A stored TIMESTAMP in a zone.
    #[inline]
    pub fn decode_timestamp(stored: &[u8], fsp: u8, zone: Zone) -> DateTime {
        let seconds = u32::from_be_bytes(take::<4>(stored));
        let micros = decode_fraction(stored.get(4..).unwrap_or(&[]), fsp);
        if seconds == 0 && micros == 0 {
            return DateTime::ZERO;
        }
        let unix = i64::from(seconds) * MICROS_PER_SECOND + i64::from(micros);
        DateTime::from_unix_micros(unix, zone).unwrap_or(DateTime::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(text: (bool, u16, u8, u8, u32)) -> Time {
        Time { negative: text.0, hours: text.1, minutes: text.2, seconds: text.3, micros: text.4 }
    }

    #[test]
    fn bytes_are_innodbs() {
        let mut out = Vec::new();
        Date::new(2024, 2, 29).encode(&mut out);
        assert_eq!(out, [0x8F, 0xD0, 0x5D]);
        for (value, fsp, bytes) in [
            ((true, 838, 59, 59, 0), 0, &[0x4B, 0x91, 0x05][..]),
            ((true, 0, 0, 1, 500_000), 1, &[0x7F, 0xFF, 0xFE, 0xCE]),
            ((true, 1, 2, 3, 450_000), 2, &[0x7F, 0xEF, 0x7C, 0xD3]),
            ((true, 1, 2, 3, 456_700), 4, &[0x7F, 0xEF, 0x7C, 0xEE, 0x29]),
            ((false, 12, 34, 56, 789_000), 3, &[0x80, 0xC8, 0xB8, 0x1E, 0xD2]),
            ((true, 0, 0, 0, 1), 6, &[0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        ] {
            let mut out = Vec::new();
            time(value).encode(fsp, &mut out);
            assert_eq!(out, bytes, "{value:?}");
            assert_eq!(Time::decode(bytes, fsp), time(value));
        }
    }

    #[test]
    fn timestamps_have_a_range() {
        let encode = |moment: DateTime| {
            let mut out = Vec::new();
            moment.encode_timestamp(0, &mut out).then_some(out)
        };
        assert_eq!(encode(DateTime::ZERO), Some(vec![0; 4]));
        assert_eq!(encode(DateTime::new(Date::new(1970, 1, 1), 0, 0, 0, 0)), None);
        assert_eq!(encode(DateTime::new(Date::new(1970, 1, 1), 0, 0, 1, 0)), Some(vec![0, 0, 0, 1]));
        assert_eq!(encode(DateTime::new(Date::new(2038, 1, 19), 3, 14, 7, 0)), Some(vec![0x7F, 0xFF, 0xFF, 0xFF]));
        assert_eq!(encode(DateTime::new(Date::new(2038, 1, 19), 3, 14, 8, 0)), None);
        assert_eq!(encode(Date::new(2024, 0, 0).at_midnight()), None);
    }

    #[test]
    fn damaged_bytes_give_some_value() {
        for stored in [&[][..], &[0xFF], &[0xFF; 9], &[0; 9]] {
            for fsp in 0..=6 {
                let mut out = Vec::new();
                Date::decode(stored).write(&mut out);
                Time::decode(stored, fsp).write(fsp, &mut out);
                DateTime::decode(stored, fsp).write(fsp, &mut out);
                DateTime::decode_timestamp(stored, fsp, Zone::Fixed(-3600)).write(fsp, &mut out);
            }
        }
    }

    fn moments() -> impl Strategy<Value = DateTime> {
        (0..=9999_u16, 0..=12_u8, 0..=31_u8, 0..24_u8, 0..60_u8, 0..60_u8, 0..1_000_000_u32)
            .prop_map(|(year, month, day, h, m, s, micros)| DateTime::new(Date::new(year, month, day), h, m, s, micros))
    }

    fn times() -> impl Strategy<Value = Time> {
        (-Time::MAX.to_micros()..=Time::MAX.to_micros()).prop_map(|micros| Time::from_micros(micros).0)
    }

    proptest! {
        #[test]
        fn stored_bytes_keep_value_and_order(a in moments(), b in moments(), t in times(), u in times(), fsp in 0..=6_u8) {
            let (a, b) = (a.truncate(fsp), b.truncate(fsp));
            let (mut first, mut second) = (Vec::new(), Vec::new());
            a.encode(fsp, &mut first);
            b.encode(fsp, &mut second);
            prop_assert_eq!(first.len(), 5 + fraction_bytes(fsp));
            prop_assert_eq!(DateTime::decode(&first, fsp), a);
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));

            let (mut first, mut second) = (Vec::new(), Vec::new());
            a.date.encode(&mut first);
            b.date.encode(&mut second);
            prop_assert_eq!(Date::decode(&first), a.date);
            prop_assert_eq!(first.cmp(&second), a.date.cmp(&b.date));

            let (t, u) = (t.truncate(fsp), u.truncate(fsp));
            let (mut first, mut second) = (Vec::new(), Vec::new());
            t.encode(fsp, &mut first);
            u.encode(fsp, &mut second);
            prop_assert_eq!(first.len(), 3 + fraction_bytes(fsp));
            prop_assert_eq!(Time::decode(&first, fsp), t);
            prop_assert_eq!(first.cmp(&second), t.cmp(&u));
        }

        #[test]
        fn timestamps_keep_their_moment(seconds in 1..=i32::MAX as i64, micros in 0..1_000_000_i64, fsp in 0..=6_u8) {
            let moment = DateTime::from_unix_micros(seconds * 1_000_000 + micros, Zone::UTC).unwrap().truncate(fsp);
            let mut stored = Vec::new();
            prop_assert!(moment.encode_timestamp(fsp, &mut stored));
            prop_assert_eq!(DateTime::decode_timestamp(&stored, fsp, Zone::UTC), moment);
            let local = DateTime::decode_timestamp(&stored, fsp, Zone::Fixed(7200));
            prop_assert_eq!(local.diff_micros(&moment), 7_200_000_000);
        }
    }
}
