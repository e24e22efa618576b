//! `glassine init`: makes a data directory.
//!
//! The accounts file is written last, so that its presence says that all else is
//! there: a directory whose making was interrupted is not taken for a good one.
//!
//! ```text
//! empty -> glassine.making (locked) -> data files -> accounts -> glassine.making removed
//!                 |  interrupted: the next init
//!                 +- removes what lies there, and begins anew
//! ```
//!
//! That mark is made in an empty directory only, and no server serves one without
//! accounts: whatever lies beside the mark was made by `init`, and holds no data yet.

use std::fs;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use sql::accounts::{self, Account, Accounts, Plugin, password};
use sql::variables::{GlobalVariables, engine_config};
use storage::Engine;
use storage::io::linux::LinuxDisk;

use crate::log;
use crate::options::{self, Loaded, Own};

/// Makes a data directory
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// MySQL's options: --datadir, --innodb-page-size, --innodb-log-file-size, --defaults-file, ...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

const HELP: &str = "\
Options:
  --datadir=DIR                    the directory to make [./data]
  --root-password=PASSWORD         root's password, on the socket and over TCP from this machine
  --root-password-file=FILE        the same from a file, or from a pipe as /dev/stdin: others can see a command line
  --initialize-insecure            root has no password, and may log in from this machine only
  --root-socket-user=NAME          the system's user who is root on the socket, without a password, if neither
                                   of the two is given [root]; over TCP from this machine root then has a random
                                   password, which the log tells and which root changes first
  --root-host=HOST                 root may also log in with a password from elsewhere: an address, a name, a pattern
                                   as in CREATE USER, % for everywhere [none]
  --innodb-page-size=BYTES         4K, 8K, 16K, 32K or 64K, for ever [16K]
  --innodb-log-file-size=BYTES     bytes of the redo log [256M]
  --default-authentication-plugin  caching_sha2_password or mysql_native_password
  --defaults-file=FILE             take options from the groups [mysqld] and [glassine] of this file

Example:
  glassine init --datadir=/srv/db
  mariadb -u root --socket=/srv/db/glassine.sock      # as the system's root";

const OWN: &[Own] = &[
    Own { name: "root_password", takes_value: true },
    Own { name: "root_password_file", takes_value: true },
    Own { name: "root_host", takes_value: true },
    Own { name: "initialize_insecure", takes_value: false },
    Own { name: "root_socket_user", takes_value: true },
];

/// Characters of a random password.
const RANDOM_PASSWORD_CHARS: usize = 20;

/// Where root may log in from in any case.
const THIS_MACHINE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Says that a data directory is being made.
const MAKING_FILE_NAME: &str = "glassine.making";

/// Characters of a host, as MySQL's grant tables limit them.
const HOST_CHARS_MAX: usize = 255;

/// How root logs in to a new server.
pub enum Root {
    /// Without a password, from this machine only.
    Open,
    /// With this password, from this machine only.
    Password(String),
    /// On the socket as this user of the system, without a password (auth_socket). Over TCP from this machine with a
    /// temporary password, which has to be changed before anything else, so that whoever has no shell of that user can
    /// still take over the server that they installed.
    Vouched { socket_user: String, temporary: String },
}

pub fn run(arguments: &Args) -> ExitCode {
    log::start();
    let globals = GlobalVariables::new();
    let loaded = match options::load(&arguments.options, OWN, &globals) {
        Ok(loaded) => loaded,
        Err(cause) => {
            tracing::error!("{cause}");
            return ExitCode::from(2);
        }
    };
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let datadir = globals.text("datadir");
    let (root, host) = match (root_of(&loaded), host_of(&loaded)) {
        (Ok(Root::Open), Ok(Some(_))) => {
            tracing::error!("--root-host wants a password of root: everybody there would be root without one");
            return ExitCode::from(2);
        }
        (Ok(root), Ok(host)) => (root, host),
        (Err(cause), _) | (_, Err(cause)) => {
            tracing::error!("{cause}");
            return ExitCode::from(2);
        }
    };
    match create(&globals, Path::new(&datadir), &root, host.as_deref()) {
        Ok(()) => {
            let from = host.map_or("from this machine".to_owned(), |host| format!("from this machine and '{host}'"));
            let how = match &root {
                Root::Open => "without a password, from this machine only".to_owned(),
                Root::Password(_) => format!("with its password, {from}"),
                Root::Vouched { socket_user, temporary } => format!(
                    "on the socket without a password as the system's user {socket_user}, or over TCP {from} \
                     with the temporary password {temporary} and then sets another: ALTER USER USER() IDENTIFIED BY '...'"
                ),
            };
            log::system(format_args!("data directory {datadir} is ready; root may log in {how}"));
            ExitCode::SUCCESS
        }
        Err(cause) => {
            tracing::error!("{cause}");
            ExitCode::FAILURE
        }
    }
}

/// What the options say about root's way in.
fn root_of(loaded: &Loaded) -> Result<Root, String> {
    let from_file = match loaded.value("root_password_file") {
        None => None,
        Some(_) if loaded.value("root_password").is_some() => {
            return Err("--root-password and --root-password-file are two answers to one question".to_owned());
        }
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|cause| format!("cannot read {path}: {cause}"))?;
            // What `echo` and editors put behind it.
            Some(text.trim_end_matches(['\r', '\n']).to_owned())
        }
    };
    let given = from_file.as_deref().or(loaded.value("root_password"));
    let socket_user = loaded.value("root_socket_user").filter(|name| !name.is_empty());
    if (loaded.has("initialize_insecure") || given.is_some()) && socket_user.is_some() {
        return Err("--root-socket-user is of no use with a password of root or --initialize-insecure".to_owned());
    }
    Ok(match given {
        _ if loaded.has("initialize_insecure") => Root::Open,
        Some("") => Root::Open,
        Some(given) => Root::Password(given.to_owned()),
        None => Root::Vouched {
            socket_user: socket_user.unwrap_or("root").to_owned(),
            temporary: password::random(RANDOM_PASSWORD_CHARS),
        },
    })
}

