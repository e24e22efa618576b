//! The cost of the small operations of every transaction, in nanoseconds, on one thread without contention:
//!
//! ```sh
//! cargo bench -p storage --bench cost
//! ```
//!
//! Each operation is repeated many times, in rounds; the benchmark prints the quickest round, which is the cost, and
//! the median, which shows the machine's noise. The parts of an UPDATE are those of `UPDATE t SET c = ... WHERE id =
//! ...` under autocommit, on rows in memory, with the log flushed in the background
//! (`innodb_flush_log_at_trx_commit=0`).

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use format::collation::CollationId;
use format::ids::{IndexId, PageId, PageNo, SpaceId, TableId, TrxId};
use format::value::ColumnType;
use storage::buffer::frame::Frames;
use storage::config::FlushLogAtCommit;
use storage::io::Disk;
use storage::io::linux::LinuxDisk;
use storage::lock::{Held, LockId, LockTable, MetadataHeld, MetadataLock};
use storage::{
    Column, ColumnSet, Config, Engine, IfLocked, IndexDefinition, Interrupt, LockMode, LockRequest, ReadMode, Row,
    Table, TableDefinition, TableUse, TrxOptions,
};

const ROUNDS: usize = 31;
const ROWS: u32 = 100_000;

/// Prints a line of what a round of `times` took.
fn print(what: &str, times: u32, mut rounds: Vec<Duration>) {
    rounds.sort_unstable();
    let per = |round: Duration| round.as_nanos() as f64 / f64::from(times);
    println!("{what:<58} {:>8.1} {:>8.1}", per(rounds[0]), per(rounds[rounds.len() / 2]));
}

fn measure(what: &str, mut run: impl FnMut(u32)) {
    const TIMES: u32 = 20_000;
    let mut round = || {
        let begin = Instant::now();
        (0..TIMES).for_each(&mut run);
        begin.elapsed()
    };
    round();
    print(what, TIMES, (0..ROUNDS).map(|_| round()).collect());
}

fn latches() {
    let frames = Frames::new(1024, 16384).expect("memory for frames");
    let page = |number: u32| PageId::new(SpaceId(1), PageNo(number % 1024));
    for index in 0..1024 {
        frames.latch_free(index).set_page(Some(page(index)));
    }
    measure("page latch, shared: take and let go", |at| drop(black_box(frames.latch_shared(at % 1024, page(at)))));
    measure("page latch, exclusive: take and let go", |at| {
        drop(black_box(frames.latch_exclusive(at % 1024, page(at))))
    });
}

fn locks() {
    let locks = LockTable::new(usize::MAX, Arc::default());
    let mut held = Held::default();
    let request = |at: u32| {
        let key_hash = u64::from(at).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        LockRequest::record(LockId { index: IndexId(7), key_hash }, LockMode::Exclusive)
    };
    locks.begin(&mut held, TrxId(1));
    measure("record lock: take and let go", |at| {
        black_box(locks.try_lock(&mut held, request(at)).is_err());
        locks.unlock(&mut held, request(at).id);
    });
    let _ = black_box(locks.try_lock(&mut held, request(1)));
    measure("record lock that is held already", |_| {
        black_box(locks.try_lock(&mut held, request(1)).is_err());
    });
    measure("table intention, of the table as before", |_| held.intend(TableId(1), LockMode::Exclusive));
    measure("table intention, of another table than before", |at| {
        held.intend(TableId(u64::from(at % 2)), LockMode::Exclusive);
    });
    locks.release_all(&mut held);
    measure("a transaction's entry among the owners of locks: in and out", |at| {
        locks.begin(&mut held, TrxId(u64::from(at) + 2));
        locks.release_all(&mut held);
    });
    let (name, interrupt) = (Arc::new(MetadataLock::new(Arc::default())), Interrupt::new());
    measure("metadata lock: share and let go", |_| {
        let mut names = MetadataHeld::default();
        names.share(&name, TableUse::Write, &interrupt, Duration::ZERO).expect("nobody else wants it");
        names.release_all();
    });
}

