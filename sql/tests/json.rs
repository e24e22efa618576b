//! Relations of JSON that hold for any document, without a server to compare with.
//!
//! * What was put at a path is found there, and what was there is found in the document before.
//! * A text read, written and read again is the same value; so is one that a column held.
//! * ORDER BY agrees with the comparison of each pair; GROUP BY, DISTINCT and a join find equal what `=` finds equal.
//! * A prepared statement answers what the text answers.
//! * The text of a table, loaded into another one, is equal to it.
//!
//! `JSON_CASES=1000 cargo test -p sql --test json` asks for as many documents as that.

mod common;

use storage::Config;

use common::{Scratch, ask, instance, session};

/// xorshift: the same documents each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn document(&mut self, depth: u64) -> String {
        const SCALARS: [&str; 16] = [
            "null",
            "true",
            "false",
            "0",
            "1",
            "1.0",
            "-1",
            "10",
            "9",
            "1e300",
            "1.5",
            "\"\"",
            "\"a\"",
            "\"B\"",
            "\"\u{e4}\\\\n\"",
            "18446744073709551615",
        ];
        match self.below(if depth == 0 { 1 } else { 3 }) {
            0 => SCALARS[self.below(SCALARS.len() as u64) as usize].to_owned(),
            1 => {
                let parts: Vec<String> = (0..self.below(4)).map(|_| self.document(depth - 1)).collect();
                format!("[{}]", parts.join(","))
            }
            _ => {
                let parts: Vec<String> = (0..self.below(4))
                    .map(|_| {
                        let name = ["a", "b", "aa", "c d"][self.below(4) as usize];
                        format!("\"{name}\": {}", self.document(depth - 1))
                    })
                    .collect();
                format!("{{{}}}", parts.join(","))
            }
        }
    }
}

