//! What is known in memory of the pages of a file: how each is stored, in how many bytes, on how many blocks.
//!
//! ```text
//!  31  30  29    25 24      17 16              0
//!  +---+---+-------+----------+----------------+
//!  | i | e | form  | blocks+1 | exact bytes    |     0: nothing is known
//!  +---+---+-------+----------+----------------+
//!    i  no codec shortened it by a block when it was last written
//!    e  encrypted
//!    form   1 unwritten, 2 plain, 2 + n encoded by algorithm n
//!    blocks that it occupies; 0 in the field: not known
//! ```
//!
//! Of a file that was just created, all pages are known. After an open nothing is known; pages become known as they are
//! read, written, or surveyed.
//!
//! Invariants:
//!
//! * Blocks, if known, are never fewer than the page occupies on the device.
//! * A page has one writer at a time, which needs no lock. A reader's finding gives way to the writer's.

use std::sync::atomic::{AtomicU32, Ordering};

use format::page::header;
use format::transform::{self, encryption};

use crate::sync::{Rank, RwLock};

/// How a page is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All zero: never written.
    Unwritten,
    Plain,
    /// By the algorithm of this number in the envelope.
    Encoded(u8),
}

/// What is known of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageState {
    pub form: Form,
    /// Stored bytes before rounding to blocks.
    pub exact_bytes: usize,
    pub encrypted: bool,
    /// No codec shortened it by a block when it was last written.
    pub incompressible: bool,
}

impl PageState {
    pub const UNWRITTEN: PageState =
        PageState { form: Form::Unwritten, exact_bytes: 0, encrypted: false, incompressible: false };

    pub fn plain(page_bytes: usize) -> PageState {
        PageState { form: Form::Plain, exact_bytes: page_bytes, ..PageState::UNWRITTEN }
    }

    pub fn encoded(algorithm: u8, exact_bytes: usize) -> PageState {
        PageState { form: Form::Encoded(algorithm), exact_bytes, ..PageState::UNWRITTEN }
    }
}

/// A page's word, see the module header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known(u32);

const EXACT_BITS: u32 = 17;
const BLOCKS_BITS: u32 = 8;
const FORM_BITS: u32 = 5;
const BLOCKS_AT: u32 = EXACT_BITS;
const FORM_AT: u32 = BLOCKS_AT + BLOCKS_BITS;
const ENCRYPTED: u32 = 1 << (FORM_AT + FORM_BITS);
const INCOMPRESSIBLE: u32 = ENCRYPTED << 1;

const UNWRITTEN: u32 = 1;
const PLAIN: u32 = 2;

const _: () = assert!(FORM_AT + FORM_BITS + 2 == 32);

/// Pages with more blocks than this are neither counted in blocks nor punched.
pub const BLOCKS_MAX: usize = (1 << BLOCKS_BITS) - 2;

impl Known {
    const NOTHING: Known = Known(0);

    pub fn new(state: PageState, blocks: Option<usize>) -> Known {
        let form = match state.form {
            Form::Unwritten => UNWRITTEN,
            Form::Plain => PLAIN,
            Form::Encoded(algorithm) => (PLAIN + u32::from(algorithm)).min((1 << FORM_BITS) - 1),
        };
        Known(
            state.exact_bytes as u32
                | blocks.map_or(0, |blocks| blocks.min(BLOCKS_MAX) as u32 + 1) << BLOCKS_AT
                | form << FORM_AT
                | if state.encrypted { ENCRYPTED } else { 0 }
                | if state.incompressible { INCOMPRESSIBLE } else { 0 },
        )
    }

    pub fn state(self) -> Option<PageState> {
        let form = match self.0 >> FORM_AT & ((1 << FORM_BITS) - 1) {
            0 => return None,
            UNWRITTEN => Form::Unwritten,
            PLAIN => Form::Plain,
            encoded => Form::Encoded((encoded - PLAIN) as u8),
        };
        Some(PageState {
            form,
            exact_bytes: (self.0 & ((1 << EXACT_BITS) - 1)) as usize,
            encrypted: self.0 & ENCRYPTED != 0,
            incompressible: self.0 & INCOMPRESSIBLE != 0,
        })
    }

    pub fn blocks(self) -> Option<usize> {
        (self.0 >> BLOCKS_AT & ((1 << BLOCKS_BITS) - 1)).checked_sub(1).map(|blocks| blocks as usize)
    }
}

/// The words of all pages of a file.
pub struct Pages {
    words: RwLock<Vec<AtomicU32>>,
    /// Pages that the file had when it was opened.
    found: u32,
}

