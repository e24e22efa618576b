//! What the server knows of itself, gathered for the port of the metrics without a statement.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use serde::Serialize;
use sql::Instance;
use sql::replication::{Receiving, ReplicaStatus};
use sql::statements::{Identity, Sums, digest};

/// How long a request may survey pages whose stored form is unknown.
const SURVEY_TIME: Duration = Duration::from_millis(50);

/// The forms of pages, in the order of [`Stored::pages`].
pub const FORMS: [&str; 6] = ["plain", "zlib", "lz4", "zstd", "unwritten", "unknown"];

/// What changes from one second to the next.
#[derive(Serialize)]
pub struct Facts {
    pub status: Vec<(&'static str, String)>,
    #[serde(skip)]
    pub variables: Vec<(&'static str, String)>,
    pub version: String,
    pub cleaners: Vec<Cleaner>,
    pub replicas: Vec<Followed>,
    pub running: Vec<Running>,
    /// Empty while performance_schema collects nothing.
    pub kinds: Vec<KindOfStatement>,
}

/// What statements of a kind have taken since the start.
#[derive(Serialize)]
pub struct KindOfStatement {
    /// `select`
    pub name: &'static str,
    pub count: u64,
    pub nanoseconds: u64,
    pub slowest: u64,
}

/// Statements that differ in their values alone, by their digest in events_statements_summary_by_digest: like running
/// ones, they are shown without their text.
#[derive(Serialize)]
pub struct Costly {
    pub digest: String,
    pub database: Option<String>,
    pub verb: String,
    pub count: u64,
    pub nanoseconds: u64,
    pub slowest: u64,
    pub rows_examined: u64,
}

#[derive(Serialize)]
pub struct Cleaner {
    pub number: usize,
    pub pages: u64,
    pub bytes: u64,
    /// Microseconds.
    pub phases: [(&'static str, u64); 5],
}

/// A source that this server follows.
#[derive(Serialize)]
pub struct Followed {
    pub channel: String,
    pub host: String,
    pub source_uuid: Option<String>,
    pub receives: bool,
    pub applies: bool,
    pub read_position: u64,
    pub applied_position: u64,
    pub relay_bytes: u64,
    pub seconds_behind: Option<u64>,
    pub workers: usize,
}

/// A statement that runs. Its text may have secrets, and whoever reaches the port may read: so only its first word.
#[derive(Serialize)]
pub struct Running {
    pub id: u32,
    pub user: String,
    pub database: Option<String>,
    pub milliseconds: u64,
    pub state: &'static str,
    pub verb: String,
}

/// How a tablespace is stored.
#[derive(Clone, Serialize)]
pub struct Stored {
    pub space: u32,
    pub name: String,
    pub compression: &'static str,
    /// Bytes of the pages that have been written, before compression.
    pub logical_bytes: u64,
    pub allocated_bytes: u64,
    pub exact_bytes: u64,
    pub file_bytes: u64,
    pub incompressible: u64,
    pub pages: [u64; 6],
    pub punches: bool,
    #[serde(skip)]
    path: String,
}

impl Facts {
    pub fn gather(instance: &Instance) -> Facts {
        let cleaners = instance.engine.page_cleaners();
        let cleaners = cleaners.iter().map(|cleaner| Cleaner {
            number: cleaner.cleaner,
            pages: cleaner.pages,
            bytes: cleaner.bytes,
            phases: [
                ("encode", cleaner.encode_us),
                ("log", cleaner.log_us),
                ("doublewrite", cleaner.doublewrite_us),
                ("write", cleaner.write_us),
                ("sync", cleaner.sync_us),
            ],
        });
        let processes = instance.processes.list();
        let running = processes.into_iter().filter(|row| row.command == "Query" || row.command == "Execute");
        let mut running: Vec<Running> = running
            .map(|row| Running {
                id: row.id,
                user: row.user,
                database: row.database,
                milliseconds: row.elapsed_ms as u64,
                state: row.state,
                verb: row.info.as_deref().map_or_else(String::new, verb),
            })
            .collect();
        running.sort_by_key(|row| std::cmp::Reverse(row.milliseconds));
        running.truncate(20);
        Facts {
            status: instance.status.global(&instance.engine.status()),
            variables: instance.variables.show(),
            version: instance.variables.text("version"),
            cleaners: cleaners.collect(),
            replicas: followed(instance),
            running,
            kinds: kinds(instance),
        }
    }

    pub fn variable(&self, name: &str) -> &str {
        self.variables.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
    }
}

fn kinds(instance: &Instance) -> Vec<KindOfStatement> {
    let mut all: BTreeMap<&'static str, KindOfStatement> = BTreeMap::new();
    for deeds in instance.statements.deeds_by_account().values() {
        for (&event, sums) in &deeds.events {
            let name = event.rsplit('/').next().unwrap_or(event);
            let new = || KindOfStatement { name, count: 0, nanoseconds: 0, slowest: 0 };
            let own = all.entry(event).or_insert_with(new);
            own.count += sums.count;
            own.nanoseconds += sums.wait;
            own.slowest = own.slowest.max(sums.wait_max);
        }
    }
    all.into_values().filter(|kind| kind.count > 0).collect()
}

/// The statements that have taken the most time since the start.
pub fn costly(instance: &Instance, listed_max: usize) -> Vec<Costly> {
    let mut sums = instance.statements.sums();
    sums.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.wait));
    let told = |(identity, sums): (Option<Arc<Identity>>, Sums)| {
        let identity = identity?;
        Some(Costly {
            digest: digest::hex(&identity.hash),
            database: identity.schema.clone(),
            verb: verb(&identity.text),
            count: sums.count,
            nanoseconds: sums.wait,
            slowest: sums.wait_max,
            rows_examined: sums.work.rows_examined,
        })
    };
    sums.into_iter().filter_map(told).take(listed_max).collect()
}

/// The first word of a statement; empty if it begins otherwise.
fn verb(text: &str) -> String {
    let mut rest = text.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '(');
    while let Some((_, behind)) = rest.strip_prefix("/*").and_then(|comment| comment.split_once("*/")) {
        rest = behind.trim_start();
    }
    rest.chars().take_while(char::is_ascii_alphabetic).take(16).collect::<String>().to_ascii_uppercase()
}

fn followed(instance: &Instance) -> Vec<Followed> {
    let known = instance.replication().and_then(|replication| replication.status(None).ok()).unwrap_or_default();
    let followed = |status: ReplicaStatus| Followed {
        channel: status.channel,
        host: status.host,
        source_uuid: status.source_uuid.map(|uuid| uuid.to_string()),
        receives: status.receiving == Receiving::Yes,
        applies: status.is_applying,
        read_position: status.read_position,
        applied_position: status.applied_position,
        relay_bytes: status.relay_bytes,
        seconds_behind: status.seconds_behind,
        workers: status.workers.len(),
    };
    known.into_iter().map(followed).collect()
}

impl Stored {
    /// All tablespaces, those first that occupy most.
    pub fn all(instance: &Instance) -> Vec<Stored> {
        let deadline = Instant::now() + SURVEY_TIME;
        let engine = &instance.engine;
        let spaces = engine.tablespaces().unwrap_or_default();
        let mut all: Vec<Stored> = spaces
            .into_iter()
            .filter_map(|space| {
                let stats = engine.compression_stats(space.space, deadline).ok().flatten()?;
                Some(Stored {
                    space: space.space,
                    compression: space.compression.name(),
                    logical_bytes: space.file_bytes.saturating_sub(stats.pages_unwritten * space.page_bytes),
                    allocated_bytes: space.allocated_bytes,
                    exact_bytes: stats.exact_bytes,
                    file_bytes: space.file_bytes,
                    incompressible: stats.pages_incompressible,
                    pages: [
                        stats.pages_plain,
                        stats.pages_zlib,
                        stats.pages_lz4,
                        stats.pages_zstd,
                        stats.pages_unwritten,
                        stats.pages_unknown,
                    ],
                    punches: space.punch,
                    name: space.name,
                    path: space.path,
                })
            })
            .collect();
        all.sort_by_key(|space| std::cmp::Reverse(space.allocated_bytes));
        all
    }

