//! Changing the description of a table whose name the statement has locked: see `locked`.
//!
//! ```text
//!   in place   new indexes are built beside the rows -> rows of the dictionary -> commit -> dropped indexes are freed
//!              (columns come and go with another row version, see `schema::RowVersions`)
//!   copy       a new file beside the old, filled -> files swapped -> rows of the dictionary -> commit -> old file
//!              (of a table in partitions: of those that change, see `Alteration::repartition`)
//!   import     the same, filled from files that lie under the names of the old ones, see `import`
//! ```
//!
//! While indexes are built others may read and write the table (`beside`), and while rows are copied unless they lose their
//! clustered key, or go from one partition to another. Otherwise others may read it then.
//!
//! Either is one [`Ddl`] for the whole statement: columns, indexes, foreign keys (of this table and of those that refer
//! to it), options, the table's name, and the next AUTO_INCREMENT value.
//!
//! An index of the new definition is one that the table has, if it has the same name (but for `renamed_indexes`) and
//! the same parts; otherwise it is built.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use format::ids::{IndexId, PageNo};
use format::page::index::insert_bytes_max;

use super::beside::{Others, Rebuild};
use super::build::reader;
use super::import::Source;
use super::locked::LockedTables;
use super::relations::{self, Followed};
use super::tables::{FIXED_PAGES, Place};
use super::{Engine, Relatives, RowMap, RowRoute, TrxOptions, auto_increment};
use crate::btree;
use crate::dictionary::{self, Action, Ddl, DefinitionChanges, Identity, Table, file_path};
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::row;
use crate::schema::{
    self, ColumnSource, Index, IndexDefinition, IndexPart, NotInstant, RowVersions, TableDefinition, TableOptions,
    same_name,
};
use crate::segment;
use crate::transaction::CommitLog;

/// A table whose name is locked, with its new description.
pub struct Alteration<'l> {
    locked: &'l LockedTables<'l>,
    old: Arc<Table>,
    /// The table's own description at first. Another name makes this a RENAME as well.
    pub definition: TableDefinition,
    /// Indexes that are only renamed: (old, new).
    pub renamed_indexes: Vec<(Box<str>, Box<str>)>,
    /// For each column of the new definition the ordinal that it has in the table, if it is one of it; None = the names tell.
    pub column_origins: Option<Vec<Option<usize>>>,
    /// The next AUTO_INCREMENT value; None = it continues, or begins behind the largest value.
    pub auto_increment: Option<u64>,
    /// Where the columns come from, if some come or go in place, see [`Alteration::check_instant`].
    pub columns: Option<Vec<ColumnSource>>,
    /// What others may do meanwhile.
    pub others: Others,
    /// The caller knows that each row that is copied stays in the partition that it is in, and that of each there is one
    /// before and after at the same place.
    pub keeps_partitions: bool,
}

/// Where the rows of new files come from.
enum Rows<'r> {
    /// From the table's old files at these places.
    Moved(&'r [usize]),
    /// Each from a file that lies under its name: at its place.
    Imported(Vec<(usize, Source)>),
}

/// A definition that was checked and found possible.
struct Settled {
    definition: TableDefinition,
    /// Names of the foreign keys that the table did not have.
    new_keys: Vec<Box<str>>,
    is_renamed: bool,
}

impl LockedTables<'_> {
    /// Begins to change a table's description.
    pub fn alter(&self, database: &str, name: &str) -> Result<Alteration<'_>> {
        let old = self.table(database, name)?;
        let definition = old.definition();
        Ok(Alteration {
            locked: self,
            old,
            definition,
            renamed_indexes: Vec::new(),
            column_origins: None,
            auto_increment: None,
            columns: None,
            others: Others::Write,
            keeps_partitions: false,
        })
    }
}

