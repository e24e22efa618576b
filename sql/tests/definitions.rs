//! SHOW CREATE TABLE says all that CREATE TABLE said: its text makes a table of which it says the same.

mod common;

use sql::Session;
use storage::Config;

use common::random::{Random, first_seed};
use common::{Scratch, ask, instance, session};

const TYPES: [&str; 40] = [
    "TINYINT",
    "SMALLINT UNSIGNED",
    "MEDIUMINT",
    "INT",
    "INTEGER UNSIGNED",
    "BIGINT",
    "BIGINT UNSIGNED",
    "BOOL",
    "BIT(7)",
    "YEAR",
    "FLOAT",
    "FLOAT(7,3)",
    "FLOAT(30)",
    "DOUBLE",
    "DOUBLE(9,2) UNSIGNED",
    "DECIMAL(12,4)",
    "NUMERIC(65,30)",
    "DATE",
    "TIME",
    "TIME(3)",
    "DATETIME",
    "DATETIME(6)",
    "TIMESTAMP NULL",
    "CHAR(5)",
    "VARCHAR(20)",
    "VARCHAR(300)",
    "BINARY(4)",
    "VARBINARY(9)",
    "TINYTEXT",
    "TEXT",
    "MEDIUMTEXT",
    "LONGTEXT",
    "TINYBLOB",
    "BLOB",
    "LONGBLOB",
    "JSON",
    "ENUM('a','it''s','b\\\\c','ä')",
    "SET('x','y z','')",
    "CHAR(0)",
    "TEXT(70000)",
];
const COLLATIONS: [&str; 9] = [
    "",
    "",
    "CHARACTER SET latin1",
    "CHARACTER SET utf8mb4",
    "COLLATE utf8mb4_general_ci",
    "COLLATE utf8mb4_bin",
    "CHARACTER SET latin1 COLLATE latin1_bin",
    "CHARACTER SET ascii",
    "BINARY",
];
const OPTIONS: [&str; 40] = [
    "ENGINE=InnoDB",
    "COMMENT='a ''comment'' \\\\ \\n of two lines'",
    "COMMENT=''",
    "DEFAULT CHARSET=latin1",
    "CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    "COLLATE utf8mb4_general_ci",
    "CHARACTER SET ascii",
    "CHARSET=binary",
    "AUTO_INCREMENT=77",
    "COMPRESSION='zlib'",
    "COMPRESSION='lz4'",
    "COMPRESSION='none'",
    "COMPRESSION='zstd'",
    "PAGE_COMPRESSED=1",
    "PAGE_COMPRESSED=OFF",
    "`PAGE_COMPRESSED`='yes'",
    "PAGE_COMPRESSION_LEVEL=3",
    "ATOMIC_WRITES=ON",
    "ATOMIC_WRITES='off'",
    "ROW_FORMAT=COMPACT",
    "ROW_FORMAT=DYNAMIC",
    "ROW_FORMAT=COMPRESSED",
    "KEY_BLOCK_SIZE=8",
    "STATS_PERSISTENT=1",
    "STATS_AUTO_RECALC=0",
    "STATS_SAMPLE_PAGES=11",
    "STATS_PERSISTENT=DEFAULT",
    "MAX_ROWS=1000",
    "MIN_ROWS=3",
    "AVG_ROW_LENGTH=9",
    "PACK_KEYS=1",
    "CHECKSUM=1",
    "DELAY_KEY_WRITE=1",
    "TRANSACTIONAL=1",
    "AUTOEXTEND_SIZE=4M",
    "ENGINE_ATTRIBUTE='{\"a\": 1}'",
    "UNHEARD_OF=somebody",
    "`Strange name`='it''s'",
    "DATA DIRECTORY='/nowhere'",
    "INSERT_METHOD=NO",
];

