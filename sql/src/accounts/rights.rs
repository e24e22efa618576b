//! What a session may do: the grants of its account, of accounts of the same user whose hosts match, and of its active
//! roles, put together once and asked often.
//!
//! As in MySQL, grants on databases and tables belong to a user at the hosts that a pattern stands for, so that they
//! count for each account of this user's that is at such a host; of several databases' patterns the most specific one
//! counts. Global privileges are the account's own. Roles add theirs; with an active role the grants on databases of all are
//! put together, of which those on the name itself count, or else those of all patterns that match it.

use std::collections::{BTreeMap, BTreeSet};

use super::grants::{Place, Restrictions, RoutineKind, TableGrant};
use super::privileges::{Dynamic, Privileges};
use super::{Account, AccountMap, Key, hosts};
use crate::error::{Error, Result};

/// See the module header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// The account: CURRENT_USER().
    pub account: Key,
    /// Where the client is.
    pub client_host: String,
    /// The server's own work: nothing is checked.
    is_internal: bool,
    /// Of the account, and of each active role: what is granted globally, and what of it does not count in databases.
    globals: Vec<(Privileges, Restrictions)>,
    dynamic: Dynamic,
    dynamic_grantable: Dynamic,
    /// The first that matches counts, while no role is active.
    own_databases: Vec<(String, Privileges)>,
    /// With an active role these and the account's own are one list, of which all that match count.
    role_databases: Vec<(String, Privileges)>,
    tables: BTreeMap<Place, TableGrant>,
    routines: BTreeMap<(Place, RoutineKind), Privileges>,
    /// Names of databases are never patterns (`partial_revokes`).
    literal_names: bool,
    pub active_roles: BTreeSet<Key>,
}

impl Rights {
    /// The server's own.
    pub fn internal() -> Rights {
        Rights {
            account: Key::default(),
            client_host: String::new(),
            is_internal: true,
            globals: vec![(Privileges::GLOBAL | Privileges::GRANT_OPTION, Restrictions::new())],
            dynamic: Dynamic::ALL,
            dynamic_grantable: Dynamic::ALL,
            own_databases: Vec::new(),
            role_databases: Vec::new(),
            tables: BTreeMap::new(),
            routines: BTreeMap::new(),
            literal_names: true,
            active_roles: BTreeSet::new(),
        }
    }

    /// Those of an account's client at `hosts`, with these roles active. An account that is gone has none.
    pub fn of(
        accounts: &AccountMap,
        account: &Key,
        hosts: &[&str],
        roles: BTreeSet<Key>,
        literal_names: bool,
    ) -> Rights {
        let mut rights = Rights {
            account: account.clone(),
            client_host: hosts.first().map_or_else(String::new, |host| (*host).to_owned()),
            is_internal: false,
            globals: Vec::new(),
            dynamic: Dynamic::NONE,
            dynamic_grantable: Dynamic::NONE,
            own_databases: Vec::new(),
            role_databases: Vec::new(),
            tables: BTreeMap::new(),
            routines: BTreeMap::new(),
            literal_names,
            active_roles: roles,
        };
        let Some(own) = accounts.get(account) else { return rights };
        rights.dynamic = own.grants.dynamic;
        rights.dynamic_grantable = own.grants.dynamic_grantable;
        rights.globals.push((own.grants.global, own.grants.restrictions.clone()));
        let mut same_user: Vec<&Account> = accounts
            .range((account.0.clone(), String::new())..)
            .map(|(_, other)| other)
            .take_while(|other| other.user == account.0)
            .filter(|other| other.host == account.1 || hosts.iter().any(|host| hosts::matches(&other.host, host)))
            .collect();
        same_user.sort_by_key(|other| std::cmp::Reverse(hosts::specificity(&other.host)));
        for other in same_user {
            let mut databases: Vec<_> = other.grants.databases.iter().collect();
            databases.sort_by_key(|(name, _)| std::cmp::Reverse(exactness(name)));
            rights.own_databases.extend(databases.into_iter().map(|(name, own)| (name.clone(), *own)));
            for (place, own) in &other.grants.tables {
                rights.tables.entry(place.clone()).or_insert_with(|| own.clone());
            }
            for (place, own) in &other.grants.routines {
                rights.routines.entry(place.clone()).or_insert(*own);
            }
        }
        for role in reached(accounts, rights.active_roles.iter()) {
            let Some(role) = accounts.get(&role) else { continue };
            let grants = &role.grants;
            rights.globals.push((grants.global, grants.restrictions.clone()));
            rights.dynamic = rights.dynamic.with(grants.dynamic);
            rights.dynamic_grantable = rights.dynamic_grantable.with(grants.dynamic_grantable);
            rights.role_databases.extend(grants.databases.iter().map(|(name, own)| (name.clone(), *own)));
            for (place, own) in &grants.tables {
                let entry = rights.tables.entry(place.clone()).or_default();
                entry.table |= own.table;
                for (column, own) in &own.columns {
                    *entry.column_entry(column) |= *own;
                }
            }
            for (place, own) in &grants.routines {
                *rights.routines.entry(place.clone()).or_default() |= *own;
            }
        }
        rights
    }

