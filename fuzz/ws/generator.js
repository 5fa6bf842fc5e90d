'use strict';

// Makes the random programs of fuzz/ws.js. What two runs of ws itself would do differently is not
// made: see `limits`.

const { deflateByZlib } = require('../../test/support/deflate');
const { createStreamMaker, randomCuts } = require('../../test/support/streams');
const { KINDS, makeBytes, makeFrame, makeText } = require('./values');

/**
 * An operation has `op`, and its arguments:
 * - `send`: `value`, `options`, `callback`; `ping` and `pong`: `value`, `mask`, `callback`;
 *   a callback is `undefined`, or the operations that it does
 * - `close`: `code`, `reason`; `terminate`, `destroy` (of the socket), `pause`, `resume`
 * - `binaryType`: `type`; `streamWrite`: `value`, `callback`; `streamEnd`, `streamDestroy`
 * - `later`: `when`, `ops`; `throw`, in a listener, when all else is done
 * and for a raw peer:
 * - `bytes`: `bytes`, `cuts`, `mode`; `end`, `destroy`, `pause`, `resume`
 *
 * @typedef {object & { op: string }} Operation
 *
 * @typedef {object} Side
 * @property {object} options of the WebSocket or WebSocketServer
 * @property {'on' | 'parts' | 'target' | 'attribute' | 'stream'} style how it listens: `parts` of
 *   framemask/ws joins those of long messages; a `stream` listens, too
 * @property {string} binaryType
 * @property {{ event: string, nth: number, ops: Operation[] }[]} reactions to the nth event of a
 *   kind, from 0 on
 *
 * @typedef {object} Program
 * @property {'pair' | 'server' | 'client'} kind which endpoints are no raw peers
 * @property {('server' | 'client')[]} tested which of them are the implementation under test
 * @property {'tcp' | 'tls' | 'http2' | 'unix' | 'memory'} transport
 * @property {boolean} slow whether a write in memory is done only when it has been read
 * @property {boolean} large whether it sends more than a chunk
 * @property {boolean} showsAmounts whether `bufferedAmount` is determined at any time
 * @property {boolean} stalls whether a raw peer stops reading: the time of callbacks is open then
 * @property {string} extensions a raw peer's in its handshake; '' for none
 * @property {Buffer} early what a raw peer sends with its handshake
 * @property {boolean} answersClose whether a raw peer answers a Close frame
 * @property {Record<'server' | 'client', Side>} sides
 * @property {{ side: 'server' | 'client', ops: Operation[] }[][]} steps each is done when
 *   everything before it has come to rest
 */

const SMALL = [0, 0, 1, 2, 3, 5, 8, 13, 30, 60, 124, 125, 126, 127, 200, 500, 1000, 4096];
const LARGE = [125, 126, 1000, 4096, 16383, 16384, 16385, 65535, 65536, 65537, 131072, 300000];
const CONTROL = [0, 1, 2, 5, 60, 124, 125, 126];
const CODES = [1000, 1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999];
const BAD_CODES = [0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 1000.5, '1000', null];
const WITHOUT_BLOB = KINDS.filter((kind) => kind !== 'blob');
const BINARY_TYPES = ['nodebuffer', 'arraybuffer', 'fragments', 'blob'];
const EXTENSIONS = [
  'permessage-deflate',
  'permessage-deflate; server_no_context_takeover',
  'permessage-deflate; client_no_context_takeover',
  'permessage-deflate; client_no_context_takeover; server_no_context_takeover',
  'permessage-deflate; server_max_window_bits=10'
];
const EVENTS = ['message', 'message', 'message', 'ping', 'pong', 'open', 'error', 'close'];

/** Whether there is a layer between a WebSocket and its socket. */
const isLayered = (transport) => transport === 'tls' || transport === 'http2';

/**
 * @param {(below: number) => number} random
 * @returns {Program}
 */
