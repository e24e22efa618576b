//! The second half of recovery: transactions and DDL statements that were open.

use std::sync::Arc;
use std::time::Duration;

use format::ids::{Lsn, PageId, SpaceId, TableId, TrxId, UndoNo};
use format::page::{header, space as layout};
use rustc_hash::FxHashMap;

use super::mismatch;
use super::{Opened, PageRecovery, RecoveryReport, UNDO_PATH, UNDO_SPACE, Unfinished, Unsurveyed};
use crate::dictionary::{self, DefinitionChanges, Dictionary, SystemRows};
use crate::error::{Error, Result};
use crate::io::AlignedBuffer;
use crate::lock::{Interrupt, LockTable, MetadataHeld, TableUse};
use crate::redo::ARCHIVE_FILE_NAME;
use crate::row;
use crate::schema;
use crate::scratch::SCRATCH_FILE_PREFIX;
use crate::store::{Store, Transform};
use crate::sync;
use crate::transaction::{Isolation, Registry, Transaction};
use crate::undo::{RecoveredLog, Survey, UndoSpace};

/// Undo records of open transactions that are read before the instance accepts statements. They tell which tables'
/// definitions must not change. The background reads the rest, and until then no table's definition may change. The
/// records of prepared transactions are all read.
const SURVEYED_AT_START: u64 = 4096;

/// Threads that open tables, if the configuration allows threads.
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
    for id in [SpaceId(0), UNDO_SPACE] {
        let encrypted = layout::flags(&store.read(PageId::new(id, layout::HEADER_PAGE))?).is_encrypted();
        if let Some(space) = store.space(id) {
            space.set_transform(Transform { encrypted, ..transform });
        }
    }
    store.redo().stamps.track(&mismatch::refuse_older_log(&store)?);
    let registry = Registry::open(&store)?;
    let config = store.config();
    let locks = LockTable::new(config.lock_bytes as usize, store.health().clone());
    locks.release_at_once(config.locks_released_at_once);
    let (undo, unfinished, newest) = UndoSpace::open(&store)?;
    registry.skip(newest);
    registry.begin_run(&store)?;
    let system = dictionary::open_system_tables(&store)?
        .into_iter()
        .map(|table| Ok(Arc::new(row::Table::open(&store, table)?)))
        .collect::<Result<Vec<_>>>()?;
    let dictionary = Dictionary::new(SystemRows::new(system), store.health().clone());

    // All transactions are active again before any thread reads a row.
    let (ddl, others): (Vec<_>, Vec<_>) = unfinished.into_iter().partition(|log| log.dictionary);
    let ddl: Vec<_> = ddl.into_iter().map(|log| resume(log, &registry, &locks)).collect();
    let others: Vec<_> = others.into_iter().map(|log| (log.prepared, resume(log, &registry, &locks))).collect();
    let purge_view = row::PurgeView::new(&registry);
    let context = row::Context {
        store: &store,
        undo: &undo,
        locks: &locks,
        registry: &registry,
        purge: &purge_view,
        foreign: None,
        generator: None,
    };
    report.ddl_rolled_back = ddl.len() as u64;
    for trx in ddl {
        roll_back(&context, trx, &|id| dictionary.system.by_id(id))?;
    }
    let unreadable = load(&context, &dictionary, &mut report)?;
    let mut unfinished = Vec::new();
    let mut budget = SURVEYED_AT_START;
    for (prepared, trx) in others {
        match prepared {
            true => report.transactions_prepared += 1,
            false => report.transactions_to_roll_back += 1,
        }
        unfinished.push(hold(&context, &dictionary, trx, prepared, &unreadable, &mut budget)?);
    }
    remove_leftovers(&store)?;
    store.trash().find()?;
    let actions = dictionary.system.actions(&context)?;
    report.ddl_actions = actions.len() as u64;
    dictionary::run_actions(&context, &dictionary, actions)?;
    Ok(Opened { store, undo, locks, registry, purge_view, dictionary, unfinished, unreadable, report })
}

