//! GRANT and REVOKE, of privileges and of roles.
//!
//! A statement is logged with its names resolved: CURRENT_USER and the default database stand for what they meant.

use std::collections::BTreeSet;

use storage::DefinitionKind;

use super::Session;
use super::accounts::{apply_options, identified, name, options_text, unknown_authid};
use crate::accounts::grants::{Grants, Place, Restrictions, RoutineKind, quoted};
use crate::accounts::rights::reached;
use crate::accounts::{Account, AccountMap, Dynamic, Key, Plugin, Privileges, Rights};
use crate::catalog::database_of;
use crate::error::{Error, Result};
use crate::information_schema;
use crate::parser::ast::{self, AccountOptions, GrantLevel, Identified, Lenience, RoleChoice, UserName};
use crate::status::Counter;
use crate::views::View;

/// Where privileges are granted.
enum Level {
    Global,
    Database(String),
    Table(Place),
    Routine(RoutineKind, Place),
}

/// Which.
#[derive(Default)]
struct What {
    plain: Privileges,
    dynamic: Dynamic,
    columns: Vec<(String, Privileges)>,
    /// ALL
    is_all: bool,
}

impl Level {
    /// What ALL means.
    fn all(&self) -> Privileges {
        match self {
            Level::Global => Privileges::GLOBAL,
            Level::Database(_) => Privileges::DATABASE,
            Level::Table(_) => Privileges::TABLE,
            Level::Routine(..) => Privileges::ROUTINE,
        }
    }

    fn text(&self) -> String {
        match self {
            Level::Global => "*.*".to_owned(),
            Level::Database(database) => format!("{}.*", quoted(database)),
            Level::Table((database, table)) => format!("{}.{}", quoted(database), quoted(table)),
            Level::Routine(kind, (database, name)) => {
                format!("{} {}.{}", kind.name(), quoted(database), quoted(name))
            }
        }
    }
}

impl What {
    /// The list of a statement that says the same.
    fn text(&self) -> String {
        let mut parts: Vec<String> = match self.is_all {
            true => vec!["ALL PRIVILEGES".to_owned()],
            false => self.plain.iter().map(|(_, name)| name.to_owned()).collect(),
        };
        if !self.is_all {
            parts.extend(self.dynamic.iter().map(str::to_owned));
        }
        for (column, own) in &self.columns {
            parts.extend(own.iter().map(|(_, name)| format!("{name} ({})", quoted(column))));
        }
        if parts.is_empty() { "USAGE".to_owned() } else { parts.join(", ") }
    }

    fn of_columns(&self) -> Privileges {
        self.columns.iter().fold(Privileges::NONE, |all, (_, own)| all | *own)
    }
}

fn illegal() -> Error {
    let text = "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    Error::new(1144, b"42000", text)
}

fn no_such_grant((user, host): &Key) -> Error {
    Error::new(1141, b"42000", format!("There is no such grant defined for user '{user}' on host '{host}'"))
}

fn does_not_exist((user, host): &Key) -> Error {
    Error::new(3162, b"HY000", format!("Authorization ID '{user}'@'{host}' does not exist."))
}

fn no_such_table_grant((user, host): &Key, table: &str) -> Error {
    let text = format!("There is no such grant defined for user '{user}' on host '{host}' on table '{table}'");
    Error::new(1147, b"42000", text)
}

fn no_such_routine_grant((user, host): &Key, routine: &str) -> Error {
    let text = format!("There is no such grant defined for user '{user}' on host '{host}' on routine '{routine}'");
    Error::new(1403, b"42000", text)
}

fn not_granted(role: &Key, user: &Key) -> Error {
    let text = format!("`{}`@`{}` is not granted to `{}`@`{}`", role.0, role.1, user.0, user.1);
    Error::new(3530, b"HY000", text)
}

impl Session {
    fn grant_level(&self, level: &GrantLevel) -> Result<Level> {
        let current = self.state.database.as_deref();
        let place = |name: &ast::TableName| -> Result<Place> {
            Ok((database_of(name, current)?.to_owned(), name.name.clone()))
        };
        Ok(match level {
            GrantLevel::Global => Level::Global,
            GrantLevel::Database(Some(database)) => Level::Database(database.clone()),
            GrantLevel::Database(None) => {
                // The current database itself, whatever its name looks like.
                let name = current.ok_or_else(Error::no_database)?;
                let literal = self.instance.variables.on("partial_revokes");
                let escaped = |name: &str| name.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%");
                Level::Database(if literal { name.to_owned() } else { escaped(name) })
            }
            GrantLevel::Table(name) => Level::Table(place(name)?),
            GrantLevel::Routine(kind, name) => {
                let kind = RoutineKind::by_name(kind).ok_or_else(illegal)?;
                let (database, routine) = place(name)?;
                Level::Routine(kind, (database, routine.to_lowercase()))
            }
        })
    }

