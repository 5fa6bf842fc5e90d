'use strict';

const fs = require('node:fs');
const { createRequire, isBuiltin } = require('node:module');
const path = require('node:path');
const vm = require('node:vm');

/** The names of Node.js that a test runner gives to a context. */
const NAMES = [
  ...['AbortController', 'AbortSignal', 'Blob', 'Buffer', 'DOMException', 'Event', 'EventTarget', 'ReadableStream'],
  ...['TextDecoder', 'TextEncoder', 'URL', 'WritableStream', 'clearImmediate', 'clearInterval', 'clearTimeout'],
  ...[
    'console',
    'performance',
    'process',
    'queueMicrotask',
    'setImmediate',
    'setInterval',
    'setTimeout',
    'structuredClone'
  ]
];

/**
 * Evaluates a file, and those that it requires, anew in a vm context of their own, as Jest and the
 * vmThreads of Vitest do for each test file. Modules of Node.js are shared.
 *
 * @param {string} file
 * @param {object} [globals] in place of those of Node.js
 * @returns {{ exports: any, context: object, realm: object }} `context` is its global object,
 *   `realm` an object that lives as long as it
 */
function loadInContext(file, globals = {}) {
  const own = Object.fromEntries(NAMES.map((name) => [name, globalThis[name]]));
  const context = vm.createContext({ ...own, ...globals });
  const cache = new Map();
  const load = (file) => {
    if (cache.has(file)) return cache.get(file).exports;
    const module = { exports: {}, id: file, filename: file, children: [], paths: [] };
    cache.set(file, module);
    const text = fs.readFileSync(file, 'utf8');
    if (file.endsWith('.json')) {
      module.exports = JSON.parse(text);
    } else {
      const { resolve } = createRequire(file);
      const requireInContext = (id) => (isBuiltin(id) ? require(id) : load(resolve(id)));
      const names = ['exports', 'require', 'module', '__filename', '__dirname'];
      const run = vm.compileFunction(text, names, { filename: file, parsingContext: context });
      run(module.exports, Object.assign(requireInContext, { resolve }), module, file, path.dirname(file));
    }
    return module.exports;
  };
  return { exports: load(file), context, realm: vm.runInContext('Object', context) };
}

module.exports = { loadInContext };
