//! LOAD DATA and SELECT ... INTO OUTFILE: rows to files and back.
//!
//! Beside MariaDB the same is played by `bench files`; `server/tests/client` has a client's own files.

mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use format::packet::ColumnDefinition;
use format::value::{ColumnType, Value, Zone};
use sql::result::StoredColumn;
use sql::{Error, Instance, OkSummary, ResultSink, Session};
use storage::{Config, Kill, Row};

use common::random::Random;
use common::{Lines, Scratch, ask, instance, logged_instance, session, session_of};

/// A session, and a directory that its statements may name.
struct Bench {
    session: Session,
    instance: Arc<Instance>,
    files: PathBuf,
    // Dropped last.
    _scratch: [Scratch; 2],
}

impl Bench {
    fn new(name: &str) -> Bench {
        let scratch = [Scratch::new(&format!("load-{name}")), Scratch::new(&format!("load-files-{name}"))];
        let instance = instance(&scratch[0].0, Config::tiny());
        let files = fs::canonicalize(&scratch[1].0).expect("a directory");
        let allowed = instance.variables.load_option("secure_file_priv", files.to_str().expect("a path"));
        allowed.expect("an option");
        Bench { session: session(&instance), instance, files, _scratch: scratch }
    }

    fn ask(&mut self, statement: &str) -> Vec<String> {
        let statement = statement.replace("DIR", self.files.to_str().expect("a path"));
        ask(&mut self.session, &statement)
    }

    /// What a statement answers that has no rows.
    fn one(&mut self, statement: &str) -> String {
        self.ask(statement).join("\n").replace(self.files.to_str().expect("a path"), "DIR")
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.files.join(name), bytes).expect("a file");
    }

    fn expect(&mut self, statement: &str, answer: &str) {
        assert_eq!(self.one(statement), answer, "{statement}");
    }
}

/// A view's columns are the file's, and rows that WITH CHECK OPTION refuses do not come in.
#[test]
fn files_go_into_views() {
    let mut bench = Bench::new("views");
    bench.one("CREATE TABLE t (id INT PRIMARY KEY, n INT, other INT DEFAULT 5)");
    bench.one("CREATE VIEW v AS SELECT n AS many, id AS k FROM t WHERE n < 100 WITH CHECK OPTION");
    bench.one("CREATE VIEW sums AS SELECT n, COUNT(*) AS c FROM t GROUP BY n");
    bench.write("a", b"10,1\n20,2\n");
    bench.write("b", b"3,4,30\n");
    bench.write("c", b"300,5\n");
    bench.expect(
        "LOAD DATA INFILE 'DIR/a' INTO TABLE v FIELDS TERMINATED BY ','",
        "= 2 rows; Records: 2  Deleted: 0  Skipped: 0  Warnings: 0",
    );
    bench.expect(
        "LOAD DATA INFILE 'DIR/b' INTO TABLE v FIELDS TERMINATED BY ',' (k, @x, many) SET many = many + @x",
        "= 1 rows; Records: 1  Deleted: 0  Skipped: 0  Warnings: 0",
    );
    for (statement, error) in [
        ("LOAD DATA INFILE 'DIR/c' INTO TABLE v FIELDS TERMINATED BY ','", "! 1369 CHECK OPTION failed 'test.v'"),
        ("LOAD DATA INFILE 'DIR/a' INTO TABLE v (id)", "! 1054 Unknown column 'id' in 'field list'"),
        ("LOAD DATA INFILE 'DIR/a' INTO TABLE sums", "! 1288 The target table sums of the LOAD is not updatable"),
    ] {
        bench.expect(statement, error);
    }
    let rows = "| id | n | other\n| 1 | 10 | 5\n| 2 | 20 | 5\n| 3 | 34 | 5";
    bench.expect("SELECT * FROM t", rows);
}

