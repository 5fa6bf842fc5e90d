'use strict';

// Jest evaluates ws and framemask anew for each test file, in a vm context that it drops later.

const fs = require('node:fs');
const path = require('node:path');
const { CACHE, runNode, stage } = require('../../tool');
const { OPENED } = require('../exchange.cjs');

const JEST = path.join(CACHE, 'node_modules/jest/bin/jest.js');
const FILES = 13;

/** Runs test files in their order, in one process. */
async function jest(library, files, env) {
  const folder = stage('jest', library);
  for (let i = 1; i <= FILES; i++) {
    const name = `heap-${String(i).padStart(2, '0')}.test.js`;
    fs.copyFileSync(path.join(folder, 'heap.js'), path.join(folder, name));
  }
  const args = ['--expose-gc', JEST, '--runInBand', '--logHeapUsage', '--no-watchman', ...files];
  const run = await runNode(folder, args, { env });
  // In the order of the files.
  const heaps = [...run.stderr.matchAll(/\((\d+) MB heap size\)/g)].map(([, size]) => Number(size));
  return { ...run, heaps, cell: `${heaps.at(-1)} MiB` };
}

/** @returns {import('../../tool').Way[]} plain ws, and framemask/ws, which is named instead */
const named = (files, opened) => [
  { name: 'ws', opened: 0, run: () => jest('ws', files) },
  { name: 'framemask/ws', opened, run: () => jest('framemask/ws', files) }
];

/**
 * Each file makes a context: one that stays adds 3 MB. Garbage of one or two may be left at the end
 * of a file, so the least of three sizes counts.
 */
function judgeHeap({ heaps }, reference) {
  if (heaps.length !== FILES) return [`there are ${heaps.length} sizes of the heap`];
  const last = Math.min(...heaps.slice(-3));
  const faults = [];
  if (last > heaps[2] + 5) faults.push(`the heap has grown from ${heaps[2]} MB: ${heaps.join(' ')}`);
  const limit = Math.min(...reference.heaps.slice(-3)) + 8;
  if (last > limit) faults.push(`the heap has ${last} MB, more than ${limit}`);
  return faults;
}

/** @type {import('../../tool').Tool} */
module.exports = {
  name: 'jest',
  packages: { jest: '30.5.2' },
  cases: [
    {
      name: 'fake timers',
      ways: named(['timers-before', 'timers-after'], 2 * OPENED)
    },
    {
      name: 'automock',
      ways: [
        { name: 'ws', opened: 0, run: () => jest('ws', ['automock']) },
        { name: 'framemask/ws', opened: OPENED, run: () => jest('framemask/ws', ['automock', 'codec']) }
      ]
    },
    {
      name: 'moduleNameMapper',
      ways: [
        { name: 'ws', opened: 0, run: () => jest('ws', ['mapped']) },
        { name: 'mapped', opened: OPENED, run: () => jest('ws', ['mapped'], { MAP: '1' }) }
      ]
    },
    {
      name: `${FILES} files`,
      ways: named(['heap-'], FILES * OPENED),
      judge: judgeHeap
    },
    {
      name: 'teardown',
      // Both ends of one connection.
      ways: named(['teardown-'], 2)
    }
  ]
};
