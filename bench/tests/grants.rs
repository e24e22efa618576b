//! What accounts may do, compared with MariaDB: a few hundred random cases. `bench grants` does ten thousand.

use bench::grants::{Arguments, play};
use bench::process::mariadb_is_installed;

#[test]
fn random_grants_allow_and_deny_what_they_do_on_mariadb() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let seed = std::env::var("GLASSINE_SEED").ok().and_then(|seed| seed.parse().ok());
    let (seed, outcome) = play(&Arguments { cases: 400, seed, verbose: false }).expect("two servers");
    let shown: Vec<String> = outcome.differences.iter().map(ToString::to_string).collect();
    assert!(shown.is_empty(), "seed {seed}: {} differ\n{}", shown.len(), shown.concat());
    assert!(outcome.allowed > 20 && outcome.denied > 20, "seed {seed}: {outcome:?}");
}
