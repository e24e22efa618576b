//! JSON_TABLE bound: the paths of its rows and columns, and the types of these.
//!
//! ```text
//! JSON_TABLE(t.j, '$[*]' COLUMNS (n FOR ORDINALITY, a INT PATH '$.a', NESTED '$.b[*]' COLUMNS (b INT PATH '$')))
//!
//! JsonRows $[*]       0 n, 1 a
//!   JsonRows $.b[*]   2 b            for each row above; beside others of its level, whose columns are NULL then
//! ```
//!
//! Its document may read columns of the tables that stand before it. So the tables of such a query stay in the order
//! written, and its rows are made anew for each row before it.

use format::collation::{Charset, CollationId};
use format::value::{ColumnType, Json, JsonPath, LobSize};

use super::SourceColumn;
use crate::column_types::named_in;
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::expression::functions::json_path;
use crate::parser::ast::{self, JsonColumn, JsonOtherwise, Literal, TypeSpec};
use crate::types::TypeInfo;

/// How deep NESTED may go, over all levels.
const NESTED_MAX: usize = 16;

#[derive(Debug, Clone)]
pub struct JsonTable {
    pub document: Expr,
    pub rows: JsonRows,
    pub width: usize,
}

/// The rows of one path.
#[derive(Debug, Clone)]
pub struct JsonRows {
    pub path: JsonPath,
    /// Numbers of columns, and what is in them.
    pub cells: Vec<(usize, JsonCell)>,
    pub nested: Vec<JsonRows>,
}

#[derive(Debug, Clone)]
pub enum JsonCell {
    Ordinality,
    Exists(JsonPath),
    Value { name: Box<str>, path: JsonPath, ty: ColumnType, on_empty: Otherwise, on_error: Otherwise },
}

#[derive(Debug, Clone)]
pub enum Otherwise {
    Null,
    Error,
    Default(Json),
}

/// The columns and paths of a table. Its document is bound when all tables before it are known.
pub fn bind(table: &ast::JsonTable) -> Result<(JsonTable, Vec<SourceColumn>)> {
    let mut binder = Binder { columns: Vec::new(), nested: 0 };
    let rows = binder.rows(&table.path, &table.columns)?;
    let width = binder.columns.len();
    Ok((JsonTable { document: Expr::null(), rows, width }, binder.columns))
}

struct Binder {
    columns: Vec<SourceColumn>,
    nested: usize,
}

impl Binder {
    fn rows(&mut self, path: &[u8], columns: &[JsonColumn]) -> Result<JsonRows> {
        let mut rows = JsonRows { path: json_path(path)?, cells: Vec::new(), nested: Vec::new() };
        for column in columns {
            let at = self.columns.len();
            match column {
                JsonColumn::Ordinality(name) => {
                    self.add(name, ColumnType::Int { bytes: 4, unsigned: true })?;
                    rows.cells.push((at, JsonCell::Ordinality));
                }
                JsonColumn::Value(column) => {
                    let ty = column_type(&column.name, &column.ty)?;
                    let path = json_path(&column.path)?;
                    self.add(&column.name, ty.clone())?;
                    let cell = match column.exists {
                        true => JsonCell::Exists(path),
                        false => JsonCell::Value {
                            name: column.name.as_str().into(),
                            path,
                            ty,
                            on_empty: otherwise(&column.on_empty, &column.name)?,
                            on_error: otherwise(&column.on_error, &column.name)?,
                        },
                    };
                    rows.cells.push((at, cell));
                }
                JsonColumn::Nested { path, columns } => {
                    self.nested += 1;
                    if self.nested > NESTED_MAX {
                        let text = format!("More than supported {NESTED_MAX} NESTED PATHs were found in JSON_TABLE");
                        return Err(Error::new(3670, b"42000", text));
                    }
                    let nested = self.rows(path, columns)?;
                    rows.nested.push(nested);
                }
            }
        }
        Ok(rows)
    }

