//! TLS: the certificates that a server makes, what it asks of clients, and what it does with bytes that are no TLS.

#[allow(dead_code, reason = "shared with the other conversations")]
mod client;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::fixture::Fixture;
use client::{Client, Login};
use format::packet::Capabilities;
use format::packet::frame::Packets;
use format::packet::handshake;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use server::socket::Socket;
use server::stream::Stream;
use sql::accounts::attributes::Transport;
use sql::accounts::{Account, Plugin, password};

fn start() -> (Fixture, u16) {
    let fixture = Fixture::start("127.0.0.1", None);
    let port = fixture.server.as_ref().unwrap().port().unwrap();
    (fixture, port)
}

fn certificates(path: &std::path::Path) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(path).unwrap().map(Result::unwrap).collect()
}

/// A client that trusts the server's authority alone; with `files`, it shows a certificate of these names.
fn trusting(
    fixture: &Fixture,
    files: Option<[&str; 2]>,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&fixture.directory.join("ca.pem")) {
        roots.add(certificate).unwrap();
    }
    let builder = ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    Arc::new(match files {
        None => builder.with_no_client_auth(),
        Some([certificate, key]) => builder
            .with_client_auth_cert(
                certificates(&fixture.directory.join(certificate)),
                PrivateKeyDer::from_pem_file(fixture.directory.join(key)).unwrap(),
            )
            .unwrap(),
    })
}

fn status(client: &mut Client, name: &str) -> String {
    let rows = client.query(&format!("SHOW STATUS LIKE '{name}'")).text();
    assert_eq!(rows.len(), 1, "{name}");
    rows[0][1].clone().unwrap()
}

