//! Rows written to files and read back: SELECT ... INTO OUTFILE and LOAD DATA of Glassine and of MariaDB, crosswise.
//!
//! A round makes a table of random columns and values, among them separators, quotes, escapes, zero bytes and NULL, and
//! a random format. Both servers write it: the files are equal, byte by byte. Each loads the other's file: the tables
//! are equal, and equal to the first one if the format can tell all values apart. If it cannot, because a separator
//! stands in values, both load the pieces into columns that take any bytes. Then bytes of the file are changed at random,
//! and both load what is left of it into such columns: they end with the same rows, warnings and counts, or the same error.
//!
//! What a piece of a value becomes in a column of another type is no business of files, and the servers have different
//! rules: the DATE of `9.029` is 2009-02-09 by MySQL's, whose point separates like any other character, and
//! 0000-00-00 by MariaDB's. The oracle for values is elsewhere.

use std::fs;
use std::io;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Answer, Client};
use crate::process::{Kind, Options, Scratch, Server};
use crate::random::Random;

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Tables, each with a format of its own.
    #[arg(long, default_value_t = 300)]
    pub rounds: u32,
    #[arg(long)]
    pub seed: Option<u64>,
}

const ROWS: usize = 12;
/// Damaged files of each table.
const DAMAGES: usize = 4;

const TYPES: &[&str] = &[
    "INT",
    "BIGINT UNSIGNED",
    "DECIMAL(9,3)",
    "DATE",
    "DATETIME(3)",
    "TIME",
    "YEAR",
    "VARCHAR(12) CHARACTER SET utf8mb4",
    "VARCHAR(12) CHARACTER SET latin1",
    "CHAR(5) CHARACTER SET utf8mb4",
    "VARBINARY(12)",
    "TEXT CHARACTER SET utf8mb4",
    "BLOB",
    "ENUM('x','n,y','\"')",
    "SET('p','q')",
];
const SEPARATORS: &[&str] = &["\\t", ",", "||", "abc", ";", "n", "::;", "1", "\\\\"];
const QUOTES: &[&str] = &["\"", "'", "", "", "n"];
const ESCAPES: &[&str] = &["\\\\", "\\\\", "\\\\", "", "\"", "!"];
const LINE_ENDS: &[&str] = &["\\n", "\\r\\n", "|", "\\n", "ba"];
const LINE_STARTS: &[&str] = &["", "", "", ">>", "xxy"];

/// What the servers did differently.
#[derive(Debug, Clone)]
pub struct Difference {
    pub table: String,
    pub statement: String,
    pub answers: [String; 2],
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub written: u32,
    pub loaded: u32,
    /// Statements that both refused with the same error.
    pub refused: u32,
    pub restored: u32,
    pub differences: Vec<Difference>,
}

impl Random {
    fn text(&mut self, most: usize) -> String {
        const PARTS: &[&str] = &[
            "a", "b", "N", "n", "1", ",", "\t", "\n", "\r", "\"", "'", "\\", "|", ";", "NULL", "\0", "é", " ", "!", "x",
        ];
        (0..self.0.random_range(0..=most)).map(|_| self.pick(PARTS)).collect()
    }

    /// A literal that a column of this type takes.
    fn value(&mut self, ty: &str) -> String {
        if self.chance(20) {
            return "NULL".into();
        }
        match ty.split(['(', ' ']).next().unwrap_or_default() {
            "INT" => self.0.random_range(-1000..1000).to_string(),
            "BIGINT" => self.0.random::<u64>().to_string(),
            "DECIMAL" => format!("{}.{:03}", self.0.random_range(-99999..99999), self.0.random_range(0..999)),
            "DATE" => format!("'20{:02}-{:02}-11'", self.0.random_range(10..30), self.0.random_range(1..13)),
            "DATETIME" => format!("'2021-02-03 04:05:06.{:03}'", self.0.random_range(0..1000)),
            "TIME" => format!("'{:02}:10:01'", self.0.random_range(0..100)),
            "YEAR" => self.0.random_range(1950..2100).to_string(),
            "ENUM" => self.0.random_range(1..4).to_string(),
            "SET" => self.0.random_range(0..4).to_string(),
            "CHAR" => hex(self.text(2).trim_end_matches(' ')),
            _ => hex(&self.text(3)),
        }
    }

    fn format(&mut self) -> String {
        let mut text = format!(" FIELDS TERMINATED BY '{}'", self.pick(SEPARATORS));
        let quote = self.pick(QUOTES);
        if !quote.is_empty() {
            let optionally = if self.chance(40) { "OPTIONALLY " } else { "" };
            text += &format!(" {optionally}ENCLOSED BY '{}'", quote.replace('\'', "\\'"));
        }
        if self.chance(60) {
            text += &format!(" ESCAPED BY '{}'", self.pick(ESCAPES));
        }
        if self.chance(60) {
            text +=
                &format!(" LINES STARTING BY '{}' TERMINATED BY '{}'", self.pick(LINE_STARTS), self.pick(LINE_ENDS));
        }
        text
    }
}