/// Answers of MariaDB 10.11, checked by hand.
#[test]
fn fields_go_to_columns_and_variables() {
    let mut bench = Bench::new("fields");
    bench.one("SET sql_mode = ''");
    bench.one(
        "CREATE TABLE t (a INT NOT NULL DEFAULT 7, b VARCHAR(5) DEFAULT 'dd', c DATETIME NOT NULL, d INT DEFAULT 9, \
         e VARCHAR(3) NOT NULL DEFAULT 'ee', f INT)",
    );
    bench.write("a", b"1,a,2020-01-01\n2\n\\N,\\N\n4,\"\\N\",x,y\n5,b\n6,c,NULL,extra");
    bench.expect(
        "LOAD DATA INFILE 'DIR/a' INTO TABLE t FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' (a, b, c) \
         SET d = a + 1, b = UPPER(b)",
        "= 6 rows; Records: 6  Deleted: 0  Skipped: 0  Warnings: 8\n~ 8 warnings",
    );
    bench.expect(
        "SHOW WARNINGS",
        "| Level | Code | Message\n\
         | Warning | 1261 | Row 2 doesn't contain data for all columns\n\
         | Warning | 1261 | Row 2 doesn't contain data for all columns\n\
         | Warning | 1263 | Column set to default value; NULL supplied to NOT NULL column 'a' at row 3\n\
         | Warning | 1261 | Row 3 doesn't contain data for all columns\n\
         | Warning | 1265 | Data truncated for column 'c' at row 4\n\
         | Warning | 1262 | Row 4 was truncated; it contained more data than there were input columns\n\
         | Warning | 1261 | Row 5 doesn't contain data for all columns\n\
         | Warning | 1263 | Column set to default value; NULL supplied to NOT NULL column 'c' at row 6",
    );
    bench.expect(
        "SELECT * FROM t",
        "| a | b | c | d | e | f\n\
         | 1 | A | 2020-01-01 00:00:00 | 2 | ee | NULL\n\
         | 2 |  | 0000-00-00 00:00:00 | 3 | ee | NULL\n\
         | 0 | NULL | 0000-00-00 00:00:00 | 1 | ee | NULL\n\
         | 4 | NULL | 0000-00-00 00:00:00 | 5 | ee | NULL\n\
         | 5 | B | 0000-00-00 00:00:00 | 6 | ee | NULL\n\
         | 6 | C | 0000-00-00 00:00:00 | 7 | ee | NULL",
    );
    bench.one("TRUNCATE t");
    bench.write("b", b"1,2\n3,4\n");
    bench.expect(
        "LOAD DATA INFILE 'DIR/b' INTO TABLE t FIELDS TERMINATED BY ',' IGNORE 1 LINES (@x, a) SET f = @x * 10 + a",
        "= 1 rows; Records: 1  Deleted: 0  Skipped: 0  Warnings: 1\n~ 1 warnings",
    );
    bench
        .expect("SHOW WARNINGS", "| Level | Code | Message\n| Warning | 1364 | Field 'c' doesn't have a default value");
    bench.expect("SELECT a, f, @x FROM t", "| a | f | @x\n| 4 | 34 | 3");
    bench.one("SET sql_mode = 'STRICT_TRANS_TABLES'");
    for (statement, error) in [
        (
            "LOAD DATA INFILE 'DIR/b' INTO TABLE t FIELDS TERMINATED BY ','",
            "! 1261 Row 1 doesn't contain data for all columns",
        ),
        (
            "LOAD DATA INFILE 'DIR/b' INTO TABLE t FIELDS TERMINATED BY ',' (a)",
            "! 1364 Field 'c' doesn't have a default value",
        ),
        (
            "LOAD DATA INFILE 'DIR/b' INTO TABLE t FIELDS TERMINATED BY ',' (a) SET c = NOW()",
            "! 1262 Row 1 was truncated; it contained more data than there were input columns",
        ),
        (
            "LOAD DATA INFILE 'DIR/a' INTO TABLE t FIELDS TERMINATED BY ',' (a, nope)",
            "! 1054 Unknown column 'nope' in 'field list'",
        ),
        (
            "LOAD DATA INFILE 'DIR/a' INTO TABLE t FIELDS ENCLOSED BY 'ab'",
            "! 1083 Field separator argument is not what is expected; check the manual",
        ),
        (
            "LOAD DATA INFILE 'DIR/a' INTO TABLE t FIELDS TERMINATED BY '' (a, @x)",
            "! 1409 Can't load value from file with fixed size rows to variable",
        ),
        (
            "LOAD DATA INFILE 'DIR/none' INTO TABLE t",
            "! 13 Can't get stat of 'DIR/none' (OS errno 2 - No such file or directory)",
        ),
        (
            "LOAD DATA INFILE 'DIR' INTO TABLE t",
            "! 1085 The file 'DIR' must be in the database directory or be readable by all",
        ),
        ("LOAD DATA INFILE 'DIR/a' INTO TABLE t CHARACTER SET klingon", "! 1115 Unknown character set: 'klingon'"),
        ("LOAD DATA INFILE 'DIR/a' INTO TABLE t PARTITION (p)", "! 1747 PARTITION () clause on non partitioned table"),
        (
            "LOAD DATA LOCAL INFILE 'DIR/a' INTO TABLE t",
            "! 3948 Loading local data is disabled; this must be enabled on both the client and server sides",
        ),
        (
            "PREPARE p FROM 'LOAD DATA INFILE \"x\" INTO TABLE t'",
            "! 1295 This command is not supported in the prepared statement protocol yet",
        ),
    ] {
        bench.expect(statement, error);
    }
    bench.expect("SELECT COUNT(*) FROM t", "| COUNT(*)\n| 1");
}

