//! What statements ask of the part of the server that encrypts connections; a crate above this one does it.

mod settings;

pub use settings::{TlsSettings, cipher_name, version_name};

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
    pub tls: Option<TlsFacts>,
    /// The algorithm and the level of the compressed protocol.
    pub compression: Option<(&'static str, i32)>,
}

/// The server's side of TLS.
pub trait Transport: Send + Sync {
    /// ALTER INSTANCE RELOAD TLS: reads certificates and keys again. If they cannot be used, the old ones stay; with
    /// `even_without` (NO ROLLBACK ON ERROR) there is no TLS from then on, and the fault is a warning.
    fn reload(&self, even_without: bool) -> Result<Vec<Notice>>;

    /// Status variables of the server.
    fn status(&self) -> Vec<(&'static str, String)>;

    /// Ciphers that may be used, as `Ssl_cipher_list` shows them.
    fn ciphers(&self) -> String;
}
