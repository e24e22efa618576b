//! Queries whose rows do not fit into their buffers have the same answers as those whose rows do; what they keep is
//! accounted for; and KILL ends them in any operator.
//!
//! `SPILL_CASES=10000 cargo test -p sql --test spilling` asks as many queries; `SPILL_SEED=n` replays one.

mod common;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use common::random::{Random, first_seed};
use common::{Scratch, ask, instance, session, session_of};
use parking_lot::Mutex;
use sql::temporary::file::{Directory, SpillFile};
use sql::{Instance, Session};
use storage::{Config, Kill};

const SMALL: &str = "SET sort_buffer_size = 32768, join_buffer_size = 128, tmp_table_size = 1024";
const LARGE: &str = "SET sort_buffer_size = 1 << 30, join_buffer_size = 1 << 30, tmp_table_size = 1 << 30, \
                     max_heap_table_size = 1 << 30";

/// Columns that compare with their own kind, and how a table has them.
const COLUMNS: &[(&str, &str)] = &[
    ("i", "INT"),
    ("s", "SMALLINT"),
    ("v", "VARCHAR(60) COLLATE utf8mb4_general_ci"),
    ("w", "VARCHAR(60) COLLATE utf8mb4_0900_ai_ci"),
    ("b", "VARBINARY(60)"),
    ("d", "DECIMAL(20,3)"),
    ("f", "DOUBLE"),
    ("m", "DATETIME(3)"),
    ("p", "TIMESTAMP NULL"),
    ("h", "TIME"),
    ("y", "YEAR"),
    ("e", "ENUM('one','two','three')"),
    ("t", "SET('x','y','z')"),
    ("j", "JSON"),
    ("x", "TEXT"),
];

fn literal(random: &mut Random, column: &str) -> String {
    if random.below(9) == 0 {
        return "NULL".to_owned();
    }
    let number = random.below(160);
    match column {
        "i" => format!("{}", number as i64 - 40),
        // Nearly all rows have one key.
        "s" => {
            if random.below(30) == 0 {
                format!("{}", number % 5)
            } else {
                "7".to_owned()
            }
        }
        "v" | "w" => {
            let text = format!("text number {number}");
            format!("'{}'", if random.below(2) == 0 { text.to_uppercase() } else { text })
        }
        "b" => format!("x'{:04X}'", number * 31),
        "d" => format!("{}.{:03}", number, number % 4 * 250),
        "f" => format!("{}", number as f64 / 4.0),
        "m" => format!("'2020-01-{:02} 10:{:02}:00.500'", number % 28 + 1, number % 60),
        "p" => format!("'2021-03-{:02} 02:{:02}:00'", number % 28 + 1, number % 60),
        "h" => format!("'{}{}:{:02}:00'", if number.is_multiple_of(2) { "-" } else { "" }, number, number % 60),
        "y" => format!("{}", 1990 + number % 60),
        "e" => format!("{}", number % 3 + 1),
        "t" => format!("{}", number % 8),
        "j" => format!("'{{\"k\": [{number}, \"{number}\", null]}}'"),
        // Some are longer than a buffer.
        _ => match random.below(80) {
            0 => format!("REPEAT('long {number} ', 5000)"),
            _ => format!("'short {number}'"),
        },
    }
}

fn fill(session: &mut Session, name: &str, rows: usize, random: &mut Random) {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
    run(session, &format!("CREATE TABLE {name} (id INT PRIMARY KEY, {})", columns.join(", ")));
    let mut id = 0;
    while id < rows {
        let some: Vec<String> = (0..100.min(rows - id))
            .map(|at| {
                let values: Vec<String> = COLUMNS.iter().map(|(column, _)| literal(random, column)).collect();
                format!("({}, {})", id + at, values.join(", "))
            })
            .collect();
        run(session, &format!("INSERT INTO {name} VALUES {}", some.join(", ")));
        id += some.len();
    }
}

/// What a statement that must succeed answers.
fn run(session: &mut Session, statement: &str) -> Vec<String> {
    let lines = ask(session, statement);
    assert!(!lines.iter().any(|line| line.starts_with('!')), "{statement}: {lines:?}");
    lines
}

struct Maker(Random);

