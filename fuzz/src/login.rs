//! A whole server, and clients that log in as no client does: in any order, with damaged packets, before TLS and inside of
//! it, and gone at any point. None of its threads may panic, and after each case somebody with an account comes in.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use format::packet::Capabilities;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};
use server::{Options, Server};
use sql::Instance;
use sql::accounts::{Account, Accounts, Plugin, password};
use sql::variables::{GlobalVariables, engine_config};
use storage::Engine;
use storage::io::linux::LinuxDisk;

use crate::bytes::Random;

/// Panics of all threads of this process so far.
static PANICS: AtomicU64 = AtomicU64::new(0);

static PLACE: OnceLock<Place> = OnceLock::new();

struct Place {
    directory: PathBuf,
    socket: PathBuf,
    tls: Arc<ClientConfig>,
    _server: Server,
}

/// The server of a run, which stays until its end.
fn place() -> &'static Place {
    PLACE.get_or_init(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |information| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            before(information);
        }));
        let directory = std::env::temp_dir().join(format!("glassine-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let globals = GlobalVariables::new();
        for (name, value) in [("innodb_buffer_pool_size", "8M"), ("innodb_log_file_size", "8M")] {
            globals.load_option(name, value).expect("a variable");
        }
        let config = engine_config(&globals);
        Engine::create(Arc::new(LinuxDisk::new(&directory)), &config).expect("an instance");
        let engine = Engine::open(Arc::new(LinuxDisk::new(&directory)), config).expect("an instance");
        let accounts = Accounts::in_memory();
        for (user, plugin) in
            [("old", Plugin::NativePassword), ("new", Plugin::CachingSha2Password), ("shows", Plugin::Sha256Password)]
        {
            let verifier = plugin.verifier(b"secret", &password::random_salt());
            accounts.create_account(Account::new(user, "localhost", plugin, &verifier)).expect("an account");
        }
        let instance = Instance::with_log(engine, None, globals, accounts, directory.clone());
        let socket = directory.join("s");
        let options = Options { addresses: Vec::new(), port: 0, port_tries: 1, socket: Some(socket.clone()) };
        let server = Server::start(instance, &options).expect("a server");
        Place { directory, socket, tls: trusting(), _server: server }
    })
}

/// Removes what the server has on the disk, at the end of a run.
pub fn clean() {
    if let Some(place) = PLACE.get() {
        let _ = std::fs::remove_dir_all(&place.directory);
    }
}

/// A client that takes any certificate.
fn trusting() -> Arc<ClientConfig> {
    #[derive(Debug)]
    struct Trust;
    impl ServerCertVerifier for Trust {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            ring::default_provider().signature_verification_algorithms.supported_schemes()
        }
    }
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trust))
        .with_no_client_auth();
    Arc::new(config)
}

fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes[3] = sequence;
    bytes.extend_from_slice(body);
    bytes
}

/// The start that the answer to the greeting and the question for TLS have in common.
fn start(flags: u32) -> Vec<u8> {
    let mut body = flags.to_le_bytes().to_vec();
    body.extend_from_slice(&(1u32 << 24).to_le_bytes());
    body.push(45);
    body.extend_from_slice(&[0; 23]);
    body
}

fn answer(random: &mut Random) -> Vec<u8> {
    let mut body = start(Capabilities::SERVER.0 as u32 & !Capabilities::SSL.0 as u32);
    body.extend_from_slice(random.pick(&[&b"old"[..], b"new", b"shows", b"root", b"nobody", b""]));
    let proof = random.bytes(40);
    body.extend([0, proof.len() as u8]);
    body.extend(proof);
    body.extend_from_slice(random.pick(&[&b"mysql\0"[..], b"missing\0", b"\0"]));
    body.extend_from_slice(random.pick(&[
        &b"mysql_native_password\0"[..],
        b"caching_sha2_password\0",
        b"sha256_password\0",
        b"other\0",
    ]));
    body.extend(random.bytes(60));
    body
}

/// A few packets, each after what the server says to the one before.
fn talk(random: &mut Random, stream: &mut (impl Read + Write), mut sequence: u8) {
    let mut body = answer(random);
    for _ in 0..1 + random.below(4) {
        let mut bytes = packet(sequence, &body);
        if random.chance(2) {
            random.damage(&mut bytes);
        }
        let mut said = [0; 2048];
        if stream.write_all(&bytes).is_err() || random.chance(6) || !stream.read(&mut said).is_ok_and(|count| count > 3)
        {
            return;
        }
        sequence = if random.chance(10) { random.next() as u8 } else { said[3].wrapping_add(1) };
        body = match random.below(4) {
            0 => random.bytes(300),
            1 => vec![random.below(5) as u8],
            2 => b"secret\0".to_vec(),
            _ => random.exactly(32),
        };
    }
}

pub fn login(random: &mut Random) {
    let place = place();
    let connect = || {
        let stream = UnixStream::connect(&place.socket).expect("the server listens");
        // A packet of which a part is missing is waited for: the client goes first.
        stream.set_read_timeout(Some(Duration::from_millis(30))).expect("an open socket");
        stream
    };
    let before = PANICS.load(Ordering::Relaxed);
    let mut stream = connect();
    let mut greeting = [0; 512];
    if stream.read(&mut greeting).is_ok() {
        match random.below(3) {
            0 => talk(random, &mut stream, 1),
            1 => {
                // TLS, whole; then what is no login inside of it.
                let asks = packet(1, &start(Capabilities::SERVER.0 as u32 | Capabilities::SSL.0 as u32));
                let connection = ClientConnection::new(place.tls.clone(), "localhost".try_into().expect("a name"));
                if stream.write_all(&asks).is_ok() {
                    talk(random, &mut StreamOwned::new(connection.expect("a client"), stream), 2);
                }
            }
            _ => {
                let mut bytes = packet(1, &start(Capabilities::SERVER.0 as u32 | Capabilities::SSL.0 as u32));
                bytes.extend(random.bytes(400));
                random.damage(&mut bytes);
                let _ = stream.write_all(&bytes);
                let _ = stream.read(&mut greeting);
            }
        }
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), before, "a thread of the server panicked");
    // Somebody who means it.
    let mut stream = UnixStream::connect(&place.socket).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("an open socket");
    assert!(stream.read(&mut greeting).is_ok_and(|count| count > 40 && greeting[4] == 10), "a greeting");
    let mut body = start(
        Capabilities::PROTOCOL_41.0 as u32
            | Capabilities::SECURE_CONNECTION.0 as u32
            | Capabilities::PLUGIN_AUTH.0 as u32,
    );
    body.extend_from_slice(b"root\0\0mysql_native_password\0");
    stream.write_all(&packet(1, &body)).expect("an open socket");
    assert!(stream.read(&mut greeting).is_ok_and(|count| count > 6 && greeting[4] == 0), "a session");
}
