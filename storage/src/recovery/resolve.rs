//! The second half of recovery: transactions and DDL statements that had not ended.

use std::sync::Arc;

use format::ids::{SpaceId, TableId, TrxId, UndoNo};
use rustc_hash::FxHashMap;

use super::{Opened, PageRecovery, RecoveryReport, UNDO_PATH, UNDO_SPACE};
use crate::btree::SORT_FILE_PREFIX;
use crate::dictionary::{self, Dictionary, SystemRows};
use crate::error::{Error, Result};
use crate::lock::{Interrupt, LockTable};
use crate::redo::ARCHIVE_FILE_NAME;
use crate::row;
use crate::schema;
use crate::store::{Store, Transform};
use crate::sync;
use crate::transaction::{Isolation, Registry, Transaction};
use crate::undo::{RecoveredLog, UndoSpace};

/// Threads that open tables, when threads are wanted at all.
const LOADERS: usize = 8;

/// Opens a tablespace unless the first half had to.
fn open_space(store: &Store, space: SpaceId, path: &str, transform: Transform) -> Result<()> {
    match store.space(space) {
        Some(open) => open.set_transform(transform),
        None => drop(store.open_space(space, path, transform)?),
    }
    Ok(())
}

/// See the module header of `recovery`: step 2.
pub fn resolve(store: Arc<Store>, pages: PageRecovery) -> Result<Opened> {
    let mut report = RecoveryReport { pages, ..RecoveryReport::default() };
    let transform = Transform::usual(store.config().system_compression);
    open_space(&store, SpaceId(0), dictionary::SYSTEM_PATH, transform)?;
    open_space(&store, UNDO_SPACE, UNDO_PATH, transform)?;
    let registry = Registry::open(&store)?;
    let locks = LockTable::new();
    let (undo, unfinished, newest) = UndoSpace::open(&store)?;
    registry.skip(newest);
    let system = dictionary::open_system_tables(&store)?
        .into_iter()
        .map(|table| Ok(Arc::new(row::Table::open(&store, table)?)))
        .collect::<Result<Vec<_>>>()?;
    let dictionary = Dictionary::new(SystemRows::new(system));

    // Everybody is active again before anybody looks at a row.
    let unfinished: Vec<_> = unfinished.into_iter().map(|log| resume(log, &registry, &locks)).collect();
    let (ddl, others): (Vec<_>, Vec<_>) = unfinished.into_iter().partition(|one| one.dictionary);
    let purge_view = row::PurgeView::new(&registry);
    let context = row::Context { store: &store, undo: &undo, locks: &locks, registry: &registry, purge: &purge_view };
    report.ddl_rolled_back = ddl.len() as u64;
    for one in ddl {
        roll_back(&context, one.trx, &|id| dictionary.system.by_id(id))?;
        report.transactions_rolled_back += 1;
    }
    load(&context, &dictionary, &mut report)?;
    for one in others {
        if one.prepared {
            // XA is not spoken yet, so nobody can have prepared anything.
            report.damaged.push(format!("prepared transaction {}", one.trx.id));
            report.transactions_prepared += 1;
            continue;
        }
        roll_back(&context, one.trx, &|id| dictionary.by_id(id))?;
        report.transactions_rolled_back += 1;
    }
    remove_leftovers(&store)?;
    store.trash().find()?;
    let actions = dictionary.system.actions(&context)?;
    report.ddl_actions = actions.len() as u64;
    dictionary::run_actions(&context, &dictionary, actions)?;
    Ok(Opened { store, undo, locks, registry, purge_view, dictionary, report })
}

/// A transaction that had not ended.
struct Unfinished {
    trx: Transaction,
    dictionary: bool,
    prepared: bool,
}

/// Makes it active again under its old id.
fn resume(log: RecoveredLog, registry: &Registry, locks: &LockTable) -> Unfinished {
    let interrupt = Arc::new(Interrupt::new());
    let mut trx = Transaction::new(Isolation::RepeatableRead, interrupt, std::time::Duration::ZERO);
    registry.resume(log.trx_id);
    locks.begin(&mut trx.locks, log.trx_id);
    trx.id = log.trx_id;
    trx.undo = log.undo;
    Unfinished { trx, dictionary: log.dictionary, prepared: log.prepared }
}

fn roll_back(
    context: &row::Context<'_>,
    mut trx: Transaction,
    tables: &dyn Fn(TableId) -> Option<Arc<row::Table>>,
) -> Result<()> {
    row::rollback(context, &mut trx, tables, UndoNo(0))?;
    trx.end_rollback(context.store, context.undo, context.registry, context.locks)
}

/// Fills the cache from the system tables, and opens the files of all tables.
fn load(context: &row::Context<'_>, dictionary: &Dictionary, report: &mut RecoveryReport) -> Result<()> {
    let contents = dictionary.system.load(context)?;
    for (id, error) in contents.damaged {
        report.damaged.push(format!("description of table {id}: {error}"));
    }
    for database in contents.databases {
        dictionary.put_database(database);
    }
    let config = context.store.config();
    // A DDL statement that had not ended may have left a file under another name.
    let paths: FxHashMap<SpaceId, &str> = report.pages.spaces.iter().map(|(id, path)| (*id, path.as_str())).collect();
    let open = |table: &Arc<schema::Table>| {
        if dictionary.database(&table.database).is_none() {
            return Err(Error::NotFound("its database".into()));
        }
        let usual = dictionary::table_path(&table.database, &table.name);
        let path = paths.get(&table.space).copied().unwrap_or(&usual);
        let transform = dictionary::transform(&table.options, &config);
        open_space(context.store, table.space, path, transform)?;
        row::Table::open(context.store, table.clone())
    };
    // Opening a table reads its roots: of many tables, several at a time.
    let tables: Vec<_> = contents.tables.into_iter().map(Arc::new).collect();
    let workers = if config.background_threads { LOADERS } else { 1 };
    let shares: Vec<_> = tables.chunks(tables.len().div_ceil(workers).max(1)).collect();
    let opened = sync::in_parallel(&shares, |share| share.iter().map(open).collect::<Vec<_>>());
    for (table, opened) in tables.iter().zip(opened.into_iter().flatten()) {
        match opened {
            Ok(rows) => {
                dictionary.put_table(rows, TrxId(0));
                if let Some(space) = context.store.space(table.space) {
                    space.set_atomic_writes(table.options.atomic_writes);
                }
            }
            Err(error) => {
                report.damaged.push(format!("{}: {error}", table.full_name()));
                if dictionary.database(&table.database).is_some() {
                    dictionary.put_unavailable(&table.database, &table.name, error);
                }
            }
        }
    }
    Ok(())
}

/// Sorts and backups that a crash interrupted have left their files.
fn remove_leftovers(store: &Store) -> Result<()> {
    let disk = store.disk();
    for entry in disk.list("").map_err(Error::io("list the data directory"))? {
        let leftover = entry.name.starts_with(SORT_FILE_PREFIX) || entry.name == ARCHIVE_FILE_NAME;
        if leftover && !entry.is_directory {
            disk.remove(&entry.name).map_err(Error::io("remove a temporary file"))?;
        }
    }
    Ok(())
}
