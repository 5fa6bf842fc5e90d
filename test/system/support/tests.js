'use strict';

// Runs the tests of this checkout, or of a copy of it.

const path = require('node:path');
const { ROOT, faultsOf } = require('../../support/child');
const { copyCheckout } = require('../../support/copy-checkout');
const { rebuild } = require('../../../scripts/support/node-gyp');

const TAP = path.join(ROOT, 'node_modules/tap/dist/esm/run.mjs');

/**
 * Runs test files, or all, with tap without coverage.
 *
 * @param {string[]} files
 * @param {object} [how] `program` is the Node.js that runs them; `options` of tap; others as `run`
 *   of test/support/child.js
 * @returns {Promise<string[]>} faults
 */
const runTests = (files, { program = process.execPath, options = ['--timeout=300'], ...how } = {}) =>
  // What is instrumented is slower than the time that .taprc gives.
  faultsOf([program, TAP, '--disable-coverage', ...options, ...files], how);

/** Copies the checkout and builds its addon there, with options for gyp. */
function buildCopy(folder, options, { env, progress }) {
  progress(`building a copy of the checkout with ${options.join(' ')}`);
  copyCheckout(ROOT, folder);
  const { status, stdout, stderr } = rebuild(folder, { stdio: 'pipe', options: ['--', ...options], env });
  if (status !== 0) throw new Error(`the build failed:\n${stdout}${stderr}`);
}

module.exports = { buildCopy, runTests };
