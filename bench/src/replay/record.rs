//! Recording: MariaDB's `mysqltest` plays the files of its own suites against a MariaDB server behind a [`Proxy`].
//!
//! Nothing is compared with the files' results and nothing of their text is kept but the streams, which live in a
//! scratch directory: they are made again wherever the package `mariadb-test-data` is installed.
//!
//! The scripts run programs and write files under names from their environment, so `mysqltest` runs as an
//! unprivileged user where that is possible, and every variable that a script may build a path from leads into
//! the scratch directory.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::proxy::Proxy;
use crate::client::Client;
use crate::process::{Kind, Options, Server};

/// The folder of MariaDB's test suites.
pub const SUITES: &str = "/usr/share/mysql/mysql-test";

/// What stands in a stream where the script named its own directory; a replay puts its server's there.
pub const DIRECTORY: &str = "/replay-directory";

/// User and group that own nothing.
const NOBODY: u32 = 65534;

/// Suites that say something about a server with one engine and no replication.
pub const SUITES_DEFAULT: &str = "main,engines/iuds,engines/funcs,innodb,json,gcol,vcol,funcs_1,parts,handler,heap,csv";

/// Files that need another build, another server, or take long; told by parts of their names.
const FILES_LEFT_OUT: &[&str] = &[
    "debug",
    "-big",
    "_big",
    "big-",
    "rpl",
    "galera",
    "binlog",
    "shutdown",
    "crash",
    "restart",
    "upgrade",
    "mysqldump",
    "mysqlcheck",
    "mysqlslap",
    "mysqlshow",
    "plugin",
    "ssl",
    "tls",
    "grant",
    "encrypt",
    "import",
    "events",
];

/// A file of a suite and the name of its stream.
#[derive(Debug, Clone)]
pub struct Script {
    pub name: String,
    pub path: PathBuf,
    suite: PathBuf,
}

/// The scripts of some suites below `root`; `only` keeps those whose `suite.file` contains one of its words.
pub fn scripts(root: &Path, suites: &str, only: &[String]) -> io::Result<Vec<Script>> {
    let mut scripts = Vec::new();
    for suite in suites.split(',') {
        let folder = match suite {
            // MySQL has it in the root itself.
            "main" if root.join("t").is_dir() => root.into(),
            "main" => root.join("main"),
            other => root.join("suite").join(other),
        };
        let inner = folder.join("t");
        let files = if inner.is_dir() { inner } else { folder.clone() };
        if !files.is_dir() {
            continue; // Not every package has every suite.
        }
        for entry in fs::read_dir(&files)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "test") {
                continue;
            }
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let name = format!("{}.{stem}", suite.replace('/', "-"));
            let wanted = only.is_empty() || only.iter().any(|word| name.contains(word.as_str()));
            if wanted && !FILES_LEFT_OUT.iter().any(|part| stem.contains(part)) {
                scripts.push(Script { name, path, suite: folder.clone() });
            }
        }
    }
    scripts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scripts)
}

/// Records every script that has no stream yet. Returns how many were recorded.
pub fn record(
    scripts: &[Script],
    streams: &Path,
    scratch: &Path,
    workers: usize,
    patience: Duration,
) -> io::Result<usize> {
    fs::create_dir_all(streams)?;
    let missing: Vec<&Script> = scripts.iter().filter(|script| !streams.join(&script.name).exists()).collect();
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for worker in 0..workers.min(missing.len()) {
            let (missing, next, failure) = (&missing, &next, &failure);
            scope.spawn(move || {
                let result = Recorder::start(&scratch.join(format!("record{worker}"))).and_then(|mut recorder| {
                    while let Some(script) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                        recorder.record(script, &streams.join(&script.name), patience)?;
                    }
                    Ok(())
                });
                if let Err(error) = result {
                    *failure.lock().expect("no recorder panics") = Some(error);
                }
            });
        }
    });
    match failure.into_inner().expect("no recorder panics") {
        Some(error) => Err(error),
        None => Ok(missing.len()),
    }
}

/// A MariaDB server with a proxy before it.
struct Recorder {
    directory: PathBuf,
    socket: PathBuf,
    proxy: Proxy,
    server: Option<Server>,
}

impl Recorder {
    fn start(directory: &Path) -> io::Result<Recorder> {
        let var = directory.join("var");
        make_folders(&var)?;
        let _ = symlink(Path::new(SUITES).join("std_data"), var.join("std_data")); // It may be there from before.
        let server = Server::create(Kind::MariaDb, &var.join("mysqld"), &options(&var))?;
        let socket = directory.join("p.sock");
        let _ = fs::remove_file(&socket);
        let proxy = Proxy::start(&socket, &server.socket, None)?;
        open_to_all(&socket)?;
        Ok(Recorder { directory: directory.into(), socket, proxy, server: Some(server) })
    }

    fn record(&mut self, script: &Script, stream: &Path, patience: Duration) -> io::Result<()> {
        self.clean()?;
        let raw = self.directory.join("recording");
        self.proxy.record_to(&raw)?;
        let var = self.directory.join("var");
        let child = mysqltest(Path::new(SUITES), &var, &self.socket, script).spawn()?;
        wait_or_end(child, patience)?;
        self.proxy.stop_recording()?;
        // Paths of this run become a name that every replay replaces by its own.
        let text = fs::read_to_string(&raw)?;
        fs::write(stream, text.replace(&*var.to_string_lossy(), DIRECTORY))?;
        fs::remove_file(&raw)
    }

