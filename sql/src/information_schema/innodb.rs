//! InnoDB's own views: where compression shows what it saves.
//!
//! FILE_SIZE is what `ls -l` says, ALLOCATED_SIZE what the blocks on the device
//! say, both read from the filesystem when asked. COMPRESSION is the setting of
//! now: pages written before it was changed are stored as they were.

use format::value::Value;
use storage::schema::Compression;

use super::{Facts, VirtualColumn, VirtualTable, int, number, optional, string, text};
use crate::describe;

pub const INNODB_SYS_TABLESPACES: VirtualTable = VirtualTable {
    name: "INNODB_SYS_TABLESPACES",
    columns: TABLESPACE_COLUMNS.split_at(MON_01).0,
    rows: |facts| tablespaces(facts, MON_01),
};

/// MySQL 8.0's name, with the older view's columns first, so that queries written for either find theirs.
pub const INNODB_TABLESPACES: VirtualTable = VirtualTable {
    name: "INNODB_TABLESPACES",
    columns: TABLESPACE_COLUMNS,
    rows: |facts| tablespaces(facts, TABLESPACE_COLUMNS.len()),
};

/// How many of the columns MySQL 5.7 has.
const MON_01: usize = 12;

const TABLESPACE_COLUMNS: &[VirtualColumn] = &[
    number("SPACE"),
    text("NAME", 655),
    number("FLAG"),
    text("FILE_FORMAT", 10),
    text("ROW_FORMAT", 22),
    number("PAGE_SIZE"),
    number("ZIP_PAGE_SIZE"),
    text("SPACE_TYPE", 10),
    number("FS_BLOCK_SIZE"),
    number("FILE_SIZE"),
    number("ALLOCATED_SIZE"),
    text("COMPRESSION", 12),
    number("AUTOEXTEND_SIZE"),
    text("SERVER_VERSION", 10),
    number("SPACE_VERSION"),
    text("ENCRYPTION", 1),
    text("STATE", 10),
    int("COMPRESSION_LEVEL"),
    text("PUNCH_HOLE", 3),
];

fn tablespaces(facts: &Facts<'_>, columns: usize) -> Vec<Vec<Value>> {
    // A file that vanished between listing and asking has no facts; the error log has the reason.
    let spaces = facts.instance.engine.tablespaces().unwrap_or_default();
    spaces
        .iter()
        .map(|space| {
            let kind = match () {
                () if !space.system => "Single",
                () if space.name.contains("undo") => "Undo",
                () => "System",
            };
            let mut row = vec![
                Value::UInt(u64::from(space.space)),
                string(&space.name),
                Value::UInt(u64::from(space.flags)),
                string("Barracuda"),
                string(if space.system { "Compact or Redundant" } else { "Dynamic" }),
                Value::UInt(space.page_bytes),
                Value::UInt(0),
                string(kind),
                Value::UInt(space.block_bytes),
                Value::UInt(space.file_bytes),
                Value::UInt(space.allocated_bytes),
                string(compression(space.compression)),
                Value::UInt(0),
                string("8.0.36"),
                Value::UInt(1),
                string("N"),
                string("normal"),
                Value::Int(i64::from(space.compression_level)),
                string(if space.punch { "YES" } else { "NO" }),
            ];
            row.truncate(columns);
            row
        })
        .collect()
}

/// As MySQL's view writes it.
fn compression(setting: Compression) -> &'static str {
    match setting {
        Compression::Default | Compression::None => "None",
        Compression::Zlib => "Zlib",
        Compression::Lz4 => "LZ4",
        Compression::Zstd => "ZSTD",
    }
}

/// Files of dropped tables that are being removed, bit by bit.
pub const GLASSINE_DROPPED_FILES: VirtualTable = VirtualTable {
    name: "GLASSINE_DROPPED_FILES",
    columns: &[number("SPACE"), text("NAME", 64), number("FILE_SIZE")],
    rows: |facts| {
        let waiting = facts.instance.engine.store().trash().waiting().into_iter();
        let row = |dropped: storage::Dropped| {
            let name = string(dropped.path?);
            Some(vec![Value::UInt(u64::from(dropped.space.0)), name, Value::UInt(dropped.file_bytes)])
        };
        waiting.filter_map(row).collect()
    },
};

pub const INNODB_TABLES: VirtualTable = VirtualTable {
    name: "INNODB_TABLES",
    columns: &[
        number("TABLE_ID"),
        text("NAME", 655),
        int("FLAG"),
        int("N_COLS"),
        number("SPACE"),
        text("ROW_FORMAT", 12),
        number("ZIP_PAGE_SIZE"),
        text("SPACE_TYPE", 10),
        int("INSTANT_COLS"),
        int("TOTAL_ROW_VERSIONS"),
        text("CREATE_OPTIONS", 256),
    ],
    rows: |facts| {
        let engine = &facts.instance.engine;
        let mut rows = Vec::new();
        for database in engine.databases() {
            for table in engine.tables(&database.name) {
                let options = describe::create_options(&table.options).join(" ");
                rows.push(vec![
                    Value::UInt(table.id.0),
                    string(format!("{}/{}", table.database, table.name)),
                    Value::Int(33),
                    // InnoDB counts its three hidden columns.
                    Value::Int(table.columns.len() as i64 + 3),
                    Value::UInt(u64::from(table.space.0)),
                    string(describe::row_format(table.options.row_format)),
                    Value::UInt(0),
                    string("Single"),
                    Value::Int(0),
                    Value::Int(0),
                    optional(Some(options).filter(|options| !options.is_empty())),
                ]);
            }
        }
        rows
    },
};
