//! What strangers send before they log in: TLS, headers of proxies, certificates; and frames of the compressed protocol.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig};
use server::compression::{Algorithm, Compression};
use server::proxy;
use server::socket::Socket;
use server::stream::Stream;
use server::tls::Certificate;

use crate::bytes::Random;

/// A certificate and its key, the same for all cases of a run: no case depends on what they are.
fn identity() -> &'static (Vec<u8>, Vec<u8>) {
    static IDENTITY: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    IDENTITY.get_or_init(|| {
        let key = rcgen::KeyPair::generate().expect("a key");
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate");
        (certificate.der().to_vec(), key.serialize_der())
    })
}

fn server_config() -> Arc<ServerConfig> {
    static CONFIG: OnceLock<Arc<ServerConfig>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let (certificate, key) = identity();
        let key = PrivateKeyDer::try_from(key.clone()).expect("a key");
        let config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone().into()], key)
            .expect("a certificate and its key");
        Arc::new(config)
    });
    config.clone()
}

/// The first flight of a client that means it.
fn client_hello() -> Vec<u8> {
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    let mut connection = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).expect("room in memory");
    bytes
}

/// A handshake that comes in any pieces and breaks off anywhere: it fails, in time.
pub fn tls(random: &mut Random) {
    let mut bytes = client_hello();
    match random.below(4) {
        0 => bytes = random.bytes(600),
        1 => bytes.extend(random.bytes(600)),
        _ => random.damage(&mut bytes),
    }
    let at = random.below(bytes.len() + 1);
    let (ours, mut theirs) = UnixStream::pair().expect("two sockets");
    theirs.write_all(&bytes[at..]).expect("a socket's buffer holds that");
    theirs.shutdown(Shutdown::Write).expect("an open socket");
    let mut stream = Stream::new(Socket::Unix(ours));
    stream.set_deadline(Some(Instant::now() + Duration::from_secs(2)));
    assert!(stream.begin_tls(server_config(), &bytes[..at]).is_err(), "no client has shaken hands");
    drop(stream);
    // Alerts and the end; or a reset, if bytes were left that nobody read.
    let _ = theirs.read_to_end(&mut Vec::new());
}

pub fn proxy_header(random: &mut Random) {
    let mut bytes = match random.below(3) {
        0 => b"PROXY TCP4 192.0.2.1 192.0.2.9 40112 3306\r\n".to_vec(),
        1 => b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0C\xC0\0\x02\x01\xC0\0\x02\x09\x9C\xB0\x0C\xEA".to_vec(),
        _ => random.bytes(300),
    };
    random.damage(&mut bytes);
    if let proxy::Header::Whole { bytes: taken, .. } = proxy::header(&bytes) {
        assert!(taken <= bytes.len(), "what has come");
    }
}

pub fn certificate(random: &mut Random) {
    let mut bytes = identity().0.clone();
    assert!(Certificate::parse(&bytes).is_some(), "a certificate comes back");
    random.damage(&mut bytes);
    let _ = Certificate::parse(&bytes);
}

pub fn compressed_frame(random: &mut Random) {
    let algorithm = random.pick(&[Algorithm::Zlib, Algorithm::Zstd]);
    let plain = random.bytes(3000);
    let mut bytes = Vec::new();
    Compression::new(algorithm, 3).write(&mut bytes, &plain).expect("room in memory");
    let read = |bytes: &[u8]| {
        let (mut compression, mut source, mut all) = (Compression::new(algorithm, 3), bytes, Vec::new());
        let mut piece = [0; 500];
        while let Ok(count @ 1..) = compression.read(&mut source, &mut piece) {
            all.extend_from_slice(&piece[..count]);
        }
        all
    };
    assert!(read(&bytes) == plain, "what was written comes back");
    random.damage(&mut bytes);
    read(&bytes);
}
