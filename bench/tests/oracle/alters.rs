//! Random ALTER TABLE: one to four actions on a table of all kinds of columns, with changes of rows in between.
//!
//! After each statement both servers must have the same rows, columns and indexes; ours must find the same rows by each
//! index, and take its own SHOW CREATE TABLE. The generator reads columns and indexes from our server's answers.
//!
//! Where MySQL and MariaDB differ, nothing is written: an index on a whole TEXT or BLOB, whose rows MariaDB finds by hash;
//! literals as defaults of these; names of constraints, and expressions of columns that get other names.

use bench::client::Answer;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::rounds::{Outcome, Round, play};
use super::tables::Chance;

const TYPES: [&str; 52] = [
    "TINYINT",
    "TINYINT UNSIGNED",
    "SMALLINT",
    "MEDIUMINT UNSIGNED",
    "INT",
    "INT",
    "INT",
    "INT UNSIGNED",
    "BIGINT",
    "BIGINT UNSIGNED",
    "INT ZEROFILL",
    "DECIMAL(5,2)",
    "DECIMAL(12,0)",
    "DECIMAL(30,10)",
    "FLOAT",
    "DOUBLE",
    "DOUBLE",
    "BIT(1)",
    "BIT(12)",
    "YEAR",
    "DATE",
    "DATE",
    "TIME",
    "TIME(3)",
    "DATETIME",
    "DATETIME(6)",
    "TIMESTAMP",
    "TIMESTAMP(2)",
    "CHAR(3)",
    "CHAR(10)",
    "CHAR(5) CHARACTER SET latin1",
    "VARCHAR(5)",
    "VARCHAR(20)",
    "VARCHAR(20)",
    "VARCHAR(300)",
    "VARCHAR(20) COLLATE utf8mb4_bin",
    "VARCHAR(20) CHARACTER SET latin1",
    "VARCHAR(20) CHARACTER SET utf16",
    "VARCHAR(20) COLLATE utf8mb4_unicode_ci",
    "BINARY(4)",
    "VARBINARY(10)",
    "VARBINARY(200)",
    "TINYTEXT",
    "TEXT",
    "TEXT CHARACTER SET latin1",
    "MEDIUMTEXT",
    "TINYBLOB",
    "BLOB",
    "ENUM('red','green','blue')",
    "ENUM('blue','a','red','')",
    "SET('a','b','cc')",
    "SET('b','a')",
];

#[derive(Clone)]
struct Column {
    name: String,
    /// As information_schema has it: `decimal`.
    kind: String,
    /// `decimal(5,2)`.
    full: String,
    nullable: bool,
    /// The expression of a generated column.
    expression: String,
    numbered: bool,
}

impl Column {
    fn has_prefixes(&self) -> bool {
        ["char", "text", "blob", "binary"].iter().any(|part| self.kind.contains(part))
    }

    fn is_lob(&self) -> bool {
        self.kind.contains("text") || self.kind.contains("blob")
    }

    fn is_number(&self) -> bool {
        ["int", "decimal"].iter().any(|part| self.kind.contains(part))
    }
}

struct Index {
    name: String,
    unique: bool,
    /// Columns; whether it is a prefix, and descending.
    parts: Vec<(String, bool, bool)>,
}

struct Author {
    chance: Chance,
    table: &'static str,
    columns: Vec<Column>,
    indexes: Vec<Index>,
    /// Constraints by name, and the column each is about.
    checks: Vec<(String, String)>,
    named: u32,
    strict: bool,
    /// Whether the statement says a character set already.
    has_charset: bool,
}

#[test]
fn random_alter_table_is_answered_as_by_mariadb() {
    play("oracle-alters", 2, is_known, |round, seed| {
        Author {
            chance: Chance(StdRng::seed_from_u64(seed)),
            table: "a",
            columns: Vec::new(),
            indexes: Vec::new(),
            checks: Vec::new(),
            named: 0,
            strict: true,
            has_charset: false,
        }
        .play(round);
    });
}

