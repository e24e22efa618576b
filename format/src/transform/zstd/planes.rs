//! Planes: the same byte of many records, in few bits.
//!
//! Each byte is predicted: from a base, or from the byte before it and a step. What is left over, the *rest*, is
//! written in as few bits as most of them need; those that need more are exceptions and follow with their places. So a
//! plane in which each byte is the one before plus the step takes three bytes, and noise takes itself and one more.
//!
//! ```text
//! offset  bytes
//!      0      1  width of a rest in bits, 0 to 8; 0x80: from the byte before; 0x40: there are exceptions
//!      1      1  base, or the first byte
//!      2      1  step, if from the byte before
//!             2  number of exceptions, and
//!             3  each: index 2, rest 1
//!             w  rests, of so many bits, the first one lowest; those of exceptions are 0
//! ```
//!
//! With a width of 8 there is nothing to predict: only the first of these bytes, and the plane as it is.
//!
//! An *order* is a permutation, with a bit for each place, whether it is not the one behind the last, and those places:
//!
//! ```text
//!      0      1  0: each has its place, and that is all; 1
//!      1      n  a bit each
//!             m  places, of as many bits as the largest one needs
//! ```
//!
//! Invariants:
//!
//! * Reading returns what was written; from any other bytes it returns some value, or `None`.

const FROM_BEFORE: u8 = 0x80;
const HAS_EXCEPTIONS: u8 = 0x40;
const EXCEPTION_BYTES: usize = 3;
const AS_IT_IS: u8 = 8;

/// How a plane is written.
#[derive(Clone, Copy)]
struct Plan {
    from_before: bool,
    /// Base or step.
    base: u8,
    width: u8,
    exceptions: usize,
    bytes: usize,
}

/// The cheapest plan. `rests` is working space for as many bytes.
fn plan(column: &[u8], rests: &mut Vec<u8>) -> Plan {
    let n = column.len();
    let mut best = Plan { from_before: false, base: 0, width: AS_IT_IS, exceptions: 0, bytes: 1 + n };
    if n < 2 {
        return best;
    }
    let step = usual_step(column);
    fill_rests(column, step, rests);
    let unusual = count(rests, |rest| rest != 0);
    best.consider(true, step, 0, unusual, n);
    // Most planes end here.
    if 8 * unusual < n.min(64) {
        return best;
    }
    let (least, most) = column.iter().fold((u8::MAX, 0), |(least, most), &byte| (least.min(byte), most.max(byte)));
    best.consider(false, least, (8 - (most - least).leading_zeros()) as u8, 0, n);
    let mut try_widths = |base: u8, rests: &[u8]| {
        for width in (1..AS_IT_IS).rev() {
            let exceptions = count(rests, |rest| rest >= 1 << width);
            // Narrower, there are no fewer.
            if EXCEPTION_BYTES * exceptions > best.bytes {
                break;
            }
            best.consider(true, base, width, exceptions, n);
        }
    };
    try_widths(step, rests);
    fill_rests(column, 0, rests);
    let least = rests[1..].iter().fold(u8::MAX, |least, &rest| least.min(rest));
    if least != step {
        fill_rests(column, least, rests);
        try_widths(least, rests);
    }
    best
}

/// How many rests are such; in a way that suits the processor.
fn count(rests: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    let part = |part: &[u8]| usize::from(part.iter().map(|&rest| u8::from(is_such(rest))).sum::<u8>());
    rests.chunks(usize::from(u8::MAX)).map(part).sum()
}

impl Plan {
    fn consider(&mut self, from_before: bool, base: u8, width: u8, exceptions: usize, n: usize) {
        let listed = if exceptions > 0 { 2 + EXCEPTION_BYTES * exceptions } else { 0 };
        let bytes = 2 + usize::from(from_before) + listed + (n * usize::from(width)).div_ceil(8);
        if bytes < self.bytes && width < AS_IT_IS {
            *self = Plan { from_before, base, width, exceptions, bytes };
        }
    }
}

