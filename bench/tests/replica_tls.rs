//! Replicas and readers of logs that encrypt their connection to the source, and what they verify of it.

use std::process::Command;
use std::time::{Duration, Instant};

use bench::client::Client;
use bench::process::{Kind, Server, glassine_binary, mariadb_is_installed};
use bench::replicas::{BY_NAME, Pair, follow, options, status, wait_for_all};

fn run(client: &mut Client, statement: &str) {
    if let Err(error) = client.query(statement) {
        panic!("{error}: {statement}");
    }
}

/// Waits for an error of the receiver.
fn wait_for_refusal(client: &mut Client, code: &str) -> String {
    let start = Instant::now();
    while status(client, "Last_IO_Errno") != code {
        let last = status(client, "Last_IO_Error");
        assert!(start.elapsed() < Duration::from_secs(10), "no {code}, but {last}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let message = status(client, "Last_IO_Error");
    run(client, "STOP REPLICA");
    message
}

fn wait_for_acknowledgement(source: &mut Client) {
    let start = Instant::now();
    loop {
        let rows = source.query("SHOW STATUS LIKE 'Rpl_semi_sync_source_yes_tx'").expect("a status").rows;
        if rows[0][1].as_deref() != Some("0") {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "nothing was acknowledged");
        run(source, "INSERT INTO d.t VALUES (NULL)");
    }
}

#[test]
fn a_replica_encrypts_and_verifies_as_it_is_told() {
    let more = ["--rpl-semi-sync-source-enabled=ON", "--rpl-semi-sync-replica-enabled=ON"];
    let mut pair = Pair::of_glassine("replica-tls", &more);
    let ca = pair.source.directory.join("data/ca.pem").display().to_string();
    for statement in [
        "SET GLOBAL require_secure_transport = ON",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT)",
        "INSERT INTO d.t VALUES (1), (2)",
    ] {
        run(&mut pair.there, statement);
    }
    follow(&mut pair.here, pair.source_port, BY_NAME);
    wait_for_refusal(&mut pair.here, "3159");
    // Encrypted, the password goes without a key of RSA; nobody has logged in before.
    follow(&mut pair.here, pair.source_port, ", SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 0, SOURCE_SSL = 1");
    wait_for_all(&pair.replica, &pair.source);
    assert_eq!(status(&mut pair.here, "Source_SSL_Allowed"), "Yes");
    wait_for_acknowledgement(&mut pair.there);
    run(&mut pair.here, "STOP REPLICA");
    // The replica's own authority has not signed the source's certificate.
    let own = pair.replica.directory.join("data/ca.pem").display().to_string();
    follow(&mut pair.here, pair.source_port, &format!(", SOURCE_SSL_CA = '{own}'"));
    let refusal = wait_for_refusal(&mut pair.here, "2026");
    assert!(refusal.contains("SSL connection error: invalid peer certificate"), "{refusal}");
    let files = format!(
        ", SOURCE_SSL_CA = '{ca}', SOURCE_SSL_VERIFY_SERVER_CERT = 1, MASTER_TLS_VERSION = 'TLSv1.2', \
         SOURCE_SSL_CERT = 'client-cert.pem', SOURCE_SSL_KEY = 'client-key.pem'"
    );
    follow(&mut pair.here, pair.source_port, &files);
    // The certificate of the replica's own authority is none to the source.
    wait_for_refusal(&mut pair.here, "2026");
    follow(&mut pair.here, pair.source_port, ", SOURCE_SSL_CERT = '', SOURCE_SSL_KEY = ''");
    run(&mut pair.there, "INSERT INTO d.t VALUES (NULL)");
    wait_for_all(&pair.replica, &pair.source);
    // What was said is known after a start.
    let port = bench::replicas::free_port();
    let directory = pair.replica.stop().expect("it stops");
    let all = ["--log-bin", "--gtid-mode=ON"];
    let replica = Server::start(Kind::Glassine, &directory, &options(port, 2, &all)).expect("it starts");
    let mut here = replica.connect().expect("a connection");
    run(&mut pair.there, "INSERT INTO d.t VALUES (NULL)");
    wait_for_all(&replica, &pair.source);
    for (name, value) in [
        ("Source_SSL_Allowed", "Yes"),
        ("Source_SSL_CA_File", &*ca),
        ("Source_SSL_Verify_Server_Cert", "Yes"),
        ("Source_TLS_Version", "TLSv1.2"),
        ("Source_SSL_Cert", ""),
    ] {
        assert_eq!(status(&mut here, name), value, "{name}");
    }
    // The same for a reader of the log.
    for (mode, file, fits) in [
        ("VERIFY_IDENTITY", &ca, true),
        ("REQUIRED", &own, true),
        ("VERIFY_CA", &own, false),
        ("DISABLED", &ca, false),
        ("PREFERRED", &ca, true),
    ] {
        let output = Command::new(glassine_binary())
            .args(["binlog", "-R", "-h127.0.0.1", "-ureplica", "--password=it's secret", "binlog.000001"])
            .arg(format!("-P{}", pair.source_port))
            .args([format!("--ssl-mode={mode}"), format!("--ssl-ca={file}")])
            .output()
            .expect("glassine binlog");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), fits, "{mode} {file}: {errors}");
    }
}

#[test]
fn a_source_without_tls_is_refused() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let mut pair = Pair::of_mariadb("replica-no-tls");
    follow(&mut pair.here, pair.source_port, ", SOURCE_SSL = 1");
    let refusal = wait_for_refusal(&mut pair.here, "2026");
    assert!(refusal.contains("SSL is required but the server doesn't support it"), "{refusal}");
}
