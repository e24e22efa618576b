//! Random queries with windows, set operations, rollups and recursion, and changes of joined tables, over two tables.
//!
//! What both servers leave open is avoided: the order of equal rows decides no result, no member of a recursion is what
//! MySQL refuses and MariaDB allows, and no assignment reads what another one of the statement changes.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

pub const TABLES: [&str; 2] = [
    "CREATE TABLE p (id INT PRIMARY KEY, i INT, j BIGINT, d DECIMAL(6,2), f DOUBLE, s VARCHAR(6), da DATE, KEY (i), KEY (d, i))",
    "CREATE TABLE q (id INT PRIMARY KEY, i INT, j BIGINT, d DECIMAL(6,2), f DOUBLE, s VARCHAR(6), da DATE, KEY (i), KEY (d, i))",
];

/// A writer of such statements.
pub struct Author(StdRng);

impl Author {
    pub fn new(seed: u64) -> Author {
        Author(StdRng::seed_from_u64(seed))
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of.choose(&mut self.0).copied().unwrap_or_default()
    }

    fn number(&mut self, low: i32, high: i32) -> i32 {
        self.0.random_range(low..=high)
    }

    fn or_null(&mut self, value: String) -> String {
        if self.0.random_bool(0.25) { "NULL".into() } else { value }
    }

    /// The rows that a table begins with.
    pub fn rows(&mut self, table: &str) -> String {
        let mut rows = Vec::new();
        for id in 1..25 {
            let (i, j) = (self.number(-3, 5).to_string(), self.number(0, 30).to_string());
            let d = (f64::from(self.number(-900, 900)) / 100.0).to_string();
            let f = (f64::from(self.number(-40, 40)) / 8.0).to_string();
            let s = self.one(&["'a'", "'b'", "'cc'"]).to_string();
            let da = format!("'2024-01-{:02}'", self.number(1, 28));
            let values: Vec<String> = [i, j, d, f, s, da].into_iter().map(|value| self.or_null(value)).collect();
            rows.push(format!("({id}, {})", values.join(", ")));
        }
        format!("INSERT INTO {table} VALUES {}", rows.join(", "))
    }

    fn frame(&mut self) -> String {
        let (a, b) = (self.number(0, 4), self.number(0, 4));
        match self.number(0, 7) {
            0 => format!(" ROWS {a} PRECEDING"),
            1 => format!(" ROWS BETWEEN {a} PRECEDING AND {b} FOLLOWING"),
            2 => " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".into(),
            3 => format!(" ROWS BETWEEN {a} FOLLOWING AND UNBOUNDED FOLLOWING"),
            4 => " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".into(),
            5 => format!(" ROWS BETWEEN UNBOUNDED PRECEDING AND {a} PRECEDING"),
            _ => String::new(),
        }
    }

    /// A window in which the rows have one order, or frames that do not split equal rows.
    fn window(&mut self) -> String {
        let partition = self.one(&["", "PARTITION BY i ", "PARTITION BY s ", "PARTITION BY i, s "]);
        let order = self.one(&["id", "j, id", "d DESC, id", "s, id DESC"]);
        if self.number(0, 3) > 0 {
            return format!("({partition}ORDER BY {order}{})", self.frame());
        }
        let (key, direction) = (self.one(&["j", "d", "i"]), self.one(&["", " DESC"]));
        let (a, b) = (self.number(0, 5), self.number(0, 5));
        format!("({partition}ORDER BY {key}{direction} RANGE BETWEEN {a} PRECEDING AND {b} FOLLOWING)")
    }

    fn window_call(&mut self) -> String {
        match self.number(0, 8) {
            0 => format!(
                "ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}, id)",
                self.one(&["i", "s"]),
                self.one(&["j", "d", "s"])
            ),
            1 => format!(
                "{}() OVER ({}ORDER BY {}{})",
                // MariaDB writes ten digits of CUME_DIST and PERCENT_RANK.
                self.one(&["RANK", "DENSE_RANK"]),
                self.one(&["", "PARTITION BY s "]),
                self.one(&["i", "d", "s", "j"]),
                self.one(&["", " DESC"])
            ),
            2 => format!("NTILE({}) OVER (PARTITION BY {} ORDER BY id)", self.number(1, 6), self.one(&["i", "s"])),
            3 => format!(
                "{}({}, {}) OVER (PARTITION BY {} ORDER BY {}, id)",
                self.one(&["LAG", "LEAD"]),
                self.one(&["j", "s", "d"]),
                self.number(0, 3),
                self.one(&["i", "s"]),
                self.one(&["j", "d"])
            ),
            4 => format!(
                "{}({}) OVER (ORDER BY {}, id{})",
                self.one(&["FIRST_VALUE", "LAST_VALUE"]),
                self.one(&["id", "s", "d"]),
                self.one(&["j", "s DESC"]),
                self.frame()
            ),
            _ => {
                let (function, column) =
                    (self.one(&["SUM", "COUNT", "MIN", "MAX", "AVG"]), self.one(&["i", "j", "d", "id"]));
                format!("{function}({column}) OVER {}", self.window())
            }
        }
    }

    fn condition(&mut self, table: &str) -> String {
        let (a, b) = (self.number(-3, 4), self.number(0, 30));
        match self.number(0, 6) {
            0 => format!("{table}i > {a}"),
            1 => format!("{table}j < {b}"),
            2 => format!("{table}s = '{}'", self.one(&["a", "b", "cc"])),
            3 => format!("{table}d BETWEEN {} AND {b}", a - 4),
            4 => format!("{table}da IS NULL"),
            5 => format!("{table}id % {} = 0", self.number(2, 4)),
            _ => "1 = 1".into(),
        }
    }

