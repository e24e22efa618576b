//! Full-text indexes: their columns, and what they do with texts, which is fixed when they are created.

use std::time::Duration;

use format::collation::{Charset, collation, convert};
use format::fulltext::{Parser, Stopwords, Tokenizer};
use format::value::{ColumnType, Value};
use storage::schema::{Column, IndexDefinition, IndexPart, same_name};
use storage::{ColumnSet, ReadMode, Row, ScanRange};

use super::Context;
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::parser::ast::IndexSpec;

/// The parts of a full-text index: whole columns of texts of one collation.
pub fn parts(spec: &IndexSpec, columns: &[Column]) -> Result<Vec<IndexPart>> {
    let mut parts: Vec<IndexPart> = Vec::with_capacity(spec.parts.len());
    let mut first = None;
    for part in &spec.parts {
        let ordinal = columns
            .iter()
            .position(|column| same_name(&column.name, &part.column))
            .ok_or_else(|| Error::key_column_missing(&part.column))?;
        if parts.iter().any(|known| known.column == ordinal) {
            return Err(Error::duplicate_column_name(&part.column));
        }
        let column = &columns[ordinal];
        let refused = || {
            let text = format!("Column '{}' cannot be part of FULLTEXT index", column.name);
            Error::new(1283, b"HY000", text)
        };
        let id = match column.ty {
            ColumnType::Char { collation, .. } | ColumnType::VarChar { collation, .. } => collation,
            ColumnType::Text { collation, .. } => collation,
            _ => return Err(refused()),
        };
        let charset = collation(id).charset;
        if charset == Charset::Binary || charset.hides_ascii() || *first.get_or_insert(id) != id {
            return Err(refused());
        }
        if part.descending {
            return Err(Error::new(1221, b"HY000", "Incorrect usage of fulltext index and explicit index order"));
        }
        parts.push(IndexPart::new(ordinal));
    }
    if let Some(id) = columns.iter().find(|column| &*column.name == "FTS_DOC_ID") {
        let fits = id.ty == ColumnType::Int { bytes: 8, unsigned: true } && !id.nullable;
        if !fits {
            let text = "Column 'FTS_DOC_ID' is of wrong type for an InnoDB FULLTEXT index";
            return Err(Error::new(1797, b"HY000", text));
        }
    }
    Ok(parts)
}

/// What the index does with texts: as the variables say now.
pub fn tokenizer(context: &Context<'_>, spec: &IndexSpec) -> Result<Tokenizer> {
    let variables = &context.instance.variables;
    let small = |name: &str| u8::try_from(variables.number(name)).unwrap_or(u8::MAX);
    let parser = match spec.parser.as_deref() {
        None => Parser::Words,
        Some(name) if name.eq_ignore_ascii_case("ngram") => Parser::Ngram(small("ngram_token_size")),
        Some(name) => return Err(Error::new(1128, b"HY000", format!("Function '{name}' is not defined"))),
    };
    Ok(Tokenizer {
        parser,
        chars_min: small("innodb_ft_min_token_size"),
        chars_max: small("innodb_ft_max_token_size"),
        stopwords: stopwords(context)?,
    })
}

/// The stop words of the session's table, of the server's, or the default ones.
fn stopwords(context: &Context<'_>) -> Result<Stopwords> {
    let of_session = |name: &str| context.eval.session.system_variable(None, name);
    if of_session("innodb_ft_enable_stopword")? == Value::Int(0) {
        return Ok(Stopwords::None);
    }
    let named = match of_session("innodb_ft_user_stopword_table")? {
        Value::Bytes(name) if !name.is_empty() => Some(String::from_utf8_lossy(&name).into_owned()),
        _ => context.instance.variables.text_or_null("innodb_ft_server_stopword_table").filter(|name| !name.is_empty()),
    };
    match named {
        None => Ok(Stopwords::Default),
        Some(name) => listed(context, &name),
    }
}

/// The words of a table `database/table`: its column `value`.
fn listed(context: &Context<'_>, name: &str) -> Result<Stopwords> {
    let wrong = || {
        let text = format!("InnoDB: the stop word table '{name}' does not exist, or has not a VARCHAR column 'value'");
        Error::new(1231, b"42000", text)
    };
    let (database, table) = name.split_once('/').ok_or_else(wrong)?;
    let mut options = context.wait.clone();
    options.lock_wait_timeout = Duration::ZERO;
    let mut trx = context.instance.engine.begin(options);
    let table = trx.open_table_to(storage::TableUse::Read, database, table).map_err(|_| wrong())?;
    let at = table.column("value").ok_or_else(wrong)?;
    let ColumnType::VarChar { collation: id, .. } = table.columns[at].ty else { return Err(wrong()) };
    let mut columns = ColumnSet::EMPTY;
    columns.insert(at);
    let mut cursor = trx.cursor(&table, 0, ReadMode::Consistent, columns, ScanRange::ALL).or_sql()?;
    let mut row = Row::new();
    let mut words = Vec::new();
    while cursor.next(&mut trx, &mut row).or_sql()? {
        let mut word = Vec::new();
        convert(row.get(at).unwrap_or_default(), collation(id).charset, Charset::Utf8mb4, &mut word);
        words.push(String::from_utf8_lossy(&word).into());
    }
    words.sort();
    Ok(Stopwords::Listed(words.into()))
}

/// Temporary tables have no full-text indexes.
pub fn check_temporary(is_temporary: bool, indexes: &[IndexDefinition]) -> Result<()> {
    if is_temporary && indexes.iter().any(|index| index.fulltext.is_some()) {
        return Err(Error::new(1796, b"HY000", "Cannot create FULLTEXT index on temporary InnoDB table"));
    }
    Ok(())
}

/// A column that a full-text index is on keeps its collation with the others.
pub fn check_columns(columns: &[Column], indexes: &[IndexDefinition]) -> Result<()> {
    for index in indexes.iter().filter(|index| index.fulltext.is_some()) {
        let first = columns[index.parts[0].column].ty.collation();
        for part in &index.parts {
            let column = &columns[part.column];
            let is_text =
                matches!(column.ty, ColumnType::Char { .. } | ColumnType::VarChar { .. } | ColumnType::Text { .. });
            if !is_text || column.ty.collation() != first {
                let text = format!("Column '{}' cannot be part of FULLTEXT index", column.name);
                return Err(Error::new(1283, b"HY000", text));
            }
        }
    }
    Ok(())
}
