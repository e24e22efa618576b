import java.io.StringWriter;
import java.nio.file.*;
import java.sql.*;
import java.util.*;
import liquibase.*;
import liquibase.database.*;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.DiffGeneratorFactory;
import liquibase.diff.compare.CompareControl;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.*;

/** Liquibase: a changelog of its own kinds of changes, run twice, rolled back, read again as a snapshot, locks and checksums. */
public class LiquibaseChanges {
    /** Liquibase itself prints where the server is. */
    static final java.io.PrintStream OUT = System.out;

    static void found(String what, Object... values) {
        OUT.println(what + ": " + Arrays.deepToString(values));
    }

    static Connection connect(String more) throws SQLException {
        Map<String, String> e = System.getenv();
        return DriverManager.getConnection("jdbc:mysql://" + e.get("CLIENT_HOST") + ":" + e.get("CLIENT_PORT") + "/" + e.get("CLIENT_DATABASE") + "?allowPublicKeyRetrieval=true&connectionTimeZone=UTC" + more,
                e.get("CLIENT_USER"), e.get("CLIENT_PASSWORD"));
    }

    static final String CHANGES = """
            databaseChangeLog:
            - changeSet:
                id: 1
                author: somebody
                changes:
                - createTable:
                    tableName: customer
                    remarks: "it's of a test"
                    columns:
                    - column: {name: id, type: BIGINT, autoIncrement: true, constraints: {primaryKey: true, nullable: false}}
                    - column: {name: name, type: VARCHAR(60), remarks: "the 'name'", constraints: {nullable: false, unique: true, uniqueConstraintName: once}}
                    - column: {name: credit, type: "DECIMAL(12, 3)", defaultValueNumeric: 0}
                    - column: {name: active, type: BOOLEAN, defaultValueBoolean: true}
                    - column: {name: since, type: DATETIME, defaultValueComputed: CURRENT_TIMESTAMP}
                    - column: {name: notes, type: CLOB}
                    - column: {name: picture, type: BLOB}
                - createTable:
                    tableName: purchase
                    columns:
                    - column: {name: id, type: INT, constraints: {primaryKey: true}}
                    - column: {name: customer, type: BIGINT}
                    - column: {name: word, type: VARCHAR(20)}
                - addForeignKeyConstraint: {constraintName: of_customer, baseTableName: purchase, baseColumnNames: customer, referencedTableName: customer, referencedColumnNames: id, onDelete: CASCADE}
                - createIndex: {indexName: by_word, tableName: purchase, columns: [{column: {name: word}}, {column: {name: customer, descending: true}}]}
            - changeSet:
                id: 2
                author: somebody
                preConditions: [{onFail: MARK_RAN}, {tableExists: {tableName: customer}}, {not: [{columnExists: {tableName: customer, columnName: mail}}]}]
                changes:
                - addColumn: {tableName: customer, columns: [{column: {name: mail, type: VARCHAR(80), afterColumn: name}}]}
                - insert: {tableName: customer, columns: [{column: {name: name, value: "quo'te; and \\\\ back"}}, {column: {name: credit, valueNumeric: 1.5}}, {column: {name: since, valueDate: "2024-02-29T12:00:00"}}]}
                - insert: {tableName: customer, columns: [{column: {name: name, value: "🐎"}}, {column: {name: active, valueBoolean: false}}]}
                - update: {tableName: customer, columns: [{column: {name: mail, value: "a@b"}}], where: "credit > 1"}
                - modifyDataType: {tableName: purchase, columnName: word, newDataType: VARCHAR(40)}
                - renameColumn: {tableName: purchase, oldColumnName: word, newColumnName: words, columnDataType: VARCHAR(40)}
                - addNotNullConstraint: {tableName: purchase, columnName: words, columnDataType: VARCHAR(40), defaultNullValue: none}
                - addDefaultValue: {tableName: purchase, columnName: words, defaultValue: "so"}
                - addUniqueConstraint: {tableName: purchase, columnNames: "customer, words", constraintName: twice}
                - createView: {viewName: rich, selectQuery: "SELECT id, name FROM customer WHERE credit > 1"}
                - setTableRemarks: {tableName: purchase, remarks: bought}
            - changeSet:
                id: 3
                author: somebody
                changes:
                - createProcedure: {procedureName: p, dbms: "mysql,mariadb", procedureText: "CREATE PROCEDURE p(IN a INT) BEGIN SELECT a; SELECT a + 1; END"}
                - sql: {sql: "CREATE TABLE log (n INT); INSERT INTO log VALUES (1); INSERT INTO log VALUES (2)", rollback: "DROP TABLE log"}
                - renameTable: {oldTableName: log, newTableName: logged}
                - tagDatabase: {tag: middle}
                rollback: [{sql: {sql: "DROP PROCEDURE p; DROP TABLE logged"}}]
            - changeSet:
                id: 4
                author: somebody
                changes:
                - dropForeignKeyConstraint: {baseTableName: purchase, constraintName: of_customer}
                - dropUniqueConstraint: {tableName: purchase, constraintName: twice}
                - dropIndex: {tableName: purchase, indexName: by_word}
                - dropDefaultValue: {tableName: purchase, columnName: words, columnDataType: VARCHAR(40)}
                - dropNotNullConstraint: {tableName: purchase, columnName: words, columnDataType: VARCHAR(40)}
                - addLookupTable: {existingTableName: customer, existingColumnName: mail, newTableName: mails, newColumnName: mail, constraintName: of_mails, newColumnDataType: VARCHAR(80)}
                - mergeColumns: {tableName: customer, column1Name: name, joinString: "/", column2Name: notes, finalColumnName: merged, finalColumnType: VARCHAR(200)}
                - dropColumn: {tableName: purchase, columns: [{column: {name: words}}]}
                - dropView: {viewName: rich}
                rollback: []
            - changeSet:
                id: 5
                author: somebody
                changes:
                - addColumn: {tableName: purchase, columns: [{column: {name: extra, type: INT, constraints: {nullable: false}, defaultValueNumeric: 7}}]}
                - createIndex: {indexName: by_extra, tableName: purchase, unique: false, columns: [{column: {name: extra}}]}
            """;

