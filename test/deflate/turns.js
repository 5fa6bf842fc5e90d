'use strict';

// The work of inflating on the event loop in one turn: its input, because empty DEFLATE blocks take
// time and put out nothing, and its output, because repetition puts out a thousand times its input.

const zlib = require('node:zlib');
const t = require('tap');
const { Decoder } = require('../../index');
const { inflateAlone } = require('../../lib/deflate/inflate-message');
const { agree, deflateByZlib, json } = require('../support/deflate');
const { BINARY, framesFor, piecesOf } = require('../support/frames');

const { binary, fragments } = framesFor('server');
const KIB = 1024;
/** Four blocks with codes of their own, each of which ends at once. */
const BLOCKS = Buffer.from(
  '04c081000000000090ff6b100007020000000040feaf41001c080000000000f9bf060170200000000000e4ff1a',
  'hex'
);
const emptyBlocks = (size) => Buffer.alloc(size - (size % BLOCKS.length), BLOCKS);
const SMALL = deflateByZlib(json(160));
const LARGER = deflateByZlib(json(1280));
const nextTurn = () => new Promise(setImmediate);

/** Counts the input of all zlib handles on the event loop. @returns {() => number} the most in a turn */
function countInput(t) {
  const handles = Object.getPrototypeOf(zlib.createInflateRaw()._handle);
  let inTurn = 0;
  let most = 0;
  const { writeSync } = handles;
  handles.writeSync = function (flush, bytes, offset, length, ...rest) {
    if (inTurn === 0) {
      setImmediate(() => {
        inTurn = 0;
      });
    }
    inTurn += length;
    most = Math.max(most, inTurn);
    return writeSync.call(this, flush, bytes, offset, length, ...rest);
  };
  t.teardown(() => {
    handles.writeSync = writeSync;
  });
  return () => most;
}

function openDecoder(contextTakeover, threadPoolFrom) {
  const { server } = agree({ contextTakeover, threadPoolFrom });
  let decoder;
  const message = new Promise((resolve) => {
    decoder = new Decoder({ role: 'server', deflate: server, onMessage: resolve });
  });
  return { decoder, message };
}

for (const contextTakeover of [false, true]) {
  for (const [size, frames] of [
    [20, 1],
    [1024, 1],
    [1024, 1000]
  ]) {
    const how = `takeover ${contextTakeover}, ${frames} frames`;
    t.test(`a message of ${size} KiB is inflated in the thread pool: ${how}`, async (t) => {
      const most = countInput(t);
      const { decoder, message } = openDecoder(contextTakeover);
      const bytes = emptyBlocks(size * KIB);
      const pieces = piecesOf(bytes, Math.ceil(bytes.length / frames));
      for (const frame of fragments(BINARY, pieces, 0x40)) decoder.write(frame);
      t.equal(decoder.inflating, true);
      t.equal((await message).length, 0);
      t.ok(most() <= (frames === 1 ? 16 : 65) * KIB, `${most()} bytes on the event loop`);
    });
  }

  t.test(`many connections have a limit for each turn: takeover ${contextTakeover}`, async (t) => {
    const most = countInput(t);
    const opened = Array.from({ length: 50 }, () => openDecoder(contextTakeover));
    await nextTurn();
    for (const { decoder } of opened) decoder.write(binary(emptyBlocks(16 * KIB), { rsv: 0x40 }));
    const inflating = opened.filter(({ decoder }) => decoder.inflating).length;
    t.equal(inflating, 46, 'four connections inflate 64 KiB on the event loop');
    t.ok(most() > 0 && most() < 65 * KIB, `${most()} bytes on the event loop`);
    const { decoder } = openDecoder(contextTakeover);
    decoder.write(binary(SMALL, { rsv: 0x40 }));
    t.equal(decoder.inflating, false, 'a small message is inflated at once');
    for (const { message } of opened) t.equal((await message).length, 0);
    await nextTurn();
    decoder.write(binary(LARGER, { rsv: 0x40 }));
    t.equal(decoder.inflating, false, 'and so is a larger one in another turn');
  });

  t.test(`repetition has a limit for each turn: takeover ${contextTakeover}`, async (t) => {
    const zeros = binary(deflateByZlib(Buffer.alloc(100 * KIB)), { rsv: 0x40 });
    const [one, other, later] = Array.from({ length: 3 }, () => openDecoder(contextTakeover));
    await nextTurn();
    let written = 0;
    for (; written < 200 && !one.decoder.inflating; written++) one.decoder.write(Buffer.from(zeros));
    t.ok(written > 81 && written < 90, `8 MiB are ${written} messages`);
    other.decoder.write(binary(SMALL, { rsv: 0x40 }));
    t.equal(other.decoder.inflating, true, 'of all connections');
    t.equal(String(await other.message), String(json(160)));
    later.decoder.write(binary(SMALL, { rsv: 0x40 }));
    t.equal(later.decoder.inflating, false, 'in another turn');
  });

  t.test(`empty fragments after the limit of a turn: takeover ${contextTakeover}`, async (t) => {
    const { decoder, message } = openDecoder(contextTakeover);
    await nextTurn();
    // Blocks without compression, 64 KiB together; an abort of the process followed.
    const stored = zlib.deflateRawSync(Buffer.alloc(16 * KIB - 5), { level: 0 });
    stored[0] = 0;
    const pieces = [...Array(4).fill(stored), ...Array(3).fill(Buffer.alloc(0))];
    for (const frame of fragments(BINARY, pieces, 0x40)) decoder.write(frame);
    t.equal(decoder.inflating, true);
    t.equal((await message).length, 4 * (16 * KIB - 5));
  });

  t.test(`threadPoolFrom: Infinity sets no limit: takeover ${contextTakeover}`, async (t) => {
    for (let i = 0; i < 3; i++) {
      const { decoder } = openDecoder(contextTakeover, Infinity);
      decoder.write(binary(emptyBlocks(100 * KIB), { rsv: 0x40 }));
      t.equal(decoder.inflating, false);
    }
  });
}

t.test('likewise where zlib has no handles that work', async (t) => {
  const inflate = (bytes, most) => inflateAlone(bytes, bytes.length, 15, most, Infinity, false);
  t.equal(inflate(emptyBlocks(20 * KIB), 128 * KIB), null);
  t.equal(inflate(emptyBlocks(20 * KIB), Infinity).length, 0);
});