impl Maker {
    fn column(&mut self) -> &'static str {
        COLUMNS[self.0.below(COLUMNS.len())].0
    }

    /// A column by which rows can be grouped into few groups or many.
    fn some_columns(&mut self) -> Vec<&'static str> {
        let count = 1 + self.0.below(3);
        let mut columns: Vec<&'static str> = (0..count).map(|_| self.column()).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    fn aggregate(&mut self, alias: &str) -> String {
        let column = self.column();
        match self.0.below(10) {
            0 => "COUNT(*)".to_owned(),
            1 => format!("SUM({alias}.i)"),
            2 => format!("AVG({alias}.d)"),
            3 => format!("SUM({alias}.f)"),
            4 => format!("COUNT(DISTINCT {alias}.{column})"),
            5 => format!("GROUP_CONCAT(DISTINCT {alias}.i ORDER BY {alias}.i DESC)"),
            6 => format!("SUM(DISTINCT {alias}.d)"),
            7 => format!("BIT_XOR({alias}.id)"),
            8 => format!("MIN({alias}.{column})"),
            _ => format!("MAX({alias}.{column})"),
        }
    }

    fn order(&mut self, prefix: &str) -> String {
        let columns = self.some_columns();
        let one = |maker: &mut Maker, column: &str| format!("{prefix}{column}{}", maker.0.one(&["", " DESC"]));
        let list: Vec<String> = columns.into_iter().map(|column| one(self, column)).collect();
        list.join(", ")
    }

    fn limit(&mut self) -> String {
        match self.0.below(3) {
            0 => format!(" LIMIT {}", self.0.below(700)),
            1 => format!(" LIMIT {}, {}", self.0.below(900), self.0.below(900)),
            _ => String::new(),
        }
    }

    /// An equality that not too many rows have with each other.
    fn joined(&mut self) -> String {
        let column = loop {
            let column = self.column();
            if !matches!(column, "s" | "e" | "t") {
                break column;
            }
        };
        match self.0.below(4) {
            0 => "a.s = b.s AND a.i = b.i".to_owned(),
            1 => format!("a.{column} = b.{column} AND a.id <> b.id + 1"),
            _ => format!("a.{column} = b.{column}"),
        }
    }

    /// A query, and whether its rows have an order.
    fn query(&mut self) -> (String, bool) {
        let columns = self.some_columns();
        let list = columns.join(", ");
        match self.0.below(16) {
            // Rows that are sorted as they are stored.
            0 => (format!("SELECT * FROM big ORDER BY {}, id{}", self.order(""), self.limit()), true),
            1 => (format!("SELECT DISTINCT {list} FROM big ORDER BY {list}{}", self.limit()), true),
            2 => {
                let order = self.order("");
                (format!("SELECT id, CONCAT(v, '!'), x, j FROM big ORDER BY {order}, id{}", self.limit()), true)
            }
            3 => (format!("SELECT DISTINCT {list}, i + 1 FROM big"), false),
            4 => {
                let (one, other) = (self.aggregate("g"), self.aggregate("g"));
                let having = self.0.one(&["", " HAVING COUNT(*) > 2"]);
                (format!("SELECT {list}, {one}, {other} FROM big g GROUP BY {list}{having}"), false)
            }
            5 => {
                let one = self.aggregate("g");
                (format!("SELECT {list}, {one}, COUNT(*) FROM big g GROUP BY {list} WITH ROLLUP"), true)
            }
            6 => {
                let (one, other) = (self.0.one(&["", " ALL"]), self.0.one(&["", " ALL"]));
                let set = |maker: &mut Maker| maker.0.one(&["UNION", "EXCEPT", "INTERSECT"]).to_owned();
                let (first, second) = (set(self), set(self));
                let query = format!(
                    "SELECT {list} FROM big {first}{one} SELECT {list} FROM small {second}{other} \
                     SELECT {list} FROM big WHERE id % 3 = 0"
                );
                (query, false)
            }
            7 => {
                let on = self.joined();
                (format!("SELECT a.id, b.id, a.{} FROM big a JOIN small b ON {on}", columns[0]), false)
            }
            8 => {
                let on = self.joined();
                let filter = self.0.one(&["", " AND b.id > 100", " AND a.id < 900"]);
                let after = self.0.one(&["", " WHERE b.i IS NULL", " WHERE b.id IS NULL OR b.id < 300"]);
                (format!("SELECT a.id, b.id, b.v FROM big a LEFT JOIN small b ON {on}{filter}{after}"), false)
            }
            9 => {
                let not = self.0.one(&["", "NOT "]);
                let on = match self.0.below(3) {
                    0 => "a.s = b.s AND b.i > a.i + 50".to_owned(),
                    _ => self.joined(),
                };
                (
                    format!("SELECT a.id FROM big a WHERE {not}EXISTS (SELECT 1 FROM small b WHERE {on} AND b.id > 9)"),
                    false,
                )
            }
            10 => {
                let (on, aggregate) = (self.joined(), self.aggregate("a"));
                let query = format!(
                    "SELECT c.e, COUNT(*), SUM(a.id), {aggregate} FROM small a JOIN small b ON {on} \
                     JOIN (SELECT DISTINCT e, y FROM big) c ON c.y = b.y GROUP BY c.e"
                );
                (query, false)
            }
            11 => {
                let column = columns[0];
                let query = format!(
                    "WITH c AS (SELECT {column} AS k, COUNT(*) AS n, MIN(id) AS least FROM big GROUP BY {column}, id % 7) \
                     SELECT a.k, a.n, b.n FROM c a JOIN c b ON a.least = b.least WHERE a.n >= (SELECT MIN(n) FROM c)"
                );
                (query, false)
            }
            12 => {
                let (part, order) = (self.column(), self.order(""));
                let query = format!(
                    "SELECT id, ROW_NUMBER() OVER (PARTITION BY {part} ORDER BY {order}, id), \
                     SUM(i) OVER (ORDER BY id ROWS BETWEEN 5 PRECEDING AND CURRENT ROW), \
                     RANK() OVER (ORDER BY {order}) FROM big"
                );
                (query, false)
            }
            13 => {
                let all = self.0.one(&["ALL", "DISTINCT"]);
                let query = format!(
                    "WITH RECURSIVE r (n, k, v) AS (SELECT 1, i, v FROM small UNION {all} \
                     SELECT n + 1, k, v FROM r WHERE n < 3) SELECT n, k, COUNT(*) FROM r GROUP BY n, k"
                );
                (query, false)
            }
            14 => {
                let column = columns[0];
                let query = format!(
                    "SELECT a.id, d.n FROM small a JOIN LATERAL (SELECT COUNT(*) AS n, MAX(x) AS x FROM big b \
                     WHERE b.id BETWEEN a.id AND a.id + 5 AND b.{column} IS NOT NULL) d \
                     WHERE a.id < 40 AND a.i NOT IN (SELECT i + 100 FROM big WHERE i IS NOT NULL)"
                );
                (query, false)
            }
            _ => {
                // Skew: what is equal cannot be divided.
                let outer = self.0.one(&["JOIN", "LEFT JOIN"]);
                let query = format!(
                    "SELECT a.id, COUNT(*), MAX(b.id), COUNT(b.w) FROM (SELECT * FROM big LIMIT 40) a {outer} big b \
                     ON a.s = b.s AND b.id > a.id * 10 GROUP BY a.id"
                );
                (query, false)
            }
        }
    }
}

