//! TPC-H's queries on few rows: the answers are MariaDB's, in memory and beyond it, with histograms and without. `bench tpch` has more rows, and measures.

use bench::process::mariadb_is_installed;
use bench::tpch::{Arguments, play};

#[test]
fn queries_of_tpch_are_answered_as_by_mariadb() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    for (memory, histograms) in [(None, false), (Some("256K"), false), (None, true)] {
        let arguments = Arguments {
            scale: 0.002,
            rounds: 1,
            seed: 7,
            pool: "64M".into(),
            memory: memory.map(str::to_owned),
            queries: Vec::new(),
            patience: 60,
            alone: false,
            keep: None,
            histograms,
            explain: false,
        };
        let rows = play(&arguments).expect("two servers");
        assert_eq!(rows.len(), 22);
        for row in rows {
            assert!(
                !row.is_wrong(),
                "memory {memory:?}, histograms {histograms}: Q{}: {}",
                row.number,
                row.complaint()
            );
        }
    }
}
