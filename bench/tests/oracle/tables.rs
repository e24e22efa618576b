//! Random tables: columns of every type and collation that both servers know, and rows for them.
//!
//! Values are chosen so that many are equal, some equal only by their collation, and some NULL.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// What a column or an expression can be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Integer,
    Decimal,
    Double,
    Text,
    Bytes,
    Date,
    Time,
    Moment,
}

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    /// As CREATE TABLE says it.
    pub definition: &'static str,
    pub family: Family,
    pub nullable: bool,
}

/// A table, or what stands for one in FROM, under its alias.
#[derive(Debug, Clone)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
}

/// Decimals and moments are as fine as the literals: MariaDB finds by an index what is equal to a rounded literal only.
const TYPES: [(&str, Family); 33] = [
    ("TINYINT", Family::Integer),
    ("SMALLINT UNSIGNED", Family::Integer),
    ("MEDIUMINT", Family::Integer),
    ("INT", Family::Integer),
    ("INT", Family::Integer),
    ("BIGINT", Family::Integer),
    ("BIGINT UNSIGNED", Family::Integer),
    ("DECIMAL(6,2)", Family::Decimal),
    ("DECIMAL(20,2)", Family::Decimal),
    ("DECIMAL(30,10)", Family::Decimal),
    ("DOUBLE", Family::Double),
    ("FLOAT", Family::Double),
    ("VARCHAR(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", Family::Text),
    ("VARCHAR(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", Family::Text),
    ("VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", Family::Text),
    ("CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", Family::Text),
    ("VARCHAR(20) CHARACTER SET latin1", Family::Text),
    ("CHAR(6) CHARACTER SET latin1 COLLATE latin1_bin", Family::Text),
    ("TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", Family::Text),
    ("VARCHAR(10) CHARACTER SET ucs2", Family::Text),
    ("CHAR(7) CHARACTER SET utf16 COLLATE utf16_bin", Family::Text),
    ("TEXT CHARACTER SET utf32 COLLATE utf32_unicode_ci", Family::Text),
    ("ENUM('red','green','blue','a') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", Family::Text),
    ("SET('a','b','cc') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", Family::Text),
    ("VARBINARY(10)", Family::Bytes),
    ("BINARY(4)", Family::Bytes),
    ("BLOB", Family::Bytes),
    ("DATE", Family::Date),
    ("DATE", Family::Date),
    ("TIME", Family::Time),
    ("TIME(3)", Family::Time),
    ("DATETIME(6)", Family::Moment),
    ("DATETIME(6)", Family::Moment),
];

/// Choices from a seed.
pub struct Chance(pub StdRng);

impl Chance {
    pub fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        of.choose(&mut self.0).expect("choices")
    }

    pub fn word(&mut self, of: &[&'static str]) -> &'static str {
        of.choose(&mut self.0).expect("words")
    }

    pub fn number(&mut self, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u32) -> bool {
        self.0.random_ratio(1, times)
    }

    /// A table with `id` as its key, some columns of any type, and some indexes: its description and its definition.
    pub fn table(&mut self, name: &str) -> (Table, String) {
        let mut columns =
            vec![Column { name: "id".into(), definition: "INT", family: Family::Integer, nullable: false }];
        for number in 0..self.number(4, 7) {
            let (definition, family) = *self.one(&TYPES);
            let nullable = !self.once_in(4);
            columns.push(Column { name: format!("c{number}"), definition, family, nullable });
        }
        let mut lines = vec!["id INT NOT NULL PRIMARY KEY".to_owned()];
        for column in &columns[1..] {
            let null = if column.nullable { "" } else { " NOT NULL" };
            lines.push(format!("{} {}{null}", column.name, column.definition));
        }
        for _ in 0..self.number(0, 3) {
            let parts: Vec<String> = (0..self.number(1, 2)).map(|_| self.key_part(&columns[1..])).collect();
            if parts.len() == 2 && parts[0].split('(').next() == parts[1].split('(').next() {
                continue;
            }
            lines.push(format!("KEY ({})", parts.join(", ")));
        }
        let definition = format!("CREATE TABLE {name} ({})", lines.join(", "));
        (Table { name: name.to_owned(), columns }, definition)
    }

    fn key_part(&mut self, columns: &[Column]) -> String {
        let column = self.one(columns);
        let name = &column.name;
        match column.definition {
            "BLOB" => format!("{name}(3)"),
            text if text.starts_with("TEXT") => format!("{name}(5)"),
            text if text.starts_with("VARCHAR(300)") => format!("{name}(2)"),
            _ => name.clone(),
        }
    }

    /// A statement that fills a table with rows from `first` on.
    pub fn rows(&mut self, table: &Table, first: i64, count: i64) -> String {
        let rows: Vec<String> = (first..first + count)
            .map(|id| {
                let values: Vec<String> = table.columns[1..].iter().map(|column| self.stored(column)).collect();
                format!("({id}, {})", values.join(", "))
            })
            .collect();
        format!("INSERT IGNORE INTO {} VALUES {}", table.name, rows.join(", "))
    }

    /// A value that the column takes as it is, or NULL.
    pub fn stored(&mut self, column: &Column) -> String {
        if column.nullable && self.once_in(5) {
            return "NULL".into();
        }
        match column.definition {
            text if text.starts_with("ENUM") => self.word(&["'red'", "'green'", "'blue'", "'a'"]).into(),
            text if text.starts_with("SET") => self.word(&["''", "'a'", "'b'", "'a,b'", "'a,b,cc'", "'cc'"]).into(),
            text if text.contains("UNSIGNED") => self.number(0, 12).to_string(),
            _ => self.literal(column.family),
        }
    }

    /// A literal of the family.
    pub fn literal(&mut self, family: Family) -> String {
        match family {
            Family::Integer => self.number(-3, 12).to_string(),
            Family::Decimal => format!("{}.{}", self.number(-3, 12), self.word(&["5", "25", "50", "75", "10"])),
            Family::Double => format!("{}e0", self.number(-24, 96) as f64 / 8.0),
            Family::Text => self
                .word(&[
                    "''", "'a'", "'A'", "'a '", "'b'", "'B'", "'cc'", "'Cc'", "'abc'", "'red'", "'z'", "'10'", "'5'",
                ])
                .into(),
            Family::Bytes => self.word(&["''", "'a'", "'A'", "'b'", "'cc'", "'abc'", "'a '", "'10'"]).into(),
            Family::Date => format!("DATE'2024-0{}-{:02}'", self.number(1, 3), self.number(1, 9) * 3),
            Family::Time => format!("TIME'{:02}:{:02}:00'", self.number(0, 23), self.number(0, 3) * 15),
            Family::Moment => format!(
                "TIMESTAMP'2024-0{}-{:02} {:02}:30:00{}'",
                self.number(1, 3),
                self.number(1, 9) * 3,
                self.number(0, 2) * 8,
                self.word(&["", "", ".5", ".123456"])
            ),
        }
    }
}