    /// What a list of privileges means at a level.
    fn what(&self, privileges: &[ast::Privilege], level: &Level) -> Result<What> {
        let mut what = What::default();
        for privilege in privileges {
            let name = privilege.name.as_str();
            if matches!(name, "ALL" | "ALL PRIVILEGES") {
                if privileges.len() > 1 || !privilege.columns.is_empty() {
                    return Err(illegal());
                }
                what.is_all = true;
                what.plain = level.all();
                if matches!(level, Level::Global) {
                    what.dynamic = Dynamic::ALL;
                }
                continue;
            }
            if let Some(own) = Privileges::by_name(name) {
                if !privilege.columns.is_empty() {
                    if !Privileges::COLUMN.has(own) || !matches!(level, Level::Table(_)) {
                        return Err(illegal());
                    }
                    what.columns.extend(privilege.columns.iter().map(|column| (column.clone(), own)));
                    continue;
                }
                if !(level.all() | Privileges::GRANT_OPTION).has(own) {
                    return Err(match level {
                        Level::Database(_) => {
                            Error::new(1221, b"HY000", "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES")
                        }
                        _ => illegal(),
                    });
                }
                what.plain |= own;
            } else if let Some(own) = Dynamic::by_name(name) {
                if !matches!(level, Level::Global) || !privilege.columns.is_empty() {
                    return Err(Error::new(3619, b"HY000", format!("Illegal privilege level specified for {name}")));
                }
                what.dynamic = what.dynamic.with(own);
            } else {
                let text = format!("Dynamic privilege '{name}' is not registered with the server.");
                return Err(Error::new(3929, b"HY000", text));
            }
        }
        Ok(what)
    }

    /// One may grant and revoke what one has, if one has GRANT OPTION.
    fn check_may_grant(&self, level: &Level, what: &What) -> Result<()> {
        let rights = &self.rights;
        if rights.is_internal() {
            return Ok(());
        }
        let wanted = what.plain | what.of_columns() | Privileges::GRANT_OPTION;
        match level {
            Level::Global => {
                let is_static = !what.plain.is_empty() || what.dynamic.is_empty();
                if is_static && !rights.has_global(what.plain | Privileges::GRANT_OPTION) {
                    return Err(Error::access_denied(&rights.account.0, &rights.account.1, true));
                }
                match rights.dynamic_grantable().has(what.dynamic) {
                    true => Ok(()),
                    false => Err(Error::privilege_needed("GRANT OPTION")),
                }
            }
            Level::Database(database) => {
                if information_schema::is_virtual(database) && database.eq_ignore_ascii_case("information_schema") {
                    return Err(rights.database_refused(database));
                }
                rights.need_database(wanted, &plain_name(database))
            }
            Level::Table((database, table)) => {
                rights.need_some(wanted, database, table)?;
                rights.need_table(what.plain | Privileges::GRANT_OPTION, database, table)?;
                for (column, own) in &what.columns {
                    rights.need_column(*own, database, table, column)?;
                }
                Ok(())
            }
            Level::Routine(kind, (database, name)) => {
                let missing = wanted - rights.on_routine(database, *kind, name);
                if missing.is_empty() {
                    return Ok(());
                }
                let (user, host) = &rights.account;
                let names = missing.iter().map(|(_, name)| if name == "GRANT OPTION" { "grant" } else { name });
                let names = names.collect::<Vec<_>>().join(", ").to_lowercase();
                let text = format!("{names} command denied to user '{user}'@'{host}' for routine '{database}.{name}'");
                Err(Error::new(1370, b"42000", text))
            }
        }
    }

