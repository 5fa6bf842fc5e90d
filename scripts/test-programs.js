'use strict';

// Runs programs that use `ws`, and real packages that do, with `ws` and with framemask/ws, and
// compares their results.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { differences } = require('./programs/support/differences');
const { WAYS, findReceivers, runProgram, stage } = require('./programs/support/run');
const { installPackages, placeFramemask } = require('../test/support/install');
const { createProgress, printRows } = require('../test/support/report');
const { select } = require('../test/support/select');

const FOLDER = path.join(__dirname, 'programs');
const CACHE = path.join(__dirname, '../.cache/programs');

const PACKAGES = {
  '@opentelemetry/context-async-hooks': '1.30.1',
  '@opentelemetry/sdk-trace-base': '1.30.1',
  '@fastify/websocket': '11.3.6',
  '@y/websocket-server': '0.1.1',
  'dd-trace': '5.132.0',
  express: '4.21.2',
  'express-ws': '5.0.2',
  fastify: '5.12.8',
  graphql: '16.11.0',
  'graphql-ws': '6.4.2',
  jsdom: '26.1.0',
  'opentelemetry-instrumentation-ws': '0.5.0',
  'socket.io': '4.8.4',
  'socket.io-client': '4.8.4',
  ws: '8.23.0',
  'y-protocols': '1.0.7',
  'y-websocket': '3.0.0',
  yjs: '13.6.33'
};

const PROGRAMS = fs
  .readdirSync(FOLDER)
  .filter((file) => /\.m?js$/.test(file))
  .map((file) => ({ name: file.replace(/\.m?js$/, ''), file: path.join(FOLDER, file) }));

const USAGE = `usage: npm run test:programs [-- [--only <program>[,<program>...]] [--way <way>[,<way>...]] [--keep] [--help]]

Runs each program of scripts/programs/ three times: with ws; with framemask/ws, which it names
instead of ws; and unchanged, with \`node --import framemask/ws/register\`, which also gives
framemask/ws to the packages that it uses. All must print the same result; in the second framemask
must read messages, and in the third no ws 8 may read one. The first run installs the packages from
npm in .cache/programs/, without their install scripts. All connections are on 127.0.0.1. The exit
code is 0 if nothing differs.

  --only   only these programs
  --way    only these ways: ${WAYS.map(({ name }) => name).join(', ')}; ws always runs, to compare with
  --keep   keep the programs as they were run, in .cache/programs/run/
  --help   print this

programs: ${PROGRAMS.map(({ name }) => name).join(' ')}`;

/**
 * @param {import('./programs/support/run').Way} way
 * @param {import('./programs/support/run').Run} run
 * @param {import('./programs/support/run').Run} reference the run with `ws`
 * @returns {string[]} what is wrong with the run
 */
function judge(way, { result, counts, fault }, reference) {
  if (fault !== undefined) return [fault];
  const faults = reference.fault === undefined ? differences(reference.result, result) : ['nothing to compare with'];
  // The other end of a connection may be a package that uses ws.
  if (way.name === 'register' && counts.messages > 0) faults.push(`ws has read ${counts.messages} messages`);
  if (way !== WAYS[0] && counts.chunks === 0) faults.push('framemask has read nothing');
  return faults;
}

/** @returns {string} what the table shows of a run */
function describe({ seconds, counts }, faults) {
  const outcome = faults.length > 0 ? 'FAILED' : 'passed';
  const memory = counts === undefined ? '' : `, ${(counts.memory / 2 ** 20).toFixed(0)} MiB`;
  return `${outcome}, ${seconds.toFixed(1)} s${memory}`;
}

/**
 * Runs a program in each way.
 *
 * @param {{ name: string, file: string }} program
 * @param {import('./programs/support/run').Way[]} ways
 * @param {{ receivers: string[], progress: (message: string) => void }} context
 * @returns {Promise<{ row: string[], failed: boolean }>}
 */
async function test({ name, file }, ways, { receivers, progress }) {
  const row = [name];
  let reference;
  let failed = false;
  for (const way of ways) {
    const staged = stage(file, path.join(CACHE, 'run', way.name.replace('/', '-')), way);
    const run = await runProgram(staged, way, receivers);
    reference ??= run;
    const faults = judge(way, run, reference);
    row.push(describe(run, faults));
    progress(`${name}, ${way.name}: ${row.at(-1)}`);
    for (const fault of faults) console.log(`   ${fault.replaceAll('\n', '\n   ')}`);
    if (faults.length > 0) failed = true;
  }
  return { row, failed };
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      way: { type: 'string', multiple: true },
      keep: { type: 'boolean' },
      help: { type: 'boolean' }
    }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const programs = select('program', PROGRAMS, values.only);
  const ways = select('way', WAYS, values.way && [WAYS[0].name, ...values.way]);
  const progress = createProgress();
  progress(`installing ${Object.keys(PACKAGES).join(', ')}`);
  installPackages(CACHE, PACKAGES);
  placeFramemask(CACHE);
  const receivers = findReceivers(path.join(CACHE, 'node_modules'));
  const tests = [];
  try {
    for (const program of programs) tests.push(await test(program, ways, { receivers, progress }));
  } finally {
    if (!values.keep) fs.rmSync(path.join(CACHE, 'run'), { recursive: true, force: true });
  }
  printRows([['program', ...ways.map(({ name }) => name)], ...tests.map(({ row }) => row)]);
  const failed = tests.filter((test) => test.failed).length;
  console.log(`\n${tests.length - failed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

// An exit ends the program that runs.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

main().catch((error) => {
  console.error(`test:programs: ${error.message}`);
  process.exitCode = 1;
});
