//! CREATE USER and related statements, and their part in the binary log.
//!
//! A statement is logged with what became of each account: the verifier of a password, never the password. Such a
//! statement may be repeated. How file and log agree after a crash is told in `accounts`.

use super::Session;
use crate::accounts::{Account, AccountMap, Plugin, account_of, password, quoted};
use crate::catalog::OrSqlError;
use crate::error::{Error, Result};
use crate::parser::ast::{self, Statement};
use crate::row_log::DefinitionLog;
use crate::status::Counter;

/// What becomes of an account, as statements write it.
struct Outcome {
    verb: &'static str,
    accounts: Vec<String>,
    locks: Option<bool>,
}

impl Outcome {
    fn new(verb: &'static str) -> Outcome {
        Outcome { verb, accounts: Vec::new(), locks: None }
    }

    /// The statement that does the same elsewhere; `None` = nothing was done.
    fn statement(&self) -> Option<String> {
        let end = match self.locks {
            None => "",
            Some(true) => " ACCOUNT LOCK",
            Some(false) => " ACCOUNT UNLOCK",
        };
        (!self.accounts.is_empty()).then(|| format!("{} {}{end}", self.verb, self.accounts.join(", ")))
    }
}

/// A text as a literal of every sql_mode.
fn literal(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && !matches!(byte, b'\'' | b'\\'));
    if is_plain { format!("'{text}'") } else { format!("X'{}'", format::xid::hexadecimal(text.as_bytes())) }
}

fn name(account: &Account) -> String {
    let part = |text: &str| format!("'{}'", text.replace('\'', "''"));
    format!("{}@{}", part(&account.user), part(&account.host))
}

fn identified(account: &Account) -> String {
    format!("{} IDENTIFIED WITH '{}' AS {}", name(account), account.plugin.name(), literal(&account.verifier))
}

fn plugin_of(user: &ast::UserSpec) -> Result<Option<Plugin>> {
    let not_loaded = |name: &String| Error::new(1524, b"HY000", format!("Plugin '{name}' is not loaded"));
    user.plugin.as_ref().map(|name| Plugin::by_name(name).ok_or_else(|| not_loaded(name))).transpose()
}

