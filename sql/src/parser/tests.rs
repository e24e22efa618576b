use super::ast::*;
use super::*;

fn expr(sql: &str) -> Expr {
    parse_expression(sql.as_bytes(), SqlMode::DEFAULT).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn error(sql: &str) -> Error {
    parse(sql.as_bytes(), SqlMode::DEFAULT).1.expect_err(sql)
}

#[test]
fn precedence_is_mysqls() {
    for (plain, explicit) in [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("a OR b AND c", "a OR (b AND c)"),
        ("a OR b XOR c AND d", "a OR (b XOR (c AND d))"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("!a = b", "(!a) = b"),
        ("a = b = c", "(a = b) = c"),
        ("1 | 2 & 3 << 4 + 5", "1 | (2 & (3 << (4 + 5)))"),
        ("-2 ^ 3", "(-2) ^ 3"),
        ("2 * 3 ^ 4", "2 * (3 ^ 4)"),
        ("BINARY a = b", "(BINARY a) = b"),
        ("a = b COLLATE x", "a = (b COLLATE x)"),
        ("a BETWEEN 1 AND 2 AND b", "(a BETWEEN 1 AND 2) AND b"),
        ("a LIKE b OR c", "(a LIKE b) OR c"),
        ("a + INTERVAL 1 DAY > b", "(a + INTERVAL 1 DAY) > b"),
        ("a IS NULL = b", "(a IS NULL) = b"),
        ("5 - 2 - 1", "(5 - 2) - 1"),
        ("8 DIV 2 % 3", "(8 DIV 2) % 3"),
    ] {
        assert_eq!(expr(plain), expr(explicit), "{plain}");
    }
}

#[test]
fn a_syntax_error_names_the_place() {
    let near = |sql, near: &str| {
        let message = error(sql).message;
        assert!(message.ends_with(near), "{sql}: {message}");
    };
    near("SELEC 1", "near 'SELEC 1' at line 1");
    near("SELECT 1 FROM", "near '' at line 1");
    near("SELECT a,\n FROM t", "near 'FROM t' at line 2");
    near("SELECT 'abc", "near ''abc' at line 1");
    near("SELECT * FROM t WHERE", "near '' at line 1");
    near("SELECT 1 2", "near '2' at line 1");
    near("INSERT INTO t VALUES (1", "near '' at line 1");
}

#[test]
fn statements_of_one_text_come_apart() {
    let (parsed, result) = parse(b" SELECT 1 ;; -- x\n SELECT ?; SELEC", SqlMode::DEFAULT);
    assert_eq!(parsed.len(), 2);
    assert_eq!(parsed[0].source, 1..9);
    assert_eq!(parsed[1].parameters, 1);
    assert_eq!(result.unwrap_err().code, 1064);
    assert_eq!(parse(b" /* nothing */ ; ", SqlMode::DEFAULT), (vec![], Ok(())));
    // What is logged can be read again: a version comment is all of the statement, or none.
    let dumped = b"/* x */ /*!40000 DO 1 */; /*!50003 DO*/ /*!50017 2*/ -- y\n; DO /*!40000 3 */";
    let (parsed, _) = parse(dumped, SqlMode::DEFAULT);
    let texts: Vec<&[u8]> = parsed.iter().map(|parsed| &dumped[parsed.source.clone()]).collect();
    assert_eq!(texts.len(), 3);
    assert_eq!(texts[0], b"/*!40000 DO 1 */");
    assert!(texts[1].starts_with(b"/*!50003 DO*/ /*!50017 2*/"));
    assert_eq!(texts[2], b"DO /*!40000 3 */");
}

#[test]
fn deep_nesting_is_an_error_and_long_lists_are_not() {
    for deep in [
        format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("SELECT {}1", "-".repeat(100_000).replace('-', "- ")),
        format!("SELECT {}1", "NOT ".repeat(100_000)),
        format!("SELECT 1{}", "+1".repeat(100_000)),
        format!("SELECT 1{}", "=1".repeat(100_000)),
        format!("SELECT * FROM {}a{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(100_000)),
        format!("SELECT {}1{}", "(SELECT ".repeat(100_000), ")".repeat(100_000)),
        format!("SELECT {}1{}", "IF(1,".repeat(100_000), ",1)".repeat(100_000)),
        format!("SELECT {}1", "CASE ".repeat(100_000)),
    ] {
        assert_eq!(error(&deep).code, 1436, "{}", &deep[..40]);
    }
    let long = format!("SELECT 1 FROM t WHERE a = 0{}", " OR a = 1 AND b = 2".repeat(10_000));
    assert!(parse(long.as_bytes(), SqlMode::DEFAULT).1.is_ok());
    let union = format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(10_000));
    assert!(parse(union.as_bytes(), SqlMode::DEFAULT).1.is_ok());
    let list = format!("SELECT 1 IN (0{})", ",1".repeat(100_000));
    assert!(parse(list.as_bytes(), SqlMode::DEFAULT).1.is_ok());
}

#[test]
fn joins_take_the_nearest_condition() {
    let from = |sql: &str| {
        let (parsed, result) = parse(format!("SELECT * FROM {sql}").as_bytes(), SqlMode::DEFAULT);
        result.unwrap_or_else(|error| panic!("{sql}: {error}"));
        match &parsed[0].statement {
            Statement::Query(query) => match &query.body {
                Body::Select(select) => select.from.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    };
    for (plain, explicit) in [
        ("a JOIN b ON 1 JOIN c ON 2", "((a JOIN b ON 1) JOIN c ON 2)"),
        ("a JOIN b JOIN c ON 1 ON 2", "(a JOIN (b JOIN c ON 1) ON 2)"),
        ("a JOIN b JOIN c ON 1", "((a JOIN b) JOIN c ON 1)"),
        ("a JOIN b JOIN c", "((a JOIN b) JOIN c)"),
        ("a LEFT JOIN b LEFT JOIN c ON 1 ON 2 JOIN d ON 3", "((a LEFT JOIN (b LEFT JOIN c ON 1) ON 2) JOIN d ON 3)"),
        ("a JOIN (b JOIN c ON 1)", "(a JOIN (b JOIN c ON 1))"),
        ("((SELECT 1) AS a JOIN b)", "(SELECT 1) AS a JOIN b"),
    ] {
        assert_eq!(from(plain), from(explicit), "{plain}");
    }
    for sql in ["((SELECT 1) + 2)", "(((SELECT 1) UNION (SELECT 2)) * 3)", "((SELECT 1))", "1 IN ((SELECT 1), 2)"] {
        expr(sql);
    }
}

#[test]
fn truncated_statements_never_panic() {
    let statements = [
        "CREATE TABLE t (a INT UNSIGNED DEFAULT '5', KEY k (a(3) DESC)) ENGINE=InnoDB COMPRESSION='zlib' PARTITION BY KEY(a)",
        "ALTER TABLE t ADD COLUMN (a INT, KEY (a)), CHANGE a b CHAR(3) AFTER c, RENAME INDEX a TO b",
        "INSERT INTO t (a) VALUES (1, DEFAULT(b)) AS n(x) ON DUPLICATE KEY UPDATE a = VALUES(a) + n.x",
        "SELECT a.*, TRIM(BOTH 'x' FROM b), @a := @@global.c, CASE WHEN 1 THEN {d '2020-01-01'} END FROM (t, u) \
         LEFT JOIN v FORCE INDEX FOR ORDER BY (i) USING (a) WHERE a + INTERVAL '1:2' MINUTE_SECOND IN (SELECT 1) \
         GROUP BY 1 WITH ROLLUP HAVING COUNT(DISTINCT a, b) > 0 ORDER BY GROUP_CONCAT(a ORDER BY b SEPARATOR 'x') \
         LIMIT 1, 2 FOR UPDATE OF t SKIP LOCKED",
        "GRANT SELECT (a), LOCK TABLES ON a.* TO 'u'@'h' IDENTIFIED WITH p BY 'x' WITH GRANT OPTION",
        "SET @a = 1, GLOBAL b = ON, NAMES 'x' COLLATE y, PERSIST c = DEFAULT",
        "SHOW /*!50002 FULL */ COLUMNS FROM t FROM d LIKE 'x'",
    ];
    for sql in statements {
        assert!(parse(sql.as_bytes(), SqlMode::DEFAULT).1.is_ok(), "{sql}: {}", error(sql));
        for end in 0..sql.len() {
            let _ = parse(&sql.as_bytes()[..end], SqlMode::DEFAULT);
            let _ = parse(&sql.as_bytes()[end..], SqlMode::DEFAULT);
        }
    }
}

#[test]
fn quoting_follows_the_mode() {
    let ansi = SqlMode::ANSI_QUOTES.with(SqlMode::PIPES_AS_CONCAT);
    assert_eq!(parse_expression(b"\"a\"", ansi), Ok(Expr::Column(ColumnName::new("a"))));
    assert_eq!(expr("\"a\""), Expr::string("a"));
    let Ok(Expr::Binary { op, .. }) = parse_expression(b"a || b", ansi) else { panic!() };
    assert_eq!(op, BinaryOp::Concat);
    assert_eq!(expr("'a' \"b\" 'c'"), Expr::string("abc"));
}
