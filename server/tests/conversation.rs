//! Whole conversations over real sockets, with a server in this process: login by every way that there is, text and
//! prepared statements, several statements at once, errors, and the end.

#[allow(dead_code, reason = "shared with the other conversations")]
mod client;

use std::os::unix::net::UnixStream;
use std::time::Duration;

use client::fixture::Fixture;
use client::{Client, Login, Outcome};
use format::packet::column::{ColumnKind, column_flags};
use format::packet::command::number;
use format::packet::{Capabilities, response};
use sql::accounts::{Account, AccountMap, Plugin, account_of, password};

fn start() -> Fixture {
    Fixture::start("127.0.0.1", None)
}

fn port(fixture: &Fixture) -> u16 {
    fixture.server.as_ref().unwrap().port().unwrap()
}

fn add_account(fixture: &Fixture, user: &str, plugin: Plugin, password: &str) {
    let verifier = plugin.verifier(password.as_bytes(), &password::random_salt());
    let account = Account::new(user, "localhost", plugin, &verifier);
    fixture.instance.accounts.create_account(account).unwrap();
}

#[test]
fn both_plugins_log_in_on_both_sockets() {
    let fixture = start();
    add_account(&fixture, "old", Plugin::NativePassword, "secret");
    add_account(&fixture, "new", Plugin::CachingSha2Password, "geheim");
    for (user, password) in [("old", "secret"), ("new", "geheim")] {
        for plugin in ["mysql_native_password", "caching_sha2_password"] {
            let login = Login { user, password, plugin, ..Login::default() };
            // The first login of caching_sha2_password shows the password, by RSA or on the socket; later ones do not.
            for _ in 0..2 {
                let mut client = Client::tcp(port(&fixture), &login).unwrap();
                assert_eq!(client.query("SELECT 1").text(), [[Some("1".to_owned())]]);
            }
            Client::unix(&fixture.directory.join("s"), &login).unwrap();
            let wrong = Login { password: "wrong", ..login };
            let refusal = Client::tcp(port(&fixture), &wrong).err().unwrap();
            assert_eq!((refusal.code, refusal.sqlstate.as_str()), (1045, "28000"));
            assert!(refusal.message.ends_with("(using password: YES)"), "{}", refusal.message);
            let refusal = Client::unix(&fixture.directory.join("s"), &wrong).err().unwrap();
            assert_eq!(refusal.code, 1045);
            let none = Login { password: "", user, ..Login::default() };
            let refusal = Client::tcp(port(&fixture), &none).err().unwrap();
            assert!(refusal.message.ends_with("(using password: NO)"), "{}", refusal.message);
        }
    }
    let nobody = Login { user: "nobody", password: "x", ..Login::default() };
    assert_eq!(Client::tcp(port(&fixture), &nobody).err().unwrap().code, 1045);
    // root has no password, and is let in from this machine.
    Client::tcp(port(&fixture), &Login::default()).unwrap();
    let with = Login { password: "x", ..Login::default() };
    assert_eq!(Client::tcp(port(&fixture), &with).err().unwrap().code, 1045);
}

#[test]
fn a_connection_can_change_its_user() {
    let fixture = start();
    add_account(&fixture, "old", Plugin::NativePassword, "secret");
    add_account(&fixture, "new", Plugin::CachingSha2Password, "geheim");
    let mut client = fixture.client();
    for (user, password) in [("old", "secret"), ("new", "geheim"), ("old", "secret")] {
        client.run("SET @a = 1");
        client.change_user(user, password).unwrap();
        let rows = client.query("SELECT SUBSTRING_INDEX(USER(), '@', 1), @a").text();
        assert_eq!(rows, [[Some(user.to_owned()), None]]);
    }
    assert_eq!(client.change_user("new", "wrong").unwrap_err().code, 1045);
    assert!(client.is_closed());
}

#[test]
fn a_changed_password_counts_at_once() {
    let fixture = start();
    add_account(&fixture, "app", Plugin::CachingSha2Password, "one");
    let login = Login { user: "app", password: "one", ..Login::default() };
    Client::tcp(port(&fixture), &login).unwrap();
    let change = |accounts: &mut AccountMap| {
        let account = account_of(accounts, "SET PASSWORD", "app", "localhost")?;
        account.verifier = account.plugin.verifier(b"two", &password::random_salt());
        Ok(None)
    };
    fixture.instance.accounts.change(change).unwrap();
    assert_eq!(Client::tcp(port(&fixture), &login).err().unwrap().code, 1045);
    Client::tcp(port(&fixture), &Login { password: "two", ..login }).unwrap();
}

