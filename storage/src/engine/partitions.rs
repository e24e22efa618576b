//! EXCHANGE PARTITION: a partition and a table trade places.
//!
//! What is traded is all that is a file's: number, tablespace, trees, the rows with their history. The descriptions stay, and
//! the names; so no row is read or written.
//!
//! ```text
//!            before                        after
//! t, p1      number 7  space 3             number 9  space 5
//! u          number 9  space 5             number 7  space 3
//! ```
//!
//! All other changes of partitions are `Alteration::repartition`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::auto_increment;
use super::locked::LockedTables;
use crate::dictionary::{self, Identity, Table, file_path};
use crate::error::{Error, Result};
use crate::row;
use crate::schema;

impl LockedTables<'_> {
    /// Exchanges a partition of the first table with the second one, which has the same columns and indexes. Both names are
    /// locked.
    pub fn exchange_partition(&self, table: &Arc<Table>, partition: usize, other: &Arc<Table>) -> Result<()> {
        self.check_locked(&table.database, &table.name)?;
        self.check_locked(&other.database, &other.name)?;
        let engine = self.engine;
        let (store, dictionary) = (&engine.inner.store, &engine.inner.dictionary);
        let part = table.partitions().get(partition).ok_or_else(|| Error::NotFound("a partition".into()))?;
        if other.is_partitioned() || other.is_temporary() {
            return Err(Error::Unsupported("exchanging a table without a file of its own".into()));
        }
        let mut identity = Identity::of(table);
        identity.partitions[partition] = numbers_for(part, other)?;
        let mut changed = dictionary::describe(&table.definition(), &identity)?;
        changed.keep_state(table);
        let traded = dictionary::describe(&other.definition(), &numbers_for(other, part)?)?;
        traded.state.statistics.set_histograms(other.state.statistics.histograms());
        // Where a value was given last goes along with the file: neither of the two gives one of its rows' again.
        if table.auto_increment.is_some() {
            let last = auto_increment::read_last_given(store, table)?;
            auto_increment::write_last_given(store, part, last)?;
            let last = last.max(auto_increment::read_last_given(store, other)?);
            auto_increment::write_last_given(store, other, last)?;
        }
        // Counts and estimates belong to the files.
        traded.state.take_counts(&part.state);
        if let Some(came) = changed.partitions.get(partition) {
            came.state.take_counts(&other.state);
        }
        let mut ddl = engine.begin_ddl()?;
        ddl.delete_table(table)?;
        ddl.delete_table(other)?;
        ddl.insert_table(&changed)?;
        ddl.insert_table(&traded)?;
        let aside = dictionary::temporary_path(&table.database, part.space.0);
        let moves = [
            (part.space, file_path(part), aside.clone()),
            (other.space, file_path(other), file_path(part)),
            (part.space, aside, file_path(other)),
        ];
        engine.move_files(&mut ddl, &moves)?;
        let changed = row::Table::open(store, Arc::new(changed))?;
        let traded = row::Table::open(store, Arc::new(traded))?;
        let afterwards = ddl.commit(self.wait.log.as_deref())?;
        let _purge = dictionary.stop_purge();
        let names = [(&*table.database, &*table.name), (&*other.database, &*other.name)];
        let shown =
            dictionary.replace_tables(names.into_iter(), vec![changed, traded], engine.inner.registry.next_id());
        afterwards.run();
        for table in &shown {
            // The counter is read again.
            table.state.auto_increment_next.store(0, Ordering::Release);
            for file in table.files() {
                if let Some(space) = store.space(file.space) {
                    space.set_transform(dictionary::transform(&file.options, &engine.config()));
                    space.set_atomic_writes(file.options.atomic_writes);
                }
            }
        }
        Ok(())
    }
}

/// The numbers of `from`, in the order that the indexes of `of` have.
fn numbers_for(of: &schema::Table, from: &schema::Table) -> Result<Identity> {
    let mut identity = Identity::of(from);
    identity.indexes.clear();
    for index in &of.indexes {
        let same = |other: &&schema::Index| schema::same_name(&other.name, &index.name) && other.parts == index.parts;
        let found = from.indexes.iter().find(same);
        let found = found.ok_or_else(|| Error::Unsupported("exchanging tables with other indexes".into()))?;
        identity.indexes.push((found.id, found.root));
    }
    Ok(identity)
}
