//! `glassine restore`: makes a data directory of an archive.
//!
//! The directory must be empty or not exist. Pages are written in blocks of its own filesystem, so the same archive
//! takes less on one with smaller blocks. The first start brings it to the archive's LSN, by the log that is part of
//! it. A restore that is interrupted leaves a directory that no server opens.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use indicatif::HumanBytes;
use storage::backup::{Restore, Verify, read_archive};
use storage::io::linux::LinuxDisk;

use crate::transfer::{Counted, Progress, describe};

/// Makes a data directory of a backup
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub struct Args {
    /// An archive of `glassine backup`, or - for standard input
    archive: PathBuf,
    /// The directory to make
    #[arg(long, value_name = "DIR", required_unless_present = "verify")]
    datadir: Option<PathBuf>,
    /// Verify the archive, every page of it, and write nothing
    #[arg(long, conflicts_with = "datadir")]
    verify: bool,
    /// Say only what is wrong
    #[arg(long, short)]
    quiet: bool,
}

const HELP: &str = "\
Examples:
  glassine restore monday.backup --datadir=/srv/db
  ssh host cat monday.backup | glassine restore - --datadir=/srv/db
  glassine restore monday.backup --verify";

pub fn run(args: &Args) -> ExitCode {
    let done = match &args.datadir {
        Some(directory) => restore(args, directory),
        None => verify(&args.archive, args.quiet),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("glassine restore: {cause}");
            ExitCode::FAILURE
        }
    }
}

fn open(archive: &Path, what: &'static str, quiet: bool) -> Result<Counted<'static>, String> {
    let (from, total): (Box<dyn Read>, _) = if archive.as_os_str() == "-" {
        (Box::new(io::stdin()), None)
    } else {
        let cannot = |cause: io::Error| format!("cannot read {}: {cause}", archive.display());
        let file = File::open(archive).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            return Err(format!("{} is a directory: serve it, or copy it with glassine copy", archive.display()));
        }
        (Box::new(file), metadata.is_file().then_some(metadata.len()))
    };
    Ok(Counted::new(BufReader::with_capacity(1 << 18, from), Progress::begin(what, total, quiet)))
}

/// Reads a whole archive and verifies it.
pub fn verify(archive: &Path, quiet: bool) -> Result<(), String> {
    let mut from = open(archive, "verify", quiet)?;
    let mut sink = Verify::new();
    let totals = read_archive(&mut from, &mut sink);
    let bytes = from.end();
    let totals = totals.map_err(|error| format!("{}: {error}", archive.display()))?;
    if sink.pages() != totals.pages {
        return Err(format!("{}: it has {} pages of {}", archive.display(), sink.pages(), totals.pages));
    }
    if !quiet {
        println!("{} is whole\n{}", archive.display(), describe(&totals, Some(bytes)));
    }
    Ok(())
}

/// Makes the directory, if it is not there. True if it was not.
pub fn empty_directory(path: &Path) -> Result<bool, String> {
    match fs::create_dir(path) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(cause) => Err(format!("cannot make the directory {}: {cause}", path.display())),
    }
}

/// After a failure: a directory that we have made goes again. What was there before stays as it is, marked as
/// incomplete.
pub fn remove_remains(path: &Path, made: bool) {
    if made && let Err(cause) = fs::remove_dir_all(path) {
        eprintln!("cannot remove {}: {cause}", path.display());
    }
}

fn restore(args: &Args, directory: &Path) -> Result<(), String> {
    let mut from = open(&args.archive, "restore", args.quiet)?;
    let made = empty_directory(directory)?;
    let restored = Restore::begin(Arc::new(LinuxDisk::new(directory))).and_then(|mut restore| {
        read_archive(&mut from, &mut restore)?;
        restore.finish()
    });
    let bytes = from.end();
    let restored = restored.map_err(|error| {
        remove_remains(directory, made);
        format!("{}: {error}", args.archive.display())
    })?;
    if !args.quiet {
        println!("{} is restored to {}", args.archive.display(), directory.display());
        println!("{}", describe(&restored.totals, Some(bytes)));
        println!("  restored   {} allocated, beside the log", HumanBytes(restored.allocated_bytes));
        if restored.pages_encoded > 0 {
            println!("  {} pages were compressed for the smaller blocks here", restored.pages_encoded);
        }
        println!("Serve it with: glassine serve --datadir={}", directory.display());
    }
    Ok(())
}
