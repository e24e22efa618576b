//! Texts of every collation are found, sorted and grouped the same with an index and without, as CHAR, VARCHAR and TEXT.
//!
//! No oracle is needed; `bench/tests/collations.rs` has one. Seeds are new in each run, unless `GLASSINE_SEED` says one.

mod common;

use common::random::{Random, first_seed};
use common::{Scratch, ask, instance, session};
use format::collation::{Charset, Collation, collations, convert};
use sql::Session;
use storage::Config;

/// Characters that weigh alike, nothing, less than a space, more than once, or the same but for accents or case.
const LETTERS: &[&str] =
    &["a", "A", "á", "Á", "b", "B", "s", "S", "ß", "z", " ", " ", "\t", "!", "\u{A0}", "%", "_", "", ""];
const UNICODE: &[&str] = &["ж", "Ж", "ソ", "表", "\u{1}", "\u{301}", "中", "가", "각", "あ", "ア", "😀", "\u{FFFF}"];
/// What the collations of languages order, and what weighs together in some.
const OF_LANGUAGES: &[&str] = &["c", "h", "C", "H", "d", "ž", "lj", "aa", "å", "ä", "ü", "ı", "I", "y", "ñ", "\u{307}"];
/// These are tested in each run; of the others as many as are named here, by the seed.
const ALWAYS: &[&str] = &[
    "utf8mb4_general_ci",
    "utf8mb4_bin",
    "utf8mb4_unicode_ci",
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_cs",
    "latin1_swedish_ci",
    "utf8mb4_czech_ci",
    "utf8mb4_hu_0900_as_cs",
    "ucs2_general_ci",
    "utf16_unicode_ci",
    "utf16le_bin",
    "utf32_danish_ci",
    "utf8mb4_uca1400_ai_ci",
    "utf8mb4_uca1400_nopad_as_cs",
    "utf8mb3_uca1400_ai_cs",
    "utf16_uca1400_czech_as_ci",
    "binary",
];
const OTHERS: usize = 12;
/// Each has a weight, and only one, so that texts have the order of their beginnings.
const PLAIN: &[&str] = &["a", "A", "b", "B", "z", "!", " ", "1", "2", "", ""];

fn text(random: &mut Random, letters: &[&str], length_max: usize) -> String {
    (0..random.below(length_max + 1)).map(|_| random.one(letters)).collect()
}

fn literal(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("_utf8mb4 X'{digits}'")
}

fn run(session: &mut Session, statement: &str) -> Vec<String> {
    let lines = ask(session, statement);
    let error = lines.iter().find(|line| line.starts_with('!'));
    assert!(error.is_none(), "{statement}\n{error:?}");
    lines.into_iter().filter(|line| !line.starts_with('~')).skip(1).collect()
}

fn condition(random: &mut Random, letters: &[&str]) -> String {
    let mut one = || text(random, letters, 4);
    let (first, second) = (one(), one());
    let (a, b) = (literal(&first), literal(&second));
    match random.below(10) {
        0 | 1 => format!("= {a}"),
        2 => format!("< {a}"),
        3 => format!("<= {a}"),
        4 => format!("> {a}"),
        5 => format!(">= {a}"),
        6 => format!("BETWEEN {a} AND {b}"),
        7 => format!("IN ({a}, {b})"),
        _ => format!("LIKE {}", literal(&format!("{first}%"))),
    }
}

