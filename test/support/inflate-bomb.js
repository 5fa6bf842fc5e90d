'use strict';

// Run by test/deflate/bombs.js in a process of its own: node --expose-gc inflate-bomb.js
// <codec | ws> <maxPayload> <threadPoolFrom> <contextTakeover> <frames>
// Sends a bomb in so many frames to a Decoder, or to a server of framemask/ws. Prints the close
// code, the size of the bomb, the bytes that Buffers and zlib have held at most (`held`), and those
// that the process has grown by (`grown`), which Linux alone tells.

const fs = require('node:fs');
const zlib = require('node:zlib');
const { Decoder, acceptDeflate, offerDeflate } = require('../../index');
const { BINARY, framesFor, piecesOf } = require('./frames');
const { IMPLEMENTATIONS, connectRaw } = require('./websockets');

const [target, limit, threadPoolFrom, takeover, pieces] = process.argv.slice(2);
const maxPayload = Number(limit);
const contextTakeover = takeover === 'true';

const MARGIN = 2 ** 20;

/** 512 MiB of zeros, in half a megabyte. */
const MIB = zlib.deflateRawSync(Buffer.alloc(2 ** 20), { finishFlush: zlib.constants.Z_FULL_FLUSH });
const bomb = Buffer.concat(Array(512).fill(MIB));

/** Frames of a message, with a Ping frame after each but the last. */
function framesOf(payload, count, role) {
  const { fragments, ping } = framesFor(role);
  const frames = fragments(BINARY, piecesOf(payload, Math.ceil(payload.length / count)), 0x40);
  return frames.map((frame, i) => (i === frames.length - 1 ? frame : Buffer.concat([frame, ping('x')])));
}

/** @returns {Promise<object>} `send` a message as frames; `refused` resolves to the close code */
async function openDecoder() {
  const options = { contextTakeover, threadPoolFrom: Number(threadPoolFrom) };
  const offer = offerDeflate(options);
  const deflate = offer.readAnswer(acceptDeflate(offer.header, options).header);
  let decoder;
  const refused = new Promise((resolve) => {
    decoder = new Decoder({ role: 'client', deflate, maxPayload, onError: ({ closeCode }) => resolve(closeCode) });
  });
  const send = (frames) => {
    for (const frame of frames) decoder.write(frame);
  };
  return { role: 'client', refused, send };
}

async function openSocket() {
  const perMessageDeflate = { contextTakeover };
  const t = { teardown() {} };
  const options = { perMessageDeflate, maxPayload };
  const { server, socket } = await connectRaw(t, IMPLEMENTATIONS['framemask/ws'], options);
  const refused = new Promise((resolve) => {
    server.on('error', (error) => {
      // The close code is in a symbol of ws.
      resolve(error[Object.getOwnPropertySymbols(error)[0]]);
    });
  });
  const send = (frames) => {
    for (const frame of frames) socket.write(frame);
  };
  return { role: 'server', refused, send };
}

/**
 * Looks at what is held whenever a Buffer is made, and in each turn of the event loop. Where it is
 * more than it should be, garbage is collected first.
 */
function watch() {
  const held = () => process.memoryUsage().external;
  const before = held();
  let most = before;
  const look = () => {
    if (held() - before > maxPayload + MARGIN) {
      // What the first has found is released at the next.
      global.gc();
      global.gc();
    }
    most = Math.max(most, held());
  };
  for (const name of ['allocUnsafeSlow', 'concat', 'from']) {
    const { [name]: make } = Buffer;
    Buffer[name] = function (...args) {
      const buffer = make.apply(this, args);
      look();
      return buffer;
    };
  }
  const turn = () => {
    look();
    immediate = setImmediate(turn);
  };
  let immediate = setImmediate(turn);
  return () => {
    look();
    clearImmediate(immediate);
    return most - before;
  };
}

const statusOf = (name) =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;

async function main() {
  const open = target === 'ws' ? openSocket : openDecoder;
  // Makes the contexts, and what is allocated once.
  const first = await open();
  first.send(framesOf(zlib.deflateRawSync(Buffer.alloc(1000)), 1, first.role));
  const { role, send, refused } = await open();
  const frames = framesOf(bomb, Number(pieces), role);
  for (let i = 0; i < 3; i++) {
    global.gc();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const unwatch = watch();
  const isLinux = process.platform === 'linux';
  // Begins the peak of the resident set anew.
  if (isLinux) fs.writeFileSync('/proc/self/clear_refs', '5');
  const resident = isLinux ? statusOf('VmRSS') : 0;
  send(frames);
  const closeCode = await refused;
  const held = unwatch();
  const grown = isLinux ? statusOf('VmHWM') - resident : null;
  console.log(JSON.stringify({ closeCode, held, grown, size: bomb.length }));
  process.exit();
}

main();
