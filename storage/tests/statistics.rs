//! Estimates of tables: how near they are to the truth, and what becomes of them over restarts, crashes and changes.

use std::sync::Arc;
use std::time::Duration;

use format::collation::CollationId;
use format::value::ColumnType;
use storage::io::Disk;
use storage::io::sim::{Random, SimDisk};
use storage::schema::Histogram;
use storage::{
    Column, ColumnSet, Config, Engine, Error, IndexDefinition, Interrupt, Kill, ReadMode, Row, ScanRange, Table,
    TableDefinition, TableStatistics, TrxOptions,
};

fn config() -> Config {
    Config { page_bytes: 4096, pool_bytes: 4000 * 4096, log_bytes: 16 << 20, ..Config::tiny() }
}

fn open(disk: &SimDisk) -> Arc<Engine> {
    Engine::open(Arc::new(disk.clone()), config()).unwrap()
}

fn new_engine(seed: u64) -> (SimDisk, Arc<Engine>) {
    let disk = SimDisk::new(seed);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::create(shared, &config()).unwrap();
    let engine = open(&disk);
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    (disk, engine)
}

/// A table of (id, k) with an index on k.
fn definition(options: &[(&str, &str)]) -> TableDefinition {
    let mut definition = TableDefinition {
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
            Column::new("k", ColumnType::Int { bytes: 4, unsigned: true }, true),
        ],
        indexes: vec![IndexDefinition::new("PRIMARY", true, &[0]), IndexDefinition::new("k", false, &[1])],
        ..TableDefinition::default()
    };
    definition.options.create_options = options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    definition
}

fn create(engine: &Engine, options: &[(&str, &str)]) -> Arc<Table> {
    engine.create_table(definition(options), &TrxOptions::default()).unwrap()
}

fn fill(engine: &Arc<Engine>, table: &Arc<Table>, ids: std::ops::Range<u32>, k: &mut dyn FnMut(u32) -> Option<u32>) {
    for id in ids {
        let mut trx = engine.begin(TrxOptions::default());
        let value = k(id).map(u32::to_be_bytes);
        trx.insert(table, &[Some(&id.to_be_bytes()), value.as_ref().map(|bytes| &bytes[..])]).unwrap();
        trx.commit().unwrap();
    }
}

fn table(engine: &Engine) -> Arc<Table> {
    engine.table("d", "t").unwrap()
}

fn facts(statistics: &TableStatistics) -> (u64, u64, u64, Vec<Vec<u64>>) {
    let TableStatistics { rows, data_bytes, index_bytes, distinct } = statistics.clone();
    (rows, data_bytes, index_bytes, distinct)
}

/// How many times the larger one is the smaller one.
fn ratio(estimate: u64, truth: u64) -> f64 {
    let (estimate, truth) = (estimate.max(1) as f64, truth.max(1) as f64);
    (estimate / truth).max(truth / estimate)
}

