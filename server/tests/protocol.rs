//! What clients may ask of the protocol beside statements and rows: compression, attributes, session tracking, cursors,
//! limits of time; and what strangers may do before they log in.

#[allow(dead_code, reason = "shared with the other conversations")]
mod client;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use client::fixture::Fixture;
use client::{Client, Login, Outcome};
use format::binlog::{Checksum, Uuid};
use format::packet::command::number;
use format::packet::frame::Packets;
use format::packet::{Capabilities, ColumnDefinition, ColumnKind, Malformed, handshake, response, status, writer};
use server::compression::{Algorithm, Compression};

fn start() -> (Fixture, u16) {
    let fixture = Fixture::start("127.0.0.1", None);
    let port = fixture.server.as_ref().unwrap().port().unwrap();
    (fixture, port)
}

fn login(capabilities: Capabilities) -> Login<'static> {
    Login { capabilities: Login::default().capabilities | capabilities, ..Login::default() }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A socket whose client compresses.
struct Compressed {
    socket: UnixStream,
    compression: Compression,
}

impl Read for Compressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.compression.read(&mut self.socket, buffer)
    }
}

impl Write for Compressed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.compression.restart();
        self.compression.write(&mut self.socket, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn packets_can_be_compressed() {
    let (fixture, _) = start();
    for (algorithm, flag, level) in
        [(Algorithm::Zlib, Capabilities::COMPRESS, 6), (Algorithm::Zstd, Capabilities::ZSTD_COMPRESSION, 3)]
    {
        let socket = UnixStream::connect(fixture.directory.join("s")).unwrap();
        let mut client = Client::on(Box::new(socket.try_clone().unwrap()), &login(flag)).unwrap();
        client.change_socket(Box::new(Compressed { socket, compression: Compression::new(algorithm, level) }));
        for bytes in [1, 1000, (1 << 24) + 100] {
            let rows = client.query(&format!("SELECT '{}' AS a", "x".repeat(bytes))).text();
            assert_eq!(rows[0][0].as_ref().unwrap().len(), bytes);
        }
        let rows = client.query("SHOW STATUS LIKE 'Compression%'").text();
        let found: Vec<_> = rows.iter().map(|row| row[1].clone().unwrap()).collect();
        assert_eq!(found, ["ON", algorithm.name(), &level.to_string()]);
        client.run("SET wait_timeout = 1");
        assert_eq!(client.last_words(0).code, 4031);
    }
    let mut plain = fixture.client();
    assert_eq!(plain.query("SHOW STATUS LIKE 'Compression'").text(), [[text("Compression"), text("OFF")]]);
    plain.run("SET GLOBAL protocol_compression_algorithms = 'zstd'");
    let path = fixture.directory.join("s");
    assert_eq!(Client::unix(&path, &Login::default()).err().unwrap().code, 3922);
    let wrong = Login { zstd_level: 23, ..login(Capabilities::ZSTD_COMPRESSION) };
    assert_eq!(Client::unix(&path, &wrong).err().unwrap().code, 3923);
    // What is not offered cannot be had.
    assert_eq!(Client::unix(&path, &login(Capabilities::COMPRESS)).err().unwrap().code, 3922);
}

#[test]
fn clients_say_something_of_themselves_and_of_their_statements() {
    let (fixture, _) = start();
    let mut attributes = Vec::new();
    for (name, value) in [("_os", "Linux"), ("program_name", "test"), ("large", &*"x".repeat(600)), ("late", "x")] {
        writer::lenenc_bytes(&mut attributes, name.as_bytes());
        writer::lenenc_bytes(&mut attributes, value.as_bytes());
    }
    let login = Login { attributes: &attributes, ..login(Capabilities::QUERY_ATTRIBUTES) };
    let mut client = Client::unix(&fixture.directory.join("s"), &login).unwrap();
    // Two attributes and the statement.
    let mut query = vec![2, 1, 0, 1, ColumnKind::VarString as u8, 0, 2, b't', b'r', ColumnKind::Long as u8, 0, 1, b'n'];
    query.extend_from_slice(b"\x03abc\x07\0\0\0");
    query.extend_from_slice(
        b"SELECT mysql_query_attribute_string('tr'), mysql_query_attribute_string('n'), \
          mysql_query_attribute_string('none')",
    );
    client.tell(number::QUERY, &query);
    assert_eq!(client.next_outcome().text(), [[text("abc"), text("7"), None]]);
    // Times have all digits, and a moment may name its zone.
    let mut query = vec![2, 1, 0, 1, ColumnKind::Time as u8, 0, 1, b't', ColumnKind::Timestamp as u8, 0, 1, b'z'];
    query.extend_from_slice(&[8, 1, 1, 0, 0, 0, 21, 40, 0]);
    query.extend_from_slice(&[13, 0xE8, 7, 2, 29, 23, 59, 58, 0, 0, 0, 0, 120, 0]);
    query.extend_from_slice(b"SELECT mysql_query_attribute_string('t'), mysql_query_attribute_string('z')");
    client.tell(number::QUERY, &query);
    assert_eq!(client.next_outcome().text(), [[text("-45:40:00.000000"), text("2024-02-29 23:59:58.000000+2:00")]]);
    // They belong to one statement.
    client.tell(number::QUERY, b"\x00\x01SELECT mysql_query_attribute_string('tr')");
    assert_eq!(client.next_outcome().text(), [[None]]);
    let (id, ..) = client.prepare("SELECT mysql_query_attribute_string('tr')").unwrap();
    let mut execute = id.to_le_bytes().to_vec();
    execute.extend_from_slice(&[
        8,
        1,
        0,
        0,
        0,
        1,
        0,
        1,
        ColumnKind::VarString as u8,
        0,
        2,
        b't',
        b'r',
        3,
        b'x',
        b'y',
        b'z',
    ]);
    client.tell(number::STMT_EXECUTE, &execute);
    let Outcome::Rows { payloads, .. } = client.next_outcome() else { panic!("rows expected") };
    assert_eq!(payloads, [b"\x00\x00\x03xyz".to_vec()]);
    let mut other = fixture.client();
    let rows = other.query(
        "SELECT ATTR_NAME, ATTR_VALUE, ORDINAL_POSITION FROM performance_schema.session_connect_attrs ORDER BY 3",
    );
    assert_eq!(
        rows.text(),
        [
            [text("_os"), text("Linux"), text("0")],
            [text("program_name"), text("test"), text("1")],
            [text("_truncated"), text("605"), text("2")]
        ]
    );
}

/// The changes that an OK tells: kinds and texts.
fn changes(payload: &[u8]) -> Result<Vec<(u8, Vec<String>)>, Malformed> {
    let ok = response::Ok::decode(payload)?;
    assert_eq!(ok.status & status::SESSION_STATE_CHANGED != 0, !ok.changes.is_empty());
    let mut reader = format::packet::Reader::new(ok.changes);
    let mut all = Vec::new();
    while !reader.is_empty() {
        let kind = reader.u8("kind")?;
        let mut fields = format::packet::Reader::new(reader.lenenc_bytes("change")?);
        let mut texts = Vec::new();
        while !fields.is_empty() {
            texts.push(String::from_utf8(fields.lenenc_bytes("text")?.to_vec()).unwrap());
        }
        all.push((kind, texts));
    }
    Ok(all)
}

#[test]
fn clients_are_told_what_of_their_session_changed() {
    let (fixture, _) = start();
    let path = fixture.directory.join("s");
    let mut client = Client::unix(&path, &login(Capabilities::SESSION_TRACK)).unwrap();
    let ask = |client: &mut Client, statement: &str| changes(&client.ask(number::QUERY, statement.as_bytes())).unwrap();
    let change = |kind: u8, texts: &[&str]| (kind, texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    assert_eq!(ask(&mut client, "CREATE DATABASE d"), []);
    assert_eq!(ask(&mut client, "USE d"), [change(1, &["d"])]);
    assert_eq!(changes(&client.ask(number::INIT_DB, b"d")).unwrap(), [change(1, &["d"])]);
    assert_eq!(ask(&mut client, "SET autocommit = 0"), [change(0, &["autocommit", "OFF"])]);
    assert_eq!(ask(&mut client, "SET sql_safe_updates = 1, @a = 1"), []);
    assert_eq!(
        ask(&mut client, "SET NAMES latin1"),
        [
            change(0, &["character_set_client", "latin1"]),
            change(0, &["character_set_results", "latin1"]),
            change(0, &["character_set_connection", "latin1"]),
        ]
    );
    ask(&mut client, "SET session_track_system_variables = '*', session_track_state_change = ON");
    assert_eq!(
        ask(&mut client, "SET sql_safe_updates = 0"),
        [change(0, &["sql_safe_updates", "OFF"]), change(2, &["1"])]
    );
    assert_eq!(ask(&mut client, "SET @a = 2"), [change(2, &["1"])]);
    assert_eq!(ask(&mut client, "DO 1"), []);
    ask(&mut client, "SET session_track_system_variables = '', session_track_schema = OFF");
    assert_eq!(ask(&mut client, "DROP DATABASE d"), [change(2, &["1"])]);
    // Others are told nothing.
    assert_eq!(ask(&mut fixture.client(), "SET autocommit = 0"), []);
    assert_eq!(client.query("SELECT 1").text(), [[text("1")]]);
}

#[test]
fn clients_are_told_of_their_transactions() {
    let (fixture, _) = start();
    let mut client = Client::unix(&fixture.directory.join("s"), &login(Capabilities::SESSION_TRACK)).unwrap();
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
    client.run("SET session_track_transaction_info = CHARACTERISTICS, session_track_schema = OFF");
    let ask = |client: &mut Client, statement: &str| changes(&client.ask(number::QUERY, statement.as_bytes())).unwrap();
    let state = |text: &str| (5, vec![text.to_owned()]);
    let begun = |text: &str| (4, vec![text.to_owned()]);
    // A statement that is a transaction ends with it.
    assert_eq!(ask(&mut client, "INSERT INTO d.t VALUES (1)"), []);
    assert_eq!(ask(&mut client, "BEGIN"), [begun("START TRANSACTION;"), state("T_______")]);
    assert_eq!(ask(&mut client, "DO 1"), []);
    assert_eq!(ask(&mut client, "INSERT INTO d.t VALUES (2)"), [state("T___W___")]);
    assert_eq!(ask(&mut client, "INSERT INTO d.t SELECT id + 2 FROM d.t"), [state("T_R_W___")]);
    assert_eq!(client.query("SELECT COUNT(*) FROM d.t").text(), [[text("4")]]);
    assert_eq!(ask(&mut client, "DO 1"), []);
    assert_eq!(ask(&mut client, "COMMIT"), [begun(""), state("________")]);
    let level = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;";
    assert_eq!(ask(&mut client, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"), [begun(level)]);
    assert_eq!(
        ask(&mut client, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"),
        [begun(&format!("{level} START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;")), state("T_______")]
    );
    assert_eq!(ask(&mut client, "ROLLBACK"), [begun(""), state("________")]);
    assert_eq!(ask(&mut client, "XA START 'x'"), [begun("XA START 'x';"), state("T_______")]);
    assert_eq!(ask(&mut client, "XA END 'x'"), []);
    assert_eq!(ask(&mut client, "XA ROLLBACK 'x'"), [begun(""), state("________")]);
    assert_eq!(ask(&mut client, "LOCK TABLES d.t READ"), [state("_______L")]);
    assert_eq!(ask(&mut client, "UNLOCK TABLES"), [state("________")]);
    ask(&mut client, "SET autocommit = 0, session_track_transaction_info = STATE");
    assert_eq!(ask(&mut client, "INSERT INTO d.t VALUES (7)"), [state("I___W___")]);
    assert_eq!(ask(&mut client, "SET autocommit = 1")[1..], [state("________")]);
}

#[test]
fn clients_are_told_the_names_of_their_transactions() {
    let options = binlog::Options {
        base: "binlog".into(),
        server: "8.0.36-test".into(),
        version: 80036,
        server_id: 1,
        uuid: Uuid([7; 16]),
        gtids: true,
        checksum: Checksum::Crc32,
        file_bytes_max: 1 << 30,
        expire_seconds: 0,
    };
    let fixture = Fixture::start("127.0.0.1", Some(options));
    let mut client = Client::unix(&fixture.directory.join("s"), &login(Capabilities::SESSION_TRACK)).unwrap();
    let ask = |client: &mut Client, statement: &str| changes(&client.ask(number::QUERY, statement.as_bytes())).unwrap();
    client.run("SET session_track_gtids = OWN_GTID, session_track_schema = OFF");
    let named = |numbers: &str| [(3, vec![String::new(), format!("{}:{numbers}", Uuid([7; 16]))])];
    assert_eq!(ask(&mut client, "CREATE DATABASE d"), named("1"));
    assert_eq!(ask(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY)"), named("2"));
    assert_eq!(ask(&mut client, "INSERT INTO d.t VALUES (1)"), named("3"));
    assert_eq!(ask(&mut client, "UPDATE d.t SET id = 1"), []);
    fixture.client().run("INSERT INTO d.t VALUES (2)");
    assert_eq!(ask(&mut client, "BEGIN"), []);
    assert_eq!(ask(&mut client, "INSERT INTO d.t VALUES (3)"), []);
    assert_eq!(ask(&mut client, "COMMIT"), named("5"));
    client.run("SET session_track_gtids = ALL_GTIDS");
    assert_eq!(ask(&mut client, "DELETE FROM d.t"), named("1-6"));
}

#[test]
fn rows_can_be_fetched_in_portions() {
    let (fixture, _) = start();
    fixture.client().run("CREATE DATABASE d");
    for capabilities in [Capabilities::SERVER, Capabilities::SERVER.without(Capabilities::DEPRECATE_EOF)] {
        let capabilities = capabilities.without(Capabilities::QUERY_ATTRIBUTES);
        let login = Login { capabilities, ..Login::default() };
        let mut client = Client::unix(&fixture.directory.join("s"), &login).unwrap();
        let status_of = |payload: &[u8]| match capabilities.has(Capabilities::DEPRECATE_EOF) {
            true => response::Ok::decode(payload).unwrap().status,
            false => u16::from_le_bytes([payload[3], payload[4]]),
        };
        let rows: Vec<String> = (1..=5000).map(|id| format!("({id})")).collect();
        client.run("DROP TABLE IF EXISTS d.t");
        client.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
        client.run(&format!("INSERT INTO d.t VALUES {}", rows.join(", ")));
        let (id, ..) = client.prepare("SELECT id, REPEAT('x', 1000) FROM d.t").unwrap();
        let open = [&id.to_le_bytes()[..], &[1, 1, 0, 0, 0]].concat();
        let fetch = |client: &mut Client, count: u32| {
            client.tell(number::STMT_FETCH, &[id.to_le_bytes(), count.to_le_bytes()].concat());
            let mut rows = 0;
            loop {
                let payload = client.receive();
                match payload[0] {
                    response::EOF => return Ok((rows, status_of(&payload))),
                    response::ERROR => return Err(response::Error::decode(&payload).unwrap().code),
                    _ => rows += 1,
                }
                assert!(payload.len() > 1000);
            }
        };
        assert_eq!(fetch(&mut client, 1), Err(1421));
        let execute = |client: &mut Client| {
            client.tell(number::STMT_EXECUTE, &open);
            assert_eq!(client.receive(), [2]);
            for _ in 0..2 {
                ColumnDefinition::decode(&client.receive()).unwrap();
            }
            let end = client.receive();
            assert!(response::is_eof(&end) && status_of(&end) & status::CURSOR_EXISTS != 0);
        };
        execute(&mut client);
        // The connection is free for other statements meanwhile.
        client.run("DO 1");
        for _ in 0..4 {
            let (rows, status) = fetch(&mut client, 1200).unwrap();
            assert_eq!((rows, status & status::CURSOR_EXISTS != 0), (1200, true));
        }
        let (rows, status) = fetch(&mut client, 1200).unwrap();
        assert_eq!((rows, status & status::LAST_ROW_SENT != 0, status & status::CURSOR_EXISTS), (200, true, 0));
        assert_eq!(fetch(&mut client, 1), Err(1421));
        execute(&mut client);
        assert_eq!(client.ask(number::STMT_RESET, &id.to_le_bytes())[0], response::OK);
        assert_eq!(fetch(&mut client, 1), Err(1421));
        // An error behind the first rows is all that the client sees.
        let (failing, ..) = client.prepare("SELECT IF(id > 4000, EXP(id), 1), REPEAT('x', 1000) FROM d.t").unwrap();
        client.tell(number::STMT_EXECUTE, &[&failing.to_le_bytes()[..], &[1, 1, 0, 0, 0]].concat());
        assert_eq!(response::Error::decode(&client.receive()).unwrap().code, 1690);
        // A statement without rows has no cursor.
        let (id, ..) = client.prepare("DO 1").unwrap();
        assert_eq!(
            client.ask(number::STMT_EXECUTE, &[&id.to_le_bytes()[..], &[1, 1, 0, 0, 0]].concat())[0],
            response::OK
        );
    }
}

#[test]
fn prepared_statements_have_a_limit() {
    let (fixture, _) = start();
    let (mut one, mut other) = (fixture.client(), fixture.client());
    one.run("SET GLOBAL max_prepared_stmt_count = 2");
    let (id, ..) = one.prepare("DO 1").unwrap();
    other.prepare("DO 2").unwrap();
    let refusal = one.prepare("DO 3").err().unwrap();
    assert_eq!((refusal.code, refusal.sqlstate.as_str()), (1461, "42000"));
    one.tell(number::STMT_CLOSE, &id.to_le_bytes());
    one.prepare("DO 3").unwrap();
}

#[test]
fn the_rest_of_a_packet_must_come_soon() {
    let (fixture, _) = start();
    let mut client = fixture.client();
    client.run("SET net_read_timeout = 1");
    client.write_raw(&[9, 0, 0, 0, 3, b'S']);
    let begin = Instant::now();
    let refusal = client.last_words(1);
    assert_eq!((refusal.code, refusal.sqlstate.as_str()), (1159, "08S01"));
    assert!(begin.elapsed() < Duration::from_secs(4));
    // One that comes in pieces, in time, is as good as any; and then the client may be silent for longer again.
    let mut client = fixture.client();
    client.run("SET net_read_timeout = 1");
    for piece in [&[9, 0, 0, 0, 3][..], b"SELE", b"CT 1"] {
        client.write_raw(piece);
        std::thread::sleep(Duration::from_millis(100));
    }
    client.expect_answer_to_raw();
    assert_eq!(client.next_outcome().text(), [[text("1")]]);
    std::thread::sleep(Duration::from_millis(1500));
    client.run("DO 1");
}

/// A connection through a proxy: what it says, and the first packet of the server.
fn forwarded(port: u16, header: &str) -> (TcpStream, Vec<u8>) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.write_all(header.as_bytes()).unwrap();
    let mut greeting = vec![0; 1000];
    let bytes = socket.read(&mut greeting).unwrap();
    greeting.truncate(bytes);
    (socket, greeting)
}

#[test]
fn a_proxy_says_where_its_clients_are_and_hosts_are_blocked() {
    let (fixture, port) = start();
    let mut root = fixture.client();
    root.run("CREATE USER app IDENTIFIED WITH mysql_native_password BY 'x'");
    let app = || Login { user: "app", password: "x", ..Login::default() };
    let through = |header: &str| {
        let (socket, greeting) = forwarded(port, header);
        Client::on_greeted(Box::new(socket), &greeting, &app())
    };
    let header = "PROXY TCP4 192.0.2.7 192.0.2.9 40112 3306\r\n";
    // Nobody is believed at first: the header is a packet out of order.
    let (mut socket, _) = forwarded(port, header);
    assert_eq!(socket.read(&mut [0; 100]).unwrap(), 0);
    root.run("SET GLOBAL proxy_protocol_networks = '127.0.0.0/8', GLOBAL max_connect_errors = 2");
    let mut client = through(header).unwrap();
    assert_eq!(client.query("SELECT USER()").text(), [[text("app@192.0.2.7")]]);
    let rows = root.query("SELECT HOST FROM information_schema.PROCESSLIST WHERE USER = 'app'").text();
    assert_eq!(rows, [[text("192.0.2.7:40112")]]);
    // Clients that come without a proxy are served as before.
    let mut direct = Client::tcp(port, &app()).unwrap();
    assert_eq!(direct.query("SELECT USER()").text(), [[text("app@127.0.0.1")]]);
    // Handshakes that break off count for the client's address, not for the proxy's.
    for _ in 0..3 {
        let (mut socket, _) = forwarded(port, header);
        socket.write_all(&[0xFF, 0, 0, 1, 0]).unwrap();
        drop(socket);
    }
    let begin = Instant::now();
    let query = "SELECT IP, SUM_CONNECT_ERRORS, COUNT_HANDSHAKE_ERRORS FROM performance_schema.host_cache";
    while root.query(query).text() != [[text("192.0.2.7"), text("3"), text("3")]] {
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", root.query(query).text());
    }
    assert_eq!(through(header).err().unwrap().code, 1129);
    Client::tcp(port, &app()).unwrap();
    through("PROXY TCP4 192.0.2.8 192.0.2.9 40112 3306\r\n").unwrap();
    root.run("FLUSH HOSTS");
    through(header).unwrap();
    assert_eq!(root.query(query).text().len(), 0);
}

/// Two dozen connections that do not log in: silent, slow, and talking nonsense, in plain and in TLS.
#[test]
fn strangers_keep_nobody_out() {
    let (fixture, port) = start();
    let mut root = fixture.client();
    root.run("SET GLOBAL max_connections = 8, GLOBAL connect_timeout = 3");
    let mut tls = Packets::new();
    tls.restart(1);
    tls.push(|out| handshake::encode_tls_request(Capabilities::SERVER, 1 << 24, 45, out));
    let openings: [&[u8]; 6] = [
        b"",
        &[0xFF, 0xFF, 0xFF, 1],
        &[32, 0, 0, 1, 0, 0],
        b"GET / HTTP/1.1\r\n\r\n",
        tls.bytes(),
        &[tls.bytes(), &[0x16, 3, 1, 2, 0, 1]].concat(),
    ];
    let mut strangers = Vec::new();
    for number in 0..24 {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let _ = socket.write_all(openings[number % openings.len()]);
        strangers.push(socket);
    }
    let begin = Instant::now();
    let patience = Duration::from_secs(3);
    // One that comes now may find all places taken for a moment, and is in long before the strangers must leave.
    let mut client = loop {
        match Client::try_tcp(port, &Login::default()) {
            Ok(client) => break client,
            Err(_) => assert!(begin.elapsed() < patience, "nobody gets in"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    client.run("DO 1");
    // They are still knocking, byte by byte.
    while begin.elapsed() < Duration::from_secs(5) {
        for socket in &mut strangers {
            let _ = socket.write_all(&[0]);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(root.query("SHOW STATUS LIKE 'Threads_connected'").text()[0][1], text("2"));
}

/// A CALL answers with the results of its statements, one after the other, and with its OUT parameters if it is prepared.
#[test]
fn a_call_answers_with_several_results_and_out_parameters() {
    let (_fixture, port) = start();
    for capabilities in
        [Login::default().capabilities, Login::default().capabilities.without(Capabilities::DEPRECATE_EOF)]
    {
        let mut client = Client::tcp(port, &Login { capabilities, ..Login::default() }).unwrap();
        client.run("CREATE DATABASE IF NOT EXISTS calls");
        client.run("USE calls");
        client.run("CREATE OR REPLACE TABLE t (a INT)");
        client.run("CREATE OR REPLACE PROCEDURE p(IN a INT, OUT b INT, INOUT c VARCHAR(20)) BEGIN SELECT a; SELECT a, c; SET b = a * 2, c = CONCAT(c, '!'); INSERT INTO t VALUES (1), (2); END");
        client.run("SET @c = 'text'");
        let answers = client.query_all("CALL p(4, @b, @c); SELECT @b, @c");
        assert_eq!(answers.len(), 4, "{answers:?}");
        assert_eq!(answers[0].text(), [[text("4")]]);
        assert_eq!(answers[1].text(), [[text("4"), text("text")]]);
        assert_eq!(answers[2], Outcome::Done { affected_rows: 2, last_insert_id: 0, warnings: 0 });
        assert_eq!(answers[3].text(), [[text("8"), text("text!")]]);

        // Three parameters of type LONGLONG, NULL and VAR_STRING.
        let (id, columns, parameters) = client.prepare("CALL p(?, ?, ?)").unwrap();
        assert_eq!((columns, parameters), (0, 3));
        let mut values = vec![0b010, 1, 8, 0, 8, 0, 253, 0];
        values.extend_from_slice(&21i64.to_le_bytes());
        values.extend_from_slice(b"\x03abc");
        for _ in 0..2 {
            let answers = client.execute_all(id, &values);
            let kinds: Vec<bool> = answers.iter().map(|answer| matches!(answer, Outcome::Rows { .. })).collect();
            assert_eq!(kinds, [true, true, true, false], "{answers:?}");
            let Outcome::Rows { columns, payloads } = &answers[2] else { panic!("OUT parameters") };
            assert_eq!(columns.len(), 2);
            // A binary row: its head, no NULLs, an INT, a text.
            assert_eq!(payloads, &[[&[0, 0][..], &42i32.to_le_bytes(), b"\x04abc!"].concat()]);
        }

        // An error behind the first result ends the answer; what a handler takes does not.
        client.run("CREATE OR REPLACE PROCEDURE fails() BEGIN SELECT 1; SELECT * FROM nowhere; SELECT 2; END");
        let answers = client.query_all("CALL fails(); SELECT 3");
        assert_eq!(answers.len(), 2);
        assert_eq!(answers[1].code(), 1146);
        client.run("CREATE OR REPLACE FUNCTION f(n INT) RETURNS INT DETERMINISTIC BEGIN IF n = 2 THEN SIGNAL SQLSTATE '45000'; END IF; RETURN n; END");
        client.run("CREATE OR REPLACE PROCEDURE goes_on() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'handled'; SELECT f(a) FROM t; SELECT 'end'; END");
        let answers = client.query_all("CALL goes_on()");
        assert_eq!(answers[0].text(), [[text("1")]]);
        assert_eq!(answers[1].text(), [[text("handled")]]);
        assert_eq!(answers[2].text(), [[text("end")]]);
        assert_eq!(answers.len(), 4);
        client.run("DROP TABLE t");
    }
    // Whoever reads one result for each statement gets no other.
    let capabilities =
        Login::default().capabilities.without(Capabilities::MULTI_RESULTS | Capabilities::MULTI_STATEMENTS);
    let mut client = Client::tcp(port, &Login { capabilities, database: Some("calls"), ..Login::default() }).unwrap();
    assert_eq!(client.query("CALL fails()").code(), 1312);
}
