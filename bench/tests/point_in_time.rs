//! Restores to a point in time: a backup taken in the middle of load, the logs behind it, a table that is dropped by
//! mistake. The restored tables are compared with what was there just before, and the restore is killed again and again.

mod logged;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use bench::changes::{Changes, DATABASE};
use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server, glassine_binary};
use bench::replicas::free_port;
use logged::{all_rows, assert_same_rows};

const BANK: &str = "bank";
const ACCOUNTS: u32 = 200;
const WORKERS: u32 = 3;

static NEXT_TRANSFER: AtomicU32 = AtomicU32::new(1);

fn options(more: &[&str]) -> Options {
    Options { more: more.iter().map(|option| option.to_string()).collect(), pool: "64M".into(), ..Options::default() }
}

fn run(client: &mut Client, statement: &str) {
    client.query(statement).unwrap_or_else(|error| panic!("{statement:.200}: {error:?}"));
}

/// Transfers between accounts until it is stopped; each transaction also leaves a row.
fn transfer(server: &Server, worker: u32, stop: &Arc<AtomicBool>) -> thread::JoinHandle<u32> {
    let (mut client, stop) = (server.connect().expect("a connection"), stop.clone());
    thread::spawn(move || {
        let mut count = 0;
        while !stop.load(Ordering::Relaxed) {
            count += 1;
            let (one, other) = ((count * 7 + worker) % ACCOUNTS, (count * 13 + 5 * worker) % ACCOUNTS);
            // In one order, so that no two wait for each other.
            let (low, high) = (one.min(other), one.max(other));
            run(&mut client, "BEGIN");
            run(&mut client, &format!("UPDATE bank.accounts SET balance = balance - 1 WHERE id = {low}"));
            run(&mut client, &format!("UPDATE bank.accounts SET balance = balance + 1 WHERE id = {high}"));
            let id = NEXT_TRANSFER.fetch_add(1, Ordering::Relaxed);
            run(&mut client, &format!("INSERT INTO bank.transfers VALUES ({id}, {low}, {high}, REPEAT('x', 100))"));
            run(&mut client, "COMMIT");
        }
        count
    })
}

/// Lives through the history and the transfers for a while.
fn load(server: &Server, changes: &mut Changes, steps: usize, while_loading: impl FnOnce()) {
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..WORKERS).map(|worker| transfer(server, worker, &stop)).collect();
    let mut client = server.connect().expect("a connection");
    let mut live = |steps: usize| {
        for _ in 0..steps {
            for statement in changes.next_step() {
                run(&mut client, &statement);
            }
        }
    };
    live(steps / 2);
    while_loading();
    live(steps / 2);
    stop.store(true, Ordering::Relaxed);
    let counts: Vec<u32> = workers.into_iter().map(|worker| worker.join().expect("it ends")).collect();
    assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
    run(&mut server.connect().expect("a connection"), "DELETE FROM bank.transfers WHERE from_id = 1");
}

fn prepare(server: &Server) {
    let mut client = server.connect().expect("a connection");
    for statement in Changes::prologue() {
        run(&mut client, &statement);
    }
    run(&mut client, "CREATE DATABASE bank");
    run(&mut client, "CREATE TABLE bank.accounts (id INT PRIMARY KEY, balance INT NOT NULL)");
    run(
        &mut client,
        "CREATE TABLE bank.transfers (id INT PRIMARY KEY, from_id INT NOT NULL, to_id INT NOT NULL, body TEXT, \
         KEY (from_id))",
    );
    let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, 100)")).collect();
    run(&mut client, &format!("INSERT INTO bank.accounts VALUES {}", rows.join(",")));
}

