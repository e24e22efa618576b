//! One session's values of variables.

use std::sync::Arc;

use format::collation::CollationId;
use format::value::Value;
use rustc_hash::FxHashMap;

use super::global::{self, GlobalVariables, Snapshot};
use super::list::LIST;
use super::names;
use super::settings::{self, Settings};
use super::switches;
use super::variable::{Notice, Reach, Variable};
use crate::error::Error;

/// A session's values: the server's at the time of login, and what the session set since.
#[derive(Debug, Clone)]
pub struct SessionVariables {
    base: Arc<Snapshot>,
    /// By index into the list.
    own: FxHashMap<u16, Value>,
    /// The values that statements depend on.
    pub settings: Settings,
}

impl PartialEq for SessionVariables {
    fn eq(&self, other: &SessionVariables) -> bool {
        Arc::ptr_eq(&self.base, &other.base) && self.own == other.own && self.settings == other.settings
    }
}

impl SessionVariables {
    pub fn new(globals: &GlobalVariables) -> Self {
        let base = globals.snapshot();
        let settings = base.settings.clone();
        Self { base, own: FxHashMap::default(), settings }
    }

    /// `SELECT @@name`, `SELECT @@SESSION.name`: variables of the server alone are read from it, but not if the
    /// statement says SESSION.
    pub fn select(&self, globals: &GlobalVariables, name: &str, says_session: bool) -> Result<Value, Error> {
        let index = names::index_of(name).ok_or_else(|| names::unknown(name))?;
        if LIST[index].reach != Reach::Global {
            return Ok(self.value(index).clone());
        }
        if says_session {
            return Err(Error::wrong_kind_of_variable(name, "GLOBAL"));
        }
        Ok(globals.value(index))
    }

    /// The session's text of a variable.
    pub fn text(&self, globals: &GlobalVariables, name: &str) -> String {
        self.select(globals, name, false).map(|value| settings::text(&value)).unwrap_or_default()
    }

    /// Whether statements are planned alike in a session with these.
    pub fn plans_like(&self, other: &SessionVariables) -> bool {
        let is_like = |index: usize| {
            let variable = &LIST[index];
            variable.reach == Reach::Global
                || self.value(index) == other.value(index)
                || settings::is_read_by_runs_alone(variable.name)
        };
        self.settings.plans_like(&other.settings)
            && match Arc::ptr_eq(&self.base, &other.base) {
                true => self.own.keys().chain(other.own.keys()).all(|index| is_like(usize::from(*index))),
                false => (0..LIST.len()).all(is_like),
            }
    }

    fn value(&self, index: usize) -> &Value {
        self.own.get(&(index as u16)).unwrap_or(&self.base.values[index])
    }

    /// `SET [SESSION] name = value`. What SET TRANSACTION and SET NAMES do goes through here too.
    pub fn set(&mut self, name: &str, given: &Value) -> Result<Vec<Notice>, Error> {
        let (index, variable) = settable(name)?;
        let given = &switches::completed(variable, self.value(index), given)?;
        let (value, notice) = variable.kind.accept(variable, given)?;
        let value = Settings::check(variable, value)?;
        let no_effect = variable.no_effect_of(&value);
        let brought = settings::collation_brought(variable.name, &value, self.settings.utf8mb4_collation);
        if let Some((partner, collation)) = brought {
            self.fill_in(partner, collation);
        }
        self.store(index, value);
        Ok(notice.into_iter().chain(no_effect).collect())
    }

    /// Whether [`SessionVariables::set`] takes a value.
    pub fn check(&self, name: &str, given: &Value) -> Result<(), Error> {
        let (index, variable) = settable(name)?;
        let given = &switches::completed(variable, self.value(index), given)?;
        let (value, _) = variable.kind.accept(variable, given)?;
        Settings::check(variable, value).map(|_| ())
    }

    /// `SET [SESSION] name = DEFAULT`: the server's value.
    pub fn set_default(&mut self, globals: &GlobalVariables, name: &str) -> Result<Vec<Notice>, Error> {
        let (index, variable) = settable(name)?;
        let value = match variable.reach {
            Reach::Session => variable.default_value(),
            _ => globals.value(index),
        };
        self.store(index, value);
        Ok(Vec::new())
    }

    /// The collation that columns of text are said to have: the variable itself knows no more than the character set.
    pub fn set_results_collation(&mut self, id: CollationId) {
        self.settings.character_set_results = Some(id);
    }

    /// The collation of a client that said this one at login.
    pub fn clients_collation(&self, said: u16) -> u16 {
        let asks = names::index_of("character_set_client_handshake").expect("a listed variable");
        match settings::on(&self.base.values[asks]) {
            true => said,
            false => self.settings.collation_server.0,
        }
    }

    /// The server sets a variable that SET may not: the character set of the current database.
    pub fn fill_in(&mut self, name: &str, value: Value) {
        let index = names::index_of(name).expect("a listed variable");
        self.store(index, value);
    }

    /// These variables have again the values that they had.
    pub fn take_back(&mut self, names: &[&str], from: &SessionVariables) {
        for name in names {
            let index = names::index_of(name).expect("a listed variable");
            if self.value(index) != from.value(index) {
                self.store(index, from.value(index).clone());
            }
        }
    }

    fn store(&mut self, index: usize, value: Value) {
        let name = LIST[index].name;
        self.settings.take_over(name, &value);
        for (partner, derived) in global::partners(name, &self.settings, &value) {
            let partner = names::index_of(partner).expect("partners are listed");
            self.own.insert(partner as u16, derived);
        }
        self.own.insert(index as u16, value);
    }

