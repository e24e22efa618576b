//! Statistics as rows of a system table.
//!
//! ```text
//! table id*, kind*, name*                         bytes
//! of what has a file     1  ""                    rows now, changes since, and the estimates
//! of a table             2  a column              the histogram, as the upper layer wrote it
//! ```
//!
//! A table works without them: what cannot be read is left out, and taken anew.

use std::sync::atomic::Ordering;

use format::ids::{IndexId, TableId};
use rustc_hash::FxHashMap;

use super::codec::{Reader, Writer};
use super::rows::{SystemRows, bytes, number, text};
use super::system::SystemTable;
use crate::error::Result;
use crate::row;
use crate::schema::{Distinct, Estimates, Histogram, Histograms, IndexEstimates, Table};
use crate::transaction::Transaction;

const ESTIMATES: u32 = 1;
const HISTOGRAM: u32 = 2;

/// The statistics that were read, by table.
#[derive(Default)]
pub struct Kept {
    estimates: FxHashMap<TableId, (u64, u64, Estimates)>,
    histograms: FxHashMap<TableId, Histograms>,
}

impl Kept {
    /// Gives a table and its partitions theirs.
    pub fn restore(&mut self, table: &Table, after_crash: bool) {
        for file in table.files() {
            let Some((rows, modified, estimates)) = self.estimates.remove(&file.id) else { continue };
            file.state.rows.store(rows, Ordering::Relaxed);
            file.state.modified_rows.store(modified, Ordering::Relaxed);
            file.state.statistics.restore(estimates, after_crash);
        }
        if let Some(histograms) = self.histograms.remove(&table.id) {
            table.state.statistics.set_histograms(histograms.into());
        }
    }
}

fn write_estimates(rows: u64, modified: u64, estimates: &Estimates) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u64(rows);
    writer.u64(modified);
    writer.u64(estimates.rows);
    writer.u64(estimates.taken_us);
    writer.u32(estimates.indexes.len() as u32);
    for index in &estimates.indexes {
        writer.u64(index.index.0);
        writer.u64(index.leaf_pages);
        writer.u64(index.pages);
        writer.u32(index.distinct.len() as u32);
        for distinct in &index.distinct {
            writer.u64(distinct.values);
            writer.u64(distinct.sampled_pages);
        }
    }
    writer.bytes
}

fn read_estimates(bytes: &[u8]) -> Result<(u64, u64, Estimates)> {
    let mut reader = Reader::new(bytes)?;
    let (rows, modified) = (reader.u64()?, reader.u64()?);
    let mut estimates = Estimates { rows: reader.u64()?, taken_us: reader.u64()?, indexes: Vec::new() };
    for _ in 0..reader.u32()? {
        let mut index = IndexEstimates {
            index: IndexId(reader.u64()?),
            leaf_pages: reader.u64()?,
            pages: reader.u64()?,
            distinct: Vec::new(),
        };
        for _ in 0..reader.u32()? {
            index.distinct.push(Distinct { values: reader.u64()?, sampled_pages: reader.u64()? });
        }
        estimates.indexes.push(index);
    }
    Ok((rows, modified, estimates))
}

impl SystemRows {
    fn insert_statistics(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        (id, kind, name): (TableId, u32, &str),
        bytes: &[u8],
    ) -> Result<()> {
        let key: [&[u8]; 4] = [&id.0.to_be_bytes(), &kind.to_be_bytes(), name.as_bytes(), bytes];
        self.insert(context, trx, SystemTable::Statistics, &key)
    }

    /// Writes the estimates of what has a file.
    pub fn insert_estimates(&self, context: &row::Context<'_>, trx: &mut Transaction, file: &Table) -> Result<()> {
        let state = &file.state;
        let Some(estimates) = state.statistics.estimates() else { return Ok(()) };
        let rows = (state.rows.load(Ordering::Relaxed) as i64).max(0) as u64;
        let bytes = write_estimates(rows, state.modified_rows.load(Ordering::Relaxed), &estimates);
        self.insert_statistics(context, trx, (file.id, ESTIMATES, ""), &bytes)
    }

    pub fn delete_estimates(&self, context: &row::Context<'_>, trx: &mut Transaction, file: &Table) -> Result<()> {
        let key: [&[u8]; 2] = [&file.id.0.to_be_bytes(), &ESTIMATES.to_be_bytes()];
        self.delete(context, trx, SystemTable::Statistics, &key).map(drop)
    }

    pub fn insert_histograms(
        &self,
        context: &row::Context<'_>,
        trx: &mut Transaction,
        table: &Table,
        histograms: &[std::sync::Arc<Histogram>],
    ) -> Result<()> {
        histograms.iter().try_for_each(|histogram| {
            self.insert_statistics(context, trx, (table.id, HISTOGRAM, &histogram.column), &histogram.bytes)
        })
    }

    pub fn delete_histograms(&self, context: &row::Context<'_>, trx: &mut Transaction, table: &Table) -> Result<()> {
        let key: [&[u8]; 2] = [&table.id.0.to_be_bytes(), &HISTOGRAM.to_be_bytes()];
        self.delete(context, trx, SystemTable::Statistics, &key).map(drop)
    }

    /// All that is there.
    pub fn statistics(&self, context: &row::Context<'_>) -> Result<Kept> {
        let mut kept = Kept::default();
        self.read(context, SystemTable::Statistics, &mut |row| {
            let (id, kind, bytes) = (TableId(number(row.get(0))?), number(row.get(1))?, bytes(row.get(3))?);
            match kind as u32 {
                ESTIMATES => match read_estimates(bytes) {
                    Ok(estimates) => drop(kept.estimates.insert(id, estimates)),
                    Err(error) => tracing::warn!("the statistics of table {id} are left out: {error}"),
                },
                HISTOGRAM => {
                    kept.histograms.entry(id).or_default().push(Histogram::new(&text(row.get(2))?, bytes));
                }
                kind => tracing::warn!("statistics of kind {kind} of table {id} are left out"),
            }
            Ok(())
        })?;
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_read_as_they_were_written() {
        let distinct = |values, sampled_pages| Distinct { values, sampled_pages };
        let index = IndexEstimates {
            index: IndexId(7),
            leaf_pages: 3,
            pages: 9,
            distinct: vec![distinct(1, 20), distinct(u64::MAX, 3)],
        };
        let estimates = Estimates { rows: 1000, taken_us: 5, indexes: vec![index] };
        let bytes = write_estimates(1100, 100, &estimates);
        assert_eq!(read_estimates(&bytes).unwrap(), (1100, 100, estimates));
        (0..bytes.len()).for_each(|end| assert!(read_estimates(&bytes[..end]).is_err(), "{end} bytes"));
    }
}