/// The step from each byte to the next one, less the base. The first one is none.
fn fill_rests(column: &[u8], base: u8, rests: &mut Vec<u8>) {
    rests.clear();
    rests.push(0);
    rests.extend(column.iter().zip(&column[1..]).map(|(one, next)| next.wrapping_sub(*one).wrapping_sub(base)));
}

fn usual_step(column: &[u8]) -> u8 {
    let step = |at: usize| column[at + 1].wrapping_sub(column[at]);
    if column.len() < 4 {
        return 0;
    }
    // Two of three; or the first that comes.
    let [a, b, c] = [step(0), step(column.len() / 2), step(column.len() - 2)];
    if b == c { b } else { a }
}

/// What a plane would take.
pub(super) fn plane_bytes(column: &[u8], rests: &mut Vec<u8>) -> usize {
    plan(column, rests).bytes
}

/// Appends a plane. `rests` is working space for as many bytes.
pub(super) fn append_plane(column: &[u8], rests: &mut Vec<u8>, side: &mut Vec<u8>) {
    let plan = plan(column, rests);
    if plan.width == AS_IT_IS {
        side.push(AS_IT_IS);
        side.extend_from_slice(column);
        return;
    }
    let flags = if plan.from_before { FROM_BEFORE } else { 0 } | if plan.exceptions > 0 { HAS_EXCEPTIONS } else { 0 };
    side.push(flags | plan.width);
    if plan.from_before {
        side.extend_from_slice(&[column[0], plan.base]);
        fill_rests(column, plan.base, rests);
    } else {
        side.push(plan.base);
        rests.clear();
        rests.extend(column.iter().map(|byte| byte.wrapping_sub(plan.base)));
    }
    if plan.exceptions > 0 {
        side.extend_from_slice(&(plan.exceptions as u16).to_be_bytes());
        let fits = 1_u8 << plan.width;
        for (at, rest) in rests.iter_mut().enumerate().filter(|(_, rest)| **rest >= fits) {
            side.extend_from_slice(&(at as u16).to_be_bytes());
            side.push(*rest);
            *rest = 0;
        }
    }
    append_bits(rests.iter().map(|&rest| rest.into()), plan.width.into(), side);
}

/// Reads a plane into `column`. Answers what is behind it.
pub(super) fn read_plane<'a>(side: &'a [u8], column: &mut [u8]) -> Option<&'a [u8]> {
    let (&first, side) = side.split_first()?;
    let width = first & 0x0F;
    if width == AS_IT_IS {
        let (bytes, side) = side.split_at_checked(column.len())?;
        column.copy_from_slice(bytes);
        return Some(side);
    }
    let from_before = first & FROM_BEFORE != 0;
    let (&base, mut side) = side.split_first()?;
    let mut step = 0;
    if from_before {
        (step, side) = side.split_first().map(|(step, side)| (*step, side))?;
    }
    let mut exceptions: &[u8] = &[];
    if first & HAS_EXCEPTIONS != 0 {
        let (count, rest) = side.split_first_chunk()?;
        (exceptions, side) = rest.split_at_checked(usize::from(u16::from_be_bytes(*count)) * EXCEPTION_BYTES)?;
    }
    if width > AS_IT_IS {
        return None;
    }
    if width == 0 && from_before {
        read_runs(exceptions, base, step, column)?;
        return Some(side);
    }
    if width == 0 {
        column.fill(0);
    } else {
        let mut bits = BitReader::new(&mut side, column.len(), width.into())?;
        column.iter_mut().for_each(|byte| *byte = bits.next() as u8);
    }
    for exception in exceptions.chunks_exact(EXCEPTION_BYTES) {
        let index = usize::from(u16::from_be_bytes([exception[0], exception[1]]));
        *column.get_mut(index)? = exception[2];
    }
    if from_before {
        // The first one has no step.
        let mut value = base.wrapping_sub(step);
        for byte in column {
            value = value.wrapping_add(step).wrapping_add(*byte);
            *byte = value;
        }
    } else {
        column.iter_mut().for_each(|byte| *byte = byte.wrapping_add(base));
    }
    Some(side)
}