/// Texts that are equal by their collations may be told apart by case.
fn folded(mut lines: Vec<String>, is_ordered: bool) -> Vec<String> {
    lines.iter_mut().for_each(|line| *line = line.to_lowercase());
    if !is_ordered {
        lines.sort_unstable();
    }
    lines
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn status(session: &mut Session, name: &str) -> u64 {
    let lines = run(session, &format!("SHOW STATUS LIKE '{name}'"));
    lines[1].rsplit(' ').next().and_then(|text| text.parse().ok()).expect("a number")
}

/// An instance whose temporary files are in a directory of their own.
fn instance_with_tmpdir(scratch: &Scratch) -> Arc<Instance> {
    let tmpdir = scratch.0.join("tmp");
    std::fs::create_dir_all(&tmpdir).expect("a directory");
    let data = scratch.0.join("data");
    std::fs::create_dir_all(&data).expect("a directory");
    let config = Config { pool_bytes: 64 << 20, log_bytes: 64 << 20, ..Config::tiny() };
    let instance = instance(&data, config);
    instance.variables.load_option("tmpdir", &tmpdir.display().to_string()).expect("an option");
    instance
}

#[test]
fn small_buffers_and_large_ones_give_the_same_rows() {
    let scratch = Scratch::new("spilling");
    let instance = instance_with_tmpdir(&scratch);
    let (cases, seed) = (number("SPILL_CASES", 120), number("SPILL_SEED", first_seed()));
    let mut random = Random::new(1);
    let (mut small, mut large) = (session(&instance), session(&instance));
    run(&mut small, SMALL);
    run(&mut large, LARGE);
    fill(&mut large, "big", 1500, &mut random);
    fill(&mut large, "small", 600, &mut random);
    let cases = if std::env::var_os("SPILL_SEED").is_some() { 1 } else { cases };
    for seed in seed..seed + cases {
        let (query, is_ordered) = Maker(Random::new(seed)).query();
        let expected = folded(run(&mut large, &query), is_ordered);
        let got = folded(run(&mut small, &query), is_ordered);
        assert!(
            got == expected,
            "SPILL_SEED={seed}: {query}\n{} rows and {} rows\nfirst differing: {:?}",
            got.len(),
            expected.len(),
            got.iter().zip(&expected).find(|(got, expected)| got != expected)
        );
    }
    assert_eq!(instance.temporary.budget.lent_bytes(), 0, "all memory was given back");
    assert_eq!(std::fs::read_dir(scratch.0.join("tmp")).expect("a directory").count(), 0, "all files are gone");
    assert_eq!(status(&mut large, "Created_tmp_files"), 0);
    if cases > 50 {
        for name in ["Created_tmp_files", "Created_tmp_disk_tables", "Sort_merge_passes"] {
            assert!(status(&mut small, name) > 0, "{name} counts");
        }
    }
}

/// What changes find, by the tables `big` and `small`, which each begins with.
const CHANGES: &[&str] = &[
    "UPDATE big SET i = id, v = CONCAT(v, i) ORDER BY v, x DESC, id",
    "UPDATE big SET i = -id ORDER BY v, id LIMIT 700",
    "UPDATE big SET id = id + 100000 ORDER BY id DESC",
    "UPDATE big SET id = 1000000 - id WHERE id > 3",
    "UPDATE big SET v = CONCAT(id, '.', (SELECT COUNT(*) FROM small WHERE small.i <= big.i)), x = v",
    "UPDATE big a JOIN small b ON a.s = b.s SET a.i = b.id, a.x = CONCAT(a.v, b.x)",
    "UPDATE big a JOIN big b ON a.v = b.v SET a.x = CONCAT(b.x, '.'), b.i = a.id, b.w = a.w",
    "UPDATE big a LEFT JOIN small b ON a.id = b.id SET a.x = IFNULL(b.x, a.v), b.x = CONCAT(a.id, b.v), b.i = NULL",
    "DELETE FROM big WHERE id NOT IN (SELECT id FROM small WHERE i > 5)",
    "DELETE FROM big ORDER BY w, id LIMIT 900",
    "DELETE FROM big ORDER BY x DESC, id DESC LIMIT 1100 RETURNING id, x, v",
    "DELETE a, b FROM big a JOIN small b ON a.v = b.v WHERE a.id > 5",
    "DELETE a FROM big a JOIN big b ON a.v = b.v AND a.id < b.id",
    "INSERT INTO big (id, v, x) SELECT id + 5000, v, x FROM big RETURNING id, v, CONCAT(x, v)",
    "REPLACE INTO small (id, v, x) SELECT id, v, x FROM big RETURNING id, x",
];

#[test]
fn changes_that_find_more_rows_than_fit_into_memory_change_the_same() {
    let scratch = Scratch::new("spilling-changes");
    let instance = instance_with_tmpdir(&scratch);
    let (mut small, mut large) = (session(&instance), session(&instance));
    run(&mut small, SMALL);
    run(&mut large, LARGE);
    fill(&mut large, "big_source", 1500, &mut Random::new(first_seed()));
    fill(&mut large, "small_source", 600, &mut Random::new(first_seed() + 1));
    for (tables, session) in [("in_small", &mut small), ("in_large", &mut large)] {
        run(session, &format!("CREATE DATABASE {tables}"));
        run(session, &format!("USE {tables}"));
    }
    for statement in CHANGES {
        let mut outcomes = Vec::new();
        for session in [&mut small, &mut large] {
            for table in ["big", "small"] {
                run(session, &format!("DROP TABLE IF EXISTS {table}"));
                run(session, &format!("CREATE TABLE {table} LIKE test.{table}_source"));
                run(session, &format!("INSERT INTO {table} SELECT * FROM test.{table}_source"));
            }
            let before = status(session, "Created_tmp_files");
            let mut lines = run(session, statement);
            let files = status(session, "Created_tmp_files") - before;
            for table in ["big", "small"] {
                lines.extend(run(session, &format!("SELECT * FROM {table} ORDER BY id")));
            }
            outcomes.push((lines, files));
        }
        let [(ours, files), (expected, none)] = &outcomes[..] else { unreachable!("two sessions") };
        let differing = ours.iter().zip(expected).find(|(ours, expected)| ours != expected);
        assert!(ours == expected, "{statement}\n{differing:?}");
        assert!(*files > 0 && *none == 0, "{statement}: {files} files, {none} with much memory");
        assert_eq!(instance.temporary.budget.lent_bytes(), 0, "{statement}");
    }
}

/// Keys of all lengths, many times what there is memory for, most of them several times.
#[test]
fn a_row_of_a_recursive_union_is_new_once_wherever_its_key_is() {
    let scratch = Scratch::new("spilling-keys");
    let instance = instance_with_tmpdir(&scratch);
    let mut session = numbers(&instance, 1000);
    let query = "WITH RECURSIVE r (k, t) AS (
            SELECT x, CAST(REPEAT(y, IF(x % 50 = 0, 3000, 1)) AS CHAR(30000)) FROM n
            UNION SELECT (k * 7919 + n.x * 101) % 5003, '' FROM r JOIN n ON n.x <= 3)
        SELECT COUNT(*), SUM(k), SUM(LENGTH(t)), COUNT(DISTINCT k, t) FROM r";
    run(&mut session, LARGE);
    let expected = run(&mut session, query);
    assert_eq!(status(&mut session, "Created_tmp_files"), 0, "{expected:?}");
    run(&mut session, SMALL);
    assert_eq!(run(&mut session, query), expected);
    let (files, passes) = (status(&mut session, "Created_tmp_files"), status(&mut session, "Sort_merge_passes"));
    assert!(files > 20 && passes > 2, "{files} files, {passes} passes");
    assert_eq!(instance.temporary.budget.lent_bytes(), 0);
}

