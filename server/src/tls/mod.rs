//! TLS: which certificates the server shows, whose it accepts, and what it speaks.
//!
//! ```text
//! options, files --load--> Context --every new connection--> ServerConnection
//!                  ^  |
//!      RELOAD TLS  |  +-- cannot be used: the old one stays
//! ```
//!
//! Certificates and keys are PEM files: those that `ssl_ca`, `ssl_cert` and `ssl_key` name, or those that the server
//! made in its data directory. SET changes the variables, and ALTER INSTANCE RELOAD TLS makes the change effective;
//! connections keep what they began with.
//!
//! A client need not show a certificate. One that does must show one that the authority of `ssl_ca` signed; whether an
//! account wants a certificate is decided at login.

mod certificate;
mod generate;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use format::value::Value;
use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use sql::transport::{HostFacts, TlsFacts, TlsSettings, Transport, cipher_name};
use sql::variables::{GlobalVariables, Notice};
use sql::{Error, Instance};
use tracing::warn;

pub use certificate::Certificate;

use crate::hosts::Hosts;

/// What new connections begin with.
struct Context {
    config: Arc<ServerConfig>,
    /// What it was made of, for status variables.
    settings: TlsSettings,
    certificate: Option<Certificate>,
    ciphers: String,
}

/// The variables, as they are now.
fn settings(variables: &GlobalVariables) -> TlsSettings {
    TlsSettings {
        ca: variables.text("ssl_ca"),
        ca_directory: variables.text("ssl_capath"),
        certificate: variables.text("ssl_cert"),
        key: variables.text("ssl_key"),
        ciphers: variables.text("ssl_cipher"),
        suites: variables.text("tls_ciphersuites"),
        revoked: variables.text("ssl_crl"),
        revoked_directory: variables.text("ssl_crlpath"),
        versions: variables.text("tls_version"),
    }
}

/// The server's TLS.
pub struct Tls {
    instance: Arc<Instance>,
    context: RwLock<Option<Context>>,
    accepts: AtomicU64,
    finished: AtomicU64,
    resumed: AtomicU64,
    /// Addresses from which connections failed.
    pub hosts: Hosts,
}

impl Tls {
    /// Reads what the options name, or makes and reads the server's own files. Options that cannot be followed are an
    /// error; own files that cannot be used mean that there is no TLS.
    pub fn open(instance: &Arc<Instance>) -> Result<Arc<Self>, String> {
        let variables = &instance.variables;
        let tls = Self {
            instance: instance.clone(),
            context: RwLock::new(None),
            accepts: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            resumed: AtomicU64::new(0),
            hosts: Hosts::default(),
        };
        let named = ["ssl_ca", "ssl_capath", "ssl_cert", "ssl_key"].iter().any(|name| !variables.is_default(name));
        if !named {
            own_files(instance);
        }
        match Context::load(settings(variables), &instance.datadir) {
            Ok(context) => tls.install(context),
            Err(cause) if named || !variables.is_default("ssl_cipher") || !variables.is_default("tls_ciphersuites") => {
                return Err(format!("cannot set up TLS: {cause}"));
            }
            Err(cause) => {
                warn!("there is no TLS: {cause}");
                tls.install(None);
            }
        }
        let tls = Arc::new(tls);
        instance.set_transport(&(tls.clone() as Arc<dyn Transport>));
        Ok(tls)
    }

    fn install(&self, context: Option<Context>) {
        let have = if context.is_some() { "YES" } else { "DISABLED" };
        for name in ["have_ssl", "have_openssl"] {
            self.instance.variables.fill_in(name, Value::Bytes(have.as_bytes().to_vec()));
        }
        *self.context.write() = context;
    }

    /// What a new connection begins with; `None`: there is no TLS.
    pub fn config(&self) -> Option<Arc<ServerConfig>> {
        self.context.read().as_ref().map(|context| context.config.clone())
    }

    /// A client asked for TLS.
    pub fn count_accept(&self) {
        self.accepts.fetch_add(1, Ordering::Relaxed);
    }

    /// It and the server agreed.
    pub fn count_finished(&self, facts: &TlsFacts) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.resumed.fetch_add(u64::from(facts.is_resumed), Ordering::Relaxed);
    }
}

