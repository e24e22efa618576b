//! Servers that follow each other, and how far they are: what the tests and benchmarks of replicas share. What fails
//! panics.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::process::{Kind, Options, Scratch, Server};

/// A port that nobody listens on, and that stays free while a server starts again: the system gives no connection a
/// number below 32,768, and two callers do not get the same one.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    (0..PORTS)
        .map(|_| {
            // Test binaries may run beside each other: each begins elsewhere.
            let step = NEXT.fetch_add(1, Ordering::Relaxed);
            PORT_MIN + ((std::process::id().wrapping_mul(97).wrapping_add(step)) % PORTS) as u16
        })
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}

const PORT_MIN: u16 = 10_000;
const PORTS: u32 = 22_000;

pub fn options(port: u16, id: u32, more: &[&str]) -> Options {
    let mut all = vec![
        "--skip-networking=0".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--port={port}"),
        format!("--server-id={id}"),
    ];
    all.extend(more.iter().map(|option| option.to_string()));
    Options { pool: "64M".into(), log: "48M".into(), more: all, ..Options::default() }
}

pub fn mariadb_source(directory: &std::path::Path, port: u16, more: &[&str]) -> Server {
    let all = ["--log-bin=source", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"];
    let all: Vec<&str> = all.into_iter().chain(more.iter().copied()).collect();
    let source = Server::create(Kind::MariaDb, directory, &options(port, 1, &all)).expect("MariaDB starts");
    let mut client = source.connect().expect("a connection");
    for statement in [
        "CREATE USER replica@127.0.0.1 IDENTIFIED BY 'it''s secret'",
        "GRANT REPLICATION SLAVE ON *.* TO replica@127.0.0.1",
        "RESET MASTER",
    ] {
        client.query(statement).expect(statement);
    }
    source
}

/// How replicas log in, also those that know no other plugin.
pub fn let_replicas_in(client: &mut Client) {
    let plugin = "IDENTIFIED WITH mysql_native_password";
    let create = match client.query("SELECT @@binlog_transaction_compression").is_ok() {
        true => format!("CREATE USER replica@127.0.0.1 {plugin} BY 'it''s secret'"),
        false => format!("CREATE USER replica@127.0.0.1 {plugin} USING PASSWORD('it''s secret')"),
    };
    for statement in ["SET sql_log_bin = 0", &create, "GRANT ALL ON *.* TO replica@127.0.0.1", "SET sql_log_bin = 1"] {
        client.query(statement).expect(statement);
    }
}

/// [`follow`] in the words that MariaDB knows, too.
pub fn follow_by_old_names(client: &mut Client, port: u16, rest: &str) {
    let change = format!(
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'replica', \
         MASTER_PASSWORD = 'it''s secret', MASTER_CONNECT_RETRY = 1{rest}"
    );
    client.query(&change).expect("the source is known");
    client.query("START SLAVE").expect("the replica starts");
}

pub fn follow(client: &mut Client, port: u16, rest: &str) {
    let change = format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'replica', \
         SOURCE_PASSWORD = 'it''s secret', SOURCE_CONNECT_RETRY = 1{rest}"
    );
    client.query(&change).expect("the source is known");
    client.query("START REPLICA").expect("the replica starts");
}

/// A value of SHOW REPLICA STATUS.
pub fn status(client: &mut Client, name: &str) -> String {
    value_of(client, "SHOW REPLICA STATUS", name)
}

/// A value of SHOW SLAVE STATUS, of MariaDB, too.
pub fn old_status(client: &mut Client, name: &str) -> String {
    value_of(client, "SHOW SLAVE STATUS", name)
}

fn value_of(client: &mut Client, query: &str, name: &str) -> String {
    let answer = client.query(query).expect("a status");
    let at = answer.columns.iter().position(|column| column == name).unwrap_or_else(|| panic!("no column {name}"));
    answer.rows[0][at].clone().unwrap_or_default()
}

/// Where the source's log ends.
pub fn end_of(source: &Server) -> (String, u64) {
    let mut client = source.connect().expect("a connection");
    let row = client.query("SHOW MASTER STATUS").expect("a status").rows.remove(0);
    let cell = |at: usize| row[at].clone().expect("a value");
    (cell(0), cell(1).parse().expect("a number"))
}

