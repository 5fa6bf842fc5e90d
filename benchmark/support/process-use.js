'use strict';

const fs = require('node:fs');

/**
 * @returns {number} microseconds of all threads of a process that exist, read from outside, so that
 *   the process itself does nothing for it; NaN where there is no /proc
 */
function processorTime(pid) {
  try {
    const folder = `/proc/${pid}/task`;
    const read = (thread) => Number.parseInt(fs.readFileSync(`${folder}/${thread}/schedstat`, 'latin1'), 10);
    return fs.readdirSync(folder).reduce((sum, thread) => sum + read(thread), 0) / 1000;
  } catch {
    return Number.NaN;
  }
}

const TICK = 10_000;

/** @returns {number} microseconds of a process outside of the kernel, in steps of 10,000 (proc(5): utime) */
function userTime(pid) {
  const fields = fs
    .readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /, '')
    .split(' ');
  return Number(fields[11]) * TICK;
}

/** @returns {number} bytes of memory that a process has (proc(5): VmRSS) */
function residentMemory(pid) {
  return Number(/VmRSS:\s*(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))[1]) * 1024;
}

/** Whether a process may have files for so many connections; if not, says so. */
function fits(connections) {
  if (process.platform !== 'linux') return true;
  const [, most] = /Max open files\s+(\d+)/.exec(fs.readFileSync('/proc/self/limits', 'latin1'));
  const isEnough = connections + 100 <= Number(most);
  if (!isEnough) console.error(`${connections} connections are left out: ulimit -n is ${most}`);
  return isEnough;
}

module.exports = { fits, processorTime, residentMemory, userTime };
