//! `glassine binlog estimate`: what compressed transactions would have saved, and what they would have cost.
//!
//! Each transaction of the logs that may be compressed is, at each level: its events without their checksums as one
//! payload, as a server with binlog_transaction_compression=ON would have written them, by the same compressor: what fits
//! into the transaction's cache is compressed as one piece. Transactions that may not be compressed (statements, incidents)
//! count as they are. A transaction that is compressed already counts as if it were not.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use format::binlog::payload::{Algorithm, Compressor, Payload, WholeCompressor};
use format::binlog::{Checksum, Event, EventKind, Query};

use super::file::LogFile;

/// Bytes of an event around a payload and its fields: header, checksum.
const ENVELOPE_BYTES: u64 = 19 + 4;

/// The default of binlog_cache_size: events beyond it go through the compressor as they come.
const CACHE_BYTES: usize = 32 << 10;

/// What a compressed transaction may be at most: the largest event.
const PAYLOAD_BYTES_MAX: u64 = 1 << 30;

#[derive(clap::Args, Debug)]
pub struct Args {
    /// Binary logs, such as binlog.000001
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Levels of Zstandard to try
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', default_values_t = [1, 3, 6, 12])]
    pub levels: Vec<i32>,
}

/// One level on its way through the logs.
struct Level {
    number: i32,
    /// Of transactions that fit into the cache, and of longer ones.
    whole: WholeCompressor,
    compressor: Compressor,
    /// What the compressor has just written.
    out: Vec<u8>,
    /// Of the transaction under way.
    current: u64,
    log_bytes: u64,
    time: Duration,
    slowest: Duration,
    current_time: Duration,
    too_long: u64,
}

#[derive(Default)]
struct Sum {
    log_bytes: u64,
    transactions: u64,
    compressible: u64,
    largest: u64,
}

/// The transaction under way.
#[derive(Default)]
struct Transaction {
    plain_bytes: u64,
    events: u64,
    has_rows: bool,
    has_statement: bool,
    /// Events that are in the cache.
    cache: Vec<u8>,
}

pub fn run(args: &Args) -> io::Result<()> {
    if let Some(bad) = args.levels.iter().find(|level| !(1..=22).contains(*level)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no level {bad}: 1 to 22")));
    }
    let mut levels = args.levels.iter().map(|&number| Level::new(number)).collect::<Vec<_>>();
    let mut sum = Sum::default();
    for path in &args.files {
        estimate(path, &mut levels, &mut sum)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    }
    print(&levels, &sum);
    Ok(())
}

fn estimate(path: &Path, levels: &mut [Level], sum: &mut Sum) -> io::Result<()> {
    let other = |error: super::file::LogError| io::Error::other(error.to_string());
    let damaged = |error: format::Error| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    let mut log = LogFile::open(path).map_err(other)?;
    let mut open: Option<Transaction> = None;
    while let Some(located) = log.next_event().map_err(other)? {
        let (event, checksum) = (located.event, located.description.checksum);
        match event.header.kind {
            EventKind::TRANSACTION_PAYLOAD => {
                let payload = Payload::decode(event.body).map_err(damaged)?;
                let mut events = payload.events().map_err(damaged)?;
                let mut transaction = Transaction { has_rows: true, ..Transaction::default() };
                while let Some(inner) = events.next_event().map_err(damaged)? {
                    transaction.take(&inner, levels);
                }
                transaction.end(levels, sum, checksum);
                open = None;
            }
            kind if is_part(kind) => {
                let transaction = open.get_or_insert_default();
                let is_end = transaction.take(&event, levels);
                if is_end && let Some(transaction) = open.take() {
                    transaction.end(levels, sum, checksum);
                }
            }
            _ => {
                // What belongs to the file, or stands in front of a transaction.
                sum.log_bytes += event.bytes.len() as u64;
                levels.iter_mut().for_each(|level| level.log_bytes += event.bytes.len() as u64);
            }
        }
    }
    // A transaction that the log has only the beginning of counts as it is.
    if let Some(transaction) = open {
        Transaction { has_statement: true, ..transaction }.end(levels, sum, log.checksum());
    }
    Ok(())
}

/// Whether an event stands between a transaction's Gtid event and its end.
fn is_part(kind: EventKind) -> bool {
    !matches!(
        kind,
        EventKind::FORMAT_DESCRIPTION
            | EventKind::PREVIOUS_GTIDS
            | EventKind::ROTATE
            | EventKind::STOP
            | EventKind::GTID
            | EventKind::ANONYMOUS_GTID
            | EventKind::HEARTBEAT
            | EventKind::MARIADB_GTID
            | EventKind::MARIADB_GTID_LIST
            | EventKind::MARIADB_BINLOG_CHECKPOINT
    )
}

fn starts_with(statement: &[u8], begin: &[u8]) -> bool {
    statement.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin))
}

