'use strict';

// The modules of lib/ and what each of them requires, read from the code.

const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '../..');

/** @param {string} folder @param {RegExp} pattern @returns {string[]} its files, as paths from the checkout */
function filesOf(folder, pattern) {
  return fs
    .readdirSync(path.join(ROOT, folder), { recursive: true })
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
    .filter((name) => pattern.test(name))
    .sort();
}

/** @returns {string[]} the modules of lib/, but for the generated entries of lib/platforms/ */
function libModules() {
  return filesOf('lib', /\.js$/).filter((name) => !name.startsWith('lib/platforms/'));
}

/** @returns {string[]} the files of src/ */
function sources() {
  return filesOf('src', /\.(cc|h)$/);
}

/** @param {string} module @returns {string[]} the modules of lib/ that it requires */
function requiresOf(module) {
  const code = fs.readFileSync(path.join(ROOT, module), 'utf8');
  return [...code.matchAll(/require\('(\.[^']+)'\)/g)].map(
    ([, name]) => `${path.posix.join(path.posix.dirname(module), name).replace(/\.js$/, '')}.js`
  );
}

module.exports = { libModules, requiresOf, sources };
