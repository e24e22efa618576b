//! INNODB_COLUMNS: the columns as InnoDB numbers their types, and what rows have that are older than a column.
//!
//! Types are `MTYPE` (how values are stored and compared) and `PRTYPE`, drawn from the right: 8 bits of the type's code in the
//! client protocol, flags, from bit 16 on the collation.

use format::transport::Type;
use format::value::Value;

use super::{Facts, VirtualTable, int, number, optional, string, text};

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
                let ty = Type::of(&column.ty, column.nullable);
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                rows.push(vec![
                    Value::UInt(table.id.0),
                    string(&column.name),
                    Value::UInt(at as u64),
                    Value::Int(ty.kind.into()),
                    Value::Int(ty.precise.into()),
                    Value::Int(ty.bytes.into()),
                    Value::Int(i64::from(default.is_some())),
                    optional(default.flatten().map(hex)),
                ]);
            }
        }
    }
    rows
}
