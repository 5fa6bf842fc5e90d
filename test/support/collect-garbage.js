'use strict';

const v8 = require('node:v8');
const vm = require('node:vm');

function collectGarbage() {
  if (process.versions.bun) {
    Bun.gc(true);
    return;
  }
  v8.setFlagsFromString('--expose-gc');
  vm.runInNewContext('gc')();
}

module.exports = { collectGarbage };
