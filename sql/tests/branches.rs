//! Branches of distributed transactions over several sessions, and over the end of a server; what one session is answered
//! is in `scripts/xa.test`.

mod common;

use std::sync::Arc;

use sql::accounts::Accounts;
use sql::variables::GlobalVariables;
use sql::{Instance, Session};
use storage::io::linux::LinuxDisk;
use storage::{Config, Engine};

use common::{Scratch, ask, instance, session};

/// Runs a statement of a session of its own, and answers with lines.
/// A branch that is not prepared goes with its session, one that is stays: for any session, also of the next server.
#[test]
fn branches_and_the_end_of_their_sessions() {
    let scratch = Scratch::new("branches");
    let first = instance(&scratch.0, Config::tiny());
    let mut setup = session(&first);
    ask(&mut setup, "CREATE TABLE t (id INT PRIMARY KEY)");
    let prepare = |session: &mut Session, name: &str, id: u32| {
        for statement in [
            format!("XA START '{name}'"),
            format!("INSERT INTO t VALUES ({id})"),
            format!("XA END '{name}'"),
            format!("XA PREPARE '{name}'"),
        ] {
            let lines = ask(session, &statement);
            assert!(lines[0].starts_with('='), "{statement}: {lines:?}");
        }
    };
    let mut goes = session(&first);
    for statement in ["XA START 'active'", "INSERT INTO t VALUES (1)"] {
        ask(&mut goes, statement);
    }
    assert_eq!(ask(&mut setup, "XA START 'active'"), ["! 1440 XAER_DUPID: The XID already exists"]);
    drop(goes);
    assert_eq!(ask(&mut setup, "XA RECOVER"), ["| formatID | gtrid_length | bqual_length | data"]);
    assert_eq!(ask(&mut setup, "XA START 'active'"), ["= 0 rows"]);
    ask(&mut setup, "XA END 'active'");
    ask(&mut setup, "XA ROLLBACK 'active'");
    assert_eq!(ask(&mut setup, "SELECT id FROM t"), ["| id"]);

    let mut attached = session(&first);
    ask(&mut attached, "SET xa_detach_on_prepare = OFF");
    prepare(&mut attached, "attached", 2);
    assert_eq!(ask(&mut setup, "XA COMMIT 'attached'"), ["! 1397 XAER_NOTA: Unknown XID"]);
    drop(attached);
    assert_eq!(ask(&mut setup, "XA COMMIT 'attached'"), ["= 0 rows"]);

    prepare(&mut setup, "commits", 3);
    prepare(&mut setup, "rolls back", 4);
    drop(setup);
    first.engine.close().expect("a clean end");
    drop(first);
    let disk = Arc::new(LinuxDisk::new(&scratch.0));
    let engine = Engine::open(disk, Config::tiny()).expect("an open instance");
    let second = Instance::new(engine, GlobalVariables::new(), Accounts::in_memory(), scratch.0.clone());
    let mut session = session(&second);
    assert_eq!(ask(&mut session, "SELECT id FROM t"), ["| id", "| 2"]);
    assert_eq!(ask(&mut session, "XA COMMIT 'commits'"), ["= 0 rows"]);
    assert_eq!(ask(&mut session, "XA ROLLBACK 'rolls back'"), ["= 0 rows"]);
    assert_eq!(ask(&mut session, "SELECT id FROM t"), ["| id", "| 2", "| 3"]);
    drop(session);
    second.engine.close().expect("a clean end");
}

/// The victim of a deadlock has nothing left but to be told so.
#[test]
fn a_branch_that_lost_its_transaction_can_only_be_rolled_back() {
    let scratch = Scratch::new("lost-branch");
    let instance = instance(&scratch.0, Config::tiny());
    let (mut victim, mut other) = (session(&instance), session(&instance));
    ask(&mut victim, "CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    ask(&mut victim, "INSERT INTO t VALUES (1, 1), (2, 2)");
    for end in ["XA COMMIT 'victim' ONE PHASE", "XA ROLLBACK 'victim'"] {
        ask(&mut victim, "XA START 'victim'");
        ask(&mut victim, "UPDATE t SET v = 10 WHERE id = 1");
        // Dearer to roll back.
        ask(&mut other, "BEGIN");
        ask(&mut other, "INSERT INTO t VALUES (11, 0), (12, 0), (13, 0), (14, 0), (15, 0)");
        ask(&mut other, "UPDATE t SET v = 20 WHERE id = 2");
        let waiting = std::thread::spawn(move || {
            let lines = ask(&mut other, "UPDATE t SET v = 20 WHERE id = 1");
            (other, lines)
        });
        while instance.engine.status().row_lock_waits_now == 0 {
            std::thread::yield_now();
        }
        let lost = ask(&mut victim, "UPDATE t SET v = 10 WHERE id = 2");
        assert_eq!(lost, ["! 1213 Deadlock found when trying to get lock; try restarting transaction"]);
        let (back, lines) = waiting.join().expect("the other goes on");
        other = back;
        assert!(lines[0].starts_with("= 1 rows"), "{lines:?}");
        ask(&mut other, "ROLLBACK");
        for statement in
            ["SELECT * FROM t", "INSERT INTO t VALUES (3, 3)", "XA END 'victim'", "XA PREPARE 'victim'", "COMMIT"]
        {
            let lines = ask(&mut victim, statement);
            let refused = "! 1399 XAER_RMFAIL: The command cannot be executed when global transaction is in the  ROLLBACK ONLY state";
            assert_eq!(lines, [refused], "{statement}");
        }
        let told = ask(&mut victim, end);
        match end.starts_with("XA COMMIT") {
            true => {
                assert_eq!(told, ["! 1614 XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected"])
            }
            false => assert_eq!(told, ["= 0 rows"]),
        }
        assert_eq!(ask(&mut victim, "SELECT v FROM t"), ["| v", "| 1", "| 2"]);
    }
    drop((victim, other));
    instance.engine.close().expect("a clean end");
}
