'use strict';

// Allocations that fail once, as Node.js reports it.

const zlib = require('node:zlib');

/** Has the next call of a method throw. @returns {() => void} takes that back */
function failOnce(owner, name, error) {
  const original = Object.getOwnPropertyDescriptor(owner, name);
  const restore = () => Object.defineProperty(owner, name, original);
  const value = () => {
    restore();
    throw error;
  };
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return restore;
}

const noBuffer = () => new RangeError('Array buffer allocation failed');
const noContext = () => Object.assign(new Error('Initialization failed'), { code: 'ERR_ZLIB_INITIALIZATION_FAILED' });

/** Has zlib's next run on the event loop report that it has no memory. */
function failRun() {
  const handles = Object.getPrototypeOf(zlib.createDeflateRaw()._handle);
  const { writeSync } = handles;
  const restore = () => {
    handles.writeSync = writeSync;
  };
  handles.writeSync = function () {
    restore();
    this.onerror('Failed to set dictionary', -4, 'Z_MEM_ERROR');
  };
  return restore;
}

/** What fails next. Each is called to begin that, and returns what takes it back. */
const failNext = {
  buffer: () => failOnce(Buffer, 'concat', noBuffer()),
  copy: () => failOnce(Buffer, 'from', noBuffer()),
  run: failRun,
  deflater: () => failOnce(zlib, 'createDeflateRaw', noContext()),
  inflater: () => failOnce(zlib, 'createInflateRaw', noContext())
};

module.exports = { failNext };
