//! Changes of one table at one time survive each other and kill -9: a short run of `bench ddl`.

#[test]
fn no_change_of_a_table_is_lost() {
    let arguments = bench::ddl::Arguments { owners: 4, kills: 3, life_ms: 2500 };
    let outcome = bench::ddl::play(&arguments).expect("a table as it was altered");
    assert!(outcome.altered > 0 && outcome.rows > 0, "{outcome:?}: nothing was done");
}
