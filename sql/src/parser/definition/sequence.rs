//! CREATE, ALTER and DROP SEQUENCE, which are MariaDB's.

use super::Parser;
use crate::error::{Error, Result};
use crate::parser::ast::*;
use crate::parser::lexer::Kind;

impl Parser<'_> {
    /// What follows CREATE [OR REPLACE] [TEMPORARY] SEQUENCE.
    pub(super) fn create_sequence(&mut self, temporary: bool, or_replace: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        let mut said = SequenceWords::default();
        let mut options = Vec::new();
        while !self.is_at_end() {
            if !self.sequence_word(&mut said, false)? {
                let more = self.table_options()?;
                if more.is_empty() {
                    return Err(self.unexpected());
                }
                options.extend(more);
            }
        }
        let create = CreateSequence { temporary, or_replace, if_not_exists, name, said, options };
        Ok(Statement::CreateSequence(Box::new(create)))
    }

    /// What follows ALTER SEQUENCE.
    pub(super) fn alter_sequence(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let name = self.table_name()?;
        let mut said = SequenceWords::default();
        let mut says = false;
        while self.sequence_word(&mut said, true)? {
            says = true;
        }
        match says {
            true => Ok(Statement::AlterSequence(Box::new(AlterSequence { name, if_exists, said }))),
            false => Err(self.unexpected()),
        }
    }

    /// What follows DROP [TEMPORARY] SEQUENCE.
    pub(super) fn drop_sequences(&mut self, temporary: bool) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        Ok(Statement::DropSequences { sequences: self.list(Self::table_name)?, if_exists, temporary })
    }

    /// One thing that is said of a sequence; false: something else follows.
    fn sequence_word(&mut self, said: &mut SequenceWords, alters: bool) -> Result<bool> {
        let twice = |known: bool, word: &str| match known {
            true => Err(Error::option_twice(word)),
            false => Ok(()),
        };
        if self.take_word("START") {
            let _ = self.take_word("WITH") || self.take_symbol("=");
            twice(said.start.is_some(), "START")?;
            said.start = Some(self.sequence_number()?);
        } else if self.take_word("INCREMENT") {
            let _ = self.take_word("BY") || self.take_symbol("=");
            twice(said.increment.is_some(), "INCREMENT")?;
            said.increment = Some(self.sequence_number()?);
        } else if let Some(bound) = self.sequence_bound("MINVALUE", "NOMINVALUE")? {
            twice(matches!(said.minimum, Some(SequenceBound::At(_))), "MINVALUE")?;
            said.minimum = Some(bound);
        } else if let Some(bound) = self.sequence_bound("MAXVALUE", "NOMAXVALUE")? {
            twice(matches!(said.maximum, Some(SequenceBound::At(_))), "MAXVALUE")?;
            said.maximum = Some(bound);
        } else if self.take_word("CACHE") {
            self.take_symbol("=");
            twice(said.cache.is_some(), "CACHE")?;
            said.cache = Some(self.sequence_number()?);
        } else if self.take_word("NOCACHE") {
            twice(said.cache.is_some(), "CACHE")?;
            said.cache = Some(0);
        } else if self.is_any_word(&["CYCLE", "NOCYCLE"]) {
            twice(said.cycles.is_some(), "CYCLE")?;
            said.cycles = Some(self.is_word("CYCLE"));
            self.advance();
        } else if alters && self.take_word("RESTART") {
            let says = self.take_word("WITH") || self.take_symbol("=");
            twice(said.restart.is_some(), "RESTART")?;
            let is_number = self.peek().kind == Kind::Integer || self.is_symbol("-") || self.is_symbol("+");
            said.restart = Some(match says || is_number {
                true => SequenceRestart::At(self.sequence_number()?),
                false => SequenceRestart::Start,
            });
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn sequence_bound(&mut self, word: &str, no_word: &str) -> Result<Option<SequenceBound>> {
        if self.take_words(&["NO", word]) || self.take_word(no_word) {
            return Ok(Some(SequenceBound::Usual));
        }
        if !self.take_word(word) {
            return Ok(None);
        }
        self.take_symbol("=");
        Ok(Some(SequenceBound::At(self.sequence_number()?)))
    }

    /// A number with its sign.
    pub(in crate::parser) fn sequence_number(&mut self) -> Result<i64> {
        let is_negative = self.take_symbol("-");
        if !is_negative {
            self.take_symbol("+");
        }
        let start = self.at;
        match i64::try_from(self.integer()?) {
            Ok(number) => Ok(if is_negative { -number } else { number }),
            Err(_) => {
                self.at = start;
                Err(self.unexpected())
            }
        }
    }
}