#[test]
fn status_tells_which_statement_used_files() {
    let scratch = Scratch::new("spilling-status");
    let instance = instance_with_tmpdir(&scratch);
    let mut session = session(&instance);
    run(&mut session, SMALL);
    fill(&mut session, "big", 1000, &mut Random::new(2));
    let mut seen = [0; 3];
    let mut grown = |session: &mut Session, statement: &str| {
        run(session, statement);
        let now =
            ["Created_tmp_files", "Created_tmp_disk_tables", "Sort_merge_passes"].map(|name| status(session, name));
        let grown = [0, 1, 2].map(|at| now[at] - seen[at]);
        seen = now;
        grown
    };
    assert_eq!(grown(&mut session, "SELECT id FROM big ORDER BY id DESC LIMIT 3"), [0, 0, 0]);
    assert_eq!(grown(&mut session, "SELECT v FROM big ORDER BY v LIMIT 1"), [0, 0, 0], "one row fits");
    let [files, tables, passes] = grown(&mut session, "SELECT * FROM big ORDER BY v");
    assert!(files > 0 && tables == 0 && passes > 0);
    let [files, tables, passes] = grown(&mut session, "SELECT id, COUNT(*) FROM big GROUP BY id");
    assert!(files > 0 && tables == 1 && passes == 0);
    let [files, tables, _] = grown(&mut session, "SELECT COUNT(*) FROM (SELECT * FROM big LIMIT 900) a");
    assert!(files == 1 && tables == 1);
}

/// Temporary files that have room for so many bytes together.
struct Disk {
    left: Arc<AtomicI64>,
}

struct FileOfDisk {
    left: Arc<AtomicI64>,
    bytes: Mutex<Vec<u8>>,
}

impl Directory for Disk {
    fn create(&self) -> io::Result<Box<dyn SpillFile>> {
        Ok(Box::new(FileOfDisk { left: self.left.clone(), bytes: Mutex::default() }))
    }

    fn path(&self) -> &Path {
        Path::new("/full")
    }
}

impl SpillFile for FileOfDisk {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.left.fetch_sub(bytes.len() as i64, Ordering::Relaxed) < bytes.len() as i64 {
            return Err(io::Error::from_raw_os_error(28));
        }
        let mut file = self.bytes.lock();
        let end = offset as usize + bytes.len();
        if file.len() < end {
            file.resize(end, 0);
        }
        file[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let file = self.bytes.lock();
        let found = file.get(offset as usize..offset as usize + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }
}

/// A statement for each operator, over the tables `big` and `small`.
const SPILLING: &[&str] = &[
    "SELECT * FROM big ORDER BY v, id",
    "SELECT CONCAT(x, id) FROM big ORDER BY j",
    "SELECT DISTINCT id + 1, v FROM big",
    "SELECT v, i, COUNT(*) FROM big GROUP BY v, i",
    "SELECT v, i, COUNT(*) FROM big GROUP BY v, i WITH ROLLUP",
    "SELECT COUNT(DISTINCT id, v), SUM(DISTINCT id) FROM big",
    "SELECT v, COUNT(DISTINCT id, w), AVG(DISTINCT d), COUNT(DISTINCT i) FROM big GROUP BY v",
    "SELECT id, v FROM big EXCEPT SELECT id, w COLLATE utf8mb4_general_ci FROM big",
    "SELECT id, v FROM big UNION SELECT id, w COLLATE utf8mb4_general_ci FROM big",
    "SELECT a.id, b.id FROM small a STRAIGHT_JOIN big b ON a.v = b.v",
    "SELECT a.id, b.id FROM small a LEFT JOIN big b ON a.v = b.v",
    "SELECT a.id FROM small a WHERE NOT EXISTS (SELECT 1 FROM big b WHERE a.v = b.v)",
    "SELECT COUNT(*) FROM (SELECT id, v FROM big LIMIT 1000) a",
    "SELECT id, RANK() OVER (PARTITION BY v ORDER BY x) FROM big",
    "WITH RECURSIVE r (n, k, v) AS (SELECT 1, i, v FROM big UNION ALL SELECT n + 1, k, v FROM r WHERE n < 3) \
     SELECT COUNT(*) FROM r",
    "WITH RECURSIVE r (k, v) AS (SELECT id, v FROM big UNION SELECT k + 1, v FROM r WHERE k < 300) SELECT COUNT(*) FROM r",
    "UPDATE big SET i = i ORDER BY v",
    "UPDATE big SET i = i WHERE id NOT IN (SELECT id + 10000 FROM small)",
    "UPDATE big a JOIN small b ON a.v = b.v SET a.i = a.i, b.x = b.x",
    "INSERT INTO copy SELECT id, x FROM big RETURNING id, v",
    "INSERT INTO copy SELECT id, v FROM big ON DUPLICATE KEY UPDATE v = copy.v",
    "INSERT INTO copy SELECT id, v FROM big ORDER BY x",
    "CREATE TABLE other SELECT id, x FROM big ORDER BY v",
];

#[test]
fn a_full_disk_is_an_error_of_the_statement_alone() {
    let scratch = Scratch::new("spilling-full");
    let instance = instance_with_tmpdir(&scratch);
    let left = Arc::new(AtomicI64::new(i64::MAX));
    instance.temporary.files.set_directory(Arc::new(Disk { left: left.clone() }));
    let mut session = session(&instance);
    fill(&mut session, "big", 1200, &mut Random::new(3));
    fill(&mut session, "small", 300, &mut Random::new(4));
    run(&mut session, "CREATE TABLE copy (id INT PRIMARY KEY, v TEXT)");
    run(&mut session, SMALL);
    let clean = |session: &mut Session| {
        run(session, "DELETE FROM copy");
        run(session, "DROP TABLE IF EXISTS other");
    };
    for statement in SPILLING {
        left.store(i64::MAX, Ordering::Relaxed);
        let expected = folded(run(&mut session, statement), false);
        let used = i64::MAX - left.load(Ordering::Relaxed);
        assert!(used > 0, "{statement} needs a file");
        for room in [0, used / 2, used - 1] {
            clean(&mut session);
            left.store(room, Ordering::Relaxed);
            let lines = ask(&mut session, statement);
            let last = lines.last().map(String::as_str).unwrap_or_default();
            assert_eq!(last, "! 3 Error writing file '/full' (OS errno 28 - No space left on device)", "{statement}");
            assert_eq!(run(&mut session, "SELECT COUNT(*) FROM copy")[1], "| 0", "{statement}");
            assert_eq!(instance.temporary.budget.lent_bytes(), 0, "{statement}");
        }
        clean(&mut session);
        left.store(i64::MAX, Ordering::Relaxed);
        assert_eq!(folded(run(&mut session, statement), false), expected, "{statement}");
        clean(&mut session);
    }
}

#[test]
fn all_sessions_share_one_budget() {
    let scratch = Scratch::new("spilling-budget");
    let instance = instance_with_tmpdir(&scratch);
    let mut first = session(&instance);
    fill(&mut first, "big", 1200, &mut Random::new(5));
    fill(&mut first, "small", 300, &mut Random::new(6));
    run(&mut first, "CREATE TABLE copy (id INT PRIMARY KEY, v TEXT)");
    run(&mut first, "SET GLOBAL temptable_max_ram = 2097152");
    // Somebody else has nearly all of it.
    assert!(instance.temporary.budget.lend(2_097_152 - 65_536, u64::MAX));
    run(&mut first, LARGE);
    let statements = &SPILLING[..SPILLING.len() - 2];
    for statement in statements {
        run(&mut first, statement);
    }
    assert!(status(&mut first, "Created_tmp_files") > SPILLING.len() as u64 / 2);
    // What cannot be divided is refused.
    let refused = ask(&mut first, "SELECT JSON_ARRAYAGG(x) FROM big");
    assert_eq!(refused.last().map(|line| &line[..6]), Some("! 1038"), "{refused:?}");
    instance.temporary.budget.give_back(2_097_152 - 65_536);
    run(&mut first, "SELECT JSON_ARRAYAGG(x) FROM big");
    // Many at once take no more than there is, and the little that each needs in any case.
    let most = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..4_usize)
            .map(|number| {
                let instance = &instance;
                scope.spawn(move || {
                    let mut session = session(instance);
                    run(&mut session, LARGE);
                    for turn in 0..6 {
                        run(&mut session, statements[(number * 3 + turn) % statements.len()]);
                    }
                })
            })
            .collect();
        let mut most = 0;
        while !sessions.iter().all(|session| session.is_finished()) {
            most = most.max(instance.temporary.budget.lent_bytes());
            std::thread::sleep(Duration::from_millis(1));
        }
        sessions.into_iter().for_each(|session| session.join().expect("a session"));
        most
    });
    assert!(most > 0 && most < 2_097_152 + 4 * (4 << 20), "{most}");
    assert_eq!(instance.temporary.budget.lent_bytes(), 0);
}

