//! Accounts: which users may log in, from which hosts, with which password, and what they may do.
//!
//! | module | idea |
//! |---|---|
//! | `privileges` | sets of privileges, and their names |
//! | `grants` | what an account was granted, level by level |
//! | `rights` | what a session may do: its account's grants and its roles' |
//! | `attributes` | what an account demands of connections and passwords |
//! | `describe` | SHOW CREATE USER, SHOW GRANTS |
//! | `admission` | who comes in, and how much an account may take |
//! | `hosts` | which hosts a pattern stands for, and which of several counts |
//! | `file` | the file in the data directory |
//! | `password` | what is left of a password |
//!
//! All accounts are in memory, and in one text file in the data directory (its lines are told in `file`). A statement
//! changes a copy of the map, and the copy takes the map's place when it is on disk. Each change counts a version up; a
//! session that sees another version than the one its [`Rights`] were made from makes them anew, so that GRANT and
//! REVOKE take effect with the next statement of every session, and a statement costs one atomic load.
//!
//! With a binary log, a change comes first, together with a line `unlogged <tab> statement`; then the statement is logged,
//! and the line goes. A start that finds the line logs the statement (again), before anybody is served. So the log has
//! each change at least once; the statements say what becomes of an account, and may be repeated.
//!
//! Invariants:
//!
//! * A change is on disk when the call returns: the file is written anew beside the
//!   old one, synced, and renamed over it, and the directory is synced.
//! * Of several accounts that match a client, the one with the most specific host
//!   counts, as in MySQL.
//!
//! Not here: how a client proves that it knows a password (`server::auth`), and which statement needs which privilege
//! (`session::privileges`, `planner`).

pub mod admission;
pub mod attributes;
pub mod describe;
mod file;
pub mod grants;
pub mod hosts;
pub mod password;
pub mod privileges;
pub mod rights;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::error::Error;
use attributes::Attributes;
use grants::Grants;

pub use privileges::{Dynamic, Privileges};
pub use rights::Rights;

/// The file's name in the data directory.
pub const FILE_NAME: &str = "accounts";

/// How a client proves its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    NativePassword,
    CachingSha2Password,
    /// Like the one before, but that each login shows the password itself: on TLS, or encrypted.
    Sha256Password,
    /// The user of the system that the client's process belongs to, on the Unix socket. The verifier is that user's name;
    /// empty: the account's.
    Socket,
}

impl Plugin {
    pub fn name(self) -> &'static str {
        match self {
            Self::NativePassword => "mysql_native_password",
            Self::CachingSha2Password => "caching_sha2_password",
            Self::Sha256Password => "sha256_password",
            Self::Socket => "auth_socket",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("unix_socket") {
            return Some(Self::Socket); // MariaDB's name.
        }
        let all = [Self::NativePassword, Self::CachingSha2Password, Self::Sha256Password, Self::Socket];
        all.into_iter().find(|plugin| plugin.name().eq_ignore_ascii_case(name))
    }

    /// Whether a text can be what is left of a password.
    pub fn is_verifier(self, text: &str) -> bool {
        text.is_empty()
            || match self {
                Self::NativePassword => password::native_hash(text).is_some(),
                Self::CachingSha2Password => password::is_sha2_verifier(text),
                Self::Sha256Password => password::is_sha256_verifier(text),
                Self::Socket => true,
            }
    }

    /// Whether a password is the one of a verifier.
    pub fn accepts(self, password: &[u8], verifier: &str) -> bool {
        match self {
            Self::Socket => false,
            _ if verifier.is_empty() => password.is_empty(),
            Self::NativePassword => {
                password::native_verifier(password).eq_ignore_ascii_case(verifier) && !password.is_empty()
            }
            Self::CachingSha2Password => password::sha2_matches(password, verifier),
            Self::Sha256Password => password::sha256_matches(password, verifier),
        }
    }

