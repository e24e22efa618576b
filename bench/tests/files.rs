//! Files that this server writes and MariaDB loads, and the other way: a few dozen formats. `bench files` does more.

use bench::files::{Arguments, play};
use bench::process::mariadb_is_installed;

#[test]
fn files_go_from_one_server_to_the_other() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let seed = std::env::var("GLASSINE_SEED").ok().and_then(|seed| seed.parse().ok());
    let (seed, outcome) = play(&Arguments { rounds: 40, seed }).expect("two servers");
    let shown: Vec<String> = outcome.differences.iter().map(|difference| format!("{difference:?}\n")).collect();
    assert!(shown.is_empty(), "seed {seed}: {} differ\n{}", shown.len(), shown.concat());
    assert!(outcome.restored > 10 && outcome.loaded > 40, "seed {seed}: {outcome:?}");
}
