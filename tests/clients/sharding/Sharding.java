import com.mysql.cj.MysqlConnection;
import com.mysql.cj.Query;
import com.mysql.cj.interceptors.QueryInterceptor;
import com.mysql.cj.log.Log;
import com.mysql.cj.protocol.Resultset;
import com.mysql.cj.protocol.ServerSession;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.*;
import java.time.LocalDateTime;
import java.util.*;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.apache.shardingsphere.driver.api.yaml.YamlShardingSphereDataSourceFactory;

/**
 * Apache ShardingSphere-JDBC over two servers: tables divided by key, a table that both have, reads that go elsewhere,
 * and transactions by XA. "work" ends with a server that is killed between PREPARE and COMMIT; "after" finds what came of that.
 */
public class Sharding {
    static void found(String what, Object... values) {
        System.out.println(what + ": " + Arrays.deepToString(values));
    }

    static DataSource node(int number) {
        Map<String, String> e = System.getenv();
        HikariDataSource node = new HikariDataSource();
        node.setJdbcUrl("jdbc:mysql://" + e.get("CLIENT_HOST") + ":" + e.get(number == 0 ? "CLIENT_PORT" : "CLIENT_PORT_2") + "/" + e.get("CLIENT_DATABASE")
                + "?allowPublicKeyRetrieval=true&sslMode=DISABLED&queryInterceptors=" + Deadly.class.getName());
        node.setUsername(e.get("CLIENT_USER"));
        node.setPassword(e.get("CLIENT_PASSWORD"));
        node.setMaximumPoolSize(5);
        return node;
    }

    static final String DIVIDED = """
        mode: {type: Standalone, repository: {type: JDBC}}
        rules:
        - !SHARDING
          tables:
            orders:
              actualDataNodes: node_${0..1}.orders_${0..1}
              databaseStrategy: {standard: {shardingColumn: customer, shardingAlgorithmName: node}}
              tableStrategy: {standard: {shardingColumn: id, shardingAlgorithmName: orders}}
            items:
              actualDataNodes: node_${0..1}.items_${0..1}
              databaseStrategy: {standard: {shardingColumn: customer, shardingAlgorithmName: node}}
              tableStrategy: {standard: {shardingColumn: id, shardingAlgorithmName: items}}
          bindingTables: ['orders,items']
          broadcastTables: [kinds]
          shardingAlgorithms:
            node: {type: INLINE, props: {algorithm-expression: 'node_${customer % 2}'}}
            orders: {type: INLINE, props: {algorithm-expression: 'orders_${id % 2}', allow-range-query-with-inline-sharding: true}}
            items: {type: INLINE, props: {algorithm-expression: 'items_${id % 2}', allow-range-query-with-inline-sharding: true}}
        - !TRANSACTION
          defaultType: XA
          providerType: Atomikos
        props: {sql-show: false}
        """;

    static final String SPLIT = """
        mode: {type: Standalone, repository: {type: JDBC}}
        rules:
        - !READWRITE_SPLITTING
          dataSources:
            both: {staticStrategy: {writeDataSourceName: node_0, readDataSourceNames: [node_1]}, loadBalancerName: turns}
          loadBalancers: {turns: {type: ROUND_ROBIN}}
        """;

    static DataSource over(DataSource[] nodes, String rules) throws Exception {
        Map<String, DataSource> named = new LinkedHashMap<>();
        for (int n = 0; n < nodes.length; n++) named.put("node_" + n, nodes[n]);
        return YamlShardingSphereDataSourceFactory.createDataSource(named, rules.getBytes("UTF-8"));
    }

    static List<List<Object>> all(Connection c, String sql, Object... values) throws SQLException {
        try (PreparedStatement p = c.prepareStatement(sql)) {
            for (int n = 0; n < values.length; n++) p.setObject(n + 1, values[n]);
            List<List<Object>> all = new ArrayList<>();
            try (ResultSet rows = p.executeQuery()) {
                while (rows.next()) {
                    List<Object> row = new ArrayList<>();
                    for (int n = 1; n <= rows.getMetaData().getColumnCount(); n++) row.add(rows.getObject(n));
                    all.add(row);
                }
            }
            return all;
        }
    }

    static void run(Connection c, String... statements) throws SQLException {
        try (Statement s = c.createStatement()) {
            for (String statement : statements) s.execute(statement);
        }
    }

    /** A new XA transaction: it begins where autocommit is turned off. */
    static void begin(Connection c) throws SQLException {
        c.setAutoCommit(true);
        c.setAutoCommit(false);
    }

