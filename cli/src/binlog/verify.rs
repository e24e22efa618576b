//! `glassine binlog --verify`: reads logs to the end and decodes everything in them.
//!
//! A checksum says that an event is as it was written; that it makes sense is another matter. So payloads are expanded,
//! rows are read against their tables, and lengths that transactions tell of themselves are compared with what is
//! there.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use format::binlog::payload::Payload;
use format::binlog::{
    Control, Event, EventKind, FormatDescription, GtidSet, Query, Rows, RowsKind, TableMap, gtid, mariadb,
};

use super::file::{Located, LogError, LogFile};

#[derive(Default)]
struct Report {
    events: u64,
    bytes: u64,
    kinds: BTreeMap<&'static str, u64>,
    transactions: u64,
    rows: [u64; 3],
    payloads: u64,
    payload_bytes: u64,
    plain_bytes: u64,
    gtids: GtidSet,
    maps: HashMap<u64, TableMap>,
    /// Where the transaction under way began, and where it says that it ends.
    open: Option<(u64, u64)>,
}

pub fn run(files: &[PathBuf]) -> io::Result<()> {
    for path in files {
        let mut report = Report::default();
        let result = report.read(path);
        report.print(path);
        result.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

impl Report {
    fn read(&mut self, path: &Path) -> io::Result<()> {
        let mut log = LogFile::open(path).map_err(super::to_io)?;
        loop {
            let located = match log.next_event() {
                Ok(Some(located)) => located,
                Ok(None) => return Ok(()),
                Err(error) => return Err(super::to_io(error)),
            };
            let at = located.at;
            self.take(&located).map_err(|cause| super::to_io(LogError::Event { at, cause }))?;
        }
    }

    fn take(&mut self, located: &Located<'_>) -> format::Result<()> {
        let (event, at) = (&located.event, located.at);
        self.bytes += event.bytes.len() as u64;
        if let Some(begin) = gtid::gtid_of(event)? {
            if let Some((from, end)) = self.open.take().filter(|&(_, end)| end != at) {
                return Err(format::Error::corrupt("a transaction's length", (end - from) as usize));
            }
            self.transactions += 1;
            if let Some(gtid) = begin.gtid {
                self.gtids.insert(gtid);
            }
            self.open = begin.commit.map(|commit| (at, at + commit.transaction_bytes));
        }
        if event.header.kind == EventKind::TRANSACTION_PAYLOAD {
            let payload = Payload::decode(event.body)?;
            let mut events = payload.events()?;
            while let Some(inner) = events.next_event()? {
                self.decode(&inner, located.description)?;
            }
            self.payloads += 1;
            self.payload_bytes += payload.bytes.len() as u64;
            self.plain_bytes += events.plain_bytes();
            if events.plain_bytes() != payload.plain_bytes {
                return Err(format::Error::Malformed { what: "a payload that is not as long as it says" });
            }
        }
        self.decode(event, located.description)
    }

    fn decode(&mut self, event: &Event<'_>, description: &FormatDescription) -> format::Result<()> {
        let kind = event.header.kind;
        self.events += 1;
        *self.kinds.entry(kind.name()).or_default() += 1;
        match kind {
            EventKind::QUERY => drop(Query::decode(event.body)?),
            EventKind::MARIADB_QUERY_COMPRESSED => {
                mariadb::decompress(Query::decode(event.body)?.statement)?;
            }
            EventKind::PREVIOUS_GTIDS => drop(GtidSet::decode(event.body)?),
            EventKind::MARIADB_GTID => {
                mariadb::MariadbGtidEvent::decode(event.body, event.header.server_id)?;
                self.transactions += 1;
            }
            EventKind::MARIADB_GTID_LIST => drop(mariadb::decode_gtid_list(event.body)?),
            EventKind::TABLE_MAP => {
                let map = TableMap::decode(event.body, description.post_header_bytes(kind, 8))?;
                self.maps.insert(map.id, map);
            }
            _ => drop(Control::decode(event)?),
        }
        let Some(rows) = Rows::decode(event, description.post_header_bytes(kind, 8))? else { return Ok(()) };
        let Some(map) = self.maps.get(&rows.table_id) else {
            return Err(format::Error::Malformed { what: "rows without the Table_map they refer to" });
        };
        let count = match rows.kind {
            RowsKind::Write => &mut self.rows[0],
            RowsKind::Update | RowsKind::PartialUpdate => &mut self.rows[1],
            RowsKind::Delete => &mut self.rows[2],
        };
        let mut images = rows.images(map)?;
        while images.next_row()?.is_some() {
            *count += 1;
        }
        Ok(())
    }

    fn print(&self, path: &Path) {
        println!(
            "{}: {} events, {} bytes, {} transactions",
            path.display(),
            self.events,
            self.bytes,
            self.transactions
        );
        let [inserted, updated, deleted] = self.rows;
        println!("  rows: {inserted} inserted, {updated} updated, {deleted} deleted");
        if self.payloads > 0 {
            let saved = 100.0 * (1.0 - self.payload_bytes as f64 / self.plain_bytes.max(1) as f64);
            println!(
                "  compressed: {} transactions, {} bytes of {}, {saved:.1} % saved",
                self.payloads, self.payload_bytes, self.plain_bytes
            );
        }
        if !self.gtids.is_empty() {
            println!("  GTIDs: {}", self.gtids.to_string().replace('\n', " "));
        }
        let kinds: Vec<String> = self.kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        println!("  {}", kinds.join(", "));
    }
}
