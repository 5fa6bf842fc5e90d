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

module.exports = { processorTime };
