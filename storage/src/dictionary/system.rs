//! The tables that describe all others, and the page with their roots.
//!
//! They are ordinary tables in the system tablespace, read and changed with the same row operations as users' tables;
//! only their own description is in the code and not in a row.
//!
//! ```text
//! databases   name* | id, collation and whether it is read only
//! tables      id* | database, name, space, created, options and foreign keys
//! columns     table id*, position* | definition
//! indexes     table id*, position* | index id, root, definition
//! ddl_log     id* | entry
//! definitions database*, kind*, name* | table, bytes                 (* key)
//! statistics  table id*, kind*, name* | bytes
//!
//! dictionary header page (space 0, page 7)
//!     38  8  next DB_ROW_ID, see transaction::registry
//!     46  8  next table id
//!     54  8  next index id
//!     62  4  next space id
//!     66  4  0
//!     70  8  next id of the DDL log
//!     78  4  version of the dictionary
//!     82  4  x 7 root pages of the system tables, in the order above
//! ```
//!
//! Version 1 had no definitions, version 2 no statistics: such an instance gets the tables when it is opened. Earlier servers,
//! which would not see the names of views, or leave statistics to tables that are gone, refuse a later version.

use std::sync::Arc;

use format::ids::{IndexId, PageId, PageNo, SpaceId, TableId};
use format::page::header::PageType;
use format::redo::PageOp;
use format::value::{ColumnType, LobSize};

use super::describe::{Identity, describe};
use crate::btree;
use crate::error::{Error, Result};
use crate::mtr::Mtr;
use crate::schema::{self, Column, Compression, IndexDefinition, PRIMARY, TableDefinition, TableOptions};
use crate::segment::{self, Direction};
use crate::store::Store;

/// The header page. Its page number, and that of the transaction system page, are InnoDB's.
pub const HEADER: PageId = PageId::new(SpaceId(0), PageNo(7));

const NEXT_TABLE_ID: usize = 46;
const NEXT_INDEX_ID: usize = 54;
const NEXT_SPACE_ID: usize = 62;
const NEXT_LOG_ID: usize = 70;
const DICTIONARY_VERSION: usize = 78;
const ROOTS: usize = 82;
const VERSION: u32 = 3;
/// The version that had only the first so many tables. Each later one has one more.
const FIRST_VERSION: u32 = 1;
const FIRST_TABLES: usize = 5;

/// The database of the system tables: users cannot name it.
pub const DATABASE: &str = "#system";
pub const PATH: &str = "ibdata1";

/// The system tables, in the order of their roots; a table's id is its position plus one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemTable {
    Databases,
    Tables,
    Columns,
    Indexes,
    DdlLog,
    Definitions,
    Statistics,
}

pub const SYSTEM_TABLES: [SystemTable; 7] = [
    SystemTable::Databases,
    SystemTable::Tables,
    SystemTable::Columns,
    SystemTable::Indexes,
    SystemTable::DdlLog,
    SystemTable::Definitions,
    SystemTable::Statistics,
];

/// Ids of users' tables and indexes begin here.
const FIRST_USER_ID: u64 = 1024;

/// Whether a table is one of the above.
pub fn is_system(table: TableId) -> bool {
    table.0 < FIRST_USER_ID
}

fn column(name: &str, ty: ColumnType) -> Column {
    Column::new(name, ty, false)
}

const ID: ColumnType = ColumnType::Int { bytes: 8, unsigned: true };
const NUMBER: ColumnType = ColumnType::Int { bytes: 4, unsigned: true };
/// Names have at most 64 characters of at most 4 bytes.
const NAME: ColumnType = ColumnType::VarBinary { bytes: 256 };
const BYTES: ColumnType = ColumnType::Blob { size: LobSize::Long };

impl SystemTable {
    pub fn id(self) -> TableId {
        TableId(self as u64 + 1)
    }

