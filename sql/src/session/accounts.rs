//! CREATE USER and related statements, and their part in the binary log.
//!
//! A statement is logged with what became of each account: the verifier of a password, never the password. Such a
//! statement may be repeated; what a source repeats passes over what is there, or gone, already. How file and log agree
//! after a crash is told in `accounts`. Privileges and roles are granted in `grant`.

use std::time::{SystemTime, UNIX_EPOCH};

use super::Session;
use crate::accounts::attributes::{FormerPassword, Lifetime, LockTime, Transport};
use crate::accounts::{Account, AccountMap, Key, Plugin, account_of, password, quoted};
use crate::catalog::OrSqlError;
use crate::describe::literal;
use crate::error::{Error, Result};
use crate::parser::ast::{self, AccountOptions, AccountStatement, Expiry, Identified, OldPassword, Requirement};
use crate::row_log::{DefinitionLog, StatementFacts};
use crate::status::Counter;
use crate::types::SqlMode;

/// What becomes of accounts, as statements write it.
#[derive(Default)]
struct Outcome {
    verb: &'static str,
    accounts: Vec<String>,
    /// What stands behind the accounts, for all of them.
    end: String,
    /// Accounts and the passwords that were made for them.
    made: Vec<(Key, String)>,
}

impl Outcome {
    fn new(verb: &'static str) -> Outcome {
        Outcome { verb, ..Outcome::default() }
    }

    /// The statement that does the same elsewhere; `None` = nothing was done.
    fn statement(&self) -> Option<String> {
        (!self.accounts.is_empty()).then(|| format!("{} {}{}", self.verb, self.accounts.join(", "), self.end))
    }
}

/// The most characters of a user's name, and of a host.
const USER_CHARS_MAX: usize = 32;
const HOST_CHARS_MAX: usize = 255;

/// A verifier as a literal: those of some plugins have bytes of all kinds.
fn verifier_text(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && !matches!(byte, b'\'' | b'\\'));
    if is_plain { format!("'{text}'") } else { format!("X'{}'", format::xid::hexadecimal(text.as_bytes())) }
}

pub(super) fn name((user, host): &Key) -> String {
    format!("{}@{}", literal(user), literal(host))
}

pub(super) fn identified(account: &Account) -> String {
    let name = name(&account.key());
    format!("{name} IDENTIFIED WITH '{}' AS {}", account.plugin.name(), verifier_text(&account.verifier))
}

fn plugin_of(user: &ast::UserSpec) -> Result<Option<Plugin>> {
    let not_loaded = |name: &String| Error::new(1524, b"HY000", format!("Plugin '{name}' is not loaded"));
    user.plugin.as_ref().map(|name| Plugin::by_name(name).ok_or_else(|| not_loaded(name))).transpose()
}

