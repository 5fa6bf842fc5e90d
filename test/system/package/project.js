'use strict';

// Creates a project that depends on framemask, runs commands in it and checks it.

const fs = require('node:fs');
const path = require('node:path');
const child = require('../support/child');
const { filesBelow } = require('./tarball');

/**
 * Programs that compile or download addons. In a project's PATH, each of them records its call and
 * fails.
 */
const DECOYS = 'cc c++ gcc g++ clang clang++ make cmake ninja python python3 node-gyp prebuild-install'.split(' ');

/**
 * @typedef {object} Project
 * @property {string} folder
 * @property {string} installed the name of framemask in it
 * @property {string} calls the file that lists the calls of decoys
 * @property {Record<string, string>} env the whole environment of the programs that run there
 */

/**
 * @param {string} scratch an empty folder
 * @param {import('./managers').Manager} manager
 * @param {{ registry: string, dependencies: Record<string, string> }} source framemask comes first
 * @returns {Project}
 */
function createProject(scratch, manager, { registry, dependencies }) {
  const [folder, home, bin] = ['project', 'home', 'bin'].map((name) => path.join(scratch, name));
  const calls = path.join(scratch, 'calls');
  for (const name of [folder, home, bin]) fs.mkdirSync(name, { recursive: true });
  // With these, an install script could run and would be noticed.
  const programs = { node: process.execPath, sh: '/bin/sh', env: '/usr/bin/env' };
  for (const [name, file] of Object.entries(programs)) fs.symlinkSync(file, path.join(bin, name));
  for (const name of DECOYS) {
    fs.writeFileSync(path.join(bin, name), `#!/bin/sh\necho "${name} $*" >> '${calls}'\nexit 1\n`, { mode: 0o755 });
  }
  const manifest = { name: 'project', version: '1.0.0', private: true, dependencies };
  const files = { 'package.json': JSON.stringify(manifest, null, 2), ...manager.files(registry) };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
  const env = {
    PATH: bin,
    HOME: home,
    NO_COLOR: '1',
    FRAMEMASK_REQUIRE_NATIVE: '1',
    // Nothing listens there. It stands in for a network namespace where there is none.
    HTTP_PROXY: 'http://127.0.0.1:9',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1'
  };
  return { folder, installed: Object.keys(dependencies)[0], calls, env };
}

/**
 * @param {Project} project
 * @param {string[]} command
 * @returns {Promise<{ output: string, errors: string }>}
 * @throws {Error} with its output, if it fails
 */
async function run({ folder, env }, command) {
  const ended = await child.run(command, { cwd: folder, env, inherit: false, timeout: 120_000 });
  const { status, stdout, stderr, why } = ended;
  if (status === 0) return { output: stdout, errors: stderr };
  const name = command.map((part) => path.basename(part)).join(' ');
  throw new Error(`${name}: ${why}: ${(stderr + stdout).trim().slice(0, 1000)}`);
}

/**
 * @param {import('./managers').Manager} manager
 * @param {{ output: string, errors: string }} printed
 * @returns {string[]} the lines that are not part of the manager's summary
 */
function remarks(manager, { output, errors }) {
  const lines = `${output}\n${errors}`.split('\n').map((line) => line.trimEnd());
  return lines.filter((line) => line !== '' && !manager.summary.some((pattern) => pattern.test(line)));
}

/** @returns {string} the folder in which framemask is installed */
function installedFolder({ folder, installed }) {
  const place = path.join(folder, 'node_modules', installed);
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
 * @returns {string[]} traces of install scripts: calls of compilers, and files that differ from the
 *   tarball
 */
function traces(manager, project, files) {
  const calls = fs.existsSync(project.calls) ? fs.readFileSync(project.calls, 'utf8').trim().split('\n') : [];
  const installed = filesBelow(installedFolder(project));
  const names = [...new Set([...files.keys(), ...installed.keys()])].filter((name) => !manager.notes?.test(name));
  const different = names.filter((name) => !files.has(name) || !installed.get(name)?.equals(files.get(name)));
  return [...calls.map((call) => `called ${call}`), ...different.map((name) => `${name} differs from the tarball`)];
}

module.exports = { createProject, remarks, run, traces };
