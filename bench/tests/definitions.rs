//! Definitions of every kind are whole or not there at all, whatever ends them: a short run of `bench definitions`.

use bench::process::mariadb_is_installed;

#[test]
fn no_definition_is_lost_or_half_done() {
    if !mariadb_is_installed() {
        println!("skipped: the client that replays the log is MariaDB's");
        return;
    }
    let seed = std::env::var("GLASSINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let arguments = bench::definitions::Arguments { owners: 4, kills: 4, life_ms: 3000, seed };
    let outcome = bench::definitions::play(&arguments).expect("everything as it was answered");
    println!("seed {seed}: {outcome:?}");
    assert!(outcome.done > 100 && outcome.interrupted > 0, "{outcome:?}: too little was done");
}
