//! TIMESTAMP columns in zones with rules: the same rows are found by an index, by a scan, by text and by parameters, at
//! every minute around the changes of the clock.

mod common;

use common::{Scratch, ask, instance, session};
use storage::Config;

/// Zones, and the moments at which their clocks changed, in UTC.
const CHANGES: [(&str, &str); 5] = [
    ("Europe/Berlin", "2024-10-27 01:00:00"),
    ("Europe/Berlin", "2024-03-31 01:00:00"),
    ("Australia/Lord_Howe", "2024-04-06 15:00:00"),
    ("Pacific/Apia", "2011-12-30 10:00:00"),
    ("America/New_York", "2024-11-03 06:00:00"),
];

#[test]
fn an_index_finds_what_a_scan_finds_around_a_change_of_the_clock() {
    let scratch = Scratch::new("time-zones");
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    ask(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, KEY (ts))");
    let mut more_than_one = 0;
    for (zone, change) in CHANGES {
        ask(&mut session, "SET time_zone = '+00:00'");
        ask(&mut session, "DELETE FROM t");
        for step in -12..=12 {
            let insert = format!("INSERT INTO t VALUES ({}, '{change}' + INTERVAL {} MINUTE)", step + 12, step * 10);
            assert_eq!(ask(&mut session, &insert), ["= 1 rows"], "{insert}");
        }
        let utc = ask(&mut session, "SELECT id, UNIX_TIMESTAMP(ts) FROM t ORDER BY id");
        assert_eq!(ask(&mut session, &format!("SET time_zone = '{zone}'")), ["= 0 rows"]);
        assert_eq!(ask(&mut session, "SELECT id, UNIX_TIMESTAMP(ts) FROM t ORDER BY id"), utc, "{zone}");
        let shown = ask(&mut session, &format!("SELECT CONVERT_TZ('{change}', '+00:00', '{zone}')"));
        let around = shown[1].trim_start_matches("| ").to_owned();
        for step in -30..=30 {
            let line = ask(&mut session, &format!("SELECT '{around}' + INTERVAL {} MINUTE", step * 5));
            let literal = line[1].trim_start_matches("| ").to_owned();
            for op in ["=", "<", "<=", ">", ">=", "<=>"] {
                let mut found = Vec::new();
                for hint in ["FORCE INDEX (ts)", "IGNORE INDEX (ts)"] {
                    found.push(ask(
                        &mut session,
                        &format!("SELECT id FROM t {hint} WHERE ts {op} '{literal}' ORDER BY id"),
                    ));
                    let prepare = format!("PREPARE s FROM 'SELECT id FROM t {hint} WHERE ts {op} ? ORDER BY id'");
                    assert_eq!(ask(&mut session, &prepare), ["= 0 rows; Statement prepared"]);
                    ask(&mut session, &format!("SET @moment = '{literal}'"));
                    found.push(ask(&mut session, "EXECUTE s USING @moment"));
                }
                more_than_one += u32::from(op == "=" && found[0].len() > 2);
                assert!(found.iter().all(|rows| *rows == found[0]), "{zone}: ts {op} '{literal}': {found:?}");
            }
            let both = "SELECT a.id, b.id FROM t a JOIN t b {} ON b.ts = a.ts ORDER BY 1, 2";
            let joined =
                ["FORCE INDEX (ts)", "IGNORE INDEX (ts)"].map(|hint| ask(&mut session, &both.replace("{}", hint)));
            assert_eq!(joined[0], joined[1], "{zone}");
        }
    }
    assert!(more_than_one > 5, "some local times are two moments");
}
