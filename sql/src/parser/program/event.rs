//! CREATE EVENT, ALTER EVENT: schedules, and what else stands around a body.

use super::ProgramScope;
use crate::error::Result;
use crate::parser::Parser;
use crate::parser::ast::*;

impl Parser<'_> {
    /// Behind the name.
    pub(super) fn create_event(
        &mut self,
        or_replace: bool,
        if_not_exists: bool,
        definer: Option<UserName>,
        name: TableName,
    ) -> Result<Statement> {
        self.expect_word("ON")?;
        self.expect_word("SCHEDULE")?;
        let schedule = self.schedule()?;
        let preserve = self.on_completion()?.unwrap_or(false);
        let status = self.event_status().unwrap_or(EventStatus::Enabled);
        let comment = if self.take_word("COMMENT") { self.text()? } else { String::new() };
        self.expect_word("DO")?;
        let (program, body_text) = self.event_body()?;
        Ok(Statement::CreateEvent(Box::new(CreateEvent {
            or_replace,
            if_not_exists,
            definer,
            name,
            schedule,
            preserve,
            status,
            comment,
            program,
            body_text,
        })))
    }

    /// Behind ALTER: an event, if it is one. Nothing is taken otherwise.
    pub(super) fn alter_event(&mut self) -> Result<Option<Statement>> {
        let start = self.at;
        let mut definer = None;
        if self.is_word("DEFINER") && self.is_symbol_at(1, "=") {
            self.at += 2;
            definer = Some(self.user_name()?);
        }
        if !self.take_word("EVENT") {
            self.at = start;
            return Ok(None);
        }
        let name = self.qualified_name()?;
        let behind_name = self.at;
        let mut schedule = None;
        if self.take_words(&["ON", "SCHEDULE"]) {
            schedule = Some(self.schedule()?);
        }
        let preserve = self.on_completion()?;
        let rename = if self.take_words(&["RENAME", "TO"]) { Some(self.qualified_name()?) } else { None };
        let status = self.event_status();
        let comment = if self.take_word("COMMENT") { Some(self.text()?) } else { None };
        let body = match self.is_word("DO") {
            true if self.program.is_some() => return Err(crate::error::Error::nested_event()),
            true => {
                self.advance();
                self.read_on();
                Some(self.event_body()?)
            }
            false => None,
        };
        if self.at == behind_name {
            return Err(self.unexpected());
        }
        Ok(Some(Statement::AlterEvent(Box::new(AlterEvent {
            definer,
            name,
            schedule,
            preserve,
            rename,
            status,
            comment,
            body,
        }))))
    }

    fn event_body(&mut self) -> Result<(Program, Vec<u8>)> {
        self.program = Some(Box::new(ProgramScope::new(ProgramKind::Event, None)));
        let start = self.peek().start;
        let body = self.step()?;
        let text = self.bytes_since(start);
        self.end_program()?;
        Ok((self.take_program(body)?, text))
    }

    fn schedule(&mut self) -> Result<ScheduleSpec> {
        if self.take_word("AT") {
            return Ok(ScheduleSpec::At(self.expr()?));
        }
        self.expect_word("EVERY")?;
        let amount = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.take_word("STARTS") { Some(self.expr()?) } else { None };
        let ends = if self.take_word("ENDS") { Some(self.expr()?) } else { None };
        Ok(ScheduleSpec::Every { amount, unit, starts, ends })
    }

    fn on_completion(&mut self) -> Result<Option<bool>> {
        if !self.take_words(&["ON", "COMPLETION"]) {
            return Ok(None);
        }
        let not = self.take_word("NOT");
        self.expect_word("PRESERVE")?;
        Ok(Some(!not))
    }

    fn event_status(&mut self) -> Option<EventStatus> {
        if self.take_word("ENABLE") {
            return Some(EventStatus::Enabled);
        }
        if !self.take_word("DISABLE") {
            return None;
        }
        let elsewhere = self.take_words(&["ON", "SLAVE"]) || self.take_words(&["ON", "REPLICA"]);
        Some(if elsewhere { EventStatus::DisabledOnReplica } else { EventStatus::Disabled })
    }
}
