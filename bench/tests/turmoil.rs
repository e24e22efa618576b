//! Rows are the same whatever way one looks for them, while they and their tables change and servers are killed: a short run
//! of `bench turmoil`.

#[test]
fn rows_are_the_same_by_every_way() {
    let seed = std::env::var("GLASSINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let arguments = bench::turmoil::Arguments { sessions: 5, kills: 2, life_ms: 4000, seed };
    let outcome = bench::turmoil::play(&arguments).expect("the same by every way");
    println!("seed {seed}: {outcome:?}");
    let done = [outcome.done, outcome.defined, outcome.snapshots];
    assert!(done.iter().all(|count| *count > 0), "seed {seed}: {outcome:?}: too little was done");
}