/// RETAIN CURRENT PASSWORD: both count, until the old one is discarded.
#[test]
fn two_passwords_count_at_a_time() {
    let fixture = start();
    let mut root = fixture.client();
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        root.run(&format!("CREATE USER two@localhost IDENTIFIED WITH {plugin} BY 'old'"));
        root.run("ALTER USER two@localhost IDENTIFIED BY 'new' RETAIN CURRENT PASSWORD");
        let logs_in = |password| {
            let login = Login { user: "two", password, plugin, ..Login::default() };
            Client::tcp(port(&fixture), &login).is_ok()
        };
        // Twice: the password that came first may be in the cache by then.
        for _ in 0..2 {
            assert_eq!(["old", "new", "none"].map(logs_in), [true, true, false], "{plugin}");
        }
        root.run("ALTER USER two@localhost DISCARD OLD PASSWORD");
        assert_eq!(["old", "new"].map(logs_in), [false, true], "{plugin}");
        root.run("DROP USER two@localhost");
    }
}

/// auth_socket: the system's user comes in through the socket, without a password, and nobody else does.
#[test]
fn the_system_vouches_for_its_users_on_the_socket() {
    let fixture = start();
    let own = std::process::Command::new("id").arg("-un").output().expect("id runs");
    let own = String::from_utf8(own.stdout).unwrap().trim().to_owned();
    let mut root = fixture.client();
    root.run(&format!("CREATE USER me@localhost IDENTIFIED WITH auth_socket AS '{own}'"));
    root.run("CREATE USER nobody_of_this_name@localhost IDENTIFIED WITH unix_socket");
    let path = fixture.directory.join("s");
    for plugin in ["mysql_native_password", "caching_sha2_password"] {
        for password in ["", "whatever"] {
            let login = |user| Login { user, password, plugin, ..Login::default() };
            Client::unix(&path, &login("me")).unwrap();
            for refused in [
                Client::tcp(port(&fixture), &login("me")),
                Client::unix(&path, &login("nobody_of_this_name")),
                Client::unix(&path, &login("unknown")),
            ] {
                assert_eq!(refused.err().unwrap().code, 1045);
            }
        }
    }
}

#[test]
fn shutdown_is_a_statement() {
    let fixture = start();
    let mut client = fixture.client();
    client.run("CREATE USER some@localhost");
    let login = Login { user: "some", ..Login::default() };
    let mut some = Client::unix(&fixture.directory.join("s"), &login).unwrap();
    assert_eq!(some.query("SHUTDOWN").code(), 1227);
    client.run("SHUTDOWN");
    assert!(client.is_closed());
    fixture.server.as_ref().unwrap().wait_for_shutdown_request();
}

#[test]
fn statements_come_as_text() {
    let fixture = start();
    for capabilities in [Capabilities::SERVER, Capabilities::SERVER.without(Capabilities::DEPRECATE_EOF)] {
        let capabilities = capabilities.without(Capabilities::QUERY_ATTRIBUTES);
        let mut client =
            Client::unix(&fixture.directory.join("s"), &Login { capabilities, ..Login::default() }).unwrap();
        client.run("DROP DATABASE IF EXISTS shop");
        client.run("CREATE DATABASE shop");
        client.run("USE shop");
        client.run("CREATE TABLE t (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20))");
        let done = client.query("INSERT INTO t (name) VALUES ('one'), (NULL), ('three')");
        assert_eq!(done, Outcome::Done { affected_rows: 3, last_insert_id: 1, warnings: 0 });
        let rows = client.query("SELECT id, name FROM t ORDER BY id DESC");
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(rows.text(), [[text("3"), text("three")], [text("2"), None], [text("1"), text("one")]]);
        let Outcome::Rows { columns, .. } = rows else { unreachable!() };
        assert_eq!((&*columns[0].schema, &*columns[0].table, &*columns[0].name), ("shop", "t", "id"));
        assert_eq!(columns[0].kind, ColumnKind::Long);
        assert!(columns[0].flags & column_flags::UNSIGNED != 0);
        assert_eq!(columns[1].kind, ColumnKind::VarString);
        assert_eq!(client.query("SELECT * FROM nowhere").code(), 1146);
        assert_eq!(client.query("SELEC 1").code(), 1064);
        // An error ends the statement, not the connection.
        assert_eq!(client.query("SELECT 2").text(), [[text("2")]]);
    }
}

