'use strict';

// framemask as bufferutil, beside a ws that framemask/ws does not work with.

const assert = require('node:assert');
const framemask = require('bufferutil');
const { version } = require('ws/package.json');
const { check } = require('./check.cjs');

const ofWs = require.resolve('bufferutil', { paths: [require.resolve('ws')] });
assert.strictEqual(require(ofWs), framemask);
assert.throws(() => require('bufferutil/ws'), {
  message: new RegExp(`^framemask/ws works on ws 8.17.1 to 8.x, and ws ${version} is installed: `)
});
check(framemask);