    /// A grant names what exists, unless it lets somebody create it.
    fn check_grant_target(&self, level: &Level, what: &What) -> Result<()> {
        match level {
            Level::Global | Level::Database(_) => Ok(()),
            Level::Table((database, table)) => {
                if information_schema::table(database, table).is_some() {
                    return Ok(());
                }
                if let Some(view) = information_schema::find_view(&self.instance, database, table) {
                    let known = View::decode(&view.bytes)?.columns;
                    let is_unknown = |name: &&String| !known.iter().any(|column| storage::same_name(column, name));
                    return match what.columns.iter().map(|(name, _)| name).find(is_unknown) {
                        Some(name) => Err(Error::unknown_column(name, table)),
                        None => Ok(()),
                    };
                }
                let Some(found) = self.instance.engine.table(database, table) else {
                    return match what.plain.has(Privileges::CREATE) && what.columns.is_empty() {
                        true => Ok(()),
                        false => Err(Error::no_such_table(database, table)),
                    };
                };
                match what.columns.iter().find(|(column, _)| found.column(column).is_none()) {
                    Some((column, _)) => Err(Error::unknown_column(column, table)),
                    None => Ok(()),
                }
            }
            Level::Routine(kind, (database, name)) => {
                let stored = match kind {
                    RoutineKind::Function => DefinitionKind::Function,
                    RoutineKind::Procedure => DefinitionKind::Procedure,
                };
                if self.instance.engine.definition(stored, database, name).is_some() {
                    return Ok(());
                }
                Err(Error::new(1305, b"42000", format!("{} {database}.{name} does not exist", kind.name())))
            }
        }
    }

    pub(super) fn grant(&mut self, grant: &ast::Grant) -> Result<()> {
        self.status.add(Counter::ComGrant, 1);
        let level = self.grant_level(&grant.level)?;
        let mut what = self.what(&grant.privileges, &level)?;
        let (text, on) = (what.text(), level.text());
        if grant.grant_option && !matches!(level, Level::Global) {
            what.plain |= Privileges::GRANT_OPTION;
        }
        self.check_may_grant(&level, &what)?;
        self.check_grant_target(&level, &what)?;
        let names: Vec<Key> = grant.users.iter().map(|user| self.account_name(&user.name)).collect();
        self.check_system_users(names.iter())?;
        let may_create = self.rights.is_internal() || self.rights.has_global(Privileges::CREATE_USER);
        let restricts = self.instance.variables.on("partial_revokes");
        let grantor = self.grantor_restrictions(grant.grantor.as_ref())?;
        let (requires, limits) = (grant.options.requirement.is_some(), !grant.options.limits.is_empty());
        let mut option = options_text(&AccountOptions { limits: Vec::new(), ..grant.options.clone() });
        if grant.grant_option {
            option += " WITH GRANT OPTION";
        }
        if limits {
            let text = options_text(&AccountOptions { requirement: None, ..grant.options.clone() });
            option += if grant.grant_option { text.trim_start_matches(" WITH") } else { &text };
        }
        // A replica has to know what the grantor could not pass on.
        if matches!(level, Level::Global) && !grantor.is_empty() && grant.grantor.is_none() {
            let roles: Vec<String> = self.rights.active_roles.iter().map(name).collect();
            let roles = if roles.is_empty() { "NONE".to_owned() } else { roles.join(", ") };
            option += &format!(" AS {} WITH ROLE {roles}", name(&self.rights.account));
        }
        self.change_and_log(|accounts| {
            let mut granted = Vec::new();
            for (spec, key) in grant.users.iter().zip(&names) {
                let is_identified = spec.plugin.is_some() || spec.identified != Identified::Nothing;
                if (is_identified || requires || limits) && !may_create {
                    return Err(Error::privilege_needed("CREATE USER"));
                }
                // As MariaDB's dumps write it.
                if is_identified {
                    identify(accounts, spec, key)?;
                }
                let account = accounts
                    .get_mut(key)
                    .ok_or_else(|| Error::new(1410, b"42000", "You are not allowed to create a user with GRANT"))?;
                apply_options(account, &grant.options)?;
                add(&mut account.grants, &level, &what, grant.grant_option, restricts, &grantor);
                granted.push(if is_identified { identified(account) } else { name(key) });
            }
            Ok(Some(format!("GRANT {text} ON {on} TO {}{option}", granted.join(", "))))
        })
    }

