//! InnoDB's own views: where compression shows what it saves.
//!
//! FILE_SIZE is what `ls -l` says, ALLOCATED_SIZE what the blocks on the device
//! say, both read from the filesystem when asked. COMPRESSION is the setting of
//! now: pages written before it was changed are stored as they were.

use format::fulltext::DEFAULT_STOPWORDS;
use format::value::Value;
use storage::TablespaceInfo;
use storage::schema::Compression;

use super::{Facts, VirtualTable, int, number, optional, string, text};
use crate::describe;

/// MySQL 5.7's name and columns, and MariaDB's FILENAME behind them.
pub const INNODB_SYS_TABLESPACES: VirtualTable = VirtualTable {
    name: "INNODB_SYS_TABLESPACES",
    columns: &[
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
        text("FILENAME", 1024),
    ],
    rows: |facts| {
        let row = |space: &TablespaceInfo| {
            vec![
                Value::UInt(u64::from(space.space)),
                string(&space.name),
                Value::UInt(u64::from(space.flags)),
                string("Barracuda"),
                string(row_format(space)),
                Value::UInt(space.page_bytes),
                Value::UInt(0),
                string(space_type(space)),
                Value::UInt(space.block_bytes),
                Value::UInt(space.file_bytes),
                Value::UInt(space.allocated_bytes),
                string(compression(space.compression)),
                string(format!("./{}", space.path)),
            ]
        };
        tablespaces(facts).iter().map(row).collect()
    },
};

/// MySQL 8.0's columns in its order; behind them COMPRESSION, which 5.7's view had.
pub const INNODB_TABLESPACES: VirtualTable = VirtualTable {
    name: "INNODB_TABLESPACES",
    columns: &[
        number("SPACE"),
        text("NAME", 655),
        number("FLAG"),
        text("ROW_FORMAT", 22),
        number("PAGE_SIZE"),
        number("ZIP_PAGE_SIZE"),
        text("SPACE_TYPE", 10),
        number("FS_BLOCK_SIZE"),
        number("FILE_SIZE"),
        number("ALLOCATED_SIZE"),
        number("AUTOEXTEND_SIZE"),
        text("SERVER_VERSION", 10),
        number("SPACE_VERSION"),
        text("ENCRYPTION", 1),
        text("STATE", 10),
        text("COMPRESSION", 12),
        int("COMPRESSION_LEVEL"),
    ],
    rows: |facts| {
        let row = |space: &TablespaceInfo| {
            vec![
                Value::UInt(u64::from(space.space)),
                string(&space.name),
                Value::UInt(u64::from(space.flags)),
                string(row_format(space)),
                Value::UInt(space.page_bytes),
                Value::UInt(0),
                string(space_type(space)),
                Value::UInt(space.block_bytes),
                Value::UInt(space.file_bytes),
                Value::UInt(space.allocated_bytes),
                Value::UInt(0),
                string("8.0.36"),
                Value::UInt(1),
                string(if space.encrypted { "Y" } else { "N" }),
                string(if space.name.starts_with("innodb_undo") { "active" } else { "normal" }),
                string(compression(space.compression)),
                Value::Int(i64::from(space.compression_level)),
            ]
        };
        tablespaces(facts).iter().map(row).collect()
    },
};

pub const INNODB_TABLESPACES_BRIEF: VirtualTable = VirtualTable {
    name: "INNODB_TABLESPACES_BRIEF",
    columns: &[number("SPACE"), text("NAME", 655), text("PATH", 1024), number("FLAG"), text("SPACE_TYPE", 10)],
    rows: |facts| {
        let row = |space: &TablespaceInfo| {
            vec![
                Value::UInt(u64::from(space.space)),
                string(&space.name),
                string(format!("./{}", space.path)),
                Value::UInt(u64::from(space.flags)),
                string(space_type(space)),
            ]
        };
        tablespaces(facts).iter().map(row).collect()
    },
};

pub const INNODB_DATAFILES: VirtualTable = VirtualTable {
    name: "INNODB_DATAFILES",
    columns: &[number("SPACE"), text("PATH", 1024)],
    rows: |facts| {
        let row =
            |space: &TablespaceInfo| vec![Value::UInt(u64::from(space.space)), string(format!("./{}", space.path))];
        tablespaces(facts).iter().map(row).collect()
    },
};

