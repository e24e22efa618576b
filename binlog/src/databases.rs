//! Which databases are logged: binlog_do_db and binlog_ignore_db.

/// See the module header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Databases {
    only: Vec<String>,
    not: Vec<String>,
}

impl Databases {
    /// `only`: binlog_do_db; if there are any, `not`, which is binlog_ignore_db, does not count. `None` = all are logged.
    pub fn new(only: Vec<String>, not: Vec<String>) -> Option<Databases> {
        (!only.is_empty() || !not.is_empty()).then_some(Databases { only, not })
    }

    /// Rows count by the database of their table, statements of definition by the current one, or the one that they
    /// are about. A statement without a database is logged.
    pub fn has(&self, database: Option<&str>) -> bool {
        let Some(database) = database else { return true };
        let among = |names: &[String]| names.iter().any(|name| name == database);
        if self.only.is_empty() { !among(&self.not) } else { among(&self.only) }
    }

    /// As SHOW MASTER STATUS shows them.
    pub fn shown(&self) -> (String, String) {
        (self.only.join(","), self.not.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_logged_or_else_what_is_not_ignored() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(Databases::new(Vec::new(), Vec::new()), None);
        let only = Databases::new(names(&["a", "b"]), names(&["a"])).unwrap();
        assert_eq!([Some("a"), Some("b"), Some("c"), None].map(|name| only.has(name)), [true, true, false, true]);
        let not = Databases::new(Vec::new(), names(&["a", "x,y"])).unwrap();
        assert_eq!([Some("a"), Some("b"), Some("x,y"), None].map(|name| not.has(name)), [false, true, false, true]);
        assert_eq!(only.shown(), ("a,b".to_owned(), "a".to_owned()));
    }
}
