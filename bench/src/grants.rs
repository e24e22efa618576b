//! A model of privileges, seen from outside: random accounts get random grants on Glassine and on MariaDB, and run random
//! statements. What one server allows the other allows; what one denies the other denies.
//!
//! Grants are of the privileges that both know, at the levels of the server, of databases (some by a pattern), tables and
//! columns, some taken back again. Statements name existing and missing tables, and columns alone, in joins, subqueries
//! and derived tables. A statement that is allowed may fail for another reason; that counts as allowed.
//!
//! Where MySQL, which Glassine follows, and MariaDB differ, the statements leave the difference out: SELECT ... FOR UPDATE,
//! SET GLOBAL, SHOW of logs, ANALYZE and its kin.

use std::fmt;
use std::io;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Error, Login};
use crate::process::{Kind, Options, Scratch, Server};
use crate::random::Random;

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Statements, each run on both servers.
    #[arg(long, default_value_t = 10_000)]
    pub cases: u32,
    #[arg(long)]
    pub seed: Option<u64>,
}

/// The errors that mean: you may not.
const DENIED: [u16; 8] = [1044, 1045, 1095, 1142, 1143, 1227, 1370, 1410];

/// Accounts that get grants; the last one has none and gets some from the others.
const USERS: [&str; 3] = ["u0", "u1", "u2"];
/// Statements between two sets of grants.
const STATEMENTS_PER_ROUND: u32 = 25;

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
];
const TABLE: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "REFERENCES", "INDEX", "ALTER"];
const COLUMN: &[&str] = &["SELECT", "INSERT", "UPDATE", "REFERENCES"];
const DATABASES: [&str; 3] = ["gone", "gtwo", "other"];
/// No two of them are as specific: which one counts then is not said.
const PATTERNS: [&str; 4] = ["go%", "g%", "gt_o", "oth\\_r"];

/// A statement that the servers treat differently.
#[derive(Debug, Clone)]
pub struct Difference {
    pub user: String,
    pub statement: String,
    /// Error codes of Glassine and of MariaDB; `None` = it was done.
    pub codes: [Option<u16>; 2],
    /// What the account had been granted.
    pub grants: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [own, peer] = self.codes;
        writeln!(f, "{}: {}\n  Glassine {own:?}, MariaDB {peer:?}", self.user, self.statement)?;
        self.grants.iter().try_for_each(|grant| writeln!(f, "  {grant}"))
    }
}

impl Difference {
    /// Why the servers are to differ, if they are.
    pub fn explanation(&self) -> Option<&'static str> {
        let has = |text: &str| self.statement.contains(text);
        // What is granted globally and says nothing of tables.
        let administrates = || self.grants.iter().any(|grant| grant.contains("PROCESS") || grant.contains("RELOAD"));
        match self.codes {
            // Both refuse: whoever may read the database is told which table is missing.
            [Some(1146), Some(_)] | [Some(_), Some(1146)] => Some("a table that is missing"),
            [_, Some(1143)] if has("ON DUPLICATE KEY UPDATE") => Some("MariaDB asks for SELECT on what is assigned"),
            [Some(1143), None] if has("ON DUPLICATE KEY UPDATE") => {
                Some("MariaDB lets a column be assigned where UPDATE is granted on another one")
            }
            [Some(1143), Some(1364)] => Some("both refuse: MariaDB misses the value before it looks at columns"),
            [Some(1142 | 1143), None] if has("FOREIGN KEY") => Some("MySQL asks for REFERENCES on the parent"),
            // The same statement is allowed when the connection runs it a second time.
            [None, Some(1142)] if has("FOREIGN KEY") => Some("MariaDB has not loaded the grants on the parent"),
            [Some(1044 | 1142), None] if has("SHOW") && administrates() => {
                Some("MariaDB shows it for any global privilege")
            }
            [Some(1143), None] if has("USING") => Some("MariaDB does not check the right column of USING"),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub allowed: u32,
    pub denied: u32,
    /// Both denied it, with other codes.
    pub other_codes: u32,
    /// They differ, and are to.
    pub explained: u32,
    pub differences: Vec<Difference>,
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

    fn grant(&mut self, user: &str) -> String {
        let option = if self.chance(20) { " WITH GRANT OPTION" } else { "" };
        match self.0.random_range(0..10) {
            0..=1 => format!("GRANT {} ON *.* TO {user}@localhost{option}", self.some(GLOBAL, 3)),
            2..=4 => {
                let on = if self.chance(30) { self.pick(&PATTERNS) } else { self.pick(&DATABASES) };
                let all = self.chance(30);
                let what = if all { "ALL".to_owned() } else { self.some(DATABASE, 4) };
                format!("GRANT {what} ON `{on}`.* TO {user}@localhost{option}")
            }
            5..=7 => format!("GRANT {} ON {} TO {user}@localhost{option}", self.some(TABLE, 4), self.table()),
            _ => {
                let columns = self.some(&["a", "b", "c"], 2);
                format!("GRANT {} ({columns}) ON {} TO {user}@localhost", self.pick(COLUMN), self.table())
            }
        }
    }

    fn revoke(&mut self, user: &str) -> String {
        match self.0.random_range(0..3) {
            0 => format!("REVOKE {} ON *.* FROM {user}@localhost", self.some(GLOBAL, 2)),
            1 => format!("REVOKE {} ON {}.* FROM {user}@localhost", self.some(DATABASE, 3), self.pick(&DATABASES)),
            _ => format!("REVOKE {} ON {} FROM {user}@localhost", self.some(TABLE, 3), self.table()),
        }
    }

    fn statement(&mut self) -> String {
        let t = self.any_table();
        let s = self.table();
        let c = self.pick(&["a", "b", "c"]);
        let d = self.pick(&["a", "b", "c"]);
        let database = self.pick(&DATABASES);
        let other = self.pick(&USERS);
        match self.0.random_range(0..46) {
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
            44 => format!("GRANT {} ON {s} TO {other}@localhost", self.some(TABLE, 2)),
            _ => format!("GRANT {} ON {database}.* TO {other}@localhost", self.some(DATABASE, 2)),
        }
    }
}

fn code(answer: &Result<crate::client::Answer, Error>) -> io::Result<Option<u16>> {
    match answer {
        Ok(_) => Ok(None),
        Err(error) => match error.code() {
            Some(code) => Ok(Some(code)),
            None => Err(io::Error::other(error.to_string())),
        },
    }
}

fn run_all(root: &mut Client, statements: &[String]) -> io::Result<()> {
    for statement in statements {
        root.query(statement).map_err(|error| io::Error::other(format!("{statement}: {error}")))?;
    }
    Ok(())
}

/// Plays the cases; the servers' answers, compared.
pub fn play(arguments: &Arguments) -> io::Result<(u64, Outcome)> {
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let scratch = Scratch::new("grants")?;
    let own = Server::create(Kind::Glassine, &scratch.0.join("glassine"), &Options::default())?;
    let peer = Server::create(Kind::MariaDb, &scratch.0.join("mariadb"), &Options::default())?;
    let mut roots = [root(&own)?, root(&peer)?];
    let mut random = Random(StdRng::seed_from_u64(seed));
    let mut outcome = Outcome::default();
    let mut done = 0;
    while done < arguments.cases {
        done += round(&mut random, [&own, &peer], &mut roots, arguments.cases - done, &mut outcome)?;
    }
    Ok((seed, outcome))
}

fn root(server: &Server) -> io::Result<Client> {
    server.connect().map_err(|error| io::Error::other(error.to_string()))
}

fn tables() -> Vec<String> {
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
    }
    statements
}