    pub(super) fn revoke(&mut self, grant: &ast::Grant, lenience: Lenience) -> Result<()> {
        self.status.add(Counter::ComRevoke, 1);
        let level = self.grant_level(&grant.level)?;
        let what = self.what(&grant.privileges, &level)?;
        self.check_may_grant(&level, &what)?;
        let names: Vec<Key> = grant.users.iter().map(|user| self.account_name(&user.name)).collect();
        self.check_system_users(names.iter())?;
        let restricts = self.instance.variables.on("partial_revokes");
        let grantor = if matches!(level, Level::Global) { self.rights.restrictions() } else { Restrictions::new() };
        let denied = grantor.iter().find(|(_, restricted)| restricted.has_any(what.plain));
        if let Some((database, _)) = denied {
            return Err(Error::database_access_denied(&self.rights.account.0, &self.rights.account.1, database));
        }
        // A source that crashed may send a statement again.
        let passes_over = lenience.if_exists || self.applying.is_some();
        let ignores_unknown = lenience.ignore_unknown_user || self.applying.is_some();
        let (text, on) = (what.text(), level.text());
        let mut noted = Vec::new();
        self.change_and_log(|accounts| {
            let mut revoked = Vec::new();
            for key in &names {
                let Some(account) = accounts.get_mut(key) else {
                    match ignores_unknown {
                        true => noted.push(does_not_exist(key)),
                        false => return Err(no_such_grant(key)),
                    }
                    continue;
                };
                match remove(&mut account.grants, key, &level, &what, restricts) {
                    Ok(()) => revoked.push(name(key)),
                    Err(error) if passes_over => noted.push(error),
                    Err(error) => return Err(error),
                }
            }
            let statement = format!("REVOKE {text} ON {on} FROM {}", revoked.join(", "));
            Ok((!revoked.is_empty()).then_some(statement))
        })?;
        noted.into_iter().for_each(|error| self.warnings.note(error.code, error.message));
        Ok(())
    }

    pub(super) fn revoke_all(&mut self, users: &[UserName], lenience: Lenience) -> Result<()> {
        self.status.add(Counter::ComRevokeAll, 1);
        let names: Vec<Key> = users.iter().map(|user| self.account_name(user)).collect();
        self.check_system_users(names.iter())?;
        let ignores_unknown = lenience.ignore_unknown_user || self.applying.is_some();
        self.change_and_log(|accounts| {
            let mut revoked = Vec::new();
            for key in &names {
                match accounts.get_mut(key) {
                    Some(account) => {
                        account.grants = Grants::default();
                        revoked.push(name(key));
                    }
                    None if ignores_unknown => {}
                    None => {
                        let text = "Can't revoke all privileges for one or more of the requested users";
                        return Err(Error::new(1269, b"HY000", text));
                    }
                }
            }
            let statement = format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {}", revoked.join(", "));
            Ok((!revoked.is_empty()).then_some(statement))
        })
    }

    // ------------------------------------------------------------------------ roles

    /// Who may grant and revoke these roles.
    pub(super) fn check_may_grant_roles(&self, roles: &[Key]) -> Result<()> {
        let rights = &self.rights;
        if rights.is_internal() || rights.is_super_or("ROLE_ADMIN") {
            return Ok(());
        }
        let accounts = self.instance.accounts.snapshot();
        let own = accounts.get(&rights.account);
        let holders = own.into_iter().chain(rights.active_roles.iter().filter_map(|role| accounts.get(role)));
        let holders: Vec<&Account> = holders.collect();
        let has_admin = |role: &Key| holders.iter().any(|holder| holder.roles.get(role) == Some(&true));
        match roles.iter().all(has_admin) {
            true => Ok(()),
            false => Err(Error::privilege_needed("WITH ADMIN, ROLE_ADMIN, SUPER")),
        }
    }

    pub(super) fn grant_roles(&mut self, roles: &[UserName], users: &[UserName], admin_option: bool) -> Result<()> {
        self.status.add(Counter::ComGrantRoles, 1);
        let roles: Vec<Key> = roles.iter().map(|role| self.account_name(role)).collect();
        let users: Vec<Key> = users.iter().map(|user| self.account_name(user)).collect();
        self.check_may_grant_roles(&roles)?;
        self.check_system_users(users.iter())?;
        let option = if admin_option { " WITH ADMIN OPTION" } else { "" };
        self.change_and_log(|accounts| {
            if let Some(missing) = roles.iter().chain(&users).find(|key| !accounts.contains_key(*key)) {
                return Err(unknown_authid(missing));
            }
            for user in &users {
                for role in &roles {
                    if reached(accounts, [role].into_iter()).contains(user) {
                        let text = format!(
                            "User account `{}`@`{}` is directly or indirectly granted to the role `{}`@`{}`. \
                             The GRANT would create a loop",
                            role.0, role.1, user.0, user.1
                        );
                        return Err(Error::new(3631, b"HY000", text));
                    }
                    let Some(account) = accounts.get_mut(user) else { continue };
                    *account.roles.entry(role.clone()).or_default() |= admin_option;
                }
            }
            let list = |keys: &[Key]| keys.iter().map(name).collect::<Vec<_>>().join(", ");
            Ok(Some(format!("GRANT {} TO {}{option}", list(&roles), list(&users))))
        })
    }