#[test]
fn columns_tell_the_names_that_the_query_gives_its_tables() {
    let fixture = start();
    let mut client = fixture.client();
    client.run("CREATE DATABASE shop");
    client.run("USE shop");
    client.run("CREATE TABLE t (id INT PRIMARY KEY, flag BIT(1), day DATE)");
    for (query, names) in [
        (
            "SELECT x.id, counted.many FROM t AS x, (SELECT COUNT(*) AS many FROM t) AS counted",
            ["x id", "counted many"],
        ),
        ("WITH w AS (SELECT id FROM t) SELECT w.*, again.id AS other FROM w, w AS again", ["w id", "again other"]),
        ("SELECT u.id, 1 + u.id FROM (SELECT id FROM t UNION SELECT 2) AS u", ["u id", " 1 + u.id"]),
    ] {
        let Outcome::Rows { columns, .. } = client.query(query) else { panic!("{query}") };
        let told: Vec<String> = columns.iter().map(|column| format!("{} {}", column.table, column.name)).collect();
        assert_eq!(told, names, "{query}");
    }
    // Numbers and bits of a table are not BINARY, dates and computed numbers are.
    let Outcome::Rows { columns, .. } = client.query("SELECT id, flag, day, id + 1 FROM t") else { panic!("rows") };
    let binary: Vec<bool> = columns.iter().map(|column| column.flags & column_flags::BINARY != 0).collect();
    assert_eq!(binary, [false, false, true, true]);
}

#[test]
fn several_statements_have_several_results() {
    let fixture = start();
    let mut client = fixture.client();
    let outcomes = client.query_all("SELECT 1; SELECT 2; SELECT nothing; SELECT 4");
    assert_eq!(outcomes.len(), 3);
    assert_eq!(outcomes[1].text(), [[Some("2".to_owned())]]);
    assert_eq!(outcomes[2].code(), 1054);
    let capabilities = Login::default().capabilities.without(Capabilities::MULTI_STATEMENTS);
    let login = Login { capabilities, ..Login::default() };
    let mut single = Client::unix(&fixture.directory.join("s"), &login).unwrap();
    assert_eq!(single.query("SELECT 1; SELECT 2").code(), 1064);
    assert_eq!(single.ask(number::SET_OPTION, &[0, 0])[0], response::EOF);
    assert_eq!(single.query_all("SELECT 1; SELECT 2").len(), 2);
}

#[test]
fn prepared_statements_take_and_give_binary() {
    let fixture = start();
    let mut client = fixture.client();
    client.run("CREATE DATABASE shop");
    client.run("USE shop");
    client.run("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(20), body TEXT)");
    let (insert, columns, parameters) = client.prepare("INSERT INTO t VALUES (?, ?, ?)").unwrap();
    assert_eq!((columns, parameters), (0, 3));
    // The text goes in two pieces.
    let mut long = insert.to_le_bytes().to_vec();
    long.extend_from_slice(&2u16.to_le_bytes());
    for piece in [&b"long "[..], b"text"] {
        client.tell(number::STMT_SEND_LONG_DATA, &[&long[..], piece].concat());
    }
    let types = [ColumnKind::LongLong as u8, 0, ColumnKind::VarString as u8, 0, ColumnKind::Blob as u8, 0];
    let mut execute = vec![0, 1];
    execute.extend_from_slice(&types);
    execute.extend_from_slice(&7i64.to_le_bytes());
    execute.extend_from_slice(b"\x05seven");
    assert_eq!(client.execute(insert, &execute), Outcome::Done { affected_rows: 1, last_insert_id: 0, warnings: 0 });
    // The same again with NULLs and without types.
    let mut execute = vec![0b110, 0];
    execute.extend_from_slice(&8i64.to_le_bytes());
    client.execute(insert, &execute);
    let (select, columns, parameters) = client.prepare("SELECT id, name, body FROM t WHERE id = ?").unwrap();
    assert_eq!((columns, parameters), (3, 1));
    let by_id = |id: i64| [&[0, 1, ColumnKind::LongLong as u8, 0][..], &id.to_le_bytes()].concat();
    let Outcome::Rows { payloads, .. } = client.execute(select, &by_id(7)) else { panic!("rows expected") };
    assert_eq!(payloads, [b"\x00\x00\x07\0\0\0\0\0\0\0\x05seven\x09long text".to_vec()]);
    let Outcome::Rows { payloads, .. } = client.execute(select, &by_id(8)) else { panic!("rows expected") };
    assert_eq!(payloads, [b"\x00\x18\x08\0\0\0\0\0\0\0".to_vec()]);
    client.tell(number::STMT_CLOSE, &select.to_le_bytes());
    assert_eq!(client.execute(select, &by_id(7)).code(), 1243);
    assert_eq!(client.execute(insert, &[]).code(), 1835);
    assert_eq!(client.prepare("SELECT ? FROM").err().unwrap().code, 1064);
}

