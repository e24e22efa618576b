//! Backups, clones and copies by the released binary: under load, through pipes, to other filesystems, and beside the tools
//! that people have.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use bench::client::Client;
use bench::ledger::Ledger;
use bench::process::{Kind, Options, Scratch, Server, disk_usage, glassine_binary};

fn small() -> Options {
    Options { pool: "32M".into(), log: "16M".into(), ..Options::default() }
}

fn glassine(arguments: &[&str]) -> Command {
    let mut command = Command::new(glassine_binary());
    command.args(arguments);
    command
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{text}");
    text
}

fn fails(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{command:?} ought to fail:\n{text}");
    text
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

fn run(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        client.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

/// Rows whose text a codec can shorten, but not to nothing.
fn fill(client: &mut Client, table: &str, count: u32) {
    run(client, &[&format!("CREATE TABLE {table} (id INT PRIMARY KEY, name VARCHAR(200), body TEXT)")]);
    for start in (0..count).step_by(500) {
        let rows: Vec<String> = (start..start + 500)
            .map(|id| {
                let word = u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let body = "lorem ipsum dolor ".repeat(1 + id as usize % 9);
                format!("({id}, 'customer {id} of street {word:x}', '{body}{word:x}')")
            })
            .collect();
        run(client, &[&format!("INSERT INTO {table} VALUES {}", rows.join(","))]);
    }
}

/// A stopped server's data directory, with 40,000 orders.
fn shop(scratch: &Scratch) -> PathBuf {
    let server = Server::create(Kind::Glassine, &scratch.0.join("origin"), &small()).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    run(&mut client, &["CREATE DATABASE shop"]);
    fill(&mut client, "shop.orders", 40_000);
    server.stop().expect("a clean shutdown");
    scratch.0.join("origin/data")
}

fn check(directory: &Path) {
    output(&mut glassine(&["check", "--datadir", shown(&directory.join("data"))]));
}

/// A server in a directory of its own that has everything but its data, which is put there.
fn place(scratch: &Scratch, name: &str) -> PathBuf {
    let directory = scratch.0.join(name);
    fs::create_dir_all(directory.join("tmp")).expect("a directory");
    directory
}

#[test]
fn a_backup_under_load_holds_what_was_promised_and_restores_to_a_server() {
    let scratch = Scratch::new("backup-load").expect("a directory");
    let server = Server::create(Kind::Glassine, &scratch.0.join("origin"), &small()).expect("Glassine starts");
    let mut client = server.connect().expect("a connection");
    run(&mut client, &["CREATE DATABASE shop"]);
    fill(&mut client, "shop.orders", 40_000);
    let ledger = Ledger::create(&server, 3).expect("the ledger's tables");
    let writers = ledger.write(&server).expect("writers");
    thread::sleep(Duration::from_millis(500));
    let socket = format!("--socket={}", shown(&server.socket));

    // An archive, a directory, a clone: each while the writers write.
    let archive = scratch.0.join("archive");
    let directory = place(&scratch, "directory");
    let clone = place(&scratch, "clone");
    let mut audits = Vec::new();
    let before = ledger.promised();
    let text = output(&mut glassine(&["backup", &socket, "--to", shown(&archive)]));
    println!("{text}");
    audits.push((before, ledger.promised()));
    let before = ledger.promised();
    output(&mut glassine(&["backup", &socket, "--to", &format!("{}/", shown(&directory.join("data")))]));
    audits.push((before, ledger.promised()));
    let before = ledger.promised();
    run(&mut client, &[&format!("CLONE LOCAL DATA DIRECTORY = '{}'", shown(&clone.join("data")))]);
    audits.push((before, ledger.promised()));
    for (before, after) in &audits {
        let gained: u64 = after.iter().sum::<u64>() - before.iter().sum::<u64>();
        assert!(gained > 0, "the writers went on during each backup: {before:?} {after:?}");
    }
    writers.join(true).expect("writers that saw a healthy server");

    output(&mut glassine(&["backup", "--check", shown(&archive)]));
    let restored = place(&scratch, "restored");
    let datadir = format!("--datadir={}", shown(&restored.join("data")));
    println!("{}", output(&mut glassine(&["restore", shown(&archive), &datadir])));
    for (place, (before, after)) in [&restored, &directory, &clone].into_iter().zip(&audits) {
        // The ledger is encrypted in part, and keys never travel with a backup: whoever restores brings them.
        fs::copy(server.directory.join("data/keyring"), place.join("data/keyring")).expect("the key ring");
        let copy = Server::start(Kind::Glassine, place, &small()).expect("a copy serves");
        let audit =
            ledger.audit_copy(&copy, before, after).unwrap_or_else(|lost| panic!("{}: {lost}", place.display()));
        let rows = copy.connect().and_then(|mut client| client.query("SELECT COUNT(*) FROM shop.orders"));
        assert_eq!(rows.expect("the orders").number(), 40_000);
        println!("{}: {} entries promised before, {} found", place.display(), audit.promised, audit.found);
        copy.stop().expect("a clean shutdown");
        check(place);
    }
    server.stop().expect("a clean shutdown");

    // The archive is about as large as what is stored, and a stopped server gives the same.
    let stopped = scratch.0.join("stopped");
    let datadir = scratch.0.join("origin/data");
    output(&mut glassine(&["backup", "--datadir", shown(&datadir), "--to", shown(&stopped)]));
    let (archive_bytes, stopped_bytes) = (fs::metadata(&archive).unwrap().len(), fs::metadata(&stopped).unwrap().len());
    let log = fs::metadata(datadir.join("glassine.redo")).unwrap().len();
    let (allocated, logical) = disk_usage(&datadir).expect("the directory's size");
    println!("logical {logical}, allocated {allocated} (log {log}), archives {archive_bytes} and {stopped_bytes}");
    assert!(stopped_bytes < allocated - log, "an archive has no holes and no padding");
    let text = output(Command::new("sh").arg("-c").arg(format!(
        "'{0}' backup --datadir '{1}' --to - --quiet | '{0}' restore - --verify",
        shown(&glassine_binary()),
        shown(&datadir)
    )));
    assert!(text.contains("is whole"), "{text}");
}

#[test]
fn what_cannot_be_backed_up_or_restored_says_why() {
    let scratch = Scratch::new("backup-errors").expect("a directory");
    let server = Server::create(Kind::Glassine, &scratch.0.join("origin"), &small()).expect("Glassine starts");
    let datadir = server.directory.join("data");
    let text = fails(&mut glassine(&["backup", "--datadir", shown(&datadir), "--to", shown(&scratch.0.join("x"))]));
    assert!(text.contains("--socket"), "{text}");
    assert!(!scratch.0.join("x").exists(), "half an archive is removed");
    let mut client = server.connect().expect("a connection");
    for (statement, code) in [
        ("CLONE LOCAL DATA DIRECTORY 'relative'".to_string(), 1525),
        (format!("CLONE LOCAL DATA DIRECTORY '{}/within'", shown(&datadir)), 1105),
        (format!("CLONE LOCAL DATA DIRECTORY '{}'", shown(&server.directory)), 1007),
        (format!("BACKUP SERVER TO '{}/accounts'", shown(&datadir)), 1105),
        (format!("BACKUP SERVER TO '{}'", shown(&server.directory.join("server.log"))), 1086),
        ("BACKUP STAGE FLUSH".to_string(), 4146),
        ("BACKUP STAGE NONSENSE".to_string(), 4149),
    ] {
        let error = client.query(&statement).expect_err(&statement);
        assert_eq!(error.code(), Some(code), "{statement}: {error}");
    }

    // DDL waits for LOCK INSTANCE, rows do not, and one's own DDL passes.
    let mut other = server.connect().expect("a connection");
    run(&mut client, &["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "LOCK INSTANCE FOR BACKUP"]);
    run(&mut other, &["SET lock_wait_timeout = 1", "INSERT INTO d.t VALUES (1)"]);
    for statement in ["CREATE TABLE d.u (a INT)", "ALTER TABLE d.t ADD b INT", "CREATE DATABASE e", "DROP DATABASE d"] {
        assert_eq!(other.query(statement).expect_err(statement).code(), Some(1205), "{statement}");
    }
    run(&mut client, &["CREATE TABLE d.own (a INT)", "UNLOCK INSTANCE"]);
    run(&mut other, &["CREATE TABLE d.u (a INT)"]);
    run(&mut client, &["BACKUP STAGE START"]);
    assert_eq!(other.query("TRUNCATE d.u").expect_err("held").code(), Some(1205));
    run(&mut client, &["BACKUP STAGE BLOCK_COMMIT", "BACKUP STAGE END"]);
    run(&mut other, &["TRUNCATE d.u"]);

    // Damage, and a restore that does not end.
    let archive = scratch.0.join("archive");
    run(&mut client, &[&format!("BACKUP SERVER TO '{}'", shown(&archive))]);
    server.stop().expect("a clean shutdown");
    let mut bytes = fs::read(&archive).expect("the archive");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 8;
    fs::write(&archive, &bytes).expect("a damaged archive");
    let text = fails(&mut glassine(&["restore", shown(&archive), "--verify"]));
    assert!(text.contains("byte") && text.contains("checksum"), "{text}");
    let half = scratch.0.join("half");
    fs::create_dir(&half).expect("a directory");
    let into = format!("--datadir={}", shown(&half));
    fails(&mut glassine(&["restore", shown(&archive), &into]));
    let text = fails(&mut glassine(&["serve", "--no-defaults", "--skip-networking", &into]));
    assert!(text.contains("did not end"), "{text}");
    let text = fails(&mut glassine(&["restore", shown(&archive), &into]));
    assert!(text.contains("empty"), "{text}");
}

/// A filesystem in a file, mounted; unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    /// `None` where that is not allowed, or the tools are missing; that is said.
    fn ext4(scratch: &Scratch, name: &str, block_bytes: u32) -> Option<Mount> {
        let (image, point) = (scratch.0.join(format!("{name}.img")), scratch.0.join(name));
        fs::create_dir_all(&point).ok()?;
        let file = fs::File::create(&image).ok()?;
        file.set_len(600 << 20).ok()?;
        let block = block_bytes.to_string();
        let quietly = |program: &str, arguments: &[&str]| {
            let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        if quietly("mkfs.ext4", &["-q", "-F", "-b", &block, shown(&image)])
            && quietly("mount", &["-o", "loop", shown(&image), shown(&point)])
        {
            return Some(Mount(point));
        }
        println!("skipped: no filesystem with blocks of {block_bytes} can be mounted here");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn allocated(path: &Path) -> u64 {
    fs::metadata(path).expect("a file").blocks() * 512
}

#[test]
fn copies_keep_holes_and_take_the_blocks_of_where_they_come_to() {
    let scratch = Scratch::new("backup-copy").expect("a directory");
    let data = shop(&scratch);
    let table = data.join("shop/orders.ibd");
    let (stored, logical) = (allocated(&table), fs::metadata(&table).expect("a file").len());
    assert!(stored < logical * 2 / 3, "{stored} of {logical}: it has holes");

    // One file, and what others make of it.
    let copy = scratch.0.join("orders.ibd");
    output(&mut glassine(&["copy", shown(&table), shown(&copy)]));
    assert!(fs::read(&table).unwrap() == fs::read(&copy).unwrap(), "the same bytes");
    assert!(allocated(&copy) <= stored, "{} against {stored}", allocated(&copy));
    let inflated = scratch.0.join("inflated.ibd");
    output(Command::new("cp").arg("--sparse=never").arg(&table).arg(&inflated));
    assert!(allocated(&inflated) >= logical, "cp --sparse=never fills the holes");
    let again = scratch.0.join("again.ibd");
    output(&mut glassine(&["copy", shown(&inflated), shown(&again)]));
    assert!(allocated(&again) <= stored, "a copy finds the holes that another has filled");
    println!(
        "{logical} logical, {stored} allocated, {} after cp --sparse=never, {} copied",
        allocated(&inflated),
        allocated(&again)
    );
    fails(&mut glassine(&["copy", shown(&table), shown(&copy)]));

    // Damage ends a copy, with its page and its place.
    let mut bytes = fs::read(&table).unwrap();
    bytes[3 * 16384 + 300] ^= 1;
    let damaged = scratch.0.join("damaged.ibd");
    fs::write(&damaged, bytes).unwrap();
    let target = scratch.0.join("target.ibd");
    let text = fails(&mut glassine(&["copy", shown(&damaged), shown(&target)]));
    assert!(text.contains("page 3") && text.contains("49152") && !target.exists(), "{text}");
    output(&mut glassine(&["copy", "--keep-damaged", shown(&damaged), shown(&target)]));

    // A whole directory, which serves; and smaller blocks, which take less.
    let whole = place(&scratch, "whole");
    println!("{}", output(&mut glassine(&["copy", shown(&data), shown(&whole.join("data"))])));
    serves(&whole);
    let archive = scratch.0.join("archive");
    output(&mut glassine(&["backup", "--datadir", shown(&data), "--to", shown(&archive)]));
    let (Some(large), Some(small)) = (Mount::ext4(&scratch, "ext4-4k", 4096), Mount::ext4(&scratch, "ext4-1k", 1024))
    else {
        return;
    };
    let mut sizes = Vec::new();
    for mount in [&large, &small] {
        output(&mut glassine(&["copy", shown(&data), shown(&mount.0.join("copy"))]));
        let into = format!("--datadir={}", shown(&mount.0.join("restored")));
        output(&mut glassine(&["restore", shown(&archive), &into]));
        output(&mut glassine(&["check", "--datadir", shown(&mount.0.join("copy"))]));
        sizes.push((
            allocated(&mount.0.join("copy/shop/orders.ibd")),
            allocated(&mount.0.join("restored/shop/orders.ibd")),
        ));
        output(&mut glassine(&["check", "--datadir", shown(&mount.0.join("restored"))]));
    }
    println!("copied and restored to blocks of 4K and 1K: {sizes:?}");
    assert!(sizes[1].0 < sizes[0].0 && sizes[1].1 < sizes[0].1, "{sizes:?}");
}

fn serves(place: &Path) {
    let server = Server::start(Kind::Glassine, place, &small()).expect("a copy serves");
    let rows =
        server.connect().and_then(|mut client| client.query("SELECT COUNT(*), SUM(CRC32(body)) FROM shop.orders"));
    assert_eq!(rows.expect("the orders").number(), 40_000);
    server.stop().expect("a clean shutdown");
    check(place);
}

/// What docs/backup.md says of the tools that people have.
#[test]
fn stock_tools_copy_a_stopped_server_as_the_manual_says() {
    let scratch = Scratch::new("backup-tools").expect("a directory");
    let data = shop(&scratch);
    let stored = allocated(&data.join("shop/orders.ibd"));
    let logical = fs::metadata(data.join("shop/orders.ibd")).expect("a file").len();
    // The command, and whether it keeps the holes.
    let ways: [(&str, &str, bool); 7] = [
        ("cp", "cp -a FROM TO", true),
        ("cp", "cp -a --sparse=always FROM TO", true),
        ("cp", "cp -a --sparse=never FROM TO", false),
        ("rsync", "rsync -a FROM/ TO", false),
        ("rsync", "rsync -a --sparse FROM/ TO", true),
        ("tar", "mkdir TO && tar -C FROM -cf - . | tar -C TO -xf -", false),
        ("tar", "mkdir TO && tar -C FROM --sparse -cf - . | tar -C TO -xf -", true),
    ];
    for (number, (program, way, keeps)) in ways.into_iter().enumerate() {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: {program} is not installed");
            continue;
        }
        let copy = place(&scratch, &format!("copy-{number}"));
        let command = way.replace("FROM", shown(&data)).replace("TO", shown(&copy.join("data")));
        output(Command::new("sh").arg("-c").arg(&command));
        let taken = allocated(&copy.join("data/shop/orders.ibd"));
        println!("{way}: {taken} allocated of {logical}, {stored} before");
        assert_eq!(taken < logical * 2 / 3, keeps, "{way}: {taken} of {logical}");
        serves(&copy);
        let _ = fs::remove_dir_all(&copy);
    }
}
