import java.io.ByteArrayInputStream;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;

/** MariaDB Connector/J: both protocols, batches as it sends them, streams, types, XA, metadata, a pool; plain and by TLS. */
public class MariadbConnector {
    static void found(String what, Object... values) {
        System.out.println(what + ": " + Arrays.deepToString(values));
    }

    static String place(String more) {
        Map<String, String> e = System.getenv();
        String database = e.get("CLIENT_DATABASE");
        return "jdbc:mariadb://" + e.get("CLIENT_HOST") + ":" + e.get("CLIENT_PORT") + "/" + database + "?user="
                + e.get("CLIENT_USER") + "&password=" + e.get("CLIENT_PASSWORD") + "&allowPublicKeyRetrieval=true&connectionTimeZone=UTC" + more;
    }

    static List<List<Object>> all(ResultSet rows, String... names) throws SQLException {
        List<List<Object>> all = new ArrayList<>();
        while (rows.next()) {
            List<Object> row = new ArrayList<>();
            for (int n = 1; n <= (names.length > 0 ? names.length : rows.getMetaData().getColumnCount()); n++) {
                Object value = names.length > 0 ? rows.getObject(names[n - 1]) : rows.getObject(n);
                if (value instanceof Blob blob) value = blob.getBytes(1, (int) blob.length());
                row.add(value instanceof byte[] bytes ? Arrays.toString(bytes) : value);
            }
            all.add(row);
        }
        return all;
    }

    interface Course {
        void run() throws SQLException;
    }

