//! Tables that are excluded, because the two servers no longer agree on them.
//!
//! A statement that one server refused and the other carried out leaves tables behind that differ. Whatever is
//! asked of them afterwards differs, too, and proves nothing: it is counted and not compared. A table is compared again
//! once both servers drop, create or empty it.

use std::collections::HashMap;
use std::rc::Rc;

use super::statement::{Changes, Statement, TableName};

/// The statement by which something was set apart, as a report shows it.
pub type Cause = Rc<str>;

#[derive(Debug, Default)]
pub struct Apart {
    tables: HashMap<(String, String), Cause>,
    databases: HashMap<String, Cause>,
}

impl Apart {
    /// Whether a statement names something that is set apart, and by what that was. `default` is the connection's
    /// database.
    pub fn touches(&self, statement: &Statement, default: &str) -> Option<&Cause> {
        if self.tables.is_empty() && self.databases.is_empty() {
            return None;
        }
        if let Changes::Database(name) = statement.changes() {
            return self.databases.get(&name);
        }
        if statement.verb == "use" || statement.changes() == Changes::Anything {
            // A routine that was not made is missed by those only who call it.
            let tables = self.tables.iter().filter(|((_, table), _)| !table.ends_with("()")).map(|(_, cause)| cause);
            if let Some(cause) = self.databases.values().chain(tables).next() {
                return Some(cause);
            }
        }
        let named = statement.tables().into_iter().chain(statement.routines());
        named.into_iter().find_map(|name| {
            let key = key(&name, default);
            self.databases.get(&key.0).or_else(|| self.tables.get(&key))
        })
    }

    /// Whether a table is set apart already.
    pub fn has(&self, name: &TableName, default: &str) -> bool {
        let key = key(name, default);
        self.databases.contains_key(&key.0) || self.tables.contains_key(&key)
    }

    /// One server carried the statement out and the other did not.
    pub fn set_apart(&mut self, changes: &Changes, default: &str, cause: &Cause) {
        match changes {
            Changes::Nothing => {}
            Changes::Rows(tables) | Changes::Definition(tables) => {
                self.tables.extend(tables.iter().map(|name| (key(name, default), Rc::clone(cause))));
            }
            Changes::Database(name) => {
                self.databases.insert(name.clone(), Rc::clone(cause));
            }
            Changes::Anything => {
                self.databases.insert(default.to_lowercase(), Rc::clone(cause));
            }
        }
    }

    /// Both servers carried it out: what it makes anew or empties is the same on both again.
    pub fn agreed(&mut self, statement: &Statement, default: &str) {
        let anew = match statement.verb.as_str() {
            // What belongs to a table says nothing of its rows.
            _ if statement.has("index") || statement.has("trigger") => false,
            "drop" | "truncate" => true,
            "create" => !statement.has("exists"),
            // All of one table.
            "delete" => !statement.has("where") && !statement.has("limit") && statement.tables().len() == 1,
            _ => false,
        };
        match statement.changes() {
            Changes::Definition(tables) | Changes::Rows(tables) if anew => {
                for name in &tables {
                    self.tables.remove(&key(name, default));
                }
            }
            Changes::Database(name) if anew => {
                self.databases.remove(&name);
                self.tables.retain(|(database, _), _| *database != name);
            }
            _ => {}
        }
    }
}

/// The database and the table that a name means.
pub fn key(name: &TableName, default: &str) -> (String, String) {
    (name.database.clone().unwrap_or_else(|| default.to_lowercase()), name.table.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_statement_sets_its_tables_apart_until_both_drop_them() {
        let mut apart = Apart::default();
        let say = |text: &str| Statement::new(text);
        apart.set_apart(&say("insert into t1 select * from t2").changes(), "test", &"why".into());
        assert!(apart.touches(&say("select * from t1"), "test").is_some());
        assert_eq!(apart.touches(&say("select * from test.T1"), "other").map(|cause| &**cause), Some("why"));
        assert!(apart.touches(&say("select 1 from t3 where a = (select max(a) from t1)"), "test").is_some());
        assert!(apart.touches(&say("select * from t2"), "test").is_none(), "it was only read");
        assert!(apart.touches(&say("select * from t1"), "other").is_none());
        assert!(apart.touches(&say("drop table t1"), "test").is_some());
        apart.agreed(&say("insert into t1 values (1)"), "test");
        assert!(apart.touches(&say("select * from t1"), "test").is_some(), "what it held before still differs");
        apart.agreed(&say("delete from t1 where a = 1"), "test");
        assert!(apart.touches(&say("select * from t1"), "test").is_some());
        apart.agreed(&say("delete from t1"), "test");
        assert!(apart.touches(&say("select * from t1"), "test").is_none());
        apart.set_apart(&say("insert into t1 values (1)").changes(), "test", &"why".into());
        apart.agreed(&say("drop table if exists t1"), "test");
        assert!(apart.touches(&say("select * from t1"), "test").is_none());
    }

    #[test]
    fn a_routine_that_one_side_lacks_concerns_those_who_call_it() {
        let mut apart = Apart::default();
        let say = |text: &str| Statement::new(text);
        apart.set_apart(&say("create procedure p() begin end").changes(), "test", &"why".into());
        assert!(apart.touches(&say("call p()"), "test").is_some());
        assert!(apart.touches(&say("call q()"), "test").is_none());
        assert!(apart.touches(&say("execute s"), "test").is_none());
        apart.set_apart(&say("insert into t1 values (1)").changes(), "test", &"why".into());
        assert!(apart.touches(&say("call q()"), "test").is_some(), "who knows what it reads");
    }

    #[test]
    fn a_refused_call_sets_its_database_apart() {
        let mut apart = Apart::default();
        apart.set_apart(&Statement::new("call p()").changes(), "d", &"why".into());
        assert!(apart.touches(&Statement::new("select * from t1"), "d").is_some());
        assert!(apart.touches(&Statement::new("select * from t1"), "test").is_none());
        apart.agreed(&Statement::new("drop database d"), "test");
        assert!(apart.touches(&Statement::new("select * from t1"), "d").is_none());
    }
}