/// From where else root may log in; `None`: from this machine only.
fn host_of(loaded: &Loaded) -> Result<Option<String>, String> {
    let Some(host) = loaded.value("root_host") else { return Ok(None) };
    let host = host.to_ascii_lowercase();
    if host.chars().count() > HOST_CHARS_MAX || host.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!("--root-host='{host}' is no host"));
    }
    Ok(Some(host).filter(|host| !host.is_empty() && !THIS_MACHINE.contains(&host.as_str())))
}

/// Whether a data directory has been made here.
pub fn is_initialised(datadir: &Path) -> bool {
    datadir.join(accounts::FILE_NAME).is_file()
}

/// A page size is taken as it is or refused: it holds for ever.
pub fn check_page_size(globals: &GlobalVariables) -> Result<(), String> {
    match globals.number("innodb_page_size") {
        4096 | 8192 | 16384 | 32768 | 65536 => Ok(()),
        page_bytes => Err(format!("innodb_page_size must be 4K, 8K, 16K, 32K or 64K, not {page_bytes}")),
    }
}

/// Makes a data directory; there must be nothing in it but what an interrupted attempt left.
pub fn create(globals: &GlobalVariables, datadir: &Path, root: &Root, host: Option<&str>) -> Result<(), String> {
    let fail = |doing: &str, cause: io::Error| format!("cannot {doing} {}: {cause}", datadir.display());
    if is_initialised(datadir) {
        return Err(format!("{} is a data directory already", datadir.display()));
    }
    check_page_size(globals)?;
    fs::create_dir_all(datadir).map_err(|cause| fail("make directory", cause))?;
    let making = begin(datadir)?;
    let disk = Arc::new(LinuxDisk::new(datadir));
    Engine::create(disk, &engine_config(globals)).map_err(|cause| format!("cannot make the data files: {cause}"))?;
    let text = globals.text("default_authentication_plugin");
    let plugin = Plugin::by_name(&text).expect("the variable allows our plugins only");
    let with_password = |host: &str, password: &str| {
        let verifier = plugin.verifier(password.as_bytes(), &password::random_salt());
        Account::new("root", host, plugin, &verifier)
    };
    let root = |host: &str| match root {
        Root::Open => with_password(host, ""),
        Root::Password(password) => with_password(host, password),
        Root::Vouched { socket_user, .. } if host == "localhost" => {
            // An empty verifier means the account's own name.
            let socket_user = if socket_user == "root" { "" } else { socket_user };
            Account::new("root", host, Plugin::Socket, socket_user)
        }
        Root::Vouched { temporary, .. } => {
            let mut root = with_password(host, temporary);
            root.attributes.is_expired = true;
            root
        }
    };
    let roots: Vec<Account> = THIS_MACHINE.into_iter().chain(host).map(root).collect();
    Accounts::create(datadir, roots).map_err(|cause| fail("write the accounts of", cause))?;
    fs::remove_file(datadir.join(MAKING_FILE_NAME)).map_err(|cause| fail("finish", cause))?;
    drop(making);
    Ok(())
}

/// Marks an empty directory as one that is being made; what an interrupted attempt left in it is removed. The mark stays
/// locked as long as the file that is returned lives, so that two attempts at once do not remove each other's files.
fn begin(datadir: &Path) -> Result<File, String> {
    let fail = |doing: &str, cause: io::Error| format!("cannot {doing} {}: {cause}", datadir.display());
    let mark = datadir.join(MAKING_FILE_NAME);
    let was_interrupted = mark.exists();
    let left: Vec<fs::DirEntry> = fs::read_dir(datadir)
        .and_then(Iterator::collect)
        .map(|entries: Vec<fs::DirEntry>| entries.into_iter().filter(|entry| !is_of_the_filesystem(entry)).collect())
        .map_err(|cause| fail("read directory", cause))?;
    let is_file = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let may_begin = left.is_empty() || was_interrupted && left.iter().all(is_file);
    if !may_begin {
        return Err(format!("{} is not empty: a data directory is made in an empty one", datadir.display()));
    }
    let making = File::create(&mark).map_err(|cause| fail("write to", cause))?;
    match making.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(format!("{} is being made by another process", datadir.display()));
        }
        Err(TryLockError::Error(cause)) => return Err(fail("lock", cause)),
    }
    // The other process may have finished between the two looks.
    if is_initialised(datadir) {
        let _ = fs::remove_file(&mark);
        return Err(format!("{} is a data directory already", datadir.display()));
    }
    for entry in left.iter().filter(|entry| entry.file_name() != MAKING_FILE_NAME) {
        fs::remove_file(entry.path()).map_err(|cause| fail("empty", cause))?;
    }
    Ok(making)
}

/// The root directory of a filesystem has `lost+found`, and those who mount it leave hidden files: these do not count.
fn is_of_the_filesystem(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    name == "lost+found" || name.as_encoded_bytes().starts_with(b".")
}
