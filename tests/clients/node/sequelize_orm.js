// Sequelize: sync with alter, associations, transactions, upserts, what it reads of a schema.
'use strict';
const { Sequelize, DataTypes, Op } = require('sequelize');
const { place, found, refused } = require('./place');

(async () => {
  const sequelize = new Sequelize(place.database, place.user, place.password, { host: place.host, port: place.port, dialect: 'mysql', logging: false });
  const define = (more) => sequelize.define('User', { name: { type: DataTypes.STRING(50), unique: 'once' }, age: DataTypes.INTEGER, balance: DataTypes.DECIMAL(10, 2), active: { type: DataTypes.BOOLEAN, defaultValue: true }, role: DataTypes.ENUM('a', 'b'), ...more }, { tableName: 's_user', indexes: [{ fields: ['age'] }], timestamps: false });
  let User = define({});
  const Task = sequelize.define('Task', { title: DataTypes.TEXT, due: DataTypes.DATEONLY }, { tableName: 's_task', timestamps: false });
  User.hasMany(Task, { foreignKey: 'ownerId', onDelete: 'CASCADE' });
  Task.belongsTo(User, { foreignKey: 'ownerId' });
  await sequelize.getQueryInterface().dropTable('s_task');
  await sequelize.getQueryInterface().dropTable('s_user');
  await sequelize.sync();
  await sequelize.sync({ alter: true });
  const users = await User.bulkCreate(Array.from({ length: 6 }, (_, n) => ({ name: `u${n} ø`, age: 20 + n, balance: n * 1.5, role: n % 2 ? 'a' : 'b' })));
  for (const user of await User.findAll({ order: ['id'] })) await user.createTask({ title: `of ${user.name}`, due: '2024-02-29' });
  found('found', await User.findAll({ where: { age: { [Op.between]: [21, 24] }, name: { [Op.like]: 'u%' } }, include: { model: Task, attributes: ['title', 'due'] }, order: ['id'], attributes: ['name', 'balance', 'active', 'role'] }));
  found('limited', await User.findAndCountAll({ include: Task, limit: 2, offset: 1, order: [['age', 'DESC']], distinct: true }));
  found('grouped', await User.findAll({ attributes: ['role', [sequelize.fn('COUNT', sequelize.col('id')), 'n'], [sequelize.fn('SUM', sequelize.col('balance')), 'sum']], group: 'role', having: sequelize.where(sequelize.fn('COUNT', sequelize.col('id')), '>', 1), order: ['role'], raw: true }));
  await sequelize.transaction(async (transaction) => {
    await User.increment('age', { by: 10, where: { role: 'a' }, transaction });
    found('locked', (await User.findAll({ where: { role: 'a' }, lock: transaction.LOCK.UPDATE, skipLocked: true, transaction })).length);
    throw new Error('undone');
  }).catch((error) => found('thrown', error.message));
  found('sum', await User.sum('age'));
  await refused('duplicate', User.create({ name: 'u1 ø' }));
  await User.upsert({ id: 1, name: 'u0 again', age: 1 });
  await User.destroy({ where: { id: 2 } });
  found('after', await User.count(), await Task.count(), (await User.findByPk(1)).name);
  const description = await sequelize.getQueryInterface().describeTable('s_user');
  found('described', Object.entries(description).map(([name, column]) => [name, column.type.replace(/INT\(\d+\)/, 'INT'), column.allowNull, column.primaryKey, column.autoIncrement]));
  found('indexes', (await sequelize.getQueryInterface().showIndex('s_user')).map((index) => [index.name, index.unique, index.fields.map((field) => field.attribute)]));
  found('references', (await sequelize.getQueryInterface().getForeignKeyReferencesForTable('s_task')).map((key) => [key.columnName, key.referencedTableName, key.referencedColumnName]));
  found('tables', (await sequelize.getQueryInterface().showAllTables()).filter((name) => name.startsWith('s_')).sort());
  found('users', users.length);
  await sequelize.close();
})().catch((error) => { console.error(error); process.exit(1); });
