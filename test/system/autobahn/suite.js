'use strict';

// Finds or installs Autobahn|Testsuite.

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { ROOT } = require('../../support/child');
const { NotHere } = require('../../../scripts/support/fetch');
const { installPython, pythonProgram, run } = require('../../../scripts/support/install');

const HOME = path.join(ROOT, '.cache/autobahn');
const PYTHON = path.join(HOME, 'bin/python');
const IMAGE = 'crossbario/autobahn-testsuite:0.8.2';

/**
 * @typedef {object} Suite
 * @property {string} label where it was found
 * @property {string} host the name of this machine from within it
 * @property {(mode: string, folder: string, port: number) =>
 *   { command: string[], end?: string[], inside: string }} prepare returns the command that runs
 *   it, a command that ends it if a signal does not, and the path of `folder`, which has spec.json,
 *   from within it
 */

/** @returns {string | null} the output of a program; null if it failed or does not exist */
function ask(command, ...args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', timeout: 20_000 });
  return status === 0 ? stdout.trim() : null;
}

/** @returns {Suite | null} null if it is not installed, or does not work */
function findInstalled() {
  if (ask(PYTHON, '-c', 'import autobahntestsuite.wstest') === null) return null;
  // `-u 0` turns off its web page.
  const command = [PYTHON, path.join(__dirname, 'loopback.py'), '-u', '0'];
  return {
    label: path.relative('', HOME),
    host: '127.0.0.1',
    prepare: (mode, folder) => ({
      command: [...command, '-m', mode, '-s', path.join(folder, 'spec.json')],
      inside: folder
    })
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
 * Finds the suite, and installs it in .cache/autobahn if there is a Python 2.7: on Python 3 it
 * installs but does not start. Only virtualenv before 20.22 makes environments for 2.7.
 *
 * @returns {Suite} @throws {NotHere}
 */
function findSuite(progress) {
  let suite = findInstalled();
  const python2 = suite === null ? findPython2() : null;
  if (python2 !== null) {
    progress('installing Autobahn|Testsuite in .cache/autobahn');
    installPython('virtualenv', ['virtualenv<20.22'], progress);
    run(pythonProgram('virtualenv', 'virtualenv'), ['--quiet', '--clear', '--python', python2, HOME]);
    run(path.join(HOME, 'bin/pip'), ['install', '--quiet', 'autobahntestsuite==25.10.1']);
    suite = findInstalled();
  }
  suite ??= findDocker();
  if (suite === null) throw new NotHere('Autobahn|Testsuite needs Python 2.7 or Docker');
  return suite;
}

module.exports = { findSuite };
