//! SIGNAL, RESIGNAL and GET DIAGNOSTICS, which may stand outside of programs, too.

use crate::error::{Error, Result};
use crate::parser::Parser;
use crate::parser::ast::*;

impl Parser<'_> {
    pub(in crate::parser) fn signal(&mut self) -> Result<Signal> {
        let again = self.upper_word()? == "RESIGNAL";
        let mut state = None;
        if self.is_word("SQLSTATE") {
            state = Some(self.sqlstate()?);
        } else if self.is_name() && !self.is_word("SET") {
            let name = self.name()?;
            let found = match &self.program {
                Some(scope) => scope.find_condition(&name)?,
                None => return Err(Error::undefined_condition(&name)),
            };
            state = match found {
                HandledCondition::State(state) => Some(state),
                _ => return Err(Error::signal_needs_sqlstate()),
            };
        } else if !again {
            return Err(self.unexpected());
        }
        let mut items: Vec<(ConditionItem, Computed)> = Vec::new();
        if self.take_word("SET") {
            let set = self.list(|parser| {
                let item = parser.condition_item()?;
                if item == ConditionItem::ReturnedSqlstate {
                    return Err(parser.unexpected());
                }
                parser.expect_symbol("=")?;
                Ok((item, parser.computed()?))
            })?;
            for (item, value) in set {
                if items.iter().any(|(known, _)| *known == item) {
                    return Err(Error::duplicate_condition_item(item.name()));
                }
                items.push((item, value));
            }
        }
        Ok(Signal { again, state, items })
    }

    fn condition_item(&mut self) -> Result<ConditionItem> {
        let word = self.any_name()?;
        match ConditionItem::by_name(&word) {
            Some(item) => Ok(item),
            None => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    pub(in crate::parser) fn get_diagnostics(&mut self) -> Result<GetDiagnostics> {
        self.expect_word("GET")?;
        let stacked = self.take_any_word(&["CURRENT", "STACKED"]) == Some("STACKED");
        self.expect_word("DIAGNOSTICS")?;
        if self.take_word("CONDITION") {
            let number = self.computed_by(Self::simple_value)?;
            let items = self.list(|parser| {
                let target = parser.target_of_into()?;
                parser.expect_symbol("=")?;
                Ok((target, parser.condition_item()?))
            })?;
            return Ok(GetDiagnostics { stacked, what: Diagnosed::Condition { number, items } });
        }
        let items = self.list(|parser| {
            let target = parser.target_of_into()?;
            parser.expect_symbol("=")?;
            match parser.take_any_word(&["NUMBER", "ROW_COUNT"]) {
                Some(word) => Ok((target, word == "NUMBER")),
                None => Err(parser.unexpected()),
            }
        })?;
        Ok(GetDiagnostics { stacked, what: Diagnosed::Statement(items) })
    }
}
