//! MariaDB as the oracle: the same statements on both servers, the same answers.
//!
//! Scripts in `tests/oracle/*.sql` are read first, then random statements from a
//! seed (`ORACLE_SEED` replays one). A statement that Glassine does not support
//! yet (1235) is counted, never compared. Where MySQL and MariaDB themselves
//! differ, the script avoids the ground. Rounds of ALTER TABLE, of foreign keys,
//! of partitions, of stored programs and of changes through views are in files of their own.

#[path = "oracle/alters.rs"]
mod alters;
#[path = "oracle/divided.rs"]
mod divided;
#[path = "oracle/families.rs"]
mod families;
#[path = "oracle/geometries.rs"]
mod geometries;
#[path = "oracle/programs.rs"]
mod programs;
#[path = "oracle/queries.rs"]
mod queries;
#[path = "oracle/rounds.rs"]
mod rounds;
#[path = "oracle/statements.rs"]
mod statements;
#[path = "oracle/tables.rs"]
mod tables;
#[path = "oracle/through.rs"]
mod through;
#[path = "oracle/tpch.rs"]
mod tpch;
#[path = "oracle/typed.rs"]
mod typed;

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bench::client::{Answer, Client, Error};
use bench::process::{Kind, Options, Scratch, Server, mariadb_is_installed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

struct Pair {
    ours: Client,
    oracle: Client,
    _servers: (Server, Server),
    _scratch: Scratch,
}

const SQL_MODE: &str = "SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";

fn pair(name: &str) -> Option<Pair> {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return None;
    }
    let scratch = Scratch::new(name).expect("a scratch directory");
    let options = Options { pool: "64M".into(), log: "64M".into(), ..Options::default() };
    let utf8 = ["--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"].map(str::to_string);
    let peer_options = Options { more: utf8.to_vec(), ..options.clone() };
    // The harness itself is tried by putting the oracle on both sides.
    let kind = if std::env::var_os("ORACLE_SELF").is_some() { Kind::MariaDb } else { Kind::Glassine };
    let ours = Server::create(kind, &scratch.0.join("ours"), &peer_options).expect("our server starts");
    let oracle = Server::create(Kind::MariaDb, &scratch.0.join("oracle"), &peer_options).expect("the oracle starts");
    let mut pair = Pair {
        ours: ours.connect().expect("our server answers"),
        oracle: oracle.connect().expect("the oracle answers"),
        _servers: (ours, oracle),
        _scratch: scratch,
    };
    // A random query may take one of the two servers hours, and its temporary tables the whole disk.
    for statement in ["SET NAMES utf8mb4", SQL_MODE, "SET max_statement_time = 5", "CREATE DATABASE t", "USE t"] {
        pair.ours.query(statement).expect("set-up on our server");
        pair.oracle.query(statement).expect("set-up on the oracle");
    }
    Some(pair)
}

enum Verdict {
    Same,
    Unsupported,
    Different(String),
}

impl Pair {
    /// Runs a statement on both. Rows are compared in order if the statement fixes one.
    fn compare(&mut self, statement: &str) -> Verdict {
        let ours = self.ours.query(statement);
        if ours.as_ref().err().and_then(Error::code) == Some(1235) {
            return Verdict::Unsupported;
        }
        let oracle = self.oracle.query(statement);
        let ordered = statement.to_ascii_uppercase().contains("ORDER BY");
        match (ours, oracle) {
            (Ok(ours), Ok(mut oracle)) => {
                // How many rows it copies is a server's own affair.
                if ["ALTER TABLE", "CREATE INDEX"].iter().any(|kind| statement.starts_with(kind)) {
                    oracle.affected = ours.affected;
                }
                difference(ours, oracle, ordered).map_or(Verdict::Same, Verdict::Different)
            }
            (Err(ours), Err(oracle)) if ours.code().is_some() && ours.code() == oracle.code() => Verdict::Same,
            (ours, oracle) => Verdict::Different(format!("ours: {}\noracle: {}", show(ours), show(oracle))),
        }
    }
}