/// A query with window functions of every kind.
fn windows(random: &mut Random) -> String {
    let partition = random.one(&["", "PARTITION BY s ", "PARTITION BY e ", "PARTITION BY s, id % 2 "]);
    let keys = [("i", "number"), ("d", "number"), ("m", "time"), ("v", "text"), ("id", "number")];
    let (key, ty) = keys[random.below(keys.len())];
    let descending = random.one(&["", " DESC"]);
    let bound = |random: &mut Random, is_range: bool| match (is_range, random.below(3)) {
        (false, 0) => format!("{} PRECEDING", random.below(400)),
        (false, 1) => format!("{} FOLLOWING", random.below(400)),
        (true, 0) if ty == "number" => format!("{} PRECEDING", random.below(40)),
        (true, 1) if ty == "number" => format!("{} FOLLOWING", random.below(40)),
        (true, 0) if ty == "time" => format!("INTERVAL {} HOUR PRECEDING", random.below(90)),
        (true, 1) if ty == "time" => format!("INTERVAL {} HOUR FOLLOWING", random.below(90)),
        _ => "CURRENT ROW".to_owned(),
    };
    let frame = |random: &mut Random| {
        let is_range = random.below(2) == 0;
        let unit = if is_range { "RANGE" } else { "ROWS" };
        let one = bound(random, is_range);
        match random.below(5) {
            0 => String::new(),
            1 => format!("{unit} BETWEEN UNBOUNDED PRECEDING AND {one}"),
            2 => format!("{unit} BETWEEN {one} AND UNBOUNDED FOLLOWING"),
            3 => format!("{unit} BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"),
            _ => {
                let other = bound(random, is_range);
                let rank = |bound: &str| match bound {
                    _ if bound.ends_with("PRECEDING") => 0,
                    "CURRENT ROW" => 1,
                    _ => 2,
                };
                let (start, end) = if rank(&one) <= rank(&other) { (one, other) } else { (other, one) };
                format!("{unit} BETWEEN {start} AND {end}")
            }
        }
    };
    let function = |random: &mut Random| match random.below(22) {
        0 => "ROW_NUMBER()".to_owned(),
        1 => "RANK()".to_owned(),
        2 => "DENSE_RANK()".to_owned(),
        3 => "PERCENT_RANK()".to_owned(),
        4 => "CUME_DIST()".to_owned(),
        5 => format!("NTILE({})", 1 + random.below(2000)),
        6 => format!("LAG(v, {}, 'none')", random.below(900)),
        7 => format!("LEAD(id, {})", random.below(900)),
        8 => "FIRST_VALUE(id)".to_owned(),
        9 => "LAST_VALUE(x)".to_owned(),
        10 => format!("NTH_VALUE(id, {})", 1 + random.below(300)),
        11 => "SUM(f)".to_owned(),
        12 => "AVG(d)".to_owned(),
        13 => "COUNT(v)".to_owned(),
        14 => "MIN(v)".to_owned(),
        15 => "MAX(i)".to_owned(),
        16 => "STDDEV(i)".to_owned(),
        17 => "BIT_AND(id)".to_owned(),
        18 => "BIT_XOR(id)".to_owned(),
        19 => "MAX(f)".to_owned(),
        20 => "SUM(i)".to_owned(),
        _ => "BIT_OR(i)".to_owned(),
    };
    let mut calls = Vec::new();
    for _ in 0..1 + random.below(3) {
        let (function, frame) = (function(random), frame(random));
        calls.push(format!("{function} OVER ({partition}ORDER BY {key}{descending} {frame})"));
    }
    if random.below(2) == 0 {
        calls.push(format!("{} OVER (ORDER BY y, id)", function(random)));
    }
    format!("SELECT id, {}, x FROM big", calls.join(", "))
}

