//! Random views over views, with and without CHECK OPTION, over tables with CHECK constraints and generated columns:
//! changes through them, of the tables, and by ALTER TABLE.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::rounds::{Outcome, Round, play};
use super::tables::Chance;

#[test]
fn random_changes_through_views_are_answered_as_by_mariadb() {
    play("oracle-through", 1, is_known, |round, seed| {
        Author { chance: Chance(StdRng::seed_from_u64(seed)), views: Vec::new(), named: 0 }.play(round);
    });
}

/// Where both servers are known to differ.
fn is_known(statement: &str, how: &str, last: &str) -> bool {
    let ours = |codes: &[&str]| codes.iter().any(|code| how.contains(&format!("ours: ERROR {code}")));
    // MySQL has held rows to the checks of the views below since 5.7.6, and MariaDB does not. Which of a constraint and a
    // view is asked first differs, and MariaDB's IGNORE passes over neither.
    ours(&["1369"])
        || (ours(&["3819"]) && how.contains("oracle: ERROR 1369"))
        // MariaDB makes the index of a virtual column that MODIFY gives another expression of other values (7000041); with
        // ALGORITHM=COPY it does not.
        || (statement.contains(" MODIFY ") && statement.ends_with("VIRTUAL UNIQUE") && how.contains("oracle: ERROR 1062"))
        || (last.contains("IGNORE") && ["ERROR 4025", "ERROR 1369", "affected rows"].iter().any(|told| how.contains(told)))
        // MySQL inserts into no view that has expressions, and changes none that reads a column that is gone.
        || ours(&["1471", "1356"])
        // MySQL neither renames nor drops a column that an expression names.
        || ours(&["3108", "3959", "3837"])
}

struct Author {
    chance: Chance,
    views: Vec<String>,
    /// How many views and constraints have got names.
    named: u32,
}

/// Every table and view has these.
const COLUMNS: [&str; 4] = ["id", "a", "b", "s"];

impl Author {
    fn play(mut self, round: &mut Round<'_>) {
        for table in ["p", "q"] {
            let definition = self.table();
            round.change(&format!("CREATE TABLE {table} ({definition})"));
            round.change(&format!(
                "INSERT INTO {table} (id, a, b, s) VALUES (1, 1, 2, 'a'), (2, NULL, 3, 'b'), (3, 4, 4, NULL)"
            ));
        }
        for _ in 0..self.chance.number(2, 5) {
            self.view(round);
        }
        for _ in 0..self.chance.number(20, 50) {
            if !round.goes_on() {
                return;
            }
            if self.chance.once_in(8) {
                self.redefine(round);
            } else {
                let change = self.change();
                round.change(&change);
            }
            self.compare(round);
        }
        for table in ["p", "q"] {
            round.check_table(table);
            round.check_definition(table);
        }
    }

    fn compare(&self, round: &mut Round<'_>) {
        for table in ["p", "q"] {
            round.ask(&format!("SELECT * FROM {table}"));
        }
        for view in &self.views {
            round.ask(&format!("SELECT * FROM {view}"));
        }
    }

    fn table(&mut self) -> String {
        let mut parts = vec!["id INT PRIMARY KEY".to_owned(), "a INT".to_owned(), "b INT DEFAULT 3".to_owned()];
        parts.push("s VARCHAR(6)".to_owned());
        for name in ["g", "h"] {
            if self.chance.once_in(2) {
                parts.push(self.generated(name));
            }
        }
        for key in ["KEY ka (a)", "UNIQUE kb (b, s)"] {
            if self.chance.once_in(3) {
                parts.push(key.to_owned());
            }
        }
        while self.chance.once_in(2) {
            parts.push(self.constraint());
        }
        parts.join(", ")
    }

    fn generated(&mut self, name: &str) -> String {
        let (kind, expression) = *self.chance.one(&[
            ("INT", "a + b"),
            ("INT", "a * 2"),
            ("VARCHAR(20)", "CONCAT(s, '-', a)"),
            ("VARCHAR(20)", "UPPER(s)"),
            ("INT", "b * 30"),
            ("INT", "IFNULL(a, 0)"),
        ]);
        let key = self.chance.word(&["", "", " UNIQUE"]);
        format!("{name} {kind} AS ({expression}) {}{key}", self.chance.word(&["STORED", "VIRTUAL"]))
    }

    fn constraint(&mut self) -> String {
        self.named += 1;
        format!(
            "CONSTRAINT n{} CHECK ({})",
            self.named,
            self.chance.word(&[
                "a < 50",
                "a <> b",
                "a IS NULL OR b IS NOT NULL",
                "s <> 'c'",
                "a + b < 100",
                "LENGTH(s) < 5"
            ])
        )
    }

