//! `glassine page` on files that other servers wrote, and on damaged ones of ours.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use format::collation::CollationId;
use format::page::header::{self, PageType};
use format::value::ColumnType;
use storage::io::linux::LinuxDisk;
use storage::{Column, Compression, Config, Engine, IndexDefinition, TableDefinition, TableOptions, TrxOptions};

/// Of the package mariadb-test-data: files of MySQL 8.0 among others.
const PACKAGE: &str = "/usr/share/mysql/mysql-test/std_data";

fn is_tablespace(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".ibd") || name.starts_with("ibdata1")
}

fn tablespaces(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            tablespaces(&path, found);
        } else if is_tablespace(&path) {
            found.push(path);
        }
    }
}

/// One test at a time: a child that another one starts would hold the lock of a data directory until it runs its program.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Each file is read to its end; only one whose pages were damaged on purpose may fail, and says which page.
#[test]
fn files_of_mysql_and_mariadb_are_read() {
    let _alone = alone();
    let mut files = Vec::new();
    tablespaces(Path::new(PACKAGE), &mut files);
    if files.is_empty() {
        println!("skipped: {PACKAGE} has no tablespaces");
        return;
    }
    let mut whole = 0;
    for file in &files {
        let output = Command::new(env!("CARGO_BIN_EXE_glassine"))
            .arg("page")
            .arg(file)
            .args(["--json", "--summary"])
            .output()
            .expect("the program runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            whole += 1;
            assert!(out.contains("\"by_codec\"") && out.contains("\"damaged\": 0"), "{}: {out}", file.display());
        } else {
            assert!(err.contains("damaged page") || err.contains("page 0 is not"), "{}: {err}", file.display());
        }
    }
    assert!(whole * 2 > files.len(), "{whole} of {} files are whole", files.len());
}

/// An instance that was closed, with a table for each way of storing a page. Their names.
fn create_tables(directory: &Path) -> [&'static str; 4] {
    let config = Config { pool_bytes: 8 << 20, log_bytes: 8 << 20, ..Config::default() };
    Engine::create(Arc::new(LinuxDisk::new(directory)), &config).unwrap();
    let engine = Engine::open(Arc::new(LinuxDisk::new(directory)), config).unwrap();
    engine.create_database("d", CollationId::DEFAULT, &TrxOptions::patient()).unwrap();
    let names = ["plain", "packed", "locked", "both"];
    for name in names {
        let compression = if matches!(name, "packed" | "both") { Compression::ZSTD } else { Compression::NONE };
        let encrypted = matches!(name, "locked" | "both");
        let definition = TableDefinition {
            database: "d".into(),
            name: name.into(),
            columns: vec![
                Column::new("id", ColumnType::Int { bytes: 4, unsigned: true }, false),
                Column::new("b", ColumnType::Binary { bytes: 200 }, false),
            ],
            indexes: vec![IndexDefinition::new("PRIMARY", true, &[0])],
            options: TableOptions { compression, encrypted, ..TableOptions::default() },
            ..TableDefinition::default()
        };
        let table = engine.create_table(definition, &TrxOptions::default()).unwrap();
        let mut trx = engine.begin(TrxOptions::default());
        for id in 0..60_u32 {
            trx.insert(&table, &[Some(&id.to_be_bytes()), Some(&[b'x'; 200])]).unwrap();
        }
        trx.commit().unwrap();
    }
    engine.close().unwrap();
    names
}

fn page(file: &Path, keyring: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_glassine"));
    command.arg("page").arg(file).arg("--keyring").arg(keyring).args(arguments).output().unwrap()
}

/// With the key ring all of a file of 16K pages is read, and no byte of a page's header may be another one unseen.
#[test]
fn damage_in_any_byte_of_a_header_is_seen() {
    let _alone = alone();
    const PAGE: u64 = 16384;
    let directory = std::env::temp_dir().join(format!("glassine-page-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let keyring = directory.join("keyring");
    let stored = [PageType::INDEX, PageType::COMPRESSED, PageType::ENCRYPTED, PageType::COMPRESSED_AND_ENCRYPTED];
    for (name, page_type) in create_tables(&directory).into_iter().zip(stored) {
        let path = directory.join(format!("d/{name}.ibd"));
        let whole = page(&path, &keyring, &["--json"]);
        let text = String::from_utf8_lossy(&whole.stdout);
        assert!(whole.status.success() && text.contains("\"damaged\": 0"), "{name}: {text}");
        assert!(!text.contains("not decoded"), "{name}: {text}");
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut start = [0; header::BODY];
        let number = (1..).find(|number| {
            file.read_exact_at(&mut start, number * PAGE).unwrap();
            header::page_type(&start) == page_type
        });
        let number = number.unwrap();
        let shown = page(&path, &keyring, &["--page", &number.to_string()]);
        for at in 0..header::BODY {
            for bit in [0, 5] {
                let offset = number * PAGE + at as u64;
                file.write_all_at(&[start[at] ^ 1 << bit], offset).unwrap();
                let output = page(&path, &keyring, &["--page", &number.to_string()]);
                let seen = !output.status.success() || output.stdout == shown.stdout;
                assert!(seen, "{name}: byte {at}, bit {bit}: {}", String::from_utf8_lossy(&output.stdout));
                file.write_all_at(&start[at..=at], offset).unwrap();
            }
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
