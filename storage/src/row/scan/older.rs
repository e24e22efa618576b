//! Older versions that a scan has built before.
//!
//! A row that was changed a thousand times since the reader's view was opened has up to a thousand entries in a
//! secondary index, and for each of them the reader has to find the version that it sees: a thousand times a thousand
//! undo records. So the scan remembers versions that took many steps, by the newest version's writer, roll pointer and
//! key hash. The view does not change during a scan, so neither does the answer.

use format::ids::TrxId;
use format::record::RecordBuffer;
use rustc_hash::FxHashMap;

use super::super::entry::{Key, damaged, hash_key};
use super::super::version::{Visible, visible_and_steps};
use super::super::{Context, Table};
use crate::error::Result;
use crate::transaction::Transaction;

/// A version is remembered if it took at least this many steps.
const FAR: usize = if cfg!(test) { 2 } else { 8 };
/// The most bytes that are remembered.
const BYTES_MAX: usize = 4 << 20;

type Name = (TrxId, u64, u64);

/// See the module header.
#[derive(Default)]
pub(super) struct Older {
    /// None: the reader sees no row.
    known: FxHashMap<Name, Option<RecordBuffer>>,
    bytes: usize,
}

impl Older {
    /// Which version of the clustered record at `origin` the transaction sees, as `version::visible` tells it.
    pub fn visible(
        &mut self,
        ctx: &Context<'_>,
        trx: &Transaction,
        table: &Table,
        (page, origin): (&[u8], usize),
        older: &mut RecordBuffer,
    ) -> Result<Visible> {
        let layout = &table.rows().leaf;
        let writer = layout.trx_id(page, origin).map_err(damaged)?;
        if trx.sees(writer) {
            return Ok(Visible::Current);
        }
        let name = || -> Result<Name> {
            let mut pointer = [0; 8];
            pointer[1..].copy_from_slice(&layout.roll_ptr(page, origin).map_err(damaged)?.to_bytes());
            let key = Key::of_record(page, layout, origin, table.key_fields())?;
            Ok((writer, u64::from_be_bytes(pointer), hash_key(layout, &key)))
        };
        if !self.known.is_empty()
            && let Some(found) = self.known.get(&name()?)
        {
            return Ok(match found {
                None => Visible::None,
                Some(version) => {
                    older.clone_from(version);
                    Visible::Older
                }
            });
        }
        let (visible, steps) = visible_and_steps(ctx, trx, table, page, origin, older)?;
        if steps >= FAR {
            let version = (visible == Visible::Older).then(|| older.clone());
            self.bytes +=
                size_of::<Name>() + size_of::<RecordBuffer>() + version.as_ref().map_or(0, RecordBuffer::size);
            if self.bytes > BYTES_MAX {
                self.known.clear();
                self.bytes = 0;
            }
            self.known.insert(name()?, version);
        }
        Ok(visible)
    }
}
