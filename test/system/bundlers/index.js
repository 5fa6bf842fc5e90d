'use strict';

const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { ROOT } = require('../../support/child');
const { NotHere } = require('../../../scripts/support/fetch');
const { BUNDLERS } = require('./bundlers');
const { APPS, CACHE, DOCUMENT, PLATFORM, makeFolder, runBundle, stageProject } = require('./project');

/** The programs of --quick: framemask both ways, and framemask/ws. */
const QUICK = ['framemask-import.mjs', 'framemask-require.cjs', 'framemask-ws-import.mjs'];

/** Warnings about these are failures. Bundlers also warn about ws itself. */
const OURS = /framemask|bufferutil|node-gyp-build|\.node\b/;

/** @returns {string[]} all files below a folder */
const filesOf = (folder) =>
  fs
    .readdirSync(folder, { recursive: true })
    .map((name) => path.join(folder, name))
    .filter((file) => fs.statSync(file).isFile());

/**
 * Bundles one program, moves the bundle to an empty folder, and runs it.
 *
 * @returns {Promise<{ kernel: string, size: number }>}
 * @throws {Error} if it fails, or runs with the wrong kernel
 */
async function testBundle(bundler, job) {
  const { project, native } = job;
  const { file, warnings } = await bundler.bundle(job);
  const complaints = warnings.filter((warning) => OURS.test(warning));
  if (complaints.length > 0) throw new Error(`warns: ${complaints.join(' ')}`);

  const folder = makeFolder();
  try {
    fs.cpSync(job.out, folder, { recursive: true });
    const bundle = path.join(folder, file);
    const size = filesOf(folder).reduce((sum, name) => sum + fs.statSync(name).size, 0);
    for (const name of bundler.leaves?.(job) ?? []) {
      fs.cpSync(path.join(project, 'node_modules', name), path.join(folder, 'node_modules', name), { recursive: true });
    }
    const addon = native || bundler.follows;
    const kernel = await runBundle(bundle, addon ? { FRAMEMASK_REQUIRE_NATIVE: '1' } : {});
    if (!addon && kernel !== 'js') throw new Error(`runs with ${kernel} without an addon`);
    if (addon) {
      for (const name of filesOf(folder)) if (name.endsWith('.node')) fs.rmSync(name);
      const without = await runBundle(bundle);
      if (without !== 'js') throw new Error(`runs with ${without} after its addon is deleted`);
    }
    return { kernel, size };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** @returns {Promise<{ cells: string[], faults: string[] }>} of one bundler and one format */
async function test(bundler, format, { tools, project, names }) {
  const faults = [];
  const kernels = [new Set(), new Set()];
  let first = 0;
  const ending = format === 'esm' ? '.mjs' : '.cjs';
  const apps = names.filter((app) => !bundler.byEntry || app.endsWith(ending));
  for (const native of [false, true]) {
    for (const app of apps) {
      const entry = native ? `native-${app}` : app;
      const out = path.join(project, 'out', `${bundler.name}-${format}-${entry}`);
      try {
        const { kernel, size } = await testBundle(bundler, { tools, project, entry, format, native, out });
        kernels[Number(native)].add(kernel);
        if (entry === apps[0]) first = size;
      } catch (error) {
        faults.push(`${entry}: ${error.message}`);
      }
    }
  }
  const [version] = Object.values(bundler.packages);
  return { cells: [version, `${first}`, ...kernels.map((names) => [...names].join(', '))], faults };
}

module.exports = {
  summary: `bundles with framemask as ${DOCUMENT} says, which run elsewhere`,
  details: `Bundles six programs with each bundler, as CommonJS and as ES modules. They import and require framemask, framemask/ws, and
ws with framemask in the place of bufferutil. Each bundle is run in an empty folder: once without configuration, in
JavaScript, and once with the lines of ${DOCUMENT}, natively. prebuilds/ must have this platform's file.`,
  only: ['bundler', BUNDLERS],
  options: { quick: { text: 'only three of the six programs' } },
  columns: ['version', 'bytes', 'without configuration', 'with configuration'],

  async run({ quick }, { chosen, results, progress }) {
    const names = quick ? QUICK : Object.keys(APPS);
    const prebuilt = path.join(ROOT, 'prebuilds', `${process.platform}-${process.arch}`);
    if (PLATFORM === undefined || !fs.existsSync(prebuilt))
      throw new NotHere(`no ${prebuilt}: npm run build:prebuilds`);
    progress('installing the bundlers');
    const project = stageProject(Object.assign({}, ...BUNDLERS.map(({ packages }) => packages)));
    const tools = createRequire(path.join(CACHE, 'package.json'));
    try {
      for (const bundler of chosen) {
        for (const format of bundler.formats ?? ['cjs', 'esm']) {
          await results.add(`${bundler.name}, ${format}`, () => test(bundler, format, { tools, project, names }));
        }
      }
    } finally {
      fs.rmSync(project, { recursive: true });
    }
  }
};
