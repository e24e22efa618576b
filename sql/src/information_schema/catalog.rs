//! Schemas, tables, columns and keys: the standard's part of information_schema.

use format::collation::collation;
use format::value::{ColumnType, DateTime, LobSize, Value, Zone};
use storage::schema::{Column, Table};

use super::views::views;
use super::wanted::{stored_tables, virtual_tables};
use super::{
    Facts, VirtualTable, exact, int, long_exact, long_text, no_rows, number, optional, small, string, text, time, yes,
};
use crate::accounts::Privileges;
use crate::describe;
use crate::expression::geometry::name_and_text;
use crate::expression::spatial_key;
use crate::sequences;
use crate::views::View;

pub const SCHEMATA: VirtualTable = VirtualTable {
    name: "SCHEMATA",
    columns: &[
        exact("CATALOG_NAME", 64),
        exact("SCHEMA_NAME", 64),
        text("DEFAULT_CHARACTER_SET_NAME", 64),
        text("DEFAULT_COLLATION_NAME", 64),
        text("SQL_PATH", 512),
        exact("DEFAULT_ENCRYPTION", 3),
    ],
    rows: |facts| {
        // `mysql` may have stored tables beside the virtual ones, and then exists in both ways.
        let listed = super::DATABASES.iter().filter(|name| may_be_loaded(name) || !dumps(facts));
        let virtual_ones = listed.map(|name| (name.to_string(), super::NAMES));
        let stored = facts.instance.engine.databases();
        let stored = stored.iter().filter(|database| !super::is_virtual(&database.name));
        let stored = stored.map(|database| (database.name.to_string(), database.collation));
        let mut all: Vec<_> = virtual_ones.chain(stored).collect();
        all.sort();
        all.into_iter()
            .filter(|(name, _)| facts.rights.sees_database(name))
            .map(|(name, id)| {
                let own = collation(id);
                vec![
                    string("def"),
                    string(name),
                    string(own.charset.name()),
                    string(own.name),
                    Value::Null,
                    string("NO"),
                ]
            })
            .collect()
    },
};

/// Programs that dump pass over the other databases of the server's own by themselves. These two they would take with
/// them, and what loads the dump could not make their tables, or would drop its own.
fn may_be_loaded(database: &str) -> bool {
    !["mysql", "sys"].contains(&database)
}

/// Whether the client says of itself that it dumps.
fn dumps(facts: &Facts<'_>) -> bool {
    let is_known = |name: &str| ["mysqldump", "mariadb-dump", "mysqlpump", "mydumper"].contains(&name);
    facts.process.attributes().iter().any(|(name, value)| name == "program_name" && is_known(value))
}

/// A moment in microseconds since 1970, in the session's zone; 0 is never.
pub fn moment(facts: &Facts<'_>, us: u64) -> Value {
    let moment = if us == 0 { None } else { i64::try_from(us).ok() };
    let moment = moment.and_then(|us| DateTime::from_unix_micros(us - us % 1_000_000, facts.zone));
    moment.map_or(Value::Null, Value::DateTime)
}

pub const TABLES: VirtualTable = VirtualTable {
    name: "TABLES",
    columns: &[
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        exact("TABLE_TYPE", 11),
        text("ENGINE", 64),
        int("VERSION"),
        exact("ROW_FORMAT", 10),
        number("TABLE_ROWS"),
        number("AVG_ROW_LENGTH"),
        number("DATA_LENGTH"),
        number("MAX_DATA_LENGTH"),
        number("INDEX_LENGTH"),
        number("DATA_FREE"),
        number("AUTO_INCREMENT"),
        time("CREATE_TIME"),
        time("UPDATE_TIME"),
        time("CHECK_TIME"),
        text("TABLE_COLLATION", 64),
        number("CHECKSUM"),
        text("CREATE_OPTIONS", 256),
        text("TABLE_COMMENT", 2048),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for (database, table) in virtual_tables(facts) {
            let mut row = vec![string("def"), string(database), string(table.name), string("SYSTEM VIEW")];
            row.resize(20, Value::Null);
            row.push(string(""));
            rows.push(row);
        }
        rows.extend(stored_tables(facts).iter().map(|table| table_row(facts, table)));
        rows.extend(views(facts).iter().map(|view| view_row(facts, view)));
        rows
    },
};

