//! The dump protocol over real sockets, with a server in this process: what a replica is sent, from where on, and when.

#[allow(dead_code, reason = "shared with the other conversations")]
mod client;

use std::time::{Duration, Instant};

use client::fixture::Fixture;
use client::{Client, Outcome, Refusal, refusal};
use format::binlog::{
    Checksum, Control, Event, EventKind, FormatDescription, GtidSet, HEADER_BYTES, Header, MAGIC, Uuid, flags,
};
use format::packet::command::number;
use format::packet::response;

const SOURCE: Uuid = Uuid([7; 16]);

/// A server with a binary log.
struct Source(Fixture);

impl Source {
    fn new() -> Source {
        let options = binlog::Options {
            base: "binlog".into(),
            server: "8.0.36-test".into(),
            version: 80036,
            server_id: 1,
            uuid: SOURCE,
            gtids: true,
            checksum: Checksum::Crc32,
            file_bytes_max: 1 << 30,
            expire_seconds: 0,
        };
        let source = Source(Fixture::start("", Some(options)));
        let mut client = source.client();
        client.run("CREATE DATABASE d");
        client.run("CREATE TABLE d.t (id INT PRIMARY KEY, body VARCHAR(200))");
        source
    }

    fn client(&self) -> Client {
        self.0.client()
    }

    fn file(&self, number: u32) -> Vec<u8> {
        // Asking for the lengths brings everything into the files.
        self.0.instance.log.as_ref().unwrap().list().unwrap();
        std::fs::read(self.0.directory.join(format!("binlog.{number:06}"))).unwrap()
    }

    /// A client that has said what it understands.
    fn replica(&self, says: &str) -> Client {
        let mut client = self.client();
        client.run(&format!("SET @master_binlog_checksum = @@global.binlog_checksum{says}"));
        client
    }

    /// All that there is from a place on.
    fn dump(&self, says: &str, file: &str, position: u64) -> Result<Vec<Vec<u8>>, Refusal> {
        let mut client = self.replica(says);
        client.tell(number::BINLOG_DUMP, &request(file, position, 1, 0));
        received(&mut client)
    }

    fn dump_gtids(&self, says: &str, has: &str) -> Result<Vec<Vec<u8>>, Refusal> {
        let mut client = self.replica(says);
        let mut set = Vec::new();
        has.parse::<GtidSet>().unwrap().encode(&mut set);
        let mut payload = vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0];
        payload.extend_from_slice(&(set.len() as u32).to_le_bytes());
        payload.extend_from_slice(&set);
        client.tell(number::BINLOG_DUMP_GTID, &payload);
        received(&mut client)
    }
}

fn request(file: &str, position: u64, flags: u16, server_id: u32) -> Vec<u8> {
    let mut payload = (position as u32).to_le_bytes().to_vec();
    payload.extend_from_slice(&flags.to_le_bytes());
    payload.extend_from_slice(&server_id.to_le_bytes());
    payload.extend_from_slice(file.as_bytes());
    payload
}

/// The next event of a dump.
fn next(client: &mut Client) -> Result<Option<Vec<u8>>, Refusal> {
    let payload = client.receive();
    match payload[0] {
        response::ERROR => Err(refusal(&payload)),
        response::EOF => Ok(None),
        0 => Ok(Some(payload[1..].to_vec())),
        other => panic!("a packet that begins with {other}"),
    }
}

/// The events up to the end of a dump that does not wait.
fn received(client: &mut Client) -> Result<Vec<Vec<u8>>, Refusal> {
    let mut events = Vec::new();
    while let Some(event) = next(client)? {
        events.push(event);
    }
    Ok(events)
}

fn header(event: &[u8]) -> Header {
    Header::decode(event).unwrap()
}

fn kinds(events: &[Vec<u8>]) -> Vec<EventKind> {
    events.iter().map(|event| header(event).kind).collect()
}

