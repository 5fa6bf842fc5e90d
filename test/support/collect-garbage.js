'use strict';

const v8 = require('node:v8');
const vm = require('node:vm');

/** Collects garbage: nothing on Deno, which takes no flag of V8 as it runs. */
function collectGarbage() {
  if (process.versions.bun) Bun.gc(true);
  if (process.versions.bun || process.versions.deno) return;
  v8.setFlagsFromString('--expose-gc');
  vm.runInNewContext('gc')();
}

module.exports = { collectGarbage };
