'use strict';

// How the addon is found, and what becomes of one that can't be loaded.

const t = require('tap');
const { execFile, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { promisify } = require('node:util');
const { checkLength, findAddon } = require('../../lib/masking/find-addon');
const builtin = require('../../lib/shared/node-modules');
const { addon } = require('../support/natives');

const run = promisify(execFile);
const ROOT = path.join(__dirname, '../..');
// The addon that the tests run on: of build/Release, or of prebuilds/ where nothing was built.
const BUILT = addon === null ? '' : require('node-gyp-build').resolve(ROOT);

// Of a user who has asked for nothing.
const { FRAMEMASK_REQUIRE_NATIVE, FRAMEMASK_KERNEL, ...ENVIRONMENT } = process.env;

/** A package of its own with the files of lib/, below which a test can put addons. */
function createPackage(t) {
  // Not below this checkout, whose node_modules would be found.
  const root = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'framemask-'));
  t.teardown(() => fs.rmSync(root, { recursive: true, force: true }));
  fs.cpSync(path.join(ROOT, 'lib'), path.join(root, 'lib'), { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'index.js'), path.join(root, 'index.js'));
  fs.writeFileSync(path.join(root, 'package.json'), '{ "name": "framemask" }');
  const loader = path.dirname(require.resolve('node-gyp-build/package.json'));
  fs.cpSync(loader, path.join(root, 'node_modules/node-gyp-build'), { recursive: true });
  return root;
}

/** @returns {Promise<{ kernel: string, error: string | null }>} what a process finds that loads the package */
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
const noAddon = addon === null && 'there is no addon to try it with';
const noElf = noAddon || (process.platform !== 'linux' && 'not Linux');

t.test('no addon', async (t) => {
  const { kernel, error } = await load(createPackage(t));
  t.equal(kernel, 'js');
  t.match(error, 'No native build was found');
});

t.test('no node-gyp-build, as in a bundle that left it out', async (t) => {
  const root = createPackage(t);
  fs.rmSync(path.join(root, 'node_modules'), { recursive: true });
  const { kernel, error } = await load(root);
  t.equal(kernel, 'js');
  t.match(error, "Cannot find module 'node-gyp-build'");
});

t.test('what a user has built wins over a prebuilt one', { skip: noAddon }, async (t) => {
  const root = createPackage(t);
  place(root, PREBUILT, 'no addon at all');
  t.equal((await load(root)).kernel, 'js');
  place(root, 'build/Release');
  t.match(await load(root), { kernel: /^(?!js)/, error: null });
});

t.test('files that are no addon, or not the whole of one', { skip: noElf }, async (t) => {
  const root = createPackage(t);
  const whole = fs.readFileSync(BUILT);
  const lengths = [0, 1, 63, 64, 1000, 4096, Math.floor(whole.length / 2), whole.length - 1];
  for (const length of lengths) {
    place(root, PREBUILT, whole.subarray(0, length));
    const { kernel, error } = await load(root);
    t.equal(kernel, 'js', `${length} bytes`);
    t.match(error, length < 64 ? /./ : `it has ${length} bytes of ${whole.length}`);
  }
  place(root, PREBUILT, Buffer.alloc(whole.length));
  t.match(await load(root), { kernel: 'js', error: 'invalid ELF header' });
  const foreign = Buffer.from(whole);
  foreign.writeUInt16LE(0xf7, 18);
  place(root, PREBUILT, foreign);
  t.equal((await load(root)).kernel, 'js', 'of a processor that nobody has');
  await t.rejects(load(root, { FRAMEMASK_REQUIRE_NATIVE: '1' }), 'an error where the addon is required');
  place(root, PREBUILT, whole);
  t.match(await load(root), { kernel: /^(?!js)/, error: null });
});

t.test('a disk that nothing may be run from', { skip: noElf }, (t) => {
  const root = createPackage(t);
  place(root, PREBUILT);
  const where = path.join(root, 'prebuilds');
  // Mounted for one shell and its children alone, so that nothing of it is left.
  const mounted = `cp -r ${where} ${root}/copy && mount -t tmpfs -o noexec tmpfs ${where} && cp -r ${root}/copy/* ${where}`;
  const inNamespace = (command) =>
    spawnSync('unshare', ['--mount', 'sh', '-c', command], { env: ENVIRONMENT, encoding: 'utf8' });
  if (inNamespace(`${mounted} && rm -r ${root}/copy`).status !== 0) {
    t.pass('can be tried only by who may mount a disk');
    t.end();
    return;
  }
  const script = `const { kernel, nativeError } = require('${root}/index.js'); console.log(kernel, nativeError.message)`;
  const { stdout } = inNamespace(`${mounted} && ${process.execPath} -e "${script}"`);
  t.match(stdout, /^js .*(failed to map segment|Operation not permitted)/);
  t.end();
});

