//! Events: what of them is kept.

use format::value::{DateTime, IntervalUnit, Zone};

use super::fields::{Fields, put};
use super::schedule::{Schedule, whole_seconds};
use super::{FORM, Origin};
use crate::describe::literal;
use crate::error::Result;
use crate::parser::ast::{EventStatus, Program, ProgramKind};
use crate::parser::parse_body;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// As it was written.
    pub name: String,
    pub schedule: Schedule,
    /// As SET time_zone says it.
    pub time_zone: String,
    /// It stays when it has run for the last time.
    pub preserve: bool,
    pub status: EventStatus,
    pub comment: String,
    pub body: String,
    /// The server that it was made on.
    pub originator: u64,
    /// When it began to run last, in microseconds since 1970; 0 is never.
    pub executed_us: u64,
    pub origin: Origin,
}

const STATUSES: [(EventStatus, &str, &str); 3] = [
    (EventStatus::Enabled, "ENABLED", "ENABLE"),
    (EventStatus::Disabled, "DISABLED", "DISABLE"),
    (EventStatus::DisabledOnReplica, "SLAVESIDE_DISABLED", "DISABLE ON SLAVE"),
];

/// What a status is called where it is shown, and where it is said.
pub fn status_words(status: EventStatus) -> (&'static str, &'static str) {
    STATUSES.iter().find(|(known, ..)| *known == status).map_or(("", ""), |(_, shown, said)| (shown, said))
}

impl Event {
    pub fn encode(&self) -> Box<[u8]> {
        let mut out = vec![FORM, u8::from(self.preserve), self.status as u8];
        match &self.schedule {
            Schedule::At(at) => {
                out.push(0);
                out.extend(at.to_be_bytes());
            }
            Schedule::Every { amount, unit, starts_us, ends_us } => {
                out.push(1);
                put(&mut out, amount);
                put(&mut out, unit.name());
                out.extend(starts_us.to_be_bytes());
                out.extend(ends_us.unwrap_or(0).to_be_bytes());
            }
        }
        for text in [&self.name, &self.time_zone, &self.comment, &self.body] {
            put(&mut out, text);
        }
        out.extend(self.originator.to_be_bytes());
        out.extend(self.executed_us.to_be_bytes());
        self.origin.encode(&mut out);
        out.into_boxed_slice()
    }

    pub fn decode(bytes: &[u8]) -> Result<Event> {
        let mut from = Fields(bytes);
        from.form(FORM)?;
        let preserve = from.number(1)? == 1;
        let status = STATUSES.get(from.number(1)? as usize).map_or(EventStatus::Disabled, |(status, ..)| *status);
        let schedule = match from.number(1)? {
            0 => Schedule::At(from.number(8)?),
            _ => {
                let amount = from.text()?;
                let unit = IntervalUnit::by_name(&from.text()?).unwrap_or(IntervalUnit::Day);
                let (starts_us, ends_us) = (from.number(8)?, from.number(8)?);
                Schedule::Every { amount, unit, starts_us, ends_us: (ends_us > 0).then_some(ends_us) }
            }
        };
        let (name, time_zone, comment, body) = (from.text()?, from.text()?, from.text()?, from.text()?);
        let (originator, executed_us) = (from.number(8)?, from.number(8)?);
        let origin = Origin::decode(&mut from)?;
        Ok(Event { name, schedule, time_zone, preserve, status, comment, body, originator, executed_us, origin })
    }

    pub fn parse(&self) -> Result<Program> {
        parse_body(&self.body, ProgramKind::Event, None, "", self.origin.sql_mode)
    }

    /// The zone in which its times are shown and its steps are made.
    pub fn zone(&self, system: Zone) -> Zone {
        match self.time_zone.eq_ignore_ascii_case("SYSTEM") {
            true => system,
            false => Zone::parse(&self.time_zone).unwrap_or(system),
        }
    }

    /// When it is to run next, as far as it is known at a moment; None: not again.
    pub fn next_us(&self, now_us: u64, system: Zone) -> Option<u64> {
        let zone = self.zone(system);
        match &self.schedule {
            // One that the server has missed is made up for.
            Schedule::At(at) => (self.executed_us == 0).then_some(*at),
            // Of those that it has missed none is: the next is the first from now on.
            Schedule::Every { .. } => {
                let before_now = whole_seconds(now_us).saturating_sub(1);
                self.schedule.next_after(self.executed_us.max(before_now), zone)
            }
        }
    }