impl Transaction {
    /// Takes an event along. True if it ends the transaction.
    fn take(&mut self, event: &Event<'_>, levels: &mut [Level]) -> bool {
        let kind = event.header.kind;
        let statement = match kind {
            EventKind::QUERY => Query::decode(event.body).map(|query| query.statement).unwrap_or(b""),
            _ => b"",
        };
        let is_begin = kind == EventKind::QUERY
            && (statement.eq_ignore_ascii_case(b"BEGIN") || starts_with(statement, b"XA START "));
        let is_commit = kind == EventKind::QUERY && statement.eq_ignore_ascii_case(b"COMMIT");
        self.has_rows |= matches!(kind.0, 23..=25 | 30..=32 | 39 | 166..=171);
        let is_frame = is_begin || is_commit || starts_with(statement, b"XA END ");
        self.has_statement |= kind == EventKind::QUERY && !is_frame || kind == EventKind::INCIDENT;
        self.events += 1;
        // As inside a payload: no checksum. Header and body are all that is left.
        let bytes = format::binlog::HEADER_BYTES + event.body.len();
        self.plain_bytes += bytes as u64;
        self.cache.extend_from_slice(&event.bytes[..bytes.min(event.bytes.len())]);
        if self.cache.len() > CACHE_BYTES {
            levels.iter_mut().for_each(|level| level.write(&self.cache));
            self.cache.clear();
        }
        let is_alone = kind == EventKind::QUERY && !is_begin && self.events == 1;
        matches!(kind, EventKind::XID | EventKind::XA_PREPARE) || is_commit || is_alone
    }

    fn end(self, levels: &mut [Level], sum: &mut Sum, checksum: Checksum) {
        let as_it_is = self.plain_bytes + self.events * checksum.bytes() as u64;
        let may = self.has_rows && !self.has_statement;
        sum.log_bytes += as_it_is;
        sum.transactions += 1;
        sum.compressible += u64::from(may);
        sum.largest = sum.largest.max(self.plain_bytes);
        for level in levels {
            match may {
                true => level.end(&self.cache, self.plain_bytes, as_it_is),
                false => level.leave(as_it_is),
            }
        }
    }
}

impl Level {
    fn new(number: i32) -> Level {
        Level {
            number,
            whole: WholeCompressor::new(number),
            compressor: Compressor::new(number),
            out: Vec::new(),
            current: 0,
            log_bytes: 0,
            time: Duration::ZERO,
            slowest: Duration::ZERO,
            current_time: Duration::ZERO,
            too_long: 0,
        }
    }

    /// Compresses events of the transaction under way.
    fn write(&mut self, events: &[u8]) {
        let start = Instant::now();
        self.compressor.write(events, &mut self.out);
        self.current_time += start.elapsed();
        self.current += self.out.len() as u64;
        self.out.clear();
    }

    /// The transaction ends with these events.
    fn end(&mut self, events: &[u8], plain_bytes: u64, as_it_is: u64) {
        let start = Instant::now();
        match self.current {
            0 => self.whole.compress(events, &mut self.out),
            _ => self.compressor.finish(events, &mut self.out),
        }
        self.current_time += start.elapsed();
        self.current += self.out.len() as u64;
        self.out.clear();
        Payload::encode_fields(Algorithm::Zstd, plain_bytes, self.current, &mut self.out);
        let bytes = self.current + self.out.len() as u64 + ENVELOPE_BYTES;
        self.out.clear();
        let fits = bytes <= PAYLOAD_BYTES_MAX;
        self.too_long += u64::from(!fits);
        if fits {
            self.time += self.current_time;
            self.slowest = self.slowest.max(self.current_time);
        }
        self.log_bytes += if fits { bytes } else { as_it_is };
        (self.current, self.current_time) = (0, Duration::ZERO);
    }

    /// The transaction is not compressed.
    fn leave(&mut self, as_it_is: u64) {
        self.compressor.reset();
        self.log_bytes += as_it_is;
        (self.current, self.current_time) = (0, Duration::ZERO);
    }
}

fn print(levels: &[Level], sum: &Sum) {
    println!(
        "{} transactions in {} bytes of log; {} may be compressed; the largest has {} bytes",
        sum.transactions, sum.log_bytes, sum.compressible, sum.largest
    );
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "level",
        "log bytes",
        "saved",
        "seconds of CPU",
        "us per transaction",
        "slowest, ms",
        "over 1 GiB",
    ]);
    for level in levels {
        let saved = match sum.log_bytes {
            0 => 0.0,
            plain => 100.0 * (1.0 - level.log_bytes as f64 / plain as f64),
        };
        let per_transaction = level.time.as_secs_f64() * 1e6 / sum.compressible.max(1) as f64;
        table.add_row([
            level.number.to_string(),
            level.log_bytes.to_string(),
            format!("{saved:.1} %"),
            format!("{:.2}", level.time.as_secs_f64()),
            format!("{per_transaction:.1}"),
            format!("{:.2}", level.slowest.as_secs_f64() * 1e3),
            level.too_long.to_string(),
        ]);
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    println!("{table}");
}
