'use strict';

const { nodeModule, path } = require('../shared/node-modules');

/**
 * The versions of ws that framemask/ws works with. The peerDependencies of package.json allow all:
 * npm would refuse framemask as bufferutil beside an older ws.
 */
const OLDEST = [8, 17, 1];
const NEWEST_MAJOR = 8;

/** @returns {typeof import('ws')} the program's own ws */
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
  const ws = require('ws');
  return process.versions.bun !== undefined && isOfBun(ws) ? loadFile() : ws;
}

/** In Bun, `require('ws')` gives a module of Bun's own, unless a bundle holds ws. */
function isOfBun(ws) {
  try {
    new ws.Receiver();
    return false;
  } catch {
    return true; // Not supported yet in Bun
  }
}

/** Loads ws by the path of its file, which Bun loads as it is. */
function loadFile() {
  try {
    const requireFile = nodeModule.createRequire(__filename);
    return requireFile(path.join(path.dirname(requireFile.resolve('ws/package.json')), 'index.js'));
  } catch (cause) {
    throw new Error(
      'framemask/ws works on the package ws, in whose place Bun puts a module of its own; its files in node_modules ' +
        "can't be loaded. Run framemask/ws from node_modules, or require 'ws' instead of 'framemask/ws'",
      { cause }
    );
  }
}

function isSupported(version) {
  const numbers = version.split('.', 3).map((part) => Number.parseInt(part, 10));
  if (numbers[0] !== NEWEST_MAJOR) return false;
  const at = numbers.findIndex((number, i) => number !== OLDEST[i]);
  return at === -1 || numbers[at] > OLDEST[at];
}

module.exports = { isSupported, loadWs };