/// The options of a statement as SHOW CREATE USER and the binary log write them, each with a blank before it.
pub(super) fn options_text(options: &AccountOptions) -> String {
    let mut text = String::new();
    if let Some(requirement) = &options.requirement {
        text.push_str(&format!(" REQUIRE {}", transport(requirement).text()));
    }
    if !options.limits.is_empty() {
        let limits: Vec<String> = options.limits.iter().map(|(name, limit)| format!("{name} {limit}")).collect();
        text.push_str(&format!(" WITH {}", limits.join(" ")));
    }
    let number = |number: &Option<u32>, unit: &str| match number {
        None => "DEFAULT".to_owned(),
        Some(number) => format!("{number}{unit}"),
    };
    match options.expiry {
        None => {}
        Some(Expiry::Now) => text.push_str(" PASSWORD EXPIRE"),
        Some(Expiry::Default) => text.push_str(" PASSWORD EXPIRE DEFAULT"),
        Some(Expiry::Never) => text.push_str(" PASSWORD EXPIRE NEVER"),
        Some(Expiry::Days(days)) => text.push_str(&format!(" PASSWORD EXPIRE INTERVAL {days} DAY")),
    }
    if let Some(locked) = options.locked {
        text.push_str(if locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    }
    if let Some(history) = &options.history {
        text.push_str(&format!(" PASSWORD HISTORY {}", number(history, "")));
    }
    if let Some(days) = &options.reuse_days {
        text.push_str(&format!(" PASSWORD REUSE INTERVAL {}", number(days, " DAY")));
    }
    match options.requires_current {
        None => {}
        Some(None) => text.push_str(" PASSWORD REQUIRE CURRENT DEFAULT"),
        Some(Some(true)) => text.push_str(" PASSWORD REQUIRE CURRENT"),
        Some(Some(false)) => text.push_str(" PASSWORD REQUIRE CURRENT OPTIONAL"),
    }
    if let Some(attempts) = options.failed_attempts {
        text.push_str(&format!(" FAILED_LOGIN_ATTEMPTS {attempts}"));
    }
    match options.lock_days {
        None => {}
        Some(None) => text.push_str(" PASSWORD_LOCK_TIME UNBOUNDED"),
        Some(Some(days)) => text.push_str(&format!(" PASSWORD_LOCK_TIME {days}")),
    }
    if let Some(comment) = &options.comment {
        text.push_str(&format!(" COMMENT {}", literal(comment)));
    }
    if let Some(attribute) = &options.attribute {
        text.push_str(&format!(" ATTRIBUTE {}", literal(attribute)));
    }
    text
}

fn transport(requirement: &Requirement) -> Transport {
    match requirement.clone() {
        Requirement::None => Transport::Any,
        Requirement::Ssl => Transport::Ssl,
        Requirement::X509 => Transport::X509,
        Requirement::Specified { cipher, issuer, subject } => Transport::Specified { cipher, issuer, subject },
    }
}

/// Gives an account what was said of all accounts of a statement.
pub(super) fn apply_options(account: &mut Account, options: &AccountOptions) -> Result<()> {
    let own = &mut account.attributes;
    if let Some(requirement) = &options.requirement {
        own.transport = transport(requirement);
    }
    for (name, limit) in &options.limits {
        if let Some(place) = own.limits.by_name(name) {
            *place = *limit;
        }
    }
    match options.expiry {
        None => {}
        Some(Expiry::Now) => own.is_expired = true,
        Some(Expiry::Default) => own.lifetime = Lifetime::Default,
        Some(Expiry::Never) => own.lifetime = Lifetime::Never,
        Some(Expiry::Days(days)) => own.lifetime = Lifetime::Days(days),
    }
    own.history = options.history.unwrap_or(own.history);
    own.reuse_days = options.reuse_days.unwrap_or(own.reuse_days);
    own.requires_current = options.requires_current.unwrap_or(own.requires_current);
    own.failed_attempts_max = options.failed_attempts.unwrap_or(own.failed_attempts_max);
    if let Some(days) = options.lock_days {
        own.lock_time = days.map_or(LockTime::Unbounded, LockTime::Days);
    }
    if let Some(comment) = &options.comment {
        own.set_comment(comment);
    }
    if let Some(attribute) = &options.attribute {
        let no_object = || Error::new(3982, b"HY000", "The user attribute must be a valid JSON object");
        own.merge_metadata(attribute).ok_or_else(no_object)?;
    }
    account.locked = options.locked.unwrap_or(account.locked);
    Ok(())
}

/// An error that names all accounts that are there and should not be, or the other way round.
fn refuse<'k>(doing: &'static str, names: impl Iterator<Item = &'k Key>) -> Result<()> {
    let names: Vec<String> = names.map(|key| quoted(&key.0, &key.1)).collect();
    if names.is_empty() { Ok(()) } else { Err(Error::cannot_user(doing, &names.join(","))) }
}

pub(super) fn unknown_authid((user, host): &Key) -> Error {
    Error::new(3523, b"HY000", format!("Unknown authorization ID `{user}`@`{host}`"))
}

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What the server's variables say of passwords where accounts do not.
pub(super) struct PasswordRules {
    history: u32,
    reuse_days: u32,
    random_bytes: usize,
    default_plugin: Plugin,
}

impl PasswordRules {
    fn of(session: &Session) -> PasswordRules {
        let variables = &session.instance.variables;
        let number = |name| variables.number(name).min(u64::from(u32::MAX)) as u32;
        let random = session.variables.select(variables, "generated_random_password_length", true);
        let policy = variables.text("authentication_policy");
        let first = policy.split(',').next().unwrap_or_default().trim();
        let first = first.strip_prefix("*:").unwrap_or(first);
        let default =
            Plugin::by_name(first).or_else(|| Plugin::by_name(&variables.text("default_authentication_plugin")));
        PasswordRules {
            history: number("password_history"),
            reuse_days: number("password_reuse_interval"),
            random_bytes: match random {
                Ok(format::value::Value::UInt(bytes)) => bytes as usize,
                Ok(format::value::Value::Int(bytes)) => bytes as usize,
                _ => 20,
            },
            default_plugin: default.unwrap_or(Plugin::CachingSha2Password),
        }
    }

