'use strict';

const os = require('node:os');

/**
 * Describes the machine, to be printed beside figures that depend on it.
 *
 * @param {string} kernel the kernel that framemask uses
 * @returns {{ cpu: string, cores: number, system: string, release: string, runtime: string,
 *   kernel: string }} `release` is the operating system's, `kernel` framemask's
 */
function describeMachine(kernel) {
  const cpus = os.cpus();
  return {
    cpu: (cpus[0]?.model ?? 'unknown processor').trim(),
    cores: cpus.length,
    system: `${process.platform}-${process.arch}`,
    release: `${os.type()} ${os.release()}`,
    runtime: describeRuntime(),
    kernel
  };
}

/** @returns {string} such as `Node.js 20.1.2`, or another runtime's name and version */
function describeRuntime() {
  const { bun, deno, node } = process.versions;
  if (bun) return `Bun ${bun}`;
  if (deno) return `Deno ${deno}`;
  return `Node.js ${node}`;
}

/**
 * @param {ReturnType<typeof describeMachine>} machine
 * @returns {string} one line
 */
function machineLine({ cpu, cores, system, runtime, kernel }) {
  return `${cpu}, ${cores} cores, ${system}, ${runtime}, kernel ${kernel}`;
}

module.exports = { describeMachine, machineLine };
