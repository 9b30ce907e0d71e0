// duckdb.js: read_json into a table, 2 threads: duckdb.js FILE DATABASE; prints seconds
// ignore_errors: keys that only the last records have would fail, they are left out.
const { DuckDBInstance } = require('@duckdb/node-api');

async function main(file, database) {
  const instance = await DuckDBInstance.create(database, { threads: '2' });
  const connection = await instance.connect();
  const begin = process.hrtime.bigint();

  await connection.run(`create table t as select * from read_json('${file}',
    format = 'newline_delimited', maximum_object_size = 134217728, ignore_errors = true)`);
  await connection.run('checkpoint');
  console.log((Number(process.hrtime.bigint() - begin) / 1e9).toFixed(6));
}

main(process.argv[2], process.argv[3]).catch((e) => {
  console.error(String(e));
  process.exit(1);
});
