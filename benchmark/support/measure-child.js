'use strict';

// A process that measures one row, or one kind of object, once. It takes one argument, a job as
// JSON, and prints the result as JSON.

const { listRows } = require('./codec-rows');
const { loadFramemask, loadWithoutTracing } = require('./modules');
const { takeTurns, timed } = require('./race');

const { weigh } = require('./weigh');

const noop = () => {};

/** The objects that are weighed. All share their handlers, as the connections of a server do. */
const OBJECTS = {
  Decoder({ Decoder }) {
    const handlers = { onMessage: noop, onPing: noop, onPong: noop, onClose: noop, onError: noop };
    return () => [new Decoder({ role: 'server', ...handlers })];
  },
  Encoder({ Encoder }) {
    return () => [new Encoder({ role: 'server' })];
  }
};

/** @returns {Promise<Record<string, number[]>>} nanoseconds of each turn, by the candidate's name */
async function timeRow({ row, size, kernel, rounds, turn, candidates }) {
  const { create, ofFramemask } = listRows(size === null ? [] : [size]).find(({ name }) => name === row);
  const { count, loop } = create();
  const loops = {};
  for (const { name, root, withoutTracing } of candidates) {
    const load = withoutTracing ? loadWithoutTracing : loadFramemask;
    loops[name] = loop(name, ofFramemask(load(kernel, root)));
  }
  const turns = await takeTurns(timed(loops, { turn, count }), rounds);
  return Object.fromEntries(Object.entries(turns).map(([name, list]) => [name, list.map(({ ns }) => ns)]));
}

/** @returns {Promise<object>} what one object of a checkout holds, in bytes */
function weighObject({ object, root, count }) {
  return weigh(OBJECTS[object](loadFramemask(undefined, root)), count);
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
