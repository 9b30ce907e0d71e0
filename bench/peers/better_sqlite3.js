// better_sqlite3.js: JSON.parse and a prepared insert a line: better_sqlite3.js FILE DATABASE; seconds
const fs = require('fs');
const path = require('path');
const Database = require('better-sqlite3');

const fields = JSON.parse(fs.readFileSync(path.join(__dirname, 'fields.json'), 'utf8'));
const begin = process.hrtime.bigint();
const db = new Database(process.argv[3]);
const inserts = {};

db.pragma('journal_mode = wal');
db.pragma('synchronous = normal');
for (const [kind, names] of Object.entries(fields)) {
  db.exec(`create table ${kind}(${names.map((n) => `"${n}"`).join(', ')})`);
  inserts[kind] = db.prepare(`insert into ${kind} values(${names.map(() => '?').join(', ')})`);
}

function value(v) {
  if (v === undefined || v === null) return null;
  if (typeof v === 'object') return JSON.stringify(v);
  return typeof v === 'boolean' ? Number(v) : v;
}

function take(line) {
  const record = JSON.parse(line);

  inserts[record.kind].run(fields[record.kind].map((name) => value(record[name])));
}

// Blocks and their lines: readline would take longer than all else.
const fd = fs.openSync(process.argv[2]);
const block = Buffer.alloc(1 << 20);
let rest = '';

db.exec('begin');
for (let n; (n = fs.readSync(fd, block)) > 0;) {
  const lines = (rest + block.toString('utf8', 0, n)).split('\n');

  rest = lines.pop();
  for (const line of lines) take(line);
}
db.exec('commit');
db.close();
console.log((Number(process.hrtime.bigint() - begin) / 1e9).toFixed(6));
