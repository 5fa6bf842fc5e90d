'use strict';

const path = require('node:path');

/**
 * Loads a module apart from every copy of it that is loaded already: what V8 has learnt from one candidate, or from one
 * kind of work, must not slow the next.
 *
 * @param {string} id as `require` takes it
 * @param {string} folder the JavaScript below which is loaded anew; addons never are
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
 * @param {string} kernel as FRAMEMASK_KERNEL names it; '' for the best
 * @returns {typeof import('../../index.js')}
 */
function loadFramemask(kernel = process.env.FRAMEMASK_KERNEL ?? '') {
  const before = { ...process.env };
  process.env.FRAMEMASK_KERNEL = kernel;
  try {
    return requireAnew('../../index.js', path.join(__dirname, '..', '..', 'lib'));
  } finally {
    process.env = before;
  }
}

/**
 * @param {string} name of a package whose code is in lib/
 * @returns {*}
 */
function loadPeer(name) {
  return requireAnew(name, path.join(path.dirname(require.resolve(`${name}/package.json`)), 'lib'));
}

module.exports = { loadFramemask, loadPeer };