/// Fills a column of nothing but runs, each up to the next exception.
fn read_runs(exceptions: &[u8], first: u8, step: u8, column: &mut [u8]) -> Option<()> {
    let mut value = first;
    let mut fill = |run: &mut [u8], rest: u8| {
        if step == 0 {
            run.fill(value);
        } else {
            for byte in run {
                *byte = value;
                value = value.wrapping_add(step);
            }
        }
        value = value.wrapping_add(rest);
    };
    let mut at = 0;
    for exception in exceptions.chunks_exact(EXCEPTION_BYTES) {
        let index = usize::from(u16::from_be_bytes([exception[0], exception[1]]));
        fill(column.get_mut(at..index)?, exception[2]);
        at = index;
    }
    fill(&mut column[at..], 0);
    Some(())
}

/// Appends a permutation.
pub(super) fn append_order(order: &[u16], side: &mut Vec<u8>) {
    let follows = |at: usize| order[at] == if at == 0 { 0 } else { order[at - 1].wrapping_add(1) };
    if (0..order.len()).all(follows) {
        side.push(0);
        return;
    }
    side.push(1);
    append_bits((0..order.len()).map(|at| u16::from(!follows(at))), 1, side);
    let jumps = (0..order.len()).filter(|&at| !follows(at)).map(|at| order[at]);
    append_bits(jumps, place_bits(order.len()), side);
}

/// Reads a permutation into `order`. It may be none: some places twice, and others never.
pub(super) fn read_order<'a>(side: &'a [u8], order: &mut [u16]) -> Option<&'a [u8]> {
    let (&first, mut side) = side.split_first()?;
    if first == 0 {
        order.iter_mut().zip(0..).for_each(|(place, at)| *place = at);
        return Some(side);
    }
    let mut jumps = 0;
    let mut bits = BitReader::new(&mut side, order.len(), 1)?;
    for place in order.iter_mut() {
        *place = bits.next();
        jumps += usize::from(*place);
    }
    let mut bits = BitReader::new(&mut side, jumps, place_bits(order.len()))?;
    let mut next = 0_u16;
    for place in order.iter_mut() {
        if *place != 0 {
            next = bits.next();
        }
        *place = next;
        next = next.wrapping_add(1);
    }
    Some(side)
}

/// Bits that a place among `count` needs.
fn place_bits(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// Appends numbers of `width` bits, at most 16.
fn append_bits(numbers: impl Iterator<Item = u16>, width: u32, side: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let (mut bits, mut count) = (0_u64, 0);
    for number in numbers {
        bits |= u64::from(number) << count;
        count += width;
        if count >= 32 {
            side.extend_from_slice(&(bits as u32).to_le_bytes());
            bits >>= 32;
            count -= 32;
        }
    }
    side.extend_from_slice(&bits.to_le_bytes()[..count.div_ceil(8) as usize]);
}

/// Numbers of the same width.
struct BitReader<'a> {
    bytes: &'a [u8],
    bits: u64,
    count: u32,
    width: u32,
}

