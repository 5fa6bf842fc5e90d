'use strict';

// Installs and runs framemask with each package manager and a registry that has it:
//
//     node installs.js <plan>
//
// A process of its own, so that it can be cut off from the network.

const fs = require('node:fs');
const path = require('node:path');
const { NotHere } = require('../../support/fetch');
const { createProgress } = require('../../support/report');
const { Results } = require('../support/results');
const { MANAGERS } = require('./managers');
const { Project } = require('./project');
const { startRegistry } = require('./registry');
const { filesBelow, manifestOf } = require('./tarball');

const { scratch, tarball, unpacked, others, tasks } = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));

/**
 * @param {import('./index').Task} task
 * @param {string} registry
 * @returns {Promise<{ cells: string[], faults: string[] }>}
 */
async function perform({ manager: name, source, ws, commands, notRun, kinds }, registry) {
  if (notRun !== undefined) throw new NotHere(notRun);
  const manager = MANAGERS.find((candidate) => candidate.name === name);
  const { version } = manifestOf(tarball);
  const dependencies =
    ws === undefined
      ? { framemask: source === 'file' ? `file:${tarball}` : version }
      : { bufferutil: `npm:framemask@${version}`, ws };
  const folder = path.join(scratch, `${name}-${source.replaceAll(' ', '-')}`);
  const project = new Project(folder, manager, commands, { registry, dependencies });
  const remarks = await project.install();
  const { faults, kernels } = await project.runPrograms(kinds);
  return {
    cells: [commands.version, kinds.join(', '), kernels.join(', ')],
    faults: [...remarks, ...project.traces(filesBelow(unpacked)), ...faults]
  };
}

async function main() {
  const registry = await startRegistry([tarball, ...others]);
  const results = new Results(['version', 'programs', 'kernel'], createProgress());
  for (const task of tasks) {
    await results.add(`${task.manager}, by ${task.source}`, () => perform(task, registry.address));
  }
  registry.close();
  process.exitCode = results.end() ? 0 : 1;
}

main();
