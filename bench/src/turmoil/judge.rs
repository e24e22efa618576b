//! What must be true whenever nobody changes anything: of all tables, by whatever way.

use rand::Rng;
use rand::rngs::StdRng;

use super::author::{DATABASES, WORDS, money};
use crate::client::{Client, Error};
use crate::process::Server;

/// Errors in words, rows as texts.
struct Judge {
    client: Client,
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Ends the branches that are prepared, and looks at everything.
pub fn all(server: &Server, random: &mut StdRng) -> Result<(), String> {
    let client = server.connect().map_err(|error| error.to_string())?;
    let mut judge = Judge { client };
    for branch in judge.rows("XA RECOVER")? {
        let end = if random.random() { "COMMIT" } else { "ROLLBACK" };
        judge.rows(&format!("XA {end} '{}'", branch[3]))?;
    }
    let (question, wanted) = money();
    let found = judge.rows(question)?;
    if found != [wanted] {
        return Err(format!("{question}: {found:?}"));
    }
    // What the copies of definitions refer to is not looked for.
    for statement in ["SET foreign_key_checks = 0", "SET sql_log_bin = 0", "CREATE DATABASE again"] {
        judge.rows(statement)?;
    }
    for database in DATABASES {
        let tables = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}' AND table_type = 'BASE TABLE'"
        );
        for row in judge.rows(&tables)? {
            judge.table(database, &row[0]).map_err(|wrong| format!("{database}.{}: {wrong}", row[0]))?;
        }
    }
    judge.rows("DROP DATABASE again").map(|_| ())
}

impl Judge {
    /// NULL is an empty text.
    fn rows(&mut self, question: &str) -> Result<Vec<Vec<String>>, String> {
        let answer = self.client.query(question).map_err(|error: Error| format!("{question}: {error}"))?;
        let cells = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect();
        Ok(answer.rows.into_iter().map(cells).collect())
    }

    /// Fails if there are rows of which something is true.
    fn none(&mut self, table: &str, condition: &str) -> Result<(), String> {
        let question = format!("SELECT COUNT(*) FROM {table} x WHERE {condition}");
        match self.rows(&question)?[0][0].as_str() {
            "0" => Ok(()),
            count => Err(format!("{count} rows: {question}")),
        }
    }

    fn table(&mut self, database: &str, name: &str) -> Result<(), String> {
        let table = format!("{}.{}", quoted(database), quoted(name));
        let checked = self.rows(&format!("CHECK TABLE {table} EXTENDED"))?;
        if checked.iter().any(|row| row[3] != "OK") {
            return Err(format!("{checked:?}"));
        }
        let of = format!("table_schema = '{database}' AND table_name = '{name}'");
        let parts = self.rows(&format!(
            "SELECT index_name, column_name, expression, index_type FROM information_schema.statistics WHERE {of} AND is_visible \
             = 'YES' ORDER BY index_name = 'PRIMARY' DESC, index_name, seq_in_index"
        ))?;
        self.indexes(&table, &parts)?;
        self.values(&table, database, &of)?;
        self.parents(&table, &of)?;
        self.definition(&table, name)
    }

