//! Where START REPLICA UNTIL ends.
//!
//! The coordinator hands on no transaction behind the goal, and stops when those before have been applied. So all
//! conditions lie between two transactions, as many workers as there are.

use format::binlog::{Gtid, GtidSet};
use sql::Error;
use sql::error::Result;
use sql::parser::ast::Until;

use crate::progress::file_number;
use crate::relay::Place;

/// What START REPLICA UNTIL waits for.
#[derive(Clone, Debug)]
pub enum Goal {
    /// Number of the source's file, and position.
    Source(u64, u64),
    /// The same of the relay log.
    Relay(u64, u64),
    /// None of these is applied.
    Before(GtidSet),
    /// These are not applied yet.
    After(GtidSet),
    /// There are no gaps: commits keep the source's order.
    AfterGaps,
}

impl Goal {
    pub fn of(until: &Until) -> Result<Goal> {
        let number = |file: &str| {
            file_number(file).ok_or_else(|| {
                let text = "Incorrect parameter or combination of parameters for START REPLICA UNTIL";
                Error::new(1277, b"HY000", text)
            })
        };
        let set = |text: &str| {
            let malformed = || Error::new(1772, b"HY000", format!("Malformed GTID set specification '{text}'."));
            text.parse::<GtidSet>().map_err(|_| malformed())
        };
        Ok(match until {
            Until::SourcePosition { file, position } => Goal::Source(number(file)?, *position),
            Until::RelayPosition { file, position } => Goal::Relay(number(file)?, *position),
            Until::BeforeGtids(text) => Goal::Before(set(text)?),
            Until::AfterGtids(text) => Goal::After(set(text)?),
            Until::AfterGaps => Goal::AfterGaps,
        })
    }

    /// At the start: what has been executed. Whether nothing is to be done.
    pub fn begin(&mut self, executed: &GtidSet) -> bool {
        match self {
            Goal::Source(..) | Goal::Relay(..) => false,
            Goal::Before(names) => names.without(executed) != *names,
            Goal::After(names) => {
                *names = names.without(executed);
                names.is_empty()
            }
            Goal::AfterGaps => true,
        }
    }

    /// Whether the transaction of this name is not begun any more.
    pub fn stops_before(&self, gtid: Gtid) -> bool {
        matches!(self, Goal::Before(names) if names.contains(gtid))
    }

    /// Between two transactions: the last one's name, and where the next one is in the source's log and in the relay log.
    pub fn is_reached(&mut self, last: Option<Gtid>, file: &str, position: u64, relay: &Place) -> bool {
        match self {
            Goal::Source(number, at) => file_number(file).is_some_and(|here| (here, position) >= (*number, *at)),
            Goal::Relay(number, at) => (u64::from(relay.file.number), relay.position) >= (*number, *at),
            Goal::After(names) => {
                if let Some(gtid) = last {
                    let mut one = GtidSet::default();
                    one.insert(gtid);
                    *names = names.without(&one);
                }
                names.is_empty()
            }
            Goal::Before(_) | Goal::AfterGaps => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use binlog::FileName;

    use super::*;

    const NAMES: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429562:";

    fn set(numbers: &str) -> GtidSet {
        format!("{NAMES}{numbers}").parse().unwrap()
    }

    fn gtid(number: u64) -> Gtid {
        format!("{NAMES}{number}").parse().unwrap()
    }

    fn relay(number: u32, position: u64) -> Place {
        Place { file: FileName { base: "relay".into(), number }, position }
    }

    #[test]
    fn a_place_is_reached_also_in_a_later_file() {
        let until = Until::SourcePosition { file: "log.000002".to_owned(), position: 500 };
        let mut goal = Goal::of(&until).unwrap();
        assert!(!goal.begin(&set("1-9")));
        let mut at = |file: &str, position| goal.is_reached(None, file, position, &relay(1, 4));
        assert!(!at("log.000001", 900) && !at("log.000002", 499) && at("log.000002", 500) && at("log.000010", 4));
        assert!(!at("", 4), "nothing is known of the source yet");
        let mut goal = Goal::of(&Until::RelayPosition { file: "relay.000002".to_owned(), position: 9 }).unwrap();
        assert!(!goal.is_reached(None, "", 4, &relay(2, 8)) && goal.is_reached(None, "", 4, &relay(2, 9)));
        assert_eq!(Goal::of(&Until::RelayPosition { file: "relay".to_owned(), position: 9 }).unwrap_err().code, 1277);
        assert_eq!(Goal::of(&Until::AfterGtids("x".to_owned())).unwrap_err().code, 1772);
    }

    #[test]
    fn names_are_waited_for_or_avoided() {
        let mut before = Goal::of(&Until::BeforeGtids(format!("{NAMES}5-6"))).unwrap();
        assert!(!before.begin(&set("1-3")) && !before.stops_before(gtid(4)) && before.stops_before(gtid(5)));
        assert!(before.begin(&set("1-5")), "one of them is executed already");
        let mut after = Goal::of(&Until::AfterGtids(format!("{NAMES}2-5"))).unwrap();
        assert!(!after.begin(&set("1-3")));
        let mut has = |number| after.is_reached(Some(gtid(number)), "", 4, &relay(1, 4));
        assert!(!has(5) && !has(6) && has(4));
        assert!(Goal::of(&Until::AfterGaps).unwrap().begin(&set("1")));
    }
}
