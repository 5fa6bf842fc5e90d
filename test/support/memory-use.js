'use strict';

// Run by test/codec/decoder/memory.js in processes of their own: node --expose-gc memory-use.js
// <what> <js | native> Prints the results as JSON, by the name of each case, in bytes.

const buffer = require('node:buffer');

/**
 * Bytes that the functions of Node.js that lib/ uses have copied, allocated, and checked for UTF-8.
 */
const counts = { copied: 0, allocated: 0, checked: 0 };
const { copy } = Buffer.prototype;
Buffer.prototype.copy = function (...args) {
  const copied = copy.apply(this, args);
  counts.copied += copied;
  return copied;
};
const { allocUnsafeSlow } = Buffer;
Buffer.allocUnsafeSlow = (size) => {
  counts.allocated += size;
  return allocUnsafeSlow(size);
};
const { isUtf8 } = buffer;
buffer.isUtf8 = (bytes) => {
  counts.checked += bytes.length;
  return isUtf8(bytes);
};

const { codecBackend, createCodecBackend } = require('../../lib/codec/backend');
const { decoderOver } = require('./codecs');
const { agree } = require('./deflate');
const { BINARY, KEY, TEXT, framesFor, piecesOf } = require('./frames');
const { TRIES_ALL } = require('./sample');
const { withSubscriber } = require('./subscribers');

const GIB = 2 ** 30;
const MIB = 2 ** 20;
/** The lengths and counts of a sample: memory that grows by doubling has done so several times. */
const GATHERED = TRIES_ALL ? 16 * MIB : MIB;
const FRAGMENTS = TRIES_ALL ? 50_000 : 5000;
const WHOLE = TRIES_ALL ? 8 * MIB : MIB;

const [what, backend] = process.argv.slice(2);
const Decoder = decoderOver(backend === 'js' ? createCodecBackend(null) : codecBackend);