fn view_row(facts: &Facts<'_>, definition: &storage::Definition) -> Vec<Value> {
    let created = View::decode(&definition.bytes).map_or(0, |view| view.created_us);
    let mut row = vec![string("def"), string(&definition.database), string(&definition.name), string("VIEW")];
    row.resize(20, Value::Null);
    row[14] = moment(facts, created);
    row.push(string("VIEW"));
    row
}

/// A table option in MySQL's letters: the names that InnoDB reads are large, the server's own are small.
fn as_shown(option: String) -> String {
    const SMALL: [&str; 8] = [
        "ROW_FORMAT=",
        "MAX_ROWS=",
        "MIN_ROWS=",
        "AVG_ROW_LENGTH=",
        "CHECKSUM=",
        "PACK_KEYS=",
        "DELAY_KEY_WRITE=",
        "STATS_",
    ];
    match option.split_once('=') {
        Some((name, value)) if SMALL.iter().any(|small| option.starts_with(small)) => {
            format!("{}={value}", name.to_ascii_lowercase())
        }
        _ => option,
    }
}

fn table_row(facts: &Facts<'_>, table: &storage::Table) -> Vec<Value> {
    use std::sync::atomic::Ordering;
    let engine = &facts.instance.engine;
    let statistics = engine.table_statistics(table);
    let next = table.auto_increment.and_then(|_| engine.auto_increment(table).ok());
    let files = table.schema().files();
    let updated = files.map(|file| file.state.updated_us.load(Ordering::Relaxed)).max();
    let mut options: Vec<String> = describe::create_options(&table.options).into_iter().map(as_shown).collect();
    options.extend(table.is_partitioned().then(|| "partitioned".into()));
    vec![
        string("def"),
        string(&table.database),
        string(&table.name),
        string(if sequences::is_sequence(table) { "SEQUENCE" } else { "BASE TABLE" }),
        string("InnoDB"),
        Value::Int(10),
        string(describe::row_format(table.options.row_format)),
        Value::UInt(statistics.rows),
        Value::UInt(statistics.data_bytes.checked_div(statistics.rows).unwrap_or(0)),
        Value::UInt(statistics.data_bytes),
        Value::UInt(0),
        Value::UInt(statistics.index_bytes),
        Value::UInt(engine.free_bytes(table)),
        next.map_or(Value::Null, Value::UInt),
        moment(facts, table.created_us),
        moment(facts, updated.unwrap_or(0)),
        Value::Null,
        string(collation(table.options.collation).name),
        Value::Null,
        string(options.join(" ")),
        string(&table.options.comment),
    ]
}

pub const COLUMNS: VirtualTable = VirtualTable {
    name: "COLUMNS",
    columns: &[
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        small("COLUMN_NAME", 64),
        number("ORDINAL_POSITION"),
        long_exact("COLUMN_DEFAULT"),
        text("IS_NULLABLE", 3),
        long_exact("DATA_TYPE"),
        number("CHARACTER_MAXIMUM_LENGTH"),
        number("CHARACTER_OCTET_LENGTH"),
        number("NUMERIC_PRECISION"),
        number("NUMERIC_SCALE"),
        number("DATETIME_PRECISION"),
        text("CHARACTER_SET_NAME", 64),
        text("COLLATION_NAME", 64),
        long_exact("COLUMN_TYPE"),
        exact("COLUMN_KEY", 3),
        text("EXTRA", 256),
        text("PRIVILEGES", 154),
        exact("COLUMN_COMMENT", 1024),
        long_exact("GENERATION_EXPRESSION"),
        int("SRS_ID"),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for (database, table) in virtual_tables(facts) {
            for (ordinal, column) in table.columns.iter().enumerate() {
                let key = [string("def"), string(database), string(table.name), string(column.name)];
                rows.push(column_row(
                    key,
                    ordinal,
                    &Column::new(column.name, column.ty.clone(), column.nullable),
                    Privileges::SELECT,
                    None,
                    facts.zone,
                ));
            }
        }
        for table in stored_tables(facts) {
            let own = table.is_temporary();
            for (ordinal, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.is_hidden()) {
                let all = facts.rights.on_column(&table.database, &table.name, &column.name) & Privileges::COLUMN;
                let privileges = if own { Privileges::COLUMN } else { all };
                if privileges.is_empty() {
                    continue;
                }
                let key = [string("def"), string(&table.database), string(&table.name), string(&column.name)];
                rows.push(column_row(key, ordinal, column, privileges, Some(&table), facts.zone));
            }
        }
        for view in views(facts) {
            // What is wrong with a view is told to who uses it.
            let Some(Ok(columns)) = facts.views.map(|views| views.columns(&view)) else { continue };
            for (ordinal, column) in columns.iter().enumerate() {
                let privileges = facts.rights.on_column(&view.database, &view.name, &column.name) & Privileges::COLUMN;
                if privileges.is_empty() {
                    continue;
                }
                let key = [string("def"), string(&view.database), string(&view.name), string(&column.name)];
                rows.push(column_row(key, ordinal, column, privileges, None, facts.zone));
            }
        }
        rows
    },
};

