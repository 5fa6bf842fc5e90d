'use strict';

/**
 * What is built. `cpu` is the oldest processor that Node.js itself runs on there: what goes beyond it is in kernels that
 * the addon chooses when it loads.
 *
 * @typedef {object} Target
 * @property {string} name as --only takes it
 * @property {string} file below prebuilds/, by the rules of node-gyp-build
 * @property {'elf' | 'macho' | 'pe'} format
 * @property {string} triple for zig's -target
 * @property {string} cpu for zig's -mcpu
 * @property {string} machine the processor that the file must name in its header
 */

/**
 * One file for glibc and musl: it links neither, and finds the few functions it calls in the process that loads it.
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
  // These two also serve FreeBSD and Android: see lib/masking/find-addon.js.
  linux('x64', 'x64', 'x86_64-linux-musl', 'x86_64'),
  linux('arm64', 'arm64', 'aarch64-linux-musl', 'generic'),
  // NEON is an option of armv7 that not every processor has taken.
  linux('arm', 'arm', 'arm-linux-musleabihf', 'generic+v7a+vfp3d16-neon', '.armv7'),
  linux('arm', 'arm', 'arm-linux-musleabihf', 'arm1176jzf_s', '.armv6'),
  // V8 asks for SSE2.
  linux('ia32', 'ia32', 'x86-linux-musl', 'pentium4'),
  linux('riscv64', 'riscv64', 'riscv64-linux-musl', 'baseline_rv64'),
  // POWER8 and z13: what the oldest distribution asks for that Node.js 20 runs on.
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
