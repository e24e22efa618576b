//! A model of privileges, seen from outside: random accounts get random grants on Glassine and on MariaDB, and run random
//! statements. What one server allows the other allows; what one denies the other denies; what one tells of the databases
//! the other tells.
//!
//! Grants are of the privileges that both know, at the levels of the server, of databases (some by a pattern), tables,
//! views, columns and routines, some taken back again; some by way of roles, which an account sets itself or has by
//! default, and which have other roles. Statements name existing and missing tables, and columns in every clause; views and
//! routines that run with the rights of who made them, of who uses them, or of somebody who has few; triggers and events. A
//! statement that is allowed may fail for another reason; that counts as allowed.
//!
//! A case leaves nothing behind: its rows are rolled back, and what it defines is undone, so that the next one finds what
//! this one found. Each round has new accounts, roles and grants.
//!
//! Where MySQL, which Glassine follows, and MariaDB are to differ, a rule says so ([`differences`]).

mod differences;
mod objects;
mod statements;

use std::io;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::client::{Client, Login};
use crate::process::{Kind, Options, Scratch, Server};
use crate::random::Random;
pub use differences::Difference;
use differences::Verdict;
use objects::{ROLES, USERS, objects};

#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// Statements, each run on both servers.
    #[arg(long, default_value_t = 10_000)]
    pub cases: u32,
    #[arg(long)]
    pub seed: Option<u64>,
    /// Shows the differences that a rule explains, too.
    #[arg(long)]
    pub verbose: bool,
}

/// Statements between two sets of grants.
const STATEMENTS_PER_ROUND: u32 = 25;

#[derive(Debug, Default)]
pub struct Outcome {
    pub allowed: u32,
    pub denied: u32,
    /// Both denied it, with other codes.
    pub other_codes: u32,
    /// They differ, and are to.
    pub explained: Vec<(&'static str, Difference)>,
    pub differences: Vec<Difference>,
}

impl Outcome {
    /// How often each rule explained a difference.
    pub fn explanations(&self) -> Vec<(&'static str, usize)> {
        let mut rules: Vec<&str> = self.explained.iter().map(|(rule, _)| *rule).collect();
        rules.sort_unstable();
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for rule in rules {
            match counts.last_mut() {
                Some((last, count)) if *last == rule => *count += 1,
                _ => counts.push((rule, 1)),
            }
        }
        counts
    }
}

fn failed(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
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
    // Nothing here needs to survive.
    let options = Options { flush_at_commit: 0, ..Options::default() };
    let servers = [
        Server::create(Kind::Glassine, &scratch.0.join("glassine"), &options)?,
        Server::create(Kind::MariaDb, &scratch.0.join("mariadb"), &options)?,
    ];
    let [own, peer] = &servers;
    let roots = [own.connect().map_err(failed)?, peer.connect().map_err(failed)?];
    let mut game = Game { random: Random(StdRng::seed_from_u64(seed)), servers, roots, outcome: Outcome::default() };
    game.all(&["SET GLOBAL log_bin_trust_function_creators = ON".to_owned()])?;
    game.all(&accounts())?;
    game.all(&objects())?;
    let mut done = 0;
    while done < arguments.cases {
        done += game.round(arguments.cases - done)?;
    }
    Ok((seed, game.outcome))
}

/// Accounts and roles without any grants.
fn accounts() -> Vec<String> {
    let users = USERS.map(|user| format!("{user}@localhost")).join(", ");
    let mut statements = vec![format!("DROP USER IF EXISTS {users}"), format!("CREATE USER {users}")];
    for role in ROLES {
        statements.push(format!("DROP ROLE IF EXISTS {role}"));
        statements.push(format!("CREATE ROLE {role}"));
    }
    statements
}

struct Game {
    random: Random,
    servers: [Server; 2],
    roots: [Client; 2],
    outcome: Outcome,
}

impl Game {
    fn all(&mut self, statements: &[String]) -> io::Result<()> {
        self.roots.iter_mut().try_for_each(|root| run_all(root, statements))
    }

    fn round(&mut self, most: u32) -> io::Result<u32> {
        self.hand_out()?;
        let count = STATEMENTS_PER_ROUND.min(most);
        for done in 1..=count {
            if !self.case()? {
                return Ok(done);
            }
        }
        Ok(count)
    }

    /// New accounts, roles and grants.
    fn hand_out(&mut self) -> io::Result<()> {
        let random = &mut self.random;
        // With an active role MySQL puts what is granted on databases together before it looks for the most specific name;
        // MariaDB looks among each role's. So accounts have patterns or roles.
        let patterns = random.chance(30);
        let mut statements = accounts();
        for role in ROLES {
            statements.extend((0..random.0.random_range(1..6)).map(|_| random.grant(role, false)));
        }
        if random.chance(30) {
            statements.push(format!("GRANT {} TO {}", ROLES[0], ROLES[1]));
        }
        for (user, grants) in USERS.iter().zip([4..14, 4..14, 1..5]) {
            let name = format!("{user}@localhost");
            statements.extend((0..random.0.random_range(grants)).map(|_| random.grant(&name, patterns)));
        }
        self.all(&statements)?;
        for user in &USERS[..2] {
            if !patterns {
                self.hand_out_roles(user)?;
            }
            if self.random.chance(30) {
                // Taking back what was never given is an error on both, or on neither.
                let revoke = self.random.revoke(user);
                let verdicts = self.roots.each_mut().map(|root| Verdict::of(&revoke, root.query(&revoke)));
                let verdicts = both(verdicts)?;
                if verdicts[0].is_done() != verdicts[1].is_done() {
                    self.note("root", &revoke, verdicts)?;
                }
            }
        }
        Ok(())
    }