/// Partitions of windows that are in files give what those in memory give.
#[test]
fn partitions_of_windows_in_files_and_in_memory_give_the_same_rows() {
    let scratch = Scratch::new("spilling-windows");
    let instance = instance_with_tmpdir(&scratch);
    let (cases, seed) = (number("SPILL_CASES", 60), number("SPILL_SEED", first_seed()));
    let mut random = Random::new(7);
    let (mut small, mut large) = (session(&instance), session(&instance));
    run(&mut small, SMALL);
    run(&mut large, LARGE);
    fill(&mut large, "big", 1500, &mut random);
    let cases = if std::env::var_os("SPILL_SEED").is_some() { 1 } else { cases };
    for seed in seed..seed + cases {
        let query = windows(&mut Random::new(seed));
        let expected = folded(run(&mut large, &query), false);
        // Somebody else has all the memory there is.
        assert!(instance.temporary.budget.lend(1 << 30, u64::MAX));
        let got = folded(run(&mut small, &query), false);
        instance.temporary.budget.give_back(1 << 30);
        let differs = got.iter().zip(&expected).find(|(got, expected)| got != expected);
        assert!(got == expected, "SPILL_SEED={seed}: {query}\nfirst differing: {differs:?}");
    }
    assert_eq!(instance.temporary.budget.lent_bytes(), 0, "all memory was given back");
    assert!(status(&mut small, "Created_tmp_disk_tables") >= cases, "partitions were in files");
    assert_eq!(status(&mut large, "Created_tmp_disk_tables"), 0);
}

/// Statements that would run for long, each in another operator.
const LONG: &[(&str, &str)] = &[
    ("nested loops", "SELECT COUNT(*) FROM n a, n b, n c WHERE a.x + b.x + c.x = -1"),
    (
        "rows in memory",
        "WITH c AS (SELECT x FROM n LIMIT 900) SELECT COUNT(*) FROM c a, c b, c d WHERE a.x + b.x + d.x < 0",
    ),
    ("semi-joins", "SELECT COUNT(*) FROM n a, n b WHERE NOT EXISTS (SELECT 1 FROM n c WHERE c.x = a.x + b.x + 900000)"),
    ("a sort of stored rows", "SELECT a.x FROM n a, n b ORDER BY a.y, a.x"),
    ("a sort", "SELECT a.x * b.x AS p FROM n a, n b ORDER BY p DESC, a.y"),
    ("a sort of the first", "SELECT a.x * b.x AS p FROM n a, n b ORDER BY p DESC LIMIT 5"),
    ("groups", "SELECT a.x * 10000 + b.x AS g, COUNT(*) FROM n a, n b GROUP BY g"),
    ("one group", "SELECT SUM(SQRT(a.x * b.x)) FROM n a, n b, n c"),
    ("rollup", "SELECT a.x, b.x, COUNT(*) FROM n a, n b GROUP BY a.x, b.x WITH ROLLUP"),
    ("distinct values", "SELECT COUNT(DISTINCT a.x * 10000 + b.x) FROM n a, n b"),
    ("distinct", "SELECT DISTINCT a.x * 10000 + b.x FROM n a, n b"),
    ("a hash join", "SELECT COUNT(*) FROM n a JOIN n b ON a.z = b.z JOIN n c ON c.z = b.z WHERE a.x + b.x + c.x < 0"),
    ("an outer hash join", "SELECT COUNT(*) FROM n a LEFT JOIN n b ON a.z = b.z LEFT JOIN n c ON c.z = b.z"),
    (
        "the rows of a hash join",
        "SELECT COUNT(*) FROM n a JOIN n b ON a.z = b.z AND LENGTH(REPLACE(REPEAT(b.y, 2000), 't', 'tt')) > 0",
    ),
    (
        "a scan that passes all rows over",
        "SELECT STRAIGHT_JOIN COUNT(*) FROM n a, n b, n c WHERE a.x + b.x > 0 AND c.y = 'nothing' AND c.z < 5",
    ),
    ("a built table", "SELECT COUNT(*) FROM n a JOIN (SELECT p.x * q.x AS v FROM n p, n q) d ON d.v = a.x"),
    ("a union", "SELECT a.x * b.x FROM n a, n b UNION SELECT a.x + b.x FROM n a, n b"),
    ("an intersection", "SELECT a.x * b.x FROM n a, n b INTERSECT SELECT a.x + b.x FROM n a, n b"),
    ("a difference", "SELECT a.x * b.x FROM n a, n b EXCEPT ALL SELECT a.x + b.x FROM n a, n b"),
    ("windows", "SELECT SUM(a.x) OVER (ORDER BY b.x, a.y), RANK() OVER (ORDER BY a.x) FROM n a, n b"),
    ("small partitions", "SELECT COUNT(*) OVER (PARTITION BY a.x, b.x) FROM n a, n b"),
    (
        "a moving frame",
        "SELECT SUM(x / 3e0) OVER (ORDER BY x ROWS BETWEEN 2500 PRECEDING AND CURRENT ROW) FROM \
                        (SELECT a.x FROM n a, n b) d",
    ),
    ("recursion", "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r"),
    (
        "a wide recursion",
        "WITH RECURSIVE r AS (SELECT x, 1 AS l FROM n UNION ALL SELECT r.x, l + 1 FROM r, n WHERE l < 3) \
                          SELECT COUNT(*) FROM r",
    ),
    ("a subquery for each row", "SELECT COUNT(*) FROM n a WHERE (SELECT SUM(b.y * a.x) FROM n b, n c) < 0"),
    (
        "lateral tables",
        "SELECT COUNT(*) FROM n a, n b, LATERAL (SELECT SUM(x) AS s FROM n WHERE x > a.x) d WHERE s < 0",
    ),
    (
        "parts of documents",
        "SELECT COUNT(*) FROM n a, n b, JSON_TABLE('[1,2,3,4,5,6,7,8]', '$[*]' COLUMNS (q INT PATH '$')) j",
    ),
    ("texts", "SELECT GROUP_CONCAT(a.x ORDER BY b.x DESC, a.y) FROM n a, n b"),
    (
        "a document in another",
        "SELECT JSON_CONTAINS(d, d) FROM (SELECT JSON_ARRAYAGG(a.x * 10000 + b.x) AS d FROM n a, n b WHERE b.x <= 10) q",
    ),
    ("matches in a text", "SELECT LENGTH(REGEXP_REPLACE(REPEAT(y, 5000000), 't', 'c')) FROM n WHERE x = 1"),
    ("a joined update", "UPDATE n a, n b, n c SET a.y = 0 WHERE a.x + b.x + c.x = -1"),
    ("a joined deletion", "DELETE a FROM n a, n b, n c WHERE a.x + b.x + c.x = -1"),
    ("an insertion of a query", "INSERT INTO copy SELECT a.x * 10000 + b.x, a.y FROM n a, n b"),
    ("a new table", "CREATE TABLE other SELECT a.x * b.x AS p, a.y FROM n a, n b"),
];