#[test]
fn duplicates_are_refused_ignored_or_replaced() {
    let mut bench = Bench::new("duplicates");
    bench.one("CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT, b INT)");
    bench.one("INSERT INTO t VALUES (2, 20)");
    bench.write("a", b"1\t1\n2\t2\n\\N\t3\n");
    bench.expect("LOAD DATA INFILE 'DIR/a' INTO TABLE t", "! 1062 Duplicate entry '2' for key 't.PRIMARY'");
    bench.expect("SELECT * FROM t", "| a | b\n| 2 | 20");
    bench.expect(
        "LOAD DATA INFILE 'DIR/a' IGNORE INTO TABLE t",
        "= 2 rows, id 3; Records: 3  Deleted: 0  Skipped: 1  Warnings: 1\n~ 1 warnings",
    );
    bench.expect("SELECT * FROM t", "| a | b\n| 1 | 1\n| 2 | 20\n| 3 | 3");
    bench.expect(
        "LOAD DATA LOW_PRIORITY INFILE 'DIR/a' REPLACE INTO TABLE t (a, b) SET b = DEFAULT",
        "= 5 rows, id 4; Records: 3  Deleted: 2  Skipped: 0  Warnings: 0",
    );
    bench.expect("SELECT * FROM t", "| a | b\n| 1 | NULL\n| 2 | NULL\n| 3 | 3\n| 4 | NULL");
}

