//! `glassine copy`: copies tablespace files or a whole data directory without filling the holes, to any filesystem.
//!
//! Ordinary copies of compressed tables may come out at their full length: a hole reads as zeros, and a program that
//! does not look writes them. Here each page of a tablespace is read, verified, and written in its stored length,
//! rounded up to the blocks of the filesystem that it comes to. So a copy from blocks of 4K to blocks of 1K becomes
//! smaller, and one into a ZFS dataset takes that dataset's record size. A short page whose remaining blocks were not
//! freed (a hole that could not be punched) frees them here.
//!
//! ```text
//! file              tablespace: page by page     anything else: range by range, as SEEK_DATA tells
//! directory         all files in it, under the lock of a stopped server
//! ```
//!
//! Files of MySQL and MariaDB are copied as well, their pages as they are.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::HumanBytes;
use storage::io::Disk;
use storage::io::linux::LinuxDisk;
use storage::recovery::INCOMPLETE_FILE_NAME;
use storage::redo::file::FILE_NAME as LOG_NAME;

use crate::page;
use crate::page::tablespace::{Storage, Tablespace, data_ranges};
use crate::transfer::Progress;

/// Copies tablespace files or a data directory, holes and all
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub struct Args {
    /// A file, or the data directory of a stopped server
    from: PathBuf,
    /// What to make: a file or directory that is not there yet (an empty directory will do)
    to: PathBuf,
    /// Copy damaged pages as they are instead of ending at the first
    #[arg(long)]
    keep_damaged: bool,
    /// Say only what is wrong
    #[arg(long, short)]
    quiet: bool,
}

const HELP: &str = "\
Examples:
  glassine copy data/shop/orders.ibd /mnt/orders.ibd
  glassine copy /srv/db /mnt/zfs/db              all of a stopped server, into another filesystem's blocks";

/// Bytes of a plain file copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// What was copied.
#[derive(Debug, Default)]
struct Report {
    files: u64,
    pages: u64,
    damaged: u64,
    logical: u64,
    allocated_before: u64,
    allocated_after: u64,
}

pub fn run(args: &Args) -> ExitCode {
    let mut copy = Copy {
        keep_damaged: args.keep_damaged,
        report: Report::default(),
        progress: Progress::begin("copy", None, args.quiet),
        done: 0,
    };
    let copied = if args.from.is_dir() { copy.directory(&args.from, &args.to) } else { copy.one(&args.from, &args.to) };
    copy.progress.end();
    match copied {
        Ok(()) => {
            let report = &copy.report;
            if report.damaged > 0 {
                eprintln!("{} damaged pages were copied as they are", report.damaged);
            }
            if !args.quiet {
                println!("{} is copied to {}", args.from.display(), args.to.display());
                println!("  files      {}, {} pages verified", report.files, report.pages);
                println!("  logical    {}", HumanBytes(report.logical));
                println!(
                    "  allocated  {} there, {} here",
                    HumanBytes(report.allocated_before),
                    HumanBytes(report.allocated_after)
                );
            }
            ExitCode::SUCCESS
        }
        Err(cause) => {
            eprintln!("glassine copy: {cause}");
            ExitCode::FAILURE
        }
    }
}

struct Copy {
    keep_damaged: bool,
    report: Report,
    progress: Progress,
    done: u64,
}

fn cannot(doing: &str, path: &Path, cause: io::Error) -> String {
    format!("cannot {doing} {}: {cause}", path.display())
}

/// Whether a file has pages, by its name.
fn is_tablespace(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".ibd") || name.ends_with(".ibu") || name.starts_with("ibdata") || name.starts_with("undo")
}

impl Copy {
    fn one(&mut self, from: &Path, to: &Path) -> Result<(), String> {
        let to = match (to.is_dir(), from.file_name()) {
            (true, Some(name)) => to.join(name),
            _ => to.to_owned(),
        };
        self.file(from, &to)
    }

    /// Copies one file. What was made of it is removed if that fails.
    fn file(&mut self, from: &Path, to: &Path) -> Result<(), String> {
        let metadata = fs::metadata(from).map_err(|cause| cannot("read", from, cause))?;
        let source = File::open(from).map_err(|cause| cannot("read", from, cause))?;
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
        let target = made.map_err(|cause| cannot("create", to, cause))?;
        // At once: XFS allocates ahead of a file that grows, and what it allocated would stay where the holes are to
        // be.
        let sized = target.set_len(metadata.len()).map_err(|cause| cannot("write", to, cause));
        let copied = sized.and_then(|()| self.content(from, &source, to, &target, metadata.len())).and_then(|()| {
            // Once more: the last page may be cut off.
            let finish = target
                .set_len(metadata.len())
                .and_then(|()| target.set_permissions(Permissions::from_mode(metadata.mode() & 0o777)))
                .and_then(|()| target.sync_all());
            finish.map_err(|cause| cannot("write", to, cause))
        });
        if let Err(cause) = copied {
            let _ = fs::remove_file(to);
            return Err(cause);
        }
        let after = target.metadata().map_err(|cause| cannot("read", to, cause))?;
        self.report.files += 1;
        self.report.logical += metadata.len();
        self.report.allocated_before += metadata.blocks() * 512;
        self.report.allocated_after += after.blocks() * 512;
        Ok(())
    }

