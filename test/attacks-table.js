'use strict';

// The table of attacks in docs/security.md, which scripts/attacks.js fills.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { ALL, BEGIN, END, createTable, fillPage } = require('../scripts/attacks');

const page = fs.readFileSync(path.join(__dirname, '../docs/security.md'), 'utf8').replaceAll('\r\n', '\n');

t.test('each attack has a test and a row', (t) => {
  const attacks = ALL.filter(({ name }) => name !== 'none');
  const tests = ['decoder', 'server'].map((name) =>
    fs.readFileSync(path.join(__dirname, `attacks/${name}.js`), 'utf8')
  );
  for (const { name } of attacks)
    t.ok(
      tests.some((source) => source.includes(`'${name}`)),
      name
    );
  const rows = [...page.matchAll(/^\| \[(.*)\]\(\.\.\/test\/attacks\/.*\.js\) \|(.*)$/gm)];
  t.same(rows.map(([, title]) => title).sort(), attacks.map(({ title }) => title).sort());
  for (const [, title, cells] of rows) t.match(cells, /^.*\| \S.* \| \S.* \|$/, title);
  t.end();
});

t.test('the table replaces what is between the marks', (t) => {
  const results = ALL.map((attack) => ({
    attack,
    framemask: '1.0 ms, 2 MiB',
    onWs: '2.0 ms, 3 MiB',
    ws: '3.0 ms, 4 MiB'
  }));
  const table = createTable(results, 5);
  t.equal(table.split('\n').filter((line) => line.startsWith('|')).length, ALL.length + 2);
  t.match(table, /\| 1\.0 ms, 2 MiB \| 2\.0 ms, 3 MiB \| 3\.0 ms, 4 MiB \|/);
  const filled = fillPage(page, table);
  t.ok(filled.includes(table));
  t.equal(fillPage(filled, table), filled, 'again');
  t.equal(filled.split(BEGIN)[0], page.split(BEGIN)[0]);
  t.equal(filled.split(END)[1], page.split(END)[1]);
  t.throws(() => fillPage('a page', table), /no <!-- attacks: begin -->/);
  t.end();
});
