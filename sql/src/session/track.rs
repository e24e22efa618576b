//! Session tracking: what of the session a client is told with the next OK, if it asked for that in the handshake.
//!
//! ```text
//! type  lenenc bytes  what
//!    0  lenenc name, lenenc value     a variable of session_track_system_variables was set
//!    1  lenenc name                   another database is the current one (session_track_schema)
//!    2  lenenc "1"                    something of the session changed (session_track_state_change)
//! ```

use format::packet::writer;

use super::Session;
use crate::variables;

/// What changed since the last OK.
#[derive(Default)]
pub(super) struct Changes {
    database: bool,
    state: bool,
    /// Own names of variables, in the order in which they were set.
    variables: Vec<&'static str>,
}

impl Session {
    /// The client reads session tracking.
    pub fn track_changes(&mut self) {
        self.tracked = Some(Default::default());
    }

    pub(super) fn database_changed(&self) {
        if let Some(changes) = &self.tracked {
            changes.borrow_mut().database = true;
        }
        self.state_changed();
    }

    /// User variables, temporary tables, prepared statements.
    pub(super) fn state_changed(&self) {
        if let Some(changes) = &self.tracked {
            changes.borrow_mut().state = true;
        }
    }

    pub(super) fn variable_changed(&self, name: &str) {
        if let Some(changes) = &self.tracked
            && let Some(variable) = variables::find(name)
        {
            let mut changes = changes.borrow_mut();
            changes.state = true;
            if !changes.variables.contains(&variable.name) {
                changes.variables.push(variable.name);
            }
        }
    }

    /// Takes what the client is to be told, encoded; empty if there is nothing.
    pub(super) fn take_changes(&self) -> Vec<u8> {
        let Some(changes) = &self.tracked else { return Vec::new() };
        let changes = std::mem::take(&mut *changes.borrow_mut());
        if !changes.state {
            return Vec::new();
        }
        let mut out = Vec::new();
        let text = |name: &str| {
            let value = self.variables.select(&self.instance.variables, name, false);
            let variable = variables::find(name).expect("a listed variable");
            value.map(|value| variable.kind.show(&value)).unwrap_or_default()
        };
        let mut put = |kind: u8, fields: &[&str]| {
            let mut data = Vec::new();
            for field in fields {
                writer::lenenc_bytes(&mut data, field.as_bytes());
            }
            out.push(kind);
            writer::lenenc_bytes(&mut out, &data);
        };
        let wanted = text("session_track_system_variables");
        let is_wanted = |name: &str| {
            wanted.split(',').map(str::trim).any(|wanted| wanted == "*" || wanted.eq_ignore_ascii_case(name))
        };
        for name in changes.variables.into_iter().filter(|name| is_wanted(name)) {
            put(0, &[name, &text(name)]);
        }
        if changes.database && text("session_track_schema") == "ON" {
            put(1, &[self.database().unwrap_or_default()]);
        }
        if text("session_track_state_change") == "ON" {
            put(2, &["1"]);
        }
        out
    }
}