    fn definition(self) -> TableDefinition {
        let (name, key, columns): (_, &[usize], _) = match self {
            SystemTable::Databases => {
                ("databases", &[0], vec![column("name", NAME), column("id", ID), column("collation", NUMBER)])
            }
            SystemTable::Tables => (
                "tables",
                &[0],
                vec![
                    column("id", ID),
                    column("database", NAME),
                    column("name", NAME),
                    column("space", NUMBER),
                    column("created", ID),
                    column("options", BYTES),
                ],
            ),
            SystemTable::Columns => {
                ("columns", &[0, 1], vec![column("table", ID), column("position", NUMBER), column("definition", BYTES)])
            }
            SystemTable::Indexes => (
                "indexes",
                &[0, 1],
                vec![
                    column("table", ID),
                    column("position", NUMBER),
                    column("id", ID),
                    column("root", NUMBER),
                    column("definition", BYTES),
                ],
            ),
            SystemTable::DdlLog => ("ddl_log", &[0], vec![column("id", ID), column("entry", BYTES)]),
            SystemTable::Definitions => (
                "definitions",
                &[0, 1, 2],
                vec![
                    column("database", NAME),
                    column("kind", NUMBER),
                    column("name", NAME),
                    column("table", NAME),
                    column("bytes", BYTES),
                ],
            ),
            SystemTable::Statistics => (
                "statistics",
                &[0, 1, 2],
                vec![column("table", ID), column("kind", NUMBER), column("name", NAME), column("bytes", BYTES)],
            ),
        };
        TableDefinition {
            database: DATABASE.into(),
            name: name.into(),
            columns,
            indexes: vec![IndexDefinition::new(PRIMARY, true, key)],
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            options: TableOptions { compression: Compression::NONE, ..TableOptions::default() },
            partitioning: None,
            auto_increment_start: 0,
            renamed_columns: Vec::new(),
        }
    }

    /// Its description.
    pub fn describe(self, root: PageNo) -> Result<schema::Table> {
        let identity = Identity {
            id: self.id(),
            space: SpaceId(0),
            created_us: 0,
            indexes: vec![(IndexId(self as u64 + 1), root)],
            row_versions: None,
            partitions: Vec::new(),
        };
        describe(&self.definition(), &identity)
    }
}

/// Makes the fixed pages of a new system tablespace and the system tables in it, empty.
pub fn create(store: &Store) -> Result<()> {
    create_first(store)?;
    upgrade(store)
}

/// The same as the first version made them.
pub fn create_first(store: &Store) -> Result<()> {
    let mut mtr = Mtr::begin(store);
    segment::init_space(&mut mtr, SpaceId(0), segment::space_flags(store.page_bytes()))?;
    // Pages 3 to 7, so that the transaction system page and the dictionary header have InnoDB's numbers.
    let fixed = segment::create(&mut mtr, SpaceId(0))?;
    for number in 3..=HEADER.page.0 {
        let page = segment::allocate_page(&mut mtr, fixed, PageNo(number), Direction::Up)?;
        assert_eq!(mtr.page_id(page).page, PageNo(number), "a new tablespace gives its pages in order");
        let page_type = if number == format::page::undo::TRX_SYS_PAGE { PageType::TRX_SYS } else { PageType::SYS };
        let id = PageId::new(SpaceId(0), PageNo(number));
        mtr.apply(page, PageOp::Init { id, page_type }).expect("any page can be made anew");
    }
    crate::transaction::Registry::create(&mut mtr)?;
    let header = mtr.latch_exclusive(HEADER)?;
    mtr.write(header, NEXT_TABLE_ID, &FIRST_USER_ID.to_be_bytes());
    mtr.write(header, NEXT_INDEX_ID, &FIRST_USER_ID.to_be_bytes());
    mtr.write(header, NEXT_SPACE_ID, &1u32.to_be_bytes());
    mtr.write(header, NEXT_LOG_ID, &1u64.to_be_bytes());
    mtr.write(header, DICTIONARY_VERSION, &FIRST_VERSION.to_be_bytes());
    mtr.commit();
    SYSTEM_TABLES[..FIRST_TABLES].iter().try_for_each(|table| create_tree(store, *table, FIRST_VERSION))
}

