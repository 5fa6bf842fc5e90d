'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');

/** The user and system time of /proc/PID/stat is in hundredths of a second on every Linux. */
const MICROSECONDS_PER_TICK = 10_000;

/**
 * Reads the processor time of a process from outside, so that the process itself does nothing for
 * it: in nanoseconds where Linux keeps scheduler statistics, else in hundredths of a second.
 *
 * @param {number} pid
 * @returns {number} microseconds of user and system time of all its threads; NaN where there is
 *   neither /proc nor ps
 */
function processorTime(pid) {
  return readFirst([fromThreads, fromProcess, timeFromPs], pid);
}

/**
 * @param {number} pid
 * @returns {number} the bytes of a process that are in memory; NaN where there is neither /proc nor
 *   ps
 */
function residentMemory(pid) {
  return readFirst([(pid) => memoryFromProcess(pid, 'VmRSS'), residentFromPs], pid);
}

/**
 * Starts the measurement of the most memory that a process has. Only Linux can.
 *
 * @param {number} pid
 * @returns {() => number} reads the most bytes that were in memory since; elsewhere than on Linux
 *   those that are
 */
function watchMemory(pid) {
  try {
    // Makes VmHWM the present value: proc_pid_clear_refs(5).
    fs.writeFileSync(`/proc/${pid}/clear_refs`, '5');
    return () => memoryFromProcess(pid, 'VmHWM');
  } catch {
    return () => residentMemory(pid);
  }
}

/** @returns {number} what the first of them gives that works on this system */
function readFirst(readers, pid) {
  for (const read of readers) {
    try {
      return read(pid);
    } catch {
      // Not on this system.
    }
  }
  return Number.NaN;
}

/** The sum over the threads that exist: programs measured here keep theirs. */
function fromThreads(pid) {
  const folder = `/proc/${pid}/task`;
  let nanoseconds = 0;
  for (const thread of fs.readdirSync(folder)) {
    nanoseconds += Number.parseInt(fs.readFileSync(`${folder}/${thread}/schedstat`, 'latin1'), 10);
  }
  // 0 if the kernel was built without them.
  if (!(nanoseconds > 0)) throw new Error('no scheduler statistics');
  return nanoseconds / 1000;
}

function fromProcess(pid) {
  // The second field is the name in parentheses, which may have any characters. utime and stime are
  // the fields 14 and 15.
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MICROSECONDS_PER_TICK;
}

/** `ps` prints `[[days-]hours:]minutes:seconds`, on macOS with hundredths. */
function timeFromPs(pid) {
  const text = askPs('time', pid);
  const [, days = 0, hours = 0, minutes, seconds] = /^(?:(\d+)-)?(?:(\d+):)?(\d+):([\d.]+)$/.exec(text);
  return (((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1e6;
}

function memoryFromProcess(pid, field) {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status)[1]) * 1024;
}

function residentFromPs(pid) {
  return Number.parseInt(askPs('rss', pid), 10) * 1024;
}

function askPs(field, pid) {
  const options = { encoding: 'latin1', stdio: ['ignore', 'pipe', 'ignore'] };
  return execFileSync('ps', ['-o', `${field}=`, '-p', `${pid}`], options).trim();
}

module.exports = { processorTime, residentMemory, watchMemory };
