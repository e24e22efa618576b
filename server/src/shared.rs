//! What all connections of a server share, beside the instance: their number, the cache of passwords, and whether the
//! server is stopping.
//!
//! ```text
//!   accepted:   max_connections + 1 sockets; a newcomer beyond that closes the one that has been logging in for longest,
//!               or else the oldest of the address that has the most of them
//!   logged in:  max_connections sessions, and one more for an account that may administrate
//! ```
//!
//! So neither sessions nor sockets that never log in keep an administrator out
//! (`conversation::an_administrator_finds_a_slot`).

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::net::{IpAddr, Shutdown};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sql::Instance;
use sql::accounts::{Account, Plugin};
use sql::status::Counter;

use crate::auth::{PasswordCache, ServerKey};
use crate::socket::{Peer, Socket};
use crate::tls::Tls;

/// A socket that logs in keeps its place for this long when there are too many.
const LOGIN_PATIENCE: Duration = Duration::from_secs(1);

/// What all connections share.
pub struct Shared {
    pub instance: Arc<Instance>,
    pub passwords: PasswordCache,
    pub key: ServerKey,
    pub tls: Arc<Tls>,
    /// A verifier of no password, for unknown users.
    nobody: String,
    /// The same in the form of sha256_password.
    nobody_256: String,
    /// By which unknown users get their plugin.
    strangers: std::hash::RandomState,
    sockets: Mutex<Sockets>,
    stopping: AtomicBool,
    shutdown_requested: Mutex<bool>,
    shutdown_signal: Condvar,
}

impl Shared {
    pub fn new(instance: Arc<Instance>, tls: Arc<Tls>) -> Self {
        Self {
            instance,
            tls,
            passwords: PasswordCache::default(),
            key: ServerKey::default(),
            nobody: Plugin::CachingSha2Password.verifier(&rand::random::<[u8; 32]>(), b"nobody.nobody.nobody"),
            nobody_256: Plugin::Sha256Password.verifier(&rand::random::<[u8; 32]>(), b"nobody.nobody.nobody"),
            strangers: std::hash::RandomState::new(),
            sockets: Mutex::default(),
            stopping: AtomicBool::new(false),
            shutdown_requested: Mutex::new(false),
            shutdown_signal: Condvar::new(),
        }
    }

    /// An account for a user that has none: always of the same plugin, which is one of those that the known accounts have,
    /// as often as they have it; so that the plugin does not tell who exists.
    pub fn stranger(&self, user: &str, host: &str) -> Account {
        let accounts = self.instance.accounts.snapshot();
        let at = self.strangers.hash_one(user) as usize % accounts.len().max(1);
        let model = accounts.values().nth(at);
        let plugin = model.map_or(Plugin::CachingSha2Password, |account| account.plugin);
        match plugin {
            Plugin::NativePassword => {
                let digits: String = (0..40).map(|at| format!("{:X}", self.strangers.hash_one(at) & 15)).collect();
                Account::new(user, host, plugin, &format!("*{digits}"))
            }
            // What the socket decides takes no step of its own.
            Plugin::CachingSha2Password | Plugin::Sha256Password | Plugin::Socket => {
                let (plugin, verifier) = match plugin {
                    Plugin::Sha256Password => (plugin, &self.nobody_256),
                    _ => (Plugin::CachingSha2Password, &self.nobody),
                };
                let mut account = Account::new(user, host, plugin, verifier);
                // A second password takes a second comparison.
                if model.is_some_and(|account| account.attributes.second_verifier.is_some()) {
                    account.attributes.second_verifier = Some(verifier.clone());
                }
                account
            }
        }
    }

    /// Connections that have a thread.
    pub fn live_count(&self) -> usize {
        self.sockets.lock().open
    }

    /// No more clients are accepted.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// A client, or the operator, wants the server to stop.
    pub fn request_shutdown(&self) {
        *self.shutdown_requested.lock() = true;
        self.shutdown_signal.notify_all();
    }