/// Makes an open transaction active again under its old id: so the rows that it changed are locked, and
/// invisible to others.
fn resume(log: RecoveredLog, registry: &Registry, locks: &LockTable) -> Transaction {
    let interrupt = Arc::new(Interrupt::new());
    let mut trx = Transaction::new(Isolation::RepeatableRead, interrupt, Duration::ZERO);
    registry.resume(log.trx_id);
    locks.begin(&mut trx.locks, log.trx_id);
    trx.id = log.trx_id;
    trx.undo = log.undo;
    trx
}

/// Protects the tables that a transaction has changed from DDL until it has ended.
fn hold(
    context: &row::Context<'_>,
    dictionary: &Dictionary,
    trx: Transaction,
    prepared: bool,
    unreadable: &FxHashMap<TableId, String>,
    budget: &mut u64,
) -> Result<Unfinished> {
    let mut survey = Survey::new(&trx.undo);
    let limit = if prepared { u64::MAX } else { *budget };
    let complete = context.undo.survey(context.store, &trx.undo, &mut survey, limit)?;
    *budget = budget.saturating_sub(survey.records);
    let mut metadata = MetadataHeld::default();
    let share = |metadata: &mut MetadataHeld, table: &schema::Table| {
        // No other session exists yet that could hold the lock.
        let lock = dictionary.table_lock(&table.database, &table.name);
        metadata.share(&lock, TableUse::Write, &trx.interrupt, Duration::ZERO)
    };
    if !complete {
        let mut tables = Vec::new();
        for table in dictionary.all_files() {
            let mut held = MetadataHeld::default();
            share(&mut held, &table)?;
            tables.push((table.id, held));
        }
        let records = trx.undo.left();
        let survey = Some(Unsurveyed { survey, tables });
        return Ok(Unfinished { trx, metadata, prepared, records, survey, unreadable: None });
    }
    for table in survey.tables.iter().filter_map(|id| dictionary.by_id(*id)) {
        share(&mut metadata, &table)?;
    }
    let unreadable = survey.tables.iter().find_map(|id| unreadable.get(id)).cloned();
    Ok(Unfinished { trx, metadata, prepared, records: survey.records, survey: None, unreadable })
}

fn roll_back(
    context: &row::Context<'_>,
    mut trx: Transaction,
    tables: &dyn Fn(TableId) -> Option<Arc<row::Table>>,
) -> Result<()> {
    row::rollback(context, &mut trx, tables, UndoNo(0))?;
    trx.end_rollback(context.store, context.undo, context.registry, context.locks)
}

/// Fills the cache from the system tables, and opens the files of all tables. Returns those that cannot be read.
fn load(
    context: &row::Context<'_>,
    dictionary: &Dictionary,
    report: &mut RecoveryReport,
) -> Result<FxHashMap<TableId, String>> {
    let mut unreadable = FxHashMap::default();
    let contents = dictionary.system.load(context, !report.was_clean())?;
    for (id, error) in contents.damaged {
        report.damaged.push(format!("description of table {id}: {error}"));
        unreadable.insert(id, id.to_string());
    }
    for database in contents.databases {
        dictionary.put_database(database);
    }
    load_definitions(context, dictionary, report)?;
    let config = context.store.config();
    // An unfinished DDL statement may have left a file under another name.
    let paths: FxHashMap<SpaceId, &str> = report.pages.spaces.iter().map(|(id, path)| (*id, path.as_str())).collect();
    let open = |table: &Arc<schema::Table>| {
        if dictionary.database(&table.database).is_none() {
            return Err(Error::NotFound("its database".into()));
        }
        for file in table.files() {
            let usual = dictionary::file_path(file);
            let path = paths.get(&file.space).copied().unwrap_or(&usual);
            let transform = dictionary::transform(&file.options, &config);
            open_space(context.store, file.space, path, transform)?;
        }
        row::Table::open(context.store, table.clone())
    };
    // Opening a table reads its roots: many tables are opened in parallel.
    let tables: Vec<_> = contents.tables.into_iter().map(Arc::new).collect();
    let workers = if config.background_threads { LOADERS } else { 1 };
    let shares: Vec<_> = tables.chunks(tables.len().div_ceil(workers).max(1)).collect();
    let opened = sync::in_parallel(&shares, |share| share.iter().map(open).collect::<Vec<_>>());
    for (table, opened) in tables.iter().zip(opened.into_iter().flatten()) {
        match opened {
            Ok(rows) => {
                dictionary.put_table(rows, TrxId(0));
                for file in table.files() {
                    if let Some(space) = context.store.space(file.space) {
                        space.set_atomic_writes(file.options.atomic_writes);
                    }
                }
            }
            Err(error) => {
                report.damaged.push(format!("{}: {error}", table.full_name()));
                unreadable.insert(table.id, table.full_name().to_string());
                for file in table.files() {
                    unreadable.insert(file.id, table.full_name().to_string());
                }
                if dictionary.database(&table.database).is_some() {
                    dictionary.put_unavailable(&table.database, &table.name, error);
                }
            }
        }
    }
    look_aside(context.store, dictionary, &tables, report, &mut unreadable)?;
    Ok(unreadable)
}

