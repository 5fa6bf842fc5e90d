'use strict';

// The handle of a net.Socket that is read in rounds. A prototype in front of its own gives the calls
// of the socket to a lane. Lanes know no other undocumented part of net.Socket than those named here:
// `canTake` checks that they are there.

const { Buffer } = require('../shared/buffers');

const WRITES = {
  writeAsciiString: 'ascii',
  writeLatin1String: 'latin1',
  writeUcs2String: 'ucs2',
  writeUtf8String: 'utf8'
};
const METHODS = [
  'close',
  'hasRef',
  'readStart',
  'readStop',
  'ref',
  'reset',
  'shutdown',
  'unref',
  'writeBuffer',
  'writev'
];

const NUMBERS = ['bytesRead', 'bytesWritten', 'fd'];

/** The lanes of handles, also of those that libuv reads again: they count bytes. */
const lanes = new WeakMap();

/** The prototypes of handles, and those in front of them. */
const fronts = new WeakMap();

/** @returns {boolean} whether a socket and its handle are as lanes know them; each is taken once */
function canTake(socket) {
  const handle = handleOf(socket);
  const prototype = Object.getPrototypeOf(handle);
  return (
    [...METHODS, ...Object.keys(WRITES)].every(
      (name) => typeof prototype[name] === 'function' && handle[name] === prototype[name]
    ) &&
    NUMBERS.every((name) => typeof handle[name] === 'number') &&
    typeof socket._unrefTimer === 'function' &&
    !lanes.has(handle)
  );
}

function takeHandle(handle, lane) {
  const prototype = Object.getPrototypeOf(handle);
  if (!fronts.has(prototype)) fronts.set(prototype, inFrontOf(prototype));
  lanes.set(handle, lane);
  Object.setPrototypeOf(handle, fronts.get(prototype));
}

/** @returns {import('./lane').Lane | undefined} */
const laneOf = (socket) => lanes.get(handleOf(socket));

/** @returns {object | null} null when the socket has closed */
const handleOf = (socket) => socket._handle;

/** Re-arms the timeout of `setTimeout`, as reads and writes do. */
function rearm(socket) {
  if (socket.timeout) socket._unrefTimer();
}

function inFrontOf(prototype) {
  const front = {
    readStart() {
      const lane = lanes.get(this);
      return lane.isAway ? super.readStart() : lane.start();
    },
    readStop() {
      const lane = lanes.get(this);
      return lane.isAway ? super.readStop() : lane.stop();
    },
    close(callback) {
      lanes.get(this).leave();
      return super.close(callback);
    },
    reset(callback) {
      lanes.get(this).leave();
      return super.reset(callback);
    },
    ref() {
      super.ref();
      lanes.get(this).changeHold();
    },
    unref() {
      super.unref();
      lanes.get(this).changeHold();
    },
    writeBuffer(request, bytes) {
      const rest = lanes.get(this).askRest();
      return super.writeBuffer(request, rest === null ? bytes : Buffer.concat([rest, bytes]));
    },
    writev(request, chunks, areBuffers) {
      const rest = lanes.get(this).askRest();
      if (rest !== null) chunks.unshift(...(areBuffers ? [rest] : [rest, 'buffer']));
      return super.writev(request, chunks, areBuffers);
    },
    shutdown(request) {
      const lane = lanes.get(this);
      const rest = lane.askRest();
      if (rest === null) return super.shutdown(request);
      lane.sendLast(rest, () => super.shutdown(request));
      return 0;
    },
    get bytesRead() {
      return super.bytesRead + lanes.get(this).bytesRead;
    },
    get bytesWritten() {
      return super.bytesWritten + lanes.get(this).bytesWritten;
    }
  };
  for (const [name, encoding] of Object.entries(WRITES)) {
    front[name] = function (request, string) {
      const rest = lanes.get(this).askRest();
      return rest === null
        ? prototype[name].call(this, request, string)
        : prototype.writev.call(this, request, [rest, 'buffer', string, encoding], false);
    };
  }
  return Object.setPrototypeOf(front, prototype);
}

module.exports = { canTake, handleOf, laneOf, rearm, takeHandle };