fn backup(server: &Server, to: &Path) {
    let output = glassine(&["backup", "--socket", text(&server.socket), "--to", text(to)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn glassine(arguments: &[&str]) -> Output {
    Command::new(glassine_binary()).args(arguments).output().expect("it runs")
}

/// The files of the server's log, copied elsewhere, as they are there in an emergency.
fn saved_logs(server: &Server, to: &Path) -> Vec<PathBuf> {
    std::fs::create_dir_all(to).expect("a directory");
    let names = server.connect().and_then(|mut client| client.query("SHOW BINARY LOGS")).expect("logs").rows;
    let names = names.iter().map(|row| row[0].clone().expect("a name"));
    names
        .map(|name| {
            std::fs::copy(server.directory.join("data").join(&name), to.join(&name)).expect("a copy");
            to.join(name)
        })
        .collect()
}

/// `glassine restore` of an archive into a server's directory, with logs.
fn restore(archive: &Path, directory: &Path, logs: &[PathBuf], more: &[&str]) -> Command {
    let mut command = Command::new(glassine_binary());
    command.args(["restore", text(archive), "--datadir", text(&directory.join("data")), "--logs"]);
    command.args(logs).args(more);
    command
}

fn output(command: &mut Command) -> (bool, String) {
    let output = command.output().expect("it runs");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.success(), text)
}

fn state(server: &Server) -> Vec<String> {
    [all_rows(server, DATABASE), all_rows(server, BANK)].concat()
}

fn executed(server: &Server) -> String {
    let status = server.connect().and_then(|mut client| client.query("SHOW MASTER STATUS")).expect("a status");
    status.rows[0][4].clone().expect("a set").replace('\n', "")
}

#[test]
fn what_was_there_just_before_a_mistake_is_restored() {
    for (round, more) in [
        &["--gtid-mode=ON", "--binlog-transaction-compression=ON"][..],
        &["--max-binlog-size=200000"],
        &["--gtid-mode=ON", "--binlog-row-image=MINIMAL", "--innodb-log-file-size=4M", "--binlog-cache-size=4096"],
    ]
    .iter()
    .enumerate()
    {
        let scratch = Scratch::new("point_in_time").expect("a directory");
        let own = options(&[&["--log-bin", "--server-id=7"], *more].concat());
        let server = Server::create(Kind::Glassine, &scratch.0.join("server"), &own).expect("Glassine starts");
        let archive = scratch.0.join("backup");
        let mut changes = Changes::new(round as u64 + 30, true);
        prepare(&server);
        load(&server, &mut changes, 100, || backup(&server, &archive));
        let mut client = server.connect().expect("a connection");
        if round == 2 {
            // A transaction that is a file of its own.
            run(&mut client, "CREATE TABLE bank.many (id INT PRIMARY KEY AUTO_INCREMENT, body TEXT)");
            run(&mut client, "INSERT INTO bank.many (body) VALUES (REPEAT('m', 500))");
            for _ in 0..11 {
                run(&mut client, "INSERT INTO bank.many (body) SELECT body FROM bank.many");
            }
        }
        load(&server, &mut changes, 100, || {
            server.connect().and_then(|mut client| client.query("FLUSH BINARY LOGS")).expect("the next file");
        });
        let wanted = state(&server);
        let before = executed(&server);
        thread::sleep(Duration::from_millis(20));
        let now = client.query("SELECT UTC_TIMESTAMP(6)").expect("the time").rows[0][0].clone().expect("a time");
        let place = client.query("SHOW MASTER STATUS").expect("a place").rows[0].clone();
        let place = format!("{}:{}", place[0].as_deref().expect("a file"), place[1].as_deref().expect("a position"));
        thread::sleep(Duration::from_millis(20));
        run(&mut client, "DROP TABLE bank.transfers");
        let mistake = executed(&server);
        run(&mut client, "UPDATE bank.accounts SET balance = 0");
        let last = state(&server);
        let logs = saved_logs(&server, &scratch.0.join("logs"));

        let (to_time, to_place) = (format!("--to-time={now}"), format!("--to-position={place}"));
        let mut targets = vec![(vec![to_time.as_str()], &wanted), (vec![&to_place], &wanted), (vec![], &last)];
        let names = (before.rsplit([':', '-']).next(), mistake.rsplit_once([':', '-']));
        let uuid = before.split(':').next().expect("a name").to_owned();
        let (until, not) = match names {
            (Some(until), Some((_, not))) if round != 1 => {
                (format!("--to-gtid={uuid}:{until}"), format!("--before-gtid={uuid}:{not}"))
            }
            _ => (String::new(), String::new()),
        };
        if round != 1 {
            targets.push((vec![&until], &wanted));
            targets.push((vec![&not], &wanted));
        }
        for (number, (target, wanted)) in targets.iter().enumerate() {
            let directory = scratch.0.join(format!("restored{number}"));
            std::fs::create_dir_all(&directory).expect("a directory");
            let dry = output(restore(&archive, &directory, &logs, target).arg("--dry-run"));
            assert!(dry.0 && !directory.join("data").exists(), "{}", dry.1);
            assert_eq!(dry.1.contains("`bank`.`transfers` /* generated"), target.is_empty(), "{}", dry.1);
            let done = output(&mut restore(&archive, &directory, &logs, target));
            assert!(done.0, "round {round}, {target:?}: {}", done.1);
            let restored = Server::start(Kind::Glassine, &directory, &own).expect("Glassine starts");
            assert_same_rows(&state(&restored), wanted, &format!("round {round}, {target:?}"));
            // Nothing of the replay is left.
            let stored = "SELECT NAME FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE 'mysql/%'";
            let tables = restored.connect().and_then(|mut client| client.query(stored));
            assert!(tables.expect("tables").rows.is_empty());
            std::fs::remove_dir_all(directory.join("data")).expect("it goes");
        }
    }
}

#[test]
fn a_restore_that_is_killed_goes_on_where_it_was() {
    let scratch = Scratch::new("point_killed").expect("a directory");
    let own = options(&["--log-bin", "--gtid-mode=ON", "--binlog-transaction-compression=ON"]);
    let server = Server::create(Kind::Glassine, &scratch.0.join("server"), &own).expect("Glassine starts");
    let archive = scratch.0.join("backup");
    let mut changes = Changes::new(77, true);
    prepare(&server);
    load(&server, &mut changes, 40, || ());
    backup(&server, &archive);
    load(&server, &mut changes, 400, || thread::sleep(Duration::from_secs(3)));
    let wanted = state(&server);
    let logs = saved_logs(&server, &scratch.0.join("logs"));
    let directory = scratch.0.join("restored");
    std::fs::create_dir_all(&directory).expect("a directory");
    let mut kills = 0;
    for round in 0.. {
        let mut child =
            restore(&archive, &directory, &logs, &["--quiet"]).stderr(Stdio::piped()).spawn().expect("it runs");
        // From within the copy to the middle of the replay.
        thread::sleep(Duration::from_millis(15 + 75 * round));
        if kills < 10 && child.try_wait().expect("its state").is_none() {
            child.kill().expect("it is killed");
            child.wait().expect("it is gone");
            kills += 1;
            // Half of it is not served.
            if directory.join("data/#restore.point").exists() {
                let served = glassine(&["serve", "--no-defaults", "--datadir", text(&directory.join("data"))]);
                let said = String::from_utf8_lossy(&served.stderr).into_owned();
                assert!(!served.status.success() && said.contains("restore to a point in time"), "{said}");
            }
            continue;
        }
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "after {kills} kills: {}", String::from_utf8_lossy(&output.stderr));
        break;
    }
    assert!(kills >= 5, "{kills} kills");
    let restored = Server::start(Kind::Glassine, &directory, &own).expect("Glassine starts");
    assert_same_rows(&state(&restored), &wanted, "after the kills");
}

#[test]
fn what_cannot_be_restored_is_said_before_anything_is_applied() {
    let scratch = Scratch::new("point_refused").expect("a directory");
    let own = options(&["--log-bin", "--gtid-mode=ON"]);
    let server = Server::create(Kind::Glassine, &scratch.0.join("server"), &own).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    run(&mut client, "CREATE DATABASE d");
    run(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY)");
    run(&mut client, "FLUSH BINARY LOGS");
    run(&mut client, "INSERT INTO d.t VALUES (1)");
    let archive = scratch.0.join("backup");
    backup(&server, &archive);
    for id in 2..8 {
        run(&mut client, &format!("INSERT INTO d.t VALUES ({id})"));
        run(&mut client, "FLUSH BINARY LOGS");
    }
    let logs = saved_logs(&server, &scratch.0.join("logs"));
    let uuid = executed(&server).split(':').next().expect("a name").to_owned();
    drop(client);

    // Another server has a log of the same name.
    let other = Server::create(Kind::Glassine, &scratch.0.join("other"), &own).expect("Glassine starts");
    let mut client = other.connect().expect("a connection");
    run(&mut client, "CREATE DATABASE e");
    run(&mut client, "FLUSH BINARY LOGS");
    for database in 0..9 {
        run(&mut client, &format!("CREATE DATABASE e{database}"));
    }
    run(&mut client, "FLUSH BINARY LOGS");
    let others = saved_logs(&other, &scratch.0.join("other_logs"));
    let mixed = [&logs[..2], &others[2..3], &logs[3..]].concat();
    let truncated = scratch.0.join("truncated/binlog.000003");
    std::fs::create_dir_all(truncated.parent().expect("a directory")).expect("a directory");
    let bytes = std::fs::read(&logs[2]).expect("a log");
    std::fs::write(&truncated, &bytes[..bytes.len() - 50]).expect("a part");
    let cut = [&logs[..2], &[truncated], &logs[3..]].concat();
    let gap = [&logs[..3], &logs[4..]].concat();

    let (in_backup, missing) = (format!("--to-gtid={uuid}:3"), format!("--before-gtid={uuid}:100"));
    let directory = scratch.0.join("restored");
    std::fs::create_dir_all(&directory).expect("a directory");
    for (given, more, said) in [
        (&logs[3..], &[][..], "this file is not among the logs"),
        (&gap[..], &[], "binlog.000004 is missing between binlog.000003 and binlog.000005"),
        (&others[..], &[], "this is not the log that the backup is of"),
        (&mixed[..], &[], "this is not the log that the backup is of"),
        (&cut[..], &[], "and binlog.000004 follows"),
        (&logs[..], &["--to-time=2020-01-01 00:00:00"], "the backup is too new for this"),
        (&logs[..], &[&in_backup], "it contains"),
        (&logs[..], &[&missing], "is not in the logs"),
        (&logs[..], &["--to-position=binlog.000002:4"], "the backup is too new for this"),
        (&logs[..], &["--to-position=binlog.000090:4"], "is not in the logs"),
        (&logs[..], &["--to-position=binlog.000004:300"], "is within the transaction"),
    ] {
        for dry in [true, false] {
            let mut command = restore(&archive, &directory, given, more);
            if dry {
                command.arg("--dry-run");
            }
            let (succeeded, text) = output(&mut command);
            assert!(!succeeded && text.contains(said), "{more:?}, {said}: {text}");
        }
    }
    // What was copied meanwhile is used by the next run; the last log may end anywhere.
    let last = logs.last().expect("a log");
    let bytes = std::fs::read(last).expect("a log");
    std::fs::write(last, &bytes[..bytes.len() - 1]).expect("a part");
    let (succeeded, text) = output(&mut restore(&archive, &directory, &logs, &[]));
    assert!(succeeded, "{text}");
    let restored = Server::start(Kind::Glassine, &directory, &own).expect("Glassine starts");
    let count = restored.connect().and_then(|mut client| client.query("SELECT COUNT(*) FROM d.t")).expect("a count");
    assert_eq!(count.cell(), Some("7"));
}

#[test]
fn a_backup_of_a_stopped_server_says_where_it_stands() {
    let scratch = Scratch::new("point_stopped").expect("a directory");
    let own = options(&["--log-bin", "--gtid-mode=ON"]);
    let source = scratch.0.join("server");
    let mut server = Server::create(Kind::Glassine, &source, &own).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    run(&mut client, "CREATE DATABASE d");
    run(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY)");
    drop(client);
    server.stop().expect("it stops");
    let archive = scratch.0.join("backup");
    let made = glassine(&["backup", "--datadir", text(&source.join("data")), "--to", text(&archive)]);
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success() && said.contains("binlog.000001 at "), "{said}");
    server = Server::start(Kind::Glassine, &source, &own).expect("Glassine starts");
    run(&mut server.connect().expect("a connection"), "INSERT INTO d.t VALUES (1), (2)");
    let logs = saved_logs(&server, &scratch.0.join("logs"));
    let directory = scratch.0.join("restored");
    std::fs::create_dir_all(&directory).expect("a directory");
    let (succeeded, text) = output(&mut restore(&archive, &directory, &logs, &[]));
    assert!(succeeded, "{text}");
    let restored = Server::start(Kind::Glassine, &directory, &own).expect("Glassine starts");
    assert_same_rows(&all_rows(&restored, "d"), &all_rows(&server, "d"), "the rows");
}

