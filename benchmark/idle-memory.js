'use strict';

// Ten thousand connections of each kind, in a process of its own.

const { runBenchmark } = require('./support/harness');
const { count } = require('./support/options');
const { runChild } = require('./support/child');

const USAGE = `usage: node benchmark/idle-memory.js [options]

Prints the median bytes of heap and external memory that a connection holds. Takes about ten seconds.`;

const NAMES = ['framemask', 'ws', 'framemask, 1 GiB announced'];

runBenchmark({
  name: 'idle-memory',
  usage: USAGE,
  options: { pairs: count('<n>', 'how many connections', 10_000) },
  peers: ['ws'],
  sets({ pairs }) {
    const weigh = (object) => ({ held: runChild({ object, count: pairs }) });
    const candidates = () => Object.fromEntries(NAMES.map((name) => [name, () => weigh(name)]));
    const rows = [{ name: 'idle connection', group: 'memory of an idle connection', pairs: [] }];
    return [{ rows, start: () => ({ candidates }) }];
  }
});