fn hex(text: &str) -> String {
    let digits: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("CONVERT(x'{}' USING utf8mb4)", digits.concat())
}

fn ask(client: &mut Client, statement: &str) -> io::Result<Result<Answer, u16>> {
    match client.query(statement) {
        Ok(answer) => Ok(Ok(answer)),
        Err(error) => match error.code() {
            Some(code) => Ok(Err(code)),
            None => Err(io::Error::other(format!("{statement}: {error}"))),
        },
    }
}

fn must(client: &mut Client, statement: &str) -> io::Result<Answer> {
    ask(client, statement)?.map_err(|code| io::Error::other(format!("{statement}: {code}")))
}

/// What loading did, as text that is the same on both servers.
fn load(client: &mut Client, statement: &str, columns: usize) -> io::Result<Result<String, u16>> {
    must(client, "TRUNCATE u")?;
    let answer = match ask(client, statement)? {
        Ok(answer) => answer,
        Err(code) => return Ok(Err(code)),
    };
    let warnings = must(client, "SHOW WARNINGS")?;
    let codes: Vec<&str> = warnings.rows.iter().filter_map(|row| row[1].as_deref()).collect();
    let rows = rows(client, "u", columns)?;
    Ok(Ok(format!("{} {}\n{}\n{rows}", answer.affected, answer.info, codes.join(" "))))
}