/// Where both servers are known to differ.
fn is_known(statement: &str, how: &str, last: &str) -> bool {
    let refused =
        |ours: &str, oracle: &str| how.contains(&format!("ours: {ours}")) && how.contains(&format!("oracle: {oracle}"));
    let says = |words: &[&str]| words.iter().all(|word| last.contains(word));
    // It has no primary key of generated columns, and none of them reads AUTO_INCREMENT or the like.
    how.contains("oracle: ERROR 1903")
        || how.contains("oracle: ERROR 1901")
        || how.contains("oracle: ERROR 4029")
        // It indexes whole texts, and takes the length of a whole number for a prefix of it.
        || refused("ERROR 1170", "0 rows")
        || refused("ERROR 1089", "0 rows")
        || refused("0 rows", "ERROR 1089")
        // IGNORE passes over rows for which there is no number, and not over a single one that a constraint refuses.
        || (says(&["INSERT IGNORE"]) && (how.contains("ours: ERROR 1467") || how.contains("oracle: ERROR 4025")))
        // NULL becomes the present moment in a TIMESTAMP that becomes NOT NULL.
        || (["PRIMARY KEY", "TIMESTAMP"].iter().any(|part| says(&[part])) && refused("ERROR 1265", "0 rows"))
        // The zero of a date is refused without a strict mode, too, and of rows that stay; and a year of a time.
        || refused("0 rows", "ERROR 1292")
        // A column that is dropped or changed in the same statement is there for IF NOT EXISTS, CHANGE and SET DEFAULT;
        // and one that has got a default is not there for another.
        || says(&["IF NOT EXISTS", "DROP COLUMN"])
        || says(&["IF NOT EXISTS", "RENAME COLUMN"])
        || says(&["IF NOT EXISTS", "CHANGE"])
        // The parts of an index on a column that takes the place of a dropped one.
        || (statement.contains("statistics") && says(&["ADD COLUMN", "DROP COLUMN"]))
        || (says(&["ORDER BY"]) && refused("0 rows", "ERROR 1054"))
        || refused("ERROR 1054", "0 rows")
        || (says(&["SET DEFAULT"]) && refused("0 rows", "ERROR 1054"))
        // An index that the same statement renames or drops with its columns is not there for IGNORED.
        || (says(&["IGNORED"]) && refused("0 rows", "ERROR 1176"))
        // A unique index that stands for the primary key may be ignored.
        || refused("ERROR 3522", "0 rows")
        // Dropping a column whose index goes in the same statement.
        || (says(&["DROP INDEX", "DROP COLUMN"]) && how.contains("oracle: ERROR 1072"))
        // Which rows of a table without a primary key get which number.
        || (statement.starts_with("SELECT") && says(&["ADD COLUMN", "AUTO_INCREMENT"]))
        // Several character sets in one statement.
        || how.contains("oracle: ERROR 1302")
        // What is too large a number for a time or for bits becomes zero.
        || (statement.starts_with("SELECT") && [" TIME", " BIT", " YEAR"].iter().any(|ty| says(&["ALTER TABLE", ty])))
}

impl Author {
    fn play(&mut self, round: &mut Round<'_>) {
        let mut columns = vec![match self.chance.number(0, 3) {
            0 => "c0 INT".to_owned(),
            1 => "c0 INT NOT NULL AUTO_INCREMENT PRIMARY KEY".to_owned(),
            _ => "c0 INT NOT NULL PRIMARY KEY".to_owned(),
        }];
        for number in 1..=self.chance.number(2, 5) {
            let definition = self.definition(None);
            columns.push(format!("c{number} {definition}"));
        }
        round.change(&format!(
            "CREATE TABLE a ({}) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            columns.join(", ")
        ));
        self.look(round);
        let statements = self.chance.number(8, 20);
        for _ in 0..statements {
            if !round.goes_on() {
                return;
            }
            for _ in 0..self.chance.number(0, 3) {
                let change = self.change();
                round.change(&change);
            }
            if self.chance.once_in(8) {
                let mode = self.chance.word(&[
                    "",
                    "STRICT_TRANS_TABLES",
                    "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE",
                    "NO_ZERO_DATE",
                    "NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES",
                ]);
                self.strict = mode.contains("STRICT");
                round.set_mode(&format!("{mode},NO_ENGINE_SUBSTITUTION"));
            }
            let (statement, checks, table) = self.alter();
            if let Outcome::Done(_) = round.change(&statement) {
                self.checks = checks;
                self.table = table;
                self.look(round);
                self.compare(round);
            }
        }
        self.compare(round);
    }

