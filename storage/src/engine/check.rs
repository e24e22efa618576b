//! Checking a whole instance at rest: trees, secondary against clustered indexes, and the owner of every page.
//!
//! ```text
//! each tablespace    descriptors: which pages are in use        must be exactly
//!                    inodes: which segments there are           the segments that the index roots name
//!                    fragment pages and extents of segments     the pages in use
//! each table         trees: order, links, levels                (btree::check)
//!                    every row has its entry in every index, every entry its row       (row::check)
//! ```
//!
//! Every page in use is read, so checksums are verified on the way. Findings are sentences; an error is one of reading.

use std::sync::Arc;

use format::ids::{PageId, SpaceId};
use rustc_hash::FxHashMap;

use super::{Engine, Inner};
use crate::dictionary::Table;
use crate::error::{Error, Result};
use crate::lock::Interrupt;
use crate::row;
use crate::segment::{self, Segment};

/// What a check found. No errors = all is well.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    pub spaces: Vec<SpaceCheck>,
    pub errors: Vec<String>,
}

/// What was checked in one tablespace.
#[derive(Clone, Debug, Default)]
pub struct SpaceCheck {
    pub space: u32,
    pub name: String,
    /// Of the file.
    pub pages: u64,
    pub pages_used: u64,
    pub segments: u64,
    pub indexes: u64,
    pub rows: u64,
    /// Records that wait for purge.
    pub delete_marked: u64,
    pub errors: u64,
}

impl CheckReport {
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }
}

/// Findings about one tablespace.
struct Findings {
    name: String,
    errors: Vec<String>,
}

impl Findings {
    fn add(&mut self, what: impl std::fmt::Display) {
        // The first hundred are enough.
        if self.errors.len() < 100 {
            self.errors.push(format!("{}: {what}", self.name));
        }
    }

    /// Damage is a finding; anything else means that the check itself failed.
    fn absorb<T>(&mut self, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(error @ Error::Corrupt { .. }) => {
                self.add(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Engine {
    /// Checks the whole instance, which is at rest: background rollbacks are finished first, because only then do rows
    /// and entries match.
    pub fn check(&self) -> Result<CheckReport> {
        self.finish_rollbacks()?;
        let mut report = CheckReport::default();
        report.errors.extend(self.damaged());
        let tables: FxHashMap<SpaceId, _> = self
            .inner
            .dictionary
            .all_files()
            .into_iter()
            .chain(self.all_temporary_tables())
            .map(|table| (table.space, table))
            .collect();
        let infos = self.tablespaces()?;
        let page_bytes = self.inner.store.page_bytes() as u64;
        let always = || Ok(());
        for info in infos {
            let space = SpaceId(info.space);
            let mut findings = Findings { name: info.name.clone(), errors: Vec::new() };
            let mut check = SpaceCheck {
                space: info.space,
                name: info.name,
                pages: info.file_bytes / page_bytes,
                ..SpaceCheck::default()
            };
            let table = tables.get(&space);
            let owned = table.map(|table| roots(table));
            let outcome = self.inner.check_space(space, owned, &mut check, &mut findings, &always);
            findings.absorb(outcome)?;
            match table {
                Some(table) => self.inner.check_trees(table, &mut check, &mut findings, &always)?,
                None if space == SpaceId(0) => {
                    for table in self.inner.dictionary.system.all() {
                        self.inner.check_trees(table, &mut check, &mut findings, &always)?;
                    }
                }
                None if info.system => {}
                None => findings.add("a tablespace of no table"),
            }
            check.errors = findings.errors.len() as u64;
            report.errors.append(&mut findings.errors);
            report.spaces.push(check);
        }
        Ok(report)
    }

    /// Checks one table (CHECK TABLE). The findings; none = OK.
    pub fn check_table(&self, table: &Arc<Table>, interrupt: &Interrupt) -> Result<Vec<String>> {
        let mut findings = Vec::new();
        for file in table.files() {
            findings.extend(self.check_file(file, interrupt)?);
        }
        Ok(findings)
    }

    /// Checks a table that is not divided, or one partition.
    pub fn check_file(&self, table: &Table, interrupt: &Interrupt) -> Result<Vec<String>> {
        let _tables = self.inner.dictionary.hold_tables();
        let mut findings = Findings { name: format!("{}.{}", table.database, table.file_name()), errors: Vec::new() };
        let mut check = SpaceCheck::default();
        let look = || if interrupt.is_set() { Err(Error::Interrupted) } else { Ok(()) };
        let outcome = self.inner.check_space(table.space, Some(roots(table)), &mut check, &mut findings, &look);
        findings.absorb(outcome)?;
        self.inner.check_trees(table, &mut check, &mut findings, &look)?;
        Ok(findings.errors)
    }
}

/// The segments that a table's roots name.
fn roots(table: &row::Table) -> Vec<Segment> {
    let trees = (0..table.indexes.len()).map(|ordinal| table.tree(ordinal));
    trees.flat_map(|tree| [tree.top_segment(), tree.leaf_segment()]).collect()
}

impl Inner {
    fn check_trees(
        &self,
        table: &row::Table,
        check: &mut SpaceCheck,
        findings: &mut Findings,
        look: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        // Only at rest is nothing left to purge; then every page must be accounted for.
        let context = self.context_of(table);
        let at_rest = context.undo.status().history_length_now == 0 && self.registry.active_count() == 0;
        let outcome = row::check(&context, table, at_rest, look);
        let Some(found) = findings.absorb(outcome)? else { return Ok(()) };
        check.indexes += table.indexes.len() as u64;
        check.rows += found.rows;
        check.delete_marked += found.deleted_rows;
        for (ordinal, fault) in found.all_faults() {
            let index = &table.indexes[ordinal].name;
            match fault.page {
                Some(page) => findings.add(format_args!("index {index}, page {page}: {}", fault.what)),
                None => findings.add(format_args!("index {index}: {}", fault.what)),
            }
        }
        Ok(())
    }

    /// Compares the pages in use according to a tablespace's descriptors with those of its segments. `owned` are the
    /// segments that should exist; None = not known here.
    fn check_space(
        &self,
        id: SpaceId,
        owned: Option<Vec<Segment>>,
        check: &mut SpaceCheck,
        findings: &mut Findings,
        look: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let survey = segment::survey::survey(&self.store, id)?;
        for error in &survey.errors {
            findings.add(error);
        }
        check.segments = survey.segments.len() as u64;
        if let Some(owned) = owned {
            for of in &survey.segments {
                if !owned.contains(&of.segment) {
                    findings.add(format_args!("segment {} belongs to no index", of.id));
                }
            }
            for segment in owned {
                if !survey.segments.iter().any(|of| of.segment == segment) {
                    let (page, offset) = (segment.inode_page, segment.inode_offset);
                    findings.add(format_args!("an index names a segment at {page}:{offset} that is not in use"));
                }
            }
        }
        for page in survey.fixed.iter().chain(survey.segments.iter().flat_map(|of| &of.pages)) {
            check.pages_used += 1;
            look()?;
            // Verifies the checksum, unless the page is in the pool.
            findings.absorb(self.store.read(PageId::new(id, *page)).map(drop))?;
        }
        Ok(())
    }
}