fn make_table(engine: &Arc<Engine>) -> Arc<Table> {
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).expect("a new database");
    let number = ColumnType::Int { bytes: 4, unsigned: true };
    let text = ColumnType::VarChar { chars: 120, collation: CollationId::DEFAULT };
    let definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", number.clone(), false),
            Column::new("k", number, false),
            Column::new("c", text, false),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("k", false, &[1])],
        ..TableDefinition::default()
    };
    engine.create_table(definition, &TrxOptions::default()).expect("a new table")
}

fn updates(directory: &Path) {
    let disk: Arc<dyn Disk> = Arc::new(LinuxDisk::new(directory));
    let flush_log_at_commit = FlushLogAtCommit::EverySecond;
    let config = Config { pool_bytes: 256 << 20, log_bytes: 256 << 20, flush_log_at_commit, ..Config::default() };
    Engine::create(disk.clone(), &config).expect("a new instance");
    let engine = Engine::open(disk, config).expect("the instance");
    let table = make_table(&engine);
    let options = TrxOptions::default();
    for from in (0..ROWS).step_by(1000) {
        let mut trx = engine.begin(options.clone());
        for id in from..from + 1000 {
            let id = id.to_be_bytes();
            trx.insert(&table, &[Some(&id), Some(&id), Some(&[b'a'; 100])]).expect("a new row");
        }
        trx.commit().expect("a commit");
    }
    let columns: ColumnSet = [0, 1, 2].into_iter().collect();
    let mut row = Row::new();
    const TIMES: u32 = 4000;
    let names = ["begin", "read and lock", "change", "commit, without sync"];
    for (what, changed) in [("a column without index", 2), ("an indexed column", 1)] {
        let mut rounds: [Vec<Duration>; 4] = Default::default();
        let mut sums = Vec::new();
        for round in 0..ROUNDS as u32 + 1 {
            let mut sum = [Duration::ZERO; 4];
            for number in 0..TIMES {
                // Rows far from each other, as random ones are.
                let id = ((round * TIMES + number).wrapping_mul(2_654_435_761) % ROWS).to_be_bytes();
                let value = (round * TIMES + number).to_be_bytes();
                let mut text = [b'b'; 100];
                text[..4].copy_from_slice(&value.map(|byte| b'a' + byte % 26));
                let value: &[u8] = if changed == 2 { &text } else { &value };
                let at = [Instant::now(), Instant::now()];
                let cost_of_looking = at[1] - at[0];
                let mut trx = engine.begin(options.clone());
                trx.lock_table(&table, TableUse::Write).expect("nobody else wants the table");
                let begun = Instant::now();
                let mode = ReadMode::Exclusive(IfLocked::Wait);
                trx.get(&table, 0, &[Some(&id)], mode, &columns, &mut row).expect("a row");
                let read = Instant::now();
                trx.update(&table, &row, &[(changed, Some(value))]).expect("an update");
                let updated = Instant::now();
                trx.commit().expect("a commit");
                let end = Instant::now();
                for (sum, part) in sum.iter_mut().zip([begun - at[1], read - begun, updated - read, end - updated]) {
                    *sum += part.saturating_sub(cost_of_looking);
                }
            }
            if round > 0 {
                rounds.iter_mut().zip(sum).for_each(|(rounds, sum)| rounds.push(sum));
                sums.push(sum.iter().sum());
            }
        }
        for (name, rounds) in names.iter().zip(rounds) {
            print(&format!("UPDATE of {what}: {name}"), TIMES, rounds);
        }
        print(&format!("UPDATE of {what}: all"), TIMES, sums);
    }
    engine.close().expect("a clean end");
}

fn main() {
    println!("{:<58} {:>8} {:>8}", "nanoseconds", "quickest", "median");
    latches();
    locks();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cost");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("a directory");
    updates(&directory);
    let _ = fs::remove_dir_all(&directory);
}
