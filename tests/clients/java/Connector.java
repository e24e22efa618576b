import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

/** Connector/J: prepared statements of both kinds, batches, metadata, cursors, several statements in one text. */
public class Connector {
    static String place(String more) {
        Map<String, String> e = System.getenv();
        return "jdbc:mysql://" + e.get("CLIENT_HOST") + ":" + e.get("CLIENT_PORT") + "/" + e.get("CLIENT_DATABASE") + "?user="
                + e.get("CLIENT_USER") + "&password=" + e.get("CLIENT_PASSWORD") + "&allowPublicKeyRetrieval=true&connectionTimeZone=UTC" + more;
    }

    static void found(String what, Object... values) {
        System.out.println(what + ": " + Arrays.deepToString(values));
    }

    static List<List<Object>> all(ResultSet rows, String... names) throws SQLException {
        List<List<Object>> all = new ArrayList<>();
        while (rows.next()) {
            List<Object> row = new ArrayList<>();
            for (int n = 1; n <= (names.length > 0 ? names.length : rows.getMetaData().getColumnCount()); n++) {
                Object value = names.length > 0 ? rows.getObject(names[n - 1]) : rows.getObject(n);
                row.add(value instanceof byte[] bytes ? Arrays.toString(bytes) : value);
            }
            all.add(row);
        }
        return all;
    }

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        for (String more : List.of("&sslMode=DISABLED", "&sslMode=DISABLED&useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true",
                "&sslMode=DISABLED&useCursorFetch=true&defaultFetchSize=3&useCompression=true", "&sslMode=PREFERRED&allowMultiQueries=true")) {
            try (Connection c = DriverManager.getConnection(place(more))) {
                course(c, more);
            }
        }
        try (Connection c = DriverManager.getConnection(place("&sslMode=DISABLED&connectionTimeZone=Europe/Berlin&forceConnectionTimeZoneToSession=true&sessionVariables=sql_mode='ANSI_QUOTES'"))) {
            found("zone", all(c.createStatement().executeQuery("SELECT @@time_zone, FROM_UNIXTIME(1720000000), FROM_UNIXTIME(1700000000)")));
        } catch (SQLException refusal) {
            // MariaDB without tables of time zones.
            found("zone", refusal.getErrorCode());
        }
    }

    static void course(Connection c, String more) throws SQLException {
        Statement s = c.createStatement();
        s.execute("DROP TABLE IF EXISTS j2, j");
        s.execute("CREATE TABLE j (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, at DATETIME(6), day DATE, n DECIMAL(12,3), b BLOB, flag BIT(1), big BIGINT UNSIGNED, d DOUBLE, t TEXT, UNIQUE KEY once (name)) COMMENT 'of a test'");
        s.execute("CREATE TABLE j2 (id INT PRIMARY KEY, j INT, KEY of_j (j), CONSTRAINT j_of FOREIGN KEY (j) REFERENCES j (id) ON DELETE CASCADE)");
        try (PreparedStatement p = c.prepareStatement("INSERT INTO j (name, at, day, n, b, flag, big, d, t) VALUES (?,?,?,?,?,?,?,?,?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int n = 0; n < 10; n++) {
                p.setString(1, "näme" + n);
                p.setTimestamp(2, Timestamp.valueOf("2024-02-29 01:02:0" + n));
                p.setDate(3, java.sql.Date.valueOf("2024-02-29"));
                p.setBigDecimal(4, new BigDecimal(n + ".125"));
                p.setBytes(5, new byte[] {0, (byte) n, -1});
                p.setBoolean(6, n % 2 == 1);
                p.setLong(7, Long.MAX_VALUE - n);
                p.setDouble(8, n / 3.0);
                p.setNull(9, Types.VARCHAR);
                p.addBatch();
            }
            found("batch", Arrays.stream(p.executeBatch()).filter(n -> n == 1 || n == Statement.SUCCESS_NO_INFO).count());
            found("keys", all(p.getGeneratedKeys()));
        }
        try (PreparedStatement p = c.prepareStatement("SELECT * FROM j WHERE id > ? AND name LIKE ? ORDER BY id")) {
            for (int n : new int[] {7, 9}) {
                p.setInt(1, n);
                p.setString(2, "näme%");
                found("rows", all(p.executeQuery()));
            }
            ResultSetMetaData m = p.getMetaData();
            for (int n = 1; n <= m.getColumnCount(); n++) {
                found("column", m.getColumnName(n), m.getColumnTypeName(n), m.getColumnClassName(n), m.getPrecision(n), m.getScale(n), m.isNullable(n), m.isAutoIncrement(n), m.isSigned(n), m.getTableName(n));
            }
        }
        ResultSet labelled = s.executeQuery("SELECT x.id AS a, y.total FROM j AS x JOIN (SELECT COUNT(*) AS total FROM j) AS y");
        for (int n = 1; n <= 2; n++) {
            found("label", labelled.getMetaData().getColumnLabel(n), labelled.getMetaData().getTableName(n));
        }
        labelled.close();
        Statement updatable = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
        ResultSet rows = updatable.executeQuery("SELECT id, name, n FROM j ORDER BY id");
        rows.absolute(2);
        rows.updateBigDecimal("n", new BigDecimal("99.5"));
        rows.updateRow();
        rows.close();
        c.setAutoCommit(false);
        c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        found("deleted", s.executeUpdate("DELETE FROM j WHERE id > 3"));
        Savepoint here = c.setSavepoint("here");
        s.executeUpdate("DELETE FROM j");
        c.rollback(here);
        found("left", all(s.executeQuery("SELECT id, n FROM j ORDER BY id")));
        c.rollback();
        c.setAutoCommit(true);
        found("isolation", c.getTransactionIsolation());
        for (String statement : List.of("INSERT INTO j (name) VALUES ('näme1')", "INSERT INTO j2 VALUES (1, 77)", "SELECT nothing", "SELEC")) {
            try {
                s.execute(statement);
            } catch (SQLException refusal) {
                found(statement, refusal.getClass().getSimpleName(), refusal.getErrorCode(), refusal.getSQLState());
            }
        }
        if (more.contains("allowMultiQueries")) {
            boolean isRows = s.execute("SELECT 1; UPDATE j SET d = 0 WHERE id < 3; SELECT 'two' AS x, 3; ");
            for (;;) {
                if (!isRows && s.getUpdateCount() == -1) break;
                found("several", isRows ? all(s.getResultSet()) : s.getUpdateCount());
                isRows = s.getMoreResults();
            }
        }
        DatabaseMetaData m = c.getMetaData();
        String d = c.getCatalog();
        found("tables", all(m.getTables(d, null, "j%", new String[] {"TABLE"}), "TABLE_NAME", "TABLE_TYPE"));
        found("columns", all(m.getColumns(d, null, "j", "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "IS_AUTOINCREMENT"));
        found("primary", all(m.getPrimaryKeys(d, null, "j"), "COLUMN_NAME", "KEY_SEQ"));
        found("imported", all(m.getImportedKeys(d, null, "j2"), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKCOLUMN_NAME", "DELETE_RULE", "FK_NAME"));
        // One for each unique key that may be meant.
        found("exported", all(m.getExportedKeys(d, null, "j"), "FKTABLE_NAME", "FK_NAME").stream().distinct().toList());
        found("indexes", all(m.getIndexInfo(d, null, "j2", false, true), "INDEX_NAME", "COLUMN_NAME", "NON_UNIQUE"));
        found("best", all(m.getBestRowIdentifier(d, null, "j", 0, true), "COLUMN_NAME"));
        found("routines", all(m.getProcedures(d, null, "%"), "PROCEDURE_NAME").size(), all(m.getProcedureColumns(d, null, "%", "%")).size(), all(m.getFunctions(d, null, "%")).size(), all(m.getFunctionColumns(d, null, "%", "%")).size());
        found("privileges", all(m.getTablePrivileges(d, null, "j")).size(), all(m.getColumnPrivileges(d, null, "j", "%")).size());
        found("words", m.getTimeDateFunctions().length() > 100, all(m.getTypeInfo()).size() > 20, all(m.getCatalogs(), "TABLE_CAT").contains(List.of(d)));
    }
}
