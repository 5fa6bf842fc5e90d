'use strict';

const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');

/** @returns {string} a checkout's real path @throws {RangeError} if framemask is not there */
function findCheckout(folder) {
  const root = path.resolve(folder);
  const file = path.join(root, 'package.json');
  if (!fs.existsSync(file) || JSON.parse(fs.readFileSync(file, 'utf8')).name !== 'framemask')
    throw new RangeError(`there is no checkout of framemask at ${root}`);
  return fs.realpathSync(root);
}

/** Loads a copy of a module of its own, so that no two candidates share V8's type feedback. */
function requireAnew(id, folder) {
  const file = require.resolve(id);
  for (const name of Object.keys(require.cache)) {
    if (name === file || (name.startsWith(folder + path.sep) && name.endsWith('.js'))) delete require.cache[name];
  }
  return require(file);
}

/**
 * @param {string} [kernel] '' for the best
 * @returns {typeof import('../../index.js')} a copy of its own, of this checkout or another; or of
 *   its framemask/ws
 */
function loadFramemask(kernel = process.env.FRAMEMASK_KERNEL ?? '', root = ROOT, entry = 'index.js') {
  const { FRAMEMASK_KERNEL } = process.env;
  process.env.FRAMEMASK_KERNEL = kernel;
  try {
    return requireAnew(path.join(root, entry), path.join(root, 'lib'));
  } finally {
    if (FRAMEMASK_KERNEL === undefined) delete process.env.FRAMEMASK_KERNEL;
    else process.env.FRAMEMASK_KERNEL = FRAMEMASK_KERNEL;
  }
}

/** @param {string} name of a package whose code is in lib/ @returns {*} a copy of its own */
function loadPeer(name) {
  return requireAnew(name, path.join(path.dirname(require.resolve(`${name}/package.json`)), 'lib'));
}

module.exports = { ROOT, findCheckout, loadFramemask, loadPeer };
