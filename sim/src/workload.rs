//! What is done to the engine: rows in and out of their stored form, and the
//! tables that the workload uses.

use std::ops::Bound;
use std::sync::Arc;

use format::collation::CollationId;
use format::value::{ColumnType, LobSize, Value};
use storage::schema::{
    Column, ColumnDefault, ColumnSet, Compression, IndexDefinition, IndexPart, ReadMode, Row, ScanRange,
    TableDefinition, TableOptions,
};
use storage::{Engine, Error, Result, Table, Trx};

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
    let column = |at: usize, name: &str, nullable: bool| Column {
        name: name.into(),
        ty: column_type(at),
        nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        comment: "".into(),
        invisible: false,
    };
    let index = |name: &str, unique: bool, primary: bool, column: usize| IndexDefinition {
        name: name.into(),
        unique,
        primary,
        parts: vec![IndexPart { column, prefix_chars: None, descending: false }],
        ..IndexDefinition::default()
    };
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
            index("PRIMARY", true, true, ID),
            index("by_k", false, false, K),
            index("by_name", true, false, NAME),
        ],
        options: TableOptions { compression, ..TableOptions::default() },
        ..TableDefinition::default()
    }
}

pub fn body_index() -> IndexDefinition {
    IndexDefinition {
        name: BODY_INDEX.into(),
        parts: vec![IndexPart { column: BODY, prefix_chars: Some(20), descending: false }],
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

/// Reads one row by its key.
pub fn read(trx: &mut Trx, table: &Table, id: i64, mode: ReadMode, row: &mut Row) -> Result<Option<ModelRow>> {
    let id = encoded_id(id);
    let found = trx.get(table, 0, &[Some(&id)], mode, &ColumnSet::first(4), row)?;
    Ok(found.then(|| decoded(row).1))
}

/// Everything that a transaction sees of a table, over one of its indexes.
pub fn scan(trx: &mut Trx, table: &Arc<Table>, index: usize, reverse: bool) -> Result<ModelTable> {
    let range = ScanRange { lower: Bound::Unbounded, upper: Bound::Unbounded, reverse };
    let mut cursor = trx.cursor(table, index, ReadMode::Consistent, ColumnSet::first(4), range)?;
    let mut found = ModelTable { has_body_index: table.index(BODY_INDEX).is_some(), ..ModelTable::default() };
    let mut row = Row::new();
    let mut last: Option<i64> = None;
    while cursor.next(trx, &mut row)? {
        let (id, model) = decoded(&row);
        if index == 0 {
            let in_order = last.is_none_or(|last| if reverse { id < last } else { id > last });
            assert!(in_order, "{}: id {id} follows {last:?}", table.name);
            last = Some(id);
        }
        let twice = found.rows.insert(id, Arc::new(model)).is_some();
        assert!(!twice, "{}: id {id} came twice over index {index}", table.name);
    }
    Ok(found)
}

/// The whole database as a new transaction sees it: each table over every index, both ways over the first.
pub fn everything(engine: &Arc<Engine>) -> Result<Model> {
    let mut model = Model::default();
    for table in engine.tables(DATABASE) {
        let mut trx = engine.begin(storage::TrxOptions::default());
        let table = trx.open_table(DATABASE, &table.name)?;
        let first = scan(&mut trx, &table, 0, false)?;
        for index in 0..table.indexes.len() {
            // The other way round where it is the same index.
            let seen = scan(&mut trx, &table, index, index == 0)?;
            if let Some(difference) = first.difference(&seen) {
                let index = &table.indexes[index].name;
                return Err(Error::corrupt(format!("{}: index {index} shows other rows: {difference}", table.name)));
            }
        }
        model.tables.insert(table.name.to_string(), Arc::new(first));
    }
    Ok(model)
}
