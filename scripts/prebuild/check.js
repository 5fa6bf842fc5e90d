'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { ELF_PAGE, EXPORTS, ROOT, WINDOWS_SOURCE } = require('./compile');
const { readElf } = require('./elf');
const { checkInstructions } = require('./instructions');
const { readMachO } = require('./macho');
const { readPe } = require('./pe');
const { disassemble } = require('./toolchain');

/** What a file may need of others besides Node-API, for each format; `some` need not be there. */
const NEEDS = {
  // Both glibc and musl have these, the first under one version on each processor.
  elf: { libraries: [], all: [], some: ['memmove', 'bcmp'] },
  macho: { libraries: ['/usr/lib/libSystem.B.dylib'], all: ['dyld_stub_binder'], some: ['memmove', 'bcmp'] },
  pe: { libraries: ['KERNEL32.dll'], all: ['GetModuleHandleA', 'GetProcAddress'], some: [] }
};

const PAGES = { elf: () => ELF_PAGE, macho: ({ machine }) => (machine === 'arm64' ? 16384 : 4096), pe: () => 4096 };

/** The functions of Node-API that the addon calls: Windows has them as a list, and all others must agree with it. */
function nodeApiFunctions() {
  const source = fs.readFileSync(path.join(ROOT, WINDOWS_SOURCE), 'utf8');
  return [...source.matchAll(/\bF\((napi_\w+)\)/g)].map(([, name]) => name);
}

/**
 * @param {{ file: string, symbols: string }} built what compile.js has made
 * @param {import('./targets').Target} target
 * @returns {{ image: import('./elf').Image, functions: import('./elf').Image['functions'] }}
 */
function read({ file, symbols }, { format }) {
  const bytes = fs.readFileSync(file);
  if (format === 'pe') {
    const image = readPe(bytes, fs.readFileSync(symbols, 'utf8'));
    return { image, functions: image.functions };
  }
  const readFormat = format === 'macho' ? readMachO : readElf;
  const image = readFormat(bytes);
  const named = readFormat(fs.readFileSync(symbols));
  const whole = ({ code }) => Buffer.concat(code.map((region) => region.bytes));
  if (!whole(image).equals(whole(named))) image.faults.push('other code than the file with symbols');
  return { image: { ...image, code: named.code }, functions: named.functions };
}

/**
 * Looks into a file that was built: everything that can be wrong with it without a compiler's or a linker's word.
 *
 * @param {{ file: string, symbols: string }} built
 * @param {import('./targets').Target} target
 * @returns {Promise<{ faults: string[], kernels: string[] }>}
 */
async function check(built, target) {
  const { image, functions } = read(built, target);
  const { libraries, all, some } = NEEDS[target.format];
  const mustImport = target.format === 'pe' ? all : [...all, ...nodeApiFunctions()];
  // How NEON is found on a processor that need not have it.
  const mayImport = target.name === 'linux-arm-armv7' ? [...some, 'getauxval'] : some;
  const faults = [...image.faults];

  function compare(what, actual, expected, optional = []) {
    const missing = expected.filter((name) => !actual.includes(name));
    const extra = actual.filter((name) => !expected.includes(name) && !optional.includes(name));
    if (missing.length > 0) faults.push(`${what}: ${missing.join(', ')} missing`);
    if (extra.length > 0) faults.push(`${what}: ${extra.join(', ')} not expected`);
  }

  if (image.machine !== target.machine) faults.push(`for ${image.machine}, not ${target.machine}`);
  compare('imports', image.undefined, mustImport, mayImport);
  compare('exports', image.exports, EXPORTS);
  compare('libraries', image.libraries, libraries);
  if (image.alignment < PAGES[target.format](target)) faults.push(`laid out for pages of ${image.alignment} bytes`);

  const code = image.code.filter(({ isData }) => !isData);
  const instructions = await disassemble(target.machine, code);
  if (instructions.length === 0) faults.push('no code');
  const inKernels = checkInstructions(target, instructions, functions);
  return { faults: [...faults, ...inKernels.faults], kernels: inKernels.kernels };
}

module.exports = { check };