/// What a backup lacks comes from the source, which has not even the files any more that the backup has.
#[test]
fn a_restored_server_has_the_names_of_its_transactions_and_follows_by_them() {
    let scratch = Scratch::new("point_follows").expect("a directory");
    let port = free_port();
    let more = ["--log-bin", "--gtid-mode=ON", "--binlog-transaction-compression=ON", "--max-binlog-size=100000"];
    let tcp = ["--skip-networking=0", "--bind-address=127.0.0.1", "--server-id=7", &format!("--port={port}")];
    let own = options(&[&more[..], &tcp[..]].concat());
    let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &own).expect("Glassine starts");
    let mut client = source.connect().expect("a connection");
    run(&mut client, "GRANT ALL ON *.* TO replica@127.0.0.1 IDENTIFIED BY 'secret'");
    let mut changes = Changes::new(41, true);
    prepare(&source);
    let archive = scratch.0.join("backup");
    let (mut in_backup, mut file) = (String::new(), String::new());
    load(&source, &mut changes, 60, || {
        run(&mut source.connect().expect("a connection"), "FLUSH BINARY LOGS");
        in_backup = executed(&source);
        let status = source.connect().and_then(|mut client| client.query("SHOW MASTER STATUS")).expect("a status");
        file = status.rows[0][0].clone().expect("a file");
        backup(&source, &archive);
    });
    load(&source, &mut changes, 60, || ());
    let logs = saved_logs(&source, &scratch.0.join("logs"));
    let in_logs = executed(&source);
    run(&mut client, &format!("PURGE BINARY LOGS TO '{file}'"));
    for (number, least) in [in_backup, in_logs.clone()].into_iter().enumerate() {
        let directory = scratch.0.join(format!("restored{number}"));
        std::fs::create_dir_all(&directory).expect("a directory");
        let done = match number {
            0 => output(Command::new(glassine_binary()).args([
                "restore",
                text(&archive),
                "--datadir",
                text(&directory.join("data")),
            ])),
            _ => output(&mut restore(&archive, &directory, &logs, &[])),
        };
        assert!(done.0, "{}", done.1);
        let named = options(&[&more[..], &[&format!("--server-id={}", 8 + number)]].concat());
        let replica = Server::start(Kind::Glassine, &directory, &named).expect("Glassine starts");
        let has = executed(&replica);
        let purged = replica.connect().and_then(|mut client| client.query("SELECT @@GLOBAL.gtid_purged"));
        assert_eq!(purged.expect("a set").cell().map(|set| set.replace('\n', "")), Some(has.clone()));
        let covers = format!("SELECT GTID_SUBSET('{least}', '{has}'), GTID_SUBSET('{has}', '{in_logs}')");
        let covers = client.query(&covers).expect("it is answered").rows;
        assert_eq!(covers[0], [Some("1".to_owned()), Some("1".to_owned())], "{number}: {has}");
        assert!(number == 0 || has == in_logs, "{has}, {in_logs}");
        // It stays so.
        replica.kill();
        let replica = Server::start(Kind::Glassine, &directory, &named).expect("Glassine starts");
        assert_eq!(executed(&replica), has);
        let mut of_replica = replica.connect().expect("a connection");
        let change = format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'replica', \
             SOURCE_PASSWORD = 'secret', GET_SOURCE_PUBLIC_KEY = 1, SOURCE_AUTO_POSITION = 1"
        );
        run(&mut of_replica, &change);
        run(&mut of_replica, "START REPLICA");
        run(&mut client, &format!("INSERT INTO bank.transfers VALUES ({}, 1, 1, 'after')", 1_000_000 + number));
        let wanted = executed(&source);
        let waited = of_replica.query(&format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{wanted}', 20)"));
        assert_eq!(waited.expect("it waits").cell(), Some("0"), "{:?}", of_replica.query("SHOW REPLICA STATUS"));
        assert_same_rows(&state(&replica), &state(&source), "the replica");
        assert_eq!(executed(&replica), wanted);
    }
}

