//! LOAD DATA LOCAL between a client and the server: files in any number of pieces, statements that fail half way, and
//! clients that do not keep to their part.

#[allow(dead_code, reason = "shared with the other conversations")]
mod client;

use std::time::{Duration, Instant};

use client::fixture::Fixture;
use client::{Client, Login, Outcome};
use format::packet::command::number;
use format::packet::{Capabilities, response};

const LOAD: &str = "LOAD DATA LOCAL INFILE 'some file' INTO TABLE d.t";

fn start() -> Fixture {
    let fixture = Fixture::start("127.0.0.1", None);
    let mut client = fixture.client();
    client.run("SET GLOBAL local_infile = 1");
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT PRIMARY KEY)");
    fixture
}

/// Begins to load, and finds the request for the file.
fn begin(client: &mut Client, statement: &str) {
    client.tell(number::QUERY, statement.as_bytes());
    let mut wanted = vec![response::LOCAL_INFILE];
    wanted.extend_from_slice(b"some file");
    assert_eq!(client.receive(), wanted);
}

fn count(client: &mut Client) -> String {
    client.query("SELECT COUNT(*) FROM d.t").text()[0][0].clone().unwrap()
}

fn code(outcome: &Outcome) -> u16 {
    outcome.code()
}

#[test]
fn a_file_comes_in_pieces_and_the_connection_goes_on() {
    let fixture = start();
    let mut client = fixture.client();
    for (round, pieces) in [&[&b"1\n2"[..], b"\n3", b"\n"][..], &[], &[b"4\n"]].iter().enumerate() {
        begin(&mut client, LOAD);
        pieces.iter().for_each(|piece| client.go_on(piece));
        client.go_on(b"");
        let rows = [3, 0, 1][round];
        let Outcome::Done { affected_rows, .. } = client.next_outcome() else { panic!("loaded") };
        assert_eq!(affected_rows, rows);
    }
    // A large file is more than the buffers on the way hold.
    begin(&mut client, LOAD);
    for thousand in 1..200 {
        let lines: Vec<String> = (0..1000).map(|line| format!("{}\n", thousand * 1000 + line)).collect();
        client.go_on(lines.concat().as_bytes());
    }
    client.go_on(b"");
    assert!(matches!(client.next_outcome(), Outcome::Done { affected_rows: 199_000, .. }));
    assert_eq!(count(&mut client), "199004");
}

/// The server answers when the client listens again: behind the last piece.
#[test]
fn a_statement_that_fails_half_way_reads_the_rest() {
    let fixture = start();
    let mut client = fixture.client();
    client.run("INSERT INTO d.t VALUES (5)");
    begin(&mut client, "LOAD DATA LOCAL INFILE 'some file' REPLACE INTO TABLE d.t");
    client.go_on(b"1\n2\nno number\n");
    for _ in 0..300 {
        client.go_on(&[b'7'; 50_000]);
    }
    client.go_on(b"");
    assert_eq!(code(&client.next_outcome()), 1366);
    assert_eq!(count(&mut client), "1");
    // The request is made before the table is looked at only if there is one.
    assert_eq!(code(&client.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE d.none")), 1146);
}

#[test]
fn a_line_without_an_end_is_refused() {
    let fixture = start();
    fixture.client().run("SET GLOBAL max_allowed_packet = 1048576");
    let mut client = fixture.client();
    begin(&mut client, LOAD);
    for _ in 0..100 {
        client.go_on(&[b'1'; 900_000]);
    }
    client.go_on(b"");
    assert_eq!(code(&client.next_outcome()), 1153);
    assert_eq!(count(&mut client), "0");
    // One packet that is larger ends the conversation.
    begin(&mut client, LOAD);
    client.go_on(&[b'1'; 1_100_000]);
    assert_eq!(code(&client.next_outcome()), 1153);
    assert!(client.is_closed());
}

#[test]
fn silent_clients_are_cut_off_and_those_that_leave_leave_nothing() {
    let fixture = start();
    let mut client = fixture.client();
    client.run("SET net_read_timeout = 1");
    begin(&mut client, LOAD);
    client.go_on(b"1\n");
    let begun = Instant::now();
    assert_eq!(code(&client.next_outcome()), 1159);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(client.is_closed());

    let mut client = fixture.client();
    begin(&mut client, LOAD);
    client.go_on(b"2\n");
    drop(client);
    let mut other = fixture.client();
    let until = Instant::now() + Duration::from_secs(20);
    while other.query("SHOW PROCESSLIST").text().len() > 1 {
        assert!(Instant::now() < until, "the connection has ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(count(&mut other), "0");
}

#[test]
fn a_load_that_waits_for_its_client_can_be_killed() {
    let fixture = start();
    let (mut client, mut other) = (fixture.client(), fixture.client());
    let id = client.query("SELECT CONNECTION_ID()").text()[0][0].clone().unwrap();
    begin(&mut client, LOAD);
    client.go_on(b"1\n");
    other.run("SET innodb_lock_wait_timeout = 20");
    other.run(&format!("KILL QUERY {id}"));
    // Its locks are gone before its client has said another word.
    other.run("INSERT INTO d.t VALUES (1)");
    client.go_on(b"2\n");
    client.go_on(b"");
    assert_eq!(code(&client.next_outcome()), 1317);
    assert_eq!(count(&mut client), "1");

    begin(&mut client, LOAD);
    other.run(&format!("KILL {id}"));
    assert_eq!(code(&client.next_outcome()), 1317);
    assert!(client.is_closed());
}

/// Whatever comes behind the file is the next command.
#[test]
fn commands_may_follow_a_file_at_once() {
    let fixture = start();
    let mut client = fixture.client();
    begin(&mut client, LOAD);
    client.go_on(b"1\n");
    client.write_raw(b"\0\0\0\x03\x09\0\0\0\x03SELECT 1");
    // The file's end was packet 3, so the answer is 4.
    client.go_on_at(4);
    assert!(matches!(client.next_outcome(), Outcome::Done { affected_rows: 1, .. }));
    client.expect_answer_to_raw();
    assert_eq!(client.next_outcome().text(), [[Some("1".to_owned())]]);
}

#[test]
fn both_sides_must_agree_to_send_files() {
    let fixture = start();
    let capabilities = Login::default().capabilities.without(Capabilities::LOCAL_FILES);
    let login = Login { capabilities, ..Login::default() };
    let mut client = Client::unix(&fixture.directory.join("s"), &login).unwrap();
    assert_eq!(code(&client.query(LOAD)), 3948);
    let mut client = fixture.client();
    client.run("SET GLOBAL local_infile = 0");
    assert_eq!(code(&client.query(LOAD)), 3948);
    assert_eq!(count(&mut client), "0");
}