    /// Gives an account what the statement says of its password: whether it said anything, and the password if one was
    /// made for it.
    fn identify(&self, account: &mut Account, user: &ast::UserSpec) -> Result<(bool, Option<String>)> {
        let plugin = plugin_of(user)?;
        let changes_plugin = plugin.is_some_and(|plugin| plugin != account.plugin);
        let former = account.verifier.clone();
        account.plugin = plugin.unwrap_or(account.plugin);
        let mut made = None;
        match &user.identified {
            Identified::By(_) | Identified::ByRandom if !account.plugin.has_passwords() => {
                let text = format!("IDENTIFIED WITH {} BY a password", account.plugin.name());
                return Err(Error::unsupported(text));
            }
            Identified::Nothing if changes_plugin => {
                account.verifier = String::new();
                account.attributes.is_expired = account.plugin.has_passwords();
            }
            Identified::Nothing => {}
            Identified::By(password) => self.give(account, password)?,
            Identified::ByRandom => {
                let password = password::random(self.random_bytes);
                self.give(account, password.as_bytes())?;
                made = Some(password);
            }
            Identified::As(verifier) => {
                let verifier = String::from_utf8_lossy(verifier).into_owned();
                if !account.plugin.is_verifier(&verifier) {
                    return Err(Error::new(1827, b"HY000", "The password hash doesn't have the expected format."));
                }
                self.retire(account);
                account.verifier = verifier;
            }
        }
        let own = &mut account.attributes;
        match user.old {
            OldPassword::Retained => {
                let refused = |code, why: &str| {
                    let text = format!(
                        "Current password can not be retained for user '{}'@'{}' because {why}.",
                        account.user, account.host
                    );
                    Err(Error::new(code, b"HY000", text))
                };
                if changes_plugin {
                    return refused(3894, "authentication plugin is being changed");
                }
                if account.verifier.is_empty() {
                    return refused(3895, "new password is empty");
                }
                if former.is_empty() {
                    let (user, host) = (&account.user, &account.host);
                    let text =
                        format!("Empty password can not be retained as second password for user '{user}'@'{host}'.");
                    return Err(Error::new(3878, b"HY000", text));
                }
                // A statement that a replica finds done already changes nothing.
                if former != account.verifier {
                    own.second_verifier = Some(former);
                }
            }
            OldPassword::Discarded => own.second_verifier = None,
            OldPassword::Replaced if changes_plugin || account.verifier.is_empty() => own.second_verifier = None,
            OldPassword::Replaced => {}
        }
        Ok((plugin.is_some() || user.identified != Identified::Nothing, made))
    }

    /// Gives an account a password that it may have.
    fn give(&self, account: &mut Account, password: &[u8]) -> Result<()> {
        if password.len() > password::BYTES_MAX {
            return Err(Error::new(1819, b"HY000", "Your password does not satisfy the current policy requirements"));
        }
        let (history, days) = self.memory(account);
        let own = &account.attributes;
        let since = now_seconds().saturating_sub(u64::from(days) * 86_400);
        let newest = own.former_passwords.len().saturating_sub(history as usize);
        let kept = own.former_passwords.iter().enumerate();
        let barred = kept.filter(|(at, old)| *at >= newest || days > 0 && old.seconds >= since);
        if barred.into_iter().any(|(_, old)| old.plugin.accepts(password, &old.verifier)) {
            let text = format!(
                "Cannot use these credentials for '{}@{}' because they contradict the password history policy",
                account.user, account.host
            );
            return Err(Error::new(3638, b"HY000", text));
        }
        account.verifier = account.plugin.verifier(password, &password::random_salt());
        self.retire(account);
        Ok(())
    }

    /// How many passwords, and those of how many days, are not to be used again.
    fn memory(&self, account: &Account) -> (u32, u32) {
        let own = &account.attributes;
        (own.history.unwrap_or(self.history), own.reuse_days.unwrap_or(self.reuse_days))
    }

