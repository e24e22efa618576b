//! `glassine binlog --read-from-remote-server`: what a server sends, as text and as files, beside the files that it has; of
//! Glassine and of MariaDB; and a reader that waits, while its connections and the server are killed.

mod logged;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bench::changes::Changes;
use bench::process::{Kind, Options, Scratch, Server, glassine_binary, mariadb_is_installed};
use bench::replicas::free_port;
use logged::printed;

/// Where the flags of a file's description are: the server clears "in use" in what it sends, and in files that it closes.
const DESCRIPTION_FLAGS: usize = 4 + 17;

fn options(more: &[&str]) -> Options {
    Options { more: more.iter().map(|option| option.to_string()).collect(), pool: "64M".into(), ..Options::default() }
}

fn live(server: &Server, changes: &mut Changes, steps: usize) {
    let mut client = server.connect().expect("a connection");
    for statement in Changes::prologue() {
        client.query(&statement).expect(&statement);
    }
    for _ in 0..steps {
        for statement in changes.next_step() {
            client.query(&statement).unwrap_or_else(|error| panic!("{statement:.200}: {error:?}"));
        }
    }
}

fn names(server: &Server) -> Vec<String> {
    let names = server.connect().and_then(|mut client| client.query("SHOW BINARY LOGS")).expect("logs").rows;
    names.into_iter().map(|row| row[0].clone().expect("a name")).collect()
}

/// Bytes of a file, without the flag that says whether the server uses it.
fn bytes(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap_or_default();
    if let Some(flags) = bytes.get_mut(DESCRIPTION_FLAGS) {
        *flags &= !1;
    }
    bytes
}