impl Settled {
    /// What belongs to the table follows it under its new name.
    fn move_definitions(&self, engine: &Engine, ddl: &mut Ddl<'_>, old: &schema::Table) -> Result<DefinitionChanges> {
        match self.is_renamed {
            true => {
                let to = (&*self.definition.database, &*self.definition.name);
                engine.move_definitions(ddl, &[((&old.database, &old.name), to)])
            }
            false => Ok(DefinitionChanges::default()),
        }
    }
}

impl Alteration<'_> {
    /// The table as it is.
    pub fn table(&self) -> &Arc<Table> {
        &self.old
    }

    /// The ordinal of an index of the new definition in the old table; None = it has to be built.
    fn origin(&self, asked: &IndexDefinition) -> Option<usize> {
        let was = self.renamed_indexes.iter().find(|(_, new)| same_name(new, &asked.name));
        // What was renamed lives on under its new name alone: an index that takes the old one is another.
        if was.is_none() && self.renamed_indexes.iter().any(|(old, _)| same_name(old, &asked.name)) {
            return None;
        }
        let name = was.map_or(&asked.name, |(old, _)| old);
        let same = |index: &Index| {
            same_name(&index.name, name)
                && index.unique == (asked.unique || asked.primary)
                && index.primary == asked.primary
                && self.has_same_parts(index, asked)
                && index.fulltext == asked.fulltext
        };
        self.old.indexes.iter().position(same)
    }

    /// Whether an index of the old table has the parts that one of the new definition asks for.
    fn has_same_parts(&self, index: &Index, asked: &IndexDefinition) -> bool {
        let Some(sources) = &self.columns else { return index.parts == asked.parts };
        let old = |part: &IndexPart| match sources.get(part.column) {
            Some(ColumnSource::Old(column)) => Some(IndexPart { column: *column, ..part.clone() }),
            _ => None,
        };
        index.parts.len() == asked.parts.len()
            && index.parts.iter().zip(&asked.parts).all(|(own, asked)| old(asked).as_ref() == Some(own))
    }

    /// Whether the columns of the new definition are those of the old, or may take their places with another row version.
    fn check_columns(&self) -> Result<()> {
        let (columns, old) = (&self.definition.columns, &self.old);
        let possible = match &self.columns {
            None => columns.len() == old.columns.len(),
            Some(sources) => sources.len() == columns.len() && self.check_instant(sources).is_ok(),
        };
        if possible { Ok(()) } else { Err(Error::Unsupported("moving rows in place".into())) }
    }

    /// Whether the rows keep their order, so that [`in_place`](Self::in_place) can do it. The caller must know whether
    /// their bytes stay the same.
    pub fn keeps_order(&self) -> bool {
        let order = dictionary::index_order(&self.definition);
        order.first().is_some_and(|first| self.origin(first) == Some(0))
    }

    /// Whether the rows lose the columns that told them apart: then each gets a number.
    pub fn drops_key(&self) -> bool {
        let order = dictionary::index_order(&self.definition);
        !self.old.has_row_id() && order.first().is_some_and(|first| first.parts.is_empty())
    }

    /// Whether others may change rows while they are copied. The caller must know whether what [`copy`](Self::copy) makes of
    /// a row depends on that row alone.
    pub fn copies_beside(&self) -> bool {
        let stays = match (&self.old.partitioning, &self.definition.partitioning) {
            (None, None) => true,
            (Some(_), Some(_)) => self.keeps_partitions,
            _ => false,
        };
        stays && !self.drops_key()
    }

    /// Whether rows that are copied keep their clustered keys.
    fn keeps_keys(&self) -> bool {
        let (old, definition) = (&self.old, &self.definition);
        let was = |column: usize| match &self.column_origins {
            Some(origins) => origins.get(column).copied().flatten(),
            None => old.columns.iter().position(|one| same_name(&one.name, &definition.columns[column].name)),
        };
        let stays = |own: &IndexPart, asked: &IndexPart| {
            was(asked.column) == Some(own.column)
                && IndexPart { column: own.column, ..asked.clone() } == *own
                && definition.columns[asked.column].ty.keeps_values_of(&old.columns[own.column].ty)
        };
        let order = dictionary::index_order(definition);
        let (Some(first), own) = (order.first(), &old.indexes[0]) else { return false };
        first.parts.len() == own.parts.len() && own.parts.iter().zip(&first.parts).all(|(own, asked)| stays(own, asked))
    }

    /// How many indexes have to be built in place.
    pub fn indexes_to_build(&self) -> usize {
        let order = dictionary::index_order(&self.definition);
        order.iter().filter(|index| self.origin(index).is_none()).count()
    }

    /// Whether the definition is compatible with the tables that it refers to and that refer to it.
    fn settle(&self) -> Result<Settled> {
        let (locked, old) = (self.locked, &self.old);
        let (engine, checks) = (locked.engine, locked.wait.foreign_key_checks);
        let mut definition = self.definition.clone();
        let to = (definition.database.clone(), definition.name.clone());
        (definition.database, definition.name) = (old.database.clone(), old.name.clone());
        let is_renamed = to != (old.database.clone(), old.name.clone());
        engine.settle_names(&mut definition);
        locked.check_relatives(&definition, Some(old))?;
        engine.check_relations(&definition, Some(old), checks)?;
        let mut new_keys: Vec<usize> = relations::new_keys(&definition, Some(old));
        if is_renamed {
            locked.check_free((&to.0, &to.1))?;
            engine.check_triggers_stay((&old.database, &old.name), &to.0)?;
            for (database, name) in engine.inner.dictionary.children_of(&old.database, &old.name) {
                locked.check_locked(&database, &name)?;
            }
            let names = ((&*old.database, &*old.name), (&*to.0, &*to.1));
            let order = Engine::rename_keys_of(&mut definition.foreign_keys, &old.name, &to.1, &[names]);
            new_keys.iter_mut().for_each(|at| *at = order.iter().position(|was| was == at).unwrap_or(*at));
            schema::Check::rename_with_table(&mut definition.checks, &old.name, &to.1);
            (definition.database, definition.name) = to;
            let is_itself = |table: &schema::Table| (&table.database, &table.name) == (&old.database, &old.name);
            engine.check_taken(&definition.database, &is_itself, &definition.foreign_keys, &definition.checks)?;
            // The table may become the parent of tables that refer to a missing one of its name.
            engine.check_children(&definition, None, checks)?;
        }
        let new_keys = new_keys.into_iter().map(|at| definition.foreign_keys[at].name.clone()).collect();
        Ok(Settled { definition, new_keys, is_renamed })
    }

    /// Whether foreign keys come that the rows have to be checked for, which takes the tables alone.
    pub fn checks_foreign_keys(&self) -> bool {
        self.locked.wait.foreign_key_checks && !relations::new_keys(&self.definition, Some(&self.old)).is_empty()
    }

    /// What others may do in the end.
    fn others(&self) -> Others {
        if self.checks_foreign_keys() { Others::Wait } else { self.others }
    }

    /// Why the columns cannot become those of `sources` in place, if they cannot.
    pub fn check_instant(&self, sources: &[ColumnSource]) -> std::result::Result<(), NotInstant> {
        let row_bytes_max = insert_bytes_max(self.locked.engine.inner.store.page_bytes());
        self.old.check_instant(&self.definition.columns, sources, row_bytes_max)
    }

    /// Changes the description, and builds and drops indexes; no row is touched.
    pub fn in_place(self) -> Result<Arc<Table>> {
        let settled = self.settle()?;
        let (engine, wait, old) = (self.locked.engine, self.locked.wait, &self.old);
        let (store, dictionary) = (&engine.inner.store, &engine.inner.dictionary);
        let origins: Vec<Option<usize>> =
            dictionary::index_order(&self.definition).iter().map(|index| self.origin(index)).collect();
        if origins.first() != Some(&Some(0)) {
            return Err(Error::Unsupported("moving rows in place".into()));
        }
        self.check_columns()?;
        let built: Vec<usize> = (0..origins.len()).filter(|at| origins[*at].is_none()).collect();
        let dropped: Vec<usize> = (0..old.indexes.len()).filter(|at| !origins.contains(&Some(*at))).collect();
        // Of the table, and of each of its partitions.
        let numbers = |of: &schema::Table| Identity {
            indexes: origins
                .iter()
                .map(|origin| origin.map_or((IndexId(0), PageNo(0)), |at| (of.indexes[at].id, of.indexes[at].root)))
                .collect(),
            row_versions: match &self.columns {
                Some(sources) if !of.is_partitioned() => Some(Box::new(RowVersions::after(of, sources))),
                _ => of.row_versions.clone(),
            },
            partitions: Vec::new(),
            ..Identity::of(of)
        };
        let mut identity = numbers(old);
        identity.partitions = old.partitions.iter().map(|partition| numbers(partition)).collect();
        // An impossible definition fails before any work is done.
        dictionary::describe(&settled.definition, &identity)?;
        let mut ddl = engine.begin_ddl()?;
        if !built.is_empty() {
            if old.is_partitioned() {
                let ids = dictionary::new_ids(store, built.len())?;
                for (number, at) in built.iter().enumerate() {
                    identity.indexes[*at].0 = IndexId(ids.index.0 + number as u64);
                }
                for partition in &mut identity.partitions {
                    engine.make_trees_beside(&mut ddl, &built, partition)?;
                }
            } else {
                engine.make_trees_beside(&mut ddl, &built, &mut identity)?;
            }
        }
        let mut changed = dictionary::describe(&settled.definition, &identity)?;
        changed.keep_state(old);
        let changed = Arc::new(row::Table::open(store, Arc::new(changed))?);
        self.locked.build_indexes(old, &changed, &built, self.others())?;
        if wait.foreign_key_checks {
            engine.check_rows(&changed, &settled.new_keys, &wait.interrupt)?;
        }
        let histograms = old.histograms_for(&changed, self.column_origins.as_deref());
        ddl.delete_table(old)?;
        ddl.insert_table_with(&changed, &histograms)?;
        for (file, at) in old.schema().files().flat_map(|file| dropped.iter().map(move |at| (file, at))) {
            ddl.will_do_afterwards(Action::DropIndex { space: file.space, index: file.indexes[*at].id })?;
        }
        if settled.is_renamed {
            engine.move_to_name(&mut ddl, old, &changed)?;
        }
        let last_given = match self.auto_increment {
            Some(_) => auto_increment::after_alter(&engine.inner, old, &changed, self.auto_increment, &wait.interrupt)?,
            None => None,
        };
        if let Some(to) = last_given {
            let from = auto_increment::read_last_given(store, old)?;
            for file in old.schema().files() {
                let (space, root) = (file.space, file.clustered().root);
                let from = if old.is_partitioned() { auto_increment::read_last_given(store, file)? } else { from };
                ddl.will_do_afterwards(Action::SetLastGiven { space, root, from, to })?;
            }
        }
        let followed = engine.follow(&mut ddl, old, &settled.definition)?;
        let moved = settled.move_definitions(engine, &mut ddl, old)?;
        let afterwards = ddl.commit(wait.log.as_deref())?;
        let _purge = dictionary.stop_purge();
        // Older read views may read on, though not by new indexes. The commit took a number, so this one is greater than the
        // limit of every view that was taken while a transaction that has changed the table was open.
        let now = engine.inner.registry.next_id();
        let since = if settled.is_renamed || self.columns.is_some() { now } else { old.since() };
        for file in changed.files() {
            built.iter().for_each(|at| file.state.built_indexes.add(file.indexes[*at].id, now));
        }
        let changed = Arc::into_inner(changed).expect("nobody else has it yet");
        let shown = self.show(&settled, changed, since, followed);
        shown.state.statistics.set_histograms(histograms);
        engine.show_definitions(moved);
        afterwards.run();
        if let Some(last) = last_given {
            shown.state.auto_increment_next.store(last.saturating_add(1), Ordering::Release);
        }
        for file in shown.files() {
            if let Some(space) = store.space(file.space) {
                space.set_transform(dictionary::transform(&file.options, &engine.config()));
                space.set_atomic_writes(file.options.atomic_writes);
            }
        }
        Ok(shown)
    }

    /// Copies the rows into new files, which replace the old ones. Without a `map` the columns are the same; `route` tells
    /// the partition of a new row, where the table is to have partitions. Returns the new table and its number of rows.
    pub fn copy(self, map: Option<&mut RowMap<'_>>, route: Option<&mut RowRoute<'_>>) -> Result<(Arc<Table>, u64)> {
        let (old, parts) = (self.old.clone(), self.definition.partitioning.as_ref().map_or(1, |made| made.parts.len()));
        let moved = Vec::from_iter(0..old.files().len());
        self.rebuild(&vec![None; parts], &mut Rows::Moved(&moved), map, route)
    }

    /// Makes the partitions that the definition has new. `kept` has for each of them the old partition that it is, whose
    /// file stays as it is; the others get new files, among which the rows of the old partitions `moved` are divided by
    /// `route`. Old partitions that are neither kept nor moved go with their rows. Returns the new table and how many rows
    /// were moved.
    pub fn repartition(
        self,
        kept: &[Option<usize>],
        moved: &[usize],
        route: &mut RowRoute<'_>,
    ) -> Result<(Arc<Table>, u64)> {
        self.rebuild(kept, &mut Rows::Moved(moved), None, Some(route))
    }

    /// DISCARD TABLESPACE: the files at these places among the table's, or its only one, go with their rows.
    pub fn discard(mut self, places: &[usize]) -> Result<()> {
        if !self.old.schema().files().all(dictionary::may_be_discarded) {
            return Err(Error::Unsupported("DISCARD TABLESPACE of a table with so long a name".into()));
        }
        self.others = Others::Wait;
        self.set_discarded(places, true);
        let kept = self.others_than(places);
        self.rebuild(&kept, &mut Rows::Moved(&[]), None, None).map(drop)
    }

    /// IMPORT TABLESPACE: reads the files that lie under the names of those at these places, see `import`. `map` and `route` as
    /// in [`copy`](Self::copy); values of columns that a file does not have are NULL. Returns the number of rows, and which of
    /// the files had no description.
    pub fn import(
        mut self,
        places: &[usize],
        map: Option<&mut RowMap<'_>>,
        route: Option<&mut RowRoute<'_>>,
    ) -> Result<(u64, Vec<Box<str>>)> {
        self.others = Others::Wait;
        self.set_discarded(places, false);
        let kept = self.others_than(places);
        let files: Vec<&schema::Table> = self.old.schema().files().collect();
        let mut sources = Vec::with_capacity(places.len());
        for place in places {
            sources.push((*place, Source::open(&self.locked.engine.inner, files[*place])?));
        }
        let bare = |(place, source): &(usize, Source)| {
            (!source.is_described).then(|| dictionary::description_path(files[*place]).into())
        };
        let bare = sources.iter().filter_map(bare).collect();
        let (_, count) = self.rebuild(&kept, &mut Rows::Imported(sources), map, route)?;
        Ok((count, bare))
    }

    fn set_discarded(&mut self, places: &[usize], discarded: bool) {
        match &mut self.definition.partitioning {
            None => self.definition.options.discarded = discarded,
            Some(partitioning) => places.iter().for_each(|at| partitioning.parts[*at].discarded = discarded),
        }
    }

    /// The files that stay, as [`repartition`](Self::repartition) takes them.
    fn others_than(&self, places: &[usize]) -> Vec<Option<usize>> {
        (0..self.old.schema().files().count()).map(|at| (!places.contains(&at)).then_some(at)).collect()
    }

    fn rebuild(
        self,
        kept: &[Option<usize>],
        rows: &mut Rows<'_>,
        mut map: Option<&mut RowMap<'_>>,
        mut route: Option<&mut RowRoute<'_>>,
    ) -> Result<(Arc<Table>, u64)> {
        let settled = self.settle()?;
        let (engine, wait, old) = (self.locked.engine, self.locked.wait, &self.old);
        let inner = &engine.inner;
        let mut ddl = engine.begin_ddl()?;
        let stay: Vec<Option<&schema::Table>> =
            kept.iter().map(|kept| kept.map(|at| &**old.files()[at].schema())).collect();
        let new = engine.make_table_with(&mut ddl, &settled.definition, Place::Beside, &stay)?;
        let new = Arc::new(new);
        let targets: Vec<usize> = (0..kept.len()).filter(|at| kept[*at].is_none()).collect();
        let mut trx = reader(&wait.interrupt);
        trx.open_view(&inner.registry);
        let others = self.others();
        let is_whole = targets.len() == old.files().len() && matches!(rows, Rows::Moved(_));
        let mut beside = Vec::new();
        if others == Others::Write && is_whole && self.copies_beside() {
            let files = old.files().iter().zip(new.files());
            beside.extend(files.map(|(old, new)| Rebuild::begin(inner, old, new)));
        }
        if others != Others::Wait {
            self.locked.open(beside.is_empty());
        }
        let look = || match wait.interrupt.is_set() {
            true => Err(Error::Interrupted),
            false => beside.iter().try_for_each(Rebuild::check),
        };
        let mut last_imported = 0;
        let count = match rows {
            Rows::Moved(moved) => {
                let sources: Vec<Arc<Table>> = moved.iter().map(|at| old.files()[*at].clone()).collect();
                // Files that nothing comes to are as empty as they were made.
                let targets = if sources.is_empty() { &[][..] } else { &targets };
                let (copied, route) = (map.as_deref_mut(), route.as_deref_mut());
                inner.copy_rows(&sources, &mut trx, &new, targets, copied, route, &look, &wait.interrupt)?
            }
            Rows::Imported(sources) => {
                let mut count = 0;
                for (at, source) in sources {
                    count += inner.import_rows(source, &new, *at, &mut map, &mut route, &wait.interrupt)?;
                    last_imported = last_imported.max(source.last_given());
                }
                count
            }
        };
        if !self.keeps_keys() {
            for file in &mut beside {
                let mut snapshot = reader(&wait.interrupt);
                snapshot.view = trx.view.clone();
                file.follow_moves(inner, snapshot);
            }
        }
        drop(trx);
        Rebuild::catch_up(&mut beside, inner, &mut map, wait)?;
        if others != Others::Wait {
            self.locked.close()?;
        }
        for file in &mut beside {
            file.finish(inner, &mut map, wait)?;
        }
        if !beside.is_empty() {
            self.locked.check_current(old)?;
        }
        drop(beside);
        if wait.foreign_key_checks {
            engine.check_rows(&new, &settled.new_keys, &wait.interrupt)?;
        }
        let mut last = auto_increment::after_alter(&engine.inner, old, &new, self.auto_increment, &wait.interrupt)?;
        if let (Some(last), Rows::Imported(_)) = (&mut last, &*rows) {
            let beyond = auto_increment::after_import(&engine.inner, &new, &wait.interrupt)?;
            *last = (*last).max(beyond).max(last_imported);
        }
        if let Some(last) = last {
            auto_increment::write_last_given(&engine.inner.store, &new, last)?;
        }
        // A file that stays has what was given before.
        let set_back = last.filter(|_| self.auto_increment.is_some());
        if let Some(to) = set_back {
            for file in stay.iter().flatten() {
                let from = auto_increment::read_last_given(&engine.inner.store, file)?;
                ddl.will_do_afterwards(Action::SetLastGiven {
                    space: file.space,
                    root: file.clustered().root,
                    from,
                    to,
                })?;
            }
        }
        if let Rows::Imported(_) = rows {
            let imported: Vec<&schema::Table> = targets.iter().map(|at| &**new.files()[*at].schema()).collect();
            engine.consume_sources(&mut ddl, &imported)?;
        }
        // An older description would be taken for that of a file that comes.
        for file in targets.iter().map(|at| &new.files()[*at]).filter(|file| file.options.discarded) {
            engine.drop_description(&mut ddl, file)?;
        }
        let followed = engine.follow(&mut ddl, old, &settled.definition)?;
        let moved = settled.move_definitions(engine, &mut ddl, old)?;
        new.state.statistics.set_histograms(old.histograms_for(&new, self.column_origins.as_deref()));
        let new = Arc::into_inner(new).expect("nobody else has it yet");
        let afterwards = engine.exchange(ddl, old, &new, wait.log.as_deref())?;
        let _purge = engine.inner.dictionary.stop_purge();
        let shown = self.show(&settled, new, engine.inner.registry.next_id(), followed);
        engine.show_definitions(moved);
        afterwards.run();
        if let Some(last) = set_back {
            shown.state.auto_increment_next.store(last.saturating_add(1), Ordering::Release);
        }
        Ok((shown, count))
    }

    /// Publishes the table's new description, after the commit.
    fn show(
        &self,
        settled: &Settled,
        changed: row::Table,
        since: format::ids::TrxId,
        followed: Vec<Followed>,
    ) -> Arc<Table> {
        let (engine, old) = (self.locked.engine, &self.old);
        let name = settled.is_renamed.then_some((&*old.database, &*old.name));
        let shown = engine.inner.dictionary.replace_tables(name.into_iter(), vec![changed], since).remove(0);
        engine.show_followed(followed);
        shown
    }
}

