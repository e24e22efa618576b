//! What statements ask of the part of the server that encrypts connections; a crate above this one does it.

mod settings;

pub use settings::{TlsSettings, cipher_name, version_name};

use std::net::IpAddr;
use std::time::SystemTime;

use crate::error::Result;
use crate::variables::Notice;

/// What TLS agreed upon with a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFacts {
    /// `TLSv1.3`
    pub version: &'static str,
    /// As OpenSSL calls it.
    pub cipher: &'static str,
    /// The client continued an earlier session of TLS.
    pub is_resumed: bool,
    /// Whom the client's certificate names, and who signed it (`/C=SE/O=Example/CN=app`), if it showed one that a
    /// certificate of `ssl_ca` has signed.
    pub subject: Option<String>,
    pub issuer: Option<String>,
}

/// What a session's connection is like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFacts {
    /// CONNECTION_ID()
    pub id: u32,
    pub tls: Option<TlsFacts>,
    /// The algorithm and the level of the compressed protocol.
    pub compression: Option<(&'static str, i32)>,
}

/// An address from which connections failed, as performance_schema.host_cache shows it.
#[derive(Clone, Debug)]
pub struct HostFacts {
    pub address: IpAddr,
    /// Since the last login that succeeded.
    pub handshake_errors: u64,
    pub authentication_errors: u64,
    /// Connections that were refused for the errors before them.
    pub blocked_errors: u64,
    pub first_seen: SystemTime,
    pub last_seen: SystemTime,
    pub first_error: Option<SystemTime>,
    pub last_error: Option<SystemTime>,
}

impl HostFacts {
    pub fn new(address: IpAddr, now: SystemTime) -> HostFacts {
        HostFacts {
            address,
            handshake_errors: 0,
            authentication_errors: 0,
            blocked_errors: 0,
            first_seen: now,
            last_seen: now,
            first_error: None,
            last_error: None,
        }
    }
}

/// The server's side of TLS, and what it knows of addresses.
pub trait Transport: Send + Sync {
    fn hosts(&self) -> Vec<HostFacts>;

    /// FLUSH HOSTS.
    fn forget_hosts(&self);

    /// ALTER INSTANCE RELOAD TLS: reads certificates and keys again. If they cannot be used, the old ones stay; with
    /// `even_without` (NO ROLLBACK ON ERROR) there is no TLS from then on, and the fault is a warning.
    fn reload(&self, even_without: bool) -> Result<Vec<Notice>>;

    /// Status variables of the server.
    fn status(&self) -> Vec<(&'static str, String)>;

    /// Ciphers that may be used, as `Ssl_cipher_list` shows them.
    fn ciphers(&self) -> String;
}