fn rows(client: &mut Client, table: &str, columns: usize) -> io::Result<String> {
    let list: Vec<String> = (0..columns).map(|at| format!("HEX(c{at})")).collect();
    let answer = must(client, &format!("SELECT {} FROM {table} ORDER BY id", list.join(", ")))?;
    let lines = answer.rows.iter().map(|row| {
        let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
        cells.join(" ")
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

struct Play<'a> {
    random: Random,
    clients: [Client; 2],
    directory: &'a Path,
    outcome: Outcome,
}

impl Play<'_> {
    fn note(&mut self, table: &str, statement: &str, answers: [String; 2]) {
        if answers[0] != answers[1] {
            let (table, statement) = (table.to_owned(), statement.to_owned());
            self.outcome.differences.push(Difference { table, statement, answers });
        }
    }

    fn round(&mut self, number: u32) -> io::Result<()> {
        let types: Vec<&str> = (0..self.random.0.random_range(1..6)).map(|_| self.random.pick(TYPES)).collect();
        let columns: Vec<String> = types.iter().enumerate().map(|(at, ty)| format!("c{at} {ty}")).collect();
        let table = format!("(id INT AUTO_INCREMENT PRIMARY KEY, {}) ENGINE = InnoDB", columns.join(", "));
        let values: Vec<String> = (0..ROWS)
            .map(|_| {
                let row: Vec<String> = types.iter().map(|ty| self.random.value(ty)).collect();
                format!("(NULL, {})", row.join(", "))
            })
            .collect();
        // MySQL rounds fractions of seconds; MariaDB cuts them off, unless it is asked.
        for (client, mode) in self.clients.iter_mut().zip(["", "TIME_ROUND_FRACTIONAL"]) {
            must(client, &format!("SET sql_mode = '{mode}'"))?;
            // So many warnings MariaDB keeps unless it is told otherwise; MySQL keeps 1024.
            must(client, "SET max_error_count = 64")?;
            must(client, "DROP TABLE IF EXISTS t, u")?;
            must(client, &format!("CREATE TABLE t {table}"))?;
            must(client, &format!("CREATE TABLE u {table}"))?;
            must(client, &format!("INSERT INTO t VALUES {}", values.join(", ")))?;
        }
        let first = rows(&mut self.clients[0], "t", types.len())?;
        let format = self.random.format();
        let names: Vec<String> = (0..types.len()).map(|at| format!("c{at}")).collect();
        let names = names.join(", ");
        let paths = [0, 1].map(|server| self.directory.join(format!("{number}-{server}")));
        let mut written = [Ok(0), Ok(0)];
        for ((client, path), answer) in self.clients.iter_mut().zip(&paths).zip(&mut written) {
            let statement = format!("SELECT {names} INTO OUTFILE '{}'{format} FROM t ORDER BY id", path.display());
            *answer = ask(client, &statement)?.map(|answer| answer.affected);
        }
        let statement = format!("SELECT {names} INTO OUTFILE{format}");
        if written[0].is_err() || written[1].is_err() {
            self.outcome.refused += 1;
            self.note(&table, &statement, written.map(|answer| format!("{answer:?}")));
            return Ok(());
        }
        self.outcome.written += 1;
        let files = [fs::read(&paths[0])?, fs::read(&paths[1])?];
        self.note(&table, &statement, [0, 1].map(|at| String::from_utf8_lossy(&files[at]).into_owned()));
        let load_of = |path: &Path, how: &str| {
            format!("LOAD DATA INFILE '{}'{how} INTO TABLE u CHARACTER SET binary{format} ({names})", path.display())
        };
        let kinds = ["VARBINARY(300)", "TEXT CHARACTER SET latin1", "VARBINARY(300) NOT NULL DEFAULT 'x'"];
        let columns: Vec<String> = (0..types.len()).map(|at| format!("c{at} {}", kinds[at % kinds.len()])).collect();
        let anything = format!("(id INT AUTO_INCREMENT PRIMARY KEY, {}) ENGINE = InnoDB", columns.join(", "));
        let restores = |answer: &Result<String, u16>| answer.as_ref().is_ok_and(|loaded| loaded.ends_with(&first));
        for path in &paths {
            let statement = load_of(path, "");
            let answers = self.load_each(&statement, types.len())?;
            if answers.iter().any(restores) {
                self.outcome.restored += u32::from(answers.iter().all(restores));
                self.compare_loaded(&table, &statement, answers);
                continue;
            }
            for client in &mut self.clients {
                must(client, "DROP TABLE u")?;
                must(client, &format!("CREATE TABLE u {anything}"))?;
            }
            let pieces = self.load_each(&statement, types.len())?;
            self.compare_loaded(&anything, &statement, pieces);
            for client in &mut self.clients {
                must(client, "DROP TABLE u")?;
                must(client, &format!("CREATE TABLE u {table}"))?;
            }
        }
        for damage in 0..DAMAGES {
            let mut bytes = files[0].clone();
            self.damage(&mut bytes);
            let path = self.directory.join(format!("{number}-damaged-{damage}"));
            fs::write(&path, &bytes)?;
            let how = self.random.pick(&["", " IGNORE", " REPLACE"]);
            let strict = if self.random.chance(30) { "STRICT_TRANS_TABLES" } else { "" };
            for client in &mut self.clients {
                must(client, &format!("SET sql_mode = '{strict}'"))?;
                must(client, "DROP TABLE u")?;
                must(client, &format!("CREATE TABLE u {anything}"))?;
            }
            let statement = load_of(&path, how);
            let answers = self.load_each(&statement, types.len())?;
            self.compare_loaded(&anything, &statement, answers);
            fs::remove_file(&path)?;
        }
        paths.iter().try_for_each(fs::remove_file)
    }

    /// What loading a file does on each server.
    fn load_each(&mut self, statement: &str, columns: usize) -> io::Result<[Result<String, u16>; 2]> {
        let [own, peer] = &mut self.clients;
        Ok([load(own, statement, columns)?, load(peer, statement, columns)?])
    }

    fn compare_loaded(&mut self, table: &str, statement: &str, answers: [Result<String, u16>; 2]) {
        match &answers[0] {
            Ok(_) => self.outcome.loaded += 1,
            Err(_) => self.outcome.refused += 1,
        }
        self.note(table, statement, answers.map(|answer| answer.unwrap_or_else(|code| code.to_string())));
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        const BYTES: &[u8] = b"\\\"',\t\n\r|nN0a;:!\0x ";
        for _ in 0..self.random.0.random_range(1..6) {
            let at = self.random.0.random_range(0..=bytes.len());
            let byte = BYTES[self.random.0.random_range(0..BYTES.len())];
            match self.random.0.random_range(0..4) {
                0 if at < bytes.len() => bytes[at] = byte,
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 => bytes.truncate(at.max(bytes.len() / 2)),
                _ => bytes.insert(at, byte),
            }
        }
    }
}

/// Plays the rounds; what the servers did differently.
pub fn play(arguments: &Arguments) -> io::Result<(u64, Outcome)> {
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let scratch = Scratch::new("files")?;
    let directory = scratch.0.join("text");
    fs::create_dir_all(&directory)?;
    let options = Options { more: vec!["--secure-file-priv=".into()], ..Options::default() };
    let own = Server::create(Kind::Glassine, &scratch.0.join("glassine"), &options)?;
    let peer = Server::create(Kind::MariaDb, &scratch.0.join("mariadb"), &options)?;
    let connect = |server: &Server| -> io::Result<Client> {
        let mut client = server.connect().map_err(|error| io::Error::other(error.to_string()))?;
        for statement in ["CREATE DATABASE text", "USE text", "SET NAMES utf8mb4"] {
            must(&mut client, statement)?;
        }
        Ok(client)
    };
    let clients = [connect(&own)?, connect(&peer)?];
    let random = Random(StdRng::seed_from_u64(seed));
    let mut play = Play { random, clients, directory: &directory, outcome: Outcome::default() };
    for number in 0..arguments.rounds {
        play.round(number)?;
    }
    Ok((seed, play.outcome))
}

/// `bench files`
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let (seed, outcome) = play(arguments)?;
    println!(
        "seed {seed}: {} files written, {} loaded ({} as they were), {} refused by both; {} differ",
        outcome.written,
        outcome.loaded,
        outcome.restored,
        outcome.refused,
        outcome.differences.len()
    );
    for difference in outcome.differences.iter().take(20) {
        println!("{}\n{}", difference.table, difference.statement);
        println!("  Glassine {:?}\n  MariaDB  {:?}", difference.answers[0], difference.answers[1]);
    }
    match outcome.differences.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other("the servers differ")),
    }
}
