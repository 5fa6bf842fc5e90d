'use strict';

// All that the inspector knows of framemask which framemask does not document: where a codec has the
// payload of a frame whose record it publishes. Only those who ask for payloads get this.

const { createRequire } = require('node:module');
const path = require('node:path');
const { parseFrame, unmasked } = require('./parse-frames');

/** The frame that a codec is at work on: its length, and the beginning of its payload. */
let current = null;

function startOf(data, count) {
  if (typeof data === 'string') return Buffer.from(data.slice(0, count)).subarray(0, count);
  const { buffer = data, byteOffset = 0, byteLength } = data;
  return Buffer.from(Buffer.from(buffer, byteOffset, Math.min(byteLength, count)));
}

/** The payload's beginning in the arguments of each method, which publishes the frame's record. */
const FINDERS = {
  Dispatcher: {
    dispatch: (count, _firstByte, bytes, start, end) => Buffer.from(bytes.subarray(start, Math.min(end, start + count)))
  },
  Encoder: {
    _addFrame: (count, _firstByte, data) => startOf(data, count),
    _addControl: (count, _firstByte, bytes) => startOf(bytes, count),
    _addPrepared: (count, frame, _firstByte, length) => startOf(frame.subarray(frame.length - length), count),
    _addFramed: (count, pieces) => unmasked(parseFrame(Buffer.concat(pieces), 0), count)
  }
};

function wrap(prototype, name, find) {
  const original = prototype[name];
  prototype[name] = function (...args) {
    const outer = current;
    // Before the call: a client masks what is its own in place.
    current = find(...args);
    try {
      return original.apply(this, args);
    } finally {
      current = outer;
    }
  };
}

/** framemask as this module finds it, and as the program does: they may be two copies. */
function copies() {
  const found = new Set([require('./framemask')]);
  for (const file of [process.argv[1], path.join(process.cwd(), 'app.js')]) {
    try {
      found.add(createRequire(path.resolve(file))('framemask'));
    } catch {
      // The program has none of its own.
    }
  }
  return found;
}

const watched = new WeakSet();

/** The Dispatcher is a part of each Decoder. */
function prototypeOf({ Decoder, Encoder }, owner) {
  if (owner === 'Encoder') return Encoder.prototype;
  const { _dispatcher: dispatcher = {} } = new Decoder({ role: 'server', onMessage() {} });
  return Object.getPrototypeOf(dispatcher);
}

/** @param {number} count how many bytes of each payload to keep */
function watchPayloads(count) {
  for (const framemask of copies()) {
    for (const [owner, finders] of Object.entries(FINDERS)) {
      const prototype = prototypeOf(framemask, owner);
      if (watched.has(prototype)) continue;
      watched.add(prototype);
      for (const [name, find] of Object.entries(finders)) {
        if (typeof prototype[name] !== 'function') {
          console.error(`framemask-inspector: this version of framemask does not show payloads (${owner}.${name})`);
          continue;
        }
        wrap(prototype, name, (...args) => find(count, ...args));
      }
    }
  }
}

/** @returns {Buffer | null} the beginning of the payload of a record that is being published */
function takePayload({ error }) {
  return error === null ? current : null;
}

module.exports = { takePayload, watchPayloads };
