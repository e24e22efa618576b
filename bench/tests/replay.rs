//! A short replay of MariaDB's own test files: no server ends, nothing hangs, no row is wrong.
//!
//! `bench replay --strict` does the same over all of them.

use bench::process::Scratch;
use bench::replay::known::Known;
use bench::replay::{Arguments, is_possible, record, replay};

/// Of several suites, 2,800 statements.
const FILES: [&str; 9] = [
    "engines-iuds.delete_",
    "engines-iuds.update_decimal",
    "engines-iuds.update_time",
    "engines-funcs.in_string",
    "main.subselect_innodb",
    "main.join_nested",
    "main.order_by_innodb",
    "main.null_key",
    "main.limit",
];

#[test]
fn a_handful_of_files_is_answered_as_by_mariadb() {
    if !is_possible() {
        println!("skipped: mariadbd or mariadb-test-data is not installed");
        return;
    }
    let scratch = Scratch::new("replay-test").expect("a scratch directory");
    let arguments = Arguments {
        suites: record::SUITES_DEFAULT.into(),
        only: FILES.iter().map(|name| name.to_string()).collect(),
        streams: Some(scratch.0.join("streams")),
        report: None,
        workers: 2,
        record_seconds: 20,
        seconds: 20,
        record_only: false,
        strict: true,
    };
    let known = Known::of_repository().expect("the list is well formed");
    let tally = replay(&arguments, &known, None).expect("both servers start").expect("it was replayed");
    print!("{}", tally.summary(&known));
    tally.write(&scratch.0).expect("the report is written");
    let report = std::fs::read_to_string(scratch.0.join("differences.txt")).expect("the report is there");
    assert!(tally.statements > 2_000, "only {} statements were recorded", tally.statements);
    assert!(tally.same * 2 > tally.statements, "most statements are compared, and the same");
    assert_eq!(tally.wrong().count(), 0, "{report}");
}
