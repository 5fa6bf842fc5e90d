'use strict';

// zlib without threads. When a thread is done with its work is chance; here work is done at once,
// and its callback comes in the next turn of the event loop, so that two runs of a program of
// fuzz/ws.js do the same. `isZlibBusy` tells whether a callback is still to come.

const zlib = require('node:zlib');

let pending = 0;

const isZlibBusy = () => pending > 0;

/** The position of the callback among the arguments of a handle's `init`. */
const CALLBACK = 5;

const callbacks = new WeakMap();

for (const create of [zlib.createInflateRaw, zlib.createDeflateRaw]) {
  const stream = create();
  const prototype = Object.getPrototypeOf(stream._handle);
  stream.close();
  if (Object.hasOwn(prototype, 'isDeterministic')) continue;
  prototype.isDeterministic = true;
  const { init } = prototype;
  prototype.init = function initAndRemember(...args) {
    callbacks.set(this, args[CALLBACK]);
    return init.apply(this, args);
  };
  prototype.write = function writeWithoutThread(...args) {
    const { onerror } = this;
    const errors = [];
    this.onerror = (...error) => errors.push(error);
    this.writeSync(...args);
    this.onerror = onerror;
    pending++;
    setImmediate(() => {
      pending--;
      if (errors.length > 0) errors.forEach((error) => void onerror.apply(this, error));
      else callbacks.get(this).call(this);
    });
  };
}

module.exports = { isZlibBusy };