fn check(session: &mut Session, random: &mut Random, known: &Collation, ty: &str) {
    let (name, charset) = (known.name, known.charset);
    let letters: Vec<&str> = match charset {
        Charset::Binary => LETTERS.to_vec(),
        _ => LETTERS
            .iter()
            .chain(UNICODE)
            .chain(OF_LANGUAGES)
            .copied()
            .filter(|letter| convert(letter.as_bytes(), Charset::Utf8mb4, charset, &mut Vec::new()))
            .collect(),
    };
    let column = match charset {
        Charset::Binary => ty.replace("TEXT", "BLOB").replace("CHAR", "BINARY"),
        _ => format!("{ty} CHARACTER SET {} COLLATE {name}", charset.name()),
    };
    ask(session, "DROP TABLE IF EXISTS t, u");
    let key = if ty == "TEXT" { "a(30)" } else { "a" };
    run(
        session,
        &format!(
            "CREATE TABLE t (id INT PRIMARY KEY, a {column}, b {column}, c {column}, d {column}, KEY ({key}), KEY (c(2)))"
        ),
    );
    let mut unique = 0;
    run(session, &format!("CREATE TABLE u (a {column}, UNIQUE ({key}))"));
    for id in 0..100 {
        let (value, plain) = (literal(&text(random, &letters, 6)), literal(&text(random, PLAIN, 5)));
        run(session, &format!("INSERT INTO t VALUES ({id}, {value}, {value}, {plain}, {plain})"));
        let lines = ask(session, &format!("INSERT INTO u VALUES ({value})"));
        unique += usize::from(!lines.iter().any(|line| line.starts_with("! 1062")));
    }
    let context = |what: &str| format!("{name}, {ty}: {what}");
    let distinct = run(session, "SELECT COUNT(DISTINCT b) FROM t");
    assert_eq!(distinct, [format!("| {unique}")], "{}", context("distinct values of b, against a unique index"));
    for _ in 0..30 {
        for (pair, letters) in [(["a", "b"], &letters[..]), (["c", "d"], PLAIN)] {
            let condition = condition(random, letters);
            let [with, without] = pair.map(|column| {
                let index = if column == "b" || column == "d" { "IGNORE INDEX (a, c)" } else { "" };
                run(session, &format!("SELECT id FROM t {index} WHERE {column} {condition} ORDER BY id"))
            });
            assert_eq!(with, without, "{}", context(&format!("{} {condition}", pair[0])));
        }
    }
    for (with, without) in [
        ("SELECT HEX(a) FROM t ORDER BY a, id", "SELECT HEX(b) FROM t ORDER BY b, id"),
        ("SELECT HEX(a) FROM t ORDER BY a DESC, id", "SELECT HEX(b) FROM t ORDER BY b DESC, id"),
        (
            "SELECT MIN(id), COUNT(*) FROM t GROUP BY a ORDER BY 1",
            "SELECT (SELECT MIN(id) FROM t z WHERE z.b = t.b), COUNT(*) FROM t GROUP BY 1 ORDER BY 1",
        ),
        (
            "SELECT COUNT(*) FROM t x JOIN t y ON x.a = y.a",
            "SELECT SUM(n * n) FROM (SELECT COUNT(*) n FROM t GROUP BY b) g",
        ),
        (
            "SELECT COUNT(*) FROM t x JOIN t y ON x.b = y.b",
            "SELECT SUM(n * n) FROM (SELECT COUNT(*) n FROM t GROUP BY a) g",
        ),
        ("SELECT COUNT(*) FROM t x STRAIGHT_JOIN t y ON x.a < y.a", "SELECT SUM(x.b < y.b) FROM t x STRAIGHT_JOIN t y"),
        ("SELECT COUNT(*) FROM t WHERE a IN (SELECT a FROM u)", "SELECT COUNT(*) FROM t"),
    ] {
        assert_eq!(run(session, with), run(session, without), "{}", context(with));
    }
    let checked = run(session, "CHECK TABLE t, u");
    assert!(checked.iter().all(|line| line.ends_with("| OK")), "{}: {checked:?}", context("CHECK"));
}

#[test]
fn texts_are_found_with_an_index_as_without() {
    let scratch = Scratch::new("collations");
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    let seed = first_seed();
    println!("GLASSINE_SEED={seed}");
    let mut random = Random::new(seed);
    let (always, mut others): (Vec<&Collation>, Vec<&Collation>) =
        collations().iter().partition(|known| ALWAYS.contains(&known.name));
    assert_eq!(always.len(), ALWAYS.len());
    while others.len() > OTHERS {
        others.swap_remove(random.below(others.len()));
    }
    for known in always.into_iter().chain(others) {
        for ty in ["CHAR(20)", "VARCHAR(20)", "TEXT"] {
            // A BINARY is filled up with zeros, which count.
            if !(known.is_binary() && ty.starts_with("CHAR")) {
                check(&mut session, &mut random, known, ty);
            }
        }
    }
}

/// What a statement in a client's character set answers.
fn ask_in(session: &mut Session, charset: Charset, statement: &str) -> Vec<String> {
    let mut written = Vec::new();
    assert!(convert(statement.as_bytes(), Charset::Utf8mb4, charset, &mut written), "{statement}");
    let mut sink = common::Lines::default();
    session.query(&written, &mut sink);
    sink.lines
}