/// A restored directory knows where it stands, so it can go further with later logs.
#[test]
fn a_restore_is_continued_to_a_later_point() {
    for names in [&["--gtid-mode=ON"][..], &[]] {
        let scratch = Scratch::new("point_further").expect("a directory");
        let own = options(&[&["--log-bin", "--max-binlog-size=50000"], names].concat());
        let server = Server::create(Kind::Glassine, &scratch.0.join("server"), &own).expect("Glassine starts");
        let archive = scratch.0.join("backup");
        let mut changes = Changes::new(42, true);
        prepare(&server);
        backup(&server, &archive);
        let directory = scratch.0.join("restored");
        std::fs::create_dir_all(&directory).expect("a directory");
        for round in 0..3 {
            if round < 2 {
                load(&server, &mut changes, 40, || ());
            }
            let logs = saved_logs(&server, &scratch.0.join("logs"));
            let done = output(&mut restore(&archive, &directory, &logs, &[]));
            // The third time there is nothing left.
            assert!(done.0 && done.1.contains("replayed   0 transactions") == (round == 2), "{}", done.1);
        }
        let restored = Server::start(Kind::Glassine, &directory, &own).expect("Glassine starts");
        assert_same_rows(&state(&restored), &state(&server), "the rows");
        if !names.is_empty() {
            assert_eq!(executed(&restored), executed(&server));
        }
    }
}