    // ------------------------------------------------------------- what there is

    pub fn global(&self) -> Privileges {
        self.globals.iter().fold(Privileges::NONE, |all, (own, _)| all | *own)
    }

    /// The global privileges that count in a database: a role may have what is revoked from the account there.
    fn global_in(&self, database: &str) -> Privileges {
        let own = |(own, restrictions): &(Privileges, Restrictions)| {
            *own - restrictions.get(database).copied().unwrap_or_default()
        };
        self.globals.iter().fold(Privileges::NONE, |all, source| all | own(source))
    }

    /// The global privileges that do not count in databases, nor are they granted there: nobody may pass on more.
    pub fn restrictions(&self) -> Restrictions {
        let mut all = Restrictions::new();
        for database in self.globals.iter().flat_map(|(_, restrictions)| restrictions.keys()) {
            all.insert(database.clone(), self.global() - self.on_database(database));
        }
        all.retain(|_, restricted| !restricted.is_empty());
        all
    }

    pub fn has_global(&self, wanted: Privileges) -> bool {
        self.global().has(wanted)
    }

    pub fn has_dynamic(&self, name: &str) -> bool {
        self.dynamic.has_name(name)
    }

    /// Whether SUPER or a dynamic privilege allows something.
    pub fn is_super_or(&self, name: &str) -> bool {
        self.has_global(Privileges::SUPER) || self.has_dynamic(name)
    }

    pub fn dynamic_grantable(&self) -> Dynamic {
        self.dynamic_grantable
    }

    pub fn dynamic(&self) -> Dynamic {
        self.dynamic
    }

    fn is_meant(&self, pattern: &str, database: &str) -> bool {
        match self.literal_names {
            true => pattern.replace('\\', "") == database || pattern == database,
            false => hosts::like(pattern.as_bytes(), database.as_bytes(), false),
        }
    }

    /// What was granted on a database itself.
    fn of_database(&self, database: &str) -> Privileges {
        let is_named = |(pattern, _): &&(String, Privileges)| pattern == database;
        let is_meant = |(pattern, _): &&(String, Privileges)| self.is_meant(pattern, database);
        // The name itself counts before patterns, also if it has a wildcard in it.
        if self.active_roles.is_empty() {
            let own = self.own_databases.iter();
            let most_specific = own.clone().find(is_named).or_else(|| own.clone().find(is_meant));
            return most_specific.map_or(Privileges::NONE, |(_, own)| *own);
        }
        let all = self.own_databases.iter().chain(&self.role_databases);
        let union = |all: Privileges, (_, own): &(String, Privileges)| all | *own;
        match all.clone().any(|grant| is_named(&grant)) {
            true => all.filter(is_named).fold(Privileges::NONE, union),
            false => all.filter(is_meant).fold(Privileges::NONE, union),
        }
    }

    /// What may be done with all of a database.
    pub fn on_database(&self, database: &str) -> Privileges {
        if database.eq_ignore_ascii_case("information_schema") {
            return Privileges::SELECT;
        }
        self.global_in(database) | self.of_database(database)
    }

    /// Variables and counters that every session may read.
    fn is_everyones(database: &str, table: &str) -> bool {
        const NAMES: [&str; 4] = ["global_status", "global_variables", "session_status", "session_variables"];
        database.eq_ignore_ascii_case("performance_schema") && NAMES.iter().any(|name| name.eq_ignore_ascii_case(table))
    }

