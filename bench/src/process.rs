//! Servers as child processes: Glassine, and MariaDB as the peer.
//!
//! A [`Server`] owns its process, its data directory and its socket; dropping it
//! kills the process. CPU time and bytes written come from `/proc`, which is
//! steadier than throughput on a shared machine.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Client;

/// Ticks per second in `/proc/PID/stat`; Linux reports 100 to user space everywhere.
const TICKS_PER_SECOND: f64 = 100.0;

/// Which program serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Glassine,
    MariaDb,
}

/// How a server is to run; the same words for both kinds.
#[derive(Debug, Clone)]
pub struct Options {
    pub pool: String,
    pub log: String,
    pub flush_at_commit: u8,
    /// More options in MySQL's form, given to the server as they are.
    pub more: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options { pool: "256M".into(), log: "256M".into(), flush_at_commit: 1, more: Vec::new() }
    }
}

/// A running server.
pub struct Server {
    pub kind: Kind,
    pub directory: PathBuf,
    pub socket: PathBuf,
    child: Child,
}

/// What a process has used since it started.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    pub cpu_seconds: f64,
    pub written_bytes: u64,
}

/// The release binary of this workspace; `GLASSINE_BIN` names another.
pub fn glassine_binary() -> PathBuf {
    if let Some(path) = std::env::var_os("GLASSINE_BIN") {
        return path.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
    target.join("release/glassine")
}

/// Whether MariaDB's server is installed.
pub fn mariadb_is_installed() -> bool {
    Command::new("mariadbd").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

impl Server {
    /// Initialises `directory` (which must not exist) and starts a server on it.
    pub fn create(kind: Kind, directory: &Path, options: &Options) -> io::Result<Server> {
        fs::create_dir_all(directory)?;
        let data = directory.join("data");
        let mut init = match kind {
            Kind::Glassine => {
                let mut command = Command::new(glassine_binary());
                command.args(["init", "--initialize-insecure"]).arg(format!("--datadir={}", data.display()));
                command
            }
            Kind::MariaDb => {
                let mut command = Command::new("mariadb-install-db");
                command.args(["--no-defaults", "--user=root", "--auth-root-authentication-method=normal"]);
                command.arg("--skip-test-db").arg(format!("--datadir={}", data.display()));
                command
            }
        };
        if kind == Kind::Glassine {
            init.args(options.more.iter().filter(|option| option.contains("page-size") || option.contains("log-file")));
        }
        // Two MariaDB servers that share a directory for temporary tables trip over each other's names.
        let temporary = directory.join("tmp");
        fs::create_dir_all(&temporary)?;
        let output = init.env("TMPDIR", &temporary).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            return Err(io::Error::other(format!(
                "{init:?} failed:\n{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            )));
        }
        Server::start(kind, directory, options)
    }

    /// Starts a server on an initialised directory and waits until it answers.
    pub fn start(kind: Kind, directory: &Path, options: &Options) -> io::Result<Server> {
        let directory = fs::canonicalize(directory)?;
        let socket = directory.join("s.sock");
        let _ = fs::remove_file(&socket);
        let log = File::options().create(true).append(true).open(directory.join("server.log"))?;
        let mut command = match kind {
            Kind::Glassine => {
                let mut command = Command::new(glassine_binary());
                command.args(["serve", "--no-defaults", "--skip-networking"]);
                command
            }
            Kind::MariaDb => {
                let mut command = Command::new("mariadbd");
                command.args(["--no-defaults", "--user=root", "--skip-networking", "--skip-log-bin"]);
                command.arg(format!("--pid-file={}", directory.join("pid").display()));
                command
            }
        };
        command
            .arg(format!("--datadir={}", directory.join("data").display()))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--innodb-buffer-pool-size={}", options.pool))
            .arg(format!("--innodb-log-file-size={}", options.log))
            .arg(format!("--innodb-flush-log-at-trx-commit={}", options.flush_at_commit))
            .args(&options.more)
            .env("TMPDIR", directory.join("tmp"))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command.spawn()?;
        let mut server = Server { kind, directory, socket, child };
        server.wait_until_ready(Duration::from_secs(120))?;
        Ok(server)
    }

    fn wait_until_ready(&mut self, patience: Duration) -> io::Result<()> {
        let start = Instant::now();
        loop {
            if let Ok(mut client) = self.connect()
                && client.query("SELECT 1").is_ok()
            {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("the server stopped with {status}:\n{}", self.log_tail(30))));
            }
            if start.elapsed() > patience {
                return Err(io::Error::other(format!("the server does not answer:\n{}", self.log_tail(30))));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn connect(&self) -> Result<Client, crate::client::Error> {
        Client::connect(&self.socket)
    }

    /// All that the servers of this directory have printed.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.join("server.log")).unwrap_or_default()
    }

    /// The last lines of what the server printed.
    pub fn log_tail(&self, lines: usize) -> String {
        let log = self.log();
        let all: Vec<&str> = log.lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }

    /// Kills the process as a crash would: no handler runs.
    pub fn kill(mut self) -> PathBuf {
        let _ = self.child.kill();
        let _ = self.child.wait();
        std::mem::take(&mut self.directory)
    }

    /// Asks the server to shut down (SIGTERM) and waits for it.
    pub fn stop(mut self) -> io::Result<PathBuf> {
        self.signal("-TERM")?;
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(120) {
            if let Some(status) = self.child.try_wait()? {
                if status.success() {
                    return Ok(std::mem::take(&mut self.directory));
                }
                return Err(io::Error::other(format!("shutdown ended with {status}:\n{}", self.log_tail(20))));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(io::Error::other(format!("the server does not stop:\n{}", self.log_tail(20))))
    }

    /// Stops the process where it stands (SIGSTOP), so that another can be measured undisturbed.
    pub fn pause(&self) -> io::Result<()> {
        self.signal("-STOP")
    }

    /// Lets a paused process go on.
    pub fn resume(&self) -> io::Result<()> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> io::Result<()> {
        Command::new("kill").arg(signal).arg(self.child.id().to_string()).status().map(|_| ())
    }

    /// Whether the process still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The CPU of the threads that there are, in nanoseconds: finer than what [`Server::usage`] tells.
    pub fn cpu_ns(&self) -> u64 {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let of_thread = |thread: fs::DirEntry| {
            let statistics = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            statistics.split(' ').next().and_then(|ran| ran.parse::<u64>().ok()).unwrap_or(0)
        };
        threads.map(of_thread).sum()
    }

    /// CPU and bytes written so far. A dead process has used nothing.
    pub fn usage(&self) -> Usage {
        let pid = self.child.id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
        let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok()).unwrap_or(0);
        Usage { cpu_seconds: (ticks(11) + ticks(12)) / TICKS_PER_SECOND, written_bytes: written }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `glassine check` on a copy of the directory as the crash left it.
pub fn check_copy(directory: &Path) -> io::Result<()> {
    let copy = directory.with_extension("copy");
    let _ = fs::remove_dir_all(&copy);
    let status = Command::new("cp").args(["-a", "--sparse=always"]).arg(directory.join("data")).arg(&copy).status()?;
    if !status.success() {
        return Err(io::Error::other("copying the data directory failed"));
    }
    let output = Command::new(glassine_binary()).arg("check").arg(format!("--datadir={}", copy.display())).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!(
            "glassine check is not clean:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )));
    }
    fs::remove_dir_all(&copy)
}

/// Allocated and logical bytes of all files under `path`.
pub fn disk_usage(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path)?;
    if metadata.is_file() {
        return Ok((metadata.blocks() * 512, metadata.len()));
    }
    let mut sum = (0, 0);
    for entry in fs::read_dir(path)? {
        let (allocated, logical) = disk_usage(&entry?.path())?;
        sum = (sum.0 + allocated, sum.1 + logical);
    }
    Ok(sum)
}

/// Where runs keep their files: `BENCH_DIR`, or below the workspace's target directory, so that it is on a real disk
/// and not on tmpfs.
pub fn base_directory() -> PathBuf {
    match std::env::var_os("BENCH_DIR") {
        Some(base) => PathBuf::from(base),
        None => std::env::var_os("CARGO_TARGET_DIR")
            .map(PathBuf::from)
            .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"))
            .join("bench"),
    }
}

/// A directory for one run, removed when it ends (unless `BENCH_KEEP` is set). Lives below [`base_directory`].
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> io::Result<Scratch> {
        let path = base_directory().join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        Ok(Scratch(fs::canonicalize(path)?))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::env::var_os("BENCH_KEEP").is_some() {
            println!("kept: {}", self.0.display());
            return;
        }
        let _ = fs::remove_dir_all(&self.0);
    }
}
