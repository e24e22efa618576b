//! `glassine backup`: a whole server as one archive, while it runs or while it is stopped.
//!
//! ```text
//! --socket FILE    a running server sends it (BACKUP SERVER); it is verified on its way
//! --datadir DIR    a stopped server's directory is read, under its lock
//!
//! --to FILE        an archive           --to DIR/   a data directory, ready to be served
//! --to -           an archive on standard output, for a pipe
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ::binlog::BackupPoint;
use format::binlog::Uuid;
use sql::session::NAMED_FILES;
use storage::backup::{ArchiveWriter, Backup, Restore, Sink, Totals, Verify, read_archive};
use storage::io::linux::LinuxDisk;

use crate::client::{Client, Column};
use crate::restore;
use crate::transfer::{Counted, Progress, Watched, describe, describe_point};

/// Writes a backup of a server, running or stopped
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub struct Args {
    /// The socket of a running server
    #[arg(long, short = 'S', value_name = "FILE", conflicts_with = "datadir")]
    socket: Option<PathBuf>,
    /// The data directory of a stopped server
    #[arg(long, value_name = "DIR", required_unless_present_any = ["socket", "check"])]
    datadir: Option<PathBuf>,
    /// Log in as this user
    #[arg(long, short, default_value = "root")]
    user: String,
    /// With this password; the environment's MYSQL_PWD is not seen by others
    #[arg(long, value_name = "PASSWORD")]
    password: Option<String>,
    /// A new file; a directory, if it ends with / or exists and is empty; or - for standard output
    #[arg(long, value_name = "TARGET", required_unless_present = "check")]
    to: Option<PathBuf>,
    /// Verify this archive (- for standard input), every page of it, and write nothing
    #[arg(long, value_name = "ARCHIVE", conflicts_with_all = ["socket", "datadir", "to"])]
    check: Option<PathBuf>,
    /// Say only what is wrong
    #[arg(long, short)]
    quiet: bool,
}

const HELP: &str = "\
Examples:
  glassine backup --socket=/srv/db/glassine.sock --to=monday.backup       of a running server
  glassine backup --datadir=/srv/db --to=monday.backup                    of a stopped one
  glassine backup -S /srv/db/glassine.sock --to=- | ssh host 'glassine restore - --datadir=/srv/db'
  glassine backup --check monday.backup";

pub fn run(args: &Args) -> ExitCode {
    let done = match &args.check {
        Some(archive) => restore::verify(archive, args.quiet),
        None => back_up(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("glassine backup: {cause}");
            ExitCode::FAILURE
        }
    }
}

/// What a backup amounts to, and where it stands in the binary log.
type Taken = (Totals, Option<BackupPoint>);

/// Where it goes.
enum Target {
    Directory(PathBuf),
    File(PathBuf),
    Stdout,
}

fn target(path: &Path) -> Target {
    let text = path.as_os_str().as_encoded_bytes();
    match text {
        b"-" => Target::Stdout,
        _ if text.ends_with(b"/") || path.is_dir() => Target::Directory(path.to_owned()),
        _ => Target::File(path.to_owned()),
    }
}

fn back_up(args: &Args) -> Result<(), String> {
    let to = args.to.as_deref().expect("clap asks for it");
    match target(to) {
        Target::Stdout if io::stdout().is_terminal() => {
            Err("an archive is nothing for a terminal: use a pipe or --to=FILE".into())
        }
        Target::Stdout => {
            let mut out = BufWriter::with_capacity(1 << 18, io::stdout().lock());
            let (taken, bytes) = to_archive(args, &mut out)?;
            out.flush().map_err(|cause| format!("cannot write: {cause}"))?;
            say(args, to, &taken, Some(bytes));
            Ok(())
        }
        Target::File(path) => {
            let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            let out = made.map_err(|cause| format!("cannot create {}: {cause}", path.display()))?;
            let written = to_file(args, out);
            // Half an archive is none.
            let (taken, bytes) = written.inspect_err(|_| drop(fs::remove_file(&path)))?;
            say(args, to, &taken, Some(bytes));
            Ok(())
        }
        Target::Directory(path) => {
            let made = restore::empty_directory(&path)?;
            let restored = to_directory(args, &path);
            let taken = restored.inspect_err(|_| restore::remove_remains(&path, made))?;
            say(args, to, &taken, None);
            Ok(())
        }
    }
}