    static void snapshot(Database database) throws Exception {
        DatabaseSnapshot all = SnapshotGeneratorFactory.getInstance().createSnapshot(database.getDefaultSchema(), database, new SnapshotControl(database));
        for (Class<? extends liquibase.structure.DatabaseObject> kind : List.of(liquibase.structure.core.Table.class, liquibase.structure.core.View.class, liquibase.structure.core.PrimaryKey.class,
                liquibase.structure.core.UniqueConstraint.class, liquibase.structure.core.ForeignKey.class, liquibase.structure.core.Index.class)) {
            found("snapshot", kind.getSimpleName(), all.get(kind).stream().map(o -> o.getName()).sorted().toList());
        }
        for (var column : all.get(liquibase.structure.core.Column.class).stream().filter(c -> c.getRelation() instanceof liquibase.structure.core.Table && !c.getRelation().getName().startsWith("DATABASECHANGE"))
                .sorted(Comparator.comparing(c -> c.getRelation().getName() + "." + c.getName())).toList()) {
            // MariaDB writes CURRENT_TIMESTAMP as a function, and a truth value has another type there.
            Object value = column.getDefaultValue();
            String type = column.getName().equals("active") ? "truth" : column.getType().getTypeName();
            found("column", column.getRelation().getName(), column.getName(), type, type.equals("VARCHAR") ? column.getType().getColumnSize() : null, column.isNullable(),
                    value == null ? null : value.toString().toLowerCase().replace("()", ""), column.getRemarks(), column.isAutoIncrement());
        }
    }

    public static void main(String[] arguments) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        System.setOut(new java.io.PrintStream(java.io.OutputStream.nullOutputStream()));
        System.setProperty("liquibase.analytics.enabled", "false");
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        Path folder = Files.createTempDirectory("changes");
        Files.writeString(folder.resolve("changes.yaml"), CHANGES);
        for (String more : List.of("&sslMode=DISABLED", "&sslMode=REQUIRED&useServerPrepStmts=true")) {
            try (Connection c = connect(more)) {
                Database database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(c));
                Liquibase liquibase = new Liquibase("changes.yaml", new DirectoryResourceAccessor(folder), database);
                liquibase.update(2, "");
                snapshot(database);
                liquibase.update("");
                found("left to do", liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).size());
                liquibase.update("");
                liquibase.validate();
                snapshot(database);
                StringWriter text = new StringWriter();
                liquibase.futureRollbackSQL("", text);
                liquibase.rollback(1, "");
                liquibase.tag("here");
                found("tagged", liquibase.tagExists("middle"), liquibase.tagExists("elsewhere"));
                liquibase.forceReleaseLocks();
                found("locks", liquibase.listLocks().length);
                try (Statement s = c.createStatement(); ResultSet rows = s.executeQuery("SELECT ID, EXECTYPE, MD5SUM, TAG FROM DATABASECHANGELOG ORDER BY ORDEREXECUTED")) {
                    while (rows.next()) found("ran", rows.getString(1), rows.getString(2), rows.getString(3), rows.getString(4));
                }
                try (Statement s = c.createStatement(); ResultSet rows = s.executeQuery("SELECT id, merged, active, credit, mail FROM customer ORDER BY id")) {
                    while (rows.next()) found("row", rows.getLong(1), rows.getString(2), rows.getBoolean(3), rows.getBigDecimal(4), rows.getString(5));
                }
                var same = DiffGeneratorFactory.getInstance().compare(database, database, CompareControl.STANDARD);
                found("differs from itself", !same.areEqual());
                liquibase.dropAll();
                try (Statement s = c.createStatement()) {
                    s.execute("DROP PROCEDURE p");
                }
                snapshot(database);
            }
        }
        try (var files = Files.walk(folder)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) Files.delete(path);
        }
    }
}
