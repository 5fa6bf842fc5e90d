'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { zig } = require('./toolchain');

const ROOT = path.join(__dirname, '../..');

const COMPILE_FLAGS = [
  '-std=c++17',
  '-Wall',
  '-Wextra',
  '-Werror',
  '-Wno-unused-command-line-argument',
  // What needs a C++ runtime, or is only of use to a debugger.
  '-fno-exceptions',
  '-fno-rtti',
  '-fno-threadsafe-statics',
  '-fno-stack-protector',
  '-fno-sanitize=all',
  '-fno-unwind-tables',
  '-fno-asynchronous-unwind-tables',
  // What nobody calls is left out.
  '-g0',
  '-fno-ident',
  '-fvisibility=hidden',
  '-ffunction-sections',
  '-fdata-sections'
];

const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];

// -fno-plt, on x86 and arm64, the only ones that know it: calls of Node-API without a jump on the way, and 500 bytes less.
const FORMAT_FLAGS = { elf: ['-fPIC', '-fno-plt'], macho: ['-fPIC'], pe: [] };

// The largest pages that arm64 and ppc64 kernels have: a file made for smaller ones does not load there.
const ELF_PAGE = 65536;

// src/windows.cc is no part of binding.gyp: node-gyp has its own way to find Node-API. It defines memmove, and the
// compiler must not make a call of memmove of that.
const WINDOWS_SOURCE = 'src/windows.cc';

/** Only what loops over a payload gains by -O3; the rest is 1 KB smaller, and as fast. */
function fileFlags(source, { machine }) {
  if (source === WINDOWS_SOURCE) return ['-Os', '-fno-builtin'];
  // Where there are vectors, nobody takes the scalar kernel who does not ask for it.
  if (source === 'src/kernels/scalar.cc' && ['x64', 'ia32', 'arm64'].includes(machine)) return ['-Os'];
  // Kernels with vectors are unrolled by hand.
  return source.startsWith('src/kernels/') ? ['-O3', '-fno-unroll-loops'] : ['-Os'];
}

/** @returns {{ sources: string[], defines: string[] }} what binding.gyp says of the addon */
function readBindingGyp() {
  // JSON is a part of what gyp reads, and binding.gyp keeps to it.
  const [{ sources, defines }] = JSON.parse(fs.readFileSync(path.join(ROOT, 'binding.gyp'), 'utf8')).targets;
  return { sources, defines: [...defines, 'BUILDING_NODE_EXTENSION'] };
}

/**
 * Compiles and links for one target.
 *
 * @param {import('./targets').Target} target
 * @param {string} folder for what is made on the way
 * @returns {Promise<{ file: string, symbols: string }>} the file to ship, and one that names its functions: a linker's
 *   map for PE, for the others the same file, but with symbols
 */
async function build(target, folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  const objects = await compile(target, folder);
  await LINKERS[target.format](target, objects, folder);
  const symbols = target.format === 'pe' ? 'framemask.map' : 'symbols.node';
  return { file: path.join(folder, 'framemask.node'), symbols: path.join(folder, symbols) };
}

/** @returns {Promise<string[]>} the names of the object files */
async function compile(target, folder) {
  const { sources, defines } = readBindingGyp();
  const options = [
    ...machineFlags(target),
    ...COMPILE_FLAGS,
    ...FORMAT_FLAGS[target.format],
    ...defines.map((define) => `-D${define}`),
    `-I${require('node-api-headers').include_dir}`,
    `-I${path.join(ROOT, 'node_modules/node-addon-api')}`
  ];
  const objects = [];
  for (const source of target.format === 'pe' ? [...sources, WINDOWS_SOURCE] : sources) {
    const object = `${source.replace(/\W/g, '-')}.o`;
    await zig(['c++', ...options, ...fileFlags(source, target), '-c', path.join(ROOT, source), '-o', object], folder);
    objects.push(object);
  }
  return objects;
}

function machineFlags({ triple, cpu }) {
  return ['-target', triple, `-mcpu=${cpu}`];
}

const LINKERS = {
  /** Without a C library: what the addon calls of it, the process that loads it has, be it glibc or musl. */
  async elf(target, objects, folder) {
    fs.writeFileSync(path.join(folder, 'exports.map'), `{ global: ${EXPORTS.join('; ')}; local: *; };\n`);
    const args = [
      ...machineFlags(target),
      '-shared',
      '-nostdlib',
      '-Wl,--gc-sections',
      `-Wl,-z,max-page-size=${ELF_PAGE}`,
      '-Wl,--hash-style=gnu',
      '-Wl,-z,relro',
      '-Wl,-z,now',
      '-Wl,--version-script=exports.map',
      ...objects
    ];
    await zig(['c++', ...args, '-s', '-o', 'framemask.node'], folder);
    await zig(['c++', ...args, '-o', 'symbols.node'], folder);
  },

  /** By the linker without local symbols: to strip a file breaks its signature, without which arm64 does not load it. */
  async macho(target, objects, folder) {
    const args = [
      ...machineFlags(target),
      '-shared',
      '-nostdlib++',
      '-s',
      '-Wl,-undefined,dynamic_lookup',
      '-Wl,-dead_strip',
      // zig leaves 4 KiB for a longer name; nobody renames a signed file.
      '-Wl,-headerpad,0x20',
      '-Wl,-install_name,@rpath/framemask.node'
    ];
    await zig(['c++', ...args, '-Wl,-x', ...objects, '-o', 'framemask.node'], folder);
    await zig(['c++', ...args, ...objects, '-o', 'symbols.node'], folder);
  },

  /** By the linker itself, which `zig c++` does not ask for a map. */
  async pe({ machine }, objects, folder) {
    const stdcall = machine === 'ia32';
    const functions = stdcall ? ['GetModuleHandleA@4', 'GetProcAddress@8'] : ['GetModuleHandleA', 'GetProcAddress'];
    fs.writeFileSync(
      path.join(folder, 'kernel32.def'),
      ['LIBRARY KERNEL32.dll', 'EXPORTS', ...functions, ''].join('\n')
    );
    const dlltoolMachine = { x64: 'i386:x86-64', ia32: 'i386', arm64: 'arm64' }[machine];
    await zig(['dlltool', '-k', '-m', dlltoolMachine, '-d', 'kernel32.def', '-l', 'kernel32.lib'], folder);
    const args = [
      '-lldmingw',
      `-machine:${machine.replace('ia32', 'x86')}`,
      '-dll',
      `-entry:DllMainCRTStartup${stdcall ? '@12' : ''}`,
      '-nologo',
      '-nodefaultlib',
      '-noimplib',
      '-opt:ref',
      // Each section is padded to 512 bytes.
      '-merge:.pdata=.rdata',
      // A hash of the file in place of the time.
      '-brepro',
      '-build-id:no',
      '-map:framemask.map',
      '-out:framemask.node'
    ];
    await zig(['lld-link', ...args, ...objects, 'kernel32.lib'], folder);
  }
};

module.exports = { ELF_PAGE, EXPORTS, ROOT, WINDOWS_SOURCE, build };
