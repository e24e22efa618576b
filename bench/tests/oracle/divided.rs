//! Random partitioned tables: rules of every kind, changes of rows and of partitions.
//!
//! A table that is not divided has the same changes on our server, and must have the same rows in the same order.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::rounds::{Outcome, Round, play};
use super::tables::Chance;

/// What decides in which partition a row is.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    Range,
    List,
    RangeColumns,
    ListColumns,
    Hash,
    Key,
}

struct Author {
    chance: Chance,
    rule: Rule,
    /// Numbers partitions that are added.
    named: u32,
    partitions: Vec<String>,
}

#[test]
fn random_partitions_are_answered_as_by_mariadb() {
    play("oracle-divided", 2, is_known, |round, seed| {
        Author { chance: Chance(StdRng::seed_from_u64(seed)), rule: Rule::Hash, named: 0, partitions: Vec::new() }
            .play(round);
    });
}

/// Where both servers are known to differ.
fn is_known(statement: &str, how: &str, _: &str) -> bool {
    // MariaDB loses rows of LIST that the new partitions have no place for.
    (statement.contains("REORGANIZE PARTITION") && how.contains("ours: ERROR 1526"))
        || (statement.contains("OPTIMIZE PARTITION") && how.contains("ERROR 1735"))
        // Of a partition that is not there both say so, and we what became of the statement, too.
        || how.contains("ours 2 rows, oracle 1")
}

const COLUMNS: &str = "id INT NOT NULL, a INT, b INT NOT NULL, d DATE NOT NULL, s VARCHAR(10)";

impl Author {
    fn play(&mut self, round: &mut Round<'_>) {
        let key = self.chance.word(&[
            "PRIMARY KEY (id, a, b)",
            "PRIMARY KEY (id, b, d, s)",
            "PRIMARY KEY (b, id, a, d, s)",
            "",
            "",
        ]);
        let mut definition = COLUMNS.to_owned();
        if !key.is_empty() {
            definition = format!("{definition}, {key}");
        }
        for index in ["KEY ka (a)", "KEY kba (b, a)", "KEY ks (s DESC, a)", "KEY kd (d)"] {
            if self.chance.once_in(2) {
                definition = format!("{definition}, {index}");
            }
        }
        for _ in 0..6 {
            let rule = self.rule();
            if let Outcome::Done(_) = round.change(&format!("CREATE TABLE p ({definition}) {rule}")) {
                break;
            }
        }
        self.look(round);
        if self.partitions.is_empty() {
            return;
        }
        round.change_ours(&format!("CREATE TABLE q ({definition})"));
        round.change(&format!("CREATE TABLE e ({definition})"));
        for _ in 0..self.chance.number(20, 50) {
            if !round.goes_on() {
                return;
            }
            match self.chance.number(0, 3) {
                0 => self.redefine(round),
                1 => self.query(round),
                _ => self.change(round),
            }
            self.compare(round);
        }
        round.check_definition("p");
    }

    /// The partitions, as our server names them.
    fn look(&mut self, round: &mut Round<'_>) {
        let names = "SELECT partition_name, subpartition_name, partition_method, partition_ordinal_position, \
                     subpartition_ordinal_position FROM information_schema.partitions WHERE table_schema = 't' AND \
                     table_name = 'p' ORDER BY partition_ordinal_position, subpartition_ordinal_position";
        let names = round.ask(names).unwrap_or_default();
        self.partitions = names.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
        self.partitions.dedup();
    }