/// Statements of several phases: rows come, are written to files, and are read from these.
const PHASES: &[(&str, &str)] = &[
    ("a sort", "SELECT a.x, a.y FROM n a, n b WHERE b.x <= 20 ORDER BY a.y, b.x LIMIT 1 OFFSET 19000"),
    (
        "groups",
        "SELECT SUM(c) FROM (SELECT a.x * 50 + b.x AS g, COUNT(*) AS c FROM n a, n b WHERE b.x <= 20 GROUP BY g) d",
    ),
    ("distinct rows", "SELECT COUNT(*) FROM (SELECT DISTINCT a.y, b.x FROM n a, n b WHERE b.x <= 20) d"),
    (
        "a hash join",
        "SELECT COUNT(*) FROM (SELECT a.x * 50 + b.x AS v FROM n a, n b WHERE b.x <= 10) d \
         JOIN (SELECT a.x * 50 + b.x AS w FROM n a, n b WHERE b.x <= 10) e ON v = w",
    ),
    (
        "an outer join of one key",
        "SELECT COUNT(*) FROM n a LEFT JOIN n b ON a.z = b.z AND a.x + b.x < 0 WHERE a.x < 300",
    ),
    (
        "a set operation",
        "SELECT COUNT(*) FROM (SELECT a.x, b.x AS p FROM n a, n b WHERE b.x <= 10 \
                               EXCEPT SELECT a.x, b.x FROM n a, n b WHERE b.x <= 5) d",
    ),
    (
        "windows",
        "SELECT MAX(s) FROM (SELECT SUM(a.x) OVER (PARTITION BY b.x ORDER BY a.y) AS s FROM n a, n b WHERE b.x <= 10) d",
    ),
    (
        "recursion",
        "WITH RECURSIVE r AS (SELECT 1 AS i, 'some text' AS t UNION DISTINCT SELECT i + 1, t FROM r WHERE i < 5000) \
         SELECT COUNT(*) FROM r",
    ),
    ("rows of a change of joined tables", "UPDATE n a JOIN n b ON a.z = b.z SET a.y = a.y, b.y = b.y"),
    (
        "a table made once",
        "WITH c AS (SELECT a.x, b.y FROM n a, n b WHERE b.x <= 10 LIMIT 1000000) \
         SELECT (SELECT COUNT(*) FROM c WHERE y > '') + (SELECT SUM(x) FROM c WHERE y < 'text 9')",
    ),
];

/// Statements that keep many rows, groups and texts in memory, and sort them: they are killed meanwhile.
const KEPT: &[(&str, &str)] = &[
    (
        "a sort of texts",
        "SELECT REVERSE(CONCAT(a.y, b.y)) AS t FROM n a, n b WHERE b.x <= 300 ORDER BY t LIMIT 300000, 1",
    ),
    (
        "groups",
        "SELECT COUNT(*) FROM (SELECT a.y AS p, b.y AS q, COUNT(*) FROM n a, n b WHERE b.x <= 300 GROUP BY p, q WITH ROLLUP) d",
    ),
    ("distinct rows", "SELECT COUNT(*) FROM (SELECT DISTINCT a.y AS p, b.y AS q FROM n a, n b WHERE b.x <= 300) d"),
    (
        "a list of a subquery",
        "SELECT COUNT(*) FROM n WHERE CONCAT(y, y) NOT IN (SELECT CONCAT(a.y, b.y) FROM n a, n b WHERE b.x <= 300)",
    ),
    ("texts", "SELECT LENGTH(GROUP_CONCAT(a.y ORDER BY REVERSE(a.y), b.x)) FROM n a, n b WHERE b.x <= 300"),
    (
        "a partition",
        "SELECT MAX(s) FROM (SELECT SUM(a.x / 3e0) OVER (PARTITION BY a.z ORDER BY a.y, b.y) AS s FROM n a, n b WHERE b.x <= 300) d",
    ),
    (
        "a set operation",
        "SELECT COUNT(*) FROM (SELECT a.y AS p, b.y AS q FROM n a, n b WHERE b.x <= 300 EXCEPT SELECT y, y FROM n) d",
    ),
];

/// The table that the statements of [`LONG`] and [`PHASES`] read, and who has made it.
fn numbers(instance: &Arc<Instance>, rows: usize) -> Session {
    let mut admin = session(instance);
    run(&mut admin, "SET cte_max_recursion_depth = 4000");
    run(&mut admin, "CREATE TABLE n (x INT PRIMARY KEY, y VARCHAR(20), z INT)");
    let filled = format!(
        "INSERT INTO n WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < {rows})
            SELECT x, CONCAT('text ', x), x % 3 FROM r"
    );
    run(&mut admin, &filled);
    admin
}

