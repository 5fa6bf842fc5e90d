'use strict';

// Installs and runs framemask with package managers and a registry that has the tarballs of a
// folder:
//
//     node installs.js <tarball of framemask, in that folder> <managers>
//
// A process of its own, so that it can be cut off from the network.

const path = require('node:path');
const { select } = require('../../../scripts/support/select');
const { Results } = require('../support/results');
const { MANAGERS, OLD_WS } = require('./managers');
const { Project } = require('./project');
const { publish, rehearse } = require('./release');
const { startRegistry } = require('./registry');
const { filesBelow, manifestOf } = require('./tarball');

const [tarball, names] = process.argv.slice(2);
const scratch = path.dirname(tarball);
const { version } = manifestOf(tarball);

/** The dependencies of a project for each way to install framemask, which comes first. */
const SOURCES = {
  file: { framemask: `file:${tarball}` },
  name: { framemask: version },
  ...Object.fromEntries(OLD_WS.map((ws) => [`ws ${ws}`, { bufferutil: `npm:framemask@${version}`, ws }]))
};

/** @returns {Promise<{ cells: string[], faults: string[] }>} */
async function install(manager, source, kinds, registry) {
  const commands = manager.prepare();
  const folder = path.join(scratch, `${manager.name}-${source.replaceAll(' ', '-')}`);
  const project = new Project(folder, manager, commands, { registry, dependencies: SOURCES[source] });
  const remarks = await project.install();
  const { faults, kernels } = await project.runPrograms(kinds);
  return {
    cells: [commands.version, kinds.join(', '), kernels.join(', ')],
    faults: [...remarks, ...project.traces(filesBelow(path.join(scratch, 'unpacked'))), ...faults]
  };
}

async function main() {
  const registry = await startRegistry(scratch, tarball);
  const results = new Results(['version', 'programs', 'kernel']);
  await publish(scratch, registry.address, tarball);
  for (const manager of select('manager', MANAGERS, [names])) {
    const { name, sources, types } = manager;
    for (const [i, source] of sources.entries()) {
      // The types are the same files for all sources.
      const typescript = types && i === 0 ? ['typescript'] : [];
      const kinds = source.startsWith('ws ') ? ['oldWs'] : ['javascript', ...typescript];
      await results.add(`${name}, by ${source}`, () => install(manager, source, kinds, registry.address));
    }
  }
  await results.add('a release', () => rehearse(scratch, registry.address, version));
  registry.close();
  process.exitCode = results.end() ? 0 : 1;
}

main();
