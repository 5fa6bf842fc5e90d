'use strict';

// The tables of attacks in docs/security.md, of which test/system/attacks fills the first.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { ATTACKS } = require('./support/attacks/attacks');

const page = fs.readFileSync(path.join(__dirname, '../docs/security.md'), 'utf8').replaceAll('\r\n', '\n');

t.test('each file of test/attacks/ has a row, and each attack a file', (t) => {
  const files = fs.readdirSync(path.join(__dirname, 'attacks')).map((name) => name.replace(/\.js$/, ''));
  t.same(
    ATTACKS.map(({ name }) => name).filter((name) => !files.includes(name)),
    []
  );
  const rows = [...page.matchAll(/^\| \[.*\]\(\.\.\/test\/attacks\/(.*)\.js\) \|(.*)$/gm)];
  t.same(rows.map(([, name]) => name).sort(), files.sort());
  for (const [, name, cells] of rows) t.match(cells, /^.*\| \S.* \| \S.* \|$/, name);
  t.end();
});