/// A client means the same whatever its character set is: names, members, defaults, comments, texts of programs.
#[test]
fn a_statement_means_the_same_in_every_character_set() {
    let scratch = Scratch::new("collations-clients");
    let instance = instance(&scratch.0, Config::default());
    let mut session = session(&instance);
    let sets = [
        ("latin1", "é", "ü"),
        ("cp1251", "ж", "я"),
        ("koi8r", "ж", "я"),
        ("greek", "λ", "ω"),
        ("tis620", "ก", "ข"),
        ("gbk", "中", "表"),
        ("sjis", "ソ", "表"),
        ("big5", "功", "許"),
        ("euckr", "가", "각"),
    ];
    for (name, a, b) in sets {
        let charset = Charset::by_name(name).expect("it is known");
        let statements = [
            "CREATE TABLE t@A (@A ENUM ('@A', '@B') COMMENT '@B@A', `@B` VARCHAR(20) DEFAULT '@A', KEY @B@B (@B))",
            "CREATE TABLE t@B (s SET ('@A', '@B') CHARACTER SET utf8mb4, CHECK (s <> '@A@B'), PRIMARY KEY (s))",
            "INSERT INTO t@A VALUES ('@B', '@A@B'), ('@A', DEFAULT), (2, \"@B\")",
            "INSERT INTO t@B VALUES ('@A,@B'), ('@B')",
            "INSERT INTO t@B VALUES ('@A@B')",
            "SELECT HEX(@A), HEX(@B), @A + 0, CHAR_LENGTH(@B), '@A' = @B AS `=@B` FROM t@A ORDER BY 1, 2",
            "SELECT HEX(s) FROM t@B WHERE FIND_IN_SET('@A', s) OR s = '@B' ORDER BY 1",
            "SELECT HEX('@A'), HEX(_utf8mb4 X'C3A9'), HEX(CONCAT('@A', '@B\\n')), '@A' LIKE '_', QUOTE('@B\\'') AS x@A",
            "ALTER TABLE t@A ADD g VARCHAR(9) AS (CONCAT(@B, '@A')), ADD CONSTRAINT c@A CHECK (@B <> '@B@B')",
            "UPDATE t@A SET @B = '@B@B'",
            "CREATE VIEW v@A AS SELECT @A AS x@B, '@B' AS y FROM t@A WHERE @B = '@A'",
            "SELECT HEX(x@B), HEX(y) FROM v@A",
            "CREATE PROCEDURE p@A(@A_ VARCHAR(9)) COMMENT '@A' SELECT HEX(@A_), HEX('@B'), COUNT(*) AS n@B FROM t@B WHERE s = '@B'",
            "CALL p@A('@B')",
            "CREATE TRIGGER r@A BEFORE INSERT ON t@A FOR EACH ROW SET NEW.@B = '@B'",
            "INSERT INTO t@A (@A) VALUES ('@A')",
            "SET @`u@A` = '@A', @q = CONCAT('SELECT HEX(', '\\'@B\\'', ') AS e@A')",
            "SELECT HEX(@`u@A`)",
            "SELECT column_name, HEX(column_type), HEX(column_comment), HEX(column_default) FROM information_schema.columns \
             WHERE table_name IN ('t@A', 't@B') AND table_schema = 'test' ORDER BY table_name, ordinal_position",
            "SHOW CREATE TABLE t@A",
            "SHOW CREATE TABLE t@B",
            "SELECT HEX(view_definition) FROM information_schema.views WHERE table_name = 'v@A'",
            "SELECT HEX(routine_definition), HEX(routine_comment) FROM information_schema.routines WHERE routine_name = 'p@A'",
            "SELECT HEX(@B) FROM t@A WHERE @A = '@A' -- @A",
            "DROP TABLE t@B /* @B */",
            "SELECT COUNT(*) FROM t@A",
            "DROP VIEW v@A",
            "DROP PROCEDURE p@A",
            "DROP TABLE t@A",
        ];
        let spelled =
            statements.map(|statement| statement.replace("@A_", &format!("{a}_")).replace("@A", a).replace("@B", b));
        for connection in
            ["utf8mb4_general_ci", Collation::by_id(charset.default_collation()).expect("it is known").name]
        {
            let mut answers = Vec::new();
            for client in [Charset::Utf8mb4, charset] {
                let set = format!("SET character_set_client = {}, collation_connection = {connection}", client.name());
                run(&mut session, &set);
                let answer = |statement: &String| ask_in(&mut session, client, statement);
                answers.push(spelled.iter().map(answer).collect::<Vec<_>>());
                run(&mut session, "SET NAMES utf8mb4");
            }
            for (at, statement) in spelled.iter().enumerate() {
                assert_eq!(answers[1][at], answers[0][at], "{name} and {connection}: {statement}");
                let is_refused =
                    statement.contains(&format!("('{a}{b}')")) || statement.contains(&format!("= '{b}{b}'"));
                assert_eq!(answers[0][at][0].starts_with('!'), is_refused, "{statement}: {:?}", answers[0][at]);
            }
        }
    }
}