    /// Those that a session has values of its own of, with these.
    pub fn show_own(&self) -> Vec<(&'static str, String)> {
        let names = names::all_names().iter().filter(|(_, index)| LIST[*index as usize].reach != Reach::Global);
        names.map(|&(name, index)| (name, LIST[index as usize].kind.show(self.value(index as usize)))).collect()
    }

    /// `SHOW SESSION VARIABLES`: names in order, aliases included, and values as text.
    pub fn show(&self, globals: &GlobalVariables) -> Vec<(&'static str, String)> {
        let now = globals.snapshot();
        names::all_names()
            .iter()
            .map(|&(name, index)| {
                let index = index as usize;
                let value = match LIST[index].reach {
                    Reach::Global => &now.values[index],
                    _ => self.value(index),
                };
                (name, LIST[index].kind.show(value))
            })
            .collect()
    }
}

fn settable(name: &str) -> Result<(usize, &'static Variable), Error> {
    let index = names::index_of(name).ok_or_else(|| names::unknown(name))?;
    let variable = &LIST[index];
    if !variable.dynamic {
        return Err(variable.read_only());
    }
    if variable.reach == Reach::Global {
        return Err(Error::global_variable(variable.name));
    }
    if matches!(variable.name, "max_allowed_packet" | "max_user_connections" | "net_buffer_length") {
        return Err(Error::read_only_in_sessions(variable.name));
    }
    Ok((index, variable))
}

#[cfg(test)]
mod tests {
    use storage::Isolation;

    use crate::types::SqlMode;

    use super::super::kind::Kind;
    use super::*;

    fn bytes(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn a_session_keeps_its_own_values() {
        let globals = GlobalVariables::new();
        let mut session = SessionVariables::new(&globals);
        assert!(session.settings.sql_mode.has(SqlMode::STRICT_TRANS_TABLES));
        session.set("sql_mode", &bytes("")).unwrap();
        session.set("tx_isolation", &bytes("SERIALIZABLE")).unwrap();
        session.set("AUTOCOMMIT", &Value::Int(0)).unwrap();
        assert_eq!(session.settings.sql_mode, SqlMode(0));
        assert_eq!(session.settings.isolation, Isolation::Serializable);
        assert!(!session.settings.autocommit);
        assert_eq!(session.select(&globals, "autocommit", true), Ok(Value::Int(0)));
        assert_eq!(globals.select("autocommit"), Ok(Value::Int(1)));
        session.set_default(&globals, "autocommit").unwrap();
        assert!(session.settings.autocommit);
    }

    #[test]
    fn a_global_variable_is_read_live_and_not_set() {
        let globals = GlobalVariables::new();
        let mut session = SessionVariables::new(&globals);
        globals.set("max_connections", &Value::Int(7)).unwrap();
        assert_eq!(session.select(&globals, "max_connections", false), Ok(Value::UInt(7)));
        assert_eq!(session.select(&globals, "max_connections", true).unwrap_err().code, 1238);
        assert_eq!(session.set("max_connections", &Value::Int(8)).unwrap_err().code, 1229);
    }

    /// Both lists of what plans do not depend on have the same variables: `READ_BY_RUNS_ALONE` and what
    /// `Settings::plans_like` leaves out.
    #[test]
    fn plans_depend_on_the_same_variables_by_name_and_by_setting() {
        let globals = GlobalVariables::new();
        let texts = ["latin1", "latin1_bin", "+01:00", "READ-COMMITTED", "de_DE", "MyISAM", ""];
        let numbers = [0, 1, 2, 3, 100, 4096, 1 << 20];
        let (mut alike, mut others) = (0, 0);
        for variable in LIST.iter().filter(|variable| variable.reach != Reach::Global) {
            let candidates: Vec<Value> = match &variable.kind {
                Kind::Bool | Kind::Integer { .. } => numbers.map(Value::Int).to_vec(),
                Kind::Real { .. } => [0.0, 1.0, 7.5].map(Value::Double).to_vec(),
                Kind::Enumeration(names) | Kind::Set(names) => names.iter().map(|name| bytes(name)).collect(),
                Kind::Switches => vec![bytes("semijoin=off"), bytes("index_merge=off")],
                Kind::Text => texts.map(bytes).to_vec(),
            };
            for value in candidates {
                let (before, mut after) = (SessionVariables::new(&globals), SessionVariables::new(&globals));
                if after.set(variable.name, &value).is_err() || after.settings == before.settings {
                    continue;
                }
                let by_name = settings::is_read_by_runs_alone(variable.name);
                assert_eq!(after.settings.plans_like(&before.settings), by_name, "{} = {value:?}", variable.name);
                match by_name {
                    true => alike += 1,
                    false => others += 1,
                }
            }
        }
        assert!(alike > 10 && others > 50, "{alike} and {others} values were looked at");
    }

    #[test]
    fn results_may_have_no_character_set() {
        let globals = GlobalVariables::new();
        let mut session = SessionVariables::new(&globals);
        session.set("character_set_results", &Value::Null).unwrap();
        assert_eq!(session.settings.character_set_results, None);
        session.set("character_set_results", &bytes("latin1")).unwrap();
        assert!(session.settings.character_set_results.is_some());
        assert_eq!(session.set("character_set_results", &bytes("no")).unwrap_err().code, 1115);
    }
}
