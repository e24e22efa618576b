//! Tables that are excluded, because the two servers no longer agree on them.
//!
//! A statement that one server refused and the other carried out leaves tables behind that differ. Whatever is
//! asked of them afterwards differs, too, and proves nothing: it is counted and not compared. A table is compared again
//! once both servers drop, create or empty it.

use std::collections::HashSet;

use super::statement::{Changes, Statement, TableName};

#[derive(Debug, Default)]
pub struct Apart {
    tables: HashSet<(String, String)>,
    databases: HashSet<String>,
}

impl Apart {
    /// Whether a statement names something that is set apart. `default` is the connection's database.
    pub fn touches(&self, statement: &Statement, default: &str) -> bool {
        if self.tables.is_empty() && self.databases.is_empty() {
            return false;
        }
        if let Changes::Database(name) = statement.changes() {
            return self.databases.contains(&name);
        }
        if statement.verb == "use" || statement.changes() == Changes::Anything {
            return true;
        }
        let named = statement.tables().into_iter().chain(statement.routines());
        named.into_iter().any(|name| {
            let name = &name;
            let (database, table) = key(name, default);
            self.databases.contains(&database) || self.tables.contains(&(database, table))
        })
    }

    /// One server carried the statement out and the other did not.
    pub fn set_apart(&mut self, changes: &Changes, default: &str) {
        match changes {
            Changes::Nothing => {}
            Changes::Rows(tables) | Changes::Definition(tables) => {
                self.tables.extend(tables.iter().map(|name| key(name, default)));
            }
            Changes::Database(name) => {
                self.databases.insert(name.clone());
            }
            Changes::Anything => {
                self.databases.insert(default.to_lowercase());
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
                self.tables.retain(|(database, _)| *database != name);
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
        apart.set_apart(&say("insert into t1 select * from t2").changes(), "test");
        assert!(apart.touches(&say("select * from t1"), "test"));
        assert!(apart.touches(&say("select * from test.T1"), "other"));
        assert!(apart.touches(&say("select 1 from t3 where a = (select max(a) from t1)"), "test"));
        assert!(!apart.touches(&say("select * from t2"), "test"), "it was only read");
        assert!(!apart.touches(&say("select * from t1"), "other"));
        assert!(apart.touches(&say("drop table t1"), "test"));
        apart.agreed(&say("insert into t1 values (1)"), "test");
        assert!(apart.touches(&say("select * from t1"), "test"), "what it held before still differs");
        apart.agreed(&say("drop table if exists t1"), "test");
        assert!(!apart.touches(&say("select * from t1"), "test"));
    }

    #[test]
    fn a_refused_call_sets_its_database_apart() {
        let mut apart = Apart::default();
        apart.set_apart(&Statement::new("call p()").changes(), "d");
        assert!(apart.touches(&Statement::new("select * from t1"), "d"));
        assert!(!apart.touches(&Statement::new("select * from t1"), "test"));
        apart.agreed(&Statement::new("drop database d"), "test");
        assert!(!apart.touches(&Statement::new("select * from t1"), "d"));
    }
}
