//! Where writes to a file were interrupted: the only places where a page may be torn.

use std::ops::Range;

/// Ranges of a file's bytes.
#[derive(Clone, Default)]
pub struct InFlight(Vec<Range<u64>>);

impl InFlight {
    pub fn add(&mut self, bytes: Range<u64>) {
        if !bytes.is_empty() && !self.0.contains(&bytes) {
            self.0.push(bytes);
        }
    }

    /// These bytes were written.
    pub fn remove(&mut self, bytes: Range<u64>) {
        let rest = |known: &Range<u64>| {
            let before = known.start..known.end.min(bytes.start);
            let behind = known.start.max(bytes.end)..known.end;
            [before, behind]
        };
        self.0 = self.0.iter().flat_map(rest).filter(|rest| !rest.is_empty()).collect();
    }

    pub fn meets(&self, bytes: &Range<u64>) -> bool {
        self.0.iter().any(|known| known.start < bytes.end && bytes.start < known.end)
    }
}

#[test]
fn what_is_written_is_no_longer_in_flight() {
    let mut in_flight = InFlight::default();
    in_flight.add(100..200);
    in_flight.remove(120..150);
    assert!(in_flight.meets(&(90..101)) && in_flight.meets(&(150..151)));
    assert!(!in_flight.meets(&(120..150)) && !in_flight.meets(&(200..300)));
    in_flight.remove(0..500);
    assert!(!in_flight.meets(&(0..500)));
}
