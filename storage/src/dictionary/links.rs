//! From names to links: the tables and indexes that the foreign keys of the descriptions refer to at present.
//!
//! ```text
//!   foreign keys of descriptions ---- by_parent: (database, parent) -> children's names
//!                 |
//!                 v  whenever a table is added, changed or removed: its own, its parents', its children's
//!   relations: table id -> Links (tables, indexes, columns)
//! ```
//!
//! A link whose parent does not exist (any more), or has no usable index, has no target: its child can refer to nothing
//! but NULL. A foreign key whose child's index is missing has no link; DDL does not let that happen.

use std::sync::Arc;

use format::ids::TableId;
use rustc_hash::FxHashMap;

use crate::lock::{MetadataLock, TableUse};
use crate::row;
use crate::row::foreign::{Link, ParentSide, Relations};
use crate::schema::foreign_key::{begins_with, comparable, ordinals};
use crate::schema::{ForeignKey, Table};

/// Database and name of a table.
pub type Name = (Box<str>, Box<str>);

/// Resolves names: the tables in the cache, and the locks of their names.
#[derive(Clone, Copy)]
pub struct Names<'n> {
    pub table: &'n dyn Fn(&str, &str) -> Option<Arc<row::Table>>,
    pub lock: &'n dyn Fn(&str, &str) -> Arc<MetadataLock>,
}

#[derive(Default)]
pub struct Links {
    by_parent: FxHashMap<Name, Vec<Name>>,
    relations: FxHashMap<TableId, Arc<Relations>>,
}

impl Links {
    /// None = the table has none.
    pub fn relations(&self, table: TableId) -> Option<&Arc<Relations>> {
        self.relations.get(&table)
    }

    /// The names of the tables that refer to one, by name.
    pub fn children_of(&self, database: &str, name: &str) -> Vec<Name> {
        if self.by_parent.is_empty() {
            return Vec::new();
        }
        self.by_parent.get(&(Box::from(database), Box::from(name))).cloned().unwrap_or_default()
    }

    /// A description was added, removed, or replaced another. Returns the tables whose relations changed, and whether
    /// each has any now.
    pub fn replace(
        &mut self,
        old: Option<&Arc<row::Table>>,
        new: Option<&Arc<row::Table>>,
        names: Names<'_>,
    ) -> Vec<(Arc<row::Table>, bool)> {
        let Some(any) = new.or(old) else { return Vec::new() };
        let name: Name = (any.database.clone(), any.name.clone());
        let mut concerned = self.children_of(&name.0, &name.1);
        if let Some(old) = old {
            self.relations.remove(&old.id);
            for key in &old.foreign_keys {
                let parent = (key.parent_database.clone(), key.parent.clone());
                if let Some(children) = self.by_parent.get_mut(&parent) {
                    children.retain(|child| *child != name);
                    if children.is_empty() {
                        self.by_parent.remove(&parent);
                    }
                }
                concerned.push(parent);
            }
        }
        if let Some(new) = new {
            for key in &new.foreign_keys {
                let parent = (key.parent_database.clone(), key.parent.clone());
                let children = self.by_parent.entry(parent.clone()).or_default();
                if !children.contains(&name) {
                    children.push(name.clone());
                    children.sort_unstable();
                }
                concerned.push(parent);
            }
            concerned.push(name);
        }
        concerned.sort_unstable();
        concerned.dedup();
        let mut changed = Vec::new();
        for (database, name) in concerned {
            let Some(table) = (names.table)(&database, &name) else { continue };
            let relations = self.relate(&table, names);
            let has_any = !relations.is_empty();
            match has_any {
                true => self.relations.insert(table.id, Arc::new(relations)),
                false => self.relations.remove(&table.id),
            };
            changed.push((table, has_any));
        }
        changed
    }

    fn relate(&self, table: &Arc<row::Table>, names: Names<'_>) -> Relations {
        let mut relations = Relations::default();
        for (number, key) in table.foreign_keys.iter().enumerate() {
            relations.parents.extend(link(table, number, (names.table)(&key.parent_database, &key.parent)));
            relations.names.push(((names.lock)(&key.parent_database, &key.parent), TableUse::Read));
        }
        for (database, name) in self.children_of(&table.database, &table.name) {
            let Some(child) = (names.table)(&database, &name) else { continue };
            let keys = || child.foreign_keys.iter().filter(|key| key.refers_to(&table.database, &table.name));
            let follows = keys().any(ForeignKey::changes_children);
            let used = if follows { TableUse::Write } else { TableUse::Read };
            relations.names.push(((names.lock)(&database, &name), used));
            for (number, key) in child.foreign_keys.iter().enumerate() {
                if key.refers_to(&table.database, &table.name) {
                    relations.children.extend(link(&child, number, Some(table.clone())));
                }
            }
        }
        // The stronger use of a name comes first, and is the one kept.
        relations.names.sort_by_key(|(lock, used)| (Arc::as_ptr(lock), std::cmp::Reverse(*used)));
        relations.names.dedup_by(|(a, _), (b, _)| Arc::ptr_eq(a, b));
        // The order in which InnoDB checks them.
        relations.parents.sort_by(|a, b| a.key().name.cmp(&b.key().name));
        relations.children.sort_by(|a, b| {
            (&a.child.database, &a.key().name, &a.child.name).cmp(&(&b.child.database, &b.key().name, &b.child.name))
        });
        relations
    }
}

/// Resolves a foreign key of a table; None = it has no index, and cannot be maintained.
pub fn link(child: &Arc<row::Table>, number: usize, parent: Option<Arc<row::Table>>) -> Option<Link> {
    let key = &child.foreign_keys[number];
    let child_columns = ordinals(&child.columns, &key.columns).ok()?;
    let child_index = index_for(child, &child_columns)?;
    let parent = parent.and_then(|table| {
        let (index, columns) = parent_side(child, key, &table)?;
        Some(ParentSide { table, index, columns: columns.into() })
    });
    Some(Link { child: child.clone(), number, child_index, child_columns: child_columns.into(), parent })
}

/// The index and the columns of the parent that a foreign key refers to.
fn parent_side(child: &Table, key: &ForeignKey, parent: &Table) -> Option<(usize, Vec<usize>)> {
    if parent.partitioning.is_some() {
        // It has no rows of its own, and cannot be found as it is by what refers to it.
        return None;
    }
    let columns = ordinals(&parent.columns, &key.parent_columns).ok()?;
    let own = ordinals(&child.columns, &key.columns).ok()?;
    let fits = |(own, column): (&usize, &usize)| comparable(&child.columns[*own].ty, &parent.columns[*column].ty);
    if !own.iter().zip(&columns).all(fits) {
        return None;
    }
    Some((index_for(parent, &columns)?, columns))
}

/// The index that serves a foreign key on these columns: preferably a unique one on nothing else, because it finds one
/// row without a gap.
fn index_for(table: &Table, columns: &[usize]) -> Option<usize> {
    let serves =
        |at: &usize| !table.indexes[*at].has_several_entries() && begins_with(&table.indexes[*at].parts, columns);
    let exact = |at: &usize| table.indexes[*at].unique && table.indexes[*at].parts.len() == columns.len();
    let all = 0..table.indexes.len();
    all.clone().filter(serves).find(exact).or_else(|| all.clone().find(serves))
}
