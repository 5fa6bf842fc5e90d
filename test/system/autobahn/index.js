'use strict';

const { spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { ROOT, start, startServer } = require('../../support/child');
const { freePort } = require('../../support/free-port');
const { GROUPS, chooseCases, informationalOf, judge } = require('./cases');
const { findSuite } = require('./suite');

const REPORTS = path.join(ROOT, 'reports/autobahn');
/**
 * The suite is stopped after so many milliseconds without output. It gives a case of section 12 or
 * 13 up to 480 s: on a busy machine, 1,000 messages of 512 fragments have taken more than 180 s.
 */
const SILENCE = 600_000;
/** Milliseconds between two lines of progress. */
const QUIET = 10_000;

/** @typedef {import('./cases').Target} Target */

/** @param {Target} target @returns {string[]} the command for server.js or client.js */
const commandOf = ({ program }, file, ...args) => [process.execPath, path.join(__dirname, file), ...args, ...program];

const environmentOf = ({ env }) => ({ env: { ...process.env, ...env } });

/** Kills a process and waits for its end, unless it has ended. */
async function stop(child, kill = () => child.kill('SIGKILL')) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  kill();
  await closed;
}

/**
 * Runs the suite in one of its modes.
 *
 * @param {import('./suite').Suite} suite
 * @param {string} mode
 * @param {{ role: string, folder: string, port: number, spec: object, count: number,
 *   progress: (message: string) => void }} run
 * @returns {{ closed: Promise<any>, stop: () => Promise<void> }}
 */
function startSuite(suite, mode, { role, folder, port, spec, count, progress }) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  const { command, end, inside } = suite.prepare(mode, folder, port);
  const complete = { ...spec, outdir: inside, 'exclude-cases': [], 'exclude-agent-cases': {} };
  fs.writeFileSync(path.join(folder, 'spec.json'), JSON.stringify(complete));
  const kill = () => {
    if (end !== undefined) spawnSync(end[0], end.slice(1), { stdio: 'ignore' });
    child.kill('SIGKILL');
  };
  const env = { ...process.env, PYTHONUNBUFFERED: '1' };
  const child = start(command, { env, stdio: ['ignore', 'pipe', 'inherit'] }, kill);
  let done = 0;
  let shown = performance.now();
  const timer = setTimeout(() => {
    console.error(`The suite has printed nothing for ${SILENCE / 1000} s, after ${done} cases`);
    kill();
  }, SILENCE);
  createInterface({ input: child.stdout }).on('line', (line) => {
    timer.refresh();
    const [, id, agent] = /^Running test case ID (\S+) for agent (\S+)/.exec(line) ?? [];
    if (id === undefined) return;
    done++;
    if (performance.now() - shown < QUIET) return;
    shown = performance.now();
    progress(`${role} ${done} of ${count} (${agent} ${id})`);
  });
  const closed = once(child, 'close').finally(() => clearTimeout(timer));
  return { closed, stop: () => stop(child, kill) };
}

/** Tests our server; the suite is the client. */
async function testServer(suite, { targets, ...run }) {
  const children = [];
  const servers = [];
  for (const target of targets) {
    const { child, port } = await startServer(commandOf(target, 'server.js'), environmentOf(target));
    children.push(child);
    servers.push({ agent: target.agent, url: `ws://${suite.host}:${port}` });
  }
  await startSuite(suite, 'fuzzingclient', { ...run, port: 0, spec: { servers, cases: run.cases } }).closed;
  for (const child of children) await stop(child);
}

/** Tests our client; the suite is the server. */
async function testClient(suite, { targets, ...run }) {
  const port = await freePort();
  const url = `ws://127.0.0.1:${port}`;
  const fuzzer = startSuite(suite, 'fuzzingserver', { ...run, port, spec: { url, cases: run.cases } });
  for (const target of targets) {
    const client = start(commandOf(target, 'client.js', url, target.agent), {
      ...environmentOf(target),
      stdio: ['ignore', 'ignore', 'inherit']
    });
    await Promise.race([once(client, 'close'), fuzzer.closed]);
    await stop(client);
  }
  await fuzzer.stop();
}

/** Reports the results of the suite. */
async function report({ role, targets, cases, folder }, results) {
  const file = path.join(folder, 'index.json');
  const index = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {};
  const reference = targets.find((target) => target.reference);
  const informational = reference && informationalOf(index[reference.agent] ?? {});
  for (const target of targets) {
    const { counts, failures } = judge(index[target.agent] ?? {}, cases, informational, target.nonStrict);
    const verdicts = [...counts].map(([verdict, count]) => `${count} ${verdict}`).join(', ');
    const [title, faults] = target === reference ? [`${target.name}, to compare with`, []] : [target.name, failures];
    await results.add(`${role}, ${title}`, async () => ({ cells: [`${cases.length}`, verdicts], faults }));
  }
}

module.exports = {
  summary: 'Autobahn|Testsuite, as client and as server, on a Connection, with compression, and on framemask/ws',
  details: `Runs sections 1 to 7, 9 and 10 on examples/echo-server.js and on a client of Connection.connect, with the addon and in
JavaScript, and through examples/gateway.js; sections 12 and 13 on them with compression (20 minutes or more); and all
sections on framemask/ws and, to compare with, on ws (40 minutes or more). Every case must be OK; 7.1.6, 7.13.1 and 7.13.2
may be INFORMATIONAL. framemask/ws may have INFORMATIONAL where ws has it; the gateway NON-STRICT in ten cases whose
message comes before a mistake. reports/autobahn/ has the details.

The suite is installed in .cache/autobahn with Python 2.7 and python3; without Python 2.7 its Docker image is run. It
listens on 127.0.0.1.`,
  only: ['target', GROUPS.flatMap(({ targets }) => targets)],
  options: {
    cases: { value: 'ids', text: "with * for any characters: '1.*,6.4.*,9.1.1'" },
    quick: { text: 'a short selection of cases' }
  },
  columns: ['cases', 'results'],

  async run({ cases: patterns, quick }, { chosen, results, progress }) {
    const suite = findSuite(progress);
    progress(`Autobahn|Testsuite, ${suite.label}`);
    let count = 0;
    for (const group of GROUPS) {
      const targets = group.targets.filter((target) => target.reference || chosen.includes(target));
      const cases = chooseCases(group, patterns?.split(',') ?? (quick ? group.quick : ['*']));
      if (cases.length === 0 || targets.every((target) => target.reference)) continue;
      count += cases.length;
      // Both roles run at once, because the slow cases mostly wait.
      const runs = ['server', 'client'].map((role) => {
        const folder = path.join(REPORTS, group.name, role);
        return { role, targets, cases, folder, count: cases.length * targets.length, progress };
      });
      await Promise.all(runs.map((run) => (run.role === 'server' ? testServer : testClient)(suite, run)));
      for (const run of runs) await report(run, results);
    }
    if (count === 0) throw new RangeError(`No case matches ${patterns}`);
  }
};
