'use strict';

// Bundles programs that use framemask, moves the bundles to an empty folder, and runs them there.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { BUNDLERS } = require('./bundlers/bundlers');
const { DOCUMENT } = require('./bundlers/documented');
const { PLATFORM, ROOT, installBundlers, makeFolder, runBundle, stageProject } = require('./bundlers/project');
const { createProgress, printRows } = require('../test/support/report');
const { select } = require('../test/support/select');

const USAGE = `usage: npm run test:bundlers [-- [--only <bundler>[,<bundler>...]] [--help]]

Bundles six programs with each bundler, as CommonJS and as ES modules. They import and require
framemask, framemask/ws, and ws with framemask in the place of bufferutil. Each bundle is moved to
an empty folder and run there: once without configuration, in JavaScript, and once with the lines of
${DOCUMENT}, natively. The first run installs the bundlers from npm in .cache/bundlers/. The bundled
package is the one that would be published, with this platform's file of prebuilds/.

  --only   only these bundlers
  --help   print this

bundlers: ${BUNDLERS.map(({ id }) => id).join(' ')}`;

/** The table shows the size of the first. */
const APPS = [
  'import.mjs',
  'require.cjs',
  'ws-import.mjs',
  'ws-require.cjs',
  'framemask-ws-import.mjs',
  'framemask-ws-require.cjs'
];

/** Warnings about these are failures. Bundlers also warn about ws itself. */
const OURS = /framemask|bufferutil|node-gyp-build|\.node\b/;

/** @returns {string[]} all files below a folder */
function filesOf(folder) {
  const names = fs.readdirSync(folder, { recursive: true });
  return names.map((name) => path.join(folder, name)).filter((file) => fs.statSync(file).isFile());
}

/**
 * Bundles one program, moves the bundle, and runs it.
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
    const kernel = runBundle(bundle, addon ? { FRAMEMASK_REQUIRE_NATIVE: '1' } : {});
    if (!addon && kernel !== 'js') throw new Error(`runs with ${kernel} without an addon`);
    if (addon) {
      for (const name of filesOf(folder)) if (name.endsWith('.node')) fs.rmSync(name);
      const without = runBundle(bundle);
      if (without !== 'js') throw new Error(`runs with ${without} after its addon is deleted`);
    }
    return { kernel, size };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** @returns {Promise<Result>} for one bundler and one format */
async function test(bundler, format, { tools, project }) {
  const [version] = Object.values(bundler.packages);
  const result = { bundler: bundler.name, version, format, size: 0, plain: '', native: '', faults: [] };
  const apps = bundler.byEntry ? APPS.filter((app) => app.endsWith(format === 'esm' ? '.mjs' : '.cjs')) : APPS;
  for (const native of [false, true]) {
    const kernels = new Set();
    for (const app of apps) {
      const entry = native ? `native-${app}` : app;
      const out = path.join(project, 'out', `${bundler.id}-${format}-${entry}`);
      try {
        const { kernel, size } = await testBundle(bundler, { tools, project, entry, format, native, out });
        kernels.add(kernel);
        if (entry === apps[0]) result.size = size;
      } catch (error) {
        kernels.add('FAILED');
        result.faults.push(`${entry}: ${error.message}`);
      }
    }
    result[native ? 'native' : 'plain'] = [...kernels].join(', ');
  }
  return result;
}

function printTable(results) {
  const rows = [
    ['bundler', 'version', 'output', 'bytes', 'without configuration', 'with configuration', ''],
    ...results.map(({ bundler, version, format, size, plain, native, faults }) => {
      const output = format === 'esm' ? 'ES module' : 'CommonJS';
      return [bundler, version, output, `${size}`, plain, native, faults.length > 0 ? 'FAILED' : 'passed'];
    })
  ];
  printRows(rows);
  for (const { bundler, format, faults } of results) {
    for (const fault of faults) console.log(`\n${bundler}, ${format}, ${fault}`);
  }
  const failed = results.filter(({ faults }) => faults.length > 0).length;
  console.log(`\n${results.length - failed} passed, ${failed} failed`);
}

async function main() {
  const { values } = parseArgs({ options: { only: { type: 'string', multiple: true }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const progress = createProgress();
  const bundlers = select('bundler', BUNDLERS, values.only, ({ id }) => id);
  const prebuilt = path.join(ROOT, 'prebuilds', `${process.platform}-${process.arch}`);
  if (PLATFORM === undefined || !fs.existsSync(prebuilt)) {
    throw new Error(`there is no ${prebuilt}: npm run build:prebuilds makes it`);
  }
  progress('installing the bundlers');
  const tools = installBundlers(Object.assign({}, ...BUNDLERS.map(({ packages }) => packages)));
  const project = makeFolder();
  const results = [];
  try {
    progress('packing framemask');
    stageProject(project);
    for (const bundler of bundlers) {
      for (const format of bundler.formats ?? ['cjs', 'esm']) {
        const result = await test(bundler, format, { tools, project });
        results.push(result);
        progress(`${bundler.name}, ${format}: ${result.faults.length > 0 ? 'FAILED' : 'passed'}`);
      }
    }
  } finally {
    fs.rmSync(project, { recursive: true });
  }
  printTable(results);
  if (results.some(({ faults }) => faults.length > 0)) process.exitCode = 1;
}

main().catch((error) => {
  console.error(`test:bundlers: ${error.message}`);
  process.exitCode = 1;
});
