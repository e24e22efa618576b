//! What is granted, taken back and tried: random grants and statements over the objects of [`super::objects`].

use rand::Rng;

use super::objects::{DATABASES, ROLES, USERS, event, routine, trigger, view};
use crate::random::Random;

const GLOBAL: &[&str] =
    &["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER", "RELOAD", "PROCESS", "FILE"];
/// Those of a table come first.
const DATABASE: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE VIEW",
    "SHOW VIEW",
    "TRIGGER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EXECUTE",
    "EVENT",
];
const TABLE: &[&str] = DATABASE.split_at(12).0;
const COLUMN: &[&str] = &["SELECT", "INSERT", "UPDATE", "REFERENCES"];
const ROUTINE: &[&str] = &["EXECUTE", "ALTER ROUTINE"];
/// No two of them are as specific: which one counts then is not said.
const PATTERNS: [&str; 4] = ["go%", "g%", "gt_o", "oth\\_r"];

/// A statement to be tried.
pub struct Case {
    pub text: String,
    /// What makes all as before, where it was done. Rows are not changed: nothing is committed.
    pub undo: Vec<String>,
    /// It tells what there is: the rows are compared.
    pub tells: bool,
}

fn harmless(text: String) -> Case {
    Case { text, undo: Vec::new(), tells: false }
}

fn undone(text: String, undo: String) -> Case {
    Case { text, undo: vec![undo], tells: false }
}

fn telling(text: String) -> Case {
    Case { text, undo: Vec::new(), tells: true }
}

impl Random {
    fn some(&mut self, all: &[&str], most: usize) -> String {
        let count = self.0.random_range(1..=most);
        let mut names: Vec<&str> = (0..count).map(|_| self.pick(all)).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    }