    /// Notes when the password came, and the password itself as long as it must not come again.
    fn retire(&self, account: &mut Account) {
        let (history, days) = self.memory(account);
        let (plugin, verifier) = (account.plugin, account.verifier.clone());
        let own = &mut account.attributes;
        own.password_seconds = now_seconds();
        own.is_expired = false;
        if history == 0 && days == 0 {
            own.former_passwords.clear();
            return;
        }
        if !verifier.is_empty() {
            own.former_passwords.push(FormerPassword { seconds: own.password_seconds, plugin, verifier });
        }
        let since = own.password_seconds.saturating_sub(u64::from(days) * 86_400);
        let surplus = own.former_passwords.len().saturating_sub(history as usize);
        let mut at = 0;
        own.former_passwords.retain(|old| {
            at += 1;
            at > surplus || days > 0 && old.seconds >= since
        });
    }
}

impl Session {
    /// Changes accounts, all that a statement names or none. The answer has the passwords that were made.
    pub(super) fn change_accounts(&mut self, statement: &AccountStatement) -> Result<Vec<(Key, String)>> {
        self.check_implicit_commit()?;
        if self.passes_over()? {
            return self.end_named(false).map(|()| Vec::new());
        }
        self.commit()?;
        // It is logged, and the log stands still under the global read lock.
        let entered = self.enter_change()?;
        let changed = self.change_accounts_now(statement);
        let named = self.end_named(changed.is_ok());
        self.leave_change(entered);
        self.refresh_rights();
        let made = changed?;
        named.map(|()| made)
    }

    fn change_accounts_now(&mut self, statement: &AccountStatement) -> Result<Vec<(Key, String)>> {
        match statement {
            AccountStatement::CreateUser { if_not_exists, users, options } => {
                return self.create_users(*if_not_exists, users, options);
            }
            AccountStatement::AlterUser { if_exists, users, options } => {
                return self.alter_users(*if_exists, users, options);
            }
            AccountStatement::SetPassword { user, identified, replaces, old } => {
                let own = ast::UserName { user: String::new(), host: String::new(), current: true };
                let name = user.clone().unwrap_or(own);
                let (identified, replaces, old) = (identified.clone(), replaces.clone(), *old);
                let spec = ast::UserSpec { name, plugin: None, identified, replaces, old };
                return self.alter_users(false, &[spec], &AccountOptions::default());
            }
            AccountStatement::DropUser { if_exists, users } => self.drop_accounts(*if_exists, users, "USER"),
            AccountStatement::CreateRole { if_not_exists, roles } => self.create_roles(*if_not_exists, roles),
            AccountStatement::DropRole { if_exists, roles } => self.drop_accounts(*if_exists, roles, "ROLE"),
            AccountStatement::RenameUser(pairs) => self.rename_users(pairs),
            AccountStatement::Grant(grant) => self.grant(grant),
            AccountStatement::Revoke { grant, lenience } => self.revoke(grant, *lenience),
            AccountStatement::RevokeAll { users, lenience } => self.revoke_all(users, *lenience),
            AccountStatement::GrantRoles { roles, users, admin_option } => {
                self.grant_roles(roles, users, *admin_option)
            }
            AccountStatement::RevokeRoles { roles, users, lenience } => self.revoke_roles(roles, users, *lenience),
            AccountStatement::SetDefaultRole { choice, users } => self.set_default_roles(choice, users),
        }?;
        Ok(Vec::new())
    }

    fn check_name(&self, (user, host): &Key) -> Result<()> {
        if user.is_empty() {
            return Err(Error::unsupported("an account without a user's name"));
        }
        for (text, what, chars_max) in [(user, "user name", USER_CHARS_MAX), (host, "host name", HOST_CHARS_MAX)] {
            if text.chars().count() > chars_max {
                let text = format!("String '{text}' is too long for {what} (should be no longer than {chars_max})");
                return Err(Error::new(1470, b"HY000", text));
            }
        }
        Ok(())
    }

