//! Which of the source's changes are applied: the filters of CHANGE REPLICATION FILTER and of the options `replicate_*`.
//!
//! ```text
//!   rows        the database of their table, and then the table
//!   statements  the default database that they ran in, and then the tables that they change
//! ```
//!
//! A database counts if REPLICATE_DO_DB names it; without such a list, unless REPLICATE_IGNORE_DB does. Of the rules for
//! tables the first that fits decides, in this order: DO_TABLE, IGNORE_TABLE, WILD_DO_TABLE, WILD_IGNORE_TABLE; if none
//! fits, a list of what is done excludes the rest. A statement that changes several tables is judged by the first of them
//! that any rule fits. REPLICATE_REWRITE_DB comes before all that: it renames the database of rows, and the default
//! database of statements, but no name that a statement's text says.
//!
//! The rules are MySQL's. What CHANGE REPLICATION FILTER says is forgotten at a restart, as there; the options are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use format::collation::{Collation, CollationId};
use sql::Error;
use sql::error::Result;
use sql::parser::ast::{FilterKind, FilterRule};
use sql::replication::FilterStatus;
use sql::session::Targets;

/// Names are case-sensitive.
const NAMES: CollationId = CollationId::UTF8MB4_BIN;

/// What separates database and table, and the names of a rewritten database.
const DOT: &str = ".";
const ARROW: &str = "->";

/// One filter: what it lists, since when, and how often it decided.
#[derive(Clone, Debug)]
struct Filter {
    rules: Vec<FilterRule>,
    is_option: bool,
    since_micros: u64,
    /// Shared with the copies that threads have.
    decided: Arc<AtomicU64>,
}

impl Filter {
    fn of(rules: Vec<FilterRule>, is_option: bool, since_micros: u64) -> Filter {
        Filter { rules, is_option, since_micros, decided: Arc::default() }
    }

    fn fits(&self, is: impl Fn(&FilterRule) -> bool) -> bool {
        let fits = self.rules.iter().any(is);
        if fits {
            self.decided.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }
}

/// See the module header.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// In the order of [`FilterKind::ALL`]; `None` = it was never set.
    filters: [Option<Filter>; FilterKind::ALL.len()],
}

