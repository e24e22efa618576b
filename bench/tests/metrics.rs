//! The port of the metrics, asked as Prometheus and a browser ask it, and compared with what statements answer.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bench::process::{Kind, Options, Scratch, Server};
use bench::replicas::free_port;
use serde_json::Value;

fn get(port: u16, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the port is open");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_owned(), body.to_owned())
}

fn json(port: u16, path: &str) -> Value {
    let (head, body) = get(port, path);
    assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
    serde_json::from_str(&body).expect("JSON")
}

/// The samples of a scrape, after a look at their form: each metric is described before its samples, which stand
/// together, and no sample is there twice.
fn scrape(port: u16) -> BTreeMap<String, f64> {
    let (_, text) = get(port, "/metrics");
    let (mut samples, mut described, mut current) = (BTreeMap::new(), BTreeSet::new(), "");
    for line in text.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.split_once(' ').expect("a name and a type");
            assert!(["counter", "gauge", "untyped"].contains(&kind), "{line}");
            assert!(described.insert(name), "{name} is described twice");
            current = name;
        } else if !line.starts_with('#') {
            let (sample, value) = line.rsplit_once(' ').expect("a sample and its value");
            assert_eq!(sample.split('{').next(), Some(current), "{line}");
            let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
            assert!(samples.insert(sample.to_owned(), value).is_none(), "{line} is there twice");
        }
    }
    samples
}

