//! What is granted, taken back and tried: random grants and statements over the objects of [`objects`].

use rand::Rng;

use crate::random::Random;

/// Accounts that get grants; the last one has none and gets some from the others.
pub const USERS: [&str; 3] = ["u0", "u1", "u2"];
/// Roles; the second one may have the first.
pub const ROLES: [&str; 2] = ["r0", "r1"];

const GLOBAL: &[&str] =
    &["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER", "RELOAD", "PROCESS"];
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
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EXECUTE",
    "TRIGGER",
    "EVENT",
];
const TABLE: &[&str] = &[
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
];
const COLUMN: &[&str] = &["SELECT", "INSERT", "UPDATE", "REFERENCES"];
pub const DATABASES: [&str; 3] = ["gone", "gtwo", "other"];
/// No two of them are as specific: which one counts then is not said.
const PATTERNS: [&str; 4] = ["go%", "g%", "gt_o", "oth\\_r"];

const ROUTINE: &[&str] = &["EXECUTE", "ALTER ROUTINE"];

/// The databases with what they have in them, as before any case.
pub fn objects() -> Vec<String> {
    // A case may have made a table of one database the child of another's.
    let mut statements = vec!["SET foreign_key_checks = 0".to_owned()];
    for database in DATABASES {
        statements.push(format!("DROP DATABASE IF EXISTS {database}"));
        statements.push(format!("CREATE DATABASE {database}"));
        for table in ["t", "s"] {
            statements.push(format!(
                "CREATE TABLE {database}.{table} (a INT PRIMARY KEY, b INT UNIQUE, c INT UNIQUE) ENGINE = InnoDB"
            ));
        }
        // One of each kind that runs with the rights of who made it, and one with those of who uses it.
        for (suffix, security) in [("d", "DEFINER"), ("i", "INVOKER")] {
            statements.push(format!(
                "CREATE SQL SECURITY {security} VIEW {database}.v{suffix} AS SELECT a, b, c FROM {database}.t"
            ));
            statements.push(format!(
                "CREATE PROCEDURE {database}.p{suffix}() SQL SECURITY {security} SELECT MAX(b) FROM {database}.t INTO @found"
            ));
            statements.push(format!(
                "CREATE FUNCTION {database}.f{suffix}() RETURNS INT READS SQL DATA SQL SECURITY {security} \
                 RETURN (SELECT MAX(b) FROM {database}.t)"
            ));
        }
        statements.push(format!(
            "CREATE TRIGGER {database}.tr BEFORE INSERT ON {database}.s FOR EACH ROW SET @found = (SELECT MAX(b) FROM {database}.t)"
        ));
        statements.push(format!("CREATE EVENT {database}.e ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01' DO DO 1"));
    }
    statements
}

impl Random {
    fn some(&mut self, all: &[&str], most: usize) -> String {
        let count = self.0.random_range(1..=most);
        let mut names: Vec<&str> = (0..count).map(|_| self.pick(all)).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    }

    fn table(&mut self) -> String {
        let database = self.pick(&DATABASES);
        format!("{database}.{}", self.pick(&["t", "s"]))
    }

    /// A table that may be missing.
    fn any_table(&mut self) -> String {
        if self.chance(15) { format!("{}.missing", self.pick(&DATABASES)) } else { self.table() }
    }

    fn view(&mut self) -> String {
        let database = self.pick(&DATABASES);
        format!("{database}.{}", self.pick(&["vd", "vi"]))
    }

    fn table_or_view(&mut self) -> String {
        if self.chance(30) { self.view() } else { self.table() }
    }

    /// A procedure or a function, with its kind before it.
    fn routine(&mut self) -> String {
        let database = self.pick(&DATABASES);
        let routine = self.pick(&["PROCEDURE pd", "PROCEDURE pi", "FUNCTION fd", "FUNCTION fi"]);
        let (kind, name) = routine.split_once(' ').expect("two words");
        format!("{kind} {database}.{name}")
    }

