'use strict';

// How the addon is found, and what happens if it cannot be loaded.

const assert = require('node:assert/strict');
const t = require('tap');
const { execFile, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { promisify } = require('node:util');
const { HEADERS, checkLength, elfLength, findAddon, provideAddon } = require('../../lib/masking/native');
const builtin = require('../../lib/shared/node-modules');
const { addon } = require('../support/natives');
const { LONG } = require('../support/sample');

const run = promisify(execFile);
const ROOT = path.join(__dirname, '../..');
// The addon of this checkout: from build/Release, or from prebuilds/ if nothing was built.
const BUILT = addon === null ? '' : require('node-gyp-build').resolve(ROOT);

// The environment of a user who has set neither variable.
const { FRAMEMASK_REQUIRE_NATIVE, FRAMEMASK_KERNEL, ...ENVIRONMENT } = process.env;

/** A package with the files of lib/, into which a test can put addons. */
function createPackage(t) {
  // Not below this checkout: its node_modules would be found.
  const root = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'framemask-'));
  t.teardown(() => fs.rmSync(root, { recursive: true, force: true }));
  fs.cpSync(path.join(ROOT, 'lib'), path.join(root, 'lib'), { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'index.js'), path.join(root, 'index.js'));
  fs.writeFileSync(path.join(root, 'package.json'), '{ "name": "framemask" }');
  const loader = path.dirname(require.resolve('node-gyp-build/package.json'));
  fs.cpSync(loader, path.join(root, 'node_modules/node-gyp-build'), { recursive: true });
  return root;
}

/**
 * @returns {Promise<{ kernel: string, error: string | null }>} what a process that loads the
 * package finds
 */
async function load(root, env = {}) {
  const script = `const { kernel, nativeError, mask } = require(${JSON.stringify(path.join(root, 'index.js'))});
    const output = Buffer.alloc(100);
    mask(Buffer.alloc(100), Buffer.from([1, 2, 3, 4]), output, 0, 100);
    if (output[99] !== 4) throw new Error('not masked');
    console.log(JSON.stringify({ kernel, error: nativeError && nativeError.message }));`;
  const { stdout } = await run(process.execPath, ['-e', script], { env: { ...ENVIRONMENT, ...env } });
  return JSON.parse(stdout);
}

function place(root, folder, bytes = fs.readFileSync(BUILT)) {
  fs.mkdirSync(path.join(root, folder), { recursive: true });
  fs.writeFileSync(path.join(root, folder, 'framemask.node'), bytes);
}

const PREBUILT = `prebuilds/${process.platform}-${process.arch}`;
const noAddon = addon === null && 'no addon';
const noElf = noAddon || (process.platform !== 'linux' && 'not Linux');

t.test('without an addon framemask runs on JavaScript', async (t) => {
  const { kernel, error } = await load(createPackage(t));
  t.equal(kernel, 'js');
  t.match(error, 'No native build was found');
});

t.test('without node-gyp-build, as in a bundle, framemask runs on JavaScript', async (t) => {
  const root = createPackage(t);
  fs.rmSync(path.join(root, 'node_modules'), { recursive: true });
  const { kernel, error } = await load(root);
  t.equal(kernel, 'js');
  t.match(error, "Cannot find module 'node-gyp-build'");
});

t.test('an addon that the user has built is preferred to a prebuilt one', { skip: noAddon }, async (t) => {
  const root = createPackage(t);
  place(root, PREBUILT, 'no addon at all');
  t.equal((await load(root)).kernel, 'js');
  place(root, 'build/Release');
  t.match(await load(root), { kernel: /^(?!js)/, error: null });
  t.equal((await load(root, { PREBUILDS_ONLY: '1' })).kernel, 'js', "node-gyp-build's variable");
});