impl<'a> BitReader<'a> {
    /// Reads so many numbers off the front of `side`.
    fn new(side: &mut &'a [u8], numbers: usize, width: u32) -> Option<BitReader<'a>> {
        let (bytes, rest) = side.split_at_checked((numbers * width as usize).div_ceil(8))?;
        *side = rest;
        Some(BitReader { bytes, bits: 0, count: 0, width })
    }

    #[inline]
    fn next(&mut self) -> u16 {
        if self.count < self.width {
            if let Some((four, rest)) = self.bytes.split_first_chunk() {
                self.bits |= u64::from(u32::from_le_bytes(*four)) << self.count;
                self.bytes = rest;
                self.count += 32;
            } else {
                for &byte in self.bytes {
                    self.bits |= u64::from(byte) << self.count;
                    self.count += 8;
                }
                self.bytes = &[];
            }
        }
        let number = self.bits & ((1 << self.width) - 1);
        self.bits >>= self.width;
        self.count = self.count.saturating_sub(self.width);
        number as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_plane(column: &[u8]) -> usize {
        let (mut side, mut rests) = (Vec::new(), Vec::new());
        append_plane(column, &mut rests, &mut side);
        assert_eq!(side.len(), plane_bytes(column, &mut rests));
        side.extend_from_slice(b"more");
        let mut back = vec![7; column.len()];
        assert_eq!(read_plane(&side, &mut back), Some(&b"more"[..]));
        assert_eq!(back, column);
        side.len() - 4
    }

    fn check_order(order: &[u16]) -> usize {
        let mut side = Vec::new();
        append_order(order, &mut side);
        side.extend_from_slice(b"more");
        let mut back = vec![7; order.len()];
        assert_eq!(read_order(&side, &mut back), Some(&b"more"[..]));
        assert_eq!(back, order);
        side.len() - 4
    }

    #[test]
    fn what_a_plane_takes() {
        let plane = |of: &dyn Fn(usize) -> u8| check_plane(&(0..400).map(of).collect::<Vec<u8>>());
        assert_eq!(plane(&|_| 9), 3);
        assert_eq!(plane(&|at| (at * 13) as u8), 3, "steps");
        assert_eq!(plane(&|at| (at / 100) as u8), 5 + 3 * 3, "three exceptions");
        assert_eq!(plane(&|at| 200 + (at * at % 7) as u8), 2 + 400 * 3 / 8, "three bits");
        let ones = |at: usize| at / 7 * 3 + [0, 1, 1, 2, 2, 2, 3][at % 7];
        assert_eq!(plane(&|at| (at * 5 + ones(at)) as u8), 3 + 400 / 8, "one bit beside the step");
        let noise = |at: usize| {
            let at = at as u32;
            (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ (at.wrapping_mul(at).wrapping_mul(40_503) >> 7) as u8
        };
        assert_eq!(plane(&noise), 401);
        assert_eq!(check_plane(&[5]), 2);
        assert_eq!(check_plane(&[]), 1);
    }

    #[test]
    fn what_an_order_takes() {
        assert_eq!(check_order(&(0..500).collect::<Vec<u16>>()), 1);
        assert_eq!(check_order(&[0, 1, 4, 2, 3]), 1 + 1 + 1);
        let swapped: Vec<u16> = (250..500).chain(0..250).collect();
        assert_eq!(check_order(&swapped), 1 + 63 + 3);
        let backwards: Vec<u16> = (0..500).rev().collect();
        assert_eq!(check_order(&backwards), 1 + 63 + 563);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_plane_comes_back(
            noise in prop::collection::vec(any::<u8>(), 0..300),
            mask in any::<u8>(),
            step in any::<u8>(),
            rare in 1_usize..50,
        ) {
            let mut sum = 0_u8;
            let column: Vec<u8> = noise.iter().enumerate().map(|(at, &byte)| {
                sum = sum.wrapping_add(step).wrapping_add(if at % rare == 0 { byte } else { byte & mask });
                sum
            }).collect();
            check_plane(&noise);
            check_plane(&column);
        }

        #[test]
        fn every_order_comes_back(order in Just((0_u16..300).collect::<Vec<_>>()).prop_shuffle()) {
            check_order(&order);
        }

        #[test]
        fn random_bytes_are_something_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..300), records in 0_usize..200) {
            let _ = read_plane(&bytes, &mut vec![0; records]);
            let _ = read_order(&bytes, &mut vec![0; records]);
        }
    }
}
