//! The procedures and functions of the schema sys that are programs of SQL. They are compiled in: no dictionary has them.
//!
//! They run with the rights of who calls them. What they set up is what `performance_schema` lets be set up: of anything else
//! its UPDATE warns.

use std::sync::Arc;

use format::collation::CollationId;
use storage::{Definition, DefinitionKind};

use super::{Origin, Routine};
use crate::parser::ast::{DataAccess, ProgramKind};
use crate::types::SqlMode;

/// Name, parameters, type of the result (empty for procedures), body.
type Written = (&'static str, &'static str, &'static str, &'static str);

/// The body of a procedure that sets up rows of a table, and says how many.
macro_rules! switch {
    ($table:literal, $set:literal, $which:literal, $done:literal, $what:literal) => {
        concat!(
            "BEGIN
  DECLARE row_total BIGINT;
  UPDATE performance_schema.",
            $table,
            " SET ",
            $set,
            " WHERE ",
            $which,
            ";
  SET row_total = ROW_COUNT();
  SELECT CONCAT('",
            $done,
            " ', row_total, ' ",
            $what,
            "', IF(row_total = 1, '', 's')) AS summary;
END"
        )
    };
}

const PROGRAMS: &[Written] = &[
    (
        "execute_prepared_stmt",
        "IN in_query LONGTEXT",
        "",
        "BEGIN
  IF in_query IS NULL OR LENGTH(in_query) < 4 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'The @sys.execute_prepared_stmt.sql must contain a query';
  END IF;
  SET @sys.execute_prepared_stmt.sql = in_query;
  PREPARE sys_prepared FROM @sys.execute_prepared_stmt.sql;
  EXECUTE sys_prepared;
  DEALLOCATE PREPARE sys_prepared;
  SET @sys.execute_prepared_stmt.sql = NULL;
END",
    ),
    (
        "table_exists",
        "IN in_db VARCHAR(64), IN in_table VARCHAR(64), \
         OUT out_exists ENUM('', 'BASE TABLE', 'VIEW', 'TEMPORARY', 'SEQUENCE', 'SYSTEM VIEW')",
        "",
        "BEGIN
  DECLARE is_temporary BOOLEAN DEFAULT FALSE;
  DECLARE CONTINUE HANDLER FOR 1050 SET is_temporary = TRUE;
  SET out_exists = IFNULL((SELECT TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = in_db AND TABLE_NAME = in_table
    LIMIT 1), '');
  IF EXISTS (SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = in_db)
    AND in_db NOT IN ('information_schema', 'performance_schema', 'sys', 'mysql') THEN
    SET @sys.table_exists.name = CONCAT(sys.quote_identifier(in_db), '.', sys.quote_identifier(in_table));
    SET @sys.table_exists.sql = CONCAT('CREATE TEMPORARY TABLE ', @sys.table_exists.name, ' (id INT)');
    PREPARE sys_exists FROM @sys.table_exists.sql;
    EXECUTE sys_exists;
    DEALLOCATE PREPARE sys_exists;
    IF is_temporary THEN
      SET out_exists = 'TEMPORARY';
    ELSE
      SET @sys.table_exists.sql = CONCAT('DROP TEMPORARY TABLE ', @sys.table_exists.name);
      PREPARE sys_exists FROM @sys.table_exists.sql;
      EXECUTE sys_exists;
      DEALLOCATE PREPARE sys_exists;
    END IF;
    SET @sys.table_exists.sql = NULL, @sys.table_exists.name = NULL;
  END IF;
END",
    ),
    (
        "create_synonym_db",
        "IN in_db_name VARCHAR(64), IN in_synonym VARCHAR(64)",
        "",
        "BEGIN
  DECLARE is_done BOOLEAN DEFAULT FALSE;
  DECLARE is_there BOOLEAN DEFAULT FALSE;
  DECLARE view_count INT DEFAULT 0;
  DECLARE table_text VARCHAR(64);
  DECLARE error_text TEXT;
  DECLARE tables_of CURSOR FOR SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = in_db_name;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_done = TRUE;
  SET is_there = EXISTS (SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = in_db_name);
  IF NOT is_there THEN
    SET error_text = CONCAT('Unknown database ', in_db_name);
    SIGNAL SQLSTATE '42000' SET MESSAGE_TEXT = error_text, MYSQL_ERRNO = 1049;
  END IF;
  SET is_there = EXISTS (SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = in_synonym);
  IF is_there THEN
    SET error_text = CONCAT('Can\\'t create database ', in_synonym, '; database exists');
    SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = error_text, MYSQL_ERRNO = 1007;
  END IF;
  CALL sys.execute_prepared_stmt(CONCAT('CREATE DATABASE ', sys.quote_identifier(in_synonym)));
  OPEN tables_of;
  each_table: LOOP
    FETCH tables_of INTO table_text;
    IF is_done THEN
      LEAVE each_table;
    END IF;
    CALL sys.execute_prepared_stmt(CONCAT('CREATE SQL SECURITY INVOKER VIEW ', sys.quote_identifier(in_synonym), '.',
      sys.quote_identifier(table_text), ' AS SELECT * FROM ', sys.quote_identifier(in_db_name), '.',
      sys.quote_identifier(table_text)));
    SET view_count = view_count + 1;
  END LOOP;
  CLOSE tables_of;
  SELECT CONCAT('Created ', view_count, ' view', IF(view_count = 1, '', 's'), ' in the ', sys.quote_identifier(in_synonym),
    ' database') AS summary;
END",
    ),
    (
        "ps_truncate_all_tables",
        "IN in_verbose BOOLEAN",
        "",
        "BEGIN
  DECLARE is_done BOOLEAN DEFAULT FALSE;
  DECLARE table_count INT DEFAULT 0;
  DECLARE table_text VARCHAR(64);
  DECLARE tables_of CURSOR FOR SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'performance_schema'
    AND (TABLE_NAME LIKE '%summary%' OR TABLE_NAME LIKE '%history%') ORDER BY TABLE_NAME;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_done = TRUE;
  -- Tables that nothing is counted in cannot be truncated.
  DECLARE CONTINUE HANDLER FOR 1044 SET table_count = table_count - 1;
  OPEN tables_of;
  each_table: LOOP
    FETCH tables_of INTO table_text;
    IF is_done THEN
      LEAVE each_table;
    END IF;
    IF in_verbose THEN
      SELECT CONCAT('Running: TRUNCATE TABLE performance_schema.', table_text) AS status;
    END IF;
    CALL sys.execute_prepared_stmt(CONCAT('TRUNCATE TABLE performance_schema.', sys.quote_identifier(table_text)));
    SET table_count = table_count + 1;
  END LOOP;
  CLOSE tables_of;
  SELECT CONCAT('Truncated ', table_count, ' tables') AS summary;
END",
    ),
    (
        "ps_setup_enable_consumer",
        "IN consumer VARCHAR(128)",
        "",
        switch!(
            "setup_consumers",
            "ENABLED = 'YES'",
            "NAME LIKE CONCAT('%', consumer, '%') AND ENABLED <> 'YES'",
            "Enabled",
            "consumer"
        ),
    ),
    (
        "ps_setup_disable_consumer",
        "IN consumer VARCHAR(128)",
        "",
        switch!(
            "setup_consumers",
            "ENABLED = 'NO'",
            "NAME LIKE CONCAT('%', consumer, '%') AND ENABLED <> 'NO'",
            "Disabled",
            "consumer"
        ),
    ),
    (
        "ps_setup_enable_instrument",
        "IN in_pattern VARCHAR(128)",
        "",
        switch!(
            "setup_instruments",
            "ENABLED = 'YES', TIMED = 'YES'",
            "NAME LIKE CONCAT('%', in_pattern, '%') AND (ENABLED <> 'YES' OR TIMED <> 'YES')",
            "Enabled",
            "instrument"
        ),
    ),
    (
        "ps_setup_disable_instrument",
        "IN in_pattern VARCHAR(128)",
        "",
        switch!(
            "setup_instruments",
            "ENABLED = 'NO', TIMED = 'NO'",
            "NAME LIKE CONCAT('%', in_pattern, '%') AND (ENABLED <> 'NO' OR TIMED <> 'NO')",
            "Disabled",
            "instrument"
        ),
    ),
    (
        "ps_setup_enable_thread",
        "IN in_connection_id BIGINT",
        "",
        switch!(
            "threads",
            "INSTRUMENTED = 'YES'",
            "PROCESSLIST_ID = in_connection_id AND INSTRUMENTED <> 'YES'",
            "Enabled",
            "thread"
        ),
    ),
    (
        "ps_setup_disable_thread",
        "IN in_connection_id BIGINT",
        "",
        switch!(
            "threads",
            "INSTRUMENTED = 'NO'",
            "PROCESSLIST_ID = in_connection_id AND INSTRUMENTED <> 'NO'",
            "Disabled",
            "thread"
        ),
    ),
    (
        "ps_setup_enable_background_threads",
        "",
        "",
        switch!(
            "threads",
            "INSTRUMENTED = 'YES'",
            "TYPE = 'BACKGROUND' AND INSTRUMENTED <> 'YES'",
            "Enabled",
            "background thread"
        ),
    ),
    (
        "ps_setup_disable_background_threads",
        "",
        "",
        switch!(
            "threads",
            "INSTRUMENTED = 'NO'",
            "TYPE = 'BACKGROUND' AND INSTRUMENTED <> 'NO'",
            "Disabled",
            "background thread"
        ),
    ),
    (
        "ps_setup_show_enabled_consumers",
        "",
        "",
        "BEGIN
  SELECT NAME AS enabled_consumers FROM performance_schema.setup_consumers WHERE ENABLED = 'YES' ORDER BY enabled_consumers;
END",
    ),
    (
        "ps_setup_show_disabled_consumers",
        "",
        "",
        "BEGIN
  SELECT NAME AS disabled_consumers FROM performance_schema.setup_consumers WHERE ENABLED = 'NO' ORDER BY disabled_consumers;
END",
    ),
    (
        "ps_setup_show_enabled_instruments",
        "",
        "",
        "BEGIN
  SELECT NAME AS enabled_instruments, TIMED AS timed FROM performance_schema.setup_instruments WHERE ENABLED = 'YES'
    ORDER BY enabled_instruments;
END",
    ),
    (
        "ps_setup_show_disabled_instruments",
        "",
        "",
        "BEGIN
  SELECT NAME AS disabled_instruments, TIMED AS timed FROM performance_schema.setup_instruments WHERE ENABLED = 'NO'
    ORDER BY disabled_instruments;
END",
    ),
    (
        "ps_setup_show_enabled",
        "IN in_show_instruments BOOLEAN, IN in_show_threads BOOLEAN",
        "",
        "BEGIN
  SELECT @@performance_schema AS performance_schema_enabled;
  SELECT CONCAT('\\'', USER, '\\'@\\'', HOST, '\\'') AS enabled_users FROM performance_schema.setup_actors WHERE ENABLED = 'YES'
    ORDER BY enabled_users;
  SELECT OBJECT_TYPE AS object_type, CONCAT(OBJECT_SCHEMA, '.', OBJECT_NAME) AS objects, ENABLED AS enabled, TIMED AS timed
    FROM performance_schema.setup_objects WHERE ENABLED = 'YES' ORDER BY object_type, objects;
  CALL sys.ps_setup_show_enabled_consumers();
  IF in_show_threads THEN
    SELECT IF(NAME = 'thread/sql/one_connection', CONCAT(PROCESSLIST_USER, '@', PROCESSLIST_HOST), REPLACE(NAME, 'thread/', ''))
      AS enabled_threads, TYPE AS thread_type FROM performance_schema.threads WHERE INSTRUMENTED = 'YES' ORDER BY enabled_threads;
  END IF;
  IF in_show_instruments THEN
    CALL sys.ps_setup_show_enabled_instruments();
  END IF;
END",
    ),
    (
        "ps_setup_show_disabled",
        "IN in_show_instruments BOOLEAN, IN in_show_threads BOOLEAN",
        "",
        "BEGIN
  SELECT @@performance_schema AS performance_schema_enabled;
  SELECT CONCAT('\\'', USER, '\\'@\\'', HOST, '\\'') AS disabled_users FROM performance_schema.setup_actors WHERE ENABLED = 'NO'
    ORDER BY disabled_users;
  SELECT OBJECT_TYPE AS object_type, CONCAT(OBJECT_SCHEMA, '.', OBJECT_NAME) AS objects, ENABLED AS enabled, TIMED AS timed
    FROM performance_schema.setup_objects WHERE ENABLED = 'NO' ORDER BY object_type, objects;
  CALL sys.ps_setup_show_disabled_consumers();
  IF in_show_threads THEN
    SELECT IF(NAME = 'thread/sql/one_connection', CONCAT(PROCESSLIST_USER, '@', PROCESSLIST_HOST), REPLACE(NAME, 'thread/', ''))
      AS disabled_threads, TYPE AS thread_type FROM performance_schema.threads WHERE INSTRUMENTED = 'NO' ORDER BY disabled_threads;
  END IF;
  IF in_show_instruments THEN
    CALL sys.ps_setup_show_disabled_instruments();
  END IF;
END",
    ),
    (
        "ps_is_account_enabled",
        "in_host VARCHAR(255), in_user VARCHAR(32)",
        "ENUM('YES', 'NO')",
        "BEGIN
  RETURN IF(EXISTS (SELECT 1 FROM performance_schema.setup_actors WHERE (HOST = '%' OR in_host LIKE HOST) AND (USER = '%' OR
    USER = in_user) AND ENABLED = 'YES'), 'YES', 'NO');
END",
    ),
    (
        "ps_is_consumer_enabled",
        "in_consumer VARCHAR(64)",
        "ENUM('YES', 'NO')",
        "BEGIN
  DECLARE needed TEXT;
  DECLARE text_of TEXT;
  IF NOT EXISTS (SELECT 1 FROM performance_schema.setup_consumers WHERE NAME = in_consumer) THEN
    SET text_of = CONCAT('Invalid argument error: ', IFNULL(in_consumer, 'NULL'), ' in function sys.ps_is_consumer_enabled.');
    SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = text_of, MYSQL_ERRNO = 3047;
  END IF;
  -- A consumer gets what those above it let through.
  SET needed = CONCAT_WS(',', 'global_instrumentation', in_consumer,
    IF(in_consumer LIKE 'events%', 'thread_instrumentation', NULL),
    IF(in_consumer LIKE 'events%history%', REPLACE(REPLACE(in_consumer, '_history_long', '_current'), '_history', '_current'),
      NULL));
  RETURN IF(EXISTS (SELECT 1 FROM performance_schema.setup_consumers WHERE FIND_IN_SET(NAME, needed) AND ENABLED = 'NO'), 'NO',
    'YES');
END",
    ),
    (
        "ps_is_instrument_default_enabled",
        "in_instrument VARCHAR(128)",
        "ENUM('YES', 'NO')",
        "BEGIN
  RETURN IFNULL((SELECT ENABLED FROM performance_schema.setup_instruments WHERE NAME = in_instrument), 'NO');
END",
    ),
    (
        "ps_is_instrument_default_timed",
        "in_instrument VARCHAR(128)",
        "ENUM('YES', 'NO')",
        "BEGIN
  RETURN IFNULL((SELECT TIMED FROM performance_schema.setup_instruments WHERE NAME = in_instrument), 'NO');
END",
    ),
    (
        "ps_is_thread_instrumented",
        "in_connection_id BIGINT UNSIGNED",
        "ENUM('YES', 'NO', 'UNKNOWN')",
        "BEGIN
  RETURN IF(in_connection_id IS NULL, NULL, IFNULL((SELECT INSTRUMENTED FROM performance_schema.threads
    WHERE PROCESSLIST_ID = in_connection_id LIMIT 1), 'UNKNOWN'));
END",
    ),
    (
        "ps_thread_account",
        "in_thread_id BIGINT UNSIGNED",
        "TEXT",
        "BEGIN
  RETURN (SELECT IF(TYPE = 'FOREGROUND', CONCAT(PROCESSLIST_USER, '@', PROCESSLIST_HOST), TYPE) FROM performance_schema.threads
    WHERE THREAD_ID = in_thread_id LIMIT 1);
END",
    ),
    (
        "sys_get_config",
        "in_variable_name VARCHAR(128), in_default_value VARCHAR(128)",
        "VARCHAR(128)",
        "BEGIN
  RETURN IFNULL((SELECT value FROM sys.sys_config WHERE variable = in_variable_name), in_default_value);
END",
    ),
];

/// A procedure or function of the schema, by its name in lower case.
pub fn program(kind: DefinitionKind, database: &str, name: &str) -> Option<Arc<Definition>> {
    if !database.eq_ignore_ascii_case("sys") {
        return None;
    }
    let is_function = kind == DefinitionKind::Function;
    let is_it = |written: &&Written| written.0 == name && written.2.is_empty() != is_function;
    let (name, parameters, returns, body) = PROGRAMS.iter().find(is_it)?;
    let origin = Origin {
        definer: ("root".into(), "localhost".into()),
        sql_mode: SqlMode::DEFAULT,
        client: CollationId::DEFAULT,
        connection: CollationId::DEFAULT,
        database: CollationId::DEFAULT,
        created_us: 0,
        altered_us: 0,
    };
    let routine = Routine {
        kind: if is_function { ProgramKind::Function } else { ProgramKind::Procedure },
        name: (*name).to_owned(),
        parameters: (*parameters).to_owned(),
        returns: (*returns).to_owned(),
        body: (*body).to_owned(),
        deterministic: false,
        access: if is_function { DataAccess::Reads } else { DataAccess::Modifies },
        as_invoker: true,
        comment: String::new(),
        origin,
    };
    Some(Arc::new(Definition {
        kind,
        database: "sys".into(),
        name: (*name).into(),
        table: "".into(),
        bytes: routine.encode(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_can_be_parsed() {
        for (name, _, returns, _) in PROGRAMS {
            let kind = if returns.is_empty() { DefinitionKind::Procedure } else { DefinitionKind::Function };
            let definition = program(kind, "sys", name).unwrap();
            let routine = Routine::decode(&definition.bytes).unwrap();
            routine.parse().unwrap_or_else(|error| panic!("{name}: {error:?}"));
            routine.parse_parameters().unwrap();
            assert_eq!(routine.parse_returns().unwrap().is_some(), !returns.is_empty(), "{name}");
        }
        assert!(program(DefinitionKind::Procedure, "d", "table_exists").is_none());
    }
}
