//! What the servers answered, and why they may differ.

use std::fmt;
use std::io;

use crate::client::{Answer, Error};

/// The errors that mean: you may not. Of a view that reads what one may not read, both say that it is invalid (1356); a
/// role that one does not have is 3530 here and 1959 there.
const DENIED: [u16; 12] = [1044, 1045, 1095, 1142, 1143, 1227, 1345, 1356, 1370, 1410, 1959, 3530];
/// A program that one may not see does not exist.
const UNSEEN: [u16; 2] = [1305, 1360];

/// What a server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Done(Vec<String>),
    Denied(u16),
    /// It was allowed, but something else was wrong.
    Failed(u16),
}

impl Verdict {
    pub fn of(statement: &str, answer: Result<Answer, Error>) -> io::Result<Verdict> {
        let error = match answer {
            Ok(answer) => {
                let cell = |cell: Option<String>| cell.unwrap_or_else(|| "NULL".into());
                let row = |row: Vec<Option<String>>| row.into_iter().map(cell).collect::<Vec<_>>().join(" ");
                return Ok(Verdict::Done(answer.rows.into_iter().map(row).collect()));
            }
            Err(error) => error,
        };
        let code = error.code().ok_or_else(|| io::Error::other(error.to_string()))?;
        let unseen = statement.starts_with("SHOW CREATE") && UNSEEN.contains(&code);
        Ok(if DENIED.contains(&code) || unseen { Verdict::Denied(code) } else { Verdict::Failed(code) })
    }

    pub fn is_done(&self) -> bool {
        matches!(self, Verdict::Done(_))
    }

    pub fn is_denied(&self) -> bool {
        matches!(self, Verdict::Denied(_))
    }

    pub fn code(&self) -> Option<u16> {
        match self {
            Verdict::Done(_) => None,
            Verdict::Denied(code) | Verdict::Failed(code) => Some(*code),
        }
    }

    pub fn rows(&self) -> &[String] {
        match self {
            Verdict::Done(rows) => rows,
            Verdict::Denied(_) | Verdict::Failed(_) => &[],
        }
    }
}

/// A statement that the servers treat differently.
#[derive(Debug, Clone)]
pub struct Difference {
    pub user: String,
    pub statement: String,
    /// Glassine's and MariaDB's.
    pub verdicts: [Verdict; 2],
    /// What the accounts and roles had been granted.
    pub grants: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [own, peer] = &self.verdicts;
        writeln!(f, "{}: {}\n  Glassine {own:?}, MariaDB {peer:?}", self.user, self.statement)?;
        self.grants.iter().try_for_each(|grant| writeln!(f, "  {grant}"))
    }
}

