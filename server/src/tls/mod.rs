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

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use format::value::Value;
use parking_lot::RwLock;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{CipherSuite, ProtocolVersion, RootCertStore, ServerConfig, SupportedProtocolVersion};
use sql::transport::{TlsFacts, Transport};
use sql::variables::{GlobalVariables, Notice};
use sql::{Error, Instance};
use tracing::warn;

pub use certificate::Certificate;

/// The cipher suites by the names that OpenSSL and so MySQL gives them.
const CIPHERS: &[(CipherSuite, &str)] = &[
    (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
    (CipherSuite::TLS13_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256"),
    (CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-ECDSA-CHACHA20-POLY1305"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "ECDHE-RSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE-RSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-RSA-CHACHA20-POLY1305"),
];

pub fn cipher_name(suite: CipherSuite) -> &'static str {
    CIPHERS.iter().find(|(known, _)| *known == suite).map_or("", |(_, name)| name)
}

pub fn version_name(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_3 => "TLSv1.3",
        ProtocolVersion::TLSv1_2 => "TLSv1.2",
        _ => "",
    }
}

/// What new connections begin with.
struct Context {
    config: Arc<ServerConfig>,
    /// What it was made of, for status variables.
    settings: Settings,
    certificate: Option<Certificate>,
    ciphers: String,
}

/// The variables, as they were when they were read.
#[derive(Debug, Clone, Default)]
struct Settings {
    ca: String,
    ca_directory: String,
    certificate: String,
    key: String,
    ciphers: String,
    suites: String,
    revoked: String,
    revoked_directory: String,
    versions: String,
}

impl Settings {
    fn read(variables: &GlobalVariables) -> Self {
        Self {
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
}

/// The server's TLS.
pub struct Tls {
    instance: Arc<Instance>,
    context: RwLock<Option<Context>>,
    accepts: AtomicU64,
    finished: AtomicU64,
    resumed: AtomicU64,
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
        };
        let named = ["ssl_ca", "ssl_capath", "ssl_cert", "ssl_key"].iter().any(|name| !variables.is_default(name));
        if !named {
            own_files(instance);
        }
        match Context::load(Settings::read(variables), &instance.datadir) {
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
    fn reload(&self, even_without: bool) -> Result<Vec<Notice>, Error> {
        match Context::load(Settings::read(&self.instance.variables), &self.instance.datadir) {
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
    if variables.on("auto_generate_certs") && generate::is_needed(&instance.datadir) {
        if let Err(cause) = generate::generate(&instance.datadir, &variables.text("hostname")) {
            warn!("cannot make certificates in {}: {cause}", instance.datadir.display());
        }
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
    fn load(settings: Settings, datadir: &Path) -> Result<Option<Self>, String> {
        let versions = versions(&settings.versions)?;
        if versions.is_empty() || settings.certificate.is_empty() && settings.key.is_empty() {
            return Ok(None);
        }
        let chain = read_all(&datadir.join(&settings.certificate), "certificate")?;
        let key_path = datadir.join(&settings.key);
        let key = PrivateKeyDer::from_pem_file(&key_path)
            .map_err(|cause| format!("cannot read the private key {}: {cause}", key_path.display()))?;
        let mut provider = ring::default_provider();
        provider.cipher_suites.retain(|suite| is_allowed(&settings, suite.suite()));
        if provider.cipher_suites.is_empty() {
            return Err("ssl_cipher and tls_ciphersuites leave no cipher".to_owned());
        }
        let mut ciphers = String::new();
        for suite in &provider.cipher_suites {
            if versions.contains(&suite.version()) {
                let _ = write!(ciphers, "{}{}", if ciphers.is_empty() { "" } else { ":" }, cipher_name(suite.suite()));
            }
        }
        let provider = Arc::new(provider);
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(|cause| cause.to_string())?;
        let mut roots = RootCertStore::empty();
        for certificate in read_settings::<CertificateDer<'_>>(datadir, &settings.ca, &settings.ca_directory)? {
            roots.add(certificate).map_err(|cause| format!("a certificate of ssl_ca: {cause}"))?;
        }
        let config = if roots.is_empty() {
            config.with_no_client_auth()
        } else {
            let revoked = read_settings::<CertificateRevocationListDer<'_>>(
                datadir,
                &settings.revoked,
                &settings.revoked_directory,
            )?;
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .with_crls(revoked)
                .allow_unauthenticated()
                .build()
                .map_err(|cause| cause.to_string())?;
            config.with_client_cert_verifier(verifier)
        };
        let certificate = chain.first().and_then(|der: &CertificateDer<'_>| Certificate::parse(der));
        let config = config.with_single_cert(chain, key).map_err(|cause| {
            format!("the certificate {} and the key {}: {cause}", settings.certificate, settings.key)
        })?;
        Ok(Some(Self { config: Arc::new(config), settings, certificate, ciphers }))
    }
}

/// `tls_version`: names separated by commas.
fn versions(text: &str) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let mut versions = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name.to_ascii_uppercase().as_str() {
            "TLSV1.2" => versions.push(&rustls::version::TLS12),
            "TLSV1.3" => versions.push(&rustls::version::TLS13),
            _ => return Err(format!("tls_version: there is TLSv1.2 and TLSv1.3, but no '{name}'")),
        }
    }
    Ok(versions)
}

/// `ssl_cipher` is about TLS 1.2, `tls_ciphersuites` about 1.3: names separated by colons; empty means all.
fn is_allowed(settings: &Settings, suite: CipherSuite) -> bool {
    let name = cipher_name(suite);
    let list = if name.starts_with("TLS_") { &settings.suites } else { &settings.ciphers };
    list.is_empty() || list.split([':', ',', ' ']).any(|allowed| allowed.eq_ignore_ascii_case(name))
}

/// What a file and the files of a directory hold; empty names are nothing.
fn read_settings<T: PemObject>(datadir: &Path, file: &str, directory: &str) -> Result<Vec<T>, String> {
    let mut files: Vec<PathBuf> = Vec::new();
    if !file.is_empty() {
        files.push(datadir.join(file));
    }
    if !directory.is_empty() {
        let path = datadir.join(directory);
        let entries = fs::read_dir(&path).map_err(|cause| format!("cannot read {}: {cause}", path.display()))?;
        files.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
    }
    let mut all = Vec::new();
    for path in files {
        all.extend(read_all(&path, "file")?);
    }
    Ok(all)
}

fn read_all<T: PemObject>(path: &Path, what: &str) -> Result<Vec<T>, String> {
    let cannot = |cause: &dyn std::fmt::Display| format!("cannot read the {what} {}: {cause}", path.display());
    let bytes = fs::read(path).map_err(|cause| cannot(&cause))?;
    let objects: Result<Vec<T>, _> = T::pem_slice_iter(&bytes).collect();
    match objects {
        Ok(objects) if objects.is_empty() => Err(cannot(&"there is nothing of this kind in it")),
        Ok(objects) => Ok(objects),
        Err(cause) => Err(cannot(&cause)),
    }
}
