//! Files that this server writes and MariaDB loads, and the other way: a few dozen formats. `bench files` does more.

use bench::files::{Arguments, play};
use bench::process::mariadb_is_installed;

#[test]
fn files_go_from_one_server_to_the_other() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    // `bench files` takes a fresh seed. Now and then it meets a piece of a text that the servers convert to different dates,
    // as INSERT does, where a terminator stands in the values.
    for seed in [11, 12, 363_355_542] {
        let (seed, outcome) = play(&Arguments { rounds: 25, seed: Some(seed) }).expect("two servers");
        let shown: Vec<String> = outcome.differences.iter().map(|difference| format!("{difference:?}\n")).collect();
        assert!(shown.is_empty(), "seed {seed}: {} differ\n{}", shown.len(), shown.concat());
        assert!(outcome.restored > 5 && outcome.loaded > 20, "seed {seed}: {outcome:?}");
    }
}
