'use strict';

// Finds or installs Autobahn|Testsuite.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const HOME = path.join(__dirname, '../../../.cache/autobahn');
const BIN = process.platform === 'win32' ? 'Scripts' : 'bin';
const PYTHON = path.join(HOME, 'suite', BIN, 'python');
const IMAGE = 'crossbario/autobahn-testsuite:0.8.2';

/**
 * @typedef {object} Suite
 * @property {string} label where it was found
 * @property {string} host the name of this machine from within it
 * @property {(mode: string, folder: string, port: number) => { command: string[], end: string[] |
 *   null, inside: string }} prepare returns the command that runs it, a command that ends it if a
 *   signal does not, and the path of `folder`, which has spec.json, from within it
 */

/**
 * @param {string} command
 * @param {string[]} args
 * @returns {string | null} its output; null if it failed or does not exist
 */
function ask(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', timeout: 20_000 });
  return status === 0 ? stdout.trim() : null;
}

/**
 * @param {string} python
 * @param {string} label
 * @returns {Suite | null} null if that Python has no working suite
 */
function ofPython(python, label) {
  if (ask(python, ['-c', 'import autobahntestsuite.wstest']) === null) return null;
  const command = [python, path.join(__dirname, 'loopback.py')];
  return {
    label,
    host: '127.0.0.1',
    prepare: (mode, folder) => ({
      // `-u 0` turns off its web page.
      command: [...command, '-m', mode, '-s', path.join(folder, 'spec.json'), '-u', '0'],
      end: null,
      inside: folder
    })
  };
}

/** @returns {Suite | null} */
function ofDocker() {
  const system = ask('docker', ['version', '--format', '{{.Server.Os}}']);
  if (system !== 'linux') return null;
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
      return {
        command: ['docker', 'run', ...container, 'wstest', '-m', mode, '-s', '/reports/spec.json', '-u', '0'],
        end: ['docker', 'kill', name],
        inside: '/reports'
      };
    }
  };
}

/** @returns {string | null} a Python 2.7, from the PATH or from pyenv */
function findPython2() {
  const program = 'import sys; print(sys.executable)';
  // Run it: pyenv's python2.7 in the PATH may exist and refuse to run.
  const found = ask('python2.7', ['-c', program]);
  if (found) return found;
  const versions = (ask('pyenv', ['versions', '--bare']) ?? '').split('\n').filter((name) => name.startsWith('2.7.'));
  for (const version of versions) {
    const prefix = ask('pyenv', ['prefix', version]);
    const python = prefix && ask(path.join(prefix, BIN, 'python'), ['-c', program]);
    if (python) return python;
  }
  return null;
}

/**
 * Installs the suite in .cache/autobahn. It needs Python 2.7: on Python 3 it installs but does not
 * start. Only virtualenv before 20.22 makes environments for 2.7.
 *
 * @param {string} python2
 */
function install(python2) {
  fs.rmSync(HOME, { recursive: true, force: true });
  fs.mkdirSync(HOME, { recursive: true });
  const tool = path.join(HOME, 'tool');
  for (const [command, ...args] of [
    ['python3', '-m', 'venv', tool],
    [path.join(tool, BIN, 'pip'), 'install', '--quiet', 'virtualenv<20.22'],
    [path.join(tool, BIN, 'virtualenv'), '--quiet', '--python', python2, path.join(HOME, 'suite')],
    [path.join(HOME, 'suite', BIN, 'pip'), 'install', '--quiet', 'autobahntestsuite==25.10.1']
  ]) {
    const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')} failed`);
  }
}

/**
 * Finds the suite, and installs it if there is a Python 2.7.
 *
 * @param {(message: string) => void} progress
 * @returns {Suite | null}
 */
function findSuite(progress) {
  const installed = ofPython(PYTHON, path.relative('', HOME));
  if (installed !== null) return installed;
  const python2 = findPython2();
  if (python2 === null) return ofDocker();
  progress('installing Autobahn|Testsuite in .cache/autobahn');
  install(python2);
  return ofPython(PYTHON, path.relative('', HOME));
}

module.exports = { findSuite };
