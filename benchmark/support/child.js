'use strict';

// A process that times one row of two checkouts, or weighs one kind of object. Its argument is a
// job as JSON; it prints the result as JSON.

const { execFileSync } = require('node:child_process');
const { Duplex } = require('node:stream');

const { HANDSHAKE } = require('../../test/support/frames');
const { NO_TAKEOVER, ROWS: INFLATING } = require('./inflating');
const { loadFramemask } = require('./modules');
const { takeTurns, timed } = require('./race');

const noop = () => {};
const HANDLERS = { onMessage: noop, onPing: noop, onPong: noop, onClose: noop, onError: noop };
const ANNOUNCED = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4, ...Buffer.alloc(10)]);

/** Of a server: its connections share what they have agreed on. */
let agreement = null;

/** The objects of a connection that are weighed. All share their handlers, as in a server. */
const OBJECTS = {
  framemask: ({ Decoder, Encoder }) => [new Decoder({ role: 'server', ...HANDLERS }), new Encoder({ role: 'server' })],
  'framemask, 1 GiB announced'({ Decoder, Encoder }) {
    const decoder = new Decoder({ role: 'server', onMessage: noop, maxPayload: 2 ** 31 });
    decoder.write(Buffer.from(ANNOUNCED));
    return [decoder, new Encoder({ role: 'server' })];
  },
  'a Decoder': ({ Decoder }) => [new Decoder({ role: 'server', ...HANDLERS }), undefined],
  'a Decoder with compression': ({ Decoder, acceptDeflate }) => {
    agreement ??= acceptDeflate(NO_TAKEOVER);
    return [new Decoder({ role: 'server', deflate: agreement, ...HANDLERS }), undefined];
  },
  ws() {
    const { Receiver, Sender } = require('ws');
    const receiver = new Receiver({ isServer: true });
    // The events that ws's own WebSocket listens to.
    for (const event of ['conclude', 'drain', 'error', 'message', 'ping', 'pong']) receiver.on(event, noop);
    return [receiver, new Sender(null)];
  }
};

/**
 * @returns {Promise<number>} bytes of heap and external memory, after a collection: node must run
 *   with `--expose-gc`
 */
async function memoryUse() {
  // Twice: memory outside the heap is freed after a collection, not by it.
  for (let i = 0; i < 2; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** @returns {Promise<number>} the bytes that the objects of a connection hold, two at most */
async function weigh({ object, count, root }) {
  const framemask = loadFramemask('', root);
  // 100 connections are made before, so that what all share is not weighed.
  const kept = Array.from({ length: 2 * (100 + count) }, () => null);
  const fill = (start, end) => {
    for (let i = start; i < end; i += 2) [kept[i], kept[i + 1]] = OBJECTS[object](framemask);
  };
  fill(0, 200);
  const before = await memoryUse();
  fill(200, kept.length);
  const after = await memoryUse();
  if (kept.includes(null)) throw new Error('an object was not kept');
  return (after - before) / count;
}

/** Echoes what decode.js has, by framemask/ws over a stream in memory. */
const ofFramemaskWs =
  ({ WebSocketServer }) =>
  (deliver) => {
    const socket = new Duplex({
      read() {},
      write: (_chunk, _encoding, done) => done(),
      writev: (_all, done) => done()
    });
    const lines = HANDSHAKE.slice(1).map((line) => line.replace(/^.*:/, (name) => name.toLowerCase()));
    const headers = Object.fromEntries(lines.map((line) => line.split(': ')));
    const server = new WebSocketServer({ noServer: true });
    server.handleUpgrade({ method: 'GET', headers, url: '/' }, socket, Buffer.alloc(0), (websocket) => {
      websocket.on('message', (data, binary) => {
        websocket.send(data, { binary });
        deliver(data.length);
      });
    });
    return (chunk) => socket.emit('data', chunk);
  };

/**
 * @returns {object[]} the rows of which two checkouts are compared, with names such as
 *   `decode: text 16 B`
 */
function listRows() {
  const prefixed = (prefix, rows) => rows.map((row) => ({ ...row, name: `${prefix}: ${row.name}` }));
  const decode = require('../decode').ROWS;
  const masking = require('../masking').listRows([0, 16, 64, 125, 1024, 16_384, 1024 ** 2]);
  const ws = decode.filter(({ name }) => /^(text|binary) (64 B|1 MiB)/.test(name));
  return [
    ...prefixed('decode', decode),
    ...prefixed('inflate', INFLATING),
    ...prefixed('encode', require('../encode').ROWS),
    ...prefixed('ws', ws).map((row) => ({ ...row, entry: 'ws.js', ofFramemask: ofFramemaskWs })),
    ...masking.map((row) => ({ ...row, name: row.name.replace(' ', ': ') }))
  ];
}

/**
 * @returns {Promise<Record<string, { ns: number }[]>>} the turns of each checkout; the order of
 *   `roots` counts
 */
function timeRow({ row, kernel, rounds, turn, roots }) {
  const { create, ofFramemask, entry } = listRows().find(({ name }) => name === row);
  const { count, loop } = create();
  const kernels = new Set();
  const loops = roots.map(([name, root]) => {
    const framemask = loadFramemask(kernel, root);
    if (kernel !== 'js' && framemask.nativeError !== null) throw framemask.nativeError;
    kernels.add(framemask.kernel);
    return [name, loop(name, ofFramemask(entry ? loadFramemask(kernel, root, entry) : framemask))];
  });
  if (kernels.size > 1) throw new Error(`the checkouts use different kernels: ${[...kernels].join(', ')}`);
  return takeTurns(timed(Object.fromEntries(loops), { turn, count }), rounds);
}

/**
 * @returns {*} the result of a job in a process of its own
 * @throws {Error} if it fails; its stderr is passed on
 */
function runChild(job) {
  const args = ['--expose-gc', __filename, JSON.stringify(job)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
}

async function main() {
  const job = JSON.parse(process.argv[2]);
  console.log(JSON.stringify(await (job.row ? timeRow(job) : weigh(job))));
}

if (require.main === module) main();

module.exports = { listRows, memoryUse, runChild };