/// Waits until the replica has applied everything that is in the source's log now.
pub fn catch_up(replica: &Server, source: &Server) {
    let (file, position) = end_of(source);
    let mut client = replica.connect().expect("a connection");
    let start = Instant::now();
    loop {
        let mut status = |name: &str| old_status(&mut client, name);
        let applied = (status("Relay_Master_Log_File"), status("Exec_Master_Log_Pos"));
        if applied.0 > file || applied.0 == file && applied.1.parse::<u64>().expect("a number") >= position {
            return;
        }
        let errors = (status("Last_IO_Error"), status("Last_SQL_Error"));
        let (running, log) = (status("Slave_SQL_Running"), replica.log_tail(8));
        assert!(running == "Yes", "the applier stopped at {applied:?}: {errors:?}\n{log}");
        assert!(start.elapsed() < Duration::from_secs(40), "{applied:?} is not {file}:{position}: {errors:?}\n{log}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until the applier has stopped with this error.
pub fn wait_for_error(client: &mut Client, code: &str) {
    let start = Instant::now();
    while status(client, "Replica_SQL_Running") == "Yes" {
        assert!(start.elapsed() < Duration::from_secs(10), "it does not stop with {code}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(status(client, "Last_SQL_Errno"), code, "{}", status(client, "Last_SQL_Error"));
}

/// All rows of all tables of the databases.
pub fn contents(server: &Server, databases: &[&str]) -> Vec<String> {
    let mut client = server.connect().expect("a connection");
    client.query("SET time_zone = '+00:00'").expect("the zone");
    let mut all = Vec::new();
    for database in databases {
        let tables = client.query(&format!("SHOW TABLES FROM {database}")).expect("tables").rows;
        for table in tables.into_iter().map(|row| row[0].clone().expect("a name")) {
            let mut rows = client.query(&format!("SELECT * FROM {database}.{table}")).expect("rows").rows;
            rows.sort();
            all.push(format!("{table}: {rows:?}"));
        }
    }
    all.sort();
    all
}

pub fn assert_same(found: &[String], wanted: &[String], what: &str) {
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found == wanted, "{what}:\n{found:.3000}\nwanted\n{wanted:.3000}");
    }
    assert_eq!(found.len(), wanted.len(), "{what}: tables");
}

/// A source, and a replica that follows it; a connection to each.
pub struct Pair {
    pub source: Server,
    pub replica: Server,
    pub there: Client,
    pub here: Client,
    pub source_port: u16,
    pub scratch: Scratch,
}

impl Pair {
    /// MariaDB, and Glassine that does not follow it yet.
    pub fn of_mariadb(name: &str) -> Pair {
        let scratch = Scratch::new(name).expect("a directory");
        let source_port = free_port();
        let source = mariadb_source(&scratch.0.join("source"), source_port, &["--binlog-format=ROW"]);
        Pair::of(scratch, source, source_port, &[])
    }

    /// Two Glassines, of which the second does not follow the first yet. Options: of both.
    pub fn of_glassine(name: &str, more: &[&str]) -> Pair {
        let scratch = Scratch::new(name).expect("a directory");
        let source_port = free_port();
        let all = [&["--log-bin", "--gtid-mode=ON"], more].concat();
        let own = options(source_port, 1, &all);
        let source = Server::create(Kind::Glassine, &scratch.0.join("source"), &own).expect("Glassine starts");
        let mut client = source.connect().expect("a connection");
        client
            .query("GRANT REPLICATION SLAVE ON *.* TO replica@127.0.0.1 IDENTIFIED BY 'it''s secret'")
            .expect("an account");
        Pair::of(scratch, source, source_port, &all)
    }

    fn of(scratch: Scratch, source: Server, source_port: u16, more: &[&str]) -> Pair {
        let own = options(free_port(), 2, more);
        let replica = Server::create(Kind::Glassine, &scratch.0.join("replica"), &own).expect("Glassine starts");
        let (there, here) = (source.connect().expect("a connection"), replica.connect().expect("a connection"));
        Pair { source, replica, there, here, source_port, scratch }
    }
}

/// What a replica of Glassine's is told beside the address.
pub const BY_NAME: &str = ", SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1";

/// Waits until a server has all transactions of another. Both have names for them.
pub fn wait_for_all(replica: &Server, source: &Server) {
    let executed = source.connect().and_then(|mut client| client.query("SELECT @@gtid_executed")).expect("a set");
    let executed = executed.cell().expect("a set");
    let mut client = replica.connect().expect("a connection");
    let wait = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 40)");
    let (waited, error) = (client.query(&wait).expect("it waits"), status(&mut client, "Last_SQL_Error"));
    let received = status(&mut client, "Last_IO_Error");
    assert_eq!(waited.cell(), Some("0"), "{error} {received}\n{}", replica.log_tail(8));
    let own = client.query("SELECT @@gtid_executed").expect("a set");
    assert_eq!(own.cell(), Some(executed), "nothing was committed under another name");
}
