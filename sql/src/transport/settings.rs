//! What a side of TLS is given: files, and what may be agreed upon. Servers and replicas read it alike.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::{CipherSuite, ProtocolVersion, RootCertStore, SupportedProtocolVersion};

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

/// The options of TLS. A text that is empty was not given; relative paths count from a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// Whose signatures make the other side's certificate valid: a file, and a directory of files.
    pub ca: String,
    pub ca_directory: String,
    /// What this side shows, and the key to it.
    pub certificate: String,
    pub key: String,
    /// Of TLS 1.2, and of 1.3; separated by colons.
    pub ciphers: String,
    pub suites: String,
    /// Certificates that are not valid any more: a file, and a directory of files.
    pub revoked: String,
    pub revoked_directory: String,
    /// `TLSv1.2,TLSv1.3`
    pub versions: String,
}

impl TlsSettings {
    /// The versions that may be agreed upon; none: TLS is off.
    pub fn versions(&self) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
        let mut versions = Vec::new();
        for name in self.versions.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.to_ascii_uppercase().as_str() {
                "TLSV1.2" => versions.push(&rustls::version::TLS12),
                "TLSV1.3" => versions.push(&rustls::version::TLS13),
                _ => return Err(format!("tls_version: there is TLSv1.2 and TLSv1.3, but no '{name}'")),
            }
        }
        Ok(versions)
    }

    /// The arithmetic, with the ciphers that are allowed.
    pub fn provider(&self) -> Result<CryptoProvider, String> {
        let mut provider = ring::default_provider();
        provider.cipher_suites.retain(|suite| {
            let name = cipher_name(suite.suite());
            let list = if name.starts_with("TLS_") { &self.suites } else { &self.ciphers };
            list.is_empty() || list.split([':', ',', ' ']).any(|allowed| allowed.eq_ignore_ascii_case(name))
        });
        // A list of names that nobody knows would be no list at all.
        for (variable, list, is_of_tls13) in
            [("ssl_cipher", &self.ciphers, false), ("tls_ciphersuites", &self.suites, true)]
        {
            let mut left = provider.cipher_suites.iter().map(|suite| cipher_name(suite.suite()));
            if !list.is_empty() && !left.any(|name| name.starts_with("TLS_") == is_of_tls13) {
                return Err(format!("{variable}: there is no cipher of '{list}'"));
            }
        }
        Ok(provider)
    }

    pub fn authorities(&self, directory: &Path) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        for certificate in read_files::<CertificateDer<'_>>(directory, &self.ca, &self.ca_directory)? {
            roots.add(certificate).map_err(|cause| format!("a certificate of ssl_ca: {cause}"))?;
        }
        Ok(roots)
    }

    pub fn revoked(&self, directory: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
        read_files(directory, &self.revoked, &self.revoked_directory)
    }

    /// The certificate that this side shows, with its chain, and the key; `None`: it shows none.
    pub fn identity(
        &self,
        directory: &Path,
    ) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>, String> {
        if self.certificate.is_empty() && self.key.is_empty() {
            return Ok(None);
        }
        let chain = read_all(&directory.join(&self.certificate))?;
        let path = directory.join(&self.key);
        let key = PrivateKeyDer::from_pem_file(&path).map_err(|cause| cannot_read(&path, &cause))?;
        Ok(Some((chain, key)))
    }
}

/// What a file and the files of a directory hold; empty names are nothing.
fn read_files<T: PemObject>(base: &Path, file: &str, directory: &str) -> Result<Vec<T>, String> {
    let mut files: Vec<PathBuf> = Vec::new();
    if !file.is_empty() {
        files.push(base.join(file));
    }
    if !directory.is_empty() {
        let path = base.join(directory);
        let entries = fs::read_dir(&path).map_err(|cause| cannot_read(&path, &cause))?;
        files.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
    }
    let mut all = Vec::new();
    for path in files {
        all.extend(read_all(&path)?);
    }
    Ok(all)
}

fn read_all<T: PemObject>(path: &Path) -> Result<Vec<T>, String> {
    let bytes = fs::read(path).map_err(|cause| cannot_read(path, &cause))?;
    let objects: Result<Vec<T>, _> = T::pem_slice_iter(&bytes).collect();
    match objects {
        Ok(objects) if objects.is_empty() => Err(cannot_read(path, &"it holds nothing of the kind that is expected")),
        Ok(objects) => Ok(objects),
        Err(cause) => Err(cannot_read(path, &cause)),
    }
}

fn cannot_read(path: &Path, cause: &dyn Display) -> String {
    format!("cannot read {}: {cause}", path.display())
}
