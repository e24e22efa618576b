//! Constraints: primary and unique keys, and foreign keys, in the standard's views and in InnoDB's.

use format::value::Value;
use storage::schema::{ForeignKey, foreign_key};
use storage::{ReferentialAction, Table};

use super::wanted::stored_tables;
use super::{Facts, VirtualTable, exact, long_exact, number, optional, small, string, text, yes};
use crate::describe;

pub const KEY_COLUMN_USAGE: VirtualTable = VirtualTable {
    name: "KEY_COLUMN_USAGE",
    columns: &[
        exact("CONSTRAINT_CATALOG", 64),
        exact("CONSTRAINT_SCHEMA", 64),
        small("CONSTRAINT_NAME", 64),
        exact("TABLE_CATALOG", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        small("COLUMN_NAME", 64),
        number("ORDINAL_POSITION"),
        number("POSITION_IN_UNIQUE_CONSTRAINT"),
        exact("REFERENCED_TABLE_SCHEMA", 64),
        exact("REFERENCED_TABLE_NAME", 64),
        small("REFERENCED_COLUMN_NAME", 64),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for table in stored_tables(facts) {
            let sees = |column: &str| facts.rights.sees_column(&table.database, &table.name, column);
            for index in table.indexes.iter().filter(|index| index.unique && !index.is_hidden()) {
                for (sequence, part) in index.parts.iter().enumerate() {
                    let column = &table.columns[part.column];
                    if !column.is_hidden() && sees(&column.name) {
                        rows.push(usage(&table, &index.name, &column.name, sequence, None));
                    }
                }
            }
            for key in &table.foreign_keys {
                for (sequence, column) in key.columns.iter().enumerate().filter(|(_, column)| sees(column)) {
                    rows.push(usage(&table, &key.name, column, sequence, Some(key)));
                }
            }
        }
        rows
    },
};

fn usage(table: &Table, name: &str, column: &str, sequence: usize, key: Option<&ForeignKey>) -> Vec<Value> {
    vec![
        string("def"),
        string(&table.database),
        string(name),
        string("def"),
        string(&table.database),
        string(&table.name),
        string(column),
        Value::UInt(sequence as u64 + 1),
        key.map_or(Value::Null, |_| Value::UInt(sequence as u64 + 1)),
        optional(key.map(|key| &key.parent_database)),
        optional(key.map(|key| &key.parent)),
        optional(key.map(|key| &key.parent_columns[sequence])),
    ]
}

pub const TABLE_CONSTRAINTS: VirtualTable = VirtualTable {
    name: "TABLE_CONSTRAINTS",
    columns: &[
        exact("CONSTRAINT_CATALOG", 64),
        exact("CONSTRAINT_SCHEMA", 64),
        small("CONSTRAINT_NAME", 64),
        exact("TABLE_SCHEMA", 64),
        exact("TABLE_NAME", 64),
        exact("CONSTRAINT_TYPE", 11),
        exact("ENFORCED", 3),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for table in stored_tables(facts) {
            let row = |name: &str, kind: &str, enforced: bool| {
                vec![
                    string("def"),
                    string(&table.database),
                    string(name),
                    string(&table.database),
                    string(&table.name),
                    string(kind),
                    yes(enforced),
                ]
            };
            for index in table.indexes.iter().filter(|index| index.unique && !index.is_hidden()) {
                rows.push(row(&index.name, if index.primary { "PRIMARY KEY" } else { "UNIQUE" }, true));
            }
            rows.extend(table.foreign_keys.iter().map(|key| row(&key.name, "FOREIGN KEY", true)));
            rows.extend(table.checks.iter().map(|check| row(&check.name, "CHECK", check.enforced)));
        }
        rows
    },
};

pub const CHECK_CONSTRAINTS: VirtualTable = VirtualTable {
    name: "CHECK_CONSTRAINTS",
    columns: &[
        exact("CONSTRAINT_CATALOG", 64),
        exact("CONSTRAINT_SCHEMA", 64),
        small("CONSTRAINT_NAME", 64),
        long_exact("CHECK_CLAUSE"),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for table in stored_tables(facts) {
            for check in &table.checks {
                let clause = describe::told_expression(&check.condition);
                rows.push(vec![string("def"), string(&table.database), string(&check.name), string(clause)]);
            }
        }
        rows
    },
};

pub const TABLE_CONSTRAINTS_EXTENSIONS: VirtualTable = VirtualTable {
    name: "TABLE_CONSTRAINTS_EXTENSIONS",
    columns: &[
        exact("CONSTRAINT_CATALOG", 64),
        exact("CONSTRAINT_SCHEMA", 64),
        small("CONSTRAINT_NAME", 64),
        exact("TABLE_NAME", 64),
        text("ENGINE_ATTRIBUTE", 64),
        text("SECONDARY_ENGINE_ATTRIBUTE", 64),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for table in stored_tables(facts) {
            for index in table.indexes.iter().filter(|index| index.unique && !index.is_hidden()) {
                rows.push(vec![
                    string("def"),
                    string(&table.database),
                    string(&index.name),
                    string(&table.name),
                    Value::Null,
                    Value::Null,
                ]);
            }
        }
        rows
    },
};

pub const REFERENTIAL_CONSTRAINTS: VirtualTable = VirtualTable {
    name: "REFERENTIAL_CONSTRAINTS",
    columns: &[
        exact("CONSTRAINT_CATALOG", 64),
        exact("CONSTRAINT_SCHEMA", 64),
        small("CONSTRAINT_NAME", 64),
        exact("UNIQUE_CONSTRAINT_CATALOG", 64),
        exact("UNIQUE_CONSTRAINT_SCHEMA", 64),
        small("UNIQUE_CONSTRAINT_NAME", 64),
        exact("MATCH_OPTION", 7),
        exact("UPDATE_RULE", 11),
        exact("DELETE_RULE", 11),
        exact("TABLE_NAME", 64),
        exact("REFERENCED_TABLE_NAME", 64),
    ],
    rows: |facts| {
        let row = |table: &Table, key: &ForeignKey| {
            vec![
                string("def"),
                string(&table.database),
                string(&key.name),
                string("def"),
                string(&key.parent_database),
                optional(unique_constraint(facts, key)),
                string("NONE"),
                string(key.on_update.name()),
                string(key.on_delete.name()),
                string(&table.name),
                string(&key.parent),
            ]
        };
        let tables = stored_tables(facts);
        tables.iter().flat_map(|table| table.foreign_keys.iter().map(|key| row(table, key))).collect()
    },
};

/// The parent's unique key on just these columns; None = there is no such, or no parent.
fn unique_constraint(facts: &Facts<'_>, key: &ForeignKey) -> Option<Box<str>> {
    let parent = facts.instance.engine.table(&key.parent_database, &key.parent)?;
    let columns = foreign_key::ordinals(&parent.columns, &key.parent_columns).ok()?;
    let is_it = |index: &&storage::Index| {
        index.unique && index.parts.len() == columns.len() && foreign_key::begins_with(&index.parts, &columns)
    };
    parent.indexes.iter().find(is_it).map(|index| index.name.clone())
}

/// MySQL 8.0's name; the columns are those of every version and of MariaDB.
pub const INNODB_FOREIGN: VirtualTable = VirtualTable { name: "INNODB_FOREIGN", columns: FOREIGN, rows: foreign };
/// MySQL 5.7's and MariaDB's name.
pub const INNODB_SYS_FOREIGN: VirtualTable =
    VirtualTable { name: "INNODB_SYS_FOREIGN", columns: FOREIGN, rows: foreign };

const FOREIGN: &[super::VirtualColumn] =
    &[text("ID", 193), text("FOR_NAME", 193), text("REF_NAME", 193), number("N_COLS"), number("TYPE")];

fn foreign(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    let row = |table: &Table, key: &ForeignKey| {
        vec![
            string(format!("{}/{}", table.database, key.name)),
            string(format!("{}/{}", table.database, table.name)),
            string(format!("{}/{}", key.parent_database, key.parent)),
            Value::UInt(key.columns.len() as u64),
            Value::UInt(actions(key)),
        ]
    };
    let tables = stored_tables(facts);
    tables.iter().flat_map(|table| table.foreign_keys.iter().map(|key| row(table, key))).collect()
}

/// InnoDB's flags: ON DELETE CASCADE 1, SET NULL 2, NO ACTION 16; ON UPDATE CASCADE 4, SET NULL 8, NO ACTION 32.
fn actions(key: &ForeignKey) -> u64 {
    let bits = |action, cascade: u64, set_null: u64, no_action: u64| match action {
        ReferentialAction::Restrict => 0,
        ReferentialAction::Cascade => cascade,
        ReferentialAction::SetNull => set_null,
        ReferentialAction::NoAction => no_action,
    };
    bits(key.on_delete, 1, 2, 16) | bits(key.on_update, 4, 8, 32)
}

pub const INNODB_FOREIGN_COLS: VirtualTable =
    VirtualTable { name: "INNODB_FOREIGN_COLS", columns: FOREIGN_COLS, rows: foreign_cols };
pub const INNODB_SYS_FOREIGN_COLS: VirtualTable =
    VirtualTable { name: "INNODB_SYS_FOREIGN_COLS", columns: FOREIGN_COLS, rows: foreign_cols };

const FOREIGN_COLS: &[super::VirtualColumn] =
    &[text("ID", 193), text("FOR_COL_NAME", 64), text("REF_COL_NAME", 64), number("POS")];

fn foreign_cols(facts: &Facts<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in stored_tables(facts) {
        for key in &table.foreign_keys {
            for (position, (own, other)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                rows.push(vec![
                    string(format!("{}/{}", table.database, key.name)),
                    string(own),
                    string(other),
                    Value::UInt(position as u64),
                ]);
            }
        }
    }
    rows
}
