//! What expressions hold in memory has limits: functions ask `max_allowed_packet` before they make a text, and many large
//! texts at a time are refused.

mod common;

use storage::Config;

use common::{Scratch, ask, instance, session};

/// The process's resident bytes at their most, in MiB.
fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the process's status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("its peak");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") / 1024
}

const EXCEEDED: &str = "! 3170 Memory capacity of 1073741824 bytes for 'expressions' exceeded.";

fn nested(function: &str, depth: usize, inner: &str) -> String {
    format!("{}{inner}{}", function.repeat(depth), ")".repeat(depth))
}

#[test]
fn functions_ask_before_they_make_a_text_longer() {
    let scratch = Scratch::new("memory");
    let instance = instance(&scratch.0, Config::tiny());
    let mut session = session(&instance);
    let mut ask = |statement: &str| ask(&mut session, statement);
    let before = peak_mebibytes();
    let large = "REPEAT('a', 60000000)";
    let many = vec![large; 100].join(", ");
    let null = |lines: &[String], what: &str| {
        assert_eq!(lines.get(1).map(String::as_str), Some("| NULL"), "{what}: {lines:?}");
        assert!(lines.last().is_some_and(|line| line.starts_with("~ ")), "{what} warns: {lines:?}");
    };
    for expression in [
        format!("LENGTH(CONCAT({many}))"),
        format!("LENGTH(CONCAT_WS(',', {many}))"),
        format!("LENGTH(MAKE_SET(-1, {many}))"),
        format!("LENGTH(EXPORT_SET(5, {large}, {large}, {large}))"),
        format!("LENGTH(HEX({large}))"),
        format!("LENGTH({})", nested("HEX(", 45, "'a'")),
        "LENGTH(QUOTE(REPEAT('\\'', 40000000)))".to_owned(),
        format!("LENGTH({})", nested("TO_BASE64(", 60, large)),
        format!("LENGTH(REPLACE({large}, 'a', 'bbbb'))"),
        format!("LENGTH(INSERT({large}, 2, 1, {large}))"),
        format!("LENGTH(REGEXP_REPLACE({large}, 'a{{1000}}', REPEAT('b', 2000)))"),
        "LENGTH(REGEXP_REPLACE(REPEAT('a', 1000000), '.*', REPEAT('$0', 10000)))".to_owned(),
        "LENGTH(REPEAT('abcdef', 60000000))".to_owned(),
        "LENGTH(SPACE(1000000000))".to_owned(),
        "LENGTH(LPAD('a', 1000000000, 'b'))".to_owned(),
        "LENGTH(RPAD('a', 1000000000, 'b'))".to_owned(),
        "LENGTH(CONVERT(CONVERT(REPEAT('\u{e9}', 20000000) USING latin1) USING utf8mb4)) + LENGTH(SPACE(1000000000))"
            .to_owned(),
        "LENGTH(CONVERT(REPEAT(_latin1 x'e9', 40000000) USING utf8mb4))".to_owned(),
        "LENGTH(CAST(REPEAT(_latin1 x'e9', 40000000) AS CHAR CHARACTER SET utf8mb4))".to_owned(),
        "LENGTH(CAST('a' AS BINARY(1000000000)))".to_owned(),
    ] {
        let lines = ask(&format!("SELECT {expression}"));
        null(&lines, &expression[..expression.len().min(60)]);
    }
    // One large text is held per level: each alone is allowed.
    let mut deep = "'a'".to_owned();
    for _ in 0..100 {
        deep = format!("REPLACE({large}, {deep}, 'b')");
    }
    let lines = ask(&format!("SELECT {deep}"));
    assert_eq!(lines.last().map(String::as_str), Some(EXCEEDED));
    let mut deep = "'a'".to_owned();
    for _ in 0..100 {
        deep = format!("({large} = {deep})");
    }
    let lines = ask(&format!("SELECT {deep}"));
    assert_eq!(lines.last().map(String::as_str), Some(EXCEEDED));
    // Nothing is left on the account.
    for _ in 0..3 {
        assert_eq!(ask(&format!("SELECT LENGTH(REPLACE({large}, 'b', {large}))"))[1], "| 60000000");
    }
    let grown = peak_mebibytes().saturating_sub(before);
    assert!(grown < 1600, "{grown} MiB were taken");
}

#[test]
fn json_aggregates_longer_than_a_packet_are_null() {
    let scratch = Scratch::new("json-packet");
    let instance = instance(&scratch.0, Config::tiny());
    ask(&mut session(&instance), "SET GLOBAL max_allowed_packet = 1024");
    let mut session = session(&instance);
    let mut ask = |statement: &str| ask(&mut session, statement);
    ask("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(900))");
    ask("INSERT INTO t VALUES (1, REPEAT('x', 900)), (2, 'y'), (3, REPEAT('z', 200))");
    assert_eq!(ask("SELECT JSON_ARRAYAGG(a) AS j FROM t"), ["| j", "| NULL", "~ 1 warnings"]);
    assert_eq!(ask("SELECT JSON_OBJECTAGG(id, a) AS j FROM t"), ["| j", "| NULL", "~ 1 warnings"]);
    let by_group = "SELECT id = 2 AS g, JSON_ARRAYAGG(a) AS j FROM t GROUP BY g ORDER BY g";
    assert_eq!(ask(by_group), ["| g | j", "| 0 | NULL", "| 1 | [\"y\"]", "~ 1 warnings"]);
    let shown = ask("SHOW WARNINGS");
    let told = "Result of json_arrayagg() was larger than max_allowed_packet (1024) - truncated";
    assert!(shown[1].ends_with(told), "{shown:?}");
}
