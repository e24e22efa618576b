//! `glassine page` on files that other servers wrote.

use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Each file is read to its end; only one whose pages were damaged on purpose may fail, and says which page.
#[test]
fn files_of_mysql_and_mariadb_are_read() {
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