/// A row of zeros for each size that such pages can have.
fn nothing_by_page_size() -> Vec<Vec<Value>> {
    let row = |page_bytes: i64| {
        let mut row = vec![Value::Int(0); 6];
        row[0] = Value::Int(page_bytes);
        row
    };
    [1024, 2048, 4096, 8192, 16384].map(row).into()
}

/// What ROW_FORMAT=COMPRESSED has done, by its page sizes: there are no such pages here, so nothing.
pub const INNODB_CMP: VirtualTable = VirtualTable {
    name: "INNODB_CMP",
    columns: &[
        int("page_size"),
        int("compress_ops"),
        int("compress_ops_ok"),
        int("compress_time"),
        int("uncompress_ops"),
        int("uncompress_time"),
    ],
    rows: |_| nothing_by_page_size(),
};

/// The memory for such pages, which mysqld_exporter asks for unless told otherwise.
pub const INNODB_CMPMEM: VirtualTable = VirtualTable {
    name: "INNODB_CMPMEM",
    columns: &[
        int("page_size"),
        int("buffer_pool_instance"),
        int("pages_used"),
        int("pages_free"),
        int("relocation_ops"),
        int("relocation_time"),
    ],
    rows: |_| nothing_by_page_size(),
};

/// The tablespaces of the moment. A file that vanished between listing and asking has no facts; the error log has the
/// reason.
fn tablespaces(facts: &Facts<'_>) -> Vec<TablespaceInfo> {
    facts.instance.engine.tablespaces().unwrap_or_default()
}

fn space_type(space: &TablespaceInfo) -> &'static str {
    match () {
        () if !space.system => "Single",
        () if space.name.starts_with("innodb_undo") => "Undo",
        () => "System",
    }
}

fn row_format(space: &TablespaceInfo) -> &'static str {
    match space_type(space) {
        "Single" => "Dynamic",
        "Undo" => "Undo",
        _ => "Compact or Redundant",
    }
}

/// As MySQL's view writes it.
pub(super) fn compression(setting: Compression) -> String {
    match setting.name() {
        "" | "none" => "None".into(),
        "zlib" => "Zlib".into(),
        other => other.to_ascii_uppercase(),
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
            for table in engine.tables(&database.name).iter().flat_map(|table| table.files()) {
                let options = describe::create_options(&table.options).join(" ");
                rows.push(vec![
                    Value::UInt(table.id.0),
                    string(format!("{}/{}", table.database, table.file_name())),
                    Value::Int(33),
                    // InnoDB counts its three hidden columns.
                    Value::Int(table.columns.len() as i64 + 3),
                    Value::UInt(u64::from(table.space.0)),
                    string(describe::row_format(table.options.row_format)),
                    Value::UInt(0),
                    string("Single"),
                    // Of an older form of instant ALTER, which there is not here.
                    Value::Int(0),
                    Value::Int(i64::from(table.total_row_versions())),
                    optional(Some(options).filter(|options| !options.is_empty())),
                ]);
            }
        }
        rows
    },
};

/// The words that a full-text index leaves out unless it was told otherwise.
pub const INNODB_FT_DEFAULT_STOPWORD: VirtualTable = VirtualTable {
    name: "INNODB_FT_DEFAULT_STOPWORD",
    columns: &[text("value", 18)],
    rows: |_| DEFAULT_STOPWORDS.iter().map(|word| vec![string(word)]).collect(),
};

/// The temporary tables of all sessions. Their names are those of their files, for several may have one name.
pub const INNODB_TEMP_TABLE_INFO: VirtualTable = VirtualTable {
    name: "INNODB_TEMP_TABLE_INFO",
    columns: &[number("TABLE_ID"), text("NAME", 64), number("N_COLS"), number("SPACE")],
    rows: |facts| {
        let engine = &facts.instance.engine;
        let name = |space: u32| match engine.tablespace(space) {
            Ok(Some(info)) => {
                info.path.rsplit('/').next().and_then(|file| file.strip_suffix(".ibt")).map(str::to_string)
            }
            _ => None,
        };
        let tables = engine.all_temporary_tables();
        tables
            .iter()
            .map(|table| {
                vec![
                    Value::UInt(table.id.0),
                    optional(name(table.space.0)),
                    // InnoDB counts its three hidden columns.
                    Value::UInt(table.columns.len() as u64 + 3),
                    Value::UInt(u64::from(table.space.0)),
                ]
            })
            .collect()
    },
};