fn say(args: &Args, to: &Path, (totals, point): &Taken, archive_bytes: Option<u64>) {
    if !args.quiet {
        let from = args.socket.as_deref().or(args.datadir.as_deref()).unwrap_or(Path::new(""));
        eprintln!("{} is backed up to {}\n{}", from.display(), to.display(), describe(totals, archive_bytes));
        if let Some(point) = point {
            eprintln!("{}", describe_point(point));
        }
    }
}

fn to_file(args: &Args, out: File) -> Result<(Taken, u64), String> {
    let cannot = |cause: io::Error| format!("cannot write the archive: {cause}");
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let written = to_archive(args, &mut out)?;
    out.into_inner().map_err(|error| cannot(error.into_error()))?.sync_all().map_err(cannot)?;
    Ok(written)
}

fn to_archive(args: &Args, out: &mut dyn Write) -> Result<(Taken, u64), String> {
    match &args.socket {
        Some(socket) => {
            let rows = ask(args, socket)?;
            let mut from = Counted::new(rows, Progress::begin("backup", None, args.quiet)).with_copy(out);
            let mut sink = Verify::new();
            let mut watched = Watched::new(&mut sink);
            let totals = read_archive(&mut from, &mut watched).map_err(|error| error.to_string())?;
            let point = watched.point();
            Ok(((totals, point), from.end()))
        }
        None => {
            let mut archive = ArchiveWriter::new(out).map_err(|error| error.to_string())?;
            let taken = from_directory(args, &mut archive)?;
            Ok((taken, archive.bytes()))
        }
    }
}

fn to_directory(args: &Args, path: &Path) -> Result<Taken, String> {
    let mut restore = Restore::begin(Arc::new(LinuxDisk::new(path))).map_err(|error| error.to_string())?;
    let point = match &args.socket {
        Some(socket) => {
            let rows = BufReader::with_capacity(1 << 18, ask(args, socket)?);
            let mut from = Counted::new(rows, Progress::begin("backup", None, args.quiet));
            let mut watched = Watched::new(&mut restore);
            read_archive(&mut from, &mut watched).map_err(|error| error.to_string())?;
            let point = watched.point();
            from.end();
            point
        }
        None => from_directory(args, &mut restore)?.1,
    };
    Ok((restore.finish().map_err(|error| error.to_string())?.totals, point))
}

/// Asks a running server for its archive.
fn ask(args: &Args, socket: &Path) -> Result<Column, String> {
    let password = args.password.clone().or_else(|| std::env::var("MYSQL_PWD").ok()).unwrap_or_default();
    let client = Client::connect(socket, &args.user, &password);
    let client = client.map_err(|refused| format!("{}: {refused}", socket.display()))?;
    client.query_column("BACKUP SERVER").map_err(|refused| refused.to_string())
}

/// Reads a stopped server's directory.
fn from_directory(args: &Args, sink: &mut dyn Sink) -> Result<Taken, String> {
    let directory = args.datadir.as_deref().expect("clap asks for one of the two");
    let shown = directory.display();
    let disk = Arc::new(LinuxDisk::new(directory));
    let backup = Backup::of_stopped(disk.clone(), NAMED_FILES).map_err(|error| match error {
        storage::Error::Exists(_) => {
            format!("a server is using {shown}: back it up through its socket, --socket={shown}/glassine.sock")
        }
        error => format!("{shown}: {error}"),
    })?;
    let server_uuid = server_uuid(directory).unwrap_or_default();
    let mut backup = backup.with_point(Box::new(::binlog::point::Stopped { disk, server_uuid }));
    let mut progress = Progress::begin("backup", Some(backup.progress().1), args.quiet);
    let mut watched = Watched::new(sink);
    loop {
        if let Some(totals) = backup.step(&mut watched).map_err(|error| error.to_string())? {
            progress.end();
            return Ok((totals, watched.point()));
        }
        let (done, total) = backup.progress();
        progress.set(done, Some(total));
    }
}

/// The name of the server that a directory is of, if it was ever served.
fn server_uuid(directory: &Path) -> Option<Uuid> {
    let text = fs::read_to_string(directory.join("auto.cnf")).ok()?;
    text.lines().find_map(|line| line.trim().strip_prefix("server-uuid="))?.trim().parse().ok()
}