    /// Each index has the rows that the table has.
    fn indexes(&mut self, table: &str, parts: &[Vec<String>]) -> Result<(), String> {
        let column = |part: &[String]| match part[1].as_str() {
            "" => format!("({})", part[2].replace("\\'", "'")),
            name => quoted(name),
        };
        let mut names: Vec<&str> = parts.iter().map(|part| part[0].as_str()).collect();
        names.dedup();
        let key: Vec<String> = parts.iter().filter(|part| part[0] == "PRIMARY").map(|part| column(part)).collect();
        let all: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let by_rows = match key.is_empty() {
            true if all.is_empty() => String::new(),
            true => format!("IGNORE INDEX ({})", all.join(", ")),
            false => "FORCE INDEX (PRIMARY)".into(),
        };
        for name in names.iter().filter(|name| **name != "PRIMARY") {
            let of: Vec<&Vec<String>> = parts.iter().filter(|part| part[0] == *name).collect();
            match of[0][3].as_str() {
                "FULLTEXT" => self.words(table, &of.iter().map(|part| column(part)).collect::<Vec<_>>().join(", "))?,
                "BTREE" if of.iter().any(|part| part[2].contains("array")) => {}
                "BTREE" => {
                    let columns: Vec<String> = of.iter().map(|part| column(part)).chain(key.iter().cloned()).collect();
                    let cells: Vec<String> = columns.iter().map(|column| format!("IFNULL({column}, '~')")).collect();
                    let sum = format!("SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', {}))) FROM {table}", cells.join(", "));
                    let first = &columns[0];
                    let ways = [
                        format!("{sum} {by_rows}"),
                        format!("{sum} FORCE INDEX ({})", quoted(name)),
                        format!("{sum} FORCE INDEX ({}) WHERE {first} IS NULL OR {first} <= {first}", quoted(name)),
                    ];
                    let answers = ways.iter().map(|way| self.rows(way)).collect::<Result<Vec<_>, _>>()?;
                    if answers.iter().any(|answer| *answer != answers[0]) {
                        return Err(format!("index {name}: {answers:?}"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A full-text index finds what is there.
    fn words(&mut self, table: &str, columns: &str) -> Result<(), String> {
        for word in WORDS {
            let found = self.rows(&format!(
                "SELECT COUNT(*) FROM {table} WHERE MATCH ({columns}) AGAINST ('+{word}' IN BOOLEAN MODE)"
            ))?;
            let there =
                self.rows(&format!("SELECT COUNT(*) FROM {table} WHERE CONCAT_WS(' ', {columns}) LIKE '%{word}%'"))?;
            if found != there {
                return Err(format!("{word}: found {found:?}, there {there:?}"));
            }
        }
        Ok(())
    }

    /// Generated columns and CHECK constraints.
    fn values(&mut self, table: &str, database: &str, of: &str) -> Result<(), String> {
        let generated = self.rows(&format!(
            "SELECT column_name, generation_expression FROM information_schema.columns WHERE {of} AND generation_expression <> ''"
        ))?;
        for row in generated {
            let expression = row[1].replace("\\'", "'");
            self.none(table, &format!("NOT ({} <=> ({expression}))", quoted(&row[0])))?;
        }
        let checks = self.rows(&format!(
            "SELECT check_clause FROM information_schema.check_constraints JOIN information_schema.table_constraints USING \
             (constraint_schema, constraint_name) WHERE constraint_schema = '{database}' AND {of}"
        ))?;
        for row in checks {
            self.none(table, &format!("NOT ({})", row[0].replace("\\'", "'")))?;
        }
        Ok(())
    }

    /// Foreign keys of one column.
    fn parents(&mut self, table: &str, of: &str) -> Result<(), String> {
        let keys = self.rows(&format!(
            "SELECT column_name, referenced_table_schema, referenced_table_name, referenced_column_name FROM \
             information_schema.key_column_usage WHERE {of} AND referenced_table_name IS NOT NULL"
        ))?;
        for key in keys {
            let [column, database, parent, to] = [&key[0], &key[1], &key[2], &key[3]].map(|name| quoted(name));
            let parents = format!("SELECT 1 FROM {database}.{parent} y WHERE y.{to} = x.{column}");
            self.none(table, &format!("x.{column} IS NOT NULL AND NOT EXISTS ({parents})"))?;
        }
        Ok(())
    }

    /// A definition makes the same table again.
    fn definition(&mut self, table: &str, name: &str) -> Result<(), String> {
        let shown = self.rows(&format!("SHOW CREATE TABLE {table}"))?[0][1].clone();
        let name = quoted(name);
        self.rows("USE again")?;
        self.rows(&shown)?;
        let again = self.rows(&format!("SHOW CREATE TABLE {name}"))?[0][1].clone();
        self.rows(&format!("DROP TABLE {name}"))?;
        match plain(&shown) == plain(&again) {
            true => Ok(()),
            false => Err(format!("{shown}\nis made as\n{again}")),
        }
    }
}

/// A definition without the next number, which counts rows that were never there.
fn plain(shown: &str) -> String {
    match shown.split_once(" AUTO_INCREMENT=") {
        Some((before, after)) => format!("{before}{}", after.trim_start_matches(|digit: char| digit.is_ascii_digit())),
        None => shown.into(),
    }
}