    fn condition(&mut self) -> String {
        match self.chance.number(0, 5) {
            0 => format!("a > {}", self.chance.number(0, 6)),
            1 => format!("a < {} OR a IS NULL", self.chance.number(3, 9)),
            2 => format!("b BETWEEN 1 AND {}", self.chance.number(2, 9)),
            3 => "s LIKE 'a%'".to_owned(),
            4 => format!("id < {}", self.chance.number(4, 12)),
            _ => "s IS NOT NULL".to_owned(),
        }
    }

    fn source(&mut self) -> String {
        match self.views.is_empty() || self.chance.once_in(4) {
            true => self.chance.word(&["p", "q"]).to_owned(),
            false => self.chance.one(&self.views).clone(),
        }
    }

    fn view(&mut self, round: &mut Round<'_>) {
        self.named += 1;
        let (name, source) = (format!("v{}", self.named), self.source());
        let condition = if self.chance.once_in(5) { String::new() } else { format!(" WHERE {}", self.condition()) };
        let columns = self.chance.word(&["*", "id, a, b, s", "id, b AS a, a AS b, s", "id, a, b + 1 AS b, s"]);
        let check =
            self.chance.word(&["", " WITH CHECK OPTION", " WITH LOCAL CHECK OPTION", " WITH CASCADED CHECK OPTION"]);
        let algorithm = self.chance.word(&["", "", "ALGORITHM = MERGE ", "ALGORITHM = TEMPTABLE "]);
        let statement = format!("CREATE {algorithm}VIEW {name} AS SELECT {columns} FROM {source}{condition}{check}");
        if let Outcome::Done(_) = round.change(&statement) {
            self.views.push(name);
        }
    }

    fn value(&mut self, column: &str) -> String {
        match column {
            "id" => self.chance.number(1, 12).to_string(),
            _ if self.chance.once_in(7) => self.chance.word(&["NULL", "DEFAULT"]).to_owned(),
            "s" => self.chance.word(&["'a'", "'ab'", "'b'", "'c'", "'abcde'", "''"]).to_owned(),
            _ => self.chance.word(&["0", "1", "2", "3", "4", "5", "6", "8", "51", "97"]).to_owned(),
        }
    }

    fn rows(&mut self) -> String {
        let rows: Vec<String> = (0..self.chance.number(1, 3))
            .map(|_| {
                let values: Vec<String> = COLUMNS.iter().map(|column| self.value(column)).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        rows.join(", ")
    }

    fn change(&mut self) -> String {
        let (target, column, condition) = (self.source(), self.chance.word(&COLUMNS), self.condition());
        let value = self.value(column);
        let ignore = self.chance.word(&["", "", "", " IGNORE"]);
        match self.chance.number(0, 11) {
            0..=3 => format!("INSERT{ignore} INTO {target} (id, a, b, s) VALUES {}", self.rows()),
            4 => format!("REPLACE INTO {target} (id, a, b, s) VALUES {}", self.rows()),
            5 => format!(
                "INSERT INTO {target} (id, a, b, s) VALUES {} ON DUPLICATE KEY UPDATE {column} = {value}",
                self.rows()
            ),
            6 => format!("DELETE FROM {target} WHERE {condition} ORDER BY id LIMIT 2"),
            7 => format!(
                "INSERT{ignore} INTO {target} (id, a, b, s) SELECT id + {}, b, a, s FROM {} ORDER BY id",
                self.chance.number(1, 9),
                self.chance.word(&["p", "q"])
            ),
            8 => format!("INSERT INTO {target} (id, s) VALUES ({}, {})", self.chance.number(1, 12), self.value("s")),
            9 => format!("UPDATE{ignore} {target} SET a = b, b = a WHERE {condition} ORDER BY id"),
            _ => format!("UPDATE{ignore} {target} SET {column} = {value} WHERE {condition} ORDER BY id"),
        }
    }

    fn redefine(&mut self, round: &mut Round<'_>) {
        let table = self.chance.word(&["p", "q"]);
        let action = match self.chance.number(0, 7) {
            0 => return self.view(round),
            1 => {
                let (name, source, condition) = (self.source(), self.chance.word(&["p", "q"]), self.condition());
                if name.starts_with('v') {
                    let check = self.chance.word(&["", " WITH CHECK OPTION", " WITH LOCAL CHECK OPTION"]);
                    round.change(&format!("ALTER VIEW {name} AS SELECT * FROM {source} WHERE {condition}{check}"));
                }
                return;
            }
            2 => format!("ADD {}", self.constraint()),
            3 => format!("DROP CONSTRAINT n{}", self.chance.number(1, 4)),
            4 => format!("ADD COLUMN {}", self.generated("g")),
            5 => format!("DROP COLUMN {}", self.chance.word(&["g", "h"])),
            6 => format!("MODIFY {}", self.generated("h")),
            _ => self
                .chance
                .word(&["MODIFY a BIGINT", "MODIFY a INT", "MODIFY s VARCHAR(10)", "FORCE", "ADD KEY kg (g)"])
                .to_owned(),
        };
        round.change(&format!("ALTER TABLE {table} {action}"));
    }
}
