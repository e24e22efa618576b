//! Files of tables that go from one server to the other: `FLUSH TABLES ... FOR EXPORT`, a copy, `IMPORT TABLESPACE`.
//!
//! MariaDB's files are imported with and without their description, under definitions with indexes that the files do not have;
//! ours are imported by MariaDB, with their secondary indexes, and by an instance of ours with another page size.

use std::fs;
use std::path::Path;

use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server, mariadb_is_installed};

fn server(kind: Kind, scratch: &Scratch, name: &str, more: &[&str]) -> Server {
    let more = more.iter().map(|option| (*option).to_owned()).collect();
    let options = Options { pool: "64M".into(), log: "64M".into(), more, ..Options::default() };
    Server::create(kind, &scratch.0.join(name), &options).expect("a server starts")
}

fn run(client: &mut Client, statement: &str) {
    client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// What happens to be in a table, in the order of its first column.
fn rows(client: &mut Client, table: &str, columns: &str) -> Vec<Vec<Option<String>>> {
    let question = format!("SELECT {columns} FROM {table} ORDER BY 1");
    client.query(&question).unwrap_or_else(|error| panic!("{question}: {error}")).rows
}

/// A table that is moved: its name, definition, more that the receiver has, how it is filled, and what is compared.
struct Moved {
    name: &'static str,
    columns: &'static str,
    options: &'static str,
    more: &'static str,
    fill: &'static str,
    compared: &'static str,
}

const ALL_TYPES: &str = "id INT NOT NULL AUTO_INCREMENT, a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT, d BIGINT UNSIGNED NOT NULL, y YEAR, \
    bt BIT(13), f FLOAT, db DOUBLE UNSIGNED, de DECIMAL(12,3), da DATE, ti TIME(2), dt DATETIME(6), ts TIMESTAMP NULL, \
    ch CHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, chl CHAR(10) CHARACTER SET latin1, vl VARCHAR(200) CHARACTER SET latin1, \
    v VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, bi BINARY(7), vb VARBINARY(300), tx TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, \
    mt MEDIUMTEXT CHARACTER SET latin1, bl LONGBLOB, e ENUM('x','y','z') CHARACTER SET latin1, \
    s SET('a','b','c','d') CHARACTER SET latin1, g GEOMETRY, PRIMARY KEY (id)";

const ALL_TYPES_ROWS: &str = "INSERT INTO t1 (d, a, b, c, y, bt, f, db, de, da, ti, dt, ts, ch, chl, vl, v, bi, vb, tx, mt, bl, e, s, g) \
    SELECT n, n % 240 - 120, n * 7 % 65536, n * 31 - 70000, 1901 + n % 250, n % 8192, n / 8, n * 1.5, n * 1.25 - 1000, \
    DATE_ADD('2000-01-01', INTERVAL n DAY), SEC_TO_TIME(n * 17 - 20000), DATE_ADD('2001-02-03 04:05:06.123456', INTERVAL n * 7919 SECOND), \
    NULLIF(DATE_ADD('2001-02-03 04:05:06', INTERVAL n HOUR), '2001-02-13 00:05:06'), CONCAT('é', n), CONCAT('l', n % 100), \
    REPEAT('v', n % 190), CONCAT('Größe ', n), CHAR(n % 256, 0, n % 7), NULLIF(REPEAT(CHAR(n % 256), n % 290), ''), \
    REPEAT('text ', n % 400), REPEAT('m', IF(n % 50 = 0, 60000, n % 30)), REPEAT(CHAR(n % 256), IF(n % 40 = 0, 100000, n % 20)), \
    1 + n % 3, n % 16, IF(n % 9 = 0, NULL, ST_GeomFromText(CONCAT('POINT(', n, ' ', -n, ')'))) FROM numbers";

const MOVED: &[Moved] = &[
    Moved {
        name: "t1",
        columns: ALL_TYPES,
        options: "",
        more: ", UNIQUE KEY (v), KEY (b, c), KEY (tx(20), e), KEY (de, dt)",
        fill: ALL_TYPES_ROWS,
        compared: "id, a, b, c, d, y, bt + 0, f, db, de, da, ti, dt, ts, ch, chl, vl, v, HEX(bi), HEX(vb), tx, MD5(mt), MD5(bl), e, s, \
                   ST_AsText(g)",
    },
    // Rows in the order of their insertion, the beginnings of long values in the records.
    Moved {
        name: "t2",
        columns: "a INT, b VARCHAR(50) CHARACTER SET latin1, c MEDIUMTEXT CHARACTER SET latin1",
        options: " ROW_FORMAT=COMPACT",
        more: ", KEY (b)",
        fill: "INSERT INTO t2 SELECT n, CONCAT('b', n % 77), REPEAT(CHAR(65 + n % 26), n * 13) FROM numbers",
        compared: "a, b, MD5(c), LENGTH(c)",
    },
    // Computed columns, of which InnoDB stores one.
    Moved {
        name: "t3",
        columns: "a INT NOT NULL, b INT, v INT GENERATED ALWAYS AS (a * 2) VIRTUAL, s INT GENERATED ALWAYS AS (a + b) STORED, \
                  PRIMARY KEY (a)",
        options: "",
        more: ", KEY (v), KEY (s)",
        fill: "INSERT INTO t3 (a, b) SELECT n, n * 3 FROM numbers",
        compared: "a, b, v, s",
    },
    // A hidden column of InnoDB's.
    Moved {
        name: "t4",
        columns: "a INT NOT NULL PRIMARY KEY, b TEXT CHARACTER SET latin1, FULLTEXT KEY (b)",
        options: "",
        more: "",
        fill: "INSERT INTO t4 SELECT n, CONCAT('word', n % 10, ' other text') FROM numbers",
        compared: "a, b",
    },
    // A key of two columns, one of them by its beginning.
    Moved {
        name: "t5",
        columns: "a VARCHAR(20) CHARACTER SET latin1 NOT NULL, b INT NOT NULL, c INT, PRIMARY KEY (a(5), b)",
        options: "",
        more: ", KEY (c)",
        fill: "INSERT INTO t5 SELECT CONCAT('k', n % 9, ' and more'), n, n % 5 FROM numbers",
        compared: "b, a, c",
    },
    // Descending trees.
    Moved {
        name: "t6",
        columns: "a INT NOT NULL, b INT NOT NULL, c VARCHAR(20) CHARACTER SET latin1, PRIMARY KEY (a DESC, b)",
        options: "",
        more: ", KEY (c DESC)",
        fill: "INSERT INTO t6 SELECT n, n % 5, CONCAT('c', n % 3) FROM numbers",
        compared: "a, b, c",
    },
];

/// The numbers from 1 to 2000, which the tables are filled with.
fn prepare(client: &mut Client) {
    for statement in [
        "SET time_zone = '+00:00'",
        "CREATE DATABASE d CHARACTER SET latin1",
        "USE d",
        "CREATE TABLE numbers (n INT PRIMARY KEY)",
    ] {
        run(client, statement);
    }
    let numbers: Vec<String> = (1..=2000).map(|n| format!("({n})")).collect();
    run(client, &format!("INSERT INTO numbers VALUES {}", numbers.join(",")));
}

/// Copies the file of a table, and what else lies beside it, from one directory to another.
fn copy(name: &str, endings: &[&str], from: &Path, to: &Path) {
    for ending in endings {
        let file = format!("{name}.{ending}");
        fs::copy(from.join(&file), to.join(&file)).expect("a copy of an exported file");
    }
}

const DESCRIBED: &[&str] = &["ibd", "cfg"];

fn create_statement(moved: &Moved, more: bool) -> String {
    format!(
        "CREATE TABLE {} ({}{}) ENGINE=InnoDB{}",
        moved.name,
        moved.columns,
        if more { moved.more } else { "" },
        moved.options
    )
}

/// Creates and fills the tables, deletes some rows, and returns what they have and where the copies of their files are.
fn export(client: &mut Client, from: &Server, to: &Path, more: bool, options: &str) -> Vec<Vec<Vec<Option<String>>>> {
    fs::create_dir_all(to).expect("a directory");
    let mut all = Vec::new();
    for moved in MOVED {
        run(client, &(create_statement(moved, more) + options));
        run(client, moved.fill);
        let number = moved.compared.split(',').next().unwrap_or_default();
        run(client, &format!("DELETE FROM {} WHERE {number} % 7 = 3", moved.name));
        run(client, &format!("FLUSH TABLES {} FOR EXPORT", moved.name));
        copy(moved.name, DESCRIBED, &from.directory.join("data/d"), to);
        run(client, "UNLOCK TABLES");
        let description = from.directory.join(format!("data/d/{}.cfg", moved.name));
        assert!(!description.exists(), "the description goes with the lock");
        all.push(rows(client, moved.name, moved.compared));
    }
    all
}

/// Imports copies of files into tables of these definitions, and compares.
fn import(client: &mut Client, to: &Server, from: &Path, described: bool, wanted: &[Vec<Vec<Option<String>>>]) {
    for (moved, wanted) in MOVED.iter().zip(wanted) {
        let name = moved.name;
        run(client, &format!("DROP TABLE IF EXISTS {name}"));
        run(client, &create_statement(moved, true));
        run(client, &format!("ALTER TABLE {name} DISCARD TABLESPACE"));
        copy(name, if described { DESCRIBED } else { &["ibd"] }, from, &to.directory.join("data/d"));
        run(client, &format!("ALTER TABLE {name} IMPORT TABLESPACE"));
        let warnings = client.query("SHOW WARNINGS").expect("warnings").rows;
        assert_eq!(warnings.len(), usize::from(!described), "{name}: {warnings:?}");
        assert_eq!(&rows(client, name, moved.compared), wanted, "{name}, described: {described}");
        let check = client.query(&format!("CHECK TABLE {name} EXTENDED")).expect("CHECK TABLE");
        assert_eq!(check.rows.last().and_then(|row| row[3].as_deref()), Some("OK"), "{name}: {check:?}");
    }
    let found = client.query("SELECT COUNT(*) FROM t4 WHERE MATCH (b) AGAINST ('word3')").expect("a count").number();
    let all = wanted[3].iter().filter(|row| row[1].as_deref().is_some_and(|text| text.contains("word3"))).count();
    assert_eq!(found, all as i64);
    // The counter goes on behind the rows.
    run(client, "INSERT INTO t1 (d) VALUES (1)");
    let last =
        client.query("SELECT MAX(id) = LAST_INSERT_ID() AND LAST_INSERT_ID() > 2000 FROM t1").expect("an id").number();
    assert_eq!(last, 1);
    run(client, "DELETE FROM t1 WHERE id > 2000");
}

#[test]
fn files_of_mariadb_are_imported() {
    if !mariadb_is_installed() {
        return;
    }
    let scratch = Scratch::new("tablespaces-in").expect("a directory");
    let ours = server(Kind::Glassine, &scratch, "glassine", &[]);
    let mut client = ours.connect().expect("a connection");
    prepare(&mut client);
    for (number, (checksum, options)) in
        [("full_crc32", ""), ("crc32", ""), ("full_crc32", " PAGE_COMPRESSED=1"), ("crc32", " PAGE_COMPRESSED=1")]
            .into_iter()
            .enumerate()
    {
        let name = format!("mariadb-{number}");
        let peer = server(Kind::MariaDb, &scratch, &name, &[&format!("--innodb-checksum-algorithm={checksum}")]);
        let mut theirs = peer.connect().expect("a connection");
        prepare(&mut theirs);
        let copies = scratch.0.join(format!("copies-{number}"));
        let wanted = export(&mut theirs, &peer, &copies, false, options);
        for described in [true, false] {
            import(&mut client, &ours, &copies, described, &wanted);
        }
    }
}

#[test]
fn our_files_are_imported_by_mariadb_and_by_another_instance() {
    if !mariadb_is_installed() {
        return;
    }
    let scratch = Scratch::new("tablespaces-out").expect("a directory");
    let ours = server(Kind::Glassine, &scratch, "glassine", &[]);
    let mut client = ours.connect().expect("a connection");
    prepare(&mut client);
    let copies = scratch.0.join("copies");
    let wanted = export(&mut client, &ours, &copies, true, " COMPRESSION='none'");

    let peer = server(Kind::MariaDb, &scratch, "mariadb", &["--innodb-checksum-algorithm=crc32"]);
    let mut theirs = peer.connect().expect("a connection");
    prepare(&mut theirs);
    // The rows of COMPACT tables have another form, VIRTUAL columns are stored here, full-text indexes are other trees.
    for at in [0, 4, 5] {
        let moved = &MOVED[at];
        run(&mut theirs, &create_statement(moved, true));
        run(&mut theirs, &format!("ALTER TABLE {} DISCARD TABLESPACE", moved.name));
        copy(moved.name, DESCRIBED, &copies, &peer.directory.join("data/d"));
        run(&mut theirs, &format!("ALTER TABLE {} IMPORT TABLESPACE", moved.name));
        let check = theirs.query(&format!("CHECK TABLE {} EXTENDED", moved.name)).expect("CHECK TABLE");
        assert_eq!(check.rows.last().and_then(|row| row[3].as_deref()), Some("OK"), "{check:?}");
        assert_eq!(rows(&mut theirs, moved.name, moved.compared), wanted[at], "{}", moved.name);
    }
    // Its own indexes are right for what comes.
    run(&mut theirs, "INSERT INTO t1 (d, v, b, c, tx) SELECT n, CONCAT('new ', n), n, -n, REPEAT('x', n) FROM numbers");
    let check = theirs.query("CHECK TABLE t1 EXTENDED").expect("CHECK TABLE");
    assert_eq!(check.rows.last().and_then(|row| row[3].as_deref()), Some("OK"), "{check:?}");
    // A file that only an instance of ours can read is refused there.
    run(&mut theirs, &create_statement(&MOVED[2], true));
    run(&mut theirs, "ALTER TABLE t3 DISCARD TABLESPACE");
    copy("t3", DESCRIBED, &copies, &peer.directory.join("data/d"));
    assert!(theirs.query("ALTER TABLE t3 IMPORT TABLESPACE").is_err());

    let other = server(Kind::Glassine, &scratch, "other", &["--innodb-page-size=8k"]);
    let mut client = other.connect().expect("a connection");
    prepare(&mut client);
    for described in [true, false] {
        import(&mut client, &other, &copies, described, &wanted);
    }
}