    pub(super) fn revoke_roles(&mut self, roles: &[UserName], users: &[UserName], lenience: Lenience) -> Result<()> {
        self.status.add(Counter::ComRevokeRoles, 1);
        let roles: Vec<Key> = roles.iter().map(|role| self.account_name(role)).collect();
        let users: Vec<Key> = users.iter().map(|user| self.account_name(user)).collect();
        self.check_may_grant_roles(&roles)?;
        self.check_system_users(users.iter())?;
        self.check_not_mandatory(roles.iter())?;
        let repeats = self.applying.is_some();
        let mut noted = Vec::new();
        self.change_and_log(|accounts| {
            for user in &users {
                for role in &roles {
                    if !accounts.contains_key(role) && !lenience.if_exists && !repeats {
                        return Err(unknown_authid(role));
                    }
                    let Some(account) = accounts.get_mut(user) else {
                        match lenience.ignore_unknown_user || repeats {
                            true => noted.push(unknown_authid(user)),
                            false => return Err(unknown_authid(user)),
                        }
                        continue;
                    };
                    account.roles.remove(role);
                    account.default_roles.remove(role);
                }
            }
            let list = |keys: &[Key]| keys.iter().map(name).collect::<Vec<_>>().join(", ");
            Ok(Some(format!("REVOKE {} FROM {}", list(&roles), list(&users))))
        })?;
        noted.into_iter().for_each(|error| self.warnings.note(error.code, error.message));
        Ok(())
    }

    /// The roles that everybody has.
    pub(super) fn mandatory_roles(&self) -> Vec<Key> {
        let text = self.instance.variables.text("mandatory_roles");
        let unquoted = |part: &str| part.trim().trim_matches(['`', '\'', '"']).to_owned();
        let role = |text: &str| match text.rsplit_once('@') {
            Some((user, host)) => (unquoted(user), unquoted(host).to_ascii_lowercase()),
            None => (unquoted(text), "%".to_owned()),
        };
        text.split(',').filter(|part| !part.trim().is_empty()).map(role).collect()
    }