    /// Reads what the table has become, which must be the same on both.
    fn look(&mut self, round: &mut Round<'_>) {
        let table = self.table;
        // MariaDB shows the widths of integers, and defaults as they are written.
        let of_columns = format!(
            "SELECT column_name, data_type, IF(numeric_scale = 0 AND data_type <> 'decimal' OR \
             data_type = 'year', CONCAT(column_type LIKE '%unsigned%', column_type LIKE '%zerofill%'), column_type) AS full, \
             is_nullable, ordinal_position, character_maximum_length, character_octet_length, numeric_precision, \
             numeric_scale, datetime_precision, character_set_name, collation_name, column_key FROM \
             information_schema.columns WHERE table_schema = 't' AND table_name = '{table}' ORDER BY ordinal_position"
        );
        let of_indexes = format!(
            "SELECT index_name, column_name, non_unique, sub_part, collation, seq_in_index, nullable FROM \
             information_schema.statistics WHERE table_schema = 't' AND table_name = '{table}' ORDER BY index_name, \
             seq_in_index"
        );
        let columns = round.ask(&of_columns).unwrap_or_default();
        let indexes = round.ask(&of_indexes).unwrap_or_default();
        let more = round.ours(&format!(
            "SELECT generation_expression, extra FROM information_schema.columns WHERE table_schema = 't' AND \
             table_name = '{table}' ORDER BY ordinal_position"
        ));
        let text = |answer: &Answer, row: usize, at: usize| answer.rows[row][at].clone().unwrap_or_default();
        self.columns = (0..columns.rows.len().min(more.rows.len()))
            .map(|row| Column {
                name: text(&columns, row, 0),
                kind: text(&columns, row, 1),
                full: text(&columns, row, 2),
                nullable: text(&columns, row, 3) == "YES",
                expression: text(&more, row, 0),
                numbered: text(&more, row, 1).contains("auto_increment"),
            })
            .collect();
        self.indexes.clear();
        for row in 0..indexes.rows.len() {
            let name = text(&indexes, row, 0);
            let part = (text(&indexes, row, 1), !text(&indexes, row, 3).is_empty(), text(&indexes, row, 4) == "D");
            match self.indexes.last_mut() {
                Some(last) if last.name == name => last.parts.push(part),
                _ => self.indexes.push(Index { name, unique: text(&indexes, row, 2) == "0", parts: vec![part] }),
            }
        }
    }

    fn compare(&self, round: &mut Round<'_>) {
        let table = self.table;
        let scan = format!("SELECT * FROM {table}");
        round.ask(&scan);
        round.check_table(table);
        for index in &self.indexes {
            let name = &index.name;
            round.twice(
                &format!("SELECT COUNT(*) FROM {table} USE INDEX ()"),
                &format!("SELECT COUNT(*) FROM {table} FORCE INDEX (`{name}`)"),
            );
            if index.parts.iter().all(|(_, prefix, _)| !prefix) {
                let order: Vec<String> = index
                    .parts
                    .iter()
                    .map(|(column, _, descending)| format!("`{column}`{}", if *descending { " DESC" } else { "" }))
                    .collect();
                let sorted = format!("SELECT {} FROM {table}", order.join(", ").replace(" DESC", ""));
                round.twice(
                    &format!("{sorted} IGNORE INDEX (`{name}`)"),
                    &format!("{sorted} FORCE INDEX (`{name}`) ORDER BY {}", order.join(", ")),
                );
            }
        }
        round.check_definition(table);
    }

    fn column(&mut self) -> usize {
        self.chance.number(0, self.columns.len() as i64 - 1) as usize
    }

    /// A name, mostly of a column that is there.
    fn name(&mut self) -> String {
        if self.columns.is_empty() || self.chance.once_in(20) {
            return format!("c{}", self.chance.number(0, 9));
        }
        let at = self.column();
        self.columns[at].name.clone()
    }

    fn new_name(&mut self) -> String {
        format!("c{}", self.chance.number(0, 9))
    }

    fn index_name(&mut self) -> String {
        if self.indexes.is_empty() || self.chance.once_in(6) {
            return format!("k{}", self.chance.number(0, 5));
        }
        let at = self.chance.number(0, self.indexes.len() as i64 - 1) as usize;
        match self.indexes[at].name.as_str() {
            "PRIMARY" => "k0".to_owned(),
            name => name.to_owned(),
        }
    }