    /// Which parts of the file have data: in so many cells of equal length, the share of each that is not a hole, in
    /// percent.
    pub fn map(&self, instance: &Arc<Instance>, cells: usize) -> io::Result<Vec<u8>> {
        let path = PathBuf::from(instance.variables.text("datadir")).join(&self.path);
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let cell = length.div_ceil(cells as u64).max(1);
        let mut bytes = vec![0u64; cells];
        let mut at = 0;
        // Between two looks the file changes; what is between a hole and data then counts as either.
        while at < length {
            let data = match seek(&file, SeekFrom::Data(at)) {
                Ok(data) => data,
                Err(Errno::NXIO) => break,
                Err(cause) => return Err(cause.into()),
            };
            let end = seek(&file, SeekFrom::Hole(data))?.min(length).max(data + 1);
            let mut from = data;
            while from < end {
                let number = (from / cell) as usize;
                let to = end.min((number as u64 + 1) * cell);
                if let Some(sum) = bytes.get_mut(number) {
                    *sum += to - from;
                }
                from = to;
            }
            at = end;
        }
        Ok(bytes.iter().map(|bytes| (bytes * 100 / cell) as u8).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::verb;

    #[test]
    fn only_the_first_word_of_a_statement_is_told() {
        for (text, word) in [
            ("select 'secret'", "SELECT"),
            ("  (SELECT 1) UNION SELECT 2", "SELECT"),
            ("/* note */ update t", "UPDATE"),
            ("SET PASSWORD = 'secret'", "SET"),
            ("'secret", ""),
            ("/* secret", ""),
            ("", ""),
        ] {
            assert_eq!(verb(text), word);
        }
    }
}
