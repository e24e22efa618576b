//! Kills and power cuts on real filesystems, in a short form (`bench filesystems` is the long one), and the
//! proof that the test can fail: a server that breaks a rule is caught.

use bench::filesystems::{Arguments, Survived, crash};
use bench::mounts::{self, Filesystem, Mount};
use bench::process::{Kind, Options, Scratch, Server, disk_usage};
use bench::sysbench::{self, Run};

const SHORT: Arguments = Arguments {
    on: None,
    cuts: 2,
    kills: 1,
    rows: 4000,
    milliseconds: 1200,
    pool: String::new(),
    flush_at_commit: 1,
    seed: None,
    options: String::new(),
};

/// `None` if this machine cannot mount what is needed.
fn crashes(name: &str, filesystem: &str, seed: u64, arguments: &Arguments) -> Option<std::io::Result<Survived>> {
    let scratch = Scratch::new(name).expect("a directory");
    let filesystem = Filesystem::find(filesystem).expect("a filesystem of the list");
    if let Some(obstacle) = mounts::obstacle(&scratch.0).or_else(|| filesystem.obstacle()) {
        println!("skipped: {}: {obstacle}", filesystem.name);
        return None;
    }
    let arguments = Arguments { pool: "8M".into(), ..arguments.clone() };
    Some(crash(filesystem, &scratch.0.join(filesystem.name), seed, &arguments))
}

fn nothing_is_lost_on(name: &str) {
    let seed = rand::random();
    if let Some(outcome) = crashes(&format!("filesystems-{name}"), name, seed, &SHORT) {
        let survived = outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(survived.entries > 0, "the writers wrote nothing");
    }
}

#[test]
fn nothing_is_lost_on_ext4_with_small_blocks() {
    nothing_is_lost_on("ext4-1k");
}

#[test]
fn nothing_is_lost_on_xfs() {
    nothing_is_lost_on("xfs");
}

#[test]
fn nothing_is_lost_on_btrfs() {
    nothing_is_lost_on("btrfs");
}

/// XFS copies what is written untorn, and what it allocates for that must not fill the holes behind pages.
#[test]
fn copies_of_xfs_leave_the_holes() {
    let scratch = Scratch::new("filesystems-holes").expect("a directory");
    let filesystem = Filesystem::find("xfs").expect("a filesystem of the list");
    if let Some(obstacle) = mounts::obstacle(&scratch.0).or_else(|| filesystem.obstacle()) {
        println!("skipped: {obstacle}");
        return;
    }
    if !sysbench::is_installed() {
        println!("skipped: sysbench is not installed");
        return;
    }
    let mount = Mount::create(filesystem, &scratch.0.join("xfs"), 3 << 29, false).expect("a filesystem");
    let directory = mount.directory.join("glassine");
    // Several cleaners, which must not get in each other's way.
    let more = vec!["--innodb-page-cleaners=4".to_string()];
    let options = Options { pool: "8M".into(), log: "64M".into(), flush_at_commit: 2, more };
    let server = Server::create(Kind::Glassine, &directory, &options).expect("a server");
    let mut client = server.connect().expect("a connection");
    client.query("CREATE DATABASE sbtest").expect("a database");
    let load = Run {
        script: "oltp_write_only",
        tables: 2,
        rows: 50_000,
        threads: 4,
        seconds: 4,
        prepared: true,
        more: &["--rand-type=uniform".to_string()],
    };
    load.prepare(&server).expect("rows");
    load.run(&server).expect("work");
    let question = "SELECT TORN_PROTECTION FROM information_schema.GLASSINE_TABLESPACE_COMPRESSION \
                    WHERE NAME = 'sbtest/sbtest1'";
    let protection = client.query(question).expect("an answer").rows[0][0].clone();
    drop(client);
    server.stop().expect("a clean shutdown");
    let (allocated, logical) = disk_usage(&directory.join("data/sbtest")).expect("files");
    // With doublewrite or without: these rows compress to less than half.
    assert!(allocated * 10 < logical * 6, "{allocated} of {logical} bytes are allocated ({protection:?})");
}

/// Breaks a rule in up to 20 power cuts; the test must notice one of them, and say `complaint`.
fn is_caught(name: &str, broken: &Arguments, complaint: &[&str]) {
    for seed in 0..5 {
        let arguments = Arguments { cuts: 4, kills: 0, ..broken.clone() };
        match crashes(name, "ext4", seed, &arguments) {
            None => return,
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                let text = error.to_string();
                assert!(complaint.iter().any(|word| text.contains(word)), "failed for another reason: {text}");
                return;
            }
        }
    }
    panic!("20 power cuts did not show that the rule was broken");
}

#[test]
fn a_commit_that_is_not_synced_is_caught() {
    is_caught("filesystems-nosync", &Arguments { flush_at_commit: 2, ..SHORT }, &["entries were promised"]);
}

#[test]
fn pages_without_protection_are_caught() {
    let options = "--innodb-doublewrite=OFF,--innodb-use-atomic-writes=OFF".to_string();
    is_caught(
        "filesystems-torn",
        &Arguments { options, milliseconds: 2500, ..SHORT },
        &["damaged", "corrupt", "not clean", "torn"],
    );
}
