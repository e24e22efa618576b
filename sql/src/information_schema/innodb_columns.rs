//! INNODB_COLUMNS: the columns as InnoDB numbers their types, and what rows have that are older than a column.
//!
//! Types are `MTYPE` (how values are stored and compared) and `PRTYPE`, drawn from the right: 8 bits of the type's code in the
//! client protocol, flags, from bit 16 on the collation.

use format::value::{ColumnType, LobSize, Value};
use storage::schema::Column;

use super::{Facts, VirtualTable, int, number, optional, string, text};

const NOT_NULL: i64 = 256;
const UNSIGNED: i64 = 512;
/// Compared as bytes or numbers, not as text.
const BINARY: i64 = 1024;
/// A VARCHAR whose length takes two bytes.
const LONG_VARCHAR: i64 = 4096;

pub const INNODB_COLUMNS: VirtualTable = VirtualTable {
    name: "INNODB_COLUMNS",
    columns: &[
        number("TABLE_ID"),
        text("NAME", 193),
        number("POS"),
        int("MTYPE"),
        int("PRTYPE"),
        int("LEN"),
        int("HAS_DEFAULT"),
        text("DEFAULT_VALUE", 65535),
    ],
    rows,
};

fn rows(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    let engine = &facts.instance.engine;
    let mut rows = Vec::new();
    for database in engine.databases() {
        for table in engine.tables(&database.name).iter().flat_map(|table| table.files()) {
            for (at, column) in table.columns.iter().enumerate() {
                let default = table.instant_default(at);
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                rows.push(vec![
                    Value::UInt(table.id.0),
                    string(&column.name),
                    Value::UInt(at as u64),
                    Value::Int(main_type(&column.ty)),
                    Value::Int(precise_type(column)),
                    Value::Int(bytes(&column.ty)),
                    Value::Int(i64::from(default.is_some())),
                    optional(default.flatten().map(hex)),
                ]);
            }
        }
    }
    rows
}

fn is_latin1_swedish(ty: &ColumnType) -> bool {
    ty.collation().is_some_and(|collation| collation.0 == 8)
}

fn main_type(ty: &ColumnType) -> i64 {
    match ty {
        ColumnType::VarChar { .. } if is_latin1_swedish(ty) => 1,
        ColumnType::Char { .. } if is_latin1_swedish(ty) => 2,
        ColumnType::Binary { .. }
        | ColumnType::Bit { .. }
        | ColumnType::Decimal { .. }
        | ColumnType::Time { .. }
        | ColumnType::DateTime { .. }
        | ColumnType::Timestamp { .. } => 3,
        ColumnType::VarBinary { .. } => 4,
        ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json => 5,
        ColumnType::Int { .. }
        | ColumnType::Year
        | ColumnType::Date
        | ColumnType::Enum { .. }
        | ColumnType::Set { .. } => 6,
        ColumnType::Float { .. } => 9,
        ColumnType::Double { .. } => 10,
        ColumnType::VarChar { .. } => 12,
        ColumnType::Char { .. } => 13,
        ColumnType::Geometry { .. } => 14,
    }
}

fn precise_type(column: &Column) -> i64 {
    let ty = &column.ty;
    let (code, unsigned) = match ty {
        ColumnType::Int { bytes, unsigned } => {
            let code = match bytes {
                1 => 1,
                2 => 2,
                3 => 9,
                4 => 3,
                _ => 8,
            };
            (code, *unsigned)
        }
        ColumnType::Float { unsigned, .. } => (4, *unsigned),
        ColumnType::Double { unsigned, .. } => (5, *unsigned),
        ColumnType::Timestamp { .. } => (7, false),
        ColumnType::Date => (10, false),
        ColumnType::Time { .. } => (11, false),
        ColumnType::DateTime { .. } => (12, false),
        ColumnType::Year => (13, true),
        ColumnType::VarChar { .. } | ColumnType::VarBinary { .. } => (15, false),
        ColumnType::Bit { .. } => (16, true),
        ColumnType::Json => (245, false),
        ColumnType::Decimal { unsigned, .. } => (246, *unsigned),
        ColumnType::Text { .. } | ColumnType::Blob { .. } => (252, false),
        ColumnType::Enum { .. } | ColumnType::Set { .. } => (254, true),
        ColumnType::Char { .. } | ColumnType::Binary { .. } => (254, false),
        ColumnType::Geometry { .. } => (255, false),
    };
    let is_text = matches!(ty, ColumnType::Char { .. } | ColumnType::VarChar { .. } | ColumnType::Text { .. });
    let charset = match ty {
        _ if is_text => ty.collation().map_or(0, |collation| i64::from(collation.0)),
        // The collation `binary`.
        ColumnType::Binary { .. } | ColumnType::VarBinary { .. } | ColumnType::Blob { .. } => 63,
        _ => 0,
    };
    let is_long = match ty {
        ColumnType::VarChar { .. } | ColumnType::VarBinary { .. } => bytes(ty) > 255,
        _ => false,
    };
    let flag = |flag: i64, is_set: bool| if is_set { flag } else { 0 };
    code + flag(NOT_NULL, !column.nullable)
        + flag(UNSIGNED, unsigned)
        + flag(BINARY, !is_text)
        + flag(LONG_VARCHAR, is_long)
        + (charset << 16)
}

/// The most bytes of a value; of a long one those of its length and its address.
fn bytes(ty: &ColumnType) -> i64 {
    use format::record::Length;
    match ty {
        ColumnType::Text { size, .. } | ColumnType::Blob { size } => match size {
            LobSize::Tiny => 9,
            LobSize::Regular => 10,
            LobSize::Medium => 11,
            LobSize::Long => 12,
        },
        ColumnType::Json | ColumnType::Geometry { .. } => 12,
        _ => match ty.layout(false).length {
            Length::Fixed(bytes) => i64::from(bytes),
            Length::Variable { max, .. } => i64::from(max),
        },
    }
}
