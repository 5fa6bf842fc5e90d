'use strict';

const { Decoder } = require('../codec/decoder');
const { invalidType } = require('../shared/errors');
const { shareReads } = require('./shared-reads');

/** Where a socket keeps its Decoder, and what is called after each read. */
const kDecoder = Symbol('decoder');
const kAfterRead = Symbol('afterRead');

/**
 * Writes all that a socket reads to a Decoder. If the Decoder borrows its chunks, the socket reads
 * into memory that all sockets of the thread share. index.d.ts documents it.
 *
 * @param {import('node:stream').Duplex} socket
 * @param {Decoder} decoder
 * @param {(this: import('node:stream').Duplex, more: boolean) => void} afterRead
 * @returns {boolean} whether reads are shared
 * @throws {TypeError} if an argument is not acceptable
 */
function readInto(socket, decoder, afterRead) {
  if (typeof socket?.on !== 'function') throw invalidType('socket', 'a stream', socket);
  if (!(decoder instanceof Decoder)) throw invalidType('decoder', 'a Decoder', decoder);
  if (typeof afterRead !== 'function') throw invalidType('afterRead', 'a function', afterRead);
  socket[kDecoder] = decoder;
  socket[kAfterRead] = afterRead;
  socket.on('data', onData);
  // The `write` of a subclass would see the memory.
  return decoder.borrowed && decoder.write === Decoder.prototype.write && shareReads(socket, onData);
}

/** @this {import('node:stream').Duplex} */
function onData(chunk) {
  const more = this[kDecoder].write(chunk);
  this[kAfterRead](more);
}

module.exports = { readInto };
