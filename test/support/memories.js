'use strict';

const vm = require('node:vm');

const inMemory = (memory) => ({ data: memory, seen: Buffer.from(memory) });
const inView = (data) => ({ data, seen: Buffer.from(data.buffer, data.byteOffset, data.byteLength) });
const realm = vm.createContext();
const elsewhere = (source) => vm.runInContext(source, realm);

/**
 * Kinds of bytes that a program may send: each makes some, and a Buffer of the same memory.
 *
 * @type {Object<string, (size: number) =>
 *   { data: ArrayBuffer | SharedArrayBuffer | ArrayBufferView, seen: Buffer }>}
 */
const MEMORIES = {
  'a Buffer': (size) => inView(Buffer.alloc(size)),
  'an ArrayBuffer': (size) => inMemory(new ArrayBuffer(size)),
  'a SharedArrayBuffer': (size) => inMemory(new SharedArrayBuffer(size)),
  'a view of one': (size) => inView(new Uint8Array(new SharedArrayBuffer(size + 9), 5, size)),
  'a Buffer of one': (size) => inView(Buffer.from(new SharedArrayBuffer(size))),
  'a DataView of one': (size) => inView(new DataView(new SharedArrayBuffer(size))),
  'an ArrayBuffer of another realm': (size) => inMemory(elsewhere(`new ArrayBuffer(${size})`)),
  'a SharedArrayBuffer of another realm': (size) => inMemory(elsewhere(`new SharedArrayBuffer(${size})`)),
  'a Uint8Array of another realm': (size) => inView(elsewhere(`new Uint8Array(${size})`)),
  'a DataView of another realm': (size) => inView(elsewhere(`new DataView(new ArrayBuffer(${size}))`))
};

module.exports = { MEMORIES };