#[test]
fn small_commands_are_answered() {
    let fixture = start();
    let mut client = fixture.client();
    assert_eq!(client.ask(number::PING, b"")[0], response::OK);
    assert!(client.ask(number::STATISTICS, b"").starts_with(b"Uptime: "));
    assert_eq!(client.ask(number::INIT_DB, b"no_such_database")[0], response::ERROR);
    assert_eq!(client.ask(number::INIT_DB, b"information_schema")[0], response::OK);
    client.run("SET @a = 1");
    assert_eq!(client.ask(number::RESET_CONNECTION, b"")[0], response::OK);
    assert_eq!(client.query("SELECT @a").text(), [[None]]);
    let refusal = client.ask(99, b"");
    assert_eq!(response::Error::decode(&refusal).unwrap().code, 1047);
    client.tell(number::QUIT, b"");
    assert!(client.is_closed());
}

#[test]
fn a_connection_can_be_killed_and_there_are_not_too_many() {
    let fixture = start();
    let (mut one, mut other) = (fixture.client(), fixture.client());
    let id = other.query("SELECT CONNECTION_ID()").text()[0][0].clone().unwrap();
    one.run(&format!("KILL {id}"));
    assert!(other.is_closed());
    assert_eq!(one.query("KILL 4000").code(), 1094);
    one.run("SET GLOBAL max_connections = 1");
    add_account(&fixture, "worker", Plugin::NativePassword, "w");
    // The killed one may take a moment to leave.
    std::thread::sleep(Duration::from_millis(100));
    let worker = || Login { user: "worker", password: "w", ..Login::default() };
    let socket = fixture.directory.join("s");
    assert_eq!(Client::unix(&socket, &worker()).err().unwrap().code, 1040);
    // The one connection that is kept for an administrator.
    let mut root = fixture.client();
    assert_eq!(Client::unix(&socket, &Login::default()).err().unwrap().code, 1040);
    root.run("SET GLOBAL max_connections = 151");
    drop(Client::unix(&socket, &worker()).ok().unwrap());
}

/// Sockets that never log in take no session, and the oldest of them make room for those that come later.
#[test]
fn an_administrator_finds_a_slot() {
    let fixture = start();
    // It stays, so that the number of sessions is known: the server notes the end of one a moment later.
    let mut first = fixture.client();
    first.run("SET GLOBAL max_connections = 8, GLOBAL connect_timeout = 60");
    let socket = fixture.directory.join("s");
    let mut idle: Vec<UnixStream> = (0..8).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(1200));
    let mut root = fixture.client();
    assert_eq!(root.query("SELECT 1").text().len(), 1);
    // The first one was closed for that; the others are greeted as before.
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut idle[0], &mut rest).unwrap();
    idle[1].set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(std::io::Read::read_to_end(&mut idle[1], &mut rest).is_err());
    first.run("DO 1");
}

/// An address that takes all places loses them to others at once, and not to itself.
#[test]
fn an_address_takes_no_places_from_others() {
    let fixture = start();
    let mut first = fixture.client();
    first.run("SET GLOBAL max_connections = 8, GLOBAL connect_timeout = 60");
    let begin = std::time::Instant::now();
    let mut crowd: Vec<std::net::TcpStream> = Vec::new();
    for _ in 0..8 {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port(&fixture))).unwrap();
        // It has its place when it is greeted.
        std::io::Read::read_exact(&mut stream, &mut [0; 20]).unwrap();
        crowd.push(stream);
    }
    let mut one_more = std::net::TcpStream::connect(("127.0.0.1", port(&fixture))).unwrap();
    let mut refusal = Vec::new();
    std::io::Read::read_to_end(&mut one_more, &mut refusal).unwrap();
    assert_eq!(&refusal[4..7], [0xff, 0x10, 0x04], "1040");
    let client = Client::unix(&fixture.directory.join("s"), &Login::default());
    assert!(client.is_ok());
    assert!(begin.elapsed() < Duration::from_secs(1), "it was not patience that made room");
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut crowd[0], &mut rest).unwrap();
    crowd[1].set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(std::io::Read::read_to_end(&mut crowd[1], &mut rest).is_err());
    first.run("DO 1");
}

