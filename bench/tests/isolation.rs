//! Isolation as users of InnoDB know it: the same interleavings on Glassine and on MariaDB, level by level. Who waits,
//! who fails, who sees what has to agree; where it does not, the difference stands in `EXPLAINED` with its reason.

use std::fmt::Write;

use bench::isolation::{LEVELS, parse, play};
use bench::process::{Kind, Options, Scratch, Server, mariadb_is_installed};

/// (case, level) where the two differ, and why.
const EXPLAINED: &[(&str, &str, &str)] = &[
    ("nowait", LEVELS[0], NOWAIT),
    ("nowait", LEVELS[1], NOWAIT),
    ("nowait", LEVELS[2], NOWAIT),
    ("nowait", LEVELS[3], NOWAIT),
];
const NOWAIT: &str = "NOWAIT is MySQL's error 3572, where MariaDB says 1205";

#[test]
fn interleavings_end_as_in_mariadb() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let scratch = Scratch::new("isolation").expect("a directory");
    let options = Options::default();
    let ours = Server::create(Kind::Glassine, &scratch.0.join("glassine"), &options).expect("Glassine starts");
    let theirs = Server::create(Kind::MariaDb, &scratch.0.join("mariadb"), &options).expect("MariaDB starts");
    let cases = parse(include_str!("isolation/anomalies.txt")).expect("a script");
    let mut report = String::new();
    // The two levels that are used most; all four, with ISOLATION_ALL set, take minutes.
    let levels = if std::env::var_os("ISOLATION_ALL").is_some() { &LEVELS[..] } else { &LEVELS[1..3] };
    for case in &cases {
        for &level in levels {
            let both = || {
                let (mut left, mut right) = std::thread::scope(|scope| {
                    let left = scope.spawn(|| play(&ours, case, level, &[]).expect("Glassine answers"));
                    let right = play(&theirs, case, level, &[]).expect("MariaDB answers");
                    (left.join().expect("the player ends"), right)
                });
                // At which of two steps a wakened session was heard is chance.
                left.sort();
                right.sort();
                (left, right)
            };
            // A slow moment looks like a wait: what differs is played again.
            let (left, right) = match both() {
                (left, right) if left != right => both(),
                same => same,
            };
            let explained = EXPLAINED.iter().any(|(name, at, _)| *name == case.name && *at == level);
            if left != right && !explained {
                writeln!(report, "\n{} at {level}: {}", case.name, case.title).expect("a string takes all");
                for line in &left {
                    let mark = if right.contains(line) { ' ' } else { '+' };
                    writeln!(report, "  {mark} {line}").expect("a string takes all");
                }
                for line in right.iter().filter(|line| !left.contains(line)) {
                    writeln!(report, "  - {line}").expect("a string takes all");
                }
            }
        }
    }
    ours.stop().expect("a clean shutdown");
    theirs.stop().expect("a clean shutdown");
    assert!(report.is_empty(), "ours +, MariaDB's -{report}");
}