#[test]
fn metrics_agree_with_what_statements_answer_and_tell_no_secrets() {
    let scratch = Scratch::new("metrics").expect("a directory");
    let port = free_port();
    let more = vec![format!("--metrics-address=localhost:{port}")];
    let options = Options { pool: "32M".into(), more, ..Options::default() };
    let server = Server::create(Kind::Glassine, &scratch.0.join("server"), &options).expect("Glassine starts");
    let before = scrape(port);
    let mut client = server.connect().expect("a connection");
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(200)) COMPRESSION='zstd'",
        "INSERT INTO d.t (a) VALUES (REPEAT('a', 200)), (REPEAT('b', 200)), (REPEAT('c', 200)), (REPEAT('d', 200))",
    ] {
        client.query(statement).expect(statement);
    }
    for _ in 0..12 {
        client.query("INSERT INTO d.t (a) SELECT a FROM d.t").expect("more rows");
    }
    // Everything is written, and nothing changes any more.
    client.query("SET GLOBAL innodb_max_dirty_pages_pct = 0").expect("a setting");
    let dirty = "mysql_global_status_buffer_pool_dirty_pages";
    while scrape(port)[dirty] > 0.0 {
        std::thread::sleep(Duration::from_millis(100));
    }
    let after = scrape(port);
    let grown = |name: &str| after[name] - before[name];
    assert_eq!(grown("mysql_global_status_commands_total{command=\"insert_select\"}"), 12.0);
    assert_eq!(grown("mysql_global_status_innodb_row_ops_total{operation=\"inserted\"}"), 4.0 * 4096.0);
    assert_eq!(after["mysql_up"], 1.0);
    assert_eq!(after["mysql_global_variables_innodb_page_size"], 16384.0);

    // Every panel of the dashboard shows what is served here.
    let dashboard: Value = serde_json::from_str(include_str!("../../docs/grafana.json")).expect("JSON");
    let known: BTreeSet<&str> = after.keys().filter_map(|sample| sample.split('{').next()).collect();
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut shown = 0;
    for target in panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten() {
        let expression = target["expr"].as_str().expect("an expression");
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for metric in words.filter(|word| word.starts_with("mysql_") || word.starts_with("glassine_")) {
            assert!(known.contains(metric), "the dashboard asks for {metric}");
            shown += 1;
        }
    }
    assert!(shown > 50, "{shown} metrics are shown");

    // The listing is kept for some seconds.
    std::thread::sleep(Duration::from_secs(6));
    let tables = json(port, "/tables.json");
    let table = tables["tables"].as_array().expect("tables").iter().find(|table| table["name"] == "d/t");
    let table = table.expect("the table is listed");
    let facts = "SELECT SPACE, ALLOCATED_SIZE, EXACT_BYTES, PAGES_ZSTD, FILE_SIZE FROM information_schema.INNODB_TABLESPACES \
                 JOIN information_schema.GLASSINE_TABLESPACE_COMPRESSION USING (SPACE) \
                 WHERE INNODB_TABLESPACES.NAME = 'd/t'";
    let row = client.query(facts).expect(facts).rows.remove(0);
    let told = ["space", "allocated_bytes", "exact_bytes"].map(|name| table[name].to_string());
    assert_eq!(told[..], [0, 1, 2].map(|at| row[at].clone().expect("a number")));
    assert_eq!(Some(table["pages"][3].to_string()), row[3]);
    let logical = table["logical_bytes"].as_u64().expect("bytes");
    assert!(table["allocated_bytes"].as_u64().expect("bytes") < logical / 2, "{table}");

    // The map has the file's data in all its cells together.
    let map = json(port, &format!("/map.json?space={}", told[0]));
    let cells: Vec<u64> = map["cells"].as_array().expect("cells").iter().filter_map(Value::as_u64).collect();
    let data =
        cells.iter().sum::<u64>() as f64 / 100.0 * map["file_bytes"].as_f64().expect("bytes") / cells.len() as f64;
    let allocated = table["allocated_bytes"].as_f64().expect("bytes");
    assert!((0.8..1.1).contains(&(data / allocated)), "{data} of {allocated} bytes");
    for path in ["/map.json", "/map.json?space=4000000000", "/map.json?space=x", "/etc/passwd", "//"] {
        assert!(get(port, path).0.starts_with("HTTP/1.1 404 "), "{path}");
    }

    // Statements are shown without their text.
    let sleeper = {
        let mut client = server.connect().expect("a connection");
        std::thread::spawn(move || client.query("SELECT SLEEP(2), 'top secret'").map(drop))
    };
    std::thread::sleep(Duration::from_millis(700));
    let status = get(port, "/status.json").1;
    assert!(status.contains("\"verb\":\"SELECT\"") && !status.contains("secret"), "{status}");
    sleeper.join().expect("it ends").expect("it sleeps");

    // Nor are those that have ended: what they took is told, by kind and by digest.
    let status = json(port, "/status.json");
    let kinds = status["kinds"].as_array().expect("kinds");
    let selects = kinds.iter().find(|kind| kind["name"] == "select").expect("SELECT was run");
    assert!(selects["slowest"].as_u64().expect("a time") >= 2_000_000_000, "{selects}");
    let (head, costly) = get(port, "/statements.json");
    assert!(head.starts_with("HTTP/1.1 200 ") && !costly.contains("secret") && !costly.contains("REPEAT"), "{costly}");
    let digest = "SELECT DIGEST, COUNT_STAR FROM performance_schema.events_statements_summary_by_digest \
                  WHERE DIGEST_TEXT LIKE 'INSERT INTO `d` . `t` ( `a` ) SELECT%'";
    let row = client.query(digest).expect(digest).rows.remove(0);
    let costly: Value = serde_json::from_str(&costly).expect("JSON");
    let inserts = costly.as_array().expect("statements").iter().find(|one| one["digest"].as_str() == row[0].as_deref());
    let inserts = inserts.expect("the most of the time");
    assert_eq!((inserts["verb"].as_str(), inserts["count"].to_string()), (Some("INSERT"), row[1].clone().unwrap()));

    // The page needs nothing from elsewhere.
    let (head, page) = get(port, "/");
    assert!(head.contains("text/html") && page.contains("tables.json"));
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src="), "an outside asset");
    drop(client);
    server.stop().expect("a clean shutdown");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}
