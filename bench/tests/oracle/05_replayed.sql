-- What the replay of MariaDB's own test files once found to be answered otherwise.
SELECT 99999999999999999999999999999999999999999999999999999999999999999999999;
SET @a = 1000003;
SELECT @a AS a UNION ALL SELECT 1.0;
SELECT FIELD('b','A' COLLATE utf8mb4_bin,'B'), FIELD('b','A','B');
SELECT CASE '20:10:05' WHEN DATE'2020-10-10' THEN 'never' WHEN TIME'20:10:5' THEN 'ok' ELSE 'bug' END;
SELECT CASE 10 WHEN '10.0' THEN 'number' WHEN 10 THEN 'late' END, CASE 'B' WHEN 'b' COLLATE utf8mb4_bin THEN 1 WHEN 'b' THEN 2 END;
SELECT TIMEDIFF('2000:01:01 00:00:00','2000:01:01 00:00:00.000001');
SELECT 'här' REGEXP 'h[[:alpha:]]+r', 'hÄr' REGEXP 'h[[:upper:]]r', 'här' REGEXP 'h[[:lower:]]r', 'hör' REGEXP 'h[^[:alnum:]]r';
SELECT 'a]b' REGEXP 'a[]]b', 'a:b' REGEXP 'a[:]b';
SELECT SOUNDEX('Tymczak'), SOUNDEX('Pfister'), SOUNDEX('Hello'), SOUNDEX('Quadratically');
SELECT -9999999999999999991 DIV -1;
SELECT 18446744073709551615 DIV 1.0;
CREATE TABLE r_format AS SELECT FORMAT(-1e308,2) AS f;
SELECT LENGTH(f) FROM r_format;
CREATE TABLE r_double (a INT, b DOUBLE(10,2));
INSERT INTO r_double VALUES (1,2.4),(1,-1.2),(1,-1.2),(2,0.1),(2,0.2),(2,-0.3),(3,1);
SELECT a, SUM(b) s FROM r_double GROUP BY a HAVING s <> 0;
SELECT a, SUM(b) s FROM r_double GROUP BY a HAVING s = 0 ORDER BY a;
SELECT a FROM r_double WHERE b = 0.1;
-- INTO stands before a derived table with queries of its own.
SELECT a INTO @v FROM (SELECT 7 AS a UNION SELECT 7) x;
SELECT @v;
-- The zero date is found by IS NULL where NULL cannot be.
SET sql_mode = '';
CREATE TABLE r_zero (id INT, d DATE NOT NULL, dt DATETIME NOT NULL, n DATE, KEY (d));
INSERT INTO r_zero VALUES (1,'0000-00-00','0000-00-00','0000-00-00'),(2,'2001-01-01','2001-01-01',NULL),(3,'2001-01-01','0000-00-00','2001-01-01');
SELECT id FROM r_zero WHERE d IS NULL;
SELECT id FROM r_zero WHERE dt IS NULL AND id > 1;
SELECT id FROM r_zero WHERE d IS NULL OR id = 2 ORDER BY id;
SELECT id FROM r_zero WHERE n IS NULL;
SELECT id FROM r_zero WHERE NOT (d IS NULL) ORDER BY id;
SELECT id, d IS NULL FROM r_zero ORDER BY id;
SELECT id FROM (SELECT * FROM r_zero) x WHERE d IS NULL;
SELECT a.id, b.id FROM r_zero a LEFT JOIN r_zero b ON a.id = b.id + 1 WHERE b.d IS NULL ORDER BY a.id;
UPDATE r_zero SET id = 9 WHERE d IS NULL;
DELETE FROM r_zero WHERE dt IS NULL;
SELECT id FROM r_zero;
SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
-- A subquery of two rows is NULL in a change with IGNORE.
CREATE TABLE r_one (a INT, b INT);
CREATE TABLE r_two (pk INT PRIMARY KEY, a INT);
INSERT INTO r_one VALUES (1,1),(2,3),(3,1),(3,2);
INSERT INTO r_two VALUES (1,1),(2,2);
UPDATE IGNORE r_one SET b = (SELECT pk FROM r_two WHERE r_two.pk > 0) WHERE a = 1;
UPDATE r_one SET b = (SELECT pk FROM r_two WHERE r_two.pk > 0) WHERE a = 1;
DELETE IGNORE FROM r_one WHERE b <> (SELECT pk FROM r_two);
DELETE FROM r_one WHERE b <> (SELECT pk FROM r_two);
INSERT IGNORE INTO r_one VALUES ((SELECT pk FROM r_two), 1);
INSERT IGNORE INTO r_one SELECT (SELECT pk FROM r_two), 1;
INSERT INTO r_one VALUES ((SELECT pk FROM r_two), 1);
SELECT a, b FROM r_one ORDER BY a, b;
-- An alias in a later subquery of the select list.
SELECT b c, (SELECT pk FROM r_two WHERE pk = c) FROM r_one;
SELECT b x, (SELECT GROUP_CONCAT(x) FROM r_two) FROM r_one;
SELECT b x, (SELECT x) FROM r_one;
SELECT b x, (SELECT x + 1) y, x + 1 FROM r_one;
SELECT COUNT(*) x, (SELECT x) FROM r_one;
-- Columns of the row that have no value yet.
CREATE TABLE r_row (a INT NOT NULL AUTO_INCREMENT PRIMARY KEY, b INT DEFAULT 5, c INT NOT NULL);
INSERT INTO r_row VALUES (a + 2, 1, 1);
INSERT INTO r_row (a, b, c) VALUES (10, b + 1, 1);
INSERT INTO r_row (a, c) VALUES (11, c + 1);
INSERT INTO r_row (a, c, b) VALUES (12, a + 1, c + 1);
INSERT INTO r_row SET c = 1, b = c + a;
SELECT a, b, c FROM r_row ORDER BY a;
-- Rows and subqueries of several columns.
SELECT (SELECT 1, 2) IN (SELECT 3, 4), (SELECT 3, 4) IN (SELECT 3, 4);
SELECT (SELECT 3, 4) = (SELECT 3, 4), ROW(3, 4) = (SELECT 3, 4), (SELECT 3, 4) = ROW(3, 4), (SELECT 3, NULL) <=> (3, NULL);
SELECT (3, 4) > (SELECT 3, 3), (SELECT 3, 3) < (3, 4), (SELECT 3, 3) <> (3, 3), (1, 2) = (SELECT 1, 2 FROM r_row WHERE a > 100);
SELECT a FROM r_one WHERE (a, b) = (SELECT MAX(a), MIN(b) FROM r_one i WHERE i.a = r_one.a);
SELECT (SELECT pk, a FROM r_two) = (1, 1);
SELECT (SELECT 1, 2) = (SELECT 1, 2, 3);
-- ON DUPLICATE KEY UPDATE: a bare name that both tables have.
CREATE TABLE r_to (a INT PRIMARY KEY, b INT);
CREATE TABLE r_from (a INT PRIMARY KEY, b INT);
INSERT INTO r_to VALUES (1, 1);
INSERT INTO r_from VALUES (1, 5), (2, 6);
INSERT INTO r_to SELECT a, b FROM r_from ON DUPLICATE KEY UPDATE b = b + 1;
INSERT INTO r_to SELECT a, b FROM r_from ON DUPLICATE KEY UPDATE b = r_from.b + r_to.b;
SELECT a, b FROM r_to ORDER BY a;
-- ONLY_FULL_GROUP_BY looks into subqueries, and at the order of one row.
SET sql_mode = CONCAT(@@sql_mode, ',ONLY_FULL_GROUP_BY');
SELECT COUNT(*), (SELECT COUNT(*) FROM r_two i WHERE i.a = o.a) FROM r_two o;
SELECT 1 FROM r_two ORDER BY COUNT(*) + a;
SELECT (SELECT o.a FROM r_two i LIMIT 1) FROM r_one o GROUP BY o.b;
SELECT (SELECT o.b FROM r_two i LIMIT 1) FROM r_one o GROUP BY o.b ORDER BY 1;
SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
-- SET INSERT_ID, and the row that IS NULL finds.
CREATE TABLE r_auto (id INT AUTO_INCREMENT PRIMARY KEY, v INT);
SET INSERT_ID = 10;
INSERT INTO r_auto VALUES (NULL, 1);
INSERT INTO r_auto VALUES (NULL, 2), (NULL, 3);
SET INSERT_ID = 50;
SELECT @@insert_id;
INSERT INTO r_auto VALUES (NULL, 4), (NULL, 5);
SET INSERT_ID = 70;
INSERT INTO r_auto VALUES (100, 4);
INSERT INTO r_auto VALUES (NULL, 6);
INSERT INTO r_auto VALUES (NULL, 7);
SELECT id, v FROM r_auto ORDER BY id;
SET sql_auto_is_null = 1;
INSERT INTO r_auto VALUES (NULL, 9);
SELECT id, v FROM r_auto WHERE id IS NULL;
SELECT id, v FROM r_auto WHERE id IS NULL;
SET sql_auto_is_null = 0;
SELECT id, v FROM r_auto WHERE id IS NULL;
-- The error value of an ENUM is not its member ''.
SET sql_mode = '';
CREATE TABLE r_enum (c ENUM('a','','b'));
INSERT INTO r_enum VALUES ('a'), (''), ('x'), ('b'), (3), (0);
SELECT c + 0, COUNT(c) FROM r_enum GROUP BY c ORDER BY 1;
-- CHAR with its spaces.
SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH';
CREATE TABLE r_pad (a CHAR(5), b VARCHAR(5), c CHAR(5), d BINARY(3), KEY (a));
INSERT INTO r_pad VALUES ('ab','ab','é','a'), (NULL,NULL,NULL,NULL);
SELECT CONCAT('<', a, '>'), LENGTH(a), LENGTH(c), LENGTH(b), CHAR_LENGTH(c), HEX(d) FROM r_pad WHERE a = 'ab';
SELECT a, a = 'ab', a LIKE 'ab', a LIKE 'ab%', COUNT(*) FROM r_pad GROUP BY a ORDER BY a;
SELECT a FROM r_pad WHERE a IS NULL;
SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
SET max_join_size = 2;
SELECT @@sql_big_selects;
SELECT COUNT(*) FROM r_one, r_two, r_from;
SET sql_big_selects = 1;
SELECT COUNT(*) FROM r_one, r_two, r_from;
SET max_join_size = DEFAULT;
