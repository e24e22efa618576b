// MariaDB's connector: batches, prepared statements, a pool, transactions.
'use strict';
const mariadb = require('mariadb');
const { place, found, refused } = require('./place');

(async () => {
  const connection = await mariadb.createConnection({ ...place, multipleStatements: true });
  await connection.query('DROP TABLE IF EXISTS m');
  await connection.query('CREATE TABLE m (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30) UNIQUE, at DATETIME, b BIGINT, d DECIMAL(20,4), f FLOAT, raw BLOB)');
  const result = await connection.batch('INSERT INTO m (name, at, b, d, f, raw) VALUES (?, ?, ?, ?, ?, ?)',
    Array.from({ length: 30 }, (_, n) => [`n${n} ß`, '2024-05-06 07:08:09', BigInt(n) << 50n, `${n}.1250`, n / 4, Buffer.from([n, 0])]));
  found('batch', result.affectedRows);
  found('text', await connection.query({ sql: 'SELECT * FROM m WHERE id < 4', dateStrings: true }));
  found('binary', await connection.execute({ sql: 'SELECT * FROM m WHERE id < ?', dateStrings: true }, [3]));
  const prepared = await connection.prepare('SELECT name FROM m WHERE id = ? OR name = ?');
  for (const id of [1, 2]) found('prepared', await prepared.execute([id, 'n9 ß']));
  prepared.close();
  found('several', await connection.query("SELECT 'one' AS a; SELECT 'two' AS b"));
  found('nested', await connection.query({ sql: 'SELECT m.id, d.id FROM m JOIN (SELECT id FROM m) AS d USING (id) LIMIT 1', nestTables: true }));
  await refused('duplicate', connection.query("INSERT INTO m (name) VALUES ('n1 ß')"));
  await refused('too long', connection.query("INSERT INTO m (name) VALUES (REPEAT('x', 31))"));
  await connection.beginTransaction();
  await connection.query('DELETE FROM m WHERE id > 10');
  await connection.rollback();
  found('rolled back', await connection.query('SELECT COUNT(*) AS n, SUM(f) AS f FROM m'));
  let rows = 0;
  for await (const row of connection.queryStream('SELECT * FROM m, (SELECT 1 UNION SELECT 2) AS two')) rows += row.id > 0 ? 1 : 0;
  found('stream', rows);
  await connection.reset();
  await connection.ping();
  await connection.end();
  const pool = mariadb.createPool({ ...place, connectionLimit: 3 });
  found('pool', (await Promise.all(Array.from({ length: 12 }, (_, n) => pool.query('SELECT ? + 1 AS n', [n])))).map((answer) => String(answer[0].n)));
  await pool.end();
})().catch((error) => { console.error(error); process.exit(1); });
