//! Contractions: sequences of characters that weigh together, as `ch` does in Czech.
//!
//! The longest one that begins at a character counts, and what follows it is looked at anew.

use super::super::wide::Encoding;

/// Bits that say whether a contraction begins with a code point of the same remainder.
const HEADS: usize = 1024;

/// The contractions of a table.
pub(super) struct Contractions {
    heads: [u64; HEADS / 64],
    /// By the first character, the longer ones first.
    list: Vec<Contraction>,
    longest: usize,
}

pub(super) struct Contraction {
    pub characters: Vec<u32>,
    /// What each of the characters is to LIKE.
    pub alike: Vec<u32>,
    /// What they weigh together.
    pub entry: u32,
}

impl Contractions {
    pub fn of(mut list: Vec<Contraction>) -> Option<Contractions> {
        let mut heads = [0; HEADS / 64];
        for contraction in &list {
            let head = contraction.characters[0] as usize % HEADS;
            heads[head / 64] |= 1 << (head % 64);
        }
        // Of two that are the same, the later one counts.
        list.reverse();
        list.sort_by_key(|one| (one.characters[0], std::cmp::Reverse(one.characters.len())));
        let longest = list.iter().map(|one| one.characters.len()).max()?;
        Some(Contractions { heads, list, longest })
    }

    #[inline]
    fn may_begin(&self, code: u32) -> bool {
        let head = code as usize % HEADS;
        self.heads[head / 64] & 1 << (head % 64) != 0
    }

    /// The last place at or before `at`, where a character begins, that lies in no contraction, whatever follows `at`.
    #[inline]
    pub fn boundary(&self, encoding: impl Encoding, text: &[u8], at: usize) -> usize {
        let (mut boundary, mut from) = (at, at);
        let mut characters = 1;
        while characters < self.longest && from > 0 {
            from = encoding.start(text, from - 1);
            characters += 1;
            // Bytes that are no character are passed over, or begin no contraction.
            if encoding.code_point(&text[from..]).is_some_and(|(code, _)| self.may_begin(code)) {
                (boundary, characters) = (from, 1);
            }
        }
        boundary
    }

    /// The longest contraction that begins with a character and goes on in `rest`: its entry, and its bytes in `rest`.
    #[inline]
    pub fn find(&self, encoding: impl Encoding, first: u32, rest: &[u8]) -> Option<(u32, usize)> {
        if !self.may_begin(first) {
            return None;
        }
        let from = self.list.partition_point(|one| one.characters[0] < first);
        self.list[from..].iter().take_while(|one| one.characters[0] == first).find_map(|one| {
            let mut bytes = 0;
            for wanted in &one.characters[1..] {
                let (found, length) = encoding.code_point(&rest[bytes..])?;
                if found != *wanted {
                    return None;
                }
                bytes += length;
            }
            Some((one.entry, bytes))
        })
    }

    /// The number of characters from the first one on that belong to no contraction in any text that LIKE takes for one
    /// that begins so. `alike` is what the characters are to LIKE.
    pub fn plain_prefix(&self, alike: &[u32]) -> usize {
        let may_begin = |at: usize| {
            self.list
                .iter()
                .any(|one| one.alike[0] == alike[at] && alike.get(at + 1).is_none_or(|second| *second == one.alike[1]))
        };
        (0..alike.len()).find(|at| may_begin(*at)).unwrap_or(alike.len())
    }
}