/// Strangers that are silent, that send a byte now and then, and that send what is no login and come again: there are as
/// many as there are slots, and whoever has an account comes in.
#[test]
fn strangers_keep_nobody_out() {
    const STRANGERS: usize = 24;
    let fixture = start();
    let mut first = fixture.client();
    first.run(&format!("SET GLOBAL max_connections = {STRANGERS}, GLOBAL connect_timeout = 60"));
    let socket = fixture.directory.join("s");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let goes_on = || !is_over.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        for n in 0..STRANGERS {
            let socket = &socket;
            scope.spawn(move || {
                let mut round = n;
                while goes_on() {
                    let Ok(mut stream) = UnixStream::connect(socket) else { continue };
                    let pause = |ms| std::thread::sleep(Duration::from_millis(ms));
                    let mut say = |bytes: &[u8]| std::io::Write::write_all(&mut stream, bytes).is_ok();
                    match n % 3 {
                        0 => (0..100).take_while(|_| goes_on()).for_each(|_| pause(50)),
                        1 => {
                            // The first packet of a login, byte by byte.
                            let mut bytes = [200, 0, 0, 1].into_iter().chain(std::iter::repeat_n(b'x', 190));
                            while goes_on() && bytes.next().is_some_and(|byte| say(&[byte])) {
                                pause(20);
                            }
                        }
                        _ => {
                            round += 1;
                            match round % 4 {
                                // A packet as large as can be.
                                0 => say(&[0xff, 0xff, 0xff, 1]) && say(&[b'x'; 100_000]),
                                // A question for TLS, and then something else.
                                1 => {
                                    let mut asks = vec![32, 0, 0, 1, 0, 0x0a, 0, 0];
                                    asks.resize(36 + 300, round as u8);
                                    say(&asks)
                                }
                                // A login of which the lengths are wrong.
                                2 => say(&[40, 0, 0, 1]) && say(&[0xff; 40]),
                                _ => say(&[round as u8; 500]),
                            };
                            pause(5);
                        }
                    }
                }
            });
        }
        // Those that have been silent for a second make room.
        std::thread::sleep(Duration::from_millis(1200));
        let mut logins = Vec::new();
        for _ in 0..20 {
            let begin = std::time::Instant::now();
            let is_in = Client::unix(&socket, &Login::default()).is_ok();
            logins.push((is_in, begin.elapsed() < Duration::from_secs(1)));
            std::thread::sleep(Duration::from_millis(50));
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(logins.iter().all(|login| *login == (true, true)), "{logins:?}");
    });
    first.run("DO 1");
}

