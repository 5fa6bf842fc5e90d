'use strict';

// Measures what attacks do to the echo server of examples/, to one of framemask/ws and to one of ws,
// and fills the table of docs/security.md.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { version: wsVersion } = require('ws/package.json');
const { kernel } = require('../index.js');
const { ATTACKS } = require('./attacks/attacks');
const { LOCAL_ATTACKS } = require('./attacks/local');
const { percentile99, probe } = require('./attacks/probe');
const { Target } = require('./attacks/target');
const { createProgress, printRows } = require('../test/support/report');
const { select } = require('../test/support/select');

const PAGE = path.join(__dirname, '../docs/security.md');
const BEGIN = '<!-- attacks: begin -->';
const END = '<!-- attacks: end -->';
const MIB = 1024 * 1024;
/** Milliseconds that the attack has before the other client begins. */
const HEAD_START = 500;
/** Milliseconds that an echo may take. */
const TIMEOUT = 10_000;

const NONE = { name: 'none', title: 'none', advisory: '' };
const ALL = [NONE, ...ATTACKS, ...LOCAL_ATTACKS];

const USAGE = `usage: node scripts/attacks.js [options]

Attacks the echo servers of examples/, of framemask/ws and of ws, over loopback, each in a process of its own. Meanwhile
another client sends messages of 64 bytes, one after the other. Prints the 99th percentile of how long their echoes take, and
by how much the server's memory grows at most. Fills the table in docs/security.md, if all attacks were run.

  --only <names>    only these attacks, with commas between: ${ATTACKS[0].name}, …
  --seconds <n>     how long each attack takes on each server (default 5)
  --help            print this

The attacks are in scripts/attacks/, and test/attacks/ has tests for each.`;

/** @returns {Promise<string>} what a server holds while it is attacked */
async function measure(library, name, seconds) {
  const target = await Target.start(library);
  try {
    await probe(target.port, 0.5, TIMEOUT);
    const before = await target.state();
    const attacker = name === NONE.name ? null : fork(path.join(__dirname, 'attacks/run.js'), [name, target.port]);
    try {
      await sleep(HEAD_START);
      const { milliseconds, late } = await probe(target.port, seconds, TIMEOUT);
      if (!target.alive) return 'the server ends';
      if (late) return `no echo in ${TIMEOUT / 1000} s`;
      const { peak } = await target.state();
      const grown = Math.round((peak - before.peak) / MIB);
      return `${percentile99(milliseconds).toFixed(1)} ms, ${grown} MiB`;
    } finally {
      await stop(attacker);
    }
  } finally {
    await target.stop();
  }
}

/** @param {import('node:child_process').ChildProcess | null} child */
async function stop(child) {
  if (child === null || child.exitCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** @returns {Promise<{ framemask: string, onWs: string, ws: string }>} */
async function measureAll(name, seconds) {
  if (LOCAL_ATTACKS.some((one) => one.name === name)) {
    const child = fork(path.join(__dirname, 'attacks/local.js'), [name], { execArgv: ['--expose-gc'] });
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`scripts/attacks/local.js ${name} has ended with ${code}`);
    });
    const [result] = await Promise.race([once(child, 'message'), ended]);
    ended.catch(() => {});
    return { onWs: '', ...result };
  }
  return {
    framemask: await measure('framemask', name, seconds),
    onWs: await measure('framemask/ws', name, seconds),
    ws: await measure('ws', name, seconds)
  };
}

/**
 * @param {{ attack: { name: string, title: string, advisory: string }, framemask: string, onWs: string,
 *   ws: string }[]} results
 * @param {number} seconds
 * @returns {string} the generated part of the page
 */
function createTable(results, seconds) {
  const version = wsVersion.replace(/\.\d+$/, '');
  const rows = results.map(({ attack: { name, title, advisory }, framemask, onWs, ws }) => {
    const file = LOCAL_ATTACKS.some((one) => one.name === name) ? 'decoder' : 'server';
    const linked = name === NONE.name ? title : `[${title}](../test/attacks/${file}.js)`;
    return `| ${linked} | ${advisory} | ${framemask} | ${onWs} | ${ws} |`;
  });
  const [cpu] = os.cpus();
  return [
    `| attack | advisory | what framemask holds | what framemask/ws holds | what ws ${version} holds |`,
    '|---|---|---|---|---|',
    ...rows,
    '',
    `Measured by \`npm run attacks\` for ${seconds} s each, on ${os.cpus().length} cores (${cpu.model.trim()}), with`,
    `Node.js ${process.versions.node}, framemask's kernel ${kernel} and ws ${wsVersion}.`
  ].join('\n');
}

/**
 * @param {string} page
 * @param {string} table
 * @returns {string} the page with the table between the marks
 * @throws {Error} if the page has no marks
 */
function fillPage(page, table) {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`The page has no ${BEGIN} and ${END}`);
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`;
}

/** @returns {object} the command line's options, checked */
function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      seconds: { type: 'string', default: '5' },
      help: { type: 'boolean' }
    }
  });
  const seconds = Number(values.seconds);
  if (!(seconds > 0 && seconds <= 600)) throw new RangeError('--seconds is a number from 0 to 600');
  return { ...values, seconds, attacks: select('attack', ALL, values.only) };
}

async function main() {
  const { help, only, seconds, attacks } = readOptions();
  if (help) {
    console.log(USAGE);
    return;
  }
  const progress = createProgress();
  const results = [];
  for (const attack of attacks) {
    const result = await measureAll(attack.name, seconds);
    progress(`${attack.name}: ${result.framemask}; framemask/ws: ${result.onWs}; ws: ${result.ws}`);
    results.push({ attack, ...result });
  }
  printRows([
    ['attack', 'framemask', 'framemask/ws', 'ws'],
    ...results.map(({ attack, framemask, onWs, ws }) => [attack.name, framemask, onWs, ws])
  ]);
  if (only !== undefined) return;
  fs.writeFileSync(PAGE, fillPage(fs.readFileSync(PAGE, 'utf8'), createTable(results, seconds)));
  console.log(`\n${path.relative('', PAGE)} has the table`);
}

if (require.main === module) {
  main().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}

module.exports = { ALL, BEGIN, END, createTable, fillPage };
