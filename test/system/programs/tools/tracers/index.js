'use strict';

// Tracers that start before register, after it, and in the program's first line: as with plain ws,
// they must make all spans.

const fs = require('node:fs');
const path = require('node:path');
const { NotHere } = require('../../../../../scripts/support/fetch');
const runtimes = require('../../../support/runtimes');
const { runNode, stage } = require('../../tool');

/** The program talks over four connections, which are counted at both ends. */
const OPENED = 8;
const TRACERS = ['dd-trace', 'opentelemetry'];
const VERSIONS = ['20', '24'];

/** @returns {string} that version of Node.js */
function nodeOf(version) {
  if (process.versions.node.startsWith(`${version}.`)) return process.execPath;
  if (`${process.platform}-${process.arch}` !== 'linux-x64') throw new NotHere(`no Node.js ${version} for this system`);
  return runtimes.node(version);
}

const TRACER = ['--require', './tracers.js'];
const REGISTER = ['--require', 'framemask/ws/register'];

/** The order in which both start; `inside` is the first line of the program. */
const ORDERS = [
  { name: 'ws', opened: 0, args: TRACER },
  { name: 'before register', opened: OPENED, args: [...TRACER, ...REGISTER] },
  { name: 'after register', opened: OPENED, args: [...REGISTER, ...TRACER] }
];
const INSIDE = [
  { name: 'ws', opened: 0, args: [] },
  { name: '--require register', opened: OPENED, args: REGISTER },
  { name: '--import register', opened: OPENED, args: ['--import', 'framemask/ws/register'] }
];

/** Runs the program with a tracer. */
async function trace(version, tracer, { args, opened }) {
  const folder = stage('tracers');
  const users = path.join(__dirname, '../../users');
  fs.copyFileSync(path.join(users, 'tracers.js'), path.join(folder, 'tracers.js'));
  const env = { TRACER: tracer, LIBRARY: opened > 0 ? 'framemask/ws' : 'ws' };
  const options = { node: nodeOf(version), env };
  const run = await runNode(folder, ['--require', './note-opened.js', ...args, 'app.js'], options);
  return { ...run, cell: `${run.result[0].spans.length} spans` };
}

/**
 * Equal lists of no spans would mean nothing. Both tracers make more than one for each of 16
 * messages.
 */
const judge = ({ result: [{ spans }] }) => (spans.length > 16 ? [] : [`there are only ${spans.length} spans`]);

/** @type {import('../../tool').Tool} */
module.exports = {
  name: 'tracers-first',
  packages: {},
  cases: VERSIONS.flatMap((version) =>
    TRACERS.flatMap((tracer) =>
      [
        ['by an option', ORDERS],
        ['in the program', INSIDE]
      ].map(([place, ways]) => ({
        name: `${tracer} ${place}, Node.js ${version}`,
        judge,
        ways: ways.map((way) => ({ ...way, run: () => trace(version, tracer, way) }))
      }))
    )
  )
};
