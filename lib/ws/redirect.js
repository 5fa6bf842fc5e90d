'use strict';

// Decides which `ws` of a program framemask/ws takes the place of. It also runs in the thread in
// which Node.js before 22.15 resolves imports, so it loads neither ws nor the codec.

const { fs, path, url } = require('../shared/node-modules');
const { isSupported } = require('./load-ws');

const ROOT = path.join(__dirname, '../..');
const COMMONJS = path.join(ROOT, 'ws.js');
const MODULE = url.pathToFileURL(path.join(ROOT, 'ws.mjs')).href;

/** The package.json of a folder; empty if none can be read. */
function packageIn(folder) {
  try {
    return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  } catch {
    return {};
  }
}

/** Whether a file is an entry of a ws that framemask/ws works with. */
function isSupportedWs(file) {
  const { name, version } = packageIn(path.dirname(file));
  return name === 'ws' && isSupported(version ?? '');
}

/** Whether a module is the one in which a framemask, this or another, requires ws. */
function requiresForFramemask(file) {
  return path.basename(file) === 'load-ws.js' && packageIn(path.join(path.dirname(file), '../..')).name === 'framemask';
}

/** @returns {string} the file to load where a parent's request resolves to a file */
function redirectFile(request, file, parent) {
  if (request !== 'ws' || !isSupportedWs(file)) return file;
  return requiresForFramemask(parent ?? '') ? file : COMMONJS;
}

/** The end of a `resolve` hook of Node.js. `resolved` is the next hook's result. */
function redirectUrl(specifier, { conditions, parentURL = '' }, resolved) {
  if (specifier !== 'ws' || !resolved.url.startsWith('file:')) return resolved;
  const file = url.fileURLToPath(resolved.url);
  const parent = parentURL.startsWith('file:') ? url.fileURLToPath(parentURL) : '';
  if (redirectFile(specifier, file, parent) === file) return resolved;
  return conditions.includes('import')
    ? { url: MODULE, format: 'module', shortCircuit: true }
    : { url: url.pathToFileURL(COMMONJS).href, format: 'commonjs', shortCircuit: true };
}

module.exports = { redirectFile, redirectUrl };