    pub(super) fn check_not_mandatory<'k>(&self, mut roles: impl Iterator<Item = &'k Key>) -> Result<()> {
        let mandatory = self.mandatory_roles();
        match roles.find(|role| mandatory.contains(role)) {
            Some((user, host)) => {
                let text = format!(
                    "The role `{user}`@`{host}` is a mandatory role and can't be revoked or dropped. \
                             The restriction can be lifted by excluding the role identifier from the global \
                             variable mandatory_roles."
                );
                Err(Error::new(3628, b"HY000", text))
            }
            None => Ok(()),
        }
    }

    /// The roles that an account may make active.
    pub(super) fn roles_of(&self, accounts: &AccountMap, user: &Key) -> Vec<Key> {
        let mandatory = self.mandatory_roles().into_iter().filter(|role| accounts.contains_key(role) && role != user);
        let own = accounts.get(user).into_iter().flat_map(|account| account.roles.keys().cloned());
        own.chain(mandatory).collect()
    }

    pub(super) fn set_default_roles(&mut self, choice: &RoleChoice, users: &[UserName]) -> Result<()> {
        self.status.add(Counter::ComAlterUserDefaultRole, 1);
        let users: Vec<Key> = users.iter().map(|user| self.account_name(user)).collect();
        let snapshot = self.instance.accounts.snapshot();
        let may_have: Vec<Vec<Key>> = users.iter().map(|user| self.roles_of(&snapshot, user)).collect();
        let named: Option<Vec<Key>> = match choice {
            RoleChoice::Some(roles) => Some(roles.iter().map(|role| self.account_name(role)).collect()),
            RoleChoice::All => None,
            _ => Some(Vec::new()),
        };
        self.change_and_log(|accounts| {
            for (user, may_have) in users.iter().zip(&may_have) {
                let account = accounts.get_mut(user).ok_or_else(|| unknown_authid(user))?;
                let wanted = named.as_ref().unwrap_or(may_have);
                if let Some(role) = wanted.iter().find(|role| !may_have.contains(role)) {
                    return Err(not_granted(role, user));
                }
                account.default_roles = wanted.iter().cloned().collect();
            }
            let list = |keys: &[Key]| keys.iter().map(name).collect::<Vec<_>>().join(", ");
            let roles = match &named {
                None => "ALL".to_owned(),
                Some(roles) if roles.is_empty() => "NONE".to_owned(),
                Some(roles) => list(roles),
            };
            Ok(Some(format!("SET DEFAULT ROLE {roles} TO {}", list(&users))))
        })
    }

    /// SET ROLE
    pub(super) fn set_role(&mut self, choice: &RoleChoice) -> Result<()> {
        self.status.add(Counter::ComSetRole, 1);
        if self.rights.is_internal() {
            return Ok(());
        }
        let accounts = self.instance.accounts.snapshot();
        let active = self.chosen_roles(&accounts, &self.rights.account, choice)?;
        self.activate_roles(active);
        Ok(())
    }

    fn chosen_roles(&self, accounts: &AccountMap, user: &Key, choice: &RoleChoice) -> Result<BTreeSet<Key>> {
        let may_have = self.roles_of(accounts, user);
        let keys = |roles: &[UserName]| -> Result<BTreeSet<Key>> {
            let keys: BTreeSet<Key> = roles.iter().map(|role| self.account_name(role)).collect();
            match keys.iter().find(|role| !may_have.contains(role)) {
                Some(role) => Err(not_granted(role, user)),
                None => Ok(keys),
            }
        };
        Ok(match choice {
            RoleChoice::None => BTreeSet::new(),
            RoleChoice::All => may_have.into_iter().collect(),
            RoleChoice::AllExcept(roles) => {
                let except = keys(roles)?;
                may_have.into_iter().filter(|role| !except.contains(role)).collect()
            }
            RoleChoice::Default => {
                let defaults = accounts.get(user).map(|account| account.default_roles.clone()).unwrap_or_default();
                defaults.into_iter().filter(|role| may_have.contains(role)).collect()
            }
            RoleChoice::Some(roles) => keys(roles)?,
        })
    }

    /// What the session may not pass on, nor the account that GRANT ... AS names: their partial revokes.
    fn grantor_restrictions(&self, grantor: Option<&(UserName, RoleChoice)>) -> Result<Restrictions> {
        let mut all = self.rights.restrictions();
        let Some((user, choice)) = grantor else { return Ok(all) };
        let accounts = self.instance.accounts.snapshot();
        let key = self.account_name(user);
        if !accounts.contains_key(&key) {
            return Err(unknown_authid(&key));
        }
        let roles = self.chosen_roles(&accounts, &key, choice)?;
        for (database, restricted) in Rights::of(&accounts, &key, &[&key.1], roles, true).restrictions() {
            *all.entry(database).or_default() |= restricted;
        }
        Ok(all)
    }
}

/// The name of a database in which wildcards are escaped.
fn plain_name(pattern: &str) -> String {
    let mut name = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => name.extend(chars.next()),
            c => name.push(c),
        }
    }
    name
}

/// GRANT ... IDENTIFIED, which makes the account if there is none.
fn identify(accounts: &mut AccountMap, spec: &ast::UserSpec, key: &Key) -> Result<()> {
    let not_loaded = |name: &String| Error::new(1524, b"HY000", format!("Plugin '{name}' is not loaded"));
    let plugin = spec.plugin.as_ref().map(|name| Plugin::by_name(name).ok_or_else(|| not_loaded(name))).transpose()?;
    if key.0.is_empty() {
        return Err(Error::unsupported("an account without a user's name"));
    }
    let account = accounts
        .entry(key.clone())
        .or_insert_with(|| Account::new(&key.0, &key.1, plugin.unwrap_or(Plugin::CachingSha2Password), ""));
    account.plugin = plugin.unwrap_or(account.plugin);
    match &spec.identified {
        Identified::By(password) => {
            account.verifier = account.plugin.verifier(password, &crate::accounts::password::random_salt());
        }
        Identified::As(verifier) => {
            let verifier = String::from_utf8_lossy(verifier).into_owned();
            if !account.plugin.is_verifier(&verifier) {
                return Err(Error::new(1827, b"HY000", "The password hash doesn't have the expected format."));
            }
            account.verifier = verifier;
        }
        Identified::Nothing if !account.plugin.has_passwords() => account.verifier = String::new(),
        Identified::Nothing => return Err(Error::unsupported("GRANT with a plugin and no password")),
        Identified::ByRandom => return Err(Error::unsupported("GRANT with a random password")),
    }
    Ok(())
}