    fn place(&mut self) -> String {
        match self.chance.number(0, 5) {
            0 => " FIRST".to_owned(),
            1 | 2 => format!(" AFTER {}", self.name()),
            _ => String::new(),
        }
    }

    /// What a column is, behind its name. `own` is the name that an expression must not read.
    fn definition(&mut self, own: Option<&str>) -> String {
        if let Some(own) = own
            && self.chance.once_in(7)
            && let Some(generated) = self.generated(own)
        {
            return generated;
        }
        // What is left of a number that its text has no room for is not the same.
        let ty = match self.chance.word(&TYPES) {
            "CHAR(3)" | "CHAR(10)" | "VARCHAR(5)" if !self.strict => "VARCHAR(20)",
            "BINARY(4)" | "VARBINARY(10)" | "CHAR(5) CHARACTER SET latin1" if !self.strict => "VARBINARY(200)",
            // What bits numbers have that a SET has no members for.
            "SET('a','b','cc')" | "SET('b','a')" if !self.strict => "ENUM('red','green','blue')",
            other => other,
        };
        let probe = Column {
            name: String::new(),
            kind: ty.split(['(', ' ']).next().unwrap_or(ty).to_lowercase(),
            full: ty.replace("ENUM", "enum").replace("SET(", "set("),
            nullable: false,
            expression: String::new(),
            numbered: false,
        };
        let null = self.chance.word(&[" NULL", "", "", " NOT NULL"]);
        let default = match self.chance.number(0, 4) {
            0 if !probe.is_lob() => format!(" DEFAULT {}", self.plain_value(&probe)),
            1 if null != " NOT NULL" => " DEFAULT NULL".to_owned(),
            2 if probe.is_number() => format!(" DEFAULT ({} + {})", self.chance.number(0, 9), self.chance.number(0, 9)),
            _ => String::new(),
        };
        let comment = if self.chance.once_in(8) { " COMMENT 'what it is'" } else { "" };
        format!("{ty}{null}{default}{comment}")
    }

    fn generated(&mut self, own: &str) -> Option<String> {
        let at = self.column();
        let column = &self.columns[at];
        if column.name == own || !column.expression.is_empty() || column.numbered {
            return None;
        }
        let name = column.name.clone();
        let (number, lob) = (column.is_number(), column.is_lob());
        let text = column.kind.contains("char");
        let (ty, expression) = match self.chance.number(0, 3) {
            0 if number => ("BIGINT", format!("{name} DIV 3")),
            1 if number => ("DECIMAL(40,4)", format!("IFNULL({name}, 0) * 2")),
            2 if text => ("VARCHAR(400)", format!("UPPER({name})")),
            _ if !lob => ("INT", format!("{name} IS NULL")),
            _ => ("INT", format!("LENGTH({name})")),
        };
        let stored = self.chance.word(&["VIRTUAL", "STORED"]);
        Some(format!("{ty} GENERATED ALWAYS AS ({expression}) {stored}"))
    }

