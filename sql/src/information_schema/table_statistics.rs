//! What is known about the rows of tables: the estimates that InnoDB keeps in two tables of the database `mysql`, and the
//! histograms. They are changed by ANALYZE TABLE, and estimates by the server when rows have changed, and by no other
//! statement.

use std::sync::Arc;

use format::value::{ColumnType, Json, Value};
use storage::Table;
use storage::schema::{Estimates, FieldSource, Index};

use super::wanted::stored_tables;
use super::{Facts, VirtualColumn, VirtualTable, exact, moment, number, small, string, text, time};

pub const INNODB_TABLE_STATS: VirtualTable = VirtualTable {
    name: "innodb_table_stats",
    columns: &[
        text("database_name", 64),
        text("table_name", 199),
        time("last_update"),
        number("n_rows"),
        number("clustered_index_size"),
        number("sum_of_other_index_sizes"),
    ],
    rows: |facts| {
        let row = |(file, estimates): &(Arc<Table>, Arc<Estimates>)| {
            let mut pages = estimates.indexes.iter().map(|index| index.pages);
            let clustered = pages.next().unwrap_or(0);
            vec![
                string(&file.database),
                string(file.file_name()),
                moment(facts, estimates.taken_us),
                Value::UInt(estimates.rows),
                Value::UInt(clustered),
                Value::UInt(pages.sum()),
            ]
        };
        kept(facts).iter().map(row).collect()
    },
};

pub const INNODB_INDEX_STATS: VirtualTable = VirtualTable {
    name: "innodb_index_stats",
    columns: &[
        text("database_name", 64),
        text("table_name", 199),
        text("index_name", 64),
        time("last_update"),
        text("stat_name", 64),
        number("stat_value"),
        number("sample_size"),
        text("stat_description", 1024),
    ],
    rows: |facts| kept(facts).iter().flat_map(|(file, estimates)| index_rows(facts, file, estimates)).collect(),
};

pub const COLUMN_STATISTICS: VirtualTable = VirtualTable {
    name: "COLUMN_STATISTICS",
    columns: &[
        exact("SCHEMA_NAME", 64),
        exact("TABLE_NAME", 64),
        small("COLUMN_NAME", 64),
        VirtualColumn { name: "HISTOGRAM", ty: ColumnType::Json, nullable: false },
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for table in stored_tables(facts) {
            let sees = |column: &str| facts.rights.sees_column(&table.database, &table.name, column);
            for histogram in table.state.statistics.histograms().iter() {
                // What cannot be read is left out by the planner as well.
                if Json::decode(&histogram.bytes).is_err() || !sees(&histogram.column) {
                    continue;
                }
                rows.push(vec![
                    string(&table.database),
                    string(&table.name),
                    string(&histogram.column),
                    Value::Json(histogram.bytes.to_vec()),
                ]);
            }
        }
        rows
    },
};

/// The estimates that outlast the server, by table and partition.
fn kept(facts: &Facts<'_>) -> Vec<(Arc<Table>, Arc<Estimates>)> {
    let tables = stored_tables(facts);
    let files = tables.iter().flat_map(|table| table.files());
    files.filter_map(|file| Some((file.clone(), facts.instance.engine.persistent_estimates(file)?))).collect()
}

fn index_rows(facts: &Facts<'_>, file: &Table, estimates: &Estimates) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let mut indexes: Vec<&Index> = file.indexes.iter().collect();
    indexes.sort_by_key(|index| &index.name);
    for index in indexes {
        let Some(known) = estimates.of(index.id) else { continue };
        let mut say = |name: &str, value: u64, sampled: Option<u64>, description: &str| {
            rows.push(vec![
                string(&file.database),
                string(file.file_name()),
                string(&index.name),
                moment(facts, estimates.taken_us),
                string(name),
                Value::UInt(value),
                sampled.map_or(Value::Null, Value::UInt),
                string(description),
            ]);
        };
        let mut names = Vec::new();
        for (number, (distinct, field)) in known.distinct.iter().zip(&index.fields).enumerate() {
            names.push(field_name(file, field.source));
            let name = format!("n_diff_pfx{:02}", number + 1);
            say(&name, distinct.values, Some(distinct.sampled_pages), &names.join(","));
        }
        say("n_leaf_pages", known.leaf_pages, None, "Number of leaf pages in the index");
        say("size", known.pages, None, "Number of pages in the index");
    }
    rows
}

fn field_name(table: &Table, source: FieldSource) -> &str {
    match source {
        FieldSource::Column(column) | FieldSource::Element(column) => &table.columns[usize::from(column)].name,
        FieldSource::RowId => "DB_ROW_ID",
        FieldSource::TrxId => "DB_TRX_ID",
        FieldSource::RollPtr => "DB_ROLL_PTR",
        FieldSource::Word => "WORD",
        FieldSource::Frequency => "FREQUENCY",
        FieldSource::Dropped(_) => "",
    }
}