/// Attributes of an engine of its own, which InnoDB's columns do not have.
pub const COLUMNS_EXTENSIONS: VirtualTable = VirtualTable {
    name: "COLUMNS_EXTENSIONS",
    columns: &[
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        small("COLUMN_NAME", 64),
        long_text("ENGINE_ATTRIBUTE"),
        long_text("SECONDARY_ENGINE_ATTRIBUTE"),
    ],
    rows: |facts| {
        let name = |row: Vec<Value>| {
            let mut row: Vec<Value> = row.into_iter().take(4).collect();
            row.extend([Value::Null, Value::Null]);
            row
        };
        (COLUMNS.rows)(facts).into_iter().map(name).collect()
    },
};

pub const TABLES_EXTENSIONS: VirtualTable = VirtualTable {
    name: "TABLES_EXTENSIONS",
    columns: &[
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        long_text("ENGINE_ATTRIBUTE"),
        long_text("SECONDARY_ENGINE_ATTRIBUTE"),
    ],
    rows: |facts| {
        let row = |database: &str, table: &str| {
            vec![string("def"), string(database), string(table), Value::Null, Value::Null]
        };
        let virtual_ones = virtual_tables(facts).map(|(database, table)| row(database, table.name));
        let stored = stored_tables(facts);
        virtual_ones.chain(stored.iter().map(|table| row(&table.database, &table.name))).collect()
    },
};

pub const SCHEMATA_EXTENSIONS: VirtualTable = VirtualTable {
    name: "SCHEMATA_EXTENSIONS",
    columns: &[exact("CATALOG_NAME", 64), exact("SCHEMA_NAME", 64), text("OPTIONS", 256)],
    rows: |facts| {
        let engine = &facts.instance.engine;
        let read_only = |name: &Value| match name {
            Value::Bytes(name) => std::str::from_utf8(name).ok().and_then(|name| engine.database(name)),
            _ => None,
        };
        let name = |row: Vec<Value>| {
            let mut row: Vec<Value> = row.into_iter().take(2).collect();
            let is_so = row.get(1).and_then(read_only).is_some_and(|database| database.read_only);
            row.push(string(if is_so { "READ ONLY=1" } else { "" }));
            row
        };
        (SCHEMATA.rows)(facts).into_iter().map(name).collect()
    },
};

fn column_row(
    key: [Value; 4],
    ordinal: usize,
    column: &Column,
    privileges: Privileges,
    table: Option<&Table>,
    zone: Zone,
) -> Vec<Value> {
    let ty = &column.ty;
    let count = |number: Option<u64>| number.map_or(Value::Null, Value::UInt);
    let (precision, scale) = numeric_precision(ty);
    let own = match ty {
        ColumnType::Json => None,
        ty => describe::declared_collation(ty).map(collation),
    };
    let fraction = match ty {
        ColumnType::Time { fsp } | ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => {
            Some(u64::from(*fsp))
        }
        _ => None,
    };
    let (chars, bytes) = character_lengths(ty);
    let mut row = Vec::from(key);
    row.extend([
        Value::UInt(ordinal as u64 + 1),
        optional(describe::default_text(column, zone)),
        yes(column.nullable),
        string(describe::data_type(ty)),
        count(chars),
        count(bytes),
        count(precision),
        count(scale),
        count(fraction),
        optional(own.map(|own| own.charset.name())),
        optional(own.map(|own| own.name)),
        string(describe::type_of(column)),
        string(table.map_or("", |table| describe::column_key(table, ordinal))),
        // A view has no columns that are set by themselves.
        string(table.map_or(String::new(), |_| describe::extra(column))),
        string(privileges.names().to_lowercase().replace(", ", ",")),
        string(&*column.comment),
        string(column.generated.as_ref().map_or(String::new(), |own| describe::told_expression(&own.expression))),
        count(match ty {
            ColumnType::Geometry { srid, .. } => srid.map(u64::from),
            _ => None,
        }),
    ]);
    row
}