    fn create_users(
        &mut self,
        if_not_exists: bool,
        users: &[ast::UserSpec],
        options: &AccountOptions,
    ) -> Result<Vec<(Key, String)>> {
        self.status.add(Counter::ComCreateUser, 1);
        let names: Vec<_> = users.iter().map(|user| self.account_name(&user.name)).collect();
        let roles: Vec<_> = options.default_roles.iter().map(|role| self.account_name(role)).collect();
        names.iter().try_for_each(|name| self.check_name(name))?;
        if !roles.is_empty() {
            self.check_may_grant_roles(&roles)?;
        }
        let rules = PasswordRules::of(self);
        let mut there = Vec::new();
        let made = self.change_logged(|accounts| {
            let mut outcome = Outcome::new("CREATE USER IF NOT EXISTS");
            if let Some(missing) = roles.iter().find(|role| !accounts.contains_key(*role)) {
                return Err(unknown_authid(missing));
            }
            let listed: Vec<String> = roles.iter().map(name).collect();
            let default = if roles.is_empty() { String::new() } else { format!(" DEFAULT ROLE {}", listed.join(", ")) };
            outcome.end = default + &options_text(options);
            if !if_not_exists {
                refuse("CREATE USER", names.iter().filter(|key| accounts.contains_key(*key)))?;
            }
            for (spec, (user, host)) in users.iter().zip(names) {
                let key = (user.clone(), host.clone());
                if accounts.contains_key(&key) {
                    if !if_not_exists {
                        refuse("CREATE USER", [&key].into_iter())?;
                    }
                    there.push(format!("Authorization ID '{user}'@'{host}' already exists."));
                    continue;
                }
                let mut account = Account::new(&user, &host, rules.default_plugin, "");
                apply_options(&mut account, options)?;
                let (_, password) = rules.identify(&mut account, spec)?;
                account.attributes.is_expired = options.expiry == Some(Expiry::Now);
                // Roles by default are granted, too: nobody could have granted them before.
                account.roles.extend(roles.iter().map(|role| (role.clone(), false)));
                account.default_roles.extend(roles.iter().cloned());
                outcome.made.extend(password.map(|password| (key.clone(), password)));
                outcome.accounts.push(identified(&account));
                accounts.insert(key, account);
            }
            Ok(outcome)
        })?;
        there.into_iter().for_each(|text| self.warnings.note(3163, text));
        Ok(made)
    }

    /// ALTER USER and SET PASSWORD. Who may not alter accounts may still change the own password.
    fn alter_users(
        &mut self,
        if_exists: bool,
        users: &[ast::UserSpec],
        options: &AccountOptions,
    ) -> Result<Vec<(Key, String)>> {
        self.status.add(Counter::ComAlterUser, 1);
        let names: Vec<_> = users.iter().map(|user| self.account_name(&user.name)).collect();
        names.iter().try_for_each(|name| self.check_name(name))?;
        let rules = PasswordRules::of(self);
        let administrates =
            self.rights.is_internal() || self.rights.has_global(crate::accounts::Privileges::CREATE_USER);
        let keeps_passwords = self.rights.has_dynamic("APPLICATION_PASSWORD_ADMIN");
        let own = self.rights.account.clone();
        let needs_current = self.instance.variables.on("password_require_current");
        self.check_system_users(names.iter())?;
        let mut missing = Vec::new();
        let made = self.change_logged(|accounts| {
            let mut outcome = Outcome::new("ALTER USER IF EXISTS");
            outcome.end = options_text(options);
            if !if_exists {
                refuse("ALTER USER", names.iter().filter(|key| !accounts.contains_key(*key)))?;
            }
            for (spec, (user, host)) in users.iter().zip(names) {
                let key = (user.clone(), host.clone());
                if if_exists && !accounts.contains_key(&key) {
                    missing.push(format!("Authorization ID '{user}'@'{host}' does not exist."));
                    continue;
                }
                let account = account_of(accounts, "ALTER USER", &user, &host)?;
                check_current(account, spec, key == own, administrates, needs_current)?;
                if spec.old != OldPassword::Replaced && !administrates && !keeps_passwords {
                    return Err(Error::privilege_needed("CREATE USER or APPLICATION_PASSWORD_ADMIN"));
                }
                apply_options(account, options)?;
                let (is_identified, password) = rules.identify(account, spec)?;
                if options.expiry == Some(Expiry::Now) {
                    account.attributes.is_expired = true;
                }
                outcome.made.extend(password.map(|password| (key.clone(), password)));
                let old = match spec.old {
                    OldPassword::Replaced => "",
                    OldPassword::Retained => " RETAIN CURRENT PASSWORD",
                    OldPassword::Discarded => " DISCARD OLD PASSWORD",
                };
                let text = if is_identified { identified(account) } else { name(&key) };
                outcome.accounts.push(text + old);
            }
            Ok(outcome)
        })?;
        missing.into_iter().for_each(|text| self.warnings.note(3162, text));
        if options.locked == Some(false) {
            users.iter().for_each(|user| self.instance.usage.forgive(&self.account_name(&user.name)));
        }
        // The own password has been changed: the session may go on.
        let is_own = |user: &ast::UserSpec| self.account_name(&user.name) == self.rights.account;
        if users.iter().any(|user| is_own(user) && user.identified != Identified::Nothing) {
            self.is_expired = false;
        }
        Ok(made)
    }

