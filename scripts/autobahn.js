'use strict';

// Runs Autobahn|Testsuite against examples/echo-server.js and examples/client.js, against
// examples/deflate.js, or against an echo server and a client on framemask/ws, and judges its
// reports.

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { parseArgs } = require('node:util');
const { ALL, QUICK, QUICK_DEFLATE, WITH_DEFLATE, informationalOf, judge, select } = require('./autobahn/cases');
const { find, install } = require('./autobahn/suite');
const { ofContexts, ofKernel, ofLibrary } = require('./autobahn/targets');
const { freePort } = require('../test/support/free-port');

const USAGE = `usage: npm run test:autobahn [-- [options]]

Runs Autobahn|Testsuite, sections 1 to 7, 9 and 10, against the echo server and the client in
examples/; with --deflate sections 12 and 13, permessage-deflate, on examples/deflate.js, which takes 20
minutes or more; with --ws all sections on framemask/ws and, to compare with, on ws, which takes 40
minutes or more.

  --role ROLE      server or client; both by default
  --kernel LIST    addon, js, or any value of FRAMEMASK_KERNEL; addon,js by default
  --deflate        sections 12 and 13, on the codec with the option \`deflate\`
  --contexts LIST  with --deflate: shared, takeover or both, which is the default
  --ws             framemask/ws and ws instead of the programs in examples/
  --library LIST   with --ws: framemask/ws, ws or both, which is the default
  --cases LIST     ids of cases, with * for any characters: '1.*,6.4.*,9.1.1'; all 301 by default,
                   with --deflate all 216, with --ws all 517
  --quick          a short selection, for CI
  --install        install the suite in .cache/autobahn if it is missing (needs Python 2.7 and python3)
  --allow-missing  exit with 0 instead of 2 if there is no suite
  --help           print this

The suite is the wstest that the environment variable AUTOBAHN names, or one in the PATH, or the one
in .cache/autobahn, or its Docker image. It listens on 127.0.0.1 only. Its reports are in
reports/autobahn/*/index.html.

Every case must be OK; 7.1.6, 7.13.1 and 7.13.2 may be INFORMATIONAL. With --ws, framemask/ws may have
INFORMATIONAL where ws has it, and the results of ws are only printed. Exit code: 0 if all are as they
must be, 1 if a case fails or is missing, 2 if there is no suite.`;

const ROOT = path.join(__dirname, '..');
const REPORTS = path.join(ROOT, 'reports/autobahn');
/**
 * The suite is stopped after so many milliseconds without output. It gives a case of section 12 or
 * 13 up to 480 s: on a busy machine, 1,000 messages of 512 fragments have taken more than 180 s.
 */
const SILENCE = 600_000;
/** A process that does not exit within so many milliseconds is killed. */
const ENDING = 5000;

/** For each process that we started and that still runs, a function that kills it. */
const running = new Map();

/**
 * Starts a process that does not outlive us.
 *
 * @param {string[]} command
 * @param {{ env?: object, end?: string[] | null }} [options] `end` is a command that ends it if a
 *   signal does not
 * @returns {import('node:child_process').ChildProcess}
 */
function start([file, ...args], { env = {}, end = null } = {}) {
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...process.env, PYTHONUNBUFFERED: '1', ...env },
    stdio: ['ignore', 'pipe', 'inherit']
  });
  running.set(child, () => {
    if (end !== null) spawnSync(end[0], end.slice(1), { stdio: 'ignore' });
    child.kill('SIGKILL');
  });
  child.on('error', (error) => console.error(`${file}: ${error.message}`));
  child.on('close', () => running.delete(child));
  return child;
}

/** @param {import('node:child_process').ChildProcess} child */
async function stop(child) {
  const kill = running.get(child);
  if (kill === undefined) return;
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  const timer = setTimeout(kill, ENDING);
  await closed;
  clearTimeout(timer);
}

function stopAll() {
  for (const kill of running.values()) kill();
}

/**
 * @typedef {object} Run
 * @property {import('./autobahn/targets').Target[]} targets
 * @property {string[]} cases
 * @property {string} folder
 */

