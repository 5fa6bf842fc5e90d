'use strict';

// A project that has framemask for its only dependency: made, installed, and looked into.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { filesBelow } = require('./tarball');

/** What an addon would be compiled or fetched with. In a project's PATH these say that they were called, and fail. */
const COMPILERS = ['cc', 'c++', 'gcc', 'g++', 'clang', 'clang++'];
const BUILDERS = ['make', 'cmake', 'ninja', 'python', 'python3', 'node-gyp', 'prebuild-install'];
const DECOYS = [...COMPILERS, ...BUILDERS];

const TIMEOUT = 120_000;

/**
 * @typedef {object} Project
 * @property {string} folder
 * @property {string} calls the file that says which decoys were called
 * @property {Record<string, string>} env all that the programs run there find
 */

/**
 * @param {string} scratch an empty folder
 * @param {import('./managers').Manager} manager
 * @param {{ registry: string, specifier: string }} source where framemask is to come from
 * @returns {Project}
 */
function createProject(scratch, manager, { registry, specifier }) {
  const [folder, home, bin] = ['project', 'home', 'bin'].map((name) => path.join(scratch, name));
  const calls = path.join(scratch, 'calls');
  for (const name of [folder, home, bin]) fs.mkdirSync(name, { recursive: true });
  // All that a script of a package would need to run, and to be seen.
  const programs = { node: process.execPath, sh: '/bin/sh', env: '/usr/bin/env' };
  for (const [name, file] of Object.entries(programs)) fs.symlinkSync(file, path.join(bin, name));
  for (const name of DECOYS) {
    fs.writeFileSync(path.join(bin, name), `#!/bin/sh\necho "${name} $*" >> '${calls}'\nexit 1\n`, { mode: 0o755 });
  }
  const manifest = { name: 'project', version: '1.0.0', private: true, dependencies: { framemask: specifier } };
  const files = { 'package.json': JSON.stringify(manifest, null, 2), ...manager.files(registry) };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
  const env = {
    PATH: bin,
    HOME: home,
    NO_COLOR: '1',
    FRAMEMASK_REQUIRE_NATIVE: '1',
    // Nothing listens there, for where this machine's network could not be cut off.
    HTTP_PROXY: 'http://127.0.0.1:9',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1'
  };
  return { folder, calls, env };
}

/**
 * Runs a program in a project, as the registry of this process goes on answering.
 *
 * @param {Project} project
 * @param {string[]} command
 * @returns {Promise<{ output: string, errors: string }>}
 * @throws {Error} with what it has printed, if it fails
 */
async function run({ folder, env }, [program, ...args]) {
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT });
  const printed = { output: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed.output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed.errors += text;
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) {
    const what = [path.basename(program), ...args.map((arg) => path.basename(arg))].join(' ');
    throw new Error(
      `${what}: exit code ${code}, signal ${signal}: ${(printed.errors + printed.output).trim().slice(0, 1000)}`
    );
  }
  return printed;
}

/**
 * @param {import('./managers').Manager} manager
 * @param {{ output: string, errors: string }} printed
 * @returns {string[]} the lines that are more than the manager's summary
 */
function remarks(manager, { output, errors }) {
  const lines = `${output}\n${errors}`.split('\n').map((line) => line.trimEnd());
  return lines.filter((line) => line !== '' && !manager.summary.some((pattern) => pattern.test(line)));
}

/** @returns {string} the folder that framemask was installed into */
function installedFolder({ folder }) {
  const place = path.join(folder, 'node_modules/framemask');
  if (fs.existsSync(place)) return fs.realpathSync(place);
  const unplugged = path.join(folder, '.yarn/unplugged');
  const name = fs.existsSync(unplugged) && fs.readdirSync(unplugged).find((entry) => entry.startsWith('framemask-'));
  if (!name) throw new Error('framemask is not installed as files');
  return path.join(unplugged, name, 'node_modules/framemask');
}

/**
 * @param {import('./managers').Manager} manager
 * @param {Project} project
 * @param {Map<string, Buffer>} files of the tarball
 * @returns {string[]} the traces of scripts: calls of compilers, and files that are not those of the tarball
 */
function traces(manager, project, files) {
  const calls = fs.existsSync(project.calls) ? fs.readFileSync(project.calls, 'utf8').trim().split('\n') : [];
  const installed = filesBelow(installedFolder(project));
  const names = [...new Set([...files.keys(), ...installed.keys()])].filter((name) => !manager.notes?.test(name));
  const different = names.filter((name) => !files.has(name) || !installed.get(name)?.equals(files.get(name)));
  return [...calls.map((call) => `called ${call}`), ...different.map((name) => `${name} is not that of the tarball`)];
}

module.exports = { createProject, remarks, run, traces };
