//! The names that performance_schema gives to statements: `statement/sql/select`. They follow from the first words of a
//! digest's text.

macro_rules! name {
    ($name:literal) => {
        concat!("statement/sql/", $name)
    };
}

/// Beginnings of digests. The first that fits holds, so longer ones come first.
const BEGINNINGS: &[(&str, &str)] = &[
    ("ROLLBACK WORK TO", name!("rollback_to_savepoint")),
    ("SHOW CREATE TABLE", name!("show_create_table")),
    ("SHOW GLOBAL VARIABLES", name!("show_variables")),
    ("SHOW SESSION VARIABLES", name!("show_variables")),
    ("SHOW GLOBAL STATUS", name!("show_status")),
    ("SHOW SESSION STATUS", name!("show_status")),
    ("SHOW TABLE STATUS", name!("show_table_status")),
    ("SHOW FULL PROCESSLIST", name!("show_processlist")),
    ("SHOW FULL COLUMNS", name!("show_fields")),
    ("SHOW REPLICA STATUS", name!("show_replica_status")),
    ("SHOW SLAVE STATUS", name!("show_replica_status")),
    ("SHOW BINARY LOGS", name!("show_binlogs")),
    ("SHOW BINARY LOG", name!("show_binary_log_status")),
    ("SHOW CREATE USER", name!("show_create_user")),
    ("SHOW CREATE DATABASE", name!("show_create_db")),
    ("( SELECT", name!("select")),
    ("START TRANSACTION", name!("begin")),
    ("ROLLBACK TO", name!("rollback_to_savepoint")),
    ("SET PASSWORD", name!("set_password")),
    ("SET ROLE", name!("set_role")),
    ("SHOW VARIABLES", name!("show_variables")),
    ("SHOW STATUS", name!("show_status")),
    ("SHOW TABLES", name!("show_tables")),
    ("SHOW DATABASES", name!("show_databases")),
    ("SHOW WARNINGS", name!("show_warnings")),
    ("SHOW ERRORS", name!("show_errors")),
    ("SHOW PROCESSLIST", name!("show_processlist")),
    ("SHOW ENGINE", name!("show_engine_status")),
    ("SHOW GRANTS", name!("show_grants")),
    ("SHOW COLUMNS", name!("show_fields")),
    ("SHOW FIELDS", name!("show_fields")),
    ("SHOW INDEX", name!("show_keys")),
    ("SHOW KEYS", name!("show_keys")),
    ("XA START", name!("xa_start")),
    ("XA BEGIN", name!("xa_start")),
    ("XA END", name!("xa_end")),
    ("XA PREPARE", name!("xa_prepare")),
    ("XA COMMIT", name!("xa_commit")),
    ("XA ROLLBACK", name!("xa_rollback")),
    ("RENAME USER", name!("rename_user")),
    ("LOCK INSTANCE", name!("lock_instance")),
    ("UNLOCK INSTANCE", name!("unlock_instance")),
    ("INSTALL PLUGIN", name!("install_plugin")),
    ("UNINSTALL PLUGIN", name!("uninstall_plugin")),
    ("SHOW PRIVILEGES", name!("show_privileges")),
    ("SHOW ENGINES", name!("show_storage_engines")),
    ("SHOW PLUGINS", name!("show_plugins")),
    ("SHOW TRIGGERS", name!("show_triggers")),
    ("SHOW EVENTS", name!("show_events")),
    ("SHOW COLLATION", name!("show_collations")),
    ("SHOW CHARACTER", name!("show_charsets")),
    ("SHOW PROCEDURE", name!("show_procedure_status")),
    ("SHOW FUNCTION", name!("show_function_status")),
    ("SELECT", name!("select")),
    ("WITH", name!("select")),
    ("INSERT", name!("insert")),
    ("UPDATE", name!("update")),
    ("DELETE", name!("delete")),
    ("REPLACE", name!("replace")),
    ("COMMIT", name!("commit")),
    ("BEGIN", name!("begin")),
    ("ROLLBACK", name!("rollback")),
    ("SAVEPOINT", name!("savepoint")),
    ("RELEASE", name!("release_savepoint")),
    ("SET", name!("set_option")),
    ("USE", name!("change_db")),
    ("SHOW", name!("show")),
    ("TRUNCATE", name!("truncate")),
    ("GRANT", name!("grant")),
    ("REVOKE", name!("revoke")),
    ("LOCK", name!("lock_tables")),
    ("UNLOCK", name!("unlock_tables")),
    ("FLUSH", name!("flush")),
    ("KILL", name!("kill")),
    ("ANALYZE", name!("analyze")),
    ("CHECK", name!("check")),
    ("CHECKSUM", name!("checksum")),
    ("OPTIMIZE", name!("optimize")),
    ("REPAIR", name!("repair")),
    ("PREPARE", name!("prepare_sql")),
    ("EXECUTE", name!("execute_sql")),
    ("DEALLOCATE", name!("dealloc_sql")),
    ("EXPLAIN", name!("explain_other")),
    ("DESCRIBE", name!("show_fields")),
    ("DESC", name!("show_fields")),
    ("DO", name!("do")),
    ("XA", name!("xa_recover")),
    ("CHANGE", name!("change_replication_source")),
    ("START", name!("replica_start")),
    ("STOP", name!("replica_stop")),
    ("RESET", name!("reset")),
    ("PURGE", name!("purge")),
    ("BINLOG", name!("binlog")),
    ("CLONE", name!("clone")),
    ("CALL", name!("call_procedure")),
    ("VALUES", name!("select")),
    ("TABLE", name!("select")),
    ("LOAD", name!("load")),
    ("SIGNAL", name!("signal")),
    ("RESIGNAL", name!("resignal")),
    ("GET", name!("get_diagnostics")),
    ("RENAME", name!("rename_table")),
    ("SHUTDOWN", name!("shutdown")),
    ("RESTART", name!("restart")),
];