impl Pair {
    /// Our server's answer to a query as text against its answers to the same query by EXECUTE, twice.
    fn prepared(&mut self, query: &str) -> Verdict {
        let quoted = query.replace('\\', "\\\\").replace('\'', "''");
        if let Err(error) = self.ours.query(&format!("PREPARE p FROM '{quoted}'")) {
            return Verdict::Different(format!("PREPARE: {error}"));
        }
        let text = self.ours.query(query);
        for _ in 0..2 {
            let how = match (text.as_ref(), self.ours.query("EXECUTE p")) {
                (Ok(text), Ok(executed)) => difference(text.clone(), executed, query.contains(" ORDER BY ")),
                (Err(text), Err(executed)) if text.code() == executed.code() => None,
                (text, executed) => Some(format!("{text:?}\n{executed:?}")),
            };
            if let Some(how) = how {
                return Verdict::Different(format!("the text as ours, EXECUTE as the oracle: {how}"));
            }
        }
        Verdict::Same
    }
}

impl Pair {
    /// Whether MariaDB gives our answer to a query once it plans it otherwise, or without indexes.
    fn oracle_contradicts_itself(&mut self, query: &str) -> bool {
        let plainly = "SET optimizer_switch = 'materialization=off,semijoin=off,derived_merge=off,exists_to_in=off,\
                       condition_pushdown_for_derived=off,condition_pushdown_for_subquery=off,outer_join_with_cache=off,\
                       firstmatch=off,loosescan=off,partial_match_rowid_merge=off,partial_match_table_scan=off,\
                       split_materialized=off,subquery_cache=off'";
        let without_keys: Vec<String> = (0..6)
            .flat_map(|table| {
                let keys = format!(
                    "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = 't' AND \
                     table_name = 't{table}' AND index_name <> 'PRIMARY'"
                );
                let keys = self.oracle.query(&keys).map(|answer| answer.rows).unwrap_or_default();
                keys.into_iter().flatten().flatten().map(move |key| format!("ALTER TABLE t{table} ALTER INDEX {key}"))
            })
            .collect();
        let mut agrees = false;
        for settings in [vec![plainly.to_owned()], without_keys.iter().map(|key| format!("{key} IGNORED")).collect()] {
            for setting in settings {
                self.oracle.query(&setting).expect("a setting of the oracle");
            }
            agrees |= matches!(self.compare(query), Verdict::Same);
        }
        for setting in without_keys.iter().map(|key| format!("{key} NOT IGNORED")) {
            self.oracle.query(&setting).expect("a setting of the oracle");
        }
        self.oracle.query("SET optimizer_switch = DEFAULT").expect("a setting of the oracle");
        agrees
    }
}

impl Pair {
    /// Whether MariaDB's areas of two shapes contradict each other where ours do not.
    fn oracle_contradicts_its_areas(&mut self, statement: &str) -> bool {
        let agree = |answer: Result<Answer, Error>| {
            answer.is_ok_and(|answer| answer.rows.first().is_some_and(|row| geometries::shares_agree(row)))
        };
        geometries::asks_shares(statement) && agree(self.ours.query(statement)) && !agree(self.oracle.query(statement))
    }
}

/// Whether MariaDB ended the statement at its limit of time.
fn took_too_long(how: &str) -> bool {
    how.contains("oracle: ERROR 1969")
}

fn show(result: Result<Answer, Error>) -> String {
    match result {
        Ok(answer) => format!("{} rows, {} affected: {:?}", answer.rows.len(), answer.affected, answer.rows.first()),
        Err(error) => error.to_string(),
    }
}

fn difference(mut ours: Answer, mut oracle: Answer, ordered: bool) -> Option<String> {
    if ours.affected != oracle.affected {
        return Some(format!("affected rows: ours {}, oracle {}", ours.affected, oracle.affected));
    }
    if ours.columns != oracle.columns {
        return Some(format!("columns: ours {:?}, oracle {:?}", ours.columns, oracle.columns));
    }
    without_sign_of_zero(&mut ours.rows);
    without_sign_of_zero(&mut oracle.rows);
    if !ordered {
        ours.rows.sort();
        oracle.rows.sort();
    }
    if ours.rows.len() != oracle.rows.len() {
        return Some(format!("ours {} rows, oracle {}", ours.rows.len(), oracle.rows.len()));
    }
    let (row, (ours, oracle)) =
        ours.rows.iter().zip(&oracle.rows).enumerate().find(|(_, (ours, oracle))| ours != oracle)?;
    Some(format!("row {row}\nours:   {ours:?}\noracle: {oracle:?}"))
}

