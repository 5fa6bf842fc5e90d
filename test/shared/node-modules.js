'use strict';

const t = require('tap');
const builtin = require('../../lib/shared/node-modules');

t.test('the same modules, whichever way they come', (t) => {
  const { getBuiltinModule } = process;
  t.teardown(() => {
    process.getBuiltinModule = getBuiltinModule;
  });
  const names = Object.keys(builtin);
  t.ok(names.includes('crypto'));
  // As in Node.js before 20.16.
  process.getBuiltinModule = undefined;
  const required = t.mockRequire('../../lib/shared/node-modules');
  const asked = [];
  process.getBuiltinModule = (id) => {
    asked.push(id);
    return require(id);
  };
  const got = t.mockRequire('../../lib/shared/node-modules');
  t.equal(asked.length, names.length);
  for (const name of names) {
    t.equal(required[name], builtin[name], name);
    t.equal(got[name], builtin[name], name);
  }
  t.end();
});