/** Bytes in use after garbage collection. */
function memory() {
  global.gc();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** 10,000 connections, each with a header that announces 1 GiB, and ten bytes of payload. */
function announced() {
  const results = {};
  const cases = {
    'a header and ten bytes': (f, opcode) => [f.frame(opcode, '0123456789', { length: GIB })],
    'byte by byte': (f, opcode) =>
      Array.from(f.frame(opcode, '0123456789', { length: GIB }), (byte) => Buffer.from([byte])),
    'after a fragment': (f, opcode) => [
      f.frame(opcode, '', { fin: false }),
      f.continuation('0123456789', { length: GIB - 1, fin: false })
    ],
    'a header that is not complete': (f, opcode) => [f.frame(opcode, '', { length: GIB }).subarray(0, 9)]
  };
  const measure = (make) => {
    const before = memory();
    const decoders = [];
    for (let i = 0; i < 10000; i++) {
      const role = i % 2 === 0 ? 'server' : 'client';
      decoders.push(new Decoder({ role, text: 'buffer', maxPayload: GIB, onMessage() {} }));
    }
    const idle = memory();
    decoders.forEach((decoder, i) => {
      const chunks = make(framesFor(i % 2 === 0 ? 'server' : 'client'), i % 3 === 0 ? TEXT : BINARY);
      for (const chunk of chunks) decoder.write(chunk);
    });
    const after = memory();
    return { idle: idle - before, grown: after - idle, closed: decoders.filter(({ closed }) => closed).length };
  };
  for (const [name, make] of Object.entries(cases)) results[name] = measure(make);
  return results;
}

/** What a frame of 1 GiB holds when so much of it has arrived. */
function gathered() {
  const held = () => {
    memory();
    return process.memoryUsage().arrayBuffers;
  };
  const measure = (role, opcode, size) => {
    const before = held();
    const decoder = new Decoder({ role, text: 'buffer', maxPayload: GIB });
    decoder.write(framesFor(role).frame(opcode, '', { length: GIB }));
    const steps = [];
    let received = 0;
    for (let next = 65536; next <= GATHERED; next *= 4) {
      for (; received < next; received += size) {
        const chunk = Buffer.alloc(size, 'x');
        // Masked, so that it is text when it is unmasked.
        if (role === 'server') for (let i = 0; i < size; i++) chunk[i] ^= KEY[(received + i) & 3];
        decoder.write(chunk);
      }
      steps.push({ received, held: held() - before, closed: decoder.closed });
    }
    return { steps };
  };
  const results = {};
  for (const role of ['server', 'client']) {
    for (const opcode of [TEXT, BINARY]) {
      for (const size of [100, 1000, 65536]) {
        results[`${role}, opcode ${opcode}, chunks of ${size} bytes`] = measure(role, opcode, size);
      }
    }
  }
  return results;
}

/**
 * What each of two decoders holds of a compressed message that has not ended, and has come in small
 * pieces.
 */
async function deflated() {
  const COUNT = 2;
  const stored = (bytes) => {
    const head = Buffer.alloc(5);
    head.writeUInt16LE(bytes.length, 1);
    head.writeUInt16LE(0xffff - bytes.length, 3);
    return Buffer.concat([head, bytes]);
  };
  const letter = stored(Buffer.from('a'));
  const large = stored(Buffer.alloc(4096, 'b'));
  const letters = Array(16_000).fill(letter);
  const unfinished = (f, payloads) => f.fragments(BINARY, [...payloads, ''], 0x40).slice(0, -1);
  const cases = {
    'fragments of one byte': (f) => unfinished(f, letters),
    'empty fragments': (f) => unfinished(f, Array(16_000).fill('')),
    'fragments of a byte and of 4 KiB by turns': (f) => unfinished(f, Array(100).fill([letter, large]).flat()),
    'one frame, in chunks that inflate to one byte': (f) => {
      const bytes = f.binary(Buffer.concat(letters), { length: GIB, rsv: 0x40 });
      const at = bytes.length - letters.length * letter.length;
      return [bytes.subarray(0, at), ...piecesOf(bytes.subarray(at), letter.length)];
    }
  };
  /** What others have left is released in turns of the event loop. */
  const settled = async () => {
    let before = Infinity;
    for (let now = memory(); now < before - 1024; now = memory()) {
      before = now;
      for (let i = 0; i < 3; i++) {
        global.gc();
        await new Promise(setImmediate);
      }
    }
    return memory();
  };
  const measure = async (role, make, options) => {
    const chunks = make(framesFor(role));
    const deflate = agree({ contextTakeover: true })[role];
    const before = await settled();
    const decoders = [];
    for (let i = 0; i < COUNT; i++) {
      const decoder = new Decoder({
        role,
        deflate,
        maxPayload: GIB,
        fragmentLengths: true,
        onMessage() {},
        ...options
      });
      decoders.push(decoder);
      for (const chunk of chunks) {
        decoder.write(Buffer.from(new Uint8Array(chunk).buffer));
        while (decoder.inflating) await new Promise(setImmediate);
        // Others use the pool of Node.js meanwhile.
        Buffer.from('x'.repeat(1000));
      }
    }
    const held = ((await settled()) - before) / COUNT;
    // The chunks are not released before.
    const received = chunks.reduce((sum, { length }) => sum + length, 0);
    return { received, held, closed: decoders.some(({ closed }) => closed) };
  };
  const results = {};
  for (const [way, options] of Object.entries({
    'as a whole': {},
    'maybe in parts': { onPart() {}, partsFrom: MIB }
  })) {
    for (const [i, [name, make]] of Object.entries(cases).entries()) {
      for (const role of TRIES_ALL ? ['server', 'client'] : [['server', 'client'][i % 2]]) {
        results[`${role}, ${name}, ${way}`] = await measure(role, make, options);
      }
    }
  }
  return results;
}

/**
 * What is copied, allocated and checked for one message in pieces, and what it keeps when it has
 * been delivered.
 */
function copied() {
  const fragments = (opcode, count, payload) => (f) => f.fragments(opcode, Array(count).fill(payload));
  const cases = {
    'fragments of one byte': fragments(BINARY, 2 * FRAGMENTS, 'x'),
    'fragments of one letter': fragments(TEXT, 2 * FRAGMENTS, 'x'),
    'fragments of one wide letter': fragments(TEXT, FRAGMENTS, 'é'),
    'fragments of 100 bytes': fragments(BINARY, FRAGMENTS, 'x'.repeat(100)),
    'fragments of 5000 letters': fragments(TEXT, FRAGMENTS / 50, 'é'.repeat(2500)),
    'empty fragments': fragments(BINARY, 2 * FRAGMENTS, ''),
    'one frame': (f) => [f.binary('x'.repeat(WHOLE))],
    'one frame of text': (f) => [f.text('é'.repeat(WHOLE / 2))]
  };
  const results = {};
  for (const role of ['server', 'client']) {
    for (const [name, make] of Object.entries(cases)) {
      const bytes = Buffer.concat(make(framesFor(role)));
      for (const size of [17, 1000, 65536]) {
        let message = null;
        let length = 0;
        const decoder = new Decoder({
          role,
          text: 'buffer',
          maxFragments: Number.POSITIVE_INFINITY,
          onMessage(data) {
            length = data.length;
            message = data.buffer.byteLength;
          }
        });
        const chunks = piecesOf(bytes, size).map((piece) => Buffer.from(piece));
        Object.assign(counts, { copied: 0, allocated: 0, checked: 0 });
        for (const chunk of chunks) decoder.write(chunk);
        results[`${role}, ${name}, chunks of ${size} bytes`] = { ...counts, length, memory: message, chunk: size };
      }
    }
  }
  return results;
}

/**
 * What each of 2,000 decoders holds of a message that was delivered, or when it has ended inside a
 * chunk, a header, a payload or a message: `held`, and `before` it was stopped, if it was stopped
 * outside of its handlers.
 */
function released() {
  const COUNT = 2000;
  const texts = (f) => Array(200).fill(f.text('a'));
  const fragment = (f) => f.binary(Buffer.alloc(2000), { fin: false });
  const inPieces = (bytes) => [bytes.subarray(0, 1500), bytes.subarray(1500)];
  const whole = (...frames) => [Buffer.concat(frames)];
  const cases = {
    'stopped in the first handler': { chunks: (f) => whole(...texts(f)), stopAt: 1 },
    'stopped in onFrame': { chunks: (f) => whole(f.binary(Buffer.alloc(2000))), stopAt: 1, shown: true },
    'stopped in the middle of a chunk': { chunks: (f) => whole(...texts(f)), stopAt: 100 },
    'a Close frame before the end of the chunk': { chunks: (f) => whole(...texts(f), f.close(1000), ...texts(f)) },
    'a Close frame after a fragment': { chunks: (f) => [fragment(f), f.close(1000)] },
    'an error before the end of the chunk': { chunks: (f) => whole(...texts(f), f.frame(3), ...texts(f)) },
    'an error after a fragment': { chunks: (f) => [fragment(f), f.frame(3)] },
    'stopped inside a header': { chunks: (f) => [f.text('abc').subarray(0, 1)], stops: true, small: true },
    'stopped inside a payload': { chunks: (f) => [f.binary('', { length: 5000 }), Buffer.alloc(2000)], stops: true },
    'stopped inside a message': { chunks: (f) => [fragment(f)], stops: true },
    'stopped while paused': { chunks: (f) => Array(2).fill(Buffer.concat(texts(f))), pauseAt: 100, stops: true },
    'stopped by a subscriber': { chunks: (f) => [f.binary(Buffer.alloc(2000))], subscriber: 'stop' },
    'stopped while paused by a subscriber': {
      chunks: (f) => [f.binary(Buffer.alloc(2000))],
      subscriber: 'pause',
      stops: true
    },
    delivered: { chunks: (f) => inPieces(f.binary(Buffer.alloc(2000))), ends: false }
  };
  const measure = (one, role) => {
    const { chunks, stopAt, pauseAt, subscriber, shown = false, stops = false, small = false, ends = true } = one;
    const bytes = chunks(framesFor(role));
    const decoders = Array.from({ length: COUNT }, () => {
      let calls = 0;
      const count = () => {
        calls++;
        if (calls === stopAt) decoder.stop();
        if (calls === pauseAt) decoder.pause();
      };
      const decoder = new Decoder({ role, [shown ? 'onFrame' : 'onMessage']: count, onError() {} });
      return decoder;
    });
    const idle = memory();
    for (const decoder of decoders) {
      const write = () => bytes.map((chunk) => decoder.write(Buffer.from(new Uint8Array(chunk).buffer)));
      if (subscriber === undefined) write();
      else withSubscriber('framemask:message', () => decoder[subscriber](), write);
    }
    const before = stops && !small ? (memory() - idle) / COUNT : null;
    if (stops) for (const decoder of decoders) decoder.stop();
    const held = (memory() - idle) / COUNT;
    if (decoders.some(({ closed, paused }) => closed !== ends || paused)) throw new Error('A decoder has not ended');
    return { held, before };
  };
  // The first run also allocates what all decoders share.
  for (const name of ['stopped in the first handler', 'stopped by a subscriber']) measure(cases[name], 'server');
  const results = {};
  for (const [name, one] of Object.entries(cases)) {
    for (const role of ['server', 'client']) results[`${name}, ${role}`] = measure(one, role);
  }
  return results;
}

Promise.resolve({ announced, gathered, copied, deflated, released }[what]()).then((results) =>
  console.log(JSON.stringify(results))
);
