'use strict';

// Runs programs/ in a project: as CommonJS, as ES modules, as TypeScript, and beside an old ws.

const fs = require('node:fs');
const path = require('node:path');
const { run } = require('./project');
const { ROOT } = require('./tarball');

const TYPED = ['typed.cts', 'typed.mts'];
/** Options for a Node.js program in TypeScript, with all checks. */
const COMPILER_OPTIONS = {
  strict: true,
  module: 'nodenext',
  target: 'es2022',
  types: ['node'],
  skipLibCheck: false,
  outDir: 'emitted',
  rootDir: '.'
};

/**
 * @typedef {import('./project').Project} Project
 * @typedef {import('./managers').Commands} Commands
 * @typedef {'javascript' | 'typescript' | 'oldWs'} Kind
 */

/**
 * Checks the types and emits JavaScript, with the checkout's TypeScript unless the project needs
 * its own.
 *
 * @returns {Promise<string[]>} the programs to run
 */
async function compile(project, { add, tsc, check, typed }) {
  const options = { ...COMPILER_OPTIONS };
  if (add !== undefined) await run(project, add);
  if (tsc === undefined) {
    // Without the types of ws.
    const types = path.join(project.folder, 'types');
    fs.mkdirSync(types);
    fs.symlinkSync(path.join(ROOT, 'node_modules/@types/node'), path.join(types, 'node'));
    options.typeRoots = [types];
  }
  const config = { compilerOptions: options, files: TYPED };
  fs.writeFileSync(path.join(project.folder, 'tsconfig.json'), JSON.stringify(config, null, 2));
  const compiler = tsc ?? [process.execPath, path.join(ROOT, 'node_modules/typescript/bin/tsc')];
  await run(project, [...compiler, '--project', '.']);
  if (check !== undefined) await run(project, [...check, ...TYPED]);
  const emitted = TYPED.map((name) => `emitted/${name.replace('ts', 'js')}`);
  return [...emitted, ...TYPED.filter((name) => typed && name.endsWith(typed))];
}

/** @type {Record<Kind, (project: Project, commands: Commands) => Promise<string[]>>} */
const KINDS = {
  javascript: async () => ['commonjs.cjs', 'module.mjs'],
  typescript: compile,
  oldWs: async () => ['old-ws.cjs']
};

/**
 * @param {Project} project
 * @param {Commands} commands
 * @param {Kind[]} kinds
 * @returns {Promise<{ faults: string[], kernels: string[] }>} a program that prints an error, or has no
 *   native kernel, has a fault
 */
async function runPrograms(project, commands, kinds) {
  fs.cpSync(path.join(__dirname, 'programs'), project.folder, { recursive: true });
  fs.copyFileSync(path.join(__dirname, '../support/check-framemask.cjs'), path.join(project.folder, 'check.cjs'));
  const faults = [];
  const kernels = new Set();
  for (const kind of kinds) {
    try {
      for (const program of await KINDS[kind](project, commands)) {
        const { output, errors } = await run(project, [...commands.run, `./${program}`]);
        if (errors !== '') throw new Error(`${program} printed ${errors.trim()}`);
        const { kernel } = JSON.parse(output);
        if (kernel === undefined || kernel === 'js') throw new Error(`${program} ran on ${kernel}`);
        kernels.add(kernel);
      }
    } catch (error) {
      faults.push(`${kind}: ${error.message}`);
    }
  }
  return { faults, kernels: [...kernels] };
}

module.exports = { runPrograms };