/**
 * @param {import('./autobahn/targets').Target} target
 * @returns {Promise<{ child: import('node:child_process').ChildProcess, port: number }>} a
 *   listening echo server
 */
async function startServer({ name, env, server }) {
  const child = start([process.execPath, ...server], { env: { ...env, PORT: '0' } });
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /:(\d+)$/.exec(line);
    if (port !== null) return { child, port: Number(port[1]) };
  }
  throw new Error(`The echo server did not start (${name})`);
}

/** Prints the progress of both roles: on a terminal in one line, otherwise every 100 cases. */
class Progress {
  constructor() {
    this.texts = new Map();
  }

  /**
   * @param {string} role
   * @param {number} total
   * @returns {(line: string) => void} to be called with each line of the suite's output
   */
  begin(role, total) {
    let done = 0;
    return (line) => {
      const [, id, agent] = /^Running test case ID (\S+) for agent (\S+)/.exec(line) ?? [];
      if (id === undefined) return;
      done++;
      const text = `${role} ${done} of ${total} (${agent} ${id})`;
      this.texts.set(role, text);
      if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${[...this.texts.values()].join(', ')}`);
      else if (done % 100 === 0) console.log(text);
    };
  }

  end() {
    if (process.stdout.isTTY) process.stdout.write('\r\x1b[K');
  }
}

/**
 * Runs the suite in one of its modes.
 *
 * @param {import('./autobahn/suite').Suite} suite
 * @param {string} mode
 * @param {{ folder: string, port: number, spec: (inside: string) => object, onLine: (line: string)
 *   => void }} run
 * @returns {import('node:child_process').ChildProcess}
 */
function startSuite(suite, mode, { folder, port, spec, onLine }) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  const { command, end, inside } = suite.prepare(mode, folder, port);
  fs.writeFileSync(path.join(folder, 'spec.json'), JSON.stringify(spec(inside), null, 2));
  const child = start(command, { end });
  let last = 'it began';
  const giveUp = () => {
    console.error(`The suite has printed nothing for ${SILENCE / 1000} s, since ${last}`);
    running.get(child)?.();
  };
  const timer = setTimeout(giveUp, SILENCE);
  createInterface({ input: child.stdout }).on('line', (line) => {
    timer.refresh();
    last = line;
    onLine(line);
  });
  child.on('close', () => clearTimeout(timer));
  return child;
}

/**
 * Tests our server; the suite is the client.
 *
 * @param {import('./autobahn/suite').Suite} suite
 * @param {Run & { onLine: (line: string) => void }} run
 */
async function testServer(suite, { targets, cases, folder, onLine }) {
  const servers = [];
  for (const target of targets) servers.push({ ...target, ...(await startServer(target)) });
  const child = startSuite(suite, 'fuzzingclient', {
    folder,
    port: 0,
    onLine,
    spec: (outdir) => ({
      outdir,
      servers: servers.map(({ agent, port }) => ({ agent, url: `ws://${suite.host}:${port}` })),
      cases,
      'exclude-cases': [],
      'exclude-agent-cases': {}
    })
  });
  await once(child, 'close');
  for (const { child, name } of servers) {
    if (!running.has(child)) console.error(`The echo server exited too early (${name})`);
    await stop(child);
  }
}

/**
 * Tests our client; the suite is the server.
 *
 * @param {import('./autobahn/suite').Suite} suite
 * @param {Run & { onLine: (line: string) => void }} run
 */
async function testClient(suite, { targets, cases, folder, onLine }) {
  const port = await freePort();
  const url = `ws://127.0.0.1:${port}`;
  const spec = (outdir) => ({ url, outdir, cases, 'exclude-cases': [], 'exclude-agent-cases': {} });
  const child = startSuite(suite, 'fuzzingserver', { folder, port, onLine, spec });
  for (const target of targets) {
    const client = start([process.execPath, ...target.client(url)], { env: target.env });
    const [code] = await Promise.race([once(client, 'close'), once(child, 'close')]);
    if (code !== 0) console.error(`The client failed (${target.name})`);
    await stop(client);
  }
  await stop(child);
}