/// Few values and many, even and skewed, in order and mixed: estimates stay near the truth.
#[test]
fn estimates_are_near_the_truth_whatever_the_values_are() {
    let rows = 20_000_u32;
    let seed = std::env::var("GLASSINE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("GLASSINE_SEED={seed}");
    let mut random = Random::new(seed);
    for values in [1, 2, 7, 100, 3000, 20_000] {
        for skewed in [false, true] {
            let (_, engine) = new_engine(7);
            let table = create(&engine, &[]);
            let mut seen = std::collections::BTreeSet::new();
            fill(&engine, &table, 0..rows, &mut |_| {
                let share = random.below(1 << 30) as f64 / (1 << 30) as f64;
                let k = (if skewed { share.powi(4) } else { share } * f64::from(values)) as u32;
                seen.insert(k);
                Some(k)
            });
            let found = engine.analyze_table(&table, &Interrupt::new()).unwrap();
            let truth = seen.len() as u64;
            let estimate = found.distinct[1][0];
            assert!(ratio(found.rows, rows.into()) < 1.2, "{} rows", found.rows);
            assert!(ratio(estimate, truth) < 2.0, "{estimate} for {truth} of {values}, skewed: {skewed}");
            assert!(ratio(found.distinct[0][0], rows.into()) < 1.2, "{:?}", found.distinct);
            assert!(ratio(found.distinct[1][1], rows.into()) < 1.2, "{:?}", found.distinct);
            assert_eq!(
                facts(&engine.analyze_table(&table, &Interrupt::new()).unwrap()),
                facts(&found),
                "the same pages tell the same"
            );
        }
    }
}

#[test]
fn small_tables_are_counted() {
    let (_, engine) = new_engine(7);
    let table = create(&engine, &[]);
    assert_eq!(engine.analyze_table(&table, &Interrupt::new()).unwrap().distinct, vec![vec![0], vec![0, 0]]);
    fill(&engine, &table, 0..300, &mut |id| (id % 10 > 0).then_some(id % 10));
    let found = engine.analyze_table(&table, &Interrupt::new()).unwrap();
    assert_eq!((found.rows, found.distinct), (300, vec![vec![300], vec![10, 300]]));
    engine.set_config(|config| config.stats_method = storage::config::StatisticsMethod::NullsUnequal);
    assert_eq!(
        engine.analyze_table(&table, &Interrupt::new()).unwrap().distinct[1],
        [39, 300],
        "each NULL is another one"
    );
    engine.set_config(|config| config.stats_method = storage::config::StatisticsMethod::NullsIgnored);
    assert!((9..=10).contains(&engine.analyze_table(&table, &Interrupt::new()).unwrap().distinct[1][0]));
}

#[test]
fn estimates_are_the_same_after_a_restart_and_after_a_crash() {
    let (disk, engine) = new_engine(7);
    let t = create(&engine, &[]);
    fill(&engine, &t, 0..5000, &mut |id| Some(id % 77));
    let taken = facts(&engine.analyze_table(&t, &Interrupt::new()).unwrap());
    // Not enough to take them anew.
    fill(&engine, &t, 5000..5050, &mut |id| Some(id));
    let shown = facts(&engine.table_statistics(&t));
    assert_eq!((shown.0, &shown.3), (taken.0 + 50, &taken.3));
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk);
    assert_eq!(facts(&engine.table_statistics(&table(&engine))), shown, "a shutdown saves the number of rows, too");
    let analyzed = facts(&engine.analyze_table(&table(&engine), &Interrupt::new()).unwrap());
    drop(engine);
    let engine = open(&disk.crash());
    assert_eq!(facts(&engine.table_statistics(&table(&engine))), analyzed);
    let check = engine.check().unwrap();
    assert!(check.is_clean(), "{check:?}");
}

/// Changes of rows are counted in memory, so a crash forgets them: the pages of the table tell.
#[test]
fn estimates_of_before_a_crash_are_compared_with_the_table() {
    for (options, is_renewed) in [(&[][..], true), (&[("STATS_AUTO_RECALC", "0")][..], false)] {
        let (disk, engine) = new_engine(7);
        let t = create(&engine, options);
        engine.analyze_table(&t, &Interrupt::new()).unwrap();
        fill(&engine, &t, 0..3000, &mut |id| Some(id % 5));
        drop(engine);
        let engine = open(&disk.crash());
        let t = table(&engine);
        assert_eq!(t.state.statistics.estimates().unwrap().rows, 0, "as they were saved");
        engine.table_statistics(&t);
        let rows = t.state.statistics.estimates().unwrap().rows;
        assert!(if is_renewed { ratio(rows, 3000) < 1.1 } else { rows == 0 }, "{options:?}: {rows} rows");
    }
}

#[test]
fn analyzing_a_table_can_be_stopped() {
    let (_, engine) = new_engine(7);
    let t = create(&engine, &[]);
    fill(&engine, &t, 0..3000, &mut |id| Some(id % 5));
    let interrupt = Interrupt::new();
    interrupt.set(Kill::Query);
    assert!(matches!(engine.analyze_table(&t, &interrupt), Err(Error::Interrupted)));
    assert!(t.state.statistics.estimates().is_none());
    interrupt.clear();
    assert!(ratio(engine.analyze_table(&t, &interrupt).unwrap().rows, 3000) < 1.1);
}

