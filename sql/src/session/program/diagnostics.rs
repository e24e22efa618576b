//! SIGNAL, RESIGNAL and GET DIAGNOSTICS.

use format::value::Value;

use super::run::{Run, state_of};
use crate::error::{Error, Level, Result, Warning};
use crate::expression::{Condition, Datum, Details};
use crate::parser::ast::{Computed, ConditionItem, Diagnosed, GetDiagnostics, Signal};
use crate::types::{Coercibility, TypeInfo};

/// Items that have a condition's own place and not one in the list of what was said.
fn is_own(item: ConditionItem) -> bool {
    matches!(item, ConditionItem::MessageText | ConditionItem::MysqlErrno)
}

/// Whether the standard defines a class, or a subclass, that begins like this.
fn is_standard(byte: u8) -> bool {
    matches!(byte, b'0'..=b'4' | b'A'..=b'H')
}

fn class_origin(state: &[u8; 5]) -> &'static str {
    if is_standard(state[0]) { "ISO 9075" } else { "MySQL" }
}

fn subclass_origin(state: &[u8; 5]) -> &'static str {
    match (is_standard(state[0]), state[2]) {
        (true, first) if is_standard(first) => "ISO 9075",
        (true, b'S') => "ODBC 3.0",
        _ => "MySQL",
    }
}

impl Run<'_, '_> {
    pub fn signal(&mut self, signal: &Signal) -> Result<()> {
        let mut items = Vec::new();
        for (item, value) in &signal.items {
            items.push((*item, self.item_value(*item, value)?));
        }
        let handled = self.session().programs.handled.borrow().last().cloned();
        let mut condition: Condition = match (signal.again, handled) {
            (true, None) => return Err(Error::resignal_outside()),
            (true, Some(handled)) => {
                let mut earlier = handled;
                let last = earlier.pop();
                let last = last.ok_or_else(Error::resignal_outside)?;
                self.session().warnings.replace(match signal.state {
                    // Another condition on top of the one that is handled.
                    Some(_) => earlier.into_iter().chain([last.clone()]).collect(),
                    None => earlier,
                });
                last
            }
            (false, _) => {
                self.session().warnings.clear();
                let details = Details { sqlstate: *b"45000", items: Vec::new() };
                (Warning { level: Level::Error, code: 1644, message: String::new() }, Some(Box::new(details)))
            }
        };
        let mut details = match condition.1.take() {
            Some(details) => details,
            None => Box::new(Details { sqlstate: state_of(&condition), items: Vec::new() }),
        };
        let warning = &mut condition.0;
        if let Some(state) = signal.state {
            details.sqlstate = state;
            let (level, code, message) = match &state[..2] {
                b"01" => (Level::Warning, 1642, "Unhandled user-defined warning condition"),
                b"02" => (Level::Error, 1643, "Unhandled user-defined not found condition"),
                _ => (Level::Error, 1644, "Unhandled user-defined exception condition"),
            };
            (warning.level, warning.code) = (level, code);
            // RESIGNAL keeps what it does not name.
            if warning.message.is_empty() {
                warning.message = message.to_owned();
            }
        }
        for (item, text) in items {
            match item {
                ConditionItem::MessageText => warning.message = text,
                ConditionItem::MysqlErrno => match text.parse::<u16>() {
                    Ok(code) if code > 0 => warning.code = code,
                    _ => return Err(Error::wrong_value_for_variable("MYSQL_ERRNO", &text)),
                },
                item => {
                    details.items.retain(|(known, _)| *known != item);
                    details.items.push((item, text));
                }
            }
        }
        let error = Error { code: warning.code, sqlstate: details.sqlstate, message: warning.message.clone() };
        let level = warning.level;
        self.session().warnings.push_detailed(condition.0, details);
        match level {
            Level::Error => Err(error),
            _ => Ok(()),
        }
    }

    fn item_value(&mut self, item: ConditionItem, value: &Computed) -> Result<String> {
        let (value, ty) = self.compute(value)?;
        if value.is_null() {
            return Err(Error::wrong_value_for_variable(item.name(), "NULL"));
        }
        let text = String::from_utf8_lossy(&Datum::from(value).into_text(&ty)).into_owned();
        let chars_max = if item == ConditionItem::MessageText { 128 } else { 64 };
        if text.chars().count() <= chars_max || item == ConditionItem::MysqlErrno {
            return Ok(text);
        }
        let error = Error::new(1648, b"22001", format!("Data too long for condition item '{}'", item.name()));
        if self.surroundings().mode.is_strict() {
            return Err(error);
        }
        Ok(text.chars().take(chars_max).collect())
    }

    pub fn get_diagnostics(&mut self, get: &GetDiagnostics) -> Result<()> {
        let conditions = match get.stacked {
            false => self.session().warnings.conditions(),
            true => {
                let handled = self.session().programs.handled.borrow();
                handled.last().cloned().ok_or_else(Error::stacked_outside)?
            }
        };
        match &get.what {
            Diagnosed::Statement(items) => {
                for (target, is_number) in items {
                    let number = match is_number {
                        true => conditions.len() as i64,
                        false => self.session().state.row_count.get(),
                    };
                    self.assign_to(target, Value::Int(number), &TypeInfo::bigint(20))?;
                }
            }
            Diagnosed::Condition { number, items } => {
                let number = match self.compute(number)?.0 {
                    Value::Int(number) => usize::try_from(number).unwrap_or(0),
                    Value::UInt(number) => number as usize,
                    Value::Bytes(text) => String::from_utf8_lossy(&text).trim().parse().unwrap_or(0),
                    _ => 0,
                };
                let condition = number.checked_sub(1).and_then(|at| conditions.get(at));
                // What asks for a condition that is not there says so, and the program goes on.
                let Some(condition) = condition else {
                    self.session().warnings.push_error(&Error::invalid_condition_number());
                    return Ok(());
                };
                for (target, item) in items {
                    let (value, ty) = told(condition, *item);
                    self.assign_to(target, value, &ty)?;
                }
            }
        }
        Ok(())
    }
}

/// What a condition tells.
fn told(condition: &Condition, item: ConditionItem) -> (Value, TypeInfo) {
    let text = |text: &str| {
        let collation = format::collation::CollationId::UTF8MB4_GENERAL_CI;
        (Value::Bytes(text.into()), TypeInfo::string(text.len() as u32, collation, Coercibility::Implicit))
    };
    let state = state_of(condition);
    let said = condition.1.iter().flat_map(|details| &details.items).find(|(known, _)| *known == item);
    match (item, said) {
        (item, Some((_, said))) if !is_own(item) => text(said),
        (ConditionItem::MysqlErrno, _) => (Value::Int(condition.0.code.into()), TypeInfo::bigint(20)),
        (ConditionItem::MessageText, _) => text(&condition.0.message),
        (ConditionItem::ReturnedSqlstate, _) => text(&String::from_utf8_lossy(&state)),
        (ConditionItem::ClassOrigin, _) => text(class_origin(&state)),
        (ConditionItem::SubclassOrigin, _) => text(subclass_origin(&state)),
        _ => text(""),
    }
}
