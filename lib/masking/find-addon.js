'use strict';

const modules = require('../shared/node-modules');
const bundledAddon = require('./bundled-addon');

const { fs, path } = modules;

/** Systems with Linux's calling convention and file format: they load the prebuild for Linux. */
const LIKE_LINUX = ['android', 'freebsd'];

/**
 * Finds and loads the addon: the one of an entry for one platform, else by node-gyp-build's rules
 * the one in build/Release, which the user has compiled, or else the one in prebuilds/. Throws if
 * there is none, it can't be loaded, or it is not framemask's.
 */
function findAddon(platform = process.platform) {
  if (bundledAddon.load !== null) return unwrap(bundledAddon.load());
  let file = null;
  try {
    // All of it in `try`: a bundle may lack node-gyp-build, a bundle of ES modules __dirname.
    file = require('node-gyp-build').resolve(path.join(__dirname, '../..'));
  } catch {
    if (LIKE_LINUX.includes(platform)) {
      file = path.join(__dirname, '../..', 'prebuilds', `linux-${process.arch}`, 'framemask.node');
    }
  }
  if (file !== null) {
    checkOwner(file, path.join(__dirname, '../..'));
    return open(file);
  }
  // @vercel/nft and ncc, which copy the files that a program needs, look for this expression. ncc
  // puts the copied file in its place, so it must run even if no file was found: it throws then.
  return require('node-gyp-build')(`${__dirname}/../..`);
}

/**
 * Refuses a file that is not named for framemask or not below framemask's own folder. A bundle lies
 * in the folder of another package, whose build/Release/ may have an addon; and node-gyp-build also
 * looks beside the program.
 */
function checkOwner(file, root) {
  const inside = !path.relative(root, file).startsWith('..') && /^framemask\b.*\.node$/.test(path.basename(file));
  if (inside && readName(path.join(root, 'package.json')) === 'framemask') return;
  throw new Error(`${file} is not framemask's`);
}

/** The name in a package.json, if it can be read. */
function readName(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')).name;
  } catch {
    return undefined;
  }
}

/**
 * The exports of the addon in a bundle: those, or the file's path from the bundle or its
 * file: URL, or an ES module whose default export is one of these.
 */
function unwrap(bundled) {
  const addon = bundled.default ?? bundled;
  if (typeof addon !== 'string') return addon;
  return open(addon.startsWith('file:') ? modules.url.fileURLToPath(addon) : path.resolve(__dirname, addon));
}

function open(file) {
  checkLength(file);
  // As `require` does. Bundlers would try to resolve a `require` when they build.
  const addon = { exports: {} };
  process.dlopen(addon, file);
  return addon.exports;
}

/**
 * Refuses an ELF file that was cut short, for example by a full disk: loading it would end the
 * process with SIGBUS. A complete file ends with its section headers. Other loaders check this.
 */
function checkLength(file) {
  const header = Buffer.alloc(64);
  const descriptor = fs.openSync(file, 'r');
  const { size } = fs.fstatSync(descriptor);
  fs.readSync(descriptor, header);
  fs.closeSync(descriptor);
  if (size < header.length || header.toString('latin1', 0, 4) !== '\x7fELF') return;
  const view = new DataView(header.buffer, header.byteOffset, header.length);
  const wide = header[4] === 2;
  const little = header[5] === 1;
  const sections = wide ? Number(view.getBigUint64(0x28, little)) : view.getUint32(0x20, little);
  const sectionSize = view.getUint16(wide ? 0x3a : 0x2e, little);
  const count = view.getUint16(wide ? 0x3c : 0x30, little);
  const length = sections + sectionSize * count;
  if (length > size) throw new Error(`${file} is cut short: it has ${size} bytes of ${length}`);
}

module.exports = { checkLength, findAddon };