    /// Whether accounts of this kind have passwords.
    pub fn has_passwords(self) -> bool {
        self != Self::Socket
    }

    /// What is kept of a password. `salt` is 20 random bytes, which all but mysql_native_password use.
    pub fn verifier(self, password: &[u8], salt: &[u8; 20]) -> String {
        if password.is_empty() {
            return String::new();
        }
        match self {
            Self::NativePassword => password::native_verifier(password),
            Self::CachingSha2Password => password::sha2_verifier(password, salt),
            Self::Sha256Password => password::sha256_verifier(password, salt),
            Self::Socket => String::new(),
        }
    }
}

/// User and host.
pub type Key = (String, String);

/// An account or a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub user: String,
    /// A host name, an address, a network, or a pattern with `%` and `_`.
    pub host: String,
    pub plugin: Plugin,
    /// What is left of the password; empty for none.
    pub verifier: String,
    pub locked: bool,
    /// Made by CREATE ROLE: nobody logs in with it, unless ALTER USER unlocks it.
    pub is_role: bool,
    pub attributes: Attributes,
    pub grants: Grants,
    /// The roles that were granted to it, and whether it may grant them to others.
    pub roles: BTreeMap<Key, bool>,
    /// Those that are active after login.
    pub default_roles: BTreeSet<Key>,
}

impl Account {
    /// An account that may log in and nothing else.
    pub fn new(user: &str, host: &str, plugin: Plugin, verifier: &str) -> Account {
        Account {
            user: user.to_owned(),
            host: host.to_owned(),
            plugin,
            verifier: verifier.to_owned(),
            locked: false,
            is_role: false,
            attributes: Attributes::default(),
            grants: Grants::default(),
            roles: BTreeMap::new(),
            default_roles: BTreeSet::new(),
        }
    }

    pub fn key(&self) -> Key {
        (self.user.clone(), self.host.clone())
    }

    /// Whether one connection is kept for this account when there are too many.
    pub fn may_administrate(&self) -> bool {
        self.grants.global.has(Privileges::SUPER) || self.grants.dynamic.has_name("CONNECTION_ADMIN")
    }
}

/// Accounts by user and host.
pub type AccountMap = BTreeMap<Key, Account>;

/// All accounts of a server.
pub struct Accounts {
    accounts: RwLock<Arc<AccountMap>>,
    /// Counts the changes.
    version: AtomicU64,
    /// The statement of the last change, as long as it is not in the binary log.
    unlogged: Mutex<Option<String>>,
    /// Held from a change until its statement is logged.
    turn: Mutex<()>,
    /// `None`: nothing is kept (tests).
    path: Option<PathBuf>,
}

impl Accounts {
    /// Makes the file with the accounts of a new server: root's, one for each host, who may do everything.
    pub fn create(datadir: &Path, roots: Vec<Account>) -> io::Result<()> {
        let all = |account: Account| Account { grants: Grants::everything(), ..account };
        let accounts: AccountMap = roots.into_iter().map(all).map(|account| (account.key(), account)).collect();
        file::write(&datadir.join(FILE_NAME), &accounts, None)
    }

    /// Reads the file of a data directory.
    pub fn open(datadir: &Path) -> io::Result<Self> {
        let path = datadir.join(FILE_NAME);
        let (accounts, unlogged) = file::read(&path)?;
        Ok(Self::of(accounts, unlogged, Some(path)))
    }

    /// Accounts that live as long as the process: root without a password, who may do everything.
    pub fn in_memory() -> Self {
        let mut root = Account::new("root", "localhost", Plugin::CachingSha2Password, "");
        root.grants = Grants::everything();
        Self::of(BTreeMap::from([(root.key(), root)]), None, None)
    }

    fn of(accounts: AccountMap, unlogged: Option<String>, path: Option<PathBuf>) -> Self {
        Self {
            accounts: RwLock::new(Arc::new(accounts)),
            version: AtomicU64::new(1),
            unlogged: Mutex::new(unlogged),
            turn: Mutex::new(()),
            path,
        }
    }