fn column(random: &mut Random, number: usize) -> String {
    let ty = random.one(&TYPES);
    let word = ty.split(['(', ' ']).next().unwrap_or_default();
    let is_text = word.contains("TEXT") || matches!(word, "CHAR" | "VARCHAR" | "ENUM" | "SET");
    let mut text = format!("`c{number}` {ty}");
    if is_text {
        text = format!("{text} {}", random.one(&COLLATIONS));
    }
    if random.below(3) == 0 && !ty.ends_with("NULL") {
        text.push_str(" NOT NULL");
    }
    let default = match word {
        "DATETIME" | "TIMESTAMP" => {
            let fraction = ty.find('(').map_or("", |_| "(6)");
            let choices = [
                format!(" DEFAULT CURRENT_TIMESTAMP{fraction}"),
                format!(" DEFAULT CURRENT_TIMESTAMP{fraction} ON UPDATE CURRENT_TIMESTAMP{fraction}"),
                " DEFAULT '2020-02-29 10:11:12'".to_string(),
                format!(" ON UPDATE CURRENT_TIMESTAMP{fraction}"),
                String::new(),
            ];
            choices[random.below(choices.len())].clone()
        }
        "CHAR" | "VARCHAR" if !ty.ends_with("(0)") => {
            random.one(&["", " DEFAULT ''", " DEFAULT 'a''\\\\'", " DEFAULT NULL"]).to_string()
        }
        "INT" | "BIGINT" | "DOUBLE" | "DECIMAL" => {
            random.one(&["", " DEFAULT 3", " DEFAULT '7'", " DEFAULT (1 + 2)"]).into()
        }
        "BIT" => random.one(&["", " DEFAULT b'101'"]).into(),
        "ENUM" => random.one(&["", " DEFAULT 'it''s'"]).into(),
        _ => String::new(),
    };
    if !(default == " DEFAULT NULL" && text.contains("NOT NULL")) {
        text.push_str(&default);
    }
    text.push_str(random.one(&["", "", " COMMENT 'it''s \\\\ one'", " INVISIBLE"]));
    text
}

fn table(random: &mut Random) -> String {
    let count = 1 + random.below(6);
    let mut parts = vec![
        random.one(&["id INT AUTO_INCREMENT PRIMARY KEY", "id INT NOT NULL UNIQUE", "id SERIAL", "id INT"]).to_string(),
    ];
    for number in 0..count {
        parts.push(column(random, number));
    }
    for number in 0..random.below(3) {
        let kind = random.one(&["KEY", "UNIQUE KEY", "INDEX"]);
        let order = random.one(&["", " DESC"]);
        let using = random.one(&["", " USING BTREE", " USING HASH"]);
        let rest = random.one(&["", " COMMENT 'an ''index'''", " INVISIBLE"]);
        parts.push(format!("{kind} `k {number}` (id{order}){using}{rest}"));
    }
    let options: Vec<&str> = (0..random.below(5)).map(|_| random.one(&OPTIONS)).collect();
    format!("CREATE TABLE t ({}) {}", parts.join(", "), options.join(" "))
}

/// The text of SHOW CREATE TABLE.
fn shown(session: &mut Session) -> String {
    let lines = ask(session, "SHOW CREATE TABLE t");
    let text = lines.get(1).unwrap_or_else(|| panic!("{lines:?}"));
    text.strip_prefix("| t | ").expect("a name").replace("\\n", "\n")
}

#[test]
fn the_text_of_a_table_makes_the_same_table() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(first_seed);
    println!("SEED={seed}");
    let scratch = Scratch::new("definitions");
    let instance = instance(&scratch.0, Config::tiny());
    let (mut lenient, mut usual) = (session(&instance), session(&instance));
    ask(&mut lenient, "SET sql_mode = CONCAT(@@sql_mode, ',IGNORE_BAD_TABLE_OPTIONS')");
    let mut random = Random::new(seed);
    let mut made = 0;
    for _ in 0..150 {
        let statement = table(&mut random);
        let lines = ask(&mut lenient, &statement);
        if lines.iter().any(|line| line.starts_with("! ")) {
            continue;
        }
        made += 1;
        let first = shown(&mut usual);
        ask(&mut usual, "DROP TABLE t");
        let lines = ask(&mut usual, &first);
        assert!(lines[0].starts_with('='), "seed {seed}: {statement}\nmade\n{first}\nwhich is refused: {lines:?}");
        let second = shown(&mut usual);
        assert_eq!(first, second, "seed {seed}: {statement}");
        ask(&mut usual, "DROP TABLE t");
    }
    assert!(made > 40, "seed {seed}: only {made} tables could be made");
}