    static final String SUMS = "SELECT COUNT(*), SUM(total), MIN(id), MAX(id) FROM orders";

    public static void main(String[] arguments) throws Exception {
        ((ch.qos.logback.classic.Logger) org.slf4j.LoggerFactory.getLogger("ROOT")).setLevel(ch.qos.logback.classic.Level.OFF);
        Map<String, String> settings = Map.of("log_base_dir", System.getenv("CLIENT_LOG"), "registered", "true", "recovery_delay", "500",
                "default_jta_timeout", "15000", "max_timeout", "20000");
        settings.forEach((name, value) -> System.setProperty("com.atomikos.icatch." + name, value));
        DataSource[] nodes = {node(0), node(1)};
        if (arguments[0].equals("after")) {
            after(nodes);
            System.exit(0);
        }
        try (Connection zero = nodes[0].getConnection(); Connection one = nodes[1].getConnection()) {
            for (Connection c : List.of(zero, one)) {
                for (int n = 0; n < 2; n++) {
                    run(c, "CREATE TABLE orders_" + n + " (id BIGINT PRIMARY KEY, customer INT NOT NULL, total DECIMAL(10,2), note VARCHAR(40), made DATETIME, KEY (customer))",
                            "CREATE TABLE items_" + n + " (id BIGINT, line INT, customer INT NOT NULL, kind INT, amount INT, PRIMARY KEY (id, line))");
                }
                run(c, "CREATE TABLE kinds (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL)", "CREATE TABLE place (id INT PRIMARY KEY, name VARCHAR(20))");
            }
            run(zero, "CREATE TABLE alone (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(20))", "INSERT INTO place VALUES (1, 'zero')");
            run(one, "INSERT INTO place VALUES (1, 'one')");
        }
        // ShardingSphere notes the kind of a thread's first transaction for all that follow.
        java.util.concurrent.CompletableFuture.runAsync(() -> split(nodes)).get();
        DataSource divided = over(nodes, DIVIDED);
        rows(divided);
        queries(divided);
        changes(divided);
        distributed(divided, nodes);
        killed(divided, nodes);
        System.exit(0);
    }

    static void split(DataSource[] nodes) {
        try (Connection c = over(nodes, SPLIT).getConnection()) {
            found("a read goes to the second", all(c, "SELECT name FROM place WHERE id = ?", 1));
            run(c, "UPDATE place SET name = 'changed' WHERE id = 1");
            found("and does not see the write", all(c, "SELECT name FROM place WHERE id = ?", 1));
            c.setAutoCommit(false);
            found("in a transaction it goes to the first", all(c, "SELECT name FROM place WHERE id = ? FOR UPDATE", 1));
            run(c, "UPDATE place SET name = 'again' WHERE id = 1");
            found("which sees its write", all(c, "SELECT name FROM place WHERE id = ?", 1));
            c.rollback();
            c.setAutoCommit(true);
            found("FOR UPDATE is no read", all(c, "SELECT name FROM place WHERE id = 1 FOR UPDATE"));
        } catch (Exception cause) {
            throw new IllegalStateException(cause);
        }
    }

