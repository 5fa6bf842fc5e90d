'use strict';

const { fs, path } = require('./builtin');
const provided = require('./provided');

/** Systems with Linux's calling conventions and file format: what is built for Linux serves there, and is shipped once. */
const LIKE_LINUX = ['android', 'freebsd'];

/**
 * Finds the addon and loads it: the one that an entry for one platform has brought; else by node-gyp-build's rules,
 * build/Release first, so that what a user has compiled wins, then prebuilds/.
 *
 * @param {string} [platform] as process.platform has it
 * @returns {object} its exports
 * @throws {Error} if there is none, or it can't be loaded
 */
function findAddon(platform = process.platform) {
  if (provided.load !== null) return provided.load();
  // Here, not above: a bundle that has left it out is one more reason to go on in JavaScript.
  const load = require('node-gyp-build');
  // Here, too: a bundle of ES modules has no __dirname.
  const root = path.join(__dirname, '..');
  let file;
  try {
    file = load.resolve(root);
  } catch (error) {
    if (!LIKE_LINUX.includes(platform)) throw error;
    return open(path.join(root, 'prebuilds', `linux-${process.arch}`, 'framemask.node'));
  }
  checkLength(file);
  // Spelt out, so that tools which copy what a program needs (@vercel/nft, ncc) see where it looks.
  return require('node-gyp-build')(path.join(__dirname, '..'));
}

/**
 * @param {string} file
 * @returns {object}
 */
function open(file) {
  checkLength(file);
  // What `require` does with such a file. Bundlers would want to know of a `require` which file that is.
  const addon = { exports: {} };
  process.dlopen(addon, file);
  return addon.exports;
}

/**
 * Refuses an ELF file that has been cut short, by a full disk say: to load it would end the process with SIGBUS, which
 * nothing can catch. Other systems' loaders look for themselves. The table of sections is the last thing in the file.
 *
 * @param {string} file
 * @throws {Error}
 */
function checkLength(file) {
  const bytes = fs.readFileSync(file);
  if (bytes.length < 64 || bytes.toString('latin1', 0, 4) !== '\x7fELF') return;
  const view = new DataView(bytes.buffer, bytes.byteOffset, 64);
  const wide = bytes[4] === 2;
  const little = bytes[5] === 1;
  const sections = wide ? Number(view.getBigUint64(0x28, little)) : view.getUint32(0x20, little);
  const size = view.getUint16(wide ? 0x3a : 0x2e, little);
  const count = view.getUint16(wide ? 0x3c : 0x30, little);
  const length = sections + size * count;
  if (length > bytes.length) throw new Error(`${file} is cut short: it has ${bytes.length} bytes of ${length}`);
}

module.exports = { checkLength, findAddon };
