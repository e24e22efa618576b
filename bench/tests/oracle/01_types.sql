-- Every type in and out, and what arithmetic makes of it.
CREATE TABLE types (id INT PRIMARY KEY, ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT, mi MEDIUMINT, bi BIGINT, bu BIGINT UNSIGNED,
  de DECIMAL(12,4), fl FLOAT, do DOUBLE, ch CHAR(5), vc VARCHAR(30), bn BINARY(4), vb VARBINARY(10), tx TEXT, bl BLOB,
  da DATE, tm TIME(2), dt DATETIME(6), ye YEAR, en ENUM('a','b','c'), st SET('x','y','z'), bt BIT(9));
INSERT INTO types VALUES (1, -128, 255, -32768, -8388608, -9223372036854775808, 18446744073709551615, -12345678.9012, 1.5, 2.5e10, 'ab', 'Hello', 'zz', X'0001FF', 'text', 'blob',
  '2024-02-29', '-12:34:56.78', '2024-12-31 23:59:59.999999', 2024, 'b', 'x,z', b'101010101');
INSERT INTO types (id) VALUES (2);
INSERT INTO types VALUES (3, 127, 0, 32767, 8388607, 9223372036854775807, 0, 0.0001, -0.1, 1e-10, 'äöü', 'ß', '', '', '', '', '1000-01-01', '838:59:59', '1000-01-01 00:00:00', 1901, 'c', '', b'0');
SELECT id, ti, tu, si, mi, bi, bu, de, fl, do, ch, vc, HEX(bn), HEX(vb), tx, bl, da, tm, dt, ye, en, st, HEX(bt) FROM types ORDER BY id;
SELECT ti + 1, tu - 1, si * 2, bi DIV 3, de * de, fl + 0, do / 3 FROM types ORDER BY id;
SELECT en + 0, st + 0, bt + 0, ye + 1, da + 0, dt + 0, tm + 0 FROM types ORDER BY id;
SELECT id FROM types WHERE ch = 'AB' ORDER BY id;
SELECT id FROM types WHERE vc = 'hello  ' ORDER BY id;
SELECT id FROM types WHERE vb = 'Hello' ORDER BY id;
SELECT id FROM types WHERE de > '0' ORDER BY id;
SELECT id FROM types WHERE dt >= '2024-12-31' ORDER BY id;
SELECT id FROM types WHERE en = 'b' OR en = 3 ORDER BY id;
SELECT 1/3, 10/4, 7 DIV 2, -7 DIV 2, -7 % 3, 5.5 % 2, 0.1 + 0.2, 1.0/3.0;
SELECT 9223372036854775807 + 0, 18446744073709551615, -9223372036854775808;
SELECT '12abc' + 1, 'abc' + 1, '1e2' + 0, '' + 0, ' 7 ' + 0;
SELECT 1 = '1', 'a' = 'A', 'a' = BINARY 'A', NULL = NULL, NULL <=> NULL, 1 <=> NULL;
SELECT CAST('2024-01-31' AS DATE) + INTERVAL 1 MONTH, DATE '2024-03-01' - INTERVAL 1 DAY, TIMESTAMP '2024-01-01 10:00:00' + INTERVAL '1:30' HOUR_MINUTE;
SELECT CAST(12.5 AS SIGNED), CAST(-12.5 AS SIGNED), CAST('12.7' AS SIGNED), CAST(3000000000 AS UNSIGNED), CAST(1.239 AS DECIMAL(5,2)), CAST(65 AS CHAR);
SELECT ROUND(2.5), ROUND(-2.5), ROUND(1.2345, 2), ROUND(12345, -2), TRUNCATE(1.999, 1), CEIL(1.1), FLOOR(-1.1), MOD(10, 3), POW(2, 10), SIGN(-3);
SELECT 1 BETWEEN 0 AND 2, 3 NOT IN (1, 2), NULL IN (1, NULL), 1 IN (1, NULL), 2 NOT IN (1, NULL);
SELECT NOT 0, NOT NULL, 1 AND NULL, 0 AND NULL, 1 OR NULL, 0 OR NULL, 1 XOR 1, !1;
SELECT 5 & 3, 5 | 3, 5 ^ 3, ~0, 1 << 4, 256 >> 2;
INSERT INTO types (id, ti) VALUES (4, 128);
INSERT INTO types (id, tu) VALUES (4, -1);
INSERT INTO types (id, vc) VALUES (4, '1234567890123456789012345678901');
INSERT INTO types (id, da) VALUES (4, '2023-02-29');
INSERT INTO types (id, en) VALUES (4, 'q');
INSERT INTO types (id, de) VALUES (4, 'x');
INSERT INTO types (id) VALUES (1);
INSERT INTO types (id) VALUES (NULL);
INSERT INTO types (nope) VALUES (1);
SELECT nope FROM types;
SELECT * FROM nowhere;
SELECT 1 FROM types WHERE;
