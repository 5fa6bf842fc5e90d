'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { outputOf } = require('../../support/child');
const { installPackages, placeFramemask } = require('../../../scripts/support/install');
const PACKAGES = require('../../support/ws-programs');
const { CACHE, addCase, findTools } = require('./tool');

const USERS = path.join(__dirname, 'users');

/** The library in place of ws, and Node.js's options. The first is compared with. */
const WAYS = [
  { name: 'ws', library: 'ws', args: [] },
  { name: 'framemask/ws', library: 'framemask/ws', args: [] },
  { name: 'register', library: 'ws', args: ['--import', 'framemask/ws/register'] }
];

const PROGRAMS = fs.readdirSync(USERS).map((file) => ({ name: file.replace(/\.m?js$/, ''), file }));
const TOOLS = findTools();

/**
 * @returns {string[]} the receivers of each `ws` below a folder, but for those of ws 6 and 7, which
 *   framemask/ws leaves alone
 */
function findReceivers(folder) {
  return fs
    .readdirSync(folder, { recursive: true })
    .filter((file) => /(^|[\\/])ws[\\/]lib[\\/]receiver\.js$/.test(file))
    .map((file) => path.join(folder, file))
    .filter((file) => require(path.join(file, '../../package.json')).version.startsWith('8.'));
}

/**
 * Runs a program, which prints its result as JSON in its last line.
 *
 * @returns {Promise<{ result: any, counts: { messages: number, chunks: number, memory: number } }>}
 */
async function runProgram(name, { library, args }, receivers) {
  const folder = path.join(CACHE, 'run', library.replace('/', '-'));
  const [file, counter, counted] = [name, 'count-messages.js', 'counts.json'].map((part) => path.join(folder, part));
  fs.mkdirSync(folder, { recursive: true });
  const text = fs.readFileSync(path.join(USERS, name), 'utf8');
  fs.writeFileSync(file, text.replace(/(require\(|from )'ws'/g, `$1'${library}'`));
  // The counter must find the package that the program finds.
  fs.copyFileSync(path.join(__dirname, 'count-messages.js'), counter);
  const env = { FRAMEMASK_TEST_RECEIVERS: JSON.stringify(receivers), FRAMEMASK_TEST_COUNTS: counted };
  const command = [process.execPath, '--require', counter, ...args, file];
  const output = await outputOf(command, { cwd: folder, env, timeout: 300_000 });
  return { result: JSON.parse(output.trim().split('\n').at(-1)), counts: JSON.parse(fs.readFileSync(counted, 'utf8')) };
}

/** @returns {string[]} the faults of a run */
function judge(way, { result, counts }, reference) {
  const faults = [];
  try {
    assert.deepStrictEqual(result, reference.result);
  } catch (error) {
    faults.push(error.message);
  }
  // The other end of a connection may be a package that uses ws.
  if (way.name === 'register' && counts.messages > 0) faults.push(`ws has read ${counts.messages} messages`);
  if (way !== WAYS[0] && counts.chunks === 0) faults.push('framemask has read nothing');
  return faults;
}

/** Runs a program in all ways, and adds the results. */
async function addProgram({ name, file }, receivers, results) {
  let reference;
  for (const way of WAYS) {
    await results.add(`${name}, ${way.name}`, async () => {
      const run = await runProgram(file, way, receivers);
      if (way === WAYS[0]) reference = run;
      if (reference === undefined) throw new Error('nothing to compare with');
      const cells = [`${(run.counts.memory / 2 ** 20).toFixed(0)} MiB`];
      return { cells, faults: judge(way, run, reference) };
    });
  }
}

module.exports = {
  summary: 'socket.io, fastify, dd-trace, Jest, Vitest, bundlers and others: the same results with ws and framemask/ws',
  details: `Runs each program of users/ three times: with ws; with framemask/ws, which it names instead; and unchanged, with
\`node --import framemask/ws/register\`, which also gives framemask/ws to the packages that it uses. All must print the
same result; in the second framemask must read messages, and in the third no ws 8 may read one. The packages are
installed in .cache/programs/, without their install scripts.

Then each tool of tools/ runs a small project with plain ws and with framemask, from the tarball that would be
published: the results must be the same, and framemask must have opened the connections.`,
  only: ['program', [...PROGRAMS, ...TOOLS]],
  columns: ['measured'],

  async run(_options, { chosen, results, progress }) {
    const packages = Object.assign({}, PACKAGES, ...TOOLS.map((tool) => tool.packages));
    progress(`installing ${Object.keys(packages).join(', ')}`);
    installPackages(CACHE, packages);
    placeFramemask(CACHE);
    const receivers = findReceivers(path.join(CACHE, 'node_modules'));
    for (const one of chosen) {
      if (PROGRAMS.includes(one)) await addProgram(one, receivers, results);
      else for (const part of one.cases) await addCase(one.name, part, results);
    }
  }
};