    fn simple(&mut self, columns: &str) -> String {
        format!("SELECT {columns} FROM {} WHERE {}", self.one(&["p", "q"]), self.condition(""))
    }

    fn sets(&mut self, columns: &str, depth: u32) -> String {
        if depth == 0 {
            return self.simple(columns);
        }
        // INTERSECT ALL and EXCEPT ALL stand alone: within other operations MariaDB 10.11 may not come to an end, nor
        // hear KILL, while its temporary table fills the disk.
        if self.0.random_bool(0.3) {
            let (left, right) = (self.simple(columns), self.simple(columns));
            return format!("SELECT * FROM ({left} {} ALL {right}) x", self.one(&["INTERSECT", "EXCEPT"]));
        }
        let left = if self.0.random_bool(0.5) { self.sets(columns, depth - 1) } else { self.simple(columns) };
        let right = match self.0.random_bool(0.4) {
            true => format!("({})", self.sets(columns, depth - 1)),
            false => self.simple(columns),
        };
        format!("{left} {} {right}", self.one(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]))
    }

    /// A statement, and whether it changes the tables.
    pub fn statement(&mut self) -> (String, bool) {
        let condition = self.condition("");
        let query = match self.number(0, 13) {
            0..=3 => {
                let calls: Vec<String> =
                    (0..self.number(1, 3)).map(|at| format!("{} AS w{at}", self.window_call())).collect();
                // MariaDB gives wrong ranks beside other windows where a condition makes the partition's key constant.
                let condition = if calls.len() > 1 && condition.starts_with("s =") { "1 = 1" } else { &condition };
                format!("SELECT id, {} FROM {} WHERE {condition} ORDER BY id", calls.join(", "), self.one(&["p", "q"]))
            }
            4 => format!(
                // MariaDB forgets an ORDER BY that the groups have already, once a window has sorted them.
                "SELECT * FROM (SELECT i, SUM(j) AS t, {} AS w FROM p GROUP BY i) x ORDER BY i",
                self.one(&[
                    "RANK() OVER (ORDER BY SUM(j))",
                    "SUM(SUM(j)) OVER (ORDER BY i)",
                    "SUM(COUNT(*)) OVER ()",
                    "MAX(SUM(d)) OVER (ORDER BY i ROWS 1 PRECEDING)",
                ])
            ),
            5 => format!(
                "SELECT * FROM (SELECT id, s, {} AS w FROM q) x WHERE {} ORDER BY id",
                self.window_call(),
                self.one(&["w IS NOT NULL", "s = 'a'", "w IS NULL OR id < 10"])
            ),
            6 => {
                let columns = self.one(&["i", "i, s", "j, d", "da", "d"]);
                self.sets(columns, 2)
            }
            7 => format!("SELECT i, COUNT(*) FROM ({}) x GROUP BY i ORDER BY i", self.sets("i", 1)),
            8 => {
                let (a, b) = (self.one(&["i", "s"]), self.one(&["id % 3", "d"]));
                format!(
                    "SELECT {a}, {b}, COUNT(*), SUM(j), MIN(d), AVG(d) FROM p WHERE {condition} GROUP BY {a}, {b} WITH ROLLUP"
                )
            }
            9 => format!(
                "SELECT * FROM (SELECT s, i, SUM(j) AS t, COUNT(DISTINCT d) FROM q GROUP BY s, i WITH ROLLUP) x WHERE {}",
                self.one(&["i IS NULL", "s IS NULL", "t > 20"])
            ),
            10 => format!(
                "WITH RECURSIVE r (n, a) AS (SELECT id, i FROM p WHERE {condition} {} SELECT n + {}, {} FROM r JOIN q ON \
                 q.id = n + 1 WHERE n < {}) SELECT n, a, COUNT(*) FROM r GROUP BY n, a ORDER BY n, a",
                self.one(&["UNION", "UNION ALL"]),
                self.number(1, 3),
                self.one(&["a", "a + 1", "q.i"]),
                self.number(3, 20)
            ),
            11 => {
                let (condition, value) = (self.condition("p."), self.one(&["p.j + 1", "7", "p.id * 2"]));
                let update = match self.number(0, 2) {
                    0 => format!(
                        "UPDATE p JOIN q ON q.{} = p.id SET p.j = {value}, p.s = {} WHERE {condition}",
                        self.one(&["id", "i", "j"]),
                        self.one(&["NULL", "'z'"])
                    ),
                    1 => format!("UPDATE p LEFT JOIN q ON q.id = p.i SET p.f = 1, q.j = q.id WHERE {condition}"),
                    _ => format!("UPDATE p JOIN p b ON p.id = b.id + 1 SET p.f = b.id WHERE {condition}"),
                };
                return (update, true);
            }
            12 => {
                let (of_q, of_p) = (self.condition("q."), self.condition("p."));
                let delete = match self.number(0, 1) {
                    0 => format!("DELETE p FROM p JOIN q ON q.i = p.i WHERE {of_q} AND p.id > 20"),
                    _ => format!("DELETE FROM p, q USING p JOIN q ON p.id = q.id WHERE {of_p} AND p.id > 21"),
                };
                return (delete, true);
            }
            _ => format!(
                "SELECT id FROM p WHERE (i, j) {} ({}, {}) OR (i, d) IN (({}, 1), (2, 3)) ORDER BY id",
                self.one(&["<", ">", "<=", ">=", "="]),
                self.number(-2, 4),
                self.number(0, 30),
                self.number(-2, 4)
            ),
        };
        (query, false)
    }
}
