//! What there is to change, and random statements that change it.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{ACCOUNTS, MONEY};
use crate::random::Random;

/// Databases with everything that is compared.
pub const DATABASES: [&str; 2] = ["d", "e"];

/// Words of which texts consist.
pub const WORDS: [&str; 6] = ["apple", "banana", "cherry", "delta", "eagle", "falcon"];

pub const SCHEMA: [&str; 17] = [
    "CREATE DATABASE d",
    "CREATE DATABASE e",
    "CREATE TABLE d.account (id INT PRIMARY KEY, money BIGINT NOT NULL, pad VARCHAR(200) DEFAULT 'x', KEY (money))",
    "INSERT INTO d.account WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100) SELECT n, 1000, \
     REPEAT('y', n) FROM r",
    "CREATE TABLE d.parent (id INT AUTO_INCREMENT PRIMARY KEY, k INT, u INT, s VARCHAR(60) COLLATE utf8mb4_0900_ai_ci, v INT AS \
     (k + u) VIRTUAL, UNIQUE (k), KEY (u), KEY (v))",
    "CREATE TABLE d.child (id INT AUTO_INCREMENT PRIMARY KEY, parent INT, n INT DEFAULT 0, t TEXT, j JSON, twice INT AS (n * 2) \
     STORED, CHECK (n < 100000), KEY (twice), FULLTEXT (t), KEY many ((CAST(j->'$.a' AS UNSIGNED ARRAY))), KEY more ((n + 1)), \
     CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES d.parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE d.grandchild (id INT AUTO_INCREMENT PRIMARY KEY, child INT, w LONGTEXT, CONSTRAINT of_child FOREIGN KEY (child) \
     REFERENCES d.child (id) ON DELETE SET NULL ON UPDATE CASCADE)",
    "CREATE TABLE d.parts (id INT NOT NULL, y INT NOT NULL, z VARCHAR(100), b LONGBLOB, PRIMARY KEY (id, y), KEY (z), KEY both_ \
     (y, z)) PARTITION BY RANGE (y) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), PARTITION p2 \
     VALUES LESS THAN MAXVALUE)",
    "CREATE TABLE d.loose (id INT, x INT, y VARCHAR(30), KEY (x))",
    "CREATE TABLE d.place (id INT AUTO_INCREMENT PRIMARY KEY, g POINT NOT NULL SRID 0, n INT, SPATIAL KEY (g))",
    "CREATE TABLE d.heard (id BIGINT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40))",
    "CREATE TRIGGER d.born AFTER INSERT ON d.parent FOR EACH ROW INSERT INTO d.heard (what) VALUES (CONCAT('born ', NEW.id))",
    "CREATE TRIGGER d.gone BEFORE DELETE ON d.child FOR EACH ROW INSERT INTO d.heard (what) VALUES (CONCAT('gone ', OLD.id))",
    "CREATE FUNCTION d.noted (x INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO d.heard (what) VALUES ('noted'); IF x % 7 = \
     6 THEN SIGNAL SQLSTATE '45000'; END IF; RETURN x; END",
    "CREATE PROCEDURE d.pay (a INT, b INT, x INT) BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK; START TRANSACTION; UPDATE \
     d.account SET money = money - x WHERE id = a; UPDATE d.account SET money = money + x WHERE id = b; COMMIT; END",
    "CREATE SEQUENCE d.numbers",
    "INSERT INTO d.parent (k, u) VALUES (201, 1), (202, 2), (203, 3)",
];

/// Tables that change, with columns whose values do, and one of numbers.
const TABLES: [(&str, &[&str], &str); 8] = [
    ("d.account", &["id", "money", "pad"], "money"),
    ("d.parent", &["id", "k", "u", "s"], "u"),
    ("d.child", &["id", "parent", "n", "t"], "n"),
    ("d.grandchild", &["id", "child", "w"], "child"),
    ("d.parts", &["id", "y", "z"], "y"),
    ("d.loose", &["id", "x", "y"], "x"),
    ("d.place", &["id", "n"], "n"),
    ("d.heard", &["id", "what"], "id"),
];