#[test]
fn a_new_server_has_certificates_and_speaks_both_versions() {
    let (fixture, port) = start();
    for (version, name, cipher) in [
        (&rustls::version::TLS12, "TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        (&rustls::version::TLS13, "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
    ] {
        let config = trusting(&fixture, None, &[version]);
        let mut client = Client::tls(port, &Login::default(), config.clone()).unwrap();
        assert_eq!(status(&mut client, "Ssl_version"), name);
        assert_eq!(status(&mut client, "Ssl_cipher"), cipher);
        assert!(status(&mut client, "Ssl_cipher_list").contains(cipher));
        assert_eq!(status(&mut client, "Ssl_session_reused"), "OFF");
        assert!(status(&mut client, "Ssl_server_not_after").ends_with(" GMT"));
        // The same client again goes on with its session.
        let mut again = Client::tls(port, &Login::default(), config).unwrap();
        assert_eq!(status(&mut again, "Ssl_session_reused"), "ON");
    }
    let mut plain = fixture.client();
    assert_eq!((status(&mut plain, "Ssl_version"), status(&mut plain, "Ssl_cipher")), (String::new(), String::new()));
    assert_eq!(status(&mut plain, "Ssl_accepts"), "4");
    assert_eq!(status(&mut plain, "Ssl_finished_accepts"), "4");
    assert_eq!(status(&mut plain, "Ssl_session_cache_hits"), "2");
    let rows = plain.query("SELECT @@have_ssl, @@ssl_ca, @@ssl_cert, @@ssl_key").text();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(rows, [[text("YES"), text("ca.pem"), text("server-cert.pem"), text("server-key.pem")]]);
}

#[test]
fn an_account_that_requires_tls_is_refused_without_it() {
    let (fixture, port) = start();
    let verifier = Plugin::NativePassword.verifier(b"x", &password::random_salt());
    for (user, transport) in [("free", Transport::Any), ("ssl", Transport::Ssl), ("x509", Transport::X509)] {
        let mut account = Account::new(user, "localhost", Plugin::NativePassword, &verifier);
        account.attributes.transport = transport;
        fixture.instance.accounts.create_account(account).unwrap();
    }
    let bare = trusting(&fixture, None, rustls::ALL_VERSIONS);
    let certified = trusting(&fixture, Some(["client-cert.pem", "client-key.pem"]), rustls::ALL_VERSIONS);
    for (user, plain, encrypted, with_certificate) in
        [("free", true, true, true), ("ssl", false, true, true), ("x509", false, false, true)]
    {
        let login = Login { user, password: "x", ..Login::default() };
        assert_eq!(Client::tcp(port, &login).is_ok(), plain, "{user}");
        assert_eq!(Client::tls(port, &login, bare.clone()).is_ok(), encrypted, "{user}");
        assert_eq!(Client::tls(port, &login, certified.clone()).is_ok(), with_certificate, "{user}");
    }
}

#[test]
fn a_password_goes_through_tls_in_the_clear() {
    let (fixture, port) = start();
    let verifier = Plugin::CachingSha2Password.verifier(b"geheim", &password::random_salt());
    let account = Account::new("new", "localhost", Plugin::CachingSha2Password, &verifier);
    fixture.instance.accounts.create_account(account).unwrap();
    let config = trusting(&fixture, None, rustls::ALL_VERSIONS);
    let login = Login { user: "new", password: "geheim", plugin: "caching_sha2_password", ..Login::default() };
    // The first login shows the password, the second does not; neither asks for a key, which `prove` would panic about.
    for _ in 0..2 {
        Client::tls(port, &login, config.clone()).unwrap();
    }
    let wrong = Login { password: "falsch", ..login };
    assert_eq!(Client::tls(port, &wrong, config).err().unwrap().code, 1045);
}

#[test]
fn much_goes_both_ways() {
    let (fixture, port) = start();
    let mut client = Client::tls(port, &Login::default(), trusting(&fixture, None, rustls::ALL_VERSIONS)).unwrap();
    let bytes = (1 << 24) + 100;
    let rows = client.query(&format!("SELECT '{}' AS a", "x".repeat(bytes))).text();
    assert_eq!(rows[0][0].as_ref().unwrap().len(), bytes);
    client.run("SET SESSION wait_timeout = 1");
    assert_eq!(client.last_words(0).code, 4031);
    assert!(client.is_closed());
}

#[test]
fn secure_transport_can_be_required() {
    let (fixture, port) = start();
    fixture.client().run("SET GLOBAL require_secure_transport = ON");
    let refusal = Client::tcp(port, &Login::default()).err().unwrap();
    assert_eq!((refusal.code, refusal.sqlstate.as_str()), (3159, "HY000"));
    fixture.client().run("DO 1");
    Client::tls(port, &Login::default(), trusting(&fixture, None, rustls::ALL_VERSIONS)).unwrap();
}

#[test]
fn client_certificates_are_verified_and_known() {
    let (fixture, port) = start();
    let shared = fixture.server.as_ref().unwrap().shared().clone();
    let names = Some(["client-cert.pem", "client-key.pem"]);
    for files in [None, names] {
        let config = trusting(&fixture, files, rustls::ALL_VERSIONS);
        let (ours, theirs) = UnixStream::pair().unwrap();
        let client = std::thread::spawn(move || {
            let connection = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
            let mut stream = StreamOwned::new(connection, theirs);
            stream.write_all(b"hello").unwrap();
            let _ = stream.read(&mut [0; 1]);
        });
        let mut stream = Stream::new(Socket::Unix(ours));
        assert!(!stream.is_encrypted());
        stream.begin_tls(shared.tls.config().unwrap(), &[]).unwrap();
        let facts = stream.tls_facts().unwrap();
        assert_eq!(facts.version, "TLSv1.3");
        let subject = files.map(|_| "/CN=Glassine_Auto_Generated_Client_Certificate".to_owned());
        assert_eq!(facts.subject, subject);
        assert_eq!(facts.issuer, files.map(|_| "/CN=Glassine_Auto_Generated_CA_Certificate".to_owned()));
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).unwrap();
        assert_eq!(&hello, b"hello");
        drop(stream);
        client.join().unwrap();
    }
    // Somebody else's certificate is none, even though it could do without.
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["app".to_owned()]).unwrap();
    fs::write(fixture.directory.join("x.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(fixture.directory.join("x-key.pem"), key.serialize_pem()).unwrap();
    let config = trusting(&fixture, Some(["x.pem", "x-key.pem"]), &[&rustls::version::TLS12]);
    let refused = std::thread::spawn(move || drop(Client::tls(port, &Login::default(), config)));
    assert!(refused.join().is_err(), "a handshake that the server ends");
    fixture.client().run("DO 1");
}

#[test]
fn certificates_can_be_read_again() {
    let (fixture, port) = start();
    let config = trusting(&fixture, None, rustls::ALL_VERSIONS);
    let mut client = Client::tls(port, &Login::default(), config.clone()).unwrap();
    client.run("ALTER INSTANCE RELOAD TLS");
    let key = fixture.directory.join("server-key.pem");
    let saved = fs::read(&key).unwrap();
    fs::write(&key, "no key").unwrap();
    assert_eq!(client.query("ALTER INSTANCE RELOAD TLS").code(), 3888);
    // The old one stays.
    Client::tls(port, &Login::default(), config.clone()).unwrap();
    client.run("ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR");
    assert_eq!(client.query("SHOW WARNINGS").text()[0][1], Some("3888".to_owned()));
    assert_eq!(client.query("SELECT @@have_ssl").text(), [[Some("DISABLED".to_owned())]]);
    assert_eq!(status(&mut client, "Current_tls_cert"), "");
    Client::tcp(port, &Login::default()).unwrap();
    fs::write(&key, saved).unwrap();
    client.run("SET GLOBAL tls_version = 'TLSv1.2'");
    client.run("ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_main");
    let mut old = Client::tls(port, &Login::default(), config).unwrap();
    assert_eq!(status(&mut old, "Ssl_version"), "TLSv1.2");
    assert_eq!(status(&mut old, "Current_tls_version"), "TLSv1.2");
    // Another authority's client certificates are to be accepted; the file does not exist.
    client.run("SET GLOBAL ssl_ca = 'nowhere.pem'");
    assert_eq!(client.query("ALTER INSTANCE RELOAD TLS").code(), 3888);
    client.run("SET GLOBAL ssl_ca = 'ca.pem'");
    assert_eq!(client.query("SET GLOBAL tls_version = 'TLSv1.1'").code(), 1231);
    // A list of ciphers of which there is none is an error, and not a list of all of them.
    for variable in ["ssl_cipher", "tls_ciphersuites"] {
        client.run(&format!("SET GLOBAL {variable} = 'ECDHE-NONE:TLS_NONE'"));
        assert_eq!(client.query("ALTER INSTANCE RELOAD TLS").code(), 3888);
        client.run(&format!("SET GLOBAL {variable} = ''"));
    }
    client.run("SET GLOBAL tls_version = 'TLSv1.3', GLOBAL tls_ciphersuites = 'TLS_AES_128_GCM_SHA256'");
    client.run("ALTER INSTANCE RELOAD TLS");
    let mut new = Client::tls(port, &Login::default(), trusting(&fixture, None, rustls::ALL_VERSIONS)).unwrap();
    assert_eq!(status(&mut new, "Ssl_cipher"), "TLS_AES_128_GCM_SHA256");
    // What has been agreed upon stays.
    assert_eq!(status(&mut client, "Ssl_cipher"), "TLS_AES_256_GCM_SHA384");
}

/// The request for TLS as a packet.
fn request() -> Vec<u8> {
    let mut packets = Packets::new();
    packets.restart(1);
    packets.push(|out| handshake::encode_tls_request(Capabilities::SERVER, 1 << 24, 45, out));
    packets.bytes().to_vec()
}

/// A client that does not wait for an answer to its request sends both in one piece.
#[test]
fn bytes_behind_the_request_belong_to_tls() {
    let (fixture, port) = start();
    let config = trusting(&fixture, None, rustls::ALL_VERSIONS);
    let mut connection = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    let mut bytes = request();
    connection.write_tls(&mut bytes).unwrap();
    let mut tcp = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut greeting = [0; 4096];
    assert!(tcp.read(&mut greeting).unwrap() > 50);
    tcp.write_all(&bytes).unwrap();
    while connection.is_handshaking() {
        assert!(connection.complete_io(&mut tcp).unwrap() != (0, 0));
    }
    // What was smuggled in front of TLS is no command: only the whole answer to the greeting counts.
    assert!(connection.protocol_version().is_some());
}

#[test]
fn what_is_no_tls_ends_the_connection() {
    let (fixture, port) = start();
    fixture.client().run("SET GLOBAL connect_timeout = 2");
    let begin = Instant::now();
    for rest in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0x16, 3, 1, 0xFF, 0xFF], &[0; 40], &[0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]]
    {
        let mut tcp = TcpStream::connect(("127.0.0.1", port)).unwrap();
        tcp.write_all(&[&request()[..], rest].concat()).unwrap();
        let mut answer = Vec::new();
        // It ends, at once or at the deadline; that it was reset is as good.
        let _ = tcp.read_to_end(&mut answer);
    }
    // A record that comes byte by byte has the same deadline.
    let mut slow = TcpStream::connect(("127.0.0.1", port)).unwrap();
    slow.write_all(&[&request()[..], &[0x16, 3, 1, 1, 0]].concat()).unwrap();
    while slow.write_all(&[1]).is_ok() {
        std::thread::sleep(Duration::from_millis(50));
        assert!(begin.elapsed() < Duration::from_secs(12), "the slow one is still there");
    }
    fixture.client().run("DO 1");
}
