//! `glassine init`: makes a data directory.
//!
//! The accounts file is written last, so that its presence says that all else is
//! there: a directory whose making was interrupted is not taken for a good one.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use sql::accounts::{self, Account, Accounts, Plugin, password};
use sql::variables::{GlobalVariables, engine_config};
use storage::Engine;
use storage::io::linux::LinuxDisk;

use crate::log;
use crate::options::{self, Own};

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
  --initialize-insecure            root has no password, and may log in from this machine only
  --root-socket-user=NAME          the system's user who is root on the socket, without a password, if neither
                                   of the two is given [root]; over TCP from this machine root then has a random
                                   password, which the log tells and which root changes first
  --innodb-page-size=BYTES         4K, 8K, 16K, 32K or 64K, for ever [16K]
  --innodb-log-file-size=BYTES     bytes of the redo log [256M]
  --default-authentication-plugin  caching_sha2_password or mysql_native_password
  --defaults-file=FILE             take options from the groups [mysqld] and [glassine] of this file

Example:
  glassine init --datadir=/srv/db
  mariadb -u root --socket=/srv/db/glassine.sock      # as the system's root";

const OWN: &[Own] = &[
    Own { name: "root_password", takes_value: true },
    Own { name: "initialize_insecure", takes_value: false },
    Own { name: "root_socket_user", takes_value: true },
];

/// Characters of a random password.
const RANDOM_PASSWORD_CHARS: usize = 20;

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
    let socket_user = loaded.value("root_socket_user").filter(|name| !name.is_empty());
    let has_password = loaded.has("initialize_insecure") || loaded.value("root_password").is_some();
    if has_password && socket_user.is_some() {
        tracing::error!("--root-socket-user is of no use with --root-password or --initialize-insecure");
        return ExitCode::from(2);
    }
    let root = match loaded.value("root_password") {
        _ if loaded.has("initialize_insecure") => Root::Open,
        Some("") => Root::Open,
        Some(given) => Root::Password(given.to_owned()),
        None => Root::Vouched {
            socket_user: socket_user.unwrap_or("root").to_owned(),
            temporary: password::random(RANDOM_PASSWORD_CHARS),
        },
    };
    match create(&globals, Path::new(&datadir), &root) {
        Ok(()) => {
            let how = match &root {
                Root::Open => "without a password, from this machine only".to_owned(),
                Root::Password(_) => "with its password".to_owned(),
                Root::Vouched { socket_user, temporary } => format!(
                    "on the socket without a password as the system's user {socket_user}, or over TCP from this machine \
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

/// Makes a data directory; there must be nothing in it.
pub fn create(globals: &GlobalVariables, datadir: &Path, root: &Root) -> Result<(), String> {
    let fail = |doing: &str, cause: io::Error| format!("cannot {doing} {}: {cause}", datadir.display());
    if is_initialised(datadir) {
        return Err(format!("{} is a data directory already", datadir.display()));
    }
    fs::create_dir_all(datadir).map_err(|cause| fail("make directory", cause))?;
    let mut entries = fs::read_dir(datadir).map_err(|cause| fail("read directory", cause))?;
    if entries.next().is_some() {
        return Err(format!("{} is not empty: a data directory is made in an empty one", datadir.display()));
    }
    check_page_size(globals)?;
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
    Accounts::create(datadir, &root).map_err(|cause| fail("write the accounts of", cause))
}
