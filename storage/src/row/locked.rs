//! The keys of locked records, for the views of locks.
//!
//! A lock has a hash of its record's key and the page on which the record was when it was locked. The key itself is
//! read on demand: from that page, or from one of the next to its right if the page was split since.

use format::ids::{PageId, PageNo};
use format::page::header;
use format::page::index::{self, SUPREMUM};

use super::entry::{Key, damaged, hash_key};
use super::{Context, Table};
use crate::error::Result;

/// Leaves that are searched for one key.
const LEAVES_MAX: usize = 3;

/// The fields of a key, as they are stored.
pub type StoredKey = Vec<Option<Vec<u8>>>;

/// The key with this hash in an index, if it is on the page or near it. A unique value that is locked without its row
/// has the hash of its first fields only.
pub fn locked_key(
    ctx: &Context<'_>,
    table: &Table,
    index: usize,
    page: PageNo,
    key_hash: u64,
) -> Result<Option<StoredKey>> {
    let tree = table.tree(index);
    let unique_parts = table.indexes[index].parts.len();
    let mut at = page;
    for _ in 0..LEAVES_MAX {
        if at.is_null() || at == PageNo(0) {
            break;
        }
        let page = ctx.store.read(PageId::new(tree.space, at))?;
        // The page may belong to another index by now.
        if !header::page_type(&page).is_index() || index::index_id(&page) != tree.id || index::level(&page) != 0 {
            break;
        }
        let mut origin = index::first(&page).map_err(damaged)?;
        for _ in 0..index::record_count(&page) {
            if origin == SUPREMUM {
                break;
            }
            let key = Key::of_record(&page, &tree.leaf, usize::from(origin), tree.key_fields())?;
            let parts = &key[..unique_parts.min(key.len())];
            if hash_key(&tree.leaf, &key) == key_hash || index > 0 && hash_key(&tree.leaf, parts) == key_hash {
                return Ok(Some(key.iter().map(|part| part.map(<[u8]>::to_vec)).collect()));
            }
            origin = index::next(&page, origin).map_err(damaged)?;
        }
        at = header::next(&page);
    }
    Ok(None)
}
