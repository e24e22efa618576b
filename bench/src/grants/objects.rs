//! What there is to be used: the databases with their tables, views, routines, triggers and events, and how a case is undone.

/// Accounts that get grants; the last one gets few, and none of the roles: it is the definer of some objects.
pub const USERS: [&str; 3] = ["u0", "u1", "u2"];
/// Roles; the second one may have the first.
pub const ROLES: [&str; 2] = ["r0", "r1"];
pub const DATABASES: [&str; 3] = ["gone", "gtwo", "other"];

/// Who has made an object with this ending, and with whose rights it runs: `d` and `i` are root's, `u` is an account's that
/// has few rights.
const MADE: [(char, &str, &str); 3] =
    [('d', "root@localhost", "DEFINER"), ('i', "root@localhost", "INVOKER"), ('u', "u2@localhost", "DEFINER")];

/// All databases, as before any case.
pub fn objects() -> Vec<String> {
    // A case that went wrong may have made a table of one database the child of another's.
    let mut statements = vec!["SET foreign_key_checks = 0".to_owned()];
    for database in DATABASES {
        statements.push(format!("DROP DATABASE IF EXISTS {database}"));
        statements.push(format!("CREATE DATABASE {database}"));
        for table in ["t", "s"] {
            statements.push(format!(
                "CREATE TABLE {database}.{table} (a INT PRIMARY KEY DEFAULT 0, b INT UNIQUE, c INT UNIQUE) ENGINE = InnoDB"
            ));
            statements.push(format!("INSERT INTO {database}.{table} VALUES (9, 9, 9)"));
        }
        for (ending, ..) in MADE {
            statements.push(view(database, &format!("v{ending}")));
            statements.push(routine(database, "PROCEDURE", &format!("p{ending}")));
            statements.push(routine(database, "FUNCTION", &format!("f{ending}")));
        }
        statements.push(view(database, "wi"));
        statements.extend(["tr", "tn", "te"].map(|name| trigger(database, name)));
        statements.push(event(database));
    }
    statements
}

/// The statement that makes a view: `v` and the ending of who has made it, over a table; or `wi`, over the view `vi`.
pub fn view(database: &str, name: &str) -> String {
    if name == "wi" {
        return format!(
            "CREATE OR REPLACE SQL SECURITY INVOKER VIEW {database}.wi AS SELECT a, b, c FROM {database}.vi"
        );
    }
    let (_, definer, security) = made(name);
    format!(
        "CREATE OR REPLACE DEFINER = {definer} SQL SECURITY {security} VIEW {database}.{name} AS \
         SELECT a, b, c FROM {database}.t"
    )
}

/// The statement that makes a routine, named as a view.
pub fn routine(database: &str, kind: &str, name: &str) -> String {
    let (_, definer, security) = made(name);
    match kind {
        "PROCEDURE" => format!(
            "CREATE DEFINER = {definer} PROCEDURE {database}.{name}() SQL SECURITY {security} \
             SELECT MAX(b) FROM {database}.t INTO @found"
        ),
        _ => format!(
            "CREATE DEFINER = {definer} FUNCTION {database}.{name}() RETURNS INT READS SQL DATA \
             SQL SECURITY {security} RETURN (SELECT MAX(b) FROM {database}.t)"
        ),
    }
}

/// The statement that makes a trigger: `tr` reads another table, `tn` assigns NEW and `te` reads OLD, with few rights.
pub fn trigger(database: &str, name: &str) -> String {
    match name {
        "tr" => format!(
            "CREATE TRIGGER {database}.tr BEFORE INSERT ON {database}.s FOR EACH ROW \
             SET @found = (SELECT MAX(b) FROM {database}.t)"
        ),
        "tn" => format!(
            "CREATE DEFINER = u2@localhost TRIGGER {database}.tn BEFORE UPDATE ON {database}.s FOR EACH ROW SET NEW.c = 5"
        ),
        _ => format!(
            "CREATE DEFINER = u2@localhost TRIGGER {database}.te BEFORE DELETE ON {database}.s FOR EACH ROW \
             SET @found = OLD.b"
        ),
    }
}

pub fn event(database: &str) -> String {
    format!("CREATE EVENT {database}.e ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01' DO DO 1")
}

fn made(name: &str) -> (char, &'static str, &'static str) {
    MADE.into_iter().find(|(ending, ..)| name.ends_with(*ending)).unwrap_or(MADE[0])
}
