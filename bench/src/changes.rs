//! A random history of definitions and rows over all types, the same for the same seed: what a source does while its
//! replicas watch.
//!
//! The statements succeed on Glassine, MySQL and MariaDB alike, and leave nothing to chance: each row has a key, so the
//! order in which a statement meets rows does not matter.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// The database that all of it happens in.
pub const DATABASE: &str = "history";

/// The types of columns. JSON comes last: MariaDB does not read it in MySQL's rows.
const TYPES: [&str; 31] = [
    "TINYINT",
    "TINYINT UNSIGNED",
    "SMALLINT",
    "MEDIUMINT",
    "MEDIUMINT UNSIGNED",
    "INT",
    "BIGINT",
    "BIGINT UNSIGNED",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(20,6)",
    "YEAR",
    "DATE",
    "TIME",
    "TIME(3)",
    "DATETIME",
    "DATETIME(6)",
    "TIMESTAMP NULL",
    "TIMESTAMP(2) NULL",
    "CHAR(10)",
    "VARCHAR(20)",
    "VARCHAR(300)",
    "BINARY(4)",
    "VARBINARY(20)",
    "TEXT",
    "MEDIUMBLOB",
    "ENUM('a','b','c')",
    "SET('x','y','z')",
    "BIT(1)",
    "BIT(12)",
    "JSON",
];

const TABLES: usize = 5;

#[derive(Clone)]
struct Table {
    /// Names by number, with their types.
    columns: Vec<(u32, usize)>,
}

/// See the module header.
pub struct Changes {
    random: StdRng,
    types: usize,
    tables: [Option<Table>; TABLES],
    columns: u32,
}

impl Changes {
    pub fn new(seed: u64, with_json: bool) -> Changes {
        let types = TYPES.len() - usize::from(!with_json);
        Changes { random: StdRng::seed_from_u64(seed), types, tables: Default::default(), columns: 0 }
    }

