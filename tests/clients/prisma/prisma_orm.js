// Prisma, whose client speaks through the driver adapter of MariaDB's: nested writes, relations, aggregates, JSON, transactions,
// errors. Its engine of migrations is a program of its own that registries do not have, so its statements are written out here.
const { PrismaMariaDb } = require('@prisma/adapter-mariadb');
const { PrismaClient, Prisma } = require('@prisma/client');

const { env } = process;
// Which numbers come as large ones differs with the types of system tables.
const found = (what, ...values) =>
  console.log(`${what}:`, ...values.map((value) => JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? Number(v) : v))));

const MIGRATION = [
  "CREATE TABLE `Customer` (`id` INTEGER NOT NULL AUTO_INCREMENT, `name` VARCHAR(60) NOT NULL, `kind` ENUM('SMALL', 'LARGE') NOT NULL DEFAULT 'SMALL', `credit` DECIMAL(12, 3) NOT NULL DEFAULT 0, " +
    '`since` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), `born` DATE NULL, `active` BOOLEAN NOT NULL DEFAULT true, `big` BIGINT NULL, `weight` DOUBLE NULL, `facts` JSON NULL, `picture` LONGBLOB NULL, ' +
    '`notes` TEXT NULL, UNIQUE INDEX `Customer_name_key`(`name`), INDEX `Customer_kind_credit_idx`(`kind`, `credit`), PRIMARY KEY (`id`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
  'CREATE TABLE `Purchase` (`id` INTEGER NOT NULL AUTO_INCREMENT, `customerId` INTEGER NOT NULL, `total` DECIMAL(65, 30) NOT NULL, `at` DATETIME(3) NOT NULL, PRIMARY KEY (`id`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
  'CREATE TABLE `Tag` (`word` VARCHAR(191) NOT NULL, PRIMARY KEY (`word`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
  'CREATE TABLE `_CustomerToTag` (`A` INTEGER NOT NULL, `B` VARCHAR(191) NOT NULL, UNIQUE INDEX `_CustomerToTag_AB_unique`(`A`, `B`), INDEX `_CustomerToTag_B_index`(`B`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
  'ALTER TABLE `Purchase` ADD CONSTRAINT `Purchase_customerId_fkey` FOREIGN KEY (`customerId`) REFERENCES `Customer`(`id`) ON DELETE CASCADE ON UPDATE CASCADE',
  'ALTER TABLE `_CustomerToTag` ADD CONSTRAINT `_CustomerToTag_A_fkey` FOREIGN KEY (`A`) REFERENCES `Customer`(`id`) ON DELETE CASCADE ON UPDATE CASCADE',
  'ALTER TABLE `_CustomerToTag` ADD CONSTRAINT `_CustomerToTag_B_fkey` FOREIGN KEY (`B`) REFERENCES `Tag`(`word`) ON DELETE CASCADE ON UPDATE CASCADE',
];

/** What its engine of migrations asks before it compares a schema. */
const DESCRIBED = {
  locks: "SELECT GET_LOCK('prisma_migrate', 10) AS got",
  version: "SELECT @@lower_case_table_names IS NOT NULL AS known, @@GLOBAL.version LIKE '%' AS version, @@sql_mode LIKE '%STRICT%' AS strict",
  tables:
    "SELECT DISTINCT BINARY table_info.table_name AS table_name, table_info.create_options LIKE '%partitioned%' AS is_partitioned, table_info.table_comment AS table_comment FROM information_schema.tables AS table_info " +
    "JOIN information_schema.columns AS column_info ON BINARY column_info.table_name = BINARY table_info.table_name WHERE table_info.table_schema = DATABASE() AND column_info.table_schema = DATABASE() AND table_info.table_type = 'BASE TABLE' ORDER BY BINARY table_info.table_name",
  columns:
    "SELECT column_name column_name, data_type data_type, character_maximum_length character_maximum_length, numeric_precision numeric_precision, numeric_scale numeric_scale, datetime_precision datetime_precision, is_nullable is_nullable, " +
    "extra LIKE '%auto_increment%' increments, table_name table_name, IF(column_comment = '', NULL, column_comment) AS column_comment FROM information_schema.columns WHERE table_schema = DATABASE() AND data_type NOT IN ('json', 'longtext') ORDER BY ordinal_position, table_name",
  indexes:
    "SELECT table_name AS table_name, index_name AS index_name, column_name AS column_name, sub_part AS partial, seq_in_index AS seq_in_index, collation AS column_order, non_unique AS non_unique, index_type AS index_type FROM information_schema.statistics " +
    "WHERE table_schema = DATABASE() ORDER BY BINARY table_name, BINARY index_name, seq_in_index",
  keys:
    "SELECT kcu.constraint_name constraint_name, kcu.column_name column_name, kcu.referenced_table_name referenced_table_name, kcu.referenced_column_name referenced_column_name, kcu.ordinal_position ordinal_position, kcu.table_name table_name, " +
    "rc.delete_rule delete_rule, rc.update_rule update_rule FROM information_schema.key_column_usage AS kcu INNER JOIN information_schema.referential_constraints AS rc ON BINARY kcu.constraint_name = BINARY rc.constraint_name " +
    "WHERE BINARY kcu.table_schema = BINARY DATABASE() AND BINARY rc.constraint_schema = BINARY DATABASE() AND kcu.referenced_column_name IS NOT NULL ORDER BY BINARY kcu.table_schema, BINARY kcu.table_name, BINARY kcu.constraint_name, kcu.ordinal_position",
  views: "SELECT TABLE_NAME AS view_name, VIEW_DEFINITION AS view_sql FROM INFORMATION_SCHEMA.VIEWS WHERE TABLE_SCHEMA = DATABASE()",
  procedures: "SELECT routine_name AS name, routine_definition AS definition FROM information_schema.routines WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_TYPE = 'PROCEDURE'",
};

