//! `glassine page`: what is in a tablespace file, page by page, and how much of the disk each page takes.
//!
//! Reads files of this server, of MySQL 5.7 and 8.0, and of MariaDB; needs no server and no dictionary, and never
//! writes. A page whose checksum is wrong is shown as far as it goes and makes the command fail at the end.
//!
//! ```text
//! glassine page t.ibd              one line per page
//! glassine page t.ibd --summary    one line per kind of page, and per codec
//! glassine page t.ibd --page 3     all of one page
//! glassine page t.ibd --json       lines and sums for programs
//! ```
//!
//! A page that is encrypted, too, is stored as `zstd+key`: its header still says how long it is and by which codec, but
//! its content is not shown, since the key is elsewhere.
//!
//! The sums are a recount of what the server keeps in memory: after a flush they equal the file's row in
//! information_schema.GLASSINE_TABLESPACE_COMPRESSION.

mod detail;
mod json;
mod list;
mod summary;
pub(crate) mod tablespace;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use tablespace::Tablespace;

/// Shows the pages of a tablespace file.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The file, such as data/shop/orders.ibd
    pub file: PathBuf,
    /// Show this page in full
    #[arg(long, short, value_name = "N")]
    pub page: Option<u32>,
    /// Show counts and sizes by kind of page and by codec
    #[arg(long, short, conflicts_with = "page")]
    pub summary: bool,
    /// Write JSON: the sums, and without --summary the pages, too
    #[arg(long, short, conflicts_with = "page")]
    pub json: bool,
    /// Take this as the page size rather than what page 0 says
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<usize>,
    /// The key ring of an encrypted file: with it, its pages are decrypted and looked at
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
    /// Take this as the filesystem's block rather than what it says
    #[arg(long, value_name = "BYTES")]
    pub block_size: Option<usize>,
}

/// Runs the command. Fails if the file cannot be read or a page of it is damaged.
pub fn run(args: &Args) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let done = show(args, &mut out).and_then(|damaged| out.flush().map(|()| damaged));
    match done {
        Ok(0) => ExitCode::SUCCESS,
        Ok(damaged) => {
            eprintln!("glassine page: {}: {damaged} damaged page{}", args.file.display(), plural(damaged));
            ExitCode::FAILURE
        }
        // The reader of a pipe had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("glassine page: {}: {error}", args.file.display());
            ExitCode::FAILURE
        }
    }
}

/// Answers how many pages are damaged.
fn show(args: &Args, out: &mut impl Write) -> io::Result<u64> {
    let mut tablespace = Tablespace::open(args)?;
    match args.page {
        Some(number) => detail::one(&mut tablespace, number, out),
        None if args.json => json::report(&mut tablespace, args, out),
        None if args.summary => summary::summary(&mut tablespace, out),
        None => list::list(&mut tablespace, out),
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}
