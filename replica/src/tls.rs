//! TLS of a client: a replica, or a command that reads a server's log.
//!
//! ```text
//! mode              encrypted            the server's certificate
//! DISABLED          no
//! PREFERRED         if the server can    may be anybody's
//! REQUIRED          yes                  may be anybody's
//! VERIFY_CA         yes                  is signed by one of `ca`
//! VERIFY_IDENTITY   yes                  and names the host
//! ```

use std::fmt::Display;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use sql::transport::TlsSettings;

use crate::link::Link;

/// What is asked of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Disabled,
    Preferred,
    Required,
    VerifyCa,
    VerifyIdentity,
}

impl Mode {
    pub fn by_name(name: &str) -> Option<Mode> {
        Some(match name.to_ascii_uppercase().as_str() {
            "DISABLED" => Mode::Disabled,
            "PREFERRED" => Mode::Preferred,
            "REQUIRED" => Mode::Required,
            "VERIFY_CA" => Mode::VerifyCa,
            "VERIFY_IDENTITY" => Mode::VerifyIdentity,
            _ => return None,
        })
    }
}

/// A connection, encrypted or not.
pub enum Channel {
    Plain(Link),
    Encrypted(Box<StreamOwned<ClientConnection, Link>>),
}

impl Channel {
    pub fn link(&self) -> &Link {
        match self {
            Channel::Plain(link) => link,
            Channel::Encrypted(stream) => stream.get_ref(),
        }
    }

    /// Whether nobody else can listen to it.
    pub fn is_private(&self) -> bool {
        match self {
            Channel::Plain(link) => link.is_private(),
            Channel::Encrypted(_) => true,
        }
    }
}

impl Read for Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Channel::Plain(link) => link.read(buffer),
            Channel::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Channel::Plain(link) => link.write(bytes),
            Channel::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Channel::Plain(link) => link.flush(),
            Channel::Encrypted(stream) => stream.flush(),
        }
    }
}

/// Why there is no encrypted connection.
#[derive(Debug)]
pub enum Failure {
    /// The settings, the certificates, or what the sides can agree upon.
    Tls(String),
    Io(io::Error),
}

fn failed(cause: impl Display) -> Failure {
    Failure::Tls(cause.to_string())
}

/// Encrypts a connection. Relative paths of the settings count from `directory`.
pub fn begin(link: Link, host: &str, mode: Mode, settings: &TlsSettings, directory: &Path) -> Result<Channel, Failure> {
    let config = config(mode, settings, directory).map_err(failed)?;
    let name = ServerName::try_from(host.to_owned()).map_err(|_| failed(format_args!("'{host}' is no host's name")))?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(failed)?;
    let mut stream = StreamOwned::new(connection, link);
    while stream.conn.is_handshaking() {
        match stream.conn.complete_io(&mut stream.sock) {
            Ok((0, 0)) => return Err(failed("the server has ended the connection")),
            Ok(_) => {}
            // What TLS itself finds wrong; the rest is the network's fault.
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => return Err(failed(cause)),
            Err(cause) => return Err(Failure::Io(cause)),
        }
    }
    Ok(Channel::Encrypted(Box::new(stream)))
}

fn config(mode: Mode, settings: &TlsSettings, directory: &Path) -> Result<ClientConfig, String> {
    let provider = Arc::new(settings.provider()?);
    let versions = if settings.versions.is_empty() { rustls::ALL_VERSIONS.to_vec() } else { settings.versions()? };
    let verifier = Verifier { chain: None, names_host: mode == Mode::VerifyIdentity, provider: provider.clone() };
    let verifier = match mode {
        Mode::VerifyCa | Mode::VerifyIdentity => {
            let roots = settings.authorities(directory)?;
            if roots.is_empty() {
                return Err(
                    "the server's certificate is to be verified, and no file of authorities is given".to_owned()
                );
            }
            let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .with_crls(settings.revoked(directory)?)
                .build()
                .map_err(|cause| cause.to_string())?;
            Verifier { chain: Some(chain), ..verifier }
        }
        Mode::Disabled | Mode::Preferred | Mode::Required => verifier,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .map_err(|cause| cause.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    match settings.identity(directory)? {
        None => Ok(config.with_no_client_auth()),
        Some((chain, key)) => config.with_client_auth_cert(chain, key).map_err(|cause| cause.to_string()),
    }
}

/// Verifies as much of the server's certificate as the mode asks for. That the server has the certificate's key is
/// always verified.
#[derive(Debug)]
struct Verifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    names_host: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at last: everything else is right.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.names_host => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
