//! The queries of the views of `sys`.

/// A view; if its text has values in braces, it has a twin that shows them as they are.
pub struct BuiltIn {
    pub name: &'static str,
    /// `{t:...}` is a time in picoseconds, `{b:...}` a number of bytes, `{s:...}` a statement, `{p:...}` a path. What a
    /// view reads comes before it.
    pub text: &'static str,
}

pub const VIEWS: &[BuiltIn] = &[
    BuiltIn {
        name: "host_summary",
        text: "SELECT IFNULL(who.HOST, 'background') AS host, IFNULL(done.total, 0) AS statements, {t:IFNULL(done.latency, \
         0)} AS statement_latency, {t:IFNULL(done.latency / done.total, 0)} AS statement_avg_latency, \
         IFNULL(done.scans, 0) AS table_scans, NULL AS file_ios, NULL AS file_io_latency, who.CURRENT_CONNECTIONS AS \
         current_connections, who.TOTAL_CONNECTIONS AS total_connections, (SELECT COUNT(DISTINCT account.USER) FROM \
         performance_schema.accounts AS account WHERE account.HOST = who.HOST) AS unique_users, NULL AS \
         current_memory, NULL AS total_memory_allocated FROM performance_schema.hosts AS who LEFT JOIN (SELECT HOST, \
         SUM(COUNT_STAR) AS total, SUM(SUM_TIMER_WAIT) AS latency, SUM(SUM_NO_INDEX_USED) AS scans FROM \
         performance_schema.events_statements_summary_by_host_by_event_name GROUP BY HOST) AS done ON done.HOST = \
         who.HOST ORDER BY done.latency DESC",
    },
    BuiltIn {
        name: "host_summary_by_statement_latency",
        text: "SELECT IFNULL(HOST, 'background') AS host, SUM(COUNT_STAR) AS total, {t:SUM(SUM_TIMER_WAIT)} AS \
         total_latency, {t:MAX(MAX_TIMER_WAIT)} AS max_latency, {t:SUM(SUM_LOCK_TIME)} AS lock_latency, \
         {t:SUM(SUM_CPU_TIME)} AS cpu_latency, SUM(SUM_ROWS_SENT) AS rows_sent, SUM(SUM_ROWS_EXAMINED) AS \
         rows_examined, SUM(SUM_ROWS_AFFECTED) AS rows_affected, SUM(SUM_NO_INDEX_USED) + SUM(SUM_NO_GOOD_INDEX_USED) \
         AS full_scans FROM performance_schema.events_statements_summary_by_host_by_event_name GROUP BY HOST ORDER BY \
         SUM(SUM_TIMER_WAIT) DESC",
    },
    BuiltIn {
        name: "host_summary_by_statement_type",
        text: "SELECT IFNULL(HOST, 'background') AS host, SUBSTRING_INDEX(EVENT_NAME, '/', -1) AS statement, COUNT_STAR AS \
         total, {t:SUM_TIMER_WAIT} AS total_latency, {t:MAX_TIMER_WAIT} AS max_latency, {t:SUM_LOCK_TIME} AS \
         lock_latency, {t:SUM_CPU_TIME} AS cpu_latency, SUM_ROWS_SENT AS rows_sent, SUM_ROWS_EXAMINED AS \
         rows_examined, SUM_ROWS_AFFECTED AS rows_affected, SUM_NO_INDEX_USED + SUM_NO_GOOD_INDEX_USED AS full_scans \
         FROM performance_schema.events_statements_summary_by_host_by_event_name WHERE SUM_TIMER_WAIT <> 0 ORDER BY \
         HOST, SUM_TIMER_WAIT DESC",
    },
    BuiltIn {
        name: "user_summary",
        text: "SELECT IFNULL(who.USER, 'background') AS user, IFNULL(done.total, 0) AS statements, {t:IFNULL(done.latency, \
         0)} AS statement_latency, {t:IFNULL(done.latency / done.total, 0)} AS statement_avg_latency, \
         IFNULL(done.scans, 0) AS table_scans, NULL AS file_ios, NULL AS file_io_latency, who.CURRENT_CONNECTIONS AS \
         current_connections, who.TOTAL_CONNECTIONS AS total_connections, (SELECT COUNT(DISTINCT account.HOST) FROM \
         performance_schema.accounts AS account WHERE account.USER = who.USER) AS unique_hosts, NULL AS \
         current_memory, NULL AS total_memory_allocated FROM performance_schema.users AS who LEFT JOIN (SELECT USER, \
         SUM(COUNT_STAR) AS total, SUM(SUM_TIMER_WAIT) AS latency, SUM(SUM_NO_INDEX_USED) AS scans FROM \
         performance_schema.events_statements_summary_by_user_by_event_name GROUP BY USER) AS done ON done.USER = \
         who.USER ORDER BY done.latency DESC",
    },
    BuiltIn {
        name: "user_summary_by_statement_latency",
        text: "SELECT IFNULL(USER, 'background') AS user, SUM(COUNT_STAR) AS total, {t:SUM(SUM_TIMER_WAIT)} AS \
         total_latency, {t:MAX(MAX_TIMER_WAIT)} AS max_latency, {t:SUM(SUM_LOCK_TIME)} AS lock_latency, \
         {t:SUM(SUM_CPU_TIME)} AS cpu_latency, SUM(SUM_ROWS_SENT) AS rows_sent, SUM(SUM_ROWS_EXAMINED) AS \
         rows_examined, SUM(SUM_ROWS_AFFECTED) AS rows_affected, SUM(SUM_NO_INDEX_USED) + SUM(SUM_NO_GOOD_INDEX_USED) \
         AS full_scans FROM performance_schema.events_statements_summary_by_user_by_event_name GROUP BY USER ORDER BY \
         SUM(SUM_TIMER_WAIT) DESC",
    },
    BuiltIn {
        name: "user_summary_by_statement_type",
        text: "SELECT IFNULL(USER, 'background') AS user, SUBSTRING_INDEX(EVENT_NAME, '/', -1) AS statement, COUNT_STAR AS \
         total, {t:SUM_TIMER_WAIT} AS total_latency, {t:MAX_TIMER_WAIT} AS max_latency, {t:SUM_LOCK_TIME} AS \
         lock_latency, {t:SUM_CPU_TIME} AS cpu_latency, SUM_ROWS_SENT AS rows_sent, SUM_ROWS_EXAMINED AS \
         rows_examined, SUM_ROWS_AFFECTED AS rows_affected, SUM_NO_INDEX_USED + SUM_NO_GOOD_INDEX_USED AS full_scans \
         FROM performance_schema.events_statements_summary_by_user_by_event_name WHERE SUM_TIMER_WAIT <> 0 ORDER BY \
         USER, SUM_TIMER_WAIT DESC",
    },
    BuiltIn {
        name: "io_global_by_file_by_bytes",
        text: "SELECT {p:FILE_NAME} AS file, COUNT_READ AS count_read, {b:SUM_NUMBER_OF_BYTES_READ} AS total_read, \
         {b:IFNULL(SUM_NUMBER_OF_BYTES_READ / NULLIF(COUNT_READ, 0), 0)} AS avg_read, COUNT_WRITE AS count_write, \
         {b:SUM_NUMBER_OF_BYTES_WRITE} AS total_written, {b:IFNULL(SUM_NUMBER_OF_BYTES_WRITE / NULLIF(COUNT_WRITE, \
         0), 0)} AS avg_write, {b:SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE} AS total, IFNULL(ROUND(100 * \
         SUM_NUMBER_OF_BYTES_WRITE / NULLIF(SUM_NUMBER_OF_BYTES_READ + SUM_NUMBER_OF_BYTES_WRITE, 0), 2), 0) AS \
         write_pct FROM performance_schema.file_summary_by_instance ORDER BY SUM_NUMBER_OF_BYTES_READ + \
         SUM_NUMBER_OF_BYTES_WRITE DESC",
    },
    BuiltIn {
        name: "io_global_by_file_by_latency",
        text: "SELECT {p:FILE_NAME} AS file, COUNT_STAR AS total, {t:SUM_TIMER_WAIT} AS total_latency, COUNT_READ AS \
         count_read, {t:SUM_TIMER_READ} AS read_latency, COUNT_WRITE AS count_write, {t:SUM_TIMER_WRITE} AS \
         write_latency, COUNT_MISC AS count_misc, {t:SUM_TIMER_MISC} AS misc_latency FROM \
         performance_schema.file_summary_by_instance ORDER BY SUM_TIMER_WAIT DESC",
    },
    BuiltIn {
        name: "io_global_by_wait_by_bytes",
        text: "SELECT SUBSTRING_INDEX(EVENT_NAME, '/', -2) AS event_name, COUNT_STAR AS total, {t:SUM_TIMER_WAIT} AS \
         total_latency, {t:MIN_TIMER_WAIT} AS min_latency, {t:AVG_TIMER_WAIT} AS avg_latency, {t:MAX_TIMER_WAIT} AS \
         max_latency, COUNT_READ AS count_read, {b:SUM_NUMBER_OF_BYTES_READ} AS total_read, \
         {b:IFNULL(SUM_NUMBER_OF_BYTES_READ / NULLIF(COUNT_READ, 0), 0)} AS avg_read, COUNT_WRITE AS count_write, \
         {b:SUM_NUMBER_OF_BYTES_WRITE} AS total_written, {b:IFNULL(SUM_NUMBER_OF_BYTES_WRITE / NULLIF(COUNT_WRITE, \
         0), 0)} AS avg_written, {b:SUM_NUMBER_OF_BYTES_WRITE + SUM_NUMBER_OF_BYTES_READ} AS total_requested FROM \
         performance_schema.file_summary_by_event_name WHERE COUNT_STAR > 0 ORDER BY SUM_NUMBER_OF_BYTES_WRITE + \
         SUM_NUMBER_OF_BYTES_READ DESC",
    },
    BuiltIn {
        name: "io_global_by_wait_by_latency",
        text: "SELECT SUBSTRING_INDEX(EVENT_NAME, '/', -2) AS event_name, COUNT_STAR AS total, {t:SUM_TIMER_WAIT} AS \
         total_latency, {t:AVG_TIMER_WAIT} AS avg_latency, {t:MAX_TIMER_WAIT} AS max_latency, {t:SUM_TIMER_READ} AS \
         read_latency, {t:SUM_TIMER_WRITE} AS write_latency, {t:SUM_TIMER_MISC} AS misc_latency, COUNT_READ AS \
         count_read, {b:SUM_NUMBER_OF_BYTES_READ} AS total_read, {b:IFNULL(SUM_NUMBER_OF_BYTES_READ / \
         NULLIF(COUNT_READ, 0), 0)} AS avg_read, COUNT_WRITE AS count_write, {b:SUM_NUMBER_OF_BYTES_WRITE} AS \
         total_written, {b:IFNULL(SUM_NUMBER_OF_BYTES_WRITE / NULLIF(COUNT_WRITE, 0), 0)} AS avg_written FROM \
         performance_schema.file_summary_by_event_name WHERE COUNT_STAR > 0 ORDER BY SUM_TIMER_WAIT DESC",
    },
    BuiltIn {
        name: "memory_global_by_current_bytes",
        text: "SELECT EVENT_NAME AS event_name, CURRENT_COUNT_USED AS current_count, {b:CURRENT_NUMBER_OF_BYTES_USED} AS \
         current_alloc, {b:IFNULL(CURRENT_NUMBER_OF_BYTES_USED / NULLIF(CURRENT_COUNT_USED, 0), 0)} AS \
         current_avg_alloc, HIGH_COUNT_USED AS high_count, {b:HIGH_NUMBER_OF_BYTES_USED} AS high_alloc, \
         {b:IFNULL(HIGH_NUMBER_OF_BYTES_USED / NULLIF(HIGH_COUNT_USED, 0), 0)} AS high_avg_alloc FROM \
         performance_schema.memory_summary_global_by_event_name WHERE CURRENT_NUMBER_OF_BYTES_USED > 0 ORDER BY \
         CURRENT_NUMBER_OF_BYTES_USED DESC",
    },
    BuiltIn {
        name: "memory_global_total",
        text: "SELECT {b:SUM(CURRENT_NUMBER_OF_BYTES_USED)} AS total_allocated FROM \
         performance_schema.memory_summary_global_by_event_name",
    },
    BuiltIn {
        name: "metrics",
        text: "SELECT LOWER(VARIABLE_NAME) AS Variable_name, VARIABLE_VALUE AS Variable_value, 'Global Status' AS Type, \
         'YES' AS Enabled FROM performance_schema.global_status UNION ALL SELECT 'memory_current_allocated', \
         CAST(SUM(CURRENT_NUMBER_OF_BYTES_USED) AS CHAR), 'Performance Schema', 'YES' FROM \
         performance_schema.memory_summary_global_by_event_name UNION ALL SELECT 'NOW()', CAST(NOW(3) AS CHAR), \
         'System Time', 'YES' UNION ALL SELECT 'UNIX_TIMESTAMP()', CAST(ROUND(UNIX_TIMESTAMP(NOW(3)), 3) AS CHAR), \
         'System Time', 'YES'",
    },
    BuiltIn {
        name: "ps_check_lost_instrumentation",
        text: "SELECT VARIABLE_NAME AS variable_name, VARIABLE_VALUE AS variable_value FROM \
         performance_schema.global_status WHERE VARIABLE_NAME LIKE 'perf%lost' AND VARIABLE_VALUE > 0",
    },
    BuiltIn {
        name: "schema_auto_increment_columns",
        text: "SELECT counted.table_schema AS table_schema, counted.table_name AS table_name, counted.column_name AS \
         column_name, counted.data_type AS data_type, counted.column_type AS column_type, NOT counted.is_unsigned AS \
         is_signed, counted.is_unsigned AS is_unsigned, counted.max_value AS max_value, counted.next_value AS \
         auto_increment, counted.next_value / counted.max_value AS auto_increment_ratio FROM (SELECT c.TABLE_SCHEMA \
         AS table_schema, c.TABLE_NAME AS table_name, c.COLUMN_NAME AS column_name, c.DATA_TYPE AS data_type, \
         c.COLUMN_TYPE AS column_type, LOCATE('unsigned', c.COLUMN_TYPE) > 0 AS is_unsigned, (CASE c.DATA_TYPE WHEN \
         'tinyint' THEN 255 WHEN 'smallint' THEN 65535 WHEN 'mediumint' THEN 16777215 WHEN 'int' THEN 4294967295 WHEN \
         'bigint' THEN 18446744073709551615 END) >> IF(LOCATE('unsigned', c.COLUMN_TYPE) > 0, 0, 1) AS max_value, \
         t.AUTO_INCREMENT AS next_value FROM information_schema.COLUMNS AS c JOIN information_schema.TABLES AS t ON \
         t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME WHERE c.TABLE_SCHEMA NOT IN ('mysql', 'sys', \
         'information_schema', 'performance_schema') AND t.TABLE_TYPE = 'BASE TABLE' AND c.EXTRA = 'auto_increment') \
         AS counted ORDER BY counted.next_value / counted.max_value DESC, counted.max_value",
    },
    BuiltIn {
        name: "schema_index_statistics",
        text: "SELECT OBJECT_SCHEMA AS table_schema, OBJECT_NAME AS table_name, INDEX_NAME AS index_name, COUNT_FETCH AS \
         rows_selected, {t:SUM_TIMER_FETCH} AS select_latency, COUNT_INSERT AS rows_inserted, {t:SUM_TIMER_INSERT} AS \
         insert_latency, COUNT_UPDATE AS rows_updated, {t:SUM_TIMER_UPDATE} AS update_latency, COUNT_DELETE AS \
         rows_deleted, {t:SUM_TIMER_DELETE} AS delete_latency FROM \
         performance_schema.table_io_waits_summary_by_index_usage WHERE INDEX_NAME IS NOT NULL ORDER BY \
         SUM_TIMER_WAIT DESC, COUNT_STAR DESC",
    },
    BuiltIn {
        name: "schema_object_overview",
        text: "SELECT kinds.db AS db, kinds.object_type AS object_type, COUNT(*) AS count FROM (SELECT TABLE_SCHEMA AS db, \
         TABLE_TYPE AS object_type FROM information_schema.TABLES UNION ALL SELECT ROUTINE_SCHEMA, ROUTINE_TYPE FROM \
         information_schema.ROUTINES UNION ALL SELECT TABLE_SCHEMA, CONCAT('INDEX (', INDEX_TYPE, ')') FROM \
         information_schema.STATISTICS UNION ALL SELECT TRIGGER_SCHEMA, 'TRIGGER' FROM information_schema.TRIGGERS \
         UNION ALL SELECT EVENT_SCHEMA, 'EVENT' FROM information_schema.EVENTS) AS kinds GROUP BY kinds.db, \
         kinds.object_type ORDER BY kinds.db, kinds.object_type",
    },
    BuiltIn {
        name: "x$schema_flattened_keys",
        text: "SELECT TABLE_SCHEMA AS table_schema, TABLE_NAME AS table_name, INDEX_NAME AS index_name, MAX(NON_UNIQUE) AS \
         non_unique, MAX(SUB_PART IS NOT NULL) AS subpart_exists, GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX \
         SEPARATOR ',') AS index_columns FROM information_schema.STATISTICS WHERE INDEX_TYPE = 'BTREE' AND \
         TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') GROUP BY TABLE_SCHEMA, \
         TABLE_NAME, INDEX_NAME",
    },
    BuiltIn {
        name: "schema_redundant_indexes",
        text: "SELECT r.table_schema AS table_schema, r.table_name AS table_name, r.index_name AS redundant_index_name, \
         r.index_columns AS redundant_index_columns, r.non_unique AS redundant_index_non_unique, d.index_name AS \
         dominant_index_name, d.index_columns AS dominant_index_columns, d.non_unique AS dominant_index_non_unique, \
         r.subpart_exists OR d.subpart_exists AS subpart_exists, CONCAT('ALTER TABLE ', \
         sys.quote_identifier(r.table_schema), '.', sys.quote_identifier(r.table_name), ' DROP INDEX ', \
         sys.quote_identifier(r.index_name)) AS sql_drop_index FROM sys.`x$schema_flattened_keys` AS r JOIN \
         sys.`x$schema_flattened_keys` AS d ON d.table_schema = r.table_schema AND d.table_name = r.table_name AND \
         d.index_name <> r.index_name WHERE r.index_columns = d.index_columns AND (r.non_unique > d.non_unique OR \
         r.non_unique = d.non_unique AND r.index_name <> 'PRIMARY' AND (d.index_name = 'PRIMARY' OR r.index_name > \
         d.index_name)) OR r.non_unique = 1 AND LOCATE(CONCAT(r.index_columns, ','), d.index_columns) = 1 OR \
         d.non_unique = 0 AND r.index_name <> 'PRIMARY' AND r.non_unique = 1 AND LOCATE(CONCAT(d.index_columns, ','), \
         r.index_columns) = 1",
    },
    BuiltIn {
        name: "x$ps_schema_table_statistics_io",
        text: "SELECT sys.extract_schema_from_file_name(FILE_NAME) AS table_schema, \
         sys.extract_table_from_file_name(FILE_NAME) AS table_name, SUM(COUNT_READ) AS count_read, \
         SUM(SUM_NUMBER_OF_BYTES_READ) AS sum_number_of_bytes_read, SUM(SUM_TIMER_READ) AS sum_timer_read, \
         SUM(COUNT_WRITE) AS count_write, SUM(SUM_NUMBER_OF_BYTES_WRITE) AS sum_number_of_bytes_write, \
         SUM(SUM_TIMER_WRITE) AS sum_timer_write, SUM(COUNT_MISC) AS count_misc, SUM(SUM_TIMER_MISC) AS \
         sum_timer_misc FROM performance_schema.file_summary_by_instance GROUP BY \
         sys.extract_schema_from_file_name(FILE_NAME), sys.extract_table_from_file_name(FILE_NAME)",
    },
    BuiltIn {
        name: "schema_table_statistics",
        text: "SELECT t.OBJECT_SCHEMA AS table_schema, t.OBJECT_NAME AS table_name, {t:t.SUM_TIMER_WAIT} AS total_latency, \
         t.COUNT_FETCH AS rows_fetched, {t:t.SUM_TIMER_FETCH} AS fetch_latency, t.COUNT_INSERT AS rows_inserted, \
         {t:t.SUM_TIMER_INSERT} AS insert_latency, t.COUNT_UPDATE AS rows_updated, {t:t.SUM_TIMER_UPDATE} AS \
         update_latency, t.COUNT_DELETE AS rows_deleted, {t:t.SUM_TIMER_DELETE} AS delete_latency, io.count_read AS \
         io_read_requests, {b:io.sum_number_of_bytes_read} AS io_read, {t:io.sum_timer_read} AS io_read_latency, \
         io.count_write AS io_write_requests, {b:io.sum_number_of_bytes_write} AS io_write, {t:io.sum_timer_write} AS \
         io_write_latency, io.count_misc AS io_misc_requests, {t:io.sum_timer_misc} AS io_misc_latency FROM \
         performance_schema.table_io_waits_summary_by_table AS t LEFT JOIN sys.`x$ps_schema_table_statistics_io` AS \
         io ON io.table_schema = t.OBJECT_SCHEMA AND io.table_name = t.OBJECT_NAME ORDER BY t.SUM_TIMER_WAIT DESC, \
         t.COUNT_STAR DESC",
    },
    BuiltIn {
        name: "schema_tables_with_full_table_scans",
        text: "SELECT OBJECT_SCHEMA AS object_schema, OBJECT_NAME AS object_name, COUNT_READ AS rows_full_scanned, \
         {t:SUM_TIMER_WAIT} AS latency FROM performance_schema.table_io_waits_summary_by_index_usage WHERE INDEX_NAME \
         IS NULL AND COUNT_READ > 0 ORDER BY COUNT_READ DESC",
    },
    BuiltIn {
        name: "statement_analysis",
        text: "SELECT {s:DIGEST_TEXT} AS query, SCHEMA_NAME AS db, IF(SUM_NO_GOOD_INDEX_USED > 0 OR SUM_NO_INDEX_USED > 0, \
         '*', '') AS full_scan, COUNT_STAR AS exec_count, SUM_ERRORS AS err_count, SUM_WARNINGS AS warn_count, \
         {t:SUM_TIMER_WAIT} AS total_latency, {t:MAX_TIMER_WAIT} AS max_latency, {t:AVG_TIMER_WAIT} AS avg_latency, \
         {t:SUM_LOCK_TIME} AS lock_latency, {t:SUM_CPU_TIME} AS cpu_latency, SUM_ROWS_SENT AS rows_sent, \
         ROUND(IFNULL(SUM_ROWS_SENT / NULLIF(COUNT_STAR, 0), 0)) AS rows_sent_avg, SUM_ROWS_EXAMINED AS \
         rows_examined, ROUND(IFNULL(SUM_ROWS_EXAMINED / NULLIF(COUNT_STAR, 0), 0)) AS rows_examined_avg, \
         SUM_ROWS_AFFECTED AS rows_affected, ROUND(IFNULL(SUM_ROWS_AFFECTED / NULLIF(COUNT_STAR, 0), 0)) AS \
         rows_affected_avg, SUM_CREATED_TMP_TABLES AS tmp_tables, SUM_CREATED_TMP_DISK_TABLES AS tmp_disk_tables, \
         SUM_SORT_ROWS AS rows_sorted, SUM_SORT_MERGE_PASSES AS sort_merge_passes, {b:MAX_CONTROLLED_MEMORY} AS \
         max_controlled_memory, {b:MAX_TOTAL_MEMORY} AS max_total_memory, DIGEST AS digest, FIRST_SEEN AS first_seen, \
         LAST_SEEN AS last_seen FROM performance_schema.events_statements_summary_by_digest ORDER BY SUM_TIMER_WAIT \
         DESC",
    },
    BuiltIn {
        name: "statements_with_errors_or_warnings",
        text: "SELECT {s:DIGEST_TEXT} AS query, SCHEMA_NAME AS db, COUNT_STAR AS exec_count, SUM_ERRORS AS errors, \
         IFNULL(SUM_ERRORS / NULLIF(COUNT_STAR, 0), 0) * 100 AS error_pct, SUM_WARNINGS AS warnings, \
         IFNULL(SUM_WARNINGS / NULLIF(COUNT_STAR, 0), 0) * 100 AS warning_pct, FIRST_SEEN AS first_seen, LAST_SEEN AS \
         last_seen, DIGEST AS digest FROM performance_schema.events_statements_summary_by_digest WHERE SUM_ERRORS > 0 \
         OR SUM_WARNINGS > 0 ORDER BY SUM_ERRORS DESC, SUM_WARNINGS DESC",
    },
    BuiltIn {
        name: "statements_with_full_table_scans",
        text: "SELECT {s:DIGEST_TEXT} AS query, SCHEMA_NAME AS db, COUNT_STAR AS exec_count, {t:SUM_TIMER_WAIT} AS \
         total_latency, SUM_NO_INDEX_USED AS no_index_used_count, SUM_NO_GOOD_INDEX_USED AS no_good_index_used_count, \
         ROUND(IFNULL(SUM_NO_INDEX_USED / NULLIF(COUNT_STAR, 0), 0) * 100) AS no_index_used_pct, SUM_ROWS_SENT AS \
         rows_sent, SUM_ROWS_EXAMINED AS rows_examined, ROUND(SUM_ROWS_SENT / COUNT_STAR) AS rows_sent_avg, \
         ROUND(SUM_ROWS_EXAMINED / COUNT_STAR) AS rows_examined_avg, FIRST_SEEN AS first_seen, LAST_SEEN AS \
         last_seen, DIGEST AS digest FROM performance_schema.events_statements_summary_by_digest WHERE \
         (SUM_NO_INDEX_USED > 0 OR SUM_NO_GOOD_INDEX_USED > 0) AND DIGEST_TEXT NOT LIKE 'SHOW%' ORDER BY \
         ROUND(IFNULL(SUM_NO_INDEX_USED / NULLIF(COUNT_STAR, 0), 0) * 100) DESC, SUM_TIMER_WAIT DESC",
    },
    BuiltIn {
        name: "statements_with_sorting",
        text: "SELECT {s:DIGEST_TEXT} AS query, SCHEMA_NAME AS db, COUNT_STAR AS exec_count, {t:SUM_TIMER_WAIT} AS \
         total_latency, SUM_SORT_MERGE_PASSES AS sort_merge_passes, ROUND(IFNULL(SUM_SORT_MERGE_PASSES / \
         NULLIF(COUNT_STAR, 0), 0)) AS avg_sort_merges, SUM_SORT_SCAN AS sorts_using_scans, SUM_SORT_RANGE AS \
         sort_using_range, SUM_SORT_ROWS AS rows_sorted, ROUND(IFNULL(SUM_SORT_ROWS / NULLIF(COUNT_STAR, 0), 0)) AS \
         avg_rows_sorted, FIRST_SEEN AS first_seen, LAST_SEEN AS last_seen, DIGEST AS digest FROM \
         performance_schema.events_statements_summary_by_digest WHERE SUM_SORT_ROWS > 0 ORDER BY SUM_TIMER_WAIT DESC",
    },
    BuiltIn {
        name: "statements_with_temp_tables",
        text: "SELECT {s:DIGEST_TEXT} AS query, SCHEMA_NAME AS db, COUNT_STAR AS exec_count, {t:SUM_TIMER_WAIT} AS \
         total_latency, SUM_CREATED_TMP_TABLES AS memory_tmp_tables, SUM_CREATED_TMP_DISK_TABLES AS disk_tmp_tables, \
         ROUND(IFNULL(SUM_CREATED_TMP_TABLES / NULLIF(COUNT_STAR, 0), 0)) AS avg_tmp_tables_per_query, \
         ROUND(IFNULL(SUM_CREATED_TMP_DISK_TABLES / NULLIF(SUM_CREATED_TMP_TABLES, 0), 0) * 100) AS \
         tmp_tables_to_disk_pct, FIRST_SEEN AS first_seen, LAST_SEEN AS last_seen, DIGEST AS digest FROM \
         performance_schema.events_statements_summary_by_digest WHERE SUM_CREATED_TMP_TABLES > 0 ORDER BY \
         SUM_CREATED_TMP_DISK_TABLES DESC, SUM_CREATED_TMP_TABLES DESC",
    },
    BuiltIn {
        name: "statements_with_runtimes_in_95th_percentile",
        text: "SELECT {s:slow.DIGEST_TEXT} AS query, slow.SCHEMA_NAME AS db, IF(slow.SUM_NO_GOOD_INDEX_USED > 0 OR \
         slow.SUM_NO_INDEX_USED > 0, '*', '') AS full_scan, slow.COUNT_STAR AS exec_count, slow.SUM_ERRORS AS \
         err_count, slow.SUM_WARNINGS AS warn_count, {t:slow.SUM_TIMER_WAIT} AS total_latency, \
         {t:slow.MAX_TIMER_WAIT} AS max_latency, {t:slow.AVG_TIMER_WAIT} AS avg_latency, slow.SUM_ROWS_SENT AS \
         rows_sent, ROUND(IFNULL(slow.SUM_ROWS_SENT / NULLIF(slow.COUNT_STAR, 0), 0)) AS rows_sent_avg, \
         slow.SUM_ROWS_EXAMINED AS rows_examined, ROUND(IFNULL(slow.SUM_ROWS_EXAMINED / NULLIF(slow.COUNT_STAR, 0), \
         0)) AS rows_examined_avg, slow.FIRST_SEEN AS first_seen, slow.LAST_SEEN AS last_seen, slow.DIGEST AS digest \
         FROM (SELECT d.DIGEST_TEXT, d.SCHEMA_NAME, d.SUM_NO_GOOD_INDEX_USED, d.SUM_NO_INDEX_USED, d.COUNT_STAR, \
         d.SUM_ERRORS, d.SUM_WARNINGS, d.SUM_TIMER_WAIT, d.MAX_TIMER_WAIT, d.AVG_TIMER_WAIT, d.SUM_ROWS_SENT, \
         d.SUM_ROWS_EXAMINED, d.FIRST_SEEN, d.LAST_SEEN, d.DIGEST, CUME_DIST() OVER (ORDER BY d.AVG_TIMER_WAIT) AS \
         place FROM performance_schema.events_statements_summary_by_digest AS d) AS slow WHERE slow.place > 0.95 \
         ORDER BY slow.AVG_TIMER_WAIT DESC",
    },
    BuiltIn {
        name: "waits_global_by_latency",
        text: "SELECT EVENT_NAME AS events, COUNT_STAR AS total, {t:SUM_TIMER_WAIT} AS total_latency, {t:AVG_TIMER_WAIT} AS \
         avg_latency, {t:MAX_TIMER_WAIT} AS max_latency FROM \
         performance_schema.events_waits_summary_global_by_event_name WHERE EVENT_NAME <> 'idle' AND SUM_TIMER_WAIT > \
         0 ORDER BY SUM_TIMER_WAIT DESC",
    },
    BuiltIn {
        name: "wait_classes_global_by_latency",
        text: "SELECT SUBSTRING_INDEX(EVENT_NAME, '/', 3) AS event_class, SUM(COUNT_STAR) AS total, {t:SUM(SUM_TIMER_WAIT)} \
         AS total_latency, {t:MIN(MIN_TIMER_WAIT)} AS min_latency, {t:IFNULL(SUM(SUM_TIMER_WAIT) / \
         NULLIF(SUM(COUNT_STAR), 0), 0)} AS avg_latency, {t:MAX(MAX_TIMER_WAIT)} AS max_latency FROM \
         performance_schema.events_waits_summary_global_by_event_name WHERE SUM_TIMER_WAIT > 0 GROUP BY \
         SUBSTRING_INDEX(EVENT_NAME, '/', 3) ORDER BY SUM(SUM_TIMER_WAIT) DESC",
    },
    BuiltIn {
        name: "wait_classes_global_by_avg_latency",
        text: "SELECT SUBSTRING_INDEX(EVENT_NAME, '/', 3) AS event_class, SUM(COUNT_STAR) AS total, {t:SUM(SUM_TIMER_WAIT)} \
         AS total_latency, {t:MIN(MIN_TIMER_WAIT)} AS min_latency, {t:IFNULL(SUM(SUM_TIMER_WAIT) / \
         NULLIF(SUM(COUNT_STAR), 0), 0)} AS avg_latency, {t:MAX(MAX_TIMER_WAIT)} AS max_latency FROM \
         performance_schema.events_waits_summary_global_by_event_name WHERE SUM_TIMER_WAIT > 0 GROUP BY \
         SUBSTRING_INDEX(EVENT_NAME, '/', 3) ORDER BY IFNULL(SUM(SUM_TIMER_WAIT) / NULLIF(SUM(COUNT_STAR), 0), 0) DESC",
    },
];