impl Difference {
    /// Why the servers are to differ, if they are.
    pub fn explanation(&self) -> Option<&'static str> {
        let has = |text: &str| self.statement.contains(text);
        let begins = |text: &str| self.statement.starts_with(text);
        let codes = [self.verdicts[0].code(), self.verdicts[1].code()];
        let is_denied = [self.verdicts[0].is_denied(), self.verdicts[1].is_denied()];
        let of_view = ["vd", "vi", "vu", "wi"].iter().any(|view| has(&format!(".{view}")));
        match (codes, is_denied) {
            // Both refuse: whoever may read the database is told which table is missing.
            ([Some(1146), Some(_)] | [Some(_), Some(1146)], _) => Some("a table that is missing"),
            ([Some(1142 | 1143), _], [true, false]) if has("FOREIGN KEY") => {
                Some("MySQL asks for REFERENCES on the parent and its columns")
            }
            // The same statement is allowed when the connection runs it a second time.
            ([_, Some(1142)], [false, true]) if has("FOREIGN KEY") => {
                Some("MariaDB has not loaded the grants on the parent")
            }
            ([Some(1044), None], _) if begins("SHOW") && self.has_global() => {
                Some("MariaDB lets anybody with a global privilege ask, MySQL those with one that counts in databases")
            }
            ([Some(1142), None], _)
                if ["SHOW COLUMNS", "SHOW INDEX", "DESCRIBE", "CHECK TABLE"].iter().any(|verb| begins(verb)) =>
            {
                Some("MySQL describes tables to those who may read them or have a grant on the table itself")
            }
            (_, [false, false]) if has("information_schema.triggers") => {
                Some("MySQL tells of triggers those who have TRIGGER on their table")
            }
            (_, [false, false]) if has("information_schema.views") => {
                Some("MySQL shows the text of a view to its definer and to those with SELECT and SHOW VIEW on it")
            }
            (_, [false, false])
                if has("information_schema.statistics") || has("information_schema.table_constraints") =>
            {
                Some("MySQL tells of all keys of a table that one may know of")
            }
            ([Some(1143), None], _) if has("USING") || has("NATURAL") => {
                Some("MariaDB does not check the right column of USING")
            }
            ([_, Some(1143)], [false, true]) if has("ON DUPLICATE KEY UPDATE") => {
                Some("MariaDB asks for SELECT on what is assigned")
            }
            ([_, Some(1143)], [false, true]) if of_view && self.statement.ends_with("= DEFAULT") => {
                Some("MariaDB asks for SELECT on the column of a view that is set to its default")
            }
            // 1356: whoever has made the view may not read them.
            ([Some(1143 | 1356), _], [true, false])
                if of_view && ["INSERT", "REPLACE", "UPDATE", "DELETE"].iter().any(|verb| has(verb)) =>
            {
                Some("MariaDB leaves columns of views unchecked that a change names in conditions, values and ORDER BY")
            }
            (_, [false, false]) if has("information_schema.key_column_usage") && !self.tells_more() => {
                Some("MySQL tells of the keys' columns on which one has a privilege for columns")
            }
            ([Some(1044 | 1142), None], _) if (begins("SHOW") || begins("USE")) && self.may_hand_on() => {
                Some("MariaDB takes GRANT OPTION for a privilege on what is in the database")
            }
            (_, [false, false]) if has("information_schema.") && self.may_hand_on() && !self.tells_more() => {
                Some("MariaDB takes GRANT OPTION for a privilege on what is in the database")
            }
            ([Some(1356), None], _) if begins("LOCK TABLES") => {
                Some("MySQL documents that who has made a view needs the privileges for locks, MariaDB asks for SELECT")
            }
            // Seen once in ten thousand cases; the same grants given anew allow it.
            ([_, Some(1142)], [false, true]) if begins("UPDATE") && has("= (SELECT") && self.has_global() => {
                Some("MariaDB denies an UPDATE with a subquery to one who may update and read globally")
            }
            ([_, Some(1143)], [false, true]) if has("RETURNING") => {
                Some("MariaDB's RETURNING takes SELECT on the whole table")
            }
            ([_, Some(1143)], [false, true]) if has("FROM (SELECT") => {
                Some("MariaDB checks all columns of a derived table, MySQL those that are read")
            }
            ([_, Some(1356)], [false, true]) if of_view => {
                Some("MariaDB checks all columns of a view, MySQL those that are read")
            }
            ([None, Some(1142)], _) if has("VIEW") && has("IN (SELECT") => {
                Some("MySQL's CREATE VIEW takes any privilege on a table in a subquery, and SELECT on its columns")
            }
            _ => None,
        }
    }

    /// Whether the account has a GRANT OPTION.
    fn may_hand_on(&self) -> bool {
        let own = format!("TO `{}`@", self.user);
        self.grants.iter().any(|grant| grant.contains(&own) && grant.ends_with("WITH GRANT OPTION"))
    }

    /// Whether Glassine tells what MariaDB does not.
    fn tells_more(&self) -> bool {
        let [own, peer] = &self.verdicts;
        own.rows().iter().any(|row| !peer.rows().contains(row))
    }

    /// Whether the account has something globally.
    fn has_global(&self) -> bool {
        let own = format!("TO `{}`@", self.user);
        let is_global = |grant: &String| grant.contains("ON *.* TO") && !grant.starts_with("GRANT USAGE");
        self.grants.iter().any(|grant| is_global(grant) && (grant.contains(&own) || grant.contains("TO `r")))
    }
}
