//! `glassine binlog` on files that other servers wrote, and on damaged ones.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Of the package mariadb-test-data: logs of MySQL 4.0 to 8.0 and of MariaDB, some of them damaged on purpose.
const PACKAGE: &str = "/usr/share/mysql/mysql-test/std_data";

/// Logs of that package that are older than version 4 of the format.
const TOO_OLD: [&str; 2] = ["master-bin.000001", "trunc_binlog.000001"];

fn binlog(arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_glassine"))
        .arg("binlog")
        .args(arguments)
        .arg(file)
        .output()
        .expect("the program runs")
}

fn is_log(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(&format::binlog::MAGIC))
}

fn logs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(PACKAGE).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| is_log(path)).collect()
}

#[test]
fn logs_of_mysql_and_mariadb_are_read_or_refused_with_a_reason() {
    let logs = logs();
    if logs.is_empty() {
        println!("skipped: {PACKAGE} has no binary logs");
        return;
    }
    let (mut whole, mut refused) = (0, 0);
    for log in &logs {
        let output = binlog(&["--verify"], log);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!error.contains("panicked"), "{}: {error}", log.display());
        let name = log.file_name().unwrap_or_default().to_string_lossy();
        if TOO_OLD.contains(&&*name) {
            assert!(error.contains("binary log of version"), "{}: {error}", log.display());
        }
        match output.status.success() {
            true => whole += 1,
            false => {
                assert!(error.contains("event at ") || error.contains("binary log"), "{}: {error}", log.display());
                refused += 1;
            }
        }
        // Printing ends in the same way as verifying, but for what only the latter compares.
        let printed = binlog(&["-vv"], log);
        let text = String::from_utf8_lossy(&printed.stdout);
        assert!(text.ends_with("PSEUDO_SLAVE_MODE=0*/;\n") || !printed.status.success(), "{}", log.display());
    }
    assert!(whole >= 8, "{whole} logs are whole, {refused} are refused");
}

/// The log of MySQL 8.0.40 there holds compressed transactions: what they insert is shown.
#[test]
fn compressed_transactions_are_shown_expanded() {
    let log = Path::new(PACKAGE).join("mdev35643_mysql_80_binlog.000001");
    if !log.exists() {
        println!("skipped: {} is missing", log.display());
        return;
    }
    let output = binlog(&["-v", "--base64-output=decode-rows"], &log);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("server v 8.0.40-debug"), "{text}");
    assert!(text.contains("### INSERT INTO `test`.`t1`"), "{text}");
    let expanded = text.matches("# Start of compressed events!").count();
    assert_eq!(expanded, text.matches("# End of compressed events!").count());
    // A partial update of JSON is shown as a function of what was there.
    let changed = format!("###   @2=JSON_REPLACE(@2, '$.b', '{}')", "oOo".repeat(50));
    assert!(text.contains(&changed), "{text}");
}

#[test]
fn a_file_that_is_no_log_is_refused_by_its_name() {
    let output = binlog(&[], Path::new(env!("CARGO_MANIFEST_PATH")));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(error.contains("Cargo.toml") && error.contains("no binary log"), "{error}");
}