    /// Roles for an account, some of them by default: the statement for that is another one on each server.
    fn hand_out_roles(&mut self, user: &str) -> io::Result<()> {
        for role in ROLES {
            if !self.random.chance(50) {
                continue;
            }
            let is_default = self.random.chance(50);
            for (root, word) in self.roots.iter_mut().zip(["TO", "FOR"]) {
                let mut statements = vec![format!("GRANT {role} TO {user}@localhost")];
                if is_default {
                    statements.push(format!("SET DEFAULT ROLE {role} {word} {user}@localhost"));
                }
                run_all(root, &statements)?;
            }
        }
        Ok(())
    }

    /// One statement on both servers. False: the accounts are not the same any more.
    fn case(&mut self) -> io::Result<bool> {
        let random = &mut self.random;
        // The account with few grants is mostly denied: it comes seldom.
        let user = if random.chance(10) { USERS[2] } else { random.pick(&USERS[..2]) };
        let case = random.case();
        let role = random.chance(30).then(|| random.pick(&["r0", "r1", "NONE"]));
        let verdicts = self.servers.each_ref().map(|server| -> io::Result<Verdict> {
            let login = Login { user, ..Login::default() };
            let mut client = Client::log_in(&server.socket, &login).map_err(failed)?;
            client.query("SET autocommit = 0").map_err(failed)?;
            if let Some(role) = role {
                // Whether the account has it is a case of its own.
                let _ = client.query(&format!("SET ROLE {role}"));
            }
            Verdict::of(&case.text, client.query(&case.text))
        });
        let verdicts = both(verdicts)?;
        for (root, verdict) in self.roots.iter_mut().zip(&verdicts) {
            if verdict.is_done() {
                run_all(root, &case.undo)?;
            }
        }
        let denied = [verdicts[0].is_denied(), verdicts[1].is_denied()];
        let differ = denied[0] != denied[1] || case.tells && verdicts[0].rows() != verdicts[1].rows();
        let diverges = case.text.starts_with("GRANT") && verdicts[0].is_done() != verdicts[1].is_done();
        match (differ, denied[0]) {
            (false, true) => {
                self.outcome.denied += 1;
                self.outcome.other_codes += u32::from(verdicts[0].code() != verdicts[1].code());
            }
            (false, false) => self.outcome.allowed += 1,
            (true, _) => self.note(user, &case.text, verdicts)?,
        }
        Ok(!diverges)
    }

    fn note(&mut self, user: &str, statement: &str, verdicts: [Verdict; 2]) -> io::Result<()> {
        let [own, peer] = &mut self.roots;
        let mut grants = Vec::new();
        let names = USERS.map(|user| format!("{user}@localhost"));
        for name in names.iter().map(String::as_str).chain(ROLES) {
            let answer = own.query(&format!("SHOW GRANTS FOR {name}")).map_err(failed)?;
            grants.extend(answer.rows.into_iter().flatten().flatten());
        }
        if user != "root" {
            let answer = peer.query(&format!("SHOW GRANTS FOR {user}@localhost")).map_err(failed)?;
            grants.extend(answer.rows.into_iter().flatten().flatten().map(|grant| format!("MariaDB: {grant}")));
        }
        let (user, statement) = (user.to_owned(), statement.to_owned());
        let difference = Difference { user, statement, verdicts, grants };
        match difference.explanation() {
            Some(rule) => self.outcome.explained.push((rule, difference)),
            None => self.outcome.differences.push(difference),
        }
        Ok(())
    }
}

fn both(verdicts: [io::Result<Verdict>; 2]) -> io::Result<[Verdict; 2]> {
    let [own, peer] = verdicts;
    Ok([own?, peer?])
}

/// `bench grants`
pub fn run(arguments: &Arguments) -> io::Result<()> {
    let (seed, outcome) = play(arguments)?;
    println!(
        "seed {seed}: {} allowed, {} denied ({} of them with other codes), {} explained; {} differ",
        outcome.allowed,
        outcome.denied,
        outcome.other_codes,
        outcome.explained.len(),
        outcome.differences.len()
    );
    for (rule, count) in outcome.explanations() {
        println!("{count:6} {rule}");
    }
    if arguments.verbose {
        for (rule, difference) in &outcome.explained {
            print!("{rule}: {difference}");
        }
    }
    for difference in outcome.differences.iter().take(40) {
        print!("{difference}");
    }
    match outcome.differences.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other("the servers differ")),
    }
}
