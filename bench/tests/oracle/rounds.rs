//! Rounds of statements that define and change tables, each run on both servers.
//!
//! A round begins without tables and has a seed of its own, so `ORACLE_SEED` with the seed of a failure makes it the first
//! one. After the first difference the two servers have different tables: the round ends.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;

use bench::client::{Answer, Client, Error};
use regex::Regex;

use super::{Pair, Verdict, asked_for, difference, pair, show, took_too_long};

/// What both servers made of a statement.
pub enum Outcome {
    Done(Answer),
    Refused,
    /// They differ, or the round is over for a reason that is known.
    Apart,
}

/// Whether a difference is explained: by the statement, how the answers differ, and the last statement that changed
/// something.
pub type Known = fn(&str, &str, &str) -> bool;

pub struct Round<'p> {
    pair: &'p mut Pair,
    statements: Vec<String>,
    pub same: usize,
    refused: usize,
    /// A difference that is explained ended the round.
    known: bool,
    different: Option<String>,
    is_known: Known,
}

/// Numbers with which MySQL and MariaDB refuse the same thing, ours first.
const SAME_REFUSALS: &[(u16, u16)] = &[
    // MariaDB says of most things that are wrong with a foreign key: cannot create the table.
    (1215, 1005),
    (1822, 1005),
    (1824, 1005),
    (1825, 1005),
    (1826, 1005),
    (1830, 1005),
    (3780, 1005),
    (1072, 1005),
    (3104, 1005),
    (1215, 1901),
    (1215, 1905),
    (3104, 1905),
    (1822, 1553),
    (1822, 1025),
    (1830, 1822),
    (3780, 1825),
    (3780, 1822),
    (3780, 1833),
    (1832, 1830),
    (1830, 1832),
    (1832, 1265),
    (1830, 1825),
    (3780, 1832),
    (1832, 1833),
    // A parent is dropped or truncated, a column or an index that a foreign key needs.
    (3730, 1451),
    (1828, 1553),
    (1828, 1829),
    (1829, 1834),
    (1553, 1828),
    // Constraints, and columns that expressions name.
    (1054, 1060),
    (3959, 1054),
    (3837, 1054),
    (3108, 1054),
    (3940, 1091),
    (3821, 1091),
    (3822, 1826),
    (3105, 1906),
    (3820, 1054),
    (3106, 1901),
    (3106, 1907),
    (3758, 1901),
    (1170, 1071),
    (3522, 4174),
];

/// A value does not fit its column, or a row a constraint: which of several is met first, and what it is called.
const VALUES: &[u16] = &[167, 1138, 1264, 1265, 1292, 1364, 1366, 1406, 1411, 1467, 1916, 3819, 4025];

/// What other rows forbid: keys are looked at index by index, each with its foreign keys.
const KEYS: &[u16] = &[1062, 1451, 1452];

/// What is wrong with new partitions.
const PARTITIONS: &[u16] =
    &[1064, 1480, 1481, 1493, 1495, 1507, 1508, 1510, 1519, 1520, 1653, 1654, 1655, 1656, 1657, 1658, 1697, 1735];

/// Names that are missing or taken, and the like: of several in one statement, each server finds its own first.
const NAMES: &[u16] = &[
    3522, 3820, 3940, 4174, 1054, 1060, 1061, 1067, 1068, 1071, 1072, 1075, 1089, 1090, 1091, 1101, 1170, 1171, 1176,
    1826, 1907, 3106, 3108,
];

