'use strict';

// Decides which `ws` of a program framemask/ws takes the place of. It also runs in the thread in
// which Node.js before 22.15 resolves imports, so it loads neither ws nor the codec.

const { fs, path, url } = require('../shared/node-modules');
const { noteCopy, unsupported } = require('./copies');
const { isSupported } = require('./load-ws');

const ROOT = path.join(__dirname, '../..');
const COMMONJS = path.join(ROOT, 'ws.js');
const MODULE = url.pathToFileURL(path.join(ROOT, 'ws.mjs')).href;

/** The entries of ws, by whatever path they are required. */
const ENTRY = /[\\/]ws[\\/](index\.js|wrapper\.mjs)$/;

/** What both load. */
const LOADED = /[\\/]ws[\\/]lib[\\/]websocket\.js$/;

/** The modules that ask for the path of ws in order to know it when it is loaded: tracers hook into it. */
const TRACER = /[\\/](require-in-the-middle|import-in-the-middle|dd-trace[\\/]packages)[\\/]/;

/** The package.json of a folder; empty if none can be read. */
function packageIn(folder) {
  try {
    return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  } catch {
    return {};
  }
}

/** Whether a file is an entry of a ws that framemask/ws works with. */
function isReplaced(file) {
  const folder = path.dirname(file);
  const { name, version = '' } = packageIn(folder);
  if (name !== 'ws') return false;
  const replaced = isSupported(version);
  noteCopy({ path: folder, version, replaced, reason: unsupported(replaced) });
  return replaced;
}

/** Whether a module is the one in which a framemask, this or another, requires ws. */
function requiresForFramemask(file) {
  return path.basename(file) === 'load-ws.js' && packageIn(path.join(path.dirname(file), '../..')).name === 'framemask';
}

/** @returns {string} the file to load where a parent's request resolves to a file */
function redirectFile(request, file, parent) {
  if (request !== 'ws' && !ENTRY.test(file)) return file;
  // A module that wraps another, such as a tracer's, has its path.
  const isLeftTo = (from) => from === file || TRACER.test(from) || requiresForFramemask(from);
  return isLeftTo(parent ?? '') || !isReplaced(file) ? file : COMMONJS;
}

/** The end of a `resolve` hook of Node.js. `resolved` is the next hook's result. */
function redirectUrl(specifier, { conditions, parentURL = '' }, resolved) {
  if (!resolved.url.startsWith('file:')) return resolved;
  const file = url.fileURLToPath(resolved.url);
  const parent = parentURL.startsWith('file:') ? url.fileURLToPath(parentURL) : '';
  if (redirectFile(specifier, file, parent) === file) return resolved;
  return conditions.includes('import')
    ? { url: MODULE, format: 'module', shortCircuit: true }
    : { url: url.pathToFileURL(COMMONJS).href, format: 'commonjs', shortCircuit: true };
}

/** Notes each ws among the files that the program has loaded before: it stays. */
function noteLoaded(files) {
  // framemask/ws loads one itself.
  if (files.includes(COMMONJS)) return;
  const folders = files.filter((file) => LOADED.test(file)).map((file) => path.join(file, '../..'));
  for (const folder of folders) {
    const { name, version = '' } = packageIn(folder);
    const reason = 'it was loaded before framemask/ws/register';
    if (name === 'ws') noteCopy({ path: folder, version, replaced: false, reason });
  }
}

module.exports = { noteLoaded, redirectFile, redirectUrl };
