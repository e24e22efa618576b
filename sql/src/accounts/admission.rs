//! Who comes in, and how much of the server an account may take.
//!
//! A client that has proved its password is admitted if the account lets it: [`admit`] decides by the account and what is
//! known of the connection, and keeps nothing. What has to be counted (wrong passwords, statements by the hour,
//! connections) is counted here in memory, and begins anew with each start of the server, as in MySQL.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use super::attributes::{Lifetime, Limits, LockTime};
use super::{Account, Key};
use crate::error::{Error, Result};
use crate::transport::TlsFacts;

const HOUR: Duration = Duration::from_secs(3600);
const DAY_SECONDS: u64 = 86_400;

/// How a client may come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Full,
    /// The password has expired: all it may do is change it.
    Expired,
}

/// Whether a client that has proved its password may come in. `lifetime_days` is what passwords live that are of no
/// lifetime of their own; 0 is forever.
pub fn admit(account: &Account, tls: Option<&TlsFacts>, host: &str, lifetime_days: u64) -> Result<Admission> {
    if account.locked {
        let message = format!("Access denied for user '{}'@'{host}'. Account is locked.", account.user);
        return Err(Error::new(3118, b"HY000", message));
    }
    if !account.attributes.transport.admits(tls) {
        return Err(Error::access_denied(&account.user, host, !account.verifier.is_empty()));
    }
    let own = &account.attributes;
    let days = match own.lifetime {
        Lifetime::Default => lifetime_days,
        Lifetime::Never => 0,
        Lifetime::Days(days) => u64::from(days),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let is_old = days > 0 && own.password_seconds > 0 && now >= own.password_seconds + days * DAY_SECONDS;
    Ok(if own.is_expired || is_old { Admission::Expired } else { Admission::Full })
}

/// What an account has taken in this hour, and its wrong passwords in a row.
#[derive(Debug)]
struct Taken {
    hour: Instant,
    queries: u32,
    updates: u32,
    connections: u32,
    failures: u32,
    locked_since: Option<Instant>,
    /// Connections now.
    open: u32,
}

impl Default for Taken {
    fn default() -> Self {
        Self { hour: Instant::now(), queries: 0, updates: 0, connections: 0, failures: 0, locked_since: None, open: 0 }
    }
}

impl Taken {
    fn turn_hour(&mut self) {
        if self.hour.elapsed() >= HOUR {
            (self.hour, self.queries, self.updates, self.connections) = (Instant::now(), 0, 0, 0);
        }
    }
}

type Counts = Arc<Mutex<HashMap<Key, Taken>>>;

/// What all accounts have taken.
#[derive(Default)]
pub struct Usage {
    counts: Counts,
}

/// One connection's part of its account. Its end gives the connection back.
pub struct Share {
    counts: Counts,
    key: Key,
    limits: Limits,
}

fn exceeded(user: &str, what: &str, current: u32) -> Error {
    let text = format!("User '{user}' has exceeded the '{what}' resource (current value: {current})");
    Error::new(1226, b"42000", text)
}

impl Usage {
    /// A password is about to be checked: not if too many were wrong.
    pub fn check_failures(&self, account: &Account, host: &str) -> Result<()> {
        let own = &account.attributes;
        if own.failed_attempts_max == 0 || own.lock_time == LockTime::Days(0) {
            return Ok(());
        }
        let mut counts = self.counts.lock();
        let Some(taken) = counts.get_mut(&account.key()) else { return Ok(()) };
        let Some(since) = taken.locked_since else { return Ok(()) };
        let (days, left) = match own.lock_time {
            LockTime::Unbounded => ("unlimited".to_owned(), "unlimited".to_owned()),
            LockTime::Days(days) => {
                let passed = since.elapsed().as_secs() / DAY_SECONDS;
                if passed >= u64::from(days) {
                    (taken.failures, taken.locked_since) = (0, None);
                    return Ok(());
                }
                (days.to_string(), (u64::from(days) - passed).to_string())
            }
        };
        let text = format!(
            "Access denied for user '{}'@'{host}'. Account is blocked for {days} day(s) ({left} day(s) remaining) due to \
             {} consecutive failed logins.",
            account.user, taken.failures
        );
        Err(Error::new(3955, b"HY000", text))
    }

    /// A password was wrong.
    pub fn count_failure(&self, account: &Account) {
        let own = &account.attributes;
        if own.failed_attempts_max == 0 || own.lock_time == LockTime::Days(0) {
            return;
        }
        let mut counts = self.counts.lock();
        let taken = counts.entry(account.key()).or_default();
        taken.failures += 1;
        if taken.failures >= own.failed_attempts_max && taken.locked_since.is_none() {
            taken.locked_since = Some(Instant::now());
        }
    }

    /// A client has logged in: its account may have room for it. `connections_max` is the server's limit for accounts
    /// without one; 0 is none. `None` = nothing of the account is limited.
    pub fn enter(&self, account: &Account, connections_max: u32) -> Result<Option<Share>> {
        let mut limits = account.attributes.limits;
        if limits.user_connections == 0 {
            limits.user_connections = connections_max;
        }
        let mut counts = self.counts.lock();
        if let Some(taken) = counts.get_mut(&account.key()) {
            (taken.failures, taken.locked_since) = (0, None);
        }
        if limits == Limits::default() {
            return Ok(None);
        }
        let taken = counts.entry(account.key()).or_default();
        taken.turn_hour();
        if limits.user_connections > 0 && taken.open >= limits.user_connections {
            return Err(exceeded(&account.user, "max_user_connections", taken.open));
        }
        if limits.connections_per_hour > 0 && taken.connections >= limits.connections_per_hour {
            return Err(exceeded(&account.user, "max_connections_per_hour", taken.connections));
        }
        taken.connections += 1;
        taken.open += 1;
        Ok(Some(Share { counts: self.counts.clone(), key: account.key(), limits }))
    }

    /// FLUSH USER_RESOURCES, FLUSH PRIVILEGES: the hours begin anew, and locks for wrong passwords end.
    pub fn restart(&self) {
        for taken in self.counts.lock().values_mut() {
            *taken = Taken { open: taken.open, ..Taken::default() };
        }
    }

    /// ALTER USER ... ACCOUNT UNLOCK ends the lock for wrong passwords.
    pub fn forgive(&self, key: &Key) {
        if let Some(taken) = self.counts.lock().get_mut(key) {
            (taken.failures, taken.locked_since) = (0, None);
        }
    }
}

impl Share {
    /// A statement begins.
    pub fn count_query(&self) -> Result<()> {
        let most = self.limits.queries_per_hour;
        if most == 0 {
            return Ok(());
        }
        let mut counts = self.counts.lock();
        let taken = counts.entry(self.key.clone()).or_default();
        taken.turn_hour();
        if taken.queries >= most {
            return Err(exceeded(&self.key.0, "max_questions", taken.queries));
        }
        taken.queries += 1;
        Ok(())
    }

    /// A statement begins that changes something.
    pub fn count_update(&self) -> Result<()> {
        let most = self.limits.updates_per_hour;
        if most == 0 {
            return Ok(());
        }
        let mut counts = self.counts.lock();
        let taken = counts.entry(self.key.clone()).or_default();
        taken.turn_hour();
        if taken.updates >= most {
            return Err(exceeded(&self.key.0, "max_updates", taken.updates));
        }
        taken.updates += 1;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(taken) = self.counts.lock().get_mut(&self.key) {
            taken.open = taken.open.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Plugin;
    use super::super::attributes::Transport;
    use super::*;

    fn account() -> Account {
        Account::new("app", "%", Plugin::NativePassword, "*AB")
    }

    #[test]
    fn a_connection_is_what_the_account_requires() {
        let tls = TlsFacts { cipher: "A", ..TlsFacts::default() };
        let certified = TlsFacts { subject: Some("/CN=a".into()), issuer: Some("/CN=ca".into()), ..tls.clone() };
        let specified = |cipher: Option<&str>, issuer: Option<&str>, subject: Option<&str>| Transport::Specified {
            cipher: cipher.map(str::to_owned),
            issuer: issuer.map(str::to_owned),
            subject: subject.map(str::to_owned),
        };
        for (transport, admitted) in [
            (Transport::Any, [true, true, true]),
            (Transport::Ssl, [false, true, true]),
            (Transport::X509, [false, false, true]),
            (specified(Some("A"), None, None), [false, true, true]),
            (specified(Some("B"), None, None), [false, false, false]),
            (specified(None, Some("/CN=ca"), Some("/CN=a")), [false, false, true]),
            (specified(None, Some("/CN=ca"), Some("/CN=b")), [false, false, false]),
        ] {
            let mut account = account();
            account.attributes.transport = transport.clone();
            let came = [None, Some(&tls), Some(&certified)].map(|tls| admit(&account, tls, "h", 0).is_ok());
            assert_eq!(came, admitted, "{transport:?}");
        }
    }

    #[test]
    fn locked_accounts_and_old_passwords_are_told_apart() {
        let mut own = account();
        own.attributes.password_seconds = 1;
        assert_eq!(admit(&own, None, "h", 0).unwrap(), Admission::Full);
        assert_eq!(admit(&own, None, "h", 1).unwrap(), Admission::Expired);
        own.attributes.lifetime = Lifetime::Never;
        assert_eq!(admit(&own, None, "h", 1).unwrap(), Admission::Full);
        own.attributes.is_expired = true;
        assert_eq!(admit(&own, None, "h", 0).unwrap(), Admission::Expired);
        own.locked = true;
        assert_eq!(admit(&own, None, "h", 0).unwrap_err().code, 3118);
    }

    #[test]
    fn wrong_passwords_lock_the_account_until_it_is_forgiven() {
        let usage = Usage::default();
        let mut own = account();
        (own.attributes.failed_attempts_max, own.attributes.lock_time) = (2, LockTime::Unbounded);
        usage.count_failure(&own);
        assert!(usage.check_failures(&own, "h").is_ok());
        usage.count_failure(&own);
        assert_eq!(usage.check_failures(&own, "h").unwrap_err().code, 3955);
        usage.forgive(&own.key());
        assert!(usage.check_failures(&own, "h").is_ok());
        // A success in between begins the row anew.
        usage.count_failure(&own);
        usage.enter(&own, 0).unwrap();
        usage.count_failure(&own);
        assert!(usage.check_failures(&own, "h").is_ok());
    }

    #[test]
    fn an_account_takes_no_more_than_its_limits() {
        let usage = Usage::default();
        assert!(usage.enter(&account(), 0).unwrap().is_none());
        let mut own = account();
        own.attributes.limits =
            Limits { queries_per_hour: 2, updates_per_hour: 1, connections_per_hour: 3, user_connections: 1 };
        let share = usage.enter(&own, 0).unwrap().unwrap();
        let code = |result: Result<()>| result.err().map(|error| error.code);
        let queries = [(); 3].map(|()| code(share.count_query()));
        assert_eq!(queries, [None, None, Some(1226)]);
        assert_eq!([(); 2].map(|()| code(share.count_update())), [None, Some(1226)]);
        assert_eq!(usage.enter(&own, 0).err().map(|error| error.code), Some(1226));
        drop(share);
        for _ in 0..2 {
            assert!(usage.enter(&own, 0).is_ok());
        }
        // The fourth connection of this hour.
        assert_eq!(usage.enter(&own, 0).err().map(|error| error.code), Some(1226));
        usage.restart();
        assert!(usage.enter(&own, 0).is_ok());
    }
}
