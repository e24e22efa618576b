//! The server as a service and as a package, and the file that `glassine support` writes, judged from outside.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bench::client::Client;
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

/// What a container runs, in a directory of its own instead of a container: `glassine` is found as it is there, by PATH.
struct Container {
    bin: PathBuf,
    data: PathBuf,
    port: u16,
}

impl Container {
    fn new(scratch: &Path) -> Container {
        let bin = scratch.join("bin");
        fs::create_dir_all(&bin).expect("a directory");
        let _ = std::os::unix::fs::symlink(glassine_binary(), bin.join("glassine"));
        Container { bin, data: scratch.join("data"), port: free_port() }
    }

    fn start(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(root().join("packaging/container-start"));
        command
            .env("PATH", format!("{}:{path}", self.bin.display()))
            .env("GLASSINE_DATADIR", &self.data)
            .envs(variables.iter().copied())
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    /// A server of the container, when it answers.
    fn serve(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Served {
        let port = format!("--port={}", self.port);
        let arguments: Vec<&str> = [port.as_str()].into_iter().chain(arguments.iter().copied()).collect();
        let mut command = self.start(variables, &arguments);
        let child = Served(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
        let ready = (0..400).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            std::os::unix::net::UnixStream::connect(self.socket()).is_ok()
        });
        assert!(ready, "no server within 20 seconds");
        child
    }

    fn socket(&self) -> PathBuf {
        self.data.join("glassine.sock")
    }

    /// What it says and how it ends, of a start that leads to no server.
    fn ends(&self, variables: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.start(variables, arguments).output().expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }
}

/// A server that does not outlive a test that fails.
struct Served(Child);

impl Served {
    fn stop(mut self) {
        assert!(Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().expect("kill").success());
        assert!(self.0.wait().expect("it ends").success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_container_makes_its_data_directory_once_and_serves_it() {
    // The path of a socket has room for a hundred bytes.
    let scratch = std::env::temp_dir().join(format!("glassine-container-{}", std::process::id()));
    let _ = fs::remove_dir_all(&scratch);
    let container = Container::new(&scratch);
    // A question makes nothing, a command is run instead, and a wrong option is found before anything is made.
    let (code, text) = container.ends(&[], &["--version"]);
    assert!(code == Some(0) && text.contains("  Ver 8.0."), "{text}");
    assert_eq!(container.ends(&[], &["echo", "a command"]), (Some(0), "a command\n".to_owned()));
    assert_eq!(container.ends(&[], &["--no-such-option"]).0, Some(2));
    assert!(!container.data.exists());

    // A fresh filesystem has `lost+found`. What holds for ever is said at the first start.
    fs::create_dir_all(container.data.join("lost+found")).expect("a directory");
    let server = container.serve(&[], &["--innodb-page-size=8192"]);
    let mut client = Client::connect(&container.socket()).expect("the system's user is root");
    for statement in ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1), (2)"] {
        client.query(statement).expect(statement);
    }
    assert_eq!(client.query("SELECT @@innodb_page_size").expect("a size").number(), 8192);
    let hosts = client.query("SELECT GROUP_CONCAT(host ORDER BY host) FROM mysql.user WHERE user = 'root'");
    assert_eq!(hosts.expect("hosts").cell(), Some("%,127.0.0.1,::1,localhost"));
    // Two containers with one volume: the second one refuses.
    let (code, text) = container.ends(&[], &["--innodb-page-size=8192"]);
    assert!(code == Some(1) && text.contains("another server is using"), "{text}");
    drop(client);
    server.stop();

    // The next start finds it, and so does one behind a kill.
    for _ in 0..2 {
        let server = container.serve(&[("GLASSINE_ROOT_PASSWORD", "not for this one")], &["--innodb-page-size=8192"]);
        let mut client = Client::connect(&container.socket()).expect("as before");
        assert_eq!(client.query("SELECT COUNT(*) FROM d.t").expect("rows").number(), 2);
        drop(server); // By SIGKILL.
    }
    fs::remove_dir_all(&scratch).expect("removed");
}

#[test]
fn a_container_s_root_has_the_password_of_its_environment_or_of_a_file() {
    if Command::new("mariadb").arg("--version").output().is_err() {
        println!("skipped: mariadb is not installed");
        return;
    }
    let scratch = std::env::temp_dir().join(format!("glassine-secret-{}", std::process::id()));
    let _ = fs::remove_dir_all(&scratch);
    let container = Container::new(&scratch);
    let password = "a \"b\" \\c'd $x %s # \\";
    let file = scratch.join("secret");
    fs::write(&file, format!("{password}\n")).expect("a file");
    let file = file.display().to_string();
    for (variable, host, hosts) in [
        (("GLASSINE_ROOT_PASSWORD", password), "localhost", "127.0.0.1,::1,localhost"),
        (("GLASSINE_ROOT_PASSWORD_FILE", file.as_str()), "10.%", "10.%,127.0.0.1,::1,localhost"),
    ] {
        let server = container.serve(&[variable, ("GLASSINE_ROOT_HOST", host)], &[]);
        let (port, password) = (format!("--port={}", container.port), format!("-p{password}"));
        let who = "SELECT GROUP_CONCAT(host ORDER BY host) FROM mysql.user WHERE user = 'root'";
        let tcp = ["--protocol=tcp", "--host=127.0.0.1", &port, &password];
        assert_eq!(ask(None, &tcp, who).as_deref(), Ok(hosts));
        // Neither an environment nor a command line of a process tells it.
        for of in ["environ", "cmdline"] {
            let text = fs::read(format!("/proc/{}/{of}", server.0.id())).expect("of our own process");
            assert!(!String::from_utf8_lossy(&text).contains("$x"), "{of}");
        }
        server.stop();
        fs::remove_dir_all(&container.data).expect("removed");
    }
    fs::remove_dir_all(&scratch).expect("removed");
}

#[test]
fn an_interrupted_init_begins_anew_and_takes_nothing_of_others() {
    let scratch = Scratch::new("install-again").expect("a directory");
    let init = |name: &str, options: &[&str]| {
        let data = format!("--datadir={}", scratch.0.join(name).display());
        let output = Command::new(glassine_binary()).args(["init", "--no-defaults", &data]).args(options).output();
        let output = output.expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // As if it had been killed: the mark is there, and the accounts are not.
    let data = scratch.0.join("killed");
    fs::create_dir_all(data.join("lost+found")).expect("a directory");
    for name in ["glassine.making", "ibdata1", ".hidden"] {
        fs::write(data.join(name), "half").expect("a file");
    }
    // Somebody else is at it.
    let mark = fs::File::open(data.join("glassine.making")).expect("the mark");
    mark.lock().expect("locked");
    let (code, text) = init("killed", &[]);
    assert!(code == Some(1) && text.contains("is being made by another process"), "{text}");
    assert_eq!(fs::read(data.join("ibdata1")).expect("untouched"), b"half");
    drop(mark);
    assert_eq!(init("killed", &[]).0, Some(0));
    assert!(data.join("accounts").exists() && !data.join("glassine.making").exists() && data.join(".hidden").exists());
    assert_eq!(init("killed", &[]).0, Some(1), "it is made once");
    // Files without the mark are somebody's, and so are directories beside it.
    let other = scratch.0.join("other");
    fs::create_dir_all(&other).expect("a directory");
    fs::write(other.join("ibdata1"), "data").expect("a file");
    let (code, text) = init("other", &[]);
    assert!(code == Some(1) && text.contains("is not empty"), "{text}");
    fs::write(other.join("glassine.making"), "").expect("a file");
    fs::create_dir(other.join("shop")).expect("a directory");
    assert_eq!(init("other", &[]).0, Some(1));
    assert_eq!(fs::read(other.join("ibdata1")).expect("untouched"), b"data");
    // Options that contradict each other.
    for options in [
        &["--initialize-insecure", "--root-host=%"][..],
        &["--root-password=x", "--root-password-file=/dev/null"],
        &["--root-password-file=/no/such/file"],
        &["--root-password=x", "--root-host=a b"],
    ] {
        assert_eq!(init("wrong", options).0, Some(2), "{options:?}");
    }
    assert!(!scratch.0.join("wrong").exists());
}
