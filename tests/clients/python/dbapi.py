"""One course through a driver of the DB-API: dbapi.py pymysql|mysql.connector|MySQLdb."""

import datetime
import decimal
import importlib
import sys

from place import DATABASE, HOST, PASSWORD, PORT, USER, found

driver = importlib.import_module(sys.argv[1])


def connect(**more):
    options = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, database=DATABASE)
    if sys.argv[1] == "mysql.connector":
        options["use_pure"] = True
    return driver.connect(**{**options, **more})


connection = connect()
cursor = connection.cursor()
cursor.execute("DROP TABLE IF EXISTS t")
cursor.execute(
    "CREATE TABLE t (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) UNIQUE, price DECIMAL(12,3),"
    " at DATETIME(6), day DATE, span TIME, data BLOB, weight DOUBLE, small TINYINT(1), big BIGINT, kind ENUM('a','b'))"
    " DEFAULT CHARSET utf8mb4"
)
row = (
    "žluťoučký kůň 🐎",
    decimal.Decimal("-123456789.125"),
    datetime.datetime(2024, 2, 29, 23, 59, 58, 123456),
    datetime.date(1999, 12, 31),
    datetime.timedelta(hours=30, minutes=1),
    bytes(range(256)),
    0.1,
    1,
    -(2**63),
    "b",
)
insert = "INSERT INTO t (name, price, at, day, span, data, weight, small, big, kind) VALUES (%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)"
cursor.execute(insert, row)
found("inserted", cursor.rowcount, cursor.lastrowid)
cursor.executemany("INSERT INTO t (name, price) VALUES (%s, %s)", [(f"n{n}", n) for n in range(100)])
found("many", cursor.rowcount)
connection.commit()

cursor.execute("SELECT * FROM t WHERE id = %s", (1,))
found("columns", [(column[0], column[1], column[6]) for column in cursor.description])
found("row", cursor.fetchone())
cursor.fetchall()
cursor.execute("SELECT COUNT(*), SUM(price), MAX(name), GROUP_CONCAT(id ORDER BY id) FROM t WHERE price BETWEEN %s AND %s", (3, 7))
found("aggregates", cursor.fetchall())

cursor.execute("DELETE FROM t WHERE price > 50")
found("deleted", cursor.rowcount)
connection.rollback()
cursor.execute("SELECT COUNT(*) FROM t")
found("rolled back", cursor.fetchall())

for statement in (
    "INSERT INTO t (name) VALUES ('n1')",
    "SELECT * FROM missing",
    "SELECT missing FROM t",
    "SELEC 1",
    "INSERT INTO t (kind) VALUES ('c')",
    "USE nowhere",
):
    try:
        cursor.execute(statement)
        found(statement, "no error")
    except driver.Error as error:
        found(statement, type(error).__name__, error.args[0])
connection.rollback()

# A row of 3 MB goes both ways.
blob = bytes(n * 7 % 251 for n in range(3 * 1024 * 1024))
cursor.execute("CREATE TEMPORARY TABLE big (b LONGBLOB)")
cursor.execute("INSERT INTO big VALUES (%s)", (blob,))
cursor.execute("SELECT b, LENGTH(b) FROM big")
((back, length),) = cursor.fetchall()
found("blob", back == blob, length)

cursor.execute("SELECT @@autocommit, @@sql_mode IS NULL, CONNECTION_ID() > 0, DATABASE()")
found("session", cursor.fetchall())

# A prepared statement, where the driver has them.
if sys.argv[1] == "mysql.connector":
    prepared = connection.cursor(prepared=True)
    for price in (3, 4):
        prepared.execute("SELECT name, price, at FROM t WHERE price = ?", (price,))
        found("prepared", prepared.fetchall())
    prepared.close()
    cursor.execute("SELECT 1; SELECT 'two', 3")
    for answer in [cursor.fetchall()] + [cursor.fetchall() for _ in iter(cursor.nextset, None)]:
        found("several", answer)
    encrypted = connect(ssl_disabled=False)
else:
    connection.ping()
    encrypted = connect(ssl={"check_hostname": False}) if sys.argv[1] == "pymysql" else connect()
if sys.argv[1] == "pymysql":
    several = connect(client_flag=driver.constants.CLIENT.MULTI_STATEMENTS)
    with several.cursor() as c:
        c.execute("SELECT 1; SELECT 'two', 3")
        found("several", c.fetchall(), c.nextset(), c.fetchall(), c.nextset())
cursor = encrypted.cursor()
cursor.execute("SHOW TABLES")
found("tables", cursor.fetchall())
encrypted.close()
connection.close()
