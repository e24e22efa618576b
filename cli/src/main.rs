//! One binary: `glassine`, with a subcommand for each thing that one does with it.
//!
//! The subcommands are told apart by clap. Those that run a server take MySQL's
//! options, of which there are hundreds with rules of their own; these go through
//! [`options`].

#![forbid(unsafe_code)]

mod options;

mod log;

mod notify;

mod advise;

mod init;

mod serve;

mod demo;

mod check;

mod page;

mod transfer;

mod client;

mod restore;

mod backup;

mod copy;

mod support;

mod binlog;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The arenas of the C library keep much of what sessions have freed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A MySQL-compatible database server that stores less
#[derive(Parser)]
#[command(name = "glassine", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  glassine demo                            a server with data to look at, on the first free port from 3306
  glassine init --datadir=/srv/db          a new data directory
  glassine serve --datadir=/srv/db         serve it";

#[derive(Subcommand)]
enum Command {
    /// Makes a data directory
    Init(init::Args),
    /// Serves a data directory
    Serve(serve::Args),
    /// Fills ./data with the same rows under each codec, shows what they take, and serves them
    Demo(demo::Args),
    /// Checks a whole data directory that no server is using
    Check(check::Args),
    /// Looks for what the filesystem and the machine do to a data directory
    Advise(advise::Args),
    /// Shows the pages of a tablespace file
    Page(page::Args),
    /// Copies tablespace files or a whole data directory, holes and all, to any filesystem
    Copy(copy::Args),
    /// Writes a backup of a server, running or stopped
    Backup(backup::Args),
    /// Makes a data directory of a backup
    Restore(restore::Args),
    /// Writes one file about a running server, to be sent with a question
    Support(support::Args),
    /// Shows binary logs, as text that a client can replay
    Binlog(Box<binlog::Args>),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Advise(arguments) => advise::run(&arguments),
        Command::Page(arguments) => page::run(&arguments),
        Command::Copy(arguments) => copy::run(&arguments),
        Command::Backup(arguments) => backup::run(&arguments),
        Command::Restore(arguments) => restore::run(&arguments),
        Command::Support(arguments) => support::run(&arguments),
        Command::Binlog(arguments) => binlog::run(&arguments),
    }
}
