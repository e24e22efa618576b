//! Money and orders survive kill -9: short runs of `bench bank` and `bench tpcc`.

#[test]
fn no_transfer_is_lost_and_no_sum_is_wrong() {
    let arguments = bench::bank::Arguments { connections: 16, kills: 4, accounts: 64, life_ms: 1200 };
    let outcome = bench::bank::play(&arguments).expect("a bank in order");
    assert!(outcome.promised > 0 && outcome.snapshots > 0, "{outcome:?}: nothing was done");
}

#[test]
fn consistency_conditions_1_to_4_hold_after_kills() {
    let arguments = bench::tpcc::Arguments { connections: 8, kills: 3, life_ms: 2000 };
    let counts = bench::tpcc::play(&arguments).expect("conditions that hold");
    let done = [counts.new_orders, counts.payments, counts.deliveries].map(|count| count.into_inner());
    assert!(done.iter().all(|count| *count > 0), "{done:?}: one kind of transaction was never acknowledged");
}
