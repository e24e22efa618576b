//! Views: what of one is kept in the dictionary, and its text in MySQL's normal form.
//!
//! ```text
//! CREATE VIEW ... AS query --qualify--> every name with its table, every * as columns --print--> text, kept in a View
//! FROM v --------------------------------------------------------- parse <------------------------------------+
//! ```
//!
//! So what `SELECT *` and an unqualified name mean is settled when the view is created. What the normal form does not
//! print (a syntax that the printer does not know) is refused at creation: a view's text is read back and printed again
//! before it is kept, and both prints must be equal.
//!
//! Not here: how a view is bound to a query (`planner::view`), and the statements (`ddl::view`).

pub mod print;
pub mod qualify;

use format::collation::CollationId;

use crate::describe::quoted;
use crate::error::{Error, Result};
use crate::parser;
use crate::parser::ast::{CheckOption, Query, Statement, ViewAlgorithm};
use crate::types::SqlMode;

/// The form of what is stored; a later server can add fields behind.
const FORM: u8 = 1;

/// A view as the dictionary keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The query in normal form, every table with its database.
    pub text: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The names were written behind the view's, and are not those of the query.
    pub renames: bool,
    pub algorithm: ViewAlgorithm,
    /// User and host.
    pub definer: (String, String),
    /// SQL SECURITY INVOKER.
    pub as_invoker: bool,
    pub check: Option<CheckOption>,
    /// What IS_UPDATABLE tells.
    pub is_updatable: bool,
    /// `character_set_client` when it was created.
    pub client: CollationId,
    /// `collation_connection` when it was created: that of literals.
    pub connection: CollationId,
    /// The tables and views in its query, each once.
    pub tables: Vec<(String, String)>,
    /// Microseconds since 1970.
    pub created_us: u64,
}

impl View {
    pub fn encode(&self) -> Box<[u8]> {
        let mut out = vec![FORM];
        out.push(self.algorithm as u8);
        out.push(u8::from(self.as_invoker) | u8::from(self.renames) << 1 | u8::from(self.is_updatable) << 2);
        out.push(self.check.map_or(0, |check| 1 + check as u8));
        out.extend(self.client.0.to_be_bytes());
        out.extend(self.connection.0.to_be_bytes());
        out.extend(self.created_us.to_be_bytes());
        put(&mut out, &self.definer.0);
        put(&mut out, &self.definer.1);
        put(&mut out, &self.text);
        out.extend((self.columns.len() as u32).to_be_bytes());
        self.columns.iter().for_each(|name| put(&mut out, name));
        out.extend((self.tables.len() as u32).to_be_bytes());
        for (database, name) in &self.tables {
            put(&mut out, database);
            put(&mut out, name);
        }
        out.into_boxed_slice()
    }

    pub fn decode(bytes: &[u8]) -> Result<View> {
        let mut from = Fields(bytes);
        let form = from.number(1)?;
        if form != u64::from(FORM) {
            return Err(Error::unsupported(format!("views of form {form}")));
        }
        let algorithm = match from.number(1)? {
            0 => ViewAlgorithm::Undefined,
            1 => ViewAlgorithm::Merge,
            _ => ViewAlgorithm::TempTable,
        };
        let flags = from.number(1)?;
        let check = match from.number(1)? {
            0 => None,
            1 => Some(CheckOption::Local),
            _ => Some(CheckOption::Cascaded),
        };
        let (client, connection) = (CollationId(from.number(2)? as u16), CollationId(from.number(2)? as u16));
        let created_us = from.number(8)?;
        let definer = (from.text()?, from.text()?);
        let text = from.text()?;
        let columns = (0..from.number(4)?).map(|_| from.text()).collect::<Result<_>>()?;
        let tables = (0..from.number(4)?).map(|_| Ok((from.text()?, from.text()?))).collect::<Result<_>>()?;
        Ok(View {
            text,
            columns,
            renames: flags & 2 != 0,
            algorithm,
            definer,
            as_invoker: flags & 1 != 0,
            check,
            is_updatable: flags & 4 != 0,
            client,
            connection,
            tables,
            created_us,
        })
    }

    /// The statement that makes it. Names in `current` stand alone if all tables are there.
    pub fn create_statement(&self, database: &str, name: &str, current: Option<&str>) -> Result<String> {
        let alone = current
            .filter(|current| *current == database && self.tables.iter().all(|(database, _)| database == current));
        let text = print::query(&self.query()?, alone)?;
        let name = match current == Some(database) {
            true => quoted(name),
            false => format!("{}.{}", quoted(database), quoted(name)),
        };
        let columns: Vec<String> = self.columns.iter().map(|name| quoted(name)).collect();
        let columns = if self.renames { format!(" ({})", columns.join(",")) } else { String::new() };
        let head = head(self.algorithm, &self.definer, self.as_invoker);
        let check = self.check.map_or(String::new(), |check| format!(" WITH {} CHECK OPTION", check.name()));
        Ok(format!("CREATE {head} VIEW {name}{columns} AS {text}{check}"))
    }

    /// The query, parsed.
    pub fn query(&self) -> Result<Query> {
        parse(&self.text)
    }
}

/// What stands between CREATE and VIEW.
pub fn head(algorithm: ViewAlgorithm, definer: &(String, String), as_invoker: bool) -> String {
    let security = if as_invoker { "INVOKER" } else { "DEFINER" };
    let (user, host) = (quoted(&definer.0), quoted(&definer.1));
    format!("ALGORITHM={} DEFINER={user}@{host} SQL SECURITY {security}", algorithm.name())
}

/// Reads a query in normal form, which no sql_mode changes.
pub fn parse(text: &str) -> Result<Query> {
    match parser::parse_first(text.as_bytes(), SqlMode::default())?.0.map(|parsed| parsed.statement) {
        Some(Statement::Query(query)) => Ok(*query),
        _ => Err(Error::internal("the text of a view is no query")),
    }
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_be_bytes());
    out.extend(text.as_bytes());
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take(&mut self, bytes: usize) -> Result<&[u8]> {
        let damaged = || Error::internal("a view's row in the dictionary");
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<u64> {
        Ok(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn text(&mut self) -> Result<String> {
        let bytes = self.number(4)? as usize;
        Ok(String::from_utf8_lossy(self.take(bytes)?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_comes_back() {
        let view = View {
            text: "select 1 AS `1`".into(),
            columns: vec!["1".into(), "ä".into()],
            renames: true,
            algorithm: ViewAlgorithm::TempTable,
            definer: ("root".into(), "localhost".into()),
            as_invoker: true,
            check: Some(CheckOption::Local),
            is_updatable: false,
            client: CollationId::DEFAULT,
            connection: CollationId::DEFAULT,
            tables: vec![("d".into(), "t".into())],
            created_us: 1 << 50,
        };
        let bytes = view.encode();
        assert_eq!(View::decode(&bytes).unwrap(), view);
        for end in 0..bytes.len() {
            assert!(View::decode(&bytes[..end]).is_err());
        }
    }
}
