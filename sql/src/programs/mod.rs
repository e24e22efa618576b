//! Stored programs: what of procedures, functions, triggers and events is kept in the dictionary.
//!
//! A body is kept as it was written, with the sql_mode under which it is to be read and the collations that its texts
//! have. A session parses it once for each version of the definition that it uses.
//!
//! Names of routines are kept in lower case where they are compared; triggers have names like tables. The triggers of a
//! table, of one time and event, stand in the order of their ranks: texts, between any two of which there is another, so
//! that FOLLOWS and PRECEDES write nothing but the new trigger.
//!
//! An event has a [`schedule`] beside its body.
//!
//! Not here: how a program runs (`session::program`), and the statements that define it (`session::routine`).

mod event;
mod fields;
pub mod schedule;
pub mod sys;
pub mod tables;

use format::collation::CollationId;

use crate::describe::{literal, quoted};
use crate::error::Result;
use crate::parser::ast::{DataAccess, ParameterSpec, Program, ProgramKind, TriggerEvent, TypeSpec};
use crate::parser::{parse_body, parse_parameters, parse_type};
use crate::types::SqlMode;
pub use event::{Event, status_words};
use fields::{Fields, put};

/// The form of what is stored; a later server can add fields behind.
const FORM: u8 = 1;

/// What all programs have: who made it, when, and in which surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// User and host.
    pub definer: (String, String),
    pub sql_mode: SqlMode,
    /// `character_set_client` when it was created.
    pub client: CollationId,
    /// `collation_connection` when it was created: that of literals.
    pub connection: CollationId,
    /// The database's: that of texts whose type does not say.
    pub database: CollationId,
    /// Microseconds since 1970.
    pub created_us: u64,
    pub altered_us: u64,
}

/// A procedure or a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routine {
    pub kind: ProgramKind,
    /// As it was written.
    pub name: String,
    pub parameters: String,
    /// A function's type as text.
    pub returns: String,
    pub body: String,
    pub deterministic: bool,
    pub access: DataAccess,
    pub as_invoker: bool,
    pub comment: String,
    pub origin: Origin,
}

/// A trigger. Its table is in the definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    pub before: bool,
    pub event: TriggerEvent,
    pub rank: Vec<u8>,
    pub body: String,
    pub origin: Origin,
}

impl Origin {
    fn encode(&self, out: &mut Vec<u8>) {
        put(out, &self.definer.0);
        put(out, &self.definer.1);
        out.extend(self.sql_mode.0.to_be_bytes());
        for collation in [self.client, self.connection, self.database] {
            out.extend(collation.0.to_be_bytes());
        }
        out.extend(self.created_us.to_be_bytes());
        out.extend(self.altered_us.to_be_bytes());
    }

    fn decode(from: &mut Fields<'_>) -> Result<Origin> {
        let definer = (from.text()?, from.text()?);
        let sql_mode = SqlMode(from.number(8)?);
        let mut collation = || Ok(CollationId(from.number(2)? as u16));
        let (client, connection, database) = (collation()?, collation()?, collation()?);
        let (created_us, altered_us) = (from.number(8)?, from.number(8)?);
        Ok(Origin { definer, sql_mode, client, connection, database, created_us, altered_us })
    }

    /// `DEFINER=user@host `
    pub fn definer_words(&self) -> String {
        definer_words(&self.definer)
    }

    pub fn definer_text(&self) -> String {
        format!("{}@{}", self.definer.0, self.definer.1)
    }
}

/// What stands between CREATE and the kind of a program.
pub fn definer_words(definer: &(String, String)) -> String {
    format!("DEFINER={}@{} ", quoted(&definer.0), quoted(&definer.1))
}

impl Routine {
    pub fn encode(&self) -> Box<[u8]> {
        let mut out = vec![FORM];
        out.push(u8::from(self.kind == ProgramKind::Function));
        out.push(u8::from(self.deterministic) | u8::from(self.as_invoker) << 1);
        out.push(self.access as u8);
        for text in [&self.name, &self.parameters, &self.returns, &self.body, &self.comment] {
            put(&mut out, text);
        }
        self.origin.encode(&mut out);
        out.into_boxed_slice()
    }

    pub fn decode(bytes: &[u8]) -> Result<Routine> {
        let mut from = Fields(bytes);
        from.form(FORM)?;
        let kind = if from.number(1)? == 1 { ProgramKind::Function } else { ProgramKind::Procedure };
        let flags = from.number(1)?;
        let access = DataAccess::ALL.get(from.number(1)? as usize).copied().unwrap_or(DataAccess::Contains);
        let (name, parameters, returns) = (from.text()?, from.text()?, from.text()?);
        let (body, comment) = (from.text()?, from.text()?);
        let origin = Origin::decode(&mut from)?;
        Ok(Routine {
            kind,
            name,
            parameters,
            returns,
            body,
            deterministic: flags & 1 != 0,
            access,
            as_invoker: flags & 2 != 0,
            comment,
            origin,
        })
    }

    pub fn parse(&self) -> Result<Program> {
        parse_body(&self.body, self.kind, None, &self.parameters, self.origin.sql_mode)
    }

    pub fn parse_parameters(&self) -> Result<Vec<ParameterSpec>> {
        parse_parameters(&self.parameters, self.kind, self.origin.sql_mode)
    }

    /// None: a procedure returns nothing.
    pub fn parse_returns(&self) -> Result<Option<TypeSpec>> {
        match self.kind {
            ProgramKind::Function => parse_type(&self.returns, self.origin.sql_mode).map(Some),
            _ => Ok(None),
        }
    }

