'use strict';

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');

const ROOT = path.join(__dirname, '..');

t.test('the types need no package but @types/node', (t) => {
  for (const name of ['index.d.ts', 'index.d.mts', 'ws.d.ts', 'ws.d.mts']) {
    const source = fs.readFileSync(path.join(ROOT, name), 'utf8');
    const modules = Array.from(
      source.matchAll(/(?:\bfrom |\brequire\(|^import |types=)['"]([^'"]+)['"]/gm),
      ([, it]) => it
    );
    t.same(
      modules.filter((module) => module !== 'node' && !/^(node:|\.)/.test(module)),
      [],
      name
    );
  }
  t.end();
});