    fn column(&mut self) -> &'static str {
        self.pick(&["a", "b", "c"])
    }

    fn table(&mut self) -> String {
        let database = self.pick(&DATABASES);
        format!("{database}.{}", self.pick(&["t", "s"]))
    }

    fn view_name(&mut self) -> &'static str {
        self.pick(&["vd", "vi", "vu", "wi"])
    }

    fn view(&mut self) -> String {
        format!("{}.{}", self.pick(&DATABASES), self.view_name())
    }

    /// A table or a view.
    fn source(&mut self) -> String {
        if self.chance(35) { self.view() } else { self.table() }
    }

    /// A table or a view, or a table that is missing.
    fn any_source(&mut self) -> String {
        if self.chance(12) { format!("{}.missing", self.pick(&DATABASES)) } else { self.source() }
    }

    fn any_table(&mut self) -> String {
        if self.chance(12) { format!("{}.missing", self.pick(&DATABASES)) } else { self.table() }
    }

    /// Kind, database and name of a routine.
    fn routine(&mut self) -> (&'static str, &'static str, &'static str) {
        let database = self.pick(&DATABASES);
        match self.chance(50) {
            true => ("PROCEDURE", database, self.pick(&["pd", "pi", "pu"])),
            false => ("FUNCTION", database, self.pick(&["fd", "fi", "fu"])),
        }
    }

    /// What an account or a role is granted, perhaps on a pattern of databases.
    pub fn grant(&mut self, to: &str, patterns: bool) -> String {
        let option = if self.chance(20) && !ROLES.contains(&to) { " WITH GRANT OPTION" } else { "" };
        match self.0.random_range(0..13) {
            0..=1 => format!("GRANT {} ON *.* TO {to}{option}", self.some(GLOBAL, 3)),
            2..=4 => {
                let on = if patterns && self.chance(30) { self.pick(&PATTERNS) } else { self.pick(&DATABASES) };
                let all = self.chance(30);
                let what = if all { "ALL".to_owned() } else { self.some(DATABASE, 4) };
                format!("GRANT {what} ON `{on}`.* TO {to}{option}")
            }
            5..=7 => format!("GRANT {} ON {} TO {to}{option}", self.some(TABLE, 4), self.source()),
            8..=9 => {
                let (kind, database, name) = self.routine();
                format!("GRANT {} ON {kind} {database}.{name} TO {to}{option}", self.some(ROUTINE, 2))
            }
            _ => {
                // To find the columns MariaDB reads the view, with the rights of its definer.
                let database = self.pick(&DATABASES);
                let source = self.pick(&["t", "s", "t", "s", "vd", "vi"]);
                let columns = self.some(&["a", "b", "c"], 2);
                format!("GRANT {} ({columns}) ON {database}.{source} TO {to}", self.pick(COLUMN))
            }
        }
    }

    pub fn revoke(&mut self, user: &str) -> String {
        match self.0.random_range(0..3) {
            0 => format!("REVOKE {} ON *.* FROM {user}@localhost", self.some(GLOBAL, 2)),
            1 => format!("REVOKE {} ON {}.* FROM {user}@localhost", self.some(DATABASE, 3), self.pick(&DATABASES)),
            _ => format!("REVOKE {} ON {} FROM {user}@localhost", self.some(TABLE, 3), self.table()),
        }
    }

    pub fn case(&mut self) -> Case {
        match self.0.random_range(0..100) {
            0..22 => harmless(self.query()),
            22..45 => harmless(self.change()),
            45..60 => self.definition(),
            60..70 => self.definition_of_view(),
            70..82 => self.program(),
            82..95 => self.showing(),
            _ => harmless(self.administration()),
        }
    }

    fn query(&mut self) -> String {
        let (t, s) = (self.any_source(), self.source());
        let (c, d) = (self.column(), self.column());
        match self.0.random_range(0..21) {
            0 => format!("SELECT * FROM {t}"),
            1 => format!("SELECT {c} FROM {t}"),
            2 => format!("SELECT COUNT(*) FROM {t}"),
            3 => format!("SELECT {c} FROM {t} WHERE {d} = 1"),
            4 => format!("SELECT {c} FROM {t} ORDER BY {d}"),
            5 => format!("SELECT {c}, COUNT(*) FROM {t} GROUP BY {c} HAVING MAX({d}) > 0"),
            6 => format!("SELECT x.{c} FROM {t} x JOIN {s} y ON x.a = y.{d}"),
            7 => format!("SELECT x.{c} FROM {t} x JOIN {s} y USING ({d})"),
            8 => format!("SELECT (SELECT MAX(y.{c}) FROM {t} y WHERE y.{d} = x.a) FROM {s} x"),
            9 => format!("SELECT 1 FROM (SELECT {c} FROM {t}) d"),
            10 => format!("WITH w AS (SELECT {c} FROM {t}) SELECT * FROM w"),
            11 => format!("SELECT {c} FROM {s} UNION SELECT {d} FROM {t}"),
            12 => format!("SELECT 1 FROM {s} x WHERE EXISTS (SELECT 1 FROM {t} y WHERE y.{c} = x.{d})"),
            13 => format!("SELECT {c}, SUM({c}) OVER (ORDER BY {d}) FROM {t}"),
            14 => format!("SELECT DISTINCT x.{c} FROM {t} x NATURAL JOIN {s} y"),
            15 => format!("SELECT DEFAULT({c}) FROM {t}"),
            16 => format!("SELECT {c} FROM {t} LIMIT 1 INTO @found"),
            17 => format!("SELECT {c} FROM {t} INTO OUTFILE '/nowhere/found'"),
            18 => format!("SELECT x.{c} FROM {s} x LEFT JOIN {t} y ON y.{d} IS NULL"),
            19 => format!("EXPLAIN SELECT {c} FROM {t}"),
            _ => format!("SELECT {c} FROM {s} x WHERE {d} IN (SELECT {c} FROM {t} y GROUP BY {c})"),
        }
    }

    fn change(&mut self) -> String {
        let (t, s) = (self.any_source(), self.source());
        let (c, d) = (self.column(), self.column());
        let explain = if self.chance(12) { "EXPLAIN " } else { "" };
        let change = match self.0.random_range(0..24) {
            0 => format!("INSERT INTO {t} VALUES (0, 0, 0)"),
            1 => format!("INSERT INTO {t} ({c}) VALUES (0)"),
            2 => format!("INSERT INTO {t} ({c}) SELECT {d} FROM {s}"),
            3 => format!("INSERT INTO {t} (a) VALUES (9) ON DUPLICATE KEY UPDATE {d} = 1"),
            4 => format!("INSERT INTO {t} (a) VALUES (9) ON DUPLICATE KEY UPDATE {c} = VALUES({d})"),
            5 => format!("INSERT INTO {t} (a) VALUES (9) ON DUPLICATE KEY UPDATE {c} = {d} + 1"),
            6 => format!("REPLACE INTO {t} ({c}) VALUES (0)"),
            7 => format!("REPLACE INTO {t} (a) SELECT {d} FROM {s}"),
            8 => format!("UPDATE {t} SET {c} = 1"),
            9 => format!("UPDATE {t} SET {c} = 1 WHERE {d} = 1"),
            10 => format!("UPDATE {t} SET {c} = {d} + 1"),
            11 => format!("UPDATE {t} SET {c} = (SELECT MAX({d}) FROM {s})"),
            12 => format!("UPDATE {t} SET {c} = 1 ORDER BY {d} LIMIT 1"),
            13 => format!("UPDATE {t} SET {c} = DEFAULT"),
            14 => format!("UPDATE {t} SET {c} = DEFAULT({d})"),
            15 => format!("UPDATE {t} x JOIN {s} y ON x.a = y.{d} SET x.{c} = 1"),
            16 => format!("DELETE FROM {t}"),
            17 => format!("DELETE FROM {t} WHERE {c} = 1"),
            18 => format!("DELETE FROM {t} ORDER BY {d} LIMIT 1"),
            19 => format!("DELETE {t} FROM {t} JOIN {s} y ON {t}.a = y.{d}"),
            20 => format!("DELETE FROM {} RETURNING {d}", self.any_table()),
            21 => format!("INSERT INTO {} (a) VALUES (0) RETURNING {d}", self.any_table()),
            22 => format!("LOAD DATA INFILE '/nowhere/found' INTO TABLE {} ({c})", self.any_table()),
            _ => format!("INSERT INTO {t} SET {c} = (SELECT MAX({d}) FROM {s})"),
        };
        // What answers with rows of its own, and files, are not explained.
        if change.contains("RETURNING") || change.contains("LOAD") { change } else { format!("{explain}{change}") }
    }

    fn definition(&mut self) -> Case {
        let (t, s) = (self.any_table(), self.table());
        let source = self.source();
        let c = self.column();
        let database = self.pick(&DATABASES);
        let drop_fresh = || format!("DROP TABLE IF EXISTS {database}.fresh");
        match self.0.random_range(0..23) {
            0 => undone(format!("CREATE TABLE {database}.fresh (a INT)"), drop_fresh()),
            1 => undone(format!("CREATE TABLE {database}.fresh SELECT {c} FROM {source}"), drop_fresh()),
            2 => undone(format!("CREATE TABLE {database}.fresh LIKE {s}"), drop_fresh()),
            3 => harmless(format!("CREATE TEMPORARY TABLE {database}.own (a INT)")),
            4 => harmless(format!("CREATE TEMPORARY TABLE {database}.own SELECT {c} FROM {source}")),
            5 => undone(
                format!("CREATE TABLE {database}.fresh (a INT, FOREIGN KEY (a) REFERENCES {s} ({c}))"),
                drop_fresh(),
            ),
            6 => harmless(format!("DROP TABLE {database}.fresh")),
            7 => harmless(format!("ALTER TABLE {t} COMMENT 'x'")),
            8 | 9 => {
                let verb = if self.chance(50) { "ALTER TABLE" } else { "RENAME TABLE" };
                let word = if verb == "ALTER TABLE" { "RENAME" } else { "TO" };
                // What has triggers stays in its database.
                let table = t.split_once('.').map_or("t", |(_, table)| table);
                let to = if table == "s" { t.replace(".s", "") } else { database.to_owned() };
                undone(format!("{verb} {t} {word} {to}.renamed"), format!("RENAME TABLE {to}.renamed TO {t}"))
            }
            10 => Case {
                text: format!("TRUNCATE TABLE {t}"),
                undo: vec![format!("INSERT INTO {t} VALUES (9, 9, 9)")],
                tells: false,
            },
            11 => undone(format!("CREATE INDEX i ON {t} ({c})"), format!("DROP INDEX i ON {t}")),
            12 => harmless(format!("DROP INDEX i ON {t}")),
            13 => harmless(format!("LOCK TABLES {source} READ")),
            14 => harmless(format!("LOCK TABLES {source} WRITE")),
            15 => harmless(format!("CREATE DATABASE IF NOT EXISTS {database}")),
            16 => harmless(format!("CHECK TABLE {s}")),
            17 => harmless(format!("CHECKSUM TABLE {s}")),
            18 => harmless(format!("FLUSH TABLES {s} WITH READ LOCK")),
            19 => harmless(format!("ALTER DATABASE {database} CHARACTER SET utf8mb4")),
            20 => undone(
                format!("CREATE TABLE {database}.fresh (a INT DEFAULT (1), b INT AS (a + 1)) SELECT {c} AS a FROM {s}"),
                drop_fresh(),
            ),
            21 => harmless(format!("ALTER TABLE {t} ADD FOREIGN KEY ({c}) REFERENCES {s} (missing)")),
            _ => harmless(format!("DROP TABLE IF EXISTS {database}.fresh, {database}.missing")),
        }
    }

    fn definition_of_view(&mut self) -> Case {
        let (t, s) = (self.any_source(), self.source());
        let (c, d) = (self.column(), self.column());
        let database = self.pick(&DATABASES);
        let name = self.view_name();
        let again = || view(database, name);
        let fresh = |query: String| {
            undone(format!("CREATE VIEW {database}.fresh AS {query}"), format!("DROP VIEW IF EXISTS {database}.fresh"))
        };
        match self.0.random_range(0..13) {
            0 | 1 => fresh(format!("SELECT {c} FROM {t}")),
            2 => fresh(format!("SELECT * FROM {t}")),
            3 => fresh(format!("SELECT {c} + 1 AS a FROM {t}")),
            4 => fresh(format!("SELECT {c} FROM {t} WHERE {d} = 1")),
            5 => fresh(format!("SELECT {c} FROM {t} UNION SELECT {d} FROM {s}")),
            6 => fresh(format!("SELECT {c} FROM {s} WHERE a IN (SELECT {d} FROM {t})")),
            7 => fresh(format!("SELECT {database}.fd() AS a FROM {s}")),
            8 => undone(
                format!(
                    "CREATE DEFINER = {}@localhost VIEW {database}.fresh AS SELECT {c} FROM {t}",
                    self.pick(&USERS)
                ),
                format!("DROP VIEW IF EXISTS {database}.fresh"),
            ),
            9 => undone(format!("CREATE OR REPLACE VIEW {database}.{name} AS SELECT {c} FROM {s}"), again()),
            10 => undone(format!("ALTER VIEW {database}.{name} AS SELECT {c} FROM {s}"), again()),
            11 => undone(format!("DROP VIEW {database}.{name}"), again()),
            _ => harmless(format!("DROP VIEW IF EXISTS {database}.fresh")),
        }
    }

    fn program(&mut self) -> Case {
        let (c, d) = (self.column(), self.column());
        let database = self.pick(&DATABASES);
        let (kind, home, name) = self.routine();
        let definer = match self.chance(20) {
            true => format!("DEFINER = {}@localhost ", self.pick(&USERS)),
            false => String::new(),
        };
        let fresh = |kind: &str, rest: &str| {
            let made = format!("CREATE {definer}{kind} {database}.fresh{rest}");
            undone(made, format!("DROP {kind} IF EXISTS {database}.fresh"))
        };
        match self.0.random_range(0..17) {
            0..=2 => harmless(format!("CALL {database}.{}()", self.pick(&["pd", "pi", "pu"]))),
            3..=5 => harmless(format!("SELECT {database}.{}()", self.pick(&["fd", "fi", "fu"]))),
            6 => fresh("PROCEDURE", "() SELECT 1"),
            7 => fresh("FUNCTION", "() RETURNS INT DETERMINISTIC RETURN 1"),
            8 => harmless(format!("ALTER {kind} {home}.{name} COMMENT 'x'")),
            9 => undone(format!("DROP {kind} {home}.{name}"), routine(home, kind, name)),
            10 => fresh("TRIGGER", &format!(" BEFORE UPDATE ON {database}.t FOR EACH ROW SET @found = 1")),
            11 => fresh("TRIGGER", &format!(" BEFORE UPDATE ON {database}.t FOR EACH ROW SET NEW.{c} = OLD.{d}")),
            12 => {
                let name = self.pick(&["tr", "tn", "te"]);
                undone(format!("DROP TRIGGER {database}.{name}"), trigger(database, name))
            }
            13 => fresh("EVENT", " ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01' DO DO 1"),
            14 => harmless(format!("ALTER EVENT {database}.e COMMENT 'x'")),
            15 => undone(format!("DROP EVENT {database}.e"), event(database)),
            _ => harmless(format!("SET ROLE {}", self.pick(&ROLES))),
        }
    }

    fn showing(&mut self) -> Case {
        let source = self.source();
        let database = self.pick(&DATABASES);
        let (kind, home, name) = self.routine();
        let tells = |columns: &str, view: &str, schema: &str| {
            telling(format!(
                "SELECT {columns} FROM information_schema.{view} WHERE {schema} = '{database}' ORDER BY {columns}"
            ))
        };
        match self.0.random_range(0..27) {
            0 => telling(format!("SHOW TABLES FROM {database}")),
            1 => harmless(format!("SHOW TABLE STATUS FROM {database}")),
            2 => harmless(format!("SHOW TRIGGERS FROM {database}")),
            3 => harmless(format!("SHOW EVENTS FROM {database}")),
            4 => harmless(format!("SHOW OPEN TABLES FROM {database}")),
            5 => harmless(format!("SHOW COLUMNS FROM {source}")),
            6 => harmless(format!("SHOW INDEX FROM {source}")),
            7 => harmless(format!("DESCRIBE {source}")),
            8 => harmless(format!("SHOW CREATE TABLE {source}")),
            9 => harmless(format!("SHOW CREATE VIEW {source}")),
            10 => harmless(format!("SHOW CREATE DATABASE {database}")),
            11 => harmless(format!("SHOW CREATE {kind} {home}.{name}")),
            12 => harmless(format!("SHOW CREATE TRIGGER {database}.{}", self.pick(&["tr", "tn", "te"]))),
            13 => harmless(format!("SHOW CREATE EVENT {database}.e")),
            14 => harmless(format!("USE {database}")),
            15 => tells("schema_name", "schemata", "schema_name"),
            16 => tells("table_name", "tables", "table_schema"),
            17 => tells("table_name, column_name", "columns", "table_schema"),
            18 => tells("table_name, view_definition = ''", "views", "table_schema"),
            19 => tells("routine_name, routine_definition IS NULL", "routines", "routine_schema"),
            20 => tells("specific_name", "parameters", "specific_schema"),
            21 => tells("trigger_name", "triggers", "trigger_schema"),
            22 => tells("event_name", "events", "event_schema"),
            23 => tells("table_name, index_name", "statistics", "table_schema"),
            24 => tells("table_name, constraint_name", "table_constraints", "table_schema"),
            25 => tells("table_name, constraint_name, column_name", "key_column_usage", "table_schema"),
            _ => harmless(format!("SHOW {kind} STATUS WHERE Db = '{database}'")),
        }
    }

    fn administration(&mut self) -> String {
        let s = self.source();
        let database = self.pick(&DATABASES);
        let other = self.pick(&USERS);
        let (kind, home, name) = self.routine();
        match self.0.random_range(0..6) {
            0 => "FLUSH TABLES".to_owned(),
            1 => "SHOW ENGINE INNODB STATUS".to_owned(),
            2 => format!("GRANT {} ON {kind} {home}.{name} TO {other}@localhost", self.some(ROUTINE, 2)),
            3 => format!("GRANT {} ON {s} TO {other}@localhost", self.some(TABLE, 2)),
            4 => format!("GRANT {} ({}) ON {s} TO {other}@localhost", self.pick(COLUMN), self.column()),
            _ => format!("GRANT {} ON {database}.* TO {other}@localhost", self.some(DATABASE, 2)),
        }
    }
}
