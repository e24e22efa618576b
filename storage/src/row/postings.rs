//! The entries of a full-text index for one word, or for all words that begin with one: what a search counts.
//!
//! A search wants the rows that have a word and how often, and not the rows themselves. Where the page tells that its
//! entries are what the reader sees (its newest writer is visible), an entry that is not delete-marked is the answer.
//! Where it does not, the version of the row that the reader sees decides, and the entry is given as *uncertain*: the
//! caller reads each such row once, and counts the words of its text, however many entries brought it there.

use format::fulltext::Frequency;
use format::page::index::{self, SUPREMUM, SearchMode};
use format::record::{Compare, is_deleted};

use super::entry::{Key, damaged};
use super::scan::LEAVES_LOOKED_AT;
use super::several::Several;
use super::{Context, Table};
use crate::error::{Error, Result};
use crate::transaction::Transaction;

/// An entry.
pub struct Posting<'a> {
    pub word: &'a [u8],
    /// The clustered key of its row.
    pub key: &'a [Option<&'a [u8]>],
    pub frequency: Frequency,
    /// Whether it is an entry of the row as the reader sees it.
    pub certain: bool,
}

/// Which entries are wanted, and how they are read.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Folded, see [`format::fulltext::Analyzer::fold`].
    pub word: &'a [u8],
    /// Also longer words that begin with it.
    pub prefix: bool,
    /// The entries as they are now, those of open transactions included; all are certain.
    pub newest: bool,
}

/// Calls the closure with the entries of a full-text index, in the order of words and rows. It runs under a latch.
pub fn postings(
    ctx: &Context<'_>,
    trx: &mut Transaction,
    table: &Table,
    index: usize,
    wanted: Wanted<'_>,
    each: &mut dyn FnMut(&Posting<'_>) -> Result<()>,
) -> Result<()> {
    let Some(Several::Words { analyzer, .. }) = &table.index_tree(index).several else {
        return Err(Error::Unsupported("words of an index that has none".into()));
    };
    let newest = wanted.newest || trx.reads_uncommitted();
    if !newest {
        let low_limit = trx.open_view(ctx.registry).low_limit();
        if table.state.built_indexes.is_newer(table.indexes[index].id, low_limit) {
            return Err(Error::TableChanged);
        }
    }
    let tree = table.tree(index);
    let fields = tree.leaf.fields().len();
    let (mut page, position) = tree.find(ctx.store, &[Some(wanted.word)], SearchMode::GreaterOrEqual)?;
    let mut origin = position.origin;
    let mut leaves = 0_u32;
    loop {
        if origin == SUPREMUM {
            if trx.interrupt.is_set() {
                return Err(Error::Interrupted);
            }
            leaves += 1;
            if leaves.is_multiple_of(LEAVES_LOOKED_AT) && leaves > ctx.store.space_pages(table.space)?.0 {
                return Err(Error::corrupt_page(page.page_id(), "a leaf that comes back in its own tree"));
            }
            let Some(next) = tree.next_leaf(ctx.store, page)? else { return Ok(()) };
            origin = index::first(&next).map_err(damaged)?;
            page = next;
            continue;
        }
        let at = usize::from(origin);
        origin = index::next(&page, origin).map_err(damaged)?;
        let entry = Key::of_record(&page, &tree.leaf, at, fields)?;
        let (word, stored) = (entry[0].unwrap_or_default(), entry[fields - 1].unwrap_or_default());
        let is_past = match wanted.prefix {
            true => analyzer.collation().is_behind(word, wanted.word),
            false => !analyzer.collation().equal(word, wanted.word),
        };
        if is_past {
            return Ok(());
        }
        if wanted.prefix && !analyzer.begins_with(word, wanted.word) {
            continue;
        }
        let certain = newest || trx.view.as_ref().is_some_and(|view| index::max_trx_id(&page) < view.up_limit());
        if certain && is_deleted(&page, at) {
            continue;
        }
        let frequency = Frequency::read(stored).map_err(damaged)?;
        let key = Key::of_entry(table, index, &page, at)?;
        each(&Posting { word, key: &key, frequency, certain })?;
    }
}

/// Appends bytes that are the same for clustered keys that compare equal, and for no others.
pub fn identity_of_key(table: &Table, key: &[Option<&[u8]>], out: &mut Vec<u8>) {
    for (field, part) in table.rows().leaf.fields().iter().zip(key) {
        let from = out.len();
        out.extend_from_slice(&[0; 4]);
        let bytes = part.unwrap_or_default();
        match field.compare {
            Compare::Bytes => out.extend_from_slice(bytes),
            Compare::Collation(_) | Compare::Char(_) => {
                if let Some((collation, text)) = field.compare.text(bytes) {
                    collation.sort_key(text, out);
                }
            }
            Compare::Float | Compare::Double => {
                // -0 equals 0.
                let is_zero = bytes
                    .split_last()
                    .is_none_or(|(last, rest)| last & 0x7F == 0 && rest.iter().all(|byte| *byte == 0));
                out.extend_from_slice(if is_zero { &[] } else { bytes });
            }
        }
        let length = (out.len() - from - 4) as u32;
        out[from..from + 4].copy_from_slice(&length.to_be_bytes());
    }
}