#[test]
fn the_background_takes_them_anew_and_saves_them() {
    let (disk, engine) = new_engine(7);
    let t = create(&engine, &[]);
    engine.analyze_table(&t, &Interrupt::new()).unwrap();
    fill(&engine, &t, 0..2000, &mut |id| Some(id % 5));
    while engine.step().unwrap() {}
    assert_eq!(t.state.statistics.estimates().unwrap().rows, 0, "not at once");
    disk.pass(Duration::from_secs(20));
    while engine.step().unwrap() {}
    let known = t.state.statistics.estimates().unwrap();
    assert_eq!((known.rows, known.indexes[1].distinct[0].values), (2000, 5));
    assert!(!t.state.statistics.is_unsaved());
    drop(engine);
    let engine = open(&disk.crash());
    assert_eq!(table(&engine).state.statistics.estimates(), Some(known));
}

#[test]
fn a_statement_takes_them_anew_unless_the_table_says_otherwise() {
    for (options, renewed) in [(&[][..], 2000), (&[("STATS_AUTO_RECALC", "0")][..], 0)] {
        let (_, engine) = new_engine(7);
        let t = create(&engine, options);
        engine.analyze_table(&t, &Interrupt::new()).unwrap();
        fill(&engine, &t, 0..2000, &mut |id| Some(id % 5));
        engine.table_statistics(&t);
        assert_eq!(t.state.statistics.estimates().unwrap().rows, renewed, "{options:?}");
    }
}

#[test]
fn what_is_not_to_outlast_the_server_does_not() {
    for (options, of_server, kept) in [
        (&[][..], true, true),
        (&[][..], false, false),
        (&[("STATS_PERSISTENT", "0")][..], true, false),
        (&[("STATS_PERSISTENT", "1")][..], false, true),
    ] {
        let (disk, engine) = new_engine(7);
        engine.set_config(|config| config.stats_persistent = of_server);
        let t = create(&engine, options);
        fill(&engine, &t, 0..100, &mut Some);
        engine.analyze_table(&t, &Interrupt::new()).unwrap();
        assert_eq!(engine.persistent_estimates(&t).is_some(), kept);
        engine.close().unwrap();
        drop(engine);
        let engine = open(&disk);
        assert_eq!(table(&engine).state.statistics.estimates().is_some(), kept, "{options:?} {of_server}");
    }
}

#[test]
fn more_sampled_pages_are_looked_at() {
    let (_, engine) = new_engine(7);
    let t = create(&engine, &[("STATS_SAMPLE_PAGES", "3")]);
    fill(&engine, &t, 0..9000, &mut Some);
    engine.analyze_table(&t, &Interrupt::new()).unwrap();
    let sampled = |t: &Table| t.state.statistics.estimates().unwrap().indexes[0].distinct[0].sampled_pages;
    assert_eq!(sampled(&t), 3);
    let change = |options: &mut storage::TableOptions| options.create_options.clear();
    let t = engine.alter_table_options("d", "t", &TrxOptions::default(), &mut { change }).unwrap();
    engine.analyze_table(&t, &Interrupt::new()).unwrap();
    assert_eq!(sampled(&t), 20);
}

fn columns_with_histograms(table: &Table) -> Vec<String> {
    table.state.statistics.histograms().iter().map(|histogram| histogram.column.to_string()).collect()
}