    fn compare(&mut self, round: &mut Round<'_>) {
        round.ask("SELECT * FROM p");
        round.twice("SELECT * FROM q", "SELECT * FROM p");
        for name in self.partitions.clone() {
            round.ask(&format!("SELECT * FROM p PARTITION ({name})"));
        }
        round.check_table("p");
        let order = self.chance.word(&[
            "a, id, b, d, s",
            "b, a, id, d, s",
            "s DESC, a, id, b, d",
            "d, id, a, b, s",
            "id, a, b, d, s",
        ]);
        let (limit, low) = (self.chance.number(1, 9), self.chance.number(0, 8));
        let condition = match self.chance.number(0, 5) {
            0 => format!("WHERE a >= {low}"),
            1 => format!("WHERE b = {low}"),
            2 => format!("WHERE d < '2024-0{}-01'", low % 6 + 1),
            3 => format!("WHERE a IN ({low}, 3) OR a IS NULL"),
            _ => String::new(),
        };
        let rest = format!("{condition} ORDER BY {order} LIMIT {limit}");
        round.twice(&format!("SELECT * FROM q {rest}"), &format!("SELECT * FROM p {rest}"));
        round.twice(
            &format!("SELECT COUNT(*), MIN(a), MAX(d) FROM q {condition}"),
            &format!("SELECT COUNT(*), MIN(a), MAX(d) FROM p {condition}"),
        );
    }

    fn rule(&mut self) -> String {
        let subpartitions = match self.chance.number(0, 5) {
            0 => " SUBPARTITION BY HASH (b) SUBPARTITIONS 2",
            1 => " SUBPARTITION BY KEY (id) SUBPARTITIONS 3",
            _ => "",
        };
        let column = self.chance.word(&["a", "b", "id", "a", "b"]);
        let linear = self.chance.word(&["", "", "LINEAR "]);
        let (rule, text) = match self.chance.number(0, 8) {
            0 | 1 => {
                let rule = format!(
                    "RANGE ({column}){subpartitions} (PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN (5){})",
                    self.chance.word(&[
                        ", PARTITION p2 VALUES LESS THAN MAXVALUE",
                        "",
                        ", PARTITION p2 VALUES LESS THAN (9)"
                    ])
                );
                (Rule::Range, rule)
            }
            2 => {
                let rule = format!(
                    "LIST ({column}){subpartitions} (PARTITION p0 VALUES IN (NULL, 1, 2), PARTITION p1 VALUES IN (3, 4, 0), PARTITION \
                     p2 VALUES IN (5, 6, 7, 8, 9))"
                );
                (Rule::List, rule)
            }
            3 => {
                let rule = self.chance.word(&[
                    "RANGE COLUMNS (d) (PARTITION p0 VALUES LESS THAN ('2024-02-01'), PARTITION p1 VALUES LESS THAN \
                     ('2024-04-15'), PARTITION p2 VALUES LESS THAN (MAXVALUE))",
                    "RANGE COLUMNS (b, d) (PARTITION p0 VALUES LESS THAN (3, '2024-02-01'), PARTITION p1 VALUES LESS \
                     THAN (3, MAXVALUE), PARTITION p2 VALUES LESS THAN (MAXVALUE, MAXVALUE))",
                    "RANGE COLUMNS (s) (PARTITION p0 VALUES LESS THAN ('b'), PARTITION p1 VALUES LESS THAN ('m'))",
                ]);
                (Rule::RangeColumns, rule.to_owned())
            }
            4 => {
                let rule = self.chance.word(&[
                    "LIST COLUMNS (s) (PARTITION p0 VALUES IN ('a', NULL), PARTITION p1 VALUES IN ('b', 'c', ''), PARTITION \
                     p2 VALUES IN ('x', 'zz'))",
                    "LIST COLUMNS (b, id) (PARTITION p0 VALUES IN ((1, 1), (2, 2), (3, 3)), PARTITION p1 VALUES IN ((1, \
                     2), (2, 1), (4, 4)))",
                ]);
                (Rule::ListColumns, rule.to_owned())
            }
            5 | 6 => {
                let of = self.chance.word(&["a", "b", "id", "a + b", "YEAR(d)", "TO_DAYS(d)"]);
                (Rule::Hash, format!("{linear}HASH ({of}) PARTITIONS {}", self.chance.number(1, 5)))
            }
            _ => {
                let of = self.chance.word(&["a", "b", "id", "d", "id, b", "b, d"]);
                (Rule::Key, format!("{linear}KEY ({of}) PARTITIONS {}", self.chance.number(1, 5)))
            }
        };
        self.rule = rule;
        format!("PARTITION BY {text}")
    }

