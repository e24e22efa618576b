//! Calls of the engine: conversion of rows to and from their stored form, and the tables that the workload uses.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, LobSize, Value};
use storage::schema::{
    Column, ColumnSet, ColumnSource, Compression, IndexDefinition, IndexPart, ReadMode, Row, ScanRange,
    TableDefinition, TableOptions,
};
use storage::{Engine, Error, Result, Table, Trx, TrxOptions};

use crate::model::{Model, ModelRow, ModelTable};

pub const DATABASE: &str = "sim";
pub const BODY_INDEX: &str = "body_prefix";

pub const ID: usize = 0;
pub const K: usize = 1;
pub const NAME: usize = 2;
pub const BODY: usize = 3;

fn column_type(column: usize) -> ColumnType {
    match column {
        ID => ColumnType::Int { bytes: 8, unsigned: false },
        K => ColumnType::Int { bytes: 4, unsigned: false },
        NAME => ColumnType::VarChar { chars: 60, collation: CollationId::UTF8MB4_GENERAL_CI },
        _ => ColumnType::Blob { size: LobSize::Medium },
    }
}

pub fn definition(name: &str, compression: Compression) -> TableDefinition {
    let column = |at: usize, name: &str, nullable: bool| Column::new(name, column_type(at), nullable);
    TableDefinition {
        database: DATABASE.into(),
        name: name.into(),
        columns: vec![
            column(ID, "id", false),
            column(K, "k", false),
            column(NAME, "name", true),
            column(BODY, "body", true),
        ],
        indexes: vec![
            IndexDefinition::new("PRIMARY", true, &[ID]),
            IndexDefinition::new("by_k", false, &[K]),
            IndexDefinition::new("by_name", true, &[NAME]),
        ],
        options: TableOptions {
            compression,
            // Compressed and encrypted, and plain and encrypted: both occur.
            encrypted: matches!(compression, Compression::ZSTD | Compression::NONE) && name.len().is_multiple_of(2),
            ..TableOptions::default()
        },
        ..TableDefinition::default()
    }
}

