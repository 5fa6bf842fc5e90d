'use strict';

const { stringAt } = require('./elf');

const CPUS = { 16777223: 'x64', 16777228: 'arm64' };

const MH_NOUNDEFS = 1;
const MH_DYLIB = 6;
const LC_SEGMENT_64 = 0x19;
const LC_SYMTAB = 0x02;
const LC_LOAD_DYLIB = 0x0c;
const LC_ID_DYLIB = 0x0d;
const LC_UUID = 0x1b;
const LC_CODE_SIGNATURE = 0x1d;
const LC_BUILD_VERSION = 0x32;
const SECTION_HAS_CODE = 0x80000000;
const N_STAB = 0xe0;
const N_TYPE = 0x0e;
const N_EXT = 0x01;
const N_SECT = 0x0e;
const OLDEST_MACOS = 11 << 16;

/** @returns {{ command: number, at: number }[]} */
function readCommands(file) {
  const commands = [];
  let at = 32;
  for (let i = file.readUInt32LE(16); i > 0; i--) {
    commands.push({ command: file.readUInt32LE(at), at });
    at += file.readUInt32LE(at + 4);
  }
  return commands;
}

function readSections(file, segments) {
  return segments.flatMap(({ at }) =>
    Array.from({ length: file.readUInt32LE(at + 64) }, (_, i) => {
      const section = at + 72 + i * 80;
      const offset = file.readUInt32LE(section + 48);
      return {
        address: Number(file.readBigUInt64LE(section + 32)),
        bytes: file.subarray(offset, offset + Number(file.readBigUInt64LE(section + 40))),
        flags: file.readUInt32LE(section + 64)
      };
    })
  );
}

function readSymbols(file, { at }) {
  const strings = file.readUInt32LE(at + 16);
  return Array.from({ length: file.readUInt32LE(at + 12) }, (_, i) => {
    const entry = file.readUInt32LE(at + 8) + i * 16;
    const type = file[entry + 4];
    return {
      // C's names have an underscore before them here.
      name: stringAt(file, strings + file.readUInt32LE(entry)).replace(/^_/, ''),
      debug: (type & N_STAB) !== 0,
      defined: (type & N_TYPE) === N_SECT,
      external: (type & N_EXT) !== 0,
      section: file[entry + 5],
      address: Number(file.readBigUInt64LE(entry + 8))
    };
  }).filter(({ debug }) => !debug);
}

/**
 * @param {Buffer} file
 * @returns {import('./elf').Image}
 */
function readMachO(file) {
  if (file.readUInt32LE(0) !== 0xfeedfacf) throw new Error('not a 64-bit Mach-O file');
  const commands = readCommands(file);
  const having = (wanted) => commands.filter(({ command }) => command === wanted);
  const machine = CPUS[file.readUInt32LE(4)] ?? `${file.readUInt32LE(4)}`;
  const segments = having(LC_SEGMENT_64);
  const sections = readSections(file, segments);
  const symbols = readSymbols(file, having(LC_SYMTAB)[0]);
  const isCode = ({ flags }) => (flags & SECTION_HAS_CODE) !== 0;

  const faults = [];
  if (file.readUInt32LE(12) !== MH_DYLIB) faults.push('not a library');
  // dyld looks for nothing outside of a file that says it needs nothing.
  if ((file.readUInt32LE(24) & MH_NOUNDEFS) !== 0) faults.push('MH_NOUNDEFS');
  // macOS 15 and later kill a process for a file without one.
  if (having(LC_UUID).length !== 1) faults.push('no LC_UUID');
  if (having(LC_ID_DYLIB).length !== 1) faults.push('no LC_ID_DYLIB');
  if (machine === 'arm64' && having(LC_CODE_SIGNATURE).length !== 1) faults.push('no signature');
  const [version] = having(LC_BUILD_VERSION);
  if (version === undefined || file.readUInt32LE(version.at + 12) > OLDEST_MACOS)
    faults.push('for a later macOS than 11');

  return {
    machine,
    undefined: symbols.filter(({ defined }) => !defined).map(({ name }) => name),
    // dyld's own names begin with two underscores in the table, one here.
    exports: symbols.filter((s) => s.defined && s.external && !s.name.startsWith('_')).map(({ name }) => name),
    libraries: having(LC_LOAD_DYLIB).map(({ at }) => stringAt(file, at + file.readUInt32LE(at + 8))),
    alignment: Math.min(...segments.map(({ at }) => alignmentOf(Number(file.readBigUInt64LE(at + 24))))),
    code: sections.filter(isCode),
    functions: symbols
      .filter(({ defined, section }) => defined && isCode(sections[section - 1]))
      .map(({ name, address }) => ({ name, address })),
    faults
  };
}

/** The largest power of two up to 64 KiB that divides an address. */
function alignmentOf(address) {
  let alignment = 65536;
  while (address % alignment !== 0) alignment /= 2;
  return alignment;
}

module.exports = { readMachO };
