//! Accounts and the binary log after a crash between the two.

mod common;

use sql::Instance;
use sql::accounts::{Accounts, FILE_NAME};
use sql::variables::GlobalVariables;
use storage::Config;

use common::{Scratch, ask, logged_instance, session};

/// The statements about accounts that are in the log.
fn logged(session: &mut sql::Session) -> Vec<String> {
    let events = ask(session, "SHOW BINLOG EVENTS");
    let statements = events.iter().filter_map(|line| line.split(" | ").nth(5));
    statements.filter(|text| text.contains("USER")).map(str::to_owned).collect()
}

#[test]
fn the_change_of_an_account_that_a_crash_kept_out_of_the_log_is_logged_by_the_next_start() {
    let scratch = Scratch::new("account_log");
    let first = logged_instance(&scratch.0, Config::tiny());
    let (engine, log) = (first.engine.clone(), first.log.clone());
    let line = |unlogged: &str| {
        let root = "root\tlocalhost\tmysql_native_password\t-\t-\n";
        let text = format!("{unlogged}{root}a\tlocalhost\tmysql_native_password\t-\t-\n");
        std::fs::write(scratch.0.join(FILE_NAME), text).expect("the file is written");
        let accounts = Accounts::open(&scratch.0).expect("the accounts");
        Instance::with_log(engine.clone(), log.clone(), GlobalVariables::new(), accounts, scratch.0.clone())
    };
    let instance = line("unlogged\tCREATE USER IF NOT EXISTS 'a'@'localhost'\n");
    let mut own = session(&instance);
    own.log_unlogged_accounts().expect("it is logged");
    assert_eq!(logged(&mut own), ["CREATE USER IF NOT EXISTS 'a'@'localhost'"]);
    own.log_unlogged_accounts().expect("once");
    assert_eq!(logged(&mut own).len(), 1);
    // The note is gone from the file, too, and a change that is logged leaves none.
    for statement in ["ALTER USER a@localhost ACCOUNT LOCK", "DROP USER a@localhost"] {
        assert_eq!(ask(&mut own, statement), ["= 0 rows"], "{statement}");
        let text = std::fs::read_to_string(scratch.0.join(FILE_NAME)).expect("the file");
        assert!(!text.contains("unlogged"), "{text}");
    }
    assert_eq!(logged(&mut own).len(), 3);
}
