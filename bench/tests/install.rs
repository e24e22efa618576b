//! The server as a service and as a package, and the file that `glassine support` writes, judged from outside.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bench::process::{Kind, Options, Scratch, Server, glassine_binary};
use bench::replicas::free_port;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}:\n{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn systemd_is_told_when_the_server_is_ready_and_when_it_stops() {
    let scratch = Scratch::new("install-notify").expect("a directory");
    let data = scratch.0.join("data");
    output(
        Command::new(glassine_binary())
            .args(["init", "--initialize-insecure"])
            .arg(format!("--datadir={}", data.display())),
    );
    // The path of a socket has room for a hundred bytes.
    let path = std::env::temp_dir().join(format!("glassine-notify-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    let mut server = Command::new(glassine_binary())
        .args(["serve", "--no-defaults", "--skip-networking"])
        .arg(format!("--datadir={}", data.display()))
        .env("NOTIFY_SOCKET", &path)
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let heard = || {
        let mut buffer = [0; 1000];
        let length = socket.recv(&mut buffer).expect("a datagram");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    assert_eq!(heard(), "STATUS=Opening the data files");
    let ready = heard();
    assert!(ready.starts_with("READY=1\nSTATUS=Ready for connections"), "{ready}");
    let stop = Command::new("kill").args(["-TERM", &server.id().to_string()]).status().expect("kill");
    assert!(stop.success());
    assert_eq!(heard(), "STOPPING=1\nSTATUS=Shutting down");
    assert!(server.wait().expect("it ends").success());
    fs::remove_file(&path).expect("the socket");
}

#[test]
fn the_file_for_support_holds_no_password_no_literal_and_no_row() {
    let scratch = Scratch::new("install-support").expect("a directory");
    let more = vec!["--init-connect=SET @x = 'planted option'".to_owned()];
    let options = Options { pool: "32M".into(), more, ..Options::default() };
    let server = Server::create(Kind::Glassine, &scratch.0.join("server"), &options).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    for statement in [
        "CREATE DATABASE visible_database",
        "CREATE TABLE visible_database.parent (id VARCHAR(40) PRIMARY KEY)",
        "CREATE TABLE visible_database.child (id INT PRIMARY KEY, p VARCHAR(40), FOREIGN KEY (p) REFERENCES visible_database.parent (id))",
        "INSERT INTO visible_database.parent VALUES ('planted row')",
        "CREATE USER visible_user IDENTIFIED BY 'planted-password'",
    ] {
        client.query(statement).expect(statement);
    }
    // The engine's report shows keys of the last error; a connection shows what it runs.
    assert!(client.query("INSERT INTO visible_database.child VALUES (1, 'planted key')").is_err());
    let mut sleeper = server.connect().expect("a connection");
    let sleeps = std::thread::spawn(move || sleeper.query("SELECT SLEEP(3), 'planted literal'").map(drop));
    std::thread::sleep(Duration::from_millis(500));
    let log = scratch.0.join("error.log");
    let planted = "2026-01-02T03:04:05.000001Z 0 [Note] temporary password plantedword and 'planted quote'\nplanted continuation\n";
    fs::write(&log, planted).expect("a log");
    let file = scratch.0.join("support.txt");
    output(
        Command::new(glassine_binary())
            .arg("support")
            .arg(format!("--socket={}", server.socket.display()))
            .arg(format!("--log={}", log.display()))
            .arg(format!("--to={}", file.display())),
    );
    sleeps.join().expect("it ends").expect("it sleeps");
    let text = fs::read_to_string(&file).expect("the file");
    let planted: Vec<&str> = text.lines().filter(|line| line.contains("planted")).collect();
    assert!(planted.is_empty(), "{planted:?}");
    assert!(!text.contains("caching_sha2_password$"), "a verifier");
    for wanted in [
        "version=8.0",
        "innodb_buffer_pool_size=33554432",
        "init_connect=(left out)",
        "--init-connect=(left out)",
        "Threads_connected=",
        "VmRSS",
        "| SELECT\n",
        "-- LATEST FOREIGN KEY ERROR: left out",
        "Log sequence number",
        "temporary password (left out)",
        "visible_database/child.ibd",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in\n{text}");
    }
    assert_eq!(fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o600);
    // An existing file is not overwritten.
    let again = Command::new(glassine_binary())
        .arg("support")
        .arg(format!("--socket={}", server.socket.display()))
        .arg(format!("--to={}", file.display()))
        .stderr(Stdio::null())
        .status();
    assert!(!again.expect("it runs").success());
    server.stop().expect("a clean shutdown");
}

#[test]
fn the_package_is_built_and_its_server_starts_from_its_files() {
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !["dpkg-deb", "strip", "objdump"].into_iter().all(is_there) {
        println!("skipped: dpkg-deb, strip or objdump is not installed");
        return;
    }
    let scratch = Scratch::new("install-package").expect("a directory");
    let built =
        output(Command::new(root().join("packaging/build-deb")).arg("--binary").arg(glassine_binary()).arg(&scratch.0));
    let tree = scratch.0.join("tree");
    output(Command::new("dpkg-deb").arg("-x").arg(built.trim()).arg(&tree));
    let control = output(Command::new("dpkg-deb").arg("-f").arg(built.trim()));
    assert!(control.contains("Package: glassine") && control.contains("libc6 (>= 2."), "{control}");
    assert!(!control.contains("@VERSION@") && !control.contains("@DEPENDS@"), "{control}");
    let unit = fs::read_to_string(tree.join("lib/systemd/system/glassine.service")).expect("the unit");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    let words: Vec<&str> = start.split(' ').collect();
    for path in [words[0], words[2].strip_prefix("--defaults-file=").expect("a file")] {
        assert!(tree.join(path.trim_start_matches('/')).exists(), "{path} of the unit is not in the package");
    }
    assert!(unit.contains("Type=notify"));

    // The same options, in another place.
    let options = fs::read_to_string(tree.join("etc/glassine/my.cnf")).expect("the options");
    let here = scratch.0.display().to_string();
    let moved = options
        .replace("/var/lib/glassine", &format!("{here}/data"))
        .replace("/run/glassine", &here)
        .replace("/etc/glassine/conf.d", &format!("{}/etc/glassine/conf.d", tree.display()));
    let file = scratch.0.join("my.cnf");
    fs::write(&file, moved).expect("a file");
    let program = tree.join("usr/bin/glassine");
    let defaults = format!("--defaults-file={}", file.display());
    output(Command::new(&program).args(["init", &defaults]));
    let checked = Command::new(&program).args(["serve", &defaults, "--validate-config"]).output().expect("it runs");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(scratch.0.join("data/ibdata1").exists());
}

/// What mariadb says to one statement, run by a user of the system.
fn ask(as_user: Option<&str>, arguments: &[&str], statement: &str) -> Result<String, String> {
    let mut command = match as_user {
        Some(user) => {
            let mut command = Command::new("setpriv");
            command.arg(format!("--reuid={user}")).args(["--clear-groups", "mariadb"]);
            command
        }
        None => Command::new("mariadb"),
    };
    command.args(["--no-defaults", "--skip-column-names", "--batch", "--user=root", "--connect-expired-password"]);
    let output = command.args(arguments).args(["-e", statement]).output().expect("mariadb runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn a_new_server_lets_the_system_s_root_in_and_the_temporary_password_over_tcp() {
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let own = output(Command::new("id").arg("-un")).trim().to_owned();
    if own != "root" || !is_there("mariadb") || !is_there("setpriv") {
        println!("skipped: mariadb and setpriv are needed, and the rights of root");
        return;
    }
    // Another user has to reach the socket.
    let scratch = std::env::temp_dir().join(format!("glassine-first-{}", std::process::id()));
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir(&scratch).expect("a directory");
    fs::set_permissions(&scratch, fs::Permissions::from_mode(0o755)).expect("open to all");
    let port = free_port();
    for (option, insider, outsider) in
        [(None, None, Some("nobody")), (Some("--root-socket-user=nobody"), Some("nobody"), None)]
    {
        let data = scratch.join(format!("data-{}", option.is_some()));
        let socket = scratch.join("s");
        let mut init = Command::new(glassine_binary());
        init.arg("init").arg(format!("--datadir={}", data.display())).args(option);
        let made = init.output().expect("it runs");
        let log = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(made.status.success(), "{log}");
        let words: Vec<&str> = log.split_whitespace().collect();
        let at = words.windows(2).position(|pair| pair == ["temporary", "password"]).expect("a password");
        let password = format!("-p{}", words[at + 2]);
        let mut server = Command::new(glassine_binary())
            .args(["serve", "--no-defaults"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--port={port}"))
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let on_socket = format!("--socket={}", socket.display());
        let port = format!("--port={port}");
        let (on_socket, on_tcp) = ([on_socket.as_str()], ["--protocol=tcp", "--host=127.0.0.1", port.as_str()]);
        let who = "SELECT CURRENT_USER()";
        let mut answer = ask(insider, &on_socket, who);
        for _ in 0..200 {
            if !matches!(&answer, Err(cause) if cause.contains("2002")) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
            answer = ask(insider, &on_socket, who);
        }
        assert_eq!(answer.as_deref(), Ok("root@localhost"));
        let with = |first: &[&str], password: &str, rest: &str| {
            let arguments: Vec<&str> = first.iter().copied().chain([password]).collect();
            ask(None, &arguments, rest)
        };
        let refused = |answer: Result<String, String>, code: &str| {
            assert!(answer.as_ref().is_err_and(|cause| cause.contains(code)), "{answer:?}");
        };
        // Nobody else, with the password neither.
        refused(ask(outsider, &on_socket, who), "1045");
        refused(ask(outsider, &[on_socket[0], &password], who), "1045");
        refused(ask(insider, &on_tcp, who), "1045");
        refused(with(&on_tcp, &password, "SHOW DATABASES"), "1820");
        assert_eq!(with(&on_tcp, &password, "ALTER USER USER() IDENTIFIED BY 'Chosen'"), Ok(String::new()));
        assert_eq!(with(&on_tcp, "-pChosen", who).as_deref(), Ok("root@127.0.0.1"));
        assert!(with(&on_tcp, "-pChosen", "SHOW GRANTS").is_ok_and(|grants| grants.contains("WITH GRANT OPTION")));
        // A password instead of the system's word, and nobody is locked out.
        let statement = "ALTER USER root@localhost IDENTIFIED WITH caching_sha2_password BY 'Second'";
        assert_eq!(ask(insider, &on_socket, statement), Ok(String::new()));
        refused(ask(insider, &on_socket, who), "1045");
        assert_eq!(ask(outsider, &[on_socket[0], "-pSecond"], who).as_deref(), Ok("root@localhost"));
        assert!(Command::new("kill").args(["-TERM", &server.id().to_string()]).status().expect("kill").success());
        assert!(server.wait().expect("it ends").success());
    }
    let both = Command::new(glassine_binary())
        .args(["init", "--root-password=x", "--root-socket-user=nobody"])
        .arg(format!("--datadir={}", scratch.join("both").display()))
        .output()
        .expect("it runs");
    assert_eq!(both.status.code(), Some(2), "{}", String::from_utf8_lossy(&both.stderr));
    fs::remove_dir_all(&scratch).expect("removed");
}
