//! A short replay of MariaDB's own test files: no server ends, nothing hangs, no row is wrong.
//!
//! `bench replay --strict` does the same over all of them.

use std::time::{Duration, Instant};

use bench::process::{Scratch, mariadb_is_installed};
use bench::replay::known::Known;
use bench::replay::pair::Pair;
use bench::replay::play::{Setting, play};
use bench::replay::stream::Event;
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

/// A procedure that never ends gives one result after the other, so that something arrives all the time: a replay once
/// waited for its end.
#[test]
fn calls_without_end_are_killed_on_both_sides_and_the_stream_goes_on() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let scratch = Scratch::new("replay-endless").expect("a scratch directory");
    let mut pair = Pair::create(&scratch.0).expect("both servers start");
    let mut events = vec![Event::Open { connection: 1, collation: 8, database: "test".into() }];
    for text in [
        "create procedure answers() begin loop select 1; end loop; end",
        "create procedure nothing() begin declare i int default 0; loop set i = i + 1; end loop; end",
        "call answers()",
        "call nothing()",
        "select 'still here'",
    ] {
        events.push(Event::Statement { connection: 1, text: text.into() });
        events.push(Event::Answer { connection: 1, code: 0 });
    }
    let known = Known::of_repository().expect("the list is well formed");
    let setting = Setting { known: &known, patience: Duration::from_millis(1500) };
    let start = Instant::now();
    let tally = play(&setting, &mut pair, "endless", &events).expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!(tally.differences.len(), 0, "{:?}", tally.differences);
    assert_eq!(tally.undecided.get("takes both servers too long"), Some(&2));
    assert_eq!(tally.statements, 5);
    assert_eq!(tally.same, 3, "the procedures, and what came after the calls");
}