#[test]
fn a_format_says_how_rows_are_written_and_read() {
    let mut bench = Bench::new("format");
    bench.one("CREATE TABLE t (a INT, b VARCHAR(20), c DATE)");
    bench.one("INSERT INTO t VALUES (1, 'x\"y\\tz', '2020-01-02'), (NULL, NULL, NULL), (-3, 'a,\\n\\\\\\0', NULL)");
    for (format, text) in [
        ("", &b"1\tx\"y\\\tz\t2020-01-02\n\\N\t\\N\t\\N\n-3\ta,\\\n\\\\\\0\t\\N\n"[..]),
        (
            "FIELDS TERMINATED BY ',' ENCLOSED BY '\"'",
            b"\"1\",\"x\\\"y\tz\",\"2020-01-02\"\n\\N,\\N,\\N\n\"-3\",\"a,\\\n\\\\\\0\",\\N\n",
        ),
        (
            "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '\"' LINES STARTING BY '>>' TERMINATED BY '|'",
            b">>1,\"x\"\"y\tz\",\"2020-01-02\"|>>\"N,\"N,\"N|>>-3,\"a,\n\\\"0\",\"N|",
        ),
        (
            "FIELDS TERMINATED BY '' LINES TERMINATED BY '\\n'",
            b"1          x\"y\tz               2020-01-02\n                                         \n-3         a,\\\n\\\\\\0                         \n",
        ),
    ] {
        bench.expect(&format!("SELECT a, CONVERT(b USING latin1), c INTO OUTFILE 'DIR/out' {format} FROM t"), "= 3 rows");
        let written = fs::read(bench.files.join("out")).expect("a file");
        assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(text), "{format}");
        bench.one("DROP TABLE IF EXISTS u");
        bench.one("CREATE TABLE u (a INT, b VARCHAR(20) CHARACTER SET latin1, c DATE)");
        let load = format!("LOAD DATA INFILE 'DIR/out' INTO TABLE u CHARACTER SET latin1 {format}");
        if format.contains("''") {
            // There is no NULL among fields of fixed lengths: spaces are no number.
            let answer = bench.one(&load);
            assert!(answer.starts_with("! 1366 ") && answer.ends_with("'a' at row 2"), "{answer}");
        } else if !format.contains("ESCAPED BY '\"'") {
            // (With the quote as escape, NULL is `"N`, which no reader can tell from a quoted N.)
            bench.expect(&load, "= 3 rows; Records: 3  Deleted: 0  Skipped: 0  Warnings: 0");
            assert_eq!(bench.ask("SELECT * FROM t"), bench.ask("SELECT * FROM u"), "{format}");
        }
        fs::remove_file(bench.files.join("out")).expect("removed");
    }
    bench.expect("SELECT 1 INTO OUTFILE 'DIR/one'", "= 1 rows");
    bench.expect("SELECT 1 INTO OUTFILE 'DIR/one'", "! 1086 File 'DIR/one' already exists");
    bench.expect("SELECT 1, 'a\\tb' INTO DUMPFILE 'DIR/dump'", "= 1 rows");
    assert_eq!(fs::read(bench.files.join("dump")).expect("a file"), b"1a\tb");
    bench.expect("SELECT 1 UNION SELECT 2 INTO DUMPFILE 'DIR/two'", "! 1172 Result consisted of more than one row");
    assert!(!bench.files.join("two").exists(), "what failed leaves no file");
    bench.expect(
        "SELECT 1 INTO OUTFILE 'DIR/none/x'",
        "! 1290 The Glassine server is running with the --secure-file-priv option so it cannot execute this statement",
    );
    bench.expect(
        "SELECT (SELECT 1 INTO OUTFILE 'DIR/x')",
        "! 3954 Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.",
    );
}

