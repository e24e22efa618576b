//! What clients saw while the server was killed under them: nothing that the isolation level excludes. And the check can
//! fail: where an anomaly is allowed, it finds it. `bench anomalies` does a hundred thousand transactions of each.

use bench::anomalies::check::Class;
use bench::anomalies::{Arguments, Level, Outcome, play};

fn run(level: Level, transactions: u64) -> Outcome {
    let arguments = Arguments { level: vec![level], transactions, connections: 16, kills: 2, lists: 8, seed: None };
    let outcome = play(level, &arguments).expect("a server that can be started again");
    assert!(outcome.committed as u64 >= transactions, "{} of {transactions} were committed", outcome.committed);
    let forbidden = outcome.forbidden(level);
    assert!(forbidden.is_empty(), "{level:?}: {} anomalies, the first: {}", forbidden.len(), forbidden[0].text);
    outcome
}

#[test]
fn serializable_transactions_are_as_if_one_after_the_other() {
    let outcome = run(Level::Serializable, 3000);
    assert!(outcome.anomalies.is_empty());
}

#[test]
fn snapshot_isolation_loses_no_update() {
    run(Level::Snapshot, 3000);
}

#[test]
fn plain_repeatable_read_and_read_committed_lose_updates_and_the_check_finds_them() {
    for level in [Level::RepeatableRead, Level::ReadCommitted] {
        let outcome = run(level, 4000);
        assert!(outcome.count(Class::LostUpdate) > 0, "{level:?}: no lost update is found");
        assert!(outcome.count(Class::GSingle) > 0, "{level:?}: no read skew is found");
    }
}
