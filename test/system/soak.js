'use strict';

// Mixed traffic over loopback sockets, against examples/echo-server.js and clients of
// Connection.connect. The decoder that is fed with a whole stream at once says what must come:
// Autobahn and the fuzzers compare it with others.

const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { createEchoServer } = require('../../examples/echo-server');
const { Connection, Decoder } = require('../../index.js');
const { collectGarbage } = require('../support/collect-garbage');
const { HANDSHAKE, head } = require('../support/connections');
const { listen } = require('../support/free-port');
const { upgradeAnswer } = require('../support/frames');
const { createRandom } = require('../support/random');
const { assertEvents, eventsOf } = require('../support/recorder');
const { createStreamMaker, randomCuts } = require('../support/streams');

const AT_ONCE = 8;
/** Memory is measured after so many connections: every sample follows the same amount of work. */
const SAMPLE_EVERY = 100;
const FEWEST_SAMPLES = 9;
const MAX_PAYLOAD = 4 << 20;
/** Milliseconds after which a session is taken for stuck. */
const PATIENCE = 60_000;
/** Lengths of messages, besides random ones. */
const EDGES = [0, 1, 125, 126, 1023, 4096, 16383, 16384, 65535, 65536, 262_144, 1 << 20];
const BYTES = randomBytes(1 << 21);
const TEXT = BYTES.toString('base64');

const KINDS = ['talk', 'talk', 'stream', 'stream', 'stream', 'received', 'received', 'drop'];

/** What the sessions share. */
class Soak {
  constructor(seed) {
    this.seed = seed;
    this.counts = { messages: 0, bytes: 0 };
    this.server = createEchoServer({ maxPayload: MAX_PAYLOAD, closeTimeout: 5000 });
    this.streams = http.createServer().on('upgrade', (request, socket) => this.sendStream(request, socket));
    this.sessions = 0;
    this.streamOf = new Map();
  }

  count(what, by = 1) {
    this.counts[what] = (this.counts[what] ?? 0) + by;
  }

