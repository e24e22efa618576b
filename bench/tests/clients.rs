//! Drivers, object mappers and tools that people have, each in its own language, against Glassine and MariaDB: what a
//! program finds, it prints, and it must find the same in both servers.
//!
//! The programs are in `tests/clients`; `tests/clients/install` brings what they need. What is not there is skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bench::client::Client;
use bench::process::{Kind, Options, Scratch, Server, mariadb_is_installed};
use bench::replicas::free_port;

/// Longer than a program takes on a loaded machine.
const SECONDS_MAX: &str = "120";

const ACCOUNT: &str = "clients";
const PASSWORD: &str = "clients' secret";

/// A server that listens on a port, and an account for the programs.
struct Place {
    server: Server,
    port: u16,
    kind: Kind,
}

fn kinds() -> &'static [Kind] {
    match mariadb_is_installed() {
        true => &[Kind::Glassine, Kind::MariaDb],
        false => &[Kind::Glassine],
    }
}

/// Glassine, and MariaDB beside it if it is installed.
fn places(scratch: &Scratch) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for &kind in kinds() {
        // MariaDB shows the certificate that Glassine has made.
        let certificate = places.first().map(|glassine| glassine.server.directory.join("data"));
        places.push(place(kind, &scratch.0.join(format!("{kind:?}")), certificate.as_deref()));
    }
    places
}

fn options(port: u16, certificate: Option<&Path>) -> Options {
    let mut more = vec!["--skip-networking=0".into(), "--bind-address=127.0.0.1".into(), format!("--port={port}")];
    if let Some(made) = certificate {
        more.extend(
            ["cert", "key"].map(|what| format!("--ssl-{what}={}", made.join(format!("server-{what}.pem")).display())),
        );
    }
    Options { pool: "64M".into(), log: "64M".into(), flush_at_commit: 2, more }
}

fn place(kind: Kind, directory: &Path, certificate: Option<&Path>) -> Place {
    let port = free_port();
    let server = Server::create(kind, directory, &options(port, certificate)).expect("the server starts");
    let mut client = server.connect().expect("a connection");
    // MariaDB's collation of JSON and of new tables is another; what is compared shall not depend on it.
    run(
        &mut client,
        &[
            "CREATE USER clients@'%' IDENTIFIED BY 'clients'' secret'",
            "GRANT ALL ON *.* TO clients@'%'",
            "SET GLOBAL character_set_server = utf8mb4",
            "SET GLOBAL collation_server = utf8mb4_general_ci",
            "SET GLOBAL sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
        ],
    );
    if kind == Kind::MariaDb {
        run(&mut client, ZONE);
    }
    Place { server, port, kind }
}

/// MariaDB knows a zone if its tables do: what the programs need of Europe/Berlin.
const ZONE: &[&str] = &[
    "INSERT INTO mysql.time_zone VALUES (1, 'N')",
    "INSERT INTO mysql.time_zone_name VALUES ('Europe/Berlin', 1)",
    "INSERT INTO mysql.time_zone_transition_type VALUES (1, 0, 3600, 0, 'CET'), (1, 1, 7200, 1, 'CEST')",
    "INSERT INTO mysql.time_zone_transition VALUES \
     (1, 1679792400, 1), (1, 1698541200, 0), (1, 1711846800, 1), (1, 1729990800, 0)",
];

fn run(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// The folder of the programs.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients")
}

/// What `tests/clients/install` has brought, if it has.
fn installed(what: &str) -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
    let path = target.join("clients").join(what);
    if !path.exists() {
        println!("skipped: {what} was not installed by tests/clients/install");
        return None;
    }
    Some(fs::canonicalize(path).expect("a path"))
}

