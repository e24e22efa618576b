// mysql2: texts and prepared statements, names nested by table, several statements, a stream, TLS, compression.
'use strict';
const mysql = require('mysql2/promise');
const { place, found, refused } = require('./place');

(async () => {
  const connection = await mysql.createConnection({ ...place, multipleStatements: true, dateStrings: true });
  await connection.query('DROP TABLE IF EXISTS b, a');
  await connection.query("CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30), at DATETIME(3), d DECIMAL(8,2), n BIGINT UNSIGNED, bits BIT(9), raw VARBINARY(9), s SET('x','y'))");
  await connection.query('CREATE TABLE b (id INT PRIMARY KEY, a_id INT, note TEXT, FOREIGN KEY (a_id) REFERENCES a (id))');
  let [result] = await connection.query('INSERT INTO a SET ?', { name: 'ein Löwe', at: '2024-02-29 01:02:03.004', d: '1.50', n: '18446744073709551615', bits: Buffer.from([1, 2]), raw: Buffer.from('ff00', 'hex'), s: 'x,y' });
  found('inserted', result.insertId, result.affectedRows, result.warningStatus);
  [result] = await connection.execute('INSERT INTO a (name, d) VALUES (?, ?), (?, ?)', ['two', 2, 'three', null]);
  found('executed', result.insertId, result.affectedRows, result.info);
  await connection.query('INSERT INTO b VALUES ?', [[[1, 1, 'x'], [2, 1, 'y'], [3, 2, null]]]);
  let [rows, fields] = await connection.query('SELECT * FROM a ORDER BY id');
  found('text', rows, fields.map((field) => [field.name, field.orgName, field.table, field.orgTable, field.columnType, field.flags]));
  [rows] = await connection.execute('SELECT * FROM a WHERE id IN (?, ?) ORDER BY id', [1, 2]);
  found('binary', rows);
  [rows] = await connection.query({ sql: 'SELECT * FROM a JOIN (SELECT a_id, COUNT(*) AS many FROM b GROUP BY a_id) AS counted ON counted.a_id = a.id ORDER BY a.id', nestTables: true });
  found('nested', rows);
  [rows] = await connection.query({ sql: 'WITH w AS (SELECT id, name FROM a) SELECT w.*, w2.id FROM w JOIN w AS w2 ON w.id = w2.id ORDER BY 1', nestTables: '_' });
  found('with', rows);
  [rows] = await connection.query('SELECT 1 AS x; UPDATE a SET d = 9 WHERE id < 3; SELECT d FROM a ORDER BY id');
  found('several', rows.map((each) => (Array.isArray(each) ? each : [each.affectedRows, each.changedRows, each.info])));
  await connection.beginTransaction();
  await connection.query('DELETE FROM b');
  await connection.rollback();
  found('rolled back', (await connection.query('SELECT COUNT(*) AS n FROM b'))[0]);
  await refused('duplicate', connection.query('INSERT INTO b VALUES (1, 1, 1)'));
  await refused('child', connection.query('INSERT INTO b VALUES (9, 77, 1)'));
  await refused('parent', connection.query('DELETE FROM a'));
  await refused('syntax', connection.query('SELECT FROM'));
  await refused('table', connection.execute('SELECT * FROM missing WHERE a = ?', [1]));
  found('stream', await new Promise((resolve, reject) => {
    let sum = 0;
    connection.connection.query('SELECT x.id FROM a x, a y, a z, b').stream()
      .on('data', (row) => { sum += row.id; }).on('end', () => resolve(sum)).on('error', reject);
  }));
  await connection.end();

  // Columns of text are said to have the collation that the client has named, at its login and by SET NAMES.
  const named = await mysql.createConnection({ ...place, charset: 'UTF8MB4_UNICODE_CI' });
  const collation = async () => (await named.query("SELECT 'a', NOW()"))[1].map((field) => field.characterSet);
  found('collation', await collation());
  await named.query('SET NAMES utf8mb4 COLLATE utf8mb4_bin');
  found('collation', await collation());
  await named.query('SET character_set_results = latin1');
  found('collation', await collation());
  await named.end();

  for (const more of [{ ssl: { rejectUnauthorized: false } }, { compress: true }]) {
    const another = await mysql.createConnection({ ...place, ...more });
    const [[row]] = await another.query("SELECT REPEAT('abc', 100000) AS long_text, COUNT(*) AS n FROM a");
    found(Object.keys(more)[0], row.long_text.length, row.n);
    await another.changeUser({ database: 'information_schema' });
    found('changed', (await another.query('SELECT DATABASE() AS d'))[0]);
    await another.end();
  }
  const pool = mysql.createPool({ ...place, connectionLimit: 4 });
  await Promise.all(Array.from({ length: 40 }, (_, n) => pool.execute('UPDATE a SET n = COALESCE(n, 0) + 1 WHERE id = ?', [2 + (n % 2)])));
  found('pool', (await pool.query('SELECT id, n FROM a WHERE id > 1 ORDER BY id'))[0]);
  await pool.end();
})().catch((error) => { console.error(error); process.exit(1); });