t.test('a file that is not an addon, or is cut short, is not loaded', { skip: noElf, ...LONG }, async (t) => {
  const root = createPackage(t);
  const whole = fs.readFileSync(BUILT);
  const end = elfLength(new Uint8Array(whole).subarray(0, HEADERS));
  const lengths = [0, 63, 64, Math.floor(end / 2), end - 1];
  for (const length of lengths) {
    place(root, PREBUILT, whole.subarray(0, length));
    const { kernel, error } = await load(root);
    t.equal(kernel, 'js', `the kernel, ${length} bytes`);
    t.match(error, length < 64 ? /./ : `it has ${length} bytes of `, `the error, ${length} bytes`);
  }
  place(root, PREBUILT, Buffer.alloc(whole.length));
  t.match(await load(root), { kernel: 'js', error: 'invalid ELF header' });
  const foreign = Buffer.from(whole);
  foreign.writeUInt16LE(0xf7, 18);
  place(root, PREBUILT, foreign);
  t.equal((await load(root)).kernel, 'js', 'an addon for another processor');
  await t.rejects(load(root, { FRAMEMASK_REQUIRE_NATIVE: '1' }), 'FRAMEMASK_REQUIRE_NATIVE=1 makes it an error');
  place(root, PREBUILT, whole);
  t.match(await load(root), { kernel: /^(?!js)/, error: null });
});

t.test('an addon on a disk mounted noexec is not loaded', { skip: noElf }, async (t) => {
  const root = createPackage(t);
  place(root, PREBUILT);
  const where = path.join(root, 'prebuilds');
  // Mounted for one shell and its children only.
  const mounted = `cp -r ${where} ${root}/copy && mount -t tmpfs -o noexec tmpfs ${where} && cp -r ${root}/copy/* ${where}`;
  const inNamespace = (command) =>
    spawnSync('unshare', ['--mount', 'sh', '-c', command], { env: ENVIRONMENT, encoding: 'utf8' });
  if (inNamespace(`${mounted} && rm -r ${root}/copy`).status !== 0) {
    return t.skip('needs the right to mount a disk');
  }
  const script = `const { kernel, nativeError } = require('${root}/index.js'); console.log(kernel, nativeError.message)`;
  const { stdout } = inNamespace(`${mounted} && ${process.execPath} -e "${script}"`);
  t.match(stdout, /^js .*(failed to map segment|Operation not permitted)/);
});

t.test('checkLength finds an ELF file of either width and byte order that is cut short', async (t) => {
  const file = path.join(t.testdir(), 'file.node');
  for (const other of ['', '\x7fELF', 'MZ'.padEnd(100, ' ')]) {
    fs.writeFileSync(file, other);
    checkLength(file);
  }
  for (const wide of [false, true]) {
    for (const little of [false, true]) {
      const bytes = Buffer.alloc(200);
      bytes.write('\x7fELF', 'latin1');
      bytes[4] = wide ? 2 : 1;
      bytes[5] = little ? 1 : 2;
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      const setWord = (at, value) =>
        wide ? view.setBigUint64(at, BigInt(value), little) : view.setUint32(at, value, little);
      // Two program headers, of which the first one's segment ends last.
      setWord(wide ? 0x20 : 0x1c, 64);
      view.setUint16(wide ? 0x38 : 0x2c, 2, little);
      setWord(wide ? 64 + 8 : 64 + 4, 150);
      setWord(wide ? 64 + 32 : 64 + 16, 50);
      fs.writeFileSync(file, bytes);
      checkLength(file);
      fs.writeFileSync(file, bytes.subarray(0, 199));
      const message = `${file} is cut short: it has 199 bytes of 200`;
      t.throws(() => checkLength(file), { message }, `${wide ? 64 : 32} bits, ${little ? 'little' : 'big'}-endian`);
    }
  }
});

/**
 * Replaces process.dlopen: `opened` has the path of each file that would be loaded, and so have its
 * exports.
 */
function interceptLoading(t) {
  const { dlopen } = process;
  t.teardown(() => {
    process.dlopen = dlopen;
  });
  const opened = [];
  process.dlopen = (module, file) => {
    module.exports = { file };
    opened.push(file);
  };
  return opened;
}

t.test('the addon is the file that node-gyp-build finds', async (t) => {
  const root = createPackage(t);
  const find = require(path.join(root, 'lib/masking/native')).findAddon;
  interceptLoading(t);
  for (const folder of [PREBUILT, 'build/Debug', 'build/Release']) {
    place(root, folder, 'an addon');
    const file = path.join(root, folder, 'framemask.node');
    t.same(find(), { file }, folder);
    t.equal(require('node-gyp-build').resolve(root), file, folder);
  }
});