impl Filters {
    /// The options with their values, each as often as it was given.
    pub fn of_options<'o>(options: impl IntoIterator<Item = (&'o str, &'o str)>, now: u64) -> Result<Filters> {
        let mut filters = Filters::default();
        for (name, value) in options {
            let Some(kind) = FilterKind::ALL.into_iter().find(|kind| kind.option() == name) else { continue };
            let rule = option_rule(kind, value).ok_or_else(|| Error::wrong_value_for_variable(name, value))?;
            let filter = filters.filters[kind as usize].get_or_insert_with(|| Filter::of(Vec::new(), true, now));
            filter.rules.push(rule);
        }
        Ok(filters)
    }

    /// CHANGE REPLICATION FILTER. Of a filter that is named twice the last list counts.
    pub fn change(&mut self, changes: &[(FilterKind, Vec<FilterRule>)], now: u64) -> Result<()> {
        for (kind, rules) in changes {
            let is_wild = matches!(kind, FilterKind::WildDoTable | FilterKind::WildIgnoreTable);
            if is_wild && rules.iter().any(|rule| matches!(rule, FilterRule::Pattern(text) if !text.contains(DOT))) {
                let text = "Supplied filter list contains a value which is not in the required format \
                            'db_pattern.table_pattern'";
                return Err(Error::new(3016, b"HY000", text));
            }
        }
        for (kind, rules) in changes {
            self.filters[*kind as usize] = Some(Filter::of(rules.clone(), false, now));
        }
        Ok(())
    }

    fn filter(&self, kind: FilterKind) -> Option<&Filter> {
        self.filters[kind as usize].as_ref().filter(|filter| !filter.rules.is_empty())
    }

    /// Whether any filter lists anything.
    pub fn is_on(&self) -> bool {
        FilterKind::ALL.into_iter().any(|kind| self.filter(kind).is_some())
    }

    /// The name that the source's database has here.
    pub fn rewritten<'n>(&'n self, database: &'n [u8]) -> &'n [u8] {
        let Some(filter) = self.filter(FilterKind::RewriteDb) else { return database };
        let renamed = filter.rules.iter().find_map(|rule| match rule {
            FilterRule::Pair(from, to) if from.as_bytes() == database => Some(to.as_bytes()),
            _ => None,
        });
        if renamed.is_some() {
            filter.decided.fetch_add(1, Ordering::Relaxed);
        }
        renamed.unwrap_or(database)
    }

    /// Whether changes of a database are applied, as far as the rules for databases say.
    fn takes_database(&self, database: &str) -> bool {
        let is = |rule: &FilterRule| matches!(rule, FilterRule::Database(name) if name == database);
        match (self.filter(FilterKind::DoDb), self.filter(FilterKind::IgnoreDb)) {
            _ if database.is_empty() => true,
            (Some(does), _) => does.fits(is),
            (None, Some(ignores)) => !ignores.fits(is),
            (None, None) => true,
        }
    }

    /// What the first rule that fits a table says.
    fn rule_for(&self, database: &str, table: &str) -> Option<bool> {
        let full = format!("{database}.{table}");
        for (kind, takes) in [
            (FilterKind::DoTable, true),
            (FilterKind::IgnoreTable, false),
            (FilterKind::WildDoTable, true),
            (FilterKind::WildIgnoreTable, false),
        ] {
            let is = |rule: &FilterRule| match rule {
                FilterRule::Pair(in_database, name) => in_database == database && name == table,
                FilterRule::Pattern(pattern) => is_like(&full, pattern),
                FilterRule::Database(_) => false,
            };
            if self.filter(kind).is_some_and(|filter| filter.fits(is)) {
                return Some(takes);
            }
        }
        None
    }

    /// What happens to tables that no rule fits.
    fn takes_others(&self) -> bool {
        self.filter(FilterKind::DoTable).is_none() && self.filter(FilterKind::WildDoTable).is_none()
    }

    /// Whether rows of a table are applied. The database as it is named here.
    pub fn takes_rows(&self, database: &str, table: &str) -> bool {
        self.takes_database(database) && self.rule_for(database, table).unwrap_or_else(|| self.takes_others())
    }

    /// Whether a statement is applied that ran in this database, as it is named here.
    pub fn takes_statement(&self, database: &str, targets: &Targets) -> bool {
        match targets {
            Targets::Nothing => true,
            Targets::Unknown => self.takes_database(database),
            Targets::Database(name) => {
                self.takes_database(name.as_deref().unwrap_or(database))
                    && {
                        let name = name.as_deref().unwrap_or(database);
                        let fits = |kind| {
                            let is = |rule: &FilterRule| matches!(rule, FilterRule::Pattern(text) if is_like(&format!("{name}."), text));
                            self.filter(kind).is_some_and(|filter| filter.fits(is))
                        };
                        fits(FilterKind::WildDoTable)
                            || !fits(FilterKind::WildIgnoreTable) && self.filter(FilterKind::WildDoTable).is_none()
                    }
            }
            Targets::Tables(tables) => {
                self.takes_database(database) && {
                    let rules = tables
                        .iter()
                        .find_map(|table| self.rule_for(table.database.as_deref().unwrap_or(database), &table.name));
                    rules.unwrap_or_else(|| self.takes_others())
                }
            }
        }
    }

    /// What is shown of each filter.
    pub fn status(&self) -> Vec<FilterStatus> {
        let shown = |kind: FilterKind| {
            let filter = self.filters[kind as usize].as_ref()?;
            let texts: Vec<String> = filter.rules.iter().map(|rule| shown_rule(kind, rule)).collect();
            Some(FilterStatus {
                kind,
                rules: texts.join(","),
                is_option: filter.is_option,
                since_micros: filter.since_micros,
                decided: filter.decided.load(Ordering::Relaxed),
            })
        };
        FilterKind::ALL.into_iter().filter_map(shown).collect()
    }
}

fn is_like(name: &str, pattern: &str) -> bool {
    let collation = Collation::by_id(NAMES);
    collation.is_some_and(|names| names.like(name.as_bytes(), pattern.as_bytes(), Some(u32::from(b'\\'))))
}

fn shown_rule(kind: FilterKind, rule: &FilterRule) -> String {
    match rule {
        FilterRule::Database(name) => name.clone(),
        FilterRule::Pattern(pattern) => pattern.clone(),
        FilterRule::Pair(from, to) if kind == FilterKind::RewriteDb => format!("({from},{to})"),
        FilterRule::Pair(database, table) => format!("{database}.{table}"),
    }
}

/// An option's value; `None` = it is none.
fn option_rule(kind: FilterKind, value: &str) -> Option<FilterRule> {
    let pair = |separator: &str| {
        let (one, other) = value.split_once(separator)?;
        let (one, other) = (one.trim(), other.trim());
        (!one.is_empty() && !other.is_empty()).then(|| FilterRule::Pair(one.to_owned(), other.to_owned()))
    };
    // `channel:rule` is one for a channel with a name.
    if value.contains(':') {
        return None;
    }
    match kind {
        FilterKind::DoDb | FilterKind::IgnoreDb => (!value.is_empty()).then(|| FilterRule::Database(value.to_owned())),
        FilterKind::DoTable | FilterKind::IgnoreTable => pair(DOT),
        FilterKind::WildDoTable | FilterKind::WildIgnoreTable => {
            value.contains(DOT).then(|| FilterRule::Pattern(value.to_owned()))
        }
        FilterKind::RewriteDb => pair(ARROW),
    }
}

#[cfg(test)]
mod tests {
    use sql::parser::ast::TableName;
    use sql::session::targets;

    use super::*;