/// Statements of a script: they end with a semicolon at the end of a line.
fn script_of(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let code = code.join("\n");
    code.split(";\n").map(|one| one.trim().trim_end_matches(';').to_string()).filter(|one| !one.is_empty()).collect()
}

#[test]
fn scripts_are_answered_as_by_mariadb() {
    let Some(mut pair) = pair("oracle-scripts") else { return };
    let mut scripts: Vec<_> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle"))
        .expect("the scripts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .collect();
    scripts.sort();
    let mut different = Vec::new();
    let (mut same, mut unsupported) = (0, Vec::new());
    for script in scripts {
        for statement in script_of(&fs::read_to_string(&script).expect("a script")) {
            match pair.compare(&statement) {
                Verdict::Same => same += 1,
                Verdict::Unsupported => unsupported.push(statement),
                Verdict::Different(how) => different.push(format!("{}: {statement}\n{how}", script.display())),
            }
        }
    }
    println!("{same} statements agree, {} not supported yet", unsupported.len());
    assert!(unsupported.is_empty(), "the scripts hold supported statements only:\n{}", unsupported.join("\n"));
    assert!(different.is_empty(), "{} statements differ:\n\n{}", different.len(), different.join("\n\n"));
}

/// Whether a negative zero keeps its sign differs between versions of both servers; nothing else hangs on it.
fn without_sign_of_zero(rows: &mut [Vec<Option<String>>]) {
    for cell in rows.iter_mut().flatten().flatten() {
        if let Some(rest) = cell.strip_prefix('-')
            && rest.bytes().all(|byte| matches!(byte, b'0' | b'.'))
            && rest.contains('0')
        {
            *cell = rest.to_string();
        }
    }
}

/// A writer of random statements over two tables of many types.
struct Author {
    random: StdRng,
}

/// Without the YEAR column: what a fraction means as a year is a corner that the scripts look into.
const NUMBERS: [&str; 5] = ["id", "i", "u", "d", "f"];
const STRINGS: [&str; 4] = ["s", "c", "b", "e"];
const TIMES: [&str; 3] = ["dt", "da", "ti"];

impl Author {
    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.random.random_range(0..choices.len())]
    }

    fn number(&mut self) -> String {
        match self.random.random_range(0..8) {
            0 => "NULL".into(),
            1 => "0".into(),
            2 => format!("{}", self.random.random_range(-5..5)),
            3 => format!("{}.{}", self.random.random_range(-100..100), self.random.random_range(0..1000)),
            4 => format!("{}", self.random.random_range(-2_000_000..2_000_000)),
            _ => format!("{}", self.random.random_range(-60..60)),
        }
    }

    fn string(&mut self) -> String {
        let words =
            ["''", "'a'", "'A'", "'abc'", "'ABC '", "'b%'", "'10'", "'10x'", "'ß'", "'é'", "'zebra'", "NULL", "'0'"];
        self.pick(&words).to_string()
    }

    fn time(&mut self) -> String {
        let year = self.random.random_range(1995..2030);
        let month = self.random.random_range(1..13);
        let day = self.random.random_range(1..29);
        match self.random.random_range(0..3) {
            0 => format!("'{year}-{month:02}-{day:02}'"),
            1 => format!("'{year}-{month:02}-{day:02} {:02}:{:02}:{:02}'", day % 24, month * 4, day * 2),
            _ => format!("DATE '{year}-{month:02}-{day:02}'"),
        }
    }

    fn numeric(&mut self, depth: u32) -> String {
        if depth == 0 {
            // A bare NULL as an argument has no type, and the servers differ in which one they give it.
            let literal = Some(self.number()).filter(|number| number != "NULL").unwrap_or_else(|| "7".into());
            return if self.random.random_bool(0.6) { self.pick(&NUMBERS).to_string() } else { literal };
        }
        let (a, b) = (self.numeric(depth - 1), self.numeric(depth - 1));
        match self.random.random_range(0..14) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("({a} * 3)"),
            3 => format!("({a} / {b})"),
            4 => format!("({a} DIV 7)"),
            5 => format!("({a} % 11)"),
            6 => format!("ABS({a})"),
            7 => format!("IFNULL({a}, {b})"),
            8 => format!("(CASE WHEN {} THEN {a} ELSE {b} END)", self.condition(depth - 1)),
            9 => format!("IF({}, {a}, {b})", self.condition(depth - 1)),
            10 => format!("LENGTH({})", self.text(depth - 1)),
            11 => format!("COALESCE({a}, {b}, 1)"),
            12 => format!("ROUND({a}, 1)"),
            _ => format!("(-{a})"),
        }
    }

    fn text(&mut self, depth: u32) -> String {
        if depth == 0 {
            return if self.random.random_bool(0.6) { self.pick(&STRINGS).to_string() } else { self.string() };
        }
        let (a, b) = (self.text(depth - 1), self.text(depth - 1));
        match self.random.random_range(0..7) {
            0 => format!("CONCAT({a}, {b})"),
            1 => format!("UPPER({a})"),
            2 => format!("SUBSTRING({a}, {})", self.random.random_range(1..4)),
            3 => format!("TRIM({a})"),
            4 => format!("REPLACE({a}, 'a', 'xy')"),
            5 => format!("LPAD({a}, 5, '.')"),
            _ => format!("IFNULL({a}, {b})"),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let operators = ["=", "<>", "<", "<=", ">", ">=", "<=>"];
        let operator = self.pick(&operators);
        match self.random.random_range(0..if depth == 0 { 8 } else { 11 }) {
            // Equality of an integer column and a fraction is true for the rounded number in MariaDB; we think it is not.
            0 if operator.contains('=') && operator.len() != 2 || operator == "<>" => {
                format!("{} {operator} {}", self.pick(&NUMBERS), self.random.random_range(-60..60))
            }
            0 => format!("{} {operator} {}", self.pick(&NUMBERS), self.number()),
            1 => format!("{} {operator} {}", self.pick(&STRINGS), self.string()),
            2 => {
                let (column, time) = (self.pick(&["dt", "da"]), self.time());
                format!("{column} {operator} {time}")
            }
            3 => {
                let (a, b) = (self.random.random_range(-50..50), self.random.random_range(-50..50));
                format!("{} BETWEEN {a} AND {b}", self.pick(&NUMBERS))
            }
            4 => {
                let (a, b) = (self.random.random_range(-60..60), self.random.random_range(-60..60));
                format!("{} IN ({a}, {b}, NULL, 7)", self.pick(&NUMBERS))
            }
            5 => {
                let columns = [NUMBERS.as_slice(), STRINGS.as_slice(), TIMES.as_slice()].concat();
                format!("{} IS {}NULL", self.pick(&columns), if self.random.random_bool(0.5) { "NOT " } else { "" })
            }
            6 => format!("{} LIKE '{}'", self.pick(&["s", "c"]), self.pick(&["a%", "%b%", "_bc", "A_C%", "%", "10%"])),
            7 => format!("id {operator} {}", self.random.random_range(0..200)),
            8 => format!("({} AND {})", self.condition(depth - 1), self.condition(depth - 1)),
            9 => format!("({} OR {})", self.condition(depth - 1), self.condition(depth - 1)),
            _ => format!("NOT ({})", self.condition(depth - 1)),
        }
    }

    fn select(&mut self) -> String {
        let condition = self.condition(2);
        match self.random.random_range(0..8) {
            0 => format!("SELECT id, {}, {} FROM r1 WHERE {condition} ORDER BY id", self.numeric(2), self.text(2)),
            1 => format!("SELECT * FROM r1 WHERE {condition} ORDER BY id"),
            2 => {
                // Of strings that are equal without being the same ('a', 'A'), any may stand for the group.
                let key = self.pick(&["i", "y", "e", "da", "u"]);
                let argument = self.pick(&NUMBERS[..4]);
                format!(
                    "SELECT {key}, COUNT(*), COUNT({argument}), SUM(i), MIN(d), MAX(LOWER(TRIM(s))), AVG(u) FROM r1 WHERE {condition} GROUP BY {key} HAVING COUNT(*) > {}",
                    self.random.random_range(0..3)
                )
            }
            3 => format!("SELECT DISTINCT {}, e FROM r1 WHERE {condition}", self.pick(&["i", "u", "da"])),
            4 => {
                let order = self.pick(&["i", "u", "d", "dt", "da", "ti", "y", "i DESC", "d DESC, i"]);
                format!(
                    "SELECT id, i, d FROM r1 WHERE {condition} ORDER BY {order}, id LIMIT {}",
                    self.random.random_range(0..20)
                )
            }
            5 => format!(
                "SELECT COUNT(*), SUM({}), MIN(dt), MAX(ti) FROM r1 WHERE {condition}",
                self.pick(&["i", "d", "u", "y"])
            ),
            6 => {
                let join = self.pick(&["JOIN", "LEFT JOIN"]);
                let on = self.pick(&["r1.i = r2.k", "r1.id = r2.k", "r1.id = r2.id", "r1.u = r2.k"]);
                format!(
                    "SELECT r1.id, r1.i, r2.id, r2.v FROM r1 {join} r2 ON {on} WHERE r1.id < {} ORDER BY r1.id, r2.id",
                    self.random.random_range(1..200)
                )
            }
            _ => format!(
                "SELECT id FROM r1 WHERE {} {condition} ORDER BY id DESC LIMIT 15",
                self.pick(&["", "i > 3 AND ", "d < 50 AND ", "s >= 'a' AND "])
            ),
        }
    }

    fn change(&mut self) -> String {
        let condition = self.condition(1);
        match self.random.random_range(0..6) {
            0 | 1 => {
                let values: Vec<String> = (0..self.random.random_range(1..4)).map(|_| self.row()).collect();
                format!("INSERT INTO r1 (i, u, d, f, s, c, b, e, y, dt, da, ti) VALUES {}", values.join(", "))
            }
            2 => format!(
                "UPDATE r1 SET i = i + 1, s = {} WHERE {condition} ORDER BY id LIMIT {}",
                self.string(),
                self.random.random_range(1..6)
            ),
            3 => format!(
                "UPDATE r1 SET d = {}, u = {} WHERE id = {}",
                self.random.random_range(-9..9),
                self.random.random_range(0..40),
                self.random.random_range(0..200)
            ),
            4 => format!("DELETE FROM r1 WHERE {condition} ORDER BY id LIMIT 2"),
            _ => format!(
                "INSERT INTO r2 (id, k, v) VALUES ({}, {}, {}) ON DUPLICATE KEY UPDATE v = CONCAT(v, 'x'), k = VALUES(k)",
                self.random.random_range(1..60),
                self.random.random_range(0..60),
                self.random.random_range(0..9)
            ),
        }
    }

    fn row(&mut self) -> String {
        let small = |author: &mut Author| match author.random.random_range(0..6) {
            0 => "NULL".to_string(),
            _ => author.random.random_range(-50..50).to_string(),
        };
        let i = small(self);
        let d = small(self);
        let u = self.random.random_range(0..100);
        let f = f64::from(self.random.random_range(-400..400)) / 8.0;
        let (s, c) = (self.string(), self.string());
        let b = self.pick(&["'x'", "'xy'", "NULL", "X'00FF'"]);
        let e = self.pick(&["'red'", "'green'", "'blue'", "NULL"]);
        let y = self.random.random_range(1990..2030);
        let (day, hour) = (self.random.random_range(1..29), self.random.random_range(0..24));
        format!(
            "({i}, {u}, {d}, {f}, {s}, {c}, {b}, {e}, {y}, '{y}-03-{day:02} {hour:02}:07:09', '{y}-11-{day:02}', '{hour}:59:{day:02}.125')"
        )
    }
}