/// The events of a file as they are sent.
fn events_of(file: &[u8]) -> Vec<Vec<u8>> {
    assert_eq!(file[..4], MAGIC);
    let (mut at, mut events) = (4, Vec::new());
    while at < file.len() {
        let bytes = header(&file[at..]).bytes as usize;
        let mut event = file[at..at + bytes].to_vec();
        if at == 4 {
            event[17] &= !(flags::IN_USE as u8);
        }
        events.push(event);
        at += bytes;
    }
    events
}

const PAYLOADS: &str = ", @replica_reads_payloads = 1";

/// Some transactions, compressed and plain.
fn work(source: &Source) {
    let mut client = source.client();
    for (id, compression) in [(1, "OFF"), (2, "ON"), (3, "ON"), (4, "OFF")] {
        client.run(&format!("SET binlog_transaction_compression = {compression}"));
        client.run("BEGIN");
        for part in 0..5 {
            client.run(&format!("INSERT INTO d.t VALUES ({}, REPEAT('{part}', 100))", id * 10 + part));
        }
        client.run("UPDATE d.t SET body = 'changed' WHERE id % 3 = 0");
        client.run("COMMIT");
    }
}

#[test]
fn who_reads_payloads_gets_the_files_as_they_are() {
    let source = Source::new();
    work(&source);
    source.client().run("FLUSH BINARY LOGS");
    source.client().run("INSERT INTO d.t VALUES (1, 'in the second file')");
    let events = source.dump(PAYLOADS, "", 4).unwrap();
    let (first, second) = (events_of(&source.file(1)), events_of(&source.file(2)));
    assert!(kinds(&first).contains(&EventKind::TRANSACTION_PAYLOAD));
    assert_eq!(events[1..1 + first.len()], first);
    assert_eq!(events[2 + first.len()..], second);
    for (at, file) in [(0, &b"binlog.000001"[..]), (1 + first.len(), b"binlog.000002")] {
        let rotate = Event::decode(&events[at], Checksum::Crc32).unwrap();
        assert_eq!((rotate.header.timestamp, rotate.header.end_position), (0, 0));
        assert_eq!(Control::decode(&rotate).unwrap(), Some(Control::Rotate { position: 4, file }));
    }
    // From the middle: the description belongs to no position there, and says nothing of a start.
    let at = u64::from(header(&first[3]).end_position);
    let events = source.dump(PAYLOADS, "binlog.000001", at).unwrap();
    let (description, event) = FormatDescription::decode(&events[1]).unwrap();
    assert_eq!((description.created, event.header.end_position), (0, 0));
    assert_eq!(events[2..2 + first.len() - 4], first[4..]);
    // From the end.
    let end = source.file(2).len() as u64;
    assert_eq!(source.dump(PAYLOADS, "binlog.000002", end).unwrap().len(), 2);
}

#[test]
fn checksums_are_left_out_for_who_says_so_and_missing_words_are_an_error() {
    let source = Source::new();
    work(&source);
    let with = source.dump(PAYLOADS, "", 4).unwrap();
    let without = source.dump(", @source_binlog_checksum = 'NONE', @replica_reads_payloads = 1", "", 4).unwrap();
    assert_eq!(kinds(&with), kinds(&without));
    let (description, _) = FormatDescription::decode(&without[1]).unwrap();
    assert_eq!(description.checksum, Checksum::None);
    for (with, without) in
        with.iter().zip(&without).filter(|(with, _)| header(with).kind != EventKind::FORMAT_DESCRIPTION)
    {
        let (with, without) =
            (Event::decode(with, Checksum::Crc32).unwrap(), Event::decode(without, Checksum::None).unwrap());
        assert_eq!(with.body, without.body);
        assert_eq!(without.bytes.len(), HEADER_BYTES + without.body.len());
        assert_eq!(with.header.end_position, without.header.end_position);
    }
    let mut client = source.client();
    client.tell(number::BINLOG_DUMP, &request("", 4, 1, 0));
    let refusal = received(&mut client).unwrap_err();
    assert_eq!(refusal.code, 1236);
    assert!(refusal.message.starts_with("Replica can not handle replication events with the checksum"), "{refusal:?}");
}

