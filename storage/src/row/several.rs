//! Indexes of which a row has several entries: full-text and multi-valued ones.
//!
//! The entries of a row are not kept anywhere beside the index. They are computed from the values of its columns
//! whenever they are needed, by the functions of `format::fulltext` and `format::value::array`:
//!
//! ```text
//!                 version of the row          values                    entries
//! full-text       key 7, body "a b b"    ->   b 2, c 1 ...         ->   (b, 7, 2) (c, 7, 1) ...
//! multi-valued    key 7, array [3, 5, 3] ->   3, 5                 ->   (3, 7) (5, 7)
//!
//! insert          entries of the new version                        inserted
//! update          those that the new version does not have          delete-marked
//!                 those that the old version does not have          inserted
//! delete          entries of the version                            delete-marked
//! purge           entries of the old version that no version needs  removed
//! ```
//!
//! So they are versions like the entries of any other index: what changes is only how many there are. Everything about an
//! entry is its key, the frequency of a word included: a row whose text has a word once more has another entry, and a
//! reader of the older version finds the older one.
//!
//! Each column of a full-text index has entries of its own. So the change of one column needs no other.
//!
//! # The old text
//!
//! A text may be as long as a file, and an undo record fits a page. Where a value lies in overflow pages, the undo record
//! has only the reference. Purge and older versions read the pages: these are freed by the purge of the very undo record
//! that has the reference, behind the entries. The one exception is a row that was deleted and inserted anew under its
//! key: the pages belong to the undo record of the insert then, and may be freed, in parallel, before purge comes to the
//! deletion. Therefore that record's purge removes the entries of the old values as well, before it frees them.
//!
//! After a crash purge repeats itself, with references to pages that are free by now, or hold something else. That is
//! harmless, because purge removes an entry only if it is delete-marked and no version needs it: a wrong text leads to
//! no wrong removal. A freed page has another type, which ends the text (`values::Reads`).
//!
//! # Long texts
//!
//! A text with a million words is a million small mini-transactions, in the order of the index. To ask for each entry
//! whether a version needs it would mean to cut all versions a million times: `needed` does it once, and again only
//! if the row has changed meanwhile.
//!
//! Invariants:
//!
//! * The values of a version are in the order of the index, no two of them equal.
//! * The values depend on the version and the index's description alone.

use format::collation::CollationId;
use format::fulltext::Analyzer;

use crate::error::Result;
use crate::schema::Index;

/// In [`super::IndexTree`]: a field that no field of the clustered record holds whole.
pub(super) const NO_SOURCE: u16 = u16::MAX;

/// How the values of an index come from a row.
#[derive(Debug)]
pub enum Several {
    /// The words of these fields of the clustered record.
    Words { analyzer: Box<Analyzer>, columns: Box<[u16]> },
    /// The elements of the array in the field `source` of the clustered record, for the field `at` of an entry.
    Elements { at: usize, source: u16 },
}

impl Several {
    pub(super) fn of(
        index: &Index,
        collation: impl Fn(usize) -> CollationId,
        source: impl Fn(usize) -> Result<u16>,
    ) -> Result<Option<Several>> {
        if let Some(tokenizer) = &index.fulltext {
            let analyzer = Box::new(Analyzer::new(tokenizer, collation(index.parts[0].column)));
            let columns = index.parts.iter().map(|part| source(part.column)).collect::<Result<_>>()?;
            return Ok(Some(Several::Words { analyzer, columns }));
        }
        match index.parts.iter().position(|part| part.elements.is_some()) {
            Some(at) => Ok(Some(Several::Elements { at, source: source(index.parts[at].column)? })),
            None => Ok(None),
        }
    }

    /// The fields of the clustered record that values come from.
    pub fn fields(&self) -> &[u16] {
        match self {
            Several::Words { columns, .. } => columns,
            Several::Elements { source, .. } => std::slice::from_ref(source),
        }
    }

    /// The field of an entry that is a value.
    pub(super) fn at(&self) -> usize {
        match self {
            Several::Words { .. } => 0,
            Several::Elements { at, .. } => *at,
        }
    }
}