    fn table_grant(&self, database: &str, table: &str) -> Option<&TableGrant> {
        if self.tables.is_empty() {
            return None;
        }
        self.tables.get(&(database.to_owned(), table.to_owned()))
    }

    /// What may be done with all of a table.
    pub fn on_table(&self, database: &str, table: &str) -> Privileges {
        let own = self.table_grant(database, table).map_or(Privileges::NONE, |own| own.table);
        let everyones = Self::is_everyones(database, table);
        let read = if everyones { Privileges::SELECT } else { Privileges::NONE };
        self.on_database(database) | own | read
    }

    /// What may be done with a table or at least one of its columns.
    pub fn on_any_column(&self, database: &str, table: &str) -> Privileges {
        let own = self.table_grant(database, table).map_or(Privileges::NONE, TableGrant::any_column);
        self.on_table(database, table) | own
    }

    pub fn on_column(&self, database: &str, table: &str, column: &str) -> Privileges {
        let own = self.table_grant(database, table).map_or(Privileges::NONE, |own| own.column(column));
        self.on_table(database, table) | own
    }

    pub fn on_routine(&self, database: &str, kind: RoutineKind, name: &str) -> Privileges {
        let place = ((database.to_owned(), name.to_owned()), kind);
        self.on_database(database) | self.routines.get(&place).copied().unwrap_or_default()
    }

    /// Whether the session may know of a database: it has something in it.
    pub fn sees_database(&self, database: &str) -> bool {
        let somewhere = |place: &Place| place.0 == database;
        self.has_global(Privileges::SHOW_DATABASES)
            || self.may_use(database)
            || self.tables.keys().any(somewhere)
            || self.routines.keys().any(|(place, _)| somewhere(place))
    }

    /// Whether the database may be the current one.
    pub fn may_use(&self, database: &str) -> bool {
        self.is_internal
            || ["information_schema", "performance_schema"].iter().any(|name| name.eq_ignore_ascii_case(database))
            || self.on_database(database).has_any(Privileges::DATABASE)
            || self.tables.keys().any(|place| place.0 == database)
            || self.routines.keys().any(|(place, _)| place.0 == database)
    }