/// What ACCOUNT LOCK and ACCOUNT UNLOCK say.
fn locks(users: &[ast::UserSpec]) -> Option<bool> {
    let options = &users.first()?.options;
    let said = |what: &str| options.windows(2).any(|words| words[0] == "ACCOUNT" && words[1] == what);
    match (said("LOCK"), said("UNLOCK")) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Gives an account what the statement says of its password. False: nothing.
fn identify(account: &mut Account, user: &ast::UserSpec, plugin: Option<Plugin>) -> bool {
    account.plugin = plugin.unwrap_or(account.plugin);
    if let Some(password) = &user.password {
        account.verifier = account.plugin.verifier(password, &password::random_salt());
    }
    if let Some(hash) = &user.hash {
        account.verifier = String::from_utf8_lossy(hash).into_owned();
    }
    plugin.is_some() || user.password.is_some() || user.hash.is_some()
}

impl Session {
    /// Changes accounts, all that a statement names or none. Privileges are accepted and ignored: every account may do
    /// everything so far.
    pub(super) fn change_accounts(&mut self, statement: &Statement) -> Result<()> {
        self.check_implicit_commit()?;
        if self.passes_over()? {
            return self.end_named(false);
        }
        self.commit()?;
        let changed = match statement {
            Statement::CreateUser { if_not_exists, users } => self.create_users(*if_not_exists, users),
            Statement::AlterUser { if_exists, users } => self.alter_users(*if_exists, users),
            Statement::DropUser { if_exists, users } => self.drop_users(*if_exists, users),
            Statement::SetPassword { user, password } => {
                let own = ast::UserName { user: String::new(), host: String::new(), current: true };
                let (user, host) = self.account_name(user.as_ref().unwrap_or(&own));
                self.change_logged(|accounts| {
                    let account = account_of(accounts, "SET PASSWORD", &user, &host)?;
                    account.verifier = account.plugin.verifier(password, &password::random_salt());
                    let mut outcome = Outcome::new("ALTER USER IF EXISTS");
                    outcome.accounts.push(identified(account));
                    Ok(outcome)
                })
            }
            Statement::Grant { users, .. } => self.grant(users),
            _ => Err(Error::unsupported("REVOKE")),
        };
        let named = self.end_named(changed.is_ok());
        changed.and(named)
    }

    fn create_users(&mut self, if_not_exists: bool, users: &[ast::UserSpec]) -> Result<()> {
        self.status.add(Counter::ComCreateUser, 1);
        let names: Vec<_> = users.iter().map(|user| self.account_name(&user.name)).collect();
        let mut there = Vec::new();
        self.change_logged(|accounts| {
            let mut outcome = Outcome::new("CREATE USER IF NOT EXISTS");
            outcome.locks = locks(users).filter(|locks| *locks);
            for (spec, (user, host)) in users.iter().zip(names) {
                let key = (user.clone(), host.clone());
                if accounts.contains_key(&key) {
                    if !if_not_exists {
                        return Err(Error::cannot_user("CREATE USER", &quoted(&user, &host)));
                    }
                    there.push(format!("Authorization ID '{user}'@'{host}' already exists."));
                    continue;
                }
                let (plugin, locked) = (Plugin::CachingSha2Password, locks(users).unwrap_or(false));
                let mut account = Account { user, host, plugin, verifier: String::new(), locked };
                identify(&mut account, spec, plugin_of(spec)?);
                outcome.accounts.push(identified(&account));
                accounts.insert(key, account);
            }
            Ok(outcome)
        })?;
        there.into_iter().for_each(|text| self.warnings.note(3163, text));
        Ok(())
    }

    fn alter_users(&mut self, if_exists: bool, users: &[ast::UserSpec]) -> Result<()> {
        self.status.add(Counter::ComAlterUser, 1);
        let names: Vec<_> = users.iter().map(|user| self.account_name(&user.name)).collect();
        let mut missing = Vec::new();
        self.change_logged(|accounts| {
            let mut outcome = Outcome::new("ALTER USER IF EXISTS");
            outcome.locks = locks(users);
            for (spec, (user, host)) in users.iter().zip(names) {
                if if_exists && !accounts.contains_key(&(user.clone(), host.clone())) {
                    missing.push(format!("Authorization ID '{user}'@'{host}' does not exist."));
                    continue;
                }
                let account = account_of(accounts, "ALTER USER", &user, &host)?;
                account.locked = locks(users).unwrap_or(account.locked);
                let is_identified = identify(account, spec, plugin_of(spec)?);
                outcome.accounts.push(if is_identified { identified(account) } else { name(account) });
            }
            Ok(outcome)
        })?;
        missing.into_iter().for_each(|text| self.warnings.note(3162, text));
        Ok(())
    }

    fn drop_users(&mut self, if_exists: bool, users: &[ast::UserName]) -> Result<()> {
        self.status.add(Counter::ComDropUser, 1);
        let names: Vec<_> = users.iter().map(|user| self.account_name(user)).collect();
        let mut missing = Vec::new();
        self.change_logged(|accounts| {
            let mut outcome = Outcome::new("DROP USER IF EXISTS");
            for (user, host) in names {
                match accounts.remove(&(user.clone(), host.clone())) {
                    Some(account) => outcome.accounts.push(name(&account)),
                    None if if_exists => missing.push(format!("Authorization ID '{user}'@'{host}' does not exist.")),
                    None => return Err(Error::cannot_user("DROP USER", &quoted(&user, &host))),
                }
            }
            Ok(outcome)
        })?;
        missing.into_iter().for_each(|text| self.warnings.note(3162, text));
        Ok(())
    }

    /// GRANT: logged as it came, unless it has a password, or means whoever runs it.
    fn grant(&mut self, users: &[ast::UserSpec]) -> Result<()> {
        for user in users {
            let (name, host) = self.account_name(&user.name);
            if self.instance.accounts.get(&name, &host).is_none() {
                return Err(Error::new(1410, b"42000", "You are not allowed to create a user with GRANT"));
            }
        }
        self.warnings.note(1105, "Privileges are accepted, but every account may do everything yet");
        if users.iter().any(|user| user.password.is_some() || user.hash.is_some() || user.name.current) {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&self.source).into_owned();
        self.log_account_statement(&text)
    }

    /// Changes accounts, and logs what became of them.
    fn change_logged(&mut self, change: impl FnOnce(&mut AccountMap) -> Result<Outcome>) -> Result<()> {
        let instance = self.instance.clone();
        let accounts = &instance.accounts;
        let _turn = accounts.turn();
        let is_logged = self.own_log().is_some();
        // What a source has sent it sends again, if a crash comes in between.
        let keeps = is_logged && self.applying.is_none();
        let mut statement = None;
        accounts.change(|accounts| {
            statement = change(accounts)?.statement();
            Ok(statement.clone().filter(|_| keeps))
        })?;
        if let Some(statement) = statement.filter(|_| is_logged) {
            self.log_account_statement(&statement)?;
        }
        if keeps { accounts.logged() } else { Ok(()) }
    }

    fn log_account_statement(&self, text: &str) -> Result<()> {
        let logged = self.own_log().filter(|log| log.logs(self.state.database.as_deref()));
        let Some(log) = logged else { return Ok(()) };
        let entry = DefinitionLog::new(log, &self.statement_facts(), text.as_bytes(), true);
        self.instance.engine.log_alone(&entry).or_sql()?;
        self.write_log()
    }

    /// Logs the change of an account that a crash may have kept out of the log. Before the server serves.
    pub fn log_unlogged_accounts(&mut self) -> Result<()> {
        match self.instance.accounts.unlogged() {
            Some(statement) => {
                self.log_account_statement(&statement)?;
                self.instance.accounts.logged()
            }
            None => Ok(()),
        }
    }

    /// An account's name and host; CURRENT_USER is the one that logged in.
    fn account_name(&self, user: &ast::UserName) -> (String, String) {
        if !user.current {
            return (user.user.clone(), user.host.clone());
        }
        let found = self.instance.accounts.find(&self.state.user, &[self.state.host.as_str(), "localhost"]);
        match found {
            Some(account) => (account.user, account.host),
            None => (self.state.user.clone(), self.state.host.clone()),
        }
    }
}
