'use strict';

const { fs, path, url } = require('../shared/node-modules');
const provided = require('./bundled-addon');

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
  if (provided.load !== null) return unwrap(provided.load());
  let file = null;
  try {
    // All of it here: a bundle may have no node-gyp-build, and one of ES modules no __dirname.
    file = require('node-gyp-build').resolve(path.join(__dirname, '../..'));
  } catch {
    if (LIKE_LINUX.includes(platform)) {
      return open(path.join(__dirname, '../..', 'prebuilds', `linux-${process.arch}`, 'framemask.node'));
    }
  }
  if (file !== null) checkLength(file);
  // Spelt out, so that tools which copy what a program needs (@vercel/nft, ncc) see where it looks. ncc has the file that it
  // copied in the place of this call, so it is made even where nothing was found. Elsewhere it throws that error again.
  return require('node-gyp-build')(`${__dirname}/../..`);
}

/**
 * @param {object | string} brought what a bundler has made of the addon: its exports; or where the file is, as a path from
 *   the bundle or a file: URL; or an ES module around either
 * @returns {object} the addon's exports
 */
function unwrap(brought) {
  const addon = brought.default ?? brought;
  if (typeof addon !== 'string') return addon;
  return open(addon.startsWith('file:') ? url.fileURLToPath(addon) : path.resolve(__dirname, addon));
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
