//! Random numbers from a seed, bytes of several kinds, and damage.

/// Random numbers from a seed (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Less than `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True once in `of`.
    pub fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A byte as they occur in formats: often an edge.
    fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => self.pick(&[0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF]),
            _ => self.next() as u8,
        }
    }

    /// Up to `bytes_max` bytes: random, or few different ones, so that they compress.
    pub fn bytes(&mut self, bytes_max: usize) -> Vec<u8> {
        let count = self.below(bytes_max + 1);
        self.exactly(count)
    }

    pub fn exactly(&mut self, count: usize) -> Vec<u8> {
        let spread = self.pick(&[256, 256, 64, 8, 2]);
        (0..count).map(|_| if spread == 256 { self.byte() } else { b'a' + self.below(spread) as u8 }).collect()
    }

    /// Something like a number or a time in text, with what does not belong there.
    pub fn text(&mut self, bytes_max: usize) -> Vec<u8> {
        const PIECES: [&str; 18] = [
            "0", "1", "9", "12", "2024", "99999999", "-", "+", ".", ":", " ", "e", "T", "-02-30", "\"", "{", "[",
            "\u{e4}",
        ];
        let mut out = Vec::new();
        for _ in 0..self.below(bytes_max / 2 + 1) {
            match self.chance(12) {
                true => out.push(self.byte()),
                false => out.extend_from_slice(self.pick(&PIECES).as_bytes()),
            }
        }
        out.truncate(bytes_max);
        out
    }

    /// Changes some of the bytes, or their number: bits, edges, runs, pieces from elsewhere.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(6) {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len());
            let run = (1 + self.below(16)).min(bytes.len() - at);
            match self.below(7) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.byte(),
                2 => bytes[at..at + run].fill(self.pick(&[0, 0xFF])),
                3 => {
                    let from = self.below(bytes.len() - run + 1);
                    bytes.copy_within(from..from + run, at);
                }
                4 => bytes.truncate(at),
                // Near the beginning, where formats keep their lengths.
                5 => {
                    let near = self.below(bytes.len().min(64));
                    bytes[near] = self.byte();
                }
                _ => bytes[at] = bytes[at].wrapping_add(self.pick(&[1, 0xFF])),
            }
        }
    }

    /// The same, but the number of bytes stays.
    pub fn damage_in_place(&mut self, bytes: &mut [u8]) {
        let mut damaged = bytes.to_vec();
        self.damage(&mut damaged);
        damaged.resize(bytes.len(), 0);
        bytes.copy_from_slice(&damaged);
    }
}