/// Histograms follow their table and columns, and go with them; estimates of what is dropped leave nothing behind.
#[test]
fn histograms_follow_their_columns() {
    let (disk, engine) = new_engine(7);
    let wait = TrxOptions::default();
    let t = create(&engine, &[]);
    fill(&engine, &t, 0..50, &mut Some);
    engine.analyze_table(&t, &Interrupt::new()).unwrap();
    let histograms = vec![Histogram::new("id", b"of id"), Histogram::new("k", b"of k")];
    engine.change_histograms(&t, &wait, |_| histograms).unwrap();
    let engine = {
        drop(engine);
        open(&disk)
    };
    assert_eq!(columns_with_histograms(&table(&engine)), ["id", "k"]);
    assert_eq!(&*table(&engine).state.statistics.histogram("K").unwrap().bytes, b"of k");
    engine.rename_tables(&[(("d", "t"), ("d", "u"))], &wait).unwrap();
    engine.rename_tables(&[(("d", "u"), ("d", "t"))], &wait).unwrap();
    engine.truncate_table("d", "t", &wait).unwrap();
    assert_eq!(columns_with_histograms(&table(&engine)), ["id", "k"]);
    let change = |definition: &mut TableDefinition| definition.columns[1].ty = ColumnType::VarBinary { bytes: 9 };
    engine.rebuild_table("d", "t", change, &wait).unwrap();
    assert_eq!(columns_with_histograms(&table(&engine)), ["id"], "another type has other values");
    {
        let locked = engine.lock_definitions(&[("d", "t")], storage::Relatives::Along, &wait).unwrap();
        let mut alteration = locked.alter("d", "t").unwrap();
        alteration.definition.columns[0].name = "number".into();
        alteration.definition.renamed_columns.push(("id".into(), "number".into()));
        alteration.column_origins = Some(vec![Some(0), Some(1)]);
        alteration.in_place().unwrap();
    }
    assert_eq!(columns_with_histograms(&table(&engine)), ["number"]);
    drop(engine);
    let engine = open(&disk);
    assert_eq!(columns_with_histograms(&table(&engine)), ["number"]);
    engine.drop_tables(&[("d", "t")], &wait).unwrap();
    let again = create(&engine, &[]);
    assert!(again.state.statistics.estimates().is_none() && columns_with_histograms(&again).is_empty());
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk);
    assert!(columns_with_histograms(&table(&engine)).is_empty());
    let check = engine.check().unwrap();
    assert!(check.is_clean(), "{check:?}");
}

/// What needs room is refused, what was there stays, and the next attempt works.
#[test]
fn a_full_disk_keeps_the_histograms_of_before() {
    let (disk, engine) = new_engine(7);
    let wait = TrxOptions::default();
    let t = create(&engine, &[]);
    fill(&engine, &t, 0..500, &mut Some);
    engine.change_histograms(&t, &wait, |_| vec![Histogram::new("k", b"of k")]).unwrap();
    // The file has to grow for it.
    let large: Vec<u8> = (0..1 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    disk.set_faults(|faults| faults.capacity_blocks = Some(0));
    let refused = engine.change_histograms(&t, &wait, |_| vec![Histogram::new("k", &large)]);
    assert!(matches!(refused, Err(Error::DiskFull { .. })), "{refused:?}");
    assert_eq!(&*t.state.statistics.histogram("k").unwrap().bytes, b"of k");
    disk.set_faults(|faults| faults.capacity_blocks = None);
    engine.analyze_table(&t, &Interrupt::new()).unwrap();
    engine.change_histograms(&t, &wait, |_| vec![Histogram::new("k", &large)]).unwrap();
    drop(engine);
    let engine = open(&disk.crash());
    assert_eq!(table(&engine).state.statistics.histogram("k").unwrap().bytes[..], large);
    assert_eq!(engine.table_statistics(&table(&engine)).rows, 500);
    let check = engine.check().unwrap();
    assert!(check.is_clean(), "{check:?}");
}

/// An index that is built later is known when it is asked for.
#[test]
fn a_new_index_is_estimated() {
    let (_, engine) = new_engine(7);
    let t = create(&engine, &[]);
    fill(&engine, &t, 0..1000, &mut |id| Some(id % 4));
    engine.analyze_table(&t, &Interrupt::new()).unwrap();
    let index = IndexDefinition::new("both", false, &[1, 0]);
    let t = engine.create_index("d", "t", index, &TrxOptions::default()).unwrap();
    assert_eq!(engine.table_statistics(&t).distinct, vec![vec![1000], vec![4, 1000], vec![4, 1000]]);
    let t = engine.drop_index("d", "t", "k", &TrxOptions::default()).unwrap();
    assert_eq!(engine.table_statistics(&t).distinct, vec![vec![1000], vec![4, 1000]]);
    let mut trx = engine.begin(TrxOptions::default());
    let (mut count, mut row) = (0, Row::new());
    let mut cursor = trx.cursor(&t, 1, ReadMode::Consistent, ColumnSet::first(2), ScanRange::ALL).unwrap();
    while cursor.next(&mut trx, &mut row).unwrap() {
        count += 1;
    }
    assert_eq!(count, 1000);
}