/// `grantor`: what those who grant may not do themselves.
fn add(grants: &mut Grants, level: &Level, what: &What, grant_option: bool, restricts: bool, grantor: &Restrictions) {
    match level {
        Level::Global => {
            let before = grants.global;
            grants.global |= what.plain;
            // GRANT OPTION of dynamic privileges is theirs alone.
            if grant_option && (!what.plain.is_empty() || what.dynamic.is_empty()) {
                grants.global |= Privileges::GRANT_OPTION;
            }
            grants.dynamic = grants.dynamic.with(what.dynamic);
            if grant_option {
                grants.dynamic_grantable = grants.dynamic_grantable.with(what.dynamic);
            }
            let former = std::mem::take(&mut grants.restrictions);
            for (database, restricted) in &former {
                grants.restrictions.insert(database.clone(), *restricted - what.plain);
            }
            for (database, restricted) in grantor {
                let own = grants.databases.get(database).copied().unwrap_or_default();
                // What the account could do there already it still can.
                let had = (before - former.get(database).copied().unwrap_or_default()) | own;
                *grants.restrictions.entry(database.clone()).or_default() |= (*restricted & what.plain) - had;
            }
        }
        Level::Database(database) => {
            let restricted = grants.restrictions.get(database).copied().unwrap_or_default();
            match restricts && restricted.has(what.plain) && grants.global.has(what.plain) {
                true => {}
                false => *grants.databases.entry(database.clone()).or_default() |= what.plain,
            }
            if let Some(own) = grants.restrictions.get_mut(database) {
                *own -= what.plain;
            }
        }
        Level::Table(place) => {
            let own = grants.tables.entry(place.clone()).or_default();
            own.table |= what.plain;
            for (column, privileges) in &what.columns {
                *own.column_entry(column) |= *privileges;
            }
        }
        Level::Routine(kind, place) => *grants.routines.entry((place.clone(), *kind)).or_default() |= what.plain,
    }
    grants.tidy();
}

fn remove(grants: &mut Grants, key: &Key, level: &Level, what: &What, restricts: bool) -> Result<()> {
    // ALL leaves GRANT OPTION, which is revoked by its name.
    match level {
        Level::Global => {
            grants.global -= what.plain;
            grants.restrictions.values_mut().for_each(|own| *own -= what.plain);
            grants.dynamic = grants.dynamic.without(what.dynamic);
            grants.dynamic_grantable = grants.dynamic_grantable.without(what.dynamic);
        }
        Level::Database(database) => {
            let restricted = what.plain & (grants.global - Privileges::GRANT_OPTION);
            match grants.databases.get_mut(database) {
                Some(own) => *own -= what.plain,
                None if restricts && !restricted.is_empty() => {}
                None => return Err(no_such_grant(key)),
            }
            if restricts && !restricted.is_empty() {
                *grants.restrictions.entry(database.clone()).or_default() |= restricted;
            }
        }
        Level::Table(place) => {
            let own = grants.tables.get_mut(place).ok_or_else(|| no_such_table_grant(key, &place.1))?;
            own.table -= what.plain;
            own.columns.values_mut().for_each(|column| *column -= what.plain);
            for (column, privileges) in &what.columns {
                if !own.column(column).has_any(*privileges) {
                    return Err(no_such_table_grant(key, &place.1));
                }
                *own.column_entry(column) -= *privileges;
            }
        }
        Level::Routine(kind, place) => {
            let own = grants.routines.get_mut(&(place.clone(), *kind));
            *own.ok_or_else(|| no_such_routine_grant(key, &place.1))? -= what.plain;
        }
    }
    grants.tidy();
    Ok(())
}
