//! EXCEPT and INTERSECT: what is left of the rows so far, once the rows of the next query are known.
//!
//! ```text
//! A EXCEPT B          rows of A that B has not, each once      ALL: each of B's takes one of A's away
//! A INTERSECT B       rows of A that B has, too, each once     ALL: as often as the one that has it less often
//! ```
//!
//! Rows are equal as DISTINCT finds them equal; of equal rows the first is kept.

use format::collation::CollationId;
use format::value::Value;
use rustc_hash::{FxHashMap, FxHashSet};

use super::memory::{Account, row_bytes};
use crate::error::{Error, Result};
use crate::expression::{Datum, SessionState, group_key};
use crate::parser::ast::SetOperator;
use crate::planner::SetLink;

/// How many rows are looked at before the statement looks whether it was killed.
const INTERRUPT_EVERY: usize = 4096;

/// The rows of a chain of set operations so far.
pub struct RowSet<'a> {
    rows: Vec<(Box<[u8]>, Vec<Value>)>,
    account: Account<'a>,
    collations: &'a [CollationId],
    session: &'a dyn SessionState,
}

/// The rows of the next part: how often there is each.
#[derive(Default)]
pub struct Counts(FxHashMap<Box<[u8]>, u64>);

impl<'a> RowSet<'a> {
    pub fn new(account: Account<'a>, collations: &'a [CollationId], session: &'a dyn SessionState) -> RowSet<'a> {
        RowSet { rows: Vec::new(), account, collations, session }
    }

    fn key(&self, row: &[Value]) -> Box<[u8]> {
        let mut key = Vec::new();
        for (value, collation) in row.iter().zip(self.collations) {
            group_key(&Datum::from(value), *collation, &mut key);
        }
        key.into()
    }

    /// A row of the first part, or of one that is added by UNION.
    pub fn add(&mut self, row: &[Value]) -> Result<()> {
        let key = self.key(row);
        self.account.add(row_bytes(row) + key.len() as u64)?;
        self.rows.push((key, row.to_vec()));
        Ok(())
    }

    /// A row of a part that is compared.
    pub fn count(&mut self, row: &[Value], counts: &mut Counts) -> Result<()> {
        let key = self.key(row);
        if let Some(count) = counts.0.get_mut(&key) {
            *count += 1;
            return Ok(());
        }
        self.account.add(key.len() as u64 + 32)?;
        counts.0.insert(key, 1);
        Ok(())
    }

    /// Keeps what a link keeps, now that all rows of the part behind it are known.
    pub fn apply(&mut self, link: SetLink, mut counts: Counts) -> Result<()> {
        let mut seen: FxHashSet<Box<[u8]>> = FxHashSet::default();
        let (account, session) = (&mut self.account, self.session);
        let (mut looked_at, mut freed, mut is_interrupted) = (0_usize, 0, false);
        self.rows.retain(|(key, row)| {
            looked_at += 1;
            if looked_at % INTERRUPT_EVERY == 0 {
                is_interrupted |= session.is_interrupted();
            }
            let mut take = || match counts.0.get_mut(key) {
                Some(count) if *count > 0 => {
                    *count -= u64::from(link.all);
                    true
                }
                _ => false,
            };
            let is_kept = match link.operator {
                SetOperator::Union => true,
                SetOperator::Except => !take(),
                SetOperator::Intersect => take(),
            };
            let is_kept = is_kept && (link.all || seen.insert(key.clone()));
            if !is_kept {
                freed += row_bytes(row) + key.len() as u64;
            }
            is_kept
        });
        account.give_back(freed);
        if is_interrupted { Err(Error::interrupted()) } else { Ok(()) }
    }

    pub fn into_rows(self) -> impl Iterator<Item = Vec<Value>> {
        self.rows.into_iter().map(|(_, row)| row)
    }
}
