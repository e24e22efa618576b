// Where the server is, and what a program found there, line by line: two servers are compared by these lines.
'use strict';
const environment = process.env;
exports.place = {
  host: environment.CLIENT_HOST || '127.0.0.1',
  port: Number(environment.CLIENT_PORT),
  user: environment.CLIENT_USER || 'root',
  password: environment.CLIENT_PASSWORD || '',
  database: environment.CLIENT_DATABASE || 'clients',
};
// TypeORM knows MySQL and MariaDB apart.
exports.kind = environment.CLIENT_KIND || 'mysql';
exports.found = (what, ...values) => console.log(`${what}:`, ...values.map((value) =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}n` : each))));
// An error's number and state, by which programs tell one from another.
exports.refused = async (what, promise) => {
  try {
    await promise;
    exports.found(what, 'no error');
  } catch (error) {
    const cause = error.parent || error.driverError || error;
    exports.found(what, cause.code, cause.errno, cause.sqlState);
  }
};
