'use strict';

// The files of this checkout and what each of them imports, read from the code.

const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '../..');

/**
 * @param {string} folder
 * @param {RegExp} pattern
 * @returns {string[]} its files but those of installed packages, as paths from the checkout
 */
function filesOf(folder, pattern) {
  const entries = fs.readdirSync(path.join(ROOT, folder), { withFileTypes: true });
  const files = entries.flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesOf(name, pattern);
    return pattern.test(name) ? [name] : [];
  });
  return files.sort();
}

/** @returns {string[]} the modules of lib/, but for the generated entries of lib/platforms/ */
function libModules() {
  return filesOf('lib', /\.js$/).filter((name) => !name.startsWith('lib/platforms/'));
}

/**
 * @param {string} module
 * @returns {string[]} the files of this checkout that it imports, as paths from the checkout
 */
function requiresOf(module) {
  const code = fs.readFileSync(path.join(ROOT, module), 'utf8');
  const names = code.matchAll(/(?:require\(|require\.resolve\(|import\(|\bfrom |^import )'(\.[^']*)'/gm);
  return [...names].flatMap(([, name]) => {
    const place = path.posix.join(path.posix.dirname(module), name);
    const files = [place, `${place}.js`, `${place}.json`, path.posix.join(place, 'index.js')];
    // Others are in programs that are texts here.
    return files.find((file) => fs.statSync(path.join(ROOT, file), { throwIfNoEntry: false })?.isFile()) ?? [];
  });
}

module.exports = { filesOf, libModules, requiresOf };
