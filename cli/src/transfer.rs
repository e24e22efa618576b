//! What backup, restore and copy share: progress and totals.

use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use ::binlog::BackupPoint;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use storage::backup::{Item, POINT_FILE_NAME, Sink, Totals};

/// Lines come at most this often.
const LINE_AFTER: Duration = Duration::from_secs(2);

/// How far something has come: a bar on a terminal, plain lines elsewhere, both on standard error.
pub struct Progress {
    what: &'static str,
    bar: Option<ProgressBar>,
    quiet: bool,
    done: u64,
    total: Option<u64>,
    said: Instant,
}

impl Progress {
    /// `total` if it is known.
    pub fn begin(what: &'static str, total: Option<u64>, quiet: bool) -> Progress {
        let bar = (!quiet && io::stderr().is_terminal()).then(|| {
            let (bar, style) = match total {
                Some(total) => {
                    let style = "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
                    (ProgressBar::new(total), style)
                }
                None => (ProgressBar::new_spinner(), "{msg} {spinner} {bytes}, {bytes_per_sec}"),
            };
            bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
            bar.set_message(what);
            bar
        });
        Progress { what, bar, quiet, done: 0, total, said: Instant::now() }
    }

    pub fn set(&mut self, done: u64, total: Option<u64>) {
        self.done = done;
        self.total = total;
        if let Some(bar) = &self.bar {
            if let Some(total) = total {
                bar.set_length(total);
            }
            bar.set_position(done);
        } else if !self.quiet && self.said.elapsed() >= LINE_AFTER {
            self.said = Instant::now();
            match total {
                Some(total) => eprintln!("{}: {} of {}", self.what, HumanBytes(done), HumanBytes(total)),
                None => eprintln!("{}: {}", self.what, HumanBytes(done)),
            }
        }
    }

    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A stream whose bytes are counted, and kept in `copy` if there is one.
pub struct Counted<'a> {
    from: Box<dyn Read + 'a>,
    copy: Option<&'a mut dyn Write>,
    progress: Progress,
}

impl<'a> Counted<'a> {
    pub fn new(from: impl Read + 'a, progress: Progress) -> Counted<'a> {
        Counted { from: Box::new(from), copy: None, progress }
    }

    /// What is read is written there, too.
    pub fn with_copy(mut self, copy: &'a mut dyn Write) -> Counted<'a> {
        self.copy = Some(copy);
        self
    }

    /// Ends the progress; the bytes that were read.
    pub fn end(&self) -> u64 {
        self.progress.end();
        self.progress.done
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.from.read(buffer)?;
        if let Some(copy) = &mut self.copy {
            copy.write_all(&buffer[..bytes])?;
        }
        self.progress.set(self.progress.done + bytes as u64, self.progress.total);
        Ok(bytes)
    }
}

/// A sink that also looks for where the backup stands in the binary log.
pub struct Watched<'s> {
    sink: &'s mut dyn Sink,
    inside: bool,
    text: Vec<u8>,
}

/// The text of a point is not as long: what is longer is none.
const POINT_BYTES_MAX: usize = 16 << 20;

impl<'s> Watched<'s> {
    pub fn new(sink: &'s mut dyn Sink) -> Watched<'s> {
        Watched { sink, inside: false, text: Vec::new() }
    }

    pub fn point(self) -> Option<BackupPoint> {
        BackupPoint::parse(std::str::from_utf8(&self.text).ok()?)
    }
}

impl Sink for Watched<'_> {
    fn take(&mut self, item: Item<'_>) -> storage::Result<()> {
        match item {
            Item::File(file) => self.inside = file.path == POINT_FILE_NAME,
            Item::Bytes { bytes, .. } if self.inside && self.text.len() + bytes.len() <= POINT_BYTES_MAX => {
                self.text.extend_from_slice(bytes);
            }
            _ => {}
        }
        self.sink.take(item)
    }
}

/// Where a backup stands in the binary log, for people.
pub fn describe_point(point: &BackupPoint) -> String {
    let mut text = format!("  log        {} at {}", point.place.file, point.place.position);
    if !point.executed.is_empty() {
        text += &format!("\n  GTIDs      {}", point.executed.to_string().replace('\n', ""));
    }
    text
}

/// What a backup amounts to, for people. `archive_bytes` if there is an archive.
pub fn describe(totals: &Totals, archive_bytes: Option<u64>) -> String {
    let mut text =
        format!("  state      LSN {}\n  files      {}, {} pages", totals.end_lsn, totals.files, totals.pages);
    if totals.pages_read_again > 0 {
        text += &format!(" ({} reads again, while they were written)", totals.pages_read_again);
    }
    text += &format!("\n  logical    {}", HumanBytes(totals.logical_bytes));
    text += &format!("\n  allocated  {}", HumanBytes(totals.allocated_bytes));
    text += &format!("\n  stored     {} and {} of log", HumanBytes(totals.stored_bytes), HumanBytes(totals.log_bytes));
    if let Some(bytes) = archive_bytes {
        text += &format!("\n  archive    {}", HumanBytes(bytes));
    }
    if totals.pages_encrypted > 0 {
        text += &format!(
            "\n  {} pages are encrypted and stay so. The server's key file is not part of this: keep it, apart",
            totals.pages_encrypted
        );
    }
    text
}
