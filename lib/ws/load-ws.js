'use strict';

/** The versions of ws that framemask/ws works with, as in the peerDependencies of package.json. */
const OLDEST = [8, 17, 1];
const NEWEST_MAJOR = 8;

/**
 * @returns {typeof import('ws')} the program's own ws
 * @throws {Error} if there is none, or its version is not supported
 */
function loadWs() {
  let version;
  try {
    ({ version } = require('ws/package.json'));
  } catch (cause) {
    throw new Error('framemask/ws works on ws, which is not installed: run `npm install ws`', { cause });
  }
  if (!isSupported(version)) {
    throw new Error(
      `framemask/ws works on ws ${OLDEST.join('.')} to ${NEWEST_MAJOR}.x, and ws ${version} is installed: ` +
        "run `npm install ws@8`, or require 'ws' instead of 'framemask/ws'"
    );
  }
  return require('ws');
}

/**
 * @param {string} version
 * @returns {boolean}
 */
function isSupported(version) {
  const numbers = version.split('.', 3).map((part) => Number.parseInt(part, 10));
  if (numbers[0] !== NEWEST_MAJOR) return false;
  const at = numbers.findIndex((number, i) => number !== OLDEST[i]);
  return at === -1 || numbers[at] > OLDEST[at];
}

module.exports = { isSupported, loadWs };
