// Knex: its schema builder (also what it changes afterwards), queries, transactions, migrations.
'use strict';
const knex = require('knex');
const { place, found, refused } = require('./place');

(async () => {
  const db = knex({ client: 'mysql2', connection: { ...place, dateStrings: true }, pool: { min: 0, max: 4 } });
  for (const table of ['k_item', 'k_owner', 'k_migrations', 'k_migrations_lock', 'k_made']) await db.schema.dropTableIfExists(table);
  await db.schema.createTable('k_owner', (t) => { t.increments('id'); t.string('name', 40).notNullable().unique(); t.timestamps(true, true); });
  await db.schema.createTable('k_item', (t) => { t.bigIncrements('id'); t.integer('owner').unsigned().references('id').inTable('k_owner').onDelete('CASCADE'); t.decimal('price', 8, 2).index(); t.enu('kind', ['x', 'y']); t.json('more'); t.text('note', 'mediumtext'); });
  await db.schema.alterTable('k_item', (t) => { t.date('day').nullable().after('price'); t.renameColumn('note', 'remark'); t.index(['day', 'kind'], 'by_day'); });
  found('columns', await db.schema.hasColumn('k_item', 'remark'), Object.keys(await db('k_item').columnInfo()));
  await db('k_owner').insert(['a', 'b', 'ç'].map((name) => ({ name, created_at: '2024-01-01 00:00:00', updated_at: '2024-01-01 00:00:00' })));
  found('ids', await db('k_item').insert({ owner: 1, price: 1.5, kind: 'x', more: JSON.stringify({ a: [1] }), day: '2024-02-29' }));
  await db.batchInsert('k_item', Array.from({ length: 25 }, (_, n) => ({ owner: 1 + (n % 3), price: n, kind: n % 2 ? 'x' : 'y' })), 10);
  found('joined', await db('k_owner as o').leftJoin('k_item as i', 'i.owner', 'o.id').select('o.name').count('i.id as n').sum('i.price as sum').groupBy('o.name').havingRaw('COUNT(*) > ?', [2]).orderBy('o.name'));
  found('where', await db('k_item').where((q) => q.where('price', '>', 20).orWhereNull('owner')).whereIn('kind', ['x', 'y']).whereNotExists(db('k_owner').whereRaw('k_owner.id = k_item.owner AND name = ?', 'a')).select('id', 'price').orderBy('id').limit(3));
  found('with', await db.with('w', db('k_item').where('price', '<', 3)).select('*').from('w').orderBy('id').then((rows) => rows.map((row) => row.price)));
  found('union', await db('k_owner').select('name').union(db('k_item').distinct('kind as name')).orderBy('name'));
  await db.transaction(async (trx) => {
    await trx('k_item').where('owner', 1).del();
    await trx('k_item').forUpdate().skipLocked().first();
    throw new Error('undone');
  }).catch((error) => found('thrown', error.message));
  found('conflict', (await db('k_owner').insert({ id: 2, name: 'b again' }).onConflict('id').merge(['name']))[0], (await db('k_owner').insert({ id: 2, name: 'b' }).onConflict('id').ignore())[0]);
  await refused('duplicate', db('k_owner').insert({ name: 'a' }));
  await db('k_item').where('id', 1).increment('price', 2).update({ kind: 'y' });
  await db('k_owner').where('id', 3).del();
  found('after', await db('k_item').count('* as n').min('price as least').first(), (await db('k_owner').select('name').orderBy('id')).map((row) => row.name));
  const source = { getMigrations: async () => ['one'], getMigrationName: (name) => name, getMigration: async () => ({ up: (k) => k.schema.createTable('k_made', (t) => t.uuid('id').primary()), down: (k) => k.schema.dropTable('k_made') }) };
  const migrations = { migrationSource: source, tableName: 'k_migrations' };
  found('up', (await db.migrate.latest(migrations))[1], await db.schema.hasTable('k_made'));
  found('down', (await db.migrate.rollback(migrations))[1], await db.schema.hasTable('k_made'));
  await db.destroy();
})().catch((error) => { console.error(error); process.exit(1); });
