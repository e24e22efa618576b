//! Indexes that are built while several sessions change the rows: what an index shows is what the rows are.
//!
//! ```text
//!   builder    ALTER TABLE ... ADD an index of some kind, then, with the table locked, the rows by the index against the
//!              rows by the primary key, and CHECK TABLE; the index goes again
//!   writers    transactions of INSERT, UPDATE (also of the key), REPLACE, DELETE; half of them are rolled back
//!   killer     KILL QUERY for the builder
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sql::{Instance, Session};
use storage::Config;

use super::common::random::{Random, first_seed};
use super::common::{Scratch, ask, instance, session, session_of};
use super::error;

const TABLES: [&str; 4] = [
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT NOT NULL, s VARCHAR(400), p INT, KEY old (b))",
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT NOT NULL, s VARCHAR(400), p INT) PARTITION BY HASH (id) PARTITIONS 3",
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT NOT NULL, s VARCHAR(400), p INT, KEY fp (p), FOREIGN KEY (p) REFERENCES parent (id) \
     ON DELETE CASCADE ON UPDATE SET NULL)",
    "CREATE TABLE t (id INT, a INT, b INT NOT NULL, s TEXT, p INT, PRIMARY KEY (s(8) DESC, id)) ROW_FORMAT=DYNAMIC",
];

const INDEXES: [&str; 6] = [
    "ADD KEY x (b)",
    "ADD KEY x (b, s(20))",
    "ADD KEY x (b DESC, a), ADD KEY y (a), ADD KEY z (p, s(100))",
    "ADD UNIQUE KEY x (b, id)",
    "ADD UNIQUE KEY x (b, a, id), ADD FULLTEXT KEY f (s)",
    "ADD KEY x (b), LOCK = SHARED",
];

const SUMS: &str = "COUNT(*), SUM(id), SUM(a), SUM(b), SUM(CRC32(s)), SUM(p)";

fn must(session: &mut Session, statement: &str) -> Vec<String> {
    let lines = ask(session, statement);
    assert_eq!(error(&lines), None, "{statement}: {lines:?}");
    lines
}

fn one_statement(random: &mut Random) -> String {
    let (id, other) = (random.below(60), random.below(60));
    let text = match random.below(8) {
        0 => "''".into(),
        1 => format!("REPEAT('long {id} ', {})", 10 + random.below(30)),
        _ => format!("'some text {other}'"),
    };
    match random.below(9) {
        0 | 1 => format!("INSERT IGNORE INTO t VALUES ({id}, {other}, {}, {text}, {})", random.below(9), id % 5),
        2 => format!("REPLACE INTO t VALUES ({id}, {other}, {}, {text}, NULL)", random.below(9)),
        3 => format!("UPDATE t SET b = {}, a = NULL WHERE id = {id}", random.below(9)),
        4 => format!("UPDATE t SET s = {text} WHERE id BETWEEN {id} AND {}", id + 3),
        5 => format!("UPDATE IGNORE t SET id = {other} WHERE id = {id}"),
        6 => format!("DELETE FROM t WHERE id = {id}"),
        7 => format!("UPDATE t SET b = b + 1 WHERE b = {} LIMIT 5", random.below(9)),
        _ => match random.below(3) {
            0 => format!("DELETE FROM parent WHERE id = {}", id % 5),
            1 => format!("UPDATE parent SET id = {} WHERE id = {}", 5 + other % 3, id % 5),
            _ => format!("INSERT IGNORE INTO parent VALUES ({})", id % 5),
        },
    }
}

fn write(instance: &Arc<Instance>, stop: &AtomicBool, mut random: Random) -> Result<u64, String> {
    let mut own = session(instance);
    let mut done = 0;
    must(&mut own, "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 20");
    while !stop.load(Ordering::Relaxed) {
        let several = random.below(3) > 0;
        if several {
            must(&mut own, "BEGIN");
        }
        for _ in 0..1 + random.below(4) {
            let statement = one_statement(&mut random);
            match error(&ask(&mut own, &statement)) {
                // A deadlock, a timeout, a key that is taken or not there.
                None | Some(1213 | 1205 | 1062 | 1452 | 1451) => done += 1,
                Some(code) => return Err(format!("{statement}: {code}")),
            }
        }
        must(&mut own, if random.below(2) == 0 { "COMMIT" } else { "ROLLBACK" });
    }
    Ok(done)
}