#[test]
fn files_lie_where_secure_file_priv_says_and_never_in_the_data_directory() {
    let mut bench = Bench::new("secure");
    let refused =
        "! 1290 The Glassine server is running with the --secure-file-priv option so it cannot execute this statement";
    bench.one("CREATE TABLE t (a INT)");
    bench.write("a", b"1\n");
    std::os::unix::fs::symlink("/etc/passwd", bench.files.join("link")).expect("a link");
    let own = bench.instance.datadir.join("x");
    for name in ["/etc/passwd", "DIR/../x", "DIR/link", "/nowhere/at/all", "a"] {
        bench.expect(&format!("LOAD DATA INFILE '{name}' INTO TABLE t"), refused);
        bench.expect(&format!("SELECT 1 INTO OUTFILE '{name}'"), refused);
    }
    bench.instance.variables.load_option("secure_file_priv", "").expect("an option");
    for statement in ["LOAD DATA INFILE 'PATH' INTO TABLE t", "SELECT 1 INTO DUMPFILE 'PATH'"] {
        for name in [own.to_str().expect("a path"), "x"] {
            let answer = bench.one(&statement.replace("PATH", name));
            assert!(answer.starts_with("! 1105 ") && answer.contains("data directory"), "{answer}");
        }
    }
    bench.expect("LOAD DATA INFILE 'DIR/a' INTO TABLE t", "= 1 rows; Records: 1  Deleted: 0  Skipped: 0  Warnings: 0");
    bench.one("CREATE USER u");
    bench.one("GRANT INSERT, SELECT ON test.* TO u");
    bench.session.set_user("u", "localhost");
    let denied = "! 1045 Access denied for user 'u'@'%' (using password: YES)";
    bench.expect("LOAD DATA INFILE 'DIR/a' INTO TABLE t", denied);
    let denied = "! 1227 Access denied; you need (at least one of) the FILE privilege(s) for this operation";
    bench.expect("SELECT 1 INTO OUTFILE 'DIR/b'", denied);
}

/// By default no statement reads or writes a file of the server's.
#[test]
fn without_secure_file_priv_no_file_is_touched() {
    let scratch = Scratch::new("load-null");
    let mut session = session(&instance(&scratch.0, Config::tiny()));
    ask(&mut session, "CREATE TABLE t (a INT)");
    for statement in ["LOAD DATA INFILE '/etc/passwd' INTO TABLE t", "SELECT 1 INTO OUTFILE '/tmp/glassine-never'"] {
        assert!(ask(&mut session, statement)[0].starts_with("! 1290 "), "{statement}");
    }
}

/// A client with a file.
struct ClientFile {
    lines: Lines,
    pieces: Vec<Vec<u8>>,
    asked: Vec<u8>,
    on_piece: Box<dyn FnMut()>,
}

impl ClientFile {
    fn new(bytes: &[u8], piece: usize) -> ClientFile {
        let pieces = bytes.chunks(piece).rev().map(<[u8]>::to_vec).collect();
        ClientFile { lines: Lines::default(), pieces, asked: Vec::new(), on_piece: Box::new(|| {}) }
    }
}

impl ResultSink for ClientFile {
    fn columns(&mut self, columns: &[ColumnDefinition]) {
        self.lines.columns(columns);
    }
    fn row(&mut self, values: &[Value], types: &[ColumnType]) {
        self.lines.row(values, types);
    }
    fn row_stored(&mut self, row: &Row, columns: &[StoredColumn], zone: Zone) {
        self.lines.row_stored(row, columns, zone);
    }
    fn ok(&mut self, summary: &OkSummary<'_>) {
        self.lines.ok(summary);
    }
    fn error(&mut self, error: &Error) {
        self.lines.error(error);
    }
    fn begin_file(&mut self, name: &[u8], _: usize, _: Duration) -> Result<(), Error> {
        self.asked = name.to_vec();
        Ok(())
    }
    fn read_file(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        (self.on_piece)();
        let piece = self.pieces.pop();
        out.extend_from_slice(piece.as_deref().unwrap_or_default());
        Ok(piece.is_some())
    }
}

#[test]
fn a_client_sends_a_file_in_pieces_of_any_size() {
    let mut bench = Bench::new("local");
    bench.one("SET GLOBAL local_infile = 1");
    bench.one("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(30))");
    let text = b"::1||\"a||b\"\"c\"\r\n::2||\\N\r\nnoise ::3||d\\\r\ne\r\n::3||again\r\nrest";
    let load = "LOAD DATA LOCAL INFILE 'my file' INTO TABLE t FIELDS TERMINATED BY '||' ENCLOSED BY '\"' \
                LINES STARTING BY '::' TERMINATED BY '\\r\\n'";
    for piece in 1..text.len() {
        bench.one("TRUNCATE t");
        let mut client = ClientFile::new(text, piece);
        bench.session.query(load.as_bytes(), &mut client);
        let answer = ["= 3 rows; Records: 4  Deleted: 0  Skipped: 1  Warnings: 1", "~ 1 warnings"];
        assert_eq!(client.lines.lines, answer, "pieces of {piece}");
        assert_eq!(client.asked, b"my file");
        bench.expect("SELECT * FROM t", "| a | b\n| 1 | a||b\"c\n| 2 | NULL\n| 3 | 0x640D0A65");
    }
}