    /// `AT ...`, `EVERY ...`
    pub fn schedule_words(&self, system: Zone) -> String {
        let zone = self.zone(system);
        let shown = |us: u64| {
            let moment = i64::try_from(us).ok().and_then(|us| DateTime::from_unix_micros(us, zone));
            let mut text = Vec::new();
            moment.unwrap_or(DateTime::ZERO).write(0, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        match &self.schedule {
            Schedule::At(at) => format!("AT '{}'", shown(*at)),
            Schedule::Every { amount, unit, starts_us, ends_us } => {
                let amount = match amount.bytes().all(|byte| byte.is_ascii_digit()) {
                    true => amount.clone(),
                    false => literal(amount),
                };
                let ends = ends_us.map_or(String::new(), |ends| format!(" ENDS '{}'", shown(ends)));
                format!("EVERY {amount} {} STARTS '{}'{ends}", unit.name(), shown(*starts_us))
            }
        }
    }

    /// The statement that makes it, or changes it: `verb` is CREATE or ALTER, `name` quoted, `rename` ` RENAME TO ...`.
    pub fn statement(&self, verb: &str, name: &str, rename: &str, system: Zone) -> String {
        let not = if self.preserve { "" } else { "NOT " };
        let comment = match self.comment.is_empty() && verb != "ALTER" {
            true => String::new(),
            false => format!(" COMMENT {}", literal(&self.comment)),
        };
        format!(
            "{verb} {}EVENT {name} ON SCHEDULE {} ON COMPLETION {not}PRESERVE{rename} {}{comment} DO {}",
            self.origin.definer_words(),
            self.schedule_words(system),
            status_words(self.status).1,
            self.body,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::SqlMode;
    use format::collation::CollationId;

    fn event(schedule: Schedule) -> Event {
        Event {
            name: "E".into(),
            schedule,
            time_zone: "+02:00".into(),
            preserve: true,
            status: EventStatus::DisabledOnReplica,
            comment: "it's".into(),
            body: "DO 1".into(),
            originator: 7,
            executed_us: 9_000_000,
            origin: Origin {
                definer: ("root".into(), "localhost".into()),
                sql_mode: SqlMode::DEFAULT,
                client: CollationId::DEFAULT,
                connection: CollationId::DEFAULT,
                database: CollationId::DEFAULT,
                created_us: 1 << 50,
                altered_us: 1 << 51,
            },
        }
    }

    #[test]
    fn an_event_comes_back() {
        let every = |amount: &str, unit, ends_us| Schedule::Every {
            amount: amount.into(),
            unit,
            starts_us: 1_700_000_000_000_000,
            ends_us,
        };
        for schedule in [
            Schedule::At(1_700_000_000_000_000),
            every("1", IntervalUnit::Quarter, None),
            every("1:30", IntervalUnit::HourMinute, Some(1_800_000_000_000_000)),
        ] {
            let event = event(schedule);
            let bytes = event.encode();
            assert_eq!(Event::decode(&bytes).unwrap(), event);
            for end in 0..bytes.len() {
                assert!(Event::decode(&bytes[..end]).is_err());
            }
            let text = event.statement("CREATE", "`E`", "", Zone::UTC);
            assert!(crate::parser::parse_first(text.as_bytes(), SqlMode::DEFAULT).is_ok(), "{text}");
            let text = event.statement("ALTER", "`E`", " RENAME TO `F`", Zone::UTC);
            assert!(crate::parser::parse_first(text.as_bytes(), SqlMode::DEFAULT).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_moment_that_was_missed_is_made_up_for_and_a_step_is_not() {
        let second = 1_000_000;
        let mut once = event(Schedule::At(5 * second));
        assert_eq!(once.next_us(50 * second, Zone::UTC), None);
        once.executed_us = 0;
        assert_eq!(once.next_us(50 * second, Zone::UTC), Some(5 * second));
        let schedule =
            Schedule::Every { amount: "10".into(), unit: IntervalUnit::Second, starts_us: 5 * second, ends_us: None };
        let mut often = event(schedule);
        assert_eq!(often.next_us(50 * second, Zone::UTC), Some(55 * second));
        // What is due now is not behind now.
        assert_eq!(often.next_us(55 * second, Zone::UTC), Some(55 * second));
        often.executed_us = 55 * second;
        assert_eq!(often.next_us(55 * second, Zone::UTC), Some(65 * second));
    }
}
