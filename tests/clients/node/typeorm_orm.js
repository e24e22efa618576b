// TypeORM: synchronize twice (the second time it finds nothing to change), relations, a query builder, transactions.
'use strict';
require('reflect-metadata');
const { DataSource, EntitySchema } = require('typeorm');
const { place, kind, found, refused } = require('./place');

const Author = new EntitySchema({
  name: 'Author', tableName: 't_author',
  columns: { id: { type: 'int', primary: true, generated: true }, name: { type: 'varchar', length: 60, unique: true }, born: { type: 'date', nullable: true }, rate: { type: 'decimal', precision: 10, scale: 2, default: 0 } },
  relations: { posts: { type: 'one-to-many', target: 'Post', inverseSide: 'author', cascade: true } },
});
const Post = new EntitySchema({
  name: 'Post', tableName: 't_post',
  columns: { id: { type: 'bigint', primary: true, generated: 'increment' }, title: { type: 'varchar', length: 100 }, body: { type: 'text', nullable: true }, state: { type: 'enum', enum: ['draft', 'out'], default: 'draft' }, at: { type: 'datetime', precision: 6, nullable: true } },
  relations: { author: { type: 'many-to-one', target: 'Author', inverseSide: 'posts', onDelete: 'CASCADE', joinColumn: { name: 'author_id' } }, tags: { type: 'many-to-many', target: 'Tag', joinTable: { name: 't_post_tag' }, cascade: true } },
  indices: [{ name: 'by_state', columns: ['state', 'title'] }],
});
const Tag = new EntitySchema({ name: 'Tag', tableName: 't_tag', columns: { name: { type: 'varchar', length: 20, primary: true } } });

(async () => {
  const source = await new DataSource({ type: kind, host: place.host, port: place.port, username: place.user, password: place.password, database: place.database, entities: [Author, Post, Tag] }).initialize();
  await source.query('DROP TABLE IF EXISTS t_post_tag, t_tag, t_post, t_author');
  found('first', (await source.driver.createSchemaBuilder().log()).upQueries.length > 5);
  await source.synchronize();
  const again = (await source.driver.createSchemaBuilder().log()).upQueries.map((query) => query.query);
  found('second', again);
  await source.synchronize();
  const authors = source.getRepository('Author');
  await authors.save([1, 2, 3].map((n) => ({ name: `a${n} ł`, born: `190${n}-01-02`, rate: n, posts: [0, 1].map((k) => ({ title: `p${n}${k}`, state: k ? 'out' : 'draft', at: new Date(Date.UTC(2024, 1, n, 3)), tags: [{ name: `tag${k}` }] })) })));
  found('loaded', await authors.find({ relations: { posts: { tags: true } }, order: { id: 'ASC', posts: { id: 'ASC' } }, take: 2 }));
  const builder = source.getRepository('Post').createQueryBuilder('p').innerJoin('p.author', 'a').leftJoin('p.tags', 't')
    .select('a.name', 'name').addSelect('COUNT(DISTINCT p.id)', 'posts').addSelect('MAX(t.name)', 'tag').where('p.title LIKE :like', { like: 'p%' }).groupBy('a.name').having('COUNT(*) > :n', { n: 1 }).orderBy('name');
  found('built', await builder.getRawMany());
  found('paged', await source.getRepository('Post').findAndCount({ where: { state: 'out' }, order: { id: 'DESC' }, skip: 1, take: 1 }));
  await source.transaction(async (manager) => {
    await manager.delete('Post', { state: 'draft' });
    await manager.findOne('Author', { where: { id: 1 }, lock: { mode: 'pessimistic_write' } });
    throw new Error('undone');
  }).catch((error) => found('thrown', error.message));
  await refused('duplicate', authors.insert({ name: 'a1 ł' }));
  await authors.upsert([{ id: 2, name: 'again' }, { id: 9, name: 'new' }], ['id']);
  await authors.delete(3);
  found('after', await authors.count(), await source.getRepository('Post').count(), (await authors.find({ order: { id: 'ASC' } })).map((each) => each.name));
  await source.destroy();
})().catch((error) => { console.error(error); process.exit(1); });
