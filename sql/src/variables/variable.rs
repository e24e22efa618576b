//! One system variable.

use format::value::Value;

use super::kind::Kind;
use crate::error::Error;

/// Where a variable has values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// One value for the server.
    Global,
    /// One value for each session, none for the server.
    Session,
    /// A value for each session, which begins as the server's.
    Both,
}

/// A system variable: what is known about it without asking a server.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub name: &'static str,
    pub reach: Reach,
    pub kind: Kind,
    /// The default, as an option file would say it; `None` is NULL.
    pub default: Option<&'static str>,
    /// Whether SET may change it; if not, only options at start do, or nothing.
    pub dynamic: bool,
    /// Whether it may be given as an option at start.
    pub option: bool,
    /// The session computes its value when asked: `warning_count`, `timestamp`, ...
    pub computed: bool,
    /// Why setting it changes nothing here, if that is so.
    pub no_effect: Option<&'static str>,
    /// For `--help`.
    pub help: &'static str,
}

impl Variable {
    pub fn wrong_value(&self, value: &str) -> Error {
        Error::wrong_value_for_variable(self.name, value)
    }

    pub fn wrong_type(&self) -> Error {
        Error::wrong_type_for_variable(self.name)
    }

    pub(super) fn read_only(&self) -> Error {
        Error::wrong_kind_of_variable(self.name, "read only")
    }

    pub(super) fn default_value(&self) -> Value {
        match self.default {
            None => Value::Null,
            Some("") if self.kind == Kind::Text => Value::Bytes(Vec::new()),
            Some(text) => self.kind.parse(self, text).expect("defaults are valid").0,
        }
    }

    /// The warning for a value of a variable that does nothing here. What it says by default is so.
    pub(super) fn no_effect_of(&self, value: &Value) -> Option<Notice> {
        let is_so = match (value, &self.default_value()) {
            (Value::Bytes(value), Value::Bytes(default)) => value.eq_ignore_ascii_case(default),
            (value, default) => value == default,
        };
        self.no_effect_notice().filter(|_| !is_so)
    }

    /// The warning for setting a variable that does nothing here.
    pub fn no_effect_notice(&self) -> Option<Notice> {
        let reason = self.no_effect?;
        Some(Notice { code: 1618, message: format!("<{}> option ignored: {reason}", self.name) })
    }
}

/// Something to be said that is not an error: a warning of a SET statement or of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub code: u16,
    pub message: String,
}

impl Notice {
    /// ER_TRUNCATED_WRONG_VALUE
    pub(super) fn truncated(name: &str, value: &str) -> Self {
        Self { code: 1292, message: format!("Truncated incorrect {name} value: '{value}'") }
    }
}