    /// The accounts as they are now.
    pub fn snapshot(&self) -> Arc<AccountMap> {
        self.accounts.read().clone()
    }

    /// Changes whenever rights may have changed.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Something beside the accounts has changed what they may do.
    pub fn count_change(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The account for a client that calls itself `user`. `hosts` are the names of the place it comes from:
    /// an address, and `localhost` if it is on this machine; `localhost` alone for the socket.
    ///
    /// Of accounts for the address and for `localhost` the latter counts, unless it is one of auth_socket and the client
    /// came over TCP: then the address does, as it does in MySQL since 8.0.23. So root@localhost of a new server does not
    /// keep root@127.0.0.1 out.
    pub fn find(&self, user: &str, hosts: &[&str]) -> Option<Account> {
        let accounts = self.snapshot();
        let matching = accounts
            .range((user.to_owned(), String::new())..)
            .map(|(_, account)| account)
            .take_while(|account| account.user == user)
            .filter(|account| hosts.iter().any(|host| hosts::matches(&account.host, host)));
        let over_tcp = hosts.len() > 1;
        matching
            .max_by_key(|account| (hosts::specificity(&account.host), !(over_tcp && account.plugin == Plugin::Socket)))
            .cloned()
    }

    pub fn get(&self, user: &str, host: &str) -> Option<Account> {
        self.accounts.read().get(&(user.to_owned(), host.to_owned())).cloned()
    }

    /// Whether an account has partial revokes.
    pub fn have_restrictions(&self) -> bool {
        self.accounts.read().values().any(|account| !account.grants.restrictions.is_empty())
    }

    pub fn list(&self) -> Vec<Account> {
        self.accounts.read().values().cloned().collect()
    }

    /// Adds an account.
    pub fn create_account(&self, account: Account) -> Result<(), Error> {
        self.change(|accounts| {
            let key = account.key();
            if accounts.contains_key(&key) {
                return Err(Error::cannot_user("CREATE USER", &quoted(&account.user, &account.host)));
            }
            accounts.insert(key, account.clone());
            Ok(None)
        })
    }

    /// Changes a copy, saves it, and only then makes it valid. `change` returns the statement that is to be logged.
    pub fn change(&self, change: impl FnOnce(&mut AccountMap) -> Result<Option<String>, Error>) -> Result<(), Error> {
        let mut accounts = self.accounts.write();
        let mut changed = AccountMap::clone(&accounts);
        let statement = change(&mut changed)?;
        if changed == **accounts && statement.is_none() {
            return Ok(());
        }
        self.save(&changed, statement.as_deref())?;
        *accounts = Arc::new(changed);
        self.count_change();
        *self.unlogged.lock() = statement;
        Ok(())
    }

    fn save(&self, accounts: &AccountMap, unlogged: Option<&str>) -> Result<(), Error> {
        let Some(path) = &self.path else { return Ok(()) };
        file::write(path, accounts, unlogged).map_err(|cause| match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::disk_full(FILE_NAME),
            _ => Error::internal(format_args!("cannot write {FILE_NAME}: {cause}")),
        })
    }

    /// Those who change and log take turns, so that the log has the order of the changes.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }

    /// The statement of a change that is not in the binary log, or perhaps is, because a crash came in between.
    pub fn unlogged(&self) -> Option<String> {
        self.unlogged.lock().clone()
    }

    /// It is in the log.
    pub fn logged(&self) -> Result<(), Error> {
        let accounts = self.accounts.write();
        if self.unlogged.lock().take().is_some() {
            self.save(&accounts, None)?;
        }
        Ok(())
    }
}