fn load_definitions(context: &row::Context<'_>, dictionary: &Dictionary, report: &mut RecoveryReport) -> Result<()> {
    let (added, orphans): (Vec<_>, Vec<_>) = dictionary
        .system
        .definitions(context)?
        .into_iter()
        .partition(|definition| dictionary.database(&definition.database).is_some());
    for orphan in orphans {
        report.damaged.push(format!("{}.{}: a definition without its database", orphan.database, orphan.name));
    }
    dictionary.definitions.change(DefinitionChanges { removed: Vec::new(), added });
    Ok(())
}

/// Checks whether the pages whose redo was put aside can be read now. If not, their tables are left out again.
fn look_aside(
    store: &Store,
    dictionary: &Dictionary,
    tables: &[Arc<schema::Table>],
    report: &mut RecoveryReport,
    unreadable: &mut FxHashMap<TableId, String>,
) -> Result<()> {
    let mut over = Vec::new();
    for aside in store.set_aside() {
        let page = aside.page;
        let has_it = |table: &&Arc<schema::Table>| table.files().any(|file| file.space == page.space);
        let Some(table) = tables.iter().find(has_it) else {
            // It was dropped.
            over.push(page);
            continue;
        };
        let Some(space) = store.space(page.space) else { continue };
        let mut bytes = AlignedBuffer::new(store.page_bytes());
        let newest = aside.groups.last().map_or(Lsn::ZERO, |(_, end, _)| *end);
        let has_it_all =
            space.read_page(page.page, &mut bytes[..store.page_bytes()]).is_ok() && header::lsn(&bytes) >= newest;
        if has_it_all {
            space.sync()?;
            over.push(page);
            continue;
        }
        let what = match store.read(page) {
            Ok(bytes) if !header::is_zero(&bytes) => continue,
            Ok(_) => aside.why,
            Err(Error::Corrupt { what, .. }) => what,
            Err(error) => return Err(error),
        };
        store.pool().damage().refuse(page, &what);
        let why = Error::corrupt_page(page, what);
        report.damaged.push(format!("{}: {why}", table.full_name()));
        unreadable.extend(table.files().map(|file| (file.id, table.full_name().to_string())));
        dictionary.refuse(&table.database, &table.name, why);
    }
    store.forget_aside(&over)
}

/// Removes the files of sorts and backups that a crash interrupted.
fn remove_leftovers(store: &Store) -> Result<()> {
    let disk = store.disk();
    for entry in disk.list("").map_err(Error::io("list the data directory"))? {
        let leftover = entry.name.starts_with(SCRATCH_FILE_PREFIX) || entry.name == ARCHIVE_FILE_NAME;
        if leftover && !entry.is_directory {
            disk.remove(&entry.name).map_err(Error::io("remove a temporary file"))?;
        }
    }
    Ok(())
}
