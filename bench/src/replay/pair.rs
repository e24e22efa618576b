//! Glassine and MariaDB side by side, with the same settings, made fresh for every stream.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::record::{SUITES, SYSTEM_DATABASES, settings};
use crate::client::Client;
use crate::process::{Kind, Options, Server};

const SQL_MODE: &str = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// One of the two, and where it lives. `var` is what scripts call their directory; the server's data lies below.
pub struct Side {
    kind: Kind,
    pub var: PathBuf,
    options: Options,
    server: Option<Server>,
}

impl Side {
    /// Makes `var` with a link to the scripts' data, and a server in it.
    pub fn create(kind: Kind, var: &Path, std_data: &Path, options: Options) -> io::Result<Side> {
        for folder in ["tmp", "log"] {
            fs::create_dir_all(var.join(folder))?;
        }
        let data = var.join("std_data");
        if !data.exists() {
            symlink(std_data, data)?;
        }
        let var = fs::canonicalize(var)?;
        let server = Server::create(kind, &var.join("server"), &options)?;
        Ok(Side { kind, var, options, server: Some(server) })
    }

    pub fn socket(&self) -> PathBuf {
        self.var.join("server/s.sock")
    }

    pub fn connect(&self) -> io::Result<Client> {
        Client::connect(&self.socket()).map_err(io::Error::other)
    }

    pub fn is_running(&mut self) -> bool {
        self.server.as_mut().is_some_and(Server::is_running)
    }

    /// The end of the server's log, which says why it ended.
    pub fn log_tail(&self) -> String {
        self.server.as_ref().map(|server| server.log_tail(12)).unwrap_or_default()
    }

    /// No database but the server's own and an empty `test`. What cannot be cleaned is made anew.
    pub fn reset(&mut self) -> io::Result<()> {
        if self.is_running()
            && let Ok(mut client) = self.connect()
            && clean(&mut client).is_ok()
        {
            return Ok(());
        }
        self.restart()
    }

    /// Kills the server and starts it on an empty directory.
    pub fn restart(&mut self) -> io::Result<()> {
        self.server = None;
        fs::remove_dir_all(self.var.join("server"))?;
        self.server = Some(Server::create(self.kind, &self.var.join("server"), &self.options)?);
        clean(&mut self.connect()?)
    }
}

/// Both of them.
pub struct Pair {
    pub ours: Side,
    pub peer: Side,
}

impl Pair {
    pub fn create(directory: &Path) -> io::Result<Pair> {
        let side = |kind, name| {
            let var = directory.join(name);
            Side::create(kind, &var, &Path::new(SUITES).join("std_data"), options(kind, &var))
        };
        Ok(Pair { ours: side(Kind::Glassine, "glassine")?, peer: side(Kind::MariaDb, "mariadb")? })
    }

    pub fn reset(&mut self) -> io::Result<()> {
        self.ours.reset()?;
        self.peer.reset()
    }
}

fn options(kind: Kind, var: &Path) -> Options {
    let mut more = settings();
    more.push(format!("--sql-mode={SQL_MODE}"));
    more.push(format!("--secure-file-priv={}", var.display()));
    more.push("--innodb-lock-wait-timeout=2".into());
    more.push("--lock-wait-timeout=3".into());
    if kind == Kind::MariaDb {
        more.push("--innodb-flush-method=nosync".into());
        more.push("--default-storage-engine=InnoDB".into());
    }
    Options { pool: "64M".into(), log: "64M".into(), flush_at_commit: 0, more }
}

fn clean(client: &mut Client) -> io::Result<()> {
    let mut ask = |statement: &str| client.query(statement).map_err(io::Error::other);
    for row in ask("XA RECOVER")?.rows {
        let cell = |column: usize| row.get(column).cloned().flatten().unwrap_or_default();
        let (format, data) = (cell(0), cell(3));
        let at = cell(1).parse().unwrap_or(data.len()).min(data.len());
        let (global, branch) = data.split_at_checked(at).unwrap_or((&data, ""));
        ask(&format!("XA ROLLBACK '{global}','{branch}',{format}"))?;
    }
    ask("SET foreign_key_checks = 0")?;
    for row in ask("SHOW DATABASES")?.rows {
        let Some(Some(name)) = row.first() else { continue };
        if !SYSTEM_DATABASES.contains(&name.to_ascii_lowercase().as_str()) {
            ask(&format!("DROP DATABASE `{}`", name.replace('`', "``")))?;
        }
    }
    ask("CREATE DATABASE test").map(|_| ())
}