/// binlog_checksum changes between two files, and each reader gets what it asks for.
#[test]
fn files_with_and_without_checksums_are_sent_as_readers_wish() {
    let source = Source::new();
    work(&source);
    let log = source.0.instance.log.as_ref().unwrap();
    log.set_checksum(Checksum::None).unwrap();
    log.set_checksum(Checksum::None).unwrap();
    source.client().run("INSERT INTO d.t VALUES (1, 'without')");
    log.set_checksum(Checksum::Crc32).unwrap();
    source.client().run("INSERT INTO d.t VALUES (2, 'with')");
    let files = [1, 2, 3].map(|number| events_of(&source.file(number)));
    assert_eq!(log.files().len(), files.len());
    for (wanted, said) in [(Checksum::Crc32, "CRC32"), (Checksum::None, "NONE")] {
        let says = format!(", @source_binlog_checksum = '{said}', @replica_reads_payloads = 1");
        let mut sent = source.dump(&says, "", 4).unwrap().into_iter();
        for (number, (file, has)) in files.iter().zip([Checksum::Crc32, Checksum::None, Checksum::Crc32]).enumerate() {
            let rotate = sent.next().unwrap();
            assert_eq!(Event::decode(&rotate, wanted).unwrap().header.kind, EventKind::ROTATE, "file {number}");
            let (description, _) = FormatDescription::decode(&sent.next().unwrap()).unwrap();
            assert_eq!(description.checksum, wanted, "file {number}");
            for event in &file[1..] {
                let sent = sent.next().unwrap();
                if has == wanted {
                    assert_eq!(&sent, event, "file {number}");
                }
                let (event, sent) = (Event::decode(event, has).unwrap(), Event::decode(&sent, wanted).unwrap());
                assert_eq!((event.header.kind, event.body), (sent.header.kind, sent.body), "file {number}");
            }
        }
        assert_eq!(sent.next(), None);
    }
}

/// What a replica believes to be its place in the source's files: a Rotate tells it, and else it counts.
fn places(events: &[Vec<u8>]) -> Vec<(String, u64)> {
    let mut place = (String::new(), 0);
    let mut places = Vec::new();
    for bytes in events {
        let header = header(bytes);
        if header.kind == EventKind::ROTATE && header.flags & flags::ARTIFICIAL != 0 {
            let event = Event::decode(bytes, Checksum::Crc32).unwrap();
            let Some(Control::Rotate { position, file }) = Control::decode(&event).unwrap() else { unreachable!() };
            place = (String::from_utf8(file.to_vec()).unwrap(), position);
        } else if header.end_position != 0 {
            place.1 += bytes.len() as u64;
            assert_eq!(place.1, u64::from(header.end_position), "{:?}", header.kind);
        }
        places.push(place.clone());
    }
    places
}

#[test]
fn who_reads_no_payloads_gets_their_events_and_can_go_on_behind_each_of_them() {
    let source = Source::new();
    work(&source);
    let all = source.dump("", "", 4).unwrap();
    assert!(!kinds(&all).contains(&EventKind::TRANSACTION_PAYLOAD));
    assert_eq!(kinds(&all).iter().filter(|kind| **kind == EventKind::XID).count(), 4);
    assert_eq!(kinds(&all).iter().filter(|kind| **kind == EventKind::WRITE_ROWS).count(), 20);
    for bytes in &all {
        Event::decode(bytes, Checksum::Crc32).unwrap();
    }
    let places = places(&all);
    assert_eq!(places.last().unwrap(), &("binlog.000001".to_owned(), source.file(1).len() as u64));
    assert!(places.iter().any(|(name, _)| name.starts_with("binlog.0-000001-")));
    // What only tells the place may come once more or once less.
    let is_content =
        |event: &&Vec<u8>| !matches!(header(event).kind, EventKind::ROTATE | EventKind::FORMAT_DESCRIPTION);
    let content = |events: &[Vec<u8>]| -> Vec<Vec<u8>> { events.iter().filter(is_content).cloned().collect() };
    for (seen, (name, position)) in places.iter().enumerate().skip(1) {
        let rest = source.dump("", name, *position).unwrap();
        assert_eq!(content(&rest[2..]), content(&all[seen + 1..]), "from {name}:{position}");
    }
    // Within an event there is nothing to begin with.
    let (name, position) = places.iter().find(|(name, _)| name.starts_with("binlog.0")).unwrap();
    let refusal = source.dump("", name, position + 1).unwrap_err();
    assert_eq!(refusal.message, "Client requested source to start replication from impossible position");
}

