'use strict';

// Finds or installs Autobahn|Testsuite.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { NotHere } = require('../../support/fetch');
const { ROOT } = require('../support/child');

const HOME = path.join(ROOT, '.cache/autobahn');
const PYTHON = path.join(HOME, 'suite/bin/python');
const IMAGE = 'crossbario/autobahn-testsuite:0.8.2';

/**
 * @typedef {object} Suite
 * @property {string} label where it was found
 * @property {string} host the name of this machine from within it
 * @property {(mode: string, folder: string, port: number) => { command: string[], end?: string[],
 *   inside: string }} prepare returns the command that runs it, a command that ends it if a signal does
 *   not, and the path of `folder`, which has spec.json, from within it
 */

/** @returns {string | null} the output of a program; null if it failed or does not exist */
function ask(command, ...args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', timeout: 20_000 });
  return status === 0 ? stdout.trim() : null;
}

/** @returns {Suite | null} null if it is not installed, or does not work */
function findInstalled() {
  if (ask(PYTHON, '-c', 'import autobahntestsuite.wstest') === null) return null;
  return {
    label: path.relative('', HOME),
    host: '127.0.0.1',
    prepare(mode, folder) {
      const spec = path.join(folder, 'spec.json');
      // `-u 0` turns off its web page.
      return {
        command: [PYTHON, path.join(__dirname, 'loopback.py'), '-m', mode, '-s', spec, '-u', '0'],
        inside: folder
      };
    }
  };
}

/** @returns {Suite | null} */
function findDocker() {
  if (ask('docker', 'version', '--format', '{{.Server.Os}}') !== 'linux') return null;
  // Only on Linux can a container use the network of the machine.
  const direct = process.platform === 'linux';
  const user = process.getuid ? ['--user', `${process.getuid()}:${process.getgid()}`] : [];
  return {
    label: `the image ${IMAGE}`,
    host: direct ? '127.0.0.1' : 'host.docker.internal',
    prepare(mode, folder, port) {
      const name = `framemask-autobahn-${process.pid}-${mode}`;
      const network = mode === 'fuzzingclient' && direct ? ['--network', 'host'] : ['-p', `127.0.0.1:${port}:${port}`];
      const container = ['--rm', '--name', name, ...user, ...network, '-v', `${folder}:/reports`, IMAGE];
      const command = ['docker', 'run', ...container, 'wstest', '-m', mode, '-s', '/reports/spec.json', '-u', '0'];
      return { command, end: ['docker', 'kill', name], inside: '/reports' };
    }
  };
}

/** @returns {string | null} a Python 2.7, from the PATH or from pyenv */
function findPython2() {
  const versions = (ask('pyenv', 'versions', '--bare') ?? '').split('\n').filter((name) => name.startsWith('2.7.'));
  const prefixes = versions.map((version) => ask('pyenv', 'prefix', version) ?? '');
  const candidates = ['python2.7', ...prefixes.map((prefix) => path.join(prefix, 'bin/python'))];
  // Run it: pyenv's python2.7 in the PATH may exist and refuse to run.
  return candidates.map((python) => ask(python, '-c', 'import sys; print(sys.executable)')).find(Boolean) ?? null;
}

/**
 * Installs the suite in .cache/autobahn. It needs Python 2.7: on Python 3 it installs but does not
 * start. Only virtualenv before 20.22 makes environments for 2.7.
 */
function install(python2) {
  fs.rmSync(HOME, { recursive: true, force: true });
  fs.mkdirSync(HOME, { recursive: true });
  const tool = path.join(HOME, 'tool');
  for (const [command, ...args] of [
    ['python3', '-m', 'venv', tool],
    [path.join(tool, 'bin/pip'), 'install', '--quiet', 'virtualenv<20.22'],
    [path.join(tool, 'bin/virtualenv'), '--quiet', '--python', python2, path.join(HOME, 'suite')],
    [path.join(HOME, 'suite/bin/pip'), 'install', '--quiet', 'autobahntestsuite==25.10.1']
  ]) {
    const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')} failed`);
  }
}

/**
 * Finds the suite, and installs it if there is a Python 2.7.
 *
 * @param {(message: string) => void} progress
 * @returns {Suite}
 * @throws {NotHere}
 */
function findSuite(progress) {
  let suite = findInstalled();
  const python2 = suite === null ? findPython2() : null;
  if (python2 !== null) {
    progress('installing Autobahn|Testsuite in .cache/autobahn');
    install(python2);
    suite = findInstalled();
  }
  suite ??= findDocker();
  if (suite === null) throw new NotHere('Autobahn|Testsuite needs Python 2.7 or Docker');
  return suite;
}

module.exports = { findSuite };
