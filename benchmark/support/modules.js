'use strict';

const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');

/**
 * Loads a copy of a module of its own, so that no two candidates share V8's type feedback.
 *
 * @param {string} id as `require` takes it
 * @param {string} folder the JavaScript files below it are loaded anew; addons never are
 * @returns {*} its exports
 */
function requireAnew(id, folder) {
  const file = require.resolve(id);
  for (const name of Object.keys(require.cache)) {
    if (name === file || (name.startsWith(folder + path.sep) && name.endsWith('.js'))) delete require.cache[name];
  }
  return require(file);
}

/**
 * @param {string} [kernel] as FRAMEMASK_KERNEL names it; '' for the best
 * @param {string} [root] the checkout to load it from
 * @returns {typeof import('../../index.js')} a copy of its own
 */
function loadFramemask(kernel = process.env.FRAMEMASK_KERNEL ?? '', root = ROOT) {
  const { FRAMEMASK_KERNEL } = process.env;
  process.env.FRAMEMASK_KERNEL = kernel;
  try {
    return requireAnew(path.join(root, 'index.js'), path.join(root, 'lib'));
  } finally {
    if (FRAMEMASK_KERNEL === undefined) delete process.env.FRAMEMASK_KERNEL;
    else process.env.FRAMEMASK_KERNEL = FRAMEMASK_KERNEL;
  }
}

/**
 * @param {string} name of a package whose code is in lib/
 * @returns {*} a copy of its own
 */
function loadPeer(name) {
  return requireAnew(name, path.join(path.dirname(require.resolve(`${name}/package.json`)), 'lib'));
}

module.exports = { ROOT, loadFramemask, loadPeer };