fn cases() -> u64 {
    std::env::var("JSON_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(150)
}

/// The single value of a query.
fn value(lines: &[String]) -> &str {
    match lines {
        [_, row, ..] => row.strip_prefix("| ").unwrap_or_else(|| panic!("a row: {lines:?}")),
        _ => panic!("a row: {lines:?}"),
    }
}

#[test]
fn relations_hold_for_any_document() {
    let scratch = Scratch::new("json");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    let mut ask = |statement: &str| ask(&mut session, statement);
    ask("CREATE TABLE t (id INT PRIMARY KEY, j JSON, k JSON)");
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for id in 0..cases() {
        let (one, other) = (random.document(3), random.document(2));
        assert_eq!(ask(&format!("INSERT INTO t VALUES ({id}, '{one}', '{other}')")), ["= 1 rows"], "{one} {other}");
    }
    // What is put there is there. A path that cannot be made leaves the document as it is.
    for path in ["$", "$.a", "$.b", "$[0]", "$[1]", "$[last]", "$.a.b", "$.a[0]", "$.\"c d\"[last]"] {
        let lines = ask(&format!(
            "SELECT COUNT(*) FROM t WHERE NOT (JSON_EXTRACT(JSON_SET(j, '{path}', k), '{path}') = k) AND JSON_SET(j, '{path}', k) <> j AND JSON_TYPE(k) <> 'ARRAY'"
        ));
        assert_eq!(value(&lines), "0", "{path} is found");
        let lines = ask(&format!(
            "SELECT COUNT(*) FROM t WHERE JSON_CONTAINS_PATH(j, 'one', '{path}') <> (JSON_EXTRACT(j, '{path}') IS NOT NULL)"
        ));
        assert_eq!(value(&lines), "0", "{path} is there or not");
        let lines = ask(&format!(
            "SELECT COUNT(*) FROM t WHERE JSON_INSERT(JSON_REPLACE(j, '{path}', k), '{path}', k) <> JSON_SET(j, '{path}', k) AND JSON_TYPE(k) <> 'ARRAY'"
        ));
        assert_eq!(value(&lines), "0", "{path} is replaced or inserted");
    }
    // Texts.
    for relation in [
        "CAST(CAST(j AS CHAR) AS JSON) <> j",
        "CAST(JSON_PRETTY(j) AS JSON) <> j",
        "CAST(JSON_COMPACT(j) AS JSON) <> j",
        "CAST(JSON_DETAILED(j) AS JSON) <> j",
        "JSON_MERGE_PATCH('{}', j) <> j AND JSON_SEARCH(j, 'one', 'no') IS NULL AND NOT CAST(j AS CHAR) LIKE '%null%'",
        "NOT JSON_CONTAINS(j, j)",
        "JSON_OVERLAPS(j, k) <> JSON_OVERLAPS(k, j)",
        "NOT k MEMBER OF (JSON_ARRAY(j, k))",
        "JSON_DEPTH(JSON_ARRAY(j)) <> JSON_DEPTH(j) + 1",
        "JSON_LENGTH(JSON_MERGE_PRESERVE(JSON_ARRAY(), j)) <> JSON_LENGTH(JSON_MERGE_PRESERVE(j, JSON_ARRAY()))",
        "(SELECT COUNT(*) FROM JSON_TABLE(j, '$.*' COLUMNS (v JSON PATH '$')) x) <> IF(JSON_TYPE(j) = 'OBJECT', JSON_LENGTH(j), 0)",
        "JSON_UNQUOTE(JSON_QUOTE(CAST(j AS CHAR))) <> CAST(j AS CHAR)",
    ] {
        assert_eq!(value(&ask(&format!("SELECT COUNT(*) FROM t WHERE {relation}"))), "0", "never {relation}");
    }
    // Order.
    let sorted = ask("SELECT id FROM t ORDER BY j, id");
    let ids: Vec<&str> = sorted[1..].iter().map(|line| &line[2..]).collect();
    for pair in ids.windows(2) {
        let greater =
            format!("SELECT (SELECT j FROM t WHERE id = {}) > (SELECT j FROM t WHERE id = {})", pair[0], pair[1]);
        assert_eq!(value(&ask(&greater)), "0", "{pair:?} are in order");
    }
    let pairs = value(&ask("SELECT COUNT(*) FROM t a, t b WHERE NOT a.j <> b.j")).to_owned();
    assert_eq!(value(&ask("SELECT COUNT(*) FROM t a, t b WHERE NOT (a.j < b.j OR a.j > b.j)")), pairs);
    assert_eq!(value(&ask("SELECT COUNT(*) FROM t a JOIN t b ON a.j = b.j")), pairs, "by hash");
    assert_eq!(value(&ask("SELECT SUM(n * n) FROM (SELECT COUNT(*) AS n FROM t GROUP BY j) AS g")), pairs, "by groups");
    let distinct = value(&ask("SELECT COUNT(DISTINCT j) FROM t")).to_owned();
    assert_eq!(value(&ask("SELECT COUNT(*) FROM (SELECT DISTINCT j FROM t) AS d")), distinct);
    // Prepared.
    ask("PREPARE s FROM 'SELECT COUNT(*) FROM t WHERE JSON_EXTRACT(j, ?) = CAST(? AS JSON)'");
    for (path, document) in [("$.a", "1"), ("$[0]", "\"a\""), ("$.b", "[]")] {
        ask(&format!("SET @p = '{path}', @d = '{document}'"));
        let text = format!("SELECT COUNT(*) FROM t WHERE JSON_EXTRACT(j, '{path}') = CAST('{document}' AS JSON)");
        assert_eq!(value(&ask("EXECUTE s USING @p, @d")), value(&ask(&text)), "{path} {document}");
    }
    // Dumped and loaded.
    ask("CREATE TABLE u LIKE t");
    for id in 0..cases() {
        let text = value(&ask(&format!("SELECT QUOTE(j) FROM t WHERE id = {id}"))).to_owned();
        assert_eq!(ask(&format!("INSERT INTO u (id, j) VALUES ({id}, {text})")), ["= 1 rows"], "{text}");
    }
    assert_eq!(value(&ask("SELECT COUNT(*) FROM t JOIN u ON t.id = u.id AND t.j = u.j")), cases().to_string());
}