/// Who writes the statements of one session.
pub struct Author {
    random: Random,
    number: usize,
    branches: u32,
    seed: u64,
}

impl Author {
    pub fn new(seed: u64, number: usize) -> Author {
        Author { random: Random(StdRng::seed_from_u64(seed)), number, branches: 0, seed }
    }

    pub fn number(&mut self, low: usize, high: usize) -> usize {
        self.random.0.random_range(low..=high)
    }

    pub fn once_in(&mut self, times: usize) -> bool {
        self.number(1, times) == 1
    }

    fn pick(&mut self, all: &[&'static str]) -> &'static str {
        self.random.pick(all)
    }

    fn text(&mut self) -> String {
        let words: Vec<&str> = (0..self.number(1, 6)).map(|_| self.pick(&WORDS)).collect();
        words.join(" ")
    }

    /// An expression for a text that may be long.
    fn long(&mut self) -> String {
        let lengths = [1, 10, 500, 3000, 9000, 40_000];
        format!("REPEAT('{}', {})", self.pick(&["a", "b", "c"]), lengths[self.number(0, lengths.len() - 1)])
    }

    /// What comes before BEGIN.
    pub fn beginning(&mut self) -> &'static str {
        self.pick(&[
            "DO 0",
            "DO 0",
            "DO 0",
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        ])
    }

    /// A name that no other branch has.
    pub fn branch(&mut self) -> String {
        self.branches += 1;
        format!("'{}-{:x}-{}'", self.number, self.seed, self.branches)
    }

    /// Two statements that leave the sum of all money as it is.
    pub fn transfer(&mut self) -> Vec<String> {
        let (from, to, sum) = (self.account(), self.account(), self.number(1, 90));
        let change = |id: usize, sign: char| format!("UPDATE d.account SET money = money {sign} {sum} WHERE id = {id}");
        vec![change(from, '-'), change(to, '+')]
    }

    fn account(&mut self) -> usize {
        self.number(1, ACCOUNTS as usize)
    }

    /// One statement that changes rows, and has either done so or done nothing.
    pub fn change(&mut self) -> String {
        let (i, m, k) = (self.number(1, 60), self.number(1, 60), self.number(1, 200));
        match self.number(0, 36) {
            0 => format!("INSERT INTO d.parent (k, u, s) VALUES ({k}, {m}, '{}')", self.text()),
            1 => {
                let (a, b) = (self.number(1, 200), self.number(1, 200));
                format!("INSERT INTO d.parent (k, u) VALUES ({k}, {m}), ({a}, {m}), ({b}, {i})")
            }
            2 => format!("REPLACE INTO d.parent (id, k, u) VALUES ({i}, {k}, {m})"),
            3 => format!(
                "INSERT INTO d.parent (id, k, u) VALUES ({i}, {k}, {m}) ON DUPLICATE KEY UPDATE u = u + 1, s = '{}'",
                self.text()
            ),
            4 => format!("UPDATE d.parent SET u = u + 1 WHERE id BETWEEN {i} AND {}", i + 5),
            5 => format!("UPDATE d.parent SET k = k + 1 WHERE u = {m} ORDER BY k DESC"),
            6 => format!("UPDATE d.parent SET id = id + {} WHERE id = {i}", 5 * k),
            7 => format!("DELETE FROM d.parent WHERE id = {i}"),
            8 => "DELETE FROM d.parent WHERE id > 1000 ORDER BY id LIMIT 5".into(),
            9 | 10 => format!(
                "INSERT INTO d.child (parent, n, t, j) SELECT id, {m}, '{}', '{{\"a\": [{i}, {m}]}}' FROM d.parent ORDER BY id \
                 LIMIT {}",
                self.text(),
                self.number(1, 6)
            ),
            11 => format!(
                "INSERT IGNORE INTO d.child (parent, n, t) VALUES ({i}, {m}, '{}'), ({m}, {i}, NULL), ({k}, 100001, 'x')",
                self.text()
            ),
            12 => format!("UPDATE d.child SET n = n + {m}, t = '{}' WHERE parent = {i}", self.text()),
            13 => format!("UPDATE d.child SET j = JSON_SET(j, '$.a', JSON_ARRAY({i}, {m})) WHERE id % 7 = {}", i % 7),
            14 => format!("UPDATE d.child SET id = id + {} WHERE id % 50 = {} ORDER BY id LIMIT 1", 25 * k, i % 50),
            15 => format!(
                "UPDATE d.parent p JOIN d.child c ON c.parent = p.id SET p.u = p.u + 1, c.n = c.n + 1 WHERE p.id < {i}"
            ),
            16 => format!("DELETE c FROM d.parent p JOIN d.child c ON c.parent = p.id WHERE p.id = {i}"),
            17 => format!("DELETE FROM d.child WHERE n > {k} ORDER BY id LIMIT 20"),
            18 => format!("INSERT INTO d.grandchild (child, w) SELECT id, {} FROM d.child LIMIT 3", self.long()),
            19 => format!("UPDATE d.grandchild SET w = {} WHERE id % 11 = {} LIMIT 4", self.long(), i % 11),
            20 => format!("DELETE FROM d.grandchild WHERE id % 13 = {} LIMIT 5", i % 13),
            21 => format!("REPLACE INTO d.parts VALUES ({i}, {}, '{}', {})", m % 41, self.text(), self.long()),
            22 => format!("UPDATE d.parts SET y = y + {} WHERE id = {i}", self.number(1, 11)),
            23 => format!("UPDATE IGNORE d.parts SET y = {} WHERE y = {m}", k % 41),
            24 => format!("DELETE FROM d.parts WHERE y = {m}"),
            25 => format!("UPDATE d.parts SET z = '{}' WHERE y BETWEEN {i} AND {}", self.text(), i + 4),
            26 => format!("INSERT INTO d.loose VALUES ({i}, {m}, 'a'), ({m}, {i}, 'b')"),
            27 => format!("UPDATE d.loose SET x = x + 1 WHERE id = {i}"),
            28 => format!("DELETE FROM d.loose WHERE x = {m} LIMIT 3"),
            29 => format!("INSERT INTO d.place (g, n) VALUES (ST_GeomFromText('POINT({i} {m})'), {i})"),
            30 => format!("UPDATE d.place SET g = ST_GeomFromText('POINT({m} {i})') WHERE n = {i}"),
            31 => format!("CALL d.pay({}, {}, {m})", self.account(), self.account()),
            32 => format!("UPDATE d.account SET pad = '{}' WHERE id BETWEEN {i} AND {}", self.text(), i + 10),
            33 => {
                let (one, other) = (self.number(1, 50), self.number(51, 100));
                format!(
                    "UPDATE d.account a JOIN d.account b ON a.id = {one} AND b.id = {other} SET a.money = a.money - {m}, b.money = \
                     b.money + {m}"
                )
            }
            34 => format!(
                "REPLACE INTO d.account (id, money, pad) SELECT id, money, 'again' FROM d.account WHERE id BETWEEN {i} AND {} \
                 FOR UPDATE",
                i + 3
            ),
            35 => format!("INSERT INTO d.loose SELECT d.noted(id), {m}, 'noted' FROM d.parent WHERE id < {i}"),
            _ => "DELETE FROM d.heard ORDER BY id LIMIT 20".into(),
        }
    }

    /// A question to be asked several times; the second value of the answer is the sum of a column of numbers.
    pub fn question(&mut self) -> String {
        let (table, columns, number) = TABLES[self.number(0, TABLES.len() - 1)];
        let cells: Vec<String> = columns.iter().map(|column| format!("IFNULL({column}, '-')")).collect();
        let by = if table == "d.loose" { "" } else { self.pick(&["", "FORCE INDEX (PRIMARY)"]) };
        format!("SELECT COUNT(*), SUM({number}), SUM(CRC32(CONCAT_WS('/', {}))) FROM {table} {by}", cells.join(", "))
    }

    /// A lock of some tables.
    pub fn lock(&mut self) -> String {
        let first = self.number(0, TABLES.len() - 1);
        let count = self.number(1, 3);
        let tables = (0..count).map(|at| TABLES[(first + 3 * at) % TABLES.len()].0);
        let locks: Vec<String> = tables.map(|table| format!("{table} {}", self.pick(&["READ", "WRITE"]))).collect();
        format!("LOCK TABLES {}", locks.join(", "))
    }

    /// One statement that defines something.
    pub fn definition(&mut self) -> String {
        let (table, columns, number) = TABLES[self.number(0, TABLES.len() - 1)];
        let (session, which) = (self.number, self.number(0, 1));
        let own = format!("{session}_{which}");
        let column = columns[self.number(0, columns.len() - 1)];
        let part = if matches!(column, "t" | "w" | "z" | "s" | "pad") { "(20)" } else { "" };
        let way = self.pick(&["", "", "", ", ALGORITHM=COPY", ", ALGORITHM=INPLACE", ", ALGORITHM=INPLACE, LOCK=NONE"]);
        let place = self.pick(&["", "FIRST", "AFTER id"]);
        match self.number(0, 39) {
            0 | 1 => {
                let kind = self.pick(&["INT DEFAULT 7", "VARCHAR(50)", "TEXT", "BIGINT NOT NULL DEFAULT 4", "DATE"]);
                format!("ALTER TABLE {table} ADD COLUMN x{own} {kind} {place}{way}")
            }
            2 => {
                let kind = self.pick(&["VIRTUAL", "STORED"]);
                format!("ALTER TABLE {table} ADD COLUMN y{own} BIGINT AS ({number} + 5) {kind}{way}")
            }
            3 => format!("ALTER TABLE {table} DROP COLUMN x{own}{way}"),
            4 => format!("ALTER TABLE {table} DROP COLUMN y{own}{way}"),
            5 => format!("ALTER TABLE {table} MODIFY x{own} {} {place}{way}", self.pick(&["VARCHAR(90)", "TEXT"])),
            6 => format!("ALTER TABLE {table} RENAME COLUMN x{own} TO y{own}"),
            7 | 8 => format!("ALTER TABLE {table} ADD INDEX i{own} ({column}{part}){way}"),
            9 => format!("ALTER TABLE {table} ADD INDEX i{own} ({column}{part} DESC, {number}){way}"),
            10 => format!("CREATE INDEX i{own} ON {table} (({number} * 2 + 1))"),
            11 => format!("CREATE INDEX j{own} ON {table} (y{own})"),
            12 => format!("CREATE UNIQUE INDEX j{own} ON {table} ({column}{part})"),
            13 | 14 => format!("ALTER TABLE {table} DROP INDEX i{own}{way}"),
            15 => format!("ALTER TABLE {table} DROP INDEX j{own}{way}"),
            16 => format!("ALTER TABLE {table} RENAME INDEX i{own} TO j{own}"),
            17 | 18 => format!("ALTER TABLE {table} FORCE{way}"),
            19 => format!("ALTER TABLE {table} {}", self.pick(&["COMPRESSION='zstd'", "COMPRESSION='none'", "COMMENT='x'"])),
            20 => format!("{} TABLE {table}", self.pick(&["OPTIMIZE", "ANALYZE", "CHECK"])),
            21 => self
                .pick(&["ALTER TABLE d.child DROP INDEX t", "ALTER TABLE d.child ADD FULLTEXT INDEX t (t)"])
                .into(),
            22 => self
                .pick(&[
                    "ALTER TABLE d.child DROP INDEX many",
                    "ALTER TABLE d.child ADD INDEX many ((CAST(j->'$.a' AS UNSIGNED ARRAY)))",
                ])
                .into(),
            23 => self
                .pick(&["ALTER TABLE d.place DROP INDEX g", "ALTER TABLE d.place ADD SPATIAL INDEX g (g)"])
                .into(),
            24 => self
                .pick(&["ALTER TABLE d.child DROP FOREIGN KEY of_parent", "ALTER TABLE d.grandchild DROP FOREIGN KEY of_child"])
                .into(),
            25 | 26 => self
                .pick(&[
                    "DELETE FROM d.child WHERE parent NOT IN (SELECT id FROM d.parent)",
                    "DELETE FROM d.grandchild WHERE child NOT IN (SELECT id FROM d.child)",
                    "ALTER TABLE d.child ADD CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES d.parent (id) ON DELETE CASCADE ON \
                     UPDATE CASCADE",
                    "ALTER TABLE d.grandchild ADD CONSTRAINT of_child FOREIGN KEY (child) REFERENCES d.child (id) ON DELETE SET NULL \
                     ON UPDATE CASCADE",
                ])
                .into(),
            27 | 28 => format!("ALTER TABLE d.parts {}", self.partitions()),
            29 => format!(
                "{} d.swap{}",
                self.pick(&["ALTER TABLE d.parts EXCHANGE PARTITION p1 WITH TABLE", "DROP TABLE IF EXISTS"]),
                self.number
            ),
            30 => match self.once_in(2) {
                true => format!("CREATE TABLE d.swap{} LIKE d.parts", self.number),
                false => format!("ALTER TABLE d.swap{} REMOVE PARTITIONING", self.number),
            },
            31 => format!("CREATE TABLE e.copy{own} SELECT * FROM {table}"),
            32 => format!("CREATE TABLE e.copy{own} LIKE {table}"),
            33 => format!("INSERT INTO e.copy{own} SELECT * FROM {table}"),
            34 => format!("DROP TABLE IF EXISTS e.copy{own}"),
            35 => "RENAME TABLE d.loose TO d.spare, d.place TO d.loose, d.loose TO d.place, d.spare TO d.loose".into(),
            36 => format!("TRUNCATE TABLE {}", self.pick(&["d.loose", "d.place", "d.heard", "d.grandchild"])),
            37 => match self.once_in(2) {
                true => format!("CREATE TRIGGER d.t{own} BEFORE UPDATE ON {table} FOR EACH ROW SET @x = 1"),
                false => format!("DROP TRIGGER IF EXISTS d.t{own}"),
            },
            38 => format!(
                "CREATE TABLE IF NOT EXISTS e.of{own} (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES d.parent (id) ON \
                 DELETE CASCADE ON UPDATE CASCADE)"
            ),
            _ => match self.once_in(3) {
                true => format!("DROP TABLE IF EXISTS e.of{own}"),
                false => format!("INSERT IGNORE INTO e.of{own} SELECT id, id FROM d.parent"),
            },
        }
    }

    fn partitions(&mut self) -> &'static str {
        self.pick(&[
            "REORGANIZE PARTITION p2 INTO (PARTITION p2 VALUES LESS THAN (30), PARTITION p3 VALUES LESS THAN MAXVALUE)",
            "REORGANIZE PARTITION p2, p3 INTO (PARTITION p2 VALUES LESS THAN MAXVALUE)",
            "REORGANIZE PARTITION p0, p1 INTO (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN (20))",
            "REBUILD PARTITION p1",
            "TRUNCATE PARTITION p1",
            "REMOVE PARTITIONING",
            "PARTITION BY HASH (id) PARTITIONS 3",
            "PARTITION BY RANGE (y) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES \
             LESS THAN MAXVALUE)",
        ])
    }
}

/// The sum of all money is what it was.
pub fn money() -> (&'static str, [String; 2]) {
    ("SELECT COUNT(*), SUM(money) FROM d.account", [ACCOUNTS.to_string(), MONEY.to_string()])
}
