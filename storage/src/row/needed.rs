//! Whether an entry of a long text is still needed, asked for many entries of one row; see `several`.

use format::ids::{RollPtr, TrxId};
use format::page::index::SearchMode;
use format::record::{Offsets, RecordBuffer, is_deleted};

use super::entry::{Key, damaged, version_of_record};
use super::several::Several;
use super::values::{Reads, Values, all, value_of_entry, values_of};
use super::version::{has_entry, previous};
use super::{Context, Table};
use crate::error::Result;

/// Which words the versions of one row need, found out once for many entries.
#[derive(Debug, Default)]
pub(super) struct Needed {
    known: Option<Known>,
}

#[derive(Debug)]
struct Known {
    /// The clustered record that it was found out from.
    stamp: (TrxId, RollPtr),
    with_current: bool,
    values: Values,
}

impl Needed {
    /// As [`has_entry`]. The caller holds the purge view, from the first call for these entries on.
    pub fn has_entry(
        &mut self,
        ctx: &Context<'_>,
        table: &Table,
        index: usize,
        entry: &RecordBuffer,
        with_current: bool,
    ) -> Result<bool> {
        let Some(Several::Words { .. }) = &table.index_tree(index).several else {
            return has_entry(ctx, table, index, entry, with_current);
        };
        let rows = table.rows();
        let layout = &rows.leaf;
        let key = Key::of_entry(table, index, entry.bytes(), entry.origin())?;
        let (page, position) = rows.find(ctx.store, &key, SearchMode::LessOrEqual)?;
        if !position.matched {
            return Ok(false);
        }
        let origin = usize::from(position.origin);
        let stamp = (layout.trx_id(&page, origin).map_err(damaged)?, layout.roll_ptr(&page, origin).map_err(damaged)?);
        let field = &table.tree(index).leaf.fields()[0];
        let is_known = |known: &Known| known.stamp == stamp && known.with_current == with_current;
        if !self.known.as_ref().is_some_and(is_known) {
            let mut values = Values::default();
            let mut offsets = Offsets::new();
            let mut add = |bytes: &[u8], origin: usize| -> Result<()> {
                if is_deleted(bytes, origin) {
                    return Ok(());
                }
                layout.parse_into(bytes, origin, &mut offsets).map_err(damaged)?;
                let mut version = Vec::new();
                version_of_record(layout, bytes, &offsets, &mut version);
                let own = values_of(ctx.store, table, index, &version, &all, Reads::Whole)?;
                values.absorb(&own, field);
                Ok(())
            };
            if with_current {
                add(&page, origin)?;
            }
            let view = ctx.purge.view();
            let mut writer = stamp.0;
            let (mut older, mut newer) = (RecordBuffer::new(), RecordBuffer::new());
            newer.copy(&page, layout, origin).map_err(damaged)?;
            // The page stays latched: the versions behind it are those of this very record.
            while !view.sees(writer) && previous(ctx, table, newer.bytes(), newer.origin(), &mut older)? {
                add(older.bytes(), older.origin())?;
                writer = layout.trx_id(older.bytes(), older.origin()).map_err(damaged)?;
                std::mem::swap(&mut newer, &mut older);
            }
            self.known = Some(Known { stamp, with_current, values });
        }
        let (value, frequency) = value_of_entry(table, index, entry)?;
        Ok(self.known.as_ref().is_some_and(|known| known.values.has(field, value, frequency)))
    }
}