    /// Whether the session may know of a table: something can be done with it, or it is named by a grant.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        self.on_table(database, table).has_any(Privileges::TABLE) || self.is_granted_table(database, table)
    }

    fn is_granted_table(&self, database: &str, table: &str) -> bool {
        let is_granted = |own: &TableGrant| !(own.table | own.any_column()).is_empty();
        self.table_grant(database, table).is_some_and(is_granted)
    }

    pub fn sees_column(&self, database: &str, table: &str, column: &str) -> bool {
        self.on_column(database, table, column).has_any(Privileges::COLUMN)
    }

    // ------------------------------------------------------------------- refusals

    /// One of several privileges of which each is enough; `what` names them.
    pub fn need_global(&self, is_allowed: bool, what: &str) -> Result<()> {
        match is_allowed || self.is_internal {
            true => Ok(()),
            false => Err(Error::privilege_needed(what)),
        }
    }

    pub fn need(&self, wanted: Privileges) -> Result<()> {
        self.need_global(self.has_global(wanted), &wanted.names())
    }

    /// FILE, where a file of the server is read into a table.
    pub fn need_file(&self) -> Result<()> {
        match self.is_internal || self.has_global(Privileges::FILE) {
            true => Ok(()),
            false => Err(Error::access_denied(&self.account.0, &self.account.1, true)),
        }
    }

    /// A privilege on all of a database.
    pub fn need_database(&self, wanted: Privileges, database: &str) -> Result<()> {
        match self.is_internal || self.on_database(database).has(wanted) {
            true => Ok(()),
            false => Err(self.database_refused(database)),
        }
    }

    pub fn database_refused(&self, database: &str) -> Error {
        Error::database_access_denied(&self.account.0, &self.account.1, database)
    }

    /// A privilege on a whole table.
    pub fn need_table(&self, wanted: Privileges, database: &str, table: &str) -> Result<()> {
        self.lacks(wanted - self.on_table(database, table), database, table)
    }

    /// A privilege on a table or at least one of its columns; which columns these are is asked later.
    pub fn need_some(&self, wanted: Privileges, database: &str, table: &str) -> Result<()> {
        self.lacks(wanted - self.on_any_column(database, table), database, table)
    }

    /// What a statement does with rows of a table: of INSERT, UPDATE and the like a column is enough here, and which
    /// columns these are is asked later; DELETE is for whole tables.
    pub fn need_for_rows(&self, wanted: Privileges, database: &str, table: &str) -> Result<()> {
        let by_column = wanted & Privileges::COLUMN;
        self.need_some(by_column, database, table)?;
        self.need_table(wanted - by_column, database, table)
    }

    /// At least one of several privileges on a table or its columns.
    pub fn need_any(&self, wanted: Privileges, named: &str, database: &str, table: &str) -> Result<()> {
        match self.is_internal || self.on_any_column(database, table).has_any(wanted) {
            true => Ok(()),
            false => Err(self.table_refused(named, table)),
        }
    }

    /// The same, where a privilege on a column is not enough.
    pub fn need_any_of_table(&self, wanted: Privileges, named: &str, database: &str, table: &str) -> Result<()> {
        match self.is_internal || self.on_table(database, table).has_any(wanted) {
            true => Ok(()),
            false => Err(self.table_refused(named, table)),
        }
    }

    fn lacks(&self, missing: Privileges, database: &str, table: &str) -> Result<()> {
        match missing.is_empty() || self.is_internal {
            true => Ok(()),
            // Nobody has a right to change anything there.
            false if database.eq_ignore_ascii_case("information_schema") => Err(self.database_refused(database)),
            false => Err(self.table_refused(&missing.commands(), table)),
        }
    }

    pub fn table_refused(&self, command: &str, table: &str) -> Error {
        Error::table_access_denied(command, &self.account.0, &self.client_host, table)
    }

    pub fn need_column(&self, wanted: Privileges, database: &str, table: &str, column: &str) -> Result<()> {
        let missing = wanted - self.on_column(database, table, column);
        match missing.is_empty() || self.is_internal {
            true => Ok(()),
            false => {
                let (user, host) = (&self.account.0, &self.client_host);
                Err(Error::column_access_denied(&missing.commands(), user, host, column, table))
            }
        }
    }

    /// At least one of several privileges on a column.
    pub fn need_any_on_column(&self, wanted: Privileges, database: &str, table: &str, column: &str) -> Result<()> {
        match self.is_internal || self.on_column(database, table, column).has_any(wanted) {
            true => Ok(()),
            false => {
                let (user, host) = (&self.account.0, &self.client_host);
                Err(Error::column_access_denied("ANY", user, host, column, table))
            }
        }
    }

    /// Whether a table may be described: it may be read, or something is granted on it or on one of its columns.
    pub fn need_described(&self, database: &str, table: &str) -> Result<()> {
        let may = self.on_table(database, table).has(Privileges::SELECT) || self.is_granted_table(database, table);
        match may || self.is_internal {
            true => Ok(()),
            false => Err(self.table_refused("SELECT", table)),
        }
    }

    /// Whether some columns of a table may be used in this way, and others perhaps not.
    pub fn depends_on_columns(&self, wanted: Privileges, database: &str, table: &str) -> bool {
        !self.is_internal && !self.on_table(database, table).has(wanted)
    }

    pub fn is_internal(&self) -> bool {
        self.is_internal
    }
}

/// How exact a database's pattern is: by where its first wildcard stands, and then by what else it says.
fn exactness(pattern: &str) -> (usize, usize) {
    let said = pattern.bytes().filter(|byte| !matches!(byte, b'%' | b'\\')).count();
    (hosts::wildcard(pattern).unwrap_or(usize::MAX), said)
}

/// Roles, the roles that were granted to them, and so on.
pub fn reached<'k>(accounts: &AccountMap, roles: impl Iterator<Item = &'k Key>) -> BTreeSet<Key> {
    let mut all: BTreeSet<Key> = BTreeSet::new();
    let mut open: Vec<Key> = roles.cloned().collect();
    while let Some(role) = open.pop() {
        if all.insert(role.clone())
            && let Some(account) = accounts.get(&role)
        {
            open.extend(account.roles.keys().cloned());
        }
    }
    all
}
