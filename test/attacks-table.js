'use strict';

// The tables of attacks in docs/security.md, of which test/system/attacks fills the first.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { ATTACKS } = require('./support/attacks/attacks');

const page = fs.readFileSync(path.join(__dirname, '../docs/security.md'), 'utf8').replaceAll('\r\n', '\n');

t.test('each attack has a test and a row', async (t) => {
  const tests = fs.readFileSync(path.join(__dirname, 'attacks/server.js'), 'utf8');
  t.same(
    ATTACKS.map(({ name }) => name).filter((name) => !tests.includes(`'${name}`)),
    []
  );
  const rows = [...page.matchAll(/^\| \[(.*)\]\(\.\.\/test\/attacks\/server\.js\) \|(.*)$/gm)];
  t.same(rows.map(([, title]) => title).sort(), ATTACKS.map(({ title }) => title).sort());
  for (const [, title, cells] of rows) t.match(cells, /^.*\| \S.* \| \S.* \|$/, title);
});
