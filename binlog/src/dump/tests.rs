use super::*;
use format::binlog::StatusVars;

#[test]
fn places_come_back_whatever_the_files_are_called() {
    for base in ["binlog", "my.bin-log", "a.0-1"] {
        let file = FileName { base: base.into(), number: 1_000_007 };
        for (within, position) in [(None, 1234), (Some(0), 1234), (Some(77), 5_000_000_000)] {
            let place = Place { file: file.clone(), position, within };
            let told = within.map_or(position, |within| within + FIRST);
            assert_eq!(Place::parse(base, &place.name(), told), Some(place));
        }
    }
    for (name, position) in [("binlog.0-000007-x", 4), ("binlog.0-000007", 4), ("binlog.0-000007-9", 3), ("other", 4)] {
        assert_eq!(Place::parse("binlog", name, position), None, "{name}");
    }
}

#[test]
fn mariadb_is_sent_no_statements_about_accounts() {
    let query = |statement| {
        let mut body = Vec::new();
        let vars = StatusVars::default();
        Query { connection: 1, seconds: 0, error: 0, vars, database: b"", statement }.encode(&mut body);
        body
    };
    assert_eq!(for_mariadb(&query(b"DROP USER IF EXISTS 'a'@'b'")), Some(query(b"DO 0                       ")));
    assert_eq!(for_mariadb(&query(b"REVOKE r FROM u")), Some(query(b"DO 0           ")));
    assert_eq!(for_mariadb(&query(b"DROP TABLE t")), None);
}

#[test]
fn collations_that_a_client_does_not_know_are_replaced_in_place() {
    let query = |charset, database_collation| {
        let vars = StatusVars { charset: Some(charset), database_collation, ..StatusVars::default() };
        let mut body = Vec::new();
        Query { connection: 1, seconds: 0, error: 0, vars, database: b"d", statement: b"BEGIN" }.encode(&mut body);
        body
    };
    let known = with_known_collations(&query([45, 255, 309], Some(255))).unwrap();
    assert_eq!(known, query([45, 246, 246], Some(246)));
    assert_eq!(with_known_collations(&query([45, 45, 8], None)), None);
    assert_eq!(with_known_collations(b"no statement"), None);
}
