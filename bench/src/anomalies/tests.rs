//! Histories made by hand, each with one thing wrong.

use super::super::Level;
use super::*;

fn committed(client: usize, ops: &[Op]) -> Txn {
    Txn { client, ops: ops.to_vec(), end: End::Committed }
}

fn ended(end: End, ops: &[Op]) -> Txn {
    Txn { end, ..committed(9, ops) }
}

fn append(key: Key, element: Element) -> Op {
    Op::Append(key, element)
}

fn read(key: Key, list: &[Element]) -> Op {
    Op::Read(key, list.to_vec())
}

fn classes(history: &[Txn], last: &[(Key, &[Element])]) -> Vec<Class> {
    let last = last.iter().map(|(key, list)| (*key, list.to_vec())).collect();
    check(history, &last).into_iter().map(|anomaly| anomaly.class).collect()
}

#[test]
fn a_serial_history_is_clean() {
    let history = [
        committed(0, &[append(1, 10), append(2, 20)]),
        committed(1, &[read(1, &[10]), append(1, 11), read(1, &[10, 11])]),
        committed(0, &[read(2, &[20]), append(2, 21), append(2, 22)]),
        ended(End::Aborted, &[append(1, 12), read(1, &[10, 11, 12])]),
        ended(End::Unknown, &[append(1, 13)]),
        committed(1, &[read(1, &[10, 11, 13]), read(2, &[20, 21, 22])]),
    ];
    assert_eq!(classes(&history, &[(1, &[10, 11, 13]), (2, &[20, 21, 22])]), []);
}

#[test]
fn an_append_that_was_acknowledged_and_is_gone() {
    let history = [committed(0, &[append(1, 10)]), committed(1, &[append(1, 11)])];
    assert_eq!(classes(&history, &[(1, &[11])]), [Class::LostAppend]);
}

#[test]
fn lists_that_cannot_both_have_been() {
    let history = [committed(0, &[append(1, 10)]), committed(1, &[append(1, 11)]), committed(2, &[read(1, &[11])])];
    assert!(classes(&history, &[(1, &[10, 11])]).contains(&Class::Garbled));
    assert!(classes(&history[..2], &[(1, &[10, 11, 10])]).contains(&Class::Garbled));
}

#[test]
fn what_was_seen_and_taken_back() {
    let history = [ended(End::Unknown, &[append(1, 10)]), committed(1, &[read(1, &[10])])];
    assert_eq!(classes(&history, &[(1, &[])]), [Class::Vanished]);
    assert!(!allowed(Level::Serializable).contains(&Class::Vanished));
}

#[test]
fn a_transaction_that_does_not_see_itself() {
    let history = [committed(0, &[append(1, 10), read(1, &[])])];
    assert_eq!(classes(&history, &[(1, &[10])]), [Class::Internal]);
    let history = [committed(0, &[append(1, 10)]), committed(1, &[read(1, &[]), read(1, &[10])])];
    assert!(classes(&history, &[(1, &[10])]).contains(&Class::Internal));
}

#[test]
fn aborted_and_intermediate_reads() {
    let history = [ended(End::Aborted, &[append(1, 10)]), committed(1, &[read(1, &[10])])];
    assert!(classes(&history, &[(1, &[10])]).contains(&Class::G1a));
    let history = [committed(0, &[append(1, 10), append(1, 11)]), committed(1, &[read(1, &[10])])];
    assert!(classes(&history, &[(1, &[10, 11])]).contains(&Class::G1b));
}

#[test]
fn circles_of_writes() {
    let history = [committed(0, &[append(1, 10), append(2, 21)]), committed(1, &[append(1, 11), append(2, 20)])];
    assert_eq!(classes(&history, &[(1, &[10, 11]), (2, &[20, 21])]), [Class::G0]);
}

#[test]
fn circles_of_information() {
    let history = [committed(0, &[append(1, 10), read(2, &[20])]), committed(1, &[append(2, 20), read(1, &[10])])];
    assert_eq!(classes(&history, &[(1, &[10]), (2, &[20])]), [Class::G1c]);
}

#[test]
fn lost_updates_and_read_skew() {
    let history = [committed(0, &[read(1, &[]), append(1, 10)]), committed(1, &[read(1, &[]), append(1, 11)])];
    assert_eq!(classes(&history, &[(1, &[10, 11])]), [Class::LostUpdate, Class::GSingle]);
    // The second saw one of two lists before the first changed both, and the other after.
    let history = [committed(0, &[append(1, 10), append(2, 20)]), committed(1, &[read(1, &[]), read(2, &[20])])];
    assert_eq!(classes(&history, &[(1, &[10]), (2, &[20])]), [Class::GSingle]);
}

#[test]
fn write_skew_is_allowed_to_a_snapshot() {
    let history = [committed(0, &[read(1, &[]), append(2, 20)]), committed(1, &[read(2, &[]), append(1, 10)])];
    let found = classes(&history, &[(1, &[10]), (2, &[20])]);
    assert_eq!(found, [Class::G2Item]);
    assert!(allowed(Level::Snapshot).contains(&found[0]) && !allowed(Level::Serializable).contains(&found[0]));
}

#[test]
fn anti_dependencies_that_do_not_meet() {
    // Two readers see two writers' lists in opposite orders (a long fork).
    let history = [
        committed(0, &[append(1, 10)]),
        committed(1, &[append(2, 20)]),
        committed(2, &[read(1, &[10]), read(2, &[])]),
        committed(3, &[read(1, &[]), read(2, &[20])]),
    ];
    assert_eq!(classes(&history, &[(1, &[10]), (2, &[20])]), [Class::GNonadjacent]);
}

#[test]
fn a_client_that_does_not_see_what_it_was_promised() {
    let history = [committed(0, &[append(1, 10)]), committed(0, &[read(1, &[])])];
    assert_eq!(classes(&history, &[(1, &[10])]), [Class::Stale]);
}

#[test]
fn a_commit_without_an_answer_may_have_happened() {
    let unknown = ended(End::Unknown, &[append(1, 10), append(2, 20)]);
    let reader = committed(1, &[read(1, &[10]), read(2, &[])]);
    assert_eq!(classes(&[unknown.clone(), reader], &[(1, &[10]), (2, &[20])]), [Class::GSingle]);
    assert_eq!(classes(&[unknown], &[(1, &[])]), []);
}