/// The processor time that a thread has had; None: it has ended.
fn processor_time(thread: &Path) -> Option<Duration> {
    let statistics = std::fs::read_to_string(Path::new("/proc").join(thread).join("schedstat")).ok()?;
    statistics.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Wherever a statement is, it works for no longer than a tenth of a second after KILL. What counts is its own processor
/// time: the machine may have other things to do.
#[test]
fn a_kill_is_seen_in_every_phase() {
    let scratch = Scratch::new("spilling-phases");
    let instance = instance_with_tmpdir(&scratch);
    numbers(&instance, 1000);
    let mut killed = 0;
    let all = PHASES.iter().map(|phase| (phase, SMALL)).chain(KEPT.iter().map(|kept| (kept, LARGE)));
    for ((what, statement), buffers) in all {
        // How long it takes is told by a run to its end.
        let mut whole = Duration::MAX;
        for part in [None, Some(0.2), Some(0.6), Some(0.9)] {
            let process = instance.processes.register("localhost");
            let mut session = session_of(&instance, process.clone());
            run(&mut session, buffers);
            run(&mut session, "SET cte_max_recursion_depth = 4294967295, group_concat_max_len = 1 << 30");
            let (send, receive) = std::sync::mpsc::channel();
            let (lines, before, used) = std::thread::scope(|scope| {
                let running = scope.spawn(move || {
                    let thread = std::fs::read_link("/proc/thread-self").expect("a thread");
                    send.send(thread.clone()).expect("a listener");
                    let lines = ask(&mut session, statement);
                    (lines, processor_time(&thread).expect("this thread"))
                });
                let thread = receive.recv().expect("a thread");
                let wanted = part.map_or(Duration::MAX, |part| whole.mul_f64(part));
                let mut before = Duration::ZERO;
                while before < wanted {
                    std::thread::sleep(Duration::from_millis(1));
                    let Some(now) = processor_time(&thread) else { break };
                    before = now;
                }
                process.kill(Kill::Query);
                let (lines, used) = running.join().expect("a session");
                (lines, before, used)
            });
            if part.is_none() {
                whole = used;
                assert_ne!(lines.last().map(|line| &line[..1]), Some("!"), "{what}: {lines:?}");
                continue;
            }
            let was_killed = lines.last().is_some_and(|line| line == "! 1317 Query execution was interrupted");
            killed += usize::from(was_killed);
            let after = used.saturating_sub(before);
            assert!(!was_killed || after < Duration::from_millis(100), "{what} at {part:?} of {whole:?}: {after:?}");
            assert_eq!(instance.temporary.budget.lent_bytes(), 0, "{what}");
        }
    }
    // Some may have ended before they were killed.
    assert!(killed >= (PHASES.len() + KEPT.len()) * 3 / 2, "{killed}");
}

/// An UPDATE or DELETE that has found and sorted its rows, and changes them, is killed: it had not looked any more.
#[test]
fn changes_of_rows_in_an_order_hear_kill() {
    let scratch = Scratch::new("spilling-changes");
    let instance = instance_with_tmpdir(&scratch);
    let mut admin = numbers(&instance, 1000);
    run(&mut admin, "CREATE TABLE copy (x INT PRIMARY KEY, y VARCHAR(20))");
    run(&mut admin, "INSERT INTO copy SELECT a.x * 1000 + b.x, a.y FROM n a, n b WHERE b.x <= 30");
    for statement in ["UPDATE copy SET x = x + 5000000 ORDER BY x DESC", "DELETE FROM copy ORDER BY x DESC"] {
        let mut whole = Duration::MAX;
        let mut was_killed = false;
        // A run may take less than those before it, and end before its kill.
        for part in [None, Some(0.7), Some(0.7), Some(0.7), Some(0.6), Some(0.6)] {
            let process = instance.processes.register("localhost");
            let mut session = session_of(&instance, process.clone());
            run(&mut session, "BEGIN");
            let (send, receive) = std::sync::mpsc::channel();
            let (lines, used) = std::thread::scope(|scope| {
                let running = scope.spawn(move || {
                    let thread = std::fs::read_link("/proc/thread-self").expect("a thread");
                    send.send(thread.clone()).expect("a listener");
                    let lines = ask(&mut session, statement);
                    let used = processor_time(&thread).expect("this thread");
                    ask(&mut session, "ROLLBACK");
                    (lines, used)
                });
                let thread = receive.recv().expect("a thread");
                while let (Some(part), Some(now)) = (part, processor_time(&thread)) {
                    if now >= whole.mul_f64(part) {
                        process.kill(Kill::Query);
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                running.join().expect("a session")
            });
            was_killed = lines == ["! 1317 Query execution was interrupted"];
            assert!(was_killed || !lines[0].starts_with('!'), "{statement}: {lines:?}");
            assert_eq!(run(&mut admin, "SELECT COUNT(*), MIN(x), MAX(x) FROM copy")[1], "| 30000 | 1001 | 1000030");
            if was_killed {
                break;
            }
            whole = whole.min(used);
        }
        assert!(was_killed, "{statement} ended each time before it heard of its kill");
    }
}

#[test]
fn kill_ends_every_operator() {
    let scratch = Scratch::new("spilling-kill");
    let instance = instance_with_tmpdir(&scratch);
    let mut admin = numbers(&instance, 4000);
    run(&mut admin, "CREATE TABLE copy (x INT PRIMARY KEY, y VARCHAR(20))");
    for (number, (what, statement)) in LONG.iter().enumerate() {
        for buffers in [SMALL, "SET tmp_table_size = DEFAULT"] {
            let process = instance.processes.register("localhost");
            let mut session = session_of(&instance, process.clone());
            run(&mut session, buffers);
            run(&mut session, "SET cte_max_recursion_depth = 4294967295, group_concat_max_len = 1 << 30");
            let delay = Duration::from_millis([15, 60, 180][number % 3]);
            let (lines, waited) = std::thread::scope(|scope| {
                let running = scope.spawn(move || ask(&mut session, statement));
                std::thread::sleep(delay);
                let killed = Instant::now();
                // A statement that has not begun yet is not ended by it.
                while !running.is_finished() {
                    process.kill(Kill::Query);
                    std::thread::sleep(Duration::from_millis(5));
                }
                (running.join().expect("a session"), killed.elapsed())
            });
            let last = lines.last().map(String::as_str).unwrap_or_default();
            assert_eq!(last, "! 1317 Query execution was interrupted", "{what}: {} lines", lines.len());
            // On a machine that has other things to do; without KILL they take minutes.
            assert!(waited < Duration::from_secs(4), "{what} went on for {waited:?}");
            assert_eq!(instance.temporary.budget.lent_bytes(), 0, "{what}");
        }
    }
    assert_eq!(
        run(&mut admin, "SELECT COUNT(*), SUM(x), COUNT(DISTINCT y), MIN(z) FROM n")[1],
        "| 4000 | 8002000 | 4000 | 0"
    );
    assert_eq!(run(&mut admin, "SELECT COUNT(*) FROM copy")[1], "| 0");
    assert_eq!(ask(&mut admin, "SELECT 1 FROM other"), ["! 1146 Table 'test.other' doesn't exist"]);
    run(&mut admin, "SET max_execution_time = 50");
    let lines = ask(&mut admin, "SELECT a.x * b.x AS p FROM n a, n b ORDER BY p DESC, a.y");
    assert_eq!(lines.last().map(|line| &line[..6]), Some("! 3024"));
}