    static void refused(String what, Course course) {
        try {
            course.run();
            found(what, "done");
        } catch (SQLException refusal) {
            found(what, refusal.getClass().getSimpleName(), refusal.getErrorCode(), refusal.getSQLState());
        }
    }

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        for (String more : List.of("&sslMode=disable", "&sslMode=disable&useServerPrepStmts=true&useBulkStmts=true",
                "&sslMode=trust&useCompression=true&defaultFetchSize=2", "&sslMode=trust&useServerPrepStmts=true&cachePrepStmts=false&allowMultiQueries=true")) {
            try (Connection c = DriverManager.getConnection(place(more))) {
                found("connection", c.getMetaData().getDriverName(), more);
                course(c, more.contains("Multi"));
            }
        }
        distributed();
        pool();
    }

    static void course(Connection c, boolean several) throws SQLException {
        Statement s = c.createStatement();
        s.execute("DROP TABLE IF EXISTS child, m");
        s.execute("CREATE TABLE m (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, at DATETIME(6), day DATE, span TIME(3), n DECIMAL(12,3), b BLOB, flag BIT(1), bits BIT(12),"
                + " tiny TINYINT(1), y YEAR, big BIGINT UNSIGNED, f FLOAT, d DOUBLE, t TEXT, kind ENUM('a','b'), stamp TIMESTAMP(6) NULL, UNIQUE KEY once (name)) DEFAULT CHARSET utf8mb4 COMMENT 'of a test'");
        s.execute("CREATE TABLE child (id INT PRIMARY KEY, m INT, CONSTRAINT of_m FOREIGN KEY (m) REFERENCES m (id) ON DELETE CASCADE ON UPDATE SET NULL)");
        try (PreparedStatement p = c.prepareStatement("INSERT INTO m (name, at, day, span, n, b, flag, bits, tiny, y, big, f, d, t, kind, stamp) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int n = 0; n < 7; n++) {
                p.setString(1, "žluť🐎" + n);
                p.setObject(2, LocalDateTime.of(2024, 2, 29, 1, 2, n, 123456000));
                p.setObject(3, LocalDate.of(2024, 2, 29));
                p.setObject(4, LocalTime.of(23, 59, n, 250000000));
                p.setBigDecimal(5, new BigDecimal("-" + n + ".125"));
                p.setBinaryStream(6, new ByteArrayInputStream(new byte[] {0, (byte) n, -1, '\'', '\\'}));
                p.setBoolean(7, n % 2 == 1);
                p.setBytes(8, new byte[] {1, (byte) n});
                p.setByte(9, (byte) (n % 2));
                p.setShort(10, (short) (2000 + n));
                p.setBigDecimal(11, new BigDecimal("18446744073709551615").subtract(new BigDecimal(n)));
                p.setFloat(12, n / 4f);
                p.setDouble(13, n / 3.0);
                if (n % 2 == 0) p.setNull(14, Types.VARCHAR); else p.setString(14, "x'\"\\\n\0y".repeat(n));
                p.setString(15, n % 2 == 0 ? "a" : "b");
                p.setTimestamp(16, Timestamp.from(Instant.parse("2024-07-01T12:00:00.5Z")));
                p.addBatch();
            }
            found("batch", Arrays.stream(p.executeBatch()).filter(n -> n == 1 || n == Statement.SUCCESS_NO_INFO).count());
        }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO m (name) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
            p.setString(1, "alone");
            p.executeUpdate();
            found("key", all(p.getGeneratedKeys()));
        }
        try (PreparedStatement p = c.prepareStatement("SELECT * FROM m WHERE id > ? AND name LIKE ? ORDER BY id")) {
            for (int n : new int[] {4, 6}) {
                p.setInt(1, n);
                p.setString(2, "žluť%");
                found("rows", all(p.executeQuery()));
            }
            ResultSetMetaData m = p.getMetaData();
            for (int n = 1; n <= m.getColumnCount(); n++) {
                found("column", m.getColumnName(n), m.getColumnTypeName(n), m.getColumnClassName(n), m.getPrecision(n), m.getColumnClassName(n).endsWith("String") ? null : m.getScale(n), m.isNullable(n), m.isAutoIncrement(n),
                        m.getColumnTypeName(n).equals("TIMESTAMP") ? null : m.isSigned(n), m.getTableName(n), m.getColumnDisplaySize(n));
            }
            found("parameters", p.getParameterMetaData().getParameterCount());
        }
        // Each type as Java's newer ones.
        ResultSet one = s.executeQuery("SELECT at, day, span, stamp, big, flag, n, id FROM m ORDER BY id LIMIT 1");
        one.next();
        found("of java.time", one.getObject(1, LocalDateTime.class), one.getObject(2, LocalDate.class), one.getObject(3, LocalTime.class), one.getObject(4, Instant.class), one.getObject(5, java.math.BigInteger.class), one.getBoolean(6), one.getBigDecimal(7), one.getLong(8));
        one.close();
        Statement updatable = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
        ResultSet rows = updatable.executeQuery("SELECT id, name, n FROM m ORDER BY id");
        rows.absolute(2);
        rows.updateBigDecimal("n", new BigDecimal("99.5"));
        rows.updateRow();
        rows.moveToInsertRow();
        rows.updateString("name", "put in");
        rows.insertRow();
        rows.first();
        rows.deleteRow();
        rows.close();
        found("updated", all(s.executeQuery("SELECT name, n FROM m WHERE n > 0 OR name = 'put in' OR n = 0 ORDER BY id")));
        c.setAutoCommit(false);
        c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        found("deleted", s.executeUpdate("DELETE FROM m WHERE id > 3"));
        Savepoint here = c.setSavepoint("he`re");
        s.executeUpdate("DELETE FROM m");
        c.rollback(here);
        found("left", all(s.executeQuery("SELECT id, n FROM m ORDER BY id")));
        c.rollback();
        c.setAutoCommit(true);
        c.setReadOnly(true);
        refused("read only", () -> s.executeUpdate("DELETE FROM m"));
        c.setReadOnly(false);
        found("isolation", c.getTransactionIsolation(), c.isValid(1), c.getCatalog().equals(System.getenv("CLIENT_DATABASE")));
        for (String statement : List.of("INSERT INTO m (name) VALUES ('alone')", "INSERT INTO child VALUES (1, 77)", "SELECT nothing", "SELEC", "INSERT INTO m (name, day) VALUES ('d', '2024-02-30')", "INSERT INTO m (name, y) VALUES ('d', 1)")) {
            refused(statement, () -> s.execute(statement));
        }
        s.setQueryTimeout(1);
        refused("too long", () -> s.executeQuery("SELECT COUNT(*) FROM m a, m b, m c, m d, m e, m f, m g, m h, m i, m j WHERE a.id + b.id + c.id + d.id + e.id = -1"));
        s.setQueryTimeout(0);
        s.setMaxRows(2);
        found("at most", all(s.executeQuery("SELECT id FROM m ORDER BY id")));
        s.setMaxRows(0);
        if (several) {
            boolean isRows = s.execute("SELECT 1; UPDATE m SET d = 0 WHERE id < 4; SELECT 'two' AS x, 3");
            while (isRows || s.getUpdateCount() != -1) {
                found("several", isRows ? all(s.getResultSet()) : s.getUpdateCount());
                isRows = s.getMoreResults();
            }
        }
        s.execute("DROP PROCEDURE IF EXISTS p");
        s.execute("DROP FUNCTION IF EXISTS f");
        s.execute("CREATE PROCEDURE p (IN a INT, INOUT b INT, OUT c VARCHAR(20)) BEGIN SET b = a + b; SET c = CONCAT('<', b, '>'); SELECT a, b; SELECT c; END");
        s.execute("CREATE FUNCTION f (a INT) RETURNS INT DETERMINISTIC RETURN a * 2");
        try (CallableStatement call = c.prepareCall("{call p(?, ?, ?)}")) {
            call.setInt(1, 3);
            call.setInt(2, 4);
            call.registerOutParameter(2, Types.INTEGER);
            call.registerOutParameter(3, Types.VARCHAR);
            found("call", call.execute(), all(call.getResultSet()), call.getMoreResults(), all(call.getResultSet()), call.getInt(2), call.getString(3));
        }
        try (CallableStatement call = c.prepareCall("{? = call f(?)}")) {
            call.registerOutParameter(1, Types.INTEGER);
            call.setInt(2, 21);
            call.execute();
            found("function", call.getInt(1));
        }
        DatabaseMetaData m = c.getMetaData();
        String d = c.getCatalog();
        found("tables", all(m.getTables(d, null, "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME", "TABLE_TYPE", "REMARKS"));
        found("columns", all(m.getColumns(d, null, "m", "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "IS_AUTOINCREMENT", "ORDINAL_POSITION"));
        found("primary", all(m.getPrimaryKeys(d, null, "m"), "COLUMN_NAME", "KEY_SEQ"));
        found("imported", all(m.getImportedKeys(d, null, "child"), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKCOLUMN_NAME", "UPDATE_RULE", "DELETE_RULE", "FK_NAME"));
        found("exported", all(m.getExportedKeys(d, null, "m"), "FKTABLE_NAME", "FK_NAME"));
        found("crossed", all(m.getCrossReference(d, null, "m", d, null, "child"), "FKTABLE_NAME", "FK_NAME"));
        found("indexes", all(m.getIndexInfo(d, null, "m", false, true), "INDEX_NAME", "COLUMN_NAME", "NON_UNIQUE", "ORDINAL_POSITION"));
        found("best", all(m.getBestRowIdentifier(d, null, "m", 0, true), "COLUMN_NAME"));
        found("routines", all(m.getProcedures(d, null, "%"), "PROCEDURE_NAME"), all(m.getFunctions(d, null, "%"), "FUNCTION_NAME"));
        found("parameters", all(m.getProcedureColumns(d, null, "p", "%"), "COLUMN_NAME", "COLUMN_TYPE", "TYPE_NAME"), all(m.getFunctionColumns(d, null, "f", "%"), "COLUMN_NAME", "COLUMN_TYPE", "TYPE_NAME"));
        found("privileges", all(m.getTablePrivileges(d, null, "m")).size(), all(m.getColumnPrivileges(d, null, "m", "%")).size());
        found("words", m.getSQLKeywords().length() > 100, all(m.getTypeInfo()).size() > 20, all(m.getCatalogs(), "TABLE_CAT").contains(List.of(d)), all(m.getClientInfoProperties()).size());
        // As much as one packet may have.
        String long15 = "x".repeat(15 << 20);
        try (PreparedStatement p = c.prepareStatement("SELECT LENGTH(?), RIGHT(?, 2)")) {
            p.setString(1, long15);
            p.setString(2, "end");
            found("long", all(p.executeQuery()));
        }
    }

    /** A transaction of two phases, left prepared and found again. */
    static void distributed() throws Exception {
        org.mariadb.jdbc.MariaDbDataSource source = new org.mariadb.jdbc.MariaDbDataSource(place("&sslMode=disable"));
        record Id(int getFormatId, byte[] getGlobalTransactionId, byte[] getBranchQualifier) implements javax.transaction.xa.Xid {
            public int getFormatId() { return getFormatId; }
            public byte[] getGlobalTransactionId() { return getGlobalTransactionId; }
            public byte[] getBranchQualifier() { return getBranchQualifier; }
        }
        Id id = new Id(7, System.getenv("CLIENT_DATABASE").getBytes(), new byte[] {1, 0, -1});
        javax.sql.XAConnection x = source.getXAConnection();
        var resource = x.getXAResource();
        resource.start(id, javax.transaction.xa.XAResource.TMNOFLAGS);
        x.getConnection().createStatement().executeUpdate("INSERT INTO m (name) VALUES ('in two phases')");
        resource.end(id, javax.transaction.xa.XAResource.TMSUCCESS);
        found("prepared", resource.prepare(id));
        x.close();
        javax.sql.XAConnection again = source.getXAConnection();
        var waiting = again.getXAResource().recover(javax.transaction.xa.XAResource.TMSTARTRSCAN | javax.transaction.xa.XAResource.TMENDRSCAN);
        found("recovered", Arrays.stream(waiting).filter(w -> Arrays.equals(w.getGlobalTransactionId(), id.getGlobalTransactionId())).count());
        again.getXAResource().commit(id, false);
        found("there", all(again.getConnection().createStatement().executeQuery("SELECT COUNT(*) FROM m WHERE name = 'in two phases'")));
        again.close();
    }

    static void pool() throws Exception {
        try (org.mariadb.jdbc.MariaDbPoolDataSource pool = new org.mariadb.jdbc.MariaDbPoolDataSource(place("&sslMode=trust&maxPoolSize=3"))) {
            for (int n = 0; n < 6; n++) {
                try (Connection c = pool.getConnection(); Statement s = c.createStatement()) {
                    found("pooled", all(s.executeQuery("SELECT @@autocommit, DATABASE() IS NULL")));
                    c.setAutoCommit(false);
                    s.executeUpdate("DELETE FROM m");
                }
            }
        }
    }
}