/// A command that ends in time, told where the server is.
fn command(place: &Place, program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg(SECONDS_MAX).arg(program).stdin(Stdio::null());
    command.env("CLIENT_HOST", "127.0.0.1").env("CLIENT_PORT", place.port.to_string());
    command.env("CLIENT_USER", ACCOUNT).env("CLIENT_PASSWORD", PASSWORD);
    command.env("CLIENT_KIND", if place.kind == Kind::MariaDb { "mariadb" } else { "mysql" });
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// What the program printed; it must have ended well.
fn printed(place: &Place, name: &str, command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{name}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{name} against {:?}:\n{text}{}",
        place.kind,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Runs a program against each server, in a database of its own; they must print the same.
fn compare(places: &[Place], name: &str, build: impl Fn(&Place) -> Command) {
    let database: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let answers: Vec<String> = places
        .iter()
        .map(|place| {
            let mut client = place.server.connect().expect("a connection");
            run(&mut client, &[&format!("CREATE DATABASE {database}")]);
            let mut command = build(place);
            printed(place, name, command.env("CLIENT_DATABASE", &database))
        })
        .collect();
    check_same(name, &answers);
}

/// What a program printed against one server and against the other.
fn check_same(name: &str, answers: &[String]) {
    assert!(answers[0].lines().count() > 2, "{name} found nothing:\n{}", answers[0]);
    if let [ours, theirs] = answers {
        let differing: Vec<String> = ours
            .lines()
            .zip(theirs.lines())
            .filter(|(ours, theirs)| ours != theirs)
            .map(|(ours, theirs)| format!("Glassine {ours}\nMariaDB  {theirs}"))
            .collect();
        assert!(
            differing.is_empty() && ours.lines().count() == theirs.lines().count(),
            "{name}:\n{}",
            differing.join("\n")
        );
    }
    println!("{name}: {} lines, the same in {} servers", answers[0].lines().count(), answers.len());
}

fn stop(places: Vec<Place>) {
    for place in places {
        place.server.stop().expect("a clean shutdown");
    }
}

#[test]
fn drivers_and_object_mappers_of_python() {
    let Some(python) = installed("python") else { return };
    let scratch = Scratch::new("clients-python").expect("a directory");
    let places = places(&scratch);
    let interpreter = python.join("bin/python");
    let has = |module: &str| {
        let status =
            Command::new(&interpreter).args(["-c", &format!("import {module}")]).stderr(Stdio::null()).status();
        let has = status.is_ok_and(|status| status.success());
        if !has {
            println!("skipped: {module} is not installed");
        }
        has
    };
    let scripts = [
        ("pymysql", "dbapi.py", "pymysql"),
        ("mysql.connector", "dbapi.py", "mysql.connector"),
        ("MySQLdb", "dbapi.py", "MySQLdb"),
        ("aiomysql", "aiomysql_client.py", ""),
        ("sqlalchemy", "sqlalchemy_orm.py", ""),
        ("django", "django_orm.py", ""),
        ("peewee", "peewee_orm.py", ""),
    ];
    for (module, script, argument) in scripts.into_iter().filter(|(module, ..)| has(module)) {
        compare(&places, module, |place| {
            let mut command = command(place, &interpreter);
            command.arg(programs().join("python").join(script)).args((!argument.is_empty()).then_some(argument));
            command
        });
    }
    stop(places);
}

#[test]
fn drivers_and_object_mappers_of_node() {
    let Some(modules) = installed("node") else { return };
    let scratch = Scratch::new("clients-node").expect("a directory");
    let places = places(&scratch);
    for script in ["mysql2_client", "mariadb_client", "sequelize_orm", "typeorm_orm", "knex_builder"] {
        compare(&places, script, |place| {
            let mut command = command(place, Path::new("node"));
            command.env("NODE_PATH", modules.join("node_modules")).env("TZ", "UTC");
            command.arg(programs().join("node").join(script).with_extension("js"));
            command
        });
    }
    stop(places);
}

#[test]
fn the_driver_and_the_object_mapper_of_go() {
    let Some(tests) = installed("go") else { return };
    let scratch = Scratch::new("clients-go").expect("a directory");
    let places = places(&scratch);
    for test in ["TestDriver", "TestGorm"] {
        // The times that go prints differ.
        compare(&places, test, |place| {
            let mut command = command(place, Path::new("sh"));
            command.args(["-c", r#""$0" -test.run "^$1\$" >"$2" 2>&1 || { cat "$2"; exit 1; }; grep '^found' "$2""#]);
            command.arg(tests.join("clients.test")).arg(test).arg(place.server.directory.join("go.log"));
            command
        });
    }
    stop(places);
}

#[test]
fn prisma() {
    let Some(folder) = installed("prisma") else { return };
    let scratch = Scratch::new("clients-prisma").expect("a directory");
    let places = places(&scratch);
    for (name, tls) in [("prisma", ""), ("prisma_by_tls", "1")] {
        compare(&places, name, |place| {
            let mut command = command(place, Path::new("node"));
            command.env("NODE_PATH", folder.join("node_modules")).env("TZ", "UTC").env("CLIENT_TLS", tls);
            command.arg(programs().join("prisma/prisma_orm.js"));
            command
        });
    }
    stop(places);
}

#[test]
fn drivers_object_mappers_and_migrations_of_java() {
    let Some(classes) = installed("java") else { return };
    let scratch = Scratch::new("clients-java").expect("a directory");
    let places = places(&scratch);
    for class in ["Connector", "MariadbConnector", "Hibernate", "FlywayMigrations", "LiquibaseChanges"] {
        compare(&places, class, |place| {
            let mut command = command(place, Path::new("java"));
            command.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"]);
            command.arg(format!("{0}:{0}/*", classes.display())).arg(class);
            command
        });
    }
    stop(places);
}

/// `tests/clients/install rust` builds them; it takes too long to do so each time.
#[test]
fn drivers_of_rust() {
    let Some(folder) = installed("rust") else { return };
    let scratch = Scratch::new("clients-rust").expect("a directory");
    let places = places(&scratch);
    for driver in ["sqlx", "mysql_async"] {
        compare(&places, driver, |place| {
            let mut command = command(place, &folder.join("clients"));
            command.arg(driver);
            command
        });
    }
    stop(places);
}

/// A program of MariaDB's, with the account in its options.
fn tool(place: &Place, program: &str) -> Command {
    let mut command = command(place, Path::new(program));
    command.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1"]);
    command.args([format!("--port={}", place.port), format!("--user={ACCOUNT}"), format!("--password={PASSWORD}")]);
    command
}

const FILLED: [&str; 9] = [
    "CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "USE shop",
    "CREATE TABLE customer (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50) NOT NULL, UNIQUE KEY once (name)) ENGINE=InnoDB COMMENT='it''s'",
    "CREATE TABLE purchase (id BIGINT UNSIGNED PRIMARY KEY, customer INT, total DECIMAL(12,2), at DATETIME(3), raw VARBINARY(40), \
     bits BIT(12), kind SET('a','b\\'c'), f DOUBLE, note TEXT, KEY by_time (at DESC), CONSTRAINT of_customer FOREIGN KEY (customer) \
     REFERENCES customer (id) ON DELETE SET NULL) ENGINE=InnoDB",
    "CREATE TABLE `odd ``name``` (`select` INT DEFAULT 7, t TIMESTAMP NULL, g INT) ENGINE=InnoDB",
    "INSERT INTO customer (name) VALUES ('Ærøskøbing'), ('semi;colon'), ('back\\\\slash\\nline'), ('quo\\'te'), ('🐎')",
    "INSERT INTO `odd ``name``` (t) VALUES (NULL), ('2024-02-29 12:00:00')",
    "INSERT INTO purchase SELECT n.id * 10 + m.id, n.id, n.id / 3, '2024-01-02 03:04:05.678', UNHEX(CONCAT('00FF27', HEX(n.id), '5C')), \
     b'101010101', 'a,b\\'c', 1e0 / n.id, IF(m.id > 3, NULL, REPEAT(n.name, 20)) FROM customer n, customer m",
    "COMMIT",
];

/// Statements of programs with windows, which are not run here: what MariaDB answers is answered.
fn transcripts(places: &[Place]) {
    let mut clients: Vec<Client> = places.iter().map(|place| place.server.connect().expect("a connection")).collect();
    for name in ["phpmyadmin", "dbeaver"] {
        let text = fs::read_to_string(programs().join("transcripts").join(name).with_extension("sql"));
        let text = text.expect("a transcript");
        for statement in text.lines().filter(|line| !line.starts_with("-- ")) {
            let mut answer =
                |n: usize| clients[n].query(statement.trim_end_matches(';')).map(|answer| answer.rows.len());
            let (ours, theirs) = (answer(0), answer(1));
            match (ours, theirs) {
                (Ok(ours), Ok(theirs)) => {
                    assert!(theirs == 0 || ours > 0, "{name}: {statement}: no rows, MariaDB {theirs}")
                }
                (ours, theirs) => assert_eq!(
                    ours.err().map(|error| error.code()),
                    theirs.err().map(|error| error.code()),
                    "{name}: {statement}"
                ),
            }
        }
    }
}

const CHECKSUMS: &str = "SELECT (SELECT GROUP_CONCAT(id, HEX(name) ORDER BY id) FROM shop.customer), \
    (SELECT MD5(GROUP_CONCAT(CONCAT_WS('|', id, customer, total, at, HEX(raw), bits + 0, kind, f, note) ORDER BY id)) FROM shop.purchase), \
    (SELECT GROUP_CONCAT(CONCAT_WS('|', `select`, t, g) ORDER BY t) FROM shop.`odd ``name```)";

#[test]
fn the_programs_of_mariadb() {
    if !mariadb_is_installed() {
        println!("skipped: MariaDB's programs are not installed");
        return;
    }
    let scratch = Scratch::new("clients-mariadb").expect("a directory");
    let places = places(&scratch);
    for place in &places {
        let mut client = place.server.connect().expect("a connection");
        run(&mut client, &FILLED);
        run(&mut client, &["SET GLOBAL group_concat_max_len = 1000000"]);
    }
    transcripts(&places);
    let ask =
        |place: &Place, statement: &str| printed(place, statement, tool(place, "mariadb").args(["-e", statement]));

    // Results as tables, vertical, XML and HTML.
    for form in ["--table", "--vertical", "--xml", "--html", "--batch"] {
        let all = "SELECT * FROM customer; SELECT id, total, at, HEX(raw), kind FROM purchase ORDER BY id LIMIT 3; SHOW TABLES";
        let told =
            [0, 1].map(|n| printed(&places[n], form, tool(&places[n], "mariadb").args([form, "-e", all, "shop"])));
        assert_eq!(told[0], told[1], "{form}");
    }
    let sums = ask(&places[0], CHECKSUMS);
    assert_eq!(sums, ask(&places[1], CHECKSUMS));

    // A dump of each server goes into the other, and what arrives is the same.
    for (from, to, more) in [
        (0, 1, "--hex-blob"),
        (1, 0, "--single-transaction"),
        (0, 0, "--skip-extended-insert"),
        (0, 1, "--order-by-primary"),
    ] {
        // Bytes that are no text stand in it as they are.
        let file = scratch.0.join("dump.sql");
        let into = format!("--result-file={}", file.display());
        printed(
            &places[from],
            "mariadb-dump",
            tool(&places[from], "mariadb-dump").args([more, &into, "--databases", "shop"]),
        );
        let dump = fs::read(&file).expect("the dump");
        let end = String::from_utf8_lossy(&dump[dump.len().saturating_sub(200)..]).into_owned();
        assert!(end.contains("Dump completed"), "{end}");
        ask(&places[to], "DROP DATABASE shop");
        let input = fs::File::open(&file).expect("the dump");
        printed(&places[to], "mariadb", tool(&places[to], "mariadb").stdin(input));
        assert_eq!(ask(&places[to], CHECKSUMS), sums, "a dump with {more}");
    }
    // All databases, without those that are the server's own, into both.
    let file = scratch.0.join("all.sql");
    let into = format!("--result-file={}", file.display());
    for options in
        [&["--all-databases"][..], &["--all-databases", "--routines", "--events", "--triggers", "--flush-privileges"]]
    {
        printed(&places[0], "mariadb-dump", tool(&places[0], "mariadb-dump").arg(&into).args(options));
        let dump = String::from_utf8_lossy(&fs::read(&file).expect("the dump")).into_owned();
        assert!(dump.contains("Dump completed") && dump.contains("`shop`"), "{options:?}");
        assert!(!dump.contains("Database: `mysql`") && !dump.contains("Database: `sys`"), "{options:?}");
        for place in &places {
            ask(place, "DROP DATABASE shop");
            let input = fs::File::open(&file).expect("the dump");
            printed(place, "mariadb", tool(place, "mariadb").stdin(input));
            assert_eq!(ask(place, CHECKSUMS), sums, "{options:?}");
        }
    }
    assert!(["mysql", "sys"].iter().all(|name| ask(&places[0], "SHOW DATABASES").lines().any(|line| line == *name)));
    for place in &places {
        for options in [
            &["--databases", "shop"][..],
            &["--analyze", "shop"],
            &["--optimize", "shop", "customer"],
            &["--check", "--extended", "shop"],
        ] {
            let told = printed(place, "mariadb-check", tool(place, "mariadb-check").args(options));
            assert!(told.contains("shop.customer") && told.contains("OK"), "{options:?}: {told}");
        }
        printed(place, "mariadb-check", tool(place, "mariadb-check").args(["--all-databases"]));

        let administer = |words: &[&str]| printed(place, "mariadb-admin", tool(place, "mariadb-admin").args(words));
        assert!(administer(&["ping"]).contains("is alive"));
        assert!(administer(&["status"]).contains("Uptime: "));
        assert!(administer(&["extended-status"]).contains("Threads_connected"));
        assert!(administer(&["variables"]).contains("innodb_buffer_pool_size"));
        assert!(administer(&["processlist", "--verbose"]).contains("Query"));
        assert!(administer(&["version"]).contains("Server version"));
        for words in [
            &["create", "made"][..],
            &["flush-tables"],
            &["flush-logs"],
            &["flush-privileges"],
            &["refresh"],
            &["--force", "drop", "made"],
        ] {
            administer(words);
        }
        let shown = printed(place, "mariadb-show", tool(place, "mariadb-show").args(["--count", "shop"]));
        assert!(shown.contains("| customer"), "{shown}");
        let slap = [
            "--auto-generate-sql",
            "--auto-generate-sql-add-autoincrement",
            "--auto-generate-sql-load-type=mixed",
            "--engine=InnoDB",
            "--concurrency=4",
            "--iterations=1",
            "--number-of-queries=200",
        ];
        let told = printed(place, "mariadb-slap", tool(place, "mariadb-slap").args(slap));
        assert!(told.contains("Average number of seconds"), "{told}");
    }
    stop(places);
}

/// What a server says of the accounts of one test, in words that both servers have.
fn accounts_of(client: &mut Client) -> Vec<String> {
    let database_level = [
        "Select",
        "Insert",
        "Update",
        "Delete",
        "Create",
        "Drop",
        "Grant",
        "References",
        "Index",
        "Alter",
        "Create_tmp_table",
        "Lock_tables",
        "Create_view",
        "Show_view",
        "Create_routine",
        "Alter_routine",
        "Execute",
        "Event",
        "Trigger",
    ];
    let database_level: Vec<String> = database_level.iter().map(|name| format!("{name}_priv")).collect();
    let mut facts = Vec::new();
    for (table, columns) in [
        (
            "user",
            "Host, User, authentication_string, ssl_type, ssl_cipher, x509_issuer, x509_subject, max_questions, max_updates, \
             max_connections, max_user_connections, Select_priv, Reload_priv, Process_priv, Repl_client_priv, Super_priv, Grant_priv",
        ),
        ("db", &format!("Host, Db, User, {}", database_level.join(", "))),
        ("tables_priv", "Host, Db, User, Table_name, Table_priv, Column_priv"),
        ("columns_priv", "Host, Db, User, Table_name, Column_name, Column_priv"),
    ] {
        let rows =
            client.query(&format!("SELECT {columns} FROM mysql.{table} WHERE User LIKE 'moved%'")).expect(table).rows;
        let text = |cell: &Option<String>| cell.clone().unwrap_or_default();
        facts.extend(rows.iter().map(|row| format!("{table}: {}", row.iter().map(text).collect::<Vec<_>>().join("|"))));
    }
    facts.sort();
    let lines = |client: &mut Client, statement: &str| -> String {
        let rows = client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}")).rows;
        rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n")
    };
    for (account, words) in
        [("moved2@'10.%'", "EXPIRE INTERVAL 90 DAY"), ("moved3@'10.1.0.0/255.255.0.0'", "ACCOUNT LOCK")]
    {
        let shown = lines(client, &format!("SHOW CREATE USER {account}"));
        facts.push(format!("{account}: {words}: {}", shown.contains(words)));
    }
    facts
}

/// Users and grants go from MariaDB's dump into Glassine, and from what Glassine says of them back into MariaDB.
#[test]
fn accounts_go_from_one_server_to_the_other_and_back() {
    if !mariadb_is_installed() {
        println!("skipped: MariaDB's programs are not installed");
        return;
    }
    let scratch = Scratch::new("clients-accounts").expect("a directory");
    let places = places(&scratch);
    let [glassine, mariadb] = &places[..] else { unreachable!("two servers") };
    let mut clients = [glassine, mariadb].map(|place| place.server.connect().expect("a connection"));
    for client in &mut clients {
        run(
            client,
            &[
                "CREATE DATABASE shop",
                "CREATE TABLE shop.t (a INT PRIMARY KEY, b INT)",
                "CREATE TABLE shop.`odd``t` (a INT)",
            ],
        );
    }
    run(
        &mut clients[1],
        &[
            "CREATE USER moved1@'%' IDENTIFIED BY 'one'",
            "CREATE USER moved2@'10.%' IDENTIFIED BY 'two' REQUIRE SSL WITH MAX_QUERIES_PER_HOUR 5 MAX_USER_CONNECTIONS 3 PASSWORD EXPIRE INTERVAL 90 DAY",
            "CREATE USER moved3@'10.1.0.0/255.255.0.0' IDENTIFIED BY 'three' ACCOUNT LOCK",
            "CREATE USER `moved'4`@localhost IDENTIFIED BY 'four' REQUIRE SUBJECT '/CN=x' AND ISSUER '/CN=y' AND CIPHER 'AES'",
            "GRANT SELECT, INSERT (a), UPDATE (a, b) ON shop.t TO moved1@'%' WITH GRANT OPTION",
            "GRANT ALL ON shop.* TO moved2@'10.%'",
            "GRANT SELECT, LOCK TABLES ON `sh\\_p`.* TO moved3@'10.1.0.0/255.255.0.0'",
            "GRANT RELOAD, PROCESS, BINLOG MONITOR ON *.* TO `moved'4`@localhost WITH GRANT OPTION",
            "GRANT DELETE ON shop.`odd``t` TO `moved'4`@localhost",
        ],
    );
    let wanted = accounts_of(&mut clients[1]);
    assert!(wanted.len() > 10 && wanted.iter().all(|fact| !fact.ends_with("false")), "{wanted:#?}");

    let file = scratch.0.join("users.sql");
    let into = format!("--result-file={}", file.display());
    printed(mariadb, "mariadb-dump", tool(mariadb, "mariadb-dump").args([&into, "--system=users", "--insert-ignore"]));
    // Errors are those of what cannot be had here: PROXY and grants on MariaDB's own tables.
    let mut load = command(glassine, Path::new("mariadb"));
    load.args(["--no-defaults", "--user=root", "--force"])
        .arg(format!("--socket={}", glassine.server.socket.display()));
    let loaded = load.stdin(fs::File::open(&file).expect("the dump")).output();
    let said = String::from_utf8_lossy(&loaded.expect("mariadb runs").stderr).into_owned();
    let is_known = |line: &&str| ["'PROXY'", "global_priv"].iter().any(|known| line.contains(known));
    let unknown: Vec<&str> =
        said.lines().filter(|line| line.contains("ERROR")).filter(|line| !is_known(line)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert_eq!(accounts_of(&mut clients[0]), wanted);

    let [ours, theirs] = &mut clients;
    let names = ["moved1@'%'", "moved2@'10.%'", "moved3@'10.1.0.0/255.255.0.0'", "`moved'4`@localhost"];
    for name in names {
        run(theirs, &[&format!("DROP USER {name}")]);
        for statement in [format!("SHOW CREATE USER {name}"), format!("SHOW GRANTS FOR {name}")] {
            for row in ours.query(&statement).expect("an account").rows {
                run(theirs, &[row[0].as_deref().expect("a statement")]);
            }
        }
    }
    assert_eq!(accounts_of(theirs), wanted);
    stop(places);
}

/// Half of the rows are on either server. The second one dies between PREPARE and COMMIT, and is started again.
#[test]
fn tables_over_two_servers_by_shardingsphere() {
    let Some(classes) = installed("sharding") else { return };
    let scratch = Scratch::new("clients-sharding").expect("a directory");
    let answers: Vec<String> = kinds()
        .iter()
        .map(|&kind| {
            let directory = scratch.0.join(format!("{kind:?}"));
            let [first, mut second] = ["first", "second"].map(|name| place(kind, &directory.join(name), None));
            for place in [&first, &second] {
                run(&mut place.server.connect().expect("a connection"), &["CREATE DATABASE sharding"]);
            }
            let played = |phase: &str, second: &Place| {
                let mut command = command(&first, Path::new("java"));
                command.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"]);
                command.arg(format!("{0}:{0}/*", classes.display())).args(["Sharding", phase]);
                command.env("CLIENT_DATABASE", "sharding").env("CLIENT_PORT_2", second.port.to_string());
                command.env("CLIENT_LOG", &directory).env("CLIENT_KILL", second.server.pid().to_string());
                printed(&first, "Sharding", &mut command)
            };
            let mut found = played("work", &second);
            assert!(!second.server.is_running(), "{kind:?} was not killed:\n{found}");
            let killed = second.server.kill();
            second.server = Server::start(kind, &killed, &options(second.port, None)).expect("a start after the crash");
            found += &played("after", &second);
            stop(vec![first, second]);
            found
        })
        .collect();
    check_same("Sharding", &answers);
}
