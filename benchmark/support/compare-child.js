'use strict';

// The process that measures for compare.js: one row, or one kind of object, once. It takes one
// argument, a job as JSON, and prints the result as JSON.

const { loadFramemask } = require('./modules');
const { race } = require('./race');
const { listRows } = require('./rows');
const { warmUp } = require('./warm-up');
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

/**
 * Times one row of two checkouts by turns. The first of `checkouts` is loaded and warmed up first.
 *
 * @param {{ row: string, size: number | null, kernel: string, rounds: number, turn: number,
 *   checkouts: [string, string][] }} job `checkouts` are names and folders; `size` is that of a masking row
 * @returns {Promise<Record<string, number[]>>} nanoseconds of each turn, by the checkout's name
 */
async function timeRow({ row, size, kernel, rounds, turn, checkouts }) {
  const { create } = listRows(size === null ? [] : [size]).find(({ name }) => name === row);
  const { count, prepare } = create();
  const candidates = Object.fromEntries(checkouts.map(([name, root]) => [name, prepare(loadFramemask(kernel, root))]));
  await warmUp(candidates, turn * 20);
  const turns = await race(candidates, { rounds, turn });
  return Object.fromEntries(Object.entries(turns).map(([name, values]) => [name, values.map((ns) => ns / count)]));
}

/** @returns {Promise<object>} what one object of a checkout holds, in bytes */
function weighObject({ object, root, count }) {
  return weigh(OBJECTS[object](loadFramemask(undefined, root)), count);
}

/** @returns {{ kernel?: string, error?: string }} the kernel that a checkout uses, or why it can't use `kernel` */
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
