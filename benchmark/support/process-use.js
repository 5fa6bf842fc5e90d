'use strict';

// What another process uses, read from outside, so that the process itself does nothing for it.
// Only Linux tells; elsewhere the figures are NaN, and left out.

const fs = require('node:fs');

/** @returns {number} NaN where there is no /proc */
function orNaN(read) {
  try {
    return read();
  } catch {
    return Number.NaN;
  }
}

/** @returns {number} microseconds of all threads that exist: programs measured here keep theirs */
function processorTime(pid) {
  return orNaN(() => {
    const folder = `/proc/${pid}/task`;
    const read = (thread) => Number.parseInt(fs.readFileSync(`${folder}/${thread}/schedstat`, 'latin1'), 10);
    return fs.readdirSync(folder).reduce((sum, thread) => sum + read(thread), 0) / 1000;
  });
}

/** @param {number} pid @returns {() => number} reads the most bytes that were in memory since */
function watchMemory(pid) {
  // Makes VmHWM the present value: proc_pid_clear_refs(5).
  orNaN(() => fs.writeFileSync(`/proc/${pid}/clear_refs`, '5'));
  const read = () => /^VmHWM:\s*(\d+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))[1] * 1024;
  return () => orNaN(read);
}

module.exports = { processorTime, watchMemory };