/// Makes the tree of one table, after which the dictionary has this version.
fn create_tree(store: &Store, table: SystemTable, version: u32) -> Result<()> {
    let mut mtr = Mtr::begin(store);
    let header = mtr.latch_exclusive(HEADER)?;
    let root = btree::create(&mut mtr, SpaceId(0), IndexId(table as u64 + 1))?;
    mtr.write(header, ROOTS + 4 * table as usize, &root.0.to_be_bytes());
    mtr.write(header, DICTIONARY_VERSION, &version.to_be_bytes());
    mtr.commit();
    Ok(())
}

/// Adds what the first version lacked.
fn upgrade(store: &Store) -> Result<()> {
    let version = format::bytes::get_u32(&store.read(HEADER)?, DICTIONARY_VERSION);
    let lacking = match version {
        FIRST_VERSION..VERSION => &SYSTEM_TABLES[FIRST_TABLES + (version - FIRST_VERSION) as usize..],
        _ => &[],
    };
    (version + 1..).zip(lacking).try_for_each(|(version, table)| create_tree(store, *table, version))
}

/// The descriptions of the system tables.
pub fn open(store: &Store) -> Result<Vec<Arc<schema::Table>>> {
    upgrade(store)?;
    let header = store.read(HEADER)?;
    let version = format::bytes::get_u32(&header, DICTIONARY_VERSION);
    if format::page::header::is_zero(&header) {
        return Err(Error::corrupt_page(HEADER, "the dictionary was never written"));
    }
    if version != VERSION {
        return Err(Error::Unsupported(format!("a dictionary of version {version}").into()));
    }
    let roots: Vec<PageNo> = SYSTEM_TABLES
        .iter()
        .map(|table| PageNo(format::bytes::get_u32(&header, ROOTS + 4 * *table as usize)))
        .collect();
    drop(header);
    SYSTEM_TABLES.iter().zip(roots).map(|(table, root)| Ok(Arc::new(table.describe(root)?))).collect()
}

/// Ids for what a DDL statement creates. They are never given again, even if the statement fails.
#[derive(Clone, Debug)]
pub struct NewIds {
    pub table: TableId,
    pub space: SpaceId,
    /// Of so many indexes, from this one.
    pub index: IndexId,
}

pub fn new_ids(store: &Store, indexes: usize) -> Result<NewIds> {
    let mut mtr = Mtr::begin(store);
    let header = mtr.latch_exclusive(HEADER)?;
    let page = mtr.page(header);
    let table = format::bytes::get_u64(page, NEXT_TABLE_ID);
    let index = format::bytes::get_u64(page, NEXT_INDEX_ID);
    let space = format::bytes::get_u32(page, NEXT_SPACE_ID);
    let (next_table, next_index) = (table.checked_add(1), index.checked_add(indexes as u64));
    let (Some(next_table), Some(next_index)) = (next_table, next_index) else {
        return Err(mtr.corrupt(header, "the next ids"));
    };
    if space >= SpaceId::TEMPORARY_FIRST.0 {
        return Err(mtr.corrupt(header, "the next tablespace is of those that do not stay"));
    }
    mtr.write(header, NEXT_TABLE_ID, &next_table.to_be_bytes());
    mtr.write(header, NEXT_INDEX_ID, &next_index.to_be_bytes());
    mtr.write(header, NEXT_SPACE_ID, &(space + 1).to_be_bytes());
    mtr.commit();
    Ok(NewIds { table: TableId(table), space: SpaceId(space), index: IndexId(index) })
}

/// A number for an entry of the DDL log: later entries have larger ones.
pub fn new_log_id(store: &Store) -> Result<u64> {
    let mut mtr = Mtr::begin(store);
    let header = mtr.latch_exclusive(HEADER)?;
    let id = format::bytes::get_u64(mtr.page(header), NEXT_LOG_ID);
    mtr.write(header, NEXT_LOG_ID, &(id + 1).to_be_bytes());
    mtr.commit();
    Ok(id)
}
