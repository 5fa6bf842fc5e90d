'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { ELF_PAGE, ROOT } = require('./build');
const { checkInstructions } = require('./instructions');
const { readLibrary } = require('./toolchain');

const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];

/**
 * What a file needs of others besides Node-API, for each format: `all` must be there, `some` may
 * be.
 */
const NEEDS = {
  // glibc and musl both have these. glibc has memmove in a single version.
  elf: { libraries: [], all: [], some: ['memmove', 'bcmp'] },
  macho: { libraries: ['/usr/lib/libSystem.B.dylib'], all: ['dyld_stub_binder'], some: ['memmove', 'bcmp'] },
  pe: { libraries: ['KERNEL32.dll'], all: ['GetModuleHandleA', 'GetProcAddress'], some: [] }
};

const PAGES = { elf: () => ELF_PAGE, macho: ({ machine }) => (machine === 'arm64' ? 16384 : 4096), pe: () => 4096 };

/**
 * The functions of Node-API that the addon calls. Windows needs a list of them; all others must
 * agree with it.
 */
function nodeApiFunctions() {
  const source = fs.readFileSync(path.join(ROOT, 'src/windows.cc'), 'utf8');
  return [...source.matchAll(/\bF\((napi_\w+)\)/g)].map(([, name]) => name);
}

/** @returns {string[]} faults of a file that may import the names of `required` and `optional` */
function faultsOf(image, target, required, optional) {
  const faults = [...image.faults];

  function compare(what, actual, expected, allowed = []) {
    const missing = expected.filter((name) => !actual.includes(name));
    const extra = actual.filter((name) => !expected.includes(name) && !allowed.includes(name));
    if (missing.length > 0) faults.push(`${what}: ${missing.join(', ')} missing`);
    if (extra.length > 0) faults.push(`${what}: ${extra.join(', ')} not expected`);
  }

  if (image.machine !== target.machine) faults.push(`for ${image.machine}, not ${target.machine}`);
  compare('imports', image.imports, required, optional);
  compare('exports', image.exports, EXPORTS);
  compare('libraries', image.libraries, NEEDS[target.format].libraries);
  if (image.alignment < PAGES[target.format](target)) faults.push(`laid out for pages of ${image.alignment} bytes`);
  return faults;
}

/**
 * Checks a file that was built for all that can be wrong with it and that no compiler or linker
 * reports.
 *
 * @param {{ file: string, symbols: string }} built as build.js returns it
 * @param {import('./targets').Target} target
 * @returns {Promise<{ faults: string[], kernels: string[] }>}
 */
async function check(built, target) {
  const image = await readLibrary(built, target.machine);
  const { all, some } = NEEDS[target.format];
  const required = target.format === 'pe' ? all : [...all, ...nodeApiFunctions()];
  // NEON is optional in armv7; getauxval tells whether a processor has it.
  const optional = target.name === 'linux-arm-armv7' ? [...some, 'getauxval'] : some;
  const faults = faultsOf(image, target, required, optional);
  if (image.instructions.length === 0) faults.push('no code');
  const inKernels = checkInstructions(target, image.instructions, image.functions);
  return { faults: [...faults, ...inKernels.faults], kernels: inKernels.kernels };
}

module.exports = { check };