/**
 * Prints the results of the suite.
 *
 * @param {string} role
 * @param {Run} run
 * @returns {boolean} whether all cases passed
 */
function report(role, { targets, cases, folder }) {
  const file = path.join(folder, 'index.json');
  const index = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {};
  const reference = targets.find((target) => target.reference);
  const informational = reference && informationalOf(index[reference.agent] ?? {});
  let passed = true;
  for (const target of targets) {
    const { counts, failures } = judge(index[target.agent] ?? {}, cases, informational);
    const verdicts = [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(', ');
    const outcome = target === reference ? 'to compare with' : failures.length === 0 ? 'passed' : 'FAILED';
    console.log(`${role}, ${target.name}: ${outcome} (${cases.length} cases: ${verdicts})`);
    for (const failure of failures) console.log(`  ${failure}`);
    if (failures.length > 0 && target !== reference) passed = false;
  }
  return passed;
}

/** @returns {object} the checked options of the command line */
function readOptions() {
  const { values } = parseArgs({
    options: {
      role: { type: 'string' },
      kernel: { type: 'string', default: 'addon,js' },
      deflate: { type: 'boolean' },
      contexts: { type: 'string', default: 'shared,takeover' },
      ws: { type: 'boolean' },
      library: { type: 'string', default: 'ws,framemask/ws' },
      cases: { type: 'string' },
      quick: { type: 'boolean' },
      install: { type: 'boolean' },
      'allow-missing': { type: 'boolean' },
      help: { type: 'boolean' }
    }
  });
  if (values.role !== undefined && !['server', 'client'].includes(values.role)) {
    throw new RangeError('--role must be server or client');
  }
  if (values.deflate && values.ws) throw new RangeError('--deflate and --ws are two runs');
  const { all, quick, targets } = setOf(values);
  const patterns = values.cases?.split(',') ?? (values.quick ? quick : ['*']);
  return {
    ...values,
    roles: values.role === undefined ? ['server', 'client'] : [values.role],
    targets,
    cases: select(patterns, all)
  };
}

/** @returns {object} what to run, on which cases, which of them with --quick */
function setOf({ deflate, ws, contexts, library, kernel }) {
  if (deflate) return { all: WITH_DEFLATE, quick: QUICK_DEFLATE, targets: contexts.split(',').map(ofContexts) };
  if (ws) return { all: ALL, quick: [...QUICK, ...QUICK_DEFLATE], targets: library.split(',').map(ofLibrary) };
  return { all: undefined, quick: QUICK, targets: kernel.split(',').map(ofKernel) };
}

/** @returns {Promise<number>} the exit code */
async function main() {
  const options = readOptions();
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  if (options.install) install();
  const suite = find();
  if (suite === null) {
    console.error(
      'NOT RUN: Autobahn|Testsuite was not found: no working wstest, none in .cache/autobahn, and no Docker.\n' +
        'With Python 2.7, "npm run test:autobahn -- --install" installs it.'
    );
    return options['allow-missing'] ? 0 : 2;
  }

  const { targets, cases } = options;
  const names = targets.map(({ name }) => name).join(' and ');
  console.log(`Autobahn|Testsuite, ${suite.label}: ${cases.length} cases, ${options.roles.join(' and ')}, ${names}`);
  const folder = path.join(REPORTS, options.ws ? 'ws' : options.deflate ? 'deflate' : '');
  const began = performance.now();
  const progress = new Progress();
  // Both roles run at once, because the slow cases mostly wait.
  const runs = options.roles.map((role) => {
    const onLine = progress.begin(role, cases.length * targets.length);
    return { role, run: { targets, cases, folder: path.join(folder, role), onLine } };
  });
  await Promise.all(runs.map(({ role, run }) => (role === 'server' ? testServer : testClient)(suite, run)));
  progress.end();

  const failed = runs.filter(({ role, run }) => !report(role, run));
  console.log(
    `${((performance.now() - began) / 1000).toFixed(0)} s; ${path.relative('', folder)}/*/index.html have the details`
  );
  return failed.length === 0 ? 0 : 1;
}

process.on('exit', stopAll);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(error.message);
    stopAll();
    process.exitCode = 1;
  }
);
