'use strict';

// The table of attacks in docs/security.md, which test/system/attacks fills.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { ATTACKS, LOCAL_ATTACKS } = require('./support/attacks/attacks');

const page = fs.readFileSync(path.join(__dirname, '../docs/security.md'), 'utf8').replaceAll('\r\n', '\n');

t.test('each file of test/attacks/ has an attack, and each attack a row', (t) => {
  const files = fs.readdirSync(path.join(__dirname, 'attacks')).map((name) => name.replace(/\.js$/, ''));
  const names = [...ATTACKS, ...LOCAL_ATTACKS].map(({ name }) => name);
  t.same(names.sort(), files.sort());
  const rows = [...page.matchAll(/^\| \[.*\]\(\.\.\/test\/attacks\/(.*)\.js\) \|(.*)$/gm)];
  t.same(rows.map(([, name]) => name).sort(), files);
  for (const [, name, cells] of rows) t.match(cells, /^.*\| \S.* \| \S.* \|$/, name);
  t.end();
});
