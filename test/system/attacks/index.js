'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { WebSocket } = require('ws');
const { version: wsVersion } = require('ws/package.json');
const { kernel } = require('../../../index.js');
const { ROOT } = require('../../support/child');
const { ATTACKS } = require('../../support/attacks/attacks');
const { Target } = require('../../support/attacks/target');

const PAGE = path.join(ROOT, 'docs/security.md');
const BEGIN = '<!-- attacks: begin -->';
const END = '<!-- attacks: end -->';
const MIB = 1024 * 1024;
/** Milliseconds that the attack has before the other client begins. */
const HEAD_START = 500;
/** Milliseconds that an echo may take. */
const TIMEOUT = 10_000;

const MESSAGE = 'x'.repeat(64);
/** Milliseconds between two messages. */
const PAUSE = 2;

const NONE = { name: 'none', title: 'none', advisory: '' };
const ALL = [NONE, ...ATTACKS];
const LIBRARIES = ['framemask', 'framemask/ws', 'ws'];

/**
 * Sends messages to an echo server, one after the other, and measures how long each echo takes.
 *
 * @returns {Promise<{ milliseconds: number[], late: boolean }>} `late` if one took longer than
 *   TIMEOUT; then there are no more
 */
async function probe(port, seconds) {
  const milliseconds = [];
  const signal = AbortSignal.timeout(seconds * 1000 + TIMEOUT);
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  client.on('error', () => {});
  try {
    await once(client, 'open', { signal });
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      const start = performance.now();
      client.send(MESSAGE);
      await once(client, 'message', { signal: AbortSignal.timeout(TIMEOUT) });
      milliseconds.push(performance.now() - start);
      await sleep(PAUSE);
    }
    return { milliseconds, late: false };
  } catch {
    return { milliseconds, late: true };
  } finally {
    client.terminate();
  }
}

/** @param {number[]} values @returns {number} the 99th percentile */
function percentile99(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))];
}

/** @returns {Promise<string>} an attacked server's memory, and the time that its echoes take */
async function measure(library, name, seconds) {
  const target = await Target.start(library);
  try {
    await probe(target.port, 0.5);
    const before = await target.state();
    const attacker = name === NONE.name ? null : fork(path.join(__dirname, 'run.js'), [name, target.port]);
    try {
      await sleep(HEAD_START);
      const { milliseconds, late } = await probe(target.port, seconds);
      if (!target.alive) return 'the server ends';
      if (late) return `no echo in ${TIMEOUT / 1000} s`;
      const { peak } = await target.state();
      return `${percentile99(milliseconds).toFixed(1)} ms, ${Math.round((peak - before.peak) / MIB)} MiB`;
    } finally {
      if (attacker?.exitCode === null) {
        attacker.kill('SIGKILL');
        await once(attacker, 'exit');
      }
    }
  } finally {
    await target.stop();
  }
}

/** Writes the table between the marks of the page. */
function fillPage(results, seconds) {
  const page = fs.readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${PAGE} has no ${BEGIN} and ${END}`);
  const rows = results.map(({ attack: { name, title, advisory }, cells }) => {
    const linked = name === NONE.name ? title : `[${title}](../test/attacks/server.js)`;
    return `| ${[linked, advisory, ...cells].join(' | ')} |`;
  });
  const cpus = os.cpus();
  const table = [
    `| attack | advisory | ${LIBRARIES.join(' | ')} ${wsVersion.replace(/\.\d+$/, '')} |`,
    '|---|---|---|---|---|',
    ...rows,
    '',
    `Measured by \`npm run test:system -- attacks\` for ${seconds} s each, on ${cpus.length} cores (${cpus[0].model.trim()}), with`,
    `Node.js ${process.versions.node}, framemask's kernel ${kernel} and ws ${wsVersion}.`
  ].join('\n');
  fs.writeFileSync(PAGE, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
}

module.exports = {
  summary: 'what attacks do to the example server and to one of ws; fills the table of docs/security.md',
  details: `Each server runs in a process of its own. Meanwhile another client sends messages of 64 bytes, one after the other.
Prints the 99th percentile of how long their echoes take, and by how much the server's memory grows at most. Fills the
table if all attacks were run. test/attacks/ has a test for each.`,
  only: ['attack', ALL],
  options: { seconds: { default: '5', value: 'n', text: 'how long each attack takes on each server' } },
  columns: LIBRARIES,

  async run({ seconds: given }, { chosen, results }) {
    const seconds = Number(given);
    if (!(seconds > 0 && seconds <= 600)) throw new RangeError('--seconds is a number from 0 to 600');
    const table = [];
    for (const attack of chosen) {
      await results.add(attack.name, async () => {
        const cells = [];
        for (const library of LIBRARIES) cells.push(await measure(library, attack.name, seconds));
        table.push({ attack, cells });
        return { cells };
      });
    }
    if (table.length === ALL.length) fillPage(table, seconds);
  }
};