/// What CREATE makes, by the first of these words behind it.
const CREATES: &[(&str, &str)] = &[
    ("TABLE", name!("create_table")),
    ("TEMPORARY", name!("create_table")),
    ("DATABASE", name!("create_db")),
    ("SCHEMA", name!("create_db")),
    ("USER", name!("create_user")),
    ("ROLE", name!("create_role")),
    ("VIEW", name!("create_view")),
    ("PROCEDURE", name!("create_procedure")),
    ("FUNCTION", name!("create_function")),
    ("TRIGGER", name!("create_trigger")),
    ("EVENT", name!("create_event")),
    ("INDEX", name!("create_index")),
    ("SERVER", name!("create_server")),
];

/// What ALTER changes.
const ALTERS: &[(&str, &str)] = &[
    ("TABLE", name!("alter_table")),
    ("TEMPORARY", name!("alter_table")),
    ("DATABASE", name!("alter_db")),
    ("SCHEMA", name!("alter_db")),
    ("USER", name!("alter_user")),
    ("VIEW", name!("alter_view")),
    ("PROCEDURE", name!("alter_procedure")),
    ("FUNCTION", name!("alter_function")),
    ("EVENT", name!("alter_event")),
    ("SERVER", name!("alter_server")),
    ("INSTANCE", name!("alter_instance")),
];

/// What DROP drops.
const DROPS: &[(&str, &str)] = &[
    ("PREPARE", name!("dealloc_sql")),
    ("TABLE", name!("drop_table")),
    ("TEMPORARY", name!("drop_table")),
    ("DATABASE", name!("drop_db")),
    ("SCHEMA", name!("drop_db")),
    ("USER", name!("drop_user")),
    ("ROLE", name!("drop_role")),
    ("VIEW", name!("drop_view")),
    ("PROCEDURE", name!("drop_procedure")),
    ("FUNCTION", name!("drop_function")),
    ("TRIGGER", name!("drop_trigger")),
    ("EVENT", name!("drop_event")),
    ("INDEX", name!("drop_index")),
    ("SERVER", name!("drop_server")),
];

const INSERT_SELECT: &str = name!("insert_select");
const REPLACE_SELECT: &str = name!("replace_select");
/// For texts that begin like no statement.
const ERROR: &str = name!("error");
/// For statements whose digest found no place.
pub const UNKNOWN: &str = "statement/abstract/Query";

/// The name of statements with this digest.
pub fn event_name(digest_text: &str) -> &'static str {
    let begins = |prefix: &str| {
        digest_text
            .strip_prefix(prefix)
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
    };
    // Names are in backquotes, so that a word that stands alone is no name.
    let named_in = |objects: &[(&str, &'static str)]| {
        let mut words = digest_text.split(' ').skip(1);
        words.find_map(|word| objects.iter().find(|(object, _)| *object == word)).map_or(ERROR, |(_, name)| *name)
    };
    for (verb, objects) in [("CREATE", CREATES), ("ALTER", ALTERS), ("DROP", DROPS)] {
        if begins(verb) {
            return named_in(objects);
        }
    }
    let name = BEGINNINGS.iter().find(|(prefix, _)| begins(prefix)).map_or(ERROR, |(_, name)| *name);
    match digest_text.contains(" SELECT ") {
        true if name == name!("insert") => INSERT_SELECT,
        true if name == name!("replace") => REPLACE_SELECT,
        _ => name,
    }
}

/// All names, sorted.
pub fn event_names() -> Vec<&'static str> {
    let lists = [BEGINNINGS, CREATES, ALTERS, DROPS];
    let mut names: Vec<&'static str> = lists.iter().flat_map(|list| list.iter().map(|(_, name)| *name)).collect();
    names.extend([INSERT_SELECT, REPLACE_SELECT, ERROR, UNKNOWN]);
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_named_by_its_first_words() {
        for (digest, name) in [
            ("SELECT ?", "select"),
            ("SELECTED", "error"),
            ("INSERT INTO `t` SELECT ? FROM `u`", "insert_select"),
            ("SHOW CREATE TABLE `t`", "show_create_table"),
            ("SHOW SOMETHING", "show"),
            ("DESC `t`", "show_fields"),
            ("ROLLBACK", "rollback"),
            ("ROLLBACK TO `a`", "rollback_to_savepoint"),
            ("CREATE OR REPLACE VIEW `v` AS SELECT ?", "create_view"),
            ("CREATE DEFINER = `a` @ `b` PROCEDURE `p` ( )", "create_procedure"),
            ("CREATE UNIQUE INDEX `i` ON `t` ( `a` )", "create_index"),
            ("CREATE TEMPORARY TABLE `t` ( `a` INT )", "create_table"),
            ("DROP PREPARE `s`", "dealloc_sql"),
            ("CREATE NONSENSE", "error"),
            ("CALL `p` ( )", "call_procedure"),
            ("", "error"),
        ] {
            assert_eq!(event_name(digest), format!("statement/sql/{name}"), "{digest}");
        }
    }

    #[test]
    fn no_beginning_is_hidden_by_a_shorter_one() {
        for (at, (prefix, name)) in BEGINNINGS.iter().enumerate() {
            assert_eq!(event_name(prefix), *name, "{at}: {prefix}");
        }
    }
}