/// Drops the column of bodies and adds it again, at once: every row has this body then. False = an index has it, or it has
/// come and gone too often.
pub fn replace_bodies(engine: &Engine, table: &str, body: Option<&[u8]>, wait: &TrxOptions) -> Result<bool> {
    // The new column is described as the old one was.
    let sources = |_: &mut TableDefinition| {
        (0..BODY).map(ColumnSource::Old).chain([ColumnSource::New(body.map(Box::from))]).collect()
    };
    match engine.alter_columns(DATABASE, table, sources, wait) {
        Ok(_) => Ok(true),
        Err(Error::Unsupported(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

pub fn body_index() -> IndexDefinition {
    IndexDefinition {
        name: BODY_INDEX.into(),
        parts: vec![IndexPart { prefix_chars: Some(20), ..IndexPart::new(BODY) }],
        ..IndexDefinition::default()
    }
}

fn encode(column: usize, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    column_type(column).encode(value, &mut out).expect("values of the workload fit their columns");
    out
}

pub fn encoded_id(id: i64) -> Vec<u8> {
    encode(ID, &Value::Int(id))
}

/// The stored columns of a row, in table order.
pub fn encoded(id: i64, row: &ModelRow) -> [Option<Vec<u8>>; 4] {
    [
        Some(encoded_id(id)),
        Some(encode(K, &Value::Int(i64::from(row.k)))),
        row.name.as_ref().map(|name| encode(NAME, &Value::Bytes(name.clone().into_bytes()))),
        row.body.clone(),
    ]
}

fn decoded(row: &Row) -> (i64, ModelRow) {
    let number = |column: usize| match row.get(column).map(|stored| column_type(column).decode(stored)) {
        Some(Value::Int(number)) => number,
        other => panic!("column {column} holds {other:?}"),
    };
    let model = ModelRow {
        k: i32::try_from(number(K)).expect("an INT"),
        name: row.get(NAME).map(|name| String::from_utf8_lossy(name).into_owned()),
        body: row.get(BODY).map(<[u8]>::to_vec),
    };
    (number(ID), model)
}

/// Inserts a row.
pub fn insert(trx: &mut Trx, table: &Table, id: i64, row: &ModelRow) -> Result<()> {
    let columns = encoded(id, row);
    let columns: Vec<Option<&[u8]>> = columns.iter().map(Option::as_deref).collect();
    trx.insert(table, &columns)
}

/// Reads one row by its key.
pub fn read(trx: &mut Trx, table: &Table, id: i64, mode: ReadMode, row: &mut Row) -> Result<Option<ModelRow>> {
    let id = encoded_id(id);
    let found = trx.get(table, 0, &[Some(&id)], mode, &ColumnSet::first(4), row)?;
    Ok(found.then(|| decoded(row).1))
}

/// A part of an index.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    All,
    /// Over the clustered index.
    Ids(Bound<i64>, Bound<i64>),
    /// Over the index of `k`.
    Ks(Bound<i64>, Bound<i64>),
}

impl Part {
    pub fn contains(&self, id: i64, row: &ModelRow) -> bool {
        match *self {
            Part::All => true,
            Part::Ids(lower, upper) => (lower, upper).contains(&id),
            Part::Ks(lower, upper) => (lower, upper).contains(&i64::from(row.k)),
        }
    }
}

/// Everything that a transaction sees of a table, over one of its indexes.
pub fn scan(trx: &mut Trx, table: &Arc<Table>, index: usize, reverse: bool) -> Result<ModelTable> {
    scan_part(trx, table, index, Part::All, ReadMode::Consistent, reverse)
}

/// What a transaction sees of a part of an index.
pub fn scan_part(
    trx: &mut Trx,
    table: &Arc<Table>,
    index: usize,
    part: Part,
    mode: ReadMode,
    reverse: bool,
) -> Result<ModelTable> {
    scan_pausing(trx, table, index, part, mode, reverse, &|| {})
}

/// The same, with a pause between two rows.
pub fn scan_pausing(
    trx: &mut Trx,
    table: &Arc<Table>,
    index: usize,
    part: Part,
    mode: ReadMode,
    reverse: bool,
    between: &dyn Fn(),
) -> Result<ModelTable> {
    let (column, lower, upper) = match part {
        Part::All => (ID, Bound::Unbounded, Bound::Unbounded),
        Part::Ids(lower, upper) => (ID, lower, upper),
        Part::Ks(lower, upper) => (K, lower, upper),
    };
    let stored = |bound: Bound<i64>| bound.map(|number| encode(column, &Value::Int(number)));
    let (lower, upper) = (stored(lower), stored(upper));
    let (lower, upper) =
        (lower.as_ref().map(|bytes| [Some(&bytes[..])]), upper.as_ref().map(|bytes| [Some(&bytes[..])]));
    let range =
        ScanRange { lower: lower.as_ref().map(|key| &key[..]), upper: upper.as_ref().map(|key| &key[..]), reverse };
    let mut cursor = trx.cursor(table, index, mode, ColumnSet::first(4), range)?;
    let mut found = ModelTable { has_body_index: table.index(BODY_INDEX).is_some(), ..ModelTable::default() };
    let mut row = Row::new();
    let mut last: Option<(i64, i64)> = None;
    while cursor.next(trx, &mut row)? {
        between();
        let (id, model) = decoded(&row);
        if index <= 1 {
            let key = if index == 0 { (0, id) } else { (i64::from(model.k), id) };
            let in_order = last.is_none_or(|last| if reverse { key < last } else { key > last });
            assert!(in_order, "{}: {key:?} follows {last:?} in index {index}", table.name);
            last = Some(key);
        }
        let twice = found.rows.insert(id, Arc::new(model)).is_some();
        assert!(!twice, "{}: id {id} came twice over index {index}", table.name);
    }
    Ok(found)
}

/// The row with a name, over its unique index.
pub fn find_name(trx: &mut Trx, table: &Table, name: &str, row: &mut Row) -> Result<Option<(i64, ModelRow)>> {
    let name = encode(NAME, &Value::Bytes(name.into()));
    let found = trx.get(table, 2, &[Some(&name)], ReadMode::Consistent, &ColumnSet::first(4), row)?;
    Ok(found.then(|| decoded(row)))
}

/// The whole database as a new transaction sees it: each table over every index, both ways over the first.
pub fn everything(engine: &Arc<Engine>) -> Result<Model> {
    let mut model = Model::default();
    for table in engine.tables(DATABASE) {
        let mut trx = engine.begin(TrxOptions::default());
        let table = trx.open_table(DATABASE, &table.name)?;
        let first = scan(&mut trx, &table, 0, false)?;
        for index in 0..table.indexes.len() {
            // In the other direction where it is the same index.
            let seen = scan(&mut trx, &table, index, index == 0)?;
            if let Some(difference) = first.difference(&seen) {
                let index = &table.indexes[index].name;
                return Err(Error::corrupt(format!("{}: index {index} shows other rows: {difference}", table.name)));
            }
        }
        model.tables.insert(table.name.to_string(), Arc::new(first));
    }
    crate::definitions::everything(engine, &mut model);
    model.family = crate::family::everything(engine)?;
    model.prepared = engine.prepared().iter().map(|xid| (xid.to_sql(), Arc::default())).collect();
    Ok(model)
}