    fn row(&mut self) -> String {
        let a = if self.chance.once_in(6) { "NULL".to_owned() } else { self.chance.number(-1, 9).to_string() };
        let s = self.chance.word(&["'a'", "'A'", "'b'", "'c'", "''", "'x'", "'zz'", "NULL"]);
        let d = format!("'2024-0{}-{:02}'", self.chance.number(1, 6), self.chance.number(1, 28));
        format!("({}, {a}, {}, {d}, {s})", self.chance.number(1, 12), self.chance.number(0, 8))
    }

    fn change(&mut self, round: &mut Round<'_>) {
        let low = self.chance.number(0, 9);
        let condition = match self.chance.number(0, 4) {
            0 => format!("a = {low}"),
            1 => format!("b > {low}"),
            2 => "a IS NULL".to_owned(),
            3 => format!("d > '2024-0{}-10'", low % 6 + 1),
            _ => format!("id = {low}"),
        };
        let rows: Vec<String> = (0..self.chance.number(1, 6)).map(|_| self.row()).collect();
        let rows = rows.join(", ");
        let statement = match self.chance.number(0, 9) {
            0..=3 => format!("INSERT INTO % VALUES {rows}"),
            4 => format!("INSERT IGNORE INTO % VALUES {rows}"),
            5 => format!("REPLACE INTO % VALUES {rows}"),
            6 => format!("DELETE FROM % WHERE {condition}"),
            7 => format!("UPDATE % SET a = {low} WHERE {condition}"),
            8 => format!("UPDATE % SET b = {low}, s = 'b' WHERE {condition}"),
            _ => format!("INSERT INTO % VALUES {rows} ON DUPLICATE KEY UPDATE d = '2024-03-0{}'", low.max(1)),
        };
        if let Outcome::Done(_) = round.change(&statement.replace('%', "p")) {
            // Rows that have no partition are passed over by IGNORE.
            match statement.contains("IGNORE") {
                true => self.follow(round),
                false => round.change_ours(&statement.replace('%', "q")),
            }
        }
    }

    /// The table that is not divided gets the rows of the other.
    fn follow(&self, round: &mut Round<'_>) {
        round.change_ours("DELETE FROM q");
        round.change_ours("INSERT INTO q SELECT * FROM p");
    }

    fn partition(&mut self) -> String {
        match self.partitions.is_empty() || self.chance.once_in(15) {
            true => "p9".to_owned(),
            false => self.chance.one(&self.partitions).clone(),
        }
    }

    fn query(&mut self, round: &mut Round<'_>) {
        let (one, other) = (self.partition(), self.partition());
        round.ask(&format!("SELECT COUNT(*), SUM(a), MIN(LOWER(s)) FROM p PARTITION ({one}, {other})"));
        match self.chance.number(0, 2) {
            0 => {
                if let Outcome::Done(_) = round.change(&format!("DELETE FROM p PARTITION ({one}) WHERE b < 3")) {
                    self.follow(round);
                }
            }
            1 => {
                let row = self.row();
                if let Outcome::Done(_) =
                    round.change(&format!("INSERT INTO p PARTITION ({one}, {other}) VALUES {row}"))
                {
                    self.follow(round);
                }
            }
            _ => {
                round.ask(&format!("SELECT * FROM p PARTITION ({one}) WHERE a > 2"));
            }
        }
    }

    /// A name for a new partition.
    fn new_name(&mut self) -> String {
        self.named += 1;
        format!("n{}", self.named)
    }

