//! A model of privileges, seen from outside: random accounts get random grants on Glassine and on MariaDB, and run random
//! statements. What one server allows the other allows; what one denies the other denies.
//!
//! Grants are of the privileges that both know, at the levels of the server, of databases (some by a pattern), tables,
//! views, columns and routines, some taken back again; some by way of roles, which an account sets itself or has by
//! default, and which have other roles. Statements name existing and missing tables, and columns alone, in joins,
//! subqueries and derived tables; views and routines that run with the rights of who made them or of who uses them;
//! triggers and events. A statement that is allowed may fail for another reason; that counts as allowed.
//!
//! Where MySQL, which Glassine follows, and MariaDB differ, the statements leave the difference out: SELECT ... FOR UPDATE,
//! SET GLOBAL, SHOW of logs, ANALYZE and its kin.

mod statements;

use std::fmt;
use std::io;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Error, Login};
use crate::process::{Kind, Options, Scratch, Server};
use crate::random::Random;
use statements::{ROLES, USERS, objects};

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Statements, each run on both servers.
    #[arg(long, default_value_t = 10_000)]
    pub cases: u32,
    #[arg(long)]
    pub seed: Option<u64>,
}

/// The errors that mean: you may not. Of a view that reads what one may not read, both say that it is invalid (1356); a
/// role that one does not have is 3530 here and 1959 there.
const DENIED: [u16; 12] = [1044, 1045, 1095, 1142, 1143, 1227, 1345, 1356, 1370, 1410, 1959, 3530];

/// Statements between two sets of grants.
const STATEMENTS_PER_ROUND: u32 = 25;

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
    let functions = ["SET GLOBAL log_bin_trust_function_creators = ON".to_owned()];
    for root in &mut roots {
        run_all(root, &functions)?;
    }
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

fn round(
    random: &mut Random,
    servers: [&Server; 2],
    roots: &mut [Client; 2],
    most: u32,
    outcome: &mut Outcome,
) -> io::Result<u32> {
    let mut statements = objects();
    for user in USERS {
        statements.push(format!("DROP USER IF EXISTS {user}@localhost"));
        statements.push(format!("CREATE USER {user}@localhost"));
    }
    for role in ROLES {
        statements.push(format!("DROP ROLE IF EXISTS {role}"));
        statements.push(format!("CREATE ROLE {role}"));
        statements.extend((0..random.0.random_range(1..6)).map(|_| random.grant(role)));
    }
    if random.chance(30) {
        statements.push(format!("GRANT {} TO {}", ROLES[0], ROLES[1]));
    }
    for root in roots.iter_mut() {
        run_all(root, &statements)?;
    }
    for user in &USERS[..2] {
        hand_out_roles(random, roots, user)?;
        for _ in 0..random.0.random_range(4..14) {
            let grant = random.grant(&format!("{user}@localhost"));
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
        let role = random.chance(30).then(|| random.pick(&["r0", "r1", "NONE"]));
        let mut codes = [None, None];
        for (server, code_of) in servers.iter().zip(&mut codes) {
            let login = Login { user, ..Login::default() };
            let mut client =
                Client::log_in(&server.socket, &login).map_err(|error| io::Error::other(error.to_string()))?;
            if let Some(role) = role {
                // Whether the account has it is a case of its own.
                let _ = client.query(&format!("SET ROLE {role}"));
            }
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
        let defines = ["CREATE ", "ALTER", "RENAME", "DROP "].iter().any(|verb| statement.starts_with(verb));
        if codes.contains(&None) && defines {
            for root in roots.iter_mut() {
                run_all(root, &objects())?;
            }
        }
    }
    Ok(count)
}

/// Roles for an account, some of them by default: the statement for that is another one on each server.
fn hand_out_roles(random: &mut Random, roots: &mut [Client; 2], user: &str) -> io::Result<()> {
    for role in ROLES {
        if !random.chance(50) {
            continue;
        }
        let is_default = random.chance(50);
        for (root, word) in roots.iter_mut().zip(["TO", "FOR"]) {
            let mut statements = vec![format!("GRANT {role} TO {user}@localhost")];
            if is_default {
                statements.push(format!("SET DEFAULT ROLE {role} {word} {user}@localhost"));
            }
            run_all(root, &statements)?;
        }
    }
    Ok(())
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
    for role in ROLES {
        let answer = roots[0].query(&format!("SHOW GRANTS FOR {role}"));
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
