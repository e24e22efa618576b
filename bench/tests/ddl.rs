//! Changes of one table at one time survive each other and kill -9: a short run of `bench ddl`.

#[test]
fn no_change_of_a_table_is_lost() {
    let arguments = bench::ddl::Arguments { owners: 4, kills: 3, life_ms: 2500 };
    let outcome = bench::ddl::play(&arguments).expect("a table as it was altered");
    assert!(outcome.altered > 0 && outcome.rows > 0, "{outcome:?}: nothing was done");
}

/// A short run of `bench online`: its writers go on, and in the end all rows are there.
#[test]
fn a_table_is_altered_beside_its_writers() {
    let arguments = bench::online::Arguments {
        rows: 2000,
        writers: 3,
        rounds: 1,
        pool: "64M".into(),
        load_only: false,
        alone: true,
    };
    let outcome = bench::online::play(&arguments).expect("a table with all its rows");
    let went_on = |servers: &Vec<bench::online::Measured>| servers[0].stalls.iter().all(|stall| *stall > 0.0);
    assert!(!outcome.changes.is_empty() && outcome.changes.iter().all(went_on), "no writer was there");
}