    fn create_roles(&mut self, if_not_exists: bool, roles: &[ast::UserName]) -> Result<()> {
        self.status.add(Counter::ComCreateRole, 1);
        let names: Vec<_> = roles.iter().map(|role| self.account_name(role)).collect();
        names.iter().try_for_each(|name| self.check_name(name))?;
        let mut there = Vec::new();
        self.change_logged(|accounts| {
            let mut outcome = Outcome::new("CREATE ROLE IF NOT EXISTS");
            if !if_not_exists {
                refuse("CREATE ROLE", names.iter().filter(|key| accounts.contains_key(*key)))?;
            }
            for key in names {
                if accounts.contains_key(&key) {
                    if !if_not_exists {
                        refuse("CREATE ROLE", [&key].into_iter())?;
                    }
                    there.push(format!("Authorization ID '{}'@'{}' already exists.", key.0, key.1));
                    continue;
                }
                let mut role = Account::new(&key.0, &key.1, Plugin::CachingSha2Password, "");
                (role.is_role, role.locked, role.attributes.is_expired) = (true, true, true);
                outcome.accounts.push(name(&key));
                accounts.insert(key, role);
            }
            Ok(outcome)
        })?;
        there.into_iter().for_each(|text| self.warnings.note(3163, text));
        Ok(())
    }

    /// DROP USER and DROP ROLE: what the others had of them as roles goes, too.
    fn drop_accounts(&mut self, if_exists: bool, users: &[ast::UserName], what: &'static str) -> Result<()> {
        let is_role = what == "ROLE";
        self.status.add(if is_role { Counter::ComDropRole } else { Counter::ComDropUser }, 1);
        let names: Vec<_> = users.iter().map(|user| self.account_name(user)).collect();
        self.check_system_users(names.iter())?;
        self.check_not_mandatory(names.iter())?;
        let mut missing = Vec::new();
        let (doing, verb) = match is_role {
            true => ("DROP ROLE", "DROP ROLE IF EXISTS"),
            false => ("DROP USER", "DROP USER IF EXISTS"),
        };
        self.change_logged(|accounts| {
            let mut outcome = Outcome::new(verb);
            if !if_exists {
                refuse(doing, names.iter().filter(|key| !accounts.contains_key(*key)))?;
            }
            for key in names {
                match accounts.remove(&key) {
                    Some(_) => outcome.accounts.push(name(&key)),
                    None if if_exists => {
                        missing.push(format!("Authorization ID '{}'@'{}' does not exist.", key.0, key.1));
                    }
                    // It is named twice.
                    None => return refuse(doing, [&key].into_iter()).map(|()| outcome),
                }
                for other in accounts.values_mut() {
                    other.roles.remove(&key);
                    other.default_roles.remove(&key);
                }
            }
            Ok(outcome)
        })?;
        missing.into_iter().for_each(|text| self.warnings.note(3162, text));
        Ok(())
    }