/// The lines that a killed statement had loaded are rolled back; a line that never ends is refused before it has filled
/// the memory.
#[test]
fn a_load_can_be_killed_and_a_line_has_a_limit() {
    let scratch = Scratch::new("load-kill");
    let instance = instance(&scratch.0, Config::tiny());
    let process = instance.processes.register("localhost");
    let mut session = session_of(&instance, process.clone());
    ask(&mut session, "SET GLOBAL local_infile = 1");
    ask(&mut session, "CREATE TABLE t (a INT)");
    let mut pieces = 0;
    let interrupt = process.interrupt.clone();
    let mut client = ClientFile::new(&b"1\n".repeat(100_000), 1000);
    client.on_piece = Box::new(move || {
        pieces += 1;
        if pieces == 50 {
            interrupt.set(Kill::Query);
        }
    });
    session.query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t", &mut client);
    assert_eq!(client.lines.lines, ["! 1317 Query execution was interrupted"]);
    assert_eq!(client.pieces.len(), 150, "the rest has not been read");
    assert_eq!(ask(&mut session, "SELECT COUNT(*) FROM t"), ["| COUNT(*)", "| 0"]);

    ask(&mut session, "SET GLOBAL max_allowed_packet = 1048576");
    let mut session = session_of(&instance, instance.processes.register("localhost"));
    let mut client = ClientFile::new(&vec![b'x'; 16 << 20], 100_000);
    session.query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t", &mut client);
    assert_eq!(client.lines.lines, ["! 1153 Got a packet bigger than 'max_allowed_packet' bytes"]);
    assert!(client.pieces.len() > 100, "most of it has not been read");
}

/// What is loaded is logged row by row: a replica needs no file.
#[test]
fn loaded_rows_are_in_the_binary_log() {
    let scratch = Scratch::new("load-log");
    let instance = logged_instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    ask(&mut session, "SET GLOBAL local_infile = 1");
    ask(&mut session, "CREATE TABLE t (a INT)");
    let mut client = ClientFile::new(b"1\n2\n", 10);
    session.query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t", &mut client);
    let events = ask(&mut session, "SHOW BINLOG EVENTS").join("\n");
    let (tables, rows) = (events.matches("| Table_map |").count(), events.matches("| Write_rows |").count());
    assert_eq!((tables, rows), (1, 1), "{events}");
    assert!(!events.contains("LOAD DATA"), "{events}");
}