/// MariaDB refuses a transaction that ends within a statement.
#[test]
fn the_last_event_of_a_statement_says_so_however_its_rows_are_divided() {
    let source = Source::new();
    let mut client = source.client();
    client.run("CREATE TABLE d.long (body LONGTEXT)");
    for bytes in [10, 9000] {
        for rows in 1..4 {
            let values = vec![format!("(REPEAT('x', {bytes}))"); rows].join(", ");
            client.run(&format!("INSERT INTO d.long VALUES {values}"));
        }
    }
    let mut last = None;
    for bytes in source.dump("", "", 4).unwrap() {
        let event = Event::decode(&bytes, Checksum::Crc32).unwrap();
        match event.header.kind {
            EventKind::WRITE_ROWS => last = Some(event.body[6] & 1),
            EventKind::XID => assert_eq!(last.take(), Some(1)),
            _ => {}
        }
    }
}

#[test]
fn an_account_gets_what_is_set_for_it() {
    let source = Source::new();
    work(&source);
    let has_payloads = |says: &str| kinds(&source.dump(says, "", 4).unwrap()).contains(&EventKind::TRANSACTION_PAYLOAD);
    assert!(!has_payloads("") && has_payloads(PAYLOADS));
    let mut client = source.client();
    client.run("SET GLOBAL binlog_dump_payloads = 'OFF,other:ON'");
    assert!(!has_payloads(PAYLOADS));
    client.run("SET GLOBAL binlog_dump_payloads = 'root:ON'");
    assert!(has_payloads(""));
    assert_eq!(client.query("SET GLOBAL binlog_dump_payloads = 'root:perhaps'").code(), 1231);
}

#[test]
fn with_auto_position_a_replica_gets_what_it_does_not_have() {
    let source = Source::new();
    work(&source); // 1, 2: definitions; 3 to 6
    let mut client = source.client();
    client.run("FLUSH BINARY LOGS");
    client.run("INSERT INTO d.t VALUES (1, 'in the second file')"); // 7
    client.run("INSERT INTO d.t VALUES (2, 'too')"); // 8
    let count = |has: &str, kind: EventKind| {
        kinds(&source.dump_gtids(PAYLOADS, has).unwrap()).iter().filter(|other| **other == kind).count()
    };
    assert_eq!(count("", EventKind::GTID), 8);
    assert_eq!(count(&format!("{SOURCE}:1-2:4"), EventKind::GTID), 5);
    assert_eq!(count(&format!("{SOURCE}:1-2:4"), EventKind::TRANSACTION_PAYLOAD), 1);
    assert_eq!(count(&format!("{SOURCE}:1-7"), EventKind::GTID), 1);
    assert_eq!(count(&format!("{SOURCE}:1-8"), EventKind::GTID), 0);
    // The positions are right where something was left out.
    for has in ["1-2:4", "1-4:7", "1-8"] {
        let events = source.dump_gtids(PAYLOADS, &format!("{SOURCE}:{has}")).unwrap();
        let second = ("binlog.000002".to_owned(), source.file(2).len() as u64);
        assert_eq!(places(&events).last(), Some(&second), "{has}");
    }
    let refusal = source.dump_gtids(PAYLOADS, &format!("{SOURCE}:1-9")).unwrap_err();
    assert_eq!(refusal.code, 1236);
    assert!(refusal.message.starts_with("Replica has more GTIDs than the source has"), "{refusal:?}");
    client.run("PURGE BINARY LOGS TO 'binlog.000002'");
    let refusal = source.dump_gtids(PAYLOADS, &format!("{SOURCE}:1-5")).unwrap_err();
    assert_eq!(refusal.code, 1236);
    assert!(refusal.message.contains("purged required binary logs"), "{refusal:?}");
    assert!(refusal.message.ends_with(&format!("the missing transactions are '{SOURCE}:6'")), "{refusal:?}");
    assert_eq!(count(&format!("{SOURCE}:1-6"), EventKind::GTID), 2);
}