impl Pages {
    /// `found` pages of unknown form. Memory is allocated when one becomes known.
    pub fn new(found: u32) -> Pages {
        Pages { words: RwLock::new(Rank::Leaf, Vec::new()), found }
    }

    pub fn get(&self, page: u32) -> Known {
        match self.words.read().get(page as usize) {
            Some(word) => Known(word.load(Ordering::Relaxed)),
            None => self.initial(page),
        }
    }

    fn initial(&self, page: u32) -> Known {
        if page < self.found { Known::NOTHING } else { Known::new(PageState::UNWRITTEN, Some(0)) }
    }

    /// For the page's writer.
    pub fn set(&self, page: u32, known: Known) {
        let index = page as usize;
        if let Some(word) = self.words.read().get(index) {
            word.store(known.0, Ordering::Relaxed);
            return;
        }
        self.with_room(index, |word| word.store(known.0, Ordering::Relaxed));
    }

    /// For a reader of the page: records what it has found, unless the page has been written in the meantime.
    pub fn learn(&self, page: u32, before: Known, known: Known) {
        let enter = |word: &AtomicU32| {
            let _ = word.compare_exchange(before.0, known.0, Ordering::Relaxed, Ordering::Relaxed);
        };
        if let Some(word) = self.words.read().get(page as usize) {
            return enter(word);
        }
        self.with_room(page as usize, enter);
    }

    fn with_room(&self, index: usize, change: impl FnOnce(&AtomicU32)) {
        let mut words = self.words.write();
        for page in words.len()..=index {
            words.push(AtomicU32::new(self.initial(page as u32).0));
        }
        change(&words[index]);
    }

    /// After a failed write: the page's form on disk is unknown.
    pub fn forget(&self, page: u32) {
        self.set(page, Known::NOTHING);
    }

    /// Visits the pages from `first` to `end` (exclusive), until the visitor stops.
    pub fn each(&self, first: u32, end: u32, mut visit: impl FnMut(u32, Known) -> bool) {
        let words = self.words.read();
        for page in first..end {
            let known =
                words.get(page as usize).map_or_else(|| self.initial(page), |word| Known(word.load(Ordering::Relaxed)));
            if !visit(page, known) {
                break;
            }
        }
    }
}

/// How a page is stored, by its first bytes; `None` if they make no sense.
pub fn stored_state(start: &[u8], page_bytes: usize) -> Option<PageState> {
    let encrypted = encryption::is_encrypted(start);
    let exact = transform::stored_bytes_of(start, page_bytes);
    if let Some(algorithm) = transform::stored_algorithm(start) {
        return (exact <= page_bytes).then_some(PageState { encrypted, ..PageState::encoded(algorithm, exact) });
    }
    let zero = header::is_zero(start);
    Some(if zero {
        PageState::UNWRITTEN
    } else {
        PageState { encrypted, form: Form::Plain, ..PageState::plain(page_bytes) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_what_is_put_in() {
        let mut states = vec![PageState::UNWRITTEN, PageState::plain(65536)];
        states.extend((1..=28).map(|algorithm| PageState::encoded(algorithm, 12345)));
        for state in states {
            for (encrypted, incompressible) in [(false, false), (true, false), (false, true), (true, true)] {
                let state = PageState { encrypted, incompressible, ..state };
                for blocks in [None, Some(0), Some(1), Some(128), Some(BLOCKS_MAX)] {
                    let known = Known::new(state, blocks);
                    assert_eq!((known.state(), known.blocks()), (Some(state), blocks));
                }
            }
        }
        assert_eq!((Known::NOTHING.state(), Known::NOTHING.blocks()), (None, None));
    }

    #[test]
    fn who_reads_gives_way_to_who_writes() {
        let pages = Pages::new(2);
        let before = pages.get(1);
        assert_eq!(before, Known::NOTHING);
        let written = Known::new(PageState::encoded(3, 100), Some(1));
        pages.set(1, written);
        pages.learn(1, before, Known::new(PageState::plain(16384), None));
        assert_eq!(pages.get(1), written);
        // Behind the end nothing was ever written; what is between becomes known with a page behind it.
        assert_eq!(pages.get(9).state(), Some(PageState::UNWRITTEN));
        pages.set(5, written);
        assert_eq!(pages.get(4).blocks(), Some(0));
        let mut seen = Vec::new();
        pages.each(0, 9, |page, known| {
            seen.push((page, known.state().is_some()));
            page < 3
        });
        assert_eq!(seen, [(0, false), (1, true), (2, true), (3, true)]);
    }
}
