//! The functions of the schema `sys` that work on texts: names of files, lists, versions, shortened statements.

use super::{Call, Function, Typing, typings};
use crate::error::Result;
use crate::expression::Datum;
use crate::types::TypeInfo;

/// `sys_config.statement_truncate_len`.
pub const STATEMENT_CHARS: usize = 64;

pub const FUNCTIONS: &[Function] = &[
    Function::new("sys.format_statement", (1, 1), long_type, format_statement),
    Function::new("sys.format_path", (1, 1), long_type, format_path),
    Function::new("sys.quote_identifier", (1, 1), long_type, quote_identifier),
    Function::new("sys.list_add", (2, 2), long_type, list_add),
    Function::new("sys.list_drop", (2, 2), long_type, list_drop),
    Function::new("sys.extract_schema_from_file_name", (1, 1), name_type, schema_of_file),
    Function::new("sys.extract_table_from_file_name", (1, 1), name_type, table_of_file),
    Function::new("sys.version_major", (0, 0), typings::int, |call| version_part(call, 0)),
    Function::new("sys.version_minor", (0, 0), typings::int, |call| version_part(call, 1)),
    Function::new("sys.version_patch", (0, 0), typings::int, |call| version_part(call, 2)),
];

fn long_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.text(65_535))
}

fn name_type(typing: &mut Typing<'_>) -> Result<TypeInfo> {
    Ok(typing.text(64))
}

/// An argument as characters.
fn chars(call: &Call<'_>, index: usize) -> Result<Option<String>> {
    Ok(call.text(index)?.map(|text| String::from_utf8_lossy(&text).into_owned()))
}

/// The text of one argument, made into another one; NULL stays NULL.
fn of_text<'a>(call: &Call<'a>, make: impl FnOnce(String) -> Option<String>) -> Result<Datum<'a>> {
    Ok(chars(call, 0)?.and_then(make).map_or(Datum::Null, Datum::text))
}

/// The beginning and the end of a long text.
pub fn shortened(text: &str) -> String {
    let text = text.replace('\n', " ");
    let count = text.chars().count();
    if count <= STATEMENT_CHARS {
        return text;
    }
    let half = STATEMENT_CHARS / 2 - 2;
    let (head, tail): (String, String) = (text.chars().take(half).collect(), text.chars().skip(count - half).collect());
    format!("{head} ... {tail}")
}

fn format_statement<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    of_text(call, |text| Some(shortened(&text)))
}

/// The data directory is written as the variable that names it.
fn format_path<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let directory = call.context.session.data_directory();
    let directory = directory.trim_end_matches('/');
    of_text(call, |path| {
        let below = path.strip_prefix(directory).filter(|rest| !directory.is_empty() && rest.starts_with('/'));
        Some(below.map_or(path.clone(), |rest| format!("@@datadir{rest}")))
    })
}

fn quote_identifier<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    of_text(call, |name| Some(format!("`{}`", name.replace('`', "``"))))
}

/// A value is added to a list with commas, if it is not in it.
fn list_add<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (Some(list), Some(value)) = (chars(call, 0)?, chars(call, 1)?) else {
        return Ok(chars(call, 1)?.map_or(Datum::Null, Datum::text));
    };
    let is_in = list.split(',').any(|part| part.trim() == value);
    Ok(Datum::text(match () {
        () if list.is_empty() => value,
        () if is_in => list,
        () => format!("{list},{value}"),
    }))
}

/// A value is taken out of a list with commas.
fn list_drop<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    let (Some(list), Some(value)) = (chars(call, 0)?, chars(call, 1)?) else { return Ok(Datum::Null) };
    let kept: Vec<&str> = list.split(',').filter(|part| part.trim() != value.trim()).collect();
    Ok(Datum::text(kept.join(",")))
}

/// The last two parts of a path.
fn directory_and_file(path: &str) -> Option<(String, String)> {
    let path = path.replace('\\', "/");
    let (rest, file) = path.rsplit_once('/')?;
    let directory = rest.rsplit('/').next()?;
    Some((directory.to_owned(), file.to_owned()))
}

fn schema_of_file<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    of_text(call, |path| directory_and_file(&path).map(|(directory, _)| directory))
}

fn table_of_file<'a>(call: &Call<'a>) -> Result<Datum<'a>> {
    of_text(call, |path| {
        let (_, file) = directory_and_file(&path)?;
        let table = file.split_once('.').map_or(file.as_str(), |(table, _)| table);
        Some(table.replace("@0024", "$"))
    })
}

fn version_part<'a>(call: &Call<'a>, at: usize) -> Result<Datum<'a>> {
    let version = call.context.session.version();
    let part = version.split(['.', '-']).nth(at).and_then(|part| part.parse::<i64>().ok());
    Ok(part.map_or(Datum::Null, Datum::Int))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_their_ends() {
        assert_eq!(shortened("SELECT\n1"), "SELECT 1");
        let long = format!("{}{}", "a".repeat(40), "b".repeat(40));
        assert_eq!(shortened(&long), format!("{} ... {}", "a".repeat(30), "b".repeat(30)));
    }

    #[test]
    fn a_path_ends_with_a_database_and_a_table() {
        let parts = |path| directory_and_file(path);
        assert_eq!(parts("/data/shop/orders.ibd"), Some(("shop".into(), "orders.ibd".into())));
        assert_eq!(parts("orders.ibd"), None);
    }
}