const TABLES: [&str; 2] = [
    "CREATE TABLE r1 (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, i INT, u BIGINT UNSIGNED, d DECIMAL(10,3), f DOUBLE, \
     s VARCHAR(20), c CHAR(10), b VARBINARY(16), e ENUM('red','green','blue'), y YEAR, dt DATETIME, da DATE, ti TIME(3), \
     KEY (i), KEY (s), KEY (d, i), KEY (u, da), KEY (dt)) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "CREATE TABLE r2 (id INT NOT NULL PRIMARY KEY, k INT, v VARCHAR(50), KEY (k))",
];

/// The seed, and how many statements to write.
fn asked_for() -> (u64, usize) {
    let given = ["ORACLE_SEED", "GLASSINE_SEED"].into_iter().find_map(|name| std::env::var(name).ok());
    let seed = given
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs());
    println!("ORACLE_SEED={seed}");
    (seed, std::env::var("ORACLE_STATEMENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(4000))
}

/// Windows, set operations, rollups, recursion, changes of joined tables. After a change the tables are compared, too.
#[test]
fn random_queries_are_answered_as_by_mariadb() {
    let Some(mut pair) = pair("oracle-queries") else { return };
    let (seed, count) = asked_for();
    let count = count / 4; // They take longer than others.
    let mut author = queries::Author::new(seed);
    let mut different = Vec::new();
    let (mut same, mut unsupported) = (0, Vec::new());
    // A change that only one server made: what the tables answer until they are new says nothing.
    let mut apart = false;
    for number in 0..count {
        let mut statements = Vec::new();
        if number % 100 == 0 {
            apart = false;
            statements.push("DROP TABLE IF EXISTS p, q".to_owned());
            statements.extend(queries::TABLES.map(str::to_owned));
            statements.extend(["p", "q"].map(|table| author.rows(table)));
        }
        let (statement, changes) = author.statement();
        statements.push(statement);
        if changes {
            statements.extend(["p", "q"].map(|table| format!("SELECT * FROM {table} ORDER BY id")));
        }
        for statement in statements {
            match pair.compare(&statement) {
                Verdict::Same => same += 1,
                Verdict::Unsupported => unsupported.push(statement),
                Verdict::Different(how) if took_too_long(&how) => apart |= changes,
                Verdict::Different(_) if apart => {}
                Verdict::Different(how) => different.push(format!("{statement}\n{how}")),
            }
        }
        if different.len() >= 40 {
            break;
        }
    }
    println!("{same} statements agree");
    assert!(unsupported.is_empty(), "seed {seed}: not supported:\n{}", unsupported.join("\n"));
    assert!(different.is_empty(), "seed {seed}: {} statements differ:\n\n{}", different.len(), different.join("\n\n"));
}

#[test]
fn random_statements_are_answered_as_by_mariadb() {
    let Some(mut pair) = pair("oracle-random") else { return };
    let (seed, count) = asked_for();
    for table in TABLES {
        pair.ours.query(table).expect("our table");
        pair.oracle.query(table).expect("the oracle's table");
    }
    let mut author = Author { random: StdRng::seed_from_u64(seed) };
    let (mut same, mut unsupported, mut different) = (0, 0, Vec::new());
    for number in 0..count {
        let statement = if number < 60 || author.random.random_bool(0.3) { author.change() } else { author.select() };
        match pair.compare(&statement) {
            Verdict::Same => same += 1,
            Verdict::Unsupported => unsupported += 1,
            Verdict::Different(how) if took_too_long(&how) => {}
            Verdict::Different(how) => different.push(format!("{statement}\n{how}")),
        }
        if different.len() >= 40 {
            break;
        }
    }
    println!("{same} statements agree, {unsupported} not supported yet");
    assert!(different.is_empty(), "seed {seed}: {} statements differ:\n\n{}", different.len(), different.join("\n\n"));
    assert!(unsupported * 20 < same, "{unsupported} of the random statements are not supported");
}

/// Geometries as they are stored, what is read from them, and what is computed in the plane.
#[test]
fn random_geometries_are_answered_as_by_mariadb() {
    let Some(mut pair) = pair("oracle-geometries") else { return };
    let (seed, count) = asked_for();
    let mut author = geometries::Author::new(seed);
    let (mut same, mut known, mut different) = (0, 0, Vec::new());
    for statement in author.statements(count / 4) {
        match pair.compare(&statement) {
            Verdict::Same => same += 1,
            Verdict::Unsupported => different.push(format!("not supported: {statement}")),
            Verdict::Different(how) if took_too_long(&how) => {}
            Verdict::Different(_) if pair.oracle_contradicts_its_areas(&statement) => known += 1,
            Verdict::Different(how) => different.push(format!("{statement}\n{how}")),
        }
        if different.len() >= 40 {
            break;
        }
    }
    println!("{same} statements agree, {known} times MariaDB contradicts itself");
    assert!(known * 50 < same, "seed {seed}: MariaDB contradicts itself {known} times, too often to be believed");
    assert!(different.is_empty(), "seed {seed}: {} statements differ:\n\n{}", different.len(), different.join("\n\n"));
}

/// How many statements a set of random tables serves.
const STATEMENTS_PER_SCHEMA: usize = 60;

/// Random schemas of all types, six tables, whatever a query can hold. Each query is asked a second time by EXECUTE, and
/// after a change the whole table is compared.
#[test]
fn statements_over_random_schemas_are_answered_as_by_mariadb() {
    let Some(mut pair) = pair("oracle-schemas") else { return };
    let (seed, count) = asked_for();
    let count = count / 2;
    let (mut same, mut different, mut known) = (0, Vec::new(), 0);
    let (mut author, mut schema) = (statements::Author::new(seed), seed);
    let (mut crashes, mut contradictions, mut slow) = (0, 0, 0);
    let (mut left, mut history) = (0, Vec::new());
    for number in 0..count {
        if left == 0 {
            schema = seed.wrapping_add(number as u64);
            author = statements::Author::new(schema);
            left = STATEMENTS_PER_SCHEMA;
            history.clear();
            for statement in author.schema() {
                history.push(statement.clone());
                pair.ours.query(&statement).unwrap_or_else(|error| panic!("ours: {statement}: {error}"));
                pair.oracle.query(&statement).unwrap_or_else(|error| panic!("the oracle: {statement}: {error}"));
            }
        }
        left -= 1;
        let changes = number % 5 == 4;
        let (statement, then) = if changes {
            let (change, table) = author.change();
            (change, format!("SELECT * FROM {table} ORDER BY id"))
        } else {
            (author.query(), String::new())
        };
        let mut verdict = pair.compare(&statement);
        if matches!(&verdict, Verdict::Different(how) if took_too_long(how)) {
            // A join of everything with everything takes MariaDB minutes. A change that it did not make is on our side only.
            slow += 1;
            left = if changes { 0 } else { left };
            continue;
        }
        if changes {
            history.push(statement.clone());
        }
        if changes && matches!(verdict, Verdict::Same) {
            verdict = pair.compare(&then);
        }
        if !changes && matches!(verdict, Verdict::Same) {
            verdict = pair.prepared(&statement);
        }
        match verdict {
            Verdict::Same => same += 1,
            Verdict::Unsupported => different.push(format!("schema {schema}: not supported: {statement}")),
            // Queries that end MariaDB.
            Verdict::Different(how) if how.contains("oracle: connection:") => {
                crashes += 1;
                drop(pair);
                let Some(another) = self::pair("oracle-schemas") else { return };
                pair = another;
                left = 0;
            }
            Verdict::Different(how) if statements::is_known(&how) => known += 1,
            Verdict::Different(_) if !changes && pair.oracle_contradicts_itself(&statement) => contradictions += 1,
            Verdict::Different(how) => {
                // What leads to the difference, for a client of either server.
                let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("oracle-{schema}.sql"));
                fs::write(&file, history.join(";\n") + ";\n").expect("the statements so far");
                different.push(format!("behind {}: {statement}\n{how}", file.display()));
            }
        }
        if different.len() >= 40 {
            break;
        }
    }
    println!(
        "{same} statements agree, {known} differ as is known, {contradictions} where MariaDB contradicts itself, {crashes} \
         ended it, {slow} took it too long"
    );
    assert!(different.is_empty(), "seed {seed}: {} statements differ:\n\n{}", different.len(), different.join("\n\n"));
}
