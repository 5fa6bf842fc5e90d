'use strict';

// A process that measures one row, or one kind of object, once. It takes one argument, a job as
// JSON, and prints the result as JSON.

const { listRows } = require('./codec-rows');
const { loadFramemask, loadWithoutTracing } = require('./modules');
const { takeTurns, timed } = require('./race');

const { weigh } = require('./weigh');

const noop = () => {};
const HANDLERS = { onMessage: noop, onPing: noop, onPong: noop, onClose: noop, onError: noop };
const ANNOUNCED = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4, ...Buffer.alloc(10)]);

/** The objects of a connection that are weighed. All share their handlers, as the connections of a server do. */
const OBJECTS = {
  Decoder: ({ Decoder }) => [new Decoder({ role: 'server', ...HANDLERS })],
  Encoder: ({ Encoder }) => [new Encoder({ role: 'server' })],
  framemask: (framemask) => [...OBJECTS.Decoder(framemask), ...OBJECTS.Encoder(framemask)],
  'framemask, 1 GiB announced'({ Decoder, Encoder }) {
    const decoder = new Decoder({ role: 'server', onMessage: noop, maxPayload: 2 ** 31 });
    decoder.write(Buffer.from(ANNOUNCED));
    return [decoder, new Encoder({ role: 'server' })];
  },
  ws() {
    const { Receiver, Sender } = require('ws');
    const receiver = new Receiver({ isServer: true });
    // The events that ws's own WebSocket listens to.
    for (const event of ['conclude', 'drain', 'error', 'message', 'ping', 'pong']) receiver.on(event, noop);
    return [receiver, new Sender(null)];
  }
};

/** @returns {Promise<Record<string, number[]>>} nanoseconds of each turn, by the candidate's name */
async function timeRow({ row, sizes, kernel, rounds, turn, candidates }) {
  const { create, ofFramemask } = listRows(sizes).find(({ name }) => name === row);
  const { count, loop } = create();
  const loops = {};
  for (const { name, root, withoutTracing } of candidates) {
    const load = withoutTracing ? loadWithoutTracing : loadFramemask;
    loops[name] = loop(name, ofFramemask(load(kernel, root), root));
  }
  const turns = await takeTurns(timed(loops, { turn, count }), rounds);
  return Object.fromEntries(Object.entries(turns).map(([name, list]) => [name, list.map(({ ns }) => ns)]));
}

/** @returns {Promise<number>} the bytes of heap and external memory that the objects of a connection hold */
function weighObject({ object, root, count }) {
  const framemask = loadFramemask(undefined, root);
  return weigh(() => OBJECTS[object](framemask), count);
}

/** @returns {{ kernel?: string, error?: string }} the kernel that a checkout uses, or why it can't */
function findKernel({ root, kernel }) {
  try {
    const framemask = loadFramemask(kernel, root);
    if (kernel !== 'js' && framemask.nativeError !== null) throw framemask.nativeError;
    return { kernel: framemask.kernel };
  } catch (error) {
    return { error: error.message };
  }
}

async function main() {
  const job = JSON.parse(process.argv[2]);
  const result = job.row ? timeRow(job) : job.object ? weighObject(job) : findKernel(job);
  console.log(JSON.stringify(await result));
}

main();