function createProgram(random) {
  const chance = (oneIn) => random(oneIn) === 0;
  const pick = (values) => values[random(values.length)];
  const times = (count, make) => Array.from({ length: count }, make);
  const seed = () => random(2 ** 31);

  const kind = pick(['pair', 'pair', 'server', 'server', 'client']);
  const isPair = kind === 'pair';
  const transport = pick(['memory', 'memory', 'memory', 'tcp', 'tcp', 'tcp', 'tcp', 'unix', 'tls', 'http2']);
  const large = chance(6);
  const deflates = chance(4);
  // Each event has a turn of its own then.
  const deferred = chance(4);
  // What a program may do besides, so that what it does is determined:
  // - abrupt: terminates, destroys and pauses at any time. Only in memory, because what a kernel
  //   has not delivered is lost or not.
  // - reactive: does something in listeners.
  // - timed: does something in callbacks, or in timers. Not with reactions, and not in both,
  //   because the order is open.
  // - throws: in listeners. Not with timers, Blobs or a limit of answers to Pings, because what is
  //   left of a chunk comes a tick later.
  // - calm: ends and errors come when all is at rest, because how far compression, Blobs, deferred
  //   events, slow writes, timers or the records of TLS have come is open. Without it, there are no
  //   Blobs between two WebSockets.
  // Over TLS and HTTP/2, where each write takes turns of its own, none of them.
  const limits = {
    abrupt: transport === 'memory' && !large && chance(3),
    reactive: !isLayered(transport) && chance(2),
    throws: false,
    timed: '',
    calm: isPair && (deflates || deferred || isLayered(transport) || chance(3))
  };
  if (!isLayered(transport) && !limits.reactive) limits.timed = pick(['', '', 'callbacks', 'timers']);
  if (isPair && limits.timed !== '') limits.calm = true;
  if (limits.calm) limits.abrupt = false;
  limits.throws = limits.reactive && !deflates && !limits.abrupt && chance(3);
  // Not with abrupt ends: of frames that wait after a write, ws loses more than framemask/ws.
  const slow = transport === 'memory' && !limits.abrupt && chance(4);
  if (slow && isPair) limits.calm = true;
  const waits = slow || isLayered(transport);
  const sizes = large ? LARGE : SMALL;

  function value(kinds, lengths) {
    const made = pick(kinds);
    const isOpen = made === 'blob' && (limits.throws || (isPair && !limits.calm));
    return { kind: isOpen ? 'buffer' : made, size: pick(lengths), seed: seed() };
  }

  function callback(depth, style) {
    if (chance(2)) return undefined;
    return limits.timed === 'callbacks' && depth < 2 && chance(3) ? operations(1 + random(2), depth + 1, style) : [];
  }

  function sendOptions(depth) {
    if (chance(2)) return undefined;
    const options = some({
      binary: [2, () => limits.calm || chance(2)],
      fin: [3, () => depth === 0 && chance(2)],
      compress: [4, () => chance(2)],
      // A mask where there should be none, or none where there should be one.
      mask: [limits.calm ? Infinity : 60, () => chance(2)]
    });
    // What follows may be no text.
    if (limits.calm && options.fin === false) options.binary = true;
    return options;
  }

  function operation(depth, style) {
    const roll = random(100);
    const done = callback(depth, style);
    // A Blob takes ticks, too: after a part, the peer's end may come before them.
    const all = style === 'parts' ? WITHOUT_BLOB : KINDS;
    if (style === 'stream' && depth === 0 && chance(2)) {
      return { op: 'streamWrite', value: value(['string', 'buffer', 'uint8'], sizes), callback: done };
    }
    if (roll < 62) {
      const kinds = chance(2) ? ['string', 'buffer'] : all;
      return { op: 'send', value: value(kinds, sizes), options: sendOptions(depth), callback: done };
    }
    if (roll < 76) {
      const payload = chance(3) ? undefined : value(all, CONTROL);
      const mask = chance(60) && !limits.calm ? chance(2) : undefined;
      return { op: pick(['ping', 'pong']), value: payload, mask, callback: done };
    }
    // A write behind a Close frame destroys a stream's connection, which only memory does at once.
    // Slow callbacks that send find out sooner or later.
    const isLost = style === 'stream' && (slow || transport !== 'memory');
    const mayClose = !isLayered(transport) && !isLost && !(slow && limits.timed === 'callbacks');
    if (roll < 78 && !limits.calm && !limits.throws && mayClose) {
      const code = chance(4) ? undefined : pick(chance(6) ? BAD_CODES : CODES);
      const reason = chance(2) ? undefined : value(chance(8) ? KINDS : ['string'], [0, 1, 20, 123, 124]);
      return { op: 'close', code, reason };
    }
    // Which compressed messages have come by the time of a reaction or a callback is open.
    // The parts of a stream are Buffers.
    const isFixed = style === 'stream' || style === 'parts';
    if (roll < 84 && !isFixed && !(deflates && depth > 0))
      return { op: 'binaryType', type: chance(8) ? 'text' : pick(BINARY_TYPES) };
    if (roll < 88 && limits.abrupt) return { op: pick(['terminate', 'destroy']) };
    if (roll < 94 && limits.abrupt) return { op: pick(['pause', 'resume']) };
    // Of a pair, joined writes are more often read in one turn.
    const isOpen = limits.reactive && (slow || isPair);
    // What comes after a part comes ticks later.
    const mayWait = !limits.throws && !isFixed && !isOpen;
    if (depth < 2 && roll < 97 && limits.timed !== 'callbacks' && mayWait) {
      const immediate = limits.timed === 'timers' && !limits.calm && !deflates ? ['immediate'] : [];
      const when = pick(['nextTick', 'microtask', ...immediate]);
      return { op: 'later', when, ops: operations(1 + random(3), depth + 1, style) };
    }
    return { op: 'send', value: value(['string'], sizes), options: undefined, callback: done };
  }

  function operations(count, depth, style) {
    return times(count, () => operation(depth, style));
  }

  function reaction(style) {
    const throws = limits.throws && chance(2);
    const event = pick(throws ? EVENTS.slice(0, 5) : EVENTS);
    const ops = operations(throws ? random(3) : 1 + random(3), 1, style);
    if (throws) ops.push({ op: 'throw' });
    return { event, nth: random(4), ops };
  }

  /** Options, each with its value in one of so many cases. */
  function some(options) {
    const chosen = Object.entries(options).filter(([, [oneIn]]) => chance(oneIn));
    return Object.fromEntries(chosen.map(([name, [, make]]) => [name, make()]));
  }

  function deflateOptions() {
    if (chance(3)) return true;
    return some({
      threshold: [1, () => pick([0, 0, 10, 1024])],
      serverNoContextTakeover: [3, () => chance(2)],
      clientNoContextTakeover: [3, () => chance(2)],
      serverMaxWindowBits: [4, () => 9 + random(7)],
      clientMaxWindowBits: [4, () => 9 + random(7)],
      zlibDeflateOptions: [4, () => ({ level: random(10), memLevel: 1 + random(9), chunkSize: 128 })],
      zlibInflateOptions: [4, () => ({ chunkSize: 64 + random(4096) })]
    });
  }

  function limitsOf() {
    const options = some({ autoPong: [8, () => false] });
    if (deferred && chance(2)) options.allowSynchronousEvents = false;
    if (limits.calm) return options;
    // It terminates. Pongs that wait after a write are lost with ws then, and of a pair, joined
    // Pings come at once.
    const mayTerminate = !waits && !limits.throws && !isPair;
    return Object.assign(
      options,
      some({
        maxPayload: [6, () => pick([0, -1, 1, 125, 126, 1000, 5000])],
        maxFragments: [8, () => pick([0, -1, 1, 2, 3])],
        maxBufferedChunks: [8, () => pick([0, 100])],
        skipUTF8Validation: [6, () => true]
      }),
      mayTerminate && some({ maxPendingAutoPongs: [8, () => pick([0, 1, 2, 5])] })
    );
  }

  function side(role) {
    const options = limitsOf();
    if (role === 'server') {
      Object.assign(options, some({ clientTracking: [10, () => false] }));
      options.perMessageDeflate = deflates ? deflateOptions() : false;
    } else {
      Object.assign(options, some({ generateMask: [8, () => pick(['zero', 'count', 'same'])] }));
      options.perMessageDeflate = deflates ? deflateOptions() : chance(4);
    }
    const count = limits.reactive ? 1 + random(3) : 0;
    // A stream writes when what it wrote before is done, and when a reaction comes then is open.
    const streams = (slow || deflates) && limits.reactive ? [] : ['stream'];
    // A stream is read some ticks later: not if an end may come meanwhile.
    const parts = limits.abrupt || deferred ? [] : ['parts'];
    const style = pick(['on', 'on', 'on', ...parts, 'target', 'target', 'attribute', 'attribute', ...streams]);
    if (style === 'parts') {
      // ws ignores it.
      options.streamFrom = pick([0, 10, 1000]);
      // It terminates, maybe before a stream has been read.
      delete options.maxPendingAutoPongs;
    }
    const binaryType = style === 'stream' || style === 'parts' || chance(2) ? 'nodebuffer' : pick(BINARY_TYPES);
    return { options, style, binaryType, reactions: times(count, () => reaction(style)) };
  }

  const makeStream = createStreamMaker(random, { longest: large ? 70000 : 4000 });

  /** Frames without a mistake, some of them compressed; sometimes many short ones. */
  function goodFrames(role, compressed) {
    const frames = [];
    const put = (first, payload) =>
      frames.push(makeFrame(first, payload, role === 'client' ? -1 : chance(12) ? 0 : seed()));
    const putControl = () => put(0x89 + random(2), makeBytes(pick(CONTROL.slice(0, -1)), seed()));
    const many = chance(10) && !waits && !limits.throws;
    const pingsOnly = many && chance(2);
    for (let i = many ? 70 : 1 + random(8); i > 0; i--) {
      if (pingsOnly) put(0x89, Buffer.alloc(0));
      else if (chance(5)) putControl();
      else putMessage(many ? random(40) : pick(sizes));
    }
    return Buffer.concat(frames);

    function putMessage(size) {
      const opcode = 1 + random(2);
      let payload = opcode === 1 ? makeText(size, seed()) : makeBytes(size, seed());
      const deflated = compressed && chance(2);
      if (deflated) payload = deflateByZlib(payload);
      let first = opcode | (deflated ? 0x40 : 0);
      for (let pieces = chance(3) ? random(4) : 0; pieces > 0; pieces--) {
        const to = random(payload.length + 1);
        put(first, payload.subarray(0, to));
        if (chance(4)) putControl();
        payload = payload.subarray(to);
        first = 0;
      }
      put(first | 0x80, payload);
    }
  }

  /** @param {'server' | 'client'} role of the one that reads them */
  function rawBytes(role, compressed) {
    const bytes = chance(3) ? makeStream(role, compressed && chance(2)) : goodFrames(role, compressed);
    const most = large ? 400000 : 50000;
    return bytes.subarray(0, chance(12) ? random(bytes.length + 1) : most);
  }

  function rawOperations(role, compressed, stalls) {
    if (chance(20)) return [{ op: 'destroy' }];
    const ops = [];
    if (stalls && chance(2)) ops.push({ op: 'pause' });
    const bytes = rawBytes(role, compressed);
    const cuts = randomCuts(random, bytes.length);
    const mode = pick(transport === 'memory' ? ['one', 'apart', 'burst'] : ['one', 'apart']);
    ops.push({ op: 'bytes', bytes, cuts: mode === 'one' ? [] : cuts.slice(0, mode === 'apart' ? 6 : 40), mode });
    // How far deferred events of several reads have come at an end is open, but for in memory.
    const mayEnd = transport === 'memory' || !(deferred && large);
    // Replies to one who is gone fail or not, but for in memory.
    if (mayEnd && chance(15)) ops.push({ op: pick(transport === 'memory' ? ['end', 'destroy'] : ['end']) });
    else if (stalls && chance(2)) ops.push({ op: 'resume' });
    return ops;
  }

  const sides = { server: side('server'), client: side('client') };
  const rawSide = kind === 'pair' ? null : kind === 'server' ? 'client' : 'server';
  const extensions = rawSide !== null && deflates ? pick(EXTENSIONS) : '';
  const stalls = rawSide !== null && transport === 'memory' && chance(8);
  const steps = times(1 + random(6), () => {
    // Who is the first to read is open, so nobody may do anything then.
    const streams = sides.server.style === 'stream' || sides.client.style === 'stream';
    const both = rawSide === null && !limits.reactive && limits.timed === '' && !streams && chance(5);
    const chosen = both ? ['server', 'client'] : [pick(['server', 'client'])];
    return chosen.map((name) => {
      if (name === rawSide) return { side: name, ops: rawOperations(kind, extensions !== '', stalls) };
      const { style } = sides[name];
      // Alone and at rest, everybody may be abrupt.
      if (!limits.abrupt && !both && chance(10)) {
        const close = { op: 'close', code: pick(CODES), reason: value(['string'], [0, 20, 123]) };
        const end = style === 'stream' && chance(2) ? { op: 'streamEnd' } : close;
        return { side: name, ops: [pick([end, { op: 'terminate' }, { op: 'destroy' }])] };
      }
      // A burst, now and then, of more frames than ws writes before anything is read.
      const ops = operations(chance(12) && !large ? 20 + random(20) : 1 + random(5), 0, style);
      // After an end, writes are errors, which destroy the stream: not in the same step.
      if (style === 'stream' && !limits.calm && chance(5))
        ops.push({ op: limits.abrupt && chance(2) ? 'streamDestroy' : 'streamEnd' });
      return { side: name, ops };
    });
  });
  return {
    kind,
    tested: kind === 'pair' ? pick([['server', 'client'], ['server'], ['client']]) : [kind],
    transport,
    slow,
    large,
    // What ws has in the thread pool, framemask/ws has compressed. How far Blobs have come when a
    // reaction comes is open.
    showsAmounts: !slow && !large && !deflates && !isLayered(transport) && !(limits.calm && limits.reactive),
    stalls,
    extensions,
    // With a request over HTTP/2, overHttp2() takes nothing else.
    early: rawSide !== null && chance(6) ? rawBytes(kind, extensions !== '') : Buffer.alloc(0),
    answersClose: chance(2),
    sides,
    steps
  };
}

module.exports = { createProgram, isLayered };