/** `findAddon` of a package in another folder, with a node-gyp-build of `load` and `resolve`. */
function findWith(t, folder, resolve, load = () => assert.fail('loaded without a look at it')) {
  const { findAddon: find } = t.mockRequire('../../lib/masking/native', {
    'node-gyp-build': Object.assign(load, { resolve }),
    '../../lib/shared/node-modules': {
      ...builtin,
      path: { ...path, join: (...parts) => path.join(...parts).replace(ROOT, folder) }
    }
  });
  return find;
}

t.test(
  'the prebuilt addon of this platform is loaded without node-gyp-build, but not beside a debug build',
  async (t) => {
    const root = createPackage(t);
    const folder = `prebuilds/${process.platform}-${process.arch}`;
    place(root, folder, 'an addon');
    const ask = () => assert.fail('node-gyp-build was asked');
    const find = findWith(t, root, ask, ask);
    const opened = interceptLoading(t);
    const file = path.join(root, folder, 'framemask.node');
    t.same(find(), { file });
    place(root, 'build/Debug', 'an addon');
    t.throws(find, /node-gyp-build was asked/);
    t.same(opened, [file]);
  }
);

t.test('only files named for framemask, below its own folder, are loaded', async (t) => {
  const root = createPackage(t);
  place(root, 'found', 'an addon');
  const file = path.join(root, 'found/framemask.node');
  const opened = interceptLoading(t);
  const find = (found) => findWith(t, root, () => found)();
  t.same(find(file), { file });
  for (const other of [
    path.join(root, 'found/other.node'),
    path.join(root, 'found/notframemask.node'),
    path.join(root, '../framemask.node'),
    path.join(path.dirname(process.execPath), 'prebuilds/framemask.node')
  ]) {
    t.throws(() => find(other), { message: `${other} is not framemask's` });
  }
  for (const manifest of ['{ "name": "job" }', 'no JSON', '{}']) {
    fs.writeFileSync(path.join(root, 'package.json'), manifest);
    t.throws(() => find(file), { message: `${file} is not framemask's` }, manifest);
  }
  fs.rmSync(path.join(root, 'package.json'));
  t.throws(() => find(file), { message: `${file} is not framemask's` }, 'a bundle in a folder of somebody else');
  t.equal(opened.length, 1);
});

t.test('the length of the file that node-gyp-build finds is checked before it is loaded', async (t) => {
  const folder = createPackage(t);
  place(folder, 'found', 'an addon');
  const file = path.join(folder, 'found/framemask.node');
  const asked = [];
  const find = findWith(t, folder, (root) => {
    asked.push(root);
    return file;
  });
  const opened = interceptLoading(t);
  t.same(find(), { file });
  t.same(asked, [folder]);
  t.same(opened, [file]);
  const cutShort = [
    Buffer.from('\x7fELF\x02\x01', 'latin1'),
    Buffer.alloc(26),
    Buffer.of(64),
    Buffer.alloc(7),
    Buffer.alloc(60, 1)
  ];
  place(folder, 'found', Buffer.concat(cutShort));
  t.throws(find, /is cut short/);
});

t.test('an addon that a bundler has put in place of the call of node-gyp-build is loaded', async (t) => {
  const exported = {};
  // As in a bundle of ncc, which lacks prebuilds/.
  const resolve = () => assert.fail('No native build was found');
  const find = findWith(t, createPackage(t), resolve, () => exported);
  t.equal(find(), exported);
});

t.test('an entry for one platform loads its addon', async (t) => {
  t.teardown(() => provideAddon(null));
  const exported = {};
  provideAddon(() => exported);
  t.equal(findAddon(), exported, 'its exports');
  provideAddon(() => ({ default: exported }));
  t.equal(findAddon(), exported, 'an ES module around them');

  const folder = createPackage(t);
  place(folder, 'assets', 'an addon');
  const file = path.join(folder, 'assets/framemask.node');
  const opened = interceptLoading(t);
  for (const where of [file, path.relative(path.join(ROOT, 'lib/masking'), file), pathToFileURL(file).href]) {
    provideAddon(() => where);
    t.same(findAddon(), { file }, where);
  }
  provideAddon(() => './nowhere.node');
  t.throws(findAddon, { code: 'ENOENT' });
  t.equal(opened.length, 3);
});