    static void rows(DataSource divided) throws Exception {
        try (Connection c = divided.getConnection()) {
            run(c, "INSERT INTO kinds VALUES (1, 'bread'), (2, 'wine'), (3, 'cheese')");
            try (PreparedStatement p = c.prepareStatement("INSERT INTO orders (id, customer, total, note, made) VALUES (?, ?, ?, ?, ?)")) {
                for (int n = 1; n <= 200; n++) {
                    p.setLong(1, n);
                    p.setInt(2, n * 7 % 23);
                    p.setBigDecimal(3, java.math.BigDecimal.valueOf(n * 25L, 2));
                    p.setString(4, n % 9 == 0 ? null : "note " + n % 5);
                    p.setTimestamp(5, Timestamp.valueOf(LocalDateTime.of(2024, 3, 1, 10, 0).plusMinutes(n)));
                    p.addBatch();
                }
                found("batch", Arrays.stream(p.executeBatch()).sum());
            }
            c.setAutoCommit(false);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO items (id, line, customer, kind, amount) VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)")) {
                for (int n = 1; n <= 200; n++) {
                    Object[] values = {n, 1, n * 7 % 23, n % 3 + 1, n % 4, n, 2, n * 7 % 23, n % 2 + 1, n % 6};
                    for (int at = 0; at < values.length; at++) p.setObject(at + 1, values[at]);
                    p.addBatch();
                }
                found("batch in a transaction", p.executeBatch().length);
            }
            c.commit();
            c.setAutoCommit(true);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO alone (text) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                p.setString(1, "kept on one server");
                p.executeUpdate();
                ResultSet keys = p.getGeneratedKeys();
                keys.next();
                found("key", keys.getLong(1));
            }
        }
    }

    static void queries(DataSource divided) throws Exception {
        try (Connection c = divided.getConnection()) {
            for (String sql : List.of(SUMS, "SELECT * FROM orders WHERE id = 77 AND customer = 10", "SELECT id, customer, total FROM orders ORDER BY total DESC, id LIMIT 5",
                    "SELECT id FROM orders ORDER BY id LIMIT 7 OFFSET 150", "SELECT DISTINCT note FROM orders ORDER BY note",
                    "SELECT customer, COUNT(*) AS n, SUM(total) AS s, AVG(total) AS a FROM orders GROUP BY customer ORDER BY s DESC LIMIT 6",
                    "SELECT note, MAX(made) FROM orders GROUP BY note ORDER BY note", "SELECT COUNT(DISTINCT note) FROM orders",
                    "SELECT o.id, i.line, i.amount, o.total FROM orders o JOIN items i ON o.id = i.id AND o.customer = i.customer WHERE i.amount = 5 ORDER BY o.id, i.line LIMIT 10",
                    "SELECT k.name, SUM(i.amount) FROM items i JOIN kinds k ON k.id = i.kind GROUP BY k.name ORDER BY k.name",
                    "SELECT o.id, k.name FROM orders o JOIN items i ON o.id = i.id AND o.customer = i.customer JOIN kinds k ON k.id = i.kind WHERE o.id IN (3, 50, 51) ORDER BY o.id, k.name",
                    "SELECT id FROM orders WHERE customer IN (3, 4) AND id BETWEEN 10 AND 120 ORDER BY id DESC LIMIT 4",
                    "SELECT id, total FROM orders WHERE made >= '2024-03-01 13:15:00' ORDER BY id", "SELECT * FROM alone", "SELECT MIN(total), MAX(total) FROM orders WHERE note IS NULL",
                    "SELECT LEFT(note, 4) AS what, COUNT(*) FROM orders GROUP BY LEFT(note, 4) ORDER BY what")) {
                found(sql, all(c, sql));
            }
            try (ResultSet columns = c.getMetaData().getColumns(null, null, "orders", null)) {
                List<String> all = new ArrayList<>();
                while (columns.next()) all.add(columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME") + " " + columns.getInt("COLUMN_SIZE"));
                found("columns", all);
            }
        }
    }

    static void changes(DataSource divided) throws Exception {
        try (Connection c = divided.getConnection(); Statement s = c.createStatement()) {
            found("update by key", s.executeUpdate("UPDATE orders SET note = 'one' WHERE id = 20 AND customer = 2"));
            found("update of all", s.executeUpdate("UPDATE orders SET total = total + 1 WHERE total < 10"));
            found("delete", s.executeUpdate("DELETE FROM orders WHERE id > 190"));
            found("upsert", s.executeUpdate("INSERT INTO orders (id, customer, total) VALUES (20, 2, 5), (301, 4, 6) ON DUPLICATE KEY UPDATE total = VALUES(total)"));
            try {
                s.executeUpdate("INSERT INTO orders (id, customer) VALUES (20, 2)");
            } catch (SQLException refusal) {
                found("duplicate", refusal.getErrorCode(), refusal.getSQLState());
            }
            run(c, "ALTER TABLE orders ADD COLUMN more INT DEFAULT 3", "CREATE INDEX by_note ON orders (note)");
            found("altered everywhere", all(c, "SELECT more, COUNT(*) FROM orders GROUP BY more"));
            run(c, "DROP INDEX by_note ON orders", "ALTER TABLE orders DROP COLUMN more");
            found("sums", all(c, SUMS));
        }
    }

    static long prepared(DataSource node) throws SQLException {
        try (Connection c = node.getConnection(); ResultSet rows = c.createStatement().executeQuery("XA RECOVER")) {
            long count = 0;
            while (rows.next()) count++;
            return count;
        }
    }

    static void distributed(DataSource divided, DataSource[] nodes) throws Exception {
        try (Connection c = divided.getConnection()) {
            begin(c);
            run(c, "INSERT INTO orders (id, customer, total) VALUES (401, 1, 10), (402, 2, 10), (403, 3, 10), (404, 4, 10)", "UPDATE kinds SET name = 'white wine' WHERE id = 2");
            found("seen inside", all(c, "SELECT COUNT(*) FROM orders WHERE id > 400"));
            try (Connection other = divided.getConnection()) {
                found("not seen outside", all(other, "SELECT COUNT(*) FROM orders WHERE id > 400"));
            }
            c.rollback();
            c.setAutoCommit(true);
            found("rolled back", all(c, "SELECT COUNT(*) FROM orders WHERE id > 400"), all(c, "SELECT name FROM kinds WHERE id = 2"));
            begin(c);
            run(c, "INSERT INTO orders (id, customer, total) VALUES (401, 1, 10), (402, 2, 10), (403, 3, 10), (404, 4, 10)", "UPDATE kinds SET name = 'red wine' WHERE id = 2");
            c.commit();
            begin(c);
            run(c, "UPDATE orders SET total = total - 3 WHERE id = 401 AND customer = 1", "UPDATE orders SET total = total + 3 WHERE id = 402 AND customer = 2");
            try {
                run(c, "INSERT INTO orders (id, customer) VALUES (403, 3)");
            } catch (SQLException refusal) {
                found("refused inside", refusal.getErrorCode());
            }
            c.rollback();
            c.setAutoCommit(true);
            found("committed", all(c, "SELECT id, total FROM orders WHERE id > 400 ORDER BY id"), all(c, "SELECT name FROM kinds WHERE id = 2"));
        }
        for (int n = 0; n < 2; n++) {
            try (Connection c = nodes[n].getConnection()) {
                found("node " + n, all(c, "SELECT (SELECT COUNT(*) FROM orders_0), (SELECT COUNT(*) FROM orders_1), (SELECT name FROM kinds WHERE id = 2)"), prepared(nodes[n]));
            }
        }
    }

    static void killed(DataSource divided, DataSource[] nodes) throws Exception {
        try (Connection c = divided.getConnection()) {
            c.setAutoCommit(false);
            run(c, "UPDATE orders SET total = total - 3 WHERE id = 401 AND customer = 1", "UPDATE orders SET total = total + 3 WHERE id = 402 AND customer = 2");
            Deadly.kills = System.getenv("CLIENT_KILL");
            try {
                c.commit();
            } catch (SQLException refusal) {
                // Whether the manager waits for the server or says that it does not know depends on its patience.
            }
            found("killed between PREPARE and COMMIT", Deadly.kills == null);
        } catch (SQLException gone) {
            // The connection that the pool gets back is broken.
        }
    }

    /** The manager's log has the decision; its recovery carries it out. */
    static void after(DataSource[] nodes) throws Exception {
        found("prepared", prepared(nodes[0]), prepared(nodes[1]));
        DataSource divided = over(nodes, DIVIDED);
        for (int tries = 0; tries < 300 && prepared(nodes[0]) + prepared(nodes[1]) > 0; tries++) Thread.sleep(100);
        found("left", prepared(nodes[0]), prepared(nodes[1]));
        try (Connection c = divided.getConnection()) {
            found("both or neither", all(c, "SELECT id, total FROM orders WHERE id IN (401, 402) ORDER BY id"));
            found("sums", all(c, SUMS));
            run(c, "UPDATE orders SET note = 'free' WHERE id = 401 AND customer = 1", "UPDATE orders SET note = 'free' WHERE id = 402 AND customer = 2");
            found("no lock is left", all(c, "SELECT COUNT(*) FROM orders WHERE note = 'free'"));
        }
    }

    /** Kills a server before the first XA COMMIT that it is asked for, if one is to die. */
    public static class Deadly implements QueryInterceptor {
        static volatile String kills;

        @Override
        public QueryInterceptor init(MysqlConnection connection, Properties properties, Log log) {
            return this;
        }

        @Override
        public <T extends Resultset> T preProcess(Supplier<String> sql, Query query) {
            String process = kills;
            if (process != null && sql != null && sql.get().startsWith("XA COMMIT")) {
                kills = null;
                try {
                    new ProcessBuilder("kill", "-9", process).inheritIO().start().waitFor();
                    Thread.sleep(300);
                } catch (Exception cause) {
                    throw new IllegalStateException(cause);
                }
            }
            return null;
        }

        @Override
        public boolean executeTopLevelOnly() {
            return false;
        }

        @Override
        public void destroy() {}

        @Override
        public <T extends Resultset> T postProcess(Supplier<String> sql, Query query, T found, ServerSession session) {
            return found;
        }
    }
}
