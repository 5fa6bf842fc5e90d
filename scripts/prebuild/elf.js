'use strict';

/**
 * What scripts/prebuild/check.js asks of a file, whatever its format.
 *
 * @typedef {object} Image
 * @property {string} machine as in targets.js, or a number that it does not know
 * @property {string[]} undefined what the process that loads it must have
 * @property {string[]} exports
 * @property {string[]} libraries that are loaded with it
 * @property {number} alignment the largest page for which the file is laid out
 * @property {{ address: number, bytes: Buffer, isData?: boolean }[]} code
 * @property {{ name: string, address: number }[]} functions none where the file has no symbols
 * @property {string[]} faults what must not be in a file of this format
 */

// The flags that a header must have, besides the machine: which registers hold floating-point arguments, and so on.
const MACHINES = {
  '62/0x0': 'x64',
  '3/0x0': 'ia32',
  '183/0x0': 'arm64',
  '40/0x5000400': 'arm', // EABI 5, hard float
  '243/0x5': 'riscv64', // compressed instructions, doubles in registers
  '21/0x2': 'ppc64le', // ELF version 2
  '22/0x0': 's390x',
  '258/0x43': 'loong64' // doubles in registers
};

// What the linker adds, data in part: the way to functions of other files.
const LINKER_CODE = /^\.(i?plt|glink)/;

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_GNU_STACK = 0x6474e551;
const PF_X = 1;
const PF_W = 2;
const SHT_SYMTAB = 2;
const SHT_DYNAMIC = 6;
const SHT_DYNSYM = 11;
const SHF_EXECINSTR = 4;
const DT_NEEDED = 1;
const DT_TEXTREL = 22;
const STT_FUNC = 2;
const SHT_GNU_VERNEED = 0x6ffffffe;

/**
 * @param {Buffer} file an ELF file of either word size and either byte order
 * @returns {{ wide: boolean, u16: Function, u32: Function, word: Function }} how its numbers are read
 */
function reader(file) {
  if (file.readUInt32BE(0) !== 0x7f454c46) throw new Error('not an ELF file');
  const wide = file[4] === 2;
  const little = file[5] === 1;
  const u16 = (at) => (little ? file.readUInt16LE(at) : file.readUInt16BE(at));
  const u32 = (at) => (little ? file.readUInt32LE(at) : file.readUInt32BE(at));
  const u64 = (at) => Number(little ? file.readBigUInt64LE(at) : file.readBigUInt64BE(at));
  return { wide, u16, u32, word: wide ? u64 : u32 };
}

/** The NUL-terminated string at `at`. */
function stringAt(file, at) {
  return file.toString('latin1', at, file.indexOf(0, at));
}

function readSegments(file) {
  const { wide, u16, u32, word } = reader(file);
  const start = word(wide ? 32 : 28);
  return Array.from({ length: u16(wide ? 56 : 44) }, (_, i) => {
    const at = start + i * u16(wide ? 54 : 42);
    return wide
      ? { type: u32(at), flags: u32(at + 4), offset: word(at + 8), address: word(at + 16), align: word(at + 48) }
      : { type: u32(at), flags: u32(at + 24), offset: word(at + 4), address: word(at + 8), align: word(at + 28) };
  });
}

function readSections(file) {
  const { wide, u16, u32, word } = reader(file);
  const start = word(wide ? 40 : 32);
  return Array.from({ length: u16(wide ? 60 : 48) }, (_, i) => {
    const at = start + i * u16(wide ? 58 : 46);
    const [flags, address, offset, size] = wide ? [8, 16, 24, 32] : [8, 12, 16, 20];
    return {
      name: u32(at),
      type: u32(at + 4),
      flags: word(at + flags),
      address: word(at + address),
      offset: word(at + offset),
      size: word(at + size),
      link: u32(at + (wide ? 40 : 24))
    };
  });
}