fn round(
    random: &mut Random,
    servers: [&Server; 2],
    roots: &mut [Client; 2],
    most: u32,
    outcome: &mut Outcome,
) -> io::Result<u32> {
    let mut statements = tables();
    for user in USERS {
        statements.push(format!("DROP USER IF EXISTS {user}@localhost"));
        statements.push(format!("CREATE USER {user}@localhost"));
    }
    for root in roots.iter_mut() {
        run_all(root, &statements)?;
    }
    for user in &USERS[..2] {
        for _ in 0..random.0.random_range(6..16) {
            let grant = random.grant(user);
            for root in roots.iter_mut() {
                run_all(root, std::slice::from_ref(&grant))?;
            }
        }
        if random.chance(30) {
            // Taking back what was never given is an error on both, or on neither.
            let revoke = random.revoke(user);
            let codes = [code(&roots[0].query(&revoke))?, code(&roots[1].query(&revoke))?];
            if codes[0].is_some() != codes[1].is_some() {
                note(outcome, roots, "root", &revoke, codes)?;
            }
        }
    }
    let count = STATEMENTS_PER_ROUND.min(most);
    for _ in 0..count {
        // The account without grants is mostly denied: it comes seldom.
        let user = if random.chance(10) { USERS[2] } else { random.pick(&USERS[..2]) };
        let statement = random.statement();
        let mut codes = [None, None];
        for (server, code_of) in servers.iter().zip(&mut codes) {
            let login = Login { user, ..Login::default() };
            let mut client =
                Client::log_in(&server.socket, &login).map_err(|error| io::Error::other(error.to_string()))?;
            *code_of = code(&client.query(&statement))?;
        }
        let denied = codes.map(|code| code.is_some_and(|code| DENIED.contains(&code)));
        match (denied[0] == denied[1], denied[0]) {
            (true, true) => {
                outcome.denied += 1;
                outcome.other_codes += u32::from(codes[0] != codes[1]);
            }
            (true, false) => outcome.allowed += 1,
            (false, _) => note(outcome, roots, user, &statement, codes)?,
        }
        // What was created or renamed is as before.
        if codes.contains(&None) && ["CREATE TABLE", "ALTER", "RENAME"].iter().any(|verb| statement.starts_with(verb)) {
            for root in roots.iter_mut() {
                run_all(root, &tables())?;
            }
        }
    }
    Ok(count)
}

fn note(
    outcome: &mut Outcome,
    roots: &mut [Client; 2],
    user: &str,
    statement: &str,
    codes: [Option<u16>; 2],
) -> io::Result<()> {
    let mut grants = Vec::new();
    for root in roots.iter_mut() {
        let answer = root.query(&format!("SHOW GRANTS FOR {user}@localhost"));
        let answer = answer.map_err(|error| io::Error::other(error.to_string()))?;
        grants.extend(answer.rows.into_iter().flatten().flatten());
    }
    let (user, statement) = (user.to_owned(), statement.to_owned());
    let difference = Difference { user, statement, codes, grants };
    match difference.explanation() {
        Some(_) => outcome.explained += 1,
        None => outcome.differences.push(difference),
    }
    Ok(())
}

/// `bench grants`
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let (seed, outcome) = play(arguments)?;
    println!(
        "seed {seed}: {} allowed, {} denied ({} of them with other codes); {} differ",
        outcome.allowed,
        outcome.denied,
        outcome.other_codes,
        outcome.differences.len()
    );
    for difference in outcome.differences.iter().take(40) {
        print!("{difference}");
    }
    match outcome.differences.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other("the servers differ")),
    }
}