    /// What is to be run before anything else.
    pub fn prologue() -> Vec<String> {
        vec![format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"), "SET time_zone = '+00:00'".to_owned()]
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.random_range(0..limit)
    }

    fn column(&mut self) -> (u32, usize) {
        self.columns += 1;
        (self.columns, self.below(self.types))
    }

    /// Statements that belong together.
    pub fn next_step(&mut self) -> Vec<String> {
        let at = self.below(TABLES);
        if self.tables[at].is_none() {
            return vec![self.create(at)];
        }
        match self.below(40) {
            0 => {
                self.tables[at] = None;
                vec![format!("DROP TABLE {DATABASE}.t{at}")]
            }
            1 => {
                let (name, ty) = self.column();
                self.tables[at].as_mut().expect("it is there").columns.push((name, ty));
                vec![format!("ALTER TABLE {DATABASE}.t{at} ADD COLUMN c{name} {}", TYPES[ty])]
            }
            2 => {
                let table = self.tables[at].as_mut().expect("it is there");
                match table.columns.len() {
                    0 | 1 => vec![self.insert(at)],
                    _ => {
                        let (name, _) = table.columns.remove(0);
                        vec![format!("ALTER TABLE {DATABASE}.t{at} DROP COLUMN c{name}")]
                    }
                }
            }
            3 => vec![format!("TRUNCATE TABLE {DATABASE}.t{at}")],
            4 => match self.tables.iter().position(Option::is_none) {
                Some(free) => {
                    self.tables.swap(at, free);
                    vec![format!("RENAME TABLE {DATABASE}.t{at} TO {DATABASE}.t{free}")]
                }
                None => vec![self.insert(at)],
            },
            5..=14 => self.transaction(),
            _ => vec![self.change(at)],
        }
    }

    fn create(&mut self, at: usize) -> String {
        let columns: Vec<(u32, usize)> = (0..2 + self.below(8)).map(|_| self.column()).collect();
        let defined: String = columns.iter().map(|(name, ty)| format!(", c{name} {}", TYPES[*ty])).collect();
        self.tables[at] = Some(Table { columns });
        format!("CREATE TABLE {DATABASE}.t{at} (id INT PRIMARY KEY AUTO_INCREMENT{defined})")
    }

    fn transaction(&mut self) -> Vec<String> {
        let mut steps = vec!["BEGIN".to_owned()];
        for part in 0..1 + self.below(6) {
            let at = self.below(TABLES);
            if self.tables[at].is_some() {
                steps.push(self.change(at));
            }
            if part == 1 && self.below(3) == 0 {
                steps.push("SAVEPOINT here".to_owned());
                let at = self.below(TABLES);
                if self.tables[at].is_some() {
                    steps.push(self.change(at));
                }
                steps.push("ROLLBACK TO here".to_owned());
            }
        }
        steps.push(if self.below(5) == 0 { "ROLLBACK" } else { "COMMIT" }.to_owned());
        steps
    }

    fn change(&mut self, at: usize) -> String {
        let (from, count) = (self.below(60), 1 + self.below(10));
        let range = format!("id BETWEEN {from} AND {}", from + count);
        match self.below(10) {
            0..=4 => self.insert(at),
            5 => format!("DELETE FROM {DATABASE}.t{at} WHERE {range}"),
            _ => {
                let columns = &self.tables[at].as_ref().expect("it is there").columns;
                let (name, ty) = columns[self.random.random_range(0..columns.len())];
                let value = self.value(ty);
                format!("UPDATE {DATABASE}.t{at} SET c{name} = {value} WHERE {range}")
            }
        }
    }

    fn insert(&mut self, at: usize) -> String {
        let columns = self.tables[at].as_ref().expect("it is there").columns.clone();
        let names: Vec<String> = columns.iter().map(|(name, _)| format!("c{name}")).collect();
        let rows: Vec<String> = (0..1 + self.below(4))
            .map(|_| {
                let id = self.below(60) + 1;
                let values: Vec<String> = columns.iter().map(|(_, ty)| self.value(*ty)).collect();
                format!("({id}, {})", values.join(", "))
            })
            .collect();
        // Some keys are there already.
        let verb = ["INSERT IGNORE", "REPLACE"][self.below(2)];
        format!("{verb} INTO {DATABASE}.t{at} (id, {}) VALUES {}", names.join(", "), rows.join(", "))
    }

    /// A value of a type, in the range of the type.
    fn value(&mut self, ty: usize) -> String {
        if self.below(8) == 0 {
            return "NULL".to_owned();
        }
        let random = &mut self.random;
        let date = |random: &mut StdRng| {
            let (year, month, day) =
                (random.random_range(1990..2037), random.random_range(1..13), random.random_range(1..29));
            format!("{year}-{month:02}-{day:02}")
        };
        let time = |random: &mut StdRng| {
            let (hour, minute, second) =
                (random.random_range(0..24), random.random_range(0..60), random.random_range(0..60));
            format!("{hour:02}:{minute:02}:{second:02}")
        };
        let word = |random: &mut StdRng, max: usize| -> String {
            let letters = ['a', 'B', '7', ' ', 'ä', '€', '\\', '%'];
            let length = random.random_range(0..max);
            let text: String = (0..length).map(|_| letters[random.random_range(0..letters.len())]).collect();
            format!("'{}'", text.replace('\\', "\\\\"))
        };
        let hex = |random: &mut StdRng, max: usize| -> String {
            let bytes = random.random_range(0..=max);
            let digits: String = (0..bytes).map(|_| format!("{:02X}", random.random::<u8>())).collect();
            format!("X'{digits}'")
        };
        match TYPES[ty] {
            "TINYINT" => random.random::<i8>().to_string(),
            "TINYINT UNSIGNED" => random.random::<u8>().to_string(),
            "SMALLINT" => random.random::<i16>().to_string(),
            "MEDIUMINT" => random.random_range(-8_388_608..8_388_608).to_string(),
            "MEDIUMINT UNSIGNED" => random.random_range(0..16_777_216).to_string(),
            "INT" => random.random::<i32>().to_string(),
            "BIGINT" => random.random::<i64>().to_string(),
            "BIGINT UNSIGNED" => random.random::<u64>().to_string(),
            // What a FLOAT holds exactly.
            "FLOAT" => (f64::from(random.random_range(-4000..4000)) / 16.0).to_string(),
            "DOUBLE" => format!("{:e}", random.random_range(-1e30..1e30)),
            "DECIMAL(20,6)" => {
                format!("{}.{:06}", random.random_range(-9_999_999..9_999_999), random.random_range(0..1_000_000))
            }
            "YEAR" => random.random_range(1901..2156).to_string(),
            "DATE" => format!("'{}'", date(random)),
            "TIME" => format!("'{}{}'", ["", "-"][random.random_range(0..2)], time(random)),
            "TIME(3)" => format!("'{}.{:03}'", time(random), random.random_range(0..1000)),
            "DATETIME" | "TIMESTAMP NULL" => format!("'{} {}'", date(random), time(random)),
            "DATETIME(6)" => format!("'{} {}.{:06}'", date(random), time(random), random.random_range(0..1_000_000)),
            "TIMESTAMP(2) NULL" => format!("'{} {}.{:02}'", date(random), time(random), random.random_range(0..100)),
            "CHAR(10)" | "VARCHAR(20)" => word(random, 10),
            "VARCHAR(300)" => word(random, 300),
            "BINARY(4)" => hex(random, 4),
            "VARBINARY(20)" => hex(random, 20),
            "TEXT" => word(random, 1000),
            "MEDIUMBLOB" => hex(random, 2000),
            "ENUM('a','b','c')" => ["'a'", "'b'", "'c'"][random.random_range(0..3)].to_owned(),
            "SET('x','y','z')" => ["''", "'x'", "'x,z'", "'x,y,z'"][random.random_range(0..4)].to_owned(),
            "BIT(1)" => random.random_range(0..2).to_string(),
            "BIT(12)" => random.random_range(0..4096).to_string(),
            "JSON" => {
                let (number, letters) = (random.random::<i32>(), random.random_range(0..40));
                // Not in the normal form, which the column and the log have.
                format!("'{{\"list\":[true,null,\"{}\"] , \"n\":{number}}}'", "x".repeat(letters))
            }
            other => unreachable!("no value for {other}"),
        }
    }
}