    fn rename_users(&mut self, pairs: &[(ast::UserName, ast::UserName)]) -> Result<()> {
        let pairs: Vec<(Key, Key)> =
            pairs.iter().map(|(from, to)| (self.account_name(from), self.account_name(to))).collect();
        pairs.iter().try_for_each(|(_, to)| self.check_name(to))?;
        self.check_system_users(pairs.iter().map(|(from, _)| from))?;
        self.check_not_mandatory(pairs.iter().map(|(from, _)| from))?;
        let repeats = self.applying.is_some();
        self.change_logged(|accounts| {
            let mut outcome = Outcome::new("RENAME USER");
            for (from, to) in pairs {
                let refused = || Error::cannot_user("RENAME USER", &quoted(&from.0, &from.1));
                if accounts.contains_key(&to) {
                    match repeats && !accounts.contains_key(&from) {
                        true => continue,
                        false => return Err(refused()),
                    }
                }
                let mut account = accounts.remove(&from).ok_or_else(refused)?;
                (account.user, account.host) = to.clone();
                accounts.insert(to.clone(), account);
                for other in accounts.values_mut() {
                    if let Some(admin) = other.roles.remove(&from) {
                        other.roles.insert(to.clone(), admin);
                    }
                    if other.default_roles.remove(&from) {
                        other.default_roles.insert(to.clone());
                    }
                }
                outcome.accounts.push(format!("{} TO {}", name(&from), name(&to)));
            }
            Ok(outcome)
        })?;
        Ok(())
    }

    /// Accounts with SYSTEM_USER are changed only by such.
    pub(super) fn check_system_users<'k>(&self, names: impl Iterator<Item = &'k Key>) -> Result<()> {
        if self.rights.is_internal() || self.rights.has_dynamic("SYSTEM_USER") {
            return Ok(());
        }
        let accounts = self.instance.accounts.snapshot();
        for name in names.filter(|name| **name != self.rights.account) {
            if accounts.get(name).is_some_and(|account| account.grants.dynamic.has_name("SYSTEM_USER")) {
                return Err(Error::privilege_needed("SYSTEM_USER"));
            }
        }
        Ok(())
    }

    /// Changes accounts, and logs what became of them.
    fn change_logged(&mut self, change: impl FnOnce(&mut AccountMap) -> Result<Outcome>) -> Result<Vec<(Key, String)>> {
        let mut made = Vec::new();
        self.change_and_log(|accounts| {
            let outcome = change(accounts)?;
            let statement = outcome.statement();
            made = outcome.made;
            Ok(statement)
        })?;
        Ok(made)
    }

    /// The same for a change that tells the statement that does the same elsewhere.
    pub(super) fn change_and_log(
        &mut self,
        change: impl FnOnce(&mut AccountMap) -> Result<Option<String>>,
    ) -> Result<()> {
        let instance = self.instance.clone();
        let accounts = &instance.accounts;
        let _turn = accounts.turn();
        let is_logged = self.own_log().is_some();
        // What a source has sent it sends again, if a crash comes in between.
        let keeps = is_logged && self.applying.is_none();
        let mut statement = None;
        accounts.change(|accounts| {
            statement = change(accounts)?;
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
        let own = self.statement_facts();
        // The server has written the text's literals.
        let facts = StatementFacts { sql_mode: own.sql_mode & !SqlMode::NO_BACKSLASH_ESCAPES.0, ..own };
        let entry = DefinitionLog::new(log, &facts, text.as_bytes(), true);
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
    pub(super) fn account_name(&self, user: &ast::UserName) -> Key {
        match user.current {
            false => (user.user.clone(), user.host.clone()),
            true if self.rights.is_internal() => (self.state.user.clone(), self.state.host.clone()),
            true => self.rights.account.clone(),
        }
    }
}

/// Whether a password may be changed without the current one, and whether the one that was given is right.
fn check_current(
    account: &Account,
    spec: &ast::UserSpec,
    is_own: bool,
    administrates: bool,
    needs_current: bool,
) -> Result<()> {
    if spec.identified == Identified::Nothing {
        return Ok(());
    }
    let requires = account.attributes.requires_current.unwrap_or(needs_current);
    match &spec.replaces {
        Some(_) if !is_own => {
            let text = "Do not specify the current password while changing it for other users.";
            Err(Error::new(3893, b"HY000", text))
        }
        Some(current) if !account.plugin.accepts(current, &account.verifier) => {
            let text = "Incorrect current password. Specify the correct password which has to be replaced.";
            Err(Error::new(3891, b"HY000", text))
        }
        None if is_own && requires && !administrates => {
            let text = "Current password needs to be specified in the REPLACE clause in order to change it.";
            Err(Error::new(3892, b"HY000", text))
        }
        _ => Ok(()),
    }
}