impl Engine {
    /// Gives every child of a table that gets this definition the new names of the table and of its columns. The caller
    /// publishes the descriptions after the commit.
    fn follow(&self, ddl: &mut Ddl<'_>, old: &schema::Table, definition: &TableDefinition) -> Result<Vec<Followed>> {
        let is_renamed = (&old.database, &old.name) != (&definition.database, &definition.name);
        if definition.renamed_columns.is_empty() && !is_renamed {
            return Ok(Vec::new());
        }
        self.follow_parent(ddl, (&old.database, &old.name), definition)
    }

    /// Makes empty trees for indexes beside those that a file has, and fills in their numbers.
    fn make_trees_beside(&self, ddl: &mut Ddl<'_>, built: &[usize], identity: &mut Identity) -> Result<()> {
        let store = &self.inner.store;
        let ids = dictionary::new_ids(store, built.len())?;
        for (number, at) in built.iter().enumerate() {
            let id = IndexId(ids.index.0 + number as u64);
            ddl.will_take_back(Action::DropIndex { space: identity.space, index: id })?;
            let room = segment::reserve(store, identity.space, FIXED_PAGES)?;
            store.check_headroom()?;
            let mut mtr = Mtr::begin(store);
            identity.indexes[*at] = (id, btree::create(&mut mtr, identity.space, id)?);
            mtr.commit();
            drop(room);
        }
        Ok(())
    }

