//! A folder of two scripts and a recorded output, in which every kind of difference stands once.

use std::path::Path;

use bench::process::glassine_binary;
use bench::replay::compare::Kind;
use bench::suite::{Arguments, is_possible, play_all};

#[test]
fn every_kind_of_difference_is_found_once() {
    if !is_possible() || !glassine_binary().exists() {
        println!("skipped: mysqltest is not installed, or Glassine is not built");
        return;
    }
    let arguments = Arguments {
        folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite"),
        suites: "main".into(),
        only: Vec::new(),
        report: None,
        workers: 1,
        seconds: 60,
    };
    let report = play_all(&arguments).expect("the folder is played");
    let summary = report.files.get("main.tiny").expect("it is the only file");
    for kind in [Kind::Rows, Kind::Order, Kind::Warnings, Kind::Refused, Kind::Errors] {
        assert_eq!(summary.count(kind), 1, "{}: {report:?}", kind.name());
    }
    // SELECT 1, and CREATE TABLE u.
    assert_eq!(summary.count(Kind::Accepted), 2, "{report:?}");
    assert_eq!(summary.statements, 18, "{report:?}");
    assert_eq!(summary.same, 9, "{report:?}");
    // u is another table on each side.
    assert_eq!(summary.not_comparable.get("after a refusal"), Some(&1), "{report:?}");
    assert_eq!(summary.not_comparable.get("left to the server"), Some(&1), "{report:?}");
}