t.test('the length of an ELF file of any kind', (t) => {
  const file = path.join(t.testdir(), 'file.node');
  for (const other of ['', '\x7fELF', 'MZ'.padEnd(100, ' ')]) {
    fs.writeFileSync(file, other);
    checkLength(file);
  }
  for (const wide of [false, true]) {
    for (const little of [false, true]) {
      const bytes = Buffer.alloc(100);
      bytes.write('\x7fELF', 'latin1');
      bytes[4] = wide ? 2 : 1;
      bytes[5] = little ? 1 : 2;
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      if (wide) view.setBigUint64(0x28, 70n, little);
      else view.setUint32(0x20, 70, little);
      view.setUint16(wide ? 0x3a : 0x2e, 10, little);
      view.setUint16(wide ? 0x3c : 0x30, 3, little);
      fs.writeFileSync(file, bytes);
      checkLength(file);
      fs.writeFileSync(file, bytes.subarray(0, 99));
      t.throws(() => checkLength(file), { message: `${file} is cut short: it has 99 bytes of 100` });
    }
  }
  t.end();
});

/** Puts an end to loading: the path of each file that would be is in `opened`, and its exports say which it was. */
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

t.test("Linux's file, on systems that run it", (t) => {
  const refuse = () => {
    throw new Error('No native build was found');
  };
  const root = createPackage(t);
  const folder = `prebuilds/linux-${process.arch}`;
  place(root, folder, 'an addon');
  const { findAddon: find } = t.mockRequire('../../lib/masking/find-addon', {
    // As node-gyp-build answers on a system for which there is nothing.
    'node-gyp-build': Object.assign(refuse, { resolve: refuse }),
    '../../lib/shared/node-modules': {
      ...builtin,
      path: { join: (...parts) => path.join(...parts).replace(ROOT, root) }
    }
  });
  const opened = interceptLoading(t);
  const file = path.join(root, folder, 'framemask.node');
  for (const name of ['freebsd', 'android']) t.same(find(name), { file }, name);
  for (const name of ['linux', 'win32', undefined]) t.throws(() => find(name), /No native build was found/);
  t.same(opened, [file, file]);
  t.end();
});

t.test('what node-gyp-build finds is looked at before it is loaded', (t) => {
  const folder = createPackage(t);
  place(folder, 'found', 'an addon');
  const file = path.join(folder, 'found/framemask.node');
  const brought = {};
  const asked = [];
  const { findAddon: find } = t.mockRequire('../../lib/masking/find-addon', {
    'node-gyp-build': Object.assign(() => brought, {
      resolve(root) {
        asked.push(root);
        return file;
      }
    })
  });
  t.equal(find(), brought);
  t.same(asked, [ROOT]);
  place(
    folder,
    'found',
    Buffer.concat([Buffer.from('\x7fELF\x02\x01', 'latin1'), Buffer.alloc(34), Buffer.alloc(60, 1)])
  );
  t.throws(find, /is cut short/);
  t.end();
});

t.test('where a bundler has put another file in the place of the call', (t) => {
  const brought = {};
  const { findAddon: find } = t.mockRequire('../../lib/masking/find-addon', {
    // As in a bundle of ncc, which has no prebuilds/ beside it.
    'node-gyp-build': Object.assign(() => brought, {
      resolve() {
        throw new Error('No native build was found');
      }
    })
  });
  t.equal(find('linux'), brought);
  t.end();
});

t.test('an entry for one platform brings its addon', (t) => {
  const provided = require('../../lib/masking/bundled-addon');
  t.equal(provided.load, null);
  t.teardown(() => {
    provided.load = null;
  });
  const brought = {};
  provided.load = () => brought;
  t.equal(findAddon(), brought, 'its exports');
  provided.load = () => ({ default: brought });
  t.equal(findAddon(), brought, 'an ES module around them');

  const folder = createPackage(t);
  place(folder, 'assets', 'an addon');
  const file = path.join(folder, 'assets/framemask.node');
  const opened = interceptLoading(t);
  for (const where of [file, path.relative(path.join(ROOT, 'lib/masking'), file), pathToFileURL(file).href]) {
    provided.load = () => where;
    t.same(findAddon(), { file }, where);
  }
  provided.load = () => './nowhere.node';
  t.throws(findAddon, { code: 'ENOENT' });
  t.equal(opened.length, 3);
  t.end();
});