/// Any value survives any format that can tell values apart.
#[test]
fn what_is_written_is_read_back() {
    let mut bench = Bench::new("relation");
    let mut random = Random::new(11);
    bench.one("SET NAMES utf8mb4");
    for round in 0..60 {
        bench.one("DROP TABLE IF EXISTS t, u");
        let table = "(id INT PRIMARY KEY, a VARCHAR(20), b TEXT CHARACTER SET latin1, c VARBINARY(20), d DECIMAL(8,2), e DATETIME(3))";
        bench.one(&format!("CREATE TABLE t {table}"));
        bench.one(&format!("CREATE TABLE u {table}"));
        for id in 0..8 {
            let mut text = || {
                const PARTS: &[&str] =
                    &["61", "2c", "09", "0a", "0d", "22", "5c", "4e", "00", "c3a9", "7c", "27", "3a"];
                let parts: Vec<&str> = (0..random.below(6)).map(|_| PARTS[random.below(PARTS.len())]).collect();
                if random.below(5) == 0 {
                    "NULL".into()
                } else {
                    format!("CONVERT(x'{}' USING utf8mb4)", parts.concat())
                }
            };
            let (a, b, c) = (text(), text(), text());
            let answer = bench
                .one(&format!("INSERT INTO t VALUES ({id}, {a}, {b}, {c}, {id} / 3 - 1, '2020-01-01 01:02:03.5')"));
            assert!(answer.starts_with("= 1"), "{answer}");
        }
        let mut pick = |all: &[&'static str]| all[random.below(all.len())];
        let format = format!(
            "FIELDS TERMINATED BY '{}' {} ESCAPED BY '{}' LINES STARTING BY '{}' TERMINATED BY '{}'",
            pick(&[",", "\\t", "||", ":,"]),
            pick(&["", "ENCLOSED BY '\"'", "OPTIONALLY ENCLOSED BY '\\''"]),
            pick(&["\\\\", "!"]),
            pick(&["", "", "=>"]),
            pick(&["\\n", "\\r\\n", ";"]),
        );
        let file = format!("DIR/{round}");
        bench.expect(&format!("SELECT * INTO OUTFILE '{file}' {format} FROM t ORDER BY id"), "= 8 rows");
        bench.expect(
            &format!("LOAD DATA INFILE '{file}' INTO TABLE u CHARACTER SET binary {format}"),
            "= 8 rows; Records: 8  Deleted: 0  Skipped: 0  Warnings: 0",
        );
        assert_eq!(bench.ask("SELECT * FROM t ORDER BY id"), bench.ask("SELECT * FROM u ORDER BY id"), "{format}");
    }
}

/// LOAD XML as MariaDB answers it, but for CDATA and blanks around `=`, which MySQL and MariaDB read otherwise.
#[test]
fn xml_files_become_rows() {
    let mut bench = Bench::new("xml");
    bench.write(
        "a",
        br#"<?xml version="1.0"?>
<!-- <row a="99"/> -->
<resultset statement="select &lt;1&gt;" b="outer">
  <row a="1" b="x &amp; y"/>
  <row><field name="a">2</field><field name="b">two &lt;2&gt; &#65; &unknown; &apos;&quot;</field></row>
  <row><a>3</a><b>  three  </b></row>
  <row a='4'></row>
  <row><a>5</a><B>five</B></row>
  <row><a>6</a><b/></row>
  <row><a>7</a><b></b><c>cc</c></row>
  <row><field name="a">8</field><field name="b" xsi:nil="true" /></row>
  <item><row a="9"><b>in<i>ner</i>text</b></row></item>
  <row a="10" b="a<b"/>
  <ROW a="13" b="upper"/>
  <row a=15 b=unquoted />
  <row b="alone"/>
</resultset>
"#,
    );
    bench.one("SET sql_mode = ''");
    bench.one(
        "CREATE TABLE t (a INT, b VARCHAR(50) DEFAULT 'd', c VARCHAR(5) DEFAULT 'd', n INT NOT NULL DEFAULT 3,
         id INT PRIMARY KEY AUTO_INCREMENT)",
    );
    bench.expect(
        "LOAD XML INFILE 'DIR/a' INTO TABLE t",
        "= 12 rows, id 1; Records: 12  Deleted: 0  Skipped: 0  Warnings: 12\n~ 12 warnings",
    );
    let all = [
        "| 1 | x & y | NULL | 0",
        "| 2 | two <2> &#65; &unknown; '\" | NULL | 0",
        "| 3 |   three   | NULL | 0",
        "| 4 | outer | NULL | 0",
        "| 5 | outer | NULL | 0",
        "| 6 | outer | NULL | 0",
        "| 7 | outer | cc | 0",
        "| 8 | outer | NULL | 0",
        "| 9 | in | NULL | 0",
        "| 10 | a<b | NULL | 0",
        "| 15 | unquoted | NULL | 0",
        "| NULL | alone | NULL | 0",
    ];
    assert_eq!(bench.ask("SELECT a, b, c, n FROM t ORDER BY id")[1..], all);
    bench.one("TRUNCATE TABLE t");
    bench.one("LOAD XML INFILE 'DIR/a' INTO TABLE t IGNORE 9 ROWS (a, @b) SET b = CONCAT('[', @b, ']')");
    let some = ["| 10 | [a<b] | d | 3", "| 15 | [unquoted] | d | 3", "| NULL | [alone] | d | 3"];
    assert_eq!(bench.ask("SELECT a, b, c, n FROM t ORDER BY id")[1..], some);
    for (rest, rows) in [
        ("ROWS IDENTIFIED BY '<resultset>' (@statement, b)", &["| NULL | alone | select <1>"][..]),
        ("ROWS IDENTIFIED BY '<item>' (a, b)", &["| 9 | in | NULL"]),
        ("ROWS IDENTIFIED BY 'row' (a, b)", &[]),
        ("ROWS IDENTIFIED BY '<ROW>' (a, b)", &["| 13 | upper | NULL"]),
        ("ROWS IDENTIFIED BY '' (a, b)", &[]),
    ] {
        bench.one("TRUNCATE TABLE t");
        bench.one("SET @statement = NULL");
        bench.one(&format!("LOAD XML INFILE 'DIR/a' INTO TABLE t {rest}"));
        assert_eq!(bench.ask("SELECT a, b, @statement FROM t ORDER BY id")[1..], *rows, "{rest}");
    }
    // What every LOAD does.
    bench.one("SET sql_mode = DEFAULT");
    bench.expect(
        "LOAD XML INFILE 'DIR/a' INTO TABLE t",
        "! 1263 Column set to default value; NULL supplied to NOT NULL column 'n' at row 1",
    );
    bench.one("CREATE TABLE keyed (a INT PRIMARY KEY, b VARCHAR(50))");
    bench.one("INSERT INTO keyed VALUES (1, 'old'), (2, 'old')");
    bench.write("b", b"<row a='1' b='new'/><row a='2' b='new'/><row a='3' b='new'/>");
    bench.expect("LOAD XML INFILE 'DIR/b' INTO TABLE keyed", "! 1062 Duplicate entry '1' for key 'keyed.PRIMARY'");
    bench.one("LOAD XML INFILE 'DIR/b' IGNORE INTO TABLE keyed");
    assert_eq!(bench.ask("SELECT * FROM keyed")[1..], ["| 1 | old", "| 2 | old", "| 3 | new"]);
    bench.one("LOAD XML INFILE 'DIR/b' REPLACE INTO TABLE keyed CHARACTER SET latin1");
    assert_eq!(bench.ask("SELECT * FROM keyed")[1..], ["| 1 | new", "| 2 | new", "| 3 | new"]);
    bench.one("CREATE VIEW v AS SELECT b AS text, a AS number FROM keyed");
    bench.write("c", b"<row number='4' text='viewed' a='9'/>");
    bench.one("LOAD XML LOW_PRIORITY INFILE 'DIR/c' INTO TABLE v");
    assert_eq!(bench.ask("SELECT * FROM keyed WHERE a > 3")[1..], ["| 4 | viewed"]);
    bench.expect("LOAD XML INFILE 'DIR/c' INTO TABLE keyed (nobody)", "! 1054 Unknown column 'nobody' in 'field list'");
    bench.write("d", b"<row a='5'><b>cut off");
    bench.one("LOAD XML INFILE 'DIR/d' INTO TABLE keyed");
    bench.write("e", b"<row a=\"6\" b=\"cut");
    bench.one("LOAD XML INFILE 'DIR/e' INTO TABLE keyed");
    assert_eq!(bench.ask("SELECT COUNT(*) FROM keyed")[1..], ["| 4"]);
}