    fn content(&mut self, from: &Path, source: &File, to: &Path, target: &File, bytes: u64) -> Result<(), String> {
        if is_tablespace(from) && bytes > 0 {
            let asked = page::Args {
                file: from.to_owned(),
                page: None,
                summary: false,
                json: false,
                page_size: None,
                keyring: None,
                block_size: None,
            };
            match Tablespace::open(&asked) {
                Ok(tablespace) => return self.pages(from, tablespace, to, target),
                Err(cause) if cause.raw_os_error().is_some() => return Err(cannot("read", from, cause)),
                // No page 0 that says what it is: then it is a file like others.
                Err(_) => {}
            }
        }
        self.ranges(from, source, to, target, bytes)
    }

    /// Copies the pages of a tablespace, each in the blocks that it needs.
    fn pages(&mut self, from: &Path, mut tablespace: Tablespace, to: &Path, target: &File) -> Result<(), String> {
        let facts = target.metadata().map_err(|cause| cannot("read", to, cause))?;
        let block_bytes = (facts.blksize() as usize).clamp(512, tablespace.page_bytes.max(512));
        let mut slot = Vec::new();
        for number in 0..tablespace.page_count() {
            if tablespace.occupied(number) == 0 {
                continue;
            }
            let offset = u64::from(number) * tablespace.page_bytes as u64;
            tablespace.read(number, &mut slot).map_err(|cause| cannot("read", from, cause))?;
            let plain = tablespace.decode(slot.clone());
            let damaged = tablespace.is_damaged(number, &plain);
            if damaged && !self.keep_damaged {
                let shown = from.display();
                return Err(format!(
                    "{shown}: page {number}, at byte {offset}, is damaged (--keep-damaged copies it as it is)"
                ));
            }
            self.report.damaged += u64::from(damaged);
            self.report.pages += u64::from(!damaged);
            // An envelope knows how long it is. Of other pages, what is zero at the end need not be written.
            let known = match plain.storage {
                Storage::Encoded(_) | Storage::MariaDb(_) if !damaged => plain.stored_bytes,
                _ => slot.len(),
            };
            let needed = significant_bytes(&slot[..known.min(slot.len())]).next_multiple_of(block_bytes);
            let needed = needed.min(slot.len());
            target.write_all_at(&slot[..needed], offset).map_err(|cause| cannot("write", to, cause))?;
            self.advance(needed as u64);
        }
        Ok(())
    }

    /// Copies the parts of a file that are no holes.
    fn ranges(&mut self, from: &Path, source: &File, to: &Path, target: &File, bytes: u64) -> Result<(), String> {
        let mut piece = vec![0; PIECE_BYTES];
        for (start, end) in data_ranges(source, bytes) {
            let mut at = start;
            while at < end {
                let wanted = (end - at).min(PIECE_BYTES as u64) as usize;
                source.read_exact_at(&mut piece[..wanted], at).map_err(|cause| cannot("read", from, cause))?;
                target.write_all_at(&piece[..wanted], at).map_err(|cause| cannot("write", to, cause))?;
                at += wanted as u64;
                self.advance(wanted as u64);
            }
        }
        Ok(())
    }

    fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        self.progress.set(self.done, None);
    }

    /// Copies a data directory whose server is stopped.
    fn directory(&mut self, from: &Path, to: &Path) -> Result<(), String> {
        let is_ours = from.join(LOG_NAME).exists();
        let _lock = if is_ours {
            let lock = LinuxDisk::new(from).lock();
            Some(lock.map_err(|cause| match cause.kind() {
                io::ErrorKind::WouldBlock => {
                    format!("a server is using {}: stop it, or use glassine backup", from.display())
                }
                _ => cannot("lock", from, cause),
            })?)
        } else {
            None
        };
        if to.starts_with(from) {
            return Err(format!("{} lies within {}", to.display(), from.display()));
        }
        match fs::create_dir(to) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && to.is_dir() => {
                let mut entries = fs::read_dir(to).map_err(|cause| cannot("read", to, cause))?;
                if entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != "lost+found")) {
                    return Err(format!("{} is not empty", to.display()));
                }
            }
            made => made.map_err(|cause| cannot("create", to, cause))?,
        }
        // Until all is there, no server takes it for a data directory.
        let marker = to.join(INCOMPLETE_FILE_NAME);
        fs::write(&marker, "A copy into this directory did not end.\n")
            .map_err(|cause| cannot("create", &marker, cause))?;
        self.entries(from, to)?;
        fs::remove_file(&marker).map_err(|cause| cannot("remove", &marker, cause))?;
        let sync = File::open(to).and_then(|directory| directory.sync_all());
        sync.map_err(|cause| cannot("sync", to, cause))
    }

    fn entries(&mut self, from: &Path, to: &Path) -> Result<(), String> {
        let mut entries = fs::read_dir(from)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .map_err(|cause| cannot("read", from, cause))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(|cause| cannot("read", &path, cause))?;
            // What belongs to a running server, or to the filesystem.
            if kind.is_socket() || name == "glassine.lock" || name.ends_with(".pid") || name == "lost+found" {
                continue;
            }
            if kind.is_dir() {
                fs::create_dir(&target).map_err(|cause| cannot("create", &target, cause))?;
                self.entries(&path, &target)?;
                let sync = File::open(&target).and_then(|directory| directory.sync_all());
                sync.map_err(|cause| cannot("sync", &target, cause))?;
            } else if path.is_file() {
                // Through a link, too: the copy stands by itself.
                self.file(&path, &target)?;
            } else {
                eprintln!("left out: {} is no file", path.display());
            }
        }
        Ok(())
    }
}

/// Up to the last byte that is not zero.
fn significant_bytes(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}