impl Transport for Tls {
    fn hosts(&self) -> Vec<HostFacts> {
        self.hosts.list()
    }

    fn forget_hosts(&self) {
        self.hosts.forget();
    }

    fn reload(&self, even_without: bool) -> Result<Vec<Notice>, Error> {
        match Context::load(settings(&self.instance.variables), &self.instance.datadir) {
            Ok(context) => {
                self.install(context);
                Ok(Vec::new())
            }
            Err(cause) => {
                let message = format!("Failed to set up SSL because of the following SSL library error: {cause}");
                if !even_without {
                    return Err(Error::new(3888, b"HY000", message));
                }
                self.install(None);
                Ok(vec![Notice { code: 3888, message }])
            }
        }
    }

    fn status(&self) -> Vec<(&'static str, String)> {
        let context = self.context.read();
        let settings = context.as_ref().map(|context| context.settings.clone()).unwrap_or_default();
        let certificate = context.as_ref().and_then(|context| context.certificate.as_ref());
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
        vec![
            ("Current_tls_ca", settings.ca),
            ("Current_tls_capath", settings.ca_directory),
            ("Current_tls_cert", settings.certificate),
            ("Current_tls_cipher", settings.ciphers),
            ("Current_tls_ciphersuites", settings.suites),
            ("Current_tls_crl", settings.revoked),
            ("Current_tls_crlpath", settings.revoked_directory),
            ("Current_tls_key", settings.key),
            ("Current_tls_version", settings.versions),
            ("Ssl_accepts", count(&self.accepts)),
            ("Ssl_finished_accepts", count(&self.finished)),
            ("Ssl_server_not_after", certificate.map(|certificate| certificate.not_after.clone()).unwrap_or_default()),
            (
                "Ssl_server_not_before",
                certificate.map(|certificate| certificate.not_before.clone()).unwrap_or_default(),
            ),
            ("Ssl_session_cache_hits", count(&self.resumed)),
        ]
    }

    fn ciphers(&self) -> String {
        self.context.read().as_ref().map(|context| context.ciphers.clone()).unwrap_or_default()
    }
}

/// Makes the server's own files if there are none, and names them in the variables.
fn own_files(instance: &Instance) {
    let variables = &instance.variables;
    if variables.on("auto_generate_certs")
        && generate::is_needed(&instance.datadir)
        && let Err(cause) = generate::generate(&instance.datadir, &variables.text("hostname"))
    {
        warn!("cannot make certificates in {}: {cause}", instance.datadir.display());
    }
    let names = [("ssl_ca", generate::CA), ("ssl_cert", generate::CERTIFICATE), ("ssl_key", generate::KEY)];
    if names.iter().all(|(_, name)| instance.datadir.join(name).is_file()) {
        for (variable, name) in names {
            variables.fill_in(variable, Value::Bytes(name.as_bytes().to_vec()));
        }
    }
}

impl Context {
    /// `Ok(None)`: nothing asks for TLS, or `tls_version` allows none.
    fn load(settings: TlsSettings, datadir: &Path) -> Result<Option<Self>, String> {
        let versions = settings.versions()?;
        let Some((chain, key)) = settings.identity(datadir)?.filter(|_| !versions.is_empty()) else { return Ok(None) };
        let provider = Arc::new(settings.provider()?);
        let usable = provider.cipher_suites.iter().filter(|suite| versions.contains(&suite.version()));
        let ciphers: Vec<&str> = usable.map(|suite| cipher_name(suite.suite())).collect();
        let ciphers = ciphers.join(":");
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(|cause| cause.to_string())?;
        let roots = settings.authorities(datadir)?;
        let config = if roots.is_empty() {
            config.with_no_client_auth()
        } else {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .with_crls(settings.revoked(datadir)?)
                .allow_unauthenticated()
                .build()
                .map_err(|cause| cause.to_string())?;
            config.with_client_cert_verifier(verifier)
        };
        let certificate = chain.first().and_then(|der| Certificate::parse(der));
        let config = config.with_single_cert(chain, key).map_err(|cause| {
            format!("the certificate {} and the key {}: {cause}", settings.certificate, settings.key)
        })?;
        Ok(Some(Self { config: Arc::new(config), settings, certificate, ciphers }))
    }
}
