//! Accounts as the statements that make them again: SHOW CREATE USER and SHOW GRANTS.

use super::attributes::{Attributes, Lifetime, LockTime};
use super::grants::{Grants, quoted};
use super::rights::reached;
use super::{Account, AccountMap, Key};

/// `user`@`host`
pub fn name((user, host): &Key) -> String {
    format!("{}@{}", quoted(user), quoted(host))
}

/// The statement that makes the account.
///
/// What MariaDB does not know stands in a comment that MySQL and we execute and MariaDB passes over, so that a dump of the
/// accounts loads there, too: `accounts_go_from_one_server_to_the_other_and_back` loads one. Without the comment marks the text is MySQL's.
pub fn create_user(account: &Account) -> String {
    let own = &account.attributes;
    let mut text = format!("CREATE USER {} IDENTIFIED WITH '{}'", name(&account.key()), account.plugin.name());
    if !account.verifier.is_empty() {
        text.push_str(&format!(" AS '{}'", account.verifier.replace('\\', "\\\\").replace('\'', "\\'")));
    }
    text.push_str(&format!(" REQUIRE {}", own.transport.text()));
    let limits: Vec<String> = own
        .limits
        .named()
        .iter()
        .filter(|(_, limit)| *limit > 0)
        .map(|(name, limit)| format!("{name} {limit}"))
        .collect();
    if !limits.is_empty() {
        text.push_str(&format!(" WITH {}", limits.join(" ")));
    }
    text.push_str(&match (own.is_expired, own.lifetime) {
        (true, _) => " PASSWORD EXPIRE".to_owned(),
        (_, Lifetime::Default) => " PASSWORD EXPIRE DEFAULT".to_owned(),
        (_, Lifetime::Never) => " PASSWORD EXPIRE NEVER".to_owned(),
        (_, Lifetime::Days(days)) => format!(" PASSWORD EXPIRE INTERVAL {days} DAY"),
    });
    text.push_str(if account.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    // In a string, `\/` is a slash: no text ends the comment early.
    text.push_str(&format!(" /*!80014{} */", clauses_of_mysql(own).replace("*/", "*\\/")));
    text
}

/// What MySQL 8 has and MariaDB has not.
fn clauses_of_mysql(own: &Attributes) -> String {
    let mut text = String::new();
    text.push_str(&match own.history {
        None => " PASSWORD HISTORY DEFAULT".to_owned(),
        Some(count) => format!(" PASSWORD HISTORY {count}"),
    });
    text.push_str(&match own.reuse_days {
        None => " PASSWORD REUSE INTERVAL DEFAULT".to_owned(),
        Some(days) => format!(" PASSWORD REUSE INTERVAL {days} DAY"),
    });
    text.push_str(match own.requires_current {
        None => " PASSWORD REQUIRE CURRENT DEFAULT",
        Some(true) => " PASSWORD REQUIRE CURRENT",
        Some(false) => " PASSWORD REQUIRE CURRENT OPTIONAL",
    });
    if own.failed_attempts_max > 0 {
        text.push_str(&format!(" FAILED_LOGIN_ATTEMPTS {}", own.failed_attempts_max));
    }
    match own.lock_time {
        LockTime::Days(0) => {}
        LockTime::Days(days) => text.push_str(&format!(" PASSWORD_LOCK_TIME {days}")),
        LockTime::Unbounded => text.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
    }
    let said = match own.comment() {
        Some(comment) => Some(("COMMENT", comment)),
        None => own.metadata.clone().map(|metadata| ("ATTRIBUTE", metadata)),
    };
    if let Some((word, said)) = said {
        text.push_str(&format!(" {word} '{}'", said.replace('\\', "\\\\").replace('\'', "\\'")));
    }
    text
}

/// The statements of SHOW GRANTS: what an account has, and with it what these roles have.
pub fn grants(accounts: &AccountMap, account: &Account, using: &[Key]) -> Vec<String> {
    let mut all = account.grants.clone();
    for role in reached(accounts, using.iter()) {
        if let Some(role) = accounts.get(&role) {
            merge(&mut all, &role.grants);
        }
    }
    let to = name(&account.key());
    let mut statements = all.statements(&to);
    for (admin, option) in [(false, ""), (true, " WITH ADMIN OPTION")] {
        let roles: Vec<String> =
            account.roles.iter().filter(|(_, own)| **own == admin).map(|(role, _)| name(role)).collect();
        if !roles.is_empty() {
            statements.push(format!("GRANT {} TO {to}{option}", roles.join(",")));
        }
    }
    statements
}

fn merge(all: &mut Grants, role: &Grants) {
    all.global |= role.global;
    all.dynamic = all.dynamic.with(role.dynamic);
    all.dynamic_grantable = all.dynamic_grantable.with(role.dynamic_grantable);
    for (database, own) in &role.databases {
        *all.databases.entry(database.clone()).or_default() |= *own;
    }
    for (place, own) in &role.tables {
        let entry = all.tables.entry(place.clone()).or_default();
        entry.table |= own.table;
        for (column, own) in &own.columns {
            *entry.column_entry(column) |= *own;
        }
    }
    for (place, own) in &role.routines {
        *all.routines.entry(place.clone()).or_default() |= *own;
    }
}