    /// A literal that the column takes in any mode.
    fn plain_value(&mut self, column: &Column) -> String {
        let unsigned =
            column.full.starts_with('1') || column.full.contains("UNSIGNED") || column.full.contains("ZEROFILL");
        match column.kind.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => {
                let low = if unsigned { 0 } else { -100 };
                if column.numbered {
                    // Also a row that is not made raises the counter here.
                    return self.chance.number(1, 20).to_string();
                }
                match self.chance.number(0, 3) {
                    0 => self.chance.number(low, 100).to_string(),
                    _ => self.chance.number(low.max(-2), 19).to_string(),
                }
            }
            "decimal" => format!("{}.{}", self.chance.number(-99, 99), self.chance.word(&["0", "00"])),
            "float" | "double" => format!("{}e0", self.chance.number(-40, 400)),
            "bit" => self.chance.word(&["b'0'", "b'1'"]).into(),
            "year" => self.chance.number(1999, 2003).to_string(),
            "date" => format!("'2024-0{}-1{}'", self.chance.number(1, 2), self.chance.number(0, 3)),
            "time" => format!("'{:02}:00:0{}'", self.chance.number(0, 30), self.chance.number(0, 3)),
            "datetime" | "timestamp" => format!(
                "'2024-0{}-1{} {:02}:00:00{}'",
                self.chance.number(1, 2),
                self.chance.number(0, 3),
                self.chance.number(0, 2) * 8,
                self.chance.word(&["", "", ".25"])
            ),
            "enum" => self.chance.word(&["'red'", "'blue'"]).into(),
            "set" => self.chance.word(&["'a'", "'b'", "'a,b'", "''"]).into(),
            _ => self.chance.word(&["''", "'a'", "'A'", "'b'", "'abc'", "'1'", "'22'", "'red'", "'7'"]).into(),
        }
    }

    fn value(&mut self, at: usize) -> String {
        let column = self.columns[at].clone();
        if !column.expression.is_empty() {
            return "DEFAULT".into();
        }
        if column.nullable && self.chance.once_in(5) {
            return "NULL".into();
        }
        if self.chance.once_in(6) && !column.numbered {
            // Odd ones, which fit the type.
            let odd: &[&'static str] = match column.kind.as_str() {
                "tinyint" => &["127", "0"],
                "smallint" => &["32767", "0"],
                "int" => &["2147483647", "0", "65536"],
                "bigint" => &["9223372036854775807", "4294967296"],
                "year" => &["0", "2155", "1901"],
                "date" => &["'9999-12-31'", "'1000-01-01'", "'2024-02-29'"],
                "time" => &["'838:59:59'", "'-10:00:01'", "'00:00:00'"],
                "datetime" => &["'9999-12-31 23:59:59'", "'1000-01-01 00:00:00'"],
                "timestamp" => &["'1970-01-01 00:00:01'", "'2037-12-31 23:59:59'"],
                "double" => &["1e300", "-0e0", "7e0"],
                "varchar" | "text" | "tinytext" | "mediumtext" => {
                    &["'\u{fc}'", "'a  '", "'2024-01-11'", "'10:00'", "'blue'", "'a,b'", "'-5'", "'z z'"]
                }
                "varbinary" | "blob" | "tinyblob" => &["X'00'", "X'6101'", "'a '", "'2024-01-11'"],
                _ => &["DEFAULT"],
            };
            return self.chance.word(odd).into();
        }
        self.plain_value(&column)
    }

    fn rows(&mut self) -> String {
        // How many numbers a statement takes for rows that it does not make is the server's own affair.
        let takes_number = self.chance.once_in(4);
        let is_written = |author: &mut Author, at: &usize| {
            let column = &author.columns[*at];
            column.expression.is_empty() && !(if column.numbered { takes_number } else { author.chance.once_in(12) })
        };
        let written: Vec<usize> = (0..self.columns.len()).filter(|at| is_written(self, at)).collect();
        let names: Vec<String> = written.iter().map(|at| format!("`{}`", self.columns[*at].name)).collect();
        let numbered = self.columns.iter().any(|column| column.numbered);
        let count = if takes_number && numbered { 1 } else { self.chance.number(1, 6) };
        let rows: Vec<String> = (0..count)
            .map(|_| {
                let values: Vec<String> = written.iter().map(|at| self.value(*at)).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        // A row that is passed over raises the counter here, and not in MariaDB.
        let verb = match self.chance.word(&["INSERT", "INSERT", "INSERT IGNORE", "INSERT IGNORE", "REPLACE"]) {
            "INSERT IGNORE" if numbered => "INSERT",
            verb => verb,
        };
        format!("{verb} INTO {} ({}) VALUES {}", self.table, names.join(", "), rows.join(", "))
    }

    fn change(&mut self) -> String {
        if self.columns.is_empty() || !self.chance.once_in(3) {
            return self.rows();
        }
        let (at, by) = (self.column(), self.column());
        if !self.columns[at].expression.is_empty() {
            return self.rows();
        }
        let value = self.value(at);
        let probe = self.columns[by].clone();
        let known = if probe.nullable && self.chance.once_in(5) { "NULL".into() } else { self.plain_value(&probe) };
        let (set, by) = (self.columns[at].name.clone(), self.columns[by].name.clone());
        // Without a row to change MariaDB looks for the default, too.
        let value = value.replace("DEFAULT", "NULL");
        let condition = match self.chance.number(0, 2) {
            0 => format!("`{by}` <=> {known}"),
            1 => format!("`{by}` IS NULL"),
            _ => format!("`{by}` = {known}"),
        };
        match self.chance.number(0, 2) {
            0 => format!("DELETE FROM {} WHERE {condition}", self.table),
            _ => format!("UPDATE {} SET `{set}` = {value} WHERE {condition}", self.table),
        }
    }

    /// ALTER TABLE, the constraints that the table has then, and its name.
    fn alter(&mut self) -> (String, Vec<(String, String)>, &'static str) {
        let (mut checks, mut table) = (self.checks.clone(), self.table);
        let mut actions: Vec<String> = Vec::new();
        self.has_charset = false;
        for _ in 0..*self.chance.one(&[1, 1, 1, 2, 2, 3, 4]) {
            if let Some(action) = self.action(&mut checks, &mut table) {
                actions.push(action);
            }
        }
        if self.chance.once_in(15) {
            let statement = format!("ALTER TABLE {} AUTO_INCREMENT = {}", self.table, self.chance.number(0, 200));
            return (statement, self.checks.clone(), self.table);
        }
        if actions.is_empty() {
            actions.push("ENGINE = InnoDB".into());
        }
        if self.chance.once_in(8) {
            actions.insert(0, "ALGORITHM=COPY".into());
        }
        // It goes on to the end of the statement.
        actions.sort_by_key(|action| action.starts_with("ORDER BY"));
        let orders = actions.iter().filter(|action| action.starts_with("ORDER BY")).count();
        actions.truncate(actions.len() - orders.saturating_sub(1));
        (format!("ALTER TABLE {} {}", self.table, actions.join(", ")), checks, table)
    }

    fn action(&mut self, checks: &mut Vec<(String, String)>, table: &mut &'static str) -> Option<String> {
        Some(match self.chance.number(0, 25) {
            0..=3 => {
                let (name, place) = (self.new_name(), self.place());
                let numbered = self.columns.iter().any(|column| column.numbered);
                if !numbered && self.chance.once_in(8) {
                    let key = self.chance.word(&["UNIQUE", "PRIMARY KEY", "KEY"]);
                    return Some(format!("ADD COLUMN {name} INT NOT NULL AUTO_INCREMENT {key}{place}"));
                }
                let definition = self.definition(Some(&name));
                let unless = self.chance.word(&["", "", "", "", "", "IF NOT EXISTS "]);
                format!("ADD COLUMN {unless}{name} {definition}{place}")
            }
            4 | 5 => {
                let name = self.name();
                if self.is_named(&name) {
                    return None;
                }
                // MariaDB refuses to take a column out of a unique index that has others.
                let is_part = |index: &&Index| {
                    index.unique && index.parts.len() > 1 && index.parts.iter().any(|(column, ..)| *column == name)
                };
                match self.indexes.iter().find(is_part) {
                    Some(index) if index.name == "PRIMARY" => format!("DROP PRIMARY KEY, DROP COLUMN {name}"),
                    Some(index) => format!("DROP INDEX {}, DROP COLUMN {name}", index.name),
                    None => format!("DROP COLUMN {name}"),
                }
            }
            6..=9 => {
                let name = self.name();
                let numbered = self.columns.iter().any(|column| column.name == name && column.numbered);
                let definition = match numbered {
                    true => self.chance.word(&["INT NOT NULL", "BIGINT NOT NULL AUTO_INCREMENT"]).into(),
                    false => self.definition(Some(&name)),
                };
                let place = self.place();
                // What a constraint makes of another type is no matter of ALTER TABLE.
                if self.checks.iter().any(|(_, column)| *column == name) {
                    return None;
                }
                match self.chance.number(0, 3) {
                    0 if !self.is_named(&name) => {
                        let new = self.new_name();
                        format!("CHANGE {name} {new} {definition}{place}")
                    }
                    _ => format!("MODIFY {name} {definition}{place}"),
                }
            }
            10 => {
                let (name, new) = (self.name(), self.new_name());
                if self.is_named(&name) {
                    return None;
                }
                format!("RENAME COLUMN {name} TO {new}")
            }
            11 => {
                let at = self.column();
                let column = &self.columns[at];
                if !column.expression.is_empty() || column.is_lob() || column.numbered {
                    return None;
                }
                let name = column.name.clone();
                match self.chance.number(0, 2) {
                    // NULL without a default is MySQL's state for some columns, which no CREATE TABLE makes.
                    0 if !column.nullable => format!("ALTER COLUMN {name} DROP DEFAULT"),
                    _ => {
                        let value = self.value(at).replace("DEFAULT", "NULL");
                        format!("ALTER COLUMN {name} SET DEFAULT {value}")
                    }
                }
            }
            12..=14 => {
                let name = format!("k{}", self.chance.number(0, 5));
                let kind = self.chance.word(&["INDEX", "INDEX", "UNIQUE INDEX"]);
                let parts = self.parts(false)?;
                let ignored = self.chance.word(&["", "", "", " IGNORED"]);
                format!("ADD {kind} {name} ({parts}){ignored}")
            }
            15 | 16 => format!("DROP INDEX {}{}", self.chance.word(&["", "", "IF EXISTS "]), self.index_name()),
            17 | 18 => format!("RENAME INDEX {} TO k{}", self.index_name(), self.chance.number(0, 5)),
            19 => match self.indexes.iter().any(|index| index.name == "PRIMARY") {
                true if self.chance.once_in(2) => "DROP PRIMARY KEY".to_owned(),
                true => format!("DROP PRIMARY KEY, ADD PRIMARY KEY ({})", self.parts(true)?),
                false => format!("ADD PRIMARY KEY ({})", self.parts(true)?),
            },
            20 => match self.chance.number(0, checks.len() as i64) {
                0 => {
                    let at = self.column();
                    let column = &self.columns[at];
                    let name = column.name.clone();
                    if column.numbered {
                        return None;
                    }
                    let number = column.is_number();
                    self.named += 1;
                    let constraint = format!("n{}", self.named);
                    checks.push((constraint.clone(), name.clone()));
                    match number {
                        true => format!("ADD CONSTRAINT {constraint} CHECK ({name} < 50)"),
                        false => format!("ADD CONSTRAINT {constraint} CHECK ({name} IS NOT NULL)"),
                    }
                }
                at => format!("DROP CONSTRAINT {}", checks.remove(at as usize - 1).0),
            },
            21 => {
                let set = self.chance.word(&["utf8mb4", "latin1", "utf8mb4 COLLATE utf8mb4_bin", "utf8mb3"]);
                if std::mem::replace(&mut self.has_charset, true) {
                    return None;
                }
                match self.chance.number(0, 2) {
                    0 => format!("DEFAULT CHARACTER SET {set}"),
                    _ => format!("CONVERT TO CHARACTER SET {set}"),
                }
            }
            // Beside other changes MariaDB only raises it.
            22 => {
                self.named += 1;
                format!("AUTO_INCREMENT = {}", 200 + 10 * self.named)
            }
            23 => self.chance.word(&["ENGINE = InnoDB", "FORCE", "COMMENT = 'a table'"]).into(),
            24 => match self.chance.number(0, 1) {
                0 => {
                    *table = if *table == "a" { "b" } else { "a" };
                    format!("RENAME TO {table}")
                }
                // Rows without a key lie as they came.
                _ if self.indexes.iter().any(|index| index.name == "PRIMARY") => format!("ORDER BY {}", self.name()),
                _ => return None,
            },
            _ => {
                let not = self.chance.word(&["", "NOT "]);
                format!("ALTER INDEX {} {not}IGNORED", self.index_name())
            }
        })
    }

    /// Whether an expression names the column, or a constraint.
    fn is_named(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.expression.contains(&format!("`{name}`")))
            || self.checks.iter().any(|(_, column)| column == name)
    }

    /// Parts of an index. Outside of the strict modes MariaDB makes defaults of NULLs in a primary key.
    fn parts(&mut self, primary: bool) -> Option<String> {
        let mut parts: Vec<(String, String)> = Vec::new();
        for _ in 0..*self.chance.one(&[1, 1, 2, 3]) {
            let at = self.column();
            let column = &self.columns[at];
            if parts.iter().any(|(known, _)| *known == column.name) || (primary && column.nullable && !self.strict) {
                continue;
            }
            let (name, prefixes, lob) = (column.name.clone(), column.has_prefixes(), column.is_lob());
            let wide = column.full.contains("(300)") || column.full.contains("(400)");
            let prefix = match prefixes && (lob || wide || self.chance.once_in(3)) {
                true => format!("({})", self.chance.number(1, 4)),
                false => String::new(),
            };
            let descending = if self.chance.once_in(4) { " DESC" } else { "" };
            let part = format!("{name}{prefix}{descending}");
            parts.push((name, part));
        }
        (!parts.is_empty()).then(|| parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(", "))
    }
}