impl<'p> Round<'p> {
    pub fn new(pair: &'p mut Pair, is_known: Known) -> Round<'p> {
        Round { pair, statements: Vec::new(), same: 0, refused: 0, known: false, different: None, is_known }
    }

    /// Whether statements may follow.
    pub fn goes_on(&self) -> bool {
        !self.known && self.different.is_none()
    }

    /// A statement that changes something.
    pub fn change(&mut self, statement: &str) -> Outcome {
        self.statements.push(statement.to_owned());
        self.both(statement)
    }

    /// Sets sql_mode. MySQL rounds what is too fine for a time, and so does MariaDB if it is told to.
    pub fn set_mode(&mut self, mode: &str) {
        self.statements.push(format!("SET sql_mode = '{mode}'"));
        self.ours(&format!("SET sql_mode = '{mode}'"));
        if !self.goes_on() {
            return;
        }
        self.pair.oracle.query(&format!("SET sql_mode = '{mode},TIME_ROUND_FRACTIONAL'")).expect("a mode");
    }

    /// A question that both must answer with the same rows.
    pub fn ask(&mut self, question: &str) -> Option<Answer> {
        match self.both(question) {
            Outcome::Done(answer) => Some(answer),
            Outcome::Refused | Outcome::Apart => None,
        }
    }

    fn both(&mut self, statement: &str) -> Outcome {
        if !self.goes_on() {
            return Outcome::Apart;
        }
        let (ours, oracle) = (self.pair.ours.query(statement), self.pair.oracle.query(statement));
        let how = match (ours, oracle) {
            (Ok(ours), Ok(mut oracle)) => {
                // How many rows it copies is a server's own affair, and so is what it does not count of cascades.
                if ["ALTER", "CREATE", "DROP", "TRUNCATE"].iter().any(|kind| statement.starts_with(kind)) {
                    oracle.affected = ours.affected;
                }
                // MariaDB writes them as the query does.
                if statement.contains("information_schema") {
                    oracle.columns = ours.columns.clone();
                }
                match difference(ours.clone(), oracle, statement.contains(" ORDER BY ")) {
                    None => {
                        self.same += 1;
                        return Outcome::Done(ours);
                    }
                    Some(how) => how,
                }
            }
            (Err(ours), Err(oracle)) if same_refusal(statement, &ours, &oracle) => {
                self.same += 1;
                self.refused += 1;
                return Outcome::Refused;
            }
            (ours, oracle) => format!("ours: {}\noracle: {}", show(ours), show(oracle)),
        };
        self.judge(statement, how);
        Outcome::Apart
    }

    /// The servers differ: the round is over.
    fn judge(&mut self, statement: &str, how: String) {
        let last = self.statements.last().map_or("", |last| last.as_str());
        if took_too_long(&how) || (self.is_known)(statement, &how, last) {
            self.known = true;
        } else {
            self.differs(format!("{statement}\n{how}"));
        }
    }

    /// A statement that may send several answers, as CALL does. How many rows it says it changed is compared elsewhere.
    pub fn call(&mut self, statement: &str) {
        self.statements.push(statement.to_owned());
        if !self.goes_on() {
            return;
        }
        let (mut ours, mut oracle) =
            (all_answers(&mut self.pair.ours, statement), all_answers(&mut self.pair.oracle, statement));
        let how = loop {
            match (ours.pop_front(), oracle.pop_front()) {
                (None, None) => {
                    self.same += 1;
                    return;
                }
                (Some(Ok(ours)), Some(Ok(mut oracle))) => {
                    oracle.affected = ours.affected;
                    if let Some(how) = difference(ours, oracle, true) {
                        break how;
                    }
                }
                (Some(Err(ours)), Some(Err(oracle))) if same_refusal(statement, &ours, &oracle) => self.refused += 1,
                (ours, oracle) => {
                    let told = |one: Option<Result<Answer, Error>>| one.map_or("nothing".into(), show);
                    break format!("ours: {}\noracle: {}", told(ours), told(oracle));
                }
            }
        };
        self.judge(statement, how);
    }

    /// Our server's own answer to a question, which it must have.
    pub fn ours(&mut self, question: &str) -> Answer {
        if !self.goes_on() {
            return Answer::default();
        }
        match self.pair.ours.query(question) {
            Ok(answer) => answer,
            Err(error) => {
                self.differs(format!("{question}\nours: {error}"));
                Answer::default()
            }
        }
    }

    /// A statement for our server alone, which it must take.
    pub fn change_ours(&mut self, statement: &str) {
        self.statements.push(format!("{statement} /* ours */"));
        self.ours(statement);
    }

    pub fn differs(&mut self, how: String) {
        if self.goes_on() {
            let last = self.statements.last().cloned().unwrap_or_default();
            self.different = Some(format!("{how}\nbehind {last}"));
        }
    }

    /// Two questions to our server that must have the same answer.
    pub fn twice(&mut self, one: &str, other: &str) {
        let (first, second) = (self.ours(one), self.ours(other));
        if self.goes_on()
            && let Some(how) = difference(first, second, one.contains(" ORDER BY "))
        {
            self.differs(format!("{one}\nand, in the place of the oracle, {other}\n{how}"));
        }
    }

    /// All indexes of a table have the same rows, and each tree is in order.
    pub fn check_table(&mut self, table: &str) {
        let answer = self.ours(&format!("CHECK TABLE {table}"));
        let is_ok = |row: &Vec<Option<String>>| row.last().is_some_and(|text| text.as_deref() == Some("OK"));
        if self.goes_on() && !answer.rows.iter().all(is_ok) {
            self.differs(format!("CHECK TABLE {table}\nours: {:?}", answer.rows));
        }
    }

    /// A table that is made of what SHOW CREATE TABLE says has the same definition. Of a character set that was not written,
    /// but converted to, the collation is not said at first; then it is, as in MySQL.
    pub fn check_definition(&mut self, table: &str) {
        let text =
            |answer: &Answer| answer.rows.first().and_then(|row| row.get(1).cloned().flatten()).unwrap_or_default();
        let shown = text(&self.ours(&format!("SHOW CREATE TABLE {table}")));
        // Its parents may not be there.
        self.ours("SET @checks = @@foreign_key_checks, foreign_key_checks = 0");
        self.ours("USE again");
        self.ours(&shown);
        let again = text(&self.ours(&format!("SHOW CREATE TABLE {table}")));
        self.ours(&format!("DROP TABLE {table}"));
        self.ours("SET foreign_key_checks = @checks");
        self.ours("USE t");
        let own = Regex::new(" COLLATE (latin1_swedish_ci|utf16_general_ci|utf8mb4_general_ci)").expect("a pattern");
        if self.goes_on() && own.replace_all(&shown, "") != own.replace_all(&again, "") {
            self.differs(format!("SHOW CREATE TABLE {table}\nours: {shown}\nloaded again: {again}"));
        }
    }
}

/// Everything that a statement is answered with, up to an error.
fn all_answers(client: &mut Client, statement: &str) -> VecDeque<Result<Answer, Error>> {
    let mut answers = VecDeque::from([client.query(statement)]);
    while answers.back().is_some_and(|last| last.as_ref().is_ok_and(|answer| answer.more)) {
        answers.push_back(client.receive());
    }
    answers
}

fn same_refusal(statement: &str, ours: &Error, oracle: &Error) -> bool {
    let (Some(ours), Some(oracle)) = (ours.code(), oracle.code()) else { return false };
    let both = |class: &[u16]| class.contains(&ours) && class.contains(&oracle);
    let alters = statement.starts_with("ALTER TABLE");
    ours == oracle
        || SAME_REFUSALS.contains(&(ours, oracle))
        || both(VALUES)
        || both(KEYS)
        || (alters && both(PARTITIONS))
        || (alters && both(&[VALUES, KEYS].concat()))
        || (alters && statement.contains(", ") && both(&[NAMES, VALUES, KEYS].concat()))
}

fn two_servers(name: &str) -> Option<Pair> {
    let mut pair = pair(name)?;
    for setting in ["CREATE DATABASE again", "SET time_zone = '+00:00'"] {
        pair.ours.query(setting).expect("set-up on our server");
        pair.oracle.query(setting).expect("set-up on the oracle");
    }
    Some(pair)
}

/// Where rounds begin if `ORACLE_SEED` says nothing else. MySQL and MariaDB differ in more of what ALTER TABLE refuses than
/// the rules tell: each new seed asks for somebody who looks through what it finds.
const FIRST_SEED: u64 = 20_000_000;

/// Plays rounds until both have answered `times` as many statements as `ORACLE_STATEMENTS` wants: these are short.
pub fn play(name: &str, times: usize, is_known: Known, mut one: impl FnMut(&mut Round<'_>, u64)) {
    let Some(mut pair) = two_servers(name) else { return };
    let seed = std::env::var("ORACLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(FIRST_SEED);
    let count = asked_for().1 * times;
    let (mut same, mut refused, mut known, mut different) = (0, 0, 0, Vec::new());
    for round in 0.. {
        if same >= count || different.len() >= 20 {
            break;
        }
        let seed = seed.wrapping_add(round);
        for database in ["again", "t"] {
            for statement in [format!("DROP DATABASE {database}"), format!("CREATE DATABASE {database}")] {
                pair.ours.query("SET foreign_key_checks = 0").expect("our server goes on");
                pair.oracle.query("SET foreign_key_checks = 0").expect("the oracle goes on");
                pair.ours.query(&statement).expect("our server forgets the tables");
                pair.oracle.query(&statement).expect("the oracle forgets the tables");
            }
        }
        for setting in ["USE t", "SET foreign_key_checks = 1"] {
            assert!(matches!(pair.compare(setting), Verdict::Same), "{setting}");
        }
        // MariaDB's FORCE INDEX takes an index that is ignored.
        let seen = "SET optimizer_switch = 'use_invisible_indexes=on'";
        pair.ours.query(seen).expect("our server shows invisible indexes");
        let mut round = Round::new(&mut pair, is_known);
        round.set_mode("STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION");
        one(&mut round, seed);
        (same, refused, known) = (same + round.same, refused + round.refused, known + usize::from(round.known));
        let different_here = round.different.take();
        let statements = std::mem::take(&mut round.statements);
        if different_here.as_ref().is_some_and(|how| how.contains("oracle: connection:")) {
            // A statement that ends MariaDB says nothing of ours.
            drop(pair);
            let Some(another) = two_servers(name) else { return };
            pair = another;
            continue;
        }
        if let Some(how) = different_here {
            // What leads to the difference, for a client of either server.
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{seed}.sql"));
            fs::write(&file, statements.join(";\n") + ";\n").expect("the statements so far");
            let is_gone = how.contains("connection:");
            different.push(format!("ORACLE_SEED={seed}, {}: {how}", file.display()));
            if is_gone {
                break;
            }
        }
    }
    println!("{same} statements agree, {refused} of them refused; {known} rounds ended by what is known");
    assert!(different.is_empty(), "{} rounds differ:\n\n{}", different.len(), different.join("\n\n"));
}
