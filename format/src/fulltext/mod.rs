//! Full-text: which words a text has, and how an entry of a full-text index says how often.
//!
//! A full-text index has an entry for each word of each column of a row. The entries are never written anywhere as a
//! list: whoever inserts, updates, purges or checks a row computes them from its texts. So what is here must stay a pure
//! function of a text and of what the dictionary keeps about the index ([`Tokenizer`]), for as long as the index exists;
//! the table of characters that words are made of is part of the format, like the weights of a collation.
//!
//! ```text
//! text          The Ötzi, the ötzi and 3 ice-men
//! tokens        The Ötzi the ötzi and 3 ice men         runs of letters, digits, marks and _, see `characters`
//! folded        the ötzi the ötzi and 3 ice men         lower case, unless the collation compares bytes
//! words         and 1, ice 1, men 1, ötzi 2             of 3 to 84 characters, no stop words; in the collation's order
//! ```
//!
//! Words that are equal by the collation are one word, under the name that is first in bytes. The ngram parser takes
//! every run of n characters between spaces for a token, and leaves out those that contain a stop word.
//!
//! An entry ends with the word's *frequency*, which also tells the column: one number, without leading zero bytes, so
//! that the word that occurs once in the first column, which most do, needs no byte for it.
//!
//! ```text
//! number = (occurrences - 1) * columns of the index + ordinal of the column among them
//! ```
//!
//! Invariants:
//!
//! * Any bytes have words: ill-formed ones separate them, as spaces do.
//! * The words of a text come in the order of the collation, no two of them equal.
//!
//! Not here: character sets in which an ASCII character is no byte (ucs2); DDL refuses them. What a search means is known to `sql`; this module only cuts texts.
//!
//! Sources: the manual's chapters on InnoDB's full-text indexes, the ngram parser and stop words; which characters
//! words are made of was observed on a running server.

mod characters;
mod frequency;
mod tokenizer;
mod tokens;

pub use frequency::{FREQUENCY_BYTES_MAX, Frequency};
pub use tokenizer::{Analyzer, DEFAULT_STOPWORDS, Stopwords, Tokenizer};
pub use tokens::{Parser, Token, Tokens};

/// The most characters that a word may have.
pub const WORD_CHARS_MAX: u8 = 84;
