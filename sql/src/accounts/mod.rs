//! Accounts: which users may log in, from which hosts, and with which password.
//!
//! They stand in one text file in the data directory, `accounts`, a line each:
//!
//! ```text
//! user <tab> host <tab> plugin <tab> verifier <tab> flags
//! root    localhost       caching_sha2_password   -                               -
//! app     10.0.%          mysql_native_password   *2470C0C06DEE42FD1618BB99...    locked
//! ```
//!
//! Names are percent-encoded where they hold a tab, a line end or a percent sign. A
//! verifier is what is left of a password (`mysql.user.authentication_string`); `-`
//! is the empty password.
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
//! Not here: how a client proves that it knows a password (`server::auth`), and
//! privileges: an account may do everything, for now.

pub mod password;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::error::Error;

/// The file's name in the data directory.
pub const FILE_NAME: &str = "accounts";

/// How a client proves its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    NativePassword,
    CachingSha2Password,
}

impl Plugin {
    pub fn name(self) -> &'static str {
        match self {
            Self::NativePassword => "mysql_native_password",
            Self::CachingSha2Password => "caching_sha2_password",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        [Self::NativePassword, Self::CachingSha2Password].into_iter().find(|p| p.name().eq_ignore_ascii_case(name))
    }

    /// What is kept of a password. `salt` is 20 random bytes, which caching_sha2_password uses.
    pub fn verifier(self, password: &[u8], salt: &[u8; 20]) -> String {
        if password.is_empty() {
            return String::new();
        }
        match self {
            Self::NativePassword => password::native_verifier(password),
            Self::CachingSha2Password => password::sha2_verifier(password, salt),
        }
    }
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub user: String,
    /// A host name, an address, or a pattern with `%` and `_`.
    pub host: String,
    pub plugin: Plugin,
    /// What is left of the password; empty for none.
    pub verifier: String,
    pub locked: bool,
}

impl Account {
    /// Whether one connection is kept for this account when there are too many. Every account may do everything, so the
    /// administrator is the account that a new server has.
    pub fn may_administrate(&self) -> bool {
        self.user == "root"
    }
}

/// Accounts by user and host.
pub type AccountMap = BTreeMap<(String, String), Account>;

/// All accounts of a server.
pub struct Accounts {
    accounts: RwLock<AccountMap>,
    /// The statement of the last change, as long as it is not in the binary log.
    unlogged: Mutex<Option<String>>,
    /// Held from a change until its statement is logged.
    turn: Mutex<()>,
    /// `None`: nothing is kept (tests).
    path: Option<PathBuf>,
}

impl Accounts {
    /// Makes the file with the accounts of a new server: root, from this machine only.
    pub fn create(datadir: &Path, root: &dyn Fn(&str) -> Account) -> io::Result<()> {
        let accounts: BTreeMap<_, _> = ["localhost", "127.0.0.1", "::1"]
            .into_iter()
            .map(|host| (("root".to_owned(), host.to_owned()), root(host)))
            .collect();
        save(&datadir.join(FILE_NAME), &accounts, None)
    }