/// What information_schema says of a type beside its name: DATA_TYPE to DTD_IDENTIFIER.
pub fn type_fields(ty: &ColumnType) -> Vec<Value> {
    let key = [Value::Null, Value::Null, Value::Null, Value::Null];
    let row = column_row(key, 0, &Column::new("", ty.clone(), true), Privileges::NONE, None, Zone::UTC);
    row.into_iter().skip(7).take(9).collect()
}

/// NUMERIC_PRECISION and NUMERIC_SCALE.
fn numeric_precision(ty: &ColumnType) -> (Option<u64>, Option<u64>) {
    match ty {
        ColumnType::Int { bytes, unsigned } => {
            let digits = match (bytes, unsigned) {
                (1, _) => 3,
                (2, _) => 5,
                (3, false) => 7,
                (3, true) => 8,
                (4, _) => 10,
                (_, false) => 19,
                (_, true) => 20,
            };
            (Some(digits), Some(0))
        }
        ColumnType::Bit { bits } => (Some(u64::from(*bits)), None),
        ColumnType::Decimal { precision, scale, .. } => (Some(u64::from(*precision)), Some(u64::from(*scale))),
        ColumnType::Float { decimals: Some((m, d)), .. } | ColumnType::Double { decimals: Some((m, d)), .. } => {
            (Some(u64::from(*m)), Some(u64::from(*d)))
        }
        ColumnType::Float { .. } => (Some(12), None),
        ColumnType::Double { .. } => (Some(22), None),
        _ => (None, None),
    }
}

/// CHARACTER_MAXIMUM_LENGTH and CHARACTER_OCTET_LENGTH.
fn character_lengths(ty: &ColumnType) -> (Option<u64>, Option<u64>) {
    let lob = |size: LobSize| u64::from(size.bytes_max());
    match ty {
        ColumnType::Char { chars, collation: id } | ColumnType::VarChar { chars, collation: id } => {
            let chars = u64::from(*chars);
            (Some(chars), Some(chars * u64::from(collation(*id).charset.bytes_max())))
        }
        ColumnType::Binary { bytes } | ColumnType::VarBinary { bytes } => {
            (Some(u64::from(*bytes)), Some(u64::from(*bytes)))
        }
        // Counted in bytes; MySQL divides by the widest character for the first figure only where a length was given.
        ColumnType::Text { size, .. } | ColumnType::Blob { size } => (Some(lob(*size)), Some(lob(*size))),
        ColumnType::Enum { members, collation: id } => {
            let longest = members.iter().map(|member| member.chars().count() as u64).max().unwrap_or(0);
            (Some(longest), Some(longest * u64::from(collation(*id).charset.bytes_max())))
        }
        ColumnType::Set { members, collation: id } => {
            let all: u64 = members.iter().map(|member| member.chars().count() as u64 + 1).sum();
            let all = all.saturating_sub(1);
            (Some(all), Some(all * u64::from(collation(*id).charset.bytes_max())))
        }
        _ => (None, None),
    }
}

pub const ST_GEOMETRY_COLUMNS: VirtualTable = VirtualTable {
    name: "ST_GEOMETRY_COLUMNS",
    columns: &[
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        small("COLUMN_NAME", 64),
        text("SRS_NAME", 80),
        number("SRS_ID"),
        long_exact("GEOMETRY_TYPE_NAME"),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for table in stored_tables(facts) {
            for column in &table.columns {
                let ColumnType::Geometry { kind, srid } = column.ty else { continue };
                if (facts.rights.on_column(&table.database, &table.name, &column.name) & Privileges::COLUMN).is_empty()
                {
                    continue;
                }
                let name = match srid {
                    Some(0) => string(""),
                    Some(srid) => name_and_text(srid).map_or(Value::Null, |(name, _)| string(name)),
                    None => Value::Null,
                };
                rows.push(vec![
                    string("def"),
                    string(&table.database),
                    string(&table.name),
                    string(&column.name),
                    name,
                    srid.map_or(Value::Null, |srid| Value::UInt(srid.into())),
                    string(kind.name()),
                ]);
            }
        }
        rows
    },
};

/// What MySQL tells of all spatial indexes: the bytes of a rectangle.
const SPATIAL_SUB_PART: u64 = 32;

