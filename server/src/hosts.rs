//! Addresses from which connections failed before login, as MySQL's host cache keeps them.
//!
//! ```text
//! a handshake breaks off, or the password was wrong   -->  errors of the address + 1
//! a login succeeds                                    -->  handshake errors of the address = 0
//! handshake errors > max_connect_errors               -->  refused (1129) until FLUSH HOSTS
//! ```
//!
//! Only breaks of the handshake block, as in MySQL: wrong passwords are counted and shown, but a user who mistypes does
//! not lock out the others behind the address. This machine is never blocked. `host_cache_size` addresses are kept; the
//! one that was seen longest ago makes room.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::SystemTime;

use parking_lot::Mutex;
use sql::transport::HostFacts;

/// The addresses.
#[derive(Default)]
pub struct Hosts {
    known: Mutex<HashMap<IpAddr, HostFacts>>,
}

/// What happened to a connection before its session began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Broken,
    Denied,
    LoggedIn,
    /// It was refused because there were too many of its kind.
    Blocked,
}

impl Hosts {
    pub fn note(&self, address: IpAddr, event: Event, size: usize) {
        if address.is_loopback() || size == 0 {
            return;
        }
        let mut known = self.known.lock();
        if event == Event::LoggedIn && !known.contains_key(&address) {
            return;
        }
        if known.len() >= size && !known.contains_key(&address) {
            let oldest = known.iter().min_by_key(|(_, facts)| facts.last_seen).map(|(address, _)| *address);
            oldest.map(|oldest| known.remove(&oldest));
        }
        let now = SystemTime::now();
        let facts = known.entry(address).or_insert_with(|| HostFacts::new(address, now));
        facts.last_seen = now;
        match event {
            Event::Broken => facts.handshake_errors += 1,
            Event::Denied => facts.authentication_errors += 1,
            Event::LoggedIn => {
                facts.handshake_errors = 0;
                return;
            }
            Event::Blocked => facts.blocked_errors += 1,
        }
        facts.first_error.get_or_insert(now);
        facts.last_error = Some(now);
    }

    pub fn is_blocked(&self, address: IpAddr, errors_max: u64) -> bool {
        let known = self.known.lock();
        known.get(&address).is_some_and(|facts| facts.handshake_errors > errors_max)
    }

    /// FLUSH HOSTS.
    pub fn forget(&self) {
        self.known.lock().clear();
    }

    /// For performance_schema.host_cache.
    pub fn list(&self) -> Vec<HostFacts> {
        self.known.lock().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_blocked_until_it_is_forgotten_or_logs_in() {
        let hosts = Hosts::default();
        let (bad, other): (IpAddr, IpAddr) = ("192.0.2.7".parse().unwrap(), "192.0.2.8".parse().unwrap());
        for _ in 0..3 {
            hosts.note(bad, Event::Broken, 10);
            hosts.note(other, Event::Denied, 10);
        }
        assert!(hosts.is_blocked(bad, 2) && !hosts.is_blocked(bad, 3));
        assert!(!hosts.is_blocked(other, 2));
        hosts.note(bad, Event::LoggedIn, 10);
        assert!(!hosts.is_blocked(bad, 2));
        (0..9).for_each(|_| hosts.note(bad, Event::Broken, 10));
        hosts.forget();
        assert!(!hosts.is_blocked(bad, 2) && hosts.list().is_empty());
        let here: IpAddr = "127.0.0.1".parse().unwrap();
        (0..9).for_each(|_| hosts.note(here, Event::Broken, 10));
        assert!(!hosts.is_blocked(here, 2));
    }

    #[test]
    fn few_addresses_are_kept() {
        let hosts = Hosts::default();
        for number in 0..100 {
            hosts.note(IpAddr::from([192, 0, 2, number]), Event::Broken, 10);
        }
        assert_eq!(hosts.list().len(), 10);
        assert!(hosts.list().iter().any(|facts| facts.address == IpAddr::from([192, 0, 2, 99])));
    }
}