/// A client that sends its login byte by byte has as much time as any other.
#[test]
fn logging_in_has_a_deadline() {
    let fixture = start();
    fixture.client().run("SET GLOBAL connect_timeout = 2");
    let mut slow = UnixStream::connect(fixture.directory.join("s")).unwrap();
    let begin = std::time::Instant::now();
    // A packet of 200 bytes that is to come.
    for byte in [200, 0, 0, 1].into_iter().chain([0; 40]) {
        if std::io::Write::write_all(&mut slow, &[byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let took = begin.elapsed();
    assert!(took > Duration::from_millis(1500) && took < Duration::from_millis(3500), "{took:?}");
}

#[test]
fn large_packets_go_both_ways_up_to_the_limit() {
    let fixture = start();
    let mut client = fixture.client();
    let bytes = (1 << 24) + 100;
    let rows = client.query(&format!("SELECT '{}' AS a", "x".repeat(bytes))).text();
    assert_eq!(rows[0][0].as_ref().unwrap().len(), bytes);
    client.run("SET SESSION wait_timeout = 100");
    client.run("SET GLOBAL max_allowed_packet = 1048576");
    let mut client = fixture.client();
    client.tell(number::QUERY, format!("SELECT '{}'", "x".repeat(2 << 20)).as_bytes());
    let refusal = client.last_words(1);
    assert_eq!((refusal.code, refusal.sqlstate.as_str()), (1153, "08S01"));
}

#[test]
fn a_silent_client_is_sent_away() {
    let fixture = start();
    let mut client = fixture.client();
    client.run("SET SESSION wait_timeout = 1");
    assert_eq!(client.last_words(0).code, 4031);
    assert!(client.is_closed());
}

#[test]
fn stopping_sends_everybody_home() {
    let mut fixture = start();
    let mut clients: Vec<Client> = (0..5).map(|_| fixture.client()).collect();
    fixture.server.take().unwrap().stop();
    assert!(clients.iter_mut().all(Client::is_closed));
    assert!(!fixture.directory.join("s").exists());
    assert!(fixture.instance.processes.is_empty());
}

/// A client that goes while its statement waits is rolled back at once, and does not keep its rows until the wait is over.
#[test]
fn who_leaves_while_waiting_is_rolled_back() {
    let fixture = start();
    let (mut holder, mut leaver, mut heir) = (fixture.client(), fixture.client(), fixture.client());
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, n INT)",
        "INSERT INTO d.t VALUES (1, 0), (2, 0)",
        "BEGIN",
        "UPDATE d.t SET n = 1 WHERE id = 1",
    ] {
        holder.run(statement);
    }
    leaver.run("BEGIN");
    leaver.run("UPDATE d.t SET n = 2 WHERE id = 2");
    leaver.tell(number::QUERY, b"UPDATE d.t SET n = 2 WHERE id = 1");
    while fixture.instance.engine.status().row_lock_waits_now == 0 {
        std::thread::yield_now();
    }
    drop(leaver);
    // Otherwise this would wait for as long as the other may, and fail together with it.
    heir.run("SET innodb_lock_wait_timeout = 20");
    heir.run("UPDATE d.t SET n = n + 3 WHERE id = 2");
    let rows = heir.query("SELECT n FROM d.t WHERE id = 2").text();
    assert_eq!(rows, [[Some("3".to_owned())]]);
    // RELEASE ends the connection behind its answer.
    holder.run("COMMIT RELEASE");
    assert!(holder.is_closed());
}

#[test]
fn clients_that_are_no_administrators_begin_with_the_servers_statements_and_stay_out_when_it_is_offline() {
    let fixture = start();
    add_account(&fixture, "app", Plugin::NativePassword, "secret");
    let variables = &fixture.instance.variables;
    let text = |text: &str| format::value::Value::Bytes(text.as_bytes().to_vec());
    let app = Login { user: "app", password: "secret", ..Login::default() };
    variables.set("init_connect", &text("SET @from = 'the server'; SET autocommit = 0")).unwrap();
    let mut client = Client::tcp(port(&fixture), &app).unwrap();
    let given = client.query("SELECT @from, @@autocommit").text();
    assert_eq!(given, [[Some("the server".to_owned()), Some("0".to_owned())]]);
    let mut root = Client::tcp(port(&fixture), &Login::default()).unwrap();
    assert_eq!(root.query("SELECT @from, @@autocommit").text(), [[None, Some("1".to_owned())]]);
    variables.set("init_connect", &text("SELECT nothing FROM nowhere.at_all")).unwrap();
    assert_eq!(Client::tcp(port(&fixture), &app).err().unwrap().code, 1184);
    variables.set("init_connect", &text("")).unwrap();

    root.query("SET GLOBAL offline_mode = ON");
    assert_eq!(Client::tcp(port(&fixture), &app).err().unwrap().code, 3032);
    let start = std::time::Instant::now();
    while fixture.instance.processes.all().iter().any(|process| process.user() == "app") {
        assert!(start.elapsed() < Duration::from_secs(10), "the client stays");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(root.query("SELECT 1").text(), [[Some("1".to_owned())]]);
    root.query("SET GLOBAL offline_mode = OFF");
    Client::tcp(port(&fixture), &app).unwrap();
}

#[test]
fn the_server_may_say_what_character_set_its_clients_speak() {
    let fixture = start();
    let variables = &fixture.instance.variables;
    variables.set("collation_server", &format::value::Value::Bytes(b"latin1_german1_ci".to_vec())).unwrap();
    let asked = "SELECT @@character_set_client, @@character_set_results, @@collation_connection";
    let mut answers = Vec::new();
    for handshake in ["ON", "OFF"] {
        variables.load_option("character_set_client_handshake", handshake).unwrap();
        answers.push(Client::tcp(port(&fixture), &Login::default()).unwrap().query(asked).text());
    }
    assert_ne!(answers[0], answers[1]);
    let server = ["latin1", "latin1", "latin1_german1_ci"].map(|name| Some(name.to_owned()));
    assert_eq!(answers[1], [server]);
}
