//! `glassine restore`: makes a data directory of an archive.
//!
//! The directory must be empty or not exist. Pages are written in blocks of its own filesystem, so the same archive
//! takes less on one with smaller blocks. The first start brings it to the archive's LSN, by the log that is part of
//! it. A restore that is interrupted leaves a directory that no server opens.
//!
//! With logs of the server it goes on to a point in time: `plan` reads what they have behind the backup, `replay` applies
//! it. Such a restore goes on where it was interrupted.

mod plan;
mod replay;

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ::binlog::BackupPoint;
use ::binlog::log::Position;
use format::binlog::Gtid;
use format::value::{Zone, parse_datetime};
use indicatif::HumanBytes;
use storage::backup::{POINT_FILE_NAME, Restore, Verify, read_archive};
use storage::io::linux::LinuxDisk;
use storage::recovery::INCOMPLETE_FILE_NAME;

use crate::transfer::{Counted, Progress, Watched, describe, describe_point};
use plan::{Plan, Target, Transaction, moment};
use replay::Opened;

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
    /// Binary logs of the server: what they have behind the backup is replayed
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "datadir")]
    logs: Vec<PathBuf>,
    /// Replay what was committed before this time (UTC), such as "2026-01-31 23:00:00.5"
    #[arg(long, value_name = "TIME", requires = "logs", value_parser = parse_time, group = "target")]
    to_time: Option<u64>,
    /// Replay up to this transaction, such as 3E11FA47-71CA-11E1-9E33-C80AA9429562:5, and this one, too
    #[arg(long, value_name = "GTID", requires = "logs", group = "target")]
    to_gtid: Option<Gtid>,
    /// Replay up to this transaction, without it
    #[arg(long, value_name = "GTID", requires = "logs", group = "target")]
    before_gtid: Option<Gtid>,
    /// Replay what stands before this place of a log, such as binlog.000007:1234
    #[arg(long, value_name = "FILE:POSITION", requires = "logs", value_parser = parse_place, group = "target")]
    to_position: Option<Target>,
    /// List the transactions that would be replayed, and write nothing
    #[arg(long, requires = "logs")]
    dry_run: bool,
    /// Say only what is wrong
    #[arg(long, short)]
    quiet: bool,
    /// Options of the server that replays, such as --innodb-buffer-pool-size=4G
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// Microseconds since 1970 of a date and time in UTC.
fn parse_time(text: &str) -> Result<u64, String> {
    let parsed = parse_datetime(text.as_bytes());
    let is_moment = !parsed.flags.invalid && !parsed.value.date.has_zero_part();
    is_moment
        .then(|| parsed.value.to_unix_micros(Zone::UTC))
        .and_then(|micros| u64::try_from(micros).ok())
        .ok_or_else(|| "a date and time, such as 2026-01-31 23:00:00, is wanted".into())
}

fn parse_place(text: &str) -> Result<Target, String> {
    let place = text
        .rsplit_once(':')
        .and_then(|(file, position)| Some(Target::Place(::binlog::FileName::parse(file)?, position.parse().ok()?)));
    place.ok_or_else(|| "a file and a position, such as binlog.000007:1234, is wanted".into())
}

impl Args {
    fn target(&self) -> Target {
        match (self.to_time, self.to_gtid, self.before_gtid, &self.to_position) {
            (Some(micros), ..) => Target::Time(micros),
            (_, Some(gtid), ..) => Target::Behind(gtid),
            (_, _, Some(gtid), _) => Target::Before(gtid),
            (_, _, _, Some(place)) => place.clone(),
            _ => Target::End,
        }
    }
}

const HELP: &str = "\
Examples:
  glassine restore monday.backup --datadir=/srv/db
  ssh host cat monday.backup | glassine restore - --datadir=/srv/db
  glassine restore monday.backup --verify
  glassine restore monday.backup --datadir=/srv/db --logs /srv/old/binlog.0* --to-time=2026-01-31T22:59:30
  glassine restore monday.backup --datadir=/srv/db --logs /srv/old/binlog.0* --dry-run";