#[test]
fn what_is_not_there_is_refused() {
    let source = Source::new();
    let end = source.file(1).len() as u64;
    for (file, position, message) in [
        ("binlog.000002", 4, "Could not find first log file name in binary log index file"),
        ("other", 4, "Could not find first log file name in binary log index file"),
        ("", 3, "Client requested source to start replication from position < 4"),
        ("binlog.000001", end + 1, "Client requested source to start replication from position > file size"),
        ("binlog.000001", 5, "Client requested source to start replication from impossible position"),
        ("binlog.000001", end - 1, "Client requested source to start replication from impossible position"),
        ("binlog.0-000001-4", 4, "Client requested source to start replication from impossible position"),
        ("binlog.0-000001-999999", 4, "Client requested source to start replication from position > file size"),
    ] {
        let refusal = source.dump("", file, position).unwrap_err();
        assert_eq!((refusal.code, refusal.sqlstate.as_str()), (1236, "HY000"));
        assert_eq!(refusal.message, message);
    }
    let mut client = source.replica("");
    let answer = client.ask(number::BINLOG_DUMP_GTID, &[0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(refusal(&answer).code, 1835, "a packet that ends too early");
}

/// Waits for something that other threads do.
fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn cell(client: &mut Client, query: &str, row: usize, column: usize) -> String {
    client.query(query).text()[row][column].clone().unwrap_or_default()
}

#[test]
fn a_replica_at_the_end_gets_commits_as_they_come_and_heartbeats_in_between() {
    let source = Source::new();
    let mut replica = source.replica(", @source_heartbeat_period = 50000000, @replica_uuid = 'one'");
    let mut registration = vec![9, 0, 0, 0, 4];
    registration.extend_from_slice(b"here\0\0\xEA\x0C\0\0\0\0\0\0\0\0");
    assert_eq!(replica.ask(number::REGISTER_REPLICA, &registration)[0], response::OK);
    replica.tell(number::BINLOG_DUMP, &request("", 4, 0, 9));
    while header(&next(&mut replica).unwrap().unwrap()).end_position as usize != source.file(1).len() {}
    for _ in 0..2 {
        let beat = next(&mut replica).unwrap().unwrap();
        let event = Event::decode(&beat, Checksum::Crc32).unwrap();
        assert_eq!(Control::decode(&event).unwrap(), Some(Control::Heartbeat { file: b"binlog.000001" }));
        assert_eq!(event.header.end_position as usize, source.file(1).len());
    }
    let mut client = source.client();
    let shown = client.query("SHOW REPLICAS").text();
    let row: Vec<&str> = shown[0].iter().map(|cell| cell.as_deref().unwrap()).collect();
    assert_eq!(row, ["9", "here", "3306", "1", "one"]);
    let process = "SELECT COMMAND, STATE FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog%'";
    assert_eq!(cell(&mut client, process, 0, 0), "Binlog Dump");
    assert_eq!(cell(&mut client, process, 0, 1), "Source has sent all binlog to replica; waiting for more updates");
    for id in 0..20 {
        client.run(&format!("INSERT INTO d.t VALUES ({id}, 'x')"));
        loop {
            let event = next(&mut replica).unwrap().unwrap();
            match header(&event).kind {
                EventKind::XID => break,
                EventKind::HEARTBEAT | EventKind::GTID | EventKind::QUERY | EventKind::TABLE_MAP => {}
                kind => assert_eq!(kind, EventKind::WRITE_ROWS),
            }
        }
    }
    // The file that is read stays.
    client.run("FLUSH BINARY LOGS");
    client.run("FLUSH BINARY LOGS");
    wait_for("the dump goes on in the newest file", || {
        header(&next(&mut replica).unwrap().unwrap()).kind == EventKind::HEARTBEAT
    });
    client.run("PURGE BINARY LOGS TO 'binlog.000003'");
    assert_eq!(client.query("SHOW BINARY LOGS").text().len(), 1);
}

#[test]
fn files_that_are_read_are_not_purged() {
    let source = Source::new();
    let mut client = source.client();
    // More than what the sockets hold, so that the dump stays in its file, the second, while nobody reads it.
    for id in 0..40 {
        client.run(&format!("INSERT INTO d.t VALUES ({id}, '')"));
    }
    client.run("CREATE TABLE d.long (body LONGTEXT)");
    client.run("INSERT INTO d.long VALUES (REPEAT('x', 8000000))");
    client.run("FLUSH BINARY LOGS");
    client.run("FLUSH BINARY LOGS");
    let mut replica = source.replica("");
    replica.tell(number::BINLOG_DUMP, &request("", 4, 1, 0));
    assert!(next(&mut replica).unwrap().is_some());
    client.run("PURGE BINARY LOGS TO 'binlog.000003'");
    let warning = client.query("SHOW WARNINGS").text();
    assert_eq!(warning[0][1].as_deref(), Some("1867"));
    assert_eq!(
        warning[0][2].as_deref(),
        Some(
            "file binlog.000002 was not purged because it was being read by 1 thread(s), purged only 1 out of 2 files."
        )
    );
    received(&mut replica).unwrap();
    wait_for("the dump has ended", || {
        client.run("PURGE BINARY LOGS TO 'binlog.000004'");
        client.query("SHOW BINARY LOGS").text().len() == 1
    });
}

#[test]
fn dumps_end_by_kill_by_another_of_the_same_replica_and_with_the_client() {
    let source = Source::new();
    let mut client = source.client();
    let list = "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'";
    let begin = |server_id| {
        let mut replica = source.replica("");
        replica.tell(number::BINLOG_DUMP, &request("", 4, 0, server_id));
        replica
    };
    for kill in ["KILL", "KILL QUERY"] {
        let mut replica = begin(5);
        wait_for("the dump begins", || client.query(list).text().len() == 1);
        let id = cell(&mut client, list, 0, 0);
        // A dump that is killed does not send the rest first.
        while header(&next(&mut replica).unwrap().unwrap()).end_position as usize != source.file(1).len() {}
        client.run(&format!("{kill} {id}"));
        wait_for("the dump ends", || client.query(list).text().is_empty());
        assert!(replica.is_closed());
    }
    let older = begin(5);
    wait_for("the dump begins", || client.query(list).text().len() == 1);
    let id = cell(&mut client, list, 0, 0);
    let newer = begin(5);
    wait_for("the older dump ends", || {
        let left = client.query(list).text();
        left.len() == 1 && left[0][0].as_ref() != Some(&id)
    });
    drop((older, newer));
    wait_for("a dump without a client ends", || client.query(list).text().is_empty());
    let mut replica = begin(5);
    wait_for("the dump begins", || client.query(list).text().len() == 1);
    assert!(matches!(client.query("RESET MASTER"), Outcome::Done { .. }));
    let ended = loop {
        match next(&mut replica) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("a dump that waits does not end"),
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(ended.code, 1236);
}
