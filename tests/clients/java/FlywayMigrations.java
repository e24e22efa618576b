import java.nio.file.*;
import java.sql.*;
import java.util.*;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;

/** Flyway: migrate, migrate again, a repeatable one, two at once, one that fails and its repair, validate, baseline, clean. */
public class FlywayMigrations {
    static void found(String what, Object... values) {
        System.out.println(what + ": " + Arrays.deepToString(values));
    }

    static String place(String more) {
        Map<String, String> e = System.getenv();
        return "jdbc:mysql://" + e.get("CLIENT_HOST") + ":" + e.get("CLIENT_PORT") + "/" + e.get("CLIENT_DATABASE") + "?allowPublicKeyRetrieval=true&connectionTimeZone=UTC" + more;
    }

    static Flyway flyway(Path folder, String more) {
        return Flyway.configure().dataSource(place(more), System.getenv("CLIENT_USER"), System.getenv("CLIENT_PASSWORD"))
                .locations("filesystem:" + folder).cleanDisabled(false).table("flyway_history").load();
    }

    static void history(Flyway flyway) {
        for (var info : flyway.info().all()) {
            found("history", info.getVersion(), info.getDescription(), info.getState(), info.getChecksum());
        }
    }

    static void schema(String more) throws SQLException {
        Map<String, String> e = System.getenv();
        try (Connection c = DriverManager.getConnection(place(more), e.get("CLIENT_USER"), e.get("CLIENT_PASSWORD")); Statement s = c.createStatement()) {
            for (String query : List.of("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
                    "SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER BY 1",
                    "SELECT trigger_name, event_manipulation FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1",
                    "SELECT event_name FROM information_schema.events WHERE event_schema = DATABASE() ORDER BY 1")) {
                ResultSet rows = s.executeQuery(query);
                List<String> all = new ArrayList<>();
                while (rows.next()) all.add(rows.getString(1) + (rows.getMetaData().getColumnCount() > 1 ? " " + rows.getString(2) : ""));
                found("schema", all.toArray());
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        Path folder = Files.createTempDirectory("migrations");
        Files.writeString(folder.resolve("V1__first.sql"), """
                -- The first tables.
                CREATE TABLE `customer` (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL) ENGINE=InnoDB;
                /*!40101 SET @was = @@session.sql_mode */;
                INSERT INTO customer (name) VALUES ('semi;colon'), ('quo\\'te'), ("dash -- dash"), ('${not}a placeholder'); # the end
                CREATE TABLE log (n INT, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
                """.replace("${not}", "$ {not}"));
        Files.writeString(folder.resolve("V1_1__programs.sql"), """
                DELIMITER //
                CREATE PROCEDURE fill(IN top INT)
                BEGIN
                  DECLARE n INT DEFAULT 0;
                  WHILE n < top DO
                    INSERT INTO log (n) VALUES (n);
                    SET n = n + 1;
                  END WHILE;
                END//
                CREATE TRIGGER after_customer AFTER INSERT ON customer FOR EACH ROW BEGIN INSERT INTO log (n) VALUES (NEW.id); END//
                CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN a * 2//
                DELIMITER ;
                CALL fill(5);
                CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 00:00:00' DO DELETE FROM log;
                INSERT INTO customer (name) VALUES (CONCAT('made ', twice(21)));
                """);
        Files.writeString(folder.resolve("R__view.sql"), "CREATE OR REPLACE VIEW logged AS SELECT n, COUNT(*) AS times FROM log GROUP BY n;");
        Flyway plain = flyway(folder, "&sslMode=DISABLED");
        Flyway tls = flyway(folder, "&sslMode=REQUIRED&useServerPrepStmts=true");
        found("migrated", plain.migrate().migrationsExecuted, tls.migrate().migrationsExecuted);
        tls.validate();
        history(tls);
        Files.writeString(folder.resolve("R__view.sql"), "CREATE OR REPLACE VIEW logged AS SELECT n, COUNT(*) AS times, MAX(at) AS last FROM log GROUP BY n;");
        // Two that come at once: the lock by name lets one of them do it.
        Files.writeString(folder.resolve("V2__wider.sql"), "ALTER TABLE customer ADD COLUMN mail VARCHAR(80) NULL AFTER name, ADD INDEX by_mail (mail(10)); DO SLEEP(0.2);");
        var executed = List.of(plain, tls).parallelStream().mapToInt(flyway -> flyway.migrate().migrationsExecuted).sum();
        found("two at once", executed);
        Files.writeString(folder.resolve("V3__fails.sql"), "CREATE TABLE half (a INT); INSERT INTO half VALUES (1); INSERT INTO missing VALUES (1);");
        try {
            plain.migrate();
        } catch (FlywayException failure) {
            found("failed", failure.getClass().getSimpleName(), failure.getMessage().contains("1146"));
        }
        history(plain);
        schema("&sslMode=DISABLED");
        found("repaired", plain.repair().migrationsRemoved.size());
        Files.writeString(folder.resolve("V3__fails.sql"), "INSERT INTO half VALUES (2); CREATE TABLE `sch ema` (a INT PRIMARY KEY, b JSON, c INT GENERATED ALWAYS AS (a * 2) STORED);");
        found("migrated", tls.migrate().migrationsExecuted);
        Files.writeString(folder.resolve("V1__first.sql"), "SELECT 1;");
        found("valid", plain.validateWithResult().validationSuccessful);
        tls.clean();
        schema("&sslMode=REQUIRED");
        tls.baseline();
        history(plain);
        plain.clean();
        try (var files = Files.walk(folder)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
        }
    }
}