function readSymbols(file, sections, type) {
  const { wide, u16, u32, word } = reader(file);
  const table = sections.find((section) => section.type === type);
  if (table === undefined) return [];
  const size = wide ? 24 : 16;
  return Array.from({ length: table.size / size }, (_, i) => {
    const at = table.offset + i * size;
    return {
      name: stringAt(file, sections[table.link].offset + u32(at)),
      address: word(at + (wide ? 8 : 4)),
      kind: file[at + (wide ? 4 : 12)] & 15,
      defined: u16(at + (wide ? 6 : 14)) !== 0
    };
  }).slice(1);
}

function readDynamic(file, sections) {
  const { wide, word } = reader(file);
  const section = sections.find(({ type }) => type === SHT_DYNAMIC);
  const size = wide ? 16 : 8;
  const entries = Array.from({ length: section.size / size }, (_, i) => {
    const at = section.offset + i * size;
    return { tag: word(at), value: word(at + size / 2) };
  });
  return { entries, strings: sections[section.link].offset };
}

/**
 * What the compiler has made.
 *
 * @param {Buffer} file
 * @param {object[]} sections
 * @param {object[]} symbols
 */
function readCode(file, sections, symbols) {
  const { wide, u16 } = reader(file);
  const names = sections[u16(wide ? 62 : 50)].offset;
  // ARM keeps constants between functions, and marks them by symbols: $d where they begin, $a where code goes on.
  const marks = symbols.filter(({ name }) => /^\$[ad]/.test(name)).sort((a, b) => a.address - b.address);
  return sections
    .filter(({ flags, name }) => (flags & SHF_EXECINSTR) !== 0 && !LINKER_CODE.test(stringAt(file, names + name)))
    .flatMap(({ address, offset, size }) => {
      const inside = marks.filter((mark) => mark.address > address && mark.address < address + size);
      const starts = [{ name: '$a', address }, ...inside];
      return starts.map((mark, i) => {
        const end = starts[i + 1]?.address ?? address + size;
        const bytes = file.subarray(offset + mark.address - address, offset + end - address);
        return { address: mark.address, bytes, isData: mark.name.startsWith('$d') };
      });
    });
}

/**
 * @param {Buffer} file
 * @returns {Image}
 */
function readElf(file) {
  const { wide, u16, u32 } = reader(file);
  const segments = readSegments(file);
  const sections = readSections(file);
  const symbols = readSymbols(file, sections, SHT_DYNSYM);
  const named = readSymbols(file, sections, SHT_SYMTAB);
  const { entries, strings } = readDynamic(file, sections);
  const machine = `${u16(18)}/0x${u32(wide ? 48 : 36).toString(16)}`;
  const loads = segments.filter(({ type }) => type === PT_LOAD);

  const faults = [];
  if (!segments.some(({ type }) => type === PT_DYNAMIC)) faults.push('no dynamic segment');
  if (loads.some(({ flags }) => (flags & PF_X) !== 0 && (flags & PF_W) !== 0)) faults.push('code that can be written');
  if (entries.some(({ tag }) => tag === DT_TEXTREL)) faults.push('relocations in code');
  if (!segments.some(({ type, flags }) => type === PT_GNU_STACK && (flags & PF_X) === 0)) {
    faults.push('an executable stack');
  }
  if (loads.some(({ address, offset, align }) => (address - offset) % align !== 0)) faults.push('misaligned segments');
  // musl has no versions: a versioned symbol ties the file to one C library.
  if (sections.some(({ type }) => type === SHT_GNU_VERNEED)) faults.push('versioned symbols');

  return {
    machine: MACHINES[machine] ?? machine,
    undefined: symbols.filter(({ defined }) => !defined).map(({ name }) => name),
    exports: symbols.filter(({ defined }) => defined).map(({ name }) => name),
    libraries: entries.filter(({ tag }) => tag === DT_NEEDED).map(({ value }) => stringAt(file, strings + value)),
    alignment: Math.min(...loads.map(({ align }) => align)),
    code: readCode(file, sections, named),
    functions: named
      .filter(({ kind, defined }) => kind === STT_FUNC && defined)
      .map(({ name, address }) => ({ name, address })),
    faults
  };
}

module.exports = { readElf, stringAt };
