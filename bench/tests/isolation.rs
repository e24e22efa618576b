//! Isolation as users of InnoDB know it: the same interleavings on Glassine and on MariaDB, at all four levels. Who waits,
//! who fails, who sees what has to agree; where it does not, the difference stands in `EXPLAINED` with its reason (and in
//! docs/isolation.md, which is made from the same run).

use std::fmt::Write;

use bench::isolation::{LEVELS, play_all};
use bench::process::mariadb_is_installed;

/// (case, level or all, why the two differ).
const EXPLAINED: &[(&str, Option<&str>, &str)] = &[
    ("nowait", None, "NOWAIT is MySQL's error 3572, where MariaDB says 1205"),
    ("P4-add", Some("SERIALIZABLE"), "whoever has a row share-locked may strengthen that before one who waits for it"),
];

#[test]
fn interleavings_end_as_in_mariadb() {
    if !mariadb_is_installed() {
        println!("skipped: mariadbd is not installed");
        return;
    }
    let mut report = String::new();
    for row in play_all().expect("both servers answer") {
        let theirs = row.theirs.as_ref().expect("it is installed");
        for (at, level) in LEVELS.iter().enumerate() {
            let (ours, theirs) = (&row.ours[at], &theirs[at]);
            let explained =
                EXPLAINED.iter().any(|(name, of, _)| *name == row.case.name && of.is_none_or(|of| of == *level));
            if ours == theirs || explained {
                continue;
            }
            writeln!(report, "\n{} at {level}: {}", row.case.name, row.case.title).expect("a string takes all");
            for ((session, statement), (ours, theirs)) in
                row.case.steps.iter().zip(ours.steps.iter().zip(&theirs.steps))
            {
                let difference = if ours == theirs { String::new() } else { format!("   MARIADB: {theirs}") };
                writeln!(report, "  {session}: {statement} -> {ours}{difference}").expect("a string takes all");
            }
            writeln!(report, "  at the end {}, MariaDB {}", ours.end, theirs.end).expect("a string takes all");
        }
    }
    assert!(report.is_empty(), "{report}");
}
