//! Collations with MariaDB as the oracle: what each character weighs, and which texts are found, by an index and without.

use bench::client::{Answer, Client};
use bench::process::{Kind, Options, Scratch, Server, mariadb_is_installed};
use format::collation::{Collation, CollationId};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

fn start(kind: Kind, scratch: &Scratch, name: &str) -> Server {
    let options = Options { pool: "64M".into(), log: "64M".into(), ..Options::default() };
    Server::create(kind, &scratch.0.join(name), &options).expect("the server starts")
}

fn connect(server: &Server) -> Client {
    let mut client = server.connect().expect("a connection");
    for statement in ["SET NAMES utf8mb4", "CREATE DATABASE IF NOT EXISTS c", "USE c"] {
        client.query(statement).expect(statement);
    }
    client
}

#[test]
fn each_character_weighs_as_on_mariadb() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let scratch = Scratch::new("collations_weights").expect("a directory");
    let oracle = start(Kind::MariaDb, &scratch, "oracle");
    let mut oracle = connect(&oracle);
    for id in [CollationId::UTF8MB4_UNICODE_CI, CollationId::UTF8MB4_UNICODE_520_CI] {
        let known = Collation::by_id(id).expect("it is known");
        // Behind these all weights are derived from the code point.
        let select = format!(
            "SELECT seq, HEX(WEIGHT_STRING(CONVERT(CHAR(seq USING utf32) USING utf8mb4) COLLATE {})) FROM seq_0_to_196607 \
             WHERE seq NOT BETWEEN 0xD800 AND 0xDFFF",
            known.name
        );
        let rows = oracle.query(&select).expect("weights").rows;
        assert_eq!(rows.len(), 0x3_0000 - 0x800);
        for row in rows {
            let code: u32 = row[0].as_deref().expect("a number").parse().expect("a number");
            let character = char::from_u32(code).expect("a character").to_string();
            let weights = known.unicode_weights(character.as_bytes()).expect("it has weights");
            let weights: String = weights.iter().map(|weight| format!("{weight:04X}")).collect();
            assert_eq!(Some(weights.as_str()), row[1].as_deref(), "{}: U+{code:04X}", known.name);
        }
    }
}

/// Characters that weigh alike, nothing, less than a space, or more than once.
const UNICODE: &[char] =
    &['a', 'A', 'á', 'b', 's', 'S', 'ß', 'z', ' ', '\t', '!', '\u{1}', '\u{A0}', '\u{301}', '中', '😀', '%', '_'];
const LATIN1: &[char] = &['a', 'A', 'á', 'Á', 'b', 's', 'S', 'ß', 'z', 'ÿ', ' ', '\t', '!', '\u{A0}', '%', '_'];

fn text(random: &mut StdRng, alphabet: &[char], length_max: usize) -> String {
    let length = random.random_range(0..=length_max);
    (0..length).map(|_| alphabet[random.random_range(0..alphabet.len())]).collect()
}

fn literal(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("_utf8mb4 X'{digits}'")
}

fn ids(answer: &Answer) -> Vec<String> {
    answer.rows.iter().map(|row| row.iter().map(|cell| cell.clone().unwrap_or_default()).collect()).collect()
}

#[test]
fn texts_are_found_as_on_mariadb_with_an_index_and_without() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let scratch = Scratch::new("collations_texts").expect("a directory");
    let servers = [start(Kind::Glassine, &scratch, "ours"), start(Kind::MariaDb, &scratch, "oracle")];
    let [mut ours, mut oracle] = [connect(&servers[0]), connect(&servers[1])];
    let mut random = StdRng::seed_from_u64(12);
    for (charset, collation, alphabet) in [
        ("utf8mb4", "utf8mb4_unicode_ci", UNICODE),
        ("utf8mb4", "utf8mb4_unicode_520_ci", UNICODE),
        ("utf8mb3", "utf8mb3_unicode_ci", &UNICODE[..15]),
        ("utf8mb4", "utf8mb4_general_ci", UNICODE),
        ("latin1", "latin1_general_cs", LATIN1),
    ] {
        let mut both = |statement: &str| {
            ours.query(statement).unwrap_or_else(|error| panic!("ours: {statement}: {error}"));
            oracle.query(statement).unwrap_or_else(|error| panic!("oracle: {statement}: {error}"));
        };
        both("DROP TABLE IF EXISTS t");
        let ty = format!("VARCHAR(20) CHARACTER SET {charset} COLLATE {collation}");
        both(&format!("CREATE TABLE t (id INT PRIMARY KEY, a {ty}, b {ty}, KEY (a)) ENGINE=InnoDB"));
        for id in 0..400 {
            let text = literal(&text(&mut random, alphabet, 6));
            both(&format!("INSERT INTO t VALUES ({id}, {text}, {text})"));
        }
        for _ in 0..120 {
            let (one, other) = (text(&mut random, alphabet, 4), text(&mut random, alphabet, 4));
            let condition = match random.random_range(0..7) {
                0 => format!("= {}", literal(&one)),
                1 => format!("< {}", literal(&one)),
                2 => format!(">= {}", literal(&one)),
                3 => format!("BETWEEN {} AND {}", literal(&one), literal(&other)),
                4 => format!("IN ({}, {})", literal(&one), literal(&other)),
                _ => format!("LIKE {}", literal(&format!("{one}%"))),
            };
            let select = |column| format!("SELECT id FROM t WHERE {column} {condition} ORDER BY id");
            let wanted = ids(&oracle.query(&select("b")).expect("the oracle's rows"));
            for column in ["a", "b"] {
                let found = ids(&ours.query(&select(column)).expect("rows"));
                assert_eq!(found, wanted, "{collation}: {column} {condition} ({one:?} {other:?})");
            }
        }
        for select in [
            "SELECT id FROM t ORDER BY a, id",
            "SELECT id FROM t ORDER BY b DESC, id",
            "SELECT MIN(id), COUNT(*) FROM t GROUP BY a ORDER BY 1",
            "SELECT MIN(id), COUNT(*) FROM t GROUP BY b ORDER BY 1",
            "SELECT COUNT(DISTINCT a), COUNT(DISTINCT b) FROM t",
            "SELECT COUNT(*) FROM t x JOIN t y ON x.a = y.b",
            "SELECT COUNT(*) FROM t x JOIN t y ON x.b = y.b",
        ] {
            let (found, wanted) = (ours.query(select).expect(select), oracle.query(select).expect(select));
            assert_eq!(ids(&found), ids(&wanted), "{collation}: {select}");
        }
        let check = ours.query("CHECK TABLE t").expect("a check");
        assert_eq!(check.rows[0].last().and_then(|cell| cell.as_deref()), Some("OK"));
    }
}