    /// The statement that makes it; `database`: to be named.
    pub fn create_statement(&self, verb: &str, database: Option<&str>) -> String {
        let name = match database {
            Some(database) => format!("{}.{}", quoted(database), quoted(&self.name)),
            None => quoted(&self.name),
        };
        let mut text =
            format!("{verb} {}{} {name}({})", self.origin.definer_words(), self.kind.name(), self.parameters);
        if self.kind == ProgramKind::Function {
            text += &format!(" RETURNS {}", self.returns);
        }
        text += "\n";
        if self.access != DataAccess::Contains {
            text += &format!("    {}\n", self.access.name());
        }
        if self.deterministic {
            text += "    DETERMINISTIC\n";
        }
        if self.as_invoker {
            text += "    SQL SECURITY INVOKER\n";
        }
        if !self.comment.is_empty() {
            text += &format!("    COMMENT {}\n", literal(&self.comment));
        }
        text + &self.body
    }
}

impl Trigger {
    pub fn encode(&self) -> Box<[u8]> {
        let mut out = vec![FORM, u8::from(self.before), self.event as u8];
        out.extend((self.rank.len() as u32).to_be_bytes());
        out.extend(&self.rank);
        put(&mut out, &self.body);
        self.origin.encode(&mut out);
        out.into_boxed_slice()
    }

    pub fn decode(bytes: &[u8]) -> Result<Trigger> {
        let mut from = Fields(bytes);
        from.form(FORM)?;
        let before = from.number(1)? == 1;
        let event = TriggerEvent::ALL.get(from.number(1)? as usize).copied().unwrap_or(TriggerEvent::Insert);
        let rank_bytes = from.number(4)? as usize;
        let rank = from.take(rank_bytes)?.to_vec();
        Ok(Trigger { before, event, rank, body: from.text()?, origin: Origin::decode(&mut from)? })
    }

    pub fn parse(&self) -> Result<Program> {
        parse_body(&self.body, ProgramKind::Trigger, Some((self.before, self.event)), "", self.origin.sql_mode)
    }

    pub fn time(&self) -> &'static str {
        if self.before { "BEFORE" } else { "AFTER" }
    }

    pub fn create_statement(&self, verb: &str, name: &str, table: &str) -> String {
        let (definer, time, event) = (self.origin.definer_words(), self.time(), self.event.name());
        format!("{verb} {definer}TRIGGER {name} {time} {event} ON {table} FOR EACH ROW {}", self.body)
    }
}

/// A rank between two others; None is before the first, or behind the last.
pub fn rank_between(low: Option<&[u8]>, high: Option<&[u8]>) -> Vec<u8> {
    let low = low.unwrap_or(&[]);
    let mut rank = Vec::new();
    // As digits of a fraction: the first place with room between the two, or one more place.
    let mut bounded = high.is_some();
    for at in 0.. {
        let from = u16::from(low.get(at).copied().unwrap_or(0));
        let to = match high {
            Some(high) if bounded => u16::from(high.get(at).copied().unwrap_or(0)),
            _ => 256,
        };
        if to > from + 1 {
            rank.push((from + (to - from) / 2) as u8);
            break;
        }
        rank.push(from as u8);
        bounded &= to == from;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        Origin {
            definer: ("root".into(), "localhost".into()),
            sql_mode: SqlMode::DEFAULT,
            client: CollationId::DEFAULT,
            connection: CollationId::DEFAULT,
            database: CollationId::DEFAULT,
            created_us: 1 << 50,
            altered_us: 1 << 51,
        }
    }

    #[test]
    fn a_routine_comes_back() {
        let routine = Routine {
            kind: ProgramKind::Function,
            name: "F".into(),
            parameters: "a INT".into(),
            returns: "INT".into(),
            body: "RETURN a".into(),
            deterministic: true,
            access: DataAccess::Reads,
            as_invoker: true,
            comment: "it's".into(),
            origin: origin(),
        };
        let bytes = routine.encode();
        assert_eq!(Routine::decode(&bytes).unwrap(), routine);
        for end in 0..bytes.len() {
            assert!(Routine::decode(&bytes[..end]).is_err());
        }
        let text = routine.create_statement("CREATE", None);
        assert!(crate::parser::parse_first(text.as_bytes(), SqlMode::DEFAULT).is_ok(), "{text}");
    }

    #[test]
    fn a_trigger_comes_back() {
        let trigger = Trigger {
            before: true,
            event: TriggerEvent::Delete,
            rank: vec![1, 2],
            body: "SET @a = 1".into(),
            origin: origin(),
        };
        let bytes = trigger.encode();
        assert_eq!(Trigger::decode(&bytes).unwrap(), trigger);
        for end in 0..bytes.len() {
            assert!(Trigger::decode(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn there_is_a_rank_between_any_two() {
        let mut ranks = vec![rank_between(None, None)];
        let mut seed = 7u64;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = if seed >> 62 == 0 { 0 } else { (seed >> 33) as usize % (ranks.len() + 1) };
            let low = at.checked_sub(1).map(|at| &ranks[at][..]);
            let rank = rank_between(low, ranks.get(at).map(|rank| &rank[..]));
            ranks.insert(at, rank);
            assert!(ranks.is_sorted(), "at {at}");
            ranks.dedup();
        }
        assert_eq!(ranks.len(), 2001);
    }
}