    fn filters(options: &[(&str, &str)]) -> Filters {
        Filters::of_options(options.iter().copied(), 0).unwrap()
    }

    fn takes(filters: &Filters, database: &str, statement: &str) -> bool {
        filters.takes_statement(database, &targets(statement.as_bytes(), Default::default()))
    }

    #[test]
    fn databases_are_taken_by_list() {
        let does = filters(&[("replicate_do_db", "a"), ("replicate_do_db", "b"), ("replicate_ignore_db", "a")]);
        assert!(does.takes_rows("a", "t") && does.takes_rows("b", "t") && !does.takes_rows("c", "t"));
        assert!(!does.takes_rows("A", "t"), "names are case-sensitive");
        let ignores = filters(&[("replicate_ignore_db", "a")]);
        assert!(!ignores.takes_rows("a", "t") && ignores.takes_rows("b", "t"));
        // A statement: where it ran, not what it changes.
        assert!(takes(&ignores, "b", "DROP TABLE a.t") && !takes(&ignores, "a", "DROP TABLE b.t"));
        assert!(takes(&ignores, "", "CREATE TABLE a.t (a INT)"));
        // The database that it makes, wherever it ran.
        assert!(!takes(&ignores, "b", "CREATE DATABASE a") && takes(&ignores, "a", "DROP DATABASE b"));
        assert!(!takes(&ignores, "a", "ALTER DATABASE CHARACTER SET utf8mb4"));
        assert!(!takes(&ignores, "a", "CREATE FUNCTION f () RETURNS INT RETURN 1"));
        assert!(takes(&ignores, "a", "SAVEPOINT s"), "it belongs to a transaction");
    }

    #[test]
    fn the_first_rule_that_fits_a_table_decides() {
        let all = filters(&[
            ("replicate_do_table", "d.one"),
            ("replicate_ignore_table", "d.two"),
            ("replicate_wild_do_table", "d.t%"),
            ("replicate_wild_ignore_table", "e%.%"),
        ]);
        for (database, table, taken) in
            [("d", "one", true), ("d", "two", false), ("d", "three", true), ("d", "x", false), ("e1", "one", false)]
        {
            assert_eq!(all.takes_rows(database, table), taken, "{database}.{table}");
        }
        // Without a list of what is done, the rest is.
        let ignores = filters(&[("replicate_wild_ignore_table", "a\\_b.%")]);
        assert!(!ignores.takes_rows("a_b", "t") && ignores.takes_rows("axb", "t"));
        assert!(!takes(&ignores, "", "DROP DATABASE a_b") && takes(&ignores, "", "DROP DATABASE c"));
        // Several tables: the first that a rule fits.
        assert!(takes(&all, "d", "DROP TABLE x, one, two") && !takes(&all, "d", "RENAME TABLE two TO one"));
        assert!(takes(&all, "x", "INSERT INTO d.one SELECT * FROM d.two"), "it is changed, not read");
        assert!(!takes(&all, "d", "CREATE USER a"), "accounts are rows of mysql.user");
        assert!(takes(&filters(&[("replicate_wild_do_table", "mysql.%")]), "d", "GRANT SELECT ON *.* TO a"));
    }

    #[test]
    fn databases_are_renamed() {
        let renames = filters(&[("replicate_rewrite_db", "a -> b"), ("replicate_rewrite_db", "c->d")]);
        assert_eq!([renames.rewritten(b"a"), renames.rewritten(b"c"), renames.rewritten(b"b")], [b"b", b"d", b"b"]);
        let status = renames.status();
        assert_eq!((status[0].rules.as_str(), status[0].decided, status[0].is_option), ("(a,b),(c,d)", 2, true));
    }

    #[test]
    fn malformed_rules_are_refused() {
        for (name, value) in [
            ("replicate_do_db", ""),
            ("replicate_do_db", "channel:a"),
            ("replicate_do_table", "t"),
            ("replicate_ignore_table", "d."),
            ("replicate_wild_do_table", "d%"),
            ("replicate_rewrite_db", "a-b"),
        ] {
            assert!(Filters::of_options([(name, value)], 0).is_err(), "{name}={value}");
        }
        let mut changed = Filters::default();
        let wild = |text: &str| (FilterKind::WildDoTable, vec![FilterRule::Pattern(text.to_owned())]);
        assert_eq!(changed.change(&[wild("d")], 0).unwrap_err().code, 3016);
        assert!(!changed.is_on());
        changed.change(&[wild("d.%"), wild("e.%")], 0).unwrap();
        assert!(changed.takes_rows("e", "t") && !changed.takes_rows("d", "t"), "the last list counts");
        changed.change(&[(FilterKind::WildDoTable, Vec::new())], 0).unwrap();
        assert!(!changed.is_on() && changed.takes_rows("d", "t"));
        let table = TableName { database: Some("d".to_owned()), name: "t".to_owned() };
        assert!(changed.takes_statement("d", &Targets::Tables(vec![table])));
    }
}