  /** Runs so many sessions, AT_ONCE at a time; returns once all have ended. */
  async run(count) {
    const end = this.sessions + count;
    const work = async () => {
      while (this.sessions < end) await this.session(this.sessions++);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    // The other end of a connection closes a moment later.
    for (let i = 0; this.server.connections.size > 0 && i < 600; i++) await sleep(10);
    if (this.server.connections.size > 0) throw new Error(`${this.server.connections.size} connections never ended`);
  }

  async session(number) {
    const random = createRandom((this.seed + Math.imul(number, 0x9e3779b9)) | 0);
    const kind = KINDS[random(KINDS.length)];
    const fail = (error) => {
      throw new Error(`seed ${this.seed}, session ${number}, ${kind}: ${error.message}`, { cause: error });
    };
    const timer = setTimeout(fail, PATIENCE, new Error('stuck'));
    await this[kind](random, number).catch(fail);
    clearTimeout(timer);
    this.count(kind);
  }

  /** A client sends messages and pings, and compares the echoes. */
  async talk(random) {
    const soak = this;
    const expected = [];
    const faults = [];
    let left = 1 + random(60);
    let pongs = 0;
    function send(connection) {
      for (let i = 1 + random(8); i > 0 && left > 0; i--, left--) {
        const message = makeMessage(random);
        expected.push(message);
        if (random(5) === 0) {
          pongs++;
          connection.ping(BYTES.subarray(0, random(126)));
        }
        if (!connection.send(message)) break;
      }
      if (expected.length === 0) connection.close(1000, 'done');
    }
    const { code, error } = await this.connect(this.server, '', {
      onOpen: send,
      onMessage(data, isBinary) {
        const message = expected.shift();
        const right = isBinary ? message instanceof Buffer && message.equals(data) : message === data;
        if (!right) faults.push(`an answer of ${data.length} differs`);
        soak.count('messages');
        soak.count('bytes', data.length);
        if (expected.length < 4) send(this);
      },
      onPong: () => pongs--
    });
    if (code !== 1000 || error !== null) faults.push(`closed with ${code}, ${error?.message}`);
    if (expected.length + left + pongs !== 0) faults.push(`${expected.length} answers, ${pongs} pongs missing`);
    if (faults.length > 0) throw new Error(faults.join('; '));
  }

  /**
   * A stream of frames, good or bad, cut anywhere. The server answers as the reference says, then
   * ends.
   */
  async stream(random) {
    const bytes = createStreamMaker(random)('server');
    const events = expectedOf('server', bytes);
    const socket = await this.open();
    const isClosed = events.some(([kind]) => ENDS.includes(kind));
    // Some do not read for a while. What a server has sent before it resets a connection may be
    // lost.
    const pause = !isClosed && random(4) === 0 ? sleep(20 + random(200)) : Promise.resolve();
    const answers = pause.then(() => this.read(socket));
    await this.write(socket, bytes, randomCuts(random, bytes.length), random);
    if (!isClosed) socket.end();
    assertEvents(expectedOf('client', await answers), events.flatMap(answerTo));
    socket.destroy();
    this.count('messages', events.length);
    this.count('bytes', bytes.length);
  }

  /** A client is sent such a stream. */
  async received(random, number) {
    const bytes = createStreamMaker(random)('client');
    const events = expectedOf('client', bytes);
    this.streamOf.set(`/${number}`, { bytes, random });
    const seen = [];
    const { code, error } = await this.connect(this.streams, `/${number}`, {
      maxPayload: MAX_PAYLOAD,
      onMessage: (data, isBinary) => seen.push([isBinary ? 'binary' : 'text', Buffer.from(data).toString('latin1')]),
      onPong: (payload) => seen.push(['pong', payload.toString('latin1')])
    });
    const expected = events.filter(([kind]) => !['ping', ...ENDS].includes(kind));
    assertEvents(seen, expected);
    const [kind, endCode, closeCode] = events.at(-1) ?? [];
    if (kind === 'close' && code !== endCode) throw new Error(`closed with ${code}, not ${endCode}`);
    if (kind === 'error' && error?.closeCode !== closeCode) throw new Error(`no error with ${closeCode}, but ${error}`);
    this.count('messages', seen.length);
    this.count('bytes', bytes.length);
  }

  /** Answers a client's handshake, and sends what the session `received` has put down for it. */
  async sendStream(request, socket) {
    const { bytes, random } = this.streamOf.get(request.url);
    this.streamOf.delete(request.url);
    socket.on('error', () => {}).resume();
    socket.write(upgradeAnswer(request.headers['sec-websocket-key']));
    await this.write(socket, bytes, randomCuts(random, bytes.length), random);
    socket.end();
  }

  /** A client that vanishes. */
  async drop(random) {
    const socket = await this.open();
    socket.resume();
    const bytes = createStreamMaker(random)('server');
    await this.write(socket, bytes.subarray(0, random(bytes.length + 1)), [], random);
    if (random(2) === 0) socket.resetAndDestroy();
    else socket.destroy();
  }

  /** @returns {Promise<{ code: number, error: Error | null }>} when a client has closed */
  connect(server, path, { onOpen, ...handlers }) {
    const url = `ws://127.0.0.1:${server.address().port}${path}`;
    return new Promise((resolve, reject) => {
      let error = null;
      const onError = (given) => {
        error = given;
      };
      const options = { ...handlers, onError, onClose: (code) => resolve({ code, error }) };
      Connection.connect(url, options).then(onOpen, reject);
    });
  }

  /** @returns {Promise<net.Socket>} after the server's answer to the handshake */
  async open() {
    const socket = net.connect(this.server.address().port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(head(...HANDSHAKE));
    // Nothing but the answer can come before the first frame.
    const [answer] = await once(socket, 'data');
    socket.pause();
    if (!String(answer).startsWith('HTTP/1.1 101 ')) throw new Error(`the answer is ${answer}`);
    return socket;
  }

  /** @returns {Promise<Buffer>} all that comes until the other end closes */
  read(socket) {
    // Without data a paused socket closes, too.
    if (socket.closed) return Promise.resolve(Buffer.alloc(0));
    const chunks = [];
    socket.on('data', (chunk) => chunks.push(chunk)).resume();
    return new Promise((resolve) => socket.on('close', () => resolve(Buffer.concat(chunks))));
  }

  /** Writes the pieces of a stream, some of them in packets of their own. */
  async write(socket, bytes, cuts, random) {
    let start = 0;
    for (const end of [...cuts, bytes.length]) {
      if (socket.destroyed || !socket.writable) return;
      const full = !socket.write(bytes.subarray(start, end));
      start = end;
      if (full) await Promise.race([once(socket, 'drain').catch(() => {}), once(socket, 'close')]);
      else if (random(8) === 0) await sleep(0);
    }
  }
}

function makeMessage(random) {
  const length = random(3) === 0 ? EDGES[random(EDGES.length)] : random(random(4) === 0 ? 70_000 : 2000);
  const start = random(BYTES.length - length);
  if (random(2) === 0) return Buffer.from(BYTES.subarray(start, start + length));
  return (random(3) === 0 ? 'é😀' : '') + TEXT.slice(start, start + length);
}

/** The kinds of events after which nothing comes. */
const ENDS = ['close', 'error'];

/** @returns {Array[]} a decoder's events, of all bytes at once, as recorder.js has them */
const expectedOf = (role, bytes) => eventsOf(Decoder, { role, maxPayload: MAX_PAYLOAD, text: 'buffer' }, bytes);

/** @returns {Array[]} what the echo server answers to an event */
function answerTo([kind, ...rest]) {
  if (kind === 'pong') return [];
  if (kind === 'ping') return [['pong', ...rest]];
  if (kind === 'close') return [['close', rest[0], '']];
  if (kind === 'error') return [['close', rest[1], '']];
  return [[kind, ...rest]];
}

const inMib = (bytes) => Number((bytes / 2 ** 20).toFixed(2));

/** Memory in MiB after garbage collections, and handles, while no connection is open. */
async function measure() {
  // Sockets and their Buffers are freed over several turns.
  for (let i = 0; i < 3; i++) {
    await sleep(20);
    collectGarbage();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  const handles = process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length;
  return { heap: inMib(heapUsed), external: inMib(external), rss: inMib(rss), handles };
}

/**
 * Growth that is not looked at, as a part of the whole. The C library keeps freed memory: with 13
 * MiB in use, RSS went up and down between 190 and 214 MiB in ten minutes, with the traffic that
 * the machine found time for.
 */
const TOLERANCE = { heap: 0.02, external: 0.02, rss: 0.1 };
/** In the first minutes V8 still compiles, and the C library still fills its free lists. */
const WARM_UP_TOLERANCE = { heap: 0.15, external: 0.15, rss: 0.5 };
/** From this length on, a run is judged by TOLERANCE. */
const LONG_RUN = 10 * 60_000;

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Memory must be no higher in the last third than in the second, but for 2 standard deviations
 * of a sample. Chance makes the means of ten samples each differ by more about once in a thousand
 * runs, and of more samples less often; growth at an even rate makes them differ by 3.5.
 *
 * @returns {{ cells: string[], faults: string[] }}
 */
function judge(values, tolerance) {
  const third = Math.floor(values.length / 3);
  const second = values.slice(third, 2 * third);
  const [before, after] = [mean(second), mean(values.slice(2 * third))];
  const deviation = Math.sqrt(mean(second.map((value) => (value - before) ** 2)));
  const most = before + Math.max(2 * deviation, before * tolerance);
  return {
    cells: [before, after, most].map((value) => `${value.toFixed(2)} MiB`),
    faults: after <= most ? [] : ['it grows']
  };
}

module.exports = {
  summary: 'mixed traffic over sockets, each byte compared, memory flat at the end',
  details: `Opens connections to an echo server, and to a server that sends any stream, eight at a time: clients that send every size,
streams that are cut anywhere, streams with faults, readers that are slow, and connections that are dropped. In between
all connections end, and memory is measured after a garbage collection: in the last third of the run it may be no higher
than in the second, and all handles must be closed.`,
  options: {
    minutes: { default: '30', value: 'n', text: 'how long' },
    seed: { value: 'n', text: 'determines the sessions, not how they interleave' }
  },
  columns: ['second third', 'last third', 'at most'],

  async run({ minutes, seed = String(randomBytes(4).readUInt32LE()) }, { results, progress }) {
    const milliseconds = Number(minutes) * 60_000;
    if (!(milliseconds > 0)) throw new RangeError(`--minutes must be a positive number, not ${minutes}`);
    const soak = new Soak(Number(seed));
    for (const server of [soak.server, soak.streams]) await listen(server);
    progress(`seed ${soak.seed}, ${minutes} minutes, ${AT_ONCE} connections at a time`);
    const begun = Date.now();
    const samples = [];
    let shown = 0;
    while (Date.now() - begun < milliseconds || samples.length < FEWEST_SAMPLES) {
      await soak.run(SAMPLE_EVERY);
      const sample = await measure();
      samples.push(sample);
      if (Date.now() - shown < 5000) continue;
      shown = Date.now();
      progress(`${soak.sessions} connections, ${JSON.stringify(soak.counts)}; ${JSON.stringify(sample)} in MiB`);
    }
    for (const server of [soak.server, soak.streams]) server.close();
    console.log(`${soak.sessions} connections, ${samples.length} samples: ${JSON.stringify(soak.counts)}`);
    const tolerances = milliseconds < LONG_RUN ? WARM_UP_TOLERANCE : TOLERANCE;
    const valuesOf = (name) => samples.map((sample) => sample[name]);
    for (const [name, tolerance] of Object.entries(tolerances))
      await results.add(name, async () => judge(valuesOf(name), tolerance));
    await results.add('handles', async () => {
      const counts = new Set(valuesOf('handles').slice(samples.length / 3));
      return counts.size === 1 ? [] : [`some are left open: ${[...counts]}`];
    });
  }
};
