//! Files: how often, how long and how many bytes each was read and written.
//!
//! The files of the data directory are counted, by the disk that the engine works on ([`storage::io::counted`]). A row lives
//! as long as its file.

use std::collections::BTreeMap;

use format::value::Value;
use storage::io::counted::{Calls, FileCalls};

use super::table_io::TABLE_EVENT;
use super::{Facts, VirtualTable, number, string, text};

const DATA: &str = "wait/io/file/innodb/innodb_data_file";
const REDO: &str = "wait/io/file/innodb/innodb_log_file";
const DOUBLEWRITE: &str = "wait/io/file/innodb/innodb_dblwr_file";
const TEMPORARY: &str = "wait/io/file/innodb/innodb_temp_file";
const BINLOG: &str = "wait/io/file/sql/binlog";
const RELAY_LOG: &str = "wait/io/file/sql/relaylog";
const OTHER: &str = "wait/io/file/sql/misc";

/// The kinds of files.
pub const FILE_EVENTS: [&str; 7] = [DATA, REDO, DOUBLEWRITE, TEMPORARY, BINLOG, RELAY_LOG, OTHER];

/// Nanoseconds are shown as picoseconds.
fn picos(nanos: u64) -> Value {
    Value::UInt(nanos.saturating_mul(1000))
}

macro_rules! file_io {
    ($($name:expr),*) => {
        &[
            $($name,)*
            number("COUNT_STAR"),
            number("SUM_TIMER_WAIT"),
            number("MIN_TIMER_WAIT"),
            number("AVG_TIMER_WAIT"),
            number("MAX_TIMER_WAIT"),
            number("COUNT_READ"),
            number("SUM_TIMER_READ"),
            number("MIN_TIMER_READ"),
            number("AVG_TIMER_READ"),
            number("MAX_TIMER_READ"),
            number("SUM_NUMBER_OF_BYTES_READ"),
            number("COUNT_WRITE"),
            number("SUM_TIMER_WRITE"),
            number("MIN_TIMER_WRITE"),
            number("AVG_TIMER_WRITE"),
            number("MAX_TIMER_WRITE"),
            number("SUM_NUMBER_OF_BYTES_WRITE"),
            number("COUNT_MISC"),
            number("SUM_TIMER_MISC"),
            number("MIN_TIMER_MISC"),
            number("AVG_TIMER_MISC"),
            number("MAX_TIMER_MISC"),
        ]
    };
}

/// The kind of a file, by its name. `binlog` is what the names of the binary log's files begin with.
fn event_of(path: &str, binlog: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_binlog = |rest: &str| !binlog.is_empty() && rest.starts_with('.');
    match () {
        () if path.starts_with("#innodb_temp") || name.starts_with("ibtmp") => TEMPORARY,
        () if name.ends_with(".dblwr") => DOUBLEWRITE,
        () if name.ends_with(".redo") => REDO,
        () if name.ends_with(".ibd") || name.starts_with("ibdata") || name.starts_with("undo_") => DATA,
        () if name.contains("relay-bin") => RELAY_LOG,
        () if name.strip_prefix(binlog).is_some_and(is_binlog) => BINLOG,
        () if name.starts_with('#') => TEMPORARY,
        () => OTHER,
    }
}

/// All files with their kinds.
fn files(facts: &Facts<'_>) -> Vec<(&'static str, FileCalls)> {
    let instance = facts.instance;
    if !instance.statements.limits().enabled {
        return Vec::new();
    }
    let binlog = instance.variables.text_or_null("log_bin_basename").unwrap_or_default();
    let binlog = binlog.rsplit('/').next().unwrap_or_default();
    let all = instance.engine.store().file_counts().read();
    all.into_iter().map(|file| (event_of(&file.path, binlog), file)).collect()
}

/// The path as the system knows it.
fn full_path(facts: &Facts<'_>, path: &str) -> Value {
    let directory = facts.instance.variables.text("datadir");
    match path.starts_with('/') {
        true => string(path),
        false => string(format!("{}/{path}", directory.trim_end_matches('/'))),
    }
}

/// COUNT, SUM, MIN, AVG, MAX.
fn times(calls: &Calls) -> [Value; 5] {
    let average = calls.nanos.checked_div(calls.count).unwrap_or(0);
    [Value::UInt(calls.count), picos(calls.nanos), picos(calls.nanos_min), picos(average), picos(calls.nanos_max)]
}