    fn add(&mut self, name: &str, ty: ColumnType) -> Result<()> {
        if self.columns.iter().any(|known| storage::same_name(&known.name, name)) {
            return Err(Error::duplicate_column_name(name));
        }
        let info = TypeInfo::of_column(&ty, true);
        self.columns.push(SourceColumn { name: name.into(), ty, info, invisible: false });
        Ok(())
    }
}

/// DEFAULT has the text of a document.
fn otherwise(written: &JsonOtherwise, column: &str) -> Result<Otherwise> {
    Ok(match written {
        JsonOtherwise::Null => Otherwise::Null,
        JsonOtherwise::Error => Otherwise::Error,
        JsonOtherwise::Default(ast::Expr::Literal(Literal::String { bytes, .. })) => {
            Otherwise::Default(Json::parse(bytes).map_err(|_| Error::invalid_default(column))?)
        }
        JsonOtherwise::Default(_) => return Err(Error::invalid_default(column)),
    })
}

fn column_type(name: &str, spec: &TypeSpec) -> Result<ColumnType> {
    let int = |bytes| ColumnType::Int { bytes, unsigned: spec.unsigned };
    let length = |default: u32| spec.length.map_or(default, |length| u32::try_from(length).unwrap_or(u32::MAX));
    let fsp = length(0);
    if fsp > 6 && matches!(spec.name.as_str(), "TIME" | "DATETIME" | "TIMESTAMP") {
        return Err(Error::too_big_precision(u64::from(fsp), name, 6));
    }
    let fsp = fsp as u8;
    Ok(match spec.name.as_str() {
        "TINYINT" | "BOOL" | "BOOLEAN" => int(1),
        "SMALLINT" => int(2),
        "MEDIUMINT" => int(3),
        "INT" => int(4),
        "BIGINT" => int(8),
        "YEAR" => ColumnType::Year,
        "FLOAT" => ColumnType::Float { unsigned: spec.unsigned, decimals: None },
        "DOUBLE" => ColumnType::Double { unsigned: spec.unsigned, decimals: None },
        "DECIMAL" => match (length(10), spec.decimals.unwrap_or(0)) {
            (precision @ 66.., _) => return Err(Error::too_big_precision(u64::from(precision), name, 65)),
            (_, scale @ 31..) => return Err(Error::too_big_scale(u64::from(scale), name, 30)),
            (precision, scale) if u32::from(scale) > precision => return Err(Error::precision_below_scale(name)),
            (precision, scale) => {
                ColumnType::Decimal { precision: precision.max(1) as u8, scale, unsigned: spec.unsigned }
            }
        },
        "DATE" => ColumnType::Date,
        "TIME" => ColumnType::Time { fsp },
        "DATETIME" => ColumnType::DateTime { fsp },
        "TIMESTAMP" => ColumnType::Timestamp { fsp },
        "JSON" => ColumnType::Json,
        "VARBINARY" => ColumnType::VarBinary { bytes: length(1) },
        "BINARY" => ColumnType::Binary { bytes: length(1).min(255) },
        "CHAR" => ColumnType::Char { chars: length(1).min(255), collation: collation_of(spec)? },
        "VARCHAR" => ColumnType::VarChar { chars: length(1).min(16_383), collation: collation_of(spec)? },
        "TINYTEXT" => ColumnType::Text { size: LobSize::Tiny, collation: collation_of(spec)? },
        "TEXT" => ColumnType::Text { size: LobSize::Regular, collation: collation_of(spec)? },
        "MEDIUMTEXT" => ColumnType::Text { size: LobSize::Medium, collation: collation_of(spec)? },
        "LONGTEXT" => ColumnType::Text { size: LobSize::Long, collation: collation_of(spec)? },
        other => return Err(Error::unsupported(format!("columns of type {other} in JSON_TABLE"))),
    })
}

fn collation_of(spec: &TypeSpec) -> Result<CollationId> {
    let charset = match &spec.charset {
        Some(name) => Charset::by_name(name).ok_or_else(|| Error::unknown_charset(name))?,
        None => Charset::Utf8mb4,
    };
    match &spec.collation {
        Some(name) => Ok(named_in(name, charset)?.id),
        None => Ok(charset.default_collation()),
    }
}
