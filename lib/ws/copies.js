'use strict';

// What register has done with each ws that the program has asked for, for report() and to be seen:
// register loads this module, and it loads neither ws nor the codec.

const { path, util, workerThreads } = require('../shared/node-modules');
const { SUPPORTED } = require('./load-ws');

/** Writes a line to stderr, with NODE_DEBUG=framemask. */
const log = util.debuglog('framemask');

/**
 * @typedef {object} Copy a ws, as in the result of report()
 * @property {string} path its folder
 * @property {string} version
 * @property {boolean} replaced whether framemask/ws is in its place
 * @property {string | null} reason why it is not
 */

/** @type {Map<string, Copy>} by folder */
const copies = new Map();
let registered = false;
/** The end of a channel: in the thread of register-hooks.mjs that to this thread, here that from it. */
let toMain = null;
let fromHooks = null;

/** @param {Copy} copy of which the first word counts */
function noteCopy(copy) {
  if (copies.has(copy.path)) return;
  copies.set(copy.path, copy);
  if (toMain !== null) toMain.postMessage(copy);
  else if (copy.replaced) log('ws %s of %s is replaced', copy.version, copy.path);
  else warnOfCopy(copy);
}

function warnOfCopy({ path: folder, version, reason }) {
  log('ws %s of %s stays: %s', version, folder, reason);
  process.emitWarning(`framemask/ws/register leaves ws ${version} of ${folder} as it is: ${reason}`, {
    type: 'FramemaskWarning',
    code: 'FRAMEMASK_WARN_WS_LEFT',
    detail: `See "Without changing a line" in ${path.join(__dirname, '../../docs/ws.md')}`
  });
}

/** The reason why a version of ws stays; null if framemask/ws works with it. */
const unsupported = (isSupported) =>
  isSupported ? null : `framemask/ws works on ${SUPPORTED}; "overrides" in package.json gives packages another`;

/** For register. */
function setRegistered(version) {
  registered = true;
  log('registered in place of ws %s', version);
}

/** @returns {object} options of `module.register`, with the end of a channel for the thread of hooks */
function channelToHooks(isMainThread = workerThreads.isMainThread) {
  // --require loads register in the thread of hooks, too: Node.js 20 ends there if it gets a port.
  if (!isMainThread) return {};
  const { port1: own, port2: port } = new workerThreads.MessageChannel();
  fromHooks = own.on('message', noteCopy);
  // The program may end while it listens.
  own.unref();
  return { data: { port }, transferList: [port] };
}

function sendTo(port) {
  toMain = port;
}

/** @returns {{ registered: boolean, copies: Copy[] }} a part of the result of report() */
function describeRegister() {
  while (fromHooks !== null) {
    const received = workerThreads.receiveMessageOnPort(fromHooks);
    if (received === undefined) break;
    noteCopy(received.message);
  }
  return { registered, copies: [...copies.values()] };
}

module.exports = { channelToHooks, describeRegister, log, noteCopy, sendTo, setRegistered, unsupported };
