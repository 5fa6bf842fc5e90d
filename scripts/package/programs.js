'use strict';

// Runs programs/ in a project: as CommonJS, as ES modules, as TypeScript, and beside an old ws.

const fs = require('node:fs');
const path = require('node:path');
const { run } = require('./project');
const { ROOT } = require('./tarball');

const PROGRAMS = path.join(__dirname, 'programs');
const TYPED = ['typed.cts', 'typed.mts', 'platform.cts', 'platform.mts'];
const EMITTED = TYPED.map((name) => `emitted/${name.replace('ts', 'js')}`);

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
 * @typedef {'commonjs' | 'module' | 'typescript' | 'oldWs'} Kind
 * @typedef {Partial<Record<Kind, string>>} Outcomes 'passed' or the error
 */

/**
 * @param {import('./project').Project} project
 * @param {string[]} command
 * @param {string[]} programs
 * @returns {Promise<string[]>} the kernels that they ran with
 * @throws {Error} if a program fails, prints an error or has no native kernel
 */
async function runAll(project, command, programs) {
  const kernels = [];
  for (const program of programs) {
    const { output, errors } = await run(project, [...command, `./${program}`]);
    if (errors !== '') throw new Error(`${program} printed ${errors.trim()}`);
    const { kernel } = JSON.parse(output);
    if (kernel === undefined || kernel === 'js') throw new Error(`${program} ran on ${kernel}`);
    kernels.push(kernel);
  }
  return kernels;
}

/**
 * Checks the types and emits JavaScript, with the checkout's TypeScript unless the project needs
 * its own.
 */
async function compile(project, { add, tsc, check }) {
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
}

/**
 * @typedef {import('./project').Project} Project
 * @typedef {import('./managers').Commands} Commands
 *
 * @type {Record<Kind, (project: Project, commands: Commands) => Promise<string[]>>}
 */
const RUNS = {
  commonjs: (project, { run: command }) => runAll(project, command, ['commonjs.cjs']),
  module: (project, { run: command }) => runAll(project, command, ['module.mjs']),
  async typescript(project, commands) {
    await compile(project, commands);
    return runAll(project, commands.run, [
      ...EMITTED,
      ...TYPED.filter((name) => commands.typed && name.endsWith(commands.typed))
    ]);
  },
  oldWs: (project, { run: command }) => runAll(project, command, ['old-ws.cjs'])
};

/** @type {Kind[]} */
const KINDS = Object.keys(RUNS);

/**
 * @param {import('./project').Project} project
 * @param {import('./managers').Commands} commands
 * @param {Kind[]} kinds
 * @returns {Promise<{ outcomes: Outcomes, kernels: string[] }>}
 */
async function runPrograms(project, commands, kinds) {
  fs.cpSync(PROGRAMS, project.folder, { recursive: true });
  const outcomes = {};
  const kernels = new Set();
  for (const kind of kinds) {
    try {
      for (const kernel of await RUNS[kind](project, commands)) kernels.add(kernel);
      outcomes[kind] = 'passed';
    } catch (error) {
      outcomes[kind] = error.message;
    }
  }
  return { outcomes, kernels: [...kernels] };
}

module.exports = { KINDS, runPrograms };
