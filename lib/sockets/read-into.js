'use strict';

const { Decoder } = require('../codec/decoder');
const { copyOf } = require('../shared/buffers');
const { invalidType } = require('../shared/errors');
const { isShared, shareReads } = require('./shared-reads');

const { write } = Decoder.prototype;

const kDecoder = Symbol('decoder');
const kAfterRead = Symbol('afterRead');

/**
 * Writes all that a socket reads to a Decoder. If the Decoder borrows its chunks, the socket reads
 * into memory that all sockets of the thread share. index.d.ts documents it.
 */
function readInto(socket, decoder, afterRead) {
  if (typeof socket?.on !== 'function') throw invalidType('socket', 'a stream', socket);
  if (!(decoder instanceof Decoder)) throw invalidType('decoder', 'a Decoder', decoder);
  if (typeof afterRead !== 'function') throw invalidType('afterRead', 'a function', afterRead);
  // A second call is for another Decoder.
  const isHeard = socket[kDecoder] !== undefined && socket.listeners('data').includes(onData);
  socket[kDecoder] = decoder;
  socket[kAfterRead] = afterRead;
  if (!isHeard) socket.on('data', onData);
  return isTrusted(decoder) ? shareReads(socket, onData) : 'events';
}

/** A Decoder that keeps chunks, or whose `write` has been replaced, sees no shared memory. */
function isTrusted(decoder) {
  return decoder.borrowed && decoder.write === write;
}

function onData(chunk) {
  const decoder = this[kDecoder];
  const more = decoder.write(isTrusted(decoder) || !isShared(chunk) ? chunk : copyOf(chunk, 0, chunk.length));
  this[kAfterRead](more);
}

module.exports = { readInto };
