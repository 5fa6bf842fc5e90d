'use strict';

const Module = require('node:module');
const path = require('node:path');

const { TEXT, asciiPayload, maskedFrame } = require('./messages');

const ROOT = path.join(__dirname, '..', '..');

/** Loads a copy of a module of its own, so that no two candidates share V8's type feedback. */
function requireAnew(id, folder, replaced = {}) {
  const file = require.resolve(id);
  for (const name of Object.keys(require.cache)) {
    if (name === file || (name.startsWith(folder + path.sep) && name.endsWith('.js'))) delete require.cache[name];
  }
  for (const [name, exports] of Object.entries(replaced)) {
    require.cache[name] = Object.assign(new Module(name), { exports, loaded: true });
  }
  return require(file);
}

/** @returns {typeof import('../../index.js')} a copy of its own with this kernel ('' for the best), of this checkout */
function loadFramemask(kernel = process.env.FRAMEMASK_KERNEL ?? '', root = ROOT, replaced = {}) {
  const { FRAMEMASK_KERNEL } = process.env;
  process.env.FRAMEMASK_KERNEL = kernel;
  try {
    return requireAnew(path.join(root, 'index.js'), path.join(root, 'lib'), replaced);
  } finally {
    if (FRAMEMASK_KERNEL === undefined) delete process.env.FRAMEMASK_KERNEL;
    else process.env.FRAMEMASK_KERNEL = FRAMEMASK_KERNEL;
  }
}

/** Loads framemask with another lib/tracing.js, whose functions all do nothing and return false. */
function loadWithoutTracing(kernel, root = ROOT) {
  const file = path.join(root, 'lib', 'tracing.js');
  const names = Object.keys(require(file));
  const load = (does) => loadFramemask(kernel, root, { [file]: Object.fromEntries(names.map((name) => [name, does])) });

  let calls = 0;
  const { Decoder } = load(() => {
    calls++;
    return false;
  });
  new Decoder({ role: 'server', onMessage() {} }).write(maskedFrame(TEXT, asciiPayload(1)));
  if (calls === 0) throw new Error('the Decoder does not call lib/tracing.js');
  return load(() => false);
}

/** @param {string} name of a package whose code is in lib/ @returns {*} a copy of its own */
function loadPeer(name) {
  return requireAnew(name, path.join(path.dirname(require.resolve(`${name}/package.json`)), 'lib'));
}

module.exports = { ROOT, loadFramemask, loadPeer, loadWithoutTracing, requireAnew };
