'use strict';

// Finds Autobahn|Testsuite, or installs it.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const HOME = path.join(__dirname, '../../.cache/autobahn');
const BIN = process.platform === 'win32' ? 'Scripts' : 'bin';
const PYTHON = path.join(HOME, 'suite', BIN, 'python');
const IMAGE = 'crossbario/autobahn-testsuite:0.8.2';

/**
 * @typedef {object} Suite
 * @property {string} label where it is
 * @property {string} host what it calls this machine
 * @property {(mode: string, folder: string, port: number) => { command: string[], end: string[] | null, inside: string }}
 *   prepare how to run it: the command, another that ends it if ending its process does not, and how it calls `folder`,
 *   where it finds spec.json
 */

/**
 * @param {string} command
 * @param {string[]} args
 * @returns {string | null} what it printed; null if it failed, or there is no such program
 */
function ask(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', timeout: 20_000 });
  return status === 0 ? stdout.trim() : null;
}

/**
 * @param {string} python
 * @param {string} label
 * @returns {Suite | null} null if that Python has no suite, or one that does not load
 */
function ofPython(python, label) {
  if (ask(python, ['-c', 'import autobahntestsuite.wstest']) === null) return null;
  const command = [python, path.join(__dirname, 'loopback.py')];
  return {
    label,
    host: '127.0.0.1',
    prepare: (mode, folder) => ({
      // 0 is for no web page beside it.
      command: [...command, '-m', mode, '-s', path.join(folder, 'spec.json'), '-u', '0'],
      end: null,
      inside: folder
    })
  };
}

/**
 * @param {string} program a file called wstest: a script whose first line names the Python that runs it
 * @returns {Suite | null}
 */
function ofProgram(program) {
  const [, interpreter] = /^#!\s*(.+)/.exec(fs.readFileSync(program, 'latin1').slice(0, 512)) ?? [];
  if (interpreter === undefined) return null;
  const [file, argument] = interpreter.trim().split(/\s+/);
  return ofPython(path.basename(file) === 'env' ? argument : file, program);
}

/** @returns {string | null} the wstest that the shell would find */
function onPath() {
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    const file = path.join(folder, 'wstest');
    if (fs.existsSync(file)) return file;
  }
  return null;
}

/** @returns {Suite | null} */
function ofDocker() {
  const system = ask('docker', ['version', '--format', '{{.Server.Os}}']);
  if (system !== 'linux') return null;
  // Only on Linux can a container have this machine's own network.
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

/**
 * @returns {Suite | null}
 * @throws {Error} if AUTOBAHN names something that is none
 */
function find() {
  const named = process.env.AUTOBAHN;
  if (named) {
    const suite = fs.existsSync(named) ? ofProgram(named) : null;
    if (suite === null) throw new Error(`AUTOBAHN is ${named}, which is no wstest that works`);
    return suite;
  }
  const program = onPath();
  return (program && ofProgram(program)) || ofPython(PYTHON, path.relative('', HOME)) || ofDocker();
}

/** @returns {string | null} a Python 2.7: the one on the path, or one that pyenv has */
function findPython2() {
  const program = 'import sys; print(sys.executable)';
  // Asked, not only looked for: what pyenv has on the path may be there and refuse to run.
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
 * Installs the suite into .cache/autobahn, unless it is there. It is a program of Python 2.7: what installs on Python 3
 * does not start. And only an old virtualenv makes environments of 2.7.
 *
 * @throws {Error} if it can't be done
 */
function install() {
  if (ofPython(PYTHON, '') !== null) return;
  const python2 = findPython2();
  if (python2 === null) throw new Error('There is no Python 2.7 (python2.7 on the path, or one of pyenv)');
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

module.exports = { find, install };