    /// Reads the file of a data directory.
    pub fn open(datadir: &Path) -> io::Result<Self> {
        let path = datadir.join(FILE_NAME);
        let text = fs::read_to_string(&path)?;
        let mut accounts = BTreeMap::new();
        let mut unlogged = None;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if let Some(statement) = line.strip_prefix(UNLOGGED).and_then(decode) {
                unlogged = Some(statement);
                continue;
            }
            let account = parse(line).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("line {} of {}", index + 1, path.display()))
            })?;
            accounts.insert((account.user.clone(), account.host.clone()), account);
        }
        Ok(Self {
            accounts: RwLock::new(accounts),
            unlogged: Mutex::new(unlogged),
            turn: Mutex::new(()),
            path: Some(path),
        })
    }

    /// Accounts that live as long as the process: root without a password.
    pub fn in_memory() -> Self {
        let root = Account {
            user: "root".to_owned(),
            host: "localhost".to_owned(),
            plugin: Plugin::CachingSha2Password,
            verifier: String::new(),
            locked: false,
        };
        let accounts = BTreeMap::from([((root.user.clone(), root.host.clone()), root)]);
        Self { accounts: RwLock::new(accounts), unlogged: Mutex::new(None), turn: Mutex::new(()), path: None }
    }

    /// The account for a client that calls itself `user`. `hosts` are the names of the place it comes from:
    /// an address, and `localhost` if it is on this machine.
    pub fn find(&self, user: &str, hosts: &[&str]) -> Option<Account> {
        let accounts = self.accounts.read();
        let matching = accounts
            .values()
            .filter(|account| account.user == user || account.user.is_empty())
            .filter(|account| hosts.iter().any(|host| matches_host(&account.host, host)));
        // An account for everybody (no user name) comes after those for this user.
        matching.max_by_key(|account| (specificity(&account.host), !account.user.is_empty())).cloned()
    }

    pub fn get(&self, user: &str, host: &str) -> Option<Account> {
        self.accounts.read().get(&(user.to_owned(), host.to_owned())).cloned()
    }

    pub fn list(&self) -> Vec<Account> {
        self.accounts.read().values().cloned().collect()
    }

    /// CREATE USER
    pub fn create_account(&self, account: Account) -> Result<(), Error> {
        self.change(|accounts| {
            let key = (account.user.clone(), account.host.clone());
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
        let mut changed = accounts.clone();
        let statement = change(&mut changed)?;
        self.save(&changed, statement.as_deref())?;
        *accounts = changed;
        *self.unlogged.lock() = statement;
        Ok(())
    }

    fn save(&self, accounts: &AccountMap, unlogged: Option<&str>) -> Result<(), Error> {
        let Some(path) = &self.path else { return Ok(()) };
        save(path, accounts, unlogged)
            .map_err(|cause| Error::internal(format_args!("cannot write {FILE_NAME}: {cause}")))
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

/// What begins the line of a statement that is not logged.
const UNLOGGED: &str = "unlogged\t";

pub fn quoted(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}

fn save(path: &Path, accounts: &AccountMap, unlogged: Option<&str>) -> io::Result<()> {
    let mut text = unlogged.map_or(String::new(), |statement| format!("{UNLOGGED}{}\n", encode(statement)));
    for account in accounts.values() {
        let verifier = if account.verifier.is_empty() { "-" } else { &account.verifier };
        let flags = if account.locked { "locked" } else { "-" };
        let fields = [&encode(&account.user), &encode(&account.host), account.plugin.name(), &encode(verifier), flags];
        text.push_str(&fields.join("\t"));
        text.push('\n');
    }
    let beside = path.with_extension("new");
    let mut file = private_file(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(directory)?.sync_all()
}

/// A new file that only its owner can read: it tells about passwords.
fn private_file(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn parse(line: &str) -> Option<Account> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [user, host, plugin, verifier, flags] = fields[..] else {
        return None;
    };
    Some(Account {
        user: decode(user)?,
        host: decode(host)?,
        plugin: Plugin::by_name(plugin)?,
        verifier: if verifier == "-" { String::new() } else { decode(verifier)? },
        locked: match flags {
            "locked" => true,
            "-" => false,
            _ => return None,
        },
    })
}

/// Percent-encodes what would break a line.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '%' | '\t' | '\n' | '\r' => encoded.push_str(&format!("%{:02X}", c as u32)),
            c => encoded.push(c),
        }
    }
    encoded
}

fn decode(text: &str) -> Option<String> {
    let mut decoded = String::with_capacity(text.len());
    let mut parts = text.split('%');
    decoded.push_str(parts.next()?);
    for part in parts {
        let code = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        decoded.push(code as char);
        decoded.push_str(&part[2..]);
    }
    Some(decoded)
}

/// Whether a host matches an account's pattern: `%` is any text, `_` any character.
fn matches_host(pattern: &str, host: &str) -> bool {
    fn matches(pattern: &[u8], host: &[u8]) -> bool {
        match pattern.split_first() {
            None => host.is_empty(),
            Some((b'%', rest)) => (0..=host.len()).any(|skipped| matches(rest, &host[skipped..])),
            Some((b'_', rest)) => !host.is_empty() && matches(rest, &host[1..]),
            Some((byte, rest)) => {
                host.first().is_some_and(|h| h.eq_ignore_ascii_case(byte)) && matches(rest, &host[1..])
            }
        }
    }
    matches(pattern.as_bytes(), host.as_bytes())
}

/// Hosts without a wildcard first, then those whose wildcard comes late.
fn specificity(pattern: &str) -> usize {
    pattern.bytes().position(|byte| matches!(byte, b'%' | b'_')).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str, host: &str) -> Account {
        Account {
            user: user.to_owned(),
            host: host.to_owned(),
            plugin: Plugin::NativePassword,
            verifier: password::native_verifier(b"x"),
            locked: false,
        }
    }

    #[test]
    fn accounts_are_there_after_reopening() {
        let directory = std::env::temp_dir().join(format!("glassine-accounts-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        Accounts::create(&directory, &|host| account("root", host)).unwrap();
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
}