    fn redefine(&mut self, round: &mut Round<'_>) {
        let (one, name) = (self.partition(), self.new_name());
        let is_spread = matches!(self.rule, Rule::Hash | Rule::Key);
        let mut loses_rows = false;
        let action = match self.chance.number(0, 11) {
            0 | 1 if is_spread => format!("ADD PARTITION PARTITIONS {}", self.chance.number(1, 3)),
            0 | 1 => format!("ADD PARTITION (PARTITION {name} VALUES {})", self.values()),
            2 if is_spread => format!("COALESCE PARTITION {}", self.chance.number(1, 2)),
            2 | 3 => {
                loses_rows = true;
                format!("DROP PARTITION {one}")
            }
            4 | 5 => {
                let at = self.chance.number(0, self.partitions.len() as i64 - 1) as usize;
                let until = (at + self.chance.number(1, 2) as usize).min(self.partitions.len());
                let old = self.partitions[at..until].join(", ");
                let other = self.new_name();
                match self.chance.number(0, 1) {
                    0 => format!("REORGANIZE PARTITION {old} INTO (PARTITION {name} VALUES {})", self.values()),
                    _ => format!(
                        "REORGANIZE PARTITION {old} INTO (PARTITION {name} VALUES {}, PARTITION {other} VALUES {})",
                        self.values(),
                        self.values()
                    ),
                }
            }
            6 => {
                loses_rows = true;
                format!("TRUNCATE PARTITION {one}")
            }
            7 => {
                loses_rows = true;
                if self.chance.once_in(2) {
                    round.change("DELETE FROM e");
                    round.change(&format!("INSERT INTO e SELECT * FROM p PARTITION ({one})"));
                }
                format!("EXCHANGE PARTITION {one} WITH TABLE e{}", self.chance.word(&["", " WITHOUT VALIDATION", ""]))
            }
            8 => "REMOVE PARTITIONING".to_owned(),
            9 | 10 => self.rule(),
            _ => self
                .chance
                .word(&[
                    "REBUILD PARTITION {}",
                    "ANALYZE PARTITION {}",
                    "CHECK PARTITION {}",
                    "ADD INDEX z (b, s)",
                    "DROP INDEX z",
                    "FORCE",
                ])
                .replace("{}", &one),
        };
        if action.contains("WITHOUT VALIDATION") {
            return;
        }
        let rule = self.rule;
        if let Outcome::Done(_) = round.change(&format!("ALTER TABLE p {action}")) {
            if action == "REMOVE PARTITIONING" {
                round.ask("SELECT * FROM p");
                let rule = self.rule();
                if !matches!(round.change(&format!("ALTER TABLE p {rule}")), Outcome::Done(_)) {
                    round.change("ALTER TABLE p PARTITION BY HASH (b) PARTITIONS 3");
                    self.rule = Rule::Hash;
                }
            }
            if loses_rows {
                self.follow(round);
            }
            round.ask("SELECT * FROM e");
            self.look(round);
        } else {
            self.rule = rule;
        }
    }

    /// What a new partition of the rule has.
    fn values(&mut self) -> String {
        match self.rule {
            Rule::Range => match self.chance.number(0, 5) {
                0 => "LESS THAN MAXVALUE".to_owned(),
                _ => format!("LESS THAN ({})", self.chance.number(0, 15)),
            },
            Rule::List => {
                let first = self.chance.number(-2, 12);
                match self.chance.number(0, 3) {
                    0 => format!("IN ({first})"),
                    1 => format!("IN ({first}, {}, NULL)", first + 1),
                    2 => "IN (0, 3, 4, 5, 6, 7, 8, 9, -1)".to_owned(),
                    _ => format!("IN ({first}, {}, {})", first + 1, first + 2),
                }
            }
            Rule::RangeColumns => self
                .chance
                .word(&[
                    "LESS THAN ('2024-03-03')",
                    "LESS THAN ('2024-05-01')",
                    "LESS THAN (MAXVALUE)",
                    "LESS THAN (4, '2024-02-01')",
                    "LESS THAN ('c')",
                    "LESS THAN (MAXVALUE, MAXVALUE)",
                    "LESS THAN ('x')",
                ])
                .to_owned(),
            Rule::ListColumns => self
                .chance
                .word(&[
                    "IN ('d')",
                    "IN ('a', 'b', 'c', NULL, '')",
                    "IN ('y', 'w')",
                    "IN ((5, 5))",
                    "IN ((6, 1), (7, 1))",
                ])
                .to_owned(),
            Rule::Hash | Rule::Key => "LESS THAN (3)".to_owned(),
        }
    }
}
