//! Views of `sys` that are views: queries over performance_schema and information_schema, bound with the rights of who reads
//! them, as MySQL's are.
//!
//! The server has them without a dictionary: they are made once, of the texts in [`super::sys_texts`], and are definitions
//! like those that users make. So they are described, shown and planned like these.

use std::sync::{Arc, LazyLock};

use format::collation::CollationId;
use storage::{Definition, DefinitionKind};

use super::sys_texts::VIEWS;
use crate::error::Result;
use crate::parser::ast::ViewAlgorithm;
use crate::views::{self, View, print, qualify};

const SYS: &str = "sys";

/// What never changes while the server runs, and is the same in every server.
static BUILT_IN: LazyLock<Vec<Arc<Definition>>> = LazyLock::new(|| {
    let mut made: Vec<(String, Vec<String>, Arc<Definition>)> = Vec::new();
    for view in VIEWS {
        let mut add = |name: String, text: &str| {
            // A text that is not valid is found by the tests; here it is a view less.
            if let Ok((columns, definition)) = define(&name, text, &made) {
                made.push((name, columns, Arc::new(definition)));
            }
        };
        let (shown, raw) = (written(view.text, shown_as), written(view.text, |_, value| value.to_owned()));
        add(view.name.to_owned(), &shown);
        if shown != raw {
            add(format!("x${}", view.name), &raw);
        }
    }
    made.sort_by(|one, other| one.0.cmp(&other.0));
    made.into_iter().map(|(_, _, definition)| definition).collect()
});

/// The values in braces, as `show` writes them.
fn written(text: &str, show: impl Fn(&str, &str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let (value, after) = behind.split_once('}').unwrap_or((behind, ""));
        let (kind, value) = value.split_once(':').unwrap_or(("", value));
        out.push_str(before);
        out.push_str(&show(kind, value));
        rest = after;
    }
    out + rest
}

fn shown_as(kind: &str, value: &str) -> String {
    match kind {
        "t" => format!("FORMAT_PICO_TIME({value})"),
        "b" => format!("FORMAT_BYTES({value})"),
        "s" => format!("sys.format_statement({value})"),
        _ => format!("sys.format_path({value})"),
    }
}

fn define(
    name: &str,
    text: &str,
    made: &[(String, Vec<String>, Arc<Definition>)],
) -> Result<(Vec<String>, Definition)> {
    let mut query = views::parse(text)?;
    let mut tables = Vec::new();
    let columns_of = |database: &str, table: &str| {
        let view = made.iter().find(|(name, ..)| database == SYS && name == table);
        view.map(|(_, columns, _)| columns.clone()).or_else(|| {
            let table = super::table(database, table)?;
            Some(table.columns.iter().map(|column| column.name.to_owned()).collect())
        })
    };
    let columns = qualify::qualify(&mut query, Some(SYS), &columns_of, &mut tables)?;
    let view = View {
        text: print::query(&query, None)?,
        columns: columns.clone(),
        renames: false,
        algorithm: ViewAlgorithm::Undefined,
        definer: ("mysql.sys".into(), "localhost".into()),
        as_invoker: true,
        check: None,
        is_updatable: false,
        client: CollationId::DEFAULT,
        connection: CollationId::DEFAULT,
        tables,
        created_us: 0,
    };
    let definition = Definition {
        kind: DefinitionKind::View,
        database: SYS.into(),
        name: name.into(),
        table: "".into(),
        bytes: view.encode(),
    };
    Ok((columns, definition))
}

/// The views of a database that the server itself has.
pub fn built_in(database: &str) -> &'static [Arc<Definition>] {
    if database.eq_ignore_ascii_case(SYS) { &BUILT_IN } else { &[] }
}

/// One of them.
pub fn built_in_view(database: &str, name: &str) -> Option<&'static Arc<Definition>> {
    built_in(database).iter().find(|view| view.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_a_view_that_names_its_columns_and_no_table_has_its_name() {
        let twins = VIEWS.iter().filter(|view| view.text.contains('{')).count();
        assert_eq!(BUILT_IN.len(), VIEWS.len() + twins);
        for view in BUILT_IN.iter() {
            assert!(super::super::table(SYS, &view.name).is_none(), "{} is a table, too", view.name);
            let known = View::decode(&view.bytes).expect("a view");
            let again = print::query(&known.query().expect("a query"), None).expect("a text");
            assert_eq!(again, known.text, "{}", view.name);
            assert!(known.columns.iter().all(|name| name.chars().all(|char| char == '_' || char.is_alphanumeric())));
        }
    }
}