    /// Gives the files of a table that were made beside others their names.
    pub(super) fn move_into_place(&self, ddl: &mut Ddl<'_>, new: &schema::Table) -> Result<()> {
        let beside = |file: &schema::Table| dictionary::temporary_path(&new.database, file.space.0);
        let moves: Vec<_> = new.files().map(|file| (file.space, beside(file), file_path(file))).collect();
        self.move_files(ddl, &moves)
    }

    /// Swaps the files of a table and its successor, but for those that both have, and commits.
    pub(super) fn exchange<'e>(
        &'e self,
        mut ddl: Ddl<'e>,
        old: &Arc<Table>,
        new: &row::Table,
        log: Option<&dyn CommitLog>,
    ) -> Result<dictionary::Afterwards<'e>> {
        ddl.delete_table(old)?;
        ddl.insert_table(new)?;
        let aside = |file: &schema::Table| dictionary::temporary_path(&old.database, file.space.0);
        let is_in = |file: &schema::Table, table: &schema::Table| table.files().any(|other| other.space == file.space);
        let mut moves = Vec::new();
        let gone: Vec<_> = old.schema().files().filter(|file| !is_in(file, new)).collect();
        moves.extend(gone.iter().map(|file| (file.space, file_path(file), aside(file))));
        for file in new.schema().files() {
            let from = match old.schema().files().find(|kept| kept.space == file.space) {
                Some(kept) => file_path(kept),
                None => aside(file),
            };
            if from != file_path(file) {
                moves.push((file.space, from, file_path(file)));
            }
        }
        self.move_files(&mut ddl, &moves)?;
        for file in gone {
            ddl.will_do_afterwards(Action::DropSpace { space: file.space, path: aside(file).into() })?;
        }
        ddl.commit(log)
    }

    // One change at a time

    /// Changes options in place: pages take the new form when they are next written.
    pub fn alter_table_options(
        &self,
        database: &str,
        name: &str,
        wait: &TrxOptions,
        change: &mut dyn FnMut(&mut TableOptions),
    ) -> Result<Arc<Table>> {
        let locked = self.lock_definitions(&[(database, name)], Relatives::Alone, wait)?;
        let mut alteration = locked.alter(database, name)?;
        change(&mut alteration.definition.options);
        alteration.in_place()
    }

    /// Gives a table other columns while its rows stay as they are; `change` tells where each comes from.
    pub fn alter_columns(
        &self,
        database: &str,
        name: &str,
        change: impl FnOnce(&mut TableDefinition) -> Vec<ColumnSource>,
        wait: &TrxOptions,
    ) -> Result<Arc<Table>> {
        let locked = self.lock_definitions(&[(database, name)], Relatives::Along, wait)?;
        let mut alteration = locked.alter(database, name)?;
        alteration.columns = Some(change(&mut alteration.definition));
        alteration.in_place()
    }

    /// Adds a secondary index.
    pub fn create_index(
        &self,
        database: &str,
        name: &str,
        index: IndexDefinition,
        wait: &TrxOptions,
    ) -> Result<Arc<Table>> {
        let locked = self.lock_definitions(&[(database, name)], Relatives::Alone, wait)?;
        let mut alteration = locked.alter(database, name)?;
        alteration.definition.indexes.push(index);
        alteration.in_place()
    }

    /// Drops a secondary index.
    pub fn drop_index(&self, database: &str, name: &str, index: &str, wait: &TrxOptions) -> Result<Arc<Table>> {
        let locked = self.lock_definitions(&[(database, name)], Relatives::Along, wait)?;
        let mut alteration = locked.alter(database, name)?;
        let indexes = &mut alteration.definition.indexes;
        let at = indexes.iter().position(|other| same_name(&other.name, index));
        indexes.remove(at.ok_or_else(|| Error::NotFound(format!("index {index}").into()))?);
        alteration.in_place()
    }

    /// Copies a table into a new file, with its definition as `change` leaves it.
    pub fn rebuild_table(
        &self,
        database: &str,
        name: &str,
        change: impl FnOnce(&mut TableDefinition),
        wait: &TrxOptions,
    ) -> Result<(Arc<Table>, u64)> {
        let locked = self.lock_definitions(&[(database, name)], Relatives::Along, wait)?;
        let mut alteration = locked.alter(database, name)?;
        change(&mut alteration.definition);
        alteration.copy(None, None)
    }
}
