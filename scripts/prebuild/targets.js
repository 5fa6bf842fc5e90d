'use strict';

/**
 * A platform that prebuilds are made for.
 *
 * @typedef {object} Target
 * @property {string} name as --only and `framemask/prebuilds/NAME` take it
 * @property {string} file its path below prebuilds/, by the rules of node-gyp-build
 * @property {'elf' | 'macho' | 'pe'} format
 * @property {string} triple for zig's -target
 * @property {string} cpu for zig's -mcpu: the oldest processor that Node.js itself supports there.
 *   Instructions that it lacks are in kernels, among which the addon chooses when it loads.
 * @property {string} machine the processor that the file's header must name
 */

/**
 * One file serves glibc and musl. It links neither: the process that loads it has the few functions
 * of them that it calls.
 *
 * @returns {Target}
 */
function linux(arch, machine, triple, cpu, tag = '') {
  const name = `linux-${arch}`;
  return {
    name: name + tag.replace('.', '-'),
    file: `${name}/framemask${tag}.node`,
    format: 'elf',
    triple,
    cpu,
    machine
  };
}

/** @returns {Target} */
function windows(arch, machine, triple, cpu) {
  return { name: `win32-${arch}`, file: `win32-${arch}/framemask.node`, format: 'pe', triple, cpu, machine };
}

/** @returns {Target} */
function darwin(arch, machine, triple, cpu) {
  return { name: `darwin-${arch}`, file: `darwin-${arch}/framemask.node`, format: 'macho', triple, cpu, machine };
}

/** @type {Target[]} */
const TARGETS = [
  linux('x64', 'x64', 'x86_64-linux-musl', 'x86_64'),
  linux('arm64', 'arm64', 'aarch64-linux-musl', 'generic'),
  // NEON is optional in armv7.
  linux('arm', 'arm', 'arm-linux-musleabihf', 'generic+v7a+vfp3d16-neon', '.armv7'),
  linux('arm', 'arm', 'arm-linux-musleabihf', 'arm1176jzf_s', '.armv6'),
  // V8 needs SSE2.
  linux('ia32', 'ia32', 'x86-linux-musl', 'pentium4'),
  linux('riscv64', 'riscv64', 'riscv64-linux-musl', 'baseline_rv64'),
  // POWER8 and z13 are the oldest processors of the distributions that Node.js 20 supports.
  linux('ppc64', 'ppc64le', 'powerpc64le-linux-musl', 'pwr8'),
  linux('s390x', 's390x', 's390x-linux-musl', 'arch11'),
  linux('loong64', 'loong64', 'loongarch64-linux-musl', 'generic_la64+d+ual-lsx'),
  windows('x64', 'x64', 'x86_64-windows-gnu', 'x86_64'),
  windows('ia32', 'ia32', 'x86-windows-gnu', 'pentium4'),
  windows('arm64', 'arm64', 'aarch64-windows-gnu', 'generic'),
  darwin('x64', 'x64', 'x86_64-macos.11.0', 'x86_64'),
  darwin('arm64', 'arm64', 'aarch64-macos.11.0', 'apple_m1')
];

module.exports = { TARGETS };