/// Changes an account that is to be there. `doing`: the statement, for an error.
pub fn account_of<'m>(
    accounts: &'m mut AccountMap,
    doing: &'static str,
    user: &str,
    host: &str,
) -> Result<&'m mut Account, Error> {
    let account = accounts.get_mut(&(user.to_owned(), host.to_owned()));
    account.ok_or_else(|| Error::cannot_user(doing, &quoted(user, host)))
}

pub fn quoted(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn account(user: &str, host: &str) -> Account {
        Account::new(user, host, Plugin::NativePassword, &password::native_verifier(b"x"))
    }

    #[test]
    fn accounts_are_there_after_reopening() {
        let directory = std::env::temp_dir().join(format!("glassine-accounts-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let roots = ["localhost", "127.0.0.1", "::1"].map(|host| account("root", host));
        Accounts::create(&directory, roots.to_vec()).unwrap();
        let accounts = Accounts::open(&directory).unwrap();
        assert_eq!(accounts.list().len(), 3);
        accounts.create_account(Account { locked: true, ..account("a\tb%", "10.%") }).unwrap();
        let change = |accounts: &mut AccountMap| {
            let root = account_of(accounts, "ALTER USER", "root", "localhost")?;
            root.plugin = Plugin::CachingSha2Password;
            root.verifier = root.plugin.verifier(b"new", &[b'a'; 20]);
            accounts.remove(&("root".to_owned(), "::1".to_owned()));
            Ok(Some("ALTER USER\t100%\n".to_owned()))
        };
        accounts.change(change).unwrap();
        let refused = accounts.change(|accounts| account_of(accounts, "DROP USER", "root", "::1").map(|_| None));
        assert_eq!(refused.unwrap_err().code, 1396);
        let again = Accounts::open(&directory).unwrap();
        assert_eq!(again.list(), accounts.list());
        assert_eq!(again.unlogged().as_deref(), Some("ALTER USER\t100%\n"));
        again.logged().unwrap();
        let last = Accounts::open(&directory).unwrap();
        assert_eq!((last.list(), last.unlogged()), (accounts.list(), None));
        let root = again.get("root", "localhost").unwrap();
        assert!(password::sha2_matches(b"new", &root.verifier));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn the_most_specific_host_counts() {
        let accounts = Accounts::in_memory();
        for host in ["%", "10.%", "10.0.0.7"] {
            accounts.create_account(account("app", host)).unwrap();
        }
        let host = |address| accounts.find("app", &[address]).map(|account| account.host);
        assert_eq!(host("10.0.0.7").as_deref(), Some("10.0.0.7"));
        assert_eq!(host("10.0.0.8").as_deref(), Some("10.%"));
        assert_eq!(host("192.168.0.1").as_deref(), Some("%"));
        assert_eq!(accounts.find("root", &["10.0.0.7"]), None);
        assert!(accounts.find("root", &["127.0.0.1", "localhost"]).is_some());
    }

    #[test]
    fn an_account_of_the_socket_leaves_tcp_to_that_of_the_address() {
        let accounts = Accounts::in_memory();
        for host in ["localhost", "127.0.0.1", "::1"] {
            accounts.create_account(account("passworded", host)).unwrap();
            accounts.create_account(account("vouched", host)).unwrap();
        }
        let vouch = |accounts: &mut AccountMap| {
            account_of(accounts, "ALTER USER", "vouched", "localhost")?.plugin = Plugin::Socket;
            Ok(None)
        };
        accounts.change(vouch).unwrap();
        let host = |user, hosts: &[&str]| accounts.find(user, hosts).unwrap().host;
        assert_eq!(host("vouched", &["localhost"]), "localhost");
        assert_eq!(host("vouched", &["127.0.0.1", "localhost"]), "127.0.0.1");
        assert_eq!(host("vouched", &["::1", "localhost"]), "::1");
        // As it was before there were such accounts: whoever changed the password of one keeps the account.
        assert_eq!(host("passworded", &["127.0.0.1", "localhost"]), "localhost");
    }
}
