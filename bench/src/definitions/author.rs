//! Random statements that define things, for a session's own databases or for those that all share.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::random::Random;

/// Who writes statements, and for which names.
pub struct Author {
    random: Random,
    /// Names of two databases.
    pub databases: [String; 2],
    /// What the names of accounts begin with.
    pub accounts: String,
    /// Tables that are there, as far as it is known.
    pub tables: Vec<String>,
    /// How many branches of distributed transactions there were, for their names.
    branches: u32,
}

/// One thing to do: statements that succeed together or have no effect, if the server keeps its word.
pub type Deed = Vec<String>;

const TABLES: [&str; 5] = ["t0", "t1", "t2", "t3", "Odd `name/#@. ü"];
const COLUMNS: [&str; 4] = ["a", "b", "c", "d"];

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

impl Author {
    pub fn new(seed: u64, databases: [String; 2], accounts: String) -> Author {
        Author { random: Random(StdRng::seed_from_u64(seed)), databases, accounts, tables: Vec::new(), branches: 0 }
    }

    pub fn number(&mut self, low: u32, high: u32) -> u32 {
        self.random.0.random_range(low..=high)
    }

    fn once_in(&mut self, times: u32) -> bool {
        self.number(1, times) == 1
    }

    fn pick(&mut self, all: &[&'static str]) -> &'static str {
        self.random.pick(all)
    }

    fn database(&mut self) -> String {
        let at = usize::from(self.once_in(4));
        self.databases[at].clone()
    }

    fn table(&mut self) -> String {
        if !self.tables.is_empty() && !self.once_in(4) {
            let at = self.number(0, self.tables.len() as u32 - 1);
            return self.tables[at as usize].clone();
        }
        self.name()
    }

    /// A name that may be free.
    fn name(&mut self) -> String {
        let database = self.database();
        format!("{database}.{}", quoted(self.pick(&TABLES)))
    }

    fn column(&mut self) -> &'static str {
        self.pick(&COLUMNS)
    }

    /// Names that are seldom there: views, triggers, programs.
    fn named(&mut self, kind: &str) -> String {
        let (database, number) = (self.database(), self.number(0, 1));
        format!("{database}.{kind}{number}")
    }

    fn account(&mut self) -> String {
        let number = self.number(0, 2);
        format!("'{}{number}'@'localhost'", self.accounts)
    }

    pub fn deed(&mut self) -> Deed {
        let one = match self.number(0, 99) {
            0..=19 => return self.change_rows(),
            20..=31 => self.create_table(),
            32..=36 => self.drop_tables(),
            37..=43 => self.rename(),
            44..=46 => format!("TRUNCATE TABLE {}", self.table()),
            47..=66 => self.alter(),
            67..=75 => self.maintain_partitions(),
            76..=79 => self.view(),
            80..=82 => self.trigger(),
            83..=86 => self.program(),
            87..=91 => self.accounts(),
            92..=94 => self.index(),
            95 | 96 => {
                let database = self.database();
                match self.number(0, 3) {
                    0 => format!("DROP DATABASE {database}"),
                    1 => format!("ALTER DATABASE {database} CHARACTER SET {}", self.pick(&["latin1", "utf8mb4"])),
                    _ => format!("CREATE DATABASE {database}"),
                }
            }
            97 => format!("{} TABLE {}", self.pick(&["OPTIMIZE", "ANALYZE"]), self.table()),
            98 => return self.locked(),
            _ => return self.temporary(),
        };
        vec![one]
    }

    /// What makes a session's databases if they are missing.
    pub fn begin(&self) -> Vec<String> {
        self.databases.iter().map(|name| format!("CREATE DATABASE IF NOT EXISTS {name}")).collect()
    }

    fn rows(&mut self) -> String {
        let table = self.table();
        let count = self.number(1, 5);
        let rows: Vec<String> = (0..count).map(|_| format!("({})", self.number(0, 60))).collect();
        match self.number(0, 7) {
            7 => format!(
                "INSERT IGNORE INTO {table} (id) WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 3 FROM r WHERE n < 1500) \
                 SELECT n FROM r"
            ),
            0 => format!("UPDATE {table} SET {} = {}", self.column(), self.number(0, 99)),
            1 => format!("DELETE FROM {table} WHERE id % 7 = {}", self.number(0, 6)),
            2 => format!("INSERT INTO {table} ({}) VALUES (1), (2)", self.column()),
            _ => format!("INSERT IGNORE INTO {table} (id) VALUES {}", rows.join(", ")),
        }
    }

    fn change_rows(&mut self) -> Deed {
        if !self.once_in(3) {
            return vec![self.rows()];
        }
        let end = self.pick(&["COMMIT", "COMMIT", "ROLLBACK"]);
        let rows: Vec<String> = (0..self.number(1, 3)).map(|_| self.rows()).collect();
        if !self.once_in(4) {
            return [vec!["BEGIN".to_owned()], rows, vec![end.to_owned()]].concat();
        }
        self.branches += 1;
        let name = format!("'{}-{}'", self.accounts, self.branches);
        let ends = vec![format!("XA END {name}"), format!("XA PREPARE {name}"), format!("XA {end} {name}")];
        [vec![format!("XA START {name}")], rows, ends].concat()
    }

    fn division(&mut self) -> String {
        match self.number(0, 3) {
            0 => format!("PARTITION BY HASH (id) PARTITIONS {}", self.number(1, 4)),
            1 => format!("PARTITION BY KEY (id) PARTITIONS {}", self.number(1, 4)),
            2 => "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (30), \
                  PARTITION p2 VALUES LESS THAN MAXVALUE)"
                .to_owned(),
            _ => "PARTITION BY LIST (id % 3) (PARTITION p0 VALUES IN (0), PARTITION p1 VALUES IN (1, 2))".to_owned(),
        }
    }

    fn create_table(&mut self) -> String {
        let (table, other) = (self.name(), self.table());
        match self.number(0, 11) {
            0 => return format!("CREATE TABLE {table} LIKE {other}"),
            1 => return format!("CREATE TABLE {table} (PRIMARY KEY (id)) SELECT * FROM {other}"),
            2 => return format!("CREATE TABLE IF NOT EXISTS {table} (id INT PRIMARY KEY, z INT)"),
            3 => return format!("CREATE OR REPLACE TABLE {table} (id INT PRIMARY KEY, a INT, r INT)"),
            _ => {}
        }
        let mut parts = vec![
            self.pick(&["id INT PRIMARY KEY AUTO_INCREMENT", "id INT NOT NULL PRIMARY KEY"]).to_owned(),
            "a INT DEFAULT 3".to_owned(),
            self.pick(&["b VARCHAR(40)", "b TEXT", "b VARCHAR(300) CHARACTER SET latin1 DEFAULT 'bb'"]).to_owned(),
        ];
        if self.once_in(3) {
            parts.push("c INT AS (a + 1) STORED".into());
        }
        if self.once_in(4) {
            parts.push("KEY ka (a)".into());
        }
        if self.once_in(5) {
            parts.push("CONSTRAINT CHECK (a < 1000)".into());
        }
        if self.once_in(8) {
            parts.push("FULLTEXT KEY kf (b)".into());
        }
        if self.once_in(4) {
            let way = self.pick(&["", " ON DELETE CASCADE", " ON DELETE SET NULL ON UPDATE CASCADE"]);
            parts.push(format!("FOREIGN KEY (a) REFERENCES {other} (id){way}"));
        }
        let options = self.pick(&["", "", " COMPRESSION='zlib'", " COMMENT='made'", " ROW_FORMAT=DYNAMIC"]);
        let division = if self.once_in(4) { format!(" {}", self.division()) } else { String::new() };
        format!("CREATE TABLE {table} ({}){options}{division}", parts.join(", "))
    }

    fn drop_tables(&mut self) -> String {
        let tables: Vec<String> = (0..self.number(1, 3)).map(|_| self.table()).collect();
        format!("DROP TABLE {}{}", self.pick(&["", "IF EXISTS "]), tables.join(", "))
    }

    fn rename(&mut self) -> String {
        let (a, b, c) = (self.table(), self.table(), self.table());
        let spare = format!("{}.spare", self.database());
        match self.number(0, 5) {
            0 | 1 => format!("RENAME TABLE {a} TO {spare}, {b} TO {a}, {spare} TO {b}"),
            2 => format!("RENAME TABLE {a} TO {spare}, {b} TO {a}, {c} TO {b}, {spare} TO {c}"),
            3 => format!("RENAME TABLE {} TO {}", self.named("v"), self.named("v")),
            _ => format!("RENAME TABLE {a} TO {}", self.name()),
        }
    }

    fn action(&mut self) -> String {
        let column = self.column();
        match self.number(0, 20) {
            0..=2 => format!(
                "ADD COLUMN {column} {}{}",
                self.pick(&["INT", "INT DEFAULT 5", "VARCHAR(20) DEFAULT 'new'", "TEXT", "INT AS (id * 2)", "DATE"]),
                self.pick(&["", "", " FIRST", " AFTER id"])
            ),
            3 | 4 => format!("DROP COLUMN {column}"),
            5 | 6 => format!(
                "MODIFY {column} {}{}",
                self.pick(&["INT", "BIGINT", "VARCHAR(60)", "VARCHAR(400)", "TEXT", "INT NOT NULL DEFAULT 1"]),
                self.pick(&["", " FIRST", " AFTER id"])
            ),
            7 => format!("CHANGE {column} {} VARCHAR(50)", self.column()),
            8 => format!("RENAME COLUMN {column} TO {}", self.column()),
            9 => format!("ADD {} k{} ({column})", self.pick(&["INDEX", "INDEX", "UNIQUE"]), self.number(0, 2)),
            10 => format!("DROP INDEX k{}", self.number(0, 2)),
            11 => format!("RENAME INDEX k{} TO k{}", self.number(0, 2), self.number(0, 2)),
            12 => format!("RENAME TO {}", self.name()),
            13 => {
                let way = self.pick(&["", " ON DELETE CASCADE", " ON UPDATE SET NULL"]);
                format!("ADD CONSTRAINT f{} FOREIGN KEY (a) REFERENCES {} (id){way}", self.number(0, 1), self.table())
            }
            14 => format!("DROP FOREIGN KEY f{}", self.number(0, 1)),
            15 => format!("CONVERT TO CHARACTER SET {}", self.pick(&["latin1", "utf8mb4"])),
            16 => format!("AUTO_INCREMENT = {}", self.number(100, 200)),
            17 => format!("ALTER COLUMN {column} SET DEFAULT '{}'", self.number(1, 9)),
            18 => format!("COMMENT = 'number {}'", self.number(0, 9)),
            19 => self.pick(&["FORCE", "ENGINE = InnoDB", "COMPRESSION = 'lz4'", "COMPRESSION = 'none'"]).to_owned(),
            _ => {
                self.pick(&["ADD CONSTRAINT n CHECK (id < 5000)", "DROP CHECK n", "ADD FULLTEXT KEY kf (b)"]).to_owned()
            }
        }
    }

    fn alter(&mut self) -> String {
        let table = self.table();
        let mut actions: Vec<String> = (0..self.number(1, 3)).map(|_| self.action()).collect();
        if self.once_in(3) {
            actions.push(self.pick(&["ALGORITHM = COPY", "ALGORITHM = INPLACE", "ALGORITHM = INSTANT"]).to_owned());
        }
        format!("ALTER TABLE {table} {}", actions.join(", "))
    }

    fn index(&mut self) -> String {
        let (table, number, column) = (self.table(), self.number(0, 2), self.column());
        match self.once_in(2) {
            true => format!("CREATE INDEX k{number} ON {table} ({column}, id)"),
            false => format!("DROP INDEX k{number} ON {table}"),
        }
    }

    fn maintain_partitions(&mut self) -> String {
        let (table, other) = (self.table(), self.table());
        let part = self.pick(&["p0", "p1", "p2", "p3", "p0, p1", "ALL"]);
        let action = match self.number(0, 13) {
            0 => self.division(),
            1 => "REMOVE PARTITIONING".to_owned(),
            2 => format!("ADD PARTITION PARTITIONS {}", self.number(1, 2)),
            3 => "ADD PARTITION (PARTITION p3 VALUES IN (5, 6))".to_owned(),
            4 => format!("COALESCE PARTITION {}", self.number(1, 2)),
            5 => format!("DROP PARTITION {part}"),
            6 | 7 => format!("TRUNCATE PARTITION {part}"),
            8 => format!("REBUILD PARTITION {part}"),
            9 => "REORGANIZE PARTITION p2 INTO (PARTITION p2 VALUES LESS THAN (50), PARTITION p3 VALUES LESS THAN \
                  MAXVALUE)"
                .to_owned(),
            10 => "REORGANIZE PARTITION p0, p1 INTO (PARTITION p0 VALUES LESS THAN (30))".to_owned(),
            11 => "REORGANIZE PARTITION".to_owned(),
            _ => {
                let how = self.pick(&["", " WITHOUT VALIDATION"]);
                format!("EXCHANGE PARTITION p{} WITH TABLE {other}{how}", self.number(0, 2))
            }
        };
        format!("ALTER TABLE {table} {action}")
    }

    fn view(&mut self) -> String {
        let (view, table) = (self.named("v"), self.table());
        match self.number(0, 5) {
            0 => format!("DROP VIEW {view}"),
            1 => format!("DROP VIEW IF EXISTS {view}, {}", self.named("v")),
            2 => format!("ALTER VIEW {view} AS SELECT id FROM {table}"),
            3 => format!("CREATE VIEW {view} AS SELECT x.id, y.a FROM {table} x JOIN {} y USING (id)", self.table()),
            _ => format!("CREATE OR REPLACE VIEW {view} AS SELECT * FROM {table}"),
        }
    }

    fn trigger(&mut self) -> String {
        let trigger = self.named("g");
        if self.once_in(3) {
            return format!("DROP TRIGGER {}{trigger}", self.pick(&["", "IF EXISTS "]));
        }
        let moment = self.pick(&["BEFORE INSERT", "BEFORE UPDATE"]);
        let database = trigger.split('.').next().unwrap_or_default();
        let table = quoted(self.pick(&TABLES));
        format!(
            "CREATE TRIGGER {trigger} {moment} ON {database}.{table} FOR EACH ROW SET NEW.a = {}",
            self.number(0, 9)
        )
    }

    fn program(&mut self) -> String {
        let number = self.number(0, 99);
        match self.number(0, 7) {
            0 => format!("DROP PROCEDURE {}{}", self.pick(&["", "IF EXISTS "]), self.named("p")),
            1 => format!("CREATE FUNCTION {} (x INT) RETURNS INT DETERMINISTIC RETURN x + {number}", self.named("f")),
            2 => format!("DROP FUNCTION {}{}", self.pick(&["", "IF EXISTS "]), self.named("f")),
            3 => format!("CREATE EVENT {} ON SCHEDULE EVERY {number} DAY DISABLE DO SELECT 1", self.named("e")),
            4 => format!("ALTER EVENT {} COMMENT 'number {number}'", self.named("e")),
            5 => format!("DROP EVENT {}{}", self.pick(&["", "IF EXISTS "]), self.named("e")),
            _ => format!("CREATE PROCEDURE {} (x INT) BEGIN SELECT x, {number}; END", self.named("p")),
        }
    }

    fn accounts(&mut self) -> String {
        let (account, other) = (self.account(), self.account());
        match self.number(0, 8) {
            0 => format!("DROP USER {account}"),
            1 => format!("DROP USER IF EXISTS {account}, {other}"),
            2 => format!("RENAME USER {account} TO {other}"),
            3 => format!("GRANT SELECT, INSERT ON {} TO {account}, {other}", self.table()),
            4 => format!("GRANT ALL ON {}.* TO {account}", self.database()),
            5 => format!("REVOKE INSERT ON {} FROM {account}", self.table()),
            6 => format!("ALTER USER {account} COMMENT 'one of {}'", self.number(0, 9)),
            _ => format!("CREATE USER {}{account}, {other}", self.pick(&["", "IF NOT EXISTS "])),
        }
    }

    /// A definition under LOCK TABLES.
    fn locked(&mut self) -> Deed {
        let (table, action) = (self.table(), self.action());
        vec![format!("LOCK TABLES {table} WRITE"), format!("ALTER TABLE {table} {action}"), "UNLOCK TABLES".to_owned()]
    }

    /// A temporary table that hides another one, which stays as it is.
    fn temporary(&mut self) -> Deed {
        let table = self.table();
        vec![
            format!("CREATE TEMPORARY TABLE {table} (id INT PRIMARY KEY, a INT)"),
            format!("INSERT INTO {table} VALUES (1, 1)"),
            format!("ALTER TABLE {table} ADD COLUMN b INT, ADD INDEX (a)"),
            format!("DROP TEMPORARY TABLE {table}"),
        ]
    }
}
