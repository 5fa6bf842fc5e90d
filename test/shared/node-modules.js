'use strict';

const t = require('tap');
const nodeModules = require('../../lib/shared/node-modules');

t.test('the modules are the same by process.getBuiltinModule and by require', (t) => {
  const { getBuiltinModule } = process;
  t.teardown(() => {
    process.getBuiltinModule = getBuiltinModule;
  });
  const names = Object.keys(nodeModules);
  t.ok(names.includes('crypto'));
  // Node.js before 20.16 does not have the function.
  process.getBuiltinModule = undefined;
  const required = t.mockRequire('../../lib/shared/node-modules');
  const asked = [];
  process.getBuiltinModule = (id) => {
    asked.push(id);
    return require(id);
  };
  const got = t.mockRequire('../../lib/shared/node-modules');
  for (const name of names) {
    t.equal(required[name], nodeModules[name], `${name}, by require`);
    t.equal(got[name], nodeModules[name], `${name}, by process.getBuiltinModule`);
  }
  t.equal(asked.length, names.length, 'each is asked for once: some when the program first needs them');
  t.end();
});