/// `has_unique_id`: no two rows have one.
fn build(
    instance: &Arc<Instance>,
    own: &mut Session,
    random: &mut Random,
    has_unique_id: bool,
) -> Result<bool, String> {
    let statement = format!("ALTER TABLE t {}", INDEXES[random.below(INDEXES.len())]);
    let statement =
        statement.replace("ADD FULLTEXT KEY f (s)", ["ADD FULLTEXT KEY f (s)", "ADD KEY f (s(9))"][random.below(2)]);
    match error(&ask(own, &statement)) {
        None => {}
        // Killed, or in the way of a transaction that waits for a row.
        Some(1317 | 1205 | 1213) => return Ok(false),
        Some(1062) if statement.contains("UNIQUE") && !has_unique_id => return Ok(false),
        // Partitions have no full-text indexes.
        Some(1214 | 1235) if statement.contains("FULLTEXT") => return Ok(false),
        Some(code) => return Err(format!("{statement}: {code}")),
    }
    let mut judge = session(instance);
    must(&mut judge, "LOCK TABLES t WRITE");
    let rows = must(&mut judge, &format!("SELECT {SUMS} FROM t FORCE INDEX (PRIMARY)"));
    let found = must(&mut judge, &format!("SELECT {SUMS} FROM t FORCE INDEX (x) WHERE b > -10"));
    let checked = must(&mut judge, "CHECK TABLE t EXTENDED");
    must(&mut judge, "UNLOCK TABLES");
    if rows != found || !checked.iter().any(|line| line.ends_with("| status | OK")) {
        return Err(format!("{statement}: {rows:?} are the rows, {found:?} the index; {checked:?}"));
    }
    let drop: Vec<String> = ["x", "y", "z", "f"]
        .iter()
        .filter(|name| statement.contains(&format!("KEY {name} ")))
        .map(|name| format!("DROP KEY {name}"))
        .collect();
    let drop = format!("ALTER TABLE t {}", drop.join(", "));
    while let Some(code) = error(&ask(own, &drop)) {
        if ![1317, 1205, 1213].contains(&code) {
            return Err(format!("{drop}: {code}"));
        }
    }
    Ok(true)
}

fn round(instance: &Arc<Instance>, table: &str, mut random: Random, limit: Duration) -> Result<[u64; 2], String> {
    let mut setup = session(instance);
    must(&mut setup, "CREATE TABLE parent (id INT PRIMARY KEY)");
    must(&mut setup, "INSERT INTO parent VALUES (0), (1), (2), (3), (4)");
    must(&mut setup, table);
    for id in 0..40 {
        must(&mut setup, &format!("INSERT INTO t VALUES ({id}, {id}, {}, 'some text {id}', {})", id % 9, id % 5));
    }
    let has_unique_id = table.contains("id INT PRIMARY KEY");
    let stop = AtomicBool::new(false);
    let process = instance.processes.register("localhost");
    let victim = process.id;
    let outcome = thread::scope(|scope| {
        let mut writer = || {
            let random = Random::new(random.below(usize::MAX) as u64);
            scope.spawn(|| write(instance, &stop, random))
        };
        let writers = [writer(), writer(), writer()];
        let mut for_builder = Random::new(random.below(usize::MAX) as u64);
        let builder = scope.spawn(move || {
            let (mut own, begin, mut built) = (session_of(instance, process), Instant::now(), 0);
            must(&mut own, "SET lock_wait_timeout = 5");
            while begin.elapsed() < limit {
                built += u64::from(build(instance, &mut own, &mut for_builder, has_unique_id)?);
            }
            Ok::<u64, String>(built)
        });
        let mut killer = session(instance);
        while !builder.is_finished() {
            thread::sleep(Duration::from_millis(5 + random.below(80) as u64));
            ask(&mut killer, &format!("KILL QUERY {victim}"));
        }
        stop.store(true, Ordering::Relaxed);
        let mut changes = 0;
        for writer in writers {
            changes += writer.join().map_err(|_| "a writer panicked".to_string())??;
        }
        Ok::<_, String>([builder.join().map_err(|_| "the builder panicked".to_string())??, changes])
    });
    must(&mut setup, "DROP TABLE t, parent");
    outcome
}

#[test]
fn an_index_that_was_built_beside_writers_shows_the_rows() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("STORM_SEED").unwrap_or_else(first_seed);
    let limit = Duration::from_secs(number("STORM_SECONDS").unwrap_or(4)) / TABLES.len() as u32;
    println!("STORM_SEED={seed}");
    let scratch = Scratch::new("beside");
    let instance = instance(&scratch.0, Config::tiny());
    let mut random = Random::new(seed);
    for table in TABLES {
        match round(&instance, table, Random::new(random.below(usize::MAX) as u64), limit) {
            Ok([built, changes]) => {
                println!("{built} builds, {changes} changes");
                assert!(built > 0 && changes > 0);
            }
            Err(wrong) => panic!("seed {seed}, {table}: {wrong}"),
        }
    }
}