/// Waits until the copies are the server's files.
fn assert_copied(server: &Server, copies: &Path) {
    let names = names(server);
    let began = Instant::now();
    for name in &names {
        let (theirs, ours) = (server.directory.join("data").join(name), copies.join(format!("copy-{name}")));
        while bytes(&theirs) != bytes(&ours) {
            if began.elapsed() > Duration::from_secs(20) {
                let (theirs, ours) = (bytes(&theirs), bytes(&ours));
                let at = theirs.iter().zip(&ours).position(|(a, b)| a != b);
                panic!("{name}: {} bytes there, {} here, the first difference is at {at:?}", theirs.len(), ours.len());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn remote(server: &Server) -> Command {
    let mut command = Command::new(glassine_binary());
    command.args(["binlog", "-R", "-S"]).arg(&server.socket);
    command
}

fn text(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn copies(scratch: &Scratch) -> PathBuf {
    let directory = scratch.0.join("copies");
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}

/// A reader that waits for more; it is killed in the end.
struct Waiting(Child);

impl Waiting {
    fn begin(server: &Server, copies: &Path, first: &str, more: &[&str]) -> Waiting {
        let mut command = remote(server);
        command.args(["--raw", "--stop-never", "--result-file"]).arg(copies.join("copy-")).args(more).arg(first);
        Waiting(command.stderr(Stdio::null()).spawn().expect("it starts"))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills the connections of all that read the log.
fn kill_dumps(server: &Server) -> usize {
    let mut client = server.connect().expect("a connection");
    let rows = client.query("SHOW PROCESSLIST").expect("a list").rows;
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_default();
    let dumps: Vec<String> =
        rows.iter().filter(|row| cell(&row[4]).starts_with("Binlog Dump")).map(|row| cell(&row[0])).collect();
    for dump in &dumps {
        client.query(&format!("KILL {dump}")).expect("a kill");
    }
    dumps.len()
}

#[test]
fn a_server_sends_the_text_and_the_bytes_of_its_files() {
    for kind in [Kind::Glassine, Kind::MariaDb] {
        if kind == Kind::MariaDb && !mariadb_is_installed() {
            println!("skipped: mariadbd is not installed");
            continue;
        }
        let scratch = Scratch::new("binlog_remote").expect("a directory");
        let port = free_port();
        let port = port.to_string();
        let tcp = format!("--port={port}");
        let more: &[&str] = match kind {
            Kind::Glassine => &["--gtid-mode=ON", "--binlog-transaction-compression=ON", "--max-binlog-size=32768"],
            Kind::MariaDb => &["--binlog-format=ROW", "--log-bin-compress=1", "--max-binlog-size=65536"],
        };
        let common = ["--log-bin=log", "--server-id=7", "--skip-networking=0", "--bind-address=127.0.0.1", &tcp];
        let more = options(&[&common[..], more].concat());
        let server = Server::create(kind, &scratch.0.join("source"), &more).expect("it starts");
        live(&server, &mut Changes::new(21, false), 400);
        let files = names(&server);
        assert!(files.len() > 2, "{files:?}");
        server.connect().and_then(|mut client| client.query("FLUSH BINARY LOGS")).expect("a new file");

        let paths: Vec<PathBuf> = files.iter().map(|file| server.directory.join("data").join(file)).collect();
        let from_files = printed(&glassine_binary(), &["binlog", "-v"], &paths);
        assert!(text(remote(&server).arg("-v").args(&files)) == from_files, "{kind:?}: each file");
        let to_last = text(remote(&server).args(["-v", "--to-last-log"]).arg(&files[0]));
        let end = from_files.find("DELIMITER ;\n# End").expect("an end");
        assert!(to_last.starts_with(&from_files[..end - 200]), "{kind:?}: from the first one on");
        assert!(to_last.len() > from_files.len());
        assert_eq!(text(remote(&server).arg(&files[0])), printed(&glassine_binary(), &["binlog"], &paths[..1]));
        // From a place on, by TCP, with a password.
        let mut client = server.connect().expect("a connection");
        client.query("CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'secret'").expect("a user");
        client.query("GRANT ALL ON *.* TO reader@'127.0.0.1'").expect("privileges");
        let events = client.query(&format!("SHOW BINLOG EVENTS IN '{}'", files[1])).expect("events").rows;
        let at = events[events.len() / 2][1].clone().expect("a position");
        let mut by_tcp = Command::new(glassine_binary());
        by_tcp.args(["binlog", "-R", "-h", "127.0.0.1", "-P", &port, "-u", "reader", "--get-server-public-key"]);
        let found = text(by_tcp.env("MYSQL_PWD", "secret").args(["-j", &at, &files[1]]));
        let wanted = printed(&glassine_binary(), &["binlog", "-j", &at], &paths[1..2]);
        let events = |text: &str| text.lines().filter(|line| line.starts_with("# at ")).map(str::to_owned).collect();
        let (found, wanted): (Vec<String>, Vec<String>) = (events(&found), events(&wanted));
        assert_eq!(found, wanted, "{kind:?}: from {at} on");
        assert!(found.len() > 3);

        let copies = copies(&scratch);
        let status = remote(&server).args(["--raw", "-t", "-r"]).arg(copies.join("copy-")).arg(&files[0]).status();
        assert!(status.expect("it runs").success());
        assert_copied(&server, &copies);
        for file in &files {
            let (theirs, ours) = (server.directory.join("data").join(file), copies.join(format!("copy-{file}")));
            assert_eq!(std::fs::read(theirs).ok(), std::fs::read(ours).ok(), "{kind:?}: {file}, with its flags");
        }
    }
}

#[test]
fn a_reader_that_waits_copies_files_as_they_are_written_whatever_is_killed() {
    for kind in [Kind::Glassine, Kind::MariaDb] {
        if kind == Kind::MariaDb && !mariadb_is_installed() {
            println!("skipped: mariadbd is not installed");
            continue;
        }
        let scratch = Scratch::new("binlog_waits").expect("a directory");
        let more: &[&str] = match kind {
            Kind::Glassine => &["--gtid-mode=ON", "--binlog-transaction-compression=ON", "--max-binlog-size=32768"],
            Kind::MariaDb => &["--binlog-format=ROW", "--max-binlog-size=65536"],
        };
        let more = options(&[&["--log-bin=log", "--server-id=7"], more].concat());
        let directory = scratch.0.join("source");
        let mut server = Server::create(kind, &directory, &more).expect("it starts");
        let copies = copies(&scratch);
        let mut waiting = Waiting::begin(&server, &copies, "log.000001", &["--connection-server-id=77"]);
        let mut changes = Changes::new(22, false);
        live(&server, &mut changes, 60);
        assert_copied(&server, &copies);
        let mut killed = 0;
        for round in 0..4 {
            if round == 1 {
                server.kill();
                server = Server::start(kind, &directory, &more).expect("a restart");
            }
            if round == 2 {
                server.stop().expect("a clean stop");
                server = Server::start(kind, &directory, &more).expect("a restart");
            }
            live(&server, &mut changes, 30);
            killed += kill_dumps(&server);
            live(&server, &mut changes, 30);
            if round == 3 {
                server.connect().and_then(|mut client| client.query("FLUSH BINARY LOGS")).expect("a new file");
            }
            assert_copied(&server, &copies);
        }
        assert!(killed > 1, "{killed} connections were killed");
        assert!(names(&server).len() > 5, "{:?}", names(&server));
        assert!(waiting.0.try_wait().expect("a child").is_none(), "it waits for more");
    }
}

#[test]
fn what_cannot_be_read_from_a_server_says_why() {
    let scratch = Scratch::new("binlog_refused").expect("a directory");
    let options = options(&["--log-bin=log", "--binlog-transaction-compression=ON", "--binlog-dump-payloads=OFF"]);
    let server = Server::create(Kind::Glassine, &scratch.0.join("source"), &options).expect("it starts");
    live(&server, &mut Changes::new(23, false), 40);
    let copies = copies(&scratch);
    for (arguments, why) in [
        (&["-R", "nothing.000001"][..], "ERROR 1236: Could not find first log file name"),
        (&["-R", "-j", "5", "log.000001"], "ERROR 1236: Client requested source to start replication from impossible"),
        (&["-R", "-u", "nobody", "log.000001"], "ERROR 1045"),
        (&["-R", "--raw", "-t", "log.000001"], "binlog_dump_payloads"),
        (&["-R", "--raw", "--database=d", "log.000001"], "cannot be used with"),
        (&["--stop-never", "log.000001"], "--read-from-remote-server"),
        (&["--raw", "log.000001"], "--read-from-remote-server"),
    ] {
        let mut command = Command::new(glassine_binary());
        command.arg("binlog").args(arguments).current_dir(&copies);
        if arguments.contains(&"-R") {
            command.arg("-S").arg(&server.socket);
        }
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{arguments:?}: {said}");
    }
    // Plain events are no file of the log, but they are text.
    let all = text(remote(&server).args(["-v", "log.000001"]));
    let file = server.directory.join("data/log.000001");
    let wanted = printed(&glassine_binary(), &["binlog", "-v"], &[file]);
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("###")).map(str::to_owned).collect();
    let (found, wanted): (Vec<String>, Vec<String>) = (rows(&all), rows(&wanted));
    assert!(!found.is_empty() && found == wanted);
}