    /// What an account or a role is granted.
    pub fn grant(&mut self, to: &str) -> String {
        let option = if self.chance(20) && !ROLES.contains(&to) { " WITH GRANT OPTION" } else { "" };
        match self.0.random_range(0..13) {
            0..=1 => format!("GRANT {} ON *.* TO {to}{option}", self.some(GLOBAL, 3)),
            2..=4 => {
                let on = if self.chance(30) { self.pick(&PATTERNS) } else { self.pick(&DATABASES) };
                let all = self.chance(30);
                let what = if all { "ALL".to_owned() } else { self.some(DATABASE, 4) };
                format!("GRANT {what} ON `{on}`.* TO {to}{option}")
            }
            5..=7 => format!("GRANT {} ON {} TO {to}{option}", self.some(TABLE, 4), self.table_or_view()),
            8..=9 => format!("GRANT {} ON {} TO {to}{option}", self.some(ROUTINE, 2), self.routine()),
            _ => {
                let columns = self.some(&["a", "b", "c"], 2);
                format!("GRANT {} ({columns}) ON {} TO {to}", self.pick(COLUMN), self.table_or_view())
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

    pub fn statement(&mut self) -> String {
        let t = self.any_table();
        let s = self.table();
        let c = self.pick(&["a", "b", "c"]);
        let d = self.pick(&["a", "b", "c"]);
        let database = self.pick(&DATABASES);
        let other = self.pick(&USERS);
        let v = self.view();
        match self.0.random_range(0..84) {
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
            13 => format!("INSERT INTO {t} VALUES (0, 0, 0)"),
            14 => format!("INSERT INTO {t} ({c}) VALUES (0)"),
            15 => format!("INSERT INTO {t} ({c}) SELECT {d} FROM {s}"),
            16 => format!("INSERT INTO {t} ({c}) VALUES (0) ON DUPLICATE KEY UPDATE {d} = 1"),
            17 => format!("REPLACE INTO {t} ({c}) VALUES (0)"),
            18 => format!("UPDATE {t} SET {c} = 1"),
            19 => format!("UPDATE {t} SET {c} = 1 WHERE {d} = 1"),
            20 => format!("UPDATE {t} SET {c} = {d} + 1"),
            21 => format!("UPDATE {t} SET {c} = (SELECT MAX({d}) FROM {s})"),
            22 => format!("DELETE FROM {t}"),
            23 => format!("DELETE FROM {t} WHERE {c} = 1"),
            24 => format!("EXPLAIN SELECT {c} FROM {t}"),
            25 => format!("CREATE TABLE {database}.fresh (a INT)"),
            26 => format!("CREATE TABLE {database}.fresh SELECT {c} FROM {s}"),
            27 => format!("CREATE TABLE {database}.fresh LIKE {s}"),
            28 => format!("CREATE TEMPORARY TABLE {database}.own (a INT)"),
            29 => format!("CREATE TABLE {database}.fresh (a INT, FOREIGN KEY (a) REFERENCES {s} ({c}))"),
            30 => format!("DROP TABLE {database}.fresh"),
            31 => format!("ALTER TABLE {t} COMMENT 'x'"),
            32 => format!("ALTER TABLE {t} RENAME {database}.renamed"),
            33 => format!("RENAME TABLE {t} TO {database}.renamed"),
            34 => format!("TRUNCATE TABLE {t}"),
            35 => format!("CREATE INDEX i ON {t} ({c})"),
            36 => format!("DROP INDEX i ON {t}"),
            37 => format!("LOCK TABLES {t} READ"),
            38 => format!("SHOW CREATE TABLE {t}"),
            39 => format!("USE {database}"),
            40 => format!("SHOW TABLES FROM {database}"),
            41 => format!("CREATE DATABASE IF NOT EXISTS {database}"),
            42 => "FLUSH TABLES".to_owned(),
            43 => "SHOW ENGINE INNODB STATUS".to_owned(),
            46 => format!("SELECT * FROM {v}"),
            47..=48 => format!("SELECT {c} FROM {v}"),
            49 => format!("SELECT {c} FROM {v} WHERE {d} = 1"),
            50 => format!("SELECT x.{c} FROM {v} x JOIN {s} y ON x.a = y.{d}"),
            51 => format!("SELECT COUNT(*) FROM {v}"),
            52 => format!("UPDATE {v} SET {c} = 1"),
            53 => format!("UPDATE {v} SET {c} = 1 WHERE {d} = 1"),
            54 => format!("DELETE FROM {v}"),
            55 => format!("INSERT INTO {v} ({c}) VALUES (0)"),
            56 => format!("INSERT INTO {v} ({c}) SELECT {d} FROM {s}"),
            57 => format!("EXPLAIN SELECT {c} FROM {v}"),
            58 => format!("SHOW CREATE VIEW {v}"),
            59..=60 => format!("CREATE VIEW {database}.fresh AS SELECT {c} FROM {t}"),
            61 => format!("CREATE VIEW {database}.fresh AS SELECT {c} FROM {v}"),
            62 => format!("CREATE OR REPLACE VIEW {v} AS SELECT {c} FROM {s}"),
            63 => format!("ALTER VIEW {v} AS SELECT {c} FROM {s}"),
            64 => format!("DROP VIEW {v}"),
            65..=66 => format!("CALL {database}.{}()", self.pick(&["pd", "pi"])),
            67..=68 => format!("SELECT {database}.{}()", self.pick(&["fd", "fi"])),
            69 => format!("CREATE PROCEDURE {database}.fresh() SELECT 1"),
            70 => format!("CREATE FUNCTION {database}.fresh() RETURNS INT DETERMINISTIC RETURN 1"),
            71 => format!("ALTER {} COMMENT 'x'", self.routine()),
            72 => format!("DROP {}", self.routine()),
            73 => format!("CREATE TRIGGER {database}.fresh BEFORE UPDATE ON {database}.t FOR EACH ROW SET @found = 1"),
            74 => format!(
                "CREATE TRIGGER {database}.fresh BEFORE UPDATE ON {database}.t FOR EACH ROW SET NEW.{c} = OLD.{d}"
            ),
            75 => format!("DROP TRIGGER {database}.tr"),
            76 => format!("CREATE EVENT {database}.fresh ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01' DO DO 1"),
            77 => format!("ALTER EVENT {database}.e COMMENT 'x'"),
            78 => format!("DROP EVENT {database}.e"),
            79 => format!("SHOW TRIGGERS FROM {database}"),
            80 => format!("SHOW EVENTS FROM {database}"),
            81 => format!("GRANT {} ON {} TO {other}@localhost", self.some(ROUTINE, 2), self.routine()),
            82 => format!("SET ROLE {}", self.pick(&ROLES)),
            83 => format!("INSERT INTO {database}.s VALUES (0, 0, 0)"),
            44 => format!("GRANT {} ON {s} TO {other}@localhost", self.some(TABLE, 2)),
            _ => format!("GRANT {} ON {database}.* TO {other}@localhost", self.some(DATABASE, 2)),
        }
    }
}
