'use strict';

const { stringAt } = require('./elf');

const MACHINES = { 34404: 'x64', 332: 'ia32', 43620: 'arm64' };

const PE32_PLUS = 0x20b;
const CHARACTERISTIC_DLL = 0x2000;
const SECTION_CODE = 0x20;
const SECTION_WRITABLE = 0x80000000;
const SECTION_EXECUTABLE = 0x20000000;
const DYNAMIC_BASE = 0x40;
const NX_COMPAT = 0x100;

/**
 * @param {Buffer} file
 * @param {string} map what the linker has written of the functions, for the file has no symbols
 * @returns {import('./elf').Image}
 */
function readPe(file, map) {
  const header = file.readUInt32LE(0x3c);
  if (file.readUInt32LE(header) !== 0x4550) throw new Error('not a PE file');
  const optional = header + 24;
  const wide = file.readUInt16LE(optional) === PE32_PLUS;
  const sections = readSections(file, optional + file.readUInt16LE(header + 20), file.readUInt16LE(header + 6));
  const offsetOf = (address) => {
    const section = sections.find((s) => address >= s.address && address < s.address + s.size);
    return section.offset + address - section.address;
  };
  const directory = (i) => file.readUInt32LE(optional + (wide ? 112 : 96) + i * 8);
  const imports = readImports(file, directory(1), wide, offsetOf);

  const faults = [];
  if ((file.readUInt16LE(header + 22) & CHARACTERISTIC_DLL) === 0) faults.push('not a library');
  const characteristics = file.readUInt16LE(optional + 70);
  if ((characteristics & DYNAMIC_BASE) === 0) faults.push('a fixed address');
  if ((characteristics & NX_COMPAT) === 0) faults.push('data that can be executed');
  if (directory(13) !== 0) faults.push('delayed imports');
  const both = (SECTION_WRITABLE | SECTION_EXECUTABLE) >>> 0;
  if (sections.some(({ flags }) => (flags & both) >>> 0 === both)) faults.push('code that can be written');

  return {
    machine: MACHINES[file.readUInt16LE(header + 4)] ?? `${file.readUInt16LE(header + 4)}`,
    undefined: imports.flatMap(({ names }) => names),
    exports: readExports(file, directory(0), offsetOf),
    libraries: imports.map(({ library }) => library),
    alignment: file.readUInt32LE(optional + 32),
    code: sections
      .filter(({ flags }) => (flags & SECTION_CODE) !== 0)
      .map(({ address, offset, size }) => ({ address, bytes: file.subarray(offset, offset + size) })),
    functions: readMap(map, sections),
    faults
  };
}

function readSections(file, start, count) {
  return Array.from({ length: count }, (_, i) => {
    const at = start + i * 40;
    return {
      size: file.readUInt32LE(at + 8),
      address: file.readUInt32LE(at + 12),
      offset: file.readUInt32LE(at + 20),
      flags: file.readUInt32LE(at + 36)
    };
  });
}

function readImports(file, address, wide, offsetOf) {
  const imports = [];
  for (let at = offsetOf(address); file.readUInt32LE(at + 12) !== 0; at += 20) {
    const names = [];
    let entry = offsetOf(file.readUInt32LE(at));
    for (; file.readUInt32LE(entry) !== 0; entry += wide ? 8 : 4) {
      names.push(stringAt(file, offsetOf(file.readUInt32LE(entry)) + 2));
    }
    imports.push({ library: stringAt(file, offsetOf(file.readUInt32LE(at + 12))), names });
  }
  return imports;
}

function readExports(file, address, offsetOf) {
  const at = offsetOf(address);
  const names = offsetOf(file.readUInt32LE(at + 32));
  return Array.from({ length: file.readUInt32LE(at + 24) }, (_, i) =>
    stringAt(file, offsetOf(file.readUInt32LE(names + i * 4)))
  );
}

/** The lines `0001:00002060 00000153H .text$<name> CODE`: section, place in it, length. */
function readMap(map, sections) {
  return [...map.matchAll(/^ (\d{4}):([0-9a-f]{8}) ([0-9a-f]{8})H \.text\$(\S+) +CODE$/gm)].map(
    ([, section, offset, , name]) => ({
      name,
      address: sections[Number.parseInt(section, 16) - 1].address + Number.parseInt(offset, 16)
    })
  );
}

module.exports = { readPe };