pub fn run(args: &Args) -> ExitCode {
    let done = match &args.datadir {
        Some(directory) if !args.logs.is_empty() => to_point(args, directory),
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
    let mut watched = Watched::new(&mut sink);
    let totals = read_archive(&mut from, &mut watched);
    let point = watched.point();
    let bytes = from.end();
    let totals = totals.map_err(|error| format!("{}: {error}", archive.display()))?;
    if sink.pages() != totals.pages {
        return Err(format!("{}: it has {} pages of {}", archive.display(), sink.pages(), totals.pages));
    }
    if !quiet {
        println!("{} is whole\n{}", archive.display(), describe(&totals, Some(bytes)));
        if let Some(point) = point {
            println!("{}", describe_point(&point));
        }
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

// To a point in time

const NO_POINT: &str = "the backup does not say where it stands in a binary log: its server wrote none, or was killed \
                        before it was backed up";

/// Restores, and replays logs. Goes on if the last run was interrupted.
fn to_point(args: &Args, directory: &Path) -> Result<(), String> {
    let replayed = replay::is_replayed(directory)?;
    if args.dry_run {
        return list(args, directory, replayed.is_some());
    }
    if replayed.is_none() {
        restore_or_go_on(args, directory)?;
    }
    let point = point_of(directory)?;
    let mut opened = Opened::open(directory, &args.options)?;
    if replayed == Some(true) {
        opened.clean_up(directory)?;
        return say_ready(args, directory);
    }
    // Whatever fails from here on, the tables are closed, and the next run goes on.
    let done = (|| {
        let logs = plan::logs(&args.logs, &point)?;
        let planned = |from: &Position| plan::plan(&logs, &point, from, &args.target(), false, &mut |_| Ok(()));
        // Before the directory is touched.
        planned(&point.place)?;
        let from = opened.begin(directory, &point)?;
        let plan = planned(&from)?;
        let executed = opened.replay(&logs, &from, &plan, args.quiet)?;
        Ok((plan::point_behind(&point, &logs, &from, &plan, executed)?, plan))
    })();
    let (stands, plan) = match done {
        Ok(done) => done,
        Err(cause) => {
            opened.close()?;
            return Err(cause);
        }
    };
    opened.end(directory, &stands)?;
    if !args.quiet {
        println!("{}", summary(&plan, "replayed   "));
        if !stands.executed.is_empty() {
            println!("  GTIDs      {}", stands.executed.to_string().replace('\n', ""));
        }
    }
    say_ready(args, directory)
}

fn say_ready(args: &Args, directory: &Path) -> Result<(), String> {
    if !args.quiet {
        println!("Serve it with: glassine serve --datadir={}", directory.display());
    }
    Ok(())
}

/// Restores the archive, unless an earlier run has.
fn restore_or_go_on(args: &Args, directory: &Path) -> Result<(), String> {
    if directory.join(INCOMPLETE_FILE_NAME).exists() {
        // It was empty when that restore began.
        empty(directory).map_err(|cause| format!("cannot empty {}: {cause}", directory.display()))?;
    }
    // A server that was started in it would have left its name.
    if directory.join(POINT_FILE_NAME).exists() && !directory.join("auto.cnf").exists() {
        return Ok(());
    }
    restore(args, directory)
}

/// Removes what an interrupted restore left; the mark of it last.
fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name() == INCOMPLETE_FILE_NAME || entry.file_name() == "lost+found" {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    fs::remove_file(directory.join(INCOMPLETE_FILE_NAME))
}

/// Where the backup in a directory ended.
fn point_of(directory: &Path) -> Result<BackupPoint, String> {
    let path = directory.join(POINT_FILE_NAME);
    match fs::read_to_string(&path) {
        Ok(text) => BackupPoint::parse(&text).ok_or_else(|| format!("{} is damaged", path.display())),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Err(NO_POINT.to_owned()),
        Err(cause) => Err(format!("{}: {cause}", path.display())),
    }
}

/// --dry-run.
fn list(args: &Args, directory: &Path, is_begun: bool) -> Result<(), String> {
    let point = match is_begun || directory.join(POINT_FILE_NAME).exists() {
        true => point_of(directory)?,
        false => {
            let mut from = open(&args.archive, "read", args.quiet)?;
            let mut sink = Verify::new();
            let mut watched = Watched::new(&mut sink);
            let totals = read_archive(&mut from, &mut watched);
            let point = watched.point();
            from.end();
            totals.map_err(|error| format!("{}: {error}", args.archive.display()))?;
            point.ok_or(NO_POINT)?
        }
    };
    let logs = plan::logs(&args.logs, &point)?;
    let mut from = point.place.clone();
    if is_begun {
        let mut opened = Opened::open(directory, &args.options)?;
        let begun = opened.begin(directory, &point);
        opened.close()?;
        from = begun?;
    }
    let mut each = |transaction: &Transaction<'_>| {
        let Transaction { file, at, end, micros, gtid, what } = transaction;
        let gtid = gtid.map_or("-".to_owned(), |gtid| gtid.to_string());
        println!("{file}:{at}  {}  {gtid}  {} bytes  {what}", moment(*micros), end - at);
        Ok(())
    };
    let plan = plan::plan(&logs, &point, &from, &args.target(), true, &mut each)?;
    println!("{}", summary(&plan, ""));
    Ok(())
}

fn summary(plan: &Plan, done: &str) -> String {
    let mut text = format!("  {done}{} transactions, {}", plan.transactions, HumanBytes(plan.bytes));
    if let Some((first, last)) = plan.times {
        text += &format!(", committed from {} to {}", moment(first), moment(last));
    }
    if plan.is_cut {
        text += "\n  The last log ends within a transaction, which is left out";
    }
    text
}