    /// Removes what the last script left; a server that it stopped is started again.
    fn clean(&mut self) -> io::Result<()> {
        if let Some(server) = &self.server
            && let Ok(mut client) = server.connect()
            && reset(&mut client).is_ok()
        {
            return Ok(());
        }
        let mysqld = self.directory.join("var/mysqld");
        let options = options(&self.directory.join("var"));
        self.server = None;
        let restarted = Server::start(Kind::MariaDb, &mysqld, &options);
        let server = match restarted.and_then(|server| reset_over(&server).map(|()| server)) {
            Ok(server) => server,
            Err(_) => {
                fs::remove_dir_all(&mysqld)?;
                let server = Server::create(Kind::MariaDb, &mysqld, &options)?;
                reset_over(&server)?;
                server
            }
        };
        self.server = Some(server);
        Ok(())
    }
}

/// What a script may write to, whoever plays it.
pub fn make_folders(var: &Path) -> io::Result<()> {
    for folder in ["tmp", "log", "run"] {
        fs::create_dir_all(var.join(folder))?;
        open_to_all(&var.join(folder))?;
    }
    open_to_all(var)
}

pub fn open_to_all(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777))
}

/// `mysqltest` with a script below `root`, its files below `var`. Its output is dropped.
pub fn mysqltest(root: &Path, var: &Path, socket: &Path, script: &Script) -> Command {
    let tmp = var.join("tmp");
    let mut command = Command::new("mysqltest");
    command
        .args(["--no-defaults", "--user=root", "--password=", "--skip-ssl", "--continue-on-error"])
        .args(["--sleep=0", "--connect-timeout=10", "--max-connect-retries=2", "--database=test"])
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--tmpdir={}", tmp.display()))
        .arg(format!("--logdir={}", var.join("log").display()))
        .arg(format!("--suite-dir={}", script.suite.display()))
        .arg(format!("--test-file={}", script.path.display()))
        .current_dir(root)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C")
        .env("HOME", &tmp)
        .env("TMPDIR", &tmp)
        .env("MYSQL_TEST_DIR", root)
        .env("MYSQL_TMP_DIR", &tmp)
        .env("MYSQLTEST_VARDIR", var)
        .env("MYSQLD_DATADIR", var.join("mysqld/data"))
        .env("MYSQL_SHAREDIR", "/usr/share/mysql")
        .env("MYSQL_CHARSETSDIR", "/usr/share/mysql/charsets")
        .env("MASTER_MYSOCK", socket)
        .env("MYSQL_UNIX_PORT", socket)
        .env("MASTER_MYPORT", "0")
        .env("DEFAULT_MASTER_PORT", "0")
        .env("MTR_VERSION", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Waits for a player, and ends it when the time is over.
pub fn wait_or_end(mut child: Child, patience: Duration) -> io::Result<()> {
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > patience {
            return end_group(&mut child);
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Ends `mysqltest` and the programs that it started.
fn end_group(child: &mut Child) -> io::Result<()> {
    if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL); // It may have ended by itself.
    }
    child.wait().map(|_| ())
}

fn options(var: &Path) -> Options {
    let mut more = settings();
    more.push(format!("--secure-file-priv={}", var.display()));
    more.push("--innodb-flush-method=nosync".into());
    Options { pool: "32M".into(), log: "32M".into(), flush_at_commit: 0, more }
}

/// What both servers of a replay, and the one that is recorded, are started with.
pub fn settings() -> Vec<String> {
    ["--character-set-server=latin1", "--collation-server=latin1_swedish_ci", "--local-infile=1"]
        .map(str::to_string)
        .to_vec()
}

/// Databases that belong to the server.
pub const SYSTEM_DATABASES: [&str; 4] = ["mysql", "information_schema", "performance_schema", "sys"];

fn reset_over(server: &Server) -> io::Result<()> {
    server.connect().map_err(io::Error::other).and_then(|mut client| reset(&mut client))
}

fn reset(client: &mut Client) -> io::Result<()> {
    let mut ask = |statement: &str| client.query(statement).map_err(io::Error::other);
    ask("SET foreign_key_checks = 0")?;
    for row in ask("SHOW DATABASES")?.rows {
        let Some(Some(name)) = row.first() else { continue };
        if !SYSTEM_DATABASES.contains(&name.to_ascii_lowercase().as_str()) {
            ask(&format!("DROP DATABASE `{}`", name.replace('`', "``")))?;
        }
    }
    ask("CREATE DATABASE test")?;
    make_harness(client)
}

/// The scripts tell their harness which warnings to expect.
pub fn make_harness(client: &mut Client) -> io::Result<()> {
    let mut ask = |statement: &str| client.query(statement).map_err(io::Error::other);
    ask("CREATE DATABASE mtr")?;
    ask("CREATE PROCEDURE mtr.add_suppression(pattern VARCHAR(255)) BEGIN END")?;
    Ok(())
}