async function refused(what, promise) {
  try {
    await promise;
    found(what, 'done');
  } catch (refusal) {
    found(what, refusal.code, refusal.constructor.name);
  }
}

async function main() {
  const adapter = new PrismaMariaDb(
    {
      host: env.CLIENT_HOST, port: Number(env.CLIENT_PORT), user: env.CLIENT_USER, password: env.CLIENT_PASSWORD, connectionLimit: 4,
      ssl: env.CLIENT_TLS ? { rejectUnauthorized: false } : undefined, allowPublicKeyRetrieval: true, database: env.CLIENT_DATABASE,
    },
    { database: env.CLIENT_DATABASE },
  );
  const prisma = new PrismaClient({ adapter });
  for (const statement of MIGRATION) await prisma.$executeRawUnsafe(statement);
  for (const [what, query] of Object.entries(DESCRIBED)) found(what, await prisma.$queryRawUnsafe(query));

  const first = await prisma.customer.create({
    data: {
      name: "quo'te 🐎", kind: 'LARGE', credit: '10.125', since: new Date('2024-02-29T12:00:00.123Z'), born: new Date('1970-01-01'), big: 9007199254740993n, weight: 0.1,
      facts: { a: [1, { b: 'x"y' }], n: null }, picture: Uint8Array.from([0, 255, 39, 92]), notes: 'long '.repeat(1000),
      purchases: { create: [{ total: '1.5', at: new Date('2024-03-01T00:00:00Z') }, { total: '99999.000000000000000001', at: new Date('2024-03-02T00:00:00Z') }] },
      tags: { create: [{ word: 'red' }], connectOrCreate: { where: { word: 'blue' }, create: { word: 'blue' } } },
    },
    include: { purchases: { orderBy: { id: 'asc' } }, tags: { orderBy: { word: 'asc' } } },
  });
  found('created', { ...first, notes: first.notes.length, picture: [...first.picture] });
  found('many', await prisma.customer.createMany({ data: Array.from({ length: 20 }, (_, n) => ({ name: `n${n}`, credit: n / 4, since: new Date(`2024-01-${n + 10}T00:00:00Z`), active: n % 2 === 0 })), skipDuplicates: true }));
  found('again', await prisma.customer.createMany({ data: [{ name: 'n1' }, { name: 'N1' }, { name: 'new', since: new Date(0) }], skipDuplicates: true }));
  for (const _ of [1, 2]) {
    const row = await prisma.customer.upsert({ where: { name: 'n3' }, update: { credit: { increment: 5 }, tags: { connect: { word: 'red' } } }, create: { name: 'n3' }, select: { id: true, credit: true, tags: true } });
    found('upsert', row);
  }
  await prisma.purchase.createMany({ data: [2, 3, 3, 4].map((customerId, n) => ({ customerId, total: n + 0.25, at: new Date(0) })) });
  found('found', await prisma.customer.findMany({ where: { OR: [{ name: { contains: '1' } }, { tags: { some: { word: 'red' } } }], NOT: { name: { startsWith: 'n10' } } }, orderBy: [{ credit: 'desc' }, { id: 'asc' }], take: 5, skip: 1, select: { name: true, credit: true, _count: { select: { purchases: true, tags: true } } } }));
  found('none', await prisma.customer.findMany({ where: { purchases: { none: {} }, tags: { every: { word: 'red' } }, active: false }, select: { id: true }, orderBy: { id: 'asc' } }));
  found('cursor', await prisma.customer.findMany({ cursor: { id: 5 }, take: -3, orderBy: { id: 'asc' }, select: { id: true } }));
  found('relation order', await prisma.customer.findMany({ orderBy: [{ purchases: { _count: 'desc' } }, { id: 'asc' }], take: 3, select: { id: true, purchases: { where: { total: { gt: 1 } }, select: { total: true }, orderBy: { id: 'asc' } } } }));
  found('distinct', await prisma.customer.findMany({ distinct: ['active', 'kind'], select: { active: true, kind: true }, orderBy: { id: 'asc' } }));
  found('json', await prisma.customer.findMany({ where: { facts: { path: '$.a[1].b', equals: 'x"y' } }, select: { id: true, facts: true } }), await prisma.customer.count({ where: { facts: { equals: Prisma.DbNull } } }));
  found('aggregate', await prisma.customer.aggregate({ _sum: { credit: true }, _avg: { credit: true }, _min: { since: true }, _max: { name: true }, _count: { _all: true, born: true } }));
  found('groups', await prisma.customer.groupBy({ by: ['kind', 'active'], _count: true, _sum: { credit: true }, having: { credit: { _avg: { gt: 1 } } }, orderBy: [{ kind: 'asc' }, { active: 'asc' }] }));
  found('updated', await prisma.customer.updateMany({ where: { credit: { gte: 3 } }, data: { weight: { set: 1.5 }, credit: { multiply: 2 } } }));
  found('one', await prisma.customer.update({ where: { id: first.id }, data: { purchases: { deleteMany: { total: { lt: 2 } }, updateMany: { where: {}, data: { total: 7 } } }, tags: { set: [{ word: 'blue' }] }, facts: Prisma.DbNull }, select: { facts: true, purchases: { select: { total: true } }, tags: true } }));
  found('raw', await prisma.$queryRaw`SELECT name, credit, since, big, facts, active, weight, born FROM Customer WHERE id IN (${Prisma.join([1, 2])}) ORDER BY id`);
  found('changed', await prisma.$executeRaw`UPDATE Customer SET weight = ${2.5} WHERE name LIKE ${'n1%'}`);
  await refused('twice', prisma.customer.create({ data: { name: 'n1' } }));
  await refused('orphan', prisma.purchase.create({ data: { customerId: 9999, total: 1 } }));
  await refused('missing', prisma.customer.delete({ where: { id: 9999 } }));
  await refused('too long', prisma.customer.create({ data: { name: 'x'.repeat(61) } }));
  await refused('too large', prisma.customer.update({ where: { id: 1 }, data: { credit: 1e12 } }));
  await refused('no table', prisma.$queryRawUnsafe('SELECT * FROM nothing'));
  await refused('rolled back', prisma.$transaction([prisma.customer.deleteMany({ where: { id: { gt: 3 } } }), prisma.customer.create({ data: { name: 'n1' } })]));
  found('still', await prisma.customer.count());
  await prisma.$transaction(
    async (tx) => {
      await tx.customer.deleteMany({ where: { name: { in: ['n5', 'n6'] } } });
      found('inside', await tx.customer.count(), await tx.$queryRaw`SELECT COUNT(*) AS n FROM Customer`);
    },
    { isolationLevel: Prisma.TransactionIsolationLevel.Serializable },
  );
  found('after', await prisma.customer.count());
  await Promise.all(Array.from({ length: 12 }, () => prisma.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT id FROM Customer WHERE id = 1 FOR UPDATE`;
    await tx.customer.update({ where: { id: 1 }, data: { credit: { increment: 1 } } });
  }, { maxWait: 20000, timeout: 20000 })));
  found('twelve at once', await prisma.customer.findUnique({ where: { id: 1 }, select: { credit: true } }));
  await prisma.customer.deleteMany();
  found('left', await prisma.purchase.count(), await prisma.tag.count(), await prisma.$queryRaw`SELECT COUNT(*) AS n FROM _CustomerToTag`);
  await prisma.$disconnect();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