fn all_calls(file: &FileCalls) -> Calls {
    let mut all = file.reads;
    all.add(&file.writes);
    all.add(&file.others);
    all
}

fn calls(file: &FileCalls) -> Vec<Value> {
    let mut row = Vec::from(times(&all_calls(file)));
    for (calls, has_bytes) in [(&file.reads, true), (&file.writes, true), (&file.others, false)] {
        row.extend(times(calls));
        row.extend(has_bytes.then_some(Value::UInt(calls.bytes)));
    }
    row
}

pub const FILE_INSTANCES: VirtualTable = VirtualTable {
    name: "file_instances",
    columns: &[text("FILE_NAME", 512), text("EVENT_NAME", 128), number("OPEN_COUNT")],
    rows: |facts| {
        let row = |(event, file): (&str, FileCalls)| {
            vec![full_path(facts, &file.path), string(event), Value::UInt(file.open)]
        };
        files(facts).into_iter().map(row).collect()
    },
};

pub const FILE_SUMMARY_BY_INSTANCE: VirtualTable = VirtualTable {
    name: "file_summary_by_instance",
    columns: file_io!(text("FILE_NAME", 512), text("EVENT_NAME", 128), number("OBJECT_INSTANCE_BEGIN")),
    rows: |facts| {
        let mut rows = Vec::new();
        for (at, (event, file)) in files(facts).iter().enumerate() {
            // A number of the file in this answer: there is no address to show.
            let mut row = vec![full_path(facts, &file.path), string(event), Value::UInt(at as u64 + 1)];
            row.extend(calls(file));
            rows.push(row);
        }
        rows
    },
};

fn by_event(facts: &Facts<'_>) -> BTreeMap<&'static str, FileCalls> {
    let none = || FileCalls {
        path: String::new(),
        open: 0,
        reads: Calls::default(),
        writes: Calls::default(),
        others: Calls::default(),
    };
    let is_collected = facts.instance.statements.limits().enabled;
    let mut sums: BTreeMap<_, _> = FILE_EVENTS.iter().filter(|_| is_collected).map(|event| (*event, none())).collect();
    for (event, file) in files(facts) {
        let sum = sums.entry(event).or_insert_with(none);
        sum.reads.add(&file.reads);
        sum.writes.add(&file.writes);
        sum.others.add(&file.others);
    }
    sums
}

pub const FILE_SUMMARY_BY_EVENT: VirtualTable = VirtualTable {
    name: "file_summary_by_event_name",
    columns: file_io!(text("EVENT_NAME", 128)),
    rows: |facts| {
        let row = |(event, sum): (&'static str, FileCalls)| {
            let mut row = vec![string(event)];
            row.extend(calls(&sum));
            row
        };
        by_event(facts).into_iter().map(row).collect()
    },
};

pub const WAITS_BY_EVENT: VirtualTable = VirtualTable {
    name: "events_waits_summary_global_by_event_name",
    columns: &[
        text("EVENT_NAME", 128),
        number("COUNT_STAR"),
        number("SUM_TIMER_WAIT"),
        number("MIN_TIMER_WAIT"),
        number("AVG_TIMER_WAIT"),
        number("MAX_TIMER_WAIT"),
    ],
    rows: |facts| {
        let mut rows = Vec::new();
        for (event, sum) in by_event(facts) {
            let mut row = vec![string(event)];
            row.extend(times(&all_calls(&sum)));
            rows.push(row);
        }
        if facts.instance.statements.limits().enabled {
            let mut row = vec![string(TABLE_EVENT), Value::UInt(super::table_io::sum(facts.instance))];
            row.extend([0; 4].map(Value::UInt));
            rows.push(row);
        }
        rows
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        let event = |path: &str| event_of(path, "binlog");
        for (path, expected) in [
            ("shop/orders.ibd", DATA),
            ("undo_001", DATA),
            ("ibdata1", DATA),
            ("glassine.redo", REDO),
            ("#ib_16384_0.dblwr", DOUBLEWRITE),
            ("#innodb_temp/temp_1.ibd", TEMPORARY),
            ("#sort_1", TEMPORARY),
            ("binlog.000001", BINLOG),
            ("relay-bin.000001", RELAY_LOG),
            ("accounts", OTHER),
        ] {
            assert_eq!(event(path), expected, "{path}");
        }
    }
}
