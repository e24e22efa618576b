//! Glassine's log as others' code reads it: `mysql_common` decodes the files and what a dump sends, compressed and plain,
//! and finds the rows that the tables have.

use std::collections::BTreeMap;
use std::io::Cursor;

use bench::changes::{Changes, DATABASE};
use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server};
use mysql_common::binlog::EventStreamReader;
use mysql_common::binlog::consts::BinlogVersion;
use mysql_common::binlog::events::{Event, EventData};

/// The rows of all tables, by table and key, as text.
type Tables = BTreeMap<String, BTreeMap<String, String>>;

/// Applies the rows of events.
#[derive(Default)]
struct Follower {
    tables: Tables,
    payloads: usize,
    rows: usize,
}

impl Follower {
    fn take(&mut self, reader: &EventStreamReader, event: &Event) {
        match event.read_data().expect("an event that can be read") {
            Some(EventData::QueryEvent(query)) => self.define(&query.query()),
            Some(EventData::RowsEvent(rows)) => {
                let table = reader.get_tme(rows.table_id()).expect("its table is known");
                let name = table.table_name().into_owned();
                let in_table = self.tables.entry(name).or_default();
                for row in rows.rows(table) {
                    let (before, after) = row.expect("a row");
                    self.rows += 1;
                    if let Some(before) = before {
                        let key = format!("{:?}", before.as_ref(0));
                        assert_eq!(
                            in_table.remove(&key),
                            Some(format!("{:?}", before.unwrap())),
                            "what was there before"
                        );
                    }
                    if let Some(after) = after {
                        in_table.insert(format!("{:?}", after.as_ref(0)), format!("{:?}", after.unwrap()));
                    }
                }
            }
            _ => {}
        }
    }

    /// What statements of definition do to the rows.
    fn define(&mut self, statement: &str) {
        let name_of = |word: &str| word.rsplit('.').next().unwrap_or_default().trim_matches('`').to_owned();
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words[..] {
            ["DROP", "TABLE", "IF", "EXISTS", table, ..] => drop(self.tables.remove(&name_of(table))),
            ["TRUNCATE", "TABLE", table, ..] => drop(self.tables.remove(&name_of(table))),
            ["RENAME", "TABLE", from, "TO", to] => {
                if let Some(rows) = self.tables.remove(&name_of(from)) {
                    self.tables.insert(name_of(to), rows);
                }
            }
            _ => {}
        }
    }
}

/// How many rows each table has, for those that have any.
fn counts(tables: &Tables) -> BTreeMap<String, usize> {
    tables.iter().filter(|(_, rows)| !rows.is_empty()).map(|(name, rows)| (name.clone(), rows.len())).collect()
}

fn counts_on(client: &mut Client) -> BTreeMap<String, usize> {
    let tables = client.query(&format!("SHOW TABLES FROM {DATABASE}")).expect("tables").rows;
    let names = tables.into_iter().map(|row| row[0].clone().expect("a name"));
    let counted = names.map(|name| {
        let rows = client.query(&format!("SELECT COUNT(*) FROM {DATABASE}.{name}")).expect("a count").number();
        (name, rows as usize)
    });
    counted.filter(|(_, rows)| *rows > 0).collect()
}

fn follow(bytes: &[u8]) -> Follower {
    let mut follower = Follower::default();
    let mut reader = EventStreamReader::new(BinlogVersion::Version4);
    let mut input = Cursor::new(bytes);
    while let Some(event) = reader.read(&mut input).expect("an event") {
        if let Some(EventData::TransactionPayloadEvent(payload)) = event.read_data().expect("an event that can be read")
        {
            follower.payloads += 1;
            let mut inside = payload.decompressed().expect("a payload");
            while let Some(event) = reader.read_decompressed(&mut inside).expect("an event") {
                follower.take(&reader, &event);
            }
        } else {
            follower.take(&reader, &event);
        }
    }
    follower
}

#[test]
fn mysql_common_reads_the_files_and_what_is_sent() {
    let scratch = Scratch::new("followers").expect("a directory");
    let directory = scratch.0.join("source");
    let more = ["--log-bin", "--gtid-mode=ON", "--binlog-transaction-compression=ON"];
    let options = Options { more: more.map(String::from).into(), ..Options::default() };
    let source = Server::create(Kind::Glassine, &directory, &options).expect("Glassine starts");
    let mut client = source.connect().expect("a connection");
    // A row is compared with the one that was there before, so columns stay as they are.
    let mut changes = Changes::new(3, true);
    for statement in Changes::prologue() {
        client.query(&statement).expect("the prologue");
    }
    for _ in 0..300 {
        for statement in changes.next_step().iter().filter(|statement| !statement.starts_with("ALTER")) {
            // A column that a statement left out may be missing.
            let _ = client.query(statement);
        }
    }
    let wanted = counts_on(&mut client);
    assert!(wanted.len() > 2, "{wanted:?}");
    // The answer tells the lengths, so all is written then.
    client.query("SHOW BINARY LOGS").expect("the files");
    let file = std::fs::read(directory.join("data/binlog.000001")).expect("the file");
    let from_file = follow(&file[4..]);
    assert_eq!(counts(&from_file.tables), wanted);
    assert!(from_file.rows > 300, "{} rows", from_file.rows);

    for (says, has_payloads) in [("0", false), ("1", true)] {
        let mut client = source.connect().expect("a connection");
        client
            .query(&format!("SET @source_binlog_checksum = 'CRC32', @replica_reads_payloads = {says}"))
            .expect("it is said");
        let sent = client.binlog("binlog.000001", 4).expect("a dump").concat();
        let sent = follow(&sent);
        assert_eq!(sent.payloads > 0, has_payloads);
        assert_eq!(sent.tables, from_file.tables, "with payloads: {has_payloads}");
        assert_eq!(sent.rows, from_file.rows);
    }
}