    /// Waits for a request to stop.
    pub fn wait_for_shutdown_request(&self) {
        let mut requested = self.shutdown_requested.lock();
        while !*requested {
            self.shutdown_signal.wait(&mut requested);
        }
    }

    pub fn shutdown_is_requested(&self) -> bool {
        *self.shutdown_requested.lock()
    }

    /// The answer to COM_STATISTICS.
    pub fn statistics(&self) -> String {
        let status = &self.instance.status;
        let uptime = status.uptime_seconds();
        let questions = status.total(Counter::Questions);
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 1  Open tables: 0  Queries per second avg: {:.3}",
            self.instance.processes.len(),
            status.total(Counter::SlowQueries),
            questions as f64 / uptime.max(1) as f64,
        )
    }
}

/// The connections by how far they are.
#[derive(Default)]
struct Sockets {
    /// Those that have a thread.
    open: usize,
    /// Those of them that have logged in.
    sessions: usize,
    /// Those of them that have not, in the order in which they came.
    logging_in: BTreeMap<u64, LoggingIn>,
    next: u64,
}

struct LoggingIn {
    since: Instant,
    socket: Socket,
    from: Option<IpAddr>,
}

impl Sockets {
    /// The socket that makes room for a newcomer. One address has room taken from it at once, however quickly it comes
    /// again, if others have fewer.
    fn least_missed(&self, from: Option<IpAddr>) -> Option<u64> {
        let (oldest, patient) = self.logging_in.first_key_value()?;
        if patient.since.elapsed() > LOGIN_PATIENCE {
            return Some(*oldest);
        }
        let mut counts: HashMap<Option<IpAddr>, usize> = HashMap::new();
        self.logging_in.values().for_each(|other| *counts.entry(other.from).or_default() += 1);
        let (crowd, count) = counts.iter().max_by_key(|(_, count)| **count)?;
        let own = counts.get(&from).copied().unwrap_or_default();
        let of_crowd = self.logging_in.iter().find(|(_, other)| other.from == *crowd);
        of_crowd.filter(|_| *count > own + 1).map(|(number, _)| *number)
    }
}

/// Counts a connection as long as it lives, panics included.
pub struct Live {
    shared: Arc<Shared>,
    number: u64,
    has_session: bool,
}

impl Live {
    /// One more connection; `None` if there are too many.
    pub fn begin(shared: &Arc<Shared>, connections_max: usize, socket: &Socket, peer: &Peer) -> Option<Self> {
        let socket = socket.try_clone().ok()?;
        let from = match peer {
            Peer::Socket => None,
            Peer::Tcp(address) => Some(address.ip().to_canonical()),
        };
        let mut sockets = shared.sockets.lock();
        // Connections that are ending are not counted.
        if sockets.sessions + sockets.logging_in.len() > connections_max {
            let number = sockets.least_missed(from)?;
            // Its thread ends with its socket.
            sockets.logging_in.remove(&number)?.socket.shutdown(Shutdown::Both);
        }
        let number = sockets.next;
        sockets.next += 1;
        sockets.open += 1;
        sockets.logging_in.insert(number, LoggingIn { since: Instant::now(), socket, from });
        Some(Self { shared: shared.clone(), number, has_session: false })
    }

    /// The client has proved its identity. False: there are too many sessions.
    pub fn begin_session(&mut self, connections_max: usize, may_administrate: bool) -> bool {
        let mut sockets = self.shared.sockets.lock();
        let reserved = usize::from(may_administrate);
        let begins = sockets.logging_in.remove(&self.number).is_some() && sockets.sessions < connections_max + reserved;
        sockets.sessions += usize::from(begins);
        self.has_session = begins;
        begins
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let mut sockets = self.shared.sockets.lock();
        sockets.open -= 1;
        sockets.sessions -= usize::from(self.has_session);
        sockets.logging_in.remove(&self.number);
    }
}
