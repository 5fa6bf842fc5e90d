'use strict';

// Run by test/deflate/bombs.js in a process of its own: node --expose-gc inflate-bomb.js
// <maxPayload> <threadPoolFrom> <contextTakeover> <frames> Prints the close code, and the bytes
// that the process has grown by.

const zlib = require('node:zlib');
const { Decoder, acceptDeflate, offerDeflate } = require('../../index');
const { framesFor } = require('./frames');

const [maxPayload, threadPoolFrom, takeover, pieces] = process.argv.slice(2);
const options = { contextTakeover: takeover === 'true', threadPoolFrom: Number(threadPoolFrom) };
const offer = offerDeflate(options);
const deflate = offer.accept(acceptDeflate(offer.header, options).header);

/** 512 MiB of zeros, in half a megabyte. */
const MIB = zlib.deflateRawSync(Buffer.alloc(2 ** 20), { finishFlush: zlib.constants.Z_FULL_FLUSH });
const bomb = Buffer.concat(Array(512).fill(MIB));

function framesOf(payload, count) {
  const { binary, continuation } = framesFor('client');
  const size = Math.ceil(payload.length / count);
  return Array.from({ length: count }, (_, i) => {
    const piece = payload.subarray(i * size, (i + 1) * size);
    const fin = i === count - 1;
    return i === 0 ? binary(piece, { rsv: 0x40, fin }) : continuation(piece, { fin });
  });
}

let closeCode = null;
function createDecoder() {
  return new Decoder({
    role: 'client',
    deflate,
    maxPayload: Number(maxPayload),
    onError: (error) => {
      closeCode = error.closeCode;
    }
  });
}

const frames = framesOf(bomb, Number(pieces));
// Makes the contexts, and what is allocated once.
createDecoder().write(framesOf(MIB.subarray(0, -4), 1)[0]);
setTimeout(() => {
  global.gc();
  const before = process.memoryUsage.rss();
  let most = before;
  const look = () => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  const decoder = createDecoder();
  for (const frame of frames) decoder.write(frame);
  const timer = setInterval(() => {
    look();
    if (!decoder.closed) return;
    clearInterval(timer);
    console.log(JSON.stringify({ closeCode, grown: most - before, size: bomb.length }));
  }, 1);
  look();
}, 100);
