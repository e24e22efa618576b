//! `glassine binlog`: what is in a binary log, as text that a client can replay.
//!
//! Reads logs of MySQL 5.0 to 8.x and of MariaDB, from files or from a server (`remote`). It knows mysqlbinlog's options and prints what
//! mysqlbinlog prints, times in UTC; compressed transactions of MySQL and compressed events of MariaDB are shown
//! expanded.
//!
//! ```text
//! glassine binlog binlog.000007                                     statements, and rows in base64
//! glassine binlog -v --base64-output=decode-rows binlog.000007      rows that a person can read
//! glassine binlog --start-datetime="2026-01-31 23:00:00" binlog.* | mariadb
//! glassine binlog --verify binlog.*                                 reads all, prints sums
//! glassine binlog -R -S server.sock binlog.000007                   the log of a server
//! glassine binlog -R -S server.sock --raw --stop-never binlog.000007   copies of its files, as they are written
//! glassine binlog estimate binlog.000007                            what compression would have saved
//! ```

mod estimate;
mod file;
mod filter;
mod print;
mod raw;
mod remote;
mod rows;
mod verify;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;

use file::{LogError, LogFile};
use filter::{Filter, Verdict};
use print::{Base64Output, Printer};
use remote::{Next, Remote};

#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, disable_help_flag = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Binary logs or relay logs, in their order; - is the standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    filter: Filter,
    /// Show rows as SQL in comments; twice: with the columns' types
    #[arg(long, short, action = clap::ArgAction::Count)]
    verbose: u8,
    /// What becomes of rows
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Base64Output::Auto)]
    base64_output: Base64Output,
    /// Leave out the transactions' names, so that they get new ones where they are replayed
    #[arg(long)]
    skip_gtids: bool,
    /// Rows that are there already are replaced where they are replayed, and those that are missing passed over
    #[arg(long)]
    idempotent: bool,
    /// Read everything, verify every checksum, payload and row, and print sums only
    #[arg(long, conflicts_with_all = ["verbose", "skip_gtids", "result_file", "read_from_remote_server"])]
    verify: bool,
    #[command(flatten)]
    remote: remote::Options,
    /// Show this help; -h names a host
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Write into this file
    #[arg(long, short, value_name = "FILE")]
    result_file: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Tells what compressed transactions would have saved and cost, level by level
    Estimate(estimate::Args),
}

pub fn run(args: &Args) -> ExitCode {
    let done = match &args.verb {
        Some(Verb::Estimate(args)) => estimate::run(args),
        None if args.verify => verify::run(&args.files),
        None if args.remote.raw => {
            names(args).and_then(|names| raw::save(&args.remote, &names, args.result_file.as_deref()))
        }
        None => show(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of a pipe had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("glassine binlog: {error}");
            ExitCode::FAILURE
        }
    }
}

fn show(args: &Args) -> io::Result<()> {
    let out: Box<dyn Write> = match &args.result_file {
        Some(path) => Box::new(std::fs::File::create(path)?),
        None => Box::new(io::stdout().lock()),
    };
    let mut printer =
        Printer::new(BufWriter::new(out), &args.filter, args.base64_output, args.verbose, args.skip_gtids);
    printer.begin(args.idempotent)?;
    if args.remote.read_from_remote_server {
        let shown = names(args).and_then(|names| show_remote(&names, args, &mut printer));
        printer.end()?;
        return shown;
    }
    let mut failed = Ok(());
    for (at, path) in args.files.iter().enumerate() {
        failed = show_file(path, args, at == 0, at + 1 == args.files.len(), &mut printer);
        if failed.is_err() {
            break;
        }
    }
    // What was printed so far is whole, even if the log is not.
    printer.end()?;
    failed
}

/// Files that a server has.
fn names(args: &Args) -> io::Result<Vec<String>> {
    let name = |path: &PathBuf| path.to_str().map(str::to_owned);
    let names: Option<Vec<String>> = args.files.iter().map(name).collect();
    names.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a name of a log is not UTF-8"))
}

fn show_remote(names: &[String], args: &Args, printer: &mut Printer<'_, impl Write>) -> io::Result<()> {
    for (number, name) in names.iter().enumerate() {
        let (is_first, is_last) = (number == 0, number + 1 == names.len());
        let position = args.filter.start_position.filter(|_| is_first).unwrap_or(0);
        let mut remote = Remote::new(&args.remote, name, position, is_last);
        let mut judge = args.filter.judge(false, is_last);
        loop {
            let (located, more) = match remote.next()? {
                Next::Event { located, more } => (located, more),
                Next::File(_) => continue,
                Next::End => break,
            };
            let at = located.at;
            let placed = |error: io::Error| match error.kind() {
                io::ErrorKind::BrokenPipe => error,
                kind => io::Error::new(kind, format!("the event at {at}: {error}")),
            };
            match judge.judge(&located).map_err(|error| placed(io::Error::other(error.to_string())))? {
                Verdict::Wanted => printer.event(&located).map_err(placed)?,
                Verdict::Unwanted => printer.note(&located).map_err(placed)?,
                Verdict::End => return Ok(()),
            }
            if !more {
                printer.flush()?;
            }
        }
    }
    Ok(())
}

fn show_file(
    path: &Path,
    args: &Args,
    is_first: bool,
    is_last: bool,
    printer: &mut Printer<'_, impl Write>,
) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut log = LogFile::open(path).map_err(|error| named(to_io(error)))?;
    let mut judge = args.filter.judge(is_first, is_last);
    loop {
        let located = match log.next_event() {
            Ok(Some(located)) => located,
            Ok(None) => return Ok(()),
            // The file is being written, or its server died: what is whole has been shown.
            Err(LogError::Cut { at }) if is_last => {
                eprintln!("glassine binlog: {}: {}", path.display(), LogError::Cut { at });
                return Ok(());
            }
            Err(error) => return Err(named(to_io(error))),
        };
        let at = located.at;
        let placed = |error: io::Error| match error.kind() {
            io::ErrorKind::BrokenPipe => error,
            kind => named(io::Error::new(kind, format!("the event at {at}: {error}"))),
        };
        let verdict = judge.judge(&located).map_err(|error| placed(io::Error::other(error.to_string())))?;
        match verdict {
            Verdict::Wanted => printer.event(&located).map_err(placed)?,
            Verdict::Unwanted => printer.note(&located).map_err(placed)?,
            Verdict::End => return Ok(()),
        }
    }
}

fn to_io(error: LogError) -> io::Error {
    match error {
        LogError::Io(error) => error,
        error => io::Error::new(io::ErrorKind::InvalidData, error.to_string()),
    }
}