pub const STATISTICS: VirtualTable = VirtualTable {
    name: "STATISTICS",
    columns: &[
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        int("NON_UNIQUE"),
        exact("INDEX_SCHEMA", 64),
        small("INDEX_NAME", 64),
        number("SEQ_IN_INDEX"),
        small("COLUMN_NAME", 64),
        text("COLLATION", 1),
        number("CARDINALITY"),
        number("SUB_PART"),
        text("PACKED", 10),
        text("NULLABLE", 3),
        exact("INDEX_TYPE", 11),
        text("COMMENT", 8),
        exact("INDEX_COMMENT", 2048),
        text("IS_VISIBLE", 3),
        long_exact("EXPRESSION"),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for table in stored_tables(facts) {
            let statistics = facts.instance.engine.table_statistics(&table);
            for (number, index) in table.indexes.iter().enumerate().filter(|(_, index)| !index.is_hidden()) {
                for (sequence, part) in index.parts.iter().enumerate() {
                    // A spatial index is told as one of its geometries.
                    let geometry = spatial_key::column_of(&table.columns, part.column);
                    let column = &table.columns[geometry.unwrap_or(part.column)];
                    let hidden = column.generated.as_ref().filter(|generated| generated.hidden);
                    let distinct = statistics.distinct.get(number).and_then(|counts| counts.get(sequence));
                    rows.push(vec![
                        string("def"),
                        string(&table.database),
                        string(&table.name),
                        Value::Int(i64::from(!index.unique)),
                        string(&table.database),
                        string(&index.name),
                        Value::UInt(sequence as u64 + 1),
                        optional((!column.is_hidden()).then_some(&column.name)),
                        match index.fulltext {
                            Some(_) => Value::Null,
                            None => string(if part.order.is_declared_descending() { "D" } else { "A" }),
                        },
                        distinct.map_or(Value::Null, |count| Value::UInt(*count)),
                        match geometry {
                            Some(_) => Value::UInt(SPATIAL_SUB_PART),
                            None => part.prefix_chars.map_or(Value::Null, |chars| Value::UInt(u64::from(chars))),
                        },
                        Value::Null,
                        string(if column.nullable { "YES" } else { "" }),
                        string(match (index.fulltext.is_some(), geometry.is_some()) {
                            (true, _) => "FULLTEXT",
                            (false, true) => "SPATIAL",
                            (false, false) => "BTREE",
                        }),
                        string(""),
                        string(&index.comment),
                        yes(!index.invisible),
                        optional(hidden.map(|generated| describe::told_expression(&generated.expression))),
                    ]);
                }
            }
        }
        rows
    },
};

/// Dump programs look here for tablespaces that need statements of their own; file-per-table ones do not.
pub const FILES: VirtualTable = VirtualTable {
    name: "FILES",
    columns: &[
        number("FILE_ID"),
        long_exact("FILE_NAME"),
        text("FILE_TYPE", 256),
        exact("TABLESPACE_NAME", 268),
        text("TABLE_CATALOG", 64),
        text("TABLE_SCHEMA", 64),
        text("TABLE_NAME", 64),
        text("LOGFILE_GROUP_NAME", 256),
        number("LOGFILE_GROUP_NUMBER"),
        text("ENGINE", 64),
        text("FULLTEXT_KEYS", 64),
        number("DELETED_ROWS"),
        number("UPDATE_COUNT"),
        number("FREE_EXTENTS"),
        number("TOTAL_EXTENTS"),
        number("EXTENT_SIZE"),
        number("INITIAL_SIZE"),
        number("MAXIMUM_SIZE"),
        number("AUTOEXTEND_SIZE"),
        time("CREATION_TIME"),
        time("LAST_UPDATE_TIME"),
        time("LAST_ACCESS_TIME"),
        number("RECOVER_TIME"),
        number("TRANSACTION_COUNTER"),
        number("VERSION"),
        text("ROW_FORMAT", 256),
        number("TABLE_ROWS"),
        number("AVG_ROW_LENGTH"),
        number("DATA_LENGTH"),
        number("MAX_DATA_LENGTH"),
        number("INDEX_LENGTH"),
        number("DATA_FREE"),
        time("CREATE_TIME"),
        time("UPDATE_TIME"),
        time("CHECK_TIME"),
        number("CHECKSUM"),
        text("STATUS", 256),
        text("EXTRA", 256),
    ],
    rows: no_rows,
};
