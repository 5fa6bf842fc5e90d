'use strict';

// Installs and runs framemask with each package manager and a registry that has it. `runIsolated`
// starts this file as a process of its own, so that it can be cut off from the network.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { MANAGERS } = require('./managers');
const { runPrograms } = require('./programs');
const { createProject, remarks, run, traces } = require('./project');
const { startRegistry } = require('./registry');
const { filesBelow, manifestOf } = require('./tarball');

/**
 * @typedef {object} Plan
 * @property {string} scratch
 * @property {string} tarball
 * @property {string} unpacked the folder of its files
 * @property {string[]} others more tarballs for the registry
 * @property {Task[]} tasks
 *
 * @typedef {object} Task
 * @property {string} manager
 * @property {string} source how it installs framemask: 'file', 'name', or beside which ws
 * @property {string} [ws] a version: framemask is installed as bufferutil then
 * @property {import('./managers').Commands} commands
 * @property {import('./programs').Kind[]} kinds of programs to run
 *
 * @typedef {object} Report of a task
 * @property {string[]} remarks the lines that the manager printed besides its summary
 * @property {string[]} traces of scripts
 * @property {import('./programs').Outcomes} outcomes
 * @property {string[]} kernels
 * @property {string | null} error why the install failed
 */

/** @returns {Promise<Report>} */
async function perform({ manager: name, source, ws, commands, kinds }, { scratch, tarball, unpacked }, registry) {
  const manager = MANAGERS.find((candidate) => candidate.name === name);
  const { version } = manifestOf(tarball);
  const dependencies =
    ws === undefined
      ? { framemask: source === 'file' ? `file:${tarball}` : version }
      : { bufferutil: `npm:framemask@${version}`, ws };
  const folder = path.join(scratch, `${name}-${source.replaceAll(' ', '-')}`);
  const project = createProject(folder, manager, { registry, dependencies });
  const report = { remarks: [], traces: [], outcomes: {}, kernels: [], error: null };
  try {
    report.remarks = remarks(manager, await run(project, commands.install));
    report.traces = traces(manager, project, filesBelow(unpacked));
    Object.assign(report, await runPrograms(project, commands, kinds));
  } catch (error) {
    report.error = error.message;
  }
  return report;
}

/** @param {Plan} plan */
async function performAll(plan) {
  const registry = await startRegistry([plan.tarball, ...plan.others]);
  for (const task of plan.tasks) process.send(await perform(task, plan, registry.address));
  registry.close();
}

/**
 * Commands that start a program with no network but its own loopback: as root, or as root of a user
 * namespace.
 */
const NAMESPACES = [['--net'], ['--net', '--map-root-user']].map((options) => [
  'unshare',
  ...options,
  'sh',
  '-c',
  'ip link set lo up && exec "$@"',
  'sh'
]);

/** @returns {string[] | null} such a command, or null if the system permits none */
function findNamespace() {
  return NAMESPACES.find(([program, ...args]) => spawnSync(program, [...args, 'true']).status === 0) ?? null;
}

/**
 * @param {Plan} plan
 * @param {string[] | null} namespace
 * @param {(report: Report) => void} onReport called for each task, in order
 * @returns {Promise<void>}
 */
function runIsolated(plan, namespace, onReport) {
  const file = path.join(plan.scratch, 'plan.json');
  fs.writeFileSync(file, JSON.stringify(plan));
  const [program, ...args] = [...(namespace ?? []), process.execPath, __filename, file];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.on('message', onReport).on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`the installs ended with exit code ${code}`))
    );
  });
}

if (require.main === module) {
  performAll(JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))).then(() => process.disconnect());
}

module.exports = { findNamespace, runIsolated };
